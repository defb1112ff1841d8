//! What a run learns of a server: by which API it is reached, and that it takes no schemas. Each is learned once.

use serde_json::{Value, json};

use crate::support::{Api, Incoming, MockServer, Purpose, Reply, Sandbox, config, short_reply};

const DEBATE: [&str; 2] = ["debate", "Design a queue"];
/// The requests of a debate of two agents and one round in which nothing goes wrong.
const REQUESTS: usize = 7;

/// Two agents that ask one after the other, so that what is asked twice is asked for a reason.
fn settings(debate: &Value) -> Value {
    let mut settings = config(&["architect", "kiss"], debate);
    settings["debate"]["maxConcurrency"] = json!(1);
    settings
}

/// Three rounds, after each of which the judge is asked for its confidence, with a schema; no answer that fails is
/// final before its third repetition.
fn with_schemas() -> Value {
    settings(&json!({
        "rounds": 3, "maxRetries": 3, "terminationCondition": {"type": "convergence", "threshold": 90},
    }))
}

fn count(server: &MockServer, which: impl Fn(&Incoming) -> bool) -> usize {
    server.requests().iter().filter(|request| which(request)).count()
}

/// How many requests came by the Responses API, and how many by Chat Completions.
fn by_api(server: &MockServer) -> (usize, usize) {
    let by = |api| count(server, |request| request.api == Some(api));
    (by(Api::Responses), by(Api::Chat))
}

/// Runs a debate that lacks nothing in the end.
fn full(server: &MockServer, settings: &Value, name: &str) {
    let sandbox = Sandbox::new().model_server(server).config(settings);
    let finished = sandbox.run(DEBATE).expect_code(0);
    let outcome = &sandbox.state(&sandbox.only_debate())["outcome"];
    assert_eq!(*outcome, json!({"kind": "full", "reasons": []}), "{name}: {finished}");
    server.assert_clean();
}

/// Answers by Chat Completions alone; by the other API comes `refusal`.
fn only_chat(refusal: impl Fn() -> Reply + Send + Sync + 'static) -> MockServer {
    MockServer::with(move |request| if request.api == Some(Api::Responses) { refusal() } else { short_reply(request) })
}

fn bare(status: u16) -> Reply {
    Reply::raw("text/plain", "Something went wrong").status(status).header("retry-after", "0")
}

#[test]
fn a_server_without_responses_is_found_out_once_and_the_debate_lacks_nothing() {
    type Refusal = fn() -> Reply;
    let refusals: &[(&str, Refusal)] = &[
        ("404", || bare(404)),
        ("405", || bare(405)),
        ("501", || bare(501)),
        ("400 without a reason", || bare(400)),
        ("422 about its own fields", || {
            let said = json!({"detail": [{"loc": ["body", "messages"], "msg": "Field required"}]});
            Reply::raw("application/json", said.to_string()).status(422)
        }),
        ("200 with a web page", Reply::html),
        ("200 with nothing", Reply::empty),
        ("200 with other JSON", || Reply::raw("application/json", r#"{"status": "ok"}"#)),
    ];
    for (name, refusal) in refusals {
        let server = only_chat(refusal);
        full(&server, &settings(&json!({})), name);
        let (responses, chat) = by_api(&server);
        assert_eq!(chat, REQUESTS, "{name}");
        // Whoever is not kept waiting for long asks in the same way: on a busy machine the second proposal, too.
        assert!((1..=2).contains(&responses), "{name}: {responses}");
    }
}

#[test]
fn one_bad_minute_of_a_server_that_has_answered_changes_nothing() {
    type Bad = fn() -> Reply;
    let bad: &[(&str, Bad, bool)] = &[
        ("500", || bare(500), true),
        ("a web page", Reply::html, true),
        ("404", || bare(404), false),
        ("405", || bare(405), false),
        ("501", || bare(501), true),
        ("400", || bare(400), false),
    ];
    for (name, reply, is_transient) in bad {
        let server = MockServer::with(move |request| {
            if request.purpose == Purpose::Critique && request.repeats == 0 { reply() } else { short_reply(request) }
        });
        let sandbox = Sandbox::new().model_server(&server).config(&settings(&json!({"maxRetries": 1})));
        let finished = sandbox.run(DEBATE).expect_code(0);
        let kind = &sandbox.state(&sandbox.only_debate())["outcome"]["kind"];
        assert_eq!(kind, if *is_transient { "full" } else { "degraded" }, "{name}: {finished}");
        // Both critiques came twice if that was of use, and nothing by the other API.
        assert_eq!(by_api(&server), (REQUESTS + if *is_transient { 2 } else { 0 }, 0), "{name}");
    }
}

/// The requests of a debate with schemas at a server that takes them, and how many of them carry one.
fn healthy() -> (usize, usize) {
    let server = MockServer::with(short_reply);
    full(&server, &with_schemas(), "healthy");
    let with_schema = count(&server, |request| request.schema().is_some());
    assert!(with_schema > 1, "else there is nothing to learn");
    (server.requests().len(), with_schema)
}

#[test]
fn a_server_that_fails_on_schemas_without_a_reason_is_sent_one_in_the_whole_run() {
    let (all, _) = healthy();
    for (api, status) in [("auto", 500), ("responses", 500), ("chat", 500), ("chat", 502), ("chat", 400), ("chat", 422)]
    {
        let server = MockServer::with(
            move |request| {
                if request.schema().is_some() { bare(status) } else { short_reply(request) }
            },
        );
        let mut settings = with_schemas();
        settings["providers"] = json!({"openai": {"api": api}});
        full(&server, &settings, &format!("{status} by {api}"));
        assert_eq!(count(&server, |request| request.schema().is_some()), 1, "{status} by {api}");
        assert_eq!(server.requests().len(), all + 1, "{status} by {api}");
        let (responses, chat) = by_api(&server);
        assert_eq!(if api == "chat" { responses } else { chat }, 0, "{status} by {api}");
    }
}

#[test]
fn schemas_can_be_switched_off_for_a_provider() {
    let (all, with_schema) = healthy();
    for (schemas, expected) in [(false, 0), (true, with_schema)] {
        let server = MockServer::with(short_reply);
        let mut settings = with_schemas();
        settings["providers"] = json!({"openai": {"schemas": schemas}});
        full(&server, &settings, &format!("schemas: {schemas}"));
        assert_eq!(count(&server, |request| request.schema().is_some()), expected, "schemas: {schemas}");
        assert_eq!(server.requests().len(), all, "schemas: {schemas}");
    }
}

#[test]
fn a_spent_quota_is_final_whatever_status_a_proxy_wraps_it_in() {
    for error in [
        json!({"message": "upstream: 429 {\"code\": \"insufficient_quota\"}"}),
        json!({"message": "You exceeded your current quota.", "code": "insufficient_quota"}),
        json!({"message": "You exceeded your current quota.", "type": "insufficient_quota"}),
    ] {
        for status in [500, 502, 503] {
            let body = json!({ "error": error }).to_string();
            let server = MockServer::with(move |_| Reply::raw("application/json", body.clone()).status(status));
            let sandbox = Sandbox::new().model_server(&server).config(&settings(&json!({"maxRetries": 3})));
            let finished = sandbox.run(DEBATE).expect_code(3);
            // Both agents' proposals.
            assert_eq!(by_api(&server), (2, 0), "{status} {error}: {finished}");
            assert!(!finished.stderr.contains("retries"), "{status} {error}: {finished}");
        }
    }
}
