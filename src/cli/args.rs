//! Defines arguments that commands share, and removes empty path options before the arguments are parsed.

use std::any::TypeId;
use std::ffi::OsString;
use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Arg, ArgAction, Args, Command};

use dialectic_base::money::Usd;
use dialectic_report::display::ColorMode;

/// What users type for the newest debate.
pub(super) const LATEST: &str = "latest";

/// The values of `--color`: name, help text and mode.
pub(super) const COLORS: &[(&str, &str, ColorMode)] = &[
    ("auto", "On a terminal, unless `NO_COLOR` is set", ColorMode::Auto),
    ("always", "Always", ColorMode::Always),
    ("never", "Never", ColorMode::Never),
];

/// A parser for an option with fixed values. `all` lists their names, help texts and values.
pub(super) fn choice<T: Copy + Send + Sync + 'static>(
    all: &'static [(&'static str, &'static str, T)],
) -> impl TypedValueParser<Value = T> {
    PossibleValuesParser::new(all.iter().map(|(name, about, _)| PossibleValue::new(*name).help(*about))).try_map(
        |typed| all.iter().find(|(name, ..)| *name == typed).map(|(.., value)| *value).ok_or("an unknown name"),
    )
}

#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Agents and models")]
pub(super) struct ModelArgs {
    /// The model for all agents and the judge: a name, `provider/model`, an installed program (`claude` or `codex`), or
    /// `host` to write the answers yourself (see `dialectic requests`)
    #[arg(short, long, value_name = "MODEL")]
    pub(super) model: Option<String>,

    /// The judge's model
    #[arg(hide_short_help = true, long, value_name = "MODEL")]
    pub(super) judge_model: Option<String>,
}

#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a command-line option")]
#[command(next_help_heading = "Output")]
pub(super) struct RunArgs {
    /// Write the solution to a file, or the whole state if the file ends in `.json`
    #[arg(short, long, value_name = "PATH")]
    pub(super) output: Option<PathBuf>,

    /// Write a report when the debate ends; the file extension selects HTML, JSON or Markdown
    #[arg(long, value_name = "PATH")]
    pub(super) report: Option<PathBuf>,

    /// Read API keys and other variables from this file [default: .env, if it exists]
    #[arg(help_heading = "Agents and models", short, long, value_name = "PATH")]
    pub(super) env_file: Option<PathBuf>,

    /// Print the participants and the token usage of each call to standard error
    #[arg(short, long)]
    pub(super) verbose: bool,

    /// Write each event as a line of JSON to this file; with `-`, print the events instead of the solution
    #[arg(hide_short_help = true, long, value_name = "PATH")]
    pub(super) events: Option<PathBuf>,

    /// Exit with code 5 if the run is incomplete, a major requirement is not fully met, or a blocking or major
    /// point is open
    #[arg(hide_short_help = true, long)]
    pub(super) strict: bool,

    /// Run the debate in the background and print its id; `dialectic wait <id>` waits until it ends
    #[arg(long)]
    pub(super) detach: bool,

    /// Passed to the copy of the program that detaches.
    #[arg(long, hide = true, requires = "detach")]
    pub(super) detached: bool,

    /// Do not show progress
    #[arg(short, long)]
    pub(super) quiet: bool,
}

/// Permissions that only the user can grant, because a saved debate may come from someone else.
#[derive(Debug, Args)]
#[command(next_help_heading = "Trust")]
pub(super) struct VouchArgs {
    /// Also send keys to the providers defined in this file
    #[arg(short, long, value_name = "PATH")]
    pub(super) config: Option<PathBuf>,

    /// Let the debate's tools read this directory, even if it is outside the working directory
    #[arg(long, value_name = "DIR")]
    pub(super) context: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(super) struct ContinueArgs {
    /// The new cost limit for the whole debate, in dollars
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
    /// The debate: `latest`, an id, a unique prefix or suffix of an id, or a state file
    #[arg(value_name = "PATH-OR-ID")]
    pub(super) debate: String,
}

#[derive(Debug, Args)]
pub(super) struct NewestArg {
    /// The debate: an id, a unique prefix or suffix of an id, or a state file [default: latest]
    #[arg(value_name = "PATH-OR-ID")]
    pub(super) debate: Option<String>,
}

#[derive(Debug, Args)]
pub(super) struct KeyArgs {
    /// Read API keys and other variables from this file [default: .env, if it exists]
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

    /// Read API keys and other variables from this file [default: .env, if it exists]
    #[arg(short, long, value_name = "PATH")]
    pub(super) env_file: Option<PathBuf>,
}

/// Removes path options with an empty value, which scripts pass if a variable is unset: `--output "$OUT"`. Keeps other
/// empty options, so that they cause an error: a debate must not run without a limit that the user meant to set.
pub(super) fn without_empty(command: &Command, arguments: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
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

/// Whether an option takes a path. `option` must not contain `=value`.
fn takes_path(command: &Command, option: &str) -> bool {
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
}
