//! Debates without a process and without a server: the engine on a model in memory and on a clock that is pushed.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use dialectic_base::call::Tokens;
use dialectic_base::price::Price;
use dialectic_engine::agent::{Panel, timeouts_of};
use dialectic_engine::engine::{Engine, RunCommand, RunEnding};
use dialectic_llm::{Caller, CallerLimits, ChatModel, ModelError, Reply, Request};
use dialectic_record::debate::Debate;
use dialectic_record::event::{Created, Event, FORMAT_VERSION, Recorded};
use dialectic_record::ids::DebateId;
use dialectic_record::live::{PanelInfo, Signals};
use dialectic_record::protocol::Protocol;
use dialectic_record::settings::{AgentSettings, Settings};
use dialectic_record::store::{Directory, Entry, JournalError, Record, StoreError};

use super::solved;

/// A run waits for a server that is gone and that it needs.
pub(crate) const WAITS: bool = true;
/// A run pauses when a server is gone that it needs.
pub(crate) const PAUSES: bool = false;

/// The protocol that the settings name.
pub(crate) fn protocol(settings: &Settings) -> &'static Protocol {
    Protocol::named(&settings.debate.protocol).expect("it is a built-in one")
}

/// Agents and judge that all ask `chat`, within the time limits of the settings.
pub(crate) fn panel(
    settings: &Settings,
    chat: &Arc<impl ChatModel + 'static>,
    price: Option<Price>,
    limits: &CallerLimits,
) -> Panel {
    panel_by(settings, |_| chat, price, limits)
}

/// [`panel`] with a model for each agent.
pub(crate) fn panel_by<'a, M: ChatModel + 'static>(
    settings: &Settings,
    chat: impl Fn(&AgentSettings) -> &'a Arc<M>,
    price: Option<Price>,
    limits: &CallerLimits,
) -> Panel {
    let panel = Panel::build(protocol(settings), settings, |agent| Caller {
        chat: chat(agent).clone(),
        provider: agent.provider.as_str().into(),
        price,
        timeouts: timeouts_of(&settings.debate),
        silence: None,
        limits: limits.clone(),
        account: None,
        observer: None,
    });
    panel.expect("the settings are those of a panel")
}

/// What a debate with these settings begins with.
pub(crate) fn created(settings: &Settings, panel: &Panel, id: DebateId, seed: u64) -> Box<Created> {
    Box::new(Created {
        format_version: FORMAT_VERSION,
        id,
        problem: "Design a queue. It must be fast.".into(),
        context: None,
        attachments: [].into(),
        change: None,
        settings: settings.clone(),
        stages: protocol(settings).infos(),
        prompt_sources: Some(panel.sources.clone()),
        seed: u32::try_from(seed % 1000).expect("it is below a thousand"),
        forked_from: None,
    })
}

/// The commands of a debate that nobody tells anything.
pub(crate) fn untold() -> UnboundedReceiver<RunCommand> {
    unbounded_channel().1
}

/// What a request asks for, by the heading of its task: `critique`.
pub(crate) fn task(request: &Request) -> &str {
    let (_, behind) = request.prompt.rsplit_once("# Your task: ").expect("every prompt has a task");
    behind.lines().next().expect("the heading is a line")
}

/// What a model in memory says: nobody has anything grave to object.
pub(crate) fn text(task: &str) -> String {
    match task {
        "score the consensus" => json!({"confidence": 10}).to_string(),
        "synthesise" => solved("Use a ring.", 70).to_string(),
        "critique" => "1. [minor] Speed: a ring is slow. Resolved by: a larger one.".to_owned(),
        "check" => "No objections.".to_owned(),
        _ => "A ring is fast.".to_owned(),
    }
}

/// An answer with figures.
pub(crate) fn reply(text: String) -> Reply {
    let tokens = Some(Tokens { input_tokens: 100, output_tokens: 10, ..Tokens::default() });
    Reply { text, tokens, ..Reply::default() }
}

/// Runs what is to be run on a clock that stands still until it is pushed.
pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
    runtime.expect("a runtime can be built").block_on(future)
}

/// Pushes a clock that stands still, since the thread that saves keeps it from going by itself.
pub(crate) fn push_clock() -> JoinHandle<()> {
    tokio::spawn(async {
        loop {
            tokio::time::advance(Duration::from_millis(20)).await;
        }
    })
}

/// The record, as soon as the thread that saves has let go of it.
pub(crate) fn reopened(entry: &Entry) -> (Record, Vec<Recorded>) {
    loop {
        match Record::reopen(entry) {
            Err(StoreError::Journal(JournalError::Locked { .. })) => std::thread::yield_now(),
            opened => {
                let (record, past) = opened.expect("the record is intact");
                return (record, past.events);
            }
        }
    }
}

/// The requests whose answers are on record.
pub(crate) fn answered(events: &[Recorded]) -> usize {
    let is_answer = |event: &Event| {
        !matches!(event, Event::AttemptFailed { .. }) && event.call().is_some_and(|call| call.attempts > 0)
    };
    events.iter().filter(|recorded| is_answer(&recorded.event)).count()
}

/// Runs a debate to its end.
pub(crate) async fn run(settings: &Settings, panel: Panel, seed: u64) -> (RunEnding, Debate) {
    run_watched(settings, panel, seed, Signals::new(PanelInfo::new(settings, protocol(settings).infos()))).await
}

/// Runs a debate to its end. It shows itself through `signals`.
pub(crate) async fn run_watched(settings: &Settings, panel: Panel, seed: u64, signals: Signals) -> (RunEnding, Debate) {
    run_until(settings, panel, seed, signals, CancellationToken::new()).await
}

/// Runs a debate to its end, or until it is interrupted.
pub(crate) async fn run_until(
    settings: &Settings,
    panel: Panel,
    seed: u64,
    signals: Signals,
    cancel: CancellationToken,
) -> (RunEnding, Debate) {
    run_engine(settings, panel, seed, signals, cancel, PAUSES).await
}

/// Runs a debate that pauses or waits when a server is gone that it needs.
pub(crate) async fn run_through(settings: &Settings, panel: Panel, waits: bool) -> (RunEnding, Debate) {
    let signals = Signals::new(PanelInfo::new(settings, protocol(settings).infos()));
    run_engine(settings, panel, 1, signals, CancellationToken::new(), waits).await
}

async fn run_engine(
    settings: &Settings,
    panel: Panel,
    seed: u64,
    signals: Signals,
    cancel: CancellationToken,
    waits: bool,
) -> (RunEnding, Debate) {
    let directory = tempfile::tempdir().expect("a temporary directory can be made");
    let begun =
        Record::begin(&Directory::at(directory.path()), created(settings, &panel, DebateId::default(), seed), None);
    let (record, _) = begun.expect("a temporary directory can be written to");
    let mut engine =
        Engine::new(protocol(settings), panel, record, &[], signals, cancel, untold()).waiting_for_servers(waits);
    let clock = push_clock();
    let ending = engine.run().await.expect("the debate can be saved");
    clock.abort();
    (ending, engine.debate().clone())
}

/// How often each request was sent. Those that failed are empty.
pub(crate) fn counted(asked: &[String]) -> BTreeMap<&str, usize> {
    let mut counts = BTreeMap::new();
    for request in asked.iter().filter(|request| !request.is_empty()) {
        *counts.entry(request.as_str()).or_default() += 1;
    }
    counts
}

pub(crate) fn gone() -> ModelError {
    ModelError::Unreachable { message: "connection refused".to_owned() }
}
