//! The rounds, and what was said in them.

use crate::debate::{Contribution, Round};
use crate::figures::UNKNOWN;

use super::super::View;
use super::super::stages::{SECTIONS, Section, has_target};
use super::{Detail, Document, id};

pub(super) fn write(out: &mut Document<'_>, view: &View<'_>, detail: Detail) {
    out.line("## Rounds\n");
    if view.debate.rounds.is_empty() {
        out.line("No rounds yet.\n");
    }
    for round in &view.debate.rounds {
        out.line(format_args!("### Round {}\n", round.round_number));
        for contributions in &SECTIONS {
            section(out, round, contributions, detail);
        }
    }
}

fn section(out: &mut Document<'_>, round: &Round, section: &Section, detail: Detail) {
    let mut contributions = round.contributions.iter().filter(|one| one.kind == section.kind).peekable();
    match (contributions.peek(), section.empty) {
        (None, None) => return,
        (None, Some(empty)) => out.line(format_args!("#### {}\n{empty}\n", section.title)),
        (Some(_), _) => out.line(format_args!("#### {}", section.title)),
    }
    for contribution in contributions {
        out.line(format_args!("{}{}:", who(contribution), took(contribution, detail)));
        out.fenced(&contribution.content);
        out.line("");
    }
}

fn who(contribution: &Contribution) -> String {
    let agent = id(contribution.agent_id.as_str());
    if has_target(contribution.kind) {
        let target = contribution.target_agent_id.as_ref();
        let target = target.map_or_else(|| UNKNOWN.to_owned(), |target| id(target.as_str()));
        format!("{agent} &rarr; {target}")
    } else {
        format!("Agent {agent}")
    }
}

fn took(contribution: &Contribution, detail: Detail) -> String {
    let known =
        |figure: Option<u64>, unit: &str| figure.map_or_else(|| UNKNOWN.to_owned(), |figure| format!("{figure}{unit}"));
    let metadata = &contribution.metadata;
    match detail {
        Detail::Plain => String::new(),
        Detail::Verbose => {
            format!(" (latency={}, tokens={})", known(metadata.latency_ms, "ms"), known(metadata.tokens_used, ""))
        }
    }
}
