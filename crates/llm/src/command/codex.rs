//! Codex: `codex exec --json`.

use serde_json::Value;

use dialectic_base::call::Tokens;

use crate::{Listener, Request};

use super::preset::{Ask, Login, ProgramPreset, Workplace};
use super::transcript::{Transcript, count, text_at};

pub(super) const PROGRAM: ProgramPreset = ProgramPreset {
    name: "codex",
    tested: &["0.169.0", "0.171.0"],
    unsafe_versions: &[],
    default_model: "gpt-5.6-luna",
    vendor: "openai",
    requests: 6,
    overhead: 8_000,
    arguments,
    read,
    environment: &[],
    output_limit: None,
    takes_schemas: true,
    login,
    help: &["exec", "--help"],
    fence: &FENCE,
    stuck,
};

const FENCE: [&str; 3] = ["--sandbox=read-only", "--ignore-user-config", "--ignore-rules"];

/// Features that give a model tools.
const TOOLS: [&str; 14] = [
    "apps",
    "browser_use",
    "code_mode_host",
    "computer_use",
    "goals",
    "hooks",
    "image_generation",
    "multi_agent",
    "plugins",
    "shell_tool",
    "skill_search",
    "sleep_tool",
    "tool_suggest",
    "view_image",
];

/// Other features that a call does not need. Switching off `unified_exec` has no effect, but without `shell_tool` it
/// provides no tool.
const OTHER_FEATURES: [&str; 4] =
    ["shell_snapshot", "unbounded_connection_retries", "unified_exec", "workspace_dependencies"];

/// Kinds of items that involve no tool.
const PLAIN: [&str; 3] = ["agent_message", "reasoning", "error"];

/// How the user is logged in. Unknown if the user configured extra arguments, which may select a key or another
/// provider.
fn login(ask: Ask<'_>, has_arguments: bool) -> Login {
    if has_arguments {
        return Login::Unsaid;
    }
    let said = ask(&["login", "status"], None);
    if said.contains("Logged in using ChatGPT") {
        Login::Subscription
    } else if said.contains("Logged in") {
        Login::Account
    } else if said.contains("Not logged in") {
        Login::Nobody
    } else {
        Login::Unsaid
    }
}

/// The first tool-disabling switch that has no effect. A row of the program's feature list is `name  stage
/// true|false`; switching off a feature in the stage `removed` does nothing.
fn stuck(ask: Ask<'_>) -> Option<String> {
    let list = |switches: Vec<String>| {
        let arguments: Vec<&str> = switches.iter().map(String::as_str).chain(["features", "list"]).collect();
        ask(&arguments, Some("CODEX_HOME"))
    };
    let row = |listed: &str, feature: &str| {
        let mut words = listed.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
        let row = words.rfind(|words| words.first() == Some(&feature))?;
        Some((row.contains(&"removed"), *row.last()? != "false"))
    };
    let (usual, off) = (list(Vec::new()), list(switched_off().collect()));
    let stuck = TOOLS.into_iter().find(|feature| {
        let (usual, off) = (row(&usual, feature), row(&off, feature));
        usual.is_none_or(|(is_removed, is_on)| is_removed && is_on) || off.is_none_or(|(_, is_on)| is_on)
    })?;
    Some(format!("--config=features.{stuck}=false"))
}

fn switched_off() -> impl Iterator<Item = String> {
    TOOLS.iter().chain(&OTHER_FEATURES).map(|feature| format!("--config=features.{feature}=false"))
}

fn arguments(request: &Request, place: &Workplace) -> Vec<String> {
    let fixed = ["exec", "--json", "--skip-git-repo-check", "--ephemeral", "--color=never"];
    let mut arguments: Vec<String> = fixed.into_iter().chain(FENCE).map(str::to_owned).collect();
    arguments.extend(switched_off());
    let system = place.system();
    for setting in [
        "web_search=\"disabled\"".to_owned(),
        "project_doc_max_bytes=0".to_owned(),
        "history.persistence=\"none\"".to_owned(),
        "include_apps_instructions=false".to_owned(),
        "include_collaboration_mode_instructions=false".to_owned(),
        "include_environment_context=false".to_owned(),
        "include_permissions_instructions=false".to_owned(),
        "skills.include_instructions=false".to_owned(),
        "skills.bundled.enabled=false".to_owned(),
        "tools.experimental_request_user_input.enabled=false".to_owned(),
        format!("model_instructions_file=\"{}\"", system.display()),
    ] {
        arguments.push(format!("--config={setting}"));
    }
    if request.answer.is_some() {
        arguments.push(format!("--output-schema={}", place.schema().display()));
    }
    arguments.push(format!("--model={}", request.model));
    arguments.push("-".to_owned());
    arguments
}

fn read(line: &Value, heard: &mut Transcript, listener: &dyn Listener) {
    match line["type"].as_str() {
        Some("item.started" | "item.updated" | "item.completed") => {
            let item = &line["item"];
            let kind = item["type"].as_str().unwrap_or("an item without a kind");
            if !PLAIN.contains(&kind) {
                heard.tool = Some(kind.to_owned());
            } else if kind == "agent_message"
                && line["type"] == "item.completed"
                && let Some(text) = item["text"].as_str()
            {
                // Only the last message is the answer.
                heard.say(text, listener);
                heard.whole = Some(text.to_owned());
            }
        }
        // The program also reports an error when it retries a connection, so only the end of the turn shows whether the
        // call failed.
        Some("error") => heard.error = text_at(line, "/message"),
        Some("turn.failed") => {
            heard.error = text_at(line, "/error/message").or_else(|| Some("the turn failed".to_owned()));
        }
        Some("turn.completed") => {
            (heard.error, heard.is_complete) = (None, true);
            heard.tokens = tokens(&line["usage"]);
        }
        Some(_) | None => {}
    }
}

fn tokens(usage: &Value) -> Option<Tokens> {
    Some(Tokens {
        input_tokens: count(usage, "input_tokens")?,
        cached_input_tokens: count(usage, "cached_input_tokens").unwrap_or_default(),
        cache_write_tokens: count(usage, "cache_write_input_tokens").unwrap_or_default(),
        cache_write_hour_tokens: 0,
        output_tokens: count(usage, "output_tokens")?,
    })
}
