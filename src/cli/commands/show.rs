//! `dialectic show`: prints a saved debate, or a part of it.

use std::ffi::{OsStr, OsString};

use clap::builder::{EnumValueParser, PossibleValue, TypedValueParser};
use clap::{Arg, Args, Command, ValueEnum};
use serde_json::json;

use crate::cli::args::{LATEST, NewestArg};
use crate::cli::session::{or_latest, short_name, typed_name};
use crate::cli::terminal::Terminal;
use crate::error::{Error, UserError};
use crate::status::Standing;
use dialectic_base::markdown::inline;
use dialectic_record::debate::{Debate, DebateFile, FollowUp};
use dialectic_record::ids::{AgentId, ResultKind, StageId};
use dialectic_record::points::{Ledger, Point, PointStatus, ReviewText, ReviewedFinding};
use dialectic_record::store::AccessMode;
use dialectic_report::display::{objections, story};
use dialectic_report::report::{Said, View, overview, readable, review_json, said};

#[derive(Debug, Args)]
pub(in crate::cli) struct ShowArgs {
    #[command(flatten)]
    which: NewestArg,

    /// The part to print, or a point's number, such as `2.2` or `D1`, or a finding's id [default: an overview]
    #[arg(value_parser = PartParser)]
    part: Option<DebatePart>,

    /// The round, agent or stage: a number, id, role or name
    #[arg(value_name = "NAME", requires = "part")]
    name: Option<String>,

    /// With `points`, print only open ones
    #[arg(long, requires = "part")]
    open: bool,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum DebatePart {
    /// The solution
    Solution,
    /// All texts of a round
    Round,
    /// All texts by or about an agent
    Agent,
    /// All texts of a stage, round by round
    Stage,
    /// All critiques
    Critiques,
    /// The points by status, open ones first
    Points,
    /// The follow-up questions and their answers
    FollowUps,
    /// The point with this number, and its history
    #[value(skip)]
    Point(String),
}

/// Accepts the name of a part or the number of a point. Completions offer only names.
#[derive(Debug, Clone, Copy)]
struct PartParser;

impl TypedValueParser for PartParser {
    type Value = DebatePart;

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<DebatePart, clap::Error> {
        let number = value.to_str().filter(|text| is_point_number(text));
        match number {
            Some(number) => Ok(DebatePart::Point(number.to_owned())),
            None => EnumValueParser::<DebatePart>::new().parse_ref(command, arg, value),
        }
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let names = DebatePart::value_variants().iter().filter_map(ValueEnum::to_possible_value);
        Some(Box::new(names))
    }
}

/// Whether the text has the form of a point's number, such as `2.7`, `D3` or `E1`, or of the id of a review's finding.
fn is_point_number(text: &str) -> bool {
    let is_figure = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let lettered = text.strip_prefix(['D', 'd', 'E', 'e']);
    // The ids of findings at the same place differ in a suffix, such as `-2`.
    let id = text.split_once('-').map_or(text, |(id, _)| id);
    let is_id = id.len() >= 12 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_id
        || lettered.is_some_and(is_figure)
        || text.split_once('.').is_some_and(|(of, number)| is_figure(of) && is_figure(number))
}

/// Whether the word must be a part: `d123` may also be the end of an id.
fn is_part(word: &str) -> bool {
    let is_number = is_point_number(word) && !(word.len() < 12 && word.starts_with(['d', 'e']));
    is_number || DebatePart::from_str(word, false).is_ok()
}

/// Inserts `latest` if a part follows `show` directly, as in `show points`.
pub(in crate::cli) fn with_latest(arguments: Vec<OsString>) -> Vec<OsString> {
    let mut words = arguments.iter().enumerate().skip(1);
    let mut is_show = false;
    while let Some((place, word)) = words.next() {
        match word.to_str() {
            Some("--color") => drop(words.next()),
            Some(option) if option.starts_with('-') => {}
            Some("show") if !is_show => is_show = true,
            Some(part) if is_show && is_part(part) => {
                let (before, after) = arguments.split_at(place);
                return [before, &[LATEST.into()], after].concat();
            }
            Some(_) | None => break,
        }
    }
    arguments
}

pub(in crate::cli) fn run(args: &ShowArgs, terminal: &mut Terminal) -> Result<(), Error> {
    let entry = or_latest(args.which.debate.as_deref())?;
    let saved = entry.load(AccessMode::State)?;
    terminal.warnings(&saved.warnings);
    // JSON output shows the record unchanged.
    let debate = &if args.json { saved.debate } else { saved.debate.with_named_texts() };
    let view = View::new(debate, None).with_standing(Standing::listed(&entry, debate));
    if args.open && args.part != Some(DebatePart::Points) {
        return Err(UserError::input("`--open` works only with `points`").into());
    }
    let name = args.name.as_deref();
    match &args.part {
        None if args.json => terminal.json(&DebateFile::of(debate)),
        None => terminal.pages(&overview(&view, &short_name(&entry))),
        Some(DebatePart::Point(number)) => point(&view, number, args, terminal),
        Some(DebatePart::Points) => {
            not_named("points", name)?;
            points(&view, args, terminal)
        }
        Some(DebatePart::Solution) => {
            not_named("solution", name)?;
            solution(debate, &typed_name(&entry), args, terminal)
        }
        Some(DebatePart::FollowUps) => {
            not_named("follow-ups", name)?;
            follow_ups(&view, args, terminal)
        }
        Some(DebatePart::Round) => {
            let round = round(debate, name)?;
            texts(&view, |text| text.round == round, args, terminal)
        }
        Some(DebatePart::Agent) => {
            let agent = Some(agent(&view, name)?);
            let is_meant = |text: &Said<'_>| [text.agent_id, text.target_agent_id].contains(&agent.as_ref());
            texts(&view, is_meant, args, terminal)
        }
        Some(DebatePart::Stage) => {
            let stage = stage(debate, name)?;
            texts(&view, |text| text.stage == Some(stage), args, terminal)
        }
        Some(DebatePart::Critiques) => {
            not_named("critiques", name)?;
            texts(&view, |text| text.yields(debate) == Some(ResultKind::Critique), args, terminal)
        }
    }
}

fn texts(
    view: &View<'_>,
    is_meant: impl Fn(&Said<'_>) -> bool,
    args: &ShowArgs,
    terminal: &mut Terminal,
) -> Result<(), Error> {
    let texts: Vec<Said<'_>> = said(view).into_iter().filter(is_meant).collect();
    if args.json {
        return terminal.json(&texts);
    }
    if texts.is_empty() {
        terminal.notice("The record contains no matching text.");
        return Ok(());
    }
    terminal.pages(&readable(view, &texts))
}

fn solution(debate: &Debate, name: &str, args: &ShowArgs, terminal: &mut Terminal) -> Result<(), Error> {
    let solution = debate.final_solution.as_ref().ok_or_else(|| {
        UserError::input(format!("the debate {name} has no solution"))
            .with_hint(format!("see how far it got: dialectic show {name}"))
    })?;
    if args.json {
        return terminal.json(solution);
    }
    terminal.pages(&solution.description)
}

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

fn points(view: &View<'_>, args: &ShowArgs, terminal: &mut Terminal) -> Result<(), Error> {
    let ledger = Ledger::shown(view.debate);
    let is_shown = |one: &Point| !args.open || one.status() == PointStatus::Open;
    if args.json && view.debate.change.is_some() {
        return terminal.json(&review_json(view.debate, |one| !args.open || one.is_kept()));
    }
    if args.json {
        // The keys are those of the state file. `derived` is true if the record has no points, so that they were parsed
        // from the contributions.
        let objections: Vec<Point> = ledger.objections.into_iter().filter(is_shown).collect();
        return terminal.json(&json!({ "ledger": objections, "moves": ledger.moves, "derived": ledger.is_derived }));
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

fn point(view: &View<'_>, number: &str, args: &ShowArgs, terminal: &mut Terminal) -> Result<(), Error> {
    if let Some(name) = &args.name {
        return Err(UserError::input(format!("unexpected name `{name}` after the point number")).into());
    }
    let unknown = |known: Vec<String>| {
        let hint =
            if known.is_empty() { "there are none".to_owned() } else { format!("available: {}", known.join(", ")) };
        UserError::input(format!("the debate has no point `{number}`")).with_hint(hint)
    };
    if view.debate.change.is_some() {
        let review = ReviewText::of(view.debate, view.debate.findings());
        let findings = view.debate.findings();
        let is_it = |one: &&ReviewedFinding| {
            let mut numbers = one.reports.iter().map(|report| &report.number).chain([&one.number]);
            numbers.any(|known| known.eq_ignore_ascii_case(number)) || one.id == number
        };
        let found = findings.iter().find(is_it);
        let found = found.ok_or_else(|| unknown(findings.iter().map(|one| one.number.clone()).collect()))?;
        if args.json {
            return terminal.json(&review_json(view.debate, |one| one.number == found.number)["findings"][0]);
        }
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

fn misnamed(what: &str, name: Option<&str>, known: &[String]) -> UserError {
    let known = if known.is_empty() { "there are none".to_owned() } else { format!("available: {}", known.join(", ")) };
    UserError::input(match name {
        None => format!("which {what}? {known}"),
        Some(name) => format!("the debate has no {what} `{name}`; {known}"),
    })
}

fn not_named(part: &str, name: Option<&str>) -> Result<(), UserError> {
    name.map_or(Ok(()), |name| Err(UserError::input(format!("unexpected name `{name}` after `{part}`"))))
}

fn round(debate: &Debate, name: Option<&str>) -> Result<u32, UserError> {
    let number = name.and_then(|name| name.parse().ok()).filter(|number| debate.round(*number).is_some());
    let known = || debate.rounds.iter().map(|round| round.round_number.to_string()).collect::<Vec<_>>();
    number.ok_or_else(|| misnamed("round", name, &known()))
}

/// Finds an agent or the judge by id, role, name or number. Fails unless exactly one matches.
fn agent(view: &View<'_>, name: Option<&str>) -> Result<AgentId, UserError> {
    let everybody = || view.agents.iter().chain([&view.judge]);
    let names = everybody().map(|one| {
        let role = if one.id == view.judge.id { "judge" } else { &one.role };
        (one.id.clone(), vec![one.id.as_str(), role, &one.name])
    });
    one_of("agent", &names.collect::<Vec<_>>(), name).or_else(|unknown| {
        let number = name.and_then(|name| name.parse().ok());
        let numbered = view.agents.iter().find(|one| number.is_some() && view.number_of(&one.id) == number);
        numbered.map(|one| one.id.clone()).ok_or(unknown)
    })
}

fn stage(debate: &Debate, name: Option<&str>) -> Result<StageId, UserError> {
    let stages = debate.stages.iter().filter(|stage| stage.yields.is_some());
    let names = stages.map(|stage| (stage.id, vec![stage.id.as_str(), &stage.words.noun, &stage.words.plural]));
    one_of("stage", &names.collect::<Vec<_>>(), name)
}

/// Finds the element of `all` with this name or, if there is none, the only element with a name that begins with
/// `name`. Errors list the first name of each element.
fn one_of<T: PartialEq + Clone>(
    what: &'static str,
    all: &[(T, Vec<&str>)],
    name: Option<&str>,
) -> Result<T, UserError> {
    let known = || all.iter().filter_map(|(_, names)| Some((*names.first()?).to_owned())).collect::<Vec<_>>();
    let name = name.ok_or_else(|| misnamed(what, None, &known()))?;
    let wanted = name.to_lowercase();
    let fitting = |fits: &dyn Fn(&str) -> bool| {
        let fitting = all.iter().filter(|(_, names)| names.iter().any(|name| fits(&name.to_lowercase())));
        fitting.map(|(one, _)| one.clone()).collect::<Vec<_>>()
    };
    let same = fitting(&|name| name == wanted);
    let found = if same.is_empty() { fitting(&|name| name.starts_with(&wanted)) } else { same };
    match found.as_slice() {
        [one] => Ok(one.clone()),
        _ => Err(misnamed(what, Some(name), &known())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_alone_is_of_the_newest_debate() {
        for (typed, meant) in [
            ("dialectic show points", "dialectic show latest points"),
            ("dialectic --color never show --json round 2", "dialectic --color never show --json latest round 2"),
            ("dialectic show 2.1", "dialectic show latest 2.1"),
            ("dialectic show d123", "dialectic show d123"),
            ("dialectic show vhkp points", "dialectic show vhkp points"),
            ("dialectic show", "dialectic show"),
            ("dialectic protocols show round", "dialectic protocols show round"),
        ] {
            let words = |line: &str| line.split(' ').map(OsString::from).collect::<Vec<_>>();
            assert_eq!(with_latest(words(typed)), words(meant));
        }
    }
}
