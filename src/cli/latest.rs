//! Falls back to the newest debate.

use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::path::Path;

use clap::ValueEnum;

use crate::error::{Error, UserError};
use dialectic_base::sanitize::one_line;
use dialectic_record::store::{Directory, Entry, read_state};

use super::commands::show::DebatePart;
use super::session::debates;
use super::terminal::Terminal;

pub(super) const LATEST: &str = "latest";

/// The debate with that name, by default the newest.
pub(super) fn or_latest(name: Option<&str>) -> Result<Entry, Error> {
    Ok(debates()?.find(name.unwrap_or(LATEST))?)
}

/// Like [`or_latest`], for a command that spends money: on a terminal it reports which debate is used, elsewhere a name
/// is required.
pub(super) fn or_latest_said(name: Option<&str>, what: &'static str, terminal: &mut Terminal) -> Result<Entry, Error> {
    if name.is_some() {
        return or_latest(name);
    }
    if !(io::stdin().is_terminal() && io::stderr().is_terminal()) {
        let message = format!("no debate is named to {what}, and there is no terminal to confirm the newest one");
        let hint = format!("name it; the newest is: dialectic {what} {LATEST} ...");
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

/// Whether the only argument of `ask` is a debate: `latest`, a file, a whole id or a unique end of one. Otherwise it is
/// a question.
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

/// Inserts `latest` before the part of a debate that `show` prints: `show points`.
pub(super) fn with_latest(arguments: Vec<OsString>) -> Vec<OsString> {
    let mut words = arguments.iter().enumerate().skip(1);
    let mut is_show = false;
    while let Some((place, word)) = words.next() {
        match word.to_str() {
            Some("--color") => drop(words.next()),
            Some(option) if option.starts_with('-') => {}
            Some("show") if !is_show => is_show = true,
            Some(part) if is_show && DebatePart::from_str(part, false).is_ok() => {
                let (before, behind) = arguments.split_at(place);
                return [before, &[LATEST.into()], behind].concat();
            }
            Some(_) | None => break,
        }
    }
    arguments
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_alone_is_of_the_newest_debate() {
        for (typed, meant) in [
            ("dialectic show points", "dialectic show latest points"),
            ("dialectic --color never show --json round 2", "dialectic --color never show --json latest round 2"),
            ("dialectic show vhkp points", "dialectic show vhkp points"),
            ("dialectic show", "dialectic show"),
            ("dialectic protocols show round", "dialectic protocols show round"),
        ] {
            let words = |line: &str| line.split(' ').map(OsString::from).collect::<Vec<_>>();
            assert_eq!(with_latest(words(typed)), words(meant));
        }
    }
}
