//! Models called through a command-line program: each call starts the program, writes the prompt to its standard input
//! and reads its output.
//!
//! The program must act as a plain model: it starts in an empty directory, without the user's settings, keys, servers
//! and tools, and a call that uses a tool fails. `docs/models.md` lists what cannot be prevented.

mod claude;
mod codex;
mod find;
mod gemini;
mod limits;
mod opencode;
mod own;
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
pub const CONCURRENCY: u32 = 2;
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
    /// The arguments before ours; for the user's own program, all but the output limit.
    pub leading: Vec<String>,
    /// The complete environment.
    pub environment: Vec<(String, SecretString)>,
    /// The keys in its environment, which errors never show.
    pub secrets: Vec<SecretString>,
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
    /// The models of `program`, whose version was already checked.
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
            environment: program.environment_of(request, &place),
            directory: &place.work(),
            input: prompt::text(request, kind.is_none()),
            idle: live.timeouts.idle,
        };
        let mut heard = Transcript::default();
        let (mut printed, mut untried) = (String::new(), None);
        let is_json = program.prints_json();
        let exit = process::run(&invocation, |line| {
            if kind.is_none() && is_json {
                printed.push_str(line);
                printed.push('\n');
            } else if kind.is_none() {
                own::read_line(line, &mut heard, live.listener);
            } else if let Ok(value) = serde_json::from_str::<Value>(line) {
                read(kind, &value, &mut heard, live.listener);
            }
            if heard.is_overage {
                self.is_overage.store(true, Ordering::Relaxed);
            }
            untried = untried.take().or_else(|| program.check(heard.version.as_deref()?).err());
            if heard.is_over || heard.tool.is_some() || untried.is_some() {
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
        if let Some(fault) = untried {
            // The program already had the prompt.
            return Err(FailedAttempt { may_be_billed: true, ..unsendable(&fault).into() });
        }
        if kind.is_none() {
            if exit.is_whole && exit.code == Some(0) || is_json && !printed.trim().is_empty() {
                own::conclude(&printed, &program.settings, &mut heard);
            }
        } else if !heard.is_complete
            && let Some(value) = json_in(&exit.complaint)
        {
            read(kind, &value, &mut heard, live.listener);
        }
        heard.conclude(&exit, &program.secrets)
    }

    /// Checks the program's version again if its file has changed: programs are updated while debates run.
    async fn check_again(&self) -> Result<(), ModelError> {
        let now = Stamp::of(&self.program.executable);
        let checked = || self.checked.lock().unwrap_or_else(PoisonError::into_inner);
        if *checked() == now {
            return Ok(());
        }
        let program = self.program.clone();
        let found = tokio::task::spawn_blocking(move || program.check_version()).await;
        let died =
            |_| ModelError::Unsendable { message: "the program failed while its version was checked".to_owned() };
        found.map_err(died)?.map_err(|fault| unsendable(&fault))?;
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
        Some((&self.bound, self.program.settings.concurrency.unwrap_or(CONCURRENCY) as usize))
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
    /// The login as the program reports it, without calling a model. Ask only tested versions: another one may take the
    /// arguments for a prompt.
    pub fn login(&self) -> Login {
        match self.preset.map(|preset| preset.kind) {
            Some(ProgramKind::Claude) => {
                let said = json_in(&find::output(self, &["auth", "status"])).unwrap_or_default();
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
                if !self.leading.is_empty() || self.settings.env.set.keys().any(|name| name != "CODEX_HOME") {
                    return Login::Unsaid;
                }
                let said = find::output(self, &["login", "status"]);
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
            Some(ProgramKind::Opencode | ProgramKind::Gemini) | None => Login::Unsaid,
        }
    }

    fn prints_json(&self) -> bool {
        self.settings.output == Some(dialectic_base::program::ProgramOutput::Json)
    }

    fn arguments(&self, request: &Request, place: &Workplace) -> Vec<String> {
        let own = match self.preset.map(|preset| preset.kind) {
            Some(ProgramKind::Claude) => claude::arguments(request, place),
            Some(ProgramKind::Codex) => codex::arguments(request, place),
            Some(ProgramKind::Opencode) => opencode::arguments(request, place),
            Some(ProgramKind::Gemini) => gemini::arguments(request, place),
            None => return own::arguments(&self.leading, &self.settings, request),
        };
        self.leading.iter().cloned().chain(own).collect()
    }

    /// The variables that switch features off for every call.
    fn switched_off(&self) -> &'static [(&'static str, &'static str)] {
        match self.preset.map(|preset| preset.kind) {
            Some(ProgramKind::Claude) => claude::ENVIRONMENT,
            Some(ProgramKind::Codex) => codex::ENVIRONMENT,
            Some(ProgramKind::Opencode) => opencode::ENVIRONMENT,
            Some(ProgramKind::Gemini) => gemini::ENVIRONMENT,
            None => &[],
        }
    }

    /// Additional environment: switched-off features, and writable directories.
    fn environment_of(&self, request: &Request, place: &Workplace) -> Vec<(String, SecretString)> {
        let shown = |path: PathBuf| path.display().to_string();
        let of_call: Vec<(&str, String)> = match self.preset.map(|preset| preset.kind) {
            Some(ProgramKind::Claude) => {
                let limit = request.max_tokens.map(|limit| (claude::OUTPUT_LIMIT, limit.to_string()));
                limit.into_iter().collect()
            }
            Some(ProgramKind::Opencode) => {
                let configuration = (opencode::CONFIGURATION, opencode::configuration(request));
                vec![configuration, ("XDG_CONFIG_HOME", shown(place.home()))]
            }
            Some(ProgramKind::Gemini) => {
                vec![(gemini::HOME, shown(place.home())), (gemini::SYSTEM, shown(place.system()))]
            }
            Some(ProgramKind::Codex) | None => Vec::new(),
        };
        let fixed = self.switched_off().iter().map(|(name, value)| (*name, (*value).to_owned()));
        let added = fixed.chain(of_call).map(|(name, value)| (name.to_owned(), SecretString::from(value)));
        self.environment.iter().cloned().chain(added).collect()
    }
}

fn unsendable(fault: &ProgramFault) -> ModelError {
    ModelError::Unsendable { message: fault.to_string() }
}

fn read(kind: Option<ProgramKind>, line: &Value, heard: &mut Transcript, listener: &dyn crate::Listener) {
    match kind {
        Some(ProgramKind::Claude) => claude::read(line, heard, listener),
        Some(ProgramKind::Codex) => codex::read(line, heard, listener),
        Some(ProgramKind::Opencode) => opencode::read(line, heard, listener),
        Some(ProgramKind::Gemini) => gemini::read(line, heard, listener),
        None => {}
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
