//! What a directory of a stranger's may do to the user's money: nothing beyond the user's own limits.
//!
//! The model server keeps the bill: a dollar for a million input tokens and ten for a million output tokens, whatever
//! anybody says of prices.

use serde_json::{Value, json};

use crate::stranger::record;
use crate::support::{MockServer, Sandbox, config, default_reply};

const MODELS: [&str; 3] = ["model-architect", "model-kiss", "model-judge"];
const USERS: &str = ".config/dialectic/config.json";

fn server() -> MockServer {
    MockServer::with(|request| default_reply(request).usage(900, 0, 900))
}

fn calls(server: &MockServer) -> f64 {
    u32::try_from(server.requests().len()).unwrap().into()
}

/// What the server has billed, in dollars.
fn billed(server: &MockServer) -> f64 {
    calls(server) * (900.0 + 9000.0) / 1e6
}

/// What the record says that it cost.
fn recorded(state: &Value) -> f64 {
    let usage = state["usage"].as_object().expect("the state has its usage");
    usage.values().map(|model| model["costUsd"].as_f64().expect("every cost is known")).sum()
}

fn prices(input: f64, output: f64) -> Value {
    MODELS.iter().map(|model| (*model, json!({"inputPerMTok": input, "outputPerMTok": output}))).collect()
}

/// Nine rounds of two agents, in a configuration that is found and says these prices.
fn found(debate: &Value, prices: Value) -> String {
    let mut config = config(&["architect", "kiss"], debate);
    config["debate"]["rounds"] = json!(9);
    config["prices"] = prices;
    config.to_string()
}

/// The user's own configuration.
fn users(prices: Option<Value>, limit: Option<f64>) -> String {
    let mut config = json!({});
    if let Some(prices) = prices {
        config["prices"] = prices;
    }
    if let Some(limit) = limit {
        config["debate"] = json!({"budget": {"maxCostUsd": limit}});
    }
    config.to_string()
}

fn limit(sandbox: &Sandbox, id: &str) -> Value {
    sandbox.state(id)["settings"]["debate"]["budget"]["maxCostUsd"].clone()
}

fn newest(sandbox: &Sandbox) -> String {
    // Ids of one second are in no order.
    let begun = |id: &String| sandbox.state(id)["createdAt"].as_str().expect("a state says when it began").to_owned();
    sandbox.debates().into_iter().max_by_key(begun).expect("there is a debate")
}

#[test]
fn found_prices_do_not_void_a_limit() {
    let server = server();
    let checked = json!({"check": 3});
    let sandbox = Sandbox::new().model_server(&server).file("debate-config.json", found(&checked, prices(0.0, 0.0)));
    for arguments in [&["debate", "--max-cost", "0.05", "x"][..], &["debate", "--dry-run", "--max-cost", "0.05", "x"]] {
        let refused = sandbox.run(arguments).expect_code(4);
        assert!(refused.stderr.contains("no price is known for model-architect"), "{refused}");
        assert!(refused.stderr.contains("--config"), "{refused}");
    }
    assert!(server.requests().is_empty(), "nothing is billed");
    // Where the user gives a price, that one counts.
    sandbox.write(USERS, users(Some(prices(1.0, 10.0)), None));
    let finished = sandbox.run(["debate", "--max-cost", "0.70", "Design a queue"]).expect_code(0);
    assert!(
        finished.stderr.contains("warning: `./debate-config.json` was found and not named, and openai"),
        "{finished}"
    );
    let how = "If you trust the file, name it as the configuration: --config ./debate-config.json\n";
    assert!(finished.stderr.contains(how), "{finished}");
    let state = sandbox.state(&newest(&sandbox));
    assert!(billed(&server) <= 0.70, "${}", billed(&server));
    assert!((recorded(&state) - billed(&server)).abs() < 1e-9, "{} of {}", recorded(&state), billed(&server));
    assert_eq!(state["outcome"]["kind"], "stopped");
    assert_eq!(state["checks"].as_array().map(Vec::len), Some(1 + 3), "the draft and its checks");
    // A file that the user names is the user's.
    sandbox.remove(USERS);
    sandbox.run(["debate", "-r", "1", "--max-cost", "0.05", "-c", "debate-config.json", "x"]).expect_code(0);
}

#[test]
fn a_found_price_counts_where_it_is_higher_for_each_component() {
    let server = server();
    let sandbox = Sandbox::new()
        .model_server(&server)
        .file("debate-config.json", found(&json!({}), prices(2.0, 5.0)))
        .file(USERS, users(Some(prices(1.0, 10.0)), None));
    sandbox.run(["debate", "-r", "1", "Design a queue"]).expect_code(0);
    let calls = calls(&server);
    let cost = recorded(&sandbox.state(&newest(&sandbox)));
    assert!((cost - calls * (900.0 * 2.0 + 900.0 * 10.0) / 1e6).abs() < 1e-9, "{cost}");
}

/// Another name of a provider changes nothing; a server that is sent no key of the user's keeps what was found.
#[test]
fn a_found_price_counts_for_a_server_without_a_key() {
    let server = server();
    for (key, code) in [(Some("OPENAI_API_KEY"), 4), (None, 0)] {
        let mut settings: Value = serde_json::from_str(&found(&json!({}), prices(0.0, 0.0))).unwrap();
        settings["debate"]["rounds"] = json!(1);
        settings["providers"] = json!({"alias": {"baseUrl": server.base_url()}});
        if let Some(key) = key {
            settings["providers"]["alias"]["apiKeyEnv"] = json!(key);
        }
        for place in ["/agents/0", "/agents/1", "/judge"] {
            settings.pointer_mut(place).unwrap()["provider"] = json!("alias");
        }
        let sandbox = Sandbox::new().model_server(&server).file("debate-config.json", settings.to_string());
        sandbox.run(["debate", "--max-cost", "0.05", "Design a queue"]).expect_code(code);
        assert_eq!(server.requests().is_empty(), code != 0);
    }
}

#[test]
fn a_found_limit_tightens_the_users_and_does_not_raise_it() {
    let server = server();
    let budget = |limit: f64| json!({"budget": {"maxCostUsd": limit, "warnCostUsd": limit}});
    let sandbox = Sandbox::new()
        .model_server(&server)
        .file("debate-config.json", found(&budget(500.0), json!({})))
        .file(USERS, users(Some(prices(1.0, 10.0)), Some(0.60)));
    sandbox.run(["debate", "Design a queue"]).expect_code(0);
    assert_eq!(limit(&sandbox, &newest(&sandbox)), 0.6);
    assert!(billed(&server) <= 0.60, "${}", billed(&server));
    let shown = sandbox.run(["config", "show"]).expect_code(0);
    let row = shown.stdout.lines().find(|line| line.contains("debate.budget.maxCostUsd")).unwrap().to_owned();
    assert!(row.contains("0.6") && row.contains(USERS), "{row}");
    sandbox.write("debate-config.json", found(&budget(0.58), json!({})));
    sandbox.run(["debate", "Design a queue"]).expect_code(0);
    assert_eq!(limit(&sandbox, &newest(&sandbox)), 0.58);
    // The command line is the user's word, and so is a file that it names.
    sandbox.run(["debate", "--max-cost", "0.8", "Design a queue"]).expect_code(0);
    assert_eq!(limit(&sandbox, &newest(&sandbox)), 0.8);
    sandbox.write("debate-config.json", found(&budget(0.9), json!({})));
    sandbox.run(["debate", "-c", "debate-config.json", "Design a queue"]).expect_code(0);
    assert_eq!(limit(&sandbox, &newest(&sandbox)), 0.9);
}

#[test]
fn a_record_is_gone_on_with_within_the_users_own_limits() {
    let server = server();
    let mut settings = config(&["architect", "kiss"], &json!({}));
    settings["debate"]["rounds"] = json!(9);
    let sandbox = Sandbox::new().model_server(&server).config(&settings).file(USERS, users(None, None));
    let id = record(&sandbox, &server, |created| {
        created["settings"]["prices"] = prices(0.0, 0.0);
        created["settings"]["debate"]["budget"]["maxCostUsd"] = json!(500.0);
    });
    for arguments in [vec!["resume", &id], vec!["fork", &id, "--at", "start"]] {
        let refused = sandbox.run(arguments).expect_code(4);
        assert!(refused.stderr.contains("no price is known for model-architect"), "{refused}");
    }
    assert!(server.requests().is_empty(), "nothing is billed");
    sandbox.write(USERS, users(Some(prices(1.0, 10.0)), Some(0.60)));
    sandbox.run(["fork", &id, "--at", "start"]).expect_code(0);
    let branch = newest(&sandbox);
    assert_eq!(limit(&sandbox, &branch), 0.6);
    assert!(billed(&server) <= 0.60, "${}", billed(&server));
    // The same change on the command line is the user's.
    server.forget();
    sandbox.run(["fork", &id, "--at", "start", "--set", "debate.budget.maxCostUsd=0.9"]).expect_code(0);
    assert_eq!(limit(&sandbox, &newest(&sandbox)), 0.9);
    server.forget();
    sandbox.run(["resume", &id]).expect_code(0);
    assert!(billed(&server) <= 0.60, "${}", billed(&server));
    assert_eq!(sandbox.state(&id)["outcome"]["kind"], "stopped");
    assert_eq!(limit(&sandbox, &id), 500.0, "the record keeps what it began with");
    sandbox.assert_state_is_the_fold(&id);
    // A question is asked within the same limits.
    server.forget();
    let refused = sandbox.run(["ask", &id, "Why?", "--max-cost", "0.001"]).expect_code(2);
    assert!(refused.stderr.contains("the cost limit leaves $0.0010"), "{refused}");
    assert!(server.requests().is_empty());
}

/// Prices that were named when it began need not be named again.
#[test]
fn a_record_keeps_the_prices_and_the_limit_that_it_began_with() {
    let server = server();
    let mut settings = config(&["architect", "kiss"], &json!({"rounds": 1}));
    settings["prices"] = prices(1.0, 10.0);
    let sandbox = Sandbox::new().model_server(&server).config(&settings);
    let id = record(&sandbox, &server, |created| {
        created["settings"]["debate"]["rounds"] = json!(9);
        created["settings"]["debate"]["budget"]["maxCostUsd"] = json!(0.6);
    });
    sandbox.remove("debate-config.json");
    sandbox.remove(USERS);
    sandbox.run(["resume", &id]).expect_code(0);
    let state = sandbox.state(&id);
    assert!(billed(&server) <= 0.60, "${}", billed(&server));
    assert!((recorded(&state) - billed(&server)).abs() < 1e-9, "{} of {}", recorded(&state), billed(&server));
    assert_eq!(state["outcome"]["kind"], "stopped");
}

/// The user's standing limit applies besides: it takes no record's limit away.
#[test]
fn a_record_keeps_a_limit_that_is_below_the_users() {
    let server = server();
    let mut settings = config(&["architect", "kiss"], &json!({}));
    settings["debate"]["rounds"] = json!(9);
    let sandbox =
        Sandbox::new().model_server(&server).config(&settings).file(USERS, users(Some(prices(1.0, 10.0)), Some(3.0)));
    let id = record(&sandbox, &server, |created| {
        created["settings"]["debate"]["budget"]["maxCostUsd"] = json!(0.6);
    });
    sandbox.run(["resume", &id]).expect_code(0);
    assert!(billed(&server) <= 0.60, "${}", billed(&server));
    assert_eq!(sandbox.state(&id)["outcome"]["kind"], "stopped", "the standing limit has room for all rounds");
}

/// A record is anybody's: what it says of a model that nobody else knows does not count against a limit.
#[test]
fn a_record_does_not_understate_a_model_that_nobody_knows() {
    let server = server();
    let mut settings = config(&["architect", "kiss"], &json!({"rounds": 1}));
    settings["prices"] = prices(1.0, 10.0);
    let sandbox = Sandbox::new().model_server(&server).config(&settings);
    let id = record(&sandbox, &server, |created| {
        created["settings"]["debate"]["rounds"] = json!(9);
        created["settings"]["prices"] = prices(0.01, 0.1);
    });
    sandbox.remove("debate-config.json");
    sandbox.remove(USERS);
    for arguments in [
        vec!["resume", &id, "--max-cost", "0.05"],
        vec!["fork", &id, "--at", "start", "--set", "debate.budget.maxCostUsd=0.05"],
    ] {
        let refused = sandbox.run(arguments).expect_code(4);
        assert!(refused.stderr.contains("no price is known for model-architect"), "{refused}");
        assert!(refused.stderr.contains("hint: a found price does not count"), "{refused}");
    }
    assert!(server.requests().is_empty(), "nothing is billed");
    // The user's word counts, and without a limit there is nothing that a price could void.
    sandbox.write("named.json", settings.to_string());
    sandbox.run(["resume", &id, "--config", "named.json", "--max-cost", "0.6"]).expect_code(0);
    assert!(billed(&server) <= 0.60, "${}", billed(&server));
    let branch = sandbox.run(["fork", &id, "--at", "start", "--set", "debate.rounds=1"]).expect_code(0);
    let cost = recorded(&sandbox.state(&newest(&sandbox)));
    assert!(cost > 0.0, "{branch}");
}

/// What a found file says of how much a model writes changes neither what is asked for nor what is set aside.
#[test]
fn a_found_output_limit_does_not_lessen_what_is_set_aside() {
    let server = server();
    let models: Value =
        MODELS.iter().map(|model| (*model, json!({"maxOutput": 1, "contextWindow": 9_000_000}))).collect();
    let mut settings: Value = serde_json::from_str(&found(&json!({}), json!({}))).unwrap();
    settings["models"] = models;
    let sandbox = Sandbox::new()
        .model_server(&server)
        .file("debate-config.json", settings.to_string())
        .file(USERS, users(Some(prices(1.0, 10.0)), Some(0.60)));
    sandbox.run(["debate", "Design a queue"]).expect_code(0);
    assert!(billed(&server) <= 0.60, "${}", billed(&server));
    let id = newest(&sandbox);
    assert_eq!(sandbox.state(&id)["outcome"]["kind"], "stopped");
    let journal: Vec<Value> = sandbox.journal(&id).iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    let reserved: Vec<&Value> = journal.iter().filter(|event| event["type"] == "cost-reserved").collect();
    assert_eq!(reserved.len(), server.requests().len());
    for event in reserved {
        let (tokens, usd) = (event["maxTokens"].as_f64().unwrap(), event["usd"].as_f64().unwrap());
        assert!(tokens >= 900.0 && usd >= tokens * 10.0 / 1e6, "{event}");
    }
}

#[test]
fn resume_takes_a_limit_of_its_own() {
    let server = server();
    let mut settings = config(&["architect", "kiss"], &json!({}));
    settings["debate"]["rounds"] = json!(9);
    let sandbox =
        Sandbox::new().model_server(&server).config(&settings).file(USERS, users(Some(prices(1.0, 10.0)), Some(0.60)));
    let id = record(&sandbox, &server, |_| {});
    sandbox.run(["resume", &id, "--max-cost", "3"]).expect_code(0);
    assert_ne!(sandbox.state(&id)["outcome"]["kind"], "stopped", "the standing limit has no room for all rounds");
    assert!(billed(&server) <= 3.0, "${}", billed(&server));
}
