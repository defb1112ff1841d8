//! Arguments for past debates.

use std::num::NonZeroUsize;

use clap::{Args, Subcommand};

use super::{DebateArg, examples};

#[derive(Debug, Args)]
pub(in crate::cli) struct RatingsArgs {
    /// Print JSON
    #[arg(long)]
    pub(in crate::cli) json: bool,
}

#[derive(Debug, Args)]
#[command(disable_help_subcommand = true)]
pub(in crate::cli) struct MemoryArgs {
    #[command(subcommand)]
    pub(in crate::cli) command: MemoryCommand,
}

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum MemoryCommand {
    /// Search problems, decisions, evidence and dissent
    #[command(after_help = examples(&["dialectic memory search rate limiting", "dialectic memory search -n 3 \"Where do we keep sessions?\""]))]
    Search {
        /// Words to look for, or a whole problem
        #[arg(value_name = "WORDS", required = true)]
        words: Vec<String>,

        /// At most this many, best matches first
        #[arg(short = 'n', long = "limit", value_name = "N", default_value = "10")]
        limit: NonZeroUsize,

        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Print the memory of a debate
    #[command(after_help = examples(&["dialectic memory show latest", "dialectic memory show vhkp --json"]))]
    Show {
        #[command(flatten)]
        which: DebateArg,

        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Keep a debate out of the memory without removing it
    #[command(after_help = examples(&["dialectic memory forget vhkp"]))]
    Forget {
        #[command(flatten)]
        which: DebateArg,
    },
    /// Rebuild memory and ratings from the debates on disk
    #[command(after_help = examples(&["dialectic memory rebuild"]))]
    Rebuild,
}
