//! Debates that were interrupted: nothing that was paid for is paid for twice.

use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use serde_json::{Value, json};

use crate::support::{Finished, Incoming, MockServer, Purpose, Reply, Sandbox, config, default_reply, short_reply};
use crate::timing::without_times;

const ROLES: [&str; 3] = ["architect", "kiss", "testing"];

/// Three agents, two rounds, summaries on the way and a score: the calls of every kind that agents and judge make.
fn everything(server: &MockServer) -> Sandbox {
    let debate = json!({
        "rounds": 2, "summarization": {"threshold": 1500, "maxLength": 500},
        "terminationCondition": {"type": "convergence", "threshold": 90},
    });
    Sandbox::new().model_server(server).config(&config(&ROLES, &debate))
}

/// Agents' replies depend on what they are asked, the judge's on nothing: its prompts are shuffled by a random seed.
fn reply(request: &Incoming) -> Reply {
    match (request.purpose, request.model()) {
        (Purpose::Confidence, _) => Reply::json(json!({"confidence": 50})),
        (Purpose::Synthesize, _) => Reply::json(json!({
            "solutionMarkdown": "Use a ring.", "tradeoffs": [], "recommendations": [],
            "unfulfilledMajorRequirements": [], "openQuestions": [], "confidence": 70,
        })),
        (_, "model-judge") => Reply::text("All is well."),
        _ => default_reply(request),
    }
    .usage(100, 0, 10)
}

fn slow_reply(request: &Incoming) -> Reply {
    reply(request).after(Duration::from_millis(20))
}

/// The state that an undisturbed run ends in, and the number of its calls.
fn undisturbed() -> (Value, usize) {
    let server = MockServer::with(reply);
    let sandbox = everything(&server);
    sandbox.run(["debate", "Design a queue"]).expect_code(0);
    // 12 calls in the first round and 9 in the second, 3 summaries, 2 scores, the judge's summary, the synthesis.
    assert_eq!(server.requests().len(), 28);
    (without_times(&sandbox.state(&sandbox.only_debate())), 28)
}

#[test]
fn a_debate_that_is_killed_again_and_again_ends_as_if_nothing_had_been() {
    let (expected, calls) = undisturbed();
    let server = MockServer::with(slow_reply);
    let sandbox = everything(&server);
    // Requests whose replies a kill took along, all in all.
    let mut lost = 0;
    let mut arguments = vec!["debate", "Design a queue"];
    // Each time a few requests further; what was in flight is made again.
    for requests in [1, 4, 6, 9, 13, 17, 22, 26] {
        let before = server.requests().len();
        let running = sandbox.spawn(&arguments);
        server.wait_for_requests(before.max(requests - 1) + 1);
        // Not always at the same place between two events.
        std::thread::sleep(Duration::from_micros(requests as u64 * 1700 % 20_000));
        running.kill();
        let lost_now = server.requests().len() - recorded_calls(&sandbox) - lost;
        assert!(lost_now <= server.peak_in_flight(), "{lost_now} replies are lost: more than can have been in flight");
        lost += lost_now;
        arguments = vec!["resume", "latest"];
    }
    let finished = sandbox.run(&arguments).expect_code(0);
    assert!(finished.stdout.starts_with("Use a ring."), "{finished}");
    let id = sandbox.only_debate();
    sandbox.assert_state_is_the_fold(&id);
    let state = without_times(&sandbox.state(&id));
    assert!(state == expected, "{state:#}\n\n{expected:#}");
    assert_eq!(recorded_calls(&sandbox), calls);
    assert_eq!(server.requests().len(), calls + lost);
    server.assert_clean();
}

/// The calls whose results are in the journal.
fn recorded_calls(sandbox: &Sandbox) -> usize {
    let Ok(entries) = std::fs::read_dir(sandbox.directory().join("debates")) else { return 0 };
    let journals = entries.map(|entry| entry.unwrap().path()).filter(|path| path.extension().unwrap() == "jsonl");
    let lines: String = journals.map(|path| std::fs::read_to_string(path).unwrap()).collect();
    // A line that a kill cut short is no event.
    let events = lines.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    events.filter(|event| event["call"].is_object()).count()
}

/// Starts a debate, interrupts it when that many requests have arrived, and sees to it that it ends at once.
fn interrupted(sandbox: &Sandbox, server: &MockServer, signal: Signal, requests: usize) -> Finished {
    let running = sandbox.spawn(["debate", "Design a queue"]);
    server.wait_for_requests(requests);
    let started = Instant::now();
    running.signal(signal);
    let finished = running.wait();
    assert!(started.elapsed() < Duration::from_secs(1), "{:?}: {finished}", started.elapsed());
    finished.expect_code(130)
}

#[test]
fn an_interrupted_debate_is_paused_at_once_and_says_how_to_go_on() {
    let (expected, calls) = undisturbed();
    for signal in [Signal::SIGINT, Signal::SIGTERM] {
        // In the round, and when only the judge is left.
        for requests in [5, 26] {
            let server = MockServer::with(|request| reply(request).after(Duration::from_millis(5)));
            let sandbox = everything(&server);
            server.set_script(move |request| {
                // Nothing from here on is answered: what is in flight cannot be waited for.
                if request.index + 1 >= requests { Reply::hang() } else { reply(request) }
            });
            let finished = interrupted(&sandbox, &server, signal, requests);
            let id = sandbox.only_debate();
            let message = format!(
                "error: interrupted; the debate {id} is saved as paused\nhint: go on with: dialectic resume {id}\n"
            );
            assert!(finished.stderr.ends_with(&message), "{finished}");
            assert_eq!(finished.stdout, "");
            sandbox.assert_state_is_the_fold(&id);
            assert_eq!(sandbox.state(&id)["status"], "paused");
            let lost = server.requests().len() - recorded_calls(&sandbox);
            server.set_script(reply);
            sandbox.run(["resume", &id]).expect_code(0);
            let state = without_times(&sandbox.state(&id));
            assert!(state == expected, "{state:#}\n\n{expected:#}");
            assert_eq!(server.requests().len(), calls + lost);
        }
    }
}

#[test]
fn a_second_interrupt_is_not_needed_but_heard() {
    let server = MockServer::with(|_| Reply::hang());
    let sandbox = everything(&server);
    let running = sandbox.spawn(["debate", "Design a queue"]);
    server.wait_for_requests(3);
    running.signal(Signal::SIGINT);
    running.signal(Signal::SIGINT);
    running.wait().expect_code(130);
}

#[test]
fn a_finished_debate_has_nothing_left_to_do() {
    let server = MockServer::with(short_reply);
    let sandbox = Sandbox::new().model_server(&server).config(&config(&["architect", "kiss"], &json!({})));
    sandbox.run(["debate", "Design a queue"]).expect_code(0);
    let id = sandbox.only_debate();
    let before = sandbox.files();
    let finished = sandbox.run(["resume", "latest"]).expect_code(0);
    insta::assert_snapshot!(finished, @"
    exit: 0
    --- stdout

    --- stderr
    The debate [id] is finished; nothing is left to do.
    ");
    for name in [&id, &id[..20], &format!("debates/{id}.json"), &format!("./debates/{id}.events.jsonl")] {
        sandbox.run(["resume", name]).expect_code(0);
    }
    assert_eq!(server.requests().len(), 7);
    assert!(sandbox.files() == before, "something was written");
}

#[test]
fn a_debate_that_runs_is_not_run_a_second_time() {
    let server = MockServer::with(|_| Reply::hang());
    let sandbox = Sandbox::new().model_server(&server).config(&config(&["architect", "kiss"], &json!({})));
    let running = sandbox.spawn(["debate", "Design a queue"]);
    server.wait_for_requests(2);
    let finished = sandbox.run(["resume", "latest"]);
    insta::assert_snapshot!(finished, @"
    exit: 1
    --- stdout

    --- stderr
    error: the debate is running in another process (the journal ./debates/[id].events.jsonl is locked)
    ");
    assert_eq!(server.requests().len(), 2);
    running.kill();
    // A lock ends with its process.
    server.set_script(short_reply);
    sandbox.run(["resume", "latest"]).expect_code(0);
}

#[test]
fn a_line_that_a_crash_cut_short_is_dropped_with_a_warning() {
    let server = MockServer::with(slow_reply);
    let sandbox = everything(&server);
    let running = sandbox.spawn(["debate", "Design a queue"]);
    server.wait_for_requests(6);
    running.kill();
    let mut names = sandbox.files().into_iter().map(|(path, _)| path.file_name().unwrap().to_str().unwrap().to_owned());
    // Other files may have been on their way.
    let id = names.find_map(|name| name.strip_suffix(".events.jsonl").map(str::to_owned)).unwrap();
    let path = format!("debates/{id}.events.jsonl");
    let whole = sandbox.read(&path);
    let last = whole.trim_end().rfind('\n').unwrap() + 1;
    sandbox.write(&path, &whole.as_bytes()[..last + 20]);
    let finished = sandbox.run(["resume", &id]).expect_code(0);
    let warning = "warning: the last line of the journal was cut short by a crash and is dropped\n";
    assert!(finished.stderr.starts_with(warning), "{finished}");
    sandbox.assert_state_is_the_fold(&id);
    assert_eq!(sandbox.state(&id)["outcome"]["kind"], "full");

    // A line that was changed is not a crash.
    let whole = sandbox.read(&path);
    sandbox.write(&path, whole.replacen("Design a queue", "Design a stack", 1));
    let finished = sandbox.run(["resume", &id]);
    insta::assert_snapshot!(finished, @"
    exit: 2
    --- stdout

    --- stderr
    error: line 1 of the journal ./debates/[id].events.jsonl was changed: its hash does not fit
    hint: `dialectic verify` says what is whole; a damaged journal is not gone on with
    ");
}
