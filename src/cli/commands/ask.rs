//! `dialectic ask`: asks the judge or an agent about a finished debate; on a terminal, repeatedly.

use std::io::{self, IsTerminal, Read};
use std::sync::Arc;
use std::time::Instant;

use tokio_util::sync::CancellationToken;

use super::show;
use crate::cli::args::{AskArgs, Watch};
use crate::cli::consent::{Offer, agree, tell};
use crate::cli::dialogue::{Dialogue, NotAsked};
use crate::cli::edit::edit;
use crate::cli::interrupt::{Interrupts, end_on_interrupt, end_soon, interrupt};
use crate::cli::latest::{is_debate, or_latest_said};
use crate::cli::line::{LineReader, TypedLine};
use crate::cli::session::{config_files, debates, env_file, runner, vouched};
use crate::cli::suspend::give_way;
use crate::cli::terminal::Terminal;
use crate::cli::watchers::{Log, Watchers};
use crate::error::{Error, INTERRUPTED, UserError};
use dialectic_base::diagnostic::Diagnostic as _;
use dialectic_base::figures::{clock, named_cost};
use dialectic_base::markdown::truncate;
use dialectic_base::money::{BudgetLimit, Usd};
use dialectic_base::provider::OFFLINE;
use dialectic_base::sanitize::one_line;
use dialectic_config::{ConfigFiles, Loaded, Overrides, capture_environment};
use dialectic_engine::access::Environment;
use dialectic_engine::engine::FollowUpError;
use dialectic_engine::runner::{PreparedQuestion, ResumableDebate, Runner, renew_limit, spent_by};
use dialectic_record::debate::{AgentId, Debate, DebateId};
use dialectic_record::store::{Entry, read_state};
use dialectic_report::display::{DisplayOptions, ProgressMode};
use dialectic_report::report::View;

/// The prompt for a typed question.
const PROMPT: &str = "Question (empty line: end, Ctrl-G: editor): ";
/// The maximum number of characters shown of a repeated question.
const SHOWN: usize = 200;

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
    let mut asker = AskSession { args, entry, runner, files, environment: &environment, is_begun: false };
    match question {
        None if is_talking() => asker.converse(terminal),
        question => {
            let outcome = asker.ask(question, |offer, terminal| agree(offer, BEGIN, terminal), terminal)?;
            end_on_interrupt(None);
            match outcome {
                Asked::Answered => {
                    terminal.notice(&format!("Saved the answer to {}", asker.entry.state.display()));
                    Ok(())
                }
                Asked::Declined => Err(NotAsked::Declined.into()),
                Asked::Failed(error) => Err(error.into()),
            }
        }
    }
}

/// The confirmation before a question is paid.
const BEGIN: &str = "Ask it?";

/// Whether a person can continue to ask.
#[expect(clippy::disallowed_methods, reason = "it only checks whether it is a terminal")]
fn is_talking() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// The result of a question.
enum Asked {
    Answered,
    /// The user declined the cost.
    Declined,
    /// Another question may still succeed.
    Failed(FollowUpError),
}

/// Asks about one debate, once or repeatedly.
struct AskSession<'a> {
    args: &'a AskArgs,
    entry: Entry,
    runner: Runner,
    files: ConfigFiles<'a>,
    environment: &'a Environment,
    /// Whether warnings were shown, which would repeat with each question.
    is_begun: bool,
}

impl AskSession<'_> {
    /// Alternates questions and answers until there is no further question. Repeats an interrupted one first.
    fn converse(&mut self, terminal: &mut Terminal) -> Result<(), Error> {
        let mut lines = LineReader::default();
        let mut open = self.open(terminal)?;
        let mut agreed_to_unknown = false;
        let mut has_answers = false;
        loop {
            let question = match open.take() {
                Some(open) => {
                    let shown = one_line(&open);
                    terminal.notice(&format!("Asked before, without an answer: “{}”", truncate(&shown, SHOWN)));
                    if !Dialogue::begin("`dialectic ask`")?.confirm("Ask it again?", true)? {
                        continue;
                    }
                    // The record contains the question and its recipient.
                    None
                }
                None => match typed(&mut lines, terminal)? {
                    Some(question) => Some(question),
                    None => break,
                },
            };
            // An unknown cost is confirmed once, a high one each time.
            let agree_to = |offer: &Offer<'_>, terminal: &mut Terminal| {
                if agreed_to_unknown && offer.most().is_none() {
                    tell(offer, terminal);
                    return Ok(true);
                }
                let agreed = agree(offer, BEGIN, terminal)?;
                agreed_to_unknown |= agreed && offer.most().is_none();
                Ok(agreed)
            };
            match self.ask(question, agree_to, terminal)? {
                Asked::Answered => has_answers = true,
                Asked::Declined => {}
                Asked::Failed(error) => {
                    let error = Error::from(error);
                    terminal.error(&error, error.hint().as_deref());
                }
            }
        }
        end_on_interrupt(None);
        if has_answers {
            terminal.notice(&format!("Saved the answers to {}", self.entry.state.display()));
        }
        Ok(())
    }

    /// The recorded question without an answer, the newest if there are several.
    fn open(&self, terminal: &mut Terminal) -> Result<Option<Arc<str>>, Error> {
        let (saved, _) = self.opened()?;
        let to = self.asked(saved.debate())?;
        terminal.warnings(saved.warnings());
        let mut asked = saved.debate().follow_ups.iter().rev();
        let open = asked.find(|one| one.answer.is_none() && (to.is_none() || one.to == to));
        Ok(open.map(|one| Arc::clone(&one.question)))
    }

    /// The debate, and its configuration. Older versions saved no settings, so the judge then comes from the
    /// configuration.
    fn opened(&self) -> Result<(ResumableDebate, Option<Loaded>), Error> {
        let is_unset = read_state(&self.entry.state).is_ok_and(|debate| debate.settings.is_none());
        let lent = is_unset.then(|| self.files.load(&Overrides::default())).transpose()?;
        let settings = lent.as_ref().map(|lent| lent.settings.clone());
        Ok((self.runner.open_finished(&self.entry, &[], settings)?, lent))
    }

    /// The answering agent; `None` for the judge.
    fn asked(&self, debate: &Debate) -> Result<Option<AgentId>, Error> {
        let Some(name) = &self.args.agent else { return Ok(None) };
        let view = View::new(debate, None);
        let id = show::agent(&view, Some(name))?;
        Ok((id != view.judge.id).then_some(id))
    }

    /// Asks, shows the answer and its cost; without a question, repeats the unanswered one.
    fn ask(
        &mut self,
        question: Option<Arc<str>>,
        agree_to: impl FnOnce(&Offer<'_>, &mut Terminal) -> Result<bool, Error>,
        terminal: &mut Terminal,
    ) -> Result<Asked, Error> {
        let args = self.args;
        let (saved, lent) = self.opened()?;
        let to = self.asked(saved.debate())?;
        let is_first = !std::mem::replace(&mut self.is_begun, true);
        terminal.warnings(saved.warnings().iter().chain(self.environment.warnings()).filter(|_| is_first));
        let before = saved.debate().total_cost();
        let provenance = lent.map_or_else(|| saved.provenance(), |lent| lent.provenance);
        let provenance = vouched(provenance, &args.vouch, &self.files)?;
        let limit = BudgetLimit { usd: args.max_cost, calls: args.calls.max_calls };
        let provenance = provenance.and_calls_per_day(args.calls.max_calls_per_day);
        let asking = self.runner.ask(saved, question, to.as_ref(), limit, &provenance)?;
        terminal.warnings(asking.warnings().iter().filter(|_| is_first));
        // A server with a daily limit counts the maximum cost of this question, not that of an earlier run.
        let most = args.max_cost.map(|most| spent_by(&self.entry) + most);
        if let Err(error) = renew_limit(&debates()?, &DebateId::new(self.entry.id()), most) {
            terminal.warning(&error.to_string());
        }
        if !asking.settings().everybody().all(|one| one.provider == OFFLINE) {
            let (forecast, limit) = (asking.forecast()?, asking.left());
            if !agree_to(&Offer { forecast: Some(&forecast), limit, tools: false }, terminal)? {
                return Ok(Asked::Declined);
            }
        }
        let begun = Instant::now();
        let id = asking.debate().id.clone();
        let (debate, answer) = match answered(asking, terminal.display(args.watch.watch()))? {
            Ok(answered) => answered,
            Err(FollowUpError::Interrupted) => {
                return Err(Error::Coded {
                    code: INTERRUPTED,
                    said: format!("interrupted; the question about {id} is saved without an answer"),
                    hint: Some(format!("ask it again: dialectic ask {id}")),
                });
            }
            Err(error @ (FollowUpError::Failed { .. } | FollowUpError::TooDear { .. })) => {
                return Ok(Asked::Failed(error));
            }
            Err(error) => return Err(error.into()),
        };
        let printed = terminal.solution(&answer, !args.watch.no_pager);
        if args.watch.watch() != Watch::Quiet {
            let cost = debate.total_cost();
            let took = clock(begun.elapsed());
            let of_answer = cost.zip(before).map(|(now, before)| now.saturating_sub(before));
            if debate.is_offline() {
                terminal.notice(&format!("Answered in {took}, offline"));
            } else {
                terminal.notice(&described(&took, of_answer, cost));
            }
        }
        printed.map(|()| Asked::Answered)
    }
}

/// A typed question, possibly from an editor; `None` at the end.
fn typed(lines: &mut LineReader, terminal: &mut Terminal) -> Result<Option<Arc<str>>, Error> {
    loop {
        match lines.read(PROMPT) {
            Ok(TypedLine::Line(text)) => return Ok(read_text(&text).ok()),
            Ok(TypedLine::Editor(text)) => match edit(&text, "The question is above this line.") {
                Ok(text) => {
                    if let Ok(question) = read_text(&text) {
                        return Ok(Some(question));
                    }
                }
                // It can still be typed.
                Err(error) => terminal.error(&error, error.hint().as_deref()),
            },
            Ok(TypedLine::End) => return Ok(None),
            Err(error) => match error.kind() {
                io::ErrorKind::Interrupted | io::ErrorKind::UnexpectedEof => return Ok(None),
                _ => return Err(Error::Stdin(error)),
            },
        }
    }
}

/// `Answered in 0:07 for $0.0123; the debate has now cost $0.23`
fn described(took: &str, of_answer: Option<Usd>, of_debate: Option<Usd>) -> String {
    let debate = of_debate.map_or_else(String::new, |cost| format!("; the debate cost {cost} so far"));
    format!("Answered in {took}, {}{debate}", named_cost(of_answer))
}

/// The question, from the command line or from standard input.
fn read(text: &str) -> Result<Arc<str>, UserError> {
    let mut read = String::new();
    let text = if text == "-" {
        let unreadable = |source| UserError::input("cannot read the question from standard input").with_source(source);
        io::stdin().lock().read_to_string(&mut read).map_err(unreadable)?;
        &read
    } else {
        text
    };
    read_text(text)
}

fn read_text(text: &str) -> Result<Arc<str>, UserError> {
    let text = text.trim();
    if text.is_empty() { Err(UserError::input("the question is empty")) } else { Ok(text.into()) }
}

/// Asks while the user watches.
fn answered(
    asking: PreparedQuestion,
    options: DisplayOptions,
) -> Result<Result<(Debate, Arc<str>), FollowUpError>, Error> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Error::Runtime)?;
    let journal = asking.journal_path().to_owned();
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
        // The watchers end because no one can publish any more.
        watchers.finish(&cancel).await;
        watch.abort();
        Ok::<_, Error>(ended)
    });
    runtime.shutdown_background();
    if cancel.is_cancelled() {
        end_soon();
    }
    ended
}
