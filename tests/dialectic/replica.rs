//! A debate whose journal is copied: what the copy does not have is not sent, and not built upon.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use futures_util::future::BoxFuture;
use serde_json::Value;
use tokio::sync::watch;

use dialectic_base::money::Usd;
use dialectic_base::price::Price;
use dialectic_engine::engine::{Engine, EngineError, RunEnding};
use dialectic_llm::offline::OfflineProvider;
use dialectic_llm::{CallerLimits, ChatModel, ConcurrencyLimit, FailedAttempt, Live, Reply, Request};
use dialectic_record::event::{Event, Recorded};
use dialectic_record::ids::DebateId;
use dialectic_record::live::{PanelInfo, Signals};
use dialectic_record::settings::{Settings, default_settings};
use dialectic_record::store::{Directory, Record, Replica, StoreError, read_journal};
use tokio_util::sync::CancellationToken;

use crate::support::in_process::{self, task};

/// A copy that acknowledges what it is told to.
#[derive(Debug)]
struct Copied {
    lines: Mutex<Vec<Value>>,
    taken: watch::Sender<u64>,
    acknowledged: watch::Sender<u64>,
    /// It takes no reservation after this many.
    reservations: usize,
}

impl Copied {
    fn taking(reservations: usize) -> Arc<Self> {
        Arc::new(Self {
            lines: Mutex::default(),
            taken: watch::Sender::new(0),
            acknowledged: watch::Sender::new(0),
            reservations,
        })
    }

    /// The acknowledged lines with this type.
    fn acknowledged(&self, kind: &str, stage: Option<&str>) -> usize {
        let upto = *self.acknowledged.borrow();
        let is_meant = |line: &&Value| {
            line["seq"].as_u64().unwrap() <= upto
                && line["type"] == kind
                && stage.is_none_or(|stage| line["key"]["phase"] == stage || line["key"]["stage"] == stage)
        };
        self.lines.lock().unwrap().iter().filter(is_meant).count()
    }

    /// Acknowledges one event after the other, each when nothing else can happen without it.
    async fn acknowledge_slowly(self: Arc<Self>) {
        let mut taken = self.taken.subscribe();
        loop {
            for _ in 0..20 {
                tokio::task::yield_now().await;
            }
            let (next, last) = (*self.acknowledged.borrow() + 1, *taken.borrow());
            if next > last {
                taken.changed().await.unwrap();
                continue;
            }
            self.acknowledged.send_replace(next);
        }
    }
}

impl Replica for Copied {
    fn take(&self, line: &[u8], _: bool) {
        assert!(line.ends_with(b"\n"));
        let line: Value = serde_json::from_slice(line).unwrap();
        self.taken.send_replace(line["seq"].as_u64().unwrap());
        self.lines.lock().unwrap().push(line);
    }

    fn holds(&self) -> Pin<Box<dyn Future<Output = Result<(), StoreError>> + Send + '_>> {
        let seq = *self.taken.borrow();
        Box::pin(async move {
            let is_reservation = |line: &&Value| line["type"] == "cost-reserved" && line["seq"].as_u64() <= Some(seq);
            let reservations = self.lines.lock().unwrap().iter().filter(is_reservation).count();
            if reservations > self.reservations {
                return Err(StoreError::Replica { reason: "another worker goes on with it".to_owned() });
            }
            self.acknowledged.subscribe().wait_for(|acknowledged| *acknowledged >= seq).await.unwrap();
            Ok(())
        })
    }
}

/// A model that answers what it is asked only if the copy has what leads to it.
struct Watchful {
    model: OfflineProvider,
    copied: Arc<Copied>,
    agents: usize,
    asked: AtomicUsize,
}

impl ChatModel for Watchful {
    fn ask<'a>(&'a self, request: &'a Request, live: Live<'a>) -> BoxFuture<'a, Result<Reply, FailedAttempt>> {
        let asked = self.asked.fetch_add(1, Ordering::SeqCst) + 1;
        assert!(self.copied.acknowledged("cost-reserved", None) >= asked, "a request was sent before its reservation");
        if task(request) == "refine" {
            let critiques = self.copied.acknowledged("contributed", Some("critique"));
            assert!(critiques >= self.agents - 1, "a refinement is built on {critiques} critiques");
        }
        self.model.ask(request, live)
    }
}

struct Went {
    ended: Result<RunEnding, EngineError>,
    asked: usize,
    events: Vec<Recorded>,
    copied: Arc<Copied>,
}

async fn run(settings: &Settings, copied: Arc<Copied>, price: Option<Price>) -> Went {
    let model = Arc::new(Watchful {
        model: OfflineProvider::default(),
        copied: Arc::clone(&copied),
        agents: settings.agents.len(),
        asked: AtomicUsize::new(0),
    });
    let limits = CallerLimits { in_flight: Arc::new(ConcurrencyLimit::at_most(6)), max_retries: 0 };
    let panel = in_process::panel(settings, &model, price, &limits);
    let directory = tempfile::tempdir().unwrap();
    let directory = Directory::at(directory.path());
    let created = in_process::created(settings, &panel, DebateId::new("swp-1"), 1);
    let replica = Arc::clone(&copied) as Arc<dyn Replica>;
    let (record, _) = Record::begin(&directory, created, Some(replica)).unwrap();
    let protocol = in_process::protocol(settings);
    let signals = Signals::new(PanelInfo::new(settings, protocol.infos()));
    let mut engine = Engine::new(protocol, panel, record, &[], signals, CancellationToken::new(), in_process::untold());
    let acknowledging = tokio::spawn(Arc::clone(&copied).acknowledge_slowly());
    let ended = engine.run().await;
    acknowledging.abort();
    let events = read_journal(&directory.journal_path(&DebateId::new("swp-1"))).unwrap().events;
    Went { ended, asked: model.asked.load(Ordering::SeqCst), events, copied }
}

fn reservations(events: &[Recorded]) -> usize {
    events.iter().filter(|recorded| matches!(recorded.event, Event::CostReserved { .. })).count()
}

#[tokio::test]
async fn nothing_is_sent_that_the_copy_does_not_have() {
    let settings = default_settings();
    let went = run(&settings, Copied::taking(usize::MAX), None).await;
    assert_eq!(went.ended.unwrap(), RunEnding::Completed);
    // Every call is on record without a limit too, and each has ended.
    assert_eq!((reservations(&went.events), went.asked > 10), (went.asked, true));
    let settled: Vec<u64> =
        went.events.iter().filter_map(|recorded| recorded.event.call().and_then(|call| call.reservation)).collect();
    assert!(settled.len() >= went.asked, "{} of {}", settled.len(), went.asked);
    // At its end the copy has everything.
    let events = went.events.len();
    assert_eq!(*went.copied.acknowledged.borrow(), events as u64);
    assert_eq!(went.copied.lines.lock().unwrap().len(), events);
    assert_eq!(went.copied.acknowledged("completed", None), 1);
}

#[tokio::test]
async fn a_copy_that_takes_no_more_ends_the_run_with_nothing_more_sent() {
    for taken in [0, 1, 4, 7] {
        let went = run(&default_settings(), Copied::taking(taken), None).await;
        let error = went.ended.unwrap_err();
        assert!(matches!(error, EngineError::Store(StoreError::Replica { .. })), "{error:?}");
        assert!(went.asked <= taken, "{} of {taken} were sent", went.asked);
        assert!(reservations(&went.events) > taken);
        let failed = |recorded: &&Recorded| matches!(recorded.event, Event::CallFailed { .. } | Event::Failed { .. });
        assert_eq!(went.events.iter().filter(failed).count(), 0, "no call failed: it was not made");
    }
}

#[tokio::test]
async fn under_a_limit_and_without_one_what_is_reserved_has_a_price_where_it_is_known() {
    let mut settings = default_settings();
    for agent in settings.agents.iter_mut().chain([&mut settings.judge]) {
        agent.model = "model-a".to_owned();
    }
    let price = Price::flat(1.0, None, 2.0);
    settings.prices = [("model-a".to_owned(), price)].into();
    for limit in [None, Some(Usd::from_dollars(100.0))] {
        settings.debate.budget.max_cost_usd = limit;
        let went = run(&settings, Copied::taking(usize::MAX), Some(price)).await;
        assert_eq!(went.ended.unwrap(), RunEnding::Completed);
        for recorded in &went.events {
            if let Event::CostReserved { usd, .. } = &recorded.event {
                assert!(*usd > Usd::ZERO);
            }
        }
        assert_eq!(reservations(&went.events), went.asked);
    }
}
