//! Answers as JSON: what the task has to say, in the shape that the schema asks for.

use serde_json::{Map, Value, json};

use super::agent::Agent;
use super::words::one_line;

/// Schemas are followed so deep at most: one may contain itself.
const DEPTH: usize = 12;
/// A text of which a schema allows no more characters is a label and no sentence.
const LABEL_CHARS: u64 = 20;
/// What is said where a text is asked for and no rule knows one.
const NOTHING_KNOWN: &str = "By rule, without a model: no rule has anything to say here.";

impl Agent<'_> {
    /// An instance of `schema`: the values of the task at hand by the names of the properties, plausible ones for what
    /// no rule knows.
    pub(super) fn form(&self, schema: &Value) -> Value {
        let known: Map<String, Value> =
            self.values(schema).into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        let (label, ..) = self.vote();
        Form { root: schema, known, label }.instance(schema, 0)
    }

    fn values(&self, schema: &Value) -> Vec<(&'static str, Value)> {
        match self.task {
            "clarify" => {
                let questions = (1..).zip(self.questions());
                let questions = questions.map(|(number, text)| json!({ "id": format!("q{number}"), "text": text }));
                vec![("questions", questions.collect())]
            }
            "vote" => ballot(self.vote()),
            "poll" => ballot(self.poll()),
            "review" => {
                let (choice, reason) = self.review();
                ballot((choice, 100, reason))
            }
            "score the consensus" => vec![("confidence", self.consensus().into())],
            "score the best solution" => vec![("confidence", self.best_quality().into())],
            "judge the debate" => self.verdict(schema),
            "assess" => {
                let known = ["base", "tradeoffs", "recommendations", "unfulfilledMajorRequirements", "openQuestions"];
                let mut assessment = self.assessment();
                known.into_iter().chain(["confidence"]).filter_map(|key| Some((key, assessment.remove(key)?))).collect()
            }
            // Evaluators may have prompts of their own; what they are asked for shows in the schema.
            _ if property(schema, "functional_completeness").is_some() => self.evaluation(),
            _ => Vec::new(),
        }
    }
}

fn ballot<C: Into<Value>>((choice, confidence, reason): (C, u32, String)) -> Vec<(&'static str, Value)> {
    vec![("choice", choice.into()), ("confidence", confidence.into()), ("reason", reason.into())]
}

/// The names that a schema allows for a property, wherever in it that is.
pub(super) fn names_in(schema: &Value, name: &str) -> Vec<String> {
    let names = property(schema, name).and_then(|property| property.get("enum")?.as_array()).into_iter().flatten();
    names.filter_map(|name| Some(name.as_str()?.to_owned())).collect()
}

/// The schema of a property, wherever in a schema that is.
fn property<'a>(schema: &'a Value, name: &str) -> Option<&'a Value> {
    let here = schema.get("properties").and_then(|properties| properties.get(name));
    here.or_else(|| match schema {
        Value::Object(parts) => parts.values().find_map(|part| property(part, name)),
        Value::Array(parts) => parts.iter().find_map(|part| property(part, name)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    })
}

/// A schema being filled in.
struct Form<'a> {
    root: &'a Value,
    known: Map<String, Value>,
    /// The candidate to choose, where there are any.
    label: String,
}

impl Form<'_> {
    fn instance(&self, schema: &Value, depth: usize) -> Value {
        if depth > DEPTH {
            return Value::Null;
        }
        let reference =
            schema.get("$ref").and_then(Value::as_str).and_then(|at| self.root.pointer(at.strip_prefix('#')?));
        let alternatives = ["anyOf", "oneOf", "allOf"].iter().find_map(|key| schema.get(key)?.get(0));
        if let Some(meant) = reference.or(alternatives) {
            return self.instance(meant, depth + 1);
        }
        if let Some(value) = schema.get("const").or_else(|| schema.get("enum")?.get(0)) {
            return value.clone();
        }
        // Of several types the first is the one that says something.
        let kind = schema.get("type").and_then(|kind| kind.get(0).unwrap_or(kind).as_str()).unwrap_or_default();
        let length = |key: &str| schema.get(key).and_then(Value::as_u64);
        match kind {
            "object" => {
                let properties = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
                properties.map(|(name, schema)| (name.clone(), self.property(name, schema, depth))).collect()
            }
            "array" => {
                let items = schema.get("items").unwrap_or(&Value::Null);
                (0..length("minItems").unwrap_or_default()).map(|_| self.instance(items, depth + 1)).collect()
            }
            // The middle; a number without bounds is taken for a percentage.
            "integer" => {
                let bound = |key: &str, default| schema.get(key).and_then(Value::as_i64).unwrap_or(default);
                i64::midpoint(bound("minimum", 0), bound("maximum", 100)).max(bound("minimum", 0)).into()
            }
            "number" => {
                let bound = |key: &str, default| schema.get(key).and_then(Value::as_f64).unwrap_or(default);
                f64::midpoint(bound("minimum", 0.0), bound("maximum", 100.0)).max(bound("minimum", 0.0)).into()
            }
            "boolean" => Value::Bool(false),
            "null" => Value::Null,
            _ => match length("maxLength") {
                Some(most) if most <= LABEL_CHARS => self.label.as_str().into(),
                most => one_line(NOTHING_KNOWN, most.and_then(|most| usize::try_from(most).ok()).unwrap_or(usize::MAX))
                    .into(),
            },
        }
    }

    /// What the task has to say under this name, as far as the schema allows it.
    fn property(&self, name: &str, schema: &Value, depth: usize) -> Value {
        let allowed = schema.get("enum").and_then(Value::as_array);
        let known = self.known.get(name).filter(|known| allowed.is_none_or(|allowed| allowed.contains(known)));
        known.cloned().unwrap_or_else(|| self.instance(schema, depth + 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::markdown::fenced;

    #[test]
    fn an_unknown_task_gets_an_instance_of_its_schema() {
        let prompt = format!(
            "# Problem\n\n{}\n\n# Candidates\n\n## Candidate A\n\n{}\n\n## Candidate B\n\n{}\n\n# Your task: rank",
            fenced("problem", "Design a queue"),
            fenced("candidate", "Nothing that is known."),
            fenced("candidate", "- **Restore drills.** Do them.")
        );
        let schema = json!({
            "type": "object",
            "properties": {
                "mood": { "enum": ["calm", "cross"] },
                "first": { "type": "string", "maxLength": 20 },
                "why": { "type": "string", "maxLength": 30 },
                "all": { "type": "array", "items": { "$ref": "#/$defs/one" }, "minItems": 1 },
                "none": { "type": "array", "items": { "type": "string" } },
                "share": { "type": ["number", "null"], "minimum": 1, "maximum": 10 },
                "is_final": { "anyOf": [{ "type": "boolean" }, { "type": "null" }] },
            },
            "$defs": { "one": { "type": "object", "properties": { "count": { "type": "integer" } } } },
        });
        let form = Agent::new(&prompt, 0).form(&schema);
        let expected = json!({
            "mood": "calm", "first": "B", "why": "By rule, without a model: no r…", "all": [{ "count": 50 }], "none": [],
            "share": 5.5, "is_final": false,
        });
        assert_eq!(form, expected);
    }

    #[test]
    fn a_schema_that_contains_itself_has_an_end() {
        let schema = json!({ "type": "object", "properties": { "next": { "$ref": "#" } } });
        assert!(Agent::new("", 0).form(&schema).is_object());
    }
}
