//! Protocols: who speaks in a debate, in which order, and how it ends. A declaration lists the stages, the calls of
//! each stage as a pure function of the record, and a table of transitions; the engine can run any protocol, including
//! those declared in other crates.

// New variants must be handled explicitly.
#![cfg_attr(not(test), warn(clippy::wildcard_enum_match_arm))]

mod answer;
mod arena;
mod arms;
mod check;
mod council;
mod dialectic;
mod lincoln_douglas;
pub mod motion;
mod oxford;
pub mod questions;
mod render;
mod review;
mod roundtable;
mod step;
mod verdict;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use crate::debate::Debate;
use crate::event::{Event, FORMAT_VERSION};
use crate::ids::{CallKey, CallStatus, ResultKind, StageId, StageInfo};
use crate::prompt::Prompt;
use crate::settings::{AgentSettings, Settings};

pub use answer::{JsonAnswer, JsonAnswerKind};
pub use arena::ARENA;
pub use arms::{BEST_OF_N, SELF_REFINE, SINGLE};
pub use check::{CHECK, FINAL};
pub use council::{COUNCIL, QUICK_AGENTS};
pub use dialectic::DIALECTIC;
pub use lincoln_douglas::LINCOLN_DOUGLAS;
pub use oxford::OXFORD;
pub use review::REVIEW;
pub use roundtable::ROUNDTABLE;
pub use step::{Authorship, BudgetClass, Delivery, OutputSpec, PromptContext, Step};

/// The built-in protocols, starting with the default one.
pub const PROTOCOLS: &[&Protocol] =
    &[&DIALECTIC, &COUNCIL, &OXFORD, &LINCOLN_DOUGLAS, &ROUNDTABLE, &REVIEW, &ARENA, &SINGLE, &SELF_REFINE, &BEST_OF_N];

#[derive(Debug)]
pub struct Protocol {
    /// The name in configurations and on the command line.
    pub name: &'static str,
    pub about: &'static str,
    /// When to use the protocol, in one line.
    pub suits: &'static str,
    /// The number of calls as a formula for `n` agents and `r` rounds.
    pub calls: &'static str,
    /// The stages in display order. Every debate starts with the first.
    pub stages: &'static [Stage],
    /// The stage that writes the answer. STOP leads to this stage, and later stages may check the answer.
    pub closing: StageId,
    pub system: &'static Prompt,
    pub prompts: &'static [&'static Prompt],
    pub check: fn(&Settings) -> Result<(), Unfit>,
    pub default_rounds: u32,
    /// The default number of lenses in the check.
    pub default_check: u32,
    /// The default number of built-in agents; `None` for all.
    pub built_in_agents: Option<usize>,
}

/// Why a protocol cannot run with the given settings.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{problem}")]
pub struct Unfit {
    pub problem: String,
    pub hint: String,
    /// The key of the unsuitable setting. Front ends may have their own option for this setting.
    pub key: Option<&'static str>,
}

impl Unfit {
    pub fn new(problem: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { problem: problem.into(), hint: hint.into(), key: None }
    }

    pub fn about(self, key: &'static str) -> Self {
        Self { key: Some(key), ..self }
    }
}

#[derive(Debug)]
pub struct Stage {
    pub info: StageInfo,
    /// Events that follow from the record without a call and are not recorded yet. Called whenever the record grows,
    /// while the stage is current or can start early.
    pub facts: fn(&Debate) -> Vec<Event>,
    /// All calls of this stage in the current round, including finished ones. Omits calls whose inputs can never exist.
    pub steps: fn(&Debate) -> Vec<Step>,
    /// How the stage ends, once all its calls have ended.
    ///
    /// # Errors
    ///
    /// Returns the reason why the debate cannot continue.
    pub outcome: fn(&Debate) -> Result<Trigger, String>,
    /// The transitions, starting with the regular one. A stage without rows is a kind of call within another stage.
    pub rows: &'static [Row],
}

#[derive(Debug, Clone, Copy)]
pub struct Row(pub Trigger, pub Next);

/// How a stage ends, as named in tables and diagrams.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Trigger(pub &'static str);

impl Trigger {
    /// Retry the stage, keeping its finished calls.
    pub const RETRY: Self = Self("RETRY");
    /// Take the regular transition with partial results.
    pub const FALLBACK: Self = Self("FALLBACK");
    pub const FAILED: Self = Self("FAILED");
    pub const PAUSE: Self = Self("PAUSE");
    /// Go to the closing stage now.
    pub const STOP: Self = Self("STOP");
    /// The triggers that can end any stage.
    pub const COMMON: [Self; 5] = [Self::RETRY, Self::FALLBACK, Self::FAILED, Self::PAUSE, Self::STOP];
}

/// The target of a transition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    Go(StageId),
    /// A stage in a new round.
    Begin(StageId),
    /// Wait for the user's answers.
    Suspend,
    /// End with an answer.
    Done,
    /// End without an answer.
    Fail,
    /// Wait until the debate is resumed.
    Pause,
}

/// A row is missing from a protocol's transition table, which is a bug in the protocol's declaration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("protocol {protocol} has no transition from {stage} after {}", trigger.0)]
pub struct NoTransition {
    pub protocol: &'static str,
    pub stage: StageId,
    pub trigger: Trigger,
}

impl Protocol {
    pub fn named(name: &str) -> Option<&'static Self> {
        PROTOCOLS.iter().copied().find(|protocol| protocol.name == name)
    }

    /// The protocols that do not need a change to review.
    pub fn of_debates() -> impl Iterator<Item = &'static Self> {
        PROTOCOLS.iter().copied().filter(|protocol| protocol.name != REVIEW.name)
    }

    pub fn names() -> Vec<&'static str> {
        PROTOCOLS.iter().map(|protocol| protocol.name).collect()
    }

    pub fn stage(&self, id: StageId) -> Option<&Stage> {
        self.stages.iter().find(|stage| stage.info.id == id)
    }

    pub fn steps(&self, debate: &Debate) -> impl Iterator<Item = Step> {
        self.stages.iter().flat_map(|stage| (stage.steps)(debate))
    }

    pub fn start(&self) -> StageId {
        self.stages[0].info.id
    }

    pub fn is_closing(&self, stage: StageId) -> bool {
        let place = |id: StageId| self.stages.iter().position(|stage| stage.info.id == id);
        place(stage).is_some_and(|stage| place(self.closing).is_some_and(|closing| stage >= closing))
    }

    /// Whether all inputs of a step have ended and a choice has at least one candidate. An input has ended if the
    /// record or `is_over` says so. If `is_over` does not know (`None`) and the debate is closing, inputs from stages
    /// before the closing one are treated as ended.
    pub fn can_start(&self, step: &Step, debate: &Debate, is_over: impl Fn(&CallKey) -> Option<bool>) -> bool {
        let is_closing = debate.current_stage.is_some_and(|stage| self.is_closing(stage));
        let place = |id: StageId| self.stages.iter().position(|stage| stage.info.id == id);
        let before = place(self.closing).and_then(|closing| self.stages.get(..closing)).unwrap_or_default();
        let last_before = before.iter().rposition(|stage| stage.info.is_transition_target);
        let is_behind = |input: &CallKey| is_closing && place(input.stage) <= last_before;
        let has_ended = |input| debate.settled(input).is_some() || is_over(input).unwrap_or_else(|| is_behind(input));
        let is_chosen_from =
            matches!(step.shows, PromptContext::Candidates { .. } | PromptContext::CandidatesReversed { .. });
        step.inputs.iter().all(has_ended)
            && (!is_chosen_from || step.inputs.iter().any(|input| debate.contribution(input).is_some()))
    }

    pub fn infos(&self) -> Arc<[StageInfo]> {
        self.stages.iter().map(|stage| stage.info.clone()).collect()
    }

    /// Where the debate goes after `stage` ends with `trigger`.
    ///
    /// # Errors
    ///
    /// Returns an error if the table has no row for this trigger.
    pub fn next(&self, stage: StageId, trigger: Trigger) -> Result<Next, NoTransition> {
        let missing = || NoTransition { protocol: self.name, stage, trigger };
        let rows = self.stage(stage).map(|stage| stage.rows).filter(|rows| !rows.is_empty()).ok_or_else(missing)?;
        Ok(match trigger {
            Trigger::RETRY => Next::Go(stage),
            Trigger::FALLBACK => rows[0].1,
            Trigger::FAILED => Next::Fail,
            Trigger::PAUSE => Next::Pause,
            Trigger::STOP => Next::Go(self.closing),
            other => rows.iter().find(|row| row.0 == other).map(|row| row.1).ok_or_else(missing)?,
        })
    }

    /// The stages whose calls may start while `stage` is current: `stage` and its regular successors in the same round.
    pub fn within_reach(&self, stage: StageId) -> Vec<&Stage> {
        let mut reach: Vec<&Stage> = Vec::new();
        let mut next = self.stage(stage);
        while let Some(stage) = next {
            if reach.iter().any(|known| known.info.id == stage.info.id) {
                break;
            }
            reach.push(stage);
            next = match stage.rows.first() {
                Some(Row(_, Next::Go(id))) if stage.info.in_round => self.stage(*id).filter(|next| next.info.in_round),
                Some(Row(_, Next::Go(_) | Next::Begin(_) | Next::Suspend | Next::Done | Next::Fail | Next::Pause))
                | None => None,
            };
        }
        reach
    }
}

/// Completes a state that the TypeScript version saved: adds the protocol's stages if they are missing, and marks
/// carried-over proposals.
pub fn upgrade_state(debate: &mut Debate) {
    if debate.stages.is_empty() {
        let protocol = debate.settings.as_ref().and_then(|settings| Protocol::named(&settings.debate.protocol));
        debate.stages = protocol.unwrap_or(&DIALECTIC).infos();
    }
    if debate.format_version.is_none_or(|version| version < FORMAT_VERSION) {
        debate.mark_carried_over();
    }
}

/// The [`Stage::facts`] of a stage whose events all come from calls.
pub fn nothing(_: &Debate) -> Vec<Event> {
    Vec::new()
}

pub fn no_steps(_: &Debate) -> Vec<Step> {
    Vec::new()
}

const PROPOSAL: StageId = StageId::new("proposal");
const CRITIQUE: StageId = StageId::new("critique");
const SYNTHESIS: StageId = StageId::new("synthesis");
const PROPOSALS_COMPLETE: Trigger = Trigger("PROPOSALS_COMPLETE");
const CRITIQUES_COMPLETE: Trigger = Trigger("CRITIQUES_COMPLETE");

/// The minimum number of proposals, unless fewer agents take part.
const FEWEST_PROPOSALS: usize = 2;

const fn proposal_info() -> StageInfo {
    let words = ["proposal", "proposals", "proposing", "proposes", "proposed", "propose"];
    StageInfo::new(PROPOSAL, words).yielding(ResultKind::Proposal).in_round().essential()
}

const fn critique_info() -> StageInfo {
    let words = ["critique", "critiques", "critiquing", "critiques", "critiqued", "critique"];
    StageInfo::new(CRITIQUE, words).yielding(ResultKind::Critique).in_round().essential()
}

const fn refinement_info() -> StageInfo {
    let words = ["refinement", "refinements", "refining", "refines", "refined", "refine"];
    StageInfo::new(StageId::new("refinement"), words).yielding(ResultKind::Proposal).in_round().essential()
}

const fn synthesis_info() -> StageInfo {
    let words = ["synthesis", "syntheses", "synthesizing", "synthesizes", "synthesized", "synthesize"];
    StageInfo::new(SYNTHESIS, words).yielding(ResultKind::Solution).essential()
}

/// Ends the proposal stage, or returns an error if there are too few proposals. `kind` names the debate with an
/// article, for the error message.
fn enough_proposals(debate: &Debate, kind: &str) -> Result<Trigger, String> {
    let team = debate.team();
    let needed = FEWEST_PROPOSALS.min(team.len());
    let is_there = |agent: &&&AgentSettings| debate.settled(&key(debate, PROPOSAL, agent)) == Some(CallStatus::Done);
    let there = team.iter().filter(is_there).count();
    if there < needed {
        let round = debate.current_round;
        return Err(format!("round {round} has only {there} of the {needed} proposals that {kind} needs"));
    }
    Ok(complete_or_fallback(debate, PROPOSAL, PROPOSALS_COMPLETE))
}

/// Checks that at least two agents take part, since proposals must compete.
fn enough_agents(settings: &Settings, who: &str) -> Result<(), Unfit> {
    let agents = settings.agents.len();
    if agents >= FEWEST_PROPOSALS {
        return Ok(());
    }
    let problem = format!("{who} needs at least {FEWEST_PROPOSALS} agents, but only {agents} takes part");
    Err(Unfit::new(problem, "enable more agents in the configuration").about("agents"))
}

fn has_timed_out(debate: &Debate) -> bool {
    debate.round(debate.current_round).is_some_and(|round| round.timed_out)
}

/// Declares a kind of call that another stage makes. It has no transitions.
pub const fn kind_of_call(info: StageInfo) -> Stage {
    Stage {
        info: info.kind_of_call(),
        facts: nothing,
        steps: no_steps,
        outcome: |_| Err("a kind of call cannot end a debate".to_owned()),
        rows: &[],
    }
}

pub fn complete_or_fallback(debate: &Debate, stage: StageId, trigger: Trigger) -> Trigger {
    let round = debate.current_round;
    let failed =
        |key: &CallKey, settled: CallStatus| key.round == round && key.stage == stage && settled == CallStatus::Failed;
    if debate.settled.iter().any(|(key, settled)| failed(key, *settled)) { Trigger::FALLBACK } else { trigger }
}

pub fn key(debate: &Debate, stage: StageId, agent: &AgentSettings) -> CallKey {
    CallKey::new(debate.current_round, stage, &agent.id)
}

pub fn keys(debate: &Debate, round: u32, stage: StageId) -> Vec<CallKey> {
    debate.agents().iter().map(|agent| CallKey::new(round, stage, &agent.id)).collect()
}

pub fn is_last_round(debate: &Debate) -> bool {
    debate.settings.as_ref().is_none_or(|settings| debate.current_round >= settings.debate.rounds)
}

pub fn with_failure(debate: &Debate, stage: StageId, problem: &str) -> String {
    let failed = debate.failures.iter().rev().find(|failure| failure.key.stage == stage);
    failed.map_or_else(|| problem.to_owned(), |failure| format!("{problem}: {}", failure.error))
}
