//! Names hidden and order shuffled, so that neither decides; repeatable, because the seed is saved.

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha12Rng;

use crate::debate::{AgentId, AgentSettings};
use crate::markdown::{inline, letters};

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
pub struct Labels(Vec<Label>);

#[derive(Debug, Clone)]
struct Label {
    letter: String,
    author: AgentId,
    name: String,
}

impl Labels {
    /// `A` for the first, and so on.
    pub(super) fn of(authors: impl IntoIterator<Item = AgentId>) -> Self {
        Self::of_named(authors.into_iter().map(|author| (author.clone(), author.to_string())))
    }

    /// Labels of agents that [`reveal`](Self::reveal) calls by their names, as Markdown.
    pub(super) fn of_agents<'a>(agents: impl IntoIterator<Item = &'a AgentSettings>) -> Self {
        Self::of_named(agents.into_iter().map(|agent| (agent.id.clone(), inline(&agent.name).into_owned())))
    }

    fn of_named(authors: impl Iterator<Item = (AgentId, String)>) -> Self {
        let label = |(index, (author, name))| Label { letter: letters(index), author, name };
        Self(authors.enumerate().map(label).collect())
    }

    /// Each label with its author.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &AgentId)> {
        self.0.iter().map(|label| (label.letter.as_str(), &label.author))
    }

    /// The text with a name wherever it has a label behind `noun`: nobody else knows who was `Debater A`.
    pub(super) fn reveal(&self, noun: &str, text: &str) -> String {
        let mut revealed = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(start) = rest.find(noun) {
            let (before, found) = rest.split_at(start);
            revealed.push_str(before);
            let behind = &found[noun.len()..];
            let letters = behind.strip_prefix(' ').unwrap_or_default();
            let length = letters.find(|c: char| !c.is_alphanumeric()).unwrap_or(letters.len());
            let known = self.0.iter().find(|label| label.letter == letters[..length]);
            let is_word = !before.ends_with(char::is_alphanumeric);
            if let Some(label) = known.filter(|_| is_word) {
                revealed.push_str(&label.name);
                rest = &letters[length..];
            } else {
                revealed.push_str(noun);
                rest = behind;
            }
        }
        revealed + rest
    }

    /// Whose label it is, read leniently.
    ///
    /// # Errors
    /// The labels that there are, when it is none of them.
    pub(super) fn author(&self, label: &str) -> Result<&AgentId, AnswerError> {
        let wanted = label.trim().trim_end_matches('.');
        let wanted = wanted.rsplit(char::is_whitespace).next().unwrap_or(wanted);
        let found = self.0.iter().find(|known| known.letter.eq_ignore_ascii_case(wanted));
        found.map(|known| &known.author).ok_or_else(|| {
            let labels: Vec<_> = self.iter().map(|(label, _)| label).collect();
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

    #[test]
    fn what_was_written_about_labels_is_read_with_names() {
        let labels = Labels::of(["Debater B", "y"].map(AgentId::from));
        for (written, read) in [
            ("Debater A's case met Debater B.", "Debater B's case met y."),
            ("Debater A", "Debater B"),
            ("Debater AB, Debater C, a Debater", "Debater AB, Debater C, a Debater"),
            ("SubDebater A and Debater  A", "SubDebater A and Debater  A"),
            ("A good case. Débat: Debater Bé", "A good case. Débat: Debater Bé"),
        ] {
            assert_eq!(labels.reveal("Debater", written), read);
        }
    }
}
