//! Debates that earlier installations saved are still of use.

use serde_json::{Value, json};

use crate::fixtures::states;
use crate::support::{MockServer, Purpose, Sandbox, config, short_reply};

/// A debate that waited for answers in the older program.
const SUSPENDED: &str = include_str!("../fixtures/older/suspended.json");
/// A finished one with what was seen in files of several programs.
const ODD: &str = include_str!("../fixtures/older/odd.json");
/// One of this program, from the time when only the judge asked in a second pass.
const JUDGES_PASS: &str = include_str!("../fixtures/older/judge-pass.json");
const JUDGES_PASS_JOURNAL: &str = include_str!("../fixtures/older/judge-pass.events.jsonl");

#[test]
fn a_second_pass_of_the_judge_alone_is_shown_and_answered() {
    let id = "deb-20261129-112007-6iz6";
    let journal = format!("debates/{id}.events.jsonl");
    let whole = Sandbox::new().file(format!("debates/{id}.json"), JUDGES_PASS).file(&journal, JUDGES_PASS_JOURNAL);
    whole.run(["verify", id]).expect_code(0);
    let report = whole.run(["report", id]).expect_code(0).stdout;
    assert!(report.contains("### The judge (generalist)\nQuestion (q5):\n\n```text\nSecond question of"), "{report}");

    // It waits for the answer to the judge.
    let is_waiting = |line: &&str| line.contains("\"type\":\"suspended\"");
    let end = JUDGES_PASS_JOURNAL.lines().enumerate().filter(|(_, line)| is_waiting(line)).nth(1).unwrap().0;
    let cut: String = JUDGES_PASS_JOURNAL.split_inclusive('\n').take(end + 1).collect();
    let server = MockServer::with(short_reply);
    let mut settings = config(&["architect", "kiss"], &json!({}));
    settings["providers"]["mock"] = json!({"baseUrl": server.base_url(), "api": "chat"});
    let sandbox = Sandbox::new().model_server(&server).config(&settings).file(&journal, cut);
    let resumed = sandbox.run_with_input(["resume", id, "--quiet"], "four\n").expect_code(0);
    assert!(resumed.stderr.contains("Follow-up question 2 of 2, from The judge (generalist):"), "{resumed}");
    let asked: Vec<_> = server.requests().iter().map(|request| request.purpose == Purpose::Clarify).collect();
    assert_eq!(asked, [[true; 2].as_slice(), &[false; 7]].concat(), "what remains of the second pass is every agent's");
    assert!(server.requests().iter().all(|request| request.text().contains("four")));
    sandbox.assert_state_is_the_fold(id);
}

#[test]
fn a_state_of_an_older_program_is_read_for_what_it_is_worth() {
    let sandbox = Sandbox::new().file("debates/suspended.json", SUSPENDED).file("debates/odd.json", ODD);
    let before = sandbox.files();
    let list = sandbox.run(["list"]).expect_code(0);
    insta::assert_snapshot!(list.stdout, @r"
    ID         WHEN              STATUS      OUTCOME  ANSWER  ROUNDS  CONFIDENCE  COST  PROBLEM
    odd        2025-10-02 08:00  completed   -        -       1       82          -     A cache for thumbnails.
    suspended  2025-10-01 07:59  unfinished  -        -       0       -           -     A cache for thumbnails.
    ");
    let done = sandbox.run(["wait", "odd"]).expect_code(0).stdout;
    assert!(!done.contains("calls") && !done.contains('$'), "{done}");
    let report = sandbox.run(["report", "-d", "odd", "-v"]).expect_code(0);
    for part in ["A cache for thumbnails.", "Who clears it?", "latency=1812ms", "Keep thumbnails on disk for a week."] {
        assert!(report.stdout.contains(part), "{part}\n{report}");
    }
    assert_eq!(report.stderr, "");
    sandbox.run(["report", "-d", "suspended"]).expect_code(0);
    sandbox.run(["eval", "--offline", "-d", "odd"]).expect_code(0).prints(["Overall Score"]);
    let refused = sandbox.run(["eval", "--offline", "-d", "suspended"]).expect_code(2);
    assert!(refused.stderr.contains("only a debate that ended with a solution can be evaluated"), "{refused}");
    sandbox.run(["resume", "odd"]).expect_code(0).says(["is finished."]);
    for arguments in [["resume", "suspended"], ["verify", "suspended"]] {
        sandbox.run(arguments).expect_code(2).says(["the TypeScript version did not keep one"]);
    }
    assert!(sandbox.files() == before, "old files are left as they are");
}

#[test]
fn a_format_of_a_later_version_is_named_and_not_guessed_at() {
    let sandbox = Sandbox::new().config(&config(&["architect", "kiss"], &json!({})));
    sandbox.run(["debate", "Design a queue", "--offline", "-r", "1"]).expect_code(0);
    let id = sandbox.only_debate();
    let state = sandbox.read(format!("debates/{id}.json")).replace("\"formatVersion\": 2", "\"formatVersion\": 3");
    let first = sandbox.journal(&id)[0].replace("\"formatVersion\":2", "\"formatVersion\":3");
    sandbox.write("debates/whole.json", &state);
    // What else a later version writes need not read.
    sandbox.write("debates/other.json", state.replace("\"completed\"", "\"transcended\""));
    sandbox.write("debates/journaled.json", &state);
    sandbox.write("debates/journaled.events.jsonl", format!("{first}\n{{\"type\":\"of a later version\"}}\n"));
    let list = sandbox.run(["list"]).expect_code(0);
    assert_eq!(list.stdout.matches("newer format").count(), 3, "{list}");
    for name in ["whole", "other", "journaled"] {
        for arguments in [&["report", "-d", name][..], &["resume", name], &["eval", "--offline", "-d", name]] {
            let refused = sandbox.run(arguments).expect_code(2);
            refused.says(["was written by a newer version (format 3; this version reads up to 2)", "hint: "]);
        }
    }
    let refused = sandbox.run(["fork", "journaled", "--at", "start"]).expect_code(2);
    assert!(refused.stderr.contains("was written by a newer version (format 3"), "{refused}");
}

/// A sandbox whose `debates` holds every fixture, under the id of the debate.
fn installed() -> (Sandbox, Vec<String>) {
    let sandbox = Sandbox::new();
    let mut ids = Vec::new();
    for (_, text) in states() {
        let state: Value = serde_json::from_str(&text).unwrap();
        let id = state["id"].as_str().unwrap().to_owned();
        sandbox.write(format!("debates/{id}.json"), &text);
        ids.push(id);
    }
    (sandbox, ids)
}

#[test]
fn they_are_listed() {
    let (sandbox, ids) = installed();
    let finished = sandbox.run(["list"]).expect_code(0);
    insta::assert_snapshot!(finished.stdout, @r"
    ID                        WHEN              STATUS     OUTCOME  ANSWER  ROUNDS  CONFIDENCE  COST  PROBLEM
    deb-20261120-191710-d64v  2026-11-20 19:17  completed  -        -       2       82          -     A network of parcel lockers needs a reservation service.
    deb-20261120-191638-i0te  2026-11-20 19:16  completed  -        -       1       82          -     Design a rate limiter. It must be fast.
    ");
    assert_eq!(finished.stdout.lines().count(), 1 + ids.len());
    let rows = sandbox.run(["list", "--json"]).expect_code(0).json();
    for (row, (_, text)) in rows.as_array().unwrap().iter().rev().zip(states_by_time()) {
        let state: Value = serde_json::from_str(&text).unwrap();
        for field in ["id", "status", "createdAt"] {
            assert_eq!(row[field], state[field], "{field}");
        }
        assert_eq!(row["confidence"].as_f64(), state["finalSolution"]["confidence"].as_f64());
        assert_eq!(row["rounds"], json!(state["rounds"].as_array().unwrap().len()));
    }
}

/// The fixtures, oldest first.
fn states_by_time() -> Vec<(std::path::PathBuf, String)> {
    let mut states = states();
    states.sort_by_key(|(_, text)| {
        let state: Value = serde_json::from_str(text).unwrap();
        state["createdAt"].as_str().unwrap().to_owned()
    });
    states
}

#[test]
fn they_are_found_by_id_and_path_and_known_to_be_finished() {
    let (sandbox, ids) = installed();
    let before = sandbox.files();
    for id in &ids {
        for name in [id.clone(), id[..19].to_owned(), format!("debates/{id}.json"), "latest".to_owned()] {
            let finished = sandbox.run(["resume", &name]).expect_code(0);
            assert!(finished.stderr.contains("is finished."), "{name}: {finished}");
        }
    }
    assert!(sandbox.files() == before, "old files are left as they are");
}
