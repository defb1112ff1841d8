//! A limit on what a debate may cost, kept attempt by attempt.
//!
//! Before an attempt is sent, what it could cost at most is set aside; when it comes back, what it did cost takes the
//! place of that. An attempt that does not fit waits until others have settled, and is refused when none is left to
//! wait for. What the debate's last call needs is kept free all along, so that a limit never buys a debate without an
//! answer. `docs/configuration.md` names the assumptions.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::debate::{Phase, Price, Settings, Tokens, Usd};

use super::{ModelError, Request, Turn, price_of};

/// The output limit, in tokens, of an agent without `maxTokens` in a debate with a cost limit: without one no attempt
/// has a highest price.
pub const ANSWER_LIMIT: u32 = 4096;
/// The output limit to which the closing call may be brought down so that it still fits, in tokens.
pub const SHORTEST_CLOSING: u32 = 256;
/// Tokens for each byte of a prompt, until a provider's own figures show more. Prose has about 0.25, code 0.35,
/// Chinese and Japanese 0.4.
const TOKENS_PER_BYTE: f64 = 0.5;
/// Tokens that a request has beyond its texts: roles, separators.
const FRAME_TOKENS: u64 = 64;

/// Why a cost limit cannot be kept.
#[derive(Debug, thiserror::Error)]
pub enum BudgetError {
    /// Models have no known price.
    #[error("the cost limit of {limit} cannot be kept: no price is known of {}", models.join(", "))]
    Unpriced {
        /// The limit.
        limit: Usd,
        /// The models.
        models: Vec<String>,
    },
    /// The limit buys no answer.
    #[error("the cost limit of {limit} buys no answer: the judge's call alone can cost {needed}")]
    TooLow {
        /// The limit.
        limit: Usd,
        /// The least that the closing call could cost.
        needed: Usd,
    },
}

/// What may be spent, and what has been.
#[derive(Debug)]
pub struct Budget {
    limit: Usd,
    /// Dollars for a million tokens that the closing call reads.
    closing_input: f64,
    ledger: Mutex<Ledger>,
    settled: Notify,
}

#[derive(Debug)]
struct Ledger {
    /// Paid, or possibly paid: an attempt that broke off may be on the bill all the same.
    spent: Usd,
    /// Set aside for attempts in flight.
    held: Usd,
    /// Kept for the closing.
    kept: Usd,
    /// What was counted as spent though nobody said so, and has not been put on record yet.
    assumed: Usd,
    tokens_per_byte: f64,
    longest_answer: u32,
}

/// What is set aside for an attempt. Dropped without being settled, as when a call is abandoned, it counts as spent.
#[derive(Debug)]
pub(super) struct Hold<'a> {
    budget: &'a Budget,
    bound: Usd,
    bytes: usize,
    grows_closing: bool,
    open: bool,
}

/// What an attempt came to.
pub(super) enum Bill<'a> {
    /// This, as the provider's figures say; and the text becomes part of what the closing call reads.
    Known { tokens: Option<Tokens>, cost: Usd, text: &'a str },
    /// Nobody said; it may be on the bill.
    Unknown { text: &'a str },
    /// Nothing: the request was not taken.
    Nothing,
}

impl Budget {
    /// A limit of which `spent` is gone already. `closing` is the price of the model that closes the debate.
    #[must_use]
    pub fn new(limit: Usd, spent: Usd, closing: Price) -> Self {
        let ledger = Ledger {
            spent,
            held: Usd::ZERO,
            kept: Usd::ZERO,
            assumed: Usd::ZERO,
            tokens_per_byte: TOKENS_PER_BYTE,
            longest_answer: 0,
        };
        Self {
            limit,
            closing_input: closing.at(u64::MAX).input_per_m_tok,
            ledger: Mutex::new(ledger),
            settled: Notify::new(),
        }
    }

    /// The limit in the settings, if there is one, of which `spent` is gone already.
    ///
    /// # Errors
    /// When the price of a model in use is not known.
    pub fn of(settings: &Settings, spent: Usd) -> Result<Option<Self>, BudgetError> {
        let Some(limit) = settings.debate.budget.max_cost_usd else { return Ok(None) };
        let everybody = settings.agents.iter().chain([&settings.judge]);
        let unpriced = everybody.filter(|agent| price_of(agent, settings).is_none());
        let models: BTreeSet<String> = unpriced.map(|agent| agent.model.clone()).collect();
        match price_of(&settings.judge, settings) {
            Some(closing) if models.is_empty() => Ok(Some(Self::new(limit, spent, closing))),
            _ => Err(BudgetError::Unpriced { limit, models: models.into_iter().collect() }),
        }
    }

    /// The limit.
    #[must_use]
    pub fn limit(&self) -> Usd {
        self.limit
    }

    /// What is neither spent nor set aside for attempts in flight; part of it may be kept for the closing.
    #[must_use]
    pub fn left(&self) -> Usd {
        let ledger = self.ledger();
        self.limit.saturating_sub(ledger.spent + ledger.held)
    }

    /// What is set aside for attempts in flight.
    #[must_use]
    pub fn held(&self) -> Usd {
        self.ledger().held
    }

    /// What was counted as spent since this was last asked though nobody said so: attempts that broke off, were
    /// abandoned, or came back without figures. It is in no call's cost.
    #[must_use]
    pub fn take_assumed(&self) -> Usd {
        std::mem::take(&mut self.ledger().assumed)
    }

    /// What is kept for the closing.
    #[must_use]
    pub fn kept(&self) -> Usd {
        self.ledger().kept
    }

    /// What a request could cost at most. `answer` is its output limit in tokens.
    #[must_use]
    pub fn bound(&self, bytes: usize, answer: u32, price: Price) -> Usd {
        self.ledger().bound(bytes, answer, price)
    }

    /// Keeps `amount` for the calls that close the debate; it takes the place of what was kept before.
    pub fn keep(&self, amount: Usd) {
        self.ledger().kept = amount;
        self.settled.notify_waiters();
    }

    /// Sets aside what an attempt could cost, and gives the request an output limit if it has none.
    ///
    /// # Errors
    /// When it does not fit and nothing is in flight that could make room.
    pub(super) async fn hold(&self, request: &mut Request, price: Price) -> Result<Hold<'_>, ModelError> {
        let bytes = request_bytes(request);
        let answer = *request.max_tokens.get_or_insert(ANSWER_LIMIT);
        let grows_closing = matches!(request.brief.key.phase, Phase::Proposal | Phase::Refinement);
        loop {
            let settled = self.settled.notified();
            {
                let mut ledger = self.ledger();
                let growth = if grows_closing { self.read_by_closing(u64::from(answer)) } else { Usd::ZERO };
                let mut bound = ledger.bound(bytes, answer, price) + growth;
                let room = self.limit.saturating_sub(ledger.spent + ledger.held + ledger.kept);
                if bound > room && ledger.held == Usd::ZERO && request.brief.key.phase == Phase::Synthesis {
                    let input = ledger.bound(bytes, 0, price);
                    if let Some(shorter) =
                        affordable(room.saturating_sub(input), price.at(ledger.tokens_of(bytes) + FRAME_TOKENS))
                            .filter(|_| input <= room)
                    {
                        request.max_tokens = Some(shorter.min(answer));
                        bound = room;
                    }
                }
                if bound <= room {
                    ledger.held += bound;
                    return Ok(Hold { budget: self, bound, bytes, grows_closing, open: true });
                }
                if ledger.held == Usd::ZERO {
                    return Err(ModelError::OverBudget { limit: self.limit });
                }
            }
            settled.await;
        }
    }

    /// What it costs the closing call to read that many tokens more.
    fn read_by_closing(&self, tokens: u64) -> Usd {
        Usd::for_tokens(tokens, self.closing_input)
    }

    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        // Nothing panics while it is held; the figures would be right even so.
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Ledger {
    fn bound(&self, bytes: usize, answer: u32, price: Price) -> Usd {
        let output = if answer == 0 { 0 } else { answer.max(self.longest_answer) };
        price.cost(Tokens {
            input_tokens: self.tokens_of(bytes) + FRAME_TOKENS,
            cached_input_tokens: 0,
            output_tokens: u64::from(output),
        })
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        clippy::cast_sign_loss,
        reason = "a prompt is far below 2^53 bytes, and a ratio of counts is not negative"
    )]
    fn tokens_of(&self, bytes: usize) -> u64 {
        (bytes as f64 * self.tokens_per_byte).ceil() as u64
    }

    /// Takes a provider's figures as the measure where they are higher than what was assumed.
    #[expect(clippy::cast_precision_loss, reason = "token and byte counts are far below 2^53")]
    fn learn(&mut self, bytes: usize, tokens: Tokens) {
        let input = tokens.input_tokens.saturating_sub(FRAME_TOKENS);
        self.tokens_per_byte = self.tokens_per_byte.max(input as f64 / bytes.max(1) as f64);
        self.longest_answer = self.longest_answer.max(u32::try_from(tokens.output_tokens).unwrap_or(u32::MAX));
    }
}

impl Hold<'_> {
    /// Puts what the attempt came to in the place of what was set aside.
    pub(super) fn settle(mut self, bill: &Bill<'_>) {
        let (cost, text) = match bill {
            Bill::Known { tokens, cost, text } => {
                if let Some(tokens) = tokens {
                    self.budget.ledger().learn(self.bytes, *tokens);
                }
                (*cost, *text)
            }
            Bill::Unknown { text } => {
                self.budget.ledger().assumed += self.bound;
                (self.bound, *text)
            }
            Bill::Nothing => (Usd::ZERO, ""),
        };
        let growth = {
            let tokens = self.budget.ledger().tokens_of(text.len());
            if self.grows_closing { self.budget.read_by_closing(tokens) } else { Usd::ZERO }
        };
        self.close(cost, growth);
    }

    fn close(&mut self, spent: Usd, growth: Usd) {
        let mut ledger = self.budget.ledger();
        ledger.held = ledger.held.saturating_sub(self.bound);
        ledger.spent += spent;
        ledger.kept += growth;
        drop(ledger);
        self.open = false;
        self.budget.settled.notify_waiters();
    }
}

impl Drop for Hold<'_> {
    fn drop(&mut self) {
        if self.open {
            let bound = self.bound;
            self.budget.ledger().assumed += bound;
            self.close(bound, Usd::ZERO);
        }
    }
}

/// How long an answer may be for `amount`, in tokens; nothing when too short to be of use.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a float cast saturates, which is right")]
fn affordable(amount: Usd, price: Price) -> Option<u32> {
    let tokens = (amount.dollars() * 1e6 / price.output_per_m_tok).floor() as u32;
    (tokens >= SHORTEST_CLOSING).then_some(tokens)
}

/// The bytes of everything that a request sends to be read.
#[must_use]
pub fn request_bytes(request: &Request) -> usize {
    let turns = request.turns.iter().map(|turn| match turn {
        Turn::Assistant { text, calls } => {
            text.len() + calls.iter().map(|call| call.name.len() + call.arguments.len()).sum::<usize>()
        }
        Turn::ToolResults(results) => results.iter().map(|result| result.content.len()).sum(),
        Turn::User(text) => text.len(),
    });
    let tools =
        request.tools.iter().map(|tool| tool.name.len() + tool.description.len() + tool.parameters.to_string().len());
    let schema = request.answer.map_or(0, |answer| (answer.schema)().to_string().len());
    request.system.len() + request.prompt.len() + turns.sum::<usize>() + tools.sum::<usize>() + schema
}
