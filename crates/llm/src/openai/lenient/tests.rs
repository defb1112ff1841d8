//! Checks parsed usage against the vendors' bills, and repaired texts.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::*;

/// What a call really used.
#[derive(Debug, Clone, Copy)]
struct Truth {
    /// Input that was not cached.
    fresh: u64,
    read: u64,
    written: u64,
    /// How much of the cache writes is kept for an hour.
    hour: u64,
    reasoning: u64,
    /// Output other than reasoning.
    said: u64,
}

impl Truth {
    fn input(self) -> u64 {
        self.fresh + self.read + self.written
    }

    fn output(self) -> u64 {
        self.reasoning + self.said
    }

    fn total(self) -> u64 {
        self.input() + self.output()
    }

    /// What remains of it if a vendor states cache writes only in this way.
    fn tokens(self, writes: Writes) -> Tokens {
        Tokens {
            input_tokens: self.input(),
            cached_input_tokens: self.read,
            cache_write_tokens: if writes == Writes::Unsaid { 0 } else { self.written },
            cache_write_hour_tokens: if writes == Writes::ByTime { self.hour } else { 0 },
            output_tokens: self.output(),
        }
    }
}

/// How a vendor states cache writes. Vendors that do not state them charge no more for them than for other input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Writes {
    Unsaid,
    Said,
    ByTime,
}

fn usage(value: &Value) -> ReportedUsage {
    serde_json::from_value(value.clone()).unwrap()
}

fn recorded(value: &Value) -> Option<Tokens> {
    usage(value).tokens()
}

/// The documented forms of the same usage.
fn documented(it: Truth) -> Vec<(&'static str, Writes, Value)> {
    let (input, output, total) = (it.input(), it.output(), it.total());
    let details = json!({"cached_tokens": it.read, "audio_tokens": 0});
    let reasoning = json!({"reasoning_tokens": it.reasoning});
    let by_time = json!({"ephemeral_5m_input_tokens": it.written - it.hour, "ephemeral_1h_input_tokens": it.hour});
    vec![
        (
            "OpenAI, Mistral, vLLM",
            Writes::Unsaid,
            json!({"prompt_tokens": input, "completion_tokens": output, "total_tokens": total, "prompt_tokens_details": details, "completion_tokens_details": reasoning}),
        ),
        (
            "OpenAI's Responses",
            Writes::Unsaid,
            json!({"input_tokens": input, "output_tokens": output, "total_tokens": total, "input_tokens_details": details, "output_tokens_details": reasoning}),
        ),
        (
            "Anthropic's Messages",
            Writes::Said,
            json!({"input_tokens": it.fresh, "cache_read_input_tokens": it.read, "cache_creation_input_tokens": it.written, "output_tokens": output}),
        ),
        (
            "Anthropic's Messages, by time",
            Writes::ByTime,
            json!({"input_tokens": it.fresh, "cache_read_input_tokens": it.read, "cache_creation_input_tokens": it.written, "cache_creation": by_time, "output_tokens": output}),
        ),
        (
            "OpenRouter",
            Writes::Said,
            json!({"prompt_tokens": input, "completion_tokens": output, "total_tokens": total, "prompt_tokens_details": {"cached_tokens": it.read, "cache_write_tokens": it.written}, "completion_tokens_details": reasoning}),
        ),
        (
            "LiteLLM, by time",
            Writes::ByTime,
            json!({"prompt_tokens": input, "completion_tokens": output, "total_tokens": total, "prompt_tokens_details": {"cached_tokens": it.read, "cache_creation_tokens": it.written, "cache_creation_token_details": by_time}, "completion_tokens_details": reasoning, "cache_read_input_tokens": it.read, "cache_creation_input_tokens": it.written}),
        ),
        (
            "Google, xAI",
            Writes::Unsaid,
            json!({"prompt_tokens": input, "completion_tokens": it.said, "total_tokens": total, "prompt_tokens_details": details, "completion_tokens_details": reasoning}),
        ),
        (
            "DeepSeek",
            Writes::Unsaid,
            json!({"prompt_tokens": input, "prompt_cache_hit_tokens": it.read, "prompt_cache_miss_tokens": input - it.read, "completion_tokens": output, "total_tokens": total, "completion_tokens_details": reasoning}),
        ),
        (
            "Moonshot",
            Writes::Unsaid,
            json!({"prompt_tokens": input, "completion_tokens": output, "total_tokens": total, "cached_tokens": it.read}),
        ),
        (
            "LiteLLM",
            Writes::Said,
            json!({"prompt_tokens": input, "completion_tokens": output, "total_tokens": total, "prompt_tokens_details": {"cached_tokens": it.read, "cache_creation_tokens": it.written}, "completion_tokens_details": reasoning, "cache_read_input_tokens": it.read, "cache_creation_input_tokens": it.written}),
        ),
        (
            "LiteLLM, earlier",
            Writes::Said,
            json!({"prompt_tokens": it.fresh + it.read, "completion_tokens": output, "total_tokens": total - it.written, "prompt_tokens_details": {"cached_tokens": it.read}, "cache_creation_input_tokens": it.written, "cache_read_input_tokens": it.read}),
        ),
        (
            "Portkey",
            Writes::Said,
            json!({"prompt_tokens": it.fresh, "completion_tokens": output, "total_tokens": total, "prompt_tokens_details": {"cached_tokens": it.read}, "cache_read_input_tokens": it.read, "cache_creation_input_tokens": it.written}),
        ),
        (
            "SGLang",
            Writes::Unsaid,
            json!({"prompt_tokens": input, "completion_tokens": output, "total_tokens": total, "prompt_tokens_details": details, "reasoning_tokens": it.reasoning}),
        ),
    ]
}

fn truth() -> impl Strategy<Value = Truth> {
    let count = || prop_oneof![Just(0_u64), 1_u64..5_000];
    let counts = (1_u64..5_000, count(), count(), count(), count(), 1_u64..5_000);
    counts.prop_map(|(fresh, read, written, hour, reasoning, said)| Truth {
        fresh,
        read,
        written,
        hour: hour.min(written),
        reasoning,
        said,
    })
}

/// Names of counts, and what each is part of.
const FIGURES: [&str; 8] = [
    "input_tokens",
    "prompt_tokens",
    "output_tokens",
    "completion_tokens",
    "cache_read_input_tokens",
    "cache_creation_input_tokens",
    "reasoning_tokens",
    "total_tokens",
];

proptest! {
    #[test]
    fn of_documented_shapes_what_is_billed_is_recorded(it in truth()) {
        for (vendor, writes, stated) in documented(it) {
            prop_assert_eq!(recorded(&stated), Some(it.tokens(writes)), "{}: {}", vendor, stated);
        }
    }

    #[test]
    fn the_figures_of_a_stream_come_to_the_same_however_they_are_spread(it in truth(), cuts in any::<u64>()) {
        for (vendor, writes, stated) in documented(it) {
            let fields = stated.as_object().unwrap();
            // Some fields come first, some last, some twice, and the output grows.
            let mut first = Map::new();
            let mut last = Map::new();
            for (place, (key, value)) in fields.iter().enumerate() {
                if cuts >> (2 * place) & 1 == 1 {
                    let early = if key.contains("output") || key.contains("completion_tokens") { json!(1) } else { value.clone() };
                    first.insert(key.clone(), if value.is_object() { value.clone() } else { early });
                }
                if cuts >> (2 * place) & 1 == 0 || cuts >> (2 * place + 1) & 1 == 1 || first.get(key) != Some(value) {
                    last.insert(key.clone(), value.clone());
                }
            }
            for (one, other) in [(&first, &last), (&last, &first)] {
                let [one, other] = [one, other].map(|it| Some(usage(&Value::Object(it.clone()))));
                let tokens = ReportedUsage::later(one, other).and_then(|usage| usage.tokens());
                prop_assert_eq!(tokens, Some(it.tokens(writes)), "{}: {:?} {:?}", vendor, first, last);
            }
        }
    }

    #[test]
    fn of_anything_else_no_less_is_recorded_than_is_stated(figures in prop::collection::vec(prop::option::of(0_u64..10_000), FIGURES.len())) {
        let stated: Map<String, Value> =
            FIGURES.iter().zip(&figures).filter_map(|(key, count)| Some(((*key).to_owned(), json!((*count)?)))).collect();
        let figure = |key: &str| stated.get(key).and_then(Value::as_u64).unwrap_or(0);
        let value = Value::Object(stated.clone());
        if let Some(tokens) = recorded(&value) {
            let input = figure("input_tokens").max(figure("prompt_tokens"));
            let cache = figure("cache_read_input_tokens") + figure("cache_creation_input_tokens");
            prop_assert_eq!(tokens.input_tokens, input + cache, "{}: nothing says that it is a part", value);
            let output = figure("output_tokens").max(figure("completion_tokens"));
            prop_assert!(tokens.output_tokens >= output.max(figure("reasoning_tokens")), "{}", value);
            prop_assert!(tokens.total() >= figure("total_tokens"), "{}", value);
            if !stated.contains_key("total_tokens") {
                prop_assert_eq!(tokens.output_tokens, output + figure("reasoning_tokens"), "{}", value);
            }
        }
    }
}

fn text_of(json: &str) -> String {
    serde_json::from_str(json).unwrap()
}

#[test]
fn what_is_no_character_is_replaced() {
    for (json, text) in [
        (r#""a\ud800b""#, "a\u{fffd}b"),
        (r#""\udc00""#, "\u{fffd}"),
        (r#""\uD83D\uDE00 \ud83d!""#, "😀 \u{fffd}!"),
        (r#""\ud83d\ud83d\ude00""#, "\u{fffd}😀"),
        (r#""\\ud800""#, "\\ud800"),
        (r#""\\\ud800.""#, "\\\u{fffd}."),
        (r#""ü\u00fc""#, "üü"),
    ] {
        assert_eq!(text_of(&well_formed(json)), text, "{json}");
    }
    assert_eq!(readable(b"\xef\xbb\xbf{}"), "{}");
    assert_eq!(text_of(&readable(b"\"a\xff\xc3\"")), "a\u{fffd}\u{fffd}");
}

#[test]
fn a_pair_that_was_cut_is_one_again() {
    let mut cut_off = None;
    let pieces = [r#""a\ud83d""#, r#""\ude00b\ud83d""#, r#""\ude01""#]
        .map(|piece| text_of(&well_formed_piece(piece, &mut cut_off)));
    assert_eq!(pieces.concat(), "a😀b😁");
}

proptest! {
    #[test]
    fn whatever_is_json_stays_readable(text in "[a\\\\\"\u{1f600}ud8]{0,30}") {
        prop_assert_eq!(text_of(&well_formed(&serde_json::to_string(&text).unwrap())), text);
    }

    #[test]
    fn no_escapes_break_it(escapes in prop::collection::vec(prop::sample::select(vec![
        "\\ud83d", "\\ude00", "\\\\", "a", "\\n", "\\u00e4", "ä",
    ]), 0..9)) {
        let json = format!("\"{}\"", escapes.concat());
        prop_assert!(serde_json::from_str::<String>(&well_formed(&json)).is_ok());
    }
}
