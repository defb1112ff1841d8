//! The frame of the page: head, navigation, sections, footer.

use sha2::{Digest, Sha256};

use crate::report::View;

use super::markup::{Markup, html, push};
use super::text::{name, plain};

/// Characters of the problem's first line that are shown as the page's title.
const TITLE_CHARS: usize = 140;

/// A section of the page.
pub(super) struct Section {
    id: &'static str,
    title: &'static str,
    part: Part,
    body: Markup,
}

/// The parts that the sections are grouped into, in their order.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// What came out.
    Answer,
    /// How it came about.
    Debate,
    /// What it took.
    Run,
}

impl Part {
    fn title(self) -> &'static str {
        match self {
            Self::Answer => "The answer",
            Self::Debate => "How it came to be",
            Self::Run => "The run",
        }
    }
}

impl Section {
    /// A section that is left out when its body is empty.
    pub(super) fn new(id: &'static str, title: &'static str, part: Part, body: Markup) -> Self {
        Self { id, title, part, body }
    }
}

/// The title: the problem's first line that says something, without the mark of a heading.
pub(super) fn title(view: &View<'_>) -> String {
    let lines = view.debate.problem.lines().map(|line| line.trim_start().trim_start_matches('#').trim());
    plain(lines.into_iter().find(|line| !line.is_empty()).unwrap_or("A debate without a problem"), TITLE_CHARS)
}

/// The whole page.
pub(super) fn page(view: &View<'_>, masthead: &Markup, sections: &[Section]) -> String {
    // A checkout may have changed the line breaks; the hash is over what a browser makes of them.
    let style = include_str!("page.css").replace("\r\n", "\n");
    let policy =
        format!("default-src 'none'; style-src 'sha256-{}'; base-uri 'none'; form-action 'none'", hash(&style));
    let shown: Vec<&Section> = sections.iter().filter(|section| !section.body.is_empty()).collect();
    let mut page = html!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"referrer\" content=\"no-referrer\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta name=\"generator\" content=\"dialectic {}\">\n\
         <title>{}</title>\n<style>{}</style>\n</head>\n<body>\n\
         <a class=\"skip\" href=\"#solution\">Skip to the solution</a>\n<div class=\"shell\">\n",
        policy,
        env!("CARGO_PKG_VERSION"),
        title(view),
        Markup::rendered(style),
    );
    push!(page, "{}{}<main>\n", masthead, navigation(&shown));
    let mut part = None;
    for section in shown {
        if part != Some(section.part) && section.part != Part::Answer {
            push!(page, "<p class=\"part\">{}</p>\n", section.part.title());
        }
        part = Some(section.part);
        push!(
            page,
            "<section id=\"{}\" aria-labelledby=\"{}-title\">\n<h2 id=\"{}-title\">{}</h2>\n{}</section>\n",
            section.id,
            section.id,
            section.id,
            section.title,
            section.body,
        );
    }
    push!(page, "</main>\n{}</div>\n</body>\n</html>\n", footer(view));
    page.into_string()
}

fn navigation(sections: &[&Section]) -> Markup {
    let mut navigation = html!("<nav aria-label=\"Sections\">\n");
    for part in [Part::Answer, Part::Debate, Part::Run] {
        let mut links = Markup::default();
        for section in sections.iter().filter(|section| section.part == part) {
            push!(links, "<li><a href=\"#{}\">{}</a></li>\n", section.id, section.title);
        }
        if !links.is_empty() {
            push!(navigation, "<p>{}</p>\n<ul>\n{}</ul>\n", part.title(), links);
        }
    }
    push!(navigation, "</nav>\n");
    navigation
}

fn footer(view: &View<'_>) -> Markup {
    let id = view.debate.id.as_str();
    html!(
        "<footer>\n<p>Made by dialectic {} from the debate {}. To make it anew: <code>dialectic report -d {} -o \
         report.html</code></p>\n<p>Times are in UTC. The page holds everything that it shows: it loads nothing and \
         runs nothing.</p>\n</footer>\n",
        env!("CARGO_PKG_VERSION"),
        name(id),
        name(id),
    )
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
mod tests {
    use super::*;

    #[test]
    fn a_hash_is_written_as_browsers_read_it() {
        // `printf abc | openssl dgst -sha256 -binary | base64`
        assert_eq!(hash("abc"), "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=");
    }

    #[test]
    fn the_stylesheet_loads_nothing_and_cannot_leave_its_element() {
        let style = include_str!("page.css");
        for loading in ["url(", "@import", "@font-face", "image-set(", "</", "<!--"] {
            assert!(!style.contains(loading), "{loading}");
        }
    }
}
