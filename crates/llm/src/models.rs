//! The prices, limits, features and retirement dates of known models.
//!
//! `examples/models.rs` generates the table from a published one; the table is parsed on first use. Values from servers
//! and the configuration take precedence. The price of a model that is not listed is unknown, not zero.

use std::collections::HashMap;
use std::sync::LazyLock;

use chrono::NaiveDate;
use serde::Deserialize;

use crate::ModelError;
use crate::command::program_preset;
use dialectic_base::figures::backquoted;
use dialectic_base::price::{LongPrice, Price};
use dialectic_base::provider::{HOST, OFFLINE};

pub use dialectic_base::provider::family;

/// A row of `models.json`. Prices are in dollars per million tokens.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ModelFacts {
    #[serde(rename = "in")]
    input: Option<f64>,
    cached: Option<f64>,
    out: Option<f64>,
    /// The `long_` prices apply to prompts with more tokens than this.
    above: Option<u64>,
    long_in: Option<f64>,
    long_cached: Option<f64>,
    long_out: Option<f64>,
    /// In tokens.
    #[serde(rename = "window")]
    pub context_window: Option<u64>,
    /// In tokens.
    #[serde(rename = "output")]
    pub max_output: Option<u32>,
    #[serde(rename = "until")]
    pub retires: Option<NaiveDate>,
    /// Whether the model reasons. Reasoning is billed as output.
    #[serde(default)]
    pub reasons: bool,
    #[serde(default)]
    lacks: Vec<Feature>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Feature {
    Schema,
    Tools,
    Temperature,
    System,
    Responses,
    Chat,
}

impl ModelFacts {
    pub fn price(&self) -> Option<Price> {
        let (input, output) = self.input.zip(self.out)?;
        let long = self.above.zip(self.long_in).map(|(above, long_input)| LongPrice {
            above,
            input_per_m_tok: long_input,
            cached_input_per_m_tok: self.long_cached,
            cache_write_per_m_tok: None,
            output_per_m_tok: self.long_out.unwrap_or(output),
        });
        Some(Price { long, ..Price::flat(input, self.cached, output) })
    }

    /// Whether the model supports `feature`. True unless the table says otherwise.
    pub fn takes(&self, feature: Feature) -> bool {
        !self.lacks.contains(&feature)
    }

    pub fn is_retired(&self, day: NaiveDate) -> bool {
        self.retires.is_some_and(|retires| retires <= day)
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ModelsFile {
    #[serde(default)]
    as_of: NaiveDate,
    /// By provider, then by model name.
    models: HashMap<String, HashMap<String, ModelFacts>>,
}

/// A test ensures that parsing succeeds.
static TABLE: LazyLock<ModelsFile> = LazyLock::new(|| read(TEXT).unwrap_or_default());

const TEXT: &str = include_str!("models.json");

fn read(json: &str) -> Result<ModelsFile, serde_json::Error> {
    serde_json::from_str(json)
}

pub fn as_of() -> NaiveDate {
    TABLE.as_of
}

/// Looks up a model. A dated snapshot (`gpt-4o-2024-08-06`) has the facts of its model unless the snapshot is listed.
/// If a router does not list a `vendor/model`, the vendor's facts apply.
pub fn facts(provider: &str, model: &str) -> Option<&'static ModelFacts> {
    match provider {
        "openrouter" => listed(provider, model).or_else(|| {
            let (vendor, model) = model.split_once('/')?;
            listed(if vendor == "mistralai" { "mistral" } else { vendor }, model)
        }),
        "google" => listed(provider, model.strip_prefix("models/").unwrap_or(model)),
        _ => match program_preset(provider) {
            Some(preset) => facts(preset.vendor, model),
            None => listed(provider, model),
        },
    }
}

pub fn current(provider: &str, day: NaiveDate) -> Vec<&'static str> {
    let models = TABLE.models.get(provider).into_iter().flatten();
    let mut names: Vec<&str> =
        models.filter(|(_, facts)| !facts.is_retired(day)).map(|(name, _)| name.as_str()).collect();
    names.sort_unstable();
    names
}

fn listed(provider: &str, model: &str) -> Option<&'static ModelFacts> {
    let models = TABLE.models.get(provider)?;
    // Routers write `claude-sonnet-4.5` where Anthropic writes `claude-sonnet-4-5`.
    let dashed = (provider == "anthropic").then(|| model.replace('.', "-"));
    let model = dashed.as_deref().unwrap_or(model);
    models.get(model).or_else(|| models.get(without_date(model)?))
}

/// `model` without a suffix such as `-2024-08-06`, `-20250514`, `-0613` or `-latest`; `None` if there is no such
/// suffix.
fn without_date(model: &str) -> Option<&str> {
    let shapes: [&[usize]; 3] = [&[4, 2, 2], &[8], &[4]];
    model.strip_suffix("-latest").or_else(|| {
        shapes.into_iter().find_map(|shape| {
            shape.iter().rev().try_fold(model, |rest, &digits| {
                let (rest, part) = rest.rsplit_once('-')?;
                (part.len() == digits && part.bytes().all(|byte| byte.is_ascii_digit())).then_some(rest)
            })
        })
    })
}

const FREE: Price = Price::flat(0.0, Some(0.0), 0.0);

/// The price of a model; `None` if unknown. The offline provider, the host, Ollama and OpenRouter's `:free` models cost
/// nothing.
pub fn built_in_price(provider: &str, model: &str) -> Option<Price> {
    match provider {
        OFFLINE | HOST | "ollama" => Some(FREE),
        "openrouter" if model.ends_with(":free") => Some(FREE),
        _ => facts(provider, model)?.price(),
    }
}

/// Anthropic's price for cache writes relative to input (see "Prompt caching" in its documentation).
const ANTHROPIC_WRITES: f64 = 1.25;

/// Adds a price for cache writes to an Anthropic model that has none, because cache writes cost more than other input
/// on any server.
pub fn with_cache_writes(price: Price, provider: &str, model: &str) -> Price {
    let is_anthropics = provider == "anthropic" || family(model) == Some("Claude");
    if is_anthropics { price.with_writes(ANTHROPIC_WRITES) } else { price }
}

const NAMED: usize = 3;
/// The minimum Jaro-Winkler similarity of suggested names, from 0 to 1.
const SIMILAR: f64 = 0.8;

/// The names of a provider's models that are most similar to `model` and in service on `day`, best first. Omits dated
/// names if the undated one is listed.
pub fn current_near(provider: &str, model: &str, day: NaiveDate) -> Vec<&'static str> {
    let Some(models) = TABLE.models.get(provider) else { return Vec::new() };
    let wanted = without_date(model).unwrap_or(model);
    let is_choice = |(name, facts): &(&String, &ModelFacts)| {
        let is_snapshot = without_date(name).is_some_and(|plain| models.contains_key(plain));
        !facts.is_retired(day) && facts.price().is_some() && !is_snapshot && name.as_str() != model
    };
    let mut near: Vec<(f64, &str)> = models
        .iter()
        .filter(is_choice)
        .map(|(name, _)| (strsim::jaro_winkler(wanted, name), name.as_str()))
        .filter(|(likeness, _)| *likeness >= SIMILAR)
        .collect();
    near.sort_by(|(one, a), (other, b)| other.total_cmp(one).then(a.cmp(b)));
    near.into_iter().take(NAMED).map(|(_, name)| name).collect()
}

/// If the server does not know the model, adds the model's retirement date or similar names to the refusal. Returns
/// other errors unchanged.
pub(super) fn explained(error: ModelError, provider: &str, model: &str, day: NaiveDate) -> ModelError {
    let ModelError::Refused { status: status @ (404 | 410), message } = error else { return error };
    let near = current_near(provider, model, day);
    let near = if near.is_empty() {
        String::new()
    } else {
        format!("; current models with similar names: {}", backquoted(near))
    };
    let note = match facts(provider, model) {
        Some(facts) => match facts.retires.filter(|retires| *retires <= day) {
            Some(retired) => format!(" (`{model}` was retired on {retired}{near})"),
            None => String::new(),
        },
        None if near.is_empty() => String::new(),
        None => format!(" (`{model}` is not a known {provider} model{near})"),
    };
    ModelError::Refused { status, message: message + &note }
}

#[cfg(test)]
mod tests;
