//! Who takes part, and which models they are: agents and judge from a file, a panel or what is built in, with what the
//! command line says of them.

use std::collections::{BTreeMap, BTreeSet};

use dialectic_base::provider::OFFLINE;
use dialectic_engine::access::provider_names;
use dialectic_record::debate::{AgentSettings, DebateSettings, ProviderSettings, defaults, go_offline};
use dialectic_record::protocol::Protocol;

use super::agents::{self, AgentScope, Placed};
use super::choice::{ModelChoice, ModelPreference, ModelResolver, Served};
use super::file::AgentEntry;
use super::findings::{Diagnostics, unknown};
use super::overrides::{PanelName, Switch};
use super::resolve::Layers;
use super::shapes::Object;

/// Who is described where.
pub(super) struct Described {
    /// The entries of a file.
    pub(super) agents: Option<Vec<Option<Object<AgentEntry>>>>,
    /// The judge of that file.
    pub(super) judge: Option<Object<AgentEntry>>,
    /// Whether there is a file that should say it.
    pub(super) is_expected: bool,
}

/// Who takes part.
pub(super) struct Cast {
    pub(super) agents: Vec<Placed>,
    pub(super) judge: AgentSettings,
    pub(super) choice: Option<ModelChoice>,
}

/// Decides who takes part in a debate by `protocol`.
pub(super) fn cast(
    described: Described,
    debate: &DebateSettings,
    protocol: Option<&Protocol>,
    configured: &BTreeMap<String, ProviderSettings>,
    layers: &Layers,
    findings: &mut Diagnostics,
) -> Cast {
    let names = provider_names(configured);
    let scope = AgentScope {
        vocabulary: layers.vocabulary,
        own_roles: layers.own_roles,
        providers: &names,
        summarization: &debate.summarization,
    };
    let overrides = layers.overrides;
    let judge_entry = described.judge.map(|Object(entry)| entry);
    let judge_is_configured = judge_entry.is_some();
    let entries = described.agents.filter(|entries| entries.iter().any(Option::is_some));
    if described.is_expected && judge_entry.is_none() {
        findings.warn(if entries.is_some() {
            "no judge is configured; the default judge is used, with the provider and model of the first agent"
        } else {
            "no judge is configured; the default judge is used"
        });
    }
    let roles = overrides.agents.as_ref().and_then(|roles| match agents::asked_roles(roles, &scope) {
        Ok(roles) => Some(roles),
        Err(fault) => {
            findings.argument("--agents", fault);
            None
        }
    });
    let has_entries = entries.is_some();
    let of_file = entries.map(|entries| agents::enabled_agents(entries, &scope, findings)).unwrap_or_default();
    let first = of_file.first().map(|(_, agent)| Served::like(agent));
    // Whoever names roles chooses among all of them.
    let most = protocol.filter(|_| roles.is_none()).and_then(|protocol| protocol.built_in_agents);
    let mut agents = match &roles {
        Some(roles) => agents::of_roles(if has_entries { of_file } else { built_in(debate, None) }, roles, &scope),
        None if of_file.is_empty() => {
            if has_entries {
                findings.warn("no agent is left; the built-in agents are used");
            } else if described.is_expected {
                findings.warn("no agents are configured; the built-in agents are used");
            }
            built_in(debate, most)
        }
        None => of_file,
    };
    // A configured judge says whom the user means: agents without a configuration of their own are asked there too.
    let lent = first.or_else(|| judge_entry.as_ref().and_then(agents::served));
    let choosing = choosing(configured, layers);
    let mut choice = None;
    let mut places = 0..;
    for (origin, agent) in &mut agents {
        if origin.is_none() {
            let served = lent.clone().unwrap_or_else(|| {
                choice.get_or_insert_with(|| choosing.choose(findings)).dealt(places.next().unwrap_or_default())
            });
            *agent = served.lent_to(agent.clone());
        }
    }
    let of_first = agents.first().map_or_else(|| Served::like(&defaults::judge()), |(_, agent)| Served::like(agent));
    let mut judge = if let Some(entry) = judge_entry {
        agents::judge(entry, &of_first, &scope, findings)
    } else {
        let served = choice.as_ref().map_or(of_first, |choice| choice.dealt(agents.len()));
        served.lent_to(AgentSettings { summarization: debate.summarization.clone(), ..defaults::judge() })
    };
    agents::check_ids(&agents, &judge, judge_is_configured, findings);
    let mut everybody: Vec<&mut AgentSettings> = agents.iter_mut().map(|(_, agent)| agent).collect();
    if overrides.offline == Switch::On {
        everybody.into_iter().chain([&mut judge]).for_each(go_offline);
        choice = None;
    } else {
        // A choice was made from the options already.
        let is_chosen = choice.is_some() && !judge_is_configured;
        choosing.replace_models(&mut everybody, &mut judge, layers, is_chosen, findings);
    }
    Cast { agents, judge, choice }
}

/// The built-in agents, at most so many.
fn built_in(debate: &DebateSettings, most: Option<usize>) -> Vec<Placed> {
    let summarized = |agent| AgentSettings { summarization: debate.summarization.clone(), ..agent };
    defaults::agents().into_iter().take(most.unwrap_or(usize::MAX)).map(|agent| (None, summarized(agent))).collect()
}

fn choosing<'a>(configured: &'a BTreeMap<String, ProviderSettings>, layers: &'a Layers) -> ModelResolver<'a> {
    let overrides = layers.overrides;
    ModelResolver {
        providers: configured,
        environment: layers.environment,
        asked: ModelPreference { provider: overrides.provider.clone(), model: overrides.model.clone() },
        usual: layers.usual.wish.clone(),
        usual_path: layers.usual.path.clone(),
        panel: layers.panel(),
        is_offline: overrides.offline == Switch::On,
    }
}

impl ModelResolver<'_> {
    /// Lays `--model`, `--judge-model` and `--provider` over agents and judge.
    fn replace_models(
        &self,
        agents: &mut [&mut AgentSettings],
        judge: &mut AgentSettings,
        layers: &Layers,
        is_chosen: bool,
        findings: &mut Diagnostics,
    ) {
        let overrides = layers.overrides;
        if let Some(provider) = &overrides.provider {
            let names = provider_names(self.providers);
            if !names.contains(&provider.as_str()) {
                findings.argument("--provider", format!("names an {}", unknown("provider", provider, &names)));
                return;
            }
        }
        if !is_chosen {
            let served = match (&overrides.model, &overrides.provider) {
                (Some(model), provider) => {
                    let in_use: BTreeSet<&str> = agents
                        .iter()
                        .map(|agent| &**agent)
                        .chain([&*judge])
                        .map(|agent| agent.provider.as_str())
                        .filter(|name| *name != OFFLINE)
                        .collect();
                    match (provider, in_use.into_iter().collect::<Vec<_>>().as_slice()) {
                        (Some(provider), _) => Ok(Some((provider.clone(), model.clone()))),
                        (None, [one]) => Ok(Some(((*one).to_owned(), model.clone()))),
                        (None, []) => self
                            .provider_of(model)
                            .map(|provider| Some((provider, model.clone())))
                            .map_err(|fault| ("--model", fault)),
                        (None, several) => Err((
                            "--model",
                            format!(
                                "replaces the models of several providers ({}): say with `--provider` which one serves \
                                 `{model}`",
                                several.join(", ")
                            ),
                        )),
                    }
                }
                // Of the judge alone.
                (None, Some(_)) if overrides.judge_model.is_some() => Ok(None),
                (None, Some(provider)) => match Served::by(provider) {
                    Some(Served { provider, model }) => Ok(Some((provider, model))),
                    None => Err(("--provider", self.no_default_model(provider))),
                },
                (None, None) => Ok(None),
            };
            match served {
                Ok(Some((provider, model))) => {
                    let served = Served { provider, model };
                    for agent in agents.iter_mut().map(|agent| &mut **agent).chain([&mut *judge]) {
                        *agent = served.lent_to(agent.clone());
                    }
                }
                Ok(None) => {}
                Err((option, fault)) => findings.argument(option, fault),
            }
        }
        if let Some(model) = &overrides.judge_model {
            model.clone_into(&mut judge.model);
            match &overrides.provider {
                Some(provider) => provider.clone_into(&mut judge.provider),
                None if judge.provider == OFFLINE => match self.provider_of(model) {
                    Ok(provider) => judge.provider = provider,
                    Err(fault) => findings.argument("--judge-model", fault),
                },
                None => {}
            }
        }
        for (option, model) in [("--model", &overrides.model), ("--judge-model", &overrides.judge_model)] {
            if model.as_ref().is_some_and(|model| model.trim().is_empty()) {
                findings.argument(option, "names no model".to_owned());
            }
        }
    }
}

impl Layers<'_> {
    /// The panel that decides which models are asked where no agent says it, and who says so.
    pub(super) fn panel(&self) -> Option<(PanelName, super::choice::ChoiceReason)> {
        use super::choice::{ChoiceReason, MODEL_VARIABLE, PROVIDER_VARIABLE};
        use super::overrides::PanelChoice;
        match &self.overrides.panel {
            Some(PanelChoice::Named(name)) => return Some((*name, ChoiceReason::Option("--panel"))),
            Some(PanelChoice::File(_)) => return None,
            None => {}
        }
        let is_overruled = self.overrides.model.is_some()
            || self.overrides.provider.is_some()
            || [MODEL_VARIABLE, PROVIDER_VARIABLE].iter().any(|name| self.environment.has(name));
        let usual = self.usual.panel.filter(|_| !is_overruled)?;
        Some((usual, ChoiceReason::File(self.usual.path.clone()?)))
    }
}
