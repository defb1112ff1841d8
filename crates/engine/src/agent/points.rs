//! Lists critics' points in prompts, and shows the draft with its points. Points keep their numbers and their words,
//! and are followed by their history.

use std::collections::BTreeMap;
use std::fmt::Write;

use dialectic_base::markdown::{single_spaced, truncate};
use dialectic_record::answer::{PartlyFulfilled, Solution};
use dialectic_record::debate::{Debate, Draft, Lens};
use dialectic_record::ids::{AgentId, ResultKind};
use dialectic_record::points::{
    Decision, Found, Ledger, Point, PointId, RaisedPoint, Remark, RemarkKind, Response, Ruling, Statement,
};
use dialectic_record::prompt::{CheckedDraft, PointList};
use dialectic_record::protocol::{Authorship, Delivery, OutputSpec, PromptContext, Step};
use dialectic_record::settings::Settings;

/// The maximum number of characters in a list, so that the cost of a call does not grow with the debate.
const LIST: usize = 24_000;
/// The maximum length, in characters, of a point that is listed with its ruling on the draft.
const BRIEF: usize = 160;

pub(super) fn listed(debate: &Debate, step: &Step) -> PointList {
    let key = &step.key;
    let yields = debate.stage(key.stage).and_then(|stage| stage.yields);
    let listed = match (&step.answer, &key.target_agent_id, yields) {
        (OutputSpec::Challenge, ..) => {
            let ledger = Ledger::of(debate);
            let mut points = ledger.to_decide();
            points.retain(|one| one.response().is_none());
            list(&points, told)
        }
        (OutputSpec::Solution(_), ..) => {
            let ledger = Ledger::of(debate);
            let points = ledger.to_rule(debate);
            let is_answered = matches!(step.answer, OutputSpec::Solution(Authorship::Judge));
            if let Some(draft) = debate.newest_draft().filter(|_| is_answered && step.shows == PromptContext::Draft) {
                return ruled(debate, &ledger, &draft);
            }
            list(&points, to_judge)
        }
        (OutputSpec::FollowUp, ..) => {
            let ledger = Ledger::of(debate);
            list(&ledger.objections.iter().collect::<Vec<_>>(), |one| with_names(debate, one))
        }
        (OutputSpec::Text, Some(target), Some(ResultKind::Critique)) => {
            let ledger = Ledger::seen_by(debate, target, key.round, &step.inputs);
            list(&ledger.to_recheck(&key.agent_id, target), told)
        }
        (OutputSpec::Text, None, Some(ResultKind::Proposal)) => {
            let ledger = Ledger::seen_by(debate, &key.agent_id, key.round, &step.inputs);
            list(&ledger.to_answer(&key.agent_id), told)
        }
        (
            OutputSpec::Text
            | OutputSpec::Questions { .. }
            | OutputSpec::Summary
            | OutputSpec::Score(_)
            | OutputSpec::Choice
            | OutputSpec::Word(_)
            | OutputSpec::Judgement
            | OutputSpec::Check(_)
            | OutputSpec::Amendment
            | OutputSpec::Relations
            | OutputSpec::Kinds
            | OutputSpec::FindingRulings
            | OutputSpec::Scores(_)
            | OutputSpec::Json(_),
            ..,
        ) => return PointList::default(),
    };
    if listed.points.is_empty() { PointList::default() } else { listed }
}

/// The undecided points, and those with a ruling on the draft. Omits the points that the final text answers.
fn ruled(debate: &Debate, ledger: &Ledger, draft: &Draft<'_>) -> PointList {
    let answered = answered_at_the_end(ledger, draft);
    let rulings = debate.draft.iter().flat_map(|draft| &draft.rulings);
    let standing: BTreeMap<_, _> = rulings.map(|ruling| (&ruling.point, ruling)).collect();
    let is_meant = |one: &&Point| {
        (one.is_undecided() || standing.contains_key(&one.id)) && !answered.iter().any(|other| other.id == one.id)
    };
    let mut points: Vec<&Point> = ledger.objections.iter().filter(is_meant).collect();
    let number = debate.text_numbers();
    points.sort_by_key(|one| (one.draft, number(&one.target_id), one.point.severity));
    let shown = list(&points, |one| with_ruling(one, standing.get(&one.id).copied()));
    // Points that do not fit into the list still keep their rulings.
    let points: Vec<Point> = points.into_iter().cloned().collect();
    if points.is_empty() { PointList::default() } else { PointList { points, ..shown } }
}

/// Lists points in the given order. If not all fit, keeps the most severe ones, and among equally severe ones the
/// newest.
fn list(points: &[&Point], entry: impl Fn(&Point) -> String) -> PointList {
    let mut by_weight: Vec<usize> = (0..points.len()).collect();
    by_weight.sort_by_key(|place| (points[*place].point.severity, std::cmp::Reverse(points[*place].round)));
    let (mut room, mut kept) = (LIST, Vec::new());
    for place in by_weight {
        let entry = entry(points[place]);
        let Some(left) = room.checked_sub(entry.chars().count()) else { break };
        room = left;
        kept.push((place, entry));
    }
    kept.sort_unstable_by_key(|(place, _)| *place);
    let left_out = points.len() - kept.len();
    let entries = kept.iter().map(|(_, entry)| entry.clone());
    let more = (left_out > 0).then(|| format!("And {left_out} more, which are older or weigh less."));
    let text = entries.chain(more).collect::<Vec<_>>().join("\n");
    let room = if left_out > 0 { room } else { 0 };
    PointList { text, points: kept.iter().map(|(place, _)| points[*place].clone()).collect(), room }
}

fn told(one: &Point) -> String {
    let mut entry = format!("{} [{}] {}", one.number(), one.point.severity.name(), in_full(one));
    for remark in &one.remarks {
        let Some(said) = said(remark) else { continue };
        // Writing to a string cannot fail.
        let _ = write!(entry, "\n   {said}");
    }
    entry
}

/// The points that the final text answers: those that the check raised, and accepted ones that the check did not find
/// in the draft.
pub(super) fn answered_at_the_end(ledger: &Ledger, draft: &Draft<'_>) -> Vec<Point> {
    let readings = draft.checks.iter().filter_map(|one| one.reading.as_ref());
    let found: Vec<_> = readings.flat_map(|reading| &reading.verifications).collect();
    let is_missing = |one: &Point| found.iter().any(|found| found.verdict == Found::NotFound && found.point == one.id);
    let is_answered = |one: &&Point| one.draft == Some(draft.number.into()) || is_missing(one);
    ledger.objections.iter().filter(is_answered).cloned().collect()
}

fn with_ruling(one: &Point, ruling: Option<&Ruling>) -> String {
    let words = single_spaced(&one.point.in_words());
    let shown = truncate(&words, BRIEF);
    let more = if shown.len() < words.len() { "…" } else { "" };
    let mut entry = format!("{} [{}] {}{more}", one.number(), one.point.severity.name(), shown.trim_end());
    // Writing to a string cannot fail.
    let _ = write!(entry, "\n   {}", ruling.map_or("not ruled", Ruling::in_words));
    if let Some(ruling) = ruling {
        if !ruling.section.trim().is_empty() {
            let _ = write!(entry, " ({})", single_spaced(ruling.section.trim()));
        }
        for (what, said) in [("remains", &ruling.remains), ("reason", &ruling.reason)] {
            // The draft itself shows why a point is met.
            if !said.is_empty() && (what == "remains" || ruling.decision != Decision::Met) {
                let _ = write!(entry, "; {what}: {}", single_spaced(said));
            }
        }
    }
    entry
}

fn to_judge(one: &Point) -> String {
    let mut entry = told(one);
    if one.is_unanswerable {
        return entry;
    }
    if one.response().is_none() {
        entry.push_str("\n   not answered");
    } else if one.recheck().is_none() && one.found().is_none() {
        entry.push_str("\n   not rechecked");
    }
    if one.is_of_earlier_text {
        entry.push_str("\n   of an earlier version: the text has changed since its critic saw it");
    }
    entry
}

fn with_names(debate: &Debate, one: &Point) -> String {
    let name = |id: &AgentId| {
        let everybody = debate.settings.iter().flat_map(Settings::everybody);
        let known = everybody.into_iter().find(|agent| agent.id == *id);
        known.map_or_else(|| id.to_string(), |agent| agent.name.clone())
    };
    let mut entry = format!(
        "{} [{}] {}, about the text of {}: {}\n   {}",
        one.number(),
        one.point.severity.name(),
        name(&one.critic_id),
        name(&one.target_id),
        in_full(one),
        one.story_in_words()
    );
    if let Some(ruling) = one.ruling() {
        for (what, said) in [("where", ruling.section.trim()), ("remains", &ruling.remains), ("reason", &ruling.reason)]
        {
            if !said.is_empty() {
                let _ = write!(entry, "\n   {what}: {}", single_spaced(said));
            }
        }
    }
    entry
}

/// Continuation lines are indented, since numbers at the beginning of a line belong to points.
fn in_full(one: &Point) -> String {
    one.point.in_full().replace('\n', "\n   ")
}

/// Describes a remark on a point; `None` for kinds that prompts show separately.
fn said(remark: &Remark) -> Option<String> {
    let what = match &remark.kind {
        RemarkKind::Raised | RemarkKind::Ruled(_) => return None,
        RemarkKind::Answered(response) => format!("author: {}", response.name()),
        RemarkKind::Rechecked(standing) => format!("critic: {}", standing.name()),
        RemarkKind::Unchanged => "critic: verified, but the text had not changed".to_owned(),
        RemarkKind::Checked(found) => format!("check: {}", found.name()),
        RemarkKind::Opinion(stance) => format!("reader: {}", stance.name()),
    };
    Some(format!("{} {what}{}", remark.at, section_and_reason(remark)))
}

fn section_and_reason(remark: &Remark) -> String {
    let section = remark.section().map(|section| format!(" ({})", single_spaced(section))).unwrap_or_default();
    let reason = remark.reason().map(|reason| format!(": {}", single_spaced(reason))).unwrap_or_default();
    section + &reason
}

pub(super) fn checked_draft(debate: &Debate, step: &Step) -> Option<CheckedDraft> {
    let draft = debate.newest_draft()?;
    let text = draft.text.without_answers().into_owned();
    let assessment = debate.draft.as_ref().map(assessment).unwrap_or_default();
    let shown = CheckedDraft { text, assessment, ..CheckedDraft::default() };
    if let OutputSpec::Check(lens) = step.answer {
        let accepted = if lens == Lens::Requirements { accepted(debate) } else { PointList::default() };
        return Some(CheckedDraft { lens: lens.name(), accepted, ..shown });
    }
    if !matches!(step.answer, OutputSpec::Amendment | OutputSpec::Solution(_)) {
        return Some(shown);
    }
    let ledger = Ledger::of(debate);
    let may_rethink = step.delivery == Delivery::DraftIfRethought;
    Some(CheckedDraft { points: points(&ledger, &draft), accepted: not_found(&ledger, &draft), may_rethink, ..shown })
}

fn assessment(draft: &Solution) -> String {
    let partly = draft.partly_fulfilled.iter().map(|one| {
        let PartlyFulfilled { requirement, holds, fails } = one;
        format!("{requirement} | holds: {holds} | fails: {fails}")
    });
    let lists = [
        ("Major requirements not fulfilled", draft.unfulfilled_major_requirements.clone()),
        ("Major requirements fulfilled in part", partly.collect()),
        ("Open questions", draft.open_questions.clone()),
        ("Recommendations", draft.recommendations.clone()),
        ("Trade-offs", draft.tradeoffs.clone()),
    ];
    let lists = lists.into_iter().filter(|(_, items)| !items.is_empty());
    let list = |(title, items): (&str, Vec<String>)| {
        let items: Vec<String> = items.iter().map(|item| format!("- {}", single_spaced(item))).collect();
        format!("{title}:\n{}", items.join("\n"))
    };
    lists.map(list).collect::<Vec<_>>().join("\n\n")
}

fn accepted(debate: &Debate) -> PointList {
    let ledger = Ledger::of(debate);
    list(&ledger.to_verify(debate), |one| {
        let said = one.answer().map(section_and_reason).unwrap_or_default();
        let response = one.response().map_or("unanswered", Response::name);
        format!("- {} {} - {response}{said}", one.number(), whole(&one.point))
    })
}

fn points(ledger: &Ledger, draft: &Draft<'_>) -> String {
    let of_draft = ledger.objections.iter().filter(|one| one.draft == Some(draft.number.into()));
    let lens = |one: &Point| one.lens.clone().unwrap_or_default();
    let line = |one: &Point| format!("- {} ({}) {}", one.number(), lens(one), whole(&one.point));
    of_draft.map(line).collect::<Vec<_>>().join("\n")
}

fn not_found(ledger: &Ledger, draft: &Draft<'_>) -> PointList {
    let readings = draft.checks.iter().filter_map(|one| one.reading.as_ref());
    let missing = readings.flat_map(|reading| &reading.verifications).filter(|one| one.verdict == Found::NotFound);
    let missing: BTreeMap<&PointId, &Statement<Found>> = missing.map(|one| (&one.point, one)).collect();
    let points: Vec<_> = ledger.objections.iter().filter(|one| missing.contains_key(&one.id)).collect();
    list(&points, |one| {
        let reason = missing.get(&one.id).and_then(|missing| missing.reason.as_deref());
        let reason = reason.map(|reason| format!(": {}", single_spaced(reason))).unwrap_or_default();
        format!("- {} {} - not found{reason}", one.number(), whole(&one.point))
    })
}

fn whole(point: &RaisedPoint) -> String {
    format!("[{}] {}", point.severity.name(), single_spaced(&point.in_full()))
}
