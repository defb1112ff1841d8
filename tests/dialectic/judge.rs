//! The judge's part: answers that cannot be read, failures, and scores that end a debate early.

use serde_json::{Value, json};

use crate::support::{Debated, Ending, Incoming, MockServer, Purpose, Reply, config, prose, short_reply, two_agents};

fn too_long(message: &str) -> Reply {
    let body = json!({"error": {"message": message, "code": "context_length_exceeded"}});
    Reply::raw("application/json", body.to_string()).status(400)
}

/// Short texts, but for one refinement: it is what there is to shorten.
fn one_is_long(request: &Incoming) -> Reply {
    match request.purpose {
        Purpose::Propose => Reply::text(format!("Short: {}", prose(request.digest, 8))),
        Purpose::Critique => Reply::text(format!("1. [minor] Short: {}", prose(request.digest, 8))),
        Purpose::Refine if request.model() == "model-kiss" => Reply::text(format!("KISS {}", prose(1, 12))),
        Purpose::Refine => Reply::text(format!("LONG {}", prose(7, 3000))),
        _ => short_reply(request),
    }
}

/// Panics unless that was shortened, the other text is whole, and the run says so.
fn assert_shortened(sent: &str, Debated { finished, state, .. }: &Debated) {
    assert!(finished.stderr.contains("with the longest texts cut"), "{finished}");
    assert!(sent.contains("LONG ") && sent.contains("more characters are left out here]"));
    assert!(sent.contains(&format!("KISS {}\n", prose(1, 12))));
    assert_eq!(state["outcome"]["kind"], "degraded");
    let reasons = state["outcome"]["reasons"].as_array().unwrap();
    assert!(reasons.len() == 1 && reasons[0].as_str().unwrap().starts_with("the judge was shown "), "{reasons:?}");
}

/// A script whose judge says that instead of its solution, and then that.
fn judge_says(
    first: &'static str,
    second: impl Fn() -> Reply + Send + Sync + 'static,
) -> impl Fn(&Incoming) -> Reply + Send + Sync + 'static {
    move |request| match request.purpose {
        Purpose::Assess => second(),
        Purpose::Synthesize if request.messages.iter().any(|message| message.role == "assistant") => second(),
        Purpose::Synthesize => Reply::text(first),
        _ => short_reply(request),
    }
}

const ASSESSMENT: &str = r#"{"tradeoffs": [], "recommendations": ["Measure"],
    "unfulfilledMajorRequirements": [], "openQuestions": [], "confidence": 70}"#;

#[test]
fn the_judge_writes_markdown_and_its_assessment_behind_it() {
    let Debated { server, finished, state, .. } = Debated::of_two(&json!({}), short_reply);
    let synthesis = server.asked(Purpose::Synthesize);
    assert_eq!((synthesis.len(), server.requests().len()), (1, 7));
    assert!(synthesis[0].schema().is_none(), "a schema would force the solution into JSON");
    assert!(!finished.stdout.contains("```json"), "{finished}");
    let solution = &state["finalSolution"];
    assert_eq!(
        (&solution["confidence"], &solution["recommendations"]),
        (&json!(82), &json!(["Measure before the launch"]))
    );
    let description = solution["description"].as_str().unwrap();
    assert!(description.contains("- All of it.\n\n---\n\n## Judge Assessment\n\n**Confidence Score**: 82/100\n"));
    assert_eq!(state["outcome"], json!({"kind": "full", "reasons": []}));
}

#[test]
fn an_assessment_that_is_missing_is_asked_for_alone() {
    for first in [
        "# Ring\n\nUse a ring.",
        "# Ring\n\nUse a ring.\n\n```json\n{\"tradeoffs\": , \"recommendations\": ., \"confidence\": high}\n```",
    ] {
        let Debated { server, finished, state, .. } =
            Debated::of_two(&json!({}), judge_says(first, || Reply::text(ASSESSMENT)));
        // What nobody can read of it is not taken from the user.
        let damaged = if first.contains("high") {
            "```json\n{\"tradeoffs\": , \"recommendations\": ., \"confidence\": high}\n```\n\n"
        } else {
            ""
        };
        assert!(finished.stdout.starts_with(&format!("# Ring\n\nUse a ring.\n\n{damaged}---\n")), "{finished}");
        let assess = server.asked(Purpose::Assess);
        assert_eq!((assess.len(), server.requests().len()), (1, 8));
        assert!(assess[0].prompt().contains("# Ring\n\nUse a ring."));
        let schema = assess[0].schema().expect("here JSON is wanted, and nothing else");
        for list in ["tradeoffs", "recommendations", "unfulfilledMajorRequirements", "openQuestions"] {
            let list = &schema["properties"][list];
            // OpenAI refuses bounds of strings.
            assert!(list["maxItems"].is_u64() && list["items"]["type"] == "string", "{schema}");
        }
        server.assert_clean();
        // It is a short call: what the agents said is not sent once more.
        for said in state["rounds"][0]["contributions"].as_array().unwrap() {
            assert!(!assess[0].prompt().contains(said["content"].as_str().unwrap()));
        }
        assert_eq!(state["finalSolution"]["confidence"], 70);
        assert_eq!(state["outcome"], json!({"kind": "full", "reasons": []}));
        assert_eq!(state["usage"]["model-judge"]["requests"], 2);
    }
}

#[test]
fn silence_on_the_requirements_does_not_say_that_all_are_fulfilled() {
    for (first, lacks) in [
        (
            "Use a ring.\n\n```json\n{\"tradeoffs\": [], \"recommendations\": [], \"openQuestions\": [], \"confidence\": 90}\n```",
            "it has no `unfulfilledMajorRequirements`",
        ),
        (
            "Use a ring.\n\n```json\n{\"tradeoffs\": [\"space\"], \"unfulfilledMajorRequirements\": [], \"confidence\": 0.82}\n```",
            "`confidence`: expected a number from 0 to 100 (82, not 0.82)",
        ),
    ] {
        let Debated { server, finished, state, .. } =
            Debated::of_two(&json!({}), judge_says(first, || Reply::text("I would rather not.")));
        assert_eq!(server.asked(Purpose::Assess).len(), 1, "it is asked for once more");
        // It never comes: the answer stands, and the outcome says what it lacks.
        assert!(finished.stdout.starts_with("Use a ring.\n"), "{finished}");
        assert_eq!(state["outcome"]["kind"], "degraded");
        let reason = format!("the judge's answer lacks a full assessment ({lacks})");
        assert_eq!(state["outcome"]["reasons"], json!([reason]));
    }
}

#[test]
fn an_assessment_that_never_comes_leaves_the_solution_and_is_said() {
    let server = MockServer::with(judge_says("Use a ring.", || Reply::text("I would rather not.")));
    let sandbox = two_agents(&server, &json!({}));
    let finished = sandbox.run(["debate", "Design a queue", "--quiet"]).expect_code(0);
    insta::assert_snapshot!(finished, @r"
    exit: 0
    --- stdout
    Use a ring.

    --- stderr
    7 calls, of unknown cost (no price is known for model-architect and 2 more)
    warning: using the judge's answer without its full assessment: it has no assessment
    Saved debate to ./debates/[id].json
    warning: this run is incomplete:
      - the judge's answer lacks a full assessment (it has no assessment)
    ");
    let state = sandbox.state(&sandbox.only_debate());
    assert_eq!(state["finalSolution"]["confidence"], Value::Null);
    assert_eq!(state["outcome"]["reasons"].as_array().unwrap().len(), 1);
    two_agents(&server, &json!({})).run(["debate", "Design a queue", "--strict"]).expect_code(5);
}

#[test]
fn whatever_becomes_of_the_second_call_the_first_answer_stands() {
    let failures: [fn() -> Reply; 4] = [
        || Reply::error(500, "oops").header("retry-after", "0"),
        || Reply::error(400, "no"),
        || too_long("the request exceeds the available context size"),
        || Reply::html().status(403),
    ];
    for failure in failures {
        let Debated { finished, state, .. } =
            Debated::of_two(&json!({"maxRetries": 1}), judge_says("Use a ring.", failure));
        assert_eq!(finished.stdout.trim(), "Use a ring.");
        assert_eq!((&state["status"], &state["outcome"]["kind"]), (&json!("completed"), &json!("degraded")));
        let reason = state["outcome"]["reasons"][0].as_str().unwrap();
        assert!(reason.starts_with(
            "the judge's answer lacks a full assessment (it has no assessment, and asking again failed: "
        ));
    }
}

#[test]
fn a_score_whose_second_chance_fails_is_unreadable_and_no_more() {
    let Debated { finished, state, .. } =
        Debated::of_two(&json!({"terminationCondition": {"type": "quality"}}), |request| match request.purpose {
            Purpose::Confidence if request.messages.iter().any(|message| message.role == "assistant") => {
                Reply::error(400, "too long")
            }
            Purpose::Confidence => Reply::text("Rather good."),
            _ => short_reply(request),
        });
    assert!(finished.stderr.contains("cannot read a score in the judge's answer for round 1"), "{finished}");
    assert_eq!(state["rounds"][0]["evaluation"]["score"], Value::Null);
    assert_eq!(state["usage"]["model-judge"]["requests"], 2, "the answer that was no score, and the synthesis");
    assert_eq!(state["outcome"]["kind"], "degraded");
}

#[test]
fn an_answer_without_a_solution_is_asked_for_once_more() {
    const BLOCK: &str = "```json\n{\"tradeoffs\": [], \"unfulfilledMajorRequirements\": [], \"confidence\": 70}\n```";
    let whole: &'static str = format!("Use a ring.\n\n{BLOCK}").leak();
    let Debated { server, finished, state, .. } =
        Debated::of_two(&json!({}), judge_says(BLOCK, move || Reply::text(whole)));
    assert!(finished.stdout.starts_with("Use a ring.\n"), "{finished}");
    assert_eq!(server.asked(Purpose::Synthesize).len(), 2);
    assert_eq!(state["outcome"]["kind"], "full");
}

#[test]
fn json_that_was_cut_is_said_to_be_cut() {
    const HALF: &str = "{\"questions\": [{\"text\": \"How ma";
    let server = MockServer::with(|request| match request.purpose {
        Purpose::Clarify if request.model() == "model-kiss" => Reply::text(HALF).ending(Ending::OutputLimit),
        Purpose::Synthesize => Reply::text("# Ring\n\nUse a ring."),
        Purpose::Assess => Reply::text("{\"tradeoffs\": [\"spa").ending(Ending::OutputLimit),
        _ => short_reply(request),
    });
    let sandbox = two_agents(&server, &json!({}));
    sandbox.run_with_input(["debate", "Design a queue", "--clarify"], "\n\n\n").expect_code(0);
    let state = sandbox.state(&sandbox.only_debate());
    let reasons: Vec<&str> =
        state["outcome"]["reasons"].as_array().unwrap().iter().map(|reason| reason.as_str().unwrap()).collect();
    let said = |of: &str| {
        let cut = "; the answer was cut off at the output limit";
        reasons.iter().filter(|reason| reason.contains(of) && reason.contains(cut)).count()
    };
    assert_eq!(
        (said("agent-kiss failed in the clarification"), said("the judge's answer lacks a full assessment")),
        (1, 1)
    );
    assert_eq!(reasons.len(), 2, "{reasons:?}");
}

#[test]
fn a_request_of_the_judge_that_does_not_fit_is_shortened_and_sent_again() {
    const WINDOW: usize = 9000;
    let debated = Debated::of_two(&json!({}), |request| {
        let is_too_long = request.purpose == Purpose::Synthesize && request.text().len() > WINDOW;
        if is_too_long { too_long("maximum context length is 2048 tokens") } else { one_is_long(request) }
    });
    assert!(debated.finished.stdout.contains("## Judge Assessment"), "{}", debated.finished);
    let synthesis = debated.server.asked(Purpose::Synthesize);
    let last = synthesis.last().unwrap().text();
    assert!(synthesis.len() > 1 && last.len() <= WINDOW, "{} requests", synthesis.len());
    assert_shortened(&last, &debated);
    debated.server.assert_clean();
}

#[test]
fn a_request_of_the_judge_that_its_model_is_known_not_to_read_is_shortened_before_it_is_sent() {
    const WINDOW: usize = 4000;
    let mut settings = config(&["architect", "kiss"], &json!({}));
    settings["models"] = json!({"model-judge": {"contextWindow": WINDOW}});
    settings["judge"]["maxTokens"] = json!(500);
    let debated = Debated::with(&settings, one_is_long);
    let sent = debated.server.asked(Purpose::Synthesize);
    assert_eq!(sent.len(), 1, "one request, which is not refused");
    let sent = sent[0].text();
    // At the shortest tokens that a forecast knows, and with room for the answer.
    assert!(sent.len() / 4 + 500 <= WINDOW, "{} bytes", sent.len());
    assert_shortened(&sent, &debated);
    let shortened = &debated.state["finalSolution"]["shortened"];
    assert!(shortened["to"].as_u64() > Some(5000) && shortened["to"].as_u64() < shortened["from"].as_u64());
}

#[test]
fn a_judge_that_fails_costs_nothing_of_what_was_said() {
    let failing = |request: &Incoming| match request.purpose {
        Purpose::Synthesize => Reply::error(500, "oops").header("retry-after", "0"),
        _ => short_reply(request),
    };
    let server = MockServer::with(failing);
    let sandbox = two_agents(&server, &json!({"maxRetries": 1}));
    let finished = sandbox.run(["debate", "Design a queue", "--quiet"]).expect_code(3);
    insta::assert_snapshot!(finished, @"
    exit: 3
    --- stdout

    --- stderr
    7 calls, of unknown cost (no price is known for model-architect and 2 more)
    warning: judge failed in the synthesis after 2 attempts: the server failed (500): oops
    Saved debate to ./debates/[id].json
    error: the debate [id] failed: the judge could not write the solution: the server failed (500): oops
    hint: all texts are saved; fix the cause, then: dialectic resume [id]
    ");
    // Six of the agents, two attempts, and one by the other API: this model has never answered.
    assert_eq!(server.requests().len(), 9);
    let (id, state) = sandbox.only_state();
    let contributions = state["rounds"][0]["contributions"].as_array().unwrap();
    assert_eq!((&state["status"], contributions.len()), (&json!("failed"), 6));

    // Still out of order: two attempts, one by the other API, and one as a whole, since this run has seen no stream.
    sandbox.run(["resume", "latest", "--quiet"]).expect_code(3);
    assert_eq!(server.requests().len(), 13);

    server.set_script(short_reply);
    let (finished, state) = sandbox.debated(["resume", &id, "--quiet"]);
    assert_eq!(server.requests().len(), 14);
    assert_eq!(server.requests()[13].purpose, Purpose::Synthesize);
    assert!(finished.stdout.contains("## Judge Assessment"), "{finished}");
    assert_eq!((&state["status"], &state["outcome"]), (&json!("completed"), &json!({"kind": "full", "reasons": []})));
    server.assert_clean();
}
