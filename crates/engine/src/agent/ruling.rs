//! The judge's rulings on open points, from its assessment.

use serde_json::{Map, Value};

use dialectic_base::figures::{counted, list};
use dialectic_base::severity::Severity;
use dialectic_record::debate::{Decision, Point, Response, Ruling, Statement};

use super::Assessment;

/// A ruling as the judge writes it, by the point's number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RawRuling {
    /// The numbers of the points: similar ones may share a ruling.
    points: Vec<String>,
    /// Whether the number was a JSON number, for which `2.10` equals `2.1`.
    is_number: bool,
    decision: Decision,
    section: String,
    remains: String,
    reason: String,
}

impl Assessment {
    /// Turns the judge's answers to its check into rulings: a rejection with a reason dismisses a point, a partial
    /// acceptance meets it partly. Returns the points to rule on: all but the accepted ones, which remain claims.
    pub(super) fn rule_by(&mut self, answers: &[Statement<Response>], points: &[Point]) -> Vec<Point> {
        let answer_to = |point: &Point| answers.iter().find(|reply| reply.point == point.id);
        let is_accepted = |point: &&Point| answer_to(point).is_some_and(|reply| reply.verdict == Response::Accepted);
        let ruled: Vec<Point> = points.iter().filter(|point| !is_accepted(point)).cloned().collect();
        let rulings = ruled.iter().filter_map(|point| RawRuling::of(point, answer_to(point)?));
        self.rulings.extend(rulings);
        ruled
    }
}

impl RawRuling {
    /// The ruling that follows from the judge's answer to a point.
    fn of(point: &Point, reply: &Statement<Response>) -> Option<Self> {
        let said = reply.reason.as_deref().unwrap_or_default().trim().to_owned();
        let (decision, remains, reason) = match reply.verdict {
            Response::Rejected if said.contains(char::is_alphanumeric) => (Decision::Dismissed, String::new(), said),
            Response::Partly => (Decision::Partly, said, String::new()),
            Response::Rejected | Response::Accepted => return None,
        };
        let section = reply.section.as_deref().unwrap_or_default().trim().to_owned();
        Some(Self { points: vec![point.number()], is_number: false, decision, section, remains, reason })
    }

    /// Parses the rulings of an assessment. Skips malformed ones: their points count as not ruled.
    pub(super) fn read_all(rulings: Option<&Value>) -> Vec<Self> {
        rulings.and_then(Value::as_array).into_iter().flatten().filter_map(|one| Self::read(one.as_object()?)).collect()
    }

    fn read(ruling: &Map<String, Value>) -> Option<Self> {
        let text = |key: &str| ruling.get(key).and_then(Value::as_str).unwrap_or_default().trim().to_owned();
        let (points, is_number) = match ruling.get("point").or_else(|| ruling.get("points"))? {
            Value::Number(number) => (vec![number.to_string()], true),
            Value::String(text) => (bare_numbers(text), false),
            Value::Array(all) => (all.iter().filter_map(Value::as_str).flat_map(bare_numbers).collect(), false),
            Value::Null | Value::Bool(_) | Value::Object(_) => return None,
        };
        let decision = text("decision").to_lowercase();
        let decision = match decision.chars().filter(char::is_ascii_alphabetic).collect::<String>().as_str() {
            "met" => Decision::Met,
            "partly" | "partlymet" => Decision::Partly,
            "notmet" => Decision::NotMet,
            "dismissed" => Decision::Dismissed,
            _ => return None,
        };
        let reason = text("reason");
        // A dismissal without a reason does not show that the judge considered the point.
        if decision == Decision::Dismissed && !reason.contains(char::is_alphanumeric) {
            return None;
        }
        let remains = text("remains");
        // A point with remaining faults is not met.
        let leaves = remains.contains(char::is_alphanumeric) && !is_nothing(&remains);
        let decision = if decision == Decision::Met && leaves { Decision::Partly } else { decision };
        Some(Self { points, is_number, decision, section: text("where"), remains, reason })
    }

    /// A ruling on each listed point. Where the judge gives none, the one in `standing` applies.
    pub(super) fn on(rulings: &[Self], listed: &[Point], standing: &[Ruling]) -> Vec<Ruling> {
        let ruling = |point: &Point| {
            let found = rulings.iter().find(|one| one.is_on(point, listed));
            let stands = || standing.iter().find(|ruling| ruling.point == point.id).cloned();
            found.map_or_else(
                || stands().unwrap_or_else(|| Ruling::missing(point.id.clone())),
                |one| Ruling {
                    decision: one.decision,
                    section: one.section.clone(),
                    remains: one.remains.clone(),
                    reason: one.reason.clone(),
                    missing: false,
                    ..Ruling::missing(point.id.clone())
                },
            )
        };
        listed.iter().map(ruling).collect()
    }

    /// Whether the ruling is about this listed point.
    fn is_on(&self, point: &Point, listed: &[Point]) -> bool {
        self.points.iter().any(|named| {
            let is_it = |one: &&Point| {
                let number = one.number();
                if self.is_number { number.trim_end_matches('0') == named } else { number.eq_ignore_ascii_case(named) }
            };
            let mut fitting = listed.iter().filter(is_it);
            // A JSON number is ambiguous if both `2.1` and `2.10` are listed.
            fitting.next() == Some(point) && fitting.next().is_none()
        })
    }
}

/// `2.7` and `D3` of `Points 2.7, D3:`.
fn bare_numbers(text: &str) -> Vec<String> {
    let words = text.split(|c: char| c.is_whitespace() || ",;/&+".contains(c));
    let words = words.filter(|word| word.contains(|c: char| c.is_ascii_digit()));
    words.map(|word| word.trim_matches(|c: char| !c.is_ascii_alphanumeric()).to_owned()).collect()
}

/// Phrases that mean that nothing remains.
fn is_nothing(remains: &str) -> bool {
    let bare = remains.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
    matches!(bare.as_str(), "nothing" | "none" | "no" | "n/a" | "na" | "nothing remains")
}

/// The valid blocking points that the solution does not meet: those that lower the judge's confidence, and others,
/// which are only reported. A point that was never rechecked is only reported, if the judge ruled on it.
pub(super) fn unmet<'a>(listed: &'a [Point], rulings: &[Ruling]) -> Vec<(&'a Point, bool)> {
    let blocking = listed.iter().zip(rulings).filter(|(point, _)| point.point.severity == Severity::Blocking);
    let unmet = blocking.filter(|(_, ruling)| ruling.decision == Decision::NotMet);
    let told = unmet.filter(|(point, ruling)| point.recheck().is_some() || point.is_maintained() || !ruling.missing);
    told.map(|(point, _)| (point, point.is_maintained())).collect()
}

/// The section under the solution on the judge's rulings: the number of each kind, and an item for each unmet point.
/// `None` without rulings.
pub(super) fn under_the_solution(
    listed: &[Point],
    rulings: &[Ruling],
    is_assessed: bool,
) -> Option<(String, Vec<String>)> {
    let count = |words: &str| rulings.iter().filter(|ruling| ruling.in_words() == words).count();
    let kinds = ["met", "partly met", "not met", "not ruled", "dismissed"];
    let counts = kinds.map(|words| (count(words), words)).into_iter().filter(|(count, _)| *count > 0);
    let counts: Vec<String> = counts.map(|(count, words)| format!("{count} {words}")).collect();
    let points = counted(rulings.len() as u64, "point");
    let line = format!("By the judge's ruling, of {points}: {}.", list(&counts));
    let item = |(point, ruling): (&Point, &Ruling)| {
        let mut item = format!("{} ({}), {}", point.number(), point.point.severity.name(), ruling.in_words());
        if !ruling.section.trim().is_empty() {
            item = format!("{item} in {}", ruling.section.trim());
        }
        item = format!("{item}: {}", point.point.in_words());
        for (what, said) in [("Remains", &ruling.remains), ("Reason", &ruling.reason)] {
            if !said.is_empty() {
                item = format!("{item}\n{what}: {said}");
            }
        }
        item
    };
    let remaining = listed.iter().zip(rulings).filter(|(_, ruling)| ruling.decision != Decision::Met);
    // Without any ruling the outcome reports a missing assessment.
    let has_ruled = rulings.iter().any(|ruling| !ruling.missing);
    (has_ruled || is_assessed && !rulings.is_empty()).then(|| (line, remaining.map(item).collect()))
}
