//! The header: title, outcome and main figures, and the problem.

use maud::{Markup, html};

use crate::report::View;
use dialectic_base::figures::{counted, duration, named_cost};
use dialectic_record::debate::{AnswerState, Answerer, Debate, OutcomeKind, Status};

use super::blocks::{Participants, time};
use super::text::{markdown, name, typed};
use super::title;

/// How many reasons to show; further ones are collapsed.
const REASONS: usize = 2;

pub(super) fn header(view: &View<'_>, glance: &Markup) -> Markup {
    let debate = view.debate;
    html! {
        header {
            p.eyebrow {
                "Debate " (name(debate.id.as_str()))
                @if let Some(parent) = &debate.forked_from {
                    ", forked from " (name(parent.id.as_str())) " at " (parent.at)
                    ": earlier calls were paid for there"
                }
            }
            h1 dir="auto" { (title(view)) }
            (verdict(view))
            (facts(view))
            (notices(debate))
            (glance)
        }
    }
}

/// Whether the run is complete and what the answer is worth. Green only if both are flawless.
fn verdict(view: &View<'_>) -> Markup {
    let debate = view.debate;
    let answer = debate.answer_state();
    let is_good = debate.is_clean() && !debate.is_offline();
    let of_run = match debate.status {
        Status::Failed => "bad",
        Status::Completed if is_good => "good",
        Status::Completed if debate.is_full() != Some(false) => "plain",
        Status::Completed | Status::Pending | Status::Running | Status::Paused => "warn",
    };
    let of_answer = |answer: &AnswerState| match answer {
        _ if is_good => "good",
        AnswerState { unmet, .. } if !unmet.is_empty() => "bad",
        answer if answer.is_clean() => "plain",
        _ => "warn",
    };
    html! {
        p.verdict {
            small { "Run" } " " span.pill.(of_run) { (view.run_in_words()) } (offline(debate))
            @if let Some(answer) = &answer {
                br; small { "Answer" } " " span.pill.(of_answer(answer)) { bdi { (answer) } }
            }
        }
    }
}

/// The notice shown when the offline provider wrote the debate.
fn offline(debate: &Debate) -> Markup {
    html! {
        @if debate.is_offline() {
            " " span.pill.offline { "rehearsal" }
        }
    }
}

/// Why the answer is deficient or missing.
fn notices(debate: &Debate) -> Markup {
    let meaning = |kind| match kind {
        OutcomeKind::Full => None,
        OutcomeKind::Degraded => Some("There is an answer, but part of its basis is missing."),
        OutcomeKind::Stopped => Some("The debate was closed early."),
    };
    let less = debate.outcome.as_ref().and_then(|outcome| Some((meaning(outcome.kind)?, &outcome.reasons)));
    html! {
        @if let Some(error) = &debate.error {
            div.notice.bad {
                p { strong { "The debate failed." } }
                p.error dir="auto" { (error) }
            }
        }
        @if let Some((meaning, reasons)) = less {
            div.notice.warn {
                p { strong { (meaning) } }
                @if reasons.len() <= REASONS { (list(reasons)) }
                @else {
                    details {
                        summary { (reasons.len()) " reasons, such as: " span.error dir="auto" { (reasons[0]) } }
                        (list(reasons))
                    }
                }
            }
        }
    }
}

fn list(reasons: &[String]) -> Markup {
    html! {
        ul {
            @for reason in reasons { li.error dir="auto" { (reason) } }
        }
    }
}

/// The number of agents, and of candidates if a team was chosen.
fn agents(view: &View<'_>) -> Markup {
    let (team, all) = (view.debate.team().len(), view.agents.len());
    html! { (counted(team as u64, "agent")) @if team < all { " of " (all) } }
}

/// The figures, in one line.
fn facts(view: &View<'_>) -> Markup {
    let debate = view.debate;
    let usage = debate.total_usage();
    let is_known = !debate.usage.is_empty();
    let is_paid = is_known && !debate.is_offline();
    let took = debate.took_ms().map(duration);
    let facts = [
        Some(agents(view)),
        Some(html! { (counted(debate.rounds.len() as u64, "round")) }),
        is_known.then(|| html! { (counted(usage.requests, "call")) }),
        is_paid.then(|| html! { (usage.tokens_in_words()) }),
        is_paid.then(|| html! { (usage.cost_in_words(named_cost(usage.cost_usd))) }),
        took.map(|took| html! { (took) }),
        debate.created_at.map(|at| html! { "begun " (time(at)) }),
    ];
    html! {
        p.facts { @for (place, fact) in facts.iter().flatten().enumerate() { @if place > 0 { " · " } (fact) } }
    }
}

/// The recorded answer if the user gave none.
const NOT_ANSWERED: &str = "NA";

/// The problem without its title, and its context.
pub(super) fn problem(view: &View<'_>) -> Markup {
    let problem = view.problem_below_title();
    html! {
        @if !problem.trim().is_empty() { (typed(problem, 3)) }
        @if let Some(context) = &view.debate.context {
            h3 { "Context" }
            (typed(context, 4))
        }
    }
}

/// The agents' questions and the user's answers.
pub(super) fn clarifications(view: &View<'_>, participants: &Participants<'_>) -> Markup {
    let groups = view.debate.clarifications.iter().flatten();
    html! {
        @for group in groups.filter(|group| !group.items.is_empty()) {
            h3 {
                @if let Some(member) = participants.find(&group.agent_id) { (member.chip()) }
                @else { (name(&group.agent_name)) " (" (name(&group.role)) ")" }
            }
            dl.questions {
                @for item in &group.items {
                    dt {
                        (markdown(&item.question, 4))
                        @if let Some(pass) = item.follow_up_pass() { p { small { "Asked in pass " (pass) "." } } }
                    }
                    dd {
                        @match item.answer.as_str() {
                            NOT_ANSWERED if item.answered_by == Some(Answerer::Agent) => {
                                p.none { "An agent skipped this." }
                            }
                            NOT_ANSWERED => p.none { "The user gave no answer." },
                            "" => p.none { "Not answered yet." },
                            answer => (typed(answer, 4)),
                        }
                        @if item.answered_by == Some(Answerer::Agent) && item.answer != NOT_ANSWERED {
                            p { small { "An agent answered." } }
                        }
                    }
                }
            }
        }
    }
}
