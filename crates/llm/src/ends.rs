//! What a finish reason means, in the words of all servers.

use crate::FinishReason;
use crate::FinishReason::{Complete, Filtered, Interrupted, Length};
use dialectic_base::markdown::truncate;

/// The maximum length of a finish reason, in characters.
const KEPT: usize = 64;

/// The known words, in lower case; `None` means that there is no answer, now or ever. Only the words of the first block
/// mean a complete answer.
#[rustfmt::skip]
const ENDS: &[(Option<FinishReason>, &[&str])] = &[
    (Some(Complete), &["", "stop", "tool_calls", "function_call", "completed"]), // OpenAI; none: Ollama, gateways
    (Some(Complete), &["end_turn", "stop_sequence", "tool_use"]), // Anthropic, Bedrock
    (Some(Complete), &["complete", "tool_call"]), // Cohere
    (Some(Complete), &["eos", "eos_token"]), // Together, Text Generation Inference, watsonx
    (Some(Complete), &["finish", "finished", "endoftext"]), // Bedrock: Titan, AI21
    (Some(Complete), &["normal"]), // Baidu
    (Some(Length), &["length"]), // OpenAI
    (Some(Length), &["max_tokens", "model_context_window_exceeded", "compaction"]), // Anthropic, Google
    (Some(Length), &["max_output_tokens", "max_completion_tokens"]), // OpenAI's Responses API, LiteLLM
    (Some(Length), &["model_length"]), // Mistral
    (Some(Length), &["token_limit", "max_new_tokens", "max_length"]), // watsonx, Text Generation Inference
    (Some(Length), &["context_length", "context_length_exceeded", "length_limit"]), // gateways
    (Some(Filtered), &["content_filter", "content-filter"]), // OpenAI, with Google's reason after a colon
    (Some(Filtered), &["refusal", "content_filtered"]), // Anthropic, Titan
    (Some(Filtered), &["safety", "recitation", "blocklist", "prohibited_content", "spii"]), // Google
    (Some(Filtered), &["image_safety", "image_prohibited_content", "model_armor"]), // Google's Vertex AI
    (Some(Filtered), &["error_toxic"]), // Cohere
    (Some(Filtered), &["guardrail_intervened"]), // Bedrock
    (Some(Filtered), &["sensitive", "output_sensitive"]), // Zhipu, MiniMax
    (Some(Filtered), &["moderation", "flagged", "blocked", "policy_violation"]), // gateways
    (Some(Interrupted), &["language", "other", "malformed_function_call", "malformed_response"]), // Google
    (Some(Interrupted), &["unexpected_tool_call", "too_many_tool_calls", "missing_thought_signature"]), // Google
    (Some(Interrupted), &["image_recitation", "image_other", "no_image", "escalation"]), // Google
    (Some(Interrupted), &["pause_turn"]), // Anthropic
    (Some(Interrupted), &["max_tool_calls"]), // OpenAI's Responses API
    (Some(Interrupted), &["error_limit", "user_cancel"]), // Cohere
    (Some(Interrupted), &["abort", "aborted", "repetition"]), // vLLM, SGLang
    (Some(Interrupted), &["insufficient_system_resource", "repetition_truncation"]), // DeepSeek
    (Some(Interrupted), &["network_error"]), // Zhipu
    (Some(Interrupted), &["time_limit", "not_finished"]), // watsonx
    (Some(Interrupted), &["load", "unload"]), // Ollama
    (Some(Interrupted), &["timeout"]), // gateways
    (None, &["queued", "in_progress", "failed", "cancelled"]), // OpenAI's Responses API
    (None, &["error"]), // OpenRouter, vLLM
];

/// The meaning of a word, if it is known. Google's compatible API adds its own reason after a colon.
fn meaning(word: &str) -> Option<&'static Option<FinishReason>> {
    let word = word.split(':').next().unwrap_or_default().trim();
    let is_it = |known: &&str| known.eq_ignore_ascii_case(word);
    ENDS.iter().find(|(_, words)| words.iter().any(is_it)).map(|(end, _)| end)
}

/// Parses the server's finish reason; also returns its word if the [`FinishReason`] does not express it.
pub(crate) fn finish(word: Option<&str>) -> (FinishReason, Option<String>) {
    let word = word.unwrap_or_default().trim();
    let kept = || Some(truncate(word, KEPT).to_owned());
    match meaning(word) {
        Some(&Some(end @ (Complete | Length | Filtered))) if !word.contains(':') => (end, None),
        Some(&Some(end)) => (end, kept()),
        Some(None) | None => (FinishReason::Unknown, kept()),
    }
}

/// Whether the word means that there is no answer, now or ever.
pub(crate) fn is_unfinished(word: &str) -> bool {
    meaning(word) == Some(&None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_known_in_any_case() {
        use FinishReason::Unknown;
        for (words, reason, is_kept) in [
            (&["stop", "STOP", "end_turn", "COMPLETE", "tool_calls", "", " "][..], Complete, false),
            (&["length", "model_length", "MAX_TOKENS", "max_tokens", "max_output_tokens"], Length, false),
            (&["content_filter", "SAFETY", "safety", "RECITATION", "refusal", "sensitive"], Filtered, false),
            (&["content_filter: RECITATION", "Content_Filter:SPII"], Filtered, true),
            (&["abort", "ABORT", "OTHER", "language", "MALFORMED_FUNCTION_CALL", "network_error"], Interrupted, true),
            (&["eos_in_some_dialect", "stop it", "error"], Unknown, true),
        ] {
            for word in words {
                assert_eq!(finish(Some(word)), (reason, is_kept.then(|| (*word).to_owned())), "{word}");
            }
        }
        assert_eq!(finish(None), (Complete, None));
        assert!(["queued", "in_progress", "IN_PROGRESS", "error"].iter().all(|word| is_unfinished(word)));
        assert!(!is_unfinished("stop") && !is_unfinished("because"));
    }
}
