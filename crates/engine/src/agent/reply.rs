//! The schemas and parsers of JSON answers.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use dialectic_llm::{AnswerSchema, strict_object};
use dialectic_record::answer::{Advice, Judgement};
use dialectic_record::ids::AgentId;
use dialectic_record::points::Decision;
use dialectic_record::prompt::Label;

use super::json::unfit;
use super::labels::{author, chosen, reveal_debaters};
use super::written::{percentage, percentage_if_any};
use super::{AnswerError, read_json};

/// An agent's questions. Their ids are ignored, since they are unique only within one answer.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct Questions {
    questions: Vec<RawQuestion>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged, expecting = "expected an object with a `text`")]
enum RawQuestion {
    Full {
        #[serde(alias = "question")]
        text: String,
    },
    Bare(String),
}

impl Questions {
    /// Requires objects with ids and texts; [`read`](Self::read) also accepts plain texts, and objects without ids.
    pub(super) fn schema() -> AnswerSchema {
        let question = strict_object([("id", text_of_at_most(20)), ("text", text_of_at_most(600))]);
        AnswerSchema { name: "questions", schema: strict_object([("questions", list_of_at_most(20, &question))]) }
    }

    pub(super) fn read(text: &str) -> Result<Vec<String>, AnswerError> {
        let questions: Self = read_json(text)?;
        let texts = questions.questions.iter().map(|question| match question {
            RawQuestion::Full { text } | RawQuestion::Bare(text) => text.trim(),
        });
        Ok(texts.filter(|text| !text.is_empty()).map(str::to_owned).collect())
    }
}

/// The judge's score of a round. The reason precedes the number so that the number follows from it.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
pub(super) struct RoundScore {
    #[serde(default)]
    #[schemars(length(max = 800))]
    reason: String,
    #[serde(deserialize_with = "percentage")]
    #[schemars(range(min = 0, max = 100))]
    confidence: f64,
}

impl RoundScore {
    pub(super) fn read(text: &str) -> Result<f64, AnswerError> {
        Ok(read_json::<Self>(text)?.confidence)
    }
}

#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
pub(super) struct Ballot {
    #[serde(default)]
    #[schemars(length(max = 1500))]
    reason: String,
    #[schemars(length(max = 20))]
    choice: String,
    #[serde(default, deserialize_with = "percentage_if_any")]
    #[schemars(with = "f64", range(min = 0, max = 100))]
    confidence: Option<f64>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Cast<T> {
    pub choice: T,
    /// The voter's confidence from 0 to 100, if stated.
    pub confidence: Option<f64>,
    pub reason: String,
}

/// The maximum length, in characters, of a reason that contains numbered points.
const LONG_REASON: u64 = 8000;

impl Ballot {
    pub(super) fn schema_of(words: &[&str]) -> AnswerSchema {
        let mut answer = AnswerSchema::of::<Self>("ballot");
        answer.schema["properties"]["choice"] = json!({ "type": "string", "enum": words });
        answer.schema["properties"]["reason"]["maxLength"] = json!(LONG_REASON);
        answer
    }

    pub(super) fn read(text: &str, labels: &[Label]) -> Result<Cast<AgentId>, AnswerError> {
        let Self { choice, confidence, reason } = read_json(text)?;
        Ok(Cast { choice: author(labels, &choice)?.clone(), confidence, reason })
    }

    pub(super) fn read_word(text: &str, words: &[&'static str]) -> Result<Cast<&'static str>, AnswerError> {
        let Self { choice, confidence, reason } = read_json(text)?;
        let found = chosen(&choice, words).and_then(|place| words.get(place)).copied();
        let found = found.ok_or_else(|| unfit(format!("`{choice}` is not one of {}", words.join(", "))))?;
        Ok(Cast { choice: found, confidence, reason })
    }
}

#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct RawJudgement {
    #[schemars(length(max = 20))]
    criteria: Vec<RawCriterion>,
    #[serde(default)]
    #[schemars(length(max = 3000))]
    reasoning: String,
    /// The condition under which the user should adopt the motion.
    #[serde(default)]
    #[schemars(length(max = 600))]
    adopt_if: String,
    #[serde(default)]
    #[schemars(length(max = 600))]
    reject_if: String,
    #[serde(default)]
    #[schemars(length(max = 600))]
    measure: String,
    #[schemars(length(max = 20))]
    scores: Vec<DebaterScore>,
    /// A label, or `none`.
    #[serde(default)]
    winner: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
struct RawCriterion {
    name: String,
    #[schemars(length(max = 1200))]
    assessment: String,
}

#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
struct DebaterScore {
    debater: String,
    #[serde(deserialize_with = "percentage")]
    #[schemars(range(min = 0, max = 100))]
    score: f64,
}

const NOBODY: &str = "none";

impl RawJudgement {
    pub(super) fn schema(labels: &[Label], criteria: &[String]) -> AnswerSchema {
        let mut answer = AnswerSchema::of::<Self>("judgement");
        let debaters: Vec<&str> = labels.iter().map(|label| label.word.as_str()).collect();
        let winners: Vec<&str> = debaters.iter().copied().chain([NOBODY]).collect();
        let properties = &mut answer.schema["properties"];
        properties["criteria"]["items"]["properties"]["name"] = json!({ "type": "string", "enum": criteria });
        properties["scores"]["items"]["properties"]["debater"] = json!({ "type": "string", "enum": debaters });
        properties["winner"] = json!({ "type": "string", "enum": winners });
        answer
    }

    /// Requires a score for every debater. Ignores statements on criteria that were not `asked`, and notes criteria
    /// without a statement. The winner follows from the scores, regardless of the stated winner, so that the record
    /// cannot contradict itself.
    pub(super) fn read(text: &str, labels: &[Label], asked: &[String], pass: u8) -> Result<Judgement, AnswerError> {
        let Self { criteria: assessed, scores: given, reasoning, adopt_if, reject_if, measure, winner: _ } =
            read_json(text)?;
        let mut scores = BTreeMap::new();
        for DebaterScore { debater, score } in &given {
            if scores.insert(author(labels, debater)?.clone(), *score).is_some() {
                return Err(unfit(format!("`scores` lists debater {debater} twice")));
            }
        }
        let mut criteria = BTreeMap::new();
        for RawCriterion { name, assessment } in &assessed {
            let Some(known) = asked.iter().find(|known| known.eq_ignore_ascii_case(name.trim())) else { continue };
            if criteria.insert(known.clone(), assessment.as_str()).is_some() {
                return Err(unfit(format!("`criteria` has {known} twice")));
            }
        }
        if let Some(label) = labels.iter().find(|label| !scores.contains_key(&label.author)) {
            return Err(unfit(format!("`scores` lacks debater {}", label.word)));
        }
        let highest = scores.values().copied().fold(0.0, f64::max);
        let mut leading = scores.iter().filter(|(_, score)| **score >= highest).map(|(id, _)| id);
        let winner = leading.next().filter(|_| leading.next().is_none()).cloned();
        let named = |text: &str| reveal_debaters(labels, text.trim());
        let advice = |text: &str| Some(named(text)).filter(|text| !text.is_empty());
        let advice = Advice { adopt_if: advice(&adopt_if), reject_if: advice(&reject_if), measure: advice(&measure) };
        let lacking = asked.iter().filter(|known| !criteria.contains_key(*known)).cloned().collect();
        let criteria = criteria.into_iter().map(|(name, assessment)| (name, named(assessment))).collect();
        let reasoning = named(&reasoning);
        let (by_criterion, missing) = (BTreeMap::new(), BTreeMap::new());
        Ok(Judgement { pass, winner, scores, criteria, reasoning, by_criterion, missing, lacking, advice })
    }
}

fn text_of_at_most(length: usize) -> Value {
    json!({ "type": "string", "maxLength": length })
}

fn list_of_at_most(length: usize, items: &Value) -> Value {
    json!({ "type": "array", "items": items, "maxItems": length })
}

/// The schema of a separate assessment. It has a base if the text amends a candidate, and rulings if there are open
/// points. The order of the keys matters: the base is named before it is assessed, and the confidence follows
/// everything on which it rests. The answer is parsed as an [`Assessment`](super::Assessment).
pub(super) fn assessment(is_amended: bool, has_points: bool) -> AnswerSchema {
    // Without bounds, small models fill a list up to their output limit.
    let texts = || list_of_at_most(12, &text_of_at_most(600));
    let partly = strict_object(["requirement", "holds", "fails"].map(|key| (key, text_of_at_most(600))));
    let ruling = strict_object([
        ("point", text_of_at_most(20)),
        ("where", text_of_at_most(200)),
        ("remains", text_of_at_most(600)),
        ("reason", text_of_at_most(600)),
        ("decision", json!({ "type": "string", "enum": Decision::ALL })),
    ]);
    let properties = [
        ("base", text_of_at_most(20)),
        ("tradeoffs", texts()),
        ("recommendations", texts()),
        ("unfulfilledMajorRequirements", texts()),
        ("partlyFulfilled", list_of_at_most(12, &partly)),
        ("openQuestions", texts()),
        ("rulings", list_of_at_most(60, &ruling)),
        ("title", text_of_at_most(100)),
        ("confidence", json!({ "type": "number", "minimum": 0, "maximum": 100 })),
    ];
    let is_asked = |(key, _): &(&str, Value)| match *key {
        "base" => is_amended,
        "rulings" => has_points,
        _ => true,
    };
    let name = if is_amended { "merge_assessment" } else { "assessment" };
    AnswerSchema { name, schema: strict_object(properties.into_iter().filter(is_asked)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_judgement_has_one_score_of_each_debater_and_says_something_on_each_criterion() {
        let mut agents = dialectic_record::settings::defaults::agents();
        agents.truncate(2);
        (agents[0].id, agents[1].id) = (AgentId::new("ann"), AgentId::new("bob"));
        let labels = super::super::labels::of_debaters(&agents);
        let read = |scores: &[(&str, u32)], criteria: &[&str]| {
            let scores = scores.iter().map(|(debater, score)| json!({"debater": debater, "score": score}));
            let criteria = criteria.iter().map(|name| json!({"name": name, "assessment": format!("{name} of Indigo")}));
            let answer = json!({
                "scores": scores.collect::<Vec<_>>(), "criteria": criteria.collect::<Vec<_>>(), "reasoning": "",
                "winner": "Indigo", "adoptIf": "Indigo is right.", "measure": " ",
            });
            RawJudgement::read(&answer.to_string(), &labels, &["logic", "charm"].map(str::to_owned), 1)
                .map_err(|error| error.to_string())
        };
        let both = [("Indigo", 10), ("Amber", 20)];
        let judgement = read(&both, &["Logic", "charm ", "vibes"]).unwrap();
        assert_eq!(judgement.winner, Some(AgentId::new("bob")));
        assert_eq!(judgement.criteria.keys().collect::<Vec<_>>(), ["charm", "logic"]);
        assert!(judgement.lacking.is_empty());
        let adopt_if = format!("{} is right.", agents[0].name);
        assert_eq!(judgement.advice, Advice { adopt_if: Some(adopt_if), ..Advice::default() });
        assert_eq!(read(&both, &["logic"]).unwrap().lacking, ["charm"]);
        assert_eq!(read(&both, &["logic", "charm", "LOGIC"]).unwrap_err(), "`criteria` has logic twice");
        let doubled = [("Indigo", 10), ("Amber", 20), ("Indigo", 90)];
        assert_eq!(read(&doubled, &["logic", "charm"]).unwrap_err(), "`scores` lists debater Indigo twice");
        assert_eq!(read(&both[..1], &["logic", "charm"]).unwrap_err(), "`scores` lacks debater Amber");
    }
}
