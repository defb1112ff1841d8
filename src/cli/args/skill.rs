//! Arguments for the coding agents' skill.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::examples;

#[derive(Debug, Args)]
#[command(disable_help_subcommand = true)]
pub(in crate::cli) struct SkillArgs {
    #[command(subcommand)]
    pub(in crate::cli) command: Option<SkillCommand>,
}

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum SkillCommand {
    /// Install the skill for coding agents, or renew it
    #[command(after_help = examples(&["dialectic skill install", "dialectic skill install .claude/skills"]))]
    Install {
        /// The directory of skills [default: `skills` in each of ~/.agents, ~/.claude and ~/.codex that exists]
        #[arg(value_name = "DIR")]
        directory: Option<PathBuf>,
    },
}
