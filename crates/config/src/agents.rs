//! Turns configured agents and the judge into settings, selects the participating agents, and assigns models to them.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;

use serde_json::{Map, Value};

use dialectic_base::key_path::KeyPath;
use dialectic_base::provider::{HOST, OFFLINE, OFFLINE_MODEL, calls_models};
use dialectic_engine::access::provider_names;
use dialectic_engine::tools::TOOL_NAMES;
use dialectic_record::ids::AgentId;
use dialectic_record::prompt::Role;
use dialectic_record::protocol::{Protocol, QUICK_AGENTS};
use dialectic_record::settings::{
    AgentSettings, DebateSettings, ProviderSettings, SummarizationSettings, ToolSettings, defaults,
};

use super::choice::{ModelChoice, ModelPreference, ModelResolver, ResolveContext, ServedModel, may_serve};
use super::error::{Diagnostics, Fault, unknown};
use super::layers::{Layers, ValueSource, laid_over};
use super::rules::{check_summarization, switch_on_summarization};

/// Temperatures above this are allowed but rarely intended, since answers tend to become erratic.
const WARM: f64 = 1.0;
const FALLBACK_ROLE: &str = "architect";

pub(super) struct AgentScope<'a> {
    /// Roles for which the user has a prompt file.
    pub(super) own_roles: &'a [String],
    pub(super) providers: &'a [&'a str],
    /// The debate's summarization settings, which each agent can override key by key.
    pub(super) summarization: &'a SummarizationSettings,
    pub(super) is_summarization_off: bool,
}

impl AgentScope<'_> {
    fn roles(&self) -> Vec<&str> {
        Role::built_in_names().into_iter().chain(self.own_roles.iter().map(String::as_str)).collect()
    }

    pub(super) fn built_in(&self, agent: AgentSettings) -> ResolvedAgent {
        let agent = AgentSettings { summarization: self.summarization.clone(), ..agent };
        ResolvedAgent { place: None, agent, model: None }
    }
}

pub(super) struct ResolvedAgent {
    /// The index of the agent's entry in the file; `None` for a built-in agent.
    pub(super) place: Option<usize>,
    pub(super) agent: AgentSettings,
    /// The source of the provider and model, if they were assigned or replaced; `None` if they are those of the entry.
    pub(super) model: Option<ValueSource>,
}

impl ResolvedAgent {
    fn lend(&mut self, served: &ServedModel, source: ValueSource) {
        served.provider.clone_into(&mut self.agent.provider);
        served.model.clone_into(&mut self.agent.model);
        self.model = Some(source);
    }
}

fn enabled_agents(
    entries: &[Value],
    scope: &AgentScope,
    layers: &mut Layers,
    findings: &mut Diagnostics,
) -> Vec<ResolvedAgent> {
    let mut agents = Vec::new();
    for (index, entry) in entries.iter().enumerate() {
        let Some(keys) = entry.as_object().filter(|_| entry["enabled"] != false) else { continue };
        let path = KeyPath::root().key("agents").index(index);
        let place = path.to_string();
        for key in ["id", "name", "model"] {
            // The offline provider has a single model, and the host needs no model name.
            let has_model = || calls_models(entry["provider"].as_str().unwrap_or_default());
            if !keys.contains_key(key) && (key != "model" || has_model()) {
                findings.problem(path.key(key), "is missing");
            }
        }
        if !keys.contains_key("role") {
            findings.warn(format!("`{path}` has no role; using {FALLBACK_ROLE}"));
        }
        let default = AgentSettings { id: AgentId::new(place.clone()), name: place, ..defaults::unnamed_agent() };
        let agent = agent(keys, &path, default, scope, layers, findings);
        agents.push(ResolvedAgent { place: Some(index), agent, model: None });
    }
    agents
}

/// The provider and model that an entry names; `None` unless it names both.
pub(super) fn served(entry: &Value) -> Option<ServedModel> {
    let text = |key: &str| entry[key].as_str().map(str::to_owned);
    Some(ServedModel { provider: text("provider")?, model: text("model")? })
}

/// Resolves the judge's entry in the file. Without a provider and model, the judge uses those of the first agent. With
/// only a provider, the judge uses the first agent's model if their providers are equal, or else the provider's default
/// model. Other missing values come from the default judge.
fn configured_judge(
    entry: &Map<String, Value>,
    of_first: &ServedModel,
    scope: &AgentScope,
    layers: &mut Layers,
    findings: &mut Diagnostics,
) -> ResolvedAgent {
    let path = KeyPath::root().key("judge");
    let mut default = defaults::judge();
    let mut is_lent = false;
    match (entry.get("provider").and_then(Value::as_str), entry.get("model")) {
        (None, None) => is_lent = true,
        (Some(provider), None) if provider != OFFLINE => {
            if of_first.provider == provider {
                is_lent = true;
            } else if let Some(served) = ServedModel::by(provider) {
                default.model = served.model;
            } else {
                findings.problem(path.key("model"), "is missing");
            }
        }
        (_, Some(_)) | (Some(_), None) => {}
    }
    if is_lent {
        let ServedModel { provider, model } = of_first.clone();
        default = AgentSettings { provider, model, ..default };
    }
    if entry.get("enabled") == Some(&Value::Bool(false)) {
        findings.warn("`judge.enabled` has no effect: a debate needs a judge");
    }
    let agent = agent(entry, &path, default, scope, layers, findings);
    ResolvedAgent { place: None, agent, model: is_lent.then_some(ValueSource::Like("the first agent")) }
}

fn agent(
    entry: &Map<String, Value>,
    path: &KeyPath,
    default: AgentSettings,
    scope: &AgentScope,
    layers: &mut Layers,
    findings: &mut Diagnostics,
) -> AgentSettings {
    let mut entry = entry.clone();
    let tools = entry.remove("tools").unwrap_or_default();
    entry.insert("enabled".to_owned(), true.into());
    let mut entry = Value::Object(entry);
    if !scope.is_summarization_off {
        switch_on_summarization(&mut entry);
    }
    let default = AgentSettings { summarization: scope.summarization.clone(), ..default };
    let mut agent = laid_over(&default, &entry, path, findings);
    findings.check_name(path.key("provider"), entry["provider"].as_str(), "provider", scope.providers);
    if agent.provider == OFFLINE {
        OFFLINE_MODEL.clone_into(&mut agent.model);
        layers.forget(&path.key("model"));
    } else if agent.provider == HOST && entry["model"].is_null() {
        HOST.clone_into(&mut agent.model);
    }
    if agent.temperature > WARM {
        let temperature = agent.temperature;
        findings.warn(format!("`{path}.temperature` is {temperature}; above {WARM} answers tend to become erratic"));
    }
    agent.role = role(&agent.role, scope).unwrap_or_else(|unknown| {
        findings.warn(format!("{unknown} at `{path}.role`; using {FALLBACK_ROLE}"));
        layers.forget(&path.key("role"));
        FALLBACK_ROLE.to_owned()
    });
    agent.tools = self::tools(tools.as_array().map_or(&[], Vec::as_slice), path, findings);
    check_summarization(&entry, path, findings);
    agent.criteria = agent.criteria.and_then(|criteria| criteria_of(&criteria, &path.key("criteria"), findings));
    agent
}

fn criteria_of(written: &[String], path: &KeyPath, findings: &mut Diagnostics) -> Option<Vec<String>> {
    let criteria: Vec<String> = written.iter().map(|criterion| criterion.trim().to_owned()).collect();
    for (index, criterion) in criteria.iter().enumerate() {
        if !criterion.is_empty() && criteria[..index].contains(criterion) {
            findings.problem(path.index(index), format!("repeats `{criterion}`"));
        }
    }
    (!criteria.is_empty()).then_some(criteria)
}

fn role(written: &str, scope: &AgentScope) -> Result<String, String> {
    let own = scope.own_roles.iter().map(String::as_str).find(|own| *own == written);
    let built_in = Role::built_in_names().into_iter().find(|known| known.eq_ignore_ascii_case(written.trim()));
    own.or(built_in).map(str::to_owned).ok_or_else(|| unknown("role", written, &scope.roles()))
}

fn tools(entries: &[Value], path: &KeyPath, findings: &mut Diagnostics) -> Vec<ToolSettings> {
    let mut tools: Vec<ToolSettings> = Vec::new();
    let path = path.key("tools");
    for (index, entry) in entries.iter().enumerate().filter(|(_, entry)| !entry.is_null()) {
        let name = entry["name"].as_str().unwrap_or_default();
        if !TOOL_NAMES.contains(&name) {
            let unknown = unknown("tool", name, TOOL_NAMES);
            findings.warn(format!("{unknown} at `{}` is skipped", path.index(index)));
        } else if tools.iter().all(|tool| tool.name != name) {
            tools.push(ToolSettings { name: name.to_owned() });
        }
    }
    tools
}

fn asked_roles(asked: &[String], scope: &AgentScope) -> Result<Vec<String>, String> {
    let known = scope.roles();
    let mut roles: Vec<String> = Vec::new();
    for name in asked.iter().map(|role| role.trim()).filter(|role| !role.is_empty()) {
        let role = known.iter().find(|known| known.eq_ignore_ascii_case(name));
        let role = role.ok_or_else(|| format!("names an {}", unknown("role", name, &known)))?;
        if !roles.iter().any(|one| one == role) {
            roles.push((*role).to_owned());
        }
    }
    Ok(roles)
}

/// Returns the agents with these roles, in the order of `agents`, and then a built-in agent for each role that no agent
/// has.
fn of_roles(agents: Vec<ResolvedAgent>, roles: &[String], scope: &AgentScope) -> Vec<ResolvedAgent> {
    let mut agents: Vec<ResolvedAgent> = agents.into_iter().filter(|one| roles.contains(&one.agent.role)).collect();
    for role in roles {
        if agents.iter().any(|one| one.agent.role == *role) {
            continue;
        }
        let mut agent = defaults::agent_of(role);
        while agents.iter().any(|other| other.agent.id == agent.id) {
            agent.id = AgentId::new(format!("{}-built-in", agent.id));
        }
        agents.push(scope.built_in(agent));
    }
    agents
}

pub(super) fn check_ids(
    agents: &[ResolvedAgent],
    judge: &AgentSettings,
    judge_is_configured: bool,
    findings: &mut Diagnostics,
) {
    let root = KeyPath::root();
    let mut seen: Vec<(&AgentId, String)> = Vec::new();
    for ResolvedAgent { place, agent, .. } in agents {
        let (path, shown) = match place {
            Some(index) => {
                let path = root.key("agents").index(*index);
                (path.key("id"), format!("`{path}`"))
            }
            None => (root.key("agents"), "a built-in agent".to_owned()),
        };
        match seen.iter().find(|(id, _)| **id == agent.id) {
            Some((id, first)) => {
                findings.problem(path, format!("`{id}` is already the id of {first}"));
            }
            None => seen.push((&agent.id, shown)),
        }
    }
    if let Some((id, first)) = seen.iter().find(|(id, _)| **id == judge.id) {
        let (path, whose) = if judge_is_configured {
            (root.key("judge").key("id"), first.as_str())
        } else {
            (root.key("agents"), "the default judge")
        };
        findings.problem(path, format!("`{id}` is already the id of {whose}"));
    }
}

/// Returns the agents, the judge, and the models chosen for those that do not name one. If `is_expected` is set, warns
/// if the files configure no agents or no judge.
pub(super) fn roster(
    layers: &mut Layers,
    is_expected: bool,
    debate: &DebateSettings,
    protocol: Option<&Protocol>,
    configured: &BTreeMap<String, ProviderSettings>,
    context: &ResolveContext,
    findings: &mut Diagnostics,
) -> (Vec<ResolvedAgent>, ResolvedAgent, Option<ModelChoice>) {
    let names = provider_names(configured);
    let scope = AgentScope {
        own_roles: context.own_roles,
        providers: &names,
        summarization: &debate.summarization,
        is_summarization_off: layers.section("debate")["summarization"]["enabled"] == false,
    };
    let overrides = context.overrides;
    let (entries, judge) = (layers.section("agents"), layers.section("judge"));
    let entries = entries.as_array().map_or(&[][..], |entries| entries);
    let has_entries = entries.iter().any(|entry| !entry.is_null());
    let judge_entry = judge.as_object();
    if is_expected && judge_entry.is_none() {
        findings.warn(if has_entries {
            "no judge is configured; using the default judge with the first agent's provider and model"
        } else {
            "no judge is configured; using the default judge"
        });
    }
    let roles = overrides.agents.as_ref().and_then(|roles| match asked_roles(roles, &scope) {
        Ok(roles) => Some(roles),
        Err(fault) => {
            findings.argument("--agents", fault);
            None
        }
    });
    let of_file = enabled_agents(entries, &scope, layers, findings);
    let first = of_file.first().map(|first| ServedModel::like(&first.agent));
    // If the user names roles, do not limit the built-in agents, since any may be needed.
    let most = protocol.filter(|_| roles.is_none()).and_then(|protocol| protocol.built_in_agents);
    let built_in = || {
        let all = defaults::agents().into_iter().take(most.unwrap_or(usize::MAX));
        all.map(|agent| scope.built_in(agent)).collect::<Vec<_>>()
    };
    let mut agents = match &roles {
        Some(roles) => of_roles(if has_entries { of_file } else { built_in() }, roles, &scope),
        None if of_file.is_empty() => {
            if has_entries {
                findings.warn("every configured agent is disabled; using the built-in agents");
            } else if is_expected {
                findings.warn("no agents are configured; using the built-in agents");
            }
            built_in()
        }
        None => of_file,
    };
    if overrides.quick && roles.is_none() {
        agents.truncate(QUICK_AGENTS);
    }
    // Unconfigured agents use the model of the first configured agent, or else that of a configured judge.
    let lent = first.map(|first| (first, "the first agent"));
    let lent = lent.or_else(|| Some((served(&judge)?, "the judge")));
    let resolver = ModelResolver { providers: configured, context };
    let mut choice: Option<ModelChoice> = None;
    let mut places = 0..;
    for one in agents.iter_mut().filter(|one| one.place.is_none()) {
        if let Some((served, whose)) = &lent {
            one.lend(served, ValueSource::Like(whose));
        } else {
            let choice = choice.get_or_insert_with(|| resolver.choose(findings));
            one.lend(choice.dealt(places.next().unwrap_or_default()), ValueSource::Chosen(choice.because.clone()));
        }
    }
    let of_first =
        agents.first().map_or_else(|| ServedModel::like(&defaults::judge()), |first| ServedModel::like(&first.agent));
    let mut judge = if let Some(entry) = judge_entry {
        configured_judge(entry, &of_first, &scope, layers, findings)
    } else {
        let mut judge = scope.built_in(defaults::judge());
        match &choice {
            Some(choice) => judge.lend(choice.dealt(agents.len()), ValueSource::Chosen(choice.because.clone())),
            None => judge.lend(&of_first, ValueSource::Like("the first agent")),
        }
        judge
    };
    let judge_is_configured = judge_entry.is_some();
    check_ids(&agents, &judge.agent, judge_is_configured, findings);
    if overrides.offline {
        let rehearsal = ServedModel::new(OFFLINE, OFFLINE_MODEL);
        for one in agents.iter_mut().chain([&mut judge]) {
            one.lend(&rehearsal, ValueSource::Option("--offline"));
        }
        choice = None;
    } else {
        // A chosen model already reflects `--model`.
        let is_chosen = choice.is_some() && !judge_is_configured;
        resolver.replace_models(&mut agents, &mut judge, is_chosen, findings);
    }
    (agents, judge, choice)
}

impl ModelResolver<'_> {
    fn replace_models(
        &self,
        agents: &mut [ResolvedAgent],
        judge: &mut ResolvedAgent,
        is_chosen: bool,
        findings: &mut Diagnostics,
    ) {
        let overrides = self.context.overrides;
        if let ModelPreference { provider, model: Some(model), .. } = self.asked(overrides.model.as_ref())
            && !is_chosen
        {
            let in_use: BTreeSet<&str> = agents
                .iter()
                .chain([&*judge])
                .map(|one| one.agent.provider.as_str())
                .filter(|name| *name != OFFLINE)
                .collect();
            let provider = match (provider, in_use.into_iter().collect::<Vec<_>>().as_slice()) {
                (Some(provider), _) => Ok(provider),
                (None, [one]) => Ok((*one).to_owned()),
                (None, []) => self.provider_of(&model),
                (None, several) => {
                    let several = several.join(", ");
                    let message = format!(
                        "would replace models from different providers ({several}); choose the provider that serves `{model}`"
                    );
                    Err(Fault { message, needs_provider: true })
                }
            };
            match provider {
                Ok(provider) => {
                    let served = ServedModel::new(provider, model);
                    for one in agents.iter_mut().chain([&mut *judge]) {
                        one.lend(&served, ValueSource::Option("--model"));
                    }
                }
                Err(fault) => findings.argument("--model", fault),
            }
        }
        if let ModelPreference { provider, model: Some(model), .. } = self.asked(overrides.judge_model.as_ref()) {
            let of_judge = &judge.agent.provider;
            let provider = match provider {
                Some(provider) => provider,
                None if of_judge == OFFLINE || !may_serve(of_judge, &model) => {
                    self.provider_of(&model).unwrap_or_else(|fault| {
                        findings.argument("--judge-model", fault);
                        OFFLINE.to_owned()
                    })
                }
                None => of_judge.clone(),
            };
            judge.lend(&ServedModel::new(provider, model), ValueSource::Option("--judge-model"));
        }
        for (option, model) in [("--model", &overrides.model), ("--judge-model", &overrides.judge_model)] {
            if model.as_ref().is_some_and(|model| model.trim().is_empty()) {
                findings.argument(option, "must not be empty".to_owned());
            }
        }
    }
}

pub fn role_names(base_dir: Option<&Path>) -> Vec<String> {
    let built_in = Role::built_in_names().into_iter().map(str::to_owned);
    built_in.chain(base_dir.map(role_files).unwrap_or_default()).collect()
}

/// Finds the files `prompts/roles/<role>.md`. Returns an empty list if the directory cannot be read.
pub(super) fn role_files(base_dir: &Path) -> Vec<String> {
    let role = |entry: io::Result<std::fs::DirEntry>| {
        let path = entry.ok()?.path();
        let is_role = path.extension().is_some_and(|extension| extension == "md") && path.is_file();
        is_role.then(|| path.file_stem()?.to_str().map(str::to_owned)).flatten()
    };
    let entries = std::fs::read_dir(base_dir.join("prompts").join("roles")).into_iter().flatten();
    let mut roles: Vec<String> = entries.filter_map(role).collect();
    roles.sort();
    roles
}
