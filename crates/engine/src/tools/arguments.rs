//! Checks the arguments that a model passed to a tool.

use serde_json::{Value, json};

use super::ToolError;

/// A text argument and its bounds.
#[derive(Debug)]
pub(super) struct TextArgument {
    /// The name among the parameters.
    pub(super) name: &'static str,
    /// Shown to the model.
    pub(super) description: &'static str,
    /// The same, continuing "expected".
    pub(super) expected: &'static str,
    /// The maximum length in characters.
    pub(super) limit: usize,
}

impl TextArgument {
    /// The `path` argument of file tools. Operating systems refuse longer paths.
    pub(super) const fn path(description: &'static str) -> Self {
        let expected = "a path as a string, relative to the context directory, with `.` for the directory itself";
        Self { name: "path", description, expected, limit: 4096 }
    }
}

/// The maximum length in a schema: servers turn schemas into grammars, and some releases of llama.cpp refuse 2000 or
/// more repetitions.
const LONGEST_IN_SCHEMA: usize = 1000;

impl TextArgument {
    /// The schema of a tool with only this parameter.
    pub(super) fn parameters(&self) -> Value {
        let Self { name, description, limit, .. } = *self;
        let bound = limit.min(LONGEST_IN_SCHEMA);
        json!({
            "type": "object",
            "properties": { name: { "type": "string", "description": description, "maxLength": bound } },
            "required": [name],
            "additionalProperties": false
        })
    }

    /// The argument's value: not blank, not too long, without NUL.
    ///
    /// # Errors
    /// It is missing or unusable.
    pub(super) fn of<'a>(&self, arguments: &'a Value) -> Result<&'a str, ToolError> {
        let Self { name, expected, limit, .. } = *self;
        let object = arguments.as_object().ok_or(ToolError::NotAnObject(type_name(arguments)))?;
        let value = object.get(name).ok_or(ToolError::Missing { name, expected })?;
        let unusable = |found| ToolError::Unusable { name, found, expected };
        let text = value.as_str().ok_or_else(|| unusable(type_name(value)))?;
        if text.trim().is_empty() {
            Err(unusable("empty"))
        } else if text.contains('\0') {
            Err(unusable("text with a NUL character"))
        } else if text.chars().nth(limit).is_some() {
            Err(ToolError::TooLong { name, limit })
        } else {
            Ok(text)
        }
    }
}

fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORD: TextArgument = TextArgument { name: "word", description: "A word.", expected: "a word", limit: 5 };

    fn refusal(arguments: &Value) -> String {
        WORD.of(arguments).expect_err("refused").to_string()
    }

    #[test]
    fn the_schema_says_what_fits_and_asks_for_nothing_endless() {
        let expected = r#"{"type":"object","properties":{"word":{"type":"string","description":"A word.","maxLength":5}},"required":["word"],"additionalProperties":false}"#;
        assert_eq!(WORD.parameters().to_string(), expected);
        assert_eq!(TextArgument::path("A path.").parameters()["properties"]["path"]["maxLength"], LONGEST_IN_SCHEMA);
    }

    #[test]
    fn the_limit_counts_characters_and_is_inclusive() {
        assert_eq!(WORD.of(&json!({"word": "äääää"})).expect("fits"), "äääää");
        assert_eq!(refusal(&json!({"word": "ääääää"})), "the argument `word` is longer than 5 characters");
    }

    #[test]
    fn messages_say_what_is_expected() {
        assert_eq!(refusal(&json!({})), "the argument `word` is missing; expected a word");
        assert_eq!(refusal(&json!({"Word": "x"})), "the argument `word` is missing; expected a word");
        assert_eq!(refusal(&json!({"word": 7})), "the argument `word` is a number; expected a word");
        assert_eq!(refusal(&json!({"word": null})), "the argument `word` is null; expected a word");
        assert_eq!(refusal(&json!({"word": ["x"]})), "the argument `word` is an array; expected a word");
        assert_eq!(refusal(&json!({"word": " \n"})), "the argument `word` is empty; expected a word");
        assert_eq!(
            refusal(&json!({"word": "a\0"})),
            "the argument `word` is text with a NUL character; expected a word"
        );
        assert_eq!(refusal(&json!("x")), "the arguments must be a JSON object, not a string");
        assert_eq!(refusal(&json!(["x"])), "the arguments must be a JSON object, not an array");
    }
}
