//! Recognizes features that a model rejects and that the next request can omit. Servers share no codes for such
//! refusals, so words decide if status, code and parameter do not.

use crate::{Request, Turn};

use super::capabilities::{Api, Capabilities, MAX_COMPLETION_TOKENS, MAX_TOKENS, Missing, Schemas, Streaming};
use super::errors::Meaning;
use super::failure::ServerRefusal;

/// Phrases that say that a parameter or value is not supported at all. Values out of range are left to the user.
#[rustfmt::skip]
const UNSUPPORTED: &[&str] = &[
    "unsupported", "not support", "n't support", "unknown", "unrecognized", "unexpected", // OpenAI and most others
    "deprecated", // Anthropic
    "not permitted", "not allowed", "extra fields", // FastAPI: Mistral, vLLM
    "not enabled", // Google
];

/// Words that, together with `temperature`, say that the model accepts only one temperature.
#[rustfmt::skip]
const ONE_TEMPERATURE: &[&str] = &[
    "only the default", // OpenAI
    "only 1", "is allowed for this model", // Moonshot
    "only be set to", // Anthropic, Bedrock
    "only support", "only accept", "only allow", "only be 1", "be set to 1", "must equal 1", // gateways
    "cannot be set", "not accept", "cannot be specified", "must be omitted", "is fixed", "not configurable", // gateways
    "should be 1 when", "should be set to 1", "must be 1 when", "must be 1 for", "must be 1.0", // gateways
    "not applicable", "remove", "must be unset", // gateways
];

/// Phrases that reject system messages; all parts separated by `*` must occur.
#[rustfmt::skip]
const NO_SYSTEM: &[&str] = &[
    "developer instruction*not enabled", // Google, for Gemma
    "system instruction*not enabled", "system instruction*not support", // Google
    "system role not supported", // Gemma's template
    "roles must alternate", // Mistral's and Gemma's templates: vLLM, llama.cpp
    "should alternate", // Perplexity
    "roles are supported", // Mistral's templates: "only user and assistant roles are supported"
    "does not support 'system'", "does not support 'developer'", // OpenAI
    "system message*not support", "system messages*not allowed", // gateways
    "system prompt*not support", "system prompts*not allowed", // gateways, SambaNova
    "role*system*invalid", "role*system*not support", "role*developer*not support", // gateways
    "unexpected*role*system", "unknown role*developer", "unknown role*system", // TensorRT-LLM, gateways
    "only supports user and assistant", "first message must be*user", "system*must be omitted", // gateways
];

/// Phrases that reject tools; all parts separated by `*` must occur.
#[rustfmt::skip]
const NO_TOOLS: &[&str] = &[
    "not support tool", "tool*not support", "support tool use", // Ollama, Groq, OpenRouter
    "tool choice requires", // vLLM
    "tools param requires", // llama.cpp
    "function call*not support", "not support function call", "function calling is not enabled", // DeepSeek, Google, Mistral
    "no support for tools", "tool*not available", "tool*not enabled", "tool*unsupported", // gateways
];

/// Names that refusals use for the output limit.
#[rustfmt::skip]
const LIMITS: &[&str] = &[
    "max_tokens", "max_completion_tokens", "max_output_tokens", "completion tokens", // OpenAI, most others
    "max_new_tokens", // DeepInfra, Text Generation Inference
    "maxoutputtokens", "output tokens", // Google, Anthropic
    "max output length", "maximum output length", "maxtokens", // gateways
    "maximum tokens", // Bedrock
];

/// Phrases that reject a model's own message, which was sent back with more than text and calls; all parts separated by
/// `*` must occur.
#[rustfmt::skip]
const NO_REPLAY: &[&str] = &[
    "reasoning_content*input", // DeepSeek's reasoner
    "property*unsupported", // Groq, Cerebras
    "extra inputs are not permitted", "extra fields not permitted", // Mistral and other FastAPI servers
    "not persisted", // OpenAI, for reasoning that it did not store
    "encrypted content*not", "encrypted_content*not", // OpenAI, for other models; Azure
    "unknown*input[", // OpenAI's Responses API
    "unknown field*messages", "unexpected field*messages", "unrecognized*messages", // gateways
];

/// Names that refusals use for the requested answer format.
#[rustfmt::skip]
const FORMATS: &[&str] = &[
    "response_format", "response format", "text.format", "'format'", "`format`", "\"format\"", // the field
    "json schema", "json_schema", "structured output", // what it asks for
    "grammar", "guided decoding", "too many states", // llama.cpp, vLLM, Fireworks, Google
];

const RESPONSES_API: &[&str] =
    &["/responses", "responses api", "responses endpoint", "`responses`", "'responses'", "\"responses\""];
/// Words that, together with a name of the Responses API, say that the API is missing.
#[rustfmt::skip]
const NOT_THERE: &[&str] = &[
    "not support", "n't support", "unsupported", "not implement", "not available", "unavailable", "not found", "not exist",
    "not enabled", "enabled only", // Azure
    "disabled", "cannot be used",
];
/// Words that say that a path is missing.
#[rustfmt::skip]
const NO_ROUTE: &[&str] = &[
    "unknown endpoint", "unexpected endpoint", "unsupported endpoint", // gateways, LM Studio
    "endpoint not found", "endpoint is not supported", "no such endpoint",
    "unknown route", "no route", "unknown path", "unknown url", "invalid url", // OpenAI, Kong
    "request url", // Groq
];
/// Words that, together with `model`, say that the model does not exist.
#[rustfmt::skip]
const NO_MODEL: &[&str] = &[
    "not found", "not exist", "no such", "unknown model", "invalid model", "not have access", // most
    "end of life", "end-of-life", "no longer available", // NVIDIA
    "decommissioned", // Groq
    "deprecated", // OpenAI, Anthropic
];

pub(super) type Adjustment = Box<dyn FnOnce(&mut Capabilities) + Send>;

impl ServerRefusal {
    /// The adjustment that the refusal implies, if it concerns a feature that can be omitted, renamed or lowered.
    /// Adjustments are never undone.
    pub(super) fn adjustment(&self, request: &Request, api: Api, known: Capabilities) -> Option<Adjustment> {
        if !self.speaks_of_parameters() {
            return None;
        }
        if let Some(answer) = request.answer.as_deref().filter(|_| known.schemas != Schemas::None) {
            let less = known.schemas.without_refused(answer, |keyword| self.refuses_keyword(keyword));
            if less != Schemas::None || self.refuses_format() {
                let is_too_much = less == Schemas::None && self.finds_schema_too_much() && known.schemas.bounds(answer);
                let less = if is_too_much { Schemas::Unbounded } else { less };
                return Some(Box::new(move |it| it.schemas = it.schemas.max(less)));
            }
        }
        let is_replay = request.turns.iter().any(Turn::is_as_it_came) || known.asks_for_reasoning(request);
        if known.takes_temperature && self.refuses_temperature() {
            Some(Box::new(|it| it.takes_temperature = false))
        } else if known.takes_system && self.says_any(NO_SYSTEM) {
            Some(Box::new(|it| it.takes_system = false))
        } else if let Some(most) = request.max_tokens.and_then(|asked| self.highest_limit(asked)) {
            Some(Box::new(move |it| it.most_output = Some(most)))
        } else if known.replays && is_replay && self.says_any(NO_REPLAY) {
            Some(Box::new(|it| it.replays = false))
        } else if known.takes_tools && request.tools_are_optional && self.refuses_tools(request) {
            Some(Box::new(|it| it.takes_tools = false))
        } else if let Some(limit) = self.other_limit(known.limit)
            && request.max_tokens.is_some()
            && api == Api::Chat
            && !known.limit_is_certain
        {
            Some(Box::new(move |it| (it.limit, it.limit_is_certain) = (limit, true)))
        } else {
            let streaming = self.streaming(api, known.streaming)?;
            Some(Box::new(move |it| it.streaming = streaming))
        }
    }

    /// Whether the refusal rejects the tools. A model that has already called a tool accepts tools, so its refusals
    /// have other causes.
    fn refuses_tools(&self, request: &Request) -> bool {
        let has_called = request.turns.iter().any(Turn::has_calls);
        let may_be = !request.tools.is_empty() && !has_called && self.meaning().is_none();
        may_be && (self.refuses_parameter("tools") || self.says_any(NO_TOOLS))
    }

    fn refuses_temperature(&self) -> bool {
        self.refuses_parameter("temperature") || self.names(&["temperature"]) && self.says_any(ONE_TEMPERATURE)
    }

    /// The highest output limit, if the refusal states one because `asked` is too high. Google's bound is exclusive.
    fn highest_limit(&self, asked: u32) -> Option<u32> {
        if !self.names(LIMITS) || self.meaning().is_some() {
            return None;
        }
        let is_part = |c: char| c.is_alphanumeric() || matches!(c, '.' | '-' | '_');
        let plain = self.said.replace(',', "");
        let numbers = plain.split(|c| !is_part(c)).filter_map(|word| word.trim_end_matches('.').parse::<u32>().ok());
        let highest = numbers.filter(|number| (1..asked).contains(number)).max()?;
        let excludes = self.says_any(&["exclusive", "lower than", "must be below"])
            || self.says("less than") && !self.says("less than or equal");
        (highest > 1).then(|| highest - u32::from(excludes))
    }

    fn other_limit(&self, limit: &str) -> Option<&'static str> {
        if limit == MAX_TOKENS {
            (self.is_about_parameters() && self.says(MAX_COMPLETION_TOKENS)).then_some(MAX_COMPLETION_TOKENS)
        } else {
            self.refuses_parameter(MAX_COMPLETION_TOKENS).then_some(MAX_TOKENS)
        }
    }

    fn streaming(&self, api: Api, streaming: Streaming) -> Option<Streaming> {
        let mut words = self.said.split(|c: char| !c.is_alphanumeric() && c != '_');
        // Excludes "upstream", "stream_options" and similar words.
        let names_it = self.param.as_deref() == Some("stream") || words.any(|it| matches!(it, "stream" | "streaming"));
        let refuses_options = self.names(&["stream_options", "include_usage"]);
        if !self.is_about_parameters() {
            None
        } else if api == Api::Chat && streaming == Streaming::WithUsage && refuses_options {
            Some(Streaming::Bare)
        } else {
            (streaming != Streaming::Never && names_it).then_some(Streaming::Never)
        }
    }

    /// Tells whether the server or only the model lacks the Responses API. Returns `None` if the refusal does not say
    /// that the API is missing, or names another fault.
    pub(super) fn lacks_responses(&self) -> Option<Missing> {
        let without_route = self.says_any(NO_ROUTE) || self.says_any(RESPONSES_API) && self.says_any(NOT_THERE);
        let names_no_parameter = self.param.as_deref().is_none_or(|param| param == "model") && !self.says("parameter");
        let lacking = match self.status {
            405 | 501 => return Some(Missing::Server),
            404 if self.says("<model_not_found>") => false,
            404 => without_route || !self.names_missing_model(),
            // LM Studio answers unknown paths with a success status.
            400 | 200..=299 => without_route && names_no_parameter,
            _ => false,
        };
        lacking.then(|| if self.says("model") { Missing::Model } else { Missing::Server })
    }

    /// OpenRouter says "no endpoints found" for a model that nobody serves.
    fn names_missing_model(&self) -> bool {
        self.says("model") || self.param.as_deref() == Some("model") || self.says("no endpoints found")
    }

    pub(super) fn speaks_of_responses(&self) -> bool {
        self.says_any(RESPONSES_API) && self.says_any(NOT_THERE) && self.says("model")
    }

    /// Whether the refusal has a known reason other than the API, so that the other API would refuse as well.
    pub(super) fn is_about_the_request(&self) -> bool {
        self.meaning().is_some_and(|meaning| meaning != Meaning::ModelFailed)
            || self.says_any(&["<model_not_found>", "<invalid_prompt>", "no endpoints found"])
            || self.says("model") && self.says_any(NO_MODEL)
            || self.names(&["temperature", "tools"])
            || self.refuses_format()
    }

    /// Whether streaming may be the unstated reason: some proxies fail on every stream.
    pub(super) fn may_be_about_streaming(&self) -> bool {
        self.status == 500 && !self.in_answer && !self.is_about_the_request()
    }

    /// Whether a schema may be the unstated reason: servers that cannot turn a schema into a grammar fail with various
    /// statuses.
    pub(super) fn may_be_about_a_schema(&self) -> bool {
        matches!(self.status, 400 | 415 | 422 | 500 | 501 | 502) && !self.in_answer && !self.is_about_the_request()
    }

    fn refuses_keyword(&self, keyword: &str) -> bool {
        let keyword = keyword.to_lowercase();
        let of_a_schema = self.says_any(&["schema", "response_format", "propert", "keyword"]);
        of_a_schema && self.said.split(|c: char| !c.is_alphanumeric()).any(|word| word == keyword)
    }

    /// Whether the server accepts schemas, but considers this one invalid or too complex.
    fn finds_schema_too_much(&self) -> bool {
        self.says_any(&["invalid schema", "too many states", "too complex"])
    }

    fn refuses_format(&self) -> bool {
        self.speaks_of_parameters() && self.names(FORMATS)
    }

    fn refuses_parameter(&self, parameter: &str) -> bool {
        self.names(&[parameter]) && self.says_any(UNSUPPORTED)
    }

    /// Whether a message with this status may name a parameter. Status 500 may, because some servers and many proxies
    /// use it for all failures.
    fn speaks_of_parameters(&self) -> bool {
        !matches!(self.status, 401 | 403 | 408 | 409 | 425 | 429 | 503)
    }

    fn is_about_parameters(&self) -> bool {
        matches!(self.status, 400 | 422)
    }

    fn names(&self, parameters: &[&str]) -> bool {
        let param = self.param.as_deref().unwrap_or_default();
        self.says_any(parameters)
            || parameters.iter().any(|it| param == it.trim_matches(['\'', '`', '"']))
            || parameters.iter().any(|it| param.starts_with(&format!("{it}.")))
    }
}
