//! `dialectic config`: writes, checks, shows and trusts configurations.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use clap::Subcommand;
use console::{Alignment, measure_text_width, pad_str};
use serde_json::Value;

use crate::cli::args::ConfigFileArgs;
use crate::cli::examples::examples;
use crate::cli::session::config_files;
use crate::cli::terminal::Terminal;
use crate::error::{Error, ErrorCategory, UserError};
use crate::trace::TraceDestination;
use dialectic_base::figures::counted;
use dialectic_base::sanitize::one_line;
use dialectic_config::{
    Loaded, ModelChoice, Overrides, STARTER, SettingRow, capture_environment, model_warnings, one_family,
    process_environment, schema, show, users_environment, usual_model,
};
use dialectic_engine::access::{Environment, Trusted, refused, trust};
use dialectic_engine::runner::Services;
use dialectic_record::protocol::Unfit;

use super::debate::today;
use super::protocols;

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum ConfigCommand {
    /// Write a commented configuration to start from
    #[command(after_help = examples(&["dialectic config init", "dialectic config init review.json"]))]
    Init {
        /// The file to write
        #[arg(default_value = dialectic_config::DEFAULT_PATH, value_name = "PATH")]
        path: PathBuf,
    },
    /// Check a configuration and the keys it needs, without calling a model
    #[command(after_help = examples(&["dialectic config check", "dialectic config check review.json"]))]
    Check {
        /// The file to check [default: ./debate-config.json]
        #[arg(value_name = "PATH", conflicts_with = "config")]
        path: Option<PathBuf>,
        #[command(flatten)]
        file: ConfigFileArgs,
    },
    /// Print every setting and its source
    #[command(after_help = examples(&["dialectic config show", "dialectic config show --json"]))]
    Show {
        #[command(flatten)]
        file: ConfigFileArgs,
        /// Print the settings as JSON
        #[arg(long)]
        json: bool,
    },
    /// Trust a configuration or `.env` file until its content changes
    #[command(after_help = examples(&["dialectic config trust", "dialectic config trust .env"]))]
    Trust {
        /// The file to trust
        #[arg(default_value = dialectic_config::DEFAULT_PATH, value_name = "PATH")]
        path: PathBuf,
    },
    /// Print the JSON Schema of the configuration
    #[command(after_help = examples(&["dialectic config schema > debate-config.schema.json"]))]
    Schema,
}

pub(in crate::cli) fn run(args: &ConfigCommand, terminal: &mut Terminal) -> Result<(), Error> {
    match args {
        ConfigCommand::Init { path } => init(path, terminal),
        ConfigCommand::Check { path, file } => check(path.as_ref(), file, terminal),
        ConfigCommand::Show { file, json } => {
            let (loaded, environment) = read(file.config.as_ref(), file, terminal)?;
            if let Some(choice) = &loaded.choice {
                terminal.notice(&choice.to_string());
            }
            if *json {
                return terminal.json(&loaded.settings);
            }
            terminal.text(&table(&show(&loaded, &environment)))
        }
        ConfigCommand::Trust { path } => trust_file(path, terminal),
        ConfigCommand::Schema => terminal.text(&format!("{:#}", schema())),
    }
}

fn init(path: &Path, terminal: &mut Terminal) -> Result<(), Error> {
    let mut file =
        OpenOptions::new().write(true).create_new(true).open(path).map_err(|source| match source.kind() {
            ErrorKind::AlreadyExists => Error::Exists(path.to_owned()),
            _ => Error::Output { path: path.to_owned(), source },
        })?;
    let usual = usual_model(&users_environment()?);
    file.write_all(starter(usual.as_ref()).as_bytes())
        .map_err(|source| Error::Output { path: path.to_owned(), source })?;
    terminal.notice(&format!("Wrote a configuration to {}", path.display()));
    Ok(())
}

/// `usual` contains the provider and model for all agents.
fn starter(usual: Option<&(String, String)>) -> String {
    let Some((provider, model)) = usual else { return STARTER.to_owned() };
    let [provider, model] = [provider, model].map(|name| Value::from(name.as_str()).to_string());
    STARTER.replace(
        r#""model": "gpt-5.6-luna", "provider": "openai""#,
        &format!(r#""model": {model}, "provider": {provider}"#),
    )
}

fn check(path: Option<&PathBuf>, file: &ConfigFileArgs, terminal: &mut Terminal) -> Result<(), Error> {
    let (loaded, environment) = read(path.or(file.config.as_ref()), file, terminal)?;
    loaded.choice.iter().try_for_each(ModelChoice::callable)?;
    let settings = &loaded.settings;
    let protocol = protocols::named(&settings.debate.protocol)?;
    (protocol.check)(settings)
        .map_err(|Unfit { problem, hint, .. }| UserError::of(ErrorCategory::Configuration, problem).with_hint(hint))?;
    terminal.warnings(Services::new(environment.clone()).panel(protocol, settings)?.warnings);
    if let Some(Err(unsent)) = settings.debate.trace.map(|target| TraceDestination::of(target, &environment)) {
        if !unsent.can_be_ignored() {
            return Err(unsent.into());
        }
        terminal.warning(&unsent.to_string());
    }
    terminal.warnings(model_warnings(settings, today()));
    let agents = counted(settings.agents.len() as u64, "agent");
    let rounds = counted(settings.debate.rounds.into(), "round");
    terminal.notice(&format!("The configuration is valid: {agents} and a judge, at most {rounds}."));
    if let Some(advice) = one_family(settings) {
        terminal.notice(&advice);
    }
    Ok(())
}

fn trust_file(path: &Path, terminal: &mut Terminal) -> Result<(), Error> {
    let Trusted { path, sha256, text } = trust(path, &process_environment())?;
    // Ignore a parse error, because a `.env` file is not JSON.
    let keys = serde_json::from_str(&text).map(|tree| refused(&tree)).unwrap_or_default();
    let sets = if keys.is_empty() { String::new() } else { format!(", which sets {}", keys.join(", ")) };
    terminal.notice(&format!("Trusted {}{sets} (SHA-256 {sha256})", path.display()));
    Ok(())
}

fn read(
    path: Option<&PathBuf>,
    file: &ConfigFileArgs,
    terminal: &mut Terminal,
) -> Result<(Loaded, Environment), Error> {
    let environment = capture_environment(file.env_file.as_deref())?;
    let loaded = config_files(path, &environment).load(&Overrides::default())?;
    terminal.warnings(&loaded.warnings);
    Ok((loaded, environment))
}

/// Formats each row as one line, even if a value contains line breaks.
fn table(rows: &[SettingRow]) -> String {
    let rows: Vec<[String; 3]> =
        rows.iter().map(|row| [&row.path, &row.value, &row.source.to_string()].map(|cell| one_line(cell))).collect();
    let width = |column: usize| rows.iter().map(|row| measure_text_width(&row[column])).max().unwrap_or(0);
    let padded =
        |row: &[String; 3], column: usize| pad_str(&row[column], width(column), Alignment::Left, None).into_owned();
    let lines = rows.iter().map(|row| [padded(row, 0), padded(row, 1), row[2].clone()].join("  "));
    lines.collect::<Vec<_>>().join("\n")
}
