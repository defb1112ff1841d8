//! Files attached to the problem, with checks that apply to any source.

use std::path::Path;
use std::sync::Arc;

use sha2::{Digest, Sha256};

use crate::access::{Environment, known_keys};
use dialectic_base::encoding::{NotUtf8, decode};
use dialectic_base::figures::thousands;
use dialectic_base::secrets::{holds_private_key, may_hold_secrets};
use dialectic_record::debate::{Attachment, DebateSettings, Settings};

/// The maximum bytes of a character.
const WIDEST: u64 = 4;

/// Why a file cannot be attached.
#[derive(Debug, thiserror::Error)]
pub enum AttachmentError {
    /// It is not UTF-8.
    #[error("the attachment {name} is not UTF-8 text")]
    NotUtf8 {
        /// The user's name for it.
        name: String,
        /// The likely encoding.
        fault: NotUtf8,
    },
    /// It is empty.
    #[error("the attachment {0} is empty")]
    Empty(String),
    /// The files exceed the limit for text sent with every call.
    #[error("with {name}, the attachments exceed {} characters in total", thousands(*limit as u64))]
    TooLong {
        /// The file that exceeds it.
        name: String,
        /// The limit in characters.
        limit: usize,
    },
    /// The name or directory suggests secrets.
    #[error("the attachment {0} may contain keys or passwords, judging by its name")]
    SecretName(String),
    /// It contains a key.
    #[error("the attachment {name} contains {what}")]
    Secret {
        /// The user's name for it.
        name: String,
        /// The kind of secret, without its value.
        what: String,
    },
}

/// The attachments of a debate, added one by one. None is sent if one cannot be used.
pub struct Attachments<'a> {
    settings: &'a Settings,
    environment: &'a Environment,
    /// The remaining characters.
    left: usize,
    attached: Vec<Attachment>,
}

impl<'a> Attachments<'a> {
    /// No attachments yet. `settings` limit them; they must not contain keys of `environment`.
    pub fn new(settings: &'a Settings, environment: &'a Environment) -> Self {
        Self { settings, environment, left: DebateSettings::ATTACHMENT_LIMIT, attached: Vec::new() }
    }

    /// The bytes of the next file that must be read to check its length.
    pub fn most_bytes(&self) -> u64 {
        (self.left as u64).saturating_add(1).saturating_mul(WIDEST)
    }

    /// Checks a file's name.
    ///
    /// # Errors
    /// The name suggests secrets.
    pub fn check_name(name: &str) -> Result<(), AttachmentError> {
        if may_hold_secrets(Path::new(name)) {
            return Err(AttachmentError::SecretName(name.to_owned()));
        }
        Ok(())
    }

    /// Attaches the contents of a file, or its first [`most_bytes`](Self::most_bytes).
    ///
    /// # Errors
    /// It is not text, is too long, or contains a secret.
    pub fn add(&mut self, name: String, bytes: &[u8]) -> Result<(), AttachmentError> {
        let limit = DebateSettings::ATTACHMENT_LIMIT;
        let is_cut = bytes.len() as u64 >= self.most_bytes();
        let text = match decode(bytes) {
            Ok(text) => text,
            // A character cut by the limit is valid.
            Err(_) if is_cut => return Err(AttachmentError::TooLong { name, limit }),
            Err(fault) => return Err(AttachmentError::NotUtf8 { name, fault }),
        };
        if text.trim().is_empty() {
            return Err(AttachmentError::Empty(name));
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

    /// All attachments in their order.
    pub fn into_all(self) -> Arc<[Attachment]> {
        self.attached.into()
    }
}
