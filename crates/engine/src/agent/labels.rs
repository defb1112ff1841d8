//! Names hidden and order shuffled, so that neither decides; repeatable, because the seed is saved.

use dialectic_base::markdown::{inline, letters};
use dialectic_record::debate::{AgentId, AgentSettings};

use super::AnswerError;

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

    /// Whose label it is: `B`, `**B**`, `Candidate B`, `B: its title`.
    ///
    /// # Errors
    /// The labels that there are, when it is not one of them and nothing else.
    pub(super) fn author(&self, label: &str) -> Result<&AgentId, AnswerError> {
        let labels: Vec<&str> = self.iter().map(|(label, _)| label).collect();
        let found = chosen(label, &labels).and_then(|place| self.0.get(place));
        found.map(|known| &known.author).ok_or_else(|| AnswerError::Unfit {
            message: format!("`{label}` is not one of the candidates {}", labels.join(", ")),
        })
    }
}

/// What may stand before a label.
const NOUNS: [&str; 8] = ["candidate", "debater", "solution", "proposal", "option", "text", "answer", "choice"];

/// The place of the one option that `text` names, read as a whole: `not A` and `A or B` name none. Markup, brackets, a
/// noun before it and a title after a colon change nothing.
pub(super) fn chosen(text: &str, options: &[&str]) -> Option<usize> {
    let bare = |text: &str| {
        let text = text.trim_matches(|c: char| c.is_whitespace() || "*_`\"'“”‘’()[]{}<>.#".contains(c));
        let noun = text.split_once(|c: char| c.is_whitespace()).filter(|(noun, _)| {
            NOUNS.iter().any(|known| known.eq_ignore_ascii_case(noun.trim_matches(|c: char| !c.is_alphanumeric())))
        });
        let text = noun.map_or(text, |(_, rest)| rest);
        text.trim_matches(|c: char| c.is_whitespace() || "*_`\"'“”‘’()[]{}<>.#".contains(c)).to_owned()
    };
    let place = |text: &str| options.iter().position(|option| option.eq_ignore_ascii_case(text));
    place(&bare(text)).or_else(|| {
        let (label, title) = text.split_once([':', '：'])?;
        let place = place(&bare(label))?;
        let words: Vec<&str> = title.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
        // Another option after the colon is a second choice, but `A` before a noun is an article.
        let is_joint = |word: &&str| ["or", "and"].contains(word) || options.contains(word);
        let is_article = |at: usize| words[at] == "A" && words.get(at + 1).is_some_and(|next| !is_joint(next));
        let is_other =
            |at: usize| options.iter().enumerate().any(|(other, option)| other != place && *option == words[at]);
        (0..words.len()).all(|at| !is_other(at) || is_article(at)).then_some(place)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_lead_back_to_authors() {
        let labels = Labels::of(["x", "y"].map(AgentId::from));
        for written in ["B", "b", "Candidate B.", " candidate b"] {
            assert_eq!(labels.author(written).map(AgentId::as_str), Ok("y"), "{written}");
        }
        assert_eq!(labels.author("C").unwrap_err().to_string(), "`C` is not one of the candidates A, B");
    }

    #[test]
    fn a_choice_is_read_whole() {
        let options = ["A", "B", "C"];
        for written in [
            "A",
            "a",
            "**A**",
            "(A)",
            "\"A\"",
            "`A`",
            "[A]",
            "A.",
            "A: the queue",
            "**A**: the queue",
            "**A: a queue**",
            "Candidate A",
            "candidate **A**",
            "Solution A: in one table",
            "Option (A)",
            " Choice: A",
        ] {
            assert_eq!(chosen(written, &options), Some(0), "{written}");
        }
        for written in [
            "not A",
            "A or B",
            "A, B",
            "A/B",
            "A and B",
            "A: or B",
            "A: not B",
            "neither A",
            "not Candidate A",
            "D",
            "",
            ":",
            "Candidate",
            "AB",
            "A - B",
            "anything but A",
            "I cannot choose A",
        ] {
            assert_eq!(chosen(written, &options), None, "{written}");
        }
        assert_eq!(chosen("B: A durable queue", &options), Some(1));
        for written in ["B: A or C", "B: or A", "B: A", "B: A, C", "B: not C"] {
            assert_eq!(chosen(written, &options), None, "{written}");
        }
        assert_eq!(chosen("**Accept**", &["accept", "rewrite"]), Some(0));
        assert_eq!(chosen("rewrite: the key is missing", &["accept", "rewrite"]), Some(1));
        for written in ["not accept", "accept or rewrite", "accept: after a rewrite"] {
            assert_eq!(chosen(written, &["accept", "rewrite"]), None, "{written}");
        }
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
