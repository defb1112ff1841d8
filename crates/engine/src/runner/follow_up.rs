//! A question about a finished debate.

use std::path::Path;
use std::sync::Arc;

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::access::{Trust, elsewhere};
use crate::agent::Panel;
use crate::engine::{Engine, FollowUpError, forecast_follow_up};
use dialectic_base::money::{BudgetLimit, Usd};
use dialectic_record::debate::{
    AgentId, AgentSettings, Debate, Forecast, PanelInfo, Participant, Recorded, Settings, Spent, Status,
};
use dialectic_record::protocol::{Protocol, follow_up_info};
use dialectic_record::signals::Signals;
use dialectic_record::store::{Entry, Record, StoreError, read_state};

use super::{ResumableDebate, Runner, RunnerError, known};

/// A question that is ready to be asked. Nothing is saved or paid for yet.
pub struct PreparedQuestion {
    protocol: &'static Protocol,
    panel: Panel,
    record: Record,
    past: Vec<Recorded>,
    signals: Signals,
    asked: Option<Arc<str>>,
    to: Option<AgentId>,
    /// Those that it is asked by: with nobody but the one that answers.
    settings: Settings,
    limit: BudgetLimit,
}

impl Runner {
    /// Opens a saved debate that is finished, to ask something about it. `protocols` are known in addition to the
    /// built-in ones. `lent` are the settings that a judge is called by where the debate's own are not known: older
    /// versions did not save them, and kept no journal, which is begun then.
    ///
    /// # Errors
    /// When it has no answer yet, runs elsewhere, or is damaged.
    pub fn open_finished(
        &self,
        entry: &Entry,
        protocols: &[&'static Protocol],
        lent: Option<Settings>,
    ) -> Result<ResumableDebate, RunnerError> {
        let (mut record, contents) = if entry.is_older() {
            let debate = read_state(&entry.state).map_err(StoreError::from)?;
            if debate.status != Status::Completed || debate.final_solution.is_none() {
                return Err(RunnerError::NotAnswerable { id: debate.id, reason: "it has no solution" });
            }
            Record::import(entry)?
        } else {
            entry.journal_path()?;
            Record::reopen(entry)?
        };
        if let Some(lent) = lent {
            record.lend_settings(lent);
        }
        let debate = record.debate();
        let refused = |reason| RunnerError::NotAnswerable { id: debate.id.clone(), reason };
        if debate.status != Status::Completed || debate.final_solution.is_none() {
            return Err(refused("it has no solution"));
        }
        let mut settings = debate.settings.clone().ok_or_else(|| refused("its settings are not saved"))?;
        settings.elsewhere = elsewhere(&settings, &self.services.environment);
        let protocol = known(&settings, protocols).ok_or_else(|| refused("its protocol is unknown"))?;
        let cut = "a crash cut the last line of the journal short; it is dropped";
        let warnings = contents.cut_short.then(|| cut.to_owned()).into_iter().collect();
        Ok(ResumableDebate { entry: entry.clone(), record, contents, protocol, settings, most: None, warnings })
    }

    /// Makes a question about a finished debate ready, for its judge or for the agent `to`; without a question, the last
    /// that has no answer, for the one that it was for. `limit` is what the answer may take at most; what is not limited in
    /// it is limited as the debate is.
    ///
    /// # Errors
    /// When the one that is asked cannot be called, or the limit cannot be kept.
    pub fn ask(
        &self,
        saved: ResumableDebate,
        question: Option<Arc<str>>,
        to: Option<&AgentId>,
        limit: BudgetLimit,
        provenance: &Trust,
    ) -> Result<PreparedQuestion, RunnerError> {
        let ResumableDebate { mut record, contents, protocol, mut settings, .. } = saved;
        provenance.clone().and_limit(limit).set_terms(&mut settings, &self.services.environment);
        record.set_terms(&settings);
        let debate = record.debate();
        let open = || debate.follow_ups.iter().rev().find(|one| one.answer.is_none())?.to.clone();
        let to = if question.is_none() && to.is_none() { open() } else { to.cloned() };
        let judge = Participant::from(&settings.judge);
        let settings = alone(settings, to.as_ref());
        if to.is_some() && settings.agents.is_empty() {
            let reason = "the settings of that agent are not saved";
            return Err(RunnerError::NotAnswerable { id: debate.id.clone(), reason });
        }
        let panel = self.services.panel(protocol, &settings, provenance)?;
        let shown = PanelInfo {
            agents: settings.agents.iter().map(Participant::from).collect(),
            judge,
            rounds: 0,
            stages: debate.stages.iter().cloned().chain([follow_up_info()]).collect(),
            spent: Spent::default(),
            polls: Vec::new(),
        };
        let signals = Signals::behind(shown.resuming(debate), record.events());
        let past = contents.events;
        Ok(PreparedQuestion { protocol, panel, record, past, signals, asked: question, to, settings, limit })
    }
}

/// The settings with nobody but the one that answers: nobody else needs a key or a price.
fn alone(mut settings: Settings, to: Option<&AgentId>) -> Settings {
    settings.agents.retain(|agent| Some(&agent.id) == to);
    if let Some(agent) = settings.agents.first_mut() {
        // What it could look up is not what the debate knew, and no forecast counts it.
        agent.tools.clear();
        // There is always a judge. This one is asked nothing.
        let id = settings.judge.id.clone();
        let (system_prompt_path, summary_prompt_path, clarification_prompt_path) = (None, None, None);
        let agent = agent.clone();
        settings.judge =
            AgentSettings { id, system_prompt_path, summary_prompt_path, clarification_prompt_path, ..agent };
    }
    settings
}

impl PreparedQuestion {
    /// The debate as it stands.
    pub fn debate(&self) -> &Debate {
        self.record.debate()
    }

    /// Prompt files that could not be used.
    pub fn warnings(&self) -> &[String] {
        &self.panel.warnings
    }

    /// The settings that it is asked by: with nobody but the one that answers.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The call that it takes, with its tokens and its cost. Nothing is asked.
    ///
    /// # Errors
    /// There is no question.
    pub fn forecast(&self) -> Result<Forecast, FollowUpError> {
        let Self { protocol, panel, record, asked, to, settings, .. } = self;
        forecast_follow_up(protocol, panel, settings, record.debate(), asked.clone(), to.as_ref())
    }

    /// What it may cost; nothing where that has no limit. What is not known to have been spent is not taken off.
    pub fn left(&self) -> Option<Usd> {
        let spent = self.debate().total_cost().unwrap_or_default();
        self.limit.usd.or_else(|| Some(self.settings.max_cost()?.saturating_sub(spent)))
    }

    /// What it shows of itself.
    pub fn signals(&self) -> &Signals {
        &self.signals
    }

    /// Where the debate's journal is.
    pub fn journal_path(&self) -> &Path {
        self.record.journal_path()
    }

    /// How many events are in it that were there before.
    pub fn events_before(&self) -> u64 {
        self.record.events()
    }

    /// Asks, and waits for the answer; `cancel` abandons it. Returns the debate as it is saved, and the answer.
    ///
    /// # Errors
    /// When there is no question, no room for an answer, or none comes.
    pub async fn run(self, cancel: CancellationToken) -> Result<(Debate, Arc<str>), FollowUpError> {
        let Self { protocol, panel, record, past, signals, asked, to, settings: _, limit } = self;
        // Nobody tells it anything while it runs.
        let (_commands, heard) = mpsc::unbounded_channel();
        let mut engine = Engine::new(protocol, panel, record, &past, signals, cancel, heard);
        let answer = engine.follow_up(asked, to.as_ref(), limit, &past).await?;
        Ok((engine.debate().clone(), answer))
    }
}
