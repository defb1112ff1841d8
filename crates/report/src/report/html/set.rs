//! The results of a set of debates as one page.

use maud::{Markup, html};

use dialectic_base::figures::{cost, counted, score};
use dialectic_base::money::Usd;
use dialectic_base::sanitize::sanitize;
use dialectic_record::debate::OutcomeKind;

use super::elements::{ColumnHeading, table};
use super::page::frame;
use super::text::{SHORT, markdown, name, plain};

/// What is shown of a set.
#[derive(Debug, Clone)]
pub struct SetPage<'a> {
    /// Its variants.
    pub variants: Vec<SetVariant<'a>>,
    /// Its finished debates, in their order.
    pub debates: Vec<SetDebate<'a>>,
    /// How many debates are not finished.
    pub missing: u64,
}

/// What is shown of a variant.
#[derive(Debug, Clone, Copy)]
pub struct SetVariant<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its finished debates.
    pub finished: u64,
    /// How many of its debates are planned.
    pub planned: u64,
    /// How many of them are full.
    pub full: u64,
    /// The right answers and those that a program can check.
    pub right: (u64, u64),
    /// What they cost.
    pub cost: Option<Usd>,
}

/// What is shown of a debate.
#[derive(Debug, Clone, Copy)]
pub struct SetDebate<'a> {
    /// Its id.
    pub id: &'a str,
    /// The problem's name.
    pub problem: &'a str,
    /// The variant's name.
    pub variant: &'a str,
    /// Which of several equal debates it is.
    pub repeat: u32,
    /// How it ended.
    pub outcome: Option<OutcomeKind>,
    /// Why it is not full.
    pub reasons: &'a [String],
    /// Whether its answer is right, where a program can check it.
    pub correct: Option<bool>,
    /// The judge's confidence.
    pub confidence: Option<f64>,
    /// What it cost.
    pub cost: Option<Usd>,
    /// Its title.
    pub title: Option<&'a str>,
    /// Its answer in Markdown.
    pub answer: Option<&'a str>,
}

impl SetPage<'_> {
    /// The page. The same results give the same page.
    pub fn html(&self) -> String {
        let debates = counted(self.debates.len() as u64, "debate");
        let has_answers = self.debates.iter().any(|debate| debate.correct.is_some());
        let body = html! {
            a.skip href="#debates" { "Skip to the debates" }
            div.shell {
                header {
                    p.eyebrow { "A set of debates" }
                    h1 { (debates) }
                    @if self.missing > 0 {
                        p.note { (counted(self.missing, "debate")) " of the set not finished: their answers are missing here." }
                    }
                }
                nav aria-label="Sections" {
                    ul {
                        li { a href="#variants" { "Variants" } }
                        li { a href="#debates" { "Debates" } }
                    }
                }
                main {
                    section id="variants" aria-labelledby="variants-title" {
                        h2 id="variants-title" { "Variants" }
                        (self.variants(has_answers))
                    }
                    section id="debates" aria-labelledby="debates-title" {
                        h2 id="debates-title" { "Debates" }
                        @for debate in &self.debates { (debate.shown()) }
                    }
                }
                footer {
                    p { "The page is self-contained: it loads and executes nothing." }
                }
            }
        };
        // The whole page at once, so that nothing is missed: escaping handles markup, this handles control characters.
        sanitize(&frame(&format!("A set of {debates}"), &body)).into_owned()
    }

    fn variants(&self, has_answers: bool) -> Markup {
        let mut columns = vec![
            ColumnHeading::words("Variant"),
            ColumnHeading::number("Finished"),
            ColumnHeading::number("Planned"),
            ColumnHeading::number("Full"),
        ];
        if has_answers {
            columns.push(ColumnHeading::number("Right"));
        }
        columns.push(ColumnHeading::number("Cost"));
        let rows = html! {
            @for variant in &self.variants {
                tr {
                    th scope="row" { (name(variant.name)) }
                    td.number { (variant.finished) }
                    td.number { (variant.planned) }
                    td.number { (variant.full) }
                    @if has_answers { td.number { (variant.right.0) " of " (variant.right.1) } }
                    td.number { (cost(variant.cost)) }
                }
            }
        };
        table("", "What each variant came to", &columns, &rows, None)
    }
}

impl SetDebate<'_> {
    fn shown(&self) -> Markup {
        let outcome = self.outcome.map_or(("warn", "unknown"), |kind| match kind {
            OutcomeKind::Full => ("good", kind.name()),
            OutcomeKind::Degraded | OutcomeKind::Stopped => ("warn", kind.name()),
        });
        let confidence = self.confidence.map(|confidence| format!("confidence {}", score(confidence)));
        html! {
            details id=(plain(self.id, SHORT)) {
                summary {
                    span { (name(self.problem)) }
                    small { (name(self.variant)) ", " (self.repeat) }
                    " " span.pill.(outcome.0) { (outcome.1) }
                    @if let Some(correct) = self.correct {
                        " " span.pill.(if correct { "good" } else { "bad" }) { (if correct { "right" } else { "wrong" }) }
                    }
                    @if let Some(title) = self.title { span.beginning dir="auto" { (plain(title, SHORT)) } }
                }
                p {
                    "Debate " (name(self.id)) ", cost " (cost(self.cost))
                    @if let Some(confidence) = &confidence { ", " (confidence) }
                }
                @if !self.reasons.is_empty() {
                    ul { @for reason in self.reasons { li { (name(reason)) } } }
                }
                @if let Some(answer) = self.answer { div.text { (markdown(answer, 3)) } }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_a_model_wrote_becomes_markup() {
        let hostile = "<script>alert(1)</script>\u{1b}[31m";
        let debate = SetDebate {
            id: "swp-1\" onclick=\"x",
            problem: hostile,
            variant: hostile,
            repeat: 1,
            outcome: Some(OutcomeKind::Degraded),
            reasons: &[hostile.to_owned()],
            correct: Some(false),
            confidence: Some(72.5),
            cost: None,
            title: Some(hostile),
            answer: Some("# Answer\n\n<img src=x onerror=alert(1)> [x](javascript:alert(1))"),
        };
        let variant =
            SetVariant { name: hostile, finished: 1, planned: 2, full: 0, right: (0, 1), cost: Some(Usd::ZERO) };
        let page = SetPage { variants: vec![variant], debates: vec![debate], missing: 1 }.html();
        for never in ["<script", "<img", "\u{1b}", "href=\"javascript", "id=\"swp-1\" onclick"] {
            assert!(!page.contains(never), "{never}");
        }
        for expected in ["0 of 1", "1 debate of the set not finished", "confidence 72.5", "<h3>Answer</h3>", "wrong"] {
            assert!(page.contains(expected), "{expected} in {page}");
        }
    }
}
