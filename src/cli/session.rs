//! A run of a debate, new or resumed: from settings to a panel, through the engine, to streams and exit codes.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::agent::Panel;
use crate::config::{
    ConfigError, ConfigPath, EnvFile, Environment, Overrides, Provenance, missing_keys, routed_providers,
};
use crate::debate::{Debate, PanelInfo, PromptSources, Recorded, Settings, Signal};
use crate::display::{DisplayOptions, EventSink, Messages, StreamEnd, roster};
use crate::engine::{Course, Ending, Engine, EngineError, check_prices};
use crate::error::Error;
use crate::llm::openai::http_client;
use crate::llm::{Caller, CallerLimits, InFlight, Timeouts, price_of};
use crate::prompt;
use crate::protocol::Protocol;
use crate::signals::Signals;
use crate::store::{Entry, Record};
use crate::trace::{Destination, TraceConfigError, Tracer};

use super::args::{RunArgs, VouchArgs};
use super::commands::debate::load_settings;
use super::conclusion::{Files, conclude};
use super::interrupt::{Interrupts, end_on_interrupt, end_soon, interrupt};
use super::models::Models;
use super::modes::TerminalModes;
use super::output::{is_stdout, make_parent, report_path};
use super::questions;
use super::target::Target;
use super::terminal::Terminal;
use super::watchers::{Log, Seen, Waited, Watchers};

/// Where debates are kept.
pub(super) const DEBATES: &str = "./debates";

/// What a run writes besides the debate itself.
pub(super) struct Session<'a> {
    args: &'a RunArgs,
    report: Option<PathBuf>,
    signals: Signals,
    begun: Option<Arc<Recorded>>,
    events: Option<EventSink>,
    trace: Option<(Destination, reqwest::Client)>,
    course: Course,
}

/// Which environment file was asked for.
pub(super) fn env_file(path: Option<&PathBuf>) -> EnvFile {
    path.map_or(EnvFile::Default, |path| EnvFile::Named(path.clone()))
}

/// The provenance of the settings of a record: the user vouches for what the options name.
pub(super) fn of_record(
    args: &VouchArgs,
    journal: &Path,
    recorded: Option<&PromptSources>,
    environment: &Environment,
) -> Result<Provenance, Error> {
    let mut provenance = Provenance::of_record(journal, recorded);
    if let Some(path) = &args.config {
        let named = load_settings(&ConfigPath::Named(path.clone()), environment, &Overrides::default())?;
        provenance = provenance.and_config(&named.settings);
    }
    if let Some(path) = &args.context {
        provenance = provenance.and_directory(path);
    }
    Ok(provenance)
}

/// Where the event stream goes: nowhere, to standard output (`-`), or to a file.
pub(super) fn event_sink(path: Option<&Path>) -> Result<Option<EventSink>, Error> {
    match path {
        None => Ok(None),
        Some(path) if is_stdout(path) => Ok(Some(EventSink::stdout())),
        Some(path) => {
            make_parent(path)?;
            let failed = |source| Error::Output { path: path.to_owned(), source };
            EventSink::create(path).map(Some).map_err(failed)
        }
    }
}

impl<'a> Session<'a> {
    /// Checks and opens what the run writes to, so that nothing is paid for that could not be kept.
    pub(super) fn open(args: &'a RunArgs, settings: &Settings, terminal: &mut Terminal) -> Result<Self, Error> {
        let report = args.report.as_deref().map(|path| report_path(path, terminal));
        let events = args.events.as_deref().filter(|path| !is_stdout(path));
        let mut targets: Vec<(&str, Target)> = Vec::new();
        for (option, path) in
            [("--output", args.output.as_deref()), ("--report", report.as_deref()), ("--events", events)]
        {
            let Some(path) = path else { continue };
            let target = Target::prepare(path)?;
            let streamed = args.events.is_some() && events.is_none() && target.is_stdout();
            let other = targets.iter().find(|(_, other)| other.is_same(&target)).map(|(other, _)| *other);
            if let Some(other) = other.or(streamed.then_some("--events")) {
                let message = format!("names a file that {other} is written to");
                return Err(ConfigError::Argument { option, message }.into());
            }
            targets.push((option, target));
        }
        let events = event_sink(args.events.as_deref())?;
        let signals = Signals::new(PanelInfo::from(settings));
        Ok(Self { args, report, signals, begun: None, events, trace: None, course: Course::Regular })
    }

    /// Says where the run leads.
    pub(super) fn heading(self, course: Course) -> Self {
        Self { course, ..self }
    }

    /// Builds agents and judge with everything checked that can be checked without a call, and finds out where traces
    /// go.
    pub(super) fn panel(
        &mut self,
        settings: &Settings,
        environment: &Environment,
        provenance: &Provenance,
        terminal: &mut Terminal,
    ) -> Result<Panel, Error> {
        if let Some(target) = settings.debate.trace {
            match Destination::of(target, environment) {
                Ok(destination) => {
                    let http = http_client()?.client_for(destination.url()).clone();
                    self.trace = Some((destination, http));
                }
                Err(missing @ TraceConfigError::Missing { .. }) => terminal.warning(&missing.to_string()),
                Err(invalid) => return Err(invalid.into()),
            }
        }
        build_panel(settings, environment, provenance)
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
        let Self { args, report, signals, begun, events, trace, course } = self;
        let modes = TerminalModes::default();
        let saved_to = record.state_path().to_owned();
        let debate = record.debate();
        if args.verbose {
            terminal.notice(&roster(debate));
        }
        let Some(settings) = &debate.settings else {
            return Err(Error::NotResumable { id: debate.id.clone(), reason: "its settings are not saved" });
        };
        let options = DisplayOptions { progress: terminal.progress(args.quiet), color: terminal.color() };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Error::Runtime)?;
        let tracer = trace.and_then(|(to, http)| {
            let started = Tracer::start(to, http, debate.clone(), prompt::version());
            started.map_err(|error| terminal.warning(&error.to_string())).ok()
        });
        signals.begin(PanelInfo::from(settings).resuming(debate));
        let journal = record.journal_path().to_owned();
        let log = Log { journal: &journal, before: record.events() };
        let cancel = CancellationToken::new();
        let (ended, tracer) = runtime.block_on(async {
            let interrupts = Interrupts::listen();
            let watchers = match Watchers::start(&signals, &log, options, events, tracer) {
                Ok(watchers) => watchers,
                Err(error) => return (Err(error), None),
            };
            if let Some(begun) = begun {
                signals.publish(Signal::Recorded(begun));
            }
            let watch = tokio::spawn(interrupt(interrupts, cancel.clone(), watchers.view().clone()));
            let engine = Engine::new(protocol, panel, record, past, signals, cancel.clone()).heading(course);
            let ended = run_while_shown(engine, watchers, &cancel, &modes, &saved_to).await;
            watch.abort();
            ended
        });
        // A thread that waits for a line of standard input must not keep the program.
        runtime.shutdown_background();
        end_on_interrupt();
        if cancel.is_cancelled() {
            // What is left to say is said, or somebody does not read it.
            end_soon();
        }
        let files = Files { saved_to: &saved_to, report: report.as_deref() };
        let result = ended.and_then(|ended| conclude(ended, &files, args, terminal));
        // Last, so that nobody waits for a result because a collector is slow.
        if let Some(Err(undelivered)) = tracer.map(Tracer::finish)
            && !matches!(result, Err(Error::PipeClosed))
        {
            terminal.warning(&undelivered.to_string());
        }
        if matches!(result, Err(Error::Interrupted { .. })) {
            // Once more: an interrupt that comes with the question finds the modes not yet changed.
            modes.restore();
        }
        result
    }

    /// Has what happened before the engine was made shown first.
    pub(super) fn beginning(self, begun: Arc<Recorded>) -> Self {
        Self { begun: Some(begun), ..self }
    }
}

/// Builds agents and judge; everything that can be checked without a call is checked on the way.
pub(super) fn build_panel(
    settings: &Settings,
    environment: &Environment,
    provenance: &Provenance,
) -> Result<Panel, Error> {
    missing_keys(settings, environment)?;
    check_prices(settings)?;
    let everybody = settings.agents.iter().chain([&settings.judge]);
    let used = everybody.map(|agent| agent.provider.as_str());
    let models = Models::build(used, &settings.providers, environment, provenance)?;
    let debate = &settings.debate;
    let limits = CallerLimits {
        in_flight: Arc::new(InFlight::at_most(debate.max_concurrency as usize)),
        max_retries: debate.max_retries,
    };
    provenance.check_context(settings)?;
    let mut panel = Panel::build(settings, |agent| Caller {
        chat: models.of(&agent.provider),
        provider: agent.provider.as_str().into(),
        price: price_of(agent, settings),
        timeouts: Timeouts::of(debate),
        silence: None,
        limits: limits.clone(),
        account: None,
        observer: None,
    })?;
    provenance.check_prompts(settings, environment, &panel.sources)?;
    panel.routed = routed_providers(settings, environment);
    panel.withheld = environment.file().map(std::path::absolute).and_then(Result::ok);
    Ok(panel)
}

/// How a run went, before anything is said of it.
pub(super) struct Run {
    /// The debate as it is saved.
    pub(super) debate: Debate,
    /// How it ended.
    pub(super) ending: Ending,
    /// How the event stream ended.
    pub(super) stream: StreamEnd,
    /// Whether the user waited until all was shown.
    pub(super) waited: Waited,
}

/// Runs the debate and lets everybody watch. The tracer comes back when it has taken in everything.
async fn run_while_shown(
    mut engine: Engine,
    mut watchers: Watchers,
    cancel: &CancellationToken,
    modes: &TerminalModes,
    saved_to: &Path,
) -> (Result<Run, Error>, Option<Tracer>) {
    let messages = watchers.messages();
    let (ended, gone) = tokio::select! {
        ended = run_and_ask(&mut engine, cancel, modes, &messages) => (ended, false),
        () = watchers.reader_gone() => (Ok(Ending::Paused), true),
    };
    let paused = if gone { engine.pause().await } else { Ok(()) };
    let debate = engine.debate().clone();
    // The signals end when everything that publishes them is gone; an error is told when the block has left the screen.
    drop(engine);
    let Seen { stream, tracer, waited } = watchers.finish(cancel).await;
    let ended = paused.map_err(Error::from).and(ended).map_err(|error| match error {
        Error::Engine(EngineError::Store(source)) => {
            let has_journal = Entry::of_state(saved_to).journal.is_some();
            Error::NotSaved { id: debate.id.clone(), has_journal, source }
        }
        error => error,
    });
    (ended.map(|ending| Run { debate, ending, stream, waited }), tracer)
}

/// Runs the debate; while it waits for the user, asks, and runs on.
async fn run_and_ask(
    engine: &mut Engine,
    cancel: &CancellationToken,
    modes: &TerminalModes,
    messages: &Messages,
) -> Result<Ending, Error> {
    loop {
        let ending = engine.run().await?;
        if ending != Ending::Suspended {
            return Ok(ending);
        }
        if questions::ask(engine, cancel, modes, messages).await? == questions::Asked::Interrupted {
            engine.pause().await?;
            return Ok(Ending::Paused);
        }
    }
}
