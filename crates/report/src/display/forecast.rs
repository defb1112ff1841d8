//! Shows the forecast of a debate, and tracks how many of its calls remain.

use std::collections::{BTreeMap, BTreeSet};

use dialectic_base::figures::{cost, counted, list, short_cost, thousands};
use dialectic_base::money::Usd;
use dialectic_base::sanitize::one_line;
use dialectic_record::debate::ModelUsage;
use dialectic_record::event::Event;
use dialectic_record::ids::{CallKey, StageId};
use dialectic_record::live::{Forecast, PanelInfo, PlannedCall, Progress, Purchase, Signal, Span};

use super::layout::{Layout, StyledText, Table, TableColumn};

pub fn forecast(forecast: &Forecast, layout: Layout) -> String {
    let mut groups: Vec<((StageId, &str), Vec<&PlannedCall>)> = Vec::new();
    for call in &forecast.calls {
        let its = (call.key.stage, call.model.as_str());
        match groups.iter_mut().find(|(group, _)| *group == its) {
            Some((_, calls)) => calls.push(call),
            None => groups.push((its, vec![call])),
        }
    }
    let mut table = Table::new([
        TableColumn::text("Stage"),
        TableColumn::text("Model").rank(2),
        TableColumn::figure("Calls"),
        TableColumn::figure("Max tokens").rank(1),
        TableColumn::figure("Likely cost"),
        TableColumn::figure("Max cost"),
    ]);
    for ((stage, model), calls) in groups {
        let certain = calls.iter().filter(|call| call.is_certain);
        let low = certain.clone().count() as u64;
        let high: u64 = calls.iter().map(|call| call.requests()).sum();
        let most = calls.iter().map(|call| call.most_tokens());
        let tokens: u64 = most.map(|(input, output)| input.saturating_add(output)).sum();
        let likely: Option<Usd> = certain.map(|call| call.likely()).sum();
        let most: Option<Usd> = calls.iter().map(|call| call.cost.map(|cost| cost.high)).sum();
        let cells = [
            one_line(stage.as_str()),
            one_line(model),
            if low == high { high.to_string() } else { format!("{low} to {high}") },
            thousands(tokens),
            cost(likely),
            cost(most),
        ];
        table.row(cells.map(StyledText::plain));
    }
    table.drawn(layout)
}

/// The calls and cost of a debate on one line: `38 calls, likely $0.08, at most $0.28`. `limit` is the cost limit, if
/// any.
pub fn price_tag(forecast: &Forecast, limit: Option<Usd>) -> String {
    let Span { low, high } = forecast.count();
    let max_calls = forecast.purchase.as_ref().and_then(|purchase| purchase.limit.calls).map(u64::from);
    let calls = match max_calls.filter(|most| *most < high) {
        Some(most) => Span { low: low.min(most), high: most }.counted("call") + " (the limit)",
        None => Span { low, high }.counted("call"),
    };
    let Some((likely, most)) = forecast.likely().zip(forecast.most()) else {
        let models = forecast.unpriced();
        let first = models.first().copied().map(one_line).unwrap_or_default();
        let more = if models.len() > 1 { format!(" and {} more", models.len() - 1) } else { String::new() };
        return format!("{calls}, of unknown cost (no price is known for {first}{more})");
    };
    if most == Usd::ZERO {
        return format!("{calls}, at no cost");
    }
    // What is set aside for a cost limit includes repeated requests, which the forecast omits.
    let set_aside = forecast.purchase.as_ref().filter(|purchase| purchase.limit.usd.is_some());
    let most = set_aside.map_or(most, |purchase| most.max(purchase.all_rounds.usd));
    let shown = |amount: Usd| short_cost(amount.rounded_up());
    let (most, reason) = match limit {
        Some(limit) if limit < most => (limit, " (the limit)"),
        Some(_) | None => (most, ""),
    };
    format!("{calls}, likely {}, at most {}{reason}", shown(likely.min(most)), shown(most))
}

pub fn purchase(purchase: &Purchase) -> String {
    let Purchase { limit, all_rounds, bought, rounds, left_out, answer_limit, .. } = purchase;
    let held = answer_limit.map(|tokens| format!(", with answers of at most {} tokens", thousands(tokens.into())));
    let held = held.unwrap_or_default();
    let without = if left_out.is_empty() { String::new() } else { format!(", without {}", list(left_out)) };
    let covered = match (bought, rounds) {
        (bought, rounds) if bought < rounds => format!("{bought} of {rounds} rounds"),
        (_, 1) => "the round".to_owned(),
        (_, rounds) => format!("all {rounds} rounds"),
    };
    let (of_cost, calls) = (limit.usd.is_some(), counted(all_rounds.requests.into(), "call"));
    let all_rounds = match limit.calls {
        Some(_) if of_cost => format!("{} and {calls}", all_rounds.usd),
        Some(_) => calls,
        None => all_rounds.usd.to_string(),
    };
    let all = match (bought < rounds, left_out.is_empty()) {
        (false, true) => String::new(),
        (true, true) => format!("; all rounds need up to {all_rounds}"),
        (true | false, false) => format!("; the whole debate needs up to {all_rounds}"),
    };
    format!("The {limit} covers {covered}{held}{without}{all}.")
}

/// The calls of the forecast that are still to come, and the costs of the finished calls.
#[derive(Debug, Default)]
pub(super) struct Plan {
    /// The number of calls that will certainly be made, by round and stage.
    stages: BTreeMap<(u32, StageId), usize>,
    to_come: BTreeMap<CallKey, PlannedCall>,
    /// The last round that is likely to happen; further rounds are only possible.
    likely_rounds: u32,
    /// The finished calls, each with its cost; `None` if the cost is unknown.
    settled: BTreeMap<CallKey, Option<Usd>>,
    over: BTreeSet<(u32, StageId)>,
    /// The range of the total number of calls. Its bounds only move closer together, unless calls exceed the forecast.
    calls: Option<Span<u64>>,
    /// The forecast cost of the finished calls whose actual cost is known.
    foreseen: Span<Usd>,
    /// The actual cost of the calls counted in `foreseen`.
    cost: Usd,
    /// Whether no further round will begin.
    is_closing: bool,
}

impl Plan {
    /// Adds the forecast, which may arrive while the debate is running.
    pub(super) fn expect(&mut self, forecast: &Forecast, progress: &Progress) {
        let panel = progress.panel();
        self.likely_rounds = panel.rounds;
        for call in &forecast.calls {
            if call.is_certain {
                *self.stages.entry((call.key.round, call.key.stage)).or_default() += 1;
            }
            self.to_come.insert(call.key.clone(), call.clone());
        }
        for (key, cost) in self.settled.clone() {
            self.settle(&key, cost, panel);
        }
        self.narrow(progress);
    }

    /// Updates the plan. Must be called after `progress` has seen `signal`.
    pub(super) fn see(&mut self, signal: &Signal, progress: &Progress) {
        let panel = progress.panel();
        match signal {
            Signal::StageEnded { stage, round, .. } => {
                self.over.insert((*round, *stage));
            }
            Signal::Recorded(recorded) => {
                let event = &recorded.event;
                if let Some((key, _)) = event.settles() {
                    let cost = event.call().and_then(|call| call.cost_usd);
                    self.settled.insert(key.clone(), cost);
                    self.settle(key, cost, panel);
                }
                if let Event::StageEntered { stage } = event {
                    let is_behind_rounds =
                        panel.stage(*stage).is_some_and(|stage| !stage.in_round && stage.yields.is_some());
                    self.is_closing |= is_behind_rounds && self.settled.keys().any(|key| key.round > 0);
                }
            }
            _ => return,
        }
        self.narrow(progress);
    }

    fn settle(&mut self, key: &CallKey, cost: Option<Usd>, panel: &PanelInfo) {
        // If the rounds end early, the calls after the rounds have an earlier round number than forecast.
        let is_in_round = panel.stage(key.stage).is_none_or(|stage| stage.in_round);
        let is_same = |other: &CallKey| !is_in_round && CallKey { round: key.round, ..other.clone() } == *key;
        let found =
            if self.to_come.contains_key(key) { Some(key) } else { self.to_come.keys().find(|one| is_same(one)) };
        let found = found.cloned().and_then(|key| self.to_come.remove(&key));
        if let Some((foreseen, cost)) = found.and_then(|call| call.cost).zip(cost) {
            self.foreseen = self.foreseen + foreseen;
            self.cost += cost;
        }
    }

    fn narrow(&mut self, progress: &Progress) {
        let panel = progress.panel();
        let in_round = |stage| panel.stage(stage).is_some_and(|stage| stage.in_round);
        self.to_come.retain(|key, _| {
            let is_over = self.over.contains(&(key.round, key.stage));
            let is_past = self.is_closing && in_round(key.stage);
            !is_over && !is_past
        });
        if !self.stages.is_empty() {
            let made = progress.spent().requests;
            let certain = self.to_come.values().filter(|call| call.is_certain).count() as u64;
            let (low, high) = (made + certain, made + self.to_come.values().map(PlannedCall::requests).sum::<u64>());
            let before = self.calls.unwrap_or(Span { low, high });
            // There may be more calls than forecast, since forecasts do not include tool turns and repeated requests.
            let high = high.min(before.high).max(made);
            self.calls = Some(Span { low: low.max(before.low).min(high), high });
        }
    }

    pub(super) fn stages(&self, round: u32) -> impl Iterator<Item = (StageId, usize)> {
        let of_round = self.stages.iter().filter(move |((of, _), _)| *of == round);
        of_round.map(|((_, stage), calls)| (*stage, *calls))
    }

    pub(super) fn calls(&self) -> Option<Span<u64>> {
        self.calls
    }

    /// The likely final cost, extrapolated from the cost of the finished calls. `None` before the first call has
    /// finished, or if a price is unknown.
    pub(super) fn likely(&self, spent: ModelUsage) -> Option<Usd> {
        let room = self.foreseen.high.saturating_sub(self.foreseen.low).dollars();
        if room <= 0.0 {
            return None;
        }
        let least = self.foreseen.low.dollars();
        // If finished answers cost less than their minimum, assume that later ones do too.
        let part_of_least = if least > 0.0 { (self.cost.dollars() / least).min(1.0) } else { 1.0 };
        let share = (self.cost.saturating_sub(self.foreseen.low).dollars() / room).clamp(0.0, 1.0);
        let of = |span: &Span<Usd>| span.low.times(part_of_least) + span.high.saturating_sub(span.low).times(share);
        let likely = self.to_come.values().filter(|call| call.is_certain || call.key.round <= self.likely_rounds);
        let to_come: Option<Usd> = likely.map(|call| call.cost.as_ref().map(of)).sum();
        Some(spent.cost_usd? + to_come?)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use dialectic_record::debate::fixture::{self, CRITIQUE, PROPOSAL, SYNTHESIS, contributed, key, panel, planned};
    use dialectic_record::live::{PlannedCall, Span};

    use super::*;

    #[test]
    fn a_row_adds_up_the_calls_of_a_stage_with_a_model() {
        let call = |stage, model: &str, dollars, is_certain| PlannedCall {
            model: model.to_owned(),
            is_certain,
            input: Span { low: 10, high: 2000 },
            output: Span { low: 1, high: 500 },
            ..planned(key(stage, "agent-kiss", None), dollars)
        };
        let calls = vec![
            call(PROPOSAL, "small", Some((0.01, 0.04)), true),
            call(PROPOSAL, "great", None, true),
            call(PROPOSAL, "small", Some((0.01, 0.04)), true),
            call(CRITIQUE, "small", Some((0.01, 0.09)), true),
            call(CRITIQUE, "small", Some((0.01, 0.09)), false),
        ];
        let planned = Forecast { calls, purchase: None };
        let drawn = |width| forecast(&planned, Layout { width, color: false });
        insta::assert_snapshot!(drawn(None), @r"
        Stage     Model   Calls  Max tokens  Likely cost  Max cost
        proposal  small       2       5,000      $0.0400   $0.0800
        proposal  great       1       2,500      unknown   unknown
        critique  small  1 to 2       5,000      $0.0300   $0.1800
        ");
        for width in [40, 60, 80] {
            let drawn = drawn(Some(width));
            assert!(drawn.lines().all(|line| line.chars().count() <= width), "{drawn}");
            assert!(drawn.contains("critique") && drawn.contains("$0.1800"), "{drawn}");
        }
    }

    fn foreseen_at(price: Option<(f64, f64)>) -> Forecast {
        let key = |stage, agent| fixture::key(stage, agent, None);
        let calls = vec![
            planned(key(PROPOSAL, "agent-kiss"), Some((0.005, 0.025))),
            planned(key(PROPOSAL, "agent-architect"), price),
            planned(key(CRITIQUE, "agent-architect"), Some((0.01, 0.05))),
            planned(key(SYNTHESIS, "judge"), Some((0.01, 0.05))),
        ];
        Forecast { calls, purchase: None }
    }

    /// The plan after the forecast and these signals, with the progress.
    fn after(forecast: &Forecast, signals: &[Signal]) -> (Plan, Progress) {
        let now = Instant::now();
        let (mut plan, mut progress) = (Plan::default(), Progress::new(panel(), now));
        plan.expect(forecast, &progress);
        for signal in signals {
            progress.see(signal, now);
            plan.see(signal, &progress);
        }
        (plan, progress)
    }

    #[test]
    fn what_is_to_come_costs_as_much_as_what_has_come_leads_to_expect() {
        let now = Instant::now();
        let mut progress = Progress::new(panel(), now);
        let mut plan = Plan::default();
        // The forecast arrives after the first call.
        let one_cent = contributed(PROPOSAL, "agent-kiss", None);
        progress.see(&one_cent, now);
        plan.see(&one_cent, &progress);
        assert_eq!(plan.likely(progress.spent()), None);
        plan.expect(&foreseen_at(Some((0.01, 0.05))), &progress);
        // A quarter of the range: 1 cent, and 2 for each of the three others.
        assert_eq!(plan.likely(progress.spent()).unwrap().to_string(), "$0.0700");
        assert_eq!(plan.stages(1).collect::<Vec<_>>(), [(CRITIQUE, 1), (PROPOSAL, 2), (SYNTHESIS, 1)]);
        plan.see(&fixture::stage_entered(SYNTHESIS), &progress);
        assert_eq!(plan.likely(progress.spent()).unwrap().to_string(), "$0.0300");
    }

    #[test]
    fn a_round_that_was_not_asked_for_is_possible_and_not_likely() {
        let mut foreseen = foreseen_at(Some((0.01, 0.05)));
        let further = CallKey { round: panel().rounds + 1, ..fixture::key(PROPOSAL, "agent-kiss", None) };
        foreseen.calls.push(PlannedCall { is_certain: false, ..planned(further, Some((0.0, 1.0))) });
        let (plan, progress) = after(&foreseen, &[contributed(PROPOSAL, "agent-kiss", None)]);
        assert_eq!(plan.likely(progress.spent()).unwrap().to_string(), "$0.0700");
        assert_eq!(plan.calls().unwrap().counted("call"), "4 to 5 calls");
    }

    #[test]
    fn the_range_of_calls_only_narrows_and_ends_with_the_calls_that_were_made() {
        let mut foreseen = foreseen_at(Some((0.01, 0.05)));
        let critique = |agent| fixture::key(CRITIQUE, agent, Some("agent-architect"));
        // In a debate that ends early, the last call is in an earlier round than forecast.
        foreseen.calls[3].key.round = 2;
        foreseen.calls.push(PlannedCall { is_certain: false, ..planned(critique("agent-kiss"), None) });
        let synthesized = fixture::recorded(Event::Synthesized {
            key: Some(fixture::key(SYNTHESIS, "judge", None)),
            text: None,
            solution: Box::default(),
            call: Some(fixture::call(None)),
        });
        let signals = [
            contributed(PROPOSAL, "agent-kiss", None),
            contributed(PROPOSAL, "agent-architect", None),
            // A carried-over text needs no call.
            fixture::carried_over(PROPOSAL, "agent-performance"),
            fixture::stage_ended(PROPOSAL, 3, 0),
            // Neither critique was made.
            fixture::stage_ended(CRITIQUE, 0, 0),
            fixture::stage_entered(SYNTHESIS),
            synthesized,
        ];
        let ranges = (0..=signals.len()).map(|seen| {
            let (plan, progress) = after(&foreseen, &signals[..seen]);
            format!("{} of {}", progress.spent().requests, plan.calls().unwrap().counted("call"))
        });
        assert_eq!(
            ranges.collect::<Vec<_>>(),
            [
                "0 of 4 to 5 calls",
                "1 of 4 to 5 calls",
                "2 of 4 to 5 calls",
                "2 of 4 to 5 calls",
                "2 of 4 to 5 calls",
                "2 of 3 calls",
                "2 of 3 calls",
                "3 of 3 calls",
            ]
        );
    }

    #[test]
    fn a_price_that_is_not_known_makes_the_end_unknown() {
        let kiss = contributed(PROPOSAL, "agent-kiss", None);
        let (plan, _) = after(&foreseen_at(None), std::slice::from_ref(&kiss));
        assert_eq!(plan.likely(ModelUsage::NONE), None);
        let (plan, _) = after(&foreseen_at(None), &[kiss, contributed(PROPOSAL, "agent-architect", None)]);
        assert!(plan.likely(ModelUsage::NONE).is_some());
        assert_eq!(plan.likely(ModelUsage::default()), None);
    }
}
