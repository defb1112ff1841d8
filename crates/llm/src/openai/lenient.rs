//! Parts of answers that both APIs share, read so that an unexpected field does not cost the answer.

use std::borrow::Cow;

use reqwest::header::HeaderMap;
use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer};

use dialectic_base::call::Tokens;
use dialectic_base::money::Usd;

/// LiteLLM's header for the cost in dollars.
const COST_HEADER: &str = "x-litellm-response-cost";

#[derive(Deserialize)]
#[serde(untagged)]
enum Tolerated<T> {
    Expected(T),
    Other(IgnoredAny),
}

/// A field that may be absent or null; an unexpected type counts as absent.
pub(super) fn tolerant<'de, D: Deserializer<'de>, T: Deserialize<'de>>(field: D) -> Result<Option<T>, D::Error> {
    Ok(match Tolerated::deserialize(field)? {
        Tolerated::Expected(value) => Some(value),
        Tolerated::Other(_) => None,
    })
}

/// A list read like a [`tolerant`] field, without unexpected elements.
pub(super) fn tolerant_list<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    field: D,
) -> Result<Option<Vec<T>>, D::Error> {
    let list: Option<Vec<Tolerated<T>>> = tolerant(field)?;
    let expected = |element| match element {
        Tolerated::Expected(value) => Some(value),
        Tolerated::Other(_) => None,
    };
    Ok(list.map(|list| list.into_iter().filter_map(expected).collect()))
}

/// A text that is copied only if it contains escapes.
#[derive(Deserialize)]
#[serde(transparent)]
pub(super) struct Borrowed<'a>(#[serde(borrow)] pub(super) Cow<'a, str>);

/// A text or a number, as error codes may be either.
#[derive(Debug)]
pub(super) struct LenientText(pub(super) String);

impl<'de> Deserialize<'de> for LenientText {
    fn deserialize<D: Deserializer<'de>>(field: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Form {
            Text(String),
            Number(serde_json::Number),
        }
        Ok(Self(match Form::deserialize(field)? {
            Form::Text(text) => text,
            Form::Number(number) => number.to_string(),
        }))
    }
}

/// A larger count is a mistake, and sums of them could overflow.
const LARGEST_COUNT: u64 = 1 << 40;

/// A count, given as an integer, a float or a string.
#[derive(Debug, Clone, Copy)]
struct LenientCount(u64);

impl<'de> Deserialize<'de> for LenientCount {
    fn deserialize<D: Deserializer<'de>>(field: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Form {
            Integer(u64),
            Float(f64),
            Text(String),
        }
        match Form::deserialize(field)? {
            Form::Integer(count) => Some(count),
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "checked not to be negative, and token counts are far below 2^53"
            )]
            Form::Float(count) => (count >= 0.0).then_some(count as u64),
            Form::Text(text) => text.trim().parse().ok(),
        }
        .filter(|count| *count <= LARGEST_COUNT)
        .map(Self)
        .ok_or_else(|| serde::de::Error::custom("not a count"))
    }
}

/// Token counts and costs under the names of all known servers.
///
/// Sources: the references of OpenAI (Chat Completions, Responses), Anthropic (Messages, "Prompt caching"), OpenRouter
/// ("Usage accounting"), DeepSeek ("Context caching"), Moonshot, Google (OpenAI compatibility), LiteLLM ("Prompt
/// caching"), Portkey, Perplexity.
#[derive(Clone, Default, Deserialize)]
pub(super) struct ReportedUsage {
    #[serde(default, deserialize_with = "tolerant")]
    input_tokens: Option<LenientCount>,
    #[serde(default, deserialize_with = "tolerant")]
    prompt_tokens: Option<LenientCount>,
    #[serde(default, deserialize_with = "tolerant")]
    output_tokens: Option<LenientCount>,
    #[serde(default, deserialize_with = "tolerant")]
    completion_tokens: Option<LenientCount>,
    #[serde(default, deserialize_with = "tolerant")]
    total_tokens: Option<LenientCount>,
    #[serde(default, deserialize_with = "tolerant")]
    input_tokens_details: Option<InputDetails>,
    #[serde(default, deserialize_with = "tolerant")]
    prompt_tokens_details: Option<InputDetails>,
    #[serde(default, deserialize_with = "tolerant")]
    output_tokens_details: Option<OutputDetails>,
    #[serde(default, deserialize_with = "tolerant")]
    completion_tokens_details: Option<OutputDetails>,
    /// Anthropic: tokens read from the cache, and written to it, both in addition to `input_tokens`.
    #[serde(default, deserialize_with = "tolerant")]
    cache_read_input_tokens: Option<LenientCount>,
    #[serde(default, deserialize_with = "tolerant")]
    cache_creation_input_tokens: Option<LenientCount>,
    /// Anthropic: cache writes by duration.
    #[serde(default, deserialize_with = "tolerant")]
    cache_creation: Option<CacheCreation>,
    /// DeepSeek: prompt tokens read from the cache.
    #[serde(default, deserialize_with = "tolerant")]
    prompt_cache_hit_tokens: Option<LenientCount>,
    /// Moonshot: the same.
    #[serde(default, deserialize_with = "tolerant")]
    cached_tokens: Option<LenientCount>,
    /// Perplexity, xAI and others.
    #[serde(default, deserialize_with = "tolerant")]
    reasoning_tokens: Option<LenientCount>,
    #[serde(default, deserialize_with = "tolerant")]
    cost: Option<f64>,
    /// OpenRouter: whether the user's own upstream key was used. `cost` is then only the fee.
    #[serde(default, deserialize_with = "tolerant")]
    is_byok: Option<bool>,
    #[serde(default, deserialize_with = "tolerant")]
    cost_details: Option<CostDetails>,
}

#[derive(Clone, Copy, Default, Deserialize)]
struct InputDetails {
    #[serde(default, deserialize_with = "tolerant")]
    cached_tokens: Option<LenientCount>,
    /// LiteLLM: cache writes, included in the prompt.
    #[serde(default, deserialize_with = "tolerant")]
    cache_creation_tokens: Option<LenientCount>,
    /// OpenRouter: the same.
    #[serde(default, deserialize_with = "tolerant")]
    cache_write_tokens: Option<LenientCount>,
    /// LiteLLM: Anthropic's `cache_creation`.
    #[serde(default, deserialize_with = "tolerant")]
    cache_creation_token_details: Option<CacheCreation>,
}

/// Cache writes by duration.
#[derive(Clone, Copy, Default, Deserialize)]
struct CacheCreation {
    #[serde(default, deserialize_with = "tolerant")]
    ephemeral_5m_input_tokens: Option<LenientCount>,
    #[serde(default, deserialize_with = "tolerant")]
    ephemeral_1h_input_tokens: Option<LenientCount>,
}

impl CacheCreation {
    fn hour(self) -> u64 {
        count(self.ephemeral_1h_input_tokens)
    }

    fn total(self) -> u64 {
        count(self.ephemeral_5m_input_tokens).saturating_add(self.hour())
    }

    fn largest(one: Option<Self>, other: Option<Self>) -> Option<Self> {
        let of = |of: fn(Self) -> Option<LenientCount>| largest(one.and_then(of), other.and_then(of));
        one.or(other).map(|_| Self {
            ephemeral_5m_input_tokens: of(|it| it.ephemeral_5m_input_tokens),
            ephemeral_1h_input_tokens: of(|it| it.ephemeral_1h_input_tokens),
        })
    }
}

impl InputDetails {
    fn written(self) -> Option<LenientCount> {
        largest(self.cache_creation_tokens, self.cache_write_tokens)
    }
}

#[derive(Clone, Copy, Default, Deserialize)]
struct OutputDetails {
    #[serde(default, deserialize_with = "tolerant")]
    reasoning_tokens: Option<LenientCount>,
}

#[derive(Clone, Copy, Default, Deserialize)]
struct CostDetails {
    /// The upstream provider's bill.
    #[serde(default, deserialize_with = "tolerant")]
    upstream_inference_cost: Option<f64>,
}

impl ReportedUsage {
    /// The counts; `None` unless input and output are both stated or follow from the total, or if both are zero.
    pub(super) fn tokens(&self) -> Option<Tokens> {
        let (tokens, is_whole) = self.counted();
        Some(tokens).filter(|tokens| is_whole && tokens.input_tokens > 0)
    }

    /// The counts, and whether they include both input and output.
    ///
    /// Reasoning counts as output. Most servers include it there; some (Google, xAI) omit it from the completion, but
    /// not from the total.
    fn counted(&self) -> (Tokens, bool) {
        let stated = largest(self.input_tokens, self.prompt_tokens);
        let completion = largest(self.output_tokens, self.completion_tokens);
        let read = count(self.cache_read_input_tokens);
        let output = count(completion);
        let total = self.total_tokens.map(|total| total.0);
        let known = count(stated).saturating_add(output);
        // Ignores a total smaller than its parts.
        let outside = total.unwrap_or(0).saturating_sub(known);
        let aside = self.cache_beside(count(stated), outside);
        let input = count(stated).saturating_add(aside);
        let details = [self.input_tokens_details, self.prompt_tokens_details].map(|details| details?.cached_tokens);
        let cached = details.into_iter().chain([self.prompt_cache_hit_tokens, self.cached_tokens]).map(count);
        let cached = cached.max().unwrap_or(0).max(read);
        let outside = outside.saturating_sub(aside);
        // More cached tokens than input were counted separately.
        let beside = if cached > input { cached.min(outside) } else { 0 };
        let in_details = [self.output_tokens_details, self.completion_tokens_details];
        let in_details = in_details.map(|details| count(details.and_then(|details| details.reasoning_tokens)));
        let in_details = in_details.into_iter().max().unwrap_or(0);
        let on_top = count(self.reasoning_tokens);
        let reasoning = in_details.max(on_top);
        // Reasoning larger than the output cannot be part of it. Without a total, separately stated reasoning may not
        // be part of the output.
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

    /// Cache writes, and the part kept for an hour.
    fn written(&self) -> (u64, u64) {
        let details = [self.prompt_tokens_details, self.input_tokens_details].into_iter().flatten();
        let in_details = details.clone().map(|details| count(details.written())).max().unwrap_or(0);
        let by_time = details.filter_map(|details| details.cache_creation_token_details).chain(self.cache_creation);
        let hour = by_time.map(CacheCreation::hour).max().unwrap_or(0);
        (self.written_beside().max(in_details).max(hour), hour)
    }

    /// Cache writes as Anthropic states them.
    fn written_beside(&self) -> u64 {
        count(self.cache_creation_input_tokens).max(self.cache_creation.map_or(0, CacheCreation::total))
    }

    /// Cached tokens that the stated input excludes. Anthropic excludes both reads and writes; LiteLLM includes them if
    /// its details repeat them and the total leaves no room.
    fn cache_beside(&self, input: u64, outside: u64) -> u64 {
        let (read, written) = (count(self.cache_read_input_tokens), self.written_beside());
        let both = read.saturating_add(written);
        let details = self.prompt_tokens_details.or(self.input_tokens_details);
        let Some(details) = details.filter(|_| self.total_tokens.is_some() && outside < both) else { return both };
        let has_read = count(details.cached_tokens) >= read && read <= input;
        let has_written = details.written().is_some() && written <= input;
        let read = if has_read { 0 } else { read };
        if has_written { read } else { read.saturating_add(written) }
    }

    /// The output as counted against the limit.
    pub(super) fn completion(&self) -> Option<u64> {
        largest(self.output_tokens, self.completion_tokens).map(|count| count.0)
    }

    /// Whether it has an output count or a cost, as at the end of an answer.
    pub(super) fn is_of_an_end(&self) -> bool {
        self.completion().is_some_and(|output| output > 0) || self.cost.is_some() || self.total_tokens.is_some()
    }

    /// Combines the figures of a stream: the maximum of each kind. Servers may send figures along the way, the input
    /// first and the output last, or an empty set at the end.
    pub(super) fn later(known: Option<Self>, next: Option<Self>) -> Option<Self> {
        let (Some(known), Some(next)) = (&known, &next) else { return next.or(known) };
        let input = |one: Option<InputDetails>, other: Option<InputDetails>| {
            let of = |of: fn(InputDetails) -> Option<LenientCount>| largest(one.and_then(of), other.and_then(of));
            let by_time = |it: Option<InputDetails>| it?.cache_creation_token_details;
            one.or(other).map(|_| InputDetails {
                cached_tokens: of(|it| it.cached_tokens),
                cache_creation_tokens: of(|it| it.cache_creation_tokens),
                cache_write_tokens: of(|it| it.cache_write_tokens),
                cache_creation_token_details: CacheCreation::largest(by_time(one), by_time(other)),
            })
        };
        let output = |one: Option<OutputDetails>, other: Option<OutputDetails>| {
            let [one_has, other_has] = [one, other].map(|it| it.and_then(|it| it.reasoning_tokens));
            one.or(other).map(|_| OutputDetails { reasoning_tokens: largest(one_has, other_has) })
        };
        let costs = |of: fn(&Self) -> Option<f64>| [of(known), of(next)].into_iter().flatten().reduce(f64::max);
        let upstream = costs(|it| it.cost_details?.upstream_inference_cost);
        Some(Self {
            input_tokens: largest(known.input_tokens, next.input_tokens),
            prompt_tokens: largest(known.prompt_tokens, next.prompt_tokens),
            output_tokens: largest(known.output_tokens, next.output_tokens),
            completion_tokens: largest(known.completion_tokens, next.completion_tokens),
            total_tokens: largest(known.total_tokens, next.total_tokens),
            input_tokens_details: input(known.input_tokens_details, next.input_tokens_details),
            prompt_tokens_details: input(known.prompt_tokens_details, next.prompt_tokens_details),
            output_tokens_details: output(known.output_tokens_details, next.output_tokens_details),
            completion_tokens_details: output(known.completion_tokens_details, next.completion_tokens_details),
            cache_read_input_tokens: largest(known.cache_read_input_tokens, next.cache_read_input_tokens),
            cache_creation_input_tokens: largest(known.cache_creation_input_tokens, next.cache_creation_input_tokens),
            cache_creation: CacheCreation::largest(known.cache_creation, next.cache_creation),
            prompt_cache_hit_tokens: largest(known.prompt_cache_hit_tokens, next.prompt_cache_hit_tokens),
            cached_tokens: largest(known.cached_tokens, next.cached_tokens),
            reasoning_tokens: largest(known.reasoning_tokens, next.reasoning_tokens),
            cost: costs(|it| it.cost),
            is_byok: known.is_byok.max(next.is_byok),
            cost_details: upstream.map(|cost| CostDetails { upstream_inference_cost: Some(cost) }),
        })
    }

    /// The stated cost. With the user's own upstream key it is the router's fee plus the provider's bill; the fee alone
    /// is not the cost. Some routers do not state whose key was used; they report the provider's bill only for the
    /// user's key.
    fn cost(&self) -> Option<f64> {
        let upstream = self.cost_details.and_then(|details| details.upstream_inference_cost).filter(|cost| *cost > 0.0);
        match (self.is_byok, upstream) {
            (Some(false), _) | (None, None) => self.cost,
            (Some(true), None) => None,
            (Some(true) | None, Some(upstream)) => Some(upstream + self.cost.unwrap_or(0.0)),
        }
    }
}

fn count(count: Option<LenientCount>) -> u64 {
    count.map_or(0, |count| count.0)
}

/// The larger of two figures for the same quantity.
fn largest(one: Option<LenientCount>, other: Option<LenientCount>) -> Option<LenientCount> {
    one.into_iter().chain(other).max_by_key(|count| count.0)
}

/// The cost that the provider states.
pub(super) fn stated_cost(usage: Option<&ReportedUsage>, headers: &HeaderMap) -> Option<Usd> {
    let in_header = || headers.get(COST_HEADER)?.to_str().ok()?.trim().parse::<f64>().ok();
    usage
        .and_then(ReportedUsage::cost)
        .or_else(in_header)
        .filter(|cost| cost.is_finite() && *cost >= 0.0)
        .map(Usd::from_dollars)
}

/// A message's content: a text, or a list of parts.
#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum MessageContent {
    Text(String),
    Parts(Vec<ContentPart>),
    Part(PartObject),
}

/// A part of a message's content.
#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum ContentPart {
    Text(String),
    Object(PartObject),
    Other(IgnoredAny),
}

/// A part with or without a type.
#[derive(Deserialize)]
pub(super) struct PartObject {
    #[serde(default, rename = "type", deserialize_with = "tolerant")]
    kind: Option<String>,
    #[serde(default, deserialize_with = "tolerant")]
    text: Option<String>,
    #[serde(default, deserialize_with = "tolerant")]
    refusal: Option<String>,
}

impl MessageContent {
    /// Content of answer text and refusal text.
    pub(super) fn of(text: String, refusal: String) -> Self {
        let kind = Some("refusal".to_owned()).filter(|_| !refusal.is_empty());
        let refusal = PartObject { kind, text: None, refusal: Some(refusal) };
        Self::Parts(vec![ContentPart::Text(text), ContentPart::Object(refusal)])
    }

    /// Appends the answer text to `text` and the refusal text to `refusal`.
    pub(super) fn read(self, text: &mut String, refusal: &mut String) {
        match self {
            Self::Text(said) => append(text, said),
            Self::Part(part) => part.read(text, refusal),
            Self::Parts(parts) => {
                for part in parts {
                    match part {
                        ContentPart::Text(said) => append(text, said),
                        ContentPart::Object(part) => part.read(text, refusal),
                        ContentPart::Other(_) => {}
                    }
                }
            }
        }
    }
}

impl PartObject {
    fn read(self, text: &mut String, refusal: &mut String) {
        match self.kind.as_deref() {
            Some("refusal") => append(refusal, self.refusal.or(self.text).unwrap_or_default()),
            // Reasoning is not part of the answer.
            Some("thinking" | "reasoning" | "reasoning_text" | "summary_text") => {}
            _ => {
                append(text, self.text.unwrap_or_default());
                append(refusal, self.refusal.unwrap_or_default());
            }
        }
    }
}

/// Appends without a copy to an empty text.
fn append(text: &mut String, more: String) {
    if text.is_empty() { *text = more } else { text.push_str(&more) }
}

/// The arguments of a tool call: JSON as text, or from some servers a JSON value.
#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum Arguments {
    Text(String),
    Json(serde_json::Value),
}

impl Arguments {
    /// The arguments as text; an empty object if missing.
    pub(super) fn into_text(arguments: Option<Self>) -> String {
        match arguments {
            Some(Self::Text(text)) if !text.trim().is_empty() => text,
            None | Some(Self::Text(_) | Self::Json(serde_json::Value::Null)) => "{}".to_owned(),
            Some(Self::Json(json)) => json.to_string(),
        }
    }
}

/// The first valid id, or else one that is unique within its answer.
pub(super) fn call_id(ids: [Option<String>; 2], index: usize) -> String {
    let stated = ids.into_iter().flatten().find(|id| !id.is_empty());
    stated.unwrap_or_else(|| format!("call_{}", index + 1))
}

#[cfg(test)]
mod tests;
