//! The participants of a debate, for its watchers.

use std::sync::Arc;

use dialectic_base::money::Usd;

use super::{AgentId, AgentSettings, Debate, Poll, Settings, StageId, StageInfo, StageWords, stage};

/// One agent or the judge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Participant {
    pub id: AgentId,
    pub name: String,
    pub role: String,
    pub model: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spent {
    /// Calls that reached a model.
    pub calls: u64,
    /// Input and output tokens.
    pub tokens: u64,
    /// Calls without a token count.
    pub silent_calls: u64,
    /// The cost; absent if the cost of any call is unknown.
    pub cost: Option<Usd>,
}

/// The participants and initial figures of a displayed debate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PanelInfo {
    /// The debaters in display order: that of their numbers.
    pub agents: Vec<Participant>,
    /// The judge, shown last.
    pub judge: Participant,
    /// The maximum number of rounds, unless the protocol continues.
    pub rounds: u32,
    /// The stages of the protocol in display order.
    pub stages: Arc<[StageInfo]>,
    /// The spending before the first signal, such as by an earlier run.
    pub spent: Spent,
    /// The audience's votes so far.
    pub polls: Vec<Poll>,
}

impl Default for Spent {
    fn default() -> Self {
        Self { calls: 0, tokens: 0, silent_calls: 0, cost: Some(Usd::ZERO) }
    }
}

impl From<&AgentSettings> for Participant {
    fn from(agent: &AgentSettings) -> Self {
        let AgentSettings { id, name, role, model, .. } = agent.clone();
        Self { id, name, role, model }
    }
}

impl PanelInfo {
    /// The panel of a new debate with the stages of its protocol.
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

    /// The panel with the agents in the order of their numbers in `debate`.
    pub fn in_order_of_numbers(mut self, debate: &Debate) -> Self {
        let number = debate.text_numbers();
        self.agents.sort_by_key(|agent| number(&agent.id).unwrap_or(u32::MAX));
        self
    }

    /// The panel of a resumed debate, including what `debate` has spent.
    pub fn resuming(self, debate: &Debate) -> Self {
        Self {
            spent: Spent {
                calls: debate.total_usage().requests,
                tokens: debate.total_tokens(),
                silent_calls: debate.total_usage().silent_calls,
                cost: debate.total_cost(),
            },
            rounds: self.rounds.max(debate.current_round),
            polls: debate.polls.clone(),
            ..self.in_order_of_numbers(debate)
        }
    }

    /// The facts about a stage.
    pub fn stage(&self, id: StageId) -> Option<&StageInfo> {
        self.stages.iter().find(|stage| stage.id == id)
    }

    /// The index of a stage in its protocol; past the end if unknown.
    pub fn stage_rank(&self, id: StageId) -> usize {
        self.stages.iter().position(|stage| stage.id == id).unwrap_or(self.stages.len())
    }

    /// The index of the stage that makes its calls: itself, or for a kind of call the next real stage.
    pub fn place_rank(&self, id: StageId) -> usize {
        stage::place_rank(&self.stages, id)
    }

    /// The words for a stage; its id if unknown.
    pub fn words(&self, id: StageId) -> StageWords {
        stage::words(&self.stages, id)
    }

    pub fn participants(&self) -> impl Iterator<Item = &Participant> {
        self.agents.iter().chain([&self.judge])
    }

    /// The number of an agent's text; the judge has none.
    pub fn number(&self, id: &AgentId) -> Option<usize> {
        Some(self.agents.iter().position(|agent| agent.id == *id)? + 1)
    }

    /// The display name for an id; the id itself if unknown.
    pub fn name<'a>(&'a self, id: &'a AgentId) -> &'a str {
        self.participants().find(|participant| participant.id == *id).map_or(id.as_str(), |found| &found.name)
    }
}
