//! `dialectic eval`: scores the solutions of saved debates, or compares answers in pairs.

mod output;
mod pairwise;

use std::num::NonZeroU32;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use clap::Args;
use output::ScoresDestination;

use crate::cli::dialogue::agree;
use crate::cli::interrupt::run_with_interrupts;
use crate::cli::session::{config_files, debates};
use crate::cli::terminal::Terminal;
use crate::error::{Error, ErrorCategory, UserError};
use crate::evaluation::{Evaluated, Evaluator, Subject, SubjectError, evaluate, evaluators, indistinct};
use dialectic_base::figures::duration;
use dialectic_base::money::Usd;
use dialectic_base::provider::{HOST, OFFLINE};
use dialectic_config::evaluators::{EvaluationSettings, EvaluatorSettings, judge_as_evaluator, load_evaluators};
use dialectic_config::{Overrides, capture_environment};
use dialectic_engine::access::{Environment, is_elsewhere, missing_keys_of, program_warnings};
use dialectic_engine::agent::{price_at, timeouts_of};
use dialectic_engine::runner::{Models, note_spent};
use dialectic_llm::{CallObserver, Caller, CallerLimits, ConcurrencyLimit, ModelError, Timeouts};
use dialectic_record::ids::AgentId;
use dialectic_record::live::{Forecast, PlannedCall};
use dialectic_record::settings::default_settings;
use dialectic_record::store::AccessMode;
use dialectic_report::display::{ColorMode, Notices};

#[derive(Debug, Args)]
pub(in crate::cli) struct EvalArgs {
    /// The evaluators' configuration [default: one evaluator with the judge's model]
    #[arg(short, long, value_name = "PATH")]
    config: Option<PathBuf>,

    /// The debates: `latest`, ids, unique prefixes or suffixes of ids, state files, or patterns such as
    /// './debates/*.json'
    #[arg(value_name = "PATH-OR-ID")]
    debates: Vec<String>,

    /// Same as the PATH-OR-ID arguments
    #[arg(short = 'd', long = "debate", value_name = "PATH-OR-ID", num_args = 1.., required_unless_present_any = ["debates", "pairwise"])]
    named: Vec<String>,

    /// Have the evaluators compare two answers, blind and in both orders. A and B are debates, text files with an
    /// answer, or variants of a set, as in `plan.jsonl:council plan.jsonl:single`
    #[arg(long, value_names = ["A", "B"], num_args = 2, conflicts_with_all = ["debates", "named", "output"])]
    pairwise: Vec<String>,

    /// The file with the problem, if neither `--pairwise` answer is a debate
    #[arg(long, value_name = "PATH", requires = "pairwise", conflicts_with_all = ["debates", "named"])]
    problem_file: Option<PathBuf>,

    /// The store of the set whose variants `--pairwise` compares [default: next to the plan, with the extension
    /// `.store`]
    #[arg(long, value_name = "DIR|s3://...", requires = "pairwise", conflicts_with_all = ["debates", "named", "problem_file"])]
    store: Option<String>,

    /// Print the result of `--pairwise` as JSON
    #[arg(long, requires = "pairwise", conflicts_with_all = ["debates", "named"])]
    json: bool,

    /// Write the scores to a file: `.json` for JSON, `.csv` to append rows, any other extension for a Markdown table
    #[arg(short, long, value_name = "PATH")]
    output: Option<PathBuf>,

    /// Ask each evaluator this many times (at most 100) and show the mean and standard deviation; with `--pairwise`,
    /// ask this many times in each order
    #[arg(long, value_name = "N", value_parser = repeat, default_value = "1", allow_negative_numbers = true)]
    repeat: NonZeroU32,

    /// Read API keys and other variables from this file [default: .env, if it exists]
    #[arg(short, long, value_name = "PATH")]
    env_file: Option<PathBuf>,

    /// Print each evaluator's prompts, times, tokens and ignored scores to standard error
    #[arg(short, long)]
    verbose: bool,

    /// Rehearse without a model; needs no key or network, but returns no scores
    #[arg(long)]
    offline: bool,
}

impl EvalArgs {
    pub(in crate::cli) fn debates(&self) -> impl Iterator<Item = &str> {
        self.debates.iter().chain(&self.named).map(String::as_str)
    }
}

/// The maximum number of repetitions: each costs money, and more would add little information.
const MOST_REPETITIONS: u32 = 100;

pub(super) fn repeat(text: &str) -> Result<NonZeroU32, String> {
    let number = text.parse().ok().filter(|number: &NonZeroU32| number.get() <= MOST_REPETITIONS);
    number.ok_or_else(|| format!("expected a whole number from 1 to {MOST_REPETITIONS}"))
}

pub(in crate::cli) fn run(args: &EvalArgs, terminal: &mut Terminal) -> Result<(), Error> {
    if let [first, second] = args.pairwise.as_slice() {
        return pairwise::run(args, [first, second], terminal);
    }
    // Check everything possible before spending anything.
    let environment = capture_environment(args.env_file.as_deref())?;
    let settings = settings(args, &environment, terminal)?;
    let subjects = subjects(args.debates(), terminal)?;
    let retries = args.verbose.then(|| retry_notices(terminal.color)).transpose()?;
    let (evaluators, prompt_warnings) = panel(&settings, &environment, retries.as_ref().map(|(sender, _)| sender))?;
    let destination = ScoresDestination::prepare(args.output.as_deref())?;
    terminal.warnings(settings.warnings.iter().chain(&prompt_warnings));
    for subject in &subjects {
        for (agent, round) in &subject.uncovered {
            terminal.warning(&format!(
                "{}: the last text of {agent} (round {round}) has no `Requirements Coverage` section",
                subject.name
            ));
        }
    }
    if args.verbose {
        terminal.notice(&output::roster(&evaluators));
    }
    agree_to(&evaluators, &subjects, args, terminal)?;
    let evaluated = noting_cost(terminal, async |noted| evaluate(&evaluators, &subjects, args.repeat, noted).await)?;
    if let Some((sender, thread)) = retries {
        // Print all messages about retries before the results. Joining fails only if the thread panicked, which the
        // panic hook has reported.
        drop(sender.send(None));
        drop(thread.join());
    }
    terminal.warnings(output::warnings(&evaluated));
    if args.verbose {
        terminal.notice(&output::details(&evaluated));
    }
    terminal.notices(indistinct(&evaluated));
    finish(&destination, &evaluated, args, terminal)
}

/// Asks the user to accept the forecast cost. Leaves out offline evaluators, because they cost nothing.
fn agree_to(
    evaluators: &[Evaluator],
    subjects: &[Subject],
    args: &EvalArgs,
    terminal: &mut Terminal,
) -> Result<(), Error> {
    let paid = evaluators.iter().filter(|one| one.settings.provider != OFFLINE);
    let once = paid.flat_map(|one| subjects.iter().flat_map(|subject| one.planned(subject)));
    let calls: Vec<PlannedCall> = once.flat_map(|call| vec![call; args.repeat.get() as usize]).collect();
    agree_to_calls(calls, terminal)
}

fn agree_to_calls(calls: Vec<PlannedCall>, terminal: &mut Terminal) -> Result<(), Error> {
    if calls.is_empty() {
        return Ok(());
    }
    let forecast = Forecast { calls, purchase: None };
    if agree(Some(&forecast), None, "Begin?", terminal)? { Ok(()) } else { Err(Error::Declined) }
}

/// Writes the results if at least one debate could be evaluated. Fails if at least one could not be evaluated.
fn finish(
    destination: &ScoresDestination,
    evaluated: &[Evaluated],
    args: &EvalArgs,
    terminal: &mut Terminal,
) -> Result<(), Error> {
    let without = evaluated.iter().filter(|one| one.counted().next().is_none());
    let debates: Vec<String> = without.map(|one| one.subject.name.clone()).collect();
    if debates.len() < evaluated.len() {
        destination.write(evaluated, args.repeat, terminal)?;
        let asked = evaluated.iter().flat_map(|one| &one.runs).flatten();
        if asked.into_iter().all(|attempt| attempt.evaluator.settings.provider == OFFLINE) {
            terminal.notice("This was a rehearsal: no model was called, and there are no scores.");
        }
    }
    if debates.is_empty() { Ok(()) } else { Err(not_evaluated(&debates)) }
}

fn settings(args: &EvalArgs, environment: &Environment, terminal: &mut Terminal) -> Result<EvaluationSettings, Error> {
    if let Some(path) = &args.config {
        return Ok(load_evaluators(path, environment, args.offline)?);
    }
    let loaded = config_files(None, environment).load(&Overrides { offline: args.offline, ..Overrides::default() })?;
    if let Some(choice) = &loaded.choice {
        choice.callable()?;
        terminal.notice(&choice.to_string());
    }
    Ok(judge_as_evaluator(loaded.settings, loaded.warnings))
}

/// Skips unfinished debates if more than one debate is given, since a pattern may match unfinished ones.
fn subjects<'a>(names: impl Iterator<Item = &'a str>, terminal: &mut Terminal) -> Result<Vec<Subject>, Error> {
    let entries = debates()?.select(names)?;
    let mut subjects = Vec::new();
    for entry in &entries {
        let saved = entry.load(AccessMode::State)?;
        terminal.warnings(&saved.warnings);
        match Subject::of(&entry.state, &saved.debate) {
            Ok(subject) => subjects.push(subject),
            Err(error) if error.is_unfinished() && entries.len() > 1 => {
                terminal.warning(&format!("{error}; skipping it"));
            }
            Err(error) => return Err(error.into()),
        }
    }
    if subjects.is_empty() { Err(SubjectError::NoneFinished { debates: entries.len() }.into()) } else { Ok(subjects) }
}

/// Runs `work`, and records its known cost for the daily limit, because an evaluation leaves no journal.
fn noting_cost<T>(terminal: &mut Terminal, work: impl AsyncFnOnce(&(dyn Fn(Usd) + Sync)) -> T) -> Result<T, Error> {
    let spent = Mutex::new(Usd::ZERO);
    let noted = |cost: Usd| *spent.lock().unwrap_or_else(PoisonError::into_inner) += cost;
    let done = run_with_interrupts(async |interrupts| {
        tokio::select! {
            done = work(&noted) => Ok(done),
            () = interrupts.next() => Err(Error::stopped("interrupted; nothing was written")),
        }
    });
    let (directory, spent) = (debates()?, spent.into_inner().unwrap_or_else(PoisonError::into_inner));
    if spent > Usd::ZERO
        && directory.path().is_dir()
        && let Err(error) = note_spent(&directory, spent)
    {
        terminal.warning(&format!("the cost of this evaluation does not count towards the daily limit: {error}"));
    }
    done
}

fn panel(
    settings: &EvaluationSettings,
    environment: &Environment,
    retries: Option<&mpsc::Sender<Option<String>>>,
) -> Result<(Vec<Evaluator>, Vec<String>), Error> {
    let caller = callers(settings, environment)?;
    let observer = |evaluator: &AgentId| -> Option<Arc<dyn CallObserver>> {
        Some(Arc::new(Observer { evaluator: evaluator.clone(), sender: retries?.clone() }))
    };
    let caller = |one: &EvaluatorSettings| Caller { observer: observer(&one.id), ..caller(one) };
    let (evaluators, of_prompts) = evaluators(&settings.evaluators, caller);
    let used = settings.evaluators.iter().map(|one| one.provider.as_str());
    let warnings = program_warnings(used, &settings.providers, environment, &[])?;
    Ok((evaluators, [warnings, of_prompts].concat()))
}

fn callers<'a>(
    settings: &'a EvaluationSettings,
    environment: &'a Environment,
) -> Result<impl Fn(&EvaluatorSettings) -> Caller + use<'a>, Error> {
    let used = || settings.evaluators.iter().map(|one| (one.id.as_str(), one.provider.as_str()));
    if used().any(|(_, provider)| provider == HOST) {
        return Err(UserError::input("the provider `host` cannot be used for evaluation")
            .with_hint("choose other evaluators with --config")
            .into());
    }
    missing_keys_of(used(), &settings.providers, environment)?;
    let models = Models::build(used().map(|(_, provider)| provider), &settings.providers, environment, false, &[])?;
    let limits = CallerLimits {
        // The evaluation limits concurrency itself, so that waiting does not count towards an evaluator's time.
        in_flight: Arc::new(ConcurrencyLimit::unbounded()),
        max_retries: default_settings().debate.max_retries,
    };
    let price = move |one: &EvaluatorSettings| {
        let is_elsewhere = is_elsewhere(&one.provider, &settings.providers, environment);
        price_at(&one.provider, &one.model, &settings.prices, is_elsewhere)
    };
    Ok(move |one: &EvaluatorSettings| Caller {
        chat: models.of(&one.provider),
        provider: one.provider.as_str().into(),
        price: price(one),
        timeouts: Timeouts { first_token: one.timeout, ..timeouts_of(&default_settings().debate) },
        silence: None,
        limits: limits.clone(),
        account: None,
        observer: None,
    })
}

fn not_evaluated(debates: &[String]) -> Error {
    UserError::of(ErrorCategory::Provider, format!("no evaluator could evaluate {}", debates.join(", "))).into()
}

struct Observer {
    evaluator: AgentId,
    sender: mpsc::Sender<Option<String>>,
}

/// Starts a thread that writes messages to standard error, so that a stalled reader does not stop the evaluation.
/// Sending `None` ends the thread; waiting for all senders to be dropped could take longer, because observers hold
/// some.
fn retry_notices(color: ColorMode) -> Result<(mpsc::Sender<Option<String>>, JoinHandle<()>), Error> {
    let (sender, told) = mpsc::channel::<Option<String>>();
    let tell = move || {
        while let Ok(Some(text)) = told.recv() {
            // A closed standard error is not a reason to fail.
            drop(Notices::stderr(color).notice(&text));
        }
    };
    let thread = thread::Builder::new().name("retries".to_owned()).spawn(tell).map_err(Error::Runtime)?;
    Ok((sender, thread))
}

impl CallObserver for Observer {
    fn retrying(&self, attempt: u32, error: &ModelError, wait: Duration) {
        let wait = duration(u64::try_from(wait.as_millis()).unwrap_or(u64::MAX));
        let text = format!("evaluator {}: attempt {attempt} failed: {error}; retrying in {wait}", self.evaluator);
        // Fails only if the thread has ended.
        drop(self.sender.send(Some(text)));
    }
}
