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
    let mut settings = json!({"rounds": 1, "maxRetries": 0, "check": 0});
    for (key, value) in debate.as_object().expect("the debate's settings are an object") {
        settings[key] = value.clone();
    }
    json!({"agents": agents, "judge": agent("judge", "generalist", "model-judge"), "debate": settings})
}
