//! Renders the answer, the judge's assessment, and follow-up questions.

use maud::{Markup, html};

use crate::report::stages::{self, capitalized};
use crate::report::{View, subject};
use dialectic_record::answer::Solution;
use dialectic_record::debate::{Debate, Status};
use dialectic_record::ids::{AgentId, ResultKind};
use dialectic_record::points::Ledger;

use super::blocks::Participants;
use super::text::{markdown, name, noun, plain};

/// The heading that the engine writes above the list of candidates.
const CANDIDATES: &str = "\n\n### Candidates\n\n";

/// The section's title: “Solution”, or the noun of the verdict if no stage yields a solution.
pub(super) fn title(debate: &Debate) -> String {
    let verdict =
        stages::first(debate, ResultKind::Verdict).filter(|_| stages::first(debate, ResultKind::Solution).is_none());
    capitalized(verdict.map_or("solution", |stage| &stage.words.noun))
}

pub(super) fn solution(view: &View<'_>, participants: &Participants<'_>) -> Markup {
    let Some(solution) = &view.debate.final_solution else { return missing(view.debate) };
    let (candidates, partly) = (candidates(solution), subject::partly_fulfilled(solution));
    let remaining = subject::remaining(&Ledger::of(view.debate));
    let cards = [
        ("Candidates", &candidates),
        ("Remaining objections", &remaining),
        ("Not verified", &solution.unverified),
        ("Open questions", &solution.open_questions),
        ("Recommendations", &solution.recommendations),
        ("Trade-offs", &solution.tradeoffs),
    ];
    html! {
        p.lead {
            (origin(view.debate, solution, participants))
            @if let Some(status) = subject::status(view.debate) {
                " "
                @if view.debate.checks.is_empty() { (capitalized(&status)) }
                @else { a href="#answer-check" { (capitalized(&status)) } }
                "."
            }
        }
        @if let Some(error) = &solution.parse_error {
            div.notice.warn {
                p { "The judge's answer is not in the requested format, so details may be missing." }
                p.error dir="auto" { (error) }
            }
        }
        (card("Unfulfilled major requirements", "warn before", &solution.unfulfilled_major_requirements))
        (card("Major requirements partly fulfilled", "warn before", &partly))
        div.answer { (markdown(answer(view, solution), 3)) }
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

fn candidates(solution: &Solution) -> Vec<String> {
    let listed = solution.description.rsplit_once(CANDIDATES).map_or("", |(_, listed)| listed);
    listed.lines().map_while(|line| line.strip_prefix("- ")).map(str::to_owned).collect()
}

/// The description without the parts that other sections show: leading headings and the assessment.
fn answer<'d>(view: &View<'_>, solution: &'d Solution) -> &'d str {
    let debate = view.debate;
    let lists = [
        &solution.tradeoffs,
        &solution.recommendations,
        &solution.unfulfilled_major_requirements,
        &solution.open_questions,
    ];
    let assessed = solution.confidence.is_some() || lists.iter().any(|list| !list.is_empty());
    let text = if assessed { solution.without_assessment() } else { &solution.description };
    below_headings(text, &[&title(debate), view.title().unwrap_or_default()])
}

/// Removes leading headings that repeat one of `above`.
fn below_headings<'t>(text: &'t str, above: &[&str]) -> &'t str {
    let trimmed = text.trim_start();
    let (first, rest) = trimmed.split_once('\n').unwrap_or((trimmed, ""));
    let heading = first.trim_start_matches('#');
    let repeats = heading.len() < first.len() && above.iter().any(|one| heading.trim().eq_ignore_ascii_case(one));
    // Keep a text that consists only of headings.
    if repeats && !rest.trim().is_empty() { below_headings(rest, above) } else { text }
}

fn origin(debate: &Debate, solution: &Solution, participants: &Participants<'_>) -> Markup {
    let chip = |id: &AgentId| participants.chip(id);
    let base = solution.base.as_ref().map(|base| (base, html! { (last_text(debate, base)) " of " (chip(base)) }));
    match (&solution.synthesized_by, base) {
        (Some(by), Some((base, text))) if by == base && debate.voting.is_some() => {
            html! { "The " (text) " won the vote." }
        }
        (Some(by), Some((base, text))) if by != base => {
            html! { "Written by " (chip(by)) ", based on the " (text) "." }
        }
        (Some(_) | None, Some((_, text))) => html! { "The " (text) "." },
        (Some(by), None) => html! { "By " (chip(by)) "." },
        (None, None) => html! { "The author is not recorded." },
    }
}

fn last_text(debate: &Debate, author: &AgentId) -> String {
    let positions = debate.final_round().map(|round| debate.positions(round)).unwrap_or_default();
    let last = positions.into_iter().find(|one| one.agent_id == *author);
    last.map_or_else(|| "text".to_owned(), |one| noun(debate, one.stage))
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
        Status::Pending | Status::Running => "The debate has no answer yet.",
        Status::Paused => "The debate was interrupted before it produced an answer.",
        Status::Completed => "The record contains no answer, although the debate is marked as completed.",
        Status::Failed => "The debate failed before it produced an answer.",
    };
    html! {
        div.notice.warn {
            p {
                (why)
                @if debate.settings.is_some() && debate.status != Status::Completed {
                    " " code { "dialectic resume " (name(debate.id.as_str())) } " continues it."
                }
            }
        }
    }
}

/// The maximum length of a question, in characters.
const QUESTION: usize = 2000;

pub(super) fn follow_ups(view: &View<'_>, participants: &Participants<'_>) -> Markup {
    html! {
        @for one in &view.debate.follow_ups {
            h3 { (plain(&one.question, QUESTION)) }
            @match &one.answer {
                Some(answer) => {
                    @if let Some(who) = &one.answered_by { p { (participants.chip(who)) " answered:" } }
                    (markdown(answer, 4))
                }
                None => p.note { "Not answered." }
            }
        }
    }
}
