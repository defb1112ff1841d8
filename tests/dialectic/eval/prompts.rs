//! What evaluators are told.

use serde_json::{Value, json};

use super::{SIMPLE, evaluators, sandbox, two_evaluators};
use crate::support::{Incoming, MockServer, Sandbox};

/// The one request that `eval` of that debate makes.
fn request(sandbox: &Sandbox, server: &MockServer, debate: &str) -> std::sync::Arc<Incoming> {
    sandbox.run(["eval", "-c", "eval.json", "-d", debate]).expect_code(0);
    server.requests().last().cloned().unwrap()
}

/// The requirements information in a prompt, which stands in a fence of its own.
fn requirements(prompt: &str) -> Value {
    let (_, after) = prompt.split_once("```json\n").unwrap();
    serde_json::from_str(after.split_once("\n```").unwrap().0).unwrap()
}

#[test]
fn the_built_in_prompt_holds_problem_answers_solution_and_requirements() {
    let server = two_evaluators();
    let sandbox = sandbox(&server, &evaluators(&["a"]));
    let request = request(&sandbox, &server, "clarified");
    let prompt = request.prompt();
    for part in [
        "```problem\n\nA network of parcel lockers needs a reservation service.\n",
        "## Question 3, asked by System Architect\n\n```question\nWhat is constraint 1?\n```\n\n```answer\nNA\n```",
        "```answer\nEU only\n```",
        "```solution\n# Solution\n\nUse a {token} bucket",
    ] {
        assert!(prompt.contains(part), "{part}\n{prompt}");
    }
    let requirements = requirements(prompt);
    assert_eq!(
        requirements["majorRequirements"],
        json!([
            "Couriers must be able to reserve a compartment within 300 ms",
            "A compartment shall never be promised to two couriers",
        ])
    );
    assert_eq!(requirements["judgeUnfulfilledRequirements"], json!([]));
    let coverage = requirements["agentRequirementsCoverage"].as_object().unwrap();
    assert_eq!(coverage.keys().collect::<Vec<_>>(), ["agent-architect", "agent-security"]);
    assert!(coverage.values().all(|text| !text.as_str().unwrap().contains("Requirements Coverage")));
    assert!(!request.system().is_empty() && !request.system().contains("{problem}"));
}

#[test]
fn the_latest_word_of_an_agent_counts() {
    let text = |agent: &str, kind: &str, coverage: &str| {
        let content = format!("# Plan\n\n## Requirements Coverage\n\n- {coverage}\n\n## Annex\n\nnone");
        json!({"agentId": agent, "agentRole": "kiss", "type": kind, "content": content})
    };
    let mut debate: Value = serde_json::from_str(SIMPLE).unwrap();
    debate["finalSolution"]["unfulfilledMajorRequirements"] = json!(["It must be fast"]);
    debate["rounds"] = json!([
        {"roundNumber": 1, "contributions": [
            text("a", "refinement", "refined first"), text("a", "proposal", "proposed first"),
            text("b", "proposal", "only proposed"), text("a", "critique", "criticised"),
        ]},
        {"roundNumber": 2, "contributions": [
            text("a", "refinement", "refined second"), text("a", "proposal", "proposed second"),
            json!({"agentId": "c", "agentRole": "kiss", "type": "proposal", "content": "No such section."}),
        ]},
    ]);
    let server = two_evaluators();
    let sandbox = sandbox(&server, &evaluators(&["a"])).file("debates/made.json", debate.to_string());
    let finished = sandbox.run(["eval", "-c", "eval.json", "-d", "made"]).expect_code(0);
    assert_eq!(
        finished.stderr,
        "warning: made: the latest text of c (round 2) has no section `Requirements Coverage`\n"
    );
    let requirements = requirements(server.requests()[0].prompt());
    assert_eq!(requirements["judgeUnfulfilledRequirements"], json!(["It must be fast"]));
    assert_eq!(requirements["agentRequirementsCoverage"], json!({"a": "- refined second", "b": "- only proposed"}));
}

#[test]
fn what_is_put_in_is_never_looked_through_for_placeholders() {
    let mut debate: Value = serde_json::from_str(SIMPLE).unwrap();
    debate["problem"] = json!("Explain {final_solution}, {clarifications} and {{ problem }} to me");
    debate["finalSolution"]["description"] = json!("See {requirements_info}.\n````\n{problem}");
    let server = two_evaluators();
    let mut configuration = evaluators(&["a"]);
    configuration["agents"][0]["systemPromptPath"] = json!("own/system.md");
    let sandbox = sandbox(&server, &configuration)
        .file("own/system.md", "\u{feff}You are {nobody}. {\"json\": 1} Problem:\n{problem}\n")
        .file("debates/made.json", debate.to_string());
    let request = request(&sandbox, &server, "made");
    let problem = "```problem\nExplain {final_solution}, {clarifications} and {{ problem }} to me\n```";
    assert_eq!(request.system(), format!("You are {{nobody}}. {{\"json\": 1}} Problem:\n{problem}"));
    assert!(request.prompt().contains(problem), "{}", request.prompt());
    // The fence is longer than the one inside, so that the solution cannot leave it.
    let solution = "`````solution\nSee {requirements_info}.\n````\n{problem}\n`````";
    assert!(request.prompt().contains(solution), "{}", request.prompt());
    server.assert_clean();
}

#[test]
fn prompt_files_are_looked_for_beside_the_configuration() {
    let server = two_evaluators();
    let mut configuration = evaluators(&["a"]);
    configuration["agents"][0]["userPromptPath"] = json!("user.md");
    let sandbox = sandbox(&server, &json!({}))
        .file("conf/eval.json", configuration.to_string())
        .file("conf/user.md", "Score {final_solution} of {problem}.")
        .file("user.md", "the wrong one");
    let finished = sandbox.run(["eval", "-c", "conf/eval.json", "-d", "simple"]).expect_code(0);
    assert_eq!(finished.stderr, "");
    assert!(server.requests()[0].prompt().starts_with("Score ```solution\n# Solution"));
}

#[test]
fn a_prompt_file_that_cannot_be_used_is_a_warning_and_the_built_in_prompt_is_used() {
    let server = two_evaluators();
    let mut configuration = evaluators(&["a", "b"]);
    configuration["agents"][0]["systemPromptPath"] = json!("missing.md");
    configuration["agents"][0]["userPromptPath"] = json!("blank.md");
    configuration["agents"][1]["systemPromptPath"] = json!("latin1.md");
    configuration["agents"][1]["userPromptPath"] = json!("blind.md");
    let sandbox = sandbox(&server, &configuration)
        .file("blank.md", " \n")
        .file("latin1.md", b"gr\xfc\xdfe")
        .file("blind.md", "Score {problem}");
    let finished = sandbox.run(["eval", "-c", "eval.json", "-d", "simple"]).expect_code(0);
    insta::assert_snapshot!(finished.stderr.replace(&*sandbox.directory().to_string_lossy(), "[directory]"), @"
    warning: evaluator a: prompt file [directory]/missing.md does not exist; the built-in prompt is used
    warning: evaluator a: prompt file [directory]/blank.md is blank; the built-in prompt is used
    warning: evaluator b: prompt file [directory]/latin1.md is not UTF-8, it looks like Latin-1 (ISO 8859-1); the built-in prompt is used
    warning: evaluator b: neither of its prompts has `{final_solution}`, so it does not see the solution
    ");
    let requests = server.requests();
    let of = |model: &str| requests.iter().find(|request| request.model() == model).unwrap();
    assert!(of("model-a").prompt().contains("# Your task: evaluate"));
    assert_eq!(of("model-a").system(), of("model-b").system());
    assert_eq!(of("model-b").prompt(), "Score ```problem\nDesign a rate limiter. It must be fast.\n```");
}
