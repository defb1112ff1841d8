//! The follow-up questions and their answers.

use maud::{Markup, html};

use crate::report::View;

use super::participants::Participants;
use super::text::{markdown, plain};

/// The maximum characters of a question.
const QUESTION: usize = 2000;

pub(super) fn follow_ups(view: &View<'_>, participants: &Participants<'_>) -> Markup {
    let asked = &view.debate.follow_ups;
    if asked.is_empty() {
        return Markup::default();
    }
    html! {
        @for one in asked {
            h3 { (plain(&one.question, QUESTION)) }
            @match &one.answer {
                Some(answer) => {
                    @if let Some(who) = &one.answered_by { p { (participants.chip(who)) " answered:" } }
                    (markdown(answer, 4))
                }
                None => p.note { "Not answered." }
            }
        }
    }
}
