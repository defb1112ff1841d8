//! From a call to signals.

use std::time::Duration;

use crate::debate::{CallKey, Signal};
use crate::llm::{CallObserver, ModelError};
use crate::signals::Signals;

/// Shows the retries of a call, and its answer on the way, as signals.
pub(super) struct SignalObserver {
    pub(super) key: CallKey,
    pub(super) signals: Signals,
}

impl CallObserver for SignalObserver {
    fn retrying(&self, attempt: u32, error: &ModelError, wait: Duration) {
        self.signals.publish(Signal::CallRetrying { key: self.key.clone(), attempt, error: error.to_string(), wait });
    }

    fn words(&self, text: &str) {
        self.signals.publish(Signal::Words { key: self.key.clone(), text: text.to_owned() });
    }
}
