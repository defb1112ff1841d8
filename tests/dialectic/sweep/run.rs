//! `dialectic sweep run`: workers that are told to stop, killed and doubled, and what their debates are then.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use dialectic_base::money::Usd;
use dialectic_cli::sweep::Stored;
use dialectic_cli::sweep::collect::{jsonl, read_rows};
use dialectic_cli::sweep::plan::{Machine, PlannedDebate, SavedPlan};
use dialectic_cli::sweep::status::Lost;
use dialectic_cli::sweep::store::{self, Creation, SharedStore, Store, StoreFault};
use dialectic_cli::sweep::worker::{Ended, Stop, Worker};
use dialectic_engine::access::Environment;
use dialectic_record::event::{Event, Recorded};
use dialectic_record::ids::CallKey;
use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use nix::sys::signal::Signal;
use serde_json::json;
use tokio::sync::Notify;

use super::status;
use crate::budget::priced;
use crate::support::{Gate, MockServer, Reply, Sandbox, TEST_KEY, default_reply, sample};

const RUN: [&str; 3] = ["sweep", "run", "plan.jsonl"];

/// A set of so many problems, whose debates are far from their limits.
fn planned(server: &MockServer, problems: usize) -> Sandbox {
    let problem = |n| json!({"id": format!("p{n}"), "problem": format!("Design queue {n}")}).to_string();
    let problems = (0..problems).map(problem).collect::<Vec<_>>().join("\n");
    let sandbox = Sandbox::new()
        .limit(Duration::from_mins(3))
        .model_server(server)
        .config(&priced(&["architect", "kiss"], &json!({"rounds": 1})))
        .file("problems.jsonl", problems)
        .file("sweep.json", json!({"problems": ["problems.jsonl"], "maxCost": 20}).to_string());
    sandbox.run(["sweep", "plan", "sweep.json", "-o", "plan.jsonl"]).expect_code(0);
    sandbox
}

fn with<'a>(more: &[&'a str]) -> Vec<&'a str> {
    RUN.iter().chain(more).copied().collect()
}

fn collected(sandbox: &Sandbox, store: &str) -> String {
    block_on(async {
        let store = opened(&sandbox.directory().join(store)).await;
        let plan = plan_of(sandbox);
        let rows = read_rows(&plan, &*store).await.unwrap();
        assert_eq!(rows.len(), plan.plan.debates.len());
        String::from_utf8(jsonl(&rows)).unwrap()
    })
}

fn plan_of(sandbox: &Sandbox) -> SavedPlan {
    SavedPlan::read(&sandbox.directory().join("plan.jsonl")).unwrap()
}

async fn opened(path: &Path) -> SharedStore {
    store::open(path.to_str().unwrap(), &Environment::default()).await.unwrap()
}

async fn events(store: &SharedStore, debate: &PlannedDebate) -> Vec<Recorded> {
    let stored = Stored::read(&**store, &debate.id).await.unwrap();
    stored.debate(&**store, &debate.id).unwrap().expect("it was started").1
}

/// Sees to it that every call has one result, and that none was made again whose result was there. Returns the number
/// of requests that may have been sent, and of lost calls.
fn check_calls(events: &[Recorded]) -> (usize, usize) {
    let mut results: BTreeMap<CallKey, usize> = BTreeMap::new();
    let mut open: BTreeMap<u64, CallKey> = BTreeMap::new();
    let (mut reservations, mut lost) = (0, 0);
    for recorded in events {
        if let Event::CostReserved { key, .. } = &recorded.event {
            assert!(!results.contains_key(key), "{key:?} was made again");
            reservations += 1;
            open.insert(recorded.seq, key.clone());
        }
        if matches!(recorded.event, Event::Resumed(_)) {
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
    let counted = Lost::of(events);
    assert_eq!((reservations - results.len(), counted.calls as usize), (lost, lost));
    assert_eq!(counted.usd > Usd::ZERO, lost > 0);
    (reservations, lost)
}

/// On a runtime that ends with everything in it, as a process does.
fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let output = runtime.block_on(future);
    runtime.shutdown_background();
    output
}

/// Works through a plan. Returns how its debates ended.
async fn work(plan: &SavedPlan, server: &MockServer, store: SharedStore, stop: Stop) -> Vec<Ended> {
    let own = tempfile::tempdir().unwrap();
    let prompts: PathBuf = own.path().join("prompts");
    plan.plan.unpack(&prompts).unwrap();
    let url = server.base_url();
    let environment = Environment::from_pairs([("OPENAI_API_KEY", TEST_KEY), ("OPENAI_BASE_URL", url.as_str())]);
    let machine = Machine { providers: BTreeMap::new(), environment, prompts };
    let worker = Worker::begin(plan, store, machine, own.path(), stop).await.unwrap();
    worker.run(plan.plan.debates.clone(), 2, false).map(|(_, ended)| ended).collect().await
}

/// What an undisturbed run leaves: its results, its number of requests, and of operations of its store.
fn undisturbed() -> (String, usize, usize) {
    let server = MockServer::with(default_reply);
    let sandbox = planned(&server, 1);
    let path = sandbox.directory().join("plan.store");
    let (ended, operations) = worker(&plan_of(&sandbox), &server, &path, None);
    assert!(matches!(ended.as_deref(), Some([Ended::Finished { before: false, .. }])), "{ended:?}");
    (collected(&sandbox, "plan.store"), server.requests().len(), operations)
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
    block_on(async {
        let (kill_at, is_done) = kill.unwrap_or((usize::MAX, false));
        let (store, killed) = (opened(store).await, Notify::new());
        let deadly = Arc::new(Deadly { store, operations: AtomicUsize::new(0), kill_at, is_done, killed });
        let ended = tokio::select! {
            ended = work(plan, server, Arc::clone(&deadly) as SharedStore, Stop::default()) => Some(ended),
            () = deadly.killed.notified() => None,
        };
        (ended, deadly.operations.load(Ordering::SeqCst))
    })
}

#[test]
fn a_worker_killed_at_any_operation_of_its_store_repeats_no_call_whose_result_is_there() {
    let (expected, requests, operations) = undisturbed();
    assert!(requests > 5 && operations > requests, "{requests}, {operations}");
    let server = MockServer::with(default_reply);
    let sandbox = planned(&server, 1);
    // Which calls end together is up to the machine: a few operations more or less.
    let moments = (1..=operations + 3).flat_map(|at| [(at, false), (at, true)]);
    let lost = sample(moments, 12).into_iter().map(|moment| killed(&sandbox, &server, moment, &expected));
    assert!(lost.sum::<usize>() > 0, "no request was in flight when a worker was killed");
}

/// Kills a worker, lets another go on, and returns how many calls were lost.
fn killed(sandbox: &Sandbox, server: &MockServer, moment: (usize, bool), expected: &str) -> usize {
    server.forget();
    let (plan, name) = (plan_of(sandbox), format!("{}-{}", moment.0, moment.1));
    let path = sandbox.directory().join(&name);
    worker(&plan, server, &path, Some(moment));
    let (ended, _) = worker(&plan, server, &path, None);
    assert!(matches!(ended.as_deref(), Some([Ended::Finished { .. }])), "{moment:?}: {ended:?}");
    assert_eq!(collected(sandbox, &name), *expected, "{moment:?}");
    let events = block_on(async { events(&opened(&path).await, &plan.plan.debates[0]).await });
    let (may_be_sent, lost) = check_calls(&events);
    // Whoever was killed sent nothing that is not on record.
    assert!(server.requests().len() <= may_be_sent, "{moment:?}: {} of {may_be_sent}", server.requests().len());
    server.assert_clean();
    lost
}

// ---------------------------------------------------------------------------------------------------------------------
// Doubled and stopped

/// Holds up the request of that number until the gate opens.
fn holding(number: usize, gate: &Gate) -> MockServer {
    let (gate, count) = (gate.clone(), AtomicUsize::new(0));
    MockServer::with(move |request| {
        let reply = default_reply(request);
        if count.fetch_add(1, Ordering::SeqCst) + 1 == number { reply.word_by_word().held(&gate) } else { reply }
    })
}

/// An engine that loses sight of a worker gives its debate to another, which continues at once. The first one finds the
/// name of its next segment taken.
#[test]
fn of_two_workers_at_a_debate_the_later_one_goes_on_and_the_other_says_so_and_sends_nothing_more() {
    let (expected, requests, _) = undisturbed();
    let gate = Gate::shut();
    let server = holding(3, &gate);
    let sandbox = planned(&server, 1);
    let first = sandbox.spawn(RUN);
    server.wait_for_requests(3);
    sandbox.run(RUN).expect_code(0);
    let before = server.requests().len();
    gate.open();
    let stopped = first.wait().expect_code(1);
    assert!(stopped.stderr.contains("stopped: another worker has taken it over"), "{stopped}");
    assert!(stopped.stderr.contains("run each debate in only one process at a time"), "{stopped}");
    assert_eq!(server.requests().len(), before);
    let events = block_on(async {
        events(&opened(&sandbox.directory().join("plan.store")).await, &plan_of(&sandbox).plan.debates[0]).await
    });
    let (sent, lost) = check_calls(&events);
    assert!(lost >= 1 && before <= sent && sent == requests + lost, "{before}, {sent}, {lost}");
    assert_eq!(collected(&sandbox, "plan.store"), expected);
    assert_eq!(status(&sandbox)["lost"]["calls"], lost);
}

#[test]
fn a_worker_told_to_stop_waits_for_answers_under_way_and_another_goes_on_at_once() {
    let (expected, requests, _) = undisturbed();
    for number in [1, 4] {
        let gate = Gate::shut();
        let server = holding(number, &gate);
        let sandbox = planned(&server, 1);
        let (plan, path) = (plan_of(&sandbox), sandbox.directory().join("plan.store"));
        let ended = block_on(async {
            let stop = Stop::default();
            let stopping = async {
                let asked = async {
                    while server.requests().len() < number {
                        tokio::time::sleep(Duration::from_millis(5)).await;
                    }
                };
                tokio::time::timeout(Duration::from_mins(1), asked).await.expect("the requests come");
                stop.begun.cancel();
                // Let the worker notice the stop before the answer arrives.
                tokio::task::yield_now().await;
                gate.open();
            };
            tokio::join!(work(&plan, &server, opened(&path).await, stop.clone()), stopping).0
        });
        assert_eq!(ended, [Ended::Later { reason: "the worker was told to stop".to_owned() }]);
        assert!(server.requests().len() < requests, "{}", server.requests().len());
        worker(&plan, &server, &path, None);
        assert_eq!(server.requests().len(), requests, "no answer was lost");
        let events = block_on(async { events(&opened(&path).await, &plan.plan.debates[0]).await });
        assert_eq!(check_calls(&events).1, 0, "no call counts as lost");
        assert_eq!(collected(&sandbox, "plan.store"), expected);
    }
}

// ---------------------------------------------------------------------------------------------------------------------
// Exit codes

#[test]
fn what_cannot_run_is_said_before_anything_is_paid() {
    let server = MockServer::with(default_reply);
    let sandbox = planned(&server, 2);
    let refused = |arguments: &[&str], code: i32, said: &str| {
        let ended = sandbox.run(with(arguments)).expect_code(code);
        assert!(ended.stderr.contains(said), "{ended}");
    };
    refused(&["--index", "2"], 2, "no debate 2 in this plan (0 to 1)");
    refused(&["--store", "gs://bucket"], 2, "is not a store");
    sandbox.run(with(&["--index", "0"])).expect_code(0);
    let before = server.requests().len();
    // Without a key there is nothing to run with; what is finished needs none.
    let keyless = sandbox.env("OPENAI_API_KEY", "");
    keyless.run(with(&["--index", "1"])).expect_code(4);
    keyless.run(with(&["--index", "0"])).expect_code(0);
    assert_eq!(server.requests().len(), before);
}

#[test]
fn a_failed_debate_is_resumed_on_request_only() {
    let server =
        MockServer::with(
            |request| if request.index < 2 { default_reply(request) } else { Reply::error(401, "no such key") },
        );
    let sandbox = planned(&server, 1);
    let failed = sandbox.run(RUN).expect_code(3);
    assert!(failed.stderr.contains("failed: "), "{failed}");
    assert!(failed.stderr.contains("`--retry-failed` to resume the failed debates"), "{failed}");
    assert_eq!(status(&sandbox)["failed"], 1);

    // It would succeed now, and is neither paid for nor taken.
    server.set_script(default_reply);
    let (asked, files) = (server.requests().len(), sandbox.files());
    let again = sandbox.run(RUN).expect_code(3);
    assert!(again.stderr.contains("failed: "), "{again}");
    assert_eq!((server.requests().len(), sandbox.files()), (asked, files));

    sandbox.run(with(&["--retry-failed"])).expect_code(0);
    assert_eq!(status(&sandbox)["finished"], 1);
}

#[test]
fn a_damaged_debate_is_refused_by_the_next_worker_at_once() {
    let gate = Gate::shut();
    let server = holding(2, &gate);
    let sandbox = planned(&server, 2);
    let running = sandbox.spawn(with(&["--index", "0"]));
    server.wait_for_requests(2);
    running.signal(Signal::SIGTERM);
    gate.open();
    let stopped = running.wait().expect_code(75);
    assert!(stopped.stderr.contains("the worker was told to stop"), "{stopped}");
    let ids: Vec<String> = plan_of(&sandbox).plan.debates.iter().map(|debate| debate.id.to_string()).collect();
    let segments = |id: &str| sandbox.directory().join("plan.store/debates").join(id).join("segments");
    std::fs::create_dir_all(segments(&ids[1])).unwrap();
    for file in std::fs::read_dir(segments(&ids[0])).unwrap() {
        let file = file.unwrap();
        std::fs::copy(file.path(), segments(&ids[1]).join(file.file_name())).unwrap();
    }
    let asked = server.requests().len();
    let refused = |said: &str| {
        let refused = sandbox.run(with(&["--index", "1"])).expect_code(2);
        assert!(refused.stderr.contains(said), "{refused}");
    };
    refused(&format!("is damaged: it contains another debate, {}", ids[0]));
    std::fs::remove_file(segments(&ids[1]).join("00000001")).unwrap();
    refused("segment 1 is missing");
    assert_eq!(server.requests().len(), asked);
}

#[test]
fn a_server_that_is_gone_is_tried_again() {
    let gate = Gate::shut();
    let server = holding(4, &gate);
    let sandbox = planned(&server, 1);
    let running = sandbox.spawn(RUN);
    server.wait_for_requests(4);
    let address = server.address();
    drop(server);
    let gone = running.wait().expect_code(75);
    assert!(gone.stderr.contains("the model's server is unreachable"), "{gone}");
    let back = MockServer::again(address, default_reply);
    sandbox.run(RUN).expect_code(0);
    back.assert_clean();
}

/// A store in which nothing can be listed, or no segment created.
#[derive(Debug)]
struct Broken {
    store: SharedStore,
    takes_segments: bool,
    lists: AtomicUsize,
}

impl Broken {
    fn fault<T>(&self, doing: &'static str, name: &str) -> Result<T, StoreFault> {
        let source = "no route to host".into();
        Err(StoreFault { doing, name: name.to_owned(), place: self.store.place(), source })
    }
}

impl Store for Broken {
    fn create<'a>(&'a self, name: &'a str, bytes: &'a [u8]) -> BoxFuture<'a, Result<Creation, StoreFault>> {
        if name.contains("/segments/") && !self.takes_segments {
            return Box::pin(async { self.fault("create", name) });
        }
        self.store.create(name, bytes)
    }

    fn get<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<Vec<u8>>, StoreFault>> {
        self.store.get(name)
    }

    fn list<'a>(&'a self, prefix: &'a str) -> BoxFuture<'a, Result<Vec<String>, StoreFault>> {
        self.lists.fetch_add(1, Ordering::SeqCst);
        if self.takes_segments {
            return Box::pin(async { self.fault("list", prefix) });
        }
        self.store.list(prefix)
    }

    fn place(&self) -> String {
        self.store.place()
    }
}

#[test]
fn nothing_is_sent_without_a_store_and_one_that_is_gone_is_not_asked_for_every_debate() {
    let server = MockServer::with(default_reply);
    let sandbox = planned(&server, 5);
    let (plan, path) = (plan_of(&sandbox), sandbox.directory().join("plan.store"));
    for takes_segments in [true, false] {
        let (ended, lists) = block_on(async {
            let broken = Broken { store: opened(&path).await, takes_segments, lists: AtomicUsize::new(0) };
            let broken = Arc::new(broken);
            let ended = work(&plan, &server, Arc::clone(&broken) as SharedStore, Stop::default()).await;
            (ended, broken.lists.load(Ordering::SeqCst))
        });
        // Two at once find out.
        assert!(!takes_segments || lists <= 2, "{lists}");
        assert_eq!(ended.len(), 5);
        for ended in ended {
            let Ended::Later { reason } = ended else { panic!("{ended:?}") };
            assert!(reason.ends_with("no route to host"), "{reason}");
        }
    }
    assert!(server.requests().is_empty());
}
