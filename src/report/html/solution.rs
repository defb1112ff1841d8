//! The answer, and what its author says about it.

use crate::debate::{AgentId, Debate, Solution, Status};
use crate::report::View;

use super::cast::Cast;
use super::markup::{Markup, html, push};
use super::text::{markdown, name};

/// Where the judge's assessment, and the account of a vote, begin in a description. Both are shown from their own
/// fields instead.
const ASSESSMENT: &str = "\n\n---\n\n## Judge Assessment\n";
const VOTE: &str = "\n\n---\n\n## Vote\n";

/// The section.
pub(super) fn solution(view: &View<'_>, cast: &Cast<'_>) -> Markup {
    let Some(solution) = &view.debate.final_solution else { return missing(view.debate) };
    let mut section = html!("<p class=\"lead\">{}</p>\n", origin(solution, cast));
    if let Some(error) = &solution.parse_error {
        let what = "The judge did not answer in the form that was asked for, so its answer is shown as it came.";
        push!(section, "<div class=\"notice warn\">\n<p>{}</p>\n", what);
        push!(section, "<p class=\"error\" dir=\"auto\">{}</p>\n</div>\n", error);
    }
    // What is missing is said before the text that does not say it.
    push!(
        section,
        "{}",
        list("Unfulfilled major requirements", "warn before", &solution.unfulfilled_major_requirements)
    );
    push!(section, "<div class=\"answer\">\n{}</div>\n", markdown(answer(view.debate, solution), 3));
    if let Some(implementation) = &solution.implementation {
        push!(section, "<h3>Implementation</h3>\n{}", markdown(implementation, 4));
    }
    let lists = [
        list("Open questions", "", &solution.open_questions),
        list("Recommendations", "", &solution.recommendations),
        list("Trade-offs", "", &solution.tradeoffs),
    ];
    if lists.iter().any(|list| !list.is_empty()) {
        push!(section, "<div class=\"cards\">\n");
        for list in lists {
            push!(section, "{}", list);
        }
        push!(section, "</div>\n");
    }
    section
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

fn origin(solution: &Solution, cast: &Cast<'_>) -> Markup {
    let chip = |id: &Option<AgentId>| id.as_ref().map(|id| cast.chip(id));
    match (chip(&solution.synthesized_by), chip(&solution.base)) {
        (Some(_), Some(base)) if solution.synthesized_by == solution.base => {
            html!("The refinement of {} won the vote.", base)
        }
        (Some(by), Some(base)) => html!("Put together by {}, built on the refinement of {}.", by, base),
        (Some(by), None) => html!("Put together by {}.", by),
        (None, Some(base)) => html!("The refinement of {}.", base),
        (None, None) => html!("Who put it together is not on record."),
    }
}

fn list(title: &'static str, class: &'static str, items: &[String]) -> Markup {
    if items.is_empty() {
        return Markup::default();
    }
    let mut list = html!("<div class=\"card {}\">\n<h3>{}</h3>\n<ul>\n", class, title);
    for item in items {
        push!(list, "<li>{}</li>\n", markdown(item, 4));
    }
    push!(list, "</ul>\n</div>\n");
    list
}

fn missing(debate: &Debate) -> Markup {
    let why = match debate.status {
        Status::Pending | Status::Running => html!("The debate has not come to an answer yet."),
        Status::Paused => html!("The debate was interrupted before it came to an answer."),
        Status::Completed => html!("The record holds no answer, although the debate is completed."),
        Status::Failed => html!("The debate failed before it came to an answer."),
    };
    let go_on = html!(" <code>dialectic resume {}</code> goes on with it.", name(debate.id.as_str()));
    let resumable = debate.settings.is_some() && debate.status != Status::Completed;
    html!("<div class=\"notice warn\">\n<p>{}{}</p>\n</div>\n", why, if resumable { go_on } else { Markup::default() })
}
