//! The client against a real server on loopback.

mod failures;
mod learning;
mod leniency;
mod server;
mod wire;

use std::sync::Arc;

use secrecy::SecretString;

use crate::debate::{AgentId, ApiKind, CallKey, Phase};
use crate::llm::{AnswerSchema, Brief, ChatModel, ModelError, Reply, Request};

use super::{Endpoint, OpenAiClient, http};

const KEY: &str = "sk-top-secret-0123456789";

static SCORE: AnswerSchema = AnswerSchema { name: "score", schema: score_schema };

fn score_schema() -> serde_json::Value {
    serde_json::json!({
        "type": "object",
        "properties": { "confidence": { "type": "number" } },
        "required": ["confidence"],
        "additionalProperties": false
    })
}

/// The program's client but for the system's roots, which take their time and verify nobody here.
fn quick_http_client() -> reqwest::Client {
    http::builder().tls_certs_only([]).no_proxy().build().unwrap()
}

fn client_of(provider: &str, base_url: &str, api: ApiKind) -> OpenAiClient {
    let endpoint = Endpoint {
        name: Arc::from(provider),
        base_url: base_url.to_owned(),
        api_key: Some(SecretString::from(KEY)),
        headers: vec![("X-Title".to_owned(), SecretString::from("dialectic"))],
        api,
    };
    OpenAiClient::new(endpoint, quick_http_client()).unwrap()
}

fn request(model: &str) -> Request {
    Request {
        brief: Brief {
            key: CallKey { round: 1, phase: Phase::Proposal, agent_id: AgentId::new("a"), target_agent_id: None },
            role: Arc::from("architect"),
            problem: Arc::from("p"),
            clarifications: Arc::from([]),
            material: vec![],
        },
        model: Arc::from(model),
        temperature: 0.7,
        max_tokens: None,
        system: Arc::from("be brief"),
        prompt: Arc::from("design it"),
        turns: vec![],
        answer: None,
        tools: Arc::from([]),
    }
}

async fn ask(client: &OpenAiClient, request: &Request) -> Result<Reply, ModelError> {
    client.complete(request).await
}
