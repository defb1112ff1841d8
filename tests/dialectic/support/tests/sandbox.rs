use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use serde_json::json;

use crate::support::{MockServer, Plan, Sandbox, TEST_KEY};
use dialectic_record::debate::fold;

/// A sandbox whose program is the shell.
fn shell() -> Sandbox {
    Sandbox::new().program("/bin/sh")
}

fn message(panic: &(dyn std::any::Any + Send)) -> &str {
    panic.downcast_ref::<String>().unwrap()
}

#[test]
fn what_goes_in_and_what_comes_out() {
    let finished = shell().run_with_input(["-c", "cat; echo problem >&2; exit 3"], "in\nput");
    assert_eq!((finished.code, &*finished.stdout, &*finished.stderr), (Some(3), "in\nput", "problem\n"));
    let unread = shell().run_with_input(["-c", "exit 0"], vec![b'x'; 1_000_000]);
    assert_eq!(unread.expect_code(0).stdout, "");
}

#[test]
fn the_environment_is_empty_but_for_what_the_test_sets() {
    let server = MockServer::start();
    let sandbox = shell().env("COLOUR", "blue").model_server(&server);
    let finished = sandbox.run(["-c", "pwd; env | grep -v -e ^PWD= -e ^_= -e ^SHLVL= -e _KEY= | cut -d= -f1 | sort"]);
    let directory = sandbox.directory().canonicalize().unwrap();
    let expected = format!("{}\nCOLOUR\nHOME\nOPENAI_BASE_URL\nPATH\nTZ\n", directory.display());
    assert_eq!(finished.stdout, expected);
    let set = sandbox.run(["-c", "echo $HOME $TZ $OPENAI_BASE_URL; [ $OPENAI_API_KEY = $0 ] || exit 1", TEST_KEY]);
    assert_eq!(set.code, Some(0));
    assert_eq!(set.stdout, format!("{} UTC {}\n", sandbox.directory().display(), server.base_url()));
}

#[test]
fn files_are_where_the_program_looks_for_them() {
    let sandbox = shell().file("a/b.txt", "text").config(&json!({"agents": []}));
    assert_eq!(sandbox.run(["-c", "cat a/b.txt; echo new > c.txt"]).stdout, "text");
    assert_eq!(sandbox.read("c.txt"), "new\n");
    assert_eq!(sandbox.read("debate-config.json"), "{\n  \"agents\": []\n}");
}

#[test]
fn a_program_that_does_not_end_is_ended() {
    let started = Instant::now();
    let sandbox = shell().limit(Duration::from_secs(5));
    let panic = catch_unwind(AssertUnwindSafe(|| sandbox.run(["-c", "echo waiting >&2; exec sleep 60"]))).unwrap_err();
    assert!(started.elapsed() < Duration::from_secs(50));
    let message = message(&*panic);
    assert!(message.contains("did not end in time") && message.contains("waiting"), "{message}");
}

#[test]
fn a_running_program_can_be_watched_signalled_and_killed() {
    let sandbox = shell();
    let wait_for_start = |running: &crate::support::Running| {
        let started = Instant::now();
        while !running.stderr().contains("up") {
            assert!(started.elapsed() < Duration::from_mins(1));
            std::thread::sleep(Duration::from_millis(2));
        }
    };
    // A shell cannot trap a signal that was ignored when it started, as an interrupt is below `nohup`.
    let running = sandbox.spawn(["-c", "trap 'echo bye; exit 7' USR1; echo up >&2; while :; do sleep 0.01; done"]);
    wait_for_start(&running);
    running.signal(Signal::SIGUSR1);
    let finished = running.wait();
    assert_eq!((finished.code, &*finished.stdout), (Some(7), "bye\n"));
    let running = sandbox.spawn(["-c", "echo up >&2; exec sleep 60"]);
    wait_for_start(&running);
    assert!(running.id() > 0);
    assert_eq!(running.kill().code, None);
}

#[test]
fn neither_a_key_nor_a_panic_passes_unseen() {
    for (said, name) in [(TEST_KEY, "the API key"), ("thread 'main' panicked at src/x.rs", "a panic")] {
        let panic = catch_unwind(|| shell().run(["-c", "echo \"$0\" >&2", said])).unwrap_err();
        assert!(message(&*panic).starts_with(name), "{}", message(&*panic));
    }
}

#[test]
fn a_snapshot_holds_nothing_that_changes_from_run_to_run() {
    let said = "echo saved deb-20250101-010203-ab12 in $HOME, deb-1 and deb-20250101-010203-AB12; exit 2";
    let finished = shell().run(["-c", said]);
    let expected =
        "exit: 2\n--- stdout\nsaved [id] in [directory], deb-1 and deb-20250101-010203-AB12\n\n--- stderr\n\n";
    assert_eq!(finished.to_string(), expected);
    let panic = catch_unwind(|| finished.expect_code(0)).unwrap_err();
    assert!(message(&*panic).contains("deb-1"), "{}", message(&*panic));
}

#[test]
fn saved_debates_are_found_and_held_against_their_journals() {
    let plan = Plan {
        agents: 2,
        rounds: 1,
        clarified: true,
        summarized: false,
        failing: 0,
        unpriced: 0,
        interrupted: false,
        seed: 3,
    };
    let events = plan.events(1);
    let lines: String = events.iter().map(|event| serde_json::to_string(event).unwrap() + "\n").collect();
    let debate = fold(&events).unwrap();
    let id = debate.id.as_str();
    let mut state = serde_json::to_value(&debate).unwrap();
    state["journal"] = json!({"events": events.len(), "sha256": ""});
    assert_eq!(Sandbox::new().debates(), Vec::<String>::new());
    let sandbox = Sandbox::new()
        .file(format!("debates/{id}.json"), state.to_string())
        .file(format!("debates/{id}.events.jsonl"), lines);
    assert_eq!(sandbox.only_debate(), id);
    assert!(sandbox.debate(id).is_same_state(&debate));
    assert_eq!(sandbox.state(id)["status"], "completed");
    assert_eq!(sandbox.journal(id).len(), events.len());
    sandbox.assert_state_is_the_fold(id);

    for (key, value) in [("problem", json!("another")), ("journal", json!({"events": 1, "sha256": ""}))] {
        let mut other = state.clone();
        other[key] = value;
        sandbox.write(format!("debates/{id}.json"), other.to_string());
        assert!(catch_unwind(AssertUnwindSafe(|| sandbox.assert_state_is_the_fold(id))).is_err(), "{key}");
    }
}
