//! The results of a set: a function of its plan and its finished debates, in the plan's order. Clocks, attempts,
//! workers and lost calls do not count, so the results do not depend on how the work was distributed.

use std::collections::BTreeMap;
use std::sync::Arc;

use csv::{IntoInnerError, WriterBuilder};
use futures_util::stream::{self, StreamExt, TryStreamExt};
use serde::Serialize;

use dialectic_base::money::Usd;
use dialectic_record::debate::{Debate, DebateId, OutcomeKind, Recorded, fold};

use super::group::{finished, left_out};
use super::plan::{Plan, PlannedArm, PlannedDebate, SavedPlan, Variant, label};
use super::segment::SegmentError;
use super::store::{AT_ONCE, Store};
use crate::lift::{Arm, Bill, Done, LeftOut};

/// The result of a debate.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Row {
    /// The debate.
    pub id: DebateId,
    /// The problem.
    pub problem: String,
    /// The variant.
    pub variant: String,
    /// The number among several equal debates, from 1.
    pub repeat: u32,
    /// The debate with whose arms it is compared, or its own id; absent if there are no arms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<DebateId>,
    /// The arm; absent if it is the debate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arm: Option<Arm>,
    /// The protocol.
    pub protocol: &'static str,
    /// Its outcome or status.
    pub outcome: Option<OutcomeKind>,
    /// Why its outcome is not full.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<String>,
    /// Whether its answer is right, if a program can check it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub correct: Option<bool>,
    /// The judge's confidence, from 0 to 100.
    pub confidence: Option<f64>,
    /// The number of its rounds.
    pub rounds: u32,
    /// Input tokens.
    pub input_tokens: u64,
    /// Output tokens.
    pub output_tokens: u64,
    /// The cost; absent if a price is unknown.
    pub cost_usd: Option<Usd>,
    /// The cost at list prices with cached input in full, to which arms are limited; absent without arms, or if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub full_cost_usd: Option<Usd>,
    /// The title.
    pub title: Option<String>,
    /// Its answer in Markdown.
    pub answer: Option<String>,
}

/// The results of a set.
#[derive(Debug, Clone, PartialEq)]
pub struct Collected {
    /// The results of finished debates, in the plan's order.
    pub rows: Vec<Row>,
    /// The number of unfinished debates.
    pub missing: usize,
}

/// Checks that a store, unless it is empty, belongs to this plan.
///
/// # Errors
/// It belongs to another plan, or cannot be read.
pub async fn check_set(plan: &SavedPlan, store: &dyn Store) -> Result<(), SegmentError> {
    let Some(bytes) = store.get("set").await? else { return Ok(()) };
    let set: BTreeMap<String, serde_json::Value> = serde_json::from_slice(&bytes).unwrap_or_default();
    let is_same = set.get("plan").is_some_and(|of| *of == plan.sha256);
    if is_same { Ok(()) } else { Err(SegmentError::OtherSet { place: store.place() }) }
}

/// The debate that a journal records.
pub(super) fn debate_of(store: &dyn Store, id: &DebateId, journal: &[u8]) -> Result<Debate, SegmentError> {
    Ok(events_of(store, id, journal)?.0)
}

/// The debate that a journal records, with its events.
pub(super) fn events_of(
    store: &dyn Store,
    id: &DebateId,
    journal: &[u8],
) -> Result<(Debate, Vec<Recorded>), SegmentError> {
    let damaged = |fault: String| SegmentError::damaged(store, id, fault);
    let lines = journal.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let events: Vec<Recorded> =
        lines.map(serde_json::from_slice).collect::<Result<_, _>>().map_err(|error| damaged(error.to_string()))?;
    let debate = fold(&events).map_err(|error| damaged(error.to_string()))?;
    if debate.id != *id {
        return Err(damaged(format!("it is the debate {}", debate.id)));
    }
    Ok((debate, events))
}

impl Collected {
    /// Reads the results of a plan's finished debates.
    ///
    /// # Errors
    /// The store cannot be read, belongs to another set, or contains a damaged debate.
    pub async fn read(plan: &SavedPlan, store: &dyn Store) -> Result<Self, SegmentError> {
        check_set(plan, store).await?;
        let read = |planned| Box::pin(Row::read(planned, store));
        let groups: Vec<Vec<Row>> = stream::iter(&plan.plan.debates).map(read).buffered(AT_ONCE).try_collect().await?;
        let rows: Vec<Row> = groups.into_iter().flatten().collect();
        let missing = plan.plan.records().count() - rows.len();
        Ok(Self { rows, missing })
    }

    /// A line of JSON for each result.
    pub fn jsonl(&self) -> Vec<u8> {
        let mut lines = Vec::new();
        for row in &self.rows {
            // Writing to memory does not fail.
            let _ = serde_json::to_writer(&mut lines, row);
            lines.push(b'\n');
        }
        lines
    }

    /// A table with a row for each result, without answers.
    ///
    /// # Errors
    /// Never in practice: it is written to memory.
    pub fn csv(&self) -> std::io::Result<Vec<u8>> {
        let mut writer = WriterBuilder::new().from_writer(Vec::new());
        writer.write_record(COLUMNS)?;
        for row in &self.rows {
            let Row { id, problem, variant, repeat, protocol, outcome, reasons, correct, confidence, .. } = row;
            let Row {
                rounds, input_tokens, output_tokens, cost_usd, title, group, arm, full_cost_usd, answer: _, ..
            } = row;
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
                group.as_ref().map(DebateId::as_str).unwrap_or_default(),
                arm.map(|arm| arm.protocol().name).unwrap_or_default(),
                &or_empty(full_cost_usd.map(|cost| cost.dollars().to_string())),
            ])?;
        }
        writer.into_inner().map_err(IntoInnerError::into_error)
    }
}

/// The titles of the table's columns.
const COLUMNS: [&str; 17] = [
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
    "group",
    "arm",
    "fullCostUsd",
];

/// A text that no spreadsheet reads as a formula, since models write titles.
fn harmless(text: &str) -> String {
    let is_formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']);
    if is_formula { format!("'{text}") } else { text.to_owned() }
}

impl Row {
    /// The rows of a debate and its arms, as far as they are finished.
    async fn read(planned: &PlannedDebate, store: &dyn Store) -> Result<Vec<Self>, SegmentError> {
        let mut rows = Vec::new();
        let debate = finished(store, &planned.id).await?;
        rows.extend(debate.as_ref().map(|done| Self::of(planned, None, done)));
        let mut single = None;
        for arm in &planned.arms {
            match finished(store, &arm.id).await? {
                Some(done) => {
                    rows.push(Self::of(planned, Some(arm), &done));
                    single = single.or((arm.arm == Arm::Single).then_some(done));
                }
                None => rows.extend(
                    left_out(planned, arm, debate.as_ref(), single.as_ref())
                        .map(|why| Self::without(planned, arm, why)),
                ),
            }
        }
        Ok(rows)
    }

    /// The row of an arm that is left out.
    fn without(planned: &PlannedDebate, arm: &PlannedArm, why: LeftOut) -> Self {
        let nothing = Done { debate: Debate::default(), bill: Bill::default() };
        Self { reasons: vec![format!("left out: {why}")], correct: None, ..Self::of(planned, Some(arm), &nothing) }
    }

    fn of(planned: &PlannedDebate, arm: Option<&PlannedArm>, done: &Done) -> Self {
        let Done { debate, bill } = done;
        let solution = debate.final_solution.as_ref();
        let answer = solution.map(|solution| solution.description.clone());
        let usage = debate.total_usage();
        let outcome = debate.outcome.as_ref();
        let right = planned.problem.answer.as_ref();
        let reasons = outcome.map(|outcome| outcome.reasons.clone()).unwrap_or_default();
        Self {
            id: arm.map_or(&planned.id, |arm| &arm.id).clone(),
            problem: planned.problem.id.clone(),
            variant: planned.variant.name.clone(),
            repeat: planned.repeat,
            group: (!planned.arms.is_empty()).then(|| planned.id.clone()),
            arm: arm.map(|arm| arm.arm),
            protocol: arm.map_or(planned.variant.protocol, |arm| arm.arm.protocol()).name,
            outcome: outcome.map(|outcome| outcome.kind),
            reasons,
            correct: right.map(|right| right.is_in(answer.as_deref().unwrap_or_default())),
            confidence: solution.and_then(|solution| solution.confidence),
            rounds: debate.current_round,
            input_tokens: usage.input_tokens,
            output_tokens: usage.output_tokens,
            cost_usd: usage.cost_usd,
            full_cost_usd: bill.full().filter(|_| !planned.arms.is_empty()),
            title: solution.and_then(|solution| solution.title.clone()),
            answer,
        }
    }
}

/// The results of a variant.
#[derive(Debug, Clone, PartialEq)]
pub struct OfVariant {
    /// The name, with that of an arm.
    pub name: String,
    /// The finished debates.
    pub finished: u64,
    /// The number of planned debates.
    pub planned: u64,
    /// The number of full outcomes.
    pub full: u64,
    /// The number of right answers, and of answers that a program can check.
    pub right: (u64, u64),
    /// The cost; absent if a price is unknown.
    pub cost: Option<Usd>,
}

impl Collected {
    /// The results of each variant, in the plan's order.
    pub fn by_variant(&self, plan: &Plan) -> Vec<OfVariant> {
        let of = |name: &str, arm: Option<Arm>| {
            let rows = || self.rows.iter().filter(move |row| row.variant == name && row.arm == arm);
            OfVariant {
                name: label(name, arm),
                finished: rows().count() as u64,
                planned: plan.debates.iter().filter(|debate| debate.variant.name == name).count() as u64,
                full: rows().filter(|row| row.outcome == Some(OutcomeKind::Full)).count() as u64,
                right: (
                    rows().filter(|row| row.correct == Some(true)).count() as u64,
                    rows().filter(|row| row.correct.is_some()).count() as u64,
                ),
                cost: rows().map(|row| row.cost_usd).sum(),
            }
        };
        let arms = |variant: &Arc<Variant>| std::iter::once(None).chain(variant.against.clone().into_iter().map(Some));
        plan.variants.iter().flat_map(|variant| arms(variant).map(|arm| of(&variant.name, arm))).collect()
    }
}
