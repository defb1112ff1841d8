//! Several debates, and several answers of each evaluator.

use serde_json::{Value, json};

use super::{HEADER, SIMPLE, TOLD, evaluators, flat, sandbox, two_evaluators};
use crate::support::{Incoming, MockServer, Reply};

/// Scores of `simple`, run by run, and of `clarified`.
fn spreading(simple: [f64; 3], clarified: [f64; 3]) -> MockServer {
    MockServer::with(move |request: &Incoming| {
        let scores = if request.prompt().contains("parcel lockers") { clarified } else { simple };
        Reply::json(flat(scores[request.repeats % 3]))
    })
}

#[test]
fn several_debates_have_a_row_each_and_a_row_of_means() {
    let server = MockServer::with(|request| {
        let mut answer = flat(if request.prompt().contains("parcel lockers") { 6.0 } else { 7.5 });
        if request.prompt().contains("parcel lockers") {
            answer["evaluation"]["functional_completeness"] = Value::Null;
        }
        Reply::json(answer)
    });
    let sandbox = sandbox(&server, &evaluators(&["a"])).file("debates/a|b.json", SIMPLE);
    let finished = sandbox.run(["eval", "-c", "eval.json", "-d", "simple", "-d", "debates/*.json"]).expect_code(0);
    insta::assert_snapshot!(finished, @r"
    exit: 0
    --- stdout
    | Debate | Functional Completeness | Performance & Scalability | Security | Maintainability & Evolvability | Regulatory Compliance | Testability | Requirements Fulfillment | Overall Score |
    | --- | --- | --- | --- | --- | --- | --- | --- | --- |
    | simple | 7.50 | 7.50 | 7.50 | 7.50 | 7.50 | 7.50 | 7.50 | 7.50 |
    | a\|b | 7.50 | 7.50 | 7.50 | 7.50 | 7.50 | 7.50 | 7.50 | 7.50 |
    | clarified | N/A | 6.00 | 6.00 | 6.00 | 6.00 | 6.00 | 6.00 | 6.00 |
    | Mean | 7.50 | 7.00 | 7.00 | 7.00 | 7.00 | 7.00 | 7.00 | 7.00 |

    --- stderr
    3 to 6 calls, of unknown cost (no price is known for model-a)
    ");
    // One request for each debate, though one of them was named twice.
    assert_eq!(server.requests().len(), 3);

    sandbox.run(["eval", "-c", "eval.json", "-d", "clarified", "simple", "-o", "s.json"]).expect_code(0);
    let written: Value = serde_json::from_str(&sandbox.read("s.json")).unwrap();
    let names: Vec<&Value> = written.as_array().unwrap().iter().map(|one| &one["debate"]).collect();
    assert_eq!(names, [&json!("clarified"), &json!("simple")]);
    assert_eq!(written[1]["evaluation"]["non_functional"]["security"], json!({"average_score": 7.5}));

    sandbox.run(["eval", "-c", "eval.json", "-d", "clarified", "simple", "-o", "s.csv"]).expect_code(0);
    let written = sandbox.read("s.csv");
    let rows: Vec<&str> = written.lines().collect();
    assert_eq!(rows[0], HEADER);
    assert_eq!(
        rows[1..],
        ["clarified,,6.00,6.00,6.00,6.00,6.00,6.00,6.00", "simple,7.50,7.50,7.50,7.50,7.50,7.50,7.50,7.50"]
    );
}

#[test]
fn an_unfinished_debate_is_left_out_of_several() {
    let server = two_evaluators();
    let mut running: Value = serde_json::from_str(SIMPLE).unwrap();
    running["status"] = json!("running");
    running["finalSolution"] = Value::Null;
    let sandbox = sandbox(&server, &evaluators(&["a"]))
        .file("debates/running.json", running.to_string())
        .file("other/running.json", running.to_string())
        .file("other/second.json", running.to_string());
    let left_out = |path: &str| {
        format!("warning: cannot evaluate the debate {path}: `finalSolution.description` is missing; skipping it\n")
    };
    let finished = sandbox.run(["eval", "-c", "eval.json", "-d", "debates/*.json", "-o", "s.csv"]).expect_code(0);
    assert_eq!(
        finished.stderr,
        left_out("debates/running.json") + &TOLD.replace("1 to 2", "2 to 4") + "Wrote the result to s.csv\n"
    );
    let written = sandbox.read("s.csv");
    let names: Vec<&str> = written.lines().skip(1).map(|row| row.split(',').next().unwrap()).collect();
    assert_eq!(names, ["clarified", "simple"]);
    assert_eq!(server.requests().len(), 2);
    // None is left.
    let finished = sandbox.run(["eval", "-c", "eval.json", "-d", "other/*.json"]).expect_code(2);
    assert_eq!(
        finished.stderr,
        left_out("other/running.json")
            + &left_out("other/second.json")
            + "error: none of the 2 debates has a solution\n\
               hint: only a debate that ended with a solution can be evaluated\n"
    );
    // One alone was meant.
    let finished = sandbox.run(["eval", "-c", "eval.json", "-d", "other/*second.json"]).expect_code(2);
    assert!(finished.stderr.starts_with("error: cannot evaluate the debate other/second.json"), "{finished}");
    // All are looked at before the first is paid for.
    sandbox.write("debates/zero.json", "{}");
    let finished = sandbox.run(["eval", "-c", "eval.json", "-d", "debates/*.json"]).expect_code(2);
    assert!(finished.stderr.contains("zero.json") && finished.stderr.contains("missing field `id`"), "{finished}");
    assert_eq!(server.requests().len(), 2);
}

#[test]
fn repetitions_have_a_mean_and_a_spread() {
    let server = spreading([7.0, 8.0, 7.5], [5.0, 5.0, 5.0]);
    let sandbox = sandbox(&server, &evaluators(&["a"]));
    let repeat = ["eval", "-c", "eval.json", "--repeat", "3", "-d", "simple"];
    let finished = sandbox.run(repeat).expect_code(0);
    insta::assert_snapshot!(finished, @"
    exit: 0
    --- stdout
    | Functional Completeness | Performance & Scalability | Security | Maintainability & Evolvability | Regulatory Compliance | Testability | Requirements Fulfillment | Overall Score | Runs |
    | --- | --- | --- | --- | --- | --- | --- | --- | --- |
    | 7.50 ± 0.50 | 7.50 ± 0.50 | 7.50 ± 0.50 | 7.50 ± 0.50 | 7.50 ± 0.50 | 7.50 ± 0.50 | 7.50 ± 0.50 | 7.50 ± 0.50 | 3 |

    --- stderr
    3 to 6 calls, of unknown cost (no price is known for model-a)
    ");
    assert_eq!(server.requests().len(), 3);

    sandbox.run([&repeat[..], &["-o", "s.json"]].concat()).expect_code(0);
    let written: Value = serde_json::from_str(&sandbox.read("s.json")).unwrap();
    let score = json!({"average_score": 7.5, "standard_deviation": 0.5});
    assert_eq!(written["evaluation"]["functional_completeness"], score);
    assert_eq!(written["evaluation"]["non_functional"]["testability"], score);
    assert_eq!((&written["overall_score"], &written["overall_standard_deviation"]), (&json!(7.5), &json!(0.5)));
    let runs = written["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 3);
    // Each run has the form of an evaluation without repetitions.
    let keys: Vec<&String> = runs[0].as_object().unwrap().keys().collect();
    assert_eq!(keys, ["evaluation", "overall_score", "agents"]);
    assert_eq!(runs[0]["evaluation"]["functional_completeness"].as_object().unwrap().len(), 1);

    sandbox.run([&repeat[..], &["-o", "s.csv"]].concat()).expect_code(0);
    let mut rows: Vec<String> = sandbox.read("s.csv").lines().skip(1).map(|row| row[..11].to_owned()).collect();
    rows.sort();
    assert_eq!(rows, ["simple,7.00", "simple,7.50", "simple,8.00"]);
}

#[test]
fn a_run_in_which_nobody_answered_does_not_count() {
    let server =
        MockServer::with(|request| if request.index >= 1 { Reply::error(400, "no") } else { Reply::json(flat(6.0)) });
    let sandbox = sandbox(&server, &evaluators(&["a"]));
    let finished = sandbox.run(["eval", "-c", "eval.json", "--repeat", "2", "-d", "simple"]).expect_code(0);
    assert!(finished.stdout.contains("| 6.00 ± N/A | 1 |"), "{finished}");
    assert!(finished.stderr.contains("warning: skipped evaluator a (run "), "{finished}");
}

#[test]
fn a_spread_that_is_larger_than_a_difference_is_said() {
    // Means 7.5 and 7.2, deviations 0.5 and 0.
    let server = spreading([7.0, 8.0, 7.5], [7.2; 3]);
    let near = sandbox(&server, &evaluators(&["a"]));
    let repeat = ["eval", "-c", "eval.json", "--repeat", "3", "-d", "simple", "clarified"];
    insta::assert_snapshot!(near.run(repeat).expect_code(0), @"
    exit: 0
    --- stdout
    | Debate | Functional Completeness | Performance & Scalability | Security | Maintainability & Evolvability | Regulatory Compliance | Testability | Requirements Fulfillment | Overall Score | Runs |
    | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
    | simple | 7.50 ± 0.50 | 7.50 ± 0.50 | 7.50 ± 0.50 | 7.50 ± 0.50 | 7.50 ± 0.50 | 7.50 ± 0.50 | 7.50 ± 0.50 | 7.50 ± 0.50 | 3 |
    | clarified | 7.20 ± 0.00 | 7.20 ± 0.00 | 7.20 ± 0.00 | 7.20 ± 0.00 | 7.20 ± 0.00 | 7.20 ± 0.00 | 7.20 ± 0.00 | 7.20 ± 0.00 | 3 |
    | Mean | 7.35 | 7.35 | 7.35 | 7.35 | 7.35 | 7.35 | 7.35 | 7.35 | 6 |

    --- stderr
    6 to 12 calls, of unknown cost (no price is known for model-a)
    the difference between simple and clarified is within the standard deviation for:
      Functional Completeness: difference 0.30, spread 0.50
      Performance & Scalability: difference 0.30, spread 0.50
      Security: difference 0.30, spread 0.50
      Maintainability & Evolvability: difference 0.30, spread 0.50
      Regulatory Compliance: difference 0.30, spread 0.50
      Testability: difference 0.30, spread 0.50
      Requirements Fulfillment: difference 0.30, spread 0.50
      Overall Score: difference 0.30, spread 0.50
    ");
    // Means 7.5 and 7.0: the spread of 0.5 is not larger than the difference.
    let server = spreading([7.0, 8.0, 7.5], [7.0; 3]);
    let far = sandbox(&server, &evaluators(&["a"]));
    assert_eq!(far.run(repeat).expect_code(0).stderr, TOLD.replace("1 to 2", "6 to 12"));
}
