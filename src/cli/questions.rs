//! Puts the agents' questions to the user: on standard error, answered on a terminal or from a pipe.

#![expect(clippy::disallowed_methods, reason = "it is asked whether it is a terminal")]

use std::io::{self, BufRead, IsTerminal};
use std::sync::Arc;

use tokio::task::spawn_blocking;
use tokio_util::sync::CancellationToken;

use crate::error::Error;
use crate::status::OpenQuestion;
use dialectic_base::figures::list;
use dialectic_base::problem::NO_ANSWER;
use dialectic_base::sanitize::{one_line, sanitize};
use dialectic_engine::runner::Run;
use dialectic_record::debate::{AgentId, Answerer, Debate};
use dialectic_report::display::Messages;

use super::edit::{EditError, edit};
use super::line::{LineReader, Typed};
use super::modes;

/// How asking ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AskOutcome {
    /// Every question has an answer.
    Answered,
    /// The user interrupted; the answers given so far are kept.
    Interrupted,
}

/// What is done where a debate asks something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OnQuestions {
    /// The user is asked, on a terminal or through a pipe.
    Ask,
    /// The run ends; somebody answers later.
    Leave,
}

/// An answer that was given before the debate goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct GivenAnswer {
    /// Who asked.
    pub(super) agent: AgentId,
    /// Which of its questions.
    pub(super) item: String,
    /// What is said.
    pub(super) text: String,
}

/// The answers to what a saved debate asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Given {
    pub(super) answers: Vec<GivenAnswer>,
    /// Whether all else is skipped, and nothing asked any more.
    pub(super) ends: bool,
    /// Who answers in the user's place, where somebody does.
    pub(super) by: Option<Answerer>,
}

impl Given {
    /// Tells them. Returns the debate as it is then.
    pub(super) fn tell(self, run: &Run, debate: &Debate) -> Arc<Debate> {
        let mut debate = debate.clone();
        for GivenAnswer { agent, item, text } in self.answers {
            let groups = debate.clarifications.iter_mut().flatten().filter(|group| group.agent_id == agent);
            for one in groups.flat_map(|group| &mut group.items).filter(|one| one.id == item) {
                one.answer.clone_from(&text);
            }
            match self.by {
                Some(by) => run.answer_by(by, agent, item, text),
                None => run.answer(agent, item, text),
            }
        }
        if self.ends {
            match self.by {
                Some(by) => run.end_questions_by(by),
                None => run.end_questions(),
            }
            for one in debate.clarifications.iter_mut().flatten().flat_map(|group| &mut group.items) {
                if one.answer.is_empty() {
                    NO_ANSWER.clone_into(&mut one.answer);
                }
            }
        }
        Arc::new(debate)
    }
}

/// The questions as they are listed, a paragraph each.
pub(super) fn listed(questions: &[OpenQuestion]) -> String {
    let shown = questions.iter().map(|one| format!("\n{}, from {}:\n{}\n", one.id, list(&one.from), one.question));
    shown.collect()
}

/// A question on its way to the user.
struct ShownQuestion {
    /// Its number among all questions of the debate.
    number: usize,
    /// Whom the answer goes to: several agents may ask the same.
    items: Vec<(AgentId, String)>,
    /// Who asks, as people call them.
    from: Vec<String>,
    text: String,
}

/// What came back.
enum ReadLine {
    Text(String),
    /// End of input: there will be no further answer.
    End,
    Interrupted,
    /// The editor did not bring back a text.
    Unwritten(EditError),
}

/// Asks every open question; each answer is recorded as soon as it is given. An empty answer is `NA`, and at the end
/// of input so are all that are left; then nobody is asked any more. An interrupt sets the terminal's modes back.
pub(super) async fn ask(
    run: &Run,
    debate: &Debate,
    cancel: &CancellationToken,
    messages: &Messages,
) -> Result<AskOutcome, Error> {
    let questions = questions(debate);
    let pass = pass(debate);
    let kind = if pass.is_some() { "Follow-up question" } else { "Question" };
    if let Some(pass) = &pass {
        drop(messages.say(&format!("\nFollow-up questions to your answers: {pass}.\n")));
    }
    let mut source = Source::open();
    let on_terminal = matches!(source, Source::Terminal(_));
    if on_terminal {
        modes::remember();
    }
    let leave = || {
        modes::restore();
        if on_terminal {
            // The cursor is still after the prompt.
            drop(messages.say("\n"));
        }
        AskOutcome::Interrupted
    };
    if !on_terminal && pass.is_none() && !questions.is_empty() {
        let said =
            "\nEach line of standard input answers a question. An empty line skips it; the end skips the rest.\n";
        drop(messages.say(said));
    }
    let total = questions.iter().map(|question| question.number).max().unwrap_or_default();
    'questions: for question in questions {
        let (number, from) = (question.number, list(&question.from));
        let shown = messages.say(&format!("\n{kind} {number} of {total}, from {from}:\n{}\n", question.text));
        let mut shown = Some(shown);
        let answer = loop {
            let said = shown.take();
            let text = sanitize(&question.text).into_owned();
            let reading = async {
                if let Some(said) = said.filter(|_| on_terminal) {
                    // The view draws nothing now, and what is typed comes after the question. A pipe is read whether
                    // or not anybody reads the questions.
                    said.await;
                }
                spawn_blocking(move || {
                    let line = source.read(&text);
                    (source, line)
                })
                .await
            };
            let (same, line) = tokio::select! {
                read = reading => read.map_err(|error| Error::Stdin(io::Error::other(error)))?,
                () = cancel.cancelled() => return Ok(leave()),
            };
            source = same;
            match line.map_err(Error::Stdin)? {
                ReadLine::Text(text) if text.trim().is_empty() => break NO_ANSWER.to_owned(),
                ReadLine::Text(text) => break text.trim().to_owned(),
                ReadLine::End => {
                    run.end_questions();
                    break 'questions;
                }
                ReadLine::Interrupted => return Ok(leave()),
                // It can be typed all the same.
                ReadLine::Unwritten(error) => shown = Some(messages.say(&format!("{error}\n"))),
            }
        };
        for (agent_id, item_id) in question.items {
            run.answer(agent_id, item_id, answer.clone());
        }
    }
    Ok(AskOutcome::Answered)
}

/// The open questions, each once.
fn questions(debate: &Debate) -> Vec<ShownQuestion> {
    let open = debate.questions().into_iter().filter(|question| question.answer.is_empty());
    let question = |asked: dialectic_record::debate::Question<'_>| {
        let mut from: Vec<String> = Vec::new();
        for (group, _) in &asked.items {
            let name = one_line(&format!("{} ({})", group.agent_name, group.role));
            if !from.contains(&name) {
                from.push(name);
            }
        }
        let items = asked.items.iter().map(|(group, item)| (group.agent_id.clone(), item.id.clone()));
        ShownQuestion { number: asked.number, items: items.collect(), from, text: asked.text.to_owned() }
    };
    open.map(question).collect()
}

/// Which pass of questions this is, when it is not the first: `second pass, 2 of at most 3`.
fn pass(debate: &Debate) -> Option<String> {
    let number = debate.clarification_iterations.filter(|number| *number > 1)?;
    let most = debate.settings.as_ref()?.debate.clarifications_max_iterations;
    let ordinal = match number {
        2 => "second pass".to_owned(),
        3 => "third pass".to_owned(),
        4 => "fourth pass".to_owned(),
        5 => "fifth pass".to_owned(),
        more => format!("pass {more}"),
    };
    Some(format!("{ordinal}, {number} of at most {most}"))
}

/// Where answers come from.
enum Source {
    /// A person.
    Terminal(LineReader),
    /// Anything else: a line an answer.
    Pipe,
}

impl Source {
    fn open() -> Self {
        if io::stdin().is_terminal() && io::stderr().is_terminal() {
            Self::Terminal(LineReader::default())
        } else {
            Self::Pipe
        }
    }

    /// The answer to `question`.
    fn read(&mut self, question: &str) -> io::Result<ReadLine> {
        match self {
            Self::Terminal(lines) => {
                match lines.read("Answer (empty line: skip, Ctrl-G: editor, Ctrl-D: skip the rest): ") {
                    Ok(Typed::Line(text)) => Ok(ReadLine::Text(text)),
                    Ok(Typed::Editor(text)) => match edit(&text, question) {
                        Ok(text) => Ok(ReadLine::Text(text)),
                        Err(error) => Ok(ReadLine::Unwritten(error)),
                    },
                    Ok(Typed::End) => Ok(ReadLine::End),
                    Err(error) => match error.kind() {
                        io::ErrorKind::Interrupted => Ok(ReadLine::Interrupted),
                        io::ErrorKind::UnexpectedEof => Ok(ReadLine::End),
                        _ => Err(error),
                    },
                }
            }
            Self::Pipe => {
                let mut bytes = Vec::new();
                let read = io::stdin().lock().read_until(b'\n', &mut bytes)?;
                Ok(if read == 0 { ReadLine::End } else { ReadLine::Text(String::from_utf8_lossy(&bytes).into_owned()) })
            }
        }
    }
}
