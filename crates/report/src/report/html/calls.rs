//! The calls of a debate from its journal, as a table, and those that failed for good.

use maud::{Markup, html};

use crate::report::{View, stages};
use dialectic_base::call::CallRecord;
use dialectic_base::figures::{cost, counted, duration, thousands};
use dialectic_record::debate::{AgentId, CallKey, CallStatus, Debate, Event, Failure, Recorded, StageId, Timestamp};

use super::critiques::beginning;
use super::elements::{ColumnHeading, table, time};
use super::participants::Participants;
use super::text::{name, noun};

/// A call that returned or failed.
pub(super) struct CallEntry<'v> {
    /// The called agent.
    pub(super) agent: &'v AgentId,
    /// The stage.
    pub(super) stage: StageId,
    /// The round; the last one for calls after the rounds, 0 before the first.
    pub(super) round: u32,
    /// The author of the text that it is about.
    pub(super) target: Option<&'v AgentId>,
    /// The time of its record.
    pub(super) at: Timestamp,
    /// The usage; `None` if a failure cost nothing.
    pub(super) record: Option<&'v CallRecord>,
    /// The end.
    pub(super) end: End,
}

/// How a call ended.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// With a result.
    Result,
    /// With tool calls or an unreadable answer; the call was repeated.
    Again,
    /// For good.
    Failed,
}

/// The calls in the order of their records.
pub(super) fn calls<'v>(view: &'v View<'_>) -> Vec<CallEntry<'v>> {
    let mut calls = Vec::new();
    // Follow-up questions have a separate section.
    for recorded in view.events.iter().take_while(|recorded| !matches!(recorded.event, Event::Completed { .. })) {
        // The parent made and paid for calls that a fork kept.
        let own = call(recorded).filter(|call| !call.record.is_some_and(|record| record.copied));
        calls.extend(own);
    }
    calls
}

fn call<'v>(recorded: &'v Recorded) -> Option<CallEntry<'v>> {
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
        // The target of a ballot is known when it is cast.
        (Event::Contributed { contribution, .. }, Some((key, _))) => {
            let target = contribution.target_agent_id.as_ref();
            record.map(|_| CallEntry { target, ..made(key, End::Result) })
        }
        (Event::CallFailed { .. }, Some((key, _))) => Some(made(key, End::Failed)),
        (_, Some((key, settled))) => {
            let end = if settled == CallStatus::Failed { End::Failed } else { End::Result };
            record.map(|_| made(key, end))
        }
        (_, None) => None,
    }
}

impl CallEntry<'_> {
    /// The purpose: `critique of Simplicity Advocate`.
    fn purpose(&self, debate: &Debate, participants: &Participants<'_>) -> String {
        let noun = noun(debate, self.stage);
        match self.target {
            Some(target) => {
                format!("{noun} {} {}", stages::preposition(debate, self.stage), participants.name_of(target))
            }
            None => noun,
        }
    }

    /// Whether it took several attempts or was repeated.
    pub(super) fn is_repeated(&self) -> bool {
        self.end == End::Again || self.record.is_some_and(|record| record.attempts > 1)
    }
}

/// The calls as a collapsed table, for readers who cannot see the chart or want figures.
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
            (table("calls", "Calls in the order in which they ended", &columns, &rows, None))
        }
    }
}

/// The last two of these figures are the paid ones; an offline debate pays for nothing.
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

/// The section of failed calls: a line for each cause, which expands to the calls.
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
                " failed for good. The debate continued without their results."
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
