//! Models called through a command-line program: each call starts the program, writes the prompt to its standard input
//! and reads its output.
//!
//! The program must act as a plain model: it starts in an empty directory, without the user's settings, keys, servers
//! and tools, and a call that uses a tool fails. `docs/models.md` lists what cannot be prevented.

mod claude;
mod codex;
mod find;
mod limits;
mod presets;
mod process;
mod prompt;
mod transcript;
mod workplace;

#[cfg(test)]
#[cfg(unix)]
mod tests;

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use chrono::{DateTime, TimeDelta, Utc};
use futures_util::future::BoxFuture;
use secrecy::SecretString;
use serde_json::Value;
use tokio::sync::OnceCell;

use dialectic_base::program::ProgramSettings;

use crate::{ChatModel, FailedAttempt, Live, ModelError, Reply, Request};

use find::Stamp;
use process::{Heard, Invocation};
use transcript::Transcript;
use workplace::Workplace;

pub use find::{ProgramFault, find, searched};
pub use presets::{PROGRAMS, ProgramKind, ProgramPreset, program_preset};
pub use process::{ProcessGroup, end_all};

/// The default number of concurrent processes of a program.
pub const CONCURRENCY: usize = 2;
/// The delay after a program reports its limit without a time.
const UNTOLD_LIMIT: TimeDelta = TimeDelta::minutes(5);

/// A program that was found, with everything for its calls.
#[derive(Debug, Clone)]
pub struct Program {
    /// The provider's name.
    pub name: Arc<str>,
    /// The preset; `None` for the user's own program.
    pub preset: Option<&'static ProgramPreset>,
    /// The user's settings for it.
    pub settings: ProgramSettings,
    /// The path.
    pub executable: PathBuf,
    /// The arguments before ours; for the user's own program, all.
    pub leading: Vec<String>,
    /// The complete environment.
    pub environment: Vec<(String, SecretString)>,
}

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
        prompt::check_model(&request.model)?;
        self.check_again().await?;
        self.ask_for_login().await;
        let program = &self.program;
        let kind = program.preset.map(|preset| preset.kind);
        let place = Workplace::new(kind, request).map_err(|error| ModelError::Unsendable {
            message: format!("cannot create a directory for the program: {error}"),
        })?;
        let invocation = Invocation {
            executable: &program.executable,
            arguments: program.arguments(request, &place),
            environment: program.environment_of(request),
            directory: &place.work(),
            input: prompt::text(request, kind.is_none()),
            idle: live.timeouts.idle,
        };
        let mut heard = Transcript::default();
        let exit = process::run(&invocation, |line| {
            match kind {
                // The output of the user's own program is the answer.
                None if heard.has_spoken() => heard.say(&format!("\n{line}"), live.listener),
                None => heard.say(line, live.listener),
                Some(kind) => {
                    if let Ok(value) = serde_json::from_str::<Value>(line) {
                        match kind {
                            ProgramKind::Claude => claude::read(&value, &mut heard, live.listener),
                            ProgramKind::Codex => codex::read(&value, &mut heard, live.listener),
                        }
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
        if kind.is_none() {
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

/// The login of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Login {
    /// A subscription: its calls are not billed.
    Subscription,
    /// An account that pays for each call.
    Account,
    /// No user is logged in.
    Nobody,
    /// The program does not report its login, or its report does not apply to our calls.
    Unsaid,
}

impl Program {
    /// The login as the program reports it, without calling a model. Ask only checked programs: another one may take the
    /// arguments for a prompt.
    pub fn login(&self) -> Login {
        match self.preset.map(|preset| preset.kind) {
            Some(ProgramKind::Claude) => {
                let said = json_in(&find::output(self, &["auth", "status"], None)).unwrap_or_default();
                let is_subscription = said["authMethod"] == "claude.ai" && said["subscriptionType"].is_string();
                match said["loggedIn"].as_bool() {
                    Some(true) if is_subscription => Login::Subscription,
                    Some(true) => Login::Account,
                    Some(false) => Login::Nobody,
                    None => Login::Unsaid,
                }
            }
            // The login does not cover calls paid with a key or by another provider.
            Some(ProgramKind::Codex) => {
                if !self.leading.is_empty() {
                    return Login::Unsaid;
                }
                let said = find::output(self, &["login", "status"], None);
                if said.contains("Logged in using ChatGPT") {
                    Login::Subscription
                } else if said.contains("Logged in") {
                    Login::Account
                } else if said.contains("Not logged in") {
                    Login::Nobody
                } else {
                    Login::Unsaid
                }
            }
            None => Login::Unsaid,
        }
    }

    fn arguments(&self, request: &Request, place: &Workplace) -> Vec<String> {
        let own = match self.preset.map(|preset| preset.kind) {
            Some(ProgramKind::Claude) => claude::arguments(request, place),
            Some(ProgramKind::Codex) => codex::arguments(request, place),
            None => return self.leading.iter().map(|one| one.replace("{model}", &request.model)).collect(),
        };
        self.leading.iter().cloned().chain(own).collect()
    }

    /// The variables that switch features off for every call.
    fn switched_off(&self) -> &'static [(&'static str, &'static str)] {
        match self.preset.map(|preset| preset.kind) {
            Some(ProgramKind::Claude) => claude::ENVIRONMENT,
            Some(ProgramKind::Codex) | None => &[],
        }
    }

    /// The environment of a call: also switched-off features, and the output limit of claude.
    fn environment_of(&self, request: &Request) -> Vec<(String, SecretString)> {
        let is_claude = self.preset.is_some_and(|preset| preset.kind == ProgramKind::Claude);
        let limit = request.max_tokens.filter(|_| is_claude);
        let limit = limit.map(|limit| (claude::OUTPUT_LIMIT.to_owned(), limit.to_string().into()));
        let fixed = self.switched_off().iter().map(|(name, value)| ((*name).to_owned(), (*value).into()));
        self.environment.iter().cloned().chain(fixed).chain(limit).collect()
    }
}

/// The JSON object between the first and last brace of a text.
fn json_in(text: &str) -> Option<Value> {
    let (start, end) = (text.find('{')?, text.rfind('}')?);
    serde_json::from_str(text.get(start..=end)?).ok()
}

fn text_at(value: &Value, pointer: &str) -> Option<String> {
    value.pointer(pointer)?.as_str().map(str::to_owned)
}

fn count(value: &Value, key: &str) -> Option<u64> {
    value[key].as_u64()
}
