//! Answers as JSON: what the task has to say, in the shape that the schema asks for.

use serde_json::{Value, json};

use super::agent::Agent;
use super::words::one_line;

/// What is said where a text is asked for and no rule knows one.
const NOTHING_KNOWN: &str = "By rule, without a model: no rule has anything to say here.";

impl Agent<'_> {
    /// An instance of `schema`: the values of the task at hand by the names of the properties, plausible ones for what
    /// no rule knows.
    pub(super) fn form(&self, schema: &Value) -> Value {
        instance("", schema, &self.values(schema))
    }

    fn values(&self, schema: &Value) -> Value {
        match self.task {
            "clarify" => {
                let questions = (1..).zip(self.questions());
                let questions = questions.map(|(number, text)| json!({ "id": format!("q{number}"), "text": text }));
                json!({ "questions": questions.collect::<Value>() })
            }
            "vote" => ballot(self.vote()),
            "poll" => ballot(self.poll()),
            "review" => {
                let (choice, reason) = self.review();
                ballot((choice, 100, reason))
            }
            "score the consensus" => json!({ "confidence": self.consensus() }),
            "score the best solution" => json!({ "confidence": self.best_quality() }),
            "judge the debate" => self.verdict(schema),
            "relate the decisions" => self.relations(),
            "challenge the agreement" => self.challenge(),
            "score the candidates" => self.scores(schema),
            "mark the kinds of argument" => self.kinds(),
            "assess" => {
                let solution = self.prompt.texts().rfind(|text| matches!(text.kind, "solution" | "draft"));
                self.assessment(solution.map_or("", |text| text.text))
            }
            // Evaluators may have prompts of their own; what they are asked for shows in the schema.
            _ if schema.to_string().contains("\"functional_completeness\"") => self.evaluation(),
            _ => Value::Null,
        }
    }
}

fn ballot<C: Into<Value>>((choice, confidence, reason): (C, u32, String)) -> Value {
    json!({ "choice": choice.into(), "confidence": confidence, "reason": reason })
}

/// An instance of a schema, which stands under this name: what is known of that, as far as the schema allows it.
fn instance(name: &str, schema: &Value, known: &Value) -> Value {
    let allowed = schema.get("enum").and_then(Value::as_array);
    let value = known.get(name).filter(|value| allowed.is_none_or(|allowed| allowed.contains(value)));
    if let Some(value) = value.or_else(|| allowed?.first()) {
        return value.clone();
    }
    // Of several types the first is the one that says something.
    match schema.get("type").and_then(|kind| kind.get(0).unwrap_or(kind).as_str()).unwrap_or_default() {
        "object" => {
            let properties = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
            properties.map(|(name, schema)| (name.clone(), instance(name, schema, known))).collect()
        }
        "array" => json!([]),
        // Where nothing is known, nothing is to be had for it.
        "integer" | "number" => schema.get("minimum").cloned().unwrap_or_else(|| json!(0)),
        "boolean" => json!(false),
        "null" => Value::Null,
        _ => {
            let most = schema.get("maxLength").and_then(Value::as_u64).and_then(|most| usize::try_from(most).ok());
            json!(one_line(NOTHING_KNOWN, most.unwrap_or(usize::MAX)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dialectic_base::markdown::fenced;

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
                "why": { "type": "string", "maxLength": 30 },
                "inner": { "type": "object", "properties": { "count": { "type": "integer" } } },
                "none": { "type": "array", "items": { "type": "string" } },
                "share": { "type": ["number", "null"], "minimum": 1, "maximum": 10 },
                "is_final": { "type": "boolean" },
            },
        });
        let form = Agent::new(&prompt, 0).form(&schema);
        let expected = json!({
            "mood": "calm", "why": "By rule, without a model: no r…", "inner": { "count": 0 }, "none": [],
            "share": 1, "is_final": false,
        });
        assert_eq!(form, expected);
    }
}
