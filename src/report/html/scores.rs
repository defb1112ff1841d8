//! The judge's scores over the rounds.

use crate::debate::{Evaluation, TerminationKind};
use crate::figures::score;
use crate::report::View;

use super::markup::{Markup, html, push};
use super::table::{Column, scrolling, table};

/// The drawing, in its own units: the axes are at `LEFT` and `BOTTOM`, 100 is at `TOP`.
const WIDTH: f64 = 640.0;
const LEFT: f64 = 40.0;
const RIGHT: f64 = 550.0;
const TOP: f64 = 24.0;
const BOTTOM: f64 = 204.0;
const HEIGHT: f64 = 236.0;

/// The section.
pub(super) fn scores(view: &View<'_>) -> Markup {
    let rounds = view.debate.rounds.iter();
    let scored: Vec<(u32, &Evaluation)> =
        rounds.filter_map(|round| Some((round.round_number, round.evaluation.as_ref()?))).collect();
    let Some((_, last)) = scored.last() else { return Markup::default() };
    let asked = match last.kind {
        TerminationKind::Convergence => "how far the agents agree",
        TerminationKind::Quality => "how good the solution is",
        TerminationKind::Fixed => "the round",
    };
    let reached = last.score.is_some_and(|value| value >= last.threshold);
    let end = if reached { "It was reached." } else { "It was not reached." };
    html!(
        "<p class=\"lead\">After each round the judge scored {} from 0 to 100. From {} on the debate ends. {}</p>\n\
         <figure>\n{}</figure>\n{}",
        asked,
        shown(last.threshold),
        end,
        scrolling("Chart of the scores", &chart(&scored)),
        score_table(&scored),
    )
}

fn chart(scored: &[(u32, &Evaluation)]) -> Markup {
    let x = |index: usize| match scored.len() {
        0 | 1 => f64::midpoint(LEFT, RIGHT),
        several => LEFT + 30.0 + (RIGHT - LEFT - 60.0) * as_f64(index) / as_f64(several - 1),
    };
    let y = |value: f64| BOTTOM - (BOTTOM - TOP) * value.clamp(0.0, 100.0) / 100.0;
    let mut chart = html!(
        "<svg class=\"scores\" role=\"img\" aria-labelledby=\"scores-chart scores-text\" viewBox=\"0 0 {} {}\">\n\
         <title id=\"scores-chart\">Scores over the rounds</title>\n<desc id=\"scores-text\">{}</desc>\n",
        WIDTH,
        HEIGHT,
        described(scored),
    );
    for value in [0.0, 25.0, 50.0, 75.0, 100.0] {
        let at = px(y(value));
        push!(chart, "<line class=\"grid\" x1=\"{}\" x2=\"{}\" y1=\"{}\" y2=\"{}\"/>", LEFT, RIGHT, at, at);
        push!(chart, "<text class=\"axis\" x=\"{}\" y=\"{}\">{}</text>\n", LEFT - 8.0, px(y(value) + 4.0), value);
    }
    if let Some((_, last)) = scored.last() {
        let at = y(last.threshold);
        push!(
            chart,
            "<line class=\"threshold\" x1=\"{}\" x2=\"{}\" y1=\"{}\" y2=\"{}\"/>",
            LEFT,
            RIGHT,
            px(at),
            px(at)
        );
        push!(
            chart,
            "<text class=\"threshold\" x=\"{}\" y=\"{}\">threshold {}</text>\n",
            RIGHT + 6.0,
            px(at + 4.0),
            shown(last.threshold)
        );
    }
    for (index, pair) in scored.windows(2).enumerate() {
        if let [(_, Evaluation { score: Some(from), .. }), (_, Evaluation { score: Some(to), .. })] = pair {
            let (left, right) = (px(x(index)), px(x(index + 1)));
            push!(
                chart,
                "<line class=\"line\" x1=\"{}\" x2=\"{}\" y1=\"{}\" y2=\"{}\"/>\n",
                left,
                right,
                px(y(*from)),
                px(y(*to))
            );
        }
    }
    for (index, (round, evaluation)) in scored.iter().enumerate() {
        let at = px(x(index));
        push!(chart, "<text class=\"label\" x=\"{}\" y=\"{}\">Round {}</text>\n", at, px(BOTTOM + 22.0), round);
        if let Some(value) = evaluation.score {
            let (point, text) = (px(y(value)), px(y(value) - 11.0));
            push!(chart, "<circle class=\"point\" cx=\"{}\" cy=\"{}\" r=\"5\"/>", at, point);
            push!(chart, "<text class=\"value\" x=\"{}\" y=\"{}\">{}</text>\n", at, text, shown(value));
        } else {
            let (point, text) = (px(BOTTOM), px(BOTTOM - 11.0));
            push!(chart, "<circle class=\"point unread\" cx=\"{}\" cy=\"{}\" r=\"5\"/>", at, point);
            push!(chart, "<text class=\"unread\" x=\"{}\" y=\"{}\">unreadable</text>\n", at, text);
        }
    }
    push!(chart, "</svg>\n");
    chart
}

/// Scores are 0 to 100; what else a file holds must not fill the drawing with digits.
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

fn score_table(scored: &[(u32, &Evaluation)]) -> Markup {
    let mut rows = Markup::default();
    for (round, evaluation) in scored {
        push!(rows, "<tr><th scope=\"row\">{}</th><td>{}</td>", round, evaluation.kind.name());
        let value = evaluation.score.map_or("unreadable".to_owned(), shown);
        push!(rows, "<td class=\"number\">{}</td>", value);
        push!(rows, "<td class=\"number\">{}</td></tr>\n", shown(evaluation.threshold));
    }
    let columns =
        [Column::words("Round"), Column::words("Asked"), Column::number("Score"), Column::number("Threshold")];
    table("small", "Scores of the judge", &columns, &rows, &Markup::default())
}

fn px(value: f64) -> String {
    format!("{value:.1}")
}

#[expect(clippy::cast_precision_loss, reason = "a debate has few rounds")]
fn as_f64(count: usize) -> f64 {
    count as f64
}
