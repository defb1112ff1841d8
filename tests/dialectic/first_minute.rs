//! What keeps a newcomer's trust in the first minute: nothing is dropped silently, and nothing is paid unsaid.

use serde_json::json;

use crate::support::{MockServer, Sandbox, Terminal, config, short_reply};

/// Where a user's own configuration lies in a sandbox.
const OWN: &str = ".config/dialectic/config.json";
const UNREAD: &str = "standard input was not read; add --attach -";

#[test]
fn a_pipe_that_nothing_reads_is_mentioned() {
    let here = Sandbox::new();
    let debate = ["debate", "Is this safe?", "--offline", "--quick"];
    let finished = here.run_with_input(debate, "diff --git a b\n").expect_code(0);
    assert!(finished.stderr.contains(UNREAD), "{finished}");
    let finished = here.run_with_input([&debate[..], &["--dry-run"]].concat(), "a diff\n").expect_code(0);
    assert!(finished.stderr.contains(UNREAD), "{finished}");

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
    let here = Sandbox::new().model_server(&server);
    let priced = ["debate", "Design a queue.", "--quick", "-m", "gpt-4o"];
    let finished = here.run(priced).expect_code(0);
    let line = finished.stderr.lines().find(|line| line.contains("calls, likely $"));
    let line = line.unwrap_or_else(|| panic!("{finished}"));
    assert!(line.contains(", at most $") && !line.contains("limit"), "{line}");
    let finished = here.run([&priced[..], &["--max-cost", "0.2"]].concat()).expect_code(0);
    assert!(finished.stderr.contains(", at most $0.20 (the limit)"), "{finished}");
    let finished = here.run(["debate", "Design a queue.", "--quick", "-m", "odd"]).expect_code(0);
    assert!(finished.stderr.contains("calls, of unknown cost (no price is known for odd)"), "{finished}");
    // Nobody is told what a debate costs that costs nothing.
    let finished = here.run(["debate", "Design a queue.", "--quick", "--offline"]).expect_code(0);
    assert!(!finished.stderr.contains("calls,"), "{finished}");
}

#[test]
fn a_person_is_asked_where_it_is_much_or_unknown() {
    let server = MockServer::with(short_reply);
    let here = Sandbox::new().model_server(&server).env("CI", "");
    let arguments = |model| ["debate", "Design a queue.", "--quick", "-m", model];
    let mut terminal = Terminal::start(&here, arguments("odd"));
    terminal.wait_for("of unknown cost");
    terminal.wait_for("Begin? [y/N]");
    terminal.type_line("n");
    let (code, output, _) = terminal.finish();
    assert_eq!(code, 1, "{output}");
    assert!(output.contains("nothing was done"), "{output}");
    assert!(here.debates().is_empty() && server.requests().is_empty());

    // A price below the user's mark is not asked about, one above it is.
    let (code, output, _) = Terminal::start(&here, arguments("gpt-4o")).finish();
    assert_eq!((code, output.contains("Begin?")), (0, false), "{output}");
    here.write(OWN, json!({"confirmAbove": 0}).to_string());
    let mut terminal = Terminal::start(&here, arguments("gpt-4o"));
    terminal.wait_for("Begin? [y/N]");
    terminal.type_line("y");
    assert_eq!(terminal.finish().0, 0);
    // A limit is the user's word already.
    let limited = [&arguments("gpt-4o")[..], &["--max-cost", "0.5"]].concat();
    let (code, output, _) = Terminal::start(&here, limited).finish();
    assert_eq!((code, output.contains("Begin?")), (0, false), "{output}");

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
