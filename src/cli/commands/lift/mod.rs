//! `dialectic lift`: debates against other ways to spend their money, on a set of problems.

mod group;
mod judging;
mod meter;
mod plan;
mod report;

use std::collections::BTreeSet;

use group::{DEBATE, Groups, Lacking, Next, full_cost, is_content};
use meter::Meter;
use plan::Plan;
use report::{ArmResult, Compare, Outcome};

use crate::cli::args::{ArmName, LiftArgs};
use crate::cli::interrupt::{Interrupts, end_on_interrupt};
use crate::cli::session::{config_files, debates, env_file, runner};
use crate::cli::terminal::Terminal;
use crate::error::Error;
use crate::lift::{Compared, Judge, Notes, Problem, ProblemSet};
use dialectic_base::diagnostic::{Diagnostic, ErrorCategory};
use dialectic_base::money::Usd;
use dialectic_base::provider::OFFLINE;
use dialectic_config::{
    EvaluationSettings, Loaded, Overrides, Switch, capture_environment, load_evaluators, model_warnings,
    offline_evaluator,
};
use dialectic_engine::agent::price_of;
use dialectic_engine::runner::Spec;
use dialectic_llm::models::family;
use dialectic_record::debate::{AgentSettings, Debate, ResultKind};

use super::debate::today;
use super::eval::callers;
use super::protocols;

/// Why nothing can be compared.
#[derive(Debug, thiserror::Error)]
enum LiftError {
    /// Nobody judges.
    #[error("nobody judges: {problems} of the problems have no `answer` that a program can check")]
    NoJudges { problems: usize },
    /// What an arm may spend cannot be known.
    #[error("the price of {model} is {fault}, so no arm can be held to what a debate costs")]
    NoPrice { model: String, fault: &'static str },
    /// The protocol ends with a verdict.
    #[error("the protocol {protocol} ends without a text that could be compared")]
    NoText { protocol: &'static str },
    /// Judges' calls do not count there.
    #[error("`{key}` is set, and comparisons do not count in it")]
    CallLimit { key: &'static str },
    /// The limit does not cover the next step.
    #[error("the limit of {limit} does not cover {what}: {spent} is spent, and it may take {most}")]
    TooDear { limit: Usd, what: String, spent: Usd, most: Usd },
    /// What was spent cannot be said.
    #[error("the cost of {what} is unknown, so the limit cannot be kept")]
    UnknownCost { what: String },
}

impl Diagnostic for LiftError {
    fn blame(&self) -> ErrorCategory {
        match self {
            Self::NoJudges { .. } | Self::NoText { .. } | Self::TooDear { .. } => ErrorCategory::Arguments,
            Self::NoPrice { .. } | Self::CallLimit { .. } | Self::UnknownCost { .. } => ErrorCategory::Configuration,
        }
    }

    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::NoJudges { .. } => "name judges that took no part: --judges evaluators.json".to_owned(),
            Self::NoPrice { model, .. } => {
                format!("set one in `prices`, also for a model of your own: what a model like {model} costs elsewhere")
            }
            Self::NoText { .. } => "take another: --protocol dialectic".to_owned(),
            Self::CallLimit { .. } => "leave it out of this configuration, and use --max-cost".to_owned(),
            Self::TooDear { .. } => "everything so far is kept; go on with a higher --max-cost".to_owned(),
            Self::UnknownCost { .. } => "set its price, or leave out --max-cost".to_owned(),
        })
    }
}

/// What may be spent on a set, and has been.
pub(super) struct Purse {
    limit: Option<Usd>,
    spent: Option<Usd>,
}

impl Purse {
    /// Sees to it that something which costs `most` may begin.
    fn check(&self, most: Option<Usd>, what: &str) -> Result<(), Error> {
        let Some(limit) = self.limit else { return Ok(()) };
        let Some((spent, most)) = self.spent.zip(most) else {
            return Err(LiftError::UnknownCost { what: what.to_owned() }.into());
        };
        if spent + most <= limit {
            return Ok(());
        }
        Err(LiftError::TooDear { limit, what: what.to_owned(), spent, most }.into())
    }

    /// Takes notice of what a step cost.
    fn took(&mut self, before: Option<Usd>, after: Option<Usd>) {
        let cost = after.zip(before).map(|(after, before)| after.saturating_sub(before));
        self.spent = self.spent.zip(cost).map(|(spent, cost)| spent + cost);
    }

    fn left(&self) -> Option<Usd> {
        let (limit, spent) = self.limit.zip(self.spent)?;
        Some(limit.saturating_sub(spent))
    }
}

/// A comparison that is about to be made.
pub(super) struct Lift<'a> {
    args: &'a LiftArgs,
    set: ProblemSet,
    groups: Groups<'a>,
    judges: Vec<Judge>,
    /// What is compared, once each.
    arms: Vec<ArmName>,
}

pub(in crate::cli) fn run(args: &LiftArgs, terminal: &mut Terminal) -> Result<(), Error> {
    // Everything that can be checked is checked here, before anything is paid for.
    let set = ProblemSet::read(&args.set)?;
    let environment = capture_environment(&env_file(args.env_file.as_ref()))?;
    let files = config_files(args.config.as_ref(), &environment);
    let Loaded { mut settings, warnings, provenance, choice, .. } = files.load(&overrides(args))?;
    let mut warnings = [warnings, model_warnings(&settings, today())].concat();
    let protocol = protocols::named(&settings.debate.protocol)?;
    if !protocol
        .stages
        .iter()
        .any(|stage| matches!(stage.info.yields, Some(ResultKind::Solution | ResultKind::Proposal)))
    {
        return Err(LiftError::NoText { protocol: protocol.name }.into());
    }
    // Nobody is there to answer, and no debate may know of another.
    settings.debate.interactive_clarifications = false;
    settings.debate.memory = false;
    settings.debate.trace = None;
    let budget = &settings.debate.budget;
    let limits =
        [("debate.budget.maxCalls", budget.max_calls), ("debate.budget.maxCallsPerDay", budget.max_calls_per_day)];
    if let Some((key, _)) = limits.into_iter().find(|(_, limit)| limit.is_some()) {
        return Err(LiftError::CallLimit { key }.into());
    }
    let arm = AgentSettings {
        model: args.arm_model.clone().filter(|_| !args.offline).unwrap_or_else(|| settings.judge.model.clone()),
        ..settings.judge.clone()
    };
    for agent in settings.everybody().chain([&arm]).filter(|agent| agent.provider != OFFLINE) {
        let fault = match price_of(agent, &settings) {
            None => "unknown",
            Some(price) if price.input_per_m_tok <= 0.0 && price.output_per_m_tok <= 0.0 => "0",
            Some(_) => continue,
        };
        return Err(LiftError::NoPrice { model: agent.model.clone(), fault }.into());
    }
    let evaluation = evaluation(args, &set, &environment)?;
    let caller = callers(&evaluation, &environment, None)?;
    let judges: Vec<Judge> =
        evaluation.evaluators.iter().map(|one| Judge { settings: one.clone(), caller: caller(one) }).collect();
    warnings.extend(evaluation.warnings.iter().filter(|_| args.judges.is_some()).cloned());
    let runner = runner(environment.clone())?;
    let groups = Groups { runner: &runner, files: &files, directory: debates()?, protocol, settings, provenance, arm };
    let arms = args.against.iter().copied().fold(Vec::new(), |mut arms, arm| {
        if !arms.contains(&arm) {
            arms.push(arm);
        }
        arms
    });
    let lift = Lift { args, set, groups, judges, arms };
    warnings.extend(lift.relations());
    let mut said = BTreeSet::new();
    for warning in warnings.iter().filter(|warning| said.insert(warning.as_str())) {
        terminal.warning(warning);
    }
    if let Some(choice) = &choice {
        terminal.notice(&choice.to_string());
    }
    let plan = Plan::of(&lift)?;
    if args.dry_run {
        let text = if plan.is_done() { "nothing is left to do".to_owned() } else { plan.said() };
        return terminal.text(&format!("{text}\n"));
    }
    if let Some(choice) = &choice {
        choice.callable()?;
    }
    plan.agree(&lift, terminal)?;
    let outcomes = lift.all(terminal)?;
    lift.finish(&outcomes, terminal)
}

fn overrides(args: &LiftArgs) -> Overrides {
    Overrides {
        model: args.models.model.clone(),
        judge_model: args.models.judge_model.clone(),
        provider: args.models.provider.clone(),
        protocol: args.protocol.clone(),
        rounds: args.rounds,
        offline: if args.offline { Switch::On } else { Switch::AsConfigured },
        ..Overrides::default()
    }
}

/// Who judges: nobody where every answer can be checked.
fn evaluation(
    args: &LiftArgs,
    set: &ProblemSet,
    environment: &dialectic_engine::access::Environment,
) -> Result<EvaluationSettings, Error> {
    let offline = if args.offline { Switch::On } else { Switch::AsConfigured };
    let problems = set.problems.iter().filter(|problem| problem.answer.is_none()).count();
    match &args.judges {
        _ if problems == 0 => Ok(EvaluationSettings { evaluators: Vec::new(), ..offline_evaluator(environment) }),
        Some(path) => Ok(load_evaluators(path, environment, offline)?),
        None if args.offline => Ok(offline_evaluator(environment)),
        None => Err(LiftError::NoJudges { problems }.into()),
    }
}

/// The answer of a debate.
pub(super) fn text_of(debate: &Debate) -> Option<&str> {
    debate.final_solution.as_ref().map(|solution| solution.description.as_str()).filter(|text| !text.trim().is_empty())
}

impl Lift<'_> {
    /// What is run beside the debate: draws are measured by a single answer.
    fn runs(&self) -> Vec<ArmName> {
        let mut runs = vec![ArmName::Single];
        runs.extend(self.arms.iter().copied().filter(|arm| *arm != ArmName::Single));
        runs
    }

    /// What is to be said of judges that are related to who took part.
    fn relations(&self) -> Vec<String> {
        let took_part = || self.groups.settings.everybody().chain([&self.groups.arm]);
        let mut said = Vec::new();
        for Judge { settings, .. } in self.judges.iter().filter(|judge| judge.settings.provider != OFFLINE) {
            let id = &settings.id;
            if took_part().any(|agent| agent.model == settings.model) {
                said.push(format!(
                    "judge {id}: its model, {}, took part; models prefer their own texts",
                    settings.model
                ));
                continue;
            }
            match family(&settings.model) {
                None => said.push(format!(
                    "judge {id}: the family of {} is unknown, so that it may be related to who took part",
                    settings.model
                )),
                Some(own) if took_part().any(|agent| family(&agent.model) == Some(own)) => {
                    said.push(format!(
                        "judge {id}: a model of its family, {own}, took part; models prefer their own texts"
                    ));
                }
                Some(_) => {}
            }
        }
        said
    }

    /// Runs all groups, one after the other.
    fn all(&self, terminal: &mut Terminal) -> Result<Vec<Outcome>, Error> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Error::Runtime)?;
        let outcomes = runtime.block_on(async {
            let mut interrupts = Interrupts::listen();
            let mut purse = self.purse()?;
            let mut outcomes = Vec::new();
            for problem in &self.set.problems {
                outcomes.push(Box::pin(self.group(problem, &mut purse, &mut interrupts, terminal)).await?);
            }
            Ok(outcomes)
        });
        runtime.shutdown_background();
        end_on_interrupt(None);
        outcomes
    }

    /// What earlier runs spent on this set counts.
    fn purse(&self) -> Result<Purse, Error> {
        let mut spent = Some(Usd::ZERO);
        for problem in &self.set.problems {
            let notes = Notes::look(&self.groups.notes_path(problem))?;
            let group = self.groups.spent(&notes)?.zip(notes.judging());
            spent = spent.zip(group).map(|(spent, (records, judging))| spent + records + judging);
        }
        Ok(Purse { limit: self.args.max_cost, spent })
    }

    /// Runs what is not there yet of one group.
    async fn group(
        &self,
        problem: &Problem,
        purse: &mut Purse,
        interrupts: &mut Interrupts,
        terminal: &mut Terminal,
    ) -> Result<Outcome, Error> {
        let groups = &self.groups;
        let mut notes = Notes::open(&groups.notes_path(problem), &problem.id)?;
        let mut outcome = Outcome::of(problem, self.arms.len());
        let most = groups.finished(&notes, DEBATE)?.is_none().then(|| groups.forecast(&groups.debate(problem, None)));
        let limit = groups.settings.max_cost();
        let capped = |most: Usd| limit.map_or(most, |limit| most.min(limit));
        let most = most.transpose()?.map_or(Some(Usd::ZERO), |forecast| forecast.most().map(capped));
        let what = format!("{}: the debate", problem.id);
        // Only a debate that is new is held to what is left: one that goes on has its limit.
        let spec = groups.debate(problem, purse.left());
        let debate =
            match Box::pin(self.part(&what, DEBATE, spec, most, None, &mut notes, purse, interrupts, terminal)).await {
                Ok(debate) => debate,
                Err(Lacking::LeftOut(why)) => {
                    terminal.warning(&format!("{what} has no answer: {why}"));
                    return Ok(outcome);
                }
                Err(Lacking::Stop(error)) => return Err(error),
            };
        let full = full_cost(&debate);
        outcome.debate = full;
        let Some(text) = text_of(&debate) else {
            terminal.warning(&format!("{what} has no answer"));
            return Ok(outcome);
        };
        let money = full.filter(|money| *money > Usd::ZERO);
        if money.is_none() && !self.is_rehearsal() {
            terminal.warning(&format!("{what} has an unknown cost, so that no arm can be held to it"));
            return Ok(outcome);
        }
        let mut single = None;
        for arm in self.runs() {
            let what = format!("{}: {}", problem.id, arm.protocol().name);
            let part = groups.part_of(arm);
            let spec = match (&single, arm) {
                (_, ArmName::Single) => Some(groups.single(problem)),
                (Some(single), _) => groups.equal(arm, problem, money, single),
                (None, _) => None,
            };
            let Some(spec) = spec else {
                let why = if single.is_some() { "the debate's money does not buy it" } else { "no single answer" };
                terminal.warning(&format!("{what} is left out: {why}"));
                continue;
            };
            let answer = groups.forecast(&groups.single(problem))?.most();
            let most = match arm {
                ArmName::Single => answer,
                // What is under way when the money is spent may be longer than foreseen.
                ArmName::SelfRefine | ArmName::BestOfN => {
                    money.or(Some(Usd::ZERO)).zip(answer).map(|(money, answer)| money + answer)
                }
            };
            let meter = groups.meter(arm, money);
            let done =
                match Box::pin(self.part(&what, &part, spec, most, meter, &mut notes, purse, interrupts, terminal))
                    .await
                {
                    Ok(done) => done,
                    Err(Lacking::LeftOut(why)) => {
                        terminal.warning(&format!("{what} has no answer: {why}"));
                        continue;
                    }
                    Err(Lacking::Stop(error)) => return Err(error),
                };
            if let Some(index) = self.arms.iter().position(|wanted| *wanted == arm) {
                let compare = Compare { notes: &mut notes, purse, interrupts };
                outcome.arms[index] = self.compare(problem, text, full, &done, compare, terminal).await?;
            }
            if arm == ArmName::Single {
                single = Some(done);
            }
        }
        Ok(outcome)
    }

    /// Runs a part of a group, if it is not finished.
    #[expect(clippy::too_many_arguments, reason = "what all parts have in common, and who runs them")]
    async fn part(
        &self,
        what: &str,
        part: &str,
        spec: Spec,
        most: Option<Usd>,
        meter: Option<Meter>,
        notes: &mut Notes,
        purse: &mut Purse,
        interrupts: &mut Interrupts,
        terminal: &mut Terminal,
    ) -> Result<Debate, Lacking> {
        if self.groups.record(notes, part).is_none() {
            purse.check(most, what)?;
        }
        let (prepared, before) = match self.groups.prepare(notes, part, spec)? {
            Next::Finished(debate) => return Ok(*debate),
            Next::Run { prepared, before } => (prepared, before),
        };
        // What is already spent of it is within its most.
        let rest = most.zip(before).map(|(most, before)| most.saturating_sub(before));
        purse.check(rest, what)?;
        let (debate, ended) = group::run(*prepared, part, notes, meter, interrupts).await;
        if let Some(debate) = &debate {
            purse.took(before, debate.total_cost());
            if ended.is_ok() && !self.args.quiet {
                let cost = debate.total_cost().map_or_else(String::new, |cost| format!(", {cost}"));
                terminal.notice(&format!("{what}: {}{cost}", debate.id));
            }
        }
        ended?;
        debate.ok_or_else(|| Lacking::LeftOut("it is gone".to_owned()))
    }

    /// Compares the debate's answer with an arm's.
    async fn compare(
        &self,
        problem: &Problem,
        text: &str,
        full: Option<Usd>,
        done: &Debate,
        compare: Compare<'_>,
        terminal: &mut Terminal,
    ) -> Result<ArmResult, Error> {
        let cost = full_cost(done);
        let share = cost.zip(full).filter(|(_, full)| *full > Usd::ZERO);
        let mut result = ArmResult {
            compared: None,
            cost,
            share: share.map(|(cost, full)| cost.dollars() / full.dollars()),
            is_content: is_content(done),
        };
        let Some(other) = text_of(done) else { return Ok(result) };
        let lengths = [text.chars().count(), other.chars().count()];
        if let Some(answer) = &problem.answer {
            let right = [answer.is_in(text), answer.is_in(other)];
            result.compared = Some(Compared::checked(&problem.id, right, lengths));
            return Ok(result);
        }
        let Compare { notes, purse, interrupts } = compare;
        let repeat = self.args.repeat.get();
        let ruled = judging::rulings(&self.judges, notes, problem, [text, other], repeat, purse, interrupts).await?;
        let (rulings, faults) = ruled;
        for fault in faults {
            terminal.warning(&format!("{}: {fault}", problem.id));
        }
        if !rulings.is_empty() {
            result.compared = Some(Compared::judged(&problem.id, rulings, lengths));
        }
        Ok(result)
    }

    /// Says what came out, then what is missing.
    fn finish(&self, outcomes: &[Outcome], terminal: &mut Terminal) -> Result<(), Error> {
        let spent = self.purse()?.spent;
        if self.args.json {
            terminal.json(&self.as_json(outcomes, spent))?;
        } else {
            terminal.text(&self.as_text(outcomes, spent))?;
        }
        if self.is_rehearsal() {
            terminal.notice("Offline: no model was called, and nothing was measured.");
        }
        let all = outcomes.len() * self.arms.len();
        let there = outcomes.iter().flat_map(|one| &one.arms).filter(|arm| arm.compared.is_some()).count();
        if there < all { Err(Error::NotCompared { missing: all - there, all }) } else { Ok(()) }
    }
}
