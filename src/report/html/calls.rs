//! The calls of a debate, from its journal; and as a table, with those that failed for good.

use maud::{Markup, html};

use crate::debate::{AgentId, CallRecord, Event, Phase, Recorded, Timestamp};
use crate::figures::{cost, counted, duration, thousands};
use crate::report::{View, stages};

use super::elements::{Column, table, time};
use super::participants::Participants;
use super::text::name;

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
            let phase = stages::phase(contribution.kind);
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

impl Call<'_> {
    /// What it was for: `critique of Simplicity Advocate`.
    fn purpose(&self, participants: &Participants<'_>) -> String {
        let phase = self.phase.name().replace('-', " ");
        match self.target {
            Some(target) => format!("{phase} {} {}", stages::preposition(self.phase), participants.name_of(target)),
            None => phase,
        }
    }

    /// Whether it took more than one attempt, or had to be made once more.
    pub(super) fn is_repeated(&self) -> bool {
        self.end == End::Again || self.record.is_some_and(|record| record.attempts > 1)
    }
}

/// The calls as a table, folded away: for those who cannot see the chart or want the figures.
pub(super) fn call_table(participants: &Participants<'_>, calls: &[Call<'_>]) -> Markup {
    let before = ["Came back", "Who", "What"].map(Column::words);
    let numbers = ["Took", "Attempts", "Tokens", "Cost"].map(Column::number);
    let model = [Column::number("Round"), Column::words("Model")];
    let columns: Vec<Column> = before.into_iter().chain(model).chain(numbers).chain([Column::words("End")]).collect();
    let rows = html! { @for call in calls { (row(participants, call)) } };
    html! {
        details {
            summary { "The calls as a table" }
            (table("calls", "Calls in the order in which they came back", &columns, &rows, None))
        }
    }
}

fn row(participants: &Participants<'_>, call: &Call<'_>) -> Markup {
    let record = call.record;
    let known = |value: Option<String>| value.unwrap_or_else(|| "unknown".to_owned());
    let tokens = record.and_then(|record| record.tokens);
    let tokens = tokens.map(|tokens| thousands(tokens.input_tokens.saturating_add(tokens.output_tokens)));
    let numbers = [
        known(record.map(|record| duration(record.latency_ms))),
        known(record.map(|record| record.attempts.to_string())),
        known(tokens),
        cost(record.and_then(|record| record.cost_usd)),
    ];
    html! {
        tr {
            td { time datetime=(call.at) { (call.at.utc().format("%m-%d %H:%M:%S")) } }
            td { (participants.chip(call.agent)) }
            td { bdi { (call.purpose(participants)) } }
            td.number { @if call.round == 0 { "before" } @else { (call.round) } }
            td { @if let Some(record) = record { (name(&record.model)) } }
            @for number in numbers { td.number { (number) } }
            td {
                @match call.end {
                    End::Result => "result",
                    End::Again => "called again",
                    End::Failed(_) => strong { "failed" },
                }
            }
        }
    }
}

/// The section of the calls that failed for good.
pub(super) fn failures(view: &View<'_>, participants: &Participants<'_>) -> Markup {
    let failures = &view.debate.failures;
    if failures.is_empty() {
        return Markup::default();
    }
    html! {
        p.lead {
            (counted(failures.len() as u64, "call"))
            " failed for good. The debate went on without what they would have brought."
        }
        ul.failures {
            @for failure in failures {
                li.card {
                    p {
                        (participants.chip(&failure.agent_id)) ": " (failure.phase.name())
                        @if let Some(target) = &failure.target_agent_id { " of " (participants.chip(target)) }
                        @if failure.round > 0 { ", round " (failure.round) }
                        " " small { "after " (counted(failure.attempts.into(), "attempt")) ", " (time(failure.at)) }
                    }
                    p.error dir="auto" { (failure.error) }
                }
            }
        }
    }
}
