//! Names hidden and order shuffled, so that neither decides; repeatable, because the seed is saved.

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha12Rng;

use crate::debate::AgentId;
use crate::markdown::letters;

use super::AnswerError;

/// `items` in an order that depends on `seed` and `salt` alone: the salt tells shuffles of one debate apart.
#[must_use]
pub fn shuffled<T>(items: impl IntoIterator<Item = T>, seed: u32, salt: u32) -> Vec<T> {
    let mut items: Vec<T> = items.into_iter().collect();
    // ChaCha12 gives the same numbers in every version; the standard generator does not promise that.
    let mut rng = ChaCha12Rng::seed_from_u64(u64::from(seed) << 32 | u64::from(salt));
    items.shuffle(&mut rng);
    items
}

/// Letters in place of authors.
#[derive(Debug, Clone, Default)]
pub struct Labels(Vec<(String, AgentId)>);

impl Labels {
    /// `A` for the first, and so on.
    pub(super) fn of(authors: impl IntoIterator<Item = AgentId>) -> Self {
        Self(authors.into_iter().enumerate().map(|(index, author)| (letters(index), author)).collect())
    }

    /// Each label with its author.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &AgentId)> {
        self.0.iter().map(|(label, author)| (label.as_str(), author))
    }

    /// Whose label it is, read leniently.
    ///
    /// # Errors
    /// The labels that there are, when it is none of them.
    pub(super) fn author(&self, label: &str) -> Result<&AgentId, AnswerError> {
        let wanted = label.trim().trim_end_matches('.');
        let wanted = wanted.rsplit(char::is_whitespace).next().unwrap_or(wanted);
        let found = self.0.iter().find(|(label, _)| label.eq_ignore_ascii_case(wanted));
        found.map(|(_, author)| author).ok_or_else(|| {
            let labels: Vec<_> = self.0.iter().map(|(label, _)| label.as_str()).collect();
            AnswerError::Unfit { message: format!("`{label}` is none of the candidates {}", labels.join(", ")) }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_depends_on_seed_and_salt_alone() {
        let order = |seed, salt| shuffled(0..8, seed, salt);
        assert_eq!(order(7, 1), order(7, 1));
        assert_ne!(order(7, 1), order(7, 2));
        assert_ne!(order(7, 1), order(8, 1));
        let mut sorted = order(7, 1);
        sorted.sort_unstable();
        assert_eq!(sorted, (0..8).collect::<Vec<_>>());
    }

    #[test]
    fn labels_lead_back_to_authors() {
        let labels = Labels::of(["x", "y"].map(AgentId::from));
        for written in ["B", "b", "Candidate B.", " candidate b"] {
            assert_eq!(labels.author(written).map(AgentId::as_str), Ok("y"), "{written}");
        }
        assert_eq!(labels.author("C").unwrap_err().to_string(), "`C` is none of the candidates A, B");
    }
}
