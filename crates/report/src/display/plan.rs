//! The remaining calls of the displayed debate: its forecast minus what has happened.

use std::collections::BTreeMap;

use dialectic_base::money::Usd;
use dialectic_record::debate::{CallKey, Event, Forecast, PanelInfo, Span, Spent, StageId};

/// The remaining calls. Empty until the forecast is complete.
#[derive(Debug, Default)]
pub(super) struct Plan {
    /// The number of expected calls by round and stage.
    stages: BTreeMap<(u32, StageId), usize>,
    /// The remaining calls with their cost, if known.
    to_come: BTreeMap<CallKey, Option<Span<Usd>>>,
    /// The ended calls with their cost, if known.
    settled: BTreeMap<CallKey, Option<Usd>>,
    /// The forecast and the real cost of the ended calls.
    foreseen: Span<Usd>,
    cost: Usd,
    /// Whether no further round begins.
    is_closing: bool,
}

impl Plan {
    /// Adds the forecast, which may arrive during the debate.
    pub(super) fn expect(&mut self, forecast: &Forecast, panel: &PanelInfo) {
        for call in &forecast.calls {
            if call.is_certain {
                *self.stages.entry((call.key.round, call.key.stage)).or_default() += 1;
            }
            // Extra rounds are possible, but unlikely.
            if call.is_certain || call.key.round <= panel.rounds {
                self.to_come.insert(call.key.clone(), call.cost);
            }
        }
        for (key, cost) in self.settled.clone() {
            self.settle(&key, cost);
        }
        self.close(panel);
    }

    pub(super) fn see(&mut self, event: &Event, panel: &PanelInfo) {
        if let Some((key, _)) = event.settles() {
            let cost = event.call().and_then(|call| call.cost_usd);
            self.settled.insert(key.clone(), cost);
            self.settle(key, cost);
        }
        if let Event::StageEntered { stage } = event {
            let is_behind_rounds = panel.stage(*stage).is_some_and(|stage| !stage.in_round && stage.yields.is_some());
            if is_behind_rounds && self.settled.keys().any(|key| key.round > 0) {
                self.is_closing = true;
                self.close(panel);
            }
        }
    }

    fn settle(&mut self, key: &CallKey, cost: Option<Usd>) {
        let Some(Some(foreseen)) = self.to_come.remove(key) else { return };
        if let Some(cost) = cost {
            self.foreseen = self.foreseen + foreseen;
            self.cost += cost;
        }
    }

    /// Removes the expected rounds once the debate closes.
    fn close(&mut self, panel: &PanelInfo) {
        if self.is_closing {
            self.to_come.retain(|key, _| panel.stage(key.stage).is_some_and(|stage| !stage.in_round));
        }
    }

    /// The expected stages of a round, with their numbers of calls.
    pub(super) fn stages(&self, round: u32) -> impl Iterator<Item = (StageId, usize)> {
        let of_round = self.stages.iter().filter(move |((of, _), _)| *of == round);
        of_round.map(|((_, stage), calls)| (*stage, *calls))
    }

    /// The finished and the expected number of calls; `None` without a forecast.
    pub(super) fn calls(&self) -> Option<(usize, usize)> {
        let settled = self.settled.len();
        (!self.stages.is_empty()).then(|| (settled, settled + self.to_come.len()))
    }

    /// The likely final cost. Extrapolates the length of answers from finished ones; `None` before the first one, or if
    /// a price is unknown.
    pub(super) fn likely(&self, spent: Spent) -> Option<Usd> {
        let room = self.foreseen.high.saturating_sub(self.foreseen.low).dollars();
        if room <= 0.0 {
            return None;
        }
        let least = self.foreseen.low.dollars();
        // If answers are even shorter than the minimum, later ones are assumed to be as short.
        let part_of_least = if least > 0.0 { (self.cost.dollars() / least).min(1.0) } else { 1.0 };
        let share = (self.cost.saturating_sub(self.foreseen.low).dollars() / room).clamp(0.0, 1.0);
        let of = |span: &Span<Usd>| span.low.times(part_of_least) + span.high.saturating_sub(span.low).times(share);
        let to_come: Option<Usd> = self.to_come.values().map(|span| span.as_ref().map(of)).sum();
        Some(spent.cost? + to_come?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dialectic_record::debate::fixture;
    use dialectic_record::debate::fixture::{CRITIQUE, PROPOSAL, SYNTHESIS, contributed, panel};
    use dialectic_record::debate::{PlannedCall, Signal};

    fn planned(key: CallKey, cents: Option<(f64, f64)>) -> PlannedCall {
        let cost = cents
            .map(|(low, high)| Span { low: Usd::from_dollars(low / 100.0), high: Usd::from_dollars(high / 100.0) });
        PlannedCall {
            key,
            model: String::new(),
            provider: String::new(),
            is_certain: true,
            input: Span::default(),
            output: Span::default(),
            cost,
        }
    }

    fn forecast(price: Option<(f64, f64)>) -> Forecast {
        let key = |stage, agent| fixture::key(stage, agent, None);
        let calls = vec![
            planned(key(PROPOSAL, "agent-kiss"), Some((0.5, 2.5))),
            planned(key(PROPOSAL, "agent-architect"), price),
            planned(key(CRITIQUE, "agent-architect"), Some((1.0, 5.0))),
            planned(key(SYNTHESIS, "judge"), Some((1.0, 5.0))),
        ];
        Forecast { calls, purchase: None }
    }

    fn event(signal: &Signal) -> &Event {
        let Signal::Recorded(recorded) = signal else { panic!("it is recorded") };
        &recorded.event
    }

    #[test]
    fn what_is_to_come_costs_as_much_as_what_has_come_leads_to_expect() {
        let one_cent = contributed(PROPOSAL, "agent-kiss", None);
        let spent = Spent { tokens: 0, silent_calls: 0, cost: Some(Usd::from_dollars(0.01)) };
        let mut plan = Plan::default();
        // The forecast arrives after the first call.
        plan.see(event(&one_cent), &panel());
        assert_eq!(plan.likely(spent), None);
        plan.expect(&forecast(Some((1.0, 5.0))), &panel());
        // A quarter of the range: 1 cent, and 2 for each of the three others.
        assert_eq!(plan.likely(spent).unwrap().to_string(), "$0.0700");
        assert_eq!(plan.stages(1).collect::<Vec<_>>(), [(CRITIQUE, 1), (PROPOSAL, 2), (SYNTHESIS, 1)]);
        plan.see(event(&fixture::stage_entered(SYNTHESIS)), &panel());
        assert_eq!(plan.likely(spent).unwrap().to_string(), "$0.0300");
    }

    #[test]
    fn a_round_that_was_not_asked_for_is_not_expected() {
        let mut foreseen = forecast(Some((1.0, 5.0)));
        let further = CallKey { round: panel().rounds + 1, ..fixture::key(PROPOSAL, "agent-kiss", None) };
        foreseen.calls.push(PlannedCall { is_certain: false, ..planned(further, Some((0.0, 100.0))) });
        let mut plan = Plan::default();
        plan.expect(&foreseen, &panel());
        plan.see(event(&contributed(PROPOSAL, "agent-kiss", None)), &panel());
        let spent = Spent { tokens: 0, silent_calls: 0, cost: Some(Usd::from_dollars(0.01)) };
        assert_eq!(plan.likely(spent).unwrap().to_string(), "$0.0700");
    }

    #[test]
    fn a_price_that_is_not_known_makes_the_end_unknown() {
        let mut plan = Plan::default();
        plan.expect(&forecast(None), &panel());
        plan.see(event(&contributed(PROPOSAL, "agent-kiss", None)), &panel());
        assert_eq!(plan.likely(Spent::default()), None);
        plan.see(event(&contributed(PROPOSAL, "agent-architect", None)), &panel());
        assert!(plan.likely(Spent::default()).is_some());
        assert_eq!(plan.likely(Spent { tokens: 0, silent_calls: 0, cost: None }), None);
    }
}
