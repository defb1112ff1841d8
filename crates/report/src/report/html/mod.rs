//! The report as one self-contained page without scripts and external assets; text of models cannot execute.
//!
//! Pages are written with `maud`, which escapes every value that is not markup. Only `text.rs`, which renders Markdown,
//! turns text into markup. A section without content is empty.

mod blocks;
mod contributions;
mod glance;
mod header;
mod objections;
mod page;
mod participants;
mod solution;
mod story;
mod text;

use dialectic_base::sanitize::sanitize;
use dialectic_record::debate::{Ledger, ResultKind};

use self::page::{PagePart, PageSection, page};
pub(super) use self::page::{hash, title};
use self::participants::Participants;
use super::block::Block;
use super::stages::{self, capitalized};
use super::{View, subject};

/// The report of a debate as an HTML page. The same debate gives the same page.
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
    let answer = |id, title: &str, body| PageSection::new(id, title, PagePart::Answer, body);
    let course = |id, title: &str, body| PageSection::new(id, title, PagePart::Debate, body);
    let run = |id, title: &str, body| PageSection::new(id, title, PagePart::Run, body);
    let (proposals, critiques) = (title(ResultKind::Proposal, "proposals"), title(ResultKind::Critique, "critiques"));
    let agreement = subject::agreement(&debate.rounds, &debate.extensions);
    let sections = [
        answer("solution", &solution::title(debate), solution::solution(view, &participants)),
        answer("follow-ups", "Follow-ups", solution::follow_ups(view, &participants)),
        answer("problem", "Problem", header::problem(view)),
        answer("participants", "Participants", participants::section(view, &participants)),
        course("story", "In short", story::story(view, &participants, &ledger)),
        course("objections", "Objections", objections::objections(view, &participants, &ledger)),
        course("team", "Team", of(&subject::team(debate))),
        course("clarifications", "Clarifications", header::clarifications(view, &participants)),
        course("proposals", &proposals, texts(ResultKind::Proposal)),
        course("critiques", &critiques, texts(ResultKind::Critique)),
        course("answer-check", "Check of the answer", of(&subject::check(debate))),
        course("speeches", "Speeches", texts(ResultKind::Speech)),
        course("others", "Other texts", contributions::others(view, &participants)),
        course("scores", "Scores", of(&subject::scores(debate))),
        course("agreement", "Agreement", of(&agreement)),
        course("arguments", "Kinds of argument", of(&subject::arguments(&debate.rounds))),
        course("vote", &glance::title(debate), glance::vote(view, &participants)),
        course("polls", "Polls", of(&subject::polls(debate))),
        course("judgement", "Judgement", of(&subject::verdict(view))),
        course("summaries", "Summaries", contributions::summaries(view, &participants)),
        run("usage", "Cost and tokens", of(&subject::usage(debate))),
        run("settings", "Settings", of(&subject::settings(debate))),
    ];
    let glance = glance::glance(view, &participants, &ledger);
    let page = page(view, &header::header(view, &glance), &sections);
    // The whole page at once, so that nothing is missed: escaping handles markup, this handles control characters.
    sanitize(&page).into_owned()
}
