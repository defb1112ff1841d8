//! What became of every objection, with agents who follow a script: raise, accept, reject, ignore, maintain, withdraw.

use serde_json::{Value, json};

use crate::support::{Incoming, MockServer, Purpose, Reply, Sandbox, short_reply, two_agents};

/// Lines on points of a text, whichever of the two numbers it has: what names the other is on nothing.
fn on_points(lines: &[(u32, &str)]) -> String {
    let both = lines.iter().flat_map(|(number, said)| [1, 2].map(|text| format!("- {text}.{number} {said}")));
    both.collect::<Vec<_>>().join("\n")
}

/// Three rounds in which `architect` criticises `kiss`, who has nothing to say against `architect`. What is said depends
/// on the prompt alone, so that a debate that is taken up goes on alike.
fn script(request: &Incoming) -> Reply {
    let prompt = request.prompt();
    let is_architect = request.model() == "model-architect";
    let is_first = !prompt.contains("# Points to recheck");
    let answering = |lines: &[(u32, &str)]| {
        format!("# K\n\n## Requirements Coverage\n\nAll.\n\n## Response to critiques\n\n{}", on_points(lines))
    };
    let text: std::borrow::Cow<'static, str> = match request.purpose {
        Purpose::Critique if !is_architect => "No objections.".into(),
        Purpose::Critique if is_first => {
            "1. [blocking] Leases: two workers hold one lease at once. Resolved by: a fencing token.\n\
             2. [major] Retries: they pile up.\n\
             3. [minor] Names: they are long."
                .into()
        }
        Purpose::Critique if !prompt.contains("Clocks") => {
            let said = on_points(&[(1, "maintained: No write carries a token."), (2, "withdrawn: The budget is fixed.")]);
            format!("## Earlier points\n\n{said}\n\n## New points\n\n1. [major] Clocks: they drift.").into()
        }
        Purpose::Critique => {
            let said = on_points(&[(1, "maintained: There is still none.")]);
            format!("## Earlier points\n\n{said}\n\n## New points\n\nNo objections.").into()
        }
        Purpose::Refine if is_architect => "# A\n\n## Requirements Coverage\n\nAll.".into(),
        Purpose::Refine if prompt.contains("NTP, and no more") => answering(&[(1, "rejected: it is there.")])
            .replace("# K\n", "# K three\n")
            .into(),
        Purpose::Refine if prompt.contains("they drift") => answering(&[
            (1, "accepted (Store): the store checks the token now."),
            (4, "partly: NTP, and no more."),
        ])
        .replace("# K\n", "# K two\n")
        .into(),
        Purpose::Refine => answering(&[
            (1, "accepted (Writes): every write carries a token."),
            (2, "rejected: the budget rules it out."),
        ])
        .replace("# K\n", "# K one\n")
        .into(),
        Purpose::Synthesize => {
            "# Answer\n\nUse tokens.\n\n```json\n{\"tradeoffs\":[],\"recommendations\":[],\
             \"unfulfilledMajorRequirements\":[],\"openQuestions\":[\"Which store?\"],\"rulings\":[\
             {\"point\":\"1.1\",\"remains\":\"the check\",\"reason\":\"No token is checked.\",\"decision\":\"notMet\"},\
             {\"point\":\"2.1\",\"remains\":\"the check\",\"reason\":\"No token is checked.\",\"decision\":\"notMet\"}],\
             \"confidence\":90}\n```"
                .into()
        }
        _ => return short_reply(request),
    };
    Reply::text(text.as_ref())
}

fn run(server: &MockServer, debate: &Value) -> (Sandbox, String, Value) {
    let mut debate = debate.clone();
    debate["check"] = json!(0);
    let sandbox = two_agents(server, &debate);
    let (_, state) = sandbox.debated(["debate", "Design a lock service", "--quiet"]);
    let id = sandbox.only_debate();
    (sandbox, id, state)
}

fn prompts(server: &MockServer, purpose: Purpose, model: &str) -> Vec<String> {
    let requests = server.requests();
    let of = requests.iter().filter(|request| request.purpose == purpose && request.model() == model);
    of.map(|request| request.prompt().to_owned()).collect()
}

#[test]
fn a_script_gives_its_ledger_and_the_judge_rules_on_what_is_open() {
    let server = MockServer::with(script);
    let (_, _, state) = run(&server, &json!({"rounds": 3, "seed": 1}));
    server.assert_clean();
    let lives: Vec<String> = state["ledger"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| {
            let [id, severity, answer] = ["id", "severity", "answer"].map(|key| one[key].as_str().unwrap());
            let critic = one["critic"].as_str().unwrap_or("never rechecked");
            let ruling = one["ruling"]["decision"].as_str().unwrap_or("no ruling");
            format!("{id}: {severity}, {answer}, {critic}, open {}, {ruling}", one["open"])
        })
        .collect();
    insta::assert_snapshot!(lives.join("\n"), @r"
    r1/agent-architect/agent-kiss/1: blocking, rejected, maintained, open true, notMet
    r1/agent-architect/agent-kiss/2: major, rejected, withdrawn, open false, no ruling
    r1/agent-architect/agent-kiss/3: minor, unanswered, never rechecked, open true, notMet
    r2/agent-architect/agent-kiss/1: major, partly, never rechecked, open true, notMet
    ");
    let first = &state["ledger"][0];
    assert_eq!(first["about"], "Leases");
    assert_eq!(first["resolution"].as_str().unwrap().trim_end_matches('.'), "a fencing token");
    assert_eq!(first["criticReason"], "There is still none.");
    assert_eq!(first["reason"], "it is there.");
    // The judge did not rule on the second, which counts as not met.
    assert_eq!(state["ledger"][3]["ruling"]["missing"], true);

    let solution = &state["finalSolution"];
    assert_eq!(solution["confidence"], 60);
    let description = solution["description"].as_str().unwrap();
    assert!(description.contains("**Confidence Score**: 60/100"), "{description}");
    let open = solution["openQuestions"].as_array().unwrap();
    assert_eq!(open[0], "Which store?");
    assert!(open[1].as_str().unwrap().contains("two workers hold one lease"), "{open:?}");
    assert_eq!(open.len(), 2, "what is major is not among them: {open:?}");
    let judge = &prompts(&server, Purpose::Synthesize, "model-judge")[0];
    let number = state["ledger"][0]["number"].as_str().unwrap();
    let text = number.strip_suffix(".1").unwrap();
    assert!(
        description.contains("### What Remains of the Objections")
            && description.contains(&format!("{number} (blocking), not met"))
    );
    assert!(description.contains("Remains: the check") && description.contains("(major), not ruled"), "{description}");
    let list = &judge[judge.find("# Open points").unwrap()..];
    assert!(list.contains(&format!("{number} [blocking]")) && list.contains(&format!("{text}.4 [major]")), "{list}");
    assert!(list.contains("critic: maintained: There is still none.") && list.contains("earlier version"), "{list}");
    assert!(!list.contains("agent-architect") && !list.contains("agent-kiss"), "names: {list}");
    assert!(!list.contains("pile up") && list.contains("[minor] Names"), "minor ones too: {list}");

    let moves = state["moves"].as_array().unwrap();
    let shown: Vec<String> = moves
        .iter()
        .map(|one| {
            let count = |key: &str| one[key].as_array().unwrap().len();
            let [accepted, partly, rejected, unanswered] = ["accepted", "partly", "rejected", "unanswered"].map(count);
            format!(
                "round {} {}: {accepted} {partly} {rejected} {unanswered} +{}",
                one["round"], one["agentId"], one["change"]["added"]
            )
        })
        .collect();
    assert_eq!(
        shown,
        [
            "round 1 \"agent-kiss\": 1 0 1 1 +3",
            "round 2 \"agent-kiss\": 1 1 0 1 +1",
            "round 3 \"agent-kiss\": 0 0 1 2 +1",
        ]
    );
}

#[test]
fn critics_are_shown_points_and_not_old_texts_and_authors_what_is_open() {
    let server = MockServer::with(script);
    run(&server, &json!({"rounds": 3, "seed": 1, "summarization": {"enabled": false}}));
    let critiques = prompts(&server, Purpose::Critique, "model-architect");
    let second = &critiques[1];
    for words in [
        ".1 [blocking] Leases: two workers hold one lease at once. Resolved by: a fencing token.",
        "author: accepted (Writes): every write carries a token.",
        ".2 [major] Retries: they pile up.",
        "author: rejected: the budget rules it out.",
        ".3 [minor] Names: they are long.",
    ] {
        assert!(second.contains(words), "{words}\n{second}");
    }
    assert_eq!(second.matches("two workers hold one lease").count(), 1, "{second}");
    assert!(!second.contains("Response to critiques\n"), "the answers stand in the list: {second}");
    let third = &critiques[2];
    assert!(!third.contains("they pile up"), "it was withdrawn: {third}");
    assert!(third.contains(".4 [major] Clocks: they drift.") && third.contains("partly: NTP, and no more."), "{third}");
    let others = prompts(&server, Purpose::Critique, "model-kiss");
    assert!(others.iter().all(|prompt| !prompt.contains("# Points to recheck")), "nobody has points against it");
    let refinements = prompts(&server, Purpose::Refine, "model-kiss");
    assert!(refinements[0].contains("# Points to answer") && !refinements[0].contains("# Critiques"));
    assert!(refinements[0].contains("Resolved by: a fencing token."), "{}", refinements[0]);
    assert!(refinements[1].contains("maintained: No write carries a token."), "{}", refinements[1]);
    assert!(!refinements[1].contains("they pile up") && refinements[1].contains("they drift"), "{}", refinements[1]);
}

#[test]
fn a_critique_without_a_point_is_asked_for_once_more_and_then_unread() {
    let answering = |second: &'static str| {
        MockServer::with(move |request: &Incoming| match request.purpose {
            Purpose::Critique if request.model() != "model-architect" => Reply::text("No objections."),
            Purpose::Critique if request.messages.iter().any(|one| one.text.contains("No points can be read")) => {
                Reply::text(second)
            }
            Purpose::Critique => Reply::text("The leases worry me."),
            _ => script(request),
        })
    };
    let server = answering("1. [major] Leases: two workers hold one.");
    let (_, _, state) = run(&server, &json!({"rounds": 1}));
    assert_eq!(prompts(&server, Purpose::Critique, "model-architect").len(), 2);
    assert_eq!(state["ledger"][0]["about"], "Leases");
    assert_eq!(state["outcome"]["kind"], "full");

    let server = answering("I told you so.");
    let (_, _, state) = run(&server, &json!({"rounds": 1}));
    assert_eq!(prompts(&server, Purpose::Critique, "model-architect").len(), 2);
    assert!(state.get("ledger").is_none());
    assert_eq!(state["outcome"]["kind"], "degraded");
    assert_eq!(
        state["outcome"]["reasons"][0],
        "agent-architect's critique of agent-kiss in round 1 had no readable points"
    );
}

#[test]
fn resolved_ends_the_debate_in_the_round_in_which_nothing_grave_is_open_and_asks_nobody() {
    let server = MockServer::with(|request| {
        let is_second = request.prompt().contains("# Points to recheck");
        match (request.purpose, request.model()) {
            (Purpose::Critique, "model-architect") if is_second => {
                Reply::text(on_points(&[(2, "withdrawn: The budget is fixed.")]))
            }
            _ => script(request),
        }
    });
    let condition = json!({"rounds": 4, "terminationCondition": {"type": "resolved"}});
    let (_, _, state) = run(&server, &condition);
    assert_eq!(state["rounds"].as_array().unwrap().len(), 2);
    assert_eq!(state["outcome"]["kind"], "full");
    // Two proposals, two rounds of two critiques and two refinements, and the answer.
    assert_eq!(server.requests().len(), 2 + 2 * 4 + 1);
    assert!(state["rounds"].as_array().unwrap().iter().all(|round| round.get("evaluation").is_none()));
    let judge = &prompts(&server, Purpose::Synthesize, "model-judge")[0];
    let listed =
        judge.split("# Open points").nth(1).unwrap_or_default().split("# Your role").next().unwrap_or_default();
    assert!(!listed.contains("[blocking]") && !listed.contains("[major]"), "{judge}");
    assert_eq!(state["finalSolution"]["confidence"], 90);

    let server = MockServer::with(script);
    let sandbox = two_agents(&server, &json!({"rounds": 3, "check": 0}));
    let shown = sandbox.run(["debate", "Design a lock service", "--until", "resolved"]).expect_code(0);
    assert_eq!(sandbox.state(&sandbox.only_debate())["rounds"].as_array().unwrap().len(), 3);
    for line in [
        "round 1/3: 3 points · 1 open · 1 claimed · 1 rejected",
        "round 2/3: 4 points · 2 open · 1 claimed · 1 rejected",
        "round 3/3: 4 points · 3 open · 1 rejected",
    ] {
        assert!(shown.stderr.contains(line), "{line}\n{}", shown.stderr);
    }
}

#[test]
fn the_decision_record_says_what_was_rejected_and_why_and_stays_in_its_form() {
    let server = MockServer::with(|request| match request.purpose {
        Purpose::Synthesize => Reply::text(
            "# Answer\n\nUse tokens. <script>alert(1)</script>\n\n</details>\n\n## Parts\n\n- a store\n\n```json\n\
             {\"tradeoffs\":[\"Latency for safety\"],\"recommendations\":[\"Load test\"],\
             \"unfulfilledMajorRequirements\":[],\"openQuestions\":[],\"rulings\":[\
             {\"point\":\"1.1\",\"reason\":\"Clients fence.\",\"decision\":\"dismissed\"},\
             {\"point\":\"2.1\",\"reason\":\"Clients fence.\",\"decision\":\"dismissed\"}],\"confidence\":90}\n```",
        ),
        _ => script(request),
    });
    let (sandbox, id, _) = run(&server, &json!({"rounds": 3, "seed": 1}));
    let record = sandbox.run(["report", &id, "--format", "adr"]).expect_code(0).stdout;
    let headings: Vec<&str> = record.lines().filter(|line| line.starts_with('#')).collect();
    assert_eq!(
        headings,
        [
            "# Design a lock service",
            "## Context and Problem Statement",
            "## Considered Options",
            "## Decision Outcome",
            "### Answer",
            "#### Parts",
            "### Consequences",
            "## Next Steps",
            "## Open Points",
            "## Rejected Objections",
            "## More Information",
        ],
        "{record}"
    );
    let rejected = &record[record.find("## Rejected Objections").unwrap()..];
    assert!(rejected.contains("two workers hold one lease at once") && rejected.contains("it is there"), "{rejected}");
    assert!(rejected.contains("Rejected by the judge: Clients fence."), "{rejected}");
    assert!(rejected.contains("Retries") && rejected.contains("the budget rules it out"), "{rejected}");
    assert!(record.contains("Chosen option: “"), "{record}");
    assert!(!rejected.contains("Clocks"), "it was accepted in part: {rejected}");
    assert!(record.contains("- Latency for safety") && !record.contains("Judge Assessment"), "{record}");
    assert!(!record.replace("\\<", "").contains("<script>"), "{record}");
    assert!(record.contains("\n```\n</details>\n```\n"), "it stays in a fence: {record}");
    assert_eq!(record.matches("</details>").count(), 2, "and the record's own: {record}");
    let json: Value =
        serde_json::from_str(&sandbox.run(["report", &id, "--format", "json"]).expect_code(0).stdout).unwrap();
    assert_eq!(json["ledger"].as_array().unwrap().len(), 4);
    let page = sandbox.run(["report", &id, "--format", "html"]).expect_code(0).stdout;
    assert!(page.starts_with("<!DOCTYPE html>"));
}

#[test]
fn objections_that_were_never_rechecked_cap_nothing() {
    let server = MockServer::with(script);
    // In one round nobody looks at an answer again; the judge upholds the first point by itself.
    let (_, _, state) = run(&server, &json!({"rounds": 1}));
    assert_eq!(state["ledger"][1]["answer"], "rejected");
    assert_eq!(state["finalSolution"]["confidence"], 90);
    assert!(state["ledger"].as_array().unwrap().iter().all(|one| one.get("critic").is_none()));
}
