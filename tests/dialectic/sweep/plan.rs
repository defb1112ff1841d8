//! `dialectic sweep plan`: ids, costs, and what a plan may hold.

use std::collections::BTreeSet;

use dialectic_cli::error::Error;
use dialectic_cli::sweep::plan::SavedPlan;
use serde_json::{Value, json};

use super::{described, lines, planned, sandbox};
use crate::budget::priced;
use crate::support::{MockServer, Sandbox, TEST_KEY, default_reply};

const PLAN: [&str; 5] = ["sweep", "plan", "sweep.json", "-o", "plan.jsonl"];

fn ids(plan: &str) -> Vec<String> {
    lines(plan).iter().skip(1).map(|line| line["id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn each_debate_has_a_line_with_its_id_and_cost_and_nothing_is_called() {
    let server = MockServer::with(default_reply);
    let sandbox = sandbox(&server);
    let planned = sandbox.run(PLAN).expect_code(0);
    assert!(planned.stderr.contains("8 debates: 2 problems, 2 variants, 2 repeats; likely $0."), "{planned}");
    assert!(planned.stderr.contains("; the budget is $6.00"), "{planned}");
    assert!(planned.stderr.contains("warning: ignoring `debate.seed`"), "{planned}");
    assert!(server.requests().is_empty() && planned.stdout.is_empty(), "{planned}");

    let plan = sandbox.read("plan.jsonl");
    let all = lines(&plan);
    let named = |line: &Value| format!("{} {} {}", line["problem"], line["variant"], line["repeat"]);
    assert_eq!(named(&all[1]), "\"queue\" \"debate\" 1");
    assert_eq!(named(&all[8]), "\"sum\" \"single\" 2");
    let cost = |line: &Value, key: &str| line[key].as_f64().unwrap();
    for (line, limit) in all[1..].iter().zip([1.0, 1.0, 0.5, 0.5, 1.0, 1.0, 0.5, 0.5]) {
        assert!(cost(line, "likely") > 0.0 && cost(line, "likely") <= cost(line, "most"), "{line}");
        assert!(cost(line, "most") <= limit, "{line}");
    }
    assert_eq!(ids(&plan).iter().collect::<BTreeSet<_>>().len(), 8);
    // To standard output it is the same.
    assert_eq!(sandbox.run(["sweep", "plan", "sweep.json"]).expect_code(0).stdout, plan);
}

#[test]
fn another_machine_and_directory_give_the_same_plan_without_anything_of_them() {
    let server = MockServer::with(default_reply);
    let plan = planned(&server).read("plan.jsonl");

    let other = MockServer::with(default_reply);
    let mut config = priced(&["architect", "kiss"], &json!({"rounds": 1, "check": 0}));
    config["providers"] = json!({
        "openai": {"headers": {"X-Secret": "${SECRET}"}},
        "mine": {"baseUrl": "http://10.0.0.7:8000/v1"},
    });
    let there = Sandbox::new()
        .model_server(&other)
        .env("SECRET", "hush")
        .file("deep/down/debate-config.json", config.to_string())
        .file("deep/down/problems/queue.md", "Design a queue")
        .file("deep/down/problems/checklists/queue.md", "- [ ] Is anything lost?\n")
        .file("deep/down/notes.txt", "Of the queue")
        .file("deep/down/sums.jsonl", "{\"id\": \"sum\", \"problem\": \"What is 40 + 2?\", \"answer\": 42}\n")
        .file("deep/down/sweep.json", described().to_string());
    let planned = there.run(["sweep", "plan", "deep/down/sweep.json"]).expect_code(0);
    assert_eq!(planned.stdout, plan);
    for never in [TEST_KEY, "127.0.0.1", "10.0.0.7", "SECRET", "hush", "providers", "baseDir", "deep"] {
        assert!(!planned.stdout.contains(never), "{never}");
    }
}

#[test]
fn what_decides_a_debate_decides_its_id_and_names_do_not() {
    let server = MockServer::with(default_reply);
    let of = |change: fn(&mut Value), notes: &str, problem: &str| {
        let mut set = described();
        change(&mut set);
        let sandbox = sandbox(&server).file("notes.txt", notes).file("problems/queue.md", problem);
        sandbox.write("sweep.json", set.to_string());
        ids(&sandbox.run(["sweep", "plan", "sweep.json"]).expect_code(0).stdout)
    };
    let before = of(|_| {}, "Notes", "Design a queue");
    let renamed = of(|set| set["variants"][0]["name"] = "other".into(), "Notes", "Design a queue");
    assert_eq!(before, renamed);
    for (changed, same) in [
        (of(|set| set["variants"][0]["rounds"] = 2.into(), "Notes", "Design a queue"), 4),
        (of(|_| {}, "Other notes", "Design a queue"), 4),
        (of(|_| {}, "Notes", "Design a stack"), 4),
        (of(|set| (set["maxCost"], set["budget"]) = (2.into(), 10.into()), "Notes", "Design a queue"), 4),
        (of(|set| set["budget"] = 50.into(), "Notes", "Design a queue"), 8),
    ] {
        assert_eq!(before.iter().filter(|id| changed.contains(id)).count(), same, "{changed:?}");
    }
}

#[test]
fn a_budget_is_proven_and_prices_are_known() {
    let server = MockServer::with(default_reply);
    let refused = |change: fn(&mut Value), code: i32, expected: &[&str]| {
        let mut set = described();
        change(&mut set);
        let sandbox = sandbox(&server);
        sandbox.write("sweep.json", set.to_string());
        let planned = sandbox.run(PLAN).expect_code(code);
        assert!(expected.iter().all(|expected| planned.stderr.contains(expected)), "{planned}");
        assert!(!sandbox.directory().join("plan.jsonl").exists());
    };
    refused(
        |set| drop(set.as_object_mut().unwrap().remove("maxCost")),
        2,
        &["the set has a `budget`, but the variant `debate` has no cost limit", "set `maxCost`; 0.75 for"],
    );
    refused(
        |set| set["budget"] = json!(5.9999),
        2,
        &[
            "8 debates may cost $6.0000 in total, but the `budget` is $5.9999",
            "set `maxCost` to 0.7499 for each debate",
        ],
    );
    refused(|set| set["variants"][1]["model"] = "unheard-of".into(), 4, &["unheard-of"]);
    refused(|set| set["variants"][0]["maxCost"] = json!(0.000_001), 2, &["cannot plan the variant `debate`"]);
    refused(
        |set| set["variants"][1] = json!({"name": "same"}),
        2,
        &["`queue` by `debate` and `queue` by `same` are the same debate"],
    );
}

#[test]
fn what_belongs_to_one_machine_is_no_part_of_a_plan() {
    let server = MockServer::with(default_reply);
    let refused = |change: fn(&mut Value), expected: &str| {
        let mut config = priced(&["architect", "kiss"], &json!({"rounds": 1, "check": 0}));
        change(&mut config);
        let planned = sandbox(&server).config(&config).run(PLAN).expect_code(4);
        assert!(planned.stderr.contains(expected), "{planned}");
    };
    refused(|config| config["agents"][0]["tools"] = json!([{"name": "file_read"}]), "has the tool `file_read`");
    refused(|config| config["debate"]["arena"] = json!({"contextCommands": ["ls"]}), "`debate.arena.contextCommands`");
    refused(|config| config["agents"][0]["systemPromptPath"] = "none.md".into(), "none.md of agent-architect");
}

#[test]
fn an_edited_plan_is_refused_with_its_line() {
    let server = MockServer::with(default_reply);
    let sandbox = planned(&server);
    let plan = sandbox.read("plan.jsonl");
    let cut = &plan[..plan.len() - 1];
    let version = plan.lines().next().unwrap().to_owned();
    let other = version.split("\"version\":\"").nth(1).unwrap()[..12].to_owned();
    for (edited, code, expected) in [
        (plan.replace("\"rounds\":1", "\"rounds\":2"), 2, "plan.jsonl, line 2: the id swp-"),
        (plan.replace("Design a queue", "Design a stack"), 2, "plan.jsonl, line 2: the id swp-"),
        (plan.replace("\"sweep\":1", "\"sweep\":2"), 2, "the plan has version 2"),
        (plan.replace("\"repeat\":2", "\"repeat\":1"), 2, "plan.jsonl, line 3: the id swp-"),
        (plan.replace("\"variant\":\"single\"", "\"variant\":\"double\""), 2, "line 4: the first line does not define"),
        (
            plan.replace(&other, "0123456789ab"),
            4,
            "was created with the built-in prompts 0123456789ab, but this version has ",
        ),
        (cut.to_owned(), 2, "line 9: unexpected end of file"),
        (version + "\n", 2, "plan.jsonl contains no debates"),
        (String::new(), 2, "plan.jsonl contains no debates"),
        ("{}\n".to_owned(), 2, "line 1: expected the first line of a plan"),
        (plan.replace("{\"id\":", "{\"more\":1,\"id\":"), 2, "line 1: unknown field `more`"),
    ] {
        assert_ne!(edited, plan, "{expected}");
        sandbox.write("plan.jsonl", &edited);
        let said = Error::from(SavedPlan::read(&sandbox.directory().join("plan.jsonl")).unwrap_err());
        assert!(said.to_string().contains(expected), "{expected}\n{said}");
        assert_eq!(said.exit_code(), code, "{said}");
    }
}

/// A plan may come from a stranger: it sets nothing that reaches the machine of a worker.
#[test]
fn a_plan_that_reaches_for_the_machine_is_refused() {
    let sandbox =
        Sandbox::new().file("problem.md", "Design a queue").file("sweep.json", r#"{"problems": ["problem.md"]}"#);
    sandbox.run(["sweep", "plan", "sweep.json", "--offline", "-o", "plan.jsonl"]).expect_code(0);
    let plan = sandbox.read("plan.jsonl");
    let (header, debates) = plan.split_once('\n').unwrap();
    for (place, value, said) in [
        ("/debate/arena/contextCommands", json!(["touch touched"]), "contextCommands"),
        ("/debate/interactiveClarifications", json!(true), "contains machine-specific or personal settings"),
        ("/agents/0/role", json!("../../secret"), "does not contain the prompt"),
        ("/judge/systemPromptPath", json!("/etc/passwd"), "does not contain the prompt `/etc/passwd`"),
    ] {
        let mut edited: Value = serde_json::from_str(header).unwrap();
        let settings = &mut edited["variants"][0]["settings"];
        let (parent, key) = place.rsplit_once('/').unwrap();
        settings.pointer_mut(parent).unwrap()[key] = value;
        sandbox.write("edited.jsonl", format!("{edited}\n{debates}"));
        let refused = SavedPlan::read(&sandbox.directory().join("edited.jsonl")).unwrap_err().to_string();
        assert!(refused.contains("line 1") && refused.contains(said), "{place}: {refused}");
    }
    for command in ["run", "status", "collect"] {
        sandbox.run(["sweep", command, "edited.jsonl"]).expect_code(2);
    }
    assert!(!sandbox.directory().join("touched").exists());
}
