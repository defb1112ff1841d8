//! The results of a set of debates, in the plan's order. They depend only on the plan and its finished debates, not on
//! clocks, attempts or the distribution of the work.

use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;

use csv::{IntoInnerError, WriterBuilder};
use futures_util::stream::{self, StreamExt, TryStreamExt};
use serde::Serialize;

use dialectic_base::money::Usd;
use dialectic_record::debate::{Debate, OutcomeKind, Status};
use dialectic_record::ids::DebateId;
use dialectic_record::store::{Directory, Entry, JournalError, Readers, Record, StoreError, write_atomically};

use super::plan::{PlannedDebate, SavedPlan};
use super::segment::{SegmentError, Stored, check_set};
use super::store::{AT_ONCE, Store};
use crate::error::{Error, in_full};

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Row {
    pub id: DebateId,
    pub problem: String,
    pub variant: String,
    /// Numbers the debates of the same problem and variant, from 1.
    pub repeat: u32,
    pub protocol: &'static str,
    pub outcome: Option<OutcomeKind>,
    /// Why the outcome is not `full`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<String>,
    /// Whether the answer is right; `None` if no program can check it, or no model was called.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub correct: Option<bool>,
    /// From 0 to 100.
    pub confidence: Option<f64>,
    pub rounds: u32,
    pub input_tokens: u64,
    pub output_tokens: u64,
    /// `None` if a price is unknown.
    pub cost_usd: Option<Usd>,
    pub title: Option<String>,
    /// In Markdown.
    pub answer: Option<String>,
}

/// Reads the results of the finished debates, in the plan's order.
///
/// # Errors
///
/// Returns an error if the store cannot be read, belongs to another set, or contains a damaged debate.
pub async fn read_rows(plan: &SavedPlan, store: &dyn Store) -> Result<Vec<Row>, SegmentError> {
    check_set(plan, store).await?;
    let row = async |planned: &PlannedDebate| {
        let debate = Stored::read(store, &planned.id).await?.debate(store, &planned.id)?;
        let finished = debate.filter(|(debate, _)| debate.status == Status::Completed);
        Ok::<_, SegmentError>(finished.map(|(debate, _)| Row::of(planned, &debate)))
    };
    let rows = stream::iter(&plan.plan.debates).map(row).buffered(AT_ONCE);
    let rows: Vec<Option<Row>> = Box::pin(rows).try_collect().await?;
    Ok(rows.into_iter().flatten().collect())
}

pub fn jsonl(rows: &[Row]) -> Vec<u8> {
    let mut lines = Vec::new();
    for row in rows {
        // Writing to memory does not fail.
        let _ = serde_json::to_writer(&mut lines, row);
        lines.push(b'\n');
    }
    lines
}

/// A table of the results, without the answers.
///
/// # Errors
///
/// Never fails in practice, because the table is written to memory.
pub fn csv(rows: &[Row]) -> std::io::Result<Vec<u8>> {
    let mut writer = WriterBuilder::new().from_writer(Vec::new());
    writer.write_record(COLUMNS)?;
    for row in rows {
        let Row { id, problem, variant, repeat, protocol, outcome, reasons, correct, .. } = row;
        let Row { confidence, rounds, input_tokens, output_tokens, cost_usd, title, answer: _, .. } = row;
        let or_empty = |value: Option<String>| value.unwrap_or_default();
        writer.write_record([
            id.as_str(),
            &harmless(problem),
            &harmless(variant),
            &repeat.to_string(),
            protocol,
            outcome.map(OutcomeKind::name).unwrap_or_default(),
            &harmless(&reasons.join("; ")),
            &or_empty(correct.map(|correct| correct.to_string())),
            &or_empty(confidence.map(|confidence| confidence.to_string())),
            &rounds.to_string(),
            &input_tokens.to_string(),
            &output_tokens.to_string(),
            &or_empty(cost_usd.map(|cost| cost.dollars().to_string())),
            &harmless(title.as_deref().unwrap_or_default()),
        ])?;
    }
    writer.into_inner().map_err(IntoInnerError::into_error)
}

const COLUMNS: [&str; 14] = [
    "id",
    "problem",
    "variant",
    "repeat",
    "protocol",
    "outcome",
    "reasons",
    "correct",
    "confidence",
    "rounds",
    "inputTokens",
    "outputTokens",
    "costUsd",
    "title",
];

/// Models write some of the text, so escape what a spreadsheet would run as a formula.
fn harmless(text: &str) -> String {
    let is_formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']);
    if is_formula { format!("'{text}") } else { text.to_owned() }
}

impl Row {
    fn of(planned: &PlannedDebate, debate: &Debate) -> Self {
        let solution = debate.final_solution.as_ref();
        let answer = solution.map(|solution| solution.description.clone());
        let usage = debate.total_usage();
        let outcome = debate.outcome.as_ref();
        let right = planned.problem.answer.as_ref().filter(|_| !planned.variant.settings.is_offline());
        Self {
            id: planned.id.clone(),
            problem: planned.problem.id.clone(),
            variant: planned.variant.name.clone(),
            repeat: planned.repeat,
            protocol: planned.variant.protocol.name,
            outcome: outcome.map(|outcome| outcome.kind),
            reasons: outcome.map(|outcome| outcome.reasons.clone()).unwrap_or_default(),
            correct: right.map(|right| right.is_in(answer.as_deref().unwrap_or_default())),
            confidence: solution.and_then(|solution| solution.confidence),
            rounds: debate.current_round,
            input_tokens: usage.input_tokens,
            output_tokens: usage.output_tokens,
            cost_usd: usage.cost_usd,
            title: solution.and_then(|solution| solution.title.clone()),
            answer,
        }
    }
}

/// Writes the records of completed and failed debates to a directory. Returns the path of each debate's state file, or
/// `None` if the debate has not ended.
///
/// # Errors
///
/// Returns an error if the store cannot be read, belongs to another set or contains a damaged debate, or if the
/// directory cannot be written.
pub async fn write_records(
    plan: &SavedPlan,
    store: &dyn Store,
    directory: &Directory,
) -> Result<Vec<Option<PathBuf>>, Error> {
    check_set(plan, store).await?;
    let write = async |planned: &PlannedDebate| write_record(store, &planned.id, directory).await;
    Box::pin(stream::iter(&plan.plan.debates).map(write).buffered(AT_ONCE)).try_collect().await
}

/// Writes one debate's record. Replaces an existing record only if the store's journal continues that record's journal,
/// for example because a failed debate was resumed.
async fn write_record(store: &dyn Store, id: &DebateId, directory: &Directory) -> Result<Option<PathBuf>, Error> {
    let stored = Stored::read(store, id).await?;
    let is_over = |debate: &Debate| matches!(debate.status, Status::Completed | Status::Failed);
    let Some((debate, _)) = stored.debate(store, id)?.filter(|(debate, _)| is_over(debate)) else { return Ok(None) };
    let (state, path) = (directory.state_path(id), directory.journal_path(id));
    let before = match fs::read(&path) {
        Ok(before) => before,
        Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
        Err(source) => return Err(StoreError::from(JournalError::Read { path, source }).into()),
    };
    if stored.journal.len() <= before.len() || !stored.journal.starts_with(&before) {
        return Ok(Some(state));
    }
    directory.create()?;
    write_atomically(&path, Readers::Owner, |out| out.write_all(&stored.journal))?;
    let written = Record::reopen(&Entry::of_state(&state)).and_then(|(record, _)| record.write_state());
    written.map_err(|error| {
        // The new journal cannot be used, so restore the previous one.
        if before.is_empty() {
            drop(fs::remove_file(&path));
        } else {
            drop(write_atomically(&path, Readers::Owner, |out| out.write_all(&before)));
        }
        SegmentError::damaged(store, id, in_full(&error))
    })?;
    // `latest` orders debates whose ids contain no time by the time of their files.
    let created = debate.created_at.map(|time| time.utc().into());
    if let (Some(created), Ok(file)) = (created, fs::File::options().append(true).open(&state)) {
        drop(file.set_modified(created));
    }
    Ok(Some(state))
}
