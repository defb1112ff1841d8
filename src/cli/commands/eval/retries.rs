//! Messages about retries.

use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::error::Error;
use dialectic_base::figures::duration;
use dialectic_llm::{CallObserver, ModelError};
use dialectic_record::debate::AgentId;
use dialectic_report::display::{ColorMode, Notices};

/// Reports retries on its own thread, so that a stalled reader of standard error does not stop the evaluation.
pub(super) struct RetryNotices(Option<(mpsc::Sender<RetryMessage>, JoinHandle<()>)>);

enum RetryMessage {
    Retry(String),
    /// Ends the messages; callers and their observers may outlive this.
    Everything,
}

/// Reports the retries of one evaluator.
struct Observer {
    evaluator: AgentId,
    sender: mpsc::Sender<RetryMessage>,
}

impl RetryNotices {
    /// Writes the messages to standard error.
    ///
    /// # Errors
    /// The system cannot start a thread.
    pub(super) fn told(color: ColorMode) -> Result<Self, Error> {
        let (sender, told) = mpsc::channel();
        let tell = move || {
            while let Ok(RetryMessage::Retry(text)) = told.recv() {
                // A closed standard error is not a reason to fail.
                drop(Notices::stderr(color).notice(&text));
            }
        };
        let thread = thread::Builder::new().name("retries".to_owned()).spawn(tell).map_err(Error::Runtime)?;
        Ok(Self(Some((sender, thread))))
    }

    pub(super) fn untold() -> Self {
        Self(None)
    }

    pub(super) fn observer_of(&self, evaluator: &AgentId) -> Option<Arc<dyn CallObserver>> {
        let (sender, _) = self.0.as_ref()?;
        Some(Arc::new(Observer { evaluator: evaluator.clone(), sender: sender.clone() }))
    }

    /// Waits until everything is written.
    pub(super) fn finish(self) {
        if let Some((sender, thread)) = self.0 {
            // Fails only if the thread panicked, which its hook has reported; the scores are unaffected.
            drop(sender.send(RetryMessage::Everything));
            drop(thread.join());
        }
    }
}

impl CallObserver for Observer {
    fn retrying(&self, attempt: u32, error: &ModelError, wait: Duration) {
        let wait = duration(u64::try_from(wait.as_millis()).unwrap_or(u64::MAX));
        let text = format!("evaluator {}: attempt {attempt} failed: {error}; retrying in {wait}", self.evaluator);
        // Fails only if the thread has ended.
        drop(self.sender.send(RetryMessage::Retry(text)));
    }
}
