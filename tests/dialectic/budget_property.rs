//! A cost limit holds, whatever the debate looks like: 200 random call graphs against a model with known prices.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use dialectic::config::default_settings;
use dialectic::debate::{
    AgentSettings, Debate, DebateId, Event, Node, OutcomeKind, PanelInfo, Price, Recorded, Settings, Status,
    SynthesisMethod, TerminationKind, Timestamp, Tokens, Usd,
};
use dialectic::engine::{Ending, Engine, least_closing_cost, spent_of_limit};
use dialectic::llm::{
    Budget, CallerLimits, ChatModel, FailedAttempt, FinishReason, InFlight, Live, ModelError, Reply, Request,
    request_bytes,
};
use dialectic::protocol::DIALECTIC;
use dialectic::signals::Signals;
use dialectic::store::{Contents, Directory, JournalError, Record, StoreError};
use futures_util::future::BoxFuture;
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha12Rng;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::support::in_process;

/// What a debate is like.
#[derive(Debug, Clone)]
struct Graph {
    agents: usize,
    rounds: u32,
    concurrency: usize,
    synthesis: SynthesisMethod,
    termination: TerminationKind,
    clarify: bool,
    summaries: bool,
    /// The limit: so many times what the judge's call alone can cost.
    limit: f64,
    faults: Faults,
    /// When it is interrupted, to be taken up again.
    interrupted: Option<Duration>,
    seed: u64,
}

/// What goes wrong at the provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Faults {
    None,
    /// Attempts break off, come back empty or unreadable, and are billed all the same.
    Billed,
}

fn graphs() -> impl Strategy<Value = Graph> {
    let synthesis =
        prop_oneof![Just(SynthesisMethod::Judge), Just(SynthesisMethod::Voting), Just(SynthesisMethod::Merge)];
    let termination =
        prop_oneof![Just(TerminationKind::Fixed), Just(TerminationKind::Convergence), Just(TerminationKind::Quality)];
    let faults = prop_oneof![2 => Just(Faults::None), 1 => Just(Faults::Billed)];
    let shape = (1_usize..6, 1_u32..4, 1_usize..9, synthesis, termination, any::<bool>(), any::<bool>());
    // From a limit that buys the judge's call and nothing else to one that is never reached.
    let interrupted = proptest::option::of((1_u64..3_000).prop_map(Duration::from_millis));
    (shape, 0.0_f64..2.5, faults, interrupted, any::<u64>()).prop_map(|(shape, limit, faults, interrupted, seed)| {
        let (agents, rounds, concurrency, synthesis, termination, clarify, summaries) = shape;
        let limit = 10_f64.powf(limit);
        Graph {
            agents,
            rounds,
            concurrency,
            synthesis,
            termination,
            clarify,
            summaries,
            limit,
            faults,
            interrupted,
            seed,
        }
    })
}

const PRICES: Price = Price::flat(3.0, Some(0.3), 15.0);

/// A provider: answers at random lengths, within the output limit, and keeps the bill.
struct Provider {
    faults: Faults,
    random: Mutex<ChaCha12Rng>,
    tokens_per_byte: f64,
    billed: Mutex<Usd>,
}

impl Provider {
    fn answer(&self, request: &Request) -> (Duration, Result<Reply, ModelError>) {
        let limit = u64::from(request.max_tokens.expect("every call of a debate with a limit has an output limit"));
        let mut random = self.random.lock().unwrap();
        let wait = Duration::from_millis(random.random_range(1..500));
        let output = if random.random_bool(0.1) { limit } else { random.random_range(1..=limit.min(700)) };
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "small"
        )]
        let input = (request_bytes(request) as f64 * self.tokens_per_byte) as u64;
        let cached_input_tokens = if random.random_bool(0.3) { input / 2 } else { 0 };
        let tokens = Tokens { input_tokens: input, cached_input_tokens, output_tokens: output };
        let filler = "word ".repeat(usize::try_from(output).unwrap().div_ceil(2));
        let fault = if self.faults == Faults::None { 10 } else { random.random_range(0..12) };
        let text = match request.answer {
            Some(_) if fault == 0 => "no JSON at all".to_owned(),
            _ if fault == 1 => String::new(),
            Some(answer) => form(&(answer.schema)(), &filler, &mut random).to_string(),
            None => filler,
        };
        let cost = PRICES.cost(tokens);
        let (cost, result) = match fault {
            2 => (cost, Err(ModelError::Broken { message: "the connection broke".to_owned() })),
            3 => (Usd::ZERO, Err(ModelError::ServerFailed { status: 500, retry_after: None, message: String::new() })),
            _ => {
                let finish = if output == limit { FinishReason::Length } else { FinishReason::Complete };
                let tokens = Some(tokens);
                let reply =
                    Reply { text, tool_calls: Vec::new(), finish, served_model: None, tokens, stated_cost: None };
                (cost, Ok(reply))
            }
        };
        *self.billed.lock().unwrap() += cost;
        (wait, result)
    }
}

impl ChatModel for Provider {
    fn ask<'a>(&'a self, request: &'a Request, _: Live<'a>) -> BoxFuture<'a, Result<Reply, FailedAttempt>> {
        Box::pin(async move {
            let (wait, result) = self.answer(request);
            tokio::time::sleep(wait).await;
            Ok(result?)
        })
    }
}

/// A value of that schema.
fn form(schema: &Value, filler: &str, random: &mut ChaCha12Rng) -> Value {
    match schema["type"].as_str() {
        Some("object") => {
            let mut value = json!({});
            for (name, of) in schema["properties"].as_object().unwrap() {
                value[name] = if name == "solutionMarkdown" { json!(filler) } else { form(of, filler, random) };
            }
            value
        }
        Some("array") => json!([]),
        Some("number") => json!(random.random_range(0..100)),
        _ => json!("A"),
    }
}

fn settings(graph: &Graph) -> Settings {
    let mut settings = default_settings();
    let agent = settings.agents[0].clone();
    settings.agents = (0..graph.agents)
        .map(|place| AgentSettings { id: format!("agent-{place}").as_str().into(), ..agent.clone() })
        .collect();
    let debate = &mut settings.debate;
    debate.rounds = graph.rounds;
    debate.synthesis_method = graph.synthesis;
    debate.termination_condition.kind = graph.termination;
    debate.interactive_clarifications = graph.clarify;
    debate.timeout_per_round = u64::from(u32::MAX);
    for agent in settings.agents.iter_mut().chain([&mut settings.judge]) {
        agent.summarization.enabled = graph.summaries;
    }
    settings
}

/// The record of the one debate, as soon as the thread that saves has let go of it.
fn reopened(directory: &Directory) -> (Record, Contents) {
    loop {
        match Record::reopen(&directory.find("latest").unwrap()) {
            Err(StoreError::Journal(JournalError::Locked { .. })) => std::thread::yield_now(),
            opened => return opened.unwrap(),
        }
    }
}

/// Runs the debate. Returns what was billed, the limit, how it ended, and whether it was interrupted while it closed.
async fn run(graph: &Graph) -> (Usd, Usd, Ending, Debate, bool) {
    let settings = settings(graph);
    let mut random = ChaCha12Rng::seed_from_u64(graph.seed);
    let provider = Arc::new(Provider {
        faults: graph.faults,
        tokens_per_byte: random.random_range(0.15..0.5),
        random: Mutex::new(random),
        billed: Mutex::default(),
    });
    let panel = |limits: CallerLimits| in_process::panel(&settings, &provider, Some(PRICES), &limits);
    let in_flight = Arc::new(InFlight::at_most(graph.concurrency));
    let unlimited = panel(CallerLimits { in_flight: in_flight.clone(), max_retries: 2, budget: None });
    let first = in_process::created(&settings, &unlimited, DebateId::new("x"), graph.seed);
    let first = Recorded { seq: 1, at: Timestamp::now(), event: Event::Created(Box::new(first)) };
    let probe = Budget::new(Usd::from_dollars(1.0), Usd::ZERO, PRICES);
    let least = least_closing_cost(&probe, &unlimited.judge, &Debate::create(&first).unwrap()).unwrap();
    let limit = Usd::from_dollars(least.dollars() * graph.limit);
    let limited = |spent| {
        let budget = Some(Arc::new(Budget::new(limit, spent, PRICES)));
        panel(CallerLimits { in_flight: in_flight.clone(), max_retries: 2, budget })
    };
    let directory = tempfile::tempdir().unwrap();
    let directory = Directory::at(directory.path());
    let first = limited(Usd::ZERO);
    let begun = Record::begin(&directory, |id| in_process::created(&settings, &first, id, graph.seed));
    let signals = Signals::new(PanelInfo::from(&settings));
    let cancel = CancellationToken::new();
    let mut engine = Engine::new(&DIALECTIC, first, begun.unwrap().0, &[], signals.clone(), cancel.clone());
    if let Some(after) = graph.interrupted {
        tokio::spawn(async move {
            tokio::time::sleep(after).await;
            cancel.cancel();
        });
    }
    // The thread that saves keeps the clock from going by itself; so it is pushed.
    let clock = tokio::spawn(async {
        loop {
            tokio::time::advance(Duration::from_millis(20)).await;
        }
    });
    let mut closing_broken = false;
    let mut ending = engine.run().await.unwrap();
    if ending == Ending::Paused {
        drop(engine);
        let (record, contents) = reopened(&directory);
        let panel = limited(spent_of_limit(&contents.events));
        engine = Engine::new(&DIALECTIC, panel, record, &contents.events, signals, CancellationToken::new());
        let closing = contents.events.iter().any(|of| matches!(of.event, Event::NodeEntered { node: Node::Synthesis }));
        ending = engine.run().await.unwrap();
        // What the judge was saying may be on the bill; then the limit may be gone.
        closing_broken = closing;
    }
    clock.abort();
    let debate = engine.debate().clone();
    let billed = *provider.billed.lock().unwrap();
    (billed, limit, ending, debate, closing_broken)
}

/// How often each kind of end was seen: the property says nothing if all debates end alike.
#[derive(Debug, Default)]
struct Seen {
    finished: usize,
    stopped_early: usize,
    stopped_late: usize,
}

#[test]
fn no_debate_spends_more_than_its_limit_and_each_ends_with_a_solution() {
    let seen = Mutex::new(Seen::default());
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig::with_cases(200));
    let held = runner.run(&graphs(), |graph| {
        let (billed, limit, ending, debate, closing_broken) = in_process::block_on(run(&graph));
        prop_assert!(billed <= limit, "{billed} of {limit} were spent");
        if (graph.faults == Faults::Billed || closing_broken) && ending == Ending::Failed {
            // The judge's own attempts can break; then the debate waits to be resumed.
            prop_assert_eq!(debate.status, Status::Failed);
            return Ok(());
        }
        prop_assert_eq!(ending, Ending::Completed, "{:?}", debate.error);
        prop_assert!(debate.final_solution.as_ref().is_some_and(|solution| !solution.description.is_empty()));
        let stopped = debate.outcome.as_ref().is_some_and(|outcome| outcome.kind == OutcomeKind::Stopped);
        prop_assert_eq!(stopped, debate.stop_reason.is_some());
        let mut seen = seen.lock().unwrap();
        match (stopped, debate.rounds.is_empty()) {
            (true, true) => seen.stopped_early += 1,
            (true, false) => seen.stopped_late += 1,
            (false, _) => seen.finished += 1,
        }
        Ok(())
    });
    held.unwrap();
    let seen = seen.into_inner().unwrap();
    assert!(seen.finished > 0 && seen.stopped_early > 0 && seen.stopped_late > 0, "{seen:?}");
}
