//! Who said what about whose proposal: a matrix that leads to the critiques.

use crate::debate::{AgentId, Contribution, ContributionType};
use crate::figures::counted;
use crate::report::View;

use super::cast::{Actor, Cast};
use super::evolution::{cut, figures};
use super::markup::{Markup, html, push};
use super::table::{Column, table};
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

/// The section.
pub(super) fn critiques(view: &View<'_>, cast: &Cast<'_>) -> Markup {
    let contributions =
        view.debate.rounds.iter().flat_map(|round| round.contributions.iter().map(move |one| (round, one)));
    let critiques: Vec<Critique<'_>> = contributions
        .filter(|(_, one)| one.kind == ContributionType::Critique)
        .zip(1..)
        .map(|((round, contribution), number)| Critique { round: round.round_number, number, contribution })
        .collect();
    if critiques.is_empty() {
        return Markup::default();
    }
    let mut section = matrix(cast, &critiques);
    for round in &view.debate.rounds {
        let mut texts = Markup::default();
        for critique in critiques.iter().filter(|critique| critique.round == round.round_number) {
            push!(texts, "{}", text(cast, critique));
        }
        if !texts.is_empty() {
            push!(section, "<h3>Round {}</h3>\n{}", round.round_number, texts);
        }
    }
    section
}

/// Critics down, targets across.
fn matrix(cast: &Cast<'_>, critiques: &[Critique<'_>]) -> Markup {
    let speaks = |actor: &&Actor<'_>| critiques.iter().any(|critique| critique.contribution.agent_id == *actor.id);
    let is_target = |actor: &&Actor<'_>| {
        critiques.iter().any(|critique| critique.contribution.target_agent_id.as_ref() == Some(actor.id))
    };
    let critics: Vec<&Actor<'_>> = cast.actors().iter().filter(speaks).collect();
    let targets: Vec<&Actor<'_>> = cast.actors().iter().filter(is_target).collect();
    if targets.is_empty() {
        return Markup::default();
    }
    let mut rows = Markup::default();
    for critic in critics {
        push!(rows, "<tr><th scope=\"row\">{}</th>", critic.chip());
        for target in &targets {
            push!(rows, "{}", cell(critic, target, critiques));
        }
        push!(rows, "</tr>\n");
    }
    let targets = targets.iter().map(|target| Column::words(&target.chip()));
    let columns: Vec<Column> = [Column::words("")].into_iter().chain(targets).collect();
    let caption = "Who criticised whom: a line for each critic, a column for each proposal, with rounds and words";
    table("matrix", caption, &columns, &rows, &Markup::default())
}

fn cell(critic: &Actor<'_>, target: &Actor<'_>, critiques: &[Critique<'_>]) -> Markup {
    let fits = |id: &AgentId, about: Option<&AgentId>| id == critic.id && about == Some(target.id);
    let mut links = Markup::default();
    for critique in critiques {
        let contribution = critique.contribution;
        if fits(&contribution.agent_id, contribution.target_agent_id.as_ref()) {
            push!(
                links,
                "<li><a href=\"#critique-{}\">Round {}</a> <small>{}</small></li>",
                critique.number,
                critique.round,
                counted(words(&contribution.content), "word"),
            );
        }
    }
    if !links.is_empty() {
        html!("<td><ul>{}</ul></td>", links)
    } else if critic.id == target.id {
        html!("<td class=\"own\"><span aria-label=\"its own\">–</span></td>")
    } else {
        html!("<td><span class=\"none\">none</span></td>")
    }
}

fn text(cast: &Cast<'_>, critique: &Critique<'_>) -> Markup {
    let contribution = critique.contribution;
    let target = contribution.target_agent_id.as_ref().map(|target| html!(" on {}", cast.chip(target)));
    // The anchor stands inside: browsers unfold what a link leads into.
    let mut summary = html!("<span>{}{}</span>", cast.chip(&contribution.agent_id), target.unwrap_or_default());
    push!(summary, " <small>{}</small>", figures(contribution));
    push!(summary, " <small class=\"beginning\"><bdi>{}</bdi></small>", beginning(&contribution.content));
    html!(
        "<details>\n<summary>{}</summary>\n<div id=\"critique-{}\" tabindex=\"-1\">\n{}{}</div>\n</details>\n",
        summary,
        critique.number,
        cut(contribution),
        markdown(&contribution.content, 4),
    )
}

/// The first words that are not a heading.
fn beginning(text: &str) -> String {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let prose: Vec<&str> = lines.take(2).collect();
    plain(&prose.join(" ").replace(['*', '`'], ""), BEGINNING)
}
