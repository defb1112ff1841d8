//! A run of a debate, new or resumed: from settings to a panel, through the engine, to streams and exit codes.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::Semaphore;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio_util::sync::CancellationToken;

use crate::agent::Panel;
use crate::config::{EnvFile, Environment, Speaker, attempt_timeout, endpoint, missing_keys};
use crate::debate::{AgentSettings, Debate, OutcomeKind, PromptSources, Recorded, Settings, Signal};
use crate::display::{DisplayEnd, DisplayOptions, EventSink, PanelInfo, roster, run as display, summary};
use crate::engine::{Ending, Engine, SignalObserver};
use crate::error::Error;
use crate::llm::offline::{Rehearsal, RehearsalOptions};
use crate::llm::openai::{Endpoint, OpenAiClient, http_client};
use crate::llm::presets::OFFLINE;
use crate::llm::{Caller, CallerLimits, ChatModel};
use crate::protocol::Protocol;
use crate::store::Record;

use super::args::RunArgs;
use super::terminal::Terminal;

/// Where debates are kept.
pub(super) const DEBATES: &str = "./debates";

/// What a run writes besides the debate itself.
pub(super) struct Session<'a> {
    args: &'a RunArgs,
    signals: UnboundedSender<Signal>,
    received: tokio::sync::mpsc::UnboundedReceiver<Signal>,
    events: Option<EventSink>,
}

/// Which environment file was asked for.
pub(super) fn env_file(path: Option<&PathBuf>) -> EnvFile {
    path.map_or(EnvFile::Default, |path| EnvFile::Named(path.clone()))
}

impl<'a> Session<'a> {
    /// Checks and opens what the run writes to, so that nothing is paid for that could not be kept.
    pub(super) fn open(args: &'a RunArgs) -> Result<Self, Error> {
        if let Some(path) = &args.output {
            prepare(path)?;
        }
        let events = match args.events.as_deref() {
            None => None,
            Some(path) if path == Path::new("-") => Some(EventSink::stdout()),
            Some(path) => {
                make_parent(path)?;
                let failed = |source| Error::Output { path: path.to_owned(), source };
                Some(EventSink::create(path).map_err(failed)?)
            }
        };
        let (signals, received) = unbounded_channel();
        Ok(Self { args, signals, received, events })
    }

    /// Builds agents and judge with everything checked that can be checked without a call.
    pub(super) fn panel(&self, settings: &Settings, environment: &Environment) -> Result<Panel, Error> {
        missing_keys(settings, environment)?;
        let models = Models::build(settings, environment)?;
        let debate = &settings.debate;
        let limits = CallerLimits {
            in_flight: Arc::new(Semaphore::new(debate.max_concurrency as usize)),
            max_retries: debate.max_retries,
        };
        let observer = Arc::new(SignalObserver(self.signals.clone()));
        let panel = Panel::build(settings, |agent| {
            let speaker = if agent.id == settings.judge.id { Speaker::Judge } else { Speaker::Agent };
            Caller {
                chat: models.of(agent),
                provider: agent.provider.as_str().into(),
                price: settings.prices.get(&agent.model).copied().or_else(|| built_in_price(agent)),
                attempt_timeout: attempt_timeout(debate, speaker),
                limits: limits.clone(),
                observer: observer.clone(),
            }
        })?;
        Ok(panel)
    }

    /// Runs the debate to its end and says how it went.
    pub(super) fn run(
        self,
        protocol: &'static Protocol,
        panel: Panel,
        record: Record,
        past: &[Recorded],
        terminal: &mut Terminal,
    ) -> Result<(), Error> {
        let Self { args, signals, received, events } = self;
        let debate = record.debate();
        if args.verbose {
            terminal.notice(&roster(debate));
        }
        let Some(settings) = &debate.settings else {
            return Err(Error::NotResumable { id: debate.id.clone(), reason: "its settings are not saved" });
        };
        let info = PanelInfo::from(settings).resuming(debate);
        let options = DisplayOptions { progress: terminal.progress(args.quiet), color: terminal.color() };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Error::Runtime)?;
        let id = debate.id.clone();
        let (debate, ending, shown) = runtime.block_on(async move {
            let cancel = CancellationToken::new();
            let shown = tokio::spawn(display(received, info, options, events));
            let watch = tokio::spawn(interrupt(cancel.clone()));
            let engine = Engine::new(protocol, panel, record, past, signals, cancel.clone());
            let ended = run_while_shown(engine, shown, &cancel).await;
            watch.abort();
            ended
        })?;
        let debate_id = id;
        match shown {
            DisplayEnd::PipeClosed => return Err(Error::PipeClosed),
            DisplayEnd::Complete | DisplayEnd::EventsIncomplete => {}
        }
        if args.verbose {
            terminal.notice(&summary(&debate));
        }
        terminal.notice(&format!("Saved debate to {DEBATES}/{debate_id}.json"));
        finish(&debate, ending, args, terminal)?;
        if shown == DisplayEnd::EventsIncomplete { Err(Error::EventsIncomplete) } else { Ok(()) }
    }

    /// For what happened before the engine was made.
    pub(super) fn show(&self, recorded: Arc<Recorded>) {
        drop(self.signals.send(Signal::Recorded(recorded)));
    }
}

type Run = (Debate, Ending, DisplayEnd);

async fn run_while_shown(
    engine: Engine,
    mut shown: tokio::task::JoinHandle<DisplayEnd>,
    cancel: &CancellationToken,
) -> Result<Run, Error> {
    let running = engine.run();
    tokio::pin!(running);
    let (ended, early) = tokio::select! {
        ended = &mut running => (ended, None),
        // The display ends first only when nobody reads its output any more: the debate is paused and kept.
        end = &mut shown => {
            cancel.cancel();
            (running.await, end.ok())
        }
    };
    let (debate, ending) = ended?;
    let shown = match early {
        Some(end) => end,
        None => shown.await.unwrap_or(DisplayEnd::Complete),
    };
    Ok((debate, ending, shown))
}

/// Prints the result, and says everything that kept the debate from being full.
fn finish(debate: &Debate, ending: Ending, args: &RunArgs, terminal: &mut Terminal) -> Result<(), Error> {
    let id = || debate.id.clone();
    match ending {
        Ending::Paused | Ending::Suspended => return Err(Error::Interrupted { id: id() }),
        Ending::Failed => {
            let reason = debate.error.clone().unwrap_or_else(|| "for an unknown reason".to_owned());
            return Err(Error::DebateFailed { id: id(), reason });
        }
        Ending::Completed => {}
    }
    let solution = debate.final_solution.as_ref().map(|solution| solution.description.as_str()).unwrap_or_default();
    let printed = match &args.output {
        Some(path) => write_output(path, debate, solution).map(|()| {
            terminal.notice(&format!("Wrote the result to {}", path.display()));
        }),
        None if args.events.as_deref() == Some(Path::new("-")) => Ok(()),
        None => terminal.markdown(solution),
    };
    if is_offline(debate) {
        terminal.notice("No model was called: the offline provider works by rules. For a real debate see the README.");
    }
    if let Some(outcome) = debate.outcome.as_ref().filter(|outcome| outcome.kind != OutcomeKind::Full) {
        terminal.warning(&format!("this debate ended {}:", outcome.kind.name()));
        for reason in &outcome.reasons {
            terminal.notice(&format!("  - {reason}"));
        }
        if args.strict {
            return Err(Error::NotFull { id: id() });
        }
    }
    printed
}

/// Whether no agent and no judge of this debate is a model.
fn is_offline(debate: &Debate) -> bool {
    let settings = debate.settings.iter();
    settings.flat_map(|settings| settings.agents.iter().chain([&settings.judge])).all(|agent| agent.provider == OFFLINE)
}

fn write_output(path: &Path, debate: &Debate, solution: &str) -> Result<(), Error> {
    let json = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("json"));
    crate::store::write_atomically(path, |out| {
        if json {
            serde_json::to_writer_pretty(&mut *out, debate)?;
            out.write_all(b"\n")
        } else {
            out.write_all(solution.as_bytes())
        }
    })?;
    Ok(())
}

/// Sees to it that a file can be written when the debate is over.
fn prepare(path: &Path) -> Result<(), Error> {
    make_parent(path)?;
    let failed = |source| Error::Output { path: path.to_owned(), source };
    if path.is_dir() {
        return Err(failed(std::io::Error::from(std::io::ErrorKind::IsADirectory)));
    }
    let existed = path.exists();
    fs::OpenOptions::new().append(true).create(true).open(path).map_err(failed)?;
    if !existed {
        fs::remove_file(path).map_err(failed)?;
    }
    Ok(())
}

fn make_parent(path: &Path) -> Result<(), Error> {
    match path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        Some(parent) => {
            fs::create_dir_all(parent).map_err(|source| Error::Output { path: parent.to_owned(), source })
        }
        None => Ok(()),
    }
}

/// The first interrupt pauses the debate, the second ends the program at once.
async fn interrupt(cancel: CancellationToken) {
    let mut interrupts = Interrupts::listen();
    interrupts.next().await;
    cancel.cancel();
    interrupts.next().await;
    #[expect(clippy::exit, reason = "the user asked twice: whatever hangs must not keep the program alive")]
    std::process::exit(130);
}

/// Ctrl-C, and where there is one the signal to terminate.
struct Interrupts {
    #[cfg(unix)]
    terminate: Option<tokio::signal::unix::Signal>,
}

impl Interrupts {
    fn listen() -> Self {
        Self {
            #[cfg(unix)]
            terminate: tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()).ok(),
        }
    }

    async fn next(&mut self) {
        #[cfg(unix)]
        if let Some(terminate) = &mut self.terminate {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = tokio::signal::ctrl_c() => {}
            }
            return;
        }
        drop(tokio::signal::ctrl_c().await);
    }
}

/// The clients of the providers in use, each built once: connections are shared.
struct Models {
    by_provider: Vec<(String, Arc<dyn ChatModel>)>,
}

impl Models {
    fn build(settings: &Settings, environment: &Environment) -> Result<Self, Error> {
        let mut models = Self { by_provider: Vec::new() };
        let mut http = None;
        for agent in settings.agents.iter().chain([&settings.judge]) {
            if models.by_provider.iter().any(|(provider, _)| *provider == agent.provider) {
                continue;
            }
            let chat: Arc<dyn ChatModel> = if agent.provider == OFFLINE {
                Arc::new(Rehearsal::new(rehearsal_options(environment)?))
            } else {
                let http = match &http {
                    Some(http) => http,
                    None => http.insert(http_client()?),
                };
                let resolved = endpoint(&agent.provider, &settings.providers, environment)?;
                let endpoint = Endpoint {
                    name: resolved.name.as_str().into(),
                    base_url: resolved.base_url,
                    api_key: resolved.api_key,
                    headers: resolved.headers,
                    api: resolved.api,
                };
                Arc::new(OpenAiClient::new(endpoint, http.clone())?)
            };
            models.by_provider.push((agent.provider.clone(), chat));
        }
        Ok(models)
    }

    /// The client of an agent's provider. Every provider in the settings has one.
    fn of(&self, agent: &AgentSettings) -> Arc<dyn ChatModel> {
        let found = self.by_provider.iter().find(|(provider, _)| *provider == agent.provider);
        let (_, chat) = found.unwrap_or_else(|| &self.by_provider[0]);
        Arc::clone(chat)
    }
}

fn rehearsal_options(environment: &Environment) -> Result<RehearsalOptions, Error> {
    Ok(RehearsalOptions {
        seed: environment.offline_seed()?.unwrap_or_default(),
        latency: environment.offline_latency()?.unwrap_or_default(),
        fail_every: environment.offline_fail_every()?,
    })
}

fn built_in_price(agent: &AgentSettings) -> Option<crate::debate::Price> {
    crate::llm::built_in_price(&agent.provider, &agent.model)
}

/// Where prompts come from, for a debate that is resumed: what has changed since it was begun.
pub(super) fn changed_prompts(before: &PromptSources, now: &PromptSources) -> bool {
    before != now
}
