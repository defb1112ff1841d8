//! The outputs of a run, opened before it begins, and how the run deals with the user.

use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::serve::Server;
use crate::trace::TraceDestination;
use dialectic_base::figures::list;
use dialectic_config::ConfigError;
use dialectic_engine::access::Environment;
use dialectic_engine::runner::After;
use dialectic_llm::openai::http_client;
use dialectic_record::debate::Debate;
use dialectic_record::settings::Settings;
use dialectic_report::display::EventSink;

use super::args::RunArgs;
use super::debates::{is_first_debate, runner};
use super::output::{ReviewEnd, is_stdout, report_path};
use super::questions::GivenAnswers;
use super::target::{OutputTarget, make_parent};
use super::terminal::Terminal;

pub(super) struct Session<'a> {
    pub(super) args: &'a RunArgs,
    pub(super) report: Option<PathBuf>,
    pub(super) events: Option<EventSink>,
    pub(super) trace: Option<(TraceDestination, reqwest::Client)>,
    pub(super) after: After,
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
}
