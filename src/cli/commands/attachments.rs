//! The files of `--attach`.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sha2::{Digest, Sha256};

use crate::cli::stdin;
use crate::cli::terminal::Terminal;
use crate::config::{Environment, key_in};
use crate::debate::{Attachment, Settings};
use crate::diagnostic::{Blame, Diagnostic};
use crate::encoding::{NotUtf8, decode};
use crate::figures::{counted, thousands};
use crate::secrets::{holds_private_key, is_same_file, may_hold_secrets};

/// What standard input is called.
const STANDARD_INPUT: &str = "standard input";
/// Bytes of a character at most.
const WIDEST: u64 = 4;

/// Why a file cannot be shown to anybody.
#[derive(Debug, thiserror::Error)]
pub(super) enum AttachmentError {
    /// Standard input holds one text.
    #[error("standard input is asked for twice")]
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
    /// It is not text.
    #[error("the attachment {name} is not UTF-8 text")]
    NotUtf8 {
        /// What the user calls it.
        name: String,
        /// What it is instead.
        fault: NotUtf8,
    },
    /// It says nothing.
    #[error("the attachment {name} is empty")]
    Empty {
        /// What the user calls it.
        name: String,
    },
    /// There is more than may be sent with every call.
    #[error("the attachments have more than {} together, with {name}", counted_characters(*limit))]
    TooLong {
        /// The one with which they are too long.
        name: String,
        /// How many characters they may have.
        limit: usize,
    },
    /// Files of this name or place commonly hold keys.
    #[error("the attachment {name} may hold keys or passwords, going by its name")]
    SecretName {
        /// What the user calls it.
        name: String,
    },
    /// A key is in it.
    #[error("the attachment {name} holds {what}")]
    Secret {
        /// What the user calls it.
        name: String,
        /// What was found, without the secret itself.
        what: String,
    },
}

fn counted_characters(limit: usize) -> String {
    format!("{} characters", thousands(limit as u64))
}

impl Diagnostic for AttachmentError {
    fn blame(&self) -> Blame {
        Blame::Arguments
    }

    fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::StdinTwice => "give the problem as text, or attach a file",
            Self::NotUtf8 { fault, .. } => return Some(fault.hint()),
            Self::Empty { .. } => "see that the command before the pipe, or the file, has something to say",
            Self::TooLong { .. } => {
                "attach less, or raise `debate.attachmentLimit` in the configuration; every call is sent all of it"
            }
            Self::SecretName { .. } => {
                "it would be sent to every model and kept in the record; if it holds none, attach a copy with another \
                 name"
            }
            Self::Secret { .. } => "it would be sent to every model and kept in the record; take it out first",
            Self::Unreadable { .. } | Self::Directory { .. } => return None,
        };
        Some(hint.to_owned())
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
) -> Result<Arc<[Attachment]>, AttachmentError> {
    if paths.iter().filter(|path| is_dash(path)).count() + usize::from(problem_is_stdin) > 1 {
        return Err(AttachmentError::StdinTwice);
    }
    let limit = settings.debate.attachment_limit;
    let mut left = limit;
    let mut attachments = Vec::new();
    for path in paths {
        let name = if is_dash(path) { STANDARD_INPUT.to_owned() } else { path.display().to_string() };
        let most = (left as u64).saturating_add(1).saturating_mul(WIDEST);
        let bytes = if is_dash(path) {
            let read = stdin::read("the attachment", most, terminal);
            read.map_err(|source| AttachmentError::Unreadable { name: name.clone(), source })?
        } else {
            read_file(path, &name, most, environment)?
        };
        let is_cut = bytes.len() as u64 == most;
        let text = match decode(&bytes) {
            Ok(text) => text,
            // A character that the limit cuts is no fault of the file.
            Err(_) if is_cut => return Err(AttachmentError::TooLong { name, limit }),
            Err(fault) => return Err(AttachmentError::NotUtf8 { name, fault }),
        };
        if text.trim().is_empty() {
            return Err(AttachmentError::Empty { name });
        }
        let Some(rest) = left.checked_sub(text.chars().count()) else {
            return Err(AttachmentError::TooLong { name, limit });
        };
        left = rest;
        let secret = if holds_private_key(text) {
            Some("a private key".to_owned())
        } else {
            key_in(text, &settings.providers, environment).map(|variable| format!("the value of {variable}"))
        };
        if let Some(what) = secret {
            return Err(AttachmentError::Secret { name, what });
        }
        let sha256 = Sha256::digest(&bytes).iter().fold(String::new(), |hex, byte| format!("{hex}{byte:02x}"));
        attachments.push(Attachment { name, sha256, text: text.into() });
    }
    Ok(attachments.into())
}

fn read_file(path: &Path, name: &str, most: u64, environment: &Environment) -> Result<Vec<u8>, AttachmentError> {
    let unreadable = |source| AttachmentError::Unreadable { name: name.to_owned(), source };
    if path.is_dir() {
        return Err(AttachmentError::Directory { name: name.to_owned() });
    }
    let file = File::open(path).map_err(unreadable)?;
    // A link has its own name, and that of the file it leads to.
    let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let is_env_file = environment.file().is_some_and(|env_file| is_same_file(env_file, path));
    if is_env_file || may_hold_secrets(path) || may_hold_secrets(&real) {
        return Err(AttachmentError::SecretName { name: name.to_owned() });
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
