//! Decides who takes part with which models: agents and judge from a file, a panel or the defaults, with the options of
//! the command line applied.

use std::collections::{BTreeMap, BTreeSet};

use dialectic_base::provider::{OFFLINE, OFFLINE_MODEL};
use dialectic_engine::access::provider_names;
use dialectic_record::debate::{DebateSettings, ProviderSettings, defaults};
use dialectic_record::protocol::{Protocol, QUICK_AGENTS};

use super::agents::{self, AgentScope, ResolvedAgent};
use super::choice::{ModelChoice, ModelPreference, ModelResolver, ServedModel, may_serve};
use super::error::{Diagnostics, Fault};
use super::layers::{Layers, ValueSource};
use super::overrides::Switch;
use super::resolve::ResolveContext;

/// The agents and judge of a debate.
pub(super) struct Roster {
    pub(super) agents: Vec<ResolvedAgent>,
    pub(super) judge: ResolvedAgent,
    pub(super) choice: Option<ModelChoice>,
}

/// Decides the agents and judge for `protocol`. `is_expected` is whether a file should name them.
pub(super) fn roster(
    layers: &mut Layers,
    is_expected: bool,
    debate: &DebateSettings,
    protocol: Option<&Protocol>,
    configured: &BTreeMap<String, ProviderSettings>,
    context: &ResolveContext,
    findings: &mut Diagnostics,
) -> Roster {
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
            "no judge is configured; using the default judge with the provider and model of the first agent"
        } else {
            "no judge is configured; using the default judge"
        });
    }
    let roles = overrides.agents.as_ref().and_then(|roles| match agents::asked_roles(roles, &scope) {
        Ok(roles) => Some(roles),
        Err(fault) => {
            findings.argument("--agents", fault);
            None
        }
    });
    let of_file = agents::enabled_agents(entries, &scope, layers, findings);
    let first = of_file.first().map(|first| ServedModel::like(&first.agent));
    // A user who names roles chooses among all agents.
    let most = protocol.filter(|_| roles.is_none()).and_then(|protocol| protocol.built_in_agents);
    let built_in = || {
        let all = defaults::agents().into_iter().take(most.unwrap_or(usize::MAX));
        all.map(|agent| scope.built_in(agent)).collect::<Vec<_>>()
    };
    let mut agents = match &roles {
        Some(roles) => agents::of_roles(if has_entries { of_file } else { built_in() }, roles, &scope),
        None if of_file.is_empty() => {
            if has_entries {
                findings.warn("no agent is left; using the built-in agents");
            } else if is_expected {
                findings.warn("no agents are configured; using the built-in agents");
            }
            built_in()
        }
        None => of_file,
    };
    if overrides.quick == Switch::On && roles.is_none() {
        agents.truncate(QUICK_AGENTS);
    }
    // A configured judge shows the intended provider: agents without a configuration use it too.
    let lent = first.map(|first| (first, "the first agent"));
    let lent = lent.or_else(|| Some((agents::served(&judge)?, "the judge")));
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
        agents::judge(entry, &of_first, &scope, layers, findings)
    } else {
        let mut judge = scope.built_in(defaults::judge());
        match &choice {
            Some(choice) => judge.lend(choice.dealt(agents.len()), ValueSource::Chosen(choice.because.clone())),
            None => judge.lend(&of_first, ValueSource::Like("the first agent")),
        }
        judge
    };
    let judge_is_configured = judge_entry.is_some();
    agents::check_ids(&agents, &judge.agent, judge_is_configured, findings);
    if overrides.offline == Switch::On {
        let rehearsal = ServedModel::new(OFFLINE, OFFLINE_MODEL);
        for one in agents.iter_mut().chain([&mut judge]) {
            one.lend(&rehearsal, ValueSource::Option("--offline"));
        }
        choice = None;
    } else {
        // A choice already includes the options.
        let is_chosen = choice.is_some() && !judge_is_configured;
        resolver.replace_models(&mut agents, &mut judge, is_chosen, findings);
    }
    Roster { agents, judge, choice }
}

impl ModelResolver<'_> {
    /// Applies the requested models to agents and judge.
    fn replace_models(
        &self,
        agents: &mut [ResolvedAgent],
        judge: &mut ResolvedAgent,
        is_chosen: bool,
        findings: &mut Diagnostics,
    ) {
        let overrides = self.context.overrides;
        if let ModelPreference { provider, model: Some(model) } = self.asked(overrides.model.as_ref())
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
                        "would replace the models of several providers ({several}): choose the one that serves `{model}`"
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
        if let ModelPreference { provider, model: Some(model) } = self.asked(overrides.judge_model.as_ref()) {
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
                findings.argument(option, "names no model".to_owned());
            }
        }
    }
}
