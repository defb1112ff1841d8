//! A group: a problem's debate and its arms, each with its own record in the debates directory.

use std::cell::RefCell;
use std::path::PathBuf;

use crate::cli::args::{ArmName, VouchArgs};
use crate::cli::interrupt::Interrupts;
use crate::cli::session::vouched;
use crate::error::Error;
use crate::lift::{Note, Notes, NotesError, Problem, identity};
use dialectic_base::call::Tokens;
use dialectic_base::money::{Price, Usd};
use dialectic_config::ConfigFiles;
use dialectic_engine::access::Trust;
use dialectic_engine::agent::price_of;
use dialectic_engine::engine::RunEnding;
use dialectic_engine::runner::{Finished, Prepared, Ready, Runner, RunnerError, Spec};
use dialectic_record::debate::defaults::agent_of;
use dialectic_record::debate::{
    AgentId, AgentSettings, BudgetSettings, Debate, DebateId, DebateSettings, Forecast, ModelUsage, ResultKind,
    Settings, Signal, Status,
};
use dialectic_record::protocol::{BEST_OF_N, Protocol, SELF_REFINE, SINGLE};
use dialectic_record::signals::{Followed, Words};
use dialectic_record::store::{AccessMode, Directory, Entry, StoreError};

use super::meter::Meter;

/// The part of a group that is the debate.
const DEBATE: &str = "debate";
/// The number of draws if no price determines how many the money buys.
const DRAWS: u32 = 3;
/// The maximum number of draws: the judge has to read all of them.
const MOST_DRAWS: u32 = 64;
/// The tokens of the judge's choice, in addition to its input.
const CHOICE_TOKENS: u64 = 600;

impl ArmName {
    pub(super) fn protocol(self) -> &'static Protocol {
        match self {
            Self::SelfRefine => &SELF_REFINE,
            Self::BestOfN => &BEST_OF_N,
            Self::Single => &SINGLE,
        }
    }

    /// Whether the arm spends as much as the debate cost.
    pub(super) fn is_equal(self) -> bool {
        match self {
            Self::SelfRefine | Self::BestOfN => true,
            Self::Single => false,
        }
    }
}

/// The debate's name in notes; `held` is its limit, if any.
pub(super) fn debate_part(held: Option<Usd>) -> String {
    held.map_or_else(|| DEBATE.to_owned(), |held| format!("{DEBATE} held to {held}"))
}

/// The parts that groups share.
pub(super) struct Groups<'a> {
    /// The name of the debates.
    pub(super) name: String,
    pub(super) runner: &'a Runner,
    pub(super) files: ConfigFiles<'a>,
    pub(super) directory: Directory,
    pub(super) protocol: &'static Protocol,
    pub(super) settings: Settings,
    pub(super) provenance: Trust,
    /// The agent that answers in the arms.
    pub(super) arm: AgentSettings,
}

/// A part of a group.
pub(super) struct Part {
    /// The name in notes.
    pub(super) name: String,
    /// The name in messages.
    pub(super) what: String,
    /// The maximum cost; absent if unknown.
    pub(super) most: Option<Usd>,
    /// The meter that ends it when its money is spent.
    pub(super) meter: Option<Meter>,
    /// Whether it has a limit that may not cover it.
    pub(super) is_held: bool,
}

/// Why a part of a group has no answer.
pub(super) enum Lacking {
    /// The part is skipped, and the run continues.
    LeftOut(String),
    /// The run stops.
    Stop(Error),
}

impl<E: Into<Error>> From<E> for Lacking {
    fn from(error: E) -> Self {
        Self::Stop(error.into())
    }
}

impl Groups<'_> {
    /// The path of a group's notes. The same problem and settings give the same group everywhere.
    pub(super) fn notes_path(&self, problem: &Problem) -> PathBuf {
        let mut settings = Settings { base_dir: None, context_dir: None, ..self.settings.clone() };
        // It changes no debate.
        settings.debate.budget.max_calls_per_day = None;
        // Settings always have a JSON form.
        let settings = serde_json::to_string(&settings).unwrap_or_default();
        let name = identity([self.protocol.name, &settings, &problem.text], 8);
        self.directory.path().join("lift").join(format!("{name}.jsonl"))
    }

    /// The name of an arm in notes.
    pub(super) fn part_of(&self, arm: ArmName) -> String {
        format!("{} by {}/{}", arm.protocol().name, self.arm.provider, self.arm.model)
    }

    /// The record of a part, if there is one.
    pub(super) fn record(&self, notes: &Notes, part: &str) -> Option<Entry> {
        self.entry(notes.record_of(part)?)
    }

    /// A noted record. It may be missing or empty: the user removed it, or the program was killed between the note and
    /// the first event.
    fn entry(&self, id: &DebateId) -> Option<Entry> {
        let entry = Entry::of_state(&self.directory.state_path(id));
        let is_begun = |journal: &PathBuf| journal.metadata().is_ok_and(|file| file.len() > 0);
        (entry.state.exists() || entry.journal.as_ref().is_some_and(is_begun)).then_some(entry)
    }

    /// The debate of a finished part.
    pub(super) fn finished(&self, notes: &Notes, part: &str) -> Result<Option<Debate>, StoreError> {
        let Some(entry) = self.record(notes, part) else { return Ok(None) };
        let debate = entry.load(AccessMode::State)?.debate;
        Ok((debate.status == Status::Completed).then_some(debate))
    }

    /// The cost of all records of a group so far; `None` if unknown.
    pub(super) fn spent(&self, notes: &Notes) -> Result<Option<Usd>, StoreError> {
        let mut sum = Some(Usd::ZERO);
        for entry in notes.records().filter_map(|id| self.entry(id)) {
            let cost = entry.load(AccessMode::State)?.debate.total_cost();
            sum = sum.zip(cost).map(|(sum, cost)| sum + cost);
        }
        Ok(sum)
    }

    /// The debate of a problem. It may cost at most `most`, regardless of its own limit.
    pub(super) fn debate(&self, problem: &Problem, most: Option<Usd>) -> Spec {
        let mut settings = self.settings.clone();
        let budget = &mut settings.debate.budget;
        budget.max_cost_usd = budget.max_cost_usd.into_iter().chain(most).min();
        self.spec(problem, self.protocol, settings)
    }

    /// The name of a problem's debate.
    pub(super) fn what(&self, problem: &Problem) -> String {
        format!("{}: {}", problem.id, self.name)
    }

    /// The maximum cost of a problem's debate under the limit `held`; `None` if unknown.
    pub(super) fn most(&self, problem: &Problem, held: Option<Usd>) -> Result<Option<Usd>, Error> {
        let most = self.forecast(&self.debate(problem, held))?.most();
        Ok(most.map(|most| self.settings.max_cost().into_iter().chain(held).fold(most, Usd::min)))
    }

    /// One answer of the arms' model.
    pub(super) fn single(&self, problem: &Problem) -> Spec {
        self.spec(problem, &SINGLE, self.arm_settings(1, 1))
    }

    /// An arm that spends `money`, if known; the cost of `single`, one answer, determines how much the money buys.
    /// `None` if the money does not suffice.
    pub(super) fn equal(&self, arm: ArmName, problem: &Problem, money: Option<Usd>, single: &Debate) -> Option<Spec> {
        let draw = full_cost(single).filter(|draw| *draw > Usd::ZERO);
        let (agents, rounds) = match (arm, money.zip(draw)) {
            (ArmName::Single, _) => return Some(self.single(problem)),
            (ArmName::SelfRefine, None) => (1, self.settings.debate.rounds),
            (ArmName::BestOfN, None) => (DRAWS, 1),
            (ArmName::SelfRefine, Some((money, draw))) => {
                // A text, its critique and another text.
                if draw.times(3.0) > money {
                    return None;
                }
                (1, DebateSettings::MOST_ROUNDS)
            }
            (ArmName::BestOfN, Some((money, draw))) => {
                let usage = single.total_usage();
                let chosen = choice(self.arm_price()?, usage.input_tokens, usage.output_tokens, 2);
                if draw.times(2.0) + chosen > money {
                    return None;
                }
                // The meter ends the arm. Other draws may be cheaper than the known one.
                (within(money, draw, MOST_DRAWS / 2) * 2, 1)
            }
        };
        let mut settings = self.arm_settings(agents, rounds);
        if money.is_some() {
            // The cost of a draw is known before the second next begins. This limits the started calls of a stage;
            // `maxConcurrency` would start all of them and let them wait.
            let texts = arm.protocol().stages.iter().filter(|stage| stage.info.yields == Some(ResultKind::Proposal));
            settings.debate.arena.max_concurrency = texts.map(|stage| (stage.info.id.to_string(), 1)).collect();
        }
        Some(self.spec(problem, arm.protocol(), settings))
    }

    /// The meter that ends an arm when it has spent `money`.
    pub(super) fn meter(&self, arm: ArmName, money: Option<Usd>) -> Option<Meter> {
        let (money, price) = money.zip(self.arm_price())?;
        arm.is_equal().then(|| Meter::of(arm, money, price))
    }

    fn spec(&self, problem: &Problem, protocol: &'static Protocol, settings: Settings) -> Spec {
        let text: std::sync::Arc<str> = problem.text.as_str().into();
        Spec { provenance: self.provenance.clone(), ..Spec::new(text, protocol, settings) }
    }

    /// The arms' settings: the given number of agents, and the judge, all with the arms' model.
    fn arm_settings(&self, agents: u32, rounds: u32) -> Settings {
        let mut settings = self.settings.clone();
        let AgentSettings { model, provider, max_tokens, .. } = self.arm.clone();
        let mut tools = Vec::new();
        for tool in self.settings.agents.iter().flat_map(|agent| &agent.tools) {
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
        settings.judge = self.arm.clone();
        settings.debate.rounds = rounds;
        settings.debate.check = 0;
        settings.debate.quick = false;
        let max_calls_per_day = settings.debate.budget.max_calls_per_day;
        settings.debate.budget = BudgetSettings { max_calls_per_day, ..BudgetSettings::default() };
        // Cached input counts in full, so that luck with the cache does not affect the measure.
        if let Some(price) = self.arm_price() {
            settings.prices.insert(self.arm.model.clone(), price);
        }
        settings
    }

    /// The arms' price, with cached input at full price.
    fn arm_price(&self) -> Option<Price> {
        let mut price = price_of(&self.arm, &self.settings)?;
        price.cached_input_per_m_tok = None;
        if let Some(long) = &mut price.long {
            long.cached_input_per_m_tok = None;
        }
        Some(price)
    }

    /// The forecast of a debate.
    pub(super) fn forecast(&self, spec: &Spec) -> Result<Forecast, Error> {
        Ok(self.runner.forecast(spec)?)
    }

    /// A part of the group, ready to start or resume, or its finished debate.
    pub(super) fn prepare(&self, notes: &Notes, part: &Part, spec: Spec) -> Result<Next, Lacking> {
        let Some(entry) = self.record(notes, &part.name) else {
            let prepared = self.runner.prepare(spec)?;
            match prepared.check_limit() {
                Ok(()) => {}
                Err(error) if part.is_held => return Err(Lacking::LeftOut(error.to_string())),
                Err(error) => return Err(error.into()),
            }
            return Ok(Next::Run { prepared: Box::new(prepared), before: Some(Usd::ZERO) });
        };
        match self.runner.open(&entry, &[]) {
            Ok(saved) => {
                let before = saved.debate().total_cost();
                let vouch = VouchArgs { config: None, context: None };
                let trust = vouched(saved.provenance(), &vouch, &self.files)?;
                let prepared = self.runner.resume(saved, &trust)?;
                Ok(Next::Run { prepared: Box::new(prepared), before })
            }
            Err(RunnerError::IsFinished { .. }) => Ok(Next::Finished(Box::new(entry.load(AccessMode::State)?.debate))),
            Err(error) => Err(error.into()),
        }
    }
}

/// The cost of a debate at list prices, even if a subscription covered it; `None` if unknown. A few calls of unknown
/// cost count as the mean of the others ([`estimated_calls`]), so that a broken connection, which reports no tokens,
/// does not make the debate unmeasurable.
pub(super) fn list_cost(debate: &Debate) -> Option<Usd> {
    let of = |(model, usage): (&String, &ModelUsage)| {
        if let Some(cost) = usage.cost_usd {
            return Some(cost + usage.notional_usd.unwrap_or_default());
        }
        if usage.requests == 0 || usage.silent_calls * 2 > usage.requests {
            return None;
        }
        let settings = debate.settings.as_ref()?;
        let price = price_of(settings.everybody().find(|agent| agent.model == *model)?, settings)?;
        let ModelUsage { input_tokens, cached_input_tokens, output_tokens, .. } = *usage;
        let cost = price.cost(Tokens { input_tokens, cached_input_tokens, output_tokens, ..Tokens::default() });
        let per_call = 1.0 / f64::from(u32::try_from(usage.requests).ok()?);
        Some(cost + cost.times(per_call * f64::from(u32::try_from(usage.silent_calls).ok()?)))
    };
    debate.usage.iter().map(of).sum()
}

/// How many calls of unknown cost [`list_cost`] estimates.
pub(super) fn estimated_calls(debate: &Debate) -> u64 {
    debate.usage.values().filter(|usage| usage.cost_usd.is_none()).map(|usage| usage.silent_calls).sum()
}

/// The cost of a debate without a cache; `None` if unknown.
pub(super) fn full_cost(debate: &Debate) -> Option<Usd> {
    let settings = debate.settings.as_ref()?;
    let saved = |(model, usage): (&String, &ModelUsage)| {
        if usage.cached_input_tokens == 0 {
            return Some(Usd::ZERO);
        }
        let price = price_of(settings.everybody().find(|agent| agent.model == *model)?, settings)?;
        let cached = price.cached_input_per_m_tok.unwrap_or(price.input_per_m_tok);
        Some(Usd::for_tokens(usage.cached_input_tokens, (price.input_per_m_tok - cached).max(0.0)))
    };
    let saved: Option<Usd> = debate.usage.iter().map(saved).sum();
    list_cost(debate).zip(saved).map(|(cost, saved)| cost + saved)
}

/// The next action for a part.
pub(super) enum Next {
    /// Nothing.
    Finished(Box<Debate>),
    /// Starts or resumes the part; `before` is its cost so far.
    Run { prepared: Box<Prepared>, before: Option<Usd> },
}

/// Records a part. Its id is noted before its first event is written, so that no record is forgotten.
fn begin(prepared: Prepared, part: &str, notes: &mut Notes) -> Result<Ready, Lacking> {
    let kept: RefCell<(&mut Notes, Result<(), NotesError>)> = RefCell::new((notes, Ok(())));
    let ready = prepared.begin_telling(|id| {
        let (notes, result) = &mut *kept.borrow_mut();
        *result = notes.add(Note::Begun { part: part.to_owned(), debate: id.clone() });
    })?;
    kept.into_inner().1?;
    Ok(ready)
}

/// Runs a part to its answer. The debate records the cost, even without an answer.
pub(super) async fn run(
    prepared: Prepared,
    part: &str,
    notes: &mut Notes,
    mut meter: Option<Meter>,
    interrupts: &mut Interrupts,
) -> (Option<Debate>, Result<(), Lacking>) {
    let ready = match begin(prepared, part, notes) {
        Ok(ready) => ready,
        Err(error) => return (None, Err(error)),
    };
    let run = ready.run();
    let mut is_interrupted = false;
    let controls = run.controls();
    let mut follower = run.follow(Words::Unwanted).ok();
    if follower.is_none() {
        // An arm that cannot be measured is not continued.
        controls.pause();
    }
    let wait = run.wait();
    tokio::pin!(wait);
    let ended = loop {
        let next = async {
            match &mut follower {
                Some(follower) => follower.next().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            ended = &mut wait => break ended,
            news = next => match news {
                Ok(Some(Followed::Signal(signal))) => {
                    if let (Signal::Recorded(recorded), Some(watching)) = (&*signal, &mut meter)
                        && watching.is_enough(recorded)
                    {
                        controls.stop();
                        meter = None;
                    }
                }
                Ok(Some(Followed::Gap { .. })) => {}
                Ok(None) => follower = None,
                Err(_) => {
                    controls.pause();
                    follower = None;
                }
            },
            () = interrupts.next() => {
                is_interrupted = true;
                controls.interrupt();
            }
        }
    };
    match ended {
        Err(failed) => (None, Err(failed.source.into())),
        Ok(Finished { debate, ending, .. }) => {
            let result = match ending {
                RunEnding::Completed => Ok(()),
                RunEnding::Failed => {
                    Err(Lacking::LeftOut(debate.error.clone().unwrap_or_else(|| "it has no answer".to_owned())))
                }
                RunEnding::ServerGone => Err(Lacking::Stop(Error::ServerGone { id: debate.id.clone() })),
                RunEnding::LimitReached => Err(Lacking::Stop(Error::LimitReached { id: debate.id.clone() })),
                RunEnding::Paused | RunEnding::Suspended if is_interrupted => {
                    Err(Lacking::Stop(Error::LiftInterrupted))
                }
                RunEnding::Paused | RunEnding::Suspended => Err(Lacking::Stop(Error::Paused { id: debate.id.clone() })),
            };
            (Some(debate), result)
        }
    }
}

/// Whether an arm ended because nothing was left to fix, rather than because a round failed or its money ran out.
pub(super) fn is_content(debate: &Debate) -> bool {
    let rounds = debate.settings.as_ref().map_or(0, |settings| settings.debate.rounds);
    debate.is_full() == Some(true) && debate.current_round < rounds
}

/// The likely cost of choosing among `n` texts of this length in tokens.
pub(super) fn choice(price: Price, input: u64, output: u64, n: u32) -> Usd {
    let input_tokens = input + output * u64::from(n);
    price.cost(Tokens { input_tokens, output_tokens: CHOICE_TOKENS, ..Tokens::default() })
}

/// How many times `money` pays for `one`, at most `most`.
fn within(money: Usd, one: Usd, most: u32) -> u32 {
    let times = money.dollars() / one.dollars();
    (0..=most).rev().find(|count| f64::from(*count) <= times).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use dialectic_record::debate::default_settings;

    use super::*;

    #[test]
    fn what_a_subscription_covers_counts_at_list_price_without_its_cache() {
        let mut settings = default_settings();
        settings.judge.model = "m".to_owned();
        let price = Price {
            input_per_m_tok: 10.0,
            cached_input_per_m_tok: Some(1.0),
            cache_write_per_m_tok: None,
            output_per_m_tok: 20.0,
            long: None,
        };
        settings.prices.insert("m".to_owned(), price);
        let usage = ModelUsage {
            input_tokens: 200_000,
            cached_input_tokens: 100_000,
            cost_usd: Some(Usd::ZERO),
            notional_usd: Some(Usd::from_dollars(1.1)),
            ..ModelUsage::default()
        };
        let mut debate = Debate { settings: Some(settings), ..Debate::default() };
        debate.usage.insert("m".to_owned(), usage);
        assert_eq!(list_cost(&debate), Some(Usd::from_dollars(1.1)));
        assert_eq!(full_cost(&debate), Some(Usd::from_dollars(2.0)));
    }

    #[test]
    fn a_lost_call_counts_as_the_mean_of_the_others() {
        let mut settings = default_settings();
        settings.judge.model = "m".to_owned();
        let price = Price {
            input_per_m_tok: 10.0,
            cached_input_per_m_tok: None,
            cache_write_per_m_tok: None,
            output_per_m_tok: 20.0,
            long: None,
        };
        settings.prices.insert("m".to_owned(), price);
        let usage = |silent_calls| ModelUsage {
            requests: 4,
            input_tokens: 400_000,
            silent_calls,
            cost_usd: None,
            ..ModelUsage::default()
        };
        let mut debate = Debate { settings: Some(settings), ..Debate::default() };
        debate.usage.insert("m".to_owned(), usage(1));
        assert_eq!((list_cost(&debate), estimated_calls(&debate)), (Some(Usd::from_dollars(5.0)), 1));
        debate.usage.insert("m".to_owned(), usage(3));
        assert_eq!(list_cost(&debate), None, "most of it is unknown");
    }
}
