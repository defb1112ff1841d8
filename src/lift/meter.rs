//! Ends an arm when its money is spent: before the part that would exceed the debate's cost.
//!
//! A cost limit would not do: it reserves the cost of the longest possible answers, which is many times their actual
//! cost, and so leaves most of the money unspent.

use dialectic_base::money::{Price, Usd};
use dialectic_engine::runner::{Controls, Run};
use dialectic_record::debate::{Debate, Event, Recorded, ResultKind, Signal};
use dialectic_record::signals::{Followed, Follower, Words};

use super::arm::choice;
use super::{Arm, Bill};

/// How much more the next part may cost than the last one, because its input grows.
const GROWTH: f64 = 1.1;

/// Watches the cost of an arm.
#[derive(Debug, Clone)]
pub struct Meter {
    arm: Arm,
    money: Usd,
    price: Price,
    bill: Bill,
    debate: Option<Debate>,
    /// The cost after each text.
    texts: Vec<Usd>,
}

/// Ends a run when its meter says so.
pub struct Metering(Option<(Meter, Follower)>);

impl Metering {
    /// Follows a run. Without a meter it does nothing.
    pub fn of(run: &Run, meter: Option<Meter>) -> Self {
        let Some(meter) = meter else { return Self(None) };
        let follower = run.follow(Words::Unwanted).ok();
        if follower.is_none() {
            // An arm that cannot be measured is not continued.
            run.controls().pause();
        }
        Self(follower.map(|follower| (meter, follower)))
    }

    /// Follows the run. Never ends, and may be dropped and called again.
    pub async fn keep(&mut self, controls: &Controls) {
        while let Some((meter, follower)) = &mut self.0 {
            match follower.next().await {
                Ok(Some(Followed::Signal(signal))) => {
                    if let Signal::Recorded(recorded) = &*signal
                        && meter.is_enough(recorded)
                    {
                        controls.stop_spent();
                        self.0 = None;
                    }
                }
                Ok(Some(Followed::Gap { .. })) => {}
                Ok(None) => self.0 = None,
                Err(_) => {
                    controls.pause();
                    self.0 = None;
                }
            }
        }
        std::future::pending::<()>().await;
    }
}

impl Meter {
    pub(super) fn of(arm: Arm, money: Usd, price: Price) -> Self {
        Self { arm, money, price, bill: Bill::default(), debate: None, texts: Vec::new() }
    }

    /// Applies the next event. Returns whether the money buys no part after the one that begins now.
    pub fn is_enough(&mut self, recorded: &Recorded) -> bool {
        self.bill.add(recorded);
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
        let Some(cost) = self.bill.full() else { return true };
        let is_text = kind == ResultKind::Proposal;
        if is_text {
            self.texts.push(cost);
        }
        match self.arm {
            Arm::BestOfN if is_text => self.is_last_draw(cost),
            Arm::SelfRefine if kind == ResultKind::Critique => self.is_last_round(cost),
            Arm::SelfRefine | Arm::BestOfN | Arm::Single => false,
        }
    }

    /// Whether the draw that begins now leaves no money for another and the choice.
    fn is_last_draw(&self, cost: Usd) -> bool {
        let drawn = u32::try_from(self.texts.len()).unwrap_or(u32::MAX);
        let mean = cost.times(1.0 / f64::from(drawn));
        let [input, output] = self.bill.tokens().map(|tokens| tokens / u64::from(drawn));
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
            // The first text has a shorter input than its rewrites.
            None => (last.times(GROWTH * GROWTH), critique + last.times(GROWTH * GROWTH)),
        };
        cost + text.times(GROWTH) + round.times(GROWTH) > self.money
    }
}
