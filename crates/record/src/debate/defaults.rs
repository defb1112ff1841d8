//! The built-in settings, the lowest layer.

use std::collections::{BTreeMap, BTreeSet};

use crate::debate::{AgentId, AgentSettings, DebateSettings, Settings, SummarizationSettings};
use dialectic_base::provider::{DEFAULT_MODEL, DEFAULT_PROVIDER, OFFLINE, OFFLINE_MODEL};

/// The default settings without any key that would select another provider.
pub fn default_settings() -> Settings {
    Settings {
        agents: agents(),
        judge: judge(),
        debate: DebateSettings::default(),
        providers: BTreeMap::new(),
        prices: BTreeMap::new(),
        models: BTreeMap::new(),
        elsewhere: BTreeSet::new(),
        base_dir: None,
        context_dir: None,
    }
}

pub fn agents() -> Vec<AgentSettings> {
    ["architect", "performance", "kiss"].map(agent_of).into()
}

/// The built-in agent with a role.
pub fn agent_of(role: &str) -> AgentSettings {
    let name = match role {
        "architect" => "System Architect",
        "performance" => "Performance Engineer",
        "kiss" => "Simplicity Advocate",
        "security" => "Security Engineer",
        "testing" => "Test Engineer",
        "datamodeling" => "Data Modeler",
        "operations" => "Operations Engineer",
        "generalist" => "Generalist",
        own => own,
    };
    agent(&format!("agent-{role}"), name, role, 0.5)
}

pub fn judge() -> AgentSettings {
    agent("judge-main", "Technical Judge", "generalist", 0.3)
}

/// Defaults for an agent in the file; its id and name are never used.
pub fn unnamed_agent() -> AgentSettings {
    agent("", "", "architect", 0.5)
}

fn agent(id: &str, name: &str, role: &str, temperature: f64) -> AgentSettings {
    AgentSettings {
        id: AgentId::new(id),
        name: name.to_owned(),
        role: role.to_owned(),
        model: DEFAULT_MODEL.to_owned(),
        provider: DEFAULT_PROVIDER.to_owned(),
        temperature,
        system_prompt_path: None,
        summary_prompt_path: None,
        clarification_prompt_path: None,
        summarization: SummarizationSettings::default(),
        enabled: true,
        tools: Vec::new(),
        tool_call_limit: 10,
        max_tokens: None,
        position: None,
        criteria: None,
    }
}

/// Switches the agent to the offline provider, which needs no key or network and costs nothing.
pub fn go_offline(agent: &mut AgentSettings) {
    OFFLINE.clone_into(&mut agent.provider);
    OFFLINE_MODEL.clone_into(&mut agent.model);
}
