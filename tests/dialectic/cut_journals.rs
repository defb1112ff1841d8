//! Debates cut off after any line of the journal: a resumed debate is as if it had never been interrupted.

use serde_json::json;

use crate::support::{Incoming, MockServer, Purpose, Reply, Sandbox, default_reply, two_agents};
use crate::timing::without_times;

fn reply(request: &Incoming) -> Reply {
    match (request.purpose, request.model()) {
        (Purpose::Clarify, _) => Reply::json(json!({"questions": [{"id": "q1", "text": "Which region?"}]})),
        (Purpose::Confidence, _) => Reply::json(json!({"confidence": 50})),
        (Purpose::Refine, "model-kiss") => Reply::error(400, "no"),
        (Purpose::Synthesize, _) => Reply::text("Use a ring."),
        (Purpose::Assess, _) => Reply::json(json!({
            "tradeoffs": [], "recommendations": [], "unfulfilledMajorRequirements": [], "openQuestions": [],
            "confidence": 70,
        })),
        _ => default_reply(request),
    }
    .usage(100, 0, 10)
}

/// A place in which nothing is left of a debate but the first lines of its journal.
fn cut(server: &MockServer, id: &str, lines: &[String]) -> Sandbox {
    let journal = lines.join("\n") + "\n";
    Sandbox::new().model_server(server).file(format!("debates/{id}.events.jsonl"), journal)
}

#[test]
fn a_reply_of_the_judge_is_not_paid_for_again_whatever_form_it_has() {
    // The first is the form that the older program asked for, cut.
    for (text, solution) in [
        (r##"{"solutionMarkdown": "# Ring\n\nUse it.", "tradeoffs": ["space"], "confidence": 7"##, "# Ring\n\nUse it."),
        ("I would rather talk.", "I would rather talk."),
    ] {
        let server = MockServer::with(move |request| match request.purpose {
            Purpose::Synthesize => Reply::text(text),
            _ => reply(request),
        });
        let sandbox = two_agents(&server, &json!({}));
        sandbox.run(["debate", "Design a queue", "--quiet"]).expect_code(0);
        let id = sandbox.only_debate();
        let journal = sandbox.journal(&id);
        let replied = journal.iter().position(|line| line.contains("\"type\":\"replied\"")).unwrap();
        let place = cut(&server, &id, &journal[..=replied]);
        let before = server.requests().len();
        place.run(["resume", &id, "--quiet"]).expect_code(0);
        let made = server.requests().split_off(before);
        assert_eq!(made.iter().map(|request| request.purpose).collect::<Vec<_>>(), [Purpose::Assess], "{text}");
        let state = place.state(&id);
        assert_eq!(without_times(&state), without_times(&sandbox.state(&id)));
        let description = state["finalSolution"]["description"].as_str().unwrap();
        assert!(description.starts_with(&format!("{solution}\n\n---\n\n## Judge Assessment\n")), "{description}");
    }
}

#[test]
fn a_debate_that_had_to_fail_fails_behind_every_line_too() {
    let server = MockServer::with(reply);
    let debate = json!({"onAgentFailure": "fail"});
    let sandbox = two_agents(&server, &debate);
    sandbox.run(["debate", "Design a queue", "--quiet"]).expect_code(3);
    let id = sandbox.only_debate();
    let journal = sandbox.journal(&id);
    let failed = journal.iter().position(|line| line.contains("\"type\":\"call-failed\"")).unwrap();
    let place = cut(&server, &id, &journal[..=failed]);
    let before = server.requests().len();
    place.run(["resume", &id, "--quiet"]).expect_code(3);
    assert_eq!(place.state(&id)["status"], "failed");
    assert_eq!(server.requests().len(), before, "a debate that has to fail calls nobody");
}
