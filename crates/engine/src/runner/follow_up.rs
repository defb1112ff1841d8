//! Questions to the judge about a finished debate.

use std::path::Path;
use std::sync::Arc;

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::access::{UserSettings, elsewhere};
use crate::agent::Panel;
use crate::engine::{Engine, FollowUpError, forecast_follow_up};
use dialectic_base::money::{BudgetLimit, Usd};
use dialectic_record::debate::{Debate, Status};
use dialectic_record::event::Recorded;
use dialectic_record::live::{Forecast, PanelInfo, Signals};
use dialectic_record::protocol::Protocol;
use dialectic_record::protocol::questions::follow_up_info;
use dialectic_record::settings::Settings;
use dialectic_record::store::{Entry, Record, StoreError, read_state};

use super::{ResumableDebate, Runner, RunnerError};

/// A question that is ready to be asked. Nothing has been spent yet.
pub struct PreparedQuestion {
    protocol: &'static Protocol,
    panel: Panel,
    record: Record,
    past: Vec<Recorded>,
    signals: Signals,
    question: Arc<str>,
    /// Settings without agents, because only the judge needs a key and a price.
    settings: Settings,
    limit: BudgetLimit,
}

impl Runner {
    /// Opens a finished debate for a question. If the debate was saved by the TypeScript version, which stored neither
    /// a journal nor settings, creates a journal and uses `lent` as the settings.
    ///
    /// # Errors
    ///
    /// Returns an error if the debate has no solution, is in use or damaged, or has no journal, no settings or an
    /// unknown protocol.
    pub fn open_finished(&self, entry: &Entry, lent: Option<Settings>) -> Result<ResumableDebate, RunnerError> {
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
        if let Some(lent) = lent.filter(|_| record.debate().settings.is_none()) {
            record.run_with(lent);
        }
        let debate = record.debate();
        let refused = |reason| RunnerError::NotAnswerable { id: debate.id.clone(), reason };
        if debate.status != Status::Completed || debate.final_solution.is_none() {
            return Err(refused("it has no solution"));
        }
        let mut settings = debate.settings.clone().ok_or_else(|| refused("its settings were not saved"))?;
        settings.elsewhere = elsewhere(&settings, &self.services.environment);
        let protocol = self.protocol(&settings).ok_or_else(|| refused("its protocol is unknown"))?;
        let cut = "removing the incomplete last line of the journal, left by a crash";
        let warnings = contents.cut_short.then(|| cut.to_owned()).into_iter().collect();
        Ok(ResumableDebate { record, contents, protocol, settings, most: None, warnings })
    }

    /// Prepares a question to the judge of a finished debate, with the providers of the user's `own` settings. `limit`
    /// applies to this question alone; without it, the debate's limits apply.
    ///
    /// # Errors
    ///
    /// Returns an error if the judge cannot be called, the limit cannot be enforced, or the record names a file that
    /// the user has not allowed.
    pub fn ask(
        &self,
        saved: ResumableDebate,
        question: Arc<str>,
        limit: BudgetLimit,
        own: &UserSettings,
    ) -> Result<PreparedQuestion, RunnerError> {
        let ResumableDebate { mut record, contents, protocol, settings, .. } = saved;
        let mut settings = UserSettings { limit, ..own.clone() }.over(&settings, &self.services.environment);
        record.run_with(settings.clone());
        let debate = record.debate();
        settings.agents.clear();
        settings.context_dir = None;
        settings.debate.arena.context_commands.clear();
        own.check(&settings)?;
        let panel = self.services.panel(protocol, &settings)?;
        let stages = debate.stages.iter().cloned().chain([follow_up_info()]).collect();
        let shown = PanelInfo { rounds: 0, ..PanelInfo::new(&settings, stages) };
        let signals = Signals::behind(shown.resuming(debate), record.events());
        let past = contents.events;
        Ok(PreparedQuestion { protocol, panel, record, past, signals, question, settings, limit })
    }
}

impl PreparedQuestion {
    /// The debate that the question is about.
    pub fn debate(&self) -> &Debate {
        self.record.debate()
    }

    /// Warnings about unusable prompt files and about programs that serve as providers.
    pub fn warnings(&self) -> &[String] {
        &self.panel.warnings
    }

    /// The settings without agents, since only the judge is called.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Estimates the tokens and cost of the question's call.
    ///
    /// # Errors
    ///
    /// Returns an error if the debate already has the maximum number of questions.
    pub fn forecast(&self) -> Result<Forecast, FollowUpError> {
        let Self { panel, record, question, settings, .. } = self;
        forecast_follow_up(panel, settings, record.debate(), question)
    }

    /// How much the question may cost; `None` without a limit. Earlier calls of unknown cost count as zero.
    pub fn left(&self) -> Option<Usd> {
        let spent = self.debate().total_cost().unwrap_or_default();
        self.limit.usd.or_else(|| Some(self.settings.max_cost()?.saturating_sub(spent)))
    }

    /// The signals that the question's run will send.
    pub fn signals(&self) -> &Signals {
        &self.signals
    }

    /// The path of the debate's journal.
    pub fn journal_path(&self) -> &Path {
        self.record.journal_path()
    }

    /// The number of events in the journal before the question.
    pub fn events_before(&self) -> u64 {
        self.record.events()
    }

    /// Asks the question and waits for the answer; `cancel` aborts it. Returns the saved debate and the answer.
    ///
    /// # Errors
    ///
    /// Returns an error if the limit leaves no room for an answer, the judge does not answer, or the answer cannot be
    /// saved.
    pub async fn run(self, cancel: CancellationToken) -> Result<(Debate, Arc<str>), FollowUpError> {
        let Self { protocol, panel, record, past, signals, question, settings: _, limit } = self;
        let (_commands, heard) = mpsc::unbounded_channel();
        let mut engine = Engine::new(protocol, panel, record, &past, signals, cancel, heard);
        let answer = engine.follow_up(question, limit, &past).await?;
        Ok((engine.debate().clone(), answer))
    }
}
