//! Forecasts a debate without calling a model: its calls, tokens and cost, and whether its prompts fit into the models'
//! context windows.
//!
//! The number of tokens can only be estimated from the length of a text, so there are two bounds: a prompt that
//! certainly does not fit is rejected before anything is spent, and one that probably does not fit causes a warning.
//! During the debate, the texts shown to the judge are shortened if they are probably too long, or if the server
//! rejects them as too long.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use crate::agent::{Panel, PanelError, beginnings, limits_of, price_of, tool_room};
use dialectic_base::call::Tokens;
use dialectic_base::figures::{thousands, tokens};
use dialectic_base::money::Usd;
use dialectic_base::price::Price;
use dialectic_llm::{
    ANSWER_LIMIT, Caller, CallerLimits, ConcurrencyLimit, HostModel, Request, Timeouts, request_bytes,
};
use dialectic_record::debate::{Debate, Gathered};
use dialectic_record::event::{Created, FoldError, Recorded};
use dialectic_record::ids::{CallKey, ResultKind, Timestamp};
use dialectic_record::live::{Forecast, PlannedCall, Purchase, Span, ToolUse};
use dialectic_record::protocol::Protocol;
use dialectic_record::settings::{AgentSettings, BudgetSettings, DebateSettings, ModelLimits, Settings};

use super::rehearsal::{Rehearsal, RehearsedCall, SampleAnswers};
use super::{EngineError, purchase};

/// The assumed length of a short answer in tokens.
const SHORT_ANSWER: u32 = 300;
/// Bytes per token: `low` gives the lower bound of a number of tokens, `high` the upper bound. Prose lies in between.
pub(super) const BYTES_PER_TOKEN: Span<f64> = Span { low: 4.5, high: 3.0 };

#[derive(Debug, thiserror::Error)]
#[error("cannot forecast this debate")]
pub enum ForecastError {
    Panel(#[from] PanelError),
    Fold(#[from] FoldError),
    Engine(#[from] EngineError),
}

/// Forecasts the debate that `created` begins, without calling models or writing anything. `routed` are the providers
/// whose prices may differ from list prices; `gathered` is the minimum and maximum of the collected material.
///
/// # Errors
///
/// Returns an error if a role cannot be used, or a prompt cannot be rendered.
pub fn forecast(
    protocol: &'static Protocol,
    created: &Created,
    routed: &BTreeSet<String>,
    gathered: &Span<Gathered>,
) -> Result<Forecast, ForecastError> {
    let settings = &created.settings;
    let limits = CallerLimits { in_flight: Arc::new(ConcurrencyLimit::unbounded()), max_retries: 0 };
    let mut panel = Panel::build(protocol, settings, |agent| Caller {
        // This model is never called, because a rehearsal does not send requests.
        chat: Arc::new(HostModel::default()),
        provider: agent.provider.as_str().into(),
        price: price_of(agent, settings),
        timeouts: Timeouts { first_token: Duration::MAX, idle: Duration::MAX },
        silence: None,
        limits: limits.clone(),
        account: None,
        observer: None,
    })?;
    panel.routed.clone_from(routed);
    let begun = begin(created.clone())?;
    let (little, begun) = (begun.starting_from(&gathered.low), begun.starting_from(&gathered.high));
    let short = rehearse(protocol, &panel, &little, Length::Short)?;
    let long = rehearse(protocol, &panel, &begun, Length::Long)?;
    let mut keys: Vec<&CallKey> =
        short.keys().filter(|key| same_call(&long, key, &begun).is_none()).chain(long.keys()).collect();
    keys.sort_by_key(|key| begun.key_rank(key));
    let calls = keys.into_iter().filter_map(|key| {
        let agent = &panel.agent(&key.agent_id)?.settings;
        let (in_short, in_long) = (same_call(&short, key, &begun), same_call(&long, key, &begun));
        // Only texts that agree are challenged, so a challenge is never certain.
        let is_challenge = begun.stage(key.stage).is_some_and(|stage| stage.yields == Some(ResultKind::Challenge));
        let is_certain = !is_challenge && in_short.is_some() && in_long.is_some();
        let tokens =
            |call: &RehearsedCall, length: Length| (length.tokens_of(call.bytes), u64::from(length.answer_of(agent)));
        let of_short = in_short.map(|call| tokens(call, Length::Short));
        let of_long = in_long.map(|call| tokens(call, Length::Long));
        let low = of_short.filter(|_| is_certain).unwrap_or_default();
        let high = of_long.or(of_short).unwrap_or_default();
        let tools = in_long.or(in_short).filter(|call| call.offers_tools).map(|_| ToolUse {
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
        let cost = cost_of(price_of(agent, settings), [low, planned.most_tokens()]);
        Some(PlannedCall { cost, ..planned })
    });
    let calls: Vec<PlannedCall> = calls.collect();
    let purchase: Option<Purchase> = purchase(protocol, &panel, &Debate { settings: Some(settings.clone()), ..begun })?;
    Ok(Forecast { calls, purchase })
}

/// Finds the call `key` of one rehearsal among the `calls` of another. If rounds can end early, the calls that follow
/// the rounds belong to an earlier round in the shorter rehearsal.
fn same_call<'a>(
    calls: &'a BTreeMap<CallKey, RehearsedCall>,
    key: &CallKey,
    begun: &Debate,
) -> Option<&'a RehearsedCall> {
    let is_in_round = begun.stage(key.stage).is_none_or(|stage| stage.in_round);
    let is_same = |other: &CallKey| !is_in_round && CallKey { round: key.round, ..other.clone() } == *key;
    calls.get(key).or_else(|| calls.iter().find(|(other, _)| is_same(other)).map(|(_, call)| call))
}

/// Plans a call that will certainly be made. `bytes` is the length of the request, and `max_tokens` is the agent's own
/// output limit.
pub(super) fn planned_call(
    key: CallKey,
    (provider, model): (&str, &str),
    max_tokens: Option<u32>,
    price: Option<Price>,
    bytes: usize,
) -> PlannedCall {
    let tokens =
        [Length::Short, Length::Long].map(|length| (length.tokens_of(bytes), length.answer_within(max_tokens).into()));
    let [(in_low, out_low), (in_high, out_high)] = tokens;
    PlannedCall {
        key,
        model: model.to_owned(),
        provider: provider.to_owned(),
        is_certain: true,
        input: Span { low: in_low, high: in_high },
        output: Span { low: out_low, high: out_high },
        tools: None,
        cost: cost_of(price, tokens),
    }
}

/// `tokens` are the lowest and the highest numbers of input and output tokens.
fn cost_of(price: Option<Price>, tokens: [(u64, u64); 2]) -> Option<Span<Usd>> {
    let price = price?;
    let [low, high] = tokens
        .map(|(input_tokens, output_tokens)| price.cost(Tokens { input_tokens, output_tokens, ..Tokens::default() }));
    Some(Span { low, high })
}

/// Plans a call whose answer must be valid JSON, and the second call that is made if the answer is invalid. The second
/// request repeats the first together with its answer.
pub fn planned_json_calls(
    key: CallKey,
    (provider, model): (&str, &str),
    max_tokens: Option<u32>,
    price: Option<Price>,
    bytes: usize,
) -> [PlannedCall; 2] {
    let first = planned_call(key, (provider, model), max_tokens, price, bytes);
    let input = first.input + first.output;
    let cost = cost_of(price, [(input.low, first.output.low), (input.high, first.output.high)]);
    [first.clone(), PlannedCall { is_certain: false, input, cost, ..first }]
}

/// Creates the debate without its limits and without the judge's context window, because limits and windows are checked
/// separately.
fn begin(mut created: Created) -> Result<Debate, FoldError> {
    created.settings.debate.budget = BudgetSettings::default();
    let unbounded = ModelLimits { context_window: Some(u64::MAX), max_output: None };
    let judge = created.settings.judge.model.clone();
    created.settings.models.insert(judge, unbounded);
    let event = dialectic_record::event::Event::Created(Box::new(created));
    Debate::create(&Recorded { seq: 1, at: Timestamp::now(), event })
}

/// The two rehearsals of a forecast: one has short answers and nothing that adds calls, the other has answers of
/// maximum length and everything that adds calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Length {
    Short,
    Long,
}

impl Length {
    fn answer_of(self, agent: &AgentSettings) -> u32 {
        self.answer_within(agent.max_tokens)
    }

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
        // Round up to whole words, which are assumed to have five bytes.
        ((f64::from(tokens) * self.bytes_per_token() / 5.0) as usize + 1) * 5
    }
}

fn rehearse(
    protocol: &'static Protocol,
    panel: &Panel,
    begun: &Debate,
    length: Length,
) -> Result<BTreeMap<CallKey, RehearsedCall>, ForecastError> {
    let beginnings = beginnings(begun).map_err(EngineError::from)?;
    let demanding = length == Length::Long;
    let bytes = |agent: &AgentSettings| length.bytes_of(length.answer_of(agent));
    let answers = SampleAnswers { bytes: &bytes, demanding, extends: demanding, disputes: demanding };
    let mut rehearsal = Rehearsal::new(protocol, panel, &beginnings, begun, answers);
    let mut calls = Vec::new();
    let mut goes_on = true;
    while goes_on {
        calls.extend(rehearsal.rounds(u32::MAX)?);
        let (closing, leads_on) = rehearsal.close()?;
        calls.extend(closing);
        goes_on = leads_on;
    }
    calls.retain(|call| !call.is_second_chance);
    Ok(calls.into_iter().map(|call| (call.key.clone(), call)).collect())
}

/// An upper bound for bytes per token: prose has four to five, code three.
const MOST_BYTES_PER_TOKEN: f64 = 8.0;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WindowError {
    #[error(
        "{agent}'s prompt for the {phase} is too long: it has at least {}, but the context window of `{model}` is {} tokens",
        tokens(*least), thousands(*window)
    )]
    Prompt {
        agent: String,
        phase: &'static str,
        model: String,
        /// The model's context window in tokens.
        window: u64,
        /// The minimum length of the prompt in tokens.
        least: u64,
    },
    #[error(
        "the problem is too long: it has about {} ({} characters), but the context window of `{model}` is {} tokens",
        tokens(*length), thousands(*characters), thousands(*window)
    )]
    Problem {
        /// The model with the smallest context window.
        model: String,
        /// The smallest context window in tokens.
        window: u64,
        /// The likely length of the problem in tokens.
        length: u64,
        characters: u64,
    },
}

/// Prompts stop growing after this number of rounds, because they show bounded histories.
const TELLING_ROUNDS: u32 = 3;
/// An upper bound on the tokens in a prompt other than the problem and the agents' texts.
const FRAME: u64 = 40_000;

/// The number of rounds to simulate if it is unclear whether prompts fit; `None` if they certainly fit, or if no
/// context window is known.
pub fn telling_rounds(settings: &Settings, given_bytes: usize) -> Option<u32> {
    let everybody = settings.everybody();
    let narrowest = everybody.filter_map(|agent| limits_of(agent, settings).context_window).min()?;
    let rounds = settings.debate.rounds.min(TELLING_ROUNDS);
    let agents = settings.agents.len() as u64;
    // Proposals, critiques and refinements of every round, at the maximum length that a forecast assumes.
    let written = u64::from(rounds) * agents * (agents + 1) * u64::from(ANSWER_LIMIT);
    let most = given_bytes as u64 / 2 + FRAME + written;
    (most > narrowest).then_some(rounds)
}

/// Checks that the problem fits into the smallest known context window of the panel. Rejects the problem if even a low
/// estimate of its tokens exceeds the window, since every prompt contains more than the problem.
///
/// # Errors
///
/// Returns an error if the problem does not fit.
pub fn check_problem(problem: &str, settings: &Settings) -> Result<(), WindowError> {
    let known = settings.everybody().filter_map(|agent| Some((limits_of(agent, settings).context_window?, agent)));
    let Some((window, agent)) = known.min_by_key(|(window, _)| *window) else { return Ok(()) };
    // Count characters: bytes would overestimate scripts with long encodings.
    let characters = problem.chars().count() as u64;
    let length = scaled(characters, 1.0 / BYTES_PER_TOKEN.low);
    if length <= window {
        return Ok(());
    }
    Err(WindowError::Problem { model: agent.model.clone(), window, length, characters })
}

/// Compares each planned call with its model's context window. Returns a warning for each model that probably cannot
/// read a whole prompt.
///
/// # Errors
///
/// Returns an error if a call certainly does not fit.
pub fn check_windows(calls: &[PlannedCall], settings: &Settings) -> Result<Vec<String>, WindowError> {
    let mut worst: Vec<(&PlannedCall, &AgentSettings, u64, u64)> = Vec::new();
    for call in calls {
        let everybody = settings.everybody();
        let Some(agent) = everybody.into_iter().find(|agent| agent.id == call.key.agent_id) else { continue };
        let Some(window) = limits_of(agent, settings).context_window else { continue };
        let least = scaled(call.input.low, BYTES_PER_TOKEN.low / MOST_BYTES_PER_TOKEN);
        if least > window {
            return Err(WindowError::Prompt {
                agent: agent.id.to_string(),
                phase: call.key.stage.as_str(),
                model: agent.model.clone(),
                window,
                least,
            });
        }
        // Take the geometric mean of both bounds, and add the answer, because most windows include answers.
        let probable =
            call.input.low.saturating_mul(call.input.high).isqrt() + u64::from(agent.max_tokens.unwrap_or(0));
        if probable <= window {
            continue;
        }
        match worst.iter_mut().find(|(_, other, ..)| other.model == agent.model && other.provider == agent.provider) {
            Some(known) if known.3 < probable => *known = (call, agent, window, probable),
            Some(_) => {}
            None => worst.push((call, agent, window, probable)),
        }
    }
    let warning = |(call, agent, window, probable): (&PlannedCall, &AgentSettings, u64, u64)| {
        format!(
            "the context window of `{}` is {} tokens, but the prompt for the {} of {} will probably be about {} tokens \
                 long; use a model with a larger window, a shorter problem, or fewer agents or rounds; if the size of \
                 the window is wrong, set `models.<name>.contextWindow`",
            agent.model,
            thousands(window),
            call.key.stage.as_str(),
            agent.id,
            thousands(probable),
        )
    };
    Ok(worst.into_iter().map(warning).collect())
}

/// How many bytes of a change a prompt can show: half of the smallest context window. The other half is for
/// instructions, findings, files that readers open, and answers. For a model with an unknown window, the attachment
/// limit applies.
pub fn room_for_change(settings: &Settings) -> usize {
    let room = |agent: &AgentSettings| {
        let window = limits_of(agent, settings).context_window?;
        usize::try_from(scaled(window / 2, BYTES_PER_TOKEN.high)).ok()
    };
    let rooms = settings.everybody().map(|agent| room(agent).unwrap_or(DebateSettings::ATTACHMENT_LIMIT));
    rooms.min().unwrap_or(DebateSettings::ATTACHMENT_LIMIT)
}

/// If an answer has no limit, at most the context window divided by this number is reserved for the answer.
const ANSWERS_PART: u64 = 4;

/// The estimated number of characters by which `request` and its answer exceed a `window` in tokens. The model writes
/// at most `max_output` tokens.
pub(super) fn excess(request: &Request, window: u64, max_output: Option<u32>) -> usize {
    let usual = || u64::from(max_output.unwrap_or(ANSWER_LIMIT).min(ANSWER_LIMIT)).min(window / ANSWERS_PART);
    let answer = request.max_tokens.map_or_else(usual, u64::from);
    let bytes = request_bytes(request) as u64;
    let held = scaled(window.saturating_sub(answer), (BYTES_PER_TOKEN.low * BYTES_PER_TOKEN.high).sqrt());
    let over = usize::try_from(bytes.saturating_sub(held)).unwrap_or(usize::MAX);
    // Convert to characters, because texts are shortened by characters.
    let (prompt, characters) = (request.prompt.len().max(1), request.prompt.chars().count());
    over.saturating_mul(characters).div_ceil(prompt)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "token counts are far below 2^53, and the factor is not negative"
)]
fn scaled(count: u64, factor: f64) -> u64 {
    (count as f64 * factor) as u64
}
