//! Arguments for debates that run elsewhere, without a terminal.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use dialectic_base::money::Usd;

use super::{CallsArgs, DebateArg, NewestArg, RunArgs, VouchArgs, dollars};

#[derive(Debug, Args)]
pub(in crate::cli) struct WaitArgs {
    #[command(flatten)]
    pub(in crate::cli) which: NewestArg,

    /// Wait no longer than this, and exit with 124 if the debate is still running; 0 prints its status at once [default:
    /// wait for its end]
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

    /// Skip every question that is not answered here, and allow no further ones
    #[arg(long)]
    pub(in crate::cli) skip_rest: bool,

    /// The author of the answers; the record and reports mark answers by an agent
    #[arg(long, value_name = "WHO", value_enum, default_value_t = By::User)]
    pub(in crate::cli) by: By,

    /// Limit the total cost of the debate to this many dollars, regardless of its original limit
    #[arg(long, value_name = "USD", value_parser = dollars, allow_negative_numbers = true)]
    pub(in crate::cli) max_cost: Option<Usd>,

    #[command(flatten)]
    pub(in crate::cli) calls: CallsArgs,

    #[command(flatten)]
    pub(in crate::cli) vouch: VouchArgs,

    #[command(flatten)]
    pub(in crate::cli) run: RunArgs,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct RequestsArgs {
    #[command(flatten)]
    pub(in crate::cli) which: NewestArg,

    /// Only this request
    pub(in crate::cli) request: Option<String>,

    /// Wait no longer than this, and exit with 124 if there is no request [default: wait for one, or for the debate's end]
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
    pub(in crate::cli) vouch: VouchArgs,
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

    /// The directory whose files the client may attach, and which agents may read with their tools [default: none may be
    /// attached]
    #[arg(long, value_name = "DIR")]
    pub(in crate::cli) context: Option<PathBuf>,

    /// The configuration file [default: ./debate-config.json]
    #[arg(short, long, value_name = "PATH")]
    pub(in crate::cli) config: Option<PathBuf>,

    /// The environment file with the keys [default: .env, if it exists]
    #[arg(short, long, value_name = "PATH")]
    pub(in crate::cli) env_file: Option<PathBuf>,
}

/// The author of answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum By {
    /// The user
    User,
    /// A program that a model controls
    Agent,
}
