//! Finds the debate, the configuration files and the runner for a command, and opens the outputs of a run.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use crate::archive::PastDebates;
use crate::error::{Error, UserError};
use crate::serve::Server;
use crate::trace::TraceDestination;
use dialectic_base::figures::list;
use dialectic_base::sanitize::one_line;
use dialectic_config::{ConfigError, ConfigFiles, ConfigPath, debates_directory, process_environment};
use dialectic_engine::access::{Environment, UserSettings};
use dialectic_engine::runner::{After, Runner, Services};
use dialectic_llm::openai::http_client;
use dialectic_record::debate::Debate;
use dialectic_record::ids::DebateId;
use dialectic_record::settings::Settings;
use dialectic_record::store::{Directory, Entry, StoreError, read_state};
use dialectic_report::display::EventSink;

use super::args::{LATEST, RunArgs, VouchArgs};
use super::dialogue::Dialogue;
use super::output::{ReviewEnd, is_stdout, report_path, typed};
use super::questions::GivenAnswers;
use super::target::{OutputTarget, make_parent};
use super::terminal::Terminal;

/// Finds the debates directory. Keeps the result, because finding it may read the user's configuration.
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

pub(super) fn or_latest(name: Option<&str>) -> Result<Entry, Error> {
    Ok(debates()?.find(name.unwrap_or(LATEST))?)
}

/// The debate's name in commands: the name of its state file or, if it is in another directory, the path.
pub(super) fn typed_name(entry: &Entry) -> String {
    match debates().map(|directory| directory.check_is_here(entry)) {
        Ok(Err(StoreError::Elsewhere { .. })) => typed(&entry.state),
        _ => entry.id(),
    }
}

/// Like [`typed_name`], but as short as possible.
pub(super) fn short_name(entry: &Entry) -> String {
    match debates() {
        Ok(directory) if directory.check_is_here(entry).is_ok() => {
            directory.short_name(&DebateId::new(entry.id())).to_owned()
        }
        _ => typed_name(entry),
    }
}

/// Like [`or_latest`], for a command that spends money. If no name is given, prints which debate is used, or fails if
/// there is no terminal.
pub(super) fn or_latest_said(name: Option<&str>, what: &'static str, terminal: &mut Terminal) -> Result<Entry, Error> {
    if name.is_some() {
        return or_latest(name);
    }
    if Dialogue::open().is_none() {
        let message = format!("without a terminal, `dialectic {what}` needs a debate's id");
        let hint = format!("for the newest debate: dialectic {what} {LATEST} ...");
        return Err(UserError::input(message).with_hint(hint).into());
    }
    let entry = or_latest(None)?;
    let (id, title) = match read_state(&entry.state) {
        Ok(debate) => (short_name(&entry), format!(", “{}”", one_line(&debate.title()))),
        Err(_) => (entry.id(), String::new()),
    };
    terminal.notice(&format!("Using the newest debate: {id}{title}"));
    Ok(entry)
}

/// Whether the only argument of `ask` names a debate: `latest`, a file, a name that ends in `.json`, an id or its
/// beginning, or a unique suffix of an id. Otherwise the argument is the question.
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
    let is_start = ids.iter().any(|id| id.starts_with(word));
    Ok(is_start || ids.iter().filter(|id| id.ends_with(word)).count() == 1)
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

pub(super) fn runner(environment: Environment) -> Result<Runner, Error> {
    let directory = debates()?;
    let services = Services::new(environment).with_past(Arc::new(PastDebates::of(&directory)));
    Ok(Runner::new(directory, services))
}

pub(super) struct Session<'a> {
    pub(super) args: &'a RunArgs,
    pub(super) report: Option<PathBuf>,
    pub(super) events: Option<EventSink>,
    pub(super) trace: Option<(TraceDestination, reqwest::Client)>,
    pub(super) after: After,
    /// Shows the debate in a browser until the user interrupts.
    pub(super) server: Option<Server>,
    /// Whether this is the first debate in the directory. Its solution is shown without a pager.
    pub(super) is_first: bool,
    /// Answers to open questions, and the debate whose numbering they use.
    pub(super) given: Option<(GivenAnswers, Debate)>,
    /// Whether to ask the user the agents' questions, on a terminal or through a pipe. If not set, the run pauses when
    /// questions are open.
    pub(super) asks_user: bool,
    pub(super) is_continued: bool,
    pub(super) review: Option<ReviewEnd>,
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
            let message = "needs a file, because a detached run has no standard output".to_owned();
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
                "replies continue the debate in other processes, which do not write {}; when the debate is complete, use \
                 `dialectic show <id> solution` and `dialectic report <id> -o <path>`",
                list(&options)
            ));
        }
        let events = event_sink(args.events.as_deref())?;
        let trace = match settings.debate.trace {
            None => None,
            Some(target) => match TraceDestination::of(target, environment) {
                Ok(destination) => {
                    let http = http_client(environment.certificate_file())?.client_for(&destination.url).clone();
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
}
