//! Reads the problem from the command line, a file, or standard input, and the files attached to it.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::cli::output::typed;
use crate::cli::stdin::{self, STANDARD_INPUT};
use crate::cli::terminal::Terminal;
use crate::error::{Error, UserError};
use dialectic_base::figures::counted;
use dialectic_base::secrets::{is_same_file, may_hold_secrets};
use dialectic_engine::access::Environment;
use dialectic_engine::runner::{AttachmentError, Attachments};
use dialectic_record::debate::{Attachment, Settings};

pub(super) struct Sources<'a> {
    /// The argument on the command line.
    pub(super) text: Option<&'a str>,
    pub(super) file: Option<&'a Path>,
    /// Whether standard input is used for another purpose.
    pub(super) stdin_is_taken: bool,
}

pub(super) struct Problem {
    pub(super) text: String,
    pub(super) is_stdin: bool,
}

/// Reads the problem from the given source, otherwise from a pipe or file on standard input.
pub(super) fn read(sources: &Sources, terminal: &mut Terminal) -> Result<Problem, UserError> {
    let stdin = Path::new("-");
    let mut read = |path: &Path| stdin::read_file("the problem", path, u64::MAX, terminal);
    let (from, bytes) = match (sources.text, sources.file) {
        (Some(_), Some(_)) => {
            let message = "two problems given: as text and as a file";
            return Err(UserError::input(message).with_hint("remove one of them"));
        }
        (None, None) if sources.stdin_is_taken || !stdin::may_have_text() => {
            return Err(UserError::input("no problem given")
                .with_hint("put it in quotes after the command, name a file with --problem-file, or pipe it in"));
        }
        (Some("-") | None, None) => (STANDARD_INPUT.to_owned(), read(stdin)?),
        (Some(path), None) if Path::new(path).is_file() => {
            return Err(UserError::input(format!("`{path}` is a file"))
                .with_hint(format!("did you mean `-p {}`?", typed(Path::new(path)))));
        }
        (Some(text), None) => ("the command line".to_owned(), text.as_bytes().to_vec()),
        (None, Some(path)) => {
            if path.is_dir() {
                return Err(UserError::input(format!("the problem file {} is a directory", path.display())));
            }
            (path.display().to_string(), read(path)?)
        }
    };
    let text = stdin::text_of(&format!("the problem from {from}"), &bytes)?;
    Ok(Problem { text, is_stdin: from == STANDARD_INPUT })
}

fn unreadable_attachment(name: &str, source: io::Error) -> UserError {
    UserError::input(format!("cannot read the attachment {name}")).with_source(source)
}

fn is_dash(path: &Path) -> bool {
    path == Path::new("-")
}

/// Reads the files at `paths`. Fails if any of them cannot be used.
pub(super) fn read_attachments(
    paths: &[PathBuf],
    problem_is_stdin: bool,
    settings: &Settings,
    environment: &Environment,
    terminal: &mut Terminal,
) -> Result<Arc<[Attachment]>, Error> {
    if paths.iter().filter(|path| is_dash(path)).count() + usize::from(problem_is_stdin) > 1 {
        let hint = "give the problem as text, or attach a file";
        return Err(UserError::input("standard input is used twice").with_hint(hint).into());
    }
    let mut attachments = Attachments::new(settings, environment);
    for path in paths {
        let name = if is_dash(path) { STANDARD_INPUT.to_owned() } else { path.display().to_string() };
        let most = attachments.most_bytes();
        let bytes = if is_dash(path) {
            let read = stdin::read("the attachment", most, terminal);
            read.map_err(|source| unreadable_attachment(&name, source))?
        } else {
            read_file(path, &name, most, environment)?
        };
        attachments.add(name, &bytes)?;
    }
    Ok(attachments.into_all())
}

/// Reads the files at `names`, which are relative to `base` and keep their names.
pub(super) fn read_below(
    base: &Path,
    names: &[String],
    settings: &Settings,
    environment: &Environment,
) -> Result<Arc<[Attachment]>, Error> {
    let mut attachments = Attachments::new(settings, environment);
    for name in names {
        let bytes = read_file(&base.join(name), name, attachments.most_bytes(), environment)?;
        attachments.add(name.clone(), &bytes)?;
    }
    Ok(attachments.into_all())
}

fn read_file(path: &Path, name: &str, most: u64, environment: &Environment) -> Result<Vec<u8>, Error> {
    let unreadable = |source| unreadable_attachment(name, source);
    if path.is_dir() {
        return Err(UserError::input(format!("the attachment {name} is a directory")).into());
    }
    let file = File::open(path).map_err(unreadable)?;
    // A link's own name and its target's name are both checked.
    let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let is_env_file = environment.file().is_some_and(|env_file| is_same_file(env_file, path));
    if is_env_file || may_hold_secrets(path) || may_hold_secrets(&real) {
        return Err(AttachmentError::SecretName(name.to_owned()).into());
    }
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes).map_err(unreadable)?;
    Ok(bytes)
}

/// The notice about attachments at the start of a debate.
pub(super) fn notice_of(attachments: &[Attachment]) -> Option<String> {
    let shown = |one: &Attachment| format!("{} ({})", one.name, counted(one.text.chars().count() as u64, "character"));
    let names: Vec<String> = attachments.iter().map(shown).collect();
    (!names.is_empty()).then(|| format!("Attached: {}", names.join(", ")))
}
