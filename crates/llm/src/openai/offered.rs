//! Lists the models that a server offers.

use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;
use tokio::time::timeout;

use crate::ModelError;

use super::OpenAiClient;
use super::failure::{ServerRefusal, excerpt, refusal_body};
use super::transport::broken;

/// The path of the list.
const PATH: &str = "/models";
/// The time limit for a reachability check.
const REACH_TIMEOUT: Duration = Duration::from_secs(10);
/// The keys for the context window, the plainest first; llama.cpp's is last.
const WINDOWS: [&str; 6] =
    ["/context_length", "/context_window", "/max_model_len", "/max_context_length", "/max_input_tokens", "/meta/n_ctx"];

/// A model that a server offers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offered {
    /// The name on the server.
    pub name: String,
    /// The context window in tokens, if the server states it.
    pub context_window: Option<u64>,
}

/// The list in one of two forms; llama.cpp sends both at once.
#[derive(Deserialize)]
struct ModelList {
    data: Option<Vec<Value>>,
    models: Option<Vec<Value>>,
}

impl OpenAiClient {
    /// The server's models by name. Takes at most `limit`, and costs nothing.
    ///
    /// # Errors
    /// It cannot be reached in time, refuses, or does not return a list.
    pub async fn offered(&self, limit: Duration) -> Result<Vec<Offered>, ModelError> {
        let asked = timeout(limit, self.transport.get(PATH)).await;
        let answer = asked.map_err(|_| ModelError::TimedOut { after: limit })??;
        let address = &self.transport.address;
        if !answer.status.is_success() {
            return Err(ServerRefusal::of_answer(&answer, refusal_body(&answer).as_ref(), address, PATH).error());
        }
        let list: Option<ModelList> = serde_json::from_slice(&answer.body).ok();
        let entries = list.and_then(|list| list.data.or(list.models));
        let entries =
            entries.ok_or_else(|| broken(format!("it is not a list of models: {}", excerpt(&answer.body, address))))?;
        let mut offered: Vec<Offered> = entries.iter().filter_map(read).collect();
        offered.sort_by(|one, other| one.name.cmp(&other.name));
        offered.dedup_by(|one, other| one.name == other.name);
        Ok(offered)
    }

    /// Asks for the list of models, which costs nothing. Any answer shows that the server exists, even one without such
    /// a list, unless it reports a missing upstream.
    ///
    /// # Errors
    /// It cannot be reached.
    pub(super) async fn is_there(&self) -> Result<(), ModelError> {
        let asked = timeout(REACH_TIMEOUT, self.transport.get(PATH)).await;
        let answer = asked.map_err(|_| ModelError::TimedOut { after: REACH_TIMEOUT })??;
        let error =
            ServerRefusal::of_answer(&answer, refusal_body(&answer).as_ref(), &self.transport.address, PATH).error();
        if !answer.status.is_success() && error.is_server_gone() { Err(error) } else { Ok(()) }
    }
}

/// Google lists `models/gemini-…`, and accepts the name without the prefix.
fn read(entry: &Value) -> Option<Offered> {
    let name = entry.get("id").or_else(|| entry.get("name"))?.as_str()?.trim();
    let name = name.strip_prefix("models/").unwrap_or(name);
    let context_window = WINDOWS.iter().find_map(|key| entry.pointer(key)?.as_u64()).filter(|window| *window > 0);
    (!name.is_empty()).then(|| Offered { name: name.to_owned(), context_window })
}
