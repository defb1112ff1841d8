//! The report as one self-contained page: no script, no asset from elsewhere, nothing that a model wrote can run.
//!
//! Pages are written with `maud`, which escapes every value that is not markup already. Markup is made of a text in one
//! place alone, where Markdown is rendered (`text.rs`). A section is empty where a debate has nothing to say of it.

mod blocks;
mod calls;
mod contributions;
mod critiques;
mod diff;
mod elements;
mod evolution;
mod follow_ups;
mod header;
mod objections;
mod page;
mod participants;
mod problem;
mod scores;
mod solution;
mod speeches;
mod spending;
mod story;
mod text;
mod timeline;
mod usage;
mod vote;

use dialectic_base::sanitize::sanitize;
use dialectic_record::debate::{Ledger, ResultKind};

use self::page::{Part, Section, page};
use self::participants::Participants;
use super::block::Block;
use super::stages::{self, capitalized};
use super::{View, subject};

/// The report of a debate as an HTML page. The same debate gives the same page.
#[must_use]
pub fn html(view: &View<'_>) -> String {
    let participants = Participants::of(view);
    let calls = calls::calls(view);
    let debate = view.debate;
    let shown = Ledger::shown(debate);
    let title = |yields, otherwise: &str| {
        capitalized(stages::first(debate, yields).map_or(otherwise, |stage| &stage.words.plural))
    };
    let of = |said: &[Block<'_>]| blocks::blocks(said, &participants, 3);
    let sections = [
        Section::new("solution", &solution::title(debate), Part::Answer, solution::solution(view, &participants)),
        Section::new("follow-ups", "Follow-ups", Part::Answer, follow_ups::follow_ups(view)),
        Section::new("problem", "Problem", Part::Answer, problem::problem(view)),
        Section::new("participants", "Participants", Part::Answer, participants::section(view, &participants)),
        Section::new("story", "In short", Part::Debate, story::story(view, &participants, &shown)),
        Section::new("team", "Team", Part::Debate, of(&subject::team(debate))),
        Section::new("material", "Material", Part::Debate, of(&subject::material(debate))),
        Section::new("timeline", "Timeline", Part::Debate, timeline::timeline(view, &participants, &calls)),
        Section::new("clarifications", "Clarifications", Part::Debate, problem::clarifications(view, &participants)),
        Section::new(
            "proposals",
            &title(ResultKind::Proposal, "proposals"),
            Part::Debate,
            evolution::evolution(view, &participants),
        ),
        Section::new(
            "critiques",
            &title(ResultKind::Critique, "critiques"),
            Part::Debate,
            critiques::critiques(view, &participants, &shown.ledger),
        ),
        Section::new("check", "Check of the answer", Part::Debate, of(&subject::check(debate))),
        Section::new("objections", "Objections", Part::Debate, objections::objections(view, &participants, &shown)),
        Section::new("speeches", "Speeches", Part::Debate, speeches::speeches(view, &participants)),
        Section::new("others", "Other texts", Part::Debate, speeches::others(view, &participants)),
        Section::new("scores", "Scores", Part::Debate, scores::scores(view, &participants)),
        Section::new(
            "agreement",
            "Agreement",
            Part::Debate,
            of(&subject::agreement(&debate.rounds, &debate.extensions)),
        ),
        Section::new("arguments", "Kinds of argument", Part::Debate, of(&subject::arguments(&debate.rounds))),
        Section::new("vote", &vote::title(debate), Part::Debate, vote::vote(view, &participants)),
        Section::new("polls", "Polls", Part::Debate, of(&subject::polls(debate))),
        Section::new("judgement", "Judgement", Part::Debate, of(&subject::verdict(view))),
        Section::new("summaries", "Summaries", Part::Debate, contributions::summaries(view, &participants)),
        Section::new("tools", "Tools", Part::Debate, contributions::tools(view, &participants)),
        Section::new("usage", "Cost and tokens", Part::Run, usage::usage(view, &participants, &calls)),
        Section::new("failures", "Failures", Part::Run, calls::failures(view, &participants)),
        Section::new("settings", "Settings", Part::Run, of(&subject::settings(debate))),
    ];
    let page = page(view, &header::header(view, &calls), &sections);
    // All of it at once, so that nothing is left out: escaping keeps texts from being markup, this from steering.
    sanitize(&page).into_owned()
}
