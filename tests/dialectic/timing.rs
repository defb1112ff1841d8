//! Who answers first decides nothing, and nobody waits for what is not needed.

use serde_json::{Value, json};

use crate::support::{Incoming, MockServer, Purpose, Reply, Sandbox, config, short_reply};

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
