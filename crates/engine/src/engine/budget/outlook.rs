//! The remaining calls of a debate: of its rounds, its closing and its check, with short and with long answers.

use crate::agent::{Panel, SharedPrompt};
use crate::engine::rehearsal::{Rehearsal, RehearsedCall, SampleAnswers};
use crate::engine::{EngineError, check_before_closing};
use dialectic_record::debate::{AgentSettings, Debate, Event, StopReason};
use dialectic_record::protocol::{BudgetClass, Protocol};

use super::Budget;
use super::limits::{AnswerLength, Planned};

/// The maximum bytes of a token in an answer.
const BYTES_PER_TOKEN: usize = 5;
/// The maximum number of rehearsed rounds; further ones cost as much as the last of these. Protocols with growing
/// prompts have no more rounds; others have bounded histories.
const MOST_ROUNDS: u32 = 10;

/// The remaining calls of a debate.
#[derive(Debug, Default)]
pub(super) struct CostPlan {
    pub(super) rounds: Vec<Vec<RehearsedCall>>,
    /// The number of further rounds.
    pub(super) further: u32,
    /// Whether more rounds follow.
    pub(super) goes_on: bool,
    /// Calls before and after the rounds.
    pub(super) around: Vec<RehearsedCall>,
    /// The calls that produce an answer without a check, even if the debate closes early.
    pub(super) closing: Vec<RehearsedCall>,
    /// The same calls with a check, whose results they may read.
    pub(super) closing_checked: Vec<RehearsedCall>,
    /// Further decisions of a debate that does not close early.
    pub(super) decisions: Vec<RehearsedCall>,
    pub(super) check: Vec<RehearsedCall>,
}

impl CostPlan {
    /// The calls from the state of `debate` to the end of round `until`, and the closing; `tokens` returns each agent's
    /// answer length.
    pub(super) fn of(
        protocol: &'static Protocol,
        panel: &Panel,
        shared: &SharedPrompt,
        debate: &Debate,
        until: u32,
        tokens: &dyn Fn(&AgentSettings) -> u32,
    ) -> Result<Self, EngineError> {
        let bytes = |agent: &AgentSettings| tokens(agent) as usize * BYTES_PER_TOKEN;
        let answers = SampleAnswers { bytes: &bytes, demanding: true, extends: false, disputes: false };
        let mut rehearsal = Rehearsal::new(protocol, panel, shared, debate, answers);
        let first = debate.current_round.max(1);
        let last = until.min(first.saturating_add(MOST_ROUNDS - 1));
        let mut outlook = Self { further: until.saturating_sub(last), ..Self::default() };
        for call in rehearsal.rounds(last)? {
            match call.cost {
                // Some of these may run during the last round.
                BudgetClass::Closing => {
                    outlook.closing.push(call.clone());
                    outlook.closing_checked.push(call);
                }
                BudgetClass::Check => outlook.check.push(call),
                BudgetClass::Round | BudgetClass::Decision | BudgetClass::Extra if call.in_round => {
                    let place = call.key.round.saturating_sub(first) as usize;
                    if outlook.rounds.len() <= place {
                        outlook.rounds.resize_with(place + 1, Vec::new);
                    }
                    outlook.rounds[place].push(call);
                }
                BudgetClass::Extra | BudgetClass::Round | BudgetClass::Decision => outlook.around.push(call),
            }
        }
        outlook.goes_on = rehearsal.goes_on();
        let of = |calls: Vec<RehearsedCall>, class| calls.into_iter().filter(move |call| call.cost == class);
        let regular = rehearsal.closing([])?;
        outlook.decisions.extend(of(regular.clone(), BudgetClass::Decision));
        outlook.check.extend(of(regular, BudgetClass::Check));
        let stopping = || Event::Stopping { reason: StopReason::Budget };
        outlook.closing_checked.extend(of(rehearsal.closing([stopping()])?, BudgetClass::Closing));
        if check_before_closing(protocol).is_some() {
            outlook.closing.extend(of(rehearsal.closing([stopping(), Event::CheckForgone])?, BudgetClass::Closing));
        } else {
            outlook.closing = outlook.closing_checked.clone();
        }
        Ok(outlook)
    }

    pub(super) fn before_closing(&self) -> impl Iterator<Item = &RehearsedCall> {
        self.rounds.iter().flatten().chain(&self.around)
    }

    /// The necessary calls before the closing.
    pub(super) fn needed(&self) -> Vec<&RehearsedCall> {
        self.before_closing().filter(|call| call.cost != BudgetClass::Extra).collect()
    }

    /// The dispensable calls.
    pub(super) fn spare(&self) -> Vec<&RehearsedCall> {
        self.before_closing().filter(|call| call.cost == BudgetClass::Extra).collect()
    }
}

/// The same calls with answers of minimum and maximum length.
pub(super) struct CostRange {
    pub(super) least: CostPlan,
    pub(super) full: CostPlan,
}

impl CostRange {
    pub(super) fn of(
        protocol: &'static Protocol,
        panel: &Panel,
        budget: &Budget,
        shared: &SharedPrompt,
        debate: &Debate,
        until: u32,
    ) -> Result<Self, EngineError> {
        let at = |level| {
            let tokens = |agent: &AgentSettings| budget.payees.answer_of(&agent.id, level);
            CostPlan::of(protocol, panel, shared, debate, until, &tokens)
        };
        Ok(Self { least: at(AnswerLength::LEAST)?, full: at(AnswerLength::FULL)? })
    }

    /// Whether more rounds follow.
    pub(super) fn goes_on(&self) -> bool {
        self.least.goes_on || self.full.goes_on
    }

    pub(super) fn merged(&self, calls: impl Fn(&CostPlan) -> Vec<&RehearsedCall>) -> Vec<Planned> {
        Planned::merge(calls(&self.least), calls(&self.full))
    }

    /// The calls of the closing, with or without a check.
    pub(super) fn closing(&self, is_checked: bool) -> Vec<Planned> {
        self.merged(|view| if is_checked { &view.closing_checked } else { &view.closing }.iter().collect())
    }

    /// The calls of the check.
    pub(super) fn check(&self) -> Vec<Planned> {
        self.merged(|view| view.check.iter().collect())
    }

    /// The dispensable calls before the closing, as named by their stages.
    pub(super) fn dispensable(&self, debate: &Debate) -> Vec<String> {
        let spare = self.merged(CostPlan::spare);
        let stages = debate.stages.iter().filter(|stage| spare.iter().any(|call| call.key.stage == stage.id));
        stages.map(|stage| stage.words.plural.to_string()).collect()
    }

    /// The check, as named by its stages.
    pub(super) fn checking(&self, debate: &Debate) -> Vec<String> {
        let stages = debate.stages.iter().filter(|stage| self.full.check.iter().any(|call| call.key.stage == stage.id));
        stages.map(|stage| stage.words.plural.to_string()).collect()
    }
}
