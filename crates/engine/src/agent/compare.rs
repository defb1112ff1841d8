//! The judge's comparisons: relations of decisions, objections to an agreement, scores by criterion, and kinds of
//! argument.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use dialectic_base::markdown::{single_spaced, truncate};
use dialectic_llm::AnswerSchema;
use dialectic_record::answer::{
    Advice, Argument, Challenge, Judgement, Matter, NeglectedPoint, Observation, RelatedPair, Relation, Relations,
};
use dialectic_record::debate::Debate;
use dialectic_record::ids::{AgentId, CallKey};
use dialectic_record::points::Point;
use dialectic_record::prompt::Label;

use super::json::unfit;
use super::labels::{author, reveal_texts};
use super::written::percentage;
use super::{AnswerError, read_json};

/// One row per decision. Decisions are named by their numbers in the prompt.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
pub(super) struct RawRelations {
    #[schemars(length(max = 200))]
    decisions: Vec<RelationRow>,
}

#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
struct RelationRow {
    decision: usize,
    #[schemars(length(max = 200))]
    same: Vec<usize>,
    #[schemars(length(max = 200))]
    opposite: Vec<usize>,
    /// The number of the major requirement that the decision is about, or 0.
    #[serde(default)]
    requirement: Option<usize>,
}

impl RawRelations {
    pub(super) fn schema(has_requirements: bool) -> AnswerSchema {
        let mut answer = AnswerSchema::of::<Self>("relations");
        let row = &mut answer.schema["properties"]["decisions"]["items"];
        if let Some(properties) = row["properties"].as_object_mut() {
            if has_requirements {
                properties.insert("requirement".to_owned(), json!({ "type": "integer", "minimum": 0 }));
            } else {
                properties.shift_remove("requirement");
            }
            let names: Vec<String> = properties.keys().cloned().collect();
            row["required"] = json!(names);
        }
        answer
    }

    /// Requires a row for every decision, so that the model cannot overlook a decision.
    pub(super) fn read(text: &str, decisions: &[String], requirements: &[String]) -> Result<Relations, AnswerError> {
        let Self { decisions: rows } = read_json(text)?;
        let name = |number: usize| {
            let place = number.checked_sub(1).and_then(|place| decisions.get(place));
            place.ok_or_else(|| unfit(format!("there is no decision {number}")))
        };
        let mut related: BTreeMap<(usize, usize), Relation> = BTreeMap::new();
        let mut on = BTreeMap::new();
        let mut seen = BTreeSet::new();
        for row in rows {
            let decision = name(row.decision)?;
            seen.insert(row.decision);
            // If a pair of decisions is listed both as the same and as opposite, record it as opposite.
            for (others, relation) in [(&row.same, Relation::Same), (&row.opposite, Relation::Opposite)] {
                for other in others.iter().filter(|other| **other != row.decision) {
                    name(*other)?;
                    let pair = (row.decision.min(*other), row.decision.max(*other));
                    let known = related.entry(pair).or_insert(relation);
                    if relation == Relation::Opposite {
                        *known = relation;
                    }
                }
            }
            if let Some(number) = row.requirement.filter(|number| *number > 0) {
                let requirement = requirements.get(number - 1);
                let requirement = requirement.ok_or_else(|| unfit(format!("there is no requirement {number}")))?;
                on.insert(decision.clone(), requirement.clone());
            }
        }
        if let Some(number) = (1..=decisions.len()).find(|number| !seen.contains(number)) {
            return Err(unfit(format!("`decisions` has no row for decision {number}")));
        }
        let pairs = related.into_iter().map(|((first, second), relation)| RelatedPair {
            first: decisions[first - 1].clone(),
            second: decisions[second - 1].clone(),
            relation,
        });
        Ok(Relations { decisions: decisions.to_vec(), pairs: pairs.collect(), requirements: on })
    }
}

/// Objections to an agreement.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
pub(super) struct RawChallenge {
    #[schemars(length(max = 6), inner(length(max = 600)))]
    claims: Vec<String>,
    /// The numbers of listed points that nobody has answered.
    #[serde(default)]
    #[schemars(length(max = 30), with = "Vec<String>")]
    points: Vec<Value>,
}

impl RawChallenge {
    pub(super) fn read(text: &str, listed: &[Point]) -> Result<Challenge, AnswerError> {
        let Self { claims, points } = read_json(text)?;
        let mut neglected: Vec<NeglectedPoint> = Vec::new();
        for number in points {
            let number = number.as_str().map_or_else(|| number.to_string(), |number| number.trim().to_owned());
            let point = listed.iter().find(|point| point.number() == number);
            let point = point.ok_or_else(|| unfit(format!("there is no point {number}")))?;
            if !neglected.iter().any(|known| known.point == point.id) {
                neglected.push(NeglectedPoint {
                    point: point.id.clone(),
                    target_agent_id: point.target_id.clone(),
                    text: point.point.in_words().into_owned(),
                });
            }
        }
        let claims = claims.iter().map(|claim| claim.trim().to_owned()).filter(|claim| !claim.is_empty());
        Ok(Challenge { claims: claims.collect(), points: neglected })
    }
}

#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
pub(super) struct RawScores {
    #[serde(default)]
    #[schemars(length(max = 3000))]
    reasoning: String,
    #[schemars(length(max = 30))]
    candidates: Vec<CandidateScores>,
}

#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
struct CandidateScores {
    candidate: String,
    #[serde(default)]
    #[schemars(length(max = 12), inner(length(max = 600)))]
    missing: Vec<String>,
    #[schemars(length(max = 20))]
    scores: Vec<CriterionScore>,
}

#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
struct CriterionScore {
    criterion: String,
    #[serde(deserialize_with = "percentage")]
    #[schemars(range(min = 0, max = 100))]
    score: f64,
}

impl RawScores {
    pub(super) fn schema(labels: &[Label], criteria: &[String]) -> AnswerSchema {
        let mut answer = AnswerSchema::of::<Self>("scores");
        let candidates: Vec<&str> = labels.iter().map(|label| label.word.as_str()).collect();
        let row = &mut answer.schema["properties"]["candidates"]["items"]["properties"];
        row["candidate"] = json!({ "type": "string", "enum": candidates });
        row["scores"]["items"]["properties"]["criterion"] = json!({ "type": "string", "enum": criteria });
        // Models may ramble, so bound the lists for servers that enforce schemas.
        row["scores"]["maxItems"] = json!(criteria.len());
        answer.schema["properties"]["candidates"]["maxItems"] = json!(candidates.len());
        answer
    }

    /// Requires a score of every candidate on every criterion. A candidate's total score is the mean of its scores.
    pub(super) fn read(text: &str, labels: &[Label], criteria: &[String], pass: u8) -> Result<Judgement, AnswerError> {
        let Self { candidates, reasoning } = read_json(text)?;
        let mut by_criterion: BTreeMap<AgentId, BTreeMap<String, f64>> = BTreeMap::new();
        let mut missing = BTreeMap::new();
        for row in candidates {
            let author = author(labels, &row.candidate)?.clone();
            for CriterionScore { criterion, score } in &row.scores {
                let known = criteria.iter().find(|known| known.eq_ignore_ascii_case(criterion.trim()));
                let known = known.ok_or_else(|| unfit(format!("`{criterion}` is not one of the criteria")))?;
                let scores = by_criterion.entry(author.clone()).or_default();
                if scores.insert(known.clone(), *score).is_some() {
                    return Err(unfit(format!("text {} has two scores on {known}", row.candidate)));
                }
            }
            let lacks = row.missing.iter().map(|one| one.trim().to_owned()).filter(|one| !one.is_empty());
            let lacks: Vec<String> = lacks.collect();
            if !lacks.is_empty() {
                missing.insert(author, lacks);
            }
        }
        for Label { word, author, .. } in labels {
            let given = by_criterion.get(author);
            let lacking = criteria.iter().find(|known| given.is_none_or(|given| !given.contains_key(*known)));
            if let Some(criterion) = lacking {
                return Err(unfit(format!("text {word} has no score on {criterion}")));
            }
        }
        #[expect(clippy::cast_precision_loss, reason = "there are few criteria")]
        let mean = |given: &BTreeMap<String, f64>| given.values().sum::<f64>() / given.len().max(1) as f64;
        let scores: BTreeMap<AgentId, f64> =
            by_criterion.iter().map(|(author, given)| (author.clone(), mean(given))).collect();
        let highest = scores.values().copied().fold(0.0, f64::max);
        let mut leading = scores.iter().filter(|(_, score)| **score >= highest).map(|(id, _)| id);
        let winner = leading.next().filter(|_| leading.next().is_none()).cloned();
        let reasoning = reveal_texts(labels, &reasoning);
        let (criteria, lacking, advice) = (BTreeMap::new(), Vec::new(), Advice::default());
        Ok(Judgement { pass, winner, scores, criteria, reasoning, by_criterion, missing, lacking, advice })
    }
}

/// The kinds of argument in each text. Texts are named by their numbers in the prompt.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
pub(super) struct RawKinds {
    #[schemars(length(max = 100))]
    texts: Vec<KindsOf>,
}

#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
struct KindsOf {
    text: usize,
    #[schemars(length(max = 7))]
    kinds: Vec<Argument>,
}

impl RawKinds {
    pub(super) fn read(text: &str, shown: &[CallKey]) -> Result<Vec<Observation>, AnswerError> {
        let Self { texts } = read_json(text)?;
        let mut kinds: BTreeMap<usize, BTreeSet<Argument>> = BTreeMap::new();
        for row in texts {
            if row.text == 0 || row.text > shown.len() {
                return Err(unfit(format!("there is no text {}", row.text)));
            }
            kinds.entry(row.text - 1).or_default().extend(row.kinds);
        }
        if let Some(place) = (0..shown.len()).find(|place| !kinds.contains_key(place)) {
            return Err(unfit(format!("`texts` has no row for text {}", place + 1)));
        }
        Ok(kinds.into_iter().map(|(place, kinds)| Observation { of: shown[place].clone(), kinds }).collect())
    }
}

/// The maximum length of a decision, claim or point, in characters.
const ITEM: usize = 300;
const MATTERS: usize = 12;

/// Lists what was in dispute at the end of the round before `round`; `None` if nothing was.
pub(super) fn dispute(debate: &Debate, agent: &AgentId, round: u32) -> Option<String> {
    let before = round.checked_sub(1)?;
    let mut parts: Vec<String> = Vec::new();
    let measured = debate.round(before).and_then(|before| before.convergence.as_ref());
    let open = measured.iter().flat_map(|measured| &measured.matters).filter(|matter| !matter.agreed);
    let open: Vec<String> = open.take(MATTERS).map(|matter| on_one_line(matter, agent)).collect();
    if !open.is_empty() {
        parts.push(format!("Not decided alike by all:\n{}", open.join("\n")));
    }
    if let Some(challenge) = debate.round(before).and_then(|before| before.challenge.as_ref()) {
        let claims =
            challenge.claims.iter().map(|claim| format!("- All share this, and nobody supports it: {}", short(claim)));
        let points = challenge.points.iter().map(|point| {
            let whose = if point.target_agent_id == *agent { "your text" } else { point.target_agent_id.as_str() };
            format!("- Nobody has answered this point against {whose}: {}", short(&point.text))
        });
        let items: Vec<String> = claims.chain(points).collect();
        if !items.is_empty() {
            parts.push(format!("Against the agreement so far:\n{}", items.join("\n")));
        }
    }
    if let Some(extension) = debate.extensions.iter().find(|extension| extension.round == before) {
        let missing: Vec<String> = extension.missing.iter().map(|missing| format!("- {}", short(missing))).collect();
        parts.push(format!("The judge found that the best text misses:\n{}", missing.join("\n")));
    }
    (!parts.is_empty()).then(|| parts.join("\n\n"))
}

fn on_one_line(matter: &Matter, agent: &AgentId) -> String {
    let decisions: Vec<String> = matter
        .decisions
        .iter()
        .map(|wording| {
            let yours = if wording.agents.contains(agent) { ", you among them" } else { "" };
            format!("“{}” ({}{yours})", short(&wording.decision), wording.agents.len())
        })
        .collect();
    let mark = if matter.opposed { "opposed: " } else { "" };
    format!("- {mark}{}", decisions.join(" / "))
}

pub(super) fn short(text: &str) -> String {
    let words = single_spaced(text);
    let shown = truncate(&words, ITEM);
    if shown.len() < words.len() { format!("{}…", shown.trim_end()) } else { words }
}

#[cfg(test)]
mod tests {
    use super::super::labels::tests::of_texts;
    use super::*;

    fn decisions() -> Vec<String> {
        ["Use Postgres", "Store: PostgreSQL", "Use SQLite"].map(str::to_owned).to_vec()
    }

    #[test]
    fn each_pair_has_one_relation_and_a_doubt_counts() {
        let answer = r#"{"decisions":[{"decision":1,"same":[2,1],"opposite":[]},{"decision":2,"same":[1],"opposite":[]},
            {"decision":3,"same":[1],"opposite":[1,2],"requirement":1}]}"#;
        let relations = RawRelations::read(answer, &decisions(), &["It must last".to_owned()]).unwrap();
        let pairs: Vec<_> =
            relations.pairs.iter().map(|pair| (pair.first.as_str(), pair.second.as_str(), pair.relation)).collect();
        assert_eq!(
            pairs,
            [
                ("Use Postgres", "Store: PostgreSQL", Relation::Same),
                ("Use Postgres", "Use SQLite", Relation::Opposite),
                ("Store: PostgreSQL", "Use SQLite", Relation::Opposite),
            ]
        );
        assert_eq!(relations.requirements["Use SQLite"], "It must last");
    }

    #[test]
    fn what_is_not_there_is_not_read() {
        let read = |answer: &str| RawRelations::read(answer, &decisions(), &[]).unwrap_err().to_string();
        let rows = |rows: &str| format!(r#"{{"decisions":[{rows}]}}"#);
        let row = |number: usize| format!(r#"{{"decision":{number},"same":[],"opposite":[]}}"#);
        assert_eq!(read(&rows(&row(1))), "`decisions` has no row for decision 2");
        assert_eq!(read(&rows(&row(4))), "there is no decision 4");
        assert_eq!(read(&rows(r#"{"decision":1,"same":[9],"opposite":[]}"#)), "there is no decision 9");
        let on = r#"{"decision":1,"same":[],"opposite":[],"requirement":1}"#;
        assert_eq!(read(&rows(on)), "there is no requirement 1");
        let kinds = |answer: &str| RawKinds::read(answer, &[CallKey::new(1, "x".to_owned().into(), &"a".into())]);
        assert!(kinds(r#"{"texts":[{"text":1,"kinds":["evidence","evidence"]}]}"#).is_ok());
        assert!(kinds(r#"{"texts":[]}"#).is_err());
        assert!(kinds(r#"{"texts":[{"text":2,"kinds":[]}]}"#).is_err());
        assert!(RawChallenge::read(r#"{"claims":[" "],"points":["2.1"]}"#, &[]).is_err());
        assert!(RawChallenge::read(r#"{"claims":[" "]}"#, &[]).unwrap().is_empty());
    }

    fn labels() -> Vec<Label> {
        of_texts([("1", "ann"), ("2", "bob")])
    }

    #[test]
    fn scores_are_means_and_every_one_has_to_be_there() {
        let labels = labels();
        let criteria = ["soundness", "clarity"].map(str::to_owned);
        let answer = r#"{"candidates":[
            {"candidate":"1","scores":[{"criterion":"soundness","score":80},{"criterion":"Clarity","score":"70%"}]},
            {"candidate":"Text 2","scores":[{"criterion":"soundness","score":90},{"criterion":"clarity","score":20}],
             "missing":["EU only"]}],"reasoning":"Text 1 is clear."}"#;
        let judgement = RawScores::read(answer, &labels, &criteria, 2).unwrap();
        assert_eq!(judgement.scores.values().copied().collect::<Vec<_>>(), [75.0, 55.0]);
        assert_eq!(judgement.winner, Some(AgentId::new("ann")));
        assert_eq!(judgement.missing[&AgentId::new("bob")], ["EU only"]);
        assert_eq!((judgement.reasoning.as_str(), judgement.pass), ("Text 1 (ann) is clear.", 2));
        let half = r#"{"candidates":[{"candidate":"1","scores":[{"criterion":"soundness","score":80}]}]}"#;
        let error = RawScores::read(half, &labels, &criteria, 1).unwrap_err().to_string();
        assert_eq!(error, "text 1 has no score on clarity");
        let twice = answer.replace("Clarity", "soundness");
        let error = RawScores::read(&twice, &labels, &criteria, 1).unwrap_err().to_string();
        assert_eq!(error, "text 1 has two scores on soundness");
    }

    #[test]
    fn schemas_name_what_can_be_said() {
        let schema = RawScores::schema(&labels(), &["soundness".to_owned()]).schema.to_string();
        assert!(schema.contains(r#""enum":["1","2"]"#) && schema.contains(r#""enum":["soundness"]"#), "{schema}");
        let schema = |has| RawRelations::schema(has).schema.to_string();
        assert!(schema(true).contains("requirement") && !schema(false).contains("requirement"), "{}", schema(false));
    }
}
