//! The participants.

use dialectic_base::figures::UNKNOWN;
use dialectic_record::debate::{Position, SummarizationSettings};

use crate::report::block::{Audience, Phrase, Piece, TableBlock, TableHead, figure, foreign, line};
use crate::report::{ParticipantView, View};

pub(crate) fn agents<'v>(view: &'v View<'_>) -> TableBlock<'v> {
    table(view, view.agents.iter().collect(), view.has_sides())
}

pub(crate) fn judge<'v>(view: &'v View<'_>) -> TableBlock<'v> {
    table(view, vec![&view.judge], false)
}

pub(crate) fn everybody<'v>(view: &'v View<'_>) -> TableBlock<'v> {
    table(view, view.by_number().into_iter().chain([&view.judge]).collect(), view.has_sides())
}

/// The column of sides is last, after the columns of older reports.
fn table<'v>(view: &'v View<'_>, members: Vec<&'v ParticipantView>, has_sides: bool) -> TableBlock<'v> {
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
    let rows = members.into_iter().map(|member| {
        let is_judge = member.id == view.judge.id;
        let side = if is_judge { "" } else { view.side_of(&member.id).map_or("none", Position::name) };
        row(member, is_judge).into_iter().chain(has_sides.then(|| line![side])).collect()
    });
    TableBlock::new("participants", "Agents and judge, with their number and colour on this page", columns, rows)
}

fn row(member: &ParticipantView, is_judge: bool) -> [Phrase<'_>; 12] {
    let settings = member.settings.as_ref();
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
        line![settings.map_or_else(|| UNKNOWN.into(), |settings| figure(settings.enabled))],
        // No report shows paths of the machine.
        line![UNKNOWN],
        line![UNKNOWN],
        settings.map_or_else(|| line![UNKNOWN], |settings| summarization(&settings.summarization)),
    ]
}

fn summarization(settings: &SummarizationSettings) -> Phrase<'_> {
    if !settings.enabled {
        return line!["off"];
    }
    let SummarizationSettings { threshold, max_length, method, .. } = settings;
    line![foreign(&**method), figure(format!(", from {threshold} to {max_length} characters"))]
}
