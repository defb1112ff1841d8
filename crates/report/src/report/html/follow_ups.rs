//! What the user asked about the finished debate, and what the judge answered.

use maud::{Markup, html};

use crate::report::View;

use super::text::{markdown, plain};

/// Characters of a question.
const QUESTION: usize = 2000;

/// The section.
pub(super) fn follow_ups(view: &View<'_>) -> Markup {
    let asked = &view.debate.follow_ups;
    if asked.is_empty() {
        return Markup::default();
    }
    html! {
        @for one in asked {
            h3 { (plain(&one.question, QUESTION)) }
            @match &one.answer {
                Some(answer) => (markdown(answer, 4)),
                None => p.note { "Not answered." }
            }
        }
    }
}
