//! Kinds of JSON answers that a protocol declares.

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::debate::Contribution;

/// A kind of JSON answer. Requests contain its schema, an unreadable answer is requested once more, and a readable one
/// becomes a contribution.
pub trait JsonAnswer: Serialize + DeserializeOwned + JsonSchema {
    /// The schema's name in requests. Only letters, digits, `_` and `-` are allowed.
    const NAME: &'static str;

    /// A typical answer, for cost forecasts.
    fn sample() -> Self;

    /// The text of the contribution that the answer becomes.
    fn text(&self) -> String;

    /// Checks what the schema cannot express.
    ///
    /// # Errors
    ///
    /// Returns the reason why the answer cannot be used, in words for the model, which is then asked once more.
    fn check(&self) -> Result<(), String> {
        Ok(())
    }

    /// Parses a contribution's JSON answer; `None` if the contribution has none or its JSON does not fit this kind. The
    /// kind is not recorded, so check the stage first.
    fn of(contribution: &Contribution) -> Option<Self> {
        let json = contribution.reading.as_ref()?.json.clone()?;
        serde_json::from_value(json).ok()
    }
}

/// A [`JsonAnswer`] type as a value, for use in a step.
#[derive(Debug, Clone, Copy)]
pub struct JsonAnswerKind {
    pub name: &'static str,
    pub schema: fn(SchemaGenerator) -> Schema,
    /// Parses and checks a JSON object. Returns the object and the contribution's text, or the reason why the object
    /// cannot be used.
    pub read: fn(&str) -> Result<(Value, String), String>,
    /// `None` if the sample cannot be serialized.
    pub sample: fn() -> Option<Value>,
}

impl JsonAnswerKind {
    pub const fn of<A: JsonAnswer>() -> Self {
        Self {
            name: A::NAME,
            schema: SchemaGenerator::into_root_schema_for::<A>,
            read: |object| {
                let answer: A = serde_json::from_str(object).map_err(|error| error.to_string())?;
                answer.check()?;
                let json = serde_json::to_value(&answer).map_err(|error| error.to_string())?;
                Ok((json, answer.text()))
            },
            sample: || serde_json::to_value(A::sample()).ok(),
        }
    }
}

impl PartialEq for JsonAnswerKind {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for JsonAnswerKind {}
