//! Points of critics as prompts list them, and the judge's rulings on those that are open.

use std::fmt::Write;

use serde_json::{Map, Value};

use dialectic_base::markdown::truncate;
use dialectic_base::severity::Severity;
use dialectic_record::debate::{AgentId, Answered, Debate, Decision, Ledger, Objection, ResultKind, Ruling, Standing};
use dialectic_record::protocol::{OutputSpec, Step};

/// Characters of a list at most: what a call costs must not grow with all that was ever said.
const LIST: usize = 8000;
/// Characters of a point, and of a reason, in a list.
const POINT: usize = 320;
const REASON: usize = 160;

/// Points that a prompt lists.
#[derive(Debug, Clone, Default)]
pub(super) struct ListedPoints {
    /// A line for each.
    pub(super) text: String,
    /// The points in the order of the lines.
    pub(super) points: Vec<Objection>,
}

impl ListedPoints {
    /// What `step` shows of the points. `label` says under which name a text is shown.
    pub(super) fn of(debate: &Debate, step: &Step, label: impl Fn(&AgentId) -> Option<String>) -> Option<Self> {
        let key = &step.key;
        let yields = debate.stage(key.stage).and_then(|stage| stage.yields);
        let listed = match (&step.answer, &key.target_agent_id, yields) {
            (OutputSpec::Challenge, ..) => {
                let ledger = Ledger::of(debate);
                let mut points = ledger.to_decide();
                points.retain(|one| one.answer == Answered::Unanswered);
                Self::new(&points, |number, one| {
                    let on = label(&one.target_id).map(|label| format!("{label}: ")).unwrap_or_default();
                    format!("{number}. [{}] {on}", one.point.severity.name())
                })
            }
            (OutputSpec::Solution(_), ..) => {
                let ledger = Ledger::of(debate);
                let points = ledger.to_decide();
                Self::new(&points, |number, one| {
                    let on = label(&one.target_id).map(|label| format!("{label}: ")).unwrap_or_default();
                    format!("{number}. [{}] {on}", one.point.severity.name())
                })
            }
            (OutputSpec::Text | OutputSpec::Word(_), Some(target), Some(ResultKind::Critique | ResultKind::Ballot)) => {
                let ledger = Ledger::seen_by(debate, target, key.round, &step.inputs);
                Self::labelled(&ledger.against(target).filter(|one| !one.is_settled()).collect::<Vec<_>>())
            }
            (OutputSpec::Text, None, Some(ResultKind::Proposal)) => {
                let author = &key.agent_id;
                let ledger = Ledger::seen_by(debate, author, key.round, &step.inputs);
                // The prompt shows the critiques among its inputs whole.
                let is_input = |one: &Objection| {
                    step.inputs.iter().any(|input| {
                        input.round == one.round
                            && input.agent_id == one.critic_id
                            && input.target_agent_id.as_ref() == Some(author)
                    })
                };
                Self::labelled(&ledger.against(author).filter(|one| one.open && !is_input(one)).collect::<Vec<_>>())
            }
            (
                OutputSpec::Text
                | OutputSpec::Questions { .. }
                | OutputSpec::Summary
                | OutputSpec::Score(_)
                | OutputSpec::Choice
                | OutputSpec::Word(_)
                | OutputSpec::Judgement
                | OutputSpec::FollowUp
                | OutputSpec::Relations
                | OutputSpec::Kinds
                | OutputSpec::Scores(_),
                ..,
            ) => return None,
        };
        (!listed.points.is_empty()).then_some(listed)
    }

    fn labelled(points: &[&Objection]) -> Self {
        Self::new(points, |_, one| format!("- P{} [{}] ", one.label(), one.point.severity.name()))
    }

    /// As many as fit, the gravest and newest of them, in the order in which they were given.
    fn new(points: &[&Objection], mark: impl Fn(usize, &Objection) -> String) -> Self {
        let mut by_weight: Vec<usize> = (0..points.len()).collect();
        by_weight.sort_by_key(|place| (points[*place].point.severity, std::cmp::Reverse(points[*place].round)));
        let (mut room, mut kept) = (LIST, Vec::new());
        for place in by_weight {
            let life = life(points[place]);
            let Some(left) = room.checked_sub(life.chars().count()) else { break };
            room = left;
            kept.push((place, life));
        }
        kept.sort_unstable_by_key(|(place, _)| *place);
        let left_out = points.len() - kept.len();
        let lines = (1..).zip(&kept).map(|(number, (place, life))| mark(number, points[*place]) + life);
        let more = (left_out > 0).then(|| format!("And {left_out} more, which are older or weigh less."));
        let text = lines.chain(more).collect::<Vec<_>>().join("\n");
        Self { text, points: kept.iter().map(|(place, _)| points[*place].clone()).collect() }
    }
}

/// A point and what became of it, on one line.
fn life(one: &Objection) -> String {
    let mut line = short(&one.point.in_words(), POINT);
    let because = |reason: &Option<String>| reason.as_ref().map(|why| format!(": {}", short(why, REASON)));
    // Writing to a String cannot fail.
    let _ = write!(line, " - {}{}", one.answer.name(), because(&one.reason).unwrap_or_default());
    if one.answer != Answered::Unanswered && one.is_bare_acceptance() {
        line.push_str(" without saying what was changed");
    }
    match one.critic {
        Some(standing) => {
            let _ = write!(line, " - {}{}", standing.name(), because(&one.critic_reason).unwrap_or_default());
        }
        None => line.push_str(" - not rechecked"),
    }
    line
}

fn short(text: &str, chars: usize) -> String {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let shown = truncate(&words, chars);
    if shown.len() < words.len() { format!("{}…", shown.trim_end()) } else { words }
}

/// A ruling as the judge writes it: the point by its number in the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RawRuling {
    point: usize,
    decision: Decision,
    handled_in: String,
    reason: String,
}

impl RawRuling {
    /// The rulings of an assessment; what is none is left out, which counts as no ruling.
    pub(super) fn read_all(rulings: Option<&Value>) -> Vec<Self> {
        rulings.and_then(Value::as_array).into_iter().flatten().filter_map(|one| Self::read(one.as_object()?)).collect()
    }

    fn read(ruling: &Map<String, Value>) -> Option<Self> {
        let text = |keys: [&str; 2]| {
            let value = keys.iter().find_map(|key| ruling.get(*key))?.as_str()?;
            Some(value.trim().to_owned())
        };
        let point = match ruling.get("point")? {
            Value::Number(number) => usize::try_from(number.as_u64()?).ok()?,
            Value::String(text) => {
                text.trim().trim_start_matches(['#', 'P', 'p']).trim_end_matches('.').parse().ok()?
            }
            Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => return None,
        };
        let decision = match text(["decision", "ruling"])?.to_lowercase().as_str() {
            "upheld" | "uphold" => Decision::Upheld,
            "dismissed" | "dismiss" => Decision::Dismissed,
            _ => return None,
        };
        let handled_in = text(["handledIn", "handled_in"]).unwrap_or_default();
        let is_nowhere = matches!(handled_in.to_lowercase().as_str(), "none" | "nowhere" | "n/a" | "-" | "not handled");
        let handled_in = if is_nowhere { String::new() } else { handled_in };
        Some(Self { point, decision, handled_in, reason: text(["reason", "why"]).unwrap_or_default() })
    }

    /// A ruling on each of the points that were listed. One that is missing counts as upheld, and met nowhere.
    pub(super) fn on(rulings: &[Self], listed: &[Objection]) -> Vec<Ruling> {
        let ruling = |(number, point): (usize, &Objection)| {
            let found = rulings.iter().find(|one| one.point == number);
            Ruling {
                point: point.id.clone(),
                decision: found.map_or(Decision::Upheld, |one| one.decision),
                handled_in: found.map(|one| one.handled_in.clone()).unwrap_or_default(),
                reason: found.map(|one| one.reason.clone()).unwrap_or_default(),
                missing: found.is_none(),
            }
        };
        (1..).zip(listed).map(ruling).collect()
    }
}

/// The blocking points that are right and that the solution does not meet: those that count against the judge's
/// confidence, and those that are only told. One that no critic looked at again is told where the judge itself upheld it,
/// and never counts.
pub(super) fn unmet<'a>(listed: &'a [Objection], rulings: &[Ruling]) -> Vec<(&'a Objection, bool)> {
    let blocking = listed.iter().zip(rulings).filter(|(point, _)| point.point.severity == Severity::Blocking);
    let unmet = blocking.filter(|(_, ruling)| ruling.is_unmet());
    let told = unmet.filter(|(point, ruling)| point.critic.is_some() || !ruling.missing);
    told.map(|(point, _)| (point, point.critic == Some(Standing::Maintained))).collect()
}
