//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, ValueEnum};

mod eval;
mod handling;
mod review;
mod set_up;
mod sweep;

use dialectic_base::money::Usd;
use dialectic_config::SettingChange;
use dialectic_record::debate::{DebateSettings, TerminationKind};
use dialectic_report::display::ColorMode;
use dialectic_report::report::ReportFormat;

use super::commands::Command;
use super::examples::examples;
use super::output::report_format;

pub(super) use eval::EvalArgs;
pub(super) use handling::{
    AnswerArgs, AskArgs, By, DebatePart, KeyArgs, ListArgs, McpArgs, NewestArg, ReplyArgs, RequestsArgs, RmArgs,
    ShowArgs, ShownPart, StopArgs, WaitArgs,
};
pub(super) use review::{FailOn, ReviewArgs, ReviewFormat};
pub(super) use set_up::{
    CompletionsArgs, ConfigArgs, ConfigCommand, ConfigFileArgs, InitArgs, ManArgs, ModelsArgs, ProtocolsArgs,
    ProtocolsCommand, ServeArgs, SkillArgs, SkillCommand,
};
pub(super) use sweep::{
    CollectFormat, PlanArgs, SweepArgs, SweepCollectArgs, SweepCommand, SweepPlanArgs, SweepRunArgs, SweepStatusArgs,
};

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
    // Ordered after every command's own options: without a fixed order its place would depend on the number of
    // commands.
    #[arg(long, global = true, value_enum, value_name = "WHEN", display_order = 900)]
    pub(super) color: Option<When>,
}

/// When to use colour.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(super) enum When {
    /// On a terminal.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

impl From<When> for ColorMode {
    fn from(when: When) -> Self {
        match when {
            When::Auto => Self::Auto,
            When::Always => Self::Always,
            When::Never => Self::Never,
        }
    }
}

#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of the command line")]
pub(super) struct DebateArgs {
    /// The problem as text. Use `-` or a pipe to read it from standard input
    pub(super) problem: Option<String>,

    /// Read the problem from a UTF-8 file
    #[arg(help_heading = "Problem", 
        short = 'p',
        long,
        aliases = ["problemDescription", "problem-description"],
        value_name = "PATH",
        allow_hyphen_values = true
    )]
    pub(super) problem_file: Option<PathBuf>,

    /// Attach a text file, which all agents and the judge read. Repeatable; `-` is standard input
    #[arg(help_heading = "Problem", long, value_name = "PATH")]
    pub(super) attach: Vec<PathBuf>,

    #[command(flatten)]
    pub(super) models: ModelArgs,

    /// Use models from every vendor whose key is set, or from the installed programs
    #[arg(help_heading = "Who debates", long, conflicts_with = "model")]
    pub(super) mixed: bool,

    /// The roles that take part, separated by commas: your configured agents of that role, else built-in ones
    #[arg(help_heading = "Who debates", short, long, value_name = "ROLES", value_delimiter = ',')]
    pub(super) agents: Option<Vec<String>>,

    /// The number of rounds, from 1 to 100 [default: the configuration's, else the protocol's]
    #[arg(help_heading = "Debate", short, long, value_name = "N", value_parser = rounds, allow_negative_numbers = true)]
    pub(super) rounds: Option<u32>,

    /// When to end early [default: from the configuration, else fixed]
    #[arg(hide_short_help = true, help_heading = "Debate", long, value_name = "CONDITION", value_enum)]
    pub(super) until: Option<Until>,

    /// The configuration file [default: ./debate-config.json]
    #[arg(help_heading = "Who debates", short, long, value_name = "PATH")]
    pub(super) config: Option<PathBuf>,

    /// The directory that agents may read with their tools [default: the working directory]
    #[arg(help_heading = "Problem", long, value_name = "DIR")]
    pub(super) context: Option<PathBuf>,

    /// The protocol to follow; `dialectic protocols` lists them [default: the configuration's, else dialectic]
    #[arg(help_heading = "Debate", long, value_name = "NAME")]
    pub(super) protocol: Option<String>,

    /// The number of checkers that read the answer before you get it, from 0 to 3 [default: the configuration's, else
    /// 3]
    #[arg(help_heading = "Debate", long, value_name = "N", value_parser = lenses, allow_negative_numbers = true)]
    pub(super) check: Option<u32>,

    /// A council of two agents and one checker: the best first debate
    #[arg(help_heading = "Debate", long)]
    pub(super) quick: bool,

    /// Let the agents ask you questions before they begin
    #[arg(help_heading = "Debate", long)]
    pub(super) clarify: bool,

    /// Rehearse: call no model and list what the problem leaves open, at no cost
    #[arg(help_heading = "Who debates", long)]
    pub(super) offline: bool,

    /// The cost limit in dollars, including the judge's answer
    #[arg(help_heading = "Cost", long, value_name = "USD", value_parser = dollars, allow_negative_numbers = true)]
    pub(super) max_cost: Option<Usd>,

    #[command(flatten)]
    pub(super) calls: CallsArgs,

    /// Print the calls that the debate would make, their tokens, and their likely and maximum cost, without making any
    #[arg(help_heading = "Cost", long, conflicts_with = "detach")]
    pub(super) dry_run: bool,

    /// Print every call of the dry run as JSON
    #[arg(hide_short_help = true, help_heading = "Cost", long, requires = "dry_run")]
    pub(super) json: bool,

    /// Watch and steer the debate in a browser; the page stays until you press Ctrl-C
    #[arg(help_heading = "Output", long, conflicts_with = "detach")]
    pub(super) serve: bool,

    #[command(flatten)]
    pub(super) run: RunArgs,
}

/// Selects the models.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Who debates")]
pub(super) struct ModelArgs {
    /// The model of all agents and the judge: a name, `provider/model`, the program `claude` or `codex`, or `host`: you
    /// answer (`dialectic requests`)
    #[arg(short, long, value_name = "MODEL")]
    pub(super) model: Option<String>,

    /// The judge's model
    #[arg(hide_short_help = true, long, value_name = "MODEL")]
    pub(super) judge_model: Option<String>,
}

/// Options of a run, new or resumed.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of the command line")]
#[command(next_help_heading = "Output")]
pub(super) struct RunArgs {
    /// Write the result to a file: the whole state if it ends in `.json`, otherwise the solution
    #[arg(short, long, value_name = "PATH")]
    pub(super) output: Option<PathBuf>,

    /// Write a report when the debate ends: a page if the file ends in `.html`, otherwise Markdown
    #[arg(long, value_name = "PATH")]
    pub(super) report: Option<PathBuf>,

    /// The environment file with the keys [default: .env, if it exists]
    #[arg(help_heading = "Who debates", short, long, value_name = "PATH")]
    pub(super) env_file: Option<PathBuf>,

    /// Print the participants and the usage of each call, on standard error
    #[arg(short, long)]
    pub(super) verbose: bool,

    /// Write every event as a line of JSON to a file, or to standard output (`-`) instead of the solution
    #[arg(hide_short_help = true, long, value_name = "PATH")]
    pub(super) events: Option<PathBuf>,

    /// Exit with 5 if the run is incomplete, a major requirement is unmet or only partly met, or a major point is open
    #[arg(hide_short_help = true, long)]
    pub(super) strict: bool,

    /// Print the debate's id once it has started, and let it run in the background: `dialectic wait <id>` waits for its
    /// end
    #[arg(long)]
    pub(super) detach: bool,

    /// Set in the detached process.
    #[arg(long, hide = true, requires = "detach")]
    pub(super) detached: bool,

    /// Show no progress
    #[arg(short, long)]
    pub(super) quiet: bool,
}

/// The permissions that the user grants to a record that may come from someone else.
#[derive(Debug, Args)]
#[command(next_help_heading = "Trust")]
pub(super) struct VouchArgs {
    /// Also send keys to the providers defined in this file
    #[arg(short, long, value_name = "PATH")]
    pub(super) config: Option<PathBuf>,

    /// Let the debate's tools read this directory outside the working directory
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

#[derive(Debug, Args)]
pub(super) struct ResumeArgs {
    /// The debate: a state file, an id, a unique prefix or suffix of one, or `latest` [default: the newest resumable
    /// debate, after confirmation]
    #[arg(value_name = "PATH-OR-ID")]
    pub(super) debate: Option<String>,

    /// Resume the newest debate without asking; needed in scripts that name none
    #[arg(short, long, conflicts_with = "debate")]
    pub(super) yes: bool,

    /// Skip to the solution, using the texts so far
    #[arg(long)]
    pub(super) finish: bool,

    #[command(flatten)]
    pub(super) going_on: ContinueArgs,

    #[command(flatten)]
    pub(super) run: RunArgs,
}

#[derive(Debug, Args)]
pub(super) struct DemoArgs {
    /// Show only the solution, immediately
    #[arg(short, long)]
    pub(super) quiet: bool,
}

#[derive(Debug, Args)]
pub(super) struct ForkArgs {
    /// The debate: a state file, an id, or a unique prefix or suffix of one [default: latest, on a terminal]
    #[arg(value_name = "PATH-OR-ID")]
    pub(super) debate: Option<String>,

    /// The first stage to repeat, such as `2.critiques`; without a round, in the last one. The fork keeps everything
    /// before it; `start` keeps only the problem and the settings. With `--protocol`, the default is after the
    /// proposals of the first round
    #[arg(long, value_name = "ROUND.STAGE", required_unless_present = "protocol")]
    pub(super) at: Option<String>,

    /// Continue under another protocol, reusing the first proposals if it can
    #[arg(long, value_name = "NAME")]
    pub(super) protocol: Option<String>,

    /// Change a setting, such as `debate.rounds=4`, `judge.model=gpt-4o`, `agents.agent-kiss.temperature=0.2`
    #[arg(long, value_name = "KEY=VALUE")]
    pub(super) set: Vec<SettingChange>,

    #[command(flatten)]
    pub(super) models: ModelArgs,

    /// Rehearse without a model: needs no key and costs nothing
    #[arg(long)]
    pub(super) offline: bool,

    /// The cost limit in dollars, not counting the calls that the fork keeps
    #[arg(help_heading = "Cost", long, value_name = "USD", value_parser = dollars, allow_negative_numbers = true)]
    pub(super) max_cost: Option<Usd>,

    #[command(flatten)]
    pub(super) calls: CallsArgs,

    /// Print the calls that the fork would make, their tokens, and their likely and maximum cost, without making any
    #[arg(help_heading = "Cost", long, conflicts_with = "detach")]
    pub(super) dry_run: bool,

    #[command(flatten)]
    pub(super) vouch: VouchArgs,

    #[command(flatten)]
    pub(super) run: RunArgs,
}

#[derive(Debug, Args)]
pub(super) struct VerifyArgs {
    #[command(flatten)]
    pub(super) which: NewestArg,

    /// Print only the hash of the journal's last line; it covers the whole journal and can be signed with `ssh-keygen
    /// -Y sign`
    #[arg(long, conflicts_with = "json")]
    pub(super) head: bool,

    /// Print JSON
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Debug, Args)]
pub(super) struct ReportArgs {
    /// The debate: a state file, an id, or a unique prefix or suffix of one [default: latest]
    #[arg(value_name = "PATH-OR-ID")]
    debate: Option<String>,

    /// The debate as an option
    #[arg(short = 'd', long = "debate", value_name = "PATH-OR-ID", conflicts_with = "debate")]
    named: Option<String>,

    /// Take names and models from this configuration, by the agents' ids [default: from the record]
    #[arg(short, long, value_name = "PATH")]
    pub(super) config: Option<PathBuf>,

    /// Write to a file, in the format of its ending; without one Markdown [default: Markdown to standard output]
    #[arg(short, long, value_name = "PATH")]
    pub(super) output: Option<PathBuf>,

    /// The format of the report [default: from the file's extension]
    #[arg(long, value_name = "FORM", value_parser = report_format())]
    pub(super) format: Option<&'static ReportFormat>,

    /// Overwrite a decision record that was edited
    #[arg(long)]
    pub(super) force: bool,

    /// Open the page in a browser; without `--output` it is saved next to the debate
    #[arg(long)]
    pub(super) open: bool,

    /// Print the latency and tokens of each contribution
    #[arg(short, long)]
    pub(super) verbose: bool,
}

impl ReportArgs {
    /// The name of the debate, if given.
    pub(super) fn name(&self) -> Option<&str> {
        self.debate.as_deref().or(self.named.as_deref())
    }
}

/// Parses a dollar amount.
fn dollars(text: &str) -> Result<Usd, String> {
    match text.strip_prefix('$').unwrap_or(text).parse() {
        Ok(dollars) if f64::is_finite(dollars) && dollars > 0.0 => Ok(Usd::from_dollars(dollars)),
        _ => Err("expected a dollar amount above 0, such as 0.50".to_owned()),
    }
}

/// Limits of requests.
#[derive(Debug, Args)]
pub(super) struct CallsArgs {
    /// The maximum number of model calls, including retries
    #[arg(help_heading = "Cost", long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) max_calls: Option<u32>,
}

/// When a debate ends early.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Until {
    /// Never
    Fixed,
    /// When the judge finds that the agents agree
    Convergence,
    /// When the judge finds the solution good enough
    Quality,
    /// When no blocking or major objection is open
    Resolved,
}

impl From<Until> for TerminationKind {
    fn from(until: Until) -> Self {
        match until {
            Until::Fixed => Self::Fixed,
            Until::Convergence => Self::Convergence,
            Until::Quality => Self::Quality,
            Until::Resolved => Self::Resolved,
        }
    }
}

/// Parses a number of rounds.
fn rounds(text: &str) -> Result<u32, String> {
    match text.parse() {
        Ok(rounds) if (1..=DebateSettings::MOST_ROUNDS).contains(&rounds) => Ok(rounds),
        _ => Err(format!("expected a whole number from 1 to {}", DebateSettings::MOST_ROUNDS)),
    }
}

/// Parses a number of checkers.
fn lenses(text: &str) -> Result<u32, String> {
    let number = text.parse().ok().filter(|number| (0..=DebateSettings::DEFAULT_CHECK).contains(number));
    number.ok_or_else(|| format!("expected a whole number from 0 to {}", DebateSettings::DEFAULT_CHECK))
}
