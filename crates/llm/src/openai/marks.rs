//! Marks that models write around or instead of answers, and that servers pass on.
//!
//! Sources: chat templates of the models; the tool parsers of vLLM, `SGLang` and llama.cpp.

use serde::de::IgnoredAny;
use serde_json::Value;

#[rustfmt::skip]
const ENDS_OF_TURN: &[&str] = &[
    "<|im_end|>", "<|endoftext|>", // Qwen, Yi, Phi
    "<|eot_id|>", "<|eom_id|>", "<|end_of_text|>", "<|eot|>", // Llama
    "</s>", "[/INST]", // Mistral, Llama 2
    "<end_of_turn>", "<turn|>", "<eos>", // Gemma
    "<|return|>", "<|end|>", "<|call|>", // gpt-oss, Phi
    "<｜end▁of▁sentence｜>", "<|end▁of▁sentence|>", "<|end_of_sentence|>", // DeepSeek, Ernie
    "<|user|>", "<|observation|>", "<|assistant|>", "<|system|>", // GLM
    "<|END_OF_TURN_TOKEN|>", // Cohere
    "<|end_of_turn|>", "<|end_of_msg|>", // OpenChat, Kimi K3
    "[e~[", // MiniMax
    "<|role_end|>", // Ling
    "[|endofturn|]", "<|end_of_role|>", "<end_of_utterance>", // EXAONE, Granite, SmolVLM
    "<extra_id_1>", "<|EOT|>", "<|im_start|>", // Nemotron, DeepSeek's coder, Qwen
    "<|eos|>", "[EOS]", "<eot>", "<EOS>", // others
];

/// The marks around GLM's final answers.
const BOX: [&str; 2] = ["<|begin_of_box|>", "<|end_of_box|>"];

/// How tool calls start, in lower case with `|` for every bar, and how each ends. An empty end means the end of the
/// JSON on the same line, or else of the text.
#[rustfmt::skip]
const TOOL_CALLS: &[(&str, &str)] = &[
    ("<tool_call>", "</tool_call>"), ("<tool_call ", "</tool_call>"), // Hermes, Qwen, GLM
    ("<tool_calls>", "</tool_calls>"), ("[tool_call]", "[/tool_call]"), // Ernie, gateways
    ("<toolcall>", "</toolcall>"), // Nemotron
    ("<tool_use>", "</tool_use>"), ("<use_mcp_tool>", "</use_mcp_tool>"), // prompts of clients
    ("<longcat_tool_call>", "</longcat_tool_call>"), // LongCat
    ("<minimax:tool_call>", "</minimax:tool_call>"), // MiniMax
    ("<seed:tool_call>", "</seed:tool_call>"), // Seed
    ("<|tool_call>", "<tool_call|>"), ("<|tool_call|>", ""), // Gemma 4, Phi, Granite
    ("<|tool_call_start|>", "<|tool_call_end|>"), // LFM
    ("<|tool_calls_section_begin|>", "<|tool_calls_section_end|>"), // Kimi K2
    ("<|tool_call_begin|>", "<|tool_call_end|>"), // Kimi K2
    ("<|open|>tool", ""), // Kimi K3
    ("<|tool▁calls▁begin|>", "<|tool▁calls▁end|>"), // DeepSeek V3
    ("<|tool▁call▁begin|>", "<|tool▁call▁end|>"), // DeepSeek V3
    ("<|tool_calls_begin|>", "<|tool_calls_end|>"), // DeepSeek V3, with plain underscores
    ("<|dsml|tool_calls>", "</|dsml|tool_calls>"), ("<||dsml||tool_calls>", "</||dsml||tool_calls>"), // DeepSeek V4
    ("<|dsml|function_calls>", "</|dsml|function_calls>"), // DeepSeek V3.2
    ("<|dsml|invoke ", "</|dsml|invoke>"), ("<||dsml||invoke ", "</||dsml||invoke>"), // the same without the section
    ("<|dsml|", ""), ("<||dsml||", ""), ("< | dsml | ", ""), ("<dsml ", ""), // the same, damaged
    ("<function_calls>", "</function_calls>"), ("<invoke name=", "</invoke>"), // Anthropic, DeepSeek V3.2
    ("<function=", "</function>"), ("<function_call>", "</function_call>"), // Llama, Qwen3-Coder, gateways
    ("[tool_calls]", ""), // Mistral
    ("[tool_request]", "[end_tool_request]"), // LM Studio
    ("<|python_tag|>", ""), // Llama
    ("<|start_action|>", "<|end_action|>"), // Cohere
    ("<|action_start|>", "<|action_end|>"), // InternLM
    ("<|channel|>commentary to=", ""), ("<|start|>assistant<|channel|>commentary to=", ""), // gpt-oss
    ("to=functions.", ""), ("commentary to=functions.", ""), ("assistantcommentary to=functions.", ""), // without marks
    ("functools[", ""), // Phi
    ("```tool_call", "```"), ("```tool_code", "```"), // prompts of clients, Google
];

/// Whether `text` consists only of tool calls that the server did not recognize.
pub(super) fn is_tool_call(text: &str) -> bool {
    let text = text.to_lowercase().replace(['｜', '‖'], "|");
    let mut rest = text.trim();
    while let Some((begin, end)) = TOOL_CALLS.iter().find(|(begin, _)| rest.starts_with(begin)) {
        let inside = &rest[begin.len()..];
        let after = if end.is_empty() { json_end(inside) } else { inside.find(end).map(|at| at + end.len()) };
        rest = after.map_or("", |at| &inside[at..]).trim_start();
        if without_end_of_turn(rest).is_empty() {
            return true;
        }
    }
    // Llama and Mistral write calls without marks.
    let plain = rest.strip_prefix("```json").and_then(|rest| rest.strip_suffix("```")).unwrap_or(rest);
    serde_json::from_str(plain).is_ok_and(|json| is_call(&json))
}

/// The end of the JSON value that starts on the first line of `text`.
fn json_end(text: &str) -> Option<usize> {
    let start = text.lines().next()?.find(['{', '['])?;
    let mut values = serde_json::Deserializer::from_str(&text[start..]).into_iter::<IgnoredAny>();
    values.next()?.ok()?;
    Some(start + values.byte_offset())
}

/// Whether `json` is a tool call or a list of tool calls. An object with more than three fields is an answer instead.
fn is_call(json: &Value) -> bool {
    if let Some(list) = json.as_array() {
        return !list.is_empty() && list.iter().all(is_call);
    }
    let call = if json["function"].is_object() { &json["function"] } else { json };
    let arguments = call.get("arguments").or_else(|| call.get("parameters"));
    let fields = json.as_object().map_or(0, serde_json::Map::len);
    call["name"].is_string() && arguments.is_some_and(Value::is_object) && fields <= 3
}

pub(super) fn without_end_of_turn(mut text: &str) -> &str {
    while let Some(rest) = ENDS_OF_TURN.iter().find_map(|end| text.trim_end().strip_suffix(end)) {
        text = rest;
    }
    text
}

pub(super) fn without(mut text: String) -> String {
    text.truncate(without_end_of_turn(&text).len());
    let [begin, end] = BOX;
    let is_quoted = text.find(begin).is_none_or(|at| text[..at].ends_with('`'));
    if is_quoted { text } else { text.replace(begin, "").replace(end, "").trim().to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_but_calls_of_tools_is_no_answer() {
        for text in [
            " <tool_call>\n{\"name\": \"f\"}\n</tool_call>\n<tool_call>{\"name\": \"g\"}</tool_call> ",
            "<tool_call>\n{\"name\": \"f\", \"argu",
            "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>f<｜tool▁sep｜>{}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
            "<｜｜DSML｜｜tool_calls>\n<｜｜DSML｜｜invoke name=\"f\"></｜｜DSML｜｜invoke>",
            "<function=f>\n<parameter=a>\n1\n</parameter>\n</function>",
            "[TOOL_CALLS][{\"name\": \"f\", \"arguments\": {}}]",
            "{\"name\": \"file_read\", \"parameters\": {\"path\": \"a\"}}",
            "[{\"name\": \"f\", \"arguments\": {}}, {\"function\": {\"name\": \"g\", \"arguments\": {}}}]",
            "```json\n{\"name\": \"f\", \"arguments\": {}}\n```",
            "<‖DSML‖tool_calls>\n<‖DSML‖invoke name=\"f\">",
            "<｜DSML｜function_calls></｜DSML｜function_calls><|im_end|>",
            "to=functions.file_read <|constrain|>json<|message|>{\"path\": \"a\"}",
        ] {
            assert!(is_tool_call(text), "{text}");
        }
        for text in [
            "",
            "<tool_call>{}</tool_call> The answer.",
            "<｜DSML｜tool_calls>\n</｜DSML｜tool_calls>\n\nThe answer.",
            "[TOOL_CALLS][{\"name\": \"f\", \"arguments\": {}}]\n\nThe answer.",
            "[]",
            "The tags <tool_call> and </tool_call> surround it.",
            "{\"name\": \"f\", \"score\": 1}",
            "{\"name\": \"f\", \"arguments\": \"x\"}",
        ] {
            assert!(!is_tool_call(text), "{text}");
        }
    }

    #[test]
    fn marks_around_an_answer_are_no_part_of_it() {
        for (text, answer) in [
            ("Yes.<|im_end|>", "Yes."),
            ("Yes.</s>\n<|endoftext|>\n", "Yes."),
            ("<|begin_of_box|>{\"score\": 1}<|end_of_box|>", "{\"score\": 1}"),
            ("It is <|begin_of_box|>42<|end_of_box|>.<|user|>", "It is 42."),
            ("It writes `<|begin_of_box|>` and `</s>`.", "It writes `<|begin_of_box|>` and `</s>`."),
            ("Yes. ", "Yes. "),
        ] {
            assert_eq!(without(text.to_owned()), answer);
        }
    }
}
