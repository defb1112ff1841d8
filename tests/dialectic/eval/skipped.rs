//! Scores that do not count as they stand, and evaluators that count for nothing.

use nix::sys::signal::Signal;
use serde_json::json;

use super::{HEADER, evaluators, flat, sandbox};
use crate::support::{MockServer, Reply};

const EVAL: [&str; 5] = ["eval", "-c", "eval.json", "-d", "simple"];

#[test]
fn an_evaluator_that_fails_or_says_nothing_is_skipped() {
    let server = MockServer::with(|request| match request.model() {
        "model-refused" => Reply::error(400, "no such model"),
        "model-prose" => Reply::text("I would rather not."),
        "model-late" if request.messages.len() == 2 => Reply::text("soon"),
        "model-late" => Reply::error(401, "who are you?"),
        _ => Reply::json(flat(6.5)),
    });
    let mut configuration = evaluators(&["refused", "prose", "late", "good"]);
    configuration["agents"][3]["timeout"] = json!(2500);
    let finished = sandbox(&server, &configuration).run(EVAL).expect_code(0);
    insta::assert_snapshot!(finished, @"
    exit: 0
    --- stdout
    | Functional Completeness | Performance & Scalability | Security | Maintainability & Evolvability | Regulatory Compliance | Testability | Requirements Fulfillment | Overall Score |
    | --- | --- | --- | --- | --- | --- | --- | --- |
    | 6.50 | 6.50 | 6.50 | 6.50 | 6.50 | 6.50 | 6.50 | 6.50 |

    --- stderr
    warning: `agents[3].timeout` is 2500 ms, too short for a model to think; allowing 600000 ms until the first token
    4 to 8 calls, of unknown cost (no price is known for model-good and 3 more)
    warning: skipped evaluator refused: the request was refused (400): no such model
    warning: skipped evaluator prose: the answer is not a JSON evaluation: it contains no JSON object
    warning: skipped evaluator late: the answer is not a JSON evaluation: it contains no JSON object, and asking again failed: the key was refused (401): who are you?
    ");
}

#[test]
fn an_answer_that_cannot_be_read_gets_a_second_chance() {
    let server = MockServer::with(|request| {
        if request.messages.len() == 2 { Reply::text("{\"evaluation\": 7}") } else { Reply::json(flat(6.0)) }
    });
    let finished = sandbox(&server, &evaluators(&["a"])).run([&EVAL[..], &["-v"]].concat()).expect_code(0);
    assert!(finished.stdout.contains("| 6.00 |"), "{finished}");
    assert!(finished.stderr.contains("total: 2 answers, 240 tokens, "), "{finished}");
    let requests = server.requests();
    assert_eq!(requests.len(), 2);
    let again = requests[1].messages.last().unwrap();
    assert!(again.text.contains("Your answer could not be read as JSON"), "{}", again.text);
    server.assert_clean();
}

#[test]
fn when_all_are_skipped_nothing_is_written() {
    let server = MockServer::with(|_| Reply::error(400, "no such model"));
    let sandbox = sandbox(&server, &evaluators(&["a", "b"]));
    let finished = sandbox.run([&EVAL[..], &["-o", "out/s.csv"]].concat()).expect_code(3);
    insta::assert_snapshot!(finished, @"
    exit: 3
    --- stdout

    --- stderr
    2 to 4 calls, of unknown cost (no price is known for model-a and 1 more)
    warning: skipped evaluator a: the request was refused (400): no such model
    warning: skipped evaluator b: the request was refused (400): no such model
    error: no evaluator could evaluate simple
    ");
    assert!(!sandbox.directory().join("out/s.csv").exists());
}

#[test]
fn a_debate_that_nobody_evaluated_does_not_cost_the_others_theirs() {
    let server = MockServer::with(|request| {
        if request.prompt().contains("parcel lockers") { Reply::text("no") } else { Reply::json(flat(6.0)) }
    });
    let sandbox = sandbox(&server, &evaluators(&["a"]));
    let finished = sandbox.run(["eval", "-c", "eval.json", "-d", "clarified", "simple"]).expect_code(3);
    assert!(finished.stdout.contains("| simple | 6.00 |"), "{finished}");
    assert!(finished.stdout.contains("| clarified | N/A |"), "{finished}");
    assert!(finished.stderr.ends_with("error: no evaluator could evaluate clarified\n"), "{finished}");
    // A row without scores would have to be taken out again by hand.
    sandbox.run(["eval", "-c", "eval.json", "-d", "clarified", "simple", "-o", "s.csv"]).expect_code(3);
    assert_eq!(sandbox.read("s.csv").lines().count(), 2);
}

#[test]
fn all_evaluators_are_asked_at_once_and_an_interrupt_leaves_files_alone() {
    let server = MockServer::with(|_| Reply::hang());
    let sandbox = sandbox(&server, &evaluators(&["a", "b", "c"])).file("s.csv", format!("{HEADER}\r\n"));
    let running = sandbox.spawn([&EVAL[..], &["-o", "s.csv"]].concat());
    server.wait_for_requests(3);
    running.signal(Signal::SIGTERM);
    let finished = running.wait().expect_code(130);
    assert!(finished.stderr.ends_with("\nerror: interrupted; nothing was written\n"), "{finished}");
    assert_eq!(sandbox.read("s.csv"), format!("{HEADER}\r\n"));
}
