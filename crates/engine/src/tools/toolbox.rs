//! The tools of one agent, and how its model's tool calls are run.

use std::error::Error;
use std::sync::Arc;

use serde_json::{Value, json};

use dialectic_base::tool_call::{ToolCall, ToolResult};
use dialectic_llm::ToolSpec;

use super::{TOOLS, Tool, ToolContext, ToolError};

/// The maximum number of characters shown of an unknown tool's name.
const NAME_SHOWN: usize = 64;

/// The tools of one agent.
pub struct Toolbox {
    tools: Vec<&'static Tool>,
    specs: Arc<[ToolSpec]>,
    context: ToolContext,
}

/// The specifications of tools by name; omits unknown names.
pub fn specs<'a>(names: impl Iterator<Item = &'a str>) -> Vec<ToolSpec> {
    let names: Vec<_> = names.collect();
    TOOLS.iter().map(Tool::spec).filter(|spec| names.contains(&spec.name.as_str())).collect()
}

impl Toolbox {
    /// The tools with these `names`. Omits unknown ones, about which the configuration has warned.
    ///
    /// They are in the registry's order, so that agents with the same tools send the same bytes, which providers cache.
    pub fn new<'a>(names: impl Iterator<Item = &'a str>, context: ToolContext) -> Self {
        let names: Vec<_> = names.collect();
        let with_specs = TOOLS.iter().map(|tool| (tool, tool.spec()));
        let (tools, specs): (Vec<_>, Vec<_>) =
            with_specs.filter(|(_, spec)| names.contains(&spec.name.as_str())).unzip();
        Self { tools, specs: specs.into(), context }
    }

    /// The specifications for a request.
    pub fn specs(&self) -> Arc<[ToolSpec]> {
        Arc::clone(&self.specs)
    }

    pub fn is_empty(&self) -> bool {
        self.tools.is_empty()
    }

    /// Runs a call, and returns its result or error as text for the model. Blocks on file I/O.
    pub fn run(&self, call: &ToolCall) -> ToolResult {
        let answer = match self.result(call) {
            Ok(result) => json!({ "status": "success", "result": result }),
            Err(error) => json!({ "status": "error", "error": with_causes(&error) }),
        };
        let content = answer.to_string();
        ToolResult { tool_call_id: call.id.clone(), role: "tool".to_owned(), content }
    }

    fn result(&self, call: &ToolCall) -> Result<Value, ToolError> {
        let position = self.specs.iter().position(|spec| spec.name == call.name);
        let Some(tool) = position.and_then(|position| self.tools.get(position)) else {
            let offered = self.specs.iter().map(|spec| spec.name.clone()).collect();
            return Err(ToolError::Unknown { name: call.name.chars().take(NAME_SHOWN).collect(), offered });
        };
        // Some models send nothing if there are no arguments.
        let arguments = match call.arguments.trim() {
            "" => json!({}),
            text => serde_json::from_str(text).map_err(ToolError::NotJson)?,
        };
        (tool.run)(tool.argument.of(&arguments)?, &self.context)
    }
}

fn with_causes(error: &ToolError) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}
