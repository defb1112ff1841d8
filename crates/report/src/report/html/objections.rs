//! What became of every objection: a table to filter, each point unfolding into all that was said of it, and who moved
//! because of whose points.

use std::collections::{BTreeMap, HashMap};

use maud::{Markup, Render, html};

use crate::report::View;
use dialectic_base::figures::thousands;
use dialectic_base::severity::Severity;
use dialectic_record::debate::{Answered, Counts, Ledger, Move, Objection, PointId, Ruling, Shown};

use super::critiques::{Outcome, beginning, numbers};
use super::elements::{Column, table};
use super::participants::Participants;
use super::text::{SHORT, markdown, name, plain};

/// Characters of a point's id, which is made of a round, two ids and a number.
const ID: usize = 3 * SHORT;

/// A point with what the page calls it.
struct Row<'v> {
    /// Its number on the page.
    number: usize,
    objection: &'v Objection,
    /// The critique that it is from, as the page numbers them; none where it is not in that section.
    critique: Option<usize>,
}

/// The section.
pub(super) fn objections(view: &View<'_>, participants: &Participants<'_>, shown: &Shown) -> Markup {
    let ledger = &shown.ledger;
    if ledger.is_empty() {
        return Markup::default();
    }
    let critiques = numbers(view);
    let rows: Vec<Row<'_>> = (1..)
        .zip(ledger.in_order())
        .map(|(number, objection)| {
            let key = (objection.round, &objection.critic_id, &objection.target_id);
            Row { number, objection, critique: critiques.get(&key).copied() }
        })
        .collect();
    let places: HashMap<&PointId, &Row<'_>> = rows.iter().map(|row| (&row.objection.id, row)).collect();
    let counts = Counts::of(&ledger.objections);
    html! {
        p.lead { (counts.sentences()) }
        @if shown.is_derived {
            p.note {
                "This debate was recorded before points and answers were: they were read out of its texts when this "
                "page was written, as far as the texts allow."
            }
        }
        div.objections {
            (filters(&rows, &counts))
            (all(&rows, participants))
        }
        @if !ledger.moves.is_empty() {
            h3 { "Who moved, and why" }
            (moves(&ledger.moves, &places, participants))
        }
    }
}

/// The number of each point on the page, by its id.
pub(super) fn places(ledger: &Ledger) -> BTreeMap<String, usize> {
    ledger.in_order().into_iter().map(|one| one.id.to_string()).zip(1..).collect()
}

/// What hides rows of the table, by the stylesheet alone.
fn filters(rows: &[Row<'_>], counts: &Counts) -> Markup {
    let of = |severity: Severity| rows.iter().filter(|row| row.objection.point.severity == severity).count();
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

fn all(rows: &[Row<'_>], participants: &Participants<'_>) -> Markup {
    let columns = ["No.", "Point", "Critic and author", "Answer", "Critics later", "Judge", "State"].map(Column::words);
    let rows = html! { @for row in rows { (row.shown(participants)) } };
    table("points", "All points, open ones first, the gravest of them first", &columns, &rows, None)
}

impl Row<'_> {
    fn shown(&self, participants: &Participants<'_>) -> Markup {
        let one = self.objection;
        let severity = one.point.severity.name();
        let state = if one.open { "open" } else { "settled" };
        let outcome = Outcome::of([one]);
        html! {
            tr.(severity).(state) {
                th scope="row" { (self.number) }
                td {
                    details {
                        summary {
                            (pill(one.point.severity)) " "
                            // What is unfolded begins with the same words.
                            span.beginning { bdi { (beginning(&one.point.in_words())) } }
                        }
                        (self.unfolded(participants))
                    }
                }
                td { (participants.chip(&one.critic_id)) " on " (participants.chip(&one.target_id)) }
                td { span.edge.(outcome.class()) { (one.answer_in_words()) } }
                td { (one.recheck_in_words()) }
                td { @if let Some(ruling) = one.ruling_in_words() { (ruling) } @else { span.none { "not asked" } } }
                td { @if one.open { strong { (state) } } @else { (state) } }
            }
        }
    }

    /// All that was said of it.
    fn unfolded(&self, participants: &Participants<'_>) -> Markup {
        let one = self.objection;
        let author = participants.chip(&one.target_id);
        html! {
            // The anchor stands inside: browsers unfold what a link leads into.
            div.fate id={ "objection-" (self.number) } tabindex="-1" {
                p {
                    small { code { (name(&plain(&one.id.to_string(), ID))) } }
                    @if let Some(critique) = self.critique {
                        " " small { a href={ "#critique-" (critique) } { "the whole critique" } }
                    }
                }
                @if let Some(about) = &one.point.about { p { strong { "About: " } (name(&plain(about, ID))) } }
                (markdown(&one.point.text, 4))
                @if let Some(resolution) = &one.point.resolution {
                    p { strong { "Would be resolved by" } }
                    (markdown(resolution, 4))
                }
                @if one.answer == Answered::Unanswered {
                    p { strong { (author) " did not answer." } }
                } @else {
                    (said(html! { (author) " answered: " (one.answer_in_words()) }, one.reason.as_deref()))
                }
                @if one.critic.is_some() {
                    (said(html! { "Critics later: " (one.recheck_in_words()) }, one.critic_reason.as_deref()))
                } @else {
                    p { strong { "Never rechecked: no critic spoke of it again." } }
                }
                @if let Some(ruling) = &one.ruling { (ruled(one, ruling)) }
            }
        }
    }
}

fn ruled(one: &Objection, ruling: &Ruling) -> Markup {
    if ruling.missing {
        return html! { p { strong { "The judge was asked and did not rule on it, which counts as upheld and not met." } } };
    }
    let section = ruling.place();
    let head = html! {
        "The judge: " (one.ruling_in_words().unwrap_or_default())
        @if !section.is_empty() { " in " (name(&plain(section, ID))) }
    };
    said(head, Some(ruling.reason.as_str()).filter(|reason| !reason.trim().is_empty()))
}

/// A decision with its reason.
fn said(head: impl Render, reason: Option<&str>) -> Markup {
    html! {
        p { strong { (head) } @if reason.is_none() { " " span.none { "No reason was given." } } }
        @if let Some(reason) = reason { (markdown(reason, 4)) }
    }
}

fn pill(severity: Severity) -> Markup {
    let class = match severity {
        Severity::Blocking => "bad",
        Severity::Major => "warn",
        Severity::Minor => "minor",
    };
    html! { span.pill.(class) { (severity.name()) } }
}

/// A row for each refinement that answered points, or left them unanswered.
fn moves(moves: &[Move], places: &HashMap<&PointId, &Row<'_>>, participants: &Participants<'_>) -> Markup {
    let rows = html! {
        @for one in moves {
            tr {
                th scope="row" { (one.round) }
                td { (participants.chip(&one.agent_id)) }
                @for points in [&one.accepted, &one.partly, &one.rejected, &one.unanswered] {
                    td { (whose(points, places, participants)) }
                }
                td.number {
                    @if let Some(change) = one.change {
                        "+" (thousands(change.added as u64)) " −" (thousands(change.removed as u64))
                    } @else { span.none { "unknown" } }
                }
            }
        }
    };
    let words = ["Round", "Agent", "Accepted", "Accepted in part", "Rejected", "Unanswered"].map(Column::words);
    let columns: Vec<Column> = words.into_iter().chain([Column::number("Lines")]).collect();
    let caption =
        "Which points each text answered, by their critics and their numbers above, and how much of it is new";
    table("moves", caption, &columns, &rows, None)
}

/// Points by their critics, as links into the table above.
fn whose(points: &[PointId], places: &HashMap<&PointId, &Row<'_>>, participants: &Participants<'_>) -> Markup {
    let mut known: Vec<&Row<'_>> = points.iter().filter_map(|point| places.get(point).copied()).collect();
    known.sort_by_key(|row| (participants.place(&row.objection.critic_id), row.number));
    html! {
        @if known.is_empty() { span.none { "none" } }
        @else {
            ul {
                @for of_critic in known.chunk_by(|one, next| one.objection.critic_id == next.objection.critic_id) {
                    @if let Some(first) = of_critic.first() {
                        li {
                            @for (place, row) in of_critic.iter().enumerate() {
                                @if place > 0 { ", " }
                                a href={ "#objection-" (row.number) } { "no. " (row.number) }
                            }
                            " of " (participants.chip(&first.objection.critic_id))
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

    /// The text of a section, and its tags as spaces.
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
    fn every_point_is_a_row_with_what_became_of_it() {
        let html = section(&argued(), "objections");
        let rows: Vec<String> = html.split("<tr").map(text_of).collect();
        insta::assert_snapshot!(rows.join("\n"), @r"
        Objections The critics raised 8 points: 3 accepted, 1 accepted in part, 2 rejected, 2 unanswered. At the end 5 are open: 1 blocking, 2 major, 2 minor. 1 was accepted without a word on what was changed. 5 were never rechecked: no critic spoke of them again. Of those that the judge had to rule on, 1 was upheld and met by the solution, 2 were upheld and not met. Show all 8 open ones 5 Severity blocking 1 major 4 minor 3 All points, open ones first, the gravest of them first
        No. Point Critic and author Answer Critics later Judge State
        1 blocking Failover: A write that is in flight while the leader changes is lost. r1/agent-kiss/agent-architect/1 the whole critique About: Failover A write that is in flight while the leader changes is lost. Would be resolved by Acknowledge it from the new leader. 1 System Architect answered: rejected All of ours do. Critics later: maintained Not every client does. The judge: upheld, not met A client may be gone. 2 Simplicity Advocate on 1 System Architect rejected maintained upheld, not met open
        2 major Nobody knows what a lease costs. r1/agent-kiss/agent-architect/3 the whole critique Nobody knows what a lease costs. 1 System Architect answered: accepted in part Measured for reads only. Never rechecked: no critic spoke of it again. The judge: upheld, met in Cost Reads are most of it. 2 Simplicity Advocate on 1 System Architect accepted in part never rechecked upheld, met open
        3 major Operation: Who is called at night? r2/agent-kiss/agent-architect/1 the whole critique About: Operation Who is called at night? 1 System Architect did not answer. Never rechecked: no critic spoke of it again. The judge was asked and did not rule on it, which counts as upheld and not met. 2 Simplicity Advocate on 1 System Architect unanswered never rechecked no ruling, so upheld and not met open
        4 minor Names: A bucket is a window elsewhere. r1/agent-kiss/agent-architect/4 the whole critique About: Names A bucket is a window elsewhere. 1 System Architect answered: accepted, no change named No reason was given. Never rechecked: no critic spoke of it again. 2 Simplicity Advocate on 1 System Architect accepted, no change named never rechecked not asked open
        5 minor The table has no index. r1/agent-kiss/agent-architect/5 the whole critique The table has no index. 1 System Architect did not answer. Never rechecked: no critic spoke of it again. 2 Simplicity Advocate on 1 System Architect unanswered never rechecked not asked open
        6 major Restart: Counters are gone after a restart. r1/agent-architect/agent-kiss/1 the whole critique About: Restart Counters are gone after a restart. Would be resolved by Write them to disk once a second. 2 Simplicity Advocate answered: accepted They are written every second. Never rechecked: no critic spoke of it again. 1 System Architect on 2 Simplicity Advocate accepted never rechecked not asked settled
        7 major Operation: Three stores are two too many. r1/agent-kiss/agent-architect/2 the whole critique About: Operation Three stores are two too many. Would be resolved by Begin with one. 1 System Architect answered: accepted One store is left. Critics later: withdrawn No reason was given. 2 Simplicity Advocate on 1 System Architect accepted withdrawn not asked settled
        8 minor The header has no name. r1/agent-architect/agent-kiss/2 the whole critique The header has no name. 2 Simplicity Advocate answered: rejected It needs none. Critics later: withdrawn True. 1 System Architect on 2 Simplicity Advocate rejected withdrawn not asked settled Who moved, and why Which points each text answered, by their critics and their numbers above, and how much of it is new
        Round Agent Accepted Accepted in part Rejected Unanswered Lines
        1 1 System Architect no. 4 , no. 7 of 2 Simplicity Advocate no. 2 of 2 Simplicity Advocate no. 1 of 2 Simplicity Advocate no. 5 of 2 Simplicity Advocate +12 −3
        1 2 Simplicity Advocate no. 6 of 1 System Architect none no. 8 of 1 System Architect none +1 −0
        2 1 System Architect none none no. 1 of 2 Simplicity Advocate no. 2 , no. 3 , no. 4 , no. 5 of 2 Simplicity Advocate +0 −2
        ");
        let rows: Vec<&str> = html.split("<tr class=\"").skip(1).map(|row| row.split('"').next().unwrap()).collect();
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
        assert_eq!(rows, wanted);
        for number in 1..=8 {
            assert!(html.contains(&format!("<div class=\"fate\" id=\"objection-{number}\" tabindex=\"-1\">")));
        }
    }

    #[test]
    fn every_ruling_says_where_it_was_met() {
        let mut debate = argued();
        let rulings = &mut debate.final_solution.as_mut().unwrap().rulings;
        rulings[0].decision = dialectic_record::debate::Decision::Dismissed;
        let text = text_of(&section(&debate, "objections"));
        for said in [
            "The judge: dismissed A client may be gone.",
            "The judge: upheld, met in Cost Reads are most of it.",
            "The judge was asked and did not rule on it, which counts as upheld and not met.",
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
        let outcomes = ledger.objections.iter().map(|one| Outcome::of([one]).class());
        let wanted = ["settled", "settled", "rejected", "settled", "partly", "open", "unanswered", "unanswered"];
        assert_eq!(outcomes.collect::<Vec<_>>(), wanted);
        assert_eq!(Outcome::of(&ledger.objections), Outcome::Rejected);
        assert_eq!(Outcome::of(&ledger.objections[4..]), Outcome::Unanswered);
        assert_eq!(Outcome::of([]), Outcome::Settled);
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
        assert!(text.contains("This debate was recorded before points and answers were"), "{text}");
        assert!(text.contains("a write is lost") && text.contains("1 unanswered"), "{text}");
        assert!(!text_of(&section(&argued(), "objections")).contains("recorded before"));
    }
}
