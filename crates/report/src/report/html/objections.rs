//! Renders the objections: a matrix, a filtered list whose points expand to their history, and the authors' changes.

use maud::{Markup, html};

use crate::report::{View, subject};
use dialectic_record::ids::AgentId;
use dialectic_record::points::{Ledger, Point, PointStatus, Severity, Tally};

use super::blocks::{PanelMember, Participants, anchor, blocks, column, line, severity, table};
use super::story::parties;
use super::text::beginning;

pub(super) fn objections(view: &View<'_>, participants: &Participants<'_>, ledger: &Ledger) -> Markup {
    if ledger.is_empty() {
        return Markup::default();
    }
    html! {
        (drawing(ledger, participants))
        (blocks(&subject::counts(view.debate, ledger), participants, 3))
        div.objections {
            (filters(&ledger.objections))
            ol.points { @for group in subject::alike(&ledger.in_order()) { (point(&group, participants)) } }
        }
        (blocks(&subject::given_up(view.debate), participants, 3))
        (blocks(&subject::changes(ledger), participants, 3))
    }
}

/// The CSS class of a status, and its symbol.
fn mark_of(status: PointStatus) -> (&'static str, &'static str) {
    let shape = match status {
        PointStatus::Open => "●",
        PointStatus::Claimed => "◐",
        PointStatus::Fixed => "✓",
        PointStatus::Rejected => "○",
    };
    (status.name(), shape)
}

fn mark(status: PointStatus) -> Markup {
    let (class, shape) = mark_of(status);
    html! { span.mark.(class) aria-hidden="true" { (shape) } }
}

/// The points and their outcomes: critics as rows, authors as columns, one mark per point.
fn drawing(ledger: &Ledger, participants: &Participants<'_>) -> Markup {
    let points = ledger.in_order();
    let of = |id: fn(&Point) -> &AgentId| {
        let members = participants.members.iter();
        members.filter(|one| points.iter().any(|point| id(point) == one.id)).collect::<Vec<_>>()
    };
    let (critics, targets) = (of(|one| &one.critic_id), of(|one| &one.target_id));
    let cell = |critic: &PanelMember<'_>, target: &PanelMember<'_>| {
        let fitting = points.iter().filter(|one| one.critic_id == *critic.id && one.target_id == *target.id);
        html! {
            @for one in fitting {
                @let (class, shape) = mark_of(one.status());
                @let words = format!("{}, {class}", one.number());
                a.mark.(class) href={ "#" (anchor(&one.number())) } title=(words) aria-label=(words) { (shape) }
            }
        }
    };
    let rows = html! {
        @for critic in &critics {
            tr { th scope="row" { (critic.chip()) } @for target in &targets { td { (cell(critic, target)) } } }
        }
    };
    let names = targets.iter().map(|target| column(html! { "on " (target.chip()) }));
    let columns: Vec<Markup> = [column("Points of")].into_iter().chain(names).collect();
    table("small attacks", "Each mark is a point: ● open, ◐ claimed fixed, ✓ fixed, ○ rejected", &columns, &rows, None)
}

/// The filters work without scripts, through the stylesheet.
fn filters(objections: &[Point]) -> Markup {
    let counts = Tally::of(objections);
    let of = |severity: Severity| objections.iter().filter(|one| one.point.severity == severity).count();
    html! {
        div.filters {
            fieldset {
                legend { "Show" }
                label { input.any type="radio" name="objections-shown" checked; " all " small { (counts.all()) } }
                label {
                    input.only-open type="radio" name="objections-shown";
                    " open ones " small { (counts.all_open()) }
                }
            }
            fieldset {
                legend { "Severity" }
                @for severity in Severity::ALL {
                    label {
                        input.(severity.name()) type="checkbox" checked;
                        " " (severity.name()) " " small { (of(severity)) }
                    }
                }
            }
        }
    }
}

/// The points of `group` are by the same critic, and have the same words and outcome.
fn point(group: &[&Point], participants: &Participants<'_>) -> Markup {
    let Some(one) = group.first() else { return Markup::default() };
    let status = one.status();
    // The filter distinguishes only these two states.
    let state = if status == PointStatus::Open { "open" } else { "settled" };
    html! {
        li.(one.point.severity.name()).(state) {
            details {
                summary {
                    span {
                        (mark(status)) " "
                        @for (place, one) in group.iter().enumerate() { @if place > 0 { ", " } (one.number()) }
                        " " (severity(one))
                    }
                    " " (parties(group, participants)) ": "
                    strong { (line(&subject::status_line(one), participants)) }
                    // The stylesheet hides this beginning once the point is expanded, because the text below starts
                    // with the same words.
                    " " span.beginning { bdi { (beginning(&one.point.in_words())) } }
                }
                @for one in group {
                    // The anchor is inside the `details` element, because browsers expand the element when the user
                    // follows a link to the anchor.
                    div.fate id=(anchor(&one.number())) tabindex="-1" {
                        @if group.len() > 1 { p { (one.number()) ", on " (participants.chip(&one.target_id)) } }
                        (blocks(&subject::point(one), participants, 3))
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::html as page;
    use super::*;
    use crate::report::tests::text_of;
    use dialectic_record::debate::Debate;
    use dialectic_record::debate::fixture::argued;
    use dialectic_record::points::Ledger;

    /// The text of a section, with tags replaced by spaces.
    fn section(debate: &Debate, id: &str) -> String {
        let page = page(&View::new(debate, None));
        let (_, section) = page.split_once(&format!("<section id=\"{id}\"")).unwrap_or_else(|| panic!("no {id}"));
        section.split("</section>").next().unwrap().to_owned()
    }

    #[test]
    fn every_point_says_what_became_of_it() {
        let html = section(&argued(), "objections");
        let points: Vec<String> = html.split("<li class=\"").map(text_of).collect();
        insta::assert_snapshot!(points.join("\n"), @r"
        Objections Each mark is a point: ● open, ◐ claimed fixed, ✓ fixed, ○ rejected Points of on System Architect on Simplicity Advocate System Architect ◐ ○ Simplicity Advocate ● ● ● ● ● ✓ The critics raised 8 points. 5 are open: 1 blocking, 2 major, 2 minor. 1 is claimed fixed by the author, but not confirmed. 1 is fixed. 1 is rejected. Show all 8 open ones 5 Severity blocking 1 major 4 minor 3
        ● 1.1 blocking Simplicity Advocate on System Architect : open Failover: A write that is in flight while the leader changes is lost. About: Failover Objection ( blocking ) A write that is in flight while the leader changes is lost. Asks for Acknowledge it from the new leader. Round 1, System Architect , rejected The client repeats it. Round 2, Simplicity Advocate , maintained Not every client does. Round 2, System Architect , rejected All of ours do. The judge, not met A client may be gone.
        ● 1.3 major Simplicity Advocate on System Architect : open Nobody knows what a lease costs. Objection ( major ) Nobody knows what a lease costs. Round 1, System Architect , accepted in part Measured for reads only. Never rechecked. The judge, partly met ( Cost ) Reads are most of it.
        ● 1.6 major Simplicity Advocate on System Architect : open Operation: Who is called at night? About: Operation Objection ( major ) Who is called at night? System Architect did not answer this point. The judge was asked to rule on this point, but did not.
        ● 1.4 minor Simplicity Advocate on System Architect : open Names: A bucket is a window elsewhere. About: Names Objection ( minor ) A bucket is a window elsewhere. Round 1, System Architect , accepted without naming a change No reason was given. Never rechecked.
        ● 1.5 minor Simplicity Advocate on System Architect : open The table has no index. Objection ( minor ) The table has no index. System Architect did not answer this point.
        ◐ 2.1 major System Architect on Simplicity Advocate : claimed Restart: Counters are gone after a restart. About: Restart Objection (major) Counters are gone after a restart. Asks for Write them to disk once a second. Round 1, Simplicity Advocate , accepted They are written every second. Never rechecked.
        ✓ 1.2 major Simplicity Advocate on System Architect : fixed Operation: Three stores are two too many. About: Operation Objection (major) Three stores are two too many. Resolved by Begin with one. Round 1, System Architect , accepted One store is left. Round 2, Simplicity Advocate , withdrawn No reason was given.
        ○ 2.2 minor System Architect on Simplicity Advocate : rejected by Simplicity Advocate The header has no name. Objection (minor) The header has no name. Round 1, Simplicity Advocate , rejected It needs none. Round 2, System Architect , withdrawn True. Answers and changes Which points each text answered, and how much of it is new Round Agent Accepted Accepted in part Rejected Unanswered Lines added Lines removed 1 System Architect 1.2 , 1.4 1.3 1.1 1.5 12 3 1 Simplicity Advocate 2.1 - 2.2 - 1 0 2 System Architect - - 1.1 1.3 , 1.4 , 1.5 , 1.6 0 2
        ");
        let first = |parts: std::str::Split<'_, &str>| -> Vec<String> {
            parts.skip(1).map(|part| part.split('"').next().unwrap().to_owned()).collect()
        };
        let classes = first(html.split("<li class=\""));
        let (open, settled) = (["blocking", "major", "major", "minor", "minor"], ["major", "major", "minor"]);
        let wanted =
            open.map(|one| format!("{one} open")).into_iter().chain(settled.map(|one| format!("{one} settled")));
        assert_eq!(classes, wanted.collect::<Vec<_>>());
        assert_eq!(first(html.split("aria-label=\""))[1..4], ["2.1, claimed", "2.2, rejected", "1.1, open"]);
        for one in &Ledger::of(&argued()).objections {
            let place = anchor(&one.number());
            assert!(html.contains(&format!("<div class=\"fate\" id=\"{place}\" tabindex=\"-1\">")), "{place}");
        }
    }

    #[test]
    fn a_point_that_the_judge_dismissed_says_so() {
        let mut debate = argued();
        debate.final_solution.as_mut().unwrap().rulings[0].decision = dialectic_record::points::Decision::Dismissed;
        let text = text_of(&section(&debate, "objections"));
        assert!(text.contains("The judge, dismissed A client may be gone."), "{text}");
    }

    #[test]
    fn a_debate_of_an_older_version_is_read_and_said_to_be() {
        let mut older = argued();
        for one in older.rounds.iter_mut().flat_map(|round| &mut round.contributions) {
            std::sync::Arc::make_mut(one).reading = None;
        }
        assert!(!page(&View::new(&older, None)).contains("id=\"objections\""), "there is nothing to read");
        let critique = older.rounds[0].contributions.iter_mut().find(|one| one.target_agent_id.is_some()).unwrap();
        std::sync::Arc::make_mut(critique).content = "1. [blocking] Failover: a write is lost.".into();
        let text = text_of(&section(&older, "objections"));
        assert!(text.contains("This debate's record has no points or answers"), "{text}");
        assert!(text.contains("a write is lost") && text.contains("1 is open"), "{text}");
        assert!(!text_of(&section(&argued(), "objections")).contains("recorded before"));
    }
}
