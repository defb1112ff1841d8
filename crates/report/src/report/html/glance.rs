//! The summary for a quick reader: what was decided, what does not hold, what was disputed.

use maud::{Markup, html};

use crate::report::prose::{gist, opening};
use crate::report::stages::{self, capitalized, is_ballot};
use crate::report::{View, subject};
use dialectic_base::figures::{counted, percent};
use dialectic_record::debate::{
    Contribution, Debate, Ledger, PartlyFulfilled, Point, PointStatus, ResultKind, StageId,
};

use super::blocks::{Participants, blocks, line, severity};
use super::story::{parties, point, quote};
use super::text::{SHORT, markdown, plain};

/// How many objections to show.
const STRONGEST: usize = 3;
/// The maximum characters of the answer and of a change.
const ANSWER: usize = 360;
const CHANGE: usize = 140;

/// The part above the answer.
pub(super) fn glance(view: &View<'_>, participants: &Participants<'_>, ledger: &Ledger) -> Markup {
    let open = subject::strongest_open(view.debate, ledger);
    let followed = if open.is_empty() { subject::strongest_followed(ledger) } else { Vec::new() };
    let parts = [
        ("Decision", answer(view, participants)),
        ("Not met", faults(view)),
        ("Still open", objections(&open, participants, ledger)),
        ("Main objections", objections(&followed, participants, ledger)),
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

/// The winner of a contest, and the beginning of the answer.
fn answer(view: &View<'_>, participants: &Participants<'_>) -> Markup {
    let debate = view.debate;
    let said = debate.final_solution.as_ref().map(|solution| opening(&solution.description, ANSWER));
    html! {
        @if let Some(verdict) = &debate.verdict { (blocks(&subject::won(view, verdict), participants, 3)) }
        @else if let Some(voting) = &debate.voting { p { (line(&subject::elected(voting), participants)) } }
        @if let Some(said) = said.filter(|said| !said.trim().is_empty()) {
            p { bdi { (plain(&said, ANSWER)) } " " a href="#solution" { "All of it" } }
        }
    }
}

/// The major requirements that are not met or only partly met.
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

fn objections(groups: &[Vec<&Point>], participants: &Participants<'_>, ledger: &Ledger) -> Markup {
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

/// A point, its status, and what it changed or why it is open.
fn objection(one: &Point, group: &[&Point], participants: &Participants<'_>) -> Markup {
    let grounds = subject::grounds(one).map(|text| gist(text, CHANGE)).filter(|text| !text.trim().is_empty());
    html! {
        (one.number()) " " (severity(one)) " " (point(one)) " "
        span.fate-words {
            (parties(group, participants))
            // The title already says that these are open.
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

/// The section's title, named after the stage with the ballots.
pub(super) fn title(debate: &Debate) -> String {
    let counted = stages::first(debate, ResultKind::Ballot).filter(|_| debate.voting.is_some());
    let name = match (counted, stages_of_ballots(debate).as_slice()) {
        (Some(stage), _) => stage.words.noun.to_string(),
        (None, [stage]) => debate.words(*stage).plural.into_owned(),
        (None, _) => "ballots".to_owned(),
    };
    capitalized(&name)
}

/// The stages with ballots in order.
fn stages_of_ballots(debate: &Debate) -> Vec<StageId> {
    let contributions = debate.rounds.iter().flat_map(|round| &round.contributions);
    let mut stages: Vec<StageId> = contributions.filter(|one| is_ballot(debate, one)).map(|one| one.stage).collect();
    stages.sort_by_key(|stage| debate.stage_rank(*stage));
    stages.dedup();
    stages
}

pub(super) fn vote(view: &View<'_>, participants: &Participants<'_>) -> Markup {
    html! {
        @if let Some(voting) = &view.debate.voting { (blocks(&subject::vote(voting), participants, 3)) }
        @for stage in stages_of_ballots(view.debate) { (ballots(view.debate, stage, participants)) }
    }
}

fn ballots(debate: &Debate, stage: StageId, participants: &Participants<'_>) -> Markup {
    let by_round = debate.stage(stage).is_some_and(|stage| stage.in_round);
    let rounds = debate.rounds.iter().map(|round| {
        let cast = round.contributions.iter().filter(|one| one.stage == stage);
        (round.round_number, cast.collect::<Vec<_>>())
    });
    html! {
        @for (round, cast) in rounds.filter(|(_, cast)| !cast.is_empty()) {
            h3 {
                (capitalized(&plain(&debate.words(stage).plural, SHORT)))
                @if by_round { " of round " (round) }
            }
            div.ballots {
                @for one in cast { (ballot(one, participants, debate.is_offline())) }
            }
        }
    }
}

fn ballot(ballot: &Contribution, participants: &Participants<'_>, is_offline: bool) -> Markup {
    let target = ballot.target_agent_id.as_ref();
    html! {
        div.card {
            p {
                (participants.chip(&ballot.agent_id))
                @match target {
                    Some(target) => { " for " (participants.chip(target)) }
                    None => " for no candidate",
                }
                @if target == Some(&ballot.agent_id) { " (its own)" }
                @if let Some(confidence) = ballot.metadata.confidence.filter(|_| !is_offline) { ", " (percent(confidence)) " sure" }
            }
            (markdown(&ballot.content, 4))
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
        let debate = argued();
        let page = page(&View::new(&debate, None));
        let (before, _) = page.split_once("<main>").unwrap();
        let (_, glance) = before.split_once("<dl class=\"story glance\">").unwrap();
        let glance = glance.split("</dl>").next().unwrap();
        insta::assert_snapshot!(text_of(glance), @"Decision One store, one leader. All of it Still open 1.1 blocking Failover: A write that is in flight while the leader changes is lost. Simplicity Advocate on System Architect . The judge, not met: A client may be gone. 1.3 major Nobody knows what a lease costs. Simplicity Advocate on System Architect . The judge, partly met: Reads are most of it. 1.6 major Operation: Who is called at night? Simplicity Advocate on System Architect . All 8 points Confidence 60 % chance that it meets every major requirement, the judge estimates");
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
            (ruling.decision, ruling.missing) = (dialectic_record::debate::Decision::Met, false);
        }
        let ledger = Ledger::shown(&debate);
        assert_eq!(subject::strongest_open(&debate, &ledger).len(), 2, "minor ones have no ruling");
        let followed = subject::strongest_followed(&ledger);
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
