//! `dialectic fork`: a debate that branches off another one and goes on with something changed.

use crate::cli::args::ForkArgs;
use crate::cli::session::{DEBATES, Session, env_file, runner, vouched};
use crate::cli::terminal::Terminal;
use crate::config::{Environment, Overrides, Switch, change, model_warnings};
use crate::error::Error;
use crate::prompt::Role;
use crate::protocol::PROTOCOLS;
use crate::store::Directory;

use super::debate::{today, vocabulary};

pub(in crate::cli) fn run(args: &ForkArgs, terminal: &mut Terminal) -> Result<(), Error> {
    let entry = Directory::at(DEBATES).find(&args.debate)?;
    let environment = Environment::capture(&env_file(args.run.env_file.as_ref()))?;
    let runner = runner(environment.clone());
    let branch = runner.branch(&entry, &args.at)?;
    let parent = branch.parent().clone();
    let roles = Role::built_in_names();
    let protocols: Vec<&str> = PROTOCOLS.iter().map(|protocol| protocol.name).collect();
    let offline = if args.offline { Switch::On } else { Switch::AsConfigured };
    let overrides = Overrides { offline, ..Overrides::default() };
    let changed = change(&parent.settings, &args.set, &overrides, &environment, &vocabulary(&roles, &protocols))?;
    let settings = changed.settings;
    let session = Session::open(&args.run, &settings, &environment, terminal)?;
    let provenance = vouched(branch.provenance(), &args.vouch, &environment)?.and_changes(&parent.settings, &settings);
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
