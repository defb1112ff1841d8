//! `dialectic sweep plan`: plans a set's debates with their ids and costs, before spending anything.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;

use crate::cli::input;
use crate::cli::target::OutputTarget;
use crate::cli::terminal::Terminal;
use crate::error::{Error, UserError};
use crate::sweep::description::{Description, Group, Problem, VariantDescription};
use crate::sweep::plan::{Plan, Variant};
use dialectic_base::figures::{counted, short_cost};
use dialectic_base::money::Usd;
use dialectic_config::{
    ConfigFiles, ConfigPath, DEFAULT_PATH, Loaded, ModelChoice, Overrides, capture_environment, model_warnings,
};
use dialectic_engine::access::Environment;
use dialectic_engine::engine::{check_prices, check_purchase};
use dialectic_engine::runner::{Runner, Services, new_debate};
use dialectic_record::debate::Attachment;
use dialectic_record::event::Created;
use dialectic_record::live::Span;
use dialectic_record::settings::Settings;
use dialectic_record::store::Directory;

use super::super::debate::today;
use super::super::protocols;

#[derive(Debug, Args)]
pub(in crate::cli) struct SweepPlanArgs {
    /// The description of the set: its problems, variants, repeats and limits
    #[arg(value_name = "SWEEP.JSON")]
    sweep: PathBuf,

    /// Write the plan to a file [default: standard output]
    #[arg(short, long, value_name = "PATH")]
    output: Option<PathBuf>,

    /// Plan a rehearsal: its debates run without a model, key or network
    #[arg(long)]
    offline: bool,

    /// Read API keys and other variables from this file [default: .env, if it exists]
    #[arg(short, long, value_name = "PATH")]
    env_file: Option<PathBuf>,
}

fn unplanned(name: &str, source: Error) -> Error {
    let hint = source.hint();
    let Error::Diagnosed(source) = source else { return source };
    let error = UserError::of(source.blame(), format!("cannot plan the variant `{name}`"));
    match hint {
        Some(hint) => error.with_hint(hint),
        None => error,
    }
    .with_source(source)
    .into()
}

/// A variant, and its settings as resolved on the planning machine.
struct Resolved {
    settings: Settings,
    variant: Variant,
}

pub(super) fn run(args: &SweepPlanArgs, terminal: &mut Terminal) -> Result<(), Error> {
    let output = args.output.as_deref().map(OutputTarget::prepare).transpose()?;
    let description = Description::read(&args.sweep)?;
    let environment = capture_environment(args.env_file.as_deref())?;
    let mut warnings = BTreeSet::new();
    let mut resolved = Vec::new();
    for variant in &description.variants {
        let one = resolve(variant, &description.base, args.offline, &environment, &mut warnings)
            .map_err(|source| unplanned(&variant.name, source))?;
        resolved.push(one);
    }
    let mut problems = Vec::new();
    for group in &description.groups {
        let attached = attached(group, &description.base, &resolved, &environment)?;
        let own = group.problems.iter().cloned();
        problems.extend(own.map(|problem| Problem { attachments: Arc::clone(&attached), ..problem }));
    }
    let variants = resolved.iter().map(|one| one.variant.clone()).collect();
    let mut plan = Plan::of(problems, variants, description.repeats.get());
    check_ids(&plan)?;
    if let Some(budget) = description.budget {
        check_budget(budget, &plan)?;
    }
    // Debates are neither read from nor written to this directory: sets ignore past debates.
    let runner = Runner::new(Directory::at(std::env::temp_dir()), Services::new(environment));
    price(&mut plan, &resolved, &runner, &mut warnings)?;
    terminal.warnings(&warnings);
    let bytes = plan.to_bytes();
    match output {
        Some(target) => target.write_result(&bytes, terminal)?,
        None => terminal.result_from(|out| out.write_all(&bytes))?,
    }
    terminal.notice(&said(&plan, description.budget));
    Ok(())
}

fn resolve(
    described: &VariantDescription,
    base: &Path,
    offline: bool,
    environment: &Environment,
    warnings: &mut BTreeSet<String>,
) -> Result<Resolved, Error> {
    let beside = || Some(PathBuf::from(DEFAULT_PATH)).filter(|path| base.join(path).exists());
    // By naming the description, the user also trusts the files that it names and those next to it.
    let path = described.config.clone().or_else(beside);
    let path = path.map_or(ConfigPath::None, |path| ConfigPath::Named(base.join(path)));
    let files = ConfigFiles::new(path, environment);
    let Loaded { mut settings, warnings: own, choice, .. } = files.load(&overrides(described, offline))?;
    choice.iter().try_for_each(ModelChoice::callable)?;
    settings.debate.memory = false;
    settings.debate.trace = None;
    warnings.extend(own);
    warnings.extend(model_warnings(&settings, today()));
    if settings.debate.seed.is_some() {
        warnings.insert("ignoring `debate.seed`: a debate's id determines its seed".to_owned());
    }
    let protocol = protocols::named(&settings.debate.protocol)?;
    (protocol.check)(&settings).map_err(Error::from)?;
    check_prices(&settings)?;
    let variant = Variant::new(described.name.clone(), protocol, &settings)?;
    Ok(Resolved { settings, variant })
}

fn overrides(described: &VariantDescription, offline: bool) -> Overrides {
    Overrides {
        agents: described.agents.clone(),
        model: described.model.clone(),
        judge_model: described.judge_model.clone(),
        mixed: described.mixed,
        rounds: described.rounds,
        protocol: described.protocol.clone(),
        until: described.until,
        check: described.check,
        quick: described.quick,
        offline: described.offline || offline,
        max_cost: described.max_cost,
        ..Overrides::default()
    }
}

/// Checks that every debate has a cost limit, and that the sum of the limits does not exceed the budget.
fn check_budget(budget: Usd, plan: &Plan) -> Result<(), UserError> {
    let fitting = || {
        let each = budget.dollars() / f64::from(u32::try_from(plan.debates.len()).unwrap_or(u32::MAX));
        // Round down, so that the sum stays within the budget.
        (each * 1e4).floor() / 1e4
    };
    let mut all = Usd::ZERO;
    for debate in &plan.debates {
        let Some(limit) = debate.variant.settings.max_cost() else {
            let name = &debate.variant.name;
            let message = format!("the set has a `budget`, but the variant `{name}` has no cost limit");
            return Err(UserError::input(message)
                .with_hint(format!("set `maxCost`; {} for each debate stays within the budget", fitting())));
        };
        all += limit;
    }
    if all <= budget {
        return Ok(());
    }
    Err(UserError::input(format!("{} may cost {all} in total, but the `budget` is {budget}", plan.counted()))
        .with_hint(format!("raise `budget`, or set `maxCost` to {} for each debate", fitting())))
}

/// Reads a group's attachments once per variant, since the settings of every variant must permit them.
fn attached(
    group: &Group,
    base: &Path,
    resolved: &[Resolved],
    environment: &Environment,
) -> Result<Arc<[Attachment]>, Error> {
    let mut attached: Arc<[Attachment]> = [].into();
    for one in resolved {
        attached = input::read_below(base, &group.attach, &one.settings, environment)?;
    }
    Ok(attached)
}

/// Rejects duplicate debates, because they would share one result, which would then count twice.
fn check_ids(plan: &Plan) -> Result<(), UserError> {
    let mut known = BTreeMap::new();
    for debate in &plan.debates {
        let name = format!("`{}` by `{}`", debate.problem.id, debate.variant.name);
        if let Some(first) = known.insert(&debate.id, name.clone()) {
            return Err(UserError::input(format!("{first} and {name} are the same debate"))
                .with_hint("remove one of them; to repeat a debate, use `repeats`"));
        }
    }
    Ok(())
}

/// The size of a length group, in bytes. Problems in the same group whose attachments have the same length are assumed
/// to cost the same.
const LENGTHS: usize = 512;

/// Estimates each debate's cost from the longest problem of similar length whose attachments have the same length. Even
/// thousands of problems have few distinct lengths, so few forecasts are needed.
fn price(
    plan: &mut Plan,
    resolved: &[Resolved],
    runner: &Runner,
    warnings: &mut BTreeSet<String>,
) -> Result<(), Error> {
    for one in resolved {
        let mut longest: BTreeMap<(usize, usize), &Arc<Problem>> = BTreeMap::new();
        for problem in &plan.problems {
            let known = longest.entry(length(problem)).or_insert(problem);
            if known.text.len() < problem.text.len() {
                *known = problem;
            }
        }
        let mut costs = BTreeMap::new();
        for (length, problem) in longest {
            let (own, cost) = cost(one, problem, runner).map_err(|source| unplanned(&one.variant.name, source))?;
            warnings.extend(own);
            costs.insert(length, cost);
        }
        for debate in plan.debates.iter_mut().filter(|debate| debate.variant.name == one.variant.name) {
            let cost = costs.get(&length(&debate.problem)).copied().unwrap_or_default();
            (debate.likely, debate.most) = (cost.low, cost.high);
        }
    }
    Ok(())
}

/// The number of a problem's length group, and the exact length of its attachments.
fn length(problem: &Problem) -> (usize, usize) {
    let attached = problem.attachments.iter().map(|one| one.name.len() + one.text.len()).sum();
    (problem.text.len() / LENGTHS, attached)
}

/// Returns the span from the likely to the maximum cost, and warnings.
fn cost(one: &Resolved, problem: &Problem, runner: &Runner) -> Result<(Vec<String>, Span<Option<Usd>>), Error> {
    if one.variant.settings.is_offline() {
        return Ok((Vec::new(), Span { low: Some(Usd::ZERO), high: Some(Usd::ZERO) }));
    }
    let created = Created {
        attachments: Arc::clone(&problem.attachments),
        ..new_debate(Arc::clone(&problem.text), one.variant.protocol, of_set(&one.settings))
    };
    let warnings = runner.check_prompts(&created)?;
    let forecast = runner.forecast(&created)?;
    if let Some(purchase) = &forecast.purchase {
        check_purchase(purchase)?;
    }
    let limit = one.settings.max_cost();
    let within = |cost: Option<Usd>| cost.map(|cost| limit.map_or(cost, |limit| cost.min(limit)));
    Ok((warnings, Span { low: within(forecast.likely()), high: within(forecast.most()) }))
}

/// Turns off the agents' questions, since nobody answers them in a set.
fn of_set(settings: &Settings) -> Settings {
    let mut settings = settings.clone();
    settings.debate.interactive_clarifications = false;
    settings
}

/// For example, `60 debates: 10 problems, 2 variants, 3 repeats; likely $12.30, at most $45.00`.
fn said(plan: &Plan, budget: Option<Usd>) -> String {
    let count = |count: usize, noun| counted(count as u64, noun);
    let repeats = plan.debates.iter().map(|debate| debate.repeat).max().unwrap_or(1);
    let mut parts = vec![count(plan.problems.len(), "problem"), count(plan.variants.len(), "variant")];
    if repeats > 1 {
        parts.push(counted(u64::from(repeats), "repeat"));
    }
    let cost = match (plan.likely(), plan.most()) {
        (Some(likely), Some(most)) => format!("likely {}, at most {}", short_cost(likely), short_cost(most)),
        _ => "at unknown cost".to_owned(),
    };
    let budget = budget.map(|budget| format!("; the budget is {}", short_cost(budget))).unwrap_or_default();
    format!("{}: {}; {cost}{budget}", plan.counted(), parts.join(", "))
}
