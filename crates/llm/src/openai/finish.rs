//! The finish reasons of servers.

use crate::FinishReason;
use dialectic_base::markdown::truncate;

/// The maximum length of a finish reason, in characters.
const KEPT: usize = 64;

const COMPLETE: [&str; 13] = [
    "",
    "stop",
    "stop_sequence",
    "end_turn",
    "eos",
    "eos_token",
    "complete",
    "completed",
    "finished",
    "tool_call",
    "tool_calls",
    "tool_use",
    "function_call",
];
const LENGTH: [&str; 6] = [
    "length",
    "max_tokens",
    "max_output_tokens",
    "max_completion_tokens",
    "model_length",
    "model_context_window_exceeded",
];
/// The last one is Zhipu's.
const FILTERED: [&str; 8] =
    ["content_filter", "refusal", "safety", "recitation", "prohibited_content", "blocklist", "spii", "sensitive"];
/// Zhipu's word for a failure of the model is `network_error`.
const INTERRUPTED: [&str; 5] =
    ["abort", "aborted", "insufficient_system_resource", "repetition_truncation", "network_error"];
/// Reasons of missing or incomplete answers.
const UNFINISHED: [&str; 5] = ["queued", "in_progress", "error", "failed", "cancelled"];

/// Parses the server's finish reason; also returns its word if no [`FinishReason`] expresses it. An unknown word means
/// a complete answer: the transport detects interruptions.
pub(crate) fn finish(word: Option<&str>) -> (FinishReason, Option<String>) {
    let word = word.unwrap_or_default().trim();
    let is_in = |words: &[&str]| words.iter().any(|known| known.eq_ignore_ascii_case(word));
    let kept = || Some(truncate(word, KEPT).to_owned());
    if is_in(&COMPLETE) {
        (FinishReason::Complete, None)
    } else if is_in(&LENGTH) {
        (FinishReason::Length, None)
    } else if is_in(&FILTERED) {
        (FinishReason::Filtered, None)
    } else if is_in(&INTERRUPTED) {
        (FinishReason::Interrupted, kept())
    } else {
        (FinishReason::Complete, kept())
    }
}

/// Whether the word means that there is no answer, now or ever.
pub(super) fn is_unfinished(word: &str) -> bool {
    UNFINISHED.iter().any(|known| known.eq_ignore_ascii_case(word.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_known_in_any_case() {
        use FinishReason::{Complete, Filtered, Interrupted, Length};
        for (words, reason, is_kept) in [
            (&["stop", "STOP", "end_turn", "COMPLETE", "tool_calls", "", " "][..], Complete, false),
            (&["length", "model_length", "MAX_TOKENS", "max_tokens", "max_output_tokens"], Length, false),
            (&["content_filter", "SAFETY", "safety", "RECITATION", "refusal", "sensitive"], Filtered, false),
            (&["abort", "ABORT", "insufficient_system_resource", "network_error"], Interrupted, true),
            (&["eos_in_some_dialect", "OTHER"], Complete, true),
        ] {
            for word in words {
                assert_eq!(finish(Some(word)), (reason, is_kept.then(|| (*word).to_owned())), "{word}");
            }
        }
        assert_eq!(finish(None), (Complete, None));
        assert!(["queued", "in_progress", "IN_PROGRESS"].iter().all(|word| is_unfinished(word)));
        assert!(!is_unfinished("stop"));
    }
}
