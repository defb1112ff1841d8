//! The check of the answer: drafts, the lenses through which they are checked, and the parts that remain unchecked.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use dialectic_base::figures::list;

use super::{Contribution, Debate};
use crate::ids::{CallKey, ResultKind};
use crate::points::{Found, Ledger, Point, RaisedPoint, Response, Severity};

dialectic_base::named! {
    /// The aspect of a draft that a checker examines.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    pub enum Lens {
        /// Whether the draft meets each requirement in the worst case, and whether accepted points were applied.
        Requirements = "requirements",
        /// Whether the draft can be carried out.
        Execute = "execute",
        /// Whether the draft's figures, and its claims about technologies, are true.
        Facts = "facts",
    }
}

impl Lens {
    pub const COUNT: u8 = 3;

    /// Completes the phrase “not checked for …”.
    pub fn subject(self) -> &'static str {
        match self {
            Self::Requirements => "requirements",
            Self::Execute => "execution",
            Self::Facts => "facts",
        }
    }

    pub fn number(self) -> u8 {
        self as u8 + 1
    }

    /// The pass of the call that checks the given draft with this lens. Passes and drafts count from 1.
    pub fn pass(self, draft: u8) -> u8 {
        let before = draft.saturating_sub(1).saturating_mul(Self::COUNT);
        before.saturating_add(self.number())
    }
}

#[derive(Debug, Clone)]
pub struct Draft<'a> {
    /// The draft's number in the debate, from 1.
    pub number: u8,
    pub text: &'a Arc<Contribution>,
    pub key: CallKey,
    /// The check results, in the order of the lenses.
    pub checks: Vec<&'a Arc<Contribution>>,
}

impl Draft<'_> {
    /// The check result for a lens; `None` if there is none, or if it could not be read.
    pub fn read_through(&self, lens: Lens) -> Option<&Contribution> {
        let is_read = |one: &Contribution| one.reading.as_ref().is_some_and(|reading| reading.points.is_some());
        self.checks.iter().map(|one| &***one).find(|one| one.metadata.lens == Some(lens) && is_read(one))
    }
}

impl Debate {
    pub fn lenses(&self) -> &'static [Lens] {
        let wanted = self.settings.as_ref().map_or(0, |settings| settings.debate.check as usize);
        Lens::ALL.get(..wanted).unwrap_or(&Lens::ALL)
    }

    /// Whether the entry at `place` in `checks` is a draft: the first text, or a later one that takes a different
    /// approach.
    fn is_draft(&self, place: usize, one: &Contribution) -> bool {
        self.yield_of(one) != Some(ResultKind::Check) && (place == 0 || one.metadata.rethought)
    }

    pub fn newest_draft(&self) -> Option<Draft<'_>> {
        let places = self.checks.iter().enumerate().filter(|(place, one)| self.is_draft(*place, one));
        let (number, place) = (1..).zip(places.map(|(place, _)| place)).last()?;
        let text = self.checks.get(place)?;
        let is_check = |one: &&Arc<Contribution>| self.yield_of(one) == Some(ResultKind::Check);
        let checks = self.checks.iter().skip(place + 1).take_while(is_check).collect();
        let said = self.rounds.iter().rev().find(|round| round.find(text.stage, &text.agent_id, None).is_some());
        let pass = self.checked().nth(place).map_or(1, |(_, pass)| pass);
        let round = said.map_or(self.current_round, |round| round.round_number);
        let key = CallKey::new(round, text.stage, &text.agent_id).pass(if said.is_some() { 1 } else { pass });
        Some(Draft { number, text, key, checks })
    }

    /// The text that replaced the newest draft, if any.
    pub fn final_text(&self) -> Option<&Arc<Contribution>> {
        let (place, last) = self.checks.iter().enumerate().next_back()?;
        (self.yield_of(last) != Some(ResultKind::Check) && !self.is_draft(place, last)).then_some(last)
    }

    /// The lenses without a readable result for the newest draft; empty if no checker was called at all.
    pub fn unread_lenses(&self) -> Vec<Lens> {
        let Some(draft) = self.newest_draft().filter(|_| !self.is_unchecked()) else { return Vec::new() };
        self.lenses().iter().copied().filter(|lens| draft.read_through(*lens).is_none()).collect()
    }

    pub fn is_unchecked(&self) -> bool {
        let Some(draft) = self.newest_draft() else { return false };
        let passes = Lens::ALL.map(|lens| lens.pass(draft.number));
        let is_check = |key: &CallKey| self.stage(key.stage).is_some_and(|of| of.yields == Some(ResultKind::Check));
        let has_failed = self.failures.iter().any(|of| is_check(&of.key) && passes.contains(&of.key.pass));
        draft.checks.is_empty() && !has_failed
    }

    pub fn unverified(&self) -> Vec<String> {
        let Some(draft) = self.newest_draft() else { return Vec::new() };
        let mut unverified = Vec::new();
        if self.is_unchecked() {
            let which = if draft.number > 1 { "this draft, which takes a different approach" } else { "this answer" };
            unverified.push(format!("Nobody has independently checked {which}."));
        }
        let unread = self.unread_lenses().into_iter().map(|lens| lens.subject().to_owned()).collect::<Vec<_>>();
        if !unread.is_empty() {
            unverified.push(format!("The answer was not checked for {}.", list(&unread)));
        }
        let ledger = Ledger::of(self);
        let is_of_draft = |one: &Point| one.draft == Some(draft.number.into());
        let numbers = |is_meant: &dyn Fn(&Point) -> bool| {
            let meant = ledger.objections.iter().filter(|one| is_meant(one));
            list(&meant.map(Point::with_place).collect::<Vec<_>>())
        };
        let is_grave = |one: &Point| one.point.severity <= Severity::Major;
        let mut say = |before: &str, numbers: String| {
            if !numbers.is_empty() {
                unverified.push(format!("{before} {numbers}."));
            }
        };
        if self.final_text().is_some() {
            let is_changed = |one: &Point| {
                let is_of_end = is_of_draft(one) || one.draft.is_none() && one.was_answered_last();
                is_of_end && matches!(one.response(), Some(Response::Accepted | Response::Partly))
            };
            say("Nobody has checked the changes made in response to", numbers(&is_changed));
            let is_missing = |one: &Point| one.found().is_some() && one.is_maintained() && !one.was_answered_last();
            let is_silent =
                |one: &Point| is_of_draft(one) && one.response().is_none() || one.draft.is_none() && is_missing(one);
            say("There was no response to", numbers(&is_silent));
        } else if self.is_draft_faulted() {
            say("Nothing was changed in response to", numbers(&|one| is_of_draft(one) && is_grave(one)));
        }
        unverified
    }

    pub fn is_draft_faulted(&self) -> bool {
        let Some(draft) = self.newest_draft() else { return false };
        let is_grave = |point: &RaisedPoint| point.severity <= Severity::Major;
        draft.checks.iter().filter_map(|one| one.reading.as_ref()).any(|reading| {
            let is_missing = reading.verifications.iter().any(|one| one.verdict == Found::NotFound);
            is_missing || reading.points.iter().flatten().any(is_grave)
        })
    }

    /// All entries of the check, each with the pass of its call. A text's pass is its number among the texts of the
    /// same stage; [`Lens::pass`] computes the pass of a check result.
    pub fn checked(&self) -> impl Iterator<Item = (&Arc<Contribution>, u8)> {
        let mut draft = 0;
        self.checks.iter().enumerate().map(move |(place, one)| {
            if self.yield_of(one) == Some(ResultKind::Check) {
                return (one, one.metadata.lens.map_or(1, |lens| lens.pass(draft)));
            }
            draft += u8::from(self.is_draft(place, one));
            let of_stage = self.checks.iter().take(place + 1).filter(|other| other.stage == one.stage);
            (one, u8::try_from(of_stage.count()).unwrap_or(u8::MAX))
        })
    }
}
