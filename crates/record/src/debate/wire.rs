//! Times and scores as the state file has them.

use std::fmt;

use chrono::{DateTime, SecondsFormat, SubsecRound, Utc};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A point in time: ISO 8601, UTC, milliseconds (`2025-01-01T01:02:03.000Z`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(DateTime<Utc>);

impl Timestamp {
    /// Now, truncated to milliseconds.
    pub fn now() -> Self {
        Utc::now().into()
    }

    /// The time for chrono.
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

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        DateTime::<Utc>::deserialize(deserializer).map(Self::from)
    }
}

/// A score: `82`, not `82.0`, as in existing files.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
pub(super) fn serialize_number<S: Serializer>(number: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    #[expect(clippy::cast_possible_truncation, reason = "scores are 0 to 100; others are written as they are")]
    let whole = *number as i32;
    if f64::from(whole).to_bits() == number.to_bits() {
        serializer.serialize_i32(whole)
    } else {
        serializer.serialize_f64(*number)
    }
}

/// [`serialize_number`] for an optional number.
#[expect(clippy::ref_option, reason = "serde passes a reference")]
pub(super) fn serialize_optional_number<S: Serializer>(number: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
    struct Plain(f64);

    impl Serialize for Plain {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serialize_number(&self.0, serializer)
        }
    }

    number.map(Plain).serialize(serializer)
}

#[cfg(test)]
mod tests {
    use crate::debate::{Evaluation, TerminationKind};

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
