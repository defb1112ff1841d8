//! Forecasts a debate: its calls, tokens and cost, without calling a model.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;

use crate::agent::{Panel, PanelError, SharedPrompt, price_of};
use dialectic_base::call::Tokens;
use dialectic_base::diagnostic::{Diagnostic, ErrorCategory};
use dialectic_base::figures::{counted, list, thousands};
use dialectic_base::money::{Price, Usd};
use dialectic_llm::{
    ANSWER_LIMIT, Caller, CallerLimits, ChatModel, ConcurrencyLimit, FailedAttempt, Live, ModelError, Reply, Request,
    Timeouts,
};
use dialectic_record::debate::{
    AgentSettings, BudgetSettings, CallKey, Created, Debate, DebateId, FoldError, Forecast, Gathered, Made,
    ModelLimits, PlannedCall, PromptSources, Purchase, Recorded, ResultKind, Settings, Span, Timestamp,
};
use dialectic_record::protocol::{Protocol, Stage};

use super::rehearsal::{Rehearsal, SampleAnswers};
use super::{EngineError, purchase};

/// The length of a short answer in tokens.
const SHORT_ANSWER: u32 = 300;
/// Bytes per token in the short and in the long run; prose lies between.
pub(super) const BYTES_PER_TOKEN: Span<f64> = Span { low: 4.5, high: 3.0 };

/// Why there is no forecast.
#[derive(Debug, thiserror::Error)]
#[error("cannot forecast this debate")]
pub enum ForecastError {
    /// The panel cannot be built.
    Panel(#[from] PanelError),
    /// The debate cannot begin.
    Fold(#[from] FoldError),
    /// The debate could not be rehearsed.
    Engine(#[from] EngineError),
}

impl Diagnostic for ForecastError {
    fn blame(&self) -> ErrorCategory {
        ErrorCategory::General
    }
}

/// Forecasts the debate that `created` begins. `routed` are the providers whose prices may differ from the list, and
/// `gathered` the minimum and maximum of its collected material. Calls and writes nothing.
///
/// # Errors
/// A role cannot be used.
pub fn forecast(
    protocol: &'static Protocol,
    settings: &Settings,
    routed: &BTreeSet<String>,
    gathered: &Span<Gathered>,
    created: impl Fn(&PromptSources, DebateId) -> Created,
) -> Result<Forecast, ForecastError> {
    let limits = CallerLimits { in_flight: Arc::new(ConcurrencyLimit::unbounded()), max_retries: 0 };
    let mut panel = Panel::build(protocol, settings, |agent| Caller {
        chat: Arc::new(UnaskedModel),
        provider: agent.provider.as_str().into(),
        price: price_of(agent, settings),
        timeouts: Timeouts { first_token: Duration::MAX, idle: Duration::MAX },
        silence: None,
        limits: limits.clone(),
        account: None,
        observer: None,
    })?;
    panel.routed.clone_from(routed);
    let begun = begin(created(&panel.sources, DebateId::new("forecast")), settings)?;
    let (little, begun) = (begun.starting_from(&gathered.low), begun.starting_from(&gathered.high));
    let short = rehearse(protocol, &panel, &little, Course::Least)?;
    let long = rehearse(protocol, &panel, &begun, Course::Most)?;
    // If rounds can end early, the calls after them belong to an earlier round in the shorter run, but are the same
    // calls.
    let bytes_in = |calls: &BTreeMap<CallKey, usize>, key: &CallKey| {
        let is_in_round = begun.stage(key.stage).is_none_or(|stage| stage.in_round);
        let is_same = |other: &CallKey| !is_in_round && CallKey { round: key.round, ..other.clone() } == *key;
        let found = calls.get(key).or_else(|| calls.iter().find(|(other, _)| is_same(other)).map(|(_, bytes)| bytes));
        found.copied()
    };
    // The runs differ in length and in choices: a run between them shows which of the two causes a call.
    let between = (!long.keys().eq(short.keys())).then(|| rehearse(protocol, &panel, &begun, Course::Between));
    let between = between.transpose()?;
    let made = |key: &CallKey| {
        let has = |calls: &BTreeMap<CallKey, usize>| bytes_in(calls, key).is_some();
        // Only texts that agree are challenged, which neither run shows.
        let is_challenge = begun.stage(key.stage).is_some_and(|stage| stage.yields == Some(ResultKind::Challenge));
        match (has(&short), has(&long)) {
            (true, true) if is_challenge => Made::ByChoice,
            (true, true) => Made::Always,
            (is_short, _) if between.as_ref().is_some_and(|between| has(between) != is_short) => Made::ByLength,
            (true | false, _) => Made::ByChoice,
        }
    };
    let mut keys: Vec<&CallKey> =
        short.keys().filter(|key| bytes_in(&long, key).is_none()).chain(long.keys()).collect();
    keys.sort_by_key(|key| begun.key_rank(key));
    let calls = keys.into_iter().filter_map(|key| {
        let agent = &panel.agent(&key.agent_id)?.settings;
        let tokens = |bytes: usize, length: Length| (length.tokens_of(bytes), u64::from(length.answer_of(agent)));
        let of_short = bytes_in(&short, key).map(|bytes| tokens(bytes, Length::Short));
        let of_long = bytes_in(&long, key).map(|bytes| tokens(bytes, Length::Long));
        let made = made(key);
        let low = of_short.filter(|_| made == Made::Always).unwrap_or_default();
        let high = of_long.or(of_short).unwrap_or_default();
        let price = price_of(agent, settings);
        let cost = |(input, output)| -> Option<Usd> {
            Some(price?.cost(Tokens { input_tokens: input, output_tokens: output, ..Tokens::default() }))
        };
        Some(PlannedCall {
            made,
            key: key.clone(),
            model: agent.model.clone(),
            provider: agent.provider.clone(),
            input: Span { low: low.0, high: high.0 },
            output: Span { low: low.1, high: high.1 },
            cost: cost(low).zip(cost(high)).map(|(low, high)| Span { low, high }),
        })
    });
    let calls: Vec<PlannedCall> = calls.collect();
    let last_round = |calls: &BTreeMap<CallKey, usize>| calls.keys().map(|key| key.round).max().unwrap_or(0);
    let rounds = Span { low: last_round(&short), high: last_round(&long) };
    let mut deciders = deciders(protocol, settings, rounds);
    let mut assumptions = assumptions(settings, gathered, rounds, &list(&or_choices(deciders.clone())));
    // The results of the check add calls, but no rounds.
    let check = protocol.stages.iter().find(|stage| stage.info.yields == Some(ResultKind::Check));
    deciders
        .extend(check.filter(|_| settings.debate.check > 0).map(|stage| format!("the {}", stage.info.words.plural)));
    let deciders = or_choices(deciders);
    assumptions.extend(outcomes(protocol, settings, &calls, rounds));
    let purchase: Option<Purchase> = purchase(protocol, &panel, &Debate { settings: Some(settings.clone()), ..begun })?;
    Ok(Forecast { calls, deciders, assumptions, purchase })
}

/// The tokens and cost of a certain call with a request of this many bytes. `max_tokens` is the limit of its answer, if
/// it has its own.
pub(super) fn planned_call(
    key: CallKey,
    (provider, model): (&str, &str),
    max_tokens: Option<u32>,
    price: Option<Price>,
    bytes: usize,
) -> PlannedCall {
    let [low, high] = [Length::Short, Length::Long].map(|length| Tokens {
        input_tokens: length.tokens_of(bytes),
        output_tokens: length.answer_within(max_tokens).into(),
        ..Tokens::default()
    });
    PlannedCall {
        key,
        model: model.to_owned(),
        provider: provider.to_owned(),
        made: Made::Always,
        input: Span { low: low.input_tokens, high: high.input_tokens },
        output: Span { low: low.output_tokens, high: high.output_tokens },
        cost: price.map(|price| Span { low: price.cost(low), high: price.cost(high) }),
    }
}

/// The calls for a question whose answer must be readable JSON: if it is not, a second request repeats the question with
/// the answer.
pub fn planned_json_calls(
    key: CallKey,
    (provider, model): (&str, &str),
    max_tokens: Option<u32>,
    price: Option<Price>,
    bytes: usize,
) -> [PlannedCall; 2] {
    let first = planned_call(key, (provider, model), max_tokens, price, bytes);
    let input = first.input + first.output;
    let cost = |input_tokens, output_tokens| {
        price.map(|price| price.cost(Tokens { input_tokens, output_tokens, ..Tokens::default() }))
    };
    let low = cost(input.low, first.output.low);
    let high = cost(input.high, first.output.high);
    let second = PlannedCall {
        made: Made::ByChoice,
        input,
        cost: low.zip(high).map(|(low, high)| Span { low, high }),
        ..first.clone()
    };
    [first, second]
}

/// The debate at its beginning: complete, without a cost limit, and with a judge that reads everything, since context
/// windows are checked separately.
fn begin(mut created: Created, settings: &Settings) -> Result<Debate, FoldError> {
    created.settings.debate.budget = BudgetSettings::default();
    created.settings.terms.max_cost = None;
    let unbounded = ModelLimits { context_window: Some(u64::MAX), max_output: None };
    created.settings.models.insert(settings.judge.model.clone(), unbounded);
    let event = dialectic_record::debate::Event::Created(Box::new(created));
    Debate::create(&Recorded { seq: 1, at: Timestamp::now(), event })
}

/// The factors that decide the number of rounds, as text: choices in a round, and the closing if it leads to more
/// rounds.
fn deciders(protocol: &Protocol, settings: &Settings, rounds: Span<u32>) -> Vec<String> {
    let decides = |stage: &&Stage| {
        let info = &stage.info;
        info.in_round && stage.rows.len() > 1 && matches!(info.yields, Some(ResultKind::Agreement | ResultKind::Ballot))
    };
    let closing = protocol.stage(protocol.closing).filter(|_| rounds.high > settings.debate.rounds);
    let deciding = protocol.stages.iter().filter(decides).chain(closing);
    deciding.map(|stage| format!("the {}", stage.info.words.plural)).collect()
}

fn or_choices(deciders: Vec<String>) -> Vec<String> {
    if deciders.is_empty() { vec!["the choices".to_owned()] } else { deciders }
}

/// The assumptions about results that decide the number of calls.
fn outcomes(protocol: &Protocol, settings: &Settings, calls: &[PlannedCall], rounds: Span<u32>) -> Vec<String> {
    let yielding = |wanted| protocol.stages.iter().find(move |stage| stage.info.yields == Some(wanted));
    let mut outcomes = Vec::new();
    if yielding(ResultKind::Agreement).is_some() {
        outcomes.push("minimum: all texts make the same decisions in the same words from the start".to_owned());
    }
    let challenge = yielding(ResultKind::Challenge).map(|stage| &stage.info);
    if let Some(challenge) = challenge.filter(|stage| calls.iter().any(|call| call.key.stage == stage.id)) {
        outcomes.push(format!("maximum: the {} send back as many agreements as they may", challenge.words.plural));
    }
    let further = rounds.high.saturating_sub(settings.debate.rounds);
    if let Some(closing) = protocol.stage(protocol.closing).filter(|_| further > 0) {
        let (words, added) = (&closing.info.words.plural, counted(further.into(), "round"));
        outcomes.push(format!("maximum: the {words} find something missing and add {added}"));
    }
    outcomes
}

/// The assumptions of the figures. If `rounds` is a range, the `deciders` determine the number.
fn assumptions(settings: &Settings, gathered: &Span<Gathered>, rounds: Span<u32>, deciders: &str) -> Vec<String> {
    let debate = &settings.debate;
    let run = if rounds.low == rounds.high {
        "all rounds run".to_owned()
    } else {
        format!("{} to {} rounds run, depending on {deciders}", rounds.low, rounds.high)
    };
    let mut assumptions = vec![
        format!(
            "answers have {SHORT_ANSWER} to {ANSWER_LIMIT} tokens, or to an agent's `maxTokens`; a token has {} to {} \
             bytes",
            BYTES_PER_TOKEN.low, BYTES_PER_TOKEN.high
        ),
        format!("{run}, and no call is repeated after an error or an unreadable answer"),
        "nothing is read from a provider's cache, which would cost less".to_owned(),
    ];
    if begins_with_more(gathered) {
        let bytes = gathered.high.bytes() - gathered.low.bytes();
        assumptions.push(format!(
            "no command of `contextCommands` is run; together they print at most {} bytes",
            thousands(bytes as u64)
        ));
    }
    let tools = settings.agents.iter().filter(|agent| !agent.tools.is_empty());
    if let Some(limit) = tools.map(|agent| agent.tool_call_limit).max() {
        assumptions.push(format!("no tool is called; each call of an agent with tools can become up to {}", limit + 1));
    }
    if debate.interactive_clarifications {
        assumptions.push(match debate.clarifications_max_iterations {
            0 | 1 => "agents are asked once for questions".to_owned(),
            most => {
                let more = most - 1;
                let times = if more == 1 { "once".to_owned() } else { format!("up to {more} times") };
                format!("agents are asked once for questions, and the judge {times} after your answers")
            }
        });
    }
    assumptions
}

/// Whether commands may add material.
fn begins_with_more(gathered: &Span<Gathered>) -> bool {
    gathered.high.bytes() > gathered.low.bytes()
}

/// The length of answers in a run: short, or the maximum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Length {
    Short,
    Long,
}

impl Length {
    /// The length of an agent's answers in tokens.
    fn answer_of(self, agent: &AgentSettings) -> u32 {
        self.answer_within(agent.max_tokens)
    }

    /// The length of answers with their own limit, in tokens.
    fn answer_within(self, max_tokens: Option<u32>) -> u32 {
        let limit = max_tokens.unwrap_or(ANSWER_LIMIT);
        match self {
            Self::Short => SHORT_ANSWER.min(limit),
            Self::Long => limit,
        }
    }

    fn bytes_per_token(self) -> f64 {
        match self {
            Self::Short => BYTES_PER_TOKEN.low,
            Self::Long => BYTES_PER_TOKEN.high,
        }
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        clippy::cast_sign_loss,
        reason = "prompts are far below 2^53 bytes"
    )]
    fn tokens_of(self, bytes: usize) -> u64 {
        (bytes as f64 / self.bytes_per_token()).ceil() as u64
    }

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "answers are far below 2^53 bytes")]
    fn bytes_of(self, tokens: u32) -> usize {
        // Words of five bytes, and one for the remainder.
        ((f64::from(tokens) * self.bytes_per_token() / 5.0) as usize + 1) * 5
    }
}

/// How a rehearsed debate goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Course {
    /// Answers are short, and nothing adds calls.
    Least,
    /// Answers are long, and everything adds calls that can.
    Most,
    /// Answers are long, and nothing adds calls. Only which calls are made is of interest.
    Between,
}

/// The bytes of each call's request in a whole debate.
fn rehearse(
    protocol: &'static Protocol,
    panel: &Panel,
    begun: &Debate,
    course: Course,
) -> Result<BTreeMap<CallKey, usize>, ForecastError> {
    let shared = SharedPrompt::of(protocol, begun).map_err(EngineError::from)?;
    let (length, demanding) = match course {
        Course::Least => (Length::Short, false),
        Course::Most => (Length::Long, true),
        Course::Between => (Length::Long, false),
    };
    let bytes = |agent: &AgentSettings| length.bytes_of(length.answer_of(agent));
    let answers = SampleAnswers { bytes: &bytes, demanding, extends: demanding, disputes: demanding };
    let mut rehearsal = Rehearsal::new(protocol, panel, &shared, begun, answers);
    if course == Course::Between {
        rehearsal = rehearsal.unmeasured();
    }
    let mut calls = Vec::new();
    let mut goes_on = true;
    while goes_on {
        calls.extend(rehearsal.rounds(u32::MAX)?);
        let (closing, leads_on) = rehearsal.close()?;
        calls.extend(closing);
        goes_on = leads_on;
    }
    calls.retain(|call| !call.is_second_chance);
    Ok(calls.into_iter().map(|call| (call.key, call.bytes)).collect())
}

/// The model of a rehearsal, which is never called.
struct UnaskedModel;

impl ChatModel for UnaskedModel {
    fn ask<'a>(&'a self, _: &'a Request, _: Live<'a>) -> BoxFuture<'a, Result<Reply, FailedAttempt>> {
        Box::pin(async { Err(ModelError::Broken { message: "a rehearsal calls no model".to_owned() }.into()) })
    }
}
