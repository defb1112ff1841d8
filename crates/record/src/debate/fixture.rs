//! Signals of a fictitious debate, for tests of its watchers.

use std::sync::Arc;
use std::time::Duration;

use chrono::DateTime;
use serde_json::{Value, json};

use crate::protocol::DIALECTIC;
use dialectic_base::call::{CallRecord, Tokens};
use dialectic_base::money::Usd;

use super::{
    AgentId, AgentSettings, CallKey, Contribution, Created, Debate, Event, FORMAT_VERSION, Failure, Judgement,
    Metadata, ModelUsage, Outcome, OutcomeKind, PanelInfo, Recorded, ResultKind, Signal, StageId, StageInfo, Timestamp,
    Verdict, defaults,
};

pub const CLARIFICATION: StageId = StageId::new("clarification");
pub const CLARIFICATION_INPUT: StageId = StageId::new("clarification-input");
pub const ROUND_MANAGER: StageId = StageId::new("round-manager");
pub const SUMMARIZATION: StageId = StageId::new("summarization");
pub const PROPOSAL: StageId = StageId::new("proposal");
pub const CRITIQUE: StageId = StageId::new("critique");
pub const EVALUATION: StageId = StageId::new("evaluation");
pub const JUDGE_SUMMARY: StageId = StageId::new("judge-summary");
pub const SYNTHESIS: StageId = StageId::new("synthesis");

pub fn panel() -> PanelInfo {
    let participant = |id: &str, name: &str, role: &str| AgentSettings {
        id: AgentId::new(id),
        name: name.to_owned(),
        role: role.to_owned(),
        model: "gpt-4".to_owned(),
        ..defaults::unnamed_agent()
    };
    PanelInfo {
        agents: vec![
            participant("agent-architect", "System Architect", "architect"),
            participant("agent-performance", "Performance Engineer", "performance"),
            participant("agent-kiss", "Simplicity Advocate", "kiss"),
        ],
        judge: participant("judge", "Judge", "generalist"),
        rounds: 3,
        stages: DIALECTIC.infos(),
        spent: ModelUsage::NONE,
        polls: Vec::new(),
    }
}

pub fn recorded(event: Event) -> Signal {
    Signal::Recorded(Arc::new(Recorded { seq: 1, at: Timestamp::from(DateTime::UNIX_EPOCH), event }))
}

pub fn key(stage: StageId, agent: &str, target: Option<&str>) -> CallKey {
    CallKey { target_agent_id: target.map(AgentId::new), ..CallKey::new(1, stage, &AgentId::new(agent)) }
}

pub fn call(cost_usd: Option<Usd>) -> CallRecord {
    CallRecord {
        model: "gpt-4".to_owned(),
        provider: "openai".to_owned(),
        tokens: Some(Tokens { input_tokens: 1_000, output_tokens: 434, ..Tokens::default() }),
        cost_usd,
        latency_ms: 1_234,
        attempts: 1,
        ..CallRecord::default()
    }
}

/// A contribution with this text, made by a call.
pub fn said(stage: StageId, agent: &str, target: Option<&str>, text: &str) -> Signal {
    contribution(stage, agent, target, text, Some(call(Some(Usd::from_dollars(0.01)))))
}

fn contribution(stage: StageId, agent: &str, target: Option<&str>, text: &str, call: Option<CallRecord>) -> Signal {
    let contribution = Contribution {
        agent_id: AgentId::new(agent),
        agent_role: "kiss".into(),
        stage,
        content: text.into(),
        metadata: Metadata::of_calls(&call),
        target_agent_id: target.map(AgentId::new),
        reading: None,
    };
    recorded(Event::Contributed { key: key(stage, agent, target), contribution: Arc::new(contribution), call })
}

pub fn contributed(stage: StageId, agent: &str, target: Option<&str>) -> Signal {
    said(stage, agent, target, "text")
}

pub fn contributed_unpriced(stage: StageId, agent: &str) -> Signal {
    contribution(stage, agent, None, "text", Some(call(None)))
}

/// A text carried over from an earlier round without a call.
pub fn carried_over(stage: StageId, agent: &str) -> Signal {
    contribution(stage, agent, None, "text", None)
}

pub fn failed(stage: StageId, agent: &str, target: Option<&str>, error: &str) -> Signal {
    let failure = Failure {
        key: key(stage, agent, target),
        error: error.to_owned(),
        kind: None,
        server_gone: false,
        attempts: 4,
        at: Timestamp::from(DateTime::UNIX_EPOCH),
    };
    recorded(Event::CallFailed { failure, call: None })
}

pub fn stage_entered(stage: StageId) -> Signal {
    recorded(Event::StageEntered { stage })
}

pub fn round_begun(round: u32) -> Signal {
    recorded(Event::RoundBegun { round, stage: SUMMARIZATION })
}

pub fn stage_started(stage: StageId, total: usize) -> Signal {
    Signal::StageStarted { stage, round: 1, total }
}

pub fn stage_ended(stage: StageId, done: usize, failed: usize) -> Signal {
    Signal::StageEnded { stage, round: 1, done, failed }
}

pub fn call_started(stage: StageId, agent: &str, target: Option<&str>) -> Signal {
    Signal::CallStarted { key: key(stage, agent, target), model: "gpt-4".to_owned(), asked: None }
}

pub fn call_ended(stage: StageId, agent: &str, target: Option<&str>) -> Signal {
    let CallRecord { latency_ms, tokens, cost_usd, .. } = call(Some(Usd::from_dollars(0.01)));
    Signal::CallEnded {
        key: key(stage, agent, target),
        latency_ms,
        tokens,
        cost_usd,
        error: None,
        waits_for_server: false,
    }
}

pub fn call_failed(stage: StageId, agent: &str, target: Option<&str>, error: &str) -> Signal {
    let key = key(stage, agent, target);
    Signal::CallEnded {
        key,
        latency_ms: 10,
        tokens: None,
        cost_usd: None,
        error: Some(error.to_owned()),
        waits_for_server: false,
    }
}

pub fn retrying(stage: StageId, agent: &str, target: Option<&str>, error: &str) -> Signal {
    let key = key(stage, agent, target);
    Signal::CallRetrying { key, attempt: 2, error: error.to_owned(), wait: Duration::from_secs(4) }
}

pub fn words(stage: StageId, agent: &str, target: Option<&str>, text: &str) -> Signal {
    Signal::Words { key: key(stage, agent, target), text: text.to_owned() }
}

pub fn warning(message: &str) -> Signal {
    Signal::Warning { message: message.to_owned(), failed: None }
}

/// A saved debate of two agents and a judge, with one complete round and one with a failure.
pub fn debate() -> Debate {
    let summarization = json!({"enabled": true, "threshold": 5000, "maxLength": 2500, "method": "length-based"});
    let agent = |id: &str, name: &str, role: &str, model: &str| {
        json!({"id": id, "name": name, "role": role, "model": model, "provider": "openrouter", "temperature": 0.5,
            "summarization": summarization, "enabled": true, "toolCallLimit": 10})
    };
    let said = |agent: &str, kind: &str, target: Option<&str>, metadata: Value| {
        json!({"agentId": agent, "agentRole": "kiss", "type": kind, "content": "text", "metadata": metadata,
            "targetAgentId": target})
    };
    let took = |tokens: u64, millis: u64| json!({"tokensUsed": tokens, "latencyMs": millis});
    let debate = json!({
        "id": "deb-20250101-010203-ab12", "problem": "Design it.", "status": "completed", "currentRound": 2,
        "createdAt": "2025-01-01T01:02:03.000Z", "updatedAt": "2025-01-01T01:05:07.000Z",
        "rounds": [
            {"roundNumber": 1, "contributions": [
                said("agent-architect", "proposal", None, took(1434, 1249)),
                said("agent-kiss", "proposal", None, json!({"latencyMs": 61000})),
                said("agent-architect", "critique", Some("agent-kiss"), took(12345, 900)),
                said("agent-kiss", "critique", Some("agent-architect"),
                    json!({"tokensUsed": 1, "latencyMs": 10, "truncated": true})),
                said("agent-kiss", "refinement", None, json!({"tokensUsed": 2000, "latencyMs": 2000,
                    "toolCalls": [{"id": "c", "name": "file_read", "arguments": "{}"}]})),
            ], "evaluation": {"type": "convergence", "score": 72.5, "threshold": 80}},
            {"roundNumber": 2, "timedOut": true, "contributions": [
                said("agent-kiss", "proposal", None, took(0, 0)),
            ], "summaries": {"agent-kiss": {"agentId": "agent-kiss", "agentRole": "kiss", "summary": "s",
                "metadata": {"beforeChars": 12000, "afterChars": 2400, "method": "length-based", "tokensUsed": 4000}}},
            "evaluation": {"type": "convergence", "score": null, "threshold": 80}},
        ],
        "judgeSummary": {"agentId": "judge", "agentRole": "judge", "summary": "s",
            "metadata": {"tokensUsed": 700, "latencyMs": 1500}},
        "promptSources": {
            "agents": [
                {"agentId": "agent-architect", "role": "architect", "source": "built-in"},
                {"agentId": "agent-kiss", "role": "kiss", "source": "file", "path": "/home/me/prompts/kiss.md"},
            ],
            "judge": {"id": "judge", "source": "built-in", "summarySource": "built-in"},
        },
        "settings": {
            "agents": [agent("agent-architect", "System Architect", "architect", "gpt-5"),
                agent("agent-kiss", "Simplicity Advocate", "kiss", "some-vendor/a-model-with-a-long-name")],
            "judge": agent("judge", "Judge", "generalist", "gpt-5"),
            "debate": {"protocol": "dialectic", "rounds": 2,
                "terminationCondition": {"type": "convergence", "threshold": 80}, "synthesisMethod": "judge",
                "includeFullHistory": true, "timeoutPerRound": 300_000, "summarization": summarization,
                "interactiveClarifications": false, "clarificationsMaxPerAgent": 5,
                "clarificationsMaxIterations": 3, "maxConcurrency": 8, "callTimeout": 120_000, "maxRetries": 3,
                "onAgentFailure": "continue", "orchestratorType": "sequential"},
        },
        "failures": [{"agentId": "agent-architect", "phase": "critique", "round": 2, "targetAgentId": "agent-kiss",
            "error": "the server answered 503", "attempts": 4, "at": "2025-01-01T01:05:00.000Z"}],
        "usage": {
            "gpt-5": {"requests": 3, "inputTokens": 12000, "cachedInputTokens": 4096, "outputTokens": 2480,
                "costUsd": 0.0421},
            "some-vendor/a-model-with-a-long-name": {"requests": 4, "inputTokens": 3000, "cachedInputTokens": 0,
                "outputTokens": 3001, "costUsd": null},
        },
    });
    // Parsed from bytes like a file, since other readers would be instantiated in every build.
    let mut debate: Debate = serde_json::from_slice(debate.to_string().as_bytes()).unwrap();
    debate.stages = DIALECTIC.infos();
    debate.outcome = Some(Outcome::derive(&debate));
    debate
}

/// A saved debate of these agents over two rounds, with a point of every possible outcome.
pub fn argued() -> Debate {
    serde_json::from_slice(include_bytes!("argued.json")).unwrap()
}

/// The event that creates a debate of these agents and the judge.
pub fn created(stages: Arc<[StageInfo]>) -> Event {
    let Debate { id, problem, settings, prompt_sources, .. } = debate();
    Event::Created(Box::new(Created {
        format_version: FORMAT_VERSION,
        id,
        problem,
        context: None,
        attachments: [].into(),
        change: None,
        settings: settings.unwrap(),
        stages,
        prompt_sources: prompt_sources.unwrap(),
        seed: 1,
        forked_from: None,
    }))
}

/// The end of a debate, with every field set.
pub fn completed() -> Event {
    Event::Completed { outcome: Outcome { kind: OutcomeKind::Full, reasons: Vec::new() } }
}

/// The stages of a test protocol whose words occur nowhere else.
pub mod pitching {
    use super::*;

    pub const PITCH: StageId = StageId::new("pitch");
    pub const HECKLE: StageId = StageId::new("heckle");
    pub const APPLAUSE: StageId = StageId::new("applause");
    pub const INTERLUDE: StageId = StageId::new("interlude");
    pub const SHOW_OF_HANDS: StageId = StageId::new("show-of-hands");
    pub const RULING: StageId = StageId::new("ruling");

    pub fn stages() -> Arc<[StageInfo]> {
        [
            StageInfo::new(PITCH, ["pitch", "pitches", "pitching", "pitches", "pitched", "pitch"])
                .yielding(ResultKind::Proposal)
                .in_round(),
            StageInfo::new(HECKLE, ["heckle", "heckles", "heckling", "heckles", "heckled", "heckle"])
                .yielding(ResultKind::Critique)
                .in_round(),
            StageInfo::new(APPLAUSE, ["applause", "applauses", "applauding", "applauds", "applauded", "applaud"])
                .yielding(ResultKind::Ballot)
                .in_round(),
            StageInfo::new(INTERLUDE, ["interlude", "interludes", "resting", "rests", "rested", "rest"]),
            StageInfo::new(
                SHOW_OF_HANDS,
                ["show of hands", "shows of hands", "raising a hand", "raises a hand", "raised a hand", "raise a hand"],
            )
            .yielding(ResultKind::Ballot),
            StageInfo::new(RULING, ["ruling", "rulings", "deliberating", "deliberates", "deliberated", "deliberate"])
                .yielding(ResultKind::Verdict),
        ]
        .into()
    }

    pub fn panel() -> PanelInfo {
        PanelInfo { stages: stages(), ..super::panel() }
    }

    pub fn applauded(agent: &str, whom: &str) -> Event {
        let call = call(None);
        let contribution = Contribution {
            agent_id: AgentId::new(agent),
            agent_role: "kiss".into(),
            stage: APPLAUSE,
            content: "because".into(),
            metadata: Metadata::of_calls([&call]),
            target_agent_id: Some(AgentId::new(whom)),
            reading: None,
        };
        let key = key(APPLAUSE, agent, None);
        Event::Contributed { key, contribution: Arc::new(contribution), call: Some(call) }
    }

    pub fn polled(agent: &str, vote: &str) -> Event {
        let key = key(SHOW_OF_HANDS, agent, None);
        Event::Polled { key, vote: vote.to_owned(), reason: "because".to_owned(), call: call(None) }
    }

    pub fn judged(pass: u8, winner: Option<&str>) -> Event {
        let judgement = Judgement {
            pass,
            winner: winner.map(AgentId::new),
            scores: scores(),
            criteria: [("wit".to_owned(), "plenty".to_owned())].into(),
            reasoning: "because".to_owned(),
            by_criterion: std::collections::BTreeMap::new(),
            missing: std::collections::BTreeMap::new(),
            lacking: Vec::new(),
            advice: crate::debate::Advice::default(),
        };
        Event::Judged { key: key(RULING, "judge", None).pass(pass), judgement, call: call(None) }
    }

    pub fn decided(winner: Option<&str>, stable: Option<bool>) -> Event {
        Event::Decided {
            verdict: Verdict {
                winner: winner.map(AgentId::new),
                scores: scores(),
                criteria: [("wit".to_owned(), "plenty".to_owned())].into(),
                reasoning: "because".to_owned(),
                by_criterion: std::collections::BTreeMap::new(),
                missing: std::collections::BTreeMap::new(),
                stable,
            },
        }
    }

    /// A debate from start to end.
    pub fn scene() -> Vec<Signal> {
        let [architect, performance, kiss] = ["agent-architect", "agent-performance", "agent-kiss"];
        let second = key(RULING, "judge", None).pass(2);
        vec![
            recorded(Event::RoundBegun { round: 1, stage: PITCH }),
            stage_entered(PITCH),
            stage_started(PITCH, 1),
            call_started(PITCH, architect, None),
            retrying(PITCH, architect, None, "rate limited"),
            contributed(PITCH, architect, None),
            call_ended(PITCH, architect, None),
            stage_ended(PITCH, 1, 0),
            stage_entered(HECKLE),
            stage_started(HECKLE, 2),
            call_started(HECKLE, kiss, Some(architect)),
            call_started(HECKLE, kiss, Some(performance)),
            contributed(HECKLE, kiss, Some(architect)),
            call_ended(HECKLE, kiss, Some(architect)),
            failed(HECKLE, kiss, Some(performance), "lost for words"),
            call_failed(HECKLE, kiss, Some(performance), "lost for words"),
            stage_ended(HECKLE, 1, 1),
            stage_entered(APPLAUSE),
            stage_started(APPLAUSE, 1),
            call_started(APPLAUSE, kiss, None),
            recorded(applauded(kiss, architect)),
            call_ended(APPLAUSE, kiss, None),
            stage_ended(APPLAUSE, 1, 0),
            stage_entered(INTERLUDE),
            stage_entered(SHOW_OF_HANDS),
            stage_started(SHOW_OF_HANDS, 1),
            call_started(SHOW_OF_HANDS, performance, None),
            recorded(polled(performance, "against")),
            call_ended(SHOW_OF_HANDS, performance, None),
            stage_ended(SHOW_OF_HANDS, 1, 0),
            stage_entered(RULING),
            stage_started(RULING, 2),
            call_started(RULING, "judge", None),
            recorded(judged(1, Some(architect))),
            call_ended(RULING, "judge", None),
            Signal::CallStarted { key: second.clone(), model: "gpt-4".to_owned(), asked: None },
            recorded(judged(2, None)),
            Signal::CallEnded {
                key: second,
                latency_ms: 1,
                tokens: None,
                cost_usd: None,
                error: None,
                waits_for_server: false,
            },
            stage_ended(RULING, 2, 0),
            recorded(decided(None, Some(false))),
            recorded(completed()),
        ]
    }

    fn scores() -> std::collections::BTreeMap<AgentId, f64> {
        [(AgentId::new("agent-architect"), 72.5), (AgentId::new("agent-kiss"), 65.0)].into()
    }
}
