//! Who takes part in a debate, as far as somebody who watches needs to know.

use super::{AgentId, AgentSettings, Debate, Settings, Usd};

/// One agent or the judge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Participant {
    /// Its id.
    pub id: AgentId,
    /// What people call it.
    pub name: String,
    /// Its role.
    pub role: String,
    /// Its model.
    pub model: String,
}

/// What has been paid for so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spent {
    /// Input and output tokens.
    pub tokens: u64,
    /// The cost; absent as soon as that of one call is unknown.
    pub cost: Option<Usd>,
}

/// Who takes part in the debate that is shown, and what it begins with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PanelInfo {
    /// The debaters, in the order in which they are shown.
    pub agents: Vec<Participant>,
    /// The judge, shown last.
    pub judge: Participant,
    /// Rounds at most.
    pub rounds: u32,
    /// What was spent before the first signal: not nothing when a debate is resumed.
    pub spent: Spent,
}

impl Default for Spent {
    fn default() -> Self {
        Self { tokens: 0, cost: Some(Usd::ZERO) }
    }
}

impl From<&AgentSettings> for Participant {
    fn from(agent: &AgentSettings) -> Self {
        let AgentSettings { id, name, role, model, .. } = agent.clone();
        Self { id, name, role, model }
    }
}

/// Of a debate that begins anew.
impl From<&Settings> for PanelInfo {
    fn from(settings: &Settings) -> Self {
        Self {
            agents: settings.agents.iter().map(Participant::from).collect(),
            judge: Participant::from(&settings.judge),
            rounds: settings.debate.rounds,
            spent: Spent::default(),
        }
    }
}

impl PanelInfo {
    /// Of a debate that is carried on: its totals go on from what `debate` has spent.
    #[must_use]
    pub fn resuming(self, debate: &Debate) -> Self {
        Self { spent: Spent { tokens: debate.total_tokens(), cost: debate.total_cost() }, ..self }
    }

    /// Agents, then the judge.
    pub fn participants(&self) -> impl Iterator<Item = &Participant> {
        self.agents.iter().chain([&self.judge])
    }

    /// What people call the one with that id; the id itself when nobody has it.
    #[must_use]
    pub fn name<'a>(&'a self, id: &'a AgentId) -> &'a str {
        self.participants().find(|participant| participant.id == *id).map_or(id.as_str(), |found| &found.name)
    }
}
