//! The settings of the debate.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Map, Value};

use dialectic_record::debate::{Debate, PromptOrigin, PromptSources, Settings};

use crate::report::block::{Block, TableBlock, TableHead, figure, foreign, line};

/// The settings by key, the sources of prompts, and the complete saved settings. Agents and judge are described
/// elsewhere.
pub(crate) fn settings(debate: &Debate) -> Vec<Block<'_>> {
    let Some(settings) = &debate.settings else { return Vec::new() };
    let is_told = |key: &str| key.starts_with("agents.") || key.starts_with("judge.");
    let rows = flat(settings).into_iter().filter(|(key, value)| !is_told(key) && *value != Value::Null);
    let rows = rows.map(|(key, value)| {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        vec![line![foreign(key)], line![foreign(value)]]
    });
    let seed = debate.seed.map(|seed| vec![line!["seed"], line![figure(seed)]]);
    let columns = ["Setting", "Value"].map(TableHead::words);
    let table = TableBlock::new("small", "Settings by their keys", columns, rows.chain(seed));
    let mut blocks = vec![Block::Table(table)];
    let json = serde_json::to_string_pretty(settings).unwrap_or_default();
    blocks.push(Block::Folded(line!["All settings as JSON"], vec![Block::Verbatim(json.into())]));
    blocks
}

/// Settings by key; agents' settings by id.
fn flat(settings: &Settings) -> BTreeMap<String, Value> {
    let mut flat = BTreeMap::new();
    flatten("", &by_id(settings), &mut flat);
    flat
}

/// Settings as JSON with agents as an object.
fn by_id(settings: &Settings) -> Value {
    let mut value = serde_json::to_value(settings).unwrap_or_default();
    let Some(agents) = value.get_mut("agents") else { return value };
    let list = agents.as_array().cloned().unwrap_or_default();
    let named = list.into_iter().filter_map(|agent| Some((agent.get("id")?.as_str()?.to_owned(), agent)));
    *agents = Value::Object(named.collect::<Map<String, Value>>());
    value
}

fn flatten(at: &str, value: &Value, flat: &mut BTreeMap<String, Value>) {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            for (key, value) in fields {
                let key = if at.is_empty() { key.clone() } else { format!("{at}.{key}") };
                flatten(&key, value, flat);
            }
        }
        _ => drop(flat.insert(at.to_owned(), value.clone())),
    }
}

pub(crate) fn prompts(sources: &PromptSources) -> TableBlock<'_> {
    let row = |id, what: &'static str, origin: PromptOrigin, path: Option<&Path>| {
        let file = path.map(|path| line![" ", foreign(path.display().to_string())]).unwrap_or_default();
        vec![line![id, what], [line![origin.name()], file].concat()]
    };
    let agents = sources.agents.iter().map(|one| row(&one.agent_id, "", one.source, one.path.as_deref()));
    let judge = &sources.judge;
    let summary =
        judge.summary_source.map(|origin| row(&judge.id, " (summary)", origin, judge.summary_path.as_deref()));
    let rows = agents.chain([row(&judge.id, "", judge.source, judge.path.as_deref())]).chain(summary);
    TableBlock::new("small", "Sources of the prompts", ["Prompt of", "Source"].map(TableHead::words), rows)
}
