//! Compares two debates: settings, figures, decisions and solutions.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Map, Value};

use dialectic_base::money::Usd;
use dialectic_record::debate::{Debate, DebateId, Decision, Ledger, Objection, Settings};

use super::decision::without_assessment;
use super::difference::{DiffPart, parts, words};
use super::subject;

/// Longer texts are not compared, since that would take too long.
const COMPARED_BYTES: usize = 512 * 1024;

/// The comparison of two debates.
#[derive(Debug, Serialize)]
pub struct Comparison {
    /// The figures of both.
    pub debates: [Figures; 2],
    /// Settings that differ, by their keys.
    pub settings: Vec<Setting>,
    /// Objections with different outcomes, or raised in only one debate.
    pub decisions: Vec<Decided>,
    /// The lines of the solutions; `None` if they are too long.
    pub solution: Option<Vec<Line>>,
}

/// The figures of a debate.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Figures {
    /// The debate.
    pub id: DebateId,
    /// The outcome, or else its status.
    pub outcome: &'static str,
    /// The problem's first line.
    pub problem: String,
    /// The number of its rounds.
    pub rounds: usize,
    /// The number of its calls.
    pub calls: u64,
    /// Input and output tokens.
    pub tokens: u64,
    /// Calls without a token count.
    #[serde(skip)]
    pub silent_calls: u64,
    /// The cost; `None` if unknown.
    pub cost_usd: Option<Usd>,
    /// The judge's confidence.
    pub confidence: Option<f64>,
    /// The score of each scored round by number.
    pub scores: BTreeMap<u32, Option<f64>>,
    /// The number of points.
    pub points: usize,
    /// The number of open points.
    pub open: usize,
    /// The number of unfulfilled major requirements.
    pub unfulfilled: usize,
    /// The number of partly fulfilled requirements.
    pub partly_fulfilled: usize,
    /// The result of the check; `None` without one.
    pub check: Option<String>,
    /// The winner.
    pub winner: Option<String>,
}

/// A setting and its values in both debates; `None` if absent.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Setting {
    /// The key.
    pub key: String,
    /// The values.
    pub values: [Option<Value>; 2],
}

/// An objection's outcomes in both debates; `None` if it was not raised.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Decided {
    /// The objection.
    pub point: String,
    /// The severity.
    pub severity: &'static str,
    /// The outcomes.
    pub outcomes: [Option<String>; 2],
}

/// A line of a solution.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Line {
    /// The debates that contain it.
    pub side: Side,
    /// The pieces, each with whether it differs.
    pub pieces: Vec<(bool, String)>,
}

/// The debates that contain a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// Both.
    Both,
    /// The first.
    First,
    /// The second.
    Second,
}

impl Comparison {
    /// Compares two debates.
    pub fn of(first: &Debate, second: &Debate) -> Self {
        let both = [first, second];
        Self {
            debates: both.map(Figures::of),
            settings: settings(both),
            decisions: decisions(&both.map(|debate| Ledger::shown(debate).ledger)),
            solution: solution(both),
        }
    }
}

impl Figures {
    fn of(debate: &Debate) -> Self {
        let ledger = Ledger::shown(debate).ledger;
        let solution = debate.final_solution.as_ref();
        let scored =
            debate.rounds.iter().filter_map(|round| Some((round.round_number, round.evaluation.as_ref()?.score)));
        Self {
            id: debate.id.clone(),
            outcome: debate.outcome.as_ref().map_or(debate.status.name(), |outcome| outcome.kind.name()),
            problem: debate.title().into_owned(),
            rounds: debate.rounds.len(),
            calls: debate.total_usage().requests,
            tokens: debate.total_tokens(),
            silent_calls: debate.total_usage().silent_calls,
            cost_usd: debate.total_cost().filter(|_| !debate.usage.is_empty()),
            confidence: solution.and_then(|solution| solution.confidence),
            scores: scored.collect(),
            points: ledger.objections.len(),
            open: ledger.objections.iter().filter(|one| one.open).count(),
            unfulfilled: solution.map_or(0, |solution| solution.unfulfilled_major_requirements.len()),
            partly_fulfilled: solution.map_or(0, |solution| solution.partly_fulfilled.len()),
            check: subject::status(debate),
            winner: debate.winner().map(|winner| winner.agent_id.to_string()),
        }
    }
}

/// The different settings; agents' settings by id.
fn settings(debates: [&Debate; 2]) -> Vec<Setting> {
    let [mut first, mut second] = debates.map(|debate| {
        let mut flat = debate.settings.as_ref().map(flat).unwrap_or_default();
        flat.insert("seed".to_owned(), debate.seed.map_or(Value::Null, Value::from));
        flat
    });
    let keys: Vec<String> = first.keys().chain(second.keys()).cloned().collect();
    let mut differing: Vec<Setting> = keys
        .into_iter()
        .filter_map(|key| {
            let values = [first.remove(&key), second.remove(&key)];
            let differs = values[0] != values[1];
            differs.then_some(Setting { key, values })
        })
        .collect();
    differing.sort_by(|one, other| one.key.cmp(&other.key));
    differing
}

/// Settings by key; agents' settings by id.
pub(crate) fn flat(settings: &Settings) -> BTreeMap<String, Value> {
    let mut flat = BTreeMap::new();
    flatten("", &by_id(settings), &mut flat);
    flat
}

/// Settings as JSON with agents as an object.
fn by_id(settings: &Settings) -> Value {
    let mut value = serde_json::to_value(settings).unwrap_or_default();
    let Some(agents) = value.get_mut("agents") else { return value };
    let list = agents.as_array().cloned().unwrap_or_default();
    let named = list.into_iter().filter_map(|agent| Some((agent.get("id")?.as_str()?.to_owned(), agent)));
    *agents = Value::Object(named.collect::<Map<String, Value>>());
    value
}

fn flatten(at: &str, value: &Value, flat: &mut BTreeMap<String, Value>) {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            for (key, value) in fields {
                let key = if at.is_empty() { key.clone() } else { format!("{at}.{key}") };
                flatten(&key, value, flat);
            }
        }
        _ => drop(flat.insert(at.to_owned(), value.clone())),
    }
}

/// Compares objections, ignoring case and markup.
fn decisions(ledgers: &[Ledger; 2]) -> Vec<Decided> {
    let mut decided: Vec<(String, Decided)> = Vec::new();
    for (side, ledger) in ledgers.iter().enumerate() {
        for one in ledger.in_order() {
            let point = one.point.in_words();
            let words: String = point.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect();
            let outcome = Some(outcome(one));
            let known = decided.iter_mut().find(|(known, at)| *known == words && at.outcomes[side].is_none());
            if let Some((_, known)) = known {
                known.outcomes[side] = outcome;
                continue;
            }
            let mut outcomes = [None, None];
            outcomes[side] = outcome;
            let (point, severity) = (point.into_owned(), one.point.severity.name());
            decided.push((words, Decided { point, severity, outcomes }));
        }
    }
    decided.into_iter().map(|(_, one)| one).filter(|one| one.outcomes[0] != one.outcomes[1]).collect()
}

/// An objection's outcome: the judge's ruling, or else the author's answer.
fn outcome(one: &Objection) -> String {
    match one.ruling.as_ref().map(|ruling| ruling.decision) {
        Some(Decision::Dismissed) => "dismissed by the judge".to_owned(),
        Some(Decision::Met | Decision::Partly | Decision::NotMet) => {
            format!("{}, as the judge ruled", one.ruling_in_words().unwrap_or_default())
        }
        None => format!("{}, {}", one.answer_in_words(), if one.open { "open" } else { "settled" }),
    }
}

fn solution(debates: [&Debate; 2]) -> Option<Vec<Line>> {
    let [first, second] = debates.map(|debate| {
        let solution = debate.final_solution.as_ref();
        solution.map(|solution| without_assessment(&solution.description)).unwrap_or_default()
    });
    changed(first, second)
}

/// The comparison of the newest draft with the text that replaced it; `None` if there is none, or if they are too long.
pub fn draft_and_final(debate: &Debate) -> Option<Vec<Line>> {
    let (draft, text) = (debate.newest_draft()?, debate.final_text()?);
    changed(&draft.text.without_answers(), &text.without_answers())
}

/// The comparison of two texts by line; `None` if they are too long.
pub(crate) fn changed(old: &str, new: &str) -> Option<Vec<Line>> {
    if old.len() > COMPARED_BYTES || new.len() > COMPARED_BYTES {
        return None;
    }
    let [old, new] = [old, new].map(|text| text.split_inclusive('\n').collect::<Vec<_>>());
    let mut compared = Vec::new();
    for DiffPart { old: gone, new: come, stayed } in parts(old.iter(), new.iter()) {
        if stayed {
            compared.extend(lines(Side::Both, std::iter::once((false, new[come].concat()))));
        } else {
            compared.extend(reworded(&old[gone].concat(), &new[come].concat()));
        }
    }
    Some(compared)
}

/// The differing lines with context; `None` for each omitted run.
pub(crate) fn excerpt(lines: &[Line], around: usize) -> Vec<Option<&Line>> {
    let is_near = |index: usize| {
        let around = index.saturating_sub(around)..=(index + around).min(lines.len().saturating_sub(1));
        lines.get(around).is_some_and(|around| around.iter().any(|line| line.side != Side::Both))
    };
    let mut excerpt: Vec<Option<&Line>> = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        if is_near(index) {
            excerpt.push(Some(line));
        } else if !matches!(excerpt.last(), Some(None)) {
            excerpt.push(None);
        }
    }
    excerpt
}

impl Side {
    /// The prefix of its lines.
    pub(crate) fn mark(self) -> char {
        match self {
            Self::Both => ' ',
            Self::First => '-',
            Self::Second => '+',
        }
    }
}

/// The lines of a changed passage. If most words stayed, the others are marked.
fn reworded(old: &str, new: &str) -> Vec<Line> {
    let (old, new) = (words(old), words(new));
    let parts = parts(old.iter(), new.iter());
    let stayed: usize = parts.iter().filter(|part| part.stayed).map(|part| part.new.len()).sum();
    let is_alike = 4 * stayed > old.len() + new.len();
    let piece = |words: &[&str], part: &DiffPart| (is_alike && !part.stayed, words.concat());
    let first = parts.iter().map(|part| piece(&old[part.old.clone()], part));
    let second = parts.iter().map(|part| piece(&new[part.new.clone()], part));
    [lines(Side::First, first), lines(Side::Second, second)].concat()
}

/// Splits marked pieces of a text into lines.
fn lines(side: Side, pieces: impl Iterator<Item = (bool, String)>) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut line = Line { side, pieces: Vec::new() };
    for (differs, piece) in pieces {
        for part in piece.split_inclusive('\n') {
            let text = part.trim_end_matches(['\r', '\n']);
            if !text.is_empty() {
                line.pieces.push((differs, text.to_owned()));
            }
            if part.ends_with('\n') {
                lines.push(std::mem::replace(&mut line, Line { side, pieces: Vec::new() }));
            }
        }
    }
    if !line.pieces.is_empty() {
        lines.push(line);
    }
    lines
}
