//! What a judge or a voter does: it counts which points the texts before it hold, joins them into one solution, and
//! assesses that.

use std::cmp::Reverse;

use serde_json::{Map, Value, json};

use super::agent::Agent;
use super::checklist::{Entry, checklists};
use super::prompt::Fenced;
use super::text::{COVERAGE, DESIGN, Position, covers, holds, numbered, section};
use super::words::{count_of, list, mixed, one_line, percent, ratio};

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
        let mut texts: Vec<Fenced<'a>> = self.prompt.of_kind("candidate").collect();
        if texts.is_empty() {
            let last_part = self.prompt.of_kind("contribution").last().map(|text| text.part);
            let is_criticism = |text: &Fenced| ["Critique", "Review"].iter().any(|word| text.title.contains(word));
            let contributions = self.prompt.of_kind("contribution");
            texts = contributions.filter(|text| Some(text.part) == last_part && !is_criticism(text)).collect();
        }
        if texts.is_empty() {
            let mut own = ["refinement", "draft", "proposal", "summary"].into_iter();
            texts.extend(own.find_map(|kind| self.prompt.of_kind(kind).last()));
        }
        let mut positions: Vec<Position<'a>> = Vec::new();
        for Fenced { title, text, .. } in texts {
            let position = Position::of(title.rsplit_once(" of ").map_or(title, |(_, author)| author), text);
            // Texts grow from round to round, so of several the one that holds most is the newest.
            match positions.iter_mut().find(|one| one.author == position.author) {
                Some(known) if known.held.len() <= position.held.len() => *known = position,
                Some(_) => {}
                None => positions.push(position),
            }
        }
        positions
    }

    /// The points of all texts, each concern once, in the order of the checklists.
    pub(super) fn union(&self, positions: &[Position]) -> Vec<&'static Entry> {
        let all = || checklists().iter().flat_map(|one| &one.entries);
        let holders = |entry: &Entry| positions.iter().filter(|one| holds(&one.held, entry)).count();
        let mut held: Vec<&Entry> = all().filter(|entry| holders(entry) > 0).collect();
        // Of two that answer the same concern, the one that more texts hold.
        held.sort_by_key(|entry| Reverse((holders(entry), entry.score(&self.problem))));
        let chosen = held.iter().fold(Vec::new(), |mut chosen: Vec<&Entry>, entry| {
            chosen.extend((!covers(&chosen, entry)).then_some(*entry));
            chosen
        });
        all().filter(|entry| holds(&chosen, entry)).collect()
    }

    /// What applies to the problem for the roles taking part: those whose points these are. Where there are none, all.
    fn applicable(&self, held: &[&'static Entry]) -> Vec<&'static Entry> {
        let takes_part = |title: &str| held.is_empty() || held.iter().any(|entry| entry.role == title);
        let taking_part = checklists().iter().filter(|one| takes_part(one.title));
        taking_part.flat_map(|one| one.applicable(&self.problem)).collect()
    }

    /// How far the texts agree, 0 to 100: the points that all hold among those that one does.
    pub(super) fn consensus(&self) -> u32 {
        let positions = self.positions();
        let all = self.union(&positions);
        let shared = all.iter().filter(|entry| is_shared(&positions, entry)).count();
        percent(MOST * ratio(shared, all.len()))
    }

    /// How much of the checklists and the major requirements the best text covers, 0 to 100.
    pub(super) fn best_quality(&self) -> u32 {
        let positions = self.positions();
        let applicable = self.applicable(&self.union(&positions));
        positions.iter().map(|one| self.quality(&one.held, &applicable)).max().unwrap_or_default()
    }

    /// How much of what applies and of the major requirements these points cover, 0 to 100.
    fn quality(&self, held: &[&'static Entry], applicable: &[&'static Entry]) -> u32 {
        let breadth = ratio(applicable.iter().filter(|entry| covers(held, entry)).count(), applicable.len());
        let (majors, open) = (self.problem.majors().count(), self.open_majors(held).count());
        let met = if majors == 0 { breadth } else { ratio(majors - open, majors) };
        percent(MOST * (BREADTH * breadth + (1.0 - BREADTH) * met)).min(if open > 0 { UNFULFILLED } else { 100 })
    }

    /// The label of the candidate to choose, how clearly, and why.
    pub(super) fn vote(&self) -> (String, u32, String) {
        // The requirements come first: which major ones are open, then how many points serve any. After that its own
        // concerns count double; would they count before, every voter might choose itself.
        let serves =
            |entry: &&&Entry| self.problem.requirements.iter().any(|asked| entry.answers(&self.problem, asked) > 0);
        let points = |one: &Position| one.held.len() + self.own.iter().filter(|entry| covers(&one.held, entry)).count();
        let mut ranked = self.positions();
        ranked.sort_by_cached_key(|one| {
            let tie_break = mixed(self.seed, &format!("{} {}", self.checklist.title, one.text));
            let serving = one.held.iter().filter(serves).count();
            (self.open_majors(&one.held).count(), Reverse((serving, points(one))), tie_break)
        });
        let Some(best) = ranked.first() else {
            return (String::new(), 0, "There is no text to vote for.".to_owned());
        };
        let second = ranked.get(1).map_or(0, points);
        let reason = format!(
            "For {}, it leaves {} open and holds {}, {} of which {} looks for.",
            self.problem.subject,
            count_of(self.open_majors(&best.held).count(), "major requirement"),
            count_of(best.held.len(), "point"),
            points(best) - best.held.len(),
            self.checklist.view,
        );
        let label = best.author.strip_prefix("Candidate ").unwrap_or(best.author);
        (label.to_owned(), percent(ratio(points(best), points(best) + second)), reason)
    }

    /// The points of all texts as one solution, and its assessment as a block of JSON.
    pub(super) fn synthesis(&self) -> String {
        let solution = self.joined();
        let assessment = self.assessment(&solution).into_iter().filter(|(key, value)| match *key {
            "base" => self.is_merging(),
            "rulings" => *value != json!([]),
            _ => true,
        });
        let assessment: Map<String, Value> = assessment.map(|(key, value)| (key.to_owned(), value)).collect();
        format!("{solution}\n```json\n{}\n```", Value::Object(assessment))
    }

    /// What there is to say of a solution.
    pub(super) fn assessment(&self, solution: &str) -> Vec<(&'static str, Value)> {
        let solution = Position::of("", solution);
        let all = self.called_first(solution.held.clone());
        let applicable = self.applicable(&all);
        let unfulfilled: Vec<&str> = self.open_majors(&all).map(|open| open.text.as_str()).collect();
        let mut advice: Vec<String> =
            unfulfilled.iter().map(|open| format!("Find an answer to “{open}”: nothing here has one.")).collect();
        advice.extend(all.first().map(|first| format!("Begin with “{}”.", first.title)));
        let missing = applicable.iter().filter(|entry| !covers(&all, entry)).take(2);
        advice.extend(missing.map(|entry| format!("Decide on “{}” before building further.", entry.title)));
        advice.truncate(LISTED);
        let costs = all.iter().take(LISTED).map(|entry| format!("{}: {}", entry.title, self.problem.about(entry.cost)));
        // The questions that the problem's own words raise.
        let called = all.iter().take_while(|entry| entry.score(&self.problem) > 0).count().max(1);
        let mut questions = self.open_questions(&all[..called.min(all.len())]);
        questions.truncate(LISTED);
        vec![
            ("base", self.vote().0.into()),
            ("tradeoffs", costs.collect()),
            ("recommendations", json!(advice)),
            ("unfulfilledMajorRequirements", json!(unfulfilled)),
            ("openQuestions", json!(questions)),
            ("rulings", self.rulings(&solution)),
            ("confidence", self.quality(&all, &applicable).into()),
        ]
    }

    /// What becomes of the objections that are open: one is upheld, unless the solution answers its concern in another
    /// way.
    fn rulings(&self, solution: &Position) -> Value {
        let open = self.prompt.of_kind("points").flat_map(|points| numbered(points.text));
        let rulings = open.map(|point| {
            let by = self.met_by(solution, &point);
            let (decision, reason) = match &by {
                Some(by) if point.entry.is_some_and(|entry| entry.bold() != *by) => {
                    ("dismissed", format!("{by} answers the same concern."))
                }
                Some(by) => ("upheld", format!("It is right, and {by} meets it.")),
                None => ("upheld", "Nothing in the solution meets it.".to_owned()),
            };
            let place = by.as_deref().filter(|_| decision == "upheld").map_or("", |by| place_of(solution.text, by));
            // A list of the program's begins with 1, so that this is a number.
            let number: usize = point.label.parse().unwrap_or_default();
            json!({ "point": number, "decision": decision, "handledIn": place, "reason": reason })
        });
        rulings.collect()
    }

    /// Whether the solution is built on one of the texts.
    fn is_merging(&self) -> bool {
        matches!(self.task, "merge" | "write the answer")
    }

    fn joined(&self) -> String {
        let positions = self.positions();
        let all = self.union(&positions);
        let base = self.prompt.task_text().lines().find_map(|line| Some(line.split_once(" has won.")?.0));
        let point = |entry: &&Entry| {
            let held = positions.iter().filter(|one| covers(&one.held, entry)).map(|one| one.author.to_owned());
            let held: Vec<String> = held.collect();
            let from = match held.len() {
                some if some == positions.len() => String::new(),
                // What is taken from others is marked, and not what was there.
                _ if held.iter().any(|author| Some(author.as_str()) == base) => String::new(),
                _ if self.is_merging() => format!(" *(from {})*", list(&held)),
                // Labels are dealt anew in each debate: the same debate is to have the same answer.
                some => format!(" *(held by {some} of {})*", positions.len()),
            };
            format!("- **{}.** {}{from}", entry.title, self.problem.about(entry.action))
        };
        let of_role = |role| all.iter().filter(move |entry| entry.role == role);
        let groups = checklists().iter().map(|one| (one.heading, of_role(one.title).map(point).collect()));
        let groups = groups.chain([("Other points from the debate", free_points(&positions))]);
        let groups = groups.filter(|(_, points): &(_, Vec<String>)| !points.is_empty());
        let design = groups.map(|(heading, points)| format!("### {heading}\n\n{}", points.join("\n")));
        let called = self.called_first(all.clone());
        let core: Vec<String> = called.iter().take(3).map(|entry| entry.bold()).collect();
        let core = if core.is_empty() { String::new() } else { format!(" At its core: {}.", list(&core)) };
        let (texts, points) = (count_of(positions.len(), "contribution"), count_of(all.len(), "point"));
        let shared = all.iter().filter(|entry| is_shared(&positions, entry)).count();
        let overview = format!(
            "This answer for {} joins {texts}. It makes {points} of the checklists, of which all texts hold {shared}.{core}",
            self.problem.full_subject
        );
        let design = section(DESIGN, &design.collect::<Vec<_>>().join("\n\n"));
        let coverage = section(COVERAGE, &self.coverage(&all).join("\n"));
        let colophon = "*Written by rules from what the debate brought up; no model was called.*";
        format!("{overview}\n\n{design}\n\n{coverage}\n\n{colophon}\n")
    }

    /// `entries` with those that the problem calls for most strongly first.
    fn called_first(&self, mut entries: Vec<&'static Entry>) -> Vec<&'static Entry> {
        entries.sort_by_key(|entry| Reverse(entry.score(&self.problem)));
        entries
    }
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
        let author = one_line(one.author, 60);
        for point in one.points.iter().filter(|point| point.entry.is_none()) {
            let start = format!("- **{}.** ", point.title);
            if !lines.iter().any(|line| line.starts_with(&start)) {
                lines.push(format!("{start}{} *(from {author})*", point.body));
            }
        }
        if one.held.is_empty() && one.points.is_empty() {
            let paragraph = one.text.split("\n\n").find(|part| !part.trim().is_empty() && !part.starts_with('#'));
            lines.extend(paragraph.map(|part| format!("- {author}: {}", one_line(part, QUOTED_CHARS))));
        }
    }
    lines.truncate(FREE_POINTS);
    lines
}
