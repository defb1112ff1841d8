//! What each agent proposed, and how its text changed from round to round.

use crate::debate::{Contribution, ContributionType};
use crate::figures::{counted, duration, thousands};
use crate::report::View;

use super::cast::{Actor, Cast};
use super::diff::{Difference, difference};
use super::markup::{Markup, html, push};
use super::text::{markdown, name, words};

/// A text of an agent in its round.
struct Version<'v> {
    round: u32,
    contribution: &'v Contribution,
}

/// The section.
pub(super) fn evolution(view: &View<'_>, cast: &Cast<'_>) -> Markup {
    let mut section = Markup::default();
    for actor in cast.actors() {
        let versions = versions(view, actor);
        if !versions.is_empty() {
            push!(section, "{}", agent(actor, &versions));
        }
    }
    if section.is_empty() {
        return section;
    }
    let mut with_lead = html!(
        "<p class=\"lead\">How each text changed from round to round. <ins>New words</ins> are underlined, \
         <del>dropped ones</del> struck through. A refinement that went \
         into the next round as it was is not repeated.</p>\n"
    );
    push!(with_lead, "{}", section);
    with_lead
}

/// All that an agent wrote about its own position, but for what it carried over unchanged.
fn versions<'v>(view: &'v View<'_>, actor: &Actor<'_>) -> Vec<Version<'v>> {
    let mut versions = Vec::new();
    for round in &view.debate.rounds {
        let own = round.contributions.iter().filter(|one| one.agent_id == *actor.id);
        let positions = own.filter(|one| !matches!(one.kind, ContributionType::Critique | ContributionType::Vote));
        let new = positions.filter(|one| !view.debate.is_carried_over(round.round_number, one));
        versions.extend(new.map(|contribution| Version { round: round.round_number, contribution }));
    }
    versions
}

fn agent(actor: &Actor<'_>, versions: &[Version<'_>]) -> Markup {
    let mut section = html!("<section class=\"agent\">\n<h3>{}</h3>\n", actor.chip());
    let mut before: Option<&Version<'_>> = None;
    for version in versions {
        push!(section, "{}", shown(version, before));
        before = Some(version);
    }
    push!(section, "</section>\n");
    section
}

/// The first text in full, later ones as what they changed, with the full text folded below. Speeches of a motion
/// debate follow each other and do not replace each other.
fn shown(version: &Version<'_>, before: Option<&Version<'_>>) -> Markup {
    let contribution = version.contribution;
    let text = &contribution.content;
    let replaces = matches!(
        contribution.kind,
        ContributionType::Proposal | ContributionType::Refinement | ContributionType::Revision
    );
    let compared = before.filter(|_| replaces).map(|before| difference(&before.contribution.content, text));
    let full = markdown(text, 4);
    let folded =
        |full: &Markup| html!("<details class=\"full\">\n<summary>The whole text</summary>\n{}</details>\n", full);
    let (change, body) = match compared {
        None => (counted(words(text), "word"), full),
        Some(Difference::None) => ("unchanged".to_owned(), html!("<p class=\"note\">The text stayed as it was.</p>\n")),
        Some(Difference::TooLong) => {
            let note = html!("<p class=\"note\">The texts are too long to be compared.</p>\n{}", full);
            (counted(words(text), "word"), note)
        }
        Some(Difference::Changes { shown, inserted, deleted }) => {
            let change = format!("+{} −{} words", thousands(inserted), thousands(deleted));
            (change, html!("{}{}", shown, folded(&full)))
        }
    };
    let mut summary = html!("<span>Round {} · {}</span>", version.round, kind(contribution.kind));
    push!(summary, " <span class=\"change\">{}</span> <small>{}</small>", change, figures(contribution));
    html!("<details>\n<summary>{}</summary>\n{}{}</details>\n", summary, cut(contribution), body)
}

/// What a contribution is.
pub(super) fn kind(kind: ContributionType) -> &'static str {
    match kind {
        ContributionType::Proposal => "proposal",
        ContributionType::Critique => "critique",
        ContributionType::Refinement => "refinement",
        ContributionType::Opening => "opening",
        ContributionType::Rebuttal => "rebuttal",
        ContributionType::Closing => "closing",
        ContributionType::Revision => "revision",
        ContributionType::Vote => "vote",
    }
}

/// What a contribution took, as far as it is known: model, tokens, time.
pub(super) fn figures(contribution: &Contribution) -> Markup {
    let metadata = &contribution.metadata;
    let known = [
        metadata.model.as_deref().map(name),
        metadata.tokens_used.map(|tokens| html!("{}", counted(tokens, "token"))),
        metadata.latency_ms.map(|millis| html!("{}", duration(millis))),
    ];
    let mut figures = Markup::default();
    for figure in known.into_iter().flatten() {
        push!(figures, "{}{}", if figures.is_empty() { "" } else { " · " }, figure);
    }
    figures
}

/// That a text is not whole.
pub(super) fn cut(contribution: &Contribution) -> Markup {
    match contribution.metadata.cut() {
        Some(cut) => html!("<p class=\"notice warn\">This text was cut {}.</p>\n", cut.how()),
        None => Markup::default(),
    }
}
