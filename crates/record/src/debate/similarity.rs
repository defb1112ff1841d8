//! The similarity of texts by their words: the cosine of the tf-idf weights of stems. It distinguishes revised texts
//! from repeated ones, but not a decision from its opposite.

use std::collections::BTreeMap;

use rust_stemmers::{Algorithm, Stemmer};
/// The weights of a text's words.
type Weights = BTreeMap<String, f64>;

/// Texts to compare. Rare words have higher weights.
#[derive(Debug)]
pub struct Lexicon {
    weights: Vec<Weights>,
}

impl Lexicon {
    pub fn of<'a>(texts: impl IntoIterator<Item = &'a str>) -> Self {
        let stemmer = Stemmer::create(Algorithm::English);
        let counted: Vec<Weights> = texts
            .into_iter()
            .map(|text| {
                let mut counts = Weights::new();
                for word in text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
                    *counts.entry(stemmer.stem(&word.to_lowercase()).into_owned()).or_default() += 1.0;
                }
                counts
            })
            .collect();
        let mut having: BTreeMap<&str, f64> = BTreeMap::new();
        for word in counted.iter().flat_map(BTreeMap::keys) {
            *having.entry(word).or_default() += 1.0;
        }
        #[expect(clippy::cast_precision_loss, reason = "bounded by the number of agents")]
        let texts = counted.len() as f64;
        // Smoothed by a virtual text with every word: weights are positive and bounded.
        let rarity = |word: &str| ((1.0 + texts) / (1.0 + having.get(word).copied().unwrap_or_default())).ln() + 1.0;
        let weigh = |counts: &Weights| {
            counts.iter().map(|(word, count)| (word.clone(), (1.0 + count.ln()) * rarity(word))).collect()
        };
        Self { weights: counted.iter().map(weigh).collect() }
    }

    /// The similarity of two texts, 0 to 100; `None` if one has no words.
    pub fn similarity(&self, one: usize, other: usize) -> Option<f64> {
        let (one, other) = (self.weights.get(one)?, self.weights.get(other)?);
        let product: f64 = one.iter().filter_map(|(word, weight)| Some(weight * other.get(word)?)).sum();
        let length = |of: &Weights| of.values().map(|weight| weight * weight).sum::<f64>().sqrt();
        let lengths = length(one) * length(other);
        (lengths > 0.0).then(|| (product / lengths * 100.0).clamp(0.0, 100.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_words_are_alike_and_other_words_are_not() {
        let lexicon = Lexicon::of([
            "Queues decouple the services. Use Postgres.",
            "The services are decoupled by a queue; use Postgres!",
            "Bananas ripen slowly",
            "",
            "Queues decouple the services. Do not use Postgres.",
        ]);
        let alike = |one, other| lexicon.similarity(one, other).unwrap();
        assert!((alike(0, 0) - 100.0).abs() < 1e-9);
        assert!(alike(0, 1) > 40.0, "{}", alike(0, 1));
        assert!(alike(0, 2).abs() < 1e-9);
        assert_eq!(lexicon.similarity(0, 3), None);
        // The reason why it decides nothing.
        assert!(alike(0, 4) > 70.0, "{}", alike(0, 4));
        assert!((alike(0, 4) - alike(4, 0)).abs() < 1e-9);
    }

    #[test]
    fn a_weight_is_what_it_says() {
        // One of two words in common.
        let lexicon = Lexicon::of(["red apple", "red pear"]);
        let (common, own) = (1.0_f64, (3.0_f64 / 2.0).ln() + 1.0);
        let expected = common * common / (common * common + own * own) * 100.0;
        assert!((lexicon.similarity(0, 1).unwrap() - expected).abs() < 1e-9);
    }
}
