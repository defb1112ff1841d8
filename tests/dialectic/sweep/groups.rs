//! Groups: a debate with its arms as one unit of a set.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use super::lines;
use crate::budget::priced;
use crate::lift::{judges, server};
use crate::support::{Incoming, MockServer, Purpose, Sandbox};

/// A set of two problems whose debates have arms.
fn planned(server: &MockServer, change: impl FnOnce(&mut Value)) -> Sandbox {
    let mut described = json!({
        "problems": ["set/*.md"],
        "against": ["best-of-n", "self-refine"],
        "maxCost": 2,
        "budget": 20,
    });
    change(&mut described);
    let sandbox = Sandbox::new()
        .limit(Duration::from_mins(3))
        .model_server(server)
        .config(&priced(&["architect", "kiss"], &json!({"rounds": 2})))
        .file("judges.json", judges().to_string())
        .file("set/cache.md", "Design a cache")
        .file("set/queue.md", "Design a queue")
        .file("sweep.json", described.to_string());
    let planned = sandbox.run(["sweep", "plan", "sweep.json", "-o", "plan.jsonl"]).expect_code(0);
    assert!(server.requests().is_empty() && planned.stderr.contains("debates and arms: 2 problems"), "{planned}");
    sandbox
}

fn status(sandbox: &Sandbox, store: &str) -> Value {
    let said = sandbox.run(["sweep", "status", "plan.jsonl", "--store", store, "--json"]).expect_code(0);
    serde_json::from_str(&said.stdout).expect("it is JSON")
}

fn collected(sandbox: &Sandbox, store: &str) -> String {
    sandbox.run(["sweep", "collect", "plan.jsonl", "--store", store, "--complete"]).expect_code(0).stdout
}

fn money(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no amount"))
}

/// What is left of the budget, what was paid, and what lost calls may have cost.
fn assert_budget(status: &Value, budget: f64) {
    let parts = [&status["budget"]["leftUsd"], &status["costUsd"], &status["lost"]["usd"]].map(money);
    assert!((parts.iter().sum::<f64>() - budget).abs() < 1e-9, "{status}");
    assert_eq!(status["budget"]["heldUsd"], 0.0, "{status}");
}

#[test]
fn a_debate_is_followed_by_its_arms_and_the_order_of_the_work_changes_no_result() {
    let server = server(|_| "neither");
    let sandbox = planned(&server, |_| ());
    let plan = lines(&sandbox.read("plan.jsonl"));
    let arms = plan[1]["arms"].as_array().unwrap();
    assert_eq!(arms.iter().map(|arm| &arm["arm"]).collect::<Vec<_>>(), ["single", "best-of-n", "self-refine"]);
    assert!(arms.iter().all(|arm| money(&arm["likely"]) > 0.0 && money(&arm["likely"]) < money(&arm["most"])));
    let before = status(&sandbox, "none");
    assert_eq!((&before["debates"], &before["waiting"]), (&json!(8), &json!(8)));
    let likely: f64 =
        plan[1..].iter().flat_map(|line| line["arms"].as_array().unwrap()).map(|arm| money(&arm["likely"])).sum();
    let debates: f64 = plan[1..].iter().map(|line| money(&line["likely"])).sum();
    assert!((money(&before["expectedUsd"]) - likely - debates).abs() < 1e-9, "{before}");

    sandbox.run(["sweep", "run", "plan.jsonl", "--jobs", "2"]).expect_code(0);
    let asked = server.requests().len();
    let after = status(&sandbox, "plan.store");
    assert_eq!((&after["finished"], &after["variants"]["default, best-of-n"]["finished"]), (&json!(8), &json!(2)));
    assert_budget(&after, 20.0);

    let rows = collected(&sandbox, "plan.store");
    let all = lines(&rows);
    assert_eq!(all.len(), 8);
    for group in all.chunks(4) {
        let [debate, single, draws, refined] = group else { panic!("{group:?}") };
        assert!(group.iter().all(|row| row["group"] == debate["id"] && !row["answer"].is_null()), "{group:?}");
        assert_eq!((&debate["outcome"], &single["outcome"]), (&json!("full"), &json!("full")));
        assert_eq!(draws["reasons"], json!(["stopped: the money for it is spent"]), "{draws}");
        assert!(debate["arm"].is_null() && debate["protocol"] == "dialectic");
        assert_eq!([&single["arm"], &draws["arm"], &refined["arm"]], ["single", "best-of-n", "self-refine"]);
        let whole = money(&debate["fullCostUsd"]);
        for arm in [draws, refined] {
            let share = money(&arm["fullCostUsd"]) / whole;
            assert!((0.75..=1.0).contains(&share), "{share}: {arm}");
        }
        assert!(money(&single["fullCostUsd"]) < whole / 4.0);
    }

    for index in ["1", "0"] {
        sandbox.run(["sweep", "run", "plan.jsonl", "--store", "other", "--index", index]).expect_code(0);
    }
    assert_eq!(server.requests().len(), 2 * asked);
    assert_eq!(collected(&sandbox, "other"), rows);
    sandbox.run(["sweep", "run", "plan.jsonl"]).expect_code(0);
    assert_eq!(server.requests().len(), 2 * asked, "nothing is asked twice");
    sandbox.run(["sweep", "collect", "plan.jsonl", "-o", "results.html"]).expect_code(0);
    assert!(sandbox.read("results.html").contains("default, self-refine"));
    sandbox.run(["sweep", "collect", "plan.jsonl", "-o", "results.csv"]).expect_code(0);
    assert!(sandbox.read("results.csv").lines().nth(2).unwrap().contains(",single,"));
    server.assert_clean();
}

#[test]
fn a_worker_killed_anywhere_in_a_group_loses_nothing_and_the_arms_are_the_same() {
    let server = MockServer::with({
        let quick = crate::lift::answers(|_| "neither");
        move |request| quick(request).after(Duration::from_millis(30))
    });
    let sandbox = planned(&server, |_| ());
    let run = |store: &'static str| {
        ["sweep", "run", "plan.jsonl", "--index", "0", "--times", "1000,7000,8000", "--store", store]
    };
    sandbox.run(run("whole")).expect_code(0);
    let collected = |store| sandbox.run(["sweep", "collect", "plan.jsonl", "--store", store]).expect_code(0).stdout;
    let (expected, requests) = (collected("whole"), server.requests().len());
    // The first request of an arm follows the last one of the debate.
    let of_debate = lines(&expected)[0]["inputTokens"].as_u64().unwrap() / 1000;
    let of_debate = usize::try_from(of_debate).unwrap();
    let moments = [3, of_debate, of_debate + 1, of_debate + 2, of_debate + 5, requests - 4];
    for (moment, store) in moments.into_iter().zip(["a", "b", "c", "d", "e", "f"]) {
        server.forget();
        let running = sandbox.spawn(run(store));
        server.wait_for_requests(moment);
        running.kill();
        sandbox.run(run(store)).expect_code(0);
        let after = status(&sandbox, store);
        let lost = after["lost"]["calls"].as_u64().unwrap();
        assert!(server.requests().len() <= requests + usize::try_from(lost).unwrap(), "{moment}: {after}");
        assert_budget(&after, 20.0);
        assert_eq!(collected(store), expected, "{moment}");
    }
    server.assert_clean();
}

#[test]
fn an_arm_that_the_debates_cost_does_not_cover_is_left_out_and_said() {
    let server = server(|_| "neither");
    let sandbox = planned(&server, |set| {
        set["variants"] = json!([{"name": "cheap", "protocol": "single", "agents": ["architect"]}]);
    });
    sandbox.run(["sweep", "run", "plan.jsonl", "--index", "1"]).expect_code(0);
    let judged = sandbox.run(["lift", "--plan", "plan.jsonl", "--judges", "judges.json"]).expect_code(75);
    for expected in ["2 of 2 comparisons are missing", "1 of 2 groups not finished: cache"] {
        assert!(judged.stderr.contains(expected), "{judged}");
    }
    sandbox.run(["sweep", "run", "plan.jsonl"]).expect_code(0);
    let rows = lines(&collected(&sandbox, "plan.store"));
    assert_eq!(rows.len(), 8);
    for row in rows.iter().filter(|row| row["arm"] == "best-of-n" || row["arm"] == "self-refine") {
        assert_eq!(row["reasons"], json!(["left out: the debate's cost does not cover it"]), "{row}");
        assert!(row["answer"].is_null() && row["outcome"].is_null(), "{row}");
    }
    let after = status(&sandbox, "plan.store");
    assert_eq!((&after["finished"], &after["waiting"]), (&json!(8), &json!(0)), "{after}");
    let asked = server.requests().len();
    sandbox.run(["sweep", "run", "plan.jsonl"]).expect_code(0);
    assert_eq!(server.requests().len(), asked);
}

#[test]
fn arms_need_prices_a_text_and_a_budget_that_covers_them() {
    let server = server(|_| "neither");
    let sandbox = planned(&server, |_| ());
    let refused = |change: &dyn Fn(&mut Value), code: i32, expected: &str| {
        let mut set: Value = serde_json::from_str(&sandbox.read("sweep.json")).unwrap();
        change(&mut set);
        sandbox.write("other.json", set.to_string());
        let planned = sandbox.run(["sweep", "plan", "other.json"]).expect_code(code);
        assert!(planned.stderr.contains(expected), "{expected}\n{planned}");
    };
    let variant = |variant: Value| move |set: &mut Value| set["variants"] = json!([variant]);
    refused(&variant(json!({"name": "o", "protocol": "oxford"})), 2, "the protocol oxford produces no text");
    refused(
        &|set| (set["budget"], set["maxCost"]) = (json!(1.5), json!(1)),
        2,
        "does not cover an arm of the variant `default`",
    );
    refused(
        &|set| {
            set["variants"] = json!([{"name": "n", "model": "new"}]);
            let set = set.as_object_mut().unwrap();
            set.remove("budget");
            set.remove("maxCost");
        },
        4,
        "the price of new is unknown, so no arm can be limited",
    );
    let plan = sandbox.read("plan.jsonl");
    sandbox.write("plan.jsonl", plan.replace("{\"arm\":\"self-refine\"", "{\"arm\":\"best-of-n\""));
    let edited = sandbox.run(["sweep", "status", "plan.jsonl"]).expect_code(2);
    assert!(edited.stderr.contains("line 2: its arms are not those of the variant `default`"), "{edited}");
}

#[test]
fn a_rehearsal_of_groups_calls_nothing() {
    let server = server(|_| "neither");
    let sandbox = planned(&server, |_| ());
    sandbox.run(["sweep", "plan", "sweep.json", "--offline", "-o", "plan.jsonl"]).expect_code(0);
    sandbox.run(["sweep", "run", "plan.jsonl", "--jobs", "2"]).expect_code(0);
    assert_eq!(lines(&collected(&sandbox, "plan.store")).len(), 8);
    let judged = sandbox.run(["lift", "--plan", "plan.jsonl", "--offline"]).expect_code(0);
    assert!(judged.stdout.contains("Against best-of-n: 0 won, 0 lost, 2 not decided"), "{judged}");
    assert!(server.requests().is_empty());
}

#[test]
fn finished_groups_are_judged_and_the_others_named() {
    let server = server(|_| "first");
    let sandbox = planned(&server, |_| ());
    let lift = ["lift", "--plan", "plan.jsonl", "--judges", "judges.json", "--json"];
    let none = sandbox.run(lift).expect_code(75);
    assert!(none.stderr.contains("2 of 2 groups not finished: cache, queue") && none.stdout.is_empty(), "{none}");
    sandbox.run(["sweep", "run", "plan.jsonl", "--index", "1"]).expect_code(0);
    let one = sandbox.run(lift).expect_code(75);
    assert!(one.stderr.contains("1 of 2 groups not finished: cache"), "{one}");
    let said: Value = serde_json::from_str(&one.stdout).unwrap();
    assert_eq!((&said["problems"][0]["id"], said["problems"].as_array().unwrap().len()), (&json!("queue"), 1));
    sandbox.run(["sweep", "run", "plan.jsonl"]).expect_code(0);
    let (run, judged) = (server.requests().len(), 5);
    let dry = sandbox.run(lift.into_iter().chain(["--dry-run"])).expect_code(0);
    assert!(dry.stdout.contains("4 comparisons, 1 checklist, likely $"), "{dry}");
    let all = sandbox.run(lift).expect_code(0);
    let said: Value = serde_json::from_str(&all.stdout).unwrap();
    for arm in said["arms"].as_array().unwrap() {
        assert_eq!((&arm["compared"], &arm["turned"]), (&json!(2), &json!(2)), "{arm}");
        assert!(money(&arm["shareOfMoney"][0]) >= 0.75 && money(&arm["shareOfMoney"][1]) <= 1.0, "{arm}");
    }
    assert_eq!(server.requests().len(), run + judged, "no debate is run, and nothing is judged twice");
    assert!(sandbox.debates().is_empty());
    let single = sandbox.run(lift.into_iter().chain(["--against", "single"])).expect_code(0);
    assert!(single.stdout.contains("\"arm\": \"single\""), "{single}");
    let unknown = sandbox.run(lift.into_iter().chain(["--of", "other"])).expect_code(2);
    assert!(unknown.stderr.contains("which variant? The plan has groups of default"), "{unknown}");
    sandbox.run(lift.into_iter().chain(["set"])).expect_code(2);
}

/// Attempts of unknown cost count in full: an arm sends nothing that could exceed its share of the budget.
#[test]
fn an_arm_never_costs_more_than_its_share_of_the_budget() {
    let count = AtomicUsize::new(0);
    let usual = crate::lift::answers(|_| "neither");
    let server = MockServer::with(move |request| {
        let is_of_arm = request.model() == "model-judge" && request.purpose == Purpose::Propose;
        let is_draw = is_of_arm && count.fetch_add(1, Ordering::SeqCst) > 0;
        if is_draw { usual(request).cut() } else { usual(request) }
    });
    let sandbox = planned(&server, |set| set["against"] = json!(["best-of-n"]));
    let failed = sandbox.run(["sweep", "run", "plan.jsonl", "--index", "0"]).expect_code(3);
    let of_arms =
        |request: &&std::sync::Arc<Incoming>| request.model() == "model-judge" && request.purpose == Purpose::Propose;
    let draws = server.requests().iter().filter(of_arms).count() - 1;
    // The money buys about twenty draws, and the share covers three of the longest answers.
    assert!((1..=4).contains(&draws), "{draws}: {failed}");
    let plan = lines(&sandbox.read("plan.jsonl"));
    let most = plan[1]["arms"].as_array().unwrap().iter().map(|arm| money(&arm["most"])).sum::<f64>() + 2.0;
    let after = status(&sandbox, "plan.store");
    assert_eq!((&after["failed"], &after["budget"]["heldUsd"]), (&json!(1), &json!(0.0)), "{after}");
    let spent = 20.0 - money(&after["budget"]["leftUsd"]);
    assert!(spent > 0.5 && spent <= most, "{spent} of {most}");
    let judged = sandbox.run(["lift", "--plan", "plan.jsonl", "--judges", "judges.json", "--against", "best-of-n"]);
    assert!(judged.stderr.contains("2 of 2 groups not finished: cache, queue"), "{judged}");
}
