//! Resolves layers into settings. Pure: all outside values are arguments.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use serde_json::json;

use dialectic_base::key_path::KeyPath;
use dialectic_engine::access::{Environment, Outline, ProgramThere, elsewhere, url_fault};
use dialectic_record::debate::{ProviderSettings, Settings, default_settings};
use dialectic_record::protocol::{COUNCIL, Protocol};

use super::choice::{ModelChoice, ModelPreference};
use super::error::Diagnostics;
use super::layers::Layers;
use super::overrides::{Overrides, Switch};
use super::roster::{Roster, roster};
use super::rules;

pub(super) struct ResolveContext<'a> {
    pub(super) environment: &'a Environment,
    pub(super) overrides: &'a Overrides,
    /// Roles with a prompt file of the user's.
    pub(super) own_roles: &'a [String],
    /// The fallbacks from the user's own configuration.
    pub(super) usual: &'a Usual,
    /// Finds installed programs that have their own login. Called only when needed.
    pub(super) programs: &'a dyn Fn(&BTreeMap<String, ProviderSettings>) -> Vec<ProgramThere>,
    /// Whether a file should name the agents.
    pub(super) is_expected: bool,
}

/// The user's fallbacks.
#[derive(Debug, Clone, Default)]
pub(super) struct Usual {
    pub(super) preference: ModelPreference,
    /// The file that sets them.
    pub(super) path: Option<PathBuf>,
}

/// Settings, valid only without problems.
pub(super) struct Resolved {
    pub(super) settings: Settings,
    /// The layers, with agents in the order of the settings.
    pub(super) layers: Layers,
    pub(super) findings: Diagnostics,
    /// The models chosen for agents that name none, if needed.
    pub(super) choice: Option<ModelChoice>,
}

/// Decides every value. Adds the command line to `layers`, which come from files. `findings` are the problems so far.
pub(super) fn resolve(mut layers: Layers, context: &ResolveContext, mut findings: Diagnostics) -> Resolved {
    let overrides = context.overrides;
    // A user's own configuration need not name agents.
    let mut is_expected = context.is_expected || !layers.section("agents").is_null();
    if overrides.mixed == Switch::On {
        layers.take_section("agents");
        layers.take_section("judge");
        is_expected = false;
    }
    let providers = rules::providers(&layers.section("providers"), &mut findings);
    let prices = rules::prices(&layers.section("prices"), &mut findings);
    let models = rules::models(&layers.section("models"), &mut findings);
    let of_files = layers.section("debate");
    rules::check_debate(&of_files, &mut findings);
    layers.push_options(overrides);
    let section = layers.section("debate");
    let mut debate = rules::debate(&section, &mut findings);
    let protocol = Protocol::named(&debate.protocol);
    // The number of rounds in a file belongs to its protocol; a protocol with a single round ignores it.
    let is_of_file = overrides.protocol.is_none() && overrides.quick == Switch::AsConfigured;
    let is_single = |protocol: &Protocol| !is_of_file && overrides.rounds.is_none() && protocol.default_rounds == 1;
    if let Some(protocol) = protocol.filter(|of| section["rounds"].is_null() || is_single(of)) {
        debate.rounds = protocol.default_rounds;
    }
    if let Some(protocol) = protocol.filter(|_| section["check"].is_null()) {
        debate.check = protocol.default_check;
    }
    let Roster { agents, judge, choice } =
        roster(&mut layers, is_expected, &debate, protocol, &providers, context, &mut findings);
    if overrides.quick == Switch::On && debate.protocol != COUNCIL.name {
        findings
            .argument("--quick", format!("belongs to the protocol `{}`, not to `{}`", COUNCIL.name, debate.protocol));
    }
    if let Some(protocol) = protocol {
        rules::warn_of_idle_keys(&debate, protocol, &mut findings);
    }
    let places: Vec<Option<usize>> = agents.iter().map(|one| one.place).collect();
    layers.align_agents(&places);
    let paths = (0..agents.len()).map(|index| KeyPath::root().key("agents").index(index));
    for (path, one) in paths.zip(&agents).chain([(KeyPath::root().key("judge"), &judge)]) {
        if let Some(source) = &one.model {
            let served = json!({ "provider": one.agent.provider, "model": one.agent.model });
            layers.set(source.clone(), &path, served);
        }
    }
    let mut settings = Settings {
        agents: agents.into_iter().map(|one| one.agent).collect(),
        judge: judge.agent,
        debate,
        providers,
        prices,
        models,
        ..default_settings()
    };
    check_moved_endpoints(&settings, context.environment, &mut findings);
    settings.elsewhere = elsewhere(&settings, context.environment);
    Resolved { settings, layers, findings, choice }
}

/// Checks the base URLs that the environment sets for providers in use.
fn check_moved_endpoints(settings: &Settings, environment: &Environment, findings: &mut Diagnostics) {
    let used: BTreeSet<&str> = settings.everybody().map(|agent| agent.provider.as_str()).collect();
    for provider in used {
        let variable = Outline::of(provider, &settings.providers).and_then(|outline| outline.moved_by());
        let Some((variable, url)) = variable.and_then(|name| Some((name, environment.get(name)?))) else { continue };
        if let Some(fault) = url_fault(url) {
            findings.variable_problem(variable, fault);
        }
    }
}
