//! States that earlier installations wrote.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use dialectic_record::debate::Debate;

/// The saved states under `tests/fixtures`, sorted by name.
pub(crate) fn states() -> Vec<(PathBuf, String)> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let entries = std::fs::read_dir(directory).unwrap();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    paths.sort();
    paths.into_iter().map(|path| (path.clone(), std::fs::read_to_string(path).unwrap())).collect()
}

#[test]
fn every_saved_state_survives_being_loaded_and_written() {
    let states = states();
    assert_eq!(states.len(), 2, "a fixture was lost, or one was added without this being noticed");
    for (path, text) in states {
        let debate: Debate = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let written = serde_json::to_value(debate).unwrap();
        let differences = differences(&serde_json::from_str(&text).unwrap(), &written);
        assert!(differences.is_empty(), "{}:\n{}", path.display(), differences.join("\n"));
    }
}

/// The fixtures lack what was never used there. This state has every field once.
#[test]
fn every_field_of_the_format_survives_being_loaded_and_written() {
    let at = "2025-01-01T01:02:03.000Z";
    let summary = json!({
        "agentId": "a", "agentRole": "kiss", "summary": "short", "metadata": {
            "beforeChars": 6000, "afterChars": 2400, "method": "length-based", "timestamp": at, "latencyMs": 1,
            "tokensUsed": 1, "model": "gpt-4", "temperature": 0.5, "provider": "openai",
        },
    });
    let contribution = json!({
        "agentId": "a", "agentRole": "kiss", "type": "critique", "content": "no", "targetAgentId": "b", "metadata": {
            "tokensUsed": 123, "latencyMs": 456, "model": "gpt-4", "servedModel": "gpt-4-0613", "inputTokens": 100,
            "cachedInputTokens": 0, "outputTokens": 23, "attempts": 1, "truncated": true, "toolCallIterations": 1,
            "toolCalls": [{"id": "c", "name": "file_read", "arguments": "{}"}],
            "toolResults": [{"tool_call_id": "c", "role": "tool", "content": "{}"}],
        },
    });
    let state = json!({
        "formatVersion": 1, "id": "deb-20250101-010203-ab12", "problem": "p", "context": "c", "status": "paused",
        "currentRound": 1,
        "rounds": [{
            "roundNumber": 1, "contributions": [contribution], "summaries": {"a": summary}, "timedOut": true,
            "evaluation": {"type": "convergence", "score": null, "threshold": 80}, "timestamp": at,
        }],
        "clarifications": [{
            "agentId": "a", "agentName": "A", "role": "kiss",
            "items": [{"id": "q1", "question": "?", "answer": "NA"}],
        }],
        "clarificationIterations": 1,
        "finalSolution": {
            "description": "d", "implementation": "i", "tradeoffs": ["t"], "recommendations": ["r"], "confidence": 82,
            "synthesizedBy": "judge-main", "unfulfilledMajorRequirements": ["u"], "openQuestions": ["o"],
            "parseError": "e",
        },
        "judgeSummary": summary,
        "promptSources": {
            "agents": [{"agentId": "a", "role": "kiss", "source": "file", "path": "/p.md"}],
            "judge": {
                "id": "judge-main", "source": "file", "path": "/j.md", "summarySource": "built-in",
                "summaryPath": "/s.md",
            },
        },
        "suspendedAtNode": "clarification-input", "suspendedAt": at, "userFeedback": 1,
        "currentNode": "critique", "seed": 7,
        "failures": [{
            "agentId": "a", "phase": "critique", "round": 1, "targetAgentId": "b", "error": "e", "attempts": 4, "at": at,
        }],
        "usage": {"gpt-4": {
            "requests": 9, "inputTokens": 1, "cachedInputTokens": 0, "outputTokens": 1, "costUsd": 0.01,
        }},
        "stopReason": "budget", "error": "e", "outcome": {"kind": "degraded", "reasons": ["r"]},
        "createdAt": at, "updatedAt": at,
    });
    let debate: Debate = serde_json::from_value(state.clone()).unwrap();
    assert_eq!(differences(&state, &serde_json::to_value(debate).unwrap()), Vec::<String>::new());
}

fn differences(read: &Value, written: &Value) -> Vec<String> {
    let mut differences = Vec::new();
    compare(read, written, "", &mut differences);
    differences
}

/// Every place where the two differ. Numbers are compared as JSON has them: 82 and 82.0 are one number.
fn compare(read: &Value, written: &Value, place: &str, differences: &mut Vec<String>) {
    match (read, written) {
        (Value::Object(read), Value::Object(written)) => {
            for (name, value) in read {
                match written.get(name) {
                    Some(written) => compare(value, written, &format!("{place}/{name}"), differences),
                    None => differences.push(format!("{place}/{name} was lost")),
                }
            }
            let added = written.keys().filter(|name| !read.contains_key(*name));
            differences.extend(added.map(|name| format!("{place}/{name} was added")));
        }
        (Value::Array(read), Value::Array(written)) if read.len() == written.len() => {
            for (position, (read, written)) in read.iter().zip(written).enumerate() {
                compare(read, written, &format!("{place}/{position}"), differences);
            }
        }
        (Value::Number(read), Value::Number(written)) if read.as_f64() == written.as_f64() => {}
        (read, written) if read == written => {}
        (read, written) => differences.push(format!("{place}: {read} became {written}")),
    }
}

#[test]
fn the_comparison_sees_what_is_lost_added_and_changed() {
    let read = json!({"a": [1, {"b": "x"}], "c": 2, "d": null});
    let written = json!({"a": [1.0, {"b": "y"}], "d": null, "e": 3});
    assert_eq!(differences(&read, &written), ["/a/1/b: \"x\" became \"y\"", "/c was lost", "/e was added"]);
}
