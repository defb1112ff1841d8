//! `dialectic config`: write, check and show configurations.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::path::Path;

use crate::cli::args::{ConfigArgs, ConfigCommand, ConfigFileArgs};
use crate::cli::session::{build_panel, env_file};
use crate::cli::terminal::Terminal;
use crate::config::{
    ConfigPath, Environment, Loaded, Overrides, Row, model_warnings, one_family, schema, show, starter,
};
use crate::debate::{PanelInfo, Usd};
use crate::error::Error;
use crate::figures::counted;
use crate::prompt::Role;
use crate::protocol::PROTOCOLS;
use crate::signals::Signals;
use crate::trace::{Destination, TraceConfigError};

use super::debate::{load_settings, today, vocabulary};

pub(in crate::cli) fn run(args: &ConfigArgs, terminal: &mut Terminal) -> Result<(), Error> {
    match &args.command {
        ConfigCommand::Init { path } => init(path, terminal),
        ConfigCommand::Check(file) => check(file, terminal),
        ConfigCommand::Show { file, json } => {
            let (loaded, environment) = read(file, terminal)?;
            if let Some(choice) = &loaded.choice {
                terminal.notice(&choice.to_string());
            }
            if *json {
                let text = serde_json::to_string_pretty(&loaded.settings);
                return terminal.result(&text.map_err(|error| Error::Stdout(error.into()))?);
            }
            terminal.result(&table(&show(&loaded, &environment)))
        }
        ConfigCommand::Schema => {
            let roles = Role::built_in_names();
            let protocols: Vec<&str> = PROTOCOLS.iter().map(|protocol| protocol.name).collect();
            terminal.result(&format!("{:#}", schema(&vocabulary(&roles, &protocols))))
        }
    }
}

fn init(path: &Path, terminal: &mut Terminal) -> Result<(), Error> {
    let mut file =
        OpenOptions::new().write(true).create_new(true).open(path).map_err(|source| match source.kind() {
            ErrorKind::AlreadyExists => Error::Exists { path: path.to_owned() },
            _ => Error::Output { path: path.to_owned(), source },
        })?;
    file.write_all(starter().as_bytes()).map_err(|source| Error::Output { path: path.to_owned(), source })?;
    terminal.notice(&format!("Wrote a configuration to {}", path.display()));
    Ok(())
}

fn check(file: &ConfigFileArgs, terminal: &mut Terminal) -> Result<(), Error> {
    let (loaded, environment) = read(file, terminal)?;
    if let Some(choice) = &loaded.choice {
        choice.callable()?;
    }
    let settings = &loaded.settings;
    // Nobody subscribes: no call is made.
    let signals = Signals::new(PanelInfo::from(settings));
    for warning in build_panel(settings, &environment, &loaded.provenance, signals, Usd::ZERO)?.warnings {
        terminal.warning(&warning);
    }
    if let Some(Err(unsent)) = settings.debate.trace.map(|target| Destination::of(target, &environment)) {
        match unsent {
            TraceConfigError::Missing { .. } => terminal.warning(&unsent.to_string()),
            TraceConfigError::Invalid { .. } | TraceConfigError::Stranger(_) => return Err(unsent.into()),
        }
    }
    for warning in model_warnings(settings, today()) {
        terminal.warning(&warning);
    }
    let agents = counted(settings.agents.len() as u64, "agent");
    let rounds = counted(settings.debate.rounds.into(), "round");
    terminal.notice(&format!("The configuration is sound: {agents} and a judge, {rounds} at most."));
    if let Some(advice) = one_family(settings) {
        terminal.notice(&advice);
    }
    Ok(())
}

fn read(file: &ConfigFileArgs, terminal: &mut Terminal) -> Result<(Loaded, Environment), Error> {
    let environment = Environment::capture(&env_file(file.env_file.as_ref()))?;
    let path = file.config.clone().map_or(ConfigPath::Default, ConfigPath::Named);
    let loaded = load_settings(&path, &environment, &Overrides::default())?;
    for warning in &loaded.warnings {
        terminal.warning(warning);
    }
    Ok((loaded, environment))
}

fn table(rows: &[Row]) -> String {
    let width = |cell: fn(&Row) -> usize| rows.iter().map(cell).max().unwrap_or(0);
    let path = width(|row| row.path.chars().count());
    let value = width(|row| row.value.chars().count());
    let lines = rows.iter().map(|row| format!("{:<path$}  {:<value$}  {}", row.path, row.value, row.source));
    lines.collect::<Vec<_>>().join("\n")
}
