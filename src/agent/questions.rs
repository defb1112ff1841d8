//! What agents ask the user.

use std::sync::{Arc, LazyLock};

use serde::Deserialize;
use serde_json::json;

use crate::llm::AnswerSchema;

/// The questions of an agent, as it returns them. Its ids are not used: they are unique at most for itself.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Questions {
    questions: Vec<Question>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged, expecting = "expected an object with a `text`")]
enum Question {
    Full {
        #[serde(alias = "question")]
        text: String,
    },
    Bare(String),
}

impl Questions {
    /// The questions' texts, blank ones left out.
    #[must_use]
    pub fn texts(&self) -> Vec<String> {
        let texts = self.questions.iter().map(|question| match question {
            Question::Full { text } | Question::Bare(text) => text.trim(),
        });
        texts.filter(|text| !text.is_empty()).map(str::to_owned).collect()
    }
}

/// The schema of questions.
pub(super) static QUESTIONS: LazyLock<Arc<AnswerSchema>> = LazyLock::new(|| {
    let question = json!({
        "type": "object",
        "properties": {
            "id": { "type": "string", "maxLength": 20 },
            "text": { "type": "string", "maxLength": 600 },
        },
        "required": ["id", "text"],
        "additionalProperties": false,
    });
    let schema = json!({
        "type": "object",
        "properties": { "questions": { "type": "array", "items": question, "maxItems": 20 } },
        "required": ["questions"],
        "additionalProperties": false,
    });
    Arc::new(AnswerSchema { name: "questions", schema })
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::read_json;

    #[test]
    fn questions_are_read_with_and_without_ids() {
        let read = |text: &str| read_json::<Questions>(text).map(|questions| questions.texts());
        let text = r#"{"questions":[{"id":"q1","text":" How many users? "},{"question":"Which region?"},"Why?",""]}"#;
        assert_eq!(read(text).unwrap(), ["How many users?", "Which region?", "Why?"]);
        assert_eq!(read(r#"{"questions":[]}"#).unwrap(), [""; 0]);
        assert!(read(r#"{"answer":"none"}"#).is_err());
    }
}
