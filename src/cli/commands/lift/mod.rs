//! `dialectic lift`: compares debates with other ways to spend their money, on a set of problems.

mod group;
pub(super) mod judging;
mod plan;
mod planned;
mod purse;
mod report;
mod sides;

use std::collections::BTreeSet;

use group::{Groups, Lacking, Next, Part, debate_part, is_content};
use judging::relations;
use plan::Plan;
use planned::FinishedGroups;
pub(super) use purse::Purse;
use purse::Spent;
use report::{Outcome, Rival, RivalResult};
use sides::{load, sides, variants};

use crate::cli::args::LiftArgs;
use crate::cli::interrupt::{Interrupts, run_with_interrupts};
use crate::cli::session::{env_file, runner};
use crate::cli::terminal::Terminal;
use crate::error::{Error, FINISHED_WORK, UserError};
use crate::lift::{Allowance, Arm, Compared, Done, Judge, Notes, Problem, ProblemSet};
use dialectic_base::diagnostic::ErrorCategory;
use dialectic_base::figures::counted;
use dialectic_base::money::Usd;
use dialectic_base::provider::OFFLINE;
use dialectic_config::{
    EvaluationSettings, ModelChoice, Switch, capture_environment, load_evaluators, offline_evaluator,
};
use dialectic_engine::access::{Environment, is_program};
use dialectic_engine::runner::Spec;
use dialectic_record::debate::{AgentSettings, Debate};

use super::eval::callers;

/// A prepared comparison.
pub(super) struct Lift<'a> {
    args: &'a LiftArgs,
    set: ProblemSet,
    /// The debates, or those of the first variant.
    groups: Groups<'a>,
    /// The debates of the second variant.
    other: Option<Groups<'a>>,
    judges: Vec<Judge>,
    /// The arms, without repeats; empty if variants are compared.
    arms: Vec<Arm>,
    /// The groups of a plan, if they are judged and nothing is run.
    planned: Option<FinishedGroups>,
}

/// The state shared while a group runs.
struct Running<'a> {
    purse: &'a mut Purse,
    interrupts: &'a mut Interrupts,
    terminal: &'a mut Terminal,
}

pub(in crate::cli) fn run(args: &LiftArgs, terminal: &mut Terminal) -> Result<(), Error> {
    // Checks everything possible before anything is paid.
    let environment = capture_environment(&env_file(args.env_file.as_ref()))?;
    let runner = runner(environment.clone())?;
    if let Some(plan) = &args.plan {
        let planned::Loaded { set, groups, finished, unfinished } = planned::load(args, plan, &runner, &environment)?;
        if set.problems.is_empty() {
            return unfinished.map_or(Ok(()), |error| Err(error.into()));
        }
        let lift =
            Lift { args, set, groups, other: None, judges: Vec::new(), arms: Vec::new(), planned: Some(finished) };
        let judged = compare(lift, (Vec::new(), Vec::new()), &environment, terminal);
        let Some(unfinished) = unfinished else { return judged };
        return match judged {
            // Another attempt is worthwhile, whatever is missing in what was judged.
            Err(Error::Diagnosed(missing)) if missing.blame() == ErrorCategory::Provider => {
                terminal.warning(&missing.to_string());
                Err(unfinished.into())
            }
            judged => judged.and(Err(unfinished.into())),
        };
    }
    let set = ProblemSet::read(&args.set)?;
    let sides = sides(args)?;
    let (mut debates, mut warnings, mut choices) = (Vec::new(), Vec::new(), Vec::new());
    for side in &sides {
        let (groups, said, choice) = load(args, side, &runner, &environment)?;
        debates.push(groups);
        warnings.extend(said);
        choices.extend(choice);
    }
    let mut debates = debates.into_iter();
    let (Some(groups), other) = (debates.next(), debates.next()) else { return Err(variants("is missing")) };
    if let Some(other) = &other
        && set.problems.iter().any(|problem| groups.notes_path(problem) == other.notes_path(problem))
    {
        return Err(UserError::input("the two variants have the same settings")
            .with_hint("change one of them; to compare a setting with itself, give one another `debate.seed`")
            .into());
    }
    // A limit is one of what is paid.
    if args.equal_money
        && let Some(Groups { settings, .. }) = &other
        && let Some(agent) = settings.everybody().find(|agent| is_program(&agent.provider, &settings.providers))
    {
        let (model, provider) = (&agent.model, &agent.provider);
        let message =
            format!("--equal-money cannot limit {model} of the program {provider}: a subscription may cover its calls");
        let hint = "omit --equal-money: the result shows the cost of each variant";
        return Err(UserError::of(ErrorCategory::Configuration, message).with_hint(hint).into());
    }
    let lift = Lift { args, set, groups, other, judges: Vec::new(), arms: Vec::new(), planned: None };
    compare(lift, (warnings, choices), &environment, terminal)
}

/// Adds judges and arms to what is prepared, and compares it. The configurations gave rise to warnings and choices.
fn compare(
    mut lift: Lift<'_>,
    (mut warnings, choices): (Vec<String>, Vec<ModelChoice>),
    environment: &Environment,
    terminal: &mut Terminal,
) -> Result<(), Error> {
    let args = lift.args;
    let evaluation = evaluation(args, &lift.set, environment)?;
    let caller = callers(&evaluation, environment)?;
    lift.judges =
        evaluation.evaluators.iter().map(|one| Judge { settings: one.clone(), caller: caller(one) }).collect();
    warnings.extend(evaluation.warnings.iter().filter(|_| args.judges.is_some()).cloned());
    for arm in args.against.iter().filter(|_| lift.other.is_none()) {
        if !lift.arms.contains(arm) {
            lift.arms.push(*arm);
        }
    }
    warnings.extend(relations(&lift.judges, || lift.took_part()));
    let mut said = BTreeSet::new();
    for warning in warnings.iter().filter(|warning| said.insert(warning.as_str())) {
        terminal.warning(warning);
    }
    let mut said = BTreeSet::new();
    for choice in choices.iter().map(ToString::to_string).filter(|choice| said.insert(choice.clone())) {
        terminal.notice(&choice);
    }
    let plan = Plan::of(&lift)?;
    if args.dry_run {
        let text = if plan.is_done() { "nothing is left to do".to_owned() } else { plan.said() };
        return terminal.text(&format!("{text}\n"));
    }
    for choice in &choices {
        choice.callable()?;
    }
    plan.agree(&lift, terminal)?;
    let outcomes = lift.all(terminal)?;
    lift.finish(&outcomes, terminal)
}

/// The judges; none if a program can check every answer.
fn evaluation(args: &LiftArgs, set: &ProblemSet, environment: &Environment) -> Result<EvaluationSettings, Error> {
    let offline = if args.offline { Switch::On } else { Switch::AsConfigured };
    let problems = set.problems.iter().filter(|problem| problem.answer.is_none()).count();
    match &args.judges {
        _ if problems == 0 => Ok(EvaluationSettings { evaluators: Vec::new(), ..offline_evaluator(environment) }),
        Some(path) => Ok(load_evaluators(path, environment, offline)?),
        None if args.offline => Ok(offline_evaluator(environment)),
        None => {
            let message = format!("no judges are configured, and {problems} of the problems have no `answer` to check");
            let hint = "name judges that did not take part: --judges evaluators.json";
            Err(UserError::input(message).with_hint(hint).into())
        }
    }
}

/// The answer of a debate.
pub(super) fn text_of(debate: &Debate) -> Option<&str> {
    debate.final_solution.as_ref().map(|solution| solution.description.as_str()).filter(|text| !text.trim().is_empty())
}

impl Lift<'_> {
    /// The arms to run in addition to the debate; draws are measured by a single answer.
    fn runs(&self) -> Vec<Arm> {
        Arm::runs(&self.arms)
    }

    /// The debates of all sides.
    fn sides(&self) -> impl Iterator<Item = &Groups<'_>> {
        [&self.groups].into_iter().chain(&self.other)
    }

    /// The rivals of the debates.
    fn rivals(&self) -> Vec<Rival<'_>> {
        match &self.other {
            Some(other) => vec![Rival::Variant { name: &other.name, is_held: self.args.equal_money }],
            None => self.arms.iter().map(|arm| Rival::Arm(*arm)).collect(),
        }
    }

    /// The agents that answer in the debates and arms.
    fn took_part(&self) -> impl Iterator<Item = &AgentSettings> {
        let arm = |groups: &&Groups<'_>| self.other.is_none() && groups.arm.provider != OFFLINE;
        self.sides().flat_map(|groups| groups.settings.everybody()).chain(self.sides().filter(arm).map(|one| &one.arm))
    }

    /// Runs all groups, one after the other.
    fn all(&self, terminal: &mut Terminal) -> Result<Vec<Outcome>, Error> {
        run_with_interrupts(async |interrupts| {
            let mut purse = self.purse()?;
            let mut running = Running { purse: &mut purse, interrupts, terminal };
            let mut outcomes = Vec::new();
            for problem in &self.set.problems {
                outcomes.push(Box::pin(self.group(problem, &mut running)).await?);
            }
            Ok(outcomes)
        })
    }

    /// The spending of earlier runs on this set counts.
    fn purse(&self) -> Result<Purse, Error> {
        let mut spent = Spent::default();
        for problem in &self.set.problems {
            for groups in self.sides() {
                let notes = Notes::look(&groups.notes_path(problem))?;
                spent += groups.spent(&notes)?;
                spent += judging::spent(&notes);
            }
        }
        Ok(Purse { limit: self.args.max_cost, spent })
    }

    /// Runs the missing parts of one group.
    async fn group(&self, problem: &Problem, running: &mut Running<'_>) -> Result<Outcome, Error> {
        let mut notes = Notes::open(&self.groups.notes_path(problem), &problem.id)?;
        let mut outcome = Outcome::of(problem, self.rivals().len());
        if let Some(planned) = &self.planned {
            self.judge(planned, problem, &mut outcome, &mut notes, running).await?;
            return Ok(outcome);
        }
        let Some(debate) = self.debate(&self.groups, problem, None, &mut notes, running).await? else {
            return Ok(outcome);
        };
        outcome.debate = debate.bill.full();
        let allowance = Allowance::of(&debate.bill, self.is_rehearsal());
        if allowance == Allowance::Unknown && (self.other.is_none() || self.args.equal_money) {
            let what = self.groups.what(problem);
            running.terminal.warning(&format!("{what} has an unknown cost, so nothing can be limited to it"));
            return Ok(outcome);
        }
        match &self.other {
            Some(other) => {
                let held = allowance.money().filter(|_| self.args.equal_money);
                // Rulings are kept with the first variant.
                let mut of_other = Notes::open(&other.notes_path(problem), &problem.id)?;
                if let Some(done) = self.debate(other, problem, held, &mut of_other, running).await? {
                    outcome.rivals[0] = self.compare(problem, &debate, &done, &mut notes, running).await?;
                }
            }
            None => self.arms(problem, &debate, allowance, &mut outcome, &mut notes, running).await?,
        }
        Ok(outcome)
    }

    /// Compares the records of a planned group.
    async fn judge(
        &self,
        planned: &FinishedGroups,
        problem: &Problem,
        outcome: &mut Outcome,
        notes: &mut Notes,
        running: &mut Running<'_>,
    ) -> Result<(), Error> {
        let Some(debate) = planned.debate(problem) else { return Ok(()) };
        outcome.debate = debate.bill.full();
        for (index, arm) in self.arms.iter().enumerate() {
            match planned.arm(problem, *arm) {
                Some(Ok(done)) => {
                    outcome.rivals[index] = self.compare(problem, debate, done, notes, running).await?;
                }
                Some(Err(why)) => {
                    let what = format!("{}: {}", problem.id, arm.protocol().name);
                    running.terminal.warning(&format!("{what} is left out: {why}"));
                }
                None => {}
            }
        }
        Ok(())
    }

    /// The debate of a problem under the limit `held`; `None` if it has no answer.
    async fn debate(
        &self,
        groups: &Groups<'_>,
        problem: &Problem,
        held: Option<Usd>,
        notes: &mut Notes,
        running: &mut Running<'_>,
    ) -> Result<Option<Done>, Error> {
        let name = debate_part(held);
        let most = match groups.finished(notes, &name)? {
            Some(_) => Some(Usd::ZERO),
            None => groups.most(problem, held)?,
        };
        // Only a new debate is limited to the remaining money; a resumed one has its own limit.
        let left = running.purse.left();
        let spec = groups.debate(problem, left.into_iter().chain(held).min());
        let is_held = held.is_some_and(|held| left.is_none_or(|left| held <= left));
        let part = Part { name, what: groups.what(problem), most, meter: None, is_held };
        let debate = Box::pin(self.part(groups, part, spec, notes, running)).await?;
        if debate.as_ref().is_some_and(|debate| text_of(&debate.debate).is_none()) {
            running.terminal.warning(&format!("{} has no answer", groups.what(problem)));
            return Ok(None);
        }
        Ok(debate)
    }

    /// Runs the arms of a group, and compares the debate with each.
    async fn arms(
        &self,
        problem: &Problem,
        debate: &Done,
        allowance: Allowance,
        outcome: &mut Outcome,
        notes: &mut Notes,
        running: &mut Running<'_>,
    ) -> Result<(), Error> {
        let groups = &self.groups;
        let mut single: Option<Done> = None;
        for arm in self.runs() {
            let protocol = arm.protocol();
            let what = format!("{}: {}", problem.id, protocol.name);
            let planned = match (&single, arm) {
                (_, Arm::Single) => Ok((groups.arms().single(), None)),
                (Some(single), _) => groups.arms().equal(arm, allowance, &single.bill).map_err(|why| why.to_string()),
                (None, _) => Err("no single answer".to_owned()),
            };
            let (settings, meter) = match planned {
                Ok(planned) => planned,
                Err(why) => {
                    running.terminal.warning(&format!("{what} is left out: {why}"));
                    continue;
                }
            };
            let spec = groups.spec(problem, protocol, settings);
            let answer = groups.forecast(&groups.single(problem))?.most();
            let most = match arm {
                Arm::Single => answer,
                // The part in progress when the money is spent may be longer than foreseen.
                Arm::SelfRefine | Arm::BestOfN => {
                    let money = if allowance == Allowance::Rehearsal { Some(Usd::ZERO) } else { allowance.money() };
                    money.zip(answer).map(|(money, answer)| money + answer)
                }
            };
            let part = Part { name: groups.part_of(arm), what, most, meter, is_held: false };
            let Some(done) = Box::pin(self.part(groups, part, spec, notes, running)).await? else { continue };
            if let Some(index) = self.arms.iter().position(|wanted| *wanted == arm) {
                outcome.rivals[index] = self.compare(problem, debate, &done, notes, running).await?;
            }
            if arm == Arm::Single {
                single = Some(done);
            }
        }
        Ok(())
    }

    /// Runs a part of a group, if it is not finished. Reports why it has no answer, or which part of its cost is an
    /// estimate.
    async fn part(
        &self,
        groups: &Groups<'_>,
        part: Part,
        spec: Spec,
        notes: &mut Notes,
        running: &mut Running<'_>,
    ) -> Result<Option<Done>, Error> {
        let what = part.what.clone();
        let done = match Box::pin(self.run_part(groups, part, spec, notes, running)).await {
            Ok(done) => done,
            Err(Lacking::LeftOut(why)) => {
                running.terminal.warning(&format!("{what} has no answer: {why}"));
                return Ok(None);
            }
            Err(Lacking::Stop(error)) => return Err(error),
        };
        let estimated = done.bill.estimated();
        if estimated > 0 && !self.is_rehearsal() {
            let calls = counted(estimated, "call");
            running
                .terminal
                .warning(&format!("{what}: the cost of {calls} is unknown and estimated as the mean of the others"));
        }
        Ok(Some(done))
    }

    async fn run_part(
        &self,
        groups: &Groups<'_>,
        part: Part,
        spec: Spec,
        notes: &mut Notes,
        running: &mut Running<'_>,
    ) -> Result<Done, Lacking> {
        if groups.record(notes, &part.name).is_none() {
            running.purse.check(part.most, &part.what)?;
        }
        let (prepared, before) = match groups.prepare(notes, &part, spec)? {
            Next::Finished(done) => return Ok(*done),
            Next::Run { prepared, before } => (prepared, before),
        };
        // The money already spent is part of its maximum.
        let rest = part.most.zip(before.listed).map(|(most, before)| most.saturating_sub(before));
        running.purse.check(rest, &part.what)?;
        let (debate, ended) = group::run(*prepared, &part.name, notes, part.meter, running.interrupts).await;
        if let Some(debate) = &debate {
            running.purse.took(before, Spent::of(debate));
            if ended.is_ok() && !self.args.quiet {
                let cost = debate.total_cost().map_or_else(String::new, |cost| format!(", {cost}"));
                running.terminal.notice(&format!("{}: {}{cost}", part.what, debate.id));
            }
        }
        ended?;
        groups.finished(notes, &part.name)?.ok_or_else(|| Lacking::LeftOut("it is gone".to_owned()))
    }

    /// Compares the debate's answer with a rival's.
    async fn compare(
        &self,
        problem: &Problem,
        debate: &Done,
        done: &Done,
        notes: &mut Notes,
        running: &mut Running<'_>,
    ) -> Result<RivalResult, Error> {
        let (cost, full) = (done.bill.full(), debate.bill.full());
        let share = cost.zip(full).filter(|(_, full)| *full > Usd::ZERO);
        let mut result = RivalResult {
            compared: None,
            cost,
            share: share.map(|(cost, full)| cost.dollars() / full.dollars()),
            is_content: self.other.is_none() && is_content(&done.debate),
        };
        let Some((text, other)) = text_of(&debate.debate).zip(text_of(&done.debate)) else { return Ok(result) };
        let lengths = [text.chars().count(), other.chars().count()];
        if let Some(answer) = &problem.answer {
            let right = [answer.is_in(text), answer.is_in(other)];
            result.compared = Some(Compared::checked(&problem.id, right, lengths));
            return Ok(result);
        }
        let Running { purse, interrupts, terminal } = running;
        let repeat = self.args.repeat.get();
        let ruled = judging::rulings(&self.judges, notes, problem, [text, other], repeat, purse, interrupts).await?;
        let (rulings, faults) = ruled;
        for fault in faults {
            terminal.warning(&format!("{}: {fault}", problem.id));
        }
        if !rulings.is_empty() {
            let rulings = rulings.into_iter().map(|ruled| ruled.ruling).collect();
            result.compared = Some(Compared::judged(&problem.id, rulings, lengths));
        }
        Ok(result)
    }

    /// Reports the results, then what is missing.
    fn finish(&self, outcomes: &[Outcome], terminal: &mut Terminal) -> Result<(), Error> {
        let spent = self.purse()?.spent.paid;
        if self.args.json {
            terminal.json(&self.as_json(outcomes, spent))?;
        } else {
            terminal.text(&self.as_text(outcomes, spent))?;
        }
        if self.is_rehearsal() {
            terminal.notice("Offline: no model was called, and nothing was measured.");
        }
        let all = outcomes.len() * self.rivals().len();
        let there = outcomes.iter().flat_map(|one| &one.rivals).filter(|rival| rival.compared.is_some()).count();
        if there == all {
            return Ok(());
        }
        let message = format!("{} of {all} comparisons are missing", all - there);
        Err(UserError::of(ErrorCategory::Provider, message).with_hint(FINISHED_WORK).into())
    }
}
