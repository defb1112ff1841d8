//! Rules of the house that neither the compiler nor clippy checks: the graph of crates is the documented one, and stages
//! are named only where they are declared.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use serde_json::Value;

use dialectic_record::protocol::PROTOCOLS;

/// Words that are written like a stage and mean something else, with what they mean.
const NO_STAGES: &[(&str, &str, &str)] = &[
    ("crates/record/src/store/older.rs", "evaluation", "a key of a round in states of format 1"),
    ("src/trace/attributes.rs", "verdict", "a key of the attributes of a trace"),
    ("crates/report/src/display/result.rs", "verdict", "what a result is called when its stage is not known"),
    ("crates/report/src/report/html/mod.rs", "vote", "the place in the page of the picture of a vote"),
    ("src/trace/attributes.rs", "judgement", "a key of the attributes of a trace"),
    ("crates/report/src/report/html/mod.rs", "judgement", "the place in the page of the verdict"),
    ("crates/engine/src/agent/reply.rs", "judgement", "the name of a schema in requests"),
    ("crates/engine/src/agent/labels.rs", "proposal", "a noun that models put before a label"),
    ("crates/engine/src/agent/call.rs", "challenge", "the name of a schema in requests"),
    ("crates/record/src/settings/mod.rs", "convergence", "the name of an ending condition"),
    ("crates/record/src/answer/agreement.rs", "rebuttal", "the name of a kind of argument"),
    ("crates/record/src/answer/agreement.rs", "synthesis", "the name of a kind of argument"),
    ("crates/record/src/settings/mod.rs", "voting", "a word of older configurations for the judge's solution"),
    ("crates/engine/src/agent/call.rs", "evaluation", "the name of a schema in requests"),
    ("crates/engine/src/agent/reply.rs", "choice", "a key of a ballot"),
    ("crates/engine/src/agent/labels.rs", "choice", "a noun that stands before a label"),
    ("src/evaluation/answer.rs", "evaluation", "a key of the answer of `eval`"),
    ("crates/report/src/report/review.rs", "ruling", "a key of a finding and of a result's properties"),
    ("crates/report/src/report/review.rs", "findings", "a key of a review"),
];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The source files below a directory of the repository, tests left out.
fn sources(directory: &str) -> Vec<PathBuf> {
    fn walk(path: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(path).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            if path.is_dir() && name != "tests" {
                walk(&path, found);
            } else if path.extension().is_some_and(|extension| extension == "rs")
                && !name.ends_with("tests.rs")
                && name != "fixture.rs"
            {
                found.push(path);
            }
        }
    }
    let mut found = Vec::new();
    walk(&root().join(directory), &mut found);
    found
}

/// The directories of source of all crates.
fn all_sources() -> Vec<String> {
    let crates = fs::read_dir(root().join("crates")).unwrap().map(|entry| entry.unwrap().file_name());
    let crates = crates.map(|name| format!("crates/{}/src", name.to_str().unwrap()));
    crates.chain(["src".to_owned()]).collect()
}

/// The path of a file from the top of the repository.
fn shown(path: &Path) -> String {
    path.strip_prefix(root()).unwrap().to_str().unwrap().replace('\\', "/")
}

/// What is compiled of a file outside of tests, without comments.
fn code(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap();
    // A module of tests in a file of its own is none of this text.
    let inline = text
        .match_indices("#[cfg(test)]\nmod ")
        .find(|(place, _)| text[*place..].lines().nth(1).is_some_and(|line| line.ends_with('{')));
    let code = inline.map_or(text.as_str(), |(place, _)| &text[..place]);
    code.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

/// What a row of the table of crates says: its name, which others it knows, and what it does without.
struct Row {
    name: String,
    knows: BTreeSet<String>,
    without: BTreeSet<String>,
}

/// Who may know whom, as the documentation says.
fn documented() -> Vec<Row> {
    let text = fs::read_to_string(root().join("CONTRIBUTING.md")).unwrap();
    let (_, table) = text.split_once("| crate | holds | knows | does without |").expect("the table of crates");
    let names = |cell: &str| cell.split('`').skip(1).step_by(2).map(str::to_owned).collect::<BTreeSet<_>>();
    let rows = table.lines().skip(2).take_while(|line| line.starts_with('|'));
    let row = |line: &str| {
        let cells: Vec<&str> = line.trim_matches('|').split('|').collect();
        let name = names(cells[0]).pop_first().expect("the name of a crate");
        Row { name, knows: names(cells[2]), without: names(cells[3]) }
    };
    rows.map(row).collect()
}

/// What cargo says of the workspace, without a network.
static METADATA: LazyLock<Value> = LazyLock::new(|| {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["metadata", "--format-version", "1", "--offline", "--locked"]);
    let output = cargo.current_dir(root()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
});

fn list(value: &Value) -> std::slice::Iter<'_, Value> {
    value.as_array().unwrap().iter()
}

/// The packages of the workspace.
fn packages() -> impl Iterator<Item = &'static Value> {
    list(&METADATA["packages"]).filter(|package| package["source"].is_null())
}

/// The names of all that is compiled into a package.
fn built_with(name: &str) -> BTreeSet<&'static str> {
    let names: BTreeMap<&str, &str> = list(&METADATA["packages"])
        .map(|package| (package["id"].as_str().unwrap(), package["name"].as_str().unwrap()))
        .collect();
    let nodes: BTreeMap<&str, &Value> =
        list(&METADATA["resolve"]["nodes"]).map(|node| (node["id"].as_str().unwrap(), &node["deps"])).collect();
    let package = packages().find(|package| package["name"] == name).expect("a crate of the workspace");
    let (mut open, mut found) = (vec![package["id"].as_str().unwrap()], BTreeSet::new());
    while let Some(id) = open.pop() {
        if found.insert(id) {
            let normal = |one: &&Value| list(&one["dep_kinds"]).any(|kind| kind["kind"].is_null());
            open.extend(list(nodes[id]).filter(normal).map(|one| one["pkg"].as_str().unwrap()));
        }
    }
    found.into_iter().map(|id| names[id]).collect()
}

/// The dependencies of a package that are compiled into it: what its tests need is none.
fn normal(package: &Value) -> impl Iterator<Item = &Value> {
    list(&package["dependencies"]).filter(|dependency| dependency["kind"].is_null())
}

#[test]
fn crates_know_only_whom_the_documentation_says() {
    let mut known = BTreeMap::new();
    for package in packages() {
        let ours = normal(package).filter(|dependency| dependency["path"].is_string());
        let ours: BTreeSet<String> = ours.map(|one| one["name"].as_str().unwrap().to_owned()).collect();
        known.insert(package["name"].as_str().unwrap().to_owned(), ours);
    }
    let documented = documented().into_iter().map(|row| (row.name, row.knows)).collect();
    assert_eq!(known, documented);
}

#[test]
fn crates_do_without_what_the_documentation_says() {
    for Row { name, without, .. } in documented() {
        let built_with = built_with(&name);
        assert!(built_with.contains(name.as_str()));
        let broken: Vec<_> = without.iter().filter(|one| built_with.contains(one.as_str())).collect();
        assert!(broken.is_empty(), "{name} is built with {broken:?}");
    }
}

#[test]
fn the_record_takes_only_channels_tasks_and_time_of_tokio() {
    let record = packages().find(|package| package["name"] == "dialectic-record").unwrap();
    let tokio = normal(record).find(|dependency| dependency["name"] == "tokio").unwrap();
    let features = list(&tokio["features"]).map(|feature| feature.as_str().unwrap());
    assert_eq!(features.collect::<BTreeSet<_>>(), BTreeSet::from(["rt", "sync", "time"]));
    assert_eq!(tokio["uses_default_features"], Value::Bool(true), "tokio has no default features");
}

#[test]
fn the_environment_is_read_in_one_place() {
    let reads = ["env::var(", "env::var_os(", "env::vars(", "env::vars_os("];
    let files = all_sources().into_iter().flat_map(|directory| sources(&directory));
    let readers = files.filter(|file| reads.iter().any(|read| code(file).contains(read)));
    assert_eq!(readers.map(|file| shown(&file)).collect::<Vec<_>>(), ["crates/config/src/env.rs"]);
}

#[test]
fn no_stage_is_named_outside_of_the_protocols() {
    let ids: BTreeSet<&str> =
        PROTOCOLS.iter().flat_map(|protocol| protocol.stages).map(|stage| stage.info.id.as_str()).collect();
    assert!(ids.contains("critique") && ids.contains("rebuttal"));
    let mut named = Vec::new();
    for directory in [
        "crates/engine/src/engine",
        "crates/record/src/store",
        "crates/report/src/display",
        "src/trace",
        "crates/llm/src",
        "crates/engine/src/runner",
        "crates/report/src/report",
        "crates/engine/src/agent",
        "crates/record/src/answer",
        "crates/record/src/debate",
        "crates/record/src/event",
        "crates/record/src/live",
        "crates/record/src/settings",
        "src/evaluation",
    ] {
        for file in sources(directory) {
            let path = shown(&file);
            // It tells what it is asked for by the heading of the task, as a model does; some tasks are called like
            // their stage.
            if path.starts_with("crates/llm/src/offline") {
                continue;
            }
            let code = code(&file);
            let known = ids.iter().filter(|id| code.contains(&format!("\"{id}\""))).map(|id| (path.clone(), *id));
            named.extend(
                known.filter(|(path, id)| !NO_STAGES.iter().any(|(known, word, _)| path == known && id == word)),
            );
        }
    }
    assert!(named.is_empty(), "{named:?}");
    for (path, word, why) in NO_STAGES {
        let text = fs::read_to_string(root().join(path)).unwrap();
        assert!(text.contains(&format!("\"{word}\"")), "{path} has no \"{word}\" any more: {why}");
    }
}

#[test]
fn paths_in_the_notes_for_contributors_exist() {
    let text = fs::read_to_string(root().join("CONTRIBUTING.md")).unwrap();
    let words = text.split('`').skip(1).step_by(2).flat_map(str::split_whitespace);
    let paths: Vec<_> = words.filter(|word| word.contains('/') && !word.starts_with('/')).collect();
    assert!(paths.len() > 20, "{paths:?}");
    // What follows `<` is a placeholder.
    let missing: Vec<_> = paths.iter().filter(|path| !root().join(path.split('<').next().unwrap()).exists()).collect();
    assert!(missing.is_empty(), "{missing:?}");
}
