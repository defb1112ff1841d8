//! Runs a debate under its protocol: starts the calls that are ready, records their results, and asks the protocol what
//! comes next.
//!
//! The engine alone owns the record. Every event goes to the journal first, then to the state, then to the watchers.
//! The engine must not know stages by name: the [protocol](dialectic_record::protocol) decides about calls, their
//! inputs and the next stage.

mod budget;
mod calls;
mod commands;
mod follow_up;
mod forecast;
mod host;
mod outage;
mod rehearsal;
mod results;
mod run_loop;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use foldhash::{HashMap, HashMapExt, HashSet, HashSetExt};
use futures_util::future::BoxFuture;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::agent::{Agent, PaidReply, Panel};
use crate::tools::ToolContext;
use dialectic_base::call::CallRecord;
use dialectic_base::money::Usd;
use dialectic_llm::IdleTimeout;
use dialectic_record::debate::{AgentClarifications, Debate, Gathered, Status};
use dialectic_record::event::{Event, Recorded};
use dialectic_record::ids::{AgentId, CallKey, CallStatus, StageId};
use dialectic_record::live::{RoundInProgress, Signal, Signals};
use dialectic_record::points::Ledger;
use dialectic_record::prompt::PromptError;
use dialectic_record::protocol::{NoTransition, Protocol, Step};
use dialectic_record::store::{Record, StoreError};

pub use budget::{Books, BudgetError, check_prices, check_purchase, known_cost, purchase};
pub use commands::{RunCommand, UserReply};
pub use follow_up::FollowUpError;
pub(crate) use follow_up::forecast_follow_up;
pub use forecast::{
    ForecastError, WindowError, check_problem, check_windows, forecast, planned_json_calls, room_for_change,
    telling_rounds,
};
pub(crate) use host::replying;

use budget::Budget;
use calls::Calls;
use host::Host;
use outage::Outage;
use run_loop::{check_before_closing, has_something_to_check};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunEnding {
    Completed,
    Suspended,
    /// The debate was paused or interrupted; it can be resumed.
    Paused,
    /// The host must answer requests first; the debate is saved as paused.
    HostAsked,
    /// A required server is unreachable. The debate is saved as paused and can be resumed.
    ServerGone,
    /// A subscription's limit was reached. The debate is saved as paused and can be resumed later.
    LimitReached,
    /// The debate ended without an answer; it can be resumed.
    Failed,
}

/// An error that ends a run. The debate is saved up to its last event.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    #[error("cannot save the debate")]
    Store(#[from] StoreError),
    #[error("cannot render a prompt")]
    Prompt(#[from] PromptError),
    #[error("cannot open the context directory {path}")]
    ContextDir { path: PathBuf, source: std::io::Error },
    #[error(transparent)]
    Protocol(#[from] NoTransition),
    #[error("the protocol calls the unknown agent {0}")]
    UnknownAgent(AgentId),
}

pub type Gather = Box<dyn Fn(&Debate) -> BoxFuture<'static, Gathered> + Send + Sync>;

pub struct Engine {
    protocol: &'static Protocol,
    panel: Panel,
    gather: Option<Gather>,
    record: Record,
    signals: Signals,
    cancel: CancellationToken,
    commands: mpsc::UnboundedReceiver<RunCommand>,
    /// Recorded replies to calls without a result, oldest first, so that they are not paid for twice.
    past: HashMap<CallKey, Vec<PaidReply>>,
    calls: Calls,
    outage: Outage,
    host: Host,
    /// Wanted calls without a result, in order, each with the stage that requests it. The call's own stage may be a
    /// different one.
    open: Vec<(StageId, Step)>,
    /// Stages whose start was signalled but not their end, by round and position in the protocol.
    announced: BTreeMap<(u32, usize), Announced>,
    /// Calls that were skipped because the limit leaves no room for them.
    refused: HashSet<CallKey>,
    /// Why a call has no result: the limit is too low, or the call failed. Becomes part of the error if there is no
    /// answer.
    refusal: Option<String>,
    /// How many characters of the debate's texts each call may show. Contains only calls whose texts must be shortened
    /// to fit the context window.
    rooms: HashMap<CallKey, usize>,
    /// The idle limit for the calls of the current round; `None` until a stage of the round runs.
    silence: Option<Arc<IdleTimeout>>,
    beginnings: Option<Arc<[Arc<str>]>>,
    /// The number of a round and its tool context, which is `None` if no agent has tools or the reviewed repository is
    /// gone.
    tools: Option<(u32, Option<ToolContext>)>,
    budget: Option<Budget>,
    known_cost: Usd,
    is_pausing: bool,
    /// Whether a pause keeps the run ready to continue rather than ending the run.
    is_held: bool,
    /// Whether a stop request waits until the debate has a text to base an answer on.
    is_to_stop: bool,
    may_be_billed: Arc<AtomicBool>,
    round: RoundInProgress,
    /// For each configured model, the name that the server reported before this run. Entries are removed after the
    /// comparison.
    served: HashMap<(String, String), String>,
}

struct Announced {
    stage: StageId,
    /// Returns the steps of the stage that requests the calls, which may differ from `stage`.
    steps: fn(&Debate) -> Vec<Step>,
    /// The first pass of this visit. Earlier passes belong to an earlier visit.
    first_pass: u8,
}

impl Engine {
    /// `past` are the events before this run. `cancel` ends the run immediately.
    pub fn new(
        protocol: &'static Protocol,
        panel: Panel,
        record: Record,
        past: &[Recorded],
        signals: Signals,
        cancel: CancellationToken,
        commands: mpsc::UnboundedReceiver<RunCommand>,
    ) -> Self {
        let mut replies: HashMap<CallKey, Vec<PaidReply>> = HashMap::new();
        let mut served = HashMap::new();
        for recorded in past {
            if let Some(call) = recorded.event.call()
                && let Some(model) = &call.served_model
            {
                served.insert((call.provider.clone(), call.model.clone()), model.clone());
            }
            if let Event::Replied { key, reply, call } = &recorded.event {
                replies.entry(key.clone()).or_default().push((reply.clone(), call.clone()));
            }
        }
        let settings = record.debate().settings.as_ref();
        let budget = settings.and_then(|settings| Budget::of(settings, &panel.routed, past));
        let known_cost = known_cost(past);
        let round = RoundInProgress::of(past, &record.debate().stages);
        Self {
            protocol,
            panel,
            gather: None,
            record,
            signals,
            cancel,
            commands,
            past: replies,
            calls: Calls::new(),
            outage: Outage::of(past),
            host: Host::default(),
            open: Vec::new(),
            announced: BTreeMap::new(),
            refused: HashSet::new(),
            refusal: None,
            rooms: HashMap::new(),
            silence: None,
            beginnings: None,
            tools: None,
            budget,
            known_cost,
            is_pausing: false,
            is_held: false,
            is_to_stop: false,
            may_be_billed: Arc::default(),
            round,
            served,
        }
    }

    pub fn gathering(self, gather: Gather) -> Self {
        Self { gather: Some(gather), ..self }
    }

    /// Limits the total cost, including that of `past`, in addition to the debate's own limit.
    pub fn at_most(mut self, most: Usd, past: &[Recorded]) -> Self {
        let Some(mut settings) = self.debate().settings.clone() else { return self };
        settings.debate.budget.max_cost_usd = Some(settings.max_cost().map_or(most, |own| own.min(most)));
        self.budget = Budget::of(&settings, &self.panel.routed, past);
        self
    }

    /// Makes the run wait for required servers that are unreachable, rather than end as paused.
    pub fn waiting_for_servers(mut self, waits: bool) -> Self {
        self.outage.can_wait = waits;
        self
    }

    /// Removes the record of a debate that failed, if the debate was certainly not billed and the user added nothing.
    /// Returns whether the record was removed.
    pub fn forget(&mut self) -> bool {
        let debate = self.debate();
        let is_answered = |group: &AgentClarifications| group.items.iter().any(|item| !item.answer.is_empty());
        let is_nothing = debate.status == Status::Failed
            && debate.settled.values().all(|settled| *settled == CallStatus::Failed)
            && !debate.clarifications.iter().flatten().any(is_answered)
            && !debate.failures.is_empty()
            && !self.may_be_billed.load(Ordering::Relaxed);
        is_nothing && self.record.remove()
    }

    fn start_the_clock(&mut self) {
        let limits = self.debate().settings.as_ref().map(|settings| &settings.debate);
        let limit = limits.map(|debate| Duration::from_millis(debate.timeout_per_round.max(debate.call_timeout)));
        self.silence = limit.map(|limit| Arc::new(IdleTimeout::of_at_most(limit)));
    }

    /// Records that the debate was paused while it waited for answers.
    ///
    /// # Errors
    ///
    /// Returns an error if the debate cannot be saved.
    pub async fn pause(&mut self) -> Result<(), EngineError> {
        self.append(Event::Paused)?;
        Ok(self.record.flush().await?)
    }

    pub fn debate(&self) -> &Debate {
        self.record.debate()
    }

    fn agent(&self, id: &AgentId) -> Result<&Agent, EngineError> {
        self.panel.agent(id).ok_or_else(|| EngineError::UnknownAgent(id.clone()))
    }

    fn append(&mut self, event: Event) -> Result<(), StoreError> {
        self.record_event(event)?;
        Ok(())
    }

    fn record_event(&mut self, event: Event) -> Result<Arc<Recorded>, StoreError> {
        if let Some(cut) = self.debate().cut_in(&event) {
            self.warn(cut.to_string());
        }
        if let Some(round) = self.round.ended_by(&event, &self.record.debate().stages) {
            self.signal(Signal::round_ended(round, &Ledger::at_end_of(self.debate(), round)));
        }
        let recorded = self.record.append(event)?;
        if let Some((key, settled)) = recorded.event.settles() {
            self.open.retain(|(_, step)| step.key != *key);
            if settled != CallStatus::Failed {
                self.past.remove(key);
            }
        }
        if let Some(budget) = &mut self.budget {
            budget.apply(&recorded);
        }
        self.signal(Signal::Recorded(Arc::clone(&recorded)));
        self.known_cost += budget::cost_of(&recorded.event).unwrap_or_default();
        self.watch_cost()?;
        if let Some(call) = recorded.event.call() {
            self.compare_served_model(call);
        }
        Ok(recorded)
    }

    fn compare_served_model(&mut self, call: &CallRecord) {
        let Some(now) = call.served_model.as_ref().filter(|_| !call.is_hosted()) else { return };
        let before = self.served.remove(&(call.provider.clone(), call.model.clone()));
        if let Some(before) = before.filter(|before| is_another_model(&call.model, before, now)) {
            self.warn(format!("{} is now served by {now}, but was served by {before} before this run", call.model));
        }
    }

    fn signal(&self, signal: Signal) {
        self.signals.publish(signal);
    }

    fn warn(&self, message: impl Into<String>) {
        self.signal(Signal::Warning { message: message.into(), failed: None });
    }

    fn is_round_over_time(&self) -> bool {
        self.silence.as_ref().is_some_and(|silence| silence.is_too_long())
    }
}

/// Whether the names `before` and `now`, reported for the model `asked`, denote different models. Servers may report
/// the version of a model in streams but not in whole answers, or the other way round.
fn is_another_model(asked: &str, before: &str, now: &str) -> bool {
    let [asked, before, now] = [asked, before, now].map(|name| name.rsplit('/').next().unwrap_or(name).to_lowercase());
    let is_version_of = |long: &str, short: &str| {
        let version = long.strip_prefix(short).and_then(|rest| rest.strip_prefix(['-', '@', ':']));
        version.is_some_and(|version| version == "latest" || version.starts_with(|c: char| c.is_ascii_digit()))
    };
    let says_nothing = before == asked || now == asked;
    before != now && !says_nothing && !is_version_of(&before, &now) && !is_version_of(&now, &before)
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine").field("debate", &self.debate().id).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use dialectic_llm::{Caller, CallerLimits, ConcurrencyLimit, HostModel};
    use dialectic_record::debate::fixture;
    use dialectic_record::live::PanelInfo;
    use dialectic_record::protocol::BEST_OF_N;
    use dialectic_record::store::Directory;
    use tempfile::TempDir;

    use super::*;
    use crate::agent::timeouts_of;

    /// The engine of a new debate under a limit of calls, in which the host gives two answers and chooses one.
    pub(super) fn hosted(max_calls: u32) -> (TempDir, Engine) {
        let Event::Created(mut created) = fixture::created([].into()) else { panic!("a debate begins with it") };
        let protocol = &BEST_OF_N;
        created.stages = protocol.infos();
        let settings = &mut created.settings;
        protocol.name.clone_into(&mut settings.debate.protocol);
        (settings.debate.rounds, settings.debate.budget.max_calls) = (1, Some(max_calls));
        let limits = CallerLimits { in_flight: Arc::new(ConcurrencyLimit::unbounded()), max_retries: 0 };
        let panel = Panel::build(protocol, settings, |_| Caller {
            chat: Arc::new(HostModel::default()),
            provider: "host".into(),
            price: None,
            timeouts: timeouts_of(&settings.debate),
            silence: None,
            limits: limits.clone(),
            account: None,
            observer: None,
        });
        let signals = Signals::new(PanelInfo::new(settings, protocol.infos()));
        let place = tempfile::tempdir().unwrap();
        let begun = Record::begin(&Directory::at(place.path()), created, None);
        let (_, told) = mpsc::unbounded_channel();
        let (record, _) = begun.unwrap();
        (place, Engine::new(protocol, panel.unwrap(), record, &[], signals, CancellationToken::new(), told))
    }

    #[test]
    fn a_version_that_one_way_of_answering_leaves_out_makes_no_other_model() {
        for (before, now) in [
            ("gpt-4o-2024-08-06", "gpt-4o"),
            ("mine", "gpt-4o-2024-08-06"),
            ("gpt-4o", "openai/gpt-4o"),
            ("Mistral-Large", "mistral-large-latest"),
            ("vendor/m", "vendor/m"),
        ] {
            for (before, now) in [(before, now), (now, before)] {
                assert!(!is_another_model("vendor/mine", before, now), "{before} {now}");
            }
        }
        for (before, now) in [("gpt-4o", "gpt-4o-mini"), ("gpt-4o-2024-05-13", "gpt-4o-2024-08-06"), ("a", "b")] {
            assert!(is_another_model("mine", before, now), "{before} {now}");
        }
    }
}
