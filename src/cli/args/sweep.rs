//! Arguments for sets of debates.

use std::fmt;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::{Args, Subcommand, ValueEnum};

use super::examples;

#[derive(Debug, Args)]
#[command(disable_help_subcommand = true)]
pub(in crate::cli) struct SweepArgs {
    #[command(subcommand)]
    pub(in crate::cli) command: SweepCommand,
}

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum SweepCommand {
    /// Plan a set: a line for each debate, with its id and its maximum cost; call nothing
    #[command(after_help = examples(&["dialectic sweep plan sweep.json -o plan.jsonl", "dialectic sweep plan sweep.json --offline > plan.jsonl"]))]
    Plan(SweepPlanArgs),
    /// Run a plan's debates, skipping finished and failed ones and resuming interrupted ones
    #[command(after_help = examples(&["dialectic sweep run plan.jsonl --jobs 8", "dialectic sweep run plan.jsonl --index 17 --store /shared/set", "dialectic sweep run plan.jsonl --shard 2/8"]))]
    Run(SweepRunArgs),
    /// Show the progress and the cost of a set
    #[command(after_help = examples(&["dialectic sweep status plan.jsonl", "dialectic sweep status plan.jsonl --json"]))]
    Status(SweepStatusArgs),
    /// Collect the results of a set, in the plan's order
    #[command(after_help = examples(&["dialectic sweep collect plan.jsonl > results.jsonl", "dialectic sweep collect plan.jsonl -o results.csv", "dialectic sweep collect plan.jsonl --records debates"]))]
    Collect(SweepCollectArgs),
}

#[derive(Debug, Args)]
pub(in crate::cli) struct SweepPlanArgs {
    /// The description of the set: problems, variants, repeats, limits
    #[arg(value_name = "SWEEP.JSON")]
    pub(in crate::cli) sweep: PathBuf,

    /// Write the plan to a file [default: standard output]
    #[arg(short, long, value_name = "PATH")]
    pub(in crate::cli) output: Option<PathBuf>,

    /// Plan a rehearsal: its debates call no model, without key, network or cost
    #[arg(long)]
    pub(in crate::cli) offline: bool,

    /// The environment file with the keys [default: .env, if it exists]
    #[arg(short, long, value_name = "PATH")]
    pub(in crate::cli) env_file: Option<PathBuf>,
}

/// A plan and its store.
#[derive(Debug, Args)]
pub(in crate::cli) struct PlanArgs {
    /// The plan
    #[arg(value_name = "PLAN")]
    pub(in crate::cli) plan: PathBuf,

    /// The store for the debates: a directory that all machines share, or `s3://bucket/prefix` [default: next to the
    /// plan, with the extension `.store`]
    #[arg(long, value_name = "DIR|s3://...")]
    pub(in crate::cli) store: Option<String>,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct SweepRunArgs {
    #[command(flatten)]
    pub(in crate::cli) plan: PlanArgs,

    /// Run only the debate at this index, from 0
    #[arg(help_heading = "Which debates", long, value_name = "N", conflicts_with = "shard")]
    pub(in crate::cli) index: Option<usize>,

    /// Run every n-th debate, beginning with the i-th: `2/8` is the second of eight parts
    #[arg(help_heading = "Which debates", long, value_name = "i/n")]
    pub(in crate::cli) shard: Option<Shard>,

    /// Also resume debates that have failed; their finished calls are not repeated
    #[arg(help_heading = "Which debates", long)]
    pub(in crate::cli) retry_failed: bool,

    /// Run this many debates at once in this process
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub(in crate::cli) jobs: u16,

    /// The configuration with this machine's providers [default: ./debate-config.json]
    #[arg(help_heading = "This machine", short, long, value_name = "PATH")]
    pub(in crate::cli) config: Option<PathBuf>,

    /// The environment file with the keys [default: .env, if it exists]
    #[arg(help_heading = "This machine", short, long, value_name = "PATH")]
    pub(in crate::cli) env_file: Option<PathBuf>,

    /// Print only warnings while it runs
    #[arg(long)]
    pub(in crate::cli) quiet: bool,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct SweepStatusArgs {
    #[command(flatten)]
    pub(in crate::cli) plan: PlanArgs,

    /// Print JSON
    #[arg(long)]
    pub(in crate::cli) json: bool,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct SweepCollectArgs {
    #[command(flatten)]
    pub(in crate::cli) plan: PlanArgs,

    /// Write to a file: `.csv` a table, otherwise lines of JSON [default: lines of JSON to standard output]
    #[arg(short, long, value_name = "PATH")]
    pub(in crate::cli) output: Option<PathBuf>,

    /// The form [default: by the file's ending]
    #[arg(long, value_name = "FORM", value_enum)]
    format: Option<CollectFormat>,

    /// Exit with 75 and write nothing unless every debate is finished
    #[arg(long)]
    pub(in crate::cli) complete: bool,

    /// Write the record of each debate that has ended to a directory, for `show` and `report`, and print their paths
    #[arg(long, value_name = "DIR", conflicts_with_all = ["output", "format", "complete"])]
    pub(in crate::cli) records: Option<PathBuf>,
}

impl SweepCollectArgs {
    /// The given form, else the one for the file's ending.
    pub(in crate::cli) fn format(&self) -> CollectFormat {
        let of_ending = |path: &Path| {
            let is_table = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("csv"));
            if is_table { CollectFormat::Csv } else { CollectFormat::Jsonl }
        };
        self.format.or_else(|| self.output.as_deref().map(of_ending)).unwrap_or(CollectFormat::Jsonl)
    }
}

/// The form of collected results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum CollectFormat {
    /// A line of JSON for each debate, with its answer
    Jsonl,
    /// A table, with a row for each debate
    Csv,
}

/// A part of a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cli) struct Shard {
    /// The number of the part, from 1.
    part: NonZeroUsize,
    /// The number of parts.
    of: NonZeroUsize,
}

impl Shard {
    /// Whether the debate at `index` belongs to it.
    pub(in crate::cli) fn has(self, index: usize) -> bool {
        index % self.of == self.part.get() - 1
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parsed = text.split_once('/').and_then(|(part, of)| Some((part.parse().ok()?, of.parse().ok()?)));
        let shard = parsed.map(|(part, of)| Self { part, of }).filter(|shard| shard.part <= shard.of);
        shard.ok_or_else(|| "expected a part and the number of parts, such as 1/8 for the first of eight".to_owned())
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.part, self.of)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_share_a_set_without_rest() {
        for of in 1..=5 {
            let shards: Vec<Shard> = (1..=of).map(|part| format!("{part}/{of}").parse().unwrap()).collect();
            for index in 0..12 {
                assert_eq!(shards.iter().filter(|shard| shard.has(index)).count(), 1, "{index} of {of}");
            }
            assert!(shards[0].has(0));
        }
        for wrong in ["0/3", "4/3", "1/0", "1", "a/b", "-1/2", ""] {
            assert!(wrong.parse::<Shard>().is_err(), "{wrong}");
        }
    }
}
