//! Counts of points by their status, and of what was said of them in a round.

use std::fmt::{self, Write as _};

use serde::Serialize;

use crate::debate::Severity;
use dialectic_base::figures::counted;

use super::{Ledger, Move, Point, PointStatus, RecheckStanding, RemarkTime, Response};

/// Counts of points: of some points ([`Tally::of`]), or of those of a debate at the end of a round ([`Ledger::tally`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Tally {
    /// The points by status, in the order of [`PointStatus::ALL`].
    #[serde(skip)]
    pub by_status: [usize; 4],
    /// The open points by severity: blocking, major, minor.
    #[serde(skip)]
    pub open: [usize; 3],
    pub accepted: usize,
    /// Points accepted in part.
    pub partly: usize,
    pub rejected: usize,
    /// The points that the author ignored.
    pub unanswered: usize,
    /// The points without a later text in this round.
    pub waiting: usize,
    /// The points that the protocol does not answer.
    #[serde(skip_serializing_if = "dialectic_base::call::is_default")]
    pub final_words: usize,
    /// Earlier points that a critic withdrew.
    pub withdrawn: usize,
    /// Earlier points that a critic maintained.
    pub maintained: usize,
    /// Earlier points that their critic found met.
    pub verified: usize,
}

impl Ledger {
    /// The points at the end of a round, and what was said of them in it; `None` if nothing was.
    pub fn tally(&self, round: u32) -> Option<Tally> {
        let mut tally = Tally::default();
        let moves: Vec<&Move> = self.moves_in(round).collect();
        for one in &moves {
            tally.accepted += one.accepted.len();
            tally.partly += one.partly.len();
            tally.rejected += one.rejected.len();
            tally.unanswered += one.unanswered.len();
        }
        let raised = self.objections.iter().filter(|one| one.draft.is_none());
        for one in raised.clone() {
            let is_waiting =
                one.round == round && !one.is_unanswerable && !moves.iter().any(|moved| moved.names(&one.id));
            tally.waiting += usize::from(is_waiting);
            tally.final_words += usize::from(one.round == round && one.is_unanswerable);
            if one.rechecked_in() == Some(RemarkTime::Round(round)) {
                match one.recheck() {
                    Some(RecheckStanding::Withdrawn) => tally.withdrawn += 1,
                    Some(RecheckStanding::Maintained) => tally.maintained += 1,
                    Some(RecheckStanding::Verified) => tally.verified += 1,
                    None => {}
                }
            }
        }
        let Tally { by_status, open, .. } = Tally::of(raised);
        (tally != Tally::default()).then_some(Tally { by_status, open, ..tally })
    }
}

impl Tally {
    pub fn of<'a>(points: impl IntoIterator<Item = &'a Point>) -> Self {
        let mut tally = Self::default();
        for one in points {
            let status = one.status();
            tally.by_status[status as usize] += 1;
            tally.open[one.point.severity as usize] += usize::from(status == PointStatus::Open);
            match one.response() {
                Some(Response::Accepted) => tally.accepted += 1,
                Some(Response::Partly) => tally.partly += 1,
                Some(Response::Rejected) => tally.rejected += 1,
                None if one.is_unanswerable => tally.final_words += 1,
                None => tally.unanswered += 1,
            }
        }
        tally
    }

    /// The number of points.
    pub fn all(&self) -> usize {
        self.by_status.iter().sum()
    }

    /// The number of open points.
    pub fn all_open(&self) -> usize {
        self.open.iter().sum()
    }

    /// The number of points with this status.
    pub fn count(&self, status: PointStatus) -> usize {
        self.by_status[status as usize]
    }

    /// `5 open, 1 claimed, 2 fixed`, without zeros.
    pub fn statuses(&self) -> String {
        listed(PointStatus::ALL.iter().map(|status| (self.count(*status), status.name())))
    }

    /// `1 blocking, 2 minor`: the open points by severity.
    pub fn open_by_severity(&self) -> String {
        listed(Severity::ALL.iter().map(|severity| (self.open[*severity as usize], severity.name())))
    }

    /// All counts as sentences, without zeros.
    pub fn sentences(&self) -> String {
        let is = |count: usize| if count == 1 { "is" } else { "are" };
        let mut text = format!("The critics raised {}.", counted(self.all() as u64, "point"));
        for status in PointStatus::ALL {
            // Writing to a string cannot fail.
            let _ = match (status, self.count(status)) {
                (PointStatus::Open, 0) => write!(text, " None is open."),
                (_, 0) => Ok(()),
                (PointStatus::Open, count) => {
                    write!(text, " {count} {} open: {}.", is(count), self.open_by_severity())
                }
                (PointStatus::Claimed, count) => {
                    write!(text, " {count} {} claimed: only the author says that the text was changed.", is(count))
                }
                (PointStatus::Fixed | PointStatus::Rejected, count) => {
                    write!(text, " {count} {} {}.", is(count), status.name())
                }
            };
        }
        text
    }
}

impl fmt::Display for Tally {
    /// `12 points · 5 open · 4 claimed · 2 fixed · 1 rejected`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&counted(self.all() as u64, "point"))?;
        for status in PointStatus::ALL.iter().filter(|status| self.count(**status) > 0) {
            write!(f, " · {} {}", self.count(*status), status.name())?;
        }
        Ok(())
    }
}

/// `2 major, 1 minor`
fn listed<'n>(counts: impl Iterator<Item = (usize, &'n str)>) -> String {
    let present = counts.filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}"));
    present.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::debate::fixture::{argued, debate};
    use crate::points::{Found, Remark, RemarkKind};

    #[test]
    fn what_is_said_is_counted() {
        let ledger = Ledger::shown(&argued());
        assert!(!ledger.is_derived);
        insta::assert_snapshot!(Tally::of(&ledger.objections).sentences(), @"The critics raised 8 points. 5 are open: 1 blocking, 2 major, 2 minor. 1 is claimed: only the author says that the text was changed. 1 is fixed. 1 is rejected.");
        let one = Tally::of(ledger.objections.iter().take(1));
        insta::assert_snapshot!(one.sentences(), @"The critics raised 1 point. None is open. 1 is claimed: only the author says that the text was changed.");
        let verified = ledger.objections.iter().take(1).map(|one| {
            let (at, kind) = (RemarkTime::Check(1), RemarkKind::Checked(Found::Verified));
            let mut verified = one.clone();
            verified.remarks.push(Remark { at, by: None, kind, section: None, reason: None });
            verified
        });
        let verified: Vec<_> = verified.collect();
        insta::assert_snapshot!(Tally::of(&verified).sentences(), @"The critics raised 1 point. None is open. 1 is fixed.");
        insta::assert_snapshot!(Tally::default().sentences(), @"The critics raised 0 points. None is open.");
    }

    #[test]
    fn open_points_come_first_and_the_most_severe_of_them_lead() {
        let ledger = Ledger::shown(&argued());
        let order: Vec<_> =
            ledger.in_order().into_iter().map(|one| (one.is_undecided(), one.point.severity.name())).collect();
        insta::assert_debug_snapshot!(order, @r#"
        [
            (
                true,
                "blocking",
            ),
            (
                true,
                "major",
            ),
            (
                true,
                "major",
            ),
            (
                true,
                "minor",
            ),
            (
                true,
                "minor",
            ),
            (
                false,
                "major",
            ),
            (
                false,
                "major",
            ),
            (
                false,
                "minor",
            ),
        ]
        "#);
    }

    #[test]
    fn what_a_debate_of_this_version_was_read_to_say_is_not_read_again() {
        let mut silent = argued();
        for one in silent.rounds.iter_mut().flat_map(|round| &mut round.contributions) {
            let one = std::sync::Arc::make_mut(one);
            one.content = "1. [major] Another reader would find this one.".into();
            if let Some(reading) = &mut one.reading {
                reading.points = Some(Vec::new());
            }
        }
        let shown = Ledger::shown(&silent);
        assert!(shown.is_empty() && !shown.is_derived, "{shown:?}");
    }

    #[test]
    fn a_debate_without_readings_is_read_to_be_shown() {
        let mut older = debate();
        let critique = older.rounds[0].contributions.iter_mut().find(|one| one.target_agent_id.is_some()).unwrap();
        std::sync::Arc::make_mut(critique).content = "1. [blocking] Failover: a write is lost.".into();
        let before = older.clone();
        let shown = Ledger::shown(&older);
        assert!(shown.is_derived && shown.objections.len() == 1, "{shown:?}");
        assert_eq!(older, before);
    }
}
