//! Labels that hide names, to avoid bias: numbers for texts, colours for debaters.

use dialectic_base::markdown::inline;
use dialectic_record::ids::AgentId;
use dialectic_record::prompt::Label;
use dialectic_record::settings::AgentSettings;

use super::AnswerError;
use super::json::unfit;

pub(super) const TEXT: &str = "Text";
pub(super) const DEBATER: &str = "Debater";
/// Words that rarely occur in speeches, because every occurrence in the judge's text is replaced by a name.
const COLOURS: [&str; 12] =
    ["Indigo", "Amber", "Teal", "Crimson", "Olive", "Violet", "Coral", "Slate", "Saffron", "Magenta", "Cobalt", "Jade"];

pub(super) fn of_debaters<'a>(debaters: impl IntoIterator<Item = &'a AgentSettings>) -> Vec<Label> {
    let label = |(place, agent): (usize, &AgentSettings)| Label {
        word: colour(place),
        author: agent.id.clone(),
        name: agent.name.clone(),
    };
    debaters.into_iter().enumerate().map(label).collect()
}

pub(super) fn word_for<'l>(labels: &'l [Label], author: &AgentId) -> Option<&'l str> {
    labels.iter().find(|label| label.author == *author).map(|label| label.word.as_str())
}

pub(super) fn hide(labels: &[Label], text: &str) -> String {
    let names = labels.iter().map(|known| (known.name.as_str(), format!("{DEBATER} {}", known.word)));
    // Longest first, because a longer name may contain a shorter one.
    let mut names: Vec<_> = names.filter(|(name, _)| !name.is_empty()).collect();
    names.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
    replaced(text, &names)
}

/// Replaces the labels in `text` with the debaters' names, escaped for Markdown.
pub(super) fn reveal_debaters(labels: &[Label], text: &str) -> String {
    let called = |known: &Label| [DEBATER, "debater", ""].map(|noun| format!("{noun} {}", known.word));
    let named = labels.iter().flat_map(|known| called(known).map(|called| (called, inline(&known.name).into_owned())));
    let mut named: Vec<(String, String)> = named.collect();
    named.sort_by_key(|(called, _)| std::cmp::Reverse(called.len()));
    replaced(text, &named.iter().map(|(called, name)| (called.trim_start(), name.clone())).collect::<Vec<_>>())
}

/// Keeps the labels and adds the authors: `Text 2 (ada)`.
pub(super) fn reveal_texts(labels: &[Label], text: &str) -> String {
    let called: Vec<String> = labels.iter().map(|known| format!("{TEXT} {}", known.word)).collect();
    let pairs = called.iter().zip(labels).map(|(called, known)| (&**called, format!("{called} ({})", known.author)));
    replaced(text, &pairs.collect::<Vec<_>>())
}

/// Finds the author by a label, which may be written as `2`, `**2**`, `Text 2` or `2: its title`.
///
/// # Errors
///
/// Returns an error if `label` names none of the labels, or more than one. The message lists the valid labels.
pub(super) fn author<'l>(labels: &'l [Label], label: &str) -> Result<&'l AgentId, AnswerError> {
    let words: Vec<&str> = labels.iter().map(|known| known.word.as_str()).collect();
    let found = chosen(label, &words).and_then(|place| labels.get(place));
    found.map(|known| &known.author).ok_or_else(|| unfit(format!("`{label}` is not one of {}", words.join(", "))))
}

fn colour(place: usize) -> String {
    let colour = COLOURS[place % COLOURS.len()];
    match place / COLOURS.len() {
        0 => colour.to_owned(),
        again => format!("{colour} {}", again + 1),
    }
}

/// Replaces whole words and phrases according to `pairs`, in one pass. Where more than one pair matches, the first
/// applies.
fn replaced(text: &str, pairs: &[(&str, String)]) -> String {
    // Most texts contain no name, and a search is faster than a comparison at each character.
    if !pairs.iter().any(|(from, _)| text.contains(from)) {
        return text.to_owned();
    }
    let mut written = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(next) = rest.chars().next() {
        let is_start = !written.ends_with(char::is_alphanumeric) || !next.is_alphanumeric();
        let found = pairs.iter().find_map(|(from, to)| {
            let after = rest.strip_prefix(from).filter(|_| is_start)?;
            (!after.starts_with(char::is_alphanumeric)).then_some((after, to))
        });
        if let Some((after, to)) = found {
            written.push_str(to);
            rest = after;
        } else {
            written.push(next);
            rest = &rest[next.len_utf8()..];
        }
    }
    written
}

const NOUNS: [&str; 8] = ["candidate", "debater", "solution", "proposal", "option", "text", "answer", "choice"];

/// Returns the index of the one option that `text` names, and `None` for texts like `not 2` and `1 or 2`. Ignores
/// markup, brackets, a noun before the option and a title after a colon.
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
        // If the title contains another option, the text names two options, unless that option is an article (`A plan`)
        // or a number (`3 steps`).
        let is_joint = |word: &&str| ["or", "and", "not"].contains(word) || options.contains(word);
        let counts = |at: usize| words[at] == "A" || words[at].chars().all(|c| c.is_ascii_digit());
        let follows =
            |at: usize| at > 0 && (is_joint(&words[at - 1]) || NOUNS.contains(&words[at - 1].to_lowercase().as_str()));
        let is_part = |at: usize| counts(at) && !follows(at) && words.get(at + 1).is_some_and(|next| !is_joint(next));
        let is_other =
            |at: usize| options.iter().enumerate().any(|(other, option)| other != place && *option == words[at]);
        (0..words.len()).all(|at| !is_other(at) || is_part(at)).then_some(place)
    })
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use dialectic_record::settings::defaults;

    pub(crate) fn of_texts(numbered: [(&str, &str); 2]) -> Vec<Label> {
        let label = |(word, id): (&str, &str)| Label { word: word.into(), author: id.into(), name: id.into() };
        numbered.map(label).into()
    }

    #[test]
    fn labels_lead_back_to_authors() {
        let labels = of_texts([("2", "x"), ("1", "y")]);
        for written in ["1", "Text 1", "text 1.", "**1**", "1: a durable queue"] {
            assert_eq!(author(&labels, written).map(AgentId::as_str), Ok("y"), "{written}");
        }
        assert_eq!(author(&labels, "3").unwrap_err().to_string(), "`3` is not one of 2, 1");
        assert_eq!(word_for(&labels, &"x".into()), Some("2"));
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
    fn a_number_in_a_title_is_no_second_choice() {
        let numbers = ["1", "2", "3"];
        for written in ["2", "Text 2", "**Text 2**", "2: a queue with 3 workers", "Text 2: 3 workers"] {
            assert_eq!(chosen(written, &numbers), Some(1), "{written}");
        }
        for written in ["2 or 3", "2: or 3", "2: 3", "2: not 3", "2: Text 3", "2, 3", "12", "2.7"] {
            assert_eq!(chosen(written, &numbers), None, "{written}");
        }
    }

    #[test]
    fn debaters_are_hidden_behind_colours_and_found_again() {
        let mut agents = defaults::agents();
        agents.truncate(2);
        (agents[0].name, agents[1].name) = ("Ann".to_owned(), "Ann Lee".to_owned());
        let labels = of_debaters(&agents);
        for (written, hidden) in [
            ("Ann Lee's case, Ann's too.", "Debater Amber's case, Debater Indigo's too."),
            ("Anna and Joann", "Anna and Joann"),
            ("(Ann)", "(Debater Indigo)"),
        ] {
            assert_eq!(hide(&labels, written), hidden);
        }
        for (written, read) in [
            ("Debater Indigo's case met Amber.", "Ann's case met Ann Lee."),
            ("debater Amber", "Ann Lee"),
            ("Indigos, SubIndigo, Débat: Debater Teal", "Indigos, SubIndigo, Débat: Debater Teal"),
        ] {
            assert_eq!(reveal_debaters(&labels, written), read);
        }
        assert_eq!((colour(11), colour(12)), ("Jade".to_owned(), "Indigo 2".to_owned()));
    }

    #[test]
    fn authors_stand_after_the_labels_of_their_texts() {
        assert_eq!(
            reveal_texts(&of_texts([("1", "x"), ("2", "y")]), "Text 1 beats Text 2, Text 12 and Context 2."),
            "Text 1 (x) beats Text 2 (y), Text 12 and Context 2."
        );
    }
}
