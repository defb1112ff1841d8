//! The arms: other ways to spend a debate's money.

use clap::ValueEnum;
use dialectic_base::call::Tokens;
use dialectic_base::money::{Price, Usd};
use dialectic_base::provider::OFFLINE;
use dialectic_engine::agent::price_of;
use dialectic_engine::engine::first_answer_most;
use dialectic_record::debate::defaults::agent_of;
use dialectic_record::debate::{AgentId, AgentSettings, BudgetSettings, DebateSettings, ResultKind, Settings};
use dialectic_record::protocol::{BEST_OF_N, Protocol, SELF_REFINE, SINGLE};
use serde::{Deserialize, Serialize};

use super::{Bill, Meter};

/// The number of draws if no price determines how many the money buys.
const DRAWS: u32 = 3;
/// The maximum number of draws: the judge has to read all of them.
const MOST_DRAWS: u32 = 64;
/// The bytes that an answer may read besides the problem: prompts, a draft and its critique.
const READ: usize = 32 * 1024;
/// The tokens of the judge's choice, in addition to its input.
const CHOICE_TOKENS: u64 = 600;

/// An alternative to a debate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Arm {
    /// One agent answers, criticises its answer and rewrites it, for the debate's money
    SelfRefine,
    /// As many answers as the debate's money buys; the judge chooses one
    BestOfN,
    /// One agent answers once; it costs less than the debate
    Single,
}

impl Arm {
    /// The protocol.
    pub fn protocol(self) -> &'static Protocol {
        match self {
            Self::SelfRefine => &SELF_REFINE,
            Self::BestOfN => &BEST_OF_N,
            Self::Single => &SINGLE,
        }
    }

    /// Whether the arm spends as much as the debate cost.
    pub fn is_equal(self) -> bool {
        match self {
            Self::SelfRefine | Self::BestOfN => true,
            Self::Single => false,
        }
    }

    /// The arms to run for these, without repeats: first a single answer, which shows how many answers the money buys.
    pub fn runs(wanted: &[Self]) -> Vec<Self> {
        let mut runs = Vec::new();
        for arm in wanted.first().map(|_| &Self::Single).into_iter().chain(wanted) {
            if !runs.contains(arm) {
                runs.push(*arm);
            }
        }
        runs
    }
}

/// The arms of a debate.
#[derive(Debug, Clone, Copy)]
pub struct Arms<'a> {
    /// The debate's settings.
    pub debate: &'a Settings,
    /// The agent that answers in the arms, and judges.
    pub model: &'a AgentSettings,
}

/// What an arm may spend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Allowance {
    /// No model is called.
    Rehearsal,
    /// The debate's cost.
    Money(Usd),
    /// The debate's cost is unknown.
    Unknown,
}

/// Why an arm is left out. The same records give the same reason everywhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum LeftOut {
    /// Nothing can be limited to an unknown cost.
    #[error("the debate's cost is unknown")]
    UnknownCost,
    /// A single answer is too dear.
    #[error("the debate's cost does not cover it")]
    TooDear,
}

impl Allowance {
    /// What the arms of a debate with this bill may spend.
    pub fn of(debate: &Bill, is_rehearsal: bool) -> Self {
        match debate.full().filter(|money| *money > Usd::ZERO) {
            Some(money) => Self::Money(money),
            None if is_rehearsal => Self::Rehearsal,
            None => Self::Unknown,
        }
    }

    /// The debate's cost.
    pub fn money(self) -> Option<Usd> {
        match self {
            Self::Money(money) => Some(money),
            Self::Rehearsal | Self::Unknown => None,
        }
    }
}

impl Arms<'_> {
    /// The arms' price.
    fn price(&self) -> Option<Price> {
        price_of(self.model, self.debate)
    }

    /// The settings of one answer.
    pub fn single(&self) -> Settings {
        self.settings(1, 1)
    }

    /// The settings of an arm that may spend `allowance`, and the meter that ends it; `single`, the bill of one answer,
    /// determines how much the money buys.
    ///
    /// # Errors
    /// It is left out.
    pub fn equal(&self, arm: Arm, allowance: Allowance, single: &Bill) -> Result<(Settings, Option<Meter>), LeftOut> {
        let money = match (arm, allowance) {
            (Arm::Single, _) => return Ok((self.single(), None)),
            (_, Allowance::Unknown) => return Err(LeftOut::UnknownCost),
            (Arm::SelfRefine, Allowance::Rehearsal) => return Ok((self.settings(1, self.debate.debate.rounds), None)),
            (Arm::BestOfN, Allowance::Rehearsal) => return Ok((self.settings(DRAWS, 1), None)),
            (Arm::SelfRefine | Arm::BestOfN, Allowance::Money(money)) => money,
        };
        // An arm without a price, or whose single answer has no known cost, cannot be limited.
        let draw = single.full().filter(|draw| *draw > Usd::ZERO);
        let (price, draw) = self.price().zip(draw).ok_or(LeftOut::UnknownCost)?;
        let (agents, rounds, least) = match arm {
            Arm::Single => (1, 1, draw),
            // A text, its critique and another text.
            Arm::SelfRefine => (1, DebateSettings::MOST_ROUNDS, draw.times(3.0)),
            Arm::BestOfN => {
                let [input, output] = single.tokens();
                // The meter ends the arm. Other draws may be cheaper than the known one.
                let draws = within(money, draw, MOST_DRAWS / 2) * 2;
                (draws, 1, draw.times(2.0) + choice(price, input, output, 2))
            }
        };
        if least > money {
            return Err(LeftOut::TooDear);
        }
        let mut settings = self.settings(agents, rounds);
        // The cost of a draw is known before the next but one begins. The engine starts no more of a stage than this;
        // `maxConcurrency` would start all of them, and have them wait.
        let texts = arm.protocol().stages.iter().filter(|stage| stage.info.yields == Some(ResultKind::Proposal));
        settings.debate.arena.max_concurrency = texts.map(|stage| (stage.info.id.to_string(), 1)).collect();
        Ok((settings, Some(Meter::of(arm, money, price))))
    }

    /// The maximum cost of an arm: twice its money, since a choice among long texts is priced before its length in tokens
    /// is known, and three of the longest answers, since what is being written when the money is spent is finished, and
    /// a call that is lost with its worker counts in full. A problem has so many `bytes`. `None` if unknown.
    pub fn limit(&self, arm: Arm, allowance: Allowance, bytes: usize) -> Option<Usd> {
        if allowance == Allowance::Rehearsal {
            return Some(Usd::ZERO);
        }
        let answers = first_answer_most(self.model, self.debate, bytes + READ)?.times(3.0);
        match arm {
            Arm::Single => Some(answers),
            Arm::SelfRefine | Arm::BestOfN => allowance.money().map(|money| money.times(2.0) + answers),
        }
    }

    /// The first model whose price does not measure what it costs, and that price. Offline models have none.
    pub fn unpriced(&self) -> Option<(&str, &'static str)> {
        let mut all = self.debate.everybody().chain([self.model]).filter(|agent| agent.provider != OFFLINE);
        all.find_map(|agent| {
            let fault = match price_of(agent, self.debate) {
                None => "unknown",
                Some(price) if price.input_per_m_tok <= 0.0 && price.output_per_m_tok <= 0.0 => "0",
                Some(_) => return None,
            };
            Some((agent.model.as_str(), fault))
        })
    }

    /// The arms' settings: the given number of agents, and the judge, all with the arms' model.
    fn settings(&self, agents: u32, rounds: u32) -> Settings {
        let mut settings = self.debate.clone();
        let AgentSettings { model, provider, max_tokens, .. } = self.model.clone();
        let mut tools = Vec::new();
        for tool in self.debate.agents.iter().flat_map(|agent| &agent.tools) {
            if !tools.contains(tool) {
                tools.push(tool.clone());
            }
        }
        let author = AgentSettings { model, provider, max_tokens, tools, ..agent_of("generalist") };
        settings.agents = match agents {
            1 => vec![author],
            several => (1..=several)
                .map(|number| AgentSettings {
                    id: AgentId::new(format!("draw-{number}")),
                    name: format!("Draw {number}"),
                    ..author.clone()
                })
                .collect(),
        };
        settings.judge = self.model.clone();
        settings.debate.rounds = rounds;
        settings.debate.check = 0;
        settings.debate.quick = false;
        settings.debate.budget = BudgetSettings::default();
        settings
    }
}

/// Whether a protocol ends with a text that can be compared.
pub fn has_text(protocol: &Protocol) -> bool {
    let is_text = |kind| matches!(kind, Some(ResultKind::Solution | ResultKind::Proposal));
    protocol.stages.iter().any(|stage| is_text(stage.info.yields))
}

/// The likely cost of choosing one of `n` texts of the given length in tokens.
pub(super) fn choice(price: Price, input: u64, output: u64, n: u32) -> Usd {
    let input_tokens = input + output * u64::from(n);
    price.cost(Tokens { input_tokens, output_tokens: CHOICE_TOKENS, ..Tokens::default() })
}

/// How often `one` goes into `money`, at most `most`.
fn within(money: Usd, one: Usd, most: u32) -> u32 {
    let times = money.dollars() / one.dollars();
    (0..=most).rev().find(|count| f64::from(*count) <= times).unwrap_or(0)
}
