//! Puts the agents' questions to the user: on standard error, answered on a terminal or from a pipe.

#![expect(clippy::disallowed_methods, reason = "it is asked whether it is a terminal")]

use std::io::{self, BufRead, IsTerminal};

use tokio::task::spawn_blocking;
use tokio_util::sync::CancellationToken;

use crate::error::Error;
use dialectic_base::figures::list;
use dialectic_base::problem::NO_ANSWER;
use dialectic_base::sanitize::{one_line, sanitize};
use dialectic_engine::runner::Run;
use dialectic_record::debate::{AgentId, Debate};
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

/// A question on its way to the user.
struct ShownQuestion {
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
    if let Some(pass) = pass {
        drop(messages.say(&format!("\nThe answers led to follow-up questions: {pass}.\n")));
    }
    let mut source = Source::open();
    let on_terminal = matches!(source, Source::Terminal(_));
    if on_terminal {
        modes::remember();
    }
    let leave = || {
        modes::restore();
        if on_terminal {
            // The cursor is still behind the prompt.
            drop(messages.say("\n"));
        }
        AskOutcome::Interrupted
    };
    let total = questions.len();
    'questions: for (index, question) in questions.into_iter().enumerate() {
        let (number, from) = (index + 1, list(&question.from));
        let shown = messages.say(&format!("\n{kind} {number} of {total}, from {from}:\n{}\n", question.text));
        let mut shown = Some(shown);
        let answer = loop {
            let said = shown.take();
            let text = sanitize(&question.text).into_owned();
            let reading = async {
                if let Some(said) = said.filter(|_| on_terminal) {
                    // The view draws nothing now, and what is typed comes behind the question. A pipe is read whether
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

/// The open questions, each once: what several agents ask in the same words is one question.
fn questions(debate: &Debate) -> Vec<ShownQuestion> {
    let mut questions: Vec<ShownQuestion> = Vec::new();
    for (group, item) in debate.open_questions() {
        let from = one_line(&format!("{} ({})", group.agent_name, group.role));
        let to = (group.agent_id.clone(), item.id.clone());
        match questions.iter_mut().find(|question| in_words(&question.text) == in_words(&item.question)) {
            Some(asked) => {
                asked.items.push(to);
                if !asked.from.contains(&from) {
                    asked.from.push(from);
                }
            }
            None => questions.push(ShownQuestion { items: vec![to], from: vec![from], text: item.question.clone() }),
        }
    }
    questions
}

/// The words of a question, without what makes no difference to what is asked.
fn in_words(question: &str) -> String {
    let words: String = question.chars().map(|c| if c.is_alphanumeric() { c } else { ' ' }).collect();
    words.to_lowercase().split_whitespace().collect::<Vec<_>>().join(" ")
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
                match lines.read("Answer (empty: none, Ctrl-G: editor, Ctrl-D: skip the rest): ") {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_are_alike_whatever_their_case_and_marks() {
        assert_eq!(in_words("How many  users, roughly?"), in_words("how many users – roughly"));
        assert_ne!(in_words("How many users?"), in_words("How many user?"));
        assert_ne!(in_words("Wie groß?"), in_words("Wie groß ist es?"));
    }
}
