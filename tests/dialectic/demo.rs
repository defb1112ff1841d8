//! `dialectic demo`: the debate written by hand, and what can be done with it.

use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::{Finished, Sandbox, Terminal};

/// Where it is kept below a home without a cache directory of its own.
const PLACE: &str = ".cache/dialectic";

/// The arguments of the command of this name that the end names.
fn named(finished: &Finished, command: &str) -> Vec<String> {
    let begin = format!("  dialectic {command} ");
    let line = finished.stderr.lines().find(|line| line.starts_with(&begin)).unwrap_or_else(|| panic!("{finished}"));
    line.split_whitespace().skip(1).map(str::to_owned).collect()
}

fn json(finished: &Finished) -> Value {
    serde_json::from_str(&finished.stdout).unwrap_or_else(|error| panic!("{error}: {finished}"))
}

#[test]
fn it_runs_where_nothing_is_set_up_and_what_it_names_works() {
    let sandbox = Sandbox::new();
    let finished = sandbox.run(["demo"]).expect_code(0);
    let said: Vec<&str> = finished.stderr.lines().collect();
    assert_eq!(said[0], "This debate was written by hand; no model is called.");
    assert!(said[1].starts_with("11 calls in ") && said[3] == "# Stop losing orders when the payment service is slow");
    assert!(!finished.stderr.contains("cost unknown") && !finished.stderr.contains("waiting for"), "{finished}");
    assert!(said.contains(&"This debate was written by hand; no model was called."), "{finished}");
    assert!(finished.stderr.contains("round 1/"), "the debate is not shown: {finished}");
    // In a council nobody answers a review, so nothing is left unanswered.
    assert!(finished.stderr.contains("17 points") && !finished.stderr.contains("answered"), "{finished}");
    assert!(finished.stderr.contains("\nStrongest "), "{finished}");
    let places: Vec<PathBuf> = sandbox.files().into_iter().map(|(path, _)| path).collect();
    let kept = ["demo.events.jsonl", "demo.json"].map(|name| sandbox.directory().join(PLACE).join(name));
    assert_eq!(places, kept, "it writes somewhere else");
    let state: Value = serde_json::from_str(&sandbox.read(&kept[1])).unwrap();
    let solution = state["finalSolution"]["description"].as_str().unwrap();
    assert!(finished.stdout.trim_end().ends_with(solution.trim_end()), "{finished}");

    let points = named(&finished, "show");
    assert_eq!(points[2], "points");
    let printed = sandbox.run(&points).expect_code(0).stdout;
    let readme = include_str!("../../README.md");
    let quoted = readme.split("```").nth(1).and_then(|block| block.strip_prefix("text\n")).unwrap();
    assert!(printed.contains(quoted), "README quotes another point: {printed}");
    let path = points[1].as_str();
    assert_eq!(Path::new(path), kept[1]);
    let shown = sandbox.run(["show", path]).expect_code(0).stdout;
    let commands: Vec<&str> =
        shown.lines().filter_map(|line| line.strip_prefix("- `dialectic ")?.strip_suffix('`')).collect();
    assert!(commands.len() > 3, "{shown}");
    for command in commands {
        sandbox.run(command.split(' ')).expect_code(0);
    }
    assert!(sandbox.run(["report", path]).expect_code(0).stdout.contains(solution.lines().next().unwrap()));
    assert_eq!(json(&sandbox.run(["verify", path, "--json"]).expect_code(0))["whole"], true);
    // The page lies beside the record, whatever opens it.
    let opened = sandbox.run(named(&finished, "report")).expect_code(0);
    assert!(sandbox.read(Path::new(PLACE).join("demo.html")).contains("<html"), "{opened}");
    for line in ["  dialectic debate --offline ", "  dialectic init"] {
        assert!(said.iter().any(|said| said.starts_with(line)), "{finished}");
    }
}

#[test]
fn it_counts_for_nothing() {
    let sandbox = Sandbox::new();
    sandbox.run(["demo", "--quiet"]).expect_code(0);
    assert!(!sandbox.directory().join("debates").exists());
    assert_eq!(json(&sandbox.run(["list", "--json"]).expect_code(0)), serde_json::json!([]));
    sandbox.run(["debate", "--offline", "--quick", "Design a queue"]).expect_code(0);
    let (id, before) = (sandbox.only_debate(), sandbox.files());
    let again = sandbox.run(["demo", "--quiet"]).expect_code(0);
    assert!(sandbox.files() == before, "a second demonstration changed something");
    assert_eq!(json(&sandbox.run(["list", "--json"]).expect_code(0)).as_array().unwrap().len(), 1);
    assert!(sandbox.run(["show", "latest"]).expect_code(0).stdout.contains(&id), "{again}");
    let spent = sandbox.run(["list", "--cost", "--json"]).expect_code(0).stdout;
    assert!(!spent.contains("by-hand"), "{spent}");
}

#[test]
fn where_nothing_can_be_kept_the_error_names_the_remedy() {
    // A file in place of the directory refuses the superuser, too.
    let sandbox = Sandbox::new().file(".cache", "");
    let finished = sandbox.run(["demo"]).expect_code(1);
    assert_eq!(finished.stdout, "");
    assert!(finished.stderr.starts_with("error: cannot write the demo debate to "), "{finished}");
    assert!(finished.stderr.contains("set XDG_CACHE_HOME to a writable directory"), "{finished}");
    let place = sandbox.directory().join("my cache");
    let sandbox = sandbox.env("XDG_CACHE_HOME", place.to_str().unwrap());
    let finished = sandbox.run(["demo", "--quiet"]).expect_code(0);
    let shown = format!("dialectic show '{}' points", place.join("dialectic/demo.json").display());
    assert!(finished.stderr.contains(&shown), "{finished}");
    let mode = std::fs::metadata(place.join("dialectic/demo.events.jsonl")).unwrap().permissions().mode();
    assert_eq!(mode & 0o077, 0, "others can read it: {mode:o}");
}

#[test]
fn on_a_terminal_it_is_the_live_view_and_can_be_interrupted() {
    let sandbox = Sandbox::new();
    let mut terminal = Terminal::start(&sandbox, ["demo"]);
    terminal.wait_for("shown here in 0:20");
    terminal.wait_for("proposals");
    terminal.type_control('c');
    let (_, screen) = terminal.expect_code(130);
    // What is kept can be read.
    let shown = screen.text();
    assert!(shown.contains("interrupted; the demo debate was saved, and you can still read it"), "{shown}");
    assert!(!shown.contains("nothing was changed") && shown.contains("dialectic demo"), "{shown}");
    let path = sandbox.directory().join(".cache/dialectic/demo.json");
    sandbox.run([OsStr::new("show"), path.as_os_str(), OsStr::new("points")]).expect_code(0);
}

#[test]
fn the_record_is_small() {
    let asset = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/demo.events.jsonl.gz");
    let size = std::fs::metadata(asset).unwrap().len();
    assert!((1_000..=100_000).contains(&size), "{size} bytes");
}

#[test]
fn it_hears_keys_and_can_be_left() {
    let sandbox = Sandbox::new();
    let mut terminal = Terminal::start(&sandbox, ["demo"]);
    terminal.wait_for("? for keys");
    terminal.type_text("p");
    terminal.wait_for("p to continue · q to leave");
    terminal.type_text("q");
    let (output, _) = terminal.expect_code(0);
    assert!(output.contains("no model was called"), "{output}");
}
