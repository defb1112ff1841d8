//! What a debate cost, call by call: at list prices, with cached input at full price.

use std::collections::BTreeMap;

use dialectic_base::call::{CallRecord, Tokens};
use dialectic_base::money::{Price, Usd};
use dialectic_engine::agent::price_of;
use dialectic_record::debate::{Debate, Event, Recorded, Settings};

/// The bill of a debate or an arm: a fold of its journal until its end, so that later questions do not count.
#[derive(Debug, Clone, Default)]
pub struct Bill {
    settings: Option<Box<Settings>>,
    /// By provider and model.
    models: BTreeMap<(String, String), OfModel>,
    input_tokens: u64,
    output_tokens: u64,
    is_over: bool,
}

/// A finished debate or arm, with its bill.
#[derive(Debug, Clone)]
pub struct Done {
    /// The debate.
    pub debate: Debate,
    /// Its bill.
    pub bill: Bill,
}

/// The calls of one model.
#[derive(Debug, Clone, Copy, Default)]
struct OfModel {
    /// The calls of known cost, and their sum.
    known: u32,
    sum: Usd,
    /// The calls of unknown cost.
    unknown: u32,
}

impl Bill {
    /// The bill of a debate with these events, from its first.
    pub fn of<'a>(events: impl IntoIterator<Item = &'a Recorded>) -> Self {
        let mut bill = Self::default();
        for recorded in events {
            bill.add(recorded);
        }
        bill
    }

    /// Adds the next event.
    pub fn add(&mut self, recorded: &Recorded) {
        match &recorded.event {
            Event::Created(created) => self.settings = Some(Box::new(created.settings.clone())),
            Event::Completed { .. } => self.is_over = true,
            event => {
                if let Some(call) = event.call().filter(|call| !call.copied && !self.is_over) {
                    self.count(call);
                }
            }
        }
    }

    fn count(&mut self, call: &CallRecord) {
        if call.tokens.is_none() && !call.is_silent() {
            // It was never sent, or certainly not billed.
            return;
        }
        let cost = self.settings.as_ref().and_then(|settings| full_cost(call, settings));
        let tokens = call.tokens.unwrap_or_default();
        self.input_tokens += tokens.input_tokens;
        self.output_tokens += tokens.output_tokens;
        let of_model = self.models.entry((call.provider.clone(), call.model.clone())).or_default();
        match cost {
            Some(cost) => {
                of_model.known += 1;
                of_model.sum += cost;
            }
            None => of_model.unknown += 1,
        }
    }

    /// The cost; `None` if unknown. A few calls of unknown cost count as the mean of the model's others, so that a broken
    /// connection, which reports no tokens, does not make the debate unmeasurable.
    pub fn full(&self) -> Option<Usd> {
        let of = |OfModel { known, sum, unknown }: &OfModel| match unknown {
            0 => Some(*sum),
            unknown if unknown.saturating_mul(2) > *known => None,
            unknown => Some(*sum + sum.times(f64::from(*unknown) / f64::from(*known))),
        };
        // A record without its first event is no debate.
        self.settings.as_ref()?;
        self.models.values().map(of).sum()
    }

    /// How many calls [`full`](Self::full) estimates.
    pub fn estimated(&self) -> u64 {
        self.full().map_or(0, |_| self.models.values().map(|of_model| u64::from(of_model.unknown)).sum())
    }

    /// The tokens of input and output that were reported.
    pub fn tokens(&self) -> [u64; 2] {
        [self.input_tokens, self.output_tokens]
    }
}

/// The cost of a call at the list price, also of one that a subscription covered, with cached input at full price.
fn full_cost(call: &CallRecord, settings: &Settings) -> Option<Usd> {
    let agent = settings.everybody().find(|agent| agent.provider == call.provider && agent.model == call.model);
    let price = agent.and_then(|agent| price_of(agent, settings));
    let listed = |tokens: Tokens| price.map(|price| price.cost(tokens));
    let is_free = price.is_some_and(Price::is_free);
    let billed = match (call.cost_usd, call.notional_usd) {
        (cost, Some(notional)) => Some(cost.unwrap_or_default() + notional),
        (Some(cost), None) if cost > Usd::ZERO || call.cost_stated || is_free => Some(cost),
        // A subscription covered it, or its cost is unknown.
        (Some(_) | None, None) => call.tokens.and_then(listed),
    }?;
    let Some(tokens) = call.tokens.filter(|tokens| tokens.cached_input_tokens > 0) else { return Some(billed) };
    let without = listed(Tokens { cached_input_tokens: 0, ..tokens })?;
    Some(billed + without.saturating_sub(listed(tokens)?))
}

#[cfg(test)]
mod tests {
    use dialectic_base::money::LongPrice;
    use dialectic_record::debate::{CallKey, Created, StageId, Timestamp, default_settings};
    use serde_json::json;

    use super::*;

    fn price() -> Price {
        Price { cache_write_per_m_tok: Some(12.5), ..Price::flat(10.0, Some(1.0), 20.0) }
    }

    fn call(tokens: Option<Tokens>, cost: Option<f64>) -> CallRecord {
        let call = json!({"model": "m", "provider": "p", "latencyMs": 0, "attempts": 1});
        let call: CallRecord = serde_json::from_value(call).unwrap();
        CallRecord { tokens, cost_usd: cost.map(Usd::from_dollars), ..call }
    }

    fn tokens(input_tokens: u64, cached_input_tokens: u64) -> Tokens {
        Tokens { input_tokens, cached_input_tokens, ..Tokens::default() }
    }

    fn bill(price: Price, calls: impl IntoIterator<Item = CallRecord>) -> Bill {
        let mut settings = default_settings();
        settings.judge.model = "m".to_owned();
        settings.judge.provider = "p".to_owned();
        settings.prices.insert("m".to_owned(), price);
        settings.terms.prices.insert(("p".to_owned(), "m".to_owned()), Some(price));
        let mut bill = Bill { settings: Some(Box::new(settings)), ..Bill::default() };
        for call in calls {
            bill.count(&call);
        }
        bill
    }

    fn dollars(dollars: f64) -> Usd {
        Usd::from_dollars(dollars)
    }

    #[test]
    fn each_call_is_priced_by_itself() {
        let long = LongPrice {
            above: 200_000,
            input_per_m_tok: 100.0,
            cached_input_per_m_tok: None,
            cache_write_per_m_tok: None,
            output_per_m_tok: 200.0,
        };
        let price = Price { long: Some(long), ..price() };
        // Together they are longer than one request at the price of short ones.
        let calls = vec![call(Some(tokens(150_000, 0)), None), call(Some(tokens(150_000, 0)), None)];
        assert_eq!(bill(price, calls).full(), Some(dollars(3.0)));
        // What was written to the cache costs what it cost.
        let written = Tokens { input_tokens: 100_000, cache_write_tokens: 100_000, ..Tokens::default() };
        assert_eq!(bill(price, [call(Some(written), None)]).full(), Some(dollars(1.25)));
    }

    #[test]
    fn cached_input_counts_in_full_also_where_a_subscription_covers_it() {
        assert_eq!(bill(price(), [call(Some(tokens(200_000, 100_000)), Some(1.1))]).full(), Some(dollars(2.0)));
        let covered =
            CallRecord { notional_usd: Some(dollars(1.1)), ..call(Some(tokens(200_000, 100_000)), Some(0.0)) };
        assert_eq!(bill(price(), [covered]).full(), Some(dollars(2.0)));
        // A server stated less than the list price.
        let stated = CallRecord { cost_stated: true, ..call(Some(tokens(200_000, 100_000)), Some(0.6)) };
        assert_eq!(bill(price(), [stated]).full(), Some(dollars(1.5)));
        assert_eq!(
            bill(price(), [CallRecord { model: "other".to_owned(), ..call(Some(tokens(9, 5)), Some(0.6)) }]).full(),
            None
        );
    }

    #[test]
    fn a_call_of_unknown_cost_counts_as_the_mean_of_those_whose_cost_is_known() {
        let known = || call(Some(tokens(100_000, 0)), Some(1.0));
        let lost = CallRecord { attempts: 0, ..call(None, None) };
        let without_tokens = call(None, None);
        for unknown in [lost, without_tokens] {
            let calls = [known(), known(), known(), unknown.clone()];
            let bill = bill(price(), calls);
            assert_eq!((bill.full(), bill.estimated()), (Some(dollars(4.0)), 1), "{unknown:?}");
        }
        let most = bill(price(), [known(), call(None, None)]);
        assert_eq!((most.full(), most.estimated()), (None, 0), "half of it is unknown: nothing is estimated");
    }

    #[test]
    fn an_attempt_of_a_subscription_that_was_lost_is_not_free() {
        let covered = CallRecord { notional_usd: Some(dollars(1.0)), ..call(Some(tokens(100_000, 0)), Some(0.0)) };
        let lost = call(None, Some(0.0));
        let all = bill(price(), [covered.clone(), covered.clone(), lost.clone()]);
        assert_eq!((all.full(), all.estimated()), (Some(dollars(3.0)), 1));
        // It was never sent.
        let unsent = CallRecord { attempts: 0, ..lost.clone() };
        assert_eq!(bill(price(), [covered, unsent]).full(), Some(dollars(1.0)));
        // A model without a price is.
        assert_eq!(bill(Price::FREE, [lost]).full(), Some(dollars(0.0)));
    }

    #[test]
    fn questions_after_the_end_do_not_count() {
        let mut settings = default_settings();
        settings.judge.model = "m".to_owned();
        settings.judge.provider = "p".to_owned();
        let created: Created = serde_json::from_value(json!({
            "formatVersion": 2, "id": "deb-1", "problem": "p", "settings": settings, "stages": [], "seed": 1,
            "promptSources": {"judge": {"id": "judge", "source": "built-in"}},
        }))
        .unwrap();
        let key = CallKey::new(1, StageId::new("proposal"), &"a".into());
        let replied = || Event::Replied {
            key: key.clone(),
            reply: serde_json::from_value(json!({"text": "yes"})).unwrap(),
            call: call(None, Some(1.0)),
        };
        let completed: Event =
            serde_json::from_value(json!({"type": "completed", "outcome": {"kind": "full", "reasons": []}})).unwrap();
        let events = [Event::Created(Box::new(created)), replied(), completed, replied()];
        let events: Vec<Recorded> =
            (1..).zip(events).map(|(seq, event)| Recorded { seq, at: Timestamp::now(), event }).collect();
        assert_eq!(Bill::of(&events).full(), Some(dollars(1.0)));
    }
}
