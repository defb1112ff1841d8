//! The three outputs.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{HEADER, evaluation, evaluators, flat, sandbox, two_evaluators};
use crate::support::{MockServer, Purpose, Reply, Sandbox, redactions};

#[test]
fn the_table_has_the_averages_of_all_evaluators() {
    let server = MockServer::with(|request| {
        let scores = match request.model() {
            "model-a" => [8.0, 7.0, 6.0, 9.0, 5.0, 8.0, 7.0, 7.0],
            "model-b" => [7.0, 7.5, 6.0, 8.0, 5.5, 8.0, 6.0, 7.5],
            _ => [7.0, 7.0, 6.0, 9.0, 5.0, 8.0, 7.0, 7.5],
        };
        Reply::json(evaluation(scores.map(|score| json!(score))))
    });
    let sandbox = sandbox(&server, &evaluators(&["a", "b", "c"]));
    let finished = sandbox.run(["eval", "-c", "eval.json", "-d", "debates/simple.json"]).expect_code(0);
    insta::assert_snapshot!(finished, @"
    exit: 0
    --- stdout
    | Functional Completeness | Performance & Scalability | Security | Maintainability & Evolvability | Regulatory Compliance | Testability | Requirements Fulfillment | Overall Score |
    | --- | --- | --- | --- | --- | --- | --- | --- |
    | 7.33 | 7.17 | 6.00 | 8.67 | 5.17 | 8.00 | 6.67 | 7.33 |

    --- stderr
    3 to 6 calls, of unknown cost (no price is known for model-a and 2 more)
    ");
    assert_eq!(server.requests().len(), 3);
    for request in server.requests() {
        assert_eq!((request.purpose, &request.body["temperature"]), (Purpose::Evaluate, &json!(0.1)));
        assert!(request.schema().is_some());
    }
    server.assert_clean();
    sandbox.assert_no_file_has_the_key();
}

#[test]
fn the_json_has_the_averages_and_what_each_returned() {
    let server = MockServer::with(|request| {
        let mut answer = flat(if request.model() == "model-a" { 8.0 } else { 7.125 });
        // What the note does not know is kept, and a score that is out of range is kept as it came.
        answer["extra"] = json!("of their own");
        answer["evaluation"]["non_functional"]["security"] =
            if request.model() == "model-a" { json!({"score": 12}) } else { json!({}) };
        answer["evaluation"]["non_functional"]["testability"] = Value::Null;
        Reply::json(answer)
    });
    let sandbox = sandbox(&server, &evaluators(&["b", "a"]));
    let arguments = ["eval", "-c", "eval.json", "-d", "simple", "-o", "out/of/here/scores.JSON"];
    let finished = sandbox.run(arguments).expect_code(0);
    assert_eq!(finished.stdout, "");
    assert!(finished.stderr.ends_with("Wrote the result to out/of/here/scores.JSON\n"), "{finished}");
    let written = sandbox.read("out/of/here/scores.JSON");
    let averages = written.split("\"agents\"").next().unwrap();
    insta::assert_snapshot!(averages, @r#"
    {
      "evaluation": {
        "functional_completeness": {
          "average_score": 7.56
        },
        "non_functional": {
          "performance_scalability": {
            "average_score": 7.56
          },
          "security": {
            "average_score": 10.0
          },
          "maintainability_evolvability": {
            "average_score": 7.56
          },
          "regulatory_compliance": {
            "average_score": 7.56
          },
          "testability": {
            "average_score": null
          },
          "requirements_fulfillment": {
            "average_score": 7.56
          }
        }
      },
      "overall_score": 7.56,
    "#);
    let written: Value = serde_json::from_str(&written).unwrap();
    let returned = &written["agents"]["a"];
    assert_eq!(returned["evaluation"]["non_functional"]["security"], json!({"score": 12}));
    assert_eq!(
        (&returned["extra"], &returned["overall_summary"]["strengths"]),
        (&json!("of their own"), &json!(["s"]))
    );
    assert_eq!(written["agents"].as_object().unwrap().len(), 2);
    assert_eq!(written.as_object().unwrap().len(), 3);
}

#[test]
fn the_csv_gets_a_row_for_each_run_and_one_header() {
    let server = two_evaluators();
    let sandbox = sandbox(&server, &evaluators(&["a", "b"]));
    let arguments = ["eval", "-c", "eval.json", "-d", "debates/simple.json", "-o", "sub/scores.csv"];
    sandbox.run(arguments).expect_code(0);
    sandbox.write("debates/a, \"b\".json", super::SIMPLE);
    server.set_script(|_| {
        let mut answer = flat(1.0);
        answer["evaluation"]["non_functional"]["security"] = json!({"score": "none"});
        Reply::json(answer)
    });
    sandbox.run(["eval", "-c", "eval.json", "-d", "debates/a, \"b\".json", "-o", "sub/scores.csv"]).expect_code(0);
    let expected = [
        HEADER,
        "simple,7.50,7.50,7.50,7.50,7.50,7.50,7.50,7.50",
        "\"a, \"\"b\"\"\",1.00,1.00,,1.00,1.00,1.00,1.00,1.00",
    ];
    assert_eq!(sandbox.read("sub/scores.csv"), expected.map(|row| format!("{row}\n")).concat());
}

#[test]
fn a_csv_of_another_tool_keeps_its_line_ends() {
    let server = two_evaluators();
    for end in ["\n", "\r\n"] {
        let before = format!("{HEADER}{end}old,1,1,1,1,1,1,1,1");
        let sandbox = sandbox(&server, &evaluators(&["a"])).file("scores.csv", &before);
        sandbox.run(["eval", "-c", "eval.json", "-d", "simple", "-o", "scores.csv"]).expect_code(0);
        let row = "simple,8.00,8.00,8.00,8.00,8.00,8.00,8.00,8.00";
        assert_eq!(sandbox.read("scores.csv"), format!("{before}{end}{row}{end}"));
    }
}

#[test]
fn any_other_file_gets_the_table_in_place_of_what_it_held() {
    let server = two_evaluators();
    let sandbox = sandbox(&server, &evaluators(&["a"])).file("scores.md", "old");
    let finished = sandbox.run(["eval", "-c", "eval.json", "-d", "latest", "-o", "scores.md"]).expect_code(0);
    assert_eq!(finished.stdout, "");
    let table = sandbox.read("scores.md");
    assert_eq!(table.lines().count(), 3);
    assert!(table.ends_with("| 8.00 | 8.00 | 8.00 | 8.00 | 8.00 | 8.00 | 8.00 | 8.00 |\n"), "{table}");
}

#[test]
fn verbose_says_who_evaluates_and_what_it_took() {
    let server = MockServer::with(|request| {
        let mut answer = flat(8.0);
        if request.model() == "model-b" {
            answer["overall_summary"]["overall_score"] = json!(0);
        }
        Reply::json(answer).usage(1000, 0, 234)
    });
    let mut configuration = evaluators(&["a", "b"]);
    configuration["agents"][1]["userPromptPath"] = json!("prompts/own.md");
    configuration["agents"][0]["maxTokens"] = json!(2000);
    configuration["agents"][1]["timeout"] = json!(45000);
    configuration["prices"] = json!({
        "model-a": {"inputPerMTok": 10, "outputPerMTok": 100}, "model-b": {"inputPerMTok": 20, "outputPerMTok": 100},
    });
    let sandbox = sandbox(&server, &configuration).file("prompts/own.md", "Score this: {final_solution}");
    let finished = sandbox.run(["eval", "-c", "eval.json", "-d", "simple", "-v"]).expect_code(0);
    redactions().bind(|| insta::assert_snapshot!(finished, @"
    exit: 0
    --- stdout
    | Functional Completeness | Performance & Scalability | Security | Maintainability & Evolvability | Regulatory Compliance | Testability | Requirements Fulfillment | Overall Score |
    | --- | --- | --- | --- | --- | --- | --- | --- |
    | 8.00 | 8.00 | 8.00 | 8.00 | 8.00 | 8.00 | 8.00 | 4.50 |

    --- stderr
    Evaluators
      a (The a): model openai/model-a, first token within 10 min 0 s, at most 2,000 tokens per answer
        system prompt built-in, message built-in
      b (The b): model openai/model-b, first token within [time]
        system prompt built-in, message [directory]/prompts/own.md
    2 to 4 calls, likely $0.23, at most $1.39
    warning: evaluator b: `overall_score` is 0, not between 1 and 10; counting it as 1
    Evaluations
      evaluator a: [time], 1,234 tokens, 8 scores counted, 0 ignored or clamped
      evaluator b: [time], 1,234 tokens, 8 scores counted, 1 ignored or clamped
      total: 2 answers, 2,468 tokens, cost $0.0768
    "));
    let limits =
        server.requests().iter().map(|one| (one.model().to_owned(), one.max_tokens())).collect::<BTreeMap<_, _>>();
    assert_eq!((limits["model-a"], limits["model-b"]), (Some(2000), None));
    // A price that nobody knows is no price of nothing.
    configuration["prices"] = Value::Null;
    sandbox.write("eval.json", configuration.to_string());
    let finished = sandbox.run(["eval", "-c", "eval.json", "-d", "simple", "-v"]).expect_code(0);
    assert!(finished.stderr.contains("total: 2 answers, 2,468 tokens, cost unknown"), "{finished}");
}

#[test]
fn offline_nothing_is_scored_and_the_output_says_so() {
    let sandbox = Sandbox::new();
    let problem = "Design a photo store. It must survive the loss of a disk. It shall keep an audit log.";
    sandbox.run(["debate", "--offline", problem]).expect_code(0);
    // Without a configuration one evaluator is built in; with one, each is called offline and none needs its key.
    let first = sandbox.run(["eval", "--offline", "-d", "latest"]).expect_code(0);
    assert_eq!(first.stdout, sandbox.run(["eval", "--offline", "-d", "latest"]).expect_code(0).stdout);
    assert_eq!(first.stderr, "This was a rehearsal: no model was called, and there are no scores.\n");
    sandbox.write("eval.json", evaluators(&["a", "b"]).to_string());
    let arguments = ["eval", "--offline", "-c", "eval.json", "-d", "latest", "-o", "scores.json"];
    sandbox.run(arguments).expect_code(0);
    let written: Value = serde_json::from_str(&sandbox.read("scores.json")).unwrap();
    assert!(written["overall_score"].is_null(), "{written}");
    let returned = &written["agents"]["b"]["evaluation"]["non_functional"]["security"];
    assert!(returned["reasoning"].as_str().unwrap().starts_with("Rehearsal: "), "{returned}");
}

#[test]
fn a_device_is_written_to_and_not_replaced() {
    use std::os::unix::fs::FileTypeExt;
    // A link, so that a mistake would take away the link and not the device.
    let sandbox = Sandbox::new().file("simple.json", super::SIMPLE);
    std::os::unix::fs::symlink("/dev/full", sandbox.directory().join("s.md")).unwrap();
    let finished = sandbox.run(["eval", "--offline", "-d", "simple.json", "-o", "s.md"]).expect_code(1);
    assert!(finished.stderr.contains("error: cannot write s.md\ncaused by: No space left on device"), "{finished}");
    assert!(sandbox.directory().join("s.md").metadata().unwrap().file_type().is_char_device());
}
