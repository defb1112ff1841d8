//! Reads an evaluator's answer and its usable scores.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error};
use serde_json::{Map, Value};

use dialectic_engine::agent::{AnswerError, read_json};

use super::{Criterion, Scores};

/// The bounds of a score.
const LOWEST: f64 = 1.0;
const HIGHEST: f64 = 10.0;

#[derive(Debug, Clone, PartialEq)]
pub struct EvaluatorAnswer {
    /// The JSON as received.
    pub returned: Value,
    /// The evaluator's scores, from 1 to 10. Missing scores are left out.
    pub scores: Scores,
    /// The values that were changed or omitted.
    pub ignored: Vec<Ignored>,
}

/// A value that was not used as given.
#[derive(Debug, Clone, PartialEq)]
pub enum Ignored {
    /// Outside 1 to 10: replaced by the nearest bound.
    Clamped {
        criterion: Criterion,
        /// The given value as JSON.
        given: String,
        /// The counted score.
        counted: f64,
    },
    /// Not a number: omitted.
    NotANumber {
        criterion: Criterion,
        /// The type of the given value.
        found: &'static str,
    },
}

impl fmt::Display for Ignored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Clamped { criterion, given, counted } => {
                write!(f, "`{}` is {given}, outside {LOWEST} to {HIGHEST}, and counts as {counted}", criterion.key())
            }
            Self::NotANumber { criterion, found } => {
                write!(f, "`{}` is {found}, not a number, and is ignored", criterion.key())
            }
        }
    }
}

/// A JSON object with at least one part of an evaluation, to skip braces in surrounding prose.
struct EvaluationObject(Map<String, Value>);

impl<'de> Deserialize<'de> for EvaluationObject {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let object = Map::deserialize(deserializer)?;
        let is_evaluation =
            ["evaluation", "overall_summary"].iter().any(|key| object.get(*key).is_some_and(Value::is_object));
        if is_evaluation {
            Ok(Self(object))
        } else {
            Err(D::Error::custom("it contains neither `evaluation` nor `overall_summary`"))
        }
    }
}

impl EvaluatorAnswer {
    /// Reads an evaluator's text, with anything around the JSON.
    ///
    /// # Errors
    /// It contains no evaluation as a JSON object.
    pub fn read(text: &str) -> Result<Self, AnswerError> {
        let EvaluationObject(object) = read_json(text)?;
        let returned = Value::Object(object);
        let (mut scores, mut ignored) = (Scores::new(), Vec::new());
        for criterion in Criterion::ALL {
            match given(&returned, criterion) {
                // Null means that there is no score.
                None | Some(Value::Null) => {}
                Some(value) => match value.as_f64() {
                    None => ignored.push(Ignored::NotANumber { criterion, found: kind(value) }),
                    Some(score) => {
                        let counted = score.clamp(LOWEST, HIGHEST);
                        if !(LOWEST..=HIGHEST).contains(&score) {
                            ignored.push(Ignored::Clamped { criterion, given: value.to_string(), counted });
                        }
                        scores.insert(criterion, counted);
                    }
                },
            }
        }
        Ok(Self { returned, scores, ignored })
    }
}

/// The value in the place of a criterion's score.
fn given(returned: &Value, criterion: Criterion) -> Option<&Value> {
    let evaluation = returned.get("evaluation");
    let entry = match criterion {
        Criterion::Overall => return returned.get("overall_summary")?.get(criterion.key()),
        Criterion::FunctionalCompleteness => evaluation?.get(criterion.key())?,
        Criterion::PerformanceScalability
        | Criterion::Security
        | Criterion::MaintainabilityEvolvability
        | Criterion::RegulatoryCompliance
        | Criterion::Testability
        | Criterion::RequirementsFulfillment => evaluation?.get("non_functional")?.get(criterion.key())?,
    };
    // A value instead of the object with score and reasoning counts as the score.
    if entry.is_object() { entry.get("score") } else { Some(entry) }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn scores_are_found_where_they_belong() {
        let answer = EvaluatorAnswer::read(
            r#"Here: {"evaluation":{"functional_completeness":{"score":8,"reasoning":"{}"},
                "non_functional":{"security":{"score":6.5},"testability":{"score":null},"overall_score":{"score":2}}},
                "overall_summary":{"overall_score":7}}"#,
        )
        .unwrap();
        let expected =
            [(Criterion::FunctionalCompleteness, 8.0), (Criterion::Security, 6.5), (Criterion::Overall, 7.0)];
        assert_eq!(answer.scores, Scores::from(expected));
        assert_eq!(answer.ignored, []);
        assert_eq!(answer.returned["evaluation"]["functional_completeness"]["reasoning"], "{}");
    }

    #[test]
    fn what_is_out_of_range_is_clamped_and_what_is_no_number_is_left_out() {
        let answer = EvaluatorAnswer::read(
            r#"{"evaluation":{"functional_completeness":{"score":0},"non_functional":{"security":{"score":11.5},
                "testability":{"score":"9"},"performance_scalability":{"score":[]},"regulatory_compliance":"NaN",
                "requirements_fulfillment":{"score":-1e300}}},"overall_summary":{"overall_score":true}}"#,
        )
        .unwrap();
        let expected = [
            (Criterion::FunctionalCompleteness, 1.0),
            (Criterion::Security, 10.0),
            (Criterion::RequirementsFulfillment, 1.0),
        ];
        assert_eq!(answer.scores, Scores::from(expected));
        let said: Vec<String> = answer.ignored.iter().map(ToString::to_string).collect();
        assert_eq!(said.len(), 7, "{said:?}");
        assert_eq!(said[0], "`functional_completeness` is 0, outside 1 to 10, and counts as 1");
        // Without three hundred digits.
        assert!(
            said[5].starts_with("`requirements_fulfillment` is -1e") && said[5].ends_with("counts as 1"),
            "{}",
            said[5]
        );
        assert!(said.iter().all(|line| line.len() < 80), "{said:?}");
        assert_eq!(said[1], "`performance_scalability` is a list, not a number, and is ignored");
        assert!(
            said.contains(&"`regulatory_compliance` is a text, not a number, and is ignored".to_owned()),
            "{said:?}"
        );
    }

    #[test]
    fn what_is_no_evaluation_is_an_error() {
        for text in ["", "I cannot do that.", "{}", r#"{"error":"busy"}"#, r#"{"evaluation":7}"#, r#"{"evaluation":{"#]
        {
            assert!(EvaluatorAnswer::read(text).is_err(), "{text}");
        }
        assert!(EvaluatorAnswer::read(r#"{"evaluation":{}}"#).unwrap().scores.is_empty());
    }

    proptest! {
        #[test]
        fn every_score_that_counts_is_within_bounds(given in any::<f64>()) {
            let json = serde_json::json!({"overall_summary": {"overall_score": given}}).to_string();
            let answer = EvaluatorAnswer::read(&json).unwrap();
            prop_assert!(answer.scores.values().all(|score| (LOWEST..=HIGHEST).contains(score)));
        }
    }
}
