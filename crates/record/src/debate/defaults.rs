//! The built-in settings, the lowest layer.

use std::collections::{BTreeMap, BTreeSet};

use crate::debate::{
    AgentFailurePolicy, AgentId, AgentSettings, ArenaSettings, BudgetSettings, Critics, DebateSettings, Settings,
    SummarizationSettings, SynthesisMethod, TerminationKind, TerminationSettings, Terms,
};
use dialectic_base::provider::{DEFAULT_MODELS, OFFLINE, OFFLINE_MODEL};

/// The default provider.
pub const PROVIDER: &str = "openai";

/// The default settings without any key that would select another provider.
pub fn default_settings() -> Settings {
    Settings {
        agents: agents(),
        judge: judge(),
        embedder: None,
        debate: debate(),
        providers: BTreeMap::new(),
        prices: BTreeMap::new(),
        models: BTreeMap::new(),
        elsewhere: BTreeSet::new(),
        terms: Terms::default(),
        base_dir: None,
        context_dir: None,
    }
}

/// The default agents.
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

/// The default judge.
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
        model: DEFAULT_MODELS[0].1.to_owned(),
        provider: DEFAULT_MODELS[0].0.to_owned(),
        temperature,
        system_prompt_path: None,
        summary_prompt_path: None,
        clarification_prompt_path: None,
        summarization: summarization(),
        enabled: true,
        tools: Vec::new(),
        tool_call_limit: 10,
        max_tokens: None,
        position: None,
        criteria: None,
    }
}

/// The default summarization.
pub fn summarization() -> SummarizationSettings {
    SummarizationSettings {
        enabled: false,
        threshold: 5000,
        max_length: 2500,
        method: "length-based".to_owned(),
        prompt_path: None,
    }
}

/// The default debate settings.
pub fn debate() -> DebateSettings {
    DebateSettings {
        protocol: "dialectic".to_owned(),
        rounds: 3,
        termination_condition: TerminationSettings { kind: TerminationKind::Fixed, threshold: 80.0, min_rounds: 1 },
        critics: Critics::All,
        check: DebateSettings::DEFAULT_CHECK,
        quick: false,
        synthesis_method: SynthesisMethod::Judge,
        include_full_history: false,
        history_limit: DebateSettings::DEFAULT_HISTORY_LIMIT,
        attachment_limit: DebateSettings::DEFAULT_ATTACHMENT_LIMIT,
        seed: None,
        timeout_per_round: 300_000,
        summarization: summarization(),
        interactive_clarifications: false,
        clarifications_max_per_agent: 5,
        clarifications_max_iterations: 1,
        max_concurrency: 16,
        call_timeout: 600_000,
        idle_timeout: DebateSettings::DEFAULT_IDLE_TIMEOUT,
        max_retries: 3,
        on_agent_failure: AgentFailurePolicy::Continue,
        budget: BudgetSettings::default(),
        arena: ArenaSettings::default(),
        trace: None,
        trace_content: false,
        memory: false,
        orchestrator_type: "state-machine".to_owned(),
    }
}

/// Switches the agent to the offline provider, which needs no key or network and costs nothing.
pub fn go_offline(agent: &mut AgentSettings) {
    OFFLINE.clone_into(&mut agent.provider);
    OFFLINE_MODEL.clone_into(&mut agent.model);
}
