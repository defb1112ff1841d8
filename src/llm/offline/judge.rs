//! What a judge or a voter counts: which points of the checklists the texts before it hold.

use std::cmp::Reverse;

use super::agent::Agent;
use super::checklist::{Entry, checklists};
use super::document::{adopted, covers, holds};
use super::prompt::Fenced;
use super::words::{count_of, mixed, percent, ratio};

/// Nothing is scored higher: a checklist never knows everything.
const MOST: f64 = 0.95;
/// How much of the quality of a text is coverage of the checklists; the rest is coverage of the major requirements.
const BREADTH: f64 = 0.6;
/// What a text with an unfulfilled major requirement is worth at most.
const UNFULFILLED: u32 = 40;

/// Where somebody stands.
pub(super) struct Position<'a> {
    /// Who that is, as the prompt's heading says: `Candidate A`, `Agent B`.
    pub(super) author: &'a str,
    pub(super) text: &'a str,
    /// The points that the text makes its own.
    pub(super) held: Vec<&'static Entry>,
}

impl<'a> Position<'a> {
    pub(super) fn of(author: &'a str, text: &'a str) -> Self {
        Self { author, text, held: adopted(text) }
    }
}

impl<'a> Agent<'a> {
    /// The texts to judge, one of each author: the candidates, else what the last part of the material holds beside
    /// criticism, else the newest text of the agent itself.
    pub(super) fn positions(&self) -> Vec<Position<'a>> {
        let candidates: Vec<Fenced<'a>> = self.prompt.of_kind("candidate").collect();
        let last_part = self.prompt.of_kind("contribution").last().map(|text| text.part);
        let is_criticism = |text: &Fenced| ["Critique", "Review"].iter().any(|word| text.title.contains(word));
        let is_position = |text: &Fenced| Some(text.part) == last_part && !is_criticism(text);
        let contributions = || self.prompt.of_kind("contribution").filter(is_position).collect();
        let texts: Vec<Fenced<'a>> = if candidates.is_empty() { contributions() } else { candidates };
        let mut positions: Vec<Position<'a>> = Vec::new();
        for Fenced { title, text, .. } in texts {
            let author = title.rsplit_once(" of ").map_or(title, |(_, author)| author);
            let position = Position::of(author, text);
            // Texts grow from round to round, so of several the one that holds most is the newest.
            match positions.iter_mut().find(|one| one.author == author) {
                Some(known) if known.held.len() <= position.held.len() => *known = position,
                Some(_) => {}
                None => positions.push(position),
            }
        }
        if positions.is_empty() {
            let mut own = ["solution", "refinement", "draft", "proposal", "summary"].into_iter();
            let own = own.find_map(|kind| self.prompt.of_kind(kind).last());
            positions.extend(own.map(|own| Position::of(own.title, own.text)));
        }
        positions
    }

    /// The points of all texts, each once, in the order of the checklists. Of two that answer the same concern, the
    /// one that more texts hold; else the one that the problem calls for more strongly.
    pub(super) fn union(&self, positions: &[Position]) -> Vec<&'static Entry> {
        let holders = |entry: &Entry| positions.iter().filter(|one| holds(&one.held, entry)).count();
        let mut held: Vec<&Entry> = checklists().iter().flat_map(|one| &one.entries).collect();
        held.retain(|entry| holders(entry) > 0);
        let order = held.clone();
        held.sort_by_key(|entry| Reverse((holders(entry), entry.score(&self.problem))));
        let mut union: Vec<&Entry> = Vec::new();
        for entry in held {
            if !covers(&union, entry) {
                union.push(entry);
            }
        }
        order.into_iter().filter(|entry| holds(&union, entry)).collect()
    }

    /// What applies to the problem for the roles taking part: those whose points the texts hold. Where they hold none,
    /// all.
    pub(super) fn applicable(&self, positions: &[Position]) -> Vec<&'static Entry> {
        let takes_part = |title: &str| positions.iter().flat_map(|one| &one.held).any(|entry| entry.role == title);
        let are_known = checklists().iter().any(|one| takes_part(one.title));
        let taking_part = checklists().iter().filter(|one| !are_known || takes_part(one.title));
        taking_part.flat_map(|one| one.applicable(&self.problem)).collect()
    }

    /// How far two texts at least agree, 0 to 100: the points that both hold among those that one does.
    pub(super) fn consensus(&self) -> u32 {
        let positions = self.positions();
        let shares = positions.iter().enumerate().flat_map(|(at, one)| {
            positions[at + 1..].iter().map(move |other| {
                let shared = one.held.iter().filter(|entry| covers(&other.held, entry)).count();
                let all = one.held.len() + other.held.iter().filter(|entry| !covers(&one.held, entry)).count();
                ratio(shared, all)
            })
        });
        percent(MOST * shares.fold(1.0, f64::min))
    }

    /// How much of the checklists and the major requirements the best text covers, 0 to 100.
    pub(super) fn best_quality(&self) -> u32 {
        let positions = self.positions();
        let applicable = self.applicable(&positions);
        positions.iter().map(|one| self.quality(&one.held, &applicable)).max().unwrap_or_default()
    }

    /// How much of what applies and of the major requirements these points cover, 0 to 100.
    pub(super) fn quality(&self, held: &[&'static Entry], applicable: &[&'static Entry]) -> u32 {
        let breadth = ratio(applicable.iter().filter(|entry| covers(held, entry)).count(), applicable.len());
        let majors = self.problem.majors().count();
        let open = self.open_majors(held).count();
        let met = if majors == 0 { breadth } else { ratio(majors - open, majors) };
        let quality = percent(MOST * (BREADTH * breadth + (1.0 - BREADTH) * met));
        if open > 0 { quality.min(UNFULFILLED) } else { quality }
    }

    /// The label of the candidate to choose, how clearly, and why.
    pub(super) fn vote(&self) -> (String, u32, String) {
        let positions = self.positions();
        // The requirements come first: which major ones are open, then how many points serve any. After that its own
        // concerns count double; would they count before, every voter might choose itself.
        let looked_for = |one: &Position| self.own.iter().filter(|entry| covers(&one.held, entry)).count();
        let points = |one: &Position| looked_for(one) + one.held.len();
        let serving = |one: &Position| {
            let serves =
                |entry: &&&Entry| self.problem.requirements.iter().any(|asked| entry.answers(&self.problem, asked) > 0);
            one.held.iter().filter(serves).count()
        };
        let mut ranked: Vec<&Position> = positions.iter().collect();
        ranked.sort_by_cached_key(|one| {
            let tie_break = mixed(self.seed, &format!("{} {}", self.checklist.title, one.text));
            (self.open_majors(&one.held).count(), Reverse((serving(one), points(one))), tie_break)
        });
        let Some(best) = ranked.first() else {
            return (String::new(), 0, "There is no text to vote for.".to_owned());
        };
        let second = ranked.get(1).map_or(0, |one| points(one));
        let reason = format!(
            "For {}, it leaves {} of {} open, holds {} of the {} points that {} looks for, and {} in all.",
            self.problem.subject,
            self.open_majors(&best.held).count(),
            count_of(self.problem.majors().count(), "major requirement"),
            looked_for(best),
            self.own.len(),
            self.checklist.view,
            best.held.len()
        );
        let label = best.author.strip_prefix("Candidate ").unwrap_or(best.author);
        (label.to_owned(), percent(ratio(points(best), points(best) + second)), reason)
    }
}
