//! Writes speeches, and answers that fit the requested schemas.

use serde_json::{Value, json};

use super::mixed;
use super::problem::{Gap, asked_in, gap_of, gaps};
use super::task::{
    COLOPHON, Fenced, ListedPoint, NOT_ASSESSED, PlayedAgent, QUESTIONS, TEXTS, listed, numbered, paragraphs,
};

const EQUAL: u8 = 50;

impl<'a> PlayedAgent<'a> {
    pub(super) fn form(&self, schema: &Value) -> Value {
        let known = match self.task {
            "clarify" => {
                let is_asked = |ask: &str| self.texts(&["question"]).any(|asked| asked.text.trim() == ask);
                let question = self.own().first().filter(|gap| !is_asked(gap.ask)).map(|gap| gap.ask);
                json!({ "questions": question.map(|text| json!({ "id": "q1", "text": text })).into_iter().collect::<Value>() })
            }
            "vote" => json!({ "choice": self.chosen().map(|(label, _)| label), "reason": NOT_ASSESSED }),
            "poll" => json!({ "choice": "undecided", "reason": NOT_ASSESSED }),
            "judge the debate" => {
                let open = gaps()
                    .find(|gap| self.problem.lacks(gap))
                    .map_or("Are all of the problem's assumptions correct?", |gap| gap.ask);
                json!({
                    "score": EQUAL, "winner": "none", "assessment": NOT_ASSESSED, "reasoning": NOT_ASSESSED, "measure": open,
                    "adoptIf": format!("The answer to “{open}” favours the motion."),
                    "rejectIf": format!("The answer to “{open}” speaks against the motion."),
                })
            }
            "relate the decisions" => {
                let decisions = listed(self.texts(&["decisions"]).next_back().unwrap_or_default().text);
                let row = |number| json!({ "decision": number, "same": [], "opposite": [], "requirement": 0 });
                json!({ "decisions": (1..=decisions.len()).map(row).collect::<Value>() })
            }
            "mark the kinds of argument" => {
                // A critique rebuts, and any other text argues from the problem.
                let kind = |one: Fenced| if one.title.contains("critique") { "rebuttal" } else { "evidence" };
                let row = |(number, one): (usize, _)| json!({ "text": number, "kinds": [kind(one)] });
                json!({ "texts": (1..).zip(self.texts(&["contribution"])).map(row).collect::<Value>() })
            }
            "rule on the findings" => return self.finding_rulings(),
            "assess" => self.assessment(self.at_hand().text),
            // Evaluators may use their own prompts, so they are recognized by the schema.
            _ if schema.to_string().contains("\"functional_completeness\"") => {
                json!({ "score": null, "overall_score": null, "reasoning": NOT_ASSESSED })
            }
            "score the consensus" | "score the best solution" => json!({ "confidence": EQUAL, "reason": NOT_ASSESSED }),
            _ => json!({ "score": EQUAL, "reason": NOT_ASSESSED, "reasoning": NOT_ASSESSED }),
        };
        instance("", schema, &known)
    }

    /// The seed determines the choice, so all voters agree. Returns the label and the text.
    pub(super) fn chosen(&self) -> Option<(&'a str, &'a str)> {
        let rank = |text: &Fenced| mixed(self.seed, text.text);
        let chosen = self.texts(&TEXTS).max_by_key(rank)?;
        Some((chosen.title.rsplit(' ').next()?, chosen.text))
    }

    pub(super) fn assessment(&self, solution: &str) -> Value {
        let mut assessment = json!({
            "base": self.chosen().map(|(label, _)| label),
            "approach": "kept",
            "tradeoffs": [],
            "recommendations": ["Add the answers to the problem's text.", "Then run the debate with a model."],
            "unfulfilledMajorRequirements": [],
            "partlyFulfilled": [],
            "openQuestions": [],
            "rulings": self.points(true).iter().map(|point| ruling(point, solution)).collect::<Value>(),
            "title": "",
            // If the confidence were absent, the caller would request it again.
            "confidence": "none",
        });
        if let Some(values) = assessment.as_object_mut() {
            let is_optional = |name: &str| ["base", "approach", "rulings"].contains(&name);
            values.retain(|name, _| !is_optional(name) || self.names(name));
        }
        assessment
    }

    fn finding_rulings(&self) -> Value {
        let ruling = |number: &str| json!({ "finding": number, "reason": NOT_ASSESSED, "decision": "open", "severity": "minor" });
        let rulings: Vec<Value> = self.listed_findings().map(ruling).collect();
        json!({ "rulings": rulings, "summary": NOT_ASSESSED, "title": "" })
    }
}

fn ruling(ListedPoint { number, text }: &ListedPoint, solution: &str) -> Value {
    let (decision, place, remains, reason) = match gap_of(text) {
        Some((gap, true)) => ("dismissed", "", "", gap.why),
        Some((gap, false)) if solution.contains(gap.ask) => ("met", QUESTIONS, "", "The answer asks this question."),
        Some((gap, false)) => ("notMet", "", gap.ask, "The answer does not ask this question."),
        None => ("notMet", "", "All of it.", NOT_ASSESSED),
    };
    json!({ "point": number, "where": place, "remains": remains, "reason": reason, "decision": decision })
}

/// The known value of the property `name` if `schema` allows it; otherwise a neutral value.
fn instance(name: &str, schema: &Value, known: &Value) -> Value {
    let allowed = schema.get("enum").and_then(Value::as_array);
    let value = known.get(name).filter(|value| allowed.is_none_or(|allowed| allowed.contains(value)));
    if let Some(value) = value.or_else(|| allowed?.first()) {
        return value.clone();
    }
    let properties = |of: &Value| of.get("properties").and_then(Value::as_object).cloned().unwrap_or_default();
    // If there is a choice of types, as in `["string", "null"]`, the first type is the informative one.
    match schema.get("type").and_then(|kind| kind.get(0).unwrap_or(kind).as_str()).unwrap_or_default() {
        "object" => {
            let values = properties(schema).into_iter().map(|(name, of)| (name.clone(), instance(&name, &of, known)));
            values.collect()
        }
        // If rows contain an enum, there is one row for each of its values.
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
        _ => json!(NOT_ASSESSED),
    }
}

/// How many questions an opening asks; the others are kept for rebuttals.
const OPENING: usize = 2;

impl PlayedAgent<'_> {
    pub(super) fn speech(&self) -> String {
        let side = self.named("Your side").1;
        let (own, name) = (self.own(), &self.problem.name);
        let last = self.speeches().next_back().unwrap_or_default();
        let items = |most| numbered(own.iter().take(most).map(|gap| gap.item()));
        let said = match self.task {
            "question" if own.is_empty() => "1. Which answer would change your mind?".to_owned(),
            "question" => numbered(own.iter().map(|gap| gap.ask.to_owned())),
            "answer" => numbered(listed(last).iter().map(|_| "The problem does not say.".to_owned())),
            "open" | "close" if own.is_empty() => format!("Nothing on my list is missing from “{name}”."),
            "open" => {
                let start = match ["for", "against"]
                    .map(|side_of| side.contains(&format!("You speak {side_of} the motion")))
                {
                    [true, _] => format!("I speak for “{name}”. It stands if this is answered in its favour:"),
                    [false, true] => format!("I speak against “{name}”. It falls as long as nobody can answer this:"),
                    [false, false] => format!("I take no side on “{name}”. First, somebody has to answer this:"),
                };
                paragraphs([start, items(OPENING)])
            }
            "close" => {
                paragraphs(["The decision rests on what the problem does not say:".to_owned(), items(own.len())])
            }
            _ => self.rebuttal(&own, last),
        };
        paragraphs([said, COLOPHON.to_owned()])
    }

    fn speeches(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.texts(&["contribution"]).map(|speech| speech.text)
    }

    fn rebuttal(&self, own: &[&Gap], last: &str) -> String {
        let is_said = |line: &str| self.speeches().any(|speech| speech.contains(line));
        let taken = |gap: &Gap| format!("Nobody answered “{}” That helps neither side.", gap.ask);
        let heard = asked_in(last).map(taken).find(|line| !is_said(line));
        let own = own
            .iter()
            .find(|gap| !is_said(gap.ask))
            .map(|gap| format!("Nobody has asked yet: {} {}", gap.ask, gap.why));
        let said = numbered(heard.into_iter().chain(own));
        if said.is_empty() { "Everything on my list has been said.".to_owned() } else { said }
    }
}
