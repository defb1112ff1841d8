//! The calls of a debate, from its journal.

use crate::debate::{AgentId, CallRecord, Event, Phase, Recorded, Timestamp};
use crate::report::View;

use super::cast::Cast;

/// One call of a model that came back or was given up.
pub(super) struct Call<'v> {
    /// Who was called.
    pub(super) agent: &'v AgentId,
    /// What for.
    pub(super) phase: Phase,
    /// In which round; the last one for what follows the rounds, 0 before the first.
    pub(super) round: u32,
    /// About whose text.
    pub(super) target: Option<&'v AgentId>,
    /// When it was recorded.
    pub(super) at: Timestamp,
    /// What it took; absent where a failure cost nothing.
    pub(super) record: Option<&'v CallRecord>,
    /// How it ended.
    pub(super) end: End<'v>,
}

/// How a call ended.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum End<'v> {
    /// With a result.
    Result,
    /// With tool calls, or an answer that could not be read; the same call was made again.
    Again,
    /// For good, with this error.
    Failed(&'v str),
}

/// The calls in the order in which they were recorded.
pub(super) fn calls<'v>(view: &'v View<'_>) -> Vec<Call<'v>> {
    let mut round = 0;
    let mut calls = Vec::new();
    for recorded in view.events {
        if let Event::RoundBegun { round: begun } = &recorded.event {
            round = *begun;
        }
        // What a fork took over was called, and paid for, by its parent.
        let own = call(view, recorded, round).filter(|call| !call.record.is_some_and(|record| record.copied));
        calls.extend(own);
    }
    calls
}

fn call<'v>(view: &'v View<'_>, recorded: &'v Recorded, last: u32) -> Option<Call<'v>> {
    let judge = &view.judge.id;
    let result = |agent, phase, round, target, record: Option<&'v CallRecord>| {
        record.map(|record| Call {
            agent,
            phase,
            round,
            target,
            at: recorded.at,
            record: Some(record),
            end: End::Result,
        })
    };
    match &recorded.event {
        Event::Replied { key, call, .. } => {
            let made = result(&key.agent_id, key.phase, key.round, key.target_agent_id.as_ref(), Some(call));
            made.map(|made| Call { end: End::Again, ..made })
        }
        Event::QuestionsAsked { questions, call, .. } => {
            result(&questions.agent_id, Phase::Clarification, 0, None, Some(call))
        }
        Event::Summarized { round, summary, call } => {
            result(&summary.agent_id, Phase::Summarization, *round, None, Some(call))
        }
        Event::Contributed { round, contribution, call } => {
            let phase = phase_of(contribution.kind);
            result(&contribution.agent_id, phase, *round, contribution.target_agent_id.as_ref(), call.as_ref())
        }
        Event::CallFailed { failure, call } => Some(Call {
            agent: &failure.agent_id,
            phase: failure.phase,
            round: failure.round,
            target: failure.target_agent_id.as_ref(),
            at: recorded.at,
            record: call.as_ref(),
            end: End::Failed(&failure.error),
        }),
        Event::Evaluated { round, call, .. } => result(judge, Phase::Evaluation, *round, None, call.as_ref()),
        Event::JudgeSummarized { call, .. } => result(judge, Phase::JudgeSummary, last, None, Some(call)),
        Event::Voted { call, .. } => result(judge, Phase::Vote, last, None, call.as_ref()),
        Event::Synthesized { call, .. } => result(judge, Phase::Synthesis, last, None, call.as_ref()),
        Event::Created(_)
        | Event::NodeEntered { .. }
        | Event::RoundBegun { .. }
        | Event::QuestionAnswered { .. }
        | Event::QuestionsEnded
        | Event::RoundTimedOut { .. }
        | Event::CostReserved { .. }
        | Event::AttemptFailed { .. }
        | Event::OutputLimited { .. }
        | Event::CostAssumed { .. }
        | Event::Stopping { .. }
        | Event::Suspended { .. }
        | Event::Paused
        | Event::Resumed
        | Event::Failed { .. }
        | Event::Completed => None,
    }
}

fn phase_of(kind: crate::debate::ContributionType) -> Phase {
    use crate::debate::ContributionType as Kind;
    match kind {
        Kind::Proposal | Kind::Opening => Phase::Proposal,
        Kind::Critique | Kind::Rebuttal => Phase::Critique,
        Kind::Refinement | Kind::Revision | Kind::Closing => Phase::Refinement,
        Kind::Vote => Phase::Vote,
    }
}

impl Call<'_> {
    /// What it was for: `critique of Simplicity Advocate`.
    pub(super) fn purpose(&self, cast: &Cast<'_>) -> String {
        let phase = self.phase.name().replace('-', " ");
        match self.target {
            Some(target) if self.phase == Phase::Vote => format!("{phase} for {}", cast.name_of(target)),
            Some(target) => format!("{phase} of {}", cast.name_of(target)),
            None => phase,
        }
    }
}
