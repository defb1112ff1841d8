//! What comes first: what it is about, how it ended, and the figures of the whole debate.

use crate::debate::{Debate, OutcomeKind, Status, Timestamp};
use crate::figures::{cost, duration, score, thousands};
use crate::report::View;

use super::calls::Call;
use super::ledger::Amounts;
use super::markup::{Markup, html, push};
use super::page::title;
use super::text::name;

/// Reasons that are shown at once; more of them are folded away.
const REASONS: usize = 6;

/// The masthead of the page.
pub(super) fn masthead(view: &View<'_>, calls: &[Call<'_>]) -> Markup {
    let debate = view.debate;
    let mut masthead =
        html!("<header>\n<p class=\"eyebrow\">Debate {}{}</p>\n", name(debate.id.as_str()), parent(debate));
    push!(
        masthead,
        "<h1 dir=\"auto\">{}</h1>\n<p class=\"verdict\">{}{}</p>\n",
        title(view),
        status(debate),
        outcome(debate)
    );
    push!(masthead, "{}{}</header>\n", notice(debate), facts(view, calls));
    masthead
}

fn parent(debate: &Debate) -> Markup {
    let Some(parent) = &debate.forked_from else { return Markup::default() };
    html!(", forked from {} at {}: what came before was paid for there", name(parent.id.as_str()), parent.at)
}

fn status(debate: &Debate) -> Markup {
    let class = match debate.status {
        Status::Completed => "good",
        Status::Failed => "bad",
        Status::Pending | Status::Running | Status::Paused => "warn",
    };
    html!("<span class=\"pill {}\">{}</span>", class, debate.status.name())
}

fn outcome(debate: &Debate) -> Markup {
    let Some(outcome) = &debate.outcome else { return Markup::default() };
    let class = if outcome.kind == OutcomeKind::Full { "good" } else { "warn" };
    html!(" <span class=\"pill {}\">outcome: {}</span>", class, outcome.kind.name())
}

/// Why the answer is less than what was asked for, or why there is none.
fn notice(debate: &Debate) -> Markup {
    let mut notice = Markup::default();
    if let Some(error) = &debate.error {
        push!(notice, "<div class=\"notice bad\">\n<p><strong>The debate failed.</strong></p>\n");
        push!(notice, "<p class=\"error\" dir=\"auto\">{}</p>\n</div>\n", error);
    }
    let Some(outcome) = debate.outcome.as_ref().filter(|outcome| outcome.kind != OutcomeKind::Full) else {
        return notice;
    };
    let meaning = match outcome.kind {
        OutcomeKind::Full => "",
        OutcomeKind::Degraded => "There is an answer, but part of what it should rest on is missing.",
        OutcomeKind::Stopped => "The debate was closed before its time.",
    };
    let list = |reasons: &[String]| {
        let mut list = html!("<ul>\n");
        for reason in reasons {
            push!(list, "<li class=\"error\" dir=\"auto\">{}</li>\n", reason);
        }
        push!(list, "</ul>\n");
        list
    };
    let (first, rest) = outcome.reasons.split_at(outcome.reasons.len().min(REASONS));
    push!(notice, "<div class=\"notice warn\">\n<p><strong>{}</strong></p>\n", meaning);
    if !first.is_empty() {
        push!(notice, "{}", list(first));
    }
    if !rest.is_empty() {
        push!(notice, "<details>\n<summary>{} more</summary>\n{}</details>\n", rest.len(), list(rest));
    }
    push!(notice, "</div>\n");
    notice
}

fn facts(view: &View<'_>, calls: &[Call<'_>]) -> Markup {
    let debate = view.debate;
    let all = Amounts::of_debate(view, calls);
    let mut facts = html!("<dl class=\"facts\">\n");
    let mut fact = |label: &'static str, value: Markup| {
        push!(facts, "<div><dt>{}</dt><dd>{}</dd></div>\n", label, value);
    };
    if let Some(confidence) = debate.final_solution.as_ref().and_then(|solution| solution.confidence) {
        fact("Confidence", html!("{} <small>of 100</small>", score(confidence)));
    }
    fact("Agents", html!("{}", view.agents.len()));
    fact("Rounds", html!("{}", debate.rounds.len()));
    fact("Calls", html!("{}", all.calls.map_or("unknown".to_owned(), thousands)));
    fact("Tokens", html!("{}", all.tokens()));
    fact("Cost", html!("{}", cost(all.cost)));
    if let Some((from, to)) = debate.created_at.zip(debate.updated_at) {
        fact("Duration", html!("{}", duration(to.millis_since(from))));
    }
    if let Some(at) = debate.created_at {
        fact("Begun", time(at));
    }
    push!(facts, "</dl>\n");
    facts
}

/// A point in time, to the second, in UTC.
pub(super) fn time(at: Timestamp) -> Markup {
    let (day, clock) = (at.utc().format("%Y-%m-%d"), at.utc().format("%H:%M:%S"));
    html!("<time datetime=\"{}\">{} <small>{} UTC</small></time>", at, day, clock)
}
