//! The parts of an answer that both APIs share, read so that no surprise in one field costs the answer.

use std::borrow::Cow;

use reqwest::header::HeaderMap;
use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer};

use crate::debate::{Tokens, Usd};

/// Where LiteLLM states what a call cost, in dollars.
const COST_HEADER: &str = "x-litellm-response-cost";

#[derive(Deserialize)]
#[serde(untagged)]
enum Tolerated<T> {
    Expected(T),
    Other(IgnoredAny),
}

/// A field that may be absent, null or of a type that nobody expects, which is the same as absent.
pub(super) fn tolerant<'de, D: Deserializer<'de>, T: Deserialize<'de>>(field: D) -> Result<Option<T>, D::Error> {
    Ok(match Tolerated::deserialize(field)? {
        Tolerated::Expected(value) => Some(value),
        Tolerated::Other(_) => None,
    })
}

/// A list as [`tolerant`] reads a field, without the elements that nobody expects.
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

/// A text that is not copied where it holds no escapes.
#[derive(Deserialize)]
#[serde(transparent)]
pub(super) struct Borrowed<'a>(#[serde(borrow)] pub(super) Cow<'a, str>);

/// A text, or a number in place of one: error codes are either.
#[derive(Debug)]
pub(super) struct Text(pub(super) String);

impl<'de> Deserialize<'de> for Text {
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

/// No call has more tokens; a larger count is a mistake, and sums of such could overflow.
const LARGEST_COUNT: u64 = 1 << 40;

/// A count, as an integer, a float or a text.
#[derive(Debug, Clone, Copy)]
struct Count(u64);

impl<'de> Deserialize<'de> for Count {
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

/// Token counts under the names of either API, for servers that mix them, and OpenRouter's cost.
#[derive(Deserialize)]
pub(super) struct ReportedUsage {
    #[serde(default, deserialize_with = "tolerant")]
    input_tokens: Option<Count>,
    #[serde(default, deserialize_with = "tolerant")]
    prompt_tokens: Option<Count>,
    #[serde(default, deserialize_with = "tolerant")]
    output_tokens: Option<Count>,
    #[serde(default, deserialize_with = "tolerant")]
    completion_tokens: Option<Count>,
    #[serde(default, deserialize_with = "tolerant")]
    total_tokens: Option<Count>,
    #[serde(default, deserialize_with = "tolerant")]
    input_tokens_details: Option<InputDetails>,
    #[serde(default, deserialize_with = "tolerant")]
    prompt_tokens_details: Option<InputDetails>,
    #[serde(default, deserialize_with = "tolerant")]
    output_tokens_details: Option<OutputDetails>,
    #[serde(default, deserialize_with = "tolerant")]
    completion_tokens_details: Option<OutputDetails>,
    #[serde(default, deserialize_with = "tolerant")]
    cost: Option<f64>,
}

#[derive(Deserialize)]
struct InputDetails {
    #[serde(default, deserialize_with = "tolerant")]
    cached_tokens: Option<Count>,
}

#[derive(Deserialize)]
struct OutputDetails {
    #[serde(default, deserialize_with = "tolerant")]
    reasoning_tokens: Option<Count>,
}

impl ReportedUsage {
    /// The counts; nothing when none is stated, or nothing but zeros: no answer takes none.
    ///
    /// Reasoning belongs to the output. Most servers count it there; some (Google, xAI) leave it out of the completion,
    /// and in the total.
    pub(super) fn tokens(&self) -> Option<Tokens> {
        let count = |count: Option<Count>| count.map_or(0, |count| count.0);
        let input = count(self.input_tokens.or(self.prompt_tokens));
        let output = self.completion().unwrap_or_default();
        if input == 0 && output == 0 {
            return None;
        }
        let input_details = self.input_tokens_details.as_ref().or(self.prompt_tokens_details.as_ref());
        let output_details = self.output_tokens_details.as_ref().or(self.completion_tokens_details.as_ref());
        let cached = count(input_details.and_then(|details| details.cached_tokens));
        let reasoning = count(output_details.and_then(|details| details.reasoning_tokens));
        // A total that is less than its parts is none.
        let outside = count(self.total_tokens).saturating_sub(input + output);
        // Where what was read from a cache is more than the input, it was counted beside it.
        let beside = if cached > input { cached.min(outside) } else { 0 };
        // More reasoning than output cannot be a part of it, whatever the total says.
        let reasoned = (outside - beside).max(if reasoning > output { reasoning } else { 0 });
        Some(Tokens { input_tokens: input + beside, cached_input_tokens: cached, output_tokens: output + reasoned })
    }

    /// The output as the server counts it against the limit.
    pub(super) fn completion(&self) -> Option<u64> {
        self.output_tokens.or(self.completion_tokens).map(|count| count.0)
    }

    /// What is known of an answer after `next` has come in behind `known`. Servers that are asked for figures at the end
    /// send some on the way, and some send a last one that is empty.
    pub(super) fn later(known: Option<Self>, next: Option<Self>) -> Option<Self> {
        match (known, next) {
            (Some(known), Some(next)) => {
                let is_less = |of: fn(&Tokens) -> u64| match (known.tokens(), next.tokens()) {
                    (Some(known), Some(next)) => of(&next) == 0 && of(&known) > 0,
                    (known, next) => known.is_some() && next.is_none(),
                };
                let is_empty = is_less(|tokens| tokens.output_tokens) || is_less(|tokens| tokens.input_tokens);
                let stated = |usage: &Self| usage.cost.filter(|cost| *cost > 0.0);
                let cost = stated(&next).or(known.cost).or(next.cost);
                Some(Self { cost, ..if is_empty { known } else { next } })
            }
            (known, next) => next.or(known),
        }
    }
}

/// What the provider says that the call cost.
pub(super) fn stated_cost(usage: Option<&ReportedUsage>, headers: &HeaderMap) -> Option<Usd> {
    let in_header = || headers.get(COST_HEADER)?.to_str().ok()?.trim().parse::<f64>().ok();
    usage
        .and_then(|usage| usage.cost)
        .or_else(in_header)
        .filter(|cost| cost.is_finite() && *cost >= 0.0)
        .map(Usd::from_dollars)
}

/// A message's content: a text, or parts of one.
#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum Content {
    Text(String),
    Parts(Vec<Part>),
    Part(PartObject),
}

/// A part of a content.
#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum Part {
    Text(String),
    Object(PartObject),
    Other(IgnoredAny),
}

/// A part that says what it is, or does not.
#[derive(Deserialize)]
pub(super) struct PartObject {
    #[serde(default, rename = "type", deserialize_with = "tolerant")]
    kind: Option<String>,
    #[serde(default, deserialize_with = "tolerant")]
    text: Option<String>,
    #[serde(default, deserialize_with = "tolerant")]
    refusal: Option<String>,
}

impl Content {
    /// What was said, and what was said in refusal.
    pub(super) fn of(text: String, refusal: String) -> Self {
        let kind = Some("refusal".to_owned()).filter(|_| !refusal.is_empty());
        let refusal = PartObject { kind, text: None, refusal: Some(refusal) };
        Self::Parts(vec![Part::Text(text), Part::Object(refusal)])
    }

    /// Splits the content into what was said (joined onto `text`) and why it was not (onto `refusal`).
    pub(super) fn read(self, text: &mut String, refusal: &mut String) {
        match self {
            Self::Text(said) => append(text, said),
            Self::Part(part) => part.read(text, refusal),
            Self::Parts(parts) => {
                for part in parts {
                    match part {
                        Part::Text(said) => append(text, said),
                        Part::Object(part) => part.read(text, refusal),
                        Part::Other(_) => {}
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
            // What a model thinks is not what it says.
            Some("thinking" | "reasoning" | "reasoning_text" | "summary_text") => {}
            _ => {
                append(text, self.text.unwrap_or_default());
                append(refusal, self.refusal.unwrap_or_default());
            }
        }
    }
}

/// Appends without a copy where there is nothing yet.
fn append(text: &mut String, more: String) {
    if text.is_empty() { *text = more } else { text.push_str(&more) }
}

/// The arguments of a tool call: JSON as text, or by some servers the JSON itself.
#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum Arguments {
    Text(String),
    Json(serde_json::Value),
}

impl Arguments {
    /// As text; an empty object where there are none.
    pub(super) fn into_text(arguments: Option<Self>) -> String {
        match arguments {
            Some(Self::Text(text)) if !text.trim().is_empty() => text,
            None | Some(Self::Text(_) | Self::Json(serde_json::Value::Null)) => "{}".to_owned(),
            Some(Self::Json(json)) => json.to_string(),
        }
    }
}

/// The first id that is one, or for a call that came without any, one that is unique within its answer.
pub(super) fn call_id(ids: [Option<String>; 2], index: usize) -> String {
    let stated = ids.into_iter().flatten().find(|id| !id.is_empty());
    stated.unwrap_or_else(|| format!("call_{}", index + 1))
}
