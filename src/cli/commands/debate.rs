//! `dialectic debate`: a new debate.

use rand::RngExt;

use crate::agent::SUMMARIZATION_METHODS;
use crate::cli::args::DebateArgs;
use crate::cli::session::{DEBATES, Session, env_file};
use crate::cli::terminal::Terminal;
use crate::config::{ConfigPath, Environment, Loaded, Overrides, Switch, Vocabulary, load};
use crate::debate::{BudgetSettings, Created};
use crate::error::Error;
use crate::prompt::Role;
use crate::protocol::{DIALECTIC, PROTOCOLS, Protocol};
use crate::store::{Directory, Record};
use crate::tools::TOOL_NAMES;

use super::problem;

/// The format of journal and state that this program writes.
const FORMAT_VERSION: u32 = 1;

pub(in crate::cli) fn run(args: &DebateArgs, terminal: &mut Terminal) -> Result<(), Error> {
    let problem = problem::read(args.problem.as_deref(), args.problem_description.as_deref())?;
    let environment = Environment::capture(&env_file(args.run.env_file.as_ref()))?;
    let path = args.config.clone().map_or(ConfigPath::Default, ConfigPath::Named);
    let Loaded { settings, warnings, .. } = load_settings(&path, &environment, &overrides(args))?;
    let mut session = Session::open(&args.run, terminal)?;
    let panel = session.panel(&settings, &environment)?;
    for warning in warnings.iter().chain(&panel.warnings) {
        terminal.warning(warning);
    }
    if settings.debate.budget != BudgetSettings::default() {
        terminal.warning("the cost limits of `debate.budget` are not enforced by this version");
    }
    let protocol = Protocol::named(&settings.debate.protocol).unwrap_or(&DIALECTIC);
    let directory = Directory::at(DEBATES);
    let seed = rand::rng().random();
    let (record, created) = Record::begin(&directory, |id| Created {
        format_version: FORMAT_VERSION,
        id,
        problem: problem.as_str().into(),
        context: None,
        settings: settings.clone(),
        prompt_sources: panel.sources.clone(),
        seed,
    })?;
    session.show(created);
    session.run(protocol, panel, record, &[], terminal)
}

fn overrides(args: &DebateArgs) -> Overrides {
    let switch = |on| if on { Switch::On } else { Switch::AsConfigured };
    Overrides {
        agents: args.agents.clone(),
        rounds: args.rounds,
        protocol: args.protocol.clone(),
        clarify: switch(args.clarify),
        offline: switch(args.offline),
        max_cost: None,
        warn_cost: None,
        context_dir: args.context.clone(),
    }
}

/// Loads settings with the names that this program knows.
pub(super) fn load_settings(
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
