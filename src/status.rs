//! The status of a saved debate, derived from its record and from whether a process is working on it.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;

use dialectic_base::call::is_default;
use dialectic_base::figures::{counted, list, named_cost};
use dialectic_base::money::Usd;
use dialectic_base::named;
use dialectic_base::sanitize::one_line;
use dialectic_engine::runner::Runner;
use dialectic_record::debate::{AnswerState, Debate, Outcome, Question, Status};
use dialectic_record::event::fold;
use dialectic_record::ids::{CallStatus, StageId, Timestamp};
use dialectic_record::live::Span;
use dialectic_record::settings::Settings;
use dialectic_record::store::{AccessMode, Entry, SavedDebate, StoreError};

/// The exit code if the debate is still running. Coreutils' `timeout` exits with the same code when the time is up.
pub const STILL_RUNS: u8 = 124;
/// The exit code if the debate is waiting for answers to its questions or for the host's replies.
pub const ASKS: u8 = 7;
/// The exit code for a run that is incomplete or whose answer leaves something unmet or open.
pub const UNCLEAN: u8 = 5;
/// The exit code if a later attempt may succeed, for example by resuming the debate. BSD's `sysexits.h` calls it
/// `EX_TEMPFAIL`.
pub const TRY_AGAIN: u8 = 75;

/// Whether a debate that has ended exits with [`UNCLEAN`]: a review must not pass if some of its agents failed.
pub fn is_unclean(debate: &Debate, is_strict: bool) -> bool {
    (is_strict && !debate.is_clean()) || (debate.change.is_some() && debate.is_full() != Some(true))
}

/// Loads a debate from its journal if possible, because the state file lacks the status of each call.
///
/// # Errors
///
/// Returns an error if the debate cannot be read.
pub fn load(entry: &Entry) -> Result<Debate, StoreError> {
    let SavedDebate { debate, events, warnings: _ } = entry.load(AccessMode::Events)?;
    let folded = fold(&events).ok().filter(|folded| folded.id == debate.id);
    Ok(folded.unwrap_or(debate))
}

named! {
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
    pub enum Standing {
        Running = "running",
        /// The debate is waiting for answers to its questions or for the host's replies.
        Asking = "asking",
        Paused = "paused",
        Completed = "completed",
        /// The debate ended without an answer.
        Failed = "failed",
        /// The process died without pausing the debate. The debate can be resumed.
        Interrupted = "interrupted",
        /// The debate cannot be resumed, because an older version saved the debate without a journal.
        Unfinished = "unfinished",
    }
}

/// Which of a debate's locks are held. A process that works on the debate locks the journal and, if the process is
/// detached, the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Presence {
    is_held: bool,
    is_detached: bool,
}

impl Presence {
    pub fn of(entry: &Entry) -> Self {
        Self { is_held: entry.is_held(), is_detached: entry.is_detached() }
    }

    pub fn is_any(self) -> bool {
        self.is_held || self.is_detached
    }
}

impl Standing {
    /// `before` must be taken before `debate` is read: a process that ended in between may have written more.
    pub fn of(entry: &Entry, debate: &Debate, before: Presence) -> Self {
        let now = Presence::of(entry);
        // A resumed debate keeps its old status until the run records a new one, so a paused or failed debate may be
        // running. If a failed debate's journal is not locked, its process is only writing the report or running hooks.
        let may_run = match debate.status {
            Status::Completed => false,
            Status::Failed => now.is_held,
            Status::Pending | Status::Running | Status::Paused => true,
        };
        if may_run && (before.is_detached || now.is_detached) {
            return Self::Running;
        }
        match debate.status {
            Status::Completed => Self::Completed,
            Status::Failed => Self::Failed,
            _ if entry.journal.is_none() => Self::Unfinished,
            Status::Paused if debate.open_questions().next().is_some() || is_host_asked(entry) => Self::Asking,
            Status::Paused => Self::Paused,
            Status::Pending | Status::Running if before.is_held || now.is_held => Self::Running,
            Status::Pending | Status::Running if is_host_asked(entry) => Self::Asking,
            Status::Pending | Status::Running => Self::Interrupted,
        }
    }

    /// The name for lists and reports.
    pub(crate) fn listed(entry: &Entry, debate: &Debate) -> &'static str {
        Self::of(entry, debate, Presence::default()).name()
    }

    /// The exit code of a command that waited for the debate.
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Completed => 0,
            Self::Failed => 3,
            Self::Asking => ASKS,
            Self::Paused | Self::Interrupted | Self::Unfinished => TRY_AGAIN,
            Self::Running => STILL_RUNS,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OpenQuestion {
    /// For example, `q1`.
    pub id: String,
    /// The agents that ask, as `name (role)`.
    pub from: Vec<String>,
    pub question: String,
    /// The pass in which the question was asked, counting from 1. `None` in older records.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pass: Option<u8>,
}

impl OpenQuestion {
    /// For example, `q5, pass 2, from The kiss (kiss)`. Omits the pass if it is the first.
    pub fn heading(&self) -> String {
        let pass = self.pass.filter(|pass| *pass > 1).map(|pass| format!(", pass {pass}")).unwrap_or_default();
        format!("{}{pass}, from {}", self.id, list(&self.from))
    }
}

/// A request to the host that has no reply yet, without its text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct OpenRequest {
    /// The request's id, unique within the debate.
    pub id: String,
    /// Which agent should write what.
    pub about: String,
}

/// The requests to the host that have no reply yet.
///
/// # Errors
///
/// Returns an error if the requests cannot be read.
pub fn open_requests(entry: &Entry) -> Result<Vec<OpenRequest>, StoreError> {
    let open = entry.host_requests()?.requests.into_iter();
    Ok(open.map(|request| OpenRequest { about: one_line(&request.about()), id: request.id }).collect())
}

/// Whether the debate waits for the host's replies. Also true if the requests cannot be read: `dialectic requests` then
/// resumes the debate, which opens the requests again.
fn is_host_asked(entry: &Entry) -> bool {
    entry.host_requests().map_or(true, |open| !open.requests.is_empty())
}

pub fn is_told_to_stop(entry: &Entry) -> bool {
    entry.stop_path().symlink_metadata().is_ok()
}

/// Whether the debate may change without the user. False if no process is working on the debate, or if the debate has
/// opened all its requests to the host and was not told to stop.
pub fn is_worth_waiting(entry: &Entry) -> bool {
    let is_all_shown = || entry.host_requests().is_ok_and(|open| open.is_complete && !open.requests.is_empty());
    entry.is_at_work() && (is_told_to_stop(entry) || !is_all_shown())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CallCount {
    /// Calls that reached a model.
    pub done: u64,
    pub failed: usize,
    /// The minimum total: `done` and the calls that are certain to come. `None` if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub planned: Option<u64>,
    /// The maximum total: `done` and every call that may still come. `None` if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub planned_at_most: Option<u64>,
}

impl CallCount {
    /// For example, `9 of 25 to 30 calls`.
    pub fn in_words(&self) -> String {
        match self.planned.zip(self.planned_at_most) {
            Some((low, high)) => format!("{} of {}", self.done, Span { low, high }.counted("call")),
            None => counted(self.done, "call"),
        }
    }
}

/// The absolute paths of a debate's files, which need not exist.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Paths {
    pub state: PathBuf,
    /// `None` for a debate without a journal, which only the TypeScript version saved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub journal: Option<PathBuf>,
    pub log: PathBuf,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DebateStatus {
    /// The name of the state file, by which commands find the debate.
    pub id: String,
    pub title: String,
    pub status: Standing,
    /// The exit code of `dialectic wait`.
    pub exit_code: u8,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stage: Option<StageId>,
    /// 0 before the first round.
    pub round: u32,
    /// The maximum number of rounds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rounds: Option<u32>,
    pub calls: CallCount,
    /// Null if unknown.
    pub cost_usd: Option<f64>,
    /// Whether the host answered some of the calls, which `costUsd` does not include.
    #[serde(skip_serializing_if = "is_default")]
    pub hosted: bool,
    #[serde(skip)]
    pub cost: String,
    pub offline: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_cost_usd: Option<f64>,
    pub questions: Vec<OpenQuestion>,
    pub requests: Vec<OpenRequest>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
    /// How complete the run was, in words. `None` until it ends.
    #[serde(skip)]
    pub run: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<AnswerState>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Whether the debate was told to stop but has not ended yet.
    pub stopping: bool,
    pub paths: Paths,
    #[serde(skip)]
    pub created_at: Option<Timestamp>,
    /// The time of the last event.
    #[serde(skip)]
    pub updated_at: Option<Timestamp>,
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// Lists a question only once, even if more than one agent asks it.
pub fn open_questions(debate: &Debate) -> Vec<OpenQuestion> {
    let open = debate.questions().into_iter().filter(|question| question.answer.is_empty());
    let shown = open.map(|question| OpenQuestion {
        id: format!("q{}", question.number),
        from: askers(&question),
        question: question.text.to_owned(),
        pass: question.pass,
    });
    shown.collect()
}

pub fn askers(question: &Question<'_>) -> Vec<String> {
    let mut from: Vec<String> = Vec::new();
    for (group, _) in &question.items {
        let name = one_line(&format!("{} ({})", group.agent_name, group.role));
        if !from.contains(&name) {
            from.push(name);
        }
    }
    from
}

impl DebateStatus {
    /// For example, `round 1 of 3, critique: 4 of 31 calls`.
    pub fn progress(&self) -> String {
        let place = match (&self.stage, self.rounds) {
            (Some(stage), Some(rounds)) if self.round > 0 => format!("round {} of {rounds}, {stage}: ", self.round),
            (Some(stage), _) => format!("{stage}: "),
            (None, _) => String::new(),
        };
        place + &self.calls.in_words()
    }

    /// Reads the debate's status. `runner` estimates the remaining calls.
    ///
    /// # Errors
    ///
    /// Returns an error if the debate cannot be read.
    pub fn of(entry: &Entry, runner: &Runner) -> Result<Self, StoreError> {
        let before = Presence::of(entry);
        let debate = load(entry)?;
        Self::from_record(entry, &debate, before, runner)
    }

    /// Like [`of`](Self::of), for a debate that was already read. `before` must be taken before reading it.
    ///
    /// # Errors
    ///
    /// Returns an error if the requests to the host cannot be read.
    pub fn from_record(entry: &Entry, debate: &Debate, before: Presence, runner: &Runner) -> Result<Self, StoreError> {
        let rest = runner.forecast_rest(debate).map(|rest| rest.count());
        let status = Standing::of(entry, debate, before);
        let (spent, cost) = (debate.total_usage(), debate.known_cost());
        let done = spent.requests;
        let failed = debate.settled.values().filter(|settled| **settled == CallStatus::Failed).count();
        let is_over = matches!(status, Standing::Completed | Standing::Failed);
        let is_known = done > 0 || cost.is_some();
        let rest = if is_over { Some(Span::default()) } else { rest }.filter(|_| is_known);
        let [planned, planned_at_most] = [rest.map(|rest| done + rest.low), rest.map(|rest| done + rest.high)];
        Ok(Self {
            id: entry.id(),
            title: debate.title().into_owned(),
            status,
            exit_code: if status == Standing::Completed && is_unclean(debate, false) {
                UNCLEAN
            } else {
                status.exit_code()
            },
            stage: debate.current_stage,
            round: debate.current_round,
            rounds: debate.settings.as_ref().map(|settings| settings.debate.rounds),
            calls: CallCount { done, failed, planned, planned_at_most },
            cost_usd: cost.map(Usd::dollars),
            hosted: spent.hosted,
            cost: spent.cost_in_words(named_cost(cost)),
            offline: debate.is_offline(),
            max_cost_usd: debate.settings.as_ref().and_then(Settings::max_cost).map(Usd::dollars),
            questions: open_questions(debate),
            requests: if is_over { Vec::new() } else { open_requests(entry)? },
            outcome: debate.outcome.clone(),
            run: debate.outcome.as_ref().map(|_| debate.run_in_words()),
            answer: debate.answer_state(),
            error: debate.error.clone(),
            stopping: !is_over && is_told_to_stop(entry),
            paths: Paths {
                state: absolute(&entry.state),
                journal: entry.journal.as_deref().map(absolute),
                log: absolute(&entry.log_path()),
            },
            created_at: debate.created_at,
            updated_at: debate.updated_at,
        })
    }
}
