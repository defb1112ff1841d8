//! Who answers first decides nothing, and nobody waits for what is not needed.

use std::time::Duration;

use serde_json::{Value, json};

use crate::resume::reply;
use crate::support::{Debated, Incoming, LogNormal, MockServer, Purpose, Reply, Sandbox, config, short_reply};

const ROLES: [&str; 3] = ["architect", "kiss", "testing"];

/// Names whose values differ from run to run, or follow from such a value.
const CHANGING: [&str; 10] =
    ["id", "seed", "timestamp", "createdAt", "updatedAt", "at", "latencyMs", "baseDir", "contextDir", "journal"];

/// A saved state without what changes from run to run.
pub(crate) fn without_times(state: &Value) -> Value {
    match state {
        Value::Object(fields) => {
            // An agent has an `id` too, and that one must stay.
            let is_debate = fields.contains_key("rounds") && fields.contains_key("problem");
            let changes = |name: &str| CHANGING.contains(&name) && (is_debate || name != "id");
            let kept = fields.iter().filter(|(name, _)| !changes(name));
            Value::Object(kept.map(|(name, value)| (name.clone(), without_times(value))).collect())
        }
        Value::Array(items) => items.iter().map(without_times).collect(),
        other => other.clone(),
    }
}

#[test]
fn any_order_of_replies_gives_the_same_state_and_the_same_prompts() {
    let mut runs = Vec::new();
    for seed in 0..4 {
        let latency = LogNormal::with_mean(Duration::from_millis(10), 1.0, seed);
        // Few characters of history are enough: so summaries are made on the way, too.
        let debate = json!({"rounds": 3, "summarization": {"threshold": 2000, "maxLength": 500}});
        let Debated { server, sandbox, id, .. } =
            Debated::with(&config(&ROLES, &debate), move |request| reply(request).after(latency.of(request)));
        server.assert_clean();
        let of_agents = |request: &&std::sync::Arc<Incoming>| request.model() != "model-judge";
        let arrived: Vec<u64> = server.requests().iter().filter(of_agents).map(|request| request.digest).collect();
        runs.push((without_times(&sandbox.state(&id)), arrived));
    }
    let (first, first_order) = &runs[0];
    assert!(first["rounds"][1]["summaries"].as_object().is_some_and(|summaries| summaries.len() == 3), "{first:#}");
    assert!(runs.iter().any(|(_, order)| order != first_order), "the order was the same in all runs");
    for (state, order) in &runs[1..] {
        assert!(state == first, "{}", difference(first, state));
        let sorted = |order: &[u64]| {
            let mut sorted = order.to_vec();
            sorted.sort_unstable();
            sorted
        };
        assert_eq!(sorted(order), sorted(first_order), "the prompts differ");
    }
}

fn difference(one: &Value, other: &Value) -> String {
    let (one, other) = (format!("{one:#}"), format!("{other:#}"));
    let lines = one.lines().zip(other.lines()).filter(|(one, other)| one != other);
    lines.take(10).flat_map(|(one, other)| ["-", one, "\n+", other, "\n"]).collect()
}

#[test]
fn a_critique_does_not_wait_for_the_proposals_of_others() {
    let is_slow = |request: &Incoming| request.purpose == Purpose::Propose && request.model() == "model-testing";
    let (server, gate) = MockServer::held(short_reply, is_slow);
    let sandbox = Sandbox::new().model_server(&server).config(&config(&ROLES, &json!({})));
    let running = sandbox.spawn(["debate", "Design a queue"]);
    // The two fast proposals are criticised by both others, and refined, while the third is still being written.
    server.wait_for_requests(3 + 4 + 2);
    gate.open();
    running.wait().expect_code(0);
    let exchanges = server.exchanges();
    let pending_until = exchanges.iter().find(|exchange| is_slow(&exchange.request)).unwrap().ended.unwrap();
    let early = |purpose: Purpose| {
        let of_purpose = exchanges.iter().filter(|exchange| exchange.request.purpose == purpose);
        of_purpose.filter(|exchange| exchange.arrived < pending_until).count()
    };
    assert_eq!([early(Purpose::Critique), early(Purpose::Refine), early(Purpose::Synthesize)], [4, 2, 0]);
    assert_eq!(exchanges.len(), 13);
}

#[test]
fn a_refinement_waits_for_all_critiques_of_its_proposal_and_for_no_others() {
    let is_slow = |request: &Incoming| {
        let of_testing = request.purpose == Purpose::Critique && request.model() == "model-testing";
        of_testing && request.text().contains("<proposal of kiss>")
    };
    let script = |request: &Incoming| match request.purpose {
        Purpose::Propose => {
            let author = request.model().trim_start_matches("model-");
            Reply::text(format!("<proposal of {author}>"))
        }
        _ => short_reply(request),
    };
    let (server, gate) = MockServer::held(script, is_slow);
    let sandbox = Sandbox::new().model_server(&server).config(&config(&ROLES, &json!({})));
    let running = sandbox.spawn(["debate", "Design a queue"]);
    // Three proposals, six critiques, and the refinements that wait for none that is held.
    server.wait_for_requests(3 + 6 + 2);
    gate.open();
    running.wait().expect_code(0);
    let exchanges = server.exchanges();
    let slow = exchanges.iter().find(|exchange| is_slow(&exchange.request)).unwrap();
    let refine = |model: &str| {
        let of_model = |request: &Incoming| request.purpose == Purpose::Refine && request.model() == model;
        exchanges.iter().find(|exchange| of_model(&exchange.request)).unwrap()
    };
    assert!(refine("model-kiss").arrived >= slow.ended.unwrap());
    for model in ["model-architect", "model-testing"] {
        assert!(refine(model).arrived < slow.ended.unwrap(), "{model}");
    }
}

#[test]
fn the_next_round_begins_when_all_of_this_one_is_there() {
    let is_slow = |request: &Incoming| request.purpose == Purpose::Refine && request.model() == "model-testing";
    let (server, gate) = MockServer::held(short_reply, is_slow);
    let sandbox = Sandbox::new().model_server(&server).config(&config(&ROLES, &json!({"rounds": 2})));
    let running = sandbox.spawn(["debate", "Design a queue"]);
    // Three proposals, six critiques, three refinements.
    server.wait_for_requests(12);
    gate.open();
    running.wait().expect_code(0);
    let exchanges = server.exchanges();
    let ended = exchanges.iter().find(|exchange| is_slow(&exchange.request)).unwrap().ended.unwrap();
    let early = exchanges.iter().filter(|exchange| exchange.arrived < ended).count();
    assert_eq!((early, exchanges.len()), (12, 22));
}
