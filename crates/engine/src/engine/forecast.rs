//! Forecasts a debate: its calls, tokens and cost, without calling a model.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;

use crate::agent::{Panel, PanelError, SharedPrompt, price_of, tool_room};
use dialectic_base::call::Tokens;
use dialectic_base::money::{Price, Usd};
use dialectic_llm::{
    ANSWER_LIMIT, Caller, CallerLimits, ChatModel, ConcurrencyLimit, FailedAttempt, Live, ModelError, Reply, Request,
    Timeouts,
};
use dialectic_record::debate::{
    AgentSettings, BudgetSettings, CallKey, Created, Debate, DebateId, FoldError, Forecast, Gathered, ModelLimits,
    PlannedCall, PromptSources, Purchase, Recorded, ResultKind, Settings, Span, Timestamp, ToolUse,
};
use dialectic_record::protocol::Protocol;

use super::rehearsal::{Rehearsal, RehearsedCall, SampleAnswers};
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

/// Forecasts the debate that `created` begins, without calls or writes. `routed` are the providers whose prices may
/// differ from the list; `gathered` is the minimum and maximum of the collected material.
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
    let short = rehearse(protocol, &panel, &little, Length::Short)?;
    let long = rehearse(protocol, &panel, &begun, Length::Long)?;
    // If rounds can end early, the calls after them belong to an earlier round in the shorter run, but are the same
    // calls.
    let bytes_in = |calls: &BTreeMap<CallKey, RequestSize>, key: &CallKey| {
        let is_in_round = begun.stage(key.stage).is_none_or(|stage| stage.in_round);
        let is_same = |other: &CallKey| !is_in_round && CallKey { round: key.round, ..other.clone() } == *key;
        let found = calls.get(key).or_else(|| calls.iter().find(|(other, _)| is_same(other)).map(|(_, size)| size));
        found.copied()
    };
    let is_certain = |key: &CallKey| {
        // Only texts that agree are challenged, which neither run shows.
        let is_challenge = begun.stage(key.stage).is_some_and(|stage| stage.yields == Some(ResultKind::Challenge));
        !is_challenge && bytes_in(&short, key).is_some() && bytes_in(&long, key).is_some()
    };
    let mut keys: Vec<&CallKey> =
        short.keys().filter(|key| bytes_in(&long, key).is_none()).chain(long.keys()).collect();
    keys.sort_by_key(|key| begun.key_rank(key));
    let calls = keys.into_iter().filter_map(|key| {
        let agent = &panel.agent(&key.agent_id)?.settings;
        let tokens =
            |size: RequestSize, length: Length| (length.tokens_of(size.bytes), u64::from(length.answer_of(agent)));
        let of_short = bytes_in(&short, key).map(|size| tokens(size, Length::Short));
        let of_long = bytes_in(&long, key).map(|size| tokens(size, Length::Long));
        let is_certain = is_certain(key);
        let low = of_short.filter(|_| is_certain).unwrap_or_default();
        let high = of_long.or(of_short).unwrap_or_default();
        let price = price_of(agent, settings);
        let cost = |(input, output)| -> Option<Usd> {
            Some(price?.cost(Tokens { input_tokens: input, output_tokens: output, ..Tokens::default() }))
        };
        let offers_tools = bytes_in(&long, key).or(bytes_in(&short, key)).is_some_and(|size| size.offers_tools);
        let tools = offers_tools.then(|| ToolUse {
            most_requests: agent.tool_call_limit,
            result_tokens: Length::Long.tokens_of(tool_room(agent, settings, begun.change.is_some())),
        });
        let planned = PlannedCall {
            is_certain,
            key: key.clone(),
            model: agent.model.clone(),
            provider: agent.provider.clone(),
            input: Span { low: low.0, high: high.0 },
            output: Span { low: low.1, high: high.1 },
            tools,
            cost: None,
        };
        let cost = cost(low).zip(cost(planned.most_tokens())).map(|(low, high)| Span { low, high });
        Some(PlannedCall { cost, ..planned })
    });
    let calls: Vec<PlannedCall> = calls.collect();
    let purchase: Option<Purchase> = purchase(protocol, &panel, &Debate { settings: Some(settings.clone()), ..begun })?;
    Ok(Forecast { calls, purchase })
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
        is_certain: true,
        input: Span { low: low.input_tokens, high: high.input_tokens },
        output: Span { low: low.output_tokens, high: high.output_tokens },
        tools: None,
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
        is_certain: false,
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
    let unbounded = ModelLimits { context_window: Some(u64::MAX), max_output: None };
    created.settings.models.insert(settings.judge.model.clone(), unbounded);
    let event = dialectic_record::debate::Event::Created(Box::new(created));
    Debate::create(&Recorded { seq: 1, at: Timestamp::now(), event })
}

/// The length of answers in a run: short, and nothing adds calls; or the maximum, and everything adds calls that can.
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

/// A request as far as its cost is concerned.
#[derive(Clone, Copy)]
struct RequestSize {
    bytes: usize,
    offers_tools: bool,
}

/// The size of each call's request in a whole debate.
fn rehearse(
    protocol: &'static Protocol,
    panel: &Panel,
    begun: &Debate,
    length: Length,
) -> Result<BTreeMap<CallKey, RequestSize>, ForecastError> {
    let shared = SharedPrompt::of(protocol, begun).map_err(EngineError::from)?;
    let demanding = length == Length::Long;
    let bytes = |agent: &AgentSettings| length.bytes_of(length.answer_of(agent));
    let answers = SampleAnswers { bytes: &bytes, demanding, extends: demanding, disputes: demanding };
    let mut rehearsal = Rehearsal::new(protocol, panel, &shared, begun, answers);
    let mut calls = Vec::new();
    let mut goes_on = true;
    while goes_on {
        calls.extend(rehearsal.rounds(u32::MAX)?);
        let (closing, leads_on) = rehearsal.close()?;
        calls.extend(closing);
        goes_on = leads_on;
    }
    calls.retain(|call| !call.is_second_chance);
    Ok(calls
        .into_iter()
        .map(|RehearsedCall { key, bytes, offers_tools, .. }| (key, RequestSize { bytes, offers_tools }))
        .collect())
}

/// The model of a rehearsal, which is never called.
struct UnaskedModel;

impl ChatModel for UnaskedModel {
    fn ask<'a>(&'a self, _: &'a Request, _: Live<'a>) -> BoxFuture<'a, Result<Reply, FailedAttempt>> {
        Box::pin(async { Err(ModelError::Broken { message: "a rehearsal calls no model".to_owned() }.into()) })
    }
}
