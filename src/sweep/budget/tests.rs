//! No money is spent twice and none is lost, whoever dies between any two actions.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::process::Command;
use std::sync::{Arc, Mutex as StdMutex, PoisonError};
use std::task::{Context, Poll, Waker};

use proptest::prelude::*;
use serde::{Deserialize, Serialize};

use super::super::store::{self, Store};
use super::*;
use dialectic_engine::access::Environment;

/// A store in memory. Between an action and what it does, and between that and its acknowledgement, others act.
#[derive(Debug, Default)]
struct Memory {
    objects: StdMutex<BTreeMap<String, Vec<u8>>>,
}

impl Memory {
    async fn act<T>(&self, action: impl FnOnce(&mut BTreeMap<String, Vec<u8>>) -> T) -> T {
        tokio::task::yield_now().await;
        let done = action(&mut self.objects.lock().unwrap_or_else(PoisonError::into_inner));
        tokio::task::yield_now().await;
        done
    }
}

impl Store for Memory {
    fn create<'a>(&'a self, name: &'a str, bytes: &'a [u8]) -> BoxFuture<'a, Result<Creation, StoreFault>> {
        Box::pin(async move {
            let created = |objects: &mut BTreeMap<String, Vec<u8>>| {
                let there = objects.entry(name.to_owned()).or_insert_with(|| bytes.to_owned());
                if there == bytes { Creation::Acknowledged } else { Creation::Taken }
            };
            Ok(self.act(created).await)
        })
    }

    fn get<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<Vec<u8>>, StoreFault>> {
        Box::pin(async move { Ok(self.act(|objects| objects.get(name).cloned()).await) })
    }

    fn list<'a>(&'a self, prefix: &'a str) -> BoxFuture<'a, Result<Vec<String>, StoreFault>> {
        Box::pin(async move {
            let below = format!("{prefix}/");
            let listed = |objects: &mut BTreeMap<String, Vec<u8>>| {
                objects.keys().filter_map(|name| name.strip_prefix(&below)).map(str::to_owned).collect()
            };
            Ok(self.act(listed).await)
        })
    }

    fn remove<'a>(&'a self, names: &'a [String]) -> BoxFuture<'a, Result<(), StoreFault>> {
        Box::pin(async move {
            self.act(|objects| objects.retain(|name, _| !names.contains(name))).await;
            Ok(())
        })
    }

    fn place(&self) -> String {
        "memory".to_owned()
    }
}

/// What a worker writes of a debate here: that it took it over, a claim, that it is about to send a request, or that the
/// debate has its answer.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Segment {
    worker: String,
    claim: Option<Claim>,
    #[serde(with = "exact")]
    reserved: Usd,
    is_complete: bool,
}

/// A debate: its limit and what each of its requests costs. After the first `fails_after` of them it ends without an
/// answer, once, if there are more.
#[derive(Debug, Clone)]
struct Planned {
    id: DebateId,
    limit: Usd,
    requests: Vec<Usd>,
    fails_after: usize,
}

struct Segments<'s> {
    store: &'s dyn Store,
    debate: &'s DebateId,
    worker: &'s str,
    written: Vec<Segment>,
}

#[derive(Debug, thiserror::Error)]
#[error("the debate belongs to another worker now")]
struct Lost;

impl Diagnostic for Lost {
    fn blame(&self) -> ErrorCategory {
        ErrorCategory::Busy
    }
}

impl Segments<'_> {
    fn prefix(debate: &DebateId) -> String {
        format!("debates/{debate}/segments")
    }

    async fn write(&mut self, segment: Segment) -> Result<(), Lost> {
        let segment = Segment { worker: self.worker.to_owned(), ..segment };
        let name = format!("{}/{:08}", Self::prefix(self.debate), self.written.len() + 1);
        match self.store.create(&name, &serde_json::to_vec(&segment).unwrap()).await.unwrap() {
            Creation::Acknowledged => self.written.push(segment),
            Creation::Taken => return Err(Lost),
        }
        Ok(())
    }

    fn last_claim(&self) -> Option<Claim> {
        self.written.iter().rev().find_map(|segment| segment.claim)
    }

    fn reserved(&self) -> Usd {
        self.written.iter().map(|segment| segment.reserved).sum()
    }
}

impl Claims for Segments<'_> {
    fn note<'a>(&'a mut self, claim: &'a Claim) -> BoxFuture<'a, Result<(), Box<dyn Diagnostic>>> {
        Box::pin(async move {
            self.write(Segment { claim: Some(*claim), ..Segment::default() }).await.map_err(|lost| Box::new(lost) as _)
        })
    }
}

async fn segments_of(store: &dyn Store, debate: &DebateId) -> Vec<Segment> {
    let prefix = Segments::prefix(debate);
    let mut segments = Vec::new();
    for name in store.list(&prefix).await.unwrap() {
        let bytes = store.get(&format!("{prefix}/{name}")).await.unwrap().unwrap();
        segments.push(serde_json::from_slice(&bytes).unwrap());
    }
    segments
}

/// Takes a debate over and runs it to its end; `None` if it was lost to another worker.
async fn work(chain: &Chain, store: &dyn Store, debate: &Planned, worker: &str, bill: &StdMutex<Usd>) -> Option<Grant> {
    let finished = format!("debates/{}/finished", debate.id);
    if store.get(&finished).await.unwrap().is_some() {
        return Some(Grant::Granted);
    }
    let written = segments_of(store, &debate.id).await;
    let mut segments = Segments { store, debate: &debate.id, worker, written };
    let last = segments.last_claim();
    segments.write(Segment::default()).await.ok()?;
    let sent = segments.written.iter().filter(|segment| segment.reserved > Usd::ZERO).count();
    let asked = match last {
        Some(Claim::Asks { amount, .. }) => amount,
        Some(Claim::Returns { left, .. }) => left,
        None => debate.limit,
    };
    let is_complete = segments.written.iter().any(|segment| segment.is_complete);
    if !is_complete {
        let granted = chain.grant(&debate.id, asked, last, &mut segments).await.ok()?;
        if granted != Grant::Granted {
            return Some(granted);
        }
    }
    for (number, cost) in debate.requests.iter().enumerate().skip(sent) {
        if number == debate.fails_after && sent < number {
            let (left, last) = (debate.limit.saturating_sub(segments.reserved()), segments.last_claim());
            chain.give_back(&debate.id, asked, left, last, &mut segments).await.ok()?;
            return Some(Grant::Granted);
        }
        segments.write(Segment { reserved: *cost, ..Segment::default() }).await.ok()?;
        *bill.lock().unwrap() += *cost;
    }
    if !is_complete {
        segments.write(Segment { is_complete: true, ..Segment::default() }).await.ok()?;
    }
    let (left, last) = (debate.limit.saturating_sub(segments.reserved()), segments.last_claim());
    chain.give_back(&debate.id, asked, left, last, &mut segments).await.ok()?;
    assert_eq!(store.create(&finished, b"finished").await.unwrap(), Creation::Acknowledged);
    Some(Grant::Granted)
}

/// Checks the whole chain, and that it agrees with what the debates reserved.
async fn audit(store: &dyn Store, budget: Usd, debates: &[Planned]) -> Sums {
    let mut balance = budget;
    let mut held: BTreeMap<DebateId, Usd> = BTreeMap::new();
    let mut spent: BTreeMap<DebateId, Usd> = BTreeMap::new();
    let mut sums = Sums { balance, held: Usd::ZERO };
    for number in 1.. {
        let Some(bytes) = store.get(&name(number)).await.unwrap() else { break };
        let entry: Entry = serde_json::from_slice(&bytes).unwrap();
        match entry.event {
            Event::Opens => assert_eq!(number, 1),
            Event::Grants { debate, amount } => {
                assert!(amount <= balance, "more is granted than there is");
                balance = balance.saturating_sub(amount);
                assert_eq!(held.insert(debate, amount), None, "it was granted twice");
            }
            Event::Returns { debate, granted, left } => {
                assert_eq!(held.remove(&debate), Some(granted), "{debate} gives back what it does not hold");
                balance += left;
                *spent.entry(debate).or_default() += granted.saturating_sub(left);
            }
        }
        sums = Sums { balance, held: held.values().copied().sum() };
        assert_eq!(entry.after, sums);
    }
    for debate in debates {
        let reserved: Usd = segments_of(store, &debate.id).await.iter().map(|segment| segment.reserved).sum();
        let before = spent.get(&debate.id).copied().unwrap_or_default();
        match held.get(&debate.id) {
            Some(granted) => assert!(before <= reserved && reserved <= before + *granted, "{}", debate.id),
            None => assert_eq!(reserved, before, "{}", debate.id),
        }
    }
    assert_eq!(balance + sums.held + spent.values().copied().sum::<Usd>(), budget);
    sums
}

type Worker = Pin<Box<dyn Future<Output = Option<Grant>>>>;

/// What happens next.
#[derive(Debug, Clone)]
enum Move {
    /// A worker takes this debate over, whether another one has it or not.
    Start(usize),
    /// A worker goes on to its next action.
    Step(usize),
    /// A worker is killed.
    Kill(usize),
}

fn moves() -> impl Strategy<Value = Vec<Move>> {
    let one = prop_oneof![
        2 => (0..64_usize).prop_map(Move::Start),
        40 => (0..64_usize).prop_map(Move::Step),
        1 => (0..64_usize).prop_map(Move::Kill),
    ];
    prop::collection::vec(one, 0..600)
}

fn planned() -> impl Strategy<Value = Vec<Planned>> {
    let debate = (1..=8_u64, prop::collection::vec(0..=3_u64, 0..4), 0..6_usize);
    prop::collection::vec(debate, 1..6).prop_map(|drawn| {
        let planned = drawn.into_iter().enumerate().map(|(index, (limit, costs, fails_after))| {
            let (limit, mut left) = (dollars(limit), dollars(limit));
            let mut requests = Vec::new();
            for cost in costs.into_iter().map(dollars).filter(|cost| *cost > Usd::ZERO) {
                if cost <= left {
                    left = left.saturating_sub(cost);
                    requests.push(cost);
                }
            }
            Planned { id: DebateId::new(format!("swp-{index}")), limit, requests, fails_after }
        });
        planned.collect()
    })
}

/// Of an amount that no number of dollars holds exactly.
fn dollars(number: u64) -> Usd {
    (0..number).map(|_| serde_json::from_str("9007.3").unwrap()).sum::<Usd>() + Usd::for_tokens(number, 0.000_001)
}

fn step(worker: &mut Worker) -> Poll<Option<Grant>> {
    worker.as_mut().poll(&mut Context::from_waker(Waker::noop()))
}

async fn interleave(debates: Vec<Planned>, budget: Usd, moves: Vec<Move>, is_one_process: bool) {
    let memory = Arc::new(Memory::default());
    let shared: SharedStore = memory.clone();
    let bill = Arc::new(StdMutex::new(Usd::ZERO));
    let together = Arc::new(Chain::open(shared.clone(), budget).await.unwrap());
    let mut workers: Vec<Worker> = Vec::new();
    for (turn, next) in moves.into_iter().enumerate() {
        match next {
            Move::Start(which) => {
                let debate = debates[which % debates.len()].clone();
                let (store, bill, together) = (shared.clone(), bill.clone(), together.clone());
                workers.push(Box::pin(async move {
                    let own = if is_one_process {
                        together
                    } else {
                        Arc::new(Chain::open(store.clone(), budget).await.unwrap())
                    };
                    work(&own, &*store, &debate, &format!("{turn}"), &bill).await
                }));
            }
            Move::Step(which) if !workers.is_empty() => {
                let index = which % workers.len();
                if step(&mut workers[index]).is_ready() {
                    drop(workers.swap_remove(index));
                }
                // Pauses after a lost race are over.
                tokio::time::advance(Duration::from_secs(3)).await;
            }
            Move::Kill(which) if !workers.is_empty() => drop(workers.swap_remove(which % workers.len())),
            Move::Step(_) | Move::Kill(_) => {}
        }
        assert!(*bill.lock().unwrap() <= budget);
    }
    // A process that is stopped keeps its debates from its own chain; so it is killed as a whole.
    if is_one_process {
        workers.clear();
    }
    audit(&*shared, budget, &debates).await;
    // Somebody comes back to each debate, until nothing more can be done.
    let mut granted = usize::MAX;
    let mut outcomes: Vec<Grant> = Vec::new();
    for round in 0.. {
        outcomes.clear();
        for debate in &debates {
            let chain = Chain::open(shared.clone(), budget).await.unwrap();
            let worker = format!("again {round}");
            outcomes.push(work(&chain, &*shared, debate, &worker, &bill).await.expect("nobody else acts"));
        }
        let now = outcomes.iter().filter(|grant| **grant == Grant::Granted).count();
        if now == granted {
            break;
        }
        granted = now;
    }
    let sums = audit(&*shared, budget, &debates).await;
    for (debate, outcome) in debates.iter().zip(&outcomes) {
        match outcome {
            Grant::Granted => {}
            Grant::Spent(then) => {
                assert!(debate.limit > then.balance + then.held);
                assert!(debate.limit > sums.balance);
            }
            Grant::Later(_) => panic!("{} waits for money that no debate holds", debate.id),
        }
    }
    assert_eq!(sums.held, Usd::ZERO, "a grant is lost");
    // Those who slept through all of it wake up, and change nothing.
    for worker in &mut workers {
        while step(worker).is_pending() {
            tokio::time::advance(Duration::from_secs(3)).await;
        }
    }
    assert_eq!(audit(&*shared, budget, &debates).await, sums);
    assert!(*bill.lock().unwrap() <= budget);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn whatever_happens_no_money_is_spent_twice_or_lost(
        debates in planned(),
        budget in 1..24_u64,
        moves in moves(),
        is_one_process: bool,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(interleave(debates, dollars(budget), moves, is_one_process));
    }
}

#[tokio::test]
async fn the_chain_is_for_one_budget_and_for_people_to_read() {
    let store: SharedStore = Arc::new(Memory::default());
    let budget = Usd::from_dollars(2.0);
    let chain = Chain::open(store.clone(), budget).await.unwrap();
    let id = DebateId::new("swp-1");
    let mut segments = Segments { store: &*store, debate: &id, worker: "me", written: Vec::new() };
    let granted = chain.grant(&id, Usd::from_dollars(1.5), None, &mut segments).await.unwrap();
    assert_eq!(granted, Grant::Granted);
    let mut another = Segments { debate: &DebateId::new("swp-2"), written: Vec::new(), ..segments };
    let sums = Sums { balance: Usd::from_dollars(0.5), held: Usd::from_dollars(1.5) };
    let later = chain.grant(another.debate, Usd::from_dollars(2.0), None, &mut another).await.unwrap();
    assert_eq!(later, Grant::Later(sums));
    let never = chain.grant(another.debate, Usd::from_dollars(2.1), None, &mut another).await.unwrap();
    assert_eq!(never, Grant::Spent(sums));
    assert!(another.written.is_empty());
    let entry = store.get("budget/00000002").await.unwrap().unwrap();
    insta::assert_snapshot!(String::from_utf8(entry).unwrap().trim_end(), @r#"{"event":{"grants":{"debate":"swp-1","amount":1500000000000}},"after":{"balance":500000000000,"held":1500000000000}}"#);

    let other = Chain::open(store.clone(), Usd::from_dollars(3.0)).await.unwrap_err();
    assert_eq!(other.to_string(), "the set in memory was started with another budget");
    assert_eq!(other.blame(), ErrorCategory::Arguments);
    store.create("budget/00000003", b"{}").await.unwrap();
    let damaged = chain.sums().await.unwrap_err();
    assert_eq!(damaged.to_string(), "entry 3 of the budget in memory is damaged");
}

const RACERS: usize = 8;
const DEBATES: usize = 15;
/// The variable that makes this test one of the racers: `directory number`.
const RACER: &str = "SWEEP_BUDGET_RACER";

fn raced(racer: usize) -> Vec<Planned> {
    let planned = (0..DEBATES).map(|index| {
        let requests = (0..index % 4).map(|_| Usd::from_dollars(0.1)).collect();
        Planned {
            id: DebateId::new(format!("swp-{racer}-{index}")),
            limit: Usd::from_dollars(0.5),
            requests,
            fails_after: index % 3,
        }
    });
    planned.collect()
}

/// Enough for all but some of them.
fn raced_budget() -> Usd {
    let all: Usd = (0..RACERS).flat_map(raced).flat_map(|debate| debate.requests).sum();
    all.saturating_sub(Usd::from_dollars(1.05))
}

#[tokio::test]
async fn an_entry_that_exceeds_the_budget_is_damaged() {
    let store: SharedStore = Arc::new(Memory::default());
    let budget = Usd::from_dollars(2.0);
    let chain = Chain::open(store.clone(), budget).await.unwrap();
    let debate = DebateId::new("swp-1");
    let event = Event::Grants { debate: debate.clone(), amount: Usd::from_dollars(1.0) };
    // It would let the set spend half a dollar more than its budget.
    let after = Sums { balance: Usd::from_dollars(1.5), held: Usd::from_dollars(1.0) };
    store.create(&name(2), &Entry { event, after }.bytes()).await.unwrap();
    let mut segments = Segments { store: &*store, debate: &debate, worker: "w", written: Vec::new() };
    let granted = chain.grant(&debate, Usd::from_dollars(1.0), None, &mut segments).await;
    assert!(matches!(granted, Err(BudgetError::Damaged { entry: 2, .. })), "{granted:?}");
    assert!(segments.written.is_empty());
    let read = Chain::read_sums(store.clone(), budget).await;
    assert!(matches!(read, Err(BudgetError::Damaged { entry: 2, .. })), "{read:?}");
    let read = Chain::read_sums(store, Usd::from_dollars(1.0)).await;
    assert!(matches!(read, Err(BudgetError::OtherBudget { .. })), "{read:?}");
}

#[tokio::test]
async fn race_if_told_to() {
    let Ok(told) = std::env::var(RACER) else { return };
    let (directory, racer) = told.split_once(' ').unwrap();
    let store = store::open(directory, &Environment::default()).await.unwrap();
    let chain = Chain::open(store.clone(), raced_budget()).await.unwrap();
    let worker = format!("{}", std::process::id());
    for debate in raced(racer.parse().unwrap()) {
        let finished = format!("debates/{}/finished", debate.id);
        while store.get(&finished).await.unwrap().is_none() {
            let ended = work(&chain, &*store, &debate, &worker, &StdMutex::default()).await;
            if matches!(ended.expect("no other has it"), Grant::Spent(_)) {
                break;
            }
        }
    }
}

/// Eight processes race for one budget in a directory. Each is killed once on its way and started again.
#[tokio::test]
async fn eight_processes_share_a_budget() {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().to_str().unwrap();
    let store = store::open(place, &Environment::default()).await.unwrap();
    let start = |racer: usize| {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "sweep::budget::tests::race_if_told_to"]).env(RACER, format!("{place} {racer}"));
        command.stdout(std::process::Stdio::null()).spawn().unwrap()
    };
    let mut racers: Vec<_> = (0..RACERS).map(start).collect();
    for (racer, process) in racers.iter_mut().enumerate() {
        while store.list(PREFIX).await.unwrap().len() < 10 * (racer + 1) && process.try_wait().unwrap().is_none() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        process.kill().unwrap();
        process.wait().unwrap();
        *process = start(racer);
    }
    for mut process in racers {
        assert!(process.wait().unwrap().success());
    }
    let debates: Vec<Planned> = (0..RACERS).flat_map(raced).collect();
    let sums = audit(&*store, raced_budget(), &debates).await;
    assert_eq!(sums.held, Usd::ZERO);
    assert!(sums.balance < Usd::from_dollars(0.5), "what could be granted was granted: {}", sums.balance);
}
