//! Rules of the house that the compiler does not hold anybody to: who may know whom, where stages are named, and that
//! nothing takes what it does not know for something else.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use dialectic::protocol::PROTOCOLS;

mod matches;

/// Words that are written like a stage and mean something else, with what they mean.
const NO_STAGES: &[(&str, &str, &str)] = &[
    ("store/older.rs", "evaluation", "a key of a round in states of format 1"),
    ("trace/attributes.rs", "verdict", "a key of the attributes of a trace"),
    ("display/result.rs", "verdict", "what a result is called when its stage is not known"),
    ("report/markdown/verdict.rs", "verdict", "what a result is called when its stage is not known"),
    ("report/markdown/run.rs", "vote", "what a ballot is called when its stage is not known"),
    ("report/html/mod.rs", "vote", "the place in the page of the picture of a vote"),
    ("trace/attributes.rs", "judgement", "a key of the attributes of a trace"),
    ("report/html/mod.rs", "judgement", "the place in the page of the verdict"),
    ("agent/reply.rs", "judgement", "the name of a schema in requests"),
    ("agent/compare.rs", "challenge", "the name of a schema in requests"),
    ("debate/settings.rs", "convergence", "the name of an ending condition"),
    ("debate/agreement.rs", "rebuttal", "the name of a kind of argument"),
    ("debate/agreement.rs", "synthesis", "the name of a kind of argument"),
    ("debate/reading/points.rs", "critique", "a word that models put over their points"),
    ("agent/reply.rs", "evaluation", "the name of a schema in requests"),
    ("evaluation/answer.rs", "evaluation", "a key of the answer of `eval`"),
    ("evaluation/schema.rs", "evaluation", "a key of the answer of `eval`"),
];

/// Arms and fallbacks that stand for what they do not name, by the file and how they begin, with the reason.
const CATCH_ALLS: &[(&str, &str, &str)] = &[
    ("debate/fork.rs", "rposition(..)", "a protocol without rounds: there is none to be within"),
    ("display/plain.rs", "Event: _ => result_line", "shows the result of whatever event has one"),
    ("engine/budget/ledger.rs", "Event: event =>", "books the call of whatever event has one"),
    ("report/html/calls.rs", "Event: (_, Some((key, settled)))", "shows whatever event ends a call, by its key"),
    ("protocol/format1.rs", "unwrap_or(&DIALECTIC)", "records of format 1 were all made by this protocol"),
    ("protocol/mod.rs", "Trigger: other =>", "looks it up in the stage's table, and fails where that lacks it"),
];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The source files of a module, tests left out.
fn sources(module: &str) -> Vec<PathBuf> {
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
    let file = root().join("src").join(format!("{module}.rs"));
    if file.is_file() {
        found.push(file);
    } else {
        walk(&root().join("src").join(module), &mut found);
    }
    found
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

/// The modules that a text of code names.
fn known(code: &str) -> BTreeSet<String> {
    let names = code
        .split("crate::")
        .skip(1)
        .map(|behind| behind.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect::<String>());
    names.filter(|name| !name.is_empty()).collect()
}

/// Who may know whom, as the documentation says.
fn allowed() -> BTreeMap<String, BTreeSet<String>> {
    let text = fs::read_to_string(root().join("docs/architecture.md")).unwrap();
    let (_, table) = text.split_once("| module | may know |").expect("the table of who may know whom");
    let rows = table.lines().skip(2).take_while(|line| line.starts_with('|'));
    let cells = rows.map(|row| row.trim_matches('|').split('|').map(str::trim).collect::<Vec<_>>());
    let names = |cell: &str| cell.split('`').skip(1).step_by(2).map(str::to_owned).collect::<BTreeSet<_>>();
    let mut allowed = BTreeMap::new();
    let mut of_all = BTreeSet::new();
    for cells in cells {
        if cells[0] == "every module" {
            of_all = names(cells[1]);
        }
        for module in names(cells[0]) {
            allowed.insert(module, names(cells[1]));
        }
    }
    for of_one in allowed.values_mut() {
        of_one.extend(of_all.iter().cloned());
    }
    allowed
}

#[test]
fn modules_know_only_whom_the_documentation_says() {
    let allowed = allowed();
    let lib = fs::read_to_string(root().join("src/lib.rs")).unwrap();
    let modules = lib.lines().filter_map(|line| line.strip_prefix("pub mod ")?.strip_suffix(';'));
    let modules: BTreeSet<String> = modules.map(str::to_owned).collect();
    assert_eq!(allowed.keys().cloned().collect::<BTreeSet<_>>(), modules, "the table has a row for each module");
    let mut broken = Vec::new();
    for module in &modules {
        for file in sources(module) {
            for other in known(&code(&file)) {
                if modules.contains(&other) && other != *module && !allowed[module].contains(&other) {
                    broken.push(format!("{} knows {other}", file.strip_prefix(root()).unwrap().display()));
                }
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn no_stage_is_named_outside_of_the_protocols() {
    let ids: BTreeSet<&str> =
        PROTOCOLS.iter().flat_map(|protocol| protocol.stages).map(|stage| stage.info.id.as_str()).collect();
    assert!(ids.contains("critique") && ids.contains("rebuttal"));
    let mut named = Vec::new();
    for module in ["engine", "store", "display", "trace", "llm", "runner", "report", "agent", "debate", "evaluation"] {
        for file in sources(module) {
            let path = file.strip_prefix(root().join("src")).unwrap().to_str().unwrap().to_owned();
            // It tells what it is asked for by the heading of the task, as a model does; some tasks are called like
            // their stage.
            if path.starts_with("llm/offline") {
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
        let text = fs::read_to_string(root().join("src").join(path)).unwrap();
        assert!(text.contains(&format!("\"{word}\"")), "{path} has no \"{word}\" any more: {why}");
    }
}

#[test]
fn nothing_unknown_is_taken_for_something_known() {
    let lib = fs::read_to_string(root().join("src/lib.rs")).unwrap();
    let modules = lib.lines().filter_map(|line| line.strip_prefix("pub mod ")?.strip_suffix(';'));
    let files: Vec<PathBuf> = modules.flat_map(sources).collect();
    let constants = |kind| files.iter().flat_map(move |file| matches::constants(&code(file), kind));
    let ids = PROTOCOLS.iter().flat_map(|protocol| protocol.stages).map(|stage| format!("\"{}\"", stage.info.id));
    let stages: BTreeSet<String> = constants("StageId").chain(ids).collect();
    assert!(stages.contains("CRITIQUE") && stages.contains("\"critique\""));
    let known: BTreeSet<String> =
        stages.iter().cloned().chain(constants("Trigger")).chain(constants("Protocol")).collect();
    assert!(known.contains("DIALECTIC") && known.contains("PROPOSALS_COMPLETE"));
    let is_word = |path: &str, one: &str| {
        NO_STAGES.iter().any(|(known, word, _)| path == *known && one.contains(&format!("(\"{word}\")")))
    };
    let mut unused: Vec<_> = CATCH_ALLS.to_vec();
    let mut found = Vec::new();
    for file in &files {
        let path = file.strip_prefix(root().join("src")).unwrap().to_str().unwrap();
        // It goes by the headings of tasks, as above.
        if path.starts_with("llm/offline") {
            continue;
        }
        let code = code(file);
        for one in [matches::catch_alls(&code, &stages), matches::fallbacks(&code, &known)].concat() {
            unused.retain(|(known, start, _)| !(*known == path && one.starts_with(start)));
            if !is_word(path, &one)
                && !CATCH_ALLS.iter().any(|(known, start, _)| *known == path && one.starts_with(start))
            {
                found.push(format!("{path}: {one}"));
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
    assert!(unused.is_empty(), "no longer there: {unused:?}");
}
