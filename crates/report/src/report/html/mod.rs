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
mod glance;
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

use self::page::{PagePart, PageSection, page};
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
        PageSection::new(
            "solution",
            &solution::title(debate),
            PagePart::Answer,
            solution::solution(view, &participants),
        ),
        PageSection::new("follow-ups", "Follow-ups", PagePart::Answer, follow_ups::follow_ups(view, &participants)),
        PageSection::new("problem", "Problem", PagePart::Answer, problem::problem(view)),
        PageSection::new("participants", "Participants", PagePart::Answer, participants::section(view, &participants)),
        PageSection::new("story", "In short", PagePart::Debate, story::story(view, &participants, &shown)),
        PageSection::new("team", "Team", PagePart::Debate, of(&subject::team(debate))),
        PageSection::new("material", "Material", PagePart::Debate, of(&subject::material(debate))),
        PageSection::new("timeline", "Timeline", PagePart::Debate, timeline::timeline(view, &participants, &calls)),
        PageSection::new(
            "clarifications",
            "Clarifications",
            PagePart::Debate,
            problem::clarifications(view, &participants),
        ),
        PageSection::new(
            "proposals",
            &title(ResultKind::Proposal, "proposals"),
            PagePart::Debate,
            evolution::evolution(view, &participants),
        ),
        PageSection::new(
            "critiques",
            &title(ResultKind::Critique, "critiques"),
            PagePart::Debate,
            critiques::critiques(view, &participants, &shown.ledger),
        ),
        PageSection::new("answer-check", "Check of the answer", PagePart::Debate, of(&subject::check(debate))),
        PageSection::new(
            "objections",
            "Objections",
            PagePart::Debate,
            objections::objections(view, &participants, &shown),
        ),
        PageSection::new("speeches", "Speeches", PagePart::Debate, speeches::speeches(view, &participants)),
        PageSection::new("others", "Other texts", PagePart::Debate, speeches::others(view, &participants)),
        PageSection::new("scores", "Scores", PagePart::Debate, scores::scores(view, &participants)),
        PageSection::new(
            "agreement",
            "Agreement",
            PagePart::Debate,
            of(&subject::agreement(&debate.rounds, &debate.extensions)),
        ),
        PageSection::new("arguments", "Kinds of argument", PagePart::Debate, of(&subject::arguments(&debate.rounds))),
        PageSection::new("vote", &vote::title(debate), PagePart::Debate, vote::vote(view, &participants)),
        PageSection::new("polls", "Polls", PagePart::Debate, of(&subject::polls(debate))),
        PageSection::new("judgement", "Judgement", PagePart::Debate, of(&subject::verdict(view))),
        PageSection::new("summaries", "Summaries", PagePart::Debate, contributions::summaries(view, &participants)),
        PageSection::new("tools", "Tools", PagePart::Debate, contributions::tools(view, &participants)),
        PageSection::new("usage", "Cost and tokens", PagePart::Run, usage::usage(view, &participants, &calls)),
        PageSection::new("failures", "Failures", PagePart::Run, calls::failures(view, &participants)),
        PageSection::new("settings", "Settings", PagePart::Run, of(&subject::settings(debate))),
    ];
    let glance = glance::glance(view, &participants, &shown);
    let page = page(view, &header::header(view, &calls, &glance), &sections);
    // All of it at once, so that nothing is left out: escaping keeps texts from being markup, this from steering.
    sanitize(&page).into_owned()
}
