//! The panel: every agent and the judge with their models, built from the settings.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::access::Environment;
use dialectic_base::price::Price;
use dialectic_base::provider::calls_models;
use dialectic_base::secrets::KnownKeys;
use dialectic_llm::models::{ModelFacts, built_in_price, facts, with_cache_writes};
use dialectic_llm::{Caller, Timeouts};
use dialectic_record::ids::AgentId;
use dialectic_record::prompt::{PromptError, PromptFileError, Role, RoleError, read_prompt, version};
use dialectic_record::protocol::Protocol;
use dialectic_record::settings::{
    AgentPromptSource, AgentSettings, DebateSettings, JudgePromptSource, ModelLimits, PromptOrigin, PromptSources,
    Settings,
};

/// A debater or the judge.
#[derive(Clone)]
pub struct Agent {
    pub settings: AgentSettings,
    pub role: Arc<Role>,
    pub caller: Caller,
    /// The system text that all agents share, followed by the agent's own if it has one.
    pub(super) system: Arc<str>,
}

#[derive(Clone)]
pub struct Panel {
    /// The agents in the order of the configuration.
    pub agents: Vec<Agent>,
    pub judge: Agent,
    /// The system text that all requests share.
    pub(super) system: Arc<str>,
    pub sources: PromptSources,
    /// The absolute path of a file with keys, which tools never show.
    pub withheld: Option<PathBuf>,
    /// The environment of git processes.
    pub environment: Environment,
    /// Keys whose values tools redact.
    pub keys: KnownKeys,
    /// The providers whose prices may differ from list prices; initially all of them.
    pub routed: BTreeSet<String>,
    /// Warnings about unusable prompt files, which built-in prompts replace, and about programs that serve as
    /// providers.
    pub warnings: Vec<String>,
}

#[derive(Debug, thiserror::Error)]
pub enum PanelError {
    #[error("cannot read the role `{role}`")]
    Unreadable { role: String, source: PromptFileError },
    #[error("invalid role file {path}")]
    Invalid { path: PathBuf, source: RoleError },
    #[error("cannot render a prompt")]
    Prompt(#[from] PromptError),
}

impl Agent {
    fn new(settings: &AgentSettings, role: Role, caller: Caller, system: &Arc<str>) -> Self {
        // Providers cache identical beginnings, so the shared text precedes an agent's own.
        let system =
            role.own_system.as_ref().map_or_else(|| Arc::clone(system), |own| format!("{system}\n\n{own}").into());
        Self { settings: settings.clone(), role: Arc::new(role), caller, system }
    }
}

/// Reads the configured prompt file. Returns `None` if no file is configured, or if the file cannot be used, which adds
/// a warning.
fn prompt_of(
    configured: Option<&PathBuf>,
    owner: &AgentSettings,
    base: &Path,
    warnings: &mut Vec<String>,
) -> Option<(Arc<str>, PathBuf)> {
    let path = base.join(configured?);
    match read_prompt(&path) {
        Ok(text) => Some((text.into(), path)),
        Err(error) => {
            warnings.push(format!("{}: {error}; using the built-in prompt", owner.id));
            None
        }
    }
}

/// Replaces the role's prompts with the files that are configured for `owner`. Returns the paths of the files that
/// replace the system prompt and the summary prompt.
fn replace_prompts(
    role: &mut Role,
    owner: &AgentSettings,
    base: &Path,
    warnings: &mut Vec<String>,
) -> (Option<PathBuf>, Option<PathBuf>) {
    let mut read = |configured| prompt_of(configured, owner, base, warnings);
    let system = read(owner.system_prompt_path.as_ref()).map(|(text, path)| {
        role.own_system = Some(text);
        path
    });
    let summary = read(owner.summary_prompt_path.as_ref().or(owner.summarization.prompt_path.as_ref()));
    let summary = summary.map(|(text, path)| {
        role.summarize = text;
        path
    });
    if let Some((text, _)) = read(owner.clarification_prompt_path.as_ref()) {
        role.clarify = text;
    }
    (system, summary)
}

impl Panel {
    /// `caller` connects each agent and the judge to a model.
    ///
    /// # Errors
    ///
    /// Returns an error if a role file cannot be used, or a prompt cannot be rendered.
    pub fn build(
        protocol: &Protocol,
        settings: &Settings,
        caller: impl Fn(&AgentSettings) -> Caller,
    ) -> Result<Self, PanelError> {
        let system: Arc<str> = protocol.system.render(&())?.into();
        let base = settings.base_dir.clone().unwrap_or_default();
        let mut warnings = Vec::new();
        let mut agents = Vec::new();
        let mut sources = Vec::new();
        for agent in &settings.agents {
            let mut role = role_named(&agent.role, &base)?;
            let (path, _) = replace_prompts(&mut role, agent, &base, &mut warnings);
            sources.push(AgentPromptSource {
                agent_id: agent.id.clone(),
                role: agent.role.clone(),
                source: origin(path.as_ref()),
                path,
                sha256: Some(role.sha256()),
            });
            agents.push(Agent::new(agent, role, caller(agent), &system));
        }
        let mut role = Role::judge().as_ref().clone();
        let (path, summary_path) = replace_prompts(&mut role, &settings.judge, &base, &mut warnings);
        let judge_source = JudgePromptSource {
            id: settings.judge.id.clone(),
            source: origin(path.as_ref()),
            path,
            summary_source: Some(origin(summary_path.as_ref())),
            summary_path,
            sha256: Some(role.sha256()),
        };
        let judge = Agent::new(&settings.judge, role, caller(&settings.judge), &system);
        let routed = settings.everybody().map(|agent| agent.provider.clone()).collect();
        let sources = PromptSources {
            version: Some(version(&[protocol.prompts, &[protocol.system]].concat())),
            agents: sources,
            judge: judge_source,
        };
        Ok(Self {
            agents,
            judge,
            system,
            sources,
            withheld: None,
            environment: Environment::default(),
            keys: KnownKeys::default(),
            routed,
            warnings,
        })
    }

    pub fn agent(&self, id: &AgentId) -> Option<&Agent> {
        self.agents.iter().chain([&self.judge]).find(|agent| agent.settings.id == *id)
    }
}

fn origin(path: Option<&PathBuf>) -> PromptOrigin {
    if path.is_some() { PromptOrigin::File } else { PromptOrigin::BuiltIn }
}

fn role_named(name: &str, base: &Path) -> Result<Role, PanelError> {
    let path = base.join("prompts").join("roles").join(format!("{name}.md"));
    if let Some(role) = Role::built_in(name).filter(|_| !(Role::gives_way(name) && path.is_file())) {
        return Ok(role.as_ref().clone());
    }
    let text = read_prompt(&path).map_err(|source| PanelError::Unreadable { role: name.to_owned(), source })?;
    Role::parse(name, &text).map_err(|source| PanelError::Invalid { path, source })
}

/// The configured price of an agent's model, or else the list price; `None` if neither exists. List prices are not used
/// if the provider's base URL was changed.
pub fn price_of(agent: &AgentSettings, settings: &Settings) -> Option<Price> {
    let is_elsewhere = settings.elsewhere.contains(&agent.provider);
    price_at(&agent.provider, &agent.model, &settings.prices, is_elsewhere)
}

/// The configured price of a provider's model, or else the list price; `None` if neither exists. If `is_elsewhere` is
/// set, the list price is not used.
pub fn price_at(provider: &str, model: &str, prices: &BTreeMap<String, Price>, is_elsewhere: bool) -> Option<Price> {
    let configured = prices.get(model).copied().filter(|_| calls_models(provider));
    let listed = || if is_elsewhere { None } else { built_in_price(provider, model) };
    configured.or_else(listed).map(|price| with_cache_writes(price, provider, model))
}

pub fn facts_of(agent: &AgentSettings, settings: &Settings) -> Option<&'static ModelFacts> {
    if settings.elsewhere.contains(&agent.provider) { None } else { facts(&agent.provider, &agent.model) }
}

pub fn limits_of(agent: &AgentSettings, settings: &Settings) -> ModelLimits {
    let configured = settings.models.get(&agent.model).copied().unwrap_or_default();
    let listed = facts_of(agent, settings);
    ModelLimits {
        context_window: configured.context_window.or_else(|| listed?.context_window),
        max_output: configured.max_output.or_else(|| listed?.max_output),
    }
}

/// The maximum length of the tool results for one contribution, in characters.
const TOOL_ROOM: usize = 300_000;
/// Like [`TOOL_ROOM`], for a review. Lower, because all agents of a review have tools, and each request sends the
/// earlier results again.
const REVIEW_TOOL_ROOM: usize = 60_000;

/// The maximum length of the tool results for one contribution, in characters: at most one character per token of the
/// model's context window.
pub fn tool_room(agent: &AgentSettings, settings: &Settings, is_review: bool) -> usize {
    let most = if is_review { REVIEW_TOOL_ROOM } else { TOOL_ROOM };
    let window = limits_of(agent, settings).context_window.and_then(|window| usize::try_from(window).ok());
    window.map_or(most, |window| most.min(window))
}

pub fn timeouts_of(debate: &DebateSettings) -> Timeouts {
    Timeouts {
        first_token: Duration::from_millis(debate.call_timeout),
        idle: Duration::from_millis(debate.idle_timeout),
    }
}
