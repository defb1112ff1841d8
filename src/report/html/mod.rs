//! The report as one self-contained page: no script, no asset from elsewhere, nothing that a model wrote can run.
//!
//! What a file here makes is [`Markup`], into which text goes only escaped (`markup.rs`) or as rendered Markdown
//! (`text.rs`). Each section has a file of its own, and is empty where a debate has nothing to say of it.

mod calls;
mod cast;
mod clarifications;
#[cfg(test)]
mod contrast;
mod critiques;
mod diff;
mod evolution;
mod failures;
mod ledger;
mod markup;
mod masthead;
mod page;
mod problem;
mod scores;
mod settings;
mod solution;
mod summaries;
mod table;
mod text;
mod timeline;
mod tools;
mod usage;
mod vote;

use self::cast::Cast;
use self::page::{Part, Section, page};
use super::View;
use crate::sanitize::sanitize;

/// The report of a debate as an HTML page. The same debate gives the same page.
#[must_use]
pub fn html(view: &View<'_>) -> String {
    let cast = Cast::of(view);
    let calls = calls::calls(view);
    let sections = [
        Section::new("solution", "Solution", Part::Answer, solution::solution(view, &cast)),
        Section::new("problem", "Problem", Part::Answer, problem::problem(view)),
        Section::new("participants", "Participants", Part::Answer, problem::participants(view, &cast)),
        Section::new("timeline", "Timeline", Part::Debate, timeline::timeline(&cast, &calls, view.debate.created_at)),
        Section::new("proposals", "Proposals", Part::Debate, evolution::evolution(view, &cast)),
        Section::new("critiques", "Critiques", Part::Debate, critiques::critiques(view, &cast)),
        Section::new("scores", "Scores", Part::Debate, scores::scores(view)),
        Section::new("vote", "Vote", Part::Debate, vote::vote(view, &cast)),
        Section::new("clarifications", "Clarifications", Part::Debate, clarifications::clarifications(view, &cast)),
        Section::new("summaries", "Summaries", Part::Debate, summaries::summaries(view, &cast)),
        Section::new("tools", "Tools", Part::Debate, tools::tools(view, &cast)),
        Section::new("usage", "Cost and tokens", Part::Run, usage::usage(view, &cast, &calls)),
        Section::new("failures", "Failures", Part::Run, failures::failures(view, &cast)),
        Section::new("settings", "Settings", Part::Run, settings::settings(view)),
    ];
    let page = page(view, &masthead::masthead(view, &calls), &sections);
    // All of it at once, so that nothing is left out: escaping keeps texts from being markup, this from steering.
    sanitize(&page).into_owned()
}
