//! Models called through a command-line program: each call starts the program, writes the prompt to its standard input
//! and reads its output.
//!
//! A built-in program must act as a plain model: it starts in an empty directory, without the user's settings, keys,
//! servers and tools, and a call that uses a tool fails. `docs/models.md` lists what cannot be prevented.

mod claude;
mod codex;
mod find;
mod preset;
mod process;
mod transcript;

#[cfg(test)]
#[cfg(unix)]
mod tests;

use std::fmt::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use chrono::{DateTime, TimeDelta, Utc};
use futures_util::future::BoxFuture;
use secrecy::ExposeSecret as _;
use serde_json::Value;
use tokio::process::Command;
use tokio::sync::OnceCell;

use crate::{ChatModel, FailedAttempt, Live, ModelError, Reply, Request, Turn};

use find::Stamp;
use preset::Workplace;
use transcript::Transcript;

pub use find::{PROGRAMS, Program, ProgramFault, find, program_preset, searched};
pub use preset::{Login, ProgramPreset};
pub use process::{ProcessGroup, end_all};

/// The maximum number of concurrent processes of a program, in all debates of this process together.
pub const CONCURRENCY: usize = 2;
/// How long a usage limit is assumed to last if the program does not say.
const UNTOLD_LIMIT: TimeDelta = TimeDelta::minutes(5);

pub struct CommandModel {
    program: Program,
    /// The name of the concurrency limit that all calls of the program share.
    bound: Arc<str>,
    /// The state of the program's file when the program was last checked.
    checked: Mutex<Stamp>,
    /// Whether the program reports a subscription login. If so, calls are not billed, and costs are list prices.
    is_subscription: OnceCell<bool>,
    limited_until: Mutex<Option<DateTime<Utc>>>,
    /// Whether a call was billed despite the subscription, as extra usage or to a key.
    is_overage: AtomicBool,
}

impl CommandModel {
    /// Expects a `program` that was already checked.
    pub fn new(program: Program) -> Self {
        let words = [&*program.name, &program.executable.to_string_lossy()].map(str::to_owned);
        let bound = words.into_iter().chain(program.leading.iter().cloned()).collect::<Vec<_>>().join("\0");
        Self {
            bound: bound.into(),
            checked: Mutex::new(Stamp::of(&program.executable)),
            program,
            is_subscription: OnceCell::new(),
            limited_until: Mutex::new(None),
            is_overage: AtomicBool::new(false),
        }
    }

    async fn answer(&self, request: &Request, live: Live<'_>) -> Result<Reply, FailedAttempt> {
        check_model(&request.model)?;
        self.check_again().await?;
        self.ask_for_login().await;
        let Program { preset, executable, .. } = &self.program;
        let place = Workplace::new(*preset, request).map_err(|error| ModelError::Unsendable {
            message: format!("cannot create a working directory for the program: {error}"),
        })?;
        let mut command = Command::new(executable);
        command.args(self.program.arguments(request, &place)).current_dir(place.work()).env_clear();
        let environment = self.program.environment_of(request);
        command.envs(environment.iter().map(|(name, value)| (name, value.expose_secret())));
        let input = text(request, preset.is_none());
        let mut heard = Transcript::default();
        let exit = process::run(command, &input, live.timeouts.idle, &mut heard, |line, heard| {
            match preset {
                // The output of the user's own program is the answer.
                None if heard.has_spoken() => heard.say(&format!("\n{line}"), live.listener),
                None => heard.say(line, live.listener),
                Some(preset) => {
                    if let Ok(value) = serde_json::from_str::<Value>(line) {
                        (preset.read)(&value, heard, live.listener);
                    }
                }
            }
            if heard.is_overage {
                self.is_overage.store(true, Ordering::Relaxed);
            }
        })
        .await?;
        if preset.is_none() {
            // Plain text has no end mark, so the exit code tells whether it is complete.
            heard.is_complete = exit.is_whole && exit.code == Some(0);
        }
        heard.conclude(&exit)
    }

    /// Checks the program again if its file has changed, because programs may be updated while debates run.
    async fn check_again(&self) -> Result<(), ModelError> {
        let now = Stamp::of(&self.program.executable);
        let checked = || self.checked.lock().unwrap_or_else(PoisonError::into_inner);
        if *checked() == now {
            return Ok(());
        }
        let program = self.program.clone();
        let found = tokio::task::spawn_blocking(move || program.check()).await;
        let died = |_| ModelError::Unsendable { message: "checking the program failed unexpectedly".to_owned() };
        found.map_err(died)?.map_err(|fault| ModelError::Unsendable { message: fault.to_string() })?;
        *checked() = now;
        Ok(())
    }

    async fn ask_for_login(&self) {
        let ask = || async {
            let program = self.program.clone();
            // The query takes a moment and must not block other tasks.
            let login = tokio::task::spawn_blocking(move || program.login()).await;
            login.is_ok_and(|login| login == Login::Subscription)
        };
        self.is_subscription.get_or_init(ask).await;
    }

    fn note_limit(&self, error: &ModelError) {
        if let ModelError::UsageLimit { until, .. } = error {
            let until = until.unwrap_or_else(|| Utc::now() + UNTOLD_LIMIT);
            *self.limited_until.lock().unwrap_or_else(PoisonError::into_inner) = Some(until);
        }
    }
}

impl ChatModel for CommandModel {
    fn ask<'a>(&'a self, request: &'a Request, live: Live<'a>) -> BoxFuture<'a, Result<Reply, FailedAttempt>> {
        Box::pin(async move {
            let answer = self.answer(request, live).await;
            answer.inspect_err(|failed| self.note_limit(&failed.error))
        })
    }

    fn is_notional(&self) -> bool {
        let is_subscription = self.is_subscription.get().is_some_and(|is_subscription| *is_subscription);
        is_subscription && !self.is_overage.load(Ordering::Relaxed)
    }

    fn shared_bound(&self) -> Option<(&Arc<str>, usize)> {
        Some((&self.bound, CONCURRENCY))
    }

    fn reach(&self) -> BoxFuture<'_, Result<(), ModelError>> {
        let limited = *self.limited_until.lock().unwrap_or_else(PoisonError::into_inner);
        let outcome = match limited.filter(|until| *until > Utc::now()) {
            Some(until) => {
                Err(ModelError::UsageLimit { until: Some(until), message: "skipping calls until then".to_owned() })
            }
            None => Ok(()),
        };
        Box::pin(async { outcome })
    }
}

/// Every prompt begins with this, because programs treat a leading `/` as their own command and a leading `!` as a
/// shell command.
const OPENING: &str = "Answer what follows.";

fn text(request: &Request, with_system: bool) -> String {
    let mut text = format!("{OPENING}\n\n");
    if with_system && !request.system.trim().is_empty() {
        let _ = write!(text, "{}\n\n", request.system);
    }
    text.push_str(&request.prompt);
    for turn in &request.turns {
        let _ = match turn {
            Turn::Assistant { text: said, .. } => write!(text, "\n\n# Your answer so far\n\n{said}"),
            Turn::ToolResults(results) => results.iter().try_for_each(|result| {
                write!(text, "\n\n# The result of `{}`\n\n{}", result.tool_call_id, result.content)
            }),
            Turn::User(said) => write!(text, "\n\n# On that answer\n\n{said}"),
        };
    }
    text
}

/// Checks that a model's name cannot be mistaken for an option.
fn check_model(model: &str) -> Result<(), ModelError> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._:/@+[]-".contains(c);
    if model.starts_with(|c: char| c.is_ascii_alphanumeric()) && model.chars().all(is_plain) {
        return Ok(());
    }
    Err(ModelError::Unsendable { message: format!("`{model}` is not a valid model name for a program") })
}
