//! Where a debate's prompts come from.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::AgentId;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromptSources {
    /// The version of the built-in prompts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    #[serde(default)]
    pub agents: Vec<AgentPromptSource>,
    pub judge: JudgePromptSource,
}

/// Where an agent's system prompt comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentPromptSource {
    pub agent_id: AgentId,
    pub role: String,
    /// Built in, or a file.
    pub source: PromptOrigin,
    /// The absolute path of the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<PathBuf>,
    /// The SHA-256 of all texts of its role, including the user's files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct JudgePromptSource {
    pub id: AgentId,
    /// Where its system prompt comes from.
    pub source: PromptOrigin,
    /// The absolute path of that file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<PathBuf>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary_source: Option<PromptOrigin>,
    /// The absolute path of that file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary_path: Option<PathBuf>,
    /// The SHA-256 of all texts of its role, including the user's files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
}

/// What is compared of an agent's or the judge's prompts.
#[derive(Clone, Copy)]
struct KnownPrompt<'a> {
    id: &'a AgentId,
    path: Option<&'a PathBuf>,
    summary_path: Option<&'a PathBuf>,
    sha256: Option<&'a String>,
}

impl PromptSources {
    /// One sentence for each agent or judge whose prompts changed since `self` was saved.
    pub fn changes(&self, now: &Self) -> Vec<String> {
        let mut changes = Vec::new();
        if let (Some(before), Some(now)) = (&self.version, &now.version)
            && before != now
        {
            changes.push(format!("the built-in prompts have changed since this debate began ({before}, now {now})"));
        }
        for now in now.everybody() {
            let Some(before) = self.everybody().find(|before| before.id == now.id) else { continue };
            let is_new = before.sha256.zip(now.sha256).is_some_and(|(before, now)| before != now);
            if (before.path, before.summary_path) != (now.path, now.summary_path) {
                let is_summary = before.path == now.path;
                let [from, to] = [before, now]
                    .map(|known: KnownPrompt<'_>| place(if is_summary { known.summary_path } else { known.path }));
                changes.push(format!("{} now uses {to}; this debate began with {from}", now.id));
            } else if is_new {
                let file = now.path.or(now.summary_path);
                let file = file.map(|path| format!(" ({})", path.display())).unwrap_or_default();
                changes.push(format!("the prompts of {} have changed since this debate began{file}", now.id));
            }
        }
        changes
    }

    /// The sources of all agents and the judge.
    fn everybody(&self) -> impl Iterator<Item = KnownPrompt<'_>> {
        let agents = self.agents.iter().map(|agent| KnownPrompt {
            id: &agent.agent_id,
            path: agent.path.as_ref(),
            summary_path: None,
            sha256: agent.sha256.as_ref(),
        });
        agents.chain([KnownPrompt {
            id: &self.judge.id,
            path: self.judge.path.as_ref(),
            summary_path: self.judge.summary_path.as_ref(),
            sha256: self.judge.sha256.as_ref(),
        }])
    }
}

fn place(path: Option<&PathBuf>) -> String {
    path.map_or_else(|| "the built-in prompt".to_owned(), |path| path.display().to_string())
}

dialectic_base::named! {
    /// The source of a prompt.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    pub enum PromptOrigin {
        /// Compiled into the program.
        BuiltIn = "built-in",
        /// The user's file.
        File = "file",
    }
}
