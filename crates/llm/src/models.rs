//! What is known of models without asking their servers: prices, limits, what they take, when they are retired.
//!
//! The table is made by `examples/models.rs` from a published one and is read at the first look-up. What a server says
//! beats it, and so does the configuration; what it does not list is unknown, which is not the same as free or fit.

use std::collections::HashMap;
use std::sync::LazyLock;

use chrono::NaiveDate;
use serde::Deserialize;

use dialectic_base::money::{LongPrice, Price};
use dialectic_base::provider::OFFLINE;

use crate::command::program_preset;

mod near;

pub use dialectic_base::provider::family;
pub(super) use near::explained;
pub use near::{current_near, named};

/// What is known of a model.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(from = "ModelRow")]
pub struct ModelFacts {
    /// The list price of its provider.
    pub price: Option<Price>,
    /// The tokens that it reads at most.
    pub context_window: Option<u64>,
    /// The tokens that it writes at most in one answer.
    pub max_output: Option<u32>,
    /// The day from which on it no longer answers.
    pub retires: Option<NaiveDate>,
    /// Whether it thinks before it answers, and bills that as output.
    pub reasons: bool,
    lacks: Vec<Feature>,
}

/// Something that a request may ask of a model, and that not every model takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Feature {
    /// A JSON schema for the answer.
    Schema,
    /// Tools to call.
    Tools,
    /// A temperature.
    Temperature,
    /// System messages.
    System,
    /// The Responses API.
    Responses,
    /// Chat Completions.
    Chat,
}

impl ModelFacts {
    /// Whether the model takes that, as far as is known: what nobody says it lacks, it may be asked for.
    pub fn takes(&self, feature: Feature) -> bool {
        !self.lacks.contains(&feature)
    }

    /// Whether it no longer answers on `day`.
    pub fn is_retired(&self, day: NaiveDate) -> bool {
        self.retires.is_some_and(|retires| retires <= day)
    }
}

/// A line of the table. Prices are dollars for a million tokens.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ModelRow {
    #[serde(rename = "in")]
    input: Option<f64>,
    cached: Option<f64>,
    out: Option<f64>,
    /// Prompts of more tokens than that have the prices that follow.
    above: Option<u64>,
    long_in: Option<f64>,
    long_cached: Option<f64>,
    long_out: Option<f64>,
    window: Option<u64>,
    output: Option<u32>,
    until: Option<NaiveDate>,
    #[serde(default)]
    reasons: bool,
    #[serde(default)]
    lacks: Vec<Feature>,
}

impl From<ModelRow> for ModelFacts {
    fn from(entry: ModelRow) -> Self {
        let price = entry.input.zip(entry.out).map(|(input, output)| Price {
            long: entry.above.zip(entry.long_in).map(|(above, long_input)| LongPrice {
                above,
                input_per_m_tok: long_input,
                cached_input_per_m_tok: entry.long_cached,
                cache_write_per_m_tok: None,
                output_per_m_tok: entry.long_out.unwrap_or(output),
            }),
            ..Price::flat(input, entry.cached, output)
        });
        Self {
            price,
            context_window: entry.window,
            max_output: entry.output,
            retires: entry.until,
            reasons: entry.reasons,
            lacks: entry.lacks,
        }
    }
}

/// The table of a provider's models by name.
type ModelTable = HashMap<String, ModelFacts>;

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ModelsFile {
    #[serde(default)]
    as_of: NaiveDate,
    models: HashMap<String, ModelTable>,
}

/// Read at the first look-up. A table that cannot be read would make everything unknown; a test keeps it readable.
static TABLE: LazyLock<ModelsFile> = LazyLock::new(|| read(TEXT).unwrap_or_default());

const TEXT: &str = include_str!("models.json");

fn read(json: &str) -> Result<ModelsFile, serde_json::Error> {
    serde_json::from_str(json)
}

/// The day on which the table was made.
pub fn as_of() -> NaiveDate {
    TABLE.as_of
}

/// What is known of a provider's model.
///
/// A dated snapshot (`gpt-4o-2024-08-06`) is like its model unless it is listed itself. A router's `vendor/model` that
/// the router's own list lacks is like the vendor's.
pub fn facts(provider: &str, model: &str) -> Option<&'static ModelFacts> {
    match provider {
        "openrouter" => listed(provider, model).or_else(|| {
            let (vendor, model) = model.split_once('/')?;
            listed(if vendor == "mistralai" { "mistral" } else { vendor }, model)
        }),
        "google" => listed(provider, model.strip_prefix("models/").unwrap_or(model)),
        _ => match program_preset(provider) {
            Some(preset) => preset.listed(model).and_then(|(vendor, model)| facts(vendor, model)),
            None => listed(provider, model),
        },
    }
}

/// The names of a provider's models that answer on `day`, sorted.
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

/// `model` without `-2024-08-06`, `-20250514`, `-0613` or `-latest` at its end; nothing when it has none of them.
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

/// The list price of a provider's model; nothing when it is not known, which is not the same as free. Models on the
/// own machine cost nothing.
pub fn built_in_price(provider: &str, model: &str) -> Option<Price> {
    match provider {
        OFFLINE | "ollama" => Some(FREE),
        "openrouter" if model.ends_with(":free") => Some(FREE),
        _ => facts(provider, model)?.price,
    }
}

/// How many times the price of input Anthropic asks for input that it writes to its cache ("Prompt caching").
const ANTHROPIC_WRITES: f64 = 1.25;

/// The price of a model with that of cache writes, where it has none of its own: Anthropic asks more for them than for
/// other input, and so does everybody who serves its models.
pub fn with_cache_writes(price: Price, provider: &str, model: &str) -> Price {
    let is_anthropics = provider == "anthropic" || family(model) == Some("Claude");
    if is_anthropics { price.with_writes(ANTHROPIC_WRITES) } else { price }
}

#[cfg(test)]
mod tests;
