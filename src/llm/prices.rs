//! The list prices that are built in. What a provider states beats them, and so does the configuration.

use std::collections::HashMap;
use std::sync::LazyLock;

use serde::Deserialize;

use crate::debate::{AgentSettings, Price, Settings};

use super::presets::OFFLINE;

/// The data: prices by provider and model. The file also says of when they are and where they come from.
#[derive(Debug, Default, Deserialize)]
struct Table {
    providers: HashMap<String, HashMap<String, Entry>>,
}

/// Dollars for a million tokens.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Entry {
    input: f64,
    cached_input: Option<f64>,
    output: f64,
}

/// Read at the first look-up. A table that cannot be read would make every price unknown; a test keeps it readable.
static TABLE: LazyLock<Table> = LazyLock::new(|| read(include_str!("prices.json")).unwrap_or_default());

fn read(json: &str) -> Result<Table, serde_json::Error> {
    serde_json::from_str(json)
}

const FREE: Price = Price { input_per_m_tok: 0.0, cached_input_per_m_tok: Some(0.0), output_per_m_tok: 0.0 };

/// The list price of a provider's model; nothing when it is not known, which is not the same as free.
///
/// A dated snapshot (`gpt-4o-2024-08-06`) costs what its model costs unless it is listed itself. A router's
/// `vendor/model` costs what the vendor charges. Models on the own machine cost nothing.
#[must_use]
pub fn built_in_price(provider: &str, model: &str) -> Option<Price> {
    match provider {
        OFFLINE | "ollama" => Some(FREE),
        "openrouter" if model.ends_with(":free") => Some(FREE),
        "openrouter" => {
            let (vendor, model) = model.split_once('/')?;
            listed(if vendor == "mistralai" { "mistral" } else { vendor }, model)
        }
        "google" => listed(provider, model.strip_prefix("models/").unwrap_or(model)),
        _ => listed(provider, model),
    }
}

/// What an agent's model costs: as configured, else as listed.
#[must_use]
pub fn price_of(agent: &AgentSettings, settings: &Settings) -> Option<Price> {
    settings.prices.get(&agent.model).copied().or_else(|| built_in_price(&agent.provider, &agent.model))
}

fn listed(vendor: &str, model: &str) -> Option<Price> {
    let models = TABLE.providers.get(vendor)?;
    // Routers write `claude-3.5-sonnet` where Anthropic writes `claude-3-5-sonnet`.
    let dashed = (vendor == "anthropic").then(|| model.replace('.', "-"));
    let model = dashed.as_deref().unwrap_or(model);
    let entry = models.get(model).or_else(|| models.get(without_date(model)?))?;
    Some(Price {
        input_per_m_tok: entry.input,
        cached_input_per_m_tok: entry.cached_input,
        output_per_m_tok: entry.output,
    })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_readable_and_plausible() {
        let table = read(include_str!("prices.json")).unwrap();
        let notes: serde_json::Value = serde_json::from_str(include_str!("prices.json")).unwrap();
        assert!(notes["asOf"].as_str().unwrap().parse::<chrono::NaiveDate>().is_ok());
        assert!(notes["source"].as_str().unwrap().len() > 20);
        for (provider, models) in &table.providers {
            assert!(super::super::presets::preset(provider).is_some(), "{provider} is no provider");
            for (model, entry) in models {
                assert!(entry.input > 0.0 && entry.output >= entry.input, "{model}");
                assert!(entry.cached_input.is_none_or(|cached| cached <= entry.input), "{model}");
            }
        }
    }

    #[test]
    fn prices_are_found_by_model_snapshot_and_vendor() {
        for (provider, model, input, cached, output) in [
            ("openai", "gpt-4", 30.0, Some(30.0), 60.0),
            ("openai", "gpt-4-0613", 30.0, Some(30.0), 60.0),
            ("openai", "gpt-4o-2024-08-06", 2.5, Some(1.25), 10.0),
            ("openai", "gpt-4o-2024-05-13", 5.0, None, 15.0),
            ("openai", "gpt-4o-mini", 0.15, Some(0.075), 0.6),
            ("openrouter", "openai/gpt-4-turbo", 10.0, Some(10.0), 30.0),
            ("anthropic", "claude-sonnet-4-20250514", 3.0, Some(0.3), 15.0),
            ("anthropic", "claude-3-5-haiku-latest", 0.8, Some(0.08), 4.0),
            ("openrouter", "anthropic/claude-3.5-sonnet", 3.0, Some(0.3), 15.0),
            ("openrouter", "mistralai/mistral-small", 0.1, None, 0.3),
            ("google", "models/gemini-2.5-pro", 1.25, None, 10.0),
            ("ollama", "llama3.3", 0.0, Some(0.0), 0.0),
            ("offline", "rehearsal", 0.0, Some(0.0), 0.0),
            ("openrouter", "meta-llama/llama-3.3-70b-instruct:free", 0.0, Some(0.0), 0.0),
        ] {
            let price = Price { input_per_m_tok: input, cached_input_per_m_tok: cached, output_per_m_tok: output };
            assert_eq!(built_in_price(provider, model), Some(price), "{provider} {model}");
        }
    }

    #[test]
    fn what_is_not_known_has_no_price() {
        for (provider, model) in [
            ("openai", "gpt-99"),
            ("openai", "gpt-4o-mini-tts"),
            ("openai", "claude-sonnet-4"),
            ("openai", ""),
            ("openrouter", "gpt-4"),
            ("openrouter", "openai/gpt-4o:extended"),
            ("local", "gpt-4"),
        ] {
            assert_eq!(built_in_price(provider, model), None, "{provider} {model}");
        }
    }
}
