//! Kinds of JSON answers that a protocol declares.

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::debate::Contribution;

/// A kind of JSON answer. Requests have its schema, an unreadable answer is requested once more, and the answer becomes
/// a contribution.
pub trait JsonAnswer: Serialize + DeserializeOwned + JsonSchema {
    /// The name of its schema in requests: letters, digits, `_` and `-`.
    const NAME: &'static str;

    /// A typical answer, for forecasts.
    fn sample() -> Self;

    /// The text of its contribution.
    fn text(&self) -> String;

    /// Checks what the schema cannot express.
    ///
    /// # Errors
    ///
    /// Why the answer cannot be used, for the second request.
    fn check(&self) -> Result<(), String> {
        Ok(())
    }

    /// The answer of a contribution; `None` if it has none that can be read as this kind. The kind is not recorded, so
    /// check the stage first.
    fn of(contribution: &Contribution) -> Option<Self> {
        let json = contribution.reading.as_ref()?.json.clone()?;
        serde_json::from_value(json).ok()
    }
}

/// A [`JsonAnswer`] as part of a step.
#[derive(Debug, Clone, Copy)]
pub struct JsonAnswerKind {
    pub name: &'static str,
    pub schema: fn(SchemaGenerator) -> Schema,
    /// Reads an object. Returns it, and its text.
    pub read: fn(&str) -> Result<(Value, String), String>,
    /// The sample; `None` if it is not JSON.
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
