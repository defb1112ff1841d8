//! What a debate has spent, and the observed prices of its models. Folded from the journal, so that a resumed run knows
//! what was spent before a crash.

use std::collections::{BTreeMap, HashMap};

use dialectic_base::call::CallRecord;
use dialectic_base::money::{Amount, Usd};
use dialectic_base::price::Price;
use dialectic_record::event::{Event, Recorded};
use dialectic_record::ids::CallKey;

/// The assumed tokens per byte of a prompt; a higher value that a provider reports takes precedence. Prose has about
/// 0.25, code 0.35, Chinese and Japanese 0.4.
const TOKENS_PER_BYTE: f64 = 0.5;
/// Additional tokens per request, for roles and separators.
const FRAME_TOKENS: u64 = 64;
/// The assumed maximum cost of an attempt relative to the list price, until a model has answered once. Also applies
/// later to providers that state costs, since a router may choose a more expensive server for any call.
const STATED_FACTOR: f64 = 4.0;

/// A provider and a model.
pub(super) type ModelId = (String, String);

#[derive(Debug, Default)]
pub struct CostLedger {
    spent: Usd,
    /// The number of requests sent, including those in flight.
    requests: u32,
    open: BTreeMap<u64, Reservation>,
    models: HashMap<ModelId, Measures>,
}

#[derive(Debug, Clone)]
pub(super) struct Reservation {
    pub(super) key: CallKey,
    pub(super) usd: Usd,
    pub(super) factor: f64,
    pub(super) bytes: u64,
    pub(super) max_tokens: Option<u32>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Measures {
    pub(super) answered: bool,
    /// Whether the provider states the cost of calls.
    states: bool,
    /// The highest stated cost relative to the list price.
    ratio: f64,
    tokens_per_byte: f64,
    /// The greatest length of an answer relative to its output limit.
    overrun: f64,
    /// Whether the server has used a one-hour cache, which costs more. Our requests do not ask for a one-hour cache,
    /// but a proxy may.
    writes_for_an_hour: bool,
}

impl Default for Measures {
    fn default() -> Self {
        Self {
            answered: false,
            states: false,
            ratio: 1.0,
            tokens_per_byte: TOKENS_PER_BYTE,
            overrun: 1.0,
            writes_for_an_hour: false,
        }
    }
}

impl CostLedger {
    pub fn apply(&mut self, recorded: &Recorded, price_of: impl Fn(&CallRecord) -> Option<Price>) {
        let event = &recorded.event;
        if let Event::CostReserved { key, usd, factor, bytes, max_tokens } = event {
            let (key, usd, factor, bytes, max_tokens) = (key.clone(), *usd, *factor, *bytes, *max_tokens);
            self.open.insert(recorded.seq, Reservation { key, usd, factor, bytes, max_tokens });
            self.requests = self.requests.saturating_add(1);
        } else if matches!(event, Event::Resumed(_)) {
            // Calls that were in flight when the previous run ended may have been billed.
            self.abandon();
        } else if let Some(call) = event.call().filter(|call| !call.copied) {
            let failed = matches!(event, Event::AttemptFailed { .. });
            let reserved = call.reservation.and_then(|number| self.open.remove(&number));
            if call.reservation.is_none() && !failed {
                // The call was sent before there was a limit.
                self.requests = self.requests.saturating_add(call.attempts);
            }
            self.spent += call.cost_usd.unwrap_or_else(|| reserved.as_ref().map_or(Usd::ZERO, |of| of.unsaid(failed)));
            if let Some(reserved) = reserved {
                self.learn(&reserved, call, price_of(call), failed);
            }
        }
    }

    /// Adds the reservations of all attempts in flight to what was spent, because no results will arrive.
    pub(super) fn abandon(&mut self) {
        self.spent += std::mem::take(&mut self.open).into_values().map(|of| of.usd).sum();
    }

    pub(super) fn abandon_calls(&mut self, keys: &[CallKey]) {
        let lost: Vec<u64> =
            self.open.iter().filter(|(_, of)| keys.contains(&of.key)).map(|(number, _)| *number).collect();
        for number in lost {
            self.spent += self.open.remove(&number).map_or(Usd::ZERO, |of| of.usd);
        }
    }

    /// What was spent, plus what is reserved for attempts in flight.
    pub fn taken(&self) -> Usd {
        self.spent + self.open.values().map(|of| of.usd).sum()
    }

    pub(super) fn taken_in_all(&self) -> Amount {
        Amount { usd: self.taken(), requests: self.requests }
    }

    /// Whether an attempt in flight may turn out cheaper than its reservation.
    pub(super) fn is_waiting(&self) -> bool {
        self.open.values().any(|of| of.usd > Usd::ZERO)
    }

    pub(super) fn has_in_flight(&self, is_one: impl Fn(&CallKey) -> bool) -> bool {
        self.open.values().any(|of| is_one(&of.key))
    }

    pub(super) fn measures(&self, model: &ModelId) -> Measures {
        self.models.get(model).copied().unwrap_or_default()
    }

    #[expect(clippy::cast_precision_loss, reason = "token and byte counts are far below 2^53")]
    fn learn(&mut self, reserved: &Reservation, call: &CallRecord, price: Option<Price>, failed: bool) {
        let measures = self.models.entry((call.provider.clone(), call.model.clone())).or_default();
        measures.answered |= !failed || call.tokens.is_some();
        measures.states |= call.cost_stated;
        let Some(tokens) = call.tokens else { return };
        measures.writes_for_an_hour |= tokens.cache_write_hour_tokens > 0;
        let input = tokens.input_tokens.saturating_sub(FRAME_TOKENS) as f64;
        measures.tokens_per_byte = measures.tokens_per_byte.max(input / reserved.bytes.max(1) as f64);
        if let Some(max_tokens) = reserved.max_tokens {
            let output = tokens.output_tokens as f64;
            measures.overrun = measures.overrun.max(output / f64::from(max_tokens.max(1)));
        }
        let list = price.map_or(0.0, |price| price.cost(tokens).dollars());
        if let Some(stated) = call.cost_usd.filter(|_| call.cost_stated && list > 0.0) {
            measures.ratio = measures.ratio.max(stated.dollars() / list);
        }
    }
}

impl Reservation {
    /// What to charge for an attempt of unknown cost. A failed attempt is charged its whole reservation, because an
    /// interrupted answer may be billed in full. Other attempts are charged the list price, because providers that
    /// state no cost bill the list price.
    ///
    /// A known cost is charged even if it exceeds its reservation: the server bills for it, and charging less would let
    /// later attempts overspend.
    fn unsaid(&self, failed: bool) -> Usd {
        if failed { self.usd } else { self.usd.times(1.0 / self.factor.max(1.0)) }
    }
}

impl Measures {
    /// The maximum cost of an attempt relative to the list price.
    pub(super) fn factor(&self) -> f64 {
        match (self.answered, self.states) {
            (true, false) => 1.0,
            (false, _) | (true, true) => self.ratio.max(STATED_FACTOR),
        }
    }

    /// Like [`factor`](Self::factor), for attempts that are only planned. `routed` says whether the server's prices may
    /// differ from list prices.
    pub(super) fn planned_factor(&self, routed: bool) -> f64 {
        if self.answered || routed { self.factor() } else { self.ratio }
    }

    /// The expected cost relative to the list price.
    pub(super) fn likely_factor(&self) -> f64 {
        self.ratio
    }

    /// The maximum cost of a request at the list price, assuming that all input is written to the cache. `answer` is
    /// the output limit in tokens.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        clippy::cast_sign_loss,
        reason = "prompts are far below 2^53 bytes, and ratios of counts are not negative"
    )]
    pub(super) fn bound(&self, bytes: usize, answer: u32, price: Price) -> Usd {
        let input = ((bytes as f64 * self.tokens_per_byte).ceil() as u64).saturating_add(FRAME_TOKENS);
        price.most(input, (f64::from(answer) * self.overrun).ceil() as u64, self.writes_for_an_hour)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use dialectic_base::money::BudgetLimit;
    use dialectic_record::ids::{StageId, Timestamp};

    const PRICE: Price = Price::flat(1.0, None, 1.0);

    /// The ledger after these events, numbered from 1.
    fn ledger(events: impl IntoIterator<Item = Event>) -> CostLedger {
        let mut ledger = CostLedger::default();
        for (seq, event) in (1..).zip(events) {
            ledger.apply(&Recorded { seq, at: Timestamp::now(), event }, |_| Some(PRICE));
        }
        ledger
    }

    fn usd(dollars: f64) -> Usd {
        Usd::from_dollars(dollars)
    }

    fn key() -> CallKey {
        CallKey::new(1, StageId::new("proposal"), &"a".into())
    }

    fn reserved(dollars: f64) -> Event {
        Event::CostReserved { key: key(), usd: usd(dollars), factor: 4.0, bytes: 1000, max_tokens: Some(100) }
    }

    fn call(reservation: Option<u64>, cost: Option<f64>, more: &serde_json::Value) -> CallRecord {
        let mut call = json!({"model": "m", "provider": "p", "latencyMs": 0, "attempts": 1});
        call.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let call: CallRecord = serde_json::from_value(call).unwrap();
        CallRecord { reservation, cost_usd: cost.map(usd), ..call }
    }

    fn failed(call: CallRecord) -> Event {
        Event::AttemptFailed { key: key(), error: "broken".to_owned(), call }
    }

    fn answered(call: CallRecord) -> Event {
        let reply = serde_json::from_value(json!({"text": "yes"})).unwrap();
        Event::Replied { key: key(), reply, call }
    }

    #[test]
    fn what_an_attempt_cost_takes_the_place_of_what_was_set_aside() {
        let none = json!({});
        for (settled, taken) in [
            (failed(call(Some(1), Some(0.5), &none)), 0.5),
            (failed(call(Some(1), Some(0.0), &none)), 0.0),
            (failed(call(Some(1), None, &none)), 4.0),
            (answered(call(Some(1), Some(2.0), &none)), 2.0),
            // A server that states no cost bills the list price.
            (answered(call(Some(1), None, &none)), 1.0),
            (failed(call(Some(7), Some(0.5), &none)), 4.5),
            (answered(call(None, Some(3.0), &json!({"copied": true}))), 4.0),
            (Event::Resumed(BudgetLimit::default()), 4.0),
        ] {
            assert_eq!(ledger([reserved(4.0), settled.clone()]).taken(), usd(taken), "{settled:?}");
        }
    }

    #[test]
    fn nothing_is_waited_for_that_a_run_before_left_in_flight() {
        let before = ledger([reserved(4.0)]);
        assert!(before.is_waiting() && before.has_in_flight(|of| *of == key()));
        let after = ledger([
            reserved(4.0),
            Event::Resumed(BudgetLimit::default()),
            reserved(1.0),
            failed(call(Some(3), None, &json!({}))),
        ]);
        assert!(!after.is_waiting());
        assert_eq!(after.taken(), usd(5.0));
        let mut died = ledger([reserved(4.0)]);
        died.abandon_calls(&[key()]);
        assert!(!died.is_waiting());
        assert_eq!(died.taken(), usd(4.0));
    }

    #[test]
    fn what_was_sent_before_there_was_a_limit_counts_with_its_attempts() {
        let before = answered(call(None, Some(0.5), &json!({"attempts": 3})));
        assert_eq!(ledger([before, reserved(1.0)]).taken_in_all(), Amount { usd: usd(1.5), requests: 4 });
    }

    #[test]
    fn a_model_costs_four_times_its_price_until_it_has_answered() {
        let tokens = json!({"tokens": {"inputTokens": 364, "cachedInputTokens": 0, "outputTokens": 200}});
        let stated = json!({"tokens": tokens["tokens"], "costStated": true});
        let model = ("p".to_owned(), "m".to_owned());
        let of = |books: CostLedger| usd(1.0).times(books.measures(&model).factor());
        let cost = |event| of(ledger([reserved(4.0), event]));
        let price = PRICE.cost(call(None, None, &tokens).tokens.unwrap()).dollars();
        assert_eq!(of(ledger([])), usd(4.0));
        assert_eq!(cost(failed(call(Some(1), Some(0.0), &json!({})))), usd(4.0));
        assert_eq!(cost(answered(call(Some(1), Some(price), &tokens))), usd(1.0));
        assert_eq!(cost(answered(call(Some(1), Some(price), &stated))), usd(4.0));
        assert!(cost(answered(call(Some(1), Some(price * 6.0), &stated))) > usd(5.9));
    }

    #[test]
    fn bounds_learn_from_what_answers_took_and_do_not_overflow() {
        let of = |input: u64, output: u64| {
            let tokens = json!({"tokens": {"inputTokens": input, "cachedInputTokens": 0, "outputTokens": output}});
            let ledger = ledger([reserved(4.0), answered(call(Some(1), Some(0.1), &tokens))]);
            ledger.measures(&("p".to_owned(), "m".to_owned())).bound(1000, 100, PRICE)
        };
        assert_eq!(of(100, 50), usd(f64::from(500 + 64 + 100) / 1e6));
        assert_eq!(of(1064, 50), usd(f64::from(1000 + 64 + 100) / 1e6));
        assert_eq!(of(100, 300), usd(f64::from(500 + 64 + 300) / 1e6));
        assert!(of(u64::MAX, u64::MAX) > usd(1_000_000.0));
    }

    proptest! {
        #[test]
        fn an_attempt_counts_as_stated_and_unsaid_as_no_more_than_was_set_aside(
            set_aside in 0.0..10.0_f64,
            stated in prop::option::of(0.0..40.0_f64),
            states_cost in any::<bool>(),
            fails in any::<bool>(),
        ) {
            let more = json!({"costStated": states_cost && stated.is_some()});
            let of = call(Some(1), stated, &more);
            let taken = ledger([reserved(set_aside), if fails { failed(of) } else { answered(of) }]).taken();
            match stated {
                Some(stated) => prop_assert_eq!(taken, usd(stated)),
                None => prop_assert!(taken <= usd(set_aside) && taken >= usd(set_aside).times(0.249)),
            }
            // The whole reservation counts until a result arrives.
            prop_assert_eq!(ledger([reserved(set_aside)]).taken(), usd(set_aside));
        }
    }

    #[test]
    fn what_is_written_to_a_cache_is_set_aside_for_and_for_an_hour_where_that_was_seen() {
        let price = PRICE.with_writes(1.25);
        let of = |hour: u64| {
            let tokens = json!({"tokens": {
                "inputTokens": 100, "cacheWriteTokens": 90, "cacheWriteHourTokens": hour, "outputTokens": 50
            }});
            let ledger = ledger([reserved(4.0), answered(call(Some(1), Some(0.1), &tokens))]);
            ledger.measures(&("p".to_owned(), "m".to_owned())).bound(1000, 100, price)
        };
        assert_eq!(of(0), usd((564.0 * 1.25 + 100.0) / 1e6));
        assert_eq!(of(90), usd((564.0 * 2.0 + 100.0) / 1e6));
    }
}
