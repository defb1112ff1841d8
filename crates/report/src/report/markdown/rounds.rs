//! The rounds and their texts.

use dialectic_base::figures::UNKNOWN;
use dialectic_base::markdown::{heading, inline};
use dialectic_record::debate::{Contribution, Debate, ResultKind};

use super::super::View;
use super::super::stages::{StageSection, sections};
use super::{Document, ReportDetail, id};

pub(super) fn write(out: &mut Document<'_>, view: &View<'_>, detail: ReportDetail) {
    out.line("## Rounds\n");
    if view.debate.rounds.is_empty() {
        out.line("No rounds yet.\n");
    }
    for round in &view.debate.rounds {
        out.line(format_args!("### Round {}\n", round.round_number));
        for section in sections(view.debate, round) {
            write_section(out, view.debate, &section, detail);
        }
    }
}

fn write_section(out: &mut Document<'_>, debate: &Debate, section: &StageSection<'_>, detail: ReportDetail) {
    out.line(format_args!("#### {}", heading(&section.title)));
    if section.contributions.is_empty() {
        out.line(format_args!("{}\n", inline(&section.empty)));
    }
    for contribution in &section.contributions {
        out.line(format_args!("{}{}:", who(debate, contribution), took(contribution, detail)));
        out.fenced(&contribution.content);
        out.line("");
    }
}

/// The author, and the target or choice.
fn who(debate: &Debate, contribution: &Contribution) -> String {
    let agent = id(contribution.agent_id.as_str());
    let target = contribution.target_agent_id.as_ref().map(|target| id(target.as_str()));
    let yields = debate.yield_of(contribution);
    let is_ballot = yields == Some(ResultKind::Ballot);
    match target {
        // A review of several texts has no single target.
        None if yields == Some(ResultKind::Critique) && contribution.reading.is_some() => format!("Agent {agent}"),
        target if is_ballot || yields == Some(ResultKind::Critique) => {
            format!("{agent} &rarr; {}", target.as_deref().unwrap_or(UNKNOWN))
        }
        Some(target) if yields.is_none_or(|yields| yields == ResultKind::Speech) => {
            format!("{agent} &rarr; {target}")
        }
        _ => format!("Agent {agent}"),
    }
}

fn took(contribution: &Contribution, detail: ReportDetail) -> String {
    let known =
        |figure: Option<u64>, unit: &str| figure.map_or_else(|| UNKNOWN.to_owned(), |figure| format!("{figure}{unit}"));
    let metadata = &contribution.metadata;
    match detail {
        ReportDetail::Plain => String::new(),
        ReportDetail::Verbose => {
            format!(" (latency={}, tokens={})", known(metadata.latency_ms, "ms"), known(metadata.tokens_used, ""))
        }
    }
}
