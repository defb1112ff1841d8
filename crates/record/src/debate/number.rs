//! Serializes whole scores without a decimal point, as in existing files.

use serde::{Serialize, Serializer};

/// `82`, not `82.0`.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
pub(super) fn serialize<S: Serializer>(number: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    #[expect(clippy::cast_possible_truncation, reason = "scores are 0 to 100; others are written as they are")]
    let whole = *number as i32;
    if f64::from(whole).to_bits() == number.to_bits() {
        serializer.serialize_i32(whole)
    } else {
        serializer.serialize_f64(*number)
    }
}

/// [`serialize`] for an optional number.
#[expect(clippy::ref_option, reason = "serde passes a reference")]
pub(super) fn serialize_option<S: Serializer>(number: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
    struct Plain(f64);

    impl Serialize for Plain {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serialize(&self.0, serializer)
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
