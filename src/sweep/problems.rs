//! The problems of a set: Markdown files, or lines of JSON.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::UserError;
use dialectic_base::problem::{ProblemFault, check_problem_text};

/// The text added to a problem whose answer a program checks.
const ASKS_FOR_ANSWER: &str =
    "End with a line of its own that has the result alone, in this form:\n\nAnswer: <the result>";
/// Markdown marks that may surround a line.
const MARKS: [char; 7] = ['*', '_', '`', '#', '>', '-', ' '];

/// The forms of a set.
const FORMS: &str = "a set is a directory of Markdown files, Markdown files, or a `.jsonl` file whose lines have `id`, \
    `problem` and, if a program can check it, `answer`";

/// The problems of a set, in its order.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ProblemSet {
    /// At least one.
    pub(super) problems: Vec<Problem>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Problem {
    /// The name in results: a file's name without `.md`, or the `id` of a line.
    pub id: String,
    pub text: String,
    /// The right answer, if a program can check it.
    pub answer: Option<Answer>,
    /// The checklist for judging answers, if the set has one.
    pub checklist: Vec<String>,
}

/// An answer that a program can check.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged, expecting = "`answer` must be a text, a number, or {\"number\": …, \"within\": …}")]
pub enum Answer {
    /// A text; case and white space do not count.
    Text(String),
    Number(f64),
    /// A number with a tolerance.
    Near {
        number: f64,
        within: f64,
    },
}

/// A line of a set.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    id: String,
    problem: String,
    answer: Option<Answer>,
    #[serde(default)]
    checklist: Vec<String>,
}

impl ProblemSet {
    /// Reads directories, Markdown files and files of lines.
    ///
    /// # Errors
    /// One of them cannot be used.
    pub(super) fn read(paths: &[PathBuf]) -> Result<Self, UserError> {
        let mut problems = Vec::new();
        for path in paths {
            let before = problems.len();
            if path.is_dir() {
                for file in markdown_files(path)? {
                    problems.extend(of_markdown(&file)?);
                }
            } else if path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("jsonl")) {
                of_lines(path, &mut problems)?;
            } else {
                problems.extend(of_markdown(path)?);
            }
            if problems.len() == before {
                return Err(UserError::input(format!("{} has no problems", path.display())).with_hint(FORMS));
            }
        }
        let mut ids = BTreeSet::new();
        if let Some(twice) = problems.iter().find(|problem| !ids.insert(problem.id.as_str())) {
            return Err(Self::twice(&twice.id));
        }
        // One result would count twice.
        let mut texts = BTreeMap::new();
        for Problem { id, text, .. } in &problems {
            if let Some(other) = texts.insert(text.as_str(), id) {
                return Err(UserError::input(format!("the problems `{other}` and `{id}` are the same"))
                    .with_hint("remove one of them: one result would count twice"));
            }
        }
        Ok(Self { problems })
    }

    /// Two problems have this id.
    pub(super) fn twice(id: &str) -> UserError {
        UserError::input(format!("two problems have the id `{id}`")).with_hint("rename one of them")
    }
}

impl Problem {
    fn new(id: &str, text: &str, answer: Option<Answer>, checklist: Vec<String>) -> Result<Self, ProblemFault> {
        check_problem_text(text)?;
        let text = text.trim();
        let text = match &answer {
            Some(_) => format!("{text}\n\n{ASKS_FOR_ANSWER}"),
            None => text.to_owned(),
        };
        Ok(Self { id: id.to_owned(), text, answer, checklist })
    }
}

impl Answer {
    /// Whether a text ends with the right answer. A text without an answer is wrong.
    pub fn is_in(&self, text: &str) -> bool {
        let Some(given) = given(text) else { return false };
        let number = || given.replace([',', '_'], "").parse::<f64>().ok();
        match self {
            Self::Text(right) => plain(&given) == plain(right),
            Self::Number(right) => number().is_some_and(|number| (number - right).abs() <= 1e-9 * right.abs().max(1.0)),
            Self::Near { number: right, within } => number().is_some_and(|number| (number - right).abs() <= *within),
        }
    }

    /// The fault of an answer that no text can match, if any.
    fn fault(&self) -> Option<&'static str> {
        match self {
            Self::Text(text) if plain(text).is_empty() => Some("`answer` is empty"),
            Self::Near { within, .. } if *within < 0.0 => Some("`within` is below 0"),
            Self::Text(_) | Self::Number(_) | Self::Near { .. } => None,
        }
    }
}

/// The content of the last line that begins with `Answer:`.
fn given(text: &str) -> Option<String> {
    let value = |line: &str| {
        let line = line.trim().trim_start_matches(MARKS);
        let (label, value) = line.split_once(':')?;
        let is_answer = label.trim_end_matches(MARKS).eq_ignore_ascii_case("answer");
        is_answer.then(|| bare(value).to_owned())
    };
    text.lines().rev().find_map(value)
}

/// Removes the marks and the full stop around an answer.
fn bare(text: &str) -> &str {
    text.trim_start_matches(['*', '_', '`', ' ']).trim_end_matches(['*', '_', '`', ' ', '.'])
}

/// Normalizes case and white space.
fn plain(text: &str) -> String {
    bare(text).split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()
}

fn read(path: &Path) -> Result<String, UserError> {
    fs::read_to_string(path).map_err(|source| unreadable(path, source))
}

fn unreadable(path: &Path, source: io::Error) -> UserError {
    UserError::input(format!("cannot read {}", path.display())).with_hint(FORMS).with_source(source)
}

/// The Markdown files of a directory, by name. Its README describes the set.
fn markdown_files(directory: &Path) -> Result<Vec<PathBuf>, UserError> {
    let unreadable = |source| unreadable(directory, source);
    let mut files = Vec::new();
    for entry in fs::read_dir(directory).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        let is_markdown = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("md"));
        let is_readme = path.file_stem().is_some_and(|stem| stem.eq_ignore_ascii_case("readme"));
        if is_markdown && !is_readme && path.is_file() {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// A problem from a Markdown file. Its checklist may be next to it: `checklists/<name>.md`.
fn of_markdown(path: &Path) -> Result<Option<Problem>, UserError> {
    let id = path.file_stem().unwrap_or_default().to_string_lossy();
    let list = path.parent().unwrap_or(Path::new("")).join("checklists").join(format!("{id}.md"));
    let checklist = if list.is_file() { items(&read(&list)?) } else { Vec::new() };
    match Problem::new(&id, &read(path)?, None, checklist) {
        Ok(problem) => Ok(Some(problem)),
        Err(ProblemFault::Empty) => Ok(None),
        Err(fault @ ProblemFault::Nul { .. }) => {
            Err(UserError::input(format!("{} {fault}", path.display())).with_hint(fault.hint()))
        }
    }
}

/// The items of a checklist: `- [ ] …`.
fn items(text: &str) -> Vec<String> {
    let item = |line: &str| line.trim().strip_prefix("- [ ]").map(|item| item.trim().to_owned());
    text.lines().filter_map(item).filter(|item| !item.is_empty()).collect()
}

fn of_lines(path: &Path, problems: &mut Vec<Problem>) -> Result<(), UserError> {
    for (line, text) in (1..).zip(read(path)?.lines()) {
        if text.trim().is_empty() {
            continue;
        }
        let wrong =
            |fault: &str| UserError::input(format!("{}, line {line}: {fault}", path.display())).with_hint(FORMS);
        let Line { id, problem, answer, checklist } = serde_json::from_str(text).map_err(|error| {
            // The error's own line is that of the JSON.
            let fault = error.to_string();
            wrong(fault.split(" at line").next().unwrap_or_default())
        })?;
        if id.trim().is_empty() {
            return Err(wrong("`id` is empty"));
        }
        if let Some(fault) = answer.as_ref().and_then(Answer::fault) {
            return Err(wrong(fault));
        }
        let problem = Problem::new(&id, &problem, answer, checklist);
        problems.push(problem.map_err(|fault| wrong(&format!("`problem` {fault}")))?);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_found_where_they_were_asked_for() {
        let text = |last: &str| format!("Answer: 7 is what one might think.\n\nBut no.\n\n{last}\n");
        for (last, answer, is_right) in [
            ("Answer: 42", Answer::Number(42.0), true),
            ("**Answer:** 42.", Answer::Number(42.0), true),
            ("- **Answer**: `1,024`", Answer::Number(1024.0), true),
            ("Answer: 42 apples", Answer::Number(42.0), false),
            ("Answer: 41.9", Answer::Near { number: 42.0, within: 0.2 }, true),
            ("Answer: 41.7", Answer::Near { number: 42.0, within: 0.2 }, false),
            ("answer:  The  Knave", Answer::Text("the knave".to_owned()), true),
            ("Answer: not the knave", Answer::Text("the knave".to_owned()), false),
            ("Answer: **U.S.**", Answer::Text("U.S.".to_owned()), true),
            ("Answer: `__init__`", Answer::Text("__init__".to_owned()), true),
            ("The result is 42", Answer::Number(42.0), false),
        ] {
            assert_eq!(answer.is_in(&text(last)), is_right, "{last}");
        }
        assert!(!Answer::Number(0.0).is_in(""));
    }

    fn lines(text: &str) -> Result<ProblemSet, UserError> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("set.jsonl");
        fs::write(&path, text).unwrap();
        ProblemSet::read(&[path])
    }

    #[test]
    fn lines_are_problems_and_what_is_wrong_is_said_with_its_place() {
        let set = lines("{\"id\": \"a\", \"problem\": \"P\", \"answer\": 4}\n\n{\"id\": \"b\", \"problem\": \"Q\"}\n")
            .unwrap();
        assert_eq!(set.problems.len(), 2);
        assert!(set.problems[0].text.starts_with("P\n\nEnd with a line"), "{:?}", set.problems[0]);
        assert_eq!(set.problems[1].text, "Q");
        for (text, expected) in [
            ("{\"id\": \"a\"}", "line 1: missing field `problem`"),
            ("{\"id\": \"a\", \"problem\": \"P\", \"solution\": 4}", "line 1: unknown field `solution`"),
            ("{\"id\": \"a\", \"problem\": \"P\"}\n{\"id\": \"b\", \"problem\": \" \"}", "line 2: `problem` is empty"),
            ("{\"id\": \"a\", \"problem\": \"P\", \"answer\": \" \"}", "line 1: `answer` is empty"),
            (r#"{"id": "a", "problem": "P\u0000"}"#, "line 1: `problem` contains a NUL character at line 1, column 2"),
            (
                "{\"id\": \"a\", \"problem\": \"P\"}\n{\"id\": \"a\", \"problem\": \"Q\"}",
                "two problems have the id `a`",
            ),
            ("\n", "has no problems"),
        ] {
            let error = lines(text).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn the_twelve_problems_have_checklists() {
        let set = ProblemSet::read(&[Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/problems")]).unwrap();
        assert_eq!(set.problems.len(), 12);
        for problem in &set.problems {
            assert!(problem.checklist.len() >= 8, "{}", problem.id);
            let words = problem.text.split_whitespace().count();
            assert!((250..=500).contains(&words), "{}: {words}", problem.id);
        }
    }
}
