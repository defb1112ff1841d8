//! What can be started is bounded.

use serde_json::json;

use super::client::{Serving, held_by, journal, sandbox};
use crate::support::{Gate, MockServer, Purpose, Sandbox, config, short_reply};

/// Two agents whose models have a price.
fn priced(server: &MockServer) -> Sandbox {
    let mut config = config(&["architect", "kiss"], &json!({}));
    for model in ["model-architect", "model-kiss", "model-judge"] {
        config["prices"][model] = json!({"inputPerMTok": 1.0, "outputPerMTok": 1.0});
        config["models"][model] = json!({"maxOutput": 2000});
    }
    sandbox(server, &json!({})).config(&config)
}

#[test]
fn a_debate_costs_at_most_what_the_server_allows() {
    let server = MockServer::with(short_reply);
    let sandbox = priced(&server);
    let serving = Serving::start(&sandbox, &["--max-cost", "0.5"]);
    let id = serving.begin(&json!({"problem": "Design a queue"}));
    serving.wait_for(&id, "completed");
    let limit = |id: &str| sandbox.state(id)["settings"]["debate"]["budget"]["maxCostUsd"].clone();
    assert_eq!(limit(&id), json!(0.5), "who asks for no limit has the server's");
    let id = serving.begin(&json!({"problem": "Design a queue", "maxCost": 0.4}));
    serving.wait_for(&id, "completed");
    assert_eq!(limit(&id), json!(0.4));
    for body in [json!({"maxCost": 0.6}), json!({"debate": {"budget": {"maxCostUsd": 7}}})] {
        let mut body = body;
        body["problem"] = json!("Design a queue");
        let refused = serving.post("/debates", &body).expect(422).json();
        assert_eq!((&refused["type"], &refused["retryable"]), (&json!("cost_limit"), &json!(false)), "{refused:#}");
    }
    // Less than a round costs.
    let refused = serving.post("/debates", &json!({"problem": "x", "maxCost": 0.000_01})).expect(422).json();
    assert_eq!(refused["type"], "cost_limit", "{refused:#}");
    // A debate of the command line without a limit is not carried on from here.
    let unlimited = sandbox.run(["debate", "Design a queue", "--quiet"]).expect_code(0);
    drop(unlimited);
    let newest = serving.get("/debates?limit=1")["debates"][0]["id"].as_str().unwrap().to_owned();
    let fork = serving.post(&format!("/debates/{newest}/fork"), &json!({"at": "1.refinement"})).expect(201).json();
    let fork = fork["id"].as_str().unwrap().to_owned();
    serving.wait_for(&fork, "completed");
    assert_eq!(limit(&fork), json!(0.5), "a branch has the server's limit");
}

#[test]
fn a_debate_without_a_limit_is_not_carried_on_where_there_is_one() {
    let server = MockServer::with(|request| short_reply(request).after(std::time::Duration::from_millis(300)));
    let sandbox = priced(&server);
    let running = sandbox.spawn(["debate", "Design a queue", "--quiet"]);
    server.wait_for_requests(3);
    running.signal(nix::sys::signal::Signal::SIGINT);
    running.wait().expect_code(130);
    let id = sandbox.only_debate();
    let serving = Serving::start(&sandbox, &["--max-cost", "0.5"]);
    let refused = serving.post(&format!("/debates/{id}/resume"), &json!({})).expect(422).json();
    assert_eq!(refused["type"], "cost_limit", "{refused:#}");
    drop(serving);
    let serving = Serving::start(&sandbox, &[]);
    serving.post(&format!("/debates/{id}/resume"), &json!({})).expect(202);
    serving.wait_for(&id, "completed");
}

#[test]
fn what_a_day_may_cost_is_counted_from_the_records_over_restarts() {
    // Each answer costs a tenth of a dollar or so.
    let server = MockServer::with(|request| short_reply(request).usage(20_000, 0, 1_000));
    let sandbox = priced(&server);
    let options = ["--max-cost", "1", "--max-cost-per-day", "1.5"];
    let serving = Serving::start(&sandbox, &options);
    let left = |serving: &Serving| serving.get("/setup")["leftToday"].as_f64().unwrap();
    assert!((left(&serving) - 1.5).abs() < 1e-9);
    let id = serving.begin(&json!({"problem": "Design a queue"}));
    serving.wait_for(&id, "completed");
    let spent: f64 = journal(&sandbox, &id).iter().filter_map(|event| event["call"]["costUsd"].as_f64()).sum();
    assert!(spent > 0.05, "{spent}");
    assert!((left(&serving) - (1.5 - spent)).abs() < 1e-6, "{} of 1.5 - {spent}", left(&serving));
    serving.kill();
    let serving = Serving::start(&sandbox, &options);
    assert!((left(&serving) - (1.5 - spent)).abs() < 1e-6, "a restart forgets nothing");
    let tight = Serving::start(&sandbox, &["--max-cost", "1", "--max-cost-per-day", "0.05"]);
    assert!(left(&tight).abs() < 1e-9);
    let refused = tight.post("/debates", &json!({"problem": "Design a queue"})).expect(422).json();
    assert_eq!(refused["type"], "cost_limit", "{refused:#}");
    // What costs nothing may be started.
    let id = tight.begin(&json!({"problem": "Design a queue", "offline": true}));
    tight.wait_for(&id, "completed");
}

#[test]
fn what_runs_is_counted_with_all_that_it_may_cost() {
    let gate = Gate::shut();
    let held = gate.clone();
    let server = MockServer::with(move |request| held_by(short_reply(request), &held));
    let sandbox = priced(&server);
    let serving = Serving::start(&sandbox, &["--max-cost", "1", "--max-cost-per-day", "1.5"]);
    let id = serving.begin(&json!({"problem": "Design a queue"}));
    let left = serving.get("/setup")["leftToday"].as_f64().unwrap();
    assert!((left - 0.5).abs() < 1e-9, "{left}");
    let refused = serving.post("/debates", &json!({"problem": "Design a queue", "maxCost": 0.9})).expect(422).json();
    assert_eq!(refused["type"], "cost_limit");
    gate.open();
    serving.wait_for(&id, "completed");
    let left = serving.get("/setup")["leftToday"].as_f64().unwrap();
    assert!(left > 1.4, "{left}");
}

/// Waits until the journal has such an event, and returns it.
fn wait_for_event(sandbox: &Sandbox, id: &str, kind: &str) -> serde_json::Value {
    let until = std::time::Instant::now() + std::time::Duration::from_mins(1);
    loop {
        if let Some(event) = journal(sandbox, id).into_iter().find(|event| event["type"] == kind) {
            return event;
        }
        assert!(std::time::Instant::now() < until, "there is no event {kind}");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}

#[test]
fn a_warning_of_the_cost_is_acknowledged_on_record() {
    let gate = Gate::shut();
    let held = gate.clone();
    let server = MockServer::with(move |request| {
        let reply = short_reply(request).usage(20_000, 0, 1_000);
        if request.purpose == Purpose::Critique { held_by(reply, &held) } else { reply }
    });
    let sandbox = priced(&server);
    let serving = Serving::start(&sandbox, &[]);
    let warned = json!({"problem": "Design a queue", "debate": {"budget": {"warnCostUsd": 0.03}}});
    let id = serving.begin(&warned);
    let event = wait_for_event(&sandbox, &id, "cost-warned");
    assert_eq!((&event["usd"], &event["limit"]), (&json!(0.042), &json!(0.03)));
    let acknowledge = |id: &str| serving.post(&format!("/debates/{id}/acknowledge"), &json!({}));
    acknowledge(&id).expect(202);
    wait_for_event(&sandbox, &id, "cost-acknowledged");
    // Whoever says it again changes nothing.
    acknowledge(&id).expect(202);
    // In another debate while it is paused.
    let paused = serving.begin(&warned);
    wait_for_event(&sandbox, &paused, "cost-warned");
    serving.post(&format!("/debates/{paused}/pause"), &json!({})).expect(202);
    gate.open();
    serving.wait_for(&paused, "paused");
    acknowledge(&paused).expect(202);
    acknowledge(&paused).expect(409);
    let warning = serving.get(&format!("/debates/{paused}"))["state"]["costWarning"].clone();
    assert_eq!(warning, json!({"usd": 0.042, "limit": 0.03, "acknowledged": true}));
    serving.wait_for(&id, "completed");
    acknowledge(&id).expect(409);
    let count = |kind: &str| journal(&sandbox, &id).iter().filter(|event| event["type"] == kind).count();
    assert_eq!((count("cost-warned"), count("cost-acknowledged")), (1, 1));
    sandbox.assert_state_is_the_fold(&id);
    sandbox.run(["verify", &paused]).expect_code(0);
    let resumed = serving.post(&format!("/debates/{paused}/resume"), &json!({}));
    resumed.expect(202);
    serving.wait_for(&paused, "completed");
    let again = journal(&sandbox, &paused).iter().filter(|event| event["type"] == "cost-warned").count();
    assert_eq!(again, 1, "it is warned of once, over a pause too");
    let without = serving.begin(&json!({"problem": "Design a queue"}));
    serving.wait_for(&without, "completed");
    acknowledge(&without).expect(409);
}

#[test]
fn a_debate_of_another_program_counts_with_all_that_it_may_cost() {
    let gate = Gate::shut();
    let held = gate.clone();
    let server = MockServer::with(move |request| held_by(short_reply(request), &held));
    let sandbox = priced(&server);
    let running = sandbox.spawn(["debate", "Design a queue", "--quiet", "--max-cost", "1"]);
    server.wait_for_requests(2);
    let serving = Serving::start(&sandbox, &["--max-cost", "1", "--max-cost-per-day", "1.5"]);
    let left = || serving.get("/setup")["leftToday"].as_f64().unwrap();
    assert!((left() - 0.5).abs() < 1e-9, "{}", left());
    gate.open();
    running.wait().expect_code(0);
    assert!(left() > 1.4, "{}", left());
}
