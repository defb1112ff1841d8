//! The objections, and the changes that they caused.

use dialectic_base::figures::{UNKNOWN, counted};
use dialectic_record::debate::{
    AgentId, Change, Debate, Decision, Found, Ledger, Move, Objection, PointId, Remark, RemarkKind, RemarkTime,
    Response, ResultKind, Ruling, Tally,
};

use crate::report::block::{
    Block, ListItem, Phrase, Piece, TableBlock, TableHead, figure, foreign, joined, line, marked,
};

/// Shown in an empty cell.
const NONE: &str = "-";

/// The counts of all points, and the unreadable critiques.
pub(crate) fn counts<'s>(debate: &'s Debate, ledger: &'s Ledger) -> Vec<Block<'s>> {
    let mut blocks = vec![Block::Paragraph(line![figure(Tally::of(&ledger.objections).sentences())])];
    if ledger.is_derived {
        let note = "The record of this debate has no points and answers. They were derived from its texts just now, \
                    as far as possible, and are not saved.";
        blocks.push(Block::Paragraph(line![note]));
        return blocks;
    }
    let unread = unread(debate);
    if !unread.is_empty() {
        blocks.extend([Block::Paragraph(line!["Not read, and not among these points:"]), Block::List(unread)]);
    }
    blocks
}

/// The critiques and checks with unreadable points.
fn unread(debate: &Debate) -> Vec<ListItem<'_>> {
    let all = debate.contributions().map(|(round, one)| (format!(", round {round}"), one));
    let in_rounds =
        all.filter(|(_, one)| debate.yield_of(one) == Some(ResultKind::Critique) || one.unread_points() > 0);
    let checks = debate.checks.iter().filter_map(|one| Some((format!(", {}", one.metadata.lens?.subject()), one)));
    let unread = in_rounds.chain(checks).filter_map(|(place, one)| {
        let what = match one.unread_points() {
            0 if one.is_unread() => format!("the {}", debate.words(one.stage).noun),
            0 => return None,
            more => format!("{} more", counted(more as u64, "point")),
        };
        let target: Phrase<'_> = one.target_agent_id.as_ref().map(|target| line![" on ", target]).unwrap_or_default();
        Some(ListItem::of([line![figure(format!("{what} of ")), &one.agent_id], target, line![figure(place)]].concat()))
    });
    unread.collect()
}

/// Reviewers' remarks that reject whole approaches; empty without any.
pub(crate) fn given_up(debate: &Debate) -> Vec<Block<'_>> {
    let given_up = Ledger::given_up(debate);
    if given_up.is_empty() {
        return Vec::new();
    }
    let said = given_up.into_iter().map(|(by, one)| {
        let whose: Phrase<'_> = match &one.target {
            Some(target) if target == by => line![by, " gives up its own approach"],
            Some(target) => line![by, " gives up the approach of ", target],
            None => line![by, " gives up an approach"],
        };
        Block::said(whose, one.remark())
    });
    [Block::Heading(line!["Approaches to give up"])].into_iter().chain(said).collect()
}

/// All points of a ledger, a row each.
pub(crate) fn table(ledger: &Ledger) -> TableBlock<'_> {
    let has_checks = ledger.objections.iter().any(|one| one.found().is_some() || one.draft.is_some());
    let rows = ledger.objections.iter().map(|one| {
        let found = one.found().map_or(NONE, Found::name);
        let words = [one.answer_in_words(), one.recheck_in_words()].map(|words| line![words]);
        let check = has_checks.then(|| line![found]);
        let last =
            [one.ruling_in_words().unwrap_or(NONE), if one.is_open() { "yes" } else { "no" }].map(|words| line![words]);
        let first = [line![number(one)], line![one.point.severity], line![&one.critic_id], line![&one.target_id]];
        first.into_iter().chain(words).chain(check).chain(last).collect()
    });
    let columns = ["Point", "Severity", "Critic", "Target", "Answer", "Critic's last word"].map(TableHead::words);
    let check = has_checks.then(|| TableHead::words("Check"));
    let columns = columns.into_iter().chain(check).chain(["Ruling", "Open"].map(TableHead::words));
    TableBlock::new("points", "All points", columns, rows)
}

/// The points by text and draft, open and grave ones first.
pub(crate) fn by_text(ledger: &Ledger) -> Vec<Block<'_>> {
    let mut texts: Vec<(&AgentId, Option<u32>)> = Vec::new();
    for one in &ledger.objections {
        if !texts.contains(&(&one.target_id, one.draft)) {
            texts.push((&one.target_id, one.draft));
        }
    }
    let mut blocks = Vec::new();
    for (target, draft) in texts {
        let is_against = |one: &&Objection| one.target_id == *target && one.draft == draft;
        let against: Vec<&Objection> = ledger.in_order().into_iter().filter(is_against).collect();
        let counts = Tally::of(against.iter().copied());
        let how_many = format!(": {}, {} open", counted(counts.all as u64, "point"), counts.all_open());
        let what: Phrase<'_> = draft.map(|draft| line![figure(format!("draft {draft} of "))]).unwrap_or_default();
        blocks.push(Block::Heading([line!["Against "], what, line![target, figure(how_many)]].concat()));
        for one in against {
            let head = line![number(one), " · ", one.point.severity, " · ", state(one), " · ", &one.critic_id];
            let lens: Phrase<'_> = one.lens.as_ref().map(|lens| line![", ", foreign(lens)]).unwrap_or_default();
            blocks.push(Block::Indented([head, lens].concat(), point(one)));
        }
    }
    blocks
}

fn state(one: &Objection) -> &'static str {
    match one {
        one if one.is_open() => "open",
        one if one.is_verified() => "verified",
        one if one.is_claimed() => "claimed",
        _ => "settled",
    }
}

/// Whether the author, the critic or the judge states that a point was met.
pub(crate) fn is_met(one: &Objection) -> bool {
    let meets = |ruling: &Ruling| ruling.decision != Decision::Dismissed && !ruling.leaves_something();
    let by_judge = one.ruling().map(meets);
    let by_author = || matches!(one.response(), Some(Response::Accepted | Response::Partly)) || one.is_verified();
    !one.is_open() && by_judge.unwrap_or_else(by_author)
}

/// A point's whole history in order.
pub(crate) fn point(one: &Objection) -> Vec<Block<'_>> {
    let mut blocks = Vec::new();
    blocks.extend(one.point.about.as_ref().map(|about| Block::Paragraph(line!["About: ", foreign(about)])));
    blocks.push(Block::said(line!["Objection (", one.point.severity, ")"], &*one.point.text));
    let remedy = if is_met(one) { "Resolved by" } else { "Asks for" };
    blocks.extend(one.point.resolution.as_deref().map(|text| Block::said(line![remedy], text)));
    let is_ruling = |remark: &&Remark| matches!(remark.kind, RemarkKind::Ruled(_));
    let said = one.remarks.iter().filter(|remark| remark.kind != RemarkKind::Raised && !is_ruling(remark));
    blocks.extend(said.flat_map(|remark| happened(one, remark)));
    if one.is_final_word {
        // Its protocol allows no answers or rechecks.
    } else if one.response().is_none() && one.draft.is_some() {
        blocks.push(Block::Paragraph(line!["No text answers it."]));
    } else if one.response().is_none() {
        blocks.push(Block::Paragraph(line![&one.target_id, " did not answer it."]));
    } else if one.recheck().is_none() && one.found().is_none() && one.draft.is_none() {
        blocks.push(Block::Aside(vec![Block::Paragraph(line!["Never rechecked."])]));
    }
    blocks.extend(one.remarks.iter().filter(is_ruling).flat_map(|remark| happened(one, remark)));
    blocks
}

/// `Round 2, *agent-kiss*, accepted (Limits):` and the reason.
fn happened<'l>(one: &'l Objection, remark: &'l Remark) -> Vec<Block<'l>> {
    let when = match remark.at {
        RemarkTime::Round(round) => line![figure(format!("Round {round}"))],
        RemarkTime::Check(draft) => line![figure(format!("Check of draft {draft}"))],
        RemarkTime::Final => line!["Final text"],
        RemarkTime::Ruling => line!["The judge"],
    };
    let by: Phrase<'_> = remark.by.as_ref().map(|by| line![", ", by]).unwrap_or_default();
    let (what, remains) = match &remark.kind {
        RemarkKind::Ruled(ruling) if ruling.missing => {
            return vec![Block::Paragraph(line!["The judge was asked and did not rule on it."])];
        }
        RemarkKind::Ruled(ruling) => (ruling.in_words().to_owned(), ruling.remains.trim()),
        RemarkKind::Answered(Response::Partly) => ("accepted in part".to_owned(), ""),
        RemarkKind::Answered(_) if one.is_bare_acceptance() => ("accepted, no change named".to_owned(), ""),
        other => (other.to_string(), ""),
    };
    let section: Phrase<'_> = remark.section().map(|section| line![" (", marked(section), ")"]).unwrap_or_default();
    let line = [when, by, line![", ", figure(what)], section].concat();
    let remains = Some(remains).filter(|remains| !remains.is_empty());
    let remains = remains.map(|remains| Block::said(line!["What remains"], remains));
    [Block::Said(line, remark.reason().map(Into::into))].into_iter().chain(remains).collect()
}

/// The points that each text answered, and the size of its change; empty without any.
pub(crate) fn changes(ledger: &Ledger) -> Vec<Block<'_>> {
    if ledger.moves.is_empty() {
        return Vec::new();
    }
    let number_of = |id: &PointId| {
        let known = ledger.objections.iter().find(|one| one.id == *id);
        known.map_or_else(|| foreign(id.to_string()), number)
    };
    let points = |ids: &[PointId]| {
        let points = joined(ids.iter().map(|id| vec![number_of(id)]), ", ");
        if points.is_empty() { line![NONE] } else { points }
    };
    let rows = ledger.moves.iter().map(|Move { round, agent_id, accepted, partly, rejected, unanswered, change }| {
        let lines = |read: fn(Change) -> usize| line![change.map_or(UNKNOWN.into(), |change| figure(read(change)))];
        let answers = [accepted, partly, rejected, unanswered].map(|ids| points(ids));
        let changed = [lines(|change| change.added), lines(|change| change.removed)];
        [line![figure(round)], line![agent_id]].into_iter().chain(answers).chain(changed).collect()
    });
    let words = ["Agent", "Accepted", "Accepted in part", "Rejected", "Unanswered"].map(TableHead::words);
    let lines = ["Lines added", "Lines removed"].map(TableHead::figures);
    let columns = [TableHead::figures("Round")].into_iter().chain(words).chain(lines);
    let table = TableBlock::new("moves", "Which points each text answered, and how much of it is new", columns, rows);
    vec![Block::Heading(line!["Who moved, and why"]), Block::Table(table)]
}

/// A point's history in order: `r1 rejected → r2 maintained → ruled: not met`.
pub(crate) fn course(one: &Objection) -> String {
    let remarks = one.remarks.iter().filter(|remark| remark.kind != RemarkKind::Raised);
    let course: Vec<String> = remarks.map(Remark::to_string).collect();
    if !course.is_empty() {
        course.join(" → ")
    } else if one.is_final_word {
        RemarkKind::Raised.to_string()
    } else {
        "unanswered".to_owned()
    }
}

/// A point's number, as a piece of a line.
fn number<'a>(one: &Objection) -> Piece<'a> {
    Piece::Point(one.number())
}

pub(crate) fn title<'a>(one: &Objection) -> Block<'a> {
    Block::Heading(line![number(one)])
}
