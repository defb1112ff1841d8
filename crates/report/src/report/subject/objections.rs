//! The objections, the changes that they caused, and the check of the answer.

use std::cmp::Reverse;
use std::collections::HashMap;

use dialectic_base::figures::{UNKNOWN, counted, list};
use dialectic_record::debate::{Contribution, Debate, Lens};
use dialectic_record::ids::ResultKind;
use dialectic_record::points::{
    Change, Decision, Found, Ledger, Move, Point, PointId, PointStatus, RecheckStanding, Remark, RemarkKind,
    RemarkTime, Response, Ruling, Severity, Tally,
};

use crate::report::block::{
    Block, ListItem, Phrase, Piece, TableBlock, TableHead, figure, foreign, joined, line, marked,
};
use crate::report::stages::capitalized;

const NONE: &str = "-";

pub(crate) fn counts<'s>(debate: &'s Debate, ledger: &'s Ledger) -> Vec<Block<'s>> {
    let mut blocks = vec![Block::Paragraph(line![figure(Tally::of(&ledger.objections).sentences())])];
    if ledger.is_derived {
        let note = "This debate's record has no points or answers. Those shown here were derived from its texts \
                    as far as possible, and are not saved.";
        blocks.push(Block::Paragraph(line![note]));
        return blocks;
    }
    let unread = unread(debate);
    if !unread.is_empty() {
        blocks.extend([Block::Paragraph(line!["Not read, and not counted above:"]), Block::List(unread)]);
    }
    blocks
}

fn unread(debate: &Debate) -> Vec<ListItem<'_>> {
    let all = debate.contributions().map(|(round, one)| (format!(", round {round}"), one));
    let in_rounds =
        all.filter(|(_, one)| debate.yield_of(one) == Some(ResultKind::Critique) || one.unread_points() > 0);
    let checks = debate.checks.iter().filter_map(|one| Some((format!(", {}", one.metadata.lens?.subject()), one)));
    let unread = in_rounds.chain(checks).filter_map(|(place, one)| {
        let what = match one.unread_points() {
            0 if one.is_unread() => format!("the {}", debate.words(one.stage).noun),
            0 => return None,
            more => counted(more as u64, "more point"),
        };
        let target: Phrase<'_> = one.target_agent_id.as_ref().map(|target| line![" on ", target]).unwrap_or_default();
        Some(ListItem::of([line![figure(format!("{what} by ")), &one.agent_id], target, line![figure(place)]].concat()))
    });
    unread.collect()
}

/// Reviewers' remarks that reject whole approaches, if any.
pub(crate) fn given_up(debate: &Debate) -> Vec<Block<'_>> {
    let given_up = Ledger::given_up(debate);
    if given_up.is_empty() {
        return Vec::new();
    }
    let said = given_up.into_iter().map(|(by, one)| {
        let whose: Phrase<'_> = match &one.target {
            Some(target) if target == by => line![by, " gives up its own approach"],
            Some(target) => line![by, " advises giving up the approach of ", target],
            None => line![by, " advises giving up an approach"],
        };
        Block::said(whose, one.remark())
    });
    [Block::Heading(line!["Approaches to give up"])].into_iter().chain(said).collect()
}

/// All points, with open ones first.
pub(crate) fn table(ledger: &Ledger) -> TableBlock<'_> {
    let rows = ledger.in_order().into_iter().map(|one| {
        let severity = line![one.point.severity.name()];
        vec![line![number(one)], severity, status_line(one), line![&one.critic_id], line![&one.target_id]]
    });
    let columns = ["Point", "Severity", "Status", "Raised by", "Against"].map(TableHead::words);
    TableBlock::new("points", "All points", columns, rows)
}

pub(crate) fn by_status<'l>(points: &[&'l Point]) -> Vec<Block<'l>> {
    let mut blocks = Vec::new();
    for status in PointStatus::ALL {
        let of_status: Vec<&Point> = points.iter().copied().filter(|one| one.status() == status).collect();
        if of_status.is_empty() {
            continue;
        }
        blocks
            .push(Block::Heading(line![figure(capitalized(status.name())), figure(format!(" ({})", of_status.len()))]));
        blocks.extend(of_status.into_iter().map(|one| Block::Indented(head(one), in_brief(one))));
    }
    blocks
}

/// A point's number, severity and parties: `2.1 · major · *agent-kiss* on *agent-architect*`.
pub(crate) fn head(one: &Point) -> Phrase<'_> {
    let lens: Phrase<'_> = one.lens.as_ref().map(|lens| line![", ", foreign(lens)]).unwrap_or_default();
    let parties = line![" · ", &one.critic_id, " on ", &one.target_id];
    [line![number(one), " · "], severity(one), parties, lens].concat()
}

fn severity<'a>(one: &Point) -> Phrase<'a> {
    if one.status() == PointStatus::Open { line![one.point.severity] } else { line![one.point.severity.name()] }
}

fn in_brief(one: &Point) -> Vec<Block<'_>> {
    let asked = one.point.resolution.as_deref().filter(|_| one.status() == PointStatus::Open);
    let asked = asked.map(|text| Block::said(line!["Asks for"], text));
    let why = match one.status() {
        PointStatus::Open => grounds(one).map(|text| Block::said(why_open(one), text)),
        PointStatus::Claimed | PointStatus::Fixed | PointStatus::Rejected => {
            Some(Block::Said(capitalized_line(status_line(one)), grounds(one).map(Into::into)))
        }
    };
    [Block::Text(one.point.in_words())].into_iter().chain(asked).chain(why).collect()
}

/// Introduces the [`grounds`] of an open point: `What remains`, `The judge, not met` or `agent-kiss, rejected`.
pub(crate) fn why_open(one: &Point) -> Phrase<'_> {
    match one.ruling().filter(|ruling| !ruling.missing) {
        Some(ruling) if !ruling.remains.trim().is_empty() => line!["What remains"],
        Some(ruling) => line!["The judge, ", ruling.in_words()],
        None => line![&one.target_id, ", ", one.answer_in_words()],
    }
}

fn capitalized_line(mut line: Phrase<'_>) -> Phrase<'_> {
    if let Some(Piece::Words(first)) = line.first_mut() {
        *first = capitalized(first).into();
    }
    line
}

pub(crate) fn point(one: &Point) -> Vec<Block<'_>> {
    let mut blocks = Vec::new();
    blocks.extend(one.point.about.as_ref().map(|about| Block::Paragraph(line!["About: ", foreign(about)])));
    blocks.push(Block::said([line!["Objection ("], severity(one), line![")"]].concat(), &*one.point.text));
    let remedy = if one.status() == PointStatus::Fixed { "Resolved by" } else { "Asks for" };
    blocks.extend(one.point.resolution.as_deref().map(|text| Block::said(line![remedy], text)));
    let is_ruling = |remark: &&Remark| matches!(remark.kind, RemarkKind::Ruled(_));
    let said = one.remarks.iter().filter(|remark| remark.kind != RemarkKind::Raised && !is_ruling(remark));
    blocks.extend(said.flat_map(happened));
    if one.is_unanswerable {
        // The protocol allows no answers or rechecks.
    } else if one.response().is_none() && one.draft.is_some() {
        blocks.push(Block::Paragraph(line!["No text answers this point."]));
    } else if one.response().is_none() {
        blocks.push(Block::Paragraph(line![&one.target_id, " did not answer this point."]));
    } else if one.recheck().is_none() && one.found().is_none() && one.draft.is_none() {
        blocks.push(Block::Aside(vec![Block::Paragraph(line!["Never rechecked."])]));
    }
    blocks.extend(one.remarks.iter().filter(is_ruling).flat_map(happened));
    blocks
}

/// A remark and its reason, under a line such as `Round 2, *agent-kiss*, accepted (Limits):`.
fn happened(remark: &Remark) -> Vec<Block<'_>> {
    let when = match remark.at {
        RemarkTime::Round(round) => line![figure(format!("Round {round}"))],
        RemarkTime::Check(draft) => line![figure(format!("Check of draft {draft}"))],
        RemarkTime::Final => line!["Final text"],
        RemarkTime::Ruling => line!["The judge"],
    };
    let by: Phrase<'_> = remark.by.as_ref().map(|by| line![", ", by]).unwrap_or_default();
    let (what, remains) = match &remark.kind {
        RemarkKind::Ruled(ruling) if ruling.missing => {
            return vec![Block::Paragraph(line!["The judge was asked to rule on this point, but did not."])];
        }
        RemarkKind::Ruled(ruling) => (ruling.in_words().to_owned(), ruling.remains.trim()),
        RemarkKind::Answered(Response::Partly) => ("accepted in part".to_owned(), ""),
        RemarkKind::Answered(_) if remark.is_bare_acceptance() => ("accepted without naming a change".to_owned(), ""),
        other => (other.to_string(), ""),
    };
    let section: Phrase<'_> = remark.section().map(|section| line![" (", marked(section), ")"]).unwrap_or_default();
    let line = [when, by, line![", ", figure(what)], section].concat();
    let remains = Some(remains).filter(|remains| !remains.is_empty());
    let remains = remains.map(|remains| Block::said(line!["What remains"], remains));
    [Block::Said(line, remark.reason().map(Into::into))].into_iter().chain(remains).collect()
}

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
    vec![Block::Heading(line!["Answers and changes"]), Block::Table(table)]
}

fn number<'a>(one: &Point) -> Piece<'a> {
    Piece::Point(one.number())
}

pub(crate) fn title(one: &Point) -> Block<'_> {
    Block::Heading([head(one), line![": "], status_line(one)].concat())
}

const NOT_CHECKED: &str = "not checked";

/// Whether nobody checked an answer that could have been checked.
pub(super) fn is_unchecked(debate: &Debate) -> bool {
    status(debate).is_some_and(|status| status == NOT_CHECKED)
}

/// The state of the check, such as `checked in 3 areas, 5 points: 1 open, 4 claimed`; `None` if there is no answer
/// that could be checked.
pub(crate) fn status(debate: &Debate) -> Option<String> {
    let may_be_checked = debate.stages.iter().any(|stage| stage.yields == Some(ResultKind::Check));
    if !may_be_checked || (debate.draft.is_none() && debate.final_solution.is_none()) {
        return None;
    }
    let draft = debate.newest_draft();
    let lenses =
        draft.as_ref().map_or(0, |draft| Lens::ALL.iter().filter(|lens| draft.read_through(**lens).is_some()).count());
    let Some(draft) = draft.filter(|_| lenses > 0) else { return Some(NOT_CHECKED.to_owned()) };
    let ledger = Ledger::of(debate);
    let tally = Tally::of(ledger.objections.iter().filter(|one| one.draft == Some(draft.number.into())));
    let points = if tally.all() == 0 { "no points".to_owned() } else { counted(tally.all() as u64, "point") };
    let statuses = Some(tally.statuses()).filter(|statuses| !statuses.is_empty());
    let statuses = statuses.map(|statuses| format!(": {statuses}")).unwrap_or_default();
    let said = [format!("checked in {lenses} {}", if lenses == 1 { "area" } else { "areas" }), points + &statuses];
    let unread: Vec<String> = debate.unread_lenses().iter().map(|lens| lens.subject().to_owned()).collect();
    let unread = (!unread.is_empty()).then(|| format!("not checked for {}", list(&unread)));
    Some(said.into_iter().chain(unread).collect::<Vec<_>>().join(", "))
}

pub(crate) fn check(debate: &Debate) -> Vec<Block<'_>> {
    if debate.checks.is_empty() {
        return Vec::new();
    }
    let mut blocks = Vec::new();
    blocks.extend(status(debate).map(|status| Block::Paragraph(line!["The answer: ", figure(status), "."])));
    let mut rows = Vec::new();
    let (mut draft, mut before) = (0, None);
    for one in &debate.checks {
        match one.metadata.lens {
            Some(lens) => rows.push(vec![line![figure(draft)], line![lens.name()], line![&one.agent_id], found(one)]),
            None if before.is_none() || one.metadata.rethought => {
                (draft, before) = (draft + 1, Some(one));
            }
            None => {}
        }
    }
    let missing = debate.unread_lenses().into_iter().filter(|lens| {
        debate.newest_draft().is_some_and(|draft| draft.checks.iter().all(|one| one.metadata.lens != Some(*lens)))
    });
    rows.extend(missing.map(|lens| vec![line![figure(draft)], line![lens.name()], line!["-"], line!["not checked"]]));
    let columns =
        [TableHead::figures("Draft"), TableHead::words("Area"), TableHead::words("Read by"), TableHead::words("Found")];
    let table = TableBlock::new("small", "Objections to the draft", columns, rows);
    if !table.rows.is_empty() {
        blocks.push(Block::Table(table));
    }
    blocks.extend(unverified(debate));
    blocks
}

/// Says what a checker found: `2 points: 1 blocking, 1 minor; accepted points: 3 verified, 1 not found`.
fn found(one: &Contribution) -> Phrase<'_> {
    let reading = one.reading.as_deref();
    let Some(points) = reading.and_then(|reading| reading.points.as_ref()) else { return line!["could not be read"] };
    let grades =
        Severity::ALL.map(|grade| (points.iter().filter(|point| point.severity == grade).count(), grade.name()));
    let some = |counts: &[(usize, &str)]| {
        let counts = counts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}"));
        counts.collect::<Vec<_>>().join(", ")
    };
    let mut said = if points.is_empty() {
        "no points".to_owned()
    } else {
        format!("{}: {}", counted(points.len() as u64, "point"), some(&grades))
    };
    let verifications = reading.map(|reading| reading.verifications.as_slice()).unwrap_or_default();
    let kinds = [Found::Verified, Found::NotFound, Found::Moot];
    let kinds = kinds.map(|kind| (verifications.iter().filter(|one| one.verdict == kind).count(), kind.name()));
    if !verifications.is_empty() {
        said = format!("{said}; accepted points: {}", some(&kinds));
    }
    line![figure(said)]
}

fn unverified(debate: &Debate) -> Option<Block<'_>> {
    let unverified = &debate.final_solution.as_ref()?.unverified;
    let items: Vec<ListItem<'_>> = unverified.iter().map(|one| ListItem::of(line![foreign(one)])).collect();
    (!items.is_empty()).then(|| Block::Warning(vec![Block::List(items)]))
}

/// How disputed a point was. 0 if the criticized author accepted or did not answer it, its critic did not maintain it,
/// and the judge did not rule on it.
pub(crate) fn heat(one: &Point) -> u8 {
    let critics = if one.recheck() == Some(RecheckStanding::Maintained) { 3 } else { 0 };
    let judge = u8::from(one.ruling().is_some_and(|ruling| !ruling.missing)) * 2;
    let author = match one.response() {
        Some(Response::Rejected) => 2,
        Some(Response::Partly) => 1,
        Some(Response::Accepted) | None => 0,
    };
    critics + judge + author
}

/// Groups points, keeping their order. A critic's points with the same words and outcome form one group.
pub(crate) fn alike<'l>(points: &[&'l Point]) -> Vec<Vec<&'l Point>> {
    let mut groups: Vec<Vec<&Point>> = Vec::new();
    let mut known = HashMap::new();
    for one in points {
        let key = (&one.critic_id, one.point.in_words(), one.status(), grounds(one));
        let place = *known.entry(key).or_insert(groups.len());
        match groups.get_mut(place) {
            Some(group) => group.push(one),
            None => groups.push(vec![one]),
        }
    }
    groups
}

/// The open points, most severe and most disputed first. Merges points like [`alike`].
pub(crate) fn strongest_open<'l>(debate: &Debate, ledger: &'l Ledger) -> Vec<Vec<&'l Point>> {
    strongest(debate.open_points(ledger))
}

/// The points that changed the answer, most severe and most disputed first. Merges points like [`alike`].
pub(crate) fn strongest_followed<'l>(debate: &Debate, ledger: &'l Ledger) -> Vec<Vec<&'l Point>> {
    let followed =
        |one: &&Point| matches!(one.status(), PointStatus::Fixed | PointStatus::Claimed) && debate.is_about_answer(one);
    strongest(ledger.objections.iter().filter(followed).collect())
}

fn strongest(mut points: Vec<&Point>) -> Vec<Vec<&Point>> {
    points.sort_by_key(|one| (one.point.severity, Reverse(heat(one))));
    alike(&points)
}

/// What a point changed: the section of the text, and the change. Each is `None` if it was not stated.
pub(crate) fn change(one: &Point) -> (Option<&str>, Option<&str>) {
    let by_author = one.answer().filter(|_| one.response() != Some(Response::Rejected));
    match (by_author, one.ruling().filter(|ruling| !ruling.missing)) {
        (Some(answer), _) => (answer.section(), answer.reason()),
        (None, Some(ruling)) => (named(&ruling.section), named(&ruling.reason)),
        (None, None) => (None, None),
    }
}

/// Why a point has its status: what remains if it is open, the reason if it was rejected, otherwise the change.
pub(crate) fn grounds(one: &Point) -> Option<&str> {
    let ruling = one.ruling().filter(|ruling| !ruling.missing);
    match (one.status(), ruling) {
        (PointStatus::Open, Some(ruling)) => named(&ruling.remains).or_else(|| named(&ruling.reason)),
        (PointStatus::Rejected, Some(Ruling { decision: Decision::Dismissed, reason, .. })) => named(reason),
        (PointStatus::Open, None) | (PointStatus::Rejected, _) => one.answer().and_then(Remark::reason),
        (PointStatus::Fixed | PointStatus::Claimed, _) => change(one).1,
    }
}

/// A point's status, and who rejected it: `open`, `rejected by System Architect`.
pub(crate) fn status_line(one: &Point) -> Phrase<'_> {
    let status = one.status();
    let is_dismissed = one.ruling().is_some_and(|ruling| ruling.decision == Decision::Dismissed);
    match status {
        PointStatus::Rejected if is_dismissed => line!["rejected by the judge"],
        PointStatus::Rejected if one.response() == Some(Response::Rejected) => line!["rejected by ", &one.target_id],
        PointStatus::Rejected => line!["rejected: ", &one.critic_id, " withdrew it"],
        PointStatus::Fixed => match change(one).0 {
            Some(section) => line!["fixed (", foreign(section), ")"],
            None => line!["fixed"],
        },
        PointStatus::Open | PointStatus::Claimed => line![status.name()],
    }
}

fn named(text: &str) -> Option<&str> {
    Some(text.trim()).filter(|text| !text.is_empty())
}
