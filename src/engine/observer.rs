//! From calls to signals.

use std::time::Duration;

use crate::debate::{CallKey, Signal};
use crate::llm::{CallObserver, ModelError};
use crate::signals::Signals;

/// Shows retries, and answers on their way, as signals.
#[derive(Debug, Clone)]
pub struct SignalObserver(pub Signals);

impl CallObserver for SignalObserver {
    fn retrying(&self, key: &CallKey, attempt: u32, error: &ModelError, wait: Duration) {
        self.0.publish(Signal::CallRetrying { key: key.clone(), attempt, error: error.to_string(), wait });
    }

    fn words(&self, key: &CallKey, text: &str) {
        self.0.publish(Signal::Words { key: key.clone(), text: text.to_owned() });
    }
}
