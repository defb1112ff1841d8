//! opencode: `opencode run --format json`.

use serde_json::{Value, json};

use dialectic_base::call::Tokens;
use dialectic_base::money::Usd;

use crate::{Listener, Request};

use super::transcript::{Transcript, UNSAID};
use super::workplace::Workplace;
use super::{count, text_at};

/// The agent that acts as a plain model.
const AGENT: &str = "dialectic";

/// The in-memory database discards the session.
pub(super) const ENVIRONMENT: &[(&str, &str)] = &[
    ("OPENCODE_DB", ":memory:"),
    ("OPENCODE_DISABLE_AUTOCOMPACT", "1"),
    ("OPENCODE_DISABLE_AUTOUPDATE", "1"),
    ("OPENCODE_DISABLE_CLAUDE_CODE", "1"),
    ("OPENCODE_DISABLE_EXTERNAL_SKILLS", "1"),
    ("OPENCODE_DISABLE_LSP_DOWNLOAD", "1"),
    ("OPENCODE_DISABLE_PROJECT_CONFIG", "1"),
    ("OPENCODE_DISABLE_SHARE", "1"),
    ("OPENCODE_PURE", "1"),
];

/// The variable with a configuration that overrides all others.
pub(super) const CONFIGURATION: &str = "OPENCODE_CONFIG_CONTENT";

/// An agent with our system text and without tools.
pub(super) fn configuration(request: &Request) -> String {
    let agent = json!({
        "mode": "primary",
        "prompt": &*request.system,
        "tools": { "*": false },
        "permission": { "*": "deny" },
    });
    json!({
        "agent": { AGENT: agent },
        "permission": { "*": "deny" },
        "tools": { "*": false },
        "share": "disabled",
        "autoupdate": false,
        "snapshot": false,
        "mcp": {},
        "instructions": [],
    })
    .to_string()
    // The program substitutes files and variables for these before it parses the JSON.
    .replace("{file:", "\\u007bfile:")
    .replace("{env:", "\\u007benv:")
}

pub(super) fn arguments(request: &Request, _: &Workplace) -> Vec<String> {
    // With our title the program does not ask a model for one.
    let fixed = ["run", "--format=json", "--pure", "--title=dialectic"];
    let mut arguments: Vec<String> = fixed.map(str::to_owned).into();
    arguments.extend([format!("--agent={AGENT}"), format!("--model={}", request.model)]);
    arguments
}

pub(super) fn read(line: &Value, heard: &mut Transcript, listener: &dyn Listener) {
    let part = &line["part"];
    match line["type"].as_str() {
        Some("text") => heard.say(part["text"].as_str().unwrap_or_default(), listener),
        Some("tool_use") => heard.tool = Some(text_at(part, "/tool").unwrap_or_else(|| "a tool".to_owned())),
        Some("step_finish") => {
            let reason = text_at(part, "/reason");
            heard.is_complete = true;
            if reason.as_deref() == Some("tool-calls") {
                heard.tool.get_or_insert_with(|| "a tool".to_owned());
            }
            heard.finish = Some(reason.map_or_else(|| UNSAID.to_owned(), |word| word.replace('-', "_")));
            heard.tokens = match (heard.tokens, tokens(&part["tokens"])) {
                (Some(before), Some(more)) => Some(before + more),
                (before, more) => before.or(more),
            };
            let cost = part["cost"].as_f64().map(Usd::from_dollars);
            heard.cost = heard.cost.into_iter().chain(cost).reduce(|sum, one| sum + one);
        }
        Some("error") => {
            let said = text_at(&line["error"], "/data/message").or_else(|| text_at(&line["error"], "/name"));
            heard.error = Some(said.unwrap_or_else(|| "no further reason".to_owned()));
            let status = line["error"]["data"]["statusCode"].as_u64();
            heard.status = status.and_then(|status| u16::try_from(status).ok());
        }
        Some(_) | None => {}
    }
}

/// The program's input excludes cached tokens, and its output excludes thoughts.
fn tokens(tokens: &Value) -> Option<Tokens> {
    let (read, written) = (count(&tokens["cache"], "read"), count(&tokens["cache"], "write"));
    let (read, written) = (read.unwrap_or_default(), written.unwrap_or_default());
    Some(Tokens {
        input_tokens: count(tokens, "input")? + read + written,
        cached_input_tokens: read,
        cache_write_tokens: written,
        cache_write_hour_tokens: 0,
        output_tokens: count(tokens, "output")? + count(tokens, "reasoning").unwrap_or_default(),
    })
}
