//! The disk fills while a debate runs.

use crate::resume::{everything, reply, undisturbed};
use crate::storage::{assert_goes_on, assert_refused};
use crate::support::{MockServer, Sandbox, sample, short_reply};

/// The one journal's name without its ending.
fn id_of_journal(sandbox: &Sandbox) -> String {
    let mut files = sandbox.files().into_iter().map(|(path, _)| path.file_name().unwrap().to_str().unwrap().to_owned());
    files.find_map(|name| name.strip_suffix(".events.jsonl").map(str::to_owned)).expect("there is a journal")
}

#[test]
fn a_debate_stops_with_all_that_found_room_and_goes_on_when_there_is_more() {
    let (expected, calls) = undisturbed();
    let length = {
        let server = MockServer::with(reply);
        let sandbox = everything(&server);
        sandbox.run(["debate", "Design a queue", "--quiet"]).expect_code(0);
        sandbox.read(format!("debates/{}.events.jsonl", sandbox.only_debate())).len() as u64
    };
    let mut stopped_by = Vec::new();
    // From a disk on which there is hardly room for the first events to one that lacks room for the last.
    for eighths in sample(2..=8, 3) {
        // No two debates are equally long: their calls do not take equally long.
        let blocks = (length - 512) * eighths / 8 / 512;
        let server = MockServer::with(reply);
        let sandbox = everything(&server);
        let finished = sandbox.run_with_file_limit(blocks, &["debate", "Design a queue", "--quiet"]);
        let id = id_of_journal(&sandbox);
        let hint = format!("fix the cause, then: dialectic resume {id}\n");
        let said = format!("error: cannot save the debate {id}\n");
        assert_refused(&finished, &[&said, "File too large", &format!("./debates/{id}."), &hint]);
        assert_eq!(super::half_written(&sandbox), Vec::<std::path::PathBuf>::new());
        stopped_by.push(finished.stderr.contains("cannot append to the journal"));
        assert_goes_on(&server, &sandbox, &id, &expected, calls);
    }
    assert!(stopped_by.contains(&true), "no limit was met in the middle of a journal's line");
}

#[test]
fn without_room_for_the_first_event_nothing_is_left_behind() {
    let server = MockServer::with(reply);
    let sandbox = everything(&server);
    let finished = sandbox.run_with_file_limit(1, &["debate", "Design a queue", "--quiet"]);
    assert_refused(&finished, &["cannot append to the journal ./debates/deb-", "File too large"]);
    assert_eq!(server.requests().len(), 0);
    assert_eq!(std::fs::read_dir(sandbox.directory().join("debates")).unwrap().count(), 0);
}

#[test]
fn a_fork_without_room_for_what_it_takes_over_is_none() {
    let server = MockServer::with(reply);
    let sandbox = everything(&server);
    sandbox.run(["debate", "Design a queue", "--quiet"]).expect_code(0);
    let before = (sandbox.files(), server.requests().len());
    let finished = sandbox.run_with_file_limit(32, &["fork", "latest", "--at", "2.synthesis", "--quiet"]);
    assert_refused(&finished, &["cannot append to the journal ./debates/deb-", "File too large"]);
    assert!((sandbox.files(), server.requests().len()) == before, "{finished}");
}

#[test]
fn a_state_that_cannot_be_written_is_known_before_anything_is_paid() {
    let server = MockServer::with(short_reply);
    let (sandbox, id) = super::without_synthesis(&server);
    let requests = server.requests().len();
    let path = format!("debates/{id}.json");
    let state = sandbox.read(&path);
    sandbox.remove(&path);
    sandbox.write(format!("{path}/of-somebody"), "else");
    let finished = sandbox.run(["resume", &id, "--quiet"]);
    assert_refused(&finished, &[&format!("cannot write ./{path}"), "Is a directory"]);
    assert_eq!(server.requests().len(), requests);
    std::fs::remove_dir_all(sandbox.directory().join(&path)).unwrap();
    sandbox.write(&path, state);
    sandbox.run(["resume", &id, "--quiet"]).expect_code(0);
    assert_eq!(server.requests().len(), requests + 1);
}

#[test]
fn a_table_of_scores_keeps_its_rows_whole() {
    let sandbox = Sandbox::new();
    sandbox.run(["debate", "Design a queue", "--offline", "-r", "1", "--quiet"]).expect_code(0);
    let evaluate = ["eval", "-d", "latest", "--offline", "-o", "scores.csv"];
    let row = {
        sandbox.run(evaluate).expect_code(0);
        let one = sandbox.read("scores.csv").len();
        sandbox.run(evaluate).expect_code(0);
        sandbox.read("scores.csv").len() - one
    };
    // Until the end of a block falls into the row that comes next.
    while sandbox.read("scores.csv").len() % 512 + row <= 512 {
        sandbox.run(evaluate).expect_code(0);
    }
    let table = sandbox.read("scores.csv");
    let finished = sandbox.run_with_file_limit(table.len() as u64 / 512 + 1, &evaluate);
    assert_refused(&finished, &["error: cannot write scores.csv", "File too large"]);
    assert_eq!(sandbox.read("scores.csv"), table);
}

#[test]
fn a_report_without_room_is_an_error_and_none_is_left() {
    let sandbox = Sandbox::new();
    sandbox.run(["debate", "Design a queue", "--offline", "-r", "1", "--quiet"]).expect_code(0);
    let finished = sandbox.run_with_file_limit(1, &["report", "latest", "-o", "report.md"]);
    assert_refused(&finished, &["error: cannot write report.md", "File too large"]);
    assert!(!sandbox.directory().join("report.md").exists());
}
