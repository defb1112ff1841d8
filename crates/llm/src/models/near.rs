//! Alternatives to a retired or unknown model.

use chrono::NaiveDate;

use crate::ModelError;

use super::{ModelFacts, TABLE, facts, without_date};

/// The maximum number of alternatives.
const NAMED: usize = 3;
/// Names below this score are not similar.
const SIMILAR: f64 = 0.8;

/// The names of a provider's models most similar to `model` and in service on `day`, best first. Omits dated names if
/// the undated one is listed.
pub fn current_near(provider: &str, model: &str, day: NaiveDate) -> Vec<&'static str> {
    let Some(models) = TABLE.models.get(provider) else { return Vec::new() };
    let wanted = without_date(model).unwrap_or(model);
    let is_choice = |(name, facts): &(&String, &ModelFacts)| {
        let is_snapshot = without_date(name).is_some_and(|plain| models.contains_key(plain));
        !facts.is_retired(day) && facts.price.is_some() && !is_snapshot && name.as_str() != model
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

/// The names in backquotes, separated by commas.
pub fn named(models: &[&str]) -> String {
    models.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// Adds known facts to the refusal of an unknown model: its retirement, or similar names. Returns other errors
/// unchanged.
pub(crate) fn explained(error: ModelError, provider: &str, model: &str, day: NaiveDate) -> ModelError {
    let ModelError::Refused { status: status @ (404 | 410), message } = error else { return error };
    let near = current_near(provider, model, day);
    let near =
        if near.is_empty() { String::new() } else { format!("; current models with similar names: {}", named(&near)) };
    let note = match facts(provider, model) {
        Some(facts) => match facts.retires.filter(|retires| *retires <= day) {
            Some(retired) => format!(" (`{model}` was retired on {retired}{near})"),
            None => String::new(),
        },
        None if near.is_empty() => String::new(),
        None => format!(" (`{model}` is not a known model of {provider}{near})"),
    };
    ModelError::Refused { status, message: message + &note }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        insta::assert_snapshot!(said("openai", "gtp-4o"), @"the request was refused (404): no such model (`gtp-4o` is not a known model of openai; current models with similar names: `gpt-4o`, `gpt-4o-mini`, `gpt-4.1`)");
        insta::assert_snapshot!(said("openai", "gpt-4-0613"), @"the request was refused (404): no such model (`gpt-4-0613` was retired on 2026-10-23; current models with similar names: `gpt-4o`, `gpt-4.1`, `gpt-5.4`)");
        assert_eq!(said("openai", "gpt-4o"), not_found(404).to_string());
        assert_eq!(said("local", "gpt-4"), not_found(404).to_string());
        assert_eq!(explained(not_found(400), "openai", "gtp-4o", day()), not_found(400));
    }
}
