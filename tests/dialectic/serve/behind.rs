//! What a server does after a debate.

#![cfg(unix)]

use std::net::TcpStream;
use std::time::Duration;

use nix::sys::signal::kill;
use nix::unistd::Pid;
use serde_json::{Value, json};

use super::client::{Serving, TOKEN};
use crate::support::{Sandbox, wait_until};

fn sandbox(commands: &[&str], debate: &Value) -> Sandbox {
    let mut config = json!({"hooks": {"afterDebate": commands}, "debate": debate});
    config["debate"]["rounds"] = json!(1);
    Sandbox::new().config(&config).env("DIALECTIC_TOKEN", TOKEN)
}

const NAMED: [&str; 2] = ["--config", "debate-config.json"];

fn is_there(sandbox: &Sandbox, name: &str) -> bool {
    sandbox.directory().join(name).exists()
}

fn begin(serving: &Serving) -> String {
    serving.complete(&json!({"problem": "Design a queue", "offline": true}))
}

#[test]
fn the_users_commands_run_behind_each_debate() {
    let commands = ["cat > written && mv written state.json", "exit 7", "touch done"];
    let sandbox = sandbox(&commands, &json!({}));
    let serving = Serving::start(&sandbox, &NAMED);
    let id = begin(&serving);
    wait_until("the last command runs", || is_there(&sandbox, "done"));
    let given: Value = serde_json::from_str(&sandbox.read("state.json")).unwrap();
    assert_eq!(given, sandbox.state(&id));
    // The same after a branch.
    sandbox.remove("done");
    let fork = serving.post(&format!("/debates/{id}/fork"), &json!({"at": "1.synthesis"})).expect(201).json();
    wait_until("the commands run after a branch", || is_there(&sandbox, "done"));
    assert_eq!(serde_json::from_str::<Value>(&sandbox.read("state.json")).unwrap()["id"], fork["id"]);
    let finished = serving.interrupt().expect_code(130);
    assert_eq!(finished.stderr.matches("warning: the hook `exit 7` failed").count(), 2, "{finished}");
}

/// How many debates the archive has taken in; nothing where there is none.
fn remembered(sandbox: &Sandbox) -> Option<i64> {
    let path = sandbox.directory().join("debates/archive.sqlite");
    let archive = rusqlite::Connection::open_with_flags(path, rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY).ok()?;
    archive.query_row("SELECT count(*) FROM memories", [], |row| row.get(0)).ok()
}

#[test]
fn a_debate_is_remembered_at_its_end() {
    let sandbox = sandbox(&[], &json!({"memory": true}));
    let serving = Serving::start(&sandbox, &NAMED);
    for number in 1..=2 {
        begin(&serving);
        wait_until("it is remembered", || remembered(&sandbox) == Some(number));
    }
    drop(serving);
    sandbox.write("debates/archive.sqlite", "not a database");
    let serving = Serving::start(&sandbox, &NAMED);
    begin(&serving);
    let finished = serving.interrupt().expect_code(130);
    assert!(finished.stderr.contains("warning: cannot index the debate yet"), "{finished}");
}

#[test]
fn a_command_that_hangs_holds_up_no_debate_and_is_waited_for_at_the_end() {
    let hook = "touch begun; while [ ! -e go ]; do sleep 0.02; done; touch done";
    let sandbox = sandbox(&[hook], &json!({}));
    let serving = Serving::start(&sandbox, &[&NAMED[..], &["--max-debates", "1"]].concat());
    begin(&serving);
    wait_until("the command begins", || is_there(&sandbox, "begun"));
    begin(&serving);
    let (id, authority) = (serving.id(), serving.authority.clone());
    let ending = std::thread::spawn(move || serving.interrupt());
    // It takes no new requests, and waits for the command.
    wait_until("it takes no requests", || TcpStream::connect(&authority).is_err());
    kill(Pid::from_raw(id.cast_signed()), None).expect("the server has gone without waiting");
    sandbox.write("go", "");
    ending.join().unwrap().expect_code(130);
    assert!(is_there(&sandbox, "done"));
}

#[test]
fn a_second_interrupt_ends_a_command_that_hangs() {
    let sandbox = sandbox(&["echo $$ > written; mv written pid; sleep 3600"], &json!({}));
    let serving = Serving::start(&sandbox, &NAMED);
    begin(&serving);
    wait_until("the command begins", || is_there(&sandbox, "pid"));
    let server = Pid::from_raw(serving.id().cast_signed());
    let ending = std::thread::spawn(move || serving.interrupt());
    while !ending.is_finished() {
        // One that comes too early counts with the first.
        std::thread::sleep(Duration::from_millis(100));
        let _ = kill(server, nix::sys::signal::Signal::SIGINT);
    }
    let finished = ending.join().unwrap().expect_code(130);
    assert!(finished.stderr.contains("the server shut down and aborted the hooks for"), "{finished}");
    let hook: i32 = sandbox.read("pid").trim().parse().unwrap();
    wait_until("the command is ended", || kill(Pid::from_raw(hook), None).is_err());
}
