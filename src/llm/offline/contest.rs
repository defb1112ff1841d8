//! What is done where solutions compete: decisions are listed, taken over from others, related and scored; and the kinds
//! of argument are told from the form of a text.

use std::cmp::Reverse;

use serde_json::{Value, json};

use super::agent::Agent;
use super::checklist::Entry;
use super::speech::names;
use super::text::{DECISIONS, Point, Position, covers, labelled, numbered, section, unique};
use super::words::{count_of, ratio};

/// Decisions that a text lists.
const LISTED: usize = 5;

impl Agent<'_> {
    /// Whether the task wants the decisions listed.
    fn wants_decisions(&self) -> bool {
        let task = format!("Your task: {}", self.task);
        self.prompt.part(&task).is_some_and(|section| section.whole.contains(&format!("`## {DECISIONS}`")))
    }

    /// The section of decisions, where it is wanted: the points that the problem calls for most strongly.
    pub(super) fn decisions(&self, held: &[&'static Entry]) -> String {
        if !self.wants_decisions() {
            return String::new();
        }
        let mut ranked = held.to_vec();
        ranked.sort_by_key(|entry| (Reverse(self.weight(entry)), entry.title));
        let lines: Vec<String> = ranked.iter().take(LISTED).map(|entry| format!("- {}", entry.title)).collect();
        section(DECISIONS, &lines.join("\n"))
    }

    /// How strongly the problem calls for an entry.
    fn weight(&self, entry: &Entry) -> usize {
        let served = self.problem.requirements.iter().filter(|asked| entry.answers(&self.problem, asked) > 0).count();
        served * 100 + entry.score(&self.problem)
    }

    /// What others have decided and the own text does not cover.
    pub(super) fn adopted(&self, held: &[&'static Entry]) -> Vec<&'static Entry> {
        let decided =
            self.prompt.of_kind("other").flat_map(|other| decided(other.text)).filter_map(|point| point.entry);
        unique(decided.filter(|entry| !covers(held, entry)))
    }

    /// How the decisions that are listed relate: those that answer the same concern are the same.
    pub(super) fn relations(&self) -> Vec<(&'static str, Value)> {
        let points: Vec<Point> = self.prompt.of_kind("decisions").flat_map(|text| numbered(text.text)).collect();
        let is_same = |one: &Point, other: &Point| match (one.entry, other.entry) {
            (Some(one), Some(other)) => one.is_like(other),
            (None, None) => one.title.eq_ignore_ascii_case(&other.title),
            (Some(_), None) | (None, Some(_)) => false,
        };
        let rows = points.iter().enumerate().map(|(place, one)| {
            let same = points.iter().enumerate().filter(|(other, point)| *other != place && is_same(one, point));
            let same: Vec<usize> = same.map(|(other, _)| other + 1).collect();
            json!({ "decision": place + 1, "same": same, "opposite": [], "requirement": 0 })
        });
        vec![("decisions", rows.collect())]
    }

    /// What stands against an agreement: the points that no text meets. No rule knows an unsupported claim.
    pub(super) fn challenge(&self) -> Vec<(&'static str, Value)> {
        let positions = self.positions();
        let points = self.prompt.of_kind("points").flat_map(|points| numbered(points.text));
        let open = points.filter(|point| !positions.iter().any(|text| self.met_by(text, point).is_some()));
        let open: Vec<usize> = open.filter_map(|point| point.label.parse().ok()).collect();
        vec![("claims", json!([])), ("points", json!(open))]
    }

    /// The scores of the candidates: how much of the requirements, and of the checklists, each covers.
    pub(super) fn scores(&self, schema: &Value) -> Vec<(&'static str, Value)> {
        let criteria = names(schema, "/properties/candidates/items/properties/scores/items/properties/criterion/enum");
        let positions = self.positions();
        let all = self.union(&positions);
        let label = |one: &Position| one.author.strip_prefix("Candidate ").unwrap_or(one.author).to_owned();
        let share = |one: &Position| ratio(all.iter().filter(|entry| covers(&one.held, entry)).count(), all.len());
        let candidates = positions.iter().map(|one| {
            let missing: Vec<&str> = self.open_majors(&one.held).map(|open| open.text.as_str()).collect();
            let majors = self.problem.majors().count();
            let met = if majors == 0 { share(one) } else { ratio(majors - missing.len(), majors) };
            let scores = criteria.iter().map(|criterion| {
                let part = if criterion == "requirements" { met } else { f64::midpoint(met, share(one)) };
                json!({ "criterion": criterion, "score": (part * 95.0).round() })
            });
            json!({ "candidate": label(one), "scores": scores.collect::<Value>(), "missing": missing })
        });
        let told = positions.iter().map(|one| format!("{} holds {}", one.author, count_of(one.held.len(), "point")));
        let told = told.collect::<Vec<_>>().join(", ");
        vec![
            ("candidates", candidates.collect()),
            (
                "reasoning",
                format!("By rule, without a model: {told}. What counts is how many requirements they meet.").into(),
            ),
        ]
    }

    /// The kinds of argument in each text, as far as its form tells.
    pub(super) fn kinds(&self) -> Vec<(&'static str, Value)> {
        let texts = (1..).zip(self.prompt.of_kind("contribution")).map(|(number, text): (usize, _)| {
            let says = |words: &str| text.text.contains(words);
            let kinds = [
                ("evidence", says("serves R") || says("(major)")),
                ("concession", says("accepted:") || says("withdrawn")),
                ("rebuttal", says("rejected:") || says("[blocking]") || says("[major]") || says("maintained")),
                ("qualification", says("Assumed ")),
                ("synthesis", says("taken over from")),
            ];
            let kinds: Vec<&str> = kinds.into_iter().filter(|(_, is)| *is).map(|(kind, _)| kind).collect();
            json!({ "text": number, "kinds": kinds })
        });
        vec![("texts", texts.collect())]
    }
}

/// The decisions that a text lists.
fn decided(text: &str) -> Vec<Point> {
    let heading = format!("## {DECISIONS}");
    let listed = text.lines().skip_while(|line| *line != heading).skip(1).take_while(|line| !line.starts_with('#'));
    let lines: Vec<String> =
        listed.filter_map(|line| line.strip_prefix("- ")).map(|line| format!("- x {line}")).collect();
    labelled(&lines.join("\n"))
}
