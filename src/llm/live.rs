//! Answers that are followed while they come in.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::debate::{Tokens, Usd};

use super::ModelError;

/// How an answer is followed.
#[derive(Clone, Copy)]
pub struct Live<'a> {
    /// Told of the answer's text.
    pub listener: &'a dyn Listener,
    /// A stream that is silent for longer is broken.
    pub idle_timeout: Duration,
}

/// Told of the text of an answer while it comes in.
pub trait Listener: Send + Sync {
    /// `text` follows on what was heard before.
    fn hear(&self, text: &str);
}

/// An attempt that failed, and what it took all the same.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{error}")]
pub struct FailedAttempt {
    /// Why.
    pub error: ModelError,
    /// What the server had said of its cost by then.
    pub figures: Figures,
}

/// What a server says that an attempt took.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Figures {
    /// Token counts; absent when none were reported.
    pub tokens: Option<Tokens>,
    /// The cost, where it is stated.
    pub cost: Option<Usd>,
}

impl From<ModelError> for FailedAttempt {
    fn from(error: ModelError) -> Self {
        Self { error, figures: Figures::default() }
    }
}

/// Text that has been heard and not yet passed on: words come in far more often than anybody can look.
#[derive(Default)]
pub(super) struct Batch(Mutex<String>);

impl Batch {
    /// What was heard since the last time; nothing when that is nothing.
    pub(super) fn take(&self) -> Option<String> {
        let text = std::mem::take(&mut *self.text());
        (!text.is_empty()).then_some(text)
    }

    fn text(&self) -> MutexGuard<'_, String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Listener for Batch {
    fn hear(&self, text: &str) {
        self.text().push_str(text);
    }
}
