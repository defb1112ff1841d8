//! `dialectic eval --pairwise`: lets the judges of `lift` compare two answers to one problem.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::cli::args::EvalArgs;
use crate::cli::commands::lift::judging::{Ruled, open_questions, relations, rulings};
use crate::cli::commands::lift::{Purse, text_of};
use crate::cli::interrupt::run_with_interrupts;
use crate::cli::session::{debates, env_file};
use crate::cli::terminal::Terminal;
use crate::error::{Error, UserError};
use crate::evaluation::Subject;
use crate::lift::{Decision, Judge, Notes, Problem, Question, Ruling, Side, decide, foreseen_checklist};
use dialectic_base::encoding::{NotUtf8, decode};
use dialectic_base::figures::counted;
use dialectic_base::money::Usd;
use dialectic_base::provider::OFFLINE;
use dialectic_base::sanitize::one_line;
use dialectic_config::capture_environment;
use dialectic_record::debate::{Debate, Settings};
use dialectic_record::store::AccessMode;

use super::{NOTHING_WRITTEN, agree_to_calls, callers, not_evaluated, settings};

/// One of the two answers.
struct Answered {
    /// The debate, or the file.
    name: String,
    text: String,
    /// Absent for a file.
    debate: Option<Box<Debate>>,
}

impl Answered {
    /// A debate, or a file that is not the state of one.
    fn read(name: &str, terminal: &mut Terminal) -> Result<Self, Error> {
        let path = Path::new(name);
        if path.is_file() && path.extension().is_none_or(|ending| ending != "json") {
            return Ok(Self { name: name.to_owned(), text: read_text(path)?, debate: None });
        }
        let entry = debates()?.find(name)?;
        let saved = entry.load(AccessMode::State)?;
        terminal.warnings(&saved.warnings);
        let debate = saved.debate;
        // Says what is missing.
        let subject = Subject::of(&entry.state, &debate)?;
        let no_answer = || {
            UserError::input(format!("the debate {} has no answer", subject.name))
                .with_hint("only a debate that ended with a text can be compared")
        };
        let text = text_of(&debate).ok_or_else(no_answer)?.to_owned();
        if debate.clarifications.iter().flatten().any(|group| !group.items.is_empty()) {
            terminal.warning(&format!("{}: judges are not shown the answers to its agents' questions", subject.name));
        }
        Ok(Self { name: subject.name, text, debate: Some(Box::new(debate)) })
    }

    fn characters(&self) -> usize {
        self.text.chars().count()
    }
}

fn read_text(path: &Path) -> Result<String, UserError> {
    let name = path.display();
    let bytes = fs::read(path).map_err(|source| UserError::input(format!("cannot read {name}")).with_source(source))?;
    let not_text = |fault: NotUtf8| UserError::input(format!("{name} is not UTF-8 text")).with_hint(fault.hint());
    let text = decode(&bytes).map_err(not_text)?;
    if text.trim().is_empty() { Err(UserError::input(format!("{name} is empty"))) } else { Ok(text.to_owned()) }
}

/// The problem of both: the debates', or the file's if one is given.
fn problem_of(args: &EvalArgs, answers: &[Answered; 2]) -> Result<Problem, UserError> {
    let mut known: Option<(String, String)> = None;
    if let Some(path) = &args.problem_file {
        known = Some((path.display().to_string(), read_text(path)?));
    }
    for answer in answers {
        let Some(debate) = &answer.debate else { continue };
        match &known {
            Some((_, problem)) if problem.trim() == debate.problem.trim() => {}
            Some((first, _)) => {
                return Err(UserError::input(format!("{first} and {} have different problems", answer.name))
                    .with_hint("only answers to the same problem can be compared"));
            }
            None => known = Some((answer.name.clone(), debate.problem.to_string())),
        }
    }
    let (id, text) = known.ok_or_else(|| {
        UserError::input("the problem of the two answers is unknown")
            .with_hint("name its file: --problem-file problem.md")
    })?;
    Ok(Problem { id, text: text.trim().to_owned(), answer: None, checklist: Vec::new() })
}

/// The result of the comparison.
struct Compared {
    rulings: Vec<Ruled>,
    faults: Vec<String>,
    cost: Option<Usd>,
}

pub(super) fn run(args: &EvalArgs, names: [&String; 2], terminal: &mut Terminal) -> Result<(), Error> {
    // Checks everything possible before anything is paid.
    let environment = capture_environment(&env_file(args.env_file.as_ref()))?;
    let settings = settings(args, &environment)?;
    let answers = [Answered::read(names[0], terminal)?, Answered::read(names[1], terminal)?];
    let problem = problem_of(args, &answers)?;
    if answers[0].text.trim() == answers[1].text.trim() {
        return Err(UserError::input("the two answers are the same text").into());
    }
    let caller = callers(&settings, &environment)?;
    let judges: Vec<Judge> =
        settings.evaluators.iter().map(|one| Judge { settings: one.clone(), caller: caller(one) }).collect();
    let is_rehearsal = judges.iter().all(|judge| judge.settings.provider == OFFLINE);
    terminal.warnings(settings.warnings.iter().chain(&related(&judges, &answers)));
    let texts = [answers[0].text.as_str(), answers[1].text.as_str()];
    let repeat = args.repeat.get();
    let questions = open_questions(&judges, &Notes::in_memory(), &problem, foreseen_checklist().high, texts, repeat);
    let paid = questions.iter().filter(|question| question.judge.settings.provider != OFFLINE);
    agree_to_calls(paid.flat_map(Question::planned).collect(), terminal)?;
    let compared = compare(&judges, &problem, texts, repeat)?;
    terminal.warnings(&compared.faults);
    if compared.rulings.is_empty() {
        return Err(not_evaluated(&answers.map(|answer| answer.name)));
    }
    if args.json {
        terminal.json(&as_json(&answers, &judges, args, &compared, is_rehearsal))?;
    } else {
        terminal.text(&as_text(&answers, &compared, args.verbose))?;
    }
    if is_rehearsal {
        terminal.notice("No model was called: this was a rehearsal, and nothing was compared.");
    }
    Ok(())
}

/// The warnings about judges related to the authors of the answers.
fn related(judges: &[Judge], answers: &[Answered; 2]) -> Vec<String> {
    let settings = || answers.iter().filter_map(|one| one.debate.as_ref()?.settings.as_ref());
    let mut said = relations(judges, || settings().flat_map(Settings::everybody));
    let is_paid = judges.iter().any(|judge| judge.settings.provider != OFFLINE);
    if is_paid && settings().count() < answers.len() {
        said.push("the authors of the files are unknown, so judges may be related to them".to_owned());
    }
    said
}

fn compare(judges: &[Judge], problem: &Problem, texts: [&str; 2], repeat: u32) -> Result<Compared, Error> {
    let compared = run_with_interrupts(async |interrupts| {
        let (mut notes, mut purse) = (Notes::in_memory(), Purse::unlimited());
        let ruled = rulings(judges, &mut notes, problem, texts, repeat, &mut purse, interrupts).await;
        ruled.map(|(rulings, faults)| Compared { rulings, faults, cost: notes.judging() })
    });
    compared.map_err(|error| match error {
        // Incomplete answers are not saved.
        Error::LiftInterrupted => Error::stopped(NOTHING_WRITTEN),
        error => error,
    })
}

/// `A` is the first answer, `B` the second.
fn letter(side: Option<Side>) -> &'static str {
    match side {
        Some(Side::Debate) => "A",
        Some(Side::Arm) => "B",
        None => "neither",
    }
}

fn of_ruling(ruling: Ruling) -> &'static str {
    match ruling {
        Ruling::Better(side) => letter(Some(side)),
        Ruling::Equal => "neither",
        Ruling::Turned => "turned",
    }
}

fn decision(rulings: &[Ruled]) -> Decision {
    decide(&rulings.iter().map(|ruled| ruled.ruling).collect::<Vec<_>>())
}

/// For people. Writing to a String cannot fail.
fn as_text(answers: &[Answered; 2], compared: &Compared, is_verbose: bool) -> String {
    let mut text = String::new();
    for (letter, answer) in ["A", "B"].into_iter().zip(answers) {
        let characters = counted(answer.characters() as u64, "character");
        let _ = writeln!(text, "{letter}: {}, {characters}", one_line(&answer.name));
    }
    text.push('\n');
    for ruled in &compared.rulings {
        let _ = writeln!(
            text,
            "{}: {}",
            ruled.judge,
            match ruled.ruling {
                Ruling::Better(side) => format!("{} is better", letter(Some(side))),
                Ruling::Equal => "neither is better".to_owned(),
                Ruling::Turned => {
                    let [first, second] = &ruled.said;
                    format!(
                        "changed with the order: {} with A first, {} with B first",
                        letter(first.0),
                        letter(second.0)
                    )
                }
            }
        );
        if is_verbose {
            for (order, (_, reason)) in ["A first", "B first"].into_iter().zip(&ruled.said) {
                let _ = writeln!(text, "  {order}: {}", one_line(reason));
            }
        }
    }
    let turned = compared.rulings.iter().filter(|ruled| ruled.ruling == Ruling::Turned).count();
    let (counting, all) = (compared.rulings.len() - turned, compared.rulings.len());
    let _ = match decision(&compared.rulings) {
        Decision::Win => writeln!(text, "\nA is better"),
        Decision::Loss => writeln!(text, "\nB is better"),
        Decision::Tie => writeln!(text, "\nNot decided"),
    };
    let _ = writeln!(text, "  Counted rulings: {counting} of {all}; {turned} changed with the order.");
    if let Some(cost) = compared.cost.filter(|cost| *cost > Usd::ZERO) {
        let _ = writeln!(text, "  Cost: {cost}.");
    }
    text
}

fn as_json(
    answers: &[Answered; 2],
    judges: &[Judge],
    args: &EvalArgs,
    compared: &Compared,
    is_rehearsal: bool,
) -> Value {
    let answer = |answer: &Answered| json!({ "name": answer.name, "characters": answer.characters() });
    let judge = |judge: &Judge| json!({ "id": judge.settings.id, "model": judge.settings.model, "provider": judge.settings.provider });
    let ruling = |ruled: &Ruled| {
        let [first, second] =
            ruled.said.each_ref().map(|(side, reason)| json!({ "better": letter(*side), "reason": reason }));
        json!({ "judge": ruled.judge, "ruling": of_ruling(ruled.ruling), "firstShownA": first, "firstShownB": second })
    };
    json!({
        "rehearsal": is_rehearsal,
        "a": answer(&answers[0]),
        "b": answer(&answers[1]),
        "judges": judges.iter().map(judge).collect::<Vec<_>>(),
        "repeat": args.repeat,
        "decision": match decision(&compared.rulings) {
            Decision::Win => Some("A"),
            Decision::Loss => Some("B"),
            Decision::Tie => None,
        },
        "rulings": compared.rulings.iter().map(ruling).collect::<Vec<_>>(),
        "turned": compared.rulings.iter().filter(|ruled| ruled.ruling == Ruling::Turned).count(),
        "costUsd": compared.cost,
    })
}
