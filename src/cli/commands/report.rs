//! `dialectic report`: what was said in a saved debate, and how it went.

use std::fs;
use std::path::Path;

use crate::cli::args::ReportArgs;
use crate::cli::output::{detail, write_report};
use crate::cli::session::DEBATES;
use crate::cli::terminal::Terminal;
use crate::config::{ConfigError, ConfigPath, Environment, Overrides};
use crate::debate::Settings;
use crate::error::Error;
use crate::store::{Directory, Entry};

use super::debate::load_settings;

pub(in crate::cli) fn run(args: &ReportArgs, terminal: &mut Terminal) -> Result<(), Error> {
    let entry = Directory::at(DEBATES).find(args.debate())?;
    if args.output.as_deref().is_some_and(|output| is_of(&entry, output)) {
        let message = "names the debate itself, which a report must not replace".to_owned();
        return Err(ConfigError::Argument { option: "--output", message }.into());
    }
    let configured = args.config.as_deref().map(|path| configured(path, terminal)).transpose()?.flatten();
    let (output, format) = (args.output.as_deref(), args.format.map(Into::into));
    write_report(&entry, configured.as_ref(), output, detail(args.verbose), format, terminal)
}

/// Whether `path` is one of the debate's own files, whatever it is written like.
fn is_of(entry: &Entry, path: &Path) -> bool {
    let Ok(path) = fs::canonicalize(path) else { return false };
    let mut own = [Some(&entry.state), entry.journal.as_ref()].into_iter().flatten();
    own.any(|file| fs::canonicalize(file).is_ok_and(|file| file == path))
}

/// The settings of the configuration. One that is not there says nothing; the built-in defaults, which `debate` would
/// use, may have nothing to do with this debate.
fn configured(path: &Path, terminal: &mut Terminal) -> Result<Option<Settings>, Error> {
    if !path.exists() {
        let path = path.display();
        terminal.warning(&format!("Config not found at {path}. The report goes by what the debate itself says."));
        return Ok(None);
    }
    let path = ConfigPath::Named(path.to_owned());
    let loaded = load_settings(&path, &Environment::of_process(), &Overrides::default())?;
    for warning in &loaded.warnings {
        terminal.warning(warning);
    }
    Ok(Some(loaded.settings))
}
