//! Ends an arm when its money is spent: before the part that would exceed the debate's cost.
//!
//! A cost limit would not do: it reserves the cost of the longest possible answers, which is many times their actual
//! cost, and so leaves most of the money unspent.

use dialectic_base::money::{Price, Usd};
use dialectic_record::debate::{Debate, Event, Recorded, ResultKind};

use crate::cli::args::ArmName;

use super::group::{choice, list_cost};

/// How much more the next part may cost than the last one, because its input grows.
const GROWTH: f64 = 1.1;

/// Watches the cost of an arm.
pub(super) struct Meter {
    arm: ArmName,
    money: Usd,
    /// The arm's price, with cached input at full price.
    price: Price,
    debate: Option<Debate>,
    /// The cost after each text.
    texts: Vec<Usd>,
}

impl Meter {
    pub(super) fn of(arm: ArmName, money: Usd, price: Price) -> Self {
        Self { arm, money, price, debate: None, texts: Vec::new() }
    }

    /// Applies the next event. Returns whether the part that begins now is the last that the money buys.
    pub(super) fn is_enough(&mut self, recorded: &Recorded) -> bool {
        let Some(debate) = &mut self.debate else {
            self.debate = Debate::create(recorded).ok();
            return false;
        };
        // An event that cannot be folded here fails in the run itself.
        if debate.apply(recorded).is_err() {
            return false;
        }
        let Event::Contributed { key, .. } = &recorded.event else { return false };
        let Some(kind) = debate.stage(key.stage).and_then(|stage| stage.yields) else { return false };
        // Without a known cost the arm cannot be limited.
        let Some(cost) = list_cost(debate) else { return true };
        let is_text = kind == ResultKind::Proposal;
        if is_text {
            self.texts.push(cost);
        }
        match self.arm {
            ArmName::BestOfN if is_text => self.is_last_draw(cost),
            ArmName::SelfRefine if kind == ResultKind::Critique => self.is_last_round(cost),
            ArmName::SelfRefine | ArmName::BestOfN | ArmName::Single => false,
        }
    }

    /// Whether the draw that begins now leaves no money for another and the choice.
    fn is_last_draw(&self, cost: Usd) -> bool {
        let drawn = u32::try_from(self.texts.len()).unwrap_or(u32::MAX);
        let mean = cost.times(1.0 / f64::from(drawn));
        let usage = self.debate.as_ref().map(Debate::total_usage).unwrap_or_default();
        let (input, output) = (usage.input_tokens / u64::from(drawn), usage.output_tokens / u64::from(drawn));
        let chosen = choice(self.price, input, output, drawn + 2);
        cost + mean.times(2.0) + chosen.times(GROWTH) > self.money
    }

    /// Whether the text that is written now leaves no money for another round.
    fn is_last_round(&self, cost: Usd) -> bool {
        let Some(last) = self.texts.last() else { return false };
        let before = self.texts.len().checked_sub(2).and_then(|index| self.texts.get(index));
        let critique = cost.saturating_sub(*last);
        let (text, round) = match before {
            // The last round was a critique and a text, too.
            Some(before) => {
                let round = last.saturating_sub(*before);
                (round.saturating_sub(critique.times(1.0 / GROWTH)), round)
            }
            // The first text reads less than those that rewrite it.
            None => (last.times(GROWTH * GROWTH), critique + last.times(GROWTH * GROWTH)),
        };
        cost + text.times(GROWTH) + round.times(GROWTH) > self.money
    }
}
