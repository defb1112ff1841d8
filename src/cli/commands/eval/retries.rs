//! What becomes of attempts that failed and will be repeated.

use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::debate::CallKey;
use crate::display::{ColorMode, Notices};
use crate::error::Error;
use crate::figures::duration;
use crate::llm::{CallObserver, ModelError};

/// Tells of them, on a thread of its own: whoever reads standard error may stop, and the evaluation goes on.
pub(super) struct Retries {
    observer: Arc<Observer>,
    thread: Option<JoinHandle<()>>,
}

/// Where what is told goes; nowhere for those who do not want to know everything.
struct Observer(Option<mpsc::Sender<Told>>);

enum Told {
    Retry(String),
    /// Nothing more is told: the callers, which keep the observer, may live on.
    Everything,
}

impl Retries {
    /// Written to standard error.
    ///
    /// # Errors
    /// When the system refuses a thread.
    pub(super) fn told(color: ColorMode) -> Result<Self, Error> {
        let (sender, told) = mpsc::channel();
        let tell = move || {
            while let Ok(Told::Retry(text)) = told.recv() {
                // Nobody reading standard error is no reason to fail.
                drop(Notices::stderr(color).notice(&text));
            }
        };
        let thread = thread::Builder::new().name("retries".to_owned()).spawn(tell).map_err(Error::Runtime)?;
        Ok(Self { observer: Arc::new(Observer(Some(sender))), thread: Some(thread) })
    }

    pub(super) fn untold() -> Self {
        Self { observer: Arc::new(Observer(None)), thread: None }
    }

    pub(super) fn observer(&self) -> Arc<dyn CallObserver> {
        Arc::clone(&self.observer) as Arc<dyn CallObserver>
    }

    /// Waits until everything is written.
    pub(super) fn finish(self) {
        self.observer.tell(Told::Everything);
        if let Some(thread) = self.thread {
            // A panic of that thread has been reported by its hook, and takes no score away.
            drop(thread.join());
        }
    }
}

impl Observer {
    fn tell(&self, told: Told) {
        if let Some(sender) = &self.0 {
            // Fails only where the thread has ended, and then nobody is told.
            drop(sender.send(told));
        }
    }
}

impl CallObserver for Observer {
    fn retrying(&self, key: &CallKey, attempt: u32, error: &ModelError, wait: Duration) {
        let wait = duration(u64::try_from(wait.as_millis()).unwrap_or(u64::MAX));
        self.tell(Told::Retry(format!(
            "evaluator {}: attempt {attempt} failed: {error}; again in {wait}",
            key.agent_id
        )));
    }
}
