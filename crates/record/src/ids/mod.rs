//! Ids, call statuses, times and scores, as they appear in files.

pub(crate) mod stage;

use std::fmt;
use std::sync::Arc;

use chrono::{DateTime, SecondsFormat, SubsecRound, Utc};
use serde::{Deserialize, Serialize, Serializer};

pub use stage::{ResultKind, StageId, StageInfo, StageWords};

/// The id of a debate: `deb-YYYYMMDD-HHMMSS-xxxx` if created by this program, otherwise arbitrary text.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct DebateId(String);

/// The id of an agent or the judge, unique within a debate. Cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct AgentId(Arc<str>);

impl DebateId {
    pub fn new(id: impl Into<String>) -> Self {
        Self(id.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl AgentId {
    pub fn new(id: impl AsRef<str>) -> Self {
        Self(Arc::from(id.as_ref()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for DebateId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for AgentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<&str> for AgentId {
    fn from(id: &str) -> Self {
        Self::new(id)
    }
}

/// Identifies a call within a debate. Tool iterations and repeated requests share their call's key.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CallKey {
    /// The number of the call's round; 0 before the first.
    pub round: u32,
    #[serde(rename = "phase")]
    pub stage: StageId,
    pub agent_id: AgentId,
    /// The author of the text that the call is about, for example of the text that a critique criticises.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_agent_id: Option<AgentId>,
    /// A number, from 1, that distinguishes calls whose other fields are equal, such as the calls for two follow-up
    /// questions.
    #[serde(default = "first_pass", skip_serializing_if = "is_first_pass")]
    pub pass: u8,
}

fn first_pass() -> u8 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_first_pass(pass: &u8) -> bool {
    *pass == 1
}

impl CallKey {
    /// Returns the key of the first pass of a call without a target.
    pub fn new(round: u32, stage: StageId, agent: &AgentId) -> Self {
        Self { round, stage, agent_id: agent.clone(), target_agent_id: None, pass: 1 }
    }

    pub fn about(self, target: &AgentId) -> Self {
        Self { target_agent_id: Some(target.clone()), ..self }
    }

    pub fn pass(self, pass: u8) -> Self {
        Self { pass, ..self }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallStatus {
    Done,
    /// The call succeeded but found nothing: no questions, or no objections to the agreement.
    Empty,
    Failed,
}

/// A UTC timestamp with milliseconds, in ISO 8601 (`2025-01-01T01:02:03.000Z`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(from = "DateTime<Utc>")]
pub struct Timestamp(DateTime<Utc>);

impl Timestamp {
    /// The current time, truncated to milliseconds.
    pub fn now() -> Self {
        Utc::now().into()
    }

    pub fn utc(self) -> DateTime<Utc> {
        self.0
    }

    /// Milliseconds from `earlier` to `self`; zero if `earlier` is later.
    pub fn millis_since(self, earlier: Self) -> u64 {
        u64::try_from((self.0 - earlier.0).num_milliseconds()).unwrap_or(0)
    }
}

impl From<DateTime<Utc>> for Timestamp {
    fn from(time: DateTime<Utc>) -> Self {
        Self(time.trunc_subsecs(3))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.to_rfc3339_opts(SecondsFormat::Millis, true))
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Serializes a whole number as `82`, not `82.0`, as existing files do.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
pub(crate) fn serialize_number<S: Serializer>(number: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    #[expect(clippy::cast_possible_truncation, reason = "scores are 0 to 100; others are written as they are")]
    let whole = *number as i32;
    if f64::from(whole).to_bits() == number.to_bits() {
        serializer.serialize_i32(whole)
    } else {
        serializer.serialize_f64(*number)
    }
}

#[expect(clippy::ref_option, reason = "serde passes a reference")]
pub(crate) fn serialize_optional_number<S: Serializer>(number: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
    match number {
        Some(number) => serialize_number(number, serializer),
        None => serializer.serialize_none(),
    }
}

#[cfg(test)]
mod tests {
    use crate::debate::Evaluation;
    use crate::settings::TerminationKind;

    #[test]
    fn whole_scores_have_no_point() {
        let wire = |score| {
            let evaluation = Evaluation { kind: TerminationKind::Quality, score, threshold: 80.0 };
            serde_json::to_string(&evaluation).unwrap()
        };
        assert_eq!(wire(Some(82.0)), r#"{"type":"quality","score":82,"threshold":80}"#);
        assert_eq!(wire(Some(82.5)), r#"{"type":"quality","score":82.5,"threshold":80}"#);
        assert_eq!(wire(None), r#"{"type":"quality","score":null,"threshold":80}"#);
    }
}
