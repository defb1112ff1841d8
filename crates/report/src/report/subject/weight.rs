//! Ranks points by weight, and summarizes their outcomes.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::HashMap;

use dialectic_record::debate::{AgentId, Ledger, Objection, RecheckStanding, Response};

use super::course;

/// How disputed a point was; 0 if its author accepted it at once.
pub(crate) fn heat(one: &Objection) -> u8 {
    let critics = if one.recheck() == Some(RecheckStanding::Maintained) { 3 } else { 0 };
    let judge = u8::from(one.ruling().is_some_and(|ruling| !ruling.missing)) * 2;
    let author = match one.response() {
        Some(Response::Rejected) => 2,
        Some(Response::Partly) => 1,
        Some(Response::Accepted) | None => 0,
    };
    critics + judge + author
}

/// Points in order; merges a critic's points against several texts with the same outcome.
pub(crate) fn alike<'l>(points: &[&'l Objection]) -> Vec<Vec<&'l Objection>> {
    let mut groups: Vec<Vec<&Objection>> = Vec::new();
    let mut known: HashMap<(&AgentId, Cow<'_, str>, String), usize> = HashMap::new();
    for one in points {
        let place = *known.entry((&one.critic_id, one.point.in_words(), course(one))).or_insert(groups.len());
        match groups.get_mut(place) {
            Some(group) => group.push(one),
            None => groups.push(vec![one]),
        }
    }
    groups
}

/// All points, merged and sorted by weight: points withdrawn by their critics last, then by severity, open ones
/// first, then by how disputed they were.
pub(crate) fn weightiest(ledger: &Ledger) -> Vec<Vec<&Objection>> {
    let mut points: Vec<&Objection> = ledger.objections.iter().collect();
    points.sort_by_key(|one| {
        let is_taken_back = one.recheck() == Some(RecheckStanding::Withdrawn);
        (is_taken_back, one.point.severity, !one.is_open(), Reverse(heat(one)))
    });
    alike(&points)
}

/// A point's outcome: `rejected, maintained by its critic; the judge: not met; it is open`.
pub(crate) fn fate(one: &Objection) -> String {
    let open = if one.is_open() { "; it is open" } else { "" };
    let critic = one.recheck().map(|critic| match critic {
        RecheckStanding::Maintained => "maintained by its critic",
        RecheckStanding::Withdrawn => "withdrawn by its critic",
        RecheckStanding::Verified => "verified by its critic",
    });
    let check = one.found().map(|found| format!("in the check {}", found.name()));
    let answer = match one.response() {
        None if one.is_final_word => "left to the judge",
        None => "left unanswered",
        Some(_) => one.answer_in_words(),
    };
    let parts: Vec<String> =
        [Some(answer.to_owned()), critic.map(str::to_owned), check].into_iter().flatten().collect();
    if let Some(ruling) = one.ruling().filter(|ruling| !ruling.missing && parts.len() == 1 && one.is_final_word) {
        return format!("ruled {} by the judge{open}", ruling.in_words());
    }
    let ruling = match one.ruling() {
        Some(ruling) if ruling.missing => "; the judge did not rule on it".to_owned(),
        Some(ruling) => format!("; the judge: {}", ruling.in_words()),
        None => String::new(),
    };
    format!("{}{ruling}{open}", parts.join(", "))
}
