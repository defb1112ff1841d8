//! Text that looks like an answer, made from a number.

use rand::RngExt as _;
use rand::SeedableRng as _;
use rand_chacha::ChaCha12Rng;

const VOCABULARY: [&str; 40] = [
    "account",
    "audit",
    "backoff",
    "batch",
    "boundary",
    "budget",
    "cache",
    "client",
    "cluster",
    "commit",
    "consumer",
    "cursor",
    "deadline",
    "delivery",
    "digest",
    "failure",
    "gateway",
    "index",
    "journal",
    "latency",
    "lease",
    "ledger",
    "limit",
    "message",
    "operator",
    "partition",
    "policy",
    "queue",
    "quorum",
    "recovery",
    "replica",
    "request",
    "retention",
    "schema",
    "snapshot",
    "stream",
    "tenant",
    "token",
    "window",
    "worker",
];

/// `words` words of Markdown: paragraphs of sentences. The same seed gives the same text, on every platform.
pub(crate) fn prose(seed: u64, words: usize) -> String {
    let mut random = ChaCha12Rng::seed_from_u64(seed);
    let mut text = String::with_capacity(words * 8);
    for position in 0..words {
        let word = VOCABULARY[random.random_range(0..VOCABULARY.len())];
        match position {
            0 => {}
            _ if position % 60 == 0 => text.push_str(".\n\n"),
            _ if position % 12 == 0 => text.push_str(". "),
            _ => text.push(' '),
        }
        if position % 12 == 0 {
            text.push_str(&word[..1].to_uppercase());
            text.push_str(&word[1..]);
        } else {
            text.push_str(word);
        }
    }
    text.push('.');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_has_the_words_that_were_asked_for() {
        assert_eq!(prose(1, 700).split_whitespace().count(), 700);
        assert_eq!(prose(1, 50), prose(1, 50));
        assert_ne!(prose(1, 50), prose(2, 50));
    }
}
