use dialectic_base::provider::{PRESETS, default_models};

use super::*;

#[test]
fn the_table_is_readable_plausible_and_small() {
    let table = read(TEXT).unwrap();
    assert!(TEXT.len() <= 100_000, "{} bytes", TEXT.len());
    assert!(table.as_of > NaiveDate::from_ymd_opt(2026, 11, 1).unwrap());
    for (provider, models) in &table.models {
        assert!(PRESETS.iter().any(|preset| preset.name == provider), "{provider} is no provider");
        assert!(models.len() > 15, "{provider}");
        for (model, facts) in models {
            let name = format!("{provider} {model}");
            let Some(price) = facts.price() else { continue };
            assert!(price.input_per_m_tok > 0.0 && price.output_per_m_tok > 0.0, "{name}");
            assert!(price.cached_input_per_m_tok.is_none_or(|cached| cached <= price.input_per_m_tok), "{name}");
            let Some(long) = price.long else { continue };
            assert!(long.input_per_m_tok >= price.input_per_m_tok, "{name}");
            assert!(long.output_per_m_tok >= price.output_per_m_tok, "{name}");
            assert!(long.cached_input_per_m_tok.is_none_or(|cached| cached <= long.input_per_m_tok), "{name}");
        }
    }
    assert!(TEXT.contains("MIT License") && TEXT.contains("Copyright (c) 2023 Berri AI"));
}

/// The figures were copied from the source file by hand.
#[test]
fn a_sample_of_figures_is_that_of_the_source() {
    type ExpectedFacts = (Option<(f64, Option<f64>, f64)>, Option<u64>, Option<u32>, Option<&'static str>, bool);
    let sample: [(&str, &str, ExpectedFacts); 12] = [
        ("openai", "gpt-4", (Some((30.0, None, 60.0)), Some(8192), Some(4096), Some("2026-10-23"), false)),
        ("openai", "gpt-4o", (Some((2.5, Some(1.25), 10.0)), Some(128_000), Some(16_384), None, false)),
        ("openai", "gpt-5.6-luna", (Some((0.2, Some(0.02), 1.2)), Some(922_000), Some(128_000), None, true)),
        ("openai", "o3", (Some((2.0, Some(0.5), 8.0)), Some(200_000), Some(100_000), Some("2026-12-11"), true)),
        ("openai", "o1-pro", (Some((150.0, None, 600.0)), Some(200_000), Some(100_000), Some("2026-10-23"), true)),
        ("anthropic", "claude-haiku-5-5", (Some((0.1, Some(0.01), 0.5)), Some(1_000_000), Some(128_000), None, true)),
        (
            "anthropic",
            "claude-sonnet-4-5",
            (Some((3.0, Some(0.3), 15.0)), Some(200_000), Some(64_000), Some("2026-11-30"), true),
        ),
        ("google", "gemini-2.5-pro", (Some((1.25, Some(0.125), 10.0)), Some(1_048_576), Some(65_536), None, true)),
        ("google", "gemma-4-31b-it", (None, Some(262_144), Some(32_768), None, true)),
        ("mistral", "mistral-large-2512", (Some((0.5, Some(0.05), 1.5)), Some(262_144), Some(262_144), None, false)),
        (
            "openrouter",
            "openai/gpt-5.6-luna",
            (Some((0.2, Some(0.02), 1.2)), Some(1_050_000), Some(128_000), None, true),
        ),
        (
            "openrouter",
            "deepseek/deepseek-v4.1-flash",
            (Some((0.3, Some(0.006), 1.2)), Some(1_048_576), Some(943_718), None, true),
        ),
    ];
    for (provider, model, expected) in sample {
        let facts = facts(provider, model).unwrap_or_else(|| panic!("{model}"));
        let price =
            facts.price().map(|price| (price.input_per_m_tok, price.cached_input_per_m_tok, price.output_per_m_tok));
        let until = facts.retires.map(|day| day.to_string());
        let found = (price, facts.context_window, facts.max_output, until.as_deref(), facts.reasons);
        assert_eq!(found, expected, "{provider} {model}");
    }
}

#[test]
fn what_a_model_lacks_is_known_before_it_is_asked() {
    use Feature::{Chat, Responses, Schema, System, Temperature, Tools};
    let all = [Schema, Tools, Temperature, System, Responses, Chat];
    for (provider, model, lacking) in [
        ("openai", "gpt-4", vec![Schema]),
        ("openai", "gpt-4-turbo-2024-04-09", vec![Schema]),
        ("openai", "gpt-4o", vec![]),
        ("openai", "gpt-4.1-mini", vec![]),
        ("openai", "gpt-5.6-luna", vec![Temperature]),
        // It only reasons when asked to, and accepts a temperature otherwise.
        ("openai", "gpt-5.2", vec![]),
        ("openai", "gpt-5.2-pro", vec![Temperature, Chat]),
        ("anthropic", "claude-haiku-4-5", vec![]),
        ("anthropic", "claude-haiku-5-5", vec![Temperature]),
        ("google", "gemma-3-27b-it", vec![System]),
        ("google", "gemini-3.8-flash", vec![Temperature]),
    ] {
        let facts = facts(provider, model).unwrap_or_else(|| panic!("{model}"));
        let found: Vec<Feature> = all.into_iter().filter(|feature| !facts.takes(*feature)).collect();
        assert_eq!(found, lacking, "{provider} {model}");
    }
}

#[test]
fn prices_are_found_by_model_snapshot_and_vendor() {
    for (provider, model, input, cached, output) in [
        ("openai", "gpt-4", 30.0, None, 60.0),
        ("openai", "gpt-4-0613", 30.0, None, 60.0),
        ("openai", "gpt-4-0314", 30.0, None, 60.0),
        ("openai", "gpt-4o-2024-08-06", 2.5, Some(1.25), 10.0),
        ("openai", "gpt-4o-2024-05-13", 5.0, None, 15.0),
        ("openai", "gpt-4o-mini", 0.15, Some(0.075), 0.6),
        ("openrouter", "openai/gpt-4-turbo", 10.0, None, 30.0),
        // Missing from the router's own list.
        ("openrouter", "anthropic/claude-haiku-5.5", 0.1, Some(0.01), 0.5),
        ("anthropic", "claude-haiku-4-5-latest", 1.0, Some(0.1), 5.0),
        ("openrouter", "mistralai/mistral-small-latest", 0.15, Some(0.015), 0.6),
        ("google", "models/gemini-2.5-pro", 1.25, Some(0.125), 10.0),
        ("ollama", "llama3.3", 0.0, Some(0.0), 0.0),
        ("offline", "rehearsal", 0.0, Some(0.0), 0.0),
        ("openrouter", "meta-llama/llama-3.3-70b-instruct:free", 0.0, Some(0.0), 0.0),
    ] {
        let price = built_in_price(provider, model).unwrap_or_else(|| panic!("{model}")).at(0);
        assert_eq!(price, Price::flat(input, cached, output), "{provider} {model}");
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
        ("openrouter", "openrouter/auto"),
        ("google", "gemma-4-31b-it"),
        ("local", "gpt-4"),
    ] {
        assert_eq!(built_in_price(provider, model), None, "{provider} {model}");
    }
}

#[test]
fn a_long_prompt_has_the_higher_price_for_all_of_it() {
    use dialectic_base::call::Tokens;
    use dialectic_base::money::Usd;
    let price = built_in_price("anthropic", "claude-haiku-5-5").unwrap();
    let cost = |input_tokens| {
        price.cost(Tokens { input_tokens, cached_input_tokens: 0, output_tokens: 1000, ..Tokens::default() })
    };
    assert_eq!(cost(100_000), Usd::from_dollars(0.0105));
    assert_eq!(cost(200_000), Usd::from_dollars(0.1025));
}

#[test]
fn the_models_that_are_asked_by_default_are_current_priced_and_roomy() {
    // The order in which keys are tried. New providers go to the end.
    let order: Vec<&str> = default_models().map(|(provider, _)| provider).collect();
    assert!(order.starts_with(&["openai", "anthropic", "google", "mistral", "openrouter"]), "{order:?}");
    for preset in PRESETS {
        let (provider, Some(model)) = (preset.name, preset.model) else { continue };
        assert!(preset.api_key_env.is_some(), "{provider}");
        assert!(TABLE.models[provider].contains_key(model), "{model} is not in the table itself");
        let facts = facts(provider, model).unwrap();
        assert!(facts.retires.is_none(), "{model} is to be retired");
        assert!(facts.price().is_some_and(|price| price.output_per_m_tok <= 5.0), "{model}");
        assert!(facts.context_window.is_some_and(|window| window >= 200_000), "{model}");
        assert!(facts.takes(Feature::Schema) && facts.takes(Feature::Tools), "{model}");
    }
}

fn day() -> NaiveDate {
    NaiveDate::from_ymd_opt(2026, 11, 22).unwrap()
}

#[test]
fn what_is_named_is_near_current_and_of_the_same_provider() {
    assert_eq!(current_near("openai", "gpt-4", day()), ["gpt-4o", "gpt-4.1", "gpt-5.4"]);
    assert_eq!(current_near("anthropic", "claude-haiku-5-6", day())[0], "claude-haiku-5-5");
    assert_eq!(current_near("openai", "zzz", day()), Vec::<&str>::new());
    assert_eq!(current_near("local", "gpt-4", day()), Vec::<&str>::new());
    let later = NaiveDate::from_ymd_opt(2027, 6, 1).unwrap();
    assert!(!current_near("openai", "gpt-4", later).contains(&"gpt-5"));
}

#[test]
fn a_model_that_is_not_found_is_explained() {
    let not_found = |status| ModelError::Refused { status, message: "no such model".to_owned() };
    let said = |provider, model| explained(not_found(404), provider, model, day()).to_string();
    insta::assert_snapshot!(said("openai", "gtp-4o"), @"the request was refused (404): no such model (`gtp-4o` is not a known openai model; current models with similar names: `gpt-4o`, `gpt-4o-mini`, `gpt-4.1`)");
    insta::assert_snapshot!(said("openai", "gpt-4-0613"), @"the request was refused (404): no such model (`gpt-4-0613` was retired on 2026-10-23; current models with similar names: `gpt-4o`, `gpt-4.1`, `gpt-5.4`)");
    assert_eq!(said("openai", "gpt-4o"), not_found(404).to_string());
    assert_eq!(said("local", "gpt-4"), not_found(404).to_string());
    assert_eq!(explained(not_found(400), "openai", "gtp-4o", day()), not_found(400));
}
