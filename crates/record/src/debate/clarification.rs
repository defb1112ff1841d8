//! Agents' questions to the user, and the answers.

use std::collections::BTreeSet;

use rust_stemmers::{Algorithm, Stemmer};
use serde::{Deserialize, Serialize};

use super::Debate;
use crate::ids::AgentId;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentClarifications {
    pub agent_id: AgentId,
    pub agent_name: String,
    pub role: String,
    pub items: Vec<Clarification>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Clarification {
    /// Unique within the debate.
    pub id: String,
    pub question: String,
    /// `NA` if the user declined to answer, empty while unanswered.
    #[serde(default)]
    pub answer: String,
    /// The program that answered for the user, if any.
    #[serde(default, rename = "answeredBy", skip_serializing_if = "Option::is_none")]
    pub answered_by: Option<Answerer>,
    /// The pass in which the question was asked, from 1; absent in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pass: Option<u8>,
}

impl Clarification {
    /// The question's pass, if the question follows up on earlier answers; otherwise `None`.
    pub fn follow_up_pass(&self) -> Option<u8> {
        self.pass.filter(|pass| *pass > 1)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Answerer {
    /// An AI assistant that acts on the user's behalf.
    Agent,
}

/// A question as shown to the user: only once, even if more than one agent asks it. Serialized for prompts.
#[derive(Debug, Clone, Serialize)]
pub struct Question<'a> {
    /// The question's number in the debate, from 1. Stable once all agents of a pass have been asked.
    #[serde(skip)]
    pub number: usize,
    /// The most detailed of the agents' wordings.
    #[serde(rename = "question")]
    pub text: &'a str,
    pub answer: &'a str,
    #[serde(skip)]
    pub pass: Option<u8>,
    /// The agents that asked the question, each with its own copy.
    #[serde(skip)]
    pub items: Vec<(&'a AgentClarifications, &'a Clarification)>,
}

impl Debate {
    /// All questions to the user, sorted by pass. Similar questions from different agents are merged if they belong to
    /// the same pass and have the same answer.
    pub fn questions(&self) -> Vec<Question<'_>> {
        let mut questions: Vec<Question<'_>> = Vec::new();
        let groups = self.clarifications.iter().flatten();
        let mut asked: Vec<_> = groups.flat_map(|group| group.items.iter().map(move |item| (group, item))).collect();
        asked.sort_by_key(|(_, item)| item.pass);
        for (group, item) in asked {
            let known = questions.iter_mut().find(|known| {
                let is_another_agent = known.items.iter().all(|(other, _)| other.agent_id != group.agent_id);
                (known.pass, known.answer) == (item.pass, &*item.answer)
                    && is_another_agent
                    && are_alike(known.text, &item.question)
            });
            match known {
                Some(known) => {
                    if content_words(&item.question).len() > content_words(known.text).len() {
                        known.text = &item.question;
                    }
                    known.items.push((group, item));
                }
                None => questions.push(Question {
                    number: questions.len() + 1,
                    text: &item.question,
                    answer: &item.answer,
                    pass: item.pass,
                    items: vec![(group, item)],
                }),
            }
        }
        questions
    }
}

/// Words that do not distinguish questions. Each stands between spaces, so that a substring search finds whole words.
const STOP_WORDS: &str = " what which how is are was were do does did the a an of for to in on at by and or we you your \
                          our us it this that there be should must may can will would has have had with any please \
                          roughly about exactly currently many much ";

/// Whether two questions probably ask the same thing: they have the same content words, or one has all content words of
/// the other (at least three) and at most a third more. If each question has a word that the other lacks (`reads`,
/// `writes`), they may differ.
fn are_alike(one: &str, other: &str) -> bool {
    let (one, other) = (content_words(one), content_words(other));
    let (fewer, more) = if one.len() <= other.len() { (&one, &other) } else { (&other, &one) };
    fewer == more || (fewer.len() >= 3 && fewer.is_subset(more) && 4 * fewer.len() >= 3 * more.len())
}

/// The stems of a question's significant words. If no word is significant, returns all words of the question,
/// unstemmed.
fn content_words(question: &str) -> BTreeSet<String> {
    let stemmer = Stemmer::create(Algorithm::English);
    let words = question.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    // Keep the case of single letters: `A` and `B` may be names, while `a` is an article.
    let spelled = |word: &str| if word.len() == 1 { word.to_owned() } else { word.to_lowercase() };
    let words: BTreeSet<String> = words.map(spelled).collect();
    let says_something = |word: &&String| !STOP_WORDS.contains(&format!(" {word} "));
    let content: BTreeSet<String> =
        words.iter().filter(says_something).map(|word| stemmer.stem(word).into_owned()).collect();
    if content.is_empty() { words } else { content }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::debate::fixture;

    #[test]
    fn questions_are_alike_where_one_says_no_more_than_the_other() {
        for (one, other) in [
            ("How many users, roughly?", "how many users – roughly"),
            ("What is the peak load in orders per second?", "What peak load in orders per second do you have?"),
            ("Which database version runs today?", "Which version of the database runs in production today?"),
        ] {
            assert!(are_alike(one, other), "{one} | {other}");
        }
        for (one, other) in [
            ("What is the peak load of reads?", "What is the peak load of writes?"),
            ("Must region A survive a failure?", "Must region B survive a failure?"),
            ("What is the budget?", "What is the budget for operations?"),
            ("Wie groß?", "Wie groß ist es?"),
        ] {
            assert!(!are_alike(one, other), "{one} | {other}");
        }
    }

    #[test]
    fn alike_questions_are_one_and_numbers_stay() {
        let mut debate = fixture::debate();
        let group = |id: &str, questions: &[(&str, &str, &str)]| AgentClarifications {
            agent_id: id.into(),
            agent_name: id.to_owned(),
            role: "r".to_owned(),
            items: questions
                .iter()
                .map(|(id, question, answer)| Clarification {
                    id: (*id).to_owned(),
                    question: (*question).to_owned(),
                    answer: (*answer).to_owned(),
                    answered_by: None,
                    pass: None,
                })
                .collect(),
        };
        let asked = |answer: &str| {
            vec![
                group("a", &[("q1", "Which database runs?", answer), ("q2", "Who pays?", "")]),
                group("b", &[("q6", "Which database runs", answer)]),
            ]
        };
        debate.clarifications = Some(asked(""));
        let shown = |debate: &Debate| {
            let questions = debate.questions();
            questions.iter().map(|one| (one.number, one.text.to_owned(), one.items.len())).collect::<Vec<_>>()
        };
        let first = shown(&debate);
        assert_eq!(first, [(1, "Which database runs?".to_owned(), 2), (2, "Who pays?".to_owned(), 1)]);
        debate.clarifications = Some(asked("Postgres"));
        assert_eq!(shown(&debate), first);
        debate.clarifications.as_mut().unwrap().push(group("judge", &[("q11", "Which version?", "")]));
        assert_eq!(shown(&debate)[..2], first);
        assert_eq!(shown(&debate)[2].0, 3);
        // With another answer it becomes a separate question.
        debate.clarifications.as_mut().unwrap()[1].items[0].answer = "MySQL".to_owned();
        assert_eq!(debate.questions().len(), 4);
    }
}
