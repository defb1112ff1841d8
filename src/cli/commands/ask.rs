//! `dialectic ask`: asks the judge about a finished debate.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use clap::Args;
use tokio_util::sync::CancellationToken;

use crate::cli::args::{CallsArgs, VouchArgs, dollars};
use crate::cli::dialogue::agree;
use crate::cli::input::{self, MIB};
use crate::cli::interrupt::{end_on_interrupt, end_soon, give_way};
use crate::cli::session::{config_files, debates, is_debate, or_latest_said, own, runner};
use crate::cli::terminal::Terminal;
use crate::cli::watchers::Watchers;
use crate::error::{Error, INTERRUPTED, UserError};
use dialectic_base::figures::{clock, named_cost};
use dialectic_base::money::{BudgetLimit, Usd};
use dialectic_base::provider::OFFLINE;
use dialectic_config::{Overrides, capture_environment};
use dialectic_engine::engine::FollowUpError;
use dialectic_engine::runner::{PreparedQuestion, renew_limit, spent_by};
use dialectic_record::debate::Debate;
use dialectic_record::ids::DebateId;
use dialectic_record::store::read_state;
use dialectic_report::display::{DisplayOptions, ProgressMode};

#[derive(Debug, Args)]
#[command(override_usage = "dialectic ask [OPTIONS] [PATH-OR-ID] <QUESTION>")]
pub(in crate::cli) struct AskArgs {
    /// The debate: an id, a unique prefix or suffix of an id, or a state file [default on a terminal: latest]
    #[arg(value_name = "PATH-OR-ID")]
    debate: Option<String>,

    /// The question, or `-` to read it from standard input
    question: Option<String>,

    /// The cost limit for the answer, in dollars [default: what remains of the debate's limit]
    #[arg(long, value_name = "USD", value_parser = dollars, allow_negative_numbers = true)]
    max_cost: Option<Usd>,

    #[command(flatten)]
    calls: CallsArgs,

    /// Read API keys and other variables from this file [default: .env, if it exists]
    #[arg(short, long, value_name = "PATH")]
    env_file: Option<PathBuf>,

    #[command(flatten)]
    vouch: VouchArgs,

    /// Do not show progress
    #[arg(short, long)]
    quiet: bool,
}

pub(in crate::cli) fn run(args: &AskArgs, terminal: &mut Terminal) -> Result<(), Error> {
    let (name, question) = match (args.debate.as_deref(), args.question.as_deref()) {
        (name, Some(question)) => (name, question),
        (Some(word), None) if !is_debate(word, &debates()?)? => (None, word),
        (_, None) => {
            let hint = "write the question after the debate: dialectic ask latest \"What if the budget is halved?\"";
            return Err(UserError::input("the question is missing").with_hint(hint).into());
        }
    };
    let question = read(question, terminal)?;
    let entry = or_latest_said(name, "ask", terminal)?;
    let environment = capture_environment(args.env_file.as_deref())?;
    let runner = runner(environment.clone())?;
    let files = config_files(args.vouch.config.as_ref(), &environment);
    // Records written by older versions contain no settings, so take the judge from the configuration.
    let is_unset = read_state(&entry.state).is_ok_and(|debate| debate.settings.is_none());
    let lent = is_unset.then(|| files.load(&Overrides::default())).transpose()?;
    let saved = runner.open_finished(&entry, lent.map(|lent| lent.settings))?;
    terminal.warnings(saved.warnings().iter().chain(environment.warnings()));
    let before = saved.debate().total_cost();
    let limit = BudgetLimit { usd: args.max_cost, calls: args.calls.max_calls };
    let asking = runner.ask(saved, question, limit, &own(&args.vouch, &files)?)?;
    terminal.warnings(asking.warnings());
    // Servers with a daily limit count the cost limit that was last recorded for a debate, so record a limit that
    // includes this question.
    let most = args.max_cost.map(|most| spent_by(&entry) + most);
    if let Err(error) = renew_limit(&debates()?, &DebateId::new(entry.id()), most) {
        terminal.warning(&error.to_string());
    }
    if asking.settings().judge.provider != OFFLINE {
        let (forecast, limit) = (asking.forecast()?, asking.left());
        if !agree(Some(&forecast), limit, "Ask it?", terminal)? {
            return Err(Error::Declined);
        }
    }
    let begun = Instant::now();
    let id = asking.debate().id.clone();
    let (debate, answer) = answered(asking, terminal.display(args.quiet))?.map_err(|error| match error {
        FollowUpError::Interrupted => Error::Coded {
            code: INTERRUPTED,
            said: format!("interrupted; the question about {id} was saved without an answer"),
            hint: Some(format!("ask the question again in the same words: dialectic ask {id}")),
        },
        error => error.into(),
    })?;
    let shown = Terminal::shown(&debate);
    let named = shown.follow_ups.last().and_then(|one| one.answer.as_ref());
    let printed = terminal.solution(named.unwrap_or(&answer), true);
    if !args.quiet {
        let cost = debate.total_cost();
        let took = clock(begun.elapsed());
        let of_answer = cost.zip(before).map(|(now, before)| now.saturating_sub(before));
        if debate.is_offline() {
            terminal.notice(&format!("Answered in {took}, offline"));
        } else {
            terminal.notice(&described(&took, of_answer, cost));
        }
    }
    printed?;
    end_on_interrupt(None);
    terminal.notice(&format!("Saved the answer to {}", entry.state.display()));
    Ok(())
}

/// For example, `Answered in 0:07, $0.0123; the debate has cost $0.23 so far`.
fn described(took: &str, of_answer: Option<Usd>, of_debate: Option<Usd>) -> String {
    let debate = of_debate.map_or_else(String::new, |cost| format!("; the debate has cost {cost} so far"));
    format!("Answered in {took}, {}{debate}", named_cost(of_answer))
}

fn read(text: &str, terminal: &mut Terminal) -> Result<Arc<str>, UserError> {
    let what = "the question";
    let read = if text == "-" { input::read_file(what, Path::new(text), MIB, terminal)? } else { text.into() };
    Ok(input::text_of(what, &read)?.trim().into())
}

fn answered(
    asking: PreparedQuestion,
    options: DisplayOptions,
) -> Result<Result<(Debate, Arc<str>), FollowUpError>, Error> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Error::Runtime)?;
    let cancel = CancellationToken::new();
    let ended = runtime.block_on(async {
        let watchers = Watchers::start(asking.signals(), options, &cancel)?;
        if options.progress == ProgressMode::Live {
            give_way(watchers.messages(), None);
        }
        let ended = Box::pin(asking.run(cancel.clone())).await;
        watchers.finish().await;
        Ok::<_, Error>(ended)
    });
    runtime.shutdown_background();
    if cancel.is_cancelled() {
        end_soon();
    }
    ended
}
