//! Claude Code: `claude -p --output-format stream-json`.

use serde_json::Value;

use dialectic_base::call::Tokens;
use dialectic_base::money::Usd;

use crate::{Listener, Request};

use super::preset::{Ask, Login, ProgramPreset, Workplace};
use super::transcript::{Transcript, UNSAID, count, json_in, text_at};

pub(super) const PROGRAM: ProgramPreset = ProgramPreset {
    name: "claude",
    tested: &["2.1.197", "2.1.331", "2.1.332"],
    unsafe_versions: &[],
    default_model: "sonnet",
    vendor: "anthropic",
    requests: 1,
    overhead: 4_000,
    arguments,
    read,
    environment: ENVIRONMENT,
    output_limit: Some("CLAUDE_CODE_MAX_OUTPUT_TOKENS"),
    takes_schemas: false,
    login,
    help: &["--help"],
    fence: &FENCE,
    stuck: |_| None,
};

/// Disables features for which there is no command-line argument. The first variable keeps the program from reading a
/// file if a text contains `@/file`.
const ENVIRONMENT: &[(&str, &str)] = &[
    ("CLAUDE_CODE_DISABLE_ATTACHMENTS", "1"),
    ("CLAUDE_CODE_DISABLE_AUTO_MEMORY", "1"),
    ("CLAUDE_CODE_DISABLE_BACKGROUND_TASKS", "1"),
    ("CLAUDE_CODE_DISABLE_BUNDLED_SKILLS", "1"),
    ("CLAUDE_CODE_DISABLE_CLAUDE_MDS", "1"),
    ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
    ("CLAUDE_CODE_DISABLE_NONSTREAMING_FALLBACK", "1"),
    ("CLAUDE_CODE_DISABLE_POLICY_SKILLS", "1"),
    ("CLAUDE_CODE_DISABLE_REFUSAL_FALLBACK", "1"),
    ("CLAUDE_CODE_MAX_RETRIES", "0"),
    ("CLAUDE_CODE_SKIP_PROMPT_HISTORY", "1"),
    ("DISABLE_AUTOUPDATER", "1"),
];

const FENCE: [&str; 5] =
    ["--tools=", "--strict-mcp-config", "--setting-sources=", "--disable-slash-commands", "--no-chrome"];

/// Values of `apiKeySource` that mean that the program uses its own login.
const LOGINS: [&str; 2] = ["none", "oauth"];

fn login(ask: Ask<'_>, _: bool) -> Login {
    let said = json_in(&ask(&["auth", "status"], None)).unwrap_or_default();
    let is_subscription = said["authMethod"] == "claude.ai" && said["subscriptionType"].is_string();
    match said["loggedIn"].as_bool() {
        Some(true) if is_subscription => Login::Subscription,
        Some(true) => Login::Account,
        Some(false) => Login::Nobody,
        None => Login::Unsaid,
    }
}

fn arguments(request: &Request, place: &Workplace) -> Vec<String> {
    let fixed = [
        "-p",
        "--output-format=stream-json",
        "--verbose",
        "--include-partial-messages",
        "--no-session-persistence",
        "--max-turns=1",
    ];
    let mut arguments: Vec<String> = fixed.into_iter().chain(FENCE).map(str::to_owned).collect();
    arguments.push(format!("--system-prompt-file={}", place.system().display()));
    arguments.push(format!("--model={}", request.model));
    arguments
}

fn read(line: &Value, heard: &mut Transcript, listener: &dyn Listener) {
    match line["type"].as_str() {
        Some("system") if line["subtype"] == "init" => {
            heard.served_model = text_at(line, "/model");
            // If the program uses a key, the key's account pays instead of the subscription.
            heard.is_overage |= line["apiKeySource"].as_str().is_some_and(|source| !LOGINS.contains(&source));
            for list in ["tools", "mcp_servers"] {
                if let Some(first) = line[list].as_array().and_then(|all| all.first()) {
                    let name = first.as_str().or_else(|| first["name"].as_str()).unwrap_or(list);
                    heard.tool = Some(name.to_owned());
                }
            }
        }
        Some("stream_event") => {
            let event = &line["event"];
            match event["type"].as_str() {
                Some("message_start") => heard.read = tokens(&event["message"]["usage"]),
                Some("content_block_start") => note_tool(&event["content_block"], heard),
                Some("content_block_delta") => heard.say(event["delta"]["text"].as_str().unwrap_or_default(), listener),
                // Stop here, because the program would continue the answer itself, up to three times.
                Some("message_delta") if event["delta"]["stop_reason"] == "max_tokens" => {
                    let (written, known) = (count(&event["usage"], "output_tokens"), heard.read);
                    heard.tokens = known.zip(written).map(|(all, output_tokens)| Tokens { output_tokens, ..all });
                    heard.finish = Some("max_tokens".to_owned());
                    heard.is_over = true;
                }
                Some(_) | None => {}
            }
        }
        Some("assistant" | "user") => {
            for block in line["message"]["content"].as_array().into_iter().flatten() {
                note_tool(block, heard);
            }
        }
        Some("rate_limit_event") => {
            let info = &line["rate_limit_info"];
            heard.is_overage |= info["isUsingOverage"] == true;
            if info["status"] == "rejected" {
                let at = info["resetsAt"].as_i64();
                heard.is_limited = true;
                heard.limited_until = at.and_then(|seconds| chrono::DateTime::from_timestamp(seconds, 0));
            }
        }
        Some("result") => result(line, heard),
        Some(_) | None => {}
    }
}

fn note_tool(block: &Value, heard: &mut Transcript) {
    let kind = block["type"].as_str().unwrap_or_default();
    if kind.ends_with("tool_use") || kind.ends_with("tool_result") {
        heard.tool = Some(text_at(block, "/name").unwrap_or_else(|| kind.to_owned()));
    }
}

/// Reads the last line. `subtype` is `success` even for failures, so `is_error` decides.
fn result(line: &Value, heard: &mut Transcript) {
    let text = text_at(line, "/result");
    if line["is_error"] == true {
        let of_list = || text_at(line, "/errors/0");
        heard.error = Some(text.or_else(of_list).unwrap_or_else(|| "no reason given".to_owned()));
        heard.status = line["api_error_status"].as_u64().and_then(|status| u16::try_from(status).ok());
    } else {
        heard.whole = text;
        heard.is_complete = true;
    }
    heard.finish = text_at(line, "/stop_reason").or_else(|| Some(UNSAID.to_owned()));
    heard.cost = line["total_cost_usd"].as_f64().map(Usd::from_dollars);
    let usage = &line["usage"];
    heard.tokens = tokens(usage);
    if let Some(model) = line["modelUsage"].as_object().filter(|models| models.len() == 1) {
        heard.served_model = model.keys().next().cloned();
    }
}

fn tokens(usage: &Value) -> Option<Tokens> {
    let (read, written) = (count(usage, "cache_read_input_tokens"), count(usage, "cache_creation_input_tokens"));
    let (read, written) = (read.unwrap_or_default(), written.unwrap_or_default());
    Some(Tokens {
        input_tokens: count(usage, "input_tokens")? + read + written,
        cached_input_tokens: read,
        cache_write_tokens: written,
        cache_write_hour_tokens: count(&usage["cache_creation"], "ephemeral_1h_input_tokens").unwrap_or_default(),
        output_tokens: count(usage, "output_tokens")?,
    })
}
