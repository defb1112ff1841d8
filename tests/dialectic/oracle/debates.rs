//! The debates that are pinned: each shows a part of the program that the others do not.

use serde_json::{Value, json};

use super::{Call, Oracle, seeded, text, usual};
use crate::budget::priced;
use crate::support::{Incoming, Purpose, Reply, config, prose};

const THREE: [&str; 3] = ["architect", "performance", "kiss"];
const DEBATE: [&str; 2] = ["debate", "Design a queue for many tenants. It must be fast, and it must lose nothing."];

fn broken() -> Reply {
    Reply::error(500, "the mock broke")
}

fn score(score: u32) -> Reply {
    Reply::json(json!({"confidence": score}))
}

#[test]
fn three_agents_over_three_rounds() {
    let oracle = Oracle::new(&THREE, &json!({"rounds": 3}), |_| None);
    oracle.run(0, &DEBATE, "");
    oracle.is_pinned("three-rounds");
}

#[test]
fn seven_agents() {
    let roles = ["architect", "performance", "kiss", "security", "testing", "datamodeling", "generalist"];
    let oracle = Oracle::new(&roles, &json!({}), |_| None);
    oracle.run(0, &DEBATE, "");
    oracle.is_pinned("seven-agents");
}

#[test]
fn one_agent_without_its_history() {
    let oracle = Oracle::new(&["kiss"], &json!({"rounds": 3, "includeFullHistory": false}), |_| None);
    oracle.run(0, &DEBATE, "");
    oracle.is_pinned("one-agent");
}

#[test]
fn scores_that_cannot_be_read_that_are_too_low_and_that_end_the_rounds() {
    let debate = json!({"rounds": 5, "terminationCondition": {"type": "convergence", "threshold": 80}});
    let oracle = Oracle::new(&THREE, &debate, |request| match request.purpose {
        Purpose::Confidence if Call::of(request).round == 3 => Some(score(80)),
        Purpose::Confidence if Call::of(request).round == 2 => Some(score(79)),
        Purpose::Confidence => Some(Reply::text("Rather good.")),
        _ => None,
    });
    oracle.run(0, &DEBATE, "");
    oracle.is_pinned("scores");
}

#[test]
fn questions_of_two_passes_some_without_an_answer() {
    let debate = json!({"clarificationsMaxIterations": 2, "clarificationsMaxPerAgent": 1});
    let oracle = Oracle::new(&THREE, &debate, |request| {
        let pass = if request.prompt().contains(" in pass 1?") { 2 } else { 1 };
        let text = |number| format!("What of {} {number} in pass {pass}?", request.model());
        let questions = json!({"questions": [{"id": "q1", "text": text(1)}, {"id": "q2", "text": text(2)}]});
        (request.purpose == Purpose::Clarify).then(|| Reply::json(questions))
    });
    oracle.run(0, &[&DEBATE[..], &["--clarify"]].concat(), "alpha\n\ngamma\ndelta\n");
    oracle.is_pinned("questions");
}

/// Texts that are long enough to be condensed.
fn long(request: &Incoming) -> Option<Reply> {
    match request.purpose {
        Purpose::Propose | Purpose::Refine => Some(text(request, 300)),
        Purpose::Critique => Some(text(request, 120)),
        _ => None,
    }
}

fn condensed() -> Value {
    json!({"rounds": 3, "summarization": {"threshold": 3000, "maxLength": 300}})
}

#[test]
fn summaries_of_agents_and_of_the_judge_one_cut_and_one_missing() {
    let oracle = Oracle::new(&THREE, &condensed(), |request| match request.purpose {
        Purpose::Summarize if request.model() == "model-kiss" => Some(broken()),
        Purpose::Summarize if request.model() == "model-performance" => Some(text(request, 90)),
        _ => long(request),
    });
    oracle.run(0, &DEBATE, "");
    oracle.is_pinned("summaries");
}

#[test]
fn tools_up_to_their_limit() {
    let mut configured = config(&["architect", "kiss"], &seeded(&json!({})));
    configured["agents"][0]["tools"] =
        json!([{"name": "file_read"}, {"name": "list_files"}, {"name": "context_search"}]);
    configured["agents"][0]["toolCallLimit"] = json!(2);
    let oracle = Oracle::configured(&configured, |request| {
        let calls = [
            ("list_files", json!({"path": "."})),
            ("file_read", json!({"path": "plan.md"})),
            ("context_search", json!({"term": "queue"})),
        ];
        let mut reply = usual(request);
        if request.purpose == Purpose::Propose && !request.tools().is_empty() {
            reply = Reply::tool_calls(calls.into_iter().skip(request.tool_results().len()).take(2));
        }
        // The length of the directory's name must not count.
        Some(reply.usage(100, 0, 20))
    });
    oracle.sandbox.write("context/plan.md", "The plan is to queue.");
    oracle.run(0, &[&DEBATE[..], &["--context", "context"]].concat(), "");
    oracle.is_pinned("tools");
}

#[test]
fn calls_of_every_phase_that_fail() {
    let debate = json!({"rounds": 3, "terminationCondition": {"type": "quality", "threshold": 90}});
    let oracle = Oracle::new(&["architect", "performance", "kiss", "security"], &debate, |request| {
        let is_first = Call::of(request).round == 1;
        match (request.purpose, request.model()) {
            (Purpose::Propose, "model-kiss") if is_first => Some(broken()),
            (Purpose::Critique, "model-architect") if request.prompt().contains("[proposal 1 security]") => {
                Some(broken())
            }
            (Purpose::Refine, "model-performance") if is_first => Some(Reply::text(" ")),
            (Purpose::Confidence, _) => Some(broken()),
            _ => None,
        }
    });
    oracle.run(0, &DEBATE, "");
    oracle.is_pinned("failures");
}

#[test]
fn a_debate_that_fails_with_an_agent_and_goes_on_when_it_is_resumed() {
    let debate = json!({"rounds": 2, "onAgentFailure": "fail", "maxConcurrency": 1});
    let oracle = Oracle::new(&THREE, &debate, |request| {
        let fails = request.purpose == Purpose::Refine && request.model() == "model-kiss";
        (fails && Call::of(request).round == 1 && request.repeats == 0).then(broken)
    });
    oracle.run(3, &DEBATE, "");
    oracle.run(0, &["resume", "latest"], "");
    oracle.is_pinned("resumed");
}

#[test]
fn a_judge_that_reads_less_than_there_is_and_forgets_its_assessment() {
    let debate = json!({"rounds": 2, "summarization": {"enabled": false}});
    let oracle = Oracle::new(&THREE, &debate, |request| match request.purpose {
        // The list of open points is never shortened: only the texts beside it are.
        Purpose::Synthesize if request.prompt().len() > 14_500 => {
            let error =
                json!({"error": {"message": "maximum context length is 2048", "code": "context_length_exceeded"}});
            Some(Reply::raw("application/json", error.to_string()).status(400))
        }
        Purpose::Synthesize => Some(Reply::text(format!("# Ring\n\n{}", prose(1, 40)))),
        _ => long(request),
    });
    oracle.run(0, &DEBATE, "");
    oracle.is_pinned("shortened");
}

#[test]
fn a_cost_limit_that_lowers_answers_and_closes_the_debate() {
    let debate = seeded(&json!({"rounds": 9, "maxConcurrency": 1}));
    let oracle =
        Oracle::configured(&priced(&["architect", "kiss"], &debate), |request| Some(usual(request).usage(900, 0, 900)));
    oracle.run(0, &[&DEBATE[..], &["--max-cost", "0.70"]].concat(), "");
    oracle.is_pinned("cost-limit");
}

#[test]
fn a_fork_with_other_settings_asks_for_what_is_new_alone() {
    let oracle = Oracle::new(&THREE, &condensed(), long);
    oracle.run(0, &DEBATE, "");
    oracle.server.forget();
    let parent = oracle.sandbox.only_debate();
    oracle.run(0, &["fork", &parent, "--at", "3.critique", "--set", "agents.agent-kiss.temperature=0.9"], "");
    // Ids of one second are in no order.
    oracle.sandbox.remove(format!("debates/{parent}.json"));
    oracle.is_pinned("fork");
}
