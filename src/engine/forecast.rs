//! What a debate would take: it is run with a model that measures its prompts and answers with filler.
//!
//! The call graph is exact because it is the engine's own. It is run twice, with short answers and with long ones: the
//! figures of the two are the ends of a range, and calls that only long answers bring about (summaries) show as such.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use crate::agent::{MERGE_ASSESSMENT, Panel, PanelError};
use crate::debate::{
    AgentId, AgentSettings, BudgetSettings, CallKey, Created, Debate, DebateId, Forecast, ModelLimits, PanelInfo,
    Phase, PlannedCall, PromptSources, Purchase, Settings, Span, SynthesisMethod, Tokens, Usd,
};
use crate::llm::{
    ANSWER_LIMIT, Caller, CallerLimits, ChatModel, FailedAttempt, FinishReason, InFlight, Live, Reply, Request,
    Timeouts, price_of, request_bytes,
};
use crate::protocol::Protocol;
use crate::signals::Signals;
use crate::store::{Directory, Record, StoreError};

use super::{Ending, Engine, EngineError, purchase};

/// How long answers are in the run with short ones, in tokens.
const SHORT_ANSWER: u32 = 300;
/// Bytes of a token in the run with short answers, and in the one with long ones: prose lies between.
pub(super) const BYTES_PER_TOKEN: Span<f64> = Span { low: 4.5, high: 3.0 };
/// A limit that no measuring call reaches.
const NO_TIMEOUT: Duration = Duration::from_hours(1);

/// Why there is no forecast.
#[derive(Debug, thiserror::Error)]
pub enum ForecastError {
    /// No room for the record of the rehearsal.
    #[error("cannot make a temporary directory")]
    Temporary(#[source] std::io::Error),
    /// The panel cannot be built.
    #[error(transparent)]
    Panel(#[from] PanelError),
    /// The record of the rehearsal cannot be written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// It could not be run.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// It did not come to its end.
    #[error("the debate would not come to its end: {reason}")]
    Unfinished {
        /// Why.
        reason: String,
    },
}

/// What the debate that `created` begins would take. `routed` are the providers whose servers may ask other prices than
/// the list. Nothing is called, and nothing but a temporary directory is
/// written.
///
/// # Errors
/// When a role cannot be used, or the temporary directory cannot be written.
pub async fn forecast(
    protocol: &'static Protocol,
    settings: &Settings,
    routed: &BTreeSet<String>,
    created: impl Fn(&PromptSources, DebateId) -> Created,
) -> Result<Forecast, ForecastError> {
    let (short, purchase) = rehearse(protocol, settings, routed, &created, Length::Short).await?;
    let (long, _) = rehearse(protocol, settings, routed, &created, Length::Long).await?;
    let keys: Vec<CallKey> = in_order(settings, short.keys().chain(long.keys()));
    let calls = keys.into_iter().filter_map(|key| {
        let (low, high) = (short.get(&key), long.get(&key));
        let measured = high.or(low)?;
        let zero = Measured { input: 0, output: 0, ..measured.clone() };
        let (low, high) = (low.unwrap_or(&zero), high.unwrap_or(&zero));
        let price = price_of(&measured.agent, settings);
        let cost = |of: &Measured| -> Option<Usd> {
            Some(price?.cost(Tokens { input_tokens: of.input, cached_input_tokens: 0, output_tokens: of.output }))
        };
        Some(PlannedCall {
            certain: short.contains_key(&key) && long.contains_key(&key),
            key,
            model: measured.agent.model.clone(),
            provider: measured.agent.provider.clone(),
            input: Span { low: low.input, high: high.input },
            output: Span { low: low.output, high: high.output },
            cost: cost(low).zip(cost(high)).map(|(low, high)| Span { low, high }),
        })
    });
    Ok(Forecast { calls: calls.collect(), assumptions: assumptions(settings), purchase })
}

/// The keys, each once, as a reader expects them: by round and phase, agents in configuration order.
fn in_order<'a>(settings: &Settings, keys: impl Iterator<Item = &'a CallKey>) -> Vec<CallKey> {
    let rank = |id: &AgentId| settings.agents.iter().position(|agent| agent.id == *id);
    let mut keys: Vec<CallKey> = keys.cloned().collect();
    keys.sort_by_key(|key| {
        (key.round, key.phase, rank(&key.agent_id).unwrap_or(usize::MAX), key.target_agent_id.as_ref().map(rank))
    });
    keys.dedup();
    keys
}

fn assumptions(settings: &Settings) -> Vec<String> {
    let debate = &settings.debate;
    let mut assumptions = vec![
        format!(
            "answers have {SHORT_ANSWER} to {ANSWER_LIMIT} tokens, or to an agent's `maxTokens`; a token has {} to {} \
             bytes",
            BYTES_PER_TOKEN.low, BYTES_PER_TOKEN.high
        ),
        "every round is run, and no call is repeated after an error or an answer that cannot be read".to_owned(),
        "nothing is read from a provider's cache, which would cost less".to_owned(),
    ];
    let tools = settings.agents.iter().filter(|agent| !agent.tools.is_empty());
    if let Some(limit) = tools.map(|agent| agent.tool_call_limit).max() {
        assumptions.push(format!("no tool is called; each call of an agent with tools can become up to {}", limit + 1));
    }
    if debate.interactive_clarifications {
        let most = debate.clarifications_max_iterations;
        assumptions.push(format!("agents are asked once what is unclear; with answers up to {most} times"));
    }
    if debate.synthesis_method == SynthesisMethod::Voting {
        assumptions.push("the vote has a winner; a tie takes a call of the judge more".to_owned());
    }
    assumptions
}

/// How long answers are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Length {
    Short,
    Long,
}

/// A call as it was measured, in tokens.
#[derive(Debug, Clone)]
struct Measured {
    agent: AgentSettings,
    input: u64,
    output: u64,
}

type Measures = BTreeMap<CallKey, Measured>;

async fn rehearse(
    protocol: &'static Protocol,
    settings: &Settings,
    routed: &BTreeSet<String>,
    created: &impl Fn(&PromptSources, DebateId) -> Created,
    length: Length,
) -> Result<(Measures, Option<Purchase>), ForecastError> {
    let directory = tempfile::tempdir().map_err(ForecastError::Temporary)?;
    let measures = Arc::new(Mutex::new(Measures::new()));
    let limits = CallerLimits { in_flight: Arc::new(InFlight::unbounded()), max_retries: 0 };
    let mut panel = Panel::build(settings, |agent| Caller {
        chat: Arc::new(Gauge { agent: agent.clone(), length, measures: Arc::clone(&measures) }),
        provider: agent.provider.as_str().into(),
        price: price_of(agent, settings),
        timeouts: Timeouts { first_token: NO_TIMEOUT, idle: NO_TIMEOUT },
        silence: None,
        limits: limits.clone(),
        account: None,
        observer: None,
    })?;
    panel.routed.clone_from(routed);
    let sources = panel.sources.clone();
    let timeless = |id| {
        let mut created = created(&sources, id);
        // What is measured is the whole debate.
        created.settings.debate.budget = BudgetSettings::default();
        created.settings.debate.timeout_per_round = u64::try_from(NO_TIMEOUT.as_millis()).unwrap_or(u64::MAX);
        // What the judge has to read, not what its model's window leaves of it: that is warned of.
        let unbounded = ModelLimits { context_window: Some(u64::MAX), max_output: None };
        created.settings.models.insert(settings.judge.model.clone(), unbounded);
        created
    };
    let (record, _) = Record::begin(&Directory::at(directory.path()), timeless)?;
    let begun = Debate { settings: Some(settings.clone()), ..record.debate().clone() };
    let purchase = purchase(&panel, &begun)?;
    let signals = Signals::new(PanelInfo::from(settings));
    let mut engine = Engine::new(protocol, panel, record, &[], signals, CancellationToken::new());
    if engine.run().await? != Ending::Completed {
        let reason = engine.debate().error.clone().unwrap_or_default();
        return Err(ForecastError::Unfinished { reason });
    }
    drop(engine);
    let mut measures = std::mem::take(&mut *measures.lock().unwrap_or_else(PoisonError::into_inner));
    // Votes for the same label of shuffled slates scatter: a tie says nothing about the debate to come.
    measures.retain(|key, _| key.phase != Phase::Vote || key.agent_id != settings.judge.id);
    Ok((measures, purchase))
}

/// A model that measures what it is asked, and answers with filler of the right form.
struct Gauge {
    agent: AgentSettings,
    length: Length,
    measures: Arc<Mutex<Measures>>,
}

impl Gauge {
    fn answer_tokens(&self) -> u32 {
        let limit = self.agent.max_tokens.unwrap_or(ANSWER_LIMIT);
        match self.length {
            Length::Short => SHORT_ANSWER.min(limit),
            Length::Long => limit,
        }
    }

    fn bytes_per_token(&self) -> f64 {
        match self.length {
            Length::Short => BYTES_PER_TOKEN.low,
            Length::Long => BYTES_PER_TOKEN.high,
        }
    }
}

impl ChatModel for Gauge {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        clippy::cast_sign_loss,
        reason = "prompts are far below 2^53 bytes"
    )]
    fn ask<'a>(&'a self, request: &'a Request, _: Live<'a>) -> BoxFuture<'a, Result<Reply, FailedAttempt>> {
        let tokens = self.answer_tokens();
        let input = (request_bytes(request) as f64 / self.bytes_per_token()).ceil() as u64;
        let call = Measured { agent: self.agent.clone(), input, output: u64::from(tokens) };
        self.measures.lock().unwrap_or_else(PoisonError::into_inner).insert(request.brief.key.clone(), call);
        let filler = "word ".repeat((f64::from(tokens) * self.bytes_per_token() / 5.0) as usize + 1);
        let text = match &request.answer {
            Some(answer) => instance(&answer.schema).to_string(),
            None if request.brief.key.phase == Phase::Synthesis => {
                format!("{filler}\n\n```json\n{}\n```", instance(&MERGE_ASSESSMENT.schema))
            }
            None => filler,
        };
        Box::pin(std::future::ready(Ok(Reply {
            text,
            tool_calls: Vec::new(),
            finish: FinishReason::Complete,
            served_model: None,
            tokens: None,
            stated_cost: None,
        })))
    }
}

/// A label that every slate has.
const LABEL: &str = "A";

/// The least value that a schema allows.
fn instance(schema: &Value) -> Value {
    match schema["type"].as_str() {
        Some("object") => {
            let properties = schema["properties"].as_object().into_iter().flatten();
            Value::Object(properties.map(|(name, of)| (name.clone(), instance(of))).collect::<Map<_, _>>())
        }
        Some("array") => json!([]),
        Some("number" | "integer") => schema.get("minimum").cloned().unwrap_or_else(|| json!(0)),
        _ => json!(LABEL),
    }
}
