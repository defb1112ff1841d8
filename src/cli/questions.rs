//! Prints the agents' questions to standard error, and reads the answers from a terminal or a pipe.

use std::collections::BTreeMap;
use std::io::{self, BufRead};

use tokio::task::spawn_blocking;
use tokio_util::sync::CancellationToken;

use crate::error::{Error, UserError};
use crate::status::{OpenQuestion, OpenRequest, askers, open_questions};
use dialectic_base::figures::list;
use dialectic_base::problem::NO_ANSWER;
use dialectic_base::sanitize::sanitize;
use dialectic_engine::runner::Run;
use dialectic_record::debate::{Answerer, Debate, Question};
use dialectic_record::ids::DebateId;
use dialectic_report::display::Messages;

use super::dialogue::{Dialogue, TypedLine, edit};
use super::keys;

/// Answers from the command line, by question id. An empty answer skips its question.
#[derive(Debug)]
pub(super) struct GivenAnswers {
    pub(super) answers: BTreeMap<String, String>,
    /// Whether to skip all other questions and ask no more.
    pub(super) skip_rest: bool,
    /// The program that answers for the user, if any.
    pub(super) by: Option<Answerer>,
}

pub(super) fn not_asking(id: &DebateId) -> UserError {
    UserError::input(format!("the debate {id} has no open questions"))
}

fn unanswered(debate: &Debate) -> Vec<Question<'_>> {
    let mut questions = debate.questions();
    questions.retain(|question| question.answer.is_empty());
    questions
}

impl GivenAnswers {
    /// Fails if no question is open, if an answer belongs to no open question, or if an open question has no answer and
    /// `skip_rest` is not set.
    pub(super) fn check(&self, debate: &Debate) -> Result<(), UserError> {
        let open: Vec<String> = open_questions(debate).into_iter().map(|question| question.id).collect();
        if open.is_empty() {
            return Err(not_asking(&debate.id));
        }
        if let Some(unknown) = self.answers.keys().find(|id| !open.contains(id)) {
            let open = list(&open);
            return Err(UserError::input(format!("there is no open question `{unknown}`; open: {open}")));
        }
        let left: Vec<String> = open.into_iter().filter(|id| !self.answers.contains_key(id)).collect();
        if !left.is_empty() && !self.skip_rest {
            return Err(UserError::input(format!("{} would remain unanswered", list(&left)))
                .with_hint("answer every question, skip one with `q1=`, or skip all others with --skip-rest"));
        }
        Ok(())
    }

    /// Sends the answers to the run, and adds them to `debate`. The answers use the question numbers of `before`:
    /// `debate` may number its questions differently, because an agent whose call was interrupted may have asked in the
    /// meantime.
    pub(super) fn send(&self, run: &Run, before: &Debate, debate: &mut Debate) {
        for question in unanswered(before) {
            let Some(text) = self.answers.get(&format!("q{}", question.number)) else { continue };
            let text = if text.trim().is_empty() { NO_ANSWER } else { text.trim() };
            for (group, item) in question.items {
                run.answer(self.by, group.agent_id.clone(), item.id.clone(), text.to_owned());
                debate.answer(&group.agent_id, &item.id, text, self.by);
            }
        }
        if self.skip_rest {
            run.end_questions(self.by);
            debate.end_questions(self.by);
        }
    }
}

pub(super) fn listed(questions: &[OpenQuestion]) -> String {
    let shown = questions.iter().map(|one| format!("\n{}:\n{}\n", one.heading(), one.question));
    shown.collect()
}

/// The command that answers the questions of the debate with this name.
pub(super) fn to_answer(name: &str, questions: &[OpenQuestion]) -> String {
    let answers = questions.iter().map(|one| format!(" {}=\"...\"", one.id));
    format!("dialectic answer {name}{}", answers.collect::<String>())
}

pub(super) fn listed_requests(name: &str, requests: &[OpenRequest]) -> String {
    let shown: Vec<String> = requests.iter().map(|one| format!("{}  {}", one.id, one.about)).collect();
    let shown = shown.join("\n");
    format!(
        "\nWaiting for your replies:\n{shown}\n\nRead one: dialectic requests {name} <request>\n\
         Answer it: dialectic reply {name} <request> <file>\n"
    )
}

enum ReadLine {
    Text(String),
    End,
    Interrupted,
    Unwritten(UserError),
}

/// Asks the user the open questions. An empty answer is recorded as `NA`. The end of input skips all remaining
/// questions and prevents further ones. Returns false if an interrupt ended the dialogue, in which case the earlier
/// answers are kept.
pub(super) async fn ask(
    run: &Run,
    debate: &Debate,
    cancel: &CancellationToken,
    messages: &Messages,
) -> Result<bool, Error> {
    let questions = unanswered(debate);
    let pass = pass(debate);
    let kind = if pass.is_some() { "Follow-up question" } else { "Question" };
    if let Some(pass) = &pass {
        drop(messages.say(&format!("\nFollow-up questions on your answers: {pass}.\n")));
    }
    let mut lines = Dialogue::open();
    let on_terminal = lines.is_some();
    if on_terminal {
        keys::remember();
    }
    let leave = || {
        keys::restore();
        if on_terminal {
            // Move the cursor to the line below the prompt.
            drop(messages.say("\n"));
        }
        false
    };
    if !on_terminal && pass.is_none() && !questions.is_empty() {
        let said =
            "\nEach line of input answers a question. An empty line skips it; the end of input skips the rest.\n";
        drop(messages.say(said));
    }
    let total = questions.iter().map(|question| question.number).max().unwrap_or_default();
    'questions: for question in questions {
        let (number, from) = (question.number, list(&askers(&question)));
        let shown = messages.say(&format!("\n{kind} {number} of {total}, from {from}:\n{}\n", question.text));
        let mut shown = Some(shown);
        let answer = loop {
            let said = shown.take();
            let text = sanitize(question.text).into_owned();
            let reading = async {
                if let Some(said) = said.filter(|_| on_terminal) {
                    // Wait until the question is on the screen, so that typed text appears below it. Input from a pipe
                    // need not wait.
                    said.await;
                }
                spawn_blocking(move || {
                    let line = match &mut lines {
                        Some(lines) => typed(lines, &text),
                        None => piped(),
                    };
                    (lines, line)
                })
                .await
            };
            let (same, line) = tokio::select! {
                read = reading => read.map_err(|error| Error::Stdin(io::Error::other(error)))?,
                () = cancel.cancelled() => return Ok(leave()),
            };
            lines = same;
            match line.map_err(Error::Stdin)? {
                ReadLine::Text(text) if text.trim().is_empty() => break NO_ANSWER.to_owned(),
                ReadLine::Text(text) => break text.trim().to_owned(),
                ReadLine::End => {
                    run.end_questions(None);
                    break 'questions;
                }
                ReadLine::Interrupted => return Ok(leave()),
                // Ask again: the user can still type the answer without an editor.
                ReadLine::Unwritten(error) => shown = Some(messages.say(&format!("{error}\n"))),
            }
        };
        // More than one agent may ask the same question.
        for (group, item) in question.items {
            run.answer(None, group.agent_id.clone(), item.id.clone(), answer.clone());
        }
    }
    Ok(true)
}

/// The current pass, for example `second pass, 2 of at most 3`. `None` in the first pass.
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

fn typed(lines: &mut Dialogue, question: &str) -> io::Result<ReadLine> {
    match lines.read("Answer (empty line: skip, Ctrl-G: editor, Ctrl-D: skip the rest): ") {
        Ok(TypedLine::Line(text)) => Ok(ReadLine::Text(text)),
        Ok(TypedLine::Editor(text)) => Ok(edit(&text, question).map_or_else(ReadLine::Unwritten, ReadLine::Text)),
        Ok(TypedLine::End) => Ok(ReadLine::End),
        Err(error) => match error.kind() {
            io::ErrorKind::Interrupted => Ok(ReadLine::Interrupted),
            io::ErrorKind::UnexpectedEof => Ok(ReadLine::End),
            _ => Err(error),
        },
    }
}

fn piped() -> io::Result<ReadLine> {
    let mut bytes = Vec::new();
    let read = io::stdin().lock().read_until(b'\n', &mut bytes)?;
    Ok(if read == 0 { ReadLine::End } else { ReadLine::Text(String::from_utf8_lossy(&bytes).into_owned()) })
}
