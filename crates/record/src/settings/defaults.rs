//! The built-in settings: the lowest layer of the configuration, also assumed for records without settings.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use crate::ids::AgentId;
use crate::settings::{AgentSettings, DebateSettings, Settings, SummarizationSettings};
use dialectic_base::provider::{DEFAULT_MODEL, DEFAULT_PROVIDER, OFFLINE, OFFLINE_MODEL};

use crate::debate::Debate;

/// Returns the built-in defaults, which do not depend on the API keys in the environment.
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

/// Returns an agent with the defaults for `role`, which may be user-defined.
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

/// Returns the defaults for keys missing from an agent in a configuration file. The id and the name are empty.
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

/// The settings assumed for a debate whose record has none: the defaults, without agents.
static ASSUMED: LazyLock<Settings> =
    LazyLock::new(|| Settings { agents: Vec::new(), judge: unnamed_agent(), ..default_settings() });

impl Debate {
    /// Returns the recorded settings, or else assumed defaults. Never save or show the defaults as recorded.
    pub fn known_settings(&self) -> &Settings {
        self.settings.as_ref().unwrap_or(&ASSUMED)
    }

    pub fn limit_in_words(&self) -> &'static str {
        let settings = self.settings.as_ref();
        let (cost, calls) = (settings.and_then(Settings::max_cost), settings.and_then(Settings::max_calls));
        match (cost, calls) {
            (Some(_), Some(_)) => "the cost and call limits",
            (None, Some(_)) => "the call limit",
            // If neither limit is recorded, a cost limit was set outside the debate.
            (Some(_) | None, None) => "the cost limit",
        }
    }

    /// The agents in the recorded settings; empty if no settings are recorded.
    pub fn agents(&self) -> &[AgentSettings] {
        self.settings.as_ref().map_or(&[], |settings| &settings.agents)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_recorded_is_assumed_and_names_nobody() {
        let older = r#"{"id": "deb-1", "problem": "p", "status": "completed", "rounds": []}"#;
        let mut debate: Debate = serde_json::from_str(older).unwrap();
        let assumed = debate.known_settings();
        assert_eq!((assumed.agents.len(), assumed.judge.id.as_str()), (0, ""));
        assert_eq!((debate.agents().len(), debate.known_settings().debate.rounds), (0, 3));
        assert!(!serde_json::to_string(&debate).unwrap().contains("settings"), "it is not saved");
        debate.settings = Some(default_settings());
        assert_eq!(debate.known_settings(), &default_settings());
        assert_eq!(debate.agents().len(), 3);
    }
}
