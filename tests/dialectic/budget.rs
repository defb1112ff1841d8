//! Cost limits from outside: what is asked, what is said, what it costs.

use std::collections::BTreeMap;

use nix::sys::signal::Signal;
use serde_json::{Value, json};

use crate::support::{MockServer, Purpose, Reply, Sandbox, config, default_reply};

/// A configuration whose models all cost one dollar for a million input tokens and ten for a million output tokens.
pub(crate) fn priced(roles: &[&str], debate: &Value) -> Value {
    let mut config = config(roles, debate);
    let price = json!({"inputPerMTok": 1.0, "outputPerMTok": 10.0});
    let models = roles.iter().map(|role| format!("model-{role}")).chain(["model-judge".to_owned()]);
    config["prices"] = models.map(|model| (model, price.clone())).collect();
    config
}

fn cost(state: &Value) -> f64 {
    let usage = state["usage"].as_object().expect("the state has its usage");
    usage.values().map(|model| model["costUsd"].as_f64().expect("every cost is known")).sum()
}

#[test]
fn a_debate_closes_before_it_costs_more_than_its_limit() {
    let server = MockServer::with(|request| match request.purpose {
        Purpose::Synthesize => default_reply(request).usage(900, 0, 500),
        _ => default_reply(request).usage(900, 0, 900),
    });
    let sandbox = Sandbox::new().model_server(&server).config(&priced(&["architect", "kiss"], &json!({"rounds": 9})));
    let finished = sandbox.run(["debate", "--max-cost", "0.25", "Design a queue"]).expect_code(0);
    assert!(finished.stderr.contains("the cost limit of $0.2500 has no room for more"), "{finished}");
    assert!(finished.stderr.contains("this debate ended stopped"), "{finished}");
    let state = sandbox.state(&sandbox.only_debate());
    assert_eq!(state["outcome"]["kind"], "stopped");
    let rounds = state["rounds"].as_array().unwrap().len();
    assert!((1..9).contains(&rounds), "{rounds} rounds");
    assert!(cost(&state) <= 0.25, "{}", cost(&state));
    assert!(state["finalSolution"]["description"].as_str().is_some_and(|text| !text.is_empty()));
    assert!(server.requests().iter().all(|request| request.max_tokens() == Some(4096)));
    sandbox.assert_state_is_the_fold(&sandbox.only_debate());
    server.assert_clean();

    sandbox.run(["debate", "--max-cost", "0.25", "--strict", "Design a queue"]).expect_code(5);
}

#[test]
fn a_limit_that_buys_the_judge_alone_buys_an_answer() {
    let server = MockServer::start();
    let sandbox = Sandbox::new().model_server(&server).config(&priced(&["architect", "kiss"], &json!({})));
    let finished = sandbox.run(["debate", "--max-cost", "0.02", "Design a queue"]).expect_code(0);
    assert!(!finished.stdout.is_empty());
    let asked: Vec<_> = server.requests().iter().map(|request| request.purpose).collect();
    assert_eq!(asked, [Purpose::Synthesize]);
    let state = sandbox.state(&sandbox.only_debate());
    assert_eq!((&state["rounds"], &state["stopReason"]), (&json!([]), &json!("budget")));
}

#[test]
fn a_limit_that_cannot_be_kept_is_refused_before_anything_is_paid() {
    let server = MockServer::start();
    let sandbox = Sandbox::new().model_server(&server).config(&priced(&["architect", "kiss"], &json!({})));
    let too_low = sandbox.run(["debate", "--max-cost", "0.0001", "Design a queue"]).expect_code(2);
    assert!(too_low.stderr.contains("buys no answer: the judge's call alone can cost $0.0"), "{too_low}");
    let dry = sandbox.run(["debate", "--dry-run", "--max-cost", "0.0001", "Design a queue"]).expect_code(2);
    assert!(dry.stdout.contains("synthesis") && dry.stderr.contains("buys no answer"), "{dry}");
    for wrong in ["0", "-1", "nan", "inf", "much"] {
        let refused = sandbox.run(["debate", "--max-cost", wrong, "Design a queue"]).expect_code(2);
        assert!(refused.stderr.contains("expected an amount of dollars above 0"), "{refused}");
    }
    let unpriced = sandbox.config(&config(&["architect", "kiss"], &json!({})));
    let refused = unpriced.run(["debate", "--max-cost", "5", "Design a queue"]).expect_code(4);
    assert!(refused.stderr.contains("no price is known of model-architect, model-judge, model-kiss"), "{refused}");
    assert!(refused.stderr.contains("hint: give each model a price under `prices`"), "{refused}");
    let dry = unpriced.run(["debate", "--dry-run", "--max-cost", "5", "Design a queue"]).expect_code(4);
    assert!(dry.stderr.contains("no price is known of model-architect"), "{dry}");
    assert!(unpriced.debates().is_empty());
    assert!(server.requests().is_empty());
}

#[test]
fn a_limit_holds_across_runs_where_nobody_says_what_calls_cost() {
    let server = MockServer::with(|request| match request.index {
        0 => default_reply(request).without_usage(),
        _ => Reply::hang(),
    });
    let sandbox = Sandbox::new().model_server(&server).config(&priced(&["architect", "kiss"], &json!({})));
    let running = sandbox.spawn(["debate", "--max-cost", "0.25", "Design a queue"]);
    server.wait_for_requests(3);
    running.signal(Signal::SIGINT);
    running.wait().expect_code(130);
    server.set_script(|request| default_reply(request).without_usage());
    sandbox.run(["resume", "latest"]).expect_code(0);
    let id = sandbox.only_debate();
    // Each call counts as 4096 tokens of output, as that is its limit: 0.041 dollars, and its prompt.
    assert!(server.requests().len() <= 6, "{} requests", server.requests().len());
    assert_eq!(sandbox.state(&id)["outcome"]["kind"], "stopped");
    sandbox.assert_state_is_the_fold(&id);
    sandbox.run(["verify", &id]).expect_code(0);
}

#[test]
fn a_limit_that_an_interrupt_used_up_says_how_to_go_on() {
    let server = MockServer::with(|_| Reply::hang());
    let sandbox = Sandbox::new().model_server(&server).config(&priced(&["architect", "kiss"], &json!({})));
    // Enough for the judge alone, whose answer may be on the bill when it is interrupted.
    let running = sandbox.spawn(["debate", "--max-cost", "0.02", "Design a queue"]);
    server.wait_for_requests(1);
    running.signal(Signal::SIGINT);
    running.wait().expect_code(130);
    server.set_script(default_reply);
    let finished = sandbox.run(["resume", "latest"]).expect_code(3);
    assert_eq!(server.requests().len(), 1);
    let id = sandbox.only_debate();
    let hint =
        format!("hint: with a higher limit: dialectic fork {id} --at start --set debate.budget.maxCostUsd=<dollars>\n");
    assert!(finished.stderr.ends_with(&hint), "{finished}");
    sandbox.run(["fork", &id, "--at", "start", "--set", "debate.budget.maxCostUsd=0.02"]).expect_code(0);
}

#[test]
fn a_fork_counts_what_is_new_and_is_held_to_its_own_limit() {
    let server = MockServer::with(|request| default_reply(request).usage(900, 0, 900));
    let sandbox = Sandbox::new().model_server(&server).config(&priced(&["architect", "kiss"], &json!({"rounds": 1})));
    sandbox.run(["debate", "Design a queue"]).expect_code(0);
    let parent = sandbox.only_debate();
    let before = server.requests().len();
    let set = |limit| format!("debate.budget.maxCostUsd={limit}");
    let too_low = sandbox.run(["fork", &parent, "--at", "1.synthesis", "--set", &set("0.0001")]).expect_code(2);
    assert!(too_low.stderr.contains("buys no answer: the judge's call alone can cost $0.0"), "{too_low}");
    assert_eq!((sandbox.only_debate(), server.requests().len()), (parent.clone(), before));

    // What the parent paid is more than this.
    assert!(cost(&sandbox.state(&parent)) > 0.06);
    sandbox.run(["fork", &parent, "--at", "1.synthesis", "--set", &set("0.06"), "--strict"]).expect_code(0);
    assert_eq!(server.requests().len(), before + 1);
}

#[test]
fn a_score_that_nobody_was_asked_for_is_not_called_unreadable() {
    // The critiques are dear, so that the room is gone when the judge would score.
    let server = MockServer::with(|request| match request.purpose {
        Purpose::Confidence => Reply::json(json!({"confidence": 10})),
        Purpose::Refine => default_reply(request).usage(900, 0, 4096),
        _ => default_reply(request),
    });
    let debate = json!({
        "terminationCondition": {"type": "quality", "threshold": 90}, "summarization": {"enabled": false},
    });
    let mut config = priced(&["architect", "kiss"], &debate);
    // Its answers may be long: no room for two of them.
    config["judge"]["maxTokens"] = json!(20_000);
    let sandbox = Sandbox::new().model_server(&server).config(&config);
    sandbox.run(["debate", "--max-cost", "0.37", "Design a queue"]).expect_code(0);
    assert!(server.requests().iter().all(|request| request.purpose != Purpose::Confidence));
    let state = sandbox.state(&sandbox.only_debate());
    assert_eq!(state["rounds"][0]["contributions"].as_array().unwrap().len(), 6);
    assert_eq!(state["outcome"]["reasons"], json!(["stopped: the cost limit left no room for more"]));
    assert_eq!(state["rounds"][0]["evaluation"], Value::Null);
}

#[test]
fn the_warning_comes_once() {
    let server = MockServer::with(|request| default_reply(request).usage(1000, 0, 1000));
    let sandbox = Sandbox::new().model_server(&server).config(&priced(&["architect", "kiss"], &json!({"rounds": 2})));
    let finished = sandbox.run(["debate", "--warn-cost", "0.03", "Design a queue"]).expect_code(0);
    let warnings = finished.stderr.matches("which reaches the warning limit of $0.0300").count();
    assert_eq!(warnings, 1, "{finished}");
    assert!(finished.stderr.contains("this debate has cost $0.0330"), "{finished}");
    assert!(server.requests().iter().all(|request| request.max_tokens().is_none()), "nobody asked for a limit");

    let unpriced = sandbox.config(&config(&["kiss"], &json!({})));
    let finished = unpriced.run(["debate", "--warn-cost", "0.03", "Design a queue"]).expect_code(0);
    assert!(finished.stderr.contains("do not count towards `warnCostUsd`"), "{finished}");
}

#[test]
fn an_answer_without_json_stays_the_solution_when_nothing_is_left_to_ask_again() {
    let server = MockServer::with(|request| match request.purpose {
        Purpose::Synthesize => Reply::text("Use a ring buffer.").usage(2000, 0, 1200),
        _ => default_reply(request),
    });
    let sandbox = Sandbox::new().model_server(&server).config(&priced(&["architect", "kiss"], &json!({})));
    let finished = sandbox.run(["debate", "--max-cost", "0.015", "Design a queue"]).expect_code(0);
    assert_eq!(finished.stdout.trim(), "Use a ring buffer.");
    let state = sandbox.state(&sandbox.only_debate());
    assert_eq!(state["usage"]["model-judge"]["requests"], 1);
    assert_eq!(state["outcome"]["kind"], "stopped");
    let reasons = state["outcome"]["reasons"].to_string();
    assert!(reasons.contains("the judge's assessment is missing"), "{reasons}");
}

#[test]
fn a_dry_run_prints_the_calls_that_the_debate_then_makes() {
    let server = MockServer::start();
    let debate = json!({
        "rounds": 3, "synthesisMethod": "voting", "interactiveClarifications": true,
        "terminationCondition": {"type": "quality", "threshold": 100},
        "summarization": {"threshold": 1000, "maxLength": 500},
    });
    let sandbox = Sandbox::new()
        .model_server(&server)
        .config(&priced(&["architect", "kiss", "testing"], &debate))
        .env("OPENAI_API_KEY", "");
    let dry = sandbox.run(["debate", "--dry-run", "Design a queue"]).expect_code(0);
    assert!(server.requests().is_empty() && sandbox.debates().is_empty());
    let mut planned: BTreeMap<String, usize> = BTreeMap::new();
    for line in dry.stdout.lines().filter(|line| line.contains(" in  ") && line.contains("model-")) {
        let phase = line.split_whitespace().next().unwrap_or_default();
        if !phase.starts_with("model-") {
            *planned.entry(phase.to_owned()).or_default() += 1;
        }
    }

    let sandbox = sandbox.env("OPENAI_API_KEY", "test-key");
    let real = sandbox.run(["debate", "Design a queue"]).expect_code(0);
    let mut made: BTreeMap<String, usize> = BTreeMap::new();
    for request in server.requests() {
        let phase = match request.purpose {
            Purpose::Clarify => "clarification",
            Purpose::Summarize => "summarization",
            Purpose::Propose => "proposal",
            Purpose::Critique => "critique",
            Purpose::Refine => "refinement",
            Purpose::Confidence => "evaluation",
            Purpose::Vote if request.model() == "model-judge" => continue,
            Purpose::Vote => "vote",
            Purpose::Synthesize => "synthesis",
            _ => "unexpected",
        };
        *made.entry(phase.to_owned()).or_default() += 1;
    }
    assert_eq!(planned, made, "{dry}\n{real}");
}

#[test]
fn a_dry_run_says_what_it_cannot_know() {
    let sandbox = Sandbox::new().config(&config(&["architect", "kiss"], &json!({"rounds": 2})));
    let dry = sandbox.run(["debate", "--dry-run", "Design a queue"]).expect_code(0);
    assert!(dry.stdout.contains("cost unknown"), "{dry}");
    assert!(!dry.stdout.contains("$0.0000"), "{dry}");
    let total = dry.stdout.lines().find(|line| line.trim_start().starts_with("together")).expect("a sum");
    assert!(total.ends_with("cost unknown"), "{total}");
    assert!(sandbox.files().iter().all(|(path, _)| !path.starts_with("debates")), "something was written");
}
