//! Puts the agents' questions to the user: on standard error, answered on a terminal or from a pipe.

use std::io::{self, BufRead, IsTerminal, Write};

use dialoguer::{History, Input};
use tokio::task::spawn_blocking;
use tokio_util::sync::CancellationToken;

use crate::debate::AgentId;
use crate::display::{one_line, sanitize};
use crate::engine::Engine;
use crate::error::Error;

use super::modes::TerminalModes;

/// The answer of a user who gives none.
const NO_ANSWER: &str = "NA";

/// How asking ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asked {
    /// Every question has an answer.
    Answered,
    /// The user interrupted; the answers given so far are kept.
    Interrupted,
}

/// A question on its way to the user.
struct Question {
    agent_id: AgentId,
    item_id: String,
    title: String,
    text: String,
}

/// What came back.
enum Line {
    Text(String),
    /// End of input: there will be no further answer.
    End,
    Interrupted,
}

/// Asks every open question; each answer is recorded as soon as it is given. An empty answer is `NA`, and at the end
/// of input so are all that are left. An interrupt sets the terminal back to its `modes`.
pub(super) async fn ask(
    engine: &mut Engine,
    cancel: &CancellationToken,
    modes: &TerminalModes,
) -> Result<Asked, Error> {
    let questions: Vec<Question> = engine
        .debate()
        .open_questions()
        .map(|(group, item)| Question {
            agent_id: group.agent_id.clone(),
            item_id: item.id.clone(),
            title: one_line(&format!("{} ({})", group.agent_name, group.role)),
            text: sanitize(&item.question).into_owned(),
        })
        .collect();
    // Lets the display take its block off the screen before the first question is shown.
    for _ in 0..3 {
        tokio::task::yield_now().await;
    }
    let mut source = Source::open();
    let on_terminal = matches!(source, Source::Terminal(_));
    if on_terminal {
        modes.remember();
    }
    let leave = || {
        modes.restore();
        if on_terminal {
            // The cursor is still behind the prompt.
            drop(io::stderr().write_all(b"\n"));
        }
        Asked::Interrupted
    };
    let mut ended = false;
    let total = questions.len();
    for (index, question) in questions.into_iter().enumerate() {
        let mut answer = String::new();
        if !ended {
            let prompt = format!("\nQuestion {} of {total}, from {}:\n{}\n", index + 1, question.title, question.text);
            let reading = spawn_blocking(move || {
                let line = source.read(&prompt);
                (source, line)
            });
            let (same, line) = tokio::select! {
                read = reading => read.map_err(|error| Error::Stdin(io::Error::other(error)))?,
                () = cancel.cancelled() => return Ok(leave()),
            };
            source = same;
            match line.map_err(Error::Stdin)? {
                Line::Text(text) => text.trim().clone_into(&mut answer),
                Line::End => ended = true,
                Line::Interrupted => return Ok(leave()),
            }
        }
        if answer.is_empty() {
            NO_ANSWER.clone_into(&mut answer);
        }
        engine.answer(question.agent_id, question.item_id, answer)?;
    }
    Ok(Asked::Answered)
}

/// Where answers come from.
enum Source {
    /// A person: with line editing, and the earlier answers behind the arrow keys.
    Terminal(Answers),
    /// Anything else: a line an answer.
    Pipe,
}

/// The answers given so far, the newest first, for the arrow keys.
#[derive(Default)]
struct Answers(Vec<String>);

impl History<String> for Answers {
    fn read(&self, position: usize) -> Option<String> {
        self.0.get(position).cloned()
    }

    fn write(&mut self, answer: &String) {
        if !answer.trim().is_empty() {
            self.0.insert(0, answer.clone());
        }
    }
}

impl Source {
    fn open() -> Self {
        if io::stdin().is_terminal() && io::stderr().is_terminal() {
            Self::Terminal(Answers::default())
        } else {
            Self::Pipe
        }
    }

    fn read(&mut self, prompt: &str) -> io::Result<Line> {
        // Nobody reading standard error is no reason not to take the answer.
        drop(io::stderr().write_all(prompt.as_bytes()));
        match self {
            Self::Terminal(history) => {
                let input = Input::<String>::new().with_prompt("Answer (empty: none)").allow_empty(true);
                match input.history_with(history).interact_text() {
                    Ok(text) => Ok(Line::Text(text)),
                    Err(dialoguer::Error::IO(error)) => match error.kind() {
                        io::ErrorKind::Interrupted => Ok(Line::Interrupted),
                        io::ErrorKind::UnexpectedEof => Ok(Line::End),
                        _ => Err(error),
                    },
                }
            }
            Self::Pipe => {
                let mut bytes = Vec::new();
                let read = io::stdin().lock().read_until(b'\n', &mut bytes)?;
                Ok(if read == 0 { Line::End } else { Line::Text(String::from_utf8_lossy(&bytes).into_owned()) })
            }
        }
    }
}
