//! Commands, interrupts and outages during every request of a debate, in every protocol: no call is lost, and no answer
//! is paid twice.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio_util::sync::CancellationToken;

use dialectic_engine::engine::{Engine, RunCommand, RunEnding, UserReply};
use dialectic_llm::offline::OfflineProvider;
use dialectic_llm::{CallerLimits, ChatModel, ConcurrencyLimit, FailedAttempt, Live, ModelError, Reply, Request};
use dialectic_record::debate::{Debate, StopReason};
use dialectic_record::event::{Event, Recorded};
use dialectic_record::ids::{CallKey, CallStatus, DebateId};
use dialectic_record::live::{PanelInfo, Signals};
use dialectic_record::protocol::PROTOCOLS;
use dialectic_record::settings::{AgentSettings, Settings, default_settings};
use dialectic_record::store::{Directory, Entry, Record, Replica, StoreError, read_journal};

use crate::support::in_process::{self, answered, counted, gone, push_clock, reopened, task};

/// What happens during a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Act {
    Nothing,
    /// The run is told to pause. Another one continues.
    Pause,
    /// The run is told to pause and, once it has, to continue.
    Hold,
    /// The run is told to pause, and to continue before it has.
    HoldAndGoOn,
    /// The run is told to close the debate.
    Stop,
    /// The run is interrupted. Another one continues.
    Interrupt,
    /// The request finds its server gone.
    Outage,
}

/// A debate and what surrounds it.
#[derive(Debug, Clone, Copy)]
struct Case {
    protocol: &'static str,
    is_copied: bool,
    /// Whether first answers that can be asked for again say nothing.
    is_chatty: bool,
    places: usize,
}

/// A copy that takes its time, by the number of its lines.
#[derive(Debug, Default)]
struct Copied(AtomicUsize);

impl Replica for Copied {
    fn take(&self, _: &[u8], _: bool) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }

    fn holds(&self) -> Pin<Box<dyn Future<Output = Result<(), StoreError>> + Send + '_>> {
        let lines = self.0.load(Ordering::SeqCst);
        Box::pin(async move {
            for _ in 0..lines % 5 {
                tokio::task::yield_now().await;
            }
            Ok(())
        })
    }
}

/// A model during whose request number `at` something happens.
struct Eventful {
    model: OfflineProvider,
    is_chatty: bool,
    act: Act,
    at: usize,
    commands: UnboundedSender<RunCommand>,
    cancel: CancellationToken,
    /// The requests; one that finds its server gone is empty.
    asked: Mutex<Vec<String>>,
}

/// The tasks whose answers are taken as they are.
const TEXTS: [&str; 12] = [
    "propose",
    "refine",
    "revise",
    "rework",
    "write your last word",
    "open",
    "rebut",
    "question",
    "answer",
    "close",
    "finalise",
    "amend",
];

impl Eventful {
    fn tell(&self, commands: impl IntoIterator<Item = RunCommand>) {
        for command in commands {
            self.commands.send(command).unwrap();
        }
    }

    async fn happen(&self) -> Result<(), FailedAttempt> {
        match self.act {
            Act::Nothing => {}
            Act::Pause => self.tell([RunCommand::Pause]),
            Act::Hold => self.tell([RunCommand::Hold]),
            Act::HoldAndGoOn => {
                self.tell([RunCommand::Hold]);
                a_while(10).await;
                self.tell([RunCommand::GoOn]);
            }
            Act::Stop => self.tell([RunCommand::Stop(StopReason::User)]),
            Act::Interrupt => self.cancel.cancel(),
            Act::Outage => return Err(gone().into()),
        }
        // The run hears it before the answer.
        a_while(20).await;
        Ok(())
    }
}

async fn a_while(turns: usize) {
    for _ in 0..turns {
        tokio::task::yield_now().await;
    }
}

impl ChatModel for Eventful {
    fn ask<'a>(&'a self, request: &'a Request, live: Live<'a>) -> BoxFuture<'a, Result<Reply, FailedAttempt>> {
        let said = format!("{}, turns {}", request.prompt, request.turns.len());
        let (asked, length) = {
            let mut asked = self.asked.lock().unwrap();
            let fails = self.act == Act::Outage && asked.len() + 1 == self.at;
            asked.push(if fails { String::new() } else { said.clone() });
            (asked.len(), said.len())
        };
        Box::pin(async move {
            if asked == self.at {
                self.happen().await?;
            }
            a_while(length % 7).await;
            let reply = self.model.ask(request, live).await?;
            let says_nothing = self.is_chatty && request.turns.is_empty() && !TEXTS.contains(&task(request));
            Ok(if says_nothing { Reply { text: "Let me see.".to_owned(), ..reply } } else { reply })
        })
    }

    fn reach(&self) -> BoxFuture<'_, Result<(), ModelError>> {
        Box::pin(async { Ok(()) })
    }
}

struct Went {
    ending: RunEnding,
    debate: Debate,
    asked: Vec<String>,
    events: Vec<Recorded>,
}

fn settings(case: Case) -> Settings {
    let mut settings = default_settings();
    case.protocol.clone_into(&mut settings.debate.protocol);
    settings.debate.rounds = settings.debate.rounds.min(2);
    settings.debate.timeout_per_round = u64::from(u32::MAX);
    settings
}

/// Begins the debate, or goes on with it.
async fn run(directory: &Directory, case: Case, act: Act, at: usize) -> Went {
    let (settings, id) = (settings(case), DebateId::new("swp-1"));
    let (commands, told) = unbounded_channel();
    let cancel = CancellationToken::new();
    let model = Arc::new(Eventful {
        model: OfflineProvider::default(),
        is_chatty: case.is_chatty,
        act,
        at,
        commands: commands.clone(),
        cancel: cancel.clone(),
        asked: Mutex::default(),
    });
    let limits = CallerLimits { in_flight: Arc::new(ConcurrencyLimit::at_most(case.places)), max_retries: 0 };
    let panel = in_process::panel(&settings, &model, None, &limits);
    let state = directory.state_path(&id);
    let (mut record, past) = if state.exists() {
        reopened(&Entry::of_state(&state))
    } else {
        let created = in_process::created(&settings, &panel, id.clone(), 1);
        (Record::begin(directory, created, Some(Arc::new(Copied::default()))).unwrap().0, Vec::new())
    };
    if case.is_copied {
        record.replica = Some(Arc::new(Copied::default()));
    } else if past.is_empty() {
        drop(record);
        record = reopened(&Entry::of_state(&state)).0;
    }
    let protocol = in_process::protocol(&settings);
    let signals = Signals::new(PanelInfo::new(&settings, protocol.infos()));
    let mut engine = Engine::new(protocol, panel, record, &past, signals, cancel, told).waiting_for_servers(true);
    let mut ending = engine.run().await.unwrap();
    if ending == RunEnding::Paused && act == Act::Hold {
        commands.send(RunCommand::GoOn).unwrap();
        assert_eq!(engine.told_to_go_on().await.unwrap(), UserReply::GoOn);
        ending = engine.run().await.unwrap();
    }
    let debate = engine.debate().clone();
    drop(engine);
    let events = read_journal(&directory.journal_path(&id)).unwrap().events;
    let asked = std::mem::take(&mut *model.asked.lock().unwrap());
    Went { ending, debate, asked, events }
}

/// The tasks of the requests that were sent more or less often than wanted.
fn differing(asked: &BTreeMap<&str, usize>, wanted: &BTreeMap<&str, usize>) -> Vec<String> {
    let all: BTreeSet<&str> = asked.keys().chain(wanted.keys()).copied().collect();
    let count = |of: &BTreeMap<&str, usize>, request: &str| of.get(request).copied().unwrap_or_default();
    let task =
        |request: &str| request.rsplit("# Your task: ").next().and_then(|task| task.lines().next()).map(str::to_owned);
    let differs = |request: &&str| count(asked, request) != count(wanted, request);
    let described =
        |request: &str| format!("{:?} {} times, not {}", task(request), count(asked, request), count(wanted, request));
    all.into_iter().filter(differs).map(described).collect()
}

fn settled(debate: &Debate) -> Vec<(CallKey, CallStatus)> {
    let mut settled: Vec<_> = debate.settled.iter().map(|(key, settled)| (key.clone(), *settled)).collect();
    settled.sort_by_key(|(key, _)| format!("{key:?}"));
    settled
}

fn in_a_new_directory<T>(act: Act, of: impl AsyncFnOnce(&Directory) -> T, what: &str) -> Result<T, String> {
    let place = tempfile::tempdir().unwrap();
    // A server that is gone is waited for.
    let is_pushed = act == Act::Outage;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(is_pushed).build().unwrap();
    runtime.block_on(async {
        let clock = is_pushed.then(push_clock);
        let directory = Directory::at(place.path());
        // Only a run that hangs takes as long, however slow the machine is: a clock that is pushed runs far ahead.
        let limit = if is_pushed { Duration::from_hours(2400) } else { Duration::from_mins(2) };
        let ended = tokio::time::timeout(limit, of(&directory)).await;
        clock.iter().for_each(tokio::task::JoinHandle::abort);
        ended.map_err(|_| format!("{what}: hangs"))
    })
}

fn check(case: Case, act: Act, at: usize, whole: &Went) -> Result<(), String> {
    let what = format!("{case:?}, {act:?} during request {at} of {}", whole.asked.len());
    let (first, rest) = in_a_new_directory(
        act,
        async |directory| {
            let first = run(directory, case, act, at).await;
            let goes_on = matches!(first.ending, RunEnding::Paused);
            let rest = if goes_on { Some(run(directory, case, Act::Nothing, 0).await) } else { None };
            (first, rest)
        },
        &what,
    )?;
    let last = rest.as_ref().unwrap_or(&first);
    let fails = |problem: String| Err(format!("{what}: {problem}"));
    if last.ending != RunEnding::Completed {
        return fails(format!("ended as {:?}, {:?}", last.ending, last.debate.error));
    }
    let failed = |recorded: &&Recorded| matches!(recorded.event, Event::CallFailed { .. } | Event::Failed { .. });
    if let Some(failed) = last.events.iter().find(failed) {
        return fails(format!("{failed:?}"));
    }
    let asked: Vec<String> = first.asked.iter().chain(rest.iter().flat_map(|rest| &rest.asked)).cloned().collect();
    let (asked, wanted) = (counted(&asked), counted(&whole.asked));
    let sent: usize = asked.values().sum();
    match act {
        Act::Stop => {
            // The rounds of a review without a change repeat their requests.
            let is_repeated = asked.iter().any(|(request, times)| *times > wanted.get(request).copied().unwrap_or(1));
            if answered(&last.events) != sent || is_repeated {
                return fails(format!("{sent} sent, {} answered, {asked:?}", answered(&last.events)));
            }
            return Ok(());
        }
        Act::Interrupt => {
            let in_flight = first.asked.len() - answered(&first.events);
            if sent - wanted.values().sum::<usize>() > in_flight {
                return fails(format!("{in_flight} in flight, {:?}", differing(&asked, &wanted)));
            }
            if !asked.keys().eq(wanted.keys()) {
                return fails(format!("{:?}", differing(&asked, &wanted)));
            }
        }
        Act::Nothing | Act::Pause | Act::Hold | Act::HoldAndGoOn | Act::Outage => {
            let differing = differing(&asked, &wanted);
            if !differing.is_empty() {
                return fails(format!("{differing:?}"));
            }
            if answered(&last.events) != sent {
                return fails(format!("{sent} sent, {} answered", answered(&last.events)));
            }
        }
    }
    if settled(&last.debate) != settled(&whole.debate) {
        return fails("other calls ended".to_owned());
    }
    Ok(())
}

const ACTS: [Act; 6] = [Act::Pause, Act::Hold, Act::HoldAndGoOn, Act::Stop, Act::Interrupt, Act::Outage];
/// The first agents' requests, before which no server has answered: one that is gone then may not exist.
const FIRST: usize = 4;

fn undisturbed(case: Case) -> Went {
    let whole =
        in_a_new_directory(Act::Nothing, async |at| run(at, case, Act::Nothing, 0).await, "undisturbed").unwrap();
    assert_eq!(whole.ending, RunEnding::Completed, "{case:?}");
    assert_eq!(answered(&whole.events), whole.asked.len(), "{case:?}");
    whole
}

fn assert_none(problems: &[String]) {
    assert!(problems.is_empty(), "{} problems:\n{}", problems.len(), problems.join("\n"));
}

#[test]
fn nothing_that_happens_during_a_request_loses_or_repeats_a_call_or_makes_a_run_hang() {
    // More calls than slots: some wait for one while others wait for permission.
    let case = Case { protocol: "best-of-n", is_copied: true, is_chatty: true, places: 2 };
    let whole = undisturbed(case);
    let moments = ACTS.into_iter().flat_map(|act| (1..=whole.asked.len()).map(move |at| (act, at)));
    let moments = moments.filter(|(act, at)| *act != Act::Outage || *at > FIRST);
    assert_none(&moments.filter_map(|(act, at)| check(case, act, at, &whole).err()).collect::<Vec<_>>());
}

#[test]
fn nothing_that_happens_does_in_any_protocol() {
    let mut problems = Vec::new();
    for (place, protocol) in PROTOCOLS.iter().enumerate() {
        let case = Case {
            protocol: protocol.name,
            is_copied: place % 2 == 0,
            is_chatty: true,
            places: if place % 3 == 0 { 16 } else { 2 },
        };
        let whole = undisturbed(case);
        for (number, act) in ACTS.into_iter().enumerate() {
            // Another moment for each.
            let at = 1 + (number * 5 + place * 3) % whole.asked.len();
            problems.extend(check(case, act, at.max(if act == Act::Outage { FIRST + 1 } else { 1 }), &whole).err());
        }
    }
    assert_none(&problems);
}

#[tokio::test]
async fn a_debate_told_to_hold_while_it_waits_for_answers_does_not_go_on_when_it_has_them() {
    let place = tempfile::tempdir().unwrap();
    let mut settings = default_settings();
    settings.debate.rounds = 1;
    settings.debate.interactive_clarifications = true;
    let model = Arc::new(OfflineProvider::default());
    let limits = CallerLimits { in_flight: Arc::new(ConcurrencyLimit::at_most(6)), max_retries: 0 };
    let panel = in_process::panel(&settings, &model, None, &limits);
    let directory = Directory::at(place.path());
    let (record, _) =
        Record::begin(&directory, in_process::created(&settings, &panel, DebateId::default(), 1), None).unwrap();
    let protocol = in_process::protocol(&settings);
    let signals = Signals::new(PanelInfo::new(&settings, protocol.infos()));
    let (commands, told) = unbounded_channel();
    let mut engine = Engine::new(protocol, panel, record, &[], signals, CancellationToken::new(), told);
    assert_eq!(engine.run().await.unwrap(), RunEnding::Suspended);
    for command in [RunCommand::Hold, RunCommand::EndQuestions(None)] {
        commands.send(command).unwrap();
    }
    assert_eq!(engine.told_answers().await.unwrap(), UserReply::GoOn);
    assert_eq!(engine.run().await.unwrap(), RunEnding::Paused);
    assert!(engine.debate().rounds.iter().all(|round| round.contributions.is_empty()));
    commands.send(RunCommand::GoOn).unwrap();
    assert_eq!(engine.told_to_go_on().await.unwrap(), UserReply::GoOn);
    assert_eq!(engine.run().await.unwrap(), RunEnding::Completed);
}

/// A server that is gone for some requests until it was looked for.
struct Leaving {
    model: OfflineProvider,
    is_gone: fn(&Request) -> bool,
    is_back: AtomicBool,
    /// What it does when it is looked for; it stays away then.
    on_look: Option<UnboundedSender<RunCommand>>,
    asked: Mutex<Vec<String>>,
}

impl Leaving {
    fn at(is_gone: fn(&Request) -> bool, on_look: Option<UnboundedSender<RunCommand>>) -> Arc<Self> {
        Arc::new(Self {
            model: OfflineProvider::default(),
            is_gone,
            is_back: false.into(),
            on_look,
            asked: Mutex::default(),
        })
    }
}

impl ChatModel for Leaving {
    fn ask<'a>(&'a self, request: &'a Request, live: Live<'a>) -> BoxFuture<'a, Result<Reply, FailedAttempt>> {
        Box::pin(async move {
            if (self.is_gone)(request) && !self.is_back.load(Ordering::SeqCst) {
                return Err(gone().into());
            }
            self.asked.lock().unwrap().push(format!("{}, turns {}", request.prompt, request.turns.len()));
            let reply = self.model.ask(request, live).await?;
            let says_nothing = task(request) == "critique" && request.turns.is_empty();
            Ok(if says_nothing { Reply { text: "Let me see.".to_owned(), ..reply } } else { reply })
        })
    }

    fn reach(&self) -> BoxFuture<'_, Result<(), ModelError>> {
        Box::pin(async {
            if let Some(commands) = &self.on_look {
                commands.send(RunCommand::Stop(StopReason::User)).unwrap();
                return Err(gone());
            }
            self.is_back.store(true, Ordering::SeqCst);
            Ok(())
        })
    }
}

/// Runs a debate of three agents in one round that waits for its servers. The `far` ones ask `far`, everybody else
/// `near`.
fn wait_for(
    far_ones: &[&str],
    [near, far]: [&Arc<Leaving>; 2],
    told: UnboundedReceiver<RunCommand>,
) -> (RunEnding, Debate) {
    let mut settings = default_settings();
    settings.debate.rounds = 1;
    settings.debate.timeout_per_round = u64::from(u32::MAX);
    for agent in settings.agents.iter_mut().chain([&mut settings.judge]) {
        agent.provider = if far_ones.contains(&agent.id.as_str()) { "far" } else { "near" }.to_owned();
    }
    let limits = CallerLimits { in_flight: Arc::new(ConcurrencyLimit::at_most(6)), max_retries: 0 };
    let protocol = in_process::protocol(&settings);
    let chat = |agent: &AgentSettings| if agent.provider == "far" { far } else { near };
    let panel = in_process::panel_by(&settings, chat, None, &limits);
    let ended = in_a_new_directory(
        Act::Outage,
        async move |directory| {
            let (record, _) =
                Record::begin(directory, in_process::created(&settings, &panel, DebateId::default(), 1), None).unwrap();
            let signals = Signals::new(PanelInfo::new(&settings, protocol.infos()));
            let engine = Engine::new(protocol, panel, record, &[], signals, CancellationToken::new(), told);
            let mut engine = engine.waiting_for_servers(true);
            let ending = engine.run().await.unwrap();
            (ending, engine.debate().clone())
        },
        "it waits",
    );
    ended.unwrap()
}

#[test]
fn told_to_stop_a_debate_closes_without_the_server_that_it_waits_for() {
    let (commands, told) = unbounded_channel();
    let near = Leaving::at(|_| false, None);
    let far = Leaving::at(|request| task(request) == "critique", Some(commands));
    let all = ["agent-architect", "agent-performance", "agent-kiss"];
    let (ending, debate) = wait_for(&all, [&near, &far], told);
    assert_eq!((ending, debate.stop_reason), (RunEnding::Completed, Some(StopReason::User)));
    assert!(debate.final_solution.is_some());
}

#[test]
fn a_call_that_the_debate_did_without_is_made_good_without_paying_its_first_answer_again() {
    let far = Leaving::at(|request| !request.turns.is_empty() || task(request) == "refine", None);
    let near = Leaving::at(|request| task(request) == "refine", None);
    let (ending, debate) = wait_for(&["agent-kiss"], [&near, &far], in_process::untold());
    assert_eq!((ending, &debate.failures[..]), (RunEnding::Completed, &[][..]));
    for server in [near, far] {
        let asked = server.asked.lock().unwrap();
        assert!(asked.iter().any(|request| !request.ends_with("turns 0")));
        assert_eq!(counted(&asked).into_iter().find(|(_, times)| *times > 1), None);
    }
}
