//! Where a debate's prompts come from.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::ids::AgentId;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromptSources {
    /// The version of the built-in prompts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    #[serde(default)]
    pub agents: Vec<AgentPromptSource>,
    pub judge: JudgePromptSource,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentPromptSource {
    pub agent_id: AgentId,
    pub role: String,
    pub source: PromptOrigin,
    /// The absolute path of the user's file; absent for the built-in prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<PathBuf>,
    /// The SHA-256 of all prompt texts of the role, including the user's files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct JudgePromptSource {
    pub id: AgentId,
    /// Where the judge's system prompt comes from.
    pub source: PromptOrigin,
    /// The absolute path of the user's file; absent for the built-in prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<PathBuf>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary_source: Option<PromptOrigin>,
    /// The absolute path of the user's file; absent for the built-in prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary_path: Option<PathBuf>,
    /// The SHA-256 of all prompt texts of the role, including the user's files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
}

impl PromptSources {
    /// Returns a message for each difference between `self`, as saved, and `now`: a new version of the built-in
    /// prompts, other prompt files, or changed prompts of an agent or the judge.
    pub fn changes(&self, now: &Self) -> Vec<String> {
        let mut changes = Vec::new();
        if let (Some(before), Some(now)) = (&self.version, &now.version)
            && before != now
        {
            changes.push(format!("the built-in prompts have changed since this debate began ({before}, now {now})"));
        }
        for (id, files, hash) in now.everybody() {
            let Some((_, old_files, old_hash)) = self.everybody().find(|(known, ..)| *known == id) else { continue };
            if let Some((from, to)) = old_files.into_iter().zip(files).find(|(from, to)| from != to) {
                changes.push(format!("{id} now uses {}; this debate began with {}", place(to), place(from)));
            } else if old_hash.zip(hash).is_some_and(|(before, now)| before != now) {
                let file = files.into_iter().flatten().next();
                let file = file.map(|path| format!(" ({})", path.display())).unwrap_or_default();
                changes.push(format!("{id}'s prompts have changed since this debate began{file}"));
            }
        }
        changes
    }

    /// Yields the id of each agent and the judge, the files of the system prompt and (for the judge only) the summary
    /// prompt, and the hash of all prompt texts.
    fn everybody(&self) -> impl Iterator<Item = (&AgentId, [Option<&PathBuf>; 2], Option<&String>)> {
        let agents = self.agents.iter();
        let agents = agents.map(|agent| (&agent.agent_id, [agent.path.as_ref(), None], agent.sha256.as_ref()));
        let JudgePromptSource { id, path, summary_path, sha256, .. } = &self.judge;
        agents.chain([(id, [path.as_ref(), summary_path.as_ref()], sha256.as_ref())])
    }
}

fn place(path: Option<&PathBuf>) -> String {
    path.map_or_else(|| "the built-in prompt".to_owned(), |path| path.display().to_string())
}

dialectic_base::named! {
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    pub enum PromptOrigin {
        BuiltIn = "built-in",
        File = "file",
    }
}
