//! The timeline of calls: a chart of the journal and a table.

mod chart;
mod timescale;

use maud::{Markup, html};

use crate::report::View;
use crate::report::stages::Marks;
use dialectic_base::figures::thousands;
use dialectic_record::debate::StageId;

use self::chart::chart;
use self::timescale::{Scale, Timescale};
use super::calls::{CallEntry, End, call_table};
use super::elements::scrolling;
use super::participants::{PanelMember, Participants};
use super::text::name;

/// If all calls together took less than this in milliseconds, they are drawn side by side: to scale they would be
/// invisible.
const TOO_SHORT: i64 = 1_000;

/// A call on the chart, between two times in milliseconds or two positions.
struct Bar<'c, 'v> {
    call: &'c CallEntry<'v>,
    from: i64,
    to: i64,
    /// The lane in the row, so that bars do not overlap.
    lane: usize,
}

/// All calls of one agent or the judge.
struct AgentRow<'c, 'v> {
    member: &'c PanelMember<'v>,
    bars: Vec<Bar<'c, 'v>>,
    lanes: usize,
}

/// The section. Notes a missing journal.
pub(super) fn timeline(view: &View<'_>, participants: &Participants<'_>, calls: &[CallEntry<'_>]) -> Markup {
    if calls.is_empty() {
        return html! {
            p.note { "This debate has no journal, so the times of its calls are unknown." }
        };
    }
    let marks = Marks::of(view.debate, calls.iter().map(|call| call.stage));
    let mut rows = rows(view, participants, calls);
    let time = Timescale::of(rows.iter().flat_map(|row| &row.bars).map(|bar| (bar.from, bar.to)));
    let scale = if time.busy() < TOO_SHORT { Scale::Order(in_order(&mut rows, calls)) } else { Scale::Time(time) };
    html! {
        p.lead {
            @match &scale {
                Scale::Time(time) => {
                    (thousands(calls.len() as u64)) " calls, each from its first attempt to its answer."
                    @match time.cuts().count() {
                        0 => {},
                        1 => " One idle period is cut out.",
                        cut => { " " (cut) " idle periods are cut out." },
                    }
                }
                Scale::Order(_) => {
                    (thousands(calls.len() as u64))
                    " calls in the order in which they were made, stage by stage. Together they took less than a second, "
                    "too little to draw to scale. The table has the times."
                }
            }
        }
        figure {
            (legend(&marks, calls))
            (scrolling("Chart of the calls", &chart(&rows, &scale, &marks)))
            figcaption {
                "A line for each agent and the judge."
                @if matches!(scale, Scale::Time(_)) { " The axis counts time since the first call." }
            }
        }
        (call_table(view.debate, participants, calls))
    }
}

fn rows<'c, 'v>(
    view: &View<'_>,
    participants: &'c Participants<'v>,
    calls: &'c [CallEntry<'v>],
) -> Vec<AgentRow<'c, 'v>> {
    let earliest = view.debate.created_at.map_or(i64::MIN, |at| at.utc().timestamp_millis());
    let rows = participants.members().iter().enumerate().map(|(place, member)| {
        let own = calls.iter().filter(|call| participants.place(call.agent) == Some(place));
        let mut bars: Vec<Bar<'_, '_>> = own
            .map(|call| {
                let to = call.at.utc().timestamp_millis();
                let took = call.record.map_or(0, |record| i64::try_from(record.latency_ms).unwrap_or(i64::MAX));
                // No call starts before the debate, even in a damaged record.
                Bar { call, from: to.saturating_sub(took).max(earliest).min(to), to, lane: 0 }
            })
            .collect();
        bars.sort_by_key(|bar| (bar.from, bar.to));
        let mut ends: Vec<i64> = Vec::new();
        for bar in &mut bars {
            bar.lane = ends.iter().position(|end| *end <= bar.from).unwrap_or(ends.len());
            match ends.get_mut(bar.lane) {
                Some(end) => *end = bar.to,
                None => ends.push(bar.to),
            }
        }
        AgentRow { member, bars, lanes: ends.len() }
    });
    rows.filter(|row| !row.bars.is_empty()).collect()
}

/// Gives each bar its own position in the order of the calls: the stages of a round one after another, and within them
/// an agent's calls side by side. Returns the number of positions.
fn in_order(rows: &mut [AgentRow<'_, '_>], calls: &[CallEntry<'_>]) -> i64 {
    let mut groups: Vec<(u32, StageId)> = Vec::new();
    for call in calls {
        let group = (call.round, call.stage);
        if !groups.contains(&group) {
            groups.push(group);
        }
    }
    let mut next = 0;
    for group in groups {
        let mut end = next;
        for row in rows.iter_mut() {
            let mut place = next;
            for bar in row.bars.iter_mut().filter(|bar| (bar.call.round, bar.call.stage) == group) {
                (bar.from, bar.to, bar.lane) = (place, place + 1, 0);
                place += 1;
            }
            row.lanes = 1;
            end = end.max(place);
        }
        next = end;
    }
    next.max(1)
}

fn legend(marks: &Marks, calls: &[CallEntry<'_>]) -> Markup {
    html! {
        ul.legend {
            @for mark in marks.legend(calls.iter().map(|call| call.stage)) {
                li { span.key.(mark.colour) aria-hidden="true" { (mark.letter) } " " (name(&mark.name)) }
            }
            @if calls.iter().any(|call| matches!(call.end, End::Failed)) {
                li { span.key.lost aria-hidden="true" { "×" } " failed" }
            }
            @if calls.iter().any(CallEntry::is_repeated) {
                li { span.key.repeated aria-hidden="true" {} " repeated" }
            }
        }
    }
}
