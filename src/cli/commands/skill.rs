//! `dialectic skill`: prints the skill for coding agents, or installs it.

use std::fs;
use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::cli::examples::examples;
use crate::cli::terminal::Terminal;
use crate::error::{Error, UserError};
use dialectic_config::{ConfigError, process_environment};
use dialectic_record::store::{Readers, write_atomically};

#[derive(Debug, Args)]
#[command(disable_help_subcommand = true)]
pub(in crate::cli) struct SkillArgs {
    #[command(subcommand)]
    command: Option<SkillCommand>,
}

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum SkillCommand {
    /// Install or update the skill for coding agents
    #[command(after_help = examples(&["dialectic skill install", "dialectic skill install .claude/skills"]))]
    Install {
        /// The skills directory [default: `skills` in each of ~/.agents, ~/.claude and ~/.codex that exists]
        #[arg(value_name = "DIR")]
        directory: Option<PathBuf>,
    },
}

const SKILL: &str = include_str!("../../../assets/skills/dialectic/SKILL.md");
const NAME: &str = "dialectic";
/// Directories that coding agents have in the home directory.
const AGENTS: [&str; 3] = [".agents", ".claude", ".codex"];

pub(in crate::cli) fn run(args: &SkillArgs, terminal: &mut Terminal) -> Result<(), Error> {
    let Some(SkillCommand::Install { directory }) = &args.command else { return terminal.text(SKILL) };
    let directories = match directory {
        Some(directory) => vec![directory.clone()],
        None => of_agents()?,
    };
    for directory in directories {
        let folder = directory.join(NAME);
        fs::create_dir_all(&folder).map_err(|source| Error::Output { path: folder.clone(), source })?;
        let file = folder.join("SKILL.md");
        write_atomically(&file, Readers::All, |out| out.write_all(SKILL.as_bytes()))?;
        terminal.text(&file.display().to_string())?;
    }
    terminal.notice("Installed the skill. Restart running agents to use it.");
    Ok(())
}

/// The skills directories of the coding agents that are installed.
fn of_agents() -> Result<Vec<PathBuf>, Error> {
    let environment = process_environment();
    let home = environment
        .home()
        .ok_or_else(|| ConfigError::Unmet("cannot find your home directory: HOME is not set".to_owned()))?;
    let found = AGENTS.map(|agent| home.join(agent)).into_iter().filter(|directory| directory.is_dir());
    let found: Vec<PathBuf> = found.map(|directory| directory.join("skills")).collect();
    if found.is_empty() {
        let message = format!("no coding agents found: none of ~/{} exists", AGENTS.join(", ~/"));
        return Err(UserError::input(message)
            .with_hint("specify your agent's skills directory: dialectic skill install <dir>")
            .into());
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn front(key: &str) -> &'static str {
        let head = SKILL.strip_prefix("---\n").unwrap().split("\n---\n").next().unwrap();
        head.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(": ")).unwrap()
    }

    #[test]
    fn the_skill_is_what_the_specification_asks_for() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/skills");
        let folders: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(folders, [NAME], "the folder in the repository is called as the skill is");
        assert_eq!(front("name"), NAME);
        assert!((1..1024).contains(&front("description").chars().count()), "{}", front("description").len());
        assert!(!front("description").contains(": "), "a plain scalar of YAML may not hold a colon and a space");
        // English has about four characters per token, and at least three.
        let body = SKILL.split_once("\n---\n").unwrap().1;
        assert!(body.chars().count() < 5_000 * 3, "{}", body.chars().count());
    }

    #[test]
    fn every_command_in_it_can_be_typed_and_those_that_pay_have_a_limit() {
        let in_lines = SKILL.split('`').skip(1).step_by(2).filter(|code| code.starts_with("dialectic "));
        let in_blocks = SKILL.lines().filter(|line| line.starts_with("dialectic "));
        let mut seen = Vec::new();
        for line in in_lines.chain(in_blocks) {
            // Fences contain backticks, too: text between two blocks is not a command.
            if line.contains('\n') {
                continue;
            }
            let words = crate::cli::examples::tests::arguments(line);
            let parsed = crate::cli::command().try_get_matches_from(&words);
            assert!(parsed.is_ok(), "{line}: {}", parsed.unwrap_err());
            let pays = ["debate", "resume", "answer", "ask", "fork", "eval"].contains(&words[1].as_str());
            let is_limited = words.iter().any(|word| word == "--max-cost" || word == "--max-calls");
            assert_eq!(pays, is_limited, "{line}");
            seen.push(words[1].clone());
        }
        for command in ["debate", "wait", "stop", "answer", "resume", "show", "ask", "report"] {
            assert!(seen.iter().any(|one| one == command), "{command} is not taught");
        }
    }
}
