//! Arguments of `review`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use dialectic_base::money::Usd;
use dialectic_record::debate::Severity;

use super::{CallsArgs, ModelArgs, RunArgs, dollars};

#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of the command line")]
pub(in crate::cli) struct ReviewArgs {
    /// Review only these files or directories
    #[arg(value_name = "PATHS")]
    pub(in crate::cli) paths: Vec<PathBuf>,

    /// The base branch or commit: the change begins where your branch left it [default: the main branch of origin, else
    /// main or master]
    #[arg(help_heading = "Change", long, value_name = "REVISION")]
    pub(in crate::cli) base: Option<String>,

    /// The head branch or commit [default: the working tree, including uncommitted and untracked files]
    #[arg(help_heading = "Change", long, value_name = "REVISION")]
    pub(in crate::cli) head: Option<String>,

    /// Leave out files that git does not track
    #[arg(help_heading = "Change", long, conflicts_with = "head")]
    pub(in crate::cli) tracked: bool,

    /// An earlier review, an id or `latest`: say which of its findings are fixed and which are still there
    #[arg(help_heading = "Change", long, value_name = "REVIEW")]
    pub(in crate::cli) since: Option<String>,

    /// The format of the result
    #[arg(help_heading = "Output", long, value_name = "FORMAT", value_enum, default_value_t = ReviewFormat::Terminal, conflicts_with = "detach")]
    pub(in crate::cli) format: ReviewFormat,

    /// Exit with 6 if a finding is at least this severe
    #[arg(help_heading = "Output", long, value_name = "SEVERITY", value_enum, conflicts_with = "detach")]
    pub(in crate::cli) fail_on: Option<FailOn>,

    #[command(flatten)]
    pub(in crate::cli) models: ModelArgs,

    /// Show the change only, without the tools to read the repository
    #[arg(help_heading = "Who debates", long)]
    pub(in crate::cli) no_tools: bool,

    /// Use models of all vendors whose keys are set, or of the programs that are installed
    #[arg(help_heading = "Who debates", long, conflicts_with = "model")]
    pub(in crate::cli) mixed: bool,

    /// The roles that read, separated by commas: your configured agents of that role, else built-in ones
    #[arg(help_heading = "Who debates", short, long, value_name = "ROLES", value_delimiter = ',')]
    pub(in crate::cli) agents: Option<Vec<String>>,

    /// The configuration file [default: ./debate-config.json as of the base]
    #[arg(help_heading = "Who debates", short, long, value_name = "PATH")]
    pub(in crate::cli) config: Option<PathBuf>,

    /// Rehearse without a model: needs no key and costs nothing
    #[arg(help_heading = "Who debates", long)]
    pub(in crate::cli) offline: bool,

    /// The cost limit in dollars, including the judge's ruling
    #[arg(help_heading = "Cost", long, value_name = "USD", value_parser = dollars, allow_negative_numbers = true)]
    pub(in crate::cli) max_cost: Option<Usd>,

    #[command(flatten)]
    pub(in crate::cli) calls: CallsArgs,

    /// Print the calls that the review would make, their tokens, and their likely and maximum cost, without making any
    #[arg(help_heading = "Cost", long, conflicts_with = "detach")]
    pub(in crate::cli) dry_run: bool,

    /// Print every call of the dry run as JSON
    #[arg(hide_short_help = true, help_heading = "Cost", long, requires = "dry_run")]
    pub(in crate::cli) json: bool,

    #[command(flatten)]
    pub(in crate::cli) run: RunArgs,
}

/// The form of a review.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum ReviewFormat {
    /// Text for reading
    Terminal,
    /// Markdown in which links, mentions and suggestions by models are disabled
    Markdown,
    /// Findings, confirmations, rulings and the files that were read, as JSON
    Json,
    /// SARIF 2.1.0, for code scanning
    Sarif,
    /// The body of a pull request review, as GitHub's API takes it: a comment, never an approval
    Github,
}

/// The minimum severity of findings that fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum FailOn {
    /// Only blocking findings
    Blocking,
    /// Blocking and major findings
    Major,
}

impl FailOn {
    /// The minimum severity that fails.
    pub(in crate::cli) fn severity(self) -> Severity {
        match self {
            Self::Blocking => Severity::Blocking,
            Self::Major => Severity::Major,
        }
    }
}
