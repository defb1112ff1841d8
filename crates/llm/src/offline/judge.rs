//! What a judge or a voter does: it counts which points the texts before it hold, joins them into one solution, and
//! assesses that.

use std::cmp::Reverse;

use serde_json::{Value, json};

use dialectic_base::figures::{counted, list};

use super::agent::Agent;
use super::checklist::{Entry, checklists};
use super::prompt::Fenced;
use super::speech::names;
use super::text::{COVERAGE, DESIGN, Point, Position, covers, holds, numbered, section, unique};
use super::words::{mixed, one_line, paragraphs, percent, ratio};

/// Nothing is scored higher: a checklist never knows everything.
const MOST: f64 = 0.95;
/// How much of the quality of a text is coverage of the checklists; the rest is coverage of the major requirements.
const BREADTH: f64 = 0.6;
/// What a text with an unfulfilled major requirement is worth at most.
const UNFULFILLED: u32 = 40;
/// Items in each list of a solution.
const LISTED: usize = 5;
/// Points outside the checklists that a solution quotes.
const FREE_POINTS: usize = 8;
/// What is quoted of a text in which the rules find nothing.
const QUOTED_CHARS: usize = 500;

impl<'a> Agent<'a> {
    /// The texts to judge, one of each author: the candidates, else what the last part of the material holds beside
    /// criticism, else the newest text of the agent itself.
    pub(super) fn positions(&self) -> Vec<Position<'a>> {
        let mut kinds = ["candidate", "contribution", "refinement", "draft", "proposal", "summary"].into_iter();
        let Some(last) = kinds.find_map(|kind| self.prompt.of_kind(kind).last()) else { return Vec::new() };
        let is_criticism = |text: &Fenced| ["Critique", "Review"].iter().any(|word| text.title.contains(word));
        let texts = self.prompt.of_kind(last.kind).filter(|text| text.part == last.part && !is_criticism(text));
        let mut positions: Vec<Position<'a>> = Vec::new();
        for Fenced { title, text, .. } in texts {
            let position = Position::of(title.rsplit_once(" of ").map_or(title, |(_, author)| author), text);
            // Texts grow from round to round, so the newest holds most.
            positions.retain(|one| one.author != position.author);
            positions.push(position);
        }
        positions
    }

    /// What applies to the problem for the roles whose points these are. Where there are none, for all.
    fn applicable(&self, held: &[&'static Entry]) -> Vec<&'static Entry> {
        let takes_part = |title: &str| held.is_empty() || held.iter().any(|entry| entry.role == title);
        let taking_part = checklists().iter().filter(|one| takes_part(one.title));
        taking_part.flat_map(|one| one.applicable(&self.problem)).collect()
    }

    /// How far the texts agree, 0 to 100: the points that all hold among those that one does.
    pub(super) fn consensus(&self) -> u32 {
        let positions = self.positions();
        let all = union(&positions);
        let shared = all.iter().filter(|entry| is_shared(&positions, entry)).count();
        percent(MOST * ratio(shared, all.len()))
    }

    /// How much of the checklists and the major requirements the best text covers, 0 to 100.
    pub(super) fn best_quality(&self) -> u32 {
        let positions = self.positions();
        let applicable = self.applicable(&union(&positions));
        positions.iter().map(|one| self.quality(&one.held, &applicable)).max().unwrap_or_default()
    }

    /// How much of what applies and of the major requirements these points cover, 0 to 100.
    fn quality(&self, held: &[&'static Entry], applicable: &[&'static Entry]) -> u32 {
        let (breadth, met) = self.shares(held, applicable);
        let is_fulfilled = self.problem.open_majors(held).is_empty();
        percent(MOST * (BREADTH * breadth + (1.0 - BREADTH) * met)).min(if is_fulfilled { 100 } else { UNFULFILLED })
    }

    /// Which share of what is `wanted` these points cover, and which of the major requirements; where the problem states
    /// none, what is wanted stands for them.
    pub(super) fn shares(&self, held: &[&'static Entry], wanted: &[&'static Entry]) -> (f64, f64) {
        let breadth = ratio(wanted.iter().filter(|entry| covers(held, entry)).count(), wanted.len());
        let (majors, open) = (self.problem.majors().count(), self.problem.open_majors(held).len());
        (breadth, if majors == 0 { breadth } else { ratio(majors - open, majors) })
    }

    /// The label of the candidate to choose, how clearly, and why.
    pub(super) fn vote(&self) -> (String, u32, String) {
        // The requirements come first: which major ones are open, then how many points serve any. After that its own
        // concerns count double; would they count before, every voter might choose itself.
        let points = |one: &Position| one.held.len() + self.own.iter().filter(|entry| covers(&one.held, entry)).count();
        let mut ranked = self.positions();
        ranked.sort_by_cached_key(|one| {
            let tie_break = mixed(self.seed, &format!("{} {}", self.checklist.title, one.text));
            let serving = one.held.iter().filter(|entry| !self.problem.served_by(entry).is_empty()).count();
            (self.problem.open_majors(&one.held).len(), Reverse((serving, points(one))), tie_break)
        });
        let Some(best) = ranked.first() else {
            return (String::new(), 0, "There is no text to vote for.".to_owned());
        };
        let second = ranked.get(1).map_or(0, points);
        let reason = format!(
            "For {}, it leaves {} open and holds {}, {} of which {} looks for.",
            self.problem.subject,
            counted(self.problem.open_majors(&best.held).len() as u64, "major requirement"),
            counted(best.held.len() as u64, "point"),
            points(best) - best.held.len(),
            self.checklist.view,
        );
        (best.label().to_owned(), percent(ratio(points(best), points(best) + second)), reason)
    }

    /// The points of all texts as one solution, and its assessment as a block of JSON.
    pub(super) fn synthesis(&self) -> String {
        let solution = self.joined();
        let mut assessment = self.assessment(&solution);
        let has_rulings = assessment["rulings"] != json!([]);
        if let Some(values) = assessment.as_object_mut() {
            // Who merges builds on one of the texts.
            let has_base = matches!(self.task, "merge" | "write the answer");
            values.retain(|key, _| (has_base || key != "base") && (has_rulings || key != "rulings"));
        }
        format!("{solution}\n```json\n{assessment}\n```")
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
        let all = union(&positions);
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

    /// The kinds of argument in each text: no rule knows any.
    pub(super) fn kinds(&self) -> Value {
        let texts = (1..).zip(self.prompt.of_kind("contribution"));
        let texts = texts.map(|(number, _): (usize, _)| json!({ "text": number, "kinds": [] }));
        json!({ "texts": texts.collect::<Value>() })
    }

    /// What there is to say of a solution.
    pub(super) fn assessment(&self, solution: &str) -> Value {
        let solution = Position::of("", solution);
        let all = self.called_first(solution.held.clone());
        let applicable = self.applicable(&all);
        let unfulfilled: Vec<&str> = self.problem.open_majors(&all).iter().map(|open| open.text.as_str()).collect();
        let unanswered = unfulfilled.iter().map(|open| format!("Find an answer to “{open}”: nothing here has one."));
        let first = all.first().map(|first| format!("Begin with “{}”.", first.title));
        let missing = applicable.iter().filter(|entry| !covers(&all, entry)).take(2);
        let missing = missing.map(|entry| format!("Decide on “{}” before building further.", entry.title));
        let advice: Vec<String> = unanswered.chain(first).chain(missing).take(LISTED).collect();
        let costs = all.iter().take(LISTED).map(|entry| format!("{}: {}", entry.title, self.problem.about(entry.cost)));
        // The questions that the problem's own words raise.
        let called = all.iter().filter(|entry| entry.score(&self.problem) > 0).count().clamp(1, LISTED);
        json!({
            "base": self.vote().0,
            "tradeoffs": costs.collect::<Vec<_>>(),
            "recommendations": advice,
            "unfulfilledMajorRequirements": unfulfilled,
            "openQuestions": self.open_questions(&all[..called.min(all.len())]),
            "rulings": self.rulings(&solution),
            "confidence": self.quality(&all, &applicable),
        })
    }

    /// What becomes of the objections that are open: one is upheld, unless the solution answers its concern in another
    /// way.
    fn rulings(&self, solution: &Position) -> Value {
        let open = self.prompt.of_kind("points").flat_map(|points| numbered(points.text));
        let rulings = open.map(|point| {
            let (decision, place, reason) = match solution.meets(&point) {
                Some(by) if point.entry.is_some_and(|entry| entry.bold() != by) => {
                    ("dismissed", "", format!("{by} answers the same concern."))
                }
                Some(by) => ("upheld", place_of(solution.text, &by), format!("It is right, and {by} meets it.")),
                None => ("upheld", "", "Nothing in the solution meets it.".to_owned()),
            };
            // A list of the program's begins with 1, so that this is a number.
            let number: usize = point.label.parse().unwrap_or_default();
            json!({ "point": number, "decision": decision, "handledIn": place, "reason": reason })
        });
        rulings.collect()
    }

    fn joined(&self) -> String {
        let positions = self.positions();
        let all = union(&positions);
        let point = |entry: &&Entry| {
            let holding = positions.iter().filter(|one| covers(&one.held, entry)).count();
            // Labels are dealt anew in each debate: the same debate is to have the same answer.
            let all = positions.len();
            let held = if holding == all { String::new() } else { format!(" *(held by {holding} of {all})*") };
            format!("{}{held}", self.design_point(entry))
        };
        let of_role = |role| all.iter().filter(move |entry| entry.role == role);
        let groups = checklists().iter().map(|one| (one.heading, of_role(one.title).map(point).collect()));
        let groups = groups.chain([("Other points from the debate", free_points(&positions))]);
        let groups = groups.filter(|(_, points): &(_, Vec<String>)| !points.is_empty());
        let design = paragraphs(groups.map(|(heading, points)| format!("### {heading}\n\n{}", points.join("\n"))));
        let core: Vec<String> = self.called_first(all.clone()).iter().take(3).map(|entry| entry.bold()).collect();
        let core = if core.is_empty() { String::new() } else { format!(" At its core: {}.", list(&core)) };
        let overview = format!(
            "This answer for {} joins {}. It makes {} of the checklists, of which all texts hold {}.{core}",
            self.problem.full_subject,
            counted(positions.len() as u64, "contribution"),
            counted(all.len() as u64, "point"),
            all.iter().filter(|entry| is_shared(&positions, entry)).count(),
        );
        let coverage = section(COVERAGE, &self.coverage(&all).join("\n"));
        let colophon = "*Written by rules from what the debate brought up; no model was called.*\n".to_owned();
        paragraphs([overview, section(DESIGN, &design), coverage, colophon])
    }

    /// `entries` with those that the problem calls for most strongly first.
    fn called_first(&self, mut entries: Vec<&'static Entry>) -> Vec<&'static Entry> {
        entries.sort_by_key(|entry| Reverse(entry.score(&self.problem)));
        entries
    }
}

/// The points of all texts, each concern once, in the order of the checklists.
pub(super) fn union(positions: &[Position]) -> Vec<&'static Entry> {
    let all = checklists().iter().flat_map(|one| &one.entries);
    unique(all.filter(|entry| positions.iter().any(|one| holds(&one.held, entry))))
}

/// Whether all texts hold an entry.
pub(super) fn is_shared(positions: &[Position], entry: &Entry) -> bool {
    positions.iter().all(|one| covers(&one.held, entry))
}

/// The heading under which a text makes the point of this title.
fn place_of<'a>(text: &'a str, title: &str) -> &'a str {
    let start = format!("- {}", title.trim_end_matches('*'));
    let before = text.lines().take_while(|line| !line.starts_with(&start));
    before.filter(|line| line.starts_with('#')).last().unwrap_or_default().trim_start_matches('#').trim()
}

/// Design points that no checklist knows, and the beginnings of texts in which there is no point at all.
fn free_points(positions: &[Position]) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for one in positions {
        let free = one.points.iter().filter(|point| point.entry.is_none());
        lines.extend(free.map(|point| format!("- **{}.** {}", point.title, point.body)));
        if one.held.is_empty() && one.points.is_empty() {
            let paragraph = one.text.split("\n\n").find(|part| !part.trim().is_empty() && !part.starts_with('#'));
            let author = one_line(one.author, 60);
            lines.extend(paragraph.map(|part| format!("- {author}: {}", one_line(part, QUOTED_CHARS))));
        }
    }
    lines.sort();
    lines.dedup();
    lines.truncate(FREE_POINTS);
    lines
}
