//! `dialectic lift`: debates against other ways to spend their money.

use std::time::Duration;

use nix::sys::signal::Signal;
use serde_json::{Value, json};

use crate::budget::priced;
use crate::support::{Incoming, MockServer, Purpose, Reply, Sandbox, default_reply, short_reply};

const COMPARE: &str = "Your task: compare the texts";
const CHECKLIST: &str = "Your task: make a checklist";

/// The two texts of a ruling, in their order.
fn texts(request: &Incoming) -> [String; 2] {
    let prompt = request.prompt();
    let (_, shown) = prompt.split_once("# Text 1").expect("the first text is there");
    let (first, rest) = shown.split_once("# Text 2").expect("the second text is there");
    [first.to_owned(), rest.split("# Your task").next().unwrap_or_default().to_owned()]
}

fn ruling(better: &str) -> Reply {
    Reply::json(json!({"first": [true], "second": [false], "reason": "why", "better": better})).usage(1000, 0, 50)
}

/// The number of a text that can be chosen.
fn choice(request: &Incoming) -> Reply {
    let prompt = request.prompt();
    let (_, shown) = prompt.split_once("Text ").expect("a text is shown");
    let number: String = shown.chars().take_while(char::is_ascii_digit).collect();
    Reply::json(json!({"reason": "why", "choice": number, "confidence": 60}))
}

/// A server whose judge of comparisons answers like that. Texts cost about the same each time.
pub(crate) fn server(judge: impl Fn(&Incoming) -> &'static str + Send + Sync + 'static) -> MockServer {
    MockServer::with(answers(judge))
}

/// What such a server answers.
pub(crate) fn answers(
    judge: impl Fn(&Incoming) -> &'static str + Send + Sync + 'static,
) -> impl Fn(&Incoming) -> Reply {
    move |request| {
        let prompt = request.prompt();
        if prompt.contains(COMPARE) {
            return ruling(judge(request));
        }
        if prompt.contains(CHECKLIST) {
            return Reply::json(json!({"items": ["Is it safe?", "Is it cheap?"]})).usage(500, 0, 50);
        }
        match request.purpose {
            Purpose::Vote => choice(request).usage(2000, 0, 60),
            _ => short_reply(request).usage(1000, 500, 300),
        }
    }
}

pub(crate) fn judges() -> Value {
    json!({
        "agents": [{"id": "strict", "model": "model-strict", "provider": "openai"}],
        "prices": {"model-strict": {"inputPerMTok": 1, "outputPerMTok": 10}},
    })
}

fn sandbox(server: &MockServer) -> Sandbox {
    Sandbox::new()
        .model_server(server)
        .config(&priced(&["architect", "kiss"], &json!({"rounds": 2})))
        .file("judges.json", judges().to_string())
        .file("set/queue.md", "Design a queue")
        .file("set/cache.md", "Design a cache")
        .file("set/README.md", "Not a problem")
        .file("set/checklists/cache.md", "# Checklist\n\n- [ ] Does it evict?\n")
}

const LIFT: [&str; 4] = ["lift", "set", "--judges", "judges.json"];

#[test]
fn the_arms_spend_what_the_debate_cost_and_nothing_is_paid_for_twice() {
    let server = server(|_| "first");
    let sandbox = sandbox(&server);
    let dry = sandbox.run(LIFT.into_iter().chain(["--dry-run"])).expect_code(0);
    assert!(dry.stdout.contains("2 debates, 6 arms, 8 comparisons, 1 checklist, likely $"), "{dry}");
    assert!(server.requests().is_empty() && sandbox.debates().is_empty());

    let finished = sandbox.run(LIFT.into_iter().chain(["--json"])).expect_code(0);
    assert!(finished.stderr.contains("2 debates, 6 arms, 8 comparisons, 1 checklist, likely $"), "{finished}");
    assert!(finished.stderr.contains("the family of model-strict is unknown"), "{finished}");
    let said: Value = serde_json::from_str(&finished.stdout).unwrap();
    for arm in said["arms"].as_array().unwrap() {
        let share = &arm["shareOfMoney"];
        assert!(share[0].as_f64().unwrap() >= 0.75 && share[1].as_f64().unwrap() <= 1.0, "{arm}");
        // Always the first: the order turns every ruling.
        assert_eq!((&arm["turned"], &arm["rulings"], &arm["ties"]), (&json!(2), &json!(2), &json!(2)), "{arm}");
        assert_eq!((&arm["tooFew"], &arm["p"]), (&json!(true), &Value::Null), "{arm}");
    }
    assert_eq!(said["rehearsal"], false);
    // The debate, a single answer, two arms, for each problem.
    assert_eq!(sandbox.debates().len(), 8);
    let asked = server.requests();
    let checklists = asked.iter().filter(|request| request.prompt().contains(CHECKLIST)).count();
    assert_eq!(checklists, 1, "the cache has one of its own");
    let of_cache = asked.iter().find(|request| request.prompt().contains("Does it evict?"));
    assert!(of_cache.is_some_and(|request| request.prompt().contains(COMPARE)));

    let again = sandbox.run(LIFT.into_iter().chain(["--json"])).expect_code(0);
    assert_eq!(again.stdout, finished.stdout);
    assert_eq!(server.requests().len(), asked.len(), "nothing is asked twice");
    sandbox.run(LIFT.into_iter().chain(["--repeat", "2"])).expect_code(0);
    assert_eq!(server.requests().len(), asked.len() + 8, "another ruling in both orders, of four pairs");
    server.assert_clean();
}

#[test]
fn a_judge_that_takes_the_longer_text_is_found_out() {
    let server = server(|request| {
        let [first, second] = texts(request);
        if first.len() > second.len() { "first" } else { "second" }
    });
    let mut sandbox = sandbox(&server);
    for number in 0..6 {
        sandbox = sandbox.file(format!("set/more-{number}.md"), format!("Design queue number {number}"));
    }
    let finished = sandbox.run(LIFT.into_iter().chain(["--against", "single"])).expect_code(0);
    assert!(finished.stdout.contains("Warning: the longer text won"), "{finished}");
    assert!(finished.stdout.contains("Against single (not equal: it costs less)"), "{finished}");
    assert!(finished.stdout.contains("The order of the texts changed 0 of 8 rulings (0 %)."), "{finished}");
}

#[test]
fn an_arm_with_nothing_left_to_mend_is_shown_with_its_share() {
    let server = MockServer::with(|request| {
        if request.prompt().contains(COMPARE) {
            return ruling("neither");
        }
        match request.purpose {
            Purpose::Critique => Reply::text("No objections.").usage(1000, 0, 20),
            _ => short_reply(request).usage(1000, 0, 300),
        }
    });
    let sandbox = sandbox(&server).file("set/checklists/queue.md", "- [ ] Does it queue?\n");
    let finished = sandbox.run(LIFT.into_iter().chain(["--against", "self-refine"])).expect_code(0);
    assert!(finished.stdout.contains("below 90 %: 2, 2 of them with nothing left to fix"), "{finished}");
}

#[test]
fn answers_that_a_program_can_check_need_no_judge() {
    // Only the debate's judge knows it.
    let server = MockServer::with(|request| match request.purpose {
        Purpose::Synthesize => {
            let reply = "It is six times seven.\n\nAnswer: 42\n\n```json\n{\"tradeoffs\": [], \"recommendations\": [], \
                         \"unfulfilledMajorRequirements\": [], \"openQuestions\": [], \"confidence\": 80}\n```";
            Reply::text(reply).usage(1000, 0, 300)
        }
        _ => short_reply(request).usage(1000, 0, 300),
    });
    let set = "{\"id\": \"a\", \"problem\": \"What is 6 * 7?\", \"answer\": 42}\n\
               {\"id\": \"b\", \"problem\": \"What is 7 * 6?\", \"answer\": {\"number\": 41.9, \"within\": 0.2}}\n";
    let sandbox = sandbox(&server).file("sums.jsonl", set);
    let finished = sandbox.run(["lift", "sums.jsonl", "--against", "single", "--json"]).expect_code(0);
    let said: Value = serde_json::from_str(&finished.stdout).unwrap();
    assert_eq!(said["arms"][0]["answers"], json!({"wrongToRight": 2, "rightToWrong": 0}), "{finished}");
    assert_eq!((&said["arms"][0]["wins"], &said["judges"]), (&json!(2), &json!([])));
    let asked = server.requests();
    assert!(asked.iter().all(|request| request.prompt().contains("Answer: <the result>")), "it is asked for");
    assert!(!asked.iter().any(|request| request.prompt().contains(COMPARE)));
}

#[test]
fn what_cannot_be_compared_is_refused_before_anything_is_paid_for() {
    let server = server(|_| "neither");
    let sandbox = sandbox(&server)
        .file("bad.jsonl", "{\"id\": \"a\"}\n")
        .file("unpriced.json", crate::support::config(&["kiss"], &json!({})).to_string());
    for (arguments, code, expected) in [
        (&["lift", "set"][..], 2, "no judges are configured, and 2 of the problems have no `answer`"),
        (&["lift", "bad.jsonl", "--judges", "judges.json"], 2, "bad.jsonl, line 1: missing field `problem`"),
        (&["lift", "nothing", "--judges", "judges.json"], 2, "cannot read nothing"),
        (&["lift", "set", "--judges", "judges.json", "--arm-model", "new"], 4, "the price of new is unknown"),
        (
            &["lift", "set", "--judges", "judges.json", "-c", "unpriced.json", "-m", "new"],
            4,
            "the price of new is unknown",
        ),
        (&["lift", "set", "--judges", "judges.json", "--protocol", "oxford"], 2, "produces no text"),
        (&["lift", "set", "--judges", "judges.json", "--max-cost", "0.001"], 2, "does not cover cache: the debate"),
    ] {
        let finished = sandbox.run(arguments).expect_code(code);
        assert!(finished.stderr.contains(expected), "{expected}\n{finished}");
    }
    assert!(server.requests().is_empty() && sandbox.debates().is_empty());
}

#[test]
fn a_limit_holds_for_the_whole_set_and_the_rest_is_done_later() {
    let server = server(|_| "neither");
    let sandbox = sandbox(&server);
    let stopped = sandbox.run(LIFT.into_iter().chain(["--max-cost", "0.6"])).expect_code(2);
    assert!(stopped.stderr.contains("the limit of $0.6000 does not cover queue: the debate"), "{stopped}");
    let before = server.requests().len();
    assert!(before > 0, "{stopped}");
    let finished = sandbox.run(LIFT.into_iter().chain(["--json"])).expect_code(0);
    let said: Value = serde_json::from_str(&finished.stdout).unwrap();
    assert_eq!(said["arms"][0]["ties"], 2, "{finished}");
    assert_eq!(sandbox.debates().len(), 8, "what was there is not run again");
    // What is there has cost more, but nothing is left to pay for.
    let again = sandbox.run(LIFT.into_iter().chain(["--json", "--max-cost", "0.1"])).expect_code(0);
    assert_eq!(again.stdout, finished.stdout);
}

#[test]
fn a_failed_debate_leaves_its_problem_out_and_goes_on_in_the_next_run() {
    let is_down = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(true));
    let down = std::sync::Arc::clone(&is_down);
    let server = MockServer::with(move |request| {
        let prompt = request.prompt();
        if prompt.contains(COMPARE) {
            return ruling("neither");
        }
        if prompt.contains("Design a cache") && down.load(std::sync::atomic::Ordering::SeqCst) {
            return Reply::error(400, "no");
        }
        match request.purpose {
            Purpose::Vote => choice(request).usage(2000, 0, 60),
            _ => default_reply(request).usage(1000, 0, 300),
        }
    });
    let sandbox = sandbox(&server).file("set/checklists/queue.md", "- [ ] Does it queue?\n");
    let failed = sandbox.run(LIFT.into_iter().chain(["--against", "single"])).expect_code(3);
    assert!(failed.stderr.contains("warning: cache: the debate has no answer"), "{failed}");
    assert!(failed.stderr.contains("1 of 2 comparisons are missing"), "{failed}");
    assert!(
        failed.stdout.contains("Against single (not equal: it costs less): 0 won, 0 lost, 1 not decided"),
        "{failed}"
    );
    is_down.store(false, std::sync::atomic::Ordering::SeqCst);
    sandbox.run(LIFT.into_iter().chain(["--against", "single"])).expect_code(0);
}

#[test]
fn a_rehearsal_counts_as_nothing_and_says_so() {
    let sandbox = Sandbox::new()
        .file("set/queue.md", "Design a queue")
        .file("more.jsonl", "{\"id\": \"cache\", \"problem\": \"Design a cache\"}\n");
    let arguments = ["lift", "set", "more.jsonl", "--offline", "--against", "self-refine,best-of-n,single"];
    let finished = sandbox.run(arguments).expect_code(0);
    assert!(finished.stderr.contains("Offline: no model was called, and nothing was measured"), "{finished}");
    assert!(
        finished.stdout.contains("Against best-of-n: 0 won, 0 lost, 2 not decided\n  Too few for a conclusion"),
        "{finished}"
    );
    assert_eq!(sandbox.debates().len(), 8);
    sandbox.run(arguments).expect_code(0);
    assert_eq!(sandbox.debates().len(), 8);
}

/// However it ends, what was answered before is not asked again; only what was in flight may be.
#[test]
fn an_end_at_any_moment_loses_nothing_that_was_paid_for() {
    let server = MockServer::with(|request| {
        let reply = if request.prompt().contains(COMPARE) {
            ruling("neither")
        } else if request.prompt().contains(CHECKLIST) {
            Reply::json(json!({"items": ["Is it safe?"]})).usage(500, 0, 50)
        } else if request.purpose == Purpose::Vote {
            choice(request).usage(2000, 0, 60)
        } else {
            short_reply(request).usage(1000, 0, 300)
        };
        reply.after(Duration::from_millis(40))
    });
    let sandbox = sandbox(&server);
    for (number, requests) in [4, 9, 16, 24, 34].into_iter().enumerate() {
        let running = sandbox.spawn(LIFT);
        server.wait_for_requests(requests);
        if number % 2 == 0 {
            running.kill();
        } else {
            running.signal(Signal::SIGINT);
            let interrupted = running.wait().expect_code(130);
            assert!(interrupted.stderr.contains("everything that was paid for is kept"), "{interrupted}");
        }
    }
    sandbox.run(LIFT).expect_code(0);
    let asked = server.requests();
    let again = asked.iter().filter(|request| request.repeats > 0).count();
    // Draws have the same question on purpose.
    let draws = asked.iter().filter(|request| request.repeats > 0 && request.purpose == Purpose::Propose).count();
    assert!(again - draws <= 5 * 4, "{again} of {} requests were repeated, {draws} of them draws", asked.len());
    let before = asked.len();
    sandbox.run(LIFT).expect_code(0);
    assert_eq!(server.requests().len(), before);
}

/// Two variants of the debate, in configurations of their own.
fn variants(server: &MockServer) -> Sandbox {
    sandbox(server)
        .file("long.json", priced(&["architect", "kiss"], &json!({"rounds": 4})).to_string())
        .file("short.json", priced(&["architect", "kiss"], &json!({"rounds": 1})).to_string())
        .file("set/checklists/queue.md", "- [ ] Does it queue?\n")
}

const VARIANTS: [&str; 9] =
    ["lift", "set", "--judges", "judges.json", "--variant", "long.json", "--variant", "short.json", "--json"];

#[test]
fn variants_are_compared_debate_against_debate_each_with_its_cost() {
    let server = server(|_| "neither");
    let sandbox = variants(&server);
    let dry = sandbox.run(VARIANTS.into_iter().chain(["--dry-run"])).expect_code(0);
    assert!(dry.stdout.contains("4 debates, 4 comparisons, likely $"), "{dry}");
    let finished = sandbox.run(VARIANTS).expect_code(0);
    let said: Value = serde_json::from_str(&finished.stdout).unwrap();
    assert_eq!(said["variants"][1], json!({"name": "short", "protocol": "dialectic"}), "{finished}");
    let compared = &said["arms"][0];
    assert_eq!((&compared["arm"], &compared["equal"], &compared["ties"]), (&json!("short"), &json!(false), &json!(2)));
    let cost = |key: &str| compared[key].as_f64().unwrap();
    assert!(0.0 < cost("costUsd") && cost("costUsd") < cost("debatesCostUsd"), "{compared}");
    assert_eq!(sandbox.debates().len(), 4, "no arm is run");
    let asked = server.requests().len();
    assert_eq!(sandbox.run(VARIANTS).expect_code(0).stdout, finished.stdout);
    let text = sandbox.run(VARIANTS.into_iter().take(8)).expect_code(0).stdout;
    assert!(text.contains("long against short (not limited to its cost): 0 won, 0 lost, 2 not decided"), "{text}");
    assert!(text.contains("  long cost $") && text.contains("  short cost $"), "{text}");
    assert_eq!(server.requests().len(), asked, "nothing is asked twice");
    server.assert_clean();
}

#[test]
fn variants_are_held_to_equal_money_where_that_is_asked() {
    let server = server(|_| "neither");
    let sandbox = variants(&server);
    sandbox.run(VARIANTS).expect_code(0);
    let held = ["lift", "set", "--judges", "judges.json", "--variant", "short.json", "--variant", "long.json"];
    let held = held.into_iter().chain(["--equal-money", "--json"]);
    let finished = sandbox.run(held.clone());
    let said: Value = serde_json::from_str(&finished.stdout).unwrap();
    for problem in said["problems"].as_array().unwrap() {
        let share = problem["arms"]["long"]["shareOfMoney"].as_f64();
        // Nothing is held back for it that does not buy a round: then it is left out, and said.
        let is_left_out = finished.stderr.contains(&format!("{}: long has no answer", problem["id"].as_str().unwrap()));
        assert!(share.map_or(is_left_out, |share| share <= 1.0), "{finished}");
    }
    assert_eq!(said["arms"][0]["equal"], true);
    let asked = server.requests().len();
    sandbox.run(held);
    assert_eq!(server.requests().len(), asked, "nothing is asked twice");
}

#[test]
fn two_different_variants_are_needed() {
    let server = server(|_| "neither");
    let sandbox = variants(&server);
    for (added, expected) in [
        (&["--variant", "long.json"][..], "--variant is given once"),
        (&["--variant", "long.json", "--variant", "config=long.json"], "the two variants have the same settings"),
        (&["--variant", "long.json", "--variant", "rounds=0"], "expected a whole number"),
        (&["--variant", "long.json", "--variant", "none.json"], "none.json"),
        (&["--variant", "long.json", "--variant", "short.json", "--against", "single"], "cannot be used with"),
        (&["--equal-money"], "--variant"),
    ] {
        let finished = sandbox.run(LIFT.into_iter().chain(added.iter().copied()));
        assert!(finished.stdout.is_empty() && finished.stderr.contains(expected), "{expected}\n{finished}");
    }
    assert!(server.requests().is_empty() && sandbox.debates().is_empty());
}

#[test]
fn a_limit_that_a_subscription_never_reaches_is_refused() {
    let server = server(|_| "neither");
    let sandbox = variants(&server);
    let by_program = ["--variant", "short.json", "--variant", "provider=claude,model=model-kiss", "--equal-money"];
    let refused = sandbox.run(LIFT.into_iter().chain(by_program)).expect_code(4);
    assert!(refused.stderr.contains("--equal-money cannot limit model-kiss of the program"), "{refused}");
    assert!(server.requests().is_empty());
}

#[test]
fn a_dry_run_makes_nothing() {
    let server = server(|_| "neither");
    let sandbox = sandbox(&server).config(&priced(&["architect", "kiss"], &json!({"rounds": 1})));
    sandbox.run(LIFT.into_iter().chain(["--dry-run"])).expect_code(0);
    assert!(!sandbox.directory().join("debates").exists());
}

/// A record is noted before its first event is written: a program that was killed in between left no record, or an empty
/// journal.
#[test]
fn a_record_that_was_noted_and_never_begun_is_begun_anew() {
    let server = server(|_| "neither");
    let sandbox = sandbox(&server).file("set/checklists/queue.md", "- [ ] Does it queue?\n");
    let arguments = || LIFT.into_iter().chain(["--against", "single"]);
    sandbox.run(arguments()).expect_code(0);
    let debates = sandbox.debates();
    assert_eq!(debates.len(), 4);
    for id in &debates {
        for ending in ["json", "events.jsonl"] {
            sandbox.remove(format!("debates/{id}.{ending}"));
        }
    }
    sandbox.write(format!("debates/{}.events.jsonl", debates[0]), "");
    let asked = server.requests().len();
    sandbox.run(arguments()).expect_code(0);
    assert!(server.requests().len() > asked);
    let again = server.requests().len();
    sandbox.run(arguments()).expect_code(0);
    assert_eq!(server.requests().len(), again);
}
