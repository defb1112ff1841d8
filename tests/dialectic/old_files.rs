//! Debates that earlier installations saved are still of use.

use serde_json::{Value, json};

use crate::fixtures::states;
use crate::support::Sandbox;

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
    insta::assert_snapshot!(finished.stdout, @"
    ID                        WHEN              STATUS     OUTCOME  ROUNDS  CONFIDENCE  COST  PROBLEM
    deb-20261120-191710-d64v  2026-11-20 19:17  completed  -        2       82          -     A network of parcel lockers needs a reservation service.
    deb-20261120-191638-i0te  2026-11-20 19:16  completed  -        1       82          -     Design a rate limiter. It must be fast.
    ");
    assert_eq!(finished.stdout.lines().count(), 1 + ids.len());
    let rows: Value = serde_json::from_str(&sandbox.run(["list", "--json"]).expect_code(0).stdout).unwrap();
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
            assert!(finished.stderr.contains("is finished; nothing is left to do"), "{name}: {finished}");
        }
    }
    assert!(sandbox.files() == before, "old files are left as they are");
}
