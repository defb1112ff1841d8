//! Configurations for debates that do not take long.

use serde_json::{Value, json};

/// A configuration with an agent `agent-<role>` for each role and the judge `judge`. Each asks a model of its own,
/// `model-<role>` and `model-judge`, so that a script can tell them apart. One round, no retries and no check, unless
/// `debate` says otherwise.
pub(crate) fn config(roles: &[&str], debate: &Value) -> Value {
    let agent = |id: &str, role: &str, model: &str| {
        json!({
            "id": id, "name": format!("The {role}"), "role": role, "model": model, "provider": "openai",
            "temperature": 0.5,
        })
    };
    let agents: Vec<Value> =
        roles.iter().map(|role| agent(&format!("agent-{role}"), role, &format!("model-{role}"))).collect();
    // Texts are numbered by the seed: with another one in each run, no two runs would have the same prompts.
    let mut settings = json!({"rounds": 1, "maxRetries": 0, "check": 0, "seed": 7});
    for (key, value) in debate.as_object().expect("the debate's settings are an object") {
        settings[key] = value.clone();
    }
    json!({"agents": agents, "judge": agent("judge", "generalist", "model-judge"), "debate": settings})
}

/// The same with that value for every agent and the judge.
pub(crate) fn with_each(mut config: Value, key: &str, value: &str) -> Value {
    for agent in config["agents"].as_array_mut().into_iter().flatten() {
        agent[key] = json!(value);
    }
    config["judge"][key] = json!(value);
    config
}
