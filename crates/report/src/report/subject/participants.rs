//! The participants and their settings.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Map, Value};

use crate::report::View;
use crate::report::block::{Audience, Block, Phrase, Piece, TableBlock, TableHead, figure, foreign, line};
use dialectic_base::figures::UNKNOWN;
use dialectic_record::debate::{
    AgentSettings, Debate, Position, PromptOrigin, PromptSources, Settings, SummarizationSettings,
};

pub(crate) fn agents<'v>(view: &'v View<'_>) -> TableBlock<'v> {
    table(view, view.agents.iter().map(|agent| known_agent(view, agent)).collect(), view.has_sides())
}

pub(crate) fn judge<'v>(view: &'v View<'_>) -> TableBlock<'v> {
    table(view, vec![known_judge(view)], false)
}

pub(crate) fn everybody<'v>(view: &'v View<'_>) -> TableBlock<'v> {
    let agents = view.by_number().into_iter().map(|agent| known_agent(view, agent));
    table(view, agents.chain([known_judge(view)]).collect(), view.has_sides())
}

/// An agent, and whether its settings are known.
fn known_agent<'v>(view: &View<'_>, agent: &'v AgentSettings) -> (&'v AgentSettings, bool) {
    (agent, view.knows_agent(&agent.id))
}

/// The judge, and whether its settings are known.
fn known_judge<'v>(view: &'v View<'_>) -> (&'v AgentSettings, bool) {
    (&view.judge, view.knows_judge())
}

/// The column for sides comes last, after the columns of older reports.
fn table<'v>(view: &'v View<'_>, members: Vec<(&'v AgentSettings, bool)>, has_sides: bool) -> TableBlock<'v> {
    let shown = ["Name", "Id"].map(|title| TableHead::words(title).only(Audience::People));
    let written = ["ID", "Name"].map(|title| TableHead::words(title).only(Audience::Programs));
    let columns = ["Role", "Model", "Provider"].map(TableHead::words);
    let details = ["Enabled", "SystemPromptPath", "SummaryPromptPath", "Summarization"];
    let columns = shown
        .into_iter()
        .chain(written)
        .chain(columns)
        .chain([TableHead::figures("Temperature").detail()])
        .chain(details.map(|title| TableHead::words(title).only(Audience::Programs)))
        .chain(has_sides.then(|| TableHead::words("Side")));
    let rows = members.into_iter().map(|(member, is_known)| {
        let is_judge = member.id == view.judge.id;
        let side = if is_judge { "" } else { view.side_of(&member.id).map_or("none", Position::name) };
        row(member, is_judge, is_known).into_iter().chain(has_sides.then(|| line![side])).collect()
    });
    TableBlock::new("participants", "Agents and judge, with their number and colour on this page", columns, rows)
}

fn row(member: &AgentSettings, is_judge: bool, is_known: bool) -> [Phrase<'_>; 12] {
    let is_judge = is_judge && member.role != "judge";
    [
        line![&member.id],
        line![foreign(member.id.as_str())],
        line![&member.id],
        line![foreign(&*member.name)],
        line![foreign(&*member.role), Piece::Aside(if is_judge { line![" (judge)"] } else { Phrase::new() })],
        line![foreign(&*member.model)],
        line![foreign(&*member.provider)],
        line![figure(member.temperature)],
        line![if is_known { figure(member.enabled) } else { UNKNOWN.into() }],
        // Reports never show paths of the machine.
        line![UNKNOWN],
        line![UNKNOWN],
        if is_known { summarization(&member.summarization) } else { line![UNKNOWN] },
    ]
}

fn summarization(settings: &SummarizationSettings) -> Phrase<'_> {
    if !settings.enabled {
        return line!["off"];
    }
    let SummarizationSettings { threshold, max_length, method, .. } = settings;
    line![foreign(&**method), figure(format!(", from {threshold} to {max_length} characters"))]
}

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
