//! `dialectic debate`: a new debate.

use std::collections::BTreeSet;

use chrono::{NaiveDate, Utc};

use crate::agent::SUMMARIZATION_METHODS;
use crate::cli::args::DebateArgs;
use crate::cli::session::{Session, env_file, runner};
use crate::cli::terminal::Terminal;
use crate::config::{
    ConfigPath, Environment, Loaded, Overrides, Switch, Vocabulary, load, model_warnings, routed_providers,
};
use crate::debate::Settings;
use crate::error::Error;
use crate::llm::price_of;
use crate::prompt::Role;
use crate::protocol::PROTOCOLS;
use crate::runner::Spec;
use crate::tools::TOOL_NAMES;

use super::{dry_run, problem, protocols};

pub(in crate::cli) fn run(args: &DebateArgs, terminal: &mut Terminal) -> Result<(), Error> {
    let problem = problem::read(args.problem.as_deref(), args.problem_description.as_deref())?;
    let environment = Environment::capture(&env_file(args.run.env_file.as_ref()))?;
    let path = args.config.clone().map_or(ConfigPath::Default, ConfigPath::Named);
    let Loaded { settings, warnings, provenance, choice, .. } = load_settings(&path, &environment, &overrides(args))?;
    let warnings = [warnings, model_warnings(&settings, today())].concat();
    let protocol = protocols::named(&settings.debate.protocol)?;
    let spec = Spec {
        problem: problem.as_str().into(),
        context: None,
        protocol,
        settings: settings.clone(),
        seed: None,
        provenance,
    };
    if args.dry_run {
        if let Some(choice) = choice {
            terminal.notice(&choice.to_string());
        }
        for warning in &warnings {
            terminal.warning(warning);
        }
        return dry_run::run(&spec, &routed_providers(&settings, &environment), terminal);
    }
    let session = Session::open(&args.run, &settings, &environment, terminal)?;
    if let Some(choice) = &choice {
        choice.callable()?;
    }
    let prepared = runner(environment).prepare(spec.clone())?;
    if let Some(choice) = choice {
        terminal.notice(&choice.to_string());
    }
    for warning in warnings.iter().chain(&prepared.panel().warnings) {
        terminal.warning(warning);
    }
    dry_run::check_prompts(&spec, terminal)?;
    prepared.check_limit()?;
    warn_of_unknown_costs(&settings, terminal);
    session.run(prepared.begin()?, terminal)
}

fn overrides(args: &DebateArgs) -> Overrides {
    let switch = |on| if on { Switch::On } else { Switch::AsConfigured };
    Overrides {
        agents: args.agents.clone(),
        rounds: args.rounds,
        until: args.until.map(Into::into),
        protocol: args.protocol.clone(),
        clarify: switch(args.clarify),
        offline: switch(args.offline),
        max_cost: args.max_cost,
        warn_cost: args.warn_cost,
        seed: args.seed,
        context_dir: args.context.clone(),
    }
}

/// The day by which a model is retired or is not.
pub(super) fn today() -> NaiveDate {
    Utc::now().date_naive()
}

/// A warning limit counts what is known to have been spent.
fn warn_of_unknown_costs(settings: &Settings, terminal: &mut Terminal) {
    if settings.debate.budget.warn_cost_usd.is_none() {
        return;
    }
    let everybody = settings.agents.iter().chain([&settings.judge]);
    let unpriced = everybody.filter(|agent| price_of(agent, settings).is_none());
    let models: BTreeSet<&str> = unpriced.map(|agent| agent.model.as_str()).collect();
    if !models.is_empty() {
        let models = models.into_iter().collect::<Vec<_>>().join(", ");
        terminal.warning(&format!("no price is known of {models}: its calls do not count towards `warnCostUsd`"));
    }
}

/// Loads settings with the names that this program knows.
pub(in crate::cli) fn load_settings(
    path: &ConfigPath,
    environment: &Environment,
    overrides: &Overrides,
) -> Result<Loaded, Error> {
    let roles = Role::built_in_names();
    let protocols: Vec<&str> = PROTOCOLS.iter().map(|protocol| protocol.name).collect();
    Ok(load(path, environment, overrides, &vocabulary(&roles, &protocols))?)
}

/// The names that mean something in this program.
pub(super) fn vocabulary<'a>(roles: &'a [&'a str], protocols: &'a [&'a str]) -> Vocabulary<'a> {
    Vocabulary { roles, tools: TOOL_NAMES, protocols, summarization_methods: SUMMARIZATION_METHODS }
}
