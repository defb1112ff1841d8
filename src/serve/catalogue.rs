//! The list of saved debates, cached until their files change, and the responses that describe a debate.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use dialectic_base::money::Usd;
use dialectic_base::sanitize::one_line;
use dialectic_record::debate::{AnswerState, Debate, Status};
use dialectic_record::ids::{DebateId, Timestamp};
use dialectic_record::settings::Settings;
use dialectic_record::store::{AccessMode, Directory, Entry, StateFileError, StoreError, read_state};

use super::problem::ProblemDetails;
use super::registry::{RunRegistry, Whereabouts};
use crate::status::{OpenRequest, open_requests};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "Standing")]
pub(super) enum DebateStanding {
    /// The debate is waiting for a slot on this server.
    Waiting,
    /// The debate is running, on this server or in another process.
    Running,
    /// The debate is waiting for answers to its agents' questions.
    Asking,
    /// The debate is paused, or is not running and has open questions.
    Paused,
    /// The process that ran the debate has ended; the debate can be resumed.
    Interrupted,
    /// The process that ran the debate has ended. The debate cannot be resumed, because an older version saved the
    /// debate without a journal.
    Unfinished,
    /// The debate has an answer.
    Completed,
    /// The debate ended without an answer.
    Failed,
    /// The debate's files cannot be read.
    Unreadable,
}

/// A debate in the list of debates.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Summary")]
pub(super) struct DebateRow {
    pub(super) id: String,
    /// The judge's title, or the first sentence of the problem.
    pub(super) title: String,
    pub(super) status: DebateStanding,
    /// Whether the debate runs or waits on this server, which can then control it.
    pub(super) here: bool,
    /// The number of debates ahead of this one in the queue; absent if this one is not queued.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) before: Option<usize>,
    pub(super) protocol: Option<String>,
    /// The kind of outcome, such as `full` or `degraded`; null without an answer.
    pub(super) outcome: Option<&'static str>,
    /// How complete the run is, such as `complete` or `incomplete: 2 critiques missing`; null until the debate has
    /// ended.
    pub(super) run: Option<String>,
    /// The requirements that the answer does not meet, and the points that it leaves open; null without an answer.
    #[schemars(with = "Option<serde_json::Value>")]
    pub(super) answer: Option<AnswerState>,
    /// `answer` in words.
    pub(super) answer_in_words: Option<String>,
    /// Whether the run is complete and the answer has no known fault.
    pub(super) clean: bool,
    /// Milliseconds from the start to the end, or to the last event so far.
    pub(super) took_ms: Option<u64>,
    /// The number of rounds so far.
    pub(super) rounds: usize,
    /// The judge's confidence in the answer, from 0 to 100.
    pub(super) confidence: Option<f64>,
    /// The cost so far in US dollars; null if unknown.
    pub(super) cost_usd: Option<f64>,
    /// The cost limit in US dollars; null without one.
    pub(super) limit_usd: Option<f64>,
    /// Whether all agents and the judge use the offline provider.
    pub(super) offline: bool,
    /// The model calls that wait for the host to reply; null if they cannot be read, or the debate has ended.
    pub(super) requests: Option<Vec<OpenRequest>>,
    /// The id of the winning agent; null if there is none.
    pub(super) winner: Option<String>,
    /// For a fork, the id of the original debate; otherwise absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) forked_from: Option<String>,
    #[schemars(with = "Option<String>")]
    pub(super) created_at: Option<Timestamp>,
    #[schemars(with = "Option<String>")]
    pub(super) updated_at: Option<Timestamp>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct DebateListPage {
    /// The matching debates, newest first.
    pub(super) debates: Vec<DebateRow>,
    /// The number of matching debates on all pages.
    pub(super) total: usize,
}

/// A debate with its full state.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Debate")]
pub(super) struct DebateBody {
    /// The debate as it appears in the list.
    pub(super) summary: DebateRow,
    /// The agents' open questions.
    pub(super) questions: Vec<QuestionView>,
    /// The side of each agent, by agent id; empty unless the debate has sides.
    pub(super) sides: BTreeMap<String, &'static str>,
    /// The number of each agent, by agent id. Each agent's text has the same number: point `2.1` is against text 2.
    pub(super) numbers: BTreeMap<String, u32>,
    /// Why the debate failed; absent if it did not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) problem: Option<ProblemDetails>,
    /// Warnings about the debate's files.
    pub(super) warnings: Vec<String>,
    /// The content of the debate's state file, which `docs/record.md` describes.
    pub(super) state: Value,
}

/// An open question of one or more agents.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "OpenQuestion")]
pub(super) struct QuestionView {
    pub(super) agent_id: String,
    pub(super) agent_name: String,
    pub(super) question_id: String,
    pub(super) question: String,
    /// The pass in which the question was asked, counted from 1; absent in older records.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) pass: Option<u8>,
}

/// The judge's answer to a question about a debate.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct FollowUpAnswer {
    /// In Markdown.
    pub(super) answer: String,
}

/// A debate that runs or waits for a slot.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Started {
    pub(super) id: String,
    /// `running`, or `waiting` for a slot.
    pub(super) status: DebateStanding,
    pub(super) warnings: Vec<String>,
}

/// Filters for the list of debates.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Filter {
    /// Words that must all occur in the title or the id, ignoring case.
    pub(super) search: Option<String>,
    /// Only debates with this status.
    pub(super) status: Option<DebateStanding>,
    /// Only debates with this protocol.
    pub(super) protocol: Option<String>,
    /// The maximum number of debates: 50 by default, at most 1000.
    #[schemars(range(min = 1, max = 1000))]
    pub(super) limit: Option<u32>,
    /// The number of matches to skip.
    pub(super) skip: Option<u32>,
}

/// The modification time and length of a file, to detect that it changed; `None` if the file cannot be read.
type Stamp = Option<(SystemTime, u64)>;

pub(super) struct Catalogue {
    directory: Directory,
    known: Mutex<HashMap<String, (Stamp, Stamp, DebateRow)>>,
}

fn stamp(path: &Path) -> Stamp {
    let file = path.metadata().ok()?;
    Some((file.modified().ok()?, file.len()))
}

impl Catalogue {
    pub(super) fn of(directory: Directory) -> Self {
        Self { directory, known: Mutex::default() }
    }

    /// Lists the debates, newest first. Blocks while it rereads changed files.
    pub(super) fn rows(&self, registry: &RunRegistry) -> Result<Vec<DebateRow>, StoreError> {
        let entries = self.directory.entries()?;
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let mut before = std::mem::take(&mut *known);
        let mut rows = Vec::with_capacity(entries.len());
        for entry in entries {
            let id = entry.id();
            let state = stamp(&entry.state);
            // If there is a state file, the journal need not be checked: the state is saved after each stage, which is
            // recent enough for a list.
            let journal = if state.is_some() { None } else { entry.journal.as_deref().and_then(stamp) };
            let row = match before.remove(&id) {
                Some((of_state, of_journal, row)) if (of_state, of_journal) == (state, journal) => row,
                _ => read_row(&entry),
            };
            rows.push(now(row.clone(), &entry, registry));
            known.insert(id, (state, journal, row));
        }
        drop(known);
        rows.sort_by_key(|row| std::cmp::Reverse(row.created_at));
        Ok(rows)
    }
}

pub(super) fn row_of(debate: &Debate, entry: &Entry, registry: &RunRegistry) -> DebateRow {
    now(of_debate(&entry.id(), debate), entry, registry)
}

fn read_row(entry: &Entry) -> DebateRow {
    let state = match read_state(&entry.state) {
        Err(error @ StateFileError::Newer { .. }) => Err(error.into()),
        Ok(state) => Ok(state),
        Err(_) => entry.load(AccessMode::State).map(|saved| saved.debate),
    };
    match state {
        Ok(debate) => of_debate(&entry.id(), &debate),
        Err(error) => DebateRow {
            title: one_line(&error.to_string()),
            status: DebateStanding::Unreadable,
            ..of_debate(&entry.id(), &Debate::default())
        },
    }
}

fn of_debate(id: &str, debate: &Debate) -> DebateRow {
    let settings = debate.settings.as_ref();
    let is_over = matches!(debate.status, Status::Completed | Status::Failed);
    let answer = debate.answer_state();
    DebateRow {
        id: id.to_owned(),
        title: one_line(&debate.title()),
        status: match debate.status {
            // `now` corrects this if the debate is still running.
            Status::Pending | Status::Running => DebateStanding::Interrupted,
            Status::Paused => DebateStanding::Paused,
            Status::Completed => DebateStanding::Completed,
            Status::Failed => DebateStanding::Failed,
        },
        here: false,
        before: None,
        protocol: settings.map(|settings| one_line(&settings.debate.protocol)),
        outcome: debate.outcome.as_ref().map(|outcome| outcome.kind.name()),
        run: is_over.then(|| one_line(&debate.run_in_words())),
        answer_in_words: answer.as_ref().map(|answer| one_line(&answer.to_string())),
        clean: debate.is_full() == Some(true) && answer.as_ref().is_some_and(AnswerState::is_clean),
        answer,
        took_ms: debate.took_ms(),
        rounds: debate.rounds.len(),
        confidence: debate.final_solution.as_ref().and_then(|solution| solution.confidence),
        cost_usd: debate.known_cost().map(Usd::dollars),
        limit_usd: settings.and_then(|settings| settings.debate.budget.max_cost_usd).map(Usd::dollars),
        offline: settings.is_some_and(Settings::is_offline),
        requests: None,
        winner: debate.winner().map(|winner| one_line(winner.agent_id.as_str())),
        forked_from: debate.forked_from.as_ref().map(|fork| one_line(fork.id.as_str())),
        created_at: debate.created_at,
        updated_at: debate.updated_at,
    }
}

/// Updates what may change while the state file does not: the debate's status and open requests, its place in the
/// queue, and whether this server runs or queues it.
fn now(mut row: DebateRow, entry: &Entry, registry: &RunRegistry) -> DebateRow {
    let id = DebateId::new(row.id.as_str());
    let is_paused = row.status == DebateStanding::Paused;
    if is_paused || row.status == DebateStanding::Interrupted {
        row.requests = open_requests(entry).ok();
    }
    match registry.whereabouts(&id) {
        Whereabouts::Running => {
            row.here = true;
            row.status = match row.status {
                DebateStanding::Completed | DebateStanding::Failed => row.status,
                _ if is_paused && registry.is_asking(&id) => DebateStanding::Asking,
                _ => DebateStanding::Running,
            };
        }
        Whereabouts::Waiting(before) => {
            (row.here, row.before, row.status) = (true, Some(before), DebateStanding::Waiting);
        }
        Whereabouts::Elsewhere => {
            let may_run = is_paused || row.status == DebateStanding::Interrupted;
            if may_run && entry.is_held() {
                row.status = DebateStanding::Running;
            } else if may_run && entry.journal.is_none() {
                row.status = DebateStanding::Unfinished;
            }
        }
    }
    row
}

/// Finds a saved debate. `id` comes from a client, so it must be a name, not a path.
pub(super) fn entry_of(directory: &Directory, id: &str) -> Result<Entry, ProblemDetails> {
    let is_name = !id.is_empty()
        && id.len() <= 128
        && !id.starts_with('.')
        && id.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
    let entry = Some(id).filter(|_| is_name).map(|id| Entry::of_state(&directory.state_path(&DebateId::new(id))));
    entry.filter(|entry| entry.journal.is_some() || entry.state.is_file()).ok_or_else(ProblemDetails::no_such_debate)
}
