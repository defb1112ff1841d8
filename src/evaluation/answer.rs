//! The criteria, the schema and the parser of evaluators' answers, and the requirements that their prompts contain.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, LazyLock};

use serde::Serialize;
use serde::de::{Deserialize, Deserializer, Error};
use serde_json::{Map, Value, json};

use dialectic_base::problem::major_requirements;
use dialectic_engine::agent::{AnswerError, read_json};
use dialectic_llm::{AnswerSchema, strict_object};
use dialectic_record::debate::{Contribution, Debate};
use dialectic_record::ids::{AgentId, ResultKind};

const LOWEST: f64 = 1.0;
const HIGHEST: f64 = 10.0;
/// The key of the scores by criterion, in evaluators' answers and in the JSON output.
pub(super) const SCORES_KEY: &str = "evaluation";

/// Criteria without a score are absent.
pub type Scores = BTreeMap<Criterion, f64>;

dialectic_base::named! {
    /// The criteria with their keys, in the order in which all outputs show them.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
    pub enum Criterion {
        FunctionalCompleteness = "functional_completeness",
        PerformanceScalability = "performance_scalability",
        Security = "security",
        MaintainabilityEvolvability = "maintainability_evolvability",
        RegulatoryCompliance = "regulatory_compliance",
        Testability = "testability",
        RequirementsFulfillment = "requirements_fulfillment",
        /// The overall score that the evaluators gave, not an average of the other scores.
        Overall = "overall_score",
    }
}

impl Criterion {
    /// The criteria under the key `non_functional`.
    pub const NON_FUNCTIONAL: [Self; 6] = [
        Self::PerformanceScalability,
        Self::Security,
        Self::MaintainabilityEvolvability,
        Self::RegulatoryCompliance,
        Self::Testability,
        Self::RequirementsFulfillment,
    ];

    pub fn title(self) -> &'static str {
        match self {
            Self::FunctionalCompleteness => "Functional Completeness",
            Self::PerformanceScalability => "Performance & Scalability",
            Self::Security => "Security",
            Self::MaintainabilityEvolvability => "Maintainability & Evolvability",
            Self::RegulatoryCompliance => "Regulatory Compliance",
            Self::Testability => "Testability",
            Self::RequirementsFulfillment => "Requirements Fulfillment",
            Self::Overall => "Overall Score",
        }
    }
}

/// Built from the criteria rather than derived from a Rust type. Answers are not parsed into a type, because one
/// invalid value would then make all scores unusable.
pub(super) static EVALUATION: LazyLock<Arc<AnswerSchema>> = LazyLock::new(|| {
    let score = json!({ "type": "number", "minimum": 1, "maximum": 10 });
    let texts = json!({ "type": "array", "items": { "type": "string", "maxLength": 600 }, "maxItems": 12 });
    // Models write the fields in this order, and the reasons should influence the score.
    let reasoning = json!({ "type": "string", "maxLength": 1500 });
    let criterion = strict_object([("reasoning", reasoning), ("score", score.clone())]);
    let non_functional = strict_object(Criterion::NON_FUNCTIONAL.map(|one| (one.name(), criterion.clone())));
    let evaluation = [(Criterion::FunctionalCompleteness.name(), criterion), ("non_functional", non_functional)];
    let summary = [("strengths", texts.clone()), ("weaknesses", texts), (Criterion::Overall.name(), score)];
    let schema = strict_object([(SCORES_KEY, strict_object(evaluation)), ("overall_summary", strict_object(summary))]);
    Arc::new(AnswerSchema { name: "solution_evaluation", schema })
});

#[derive(Debug, Clone, PartialEq)]
pub struct EvaluatorAnswer {
    pub returned: Value,
    /// The scores, clamped to the range from 1 to 10.
    pub scores: Scores,
    pub ignored: Vec<Ignored>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Ignored {
    /// The score was outside 1 to 10 and was replaced by the nearest bound.
    Clamped {
        criterion: Criterion,
        /// The original value, as JSON.
        given: String,
        counted: f64,
    },
    NotANumber {
        criterion: Criterion,
        /// The type of the value in words, such as `a list`.
        found: &'static str,
    },
}

impl fmt::Display for Ignored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Clamped { criterion, given, counted } => {
                write!(
                    f,
                    "`{}` is {given}, not between {LOWEST} and {HIGHEST}; counting it as {counted}",
                    criterion.name()
                )
            }
            Self::NotANumber { criterion, found } => {
                write!(f, "`{}` is {found}, not a number; ignoring it", criterion.name())
            }
        }
    }
}

/// A JSON object that contains an object under the key `evaluation` or `overall_summary`. Other objects are rejected,
/// so that the parser skips braces in surrounding prose.
struct EvaluationObject(Map<String, Value>);

impl<'de> Deserialize<'de> for EvaluationObject {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let object = Map::deserialize(deserializer)?;
        let is_evaluation =
            [SCORES_KEY, "overall_summary"].iter().any(|key| object.get(*key).is_some_and(Value::is_object));
        if is_evaluation {
            Ok(Self(object))
        } else {
            Err(D::Error::custom("it contains neither `evaluation` nor `overall_summary`"))
        }
    }
}

impl EvaluatorAnswer {
    /// Parses an evaluator's text, ignoring anything around the JSON.
    ///
    /// # Errors
    ///
    /// Returns an error if the text contains no evaluation as a JSON object.
    pub fn read(text: &str) -> Result<Self, AnswerError> {
        let EvaluationObject(object) = read_json(text)?;
        let returned = Value::Object(object);
        let (mut scores, mut ignored) = (Scores::new(), Vec::new());
        for criterion in Criterion::ALL {
            match given(&returned, criterion) {
                // Null means that there is no score.
                None | Some(Value::Null) => {}
                Some(value) => match value.as_f64() {
                    None => ignored.push(Ignored::NotANumber { criterion, found: kind(value) }),
                    Some(score) => {
                        let counted = score.clamp(LOWEST, HIGHEST);
                        if !(LOWEST..=HIGHEST).contains(&score) {
                            ignored.push(Ignored::Clamped { criterion, given: value.to_string(), counted });
                        }
                        scores.insert(criterion, counted);
                    }
                },
            }
        }
        Ok(Self { returned, scores, ignored })
    }
}

fn given(returned: &Value, criterion: Criterion) -> Option<&Value> {
    let evaluation = returned.get(SCORES_KEY);
    let entry = match criterion {
        Criterion::Overall => return returned.get("overall_summary")?.get(criterion.name()),
        Criterion::FunctionalCompleteness => evaluation?.get(criterion.name())?,
        Criterion::PerformanceScalability
        | Criterion::Security
        | Criterion::MaintainabilityEvolvability
        | Criterion::RegulatoryCompliance
        | Criterion::Testability
        | Criterion::RequirementsFulfillment => evaluation?.get("non_functional")?.get(criterion.name())?,
    };
    // Accept a bare score instead of an object with score and reasoning.
    if entry.is_object() { entry.get("score") } else { Some(entry) }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// The heading of the coverage section, in lower case.
const COVERAGE: &str = "requirements coverage";

/// The requirements that the prompt contains as JSON.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Requirements {
    /// Lines of the problem that state a major requirement.
    pub major_requirements: Vec<String>,
    pub judge_unfulfilled_requirements: Vec<String>,
    /// The coverage section of each agent's latest solution, in the order in which the agents first wrote such a
    /// section. Agents without the section are absent.
    pub agent_requirements_coverage: Vec<Value>,
    /// Agents whose latest solution lacks a coverage section, with the round of that solution.
    #[serde(skip)]
    pub uncovered: Vec<(AgentId, u32)>,
}

impl Requirements {
    pub fn of(debate: &Debate) -> Self {
        let own = own_solutions(debate);
        let latest = latest(debate, &own);
        let mut agents: Vec<&AgentId> = Vec::new();
        for (_, text) in &own {
            if !agents.contains(&&text.agent_id) && section(&text.content).is_some() {
                agents.push(&text.agent_id);
            }
        }
        let covered = agents.into_iter().filter_map(|agent| {
            let (_, text) = latest.get(agent)?;
            let covered = section(&text.content)?;
            Some(json!({ "agentId": agent, "agentRole": text.agent_role, "requirementsCoverage": covered }))
        });
        let uncovered = latest.iter().filter(|(_, (_, text))| section(&text.content).is_none());
        let unfulfilled = debate.final_solution.iter().flat_map(|solution| &solution.unfulfilled_major_requirements);
        let unfulfilled = unfulfilled.map(|one| one.trim()).filter(|one| !one.is_empty());
        Self {
            major_requirements: major_requirements(&debate.problem),
            judge_unfulfilled_requirements: unfulfilled.map(str::to_owned).collect(),
            agent_requirements_coverage: covered.collect(),
            uncovered: uncovered.map(|(agent, (round, _))| ((*agent).clone(), *round)).collect(),
        }
    }
}

/// All proposals with their rounds, in the order of the record.
fn own_solutions(debate: &Debate) -> Vec<(u32, &Contribution)> {
    let texts = debate.rounds.iter().flat_map(|round| round.contributions.iter().map(|one| (round.round_number, one)));
    let own = texts.filter(|(_, one)| debate.yield_of(one) == Some(ResultKind::Proposal));
    own.map(|(round, one)| (round, one.as_ref())).collect()
}

/// Each agent's latest solution and its round. If an agent wrote several in a round, the one from the last stage is
/// used.
fn latest<'a>(debate: &Debate, own: &[(u32, &'a Contribution)]) -> BTreeMap<&'a AgentId, (u32, &'a Contribution)> {
    let mut own = own.to_vec();
    own.sort_by_key(|(round, one)| (*round, debate.stage_rank(one.stage)));
    own.into_iter().map(|(round, one)| (&one.agent_id, (round, one))).collect()
}

/// The section under the last heading about coverage, up to the next heading of the same level or higher. `None` if it
/// is missing or empty.
fn section(text: &str) -> Option<String> {
    let mut open_fence: Option<&str> = None;
    let mut found: Option<(usize, Vec<&str>)> = None;
    let mut inside = false;
    for line in text.lines() {
        let was_fenced = open_fence.is_some();
        open_fence = after_line(open_fence, line);
        let heading = if was_fenced || open_fence.is_some() { None } else { heading(line) };
        match heading {
            Some((level, title)) if title.to_lowercase().contains(COVERAGE) => {
                found = Some((level, Vec::new()));
                inside = true;
                continue;
            }
            Some((level, _)) if found.as_ref().is_some_and(|(own, _)| level <= *own) => inside = false,
            Some(_) | None => {}
        }
        if let (true, Some((_, lines))) = (inside, &mut found) {
            lines.push(line);
        }
    }
    let body = found?.1.join("\n").trim().to_owned();
    (!body.is_empty()).then_some(body)
}

/// The code fence that is open after `line`; `open` is the fence that was open before the line.
fn after_line<'a>(open: Option<&'a str>, line: &'a str) -> Option<&'a str> {
    let line = line.trim_start();
    let mark = ['`', '~'].into_iter().find(|mark| line.starts_with(&mark.to_string().repeat(3)));
    let run = mark.map(|mark| line.split_at(line.len() - line.trim_start_matches(mark).len()));
    match (open, run) {
        (None, Some((run, _))) => Some(run),
        (Some(open), Some((run, rest))) if run.starts_with(open) && rest.trim().is_empty() => None,
        (open, _) => open,
    }
}

fn heading(line: &str) -> Option<(usize, &str)> {
    let title = line.trim_start_matches('#');
    let level = line.len() - title.len();
    ((1..=6).contains(&level) && title.starts_with(char::is_whitespace)).then(|| (level, title.trim()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn scores_are_found_where_they_belong() {
        let answer = EvaluatorAnswer::read(
            r#"Here: {"evaluation":{"functional_completeness":{"score":8,"reasoning":"{}"},
                "non_functional":{"security":{"score":6.5},"testability":{"score":null},"overall_score":{"score":2}}},
                "overall_summary":{"overall_score":7}}"#,
        )
        .unwrap();
        let expected =
            [(Criterion::FunctionalCompleteness, 8.0), (Criterion::Security, 6.5), (Criterion::Overall, 7.0)];
        assert_eq!(answer.scores, Scores::from(expected));
        assert_eq!(answer.ignored, []);
        assert_eq!(answer.returned["evaluation"]["functional_completeness"]["reasoning"], "{}");
    }

    #[test]
    fn what_is_out_of_range_is_clamped_and_what_is_no_number_is_left_out() {
        let answer = EvaluatorAnswer::read(
            r#"{"evaluation":{"functional_completeness":{"score":0},"non_functional":{"security":{"score":11.5},
                "testability":{"score":"9"},"performance_scalability":{"score":[]},"regulatory_compliance":"NaN",
                "requirements_fulfillment":{"score":-1e300}}},"overall_summary":{"overall_score":true}}"#,
        )
        .unwrap();
        let expected = [
            (Criterion::FunctionalCompleteness, 1.0),
            (Criterion::Security, 10.0),
            (Criterion::RequirementsFulfillment, 1.0),
        ];
        assert_eq!(answer.scores, Scores::from(expected));
        let said: Vec<String> = answer.ignored.iter().map(ToString::to_string).collect();
        assert_eq!(said.len(), 7, "{said:?}");
        assert_eq!(said[0], "`functional_completeness` is 0, not between 1 and 10; counting it as 1");
        // Without three hundred digits.
        assert!(
            said[5].starts_with("`requirements_fulfillment` is -1e") && said[5].ends_with("counting it as 1"),
            "{}",
            said[5]
        );
        assert!(said.iter().all(|line| line.len() < 80), "{said:?}");
        assert_eq!(said[1], "`performance_scalability` is a list, not a number; ignoring it");
        assert!(
            said.contains(&"`regulatory_compliance` is a string, not a number; ignoring it".to_owned()),
            "{said:?}"
        );
    }

    #[test]
    fn what_is_no_evaluation_is_an_error() {
        for text in ["", "I cannot do that.", "{}", r#"{"error":"busy"}"#, r#"{"evaluation":7}"#, r#"{"evaluation":{"#]
        {
            assert!(EvaluatorAnswer::read(text).is_err(), "{text}");
        }
        assert!(EvaluatorAnswer::read(r#"{"evaluation":{}}"#).unwrap().scores.is_empty());
    }

    proptest! {
        #[test]
        fn every_score_that_counts_is_within_bounds(given in any::<f64>()) {
            let json = serde_json::json!({"overall_summary": {"overall_score": given}}).to_string();
            let answer = EvaluatorAnswer::read(&json).unwrap();
            prop_assert!(answer.scores.values().all(|score| (LOWEST..=HIGHEST).contains(score)));
        }
    }

    #[test]
    fn the_section_ends_with_the_next_heading_of_its_level() {
        let text = "# A\n\n## requirements coverage (draft)\n\nold\n\n## Requirements Coverage\n\n- all\n\n### Assumptions\n\n\
                    ```\n## not a heading\n```\n\n## Next\n\nno";
        assert_eq!(section(text).unwrap(), "- all\n\n### Assumptions\n\n```\n## not a heading\n```");
        assert_eq!(section("````\n```\n## Requirements Coverage\n\nfenced\n````"), None);
        assert_eq!(section("## Requirements Coverage\n\n"), None);
        assert_eq!(section("Requirements Coverage: all"), None);
    }
}
