//! The debates to run: the command's own, or those of two variants.

use crate::cli::args::{LiftArgs, VariantArg};
use crate::cli::commands::debate::today;
use crate::cli::commands::protocols;
use crate::cli::session::{config_files, debates};
use crate::error::{Error, UserError};
use crate::lift::{Arms, has_text};
use dialectic_base::diagnostic::ErrorCategory;
use dialectic_config::{ConfigError, Loaded, ModelChoice, Overrides, Switch, model_warnings};
use dialectic_engine::access::Environment;
use dialectic_engine::runner::Runner;
use dialectic_record::debate::AgentSettings;

use super::group::Groups;

pub(super) fn variants(fault: &str) -> Error {
    let message = format!("{fault}: give two, --variant A --variant B");
    ConfigError::Argument { option: "--variant", message }.into()
}

/// The debates to run: the command's own, or those of two variants.
pub(super) fn sides(args: &LiftArgs) -> Result<Vec<(String, VariantArg)>, Error> {
    match args.variants.as_slice() {
        [] => Ok(vec![("the debate".to_owned(), VariantArg::default())]),
        [one, other] => {
            let stem = |variant: &VariantArg| match &variant.config {
                Some(path) if !variant.text.contains('=') => {
                    path.file_stem().map(|stem| stem.to_string_lossy().into_owned())
                }
                Some(_) | None => None,
            };
            let short = [one, other].map(|variant| stem(variant).unwrap_or_else(|| variant.text.clone()));
            let names = if short[0] == short[1] { [one.text.clone(), other.text.clone()] } else { short };
            Ok(names.into_iter().zip([one.clone(), other.clone()]).collect())
        }
        [_] => Err(variants("is given once")),
        _ => Err(variants("is given too often")),
    }
}

/// The debates of a side, with warnings and the models that were chosen for it.
pub(super) fn load<'a>(
    args: &LiftArgs,
    (name, side): &(String, VariantArg),
    runner: &'a Runner,
    environment: &'a Environment,
) -> Result<(Groups<'a>, Vec<String>, Option<ModelChoice>), Error> {
    let files = config_files(side.config.as_ref().or(args.config.as_ref()), environment);
    let Loaded { mut settings, warnings, provenance, choice, .. } = files.load(&overrides(args, side))?;
    let warnings = [warnings, model_warnings(&settings, today())].concat();
    let protocol = protocols::named(&settings.debate.protocol)?;
    if !has_text(protocol) {
        let message = format!("the protocol {} produces no text to compare", protocol.name);
        return Err(UserError::input(message).with_hint("use another one: --protocol dialectic").into());
    }
    // There is no one to answer, and debates must be independent.
    settings.debate.interactive_clarifications = false;
    settings.debate.memory = false;
    settings.debate.trace = None;
    if settings.debate.budget.max_calls.is_some() {
        let message = "`debate.budget.maxCalls` is set, but comparisons do not count towards it";
        let hint = "remove it from this configuration, and use --max-cost";
        return Err(UserError::of(ErrorCategory::Configuration, message).with_hint(hint).into());
    }
    let arm = AgentSettings {
        model: args.arm_model.clone().filter(|_| !args.offline).unwrap_or_else(|| settings.judge.model.clone()),
        ..settings.judge.clone()
    };
    let is_by_money = args.variants.is_empty() || args.equal_money;
    let arms = Arms { debate: &settings, model: &arm };
    if let Some((model, fault)) = arms.unpriced().filter(|_| is_by_money) {
        let message = format!("the price of {model} is {fault}, so nothing can be limited to the debate's cost");
        let hint = format!("set one in `prices`; for your own model, use the price of a model like {model} elsewhere");
        return Err(UserError::of(ErrorCategory::Configuration, message).with_hint(hint).into());
    }
    let directory = debates()?;
    let groups = Groups { name: name.clone(), runner, files, directory, protocol, settings, provenance, arm };
    Ok((groups, warnings, choice))
}

fn overrides(args: &LiftArgs, side: &VariantArg) -> Overrides {
    let VariantArg { protocol, model, judge_model, provider, rounds, .. } = side.clone();
    Overrides {
        model: model.or_else(|| args.models.model.clone()),
        judge_model: judge_model.or_else(|| args.models.judge_model.clone()),
        provider: provider.or_else(|| args.models.provider.clone()),
        protocol: protocol.or_else(|| args.protocol.clone()),
        rounds: rounds.or(args.rounds),
        offline: if args.offline { Switch::On } else { Switch::AsConfigured },
        ..Overrides::default()
    }
}
