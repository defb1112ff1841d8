//! The status of a saved debate, derived from its record and from the processes that hold it.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;

use dialectic_base::figures::{counted, list, named_cost};
use dialectic_base::money::Usd;
use dialectic_base::sanitize::one_line;
use dialectic_engine::runner::Runner;
use dialectic_record::debate::{
    AnswerState, CallStatus, Debate, DebateId, Outcome, Question, Settings, Span, StageId, Status, Timestamp, fold,
};
use dialectic_record::store::{AccessMode, Entry, SavedDebate, StoreError};

/// The exit code for a running debate, as in coreutils' `timeout`.
pub const STILL_RUNS: u8 = 124;
/// The exit code for a debate with questions, or requests to the host.
pub const ASKS: u8 = 7;
/// The exit code for a debate that can be resumed: `EX_TEMPFAIL` of BSD's `sysexits.h`.
pub const TRY_AGAIN: u8 = 75;

/// A saved debate with its whole journal, because the state file does not contain its calls.
///
/// # Errors
/// It cannot be read.
pub fn load(entry: &Entry) -> Result<Debate, StoreError> {
    let SavedDebate { debate, events, warnings: _ } = entry.load(AccessMode::Events)?;
    let folded = fold(&events).ok().filter(|folded| folded.id == debate.id);
    Ok(folded.unwrap_or(debate))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Standing {
    /// A process is running the debate.
    Running,
    /// The debate is saved with open questions, or requests to the host.
    Asking,
    /// The debate is saved and can be resumed.
    Paused,
    /// The process died; the debate can be resumed.
    Interrupted,
    /// An older program left no journal to resume from.
    Unfinished,
    /// The debate has an answer.
    Completed,
    /// The debate ended without an answer.
    Failed,
}

/// Whether a process is working on a debate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Presence {
    is_held: bool,
    is_detached: bool,
}

impl Presence {
    pub fn of(entry: &Entry) -> Self {
        Self { is_held: entry.is_held(), is_detached: entry.is_detached() }
    }

    /// Whether there is a process.
    pub fn is_any(self) -> bool {
        self.is_held || self.is_detached
    }
}

impl Standing {
    /// Derives the status from the debate's files. A running debate without a process is interrupted.
    ///
    /// `before` is the presence before the files were read, since a process that ended in the meantime wrote more.
    pub fn of(entry: &Entry, debate: &Debate, before: Presence) -> Self {
        let now = Presence::of(entry);
        // A resumed run still has its old status on record, and a detached run ends when it pauses. A failed run that
        // has released its journal only has to write its report and run its hooks.
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
            Status::Paused if debate.open_questions().next().is_some() || is_host_asked(entry) => Self::Asking,
            Status::Paused => Self::Paused,
            Status::Pending | Status::Running if before.is_held || now.is_held => Self::Running,
            Status::Pending | Status::Running if is_host_asked(entry) => Self::Asking,
            Status::Pending | Status::Running if entry.journal.is_some() => Self::Interrupted,
            Status::Pending | Status::Running => Self::Unfinished,
        }
    }

    /// The name of the status in lists and reports, where a debate with open questions counts as paused, as in its
    /// state file.
    pub(crate) fn listed(entry: &Entry, debate: &Debate) -> &'static str {
        match Self::of(entry, debate, Presence::default()) {
            Self::Asking => Self::Paused.name(),
            standing => standing.name(),
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Asking => "asking",
            Self::Paused => "paused",
            Self::Interrupted => "interrupted",
            Self::Unfinished => "unfinished",
            Self::Completed => "completed",
            Self::Failed => "failed",
        }
    }

    /// The exit code of a process that waited for it.
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
    /// The question's id in answers: `q1`.
    pub id: String,
    /// The names of the agents that ask.
    pub from: Vec<String>,
    pub question: String,
    /// The pass in which it was asked, from 1; unknown in older records.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pass: Option<u8>,
}

impl OpenQuestion {
    /// The id with the agents that ask, and a follow-up's pass: `q5, pass 2, from The kiss (kiss)`.
    pub fn heading(&self) -> String {
        let pass = self.pass.filter(|pass| *pass > 1).map(|pass| format!(", pass {pass}")).unwrap_or_default();
        format!("{}{pass}, from {}", self.id, list(&self.from))
    }
}

/// A request that waits for the host, without its text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct OpenRequest {
    /// The id within the debate.
    pub id: String,
    /// The agent that is asked, and the text that it should write.
    pub about: String,
}

/// The requests that wait for the host.
///
/// # Errors
/// They cannot be read.
pub fn open_requests(entry: &Entry) -> Result<Vec<OpenRequest>, StoreError> {
    let open = entry.host_requests()?.requests.into_iter();
    Ok(open.map(|request| OpenRequest { about: one_line(&request.about()), id: request.id }).collect())
}

/// Whether requests wait for the host; also if that cannot be read, since `dialectic requests` repairs it.
fn is_host_asked(entry: &Entry) -> bool {
    entry.host_requests().map_or(true, |open| !open.requests.is_empty())
}

/// Whether a stop order is stored next to the record.
pub fn is_told_to_stop(entry: &Entry) -> bool {
    entry.stop_path().symlink_metadata().is_ok()
}

/// Whether it is worth waiting for a debate: a process works on it, and either it is stopping, or it has not yet opened
/// all of its requests to the host.
pub fn is_worth_waiting(entry: &Entry) -> bool {
    let is_all_shown = || entry.host_requests().is_ok_and(|open| open.is_complete && !open.requests.is_empty());
    entry.is_at_work() && (is_told_to_stop(entry) || !is_all_shown())
}

/// The number of a debate's calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CallCount {
    /// Calls that reached a model.
    pub done: u64,
    /// Calls that failed.
    pub failed: usize,
    /// All calls, including certain future ones; absent if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub planned: Option<u64>,
    /// All calls, including possible future ones; absent if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub planned_at_most: Option<u64>,
}

impl CallCount {
    /// `9 of 25 to 30 calls`
    pub fn in_words(&self) -> String {
        match self.planned.zip(self.planned_at_most) {
            Some((low, high)) => format!("{} of {}", self.done, Span { low, high }.counted("call")),
            None => counted(self.done, "call"),
        }
    }
}

/// The paths of a debate's files, including missing ones.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Paths {
    pub state: PathBuf,
    /// The journal; absent for older debates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub journal: Option<PathBuf>,
    pub log: PathBuf,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DebateStatus {
    pub id: DebateId,
    pub title: String,
    pub status: Standing,
    /// The exit code of `wait`.
    pub exit_code: u8,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stage: Option<StageId>,
    /// The current round; 0 before the first.
    pub round: u32,
    /// The maximum number of rounds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rounds: Option<u32>,
    pub calls: CallCount,
    /// The cost in dollars; null if unknown.
    pub cost_usd: Option<f64>,
    /// The cost in words.
    #[serde(skip)]
    pub cost: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_cost_usd: Option<f64>,
    pub questions: Vec<OpenQuestion>,
    pub requests: Vec<OpenRequest>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
    /// Whether the run is complete, in words, once it has ended.
    #[serde(skip)]
    pub run: Option<String>,
    /// What the answer leaves unmet or open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<AnswerState>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Whether the debate was told to stop and is still running.
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

/// The open questions of a debate, each once.
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

/// The names of the agents that ask a question.
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
    /// `round 1 of 3, critique: 4 of 31 calls`
    pub fn progress(&self) -> String {
        let place = match (&self.stage, self.rounds) {
            (Some(stage), Some(rounds)) if self.round > 0 => format!("round {} of {rounds}, {stage}: ", self.round),
            (Some(stage), _) => format!("{stage}: "),
            (None, _) => String::new(),
        };
        place + &self.calls.in_words()
    }

    /// The status of the debate at `entry`. `runner` computes the remaining calls.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn of(entry: &Entry, runner: &Runner) -> Result<Self, StoreError> {
        let before = Presence::of(entry);
        let debate = load(entry)?;
        Self::from_record(entry, &debate, before, runner)
    }

    /// Like [`of`](Self::of), for a record that was already read; `before` is the presence before it was read.
    ///
    /// # Errors
    /// The requests to the host cannot be read.
    pub fn from_record(entry: &Entry, debate: &Debate, before: Presence, runner: &Runner) -> Result<Self, StoreError> {
        let rest = runner.forecast_rest(debate).map(|rest| rest.count());
        let status = Standing::of(entry, debate, before);
        let done = debate.total_usage().requests;
        let failed = debate.settled.values().filter(|settled| **settled == CallStatus::Failed).count();
        let is_over = matches!(status, Standing::Completed | Standing::Failed);
        let rest = if is_over { Some(Span::default()) } else { rest };
        let [planned, planned_at_most] = [rest.map(|rest| done + rest.low), rest.map(|rest| done + rest.high)];
        Ok(Self {
            id: debate.id.clone(),
            title: debate.title().into_owned(),
            status,
            exit_code: status.exit_code(),
            stage: debate.current_stage,
            round: debate.current_round,
            rounds: debate.settings.as_ref().map(|settings| settings.debate.rounds),
            calls: CallCount { done, failed, planned, planned_at_most },
            cost_usd: debate.total_cost().map(Usd::dollars),
            cost: debate.total_usage().cost_in_words(named_cost(debate.total_cost())),
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
