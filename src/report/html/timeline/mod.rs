//! When which call was made: a chart of the journal, and the same as a table.

mod chart;
mod kind;
mod table;
mod timescale;

use crate::debate::Timestamp;
use crate::figures::thousands;

use self::chart::chart;
use self::kind::Kind;
use self::table::call_table;
use self::timescale::Timescale;
use super::calls::{Call, End};
use super::cast::{Actor, Cast};
use super::markup::{Markup, html, push};
use super::table::scrolling;

/// A call on the clock.
struct Bar<'c, 'v> {
    call: &'c Call<'v>,
    from: i64,
    to: i64,
    /// The line of its row that it stands in, so that no two overlap.
    lane: usize,
}

/// All calls of one agent or the judge.
struct Row<'c, 'v> {
    actor: &'c Actor<'v>,
    bars: Vec<Bar<'c, 'v>>,
    lanes: usize,
}

/// The section. Without a journal it says that there is none.
pub(super) fn timeline(cast: &Cast<'_>, calls: &[Call<'_>], created: Option<Timestamp>) -> Markup {
    if calls.is_empty() {
        return html!(
            "<p class=\"note\">There is no journal of this debate, so when each call was made is not known.</p>\n"
        );
    }
    let rows = rows(cast, calls, created);
    let scale = Timescale::of(rows.iter().flat_map(|row| &row.bars).map(|bar| (bar.from, bar.to)));
    let cut = scale.cuts().count();
    let mut section = html!(
        "<p class=\"lead\">{} calls, each from its first attempt to its answer.{}</p>\n",
        thousands(calls.len() as u64),
        match cut {
            0 => String::new(),
            1 => " One pause in which no call ran is cut out.".to_owned(),
            _ => format!(" {cut} pauses in which no call ran are cut out."),
        },
    );
    push!(section, "<figure>\n{}", legend(calls));
    push!(section, "{}", scrolling("Chart of the calls", &chart(&rows, &scale)));
    let caption = "A line for each agent and the judge. The axis counts time since the first call.";
    push!(section, "<figcaption>{}</figcaption>\n</figure>\n", caption);
    push!(section, "{}", call_table(cast, calls));
    section
}

fn rows<'c, 'v>(cast: &'c Cast<'v>, calls: &'c [Call<'v>], created: Option<Timestamp>) -> Vec<Row<'c, 'v>> {
    let earliest = created.map_or(i64::MIN, |at| at.utc().timestamp_millis());
    let rows = cast.actors().iter().enumerate().map(|(place, actor)| {
        let own = calls.iter().filter(|call| cast.place(call.agent) == Some(place));
        let mut bars: Vec<Bar<'_, '_>> = own
            .map(|call| {
                let to = call.at.utc().timestamp_millis();
                let took = call.record.map_or(0, |record| i64::try_from(record.latency_ms).unwrap_or(i64::MAX));
                // No call began before its debate did, whatever a damaged record says.
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
        Row { actor, bars, lanes: ends.len() }
    });
    rows.filter(|row| !row.bars.is_empty()).collect()
}

fn legend(calls: &[Call<'_>]) -> Markup {
    let mut legend = html!("<ul class=\"legend\">\n");
    for kind in Kind::ALL.into_iter().filter(|kind| calls.iter().any(|call| Kind::of(call.phase) == *kind)) {
        push!(
            legend,
            "<li><span class=\"key {}\" aria-hidden=\"true\">{}</span> {}</li>\n",
            kind.class(),
            kind.letter(),
            kind.name()
        );
    }
    if calls.iter().any(|call| matches!(call.end, End::Failed(_))) {
        push!(legend, "<li><span class=\"key lost\" aria-hidden=\"true\">×</span> failed</li>\n");
    }
    if calls.iter().any(|call| call.end == End::Again || call.record.is_some_and(|record| record.attempts > 1)) {
        push!(legend, "<li><span class=\"key repeated\" aria-hidden=\"true\"></span> repeated</li>\n");
    }
    push!(legend, "</ul>\n");
    legend
}
