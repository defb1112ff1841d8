//! Counts of points by what was said of them.

use std::fmt::{self, Write as _};

use serde::Serialize;

use dialectic_base::severity::Severity;

use super::{Decision, Ledger, Move, Objection, RecheckStanding, RemarkTime, Response};

/// Counts of points: of some points ([`Tally::of`]), or of those raised or answered in a round ([`Ledger::tally`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Tally {
    #[serde(skip)]
    pub all: usize,
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
    /// Points that a critic withdrew.
    pub withdrawn: usize,
    /// Points that a critic maintained.
    pub maintained: usize,
    /// Points found met in a later text by their critic or the check.
    pub verified: usize,
    /// Accepted points without a named change.
    #[serde(skip)]
    pub bare: usize,
    /// Accepted points whose change only the author claims.
    #[serde(skip)]
    pub claimed: usize,
    /// Points that were never rechecked or verified.
    #[serde(skip)]
    pub unchecked: usize,
    /// Open points by severity: blocking, major, minor.
    #[serde(skip)]
    pub open: [usize; 3],
    /// Points that the solution meets, by the judge's ruling.
    #[serde(skip)]
    pub met: usize,
    /// Points that the solution partly meets.
    #[serde(skip)]
    pub partly_met: usize,
    /// Points that the solution does not meet, or that have no ruling.
    #[serde(skip)]
    pub unmet: usize,
    #[serde(skip)]
    pub dismissed: usize,
}

impl Ledger {
    /// The state of the last round's points; `None` if no point was raised or answered in it.
    pub fn tally(&self, round: u32) -> Option<Tally> {
        let mut tally = Tally::default();
        let moves: Vec<&Move> = self.moves_in(round).collect();
        for one in &moves {
            tally.accepted += one.accepted.len();
            tally.partly += one.partly.len();
            tally.rejected += one.rejected.len();
            tally.unanswered += one.unanswered.len();
        }
        for one in self.objections.iter().filter(|one| one.draft.is_none()) {
            let is_waiting =
                one.round == round && !one.is_final_word && !moves.iter().any(|moved| moved.names(&one.id));
            tally.waiting += usize::from(is_waiting);
            tally.final_words += usize::from(one.round == round && one.is_final_word);
            if one.rechecked_in() == Some(RemarkTime::Round(round)) {
                match one.recheck() {
                    Some(RecheckStanding::Withdrawn) => tally.withdrawn += 1,
                    Some(RecheckStanding::Maintained) => tally.maintained += 1,
                    Some(RecheckStanding::Verified) => tally.verified += 1,
                    None => {}
                }
            }
        }
        let Tally { accepted, partly, rejected, unanswered, waiting, final_words, .. } = tally;
        tally.all = accepted + partly + rejected + unanswered + waiting + final_words;
        (tally != Tally::default()).then_some(tally)
    }
}

impl fmt::Display for Tally {
    /// `12 points · 7 accepted · 3 rejected · 2 unanswered`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} point{}", self.all, if self.all == 1 { "" } else { "s" })?;
        for (count, what) in [
            (self.accepted, "accepted"),
            (self.partly, "partly"),
            (self.rejected, "rejected"),
            (self.unanswered, "unanswered"),
            (self.waiting, "not answered yet"),
            (self.withdrawn, "withdrawn"),
            (self.maintained, "maintained"),
            (self.verified, "verified"),
        ] {
            if count > 0 {
                write!(f, " · {count} {what}")?;
            }
        }
        Ok(())
    }
}

impl Tally {
    pub fn of<'a>(points: impl IntoIterator<Item = &'a Objection>) -> Self {
        let mut counts = Self::default();
        for one in points {
            counts.all += 1;
            match one.response() {
                Some(Response::Accepted) => counts.accepted += 1,
                Some(Response::Partly) => counts.partly += 1,
                Some(Response::Rejected) => counts.rejected += 1,
                None if one.is_final_word => counts.final_words += 1,
                None => counts.unanswered += 1,
            }
            match one.recheck() {
                Some(RecheckStanding::Withdrawn) => counts.withdrawn += 1,
                Some(RecheckStanding::Maintained) => counts.maintained += 1,
                Some(RecheckStanding::Verified) => {}
                // Points of a council or a check are never rechecked.
                None if one.is_final_word || one.draft.is_some() => {}
                None => counts.unchecked += usize::from(one.found().is_none()),
            }
            match one.ruling().map(|ruling| ruling.decision) {
                Some(Decision::NotMet) => counts.unmet += 1,
                Some(Decision::Met) => counts.met += 1,
                Some(Decision::Partly) => counts.partly_met += 1,
                Some(Decision::Dismissed) => counts.dismissed += 1,
                None => {}
            }
            counts.verified += usize::from(one.is_verified());
            counts.claimed += usize::from(one.is_claimed());
            counts.bare += usize::from(one.is_bare_acceptance());
            counts.open[one.point.severity as usize] += usize::from(one.is_open());
        }
        counts
    }

    /// The number of open points.
    pub fn all_open(&self) -> usize {
        self.open.iter().sum()
    }

    /// `7 accepted, 1 accepted in part, 3 rejected, 1 unanswered`, without zeros.
    pub fn answers(&self) -> String {
        let answers = [
            (self.accepted, "accepted"),
            (self.partly, "accepted in part"),
            (self.rejected, "rejected"),
            (self.unanswered, "unanswered"),
            (self.final_words, "in reviews without answers"),
        ];
        listed(answers)
    }

    /// `1 blocking, 2 minor`: the open points by severity.
    pub fn open_by_severity(&self) -> String {
        listed(Severity::ALL.map(|severity| (self.open[severity as usize], severity.name())))
    }

    /// All counts as sentences, without zeros.
    pub fn sentences(&self) -> String {
        let was = |count: usize| if count == 1 { "was" } else { "were" };
        let is = |count: usize| if count == 1 { "is" } else { "are" };
        let points = if self.all == 1 { "point" } else { "points" };
        let answers = if self.all == 0 { String::new() } else { format!(": {}", self.answers()) };
        let mut text = format!("The critics raised {} {points}{answers}.", self.all);
        let mut say = |sentence: std::fmt::Arguments<'_>| {
            // Writing to a string cannot fail.
            let _ = write!(text, " {sentence}.");
        };
        match self.all_open() {
            0 => say(format_args!("None is open at the end")),
            open => say(format_args!("At the end {open} {} open: {}", is(open), self.open_by_severity())),
        }
        if self.bare > 0 {
            say(format_args!("{} {} accepted without a word on what was changed", self.bare, was(self.bare)));
        }
        if self.verified > 0 {
            let count = self.verified;
            say(format_args!("{count} {} verified: a recheck found the change in the text", is(count)));
        }
        if self.claimed > 0 {
            let count = self.claimed;
            say(format_args!("{count} {} only claimed: only the author says that the text was changed", is(count)));
        }
        if self.unchecked > 0 {
            let count = self.unchecked;
            say(format_args!("{count} {} never rechecked: no critic mentioned {} again", was(count), them(count)));
        }
        if self.met + self.partly_met + self.unmet + self.dismissed > 0 {
            let rulings = [
                (self.met, "upheld and met by the solution"),
                (self.partly_met, "upheld and met in part"),
                (self.unmet, "upheld and not met"),
                (self.dismissed, "dismissed"),
            ];
            say(format_args!("Of the points that needed a ruling, {}", ruled(rulings)));
        }
        text
    }
}

fn them(count: usize) -> &'static str {
    if count == 1 { "it" } else { "them" }
}

/// `2 major, 1 minor`
fn listed<const N: usize>(counts: [(usize, &str); N]) -> String {
    let present: Vec<String> =
        counts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")).collect();
    present.join(", ")
}

/// `2 were upheld and met by the solution, 1 was dismissed`
fn ruled<const N: usize>(counts: [(usize, &str); N]) -> String {
    let sentence =
        |(count, what): &(usize, &str)| format!("{count} {} {what}", if *count == 1 { "was" } else { "were" });
    counts.iter().filter(|(count, _)| *count > 0).map(sentence).collect::<Vec<_>>().join(", ")
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
        insta::assert_snapshot!(Tally::of(&ledger.objections).sentences(), @"The critics raised 8 points: 3 accepted, 1 accepted in part, 2 rejected, 2 unanswered. At the end 5 are open: 1 blocking, 2 major, 2 minor. 1 was accepted without a word on what was changed. 1 is only claimed: only the author says that the text was changed. 5 were never rechecked: no critic mentioned them again. Of the points that needed a ruling, 1 was upheld and met in part, 2 were upheld and not met.");
        let one = Tally::of(ledger.objections.iter().take(1));
        insta::assert_snapshot!(one.sentences(), @"The critics raised 1 point: 1 accepted. None is open at the end. 1 is only claimed: only the author says that the text was changed. 1 was never rechecked: no critic mentioned it again.");
        let verified = ledger.objections.iter().take(1).map(|one| {
            let (at, kind) = (RemarkTime::Check(1), RemarkKind::Checked(Found::Verified));
            let mut verified = one.clone();
            verified.remarks.push(Remark { at, by: None, kind, section: None, reason: None });
            verified
        });
        let verified: Vec<_> = verified.collect();
        insta::assert_snapshot!(Tally::of(&verified).sentences(), @"The critics raised 1 point: 1 accepted. None is open at the end. 1 is verified: a recheck found the change in the text.");
        insta::assert_snapshot!(Tally::default().sentences(), @"The critics raised 0 points. None is open at the end.");
    }

    #[test]
    fn open_points_come_first_and_the_gravest_of_them_before() {
        let ledger = Ledger::shown(&argued());
        let order: Vec<_> =
            ledger.in_order().into_iter().map(|one| (one.is_open(), one.point.severity.name())).collect();
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
