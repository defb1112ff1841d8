//! `dialectic skill`: installs and removes the skill for coding agents.
//!
//! Foreign files stay untouched: no link below the agent's directory is followed, only folders with this program's mark
//! are replaced, and only its own files are removed.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use clap::ValueEnum;

use crate::cli::args::{CodingAgent, SkillArgs, SkillCommand, SkillPlaceArgs};
use crate::cli::terminal::Terminal;
use crate::error::Error;
use dialectic_base::diagnostic::{Diagnostic, ErrorCategory};
use dialectic_config::{ConfigError, process_environment};
use dialectic_engine::access::Environment;
use dialectic_record::store::{Readers, write_atomically};

/// The skill and its folder's name.
const SKILL: &str = include_str!("../../../assets/skills/dialectic/SKILL.md");
const NAME: &str = "dialectic";
/// The skill's file.
const FILE: &str = "SKILL.md";
/// The mark of this program's folder.
const MARK: &str = ".installed-by-dialectic";

/// Why a folder is not changed.
#[derive(Debug, thiserror::Error)]
enum SkillError {
    /// A foreign folder.
    #[error("{0} exists, and was not written by dialectic")]
    Foreign(PathBuf),
    /// A link.
    #[error("{0} is a link, which is refused")]
    Link(PathBuf),
    /// It cannot be read or written.
    #[error("cannot use {path}")]
    Unusable {
        /// The path.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
}

impl Diagnostic for SkillError {
    fn blame(&self) -> ErrorCategory {
        ErrorCategory::General
    }

    fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Foreign(_) => "move it away first",
            Self::Link(_) => {
                "name the real directory with the agent's own variable, or copy the skill there: \
                     `dialectic skill show`"
            }
            Self::Unusable { .. } => return None,
        };
        Some(hint.to_owned())
    }
}

/// A directory for skills: `below` is relative to `base`, which is trusted.
struct SkillDirectory {
    base: PathBuf,
    below: PathBuf,
}

impl SkillDirectory {
    fn folder(&self) -> PathBuf {
        self.base.join(&self.below).join(NAME)
    }

    /// Checks that no part of the path below the base is a link.
    fn check_links(&self) -> Result<(), SkillError> {
        let mut path = self.base.clone();
        for step in self.below.components().chain([std::path::Component::Normal(NAME.as_ref())]) {
            path.push(step);
            check_link(&path)?;
        }
        Ok(())
    }
}

fn check_link(path: &Path) -> Result<(), SkillError> {
    let is_link = path.symlink_metadata().is_ok_and(|found| found.is_symlink());
    if is_link { Err(SkillError::Link(path.to_owned())) } else { Ok(()) }
}

pub(in crate::cli) fn run(args: &SkillArgs, terminal: &mut Terminal) -> Result<(), Error> {
    match &args.command {
        SkillCommand::Install(place) => {
            let is_named = !place.agents.is_empty();
            for place in places(place)? {
                if done(install(&place), is_named, terminal)?.is_some() {
                    terminal.text(&place.folder().display().to_string())?;
                }
            }
            terminal.notice("Installed. Restart running agents to use it.");
            Ok(())
        }
        SkillCommand::Remove(place) => {
            let is_named = !place.agents.is_empty();
            for place in places(place)? {
                if done(remove(&place), is_named, terminal)? == Some(true) {
                    terminal.notice(&format!("Removed {}", place.folder().display()));
                }
            }
            Ok(())
        }
        SkillCommand::Show => terminal.text(SKILL),
    }
}

/// The result for a place. A link in an unnamed place is skipped.
fn done<T>(result: Result<T, SkillError>, is_named: bool, terminal: &mut Terminal) -> Result<Option<T>, SkillError> {
    match result {
        Err(error @ SkillError::Link(_)) if !is_named => {
            terminal.warning(&format!("{error}; use --for <agent> for advice"));
            Ok(None)
        }
        result => result.map(Some),
    }
}

/// The places of the skill: for the named agents, else the shared directory and agents with a directory.
fn places(args: &SkillPlaceArgs) -> Result<Vec<SkillDirectory>, Error> {
    let environment = process_environment();
    let named = |agent: &CodingAgent| args.agents.contains(agent);
    let mut places = Vec::new();
    for agent in CodingAgent::value_variants() {
        if !args.agents.is_empty() && !named(agent) {
            continue;
        }
        let place = if args.project { Some(in_project(*agent)) } else { of_user(*agent, &environment) };
        let Some(place) = place else {
            let message = "cannot find your home directory: HOME is not set".to_owned();
            return Err(ConfigError::Unmet(message).into());
        };
        let has_its_own = place.base.join(&place.below).parent().is_some_and(Path::is_dir);
        if named(agent) || (args.agents.is_empty() && (*agent == CodingAgent::Agents || has_its_own)) {
            places.push(place);
        }
    }
    Ok(places)
}

fn in_project(agent: CodingAgent) -> SkillDirectory {
    let below = match agent {
        CodingAgent::Agents => ".agents/skills",
        CodingAgent::Claude => ".claude/skills",
        CodingAgent::Codex => ".codex/skills",
        CodingAgent::OpenCode => ".opencode/skills",
    };
    SkillDirectory { base: PathBuf::from("."), below: below.into() }
}

fn of_user(agent: CodingAgent, environment: &Environment) -> Option<SkillDirectory> {
    let named = |variable: &str| environment.get(variable).filter(|value| !value.is_empty()).map(PathBuf::from);
    let home = || environment.home().map(Path::to_owned);
    let (base, below) = match agent {
        CodingAgent::Agents => (home()?, ".agents/skills"),
        CodingAgent::Claude => match named("CLAUDE_CONFIG_DIR") {
            Some(own) => (own, "skills"),
            None => (home()?, ".claude/skills"),
        },
        CodingAgent::Codex => match named("CODEX_HOME") {
            Some(own) => (own, "skills"),
            None => (home()?, ".codex/skills"),
        },
        CodingAgent::OpenCode => match named("XDG_CONFIG_HOME") {
            Some(own) => (own, "opencode/skills"),
            None => (home()?, ".config/opencode/skills"),
        },
    };
    Some(SkillDirectory { base, below: below.into() })
}

/// Writes the skill, replacing an earlier one of this program.
fn install(place: &SkillDirectory) -> Result<(), SkillError> {
    let folder = place.folder();
    place.check_links()?;
    let unusable = |path: &Path| {
        let path = path.to_owned();
        move |source| SkillError::Unusable { path, source }
    };
    if let Some(parent) = folder.parent() {
        fs::create_dir_all(parent).map_err(unusable(parent))?;
    }
    match fs::create_dir(&folder) {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            // Checked again after creating the folder, in case another process was faster.
            place.check_links()?;
            if !is_ours(&folder) {
                return Err(SkillError::Foreign(folder));
            }
        }
        Err(source) => return Err(SkillError::Unusable { path: folder, source }),
    }
    // The mark first, so that a partial folder is recognized.
    for (name, text) in [(MARK, concat!(env!("CARGO_PKG_VERSION"), "\n")), (FILE, SKILL)] {
        let path = folder.join(name);
        check_link(&path)?;
        let written = write_atomically(&path, Readers::All, |out| out.write_all(text.as_bytes()));
        written.map_err(|error| SkillError::Unusable { path, source: io::Error::other(error) })?;
    }
    Ok(())
}

fn is_ours(folder: &Path) -> bool {
    folder.join(MARK).symlink_metadata().is_ok_and(|mark| mark.is_file())
}

/// Removes this program's files, and the folder if it is then empty. Returns whether there were any.
fn remove(place: &SkillDirectory) -> Result<bool, SkillError> {
    let folder = place.folder();
    place.check_links()?;
    if folder.symlink_metadata().is_err() {
        return Ok(false);
    }
    if !is_ours(&folder) {
        return Err(SkillError::Foreign(folder));
    }
    // The mark last, so that a partial removal is recognized.
    for name in [FILE, MARK] {
        let path = folder.join(name);
        match fs::remove_file(&path) {
            Err(source) if source.kind() != ErrorKind::NotFound => {
                return Err(SkillError::Unusable { path, source });
            }
            _ => {}
        }
    }
    // The user's files keep the folder.
    drop(fs::remove_dir(&folder));
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The value of a front matter key.
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

    /// The words of a line as a shell would split them.
    fn words(line: &str) -> Vec<String> {
        let (mut all, mut word, mut is_quoted) = (Vec::new(), String::new(), false);
        for c in line.chars() {
            match c {
                ' ' if !is_quoted => all.push(std::mem::take(&mut word)),
                '"' => is_quoted = !is_quoted,
                c => word.push(c),
            }
        }
        all.push(word);
        all.retain(|word| !word.is_empty());
        all
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
            let words = words(line);
            let parsed = crate::cli::command().try_get_matches_from(&words);
            assert!(parsed.is_ok(), "{line}: {}", parsed.unwrap_err());
            let pays = ["debate", "resume", "answer", "ask", "fork", "eval"].contains(&words[1].as_str());
            let is_limited = words.iter().any(|word| word == "--max-cost" || word == "--max-calls");
            assert_eq!(pays, is_limited, "{line}");
            seen.push(words[1].clone());
        }
        for command in ["debate", "wait", "status", "stop", "answer", "resume", "show", "ask", "report"] {
            assert!(seen.iter().any(|one| one == command), "{command} is not taught");
        }
    }
}
