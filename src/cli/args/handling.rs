//! Arguments for saved debates.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use chrono::{Days, Local, NaiveDate};
use clap::builder::PossibleValuesParser;
use clap::{Args, ValueEnum};

use dialectic_base::money::Usd;

use super::{CallsArgs, VouchArgs, dollars};

/// The names of outcomes and statuses in lists.
const STATUSES: [&str; 9] =
    ["pending", "running", "paused", "completed", "failed", "full", "degraded", "stopped", "unreadable"];

/// A debate.
#[derive(Debug, Args)]
pub(in crate::cli) struct DebateArg {
    /// The debate: a state file, an id, the beginning or the last four characters of one, or `latest`
    #[arg(value_name = "PATH-OR-ID")]
    pub(in crate::cli) debate: String,
}

/// A debate, by default the newest.
#[derive(Debug, Args)]
pub(in crate::cli) struct NewestArg {
    /// The debate: a state file, an id, or the beginning or the last four characters of one [default: latest]
    #[arg(value_name = "PATH-OR-ID")]
    debate: Option<String>,
}

impl NewestArg {
    /// The name of the debate, if given.
    pub(in crate::cli) fn name(&self) -> Option<&str> {
        self.debate.as_deref()
    }
}

#[derive(Debug, Args)]
pub(in crate::cli) struct ListArgs {
    /// Only debates with this status or outcome; separate several by commas
    #[arg(long, value_name = "STATUS", value_delimiter = ',', value_parser = PossibleValuesParser::new(STATUSES))]
    pub(in crate::cli) status: Vec<String>,

    /// Only debates whose problem or solution contains this text, or which the memory finds by its words; case does not
    /// matter
    #[arg(long, value_name = "TEXT")]
    pub(in crate::cli) text: Option<String>,

    /// Only debates of this protocol
    #[arg(long, value_name = "NAME")]
    pub(in crate::cli) protocol: Option<String>,

    /// Only debates from this day on: `2026-01-31`, `today`, `yesterday`, or `7d` for seven days ago
    #[arg(long, value_name = "DAY", value_parser = day)]
    pub(in crate::cli) since: Option<NaiveDate>,

    /// Only debates up to the end of this day
    #[arg(long, value_name = "DAY", value_parser = day)]
    pub(in crate::cli) until: Option<NaiveDate>,

    /// At most this many, newest first
    #[arg(short = 'n', long = "limit", value_name = "N")]
    pub(in crate::cli) limit: Option<NonZeroUsize>,

    /// Print costs by month and model instead of debates
    #[arg(long)]
    pub(in crate::cli) cost: bool,

    /// Print JSON
    #[arg(long)]
    pub(in crate::cli) json: bool,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct ShowArgs {
    #[command(flatten)]
    pub(in crate::cli) which: NewestArg,

    /// The part to print [default: an overview]
    #[arg(value_enum)]
    pub(in crate::cli) part: Option<DebatePart>,

    /// The round, agent or stage: a number, id, role or name
    #[arg(value_name = "NAME", requires = "part")]
    pub(in crate::cli) name: Option<String>,

    /// Print JSON
    #[arg(long)]
    pub(in crate::cli) json: bool,
}

/// A part of a debate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum DebatePart {
    /// The solution
    Solution,
    /// All texts of a round
    Round,
    /// All texts by an agent, and all texts about its texts
    Agent,
    /// All texts of a stage, round by round
    Stage,
    /// All critiques of an agent's texts
    Critiques,
    /// Every objection and its outcome
    Points,
    /// The follow-up questions and their answers
    FollowUps,
}

#[derive(Debug, Args)]
#[command(override_usage = "dialectic ask [OPTIONS] [PATH-OR-ID] <QUESTION>")]
pub(in crate::cli) struct AskArgs {
    /// The debate: a state file, an id, or the beginning or the last four characters of one [default: latest, on a
    /// terminal]
    #[arg(value_name = "PATH-OR-ID")]
    pub(in crate::cli) debate: Option<String>,

    /// The question; `-` reads it from standard input
    pub(in crate::cli) question: Option<String>,

    /// The cost limit of the answer, in dollars [default: the rest of the debate's limit]
    #[arg(long, value_name = "USD", value_parser = dollars, allow_negative_numbers = true)]
    pub(in crate::cli) max_cost: Option<Usd>,

    #[command(flatten)]
    pub(in crate::cli) calls: CallsArgs,

    /// The environment file with the keys [default: .env, if it exists]
    #[arg(short, long, value_name = "PATH")]
    pub(in crate::cli) env_file: Option<PathBuf>,

    #[command(flatten)]
    pub(in crate::cli) vouch: VouchArgs,

    /// Show no progress
    #[arg(short, long)]
    pub(in crate::cli) quiet: bool,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct RmArgs {
    /// The debates: ids, beginnings or last four characters of ids, `latest`, or files in ./debates
    #[arg(value_name = "PATH-OR-ID", required = true)]
    pub(in crate::cli) debates: Vec<String>,

    /// Do not ask for confirmation; needed in scripts
    #[arg(short, long)]
    pub(in crate::cli) yes: bool,
}

/// Parses a day in local time.
fn day(text: &str) -> Result<NaiveDate, String> {
    let today = Local::now().date_naive();
    let ago = |days: u64| today.checked_sub_days(Days::new(days));
    let found = match text {
        "today" => Some(today),
        "yesterday" => ago(1),
        _ => match text.strip_suffix('d').and_then(|days| days.parse().ok()) {
            Some(days) => ago(days),
            None => NaiveDate::parse_from_str(text, "%Y-%m-%d").ok(),
        },
    };
    found
        .ok_or_else(|| "expected a day such as 2026-01-31, `today`, `yesterday`, or `7d` for seven days ago".to_owned())
}
