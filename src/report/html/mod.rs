//! The report as one self-contained page: no script, no asset from elsewhere, nothing that a model wrote can run.
//!
//! Pages are written with `maud`, which escapes every value that is not markup already. Markup is made of a text in one
//! place alone, where Markdown is rendered (`text.rs`). A section is empty where a debate has nothing to say of it.

mod calls;
mod contributions;
mod critiques;
mod diff;
mod elements;
mod evolution;
mod header;
mod page;
mod participants;
mod problem;
mod scores;
mod settings;
mod solution;
mod spending;
mod text;
mod timeline;
mod usage;
mod vote;

use self::page::{Part, Section, page};
use self::participants::Participants;
use super::View;
use crate::sanitize::sanitize;

/// The report of a debate as an HTML page. The same debate gives the same page.
#[must_use]
pub fn html(view: &View<'_>) -> String {
    let participants = Participants::of(view);
    let calls = calls::calls(view);
    let sections = [
        Section::new("solution", "Solution", Part::Answer, solution::solution(view, &participants)),
        Section::new("problem", "Problem", Part::Answer, problem::problem(view)),
        Section::new("participants", "Participants", Part::Answer, participants::section(view, &participants)),
        Section::new("timeline", "Timeline", Part::Debate, timeline::timeline(view, &participants, &calls)),
        Section::new("proposals", "Proposals", Part::Debate, evolution::evolution(view, &participants)),
        Section::new("critiques", "Critiques", Part::Debate, critiques::critiques(view, &participants)),
        Section::new("scores", "Scores", Part::Debate, scores::scores(view)),
        Section::new("vote", "Vote", Part::Debate, vote::vote(view, &participants)),
        Section::new("clarifications", "Clarifications", Part::Debate, problem::clarifications(view, &participants)),
        Section::new("summaries", "Summaries", Part::Debate, contributions::summaries(view, &participants)),
        Section::new("tools", "Tools", Part::Debate, contributions::tools(view, &participants)),
        Section::new("usage", "Cost and tokens", Part::Run, usage::usage(view, &participants, &calls)),
        Section::new("failures", "Failures", Part::Run, calls::failures(view, &participants)),
        Section::new("settings", "Settings", Part::Run, settings::settings(view)),
    ];
    let page = page(view, &header::header(view, &calls), &sections);
    // All of it at once, so that nothing is left out: escaping keeps texts from being markup, this from steering.
    sanitize(&page).into_owned()
}
