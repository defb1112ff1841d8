//! Arguments for the coding agents' skill.

use clap::{Args, Subcommand, ValueEnum};

use super::examples;

#[derive(Debug, Args)]
pub(in crate::cli) struct SkillArgs {
    #[command(subcommand)]
    pub(in crate::cli) command: SkillCommand,
}

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum SkillCommand {
    /// Teach coding agents when and how to use this program
    #[command(after_help = examples(&["dialectic skill install", "dialectic skill install --for claude,codex --project"]))]
    Install(SkillPlaceArgs),
    /// Remove what `skill install` wrote
    #[command(after_help = examples(&["dialectic skill remove --for claude"]))]
    Remove(SkillPlaceArgs),
    /// Print the skill
    #[command(after_help = examples(&["dialectic skill show"]))]
    Show,
}

/// Where the skill is installed.
#[derive(Debug, Args)]
pub(in crate::cli) struct SkillPlaceArgs {
    /// For which agents; separate several by commas [default: `agents`, and those that have a directory of their own]
    #[arg(long = "for", value_name = "AGENT", value_enum, value_delimiter = ',')]
    pub(in crate::cli) agents: Vec<CodingAgent>,

    /// In the working directory instead of your own directories
    #[arg(long)]
    pub(in crate::cli) project: bool,
}

/// A program that reads skills.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum CodingAgent {
    /// The directory that many agents share: .agents/skills
    Agents,
    /// Claude Code: ~/.claude/skills, or in `CLAUDE_CONFIG_DIR`
    Claude,
    /// Codex: ~/.codex/skills, or in `CODEX_HOME`
    Codex,
    /// `OpenCode`: ~/.config/opencode/skills, or in `XDG_CONFIG_HOME`
    #[value(name = "opencode")]
    OpenCode,
}
