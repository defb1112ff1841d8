//! Words as rules compare them: lower case, without endings, without those that say nothing.

use std::collections::HashSet;
use std::sync::LazyLock;

/// Endings that are taken off, the longest first. What is left must have at least three letters.
const ENDINGS: [&str; 7] = ["ings", "ing", "ers", "er", "ed", "es", "s"];

/// Words that are in every problem and tell none from another.
const EMPTY_WORDS: &str = "a able about above additional after all allow allows also always an and any are around as at \
    avoid be because been before being below best between both build but by can cannot could create critical data \
    design different do does during each either enable ensure essential even every everything existing few first for \
    from get give given good have has handle high how ideally if implement in include including into is it its just \
    keep kind less let like low made make many may more most much must need needs new no non not number of on one only \
    or other our out over own part per possible problem process provide request requests required requirement \
    requirements same shall should since so some solution such support supports system systems take than that \
    the their them then there these they thing this those through time to under until up us use used user users using \
    very want was way we well were what when where which while who will with within without work works would you your";

/// What stands for any number, so that a phrase can hold one: `within 1 seconds` is found in `within 5 seconds`.
const NUMBER: &str = "#";

/// No phrase of a checklist has more words.
pub(super) const LONGEST_PHRASE: usize = 4;

/// Units that are told from the number before them: `200ms`.
const UNITS: [&str; 6] = ["ms", "rps", "qps", "mb", "gb", "tb"];

static EMPTY: LazyLock<HashSet<String>> = LazyLock::new(|| EMPTY_WORDS.split_whitespace().map(stem).collect());

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
    stem.len() > 1 && !EMPTY.contains(stem) && !stem.chars().all(char::is_numeric)
}

/// `word` in lower case and without its ending, so that `limiting`, `limiter` and `limits` are one; numbers are all alike.
/// Crude on purpose: both sides of a comparison go through it.
pub(super) fn stem(word: &str) -> String {
    let mut stem = word.to_lowercase();
    let unit = stem.trim_start_matches(|c: char| c.is_ascii_digit());
    if unit.is_empty() {
        return NUMBER.to_owned();
    }
    if unit.len() < stem.len() && UNITS.contains(&unit) {
        return unit.to_owned();
    }
    if !stem.is_ascii() {
        return stem;
    }
    if stem.len() > 4 && stem.ends_with("ies") {
        stem.truncate(stem.len() - 3);
        stem.push('y');
        return stem;
    }
    let shortest_word = |ending: &str| if ending == "s" { 4 } else { ending.len() + 3 };
    if let Some(ending) = ENDINGS
        .iter()
        .find(|ending| stem.len() >= shortest_word(ending) && stem.ends_with(**ending) && !stem.ends_with("ss"))
    {
        stem.truncate(stem.len() - ending.len());
    }
    let last = stem.as_bytes().iter().rev().take(2).copied().collect::<Vec<_>>();
    if let [last, before] = last[..]
        && stem.len() > 3
        && (last == b'e' || (last == before && !matches!(last, b's' | b'l' | b'e' | b'o')))
    {
        stem.pop();
    }
    stem
}

/// `text` on one line, without what Markdown reads as emphasis or code, and no longer than `chars`.
pub(super) fn one_line(text: &str, chars: usize) -> String {
    let plain: String = text.chars().filter(|c| !matches!(c, '*' | '`')).collect();
    let line = plain.split_whitespace().collect::<Vec<_>>().join(" ");
    let cut = crate::markdown::truncate(&line, chars);
    if cut.len() == line.len() { line } else { format!("{}…", cut.trim_end()) }
}

/// `template` with the values in place of their names in braces. One pass: values are text.
pub(super) fn filled(template: &str, values: &[(&str, &str)]) -> String {
    let mut parts = template.split('{');
    let mut filled = parts.next().unwrap_or_default().to_owned();
    for (name, rest) in parts.filter_map(|part| part.split_once('}')) {
        filled.push_str(values.iter().find(|(one, _)| *one == name).map_or(&format!("{{{name}}}"), |(_, value)| value));
        filled.push_str(rest);
    }
    filled
}

/// `a`, `a and b`, `a, b and c`.
pub(super) fn list(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [only] => only.clone(),
        [most @ .., last] => format!("{} and {last}", most.join(", ")),
    }
}

/// `1 point`, `2 points`.
pub(super) fn count_of(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
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
        assert_eq!(["ms", "200ms", "200", "10k"].map(stem), ["ms", "ms", "#", "10k"]);
    }

    #[test]
    fn terms_leave_out_what_says_nothing() {
        let terms = terms("The system must handle 10000 webhooks with low latency");
        assert_eq!(terms, HashSet::from(["webhook".to_owned(), "latency".to_owned()]));
    }

    #[test]
    fn one_line_keeps_text_and_drops_markup() {
        assert_eq!(one_line("a **b**\n  `c`", 80), "a b c");
        assert_eq!(one_line("häuser bauen", 7), "häuser…");
    }

    #[test]
    fn lists_read_as_sentences() {
        let items = ["a", "b", "c"].map(str::to_owned);
        assert_eq!(list(&items), "a, b and c");
        assert_eq!(list(&items[..1]), "a");
    }
}
