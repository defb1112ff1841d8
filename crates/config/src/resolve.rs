//! Resolves layers to settings.

use std::collections::BTreeSet;

use serde_json::json;

use dialectic_base::key_path::KeyPath;
use dialectic_engine::access::{Environment, Outline, elsewhere, url_fault};
use dialectic_record::protocol::{COUNCIL, Protocol};
use dialectic_record::settings::{Settings, default_settings};

use super::agents::roster;
use super::choice::{ModelChoice, ResolveContext};
use super::error::Diagnostics;
use super::layers::Layers;
use super::rules;

/// `settings` are valid only if `findings` has no problems.
pub(super) struct Resolved {
    pub(super) settings: Settings,
    /// The layers, with agents in the order of the settings.
    pub(super) layers: Layers,
    pub(super) findings: Diagnostics,
    pub(super) choice: Option<ModelChoice>,
}

/// `findings` holds the problems found so far.
pub(super) fn resolve(mut layers: Layers, context: &ResolveContext, mut findings: Diagnostics) -> Resolved {
    let overrides = context.overrides;
    // The user's own configuration need not name agents. If it does, warn about a missing judge.
    let mut is_expected = context.is_expected || !layers.section("agents").is_null();
    if overrides.mixed {
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
    // A file's number of rounds is meant for the file's protocol, so a single-round protocol from the command line
    // ignores it.
    let is_of_file = overrides.protocol.is_none() && !overrides.quick;
    let is_single = |protocol: &Protocol| !is_of_file && overrides.rounds.is_none() && protocol.default_rounds == 1;
    if let Some(protocol) = protocol.filter(|of| section["rounds"].is_null() || is_single(of)) {
        debate.rounds = protocol.default_rounds;
    }
    if let Some(protocol) = protocol.filter(|_| section["check"].is_null()) {
        debate.check = protocol.default_check;
    }
    let (agents, judge, choice) =
        roster(&mut layers, is_expected, &debate, protocol, &providers, context, &mut findings);
    if overrides.quick && debate.protocol != COUNCIL.name {
        findings.argument(
            "--quick",
            format!("only works with the protocol `{}`, not with `{}`", COUNCIL.name, debate.protocol),
        );
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
