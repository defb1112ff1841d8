//! The state is the fold of the journal, whatever the order in which models answered.

use std::fmt::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};

use proptest::prelude::*;
use rand::Rng;
use rand::SeedableRng as _;
use rand::seq::IndexedRandom as _;
use rand_chacha::ChaCha12Rng;
use serde_json::{Value, json};

use crate::fixtures;
use crate::support::{Plan, thoroughness};
use dialectic_record::debate::{Debate, Status};
use dialectic_record::event::{Event, Recorded, fold};

fn plans() -> impl Strategy<Value = Plan> {
    (2_usize..=5, 1_u32..=3, any::<[bool; 3]>(), 0_u64..6, 0_u64..30, any::<u64>()).prop_map(
        |(agents, rounds, [clarified, summarized, interrupted], failing, unpriced, seed)| Plan {
            agents,
            rounds,
            clarified,
            summarized,
            // One in one would be a debate without a contribution.
            failing: if failing == 1 { 2 } else { failing },
            unpriced,
            interrupted,
            seed,
        },
    )
}

fn settings() -> ProptestConfig {
    ProptestConfig { failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(settings())]

    #[test]
    fn any_order_of_answers_gives_the_same_state(plan in plans(), one in any::<u64>(), other in any::<u64>()) {
        let (one, other) = (plan.events(one), plan.events(other));
        prop_assert_eq!(fold(&one).unwrap(), fold(&other).unwrap());
    }

    #[test]
    fn a_round_is_stored_in_the_order_of_the_configuration(plan in plans(), order in any::<u64>()) {
        let debate = fold(&plan.events(order)).unwrap();
        prop_assert_eq!(debate.rounds.len(), plan.rounds as usize);
        for round in &debate.rounds {
            let stored: Vec<_> = round.contributions.iter().map(|contribution| {
                let target = contribution.target_agent_id.as_ref().map(|id| id.as_str().to_owned());
                (contribution.stage.as_str(), contribution.agent_id.as_str().to_owned(), target)
            }).collect();
            let expected: Vec<_> = plan.places(round.round_number).into_iter().map(|(kind, agent, target)| {
                (kind, Plan::agent_id(agent), target.map(Plan::agent_id))
            }).collect();
            prop_assert_eq!(stored, expected);
        }
    }

    #[test]
    fn every_call_is_counted_once(plan in plans(), order in any::<u64>()) {
        let events = plan.events(order);
        let debate = fold(&events).unwrap();
        // Counted on the wire form, so that a forgotten event kind shows.
        let calls: Vec<Value> = events.iter()
            .map(|recorded| serde_json::to_value(recorded).unwrap()["call"].take())
            .filter(|call| !call.is_null())
            .collect();
        let requests: u64 = debate.usage.values().map(|usage| usage.requests).sum();
        prop_assert_eq!(requests, calls.len() as u64);
        let sum = |field: &str| calls.iter().filter_map(|call| call["tokens"][field].as_u64()).sum::<u64>();
        prop_assert_eq!(debate.total_tokens(), sum("inputTokens") + sum("outputTokens"));
        let unpriced = calls.iter().any(|call| call["costUsd"].is_null());
        prop_assert_eq!(debate.total_cost().is_none(), unpriced);
    }

    #[test]
    fn a_state_survives_being_written_and_loaded(plan in plans(), order in any::<u64>(), cut in any::<prop::sample::Index>()) {
        let events = plan.events(order);
        // Not only whole debates: a snapshot is taken in the middle too.
        let debate = fold(&events[..=cut.index(events.len())]).unwrap();
        let written = serde_json::to_string_pretty(&debate).unwrap();
        prop_assert!(serde_json::from_str::<Debate>(&written).unwrap().is_same_state(&debate));
    }

    #[test]
    fn events_survive_being_written_and_read(plan in plans(), order in any::<u64>()) {
        for recorded in plan.events(order) {
            let line = serde_json::to_string(&recorded).unwrap();
            prop_assert!(!line.contains('\n'));
            prop_assert_eq!(serde_json::from_str::<Recorded>(&line).unwrap(), recorded);
        }
    }

    #[test]
    fn a_journal_with_a_hole_is_refused(plan in plans(), order in any::<u64>(), hole in any::<prop::sample::Index>()) {
        let mut events = plan.events(order);
        // Without its last event a journal is shorter, not holed.
        events.remove(hole.index(events.len() - 1));
        prop_assert!(fold(&events).is_err());
    }
}

#[test]
fn the_plans_cover_what_a_debate_can_hold() {
    let plan = full_plan();
    let debate = fold(&plan.events(1)).unwrap();
    assert_eq!(debate.status, Status::Completed);
    assert!(!debate.failures.is_empty() && !debate.usage.is_empty() && debate.outcome.is_some());
    assert!(debate.clarifications.is_some() && debate.judge_summary.is_some() && debate.rounds[1].summaries.is_some());
    assert!(plan.events(1).iter().any(|recorded| matches!(recorded.event, Event::Replied { .. })));
    assert_ne!(plan.events(1), plan.events(2), "the order is not shuffled");
}

fn full_plan() -> Plan {
    let (agents, rounds, failing, unpriced) = (3, 2, 4, 9);
    Plan { agents, rounds, clarified: true, summarized: true, failing, unpriced, interrupted: true, seed: 11 }
}

/// Whatever happened to a state file, loading it gives a state that can be saved again, or an error: never a panic.
#[test]
fn damaged_states_never_panic() {
    let mutations = 1_000 * thoroughness() as u64;
    let mut originals: Vec<Value> =
        fixtures::states().iter().map(|(_, text)| serde_json::from_str(text).unwrap()).collect();
    originals.push(serde_json::to_value(fold(&full_plan().events(1)).unwrap()).unwrap());
    // What agents wrote is long and the same to the loader: without it the test takes a fraction of the time.
    originals.iter_mut().for_each(shorten);
    let texts: Vec<String> = originals.iter().map(Value::to_string).collect();
    let (mut accepted, mut refused) = (0_u64, 0_u64);
    for seed in 0..mutations {
        let mut random = ChaCha12Rng::seed_from_u64(seed);
        let original = random.random_range(0..originals.len());
        let damaged = if random.random() {
            damage_value(originals[original].clone(), &mut random)
        } else {
            damage_text(texts[original].as_bytes(), &mut random)
        };
        let Ok(loaded) = catch_unwind(AssertUnwindSafe(|| load_and_save(&damaged))) else {
            panic!("mutation {seed}:\n{}", String::from_utf8_lossy(&damaged));
        };
        *(if loaded { &mut accepted } else { &mut refused }) += 1;
    }
    // Both must occur in numbers, else the mutations are too tame or too wild to say anything.
    assert!(accepted > mutations / 20 && refused > mutations / 4, "{accepted} accepted, {refused} refused");
}

fn load_and_save(text: &[u8]) -> bool {
    let Ok(debate) = serde_json::from_slice::<Debate>(text) else { return false };
    let saved = serde_json::to_vec(&debate).unwrap();
    assert_eq!(serde_json::from_slice::<Debate>(&saved).unwrap(), debate, "what was loaded cannot be saved");
    true
}

fn shorten(value: &mut Value) {
    match value {
        Value::String(text) if text.chars().count() > 40 => *text = text.chars().take(40).collect(),
        Value::Array(items) => items.iter_mut().for_each(shorten),
        Value::Object(fields) => fields.values_mut().for_each(shorten),
        _ => {}
    }
}

/// One value somewhere in it becomes another, or a field goes, or one is added.
fn damage_value(mut value: Value, random: &mut impl Rng) -> Vec<u8> {
    let mut places = Vec::new();
    collect_places(&value, &mut String::new(), &mut places);
    let place = value.pointer_mut(places.choose(random).unwrap()).unwrap();
    let replacements = [
        json!(null),
        json!(true),
        json!(-1),
        json!(0),
        json!(4_294_967_296_u64),
        json!(u64::MAX),
        json!(1e300),
        json!(-0.5),
        json!(""),
        json!("deb-"),
        json!("completed"),
        json!("2025-13-45T99:99:99.000Z"),
        json!("+262142-12-31T23:59:59.999Z"),
        json!("2016-12-31T23:59:60.000Z"),
        json!("\u{0}\u{202e}😀"),
        json!([]),
        json!({}),
        json!([[[]]]),
        json!([{}, null]),
    ];
    let replacement = replacements.choose(random).unwrap().clone();
    match place {
        Value::Object(fields) if random.random() && !fields.is_empty() => {
            let names: Vec<String> = fields.keys().cloned().collect();
            fields.remove(names.choose(random).unwrap());
        }
        Value::Object(fields) if random.random() => {
            fields.insert("unheardOf".to_owned(), replacement);
        }
        Value::Array(items) if random.random() && !items.is_empty() => {
            let copy = items.choose(random).unwrap().clone();
            items.push(copy);
        }
        place => *place = replacement,
    }
    value.to_string().into_bytes()
}

fn collect_places(value: &Value, here: &mut String, places: &mut Vec<String>) {
    places.push(here.clone());
    let length = here.len();
    let mut enter = |name: &str, value: &Value| {
        write!(here, "/{}", name.replace('~', "~0").replace('/', "~1")).unwrap();
        collect_places(value, here, places);
        here.truncate(length);
    };
    match value {
        Value::Array(items) => items.iter().enumerate().for_each(|(place, item)| enter(&place.to_string(), item)),
        Value::Object(fields) => fields.iter().for_each(|(name, item)| enter(name, item)),
        _ => {}
    }
}

/// Bytes change, vanish, appear or repeat, or the end is missing.
fn damage_text(text: &[u8], random: &mut impl Rng) -> Vec<u8> {
    let mut bytes = text.to_vec();
    for _ in 0..random.random_range(1..4) {
        let place = random.random_range(0..bytes.len());
        let end = (place + random.random_range(1..30)).min(bytes.len());
        match random.random_range(0..5) {
            0 => bytes[place] = random.random(),
            1 => bytes[place] = *b"{}[]\",:0-9.eEntf\\ ".choose(random).unwrap(),
            2 => drop(bytes.drain(place..end)),
            3 => {
                let copy = bytes[place..end].to_vec();
                bytes.splice(place..place, copy);
            }
            // Rarely: a file that is cut short is always refused.
            _ if random.random_range(0..8) == 0 => bytes.truncate(place.max(1)),
            _ => bytes[place] = bytes[place].wrapping_add(1),
        }
    }
    bytes
}
