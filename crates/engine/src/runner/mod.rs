//! The one door to a debate: start, resume or fork it, and get a handle to the run.
//!
//! A [`Runner`] keeps debates in a directory and builds what they need from its [`Services`]. What it is asked for
//! comes back as a [`Prepared`] debate, which has cost nothing yet: keys, prices, prompts and the cost limit are
//! checked. It becomes a [`Run`] that goes on by itself, on the runtime that it was started on, until it ends or waits
//! for answers; any number of consumers watch it without holding it up. `examples/embed.rs` runs a debate in a few
//! lines.
//!
//! This module prints nothing and asks nobody. The command line is one of its clients.

mod after;
mod attachments;
mod follow_up;
mod foreseen;
mod gather;
mod models;
mod past;
mod prepared;
mod remembered;
mod run;
mod services;
mod spending;

use std::path::PathBuf;
use std::sync::Arc;

use rand::RngExt;

use crate::access::{Trust, elsewhere};
use crate::engine::{EngineError, ForecastError, WindowError};
use dialectic_base::diagnostic::{Diagnostic, ErrorCategory, Remedy};
use dialectic_base::money::Usd;
use dialectic_base::secrets::KnownKeys;
use dialectic_record::debate::{
    Attachment, ChangeSet, Created, Debate, DebateId, Event, FORMAT_VERSION, FoldError, ForkError, ForkPoint,
    ForkedFrom, Settings, Status, check_taken_over, fork, proposals_for,
};
use dialectic_record::protocol::{Protocol, Unfit};
use dialectic_record::store::{Directory, Entry, JournalContents, Record, StoreError, read_journal, read_state};

pub use after::{After, HOOK_LIMIT, Hooks};
pub use attachments::{AttachmentError, Attachments};
pub use follow_up::PreparedQuestion;
pub use past::DebateHistory;
pub use prepared::{Prepared, Ready};
pub use remembered::remembered_prices;
pub use run::{Controls, Failed, Finished, Run};
pub use services::{Services, ServicesError};
pub use spending::{SpendingError, SpendingLock, remove, spent_by, spent_today};

pub use models::Models;

use gather::Collector;
use prepared::Origin;
use remembered::PricesToRemember;

/// Starts debates.
#[derive(Clone)]
pub struct Runner {
    directory: Directory,
    services: Services,
}

/// The problem and the rules of a new debate.
#[derive(Debug, Clone)]
pub struct Spec {
    /// The problem, word for word.
    pub problem: Arc<str>,
    /// What the user adds to it.
    pub context: Option<String>,
    /// Files that everybody is shown with it.
    pub attachments: Arc<[Attachment]>,
    /// The change that is reviewed.
    pub change: Option<Arc<ChangeSet>>,
    /// The protocol, whatever the settings name.
    pub protocol: &'static Protocol,
    /// The settings.
    pub settings: Settings,
    /// The seed of every shuffle; falls back to the settings' seed, then to a random one.
    pub seed: Option<u32>,
    /// Whose word the settings are.
    pub provenance: Trust,
}

impl Spec {
    /// A problem to be debated with the user's own settings.
    pub fn new(problem: impl Into<Arc<str>>, protocol: &'static Protocol, settings: Settings) -> Self {
        let (problem, provenance) = (problem.into(), Trust::of_user());
        Self {
            problem,
            context: None,
            attachments: [].into(),
            change: None,
            protocol,
            settings,
            seed: None,
            provenance,
        }
    }
}

/// A saved debate that can be taken up.
pub struct ResumableDebate {
    entry: Entry,
    record: Record,
    contents: JournalContents,
    protocol: &'static Protocol,
    settings: Settings,
    /// What it may cost in all; replaces its own limit.
    most: Option<Usd>,
    warnings: Vec<String>,
}

/// A place in a saved debate at which another one begins.
pub struct Branch {
    entry: Entry,
    created: Created,
    taken_over: Vec<Event>,
    at: ForkPoint,
}

/// Why a debate cannot be run.
#[derive(Debug, thiserror::Error)]
pub enum RunnerError {
    /// Somebody cannot be called.
    #[error(transparent)]
    Services(#[from] ServicesError),
    /// The settings do not fit the protocol.
    #[error(transparent)]
    Unfit(#[from] Unfit),
    /// It cannot be saved or loaded.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// What it would take cannot be said.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// What it would take cannot be worked out.
    #[error(transparent)]
    Forecast(#[from] ForecastError),
    /// A prompt cannot fit into what its model reads.
    #[error(transparent)]
    Window(#[from] WindowError),
    /// It cannot branch off another one as asked.
    #[error("cannot fork {id}: {reason}")]
    Fork {
        /// The other debate.
        id: DebateId,
        /// Why.
        reason: ForkError,
    },
    /// A saved debate is finished.
    #[error("the debate {id} is finished")]
    IsFinished {
        /// The debate.
        id: DebateId,
        /// What was found wrong with its files and is mended.
        warnings: Vec<String>,
    },
    /// Nothing can be asked about a saved debate.
    #[error("nothing can be asked about the debate {id}: {reason}")]
    NotAnswerable {
        /// The debate.
        id: DebateId,
        /// Why.
        reason: &'static str,
    },
    /// A saved debate cannot be taken up.
    #[error("the debate {id} cannot be resumed: {reason}")]
    NotResumable {
        /// The debate.
        id: DebateId,
        /// Why.
        reason: &'static str,
    },
}

impl Diagnostic for RunnerError {
    fn blame(&self) -> ErrorCategory {
        match self {
            Self::Services(error) => error.blame(),
            Self::Unfit(error) => error.blame(),
            Self::Store(error) => error.blame(),
            Self::Engine(error) => error.blame(),
            Self::Forecast(error) => error.blame(),
            Self::Window(error) => error.blame(),
            Self::Fork { .. } | Self::IsFinished { .. } | Self::NotAnswerable { .. } | Self::NotResumable { .. } => {
                ErrorCategory::Arguments
            }
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Services(error) => error.hint(),
            Self::Unfit(error) => error.hint(),
            Self::Store(error) => error.hint(),
            Self::Engine(error) => error.hint(),
            Self::Forecast(error) => error.hint(),
            Self::Window(error) => error.hint(),
            Self::NotAnswerable { .. } => Some("finish it first".to_owned()),
            Self::Fork { .. } | Self::IsFinished { .. } | Self::NotResumable { .. } => None,
        }
    }

    fn remedy(&self) -> Option<Remedy> {
        match self {
            Self::Services(error) => error.remedy(),
            Self::Unfit(error) => error.remedy(),
            Self::Store(error) => error.remedy(),
            Self::Engine(error) => error.remedy(),
            Self::Forecast(error) => error.remedy(),
            Self::Window(error) => error.remedy(),
            Self::NotAnswerable { id, .. } => Some(Remedy::Resume(id.to_string())),
            Self::Fork { .. } | Self::IsFinished { .. } | Self::NotResumable { .. } => None,
        }
    }
}

impl Runner {
    /// Keeps debates in `directory`.
    pub fn new(directory: Directory, services: Services) -> Self {
        Self { directory, services }
    }

    /// Makes a new debate ready. Nothing is saved or paid for.
    ///
    /// # Errors
    /// When it cannot be run as it is set.
    pub fn prepare(&self, spec: Spec) -> Result<Prepared, RunnerError> {
        let Spec { problem, context, attachments, change, protocol, mut settings, seed, provenance } = spec;
        protocol.name.clone_into(&mut settings.debate.protocol);
        (protocol.check)(&settings)?;
        provenance.set_terms(&mut settings, &self.services.environment);
        let panel = self.services.panel(protocol, &settings, &provenance)?;
        let prices = PricesToRemember::of(&provenance, &settings, &self.services.environment);
        let created = Created {
            format_version: FORMAT_VERSION,
            id: Directory::new_id(),
            problem,
            context,
            attachments,
            change,
            seed: seed.or(settings.debate.seed).unwrap_or_else(|| rand::rng().random()),
            stages: protocol.infos(),
            prompt_sources: panel.sources.clone(),
            settings,
            forked_from: None,
        };
        let collector = self.collector(panel.withheld.clone(), panel.keys.clone(), &provenance);
        let origin = Origin::New { created: Box::new(created), taken_over: Vec::new(), prices };
        Ok(Prepared { protocol, panel, collector, directory: self.directory.clone(), origin })
    }

    /// What collects what a debate starts from. `withheld` is a file that is never shown, and `keys` are variables
    /// whose values are never shown.
    fn collector(&self, withheld: Option<PathBuf>, keys: KnownKeys, provenance: &Trust) -> Collector {
        Collector { past: self.services.past.clone(), provenance: provenance.clone(), withheld, keys }
    }

    /// Starts a new debate, on the runtime that this is called on.
    ///
    /// # Errors
    /// When it cannot be run as it is set, or not be saved.
    pub fn start(&self, spec: Spec) -> Result<Run, RunnerError> {
        let prepared = self.prepare(spec)?;
        prepared.check_limit()?;
        Ok(prepared.begin()?.run())
    }

    /// Opens a saved debate that is not finished. `protocols` are known in addition to the built-in ones.
    ///
    /// # Errors
    /// When it is finished, runs elsewhere, is damaged, or its protocol is unknown.
    pub fn open(&self, entry: &Entry, protocols: &[&'static Protocol]) -> Result<ResumableDebate, RunnerError> {
        if entry.journal.is_none() {
            let debate = read_state(&entry.state).map_err(StoreError::from)?;
            return Err(match entry.journal_gone() {
                _ if debate.status == Status::Completed => {
                    RunnerError::IsFinished { id: debate.id, warnings: Vec::new() }
                }
                Some(path) => StoreError::JournalGone { id: debate.id, path }.into(),
                None => {
                    let reason = "it has no journal (older versions kept none)";
                    RunnerError::NotResumable { id: debate.id, reason }
                }
            });
        }
        let (record, contents) = Record::reopen(entry)?;
        let mut warnings = Vec::new();
        if contents.cut_short {
            warnings.push("a crash cut the last line of the journal short; it is dropped".to_owned());
        }
        let state = read_state(&entry.state);
        if let Some(unreadable) = state.as_ref().err().filter(|error| !error.is_missing()) {
            warnings.push(format!("{unreadable}; it is rewritten from the journal"));
        }
        let debate = record.debate();
        if debate.status == Status::Completed {
            // A kill after the last event leaves a state file that does not know of it.
            if !state.is_ok_and(|state| state.is_same_state(debate)) {
                record.write_state()?;
            }
            return Err(RunnerError::IsFinished { id: debate.id.clone(), warnings });
        }
        let not_resumable = |reason| RunnerError::NotResumable { id: debate.id.clone(), reason };
        let mut settings = debate.settings.clone().ok_or_else(|| not_resumable("its settings are not saved"))?;
        settings.elsewhere = elsewhere(&settings, &self.services.environment);
        let protocol = known(&settings, protocols).ok_or_else(|| not_resumable("its protocol is unknown"))?;
        Ok(ResumableDebate { entry: entry.clone(), record, contents, protocol, settings, most: None, warnings })
    }

    /// Makes a saved debate ready to go on.
    ///
    /// # Errors
    /// When somebody cannot be called.
    pub fn resume(&self, saved: ResumableDebate, provenance: &Trust) -> Result<Prepared, RunnerError> {
        let ResumableDebate { mut record, contents, protocol, mut settings, most, .. } = saved;
        provenance.set_terms(&mut settings, &self.services.environment);
        record.set_terms(&settings);
        let panel = self.services.panel(protocol, &settings, provenance)?;
        let collector = self.collector(panel.withheld.clone(), panel.keys.clone(), provenance);
        let origin = Origin::Saved { record: Box::new(record), past: contents.events, most };
        Ok(Prepared { protocol, panel, collector, directory: self.directory.clone(), origin })
    }

    /// Looks up where a debate can branch off. A debate that runs can, too; nothing is written to it.
    ///
    /// # Errors
    /// When it has no journal, or never came there.
    pub fn branch(&self, entry: &Entry, at: &ForkPoint) -> Result<Branch, RunnerError> {
        let refused = |reason| RunnerError::Fork { id: DebateId::new(entry.id()), reason };
        let parent = read_journal(entry.journal_path()?).map_err(StoreError::from)?.events;
        if let Some(Event::Imported { state }) = parent.first().map(|recorded| &recorded.event) {
            return Err(StoreError::NoJournal { id: state.id.clone() }.into());
        }
        let Some(Event::Created(created)) = parent.first().map(|recorded| &recorded.event) else {
            return Err(refused(FoldError::Empty.into()));
        };
        let taken_over = fork(&parent, at).map_err(refused)?;
        Ok(Branch { entry: entry.clone(), created: created.as_ref().clone(), taken_over, at: at.clone() })
    }

    /// Makes a branch ready to run with `settings`. `protocols` are known in addition to the built-in ones.
    ///
    /// # Errors
    /// When somebody whose work is taken over has no place in the settings, or somebody cannot be called.
    pub fn fork(
        &self,
        branch: Branch,
        mut settings: Settings,
        provenance: &Trust,
        protocols: &[&'static Protocol],
    ) -> Result<Prepared, RunnerError> {
        let Branch { created, mut taken_over, at, .. } = branch;
        let refused = |reason| RunnerError::Fork { id: created.id.clone(), reason };
        let unknown = || RunnerError::NotResumable { id: created.id.clone(), reason: "its protocol is unknown" };
        let protocol = known(&settings, protocols).ok_or_else(unknown)?;
        if settings.debate.protocol != created.settings.debate.protocol && !at.is_start() {
            taken_over =
                proposals_for(&taken_over, &protocol.infos()).ok_or_else(|| refused(ForkError::OtherProtocol))?;
        }
        check_taken_over(&taken_over, &created.settings, &settings).map_err(refused)?;
        (protocol.check)(&settings)?;
        provenance.set_terms(&mut settings, &self.services.environment);
        settings.debate.budget.max_cost_usd = settings.max_cost();
        settings.debate.budget.max_calls = settings.max_calls();
        settings.debate.budget.max_calls_per_day = settings.max_calls_per_day();
        let panel = self.services.panel(protocol, &settings, provenance)?;
        let prices = PricesToRemember::of(provenance, &settings, &self.services.environment);
        let new = Created {
            format_version: FORMAT_VERSION,
            seed: settings.debate.seed.unwrap_or(created.seed),
            stages: protocol.infos(),
            prompt_sources: panel.sources.clone(),
            forked_from: Some(ForkedFrom { id: created.id.clone(), at }),
            settings,
            ..created
        };
        let collector = self.collector(panel.withheld.clone(), panel.keys.clone(), provenance);
        let origin = Origin::New { created: Box::new(new), taken_over, prices };
        let prepared = Prepared { protocol, panel, collector, directory: self.directory.clone(), origin };
        prepared.check_limit()?;
        Ok(prepared)
    }
}

impl ResumableDebate {
    /// The debate as it stands.
    pub fn debate(&self) -> &Debate {
        self.record.debate()
    }

    /// Its settings.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Has it cost so much in all at most when it goes on, also where its own limit is higher or it has none.
    pub fn at_most(mut self, most: Usd) -> Self {
        let own = &mut self.settings.debate.budget.max_cost_usd;
        *own = Some(own.map_or(most, |own| own.min(most)));
        Self { most: Some(most), ..self }
    }

    /// What was found wrong with its files and could be mended.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// What it may do by its own word.
    pub fn provenance(&self) -> Trust {
        let journal = self.entry.journal.as_deref().unwrap_or(&self.entry.state);
        Trust::of_record(journal, self.debate().prompt_sources.as_ref())
    }
}

impl Branch {
    /// The settings and problem of the debate that is forked.
    pub fn parent(&self) -> &Created {
        &self.created
    }

    /// What the branch may do by the record's own word.
    pub fn provenance(&self) -> Trust {
        let journal = self.entry.journal.as_deref().unwrap_or(&self.entry.state);
        Trust::of_record(journal, Some(&self.created.prompt_sources))
    }
}

/// The protocol that the settings name.
fn known(settings: &Settings, protocols: &[&'static Protocol]) -> Option<&'static Protocol> {
    let name = &settings.debate.protocol;
    protocols.iter().copied().find(|protocol| protocol.name == name).or_else(|| Protocol::named(name))
}
