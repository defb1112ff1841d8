//! Diagnoses refusals that something can be done about. Servers share no codes for this, so the message decides if
//! status, code and parameter do not.

use super::capabilities::Missing;
use super::failure::ServerRefusal;

/// Names of the Responses API in messages, in lower case.
const RESPONSES_API: [&str; 6] =
    ["/responses", "responses api", "responses endpoint", "`responses`", "'responses'", "\"responses\""];
/// Messages about a missing API.
const NOT_THERE: [&str; 12] = [
    "not support",
    "n't support",
    "unsupported",
    "not implement",
    "not available",
    "unavailable",
    "not found",
    "not exist",
    "not enabled",
    "enabled only",
    "disabled",
    "cannot be used",
];
/// Messages about a missing path.
const NO_ROUTE: [&str; 12] = [
    "unknown endpoint",
    "unexpected endpoint",
    "unsupported endpoint",
    "endpoint not found",
    "endpoint is not supported",
    "no such endpoint",
    "unknown route",
    "no route",
    "unknown path",
    "unknown url",
    "invalid url",
    "request url",
];

/// Codes for requests beyond the context window: OpenAI's, llama.cpp's.
const CONTEXT_CODES: [&str; 2] = ["context_length_exceeded", "exceed_context_size_error"];
/// Messages for such requests: one or two parts that must occur together.
const CONTEXT_PHRASES: [[&str; 2]; 18] = [
    // OpenAI's Chat Completions, OpenRouter, vLLM, Mistral, DeepSeek and others.
    ["maximum context length", ""],
    // Proxies that include the code or their own error name.
    ["context_length_exceeded", ""],
    ["contextwindowexceeded", ""],
    // OpenAI's Responses API, LiteLLM
    ["context window", "exceed"],
    // vLLM since 0.16, SGLang, Ollama, LM Studio
    ["context length", "tokens"],
    ["context length", "exceed"],
    ["context length", "longer"],
    // LM Studio's older versions
    ["context", "overflow"],
    // llama.cpp, in its newer and its older versions
    ["context size", "exceed"],
    ["context size", "larger"],
    // Anthropic, for the input alone and with the output limit
    ["prompt is too long", ""],
    ["context limit", "exceed"],
    // Google
    ["input token count", "exceed"],
    // Azure
    ["input tokens exceed", ""],
    // Bedrock
    ["input is too long for requested model", ""],
    // Text Generation Inference
    ["`inputs` tokens + `max_new_tokens`", ""],
    // xAI
    ["maximum prompt length", ""],
    // Cerebras
    ["current length is", "while limit is"],
];

/// Codes of an exhausted quota or balance: OpenAI's two, Moonshot's, Anthropic's.
const QUOTA: [&str; 4] = [
    "insufficient_quota",
    "billing_hard_limit_reached",
    "exceeded_current_quota_error",
    "enforced_spend_limit_reached",
];
/// Zhipu's code for an exhausted balance.
const ZHIPU_BALANCE: &str = "1113";

impl ServerRefusal {
    /// Whether the request exceeds the context window, with any status: some servers and many proxies return 500.
    /// Excludes rate limits that count tokens.
    pub(super) fn exceeds_context(&self) -> bool {
        let said = self.message.to_lowercase();
        let coded = self.codes.iter().any(|code| CONTEXT_CODES.contains(&code.as_str()));
        let says_so = || CONTEXT_PHRASES.iter().any(|parts| parts.iter().all(|part| said.contains(part)));
        coded || !matches!(self.status, 401 | 403 | 429) && says_so()
    }

    /// Whether the Responses API is missing, from the server or the model. Excludes other faults of the request.
    pub(super) fn lacks_responses(&self) -> Option<Missing> {
        let said = self.message.to_lowercase();
        let says = |phrases: &[&str]| phrases.iter().any(|phrase| said.contains(phrase));
        let without_route = says(&NO_ROUTE) || says(&RESPONSES_API) && says(&NOT_THERE);
        let lacking = match self.status {
            405 | 501 => return Some(Missing::Server),
            404 if self.codes.iter().any(|code| code == "model_not_found") => false,
            404 => without_route || !self.names_missing_model(&said),
            // A success status: LM Studio's for unknown paths.
            400 | 200..=299 => without_route && self.names_no_parameter(&said),
            _ => false,
        };
        lacking.then(|| if says(&["model"]) { Missing::Model } else { Missing::Server })
    }

    fn names_no_parameter(&self, said: &str) -> bool {
        self.param.as_deref().is_none_or(|param| param == "model") && !said.contains("parameter")
    }

    fn names_missing_model(&self, said: &str) -> bool {
        self.codes.iter().any(|code| code.contains("model"))
            || self.param.as_deref() == Some("model")
            || said.contains("model")
            // OpenRouter's message for a model without servers.
            || said.contains("no endpoints found")
    }

    /// Whether a quota or balance is exhausted, even if a proxy has wrapped the error.
    pub(super) fn is_quota(&self) -> bool {
        let said = self.message.to_lowercase();
        let has = |codes: &[&str]| self.codes.iter().any(|code| codes.contains(&code.as_str()));
        QUOTA.iter().any(|marker| said.contains(marker))
            || has(&QUOTA)
            || self.status == 429 && (has(&[ZHIPU_BALANCE]) || said.contains("insufficient balance"))
    }

    /// Whether it names the Responses API as missing.
    pub(super) fn speaks_of_responses(&self) -> bool {
        let said = self.message.to_lowercase();
        let says = |phrases: &[&str]| phrases.iter().any(|phrase| said.contains(phrase));
        says(&RESPONSES_API) && says(&NOT_THERE) && says(&["model"])
    }

    /// Whether its reason is known and not the API: the other one would refuse, too.
    pub(super) fn is_about_the_request(&self) -> bool {
        let said = self.message.to_lowercase();
        let codes = ["model_not_found", "invalid_prompt", "content_filter", "content_policy_violation"];
        let unknown_model = ["not found", "not exist", "no such", "unknown model", "invalid model", "not have access"];
        self.exceeds_context()
            || self.is_quota()
            || self.codes.iter().any(|code| codes.contains(&code.as_str()))
            || said.contains("model") && unknown_model.iter().any(|phrase| said.contains(phrase))
            || said.contains("no endpoints found")
            || self.names(&["temperature", "tools"])
            || self.refuses_format()
    }

    /// Whether streaming may be the unstated cause: some proxies fail on every stream.
    pub(super) fn may_be_about_streaming(&self) -> bool {
        self.status == 500 && !self.in_answer && !self.is_about_the_request()
    }

    /// Whether a schema may be the unstated cause: servers that cannot turn it into a grammar fail with any status.
    pub(super) fn may_be_about_a_schema(&self) -> bool {
        matches!(self.status, 400 | 415 | 422 | 500 | 501 | 502) && !self.in_answer && !self.is_about_the_request()
    }

    /// Whether it refuses a keyword of a schema.
    pub(super) fn refuses_keyword(&self, keyword: &str) -> bool {
        let (said, keyword) = (self.message.to_lowercase(), keyword.to_lowercase());
        let mut words = said.split(|c: char| !c.is_alphanumeric());
        let of_a_schema = ["schema", "response_format", "propert", "keyword"].iter().any(|it| said.contains(it));
        self.speaks_of_parameters() && of_a_schema && words.any(|word| word == keyword)
    }

    /// Whether it accepts schemas, but not one of this size.
    pub(super) fn finds_schema_too_much(&self) -> bool {
        let said = self.message.to_lowercase();
        ["invalid schema", "too many states", "too complex"].iter().any(|phrase| said.contains(phrase))
    }

    /// Whether the model only accepts the old name of the output limit.
    pub(super) fn wants_old_limit(&self) -> bool {
        self.refuses_parameter("max_completion_tokens")
    }

    /// Whether the model requires the new name of the output limit.
    pub(super) fn wants_renamed_limit(&self) -> bool {
        self.is_about_parameters() && self.message.contains("max_completion_tokens")
    }

    /// Whether it is about the requested form of the answer.
    pub(super) fn refuses_format(&self) -> bool {
        self.speaks_of_parameters()
            && self.names(&[
                "response_format",
                "response format",
                "json schema",
                "grammar",
                "guided decoding",
                "too many states",
                "text.format",
                "json_schema",
                "structured output",
                "'format'",
                "`format`",
                "\"format\"",
            ])
    }

    /// Whether the model refuses the option for token counts in a stream.
    pub(super) fn refuses_stream_options(&self) -> bool {
        self.is_about_parameters() && self.names(&["stream_options", "include_usage"])
    }

    /// Whether the model does not stream, possibly only for this account.
    pub(super) fn refuses_streaming(&self) -> bool {
        let said = self.message.to_lowercase();
        let mut words = said.split(|c: char| !c.is_alphanumeric() && c != '_');
        let names_it = self.param.as_deref() == Some("stream") || words.any(|it| matches!(it, "stream" | "streaming"));
        // Excludes "upstream", "stream_options" and the like.
        self.is_about_parameters() && names_it
    }

    /// Whether the model does not accept `parameter`. The user must correct one that is merely out of range.
    pub(super) fn refuses_parameter(&self, parameter: &str) -> bool {
        let said = self.message.to_lowercase();
        let unsupported = [
            "unsupported",
            "not support",
            "n't support",
            "only the default",
            "deprecated",
            "not permitted",
            "not allowed",
            "unknown",
            "unrecognized",
            "unexpected",
            "extra fields",
        ];
        self.speaks_of_parameters()
            && self.names(&[parameter])
            && (unsupported.iter().any(|it| said.contains(it))
                || self.codes.iter().any(|code| code.starts_with("unsupported")))
    }

    /// Whether a message with this status may name a parameter: some servers and many proxies return 500 for all
    /// failures.
    fn speaks_of_parameters(&self) -> bool {
        !matches!(self.status, 401 | 403 | 408 | 409 | 425 | 429 | 503)
    }

    fn is_about_parameters(&self) -> bool {
        matches!(self.status, 400 | 422)
    }

    fn names(&self, parameters: &[&str]) -> bool {
        let said = self.message.to_lowercase();
        let param = self.param.as_deref().unwrap_or_default();
        parameters.iter().any(|it| said.contains(it) || param == it.trim_matches(['\'', '`', '"']))
            || parameters.iter().any(|it| param.starts_with(&format!("{it}.")))
    }
}
