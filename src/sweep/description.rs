//! The user's description of a set: `sweep.json`.

use std::collections::BTreeSet;
use std::fs;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use dialectic_base::money::Usd;
use dialectic_record::debate::TerminationKind;

use crate::error::UserError;

use super::problems::{Problem, ProblemSet};

/// The maximum number of debates in a set.
pub const MOST_DEBATES: usize = 1_000_000;

/// A set of debates. All paths are relative to the directory of its file.
#[derive(Debug)]
pub struct Description {
    /// The directory of its file.
    pub base: PathBuf,
    pub groups: Vec<Group>,
    /// The variants, at least one.
    pub variants: Vec<VariantDescription>,
    /// How often each problem is debated in each variant.
    pub repeats: NonZeroU32,
    /// The maximum total cost.
    pub budget: Option<Usd>,
}

/// Problems with the same attachments.
#[derive(Debug)]
pub struct Group {
    pub problems: Vec<Problem>,
    /// The attached files, as named in the description.
    pub attach: Vec<String>,
}

/// A way to debate.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct VariantDescription {
    /// The name in results.
    pub name: String,
    pub config: Option<PathBuf>,
    pub protocol: Option<String>,
    /// The model of all agents and the judge.
    pub model: Option<String>,
    pub judge_model: Option<String>,
    /// Models of several vendors.
    #[serde(default)]
    pub mixed: bool,
    /// The roles that take part.
    pub agents: Option<Vec<String>>,
    pub rounds: Option<u32>,
    /// When to end early.
    pub until: Option<TerminationKind>,
    pub check: Option<u32>,
    /// Whether a small council gives short answers.
    #[serde(default)]
    pub quick: bool,
    /// Call no model.
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

/// The location of problems.
#[derive(Deserialize)]
#[serde(untagged, expecting = "a path, a pattern such as \"rfcs/*.md\", or {\"files\": …, \"attach\": […]}")]
enum Source {
    Files(String),
    With(SourceWith),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SourceWith {
    files: String,
    #[serde(default)]
    attach: Vec<String>,
}

fn once() -> NonZeroU32 {
    NonZeroU32::MIN
}

impl Description {
    /// Reads a description and its problems.
    ///
    /// # Errors
    /// It, or one of its problems, cannot be used.
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
            return Err(fault(format!("`{key}` must be an amount of dollars above 0")));
        }
        let base = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new(".")).to_owned();
        let mut groups = Vec::new();
        for source in problems {
            let (files, own) = match source {
                Source::Files(files) => (files, Vec::new()),
                Source::With(SourceWith { files, attach }) => (files, attach),
            };
            let problems = ProblemSet::read(&paths(&base, &files).map_err(fault)?)?.problems;
            groups.push(Group { problems, attach: attach.iter().cloned().chain(own).collect() });
        }
        let mut ids = BTreeSet::new();
        for problem in groups.iter().flat_map(|group| &group.problems) {
            if !ids.insert(problem.id.as_str()) {
                return Err(ProblemSet::twice(&problem.id));
            }
        }
        if ids.is_empty() {
            return Err(fault("`problems` is empty".to_owned()));
        }
        let repeat = usize::try_from(repeats.get()).unwrap_or(usize::MAX);
        let debates = ids.len().saturating_mul(variants.len()).saturating_mul(repeat);
        if debates > MOST_DEBATES {
            return Err(fault(format!("it has {debates} debates; a set may have at most {MOST_DEBATES}")));
        }
        Ok(Self { base, groups, variants, repeats, budget })
    }
}

/// The fault of a file and its place.
fn said(error: &serde_path_to_error::Error<serde_json::Error>) -> String {
    let path = error.path().to_string();
    let fault = error.inner().to_string();
    if path == "." { fault } else { format!("`{path}`: {fault}") }
}

/// The files that match a path or a pattern, sorted by name.
fn paths(base: &Path, files: &str) -> Result<Vec<PathBuf>, String> {
    let path = base.join(files);
    if !files.contains(['*', '?', '[']) || path.exists() {
        return Ok(vec![path]);
    }
    let base = glob::Pattern::escape(&base.to_string_lossy());
    let pattern = Path::new(&base).join(files);
    let found = glob::glob(&pattern.to_string_lossy()).map_err(|error| format!("the pattern `{files}`: {error}"))?;
    let mut paths = Vec::new();
    for path in found {
        let path = path.map_err(|error| format!("the pattern `{files}`: {error}"))?;
        // A README describes the set, as in a directory.
        let is_readme = path.file_stem().is_some_and(|stem| stem.eq_ignore_ascii_case("readme"));
        if path.is_file() && !is_readme {
            paths.push(path);
        }
    }
    if paths.is_empty() { Err(format!("no file matches the pattern `{files}`")) } else { Ok(paths) }
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
            (r#"{"problems": ["a.md"], "repeats": 1000001}"#, "it has 1000001 debates"),
            (r#"{"problems": ["a.md"], "budget": 0}"#, "`budget` must be an amount of dollars above 0"),
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
}
