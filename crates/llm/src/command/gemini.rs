//! Gemini CLI: `gemini --output-format stream-json`.

use serde_json::{Value, json};

use dialectic_base::call::Tokens;

use crate::{Listener, Request};

use super::transcript::Transcript;
use super::workplace::Workplace;
use super::{count, text_at};

pub(super) const ENVIRONMENT: &[(&str, &str)] = &[("GEMINI_CLI_NO_RELAUNCH", "true"), ("SANDBOX", "dialectic")];

/// The variables with its home, for settings and history, and with the system text.
pub(super) const HOME: &str = "GEMINI_CLI_HOME";
pub(super) const SYSTEM: &str = "GEMINI_SYSTEM_MD";

/// Settings for a plain model: no tools, no servers, no second request.
pub(super) fn settings() -> String {
    json!({
        "security": { "auth": { "selectedType": "gemini-api-key" } },
        "general": { "enableAutoUpdate": false, "maxAttempts": 1, "retryFetchErrors": false,
            "sessionRetention": { "enabled": false } },
        "tools": { "core": ["none"] },
        "mcpServers": {},
        "mcp": { "allowed": [] },
        "skills": { "enabled": false },
        "hooksConfig": { "enabled": false },
        "experimental": { "enableAgents": false },
        "context": { "fileName": ["DIALECTIC-HAS-NONE.md"], "includeDirectoryTree": false, "discoveryMaxDirs": 0 },
        "model": { "maxSessionTurns": 1, "skipNextSpeakerCheck": true },
        "privacy": { "usageStatisticsEnabled": false },
        "telemetry": { "enabled": false },
    })
    .to_string()
}

pub(super) fn arguments(request: &Request, _: &Workplace) -> Vec<String> {
    let fixed = ["--skip-trust", "--output-format=stream-json", "--approval-mode=plan", "--extensions=none"];
    let mut arguments: Vec<String> = fixed.map(str::to_owned).into();
    arguments.push(format!("--model={}", request.model));
    arguments
}

pub(super) fn read(line: &Value, heard: &mut Transcript, listener: &dyn Listener) {
    match line["type"].as_str() {
        Some("init") => heard.served_model = text_at(line, "/model"),
        Some("message") if line["role"] == "assistant" => {
            heard.say(line["content"].as_str().unwrap_or_default(), listener);
        }
        Some("tool_use" | "tool_result") => {
            heard.tool = Some(text_at(line, "/tool_name").unwrap_or_else(|| "a tool".to_owned()));
        }
        Some("error") if line["severity"] != "warning" => heard.error = text_at(line, "/message"),
        Some("result") => {
            let stats = &line["stats"];
            if line["status"] == "success" {
                heard.is_complete = true;
            } else {
                let said = text_at(line, "/error/message");
                heard.error = Some(said.unwrap_or_else(|| "no further reason".to_owned()));
            }
            if count(stats, "tool_calls").is_some_and(|calls| calls > 0) {
                heard.tool.get_or_insert_with(|| "a tool".to_owned());
            }
            heard.tokens = tokens(stats);
            if let Some(models) = stats["models"].as_object().filter(|models| models.len() == 1) {
                heard.served_model = models.keys().next().cloned();
            }
        }
        // The final error on its standard error.
        None if line["error"]["message"].is_string() => heard.error = text_at(line, "/error/message"),
        Some(_) | None => {}
    }
}

/// `output_tokens` omits thoughts, which are billed as output: the total includes them.
fn tokens(stats: &Value) -> Option<Tokens> {
    let input = count(stats, "input_tokens")?;
    Some(Tokens {
        input_tokens: input,
        cached_input_tokens: count(stats, "cached").unwrap_or_default(),
        output_tokens: count(stats, "total_tokens")?.saturating_sub(input),
        ..Tokens::default()
    })
}
