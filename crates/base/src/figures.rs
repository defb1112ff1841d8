//! Formats numbers, durations, money and lists for people.

use std::fmt;
use std::time::Duration;

use crate::money::{BudgetLimit, Usd};

pub const UNKNOWN: &str = "N/A";

/// `12345` as `12,345`.
pub fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// `1,434 tokens`, or `1 token`.
pub fn tokens(number: u64) -> String {
    counted(number, "token")
}

/// `132 tokens`, or `at least 132 tokens (2 calls did not report any)` if some calls did not report their tokens.
pub fn sum_of_tokens(known: u64, silent_calls: u64) -> String {
    if silent_calls == 0 {
        return tokens(known);
    }
    format!("at least {} ({} did not report any)", tokens(known), counted(silent_calls, "call"))
}

/// `1 call`, `3 calls`. `noun` must form its plural with an s.
pub fn counted(number: u64, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", thousands(number))
}

/// `a`, `a and b`, `a, b and c`.
pub fn list(items: &[String]) -> String {
    match items {
        [first @ .., last] if !first.is_empty() => format!("{} and {last}", first.join(", ")),
        _ => items.concat(),
    }
}

pub fn backquoted<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    names.into_iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// Milliseconds as `1.2 s`, `3 min 4 s` or `2 h 5 min`.
pub fn duration(millis: u64) -> String {
    let tenths = millis.saturating_add(50) / 100;
    let seconds = millis.saturating_add(500) / 1000;
    let minutes = seconds / 60;
    match (minutes / 60, minutes % 60) {
        _ if tenths < 600 => format!("{}.{} s", tenths / 10, tenths % 10),
        (0, minutes) => format!("{minutes} min {} s", seconds % 60),
        (hours, minutes) => format!("{hours} h {minutes} min"),
    }
}

/// Elapsed time as a clock: `0:42`, `12:05`, `1:02:03`.
pub fn clock(elapsed: Duration) -> String {
    let seconds = elapsed.as_secs();
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    if hours == 0 { format!("{minutes}:{seconds:02}") } else { format!("{hours}:{minutes:02}:{seconds:02}") }
}

/// `$0.0421`, or `unknown` without an amount.
pub fn cost(amount: Option<Usd>) -> String {
    amount.map_or_else(|| "unknown".to_owned(), |amount| amount.to_string())
}

/// Like [`cost`], for places without a label: `$0.0421`, `cost unknown`.
pub fn named_cost(amount: Option<Usd>) -> String {
    if amount.is_none() { format!("cost {}", cost(amount)) } else { cost(amount) }
}

/// Appends the list price of calls that a subscription covered: `$0.0000, ≈ $0.08 at list price`.
pub fn with_notional(cost: String, notional: Option<Usd>) -> String {
    match notional {
        Some(notional) => format!("{cost}, ≈ {} at list price", short_cost(notional)),
        None => cost,
    }
}

/// Two decimals from $0.10 on, four below: `$0.21`, `$0.0421`.
pub fn short_cost(amount: Usd) -> String {
    let dollars = amount.dollars();
    if dollars >= 0.1 { format!("${dollars:.2}") } else { amount.to_string() }
}

/// A score out of 100 with at most one decimal: `72`, `72.5`.
pub fn score(score: f64) -> String {
    let text = format!("{score:.1}");
    text.strip_suffix(".0").unwrap_or(&text).to_owned()
}

/// A percentage from 0 to 100: `82 %`.
pub fn percent(share: f64) -> String {
    format!("{} %", score(share))
}

/// Writes the limit without an article: `cost limit of $0.0500`, `limit of 30 calls`, `limit of $0.0500 and 30 calls`.
impl fmt::Display for BudgetLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.usd, self.calls.map(|calls| counted(calls.into(), "call"))) {
            (Some(usd), None) => write!(f, "cost limit of {usd}"),
            (Some(usd), Some(calls)) => write!(f, "limit of {usd} and {calls}"),
            (None, Some(calls)) => write!(f, "limit of {calls}"),
            (None, None) => f.write_str("limit"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_says_of_what() {
        assert_eq!([82.0, 72.5].map(percent), ["82 %", "72.5 %"]);
    }

    #[test]
    fn thousands_are_grouped_by_three() {
        let grouped = [0, 999, 1_000, 12_345, 1_234_567].map(thousands);
        assert_eq!(grouped, ["0", "999", "1,000", "12,345", "1,234,567"]);
        assert_eq!([0, 1, 2].map(tokens), ["0 tokens", "1 token", "2 tokens"]);
        let sums = [(132, 0), (132, 2), (0, 1)].map(|(known, silent)| sum_of_tokens(known, silent));
        let expected = [
            "132 tokens",
            "at least 132 tokens (2 calls did not report any)",
            "at least 0 tokens (1 call did not report any)",
        ];
        assert_eq!(sums, expected);
    }

    #[test]
    fn lists_read_as_sentences() {
        let items = ["a", "b", "c"].map(str::to_owned);
        let listed = [0, 1, 2, 3].map(|count| list(&items[..count]));
        assert_eq!(listed, ["", "a", "a and b", "a, b and c"]);
        let listed = [0, 1, 2].map(|count| backquoted(["a", "b"].into_iter().take(count)));
        assert_eq!(listed, ["", "`a`", "`a`, `b`"]);
    }

    #[test]
    fn a_duration_never_shows_sixty_of_anything() {
        let shown = [0, 26, 1_249, 59_949, 59_950, 60_000, 184_400, 3_599_600, 7_500_000].map(duration);
        let expected =
            ["0.0 s", "0.0 s", "1.2 s", "59.9 s", "1 min 0 s", "1 min 0 s", "3 min 4 s", "1 h 0 min", "2 h 5 min"];
        assert_eq!(shown, expected);
        assert!(duration(u64::MAX).ends_with(" min"));
    }

    #[test]
    fn the_clock_gains_hours_when_there_are_any() {
        assert_eq!([42, 725, 3_723].map(|s| clock(Duration::from_secs(s))), ["0:42", "12:05", "1:02:03"]);
    }

    #[test]
    fn an_unknown_cost_is_not_zero() {
        assert_eq!(cost(Some(Usd::from_dollars(0.042_12))), "$0.0421");
        assert_eq!(cost(Some(Usd::ZERO)), "$0.0000");
        assert_eq!(cost(None), "unknown");
        assert_eq!(
            [0.042_12, 0.1, 12.345].map(|dollars| short_cost(Usd::from_dollars(dollars))),
            ["$0.0421", "$0.10", "$12.35"]
        );
    }

    #[test]
    fn scores_lose_an_empty_fraction() {
        assert_eq!([72.0, 72.5, 100.0].map(score), ["72", "72.5", "100"]);
    }
}
