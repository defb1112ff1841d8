//! What the cost limit means for a debate: what is kept for the closing, whether another round fits, when to stop.
//!
//! The limit itself is kept call by call in [`Budget`]. Here it is looked at from above, so that a round is not begun
//! that would have to be broken off.

use std::sync::Arc;

use crate::agent::{Debater, Ground, Judge, Panel, SynthesisMaterial};
use crate::debate::{
    Contribution, ContributionType, Debate, Event, Price, Recorded, Signal, StopReason, SynthesisMethod,
    TerminationKind, Tokens, Usd,
};
use crate::llm::{ANSWER_LIMIT, Budget, Caller, Request, SHORTEST_CLOSING, request_bytes};
use crate::store::StoreError;

use super::{Engine, EngineError};

/// Bytes for each character of a text that is yet to be written, as far as its limit is in characters.
const BYTES_PER_CHAR: usize = 2;
/// Tokens for each byte, as prose has them: for what a round is likely to cost, not for what it could cost at most.
const LIKELY_TOKENS_PER_BYTE: f64 = 0.28;
/// How long an answer is likely to be, in tokens, where none of its kind is there yet.
const LIKELY_ANSWER: u64 = 1000;
/// Bytes of a token of prose.
const BYTES_PER_TOKEN: u64 = 4;

impl Engine {
    /// Has the debate close now, and says so. Saying it once is enough.
    pub(super) fn stop_for_budget(&mut self) -> Result<(), EngineError> {
        if self.is_stopping() {
            return Ok(());
        }
        let limit = self.budget().map(|budget| budget.limit()).unwrap_or_default();
        self.warn(format!("the cost limit of {limit} has no room for more: the debate closes with what is there"));
        self.append(Event::Stopping { reason: StopReason::Budget })?;
        Ok(())
    }

    /// Whether the debate was told to close.
    pub(super) fn is_stopping(&self) -> bool {
        self.debate().stop_reason.is_some()
    }

    pub(super) fn budget(&self) -> Option<Arc<Budget>> {
        self.panel.judge.caller.limits.budget.clone()
    }

    /// Keeps free what closing the debate from here could cost.
    pub(super) fn keep_for_closing(&mut self) -> Result<(), EngineError> {
        if let Some(budget) = self.budget() {
            let ground = self.ground()?;
            budget.keep(closing_bound(&budget, &self.panel.judge, &ground, self.debate())?);
        }
        Ok(())
    }

    /// Keeps free what the synthesis from a summary could cost, while the summary is made.
    pub(super) fn keep_for_synthesis(&mut self) -> Result<(), EngineError> {
        if let Some(budget) = self.budget() {
            let ground = self.ground()?;
            budget.keep(Closing::of(&self.panel.judge, &ground, self.debate())?.after_summary(&budget));
        }
        Ok(())
    }

    /// Nothing comes after the call that is made next.
    pub(super) fn keep_nothing(&self) {
        if let Some(budget) = self.budget() {
            budget.keep(Usd::ZERO);
        }
    }

    /// Whether another round and the closing behind it are likely to fit under the cost limit.
    pub(super) fn is_round_affordable(&mut self) -> Result<bool, EngineError> {
        let Some(budget) = self.budget() else { return Ok(true) };
        self.keep_for_closing()?;
        let ground = self.ground()?;
        let round = self.debate().current_round + 1;
        let likely = likely_cost(&self.panel, &ground, self.debate(), round)?;
        Ok(likely + budget.kept() <= budget.left())
    }

    /// Whether a closing call fits under the cost limit when nothing else is kept free.
    pub(super) fn is_affordable(&self, request: &Request, caller: &Caller) -> bool {
        let answer = request.max_tokens.unwrap_or(ANSWER_LIMIT);
        self.budget().is_none_or(|budget| {
            budget.bound(request_bytes(request), answer, price(caller.price.as_ref())) <= budget.left()
        })
    }

    /// Puts on record what was counted as spent though nobody said so: the limit holds across runs.
    pub(super) fn record_assumed_cost(&mut self) -> Result<(), StoreError> {
        let assumed = self.budget().map(|budget| budget.take_assumed()).unwrap_or_default();
        self.append_assumed(assumed)
    }

    /// The same, with what is in flight and about to be abandoned.
    pub(super) fn record_abandoned_cost(&mut self) -> Result<(), StoreError> {
        let assumed = self.budget().map(|budget| budget.take_assumed() + budget.held()).unwrap_or_default();
        self.append_assumed(assumed)
    }

    fn append_assumed(&mut self, usd: Usd) -> Result<(), StoreError> {
        if usd > Usd::ZERO {
            let recorded = self.record.append(Event::CostAssumed { usd })?;
            self.signal(Signal::Recorded(recorded));
        }
        Ok(())
    }

    /// Says once that the cost has reached `warnCostUsd`.
    pub(super) fn watch_cost(&mut self) {
        let settings = self.debate().settings.as_ref();
        let Some(at) = settings.and_then(|settings| settings.debate.budget.warn_cost_usd) else { return };
        if self.known_cost >= at && !self.cost_warned {
            self.cost_warned = true;
            let spent = self.known_cost;
            self.warn(format!("this debate has cost {spent}, which reaches the warning limit of {at}"));
        }
    }
}

/// The cost of a debate's calls as far as it is known. Calls that a fork took over are its parent's.
#[must_use]
pub fn known_cost(events: &[Recorded]) -> Usd {
    events.iter().filter_map(|recorded| cost_of(&recorded.event)).sum()
}

/// What a debate has spent of its cost limit: what its calls are known to have cost, and what had to be assumed.
#[must_use]
pub fn spent_of_limit(events: &[Recorded]) -> Usd {
    let assumed = events.iter().filter_map(|recorded| match &recorded.event {
        Event::CostAssumed { usd } => Some(*usd),
        _ => None,
    });
    known_cost(events) + assumed.sum()
}

/// What the call of an event cost, where it is known and the debate's own.
pub(super) fn cost_of(event: &Event) -> Option<Usd> {
    event.call().filter(|call| !call.copied).and_then(|call| call.cost_usd)
}

/// The least that an answer of the judge to `debate` as it stands could cost: below it a cost limit buys nothing.
///
/// # Errors
/// A defect of a template.
pub fn least_closing_cost(budget: &Budget, judge: &Judge, debate: &Debate) -> Result<Usd, EngineError> {
    let ground = Ground::of(debate)?;
    let request = judge.synthesize(&ground, debate, SynthesisMaterial::Texts)?;
    Ok(budget.bound(request_bytes(&request), SHORTEST_CLOSING, price(judge.caller.price.as_ref())))
}

/// A panel's models all have a price where there is a cost limit; that is checked before it is built.
fn price(known: Option<&Price>) -> Price {
    known.copied().unwrap_or(Price::flat(0.0, None, 0.0))
}

/// What closing a debate from here could cost at most.
fn closing_bound(budget: &Budget, judge: &Judge, ground: &Ground, debate: &Debate) -> Result<Usd, EngineError> {
    let closing = Closing::of(judge, ground, debate)?;
    let in_full = closing.in_full(budget);
    Ok(if judge.settings.summarization.enabled {
        in_full.max(closing.summary(budget) + closing.after_summary(budget))
    } else {
        in_full
    })
}

/// The calls that close a debate, as far as they can be foreseen.
struct Closing<'a> {
    judge: &'a Judge,
    /// Bytes of the synthesis's prompt without its material.
    synthesis: usize,
    /// Bytes of the summary's prompt without its material.
    summary: usize,
    /// Bytes of the last round's texts.
    texts: usize,
    /// Output limit of each call, in tokens.
    answer: u32,
}

impl<'a> Closing<'a> {
    fn of(judge: &'a Judge, ground: &Ground, debate: &Debate) -> Result<Self, EngineError> {
        let with_texts = request_bytes(&judge.synthesize(ground, debate, SynthesisMaterial::Texts)?);
        let to_condense = request_bytes(&judge.summarize(ground, debate)?.request);
        let solutions = [ContributionType::Proposal, ContributionType::Refinement];
        let last = debate.final_round().into_iter().flat_map(|round| &round.contributions);
        let texts = last.filter(|one| solutions.contains(&one.kind)).map(|one| one.content.len()).sum();
        Ok(Self {
            judge,
            synthesis: with_texts.saturating_sub(texts),
            summary: to_condense.saturating_sub(texts),
            texts,
            answer: judge.settings.max_tokens.unwrap_or(ANSWER_LIMIT),
        })
    }

    fn bound(&self, budget: &Budget, bytes: usize) -> Usd {
        budget.bound(bytes, self.answer, price(self.judge.caller.price.as_ref()))
    }

    /// The synthesis from the texts themselves: they are below the judge's summary threshold then.
    fn in_full(&self, budget: &Budget) -> Usd {
        let settings = &self.judge.settings.summarization;
        let most = if settings.enabled { settings.threshold * BYTES_PER_CHAR } else { self.texts };
        self.bound(budget, self.synthesis + most)
    }

    /// The judge's summary of the texts.
    fn summary(&self, budget: &Budget) -> Usd {
        self.bound(budget, self.summary + self.texts)
    }

    /// The synthesis from that summary.
    fn after_summary(&self, budget: &Budget) -> Usd {
        self.bound(budget, self.synthesis + self.judge.settings.summarization.max_length * BYTES_PER_CHAR)
    }
}

/// What a round is likely to cost, going by the answers so far.
fn likely_cost(panel: &Panel, ground: &Ground, debate: &Debate, round: u32) -> Result<Usd, EngineError> {
    let lengths = Lengths::of(debate);
    let agents = panel.debaters.len() as u64;
    let others = agents.saturating_sub(1);
    let mut sum = Usd::ZERO;
    for debater in &panel.debaters {
        let shown = likely_tokens(request_bytes(&debater.propose(ground, debate, round)?));
        let before = debate.round(round - 1);
        let carried = before.and_then(|before| before.find(ContributionType::Refinement, debater.id(), None));
        if carried.is_none() {
            sum += call(debater, shown, lengths.proposal);
        }
        if let Some((request, _)) = debater.summarize(ground, debate, round)? {
            sum += call(debater, likely_tokens(request_bytes(&request)), lengths.proposal);
        }
        for _ in 0..others {
            sum += call(debater, shown + lengths.refinement, lengths.critique);
        }
        sum += call(debater, shown + lengths.refinement + others * lengths.critique, lengths.refinement);
    }
    let settings = debate.settings.as_ref();
    let judge = price(panel.judge.caller.price.as_ref());
    let read = |texts: u64| judge.cost(Tokens { input_tokens: texts, cached_input_tokens: 0, output_tokens: 0 });
    if settings.is_some_and(|settings| settings.debate.termination_condition.kind != TerminationKind::Fixed) {
        sum += read(agents * lengths.refinement) + read(LIKELY_ANSWER);
    }
    // What the round adds to the closing: its texts are read there, by the judge or by every voter.
    sum += read(agents * lengths.refinement);
    if settings.is_some_and(|settings| settings.debate.synthesis_method == SynthesisMethod::Voting) {
        for debater in &panel.debaters {
            sum += call(debater, agents * lengths.refinement, LIKELY_ANSWER / 4);
        }
    }
    Ok(sum)
}

fn call(debater: &Debater, input_tokens: u64, output_tokens: u64) -> Usd {
    price(debater.caller.price.as_ref()).cost(Tokens { input_tokens, cached_input_tokens: 0, output_tokens })
}

/// How long texts of each kind are, in tokens: the longest so far.
struct Lengths {
    proposal: u64,
    critique: u64,
    refinement: u64,
}

impl Lengths {
    fn of(debate: &Debate) -> Self {
        let longest = |kind: ContributionType| {
            let all = debate.rounds.iter().flat_map(|round| &round.contributions).filter(|one| one.kind == kind);
            let tokens = |one: &Arc<Contribution>| {
                one.metadata.output_tokens.unwrap_or(one.content.len() as u64 / BYTES_PER_TOKEN)
            };
            all.map(tokens).max()
        };
        let proposal = longest(ContributionType::Proposal).unwrap_or(LIKELY_ANSWER);
        Self {
            proposal,
            critique: longest(ContributionType::Critique).unwrap_or(proposal),
            refinement: longest(ContributionType::Refinement).unwrap_or(proposal),
        }
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "a prompt is far below 2^53 bytes"
)]
fn likely_tokens(bytes: usize) -> u64 {
    (bytes as f64 * LIKELY_TOKENS_PER_BYTE) as u64
}
