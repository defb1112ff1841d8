//! Agents and judge: from entries of the file to settings, and which of the agents take part.

use std::path::PathBuf;

use dialectic_base::key_path::KeyPath;
use dialectic_base::provider::{OFFLINE, OFFLINE_MODEL};
use dialectic_record::debate::{AgentId, AgentSettings, SummarizationSettings, ToolSettings, defaults};

use super::choice::Served;
use super::file::{AgentEntry, SummarizationSection, ToolEntry};
use super::findings::{Diagnostics, unknown};
use super::overrides::Vocabulary;
use super::shapes::Object;

/// Above this answers tend to become erratic, which is allowed but rarely meant.
const WARM: f64 = 1.0;
/// The role of an agent whose own is not known.
const FALLBACK_ROLE: &str = "architect";

/// What agents are resolved against.
pub(super) struct AgentScope<'a> {
    pub(super) vocabulary: &'a Vocabulary<'a>,
    /// Roles that the user has files for.
    pub(super) own_roles: &'a [String],
    pub(super) providers: &'a [&'a str],
    /// The debate's, which agents change key by key.
    pub(super) summarization: &'a SummarizationSettings,
}

/// An agent with its index in the file; a built-in one has none.
pub(super) type Placed = (Option<usize>, AgentSettings);

/// The agents of the file that are switched on, in its order.
pub(super) fn enabled_agents(
    entries: Vec<Option<Object<AgentEntry>>>,
    scope: &AgentScope,
    findings: &mut Diagnostics,
) -> Vec<Placed> {
    let path = KeyPath::root().key("agents");
    let present = entries.into_iter().enumerate().filter_map(|(index, entry)| Some((index, entry?.0)));
    present
        .filter(|(_, entry)| entry.enabled != Some(false))
        .map(|(index, mut entry)| {
            let path = path.index(index);
            for (key, value) in [("id", &mut entry.id), ("name", &mut entry.name)] {
                if value.is_none() {
                    findings.problem(path.key(key), "is missing");
                    *value = Some(format!("agents[{index}]"));
                }
            }
            // Without a server there is no model to choose.
            if entry.model.is_none() && entry.provider.as_deref() != Some(OFFLINE) {
                findings.problem(path.key("model"), "is missing");
            }
            if entry.role.is_none() {
                findings.warn(format!("`{path}` has no role; {FALLBACK_ROLE} is used"));
            }
            (Some(index), agent(entry, &path, &defaults::unnamed_agent(), scope, findings))
        })
        .collect()
}

/// Provider and model of an entry that names both.
pub(super) fn served(entry: &AgentEntry) -> Option<Served> {
    Some(Served { provider: entry.provider.clone()?, model: entry.model.clone()? })
}

/// The judge of the file; what it leaves out is the default judge's, but for provider and model: without both it has
/// those of the first agent.
pub(super) fn judge(
    mut entry: AgentEntry,
    of_first: &Served,
    scope: &AgentScope,
    findings: &mut Diagnostics,
) -> AgentSettings {
    let path = KeyPath::root().key("judge");
    let mut default = defaults::judge();
    match (&entry.provider, &entry.model) {
        (None, None) => default = of_first.lent_to(default),
        (Some(provider), None) if provider != OFFLINE => {
            let like_first = Some(of_first).filter(|first| first.provider == *provider).cloned();
            entry.model = like_first.or_else(|| Served::by(provider)).map(|served| served.model);
            if entry.model.is_none() {
                findings.problem(path.key("model"), "is missing");
            }
        }
        (_, Some(_)) | (Some(_), None) => {}
    }
    if entry.enabled == Some(false) {
        findings.warn("`judge.enabled` has no effect: a debate needs its judge");
    }
    agent(entry, &path, &default, scope, findings)
}

fn agent(
    entry: AgentEntry,
    path: &KeyPath,
    default: &AgentSettings,
    scope: &AgentScope,
    findings: &mut Diagnostics,
) -> AgentSettings {
    let mut filled = |key: &str, raw: Option<String>, default: &str| {
        let text = raw.unwrap_or_else(|| default.to_owned());
        if text.trim().is_empty() {
            findings.problem(path.key(key), "is empty");
        }
        text
    };
    let id = filled("id", entry.id, default.id.as_str());
    let name = filled("name", entry.name, &default.name);
    let configured_model = filled("model", entry.model, &default.model);
    let provider = findings.known(path.key("provider"), entry.provider, "provider", scope.providers, &default.provider);
    let model = if provider == OFFLINE { OFFLINE_MODEL.to_owned() } else { configured_model };
    let temperature = findings.within(path.key("temperature"), entry.temperature, &(0.0..=2.0), default.temperature);
    if temperature > WARM {
        findings.warn(format!("`{path}.temperature` is {temperature}; above {WARM} answers tend to become erratic"));
    }
    let role = role(entry.role, path, &default.role, scope, findings);
    let tools = tools(entry.tools.unwrap_or_default(), path, scope, findings);
    AgentSettings {
        id: AgentId::new(id),
        name,
        role,
        model,
        provider,
        temperature,
        system_prompt_path: file_path(entry.system_prompt_path),
        summary_prompt_path: file_path(entry.summary_prompt_path),
        clarification_prompt_path: file_path(entry.clarification_prompt_path),
        summarization: summarization(
            entry.summarization,
            &path.key("summarization"),
            scope.summarization,
            scope.vocabulary,
            findings,
        ),
        enabled: true,
        tools,
        tool_call_limit: findings.whole(path.key("toolCallLimit"), entry.tool_call_limit, 0, default.tool_call_limit),
        max_tokens: entry.max_tokens.map(|tokens| findings.whole(path.key("maxTokens"), Some(tokens), 1, 1)),
        position: entry.position,
        criteria: criteria(entry.criteria, path, findings),
    }
}

fn criteria(raw: Option<Vec<String>>, path: &KeyPath, findings: &mut Diagnostics) -> Option<Vec<String>> {
    let path = path.key("criteria");
    let criteria: Vec<String> = raw?.iter().map(|criterion| criterion.trim().to_owned()).collect();
    for (index, criterion) in criteria.iter().enumerate() {
        if criterion.is_empty() {
            findings.problem(path.index(index), "is empty");
        } else if criteria[..index].contains(criterion) {
            findings.problem(path.index(index), format!("names `{criterion}` once more"));
        }
    }
    (!criteria.is_empty()).then_some(criteria)
}

fn role(raw: Option<String>, path: &KeyPath, default: &str, scope: &AgentScope, findings: &mut Diagnostics) -> String {
    let Some(role) = raw else { return default.to_owned() };
    if scope.own_roles.contains(&role) {
        return role;
    }
    let built_in = scope.vocabulary.roles;
    if let Some(known) = built_in.iter().find(|known| known.eq_ignore_ascii_case(role.trim())) {
        return (*known).to_owned();
    }
    let roles: Vec<&str> = built_in.iter().copied().chain(scope.own_roles.iter().map(String::as_str)).collect();
    findings.warn(format!("{} at `{path}.role`; {FALLBACK_ROLE} is used", unknown("role", &role, &roles)));
    FALLBACK_ROLE.to_owned()
}

fn tools(
    entries: Vec<Option<Object<ToolEntry>>>,
    path: &KeyPath,
    scope: &AgentScope,
    findings: &mut Diagnostics,
) -> Vec<ToolSettings> {
    let mut tools: Vec<ToolSettings> = Vec::new();
    let path = path.key("tools");
    for (index, entry) in entries.into_iter().enumerate() {
        let Some(Object(ToolEntry { name })) = entry else { continue };
        let name = name.unwrap_or_default();
        if !scope.vocabulary.tools.contains(&name.as_str()) {
            let unknown = unknown("tool", &name, scope.vocabulary.tools);
            findings.warn(format!("{unknown} at `{}` is skipped", path.index(index)));
        } else if tools.iter().all(|tool| tool.name != name) {
            tools.push(ToolSettings { name });
        }
    }
    tools
}

/// A section of the debate or an agent over its base.
pub(super) fn summarization(
    section: Option<Object<SummarizationSection>>,
    path: &KeyPath,
    base: &SummarizationSettings,
    vocabulary: &Vocabulary,
    findings: &mut Diagnostics,
) -> SummarizationSettings {
    let Object(section) = section.unwrap_or_default();
    SummarizationSettings {
        enabled: section.enabled.unwrap_or(base.enabled),
        threshold: findings.whole(path.key("threshold"), section.threshold, 0, base.threshold),
        max_length: findings.whole(path.key("maxLength"), section.max_length, 1, base.max_length),
        method: findings.known(
            path.key("method"),
            section.method,
            "summarization method",
            vocabulary.summarization_methods,
            &base.method,
        ),
        prompt_path: file_path(section.prompt_path).or_else(|| base.prompt_path.clone()),
    }
}

/// A blank path means none.
pub(super) fn file_path(raw: Option<String>) -> Option<PathBuf> {
    raw.filter(|path| !path.trim().is_empty()).map(PathBuf::from)
}

/// The roles that `--agents` names, each once and as it is known; an error for one that does not exist.
pub(super) fn asked_roles(asked: &[String], scope: &AgentScope) -> Result<Vec<String>, String> {
    let known: Vec<&str> =
        scope.vocabulary.roles.iter().copied().chain(scope.own_roles.iter().map(String::as_str)).collect();
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

/// The agents with one of `roles`, in their order, then a built-in one of each role that none of them has.
pub(super) fn of_roles(agents: Vec<Placed>, roles: &[String], scope: &AgentScope) -> Vec<Placed> {
    let mut agents: Vec<Placed> = agents.into_iter().filter(|(_, agent)| roles.contains(&agent.role)).collect();
    for role in roles {
        if agents.iter().any(|(_, agent)| agent.role == *role) {
            continue;
        }
        let mut agent = defaults::agent_of(role);
        while agents.iter().any(|(_, other)| other.id == agent.id) {
            agent.id = AgentId::new(format!("{}-built-in", agent.id));
        }
        agent.summarization = scope.summarization.clone();
        agents.push((None, agent));
    }
    agents
}

/// Reports every id that is used twice, at its second place.
pub(super) fn check_ids(
    agents: &[Placed],
    judge: &AgentSettings,
    judge_is_configured: bool,
    findings: &mut Diagnostics,
) {
    let root = KeyPath::root();
    let mut seen: Vec<(&AgentId, String)> = Vec::new();
    for (index, agent) in agents {
        let (path, shown) = match index {
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
