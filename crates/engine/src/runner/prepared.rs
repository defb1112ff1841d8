//! A debate that is ready to run, and its expected cost.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use rand::RngExt;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::access::{ProviderAccessError, routed_providers};
use crate::agent::Panel;
use crate::engine::{
    BudgetError, Engine, ForecastError, RunCommand, check_problem, check_purchase, check_windows, forecast, purchase,
    telling_rounds,
};
use dialectic_base::figures::counted;
use dialectic_base::money::{BudgetLimit, Usd};
use dialectic_record::debate::{Debate, Gathered, Status, StopReason};
use dialectic_record::event::{Created, Event, FORMAT_VERSION, Recorded, fold};
use dialectic_record::ids::{CallKey, Timestamp};
use dialectic_record::live::{Forecast, PanelInfo, Purchase, Signal, Signals, Span};
use dialectic_record::protocol::Protocol;
use dialectic_record::settings::Settings;
use dialectic_record::store::{Directory, Record, Replica, StoreError};

use super::gather::Collector;
use super::{Branch, Run, Runner, RunnerError, ServicesError, spent_by};

/// Creates a debate about `problem`. The seed comes from the settings; if they have none, it is random.
pub fn new_debate(problem: impl Into<Arc<str>>, protocol: &Protocol, mut settings: Settings) -> Created {
    protocol.name.clone_into(&mut settings.debate.protocol);
    Created {
        format_version: FORMAT_VERSION,
        id: Directory::new_id(),
        problem: problem.into(),
        context: None,
        attachments: [].into(),
        change: None,
        stages: protocol.infos(),
        prompt_sources: None,
        seed: settings.debate.seed.unwrap_or_else(|| rand::rng().random()),
        settings,
        forked_from: None,
    }
}

/// A debate that is ready to start. This run has not saved or spent anything yet.
pub struct Prepared {
    pub(super) protocol: &'static Protocol,
    pub(super) panel: Panel,
    pub(super) collector: Collector,
    pub(super) directory: Directory,
    pub(super) origin: Origin,
    pub(super) copied: Option<Arc<dyn Replica>>,
}

pub(super) enum Origin {
    /// `taken_over` are the events that a fork keeps; empty for a new debate.
    New { created: Box<Created>, taken_over: Vec<Event> },
    /// `most` limits the total cost, in addition to the debate's own limit.
    Saved { record: Box<Record>, past: Vec<Recorded>, most: Option<Usd> },
}

/// Builds the debate from its first event and the events that a fork keeps. Returns the debate and its number of
/// events.
pub(super) fn begun(created: &Created, taken_over: &[Event]) -> Result<(Debate, u64), RunnerError> {
    let events = std::iter::once(Event::Created(Box::new(created.clone()))).chain(taken_over.iter().cloned());
    let at = Timestamp::now();
    let events: Vec<Recorded> = (1..).zip(events).map(|(seq, event)| Recorded { seq, at, event }).collect();
    let debate = fold(&events).map_err(|error| RunnerError::Fork { id: created.id.clone(), reason: error.into() })?;
    Ok((debate, events.len() as u64))
}

/// A recorded debate that is ready to start.
pub struct Ready {
    protocol: &'static Protocol,
    panel: Panel,
    collector: Collector,
    record: Record,
    past: Vec<Recorded>,
    /// The first event, if this run recorded it.
    begun: Option<Arc<Recorded>>,
    signals: Signals,
    /// A limit on the total cost, in addition to the debate's own.
    most: Option<Usd>,
    /// Whether the run ends the debate early with an answer from its current texts.
    pub closes: bool,
    /// Whether to keep the record even if the debate fails before it reaches a model, for callers that know the debate
    /// only by its record.
    pub is_kept: bool,
    /// Whether the run waits for unreachable servers instead of pausing.
    pub waits_for_servers: bool,
}

impl Prepared {
    /// The agents and the judge.
    pub fn panel(&self) -> &Panel {
        &self.panel
    }

    /// The first event; `None` for a saved debate.
    pub fn created(&self) -> Option<&Created> {
        match &self.origin {
            Origin::New { created, .. } => Some(created),
            Origin::Saved { .. } => None,
        }
    }

    /// Checks that the cost and call limits cover one round and the answer. For a saved debate, checks only a new limit,
    /// of which the debate may already have spent a part.
    ///
    /// # Errors
    ///
    /// Returns an error if a limit is too low, or the dry run fails.
    pub fn check_limit(&self) -> Result<(), RunnerError> {
        let created = match &self.origin {
            Origin::New { created, .. } => created,
            Origin::Saved { record, .. } => return self.check_new_limit(record),
        };
        if created.settings.max_cost().is_none() && created.settings.max_calls().is_none() {
            return Ok(());
        }
        let (debate, _) = self.debate()?;
        let foreseen = || self.collector.foreseen(self.protocol, &created.settings, &debate.problem);
        let debate = if debate.gathered.is_none() { debate.starting_from(&foreseen().high) } else { debate };
        if let Some(purchase) = purchase(self.protocol, &self.panel, &debate)? {
            check_purchase(&purchase).map_err(ServicesError::from)?;
        }
        Ok(())
    }

    fn check_new_limit(&self, record: &Record) -> Result<(), RunnerError> {
        let limit = record.new_limit;
        let mut debate = record.debate().clone();
        let (cost, calls) = (spent_by(&record.entry()), debate.total_usage().requests);
        let Some(settings) = debate.settings.as_mut().filter(|_| limit != BudgetLimit::default()) else {
            return Ok(());
        };
        settings.debate.budget.max_cost_usd = limit.usd.map(|usd| usd.saturating_sub(cost));
        let made = u32::try_from(calls).unwrap_or(u32::MAX);
        settings.debate.budget.max_calls = limit.calls.map(|calls| calls.saturating_sub(made));
        let resumed = Event::Resumed(BudgetLimit::default());
        // A debate that cannot continue fails later, with an error of its own.
        let _ = debate.apply(&Recorded { seq: record.events() + 1, at: Timestamp::now(), event: resumed });
        let purchase = purchase(self.protocol, &self.panel, &debate)?;
        let Some(purchase) = purchase.filter(|purchase| check_purchase(purchase).is_err()) else { return Ok(()) };
        let cost = limit.usd.map(|_| format!("{cost} spent or reserved"));
        let calls = limit.calls.map(|_| format!("{} made", counted(calls, "call")));
        let spent = cost.into_iter().chain(calls).collect::<Vec<_>>().join(" and ");
        let purchase = Box::new(Purchase { limit, ..purchase });
        Err(ServicesError::from(BudgetError::TooLowToGoOn { purchase, spent }).into())
    }

    /// Estimates the remaining calls and their cost by a dry run; `None` if the debate's settings are unknown.
    ///
    /// # Errors
    ///
    /// Returns an error if the dry run fails.
    pub fn forecast(&self) -> Result<Option<Forecast>, RunnerError> {
        let (debate, events) = self.debate()?;
        let foreseen = to_come(self.protocol, &self.panel.routed, &self.collector, debate, events);
        Ok(foreseen.map(|forecast| forecast()).transpose()?)
    }

    /// How much of the cost limit is left; `None` if there is no limit. Earlier calls of unknown cost count as zero.
    ///
    /// # Errors
    ///
    /// Returns an error if the kept events of a fork cannot be applied.
    pub fn left(&self) -> Result<Option<Usd>, RunnerError> {
        let (debate, _) = self.debate()?;
        let most = match &self.origin {
            Origin::New { .. } => None,
            Origin::Saved { most, .. } => *most,
        };
        let own = debate.settings.as_ref().and_then(Settings::max_cost);
        let limit = most.into_iter().chain(own).min();
        Ok(limit.map(|limit| limit.saturating_sub(debate.total_cost().unwrap_or_default())))
    }

    /// The debate before this run, and its number of events.
    fn debate(&self) -> Result<(Debate, u64), RunnerError> {
        match &self.origin {
            Origin::Saved { record, .. } => Ok((record.debate().clone(), record.events())),
            Origin::New { created, taken_over, .. } => begun(created, taken_over),
        }
    }

    /// Copies the journal to `replica`, which must already have all events of a saved debate.
    pub fn copied_to(self, replica: Arc<dyn Replica>) -> Self {
        Self { copied: Some(replica), ..self }
    }

    /// Creates the record of a new debate, or uses the record of a saved debate.
    ///
    /// # Errors
    ///
    /// Returns an error if the debate cannot be saved. Nothing is kept in that case.
    pub fn begin(self) -> Result<Ready, StoreError> {
        let Self { protocol, panel, collector, directory, origin, copied } = self;
        let (record, past, begun, most) = match origin {
            Origin::Saved { mut record, past, most } => {
                if let Some(replica) = copied {
                    record.replica = Some(replica);
                }
                (*record, past, None, most)
            }
            Origin::New { created, taken_over } => {
                let (mut record, begun) = Record::begin(&directory, created, copied)?;
                let copied = taken_over.into_iter().map(|event| Ok(record.append(event)?.as_ref().clone()));
                match copied.collect::<Result<Vec<Recorded>, StoreError>>() {
                    Ok(past) => (record, past, Some(begun), None),
                    Err(error) => {
                        // Discard an incomplete fork: resuming it would pay for the missing part again.
                        record.discard();
                        return Err(error);
                    }
                }
            }
        };
        let debate = record.debate();
        let shown = PanelInfo::new(debate.known_settings(), Arc::clone(&debate.stages));
        let before = if begun.is_some() { 0 } else { record.events() };
        let signals = Signals::behind(shown.resuming(debate), before);
        Ok(Ready {
            protocol,
            panel,
            collector,
            record,
            past,
            begun,
            signals,
            most,
            closes: false,
            is_kept: false,
            waits_for_servers: false,
        })
    }
}

impl Ready {
    /// The debate as recorded so far.
    pub fn debate(&self) -> &Debate {
        self.record.debate()
    }

    /// The path of the debate's state file.
    pub fn state_path(&self) -> &Path {
        self.record.state_path()
    }

    /// The path of the debate's journal.
    pub fn journal_path(&self) -> &Path {
        self.record.journal_path()
    }

    /// The number of events in the journal before this run.
    pub fn events_before(&self) -> u64 {
        if self.begun.is_some() { 0 } else { self.record.events() }
    }

    /// Returns a function that estimates the remaining calls and their cost by a dry run, or `None` if the debate's
    /// settings are unknown. The dry run takes a moment, so call the function on another thread.
    pub fn forecast(&self) -> Option<impl FnOnce() -> Result<Forecast, ForecastError> + Send + use<>> {
        to_come(self.protocol, &self.panel.routed, &self.collector, self.debate().clone(), self.record.events())
    }

    /// The signals that the run will send.
    pub fn signals(&self) -> &Signals {
        &self.signals
    }

    /// Starts the debate on the current runtime.
    ///
    /// # Panics
    ///
    /// Panics if there is no current Tokio runtime.
    pub fn run(self) -> Run {
        let Self { protocol, panel, collector, record, past, begun, signals, most, .. } = self;
        let Self { closes, is_kept, waits_for_servers, .. } = self;
        let is_begun = begun.is_some();
        if let Some(begun) = begun {
            signals.publish(Signal::Recorded(begun));
        }
        let (commands, heard) = mpsc::unbounded_channel();
        if closes {
            // The receiver still exists, so this cannot fail.
            drop(commands.send(RunCommand::Stop(StopReason::User)));
        }
        let cancel = CancellationToken::new();
        let (id, journal) = (record.debate().id.clone(), record.journal_path().to_owned());
        // Keep a failed fork: it contains results that another debate paid for.
        let is_new = is_begun && past.is_empty() && !is_kept;
        let mut engine = Engine::new(protocol, panel, record, &past, signals.clone(), cancel.clone(), heard)
            .gathering(collector.into_gather())
            .waiting_for_servers(waits_for_servers);
        if let Some(most) = most {
            engine = engine.at_most(most, &past);
        }
        Run::spawn(engine, id, journal, signals, commands, cancel, is_new)
    }
}

/// Returns a function that forecasts the remaining calls, or `None` if the debate's settings are unknown or the debate
/// cannot be resumed. `events` is the number of recorded events.
pub(super) fn to_come(
    protocol: &'static Protocol,
    routed: &BTreeSet<String>,
    collector: &Collector,
    mut debate: Debate,
    events: u64,
) -> Option<impl FnOnce() -> Result<Forecast, ForecastError> + Send + use<>> {
    let (routed, collector) = (routed.clone(), collector.clone());
    if debate.status != Status::Pending {
        // Resuming repeats failed calls.
        let resumed = Recorded { seq: events + 1, at: Timestamp::now(), event: Event::Resumed(BudgetLimit::default()) };
        debate.apply(&resumed).ok()?;
    }
    let settings = debate.settings.clone()?;
    Some(move || {
        let created = Created {
            format_version: FORMAT_VERSION,
            id: debate.id.clone(),
            problem: Arc::clone(&debate.problem),
            context: debate.context.clone(),
            attachments: Arc::clone(&debate.attachments),
            change: debate.change.clone(),
            settings,
            stages: Arc::clone(&debate.stages),
            prompt_sources: None,
            seed: debate.seed.unwrap_or_default(),
            forked_from: None,
        };
        let gathered = match &debate.gathered {
            Some(gathered) => Span { low: gathered.clone(), high: gathered.clone() },
            None => collector.foreseen(protocol, &created.settings, &debate.problem),
        };
        let mut forecast = forecast(protocol, &created, &routed, &gathered)?;
        let may_still_be_made = |key: &CallKey| key.round > 0 || debate.current_round == 0;
        forecast.calls.retain(|call| debate.settled(&call.key).is_none() && may_still_be_made(&call.key));
        Ok(forecast)
    })
}

impl Runner {
    /// Prepares a new debate, without saving or spending anything. Use [`Prepared::check_limit`] to check the limits.
    ///
    /// # Errors
    ///
    /// Returns an error if the debate cannot run with these settings.
    pub fn prepare(&self, created: Created) -> Result<Prepared, RunnerError> {
        let protocol = self.check_protocol(&created)?;
        self.prepare_from(protocol, created, Vec::new())
    }

    /// `taken_over` are the events that a fork keeps; empty for a new debate.
    pub(super) fn prepare_from(
        &self,
        protocol: &'static Protocol,
        created: Created,
        taken_over: Vec<Event>,
    ) -> Result<Prepared, RunnerError> {
        let panel = self.services.panel(protocol, &created.settings)?;
        let created = Box::new(Created { prompt_sources: Some(panel.sources.clone()), ..created });
        Ok(self.prepared(protocol, panel, Origin::New { created, taken_over }))
    }

    pub(super) fn prepared(&self, protocol: &'static Protocol, panel: Panel, origin: Origin) -> Prepared {
        let collector = self.collector(panel.withheld.clone(), panel.keys.clone());
        Prepared { protocol, panel, collector, directory: self.directory.clone(), origin, copied: None }
    }

    /// Estimates the calls of a debate and their cost, without calling a model or needing a key. Looks up past debates,
    /// but runs no commands.
    ///
    /// # Errors
    ///
    /// Returns an error if the protocol is unknown, a prompt cannot be rendered, or a role cannot be used.
    pub fn forecast(&self, created: &Created) -> Result<Forecast, RunnerError> {
        let protocol = self.protocol_of(created)?;
        let gathered = self.foreseen(protocol, created);
        let routed = routed_providers(&created.settings, &self.services.environment);
        Ok(forecast(protocol, &repeatable(created), &routed, &gathered)?)
    }

    /// Checks that the programs used as providers can be called, without calling a model. Returns warnings.
    ///
    /// # Errors
    ///
    /// Returns an error if one of the programs cannot be called.
    pub fn check_programs(&self, created: &Created) -> Result<Vec<String>, ProviderAccessError> {
        self.services.program_warnings(&created.settings)
    }

    /// Estimates the remaining calls of a saved debate by a dry run. `None` if the debate is over, if its settings or
    /// protocol are unknown, or if the dry run fails.
    pub fn forecast_rest(&self, debate: &Debate) -> Option<Forecast> {
        if matches!(debate.status, Status::Completed | Status::Failed) {
            return None;
        }
        let settings = debate.settings.as_ref()?;
        let protocol = self.protocol(settings)?;
        let collector = self.collector(self.services.withheld(), self.services.keys(settings));
        let routed = routed_providers(settings, &self.services.environment);
        to_come(protocol, &routed, &collector, debate.clone(), 0)?().ok()
    }

    /// Estimates the calls of a fork with `settings`, without calling a model or needing a key.
    ///
    /// # Errors
    ///
    /// Returns an error if the settings do not fit the protocol or the kept events, or the dry run fails.
    pub fn forecast_fork(&self, branch: Branch, settings: Settings) -> Result<Option<Forecast>, RunnerError> {
        let (protocol, created, taken_over) = self.branched(branch, settings)?;
        let (debate, events) = begun(&created, &taken_over)?;
        let collector = self.collector(self.services.withheld(), self.services.keys(&created.settings));
        let routed = routed_providers(&created.settings, &self.services.environment);
        let forecast = to_come(protocol, &routed, &collector, debate, events);
        Ok(forecast.map(|forecast| forecast()).transpose()?)
    }

    /// Checks that the problem fits into the models' context windows. If it is unclear whether the prompts fit, checks
    /// them by a dry run. Returns a warning for each model that probably cannot read its whole prompt.
    ///
    /// # Errors
    ///
    /// Returns an error if the protocol is unknown, the problem or a prompt does not fit, or a prompt cannot be
    /// rendered.
    pub fn check_prompts(&self, created: &Created) -> Result<Vec<String>, RunnerError> {
        let (protocol, settings) = (self.protocol_of(created)?, &created.settings);
        check_problem(&created.problem, settings)?;
        let gathered = self.foreseen(protocol, created);
        let attached: usize = created.attachments.iter().map(|one| one.text.len()).sum();
        let given = created.problem.len() + attached + gathered.high.bytes();
        let Some(rounds) = telling_rounds(settings, given) else { return Ok(Vec::new()) };
        let mut shortened = repeatable(created);
        shortened.settings.debate.rounds = rounds;
        let forecast = forecast(protocol, &shortened, &BTreeSet::new(), &gathered)?;
        Ok(check_windows(&forecast.calls, settings)?)
    }

    fn foreseen(&self, protocol: &Protocol, created: &Created) -> Span<Gathered> {
        let (withheld, keys) = (self.services.withheld(), self.services.keys(&created.settings));
        self.collector(withheld, keys).foreseen(protocol, &created.settings, &created.problem)
    }
}

/// Replaces a random seed, so that repeated forecasts agree.
fn repeatable(created: &Created) -> Created {
    Created { seed: created.settings.debate.seed.unwrap_or_default(), ..created.clone() }
}
