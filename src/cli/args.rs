//! The global arguments, and those that several commands share. Each command defines its own others.

use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser};

use dialectic_base::money::Usd;
use dialectic_report::display::ColorMode;

use super::commands::Command;
use super::examples::examples;

/// Language-model agents debate a problem, and a judge hands back one answer.
#[derive(Debug, Parser)]
#[command(name = "dialectic", version, propagate_version = true, max_term_width = 100, args_override_self = true)]
#[command(after_help = examples(&[
    "dialectic demo",
    "dialectic debate --offline \"Design a rate limiting system\"",
    "dialectic init",
    "git diff | dialectic debate --attach - \"Is this safe to merge?\"",
]))]
pub(super) struct Cli {
    #[command(subcommand)]
    pub(super) command: Command,

    /// When to use colour; `auto` also honours `NO_COLOR` [default: auto]
    // Sorted after every command's own options; without a fixed order, its position would depend on the number of
    // commands.
    #[arg(long, global = true, value_parser = choice(COLORS), value_name = "WHEN", display_order = 900)]
    pub(super) color: Option<ColorMode>,
}

/// The values of `--color`, with their help texts.
pub(super) const COLORS: &[(&str, &str, ColorMode)] = &[
    ("auto", "On a terminal", ColorMode::Auto),
    ("always", "Always", ColorMode::Always),
    ("never", "Never", ColorMode::Never),
];

/// Parses one of several named values with help texts.
pub(super) fn choice<T: Copy + Send + Sync + 'static>(
    all: &'static [(&'static str, &'static str, T)],
) -> impl TypedValueParser<Value = T> {
    PossibleValuesParser::new(all.iter().map(|(name, about, _)| PossibleValue::new(*name).help(*about))).try_map(
        |typed| all.iter().find(|(name, ..)| *name == typed).map(|(.., value)| *value).ok_or("an unknown name"),
    )
}

#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Who debates")]
pub(super) struct ModelArgs {
    /// The model for all agents and the judge: a name, `provider/model`, the program `claude` or `codex`, or `host` to
    /// answer yourself (`dialectic requests`)
    #[arg(short, long, value_name = "MODEL")]
    pub(super) model: Option<String>,

    /// The judge's model
    #[arg(hide_short_help = true, long, value_name = "MODEL")]
    pub(super) judge_model: Option<String>,
}

/// Options of a run, new or resumed.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a command-line option")]
#[command(next_help_heading = "Output")]
pub(super) struct RunArgs {
    /// Write the result to a file: the whole state if it ends in `.json`, otherwise the solution
    #[arg(short, long, value_name = "PATH")]
    pub(super) output: Option<PathBuf>,

    /// Write a report when the debate ends: an HTML page if the file ends in `.html`, otherwise Markdown
    #[arg(long, value_name = "PATH")]
    pub(super) report: Option<PathBuf>,

    /// The environment file with the keys [default: .env, if it exists]
    #[arg(help_heading = "Who debates", short, long, value_name = "PATH")]
    pub(super) env_file: Option<PathBuf>,

    /// Print the participants and the usage of each call to standard error
    #[arg(short, long)]
    pub(super) verbose: bool,

    /// Write every event as a line of JSON to a file, or to standard output (`-`) instead of the solution
    #[arg(hide_short_help = true, long, value_name = "PATH")]
    pub(super) events: Option<PathBuf>,

    /// Exit with 5 if the run is incomplete, a major requirement is unmet or only partly met, or a major point is open
    #[arg(hide_short_help = true, long)]
    pub(super) strict: bool,

    /// Run the debate in the background and print its id once it has started; `dialectic wait <id>` waits for its end
    #[arg(long)]
    pub(super) detach: bool,

    /// Set in the detached process.
    #[arg(long, hide = true, requires = "detach")]
    pub(super) detached: bool,

    /// Show no progress
    #[arg(short, long)]
    pub(super) quiet: bool,
}

/// Permissions for a record that may come from someone else.
#[derive(Debug, Args)]
#[command(next_help_heading = "Trust")]
pub(super) struct VouchArgs {
    /// Also send keys to the providers defined in this file
    #[arg(short, long, value_name = "PATH")]
    pub(super) config: Option<PathBuf>,

    /// Let the debate's tools read this directory, even though it is outside the working directory
    #[arg(long, value_name = "DIR")]
    pub(super) context: Option<PathBuf>,
}

/// The limits and permissions of a debate that continues.
#[derive(Debug, Args)]
pub(super) struct ContinueArgs {
    /// Limit the total cost of the debate to this many dollars, regardless of its original limit
    #[arg(long, value_name = "USD", value_parser = dollars, allow_negative_numbers = true)]
    pub(super) max_cost: Option<Usd>,

    #[command(flatten)]
    pub(super) calls: CallsArgs,

    #[command(flatten)]
    pub(super) vouch: VouchArgs,
}

pub(super) fn dollars(text: &str) -> Result<Usd, String> {
    match text.strip_prefix('$').unwrap_or(text).parse() {
        Ok(dollars) if f64::is_finite(dollars) && dollars > 0.0 => Ok(Usd::from_dollars(dollars)),
        _ => Err("expected a dollar amount above 0, such as 0.50".to_owned()),
    }
}

#[derive(Debug, Args)]
pub(super) struct CallsArgs {
    /// The maximum number of model calls, including retries
    #[arg(help_heading = "Cost", long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) max_calls: Option<u32>,
}

#[derive(Debug, Args)]
pub(super) struct DebateArg {
    /// The debate: a state file, an id, a unique prefix or suffix of one, or `latest`
    #[arg(value_name = "PATH-OR-ID")]
    pub(super) debate: String,
}

#[derive(Debug, Args)]
pub(super) struct NewestArg {
    /// The debate: a state file, an id, or a unique prefix or suffix of one [default: latest]
    #[arg(value_name = "PATH-OR-ID")]
    pub(super) debate: Option<String>,
}

/// The keys for continuing a debate.
#[derive(Debug, Args)]
pub(super) struct KeyArgs {
    /// The environment file with the keys [default: .env, if it exists]
    #[arg(short, long, value_name = "PATH")]
    pub(super) env_file: Option<PathBuf>,

    #[command(flatten)]
    pub(super) going_on: ContinueArgs,
}

#[derive(Debug, Args)]
pub(super) struct ConfigFileArgs {
    /// The configuration file [default: ./debate-config.json]
    #[arg(short, long, value_name = "PATH")]
    pub(super) config: Option<PathBuf>,

    /// The environment file with the keys [default: .env, if it exists]
    #[arg(short, long, value_name = "PATH")]
    pub(super) env_file: Option<PathBuf>,
}
