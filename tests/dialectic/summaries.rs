//! Summaries where something is different: an agent's own settings, its own prompt, a call that fails.

use serde_json::{Value, json};

use crate::support::{Debated, Incoming, MockServer, Purpose, Reply, Sandbox, config, prose, short_reply};

/// Long texts, so that every history is past the threshold of 5,000 characters after one round.
pub(crate) fn long(request: &Incoming) -> Reply {
    match request.purpose {
        Purpose::Propose | Purpose::Refine => Reply::text(prose(request.digest, 400)),
        Purpose::Critique => Reply::text(format!("1. [minor] {}", prose(request.digest, 400))),
        _ => short_reply(request),
    }
}

fn two_rounds() -> Value {
    config(&["architect", "kiss"], &json!({"rounds": 2, "summarization": {"enabled": true}}))
}

/// The ids of the agents with a summary in round 2.
fn summarised(state: &Value) -> Vec<&str> {
    let summaries = state["rounds"][1]["summaries"].as_object();
    summaries.map(|summaries| summaries.keys().map(String::as_str).collect()).unwrap_or_default()
}

#[test]
fn an_agents_own_threshold_beats_the_debates() {
    let mut configured = two_rounds();
    configured["agents"][0]["summarization"] = json!({"threshold": 1_000_000});
    configured["agents"][1]["summarization"] = json!({"maxLength": 40});
    let Debated { state, .. } = Debated::with(&configured, long);
    assert_eq!(summarised(&state), ["agent-kiss"]);
    let summary = state["rounds"][1]["summaries"]["agent-kiss"]["summary"].as_str().unwrap();
    assert!(summary.chars().count() <= 40, "{summary}");
    assert_eq!(state["rounds"][1]["summaries"]["agent-kiss"]["metadata"]["method"], "length-based");
}

#[test]
fn a_summary_that_fails_is_a_warning_and_the_history_is_shown() {
    let mut configured = two_rounds();
    configured["debate"]["includeFullHistory"] = json!(true);
    let Debated { server, finished, state, .. } = Debated::with(&configured, |request| match request.purpose {
        Purpose::Summarize if request.model() == "model-kiss" => Reply::error(400, "too long"),
        _ => long(request),
    });
    assert!(finished.stderr.contains("warning: agent-kiss failed in the summarization"), "{finished}");
    assert_eq!(summarised(&state), ["agent-architect"]);
    assert_eq!(state["outcome"]["kind"], "degraded");
    let contributions = state["rounds"][0]["contributions"].as_array().unwrap();
    let first = contributions.iter().find(|one| one["agentId"] == "agent-kiss").unwrap()["content"].as_str().unwrap();
    let in_round_two: Vec<_> = server
        .requests()
        .into_iter()
        .filter(|request| request.purpose == Purpose::Critique)
        .skip(2)
        .map(|request| (request.model().to_owned(), request.prompt().contains(first)))
        .collect();
    assert_eq!(in_round_two.len(), 2);
    for (model, sees_history) in in_round_two {
        assert_eq!(sees_history, model == "model-kiss", "{model}");
    }
}

#[test]
fn a_summary_prompt_of_the_users_replaces_the_roles_and_can_say_where_the_history_belongs() {
    let server = MockServer::with(long);
    let debate = json!({"rounds": 2, "summarization": {"enabled": true}});
    let mut configured = config(&["architect", "kiss", "testing"], &debate);
    for (place, path) in ["mine.md", "whole.md", "gone.md"].into_iter().enumerate() {
        configured["agents"][place]["summaryPromptPath"] = json!(path);
    }
    configured["judge"]["summaryPromptPath"] = json!("judge.md");
    let mine = "Begin.\n\n{content}\n\nEnd, and count {{ twice }}.";
    let sandbox = Sandbox::new()
        .model_server(&server)
        .config(&configured)
        .file("mine.md", mine)
        .file("whole.md", "Keep every number.")
        .file("judge.md", "Now: {content} !");
    let (finished, state) = sandbox.debated(["debate", "Design a queue, and keep {content} as it is"]);
    assert!(finished.stderr.contains("agent-testing") && finished.stderr.contains("gone.md"), "{finished}");
    let mut asked = server.requests();
    asked.retain(|request| request.prompt().contains("# Your task: summarise"));
    let of = |model: &str| asked.iter().find(|request| request.model() == model).unwrap().prompt().to_owned();
    let (mine, judges) = (of("model-architect"), of("model-judge"));
    assert!(of("model-kiss").contains("Keep every number.") && !of("model-testing").contains("Keep every number."));
    let own = state["rounds"][0]["contributions"][0]["content"].as_str().unwrap();
    let (begin, at, end) = (mine.find("Begin.").unwrap(), mine.find(own).unwrap(), mine.find("End, and").unwrap());
    assert!(begin < at && at < end && mine.matches(own).count() == 1, "{mine}");
    assert!(mine.contains("count {{ twice }}") && mine.contains("keep {content} as it is"), "{mine}");
    let contributions = state["rounds"][0]["contributions"].as_array().unwrap();
    let refined = contributions.iter().find(|one| one["type"] == "refinement").unwrap()["content"].as_str().unwrap();
    assert!(judges.find("Now: ").unwrap() < judges.find(refined).unwrap() && judges.matches(refined).count() == 1);
}
