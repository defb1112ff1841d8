//! What debates on a motion share: sides, rounds of speeches, an opening and a closing.

use crate::debate::Debate;
use crate::ids::{AgentId, CallKey, CallStatus, ResultKind, StageId, StageInfo};
use crate::prompt::Prompt;
use crate::settings::{AgentSettings, Position, Settings};

use super::{
    LINCOLN_DOUGLAS, Next, OXFORD, OutputSpec, PromptContext, ROUNDTABLE, Row, Stage, Step, Trigger, Unfit,
    complete_or_fallback, key, nothing,
};

pub use super::verdict::{DEFAULT_CRITERIA, criteria_or, debaters};

pub(super) const OPENING: StageId = StageId::new("opening");
const REBUTTAL: StageId = StageId::new("rebuttal");
pub(super) const CLOSING: StageId = StageId::new("closing");

const ARGUMENTS_READY: Trigger = Trigger("ARGUMENTS_READY");
const ROUND_COMPLETE: Trigger = Trigger("ROUND_COMPLETE");
const ALL_ROUNDS_COMPLETE: Trigger = Trigger("ALL_ROUNDS_COMPLETE");
pub(super) const CLOSINGS_COMPLETE: Trigger = Trigger("CLOSINGS_COMPLETE");

pub(super) static SYSTEM: Prompt = prompt!("system/motion.md", None);
pub(super) static OPEN: Prompt = prompt!("motion/open.md", None);
pub(super) static REBUT: Prompt = prompt!("motion/rebut.md", None);
pub(super) static CLOSE: Prompt = prompt!("motion/close.md", None);

/// An opening, three rounds of rebuttals, and a closing.
pub(super) const DEFAULT_ROUNDS: u32 = 5;
const FEWEST_ROUNDS: u32 = 2;
const MOST_ROUNDS: u32 = 10;

/// An agent's side. In protocols with sides, if no positions are configured, the first agent speaks for the motion, the
/// second against it, and the others listen. In a roundtable, no agent has a side. The judge never has a side.
pub fn side(settings: &Settings, agent: &AgentId) -> Position {
    if settings.debate.protocol == ROUNDTABLE.name {
        return Position::Neutral;
    }
    let Some(place) = settings.agents.iter().position(|one| one.id == *agent) else { return Position::Neutral };
    let has_sides = [OXFORD.name, LINCOLN_DOUGLAS.name].contains(&settings.debate.protocol.as_str());
    let is_any_given = settings.agents.iter().any(|one| one.position.is_some());
    match settings.agents[place].position {
        Some(position) => position,
        None if is_any_given || !has_sides => Position::Neutral,
        None => [Position::For, Position::Against].get(place).copied().unwrap_or(Position::Neutral),
    }
}

pub(super) fn on_side(settings: &Settings, wanted: Position) -> impl Iterator<Item = &AgentSettings> {
    settings.agents.iter().filter(move |agent| side(settings, &agent.id) == wanted)
}

pub(super) fn speakers(settings: &Settings) -> Vec<&AgentSettings> {
    let mut speakers: Vec<_> = on_side(settings, Position::For).chain(on_side(settings, Position::Against)).collect();
    if speakers.is_empty() {
        speakers.extend(&settings.agents);
    }
    speakers
}

pub(super) fn check_rounds(settings: &Settings) -> Result<(), Unfit> {
    let (protocol, rounds) = (&settings.debate.protocol, settings.debate.rounds);
    if (FEWEST_ROUNDS..=MOST_ROUNDS).contains(&rounds) {
        return Ok(());
    }
    let problem = format!("{protocol} has {FEWEST_ROUNDS} to {MOST_ROUNDS} rounds, not {rounds}");
    let first_and_last = "the first round is for openings and the last for closings";
    let hint = format!("{first_and_last}: set `debate.rounds` to a value from {FEWEST_ROUNDS} to {MOST_ROUNDS}");
    Err(Unfit::new(problem, hint).about("debate.rounds"))
}

pub(super) const fn opening(info: StageInfo, steps: fn(&Debate) -> Vec<Step>) -> Stage {
    Stage {
        info,
        facts: nothing,
        steps,
        outcome: opened,
        rows: &[Row(ARGUMENTS_READY, Next::Begin(REBUTTAL)), Row(ALL_ROUNDS_COMPLETE, Next::Begin(CLOSING))],
    }
}

pub(super) const fn opening_info() -> StageInfo {
    let words = ["opening", "openings", "opening", "opens", "opened", "open"];
    StageInfo::new(OPENING, words).yielding(ResultKind::Speech).in_round().essential()
}

pub(super) const fn rebuttal(info: StageInfo) -> Stage {
    Stage {
        info,
        facts: nothing,
        steps: |debate| speeches(debate, REBUTTAL, &REBUT),
        outcome: |debate| {
            let last = is_next_to_last_round(debate);
            Ok(if last { ALL_ROUNDS_COMPLETE } else { complete_or_fallback(debate, REBUTTAL, ROUND_COMPLETE) })
        },
        rows: &[Row(ROUND_COMPLETE, Next::Begin(REBUTTAL)), Row(ALL_ROUNDS_COMPLETE, Next::Begin(CLOSING))],
    }
}

pub(super) const fn rebuttal_info() -> StageInfo {
    let words = ["rebuttal", "rebuttals", "rebutting", "rebuts", "rebutted", "rebut"];
    StageInfo::new(REBUTTAL, words).yielding(ResultKind::Speech).in_round().essential()
}

pub(super) const fn closing(info: StageInfo, rows: &'static [Row]) -> Stage {
    Stage {
        info,
        facts: nothing,
        steps: |debate| speeches(debate, CLOSING, &CLOSE),
        outcome: |debate| Ok(complete_or_fallback(debate, CLOSING, CLOSINGS_COMPLETE)),
        rows,
    }
}

pub(super) const fn closing_info() -> StageInfo {
    let words = ["closing", "closings", "closing", "closes", "closed", "close"];
    StageInfo::new(CLOSING, words).yielding(ResultKind::Speech).in_round().essential()
}

pub(super) fn speeches(debate: &Debate, stage: StageId, prompt: &'static Prompt) -> Vec<Step> {
    let Some(settings) = &debate.settings else { return Vec::new() };
    let in_turn = debate.stage(stage).is_some_and(|stage| stage.in_turn);
    let mut steps: Vec<Step> = Vec::new();
    for agent in speakers(settings) {
        let heard = if in_turn { steps.iter().map(|step| step.key.clone()).collect() } else { Vec::new() };
        steps.push(speech(key(debate, stage, agent), heard, prompt));
    }
    steps
}

pub(super) fn speech(key: CallKey, inputs: Vec<CallKey>, prompt: &'static Prompt) -> Step {
    Step::new(key, prompt, OutputSpec::Text).after(inputs).showing(PromptContext::Transcript)
}

fn is_next_to_last_round(debate: &Debate) -> bool {
    debate.settings.as_ref().is_none_or(|settings| debate.current_round + 1 >= settings.debate.rounds)
}

fn opened(debate: &Debate) -> Result<Trigger, String> {
    let Some(settings) = &debate.settings else { return Err("the debate has no settings".to_owned()) };
    let has_opened = |agent: &&AgentSettings| {
        debate.settled(&CallKey::new(debate.current_round, OPENING, &agent.id)) == Some(CallStatus::Done)
    };
    for (position, where_to) in [(Position::For, "for"), (Position::Against, "against")] {
        let mut speakers = on_side(settings, position).peekable();
        if speakers.peek().is_some() && !speakers.any(|agent| has_opened(&agent)) {
            return Err(format!("nobody spoke {where_to} the motion in the opening round"));
        }
    }
    let speakers = speakers(settings);
    let (there, needed) = (speakers.iter().filter(|agent| has_opened(agent)).count(), speakers.len().min(2));
    if there < needed {
        return Err(format!("the debate needs {needed} openings, but has only {there}"));
    }
    let last = is_next_to_last_round(debate);
    Ok(if last { ALL_ROUNDS_COMPLETE } else { complete_or_fallback(debate, OPENING, ARGUMENTS_READY) })
}
