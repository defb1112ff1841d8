//! Handling saved debates: which one is meant, tags, ratings, removal, two side by side.

use serde_json::{Value, json};

use crate::support::{MockServer, Purpose, Reply, Sandbox, Terminal, config, short_reply};

const ARGUED: &str = include_str!("../fixtures/shown/argued.json");

/// A sandbox with one finished offline debate.
fn debated() -> (Sandbox, String) {
    let sandbox = Sandbox::new();
    sandbox.run(["debate", "Design a queue", "--offline", "-r", "1"]).expect_code(0);
    let id = sandbox.only_debate();
    (sandbox, id)
}

/// A debate that failed for want of a solution, and the server that now has one.
fn failed() -> (Sandbox, MockServer, String) {
    let server = MockServer::with(|request| match request.purpose {
        Purpose::Synthesize => Reply::error(400, "no"),
        _ => short_reply(request),
    });
    let mut settings = config(&["architect", "kiss"], &json!({}));
    let price = json!({"inputPerMTok": 1.0, "outputPerMTok": 10.0});
    settings["prices"] = ["model-architect", "model-kiss", "model-judge"]
        .map(|model| (model.to_owned(), price.clone()))
        .into_iter()
        .collect();
    let sandbox = Sandbox::new().model_server(&server).config(&settings);
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
    let (code, output, _) = terminal.finish();
    assert!(code == 0 && output.contains("Nothing was resumed."), "{output}");
    assert_eq!(server.requests().len(), made);

    sandbox.run(["resume", "--yes"]).expect_code(0);
    assert_eq!((sandbox.state(&id)["status"].clone(), server.requests().len()), (json!("completed"), made + 1));
    let none = sandbox.run(["resume", "--yes"]).expect_code(2);
    assert!(none.stderr.contains("no debate in ./debates can be resumed"), "{none}");
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
        let (code, _, screen) = Terminal::start_in(columns, 60, &sandbox, arguments).finish();
        let shown = screen.text();
        assert_eq!(code, 0, "{shown}");
        assert!(shown.lines().all(|line| line.chars().count() <= columns), "{shown}");
        for word in scores.iter().chain(&["Functional", "Completeness", "Mean"]).filter(|word| !word.is_empty()) {
            assert!(shown.contains(word), "{word} at {columns}:\n{shown}");
        }
    }
}

#[test]
fn tags_and_ratings_are_events_of_the_debate_and_change_nothing_else() {
    let (sandbox, id) = debated();
    let report = sandbox.run(["report", &id, "-v"]).expect_code(0).stdout;
    let before = sandbox.state(&id);
    sandbox.run(["tag", &id, "storage", "adr-7", "storage"]).expect_code(0);
    sandbox.run(["rate", &id, "-1", "Ignored the budget"]).expect_code(0);
    sandbox.run(["tag", &id, "q1", "--remove", "storage"]).expect_code(0);
    let state = sandbox.state(&id);
    assert_eq!(state["tags"], json!(["adr-7", "q1"]));
    assert_eq!((&state["userFeedback"], &state["userFeedbackNote"]), (&json!(-1), &json!("Ignored the budget")));
    assert_eq!(state["updatedAt"], before["updatedAt"], "how long it took stays what it was");
    sandbox.assert_state_is_the_fold(&id);
    let events = sandbox.journal(&id);
    // The same once more is no event.
    let same = sandbox.run(["tag", &id, "q1"]).expect_code(0);
    assert_eq!(same.stderr, format!("{id}: adr-7, q1\n"));
    assert_eq!(sandbox.journal(&id), events);
    assert_eq!(sandbox.run(["tag", &id]).expect_code(0).stdout, "adr-7\nq1\n");
    sandbox.run(["rate", &id, "+1"]).expect_code(0);
    assert_eq!(sandbox.state(&id)["userFeedback"], 1);
    assert_eq!(sandbox.state(&id)["userFeedbackNote"], Value::Null, "the new rating has no note");

    assert_eq!(sandbox.run(["report", &id, "-v"]).expect_code(0).stdout, report);
    sandbox.run(["verify", &id]).expect_code(0);
    let resumed = sandbox.run(["resume", &id]).expect_code(0);
    assert!(resumed.stderr.contains("is finished."), "{resumed}");
    let replayed = sandbox.run(["replay", &id, "--speed", "max"]).expect_code(0);
    assert_eq!(replayed.stdout.trim(), state["finalSolution"]["description"].as_str().unwrap().trim());
    sandbox.run(["report", &id, "-o", "page.html"]).expect_code(0);
    sandbox.run(["fork", &id, "--at", "1.critique", "--quiet"]).expect_code(0);
    let branch = sandbox.debates().into_iter().find(|other| *other != id).unwrap();
    let branch = sandbox.state(&branch);
    assert_eq!((&branch["tags"], &branch["userFeedback"]), (&Value::Null, &Value::Null));
}

#[test]
fn what_cannot_be_noted_is_refused_before_anything_is_written() {
    let (sandbox, id) = debated();
    let before = sandbox.files();
    for arguments in [
        vec!["rate", &id, "2"],
        vec!["rate", &id, "-2"],
        vec!["rate", &id],
        vec!["tag", &id, "two words"],
        vec!["tag", &id, "a,b"],
        vec!["tag", &id, ""],
        vec!["tag", &id, "\u{202e}x"],
        vec!["rate", "none", "+1"],
    ] {
        sandbox.run(&arguments).expect_code(2);
    }
    assert!(sandbox.files() == before, "something was written");
    // One that lost its journal gets no other.
    sandbox.remove(format!("debates/{}.events.jsonl", sandbox.only_debate()));
    let refused = sandbox.run(["rate", "latest", "+1"]).expect_code(2);
    assert!(refused.stderr.contains("is missing"), "{refused}");
}

#[test]
fn an_older_debate_can_be_asked_about() {
    let server = MockServer::with(short_reply);
    let state =
        crate::fixtures::states().into_iter().map(|(_, state)| state).find(|state| state.contains("finalSolution"));
    let older = Sandbox::new().model_server(&server).config(&config(&["architect", "kiss"], &json!({})));
    let older = older.file("debates/old.json", state.unwrap());
    let before = older.state("old");
    let contents = |state: &Value| {
        let rounds = state["rounds"].as_array().unwrap().iter();
        let all = rounds.flat_map(|round| round["contributions"].as_array().unwrap().clone());
        all.map(|one| one["content"].clone()).collect::<Vec<_>>()
    };
    let answered = older.run(["ask", "old", "Why?"]).expect_code(0);
    assert!(!answered.stdout.trim().is_empty(), "{answered}");
    older.run(["ask", "old", "And then?"]).expect_code(0);
    let state = older.state("old");
    assert_eq!(state["followUps"].as_array().unwrap().len(), 2);
    // Whom the configuration asks now is no fact about that debate.
    assert_eq!((&state["settings"], contents(&state)), (&before["settings"], contents(&before)));
    let verified = older.run(["verify", "old"]).expect_code(0).stdout;
    assert!(verified.contains("imported") && verified.contains("matches the journal"), "{verified}");
}

#[test]
fn an_older_debate_gets_a_journal_with_the_first_thing_that_is_noted() {
    let (_, state) = &crate::fixtures::states()[0];
    let older = Sandbox::new().file("debates/old.json", state);
    let report = older.run(["report", "old"]).expect_code(0).stdout;
    older.run(["tag", "old", "--remove", "none"]).expect_code(0);
    assert_eq!(older.files().len(), 1, "nothing was noted, and something written");
    older.run(["rate", "old", "+1", "Still holds"]).expect_code(0);
    older.run(["tag", "old", "adr-7"]).expect_code(0);
    let verified = older.run(["verify", "old"]).expect_code(0).stdout;
    assert!(verified.contains("3 events") && verified.contains("imported"), "{verified}");
    assert!(verified.contains("matches the journal"), "{verified}");
    let json: Value = serde_json::from_str(&older.run(["verify", "old", "--json"]).expect_code(0).stdout).unwrap();
    assert_eq!((&json["imported"], &json["whole"]), (&json!(true), &json!(true)));
    assert_eq!(older.state("old")["tags"], json!(["adr-7"]));
    // Nothing of what was known became something else.
    assert_eq!(older.run(["report", "old"]).expect_code(0).stdout, report);
    for refused in [&["fork", "old", "--at", "1.critique"][..], &["replay", "old"]] {
        assert!(older.run(refused).expect_code(2).stderr.contains("has no journal"), "{refused:?}");
    }
    older.run(["list"]).expect_code(0);
    older.run(["show", "old"]).expect_code(0);
    older.run(["resume", "old"]).expect_code(0);
}

#[test]
fn a_debate_that_waits_can_be_tagged_and_goes_on() {
    let (sandbox, _server, id) = failed();
    sandbox.run(["tag", &id, "later"]).expect_code(0);
    sandbox.run(["rate", &id, "-1"]).expect_code(0);
    sandbox.assert_state_is_the_fold(&id);
    sandbox.run(["resume", &id]).expect_code(0);
    let state = sandbox.state(&id);
    assert_eq!((&state["status"], &state["tags"]), (&json!("completed"), &json!(["later"])));
    sandbox.assert_state_is_the_fold(&id);
    sandbox.run(["replay", &id, "--speed", "max", "--quiet"]).expect_code(0);
}

#[test]
fn removing_asks_and_takes_both_files() {
    let (sandbox, id) = debated();
    sandbox.run(["debate", "Another", "--offline", "-r", "1"]).expect_code(0);
    let before = sandbox.files();
    let refused = sandbox.run(["rm", &id]).expect_code(2);
    assert!(refused.stderr.contains("use --yes") && refused.stderr.contains("Design a queue"), "{refused}");
    assert!(sandbox.files() == before, "something was removed");
    let mut terminal = Terminal::start(&sandbox, ["rm", &id]);
    terminal.wait_for("Remove this debate for good? [y/N]");
    terminal.type_line("");
    assert_eq!(terminal.finish().0, 0);
    assert_eq!(sandbox.debates().len(), 2);
    let mut terminal = Terminal::start(&sandbox, ["rm", &id]);
    terminal.wait_for("[y/N]");
    terminal.type_line("y");
    assert_eq!(terminal.finish().0, 0);
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
    let sandbox = Sandbox::new()
        .model_server(&server)
        .config(&config(&["architect", "kiss"], &json!({})))
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
    for arguments in [vec!["rm", "--yes", id], vec!["tag", id, "x"], vec!["rate", id, "+1"], vec!["ask", id, "Why?"]] {
        let refused = sandbox.run(&arguments).expect_code(75);
        assert!(refused.stderr.contains("is running in another process"), "{refused}");
    }
    assert!(sandbox.debates().contains(id));
    running.kill();
    // What is damaged can be removed all the same.
    sandbox.run(["rm", "--yes", "broken", id]).expect_code(0);
    assert_eq!(sandbox.debates(), ["notes"]);
    assert!(sandbox.directory().join("mine.json").exists());
}

#[test]
fn two_debates_are_compared_by_what_differs() {
    let (sandbox, id) = debated();
    sandbox.run(["fork", &id, "--at", "start", "--set", "debate.rounds=2", "--quiet"]).expect_code(0);
    let other = sandbox.debates().into_iter().find(|other| *other != id).unwrap();
    let same = sandbox.run(["diff", &id, &id]).expect_code(0).stdout;
    assert!(same.contains("Settings that differ\n\nNone.\n") && same.ends_with("\n\nThe same.\n"), "{same}");
    let text = sandbox.run(["diff", &id, &other]).expect_code(0).stdout;
    assert!(!text.contains('\u{1b}'), "{text}");
    assert!(text.lines().any(|line| line.split_whitespace().eq(["debate.rounds", "1", "2"])), "{text}");
    assert!(text.lines().any(|line| line.split_whitespace().eq(["Rounds", "1", "2"])), "{text}");
    let json: Value =
        serde_json::from_str(&sandbox.run(["diff", &id, &other, "--json"]).expect_code(0).stdout).unwrap();
    assert_eq!(json["settings"], json!([{"key": "debate.rounds", "values": [1, 2]}]));
    assert_eq!((&json["debates"][0]["rounds"], &json["debates"][1]["rounds"]), (&json!(1), &json!(2)));
    // Whoever puts the lines together again has both solutions.
    let of = |side: &str| -> String {
        let lines =
            json["solution"].as_array().unwrap().iter().filter(|line| line["side"] == side || line["side"] == "both");
        let text = |line: &Value| -> String {
            line["pieces"].as_array().unwrap().iter().map(|piece| piece[1].as_str().unwrap()).collect()
        };
        lines.map(text).collect::<Vec<_>>().join("\n")
    };
    let solution = |id: &str| -> String {
        let state = sandbox.state(id);
        let text = state["finalSolution"]["description"].as_str().unwrap().to_owned();
        text.split_once("\n\n---\n\n## Judge Assessment").map_or(text.clone(), |(own, _)| own.to_owned())
    };
    assert_eq!(of("first").trim_end(), solution(&id).trim_end());
    assert_eq!(of("second").trim_end(), solution(&other).trim_end());
    for columns in [50, 80, 120] {
        let (code, output, screen) = Terminal::start_in(columns, 60, &sandbox, ["diff", &id, &other]).finish();
        assert_eq!(code, 0, "{output}");
        let shown = screen.text();
        assert!(shown.lines().all(|line| line.chars().count() <= columns), "{shown}");
        assert!(output.contains('\u{1b}') && shown.contains("debate.rounds"), "{shown}");
    }
    // One debate alone is compared with itself: its draft with what the check made of it, where there was one.
    let checked = sandbox.run(["diff", &id]).expect_code(0).stdout;
    assert!(checked.lines().any(|line| line.starts_with("- ")) && checked.contains("\n+ "), "{checked}");
    sandbox.run(["debate", "Design a queue", "--offline", "--quiet", "--check", "0"]).expect_code(0);
    sandbox.run(["diff", "latest"]).expect_code(2);
    sandbox.run(["diff", &id, "none"]).expect_code(2);
}
