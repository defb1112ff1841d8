//! What commands begin with: the debates directory, a debate in it, the configuration files, and the runner.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use crate::archive::PastDebates;
use crate::error::{Error, UserError};
use dialectic_base::sanitize::one_line;
use dialectic_config::{ConfigFiles, ConfigPath, debates_directory, process_environment};
use dialectic_engine::access::{Environment, UserSettings};
use dialectic_engine::runner::{Runner, Services};
use dialectic_record::store::{Directory, Entry, read_state};

use super::args::{LATEST, VouchArgs};
use super::dialogue::Dialogue;
use super::terminal::Terminal;

/// The debates directory. Looked up only once, because that may read the user's configuration.
pub(super) fn debates() -> Result<Directory, Error> {
    static KNOWN: OnceLock<Directory> = OnceLock::new();
    if let Some(known) = KNOWN.get() {
        return Ok(known.clone());
    }
    let directory = Directory::at(debates_directory(&process_environment())?);
    Ok(KNOWN.get_or_init(|| directory).clone())
}

pub(super) fn is_first_debate() -> bool {
    debates().and_then(|directory| Ok(directory.entries()?)).is_ok_and(|entries| entries.is_empty())
}

/// Finds a debate by name; without one, the newest.
pub(super) fn or_latest(name: Option<&str>) -> Result<Entry, Error> {
    Ok(debates()?.find(name.unwrap_or(LATEST))?)
}

/// Like [`or_latest`], for a command that spends money. Without a name, it says on a terminal which debate is used, and
/// fails elsewhere.
pub(super) fn or_latest_said(name: Option<&str>, what: &'static str, terminal: &mut Terminal) -> Result<Entry, Error> {
    if name.is_some() {
        return or_latest(name);
    }
    if Dialogue::open().is_none() {
        let message = format!("without a terminal, `dialectic {what}` needs the name of a debate");
        let hint = format!("for the newest one: dialectic {what} {LATEST} ...");
        return Err(UserError::input(message).with_hint(hint).into());
    }
    let directory = debates()?;
    let entry = directory.find(LATEST)?;
    let (id, title) = match read_state(&entry.state) {
        Ok(debate) => (directory.short_name(&debate.id).to_owned(), format!(", “{}”", one_line(&debate.title()))),
        Err(_) => (entry.id(), String::new()),
    };
    terminal.notice(&format!("Using the newest debate: {id}{title}"));
    Ok(entry)
}

/// Whether the only argument of `ask` names a debate (`latest`, a file, an id or a unique suffix of one) instead of
/// being the question.
pub(super) fn is_debate(word: &str, directory: &Directory) -> Result<bool, Error> {
    let path = Path::new(word);
    let is_file = path.is_file()
        || (!word.contains(char::is_whitespace) && path.extension().is_some_and(|extension| extension == "json"));
    if word == LATEST || is_file {
        return Ok(true);
    }
    if word.is_empty() {
        return Ok(false);
    }
    let ids: Vec<String> = directory.entries()?.iter().map(Entry::id).collect();
    Ok(ids.iter().any(|id| id == word) || ids.iter().filter(|id| id.ends_with(word)).count() == 1)
}

/// `named` is the file from `--config`.
pub(super) fn config_files<'a>(named: Option<&PathBuf>, environment: &'a Environment) -> ConfigFiles<'a> {
    let path = named.map_or(ConfigPath::Default, |path| ConfigPath::Named(path.clone()));
    ConfigFiles::new(path, environment)
}

/// The user's own settings for a saved debate, from their files and the command line.
pub(super) fn own(args: &VouchArgs, files: &ConfigFiles) -> Result<UserSettings, Error> {
    let mut own = files.own()?;
    own.directories.extend(args.context.clone());
    Ok(own)
}

pub(super) fn runner(environment: Environment) -> Result<Runner, Error> {
    let directory = debates()?;
    let services = Services::new(environment).with_past(Arc::new(PastDebates::of(&directory)));
    Ok(Runner::new(directory, services))
}
