//! `dialectic ask`: a question about a finished debate, which its judge answers.

use std::io::{self, Read};
use std::sync::Arc;
use std::time::Instant;

use tokio_util::sync::CancellationToken;

use crate::cli::args::{AskArgs, Watch};
use crate::cli::interrupt::{Interrupts, end_on_interrupt, end_soon, interrupt};
use crate::cli::latest::{is_debate, or_latest_said};
use crate::cli::session::{config_files, debates, env_file, runner, vouched};
use crate::cli::suspend::give_way;
use crate::cli::terminal::Terminal;
use crate::cli::watchers::{Log, Watchers};
use crate::error::Error;
use dialectic_base::diagnostic::{Diagnostic, ErrorCategory};
use dialectic_base::figures::{clock, named_cost};
use dialectic_base::money::{BudgetLimit, Usd};
use dialectic_config::{Overrides, capture_environment};
use dialectic_engine::engine::FollowUpError;
use dialectic_engine::runner::PreparedQuestion;
use dialectic_record::debate::Debate;
use dialectic_record::store::read_state;
use dialectic_report::display::{DisplayOptions, ProgressMode};

/// Why there is no question to ask.
#[derive(Debug, thiserror::Error)]
enum QuestionError {
    /// Standard input cannot be read, or is not UTF-8.
    #[error("cannot read the question from standard input")]
    Unreadable(#[source] io::Error),
    /// It says nothing.
    #[error("the question is empty")]
    Empty,
}

impl Diagnostic for QuestionError {
    fn blame(&self) -> ErrorCategory {
        ErrorCategory::Arguments
    }
}

pub(in crate::cli) fn run(args: &AskArgs, terminal: &mut Terminal) -> Result<(), Error> {
    let (name, question) = match (args.debate.as_deref(), args.question.as_deref()) {
        (Some(word), None) if !is_debate(word, &debates()?)? => (None, Some(word)),
        both => both,
    };
    let question = question.map(read).transpose()?;
    let entry = or_latest_said(name, "ask", terminal)?;
    let environment = capture_environment(&env_file(args.env_file.as_ref()))?;
    let runner = runner(environment.clone())?;
    let files = config_files(args.vouch.config.as_ref(), &environment);
    // Older versions saved no settings: then the judge is that of the configuration.
    let is_unset = read_state(&entry.state).is_ok_and(|debate| debate.settings.is_none());
    let lent = is_unset.then(|| files.load(&Overrides::default())).transpose()?;
    let saved = runner.open_finished(&entry, &[], lent.as_ref().map(|lent| lent.settings.clone()))?;
    for warning in saved.warnings().iter().chain(environment.warnings()) {
        terminal.warning(warning);
    }
    let before = saved.debate().total_cost();
    let provenance = lent.map_or_else(|| saved.provenance(), |lent| lent.provenance);
    let per_day = args.calls.max_calls_per_day;
    let provenance = vouched(provenance, &args.vouch, &files)?.and_calls_per_day(per_day);
    let limit = BudgetLimit { usd: args.max_cost, calls: args.calls.max_calls };
    let asking = runner.ask(saved, question, limit, &provenance)?;
    for warning in asking.warnings() {
        terminal.warning(warning);
    }
    let begun = Instant::now();
    let (debate, answer) = answered(asking, terminal.display(args.watch.watch()))?;
    let printed = terminal.solution(&answer, !args.watch.no_pager);
    if args.watch.watch() != Watch::Quiet {
        let cost = debate.total_cost();
        let took = clock(begun.elapsed());
        let of_answer = cost.zip(before).map(|(now, before)| now.saturating_sub(before));
        terminal.notice(&described(&took, of_answer, cost));
    }
    terminal.notice(&format!("Saved the answer to {}", entry.state.display()));
    printed
}

/// `Answered in 0:07 for $0.0123; the debate has now cost $0.23`
fn described(took: &str, of_answer: Option<Usd>, of_debate: Option<Usd>) -> String {
    let debate = of_debate.map_or_else(String::new, |cost| format!("; the debate cost {cost} so far"));
    format!("Answered in {took}, {}{debate}", named_cost(of_answer))
}

/// The question, from the command line or from standard input.
fn read(text: &str) -> Result<Arc<str>, QuestionError> {
    let mut read = String::new();
    let text = if text == "-" {
        io::stdin().lock().read_to_string(&mut read).map_err(QuestionError::Unreadable)?;
        &read
    } else {
        text
    };
    let text = text.trim();
    if text.is_empty() { Err(QuestionError::Empty) } else { Ok(text.into()) }
}

/// Asks while the user at the terminal watches.
fn answered(asking: PreparedQuestion, options: DisplayOptions) -> Result<(Debate, Arc<str>), Error> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Error::Runtime)?;
    let (id, journal) = (asking.debate().id.clone(), asking.journal_path().to_owned());
    let log = Log { journal: &journal, before: asking.events_before() };
    let cancel = CancellationToken::new();
    let ended = runtime.block_on(async {
        let interrupts = Interrupts::listen();
        let watchers = Watchers::start(asking.signals(), &log, options, None, None)?;
        let watch = tokio::spawn(interrupt(interrupts, cancel.clone(), watchers.view().clone()));
        if options.progress == ProgressMode::Live {
            give_way(watchers.messages(), None);
        }
        let ended = Box::pin(asking.run(cancel.clone())).await;
        // Watchers find the end: nobody can publish any more.
        watchers.finish(&cancel).await;
        watch.abort();
        Ok::<_, Error>(ended)
    });
    runtime.shutdown_background();
    end_on_interrupt();
    if cancel.is_cancelled() {
        end_soon();
    }
    match ended? {
        Err(FollowUpError::Interrupted) => Err(Error::QuestionInterrupted { id }),
        Err(error) => Err(error.into()),
        Ok(answered) => Ok(answered),
    }
}
