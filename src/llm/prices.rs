//! What models cost, where the user's configuration does not say.
//!
//! The figures are data with a date and a source: `prices.json`, described in `docs/providers.md`. They are used only
//! where the provider does not state the cost itself. A model that is not listed has no price, never a price of 0.

use std::collections::HashMap;
use std::sync::LazyLock;

use serde::Deserialize;

use crate::debate::Price;

/// Providers whose calls cost nothing.
const FREE: [&str; 2] = ["ollama", super::presets::OFFLINE];

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PriceList {
    as_of: String,
    #[serde(flatten)]
    providers: HashMap<String, Entry>,
}

/// A provider's models, or a remark on the list.
#[derive(Deserialize)]
#[serde(untagged)]
enum Entry {
    Models(HashMap<String, [f64; 3]>),
    Remark(serde::de::IgnoredAny),
}

static PRICES: LazyLock<PriceList> = LazyLock::new(|| {
    // A test reads the list; were it damaged all the same, every price would be unknown, which is the truth then.
    serde_json::from_str(include_str!("prices.json"))
        .unwrap_or_else(|_| PriceList { as_of: String::new(), providers: HashMap::new() })
});

/// The date of the price list, `YYYY-MM-DD`.
#[must_use]
pub fn prices_as_of() -> &'static str {
    &PRICES.as_of
}

/// The price of a model of a built-in provider; nothing when it is not known. `OpenRouter` names models
/// `vendor/model`, which are looked up with their vendor.
#[must_use]
pub fn built_in_price(provider: &str, model: &str) -> Option<Price> {
    if FREE.contains(&provider) {
        return Some(Price { input_per_m_tok: 0.0, cached_input_per_m_tok: None, output_per_m_tok: 0.0 });
    }
    let (vendor, model) = match model.split_once('/') {
        Some((vendor, model)) if provider == "openrouter" => {
            (if vendor == "mistralai" { "mistral" } else { vendor }, model)
        }
        _ => (provider, model),
    };
    let Some(Entry::Models(models)) = PRICES.providers.get(vendor) else { return None };
    // `claude-sonnet-4.5` on OpenRouter is `claude-sonnet-4-5` with its vendor.
    let spellings = [model.to_owned(), model.replace('.', "-")];
    let [input, cached, output] =
        spellings.iter().find_map(|model| models.get(model.as_str()).or_else(|| models.get(undated(model))))?;
    Some(Price { input_per_m_tok: *input, cached_input_per_m_tok: Some(*cached), output_per_m_tok: *output })
}

/// The model without the date of its version: `-2024-08-06`, `-20250514`, `-0613`, `-2411` and `-latest`.
fn undated(model: &str) -> &str {
    let mut name = model.strip_suffix("-latest").unwrap_or(model);
    while let Some((rest, last)) = name.rsplit_once('-') {
        let digits = last.bytes().all(|byte| byte.is_ascii_digit());
        if !digits || last.len() < 2 {
            break;
        }
        name = rest;
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_whole() {
        assert_eq!(prices_as_of().len(), 10);
        for provider in ["openai", "anthropic", "google", "mistral"] {
            let Some(Entry::Models(models)) = PRICES.providers.get(provider) else { panic!("{provider} is missing") };
            for (model, [input, cached, output]) in models {
                assert!(*cached <= *input && *input <= *output && *cached > 0.0, "{model}");
            }
        }
    }

    #[test]
    fn versions_and_vendors_are_found_and_strangers_are_not() {
        let input = |provider, model| built_in_price(provider, model).map(|price| price.input_per_m_tok);
        assert_eq!(input("openai", "gpt-4"), Some(30.0));
        assert_eq!(input("openai", "gpt-4-0613"), Some(30.0));
        assert_eq!(input("openai", "gpt-4o-2024-08-06"), Some(2.5));
        assert_eq!(input("anthropic", "claude-sonnet-4-20250514"), Some(3.0));
        assert_eq!(input("anthropic", "claude-3-5-haiku-latest"), Some(0.8));
        assert_eq!(input("openrouter", "openai/gpt-4o-mini"), Some(0.15));
        assert_eq!(input("openrouter", "anthropic/claude-sonnet-4.5"), Some(3.0));
        assert_eq!(input("ollama", "llama3"), Some(0.0));
        assert_eq!(input("openai", "gpt-9"), None);
        assert_eq!(input("local", "gpt-4"), None);
    }
}
