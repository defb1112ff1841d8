//! Arguments of evaluations.

use std::num::NonZeroU32;
use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
pub(in crate::cli) struct EvalArgs {
    /// The evaluators' configuration [default: the judge's model alone]
    #[arg(short, long, value_name = "PATH")]
    pub(in crate::cli) config: Option<PathBuf>,

    /// The debates: state files, ids, unique prefixes or suffixes of ids, `latest`, or patterns such as
    /// './debates/*.json'
    #[arg(value_name = "PATH-OR-ID")]
    debates: Vec<String>,

    /// The debates as an option
    #[arg(short = 'd', long = "debate", value_name = "PATH-OR-ID", num_args = 1.., required_unless_present_any = ["debates", "pairwise"])]
    named: Vec<String>,

    /// Have the evaluators compare answers in pairs, blind and in both orders: two debates, two text files with an
    /// answer each, or two variants of a set, as in `plan.jsonl:council plan.jsonl:single`
    #[arg(long, value_names = ["A", "B"], num_args = 2, conflicts_with_all = ["debates", "named", "output"])]
    pub(in crate::cli) pairwise: Vec<String>,

    /// The problem of `--pairwise` if neither answer is a debate
    #[arg(long, value_name = "PATH", requires = "pairwise", conflicts_with_all = ["debates", "named"])]
    pub(in crate::cli) problem_file: Option<PathBuf>,

    /// The store of the set that `--pairwise` compares variants of [default: next to the plan, with the ending
    /// `.store`]
    #[arg(long, value_name = "DIR|s3://...", requires = "pairwise", conflicts_with_all = ["debates", "named", "problem_file"])]
    pub(in crate::cli) store: Option<String>,

    /// Print the comparison of `--pairwise` as JSON
    #[arg(long, requires = "pairwise", conflicts_with_all = ["debates", "named"])]
    pub(in crate::cli) json: bool,

    /// Write the scores to a file: `.json`, `.csv` (appends rows), otherwise a Markdown table
    #[arg(short, long, value_name = "PATH")]
    pub(in crate::cli) output: Option<PathBuf>,

    /// Ask each evaluator this many times (at most 100) and show mean and standard deviation; with `--pairwise`, that
    /// many times in both orders
    #[arg(long, value_name = "N", value_parser = repeat, default_value = "1", allow_negative_numbers = true)]
    pub(in crate::cli) repeat: NonZeroU32,

    /// The environment file with the keys [default: .env, if it exists]
    #[arg(short, long, value_name = "PATH")]
    pub(in crate::cli) env_file: Option<PathBuf>,

    /// Print each evaluator's prompts, times, tokens and ignored scores to standard error
    #[arg(short, long)]
    pub(in crate::cli) verbose: bool,

    /// Call no model: evaluate offline, without scores, key, network or cost
    #[arg(long)]
    pub(in crate::cli) offline: bool,
}

impl EvalArgs {
    /// The debates in the given order.
    pub(in crate::cli) fn debates(&self) -> impl Iterator<Item = &str> {
        self.debates.iter().chain(&self.named).map(String::as_str)
    }
}

/// The maximum number of repetitions: each is paid, and more give no further information.
const MOST_REPETITIONS: u32 = 100;

/// Parses a number of repetitions.
pub(super) fn repeat(text: &str) -> Result<NonZeroU32, String> {
    let number = text.parse().ok().filter(|number: &NonZeroU32| number.get() <= MOST_REPETITIONS);
    number.ok_or_else(|| format!("expected a whole number from 1 to {MOST_REPETITIONS}"))
}
