use serde_json::json;

use super::{APIS, incoming, question, schema, with_schema};
use crate::support::{Api, Purpose, violations};

#[test]
fn both_apis_are_read_alike() {
    for api in APIS {
        let request = incoming(api, &question(api, "You are careful.", "What now?"));
        assert_eq!((request.system(), request.prompt()), ("You are careful.", "What now?"));
        assert_eq!(request.text(), "You are careful.What now?");
        assert_eq!((request.model(), request.api), ("gpt-4", Some(api)));
    }
    let [one, other] = APIS.map(|api| incoming(api, &question(api, "s", "p")).digest);
    assert_eq!(one, other, "the same question has the same digest");
    assert_ne!(one, incoming(Api::Chat, &question(Api::Chat, "s", "q")).digest);
}

#[test]
fn the_purpose_is_read_from_the_schema() {
    let cases: [(&[&str], Purpose); 6] = [
        (&["questions"], Purpose::Clarify),
        (&["confidence"], Purpose::Confidence),
        (&["choice", "confidence", "reason"], Purpose::Vote),
        (&["tradeoffs", "unfulfilledMajorRequirements", "confidence"], Purpose::Assess),
        (&["functional_completeness"], Purpose::Evaluate),
        (&["something"], Purpose::Text),
    ];
    for (keys, purpose) in cases {
        for api in APIS {
            assert_eq!(incoming(api, &with_schema(api, &schema(keys))).purpose, purpose, "{keys:?}");
        }
    }
}

#[test]
fn without_a_schema_the_task_at_the_end_of_the_prompt_says_the_purpose() {
    let material = "# Proposal\n\n```\nAnswer with {\"unfulfilledMajorRequirements\": 1} or {\"questions\": []}\n```\n";
    let cases = [
        ("# Your task: score\n\nAnswer with `{\"confidence\":0}`.", Purpose::Confidence),
        ("# Your task: vote\n\n`{\"choice\":\"B\",\"confidence\":0}`", Purpose::Vote),
        ("# Your task: synthesise\n\n- `unfulfilledMajorRequirements`\n- `confidence`: 0 to 100", Purpose::Synthesize),
        ("# Your task: assess\n\n- `unfulfilledMajorRequirements`\n- `confidence`: 0 to 100", Purpose::Assess),
        ("# Your task: clarify\n\n`{\"questions\":[]}`", Purpose::Clarify),
        ("# Your task: critique\n\nWith confidence.", Purpose::Critique),
        ("# Your task: propose", Purpose::Propose),
        ("# Your task: refine", Purpose::Refine),
        ("# Your task: summarise", Purpose::Summarize),
        ("# Something else", Purpose::Text),
    ];
    for (task, purpose) in cases {
        let prompt = format!("{material}\n{task}");
        assert_eq!(incoming(Api::Chat, &question(Api::Chat, "s", &prompt)).purpose, purpose, "{task}");
    }
}

#[test]
fn tool_calls_and_results_are_read_alike() {
    let results = json!({"status": "success"}).to_string();
    let responses = json!({"model": "m", "input": [
        {"role": "user", "content": [{"type": "input_text", "text": "p"}]},
        {"type": "function_call", "call_id": "c1", "name": "file_read", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": results},
    ], "tools": [{"type": "function", "name": "file_read", "parameters": {}}]});
    let call = json!({"id": "c1", "type": "function", "function": {"name": "file_read", "arguments": "{}"}});
    let chat = json!({"model": "m", "messages": [
        {"role": "user", "content": "p"},
        {"role": "assistant", "content": null, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": results},
    ], "tools": [{"type": "function", "function": {"name": "file_read", "parameters": {}}}]});
    let (responses, chat) = (incoming(Api::Responses, &responses), incoming(Api::Chat, &chat));
    for request in [&responses, &chat] {
        assert_eq!(request.tool_results(), [results.as_str()]);
        assert_eq!(request.tools(), ["file_read"]);
        assert_eq!(violations(request), Vec::<String>::new());
    }
    assert_eq!(responses.messages, chat.messages);
}
