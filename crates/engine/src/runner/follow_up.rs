//! A question about a finished debate.

use std::path::Path;
use std::sync::Arc;

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::access::{Trust, elsewhere};
use crate::agent::Panel;
use crate::engine::{Engine, FollowUpError};
use dialectic_base::money::BudgetLimit;
use dialectic_record::debate::{Debate, PanelInfo, Participant, Recorded, Settings, Spent, Status};
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

    /// Makes a question about a finished debate ready, for its judge; without a question, the last that has no answer.
    /// `limit` is what the answer may take at most; what is not limited in it is limited as the debate is.
    ///
    /// # Errors
    /// When the judge cannot be called, or the limit cannot be kept.
    pub fn ask(
        &self,
        saved: ResumableDebate,
        question: Option<Arc<str>>,
        limit: BudgetLimit,
        provenance: &Trust,
    ) -> Result<PreparedQuestion, RunnerError> {
        let ResumableDebate { mut record, contents, protocol, mut settings, .. } = saved;
        provenance.clone().and_limit(limit).set_terms(&mut settings, &self.services.environment);
        record.set_terms(&settings);
        // Nobody else is called: nobody else needs a key or a price.
        let alone = Settings { agents: Vec::new(), ..settings };
        let panel = self.services.panel(protocol, &alone, provenance)?;
        let debate = record.debate();
        let shown = PanelInfo {
            agents: Vec::new(),
            judge: Participant::from(&panel.judge.settings),
            rounds: 0,
            stages: debate.stages.iter().cloned().chain([follow_up_info()]).collect(),
            spent: Spent::default(),
            polls: Vec::new(),
        };
        let signals = Signals::behind(shown.resuming(debate), record.events());
        Ok(PreparedQuestion { protocol, panel, record, past: contents.events, signals, asked: question, limit })
    }
}

impl PreparedQuestion {
    /// The debate as it stands.
    #[must_use]
    pub fn debate(&self) -> &Debate {
        self.record.debate()
    }

    /// Prompt files that could not be used.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        &self.panel.warnings
    }

    /// What it shows of itself.
    #[must_use]
    pub fn signals(&self) -> &Signals {
        &self.signals
    }

    /// Where the debate's journal is.
    #[must_use]
    pub fn journal_path(&self) -> &Path {
        self.record.journal_path()
    }

    /// How many events are in it that were there before.
    #[must_use]
    pub fn events_before(&self) -> u64 {
        self.record.events()
    }

    /// Asks, and waits for the answer; `cancel` abandons it. Returns the debate as it is saved, and the answer.
    ///
    /// # Errors
    /// When there is no question, no room for an answer, or none comes.
    pub async fn run(self, cancel: CancellationToken) -> Result<(Debate, Arc<str>), FollowUpError> {
        let Self { protocol, panel, record, past, signals, asked, limit } = self;
        // Nobody tells it anything while it runs.
        let (_commands, heard) = mpsc::unbounded_channel();
        let mut engine = Engine::new(protocol, panel, record, &past, signals, cancel, heard);
        let answer = engine.follow_up(asked, limit, &past).await?;
        Ok((engine.debate().clone(), answer))
    }
}
