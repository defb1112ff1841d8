//! Each agent's proposals and their changes from round to round.

use maud::{Markup, html};

use crate::report::View;
use crate::report::prose::ProseLine;
use dialectic_base::figures::{counted, thousands};
use dialectic_record::debate::{Contribution, ResultKind};

use super::contributions::{cut, figures};
use super::diff::{Difference, difference};
use super::participants::{PanelMember, Participants};
use super::text::{markdown_and_lines, noun, words};

/// A shorter text fits a screen: its changes are marked even if most of it is new.
const MARKED_WHATEVER_CHANGED: u64 = 200;

/// A version of an agent's text.
struct Version<'v> {
    round: u32,
    contribution: &'v Contribution,
    /// The text as HTML, and its lines.
    whole: Markup,
    lines: Vec<ProseLine>,
}

pub(super) fn evolution(view: &View<'_>, participants: &Participants<'_>) -> Markup {
    let versions = participants.members().iter().map(|member| (member, versions(view, member)));
    let agents: Vec<_> = versions.filter(|(_, versions)| !versions.is_empty()).collect();
    html! {
        @if !agents.is_empty() {
            p.lead {
                "How each text changed from round to round. " ins { "New words" } " are underlined, "
                del { "dropped ones" } " struck through. Texts that were carried over unchanged are omitted."
            }
        }
        @for (member, versions) in agents {
            section.agent {
                h3 { (member.chip()) }
                @for (place, version) in versions.iter().enumerate() {
                    (shown(view, version, place.checked_sub(1).and_then(|before| versions.get(before))))
                }
            }
        }
    }
}

/// All texts of an agent's position, except carried-over ones.
fn versions<'v>(view: &'v View<'_>, member: &PanelMember<'_>) -> Vec<Version<'v>> {
    let mut versions = Vec::new();
    for round in &view.debate.rounds {
        let own = round.contributions.iter().filter(|one| one.agent_id == *member.id);
        let new =
            own.filter(|one| view.debate.yield_of(one) == Some(ResultKind::Proposal) && !one.metadata.carried_over);
        versions.extend(new.map(|contribution| {
            let (whole, lines) = markdown_and_lines(&contribution.content, 4);
            Version { round: round.round_number, contribution, whole, lines }
        }));
    }
    versions
}

/// Whether a long text changed so much that marks would only alternate between both texts.
fn is_rewritten(words: u64, deleted: u64) -> bool {
    words >= MARKED_WHATEVER_CHANGED && 3 * deleted >= 2 * words
}

/// The first text in full, later ones as changes with the collapsed full text, or in full if most of it is new.
fn shown(view: &View<'_>, version: &Version<'_>, before: Option<&Version<'_>>) -> Markup {
    let contribution = version.contribution;
    let text = &contribution.content;
    let whole = &version.whole;
    let compared = before.map(|before| difference(&before.lines, &version.lines));
    let (change, body) = match compared {
        None => (counted(words(text), "word"), html! { (whole) }),
        Some(Difference::None) => ("unchanged".to_owned(), html! { p.note { "The text stayed as it was." } }),
        Some(Difference::TooLong) => {
            let body = html! { p.note { "The texts are too long to be compared." } (whole) };
            (counted(words(text), "word"), body)
        }
        Some(Difference::Changes { shown, inserted, deleted }) => {
            let change = format!("+{} −{} words", thousands(inserted), thousands(deleted));
            let body = if before.is_some_and(|before| is_rewritten(words(&before.contribution.content), deleted)) {
                html! { p.note { "Most of the text is new, so the changes are not marked." } (whole) }
            } else {
                html! {
                    (shown)
                    details.full {
                        summary { "The whole text" }
                        (whole)
                    }
                }
            };
            (change, body)
        }
    };
    html! {
        details {
            summary {
                span { "Round " (version.round) " · " (noun(view.debate, contribution.stage)) }
                " " span.change { (change) } " " small { (figures(contribution)) }
            }
            (cut(contribution))
            (body)
        }
    }
}
