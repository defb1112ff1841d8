//! Who takes part in a debate, as far as somebody who watches needs to know.

use std::sync::Arc;

use dialectic_base::money::Usd;

use super::{AgentId, AgentSettings, Debate, Poll, Settings, StageId, StageInfo, StageWords, stage};

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
    /// Calls without a token count.
    pub silent_calls: u64,
    /// The cost; absent as soon as that of one call is unknown.
    pub cost: Option<Usd>,
}

/// The participants of the debate that is shown, and its starting figures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PanelInfo {
    /// The debaters, in the order in which they are shown.
    pub agents: Vec<Participant>,
    /// The judge, shown last.
    pub judge: Participant,
    /// Rounds at most, unless the protocol goes on after them.
    pub rounds: u32,
    /// The stages of the debate's protocol, in the order in which they are shown.
    pub stages: Arc<[StageInfo]>,
    /// What was spent before the first signal: not nothing when a debate is resumed.
    pub spent: Spent,
    /// The audience's votes so far.
    pub polls: Vec<Poll>,
}

impl Default for Spent {
    fn default() -> Self {
        Self { tokens: 0, silent_calls: 0, cost: Some(Usd::ZERO) }
    }
}

impl From<&AgentSettings> for Participant {
    fn from(agent: &AgentSettings) -> Self {
        let AgentSettings { id, name, role, model, .. } = agent.clone();
        Self { id, name, role, model }
    }
}

impl PanelInfo {
    /// Of a debate that begins anew, with the stages of its protocol.
    pub fn new(settings: &Settings, stages: Arc<[StageInfo]>) -> Self {
        Self {
            agents: settings.agents.iter().map(Participant::from).collect(),
            judge: Participant::from(&settings.judge),
            rounds: settings.debate.rounds,
            stages,
            spent: Spent::default(),
            polls: Vec::new(),
        }
    }

    /// Of a debate that is carried on: its totals go on from what `debate` has spent.
    pub fn resuming(self, debate: &Debate) -> Self {
        Self {
            spent: Spent {
                tokens: debate.total_tokens(),
                silent_calls: debate.total_usage().silent_calls,
                cost: debate.total_cost(),
            },
            rounds: self.rounds.max(debate.current_round),
            polls: debate.polls.clone(),
            ..self
        }
    }

    /// What is known of a stage.
    pub fn stage(&self, id: StageId) -> Option<&StageInfo> {
        self.stages.iter().find(|stage| stage.id == id)
    }

    /// The place of a stage in its protocol; after the last if the protocol does not have it.
    pub fn stage_rank(&self, id: StageId) -> usize {
        self.stages.iter().position(|stage| stage.id == id).unwrap_or(self.stages.len())
    }

    /// The place among them of the stage within which its calls are made: itself, or of a kind of call the next stage
    /// that is a place.
    pub fn place_rank(&self, id: StageId) -> usize {
        stage::place_rank(&self.stages, id)
    }

    /// The words for a stage; one that is unknown is called by its id.
    pub fn words(&self, id: StageId) -> StageWords {
        stage::words(&self.stages, id)
    }

    /// Agents, then the judge.
    pub fn participants(&self) -> impl Iterator<Item = &Participant> {
        self.agents.iter().chain([&self.judge])
    }

    /// What people call the one with that id; the id itself when nobody has it.
    pub fn name<'a>(&'a self, id: &'a AgentId) -> &'a str {
        self.participants().find(|participant| participant.id == *id).map_or(id.as_str(), |found| &found.name)
    }
}
