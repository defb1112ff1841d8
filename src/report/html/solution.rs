//! The answer, and what its author says about it.

use maud::{Markup, html};

use crate::debate::{AgentId, Debate, Solution, Status};
use crate::report::View;

use super::participants::Participants;
use super::text::{markdown, name};

/// Where the judge's assessment, and the account of a vote, begin in a description. Both are shown from their own
/// fields instead.
const ASSESSMENT: &str = "\n\n---\n\n## Judge Assessment\n";
const VOTE: &str = "\n\n---\n\n## Vote\n";

/// The section.
pub(super) fn solution(view: &View<'_>, participants: &Participants<'_>) -> Markup {
    let Some(solution) = &view.debate.final_solution else { return missing(view.debate) };
    let cards = [
        ("Open questions", &solution.open_questions),
        ("Recommendations", &solution.recommendations),
        ("Trade-offs", &solution.tradeoffs),
    ];
    html! {
        p.lead { (origin(solution, participants)) }
        @if let Some(error) = &solution.parse_error {
            div.notice.warn {
                p { "The judge did not answer in the form that was asked for, so its answer is shown as it came." }
                p.error dir="auto" { (error) }
            }
        }
        // What is missing is said before the text that does not say it.
        (card("Unfulfilled major requirements", "warn before", &solution.unfulfilled_major_requirements))
        div.answer { (markdown(answer(view.debate, solution), 3)) }
        @if let Some(implementation) = &solution.implementation {
            h3 { "Implementation" }
            (markdown(implementation, 4))
        }
        @if cards.iter().any(|(_, items)| !items.is_empty()) {
            div.cards {
                @for (title, items) in cards { (card(title, "", items)) }
            }
        }
    }
}

/// The description without what the page shows elsewhere.
fn answer<'d>(debate: &Debate, solution: &'d Solution) -> &'d str {
    let lists = [
        &solution.tradeoffs,
        &solution.recommendations,
        &solution.unfulfilled_major_requirements,
        &solution.open_questions,
    ];
    let assessed = solution.confidence.is_some() || lists.iter().any(|list| !list.is_empty());
    let without = |text, beginning, is_shown: bool| match str::rsplit_once(text, beginning) {
        Some((answer, _)) if is_shown => answer,
        _ => text,
    };
    without(without(&solution.description, ASSESSMENT, assessed), VOTE, debate.voting.is_some())
}

fn origin(solution: &Solution, participants: &Participants<'_>) -> Markup {
    let chip = |id: &Option<AgentId>| id.as_ref().map(|id| participants.chip(id));
    match (chip(&solution.synthesized_by), chip(&solution.base)) {
        (Some(_), Some(base)) if solution.synthesized_by == solution.base => {
            html! { "The refinement of " (base) " won the vote." }
        }
        (Some(by), Some(base)) => html! { "Put together by " (by) ", built on the refinement of " (base) "." },
        (Some(by), None) => html! { "Put together by " (by) "." },
        (None, Some(base)) => html! { "The refinement of " (base) "." },
        (None, None) => html! { "Who put it together is not on record." },
    }
}

fn card(title: &'static str, class: &'static str, items: &[String]) -> Markup {
    html! {
        @if !items.is_empty() {
            div.card.(class) {
                h3 { (title) }
                ul {
                    @for item in items { li { (markdown(item, 4)) } }
                }
            }
        }
    }
}

fn missing(debate: &Debate) -> Markup {
    let why = match debate.status {
        Status::Pending | Status::Running => "The debate has not come to an answer yet.",
        Status::Paused => "The debate was interrupted before it came to an answer.",
        Status::Completed => "The record holds no answer, although the debate is completed.",
        Status::Failed => "The debate failed before it came to an answer.",
    };
    html! {
        div.notice.warn {
            p {
                (why)
                @if debate.settings.is_some() && debate.status != Status::Completed {
                    " " code { "dialectic resume " (name(debate.id.as_str())) } " goes on with it."
                }
            }
        }
    }
}
