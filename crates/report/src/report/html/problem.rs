//! The problem, and the agents' questions.

use maud::{Markup, html};

use crate::report::View;
use dialectic_record::debate::Answerer;

use super::participants::Participants;
use super::text::{markdown, name, typed};

/// The recorded answer if the user gave none.
const NOT_ANSWERED: &str = "NA";

/// The problem without its title, and its context.
pub(super) fn problem(view: &View<'_>) -> Markup {
    let problem = view.problem_below_title();
    html! {
        @if !problem.trim().is_empty() { (typed(problem, 3)) }
        @if let Some(context) = &view.debate.context {
            h3 { "Context" }
            (typed(context, 4))
        }
    }
}

/// The agents' questions and the user's answers.
pub(super) fn clarifications(view: &View<'_>, participants: &Participants<'_>) -> Markup {
    let groups = view.debate.clarifications.iter().flatten();
    html! {
        @for group in groups.filter(|group| !group.items.is_empty()) {
            h3 {
                @if let Some(member) = participants.find(&group.agent_id) { (member.chip()) }
                @else { (name(&group.agent_name)) " (" (name(&group.role)) ")" }
            }
            dl.questions {
                @for item in &group.items {
                    dt {
                        (markdown(&item.question, 4))
                        @if let Some(pass) = item.follow_up_pass() { p { small { "Asked in pass " (pass) "." } } }
                    }
                    dd {
                        @match item.answer.as_str() {
                            NOT_ANSWERED if item.answered_by == Some(Answerer::Agent) => {
                                p.none { "An agent skipped this." }
                            }
                            NOT_ANSWERED => p.none { "The user gave no answer." },
                            "" => p.none { "Not answered yet." },
                            answer => (typed(answer, 4)),
                        }
                        @if item.answered_by == Some(Answerer::Agent) && item.answer != NOT_ANSWERED {
                            p { small { "An agent answered." } }
                        }
                    }
                }
            }
        }
    }
}
