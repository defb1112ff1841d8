//! `dialectic lift --plan`: judges the finished groups of a set.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use crate::cli::args::{LiftArgs, store_of};
use crate::cli::commands::sweep::{block_on, opened_at};
use crate::cli::session::{config_files, debates};
use crate::error::{Error, UserError};
use crate::lift::{Arm, Done, LeftOut, Problem, ProblemSet};
use crate::sweep::group::{GroupState, read_all};
use crate::sweep::plan::{Plan, PlannedDebate, Variant};
use dialectic_base::diagnostic::ErrorCategory;
use dialectic_base::figures::{counted, list};
use dialectic_engine::access::Environment;
use dialectic_engine::runner::Runner;

use super::group::Groups;

/// How many names an error has.
const NAMED: usize = 10;

fn first(names: &[String]) -> String {
    let more = names.len().saturating_sub(NAMED);
    let shown = names.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
    if more > 0 { format!("{shown}, and {more} more") } else { shown }
}

/// The finished groups of a plan, by their problem's id.
pub(super) struct FinishedGroups(BTreeMap<String, (Done, FinishedArms)>);

/// The arms of a group; without a record, why one is left out.
type FinishedArms = Vec<(Arm, Result<Done, LeftOut>)>;

impl FinishedGroups {
    /// The debate of a problem.
    pub(super) fn debate(&self, problem: &Problem) -> Option<&Done> {
        self.0.get(&problem.id).map(|(debate, _)| debate)
    }

    /// An arm of its debate, or why it is left out.
    pub(super) fn arm(&self, problem: &Problem, arm: Arm) -> Option<&Result<Done, LeftOut>> {
        let (_, arms) = self.0.get(&problem.id)?;
        arms.iter().find_map(|(own, done)| (*own == arm).then_some(done))
    }
}

/// What is judged, and what cannot be yet.
pub(super) struct Loaded<'a> {
    pub(super) set: ProblemSet,
    pub(super) groups: Groups<'a>,
    pub(super) finished: FinishedGroups,
    pub(super) unfinished: Option<UserError>,
}

/// Reads the groups of a plan.
pub(super) fn load<'a>(
    args: &LiftArgs,
    path: &Path,
    runner: &'a Runner,
    environment: &'a Environment,
) -> Result<Loaded<'a>, Error> {
    let (plan, store) = opened_at(path, &store_of(path, args.store.as_ref()))?;
    let variant = chosen(args, &plan.plan)?;
    let groups: Vec<&PlannedDebate> =
        plan.plan.debates.iter().filter(|group| group.variant.name == variant.name).collect();
    if groups.iter().any(|group| group.repeat > 1) {
        let message = "the plan has several repeats of each problem, and a problem counts once";
        return Err(UserError::input(message).with_hint("plan the set with `repeats` 1").into());
    }
    if let Some(arm) = args.against.iter().find(|arm| !variant.against.contains(arm)) {
        let has: Vec<String> = variant.against.iter().map(|arm| arm.protocol().name.to_owned()).collect();
        let (variant, arm, has) = (&variant.name, arm.protocol().name, list(&has));
        let message = format!("the groups of the variant `{variant}` have no arm {arm}; they have {has}");
        return Err(UserError::input(message).with_hint("name other arms with --against").into());
    }
    let states = block_on(async {
        Ok(match &store {
            Some(store) => read_all(&plan, &**store, &groups).await?,
            None => groups.iter().map(|_| GroupState::Unfinished).collect(),
        })
    })?;
    let (mut problems, mut finished) = (Vec::new(), BTreeMap::new());
    let (mut names, mut is_failed) = (Vec::new(), true);
    for (group, state) in groups.iter().zip(states) {
        let problem = &group.problem;
        match state {
            GroupState::Finished { debate, arms } => {
                problems.push(Problem {
                    id: problem.id.clone(),
                    text: problem.text.to_string(),
                    answer: problem.answer.clone(),
                    checklist: problem.checklist.clone(),
                });
                finished.insert(problem.id.clone(), (*debate, arms));
            }
            GroupState::Failed => names.push(problem.id.clone()),
            GroupState::Unfinished => {
                names.push(problem.id.clone());
                is_failed = false;
            }
        }
    }
    let unfinished = (!names.is_empty()).then(|| {
        let all = counted(groups.len() as u64, "group");
        let blame = if is_failed { ErrorCategory::Provider } else { ErrorCategory::Busy };
        UserError::of(blame, format!("{} of {all} not finished: {}", names.len(), first(&names)))
            .with_hint("`dialectic sweep run` goes on with them; judged groups are not judged again")
    });
    let groups = Groups {
        name: "the debate".to_owned(),
        runner,
        files: config_files(None, environment),
        directory: debates()?,
        protocol: variant.protocol,
        settings: variant.settings.clone(),
        arm: variant.settings.judge.clone(),
    };
    Ok(Loaded { set: ProblemSet { problems }, groups, finished: FinishedGroups(finished), unfinished })
}

/// The variant whose groups are judged.
fn chosen(args: &LiftArgs, plan: &Plan) -> Result<Arc<Variant>, UserError> {
    let with_arms: Vec<&Arc<Variant>> = plan.variants.iter().filter(|variant| !variant.against.is_empty()).collect();
    let is_wanted = |variant: &&&Arc<Variant>| args.of_variant.as_ref().is_none_or(|name| *name == variant.name);
    let fitting: Vec<_> = with_arms.iter().filter(is_wanted).collect();
    match fitting.as_slice() {
        [one] => Ok(Arc::clone(one)),
        _ if with_arms.is_empty() => {
            Err(UserError::input("no variant of the plan has arms").with_hint("plan the set with `against`"))
        }
        _ => {
            let variants: Vec<String> = with_arms.iter().map(|variant| variant.name.clone()).collect();
            let message = format!("which variant? The plan has groups of {}", list(&variants));
            Err(UserError::input(message).with_hint("name one: --of VARIANT"))
        }
    }
}
