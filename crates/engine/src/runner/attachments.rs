//! Files that are put beside the problem: what may be one, from any source.

use std::path::Path;
use std::sync::Arc;

use sha2::{Digest, Sha256};

use crate::access::{Environment, known_keys};
use dialectic_base::diagnostic::{Diagnostic, ErrorCategory};
use dialectic_base::encoding::{NotUtf8, decode};
use dialectic_base::figures::thousands;
use dialectic_base::secrets::{holds_private_key, may_hold_secrets};
use dialectic_record::debate::{Attachment, Settings};

/// Bytes of a character at most.
const WIDEST: u64 = 4;

/// Why a file cannot be shown to anybody.
#[derive(Debug, thiserror::Error)]
pub enum AttachmentError {
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
    #[error("the attachments have more than {} characters together, with {name}", thousands(*limit as u64))]
    TooLong {
        /// The one with which they are too long.
        name: String,
        /// How many characters they may have.
        limit: usize,
    },
    /// Files of this name or place commonly hold keys.
    #[error("the attachment {name} may hold keys or passwords, judging by its name")]
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

impl Diagnostic for AttachmentError {
    fn blame(&self) -> ErrorCategory {
        ErrorCategory::Arguments
    }

    fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::NotUtf8 { fault, .. } => return Some(fault.hint()),
            Self::Empty { .. } => "check that the file, or the output of the command before the pipe, is not empty",
            Self::TooLong { .. } => {
                "attach less, or raise `debate.attachmentLimit` in the configuration; every call sends all of it"
            }
            Self::SecretName { .. } => {
                "it would be sent to every model and kept in the record; if it holds none, attach a copy with another \
                 name"
            }
            Self::Secret { .. } => "it would be sent to every model and kept in the record; remove it first",
        };
        Some(hint.to_owned())
    }
}

/// The attachments of a debate, one after the other. Nothing of any of them is sent while one cannot be used.
pub struct Attachments<'a> {
    settings: &'a Settings,
    environment: &'a Environment,
    /// Characters that there is still room for.
    left: usize,
    attached: Vec<Attachment>,
}

impl<'a> Attachments<'a> {
    /// None, so far. `settings` bound them; keys of `environment` must not be in them.
    pub fn new(settings: &'a Settings, environment: &'a Environment) -> Self {
        Self { settings, environment, left: settings.debate.attachment_limit, attached: Vec::new() }
    }

    /// How many bytes of the next one have to be read, to know whether there is room for it.
    pub fn most_bytes(&self) -> u64 {
        (self.left as u64).saturating_add(1).saturating_mul(WIDEST)
    }

    /// Refuses a file whose name suggests secrets.
    ///
    /// # Errors
    /// When it is.
    pub fn check_name(name: &str) -> Result<(), AttachmentError> {
        if may_hold_secrets(Path::new(name)) {
            return Err(AttachmentError::SecretName { name: name.to_owned() });
        }
        Ok(())
    }

    /// Attaches what was read of a file, which is all of it or [`most_bytes`](Self::most_bytes).
    ///
    /// # Errors
    /// When it is no text, has no room, or holds a secret.
    pub fn add(&mut self, name: String, bytes: &[u8]) -> Result<(), AttachmentError> {
        let limit = self.settings.debate.attachment_limit;
        let is_cut = bytes.len() as u64 >= self.most_bytes();
        let text = match decode(bytes) {
            Ok(text) => text,
            // A character that the limit cuts is no fault of the file.
            Err(_) if is_cut => return Err(AttachmentError::TooLong { name, limit }),
            Err(fault) => return Err(AttachmentError::NotUtf8 { name, fault }),
        };
        if text.trim().is_empty() {
            return Err(AttachmentError::Empty { name });
        }
        let Some(rest) = self.left.checked_sub(text.chars().count()) else {
            return Err(AttachmentError::TooLong { name, limit });
        };
        self.left = rest;
        let secret = if holds_private_key(text) {
            Some("a private key".to_owned())
        } else {
            known_keys(&self.settings.providers, self.environment)
                .find(text)
                .map(|variable| format!("the value of {variable}"))
        };
        if let Some(what) = secret {
            return Err(AttachmentError::Secret { name, what });
        }
        let sha256 = Sha256::digest(bytes).iter().fold(String::new(), |hex, byte| format!("{hex}{byte:02x}"));
        self.attached.push(Attachment { name, sha256, text: text.into() });
        Ok(())
    }

    /// All of them, in their order.
    pub fn into_all(self) -> Arc<[Attachment]> {
        self.attached.into()
    }
}
