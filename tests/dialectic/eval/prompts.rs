//! What evaluators are told.

use serde_json::{Value, json};

use super::{CLARIFIED, SIMPLE, TOLD, evaluation, evaluators, sandbox, two_evaluators};
use crate::support::{Incoming, MockServer, Reply, Sandbox};

/// A prompt that a user of the older program wrote, and the message that the older program made of it and of `clarified`.
const OLDER: &str = include_str!("../../fixtures/older/eval_user.md");
const OLDER_RENDERED: &str = include_str!("../../fixtures/older/eval_user.rendered.txt");

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
        "## Question 3\n\n```question\nWhat is constraint 1?\n```\n\n```answer\nNA\n```",
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
    let covered = |agent: &str, role: &str| json!({"agentId": agent, "agentRole": role, "requirementsCoverage": "- must be fast: covered by the cache"});
    assert_eq!(
        requirements["agentRequirementsCoverage"],
        json!([covered("agent-security", "security"), covered("agent-architect", "architect")])
    );
    assert!(!request.system().is_empty() && !request.system().contains("{problem}"));
}

#[test]
fn the_latest_word_of_an_agent_counts() {
    let text = |agent: &str, kind: &str, coverage: &str| {
        let content = format!("# Plan\n\n## Requirements Coverage\n\n- {coverage}\n\n## Annex\n\nnone");
        json!({"agentId": agent, "agentRole": "kiss", "type": kind, "content": content})
    };
    let mut debate: Value = serde_json::from_str(SIMPLE).unwrap();
    debate["finalSolution"]["unfulfilledMajorRequirements"] = json!(["It must be fast ", " "]);
    debate["rounds"] = json!([
        {"roundNumber": 1, "contributions": [
            json!({"agentId": "a", "agentRole": "kiss", "type": "proposal", "content": "No such section yet."}),
            text("b", "proposal", "only proposed"), text("a", "critique", "criticised"),
            text("a", "refinement", "refined first"), text("a", "proposal", "proposed first"),
        ]},
        {"roundNumber": 2, "contributions": [
            text("a", "refinement", "refined second"), text("a", "proposal", "proposed second"),
            json!({"agentId": "c", "agentRole": "kiss", "type": "proposal", "content": "No such section."}),
        ]},
    ]);
    let server = two_evaluators();
    let sandbox = sandbox(&server, &evaluators(&["a"])).file("debates/made.json", debate.to_string());
    let finished = sandbox.run(["eval", "-c", "eval.json", "-d", "made"]).expect_code(0);
    let warning = "warning: made: the last text of c (round 2) has no `Requirements Coverage` section\n";
    assert_eq!(finished.stderr, format!("{warning}{TOLD}"));
    let requirements = requirements(server.requests()[0].prompt());
    assert_eq!(requirements["judgeUnfulfilledRequirements"], json!(["It must be fast"]));
    let covered =
        |agent: &str, text: &str| json!({"agentId": agent, "agentRole": "kiss", "requirementsCoverage": text});
    // In the order in which they first said what they cover.
    assert_eq!(
        requirements["agentRequirementsCoverage"],
        json!([covered("b", "- only proposed"), covered("a", "- refined second")])
    );
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
    let problem = "Explain {final_solution}, {clarifications} and {{ problem }} to me";
    assert_eq!(request.system(), format!("You are {{nobody}}. {{\"json\": 1}} Problem:\n{problem}\n"));
    assert!(request.prompt().contains(&format!("```problem\n{problem}\n```")), "{}", request.prompt());
    // The fence is longer than the one inside, so that the solution cannot leave it.
    let solution = "`````solution\nSee {requirements_info}.\n````\n{problem}\n`````";
    assert!(request.prompt().contains(solution), "{}", request.prompt());
    server.assert_clean();
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
    warning: evaluator a: prompt file [directory]/missing.md does not exist; using the built-in prompt
    warning: evaluator a: prompt file [directory]/blank.md is blank; using the built-in prompt
    warning: evaluator b: prompt file [directory]/latin1.md is not UTF-8; it looks like Latin-1 (ISO 8859-1); using the built-in prompt
    warning: evaluator b: neither prompt contains `{final_solution}`, so the evaluator cannot see the solution
    2 to 4 calls, of unknown cost (no price is known for model-a and 1 more)
    ");
    let requests = server.requests();
    let of = |model: &str| requests.iter().find(|request| request.model() == model).unwrap();
    assert!(of("model-a").prompt().contains("# Your task: evaluate"));
    assert_eq!(of("model-a").system(), of("model-b").system());
    assert_eq!(of("model-b").prompt(), "Score Design a rate limiter. It must be fast.");
}

#[test]
fn a_prompt_of_the_older_program_puts_the_same_text_before_an_evaluator() {
    let server = MockServer::with(|_| {
        let mut answer = evaluation([8, 7, 6, 9, 5, 8, 7, 7].map(|score| json!(score)));
        answer["house_rule"] = json!("Sign for nothing that you cannot run.");
        Reply::json(answer)
    });
    let mut configuration = evaluators(&["a"]);
    configuration["agents"][0]["userPromptPath"] = json!("eval_user.md");
    let sandbox = sandbox(&server, &configuration).file("eval_user.md", OLDER);
    let finished = sandbox.run(["eval", "-c", "eval.json", "-d", "clarified"]).expect_code(0);
    assert_eq!(finished.stderr, TOLD);
    assert!(finished.stdout.ends_with("| 8.00 | 7.00 | 6.00 | 9.00 | 5.00 | 8.00 | 7.00 | 7.00 |\n"), "{finished}");
    let request = &server.requests()[0];
    assert_eq!(request.prompt(), OLDER_RENDERED);
    // It asks for a key that our schema does not have.
    assert_eq!(request.schema(), None);
    sandbox.run(["eval", "-c", "eval.json", "-d", "clarified", "-o", "s.json"]).expect_code(0);
    let written: Value = serde_json::from_str(&sandbox.read("s.json")).unwrap();
    assert_eq!(written["agents"]["a"]["house_rule"], json!("Sign for nothing that you cannot run."));
    server.assert_clean();
}

/// Prompt files lie beside the configuration.
#[test]
fn a_schema_goes_only_with_the_built_in_prompts() {
    let server = two_evaluators();
    let mut configuration = evaluators(&["ours", "system", "user"]);
    configuration["agents"][1]["systemPromptPath"] = json!("system.md");
    configuration["agents"][2]["userPromptPath"] = json!("user.md");
    let sandbox = sandbox(&server, &json!({}))
        .file("conf/eval.json", configuration.to_string())
        .file("conf/system.md", "Judge. Return a key `house_rule`, too.")
        .file("conf/user.md", "Judge {final_solution}")
        .file("user.md", "the wrong one");
    sandbox.run(["eval", "-c", "conf/eval.json", "-d", "simple"]).expect_code(0);
    let requests = server.requests();
    let of = |model: &str| requests.iter().find(|one| one.model() == model).unwrap();
    let has_schema = |model: &str| of(model).schema().is_some();
    assert_eq!(["model-ours", "model-system", "model-user"].map(has_schema), [true, false, false]);
    assert!(of("model-system").system().starts_with("Judge. Return"));
    assert!(of("model-user").prompt().starts_with("Judge # Solution\n"), "{}", of("model-user").prompt());
}

#[test]
fn answers_in_a_prompt_of_the_user_cannot_leave_their_fences() {
    let server = two_evaluators();
    let mut configuration = evaluators(&["a"]);
    configuration["agents"][0]["userPromptPath"] = json!("user.md");
    let mut debate: Value = serde_json::from_str(CLARIFIED).unwrap();
    debate["clarifications"] = json!([
        {"agentId": "a", "agentName": "Nobody", "role": "kiss", "items": []},
        {"agentId": "b", "agentName": "B {problem}", "role": "kiss", "items": [
            {"id": "q1", "question": "Is ``` a fence?", "answer": "{final_solution} {{ group.role }}"},
            {"id": "q2", "question": "And?", "answer": ""},
        ]},
    ]);
    let sandbox = sandbox(&server, &configuration)
        .file("user.md", "{clarifications}|{final_solution}")
        .file("debates/made.json", debate.to_string());
    let made = request(&sandbox, &server, "made");
    let expected = "### B {problem} (kiss)\nQuestion (q1):\n\n````text\nIs ``` a fence?\n````\n\nAnswer:\n\n```text\n\
                    {final_solution} {{ group.role }}\n```\n\nQuestion (q2):\n\n```text\nAnd?\n```\n\nAnswer:\n\n\
                    ```text\nNA\n```|# Solution";
    assert!(made.prompt().starts_with(expected), "{}", made.prompt());
    // Without a question the older program put an empty fence there.
    let simple = request(&sandbox, &server, "simple");
    assert!(simple.prompt().starts_with("``````\n``````|# Solution"), "{}", simple.prompt());
}
