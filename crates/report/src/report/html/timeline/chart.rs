//! The chart of calls.

use std::collections::BTreeMap;

use maud::{Markup, html};

use crate::report::stages::{Mark, Marks};
use dialectic_base::figures::duration;

use super::super::calls::{CallEntry, End};
use super::super::elements::{as_f64, px};
use super::super::participants::PanelMember;
use super::timescale::{Scale, Timescale};
use super::{AgentRow, Bar};

/// The widths of the chart and the badge column, and the height of the axis, in drawing units.
const WIDTH: f64 = 960.0;
const GUTTER: f64 = 40.0;
const TOP: f64 = 40.0;
/// The gap between two rows.
const ROW_GAP: f64 = 10.0;
/// More lanes than this are drawn thin.
const MANY_LANES: usize = 40;

/// The chart as SVG. The stylesheet sets the colours, since the page's policy forbids inline styles.
pub(super) fn chart(rows: &[AgentRow<'_, '_>], scale: &Scale, marks: &Marks) -> Markup {
    let lanes: usize = rows.iter().map(|row| row.lanes).sum();
    // A row with one lane has room to spare.
    let lane = match lanes {
        _ if scale.time().is_none() => 20.0,
        _ if lanes > MANY_LANES => 7.0,
        _ => 16.0,
    };
    let x = |share: f64| GUTTER + share * (WIDTH - GUTTER - 8.0);
    let height = TOP + rows.iter().map(|row| as_f64(row.lanes) * lane + ROW_GAP).sum::<f64>();
    // The tops of the rows.
    let tops = rows.iter().scan(TOP, |next, row| {
        let top = *next;
        *next += as_f64(row.lanes) * lane + ROW_GAP;
        Some(top)
    });
    html! {
        svg.timeline role="img" aria-labelledby="timeline-chart timeline-text"
            viewBox={ "0 0 " (px(WIDTH)) " " (px(height)) } {
            title id="timeline-chart" { "Timeline of the calls" }
            desc id="timeline-text" {
                (rows.iter().map(|row| row.bars.len()).sum::<usize>()) " calls of " (rows.len())
                " participants. The table below has the same figures."
            }
            @for (share, millis) in scale.time().map(Timescale::ticks).unwrap_or_default() {
                @let at = px(x(share));
                line.grid x1=(at) x2=(at) y1=(px(TOP - 4.0)) y2=(px(height)) {}
                text.tick x=(at) y=(px(TOP - 9.0)) { (since(millis)) }
            }
            @for (round, share) in round_starts(rows, scale) {
                @let at = px(x(share));
                line.round x1=(at) x2=(at) y1="16" y2=(px(height)) {}
                text.round x=(at) y="12" { "Round " (round) }
            }
            @for cut in scale.time().into_iter().flat_map(Timescale::cuts) {
                @let at = px(x(cut.at));
                line.cut x1=(at) x2=(at) y1=(px(TOP)) y2=(px(height)) { title { "Pause of " (duration(cut.millis)) } }
            }
            @for (row, top) in rows.iter().zip(tops) {
                @let middle = top + as_f64(row.lanes) * lane / 2.0;
                g {
                    circle.(row.member.colour) cx="14" cy=(px(middle)) r="10" {}
                    text.badge x="14" y=(px(middle + 4.0)) { (row.member.badge) }
                    @for bar in &row.bars {
                        @let (from, to) = (x(scale.place(bar.from)), x(scale.place(bar.to)));
                        @let y = top + as_f64(bar.lane) * lane;
                        @if let Some(mark) = marks.mark(bar.call.stage) {
                            @let gap = if scale.time().is_none() { 1.5 } else { 0.0 };
                            (draw(bar, mark, row.member, from, (to - from - gap).max(2.0), y, lane - 2.0))
                        }
                    }
                }
            }
        }
    }
}

/// A call as a bar: colour and letter for its stage, a cross if it failed, a dashed edge if it was repeated.
fn draw(bar: &Bar<'_, '_>, mark: &Mark, member: &PanelMember<'_>, x: f64, width: f64, y: f64, height: f64) -> Markup {
    let call = bar.call;
    let is_lost = matches!(call.end, End::Failed);
    let corners = (!is_lost).then_some("2");
    html! {
        g {
            title { (member.name) ": " (mark.name) (note(call)) }
            rect.(mark.colour).repeated[call.is_repeated()].lost[is_lost]
                x=(px(x)) y=(px(y)) width=(px(width)) height=(px(height)) rx=[corners] {}
            @if is_lost {
                path.cross d=(cross(x + width - 1.0, y + 1.0, height - 2.0)) {}
            } @else if width >= 14.0 && height >= 12.0 {
                text.letter x=(px(x + width / 2.0)) y=(px(y + height - 3.5)) { (mark.letter) }
            }
        }
    }
}

/// The path of a cross at `x`, as wide as high.
fn cross(x: f64, top: f64, height: f64) -> String {
    let [left, right, top, bottom] = [x - height / 2.0, x + height / 2.0, top, top + height].map(px);
    format!("M{left} {top}L{right} {bottom}M{left} {bottom}L{right} {top}")
}

/// `, round 1, 3.2 s, 2 attempts`
fn note(call: &CallEntry<'_>) -> String {
    let round = if call.round == 0 { String::new() } else { format!(", round {}", call.round) };
    let took = call.record.map(|record| format!(", {}", duration(record.latency_ms))).unwrap_or_default();
    let attempts = call.record.map_or(1, |record| record.attempts);
    let attempts = if attempts > 1 { format!(", {attempts} attempts") } else { String::new() };
    let end = match call.end {
        End::Result => "",
        End::Again => ", called again",
        End::Failed => ", failed",
    };
    format!("{round}{took}{attempts}{end}")
}

/// The time of each round's first call.
fn round_starts(rows: &[AgentRow<'_, '_>], scale: &Scale) -> Vec<(u32, f64)> {
    let mut starts = BTreeMap::new();
    for bar in rows.iter().flat_map(|row| &row.bars).filter(|bar| bar.call.round > 0) {
        let start = starts.entry(bar.call.round).or_insert(bar.from);
        *start = bar.from.min(*start);
    }
    starts.into_iter().map(|(round, from)| (round, scale.place(from))).collect()
}

/// A tick's label: `0`, `0.5 s`, `20 s`, `3 min`, `2 h`.
fn since(millis: u64) -> String {
    match millis {
        0 => "0".to_owned(),
        _ if !millis.is_multiple_of(1_000) && millis < 60_000 => {
            format!("{}.{} s", millis / 1_000, millis % 1_000 / 100)
        }
        _ if millis < 60_000 => format!("{} s", millis / 1_000),
        _ if millis.is_multiple_of(3_600_000) => format!("{} h", millis / 3_600_000),
        _ if millis.is_multiple_of(60_000) => format!("{} min", millis / 60_000),
        _ => duration(millis),
    }
}
