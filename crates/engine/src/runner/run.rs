//! The handle to a running debate, and the steps after the debate.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;
use std::{fs, io, thread};

use tokio::sync::{mpsc, watch};
use tokio::task::{JoinHandle, spawn_blocking};
use tokio_util::sync::CancellationToken;

use crate::access::secret_variables;
use crate::engine::{Engine, EngineError, RunCommand, RunEnding, UserReply};
use crate::process::{Limited, run};
use dialectic_record::debate::{Answerer, Debate, StopReason};
use dialectic_record::ids::{AgentId, DebateId};
use dialectic_record::live::{Follower, Progress, Signals, Subscription, Words};
use dialectic_record::settings::Settings;
use dialectic_record::store::{Entry, JournalReader};

use super::{DebateHistory, Runner};

const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// A handle to a running debate. If the handle is dropped, the debate continues, but pauses when it needs answers while
/// no [`Controls`] exist.
pub struct Run {
    id: DebateId,
    journal: PathBuf,
    signals: Signals,
    controls: Controls,
    waiting: watch::Receiver<Option<Arc<Debate>>>,
    ended: JoinHandle<Result<Finished, Failed>>,
}

/// Sends commands to a run from any thread. All clones control the same run, which waits for answers while a clone
/// exists.
#[derive(Clone)]
pub struct Controls {
    commands: mpsc::UnboundedSender<RunCommand>,
    cancel: CancellationToken,
}

/// A debate after a run, and how the run ended.
#[derive(Debug)]
pub struct Finished {
    /// The saved debate.
    pub debate: Debate,
    /// How the run ended.
    pub ending: RunEnding,
    /// Whether the record was kept. A new debate is discarded if it failed before it paid for any call and the user
    /// added nothing.
    pub is_kept: bool,
}

/// A run that could not continue. The debate can be resumed from its last event.
#[derive(Debug, thiserror::Error)]
#[error("the debate {} could not continue", debate.id)]
pub struct Failed {
    /// The debate up to its last event.
    pub debate: Box<Debate>,
    /// The error that stopped the run.
    pub source: EngineError,
}

impl Run {
    pub(super) fn spawn(
        engine: Engine,
        id: DebateId,
        journal: PathBuf,
        signals: Signals,
        commands: mpsc::UnboundedSender<RunCommand>,
        cancel: CancellationToken,
        is_new: bool,
    ) -> Self {
        let (asks, waiting) = watch::channel(None);
        let (alive, over) = channel();
        let entry = Entry::of_state(&journal);
        watch_files(entry.clone(), commands.downgrade(), over);
        let ended = tokio::spawn(drive(engine, asks, cancel.clone(), is_new, (entry, alive)));
        Self { id, journal, signals, controls: Controls { commands, cancel }, waiting, ended }
    }

    /// The debate's id.
    pub fn id(&self) -> &DebateId {
        &self.id
    }

    /// Returns the current progress and a subscription to later signals. A slow subscriber delays nothing; a subscriber
    /// that misses signals is notified.
    pub fn subscribe(&self, words: Words) -> (Progress, Subscription) {
        self.signals.subscribe(words)
    }

    /// Returns a follower that reads every event of the journal, beginning with the first, and then receives live
    /// signals.
    ///
    /// # Errors
    ///
    /// Returns an error if the journal cannot be opened.
    pub fn follow(&self, words: Words) -> io::Result<Follower> {
        let journal = JournalReader::open(&self.journal)?;
        let (recorded, _, subscription) = self.signals.subscribe_behind(words);
        Ok(Follower::new(subscription, Box::new(journal), 0, recorded))
    }

    /// Waits until the debate asks the user questions, and returns the debate with them; `None` if the run ends first.
    pub async fn questions(&mut self) -> Option<Arc<Debate>> {
        loop {
            self.waiting.changed().await.ok()?;
            let waiting = self.waiting.borrow_and_update().clone();
            if waiting.is_some() {
                return waiting;
            }
        }
    }

    /// Returns controls that can be used independently of this handle.
    pub fn controls(&self) -> Controls {
        self.controls.clone()
    }

    /// Waits until the run is over. If the debate waits for answers and no clone of [`Controls`] exists, it is saved as
    /// paused.
    ///
    /// # Errors
    ///
    /// Returns an error if the debate cannot be saved or a call cannot be prepared. The debate can then be resumed from
    /// its last event.
    ///
    /// # Panics
    ///
    /// Panics if the run panicked.
    pub async fn wait(self) -> Result<Finished, Failed> {
        let Self { ended, controls, .. } = self;
        drop(controls);
        ended.await.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic()))
    }
}

impl Controls {
    /// Answers an open question. The debate continues once no question is open. If the question is not open, a warning
    /// is sent and the first answer is kept. `by` is the program that answers for the user, if any.
    pub fn answer(&self, by: Option<Answerer>, agent_id: AgentId, item_id: String, answer: String) {
        // If the debate has ended, nobody needs the answer.
        drop(self.commands.send(RunCommand::Answer { agent_id, item_id, answer, by }));
    }

    /// Leaves all open questions unanswered and keeps agents from asking more. `by` is the program that decides this
    /// for the user, if any.
    pub fn end_questions(&self, by: Option<Answerer>) {
        drop(self.commands.send(RunCommand::EndQuestions(by)));
    }

    /// Starts no new calls, waits for those in flight because they are paid for, and saves the debate as paused.
    pub fn pause(&self) {
        drop(self.commands.send(RunCommand::Pause));
    }

    /// Like [`pause`](Self::pause), but the run does not end and can be continued with [`go_on`](Self::go_on).
    pub fn hold(&self) {
        drop(self.commands.send(RunCommand::Hold));
    }

    /// Cancels a [`hold`](Self::hold), or a [`pause`](Self::pause) that has not taken effect yet.
    pub fn go_on(&self) {
        drop(self.commands.send(RunCommand::GoOn));
    }

    /// Ends the debate early with an answer from its current texts. Starts only the calls that this answer needs.
    pub fn stop(&self) {
        drop(self.commands.send(RunCommand::Stop(StopReason::User)));
    }

    /// Acknowledges the cost warning. Has no effect without an unacknowledged warning.
    pub fn acknowledge(&self) {
        drop(self.commands.send(RunCommand::Acknowledge));
    }

    /// Aborts calls in flight and saves the debate as paused.
    pub fn interrupt(&self) {
        self.cancel.cancel();
    }

    /// Whether [`interrupt`](Self::interrupt) was called.
    pub fn is_interrupted(&self) -> bool {
        self.cancel.is_cancelled()
    }
}

impl std::ops::Deref for Run {
    type Target = Controls;

    fn deref(&self) -> &Controls {
        &self.controls
    }
}

async fn drive(
    mut engine: Engine,
    asks: watch::Sender<Option<Arc<Debate>>>,
    cancel: CancellationToken,
    is_new: bool,
    (entry, alive): (Entry, Sender<()>),
) -> Result<Finished, Failed> {
    let ended = loop {
        match engine.run().await {
            Ok(RunEnding::Suspended) => {}
            Ok(RunEnding::Paused) if !cancel.is_cancelled() => {
                let goes_on = tokio::select! {
                    goes_on = engine.told_to_go_on() => goes_on,
                    () = cancel.cancelled() => Ok(UserReply::Nothing),
                };
                match goes_on {
                    Ok(UserReply::GoOn) => continue,
                    Ok(UserReply::GiveUp) => break engine.give_up().await.map(|()| RunEnding::Failed),
                    Ok(UserReply::Nothing) => break Ok(RunEnding::Paused),
                    Err(error) => break Err(error),
                }
            }
            ended => break ended,
        }
        asks.send_replace(Some(Arc::new(engine.debate().clone())));
        let answered = tokio::select! {
            biased;
            answered = engine.told_answers() => answered,
            () = cancel.cancelled() => Ok(UserReply::Nothing),
        };
        match answered {
            Ok(UserReply::GoOn) => {}
            Ok(UserReply::GiveUp) => break engine.give_up().await.map(|()| RunEnding::Failed),
            Ok(UserReply::Nothing) => break engine.pause().await.map(|()| RunEnding::Paused),
            Err(error) => break Err(error),
        }
        asks.send_replace(None);
    };
    drop(alive);
    if matches!(ended, Ok(RunEnding::Completed | RunEnding::Failed)) {
        // A stop request that came too late must not affect the next run.
        entry.forget_stop();
    }
    let is_kept = !(is_new && matches!(ended, Ok(RunEnding::Failed)) && engine.forget());
    if !is_kept || matches!(ended, Ok(RunEnding::Completed)) {
        entry.forget_host();
    }
    let debate = engine.debate().clone();
    match ended {
        Ok(ending) => Ok(Finished { debate, ending, is_kept }),
        Err(source) => Err(Failed { debate: Box::new(debate), source }),
    }
}

/// Watches the debate's files for stop requests and host replies until the run is `over`. Uses a separate thread, which
/// neither a busy runtime nor a paused clock can delay.
fn watch_files(entry: Entry, commands: mpsc::WeakUnboundedSender<RunCommand>, over: Receiver<()>) {
    let order = entry.clone();
    let is_there = move || order.stop_path().symlink_metadata().is_ok();
    let tell = move |command| commands.upgrade().is_some_and(|commands| commands.send(command).is_ok());
    // Obey an existing request before the first call.
    let (mut was_there, mut changed) = (is_there(), entry.host_changed());
    if was_there && !tell(RunCommand::ObeyStop) {
        return;
    }
    let watch = move || {
        while over.recv_timeout(POLL_INTERVAL) == Err(RecvTimeoutError::Timeout) {
            let is_there = is_there();
            if is_there && !was_there && !tell(RunCommand::ObeyStop) {
                return;
            }
            was_there = is_there;
            let now = entry.host_changed();
            if now != changed && !tell(RunCommand::HostReplied) {
                return;
            }
            changed = now;
        }
    };
    // If the thread cannot start, the debate runs without watching the files.
    drop(thread::Builder::new().name("files".to_owned()).spawn(watch));
}

/// The time limit for each hook.
pub const HOOK_LIMIT: Duration = Duration::from_mins(1);

/// The steps after a debate: indexing it and running the user's hooks.
pub struct After {
    hooks: Vec<String>,
    /// Environment variables that the hooks must not see.
    secrets: BTreeSet<String>,
    past: Option<Arc<dyn DebateHistory>>,
    settings: Settings,
}

impl Runner {
    /// Returns the steps after a debate with these settings. `hooks` must come from the user, never from a record or a
    /// request.
    pub fn after(&self, settings: &Settings, hooks: Vec<String>) -> After {
        let (past, secrets) = (self.services.past.clone(), secret_variables(&settings.providers));
        After { hooks, secrets, past, settings: settings.clone() }
    }
}

impl After {
    /// Indexes the debate for later debates, then runs the hooks in order, each with the contents of the file `state`
    /// on standard input. Returns warnings; failures do not affect the debate.
    pub async fn run(self, state: &Path) -> Vec<String> {
        let Self { hooks, secrets, past, settings } = self;
        let mut warnings = Vec::new();
        if let Some(past) = past {
            let counted = spawn_blocking(move || past.take_in(&settings)).await;
            if let Err(error) = counted.unwrap_or_else(|defect| Err(defect.to_string())) {
                // The debate will be indexed when past debates are next read.
                warnings.push(format!("cannot index the debate yet: {error}"));
            }
        }
        if !hooks.is_empty() {
            warnings.extend(run_all(&hooks, &secrets, state).await);
        }
        warnings
    }
}

async fn run_all(hooks: &[String], without: &BTreeSet<String>, state: &Path) -> Vec<String> {
    let input = match fs::read(state) {
        Ok(input) => input,
        Err(error) => {
            return vec![format!("skipping the commands in `hooks`: cannot read {}: {error}", state.display())];
        }
    };
    let mut warnings = Vec::new();
    for command in hooks {
        let limited = Limited { command, input: Some(&input), limit: HOOK_LIMIT, keep: 0, without };
        if let Err(error) = run(&limited).await {
            warnings.push(format!("the hook `{command}` failed: {error}"));
        }
    }
    warnings
}
