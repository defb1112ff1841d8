//! A run of a debate on a terminal: its files, its watchers, and its end.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::thread;

use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::task::spawn_blocking;
use tokio_util::sync::CancellationToken;

use crate::archive::PastDebates;
use crate::error::{Error, ErrorCategory, UserError};
use crate::serve::{Server, Watched};
use crate::trace::{TraceDestination, Tracer};
use dialectic_base::figures::list;
use dialectic_config::{ConfigError, ConfigFiles, ConfigPath, debates_directory, process_environment};
use dialectic_engine::access::{Environment, UserSettings};
use dialectic_engine::engine::{EngineError, ForecastError, RunEnding};
use dialectic_engine::runner::{After, Failed, Finished, Ready, Run, Runner, Services};
use dialectic_llm::openai::http_client;
use dialectic_record::debate::{Debate, Forecast, Settings};
use dialectic_record::store::{Directory, Entry};
use dialectic_report::display::{EventSink, KeysMeaning, Messages, ProgressMode, StreamEnd, participants};

use super::args::{RunArgs, VouchArgs};
use super::commands::serve::Served;
use super::conclusion::{Files, ReviewEnd, conclude, texts_are_saved};
use super::detach::leave;
use super::interrupt::{Interrupts, end_on_interrupt, end_soon, give_way, interrupt};
use super::keys::{self, Key, Keyboard};
use super::output::{is_stdout, make_parent, report_path};
use super::questions::{self, Given, OnQuestions};
use super::target::OutputTarget;
use super::terminal::Terminal;
use super::watchers::{Log, Seen, Watchers};

/// The debates directory. It is looked up once, because the user's configuration may set it.
pub(super) fn debates() -> Result<Directory, Error> {
    static KNOWN: OnceLock<Directory> = OnceLock::new();
    if let Some(known) = KNOWN.get() {
        return Ok(known.clone());
    }
    let directory = Directory::at(debates_directory(&process_environment())?);
    Ok(KNOWN.get_or_init(|| directory).clone())
}

pub(super) fn is_first_debate() -> bool {
    debates().and_then(|directory| Ok(directory.entries()?)).is_ok_and(|entries| entries.is_empty())
}

/// The additional outputs of a run.
pub(super) struct Session<'a> {
    args: &'a RunArgs,
    report: Option<PathBuf>,
    events: Option<EventSink>,
    trace: Option<(TraceDestination, reqwest::Client)>,
    after: After,
    /// A server for watching and controlling the debate until the user interrupts.
    pub(super) server: Option<Server>,
    is_first: bool,
    /// The answers to the first questions, and the reaction to later ones.
    pub(super) given: Option<Given>,
    pub(super) on_questions: OnQuestions,
    /// Whether the debate was started earlier.
    pub(super) is_continued: bool,
    pub(super) review: Option<ReviewEnd>,
}

/// The configuration files of a run: the one from `--config`, and the user's own.
pub(super) fn config_files<'a>(named: Option<&PathBuf>, environment: &'a Environment) -> ConfigFiles<'a> {
    let path = named.map_or(ConfigPath::Default, |path| ConfigPath::Named(path.clone()));
    ConfigFiles::new(path, environment)
}

/// The user's own settings for a saved debate, from their files and the command line.
pub(super) fn own(args: &VouchArgs, files: &ConfigFiles) -> Result<UserSettings, Error> {
    let mut own = files.own()?;
    own.directories.extend(args.context.clone());
    Ok(own)
}

/// The destination of the event stream: none, standard output (`-`), or a file.
fn event_sink(path: Option<&Path>) -> Result<Option<EventSink>, Error> {
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
    /// Checks and opens the outputs before spending anything.
    pub(super) fn open(
        args: &'a RunArgs,
        settings: &Settings,
        hooks: Vec<String>,
        environment: &Environment,
        terminal: &mut Terminal,
    ) -> Result<Self, Error> {
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
        if settings.asks_host() && !targets.is_empty() {
            let options: Vec<String> = targets.iter().map(|(option, _)| (*option).to_owned()).collect();
            terminal.warning(&format!(
                "replies continue the debate in other processes, which do not write {}; when it is complete, use \
                 `dialectic show <id> solution` and `dialectic report <id> -o <path>`",
                list(&options)
            ));
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
            is_continued: false,
            review: None,
            on_questions: if args.detach { OnQuestions::Leave } else { OnQuestions::Ask },
        })
    }

    /// Runs and shows the debate, and reports its end. `foreseen` is an existing forecast.
    pub(super) fn run(self, ready: Ready, foreseen: Option<Forecast>, terminal: &mut Terminal) -> Result<(), Error> {
        let Self { args, report, events, trace, after, server, is_first, given, on_questions, is_continued, review } =
            self;
        let ready = if args.detach {
            leave(&ready, terminal)?;
            ready.kept()
        } else {
            ready
        };
        let served = server.map(|server| Served::start(server, &ready.debate().id, terminal)).transpose()?;
        let saved_to = ready.state_path().to_owned();
        if args.verbose {
            terminal.notice(&participants(ready.debate()));
        }
        let options = terminal.display(args.quiet);
        let ready = if terminal.shows(args.quiet) { ready.waiting_for_servers() } else { ready };
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
        let ((ended, tracer), later) = runtime.block_on(async {
            // The second listener receives the same interrupts and outlives the first.
            let (interrupts, later) = (Interrupts::listen(), Interrupts::listen());
            let watchers = match Watchers::start(ready.signals(), &log, options, events, tracer) {
                Ok(watchers) => watchers,
                Err(error) => return ((Err(error), None), later),
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
            // The keyboard stays off: from here on, the terminal may belong to a pager or the shell.
            if let Some(keyboard) = &keyboard {
                std::mem::forget(keyboard.off());
            }
            watch.abort();
            (ended, later)
        });
        // A thread blocked on standard input must not delay the end.
        runtime.shutdown_background();
        let mut later = Some(later);
        if served.is_none() {
            end_on_interrupt(later.take().filter(|_| !cancel.is_cancelled()));
        }
        if cancel.is_cancelled() {
            // Everything was written, or its reader has stalled.
            end_soon();
        }
        let files = Files { saved_to: &saved_to, report: report.as_deref(), is_first, is_continued, review };
        let is_over = ended.as_ref().is_ok_and(Over::is_over);
        let result = ended.and_then(|ended| conclude(ended, &files, args, terminal));
        if is_over && !matches!(result, Err(Error::PipeClosed)) {
            run_after_hooks(after, &saved_to, terminal);
        }
        // Last, so that a slow collector does not delay the result.
        if let Some(Err(undelivered)) = tracer.map(Tracer::finish)
            && !matches!(result, Err(Error::PipeClosed))
        {
            terminal.warning(&undelivered.to_string());
        }
        if matches!(result, Err(Error::Interrupted(_))) {
            // Again, since an interrupt may occur just after a question.
            keys::restore();
        }
        match served {
            Some(served) if result.is_ok() => served.stay(later, terminal),
            _ => result,
        }
    }
}

/// Runs the steps after a debate, once its result is printed.
fn run_after_hooks(after: After, state: &Path, terminal: &mut Terminal) {
    match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => {
            terminal.warnings(runtime.block_on(after.run(state)));
        }
        Err(error) => terminal.warning(&format!("hooks, ratings and memory are skipped: {error}")),
    }
}

/// The runner of this directory's debates.
pub(super) fn runner(environment: Environment) -> Result<Runner, Error> {
    let directory = debates()?;
    let services = Services::new(environment).with_past(Arc::new(PastDebates::of(&directory)));
    Ok(Runner::new(directory, services))
}

/// A finished run before its report.
pub(super) struct Over {
    pub(super) debate: Debate,
    /// Its outcome or status.
    pub(super) ending: RunEnding,
    pub(super) is_kept: bool,
    /// How the event stream ended.
    pub(super) stream: StreamEnd,
    /// Whether the user waited for all output to be read.
    pub(super) is_whole: bool,
    /// The reaction to questions.
    pub(super) on_questions: OnQuestions,
}

impl Over {
    /// Whether the debate is recorded and will not continue on its own.
    fn is_over(&self) -> bool {
        self.is_kept && matches!(self.ending, RunEnding::Completed | RunEnding::Failed)
    }
}

/// The user's participation, with keys if available.
struct User<'a> {
    keys: &'a mut UnboundedReceiver<Key>,
    keyboard: Option<&'a Keyboard>,
    /// The answers to the first questions.
    given: Option<Given>,
    on_questions: OnQuestions,
}

/// Computes and shows the forecast on a separate thread.
fn foresee(forecast: impl FnOnce() -> Result<Forecast, ForecastError> + Send + 'static, messages: Messages) {
    let foreseen = move || {
        // The debate is shown without it, too.
        if let Ok(forecast) = forecast() {
            messages.expect(forecast);
        }
    };
    drop(thread::Builder::new().name("forecast".to_owned()).spawn(foreseen));
}

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
        // Does nothing, so that no paid debate is left by accident; Ctrl-C leaves it.
        Key::Quit => {}
    }
}

/// Lets all watchers follow a run, and asks the user when it waits for answers. Returns the tracer after its last
/// signal.
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
                    // The browser asks them instead.
                    drop(messages.say("The agents have questions. Answer them in the browser.\n"));
                    continue;
                }
                let keyboard = user.keyboard.cloned();
                // Waiting for the keyboard must not block the debate.
                let off = spawn_blocking(move || keyboard.map(|keyboard| keyboard.off())).await.ok();
                let asked = questions::ask(&run, &debate, cancel, &messages).await;
                drop(off);
                match asked {
                    Ok(true) => {}
                    Ok(false) => run.interrupt(),
                    Err(error) => {
                        run.interrupt();
                        break Err(error);
                    }
                }
            }
            Some(key) = user.keys.recv() => press(key, &run, &messages, &mut is_held),
            // The view reports the interrupt; the run pauses.
            () = cancel.cancelled(), if !run.is_interrupted() => run.interrupt(),
            // Do not pay for output that nobody reads.
            () = watchers.reader_gone() => {
                run.interrupt();
                break Ok(());
            }
        }
    };
    let ended = run.wait().await;
    // Watchers end when the last handle to the run is dropped.
    drop(watched);
    let Seen { stream, tracer, is_whole } = watchers.finish(cancel).await;
    let ended = asked.and(ended.map_err(|Failed { debate, source }| match source {
        EngineError::Store(source) => {
            let has_journal = Entry::of_state(saved_to).journal.is_some();
            let id = &debate.id;
            let hint = if has_journal {
                texts_are_saved(id)
            } else {
                format!("restore the debate's files, then: dialectic resume {id}")
            };
            UserError::of(ErrorCategory::General, format!("the debate {id} cannot be saved"))
                .with_hint(hint)
                .with_source(source)
                .into()
        }
        source => source.into(),
    }));
    let on_questions = user.on_questions;
    let over = |Finished { debate, ending, is_kept }| Over { debate, ending, is_kept, stream, is_whole, on_questions };
    (ended.map(over), tracer)
}
