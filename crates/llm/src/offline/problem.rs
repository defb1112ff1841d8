//! What rules can read off a problem: its subject, its requirements, the phrases that checklists know.

use std::collections::HashSet;
use std::mem::replace;

use dialectic_base::problem::{NO_ANSWER, states_major_requirement};

use super::checklist::Entry;
use super::subject::{NO_SUBJECT, head, subject};
use super::words::{Stems, one_line, terms, words};

/// More requirements are counted, but not looked at.
const MAX_REQUIREMENTS: usize = 40;
/// A requirement is quoted up to so many characters.
const QUOTED_CHARS: usize = 220;
/// Shorter sentences are no requirements, whatever words they hold.
const SHORTEST_REQUIREMENT: usize = 10;

/// A requirement as the problem states it.
#[derive(Debug)]
pub(super) struct Requirement {
    /// What texts call it: `R1`, and so on in the order of the text.
    pub(super) name: String,
    /// The sentence, on one line.
    pub(super) text: String,
    /// Whether it must be met; else it had better be.
    pub(super) is_major: bool,
    /// Its stems.
    pub(super) stems: Stems,
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
    /// The stems of all of it.
    pub(super) stems: Stems,
    /// The stems of the subject.
    pub(super) subject_stems: Stems,
}

impl Problem {
    /// Reads a problem and the answers to questions about it. Any text can be read.
    pub(super) fn read(problem: &str, clarifications: &[(&str, &str)]) -> Self {
        let full_subject = subject(problem);
        let subject_terms = terms(&full_subject);
        let answers = clarifications.iter().map(|(_, answer)| *answer).filter(|answer| is_answer(answer));
        let all: Vec<&str> = std::iter::once(problem).chain(answers).collect();
        let mut stated: Vec<(&str, bool)> =
            all.iter().flat_map(|text| text.lines()).flat_map(sentences).filter_map(requirement).collect();
        let further_requirements = stated.len().saturating_sub(MAX_REQUIREMENTS);
        stated.truncate(MAX_REQUIREMENTS);
        let requirements = (1..).zip(stated).map(|(number, (text, is_major)): (usize, _)| {
            let own = terms(text).difference(&subject_terms).cloned().collect();
            let (name, stems) = (format!("R{number}"), Stems::of(text));
            Requirement { name, text: one_line(text, QUOTED_CHARS), is_major, stems, terms: own }
        });
        Self {
            subject: head(&full_subject).to_owned(),
            requirements: requirements.collect(),
            further_requirements,
            stems: Stems::of(&all.join("\n")),
            subject_stems: Stems::of(&full_subject),
            full_subject,
        }
    }

    /// `template` with the subject in place of `{subject}`. One pass: the subject is text.
    pub(super) fn about(&self, template: &str) -> String {
        template.replace("{subject}", &self.subject)
    }

    /// Whether it names a thing to build or to change; motions often do not.
    pub(super) fn names_a_thing(&self) -> bool {
        self.full_subject != NO_SUBJECT
    }

    /// The requirements that an entry answers.
    pub(super) fn served_by(&self, entry: &Entry) -> Vec<&Requirement> {
        self.requirements.iter().filter(|asked| entry.answers(self, asked) > 0).collect()
    }

    /// The requirements that must be met.
    pub(super) fn majors(&self) -> impl Iterator<Item = &Requirement> {
        self.requirements.iter().filter(|requirement| requirement.is_major)
    }

    /// The major requirements that none of these entries answers.
    pub(super) fn open_majors(&self, held: &[&'static Entry]) -> Vec<&Requirement> {
        self.majors().filter(|asked| held.iter().all(|entry| entry.answers(self, asked) == 0)).collect()
    }
}

/// Whether a clarification was answered at all; `NA` says that it was not.
pub(super) fn is_answer(answer: &str) -> bool {
    !["", NO_ANSWER].contains(&answer.trim())
}

/// The sentences of a line, without list and heading marks.
fn sentences(line: &str) -> impl Iterator<Item = &str> {
    let line = line.trim().trim_start_matches(['-', '*', '+', '#', '>', '•', ' ']);
    let numbered = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let line = numbered.strip_prefix(['.', ')']).filter(|_| numbered.len() < line.len()).unwrap_or(line).trim();
    let mut before = ' ';
    line.split(move |c| matches!(replace(&mut before, c), '.' | '!' | '?' | ';') && c == ' ')
}

/// A sentence that is a requirement, and whether it is a major one.
fn requirement(sentence: &str) -> Option<(&str, bool)> {
    let is_major = states_major_requirement(sentence);
    let lower = sentence.to_lowercase();
    let is_minor = words(&lower).any(|word| matches!(word, "should" | "ideally")) || lower.contains("if possible");
    let counts = sentence.len() > SHORTEST_REQUIREMENT && !sentence.ends_with('?') && (is_major || is_minor);
    counts.then_some((sentence, is_major))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stated(problem: &str, clarifications: &[(&str, &str)]) -> Vec<(String, bool)> {
        let requirements = Problem::read(problem, clarifications).requirements;
        requirements.into_iter().map(|requirement| (requirement.text, requirement.is_major)).collect()
    }

    #[test]
    fn requirements_are_told_apart_by_their_words() {
        let found = stated(
            "Design a chat system. How should it scale?\n- It must deliver in 200 ms; messages should be searchable\n\
             2. The archive needs to last ten years. Ideally, it is cheap.\nIt is nice. Must!",
            &[("Which law?", "Data shall stay in Europe"), ("Must it be fast?", "NA")],
        );
        let expected = [
            ("It must deliver in 200 ms;", true),
            ("messages should be searchable", false),
            ("The archive needs to last ten years.", true),
            ("Ideally, it is cheap.", false),
            ("Data shall stay in Europe", true),
        ];
        assert_eq!(found, expected.map(|(text, is_major)| (text.to_owned(), is_major)));
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
}
