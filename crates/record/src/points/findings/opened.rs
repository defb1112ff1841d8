//! What the readers of a change opened with their tools.

use serde_json::Value;

use crate::debate::{AgentId, Debate, Metadata};
use dialectic_base::markdown::defused_line;

/// The maximum number of files and searches in a line for people.
const SHOWN: usize = 40;

impl Debate {
    /// The files and searches that a reader opened with tools, each once: `src/store.rs:10-80`, `search "charge\("`.
    pub fn opened_by(&self, reader: &AgentId) -> Vec<String> {
        let contributions = self.rounds.iter().flat_map(|round| &round.contributions);
        let own = contributions.filter(|contribution| contribution.agent_id == *reader);
        opened(own.map(|contribution| &contribution.metadata))
    }
}

/// The line that says what `who` opened; empty if that is nothing.
pub fn describe_opened(who: &str, opened: &[String]) -> String {
    let shown: Vec<String> = opened.iter().take(SHOWN).map(|one| defused_line(one)).collect();
    let more = match opened.len().saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    if shown.is_empty() { String::new() } else { format!("\n{who} also opened: {}{more}\n", shown.join(", ")) }
}

/// The files and searches of successful tool calls, each once.
pub fn opened<'a>(all: impl Iterator<Item = &'a Metadata>) -> Vec<String> {
    let mut opened: Vec<String> = Vec::new();
    for (call, result) in all.flat_map(|one| one.tool_calls.iter().zip(&one.tool_results)) {
        let answer: Value = serde_json::from_str(&result.content).unwrap_or_default();
        if answer["status"] != "success" {
            continue;
        }
        let arguments: Value = serde_json::from_str(&call.arguments).unwrap_or_default();
        let given = |name: &str| arguments[name].as_str().filter(|text| !text.is_empty());
        let place = |path: &str| given("lines").map_or_else(|| path.to_owned(), |lines| format!("{path}:{lines}"));
        let one = match call.name.as_str() {
            "file_read" => given("path").map(place),
            "file_search" | "context_search" => {
                given("pattern").or(given("term")).map(|text| format!("search \"{text}\""))
            }
            // A list of names shows no code.
            _ => None,
        };
        opened.extend(one.filter(|one| !opened.contains(one)));
    }
    opened
}
