//! Runs a debate for the user: opens its outputs, starts its watchers and reports its end. Also finds debates for other
//! commands.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::thread;

use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::spawn_blocking;
use tokio_util::sync::CancellationToken;

use crate::archive::PastDebates;
use crate::error::{Error, ErrorCategory, UserError};
use crate::serve::{Server, Watched};
use crate::trace::{TraceDestination, Tracer};
use dialectic_base::figures::list;
use dialectic_base::sanitize::one_line;
use dialectic_config::{ConfigError, ConfigFiles, ConfigPath, debates_directory, process_environment};
use dialectic_engine::access::{Environment, UserSettings};
use dialectic_engine::engine::{EngineError, ForecastError, RunEnding};
use dialectic_engine::runner::{After, Failed, Finished, Ready, Run, Runner, Services};
use dialectic_llm::openai::http_client;
use dialectic_record::debate::{Debate, Forecast, Settings};
use dialectic_record::signals::{Follower, Words};
use dialectic_record::store::{Directory, Entry, JournalReader, read_state};
use dialectic_report::display::{DisplayOptions, EventSink, KeysMeaning, Messages, ProgressMode, participants};

use super::args::{LATEST, RunArgs, VouchArgs};
use super::commands::serve::Served;
use super::conclusion::{ReviewEnd, conclude, texts_are_saved};
use super::detach::leave;
use super::dialogue::Dialogue;
use super::interrupt::{Interrupts, end_on_interrupt, end_soon};
use super::keys::{self, Key};
use super::output::{is_stdout, make_parent, report_path};
use super::questions::{self, GivenAnswers};
use super::target::OutputTarget;
use super::terminal::Terminal;
use super::watchers::{Seen, Watchers};

/// The debates directory. Looked up only once, because that may read the user's configuration.
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

/// Finds a debate by name; without one, the newest.
pub(super) fn or_latest(name: Option<&str>) -> Result<Entry, Error> {
    Ok(debates()?.find(name.unwrap_or(LATEST))?)
}

/// Like [`or_latest`], for a command that spends money. Without a name, it says on a terminal which debate is used, and
/// fails elsewhere.
pub(super) fn or_latest_said(name: Option<&str>, what: &'static str, terminal: &mut Terminal) -> Result<Entry, Error> {
    if name.is_some() {
        return or_latest(name);
    }
    if Dialogue::open().is_none() {
        let message = format!("without a terminal, `dialectic {what}` needs the name of a debate");
        let hint = format!("for the newest one: dialectic {what} {LATEST} ...");
        return Err(UserError::input(message).with_hint(hint).into());
    }
    let directory = debates()?;
    let entry = directory.find(LATEST)?;
    let (id, title) = match read_state(&entry.state) {
        Ok(debate) => (directory.short_name(&debate.id).to_owned(), format!(", “{}”", one_line(&debate.title()))),
        Err(_) => (entry.id(), String::new()),
    };
    terminal.notice(&format!("Using the newest debate: {id}{title}"));
    Ok(entry)
}

/// Whether the only argument of `ask` names a debate (`latest`, a file, an id or a unique suffix of one) instead of
/// being the question.
pub(super) fn is_debate(word: &str, directory: &Directory) -> Result<bool, Error> {
    let path = Path::new(word);
    let is_file = path.is_file()
        || (!word.contains(char::is_whitespace) && path.extension().is_some_and(|extension| extension == "json"));
    if word == LATEST || is_file {
        return Ok(true);
    }
    if word.is_empty() {
        return Ok(false);
    }
    let ids: Vec<String> = directory.entries()?.iter().map(Entry::id).collect();
    Ok(ids.iter().any(|id| id == word) || ids.iter().filter(|id| id.ends_with(word)).count() == 1)
}

pub(super) struct Session<'a> {
    pub(super) args: &'a RunArgs,
    pub(super) report: Option<PathBuf>,
    events: Option<EventSink>,
    trace: Option<(TraceDestination, reqwest::Client)>,
    after: After,
    /// Shows the debate in a browser until the user interrupts.
    pub(super) server: Option<Server>,
    /// Whether this is the first debate in the directory. New users get no pager.
    pub(super) is_first: bool,
    /// Answers to open questions, and the debate whose numbering they use.
    pub(super) given: Option<(GivenAnswers, Debate)>,
    /// Whether to ask the user the debate's questions, on a terminal or through a pipe. Otherwise the run pauses, and
    /// can be continued with the answers.
    pub(super) asks_user: bool,
    pub(super) is_continued: bool,
    pub(super) review: Option<ReviewEnd>,
}

/// `named` is the file from `--config`.
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
                Err(unsent) if unsent.can_be_ignored() => {
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
            asks_user: !args.detach,
        })
    }

    /// Runs and shows the debate, and reports its end. Without `foreseen`, the forecast is computed while the debate
    /// runs.
    pub(super) fn run(
        mut self,
        ready: Ready,
        foreseen: Option<Forecast>,
        terminal: &mut Terminal,
    ) -> Result<(), Error> {
        let args = self.args;
        let ready = if args.detach {
            leave(&ready, terminal)?;
            ready.kept()
        } else {
            ready
        };
        let served =
            self.server.take().map(|server| Served::start(server, &ready.debate().id, terminal)).transpose()?;
        let saved_to = ready.state_path().to_owned();
        if args.verbose {
            terminal.notice(&participants(ready.debate()));
        }
        let options = terminal.display(args.quiet);
        let ready = if terminal.shows(args.quiet) { ready.waiting_for_servers() } else { ready };
        let is_foreseen = foreseen.is_some();
        let forecast = ready.forecast().filter(|_| options.progress == ProgressMode::Live && !is_foreseen);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Error::Runtime)?;
        let tracer = self.trace.take().and_then(|(to, http)| {
            let debate = ready.debate().clone();
            let version = debate.prompt_sources.as_ref().and_then(|sources| sources.version.clone());
            Tracer::start(to, http, debate, &version.unwrap_or_default())
                .map_err(|error| terminal.warning(&error.to_string()))
                .ok()
        });
        let cancel = CancellationToken::new();
        let ((ended, tracer), later) = runtime.block_on(async {
            // Outlives the watchers' listener, so that no interrupt is lost in between.
            let later = Interrupts::listen();
            let mut watchers = match self.watchers(&ready, options, tracer, &cancel) {
                Ok(watchers) => watchers,
                Err(error) => return ((Err(error), None), later),
            };
            let messages = watchers.messages();
            if let Some(foreseen) = foreseen {
                messages.expect(foreseen);
            }
            if let Some(forecast) = forecast {
                foresee(forecast, messages);
            }
            let keys = watchers.read_keys(options, KeysMeaning::Heard);
            let signals = ready.signals().clone();
            let run = ready.run();
            let watched = served.as_ref().map(|served| served.show(&run, signals));
            (self.run_while_shown(run, watchers, keys, watched, &saved_to).await, later)
        });
        // A thread blocked on standard input must not delay the end.
        runtime.shutdown_background();
        let mut later = Some(later);
        if served.is_none() {
            end_on_interrupt(later.take().filter(|_| !cancel.is_cancelled()));
        }
        if cancel.is_cancelled() {
            // Printing the remaining output may block on a stalled reader.
            end_soon();
        }
        // No hooks run after a paused or unsaved debate.
        let is_over =
            matches!(&ended, Ok((Finished { ending: RunEnding::Completed | RunEnding::Failed, is_kept: true, .. }, _)));
        let result = ended.and_then(|(finished, seen)| conclude(finished, &seen, &self, &saved_to, terminal));
        if is_over && !matches!(result, Err(Error::PipeClosed)) {
            run_after_hooks(self.after, &saved_to, terminal);
        }
        // Finish the trace last, so that a slow collector does not delay the result.
        if let Some(Err(undelivered)) = tracer.map(Tracer::finish)
            && !matches!(result, Err(Error::PipeClosed))
        {
            terminal.warning(&undelivered.to_string());
        }
        if matches!(result, Err(Error::Interrupted(_))) {
            // Restore the terminal again, since an interrupt may come just after a question.
            keys::restore();
        }
        match served {
            Some(served) if result.is_ok() => served.stay(later, terminal),
            _ => result,
        }
    }

    fn watchers(
        &mut self,
        ready: &Ready,
        options: DisplayOptions,
        tracer: Option<Tracer>,
        cancel: &CancellationToken,
    ) -> Result<Watchers, Error> {
        let mut watchers = Watchers::start(ready.signals(), options, cancel)?;
        let follow = |words| {
            let journal = JournalReader::open(ready.journal_path()).map_err(Error::Runtime)?;
            let (_, subscription) = ready.signals().subscribe(words);
            let before = ready.events_before();
            Ok::<_, Error>(Follower::new(subscription, Box::new(journal), before, before))
        };
        if let Some(sink) = self.events.take() {
            watchers.add_stream(sink, follow(Words::Wanted)?)?;
        }
        if let Some(tracer) = tracer {
            watchers.add_tracer(tracer, follow(Words::Unwanted)?)?;
        }
        Ok(watchers)
    }

    /// Runs the debate to its end. All watchers follow it, and the user is asked its questions. Returns the tracer if
    /// it has received all signals.
    async fn run_while_shown(
        &mut self,
        mut run: Run,
        mut watchers: Watchers,
        mut keys: UnboundedReceiver<Key>,
        watched: Option<Watched>,
        saved_to: &Path,
    ) -> (Result<(Finished, Seen), Error>, Option<Tracer>) {
        let (messages, cancel) = (watchers.messages(), watchers.cancel.clone());
        let mut is_held = false;
        let asked = loop {
            tokio::select! {
                waiting = run.questions() => {
                    let Some(mut debate) = waiting else { break Ok(()) };
                    if let Some((given, before)) = self.given.take() {
                        given.send(&run, &before, Arc::make_mut(&mut debate));
                        if debate.open_questions().next().is_none() {
                            continue;
                        }
                    }
                    if !self.asks_user {
                        run.pause();
                        continue;
                    }
                    if watched.is_some() {
                        drop(messages.say("The agents have questions. Answer them in the browser.\n"));
                        continue;
                    }
                    let keyboard = watchers.keyboard();
                    // Waiting for the keyboard must not block the debate.
                    let off = spawn_blocking(move || keyboard.map(|keyboard| keyboard.off())).await.ok();
                    let asked = questions::ask(&run, &debate, &cancel, &messages).await;
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
                Some(key) = keys.recv() => press(key, &run, &messages, &mut is_held),
                // The live view tells the user about the interrupt.
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
        let (seen, tracer) = watchers.finish().await;
        (asked.and(ended.map_err(|failed| unsaved(failed, saved_to))).map(|finished| (finished, seen)), tracer)
    }
}

/// Usually, a run fails because its record cannot be written.
fn unsaved(Failed { debate, source }: Failed, saved_to: &Path) -> Error {
    let EngineError::Store(source) = source else { return source.into() };
    let id = &debate.id;
    let hint = if Entry::of_state(saved_to).journal.is_some() {
        texts_are_saved(id)
    } else {
        format!("restore the debate's files, then: dialectic resume {id}")
    };
    UserError::of(ErrorCategory::General, format!("the debate {id} cannot be saved"))
        .with_hint(hint)
        .with_source(source)
        .into()
}

/// Runs the hooks, and updates the ratings and the memory.
fn run_after_hooks(after: After, state: &Path, terminal: &mut Terminal) {
    match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => {
            terminal.warnings(runtime.block_on(after.run(state)));
        }
        Err(error) => terminal.warning(&format!("hooks, ratings and memory are skipped: {error}")),
    }
}

pub(super) fn runner(environment: Environment) -> Result<Runner, Error> {
    let directory = debates()?;
    let services = Services::new(environment).with_past(Arc::new(PastDebates::of(&directory)));
    Ok(Runner::new(directory, services))
}

/// Computes the forecast on a separate thread, so that the debate need not wait for it.
fn foresee(forecast: impl FnOnce() -> Result<Forecast, ForecastError> + Send + 'static, messages: Messages) {
    let foreseen = move || {
        // The view works without a forecast.
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
        // Ignored, so that nobody leaves a paid debate by accident. Ctrl-C pauses it.
        Key::Quit => {}
    }
}
