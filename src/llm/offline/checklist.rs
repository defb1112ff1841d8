//! The checklists: what each role looks at, when that applies, and what it has to say.
//!
//! A file `prompts/offline/<role>.md` begins with `heading:` (of the role's points in a solution), `view:` (who speaks)
//! and `approach:`. Each entry is a `## Title` with the lines
//! - `when:` words and phrases of a problem that call for it, comma-separated; `always` makes it apply to any problem,
//!   and the words beside it then only raise its rank;
//! - `serves:` (optional) further words of a requirement that it answers;
//! - `same:` (optional) the title of another role's entry that answers the same concern;
//! - `concern:` what goes wrong, `effect:` with what consequence, `do:` what to do, `cost:` what that costs,
//!   `ask:` what to ask about it.
//!
//! `{subject}` stands for the problem's subject, always after a preposition or as an object, so that no verb has to
//! agree with it.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::LazyLock;

use super::problem::{Problem, Requirement};
use super::words::{stems, terms};

/// The role that stands in for roles without a checklist.
const STAND_IN: &str = "generalist";

const FILES: [(&str, &str); 7] = [
    ("architect", include_str!("../../../prompts/offline/architect.md")),
    ("performance", include_str!("../../../prompts/offline/performance.md")),
    ("security", include_str!("../../../prompts/offline/security.md")),
    ("testing", include_str!("../../../prompts/offline/testing.md")),
    ("kiss", include_str!("../../../prompts/offline/kiss.md")),
    ("datamodeling", include_str!("../../../prompts/offline/datamodeling.md")),
    (STAND_IN, include_str!("../../../prompts/offline/generalist.md")),
];

static CATALOG: LazyLock<Catalog> = LazyLock::new(|| {
    let parsed = FILES.iter().map(|(role, text)| parse(role, text)).collect::<Result<Vec<_>, _>>();
    Catalog::new(parsed.expect("a test parses every checklist that is compiled in"))
});

/// All checklists, parsed once.
pub(super) fn catalog() -> &'static Catalog {
    &CATALOG
}

/// What one role looks at.
#[derive(Debug)]
pub(super) struct Checklist {
    /// The role.
    pub(super) role: &'static str,
    /// Above its points in a solution.
    pub(super) heading: String,
    /// Who speaks, with an article.
    pub(super) view: String,
    /// One sentence of approach.
    pub(super) approach: String,
    /// Its points, the most telling first.
    pub(super) entries: Vec<Entry>,
}

/// One point of a checklist.
#[derive(Debug, Default)]
pub(super) struct Entry {
    /// Unique over all checklists, in their order.
    pub(super) id: usize,
    /// The index of its checklist.
    pub(super) checklist: usize,
    /// Unique over all checklists.
    pub(super) title: String,
    /// What goes wrong.
    pub(super) concern: String,
    /// With what consequence.
    pub(super) effect: String,
    /// What to do.
    pub(super) action: String,
    /// What that costs.
    pub(super) cost: String,
    /// What to ask.
    pub(super) question: String,
    always: bool,
    triggers: BTreeSet<String>,
    serves: BTreeSet<String>,
    terms: HashSet<String>,
    title_terms: HashSet<String>,
    same: Option<String>,
}

/// A line of a checklist that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum ChecklistError {
    /// A line outside the format.
    #[error("line {line} of the {role} checklist is not `field: text`: {text}")]
    Line {
        /// Whose checklist.
        role: String,
        /// From 1.
        line: usize,
        /// The line.
        text: String,
    },
    /// A field that is missing or empty.
    #[error("the {role} checklist lacks `{field}` in {place}")]
    Missing {
        /// Whose checklist.
        role: String,
        /// The field.
        field: &'static str,
        /// The entry's title, or `its head`.
        place: String,
    },
}

/// All checklists.
#[derive(Debug)]
pub(super) struct Catalog {
    checklists: Vec<Checklist>,
    by_title: HashMap<String, (usize, usize)>,
    twins: HashMap<usize, usize>,
    vocabulary: HashSet<String>,
    longest_phrase: usize,
}

/// An entry that applies to a problem.
#[derive(Debug, Clone, Copy)]
pub(super) struct Applicable {
    /// The entry.
    pub(super) entry: &'static Entry,
    /// How strongly the problem's own words call for it; 0 when it applies to any problem.
    pub(super) score: usize,
}

impl Catalog {
    fn new(mut checklists: Vec<Checklist>) -> Self {
        let mut by_title = HashMap::new();
        let mut vocabulary = HashSet::new();
        let mut id = 0;
        for (index, checklist) in checklists.iter_mut().enumerate() {
            for (position, entry) in checklist.entries.iter_mut().enumerate() {
                (entry.id, entry.checklist) = (id, index);
                id += 1;
                by_title.insert(entry.title.to_lowercase(), (index, position));
                vocabulary.extend(entry.triggers.iter().chain(&entry.serves).cloned());
            }
        }
        let mut catalog = Self {
            longest_phrase: vocabulary.iter().map(|phrase| phrase.split(' ').count()).max().unwrap_or(0),
            checklists,
            by_title,
            twins: HashMap::new(),
            vocabulary,
        };
        let twins: Vec<(usize, usize)> = catalog
            .entries()
            .filter_map(|entry| Some((entry.id, catalog.find(entry.same.as_deref()?)?.id)))
            .flat_map(|(one, other)| [(one, other), (other, one)])
            .collect();
        catalog.twins.extend(twins);
        catalog
    }

    /// The checklist of `role`, or the generalist's for a role of the user's.
    pub(super) fn of(&self, role: &str) -> &Checklist {
        let named = |name: &str| self.checklists.iter().find(|checklist| checklist.role == name);
        named(role).or_else(|| named(STAND_IN)).unwrap_or(&self.checklists[0])
    }

    /// All checklists, in a fixed order.
    pub(super) fn checklists(&self) -> &[Checklist] {
        &self.checklists
    }

    /// The checklist that `entry` stands in.
    pub(super) fn of_entry(&self, entry: &Entry) -> &Checklist {
        &self.checklists[entry.checklist]
    }

    /// Every entry, by id.
    pub(super) fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.checklists.iter().flat_map(|checklist| &checklist.entries)
    }

    /// The entry of this title, in any case and with or without a full stop.
    pub(super) fn find(&self, title: &str) -> Option<&Entry> {
        let title = title.trim().trim_end_matches(['.', ':']).to_lowercase();
        let &(checklist, position) = self.by_title.get(&title)?;
        self.checklists.get(checklist)?.entries.get(position)
    }

    /// The id of the entry that answers the same concern as `id` does.
    pub(super) fn twin(&self, id: usize) -> Option<usize> {
        self.twins.get(&id).copied()
    }

    /// The phrases of the checklists that occur in a text with these stems.
    pub(super) fn phrases_in(&self, stems: &[String]) -> HashSet<&str> {
        let mut found = HashSet::new();
        let mut phrase = String::new();
        for start in 0..stems.len() {
            phrase.clear();
            for stem in stems[start..].iter().take(self.longest_phrase) {
                if !phrase.is_empty() {
                    phrase.push(' ');
                }
                phrase.push_str(stem);
                found.extend(self.vocabulary.get(&phrase).map(String::as_str));
            }
        }
        found
    }
}

impl Checklist {
    /// The entries that apply to `problem`: those that its words call for, most strongly first, then those that
    /// always apply.
    pub(super) fn applicable(&'static self, problem: &Problem) -> Vec<Applicable> {
        let mut applicable: Vec<Applicable> = self
            .entries
            .iter()
            .map(|entry| Applicable { entry, score: entry.score(problem) })
            .filter(|applicable| applicable.score > 0 || applicable.entry.always)
            .collect();
        applicable.sort_by_key(|applicable| std::cmp::Reverse(applicable.score));
        applicable
    }
}

impl Entry {
    /// How strongly the problem's own words call for it; 0 when they do not.
    pub(super) fn score(&self, problem: &Problem) -> usize {
        // The subject is what the problem is about; other words may stand in it by the way.
        let score: usize = self
            .triggers
            .iter()
            .map(|trigger| match trigger.as_str() {
                phrase if problem.subject_phrases.contains(phrase) => 3,
                phrase if problem.phrases.contains(phrase) => 1,
                _ => 0,
            })
            .sum();
        if score > 0 && !self.always { score + 2 } else { score }
    }

    /// Whether it applies to any problem.
    pub(super) fn is_general(&self) -> bool {
        self.always
    }

    /// How well it answers `requirement`; 0 when they share no term that counts.
    pub(super) fn answers(&self, requirement: &Requirement) -> usize {
        let named = |phrase: &&&str| self.triggers.contains(**phrase) || self.serves.contains(**phrase);
        let strong = requirement.phrases.iter().filter(named).count();
        let weak = requirement.terms.iter().filter(|term| self.terms.contains(*term)).count();
        if strong > 0 || weak > 1 { 3 * strong + weak } else { 0 }
    }

    /// Whether every telling word of its title is among `terms`. A single word is too little to go by.
    pub(super) fn is_mentioned_in(&self, terms: &HashSet<String>) -> bool {
        self.title_terms.len() > 1 && self.title_terms.is_subset(terms)
    }
}

/// Reads one checklist.
fn parse(role: &'static str, text: &str) -> Result<Checklist, ChecklistError> {
    let mut head = HashMap::new();
    let mut bodies: Vec<(String, HashMap<&str, &str>)> = Vec::new();
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        if let Some(title) = line.strip_prefix("## ") {
            bodies.push((title.trim().to_owned(), HashMap::new()));
            continue;
        }
        let (field, value) = line.split_once(": ").ok_or_else(|| ChecklistError::Line {
            role: role.to_owned(),
            line: number + 1,
            text: line.to_owned(),
        })?;
        let fields = bodies.last_mut().map_or(&mut head, |(_, fields)| fields);
        fields.insert(field, value.trim());
    }
    let require = |fields: &HashMap<&str, &str>, field: &'static str, place: &str| {
        fields
            .get(field)
            .filter(|value| !value.is_empty())
            .map(|value| (*value).to_owned())
            .ok_or_else(|| ChecklistError::Missing { role: role.to_owned(), field, place: place.to_owned() })
    };
    let entries = bodies.iter().map(|(title, fields)| {
        let when = require(fields, "when", title)?;
        let phrases = |text: &str| -> BTreeSet<String> {
            text.split(',').map(|phrase| stems(phrase).join(" ")).filter(|phrase| !phrase.is_empty()).collect()
        };
        let (always, words): (Vec<&str>, Vec<&str>) = when.split(',').partition(|word| word.trim() == "always");
        let concern = require(fields, "concern", title)?;
        let action = require(fields, "do", title)?;
        Ok(Entry {
            always: !always.is_empty(),
            triggers: phrases(&words.join(",")),
            serves: phrases(fields.get("serves").copied().unwrap_or_default()),
            terms: terms(&format!("{title} {concern} {action}")),
            title_terms: terms(title),
            same: fields.get("same").map(|&title| title.to_owned()),
            effect: require(fields, "effect", title)?,
            cost: require(fields, "cost", title)?,
            question: require(fields, "ask", title)?,
            title: title.clone(),
            concern,
            action,
            ..Entry::default()
        })
    });
    Ok(Checklist {
        role,
        entries: entries.collect::<Result<_, _>>()?,
        heading: require(&head, "heading", "its head")?,
        view: require(&head, "view", "its head")?,
        approach: require(&head, "approach", "its head")?,
    })
}

#[cfg(test)]
mod tests {
    use super::super::words::carries_meaning;
    use super::*;

    #[test]
    fn every_checklist_parses_and_is_complete() {
        assert_eq!(catalog().checklists().len(), FILES.len());
        for checklist in catalog().checklists() {
            assert!((10..=18).contains(&checklist.entries.len()), "{}", checklist.role);
            let general = checklist.entries.iter().filter(|entry| entry.always).count();
            assert!(general >= 4, "{} has {general} entries for any problem", checklist.role);
            for entry in &checklist.entries {
                let about_limits = entry.triggers.contains("rat limit");
                assert!(entry.always || !entry.triggers.is_empty(), "{} never applies", entry.title);
                assert!(!(entry.always && about_limits), "{} is about one problem only", entry.title);
                let telling = |phrase: &String| phrase.split(' ').any(carries_meaning);
                assert!(entry.triggers.iter().all(telling), "{} is called for by {:?}", entry.title, entry.triggers);
                assert!(!entry.title_terms.is_empty() && !entry.title.contains(['*', '.', '{']), "{}", entry.title);
                for sentence in [&entry.concern, &entry.effect, &entry.action, &entry.cost] {
                    assert!(sentence.ends_with('.') && sentence.starts_with(char::is_uppercase), "{sentence}");
                }
                assert!(entry.question.ends_with('?'), "{}", entry.question);
                assert_eq!(entry.same.is_some(), entry.same.as_deref().and_then(|same| catalog().find(same)).is_some());
            }
            assert!(checklist.entries.iter().filter(|entry| entry.triggers.contains("rat limit")).count() > 1);
        }
    }

    #[test]
    fn titles_are_unique_over_all_roles() {
        assert_eq!(catalog().by_title.len(), catalog().entries().count());
    }

    #[test]
    fn the_subject_stands_where_no_verb_agrees_with_it() {
        const BEFORE: &str = "of in for on to into inside behind about beneath splits sets runs Release Deliver Build";
        for (role, text) in FILES {
            for (at, _) in text.match_indices("{subject}") {
                let before = text[..at].split_whitespace().next_back().unwrap();
                assert!(BEFORE.split(' ').any(|word| word == before), "{role}: …{before} {{subject}}");
            }
            assert_eq!(text.matches(['{', '}']).count(), 2 * text.matches("{subject}").count(), "{role}");
        }
    }

    #[test]
    fn broken_checklists_are_refused_with_the_place() {
        let head = "heading: H\nview: a v\napproach: A.\n";
        assert!(parse("x", head).is_ok());
        let line = parse("x", &format!("{head}\nnonsense")).unwrap_err();
        assert_eq!(line.to_string(), "line 5 of the x checklist is not `field: text`: nonsense");
        let missing = parse("x", &format!("{head}\n## T\nwhen: a\nconcern: c\ndo: d\neffect: e\nask: q")).unwrap_err();
        assert_eq!(missing.to_string(), "the x checklist lacks `cost` in T");
    }

    #[test]
    fn the_words_of_the_problem_come_first_and_unknown_roles_get_the_stand_in() {
        let problem = Problem::read("Design a rate limiting system", &[]);
        for checklist in catalog().checklists() {
            let applicable = checklist.applicable(&problem);
            let called: Vec<bool> = applicable.iter().map(|entry| entry.score > 0).collect();
            assert!(called[..2].iter().all(|called| *called), "{}", checklist.role);
            assert!(applicable[0].entry.triggers.contains("rat limit"));
            assert!(applicable.iter().all(|one| one.entry.always || one.entry.triggers.contains("rat limit")));
        }
        assert_eq!(catalog().of("poet").role, "generalist");
    }

    #[test]
    fn twins_know_each_other() {
        let one = catalog().find("hosted payment page.").unwrap();
        let other = catalog().find("Card data kept out of reach").unwrap();
        assert_eq!(catalog().twin(one.id), Some(other.id));
        assert_eq!(catalog().twin(other.id), Some(one.id));
    }
}
