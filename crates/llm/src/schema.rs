//! The JSON schema of an answer.

use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value, json};

/// A named JSON schema for an answer.
#[derive(Debug, Clone, PartialEq)]
pub struct AnswerSchema {
    /// The name, as the API requires it: letters, digits, `_` and `-`.
    pub name: &'static str,
    /// The schema, strict: every property required, no additional ones.
    pub schema: Value,
}

/// Keywords that do not constrain an answer. Doc comments address readers of the code.
const ANNOTATIONS: [&str; 5] = ["title", "description", "default", "examples", "format"];

impl AnswerSchema {
    /// The schema of `T` for strict structured output: properties in the order of the fields, all required, no others
    /// allowed, definitions inlined, bounds kept, annotations omitted. Fields that are optional when parsed (`Option`,
    /// `#[serde(default)]`) are still required.
    ///
    /// Recursive types are not supported.
    pub fn of<T: JsonSchema>(name: &'static str) -> Self {
        let settings = SchemaSettings::draft2020_12().with(|settings| {
            settings.inline_subschemas = true;
            settings.meta_schema = None;
        });
        let generator = settings.with_transform(RecursiveTransform(make_strict)).into_generator();
        Self { name, schema: generator.into_root_schema_for::<T>().to_value() }
    }
}

/// An object with these properties, all required, no others allowed.
pub fn strict_object(properties: impl IntoIterator<Item = (&'static str, Value)>) -> Value {
    let properties: Map<String, Value> = properties.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    let required: Vec<&String> = properties.keys().collect();
    json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
}

fn make_strict(schema: &mut Schema) {
    let Some(object) = schema.as_object_mut() else { return };
    object.retain(|keyword, _| !ANNOTATIONS.contains(&keyword.as_str()));
    let names = object.get("properties").and_then(Value::as_object);
    if let Some(names) = names.map(|properties| properties.keys().cloned().collect::<Vec<_>>()) {
        object.insert("required".to_owned(), json!(names));
        object.insert("additionalProperties".to_owned(), json!(false));
    }
    // Documented enum variants become alternatives, which strict output does not support.
    let variants = object.get("oneOf").and_then(Value::as_array);
    let names = variants.and_then(|variants| variants.iter().map(|variant| variant.get("const").cloned()).collect());
    if let Some(names) = names {
        let names: Vec<Value> = names;
        object.remove("oneOf");
        object.insert("type".to_owned(), json!("string"));
        object.insert("enum".to_owned(), Value::Array(names));
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    /// What is asked for.
    #[derive(Deserialize, JsonSchema)]
    #[serde(rename_all = "camelCase")]
    #[expect(dead_code, reason = "only the schema matters")]
    struct SampleAnswer {
        #[serde(default)]
        #[schemars(length(max = 12), inner(length(max = 600)))]
        open_questions: Vec<String>,
        /// The parts.
        #[schemars(length(max = 20))]
        parts: Vec<Part>,
        first: Part,
        winner: SampleSide,
        #[schemars(with = "f64", range(min = 0, max = 100))]
        confidence: Option<f64>,
        #[schemars(range(min = 1))]
        count: u32,
    }

    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only the schema matters")]
    struct Part {
        #[serde(alias = "question")]
        #[schemars(length(max = 20))]
        text: String,
        #[serde(default)]
        is_new: bool,
    }

    #[derive(Deserialize, JsonSchema)]
    #[serde(rename_all = "lowercase")]
    enum SampleSide {
        /// In favour.
        Proposition,
        /// Against.
        Opposition,
    }

    #[test]
    fn a_derived_schema_is_strict_and_keeps_order_and_bounds() {
        let part = strict_object([
            ("text", json!({ "type": "string", "maxLength": 20 })),
            ("is_new", json!({ "type": "boolean" })),
        ]);
        let expected = strict_object([
            (
                "openQuestions",
                json!({ "type": "array", "items": { "type": "string", "maxLength": 600 }, "maxItems": 12 }),
            ),
            ("parts", json!({ "type": "array", "items": part, "maxItems": 20 })),
            ("first", part),
            ("winner", json!({ "type": "string", "enum": ["proposition", "opposition"] })),
            ("confidence", json!({ "type": "number", "minimum": 0, "maximum": 100 })),
            ("count", json!({ "type": "integer", "minimum": 1 })),
        ]);
        let AnswerSchema { name, schema } = AnswerSchema::of::<SampleAnswer>("answer");
        assert_eq!((name, &schema), ("answer", &expected));
        let names = |schema: &Value| schema["properties"].as_object().unwrap().keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(&schema), names(&expected));
    }
}
