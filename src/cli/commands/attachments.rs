//! The files of `--attach`.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::cli::stdin;
use crate::cli::terminal::Terminal;
use dialectic_base::diagnostic::{Diagnostic, ErrorCategory};
use dialectic_base::figures::counted;
use dialectic_base::secrets::{is_same_file, may_hold_secrets};
use dialectic_engine::access::Environment;
use dialectic_engine::runner::{AttachmentError, Attachments};
use dialectic_record::debate::{Attachment, Settings};

/// What standard input is called.
const STANDARD_INPUT: &str = "standard input";

/// Why what `--attach` names cannot be shown to anybody.
#[derive(Debug, thiserror::Error)]
pub(super) enum AttachError {
    /// Standard input holds one text.
    #[error("standard input is used twice")]
    StdinTwice,
    /// It cannot be read.
    #[error("cannot read the attachment {name}")]
    Unreadable {
        /// What the user calls it.
        name: String,
        /// Why.
        source: io::Error,
    },
    /// It is a directory.
    #[error("the attachment {name} is a directory")]
    Directory {
        /// What the user calls it.
        name: String,
    },
    /// What is in it cannot be attached.
    #[error(transparent)]
    Unfit(#[from] AttachmentError),
}

impl Diagnostic for AttachError {
    fn blame(&self) -> ErrorCategory {
        ErrorCategory::Arguments
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::StdinTwice => Some("give the problem as text, or attach a file".to_owned()),
            Self::Unfit(error) => error.hint(),
            Self::Unreadable { .. } | Self::Directory { .. } => None,
        }
    }
}

fn is_dash(path: &Path) -> bool {
    path == Path::new("-")
}

/// Reads the files at `paths`; nothing of any of them has been sent when one cannot be used.
pub(super) fn read(
    paths: &[PathBuf],
    problem_is_stdin: bool,
    settings: &Settings,
    environment: &Environment,
    terminal: &mut Terminal,
) -> Result<Arc<[Attachment]>, AttachError> {
    if paths.iter().filter(|path| is_dash(path)).count() + usize::from(problem_is_stdin) > 1 {
        return Err(AttachError::StdinTwice);
    }
    let mut attachments = Attachments::new(settings, environment);
    for path in paths {
        let name = if is_dash(path) { STANDARD_INPUT.to_owned() } else { path.display().to_string() };
        let most = attachments.most_bytes();
        let bytes = if is_dash(path) {
            let read = stdin::read("the attachment", most, terminal);
            read.map_err(|source| AttachError::Unreadable { name: name.clone(), source })?
        } else {
            read_file(path, &name, most, environment)?
        };
        attachments.add(name, &bytes)?;
    }
    Ok(attachments.into_all())
}

fn read_file(path: &Path, name: &str, most: u64, environment: &Environment) -> Result<Vec<u8>, AttachError> {
    let unreadable = |source| AttachError::Unreadable { name: name.to_owned(), source };
    if path.is_dir() {
        return Err(AttachError::Directory { name: name.to_owned() });
    }
    let file = File::open(path).map_err(unreadable)?;
    // A link has its own name, and that of the file it leads to.
    let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let is_env_file = environment.file().is_some_and(|env_file| is_same_file(env_file, path));
    if is_env_file || may_hold_secrets(path) || may_hold_secrets(&real) {
        return Err(AttachmentError::SecretName { name: name.to_owned() }.into());
    }
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes).map_err(unreadable)?;
    Ok(bytes)
}

/// What is said of the attachments when a debate begins.
pub(super) fn notice(attachments: &[Attachment]) -> Option<String> {
    let shown = |one: &Attachment| format!("{} ({})", one.name, counted(one.text.chars().count() as u64, "character"));
    let names: Vec<String> = attachments.iter().map(shown).collect();
    (!names.is_empty()).then(|| format!("Attached: {}", names.join(", ")))
}
