//! Compares answers to the same problem in pairs, blind and in both orders, and counts the wins.

use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use futures_util::future::{join, join_all};
use serde::Deserialize;
use serde_json::json;
use tokio::sync::Semaphore;

use dialectic_base::money::Usd;
use dialectic_base::provider::OFFLINE;
use dialectic_config::evaluators::{EVALUATOR_TEMPERATURE, EvaluatorSettings};
use dialectic_engine::agent::{AnswerError, read_json};
use dialectic_engine::engine::planned_json_calls;
use dialectic_llm::models::family;
use dialectic_llm::{AnswerSchema, Caller, Request, request_bytes, strict_object};
use dialectic_record::ids::CallKey;
use dialectic_record::live::PlannedCall;
use dialectic_record::prompt::evaluation::{pairwise_checklist, pairwise_ruling, pairwise_system};
use dialectic_record::protocol::questions::follow_up_info;
use dialectic_record::settings::AgentSettings;

use super::run::{IN_FLIGHT, Skipped, Usage, ask};

const MOST_ITEMS: usize = 15;
/// The maximum number of characters in an item of a checklist.
const MOST_CHARACTERS: usize = 400;
/// The minimum number of decided problems for a significant result: even five wins out of five give p = 0.0625.
pub const FEWEST: u32 = 6;

pub struct Judge {
    pub settings: EvaluatorSettings,
    pub caller: Caller,
}

/// A problem, and pairs of answers to it with one answer from each side.
#[derive(Debug, Clone, PartialEq)]
pub struct Contest {
    pub name: String,
    pub problem: String,
    /// What an answer should fulfil. If empty, the first judge derives a list from the problem.
    pub checklist: Vec<String>,
    pub pairs: Vec<[String; 2]>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    A,
    B,
}

/// A judge's verdict on two answers, which the judge read in both orders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ruling {
    Better(Side),
    Equal,
    /// The verdict changed with the order, so it says nothing about the answers.
    Turned,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Ruled {
    pub judge: String,
    pub ruling: Ruling,
    /// The preferred side and the reason: with A shown first, then with B shown first.
    pub said: [(Option<Side>, String); 2],
}

#[derive(Debug, Clone, PartialEq)]
pub struct Compared {
    /// Empty if no judge could answer.
    pub rulings: Vec<Ruled>,
    /// Why rulings are missing, if any are.
    pub faults: Vec<String>,
    /// `None` if unknown.
    pub cost: Option<Usd>,
}

#[derive(Deserialize)]
struct Checklist {
    items: Vec<String>,
}

/// A judge's preference between two texts, numbered in the order shown.
#[derive(Deserialize)]
struct Preference {
    #[serde(default)]
    reason: String,
    better: Better,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Better {
    First,
    Second,
    Neither,
}

static CHECKLIST: LazyLock<Arc<AnswerSchema>> = LazyLock::new(|| {
    let item = json!({ "type": "string", "maxLength": MOST_CHARACTERS });
    let items = json!({ "type": "array", "items": item, "minItems": 1, "maxItems": MOST_ITEMS });
    Arc::new(AnswerSchema { name: "checklist", schema: strict_object([("items", items)]) })
});

static RULING: LazyLock<Arc<AnswerSchema>> = LazyLock::new(|| {
    let ticks = json!({ "type": "array", "items": { "type": "boolean" }, "maxItems": 20 });
    let schema = strict_object([
        ("first", ticks.clone()),
        ("second", ticks),
        ("reason", json!({ "type": "string", "maxLength": 1500 })),
        ("better", json!({ "type": "string", "enum": ["first", "second", "neither"] })),
    ]);
    Arc::new(AnswerSchema { name: "comparison", schema })
});

impl Judge {
    fn request(&self, prompt: String, answer: &Arc<AnswerSchema>) -> Request {
        Request {
            model: self.settings.model.as_str().into(),
            temperature: EVALUATOR_TEMPERATURE,
            max_tokens: self.settings.max_tokens,
            system: pairwise_system().into(),
            prompt: prompt.into(),
            turns: Vec::new(),
            answer: Some(Arc::clone(answer)),
            tools: Arc::new([]),
            tools_are_optional: false,
        }
    }

    fn checklist_request(&self, problem: &str) -> Request {
        self.request(pairwise_checklist(problem), &CHECKLIST)
    }

    fn ruling_request(&self, problem: &str, checklist: &[String], texts: [&str; 2]) -> Request {
        self.request(pairwise_ruling(problem, checklist, texts), &RULING)
    }

    /// The two possible calls for `request`. The second is made only if the answer to the first cannot be read.
    fn planned(&self, request: &Request) -> [PlannedCall; 2] {
        let EvaluatorSettings { id, provider, model, max_tokens, .. } = &self.settings;
        // The call belongs to no stage of a debate, so use the stage of follow-up questions.
        let key = CallKey::new(0, follow_up_info().id, id);
        planned_json_calls(key, (provider, model), *max_tokens, self.caller.price, request_bytes(request))
    }

    async fn checklist(&self, problem: &str) -> (Result<Vec<String>, Skipped>, Usage) {
        // Accept an empty list from the offline provider, which makes no checklist.
        let is_offline = self.settings.provider == OFFLINE;
        let read = move |text: &str| {
            let Checklist { items } = read_json(text)?;
            if !is_offline && items.iter().all(|item| item.trim().is_empty()) {
                return Err(AnswerError::Unfit { message: "`items` is empty".to_owned() });
            }
            Ok(items)
        };
        ask(&self.caller, self.checklist_request(problem), read).await
    }

    async fn ruling(
        &self,
        problem: &str,
        checklist: &[String],
        [a, b]: [&str; 2],
        in_flight: &Semaphore,
        noted: &(dyn Fn(Usage) + Sync),
    ) -> Result<Ruled, Skipped> {
        let prefers = async |texts, [first, second]: [Side; 2]| {
            // The semaphore is never closed; proceeding without a permit would still be correct.
            let _permit = in_flight.acquire().await;
            let request = self.ruling_request(problem, checklist, texts);
            let (answer, usage) = ask(&self.caller, request, read_json::<Preference>).await;
            noted(usage);
            let Preference { reason, better } = answer?;
            let side = match better {
                Better::First => Some(first),
                Better::Second => Some(second),
                Better::Neither => None,
            };
            Ok((side, reason))
        };
        let (one, other) = join(prefers([a, b], [Side::A, Side::B]), prefers([b, a], [Side::B, Side::A])).await;
        let (one, other) = (one?, other?);
        let ruling = Ruling::of(one.0, other.0);
        Ok(Ruled { judge: self.settings.id.to_string(), ruling, said: [one, other] })
    }
}

impl Ruling {
    /// `one` and `other` are the sides that the judge preferred in the first and in the second order; `None` means that
    /// it preferred neither.
    pub fn of(one: Option<Side>, other: Option<Side>) -> Self {
        match (one, other) {
            (one, other) if one != other => Self::Turned,
            (Some(side), _) => Self::Better(side),
            (None, _) => Self::Equal,
        }
    }
}

impl Contest {
    pub fn planned(&self, judges: &[Judge], repeat: u32) -> Vec<PlannedCall> {
        let mut calls = Vec::new();
        let Some(first) = judges.first().filter(|_| !self.pairs.is_empty()) else { return calls };
        let mut checklist = self.checklist.clone();
        if checklist.is_empty() {
            calls.extend(first.planned(&first.checklist_request(&self.problem)));
            // Assume the longest possible checklist.
            checklist = vec!["x".repeat(MOST_CHARACTERS); MOST_ITEMS];
        }
        for judge in judges {
            for [a, b] in &self.pairs {
                let request = judge.ruling_request(&self.problem, &checklist, [a, b]);
                let both_orders = 2 * repeat as usize;
                calls.extend(vec![judge.planned(&request); both_orders].into_iter().flatten());
            }
        }
        calls
    }

    /// `noted` receives the usage of each request when the request ends. Also returns why rulings are missing.
    async fn compare(
        &self,
        judges: &[Judge],
        repeat: u32,
        in_flight: &Semaphore,
        noted: &(dyn Fn(Usage) + Sync),
    ) -> (Vec<Ruled>, Vec<String>) {
        let Some(first) = judges.first().filter(|_| !self.pairs.is_empty()) else { return (Vec::new(), Vec::new()) };
        let fault = |judge: &Judge, skipped: &Skipped| format!("{}: judge {}: {skipped}", self.name, judge.settings.id);
        let mut checklist = self.checklist.clone();
        if checklist.is_empty() {
            let permit = in_flight.acquire().await;
            let (made, usage) = first.checklist(&self.problem).await;
            drop(permit);
            noted(usage);
            match made {
                Ok(made) => checklist = made,
                // Rulings without a checklist are not comparable.
                Err(skipped) => return (Vec::new(), vec![fault(first, &skipped)]),
            }
        }
        let asked = judges.iter().flat_map(|judge| {
            self.pairs
                .iter()
                .flat_map(move |pair| (0..repeat).map(move |_| (judge, [pair[0].as_str(), pair[1].as_str()])))
        });
        let ruled = asked.map(async |(judge, texts)| {
            let ruled = judge.ruling(&self.problem, &checklist, texts, in_flight, noted).await;
            ruled.map_err(|skipped| fault(judge, &skipped))
        });
        let (mut rulings, mut faults) = (Vec::new(), Vec::new());
        for ruled in join_all(ruled).await {
            match ruled {
                Ok(ruled) => rulings.push(ruled),
                Err(fault) => faults.push(fault),
            }
        }
        (rulings, faults)
    }
}

/// Has the judges compare all contests, with limited concurrency. The results are in the order of `contests`. `noted`
/// receives the cost of each request when the request ends, because a caller that stops waiting has still spent the
/// money.
pub async fn compare(
    judges: &[Judge],
    contests: &[Contest],
    repeat: u32,
    noted: &(dyn Fn(Usd) + Sync),
) -> Vec<Compared> {
    let in_flight = Semaphore::new(IN_FLIGHT);
    join_all(contests.iter().map(async |contest| {
        let usage = Mutex::new(Usage::NONE);
        let add = |more: Usage| {
            let mut usage = usage.lock().unwrap_or_else(PoisonError::into_inner);
            *usage = usage.and(more);
            noted(more.cost.unwrap_or_default());
        };
        let (rulings, faults) = contest.compare(judges, repeat, &in_flight, &add).await;
        let cost = usage.lock().unwrap_or_else(PoisonError::into_inner).cost;
        Compared { rulings, faults, cost }
    }))
    .await
}

/// The side that wins more than half of the rulings that did not change with the order; `None` if neither does.
pub fn decide(rulings: &[Ruled]) -> Option<Side> {
    let count = |wanted: Ruling| rulings.iter().filter(|ruled| ruled.ruling == wanted).count();
    let (a, b) = (count(Ruling::Better(Side::A)), count(Ruling::Better(Side::B)));
    let half = (a + b + count(Ruling::Equal)) / 2;
    match (a > half, b > half) {
        (true, _) => Some(Side::A),
        (_, true) => Some(Side::B),
        (false, false) => None,
    }
}

/// The exact two-sided sign test: the probability of a result at least as uneven if wins and losses are equally likely.
pub fn sign_test(wins: u32, losses: u32) -> f64 {
    let n = wins + losses;
    // Use logarithms, because the first probability may be too small for a float.
    let mut logarithm = f64::from(n) * 0.5_f64.ln();
    let mut tail = 0.0;
    for k in 0..=wins.min(losses) {
        tail += logarithm.exp();
        logarithm += (f64::from(n - k) / f64::from(k + 1)).ln();
    }
    (2.0 * tail).min(1.0)
}

/// Excludes judges whose model family took part or is unknown, because models prefer their own texts. Keeps all judges
/// if none would remain. Also returns warnings.
pub fn independent(judges: Vec<Judge>, took_part: &[&AgentSettings]) -> (Vec<Judge>, Vec<String>) {
    let relation = |judge: &Judge| {
        let EvaluatorSettings { id, model, provider, .. } = &judge.settings;
        let own = family(model);
        match own {
            _ if provider == OFFLINE || took_part.is_empty() => None,
            _ if took_part.iter().any(|agent| agent.model == *model) => {
                Some(format!("judge {id}: its model {model} took part in a compared debate"))
            }
            None => Some(format!("judge {id}: {model} may belong to the same model family as a participant")),
            Some(own) if took_part.iter().any(|agent| family(&agent.model) == Some(own)) => {
                Some(format!("judge {id}: a model of its family ({own}) took part in a compared debate"))
            }
            Some(_) => None,
        }
    };
    let relations: Vec<Option<String>> = judges.iter().map(relation).collect();
    let is_any_independent = relations.iter().any(Option::is_none);
    let (mut kept, mut said) = (Vec::new(), Vec::new());
    for (judge, relation) in judges.into_iter().zip(relations) {
        match relation {
            Some(relation) if is_any_independent => said.push(format!("{relation}; excluded from judging")),
            relation => {
                said.extend(relation.map(|relation| format!("{relation}; models prefer their own texts")));
                kept.push(judge);
            }
        }
    }
    (kept, said)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ruled(rulings: &[Ruling]) -> Vec<Ruled> {
        let said = || [(None, String::new()), (None, String::new())];
        rulings.iter().map(|ruling| Ruled { judge: "j".to_owned(), ruling: *ruling, said: said() }).collect()
    }

    #[test]
    fn a_majority_of_what_the_order_did_not_turn_decides() {
        use Ruling::{Better, Equal, Turned};
        let (a, b) = (Better(Side::A), Better(Side::B));
        for (rulings, expected) in [
            (&[a][..], Some(Side::A)),
            (&[a, a, b], Some(Side::A)),
            (&[b, b, a, Turned], Some(Side::B)),
            (&[a, b], None),
            (&[a, Equal], None),
            (&[a, Equal, Equal], None),
            (&[a, Turned, Turned, Turned], Some(Side::A)),
            (&[Turned], None),
            (&[], None),
        ] {
            assert_eq!(decide(&ruled(rulings)), expected, "{rulings:?}");
        }
    }

    #[test]
    fn the_sign_test_is_that_of_tables() {
        let is_near = |value: f64, expected: f64| (value - expected).abs() < 5e-5;
        assert!(is_near(sign_test(FEWEST - 1, 0), 0.0625));
        assert!(is_near(sign_test(FEWEST, 0), 0.03125));
        assert!(is_near(sign_test(9, 1), 22.0 / 1024.0));
        assert!(is_near(sign_test(1, 9), 22.0 / 1024.0));
        assert!(is_near(sign_test(5, 5), 1.0));
        assert!(is_near(sign_test(0, 0), 1.0));
        // The number of combinations does not fit into a float.
        let many = sign_test(1100, 900);
        assert!((1e-6..1e-4).contains(&many), "{many}");
    }
}
