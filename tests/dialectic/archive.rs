//! What past debates have left: a memory that `list --text` searches, and ratings.

use serde_json::{Value, json};

use crate::support::{MockServer, Sandbox, two_agents};

const SESSIONS: &str = "Where do we keep the sessions of our users?";

/// The ids of the debates that `list --text` finds.
fn found(sandbox: &Sandbox, text: &str) -> Vec<String> {
    let listed = sandbox.run(["list", "--json", "--text", text]).expect_code(0);
    let rows: Value = serde_json::from_str(&listed.stdout).unwrap();
    rows.as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_debate_is_remembered_until_it_is_removed() {
    let sandbox = Sandbox::new();
    sandbox.run(["debate", "--offline", "-r", "1", SESSIONS]).expect_code(0);
    let id = sandbox.only_debate();
    assert_eq!(found(&sandbox, "keeping a user session"), [id.as_str()], "by the stems of all words");
    assert!(found(&sandbox, "keeping a user password").is_empty());
    sandbox.run(["rm", "latest", "--yes"]).expect_code(0);
    assert!(found(&sandbox, "session").is_empty());
}

#[test]
fn nothing_that_is_searched_for_steers_the_search_or_the_terminal() {
    let sandbox = Sandbox::new();
    sandbox.run(["debate", "--offline", "-r", "1", "Keep \u{1b}[31m red \u{1b}[0m sessions"]).expect_code(0);
    for query in ["\"", "red OR", "problem:red", "NEAR(red", "*", "\u{1b}[2J"] {
        let listed = sandbox.run(["list", "--text", query]).expect_code(0);
        assert!(!listed.stdout.contains('\u{1b}'), "{listed}");
    }
    assert_eq!(found(&sandbox, "session of red").len(), 1);
}

#[test]
fn a_file_that_is_no_archive_is_named_and_holds_up_no_debate() {
    let sandbox = Sandbox::new()
        .file("debates/archive.sqlite", "not a database")
        .config(&json!({ "debate": { "memory": true, "rounds": 1 } }));
    let debated = sandbox.run(["debate", "--offline", "-c", "debate-config.json", SESSIONS]).expect_code(0);
    assert!(debated.stderr.contains("warning: the debate is not indexed yet"), "{debated}");
    let searched = sandbox.run(["list", "--text", "sessions of"]).expect_code(0);
    assert!(searched.stdout.contains(SESSIONS) && searched.stderr.contains("archive.sqlite"), "{searched}");
    assert_eq!(sandbox.read("debates/archive.sqlite"), "not a database");
}

/// A finished debate of the arena, as far as ratings look at it.
fn contest(id: &str, scores: &Value) -> Value {
    let agent = |id: &String| {
        json!({
            "id": id, "name": id, "role": "architect", "model": format!("model-{id}"), "provider": "openai",
            "temperature": 0.5, "enabled": true, "toolCallLimit": 1,
            "summarization": {"enabled": false, "threshold": 1, "maxLength": 1, "method": "length-based"},
        })
    };
    let ids: Vec<String> = scores.as_object().unwrap().keys().cloned().collect();
    json!({
        "id": id, "problem": "p", "status": "completed", "rounds": [], "updatedAt": "2026-01-01T00:00:00.000Z",
        "verdict": {"winner": ids[0], "scores": scores, "criteria": {}, "reasoning": ""},
        "finalSolution": {"description": "d", "tradeoffs": [], "recommendations": [], "confidence": 80},
        "settings": {
            "agents": ids.iter().map(agent).collect::<Vec<_>>(), "judge": agent(&"judge".to_owned()),
            "debate": {
                "protocol": "arena", "rounds": 3, "terminationCondition": {"type": "fixed", "threshold": 80},
                "synthesisMethod": "judge", "includeFullHistory": true, "timeoutPerRound": 1, "maxRetries": 0,
                "summarization": {"enabled": false, "threshold": 1, "maxLength": 1, "method": "length-based"},
                "interactiveClarifications": false, "clarificationsMaxPerAgent": 1, "clarificationsMaxIterations": 1,
                "maxConcurrency": 1, "callTimeout": 1, "onAgentFailure": "continue", "orchestratorType": "state-machine",
            },
        },
    })
}

#[test]
fn models_have_their_ratings() {
    let server = MockServer::start();
    let sandbox = two_agents(&server, &json!({}));
    assert!(!sandbox.run(["models"]).expect_code(0).stdout.contains("RATING"));
    sandbox.write("debates/deb-1.json", contest("deb-1", &json!({"architect": 90, "kiss": 60})).to_string());
    let shown = sandbox.run(["models"]).expect_code(0);
    assert!(shown.stdout.contains("RATING"), "{shown}");
    let rows: Value = serde_json::from_str(&sandbox.run(["models", "--json"]).expect_code(0).stdout).unwrap();
    let rating = |model: &str| {
        let row = rows.as_array().unwrap().iter().find(|row| row["model"] == model);
        row.unwrap_or_else(|| panic!("{model}: {rows}"))["rating"].clone()
    };
    assert_eq!((rating("model-architect"), rating("model-kiss")), (json!(1516.0), json!(1484.0)));
    assert_eq!(rating("model-judge"), Value::Null);
}
