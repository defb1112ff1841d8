//! JSON answers: their schemas and parsers.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use dialectic_llm::AnswerSchema;
use dialectic_record::debate::{Advice, AgentId, Decision, Judgement};
use dialectic_record::prompt::Label;

use super::answer::unfit;
use super::labels::{author, chosen, reveal_debaters};
use super::written::{percentage, percentage_if_any};
use super::{AnswerError, read_json};

/// An agent's questions. Their ids are ignored, since they are unique only within one answer.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
pub(super) struct Questions {
    #[schemars(length(max = 20), with = "Vec<QuestionSchema>")]
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

/// A question as requested; reading is more lenient.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only the schema matters")]
struct QuestionSchema {
    #[schemars(length(max = 20))]
    id: String,
    #[schemars(length(max = 600))]
    text: String,
}

impl Questions {
    /// The texts of the questions, without blank ones.
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
    /// 0 to 100.
    #[serde(deserialize_with = "percentage")]
    #[schemars(range(min = 0, max = 100))]
    confidence: f64,
}

impl RoundScore {
    pub(super) fn read(text: &str) -> Result<f64, AnswerError> {
        Ok(read_json::<Self>(text)?.confidence)
    }
}

/// A choice with its reason.
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
    /// The voter's confidence, 0 to 100, if stated.
    pub confidence: Option<f64>,
    pub reason: String,
}

/// The length of a reason that contains numbered points.
const LONG_REASON: u64 = 8000;

impl Ballot {
    /// The schema of a ballot for one of `words`.
    pub(super) fn schema_of(words: &[&str]) -> AnswerSchema {
        let mut answer = AnswerSchema::of::<Self>("ballot");
        answer.schema["properties"]["choice"] = json!({ "type": "string", "enum": words });
        answer.schema["properties"]["reason"]["maxLength"] = json!(LONG_REASON);
        answer
    }

    /// Parses the choice of a text by its label.
    pub(super) fn read(text: &str, labels: &[Label]) -> Result<Cast<AgentId>, AnswerError> {
        let Self { choice, confidence, reason } = read_json(text)?;
        Ok(Cast { choice: author(labels, &choice)?.clone(), confidence, reason })
    }

    /// Parses the choice of a word.
    pub(super) fn read_word(text: &str, words: &[&'static str]) -> Result<Cast<&'static str>, AnswerError> {
        let Self { choice, confidence, reason } = read_json(text)?;
        let found = chosen(&choice, words).and_then(|place| words.get(place)).copied();
        let found = found.ok_or_else(|| unfit(format!("`{choice}` is not one of {}", words.join(", "))))?;
        Ok(Cast { choice: found, confidence, reason })
    }
}

/// The judge's scores of the debaters.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct RawJudgement {
    #[schemars(length(max = 20))]
    criteria: Vec<RawCriterion>,
    #[serde(default)]
    #[schemars(length(max = 3000))]
    reasoning: String,
    /// The consequence of the verdict for the user.
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

/// The judge's word for "no winner".
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

    /// Every debater needs one score. Only statements on `asked` criteria count; missing ones are noted. The winner
    /// follows from the scores, regardless of the stated one, so that the record cannot contradict itself.
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

/// The judge's assessment of a solution as requested: the confidence comes last, after everything it rests on. It is
/// parsed as an [`Assessment`](super::Assessment).
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
#[expect(dead_code, reason = "only the schema matters")]
struct AssessmentSchema {
    /// The amended candidate, named before it is assessed; only for a text that amends one.
    #[schemars(length(max = 20))]
    base: String,
    // Without bounds, small models fill a list up to their output limit.
    #[schemars(length(max = 12), inner(length(max = 600)))]
    tradeoffs: Vec<String>,
    #[schemars(length(max = 12), inner(length(max = 600)))]
    recommendations: Vec<String>,
    #[schemars(length(max = 12), inner(length(max = 600)))]
    unfulfilled_major_requirements: Vec<String>,
    #[schemars(length(max = 12))]
    partly_fulfilled: Vec<PartlySchema>,
    #[schemars(length(max = 12), inner(length(max = 600)))]
    open_questions: Vec<String>,
    #[schemars(length(max = 60))]
    rulings: Vec<RulingSchema>,
    #[schemars(length(max = 100))]
    title: String,
    #[schemars(range(min = 0, max = 100))]
    confidence: f64,
}

/// A requirement that is fulfilled except in one case.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only the schema matters")]
struct PartlySchema {
    #[schemars(length(max = 600))]
    requirement: String,
    #[schemars(length(max = 600))]
    holds: String,
    #[schemars(length(max = 600))]
    fails: String,
}

/// A ruling on an open point.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
#[expect(dead_code, reason = "only the schema matters")]
struct RulingSchema {
    #[schemars(length(max = 20))]
    point: String,
    #[schemars(length(max = 200))]
    r#where: String,
    #[schemars(length(max = 600))]
    remains: String,
    #[schemars(length(max = 600))]
    reason: String,
    decision: Decision,
}

/// The schema of a separate assessment, with the base of an amended text, and rulings if there are open points.
pub(super) fn assessment(is_amended: bool, has_points: bool) -> AnswerSchema {
    let mut answer = AnswerSchema::of::<AssessmentSchema>(if is_amended { "merge_assessment" } else { "assessment" });
    if let Some(properties) = answer.schema["properties"].as_object_mut() {
        for (key, _) in [("base", is_amended), ("rulings", has_points)].into_iter().filter(|(_, is_asked)| !is_asked) {
            properties.shift_remove(key);
        }
        let names: Vec<String> = properties.keys().cloned().collect();
        answer.schema["required"] = json!(names);
    }
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_judgement_has_one_score_of_each_debater_and_says_something_on_each_criterion() {
        let mut agents = dialectic_record::debate::defaults::agents();
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
