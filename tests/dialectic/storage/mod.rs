//! Disks that fill, directories that cannot be written, files that other programs touch: nothing that was on disk is
//! lost, and nothing goes wrong unsaid.

mod full_disk;
mod no_directory;
mod no_files;
mod other_programs;
mod outputs;
mod state_file;
mod targets;
mod two_runs;

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::resume::{recorded_calls, reply};
use crate::support::{Finished, MockServer, Purpose, Reply, Sandbox, short_reply, two_agents};
use crate::timing::without_times;

/// Two agents and one round: seven calls.
fn small(server: &MockServer) -> Sandbox {
    two_agents(server, &json!({}))
}

/// A debate that failed with its last call, and its id.
fn without_synthesis(server: &MockServer) -> (Sandbox, String) {
    server.set_script(|request| match request.purpose {
        Purpose::Synthesize => Reply::error(400, "not today"),
        _ => short_reply(request),
    });
    let sandbox = small(server);
    sandbox.run(["debate", "Design a queue", "--quiet"]).expect_code(3);
    server.set_script(short_reply);
    let id = sandbox.only_debate();
    (sandbox, id)
}

/// Panics unless the run ended with that error and none of what a run that went well says.
fn assert_refused(finished: &Finished, says: &[&str]) {
    assert_eq!(finished.code, Some(1), "{finished}");
    assert_eq!(finished.stdout, "", "{finished}");
    assert!(!finished.stderr.contains("Saved debate"), "{finished}");
    for text in ["error: ", "\ncaused by: ", "\nhint: "].iter().chain(says) {
        assert!(finished.stderr.contains(text), "no {text:?}: {finished}");
    }
}

/// The files that were to take the place of others.
fn half_written(sandbox: &Sandbox) -> Vec<PathBuf> {
    let files = sandbox.files().into_iter().map(|(path, _)| path);
    files.filter(|path| path.extension().is_some_and(|extension| extension == "tmp")).collect()
}

/// Panics unless the record is intact, and goes on to the end that it would have
/// had, without a finished call made again or anything half-written left behind.
fn assert_goes_on(server: &MockServer, sandbox: &Sandbox, id: &str, expected: &Value, calls: usize) {
    assert!(sandbox.read(format!("debates/{id}.events.jsonl")).ends_with('\n'), "a line was cut short");
    sandbox.run(["verify", id]).expect_code(0);
    server.settle();
    let lost = server.requests().len() - recorded_calls(sandbox);
    server.set_script(reply);
    sandbox.run(["resume", id, "--quiet"]).expect_code(0);
    assert_eq!(half_written(sandbox), Vec::<PathBuf>::new());
    sandbox.assert_state_is_the_fold(id);
    let state = without_times(&sandbox.state(id));
    assert!(state == *expected, "{state:#}\n\n{expected:#}");
    assert_eq!(server.requests().len(), calls + lost, "a finished call was made again");
}
