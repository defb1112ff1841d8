//! `dialectic memory` and `dialectic ratings`: what past debates have left.

use serde_json::{Value, json};

use crate::support::{MockServer, Sandbox, config};

const SESSIONS: &str = "Where do we keep the sessions of our users?";

fn json_of(sandbox: &Sandbox, arguments: &[&str]) -> Value {
    serde_json::from_str(&sandbox.run(arguments).expect_code(0).stdout).unwrap()
}

#[test]
fn without_debates_there_is_a_notice_and_nothing_is_written() {
    let sandbox = Sandbox::new();
    for arguments in [&["memory", "search", "x"][..], &["memory", "rebuild"], &["ratings"]] {
        let finished = sandbox.run(arguments).expect_code(0);
        assert_eq!(finished.stdout, "", "{arguments:?}");
        assert!(finished.stderr.contains("./debates"), "{finished}");
    }
    assert_eq!(json_of(&sandbox, &["ratings", "--json"]), json!([]));
    assert_eq!(json_of(&sandbox, &["memory", "search", "x", "--json"]), json!([]));
    assert!(sandbox.files().is_empty());
}

#[test]
fn a_debate_is_remembered_until_it_is_forgotten_or_removed() {
    let sandbox = Sandbox::new();
    sandbox.run(["debate", "--offline", "-r", "1", SESSIONS]).expect_code(0);
    let id = sandbox.only_debate();
    let found = json_of(&sandbox, &["memory", "search", "session", "--json"]);
    assert_eq!((&found[0]["debate"], &found[0]["problem"]), (&json!(id), &json!(SESSIONS)), "{found}");
    let listed = sandbox.run(["memory", "search", "keep", "sessions"]).expect_code(0);
    assert!(listed.stdout.contains(&id[id.len() - 4..]) && listed.stdout.contains(SESSIONS), "{listed}");
    let shown = sandbox.run(["memory", "show", "latest"]).expect_code(0);
    assert!(shown.stdout.starts_with(&format!("# {SESSIONS}\n")), "{shown}");
    assert!(shown.stdout.contains("\n## Decision\n") && shown.stdout.contains("\n## Dissent\n"), "{shown}");
    let forgotten = sandbox.run(["memory", "forget", "latest"]).expect_code(0);
    assert!(forgotten.stderr.contains("--remove forgotten"), "{forgotten}");
    let is_remembered =
        || !json_of(&sandbox, &["memory", "search", "session", "--json"]).as_array().unwrap().is_empty();
    assert!(!is_remembered());
    sandbox.run(["memory", "rebuild"]).expect_code(0);
    assert!(!is_remembered(), "what is to be forgotten stays so");
    assert!(sandbox.run(["memory", "show", "latest"]).expect_code(0).stderr.contains("The memory does not contain"));
    sandbox.run(["tag", "latest", "--remove", "forgotten"]).expect_code(0);
    assert!(is_remembered());
    sandbox.run(["verify", "latest"]).expect_code(0);
    sandbox.run(["rm", "latest", "--yes"]).expect_code(0);
    assert!(!is_remembered());
}

#[test]
fn nothing_that_is_searched_for_steers_the_search_or_the_terminal() {
    let sandbox = Sandbox::new();
    sandbox.run(["debate", "--offline", "-r", "1", "Keep \u{1b}[31m red \u{1b}[0m sessions"]).expect_code(0);
    for query in ["\"", "red OR", "problem:red", "NEAR(red", "*", "\u{1b}[2J"] {
        let found = sandbox.run(["memory", "search", query]).expect_code(0);
        assert!(!found.stdout.contains('\u{1b}'), "{found}");
    }
    assert!(sandbox.run(["memory", "search", "red"]).expect_code(0).stdout.contains("sessions"));
    sandbox.run(["memory", "search"]).expect_code(2);
    sandbox.run(["memory", "search", "-n", "0", "x"]).expect_code(2);
}

#[test]
fn a_file_that_is_no_archive_is_named_and_holds_up_no_debate() {
    let sandbox = Sandbox::new()
        .file("debates/archive.sqlite", "not a database")
        .config(&json!({ "debate": { "memory": true, "rounds": 1 } }));
    let searched = sandbox.run(["memory", "search", "x"]).expect_code(1);
    assert!(searched.stderr.contains("archive.sqlite") && searched.stderr.contains("is rebuilt"), "{searched}");
    let debated = sandbox.run(["debate", "--offline", "-c", "debate-config.json", SESSIONS]).expect_code(0);
    assert!(debated.stderr.contains("warning: the debate is not indexed yet"), "{debated}");
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
fn ratings_are_a_table_and_say_how_sure_they_are() {
    let sandbox = Sandbox::new()
        .file("debates/deb-1.json", contest("deb-1", &json!({"a": 90, "b": 60})).to_string())
        .file("debates/deb-2.json", contest("deb-2", &json!({"a": 80, "b": 70})).to_string());
    insta::assert_snapshot!(sandbox.run(["ratings"]).expect_code(0).stdout, @"
    MODEL    ROLE       RATING   95 %  DEBATES  BRIER  95 %  OVER TIME
    model-a  architect    1531  ± 483        2      -     -  ▆█
    model-b  architect    1469  ± 483        2      -     -  ▃▁
    ");
    let rated = json_of(&sandbox, &["ratings", "--json"]);
    let [first, second] = rated.as_array().unwrap().as_slice() else { panic!("{rated}") };
    assert_eq!(
        (&first["model"], &first["role"], &first["debates"]),
        (&json!("model-a"), &json!("architect"), &json!(2))
    );
    assert_eq!((&first["brier"], &first["ballots"]), (&Value::Null, &json!(0)));
    assert_eq!(first["history"][0]["debate"], "deb-1");
    // 16 for the first, and for the second what its rating of 1516 against 1484 was to be expected to win less.
    let expected = 1516.0 + 32.0 * (1.0 - 1.0 / (1.0 + 10_f64.powf(-32.0 / 400.0)));
    assert!((first["rating"].as_f64().unwrap() - expected).abs() < 1e-9, "{rated}");
    assert!((second["rating"].as_f64().unwrap() - (3000.0 - expected)).abs() < 1e-9, "{rated}");
    assert_eq!(json_of(&sandbox, &["ratings", "--json"]), rated, "counted once");
}

#[test]
fn models_have_their_ratings() {
    let server = MockServer::start();
    let sandbox = Sandbox::new().model_server(&server).config(&config(&["architect", "kiss"], &json!({})));
    assert!(!sandbox.run(["models"]).expect_code(0).stdout.contains("RATING"));
    sandbox.write("debates/deb-1.json", contest("deb-1", &json!({"architect": 90, "kiss": 60})).to_string());
    let shown = sandbox.run(["models"]).expect_code(0);
    assert!(shown.stdout.contains("RATING"), "{shown}");
    let rows = json_of(&sandbox, &["models", "--json"]);
    let rating = |model: &str| {
        let row = rows.as_array().unwrap().iter().find(|row| row["model"] == model);
        row.unwrap_or_else(|| panic!("{model}: {rows}"))["rating"].clone()
    };
    assert_eq!((rating("model-architect"), rating("model-kiss")), (json!(1516.0), json!(1484.0)));
    assert_eq!(rating("model-judge"), Value::Null);
}
