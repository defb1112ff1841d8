//! The checklists: what each role looks at, when that applies, and what it has to say.
//!
//! A file `prompts/offline/<role>.md` begins with `title:` (the role's, as prompts name it), `heading:` (of the role's
//! points in a solution), `view:` (who speaks) and `approach:`. Each entry is a `## Title` with the lines
//! - `when:` words and phrases of a problem that call for it, comma-separated; `always` makes it apply to any problem,
//!   and the words beside it then only raise its rank;
//! - `serves:` (optional) further words of a requirement that it answers;
//! - `same:` (optional) the title of another role's entry that answers the same concern;
//! - `concern:` what goes wrong, `effect:` with what consequence, `do:` what to do, `cost:` what that costs,
//!   `ask:` what to ask about it;
//! - `for:` (optional) why a motion should be carried, where doing what `do` says is not reason enough.
//!
//! `motion.md` holds what can be said about any motion. `{subject}` stands for the problem's subject, always after a
//! preposition or as an object, so that no verb has to agree with it.

use std::collections::HashSet;
use std::sync::LazyLock;

use super::problem::{Problem, Requirement};
use super::words::{phrase, terms};

const FILES: [&str; 7] = [
    include_str!("../../../../prompts/offline/architect.md"),
    include_str!("../../../../prompts/offline/performance.md"),
    include_str!("../../../../prompts/offline/security.md"),
    include_str!("../../../../prompts/offline/testing.md"),
    include_str!("../../../../prompts/offline/kiss.md"),
    include_str!("../../../../prompts/offline/datamodeling.md"),
    include_str!("../../../../prompts/offline/generalist.md"),
];
const MOTION: &str = include_str!("../../../../prompts/offline/motion.md");

/// What one role looks at.
#[derive(Debug, Default)]
pub(super) struct Checklist {
    /// The role's title.
    pub(super) title: &'static str,
    /// Above its points in a solution.
    pub(super) heading: &'static str,
    /// Who speaks, with an article.
    pub(super) view: &'static str,
    /// One sentence of approach.
    pub(super) approach: &'static str,
    /// Its points, the most telling first.
    pub(super) entries: Vec<Entry>,
}

/// One point of a checklist.
#[derive(Debug, Default)]
pub(super) struct Entry {
    /// Unique over all checklists.
    pub(super) title: &'static str,
    /// The title of its checklist.
    pub(super) role: &'static str,
    /// What goes wrong.
    pub(super) concern: &'static str,
    /// With what consequence.
    pub(super) effect: &'static str,
    /// What to do.
    pub(super) action: &'static str,
    /// What that costs.
    pub(super) cost: &'static str,
    /// What to ask.
    pub(super) question: &'static str,
    /// All its lines.
    pub(super) body: &'static str,
    /// Whether it applies to any problem.
    pub(super) is_general: bool,
    same: &'static str,
    triggers: Vec<String>,
    serves: Vec<String>,
    terms: HashSet<String>,
}

static CHECKLISTS: LazyLock<Vec<Checklist>> = LazyLock::new(|| FILES.into_iter().map(parse).collect());
static MOTIONS: LazyLock<Checklist> = LazyLock::new(|| parse(MOTION));

/// The checklists of the roles, the stand-in for roles without one last.
pub(super) fn checklists() -> &'static [Checklist] {
    &CHECKLISTS
}

/// What can be said about any motion.
pub(super) fn motions() -> &'static Checklist {
    &MOTIONS
}

/// The checklist of the role with this title, or the stand-in.
pub(super) fn checklist(title: &str) -> &'static Checklist {
    checklists().iter().find(|one| one.title == title).unwrap_or(&CHECKLISTS[FILES.len() - 1])
}

/// The entry of this title, in any case and with or without a full stop.
pub(super) fn find(title: &str) -> Option<&'static Entry> {
    let title = title.trim().trim_end_matches(['.', ':']);
    let all = checklists().iter().chain([motions()]).flat_map(|checklist| &checklist.entries);
    all.into_iter().find(|entry| entry.title.eq_ignore_ascii_case(title))
}

impl Checklist {
    /// The entries that apply to `problem`: those that its words call for, most strongly first, then those that
    /// always apply.
    pub(super) fn applicable(&self, problem: &Problem) -> Vec<&Entry> {
        let scored = self.entries.iter().map(|entry| (entry.score(problem), entry));
        let mut applicable: Vec<_> = scored.filter(|(score, entry)| *score > 0 || entry.is_general).collect();
        applicable.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
        applicable.into_iter().map(|(_, entry)| entry).collect()
    }
}

impl Entry {
    /// How strongly the problem's own words call for it; 0 when they do not.
    pub(super) fn score(&self, problem: &Problem) -> usize {
        // The subject is what the problem is about; other words may stand in it by the way.
        let weight = |trigger: &String| match trigger {
            phrase if problem.subject_stems.have(phrase) => 3,
            phrase if problem.stems.have(phrase) => 1,
            _ => 0,
        };
        let score: usize = self.triggers.iter().map(weight).sum();
        if score > 0 && !self.is_general { score + 2 } else { score }
    }

    /// How well it answers `requirement`; 0 when they share no term that counts.
    pub(super) fn answers(&self, problem: &Problem, requirement: &Requirement) -> usize {
        // A requirement that only repeats the subject is met by what answers the subject.
        let counts = |phrase: &&String| {
            requirement.stems.have(phrase) && (requirement.terms.is_empty() || !problem.subject_stems.have(phrase))
        };
        let strong = self.triggers.iter().chain(&self.serves).filter(counts).count();
        let weak = requirement.terms.intersection(&self.terms).count();
        if strong > 0 || weak > 1 { 3 * strong + weak } else { 0 }
    }

    /// Whether it answers the same concern as `other`.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        self.title == other.title || self.same == other.title || other.same == self.title
    }

    /// Its title in bold.
    pub(super) fn bold(&self) -> String {
        format!("**{}**", self.title)
    }
}

/// Reads one checklist; a field that is not there is empty.
fn parse(text: &'static str) -> Checklist {
    let (head, body) = text.split_once("\n## ").unwrap_or((text, ""));
    let title = field(head, "title");
    let entries = body.split("\n## ").map(|body| {
        let phrases = |text: &str| text.split(',').map(phrase).filter(|phrase| !phrase.is_empty()).collect();
        let when = field(body, "when");
        let (name, concern, action) =
            (body.lines().next().unwrap_or_default(), field(body, "concern"), field(body, "do"));
        Entry {
            title: name,
            role: title,
            concern,
            effect: field(body, "effect"),
            action,
            cost: field(body, "cost"),
            question: field(body, "ask"),
            body,
            is_general: when.starts_with("always"),
            same: field(body, "same"),
            triggers: phrases(when.trim_start_matches("always")),
            serves: phrases(field(body, "serves")),
            terms: terms(&format!("{name} {concern} {action}")),
        }
    });
    let entries = entries.collect();
    Checklist {
        title,
        heading: field(head, "heading"),
        view: field(head, "view"),
        approach: field(head, "approach"),
        entries,
    }
}

/// The value of a line `name: value`.
pub(super) fn field(text: &'static str, name: &str) -> &'static str {
    let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
    value.map(str::trim).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::words::{LONGEST_PHRASE, carries_meaning};
    use super::*;
    use dialectic_record::prompt::Role;

    #[test]
    fn every_checklist_is_complete() {
        let motion = motions();
        assert!(motion.entries.len() >= 8);
        assert!(motion.entries.iter().all(|entry| entry.is_general && field(entry.body, "for").ends_with('.')));
        for checklist in checklists().iter().chain([motion]) {
            let fields = [checklist.title, checklist.heading, checklist.view, checklist.approach];
            assert!(fields.iter().all(|field| !field.is_empty()), "{fields:?}");
            assert!(checklist.entries.iter().filter(|entry| entry.is_general).count() >= 4, "{}", checklist.title);
            for entry in &checklist.entries {
                assert!(entry.is_general || !entry.triggers.is_empty(), "{} never applies", entry.title);
                let telling = |phrase: &String| phrase.split(' ').any(carries_meaning);
                let triggers = &entry.triggers;
                let mut phrases = triggers.iter().chain(&entry.serves);
                assert!(phrases.all(|phrase| phrase.split(' ').count() <= LONGEST_PHRASE), "{}", entry.title);
                let is_role = checklist.title != motion.title;
                assert!(!is_role || triggers.iter().all(telling), "{} is called for by {triggers:?}", entry.title);
                assert!(!entry.title.is_empty() && !entry.title.contains(['*', '.', '{']), "{}", entry.title);
                for sentence in [entry.concern, entry.effect, entry.action, entry.cost] {
                    assert!(sentence.ends_with('.') && sentence.starts_with(char::is_uppercase), "{}", entry.title);
                }
                assert!(entry.question.ends_with('?'), "{}", entry.title);
                assert_eq!(!entry.same.is_empty(), find(entry.same).is_some(), "{}", entry.title);
            }
        }
    }

    #[test]
    fn titles_are_unique_and_those_of_the_roles() {
        let entries: Vec<&Entry> = checklists().iter().chain([motions()]).flat_map(|one| &one.entries).collect();
        let titles: BTreeSet<String> = entries.iter().map(|entry| entry.title.to_lowercase()).collect();
        assert_eq!(titles.len(), entries.len());
        for name in Role::built_in_names() {
            let title = &Role::built_in(name).unwrap().title;
            assert_eq!(checklist(title).title, title, "{name} has no checklist");
        }
        assert_eq!(checklist("Poet").title, "Generalist");
    }

    #[test]
    fn the_subject_stands_where_no_verb_agrees_with_it() {
        const BEFORE: &str = "of in for on to into inside behind about beneath splits sets runs Release Deliver Build";
        for text in FILES.into_iter().chain([MOTION]) {
            for (at, _) in text.match_indices("{subject}") {
                let before = text[..at].split_whitespace().next_back().unwrap();
                assert!(BEFORE.split(' ').any(|word| word == before), "…{before} {{subject}}");
            }
            assert_eq!(text.matches(['{', '}']).count(), 2 * text.matches("{subject}").count());
        }
    }

    #[test]
    fn the_words_of_the_problem_come_first() {
        let problem = Problem::read("Design a rate limiting system", &[]);
        for checklist in checklists() {
            let applicable = checklist.applicable(&problem);
            assert!(applicable[..2].iter().all(|entry| entry.score(&problem) > 0), "{}", checklist.title);
            assert!(applicable.iter().all(|entry| entry.is_general || entry.score(&problem) > 0));
        }
    }

    #[test]
    fn a_team_of_four_persons_wants_no_personalization() {
        let titles = |problem: &str| {
            let problem = Problem::read(problem, &[]);
            let called_for = |entry: &&Entry| entry.score(&problem) > 0;
            let entries = checklists().iter().flat_map(|checklist| &checklist.entries).filter(called_for);
            entries.map(|entry| entry.title).collect::<Vec<_>>()
        };
        let of_persons = titles("We should hire a 4-person team");
        assert_eq!(of_persons, titles("We should hire a team of 4"));
        assert!(!of_persons.contains(&"Candidates first, ranking second"), "{of_persons:?}");
        assert!(titles("Design a personalized feed").contains(&"Candidates first, ranking second"));
    }

    #[test]
    fn entries_with_the_same_concern_know_each_other() {
        let one = find("hosted payment page.").unwrap();
        let other = find("Card data kept out of reach").unwrap();
        assert!(one.is_like(other) && other.is_like(one) && one.is_like(one));
        assert!(!one.is_like(find("Restore drills").unwrap()));
    }
}
