//! The calls of a debate, from its journal; and as a table, with those that failed for good.

use maud::{Markup, html};

use crate::report::{View, stages};
use dialectic_base::call::CallRecord;
use dialectic_base::figures::{cost, counted, duration, thousands};
use dialectic_record::debate::{AgentId, CallKey, CallStatus, Debate, Event, Failure, Recorded, StageId, Timestamp};

use super::critiques::beginning;
use super::elements::{ColumnHeading, table, time};
use super::participants::Participants;
use super::text::{name, noun};

/// One call of a model that came back or was given up.
pub(super) struct CallEntry<'v> {
    /// Who was called.
    pub(super) agent: &'v AgentId,
    /// What for.
    pub(super) stage: StageId,
    /// In which round; the last one for what follows the rounds, 0 before the first.
    pub(super) round: u32,
    /// About whose text.
    pub(super) target: Option<&'v AgentId>,
    /// When it was recorded.
    pub(super) at: Timestamp,
    /// What it took; absent where a failure cost nothing.
    pub(super) record: Option<&'v CallRecord>,
    /// How it ended.
    pub(super) end: End,
}

/// How a call ended.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// With a result.
    Result,
    /// With tool calls, or an answer that could not be read; the same call was made again.
    Again,
    /// For good.
    Failed,
}

/// The calls in the order in which they were recorded.
pub(super) fn calls<'v>(view: &'v View<'_>) -> Vec<CallEntry<'v>> {
    let mut round = 0;
    let mut calls = Vec::new();
    // What was asked after the end is told in a section of its own.
    for recorded in view.events.iter().take_while(|recorded| !matches!(recorded.event, Event::Completed { .. })) {
        if let Event::RoundBegun { round: begun, .. } = &recorded.event {
            round = *begun;
        }
        // What a fork took over was called, and paid for, by its parent.
        let own = call(view, recorded, round).filter(|call| !call.record.is_some_and(|record| record.copied));
        calls.extend(own);
    }
    calls
}

fn call<'v>(view: &'v View<'_>, recorded: &'v Recorded, last: u32) -> Option<CallEntry<'v>> {
    let (event, at) = (&recorded.event, recorded.at);
    let record = event.call();
    let made = |key: &'v CallKey, end| CallEntry {
        agent: &key.agent_id,
        stage: key.stage,
        round: key.round,
        target: key.target_agent_id.as_ref(),
        at,
        record,
        end,
    };
    match (event, event.settles()) {
        (Event::Replied { key, .. }, _) => Some(made(key, End::Again)),
        // A ballot is about the one whom it is for, which is known when it is cast.
        (Event::Contributed { contribution, .. }, Some((key, _))) => {
            let target = contribution.target_agent_id.as_ref();
            record.map(|_| CallEntry { target, ..made(key, End::Result) })
        }
        (Event::CallFailed { .. }, Some((key, _))) => Some(made(key, End::Failed)),
        (_, Some((key, settled))) => {
            let end = if settled == CallStatus::Failed { End::Failed } else { End::Result };
            record.map(|_| made(key, end))
        }
        // Older versions did not say which call the casting vote was.
        (Event::Voted { .. }, None) => {
            let (stage, agent) = (stages::voting(view.debate)?.id, &view.judge.id);
            record.map(|_| CallEntry { agent, stage, round: last, target: None, at, record, end: End::Result })
        }
        (_, None) => None,
    }
}

impl CallEntry<'_> {
    /// What it was for: `critique of Simplicity Advocate`.
    fn purpose(&self, debate: &Debate, participants: &Participants<'_>) -> String {
        let noun = noun(debate, self.stage);
        match self.target {
            Some(target) => {
                format!("{noun} {} {}", stages::preposition(debate, self.stage), participants.name_of(target))
            }
            None => noun,
        }
    }

    /// Whether it took more than one attempt, or had to be made once more.
    pub(super) fn is_repeated(&self) -> bool {
        self.end == End::Again || self.record.is_some_and(|record| record.attempts > 1)
    }
}

/// The calls as a table, folded away: for those who cannot see the chart or want the figures.
pub(super) fn call_table(debate: &Debate, participants: &Participants<'_>, calls: &[CallEntry<'_>]) -> Markup {
    let before = ["Came back", "Who", "What"].map(ColumnHeading::words);
    let numbers = figures(debate, ["Took", "Attempts", "Tokens", "Cost"]).map(ColumnHeading::number);
    let model = [ColumnHeading::number("Round"), ColumnHeading::words("Model")];
    let columns: Vec<ColumnHeading> =
        before.into_iter().chain(model).chain(numbers).chain([ColumnHeading::words("End")]).collect();
    let rows = html! { @for call in calls { (row(debate, participants, call)) } };
    html! {
        details {
            summary { "The calls as a table" }
            (table("calls", "Calls in the order in which they came back", &columns, &rows, None))
        }
    }
}

/// The last two of these figures are what was paid for; a rehearsal pays for nothing.
fn figures<T>(debate: &Debate, figures: [T; 4]) -> impl Iterator<Item = T> {
    figures.into_iter().take(if debate.is_offline() { 2 } else { 4 })
}

fn row(debate: &Debate, participants: &Participants<'_>, call: &CallEntry<'_>) -> Markup {
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
            td.time { (call.at.utc().format("%m-%d %H:%M:%S")) }
            td { (participants.chip(call.agent)) }
            td { bdi { (call.purpose(debate, participants)) } }
            td.number { @if call.round == 0 { "before" } @else { (call.round) } }
            td { @if let Some(record) = record { (name(&record.model)) } }
            @for number in figures(debate, numbers) { td.number { (number) } }
            td {
                @match call.end {
                    End::Result => "result",
                    End::Again => "called again",
                    End::Failed => strong { "failed" },
                }
            }
        }
    }
}

/// The section of the calls that failed for good: a line for each cause, which unfolds into the calls.
pub(super) fn failures(view: &View<'_>, participants: &Participants<'_>) -> Markup {
    let mut causes: Vec<(&str, Vec<&Failure>)> = Vec::new();
    for failure in &view.debate.failures {
        match causes.iter_mut().find(|(error, _)| *error == failure.error) {
            Some((_, failures)) => failures.push(failure),
            None => causes.push((&failure.error, vec![failure])),
        }
    }
    html! {
        @if !causes.is_empty() {
            p.lead {
                (counted(view.debate.failures.len() as u64, "call"))
                " failed for good. The debate went on without their results."
            }
        }
        @for (error, failures) in &causes {
            details {
                summary {
                    span { (counted(failures.len() as u64, "call")) } " "
                    span.error dir="auto" { (beginning(error)) }
                }
                p.error dir="auto" { (error) }
                ul.failures { @for failure in failures { li { (failed(view, participants, failure)) } } }
            }
        }
    }
}

fn failed(view: &View<'_>, participants: &Participants<'_>, failure: &Failure) -> Markup {
    let CallKey { round, stage, agent_id, target_agent_id, .. } = &failure.key;
    html! {
        (participants.chip(agent_id)) ": " (noun(view.debate, *stage))
        @if let Some(target) = target_agent_id { " of " (participants.chip(target)) }
        @if *round > 0 { ", round " (round) }
        " " small { "after " (counted(failure.attempts.into(), "attempt")) ", " (time(failure.at)) }
    }
}
