//! The summary of the answer for a quick reader: confidence, the weightiest objections with their effects, and open
//! points.

use maud::{Markup, html};

use crate::report::prose::{gist, opening};
use crate::report::stages::capitalized;
use crate::report::{View, subject};
use dialectic_base::figures::{counted, list, percent};
use dialectic_base::severity::Severity;
use dialectic_record::debate::{Decision, Ledger, Objection, Remark, Response, Solution, Tally};

use super::blocks::{blocks, line, pill};
use super::participants::Participants;
use super::story::{parties, point, quote};
use super::text::{SHORT, plain};

/// The number of objections.
const WEIGHTIEST: usize = 3;
/// The characters of the answer, and of a change.
const ANSWER: usize = 360;
const CHANGE: usize = 140;

/// The part above the answer.
pub(super) fn glance(view: &View<'_>, participants: &Participants<'_>, ledger: &Ledger) -> Markup {
    let parts = [
        ("Answer", answer(view, participants)),
        ("Confidence", confidence(view)),
        ("Objections", weightiest(participants, ledger)),
        ("Open", open(view, ledger)),
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

fn confidence(view: &View<'_>) -> Markup {
    let why = view.debate.final_solution.as_ref().and_then(|solution| {
        let reservations = reservations(solution);
        solution.limited_confidence().or((!reservations.is_empty()).then(|| list(&reservations)))
    });
    html! {
        @if let Some(confidence) = view.confidence() {
            p { strong { (percent(confidence)) } @if let Some(why) = why { " (" (why) ")" } }
        }
    }
}

/// The reservations in the judge's own assessment, shown next to the number.
fn reservations(solution: &Solution) -> Vec<String> {
    let unmet = solution.unfulfilled_major_requirements.len() as u64;
    let partly = solution.partly_fulfilled.len() as u64;
    let mut said = Vec::new();
    if unmet > 0 {
        said.push(format!("{} not fulfilled", counted(unmet, "major requirement")));
    }
    if partly > 0 {
        said.push(format!("{} fulfilled in part", counted(partly, "major requirement")));
    }
    if !solution.unverified.is_empty() {
        said.push("the last changes were not rechecked".to_owned());
    }
    said
}

fn weightiest(participants: &Participants<'_>, ledger: &Ledger) -> Markup {
    let groups = subject::weightiest(ledger);
    html! {
        @if !groups.is_empty() {
            ul {
                @for group in groups.iter().take(WEIGHTIEST) {
                    @if let Some(one) = group.first() { li { (objection(one, group, participants)) } }
                }
            }
            @if groups.len() > WEIGHTIEST {
                p { a href="#objections" { "All " (counted(ledger.objections.len() as u64, "point")) } }
            }
        }
    }
}

/// A point, its outcome and its effect.
fn objection(one: &Objection, group: &[&Objection], participants: &Participants<'_>) -> Markup {
    // Without authors' answers, as in a council, the judge's ruling describes the effect.
    let ruling = one.ruling().filter(|ruling| one.response().is_none() && !ruling.missing);
    let (reason, section) = match ruling {
        Some(ruling) => (Some(ruling.reason.as_str()), Some(ruling.section.as_str())),
        None => (one.answer().and_then(Remark::reason), one.answer().and_then(Remark::section)),
    };
    let reason = reason.map(|reason| gist(reason, CHANGE)).filter(|reason| !reason.trim().is_empty());
    let section = section.map(str::trim).filter(|section| !section.is_empty());
    let changed = match one.response() {
        Some(Response::Accepted | Response::Partly) => Some("It changed"),
        Some(Response::Rejected) => Some("It changed nothing"),
        None => ruling.map(|ruling| match ruling.decision {
            Decision::Met | Decision::Partly => "It changed the answer",
            Decision::NotMet | Decision::Dismissed => "It changed nothing",
        }),
    };
    html! {
        (pill(one.point.severity)) " " (point(one)) " "
        span.fate-words {
            (parties(group, participants)) ": " (subject::fate(one)) "."
            @if let Some(changed) = changed.filter(|_| section.is_some() || reason.is_some()) {
                " " (changed)
                @if let Some(section) = section { " (" bdi { (plain(section, SHORT)) } ")" }
                @if let Some(reason) = &reason { ": " (quote(reason, CHANGE)) } @else { "." }
            }
        }
    }
}

fn open(view: &View<'_>, ledger: &Ledger) -> Markup {
    let counts = Tally::of(&ledger.objections);
    let (all, to_decide) = (counts.all_open(), ledger.to_decide());
    let grave = to_decide.len();
    // Omits points shown above.
    let weightiest = subject::weightiest(ledger);
    let is_above = |one: &Objection| weightiest.iter().take(WEIGHTIEST).flatten().any(|above| above.id == one.id);
    let below: Vec<&Objection> = to_decide.into_iter().filter(|one| !is_above(one)).collect();
    let below = subject::alike(&below);
    let solution = view.debate.final_solution.as_ref();
    let unmet = solution.map_or(&[][..], |solution| &solution.unfulfilled_major_requirements);
    let questions = solution.map_or(&[][..], |solution| &solution.open_questions);
    let more = [(unmet, "unfulfilled requirement"), (questions, "open question")];
    let more: Vec<String> =
        more.iter().filter(|(all, _)| !all.is_empty()).map(|(all, what)| counted(all.len() as u64, what)).collect();
    let said: Vec<&String> = [unmet, questions].iter().flat_map(|all| all.iter().take(WEIGHTIEST)).collect();
    let unsaid = unmet.len() + questions.len() - said.len() + below.len().saturating_sub(WEIGHTIEST);
    html! {
        @if !ledger.is_empty() || !more.is_empty() {
            p {
                @if ledger.is_empty() {}
                @else if all == 0 { "No objection. " }
                @else {
                    a href="#objections" { (counted(all as u64, "objection")) }
                    @if grave > 0 { ", " (grave) " of grade " (Severity::Major.name()) " or above" }
                    ". "
                }
                @if !more.is_empty() { (capitalized(&list(&more))) "." }
            }
            @if !below.is_empty() || !said.is_empty() {
                ul {
                    @for one in below.iter().take(WEIGHTIEST).filter_map(|group| group.first()) { li { (point(one)) } }
                    @for one in said { li { bdi { (plain(&gist(one, CHANGE), CHANGE)) } } }
                    @if unsaid > 0 { li { "and " (unsaid) " more" } }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::html as page;
    use super::*;
    use dialectic_record::debate::fixture::argued;

    #[test]
    fn above_the_answer_stands_what_it_is_worth() {
        let debate = argued();
        let page = page(&View::new(&debate, None));
        let (before, _) = page.split_once("<main>").unwrap();
        let (_, glance) = before.split_once("<dl class=\"story glance\">").unwrap();
        let glance = glance.split("</dl>").next().unwrap();
        let parts = glance.split('<').map(|part| part.split_once('>').map_or(part, |(_, text)| text));
        let text = parts.collect::<Vec<_>>().join(" ").split_whitespace().collect::<Vec<_>>().join(" ");
        insta::assert_snapshot!(text, @"Answer One store, one leader. All of it Confidence 60 % Objections blocking Failover: A write that is in flight while the leader changes is lost. Simplicity Advocate on System Architect : rejected, maintained by its critic; the judge: not met; it is open. It changed nothing: All of ours do. major Nobody knows what a lease costs. Simplicity Advocate on System Architect : accepted in part; the judge: partly met; it is open. It changed: Measured for reads only. major Operation: Who is called at night? Simplicity Advocate on System Architect : left unanswered; the judge did not rule on it; it is open. All 8 points Open 5 objections , 3 of grade major or above.");
        assert_eq!(glance.matches("<li>").count(), WEIGHTIEST);
    }

    #[test]
    fn the_number_stands_beside_what_the_judge_says_against_the_answer() {
        let mut debate = argued();
        let solution = debate.final_solution.as_mut().unwrap();
        solution.unfulfilled_major_requirements.clear();
        solution.stated_confidence = None;
        assert_eq!(reservations(solution), Vec::<String>::new());
        solution.unfulfilled_major_requirements = vec!["One".to_owned(), "Two".to_owned()];
        solution.open_questions = (1..=5).map(|number| format!("Question {number}?")).collect();
        solution.unverified = vec!["D1".to_owned()];
        let page = page(&View::new(&debate, None));
        let why = "(2 major requirements not fulfilled and the last changes were not rechecked)";
        assert!(page.contains(why), "{page}");
        // Three of five questions are said.
        assert!(page.contains("<li>and 2 more"), "{page}");
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
