//! The ledger for people: texts, order and wording.

use std::fmt::Write as _;

use crate::debate::{Debate, RecheckStanding};
use dialectic_base::markdown::truncate;
use dialectic_base::sanitize::one_line;
use dialectic_base::severity::Severity;

use super::{Answered, Decision, Ledger, Objection, Ruling};

/// The characters shown of a point's subject.
const PLACE: usize = 60;

/// Shown for an empty value.
const NOTHING: &str = "-";

/// A ledger for display.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Shown {
    pub ledger: Ledger,
    /// Whether the ledger was derived from the texts because the record is older than readings.
    pub is_derived: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    pub all: usize,
    pub accepted: usize,
    /// Accepted points without a named change.
    pub bare: usize,
    /// Points accepted in part.
    pub partly: usize,
    pub rejected: usize,
    pub unanswered: usize,
    /// Points that the protocol does not answer.
    pub final_words: usize,
    /// Points found met in a later text by their critic or the check.
    pub verified: usize,
    /// Accepted points whose change only the author claims.
    pub claimed: usize,
    /// Points that a critic withdrew.
    pub withdrawn: usize,
    /// Points that a critic maintained.
    pub maintained: usize,
    /// Points that were never rechecked or verified.
    pub unchecked: usize,
    /// Open points by severity: blocking, major, minor.
    pub open: [usize; 3],
    /// Points that the solution meets, by the judge's ruling.
    pub met: usize,
    /// Points that the solution partly meets.
    pub partly_met: usize,
    /// Points that the solution does not meet, or that have no ruling.
    pub unmet: usize,
    pub dismissed: usize,
}

impl Ledger {
    /// The ledger to display: the recorded one, or for records of the older program one derived from the texts, which is
    /// never saved.
    pub fn shown(debate: &Debate) -> Shown {
        let has_readings = debate.rounds.iter().flat_map(|round| &round.contributions).any(|one| one.reading.is_some());
        if has_readings {
            Shown { ledger: Self::of(debate), is_derived: false }
        } else {
            let ledger = Self::of(&debate.read_for_showing());
            let is_derived = !ledger.is_empty();
            Shown { ledger, is_derived }
        }
    }

    pub fn is_empty(&self) -> bool {
        self.objections.is_empty()
    }

    /// The points in display order: open ones first, by severity.
    pub fn in_order(&self) -> Vec<&Objection> {
        let mut shown: Vec<&Objection> = self.objections.iter().collect();
        shown.sort_by_key(|one| (!one.open, one.point.severity));
        shown
    }
}

impl Objection {
    /// `D3 (Failover)`: its number with the changed section, otherwise its subject.
    pub fn with_place(&self) -> String {
        let named = |text: &&str| !text.trim().is_empty();
        let place = self.section.as_deref().filter(named).or(self.point.about.as_deref()).map(one_line);
        let Some(place) = place else { return self.number() };
        let shown = truncate(&place, PLACE);
        let more = if shown.len() < place.len() { "…" } else { "" };
        format!("{} ({}{more})", self.number(), shown.trim_end())
    }

    /// The author's answer as text.
    pub fn answer_in_words(&self) -> &'static str {
        match self.answer {
            Answered::Unanswered if self.is_final_word => NOTHING,
            Answered::Accepted if self.reason.is_none() => "accepted, no change named",
            Answered::Accepted => "accepted",
            Answered::Partly => "accepted in part",
            Answered::Rejected => "rejected",
            Answered::Unanswered => "unanswered",
        }
    }

    /// The later critics' recheck as text.
    pub fn recheck_in_words(&self) -> &'static str {
        let nobody = if self.is_final_word || self.draft.is_some() { NOTHING } else { "never rechecked" };
        self.critic.map_or(nobody, RecheckStanding::name)
    }

    /// The judge's ruling as text; `None` if none was required.
    pub fn ruling_in_words(&self) -> Option<&'static str> {
        self.ruling.as_ref().map(Ruling::in_words)
    }
}

impl Counts {
    pub fn of<'a>(points: impl IntoIterator<Item = &'a Objection>) -> Self {
        let mut counts = Self::default();
        for one in points {
            counts.all += 1;
            match one.answer {
                Answered::Accepted => counts.accepted += 1,
                Answered::Partly => counts.partly += 1,
                Answered::Rejected => counts.rejected += 1,
                Answered::Unanswered if one.is_final_word => counts.final_words += 1,
                Answered::Unanswered => counts.unanswered += 1,
            }
            match one.critic {
                Some(RecheckStanding::Withdrawn) => counts.withdrawn += 1,
                Some(RecheckStanding::Maintained) => counts.maintained += 1,
                Some(RecheckStanding::Verified) => {}
                // Points of a council or a check are never rechecked.
                None if one.is_final_word || one.draft.is_some() => {}
                None => counts.unchecked += usize::from(one.check.is_none()),
            }
            match one.ruling.as_ref().map(|ruling| ruling.decision) {
                Some(Decision::NotMet) => counts.unmet += 1,
                Some(Decision::Met) => counts.met += 1,
                Some(Decision::Partly) => counts.partly_met += 1,
                Some(Decision::Dismissed) => counts.dismissed += 1,
                None => {}
            }
            counts.verified += usize::from(one.is_verified());
            counts.claimed += usize::from(one.is_claimed());
            counts.bare += usize::from(one.is_bare_acceptance());
            counts.open[one.point.severity as usize] += usize::from(one.open);
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
    use crate::debate::{Found, Verification};

    #[test]
    fn what_is_said_is_counted() {
        let Shown { ledger, is_derived } = Ledger::shown(&argued());
        assert!(!is_derived);
        insta::assert_snapshot!(Counts::of(&ledger.objections).sentences(), @"The critics raised 8 points: 3 accepted, 1 accepted in part, 2 rejected, 2 unanswered. At the end 5 are open: 1 blocking, 2 major, 2 minor. 1 was accepted without a word on what was changed. 1 is only claimed: only the author says that the text was changed. 5 were never rechecked: no critic mentioned them again. Of the points that needed a ruling, 1 was upheld and met in part, 2 were upheld and not met.");
        let one = Counts::of(ledger.objections.iter().take(1));
        insta::assert_snapshot!(one.sentences(), @"The critics raised 1 point: 1 accepted. None is open at the end. 1 is only claimed: only the author says that the text was changed. 1 was never rechecked: no critic mentioned it again.");
        let verified = ledger.objections.iter().take(1).map(|one| {
            let found = Verification { point: one.id.clone(), found: Found::Verified, section: None, reason: None };
            let mut verified = one.clone();
            verified.check = Some(found);
            verified
        });
        let verified: Vec<_> = verified.collect();
        insta::assert_snapshot!(Counts::of(&verified).sentences(), @"The critics raised 1 point: 1 accepted. None is open at the end. 1 is verified: a recheck found the change in the text.");
        insta::assert_snapshot!(Counts::default().sentences(), @"The critics raised 0 points. None is open at the end.");
    }

    #[test]
    fn open_points_come_first_and_the_gravest_of_them_before() {
        let ledger = Ledger::shown(&argued()).ledger;
        let order: Vec<_> = ledger.in_order().into_iter().map(|one| (one.open, one.point.severity.name())).collect();
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
        assert!(shown.ledger.is_empty() && !shown.is_derived, "{shown:?}");
    }

    #[test]
    fn a_debate_without_readings_is_read_to_be_shown() {
        let mut older = debate();
        let critique = older.rounds[0].contributions.iter_mut().find(|one| one.target_agent_id.is_some()).unwrap();
        std::sync::Arc::make_mut(critique).content = "1. [blocking] Failover: a write is lost.".into();
        let before = older.clone();
        let shown = Ledger::shown(&older);
        assert!(shown.is_derived && shown.ledger.objections.len() == 1, "{shown:?}");
        assert_eq!(older, before);
    }
}
