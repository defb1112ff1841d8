//! Renders the header: title, outcome, main figures, and a short summary. Also renders the problem and its
//! clarifications.

use maud::{Markup, html};

use crate::report::prose::{gist, opening};
use crate::report::{View, subject};
use dialectic_base::figures::{counted, duration, named_cost};
use dialectic_base::problem::NO_ANSWER;
use dialectic_record::answer::PartlyFulfilled;
use dialectic_record::debate::{AnswerState, Answerer, Debate, OutcomeKind, Status};
use dialectic_record::points::{Ledger, Point, PointStatus};

use super::blocks::{Participants, blocks, line, severity, time};
use super::story::{parties, point, quote};
use super::text::{markdown, name, plain, typed};
use super::title;

/// The maximum number of reasons to show; longer lists are collapsed.
const REASONS: usize = 2;
const STRONGEST: usize = 3;
/// The maximum length of the answer's beginning, in characters.
const ANSWER: usize = 360;
/// The maximum length of a requirement, an objection's reason or an open question, in characters.
const CHANGE: usize = 140;

pub(super) fn header(view: &View<'_>, glance: &Markup) -> Markup {
    let debate = view.debate;
    html! {
        header {
            p.eyebrow {
                "Debate " (name(debate.id.as_str()))
                @if let Some(parent) = &debate.forked_from {
                    ", forked from " (name(parent.id.as_str())) " at " (parent.at)
                    "; earlier calls are charged to that debate"
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

/// The state of the run and of the answer, in green only if both are flawless.
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
            small { "Run" } " " span.pill.(of_run) { (view.run_in_words()) }
            @if debate.is_offline() { " " span.pill.offline { "rehearsal" } }
            @if let Some(answer) = &answer {
                br; small { "Answer" } " " span.pill.(of_answer(answer)) { bdi { (answer) } }
            }
        }
    }
}

fn notices(debate: &Debate) -> Markup {
    let meaning = |kind| match kind {
        OutcomeKind::Full => None,
        OutcomeKind::Degraded => Some("There is an answer, but the debate is incomplete."),
        OutcomeKind::Stopped => Some("The debate was stopped early."),
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

fn facts(view: &View<'_>) -> Markup {
    let debate = view.debate;
    let usage = debate.total_usage();
    let is_known = !debate.usage.is_empty();
    let is_paid = is_known && !debate.is_offline();
    let (team, all) = (debate.team().len(), view.agents.len());
    let facts = [
        Some(html! { (counted(team as u64, "agent")) @if team < all { " of " (all) } }),
        Some(html! { (counted(debate.rounds.len() as u64, "round")) }),
        is_known.then(|| html! { (counted(usage.requests, "call")) }),
        is_paid.then(|| html! { (usage.tokens_in_words()) }),
        is_paid.then(|| html! { (usage.cost_in_words(named_cost(usage.cost_usd))) }),
        debate.took_ms().map(|took| html! { (duration(took)) }),
        debate.created_at.map(|at| html! { "started " (time(at)) }),
    ];
    html! {
        p.facts { @for (place, fact) in facts.iter().flatten().enumerate() { @if place > 0 { " · " } (fact) } }
    }
}

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
                            NO_ANSWER if item.answered_by == Some(Answerer::Agent) => {
                                p.none { "An agent skipped this question." }
                            }
                            NO_ANSWER => p.none { "The user gave no answer." },
                            "" => p.none { "Not answered yet." },
                            answer => (typed(answer, 4)),
                        }
                        @if item.answered_by == Some(Answerer::Agent) && item.answer != NO_ANSWER {
                            p { small { "An agent answered." } }
                        }
                    }
                }
            }
        }
    }
}

pub(super) fn glance(view: &View<'_>, participants: &Participants<'_>, ledger: &Ledger) -> Markup {
    let open = subject::strongest_open(view.debate, ledger);
    let followed = if open.is_empty() { subject::strongest_followed(view.debate, ledger) } else { Vec::new() };
    let parts = [
        ("Decision", answer(view, participants)),
        ("Not met", faults(view)),
        ("Still open", disputed(&open, participants, ledger)),
        ("Main objections", disputed(&followed, participants, ledger)),
        ("Open questions", questions(view)),
        ("Confidence", html! { @if let Some(said) = subject::confidence(view) { p { (said) } } }),
    ];
    html! {
        dl.story.glance {
            @for (title, said) in &parts {
                @if !said.0.is_empty() { dt { (title) } dd { (said) } }
            }
        }
    }
}

fn answer(view: &View<'_>, participants: &Participants<'_>) -> Markup {
    let debate = view.debate;
    let said = debate.final_solution.as_ref().map(|solution| opening(&solution.description, ANSWER));
    html! {
        @if let Some(verdict) = &debate.verdict { (blocks(&subject::won(view, verdict), participants, 3)) }
        @else if let Some(voting) = &debate.voting { p { (line(&subject::elected(voting), participants)) } }
        @if let Some(said) = said.filter(|said| !said.trim().is_empty()) {
            p { bdi { (plain(&said, ANSWER)) } " " a href="#solution" { "Read all" } }
        }
    }
}

fn faults(view: &View<'_>) -> Markup {
    let Some(solution) = &view.debate.final_solution else { return Markup::default() };
    let (unmet, partly) = (&solution.unfulfilled_major_requirements, &solution.partly_fulfilled);
    html! {
        @if !unmet.is_empty() || !partly.is_empty() {
            ul {
                @for one in unmet { li { "Not met: " bdi { (plain(&gist(one, CHANGE), CHANGE)) } } }
                @for PartlyFulfilled { requirement, fails, .. } in partly {
                    li {
                        "Only in part: " bdi { (plain(gist(requirement, CHANGE).trim_end_matches('.'), CHANGE)) }
                        @if !fails.trim().is_empty() { "; fails: " bdi { (plain(&gist(fails, CHANGE), CHANGE)) } }
                    }
                }
            }
        }
    }
}

fn disputed(groups: &[Vec<&Point>], participants: &Participants<'_>, ledger: &Ledger) -> Markup {
    html! {
        @if !groups.is_empty() {
            ul {
                @for group in groups.iter().take(STRONGEST) {
                    @if let Some(one) = group.first() { li { (objection(one, group, participants)) } }
                }
            }
            @if groups.len() > STRONGEST || ledger.objections.len() > groups.len() {
                p { a href="#objections" { "All " (counted(ledger.objections.len() as u64, "point")) } }
            }
        }
    }
}

fn objection(one: &Point, group: &[&Point], participants: &Participants<'_>) -> Markup {
    let grounds = subject::grounds(one).map(|text| gist(text, CHANGE)).filter(|text| !text.trim().is_empty());
    html! {
        (one.number()) " " (severity(one)) " " (point(one)) " "
        span.fate-words {
            (parties(group, participants))
            // The heading already says that these points are open.
            @if one.status() != PointStatus::Open { ": " (line(&subject::status_line(one), participants)) }
            "."
            @if let Some(grounds) = &grounds {
                @if one.status() == PointStatus::Open { " " (line(&subject::why_open(one), participants)) ":" }
                " " (quote(grounds, CHANGE))
            }
        }
    }
}

fn questions(view: &View<'_>) -> Markup {
    let questions = view.debate.final_solution.as_ref().map_or(&[][..], |solution| &solution.open_questions);
    let more = questions.len().saturating_sub(STRONGEST);
    html! {
        @if !questions.is_empty() {
            ul {
                @for one in questions.iter().take(STRONGEST) { li { bdi { (plain(&gist(one, CHANGE), CHANGE)) } } }
                @if more > 0 { li { "and " (more) " more" } }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use dialectic_record::debate::fixture::argued;

    use super::super::html as page;
    use super::*;
    use crate::report::tests::text_of;

    #[test]
    fn above_the_answer_stands_what_it_is_worth() {
        let page = page(&View::new(&argued(), None));
        let (before, _) = page.split_once("<main>").unwrap();
        let (_, glance) = before.split_once("<dl class=\"story glance\">").unwrap();
        let glance = glance.split("</dl>").next().unwrap();
        insta::assert_snapshot!(text_of(glance), @"Decision One store, one leader. Read all Still open 1.1 blocking Failover: A write that is in flight while the leader changes is lost. Simplicity Advocate on System Architect . The judge, not met: A client may be gone. 1.3 major Nobody knows what a lease costs. Simplicity Advocate on System Architect . The judge, partly met: Reads are most of it. 1.6 major Operation: Who is called at night? Simplicity Advocate on System Architect . All 8 points Confidence 60 % chance that it meets every major requirement, the judge estimates");
        assert_eq!(glance.matches("<li>").count(), STRONGEST);
    }

    #[test]
    fn what_does_not_hold_stands_above_what_is_open_and_the_number_says_what_it_is_the_chance_of() {
        let mut debate = argued();
        let solution = debate.final_solution.as_mut().unwrap();
        solution.unfulfilled_major_requirements = vec!["Two seconds at most".to_owned()];
        solution.open_questions = (1..=5).map(|number| format!("Question {number}?")).collect();
        let page = page(&View::new(&debate, None));
        let places = ["Not met: <bdi>Two seconds", "<dt>Still open", "Question 3?", "and 2 more", "chance that"];
        let places = places.map(|text| page.find(text).unwrap_or_else(|| panic!("no {text}")));
        assert!(places.is_sorted(), "{places:?}");
        let glance = page.split("glance").nth(1).unwrap().split("</dl>").next().unwrap();
        assert!(!glance.contains("<strong>"), "a number alone is in bold: {glance}");
    }

    #[test]
    fn a_debate_without_open_points_shows_what_its_points_changed() {
        let mut debate = argued();
        for ruling in &mut debate.final_solution.as_mut().unwrap().rulings {
            (ruling.decision, ruling.missing) = (dialectic_record::points::Decision::Met, false);
        }
        let ledger = Ledger::shown(&debate);
        assert_eq!(subject::strongest_open(&debate, &ledger).len(), 2, "minor ones have no ruling");
        let followed = subject::strongest_followed(&debate, &ledger);
        assert_eq!(followed.first().and_then(|group| group.first()).map(|one| one.number()).as_deref(), Some("1.1"));
    }

    #[test]
    fn a_first_line_alone_is_no_answer() {
        assert_eq!(
            opening("No cache.\n\nThe index holds the path.\n\nMore.", 100),
            "No cache. The index holds the path."
        );
        assert_eq!(opening("No cache.\n\n## Why\n\nThe index holds it.", 100), "No cache.");
        let long = format!("{}\n\nNext.", "A long sentence that says it all. ".repeat(3).trim());
        assert_eq!(
            opening(&long, 120),
            "A long sentence that says it all. A long sentence that says it all. A long sentence that says it all."
        );
    }
}
