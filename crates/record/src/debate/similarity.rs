//! How alike texts are: by their words, the cosine of the stemmed words' tf-idf weights, or by the embeddings that a model
//! makes of them. Both tell a text that was reworked from one that was repeated. Neither tells a decision from its opposite.

use std::collections::BTreeMap;

use rust_stemmers::{Algorithm, Stemmer};
use serde::{Deserialize, Serialize};

use super::CallKey;

/// How alike texts are by their embeddings.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Similarities {
    /// The texts, by the calls that they are of.
    pub texts: Vec<CallKey>,
    /// Each pair of them, by place, with how alike they are, 0 to 100. A pair of which nothing can be said is missing.
    pub pairs: Vec<(usize, usize, f64)>,
}

impl Similarities {
    /// Of these texts by the cosines of their embeddings, which are in the same order.
    #[must_use]
    pub fn of(texts: Vec<CallKey>, embeddings: &[Vec<f64>]) -> Self {
        let places = (0..texts.len()).flat_map(|one| (one + 1..texts.len()).map(move |other| (one, other)));
        let pairs = places.filter_map(|(one, other)| {
            Some((one, other, percent(cosine(embeddings.get(one)?, embeddings.get(other)?)?)))
        });
        let pairs = pairs.collect();
        Self { texts, pairs }
    }

    /// How alike two texts are; nothing where that is not known.
    #[must_use]
    pub fn between(&self, one: &CallKey, other: &CallKey) -> Option<f64> {
        let place = |key: &CallKey| self.texts.iter().position(|text| text == key);
        let (one, other) = (place(one)?, place(other)?);
        let pair = (one.min(other), one.max(other));
        self.pairs.iter().find(|(first, second, _)| (*first, *second) == pair).map(|(.., similarity)| *similarity)
    }
}

/// The cosine of the angle between two vectors; nothing where one has no length.
fn cosine(one: &[f64], other: &[f64]) -> Option<f64> {
    let product: f64 = one.iter().zip(other).map(|(one, other)| one * other).sum();
    let length = |of: &[f64]| of.iter().map(|value| value * value).sum::<f64>().sqrt();
    let lengths = length(one) * length(other);
    (lengths > 0.0 && product.is_finite()).then(|| product / lengths)
}

/// Texts that have nothing to do with each other may point away from each other: they are not alike at all.
fn percent(cosine: f64) -> f64 {
    // More digits say nothing, and make records long.
    ((cosine * 100.0).clamp(0.0, 100.0) * 1000.0).round() / 1000.0
}

/// The weights of a text's words.
type Weights = BTreeMap<String, f64>;

/// Texts to be compared with each other. A word weighs the more, the fewer of them have it.
#[derive(Debug)]
pub struct Lexicon {
    weights: Vec<Weights>,
}

impl Lexicon {
    /// Of these texts.
    #[must_use]
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
        #[expect(clippy::cast_precision_loss, reason = "as many as there are agents")]
        let texts = counted.len() as f64;
        // Smoothed, as if one more text had every word: no weight is zero, and none grows without bound.
        let rarity = |word: &str| ((1.0 + texts) / (1.0 + having.get(word).copied().unwrap_or_default())).ln() + 1.0;
        let weigh = |counts: &Weights| {
            counts.iter().map(|(word, count)| (word.clone(), (1.0 + count.ln()) * rarity(word))).collect()
        };
        Self { weights: counted.iter().map(weigh).collect() }
    }

    /// How alike two of the texts are, 0 to 100; nothing where one has no words.
    #[must_use]
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
        // Why it decides nothing.
        assert!(alike(0, 4) > 70.0, "{}", alike(0, 4));
        assert!((alike(0, 4) - alike(4, 0)).abs() < 1e-9);
    }

    #[test]
    fn embeddings_are_compared_by_their_angle() {
        let text = |agent: &str| CallKey::new(1, "revision".to_owned().into(), &agent.into());
        let texts = ["a", "b", "c", "d"].map(text);
        let vectors = [vec![1.0, 0.0], vec![3.0, 3.0], vec![-2.0, 0.0], vec![0.0, 0.0]];
        let alike = Similarities::of(texts.to_vec(), &vectors);
        let [a, b, c, d] = &texts;
        assert_eq!(alike.between(a, b), Some(70.711));
        assert_eq!(alike.between(b, a), Some(70.711));
        assert_eq!(alike.between(a, c), Some(0.0), "no text is less than not alike");
        assert_eq!(alike.between(a, d), None, "nothing is known of it");
        assert_eq!(alike.between(a, &text("e")), None);
    }

    #[test]
    fn a_weight_is_what_it_says() {
        // One word in common of two each, each in one or both of two texts.
        let lexicon = Lexicon::of(["red apple", "red pear"]);
        let (common, own) = (1.0_f64, (3.0_f64 / 2.0).ln() + 1.0);
        let expected = common * common / (common * common + own * own) * 100.0;
        assert!((lexicon.similarity(0, 1).unwrap() - expected).abs() < 1e-9);
    }
}
