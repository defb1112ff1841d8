//! Interprets servers' errors: a table of known codes and words, and rules for everything else.

use crate::ModelError;
use crate::error::may_bill;

use super::failure::ServerRefusal;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meaning {
    /// The request plus its output limit exceeds the context window.
    TooLong,
    NoCredit,
    Filtered,
    BadKey,
    /// The model failed to produce this answer, but may succeed next time.
    ModelFailed,
    /// Too many requests or tokens in a period of time.
    TooFast,
}

use Meaning::{BadKey, Filtered, ModelFailed, NoCredit, TooFast, TooLong};

enum On {
    /// All statuses: the words are unambiguous, and proxies wrap errors in any status.
    Any,
    /// All except 401, 403 and 429: a rate limit may also mention tokens without meaning the size of the request.
    Sizes,
    Of(&'static [u16]),
}

use On::{Any, Of, Sizes};

const REFUSED: On = Of(&[400, 402, 403, 422, 429]);

/// Known errors, in lower case; the first matching row applies. `<…>` is a code, and all parts separated by `*` must
/// occur.
#[rustfmt::skip]
const ERRORS: &[(Meaning, On, &[&str])] = &[
    // Unambiguous codes and words.
    (TooLong, Any, &["<context_length_exceeded>"]), // OpenAI
    (TooLong, Any, &["<exceed_context_size_error>"]), // llama.cpp
    (TooLong, Any, &["<model_max_prompt_tokens_exceeded>"]), // GitHub Copilot
    (TooLong, Any, &["extra usage is required for long context"]), // Anthropic, 403 and 429
    (TooLong, Of(&[400, 413, 429]), &["request too large for*tokens per min"]), // OpenAI's 429, Groq's 413
    (NoCredit, Any, &["insufficient_quota", "billing_hard_limit_reached"]), // OpenAI
    (NoCredit, Any, &["exceeded_current_quota_error"]), // Moonshot
    (NoCredit, Any, &["enforced_spend_limit_reached"]), // Anthropic
    (NoCredit, Any, &["credit balance is too low"]), // Anthropic, 400
    (NoCredit, Any, &["<1008>", "insufficient balance (1008)"]), // MiniMax, 500
    (NoCredit, Any, &["insufficient_balance"]), // Venice, MiniMax, gateways
    (NoCredit, Any, &["<arrearage>"]), // DashScope, 400
    (NoCredit, Any, &["insufficient_user_quota", "pre_consume_token_quota_failed"]), // One API, New API
    (NoCredit, REFUSED, &["<1113>"]), // Zhipu
    (NoCredit, REFUSED, &["insufficient*balance"]), // DeepSeek, Zhipu, SiliconFlow
    (NoCredit, REFUSED, &["balance*insufficient"]), // SiliconFlow
    (NoCredit, REFUSED, &["balance*not enough"]), // Novita, gateways
    (NoCredit, REFUSED, &["insufficient*credit"]), // OpenRouter, Hugging Face
    (NoCredit, REFUSED, &["insufficient*fund", "out of credit", "spend limit"]), // gateways
    (NoCredit, REFUSED, &["used all available credits"]), // xAI
    (NoCredit, REFUSED, &["exceeded*included credits"]), // Hugging Face
    (NoCredit, REFUSED, &["spending limit"]), // xAI, Together
    (NoCredit, REFUSED, &["key limit exceeded"]), // OpenRouter, 403
    (NoCredit, REFUSED, &["freetieronly", "free tier*exhausted", "in good standing"]), // DashScope
    (NoCredit, REFUSED, &["budget has been exceeded", "exceededbudget"]), // LiteLLM
    (NoCredit, REFUSED, &["quota is not enough", "额度不足"]), // One API
    (NoCredit, REFUSED, &["top up"]), // DeepInfra, Novita
    (NoCredit, REFUSED, &["recharge"]), // Zhipu, Moonshot
    (NoCredit, REFUSED, &["余额不足"]), // Zhipu, SiliconFlow
    (NoCredit, REFUSED, &["欠费"]), // DashScope, Volcengine
    (NoCredit, REFUSED, &["overdue"]), // Volcengine
    (NoCredit, Of(&[403]), &["billing"]), // Google, gateways
    (NoCredit, Of(&[403]), &["payment"]), // gateways
    (NoCredit, Of(&[401]), &["<creditserror>"]), // OpenCode
    (Filtered, Any, &["content_policy_violation"]), // OpenAI
    (Filtered, Any, &["contentpolicyviolation"]), // LiteLLM
    (Filtered, Any, &["responsibleaipolicyviolation", "content management policy"]), // Azure
    (Filtered, Any, &["data_inspection_failed", "datainspectionfailed"]), // DashScope
    (Filtered, Any, &["<content_filter>"]), // OpenAI, Moonshot
    (Filtered, Any, &["safety_check_type"]), // xAI
    (Filtered, Any, &["prohibited_content"]), // Google
    (Filtered, REFUSED, &["violates*guidelines"]), // xAI
    (Filtered, REFUSED, &["violat*polic"]), // OpenAI, gateways
    (Filtered, REFUSED, &["usage polic"]), // OpenAI, Anthropic
    (Filtered, REFUSED, &["was flagged"]), // OpenRouter, OpenAI
    (Filtered, REFUSED, &["flagged_input"]), // OpenRouter
    (Filtered, REFUSED, &["flagged for", "flagged as"]), // OpenAI
    (Filtered, REFUSED, &["moderation"]), // OpenRouter, xAI
    (Filtered, REFUSED, &["inappropriate content"]), // DashScope
    (Filtered, REFUSED, &["<1301>", "不安全"]), // Zhipu
    (Filtered, REFUSED, &["敏感"]), // Zhipu, Baidu
    (Filtered, REFUSED, &["content exists risk"]), // DeepSeek
    (Filtered, REFUSED, &["high risk"]), // Moonshot
    (Filtered, Any, &["new_sensitive"]), // MiniMax
    (Filtered, Any, &["<1026>"]), // MiniMax, its input
    (Filtered, Any, &["<1027>"]), // MiniMax, its output
    (Filtered, REFUSED, &["sensitivecontentdetected"]), // Volcengine
    (Filtered, REFUSED, &["safety system"]), // OpenAI, Anthropic
    (Filtered, REFUSED, &["safety filter"]), // Google, gateways
    (Filtered, REFUSED, &["blocked*safety"]), // Google
    (Filtered, REFUSED, &["guardrail*intervened"]), // Bedrock
    (Filtered, REFUSED, &["violated*guardrail"]), // LiteLLM
    (Filtered, REFUSED, &["blocked*guardrail"]), // Portkey, Cloudflare
    (BadKey, Any, &["api_key_invalid", "api key not valid", "api key expired"]), // Google, 400
    (BadKey, Any, &["incorrect api key provided"]), // OpenAI; xAI, 400
    (BadKey, Any, &["<invalid_api_key>"]), // OpenAI, Groq
    (BadKey, Of(&[400, 403, 422]), &["invalid*api*key"]), // gateways
    (BadKey, Of(&[400]), &["no api key", "missing api key"]), // gateways
    (BadKey, Of(&[403]), &["api key", "api_key", "api-key", "apikey"]), // most
    (BadKey, Of(&[403]), &["key*invalid", "token*invalid", "token*expired", "unauthorized"]), // gateways
    (BadKey, Of(&[403]), &["invalid*token", "authenticat"]), // gateways, Hugging Face
    (BadKey, Of(&[403]), &["credential"]), // Anthropic, Bedrock
    (BadKey, Of(&[403]), &["security token"]), // Bedrock
    (BadKey, Of(&[403]), &["authorization header"]), // Kong, other proxies
    (BadKey, Of(&[403]), &["authorization failed"]), // NVIDIA
    (ModelFailed, Any, &["tool_use_failed", "json_validate_failed"]), // Groq, 400
    (ModelFailed, Of(&[400, 422]), &["failed_generation", "failed to call a function"]), // Groq
    (ModelFailed, Of(&[400, 422]), &["tool call validation failed", "model called a tool"]), // Groq
    (ModelFailed, Of(&[400, 422]), &["failed to generate"]), // Groq, Cerebras
    (ModelFailed, Of(&[400, 422]), &["in message header"]), // vLLM, gpt-oss
    (ModelFailed, Of(&[400, 422]), &["failed to parse tool call"]), // llama.cpp, SGLang
    (ModelFailed, Of(&[400, 404, 422]), &["model unloaded"]), // LM Studio
    (ModelFailed, Of(&[400, 404, 422]), &["model is loading"]), // LM Studio, Text Generation Inference
    (ModelFailed, Of(&[400, 404, 422]), &["loading model"]), // llama.cpp
    (ModelFailed, Of(&[400, 422]), &["operation was cancelled"]), // Google, wrapped
    (ModelFailed, Of(&[400, 422]), &["while expecting start token", "delimiter: line*column", "invalid \\escape: line"]), // vLLM
    (TooFast, Of(&[400, 403]), &["rate limit"]), // gateways, SiliconFlow
    (TooFast, Of(&[400, 403]), &["rate_limit"]), // gateways
    (TooFast, Of(&[400, 403]), &["ratelimit"]), // Google
    (TooFast, Of(&[400, 403]), &["too many requests"]), // gateways, Bedrock
    (TooFast, Of(&[400, 403]), &["throttl"]), // Bedrock, DashScope
    // Words about the size of a request.
    (TooLong, Sizes, &["maximum context length"]), // OpenAI, OpenRouter, vLLM, Mistral, DeepSeek, SGLang
    (TooLong, Sizes, &["context_length_exceeded"]), // proxies that include the code
    (TooLong, Sizes, &["contextwindowexceeded"]), // LiteLLM
    (TooLong, Sizes, &["context window*exceed"]), // OpenAI's Responses API, LiteLLM, MiniMax, llama-cpp-python
    (TooLong, Sizes, &["context length*tokens"]), // vLLM since 0.16, SGLang, Ollama, LM Studio
    (TooLong, Sizes, &["context length*exceed"]), // Ollama, gateways
    (TooLong, Sizes, &["context length*longer"]), // Together, SGLang
    (TooLong, Sizes, &["context length*larger", "n_keep*n_ctx"]), // LM Studio
    (TooLong, Sizes, &["context*overflow"]), // LM Studio's older versions
    (TooLong, Sizes, &["context size*exceed", "too large to process*batch size"]), // llama.cpp
    (TooLong, Sizes, &["context size*larger"]), // llama.cpp's older versions
    (TooLong, Sizes, &["context limit*exceed"]), // Anthropic, with the output limit
    (TooLong, Sizes, &["configured context size"]), // DwarfStar
    (TooLong, Sizes, &["prompt is too long"]), // Anthropic, Fireworks
    (TooLong, Sizes, &["prompt too long"]), // Ollama's cloud
    (TooLong, Sizes, &["input is too long"]), // Bedrock, GitHub
    (TooLong, Sizes, &["too many input tokens"]), // Bedrock
    (TooLong, Sizes, &["too many tokens*prompt"]), // Cohere
    (TooLong, Sizes, &["input*token*exceed"]), // Google, Azure, Databricks, NVIDIA
    (TooLong, Sizes, &["input token count*only supports"]), // Google's Vertex AI
    (TooLong, Sizes, &["input length*exceed"]), // NVIDIA, Poolside
    (TooLong, Sizes, &["range of input length"]), // DashScope
    (TooLong, Sizes, &["`inputs` tokens + `max_new_tokens`"]), // Text Generation Inference
    (TooLong, Sizes, &["inputs*must have less than*tokens"]), // Text Generation Inference
    (TooLong, Sizes, &["maximum prompt length"]), // xAI
    (TooLong, Sizes, &["current length is*while limit is"]), // Cerebras
    (TooLong, Sizes, &["prompt*longer than*maximum model length"]), // vLLM
    (TooLong, Sizes, &["prompt length*exceed", "max_seq_len*exceed"]), // TensorRT-LLM
    (TooLong, Sizes, &["prompt_tokens*max_seq_len"]), // SiliconFlow
    (TooLong, Sizes, &["model token limit"]), // Moonshot
    (TooLong, Sizes, &["token limit*exceed", "上下文长度"]), // gateways
    (TooLong, Sizes, &["<1261>", "prompt exceeds max length"]), // Zhipu
    (TooLong, Sizes, &["more than max tokens allowed"]), // Z.AI
    (TooLong, Sizes, &["prompt token count*exceeds the limit"]), // GitHub Copilot
    (TooLong, Sizes, &["tokens_limit_reached"]), // GitHub Models, 413
    (TooLong, Sizes, &["tokens limit exceed"]), // iFlytek, gateways
    (TooLong, Sizes, &["request_too_large", "request exceeds the maximum size"]), // Anthropic, 413
    (TooLong, Sizes, &["exceed max message tokens"]), // Volcengine
    (TooLong, Sizes, &["reduce the length of the*"]), // Groq, OpenAI
    (TooLong, Sizes, &["超长"]), // Zhipu, Tencent
    (TooLong, Sizes, &["最大长度"]), // Baidu, Tencent
    (TooLong, Sizes, &["max_total_tokens*max_seq_len"]), // SiliconFlow
    (TooLong, Of(&[413]), &["exceed"]), // AWS, other gateways
    (TooLong, Of(&[413]), &["too large"]), // nginx and other proxies, GitHub Models
];

impl ServerRefusal {
    pub(super) fn meaning(&self) -> Option<Meaning> {
        let holds = |on: &On| match on {
            Any => true,
            Sizes => !matches!(self.status, 401 | 403 | 429),
            Of(statuses) => statuses.contains(&self.status),
        };
        ERRORS.iter().find(|(_, on, rows)| holds(on) && self.says_any(rows)).map(|(meaning, ..)| *meaning)
    }

    /// All parts of `words`, which are separated by `*`, must occur in the codes or the message.
    pub(super) fn says(&self, words: &str) -> bool {
        words.split('*').all(|part| self.said.contains(part))
    }

    pub(super) fn says_any(&self, rows: &[&str]) -> bool {
        rows.iter().any(|words| self.says(words))
    }

    pub(super) fn error(&self) -> ModelError {
        let Self { status, retry_after, ref message, ref url, is_http_status, .. } = *self;
        let place = url.as_ref().map(|url| format!(" ({url})")).unwrap_or_default();
        let (said, message) = (message.clone(), format!("{message}{place}"));
        let server_failed = |message| ModelError::ServerFailed { status, retry_after, message };
        match (self.meaning(), status) {
            (Some(TooLong), _) => ModelError::ContextExceeded { message: said },
            (Some(Filtered), _) => ModelError::Filtered { message },
            // Waiting does not help if the balance is exhausted, whatever the status.
            (Some(NoCredit), _) => ModelError::NoCredit { status, message },
            (Some(BadKey), _) | (None, 401) => ModelError::Unauthorized { status, message },
            // OpenRouter's 402 with a delay means that earlier requests have reserved the credit; without a delay, no
            // credit is left.
            (None, 402) if retry_after.is_none() => ModelError::NoCredit { status, message },
            (Some(TooFast), _) | (None, 402 | 429) => ModelError::RateLimited { status, retry_after, message },
            (None, 502..=504 | 529) if is_http_status => ModelError::Unavailable { status, retry_after, message },
            // A success status with an unspecified error means that the server is faulty. Bedrock reports its own
            // failures as 424, and Google as 499.
            (Some(ModelFailed), _) | (None, 200..=299 | 408 | 409 | 424 | 425 | 499 | 500..) => server_failed(message),
            (None, _) => ModelError::Refused { status, message },
        }
    }

    /// Whether the provider may bill the request although the error states no usage. A refusal inside an answer may be
    /// billed unless it reports missing credit.
    pub(super) fn may_be_billed(&self) -> bool {
        match self.meaning() {
            Some(NoCredit) => false,
            Some(Filtered) if self.is_http_status => false,
            _ => !self.is_http_status || may_bill(self.status),
        }
    }
}
