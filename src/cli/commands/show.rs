//! `dialectic show`: prints a saved debate, or a part of it.

mod choice;

use choice::TextSelection;
use serde::Serialize;

use crate::cli::args::{DebatePart, ShowArgs, ShownPart};
use crate::cli::latest::or_latest;
use crate::cli::output::typed;
use crate::cli::session::debates;
use crate::cli::terminal::Terminal;
use crate::error::{Error, UserError};
use crate::status::Standing;
use dialectic_base::markdown::inline;
use dialectic_record::debate::{
    Debate, DebateFile, FollowUp, Ledger, Move, Point, PointStatus, ReviewText, ReviewedFinding,
};
use dialectic_record::store::AccessMode;
use dialectic_report::display::{objections, story};
use dialectic_report::report::{Said, View, overview, readable, said};

pub(in crate::cli) fn run(args: &ShowArgs, terminal: &mut Terminal) -> Result<(), Error> {
    let directory = debates()?;
    let entry = or_latest(args.which.name())?;
    let saved = entry.load(AccessMode::State)?;
    terminal.warnings(&saved.warnings);
    // Programs get the record as it is.
    let debate = &if args.json { saved.debate } else { saved.debate.with_named_texts() };
    let view = View::new(debate, None).with_standing(Standing::listed(&entry, debate));
    let part = match &args.part {
        None => None,
        Some(ShownPart::Part(part)) => Some(*part),
        Some(ShownPart::Point(number)) => return point(&view, number, args, terminal),
    };
    if args.open && part != Some(DebatePart::Points) {
        return Err(UserError::input("`--open` selects points: add `points`").into());
    }
    let choice = TextSelection::of(&view, part, args.name.as_deref())?;
    match part {
        None if args.json => terminal.json(&DebateFile::of(debate)),
        None => {
            // Commands for a debate elsewhere name its file.
            let is_here = directory.check_is_here(&entry).is_ok();
            let path = typed(&entry.state);
            terminal.pages(&overview(&view, if is_here { directory.short_name(&debate.id) } else { &path }))
        }
        Some(DebatePart::Points) => points(&view, args, terminal),
        Some(DebatePart::Solution) => solution(debate, args, terminal),
        Some(DebatePart::FollowUps) => follow_ups(&view, args, terminal),
        Some(DebatePart::Round | DebatePart::Agent | DebatePart::Stage | DebatePart::Critiques) => {
            let texts: Vec<Said<'_>> = said(&view).into_iter().filter(|one| choice.has(debate, one)).collect();
            if args.json {
                return terminal.json(&texts);
            }
            if texts.is_empty() {
                terminal.notice("The record contains no such text.");
                return Ok(());
            }
            terminal.pages(&readable(&view, &texts))
        }
    }
}

fn solution(debate: &Debate, args: &ShowArgs, terminal: &mut Terminal) -> Result<(), Error> {
    let solution = debate.final_solution.as_ref().ok_or_else(|| {
        UserError::input(format!("the debate {} has no solution", debate.id))
            .with_hint(format!("see how far it got: dialectic show {}", debate.id))
    })?;
    if args.json {
        return terminal.json(solution);
    }
    terminal.pages(&solution.description)
}

/// The follow-up questions with their answers.
fn follow_ups(view: &View<'_>, args: &ShowArgs, terminal: &mut Terminal) -> Result<(), Error> {
    let debate = view.debate;
    if args.json {
        return terminal.json(&debate.follow_ups);
    }
    if debate.follow_ups.is_empty() {
        terminal.notice("No questions were asked about this debate.");
        return Ok(());
    }
    let entry = |(number, one): (usize, &FollowUp)| {
        let question = one.question.trim().replace('\n', "\n> ");
        let who = one.answered_by.as_ref().map(|id| inline(view.name_of(id)));
        let answer = match (one.answer.as_deref().map(str::trim), who) {
            (Some(answer), Some(who)) => format!("**{who}**\n\n{answer}"),
            (Some(answer), None) => answer.to_owned(),
            (None, _) => "Not answered.".to_owned(),
        };
        format!("## Question {number}\n\n> {question}\n\n{answer}\n")
    };
    let text: Vec<String> = (1..).zip(&debate.follow_ups).map(entry).collect();
    terminal.pages(&text.join("\n"))
}

/// The points by status, or only the open ones; in a review, the findings.
fn points(view: &View<'_>, args: &ShowArgs, terminal: &mut Terminal) -> Result<(), Error> {
    let ledger = Ledger::shown(view.debate);
    let is_shown = |one: &Point| !args.open || one.status() == PointStatus::Open;
    if args.json {
        let objections = ledger.objections.into_iter().filter(is_shown).collect();
        return terminal.json(&PointsJson::of(&Ledger { objections, ..ledger }));
    }
    if view.debate.change.is_some() {
        let review = ReviewText::of(view.debate, view.debate.findings());
        let rejected = if args.open { String::new() } else { review.dismissed_in_words() };
        return terminal.pages(&format!("**{}**\n{}{rejected}", review.verdict(), review.kept_in_words(|_| true)));
    }
    if ledger.is_empty() {
        terminal.notice("The record has no objections, and none could be derived from its texts.");
        return Ok(());
    }
    terminal.clean_pages(&objections(&ledger, is_shown, view, terminal.layout()))
}

/// One point with its history.
fn point(view: &View<'_>, number: &str, args: &ShowArgs, terminal: &mut Terminal) -> Result<(), Error> {
    if let Some(name) = &args.name {
        return Err(UserError::input(format!("a point takes no name: drop `{name}`")).into());
    }
    let unknown = |known: Vec<String>| {
        let hint = if known.is_empty() { "it has none".to_owned() } else { format!("it has {}", known.join(", ")) };
        UserError::input(format!("the debate has no point `{number}`")).with_hint(hint)
    };
    if view.debate.change.is_some() {
        let review = ReviewText::of(view.debate, view.debate.findings());
        let findings = view.debate.findings();
        let is_it = |one: &&ReviewedFinding| {
            let mut numbers = one.reports.iter().map(|report| &report.number).chain([&one.number]);
            numbers.any(|known| known.eq_ignore_ascii_case(number))
        };
        let found = findings.iter().find(is_it);
        let found = found.ok_or_else(|| unknown(findings.iter().map(|one| one.number.clone()).collect()))?;
        return terminal.pages(&format!("## {} {}\n\n{}", found.number, review.title(found), review.in_words(found)));
    }
    let ledger = Ledger::shown(view.debate);
    let found = ledger.objections.iter().find(|one| one.number().eq_ignore_ascii_case(number));
    let found = found.ok_or_else(|| unknown(ledger.objections.iter().map(Point::number).collect()))?;
    if args.json {
        return terminal.json(found);
    }
    terminal.clean_pages(&story(found, view, terminal.layout()))
}

/// The JSON output, with the keys of the state file.
#[derive(Serialize)]
struct PointsJson<'a> {
    ledger: &'a [Point],
    moves: &'a [Move],
    /// Whether the points were derived from the texts because the record has none.
    derived: bool,
}

impl<'a> PointsJson<'a> {
    fn of(Ledger { objections, moves, is_derived }: &'a Ledger) -> Self {
        Self { ledger: objections, moves, derived: *is_derived }
    }
}
