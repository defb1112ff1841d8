//! The tables of the agents and the judge.

use std::path::PathBuf;

use dialectic_base::figures::UNKNOWN;
use dialectic_base::markdown::cell;
use dialectic_record::debate::{AgentSettings, Position, SummarizationSettings};

use super::super::{Participant, View};
use super::Document;

/// The side of somebody who speaks and is in no settings.
const NONE: &str = "none";

const COLUMNS: [&str; 10] = [
    "ID",
    "Name",
    "Role",
    "Model",
    "Provider",
    "Temperature",
    "Enabled",
    "SystemPromptPath",
    "SummaryPromptPath",
    "Summarization",
];

/// Dashes as wide as each column's name, but for one that older reports have a dash shorter.
const RULE: &str = "|----|------|------|-------|----------|-------------|----------|------------------|-------------------|---------------|";

pub(super) fn agents(out: &mut Document<'_>, view: &View<'_>) {
    let side = |member: &Participant| view.side_of(&member.id).map_or(NONE, Position::name);
    section(out, "## Agents", &view.agents, view.has_sides().then_some(&side));
}

pub(super) fn judge(out: &mut Document<'_>, view: &View<'_>) {
    section(out, "## Judge", std::slice::from_ref(&view.judge), None);
}

/// The column of the sides comes last, behind those that older reports have.
fn section(
    out: &mut Document<'_>,
    title: &str,
    members: &[Participant],
    side: Option<&dyn Fn(&Participant) -> &'static str>,
) {
    out.line(format_args!("{title}\n"));
    out.row(COLUMNS.into_iter().chain(side.map(|_| "Side")));
    out.line(format_args!("{RULE}{}", if side.is_some() { "------|" } else { "" }));
    for member in members {
        out.row(row(member).into_iter().chain(side.map(|side| side(member).to_owned())));
    }
    out.line("\n");
}

fn row(member: &Participant) -> [String; 10] {
    let settings = member.settings.as_ref();
    let path = |of: fn(&AgentSettings) -> &Option<PathBuf>| {
        let path = settings.and_then(|settings| of(settings).as_ref());
        path.map_or_else(|| UNKNOWN.to_owned(), |path| cell(&path.display().to_string()).into_owned())
    };
    let text = |text: &str| cell(text).into_owned();
    [
        text(member.id.as_str()),
        text(&member.name),
        text(&member.role),
        text(&member.model),
        text(&member.provider),
        member.temperature.to_string(),
        settings.map_or_else(|| UNKNOWN.to_owned(), |settings| settings.enabled.to_string()),
        path(|settings| &settings.system_prompt_path),
        path(|settings| &settings.summary_prompt_path),
        settings.map_or_else(|| UNKNOWN.to_owned(), |settings| summarization(&settings.summarization)),
    ]
}

fn summarization(settings: &SummarizationSettings) -> String {
    if !settings.enabled {
        return "off".to_owned();
    }
    let SummarizationSettings { threshold, max_length, method, .. } = settings;
    format!("{}, from {threshold} to {max_length} characters", cell(method))
}
