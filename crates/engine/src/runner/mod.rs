//! The entry point: starts, resumes or forks a debate, and returns a handle to the run.
//!
//! A [`Runner`] stores debates in a directory and calls models through its [`Services`]. It returns a [`Prepared`]
//! debate, whose keys, prices and prompt files have been checked without spending anything. A [`Prepared`] debate
//! becomes a [`Run`], which proceeds on the runtime where it was started until it ends or waits for answers. Any number
//! of consumers can watch the run without slowing it down. `examples/embed.rs` runs a debate in a few lines.
//!
//! This module neither prints nor prompts. The command line is one of its clients.

#![warn(missing_docs)]

mod follow_up;
mod gather;
mod prepared;
mod run;
mod services;
mod spending;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use crate::access::{TrustError, UserSettings, elsewhere};
use crate::agent::{Ask, OnReply, Value, answer, beginnings, prepare};
use crate::engine::{EngineError, ForecastError, WindowError, replying};
use dialectic_base::money::Usd;
use dialectic_base::secrets::KnownKeys;
use dialectic_llm::HostModel;
use dialectic_record::debate::{Debate, Status};
use dialectic_record::event::{
    Created, Event, FORMAT_VERSION, FoldError, ForkError, ForkPoint, ForkedFrom, check_taken_over, fork, proposals_for,
};
use dialectic_record::ids::{CallKey, DebateId};
use dialectic_record::protocol::{Protocol, Unfit};
use dialectic_record::settings::Settings;
use dialectic_record::store::{
    AccessMode, Directory, Entry, JournalContents, Record, SavedReply, StoreError, read_journal, read_state,
};

use gather::Collector;
use prepared::Origin;

pub use follow_up::PreparedQuestion;
pub use gather::{AttachmentError, Attachments};
pub use prepared::{Prepared, Ready, new_debate};
pub use run::{After, Controls, Failed, Finished, HOOK_LIMIT, Run};
pub use services::{DebateHistory, Models, Services, ServicesError};
pub use spending::{SpendingError, SpendingLock, note_spent, remove, renew_limit, spent_by, spent_today};

/// Starts, resumes and forks debates, and keeps their records in a directory.
#[derive(Clone)]
pub struct Runner {
    directory: Directory,
    services: Services,
    /// Custom protocols, searched before the built-in ones.
    protocols: Vec<&'static Protocol>,
}

/// A saved debate, opened to resume it or to ask about it.
pub struct ResumableDebate {
    record: Record,
    contents: JournalContents,
    protocol: &'static Protocol,
    settings: Settings,
    /// A limit on the total cost, in addition to the debate's own.
    most: Option<Usd>,
    warnings: Vec<String>,
}

/// A point in a saved debate at which a fork starts.
pub struct Branch {
    created: Created,
    taken_over: Vec<Event>,
    at: ForkPoint,
}

/// Why a debate cannot run, or cannot take a question or a reply.
#[derive(Debug, thiserror::Error)]
pub enum RunnerError {
    /// An agent or the judge cannot be called.
    #[error(transparent)]
    Services(#[from] ServicesError),
    /// The settings do not fit the protocol.
    #[error(transparent)]
    Unfit(#[from] Unfit),
    /// The debate cannot be saved or loaded.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The calls cannot be planned, or a prompt cannot be rendered.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The dry run that predicts the calls failed.
    #[error(transparent)]
    Forecast(#[from] ForecastError),
    /// The problem or a prompt exceeds a model's context window.
    #[error(transparent)]
    Window(#[from] WindowError),
    /// A saved debate would use files or commands that the user has not allowed.
    #[error(transparent)]
    Trust(#[from] TrustError),
    /// The debate cannot be forked as requested.
    #[error("cannot fork {id}: {reason}")]
    Fork {
        /// The debate to fork.
        id: DebateId,
        /// What makes the fork impossible.
        reason: ForkError,
    },
    /// The debate is finished, so it cannot be resumed.
    #[error("the debate {id} is finished")]
    IsFinished {
        /// The finished debate.
        id: DebateId,
        /// Warnings about damaged files that were repaired.
        warnings: Vec<String>,
    },
    /// The call that the host replied to already has a result, or its stage is over.
    #[error("the debate no longer needs the reply")]
    ReplyNotWanted,
    /// The engine could not use the host's reply; contains the reason.
    #[error("the reply cannot be used: {0}")]
    ReplyUnusable(String),
    /// No question can be asked about the debate.
    #[error("cannot ask about the debate {id}: {reason}")]
    NotAnswerable {
        /// The debate that the question is about.
        id: DebateId,
        /// The reason as a clause, such as `it has no solution`.
        reason: &'static str,
    },
    /// A saved debate cannot be resumed.
    #[error("the debate {id} cannot be resumed: {reason}")]
    NotResumable {
        /// The debate that was to be resumed.
        id: DebateId,
        /// The reason as a clause, such as `its protocol is unknown`.
        reason: &'static str,
    },
}

impl Runner {
    /// Creates a runner that keeps debates in `directory`.
    pub fn new(directory: Directory, services: Services) -> Self {
        Self { directory, services, protocols: Vec::new() }
    }

    /// Sets custom protocols. A custom protocol replaces a built-in protocol of the same name.
    pub fn with_protocols(self, protocols: &[&'static Protocol]) -> Self {
        Self { protocols: protocols.to_vec(), ..self }
    }

    fn protocol(&self, settings: &Settings) -> Option<&'static Protocol> {
        let name = &settings.debate.protocol;
        self.protocols.iter().copied().find(|protocol| protocol.name == name).or_else(|| Protocol::named(name))
    }

    fn protocol_of(&self, created: &Created) -> Result<&'static Protocol, Unfit> {
        let unknown = || {
            let problem = format!("the protocol `{}` is unknown", created.settings.debate.protocol);
            Unfit::new(problem, "use a built-in one, or add it to the runner").about("protocol")
        };
        self.protocol(&created.settings).ok_or_else(unknown)
    }

    /// Checks the settings of a new debate against its protocol, and returns the protocol.
    ///
    /// # Errors
    ///
    /// Returns an error if the settings do not fit, or the protocol is unknown.
    pub fn check_protocol(&self, created: &Created) -> Result<&'static Protocol, Unfit> {
        let protocol = self.protocol_of(created)?;
        (protocol.check)(&created.settings).map(|()| protocol)
    }

    fn collector(&self, withheld: Option<PathBuf>, keys: KnownKeys) -> Collector {
        Collector { past: self.services.past.clone(), withheld, keys }
    }

    /// Starts a new debate on the current runtime.
    ///
    /// # Errors
    ///
    /// Returns an error if the debate cannot run with these settings, or cannot be saved.
    pub fn start(&self, created: Created) -> Result<Run, RunnerError> {
        let prepared = self.prepare(created)?;
        prepared.check_limit()?;
        Ok(prepared.begin()?.run())
    }

    /// Opens a saved, unfinished debate.
    ///
    /// # Errors
    ///
    /// Returns an error if the debate is finished, in use or damaged, or if it has no journal, no settings or an
    /// unknown protocol.
    pub fn open(&self, entry: &Entry) -> Result<ResumableDebate, RunnerError> {
        if entry.journal.is_none() {
            let debate = read_state(&entry.state).map_err(StoreError::from)?;
            return Err(match entry.journal_gone() {
                _ if debate.status == Status::Completed => {
                    RunnerError::IsFinished { id: debate.id, warnings: Vec::new() }
                }
                Some(path) => StoreError::JournalGone { id: debate.id, path }.into(),
                None => {
                    let reason = "it has no journal (the TypeScript version did not keep one)";
                    RunnerError::NotResumable { id: debate.id, reason }
                }
            });
        }
        let (record, contents) = Record::reopen(entry)?;
        let mut warnings = Vec::new();
        if contents.cut_short {
            warnings.push("removing the incomplete last line of the journal, left by a crash".to_owned());
        }
        let state = read_state(&entry.state);
        if let Some(unreadable) = state.as_ref().err().filter(|error| !error.is_missing()) {
            warnings.push(format!("{unreadable}; rewriting the state file from the journal"));
        }
        let debate = record.debate();
        if debate.status == Status::Completed {
            // After a crash, the state file may lack the last event.
            if !state.is_ok_and(|state| state.is_same_state(debate)) {
                record.write_state()?;
            }
            entry.forget_host();
            return Err(RunnerError::IsFinished { id: debate.id.clone(), warnings });
        }
        let not_resumable = |reason| RunnerError::NotResumable { id: debate.id.clone(), reason };
        let mut settings = debate.settings.clone().ok_or_else(|| not_resumable("its settings were not saved"))?;
        settings.elsewhere = elsewhere(&settings, &self.services.environment);
        let protocol = self.protocol(&settings).ok_or_else(|| not_resumable("its protocol is unknown"))?;
        Ok(ResumableDebate { record, contents, protocol, settings, most: None, warnings })
    }

    /// Prepares to continue a saved debate, with the providers of the user's `own` settings.
    ///
    /// # Errors
    ///
    /// Returns an error if an agent or the judge cannot be called, or the record names files or commands that the user
    /// has not allowed.
    pub fn resume(&self, saved: ResumableDebate, own: &UserSettings) -> Result<Prepared, RunnerError> {
        let ResumableDebate { mut record, contents, protocol, settings, most, .. } = saved;
        let settings = own.over(&settings, &self.services.environment);
        own.check(&settings)?;
        let panel = self.services.panel(protocol, &settings)?;
        record.run_with(settings);
        record.new_limit = own.limit;
        let origin = Origin::Saved { record: Box::new(record), past: contents.events, most };
        Ok(self.prepared(protocol, panel, origin))
    }

    /// Prepares to continue a debate that another machine started. Providers, files and limits come from `created`,
    /// with which this machine would start the debate, never from the record.
    ///
    /// # Errors
    ///
    /// Returns an error if the record belongs to a different debate, or an agent or the judge cannot be called.
    pub fn take_over(&self, saved: ResumableDebate, created: Created) -> Result<Prepared, RunnerError> {
        let ResumableDebate { mut record, contents, protocol, .. } = saved;
        let debate = record.debate();
        let settings = created.settings;
        let is_same = debate.problem == created.problem
            && debate.attachments == created.attachments
            && protocol.name == settings.debate.protocol
            && debate.seed == Some(created.seed);
        if !is_same {
            let reason = "its problem, attachments, protocol or seed has changed";
            return Err(RunnerError::NotResumable { id: debate.id.clone(), reason });
        }
        let panel = self.services.panel(protocol, &settings)?;
        record.run_with(settings);
        let origin = Origin::Saved { record: Box::new(record), past: contents.events, most: None };
        Ok(self.prepared(protocol, panel, origin))
    }

    /// Reads a debate up to the point where it will be forked. The debate may be running; nothing is written to it. The
    /// fork will use the providers of the user's `own` settings.
    ///
    /// # Errors
    ///
    /// Returns an error if the debate has no journal, never reached the point, or names files or commands that the user
    /// has not allowed.
    pub fn branch(&self, entry: &Entry, at: &ForkPoint, own: &UserSettings) -> Result<Branch, RunnerError> {
        let refused = |reason| RunnerError::Fork { id: DebateId::new(entry.id()), reason };
        let parent = read_journal(entry.journal_path()?).map_err(StoreError::from)?.events;
        if let Some(Event::Imported { state }) = parent.first().map(|recorded| &recorded.event) {
            return Err(StoreError::NoJournal { id: state.id.clone() }.into());
        }
        let Some(Event::Created(created)) = parent.first().map(|recorded| &recorded.event) else {
            return Err(refused(FoldError::Empty.into()));
        };
        let taken_over = fork(&parent, at).map_err(refused)?;
        let settings = own.over(&created.settings, &self.services.environment);
        own.check(&settings)?;
        Ok(Branch { created: Created { settings, ..created.as_ref().clone() }, taken_over, at: at.clone() })
    }

    /// Prepares a fork to run with `settings`.
    ///
    /// # Errors
    ///
    /// Returns an error if the settings do not fit the protocol or the kept events, an agent or the judge cannot be
    /// called, the limits do not cover the debate, or the dry run fails.
    pub fn fork(&self, branch: Branch, settings: Settings) -> Result<Prepared, RunnerError> {
        let (protocol, created, taken_over) = self.branched(branch, settings)?;
        let prepared = self.prepare_from(protocol, created, taken_over)?;
        prepared.check_limit()?;
        Ok(prepared)
    }

    /// Returns the protocol, the first event and the kept events of a fork.
    fn branched(
        &self,
        branch: Branch,
        settings: Settings,
    ) -> Result<(&'static Protocol, Created, Vec<Event>), RunnerError> {
        let Branch { created, mut taken_over, at } = branch;
        let refused = |reason| RunnerError::Fork { id: created.id.clone(), reason };
        let unknown = || RunnerError::NotResumable { id: created.id.clone(), reason: "its protocol is unknown" };
        let protocol = self.protocol(&settings).ok_or_else(unknown)?;
        let before = &created.settings.debate;
        if settings.debate.protocol != before.protocol {
            if !at.is_start() {
                let proposals = proposals_for(&taken_over, &protocol.infos());
                taken_over = proposals.ok_or_else(|| refused(ForkError::OtherProtocol))?;
            }
        } else if created.change.is_some() && settings.debate.rounds != before.rounds {
            return Err(refused(ForkError::OtherParts(before.rounds)));
        }
        check_taken_over(&taken_over, &created.settings, &settings).map_err(refused)?;
        (protocol.check)(&settings)?;
        let new = Created {
            format_version: FORMAT_VERSION,
            seed: settings.debate.seed.unwrap_or(created.seed),
            stages: protocol.infos(),
            forked_from: Some(ForkedFrom { id: created.id.clone(), at }),
            settings,
            ..created
        };
        Ok((protocol, new, taken_over))
    }

    /// Checks that the engine could use a host's reply to the call `key` without asking again. Writes nothing. If the
    /// debate is not running, it must be resumable with the providers of the user's `own` settings.
    ///
    /// # Errors
    ///
    /// Returns an error if the debate cannot use the reply, or cannot be resumed.
    pub async fn check_reply(
        &self,
        entry: &Entry,
        key: &CallKey,
        reply: SavedReply,
        own: &UserSettings,
    ) -> Result<(), RunnerError> {
        let not_resumable = |reason| RunnerError::NotResumable { id: DebateId::new(entry.id()), reason };
        let debate = entry.load(AccessMode::Events)?.debate;
        let settings = debate.settings.as_ref().ok_or_else(|| not_resumable("its settings were not saved"))?;
        let settings = own.over(settings, &self.services.environment);
        own.check(&settings)?;
        let protocol = self.protocol(&settings).ok_or_else(|| not_resumable("its protocol is unknown"))?;
        // No model is called. If another process runs the debate, do not require keys, because perhaps only that
        // process has them.
        let services = self.services.clone();
        let services = if entry.is_held() { services.with_model(Arc::new(HostModel::default())) } else { services };
        let panel = services.panel(protocol, &settings)?;
        let step = protocol.steps(&debate).find(|step| step.key == *key && debate.settled(key).is_none());
        let (step, agent) = step.zip(panel.agent(&key.agent_id)).ok_or(RunnerError::ReplyNotWanted)?;
        let beginnings = beginnings(&debate).map_err(EngineError::from)?;
        let call = prepare(&panel, agent, &beginnings, &debate, &step, usize::MAX).map_err(EngineError::from)?;
        let call = call.to_be_read(&debate);
        // The parse error, if the engine would record the reply but ask again.
        let asks_again = Arc::new(Mutex::new(None));
        let noted = Arc::clone(&asks_again);
        let on_reply: OnReply = Arc::new(move |reply, _| {
            *noted.lock().unwrap_or_else(PoisonError::into_inner) = reply.parse_error;
        });
        let ask = Ask::new(replying(agent.caller.clone(), reply), call.request.clone(), on_reply);
        let read = answer(ask, &call, &panel.judge.settings.id).await;
        if let Some(error) = asks_again.lock().unwrap_or_else(PoisonError::into_inner).take() {
            return Err(RunnerError::ReplyUnusable(error));
        }
        let value = read.map_err(|failed| RunnerError::ReplyUnusable(failed.to_string()))?.value;
        if let Value::Unreadable(error) = value { Err(RunnerError::ReplyUnusable(error.to_string())) } else { Ok(()) }
    }
}

impl Branch {
    /// The first event of the original debate, with the providers of the user's own settings.
    pub fn parent(&self) -> &Created {
        &self.created
    }
}

impl ResumableDebate {
    /// The debate as recorded so far.
    pub fn debate(&self) -> &Debate {
        self.record.debate()
    }

    /// The settings to continue with, including the limit from [`at_most`](Self::at_most).
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Limits the total cost, including what has already been spent. The debate's own limit still applies.
    pub fn at_most(mut self, most: Usd) -> Self {
        let own = &mut self.settings.debate.budget.max_cost_usd;
        *own = Some(own.map_or(most, |own| own.min(most)));
        Self { most: Some(most), ..self }
    }

    /// Warnings about damaged files that were repaired.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }
}
