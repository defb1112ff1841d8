//! Signals of a fictitious debate, for tests of its watchers.

use std::sync::Arc;
use std::time::Duration;

use crate::protocol::DIALECTIC;
use chrono::DateTime;
use dialectic_base::call::{CallRecord, Tokens};
use dialectic_base::money::Usd;

use super::{Contribution, Debate, Failure, Metadata, ModelUsage, Outcome, OutcomeKind};
use crate::answer::{Judgement, Verdict};
use crate::event::{Created, Event, FORMAT_VERSION, Recorded};
use crate::ids::{AgentId, CallKey, ResultKind, StageId, StageInfo, Timestamp};
use crate::live::{PanelInfo, PlannedCall, Signal, Span};
use crate::settings::{AgentSettings, defaults};

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

/// A contribution with this text and nothing more.
pub fn text(stage: StageId, agent: &str, text: &str) -> Contribution {
    Contribution {
        agent_id: AgentId::new(agent),
        agent_role: "kiss".into(),
        stage,
        content: text.into(),
        metadata: Metadata::default(),
        target_agent_id: None,
        reading: None,
    }
}

/// A contribution with this text, made by a call.
pub fn said(stage: StageId, agent: &str, target: Option<&str>, text: &str) -> Signal {
    contribution(stage, agent, target, text, Some(call(Some(Usd::from_dollars(0.01)))))
}

fn contribution(stage: StageId, agent: &str, target: Option<&str>, text: &str, call: Option<CallRecord>) -> Signal {
    let (metadata, target_agent_id) = (Metadata::of_calls(&call), target.map(AgentId::new));
    let contribution = Contribution { metadata, target_agent_id, ..self::text(stage, agent, text) };
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
    let call = call(Some(Usd::from_dollars(0.01)));
    ended(key(stage, agent, target), call.latency_ms, &call, None)
}

pub fn call_failed(stage: StageId, agent: &str, target: Option<&str>, error: &str) -> Signal {
    ended(key(stage, agent, target), 10, &CallRecord::default(), Some(error))
}

fn ended(key: CallKey, latency_ms: u64, call: &CallRecord, error: Option<&str>) -> Signal {
    let (tokens, cost_usd, error) = (call.tokens, call.cost_usd, error.map(str::to_owned));
    Signal::CallEnded { key, latency_ms, tokens, cost_usd, error, waits_for_server: false }
}

pub fn retrying(stage: StageId, agent: &str, target: Option<&str>, error: &str) -> Signal {
    let key = key(stage, agent, target);
    Signal::CallRetrying { key, attempt: 2, error: error.to_owned(), wait: Duration::from_secs(4) }
}

pub fn words(stage: StageId, agent: &str, target: Option<&str>, text: &str) -> Signal {
    Signal::Words { key: key(stage, agent, target), text: text.to_owned() }
}

/// A call of a forecast at so many dollars.
pub fn planned(key: CallKey, dollars: Option<(f64, f64)>) -> PlannedCall {
    let cost = dollars.map(|(low, high)| Span { low: Usd::from_dollars(low), high: Usd::from_dollars(high) });
    let (model, provider, input, output) = (String::new(), "openai".to_owned(), Span::default(), Span::default());
    PlannedCall { key, model, provider, is_certain: true, input, output, tools: None, cost }
}

pub fn warning(message: &str) -> Signal {
    Signal::Warning { message: message.to_owned(), failed: None }
}

/// A saved debate of two agents and a judge, with one complete round and one with a failure.
pub fn debate() -> Debate {
    let mut debate: Debate = serde_json::from_slice(include_bytes!("debate.json")).unwrap();
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
        prompt_sources,
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
        let (metadata, target_agent_id) = (Metadata::of_calls([&call]), Some(AgentId::new(whom)));
        let contribution = Contribution { metadata, target_agent_id, ..text(APPLAUSE, agent, "because") };
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
            ..Judgement::default()
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
                stable,
                ..Verdict::default()
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
            ended(second, 1, &CallRecord::default(), None),
            stage_ended(RULING, 2, 0),
            recorded(decided(None, Some(false))),
            recorded(completed()),
        ]
    }

    fn scores() -> std::collections::BTreeMap<AgentId, f64> {
        [(AgentId::new("agent-architect"), 72.5), (AgentId::new("agent-kiss"), 65.0)].into()
    }
}
