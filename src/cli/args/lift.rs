//! What can be typed to measure what a debate is worth.

use std::num::NonZeroU32;
use std::path::PathBuf;

use clap::{Args, ValueEnum};

use dialectic_base::money::Usd;

use super::{ModelArgs, dollars, repeat, rounds};

#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "they are what can be typed")]
pub(in crate::cli) struct LiftArgs {
    /// The problems: directories of Markdown files, Markdown files, or `.jsonl` files whose lines have `id`, `problem`
    /// and, where a program can check it, `answer`
    #[arg(value_name = "SET", required = true)]
    pub(in crate::cli) set: Vec<PathBuf>,

    /// What the debate is compared with, separated by commas
    #[arg(
        help_heading = "Comparison",
        long,
        value_name = "ARMS",
        value_enum,
        value_delimiter = ',',
        default_value = "self-refine,best-of-n"
    )]
    pub(in crate::cli) against: Vec<ArmName>,

    /// Who compares the answers: a configuration of evaluators, as for `eval`. Without it, every problem needs an
    /// `answer`
    #[arg(help_heading = "Comparison", long, value_name = "PATH")]
    pub(in crate::cli) judges: Option<PathBuf>,

    /// Have each judge compare each pair this many times (at most 100), each time in both orders
    #[arg(help_heading = "Comparison", long, value_name = "N", value_parser = repeat, default_value = "1", allow_negative_numbers = true)]
    pub(in crate::cli) repeat: NonZeroU32,

    /// The model of the arms, of the judge's provider [default: the judge's model]
    #[arg(help_heading = "Comparison", long, value_name = "MODEL")]
    pub(in crate::cli) arm_model: Option<String>,

    #[command(flatten)]
    pub(in crate::cli) models: ModelArgs,

    /// The configuration of the debates [default: ./debate-config.json]
    #[arg(help_heading = "Who debates", short, long, value_name = "PATH")]
    pub(in crate::cli) config: Option<PathBuf>,

    /// The environment file with the keys [default: .env, if it exists]
    #[arg(help_heading = "Who debates", short, long, value_name = "PATH")]
    pub(in crate::cli) env_file: Option<PathBuf>,

    /// Call no model: compare offline, without key, network or cost
    #[arg(help_heading = "Who debates", long)]
    pub(in crate::cli) offline: bool,

    /// The protocol of the debates [default: the configuration's, else dialectic]
    #[arg(help_heading = "Debate", long, value_name = "NAME")]
    pub(in crate::cli) protocol: Option<String>,

    /// The number of rounds of the debates [default: the configuration's, else the protocol's]
    #[arg(help_heading = "Debate", short, long, value_name = "N", value_parser = rounds, allow_negative_numbers = true)]
    pub(in crate::cli) rounds: Option<u32>,

    /// Begin nothing that could bring the cost of the whole set, earlier runs included, above this many dollars
    #[arg(help_heading = "Cost", long, value_name = "USD", value_parser = dollars, allow_negative_numbers = true)]
    pub(in crate::cli) max_cost: Option<Usd>,

    /// Say what the whole set would cost, and call nothing
    #[arg(help_heading = "Cost", long)]
    pub(in crate::cli) dry_run: bool,

    /// Print JSON
    #[arg(help_heading = "Output", long)]
    pub(in crate::cli) json: bool,

    /// Say only warnings while it runs
    #[arg(help_heading = "Output", long)]
    pub(in crate::cli) quiet: bool,
}

/// What a debate is compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum ArmName {
    /// One agent answers, criticises its answer and rewrites it, for the debate's money
    SelfRefine,
    /// As many answers as the debate's money buys; the judge chooses one
    BestOfN,
    /// One agent answers once; it costs less than the debate
    Single,
}
