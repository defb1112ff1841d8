//! Reads `sweep.json`, the user's description of a set of debates, and the problems that it names.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fs, io};

use serde::{Deserialize, Serialize};

use crate::error::UserError;
use dialectic_base::money::Usd;
use dialectic_base::problem::{ProblemFault, check_problem_text};
use dialectic_record::debate::Attachment;
use dialectic_record::settings::TerminationKind;

pub const MOST_DEBATES: usize = 1_000_000;

/// A set of debates as the user describes it. All paths are relative to `base`.
#[derive(Debug)]
pub struct Description {
    /// The directory of the description's file.
    pub base: PathBuf,
    pub groups: Vec<Group>,
    /// At least one.
    pub variants: Vec<VariantDescription>,
    /// The number of debates per problem and variant.
    pub repeats: NonZeroU32,
    /// The maximum total cost of the set.
    pub budget: Option<Usd>,
}

/// Problems with the same attachments.
#[derive(Debug)]
pub struct Group {
    pub problems: Vec<Problem>,
    /// The attached files, as named in the description.
    pub attach: Vec<String>,
}

/// Settings under which every problem is debated.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct VariantDescription {
    pub name: String,
    pub config: Option<PathBuf>,
    pub protocol: Option<String>,
    /// The model of all agents and the judge.
    pub model: Option<String>,
    pub judge_model: Option<String>,
    /// Whether the agents use models of different vendors.
    #[serde(default)]
    pub mixed: bool,
    /// The roles of the agents that take part.
    pub agents: Option<Vec<String>>,
    pub rounds: Option<u32>,
    pub until: Option<TerminationKind>,
    pub check: Option<u32>,
    /// Whether to use a council of two agents and one checker.
    #[serde(default)]
    pub quick: bool,
    #[serde(default)]
    pub offline: bool,
    pub max_cost: Option<Usd>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct File {
    problems: Vec<Source>,
    #[serde(default)]
    attach: Vec<String>,
    #[serde(default)]
    variants: Vec<VariantDescription>,
    #[serde(default = "once")]
    repeats: NonZeroU32,
    max_cost: Option<Usd>,
    budget: Option<Usd>,
}

#[derive(Deserialize)]
#[serde(
    untagged,
    deny_unknown_fields,
    expecting = "a path, a pattern such as \"rfcs/*.md\", or {\"files\": …, \"attach\": […]}"
)]
enum Source {
    Files(String),
    With {
        files: String,
        #[serde(default)]
        attach: Vec<String>,
    },
}

fn once() -> NonZeroU32 {
    NonZeroU32::MIN
}

impl Description {
    /// Reads a description and its problems.
    ///
    /// # Errors
    ///
    /// Returns an error if the description or one of its problems cannot be read or is invalid.
    pub fn read(path: &Path) -> Result<Self, UserError> {
        let fault = |fault: String| UserError::input(format!("{}: {fault}", path.display()));
        let text = fs::read_to_string(path)
            .map_err(|source| UserError::input(format!("cannot read {}", path.display())).with_source(source))?;
        let mut json = serde_json::Deserializer::from_str(&text);
        let file: File = serde_path_to_error::deserialize(&mut json).map_err(|error| fault(said(&error)))?;
        json.end().map_err(|error| fault(error.to_string()))?;
        let File { problems, attach, mut variants, repeats, max_cost, budget } = file;
        if variants.is_empty() {
            variants.push(VariantDescription { name: "default".to_owned(), ..VariantDescription::default() });
        }
        let mut names = BTreeSet::new();
        for variant in &mut variants {
            if variant.name.trim().is_empty() {
                return Err(fault("a variant has no `name`".to_owned()));
            }
            if !names.insert(variant.name.clone()) {
                return Err(fault(format!("two variants have the name `{}`", variant.name)));
            }
            variant.max_cost = variant.max_cost.or(max_cost);
        }
        let amounts = variants.iter().map(|variant| ("maxCost", variant.max_cost)).chain([("budget", budget)]);
        let mut nothing = amounts.filter(|(_, amount)| amount.is_some_and(|amount| amount <= Usd::ZERO));
        if let Some((key, _)) = nothing.next() {
            return Err(fault(format!("`{key}` must be a dollar amount above 0")));
        }
        let base = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new(".")).to_owned();
        let mut groups = Vec::new();
        for source in problems {
            let (files, own) = match source {
                Source::Files(files) => (files, Vec::new()),
                Source::With { files, attach } => (files, attach),
            };
            let problems = read_problems(&paths(&base, &files).map_err(fault)?)?;
            groups.push(Group { problems, attach: attach.iter().cloned().chain(own).collect() });
        }
        let mut ids = BTreeSet::new();
        for problem in groups.iter().flat_map(|group| &group.problems) {
            if !ids.insert(problem.id.as_str()) {
                return Err(twice(&problem.id));
            }
        }
        if ids.is_empty() {
            return Err(fault("`problems` is empty".to_owned()));
        }
        let repeat = usize::try_from(repeats.get()).unwrap_or(usize::MAX);
        let debates = ids.len().saturating_mul(variants.len()).saturating_mul(repeat);
        if debates > MOST_DEBATES {
            return Err(fault(format!("this set has {debates} debates, but at most {MOST_DEBATES} are allowed")));
        }
        Ok(Self { base, groups, variants, repeats, budget })
    }
}

fn said(error: &serde_path_to_error::Error<serde_json::Error>) -> String {
    let path = error.path().to_string();
    let fault = error.inner().to_string();
    if path == "." { fault } else { format!("`{path}`: {fault}") }
}

/// Expands a pattern to the matching files in alphabetical order. Without wildcards, or if `files` exists as it is
/// written, returns that path alone.
fn paths(base: &Path, files: &str) -> Result<Vec<PathBuf>, String> {
    let path = base.join(files);
    if !files.contains(['*', '?', '[']) || path.exists() {
        return Ok(vec![path]);
    }
    let base = glob::Pattern::escape(&base.to_string_lossy());
    let pattern = Path::new(&base).join(files);
    let found = glob::glob(&pattern.to_string_lossy())
        .map_err(|error| format!("cannot expand the pattern `{files}`: {error}"))?;
    let mut paths = Vec::new();
    for path in found {
        let path = path.map_err(|error| format!("cannot expand the pattern `{files}`: {error}"))?;
        // Skip a README, which describes the set.
        let is_readme = path.file_stem().is_some_and(|stem| stem.eq_ignore_ascii_case("readme"));
        if path.is_file() && !is_readme {
            paths.push(path);
        }
    }
    if paths.is_empty() { Err(format!("no file matches the pattern `{files}`")) } else { Ok(paths) }
}

/// Appended to a problem whose answer a program checks.
const ASKS_FOR_ANSWER: &str =
    "End with a line of its own that has the result alone, in this form:\n\nAnswer: <the result>";
/// Markdown that may surround the word `Answer`.
const MARKS: [char; 7] = ['*', '_', '`', '#', '>', '-', ' '];

const FORMS: &str = "problems are read from a directory of Markdown files, from Markdown files, or from a `.jsonl` file \
    whose lines have `id`, `problem` and optionally an `answer` that a program can check";

/// Deserialized from a line of a `.jsonl` file, or made from a Markdown file.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Problem {
    /// The file's name without `.md`, or the line's `id`.
    pub id: String,
    #[serde(rename = "problem")]
    pub text: Arc<str>,
    /// Shown to all agents and the judge.
    #[serde(skip)]
    pub attachments: Arc<[Attachment]>,
    /// The right answer, if a program can check it.
    pub answer: Option<ExpectedAnswer>,
    /// What a good answer must contain; empty without a checklist.
    #[serde(default)]
    pub checklist: Vec<String>,
}

/// An answer that a program can check.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged, expecting = "`answer` must be a string, a number, or {\"number\": …, \"within\": …}")]
pub enum ExpectedAnswer {
    /// Compared without regard to case, the amount of white space, and surrounding Markdown.
    Text(String),
    Number(f64),
    /// A number with an absolute tolerance.
    Near {
        number: f64,
        within: f64,
    },
}

fn read_problems(paths: &[PathBuf]) -> Result<Vec<Problem>, UserError> {
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
            return Err(UserError::input(format!("{} contains no problems", path.display())).with_hint(FORMS));
        }
    }
    let mut ids = BTreeSet::new();
    if let Some(same) = problems.iter().find(|problem| !ids.insert(problem.id.as_str())) {
        return Err(twice(&same.id));
    }
    // A problem that occurs twice would count twice in the results.
    let mut texts = BTreeMap::new();
    for Problem { id, text, .. } in &problems {
        if let Some(other) = texts.insert(text, id) {
            return Err(UserError::input(format!("the problems `{other}` and `{id}` are identical"))
                .with_hint("remove one of them, because a duplicate would count twice"));
        }
    }
    Ok(problems)
}

fn twice(id: &str) -> UserError {
    UserError::input(format!("two problems have the id `{id}`")).with_hint("rename one of them")
}

impl Problem {
    /// Checks and trims the problem's text. If a program checks the answer, appends how to state the answer.
    fn checked(self) -> Result<Self, ProblemFault> {
        check_problem_text(&self.text)?;
        let text = self.text.trim();
        let text = match &self.answer {
            Some(_) => format!("{text}\n\n{ASKS_FOR_ANSWER}").into(),
            None => text.into(),
        };
        Ok(Self { text, ..self })
    }
}

impl ExpectedAnswer {
    /// Whether the last `Answer:` line of `text` is right. False if `text` has no such line.
    pub fn is_in(&self, text: &str) -> bool {
        let Some(given) = given(text) else { return false };
        let number = || given.replace([',', '_'], "").parse::<f64>().ok();
        match self {
            Self::Text(right) => plain(&given) == plain(right),
            Self::Number(right) => number().is_some_and(|number| (number - right).abs() <= 1e-9 * right.abs().max(1.0)),
            Self::Near { number: right, within } => number().is_some_and(|number| (number - right).abs() <= *within),
        }
    }

    /// Why no text can match this answer; `None` if a text can.
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

fn bare(text: &str) -> &str {
    text.trim_start_matches(['*', '_', '`', ' ']).trim_end_matches(['*', '_', '`', ' ', '.'])
}

fn plain(text: &str) -> String {
    bare(text).split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()
}

fn read(path: &Path) -> Result<String, UserError> {
    fs::read_to_string(path).map_err(|source| unreadable(path, source))
}

fn unreadable(path: &Path, source: io::Error) -> UserError {
    UserError::input(format!("cannot read {}", path.display())).with_hint(FORMS).with_source(source)
}

/// The Markdown files sorted by name, without the README, which describes the set.
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

/// Reads a problem, and its checklist if `checklists/<name>.md` exists next to the file. `None` if the file is empty.
fn of_markdown(path: &Path) -> Result<Option<Problem>, UserError> {
    let id = path.file_stem().unwrap_or_default().to_string_lossy();
    let list = path.parent().unwrap_or(Path::new("")).join("checklists").join(format!("{id}.md"));
    let checklist = if list.is_file() { items(&read(&list)?) } else { Vec::new() };
    let (id, text, attachments) = (id.into_owned(), read(path)?.into(), Arc::default());
    match (Problem { id, text, attachments, answer: None, checklist }).checked() {
        Ok(problem) => Ok(Some(problem)),
        Err(ProblemFault::Empty) => Ok(None),
        Err(fault @ ProblemFault::Nul { .. }) => {
            Err(UserError::input(format!("{} {fault}", path.display())).with_hint(fault.hint()))
        }
    }
}

/// The items of a checklist: for each line that begins with `- [ ]`, the text after it.
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
        let problem: Problem = serde_json::from_str(text).map_err(|error| {
            // The error counts lines within this JSON, not within the file.
            let fault = error.to_string();
            wrong(fault.split(" at line").next().unwrap_or_default())
        })?;
        if problem.id.trim().is_empty() {
            return Err(wrong("`id` is empty"));
        }
        if let Some(fault) = problem.answer.as_ref().and_then(ExpectedAnswer::fault) {
            return Err(wrong(fault));
        }
        problems.push(problem.checked().map_err(|fault| wrong(&format!("`problem` {fault}")))?);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn described(text: &str) -> Result<Description, UserError> {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        fs::create_dir(at("[rfcs]")).unwrap();
        for (name, text) in [("[rfcs]/b.md", "B"), ("[rfcs]/a.md", "A"), ("[rfcs]/README.md", "Of the set")] {
            fs::write(at(name), text).unwrap();
        }
        fs::write(at("more.jsonl"), "{\"id\": \"c\", \"problem\": \"C\", \"answer\": 4}\n").unwrap();
        fs::write(at("[rfcs]/sweep.json"), text).unwrap();
        Description::read(&at("[rfcs]/sweep.json"))
    }

    #[test]
    fn files_patterns_and_lines_are_read_beside_the_description() {
        let described = described(
            r#"{"problems": [{"files": "*.md", "attach": ["own.txt"]}, "../more.jsonl"], "attach": ["all.txt"],
                "variants": [{"name": "a", "maxCost": 2}, {"name": "b"}], "maxCost": 1, "budget": 9, "repeats": 3}"#,
        )
        .unwrap();
        let of = |group: &Group| {
            let ids = group.problems.iter().map(|problem| problem.id.clone()).collect::<Vec<_>>();
            (ids.join(" "), group.attach.join(" "))
        };
        let groups: Vec<_> = described.groups.iter().map(of).collect();
        let expected = [("a b", "all.txt own.txt"), ("c", "all.txt")];
        assert_eq!(groups, expected.map(|(ids, attached)| (ids.to_owned(), attached.to_owned())));
        let limits: Vec<_> = described.variants.iter().map(|variant| variant.max_cost.unwrap().dollars()).collect();
        assert_eq!(limits, [2.0, 1.0]);
        assert_eq!(described.repeats.get(), 3);
    }

    #[test]
    fn what_is_wrong_is_said_with_its_place() {
        for (text, expected) in [
            ("{", "EOF while parsing an object at line 1 column 1"),
            ("{}", "missing field `problems`"),
            (r#"{"problems": []}"#, "`problems` is empty"),
            (r#"{"problems": [7]}"#, "`problems[0]`: a path, a pattern"),
            (r#"{"problems": ["*.txt"]}"#, "no file matches the pattern `*.txt`"),
            (r#"{"problems": ["none.md"]}"#, "cannot read"),
            (r#"{"problems": ["a.md", "*.md"]}"#, "two problems have the id `a`"),
            (r#"{"problems": ["a.md"], "repeats": 0}"#, "`repeats`: "),
            (r#"{"problems": ["a.md"], "repeats": 1000001}"#, "this set has 1000001 debates"),
            (r#"{"problems": ["a.md"], "budget": 0}"#, "`budget` must be a dollar amount above 0"),
            (
                r#"{"problems": ["a.md"], "variants": [{"name": "a", "round": 3}]}"#,
                "`variants[0].round`: unknown field",
            ),
            (r#"{"problems": ["a.md"], "variants": [{"name": "a"}, {"name": "a"}]}"#, "two variants have the name `a`"),
            (r#"{"problems": ["a.md"]} x"#, "trailing characters"),
        ] {
            let error = described(text).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn answers_are_found_where_they_were_asked_for() {
        let text = |last: &str| format!("Answer: 7 is what one might think.\n\nBut no.\n\n{last}\n");
        for (last, answer, is_right) in [
            ("Answer: 42", ExpectedAnswer::Number(42.0), true),
            ("**Answer:** 42.", ExpectedAnswer::Number(42.0), true),
            ("- **Answer**: `1,024`", ExpectedAnswer::Number(1024.0), true),
            ("Answer: 42 apples", ExpectedAnswer::Number(42.0), false),
            ("Answer: 41.9", ExpectedAnswer::Near { number: 42.0, within: 0.2 }, true),
            ("Answer: 41.7", ExpectedAnswer::Near { number: 42.0, within: 0.2 }, false),
            ("answer:  The  Knave", ExpectedAnswer::Text("the knave".to_owned()), true),
            ("Answer: not the knave", ExpectedAnswer::Text("the knave".to_owned()), false),
            ("Answer: **U.S.**", ExpectedAnswer::Text("U.S.".to_owned()), true),
            ("Answer: `__init__`", ExpectedAnswer::Text("__init__".to_owned()), true),
            ("The result is 42", ExpectedAnswer::Number(42.0), false),
        ] {
            assert_eq!(answer.is_in(&text(last)), is_right, "{last}");
        }
        assert!(!ExpectedAnswer::Number(0.0).is_in(""));
    }

    fn lines(text: &str) -> Result<Vec<Problem>, UserError> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("set.jsonl");
        fs::write(&path, text).unwrap();
        read_problems(&[path])
    }

    #[test]
    fn lines_are_problems_and_what_is_wrong_is_said_with_its_place() {
        let set = lines("{\"id\": \"a\", \"problem\": \"P\", \"answer\": 4}\n\n{\"id\": \"b\", \"problem\": \"Q\"}\n")
            .unwrap();
        assert_eq!(set.len(), 2);
        assert!(set[0].text.starts_with("P\n\nEnd with a line"), "{:?}", set[0]);
        assert_eq!(&*set[1].text, "Q");
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
            ("\n", "contains no problems"),
        ] {
            let error = lines(text).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn the_twelve_problems_have_checklists() {
        let set = read_problems(&[Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/problems")]).unwrap();
        assert_eq!(set.len(), 12);
        for problem in &set {
            assert!(problem.checklist.len() >= 8, "{}", problem.id);
            let words = problem.text.split_whitespace().count();
            assert!((250..=500).contains(&words), "{}: {words}", problem.id);
        }
    }
}
