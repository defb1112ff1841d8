//! A run of a debate on a terminal: what it writes beside the debate, who watches it, and how it ends.

use std::path::{Path, PathBuf};
#[cfg(feature = "archive")]
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::task::spawn_blocking;
use tokio_util::sync::CancellationToken;

#[cfg(feature = "archive")]
use crate::archive::PastDebates;
use crate::error::Error;
use crate::features;
use crate::trace::{TraceDestination, Tracer};
use dialectic_config::{ConfigError, ConfigFiles, ConfigPath, EnvFile, debates_directory, process_environment};
use dialectic_engine::access::{Environment, Trust};
use dialectic_engine::engine::{EngineError, ForecastError, RunEnding};
use dialectic_engine::runner::{After, Failed, Finished, Hooks, Ready, Run, Runner, Services};
use dialectic_llm::openai::http_client;
use dialectic_record::debate::{Debate, Forecast, Settings};
use dialectic_record::store::{Directory, Entry};
use dialectic_report::display::{EventSink, KeysMeaning, Messages, ProgressMode, StreamEnd, participants};

use super::args::{RunArgs, VouchArgs};
use super::commands::serve::{Served, Server, Watched};
use super::conclusion::{Files, ReviewEnd, conclude};
use super::detach::leave;
use super::interrupt::{Interrupts, end_on_interrupt, end_soon, interrupt};
use super::keys::{Key, Keyboard};
use super::output::{is_stdout, make_parent, report_path};
use super::questions::{Given, OnQuestions};
use super::suspend::give_way;
use super::target::OutputTarget;
use super::terminal::Terminal;
use super::watchers::{Log, Seen, Waited, Watchers};
use super::{modes, questions};

/// Where debates are kept.
pub(super) fn debates() -> Result<Directory, Error> {
    Ok(Directory::at(debates_directory(&process_environment())?))
}

/// Whether no debate has been held here yet.
pub(super) fn is_first_debate() -> bool {
    debates().and_then(|directory| Ok(directory.entries()?)).is_ok_and(|entries| entries.is_empty())
}

/// What a run writes besides the debate itself.
pub(super) struct Session<'a> {
    args: &'a RunArgs,
    report: Option<PathBuf>,
    events: Option<EventSink>,
    trace: Option<(TraceDestination, reqwest::Client)>,
    after: After,
    server: Option<Server>,
    is_first: bool,
    given: Option<Given>,
    on_questions: OnQuestions,
    review: Option<ReviewEnd>,
}

/// Which environment file was asked for.
pub(super) fn env_file(path: Option<&PathBuf>) -> EnvFile {
    path.map_or(EnvFile::Default, |path| EnvFile::Named(path.clone()))
}

/// The configuration files that a run goes by: what `--config` names, and the user's own.
pub(super) fn config_files<'a>(named: Option<&PathBuf>, environment: &'a Environment) -> ConfigFiles<'a> {
    let path = named.map_or(ConfigPath::Default, |path| ConfigPath::Named(path.clone()));
    ConfigFiles::new(path, environment)
}

/// What the user vouches for with options, beside what the settings may do by their own word.
pub(super) fn vouched(provenance: Trust, args: &VouchArgs, files: &ConfigFiles) -> Result<Trust, Error> {
    let provenance = files.vouch(provenance)?;
    Ok(args.context.iter().fold(provenance, |provenance, path| provenance.and_directory(path)))
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
    pub(super) fn open(
        args: &'a RunArgs,
        settings: &Settings,
        hooks: Hooks,
        environment: &Environment,
        terminal: &mut Terminal,
    ) -> Result<Self, Error> {
        features::check(settings)?;
        if args.detach && args.events.as_deref().is_some_and(is_stdout) {
            let message = "goes to standard output, which a detached run does not have: name a file".to_owned();
            return Err(ConfigError::Argument { option: "--events", message }.into());
        }
        let report = args.report.as_deref().map(|path| report_path(path, terminal));
        let events = args.events.as_deref().filter(|path| !is_stdout(path));
        let mut targets: Vec<(&str, OutputTarget)> = Vec::new();
        for (option, path) in
            [("--output", args.output.as_deref()), ("--report", report.as_deref()), ("--events", events)]
        {
            let Some(path) = path else { continue };
            let target = OutputTarget::prepare(path)?;
            let streamed = args.events.is_some() && events.is_none() && target.is_stdout();
            let other = targets.iter().find(|(_, other)| other.is_same(&target)).map(|(other, _)| *other);
            if let Some(other) = other.or(streamed.then_some("--events")) {
                let message = format!("names the same file as {other}");
                return Err(ConfigError::Argument { option, message }.into());
            }
            targets.push((option, target));
        }
        let events = event_sink(args.events.as_deref())?;
        let trace = match settings.debate.trace {
            None => None,
            Some(target) => match TraceDestination::of(target, environment) {
                Ok(destination) => {
                    let http = http_client(environment.certificate_file())?.client_for(destination.url()).clone();
                    Some((destination, http))
                }
                Err(unsent) if unsent.is_of_no_harm() => {
                    terminal.warning(&unsent.to_string());
                    None
                }
                Err(unsent) => return Err(unsent.into()),
            },
        };
        Ok(Self {
            args,
            report,
            events,
            trace,
            after: runner(environment.clone())?.after(settings, hooks),
            server: None,
            is_first: is_first_debate(),
            given: None,
            review: None,
            on_questions: if args.detach { OnQuestions::Leave } else { OnQuestions::Ask },
        })
    }

    /// With a server that lets the debate be watched and steered in a browser, until the user interrupts.
    pub(super) fn watched_by(self, server: Option<Server>) -> Self {
        Self { server, ..self }
    }

    /// With answers to what is asked first, and what is done about what is asked then.
    pub(super) fn answering(self, given: Option<Given>, on_questions: OnQuestions) -> Self {
        Self { given, on_questions, ..self }
    }

    /// With a review that ends so.
    pub(super) fn reviewing(self, review: ReviewEnd) -> Self {
        Self { review: Some(review), ..self }
    }

    /// Runs the debate, shows it and says how it ended. `foreseen` is what is known already of what it takes.
    pub(super) fn run(self, ready: Ready, foreseen: Option<Forecast>, terminal: &mut Terminal) -> Result<(), Error> {
        let Self { args, report, events, trace, after, server, is_first, given, on_questions, review } = self;
        let ready = if args.detach {
            leave(&ready, terminal)?;
            ready.kept()
        } else {
            ready
        };
        let served = server.map(|server| Served::start(server, &ready.debate().id, terminal)).transpose()?;
        let begun = Instant::now();
        let saved_to = ready.state_path().to_owned();
        if args.verbose {
            terminal.notice(&participants(ready.debate()));
        }
        let options = terminal.display(args.watch.watch());
        let ready = if terminal.shows(args.watch.watch()) { ready.waiting_for_servers() } else { ready };
        let is_foreseen = foreseen.is_some();
        let forecast = ready.forecast().filter(|_| options.progress == ProgressMode::Live && !is_foreseen);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Error::Runtime)?;
        let tracer = trace.and_then(|(to, http)| {
            let debate = ready.debate().clone();
            let version = debate.prompt_sources.as_ref().and_then(|sources| sources.version.clone());
            Tracer::start(to, http, debate, &version.unwrap_or_default())
                .map_err(|error| terminal.warning(&error.to_string()))
                .ok()
        });
        let journal = ready.journal_path().to_owned();
        let log = Log { journal: &journal, before: ready.events_before() };
        let cancel = CancellationToken::new();
        let (ended, tracer) = runtime.block_on(async {
            let interrupts = Interrupts::listen();
            let watchers = match Watchers::start(ready.signals(), &log, options, events, tracer) {
                Ok(watchers) => watchers,
                Err(error) => return (Err(error), None),
            };
            let watch = tokio::spawn(interrupt(interrupts, cancel.clone(), watchers.view().clone()));
            let messages = watchers.messages();
            if let Some(foreseen) = foreseen {
                messages.expect(foreseen);
            }
            if let Some(forecast) = forecast {
                foresee(forecast, messages.clone());
            }
            let (pressed, mut keys) = unbounded_channel();
            let mut keyboard = None;
            if options.progress == ProgressMode::Live {
                keyboard = Keyboard::listen(pressed);
                if keyboard.is_some() {
                    messages.key(KeysMeaning::Heard);
                }
                give_way(messages, keyboard.clone());
            }
            let user = User { keys: &mut keys, keyboard: keyboard.as_ref(), given, on_questions };
            let signals = ready.signals().clone();
            let run = ready.run();
            let watched = served.as_ref().map(|served| served.show(&run, signals));
            let ended = run_while_shown(run, watchers, &cancel, user, &saved_to, watched).await;
            // From here on the terminal belongs to what comes next.
            if let Some(keyboard) = &keyboard {
                std::mem::forget(keyboard.off());
            }
            watch.abort();
            ended
        });
        // A thread that waits for a line of standard input must not keep the program.
        runtime.shutdown_background();
        if served.is_none() {
            end_on_interrupt();
        }
        if cancel.is_cancelled() {
            // What is left to say is said, or somebody does not read it.
            end_soon();
        }
        let took = begun.elapsed();
        let files = Files { saved_to: &saved_to, report: report.as_deref(), took, is_first, review };
        let is_over = ended.as_ref().is_ok_and(Over::is_over);
        let result = ended.and_then(|ended| conclude(ended, &files, args, terminal));
        if is_over && !matches!(result, Err(Error::PipeClosed)) {
            do_behind(after, &saved_to, terminal);
        }
        // Last, so that nobody waits for a result because a collector is slow.
        if let Some(Err(undelivered)) = tracer.map(Tracer::finish)
            && !matches!(result, Err(Error::PipeClosed))
        {
            terminal.warning(&undelivered.to_string());
        }
        if matches!(result, Err(Error::Interrupted { .. })) {
            // Once more: an interrupt that comes with the question finds the modes not yet changed.
            modes::restore();
        }
        match served {
            Some(served) if result.is_ok() => served.stay(terminal),
            _ => result,
        }
    }
}

/// Does what is to be done after a debate, when its result is out.
fn do_behind(after: After, state: &Path, terminal: &mut Terminal) {
    match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => {
            for warning in runtime.block_on(after.run(state)) {
                terminal.warning(&warning);
            }
        }
        Err(error) => terminal.warning(&format!("hooks, ratings and memory are skipped: {error}")),
    }
}

/// The runner of the debates of this directory.
pub(super) fn runner(environment: Environment) -> Result<Runner, Error> {
    let directory = debates()?;
    let services = Services::new(environment);
    #[cfg(feature = "archive")]
    let services = services.with_past(Arc::new(PastDebates::of(&directory)));
    Ok(Runner::new(directory, services))
}

/// How a run went, before anything is said of it.
pub(super) struct Over {
    /// The debate as it is saved.
    pub(super) debate: Debate,
    /// How it ended.
    pub(super) ending: RunEnding,
    /// Whether it is on record.
    pub(super) is_kept: bool,
    /// How the event stream ended.
    pub(super) stream: StreamEnd,
    /// Whether the user waited until all was shown.
    pub(super) waited: Waited,
    /// What is done where it asks something.
    pub(super) on_questions: OnQuestions,
}

impl Over {
    /// Whether the debate is on record and nothing more comes of it by itself.
    fn is_over(&self) -> bool {
        self.is_kept && matches!(self.ending, RunEnding::Completed | RunEnding::Failed)
    }
}

/// How the user takes part: with keys, where there are some.
struct User<'a> {
    keys: &'a mut UnboundedReceiver<Key>,
    keyboard: Option<&'a Keyboard>,
    /// What is answered to what is asked first.
    given: Option<Given>,
    on_questions: OnQuestions,
}

/// Has the dry run of the debate worked out and shown, on a thread that nobody waits for.
fn foresee(forecast: impl FnOnce() -> Result<Forecast, ForecastError> + Send + 'static, messages: Messages) {
    let foreseen = move || {
        // Without it the debate is shown all the same.
        if let Ok(forecast) = forecast() {
            messages.expect(forecast);
        }
    };
    drop(thread::Builder::new().name("forecast".to_owned()).spawn(foreseen));
}

/// Does what a key stands for.
fn press(key: Key, run: &Run, messages: &Messages, is_held: &mut bool) {
    match key {
        Key::Pause => {
            *is_held ^= true;
            if *is_held {
                run.hold();
            } else {
                run.go_on();
            }
            messages.key(KeysMeaning::Held(*is_held));
        }
        Key::Stop => {
            if std::mem::take(is_held) {
                run.go_on();
                messages.key(KeysMeaning::Held(false));
            }
            run.stop();
        }
        Key::MoreOrLess => messages.key(KeysMeaning::MoreOrLess),
        Key::Help => messages.key(KeysMeaning::Help),
        // A debate that is paid for is not left by a slip: Ctrl-C leaves it.
        Key::Quit => {}
    }
}

/// Lets everybody watch a run, and asks the user where it waits for answers. The tracer comes back when it has taken in
/// everything.
async fn run_while_shown(
    mut run: Run,
    mut watchers: Watchers,
    cancel: &CancellationToken,
    mut user: User<'_>,
    saved_to: &Path,
    watched: Option<Watched>,
) -> (Result<Over, Error>, Option<Tracer>) {
    let messages = watchers.messages();
    let mut is_held = false;
    let asked = loop {
        tokio::select! {
            waiting = run.questions() => {
                let Some(mut debate) = waiting else { break Ok(()) };
                if let Some(given) = user.given.take() {
                    debate = given.tell(&run, &debate);
                    if debate.open_questions().next().is_none() {
                        continue;
                    }
                }
                if user.on_questions == OnQuestions::Leave {
                    run.pause();
                    continue;
                }
                if watched.is_some() {
                    // Nobody is asked twice.
                    drop(messages.say("The agents have questions. Answer them in the browser.\n"));
                    continue;
                }
                let keyboard = user.keyboard.cloned();
                // The keyboard may have to be waited for, and not by the debate.
                let off = spawn_blocking(move || keyboard.map(|keyboard| keyboard.off())).await.ok();
                let asked = questions::ask(&run, &debate, cancel, &messages).await;
                drop(off);
                match asked {
                    Ok(questions::AskOutcome::Answered) => {}
                    Ok(questions::AskOutcome::Interrupted) => run.interrupt(),
                    Err(error) => {
                        run.interrupt();
                        break Err(error);
                    }
                }
            }
            Some(key) = user.keys.recv() => press(key, &run, &messages, &mut is_held),
            // The view says that the debate is interrupted; the run pauses.
            () = cancel.cancelled(), if !run.is_interrupted() => run.interrupt(),
            // Nobody pays for what nobody reads.
            () = watchers.reader_gone() => {
                run.interrupt();
                break Ok(());
            }
        }
    };
    let ended = run.wait().await;
    // Watchers find the end when nobody has the run any more.
    drop(watched);
    let Seen { stream, tracer, waited } = watchers.finish(cancel).await;
    let ended = asked.and(ended.map_err(|Failed { debate, source }| match source {
        EngineError::Store(source) => {
            let has_journal = Entry::of_state(saved_to).journal.is_some();
            Error::NotSaved { id: debate.id.clone(), has_journal, source }
        }
        source => source.into(),
    }));
    let on_questions = user.on_questions;
    let over = |Finished { debate, ending, is_kept }| Over { debate, ending, is_kept, stream, waited, on_questions };
    (ended.map(over), tracer)
}
