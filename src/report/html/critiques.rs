//! Who said what about whose text: a matrix that leads to the critiques.

use maud::{Markup, html};

use crate::debate::{Contribution, Yield};
use crate::figures::counted;
use crate::report::View;

use super::contributions::{cut, figures};
use super::elements::{Column, table};
use super::participants::{Member, Participants};
use super::text::{markdown, plain, words};

/// Characters of a critique that are shown while it is folded.
const BEGINNING: usize = 110;

/// A critique with its place.
struct Critique<'v> {
    round: u32,
    /// Counted from 1 over the debate; its anchor.
    number: usize,
    contribution: &'v Contribution,
}

impl Critique<'_> {
    fn is_by(&self, member: &Member<'_>) -> bool {
        self.contribution.agent_id == *member.id
    }

    fn is_about(&self, member: &Member<'_>) -> bool {
        self.contribution.target_agent_id.as_ref() == Some(member.id)
    }
}

/// The section.
pub(super) fn critiques(view: &View<'_>, participants: &Participants<'_>) -> Markup {
    let contributions =
        view.debate.rounds.iter().flat_map(|round| round.contributions.iter().map(move |one| (round, one)));
    let critiques: Vec<Critique<'_>> = contributions
        .filter(|(_, one)| view.debate.yield_of(one) == Some(Yield::Critique))
        .zip(1..)
        .map(|((round, contribution), number)| Critique { round: round.round_number, number, contribution })
        .collect();
    html! {
        (matrix(participants, &critiques))
        @for critiques in critiques.chunk_by(|one, next| one.round == next.round) {
            @if let Some(first) = critiques.first() { h3 { "Round " (first.round) } }
            @for critique in critiques { (text(participants, critique)) }
        }
    }
}

/// Critics down, targets across.
fn matrix(participants: &Participants<'_>, critiques: &[Critique<'_>]) -> Markup {
    let members = participants.members().iter();
    let critics = members.clone().filter(|member| critiques.iter().any(|critique| critique.is_by(member)));
    let targets: Vec<&Member<'_>> =
        members.filter(|member| critiques.iter().any(|critique| critique.is_about(member))).collect();
    if targets.is_empty() {
        return Markup::default();
    }
    let rows = html! {
        @for critic in critics {
            tr {
                th scope="row" { (critic.chip()) }
                @for target in &targets { (cell(critic, target, critiques)) }
            }
        }
    };
    let names = targets.iter().map(|target| Column::words(target.chip()));
    let columns: Vec<Column> = [Column::words("")].into_iter().chain(names).collect();
    let caption =
        "Who wrote about whose text: a line for each author, a column for whom it is about, with rounds and words";
    table("matrix", caption, &columns, &rows, None)
}

fn cell(critic: &Member<'_>, target: &Member<'_>, critiques: &[Critique<'_>]) -> Markup {
    let mut fitting =
        critiques.iter().filter(|critique| critique.is_by(critic) && critique.is_about(target)).peekable();
    if fitting.peek().is_some() {
        html! {
            td {
                ul {
                    @for Critique { round, number, contribution } in fitting {
                        li {
                            a href={ "#critique-" (number) } { "Round " (round) }
                            " " small { (counted(words(&contribution.content), "word")) }
                        }
                    }
                }
            }
        }
    } else if critic.id == target.id {
        html! { td.own { span aria-label="its own" { "–" } } }
    } else {
        html! { td { span.none { "none" } } }
    }
}

fn text(participants: &Participants<'_>, critique: &Critique<'_>) -> Markup {
    let contribution = critique.contribution;
    html! {
        details {
            summary {
                span {
                    (participants.chip(&contribution.agent_id))
                    @if let Some(target) = &contribution.target_agent_id { " on " (participants.chip(target)) }
                }
                " " small { (figures(contribution)) }
                " " small.beginning { bdi { (beginning(&contribution.content)) } }
            }
            // The anchor stands inside: browsers unfold what a link leads into.
            div id={ "critique-" (critique.number) } tabindex="-1" {
                (cut(contribution))
                (markdown(&contribution.content, 4))
            }
        }
    }
}

/// The first words that are not a heading.
pub(super) fn beginning(text: &str) -> String {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let prose: Vec<&str> = lines.take(2).collect();
    plain(&prose.join(" ").replace(['*', '`'], ""), BEGINNING)
}
