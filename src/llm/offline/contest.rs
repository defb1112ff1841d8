//! What is done where solutions compete: decisions are listed, taken over from others, related and scored; and the kinds
//! of argument are told from the form of a text.

use std::cmp::Reverse;

use serde_json::{Value, json};

use crate::figures::counted;

use super::agent::Agent;
use super::checklist::{Entry, find};
use super::speech::names;
use super::text::{DECISIONS, Point, covers, numbered, section, unique};

/// Decisions that a text lists.
const LISTED: usize = 5;
/// What tells a kind of argument in texts that are written by rules.
const KINDS: [(&str, &[&str]); 4] = [
    ("evidence", &["serves R", "(major)"]),
    ("concession", &["accepted:", "withdrawn"]),
    ("rebuttal", &["rejected:", "[blocking]", "[major]", "maintained"]),
    ("synthesis", &["taken over from"]),
];

impl Agent<'_> {
    /// The section of decisions, where the task wants it: the points that the problem calls for most strongly.
    pub(super) fn decisions(&self, held: &[&'static Entry]) -> String {
        let task = self.prompt.section("Your task:").unwrap_or_default();
        if !task.contains(&format!("`## {DECISIONS}`")) {
            return String::new();
        }
        let mut ranked = held.to_vec();
        ranked.sort_by_key(|entry| {
            (Reverse((self.problem.served_by(entry).len(), entry.score(&self.problem))), entry.title)
        });
        let lines: Vec<String> = ranked.iter().take(LISTED).map(|entry| format!("- {}", entry.title)).collect();
        section(DECISIONS, &lines.join("\n"))
    }

    /// What others have decided and the own text does not cover.
    pub(super) fn adopted(&self, held: &[&'static Entry]) -> Vec<&'static Entry> {
        let decided = self.prompt.of_kind("other").flat_map(|other| {
            let (_, decisions) = other.text.split_once(&format!("## {DECISIONS}\n")).unwrap_or_default();
            decisions
                .lines()
                .take_while(|line| !line.starts_with('#'))
                .filter_map(|line| find(line.strip_prefix("- ")?))
        });
        unique(decided.filter(|entry| !covers(held, entry)))
    }

    /// How the decisions that are listed relate: those that answer the same concern are the same.
    pub(super) fn relations(&self) -> Value {
        let points: Vec<Point> = self.prompt.of_kind("decisions").flat_map(|text| numbered(text.text)).collect();
        let is_same = |one: &Point, other: &Point| match (one.entry, other.entry) {
            (Some(one), Some(other)) => one.is_like(other),
            (None, None) => one.title.eq_ignore_ascii_case(&other.title),
            (Some(_), None) | (None, Some(_)) => false,
        };
        let rows = (1..).zip(&points).map(|(number, one): (usize, _)| {
            let same = (1..).zip(&points).filter(|(other, point)| *other != number && is_same(one, point));
            let same: Vec<usize> = same.map(|(other, _)| other).collect();
            json!({ "decision": number, "same": same, "opposite": [], "requirement": 0 })
        });
        json!({ "decisions": rows.collect::<Value>() })
    }

    /// What stands against an agreement: the points that no text meets. No rule knows an unsupported claim.
    pub(super) fn challenge(&self) -> Value {
        let positions = self.positions();
        let points = self.prompt.of_kind("points").flat_map(|points| numbered(points.text));
        let open = points.filter(|point| !positions.iter().any(|text| text.meets(point).is_some()));
        let open: Vec<usize> = open.filter_map(|point| point.label.parse().ok()).collect();
        json!({ "claims": [], "points": open })
    }

    /// The scores of the candidates: how much of the requirements, and of the checklists, each covers.
    pub(super) fn scores(&self, schema: &Value) -> Value {
        let criteria = names(schema, "/properties/candidates/items/properties/scores/items/properties/criterion/enum");
        let positions = self.positions();
        let all = self.union(&positions);
        let candidates = positions.iter().map(|one| {
            let (breadth, met) = self.shares(&one.held, &all);
            let scores = criteria.iter().map(|criterion| {
                let part = if *criterion == "requirements" { met } else { f64::midpoint(met, breadth) };
                json!({ "criterion": criterion, "score": (part * 95.0).round() })
            });
            let missing = self.problem.open_majors(&one.held).into_iter().map(|open| open.text.as_str());
            json!({
                "candidate": one.label(), "scores": scores.collect::<Value>(), "missing": missing.collect::<Value>(),
            })
        });
        let told =
            positions.iter().map(|one| format!("{} holds {}", one.author, counted(one.held.len() as u64, "point")));
        let told = told.collect::<Vec<_>>().join(", ");
        let reasoning = format!("By rule, without a model: {told}. What counts is how many requirements they meet.");
        json!({ "candidates": candidates.collect::<Value>(), "reasoning": reasoning })
    }

    /// The kinds of argument in each text, as far as its form tells.
    pub(super) fn kinds(&self) -> Value {
        let texts = (1..).zip(self.prompt.of_kind("contribution")).map(|(number, text): (usize, _)| {
            let kinds = KINDS.iter().filter(|(_, marks)| marks.iter().any(|mark| text.text.contains(mark)));
            json!({ "text": number, "kinds": kinds.map(|(kind, _)| *kind).collect::<Value>() })
        });
        json!({ "texts": texts.collect::<Value>() })
    }
}
