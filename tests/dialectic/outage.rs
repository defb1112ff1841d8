//! A server that is gone in the middle of a debate, and comes back.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::support::in_process::{PAUSES, WAITS, gone};
use crate::support::{
    Exchange, Incoming, MockServer, Purpose, Reply, Sandbox, TEST_KEY, Terminal, config, in_process, short_reply,
    spread,
};
use crate::{arena, budget};
use dialectic_engine::engine::RunEnding;
use dialectic_llm::{CallerLimits, ChatModel, ConcurrencyLimit, FailedAttempt, Live, ModelError, Request};
use dialectic_record::debate::{Debate, OutcomeKind, Status};
use dialectic_record::settings::{AgentSettings, Settings, default_settings};

/// A debate: its agents, its settings, its problem, what its server says.
struct Case {
    name: &'static str,
    roles: &'static [&'static str],
    debate: Value,
    problem: &'static str,
    reply: fn(&Incoming) -> Reply,
    /// After how many requests its server is gone.
    points: &'static [usize],
}

fn cases() -> Vec<Case> {
    vec![
        Case {
            name: "dialectic",
            roles: &["architect", "kiss", "testing"],
            debate: json!({"rounds": 2, "summarization": {"enabled": false}}),
            problem: "Design a queue",
            reply: |request| short_reply(request).usage(100, 0, 20),
            // In the first round; in the critiques, the refinements and the answer of the second.
            points: &[5, 14, 20, 22],
        },
        Case {
            name: "arena",
            roles: &["architect", "kiss", "testing"],
            debate: json!({"protocol": "arena", "rounds": 2}),
            problem: arena::PROBLEM,
            reply: |request| arena::script(request, arena::Related::Not, &[]),
            points: &[7, 14, 19],
        },
        Case {
            name: "oxford",
            roles: &["architect", "kiss", "testing"],
            debate: json!({"protocol": "oxford", "rounds": 3}),
            problem: "This house would rewrite it in Rust",
            reply: |request| budget::said(request, false),
            points: &[4, 8],
        },
    ]
}

impl Case {
    fn sandbox(&self, address: SocketAddr, limit: bool) -> Sandbox {
        let mut debate = self.debate.clone();
        debate["maxRetries"] = json!(1);
        if limit {
            debate["budget"] = json!({"maxCostUsd": 20.0});
        }
        let sandbox = Sandbox::new().env("OPENAI_BASE_URL", &format!("http://{address}/v1"));
        sandbox.env("OPENAI_API_KEY", TEST_KEY).config(&budget::priced(self.roles, &debate))
    }

    /// One that answers nothing from the request of that number on: some are in flight when it goes.
    fn going(&self, point: usize) -> MockServer {
        let reply = self.reply;
        MockServer::with(move |request| going(reply(request), request, point))
    }

    fn back(&self, address: SocketAddr) -> MockServer {
        MockServer::again(address, self.reply)
    }
}

/// The answer of a server that answers nothing from the request of that number on, and others slowly enough for some of
/// them to be in flight, too.
fn going(reply: Reply, request: &Incoming, point: usize) -> Reply {
    if request.index + 1 >= point { Reply::hang() } else { reply.after(Duration::from_millis(60)) }
}

/// How often each request was answered.
fn answered(exchanges: &[Exchange]) -> HashMap<(String, u64), usize> {
    let mut counted = HashMap::new();
    for one in exchanges.iter().filter(|one| one.ended.is_some() && !one.abandoned && one.request.api.is_some()) {
        *counted.entry((one.request.model().to_owned(), one.request.digest)).or_default() += 1;
    }
    counted
}

fn outage(case: &Case, point: usize, limit: bool) {
    let name = format!("{} at {point}, limit: {limit}", case.name);
    let server = case.going(point);
    let address = server.address();
    let sandbox = case.sandbox(address, limit);
    let running = sandbox.spawn(["debate", case.problem]);
    server.wait_for_requests(point);
    let before = server.exchanges();
    drop(server);
    let finished = running.wait();
    assert_eq!(finished.code, Some(75), "{name}: {finished}");
    assert!(finished.stderr.contains("server unreachable, "), "{name}: {finished}");
    assert!(finished.stderr.contains("hint: when the server is back: dialectic resume "), "{name}: {finished}");
    let (_, state) = sandbox.only_state();
    assert_eq!((&state["status"], &state["failures"]), (&json!("paused"), &Value::Null), "{name}: {finished}");

    // Nobody is there: it stays paused.
    let again = sandbox.run(["resume", "latest"]);
    assert_eq!(again.code, Some(75), "{name}: {again}");

    let server = case.back(address);
    let resumed = sandbox.run(["resume", "latest"]);
    assert_eq!(resumed.code, Some(0), "{name}: {resumed}");
    let (_, state) = sandbox.only_state();
    assert_eq!(state["outcome"]["kind"], "full", "{name}: {resumed}");
    let verified = sandbox.run(["verify", "latest"]);
    assert_eq!(verified.code, Some(0), "{name}: {verified}");

    // What agents had answered before the server went was not asked again. The judge is asked the same twice by some
    // protocols, and told of apart by nothing.
    let first = answered(&before);
    for (request, count) in answered(&server.exchanges()).into_iter().filter(|(of, _)| of.0 != "model-judge") {
        assert_eq!(count, 1, "{name}: {request:?}");
        assert!(!first.contains_key(&request), "{name}: {request:?} was answered before");
    }
}

/// Some points of each debate, every other of them under a cost limit.
#[test]
fn a_debate_whose_server_was_gone_is_resumed_and_ends_full() {
    let cases = cases();
    std::thread::scope(|scope| {
        for (number, case) in cases.iter().enumerate() {
            let points = spread(case.points.len(), 1, number).enumerate();
            scope
                .spawn(move || points.for_each(|(at, place)| outage(case, case.points[place], (number + at) % 2 == 0)));
        }
    });
}

fn three(max_retries: u32) -> Value {
    config(&["architect", "kiss", "testing"], &json!({"maxRetries": max_retries}))
}

/// A proxy whose model is gone.
fn unavailable() -> Reply {
    Reply::error(503, "no upstream").header("retry-after", "0")
}

/// Who is gone beside the judge, how many failures are on record then, and after the server is back; and how many calls
/// are made then. What others have built on stays as it is.
#[test]
fn a_failure_on_which_nothing_was_built_is_made_good() {
    type IsGone = fn(&Incoming) -> bool;
    let cases: [(IsGone, usize, usize, usize); 3] = [
        (|_| false, 0, 0, 1),
        (|request| request.purpose == Purpose::Refine && request.model() == "model-kiss", 1, 0, 2),
        (|request| request.purpose == Purpose::Critique && request.model() == "model-kiss", 2, 2, 1),
    ];
    for (is_gone, before, after, calls) in cases {
        let server = MockServer::with(move |request| {
            if request.model() == "model-judge" || is_gone(request) { unavailable() } else { short_reply(request) }
        });
        let sandbox = Sandbox::new().model_server(&server).config(&three(0));
        let finished = sandbox.run(["debate", "Design a queue"]).expect_code(75);
        assert!(finished.stderr.contains("server unreachable, 1 call waiting"), "{finished}");
        let id = sandbox.only_debate();
        let failures = || sandbox.state(&id)["failures"].as_array().map_or(0, Vec::len);
        assert_eq!(failures(), before, "{finished}");
        server.set_script(short_reply);
        server.forget();
        sandbox.run(["resume", "latest"]).expect_code(0);
        let reopened = sandbox.events(&id).iter().filter(|event| event["type"] == "calls-reopened").count();
        assert_eq!((failures(), server.requests().len(), reopened), (after, calls, usize::from(before > after)));
        let kind = if after == 0 { "full" } else { "degraded" };
        assert_eq!(sandbox.only_state().1["outcome"]["kind"], kind);
    }
}

/// Critiques are in flight when the server goes, and each comes to wait: that is one outage, and one line.
#[test]
fn on_a_terminal_an_outage_is_one_line_and_the_debate_goes_on_by_itself() {
    let server = MockServer::with(|request| going(short_reply(request), request, 4));
    let address = server.address();
    let sandbox = Sandbox::new().model_server(&server).config(&three(1));
    let mut terminal = Terminal::start_in(80, 40, &sandbox, ["debate", "Design a queue"]);
    server.wait_for_requests(6);
    drop(server);
    terminal.wait_for("server unreachable, ");
    // Meanwhile all calls in flight come to wait, and the server is looked for.
    std::thread::sleep(Duration::from_secs(2));
    let server = MockServer::again(address, short_reply);
    let (_, screen) = terminal.expect_code(0);
    let shown = screen.text();
    assert_eq!(shown.matches("server unreachable").count(), 1, "{shown}");
    assert!(!shown.contains('✗') && shown.contains("the server is back"), "{shown}");
    assert_eq!(sandbox.state(&sandbox.only_debate())["outcome"]["kind"], "full", "{shown}");
    assert!(server.requests().iter().filter(|request| request.api.is_some()).all(|request| request.repeats == 0));
}

#[test]
fn an_interrupt_ends_the_wait() {
    let server = MockServer::with(|request| going(short_reply(request), request, 5));
    let sandbox = Sandbox::new().model_server(&server).config(&three(1));
    let mut terminal = Terminal::start(&sandbox, ["debate", "Design a queue"]);
    server.wait_for_requests(5);
    drop(server);
    terminal.wait_for("server unreachable, ");
    terminal.type_control('c');
    let (output, _) = terminal.expect_code(130);
    assert_eq!(sandbox.state(&sandbox.only_debate())["status"], "paused", "{output}");
}

/// A model whose server is gone after so many answers, and back when it was looked for so often.
struct Away {
    answers: usize,
    probes_until_back: usize,
    asked: AtomicUsize,
    probes: Mutex<Vec<Instant>>,
}

impl Away {
    fn after(answers: usize, probes_until_back: usize) -> Arc<Self> {
        Arc::new(Self { answers, probes_until_back, asked: AtomicUsize::new(0), probes: Mutex::default() })
    }

    fn probes(&self) -> Vec<Instant> {
        self.probes.lock().unwrap().clone()
    }

    fn is_gone(&self, answered: usize) -> bool {
        answered >= self.answers && self.probes().len() < self.probes_until_back
    }
}

impl ChatModel for Away {
    fn ask<'a>(
        &'a self,
        request: &'a Request,
        _: Live<'a>,
    ) -> BoxFuture<'a, Result<dialectic_llm::Reply, FailedAttempt>> {
        Box::pin(async move {
            if self.is_gone(self.asked.fetch_add(1, Ordering::SeqCst)) {
                return Err(gone().into());
            }
            Ok(in_process::reply(in_process::text(in_process::task(request))))
        })
    }

    fn reach(&self) -> BoxFuture<'_, Result<(), ModelError>> {
        Box::pin(async move {
            self.probes.lock().unwrap().push(Instant::now());
            if self.probes().len() < self.probes_until_back { Err(gone()) } else { Ok(()) }
        })
    }
}

/// Three agents, one round, no second attempts. Those of these ids and the judge, where it is one of them, ask `other`.
fn in_memory(of_other: &[&str], [one, other]: [&Arc<Away>; 2], waits: bool) -> (RunEnding, Debate) {
    let mut settings: Settings = default_settings();
    let agent = settings.agents[0].clone();
    settings.agents = ["one", "two", "three"]
        .map(|id| AgentSettings { id: id.into(), provider: "near".to_owned(), ..agent.clone() })
        .into();
    settings.judge.id = "judge".into();
    settings.judge.provider = "near".to_owned();
    for agent in settings.agents.iter_mut().chain([&mut settings.judge]) {
        if of_other.contains(&agent.id.as_str()) {
            agent.provider = "far".to_owned();
        }
    }
    settings.debate.rounds = 1;
    let limits = CallerLimits { in_flight: Arc::new(ConcurrencyLimit::at_most(1)), max_retries: 0 };
    let chat = |agent: &AgentSettings| if agent.provider == "far" { other } else { one };
    let panel = in_process::panel_by(&settings, chat, None, &limits);
    in_process::block_on(in_process::run_through(&settings, panel, waits))
}

const NEVER: usize = usize::MAX;

#[test]
fn a_server_is_looked_for_after_waits_that_double_up_to_a_minute() {
    let server = Away::after(4, 9);
    let (ending, debate) = in_memory(&[], [&server, &server], WAITS);
    assert_eq!((ending, debate.outcome.unwrap().kind), (RunEnding::Completed, OutcomeKind::Full));
    let probes = server.probes();
    let waits: Vec<u64> = probes.windows(2).map(|two| (two[1] - two[0]).as_secs()).collect();
    assert_eq!(waits, [2, 4, 8, 16, 32, 60, 60, 60]);
}

#[test]
fn of_two_servers_one_that_is_gone_costs_its_agents_or_pauses_the_debate() {
    // An agent of three: the debate does without it.
    let (near, far) = (Away::after(NEVER, 0), Away::after(1, NEVER));
    let (ending, debate) = in_memory(&["three"], [&near, &far], PAUSES);
    assert_eq!((ending, debate.outcome.as_ref().unwrap().kind), (RunEnding::Completed, OutcomeKind::Degraded));
    assert!(!debate.failures.is_empty());
    let is_of_three = |key: &dialectic_record::ids::CallKey| key.agent_id.as_str() == "three";
    assert!(debate.failures.iter().all(|failure| is_of_three(&failure.key)), "{:?}", debate.failures);

    // The judge, who had answered nothing yet, beside an agent who had: it waits, and what the others wrote is kept.
    let (near, far) = (Away::after(NEVER, 0), Away::after(4, NEVER));
    let (ending, debate) = in_memory(&["three", "judge"], [&near, &far], PAUSES);
    assert_eq!((ending, debate.status), (RunEnding::ServerGone, Status::Paused));
    assert!(debate.failures.is_empty(), "{:?}", debate.failures);
    assert!(debate.final_solution.is_none());
    assert_eq!(debate.rounds[0].contributions.len(), 3 + 6 + 3);
    assert!(far.probes().is_empty(), "nobody waits for it");

    // One that has never answered may not exist: nobody waits for it.
    for (who, ended) in [("three", RunEnding::Completed), ("judge", RunEnding::Failed)] {
        let (near, far) = (Away::after(NEVER, 0), Away::after(0, NEVER));
        let (ending, debate) = in_memory(&[who], [&near, &far], PAUSES);
        assert_eq!(ending, ended, "{who}");
        assert!(debate.failures[0].error.contains("cannot reach the server"), "{:?}", debate.failures);
        assert!(debate.failures.iter().all(|failure| failure.key.agent_id.as_str() == who), "{:?}", debate.failures);
    }

    // Two agents of three: one alone is no debate.
    let (near, far) = (Away::after(NEVER, 0), Away::after(2, NEVER));
    let (ending, debate) = in_memory(&["two", "three"], [&near, &far], PAUSES);
    assert_eq!((ending, debate.failures.len()), (RunEnding::ServerGone, 0));

    // Only the one that is gone is looked for.
    let (near, far) = (Away::after(NEVER, 0), Away::after(2, 2));
    let (ending, debate) = in_memory(&["two", "three"], [&near, &far], WAITS);
    assert_eq!((ending, debate.outcome.unwrap().kind), (RunEnding::Completed, OutcomeKind::Full));
    assert_eq!((near.probes().len(), far.probes().len()), (0, 2));
}
