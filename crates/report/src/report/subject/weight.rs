//! Ranks points by weight, and says what became of them.

use std::cmp::Reverse;
use std::collections::HashMap;

use dialectic_record::debate::{Decision, Ledger, Point, PointStatus, RecheckStanding, Remark, Response, Ruling};

use crate::report::block::{Phrase, foreign, line};

/// How disputed a point was; 0 if its author accepted it at once.
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

/// Points in order; merges a critic's points against several texts with the same words and outcome.
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

/// The open points, merged, the most severe and most disputed first.
pub(crate) fn strongest_open(ledger: &Ledger) -> Vec<Vec<&Point>> {
    strongest(ledger, |status| status == PointStatus::Open)
}

/// The points that changed the answer, merged, the most severe and most disputed first.
pub(crate) fn strongest_followed(ledger: &Ledger) -> Vec<Vec<&Point>> {
    strongest(ledger, |status| matches!(status, PointStatus::Fixed | PointStatus::Claimed))
}

fn strongest(ledger: &Ledger, is_meant: impl Fn(PointStatus) -> bool) -> Vec<Vec<&Point>> {
    let mut points: Vec<&Point> = ledger.objections.iter().filter(|one| is_meant(one.status())).collect();
    points.sort_by_key(|one| (one.point.severity, Reverse(heat(one))));
    alike(&points)
}

/// What a point changed: the section of the text and the change, as far as they are stated.
pub(crate) fn change(one: &Point) -> (Option<&str>, Option<&str>) {
    let by_author = one.answer().filter(|_| one.response() != Some(Response::Rejected));
    match (by_author, one.ruling().filter(|ruling| !ruling.missing)) {
        (Some(answer), _) => (answer.section(), answer.reason()),
        (None, Some(ruling)) => (named(&ruling.section), named(&ruling.reason)),
        (None, None) => (None, None),
    }
}

/// Why a point has its status: the reason of the one who rejected it, or what remains of an open one.
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
