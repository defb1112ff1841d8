//! What keeps a newcomer's trust in the first minute: nothing is dropped silently, and nothing is paid unsaid.

use serde_json::{Value, json};

use crate::support::{MockServer, Sandbox, Terminal, config, short_reply};

/// Where a user's own configuration lies in a sandbox.
const OWN: &str = ".config/dialectic/config.json";
const UNREAD: &str = "standard input was not read; to attach it, add --attach -";

/// A user's own configuration that knows what a model costs.
fn prices() -> Value {
    json!({"prices": {"priced": {"inputPerMTok": 1, "outputPerMTok": 2}}})
}

#[test]
fn a_pipe_that_nothing_reads_is_mentioned() {
    let here = Sandbox::new();
    let debate = ["debate", "Is this safe?", "--offline", "--quick"];
    here.run_with_input(debate, "diff --git a b\n").expect_code(0).says([UNREAD]);
    here.run_with_input([&debate[..], &["--dry-run"]].concat(), "a diff\n").expect_code(0).says([UNREAD]);

    // Read, empty, or for the answers: nothing is amiss.
    for (more, input) in [(&["--attach", "-"][..], "a diff\n"), (&[], ""), (&["--clarify"], "an answer\n")] {
        let finished = here.run_with_input([&debate[..], more].concat(), input).expect_code(0);
        assert!(!finished.stderr.contains(UNREAD), "{more:?}: {finished}");
    }
    let finished = here.run_with_input(["debate", "--offline", "--quick"], "The problem.\n").expect_code(0);
    assert!(!finished.stderr.contains(UNREAD), "{finished}");
}

#[test]
fn what_a_debate_takes_is_said_before_it_is_paid() {
    let server = MockServer::with(short_reply);
    let here = Sandbox::new().model_server(&server).file(OWN, prices().to_string());
    let priced = ["debate", "Design a queue.", "--quick", "-m", "openai/priced"];
    let finished = here.run(priced).expect_code(0);
    let line = finished.stderr.lines().find(|line| line.contains("calls, likely $"));
    let line = line.unwrap_or_else(|| panic!("{finished}"));
    assert!(line.contains(", at most $") && !line.contains("limit"), "{line}");
    here.run([&priced[..], &["--max-cost", "0.25"]].concat()).expect_code(0).says([", at most $0.25 (the limit)"]);
    let finished = here.run(["debate", "Design a queue.", "--quick", "-m", "odd"]).expect_code(0);
    assert!(finished.stderr.contains("calls, of unknown cost (no price is known for odd)"), "{finished}");
    // Nobody is told what a debate costs that costs nothing.
    let finished = here.run(["debate", "Design a queue.", "--quick", "--offline"]).expect_code(0);
    assert!(!finished.stderr.contains("calls,"), "{finished}");
}

#[test]
fn a_person_is_asked_where_it_is_much_or_unknown() {
    let server = MockServer::with(short_reply);
    let here = Sandbox::new().model_server(&server).env("CI", "").file(OWN, prices().to_string());
    let arguments = |model| ["debate", "Design a queue.", "--quick", "-m", model];
    let mut terminal = Terminal::start(&here, arguments("openai/odd"));
    terminal.wait_for("of unknown cost");
    terminal.wait_for("Begin? [y/N]");
    terminal.type_line("sure");
    terminal.wait_for("Type y or n. Begin? [y/N]");
    terminal.type_line("n");
    let (output, _) = terminal.expect_code(0);
    assert!(output.contains("Nothing was started.") && !output.contains("error"), "{output}");
    assert!(here.debates().is_empty() && server.requests().is_empty());

    // A price below the user's mark is not asked about, one above it is.
    let (output, _) = Terminal::start(&here, arguments("openai/priced")).expect_code(0);
    assert!(!output.contains("Begin?"), "{output}");
    let mut own = prices();
    own["confirmAbove"] = json!(0);
    here.write(OWN, own.to_string());
    let mut terminal = Terminal::start(&here, arguments("openai/priced"));
    terminal.wait_for("Begin? [y/N]");
    terminal.type_line("y");
    terminal.expect_code(0);
    // A limit is the user's word already.
    let limited = [&arguments("openai/priced")[..], &["--max-cost", "0.25"]].concat();
    let (output, _) = Terminal::start(&here, limited).expect_code(0);
    assert!(!output.contains("Begin?"), "{output}");

    // A project has no say in it.
    here.write(OWN, "{}");
    here.write("debate-config.json", {
        let mut project = config(&["architect", "kiss"], &json!({}));
        project["confirmAbove"] = json!(1000);
        project.to_string()
    });
    let finished = here.run(["config", "check"]);
    assert!(finished.stderr.contains("confirmAbove") || finished.stdout.contains("confirmAbove"), "{finished}");
}

/// A debate and a fork of it, and their ids.
fn two(here: &Sandbox) -> [String; 2] {
    here.run(["debate", "Design a queue", "--offline", "--quick"]).expect_code(0);
    let parent = here.only_debate();
    here.run(["fork", &parent, "--at", "1.review", "--offline"]).expect_code(0);
    let fork = here.debates().into_iter().find(|id| *id != parent).unwrap();
    [parent, fork]
}

#[test]
fn the_newest_debate_is_meant_where_none_is_named() {
    let here = Sandbox::new();
    let [parent, fork] = two(&here);
    for arguments in [&["show"][..], &["report"], &["verify"]] {
        let said = here.run(arguments).expect_code(0);
        let named = here.run([arguments[0], &fork].iter().chain(&arguments[1..])).expect_code(0);
        assert_eq!(said.stdout, named.stdout, "{arguments:?}");
    }
    let points = here.run(["show", "points"]).expect_code(0);
    assert_eq!(points.stdout, here.run(["show", &fork, "points"]).expect_code(0).stdout);
    here.run(["show", "round", "1"]).expect_code(0);

    // What pays takes the newest one only where somebody sees which one that is.
    for arguments in [&["ask", "Why a queue?"][..], &["fork", "--at", "1.review"]] {
        here.run(arguments).expect_code(2).says(["needs a debate's id", "latest"]);
        let (output, _) = Terminal::start(&here, arguments).expect_code(0);
        assert!(output.contains("Using the newest debate:") && output.contains("Design a queue"), "{output}");
    }
    let ending = &parent[parent.len() - 4..];
    for name in [ending, &parent, "latest"] {
        let refused = here.run(["ask", name]);
        assert!(!refused.stderr.contains("needs a debate's id"), "{refused}");
    }
}

#[test]
fn a_fork_changes_something_or_says_that_it_does_not() {
    let here = Sandbox::new();
    let [parent, fork] = two(&here);
    let at = ["fork", &parent, "--at", "1.review", "--offline"];
    let rounds = here.state(&parent)["settings"]["debate"]["rounds"].to_string();
    let refused = here.run([&at[..], &["--set", &format!("debate.rounds={rounds}")]].concat()).expect_code(2);
    assert!(refused.stderr.contains(&format!("debate.rounds is already {rounds}")), "{refused}");
    here.run(at).expect_code(0).says(["with unchanged settings"]);
    let other = here.run([&at[..], &["--set", "debate.check=1"]].concat());
    assert!(!other.stderr.contains("unchanged settings"), "{other}");

    let listed = here.run(["list", "--json"]).expect_code(0).json();
    let row = |id: &str| listed.as_array().unwrap().iter().find(|row| row["id"] == *id).unwrap().clone();
    assert_eq!((&row(&fork)["forkedFrom"], &row(&parent)["forkedFrom"]), (&json!(parent), &Value::Null));
    let (output, _) = Terminal::start(&here, ["list"]).expect_code(0);
    assert!(output.contains(&format!("(fork of {})", &parent[parent.len() - 4..])), "{output}");
}

#[test]
fn the_total_stands_first_in_a_dry_run() {
    let here = Sandbox::new().file(OWN, prices().to_string());
    let dry = here.run(["debate", "Design a queue.", "--quick", "-m", "openai/priced", "--dry-run"]).expect_code(0);
    let first = dry.stdout.lines().next().unwrap();
    assert!(first.contains(" calls, likely $") && first.contains(", at most $"), "{dry}");
}
