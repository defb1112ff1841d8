//! Every protocol, every fault, cut after any event of its journal: the debate ends in the same state, no answered call
//! is made again, and no limit is exceeded.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use dialectic_base::call::Tokens;
use dialectic_base::money::Usd;
use dialectic_base::price::Price;
use dialectic_engine::engine::{Engine, RunEnding, purchase};
use dialectic_llm::offline::OfflineProvider;
use dialectic_llm::{
    CallerLimits, ChatModel, ConcurrencyLimit, FailedAttempt, Live, ModelError, Reply, Request, request_bytes,
};
use dialectic_record::debate::{Debate, OutcomeKind};
use dialectic_record::event::{Event, Recorded};
use dialectic_record::ids::{DebateId, Timestamp};
use dialectic_record::live::{PanelInfo, Signals};
use dialectic_record::protocol::PROTOCOLS;
use dialectic_record::settings::{Settings, default_settings};
use dialectic_record::store::{Directory, Entry, Record, read_journal};

use crate::support::in_process::{self, answered, counted, reopened, task};
use crate::support::{spread, thoroughness};
use crate::timing::without_times;

const PRICE: Price = Price::flat(3.0, Some(0.3), 15.0);

/// What a server does to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    RateLimited,
    ServerFailed,
    Hangs,
    Breaks,
    SaysNothing,
    RefusesTheKey,
    RefusesTheRequest,
    Filters,
}

const FAULTS: [Fault; 8] = [
    Fault::RateLimited,
    Fault::ServerFailed,
    Fault::Hangs,
    Fault::Breaks,
    Fault::SaysNothing,
    Fault::RefusesTheKey,
    Fault::RefusesTheRequest,
    Fault::Filters,
];

impl Fault {
    /// Whether another attempt can mend it.
    fn is_transient(self) -> bool {
        match self {
            Self::RateLimited | Self::ServerFailed | Self::Hangs | Self::Breaks | Self::SaysNothing => true,
            Self::RefusesTheKey | Self::RefusesTheRequest | Self::Filters => false,
        }
    }

    async fn happen(self) -> FailedAttempt {
        let message = "as the test wants it".to_owned();
        match self {
            Self::RateLimited => {
                ModelError::RateLimited { status: 429, retry_after: Some(Duration::from_secs(2)), message }.into()
            }
            Self::ServerFailed => ModelError::ServerFailed { status: 500, retry_after: None, message }.into(),
            Self::Hangs => std::future::pending().await,
            Self::Breaks => ModelError::Broken { message }.into(),
            Self::SaysNothing => ModelError::Empty.into(),
            Self::RefusesTheKey => ModelError::Unauthorized { status: 401, message }.into(),
            Self::RefusesTheRequest => ModelError::Refused { status: 400, message }.into(),
            Self::Filters => ModelError::Filtered { message }.into(),
        }
    }
}

/// Which requests of a task, or of a phase, meet the fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum When {
    First,
    EveryThird,
    Always,
}

impl When {
    /// `number` counts those requests from 1.
    pub(crate) fn holds(self, number: usize) -> bool {
        match self {
            Self::First => number == 1,
            Self::EveryThird => number.is_multiple_of(3),
            Self::Always => true,
        }
    }
}

/// A provider that may be faulty, and keeps the bill.
struct Provider {
    model: OfflineProvider,
    fault: Option<(Fault, When, String)>,
    asked: Mutex<Vec<String>>,
    /// The prompts of the task that meets the fault.
    met: Mutex<Vec<String>>,
    billed: Mutex<Usd>,
}

impl Provider {
    fn new(fault: Option<(Fault, When, String)>) -> Arc<Self> {
        let (asked, met, billed) = (Mutex::default(), Mutex::default(), Mutex::default());
        Arc::new(Self { model: OfflineProvider::default(), fault, asked, met, billed })
    }

    fn fault(&self, request: &Request) -> Option<Fault> {
        let (fault, when, of) = self.fault.as_ref()?;
        if task(request) != of {
            return None;
        }
        let mut met = self.met.lock().unwrap();
        met.push(request.prompt.to_string());
        // Otherwise the retry of one request may be the third of another.
        let is_retry = *when != When::Always && met.iter().filter(|prompt| **prompt == *request.prompt).count() > 1;
        (!is_retry && when.holds(met.len())).then_some(*fault)
    }
}

impl ChatModel for Provider {
    fn ask<'a>(&'a self, request: &'a Request, live: Live<'a>) -> BoxFuture<'a, Result<Reply, FailedAttempt>> {
        self.asked.lock().unwrap().push(format!("{}, turns {}", request.prompt, request.turns.len()));
        let fault = self.fault(request);
        Box::pin(async move {
            if let Some(fault) = fault {
                return Err(fault.happen().await);
            }
            let reply = self.model.ask(request, live).await?;
            let output_tokens = reply.text.len() as u64 / 4;
            let tokens = Tokens { input_tokens: request_bytes(request) as u64 / 4, output_tokens, ..Tokens::default() };
            *self.billed.lock().unwrap() += PRICE.cost(tokens);
            Ok(Reply { tokens: Some(tokens), stated_cost: None, ..reply })
        })
    }
}

struct Case {
    settings: Settings,
    fault: Option<(Fault, When, String)>,
}

impl Case {
    fn of(protocol: &str) -> Self {
        let mut settings = default_settings();
        protocol.clone_into(&mut settings.debate.protocol);
        settings.debate.rounds = settings.debate.rounds.min(2);
        settings.debate.timeout_per_round = u64::from(u32::MAX);
        for agent in settings.agents.iter_mut().chain([&mut settings.judge]) {
            agent.model = "model-a".to_owned();
        }
        settings.prices = [("model-a".to_owned(), PRICE)].into();
        Self { settings, fault: None }
    }

    fn with_fault(self, fault: Fault, when: When, task: &str) -> Self {
        Self { fault: Some((fault, when, task.to_owned())), ..self }
    }

    /// With `times` the least limit that buys a round.
    fn with_limit(mut self, times: f64) -> Self {
        self.settings.debate.budget.max_cost_usd = Some(Usd::from_dollars(1000.0));
        let panel = in_process::panel(&self.settings, &Provider::new(None), Some(PRICE), &limits());
        let first = in_process::created(&self.settings, &panel, DebateId::new("x"), 1);
        let first = Recorded { seq: 1, at: Timestamp::now(), event: Event::Created(first) };
        let debate = Debate::create(&first).unwrap();
        let bought = purchase(in_process::protocol(&self.settings), &panel, &debate).unwrap().unwrap();
        self.settings.debate.budget.max_cost_usd = Some(bought.one_round.usd.times(times));
        self
    }

    fn name(&self) -> String {
        format!("{}, {:?}", self.settings.debate.protocol, self.fault)
    }
}

fn limits() -> CallerLimits {
    CallerLimits { in_flight: Arc::new(ConcurrencyLimit::at_most(4)), max_retries: 1 }
}

struct Went {
    ending: RunEnding,
    debate: Debate,
    events: Vec<Recorded>,
    /// The lines of the journal.
    journal: Vec<String>,
    asked: Vec<String>,
    billed: Usd,
}

impl Went {
    fn state(&self) -> Value {
        without_times(&serde_json::to_value(&self.debate).unwrap())
    }

    fn has_failures(&self) -> bool {
        let failed = |recorded: &Recorded| matches!(recorded.event, Event::CallFailed { .. } | Event::Failed { .. });
        self.events.iter().any(failed)
    }
}

/// Begins the debate, or continues it after these lines of its journal.
fn run(case: &Case, journal: &[String]) -> Went {
    let place = tempfile::tempdir().unwrap();
    let directory = Directory::at(place.path());
    in_process::block_on(async {
        let provider = Provider::new(case.fault.clone());
        let panel = in_process::panel(&case.settings, &provider, Some(PRICE), &limits());
        let (record, past) = if journal.is_empty() {
            let begun =
                Record::begin(&directory, in_process::created(&case.settings, &panel, DebateId::default(), 1), None);
            (begun.unwrap().0, Vec::new())
        } else {
            let id = DebateId::new("deb-1");
            std::fs::write(directory.journal_path(&id), journal.join("\n") + "\n").unwrap();
            reopened(&Entry::of_state(&directory.state_path(&id)))
        };
        let path = record.journal_path().to_owned();
        let protocol = in_process::protocol(&case.settings);
        let signals = Signals::new(PanelInfo::new(&case.settings, protocol.infos()));
        let (cancel, untold) = (CancellationToken::new(), in_process::untold());
        let mut engine = Engine::new(protocol, panel, record, &past, signals, cancel, untold);
        let clock = in_process::push_clock();
        let ending = tokio::time::timeout(Duration::from_hours(2400), engine.run()).await;
        clock.abort();
        let ending = ending.unwrap_or_else(|_| panic!("{}: it hangs", case.name())).unwrap();
        let debate = engine.debate().clone();
        drop(engine);
        let journal = std::fs::read_to_string(&path).unwrap().lines().map(str::to_owned).collect();
        let events = read_journal(&path).unwrap().events;
        let asked = std::mem::take(&mut *provider.asked.lock().unwrap());
        let billed = *provider.billed.lock().unwrap();
        Went { ending, debate, events, journal, asked, billed }
    })
}

/// What calls cost whose requests had been sent by the end of these events, answered there or later.
fn sent_cost(whole: &Went, length: usize) -> Usd {
    let reserved: BTreeSet<u64> = whole.events[..length]
        .iter()
        .filter(|recorded| matches!(recorded.event, Event::CostReserved { .. }))
        .map(|recorded| recorded.seq)
        .collect();
    let calls = whole.events.iter().filter_map(|recorded| recorded.event.call());
    let sent = calls.filter(|call| call.reservation.is_some_and(|seq| reserved.contains(&seq)));
    sent.filter_map(|call| call.cost_usd).fold(Usd::ZERO, |sum, cost| sum + cost)
}

/// Continues the debate after each of some prefixes of its journal.
fn check_prefixes(case: &Case, whole: &Went, offset: usize) {
    let few = if case.fault.is_none() { 3 } else { 2 };
    for length in spread(whole.journal.len() - 1, few, offset) {
        let length = length + 1;
        let last = &whole.journal[length - 1];
        let name = format!("{}, after event {length} ({last:.200})", case.name());
        let rest = run(case, &whole.journal[..length]);
        if let Some(limit) = case.settings.debate.budget.max_cost_usd {
            let billed = sent_cost(whole, length) + rest.billed;
            assert!(billed <= limit, "{name}: {billed} of {limit}");
            // A lost request has cost what was reserved for it: there may be no money for the only text.
            let has_text = rest.debate.rounds.iter().any(|round| !round.contributions.is_empty());
            let expected = if has_text { whole.ending } else { RunEnding::Failed };
            assert_eq!(rest.ending, expected, "{name}: {:?}", rest.debate.error);
            assert_eq!(rest.debate.final_solution.is_some(), has_text, "{name}: no answer");
            continue;
        }
        assert_eq!(rest.ending, whole.ending, "{name}: {:?}", rest.debate.error);
        let (mut state, mut expected) = (rest.state(), whole.state());
        if case.fault.is_some() {
            // Attempts that failed are made and counted again.
            for state in [&mut state, &mut expected] {
                state["usage"].take();
            }
        }
        assert_eq!(state, expected, "{name}");
        // An attempt that failed is no answer: it is made again if its failure was not yet on record.
        let (asked, wanted) = (counted(&rest.asked), counted(&whole.asked));
        let again = asked.iter().find(|(request, times)| wanted.get(*request).is_none_or(|most| *times > most));
        assert_eq!(again, None, "{name}: a request that an undisturbed debate does not make");
        if case.fault.is_none() {
            let left = whole.asked.len() - answered(&whole.events[..length]);
            assert_eq!(rest.asked.len(), left, "{name}: requests");
        }
    }
}

#[test]
fn cut_after_any_event_a_debate_ends_in_the_same_state_without_paying_twice() {
    for (place, protocol) in PROTOCOLS.iter().enumerate() {
        let case = Case::of(protocol.name);
        let whole = run(&case, &[]);
        assert_eq!((whole.ending, whole.has_failures()), (RunEnding::Completed, false), "{}", case.name());
        assert_eq!(whole.debate.outcome.as_ref().unwrap().kind, OutcomeKind::Full, "{}", case.name());
        check_prefixes(&case, &whole, place);
    }
}

#[test]
fn cut_after_any_event_a_debate_stays_within_its_limit() {
    for (place, protocol) in PROTOCOLS.iter().enumerate() {
        let times = [1.02, 1.4, 2.0][(place + thoroughness()) % 3];
        let case = Case::of(protocol.name).with_limit(times);
        let whole = run(&case, &[]);
        let limit = case.settings.debate.budget.max_cost_usd.unwrap();
        assert_eq!(whole.ending, RunEnding::Completed, "{}: {:?}", case.name(), whole.debate.error);
        assert!(whole.billed <= limit, "{}: {} of {limit}", case.name(), whole.billed);
        check_prefixes(&case, &whole, place);
    }
}

/// A cell of the matrix of protocols, tasks, faults and moments.
fn check_fault(protocol: &str, task: &str, fault: Fault, when: When, offset: usize) {
    let case = Case::of(protocol).with_fault(fault, when, task);
    let name = case.name() + &format!(", {when:?}");
    let whole = run(&case, &[]);
    // With one retry, two. A retry loop inside another would make it four or more.
    let attempts = if fault.is_transient() { 2 } else { 1 };
    for failure in &whole.debate.failures {
        assert_eq!(failure.attempts, attempts, "{name}: {failure:?}");
    }
    let is_mended = fault.is_transient() && when != When::Always;
    if is_mended {
        assert_eq!((whole.ending, whole.has_failures()), (RunEnding::Completed, false), "{name}");
        assert_eq!(whole.debate.outcome.as_ref().unwrap().kind, OutcomeKind::Full, "{name}");
        return;
    }
    match whole.ending {
        RunEnding::Completed => {
            let outcome = whole.debate.outcome.as_ref().unwrap();
            let failures = whole.debate.failures.len();
            assert_eq!(outcome.kind == OutcomeKind::Full, !whole.has_failures(), "{name}: {outcome:?}");
            assert!(outcome.reasons.len() >= failures, "{name}: {failures} failures, {outcome:?}");
        }
        RunEnding::Failed => assert!(whole.has_failures(), "{name}"),
        RunEnding::Suspended
        | RunEnding::Paused
        | RunEnding::HostAsked
        | RunEnding::ServerGone
        | RunEnding::LimitReached => {
            panic!("{name}: {:?}", whole.ending)
        }
    }
    if when == When::Always {
        check_prefixes(&case, &whole, offset);
    }
    if whole.ending == RunEnding::Failed {
        // Once the cause is gone, the debate continues, and nothing that was answered is asked again.
        let rest = run(&Case::of(protocol), &whole.journal);
        assert_eq!(rest.ending, RunEnding::Completed, "{name}: {:?}", rest.debate.error);
        let before = answered(&whole.events);
        assert_eq!(answered(&rest.events), before + rest.asked.len(), "{name}: requests");
    }
}

#[test]
fn no_fault_makes_a_debate_complete_that_is_not() {
    let mut cells = Vec::new();
    let wholes: Vec<(&str, Went)> =
        PROTOCOLS.iter().map(|protocol| (protocol.name, run(&Case::of(protocol.name), &[]))).collect();
    for (protocol, whole) in &wholes {
        let headings = whole.asked.iter().filter_map(|prompt| prompt.rsplit("# Your task: ").next()?.lines().next());
        let tasks: BTreeSet<&str> = headings.collect();
        for task in tasks {
            for fault in FAULTS {
                cells.extend([When::First, When::EveryThird, When::Always].map(|when| (*protocol, task, fault, when)));
            }
        }
    }
    for place in spread(cells.len(), 16, 7) {
        let (protocol, task, fault, when) = cells[place];
        check_fault(protocol, task, fault, when, place);
    }
}
