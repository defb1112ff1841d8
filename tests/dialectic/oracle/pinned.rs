//! Requests and states as lines that a person can read and compare.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::support::{Incoming, Purpose};

use super::Call;

/// Holds a text to the file of that name, or writes it there if `UPDATE_ORACLE` is set.
pub(super) fn compare(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/oracle").join(name).with_extension("txt");
    if std::env::var_os("UPDATE_ORACLE").is_some() {
        std::fs::write(&path, text).expect("the directory of the pinned debates can be written");
        return;
    }
    let pinned = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let only_in = |one: &str, other: &str, sign: char| -> String {
        let other: Vec<&str> = other.lines().collect();
        let only = one.lines().filter(|line| !other.contains(line));
        only.fold(String::new(), |text, line| text + &format!("{sign} {line}\n"))
    };
    let changed = only_in(&pinned, text, '-') + &only_in(text, &pinned, '+');
    assert!(pinned == text, "{} (UPDATE_ORACLE=1 writes it anew):\n{changed}", path.display());
}

/// A line for each request, in the order of the debate: which call, what it may use, and the digest of all its texts.
pub(super) fn requests(requests: &[Arc<Incoming>], home: &str) -> String {
    let mut lines: Vec<_> = requests.iter().map(|request| (Call::of(request), line(request, home))).collect();
    lines.sort();
    let mut text = format!("{} requests\n", lines.len());
    text.extend(lines.into_iter().map(|(_, line)| line + "\n"));
    text
}

fn line(request: &Incoming, home: &str) -> String {
    let Call { round, purpose, agent, target } = Call::of(request);
    let mut call = format!("r{round} {} {agent}", phase(purpose));
    if let Some(target) = target {
        let _ = write!(call, " of {target}");
    }
    let said = |role: &str| request.messages.iter().filter(|message| message.role == role).count();
    for (count, what) in [(request.tool_results().len(), "results"), (said("assistant"), "answers")] {
        if count > 0 {
            let _ = write!(call, " +{count} {what}");
        }
    }
    let messages = request.messages.iter().map(|message| format!("{}\n{}\n", message.role, message.text));
    let texts = messages.collect::<String>().replace(home, "[directory]");
    let mut options = vec![format!("temperature {}", request.body["temperature"])];
    options.extend(request.max_tokens().map(|limit| format!("at most {limit}")));
    options.extend(request.schema().map(|schema| format!("schema {}", digest(&schema.to_string()))));
    options.extend((!request.tools().is_empty()).then(|| format!("tools {}", request.tools().join(" "))));
    format!("{call:<52} {:<18} {}, {}", request.model(), measured(&texts), options.join(", "))
}

fn phase(purpose: Purpose) -> &'static str {
    match purpose {
        Purpose::Clarify => "clarification",
        Purpose::Propose => "proposal",
        Purpose::Critique => "critique",
        Purpose::Refine => "refinement",
        Purpose::Summarize => "summary",
        Purpose::Confidence => "score",
        Purpose::Vote => "vote",
        Purpose::Synthesize => "synthesis",
        Purpose::Assess => "assessment",
        Purpose::Evaluate | Purpose::Text => "unknown",
    }
}

/// The state without times: what was said by length and digest, all else as it stands.
pub(super) fn state(state: &Value) -> String {
    let mut text =
        format!("state {}, round {}, node {}\n", state["status"], state["currentRound"], state["currentNode"]);
    for one in items(&state["clarifications"]) {
        for item in items(&one["items"]) {
            put(&mut text, 0, "question", &[&one["agentId"], &item["id"], &item["question"], &item["answer"]]);
        }
    }
    for round in items(&state["rounds"]) {
        let timed_out = if round["timedOut"] == true { ", ran into its limit" } else { "" };
        let _ = writeln!(text, "round {}{timed_out}", round["roundNumber"]);
        for summary in round["summaries"].as_object().into_iter().flat_map(|summaries| summaries.values()) {
            summarized(&mut text, summary);
        }
        for one in items(&round["contributions"]) {
            contributed(&mut text, one);
        }
        if !round["evaluation"].is_null() {
            put(&mut text, 2, "evaluation", &[&round["evaluation"]]);
        }
    }
    if !state["judgeSummary"].is_null() {
        summarized(&mut text, &state["judgeSummary"]);
    }
    let mut solution = state["finalSolution"].clone();
    if !solution.is_null() {
        solution["description"] = digested(&solution["description"]);
    }
    let whole = [
        ("voting", &state["voting"]),
        ("solution", &solution),
        ("limit", &state["outputLimit"]),
        ("error", &state["error"]),
    ];
    for (name, value) in whole.into_iter().filter(|(_, value)| !value.is_null()) {
        put(&mut text, 0, name, &[value]);
    }
    for failure in items(&state["failures"]) {
        let keys = ["round", "phase", "agentId", "targetAgentId", "kind", "attempts", "error"];
        put(&mut text, 0, "failure", &keys.map(|key| &failure[key]));
    }
    for cut in items(&state["cuts"]) {
        put(&mut text, 0, "cut", &[cut]);
    }
    for (model, usage) in state["usage"].as_object().into_iter().flatten() {
        put(&mut text, 0, &format!("usage {model}"), &[usage]);
    }
    put(&mut text, 0, "outcome", &[&state["outcome"]["kind"]]);
    for reason in items(&state["outcome"]["reasons"]) {
        put(&mut text, 2, "because", &[reason]);
    }
    text
}

fn contributed(text: &mut String, one: &Value) {
    let name = |key: &str| one[key].as_str().unwrap_or_default();
    let target = one["targetAgentId"].as_str().map(|target| format!(" of {target}")).unwrap_or_default();
    let said = measured(name("content"));
    let _ = write!(text, "  {} {}{target} {said}", name("type"), name("agentId"));
    let figures = [
        "model",
        "inputTokens",
        "outputTokens",
        "tokensUsed",
        "attempts",
        "confidence",
        "truncated",
        "filtered",
        "toolCalls",
        "toolResults",
        "toolCallIterations",
    ];
    for (key, value) in
        figures.map(|key| (key, &one["metadata"][key])).into_iter().filter(|(_, value)| !value.is_null())
    {
        let texts = |key: &str| items(value).iter().map(|one| one[key].to_string()).collect::<String>();
        let shown = match key {
            // Their ids are the server's, which counts all requests.
            "toolCalls" => digest(&(texts("name") + &texts("arguments"))),
            "toolResults" => digest(&texts("content")),
            _ => value.to_string(),
        };
        let _ = write!(text, ", {key} {shown}");
    }
    text.push('\n');
}

fn summarized(text: &mut String, summary: &Value) {
    let metadata = &summary["metadata"];
    let figures = ["beforeChars", "afterChars", "cut"].map(|key| &metadata[key]);
    put(text, 2, "summary", &[&summary["agentId"], &digested(&summary["summary"]), figures[0], figures[1], figures[2]]);
}

/// A line of values; a text without its quotes, what is not there as a dash.
fn put(text: &mut String, indent: usize, name: &str, values: &[&Value]) {
    let _ = write!(text, "{:indent$}{name}", "");
    for value in values {
        let _ = match value {
            Value::String(value) => write!(text, " {value}"),
            Value::Null => write!(text, " -"),
            other => write!(text, " {other}"),
        };
    }
    text.push('\n');
}

fn items(list: &Value) -> &[Value] {
    list.as_array().map_or(&[], Vec::as_slice)
}

fn digested(text: &Value) -> Value {
    text.as_str().map_or(Value::Null, |text| measured(text).into())
}

fn measured(text: &str) -> String {
    format!("{} chars {}", text.chars().count(), digest(text))
}

/// The first 16 hexadecimal digits of a SHA-256.
fn digest(text: &str) -> String {
    Sha256::digest(text.as_bytes())[..8].iter().fold(String::new(), |hex, byte| hex + &format!("{byte:02x}"))
}
