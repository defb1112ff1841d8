//! What the agents asked, and what the user answered.

use crate::markdown::{heading, inline};

use super::super::View;
use super::Document;

/// Nothing when nobody asked anything.
pub(super) fn write(out: &mut Document<'_>, view: &View<'_>) {
    let groups = view.debate.clarifications.as_deref().unwrap_or_default();
    if groups.iter().all(|group| group.items.is_empty()) {
        return;
    }
    out.line("## Clarifications\n");
    for group in groups.iter().filter(|group| !group.items.is_empty()) {
        out.line(format_args!("### {}", heading(&format!("{} ({})", group.agent_name, group.role))));
        for item in &group.items {
            out.line(format_args!("Question ({}):\n", inline(&item.id)));
            out.fenced(&item.question);
            if item.answer.is_empty() {
                out.line("\nNot answered yet.\n");
            } else {
                out.line("\nAnswer:\n");
                out.fenced(&item.answer);
                out.line("");
            }
        }
    }
    out.line("");
}
