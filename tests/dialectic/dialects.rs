//! Whole debates with servers that answer as real ones do: a body of each kind that is recorded for the client, and what
//! the program makes of it.

use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::support::{Incoming, MockServer, Purpose, Reply, Sandbox, config, prose, short_reply};

/// Which requests get the recorded body instead of a regular answer.
#[derive(Clone, Copy)]
enum When {
    /// The first of each call.
    First,
    /// All.
    Always,
    /// All for a proposal of one of the agents.
    Proposal,
    /// The first for the judge's answer.
    Judge,
    /// Those with a temperature.
    Temperature,
    /// Those with a higher output limit than 8,192.
    Limit,
    /// The agent's first with tools: later ones are refused if it does not come back.
    Tools,
}

impl When {
    fn is_met(self, request: &Incoming) -> bool {
        match self {
            Self::First => request.repeats == 0,
            Self::Always => true,
            Self::Proposal => request.purpose == Purpose::Propose && request.model() == "model-kiss",
            Self::Judge => request.purpose == Purpose::Synthesize && request.index == 6,
            Self::Temperature => request.body.get("temperature").is_some(),
            Self::Limit => request.max_tokens() > Some(8192),
            Self::Tools => request.purpose == Purpose::Propose && request.model() == "model-architect",
        }
    }
}

/// The recorded answer in a file of the client's tests.
fn recorded(name: &str) -> Reply {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/llm/src/openai/tests/dialects");
    let body = std::fs::read(folder.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    let status = name.rsplit('.').nth(1).and_then(|part| part.parse().ok()).unwrap_or(200);
    let extension = name.rsplit('.').next();
    let kind = if extension == Some("sse") { "text/event-stream" } else { "application/json" };
    let reply = Reply::raw(kind, body).status(status);
    if extension == Some("body") { reply.header("content-encoding", "gzip") } else { reply }
}

/// The regular answer, longer than what the judge can do without.
fn regular(request: &Incoming) -> Reply {
    match request.purpose {
        Purpose::Propose | Purpose::Refine => Reply::text(prose(request.digest, 300)).usage(200, 0, 30),
        _ => short_reply(request).usage(200, 0, 30),
    }
}

/// A line of the table: exit code, requests, outcome, cost, and the reason or the error. What else is under way when a
/// debate fails depends on the moment: then only requests that got the recorded body count, and no cost.
fn played(name: &str, when: When) -> String {
    let answer = recorded(name);
    let refusal =
        name.contains("first-answer").then(|| recorded(&format!("{}.400.json", name.split('.').next().unwrap())));
    let server = MockServer::with(move |request| match &refusal {
        Some(_) if when.is_met(request) && request.tool_results().is_empty() => answer.clone(),
        Some(refusal) if when.is_met(request) => {
            let is_back = ["c2ln", "I should look."].iter().any(|it| request.sent.contains(it));
            if is_back { regular(request) } else { refusal.clone() }
        }
        _ if when.is_met(request) => answer.clone(),
        _ => regular(request),
    });
    let api = if name.contains("responses") { "responses" } else { "chat" };
    let mut configured = config(&["architect", "kiss"], &json!({"maxRetries": 2}));
    configured["providers"] = json!({"openai": {"api": api}});
    let price = json!({"inputPerMTok": 10.0, "outputPerMTok": 100.0});
    let models = ["model-architect", "model-kiss", "model-judge"];
    configured["prices"] = models.map(|model| (model.to_owned(), price.clone())).into_iter().collect();
    if matches!(when, When::Limit) {
        configured["agents"][0]["maxTokens"] = json!(9000);
    }
    if matches!(when, When::Tools) {
        configured["agents"][0]["tools"] = json!([{"name": "file_read"}]);
    }
    let sandbox = Sandbox::new().model_server(&server).config(&configured).file("context/problem.md", "Design a queue");
    let finished = sandbox.run(["debate", "Design a queue", "--context", "context", "--quiet"]);
    let code = finished.code.unwrap();
    let counts = |request: &&Arc<Incoming>| code == 0 || when.is_met(request);
    let requests = server.requests().iter().filter(counts).count();
    let line = if let Some(id) = sandbox.debates().first() {
        let state = sandbox.state(id);
        sandbox.assert_state_is_the_fold(id);
        let usage = state["usage"].as_object().into_iter().flat_map(|usage| usage.values());
        let cost = usage.map(|model| model["costUsd"].as_f64()).sum::<Option<f64>>();
        let cost = cost.map_or_else(|| "unknown".to_owned(), |cost| format!("${cost:.4}"));
        let cost = if code == 0 { cost } else { "-".to_owned() };
        let reasons = state["outcome"]["reasons"].as_array().cloned().unwrap_or_default();
        let failure = state["failures"][0]["error"].as_str();
        let reason = reasons.first().and_then(Value::as_str).or(failure).unwrap_or_default();
        // The texts depend on the sandbox's path.
        let reason = if reason.contains(" characters of ") { "the judge was shown a part" } else { reason };
        format!("{} | {cost} | {reason}", state["outcome"]["kind"].as_str().unwrap_or("failed"))
    } else {
        let error = finished.stderr.lines().find(|line| line.starts_with("error: ")).unwrap_or_default();
        format!("nothing kept | - | {error}")
    };
    format!("{name} | {code} | {requests} | {line}").trim_end_matches([' ', '|']).replace(&server.base_url(), "<url>")
}

#[test]
fn a_debate_survives_every_kind_of_dialect() {
    // One for each thing that may come of a body: `dialects` of the client has all of them.
    let scenes = [
        ("leak-kimi.json", When::Proposal),
        ("finish-recitation.sse", When::Proposal),
        ("finish-prohibited-empty.sse", When::Proposal),
        ("finish-other.sse", When::Proposal),
        ("finish-unknown.sse", When::Proposal),
        ("tools-gemini3.first-answer.json", When::Tools),
        ("tools-responses.first-answer.json", When::Tools),
        ("temp-kimi.400.json", When::Temperature),
        ("maxtokens-groq.400.json", When::Limit),
        ("ctx-moonshot.400.json", When::Judge),
        ("sse-cumulative.sse", When::Proposal),
        ("gzip-forced.body", When::Proposal),
        ("responses-item-done-only.sse", When::Proposal),
        ("403-xai.403.json", When::Proposal),
        ("403-balance.403.json", When::Always),
        ("400-google-key.400.json", When::Always),
        ("gemini-cancelled.499.json", When::First),
        ("google-retry-hours.429.json", When::Proposal),
        ("cost-zen.sse", When::Proposal),
    ];
    let lines = std::thread::scope(|scope| {
        let threads = scenes.map(|(name, when)| scope.spawn(move || played(name, when)));
        threads.map(|thread| thread.join().expect("no scene panics"))
    });
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn a_base_url_is_taken_for_what_is_meant() {
    let server = MockServer::with(short_reply);
    let base = server.base_url();
    for (url, paths) in [
        (format!("{base}/chat/completions"), Some("/v1/chat/completions")),
        (format!("{base}/responses/"), Some("/v1/responses")),
        (base.trim_end_matches("/v1").to_owned(), None),
    ] {
        server.forget();
        let sandbox = Sandbox::new().model_server(&server).env("OPENAI_BASE_URL", &url);
        let sandbox = sandbox.config(&config(&["architect", "kiss"], &json!({})));
        let finished = sandbox.run(["debate", "Design a queue", "--quiet"]);
        if let Some(path) = paths {
            finished.expect_code(0);
            assert!(server.paths().iter().all(|asked| asked == path), "{:?}", server.paths());
        } else {
            finished.expect_code(3).says(["most base URLs end in `/v1`"]);
            assert!(sandbox.debates().is_empty());
        }
    }
}
