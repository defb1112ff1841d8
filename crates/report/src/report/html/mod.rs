//! The report as a self-contained HTML page without scripts or external resources. Nothing in a model's text is
//! executed.
//!
//! Pages are written with `maud`, which escapes every value that is not markup. Only `text.rs`, which renders Markdown,
//! may turn text from models and users into markup. Empty sections are omitted.

mod blocks;
mod contributions;
mod header;
mod objections;
mod solution;
mod story;
mod text;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use sha2::{Digest, Sha256};

use dialectic_base::sanitize::sanitize;
use dialectic_record::ids::ResultKind;
use dialectic_record::points::Ledger;

use self::blocks::Participants;
use self::text::{SHORT, name, plain};
use super::block::Block;
use super::stages::{self, capitalized};
use super::{View, subject};

/// Renders the report as an HTML page. The same debate always produces the same page.
pub fn html(view: &View<'_>) -> String {
    let named = view.debate.with_named_texts();
    let view = &view.on(&named);
    let participants = Participants::of(view);
    let debate = view.debate;
    let ledger = Ledger::shown(debate);
    let title = |yields, otherwise: &str| {
        capitalized(stages::first(debate, yields).map_or(otherwise, |stage| &stage.words.plural))
    };
    let of = |said: &[Block<'_>]| blocks::blocks(said, &participants, 3);
    let texts = |yields| contributions::yielding(view, &participants, yields);
    let section = |id, title: &str, body| PageSection { id, title: plain(title, SHORT), body };
    let (proposals, critiques) = (title(ResultKind::Proposal, "proposals"), title(ResultKind::Critique, "critiques"));
    let agreement = subject::agreement(&debate.rounds, &debate.extensions);
    let answer = vec![
        section("solution", &solution::title(debate), solution::solution(view, &participants)),
        section("follow-ups", "Follow-ups", solution::follow_ups(view, &participants)),
        section("problem", "Problem", header::problem(view)),
        section("participants", "Participants", blocks::participants_section(view, &participants)),
    ];
    let course = vec![
        section("story", "In short", story::story(view, &participants, &ledger)),
        section("objections", "Objections", objections::objections(view, &participants, &ledger)),
        section("team", "Team", of(&subject::team(debate))),
        section("clarifications", "Clarifications", header::clarifications(view, &participants)),
        section("proposals", &proposals, texts(ResultKind::Proposal)),
        section("critiques", &critiques, texts(ResultKind::Critique)),
        section("answer-check", "Check of the answer", of(&subject::check(debate))),
        section("speeches", "Speeches", texts(ResultKind::Speech)),
        section("others", "Other texts", contributions::others(view, &participants)),
        section("scores", "Scores", of(&subject::scores(debate))),
        section("agreement", "Agreement", of(&agreement)),
        section("arguments", "Kinds of argument", of(&subject::arguments(&debate.rounds))),
        section("vote", &contributions::vote_title(debate), contributions::vote(view, &participants)),
        section("polls", "Polls", of(&subject::polls(debate))),
        section("judgement", "Judgement", of(&subject::verdict(view))),
        section("summaries", "Summaries", contributions::summaries(view, &participants)),
    ];
    let run = vec![
        section("usage", "Cost and tokens", of(&subject::usage(debate))),
        section("settings", "Settings", of(&subject::settings(debate))),
    ];
    let parts = [("The answer", answer), ("How it was made", course), ("The run", run)];
    let glance = header::glance(view, &participants, &ledger);
    let page = page(view, &header::header(view, &glance), &parts);
    // Escaping handles markup only. Remove control characters from the finished page, so that none is missed.
    sanitize(&page).into_owned()
}

/// The maximum length of the page's title, in characters.
const TITLE_CHARS: usize = 140;
const VERSION: &str = env!("CARGO_PKG_VERSION");

struct PageSection {
    id: &'static str,
    title: String,
    /// A section with an empty body is omitted.
    body: Markup,
}

pub(super) fn title(view: &View<'_>) -> String {
    let title = view.debate.title();
    plain(if title.is_empty() { "Untitled debate" } else { &title }, TITLE_CHARS)
}

fn page(view: &View<'_>, header: &Markup, parts: &[(&str, Vec<PageSection>)]) -> String {
    let parts = parts.iter().map(|(title, sections)| {
        let shown: Vec<&PageSection> = sections.iter().filter(|section| !section.body.0.is_empty()).collect();
        (*title, shown)
    });
    let parts: Vec<_> = parts.filter(|(_, shown)| !shown.is_empty()).collect();
    let body = html! {
        a.skip href="#solution" { "Skip to the solution" }
        div.shell {
            (header)
            nav aria-label="Sections" {
                @for (title, sections) in &parts {
                    p { (title) }
                    ul {
                        @for PageSection { id, title, .. } in sections { li { a href={ "#" (id) } { (title) } } }
                    }
                }
            }
            main {
                @for (place, (title, sections)) in parts.iter().enumerate() {
                    @if place > 0 { p.part { (title) } }
                    @for PageSection { id, title, body } in sections {
                        section id=(id) aria-labelledby={ (id) "-title" } {
                            h2 id={ (id) "-title" } { (title) }
                            (body)
                        }
                    }
                }
            }
            (footer(view))
        }
    };
    frame(&title(view), &body)
}

fn frame(title: &str, body: &Markup) -> String {
    let style = compact(include_str!("page.css"));
    let policy =
        format!("default-src 'none'; style-src 'sha256-{}'; base-uri 'none'; form-action 'none'", hash(&style));
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
                title { (title) }
                style { (PreEscaped(style)) }
            }
            body { (body) }
        }
    };
    bare_quotation_marks(&page.into_string())
}

/// Removes comment lines and unnecessary whitespace from the stylesheet, but not from strings.
fn compact(style: &str) -> String {
    let lines: String = style.lines().map(str::trim).filter(|line| !line.starts_with("/*")).collect();
    let pieces = lines.split('"').enumerate().map(|(place, piece)| {
        let is_string = place % 2 == 1;
        if is_string {
            return piece.to_owned();
        }
        SPACED.iter().fold(piece.to_owned(), |piece, (spaced, bare)| piece.replace(spaced, bare))
    });
    pieces.collect::<Vec<_>>().join("\"")
}

const SPACED: [(&str, &str); 8] =
    [(" {", "{"), ("{ ", "{"), ("; ", ";"), (": ", ":"), (", ", ","), (" }", "}"), ("} ", "}"), (";}", "}")];

/// Unescapes quotation marks outside tags, where they need no escaping. This makes pages smaller. In a page written by
/// `maud`, every bare `<` starts a tag and every bare `>` ends one.
fn bare_quotation_marks(page: &str) -> String {
    let mut bare = String::with_capacity(page.len());
    let mut pieces = page.split('<');
    bare.extend(pieces.next());
    for piece in pieces {
        let (tag, text) = piece.split_once('>').unwrap_or((piece, ""));
        let end = if tag.len() < piece.len() { ">" } else { "" };
        bare.extend(["<", tag, end, &text.replace("&quot;", "\"")]);
    }
    bare
}

fn footer(view: &View<'_>) -> Markup {
    let id = name(view.debate.id.as_str());
    html! {
        footer {
            p {
                "Made by dialectic " (VERSION) " from the debate " (id) ". Recreate this page with: "
                code { "dialectic report -d " (id) " -o report.html" }
            }
            p {
                "Times are in UTC. The page is self-contained: it loads and executes nothing."
            }
        }
    }
}

/// The SHA-256 in Base64, as the content security policy requires.
pub(super) fn hash(text: &str) -> String {
    STANDARD.encode(Sha256::digest(text.as_bytes()))
}

#[cfg(test)]
mod tests;
