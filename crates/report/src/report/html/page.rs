//! The frame of the page: head, navigation, sections, footer.

use maud::{DOCTYPE, Markup, PreEscaped, html};
use sha2::{Digest, Sha256};

use crate::report::View;

use super::text::{SHORT, name, plain};

/// Characters of the problem's first line that are shown as the page's title.
const TITLE_CHARS: usize = 140;
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// A section of the page.
pub(super) struct PageSection {
    id: &'static str,
    title: String,
    part: PagePart,
    body: Markup,
}

/// The parts that the sections are grouped into, in their order.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum PagePart {
    /// What came out.
    Answer,
    /// How it came about.
    Debate,
    /// What it took.
    Run,
}

impl PagePart {
    fn title(self) -> &'static str {
        match self {
            Self::Answer => "The answer",
            Self::Debate => "How it came to be",
            Self::Run => "The run",
        }
    }
}

impl PageSection {
    /// A section that is left out when its body is empty.
    pub(super) fn new(id: &'static str, title: &str, part: PagePart, body: Markup) -> Self {
        Self { id, title: plain(title, SHORT), part, body }
    }
}

/// The title, in as many characters as there is room for.
pub(super) fn title(view: &View<'_>) -> String {
    let title = view.debate.title();
    plain(if title.is_empty() { "A debate without a problem" } else { &title }, TITLE_CHARS)
}

/// Whether the title says all of the line that it is.
pub(super) fn is_whole_title(view: &View<'_>) -> bool {
    let title = title(view);
    let bare = |text: &str| text.trim_end_matches(|c: char| ".?!:…".contains(c)).to_owned();
    view.title()
        .is_some_and(|line| line.chars().count() <= TITLE_CHARS && bare(&title) == bare(&plain(line, TITLE_CHARS)))
}

/// The whole page.
pub(super) fn page(view: &View<'_>, header: &Markup, sections: &[PageSection]) -> String {
    // A checkout may have changed the line breaks; the hash is over what a browser makes of them.
    let style = include_str!("page.css").replace("\r\n", "\n");
    let policy =
        format!("default-src 'none'; style-src 'sha256-{}'; base-uri 'none'; form-action 'none'", hash(&style));
    let shown: Vec<&PageSection> = sections.iter().filter(|section| !section.body.0.is_empty()).collect();
    let parts = shown.chunk_by(|one, next| one.part == next.part);
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(policy);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="referrer" content="no-referrer";
                meta name="color-scheme" content="light dark";
                meta name="generator" content={ "dialectic " (VERSION) };
                title { (title(view)) }
                style { (PreEscaped(style)) }
            }
            body {
                a.skip href="#solution" { "Skip to the solution" }
                div.shell {
                    (header)
                    nav aria-label="Sections" {
                        @for part in parts.clone() { (links(part)) }
                    }
                    main {
                        @for part in parts { (part_of_page(part)) }
                    }
                    (footer(view))
                }
            }
        }
    };
    page.into_string()
}

/// The part of the navigation that leads to these sections, all of one part.
fn links(sections: &[&PageSection]) -> Markup {
    html! {
        @if let Some(first) = sections.first() { p { (first.part.title()) } }
        ul {
            @for PageSection { id, title, .. } in sections { li { a href={ "#" (id) } { (title) } } }
        }
    }
}

fn part_of_page(sections: &[&PageSection]) -> Markup {
    let named = sections.first().filter(|first| first.part != PagePart::Answer);
    html! {
        @if let Some(first) = named { p.part { (first.part.title()) } }
        @for PageSection { id, title, body, .. } in sections {
            section id=(id) aria-labelledby={ (id) "-title" } {
                h2 id={ (id) "-title" } { (title) }
                (body)
            }
        }
    }
}

fn footer(view: &View<'_>) -> Markup {
    let id = name(view.debate.id.as_str());
    let share = if view.left_out().is_some() { " --share" } else { "" };
    html! {
        footer {
            p {
                "Made by dialectic " (VERSION) " from the debate " (id) ". To make it again: "
                code { "dialectic report -d " (id) (share) " -o report.html" }
            }
            p {
                "Times are in UTC. The page holds everything that it shows: it loads nothing and runs nothing."
            }
        }
    }
}

/// SHA-256 as a Content-Security-Policy names it: in Base64.
fn hash(text: &str) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digest = Sha256::digest(text.as_bytes());
    let mut encoded = String::with_capacity(44);
    for chunk in digest.chunks(3) {
        let bytes = [0, 1, 2].map(|at| chunk.get(at).copied().map_or(0, u32::from));
        let bits = bytes[0] << 16 | bytes[1] << 8 | bytes[2];
        for place in 0..4 {
            let sextet = (bits >> (18 - 6 * place)) & 63;
            let digit = ALPHABET.get(sextet as usize).copied().map_or('A', char::from);
            encoded.push(if place > chunk.len() { '=' } else { digit });
        }
    }
    encoded
}

#[cfg(test)]
mod tests;
