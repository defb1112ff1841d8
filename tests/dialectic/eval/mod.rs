//! `dialectic eval`: the solutions of saved debates, scored.

mod input;
mod outputs;
mod pairwise;
mod prompts;
mod repeat;
mod skipped;

use serde_json::{Value, json};

use crate::support::{Incoming, MockServer, Reply, Sandbox, Terminal};

/// A saved debate of an older installation, under `tests/fixtures`.
const SIMPLE: &str = include_str!("../../fixtures/simple.json");
const CLARIFIED: &str = include_str!("../../fixtures/clarified.json");

/// The header of the CSV, as it has to be.
const HEADER: &str = "debate,Functional Completeness,Performance & Scalability,Security,Maintainability & Evolvability,\
    Regulatory Compliance,Testability,Requirements Fulfillment,Overall Score";

/// What is said before one call of an evaluator whose model has no price.
const TOLD: &str = "1 to 2 calls, of unknown cost (no price is known for model-a)\n";

/// An evaluation with these scores, in the order of the columns. Null leaves a score out.
fn evaluation(scores: [Value; 8]) -> Value {
    let [functional, performance, security, maintainability, compliance, testability, requirements, overall] = scores;
    let score = |score: Value| if score.is_null() { json!({}) } else { json!({"score": score, "reasoning": "why"}) };
    json!({
        "evaluation": {
            "functional_completeness": score(functional),
            "non_functional": {
                "performance_scalability": score(performance),
                "security": score(security),
                "maintainability_evolvability": score(maintainability),
                "regulatory_compliance": score(compliance),
                "testability": score(testability),
                "requirements_fulfillment": score(requirements),
            },
        },
        "overall_summary": {"strengths": ["s"], "weaknesses": ["w"], "overall_score": overall},
    })
}

/// An evaluation with the same score everywhere.
fn flat(score: f64) -> Value {
    evaluation(std::array::from_fn(|_| json!(score)))
}

/// Evaluators with these ids, each with a model of its own: `model-<id>`.
fn evaluators(ids: &[&str]) -> Value {
    let agents: Vec<Value> = ids
        .iter()
        .map(|id| json!({"id": id, "name": format!("The {id}"), "model": format!("model-{id}"), "provider": "openai"}))
        .collect();
    json!({"agents": agents})
}

/// A sandbox with that server, `eval.json`, and the fixture `simple` as a saved debate.
fn sandbox(server: &MockServer, configuration: &Value) -> Sandbox {
    Sandbox::new()
        .model_server(server)
        .file("eval.json", configuration.to_string())
        .file("debates/simple.json", SIMPLE)
        .file("debates/clarified.json", CLARIFIED)
}

/// A server at which evaluator `a` gives all 8 and `b` all 7.
fn two_evaluators() -> MockServer {
    MockServer::with(|request: &Incoming| Reply::json(flat(if request.model() == "model-a" { 8.0 } else { 7.0 })))
}

#[test]
fn an_evaluation_counts_for_the_limit_of_the_day() {
    let server = MockServer::with(|_| Reply::json(flat(7.0)));
    let mut priced = evaluators(&["a"]);
    priced["prices"] = json!({"model-a": {"inputPerMTok": 100, "outputPerMTok": 100}});
    let here = sandbox(&server, &priced);
    here.run(["eval", "-c", "eval.json", "-d", "simple"]).expect_code(0);
    let ledger: Value = serde_json::from_str(&here.read("debates/spending.ledger")).unwrap();
    assert!(ledger["removed"][0]["usd"].as_f64().unwrap() > 0.0, "{ledger}");
    assert_eq!(ledger["removed"].as_array().unwrap().len(), 1);
}

#[test]
fn without_evaluators_the_users_judge_is_the_one() {
    let server = two_evaluators();
    let judge = json!({"id": "judge-main", "model": "model-a", "provider": "openai"});
    let here = sandbox(&server, &json!({})).config(&json!({"judge": judge}));
    here.run(["eval", "simple"]).expect_code(0).prints(["| 8.00 |"]);
    assert_eq!(server.requests().len(), 1);
}

/// What is paid is said before, and asked about where nobody knows how much it is.
#[test]
fn what_it_takes_is_said_before_it_is_paid() {
    let server = MockServer::with(|_| Reply::json(flat(7.0)));
    let mut priced = evaluators(&["a", "b"]);
    priced["prices"] =
        json!({"model-a": {"inputPerMTok": 1, "outputPerMTok": 2}, "model-b": {"inputPerMTok": 1, "outputPerMTok": 2}});
    let here = sandbox(&server, &priced);
    let arguments = ["eval", "-c", "eval.json", "-d", "simple", "--repeat", "3"];
    here.run(arguments).expect_code(0).says(["6 to 12 calls, likely $", ", at most $"]);
    assert_eq!(server.requests().len(), 6);

    let here = sandbox(&server, &evaluators(&["a"])).env("CI", "");
    let mut terminal = Terminal::start(&here, arguments);
    terminal.wait_for("3 to 6 calls, of unknown cost (no price is known for model-a)");
    terminal.wait_for("Begin? [y/N]");
    terminal.type_line("");
    let (output, _) = terminal.expect_code(0);
    assert!(output.contains("Nothing was started."), "{output}");
    assert_eq!(server.requests().len(), 6);
    // What costs nothing is not mentioned.
    let offline = here.run(["eval", "--offline", "-d", "simple"]).expect_code(0);
    assert!(!offline.stderr.contains(" calls, "), "{offline}");
}
