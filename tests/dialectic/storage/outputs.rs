//! Results, reports and event streams that find no room: said, and the debate itself is kept.

#![cfg(target_os = "linux")]

use std::fs::File;
use std::os::unix::fs::symlink;
use std::process::Output;

use crate::storage::small;
use crate::support::{MockServer, Sandbox, short_reply};

/// Runs the program with a standard output on which there is no room.
fn run_with_full_stdout(sandbox: &Sandbox, arguments: &[&str]) -> Output {
    let full = File::options().write(true).open("/dev/full").unwrap();
    sandbox.command(arguments).stdin(std::process::Stdio::null()).stdout(full).output().unwrap()
}

#[test]
fn a_debate_whose_result_finds_no_room_is_kept() {
    let server = MockServer::with(short_reply);
    for (arguments, says) in [
        (&["-o", "/dev/full"][..], "error: cannot write /dev/full\n"),
        (&["-o", "full.json"], "error: cannot write full.json\n"),
        (&["--report", "full.md"], "error: cannot write full.md\n"),
        (&["--events", "/dev/full"], "error: cannot write the event stream to /dev/full\n"),
    ] {
        let sandbox = small(&server);
        for link in ["full.md", "full.json"] {
            symlink("/dev/full", sandbox.directory().join(link)).unwrap();
        }
        let finished = sandbox.run([&["debate", "Design a queue", "--quiet"], arguments].concat()).expect_code(1);
        assert!(finished.stderr.contains(says), "{finished}");
        assert!(finished.stderr.contains("No space left on device"), "{finished}");
        for lie in ["Wrote the result", "Generated report"] {
            assert!(!finished.stderr.contains(lie), "{finished}");
        }
        let id = sandbox.only_debate();
        assert_eq!(sandbox.state(&id)["status"], "completed");
        sandbox.run(["verify", &id]).expect_code(0);
    }
}

#[test]
fn what_cannot_be_printed_is_an_error_of_every_command() {
    let server = MockServer::with(short_reply);
    let sandbox = small(&server);
    for arguments in [&["debate", "Design a queue", "--quiet"][..], &["debate", "x", "--quiet", "--events", "-"]] {
        let output = run_with_full_stdout(&sandbox, arguments);
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {stderr}");
        assert!(
            stderr.contains("Saved debate to ./debates/") && stderr.contains("No space left on device"),
            "{stderr}"
        );
    }
    assert!(sandbox.debates().iter().all(|id| sandbox.state(id)["status"] == "completed"));
    for arguments in [
        &["list"][..],
        &["report", "-d", "latest"],
        &["verify", "latest"],
        &["show", "latest"],
        &["eval", "-d", "latest", "--offline"],
        &["config", "schema"],
        &["man"],
    ] {
        let output = run_with_full_stdout(&sandbox, arguments);
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {stderr}");
        assert!(stderr.contains("error: cannot write to standard output\ncaused by: No space left"), "{stderr}");
    }
}
