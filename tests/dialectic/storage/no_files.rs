//! What is in the place of a debate's files and is no file, or holds next to nothing in gigabytes.

use std::os::unix::net::UnixListener;
use std::path::Path;

use nix::sys::stat::Mode;
use nix::unistd::mkfifo;

use crate::support::Sandbox;

/// The commands that read a saved debate.
const READERS: [&[&str]; 5] = [
    &["report", "debates/d.json"],
    &["eval", "--offline", "-d", "debates/d.json"],
    &["show", "d"],
    &["resume", "d"],
    &["verify", "d"],
];

fn finished_debate() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.run(["debate", "Design a queue", "--offline", "-r", "1", "--quiet"]).expect_code(0);
    let id = sandbox.only_debate();
    let debates = sandbox.directory().join("debates");
    for ending in ["json", "events.jsonl"] {
        std::fs::rename(debates.join(format!("{id}.{ending}")), debates.join(format!("d.{ending}"))).unwrap();
    }
    sandbox
}

fn pipe(path: &Path) {
    mkfifo(path, Mode::S_IRWXU).unwrap();
}

fn socket(path: &Path) {
    drop(UnixListener::bind(path).unwrap());
}

fn device(path: &Path) {
    std::os::unix::fs::symlink("/dev/null", path).unwrap();
}

#[test]
fn a_record_that_is_no_file_is_refused_and_nobody_waits_for_it() {
    for place in [pipe, socket, device] {
        let sandbox = finished_debate();
        let debates = sandbox.directory().join("debates");
        std::fs::remove_file(debates.join("d.json")).unwrap();
        std::fs::remove_file(debates.join("d.events.jsonl")).unwrap();
        place(&debates.join("d.json"));
        for arguments in READERS {
            sandbox.run(arguments).expect_code(2).says(["d.json is a pipe, a socket or a device, not a file"]);
        }
        sandbox.run(["list"]).expect_code(0);
    }
}

#[test]
fn a_journal_that_is_no_file_is_refused_and_nobody_waits_for_it() {
    for place in [pipe, socket, device] {
        let sandbox = finished_debate();
        let debates = sandbox.directory().join("debates");
        std::fs::remove_file(debates.join("d.events.jsonl")).unwrap();
        place(&debates.join("d.events.jsonl"));
        // From the state alone a finished debate can be shown and evaluated.
        for arguments in &READERS[..2] {
            sandbox.run(*arguments).expect_code(0);
        }
        for arguments in &READERS[3..] {
            sandbox.run(*arguments).expect_code(2).says(["is a pipe, a socket or a device, not a file"]);
        }
        sandbox.run(["list"]).expect_code(0);
    }
}
