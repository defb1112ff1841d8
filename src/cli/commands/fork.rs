//! `dialectic fork`: a debate that branches off another one and goes on with something changed.

use crate::cli::args::ForkArgs;
use crate::cli::session::{DEBATES, Session, env_file, of_record};
use crate::cli::terminal::Terminal;
use crate::config::{Environment, Overrides, Switch, change, model_warnings};
use crate::debate::{Created, DebateId, Event, FORMAT_VERSION, ForkError, ForkedFrom, Recorded, check_authors, fork};
use crate::error::Error;
use crate::prompt::Role;
use crate::protocol::{PROTOCOLS, Protocol};
use crate::store::{Directory, Record, StoreError, read_journal};

use super::debate::{check_limit, today, vocabulary};

pub(in crate::cli) fn run(args: &ForkArgs, terminal: &mut Terminal) -> Result<(), Error> {
    let directory = Directory::at(DEBATES);
    let entry = directory.find(&args.debate)?;
    // Without its lock: a debate that runs can branch too, and nothing is written to it.
    let parent = read_journal(super::journal_of(&entry)?).map_err(StoreError::from)?.events;
    let created = first(&parent, &entry.id())?;
    let refused = |reason| Error::Fork { id: created.id.clone(), reason };
    let kept = fork(&parent, args.at).map_err(refused)?;
    let environment = Environment::capture(&env_file(args.run.env_file.as_ref()))?;
    let roles = Role::built_in_names();
    let protocols: Vec<&str> = PROTOCOLS.iter().map(|protocol| protocol.name).collect();
    let offline = if args.offline { Switch::On } else { Switch::AsConfigured };
    let overrides = Overrides { offline, ..Overrides::default() };
    let changed = change(&created.settings, &args.set, &overrides, &environment, &vocabulary(&roles, &protocols))?;
    let settings = changed.settings;
    check_authors(&kept, &settings).map_err(refused)?;
    if settings.debate.protocol != created.settings.debate.protocol && !args.at.is_start() {
        return Err(refused(ForkError::OtherProtocol));
    }
    let not_resumable = |reason| Error::NotResumable { id: created.id.clone(), reason };
    let protocol =
        Protocol::named(&settings.debate.protocol).ok_or_else(|| not_resumable("its protocol is unknown"))?;
    let mut session = Session::open(&args.run, &settings, terminal)?;
    let journal = super::journal_of(&entry)?;
    let provenance = of_record(&args.vouch, journal, Some(&created.prompt_sources), &environment)?
        .and_changes(&created.settings, &settings);
    let panel = session.panel(&settings, &environment, &provenance, terminal)?;
    let of_models = model_warnings(&settings, today());
    for warning in environment.warnings().iter().chain(&changed.warnings).chain(&of_models).chain(&panel.warnings) {
        terminal.warning(warning);
    }
    for change in created.prompt_sources.changes(&panel.sources) {
        terminal.warning(&change);
    }
    let new = |id| Created {
        format_version: FORMAT_VERSION,
        id,
        settings: settings.clone(),
        seed: settings.debate.seed.unwrap_or(created.seed),
        prompt_sources: panel.sources.clone(),
        forked_from: Some(ForkedFrom { id: created.id.clone(), at: args.at }),
        ..created.clone()
    };
    check_limit(&panel, new(created.id.clone()), &kept)?;
    let (mut record, begun) = Record::begin(&directory, new)?;
    let copied = kept.into_iter().map(|event| record.append(event).map(|recorded| recorded.as_ref().clone()));
    let past: Vec<Recorded> = match copied.collect() {
        Ok(past) => past,
        Err(error) => {
            // Half of what was to be taken over is no fork: resumed, it would pay for the rest once more.
            record.discard();
            return Err(Error::Store(error));
        }
    };
    terminal.notice(&format!("Forked {} at {} as {}", created.id, args.at, record.debate().id));
    session.beginning(begun).run(protocol, panel, record, &past, terminal)
}

/// What a debate began with.
fn first<'a>(events: &'a [Recorded], id: &str) -> Result<&'a Created, Error> {
    match events.first().map(|recorded| &recorded.event) {
        Some(Event::Created(created)) => Ok(created),
        _ => Err(Error::Fork { id: DebateId::new(id), reason: ForkError::Record(crate::debate::FoldError::Empty) }),
    }
}
