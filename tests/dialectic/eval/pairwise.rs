//! `--pairwise`: which of two answers is better.

use nix::sys::signal::Signal;
use serde_json::{Value, json};

use crate::support::{Incoming, MockServer, Purpose, Reply, Sandbox, short_reply};

use super::{CLARIFIED, SIMPLE, evaluators};

const CHECKLIST: &str = "Your task: make a checklist";
const PAIRWISE: [&str; 8] =
    ["eval", "-c", "eval.json", "--pairwise", "one.md", "two.md", "--problem-file", "problem.md"];

/// A server whose judge of comparisons answers like that.
fn server(judge: impl Fn(&Incoming) -> &'static str + Send + Sync + 'static) -> MockServer {
    MockServer::with(move |request| {
        if request.prompt().contains(CHECKLIST) {
            return Reply::json(json!({"items": ["Is it safe?"]})).usage(500, 0, 50);
        }
        let reply = json!({"first": [true], "second": [false], "reason": "why", "better": judge(request)});
        Reply::json(reply).usage(1000, 0, 50)
    })
}

fn sandbox(server: &MockServer) -> Sandbox {
    let mut priced = evaluators(&["a"]);
    priced["prices"] = json!({"model-a": {"inputPerMTok": 1, "outputPerMTok": 2}});
    Sandbox::new()
        .model_server(server)
        .file("eval.json", priced.to_string())
        .file("problem.md", "Design a rate limiter. It must be fast.\n")
        .file("one.md", "A token bucket in memory.")
        .file("two.md", "A good token bucket for each tenant.")
}

/// Prefers the text that calls itself good.
fn good(request: &Incoming) -> &'static str {
    let prompt = request.prompt();
    let (_, shown) = prompt.split_once("# Text 2").expect("both texts are there");
    if shown.contains("A good token bucket") { "second" } else { "first" }
}

#[test]
fn the_better_of_two_answers_is_better_in_both_orders() {
    let server = server(good);
    let here = sandbox(&server);
    let finished = here.run(PAIRWISE.into_iter().chain(["--repeat", "2", "--json"])).expect_code(0);
    assert!(finished.stderr.contains("5 to 10 calls, likely $"), "{finished}");
    assert!(finished.stderr.contains("answers in files have unknown authors"), "{finished}");
    let said = finished.json();
    assert_eq!((&said["losses"], &said["turned"], &said["b"]), (&json!(1), &json!(0), &json!("two.md")));
    let problem = &said["problems"][0];
    assert_eq!((&problem["problem"], &problem["decision"]), (&json!("problem.md"), &json!("B")));
    let neither_first = json!({
        "judge": "a", "ruling": "B",
        "firstShownA": {"better": "B", "reason": "why"},
        "firstShownB": {"better": "B", "reason": "why"},
    });
    assert_eq!(problem["rulings"], json!([neither_first, neither_first]));
    assert!(said["costUsd"].as_f64().unwrap() > 0.0);
    let asked = server.requests();
    assert_eq!(asked.len(), 5);
    let checklist = asked[0].prompt();
    assert!(checklist.contains(CHECKLIST) && !checklist.contains("token bucket"), "made from the problem alone");
    for request in &asked {
        let prompt = request.prompt();
        assert!(!prompt.contains("one.md") && !prompt.contains("two.md"), "judges are blind: {prompt}");
    }
    let text = here.run(PAIRWISE).expect_code(0).stdout;
    assert!(
        text.contains(
            "B: two.md\n\nproblem.md: B is better\n  a: B is better\n\n0 of 1 ruling changed with the order\n"
        ),
        "{text}"
    );
    server.assert_clean();
}

#[test]
fn a_judge_that_always_takes_the_first_decides_nothing() {
    let server = server(|_| "first");
    let finished = sandbox(&server).run(PAIRWISE).expect_code(0);
    assert!(finished.stdout.contains("a: changed with the order: A with A first, B with B first"), "{finished}");
    assert!(finished.stdout.contains("problem.md: not decided\n"), "{finished}");
}

#[test]
fn debates_bring_their_problem_and_the_cost_counts_for_the_day() {
    let server = server(good);
    let here = sandbox(&server).file("debates/simple.json", SIMPLE).file("debates/clarified.json", CLARIFIED);
    let arguments = ["eval", "-c", "eval.json", "--pairwise", "simple", "two.md"];
    here.run(arguments).expect_code(0).prints(["A: simple\n"]);
    let asked = server.requests().len();
    let ledger: Value = serde_json::from_str(&here.read("debates/spending.ledger")).unwrap();
    assert!(ledger["removed"][0]["usd"].as_f64().unwrap() > 0.0, "{ledger}");
    let offline = here.run(["eval", "--offline", "--pairwise", "simple", "two.md"]).expect_code(0);
    assert!(offline.stderr.contains("no model was called, and nothing was compared"), "{offline}");
    assert_eq!(server.requests().len(), asked);
}

#[test]
fn what_cannot_be_compared_is_refused_before_anything_is_paid_for() {
    let server = server(good);
    let here = sandbox(&server)
        .file("debates/simple.json", SIMPLE)
        .file("empty.md", " \n")
        .file("same.md", "A token bucket in memory.\n")
        .file("other.md", "Design a cache");
    for (pair, problem, expected) in [
        (["one.md", "two.md"], None, "cannot tell which problem the two answers belong to"),
        (["one.md", "same.md"], Some("problem.md"), "the two answers are identical"),
        (["one.md", "empty.md"], Some("problem.md"), "empty.md is empty"),
        (["simple", "two.md"], Some("other.md"), "other.md and simple concern different problems"),
        (["one.md", "two.md"], Some("none.md"), "cannot read none.md"),
    ] {
        let problem = problem.map(|path| ["--problem-file", path]);
        let arguments = ["eval", "-c", "eval.json", "--pairwise"].into_iter().chain(pair);
        let finished = here.run(arguments.chain(problem.into_iter().flatten()));
        assert!(finished.stderr.contains(expected), "{expected}\n{finished}");
    }
    here.run(["eval", "-c", "eval.json", "-d", "simple", "--pairwise", "one.md", "two.md"]).expect_code(2);
    assert!(server.requests().is_empty());
}

#[test]
fn an_interrupt_writes_nothing() {
    let server = MockServer::with(|_| Reply::hang());
    let here = sandbox(&server);
    let running = here.spawn(PAIRWISE);
    server.wait_for_requests(1);
    running.signal(Signal::SIGINT);
    let interrupted = running.wait().expect_code(130).says(["interrupted; nothing was written"]);
    assert_eq!((interrupted.stdout.as_str(), server.requests().len()), ("", 1));
}

/// Two variants of a set: problems are counted, and too few decided ones say nothing.
#[test]
fn variants_of_a_set_are_compared_problem_by_problem() {
    let server = MockServer::with(|request| {
        let prompt = request.prompt();
        if prompt.contains(CHECKLIST) {
            return Reply::json(json!({"items": ["Is it right?"]})).usage(500, 0, 50);
        }
        if prompt.contains("Your task: compare the texts") {
            // Of sums the debate is better in both orders; of queues the first is, whichever it is.
            let (_, second) = prompt.split_once("# Text 2").expect("both texts are there");
            let is_second = prompt.contains("40 + 2") && second.contains("by several");
            let better = if is_second { "second" } else { "first" };
            return Reply::json(json!({"first": [], "second": [], "reason": "why", "better": better}))
                .usage(500, 0, 50);
        }
        let reply = short_reply(request);
        if request.purpose == Purpose::Synthesize { Reply::text("Solved by several.") } else { reply }.usage(500, 0, 50)
    });
    let here = crate::sweep::sandbox(&server).file("eval.json", evaluators(&["a"]).to_string());
    here.run(["sweep", "plan", "sweep.json", "-o", "plan.jsonl"]).expect_code(0);
    let compare = |more: &[&str]| {
        let arguments = ["eval", "-c", "eval.json", "--pairwise", "plan.jsonl:debate", "plan.jsonl:single"];
        here.run(arguments.iter().chain(more))
    };
    compare(&[]).expect_code(75).says(["no problem has finished debates for both variants"]);
    here.run(["sweep", "run", "plan.jsonl", "--store", "set"]).expect_code(0);
    let before = server.requests().len();
    let finished = compare(&["--store", "set"]).expect_code(0);
    for said in [
        "A: plan.jsonl:debate\nB: plan.jsonl:single\n\nqueue: not decided\nsum: A is better\n",
        "A: 1 win, 1 tie, 0 losses\nFewer than 6 problems were decided, too few to say which is better\n",
        "2 of 4 rulings changed with the order\n",
    ] {
        assert!(finished.stdout.contains(said), "{said}\n{finished}");
    }
    // The queue has a checklist; one is made for the sum. Two pairs each, in both orders.
    assert_eq!(server.requests().len() - before, 1 + 2 * 4);
    let said: Value = serde_json::from_str(&compare(&["--store", "set", "--json"]).expect_code(0).stdout).unwrap();
    assert_eq!((&said["wins"], &said["ties"], &said["p"]), (&json!(1), &json!(1), &Value::Null));

    // A judge of another family than the authors' judges alone.
    let mut judges = evaluators(&["a", "other"]);
    judges["agents"][1]["model"] = "gemini-pro".into();
    here.write("eval.json", judges.to_string());
    let finished = compare(&["--store", "set", "--json"]).expect_code(0);
    assert!(
        finished
            .stderr
            .contains("judge a: model-a may belong to the same model family as a participant; excluded from judging"),
        "{finished}"
    );
    let said = finished.json();
    assert_eq!((said["judges"].as_array().unwrap().len(), &said["judges"][0]["id"]), (1, &json!("other")));

    for (pair, expected) in [
        (["plan.jsonl:debate", "plan.jsonl:none"], "plan.jsonl does not contain the variant `none`"),
        (["plan.jsonl:debate", "plan.jsonl:debate"], "only two variants of the same plan can be compared"),
        (["plan.jsonl:debate", "notes.txt"], "a variant can only be compared with another variant of the same set"),
    ] {
        here.run(["eval", "-c", "eval.json", "--pairwise"].into_iter().chain(pair)).expect_code(2).says([expected]);
    }
}
