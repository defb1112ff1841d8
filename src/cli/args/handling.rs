//! Arguments for saved debates, and for those that run apart.

use std::ffi::OsStr;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use chrono::{Days, Local, NaiveDate};
use clap::builder::{EnumValueParser, PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Arg, Args, Command, ValueEnum};

use dialectic_base::money::Usd;

use super::{CallsArgs, ContinueArgs, RunArgs, VouchArgs, dollars};

/// The names of outcomes and statuses in lists.
const STATUSES: [&str; 11] = [
    "pending",
    "running",
    "paused",
    "completed",
    "failed",
    "complete",
    "incomplete",
    "stopped",
    "full",
    "degraded",
    "unreadable",
];

/// A debate.
#[derive(Debug, Args)]
pub(in crate::cli) struct DebateArg {
    /// The debate: a state file, an id, a unique prefix or suffix of one, or `latest`
    #[arg(value_name = "PATH-OR-ID")]
    pub(in crate::cli) debate: String,
}

/// A debate, by default the newest.
#[derive(Debug, Args)]
pub(in crate::cli) struct NewestArg {
    /// The debate: a state file, an id, or a unique prefix or suffix of one [default: latest]
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

    /// Only debates whose problem or solution contains this text (ignoring case), or that a keyword search of the
    /// memory finds
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

    /// The part to print, or the number of a point: `2.2`, `D1` [default: an overview]
    #[arg(value_parser = PartParser)]
    pub(in crate::cli) part: Option<ShownPart>,

    /// The round, agent or stage: a number, id, role or name
    #[arg(value_name = "NAME", requires = "part")]
    pub(in crate::cli) name: Option<String>,

    /// With `points`: only those that are open
    #[arg(long, requires = "part")]
    pub(in crate::cli) open: bool,

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
    /// All critiques
    Critiques,
    /// The points by status, open ones first
    Points,
    /// The follow-up questions and their answers
    FollowUps,
}

/// A part of a debate, or one point with its history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::cli) enum ShownPart {
    Part(DebatePart),
    Point(String),
}

/// Parses part names (as offered by completions) and point numbers.
#[derive(Debug, Clone, Copy)]
struct PartParser;

impl TypedValueParser for PartParser {
    type Value = ShownPart;

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<ShownPart, clap::Error> {
        let number = value.to_str().filter(|text| is_point_number(text));
        match number {
            Some(number) => Ok(ShownPart::Point(number.to_owned())),
            None => EnumValueParser::<DebatePart>::new().parse_ref(command, arg, value).map(ShownPart::Part),
        }
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let names = DebatePart::value_variants().iter().filter_map(ValueEnum::to_possible_value);
        Some(Box::new(names))
    }
}

/// `2.7`, `D3`, `E1`
fn is_point_number(text: &str) -> bool {
    let is_figure = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let lettered = text.strip_prefix(['D', 'd', 'E', 'e']);
    lettered.is_some_and(is_figure)
        || text.split_once('.').is_some_and(|(of, number)| is_figure(of) && is_figure(number))
}

#[derive(Debug, Args)]
#[command(override_usage = "dialectic ask [OPTIONS] [PATH-OR-ID] <QUESTION>")]
pub(in crate::cli) struct AskArgs {
    /// The debate: a state file, an id, or a unique prefix or suffix of one [default: latest, on a terminal]
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
    /// The debates: ids, unique prefixes or suffixes of ids, `latest`, or files in ./debates
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

#[derive(Debug, Args)]
pub(in crate::cli) struct WaitArgs {
    #[command(flatten)]
    pub(in crate::cli) which: NewestArg,

    /// Wait no longer than this, and exit with 124 if the debate is still running; 0 prints its status at once
    /// [default: wait for its end]
    #[arg(long, value_name = "SECONDS")]
    pub(in crate::cli) timeout: Option<u64>,

    /// Exit with 5 unless the run is complete, every major requirement is met, and no major point is open
    #[arg(long)]
    pub(in crate::cli) strict: bool,

    /// Print JSON
    #[arg(long)]
    pub(in crate::cli) json: bool,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct StopArgs {
    #[command(flatten)]
    pub(in crate::cli) which: DebateArg,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct AnswerArgs {
    #[command(flatten)]
    pub(in crate::cli) which: DebateArg,

    /// An answer, such as `q1="500 a second"`; `q1=` skips the question
    #[arg(value_name = "QUESTION=ANSWER")]
    pub(in crate::cli) answers: Vec<String>,

    /// Read the answers from a JSON file: {"q1": "500 a second", "q2": null}; `-` is standard input
    #[arg(long, value_name = "PATH")]
    pub(in crate::cli) file: Option<PathBuf>,

    /// Skip all other questions, and ask no more
    #[arg(long)]
    pub(in crate::cli) skip_rest: bool,

    /// The author of the answers; the record and reports mark answers by an agent
    #[arg(long, value_name = "WHO", value_enum, default_value_t = By::User)]
    pub(in crate::cli) by: By,

    #[command(flatten)]
    pub(in crate::cli) going_on: ContinueArgs,

    #[command(flatten)]
    pub(in crate::cli) run: RunArgs,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct RequestsArgs {
    #[command(flatten)]
    pub(in crate::cli) which: NewestArg,

    /// Only this request
    pub(in crate::cli) request: Option<String>,

    /// Wait at most this long, then exit with 124 [default: until a request opens or the debate ends]
    #[arg(long, value_name = "SECONDS")]
    pub(in crate::cli) wait: Option<u64>,

    /// Print JSON
    #[arg(long)]
    pub(in crate::cli) json: bool,

    #[command(flatten)]
    pub(in crate::cli) keys: KeyArgs,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct ReplyArgs {
    #[command(flatten)]
    pub(in crate::cli) which: DebateArg,

    /// The id of the request
    pub(in crate::cli) request: String,

    /// The file with the reply [default: standard input, also `-`]
    pub(in crate::cli) file: Option<PathBuf>,

    /// The person or model that wrote it, for the record
    #[arg(long, value_name = "NAME")]
    pub(in crate::cli) by: Option<String>,

    #[command(flatten)]
    pub(in crate::cli) keys: KeyArgs,
}

/// What a debate that continues may use.
#[derive(Debug, Args)]
pub(in crate::cli) struct KeyArgs {
    /// The environment file with the keys [default: .env, if it exists]
    #[arg(short, long, value_name = "PATH")]
    pub(in crate::cli) env_file: Option<PathBuf>,

    #[command(flatten)]
    pub(in crate::cli) going_on: ContinueArgs,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct McpArgs {
    /// The maximum cost of a debate, in dollars. Without limits, clients can only answer in place of the models
    #[arg(long, value_name = "USD", value_parser = dollars, allow_negative_numbers = true)]
    pub(in crate::cli) max_cost: Option<Usd>,

    /// The maximum cost of all debates per day (UTC), in dollars; no debate starts after that
    #[arg(long, value_name = "USD", value_parser = dollars, allow_negative_numbers = true)]
    pub(in crate::cli) max_cost_per_day: Option<Usd>,

    /// The maximum number of model calls in a debate; required if models are called through a command-line program
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(in crate::cli) max_calls: Option<u32>,

    /// The directory whose files the client may attach, and which agents may read with their tools [default: none may
    /// be attached]
    #[arg(long, value_name = "DIR")]
    pub(in crate::cli) context: Option<PathBuf>,

    /// The configuration file [default: ./debate-config.json]
    #[arg(short, long, value_name = "PATH")]
    pub(in crate::cli) config: Option<PathBuf>,

    /// The environment file with the keys [default: .env, if it exists]
    #[arg(short, long, value_name = "PATH")]
    pub(in crate::cli) env_file: Option<PathBuf>,
}

/// Who wrote the answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum By {
    /// The user
    User,
    /// A program that a model controls
    Agent,
}
