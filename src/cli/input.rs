//! Reads problems, attachments and other texts from the command line, files and standard input.

use std::fs::File;
use std::io::{self, BufRead, IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use crate::error::{Error, UserError};
use dialectic_base::encoding::decode;
use dialectic_base::figures::counted;
use dialectic_base::problem::check_problem_text;
use dialectic_base::secrets::{is_same_file, may_hold_secrets};
use dialectic_engine::access::Environment;
use dialectic_engine::runner::{AttachmentError, Attachments};
use dialectic_record::debate::Attachment;
use dialectic_record::settings::Settings;

use super::output::typed;
use super::terminal::Terminal;

/// One mebibyte, the maximum size of a question, answer or reply.
pub(super) const MIB: u64 = 1024 * 1024;
/// How long to wait for input before printing a notice.
const SILENT: Duration = Duration::from_secs(1);

const STANDARD_INPUT: &str = "standard input";

/// Whether standard input is a pipe, file or socket, as opposed to a terminal or a device such as `/dev/null`.
#[cfg(unix)]
pub(super) fn may_have_text() -> bool {
    use rustix::fs::FileType;
    let kind = rustix::fs::fstat(io::stdin()).map(|stat| FileType::from_raw_mode(stat.st_mode));
    matches!(kind, Ok(FileType::Fifo | FileType::RegularFile | FileType::Socket))
}

#[cfg(not(unix))]
pub(super) fn may_have_text() -> bool {
    !io::stdin().is_terminal()
}

/// Whether standard input has data that can be read without waiting.
#[cfg(unix)]
pub(super) fn has_text() -> bool {
    may_have_text() && rustix::io::ioctl_fionread(io::stdin()).is_ok_and(|bytes| bytes > 0)
}

#[cfg(not(unix))]
pub(super) fn has_text() -> bool {
    // No portable function checks this without waiting, so assume that there is no data.
    false
}

/// Reads a file, or standard input if `path` is `-`. Fails if there are more than `most` bytes. `what` names the
/// content in messages.
pub(super) fn read_file(what: &str, path: &Path, most: u64, terminal: &mut Terminal) -> Result<Vec<u8>, UserError> {
    let limit = most.saturating_add(1);
    let read = if is_dash(path) {
        read_stdin(what, limit, terminal)
    } else {
        let mut bytes = Vec::new();
        File::open(path).and_then(|file| file.take(limit).read_to_end(&mut bytes)).map(|_| bytes)
    };
    let bytes = read
        .map_err(|source| UserError::input(format!("cannot read {what} from {}", name_of(path))).with_source(source))?;
    if bytes.len() as u64 > most {
        return Err(UserError::input(format!("{what} is larger than {} MiB", most / MIB)));
    }
    Ok(bytes)
}

/// Decodes UTF-8 text, without the byte order mark that Windows editors add. Fails if the text is empty or contains a
/// NUL. `what` names the text in messages.
pub(super) fn text_of(what: &str, bytes: &[u8]) -> Result<String, UserError> {
    let text =
        decode(bytes).map_err(|fault| UserError::input(format!("{what} is not UTF-8 text")).with_hint(fault.hint()))?;
    check_problem_text(text).map_err(|fault| UserError::input(format!("{what} {fault}")).with_hint(fault.hint()))?;
    Ok(text.to_owned())
}

/// Reads at most `limit` bytes, without an error if there are more. `what` names the content in notices.
pub(super) fn read_stdin(what: &str, limit: u64, terminal: &mut Terminal) -> io::Result<Vec<u8>> {
    if io::stdin().is_terminal() {
        terminal.notice(&format!("Type {what}; press Ctrl-D on an empty line to finish."));
    }
    let (begun, has_begun) = channel();
    let reading = thread::spawn(move || {
        let mut stdin = io::stdin().lock();
        // This only signals that input has begun; `read_to_end` reports errors.
        let _ = begun.send(stdin.fill_buf().is_ok());
        let mut bytes = Vec::new();
        stdin.take(limit).read_to_end(&mut bytes).map(|_| bytes)
    });
    if has_begun.recv_timeout(SILENT) == Err(RecvTimeoutError::Timeout) && !io::stdin().is_terminal() {
        terminal.notice(&format!("Waiting for {what} on standard input"));
    }
    reading.join().unwrap_or_else(|_| Err(io::Error::other("reading was abandoned")))
}

/// Whether the problem comes from standard input.
pub(super) fn is_stdin(text: Option<&str>, file: Option<&Path>) -> bool {
    file.map_or(matches!(text, None | Some("-")), is_dash)
}

/// Reads the problem from standard input if neither `text` nor `file` is given. This fails if `stdin_is_taken`, or if
/// standard input is a terminal or a device such as `/dev/null`.
pub(super) fn read_problem(
    text: Option<&str>,
    file: Option<&Path>,
    stdin_is_taken: bool,
    terminal: &mut Terminal,
) -> Result<String, UserError> {
    let mut read = |path: &Path| read_file("the problem", path, u64::MAX, terminal);
    let (from, bytes) = match (text, file) {
        (Some(_), Some(_)) => {
            let message = "the problem was given twice: as text and as a file";
            return Err(UserError::input(message).with_hint("remove one of them"));
        }
        (None, None) if stdin_is_taken || !may_have_text() => {
            return Err(UserError::input("no problem given")
                .with_hint("give the problem in quotes, in a file with --problem-file, or through a pipe"));
        }
        (Some("-") | None, None) => (STANDARD_INPUT.to_owned(), read(Path::new("-"))?),
        (Some(path), None) if Path::new(path).is_file() => {
            return Err(UserError::input(format!("`{path}` is a file"))
                .with_hint(format!("did you mean `-p {}`?", typed(Path::new(path)))));
        }
        (Some(text), None) => ("the command line".to_owned(), text.as_bytes().to_vec()),
        (None, Some(path)) => {
            if path.is_dir() {
                return Err(UserError::input(format!("the problem file {} is a directory", path.display())));
            }
            (name_of(path), read(path)?)
        }
    };
    text_of(&format!("the problem from {from}"), &bytes)
}

fn unreadable_attachment(name: &str, source: io::Error) -> UserError {
    UserError::input(format!("cannot read the attachment {name}")).with_source(source)
}

fn is_dash(path: &Path) -> bool {
    path == Path::new("-")
}

fn name_of(path: &Path) -> String {
    if is_dash(path) { STANDARD_INPUT.to_owned() } else { path.display().to_string() }
}

/// The path `-` is standard input, which can be read only once: as an attachment or as the problem.
pub(super) fn read_attachments(
    paths: &[PathBuf],
    problem_is_stdin: bool,
    settings: &Settings,
    environment: &Environment,
    terminal: &mut Terminal,
) -> Result<Arc<[Attachment]>, Error> {
    if paths.iter().filter(|path| is_dash(path)).count() + usize::from(problem_is_stdin) > 1 {
        let hint = "give the problem as text, or attach a file";
        return Err(UserError::input("standard input cannot be read twice").with_hint(hint).into());
    }
    let mut attachments = Attachments::new(settings, environment);
    for path in paths {
        let name = name_of(path);
        let most = attachments.most_bytes();
        let bytes = if is_dash(path) {
            let read = read_stdin("the attachment", most, terminal);
            read.map_err(|source| unreadable_attachment(&name, source))?
        } else {
            read_attachment(path, &name, most, environment)?
        };
        attachments.add(name, &bytes)?;
    }
    Ok(attachments.into_all())
}

/// Reads the files at `names`, relative to `base`. Each attachment is named by its relative path.
pub(super) fn read_below(
    base: &Path,
    names: &[String],
    settings: &Settings,
    environment: &Environment,
) -> Result<Arc<[Attachment]>, Error> {
    let mut attachments = Attachments::new(settings, environment);
    for name in names {
        let bytes = read_attachment(&base.join(name), name, attachments.most_bytes(), environment)?;
        attachments.add(name.clone(), &bytes)?;
    }
    Ok(attachments.into_all())
}

fn read_attachment(path: &Path, name: &str, most: u64, environment: &Environment) -> Result<Vec<u8>, Error> {
    let unreadable = |source| unreadable_attachment(name, source);
    if path.is_dir() {
        return Err(UserError::input(format!("the attachment {name} is a directory")).into());
    }
    let file = File::open(path).map_err(unreadable)?;
    // A symbolic link with a harmless name may point to a file with secrets, so check both names.
    let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let is_env_file = environment.file().is_some_and(|env_file| is_same_file(env_file, path));
    if is_env_file || may_hold_secrets(path) || may_hold_secrets(&real) {
        return Err(AttachmentError::SecretName(name.to_owned()).into());
    }
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes).map_err(unreadable)?;
    Ok(bytes)
}

pub(super) fn notice_of(attachments: &[Attachment]) -> Option<String> {
    let shown = |one: &Attachment| format!("{} ({})", one.name, counted(one.text.chars().count() as u64, "character"));
    let names: Vec<String> = attachments.iter().map(shown).collect();
    (!names.is_empty()).then(|| format!("Attached: {}", names.join(", ")))
}
