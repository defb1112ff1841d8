//! What rules can read off a problem: its subject, its requirements, the phrases that checklists know.

use std::collections::HashSet;

use super::checklist::catalog;
use super::subject::{head, subject};
use super::words::{one_line, stems, terms, words};

/// More requirements are counted, but not looked at.
const MAX_REQUIREMENTS: usize = 40;
/// A requirement is quoted up to so many characters.
const QUOTED_CHARS: usize = 220;
/// Shorter sentences are no requirements, whatever words they hold.
const SHORTEST_REQUIREMENT: usize = 10;
/// How much a requirement weighs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Weight {
    /// Must be met.
    Major,
    /// Had better be met.
    Minor,
}

/// A requirement as the problem states it.
#[derive(Debug)]
pub(super) struct Requirement {
    /// From 1, in the order of the text.
    pub(super) number: usize,
    /// The sentence, on one line.
    pub(super) text: String,
    /// How much it weighs.
    pub(super) weight: Weight,
    /// Phrases of checklists in it, but for those of the subject.
    pub(super) phrases: HashSet<&'static str>,
    /// Its telling words, but for those of the subject.
    pub(super) terms: HashSet<String>,
}

/// What rules can read off a problem and its answered clarifications.
#[derive(Debug)]
pub(super) struct Problem {
    /// A definite noun phrase: `the rate limiting system for mobile apps`.
    pub(super) full_subject: String,
    /// Its head, for every mention after the first: `the rate limiting system`.
    pub(super) subject: String,
    /// Stated requirements, the first [`MAX_REQUIREMENTS`].
    pub(super) requirements: Vec<Requirement>,
    /// How many more there are.
    pub(super) further_requirements: usize,
    /// Phrases of checklists anywhere in it.
    pub(super) phrases: HashSet<&'static str>,
    /// Phrases of checklists in the subject.
    pub(super) subject_phrases: HashSet<&'static str>,
}

impl Problem {
    /// Reads a problem and the answers to questions about it. Any text can be read.
    pub(super) fn read(problem: &str, clarifications: &[(String, String)]) -> Self {
        let full_subject = subject(problem);
        let subject_phrases = catalog().phrases_in(&stems(&full_subject));
        let subject_terms = terms(&full_subject);
        let answers = || clarifications.iter().map(|(_, answer)| answer.as_str()).filter(|answer| is_answer(answer));
        let phrases =
            std::iter::once(problem).chain(answers()).flat_map(|text| catalog().phrases_in(&stems(text))).collect();
        let mut requirements = Vec::new();
        let mut further_requirements = 0;
        for (text, weight) in
            std::iter::once(problem).chain(answers()).flat_map(sentences).flat_map(clauses).filter_map(requirement)
        {
            if requirements.len() == MAX_REQUIREMENTS {
                further_requirements += 1;
                continue;
            }
            let all_terms = terms(text);
            let own: HashSet<String> = all_terms.difference(&subject_terms).cloned().collect();
            let all_phrases = catalog().phrases_in(&stems(text));
            // A requirement that only repeats the subject is met by what answers the subject.
            let phrases = if own.is_empty() { all_phrases } else { &all_phrases - &subject_phrases };
            requirements.push(Requirement {
                number: requirements.len() + 1,
                text: one_line(text, QUOTED_CHARS),
                weight,
                phrases,
                terms: own,
            });
        }
        let subject = head(&full_subject).to_owned();
        Self { full_subject, subject, requirements, further_requirements, phrases, subject_phrases }
    }

    /// `template` with the subject in place of `{subject}`. One pass: the subject is text.
    pub(super) fn about(&self, template: &str) -> String {
        template.replace("{subject}", &self.subject)
    }

    /// The requirements of this weight.
    pub(super) fn weighing(&self, weight: Weight) -> impl Iterator<Item = &Requirement> {
        self.requirements.iter().filter(move |requirement| requirement.weight == weight)
    }
}

/// Whether a clarification was answered at all; the command line fills in `NA` where it was not.
pub(super) fn is_answer(answer: &str) -> bool {
    let answer = answer.trim();
    !answer.is_empty() && !answer.eq_ignore_ascii_case("na") && !answer.eq_ignore_ascii_case("n/a")
}

/// The sentences of `text`, line by line, without list and heading marks.
fn sentences(text: &str) -> impl Iterator<Item = &str> {
    text.lines().flat_map(|line| {
        let line = line.trim().trim_start_matches(['-', '*', '+', '#', '>', '•', ' ']);
        let numbered = line.trim_start_matches(|c: char| c.is_ascii_digit());
        let line = if numbered.len() < line.len() { numbered.strip_prefix(['.', ')']).unwrap_or(line) } else { line };
        let mut rest = line.trim();
        std::iter::from_fn(move || {
            let whole = rest;
            if whole.is_empty() {
                return None;
            }
            let end = [". ", "! ", "? ", "; "]
                .iter()
                .filter_map(|mark| whole.find(mark))
                .min()
                .map_or(whole.len(), |at| at + 1);
            rest = whole[end..].trim_start();
            Some(whole[..end].trim())
        })
    })
}

/// A sentence cut where a further `must`, `shall` or `should` begins a requirement of its own, so that none hides
/// behind another that is met.
fn clauses(sentence: &str) -> Vec<&str> {
    const MODALS: [&str; 3] = ["must ", "shall ", "should "];
    let first = MODALS.iter().filter_map(|modal| sentence.find(modal)).min();
    let mut clauses = Vec::new();
    let mut start = 0;
    for (at, _) in sentence.match_indices(' ').filter(|(at, _)| first.is_some_and(|first| *at > first)) {
        let (before, after) = (&sentence[start..at], &sentence[at + 1..]);
        let joint = before.ends_with(',') || before.ends_with(" and") || before.ends_with(" but");
        if joint && MODALS.iter().any(|modal| after.starts_with(modal)) {
            clauses.push(before.trim_end_matches(" and").trim_end_matches(" but").trim_end_matches(','));
            start = at + 1;
        }
    }
    clauses.push(&sentence[start..]);
    clauses
}

/// The weight of a sentence that is a requirement.
fn requirement(sentence: &str) -> Option<(&str, Weight)> {
    if sentence.len() <= SHORTEST_REQUIREMENT || sentence.ends_with('?') {
        return None;
    }
    let lower: Vec<String> = words(sentence).map(str::to_lowercase).collect();
    let has = |word: &str| lower.iter().any(|one| one == word);
    let has_pair = |pair: [&str; 2]| lower.windows(2).any(|window| window == pair);
    if ["must", "shall", "required", "critical", "essential"].into_iter().any(has) || has_pair(["needs", "to"]) {
        Some((sentence, Weight::Major))
    } else if has("should") || has("ideally") || has_pair(["if", "possible"]) {
        Some((sentence, Weight::Minor))
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requirements_are_told_apart_by_their_words() {
        let problem = Problem::read(
            "Design a chat system. How should it scale?\n- It must deliver in 200 ms; messages should be searchable\n\
             2. The archive needs to last ten years. Ideally, it is cheap.\nIt is nice. Must!",
            &[("Which law?".into(), "Data shall stay in Europe".into()), ("Must it be fast?".into(), "NA".into())],
        );
        let found: Vec<(&str, Weight)> =
            problem.requirements.iter().map(|requirement| (requirement.text.as_str(), requirement.weight)).collect();
        assert_eq!(
            found,
            [
                ("It must deliver in 200 ms;", Weight::Major),
                ("messages should be searchable", Weight::Minor),
                ("The archive needs to last ten years.", Weight::Major),
                ("Ideally, it is cheap.", Weight::Minor),
                ("Data shall stay in Europe", Weight::Major),
            ]
        );
    }

    #[test]
    fn each_clause_with_a_modal_is_a_requirement() {
        let problem =
            Problem::read("It must be fair, must add less than 5 ms, and shall outlive Redis, if it fails.", &[]);
        let found: Vec<&str> = problem.requirements.iter().map(|requirement| requirement.text.as_str()).collect();
        assert_eq!(found, ["It must be fair", "must add less than 5 ms", "shall outlive Redis, if it fails."]);
    }

    #[test]
    fn further_requirements_are_counted() {
        let problem = Problem::read(&"It must work well.\n".repeat(45), &[]);
        assert_eq!((problem.requirements.len(), problem.further_requirements), (40, 5));
    }

    #[test]
    fn the_subject_is_inserted_as_text() {
        let problem = Problem::read("Design {subject}", &[]);
        assert_eq!(problem.about("all of {subject}"), "all of the subject");
    }

    #[test]
    fn later_mentions_are_short() {
        let problem = Problem::read("Design a payments service for an online marketplace", &[]);
        assert_eq!(problem.full_subject, "the payments service for an online marketplace");
        assert_eq!(problem.about("of {subject}"), "of the payments service");
    }
}
