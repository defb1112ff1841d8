//! Words as rules compare them: lower case, without endings, without those that say nothing.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use rust_stemmers::{Algorithm, Stemmer};

use super::checklist::field;

const WORDS: &str = include_str!("../../../../prompts/offline/words.md");

/// What stands for any number, so that a phrase can hold one: `within 1 seconds` is found in `within 5 seconds`.
const NUMBER: &str = "#";

/// No phrase of a checklist has more words.
pub(super) const LONGEST_PHRASE: usize = 4;

static STEMMER: LazyLock<Stemmer> = LazyLock::new(|| Stemmer::create(Algorithm::English));
static EMPTY: LazyLock<HashSet<String>> = LazyLock::new(|| known("stop").chain(known("common")).map(stem).collect());

/// Words that have the stem of a word of another meaning, as `person` has that of `personalized`, with what stands for all
/// forms of each.
static APART: LazyLock<HashMap<&str, String>> = LazyLock::new(|| {
    let forms = |group: &'static str| {
        let first = group.split(' ').next().unwrap_or_default();
        // No stem has such a mark.
        group.split(' ').map(move |form| (form, format!("{first}*")))
    };
    field(WORDS, "apart").split(", ").flat_map(forms).collect()
});

/// The words that are known to be of this kind.
pub(super) fn known(kind: &str) -> impl Iterator<Item = &'static str> {
    field(WORDS, kind).split(' ')
}

/// The words of `text`: runs of letters and digits.
pub(super) fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty())
}

/// The phrases of a text, each as its stems.
#[derive(Debug, Default)]
pub(super) struct Stems(HashSet<String>);

impl Stems {
    /// Of any text.
    pub(super) fn of(text: &str) -> Self {
        let stems: Vec<String> = words(text).map(stem).collect();
        Self((1..=LONGEST_PHRASE).flat_map(|length| stems.windows(length)).map(|phrase| phrase.join(" ")).collect())
    }

    /// Whether this [`phrase`] stands in it.
    pub(super) fn have(&self, phrase: &str) -> bool {
        self.0.contains(phrase)
    }
}

/// The stems of the words of `text`, in their order.
pub(super) fn phrase(text: &str) -> String {
    words(text).map(stem).collect::<Vec<_>>().join(" ")
}

/// The stems of `text` that carry meaning: neither empty words nor bare numbers.
pub(super) fn terms(text: &str) -> HashSet<String> {
    words(text).map(stem).filter(|stem| carries_meaning(stem)).collect()
}

/// Whether a stem tells one text from another.
pub(super) fn carries_meaning(stem: &str) -> bool {
    stem.len() > 1 && !EMPTY.contains(stem)
}

/// `word` in lower case and without its ending, so that `limiting`, `limiter` and `limits` are one. A number before a
/// unit, `200ms`, says nothing; numbers of their own are all alike.
pub(super) fn stem(word: &str) -> String {
    let lower = word.to_lowercase();
    match lower.trim_start_matches(char::is_numeric) {
        "" => NUMBER.to_owned(),
        word => APART.get(word).cloned().unwrap_or_else(|| STEMMER.stem(word).into_owned()),
    }
}

/// `text` on one line, without what Markdown reads as emphasis or code, and no longer than `chars`.
pub(super) fn one_line(text: &str, chars: usize) -> String {
    let plain: String = text.chars().filter(|c| !matches!(c, '*' | '`')).collect();
    let line = plain.split_whitespace().collect::<Vec<_>>().join(" ");
    let cut = dialectic_base::markdown::truncate(&line, chars);
    if cut.len() == line.len() { line } else { format!("{}…", cut.trim_end()) }
}

/// `template` with the values in place of their names in braces. One pass: values are text.
pub(super) fn filled(template: &str, value: impl Fn(&str) -> String) -> String {
    let mut parts = template.split('{');
    let start = parts.next().unwrap_or_default().to_owned();
    parts.filter_map(|part| part.split_once('}')).fold(start, |filled, (name, rest)| filled + &value(name) + rest)
}

/// `parts` with blank lines between them, without those in which nothing stands.
pub(super) fn paragraphs(parts: impl IntoIterator<Item = String>) -> String {
    let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    parts.join("\n\n")
}

/// The share that `part` is of `whole`; all of nothing is nothing.
#[expect(clippy::cast_precision_loss, reason = "counts of points are far below 2^53")]
pub(super) fn ratio(part: usize, whole: usize) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// A share in percent.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to 0..=100 first")]
pub(super) fn percent(share: f64) -> u32 {
    (share * 100.0).round().clamp(0.0, 100.0) as u32
}

/// A number that a text and the seed decide: FNV-1a, which unlike the standard library's hashers is the same in every
/// release, and the last steps of `SplitMix64`, so that similar texts do not give similar numbers.
pub(super) fn mixed(seed: u64, text: &str) -> u64 {
    let fnv = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    let hash = seed ^ text.bytes().fold(0xcbf2_9ce4_8422_2325, fnv);
    let hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ (hash >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_a_word_have_one_stem() {
        for forms in [
            &["limit", "limits", "limiter", "Limiting", "limited"][..],
            &["cache", "caches", "cached", "caching"],
            &["queue", "queues", "queueing"],
            &["latency", "latencies"],
            &["payment", "payments"],
            &["throttle", "throttling", "throttled"],
            &["API", "apis"],
        ] {
            let stems: HashSet<String> = forms.iter().map(|form| stem(form)).collect();
            assert_eq!(stems.len(), 1, "{forms:?} gave {stems:?}");
        }
        assert_eq!(stem("process"), "process");
        assert_eq!(["ms", "200ms", "200", "p99"].map(stem), ["ms", "ms", "#", "p99"]);
    }

    #[test]
    fn words_of_different_meanings_have_different_stems() {
        for (word, other) in [
            ("person", "personalized"),
            ("persons", "personal"),
            ("author", "authorization"),
            ("books", "booking"),
            ("busy", "business"),
            ("custom", "customer"),
            ("important", "import"),
            ("international", "internal"),
            ("organs", "organization"),
            ("depends", "dependency"),
            ("consists", "consistency"),
            ("object", "objective"),
            ("performs", "performance"),
            ("responsible", "responsive"),
        ] {
            assert_ne!(stem(word), stem(other), "{word} and {other}");
        }
        assert_eq!([stem("Person"), stem("customers")], [stem("persons"), stem("customer")]);
    }

    #[test]
    fn terms_leave_out_what_says_nothing() {
        let terms = terms("The system must handle 10000 webhooks with low latency");
        assert_eq!(terms, HashSet::from(["webhook".to_owned(), stem("latency")]));
    }

    #[test]
    fn one_line_keeps_text_and_drops_markup() {
        assert_eq!(one_line("a **b**\n  `c`", 80), "a b c");
        assert_eq!(one_line("häuser bauen", 7), "häuser…");
    }
}
