//! `dialectic eval --pairwise`: compares two answers to a problem, or two variants of a set.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::cli::commands::sweep::{block_on, opened_at};
use crate::cli::session::debates;
use crate::cli::terminal::Terminal;
use crate::error::{Error, ErrorCategory, UserError};
use crate::evaluation::Subject;
use crate::evaluation::pairwise::{
    Compared, Contest, FEWEST, Judge, Ruled, Ruling, Side, compare, decide, independent, sign_test,
};
use crate::sweep::collect::{Row, read_rows};
use dialectic_base::encoding::{NotUtf8, decode};
use dialectic_base::figures::{counted, list};
use dialectic_base::money::Usd;
use dialectic_base::provider::OFFLINE;
use dialectic_base::sanitize::one_line;
use dialectic_config::capture_environment;
use dialectic_record::debate::Debate;
use dialectic_record::settings::{AgentSettings, Settings};
use dialectic_record::store::AccessMode;

use super::{EvalArgs, agree_to_calls, callers, not_evaluated, noting_cost, settings};

struct Sides {
    names: [String; 2],
    contests: Vec<Contest>,
    authors: Vec<AgentSettings>,
    warnings: Vec<String>,
    is_set: bool,
}

pub(super) fn run(args: &EvalArgs, names: [&String; 2], terminal: &mut Terminal) -> Result<(), Error> {
    // Check everything possible before spending anything.
    let environment = capture_environment(args.env_file.as_deref())?;
    let settings = settings(args, &environment, terminal)?;
    let sides = match names.map(|name| variant(name)) {
        [None, None] => answers(args, names)?,
        [Some(a), Some(b)] => variants(args, names, a, b)?,
        [Some(_), None] | [None, Some(_)] => {
            return Err(UserError::input("a variant can only be compared with another variant of the same set")
                .with_hint("name both: --pairwise plan.jsonl:council plan.jsonl:single")
                .into());
        }
    };
    let caller = callers(&settings, &environment)?;
    let judges = settings.evaluators.iter().map(|one| Judge { settings: one.clone(), caller: caller(one) }).collect();
    let (judges, related) = independent(judges, &sides.authors.iter().collect::<Vec<_>>());
    let is_rehearsal = judges.iter().all(|judge| judge.settings.provider == OFFLINE);
    terminal.warnings(settings.warnings.iter().chain(&sides.warnings).chain(&related));
    let repeat = args.repeat.get();
    if !is_rehearsal {
        agree_to_calls(sides.contests.iter().flat_map(|one| one.planned(&judges, repeat)).collect(), terminal)?;
    }
    let compared = noting_cost(terminal, async |noted| compare(&judges, &sides.contests, repeat, noted).await)?;
    let results = Results::of(&sides, compared);
    terminal.warnings(results.compared.iter().flat_map(|(_, compared)| &compared.faults));
    if results.missing == sides.contests.len() {
        return Err(not_evaluated(&sides.names));
    }
    if args.json {
        terminal.json(&results.as_json(&judges, repeat, is_rehearsal))?;
    } else {
        terminal.text(&results.as_text(args.verbose))?;
    }
    if is_rehearsal {
        terminal.notice("This was a rehearsal: no model was called, and nothing was compared.");
    }
    match results.missing {
        0 => Ok(()),
        missing => {
            let all = counted(sides.contests.len() as u64, "problem");
            Err(UserError::of(ErrorCategory::Provider, format!("{missing} of {all} could not be compared")).into())
        }
    }
}

/// Splits `plan.jsonl:variant`, unless a file has that whole name.
fn variant(name: &str) -> Option<(&Path, &str)> {
    let (plan, variant) = name.rsplit_once(':')?;
    let plan = Path::new(plan);
    (plan.is_file() && !Path::new(name).exists()).then_some((plan, variant))
}

fn variants(args: &EvalArgs, names: [&String; 2], a: (&Path, &str), b: (&Path, &str)) -> Result<Sides, Error> {
    if args.problem_file.is_some() {
        return Err(UserError::input("--problem-file does not apply to a set: its plan contains the problems").into());
    }
    if a.0 != b.0 || a.1 == b.1 {
        return Err(UserError::input("only two variants of the same plan can be compared").into());
    }
    let (saved, store) = opened_at(a.0, args.store.as_deref())?;
    let plan = &saved.plan;
    let mut authors = Vec::new();
    for name in [a.1, b.1] {
        let Some(variant) = plan.variants.iter().find(|variant| variant.name == name) else {
            let known: Vec<String> = plan.variants.iter().map(|variant| variant.name.clone()).collect();
            return Err(UserError::input(format!("{} does not contain the variant `{name}`", a.0.display()))
                .with_hint(format!("available: {}", list(&known)))
                .into());
        };
        authors.extend(variant.settings.everybody().cloned());
    }
    let store = store.ok_or_else(unfinished)?;
    let rows = block_on(async { Ok(read_rows(&saved, &*store).await?) })?;
    let key = |row: &'_ Row| (row.problem.clone(), row.variant.clone(), row.repeat);
    let answers: BTreeMap<_, _> = rows.iter().map(|row| (key(row), row.answer.as_deref())).collect();
    let (mut contests, mut missing) = (Vec::<Contest>::new(), 0);
    for planned in plan.debates.iter().filter(|planned| planned.variant.name == a.1) {
        let problem = &planned.problem;
        let of = |variant: &str| answers.get(&(problem.id.clone(), variant.to_owned(), planned.repeat));
        let (Some(one), Some(other)) = (of(a.1), of(b.1)) else {
            missing += 1;
            continue;
        };
        // A plan lists all debates of a problem together.
        if contests.last().is_none_or(|last| last.name != problem.id) {
            contests.push(Contest {
                name: problem.id.clone(),
                problem: problem.text.to_string(),
                checklist: problem.checklist.clone(),
                pairs: Vec::new(),
            });
        }
        let pair = [one, other].map(|answer| answer.unwrap_or_default().to_owned());
        // Identical answers are a tie; no judge is asked.
        if let Some(contest) = contests.last_mut().filter(|_| pair[0].trim() != pair[1].trim()) {
            contest.pairs.push(pair);
        }
    }
    if contests.is_empty() {
        return Err(unfinished().into());
    }
    let left_out = || {
        let unfinished = if missing == 1 {
            "at least one of its debates is not finished"
        } else {
            "in each, at least one debate is not finished"
        };
        format!("{} left out: {unfinished}", counted(missing, "pair"))
    };
    let warnings = (missing > 0).then(left_out).into_iter().collect();
    Ok(Sides { names: names.map(String::clone), contests, authors, warnings, is_set: true })
}

fn unfinished() -> UserError {
    UserError::of(ErrorCategory::Busy, "no problem has finished debates for both variants")
        .with_hint("run the set with `dialectic sweep run`")
}

fn text_of(debate: &Debate) -> Option<String> {
    let solution = debate.final_solution.as_ref()?;
    Some(solution.description.clone()).filter(|text| !text.trim().is_empty())
}

struct Answered {
    name: String,
    text: String,
    /// `None` if the answer comes from a text file.
    debate: Option<Box<Debate>>,
    warnings: Vec<String>,
}

impl Answered {
    fn read(name: &str) -> Result<Self, Error> {
        let path = Path::new(name);
        if path.is_file() && path.extension().is_none_or(|ending| ending != "json") {
            return Ok(Self { name: name.to_owned(), text: read_text(path)?, debate: None, warnings: Vec::new() });
        }
        let entry = debates()?.find(name)?;
        let saved = entry.load(AccessMode::State)?;
        let (debate, mut warnings) = (saved.debate, saved.warnings);
        let no_answer = || {
            UserError::input(format!("the debate {} has no answer", debate.id))
                .with_hint("only debates that ended with an answer can be compared")
        };
        let text = text_of(&debate).ok_or_else(no_answer)?;
        // Fails with an error that names what the debate lacks.
        let Subject { name, .. } = Subject::of(&entry.state, &debate)?;
        if debate.clarifications.iter().flatten().any(|group| !group.items.is_empty()) {
            warnings.push(format!("{name}: judges are not shown the answers to its agents' questions"));
        }
        Ok(Self { name, text, debate: Some(Box::new(debate)), warnings })
    }
}

fn read_text(path: &Path) -> Result<String, UserError> {
    let name = path.display();
    let bytes = fs::read(path).map_err(|source| UserError::input(format!("cannot read {name}")).with_source(source))?;
    let not_text = |fault: NotUtf8| UserError::input(format!("{name} is not UTF-8 text")).with_hint(fault.hint());
    let text = decode(&bytes).map_err(not_text)?;
    if text.trim().is_empty() { Err(UserError::input(format!("{name} is empty"))) } else { Ok(text.to_owned()) }
}

fn answers(args: &EvalArgs, names: [&String; 2]) -> Result<Sides, Error> {
    let answers = [Answered::read(names[0])?, Answered::read(names[1])?];
    let (name, problem) = problem_of(args, &answers)?;
    if answers[0].text.trim() == answers[1].text.trim() {
        return Err(UserError::input("the two answers are identical").into());
    }
    let debates = || answers.iter().filter_map(|one| one.debate.as_ref()?.settings.as_ref());
    let authors = debates().flat_map(Settings::everybody).cloned().collect();
    let mut warnings: Vec<String> = answers.iter().flat_map(|one| one.warnings.clone()).collect();
    if debates().count() < answers.len() && !args.offline {
        let warning = "answers in files have unknown authors, so a judge may belong to an author's model family";
        warnings.push(warning.to_owned());
    }
    let [a, b] = answers;
    let contest = Contest { name, problem, checklist: Vec::new(), pairs: vec![[a.text, b.text]] };
    Ok(Sides { names: [a.name, b.name], contests: vec![contest], authors, warnings, is_set: false })
}

/// Returns the source and the text of the common problem, from `--problem-file` or the debates.
fn problem_of(args: &EvalArgs, answers: &[Answered; 2]) -> Result<(String, String), UserError> {
    let mut known: Option<(String, String)> = None;
    if let Some(path) = &args.problem_file {
        known = Some((path.display().to_string(), read_text(path)?));
    }
    for answer in answers {
        let Some(debate) = &answer.debate else { continue };
        match &known {
            Some((_, problem)) if problem.trim() == debate.problem.trim() => {}
            Some((first, _)) => {
                return Err(UserError::input(format!("{first} and {} concern different problems", answer.name))
                    .with_hint("only answers to the same problem can be compared"));
            }
            None => known = Some((answer.name.clone(), debate.problem.to_string())),
        }
    }
    let (name, text) = known.ok_or_else(|| {
        UserError::input("cannot tell which problem the two answers belong to")
            .with_hint("specify the problem's file: --problem-file problem.md")
    })?;
    Ok((name, text.trim().to_owned()))
}

struct Results<'a> {
    sides: &'a Sides,
    compared: Vec<(&'a Contest, Compared)>,
    missing: usize,
    wins: u32,
    losses: u32,
    ties: u32,
}

fn letter(side: Option<Side>) -> &'static str {
    match side {
        Some(Side::A) => "A",
        Some(Side::B) => "B",
        None => "neither",
    }
}

impl<'a> Results<'a> {
    fn of(sides: &'a Sides, compared: Vec<Compared>) -> Self {
        let compared: Vec<_> = sides.contests.iter().zip(compared).collect();
        let mut results = Self { sides, compared, missing: 0, wins: 0, losses: 0, ties: 0 };
        for (contest, compared) in &results.compared {
            match decide(&compared.rulings) {
                Some(Side::A) => results.wins += 1,
                Some(Side::B) => results.losses += 1,
                None if compared.rulings.is_empty() && !contest.pairs.is_empty() => results.missing += 1,
                None => results.ties += 1,
            }
        }
        results
    }

    fn rulings(&self) -> impl Iterator<Item = &Ruled> {
        self.compared.iter().flat_map(|(_, compared)| &compared.rulings)
    }

    fn turned(&self) -> usize {
        self.rulings().filter(|ruled| ruled.ruling == Ruling::Turned).count()
    }

    fn cost(&self) -> Option<Usd> {
        self.compared.iter().map(|(_, compared)| compared.cost).sum()
    }

    /// The p-value of the sign test. `None` if this is not a set, or too few problems are decided.
    fn p(&self) -> Option<f64> {
        let is_enough = self.sides.is_set && self.wins + self.losses >= FEWEST;
        is_enough.then(|| sign_test(self.wins, self.losses))
    }

    fn as_text(&self, is_verbose: bool) -> String {
        let mut text = String::new();
        for (letter, name) in ["A", "B"].into_iter().zip(&self.sides.names) {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{letter}: {}", one_line(name));
        }
        text.push('\n');
        for (contest, compared) in &self.compared {
            let decision = match decide(&compared.rulings) {
                None if compared.rulings.is_empty() && !contest.pairs.is_empty() => "not compared".to_owned(),
                None => "not decided".to_owned(),
                side => format!("{} is better", letter(side)),
            };
            let _ = writeln!(text, "{}: {decision}", one_line(&contest.name));
            if self.sides.is_set && !is_verbose {
                continue;
            }
            for Ruled { judge, ruling, said: [first, second] } in &compared.rulings {
                let ruling = match ruling {
                    Ruling::Better(side) => format!("{} is better", letter(Some(*side))),
                    Ruling::Equal => "neither is better".to_owned(),
                    Ruling::Turned => format!(
                        "changed with the order: {} with A first, {} with B first",
                        letter(first.0),
                        letter(second.0)
                    ),
                };
                let _ = writeln!(text, "  {judge}: {ruling}");
                for (order, (_, reason)) in [("A first", first), ("B first", second)].iter().filter(|_| is_verbose) {
                    let _ = writeln!(text, "    {order}: {}", one_line(reason));
                }
            }
        }
        text.push('\n');
        if self.sides.is_set {
            let count = |number: u32, noun| counted(number.into(), noun);
            let (wins, ties, losses) = (count(self.wins, "win"), count(self.ties, "tie"), self.losses);
            let losses = if losses == 1 { "1 loss".to_owned() } else { format!("{losses} losses") };
            let _ = writeln!(text, "A: {wins}, {ties}, {losses}");
            let _ = match self.p() {
                Some(p) => writeln!(text, "Sign test of wins and losses: p = {p:.3}"),
                None => writeln!(text, "Fewer than {FEWEST} problems were decided, too few to say which is better"),
            };
        }
        let all = self.rulings().count();
        let _ = writeln!(text, "{} of {} changed with the order", self.turned(), counted(all as u64, "ruling"));
        if let Some(cost) = self.cost().filter(|cost| *cost > Usd::ZERO) {
            let _ = writeln!(text, "Cost: {cost}");
        }
        text
    }

    fn as_json(&self, judges: &[Judge], repeat: u32, is_rehearsal: bool) -> Value {
        let judge = |judge: &Judge| json!({ "id": judge.settings.id, "model": judge.settings.model, "provider": judge.settings.provider });
        let ruling = |ruled: &Ruled| {
            let [first, second] =
                ruled.said.each_ref().map(|(side, reason)| json!({ "better": letter(*side), "reason": reason }));
            let ruling = match ruled.ruling {
                Ruling::Better(side) => letter(Some(side)),
                Ruling::Equal => letter(None),
                Ruling::Turned => "turned",
            };
            json!({ "judge": ruled.judge, "ruling": ruling, "firstShownA": first, "firstShownB": second })
        };
        let problem = |(contest, compared): &(&Contest, Compared)| {
            json!({
                "problem": contest.name,
                "decision": decide(&compared.rulings).map(|side| letter(Some(side))),
                "rulings": compared.rulings.iter().map(ruling).collect::<Vec<_>>(),
            })
        };
        json!({
            "rehearsal": is_rehearsal,
            "a": self.sides.names[0],
            "b": self.sides.names[1],
            "judges": judges.iter().map(judge).collect::<Vec<_>>(),
            "repeat": repeat,
            "problems": self.compared.iter().map(problem).collect::<Vec<_>>(),
            "wins": self.wins,
            "ties": self.ties,
            "losses": self.losses,
            "turned": self.turned(),
            "p": self.p(),
            "costUsd": self.cost(),
        })
    }
}
