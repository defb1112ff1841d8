//! The user's own programs: the answer is their whole output, or a value in their JSON output.

use serde_json::Value;

use dialectic_base::call::Tokens;
use dialectic_base::money::Usd;
use dialectic_base::program::{ProgramOutput, ProgramSettings};

use crate::{Listener, Request};

use super::text_at;
use super::transcript::Transcript;

/// Its own arguments with the model inserted, and the output limit if it takes one.
pub(super) fn arguments(own: &[String], settings: &ProgramSettings, request: &Request) -> Vec<String> {
    let mut arguments: Vec<String> = own.iter().map(|one| one.replace("{model}", &request.model)).collect();
    if let (Some(option), Some(limit)) = (&settings.max_tokens_arg, request.max_tokens) {
        arguments.extend([option.clone(), limit.to_string()]);
    }
    arguments
}

/// A line of text is part of the answer.
pub(super) fn read_line(line: &str, heard: &mut Transcript, listener: &dyn Listener) {
    let line = if heard.has_spoken() { format!("\n{line}") } else { line.to_owned() };
    heard.say(&line, listener);
}

/// Parses the whole output. For plain text, only the exit code tells whether it is complete.
pub(super) fn conclude(printed: &str, settings: &ProgramSettings, heard: &mut Transcript) {
    if settings.output != Some(ProgramOutput::Json) {
        heard.is_complete = true;
        return;
    }
    let Ok(all) = serde_json::from_str::<Value>(printed) else {
        heard.error = Some("its output is not JSON".to_owned());
        return;
    };
    let at = |pointer: &Option<String>| all.pointer(pointer.as_deref()?);
    heard.is_complete = true;
    heard.whole = settings.text.as_ref().and_then(|pointer| text_at(&all, pointer));
    let failed = at(&settings.error).filter(|said| !matches!(said, Value::Null | Value::Bool(false)) && *said != "");
    if let Some(said) = failed {
        let words = said.as_str().map(str::to_owned).or_else(|| heard.whole.clone());
        heard.error = Some(words.unwrap_or_else(|| said.to_string()));
    } else if heard.whole.is_none() {
        let pointer = settings.text.as_deref().unwrap_or_default();
        heard.error = Some(format!("its output has no text at `{pointer}`"));
    }
    // A sum needs all of its figures.
    let sum = |pointers: &[String]| {
        let counts = pointers.iter().map(|pointer| all.pointer(pointer)?.as_u64());
        counts.sum::<Option<u64>>().filter(|_| !pointers.is_empty())
    };
    let tokens = sum(&settings.input_tokens).zip(sum(&settings.output_tokens));
    heard.tokens =
        tokens.map(|(input_tokens, output_tokens)| Tokens { input_tokens, output_tokens, ..Tokens::default() });
    heard.cost = at(&settings.cost_usd).and_then(Value::as_f64).map(Usd::from_dollars);
}
