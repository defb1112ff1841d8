//! From calls to signals.

use std::time::Duration;

use tokio::sync::mpsc::UnboundedSender;

use crate::debate::{CallKey, Signal};
use crate::llm::{CallObserver, ModelError};

/// Shows retries, and answers on their way, as signals.
#[derive(Debug, Clone)]
pub struct SignalObserver(pub UnboundedSender<Signal>);

impl CallObserver for SignalObserver {
    fn retrying(&self, key: &CallKey, attempt: u32, error: &ModelError, wait: Duration) {
        let retrying = Signal::CallRetrying { key: key.clone(), attempt, error: error.to_string(), wait };
        // Nobody watching is no reason to stop.
        drop(self.0.send(retrying));
    }

    fn words(&self, key: &CallKey, text: &str) {
        drop(self.0.send(Signal::Words { key: key.clone(), text: text.to_owned() }));
    }
}
