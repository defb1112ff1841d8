//! How large a request is.

use super::{Request, Turn};

/// The output limit, in tokens, of an agent without `maxTokens` in a debate with a cost limit: without one no attempt
/// has a highest price.
pub const ANSWER_LIMIT: u32 = 4096;

/// The bytes of everything that a request sends to be read.
#[must_use]
pub fn request_bytes(request: &Request) -> usize {
    let turns = request.turns.iter().map(|turn| match turn {
        Turn::Assistant { text, calls } => {
            text.len() + calls.iter().map(|call| call.name.len() + call.arguments.len()).sum::<usize>()
        }
        Turn::ToolResults(results) => results.iter().map(|result| result.content.len()).sum(),
        Turn::User(text) => text.len(),
    });
    let tools =
        request.tools.iter().map(|tool| tool.name.len() + tool.description.len() + tool.parameters.to_string().len());
    let schema = request.answer.as_ref().map_or(0, |answer| answer.schema.to_string().len());
    request.system.len() + request.prompt.len() + turns.sum::<usize>() + tools.sum::<usize>() + schema
}
