//! The calls as a chart.

use std::collections::BTreeMap;

use crate::figures::duration;

use super::super::calls::{Call, End};
use super::super::cast::Actor;
use super::super::markup::{Markup, html, push};
use super::kind::Kind;
use super::timescale::Timescale;
use super::{Bar, Row};

/// Width of the chart, the column of badges, and the axis on top, in units of the drawing.
const WIDTH: f64 = 960.0;
const GUTTER: f64 = 40.0;
const TOP: f64 = 40.0;
/// Between two rows.
const ROW_GAP: f64 = 10.0;
/// Lanes above this number are drawn thin.
const MANY_LANES: usize = 40;

/// The chart as SVG. Colours come from the stylesheet; the policy of the page forbids styles of its own.
pub(super) fn chart(rows: &[Row<'_, '_>], scale: &Timescale) -> Markup {
    let lanes: usize = rows.iter().map(|row| row.lanes).sum();
    let lane = if lanes > MANY_LANES { 7.0 } else { 16.0 };
    let x = |share: f64| GUTTER + share * (WIDTH - GUTTER - 8.0);
    let height = TOP + rows.iter().map(|row| as_f64(row.lanes) * lane + ROW_GAP).sum::<f64>();
    let mut chart = html!(
        "<svg class=\"timeline\" role=\"img\" aria-labelledby=\"timeline-chart timeline-text\" viewBox=\"0 0 {} {}\">\n\
         <title id=\"timeline-chart\">Timeline of the calls</title>\n<desc id=\"timeline-text\">{} calls of {} \
         participants. The table below has the same figures.</desc>\n",
        px(WIDTH),
        px(height),
        rows.iter().map(|row| row.bars.len()).sum::<usize>(),
        rows.len(),
    );
    for (share, millis) in scale.ticks() {
        let at = px(x(share));
        push!(
            chart,
            "<line class=\"grid\" x1=\"{}\" x2=\"{}\" y1=\"{}\" y2=\"{}\"/>",
            at,
            at,
            px(TOP - 4.0),
            px(height)
        );
        push!(chart, "<text class=\"tick\" x=\"{}\" y=\"{}\">{}</text>\n", at, px(TOP - 9.0), since(millis));
    }
    for (round, share) in round_starts(rows, scale) {
        let at = px(x(share));
        push!(chart, "<line class=\"round\" x1=\"{}\" x2=\"{}\" y1=\"16\" y2=\"{}\"/>", at, at, px(height));
        push!(chart, "<text class=\"round\" x=\"{}\" y=\"12\">Round {}</text>\n", at, round);
    }
    for cut in scale.cuts() {
        let at = px(x(cut.at));
        push!(
            chart,
            "<line class=\"cut\" x1=\"{}\" x2=\"{}\" y1=\"{}\" y2=\"{}\"><title>Pause of {}</title></line>\n",
            at,
            at,
            px(TOP),
            px(height),
            duration(cut.millis)
        );
    }
    let mut top = TOP;
    for row in rows {
        let middle = top + as_f64(row.lanes) * lane / 2.0;
        push!(chart, "<g><circle class=\"{}\" cx=\"14\" cy=\"{}\" r=\"10\"/>", row.actor.colour, px(middle));
        push!(chart, "<text class=\"badge\" x=\"14\" y=\"{}\">{}</text>\n", px(middle + 4.0), row.actor.badge);
        for bar in &row.bars {
            let (from, to) = (x(scale.place(bar.from)), x(scale.place(bar.to)));
            push!(
                chart,
                "{}",
                draw(bar, row.actor, from, (to - from).max(2.0), top + as_f64(bar.lane) * lane, lane - 2.0)
            );
        }
        push!(chart, "</g>\n");
        top += as_f64(row.lanes) * lane + ROW_GAP;
    }
    push!(chart, "</svg>\n");
    chart
}

/// A call as a bar: its phase as colour and letter, a cross when it failed, a dashed edge when it was repeated.
fn draw(bar: &Bar<'_, '_>, actor: &Actor<'_>, x: f64, width: f64, y: f64, height: f64) -> Markup {
    let call = bar.call;
    let kind = Kind::of(call.phase);
    let repeated = call.record.is_some_and(|record| record.attempts > 1) || call.end == End::Again;
    let class = format!("{}{}", kind.class(), if repeated { " repeated" } else { "" });
    let mut drawn = html!("<g><title>{}: {}{}</title>", actor.name, call.phase.name(), note(call));
    match call.end {
        End::Failed(_) => {
            let (at, half) = (x + width - 1.0, height / 2.0 - 1.0);
            push!(
                drawn,
                "<rect class=\"{} lost\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>",
                class,
                px(x),
                px(y),
                px(width),
                px(height)
            );
            let (left, right, up, down) = (at - half, at + half, y + 1.0, y + height - 1.0);
            push!(
                drawn,
                "<path class=\"cross\" d=\"M{} {}L{} {}M{} {}L{} {}\"/>",
                px(left),
                px(up),
                px(right),
                px(down),
                px(left),
                px(down),
                px(right),
                px(up)
            );
        }
        End::Result | End::Again => {
            push!(
                drawn,
                "<rect class=\"{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"2\"/>",
                class,
                px(x),
                px(y),
                px(width),
                px(height)
            );
            if width >= 14.0 && height >= 12.0 {
                push!(
                    drawn,
                    "<text class=\"letter\" x=\"{}\" y=\"{}\">{}</text>",
                    px(x + width / 2.0),
                    px(y + height - 3.5),
                    kind.letter()
                );
            }
        }
    }
    push!(drawn, "</g>\n");
    drawn
}

/// `, round 1, 3.2 s, 2 attempts`
fn note(call: &Call<'_>) -> String {
    let round = if call.round == 0 { String::new() } else { format!(", round {}", call.round) };
    let took = call.record.map(|record| format!(", {}", duration(record.latency_ms))).unwrap_or_default();
    let attempts = call.record.map_or(1, |record| record.attempts);
    let attempts = if attempts > 1 { format!(", {attempts} attempts") } else { String::new() };
    let end = match call.end {
        End::Result => "",
        End::Again => ", called again",
        End::Failed(_) => ", failed",
    };
    format!("{round}{took}{attempts}{end}")
}

/// The first call of each round.
fn round_starts(rows: &[Row<'_, '_>], scale: &Timescale) -> Vec<(u32, f64)> {
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

/// A coordinate.
fn px(value: f64) -> String {
    format!("{value:.1}")
}

#[expect(clippy::cast_precision_loss, reason = "a chart has few lanes")]
fn as_f64(count: usize) -> f64 {
    count as f64
}
