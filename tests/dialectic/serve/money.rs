//! What can be started is bounded.

use std::io::{Read as _, Write as _};

use serde_json::{Value, json};

use super::client::{Serving, TOKEN, config, journal, sandbox, serving};
use crate::support::{Incoming, MockServer, Purpose, Reply, Sandbox, short_reply, wait_until};

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
    let serving = Serving::start(&sandbox, &["--max-cost", "0.5", "--max-calls", "9"]);
    let id = serving.complete(&json!({"problem": "Design a queue"}));
    assert_eq!(sandbox.state(&id)["settings"]["debate"]["budget"]["maxCalls"], 9);
    assert!((1..=9).contains(&server.requests().len()), "{}", server.requests().len());
    let limit = |id: &str| sandbox.state(id)["settings"]["debate"]["budget"]["maxCostUsd"].clone();
    assert_eq!(limit(&id), json!(0.5), "who asks for no limit has the server's");
    let id = serving.complete(&json!({"problem": "Design a queue", "maxCost": 0.4}));
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
    sandbox.run(["debate", "Design a queue", "--quiet"]).expect_code(0);
    let newest = serving.get("/debates?limit=1")["debates"][0]["id"].as_str().unwrap().to_owned();
    let fork = serving.fork(&newest, &json!({"at": "1.refinement"}));
    assert_eq!(limit(&fork), json!(0.5), "a branch has the server's limit");
}

#[test]
fn who_asks_for_no_limit_has_what_is_left_of_the_day() {
    let server = MockServer::with(short_reply);
    let sandbox = priced(&server);
    let serving = Serving::start(&sandbox, &["--max-cost", "1", "--max-cost-per-day", "0.5"]);
    let refused = serving.post("/debates", &json!({"problem": "Design a queue", "maxCost": 0.6})).expect(422).json();
    assert_eq!(refused["type"], "cost_limit", "{refused:#}");
    let id = serving.complete(&json!({"problem": "Design a queue"}));
    assert_eq!(sandbox.state(&id)["settings"]["debate"]["budget"]["maxCostUsd"], 0.5);
    wait_until("what is not spent is free again", || left_today(&serving) > 0.0);
    let day = format!("{:.5}", 0.5 - left_today(&serving) + 0.0001);
    let poor = Serving::start(&sandbox, &["--max-cost", "1", "--max-cost-per-day", &day]);
    let refused = poor.post("/debates", &json!({"problem": "Design a queue"})).expect(422).json();
    assert!(refused["hint"].as_str().unwrap().contains("rest of today's limit"), "{refused:#}");
}

/// A request is no word of the user's who set a standing limit.
#[test]
fn a_request_does_not_raise_the_users_standing_limit() {
    let server = MockServer::with(short_reply);
    let sandbox = priced(&server);
    let mut found: Value = serde_json::from_str(&sandbox.read("debate-config.json")).unwrap();
    let own = json!({"prices": found["prices"].take(), "debate": {"budget": {"maxCostUsd": 0.5}}});
    sandbox.write(".config/dialectic/config.json", own.to_string());
    found["models"].take();
    found["debate"]["budget"] = json!({"maxCostUsd": 500});
    sandbox.write("debate-config.json", found.to_string());
    let serving = Serving::start(&sandbox, &[]);
    assert_eq!(serving.get("/setup")["maxCost"], 0.5);
    let refused = serving.post("/debates", &json!({"problem": "x", "maxCost": 7})).expect(422).json();
    assert_eq!(refused["type"], "cost_limit", "{refused:#}");
    let id = serving.complete(&json!({"problem": "Design a queue"}));
    assert_eq!(sandbox.state(&id)["settings"]["debate"]["budget"]["maxCostUsd"], 0.5);
    assert!(spent(&sandbox, &id) > 0.0, "the user's prices count");
    let branch = serving.fork(&id, &json!({"at": "1.refinement"}));
    assert_eq!(sandbox.state(&branch)["settings"]["debate"]["budget"]["maxCostUsd"], 0.5);
    let refused = serving.post(&format!("/debates/{id}/fork"), &json!({"at": "1.refinement", "maxCost": 7}));
    assert_eq!(refused.expect(422).json()["type"], "cost_limit");
}

#[test]
fn a_debate_without_a_limit_is_carried_on_within_those_of_the_server() {
    let (server, gate) = MockServer::held(short_reply, |request| request.purpose == Purpose::Critique);
    let sandbox = priced(&server);
    let running = sandbox.spawn(["debate", "Design a queue", "--quiet"]);
    server.wait_for_requests(4);
    running.signal(nix::sys::signal::Signal::SIGINT);
    running.wait().expect_code(130);
    let id = sandbox.only_debate();
    let before = spent(&sandbox, &id);
    let options = ["--max-cost", "0.5", "--max-cost-per-day", "0.7"];
    let serving = Serving::start(&sandbox, &options);
    serving.order(&id, "resume");
    server.wait_for_requests(6);
    let kinds = |id: &str| journal(&sandbox, id).iter().filter(|event| event["type"] == "cost-reserved").count();
    assert!(kinds(&id) > 0, "the limit holds for each attempt");
    // Its record has no limit; what the server allows it counts all the same, also for another server.
    let other = Serving::start(&sandbox, &options);
    for left in [left_today(&serving), left_today(&other)] {
        assert!((left - 0.2).abs() < 1e-9, "{left}, and {before} was spent");
    }
    other.post(&format!("/debates/{id}/resume"), &json!({})).expect(409);
    other.post(&format!("/debates/{id}/stop"), &json!({})).expect(409);
    gate.open();
    serving.wait_for(&id, "completed");
    assert!(spent(&sandbox, &id) < 0.5);
    wait_until("what is not spent is free again", || left_today(&other) > 0.6);
}

fn left_today(serving: &Serving) -> f64 {
    serving.get("/setup")["leftToday"].as_f64().unwrap()
}

/// What the answers of a debate have cost.
fn spent(sandbox: &Sandbox, id: &str) -> f64 {
    journal(sandbox, id).iter().filter_map(|event| event["call"]["costUsd"].as_f64()).sum()
}

/// An answer that costs two cents or so.
fn dear(request: &Incoming) -> Reply {
    short_reply(request).usage(20_000, 0, 1_000)
}

/// A debate within a dollar that has cost something and is paused, with the servers of models and of debates.
fn paused(options: &[&str]) -> (MockServer, Sandbox, Serving, String) {
    let (server, gate) = MockServer::held(dear, |request| request.purpose == Purpose::Critique);
    let sandbox = priced(&server);
    let serving = Serving::start(&sandbox, options);
    let id = serving.begin(&json!({"problem": "Design a queue", "maxCost": 1.0}));
    wait_until("there are proposals", || spent(&sandbox, &id) > 0.04);
    serving.order(&id, "pause");
    gate.open();
    serving.wait_for(&id, "paused");
    (server, sandbox, serving, id)
}

#[test]
fn a_paused_debate_goes_on_within_what_is_left_of_its_limit() {
    // What it may cost in all is more than is left of the day: what it has cost is a part of both.
    let (_server, sandbox, serving, id) = paused(&["--max-cost", "1", "--max-cost-per-day", "1"]);
    let before = spent(&sandbox, &id);
    assert!((left_today(&serving) - (1.0 - before)).abs() < 1e-6, "{}", left_today(&serving));
    drop(serving);
    // Where the server or the day allows no more than was spent, it does not go on.
    for options in
        [["--max-cost", "1", "--max-cost-per-day", "0.04"], ["--max-cost", "0.04", "--max-cost-per-day", "1"]]
    {
        let tight = Serving::start(&sandbox, &options);
        for action in ["resume", "stop"] {
            let refused = tight.post(&format!("/debates/{id}/{action}"), &json!({})).expect(422).json();
            assert_eq!(refused["type"], "cost_limit", "{refused:#}");
        }
    }
    let serving = Serving::start(&sandbox, &["--max-cost", "1", "--max-cost-per-day", "1"]);
    serving.order(&id, "resume");
    serving.wait_for(&id, "completed");
    assert!(before < spent(&sandbox, &id) && spent(&sandbox, &id) <= 1.0);

    // Closing one is subject to the same limit.
    let (_server, sandbox, serving, id) = paused(&["--max-cost", "1", "--max-cost-per-day", "1"]);
    let before = spent(&sandbox, &id);
    serving.order(&id, "stop");
    serving.wait_for(&id, "completed");
    assert!(before < spent(&sandbox, &id) && spent(&sandbox, &id) <= 1.0);
    assert_eq!(sandbox.state(&id)["stopReason"], "user");
}

/// Its own limit holds where the server and the day allow more, and what it had cost before is a part of it.
#[test]
fn a_paused_debate_costs_in_all_no_more_than_its_own_limit() {
    let (server, gate) = MockServer::held(dear, |request| request.index >= 18);
    let sandbox = priced(&server);
    let serving = Serving::start(&sandbox, &["--max-cost", "2", "--max-cost-per-day", "4"]);
    let id = serving.begin(&json!({"problem": "Design a queue", "rounds": 12, "maxCost": 0.8}));
    wait_until("it costs enough", || spent(&sandbox, &id) > 0.37);
    serving.order(&id, "pause");
    gate.open();
    serving.wait_for(&id, "paused");
    let before = spent(&sandbox, &id);
    serving.order(&id, "resume");
    serving.wait_for(&id, "completed");
    let after = spent(&sandbox, &id);
    assert!(before < after && after <= 0.8, "{after} after {before}");
    assert_eq!(sandbox.state(&id)["stopReason"], "budget");
}

#[test]
fn a_debate_that_goes_on_spends_no_more_than_is_left_of_the_day() {
    for action in ["resume", "stop"] {
        let (_server, sandbox, serving, id) = paused(&["--max-cost", "1", "--max-cost-per-day", "1"]);
        let before = spent(&sandbox, &id);
        drop(serving);
        // Enough for a call or two.
        let day = format!("{:.3}", before + 0.05);
        let serving = Serving::start(&sandbox, &["--max-cost", "1", "--max-cost-per-day", &day]);
        serving.order(&id, action);
        wait_until("the run ends", || serving.get(&format!("/debates/{id}"))["summary"]["here"] == false);
        let after = spent(&sandbox, &id);
        assert!(after <= before + 0.051, "{after} after {before}, of {day}");
        assert!(action == "resume" || after > before, "the closing call was made");
    }
}

/// What a server noted for a run of its own says nothing of a run that the user begins after it.
#[test]
fn a_run_of_the_command_line_counts_with_its_own_limit() {
    let (server, sandbox, serving, id) = paused(&["--max-cost", "1", "--max-cost-per-day", "2"]);
    serving.kill();
    server.set_script(|_| Reply::hang());
    let made = server.requests().len();
    let tight = Serving::start(&sandbox, &["--max-cost", "0.7", "--max-cost-per-day", "2"]);
    tight.order(&id, "resume");
    server.wait_for_requests(made + 1);
    wait_until("the run's limit counts", || (left_today(&tight) - 1.3).abs() < 1e-6);
    tight.kill();
    for (options, limit) in [(&[][..], 1.0), (&["--max-cost", "0.8"], 0.8)] {
        server.settle();
        let made = server.requests().len();
        let running = sandbox.spawn([&["resume", &id, "--quiet"], options].concat());
        server.wait_for_requests(made + 1);
        let serving = Serving::start(&sandbox, &["--max-cost", "1", "--max-cost-per-day", "2"]);
        let left = left_today(&serving);
        assert!((left - (2.0 - limit)).abs() < 1e-6, "{left} with a limit of {limit}");
        running.kill();
    }
    // Once a run has ended, its cost counts and not its limit; the lowest limit, 0.7, would leave 1.3.
    server.set_script(short_reply);
    sandbox.run(["resume", &id, "--quiet"]).expect_code(0);
    let left = left_today(&Serving::start(&sandbox, &["--max-cost-per-day", "2"]));
    assert!(left > 1.3, "{left}");
}

/// A question's limit includes what the debate has already cost.
#[test]
fn a_question_costs_no_more_than_is_left_of_the_servers_limit_and_is_noted_for_other_servers() {
    let server = MockServer::with(dear);
    let sandbox = priced(&server);
    let serving = Serving::start(&sandbox, &["--max-cost", "1"]);
    let id = serving.complete(&json!({"problem": "Design a queue", "rounds": 1}));
    drop(serving);
    let made = server.requests().len();
    let ask = |limit: f64, status: u16| {
        let serving = Serving::start(&sandbox, &["--max-cost", &limit.to_string()]);
        let answer = serving.post(&format!("/debates/{id}/follow-ups"), &json!({"question": "Why?"}));
        answer.expect(status).json()
    };
    let refused = ask(spent(&sandbox, &id) + 0.000_1, 422);
    assert_eq!((&refused["type"], server.requests().len()), (&json!("cost_limit"), made), "{refused:#}");
    ask(0.9, 200);
    let ledger: Value = serde_json::from_str(&sandbox.read("debates/spending.ledger")).unwrap();
    assert_eq!(ledger["limits"], json!({ id.as_str(): 0.9 }));
}

#[test]
fn what_a_day_may_cost_is_counted_over_restarts_and_removed_debates() {
    let server = MockServer::with(dear);
    let sandbox = priced(&server);
    let options = ["--max-cost", "1", "--max-cost-per-day", "2"];
    let serving = Serving::start(&sandbox, &options);
    assert!((left_today(&serving) - 2.0).abs() < 1e-9);
    let ids = [0, 1].map(|_| serving.complete(&json!({"problem": "Design a queue"})));
    let spent = ids.each_ref().map(|id| spent(&sandbox, id));
    assert!(spent[0] > 0.05, "{spent:?}");
    let left = 2.0 - spent[0] - spent[1];
    wait_until("what is not spent is free again", || (left_today(&serving) - left).abs() < 1e-6);
    sandbox.run(["rm", "--yes", &ids[0]]).expect_code(0);
    assert_eq!(sandbox.debates(), [ids[1].clone()]);
    assert!((left_today(&serving) - left).abs() < 1e-6, "{} of {left}", left_today(&serving));
    serving.kill();
    let serving = Serving::start(&sandbox, &options);
    assert!((left_today(&serving) - left).abs() < 1e-6, "a restart forgets nothing");
    // Where the day is over, what costs nothing may be started.
    let tight = Serving::start(&sandbox, &["--max-cost", "1", "--max-cost-per-day", "0.05"]);
    assert!(left_today(&tight).abs() < 1e-9);
    let refused = tight.post("/debates", &json!({"problem": "Design a queue"})).expect(422).json();
    assert_eq!(refused["type"], "cost_limit", "{refused:#}");
    tight.complete(&json!({"problem": "Design a queue", "offline": true}));
    drop(tight);
    // A ledger that is damaged is no day on which nothing was spent.
    let ledger = sandbox.read("debates/spending.ledger");
    assert!(ledger.contains(&ids[0]), "{ledger}");
    sandbox.write("debates/spending.ledger", &ledger[..ledger.len() / 2]);
    let refused = serving.post("/debates", &json!({"problem": "Design a queue"})).expect(500).json();
    assert!(refused["detail"].as_str().unwrap().contains("spending.ledger"), "{refused:#}");
    let kept = sandbox.run(["rm", "--yes", &ids[1]]).expect_code(1);
    assert!(kept.stderr.contains("spending.ledger"), "{kept}");
    assert!(sandbox.debates().contains(&ids[1]), "what cannot be entered is not removed");
    sandbox.write("debates/spending.ledger", &ledger);
    sandbox.run(["rm", "--yes", &ids[1]]).expect_code(0);
    assert!((left_today(&serving) - left).abs() < 1e-6, "{} of {left}", left_today(&serving));
}

/// The status of the answer to a request for a debate, for threads that do not share the server.
fn post_to(authority: &str, body: &str) -> u16 {
    let mut stream = std::net::TcpStream::connect(authority).unwrap();
    let length = body.len();
    let request = format!(
        "POST /api/v1/debates HTTP/1.0\r\nHost: {authority}\r\nAuthorization: Bearer {TOKEN}\r\n\
         Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap()
}

#[test]
fn two_servers_of_a_directory_spend_one_day_together() {
    let (server, gate) = MockServer::held(short_reply, |_| true);
    let sandbox = priced(&server);
    let options = ["--max-cost", "1", "--max-cost-per-day", "1.5"];
    let servers = [0, 1].map(|_| Serving::start(&sandbox, &options));
    let body = json!({"problem": "Design a queue", "maxCost": 0.4});
    servers[0].post("/debates", &body).expect(201);
    wait_until("the first debate is saved", || sandbox.debates().len() == 1);
    // A server needs this lock to accept or refuse a debate.
    let lock = std::fs::File::open(sandbox.directory().join("debates/spending.lock")).unwrap();
    lock.lock().unwrap();
    let statuses: Vec<u16> = std::thread::scope(|scope| {
        let posts: Vec<_> = (0..12)
            .map(|number| {
                let authority = servers[number % 2].authority.clone();
                let body = body.to_string();
                scope.spawn(move || post_to(&authority, &body))
            })
            .collect();
        std::thread::sleep(std::time::Duration::from_millis(200));
        assert_eq!(sandbox.debates().len(), 1, "no debate is accepted while the lock is held");
        lock.unlock().unwrap();
        posts.into_iter().map(|post| post.join().unwrap()).collect()
    });
    assert_eq!(statuses.iter().filter(|status| **status == 201).count(), 2, "{statuses:?}");
    assert!(statuses.iter().all(|status| [201, 422].contains(status)), "{statuses:?}");
    for serving in &servers {
        assert!((left_today(serving) - 0.3).abs() < 1e-9, "{}", left_today(serving));
    }
    // What one that is killed had promised is free again, but for what is set aside for calls; so is the lock.
    let [first, second] = servers;
    first.kill();
    wait_until("the debates of a server that is gone do not count as running", || left_today(&second) > 0.4);
    gate.open();
    second.post("/debates", &json!({"problem": "Design a queue", "maxCost": 0.35})).expect(201);
}

#[test]
fn a_warning_of_the_cost_is_acknowledged_on_record() {
    let (server, gate) = MockServer::held(dear, |request| request.purpose == Purpose::Critique);
    let sandbox = priced(&server);
    let serving = Serving::start(&sandbox, &[]);
    let warned = json!({"problem": "Design a queue", "debate": {"budget": {"warnCostUsd": 0.03}}});
    let id = serving.begin(&warned);
    let of_kind = |id: &str, kind: &str| -> Vec<Value> {
        journal(&sandbox, id).into_iter().filter(|event| event["type"] == kind).collect()
    };
    let wait_for_event = |id: &str, kind: &str| wait_until(kind, || !of_kind(id, kind).is_empty());
    wait_for_event(&id, "cost-warned");
    let event = &of_kind(&id, "cost-warned")[0];
    assert_eq!((&event["usd"], &event["limit"]), (&json!(0.042), &json!(0.03)));
    let acknowledge = |id: &str| serving.post(&format!("/debates/{id}/acknowledge"), &json!({}));
    acknowledge(&id).expect(202);
    wait_for_event(&id, "cost-acknowledged");
    // Whoever says it again changes nothing.
    acknowledge(&id).expect(202);
    // In another debate while it is paused.
    let paused = serving.begin(&warned);
    wait_for_event(&paused, "cost-warned");
    serving.order(&paused, "pause");
    gate.open();
    serving.wait_for(&paused, "paused");
    acknowledge(&paused).expect(202);
    acknowledge(&paused).expect(409);
    let warning = serving.get(&format!("/debates/{paused}"))["state"]["costWarning"].clone();
    assert_eq!(warning, json!({"usd": 0.042, "limit": 0.03, "acknowledged": true}));
    serving.wait_for(&id, "completed");
    acknowledge(&id).expect(409);
    assert_eq!((of_kind(&id, "cost-warned").len(), of_kind(&id, "cost-acknowledged").len()), (1, 1));
    sandbox.assert_state_is_the_fold(&id);
    sandbox.run(["verify", &paused]).expect_code(0);
    serving.order(&paused, "resume");
    serving.wait_for(&paused, "completed");
    assert_eq!(of_kind(&paused, "cost-warned").len(), 1, "it is warned of once, over a pause too");
    acknowledge(&serving.complete(&json!({"problem": "Design a queue"}))).expect(409);
}

/// A configuration may change while the server runs.
#[test]
fn a_program_that_is_configured_later_is_not_called_without_limits_of_calls() {
    let server = MockServer::with(short_reply);
    let (sandbox, serving) = serving(&server);
    let mut configured: Value = serde_json::from_str(&sandbox.read("debate-config.json")).unwrap();
    configured["judge"]["provider"] = json!("claude");
    sandbox.write("debate-config.json", configured.to_string());
    let refused = serving.post("/debates", &json!({"problem": "Design a queue"})).expect(422).json();
    let said = "the configuration calls models through a command-line program, `claude`, but --max-calls is missing";
    assert_eq!((&refused["detail"], &refused["type"]), (&json!(said), &json!("cost_limit")));
    assert!(sandbox.debates().is_empty());
}
