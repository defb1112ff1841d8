//! `dialectic verify`: whether a record is whole.

use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::support::{MockServer, Reply, Sandbox, short_reply, two_agents};

/// A finished debate of two agents, and its id.
fn finished() -> (Sandbox, String) {
    let server = MockServer::with(short_reply);
    let sandbox = two_agents(&server, &json!({}));
    sandbox.run(["debate", "Design a queue", "--quiet"]).expect_code(0);
    let id = sandbox.only_debate();
    (sandbox, id)
}

fn journal_path(id: &str) -> String {
    format!("debates/{id}.events.jsonl")
}

#[test]
fn a_record_that_nobody_touched_is_whole() {
    let (sandbox, id) = finished();
    let before = sandbox.files();
    let events = sandbox.journal(&id).len();
    let finished = sandbox.run(["verify", "latest"]).expect_code(0);
    assert_eq!(finished.stderr, "");
    let expected = format!(
        "{id}: the record is intact\n  journal  {events} events, every line intact \
         (./debates/{id}.events.jsonl)\n  state    matches the journal (./debates/{id}.json)\n"
    );
    assert_eq!(finished.stdout, expected);
    let json = sandbox.run(["verify", &id, "--json"]).expect_code(0).json();
    let expected = json!({
        "id": id, "whole": true, "events": events, "running": false, "cutShort": false, "state": "current",
        "stateEvents": events, "flaws": [],
    });
    assert_eq!(json, expected);
    assert!(sandbox.files() == before, "something was written");
}

/// The lines of the documentation, typed in the sandbox.
#[test]
fn ssh_keygen_signs_the_head_of_a_journal_and_refuses_another_one() {
    const SIGN: &str =
        "dialectic verify latest --head | ssh-keygen -Y sign -n dialectic -f ~/.ssh/id_ed25519 > answer.sig";
    const VERIFY: &str = "dialectic verify latest --head | \
         ssh-keygen -Y verify -n dialectic -f allowed_signers -I alice@example.org -s answer.sig";
    let sandbox = Sandbox::new();
    sandbox.run(["debate", "Design a queue", "--offline", "--quiet", "--protocol", "council"]).expect_code(0);
    let id = sandbox.only_debate();
    let head = sandbox.run(["verify", "latest", "--head"]).expect_code(0).stdout;
    assert_eq!(head.trim_end(), sandbox.state(&id)["journal"]["sha256"]);
    let bin = std::path::Path::new(env!("CARGO_BIN_EXE_dialectic")).parent().unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let typed = |line: &str| {
        let mut shell = Command::new("sh");
        shell.args(["-c", line]).current_dir(sandbox.directory()).env("PATH", &path).env("HOME", sandbox.directory());
        shell.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap().success()
    };
    assert!(typed("mkdir ~/.ssh && ssh-keygen -q -t ed25519 -N '' -f ~/.ssh/id_ed25519"), "ssh-keygen is installed");
    assert!(typed("printf 'alice@example.org %s\n' \"$(cat ~/.ssh/id_ed25519.pub)\" > allowed_signers"));
    assert!(typed(SIGN));
    assert!(typed(VERIFY));
    // A damaged record prints nothing that could be signed or verified.
    let journal = sandbox.read(journal_path(&id));
    sandbox.write(journal_path(&id), journal.replacen("Design a queue", "Design a quevr", 1));
    assert_eq!(sandbox.run(["verify", "latest", "--head"]).expect_code(2).stdout, "");
    assert!(!typed(VERIFY));
    sandbox.write(journal_path(&id), journal);
    assert!(typed(VERIFY));
    // Every later line changes the head.
    sandbox.run(["ask", &id, "Why so?"]).expect_code(0);
    assert!(!typed(VERIFY));
}

#[test]
fn what_is_wrong_is_named() {
    let (sandbox, id) = finished();
    let lines = sandbox.journal(&id);
    let whole = lines.join("\n") + "\n";
    let verified = |journal: &str| {
        sandbox.write(journal_path(&id), journal);
        let finished = sandbox.run(["verify", &id]).expect_code(2);
        let flaws: Vec<&str> = finished.stdout.lines().filter(|line| line.starts_with("  - ")).collect();
        flaws.join("\n").replace(&id, "[id]")
    };
    let without_end = lines[..lines.len() - 1].join("\n") + "\n";
    let swapped = whole.replacen(&format!("{}\n{}", lines[3], lines[4]), &format!("{}\n{}", lines[4], lines[3]), 1);
    sandbox.write(journal_path(&id), &swapped);
    let finished = sandbox.run(["verify", &id, "--json"]).expect_code(2);
    assert_eq!(finished.stderr, format!("error: the record of {id} is damaged\n"));
    let json = finished.json();
    assert_eq!([&json["whole"], &json["state"], &json["badLine"]], [&json!(false), &json!("unknown"), &json!(4)]);
    sandbox.run(["resume", &id]).expect_code(2);
    assert!(sandbox.read(journal_path(&id)) == swapped, "a damaged journal was written to");
    let found = [swapped.as_str(), &without_end, ""].map(verified);
    insta::assert_snapshot!(found.join("\n"), @"
    - line 4 of the journal ./debates/[id].events.jsonl does not follow line 3: lines were changed, removed, added or moved
    - the end of the journal is missing: the state file was saved after event 19, but the journal ends at event 18
    - the events do not form a valid debate: the journal is empty
    ");

    // A state that says something else.
    sandbox.write(journal_path(&id), &whole);
    let state = sandbox.read(format!("debates/{id}.json"));
    let path = format!("debates/{id}.json");
    let state_with = |changed: &str| {
        sandbox.write(&path, changed);
        verified(&whole)
    };
    let mark = sandbox.state(&id)["journal"]["sha256"].as_str().unwrap().to_owned();
    let mut longer: Value = serde_json::from_str(&state).unwrap();
    longer["rounds"][0]["contributions"].as_array_mut().unwrap().pop();
    let found = [
        state_with(&state.replacen("Design a queue", "Design a stack", 1)),
        state_with(&longer.to_string()),
        state_with(&state.replacen(&mark[..6], "abcdef", 1)),
        state_with("{"),
    ];
    insta::assert_snapshot!(found.join("\n"), @"
    - the state file does not match the journal: they first differ at problem
    - the state file does not match the journal: they first differ at rounds[0].contributions[5]
    - the state file does not belong to this journal: it records a different hash for line 19
    - ./debates/[id].json is not a saved debate: EOF while parsing an object at line 1 column 1
    ");
    std::fs::remove_file(sandbox.directory().join(&path)).unwrap();
    insta::assert_snapshot!(verified(&whole), @"  - there is no state file");
}

/// Settings that were added to the program after a debate was saved.
#[test]
fn a_state_without_keys_that_have_their_defaults_is_whole() {
    let (sandbox, id) = finished();
    let mut state = sandbox.state(&id);
    let settings = state["settings"]["debate"].as_object_mut().unwrap();
    assert!(settings.remove("memory").is_some() | settings.remove("traceContent").is_some());
    sandbox.write(format!("debates/{id}.json"), state.to_string());
    sandbox.run(["verify", &id]).expect_code(0);
    state["settings"]["debate"].as_object_mut().unwrap().remove("rounds");
    sandbox.write(format!("debates/{id}.json"), state.to_string());
    sandbox.run(["verify", &id]).expect_code(2).prints(["rounds"]);
}

#[test]
fn a_state_behind_its_journal_is_whole_after_a_kill_and_while_the_debate_runs() {
    let server = MockServer::with(|_| Reply::hang());
    let sandbox = two_agents(&server, &json!({}));
    let running = sandbox.spawn(["debate", "Design a queue"]);
    server.wait_for_requests(2);
    let verified = sandbox.run(["verify", "latest", "--json"]).expect_code(0).json();
    assert_eq!(verified["running"], true, "{verified:#}");
    sandbox.run(["verify", "latest"]).expect_code(0).prints(["another process is running this debate"]);
    running.kill();
    // The last events as if the kill had come before the save.
    let id = sandbox.only_debate();
    let text = sandbox.run(["verify", &id]).expect_code(0).stdout;
    assert!(!text.contains("another process is running this debate"), "{text}");
    let journal = sandbox.read(journal_path(&id));
    let state = sandbox.read(format!("debates/{id}.json"));
    server.set_script(short_reply);
    sandbox.run(["resume", &id, "--quiet"]).expect_code(0);
    sandbox.write(format!("debates/{id}.json"), &state);
    sandbox.run(["verify", &id]).expect_code(0).prints(["`resume` updates it"]);
    // A line that was cut short is a crash's doing, and said to be.
    sandbox.write(journal_path(&id), journal + "{\"seq\":9,\"at");
    sandbox.run(["verify", &id]).expect_code(0).prints(["the last line is incomplete, as after a crash"]);
}

#[test]
fn a_debate_without_a_journal_cannot_be_verified() {
    let (_, state) = &crate::fixtures::states()[0];
    let sandbox = Sandbox::new().file("old.json", state);
    let finished = sandbox.run(["verify", "old.json"]).expect_code(2);
    assert!(finished.stderr.contains("has no journal (the TypeScript version did not keep one)"), "{finished}");
    sandbox.run(["verify", "none.json"]).expect_code(2);
    sandbox.run(["verify", "nobody"]).expect_code(2);
}
