//! What a run learns of a server: by which API it is reached, and that it takes no schemas. Each is learned once.

use serde_json::{Value, json};

use crate::support::{Api, Debated, Incoming, MockServer, Purpose, Reply, config, short_reply};

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
fn with_schemas(openai: &Value) -> Value {
    let condition = json!({"type": "convergence", "threshold": 90});
    let mut settings = settings(&json!({"rounds": 3, "maxRetries": 3, "terminationCondition": condition}));
    settings["providers"] = json!({ "openai": openai });
    settings
}

fn count(server: &MockServer, which: impl Fn(&Incoming) -> bool) -> usize {
    server.requests().iter().filter(|request| which(request)).count()
}

/// How many requests came by the Responses API, and how many by Chat Completions.
fn by_api(server: &MockServer) -> (usize, usize) {
    let by = |api| count(server, |request| request.api == Some(api));
    (by(Api::Responses), by(Api::Chat))
}

/// The server of a debate that lacks nothing in the end.
fn full(settings: &Value, script: impl Fn(&Incoming) -> Reply + Send + Sync + 'static) -> MockServer {
    let Debated { server, finished, state, .. } = Debated::with(settings, script);
    assert_eq!(state["outcome"], json!({"kind": "full", "reasons": []}), "{finished}");
    server.assert_clean();
    server
}

fn bare(status: u16) -> Reply {
    Reply::raw("text/plain", "Something went wrong").status(status).header("retry-after", "0")
}

#[test]
fn a_server_without_responses_is_found_out_once_and_the_debate_lacks_nothing() {
    for refusal in [|| bare(404), Reply::html] {
        let server = full(&settings(&json!({})), move |request| {
            if request.api == Some(Api::Responses) { refusal() } else { short_reply(request) }
        });
        let (responses, chat) = by_api(&server);
        assert_eq!(chat, REQUESTS);
        // Whoever is not kept waiting for long asks in the same way: on a busy machine the second proposal, too.
        assert!((1..=2).contains(&responses), "{responses}");
    }
}

#[test]
fn one_bad_minute_of_a_server_that_has_answered_changes_nothing() {
    // A web page may be another answer next time, a refusal will not.
    for (bad, kind, repeated) in [(Reply::html as fn() -> Reply, "full", 2), (|| bare(404), "degraded", 0)] {
        let Debated { server, state, .. } = Debated::with(&settings(&json!({"maxRetries": 1})), move |request| {
            if request.purpose == Purpose::Critique && request.repeats == 0 { bad() } else { short_reply(request) }
        });
        assert_eq!(state["outcome"]["kind"], kind);
        // Both critiques came twice if that was of use, and nothing by the other API.
        assert_eq!(by_api(&server), (REQUESTS + repeated, 0), "{kind}");
    }
}

#[test]
fn a_server_that_fails_on_schemas_without_a_reason_is_sent_one_in_the_whole_run() {
    let healthy = full(&with_schemas(&json!({})), short_reply);
    assert!(count(&healthy, |request| request.schema().is_some()) > 1, "else there is nothing to learn");
    let all = healthy.requests().len();
    for (api, status) in [("auto", 500), ("chat", 400)] {
        let server = full(&with_schemas(&json!({ "api": api })), move |request| {
            if request.schema().is_some() { bare(status) } else { short_reply(request) }
        });
        assert_eq!(count(&server, |request| request.schema().is_some()), 1, "{status} by {api}");
        let expected = if api == "chat" { (0, all + 1) } else { (all + 1, 0) };
        assert_eq!(by_api(&server), expected, "{status} by {api}");
    }
    let without = full(&with_schemas(&json!({"schemas": false})), short_reply);
    assert_eq!(count(&without, |request| request.schema().is_some()), 0, "they are switched off");
    assert_eq!(without.requests().len(), all);
}
