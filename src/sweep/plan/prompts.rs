//! The user's own prompts, packed into a plan.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};

use dialectic_base::encoding::hexadecimal;
use dialectic_record::debate::{AgentSettings, Settings};
use dialectic_record::prompt::{Role, read_prompt, version};
use dialectic_record::protocol::Protocol;

use crate::error::UserError;

use super::{hash, unplannable};

/// The prompts of a variant.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prompts {
    /// The version of the built-in prompts.
    pub version: String,
    /// The user's own prompts, by path below the configuration's directory.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<String, String>,
}

/// The version of the built-in prompts that a protocol uses.
pub(super) fn built_in(protocol: &Protocol) -> String {
    version(&[protocol.prompts, &[protocol.system]].concat())
}

/// A prompt cannot be packed.
fn unreadable(path: &Path, agent: &str) -> UserError {
    unplannable(format!("the prompt {} of {agent} cannot be read", path.display()))
}

impl Prompts {
    /// Packs the files that the settings name, and points the settings to the packed files.
    pub(super) fn pack(protocol: &Protocol, settings: &mut Settings) -> Result<Self, UserError> {
        let base = settings.base_dir.clone().unwrap_or_default();
        let mut packed = Self { version: built_in(protocol), files: BTreeMap::new() };
        for (path, owner) in paths(settings) {
            packed.take(&base, path, &owner)?;
        }
        for agent in &settings.agents {
            let role = role_path(agent);
            let path = base.join(&role);
            if Role::built_in(&agent.role).is_some() && !(Role::gives_way(&agent.role) && path.is_file()) {
                continue;
            }
            let unreadable = || unreadable(&path, agent.id.as_str());
            if !is_below(&role) {
                return Err(unreadable());
            }
            packed.files.insert(role, read_prompt(&path).map_err(|_| unreadable())?);
        }
        Ok(packed)
    }

    /// Packs a file under a name derived from its content, so that the plan contains no path of this machine.
    fn take(&mut self, base: &Path, path: &mut PathBuf, agent: &str) -> Result<(), UserError> {
        let file = base.join(&*path);
        let text = read_prompt(&file).map_err(|_| unreadable(&file, agent))?;
        let name = format!("prompts/{}.md", hexadecimal(&hash([text.as_bytes()])[..8]));
        *path = PathBuf::from(&name);
        self.files.insert(name, text);
        Ok(())
    }

    /// The first prompt outside the directory, or missing in the plan although the settings name it.
    pub(super) fn fault(&self, settings: &Settings) -> Option<String> {
        if let Some(path) = self.files.keys().find(|path| !is_below(path)) {
            return Some(format!("the prompt `{path}` is outside the directory of prompts"));
        }
        let named =
            paths(&mut settings.clone()).into_iter().map(|(path, _)| path.display().to_string()).collect::<Vec<_>>();
        let roles = settings.agents.iter().filter(|agent| Role::built_in(&agent.role).is_none()).map(role_path);
        let missing = named.into_iter().chain(roles).find(|path| !self.files.contains_key(path))?;
        Some(format!("the plan does not contain the prompt `{missing}`"))
    }

    /// The place of these prompts below a directory, the same for the same files.
    pub(super) fn directory(&self, below: &Path) -> PathBuf {
        let parts = self.files.iter().flat_map(|(path, text)| [path.as_bytes(), text.as_bytes()]);
        below.join(hexadecimal(&hash(parts)[..8]))
    }

    /// Writes the files.
    pub(super) fn unpack(&self, below: &Path) -> Result<(), (PathBuf, io::Error)> {
        let directory = self.directory(below);
        let failed = |path: &Path| {
            let path = path.to_owned();
            |source| (path, source)
        };
        fs::create_dir_all(&directory).map_err(failed(&directory))?;
        for (name, text) in &self.files {
            let path = directory.join(name);
            if let Some(parent) = path.parent() {
                fs::create_dir_all(parent).map_err(failed(parent))?;
            }
            fs::write(&path, text).map_err(failed(&path))?;
        }
        Ok(())
    }
}

/// The prompt files that the settings name, with their owners.
fn paths(settings: &mut Settings) -> Vec<(&mut PathBuf, String)> {
    let general = settings.debate.summarization.prompt_path.as_mut();
    let mut all: Vec<_> = general.map(|path| (path, "`debate.summarization`".to_owned())).into_iter().collect();
    for agent in settings.agents.iter_mut().chain([&mut settings.judge]) {
        let owner = agent.id.to_string();
        let own = [
            &mut agent.system_prompt_path,
            &mut agent.summary_prompt_path,
            &mut agent.clarification_prompt_path,
            &mut agent.summarization.prompt_path,
        ];
        all.extend(own.into_iter().flatten().map(|path| (path, owner.clone())));
    }
    all
}

/// The file of an agent's role.
fn role_path(agent: &AgentSettings) -> String {
    format!("prompts/roles/{}.md", agent.role)
}

/// Whether a relative path stays below its base directory.
fn is_below(path: &str) -> bool {
    let mut parts = Path::new(path).components();
    path.starts_with("prompts/") && parts.all(|part| matches!(part, Component::Normal(_)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_prompt_of_a_plan_leads_out_of_its_directory() {
        for (path, is_kept) in [
            ("prompts/roles/poet.md", true),
            ("prompts/0123.md", true),
            ("prompts/../../.bashrc", false),
            ("../prompts/x.md", false),
            ("/etc/passwd", false),
            ("other/x.md", false),
            ("prompts//x.md", true),
        ] {
            assert_eq!(is_below(path), is_kept, "{path}");
        }
    }
}
