//! Reads answers leniently: repairs malformed text and JSON, and does not discard an answer because of an unexpected
//! field.

use std::borrow::Cow;

use memchr::memmem;
use reqwest::header::HeaderMap;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use dialectic_base::call::Tokens;
use dialectic_base::money::Usd;

/// LiteLLM's header for the cost in dollars.
const COST_HEADER: &str = "x-litellm-response-cost";

/// xAI states costs in ticks.
const TICKS_PER_DOLLAR: f64 = 1e10;

/// Returns null if the field is absent.
pub(super) fn take(object: &mut Value, key: &str) -> Value {
    object.get_mut(key).map(Value::take).unwrap_or_default()
}

/// Returns `None` if the field is absent or not a string.
pub(super) fn take_text(object: &mut Value, key: &str) -> Option<String> {
    if let Value::String(text) = take(object, key) { Some(text) } else { None }
}

/// Returns a string unchanged, and any other value as JSON text, which then matches no known word. Returns `None` if
/// the field is absent or null.
pub(super) fn take_word(object: &mut Value, key: &str) -> Option<String> {
    match take(object, key) {
        Value::Null => None,
        Value::String(word) => Some(word),
        other @ (Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => Some(other.to_string()),
    }
}

/// A text that is copied only if it contains escapes.
#[derive(Deserialize)]
#[serde(transparent)]
pub(super) struct Borrowed<'a>(#[serde(borrow)] pub(super) Cow<'a, str>);

/// Larger counts are mistakes, and sums of them could overflow.
const LARGEST_COUNT: f64 = 1_099_511_627_776.0;

/// Reads a number, which may be written as text. `None` if it is negative or larger than [`LARGEST_COUNT`].
fn figure(value: &Value) -> Option<f64> {
    let figure = value.as_f64().or_else(|| value.as_str()?.trim().trim_start_matches('$').parse().ok());
    figure.filter(|figure| (0.0..=LARGEST_COUNT).contains(figure))
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "checked not to be negative, and token counts are far below 2^53"
)]
fn count(value: &Value) -> Option<u64> {
    figure(value).map(|count| count as u64)
}

#[rustfmt::skip]
const USAGE: &[&str] = &[
    "/usage", // OpenAI and most others
    "/choices/0/usage", "/choices/0/message/usage", "/choices/0/delta/usage", // Moonshot, gateways
    "/x_groq/usage", // Groq
    "/usage_metadata", "/usageMetadata", "/token_usage", // gateways to Google, others
];

/// Where answers may state a cost outside the usage.
#[rustfmt::skip]
const COSTS: &[&str] = &[
    "/cost", "/estimated_cost", // OpenCode, gateways
    "/response_cost", "/_hidden_params/response_cost", // LiteLLM
    "/provider_metadata/gateway/cost", "/choices/0/message/provider_metadata/gateway/cost", // Vercel
    "/choices/0/delta/provider_metadata/gateway/cost", // the same in a stream
];

/// JSON pointers to costs, relative to the usage.
#[rustfmt::skip]
const USAGE_COSTS: &[&str] = &[
    "/cost", // OpenRouter and most others
    "/cost/total_cost", "/total_cost", // Perplexity, gateways
    "/estimated_cost", // DeepInfra
    "/cost_usd", "/cost_usd_total", "/total_cost_usd", // LLM Gateway, others
    "/cost_details/total_cost", // LLM Gateway
];

/// Token counts and costs, under the names that known servers use.
///
/// Sources: the references of OpenAI (Chat Completions, Responses), Anthropic (Messages, "Prompt caching"), OpenRouter
/// ("Usage accounting"), DeepSeek ("Context caching"), Moonshot, Google (OpenAI compatibility), LiteLLM ("Prompt
/// caching"), Portkey, Perplexity.
#[derive(Clone, Deserialize)]
#[serde(transparent)]
pub(super) struct ReportedUsage(pub(super) Value);

impl ReportedUsage {
    pub(super) fn of(answer: &Value) -> Option<Self> {
        let usage = USAGE.iter().filter_map(|place| answer.pointer(place)).find(|usage| usage.is_object());
        let costs = COSTS.iter().filter_map(|place| answer.pointer(place));
        let cost = costs.into_iter().find(|cost| figure(cost).is_some());
        let mut usage = usage.cloned();
        if let Some(cost) = cost {
            let figures = usage.get_or_insert_with(|| Value::Object(Map::new()));
            if figures.get("cost").is_none_or(Value::is_null) {
                figures["cost"] = cost.clone();
            }
        }
        usage.map(Self)
    }

    /// The largest value at these pointers, which all have the same meaning.
    fn stated<const N: usize>(&self, pointers: [&str; N]) -> Option<u64> {
        pointers.into_iter().filter_map(|pointer| count(self.0.pointer(pointer)?)).max()
    }

    fn count<const N: usize>(&self, pointers: [&str; N]) -> u64 {
        self.stated(pointers).unwrap_or(0)
    }

    fn total(&self) -> Option<u64> {
        self.stated(["/total_tokens", "/totalTokenCount", "/totalTokens"])
    }

    /// The counts; `None` if the input is zero or not stated, or if the output is neither stated nor implied.
    pub(super) fn tokens(&self) -> Option<Tokens> {
        let (tokens, is_whole) = self.counted();
        Some(tokens).filter(|tokens| is_whole && tokens.input_tokens > 0)
    }

    /// The counts, and whether they include both input and output.
    ///
    /// The output includes reasoning. Most servers include reasoning in the completion; some (Google, xAI) include it
    /// only in the total.
    fn counted(&self) -> (Tokens, bool) {
        let stated = self.stated(["/input_tokens", "/prompt_tokens", "/promptTokenCount", "/promptTokens"]);
        let completion = self.completion();
        let read = self.count(["/cache_read_input_tokens"]);
        let (of_input, output) = (stated.unwrap_or(0), completion.unwrap_or(0));
        let total = self.total();
        let known = of_input.saturating_add(output);
        // A total smaller than its parts is ignored.
        let outside = total.unwrap_or(0).saturating_sub(known);
        let aside = self.cache_beside(of_input, outside);
        let input = of_input.saturating_add(aside);
        let cached = self.count([
            "/input_tokens_details/cached_tokens",
            "/prompt_tokens_details/cached_tokens",
            "/prompt_cache_hit_tokens", // DeepSeek
            "/cached_tokens",           // Moonshot
            "/cachedContentTokenCount", // Google
        ]);
        let cached = cached.max(read);
        let outside = outside.saturating_sub(aside);
        // If there are more cached tokens than input tokens, the stated input excludes the cached tokens.
        let beside = if cached > input { cached.min(outside) } else { 0 };
        let in_details =
            self.count(["/output_tokens_details/reasoning_tokens", "/completion_tokens_details/reasoning_tokens"]);
        // Perplexity, xAI, Google and others state reasoning here.
        let on_top = self.count(["/reasoning_tokens", "/thoughtsTokenCount"]);
        let reasoning = in_details.max(on_top);
        // Reasoning that exceeds the output cannot be part of it. Without a total, reasoning that is stated separately
        // may not be part of the output.
        let is_apart = reasoning > output || on_top > in_details && total.is_none_or(|total| total < known);
        let reasoned = (outside - beside).max(if is_apart { reasoning } else { 0 });
        let input = input.saturating_add(beside);
        let (written, hour) = self.written();
        let written = written.min(input.saturating_sub(cached));
        let tokens = Tokens {
            input_tokens: input,
            cached_input_tokens: cached,
            cache_write_tokens: written,
            cache_write_hour_tokens: hour.min(written),
            output_tokens: output.saturating_add(reasoned),
        };
        (tokens, stated.is_some() && (completion.is_some() || reasoned > 0))
    }

    /// Cache writes, and how many of them are kept for an hour.
    fn written(&self) -> (u64, u64) {
        // LiteLLM's and then OpenRouter's names for writes that the prompt count includes.
        let in_details = self.count([
            "/prompt_tokens_details/cache_creation_tokens",
            "/input_tokens_details/cache_creation_tokens",
            "/prompt_tokens_details/cache_write_tokens",
            "/input_tokens_details/cache_write_tokens",
        ]);
        let hour = self.count([
            "/prompt_tokens_details/cache_creation_token_details/ephemeral_1h_input_tokens",
            "/input_tokens_details/cache_creation_token_details/ephemeral_1h_input_tokens",
            "/cache_creation/ephemeral_1h_input_tokens",
        ]);
        (self.written_beside().max(in_details).max(hour), hour)
    }

    /// Cache writes as Anthropic states them, in total and by duration.
    fn written_beside(&self) -> u64 {
        let [short, hour] = ["5m", "1h"].map(|time| format!("/cache_creation/ephemeral_{time}_input_tokens"));
        let by_time = self.count([&short]).saturating_add(self.count([&hour]));
        self.count(["/cache_creation_input_tokens"]).max(by_time)
    }

    /// Cached tokens that the stated input excludes. Anthropic's input excludes reads and writes. LiteLLM's input
    /// includes them if the details repeat them and the total leaves no room for more tokens.
    fn cache_beside(&self, input: u64, outside: u64) -> u64 {
        let (read, written) = (self.count(["/cache_read_input_tokens"]), self.written_beside());
        let both = read.saturating_add(written);
        let details = ["prompt_tokens_details", "input_tokens_details"].map(|name| &self.0[name]);
        let details = details.into_iter().find(|details| details.is_object());
        let has_total = self.total().is_some();
        let Some(details) = details.filter(|_| has_total && outside < both) else { return both };
        let has_read = count(&details["cached_tokens"]).unwrap_or(0) >= read && read <= input;
        let states_writes =
            ["cache_creation_tokens", "cache_write_tokens"].iter().any(|it| count(&details[it]).is_some());
        let read = if has_read { 0 } else { read };
        if states_writes && written <= input { read } else { read.saturating_add(written) }
    }

    /// The stated output tokens, to which the output limit applies.
    pub(super) fn completion(&self) -> Option<u64> {
        self.stated(["/output_tokens", "/completion_tokens", "/candidatesTokenCount", "/completionTokens"])
    }

    /// Whether the usage has an output count, a total or a cost, as at the end of an answer.
    pub(super) fn is_of_an_end(&self) -> bool {
        let has_total = self.total().is_some();
        self.completion().is_some_and(|output| output > 0) || self.cost().is_some() || has_total
    }

    /// Combines two reports of usage, keeping the larger values. Servers may send usage more than once: the input first
    /// and the output last, or an empty usage at the end.
    pub(super) fn later(known: Option<Self>, next: Option<Self>) -> Option<Self> {
        match (known, next) {
            (Some(known), Some(next)) => Some(Self(largest(known.0, next.0))),
            (known, next) => next.or(known),
        }
    }

    /// The stated cost. If the user's own upstream key was used (OpenRouter's `is_byok`), the cost is the router's fee
    /// plus the provider's bill, and unknown without the bill. If a router states the provider's bill but not whose key
    /// was used, it was the user's key. Perplexity states parts and their sum, which includes its fee per request. xAI
    /// states ticks (<https://docs.x.ai/developers/cost-tracking>). `DeepInfra` states an estimate.
    fn cost(&self) -> Option<f64> {
        let stated = |place: &str| figure(self.0.pointer(place)?);
        let ticks = || Some(self.0["cost_in_usd_ticks"].as_f64()? / TICKS_PER_DOLLAR);
        let cost = USAGE_COSTS.iter().find_map(|place| stated(place)).or_else(ticks);
        let upstream = stated("/cost_details/upstream_inference_cost").filter(|cost| *cost > 0.0);
        match (self.0["is_byok"].as_bool(), upstream) {
            (Some(false), _) | (None, None) => cost,
            (Some(true), None) => None,
            (Some(true) | None, Some(upstream)) => Some(upstream + cost.unwrap_or(0.0)),
        }
    }
}

/// Keeps the larger of two numbers, merges objects key by key, and prefers an object to any other value.
fn largest(known: Value, next: Value) -> Value {
    match (known, next) {
        (Value::Object(mut known), Value::Object(next)) => {
            for (key, next) in next {
                let known = known.entry(key).or_insert_with(Value::default);
                *known = largest(known.take(), next);
            }
            known.into()
        }
        (object @ Value::Object(_), _) | (_, object @ Value::Object(_)) => object,
        (Value::Bool(known), Value::Bool(next)) => (known || next).into(),
        (known, next) if figure(&known) > figure(&next) || next.is_null() => known,
        (_, next) => next,
    }
}

pub(super) fn stated_cost(usage: Option<&ReportedUsage>, headers: &HeaderMap) -> Option<Usd> {
    let in_header = || headers.get(COST_HEADER)?.to_str().ok()?.trim().parse::<f64>().ok();
    usage
        .and_then(ReportedUsage::cost)
        .or_else(in_header)
        .filter(|cost| cost.is_finite() && *cost >= 0.0)
        .map(Usd::from_dollars)
}

/// Parts of the names of message fields that arrive in pieces.
const GROWING: [&str; 7] = ["reason", "think", "text", "summary", "data", "content", "arguments"];

/// Adds a piece to a message. Appends texts in fields that match [`GROWING`], merges parts with the same index, and
/// replaces other values.
pub(super) fn grow(known: &mut Value, more: Value) {
    match (known, more) {
        (_, Value::Null) => {}
        (Value::Object(known), Value::Object(more)) => {
            for (key, more) in more {
                let known = known.entry(key.as_str()).or_insert(Value::Null);
                let is_growing = GROWING.iter().any(|it| key.contains(it));
                match (known, more) {
                    (Value::String(known), Value::String(more)) if is_growing => known.push_str(&more),
                    // Later pieces repeat names as empty strings.
                    (Value::String(_), Value::String(more)) if more.is_empty() => {}
                    (known, more) => grow(known, more),
                }
            }
        }
        (Value::Array(known), Value::Array(more)) => {
            for part in more {
                let index = part["index"].as_u64();
                let is_thought = index.is_none() && is_thought(&part);
                let place = known.iter_mut().rfind(|known| match index {
                    Some(_) => known["index"].as_u64() == index,
                    // LiteLLM's thinking blocks have no index.
                    None => is_thought && known["type"] == part["type"] && !known["signature"].is_string(),
                });
                match place {
                    Some(place) => grow(place, part),
                    None => known.push(part),
                }
            }
        }
        (known, more) => *known = more,
    }
}

const THOUGHTS: [&str; 4] = ["thinking", "reasoning", "reasoning_text", "summary_text"];

fn is_thought(part: &Value) -> bool {
    part["type"].as_str().is_some_and(|kind| THOUGHTS.contains(&kind))
}

/// Mistral sends reasoning as part of the content.
pub(super) fn has_thoughts(content: &Value) -> bool {
    content.as_array().is_some_and(|parts| parts.iter().any(is_thought))
}

pub(super) fn read_content(mut content: Value, text: &mut String, refusal: &mut String) {
    match content {
        Value::String(said) => append(text, said),
        Value::Array(parts) => parts.into_iter().for_each(|part| read_content(part, text, refusal)),
        Value::Object(_) => {
            let (said, refused) = (take_text(&mut content, "text"), take_text(&mut content, "refusal"));
            match content["type"].as_str() {
                Some("refusal") => append(refusal, refused.or(said).unwrap_or_default()),
                // Reasoning is not part of the answer.
                Some(kind) if THOUGHTS.contains(&kind) => {}
                Some(_) | None => {
                    append(text, said.unwrap_or_default());
                    append(refusal, refused.unwrap_or_default());
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Appends `more` to `text`, without copying it if `text` is empty.
fn append(text: &mut String, more: String) {
    if text.is_empty() { *text = more } else { text.push_str(&more) }
}

/// The arguments of a tool call as text, since some servers send JSON values. Missing arguments become an empty object.
pub(super) fn arguments(arguments: Value) -> String {
    match arguments {
        Value::String(text) if !text.trim().is_empty() => text,
        Value::Null | Value::String(_) => "{}".to_owned(),
        json @ (Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => json.to_string(),
    }
}

/// The first nonempty id, or else one that is unique within the answer.
pub(super) fn call_id(ids: [Option<String>; 2], index: usize) -> String {
    let stated = ids.into_iter().flatten().find(|id| !id.is_empty());
    stated.unwrap_or_else(|| format!("call_{}", index + 1))
}

/// Some servers send a byte order mark at the start of a text.
pub(super) const BYTE_ORDER_MARK: char = '\u{feff}';

const REPLACEMENT: &str = "\\ufffd";

/// A body as readable JSON, without a byte order mark, invalid UTF-8 or lone surrogates.
pub(super) fn readable(body: &[u8]) -> Cow<'_, str> {
    // Checking for UTF-8 is faster than converting.
    if let Ok(text) = std::str::from_utf8(body) {
        return well_formed(text.trim_start_matches(BYTE_ORDER_MARK));
    }
    let text = String::from_utf8_lossy(body);
    Cow::Owned(well_formed(text.trim_start_matches(BYTE_ORDER_MARK)).into_owned())
}

/// Tolerates raw control characters in strings, and values such as `NaN`.
pub(super) fn parsed<T: DeserializeOwned>(json: &str) -> serde_json::Result<T> {
    serde_json::from_str(json).or_else(|error| match tolerable(json) {
        Some(json) => serde_json::from_str(&json),
        None => Err(error),
    })
}

/// `json` with raw control characters escaped, and `NaN` and `Infinity` replaced by `null`. `None` if there is nothing
/// to replace.
pub(super) fn tolerable(json: &str) -> Option<String> {
    let (mut mended, mut is_changed) = (String::with_capacity(json.len()), false);
    let (mut in_string, mut is_escaped) = (false, false);
    let mut rest = json;
    while let Some(c) = rest.chars().next() {
        let figure = ["NaN", "-Infinity", "Infinity"].into_iter().find(|word| !in_string && rest.starts_with(word));
        let is_raw = in_string && c < ' ';
        is_changed |= figure.is_some() || is_raw;
        match figure {
            Some(_) => mended.push_str("null"),
            None if is_raw => {
                mended.push_str(if is_escaped { "u00" } else { "\\u00" });
                mended.extend(
                    [u32::from(c) / 16, u32::from(c) % 16].into_iter().filter_map(|it| char::from_digit(it, 16)),
                );
            }
            None => mended.push(c),
        }
        in_string ^= c == '"' && !is_escaped;
        is_escaped = in_string && c == '\\' && !is_escaped;
        rest = &rest[figure.map_or(c.len_utf8(), str::len)..];
    }
    is_changed.then_some(mended)
}

/// `json` with escapes of lone surrogates replaced by U+FFFD.
fn well_formed(json: &str) -> Cow<'_, str> {
    well_formed_piece(json, &mut None)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Half {
    First,
    Second,
}

/// Like `well_formed`, for a piece of a text. A server may split a surrogate pair between two pieces: `cut_off` is the
/// escaped first half from the end of the previous piece.
pub(super) fn well_formed_piece<'a>(json: &'a str, cut_off: &mut Option<String>) -> Cow<'a, str> {
    let has = |escape: &[u8]| memmem::find(json.as_bytes(), escape).is_some();
    if !has(b"\\ud") && !has(b"\\uD") {
        return Cow::Borrowed(json);
    }
    let mut mended = String::new();
    // Everything before `taken` was copied.
    let (mut taken, mut at) = (0, 0);
    while let Some(backslash) = json[at..].find('\\').map(|found| at + found) {
        let Some(half) = surrogate_at(json, backslash) else {
            // An escaped backslash does not start another escape.
            at = json.ceil_char_boundary((backslash + 2).min(json.len()));
            continue;
        };
        let end = backslash + REPLACEMENT.len();
        if half == Half::First && surrogate_at(json, end) == Some(Half::Second) {
            at = end + REPLACEMENT.len();
            continue;
        }
        mended.push_str(&json[taken..backslash]);
        match half {
            Half::First if json[end..].starts_with('"') => *cut_off = Some(json[backslash..end].to_owned()),
            Half::Second if json[..backslash].ends_with('"') && cut_off.is_some() => {
                mended.extend(cut_off.take());
                mended.push_str(&json[backslash..end]);
            }
            Half::First | Half::Second => mended.push_str(REPLACEMENT),
        }
        (taken, at) = (end, end);
    }
    if taken == 0 {
        return Cow::Borrowed(json);
    }
    mended.push_str(&json[taken..]);
    Cow::Owned(mended)
}

fn surrogate_at(json: &str, at: usize) -> Option<Half> {
    let digits = json.get(at..at + REPLACEMENT.len())?.strip_prefix("\\u")?;
    match u32::from_str_radix(digits, 16).ok()? {
        0xd800..=0xdbff => Some(Half::First),
        0xdc00..=0xdfff => Some(Half::Second),
        _ => None,
    }
}

/// Builds an object without the fields that are null.
pub(super) fn object<const N: usize>(fields: [(&str, Value); N]) -> Value {
    fields.into_iter().filter(|(_, value)| !value.is_null()).map(|(name, value)| (name.to_owned(), value)).collect()
}

#[cfg(test)]
mod tests;
