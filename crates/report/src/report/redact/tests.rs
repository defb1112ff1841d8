use serde_json::{Value, json};

use super::*;
use crate::report::{View, html, markdown};
use dialectic_record::debate::fixture::argued;

/// Values that must not be shown, one for each place.
const MARKERS: [&str; 15] = [
    "MARK-ATTACHMENT-NAME",
    "MARK-ATTACHMENT-TEXT",
    "MARK-DIGEST",
    "MARK-ARGUMENTS",
    "MARK-RESULT",
    "MARK-CHECK-ARGUMENTS",
    "MARK-CHECK-RESULT",
    "MARK-BASE",
    "MARK-CONTEXT",
    "MARK-SYSTEM-PROMPT",
    "MARK-SUMMARY-PROMPT",
    "MARK-SOURCE",
    "MARK-SERVER",
    "MARK-MATERIAL",
    "MARK-ERROR",
];

/// A debate with a marker in each place.
fn marked() -> Debate {
    let mut state = serde_json::to_value(argued()).unwrap();
    let tools = |what: &str| {
        let mark = |end: &str| format!("MARK-{what}{end}");
        let call =
            json!({"id": "c", "name": "file_read", "arguments": format!("{{\"path\":\"{}\"}}", mark("ARGUMENTS"))});
        let result = json!({"tool_call_id": "c", "role": "tool", "content": mark("RESULT")});
        (json!([call]), json!([result]))
    };
    let with_tools = |text: &mut Value, what: &str| {
        let (calls, results) = tools(what);
        text["metadata"]["toolCalls"] = calls;
        text["metadata"]["toolResults"] = results;
    };
    with_tools(&mut state["rounds"][0]["contributions"][0], "");
    let mut check = state["rounds"][0]["contributions"][0].clone();
    with_tools(&mut check, "CHECK-");
    state["checks"] = json!([check]);
    state["attachments"] =
        json!([{"name": "/MARK-ATTACHMENT-NAME.md", "sha256": "MARK-DIGEST", "text": "MARK-ATTACHMENT-TEXT"}]);
    let material = json!([{"source": "readme", "name": "MARK-MATERIAL.md", "text": "MARK-MATERIAL"}]);
    state["gathered"] = json!({"material": material, "standings": {"debates": 0}});
    let settings = &mut state["settings"];
    settings["baseDir"] = json!("/home/MARK-BASE");
    settings["contextDir"] = json!("/home/MARK-CONTEXT");
    settings["agents"][0]["systemPromptPath"] = json!("MARK-SYSTEM-PROMPT.md");
    settings["judge"]["summaryPromptPath"] = json!("MARK-SUMMARY-PROMPT.md");
    settings["debate"]["summarization"]["promptPath"] = json!("MARK-SUMMARY-PROMPT.md");
    settings["debate"]["arena"] = json!({"contextCommands": ["cat MARK-CONTEXT"]});
    settings["providers"] = json!({"local": {"baseUrl": "http://MARK-SERVER/v1"}});
    let agent = settings["agents"][0]["id"].clone();
    let source = json!({"agentId": agent, "role": "architect", "source": "file", "path": "/MARK-SOURCE.md"});
    state["promptSources"] = json!({"agents": [source], "judge": {"id": "judge-main", "source": "built-in"}});
    let error = "cannot read /srv/MARK-ERROR/x: the file /home/MARK-BASE is gone, and so is MARK-MATERIAL.md";
    state["error"] = json!(error);
    state["failures"] = json!([{"round": 1, "phase": "critique", "agentId": agent, "error": error, "attempts": 1,
        "at": "2025-01-01T01:02:03.000Z"}]);
    state["outcome"] = json!({"kind": "degraded", "reasons": [error]});
    serde_json::from_value(state).unwrap()
}

/// The HTML page and both kinds of Markdown.
fn written(view: &View<'_>) -> [String; 3] {
    let text = |has_usage| {
        let mut out = Vec::new();
        markdown(&view.clone().with_usage(has_usage), &mut out).unwrap();
        String::from_utf8(out).unwrap()
    };
    [html(view), text(false), text(true)]
}

fn redacted(mut debate: Debate) -> Debate {
    redact(&mut debate);
    debate
}

#[test]
fn nothing_of_the_machine_is_in_any_form_of_a_report() {
    let debate = marked();
    let record = serde_json::to_string(&debate).unwrap();
    assert!(MARKERS.iter().all(|marker| record.contains(marker)), "what the record lacks cannot be shown");
    let configured = debate.settings.clone();
    let debate = redacted(debate);
    for settings in [None, configured.as_ref()] {
        for report in written(&View::new(&debate, settings)) {
            let found: Vec<&str> = MARKERS.into_iter().filter(|marker| report.contains(marker)).collect();
            assert!(found.is_empty(), "{found:?}");
        }
    }
    let record = serde_json::to_string(&debate).unwrap();
    assert!(!record.contains("MARK-"), "{record}");
}

#[test]
fn texts_and_figures_stay() {
    let debate = argued();
    let shown = redacted(debate.clone());
    let rest = Debate { prompt_sources: None, settings: shown.settings.clone(), ..debate };
    assert_eq!(shown, rest);
    let [page, ..] = written(&View::new(&shown, None));
    for text in ["Failover", "A write that is in flight"] {
        assert!(page.contains(text));
    }
}

#[test]
fn words_that_are_paths_are_hidden() {
    for (said, shown) in [
        ("cannot read /etc/x.md: no such file", "cannot read [path] no such file"),
        ("`~/a b` (./c), \"..\\d\" and C:\\e\\f", "`[path] b` ([path]), \"[path]\" and [path]"),
        ("file:///home/x and prompts/roles/x.md", "[path] and [path]"),
        (
            "HTTP 500 of openai/gpt-5.6 at https://api.example/v1/x.json, and/or later",
            "HTTP 500 of openai/gpt-5.6 at [address], and/or later",
        ),
        ("/ é:\\x", "/ é:\\x"),
        ("C:/x C:\\x d:/ (C:/a/b) C:", "[path] [path] [path] ([path]) C:"),
        ("\\\\server\\share and //server/share", "[path] and [path]"),
        ("cwd:/x cwd:C:\\x path=~/x at:~/y", "[path] [path] path=[path] [path]"),
        ("~/x ~root/x $HOME/x %TEMP%\\x ~", "[path] [path] [path] [path] ~"),
        ("file:///x FILE:///x file://host/x", "[path] [path] [path]"),
        ("[/etc/x] prompts/x.md:12 said: no", "[path] [path] said: no"),
        ("maker/model:free, 12:30, a:b, 50%, $0.40/call", "maker/model:free, 12:30, a:b, 50%, $0.40/call"),
        (
            "refused (http://user:pass@10.0.0.3:8000): 10.0.0.3:8000 [::1]:80",
            "refused ([address]): [address] [address]",
        ),
    ] {
        assert_eq!(without_paths(said, &[], &[]), shown, "{said}");
    }
    assert_eq!(without_paths("in /My Own/x y", &["/My Own/x y".to_owned()], &[]), "in [path]");
    assert_eq!(without_paths("no host llm.corp found", &[], &["llm.corp".to_owned()]), "no host [address] found");
}

#[test]
fn servers_of_the_settings_are_known_by_host_and_port() {
    let mut state = serde_json::to_value(argued()).unwrap();
    state["settings"]["providers"] = json!({"a": {"baseUrl": "http://user:pass@llm.corp:8000/v1"}, "b": {"baseUrl": "http://box/v1"}, "c": {"baseUrl": "http://[fd00::1]/v1"}});
    state["error"] = json!("cannot reach llm.corp:8000 or llm.corp or [fd00::1], in a box[:1]");
    let debate: Debate = serde_json::from_value(state).unwrap();
    assert_eq!(redacted(debate).error.unwrap(), "cannot reach [address] or [address] or [address], in a box[:1]");
}
