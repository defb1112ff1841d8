//! Two programs on one debate.

use std::sync::Mutex;
use std::sync::mpsc::channel;

use crate::storage::{small, without_synthesis};
use crate::support::{MockServer, Purpose, short_reply};

/// A script that answers the synthesis when the sender is dropped.
fn held(server: &MockServer) -> std::sync::mpsc::Sender<()> {
    let (release, released) = channel::<()>();
    let released = Mutex::new(released);
    server.set_script(move |request| {
        if request.purpose == Purpose::Synthesize {
            // Fails as soon as the sender is gone.
            let _ = released.lock().unwrap().recv();
        }
        short_reply(request)
    });
    release
}

#[test]
fn of_two_that_resume_at_once_exactly_one_goes_on() {
    let server = MockServer::with(short_reply);
    let (sandbox, id) = without_synthesis(&server);
    let calls = server.requests().len();
    let release = held(&server);
    let (ended, ends) = channel();
    let (first, second) = std::thread::scope(|scope| {
        for _ in 0..2 {
            let (running, ended) = (sandbox.spawn(["resume", &id, "--quiet"]), ended.clone());
            scope.spawn(move || ended.send(running.wait()).unwrap());
        }
        // The one that goes on waits for its answer: the other is the first to end.
        let first = ends.recv().unwrap();
        drop(release);
        (first, ends.recv().unwrap())
    });
    let locked = format!(
        "error: the debate is running in another process (the journal ./debates/{id}.events.jsonl is locked)\n\
         hint: wait until the debate ends; `dialectic show ./debates/{id}.events.jsonl` shows its current state\n"
    );
    assert_eq!((first.code, &first.stderr), (Some(75), &locked), "{first}");
    second.expect_code(0);
    assert_eq!(server.requests().len(), calls + 1);
    sandbox.assert_state_is_the_fold(&id);
    sandbox.run(["verify", &id]).expect_code(0);
}

#[test]
fn a_debate_that_runs_can_be_read_and_is_not_disturbed() {
    let server = MockServer::with(short_reply);
    let sandbox = small(&server);
    let release = held(&server);
    let running = sandbox.spawn(["debate", "Design a queue", "--quiet"]);
    server.wait_for_requests(7);
    let id = std::fs::read_dir(sandbox.directory().join("debates"))
        .unwrap()
        .find_map(|entry| Some(entry.unwrap().file_name().to_str()?.strip_suffix(".events.jsonl")?.to_owned()))
        .unwrap();
    let journal = sandbox.journal(&id);
    for arguments in [
        &["list"][..],
        &["report", "-d", &id],
        &["show", &id],
        &["verify", &id],
        &["fork", &id, "--at", "start", "--offline", "--quiet"],
    ] {
        let finished = sandbox.run(arguments).expect_code(0);
        assert!(finished.stdout.len() > 20, "{arguments:?}: {finished}");
    }
    for arguments in [&["resume", &id][..], &["rm", "--yes", &id]] {
        sandbox.run(arguments).expect_code(75);
    }
    assert_eq!(sandbox.journal(&id), journal);
    drop(release);
    running.wait().expect_code(0);
    assert_eq!(sandbox.state(&id)["outcome"]["kind"], "full");
    assert_eq!(server.requests().len(), 7);
    sandbox.assert_state_is_the_fold(&id);
}
