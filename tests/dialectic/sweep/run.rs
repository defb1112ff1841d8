//! `dialectic sweep run`: workers that are told to stop, stopped, killed and raced, and what their debates are then.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use dialectic_base::diagnostic::ErrorCategory;
use dialectic_base::money::Usd;
use dialectic_cli::sweep::plan::{Machine, PlannedDebate, SavedPlan};
use dialectic_cli::sweep::store::{self, Creation, SharedStore, Store, StoreFault};
use dialectic_cli::sweep::worker::{Ended, News, RunOptions, Stop, Worker};
use dialectic_cli::sweep::{Finished, Lost, Stored, Times, budget};
use dialectic_engine::access::Environment;
use dialectic_record::debate::{CallKey, Event, Recorded};
use futures_util::future::BoxFuture;
use nix::sys::signal::Signal;
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::sync::mpsc::unbounded_channel;

use crate::budget::priced;
use crate::support::{Gate, MockServer, Purpose, Reply, Sandbox, TEST_KEY, default_reply};

const RUN: [&str; 3] = ["sweep", "run", "plan.jsonl"];

const OPTIONS: RunOptions = RunOptions { jobs: 2, wait: None, retry_failed: false };

/// A set of so many problems, whose debates are far from their limits.
fn planned(server: &MockServer, problems: usize, budget: Option<f64>) -> Sandbox {
    let mut described = json!({"problems": ["problems.jsonl"], "maxCost": 20});
    if let Some(budget) = budget {
        described["budget"] = json!(budget);
    }
    let problem = |n| json!({"id": format!("p{n}"), "problem": format!("Design queue {n}")}).to_string();
    let problems = (0..problems).map(problem).collect::<Vec<_>>().join("\n");
    let sandbox = Sandbox::new()
        .limit(Duration::from_mins(3))
        .model_server(server)
        .config(&priced(&["architect", "kiss"], &json!({"rounds": 1})))
        .file("problems.jsonl", problems)
        .file("sweep.json", described.to_string());
    sandbox.run(["sweep", "plan", "sweep.json", "-o", "plan.jsonl"]).expect_code(0);
    sandbox
}

fn collected(sandbox: &Sandbox, store: &str) -> String {
    sandbox.run(["sweep", "collect", "plan.jsonl", "--store", store, "--complete"]).expect_code(0).stdout
}

fn plan_of(sandbox: &Sandbox) -> SavedPlan {
    SavedPlan::read(&sandbox.directory().join("plan.jsonl")).unwrap()
}

async fn opened(path: &Path) -> SharedStore {
    store::open(path.to_str().unwrap(), &Environment::default()).await.unwrap()
}

/// A finished debate and its events.
async fn finished(store: &SharedStore, debate: &PlannedDebate) -> (Finished, Vec<Recorded>) {
    let Stored::Finished(finished) = Stored::read(&**store, &debate.id).await.unwrap() else {
        panic!("{} is not finished", debate.id)
    };
    let lines = finished.journal.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let events = lines.map(|line| serde_json::from_slice(line).unwrap()).collect();
    (finished, events)
}

/// Sees to it that every call has one result, and that none was made again whose result was there. Returns the number
/// of requests that may have been sent.
fn check_calls(header_lost: Lost, events: &[Recorded]) -> usize {
    let mut results: BTreeMap<CallKey, usize> = BTreeMap::new();
    let mut open: BTreeMap<u64, CallKey> = BTreeMap::new();
    let (mut reservations, mut lost) = (0, 0);
    for recorded in events {
        if let Event::CostReserved { key, .. } = &recorded.event {
            assert!(!results.contains_key(key), "{key:?} was made again");
            reservations += 1;
            open.insert(recorded.seq, key.clone());
        }
        if matches!(recorded.event, Event::Resumed) {
            lost += std::mem::take(&mut open).len();
        }
        if let Some(number) = recorded.event.call().and_then(|call| call.reservation) {
            open.remove(&number);
        }
        if let Some((key, _)) = recorded.event.settles().filter(|_| recorded.event.call().is_some()) {
            *results.entry(key.clone()).or_default() += 1;
        }
    }
    assert!(results.len() > 5 && results.values().all(|results| *results == 1), "{results:?}");
    assert!(open.is_empty(), "{open:?}");
    assert_eq!((reservations - results.len(), header_lost.calls as usize), (lost, lost));
    assert_eq!(header_lost.usd > Usd::ZERO, lost > 0);
    reservations
}

// ---------------------------------------------------------------------------------------------------------------------
// Killed

/// A store whose worker is killed at one of its operations: before it, or after it and before it is known.
#[derive(Debug)]
struct Deadly {
    store: SharedStore,
    operations: AtomicUsize,
    kill_at: usize,
    is_done: bool,
    killed: Notify,
}

impl Deadly {
    /// Whether the worker is dead by now; at the deadly operation, after `operation` if that is to be done.
    async fn survive<T>(&self, operation: BoxFuture<'_, T>) -> T {
        let number = self.operations.fetch_add(1, Ordering::SeqCst) + 1;
        if number < self.kill_at {
            return operation.await;
        }
        if number == self.kill_at {
            if self.is_done {
                operation.await;
            }
            self.killed.notify_one();
        }
        std::future::pending().await
    }
}

impl Store for Deadly {
    fn create<'a>(&'a self, name: &'a str, bytes: &'a [u8]) -> BoxFuture<'a, Result<Creation, StoreFault>> {
        Box::pin(self.survive(self.store.create(name, bytes)))
    }

    fn get<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<Vec<u8>>, StoreFault>> {
        Box::pin(self.survive(self.store.get(name)))
    }

    fn list<'a>(&'a self, prefix: &'a str) -> BoxFuture<'a, Result<Vec<String>, StoreFault>> {
        Box::pin(self.survive(self.store.list(prefix)))
    }

    fn remove<'a>(&'a self, names: &'a [String]) -> BoxFuture<'a, Result<(), StoreFault>> {
        // One after the other, to be killed between them too.
        Box::pin(async move {
            for name in names {
                self.survive(self.store.remove(std::slice::from_ref(name))).await?;
            }
            Ok(())
        })
    }

    fn place(&self) -> String {
        self.store.place()
    }
}

/// Short enough to wait for. A worker that loses its debate on a busy machine comes back.
fn times() -> Times {
    Times::of(300, 1500, 2000).unwrap()
}

/// A store in which no beat of another worker is seen, nor any debate if it is gone.
#[derive(Debug)]
struct Blind {
    store: SharedStore,
    is_gone: bool,
    lists: AtomicUsize,
}

impl Store for Blind {
    fn create<'a>(&'a self, name: &'a str, bytes: &'a [u8]) -> BoxFuture<'a, Result<Creation, StoreFault>> {
        self.store.create(name, bytes)
    }

    fn get<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<Vec<u8>>, StoreFault>> {
        self.store.get(name)
    }

    fn list<'a>(&'a self, prefix: &'a str) -> BoxFuture<'a, Result<Vec<String>, StoreFault>> {
        self.lists.fetch_add(1, Ordering::SeqCst);
        if self.is_gone {
            let (name, place) = (prefix.to_owned(), self.place());
            let fault = StoreFault { doing: "list", name, place, source: "no route to host".into() };
            return Box::pin(async { Err(fault) });
        }
        if prefix.ends_with("/beats") {
            return Box::pin(async { Ok(Vec::new()) });
        }
        self.store.list(prefix)
    }

    fn remove<'a>(&'a self, names: &'a [String]) -> BoxFuture<'a, Result<(), StoreFault>> {
        self.store.remove(names)
    }

    fn place(&self) -> String {
        self.store.place()
    }
}

/// Runs debates as a process of its own would: killed, it takes everything with it. Returns how they ended, unless it was
/// killed, and the number of its operations.
fn worker(
    plan: &SavedPlan,
    server: &MockServer,
    store: &Path,
    kill: Option<(usize, bool)>,
) -> (Option<Vec<Ended>>, usize) {
    worker_with(plan, server, store, kill, (OPTIONS, times()))
}

/// As [`worker`] with these options and times.
fn worker_with(
    plan: &SavedPlan,
    server: &MockServer,
    store: &Path,
    kill: Option<(usize, bool)>,
    (options, times): (RunOptions, Times),
) -> (Option<Vec<Ended>>, usize) {
    block_on(async {
        let (kill_at, is_done) = kill.unwrap_or((usize::MAX, false));
        let (store, killed) = (opened(store).await, Notify::new());
        let deadly = Arc::new(Deadly { store, operations: AtomicUsize::new(0), kill_at, is_done, killed });
        let ended = tokio::select! {
            ended = work(plan, server, Arc::clone(&deadly) as SharedStore, times, options) => Some(ended),
            () = deadly.killed.notified() => None,
        };
        (ended, deadly.operations.load(Ordering::SeqCst))
    })
}

/// On a runtime that ends with everything in it, as a process does.
fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let output = runtime.block_on(future);
    runtime.shutdown_background();
    output
}

/// Works through a plan. Returns how its debates ended.
async fn work(
    plan: &SavedPlan,
    server: &MockServer,
    store: SharedStore,
    times: Times,
    options: RunOptions,
) -> Vec<Ended> {
    let own = tempfile::tempdir().unwrap();
    let prompts: PathBuf = own.path().join("prompts");
    plan.plan.unpack(&prompts).unwrap();
    let url = server.base_url();
    let environment = Environment::from_pairs([("OPENAI_API_KEY", TEST_KEY), ("OPENAI_BASE_URL", url.as_str())]);
    let machine = Machine { providers: BTreeMap::new(), environment, prompts };
    let (news, mut heard) = unbounded_channel();
    let worker = Worker::begin(plan, store, machine, times, own.path(), Stop::default(), news).await.unwrap();
    worker.run(plan.plan.debates.clone(), options).await;
    drop(worker);
    let mut ended = Vec::new();
    while let Some(news) = heard.recv().await {
        if let News::Ended(_, one) = news {
            ended.push(one);
        }
    }
    ended
}

/// Runs debates until all are finished, as an engine does.
fn worked(plan: &SavedPlan, server: &MockServer, store: &Path) {
    let limit = Instant::now() + Duration::from_mins(2);
    loop {
        let (ended, _) = worker(plan, server, store, None);
        let ended = ended.expect("nobody kills it");
        if ended.iter().all(|ended| matches!(ended, Ended::Finished { .. })) {
            return;
        }
        assert!(ended.iter().all(|ended| matches!(ended, Ended::Finished { .. } | Ended::Later { .. })), "{ended:?}");
        assert!(Instant::now() < limit, "{ended:?}");
    }
}

/// What an undisturbed run leaves: its results, its number of requests, and that of its worker's operations.
fn undisturbed() -> (String, usize, usize) {
    let server = MockServer::with(default_reply);
    let sandbox = planned(&server, 1, Some(50.0));
    let (plan, path) = (plan_of(&sandbox), sandbox.directory().join("plan.store"));
    let (ended, operations) = worker_with(&plan, &server, &path, None, (OPTIONS, slow()));
    assert!(matches!(ended.as_deref(), Some([Ended::Finished { before: false, .. }])), "{ended:?}");
    (collected(&sandbox, "plan.store"), server.requests().len(), operations)
}

#[test]
fn a_worker_killed_at_any_operation_of_its_store_repeats_no_call_whose_result_is_there() {
    let (expected, requests, operations) = undisturbed();
    assert!(requests > 5 && operations > 2 * requests, "{requests}, {operations}");
    // Beats come when they come: a few operations more or less.
    let moments: Vec<(usize, bool)> = (1..=operations).flat_map(|at| [(at, false), (at, true)]).collect();
    let (moments, lost) = (Mutex::new(moments), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let server = MockServer::with(default_reply);
                let sandbox = planned(&server, 1, Some(50.0));
                loop {
                    let Some(moment) = moments.lock().unwrap().pop() else { break };
                    let name = format!("{}-{}", moment.0, moment.1);
                    lost.fetch_add(killed(&sandbox, &server, &name, moment, &expected), Ordering::SeqCst);
                }
            });
        }
    });
    // Every request was in flight when some worker was killed.
    assert!(lost.into_inner() >= requests);
}

/// Kills a worker, lets another go on, and returns how many calls were lost.
fn killed(sandbox: &Sandbox, server: &MockServer, name: &str, moment: (usize, bool), expected: &str) -> usize {
    server.forget();
    let (plan, path) = (plan_of(sandbox), sandbox.directory().join(name));
    worker(&plan, server, &path, Some(moment));
    worked(&plan, server, &path);
    assert_eq!(collected(sandbox, name), *expected, "{moment:?}");
    let (lost, may_be_sent, sums, taken) = block_on(async {
        let store = opened(&path).await;
        let (finished, events) = finished(&store, &plan.plan.debates[0]).await;
        let may_be_sent = check_calls(finished.header.lost, &events);
        let mut books = dialectic_engine::engine::Books::default();
        for recorded in &events {
            books.apply(recorded, |_| None);
        }
        let chain = budget::Chain::open(Arc::clone(&store), Usd::from_dollars(50.0)).await.unwrap();
        (finished.header.lost.calls, may_be_sent, chain.sums().await.unwrap(), books.taken())
    });
    // Whoever was killed sent nothing that is not on record.
    assert!(server.requests().len() <= may_be_sent, "{moment:?}: {} of {may_be_sent}", server.requests().len());
    assert_eq!((sums.held, sums.balance), (Usd::ZERO, Usd::from_dollars(50.0).saturating_sub(taken)), "{moment:?}");
    server.assert_clean();
    lost as usize
}

/// Answers two requests and refuses all others.
fn failing() -> MockServer {
    MockServer::with(
        |request| if request.index < 2 { default_reply(request) } else { Reply::error(401, "no such key") },
    )
}

/// A worker is killed while its debate fails, or while that is retried. Another one, which does not retry it, sees that it
/// has failed, and that it holds nothing.
#[test]
fn a_worker_killed_at_any_operation_of_a_debate_that_fails_leaves_nothing_held() {
    let retry = RunOptions { retry_failed: true, ..OPTIONS };
    let has_failed = |ended: &Option<Vec<Ended>>| matches!(ended.as_deref(), Some([Ended::Failed { .. }]));
    let mut moments = Vec::new();
    {
        let server = failing();
        let sandbox = planned(&server, 1, Some(50.0));
        let (plan, path) = (plan_of(&sandbox), sandbox.directory().join("plan.store"));
        for (options, is_retry) in [(OPTIONS, false), (retry, true)] {
            let (ended, operations) = worker_with(&plan, &server, &path, None, (options, slow()));
            assert!(has_failed(&ended) && operations > 10, "{ended:?}, {operations}");
            moments.extend((1..=operations).map(|at| (is_retry, (at, true))));
        }
    }
    let moments = Mutex::new(moments);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let server = failing();
                let sandbox = planned(&server, 1, Some(50.0));
                let plan = plan_of(&sandbox);
                loop {
                    let Some((is_retry, moment)) = moments.lock().unwrap().pop() else { break };
                    let path = sandbox.directory().join(format!("{is_retry}-{}-{}", moment.0, moment.1));
                    server.forget();
                    let until_failed = || {
                        let limit = Instant::now() + Duration::from_mins(2);
                        loop {
                            let (ended, _) = worker(&plan, &server, &path, None);
                            if has_failed(&ended) {
                                return;
                            }
                            assert!(matches!(ended.as_deref(), Some([Ended::Later { .. }])), "{moment:?}: {ended:?}");
                            assert!(Instant::now() < limit, "{ended:?}");
                        }
                    };
                    if is_retry {
                        until_failed();
                        worker_with(&plan, &server, &path, Some(moment), (retry, times()));
                    } else {
                        worker(&plan, &server, &path, Some(moment));
                    }
                    until_failed();
                    assert_closed(&path, &plan, moment);
                }
            });
        }
    });
}

/// A failed debate holds nothing of the budget of 50 dollars, which has all but what it may have cost.
fn assert_closed(path: &Path, plan: &SavedPlan, moment: (usize, bool)) {
    let (sums, taken, is_noted) = block_on(async {
        let store = opened(path).await;
        let read = Stored::read(&*store, &plan.plan.debates[0].id).await.unwrap();
        let Stored::Begun(chain) = read else { panic!("it has failed: {read:?}") };
        let mut books = dialectic_engine::engine::Books::default();
        for line in chain.journal.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            books.apply(&serde_json::from_slice::<Recorded>(line).unwrap(), |_| None);
        }
        let budget = budget::Chain::open(Arc::clone(&store), Usd::from_dollars(50.0)).await.unwrap();
        let is_noted = chain.headers.last().is_some_and(|last| last.released && last.failed.is_some());
        (budget.sums().await.unwrap(), books.taken(), is_noted)
    });
    assert!(is_noted, "{moment:?}");
    assert_eq!((sums.held, sums.balance), (Usd::ZERO, Usd::from_dollars(50.0).saturating_sub(taken)), "{moment:?}");
}

// ---------------------------------------------------------------------------------------------------------------------
// Stopped

/// Holds up the request of that number until the gate opens.
fn holding(number: usize, gate: &Gate) -> MockServer {
    let (gate, count) = (gate.clone(), AtomicUsize::new(0));
    MockServer::with(move |request| {
        let reply = default_reply(request);
        if count.fetch_add(1, Ordering::SeqCst) + 1 == number { reply.word_by_word().held(&gate) } else { reply }
    })
}

/// For workers that must not lose their debate on a busy machine.
fn slow() -> Times {
    Times::of(1000, 9000, 10_000).unwrap()
}

fn with<'a>(more: &[&'a str]) -> Vec<&'a str> {
    RUN.iter().chain(more).copied().collect()
}

fn all_calls(sandbox: &Sandbox, store: &str) -> (usize, u32) {
    block_on(async {
        let store = opened(&sandbox.directory().join(store)).await;
        let (mut sent, mut lost) = (0, 0);
        let mut ids = BTreeSet::new();
        for debate in &plan_of(sandbox).plan.debates {
            let (finished, events) = finished(&store, debate).await;
            assert!(ids.insert(finished.header.id.clone()));
            sent += check_calls(finished.header.lost, &events);
            lost += finished.header.lost.calls;
        }
        (sent, lost)
    })
}

/// Waits until so many refinements are under way.
fn wait_for_refinements(server: &MockServer, count: usize) {
    let limit = Instant::now() + Duration::from_mins(1);
    while server.requests().iter().filter(|request| request.purpose == Purpose::Refine).count() < count {
        assert!(Instant::now() < limit, "{:?}", server.calls());
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_worker_stopped_past_its_lease_sends_nothing_more_while_another_goes_on_and_after() {
    let (expected, requests, _) = undisturbed();
    for is_finished in [true, false] {
        let (first, second) = (Gate::shut(), Gate::shut());
        let count = AtomicUsize::new(0);
        let (held, then_held) = (first.clone(), second.clone());
        // Both agents refine at the same time, and nothing else goes on then: the calls of the first worker are held up,
        // and those of the other one if it is not to finish.
        let server = MockServer::with(move |request| {
            let reply = default_reply(request);
            if request.purpose != Purpose::Refine {
                return reply;
            }
            match count.fetch_add(1, Ordering::SeqCst) {
                0 | 1 => reply.word_by_word().held(&held),
                2 | 3 if !is_finished => reply.word_by_word().held(&then_held),
                _ => reply,
            }
        });
        let sandbox = planned(&server, 1, None);
        let times = slow().to_string();
        let stopped = sandbox.spawn(with(&["--times", &times]));
        wait_for_refinements(&server, 2);
        assert!(server.requests().len() < requests, "something follows");
        stopped.signal(Signal::SIGSTOP);
        let other = sandbox.spawn(with(&["--times", &times]));
        if is_finished {
            other.wait().expect_code(0);
            let before = server.requests().len();
            first.open();
            stopped.signal(Signal::SIGCONT);
            // It finds that the debate is finished.
            stopped.wait().expect_code(0);
            assert_eq!(server.requests().len(), before);
        } else {
            wait_for_refinements(&server, 4);
            let before = server.requests().len();
            first.open();
            stopped.signal(Signal::SIGCONT);
            let gave_up = stopped.wait().expect_code(75);
            assert!(gave_up.stderr.contains("another worker runs it"), "{gave_up}");
            assert_eq!(server.requests().len(), before);
            second.open();
            other.wait().expect_code(0);
        }
        let (sent, lost) = all_calls(&sandbox, "plan.store");
        assert!(lost >= 1 && server.requests().len() <= sent, "{lost} lost, {sent}");
        assert_eq!(sent, requests + lost as usize);
        // No budget belongs to this set, and it makes no difference.
        assert_eq!(collected(&sandbox, "plan.store"), expected);
        server.assert_clean();
    }
}

#[test]
fn a_worker_taken_for_dead_sends_nothing_more_though_its_beats_are_young_and_its_segments_gone() {
    let (expected, requests, _) = undisturbed();
    let gate = Gate::shut();
    let server = holding(3, &gate);
    let sandbox = planned(&server, 1, None);
    let alive = sandbox.spawn(with(&["--times", &slow().to_string()]));
    server.wait_for_requests(3);
    // A worker whose machine sleeps between a look and the next step does not see these beats either.
    let (plan, path) = (plan_of(&sandbox), sandbox.directory().join("plan.store"));
    let ended = block_on(async {
        let blind = Blind { store: opened(&path).await, is_gone: false, lists: AtomicUsize::new(0) };
        let blind = Arc::new(blind);
        // The first looks may see calls that came back.
        loop {
            let ended = work(&plan, &server, Arc::clone(&blind) as SharedStore, slow(), OPTIONS).await;
            if !matches!(ended[..], [Ended::Later { .. }]) {
                break ended;
            }
        }
    });
    assert!(matches!(ended[..], [Ended::Finished { before: false, .. }]), "{ended:?}");
    let (before, files) = (server.requests().len(), sandbox.files());
    gate.open();
    alive.wait().expect_code(0);
    assert_eq!(server.requests().len(), before);
    let (sent, lost) = all_calls(&sandbox, "plan.store");
    assert!(lost >= 1 && before <= sent && sent == requests + lost as usize, "{before}, {sent}, {lost}");
    assert_eq!(collected(&sandbox, "plan.store"), expected);
    // What begins the second epoch is still there, and bars the way for good.
    let segments = |files: &[(PathBuf, Vec<u8>)]| {
        files.iter().filter(|(path, _)| path.to_string_lossy().contains("/segments/")).count()
    };
    assert_eq!((segments(&files), segments(&sandbox.files())), (1, 1));
}

#[test]
fn a_store_that_is_gone_is_not_asked_for_every_debate() {
    let server = MockServer::with(default_reply);
    let sandbox = planned(&server, 5, None);
    let (plan, path) = (plan_of(&sandbox), sandbox.directory().join("plan.store"));
    let (ended, lists) = block_on(async {
        let blind = Arc::new(Blind { store: opened(&path).await, is_gone: true, lists: AtomicUsize::new(0) });
        let ended = work(&plan, &server, Arc::clone(&blind) as SharedStore, times(), OPTIONS).await;
        (ended, blind.lists.load(Ordering::SeqCst))
    });
    // Two at once find out.
    assert!(lists <= 2, "{lists}");
    assert_eq!(ended.len(), 5);
    for ended in ended {
        let Ended::Later { reason } = ended else { panic!("{ended:?}") };
        assert!(reason.ends_with("no route to host"), "{reason}");
    }
}

#[test]
fn a_worker_told_to_stop_waits_for_answers_under_way_and_another_goes_on_at_once() {
    let (expected, requests, _) = undisturbed();
    for number in [1, 4] {
        let gate = Gate::shut();
        let server = holding(number, &gate);
        let sandbox = planned(&server, 1, None);
        let running = sandbox.spawn(RUN);
        server.wait_for_requests(number);
        running.signal(Signal::SIGTERM);
        // It waits for the answer as long as that takes.
        std::thread::sleep(Duration::from_millis(300));
        gate.open();
        let stopped = running.wait().expect_code(75);
        assert!(stopped.stderr.contains("the worker was told to stop"), "{stopped}");
        let sent = server.requests().len();
        assert!(sent < requests, "{sent}");
        // With the usual times nobody would take it over within a minute.
        sandbox.run(RUN).expect_code(0);
        assert_eq!(server.requests().len(), requests, "no answer was lost");
        assert_eq!(all_calls(&sandbox, "plan.store"), (requests, 0));
        assert_eq!(collected(&sandbox, "plan.store"), expected);
    }
}

#[test]
fn workers_that_race_for_every_debate_hold_each_once() {
    let server = MockServer::with(default_reply);
    let sandbox = planned(&server, 6, Some(200.0));
    sandbox.run(with(&["--store", "alone", "--jobs", "3"])).expect_code(0);
    let alone = server.requests().len();
    let expected = collected(&sandbox, "alone");
    server.forget();
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                loop {
                    let ended = sandbox.run(with(&["--store", "raced", "--jobs", "3", "--wait", "0"]));
                    match ended.code {
                        Some(0) => break,
                        Some(75) => {}
                        _ => panic!("{ended}"),
                    }
                }
            });
        }
    });
    assert_eq!(server.requests().len(), alone);
    assert_eq!(all_calls(&sandbox, "raced"), (alone, 0));
    assert_eq!(collected(&sandbox, "raced"), expected);
    // What is finished is one object.
    let debates = std::fs::read_dir(sandbox.directory().join("raced/debates")).unwrap();
    for debate in debates {
        let path = debate.unwrap().path();
        let files = sandbox.files().into_iter().filter(|(file, _)| sandbox.directory().join(file).starts_with(&path));
        assert_eq!(files.count(), 1, "{}", path.display());
    }
}

// ---------------------------------------------------------------------------------------------------------------------
// Exit codes

#[test]
fn what_cannot_run_is_said_before_anything_is_paid() {
    let server = MockServer::with(default_reply);
    let sandbox = planned(&server, 2, None);
    let refused = |arguments: &[&str], code: i32, said: &str| {
        let ended = sandbox.run(with(arguments)).expect_code(code);
        assert!(ended.stderr.contains(said), "{ended}");
    };
    refused(&["--index", "2"], 2, "the plan has no debate 2: the indices are 0 to 1");
    refused(&["--times", "60,60,90"], 2, "three numbers of milliseconds");
    refused(&["--times", "20,90,60"], 2, "three numbers of milliseconds");
    refused(&["--store", "gs://bucket"], 2, "is not a store");
    sandbox.run(with(&["--index", "0"])).expect_code(0);
    let before = server.requests().len();
    refused(&["--index", "1", "--times", "100,200,300"], 2, "a different interval between beats");
    // Another plan.
    sandbox.write("problems.jsonl", json!({"id": "other", "problem": "Design a stack"}).to_string());
    sandbox.run(["sweep", "plan", "sweep.json", "-o", "other.jsonl"]).expect_code(0);
    let other = sandbox.run(["sweep", "run", "other.jsonl", "--store", "plan.store"]).expect_code(2);
    assert!(other.stderr.contains("belongs to another plan"), "{other}");
    // Without a key there is nothing to run with; what is finished needs none.
    let keyless = sandbox.env("OPENAI_API_KEY", "");
    keyless.run(with(&["--index", "1"])).expect_code(4);
    keyless.run(with(&["--index", "0"])).expect_code(0);
    assert_eq!(server.requests().len(), before);
}

#[test]
fn a_debate_that_fails_gives_its_grant_back_and_is_resumed_on_request_only() {
    let server = failing();
    let sandbox = planned(&server, 1, Some(20.0));
    let failed = sandbox.run(RUN).expect_code(3);
    assert!(failed.stderr.contains("failed: "), "{failed}");
    assert!(failed.stderr.contains("`--retry-failed` resumes the failed debates"), "{failed}");
    let status = || {
        let said = sandbox.run(["sweep", "status", "plan.jsonl", "--json"]).expect_code(0);
        serde_json::from_str::<Value>(&said.stdout).unwrap()
    };
    let left = |status: &Value| status["budget"]["leftUsd"].as_f64().unwrap();
    let after = status();
    assert_eq!((&after["failed"], &after["budget"]["heldUsd"]), (&json!(1), &json!(0.0)), "{after}");
    assert!(left(&after) < 20.0 && left(&after) > 19.0, "{after}");

    // It would succeed now, and is neither paid for nor taken.
    server.set_script(default_reply);
    let (asked, files) = (server.requests().len(), sandbox.files());
    let again = sandbox.run(RUN).expect_code(3);
    assert!(again.stderr.contains("failed: "), "{again}");
    assert_eq!((server.requests().len(), sandbox.files()), (asked, files));
    assert_eq!(status(), after);

    sandbox.run(with(&["--retry-failed"])).expect_code(0);
    let resumed = status();
    assert_eq!((&resumed["finished"], &resumed["budget"]["heldUsd"]), (&json!(1), &json!(0.0)), "{resumed}");
    assert!(left(&resumed) < left(&after), "{resumed}");
}

#[test]
fn a_failed_debate_does_not_fail_again_while_another_has_to_be_tried_again() {
    let gate = Gate::shut();
    let held = gate.clone();
    let server = MockServer::with(move |request| {
        if request.text().contains("Design queue 0") {
            return Reply::error(401, "no such key");
        }
        default_reply(request).word_by_word().held(&held)
    });
    let sandbox = planned(&server, 2, None);
    let holding = sandbox.spawn(with(&["--index", "1"]));
    server.wait_for_requests(1);
    let failing = || server.requests().iter().filter(|request| request.text().contains("Design queue 0")).count();
    sandbox.run(with(&["--wait", "0"])).expect_code(75);
    let asked = failing();
    assert!(asked > 0);
    for _ in 0..2 {
        sandbox.run(with(&["--wait", "0"])).expect_code(75);
    }
    assert_eq!(failing(), asked);
    gate.open();
    holding.wait().expect_code(0);
    sandbox.run(RUN).expect_code(3);
    assert_eq!(failing(), asked);
}

#[test]
fn prices_of_a_plan_are_not_remembered_as_those_of_the_user() {
    let server = MockServer::with(default_reply);
    let sandbox = planned(&server, 1, None);
    let remembers = || sandbox.files().iter().any(|(path, _)| path.ends_with("named-prices.jsonl"));
    sandbox.run(RUN).expect_code(0);
    assert!(!remembers());
    // The user has named this file.
    sandbox.run(["debate", "-c", "debate-config.json", "Design a queue"]).expect_code(0);
    assert!(remembers());
}

#[test]
fn a_damaged_debate_is_refused_by_the_next_worker_at_once() {
    let gate = Gate::shut();
    let server = holding(2, &gate);
    let sandbox = planned(&server, 2, None);
    let running = sandbox.spawn(with(&["--index", "0"]));
    server.wait_for_requests(2);
    running.signal(Signal::SIGTERM);
    gate.open();
    running.wait().expect_code(75);
    let ids: Vec<String> = plan_of(&sandbox).plan.debates.iter().map(|debate| debate.id.to_string()).collect();
    let segments = |id: &str| sandbox.directory().join("plan.store/debates").join(id).join("segments");
    std::fs::create_dir_all(segments(&ids[1])).unwrap();
    for file in std::fs::read_dir(segments(&ids[0])).unwrap() {
        let file = file.unwrap();
        std::fs::copy(file.path(), segments(&ids[1]).join(file.file_name())).unwrap();
    }
    let asked = server.requests().len();
    for _ in 0..2 {
        let refused = sandbox.run(with(&["--index", "1", "--wait", "0"])).expect_code(2);
        assert!(refused.stderr.contains("belongs to another debate"), "{refused}");
    }
    std::fs::remove_file(segments(&ids[1]).join("00000001")).unwrap();
    for _ in 0..2 {
        let refused = sandbox.run(with(&["--index", "1", "--wait", "0"])).expect_code(2);
        assert!(refused.stderr.contains("the segment 1 is missing"), "{refused}");
    }
    assert_eq!(server.requests().len(), asked);
}

/// A store that does not take segments of so many bytes, and whose segments are slow to list.
#[derive(Debug)]
struct Narrow {
    store: SharedStore,
    most: usize,
    pause: Duration,
}

impl Store for Narrow {
    fn create<'a>(&'a self, name: &'a str, bytes: &'a [u8]) -> BoxFuture<'a, Result<Creation, StoreFault>> {
        if name.contains("/segments/") && bytes.len() >= self.most {
            let (name, place) = (name.to_owned(), self.place());
            let fault = StoreFault { doing: "create", name, place, source: "operation timed out".into() };
            return Box::pin(async { Err(fault) });
        }
        self.store.create(name, bytes)
    }

    fn get<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<Vec<u8>>, StoreFault>> {
        self.store.get(name)
    }

    fn list<'a>(&'a self, prefix: &'a str) -> BoxFuture<'a, Result<Vec<String>, StoreFault>> {
        Box::pin(async move {
            if prefix.ends_with("/segments") {
                tokio::time::sleep(self.pause).await;
            }
            self.store.list(prefix).await
        })
    }

    fn remove<'a>(&'a self, names: &'a [String]) -> BoxFuture<'a, Result<(), StoreFault>> {
        self.store.remove(names)
    }

    fn place(&self) -> String {
        self.store.place()
    }
}

#[test]
fn a_segment_that_the_store_never_takes_ends_the_debate_with_an_error() {
    let server = MockServer::with(default_reply);
    let sandbox = planned(&server, 1, None);
    let (plan, path) = (plan_of(&sandbox), sandbox.directory().join("plan.store"));
    let ended = block_on(async {
        // That of the debate's settings is larger.
        let narrow = Narrow { store: opened(&path).await, most: 1000, pause: Duration::ZERO };
        work(&plan, &server, Arc::new(narrow), times(), OPTIONS).await
    });
    let [Ended::Refused { reason, blame: ErrorCategory::General }] = &ended[..] else { panic!("{ended:?}") };
    assert!(reason.contains("operation timed out; it has "), "{reason}");
    assert!(server.requests().is_empty());
}

#[test]
fn a_lease_lasts_while_a_long_journal_is_read() {
    let server = MockServer::with(default_reply);
    let sandbox = planned(&server, 1, None);
    let (plan, path) = (plan_of(&sandbox), sandbox.directory().join("plan.store"));
    let ended = block_on(async {
        let (most, pause) = (usize::MAX, Duration::from_millis(2500));
        let slow = Narrow { store: opened(&path).await, most, pause };
        work(&plan, &server, Arc::new(slow), Times::of(300, 2000, 2200).unwrap(), OPTIONS).await
    });
    assert!(matches!(ended[..], [Ended::Finished { .. }]), "{ended:?}");
}

#[test]
fn a_spent_budget_is_said_with_a_code_of_its_own() {
    let server = MockServer::with(|request| default_reply(request).usage(50_000, 0, 5_000));
    let sandbox = planned(&server, 3, Some(20.0));
    let spent = sandbox.run(RUN).expect_code(8);
    assert!(spent.stderr.contains("1 of 3 debates finished, 2 beyond the budget"), "{spent}");
    let asked = server.requests().len();
    sandbox.run(RUN).expect_code(8);
    assert_eq!(server.requests().len(), asked);
}

#[test]
fn a_server_that_is_gone_is_tried_again() {
    let gate = Gate::shut();
    let server = holding(4, &gate);
    let sandbox = planned(&server, 1, None);
    let running = sandbox.spawn(RUN);
    server.wait_for_requests(4);
    let address = server.address();
    drop(server);
    let gone = running.wait().expect_code(75);
    assert!(gone.stderr.contains("its server is unreachable"), "{gone}");
    let back = MockServer::again(address, default_reply);
    sandbox.run(RUN).expect_code(0);
    back.assert_clean();
}
