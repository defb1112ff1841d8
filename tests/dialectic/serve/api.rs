//! What the API gives and takes.

use serde_json::{Value, json};

use super::client::{Serving, journal, recorded, sandbox};
use crate::support::{MockServer, Sandbox, short_reply};

#[test]
fn a_debate_is_run_by_the_api_alone() {
    let server = MockServer::with(short_reply);
    let sandbox = sandbox(&server, &json!({}));
    let serving = Serving::start(&sandbox, &[]);
    let body =
        json!({"problem": "Design a queue", "rounds": 2, "files": [{"name": "../notes.md", "text": "It must last."}]});
    let forecast = serving.post("/forecast", &body).expect(200).json();
    assert_eq!(server.requests().len(), 0, "a forecast calls nothing");
    let started = serving.post("/debates", &body).expect(201);
    let id = started.json()["id"].as_str().unwrap().to_owned();
    assert_eq!(started.header("location"), Some(format!("/api/v1/debates/{id}").as_str()));
    let events = serving.events(&id, 0);
    assert_eq!(recorded(&events), journal(&sandbox, &id));
    assert_eq!(events.last().unwrap()["type"], "completed");
    // Answers of a sentence need no summary, which a forecast counts.
    let made = server.requests().len() as u64;
    assert!((made..=made + 1).contains(&forecast["calls"].as_u64().unwrap()), "{forecast:#}, and {made} were made");
    let shown = serving.get(&format!("/debates/{id}"));
    assert_eq!((&shown["summary"]["status"], &shown["summary"]["rounds"]), (&json!("completed"), &json!(2)));
    let problem = shown["state"]["problem"].as_str().unwrap();
    assert!(problem.contains("## File: ../notes.md") && problem.contains("It must last."), "{problem}");
    assert!(server.requests()[0].text().contains("It must last."), "the agents read the file");
    // The state is the one that the command line would have left.
    sandbox.assert_state_is_the_fold(&id);
    for (format, beginning) in [("markdown", "# "), ("html", "<!DOCTYPE html>"), ("adr", "---"), ("json", "{")] {
        let report =
            serving.ask("GET", &format!("/debates/{id}/report?format={format}&download=true"), None).expect(200);
        assert!(report.text().starts_with(beginning), "{format}: {}", &report.text()[..40]);
        assert!(report.header("content-disposition").unwrap().contains(&id));
        assert!(report.header("content-security-policy").unwrap().contains("default-src 'none'"));
    }
    server.assert_clean();
}

#[test]
fn the_list_is_searched_and_comes_in_parts() {
    let sandbox = Sandbox::new().env("DIALECTIC_TOKEN", super::client::TOKEN);
    let serving = Serving::start(&sandbox, &[]);
    let ids: Vec<String> = ["Design a queue", "Design a cache", "Split the monolith?"]
        .iter()
        .map(|problem| {
            let protocol = if problem.ends_with('?') { "oxford" } else { "dialectic" };
            let rounds = if problem.ends_with('?') { 2 } else { 1 };
            let id =
                serving.begin(&json!({"problem": problem, "offline": true, "rounds": rounds, "protocol": protocol}));
            serving.wait_for(&id, "completed");
            id
        })
        .collect();
    let found = |query: &str| {
        let list = serving.get(&format!("/debates{query}"));
        let mut found: Vec<String> =
            list["debates"].as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap().to_owned()).collect();
        found.sort();
        (found, list["total"].as_u64().unwrap())
    };
    let sorted = |mut ids: Vec<String>| {
        ids.sort();
        ids
    };
    assert_eq!(found(""), (sorted(ids.clone()), 3));
    assert_eq!(found("?search=design%20QUEUE"), (vec![ids[0].clone()], 1));
    assert_eq!(found("?protocol=oxford&status=completed"), (vec![ids[2].clone()], 1));
    assert_eq!(found("?status=failed"), (vec![], 0));
    let (first, total) = found("?limit=2");
    let (rest, _) = found("?limit=2&skip=2");
    assert_eq!((sorted([first, rest].concat()), total), (sorted(ids), 3));
    serving.ask("GET", "/debates?status=unheard", None).expect(422);
}

#[test]
fn what_a_request_may_not_say_is_refused_and_named() {
    let server = MockServer::with(short_reply);
    let sandbox = sandbox(&server, &json!({}));
    let serving = Serving::start(&sandbox, &["--max-cost", "1"]);
    let cases = [
        (json!({"agents": [{"role": "kiss", "systemPromptPath": "/etc/passwd"}]}), "agents[0].systemPromptPath"),
        (json!({"agents": [{"role": "kiss", "tools": [{"name": "file_read"}]}]}), "agents[0].tools"),
        (json!({"judge": {"summaryPromptPath": "x"}}), "judge.summaryPromptPath"),
        (json!({"debate": {"trace": "otlp"}}), "debate.trace"),
        (json!({"debate": {"summarization": {"promptPath": "x"}}}), "debate.summarization.promptPath"),
        (json!({"debate": {"contextCommands": ["id"]}}), "debate.contextCommands"),
        (json!({"providers": {"openai": {"baseUrl": "http://evil.example"}}}), "providers"),
        (json!({"hooks": {"afterDebate": ["id"]}}), "hooks"),
        (json!({"contextDir": "/"}), "contextDir"),
        (json!({"agents": [{"role": "wizard"}]}), "agents[0].role"),
        (json!({"agents": [{"role": "../../kiss"}]}), "agents[0].role"),
        (json!({"agents": [{"role": "kiss", "model": "gpt-99", "provider": "openai"}]}), "agents[0].model"),
        (json!({"agents": [{"role": "kiss", "model": "model-kiss", "provider": "openrouter"}]}), "agents[0].model"),
        (json!({"agents": []}), "agents"),
        (json!({"agents": vec![json!({"role": "kiss"}); 9]}), "agents"),
        (json!({"protocol": "monologue"}), "protocol"),
        (json!({"rounds": "two"}), "rounds"),
        (json!({"rounds": 0}), "debate.rounds"),
        (json!({"rounds": 101}), "debate.rounds"),
        (json!({"debate": {"terminationCondition": {"threshold": 900}}}), "debate.terminationCondition.threshold"),
        (json!({"debate": {"maxConcurrency": 4000}}), "debate.maxConcurrency"),
        (json!({"debate": {"callTimeout": 4_000_000_000_u64}}), "debate.callTimeout"),
        (json!({"maxCost": 0}), "maxCost"),
        (json!({"problem": " "}), "problem"),
        (json!({"files": [{"path": "/etc/passwd"}]}), "files[0].path"),
    ];
    for (mut body, key) in cases {
        if body.get("problem").is_none() {
            body["problem"] = json!("Design a queue");
        }
        let refused = serving.post("/debates", &body).expect(422);
        assert_eq!(refused.header("content-type"), Some("application/problem+json"));
        let problem = refused.json();
        assert_eq!((&problem["type"], &problem["key"]), (&json!("validation"), &json!(key)), "{body}\n{problem:#}");
        assert_eq!((&problem["status"], &problem["retryable"]), (&json!(422), &json!(false)));
    }
    for body in ["[]", "{", "\"x\"", ""] {
        let headers = [("Authorization", format!("Bearer {}", super::client::TOKEN))];
        let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        serving.raw("POST", "/api/v1/debates", &headers, body.as_bytes()).expect(422);
    }
    assert_eq!(serving.get("/debates")["total"], 0, "nothing of it is on record");
    assert_eq!(server.requests().len(), 0);
}

#[test]
fn the_server_tells_what_can_be_started() {
    let server = MockServer::with(short_reply);
    let sandbox = sandbox(&server, &json!({"rounds": 2}));
    let serving = Serving::start(&sandbox, &["--max-cost", "0.5"]);
    let setup = serving.get("/setup");
    let names = |key: &str, name: &str| -> Vec<String> {
        setup[key].as_array().unwrap().iter().map(|one| one[name].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names("agents", "id"), ["agent-architect", "agent-kiss"]);
    assert_eq!(names("models", "model"), ["rehearsal", "model-architect", "model-judge", "model-kiss"]);
    assert!(names("protocols", "name").contains(&"oxford".to_owned()));
    assert_eq!((&setup["rounds"], &setup["maxCost"]), (&json!(2), &json!(0.5)));
}

#[test]
fn a_failure_says_of_which_kind_it_is() {
    let server = MockServer::with(|_| crate::support::Reply::error(401, "the key is not known"));
    let sandbox = sandbox(&server, &json!({}));
    let serving = Serving::start(&sandbox, &[]);
    let id = serving.begin(&json!({"problem": "Design a queue"}));
    drop(serving.events(&id, 0));
    // No model was reached, so that there is no record; what happened is still told.
    let lost = serving.ask("GET", &format!("/debates/{id}"), None).expect(410).json();
    assert_eq!((&lost["type"], &lost["retryable"]), (&json!("model_error"), &json!(false)), "{lost:#}");
    server.set_script(|_| crate::support::Reply::error(500, "overloaded"));
    let id = serving.begin(&json!({"problem": "Design a queue"}));
    serving.wait_for(&id, "failed");
    let problem = serving.get(&format!("/debates/{id}"))["problem"].clone();
    assert_eq!((&problem["type"], &problem["retryable"]), (&json!("model_error"), &json!(true)), "{problem:#}");
}

#[test]
fn the_description_of_the_api_is_what_the_server_does() {
    let serving = Serving::start(&Sandbox::new().env("DIALECTIC_TOKEN", super::client::TOKEN), &[]);
    let document = serving.raw("GET", "/api/v1/openapi.json", &[], b"").expect(200).json();
    assert_eq!(document["openapi"], "3.1.0");
    assert_eq!(document, dialectic::serve::openapi());
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let path = path.strip_prefix("/api/v1").unwrap().replace("{id}", "deb-none");
            // Whoever is told of an operation meets it: what is missing is the debate, or the body.
            let answer =
                serving.ask(&method.to_uppercase(), &path, Some(&json!({"nothing": 1})).filter(|_| method == "post"));
            let is_known = operation["responses"].get(answer.status.to_string()).is_some();
            assert!(is_known && answer.status != 405, "{method} {path}: {} {}", answer.status, answer.text());
        }
    }
    serving.ask("DELETE", "/debates", None).expect(405);
    let unknown = serving.ask("GET", "/nothing", None).expect(404).json();
    assert_eq!(unknown["type"], "not_found");
}

/// A validator from outside: the command in `OPENAPI_VALIDATOR`, which gets the file behind it.
#[test]
fn the_description_of_the_api_is_valid() {
    let Some(validator) = std::env::var_os("OPENAPI_VALIDATOR") else {
        assert!(std::env::var_os("CI").is_none(), "OPENAPI_VALIDATOR is not set, and nothing was checked");
        return;
    };
    let sandbox = Sandbox::new().file("openapi.json", dialectic::serve::openapi().to_string());
    let validator = validator.into_string().unwrap();
    let mut words = validator.split_whitespace();
    let program = words.next().unwrap();
    let file = sandbox.directory().join("openapi.json");
    let output = std::process::Command::new(program).args(words).arg(&file).output().unwrap();
    assert!(
        output.status.success(),
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    // It can tell.
    let mut wrong: Value = dialectic::serve::openapi();
    wrong["paths"]["/api/v1/debates"]["get"]["responses"] = json!({"200": {}});
    sandbox.write("openapi.json", wrong.to_string());
    let output =
        std::process::Command::new(program).args(validator.split_whitespace().skip(1)).arg(&file).output().unwrap();
    assert!(!output.status.success(), "the validator finds no fault in anything");
}
