//! The tools of an agent: checks the arguments of the model's calls, and runs the calls.

use std::borrow::Cow;
use std::error::Error;
use std::sync::Arc;

use serde_json::{Value, json};

use dialectic_base::call::{ToolCall, ToolResult};
use dialectic_llm::ToolSpec;

use super::{TOOLS, Tool, ToolContext, ToolError};

/// The maximum length of an unknown tool's name in an error, in characters.
const NAME_SHOWN: usize = 64;

pub struct Toolbox {
    tools: Vec<&'static Tool>,
    specs: Arc<[ToolSpec]>,
    context: ToolContext,
}

/// The definitions of the named tools. Unknown names are ignored.
pub fn specs<'a>(names: impl Iterator<Item = &'a str>) -> Vec<ToolSpec> {
    let names: Vec<_> = names.collect();
    TOOLS.iter().map(Tool::spec).filter(|spec| names.contains(&spec.name.as_str())).collect()
}

impl Toolbox {
    /// Unknown names are ignored, since loading the configuration has warned about them.
    ///
    /// The order of `names` does not matter, so that agents with the same tools send the same bytes, which providers
    /// can cache.
    pub fn new<'a>(names: impl Iterator<Item = &'a str>, context: ToolContext) -> Self {
        let names: Vec<_> = names.collect();
        let with_specs = TOOLS.iter().map(|tool| (tool, tool.spec()));
        let (tools, specs): (Vec<_>, Vec<_>) =
            with_specs.filter(|(_, spec)| names.contains(&spec.name.as_str())).unzip();
        Self { tools, specs: specs.into(), context }
    }

    pub fn specs(&self) -> Arc<[ToolSpec]> {
        Arc::clone(&self.specs)
    }

    pub fn is_empty(&self) -> bool {
        self.tools.is_empty()
    }

    /// Runs one call. Blocks on file I/O.
    pub fn run(&self, call: &ToolCall) -> ToolResult {
        let answer = match self.result(call) {
            Ok(result) => json!({ "status": "success", "result": result }),
            Err(error) => json!({ "status": "error", "error": with_causes(&error) }),
        };
        let content = answer.to_string();
        ToolResult { tool_call_id: call.id.clone(), role: "tool".to_owned(), content }
    }

    /// Replaces each result that exceeds `room`, the number of characters left for all results, with an error. If
    /// `is_last` is set or no room is left, tells the model that these were the last calls.
    pub fn run_all(&self, calls: &[ToolCall], mut room: usize, is_last: bool) -> Vec<ToolResult> {
        let mut results = Vec::new();
        for call in calls {
            let mut result = self.run(call);
            let length = result.content.chars().count();
            if length > room {
                let message = format!(
                    "the result has {length} characters, but only {room} remain for tool results; ask for less, or answer with what you have"
                );
                result = ToolResult::error(call, &message);
            }
            room = room.saturating_sub(result.content.chars().count());
            results.push(result);
        }
        let answer = results.last_mut().filter(|_| is_last || room == 0);
        if let Some((result, Ok(Value::Object(mut fields)))) = answer.map(|result| {
            let fields = serde_json::from_str(&result.content);
            (result, fields)
        }) {
            fields.insert("notice".to_owned(), json!("no more tool calls are allowed; answer now"));
            result.content = Value::Object(fields).to_string();
        }
        results
    }

    fn result(&self, call: &ToolCall) -> Result<Value, ToolError> {
        let position = self.specs.iter().position(|spec| spec.name == call.name);
        let Some(tool) = position.and_then(|position| self.tools.get(position)) else {
            let offered = self.specs.iter().map(|spec| spec.name.clone()).collect();
            return Err(ToolError::Unknown { name: call.name.chars().take(NAME_SHOWN).collect(), offered });
        };
        // Some models send nothing if there are no arguments.
        let arguments = match call.arguments.trim() {
            "" => json!({}),
            text => serde_json::from_str(text).map_err(ToolError::NotJson)?,
        };
        let read = |argument: &TextArgument| Ok((argument.name, argument.of(&arguments)?));
        let arguments = tool.arguments.iter().map(read).collect::<Result<_, ToolError>>()?;
        (tool.run)(&Arguments(arguments), &self.context)
    }
}

fn with_causes(error: &ToolError) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}

pub(super) struct Arguments<'a>(Vec<(&'static str, Cow<'a, str>)>);

impl Arguments<'_> {
    /// The value of an argument; empty if the argument is optional and was not given.
    pub(super) fn get(&self, argument: &TextArgument) -> &str {
        self.0.iter().find(|(name, _)| *name == argument.name).map_or("", |(_, text)| text)
    }
}

#[derive(Debug)]
pub(super) struct TextArgument {
    pub(super) name: &'static str,
    /// Shown to the model.
    pub(super) description: &'static str,
    /// What the argument must be, phrased to follow "expected".
    pub(super) expected: &'static str,
    /// The maximum length in characters.
    pub(super) limit: usize,
    pub(super) is_optional: bool,
}

impl TextArgument {
    /// The `path` argument of file tools. The limit is the longest path on Linux.
    pub(super) const fn path(description: &'static str) -> Self {
        let expected = "a path as a string, relative to the context directory, with `.` for the directory itself";
        Self { name: "path", description, expected, limit: 4096, is_optional: false }
    }

    pub(super) const fn glob(description: &'static str) -> Self {
        Self { name: "glob", description, expected: "globs as a string, such as `*.rs`", limit: 200, is_optional: true }
    }
}

/// The maximum length to state in a schema: servers turn schemas into grammars, and some releases of llama.cpp reject
/// 2000 or more repetitions.
const LONGEST_IN_SCHEMA: usize = 1000;

pub(super) fn parameters(arguments: &[TextArgument]) -> Value {
    let property = |argument: &TextArgument| {
        let TextArgument { name, description, limit, .. } = *argument;
        let bound = limit.min(LONGEST_IN_SCHEMA);
        (name.to_owned(), json!({ "type": "string", "description": description, "maxLength": bound }))
    };
    let required = arguments.iter().filter(|argument| !argument.is_optional).map(|argument| argument.name);
    json!({
        "type": "object",
        "properties": arguments.iter().map(property).collect::<serde_json::Map<_, _>>(),
        "required": required.collect::<Vec<_>>(),
        "additionalProperties": false
    })
}

impl TextArgument {
    /// Returns the argument's value. Rejects blank values of required arguments, values that are too long, and NUL
    /// characters.
    ///
    /// # Errors
    ///
    /// Returns an error if the argument is missing or invalid.
    pub(super) fn of<'a>(&self, arguments: &'a Value) -> Result<Cow<'a, str>, ToolError> {
        let Self { name, expected, limit, is_optional, .. } = *self;
        let object = arguments.as_object().ok_or(ToolError::NotAnObject(type_name(arguments)))?;
        let unusable = |found| ToolError::Unusable { name, found, expected };
        let text: Cow<'_, str> = match object.get(name) {
            None | Some(Value::Null) if is_optional => "".into(),
            None => return Err(ToolError::Missing { name, expected }),
            Some(Value::String(text)) => text.into(),
            // Models may write numbers without quotes.
            Some(Value::Number(number)) if is_optional => number.to_string().into(),
            Some(other) => return Err(unusable(type_name(other))),
        };
        if text.trim().is_empty() && !is_optional {
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

    const WORD: TextArgument =
        TextArgument { name: "word", description: "A word.", expected: "a word", limit: 5, is_optional: false };

    fn refusal(arguments: &Value) -> String {
        WORD.of(arguments).expect_err("refused").to_string()
    }

    #[test]
    fn the_schema_says_what_fits_and_asks_for_nothing_endless() {
        let expected = r#"{"type":"object","properties":{"word":{"type":"string","description":"A word.","maxLength":5}},"required":["word"],"additionalProperties":false}"#;
        assert_eq!(parameters(&[WORD]).to_string(), expected);
        assert_eq!(parameters(&[TextArgument::path("A path.")])["properties"]["path"]["maxLength"], LONGEST_IN_SCHEMA);
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
