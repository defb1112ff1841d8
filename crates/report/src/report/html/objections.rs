//! The objections: a filterable list in which each point expands to its history, and the authors' changes.

use maud::{Markup, html};

use crate::report::View;
use crate::report::subject;
use dialectic_base::severity::Severity;
use dialectic_record::debate::{Counts, Objection, Shown};

use super::blocks::{anchor, blocks, pill};
use super::critiques::{PointOutcome, beginning, numbers};
use super::participants::Participants;
use super::story::parties;

pub(super) fn objections(view: &View<'_>, participants: &Participants<'_>, shown: &Shown) -> Markup {
    let ledger = &shown.ledger;
    if ledger.is_empty() {
        return Markup::default();
    }
    let critiques = numbers(view);
    let critique = |one: &Objection| critiques.get(&(one.round, &one.critic_id, &one.target_id)).copied();
    html! {
        (blocks(&subject::counts(view.debate, shown), participants, 3))
        div.objections {
            (filters(&ledger.objections))
            ol.points { @for group in subject::alike(&ledger.in_order()) { (point(&group, critique, participants)) } }
        }
        (blocks(&subject::given_up(view.debate), participants, 3))
        (blocks(&subject::changes(ledger), participants, 3))
    }
}

/// The filters of the list, which need only the stylesheet.
fn filters(objections: &[Objection]) -> Markup {
    let counts = Counts::of(objections);
    let of = |severity: Severity| objections.iter().filter(|one| one.point.severity == severity).count();
    html! {
        div.filters {
            fieldset {
                legend { "Show" }
                label { input.any type="radio" name="objections-shown" checked; " all " small { (counts.all) } }
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

/// A point against one or several texts: its outcome on one line, and its collapsed history.
fn point<'o>(
    group: &[&'o Objection],
    critique: impl Fn(&'o Objection) -> Option<usize>,
    participants: &Participants<'_>,
) -> Markup {
    let Some(one) = group.first() else { return Markup::default() };
    let state = if one.open { "open" } else { "settled" };
    html! {
        li.(one.point.severity.name()).(state) {
            details {
                summary {
                    span {
                        @for (place, one) in group.iter().enumerate() { @if place > 0 { ", " } (one.number()) }
                        " " (pill(one.point.severity))
                    }
                    " " (parties(group, participants)) ": "
                    span.edge.(PointOutcome::of([*one]).class()) { (subject::course(one)) }
                    @if one.open { " " strong { "open" } } @else { " settled" }
                    // The expanded text begins with the same words.
                    " " span.beginning { bdi { (beginning(&one.point.in_words())) } }
                }
                @for one in group {
                    // The anchor is inside, since browsers expand the target of a link.
                    div.fate id=(anchor(&one.number())) tabindex="-1" {
                        @if group.len() > 1 { p { (one.number()) ", on " (participants.chip(&one.target_id)) } }
                        (blocks(&subject::point(one), participants, 3))
                        @if let Some(critique) = critique(one) {
                            p { small { a href={ "#critique-" (critique) } { "The whole critique" } } }
                        }
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
    use dialectic_record::debate::fixture::argued;
    use dialectic_record::debate::{Debate, Ledger};

    /// The text of a section with tags replaced by spaces.
    fn section(debate: &Debate, id: &str) -> String {
        let page = page(&View::new(debate, &[], None));
        let (_, section) = page.split_once(&format!("<section id=\"{id}\"")).unwrap_or_else(|| panic!("no {id}"));
        section.split("</section>").next().unwrap().to_owned()
    }

    fn text_of(html: &str) -> String {
        let parts = html.split('<').map(|part| part.split_once('>').map_or(part, |(_, text)| text));
        parts.collect::<Vec<_>>().join(" ").split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn every_point_says_what_became_of_it() {
        let html = section(&argued(), "objections");
        let points: Vec<String> = html.split("<li class=\"").map(text_of).collect();
        insta::assert_snapshot!(points.join("\n"), @"
        Objections The critics raised 8 points: 3 accepted, 1 accepted in part, 2 rejected, 2 unanswered. At the end 5 are open: 1 blocking, 2 major, 2 minor. 1 was accepted without a word on what was changed. 1 is only claimed: only the author says that the text was changed. 5 were never rechecked: no critic mentioned them again. Of the points that needed a ruling, 1 was upheld and met in part, 2 were upheld and not met. Show all 8 open ones 5 Severity blocking 1 major 4 minor 3
        1.1 blocking Simplicity Advocate on System Architect : r1 rejected → r2 maintained → r2 rejected → ruled: not met open Failover: A write that is in flight while the leader changes is lost. About: Failover Objection ( blocking ) A write that is in flight while the leader changes is lost. Asks for Acknowledge it from the new leader. Round 1, System Architect , rejected The client repeats it. Round 2, Simplicity Advocate , maintained Not every client does. Round 2, System Architect , rejected All of ours do. The judge, not met A client may be gone. The whole critique
        1.3 major Simplicity Advocate on System Architect : r1 partly → ruled: partly met open Nobody knows what a lease costs. Objection ( major ) Nobody knows what a lease costs. Round 1, System Architect , accepted in part Measured for reads only. Never rechecked. The judge, partly met ( Cost ) Reads are most of it. The whole critique
        1.6 major Simplicity Advocate on System Architect : ruled: not ruled open Operation: Who is called at night? About: Operation Objection ( major ) Who is called at night? System Architect did not answer it. The judge was asked and did not rule on it. The whole critique
        1.4 minor Simplicity Advocate on System Architect : r1 accepted open Names: A bucket is a window elsewhere. About: Names Objection ( minor ) A bucket is a window elsewhere. Round 1, System Architect , accepted, no change named No reason was given. Never rechecked. The whole critique
        1.5 minor Simplicity Advocate on System Architect : unanswered open The table has no index. Objection ( minor ) The table has no index. System Architect did not answer it. The whole critique
        2.1 major System Architect on Simplicity Advocate : r1 accepted settled Restart: Counters are gone after a restart. About: Restart Objection ( major ) Counters are gone after a restart. Resolved by Write them to disk once a second. Round 1, Simplicity Advocate , accepted They are written every second. Never rechecked. The whole critique
        1.2 major Simplicity Advocate on System Architect : r1 accepted → r2 withdrawn settled Operation: Three stores are two too many. About: Operation Objection ( major ) Three stores are two too many. Resolved by Begin with one. Round 1, System Architect , accepted One store is left. Round 2, Simplicity Advocate , withdrawn No reason was given. The whole critique
        2.2 minor System Architect on Simplicity Advocate : r1 rejected → r2 withdrawn settled The header has no name. Objection ( minor ) The header has no name. Round 1, Simplicity Advocate , rejected It needs none. Round 2, System Architect , withdrawn True. The whole critique Who moved, and why Which points each text answered, and how much of it is new Round Agent Accepted Accepted in part Rejected Unanswered Lines added Lines removed 1 System Architect 1.2 , 1.4 1.3 1.1 1.5 12 3 1 Simplicity Advocate 2.1 - 2.2 - 1 0 2 System Architect - - 1.1 1.3 , 1.4 , 1.5 , 1.6 0 2
        ");
        let classes: Vec<&str> = html.split("<li class=\"").skip(1).map(|one| one.split('"').next().unwrap()).collect();
        let wanted = [
            "blocking open",
            "major open",
            "major open",
            "minor open",
            "minor open",
            "major settled",
            "major settled",
            "minor settled",
        ];
        assert_eq!(classes, wanted);
        for one in &Ledger::of(&argued()).objections {
            let place = anchor(&one.number());
            assert!(html.contains(&format!("<div class=\"fate\" id=\"{place}\" tabindex=\"-1\">")), "{place}");
        }
    }

    #[test]
    fn every_ruling_says_where_it_was_met() {
        let mut debate = argued();
        let rulings = &mut debate.final_solution.as_mut().unwrap().rulings;
        rulings[0].decision = dialectic_record::debate::Decision::Dismissed;
        let text = text_of(&section(&debate, "objections"));
        for said in [
            "The judge, dismissed A client may be gone.",
            "The judge, partly met ( Cost ) Reads are most of it.",
            "The judge was asked and did not rule on it.",
        ] {
            assert!(text.contains(said), "{said:?} is not in {text}");
        }
    }

    #[test]
    fn the_matrix_says_in_colour_and_words_what_became_of_the_points() {
        let html = section(&argued(), "critiques");
        let edges = html.split("<li class=\"edge ").skip(1).map(|entry| {
            let (class, rest) = entry.split_once('"').unwrap();
            format!("{class}: {}", text_of(rest.split("</li>").next().unwrap().split_once('>').unwrap().1))
        });
        insta::assert_snapshot!(edges.collect::<Vec<_>>().join("\n"), @r"
        settled: Round 1 1 word 2 points: 1 accepted, 1 rejected; none open
        rejected: Round 1 1 word 5 points: 2 accepted, 1 accepted in part, 1 rejected, 1 unanswered; 4 open
        unanswered: Round 2 1 word 1 point: 1 unanswered; 1 open
        ");
    }

    #[test]
    fn an_edge_shows_the_worst_of_what_is_open() {
        let ledger = Ledger::of(&argued());
        let outcomes = ledger.objections.iter().map(|one| PointOutcome::of([one]).class());
        let wanted = ["settled", "settled", "rejected", "settled", "partly", "open", "unanswered", "unanswered"];
        assert_eq!(outcomes.collect::<Vec<_>>(), wanted);
        assert_eq!(PointOutcome::of(&ledger.objections), PointOutcome::Rejected);
        assert_eq!(PointOutcome::of(&ledger.objections[4..]), PointOutcome::Unanswered);
        assert_eq!(PointOutcome::of([]), PointOutcome::Settled);
    }

    #[test]
    fn a_debate_of_an_older_version_is_read_and_said_to_be() {
        let mut older = argued();
        for one in older.rounds.iter_mut().flat_map(|round| &mut round.contributions) {
            std::sync::Arc::make_mut(one).reading = None;
        }
        assert!(!page(&View::new(&older, &[], None)).contains("id=\"objections\""), "there is nothing to read");
        let critique = older.rounds[0].contributions.iter_mut().find(|one| one.target_agent_id.is_some()).unwrap();
        std::sync::Arc::make_mut(critique).content = "1. [blocking] Failover: a write is lost.".into();
        let text = text_of(&section(&older, "objections"));
        assert!(text.contains("The record of this debate has no points and answers"), "{text}");
        assert!(text.contains("a write is lost") && text.contains("1 unanswered"), "{text}");
        assert!(!text_of(&section(&argued(), "objections")).contains("recorded before"));
    }
}
