//! Counts voices by model family, because models of one family make the same mistakes.

use std::collections::BTreeSet;

use dialectic_base::figures::list;
use dialectic_base::provider::family;

use crate::debate::{AgentId, AgentSettings, Debate};

/// Counts the readers who found or confirmed something.
#[derive(Debug, Clone, Copy)]
pub struct Voices<'a> {
    debate: &'a Debate,
    by_family: bool,
}

impl<'a> Voices<'a> {
    /// Counts by model family, or by agent if there is only one family.
    pub fn of(debate: &'a Debate) -> Self {
        let families: BTreeSet<&str> = debate.agents().iter().map(kind).collect();
        Self { debate, by_family: families.len() > 1 }
    }

    /// The note for the reader about how voices are counted.
    pub fn note(&self) -> Option<&'static str> {
        let is_one = !self.by_family && self.debate.agents().len() > 1;
        is_one.then_some(
            "All readers use models of one family, which may share a blind spot: findings and confirmations are \
                listed by agent.",
        )
    }

    /// The voice of an agent: its model family, or its model if the family is unknown; its name if there is only one
    /// family.
    pub fn name(&self, id: &AgentId) -> String {
        match self.debate.agents().iter().find(|agent| agent.id == *id) {
            Some(agent) if self.by_family => kind(agent).to_owned(),
            Some(agent) => agent.name.clone(),
            None => id.to_string(),
        }
    }

    /// The names of `ids`, each once, in the order of the configuration.
    pub fn names<'i>(&self, ids: impl IntoIterator<Item = &'i AgentId>) -> Vec<String> {
        let mut ids: Vec<&AgentId> = ids.into_iter().collect();
        ids.sort_by_key(|id| self.debate.agents().iter().position(|agent| agent.id == **id));
        let mut names: Vec<String> = Vec::new();
        for name in ids.into_iter().map(|id| self.name(id)) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    /// [`Self::names`] as text.
    pub fn listed<'i>(&self, ids: impl IntoIterator<Item = &'i AgentId>) -> String {
        list(&self.names(ids))
    }
}

fn kind(agent: &AgentSettings) -> &str {
    family(&agent.model).unwrap_or(&agent.model)
}
