//! Tool calls by models, and their results.

use serde::{Deserialize, Serialize};

/// A tool call as the model made it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The provider's id of the call.
    pub id: String,
    pub name: String,
    /// The arguments, JSON as text, exactly as the model wrote them.
    pub arguments: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolResult {
    /// The id of the [`ToolCall`] that it answers.
    pub tool_call_id: String,
    /// Always `tool`.
    pub role: String,
    /// JSON as text: `{"status":"success","result":…}` or `{"status":"error","error":…}`.
    pub content: String,
}

impl ToolResult {
    /// The result of a call that failed: `{"status":"error","error":…}`.
    pub fn error(call: &ToolCall, error: &str) -> Self {
        let content = serde_json::json!({ "status": "error", "error": error }).to_string();
        Self { tool_call_id: call.id.clone(), role: "tool".to_owned(), content }
    }
}
