//! Models called through a command-line program: each call starts the program, writes the prompt to its standard input
//! and reads its output.
//!
//! The program must act as a plain model: it starts in an empty directory, without the user's settings, keys, servers
//! and tools, and a call that uses a tool fails. `docs/models.md` lists what cannot be prevented.

mod call;
mod claude;
mod codex;
mod find;
mod process;
mod transcript;

#[cfg(test)]
#[cfg(unix)]
mod tests;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use chrono::{DateTime, TimeDelta, Utc};
use futures_util::future::BoxFuture;
use serde_json::Value;
use tokio::sync::OnceCell;

use crate::{ChatModel, FailedAttempt, Live, ModelError, Reply, Request};

use call::Workplace;
use find::Stamp;
use process::{Heard, Invocation};
use transcript::Transcript;

pub use call::Login;
pub use find::{PROGRAMS, Program, ProgramFault, ProgramPreset, find, program_preset, searched};
pub use process::{ProcessGroup, end_all};

/// The default number of concurrent processes of a program.
pub const CONCURRENCY: usize = 2;
/// The delay after a program reports its limit without a time.
const UNTOLD_LIMIT: TimeDelta = TimeDelta::minutes(5);

/// Models called through a command-line program.
pub struct CommandModel {
    program: Program,
    /// The name of the limit shared by all calls of the same program.
    bound: Arc<str>,
    /// The file whose version was checked last.
    checked: Mutex<Stamp>,
    /// Whether the program reports a subscription login: then nothing is billed, and its costs are notional. If it does
    /// not report one, costs are real.
    is_subscription: OnceCell<bool>,
    /// The end of its current limit.
    limited_until: Mutex<Option<DateTime<Utc>>>,
    /// Whether it reported calls billed in addition to the subscription.
    is_overage: AtomicBool,
}

impl CommandModel {
    /// The models of `program`, which was already checked.
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
        call::check_model(&request.model)?;
        self.check_again().await?;
        self.ask_for_login().await;
        let program = &self.program;
        let calls = program.calls();
        let place = Workplace::new(calls, request).map_err(|error| ModelError::Unsendable {
            message: format!("cannot create a working directory for the program: {error}"),
        })?;
        let invocation = Invocation {
            executable: &program.executable,
            arguments: program.arguments(request, &place),
            environment: program.environment_of(request),
            directory: &place.work(),
            input: call::text(request, calls.is_none()),
            idle: live.timeouts.idle,
        };
        let mut heard = Transcript::default();
        let exit = process::run(&invocation, |line| {
            match calls {
                // The output of the user's own program is the answer.
                None if heard.has_spoken() => heard.say(&format!("\n{line}"), live.listener),
                None => heard.say(line, live.listener),
                Some(calls) => {
                    if let Ok(value) = serde_json::from_str::<Value>(line) {
                        (calls.read)(&value, &mut heard, live.listener);
                    }
                }
            }
            if heard.is_overage {
                self.is_overage.store(true, Ordering::Relaxed);
            }
            if heard.is_over || heard.tool.is_some() {
                Heard::Enough
            } else if heard.is_complete {
                Heard::Complete
            } else if heard.has_spoken() {
                Heard::Text
            } else {
                Heard::GoOn
            }
        })
        .await?;
        if calls.is_none() {
            // Only the exit code tells whether a text is whole.
            heard.is_complete = exit.is_whole && exit.code == Some(0);
        }
        heard.conclude(&exit)
    }

    /// Checks the program again if its file has changed: programs are updated while debates run.
    async fn check_again(&self) -> Result<(), ModelError> {
        let now = Stamp::of(&self.program.executable);
        let checked = || self.checked.lock().unwrap_or_else(PoisonError::into_inner);
        if *checked() == now {
            return Ok(());
        }
        let program = self.program.clone();
        let found = tokio::task::spawn_blocking(move || program.check()).await;
        let died = |_| ModelError::Unsendable { message: "the program failed while it was checked".to_owned() };
        found.map_err(died)?.map_err(|fault| ModelError::Unsendable { message: fault.to_string() })?;
        *checked() = now;
        Ok(())
    }

    /// Asks the program once for its login.
    async fn ask_for_login(&self) {
        let ask = || async {
            let program = self.program.clone();
            // This takes a moment and must not block others.
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
        let until = limited.filter(|until| *until > Utc::now());
        let outcome = match until {
            Some(until) => {
                let message = "its usage limit is still in effect".to_owned();
                Err(ModelError::UsageLimit { until: Some(until), message })
            }
            None => Ok(()),
        };
        Box::pin(async { outcome })
    }
}
