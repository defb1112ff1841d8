//! `dialectic fork`: a debate that branches off another one and goes on with something changed.

use crate::cli::args::{ForkArgs, ModelArgs};
use crate::cli::session::{Session, config_files, debates, env_file, runner, vouched};
use crate::cli::terminal::Terminal;
use crate::error::Error;
use dialectic_config::{Overrides, Switch, capture_environment, change_settings, model_warnings};

use super::debate::today;

pub(in crate::cli) fn run(args: &ForkArgs, terminal: &mut Terminal) -> Result<(), Error> {
    let entry = debates()?.find(&args.which.debate)?;
    let environment = capture_environment(&env_file(args.run.env_file.as_ref()))?;
    let runner = runner(environment.clone())?;
    let branch = runner.branch(&entry, &args.at)?;
    let parent = branch.parent().clone();
    let offline = if args.offline { Switch::On } else { Switch::AsConfigured };
    let ModelArgs { model, judge_model, provider } = args.models.clone();
    let overrides = Overrides { model, judge_model, provider, offline, ..Overrides::default() };
    let changed = change_settings(&parent.settings, &args.set, &overrides, &environment)?;
    let settings = changed.settings;
    let files = config_files(args.vouch.config.as_ref(), &environment);
    let session = Session::open(&args.run, &settings, files.hooks()?, &environment, terminal)?;
    let provenance = vouched(branch.provenance(), &args.vouch, &files)?.and_changes(&parent.settings, &settings);
    let prepared = runner.fork(branch, settings.clone(), &provenance, &[])?;
    let of_models = model_warnings(&settings, today());
    let warnings = environment.warnings().iter().chain(&changed.warnings).chain(&of_models);
    for warning in warnings.chain(&prepared.panel().warnings) {
        terminal.warning(warning);
    }
    // Of another protocol the prompts are others.
    if settings.debate.protocol == parent.settings.debate.protocol {
        for change in parent.prompt_sources.changes(&prepared.panel().sources) {
            terminal.warning(&change);
        }
    }
    let ready = prepared.begin()?;
    terminal.notice(&format!("Forked {} at {} as {}", parent.id, args.at, ready.debate().id));
    session.run(ready, terminal)
}
