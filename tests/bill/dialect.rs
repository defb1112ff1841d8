//! What providers say of tokens and cost, in the shapes of the vendors' own documentation, and what they bill for it.

use rand::RngExt as _;
use rand_chacha::ChaCha12Rng;
use serde_json::{Value, json};

use crate::request::Api;

/// What a million tokens cost, in dollars.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Price {
    pub(crate) input: f64,
    /// What was read from a cache; like all input where it is absent.
    pub(crate) cached: Option<f64>,
    pub(crate) output: f64,
}

/// What a call took.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Took {
    /// All input, with what was read from a cache and what was written into it.
    pub(crate) input: u64,
    pub(crate) cached: u64,
    pub(crate) written: u64,
    /// All output, reasoning included.
    pub(crate) output: u64,
    pub(crate) reasoning: u64,
}

impl Took {
    #[expect(clippy::cast_precision_loss, reason = "tokens are far below 2^53")]
    pub(crate) fn cost(self, price: Price) -> f64 {
        let cached = self.cached as f64 * price.cached.unwrap_or(price.input);
        ((self.input - self.cached) as f64 * price.input + cached + self.output as f64 * price.output) / 1e6
    }
}

/// How a provider states what a call took.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// As OpenAI does: cached input within the input, reasoning within the output.
    OpenAi,
    /// As Anthropic does: what was read from the cache and what was written beside the input; a stream begins with an
    /// output of one token, and ends with all of it.
    Anthropic,
    /// With the cost, at the prices of whoever answered; where the key is the user's own, its fee is the cost and what
    /// the upstream bills is beside it.
    OpenRouter,
    /// With the cost in a header of whole answers, or 0 there where the proxy has no price.
    LiteLlm,
    /// As xAI does: reasoning beside the completion, within the total.
    ReasoningBeside,
    /// With the reasoning at the top, beside the completion.
    ReasoningAtTop,
    /// As vLLM does where it is told to: figures in each piece of a stream, growing; then an empty one.
    Growing,
    /// Nothing.
    Silent,
    /// Another one for each call.
    Mixed,
}

impl Dialect {
    pub(crate) fn draw(random: &mut ChaCha12Rng) -> Self {
        let all = [
            Self::OpenAi,
            Self::OpenAi,
            Self::Anthropic,
            Self::OpenRouter,
            Self::OpenRouter,
            Self::LiteLlm,
            Self::ReasoningBeside,
            Self::ReasoningAtTop,
            Self::Growing,
            Self::Silent,
            Self::Mixed,
        ];
        all[random.random_range(0..all.len())]
    }

    fn of_call(self, random: &mut ChaCha12Rng) -> Self {
        let all =
            [Self::OpenAi, Self::Anthropic, Self::ReasoningBeside, Self::ReasoningAtTop, Self::Growing, Self::Silent];
        if self == Self::Mixed { all[random.random_range(0..all.len())] } else { self }
    }
}

/// What a provider says of a call, and what it bills.
#[derive(Debug, Default)]
pub(crate) struct Statement {
    pub(crate) billed: f64,
    /// In a stream: what comes with its first piece.
    pub(crate) first: Option<Value>,
    /// In a stream: whether figures come with each piece.
    pub(crate) is_growing: bool,
    /// In a stream: what comes at its end, in this order.
    pub(crate) last: Vec<Value>,
    /// In an answer as a whole.
    pub(crate) whole: Option<Value>,
    /// The value of LiteLLM's header, of an answer as a whole.
    pub(crate) header: Option<String>,
}

/// The usual figures, in the names of an API.
pub(crate) fn usual(api: Api, took: Took, output: u64) -> Value {
    let Took { input, cached, reasoning, .. } = took;
    let reasoning = reasoning.min(output);
    match api {
        Api::Chat => json!({
            "prompt_tokens": input, "prompt_tokens_details": {"cached_tokens": cached},
            "completion_tokens": output, "completion_tokens_details": {"reasoning_tokens": reasoning},
            "total_tokens": input + output,
        }),
        Api::Responses => json!({
            "input_tokens": input, "input_tokens_details": {"cached_tokens": cached},
            "output_tokens": output, "output_tokens_details": {"reasoning_tokens": reasoning},
            "total_tokens": input + output,
        }),
    }
}

/// What is said of a call that took that much at that list price. `states_nothing` is whether it may state a cost of 0
/// all the same.
pub(crate) fn statement(
    dialect: Dialect,
    api: Api,
    took: Took,
    price: Price,
    states_nothing: bool,
    random: &mut ChaCha12Rng,
) -> Statement {
    let Took { input, cached, written, output, reasoning } = took;
    let billed = took.cost(price);
    let alone =
        |usage: Value| Statement { billed, last: vec![usage.clone()], whole: Some(usage), ..Statement::default() };
    // Now and then a server says nothing, whatever it usually does.
    let is_silent = random.random_bool(0.04);
    let dialect = dialect.of_call(random);
    match dialect {
        Dialect::Silent => Statement { billed, ..Statement::default() },
        Dialect::OpenRouter => {
            let (mut usage, asked) = (usual(api, took, output), billed * random.random_range(0.25..3.5));
            let is_own_key = random.random_bool(0.3);
            usage["is_byok"] = json!(is_own_key);
            let (cost, upstream) = if is_own_key { (asked * 0.05, json!(asked)) } else { (asked, Value::Null) };
            usage["cost"] = json!(cost);
            usage["cost_details"] = json!({"upstream_inference_cost": upstream});
            Statement { billed: if is_own_key { asked * 1.05 } else { asked }, ..alone(usage) }
        }
        _ if is_silent => Statement { billed, ..Statement::default() },
        Dialect::OpenAi | Dialect::Mixed => alone(usual(api, took, output)),
        Dialect::Anthropic => {
            let of = |output: u64| {
                json!({
                    "input_tokens": input - cached - written, "cache_creation_input_tokens": written,
                    "cache_read_input_tokens": cached, "output_tokens": output,
                })
            };
            let last = if random.random_bool(0.5) { of(output) } else { json!({"output_tokens": output}) };
            let first = of(output.min(random.random_range(1..=2)));
            Statement { first: Some(first), last: vec![last], whole: Some(of(output)), billed, ..Statement::default() }
        }
        Dialect::LiteLlm => {
            let header =
                if random.random_bool(0.3) && states_nothing { "0.0".to_owned() } else { format!("{billed:.12}") };
            Statement { header: random.random_bool(0.8).then_some(header), ..alone(usual(api, took, output)) }
        }
        Dialect::ReasoningBeside => {
            let mut usage = usual(api, took, output - reasoning);
            let details = if api == Api::Chat { "completion_tokens_details" } else { "output_tokens_details" };
            usage[details]["reasoning_tokens"] = json!(reasoning);
            usage["total_tokens"] = json!(input + output);
            alone(usage)
        }
        Dialect::ReasoningAtTop => {
            let mut usage = usual(api, took, output - reasoning);
            let keys = usage.as_object_mut().expect("figures are an object");
            keys.retain(|name, _| !name.starts_with("completion_tokens_d") && !name.starts_with("output_tokens_d"));
            keys.insert("reasoning_tokens".to_owned(), json!(reasoning));
            keys.insert("total_tokens".to_owned(), json!(input + output));
            alone(usage)
        }
        Dialect::Growing => {
            let mut said = alone(usual(api, took, output));
            if random.random_bool(0.5) {
                said.last.push(usual(api, Took::default(), 0));
            }
            Statement { is_growing: true, ..said }
        }
    }
}
