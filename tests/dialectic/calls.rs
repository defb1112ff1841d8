//! The call limit. The model server counts.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use nix::sys::signal::Signal;
use serde_json::json;

use crate::arena;
use crate::support::{MockServer, Reply, Sandbox, config, default_reply, sample, two_agents};

const PROBLEM: &str = "Design a lock service";

/// How many calls one round and the answer take, and all of it, by the refusal of a limit that buys neither.
fn needed(sandbox: &Sandbox, problem: &str) -> (usize, usize) {
    let refused = sandbox.run(["debate", "--max-calls", "1", problem]).expect_code(2).stderr;
    assert!(refused.contains("the limit of 1 call does not cover one round and the answer: "), "{refused}");
    let words: Vec<&str> = refused.split_whitespace().collect();
    let of_calls = words.windows(2).filter(|pair| pair[1].starts_with("calls"));
    let counts: Vec<usize> = of_calls.filter_map(|pair| pair[0].parse().ok()).collect();
    let [one, all] = counts[..] else { panic!("{refused}") };
    (one, all)
}

#[test]
fn a_debate_makes_no_more_calls_than_it_may_and_ends_with_an_answer() {
    let server = MockServer::start();
    for protocol in ["dialectic", "arena"] {
        if protocol == "arena" {
            server.set_script(|request| arena::script(request, arena::Related::Not, &[]));
        }
        let (problem, check) = if protocol == "arena" { (arena::PROBLEM, 0) } else { (PROBLEM, 3) };
        let sandbox = two_agents(&server, &json!({"protocol": protocol, "rounds": 2, "check": check}));
        server.forget();
        let (one, all) = needed(&sandbox, problem);
        assert!(server.requests().is_empty() && one < all, "{protocol}: {one}, {all}");
        let (mut before, mut last) = (0, None);
        for limit in sample([one, one + (all - one) / 3, one + 2 * (all - one) / 3, all], 2) {
            server.forget();
            let finished = sandbox.run(["debate", "--max-calls", &limit.to_string(), problem]).expect_code(0);
            let made = server.requests().len();
            assert!(made <= limit, "{protocol}: {made} of {limit} calls: {finished}");
            assert!(made >= before, "{protocol}: a limit of {limit} buys fewer calls than a lower one: {finished}");
            assert!(server.requests().iter().all(|request| request.max_tokens().is_none()), "{protocol}");
            assert!(!finished.stderr.contains("limiting answers"), "{protocol}: {finished}");
            (before, last) = (made, Some(finished));
        }
        let told = last.unwrap().stderr;
        assert!(!told.contains("no room") && !told.contains("left out"), "{protocol}: {told}");
    }
    server.assert_clean();
}

#[test]
fn what_is_repeated_counts_and_the_answer_is_kept_free() {
    let count = Arc::new(AtomicUsize::new(0));
    let server = MockServer::with({
        let count = Arc::clone(&count);
        move |request| match count.fetch_add(1, Ordering::SeqCst) % 4 {
            3 => Reply::error(500, "busy").header("retry-after", "0"),
            _ => default_reply(request),
        }
    });
    let sandbox = two_agents(&server, &json!({"rounds": 3, "check": 3, "maxRetries": 5}));
    let (one, all) = needed(&sandbox, PROBLEM);
    for limit in [usize::midpoint(one, all), one + 3, all] {
        server.forget();
        let finished = sandbox.run(["debate", "--max-calls", &limit.to_string(), PROBLEM]).expect_code(0);
        assert!(server.requests().len() <= limit, "{} of {limit}", server.requests().len());
        assert!(finished.stdout.contains("## Judge Assessment"), "{finished}");
    }
}

#[test]
fn a_limit_of_calls_needs_no_price_and_says_what_it_buys() {
    let server = MockServer::start();
    let sandbox = two_agents(&server, &json!({"rounds": 3, "check": 0}));
    let (one, all) = needed(&sandbox, PROBLEM);
    let limit = one + 1;
    let dry = sandbox.run(["debate", "--dry-run", "--max-calls", &limit.to_string(), PROBLEM]).expect_code(0);
    let said = format!("The limit of {limit} calls covers 1 of 3 rounds; all rounds need up to {all} calls.");
    assert!(dry.stderr.contains(&said), "{dry}");
    let (finished, state) = sandbox.debated(["debate", "--max-calls", &limit.to_string(), PROBLEM]);
    let said = format!("the limit of {limit} calls leaves no room for further calls");
    assert!(finished.stderr.contains(&said), "{finished}");
    assert_eq!(state["outcome"]["reasons"][0], "stopped: the call limit left no room for further calls");
    assert_eq!(state["settings"]["debate"]["budget"]["maxCalls"], limit);
    sandbox.run(["verify", &sandbox.only_debate()]).expect_code(0);
}

#[test]
fn a_debate_that_is_killed_and_resumed_counts_what_was_in_flight() {
    let server = MockServer::with(|request| if request.index < 4 { default_reply(request) } else { Reply::hang() });
    let sandbox = two_agents(&server, &json!({"rounds": 2, "check": 3}));
    let (_, all) = needed(&sandbox, PROBLEM);
    let running = sandbox.spawn(["debate", "--max-calls", &all.to_string(), PROBLEM]);
    server.wait_for_requests(5);
    running.signal(Signal::SIGKILL);
    running.wait();
    server.set_script(default_reply);
    let finished = sandbox.run(["resume", "latest"]).expect_code(0);
    assert!(server.requests().len() <= all, "{} of {all}: {finished}", server.requests().len());
    let id = sandbox.only_debate();
    let asked = sandbox.run(["ask", &id, "Why?", "--max-calls", "1"]).expect_code(0);
    assert!(!asked.stdout.is_empty(), "{asked}");
    let made = server.requests().len();
    server.set_script(|_| Reply::error(500, "busy").header("retry-after", "0"));
    sandbox.run(["ask", &id, "How?", "--max-calls", "2"]).expect_code(3);
    assert!(server.requests().len() <= made + 2, "the second attempt is the last");
}

#[test]
fn a_found_limit_tightens_the_users_and_does_not_raise_it() {
    let own = r#"{"debate": {"budget": {"maxCalls": 20}}}"#;
    for (found, holds) in [(500, 20), (9, 9)] {
        let configured = config(&["architect", "kiss"], &json!({"budget": {"maxCalls": found}}));
        let sandbox = Sandbox::new()
            .file("debate-config.json", configured.to_string())
            .file(".config/dialectic/config.json", own);
        let shown = sandbox.run(["config", "show", "--json"]).expect_code(0).json();
        assert_eq!(shown["debate"]["budget"]["maxCalls"], holds);
    }
}

#[test]
fn a_command_that_starts_debates_for_others_needs_a_limit_of_calls_where_a_program_is_called() {
    let sandbox = Sandbox::new().file(".config/dialectic/config.json", r#"{"provider": "claude", "model": "haiku"}"#);
    for command in ["serve", "mcp"] {
        let refused = sandbox.run([command]).expect_code(2);
        let said = format!(
            "{command} needs --max-calls: the configuration calls models through a command-line program, `claude`"
        );
        assert!(refused.stderr.contains(&said), "{refused}");
    }
    // Nobody speaks to it, so that it ends; dollars would say nothing of a subscription.
    sandbox.run(["mcp", "--max-calls", "40"]).expect_code(0);
}
