//! The judge's scores by round.

use maud::{Markup, html};

use crate::report::{View, subject};
use dialectic_base::figures::score;
use dialectic_record::debate::{Evaluation, TerminationKind};

use super::blocks::blocks;
use super::elements::{as_f64, px, scrolling};
use super::participants::Participants;

/// The drawing's units: the axes are at `LEFT` and `BOTTOM`, 100 is at `TOP`.
const WIDTH: f64 = 640.0;
const LEFT: f64 = 40.0;
const RIGHT: f64 = 550.0;
const TOP: f64 = 24.0;
const BOTTOM: f64 = 204.0;
const HEIGHT: f64 = 236.0;

pub(super) fn scores(view: &View<'_>, participants: &Participants<'_>) -> Markup {
    let rounds = view.debate.rounds.iter();
    let scored: Vec<(u32, &Evaluation)> =
        rounds.filter_map(|round| Some((round.round_number, round.evaluation.as_ref()?))).collect();
    let Some((_, last)) = scored.last() else { return Markup::default() };
    let asked = match last.kind {
        TerminationKind::Convergence => "how far the agents agree",
        TerminationKind::Quality => "how good the solution is",
        TerminationKind::Fixed | TerminationKind::Resolved => "the round",
    };
    let reached = last.score.is_some_and(|value| value >= last.threshold);
    let end = if reached { "It was reached." } else { "It was not reached." };
    html! {
        p.lead {
            "After each round the judge scored " (asked) " from 0 to 100. The debate ends at "
            (shown(last.threshold)) " or more. " (end)
            @if view.debate.is_offline() { " Offline, all texts score the same: no model gave these scores." }
        }
        figure { (scrolling("Chart of the scores", &chart(&scored))) }
        (blocks(&subject::scores(view.debate), participants, 3))
    }
}

fn chart(scored: &[(u32, &Evaluation)]) -> Markup {
    let x = |index: usize| match scored.len() {
        0 | 1 => f64::midpoint(LEFT, RIGHT),
        several => LEFT + 30.0 + (RIGHT - LEFT - 60.0) * as_f64(index) / as_f64(several - 1),
    };
    let y = |value: f64| BOTTOM - (BOTTOM - TOP) * value.clamp(0.0, 100.0) / 100.0;
    let threshold = scored.last().map(|(_, last)| last.threshold);
    html! {
        svg.scores role="img" aria-labelledby="scores-chart scores-text" viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } {
            title id="scores-chart" { "Scores over the rounds" }
            desc id="scores-text" { (described(scored)) }
            @for value in [0.0, 25.0, 50.0, 75.0, 100.0] {
                line.grid x1=(LEFT) x2=(RIGHT) y1=(px(y(value))) y2=(px(y(value))) {}
                text.axis x=(LEFT - 8.0) y=(px(y(value) + 4.0)) { (value) }
            }
            @if let Some(threshold) = threshold {
                @let at = y(threshold);
                line.threshold x1=(LEFT) x2=(RIGHT) y1=(px(at)) y2=(px(at)) {}
                text.threshold x=(RIGHT + 6.0) y=(px(at + 4.0)) { "threshold " (shown(threshold)) }
            }
            @for (index, pair) in scored.windows(2).enumerate() {
                @if let [(_, Evaluation { score: Some(from), .. }), (_, Evaluation { score: Some(to), .. })] = pair {
                    line.line x1=(px(x(index))) x2=(px(x(index + 1))) y1=(px(y(*from))) y2=(px(y(*to))) {}
                }
            }
            @for (index, (round, evaluation)) in scored.iter().enumerate() {
                @let at = px(x(index));
                text.label x=(at) y=(px(BOTTOM + 22.0)) { "Round " (round) }
                @if let Some(value) = evaluation.score {
                    circle.point cx=(at) cy=(px(y(value))) r="5" {}
                    text.value x=(at) y=(px(y(value) - 11.0)) { (shown(value)) }
                } @else {
                    circle.point.unread cx=(at) cy=(px(BOTTOM)) r="5" {}
                    text.unread x=(at) y=(px(BOTTOM - 11.0)) { "unreadable" }
                }
            }
        }
    }
}

/// Scores are 0 to 100; other numbers from a file must not fill the drawing with digits.
fn shown(value: f64) -> String {
    if (-1e6..1e6).contains(&value) { score(value) } else { format!("{value:e}") }
}

/// `Round 1: 38, round 2: unreadable. Threshold 80.`
fn described(scored: &[(u32, &Evaluation)]) -> String {
    let each: Vec<String> = scored
        .iter()
        .map(|(round, evaluation)| {
            format!("round {round}: {}", evaluation.score.map_or("unreadable".to_owned(), shown))
        })
        .collect();
    let threshold = scored.last().map(|(_, last)| shown(last.threshold)).unwrap_or_default();
    format!("Scores by {}. Threshold {threshold}.", each.join(", "))
}
