//! The global arguments, and those that several commands share; each command defines its own others. Adjusts arguments
//! before they are parsed.

use std::any::TypeId;
use std::ffi::OsString;
use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Arg, ArgAction, Args, Command as ClapCommand, Parser, ValueEnum as _};

use dialectic_base::money::Usd;
use dialectic_report::display::ColorMode;

use super::commands::Command;
use super::commands::show::DebatePart;
use super::examples::examples;

/// The name of the newest debate.
pub(super) const LATEST: &str = "latest";

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

/// Drops options whose path is empty, which scripts produce from unset variables: `--output "$OUT"`. An empty limit or
/// list of roles is kept and causes an error, since it was meant to set something.
pub(super) fn without_empty(command: &ClapCommand, arguments: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut command = command;
    let mut arguments = arguments.into_iter();
    let mut kept: Vec<OsString> = arguments.next().into_iter().collect();
    while let Some(argument) = arguments.next() {
        let Some(text) = argument.to_str() else {
            kept.push(argument);
            continue;
        };
        if text == "--" {
            kept.push(argument);
            break;
        }
        if let Some(subcommand) = command.find_subcommand(text) {
            command = subcommand;
            kept.push(argument);
        } else if takes_path(command, text) {
            match arguments.next() {
                Some(value) if value.is_empty() => {}
                value => kept.extend([argument].into_iter().chain(value)),
            }
        } else if !text.strip_suffix('=').is_some_and(|option| takes_path(command, option)) {
            kept.push(argument);
        }
    }
    kept.extend(arguments);
    kept
}

/// Whether `option`, given without a value, is an option of the command that takes one path.
fn takes_path(command: &ClapCommand, option: &str) -> bool {
    let is_named = |argument: &Arg| match option.strip_prefix("--") {
        Some(long) => {
            argument.get_long() == Some(long) || argument.get_all_aliases().unwrap_or_default().contains(&long)
        }
        None => option
            .strip_prefix('-')
            .is_some_and(|short| argument.get_short().is_some_and(|own| short.chars().eq([own]))),
    };
    let is_path = |argument: &Arg| {
        matches!(argument.get_action(), ArgAction::Set | ArgAction::Append)
            && argument.get_value_parser().type_id() == TypeId::of::<PathBuf>()
    };
    command.get_arguments().any(|argument| is_named(argument) && is_path(argument))
}

/// Inserts `latest` before the part of a debate that `show` prints: `show points`.
pub(super) fn with_latest(arguments: Vec<OsString>) -> Vec<OsString> {
    let mut words = arguments.iter().enumerate().skip(1);
    let mut is_show = false;
    while let Some((place, word)) = words.next() {
        match word.to_str() {
            Some("--color") => drop(words.next()),
            Some(option) if option.starts_with('-') => {}
            Some("show") if !is_show => is_show = true,
            Some(part) if is_show && DebatePart::from_str(part, false).is_ok() => {
                let (before, after) = arguments.split_at(place);
                return [before, &[LATEST.into()], after].concat();
            }
            Some(_) | None => break,
        }
    }
    arguments
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(line: &[&str]) -> Vec<String> {
        let mut command = super::super::command();
        command.build();
        let kept = without_empty(&command, line.iter().map(OsString::from));
        kept.into_iter().map(|argument| argument.into_string().unwrap()).collect()
    }

    #[test]
    fn an_option_without_its_value_is_left_out() {
        for line in [
            &["dialectic", "debate", "-o", "", "x"][..],
            &["dialectic", "debate", "--output", "", "x"],
            &["dialectic", "debate", "--output=", "x"],
            &["dialectic", "debate", "--problem-description", "", "x"],
            &["dialectic", "debate", "--problem-file", "", "--attach", "", "x"],
        ] {
            assert_eq!(kept(line), ["dialectic", "debate", "x"], "{line:?}");
        }
    }

    #[test]
    fn everything_else_stays() {
        for line in [
            &["dialectic", "debate", ""][..],
            &["dialectic", "debate", "x", "--max-cost", "", "--agents="],
            &["dialectic", "debate", "--quiet", "", "-o", "-o", "--unknown", ""],
            &["dialectic", "debate", "--", "-o", ""],
            &["dialectic", "debate", "-p", "--output", ""],
            &["dialectic", "debate", "-o"],
            &["dialectic", "fork", "x", "--set", "", "--at", "start"],
            &["dialectic", "config", "show", "a=", "debate"],
        ] {
            assert_eq!(kept(line), line);
        }
    }

    #[test]
    fn a_part_alone_is_of_the_newest_debate() {
        for (typed, meant) in [
            ("dialectic show points", "dialectic show latest points"),
            ("dialectic --color never show --json round 2", "dialectic --color never show --json latest round 2"),
            ("dialectic show vhkp points", "dialectic show vhkp points"),
            ("dialectic show", "dialectic show"),
            ("dialectic protocols show round", "dialectic protocols show round"),
        ] {
            let words = |line: &str| line.split(' ').map(OsString::from).collect::<Vec<_>>();
            assert_eq!(with_latest(words(typed)), words(meant));
        }
    }
}
