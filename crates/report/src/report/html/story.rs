//! Renders a summary of the debate: proposals, disputes, changes and open points. Counts and quotations come from the
//! record and its ledger. Parts that were not recorded are omitted.

use std::collections::BTreeSet;

use maud::{Markup, html};

use crate::report::prose::{self, gist};
use crate::report::stages::capitalized;
use crate::report::{View, subject};
use dialectic_base::figures::{counted, list, thousands};
use dialectic_record::answer::Polls;
use dialectic_record::debate::{Contribution, Debate, Status};
use dialectic_record::ids::{AgentId, ResultKind, StageId};
use dialectic_record::points::{Ledger, Point, Response, Severity, Tally};

use super::blocks::{Participants, anchor, blocks, line};
use super::solution::title;
use super::text::{SHORT, name, noun, plain, words};

/// The maximum length of a quotation from a text, in characters.
const GIST: usize = 260;
/// The maximum length of a quotation from a point, in characters.
const POINT: usize = 160;
/// The maximum length of a quoted reason, in characters.
const REASON: usize = 120;
const NAMED: usize = 3;
const LEADS: usize = 4;

pub(super) fn story(view: &View<'_>, participants: &Participants<'_>, ledger: &Ledger) -> Markup {
    let disputed = disputed(ledger);
    let named: Vec<&Point> = disputed.iter().take(NAMED).flatten().copied().collect();
    let parts = [
        ("Proposed", proposed(view, participants)),
        ("Argued", argued(view, participants)),
        ("Main objections", fought_over(view.debate, participants, ledger, &disputed)),
        ("Changed", changed(view, participants, ledger)),
        ("Decision", decided(view, participants)),
        ("Checked", checked(view.debate)),
        ("Ended", ended(view.debate)),
        ("Still open", still_open(view, participants, ledger, &named)),
    ];
    let is_empty = |part: &Markup| part.0.is_empty();
    html! {
        @if !parts.iter().all(|(_, said)| is_empty(said)) {
            dl.story {
                @for (title, said) in &parts {
                    @if !is_empty(said) { dt { (title) } dd { (said) } }
                }
            }
        }
    }
}

/// The contributions whose stages yield this kind of result, in order and without carried-over texts.
fn texts(debate: &Debate, yields: ResultKind) -> impl Iterator<Item = &Contribution> {
    let all = debate.rounds.iter().flat_map(|round| round.contributions.iter().map(AsRef::as_ref));
    all.filter(move |one: &&Contribution| debate.yield_of(one) == Some(yields) && !one.metadata.carried_over)
}

/// Each participant's first text of this kind, in the order of the participants.
fn first_texts<'v>(view: &'v View<'_>, participants: &Participants<'_>, yields: ResultKind) -> Vec<&'v Contribution> {
    let mut first: Vec<&Contribution> = Vec::new();
    for one in texts(view.debate, yields) {
        // A speech with an addressee is a question or an answer, not the speaker's case.
        let is_own = yields != ResultKind::Speech || one.target_agent_id.is_none();
        if is_own && first.iter().all(|known| known.agent_id != one.agent_id) {
            first.push(one);
        }
    }
    first.sort_by_key(|one| participants.place(&one.agent_id));
    first
}

fn proposed(view: &View<'_>, participants: &Participants<'_>) -> Markup {
    let first = first_texts(view, participants, ResultKind::Proposal);
    let Some(stage) = first.first().map(|one| one.stage) else { return Markup::default() };
    let debate = view.debate;
    let lost = debate.failures.iter().filter(|failure| {
        let author = &failure.key.agent_id;
        failure.key.stage == stage && first.iter().all(|one| one.agent_id != *author)
    });
    let lost: BTreeSet<&AgentId> = lost.map(|failure| &failure.key.agent_id).collect();
    let lost =
        html! { @for author in lost { " " (participants.chip(author)) " wrote none, because its call failed." } };
    if let [only] = first.as_slice() {
        let author = participants.chip(&only.agent_id);
        return html! { p { (author) " wrote the " (noun(debate, stage)) ": " (quoted(&only.content)) (lost) } };
    }
    let count = capitalized(&number(first.len()));
    html! {
        p { (count) " agents wrote " (plain(&debate.words(stage).plural, SHORT)) "." (lost) }
        ul { @for one in first { li { (participants.chip(&one.agent_id)) ": " (quoted(&one.content)) } } }
    }
}

fn quoted(text: &str) -> Markup {
    let leads = prose::leads(text, LEADS);
    let leads: Vec<String> = leads.iter().map(|lead| plain(lead, SHORT)).collect();
    html! {
        (quote(&gist(text, GIST), GIST))
        @if leads.len() > 1 {
            " " span.fate-words {
                "It begins with: " bdi { (leads.join("; ")) } "."
            }
        }
    }
}

pub(super) fn quote(text: &str, chars: usize) -> Markup {
    // Use single quotation marks inside double ones.
    html! { q { bdi { (plain(text, chars).replace('“', "‘").replace('”', "’")) } } }
}

fn argued(view: &View<'_>, participants: &Participants<'_>) -> Markup {
    let debate = view.debate;
    let mut kinds: Vec<(StageId, usize)> = Vec::new();
    for one in texts(debate, ResultKind::Speech) {
        match kinds.iter_mut().find(|(stage, _)| *stage == one.stage) {
            Some((_, count)) => *count += 1,
            None => kinds.push((one.stage, 1)),
        }
    }
    if kinds.is_empty() {
        return Markup::default();
    }
    let is_one = kinds.iter().map(|(_, count)| count).sum::<usize>() == 1;
    let kinds = kinds.iter().map(|(stage, count)| {
        let words = debate.words(*stage);
        let noun = if *count == 1 { words.noun } else { words.plural };
        format!("{} {}", number(*count), plain(&noun, SHORT))
    });
    html! {
        p { "There " (if is_one { "was" } else { "were" }) " " (list(&kinds.collect::<Vec<_>>())) "." }
        ul {
            @for one in first_texts(view, participants, ResultKind::Speech) {
                li {
                    (participants.chip(&one.agent_id))
                    @if view.has_sides() { @if let Some(side) = view.side_of(&one.agent_id) { " (" (side.name()) ")" } }
                    ": " (quote(&gist(&one.content, GIST), GIST))
                }
            }
        }
    }
}

/// The disputed points, most disputed first, grouped by critic, words and outcome.
fn disputed(ledger: &Ledger) -> Vec<Vec<&Point>> {
    let mut named: Vec<&Point> = ledger.objections.iter().filter(|one| subject::heat(one) > 1).collect();
    named.sort_by_key(|one| (std::cmp::Reverse(subject::heat(one)), one.point.severity));
    subject::alike(&named)
}

fn fought_over(debate: &Debate, participants: &Participants<'_>, ledger: &Ledger, groups: &[Vec<&Point>]) -> Markup {
    if ledger.is_empty() {
        return without_points(debate);
    }
    let counts = Tally::of(&ledger.objections);
    let blocking = ledger.objections.iter().filter(|one| one.point.severity == Severity::Blocking).count();
    html! {
        p {
            "The critics raised " (counted(counts.all() as u64, "point"))
            @if blocking > 0 && counts.all() > blocking { ", " (number(blocking)) " of them blocking" }
            @if blocking == counts.all() { @if blocking == 1 { ", a blocking one" } @else { ", all of them blocking" } }
            ": " (counts.statuses()) "."
            @if groups.is_empty() && counts.accepted == counts.all() { " Every point was accepted." }
            @if ledger.is_derived { " The points were derived from the debate's texts." }
        }
        @if !groups.is_empty() {
            ul { @for group in groups.iter().take(NAMED) { li { (contested(group, participants)) } } }
        }
        @if groups.len() > NAMED { p { small { a href="#objections" { "All points" } " are below." } } }
    }
}

fn without_points(debate: &Debate) -> Markup {
    let critiques: Vec<&Contribution> = texts(debate, ResultKind::Critique).collect();
    if critiques.is_empty() {
        return Markup::default();
    }
    let stage = critiques.first().map(|one| one.stage);
    let words = stage.map(|stage| debate.words(stage));
    let noun = words.map(|words| if critiques.len() == 1 { words.noun } else { words.plural }).unwrap_or_default();
    let said_none = |one: &&&Contribution| {
        one.reading.as_ref().and_then(|reading| reading.points.as_ref()).is_some_and(Vec::is_empty)
    };
    let all_none = critiques.iter().filter(said_none).count() == critiques.len();
    let rest = match (all_none, critiques.len()) {
        (true, 1) => "was written, and it raised no objection.",
        (true, _) => "were written, and none raised an objection.",
        (false, 1) => "was written. It does not list individual points.",
        (false, _) => "were written. They do not list individual points.",
    };
    html! { p { (capitalized(&number(critiques.len()))) " " (plain(&noun, SHORT)) " " (rest) } }
}

/// The points of `group` are by the same critic, and have the same words and outcome.
fn contested(group: &[&Point], participants: &Participants<'_>) -> Markup {
    let Some(first) = group.first() else { return Markup::default() };
    let reason = subject::grounds(first).map(|reason| gist(reason, REASON)).filter(|reason| !reason.trim().is_empty());
    html! {
        (point(first)) " "
        span.fate-words {
            (parties(group, participants)) ": " (line(&subject::status_line(first), participants)) "."
            @if let Some(reason) = &reason { " " (quote(reason, REASON)) }
        }
    }
}

pub(super) fn parties(group: &[&Point], participants: &Participants<'_>) -> Markup {
    html! {
        @for (place, one) in group.iter().enumerate() {
            @if place == 0 { (participants.chip(&one.critic_id)) " on " } @else { ", " }
            (participants.chip(&one.target_id))
        }
    }
}

pub(super) fn point(one: &Point) -> Markup {
    html! { a href={ "#" (anchor(&one.number())) } { (quote(&gist(&one.point.in_words(), POINT), POINT)) } }
}

fn changed(view: &View<'_>, participants: &Participants<'_>, ledger: &Ledger) -> Markup {
    let members = participants.members.iter();
    let agents: Vec<_> = members.filter_map(|one| Some((one.chip(), revised(view, one.id, ledger)?))).collect();
    let movers = Polls::of(view.debate).filter(Polls::is_compared).map(|polls| moved(&polls, participants));
    html! {
        @if !agents.is_empty() {
            ul { @for (agent, said) in &agents { li { (agent) " " (said) } } }
        }
        @if let Some(movers) = movers { p { (movers) } }
    }
}

/// How an agent revised its text; `None` if it wrote fewer than two versions.
fn revised(view: &View<'_>, agent: &AgentId, ledger: &Ledger) -> Option<Markup> {
    let own: Vec<&Contribution> =
        texts(view.debate, ResultKind::Proposal).filter(|one| one.agent_id == *agent).collect();
    let (first, last) = (own.first()?, own.last()?);
    let times = own.len() - 1;
    if times == 0 {
        return None;
    }
    let is_same =
        own.windows(2).all(|pair| matches!(pair, [one, next] if one.without_answers() == next.without_answers()));
    let (before, after) = (words(&first.without_answers()), words(&last.without_answers()));
    let against = || ledger.against(agent);
    let of = |wanted: Response| against().filter(|one| one.response() == Some(wanted)).count();
    let (all, accepted, partly) = (against().count(), of(Response::Accepted), of(Response::Partly));
    Some(html! {
        @if is_same { "left its text unchanged" }
        @else {
            "rewrote its text " (often(times))
            @if before == after { ", at " (counted(after, "word")) " as before" }
            @else { ", from " (counted(before, "word")) " to " (thousands(after)) }
        }
        @if all > 0 {
            @if is_same { ", though it" } @else { ", and" }
            @if all == 1 && accepted + partly == 0 { " did not accept the only point against it" }
            @else if all == 1 { " accepted the only point against it" @if partly > 0 { " in part" } }
            @else {
                " accepted " (number(accepted)) " of the " (numbered(all, "point")) " against it"
                @if partly > 0 { " and " (number(partly)) " more in part" }
            }
        }
        "."
    })
}

fn moved(polls: &Polls<'_>, participants: &Participants<'_>) -> Markup {
    let (Some(before), Some(after)) = (polls.held.first(), polls.held.last()) else { return Markup::default() };
    let moves: Vec<(&AgentId, &String, &String)> = before
        .votes
        .iter()
        .filter_map(|(voter, vote)| Some((voter, vote, after.votes.get(voter).filter(|now| *now != vote)?)))
        .collect();
    html! {
        @if moves.is_empty() { "No one in the audience changed sides." }
        @for (voter, from, to) in moves {
            (participants.chip(voter)) " went from " (name(from)) " to " (name(to)) ". "
        }
    }
}

fn decided(view: &View<'_>, participants: &Participants<'_>) -> Markup {
    let debate = view.debate;
    html! {
        @if let Some(verdict) = &debate.verdict { (blocks(&subject::won(view, verdict), participants, 3)) }
        @if let Some(voting) = &debate.voting { p { (line(&subject::elected(voting), participants)) } }
    }
}

fn checked(debate: &Debate) -> Markup {
    let status = subject::status(debate).filter(|_| !debate.checks.is_empty());
    html! { @if let Some(status) = status { p { "The answer was " a href="#answer-check" { (status) } "." } } }
}

fn ended(debate: &Debate) -> Markup {
    let how = match debate.status {
        Status::Completed => None,
        Status::Failed => Some("The debate failed"),
        Status::Paused => Some("The debate was interrupted"),
        Status::Pending | Status::Running => Some("The debate was still running when it was last saved,"),
    };
    html! {
        @if let (Some(how), None) = (how, &debate.final_solution) {
            p {
                (how)
                @if debate.current_round > 0 { " in round " (debate.current_round) } @else { " before the first round" }
                ". There is no answer."
            }
        }
    }
}

fn still_open(view: &View<'_>, participants: &Participants<'_>, ledger: &Ledger, named: &[&Point]) -> Markup {
    let open = view.debate.open_points(ledger);
    let others: Vec<&Point> = open.iter().copied().filter(|one| named.iter().all(|named| named.id != one.id)).collect();
    let others = subject::alike(&others);
    let counts = Tally::of(&ledger.objections);
    let solution = view.debate.final_solution.as_ref();
    let unmet = solution.map_or(0, |solution| solution.unfulfilled_major_requirements.len());
    let questions = solution.map_or(0, |solution| solution.open_questions.len());
    html! {
        @if !open.is_empty() {
            p {
                @if open.len() == 1 { "One point is" } @else { (capitalized(&number(open.len()))) " points are" }
                " open"
                @match counts.open.iter().filter(|open| **open > 0).count() {
                    1 if open.len() > 1 => { ", all of them " (open[0].point.severity.name()) }
                    1 => { ", a " (open[0].point.severity.name()) " one" }
                    _ => { ": " (counts.open_by_severity()) }
                }
                "."
            }
            @if !others.is_empty() {
                ul {
                    @for group in others.iter().take(NAMED) { li { (contested(group, participants)) } }
                }
            }
        } @else if !ledger.is_empty() {
            p { "No points are open." }
        }
        @if unmet > 0 || questions > 0 {
            @let unmet = (unmet > 0).then(|| format!("{} unfulfilled", numbered(unmet, "major requirement")));
            @let questions = (questions > 0).then(|| format!("{} open", numbered(questions, "question")));
            p {
                "The " a href="#solution" { (title(view.debate).to_lowercase()) } " leaves "
                (list(&[unmet, questions].into_iter().flatten().collect::<Vec<_>>())) "."
            }
        }
    }
}

/// A count with its noun, in words: `two questions`.
fn numbered(count: usize, noun: &str) -> String {
    format!("{} {noun}{}", number(count), if count == 1 { "" } else { "s" })
}

/// A number of times, in words: `twice`.
fn often(times: usize) -> String {
    match times {
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        more => format!("{} times", number(more)),
    }
}

fn number(count: usize) -> String {
    const WORDS: [&str; 13] =
        ["none", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"];
    WORDS.get(count).map_or_else(|| thousands(count as u64), |word| (*word).to_owned())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::html as page;
    use super::*;
    use crate::report::tests::text_of;
    use dialectic_record::answer::{Poll, Verdict};
    use dialectic_record::debate::fixture::argued;
    use dialectic_record::ids::StageId;
    use dialectic_record::points::Response;

    /// The summary of a page, one line per part.
    fn story_of(debate: &Debate) -> String {
        let page = page(&View::new(debate, None));
        let Some((_, story)) = page.split_once("<dl class=\"story\">") else { return String::new() };
        let parts = story.split("</dl>").next().unwrap_or_default().split("<dt>").skip(1).map(text_of);
        parts.collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn it_tells_what_the_ledger_holds() {
        insta::assert_snapshot!(story_of(&argued()), @r"
        Proposed Two agents wrote proposals. System Architect : text Simplicity Advocate : text
        Main objections The critics raised 8 points, one of them blocking: 5 open, 1 claimed, 1 fixed, 1 rejected. Failover: A write that is in flight while the leader changes is lost. Simplicity Advocate on System Architect : open. A client may be gone. Nobody knows what a lease costs. Simplicity Advocate on System Architect : open. Reads are most of it. The header has no name. System Architect on Simplicity Advocate : rejected by Simplicity Advocate . It needs none.
        Changed System Architect left its text unchanged, though it accepted two of the six points against it and one more in part. Simplicity Advocate left its text unchanged, though it accepted one of the two points against it.
        Still open Five points are open: 1 blocking, 2 major, 2 minor. Operation: Who is called at night? Simplicity Advocate on System Architect : open. Names: A bucket is a window elsewhere. Simplicity Advocate on System Architect : open. The table has no index. Simplicity Advocate on System Architect : open.
        ");
    }

    #[test]
    fn it_says_nothing_of_what_the_record_does_not_hold() {
        let mut bare = argued();
        for round in &mut bare.rounds {
            round.contributions.retain(|one| one.target_agent_id.is_none());
        }
        bare.final_solution = None;
        let told = story_of(&bare);
        assert!(!told.contains("Main objections") && !told.contains("Still open"), "{told}");
        bare.status = Status::Failed;
        assert!(
            story_of(&bare).contains("Ended The debate failed in round 2. There is no answer."),
            "{}",
            story_of(&bare)
        );
        bare.rounds.clear();
        bare.status = Status::Completed;
        assert_eq!(story_of(&bare), "");
    }

    #[test]
    fn critiques_without_points_are_counted_and_no_more() {
        let mut silent = argued();
        for one in silent.rounds.iter_mut().flat_map(|round| &mut round.contributions) {
            let one = Arc::make_mut(one);
            if let Some(reading) = &mut one.reading {
                (reading.points, reading.answers, reading.rechecks) = (Some(Vec::new()), Vec::new(), Vec::new());
            }
        }
        assert!(
            story_of(&silent).contains("Main objections Four critiques were written, and none raised an objection."),
            "{}",
            story_of(&silent)
        );
    }

    #[test]
    fn authors_accepted_every_point_only_if_they_accepted_each_in_full() {
        let told = |change: &dyn Fn(&mut Debate, &mut Contribution)| {
            let mut debate = argued();
            debate.final_solution.as_mut().unwrap().rulings.clear();
            debate.rounds.truncate(1);
            let mut contributions = std::mem::take(&mut debate.rounds[0].contributions);
            for one in contributions.iter_mut().map(Arc::make_mut) {
                if let Some(points) = one.reading.as_mut().and_then(|reading| reading.points.as_mut()) {
                    points.truncate(2);
                }
                change(&mut debate, one);
            }
            debate.rounds[0].contributions = contributions;
            story_of(&debate)
        };
        let answered = |response: Response| {
            told(&move |_, one| {
                for answer in one.reading.iter_mut().flat_map(|reading| &mut reading.answers) {
                    answer.verdict = response;
                }
            })
        };
        let said = "Every point was accepted.";
        let accepted = answered(Response::Accepted);
        assert!(accepted.contains(&format!("4 points, one of them blocking: 4 claimed. {said}")), "{accepted}");
        let partly = answered(Response::Partly);
        assert!(partly.contains(": 4 open.") && !partly.contains(said), "{partly}");
        let unanswerable = told(&|debate, one| {
            debate.stages =
                debate.stages.iter().filter(|stage| stage.id != StageId::new("refinement")).cloned().collect();
            let target = one.target_agent_id.take();
            if let Some(reading) = &mut one.reading {
                reading.answers.clear();
                for point in reading.points.iter_mut().flatten() {
                    point.target.clone_from(&target);
                }
            }
        });
        assert!(unanswerable.contains(": 4 open.") && !unanswerable.contains(said), "{unanswerable}");
    }

    #[test]
    fn an_audience_and_a_verdict_are_told_as_they_are() {
        let mut debate = argued();
        let (architect, kiss) = (AgentId::new("agent-architect"), AgentId::new("agent-kiss"));
        let votes = |vote: &str| [(architect.clone(), vote.to_owned()), (kiss.clone(), "for".to_owned())].into();
        let poll = |stage, vote: &str| Poll { votes: votes(vote), ..Poll::of(StageId::new(stage)) };
        debate.polls = vec![poll("early", "undecided"), poll("late", "against")];
        let scores = [(architect.clone(), 81.0), (kiss.clone(), 74.0)].into();
        debate.verdict = Some(Verdict { winner: Some(architect), scores, stable: Some(false), ..Verdict::default() });
        let told = story_of(&debate);
        assert!(told.contains("System Architect went from undecided to against ."), "{told}");
        let verdict = "Winner: System Architect , by 81 to 74 Stable: no; the winner changed when the texts were \
                       judged in the opposite order";
        assert!(told.contains(verdict), "{told}");
    }
}
