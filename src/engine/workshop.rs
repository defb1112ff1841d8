//! The tools of a round: what agents may look up while they write.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::agent::Tools;
use crate::debate::{AgentSettings, Contribution, Debate, Round};
use crate::tools::{ContextDirectory, ToolContext, Toolbox};

use super::EngineError;

/// What the tools of a round work on; nothing when no agent has tools.
pub(super) struct Workshop {
    context: Option<ToolContext>,
    /// The round in progress.
    round: u32,
}

impl Workshop {
    /// The workshop of the round in progress: the context directory, and the rounds before it. The file `withheld` is
    /// never shown.
    ///
    /// # Errors
    /// When an agent has tools and the directory cannot be opened.
    pub(super) fn open(debate: &Debate, withheld: Option<&Path>) -> Result<Self, EngineError> {
        let round = debate.current_round;
        let Some(settings) = &debate.settings else { return Ok(Self { context: None, round }) };
        if settings.agents.iter().all(|agent| agent.tools.is_empty()) {
            return Ok(Self { context: None, round });
        }
        let path = settings.context_dir.clone().unwrap_or_else(|| PathBuf::from("."));
        let directory = ContextDirectory::open(&path).map_err(|source| EngineError::ContextDir { path, source })?;
        let directory = directory.withholding(withheld);
        let finished = debate.rounds.iter().filter(|finished| finished.round_number < round);
        let rounds: Vec<Round> = finished.cloned().collect();
        Ok(Self { round, context: Some(ToolContext { directory: Arc::new(directory), rounds: rounds.into() }) })
    }

    /// The tools of an agent for a call that is `given` these texts; nothing when it has none. What else happens to
    /// be finished is not looked at: no result depends on who was faster.
    pub(super) fn tools_of(&self, agent: &AgentSettings, given: Vec<Arc<Contribution>>) -> Option<Tools> {
        let mut context = self.context.clone()?;
        if !given.is_empty() {
            let this = Round { contributions: given, ..Round::begun(self.round) };
            context.rounds = context.rounds.iter().cloned().chain([this]).collect();
        }
        let toolbox = Toolbox::new(agent.tools.iter().map(|tool| tool.name.as_str()), context);
        (!toolbox.is_empty()).then(|| Tools { toolbox: Arc::new(toolbox), limit: agent.tool_call_limit })
    }
}
