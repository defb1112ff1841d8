//! The run: participants and settings, usage by model, scores, and how it ended.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Map, Value};

use crate::report::View;
use crate::report::block::{Audience, Block, ListItem, Phrase, Piece, TableBlock, TableHead, figure, foreign, line};
use dialectic_base::figures::{UNKNOWN, cost, duration, score, thousands};
use dialectic_record::debate::{Debate, ModelUsage, Status, StopReason};
use dialectic_record::settings::{
    AgentSettings, Position, PromptOrigin, PromptSources, Settings, SummarizationSettings,
};

use super::status;

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

fn known_agent<'v>(view: &View<'_>, agent: &'v AgentSettings) -> (&'v AgentSettings, bool) {
    (agent, !view.assumed.contains(&agent.id))
}

fn known_judge<'v>(view: &'v View<'_>) -> (&'v AgentSettings, bool) {
    (&view.judge, !view.is_judge_assumed)
}

/// The column for sides comes last, so that the columns of older reports keep their places.
fn table<'v>(view: &'v View<'_>, members: Vec<(&'v AgentSettings, bool)>, has_sides: bool) -> TableBlock<'v> {
    let shown = ["Name", "Id"].map(|title| TableHead::words(title).only(Audience::People));
    let written = ["ID", "Name"].map(|title| TableHead::words(title).only(Audience::Programs));
    let columns = ["Role", "Model", "Provider"].map(TableHead::words);
    let details = ["Enabled", "SystemPromptPath", "SummaryPromptPath", "Summarization"];
    let columns = shown
        .into_iter()
        .chain(written)
        .chain(columns)
        .chain([TableHead { is_detail: true, ..TableHead::figures("Temperature") }])
        .chain(details.map(|title| TableHead::words(title).only(Audience::Programs)))
        .chain(has_sides.then(|| TableHead::words("Side")));
    let rows = members.into_iter().map(|(member, is_known)| {
        let is_judge = member.id == view.judge.id;
        let side = if is_judge { "" } else { view.side_of(&member.id).map_or("none", Position::name) };
        row(member, is_judge, is_known).into_iter().chain(has_sides.then(|| line![side])).collect()
    });
    TableBlock::new("participants", "Agents and judge, with their numbers and colours on this page", columns, rows)
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

/// The table omits the agents and the judge, which other tables describe.
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
    let table = TableBlock::new("small", "Settings by key", columns, rows.chain(seed));
    let mut blocks = vec![Block::Table(table)];
    let json = serde_json::to_string_pretty(settings).unwrap_or_default();
    blocks.push(Block::Folded(line!["All settings as JSON"], vec![Block::Verbatim(json.into())]));
    blocks
}

/// Settings by dotted key, such as `debate.rounds`; keys of agents contain the agent's id.
fn flat(settings: &Settings) -> BTreeMap<String, Value> {
    let mut flat = BTreeMap::new();
    flatten("", &by_id(settings), &mut flat);
    flat
}

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
    TableBlock::new("small", "Prompt sources", ["Prompt of", "Source"].map(TableHead::words), rows)
}

pub(crate) fn usage(debate: &Debate) -> Vec<Block<'_>> {
    if debate.usage.is_empty() {
        return vec![Block::Paragraph(line!["No finished calls on record."])];
    }
    let all = debate.total_usage();
    let has_total = debate.usage.len() > 1;
    let rows = debate.usage.iter().map(|(model, usage)| usage_row(foreign(&**model), usage));
    let rows = rows.chain(has_total.then(|| usage_row("all models".into(), &all)));
    let figures = ["Calls", "Input tokens", "Of these cached", "Output tokens", "Cost"].map(TableHead::figures);
    let columns = [TableHead::words("Model")].into_iter().chain(figures);
    let table = TableBlock { has_total, ..TableBlock::new("models", "Calls, tokens and cost by model", columns, rows) };
    let mut blocks = vec![Block::Table(table)];
    if all.silent_calls > 0 {
        blocks.push(Block::Paragraph(line!["In total: ", figure(all.tokens_in_words())]));
    }
    blocks
}

fn usage_row<'a>(model: Piece<'a>, usage: &ModelUsage) -> Vec<Phrase<'a>> {
    let about = if usage.hosted { "≈ " } else { "" };
    let tokens = [usage.input_tokens, usage.cached_input_tokens, usage.output_tokens];
    let tokens = tokens.map(|count| line![figure(format!("{about}{}", thousands(count)))]);
    [line![model], line![figure(thousands(usage.requests))]]
        .into_iter()
        .chain(tokens)
        .chain([line![figure(usage.cost_in_words(cost(usage.cost_usd)))]])
        .collect()
}

pub(crate) fn scores(debate: &Debate) -> Vec<Block<'_>> {
    let scored = debate.rounds.iter().filter_map(|round| Some((round.round_number, round.evaluation.as_ref()?)));
    let rows = scored.map(|(round, evaluation)| {
        let value = evaluation.score.map_or_else(|| "could not be read".into(), |value| figure(score(value)));
        vec![
            line![figure(round)],
            line![evaluation.kind.name()],
            line![value],
            line![figure(score(evaluation.threshold))],
        ]
    });
    let columns = [
        TableHead::figures("Round"),
        TableHead::words("Type"),
        TableHead::figures("Score"),
        TableHead::figures("Threshold"),
    ];
    let table = TableBlock::new("small", "The judge's scores", columns, rows);
    if table.rows.is_empty() { Vec::new() } else { vec![Block::Table(table)] }
}

pub(crate) fn ending(debate: &Debate) -> Vec<ListItem<'_>> {
    let mut items = Vec::new();
    let explained = |line, reasons: &'_ [String]| {
        let reasons: Vec<ListItem<'_>> =
            reasons.iter().map(|reason| ListItem::of(line![foreign(reason.clone())])).collect();
        ListItem::with(line, vec![Block::List(reasons)])
    };
    if debate.status != Status::Completed {
        items.push(ListItem::of(line!["Status: ", debate.status.name()]));
    }
    items.extend(debate.error.as_ref().map(|error| explained(line!["Error:"], std::slice::from_ref(error))));
    let outcome = debate.outcome.as_ref();
    let run = debate.run_in_words();
    let run = run.split(':').next().unwrap_or_default().to_owned();
    items.extend(outcome.map(|outcome| explained(line!["Run: ", figure(run)], &outcome.reasons)));
    items.extend(status(debate).map(|status| ListItem::of(line!["Check of the answer: ", figure(status)])));
    items.extend(debate.stop_reason.map(|reason| {
        let by = match reason {
            StopReason::Budget => debate.limit_in_words(),
            StopReason::User => "the user",
        };
        ListItem::of(line!["Stopped early by: ", by])
    }));
    items
}

pub(crate) fn extent(debate: &Debate) -> Vec<ListItem<'_>> {
    let mut items = Vec::new();
    let rounds = thousands(debate.rounds.len() as u64);
    items.extend(debate.forked_from.as_ref().map(|parent| {
        let at = foreign(parent.at.to_string());
        ListItem::of(line![
            "Forked from: ",
            foreign(parent.id.as_str()),
            " at ",
            at,
            "; earlier calls are charged to that debate"
        ])
    }));
    let settings = debate.settings.as_ref().map(|settings| &settings.debate);
    items.extend(settings.map(|settings| ListItem::of(line!["Protocol: ", foreign(&*settings.protocol)])));
    let rounds: String = match settings.map(|settings| settings.rounds) {
        // A protocol may run more rounds than configured.
        Some(most) => match (debate.rounds.len() as u64).checked_sub(most.into()) {
            Some(more @ 1..) => format!("{rounds}, {more} more than the {} configured", thousands(most.into())),
            Some(0) | None => format!("{rounds} of {}", thousands(most.into())),
        },
        None => rounds,
    };
    items.push(ListItem::of(line!["Rounds: ", figure(rounds)]));
    let took = debate.took_ms().map(|took| figure(duration(took)));
    items.push(ListItem::of(line!["Duration: ", took.unwrap_or_else(|| UNKNOWN.into())]));
    items
}
