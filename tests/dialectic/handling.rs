//! Handling saved debates: which one is meant, ratings, removal.

use serde_json::{Value, json};

use crate::budget::priced;
use crate::support::{MockServer, Purpose, Reply, Sandbox, Terminal, short_reply, two_agents};

const ARGUED: &str = include_str!("../fixtures/shown/argued.json");

/// A sandbox with one finished offline debate.
pub(crate) fn debated() -> (Sandbox, String) {
    let sandbox = Sandbox::new();
    sandbox.run(["debate", "Design a queue", "--offline", "-r", "1"]).expect_code(0);
    let id = sandbox.only_debate();
    (sandbox, id)
}

/// A debate that failed for want of a solution, and the server that now has one.
pub(crate) fn failed() -> (Sandbox, MockServer, String) {
    let server = MockServer::with(|request| match request.purpose {
        Purpose::Synthesize => Reply::error(400, "no"),
        _ => short_reply(request),
    });
    let sandbox = Sandbox::new().model_server(&server).config(&priced(&["architect", "kiss"], &json!({})));
    sandbox.run(["debate", "Design a queue"]).expect_code(3);
    server.set_script(short_reply);
    let id = sandbox.only_debate();
    (sandbox, server, id)
}

#[test]
fn resume_alone_takes_the_newest_that_can_be_resumed_and_nobody_pays_unasked() {
    let (sandbox, server, id) = failed();
    sandbox.run(["debate", "Another", "--offline", "-r", "1"]).expect_code(0);
    let made = server.requests().len();
    let before = sandbox.state(&id);
    let refused = sandbox.run(["resume"]).expect_code(2);
    let short = &id[id.len() - 4..];
    assert!(
        refused.stderr.contains(&format!("Newest debate to resume: {short}, “Design a queue”, failed in round 1.")),
        "{refused}"
    );
    assert!(refused.stderr.contains("Remaining: 1 call, likely $"), "{refused}");
    assert!(refused.stderr.contains(&format!("dialectic resume {short}")), "{refused}");
    assert_eq!((server.requests().len(), sandbox.state(&id)), (made, before));

    let mut terminal = Terminal::start(&sandbox, ["resume"]);
    terminal.wait_for("Resume it? [Y/n]");
    terminal.type_line("what?");
    terminal.wait_for("Resume it? [Y/n]");
    terminal.type_line("n");
    let (output, _) = terminal.expect_code(0);
    assert!(output.contains("Nothing was resumed."), "{output}");
    assert_eq!(server.requests().len(), made);

    sandbox.run(["resume", "--yes"]).expect_code(0);
    assert_eq!((sandbox.state(&id)["status"].clone(), server.requests().len()), (json!("completed"), made + 1));
    sandbox.run(["resume", "--yes"]).expect_code(2).says(["no debate in ./debates can be resumed"]);
    sandbox.run(["resume", &id, "--yes"]).expect_code(2);
}

#[test]
fn eval_takes_debates_with_and_without_the_option() {
    let (sandbox, id) = debated();
    let by_option = sandbox.run(["eval", "--offline", "-d", &id]).expect_code(0).stdout;
    assert_eq!(sandbox.run(["eval", "--offline", "latest"]).expect_code(0).stdout, by_option);
    assert_eq!(sandbox.run(["eval", &id[id.len() - 4..], "--offline"]).expect_code(0).stdout, by_option);
    sandbox.run(["eval", "--offline"]).expect_code(2);
    let named = sandbox.run(["report", "latest"]).expect_code(0).stdout;
    assert_eq!(sandbox.run(["report", "-d", &id]).expect_code(0).stdout, named);
}

#[test]
fn scores_fit_the_terminal_and_stay_markdown_in_a_pipe() {
    let (sandbox, id) = debated();
    sandbox.run(["debate", "Design a cache", "--offline", "-r", "1"]).expect_code(0);
    let arguments = ["eval", "--offline", &id, "latest"];
    let piped = sandbox.run(arguments).expect_code(0).stdout;
    assert!(piped.starts_with("| Debate | Functional Completeness |"), "{piped}");
    let scores: Vec<&str> = piped.lines().skip(2).flat_map(|line| line.split('|').map(str::trim).skip(2)).collect();
    for columns in [50, 80, 120] {
        let (_, screen) = Terminal::start_in(columns, 60, &sandbox, arguments).expect_code(0);
        let shown = screen.text();
        assert!(shown.lines().all(|line| line.chars().count() <= columns), "{shown}");
        for word in scores.iter().chain(&["Functional", "Completeness", "Mean"]).filter(|word| !word.is_empty()) {
            assert!(shown.contains(word), "{word} at {columns}:\n{shown}");
        }
    }
}

#[test]
fn a_rating_is_an_event_of_the_debate_and_changes_nothing_else() {
    let (sandbox, id) = debated();
    let path = format!("debates/{id}.json");
    let report = sandbox.run(["report", &id, "-v"]).expect_code(0).stdout;
    let before = sandbox.state(&id);
    sandbox.rate(&path, -1);
    sandbox.rate(&path, 1);
    let state = sandbox.state(&id);
    assert_eq!(state["userFeedback"], 1, "a later rating replaces an earlier one");
    assert_eq!(state["updatedAt"], before["updatedAt"], "how long it took stays what it was");
    sandbox.assert_state_is_the_fold(&id);
    assert_eq!(sandbox.run(["report", &id, "-v"]).expect_code(0).stdout, report);
    // A kill after the journal was written leaves a state file without the ratings.
    sandbox.write(&path, before.to_string());
    assert!(sandbox.run(["show", &id]).expect_code(0).stdout.contains("Rated +1"));
    sandbox.run(["verify", &id]).expect_code(0);
    sandbox.run(["resume", &id]).expect_code(0).says(["is finished."]);
    sandbox.run(["fork", &id, "--at", "1.critique", "--quiet"]).expect_code(0);
    let branch = sandbox.debates().into_iter().find(|other| *other != id).unwrap();
    assert_eq!(sandbox.state(&branch)["userFeedback"], Value::Null);
}

#[test]
fn an_older_debate_can_be_asked_about() {
    let server = MockServer::with(short_reply);
    let state =
        crate::fixtures::states().into_iter().map(|(_, state)| state).find(|state| state.contains("finalSolution"));
    let older = two_agents(&server, &json!({}));
    let older = older.file("debates/old.json", state.unwrap());
    let before = older.state("old");
    let contents = |state: &Value| {
        let rounds = state["rounds"].as_array().unwrap().iter();
        let all = rounds.flat_map(|round| round["contributions"].as_array().unwrap().clone());
        all.map(|one| one["content"].clone()).collect::<Vec<_>>()
    };
    // A refused question imports the debate, and damages nothing.
    older.run(["ask", "old", "Why?", "--max-cost", "1"]).expect_code(4);
    older.run(["verify", "old"]).expect_code(0);
    let answered = older.run(["ask", "old", "Why?"]).expect_code(0);
    assert!(!answered.stdout.trim().is_empty(), "{answered}");
    older.run(["ask", "old", "And then?"]).expect_code(0);
    let state = older.state("old");
    assert_eq!(state["followUps"].as_array().unwrap().len(), 2);
    // Whom the configuration asks now is no fact about that debate.
    assert_eq!((&state["settings"], contents(&state)), (&before["settings"], contents(&before)));
    older.run(["verify", "old"]).expect_code(0).prints(["imported", "matches the journal"]);
}

#[test]
fn an_older_debate_gets_a_journal_with_the_first_thing_that_is_noted() {
    let (_, state) = &crate::fixtures::states()[0];
    let older = Sandbox::new().file("debates/old.json", state);
    let report = older.run(["report", "old"]).expect_code(0).stdout;
    older.rate("debates/old.json", 1);
    older.run(["verify", "old"]).expect_code(0).prints(["2 events", "imported", "matches the journal"]);
    let json = older.run(["verify", "old", "--json"]).expect_code(0).json();
    assert_eq!((&json["imported"], &json["whole"]), (&json!(true), &json!(true)));
    assert_eq!(older.state("old")["userFeedback"], 1);
    // Nothing of what was known became something else.
    assert_eq!(older.run(["report", "old"]).expect_code(0).stdout, report);
    older.run(["fork", "old", "--at", "1.critique"]).expect_code(2).says(["has no journal"]);
    older.run(["list"]).expect_code(0);
    older.run(["show", "old"]).expect_code(0);
    older.run(["resume", "old"]).expect_code(0);
}

#[test]
fn a_debate_that_waits_can_be_rated_and_goes_on() {
    let (sandbox, _server, id) = failed();
    sandbox.rate(format!("debates/{id}.json"), -1);
    sandbox.assert_state_is_the_fold(&id);
    let (_, state) = sandbox.debated(["resume", &id]);
    assert_eq!((&state["status"], &state["userFeedback"]), (&json!("completed"), &json!(-1)));
}

#[test]
fn removing_asks_and_takes_both_files() {
    let (sandbox, id) = debated();
    sandbox.run(["debate", "Another", "--offline", "-r", "1"]).expect_code(0);
    let before = sandbox.files();
    sandbox.run(["rm", &id]).expect_code(2).says(["use --yes", "Design a queue"]);
    assert!(sandbox.files() == before, "something was removed");
    let mut terminal = Terminal::start(&sandbox, ["rm", &id]);
    terminal.wait_for("Remove this debate for good? [y/N]");
    terminal.type_line("");
    terminal.expect_code(0);
    assert_eq!(sandbox.debates().len(), 2);
    let mut terminal = Terminal::start(&sandbox, ["rm", &id]);
    terminal.wait_for("[y/N]");
    terminal.type_line("y");
    terminal.expect_code(0);
    assert_eq!(sandbox.debates().len(), 1);
    let left: Vec<_> =
        sandbox.files().into_iter().map(|(path, _)| path).filter(|path| path.to_string_lossy().contains(&id)).collect();
    assert!(left.is_empty(), "{left:?}");
    sandbox.run(["rm", "--yes", "./debates/*.json"]).expect_code(0);
    assert!(sandbox.debates().is_empty());
    sandbox.run(["rm", "--yes", "latest"]).expect_code(2);
}

#[test]
fn nothing_is_removed_that_runs_or_lies_elsewhere() {
    let server = MockServer::with(|_| Reply::hang());
    let sandbox = two_agents(&server, &json!({}))
        .file("mine.json", ARGUED)
        .file("debates/notes.json", "{}")
        .file("debates/broken.json", "{")
        .file("debates/broken.events.jsonl", "nothing of ours\n");
    for name in ["mine.json", "./mine.json", "debates/../mine.json", "debates/notes.json", "/etc/passwd"] {
        sandbox.run(["rm", "--yes", name]).expect_code(2);
    }
    let running = sandbox.spawn(["debate", "Design a queue", "--quiet"]);
    server.wait_for_requests(1);
    let ids = sandbox.debates();
    let id = ids.iter().find(|id| id.starts_with("deb-")).unwrap();
    for arguments in [vec!["rm", "--yes", id], vec!["ask", id, "Why?"]] {
        sandbox.run(&arguments).expect_code(75).says(["is running in another process"]);
    }
    assert!(sandbox.debates().contains(id));
    running.kill();
    // What is damaged can be removed all the same.
    sandbox.run(["rm", "--yes", "broken", id]).expect_code(0);
    assert_eq!(sandbox.debates(), ["notes"]);
    assert!(sandbox.directory().join("mine.json").exists());
}
