//! The rounds, and what was said in them.

use crate::debate::{Contribution, ContributionType, Round};
use crate::figures::UNKNOWN;

use super::super::View;
use super::{Detail, Document, id};

/// The parts of a round in their order, with what is said of one that is empty; parts without that are left out then.
const PARTS: [(ContributionType, &str, Option<&str>); 8] = [
    (ContributionType::Proposal, "Proposals", Some("No proposals in this round.")),
    (ContributionType::Critique, "Critiques", Some("No critiques in this round.")),
    (ContributionType::Refinement, "Refinements", Some("No refinements in this round.")),
    (ContributionType::Opening, "Openings", None),
    (ContributionType::Rebuttal, "Rebuttals", None),
    (ContributionType::Closing, "Closings", None),
    (ContributionType::Revision, "Revisions", None),
    (ContributionType::Vote, "Votes", None),
];

pub(super) fn write(out: &mut Document<'_>, view: &View<'_>, detail: Detail) {
    out.line("## Rounds\n");
    if view.debate.rounds.is_empty() {
        out.line("No rounds yet.\n");
    }
    for round in &view.debate.rounds {
        out.line(format_args!("### Round {}\n", round.round_number));
        for (kind, title, empty) in PARTS {
            part(out, round, kind, (title, empty), detail);
        }
    }
}

fn part(
    out: &mut Document<'_>,
    round: &Round,
    kind: ContributionType,
    (title, empty): (&str, Option<&str>),
    detail: Detail,
) {
    let mut contributions = round.contributions.iter().filter(|one| one.kind == kind).peekable();
    let is_empty = contributions.peek().is_none();
    if is_empty && empty.is_none() {
        return;
    }
    out.line(format_args!("#### {title}"));
    if let (true, Some(empty)) = (is_empty, empty) {
        out.line(format_args!("{empty}\n"));
    }
    for contribution in contributions {
        out.line(format_args!("{}{}:", who(contribution), took(contribution, detail)));
        out.fenced(&contribution.content);
        out.line("");
    }
}

fn who(contribution: &Contribution) -> String {
    let agent = id(contribution.agent_id.as_str());
    match (contribution.kind, &contribution.target_agent_id) {
        (ContributionType::Critique | ContributionType::Vote, target) => {
            let target = target.as_ref().map_or_else(|| UNKNOWN.to_owned(), |target| id(target.as_str()));
            format!("{agent} &rarr; {target}")
        }
        _ => format!("Agent {agent}"),
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
