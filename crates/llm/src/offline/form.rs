//! JSON answers: the task's contents in the shape of the schema.

use serde_json::{Value, json};

use super::mixed;
use super::prompt::Fenced;
use super::script::{part, point_in};
use super::task::{PlayedAgent, TEXTS};
use super::text::{ListedPoint, listed};

/// The score for all debaters if a protocol requires one.
const EQUAL: u8 = 50;

impl<'a> PlayedAgent<'a> {
    /// An instance of `schema`: the task's values by the names of properties, neutral values for the rest.
    pub(super) fn form(&self, schema: &Value) -> Value {
        let (judge, verdict) = (part("Judge"), part("verdict"));
        let unweighed = judge.get("unweighed");
        let known = match self.task {
            "clarify" => {
                // Only once; a judge that asks again has no questions.
                let question = self.part.get("ask");
                let is_asked = self.prompt.of_kinds(&["question"]).any(|asked| asked.text.trim() == question);
                let asked = json!([{ "id": "q1", "text": question }]);
                json!({ "questions": if is_asked || question.is_empty() { json!([]) } else { asked } })
            }
            "vote" => json!({ "choice": self.chosen().map(|(label, _)| label), "reason": unweighed }),
            "poll" => {
                let has_begun = self.prompt.of_kinds(&["contribution"]).next().is_some();
                let choices = if has_begun { ["for", "against"] } else { ["undecided"; 2] };
                let choice = choices[usize::from(mixed(self.seed, self.part.title).is_multiple_of(2))];
                json!({ "choice": choice, "reason": verdict.get("poll") })
            }
            "judge the debate" => json!({
                "score": EQUAL, "winner": "none", "assessment": verdict.get("assessment"),
                "reasoning": verdict.get("reasoning"), "adoptIf": verdict.get("adopt"),
                "rejectIf": verdict.get("reject"), "measure": verdict.get("measure"),
            }),
            "relate the decisions" => {
                let decisions = listed(self.prompt.of_kinds(&["decisions"]).next_back().unwrap_or_default().text);
                let row = |number| json!({ "decision": number, "same": [], "opposite": [], "requirement": 0 });
                json!({ "decisions": (1..=decisions.len()).map(row).collect::<Value>() })
            }
            "mark the kinds of argument" => {
                // Canned critiques rebut, and canned texts rest on the problem.
                let kind = |one: Fenced| if one.title.contains("critique") { "rebuttal" } else { "evidence" };
                let row = |(number, one): (usize, _)| json!({ "text": number, "kinds": [kind(one)] });
                json!({ "texts": (1..).zip(self.prompt.of_kinds(&["contribution"])).map(row).collect::<Value>() })
            }
            "rule on the findings" => return self.finding_rulings(),
            "assess" => self.assessment(self.at_hand().text),
            // Evaluators may have their own prompts; the schema shows the requested scores.
            _ if schema.to_string().contains("\"functional_completeness\"") => {
                json!({ "score": null, "overall_score": null, "reasoning": unweighed })
            }
            "score the consensus" | "score the best solution" => json!({ "confidence": EQUAL, "reason": unweighed }),
            _ => json!({ "score": EQUAL, "reason": unweighed, "reasoning": unweighed }),
        };
        instance("", schema, &known)
    }

    /// The text to choose and its label: the seed decides, and all voters agree.
    pub(super) fn chosen(&self) -> Option<(&'a str, &'a str)> {
        let rank = |text: &Fenced| mixed(self.seed, text.text);
        let chosen = self.prompt.of_kinds(&TEXTS).max_by_key(rank)?;
        Some((chosen.title.rsplit(' ').next()?, chosen.text))
    }

    /// The assessment of a solution, without a confidence.
    pub(super) fn assessment(&self, solution: &str) -> Value {
        let get = |name| part("Judge").get(name);
        let all = |name| get(name).split(" | ").map(Value::from).collect::<Value>();
        let partly = |asked| json!({ "requirement": asked, "holds": get("holds"), "fails": get("breaks") });
        let mut assessment = json!({
            "base": self.chosen().map(|(label, _)| label),
            "approach": "kept",
            "tradeoffs": all("tradeoff"),
            "recommendations": all("advice"),
            "unfulfilledMajorRequirements": [],
            "partlyFulfilled": self.problem.requirements.iter().take(1).map(partly).collect::<Value>(),
            "openQuestions": all("open"),
            "rulings": self.points(true).iter().map(|point| self.ruling(point, solution)).collect::<Value>(),
            "title": "",
            // If absent, it would be requested again.
            "confidence": "none",
        });
        if let Some(values) = assessment.as_object_mut() {
            let is_optional = |name: &str| ["base", "approach", "rulings"].contains(&name);
            values.retain(|name, _| !is_optional(name) || self.names(name));
        }
        assessment
    }

    fn ruling(&self, ListedPoint { number, text }: &ListedPoint, solution: &str) -> Value {
        let known = point_in(text);
        let get = |name| known.map_or("", |point| point.get(name));
        let [remains, dismissed] = ["remains", "dismiss"].map(get);
        let met = known.filter(|point| self.holds(solution, point));
        let (decision, remains, reason) = match (met, known) {
            (Some(point), _) => {
                let decision = if remains.is_empty() { "met" } else { "partly" };
                (decision, remains, self.problem.fill(&format!("It is right. The section says: {}", point.change)))
            }
            (None, Some(_)) if !dismissed.is_empty() => ("dismissed", "", dismissed.to_owned()),
            (None, Some(_)) => ("notMet", "The solution does not say it.", "It is right.".to_owned()),
            (None, None) => ("notMet", "All of it.", "Nothing was prepared for it offline.".to_owned()),
        };
        let place = met.map_or("", |point| point.section);
        json!({ "point": number, "where": place, "remains": remains, "reason": reason, "decision": decision })
    }
}

/// An instance of the schema with this name: the known value, as far as the schema allows it.
fn instance(name: &str, schema: &Value, known: &Value) -> Value {
    let allowed = schema.get("enum").and_then(Value::as_array);
    let value = known.get(name).filter(|value| allowed.is_none_or(|allowed| allowed.contains(value)));
    if let Some(value) = value.or_else(|| allowed?.first()) {
        return value.clone();
    }
    let properties = |of: &Value| of.get("properties").and_then(Value::as_object).cloned().unwrap_or_default();
    // The first of several types is the informative one.
    match schema.get("type").and_then(|kind| kind.get(0).unwrap_or(kind).as_str()).unwrap_or_default() {
        "object" => {
            let values = properties(schema).into_iter().map(|(name, of)| (name.clone(), instance(&name, &of, known)));
            values.collect()
        }
        // A row for each name in the rows' enum.
        "array" => {
            let rows = properties(&schema["items"]);
            let names = rows.iter().find_map(|(key, of)| Some((key, of.get("enum")?.as_array()?)));
            let filled = |(key, names): (&String, &Vec<Value>)| {
                let row = |name: &Value| {
                    let mut row = instance("", &schema["items"], known);
                    row[key] = name.clone();
                    row
                };
                names.iter().map(row).collect()
            };
            names.map_or_else(|| json!([]), filled)
        }
        "integer" | "number" if name != "confidence" => schema.get("minimum").cloned().unwrap_or_else(|| json!(0)),
        "boolean" => json!(false),
        "integer" | "number" | "null" => Value::Null,
        _ => json!(part("Judge").get("unweighed")),
    }
}
