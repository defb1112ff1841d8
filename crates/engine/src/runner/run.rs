//! The handle to a debate that runs.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::engine::{Engine, EngineError, RunCommand, RunEnding, UserReply};
use dialectic_record::debate::{AgentId, Answerer, Debate, DebateId, Progress};
use dialectic_record::signals::{Follower, Signals, Subscription, Words};
use dialectic_record::store::{Entry, JournalReader};

/// How often a run looks for the order to close.
const LOOK_FOR_ORDER: Duration = Duration::from_millis(250);

/// A debate that runs by itself. Dropping the handle pauses it only where it waits for answers that nobody can give
/// any more.
pub struct Run {
    id: DebateId,
    journal: PathBuf,
    signals: Signals,
    controls: Controls,
    waiting: watch::Receiver<Option<Arc<Debate>>>,
    ended: JoinHandle<Result<Finished, Failed>>,
}

/// What can be said to a run, from any thread. Clones say it to the same run, which waits for answers as long as there
/// is one of them.
#[derive(Clone)]
pub struct Controls {
    commands: mpsc::UnboundedSender<RunCommand>,
    cancel: CancellationToken,
}

/// A run that is over.
#[derive(Debug)]
pub struct Finished {
    /// The debate as it is saved.
    pub debate: Debate,
    /// How the run ended.
    pub ending: RunEnding,
    /// Whether it is on record: a new debate that failed before any model can have been paid, and in which the user said
    /// nothing, is not.
    pub is_kept: bool,
}

/// A run that could not go on.
#[derive(Debug, thiserror::Error)]
#[error("the debate {} could not go on", debate.id)]
pub struct Failed {
    /// The debate as far as it came.
    pub debate: Box<Debate>,
    /// Why.
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
        watch_for_order(entry.clone(), commands.downgrade(), over);
        let ended = tokio::spawn(drive(engine, asks, cancel.clone(), is_new, (entry, alive)));
        Self { id, journal, signals, controls: Controls { commands, cancel }, waiting, ended }
    }

    /// The debate's id.
    pub fn id(&self) -> &DebateId {
        &self.id
    }

    /// Where the debate stands, and what follows. A watcher that does not take in what follows holds up nobody, and is told of
    /// a gap.
    pub fn subscribe(&self, words: Words) -> (Progress, Subscription) {
        self.signals.subscribe(words)
    }

    /// Every event from the first on, those of before read from the journal, and what happens between them from now on.
    ///
    /// # Errors
    /// When the journal cannot be opened.
    pub fn follow(&self, words: Words) -> io::Result<Follower> {
        let journal = JournalReader::open(&self.journal)?;
        let (recorded, subscription) = self.signals.subscribe_at(words);
        Ok(Follower::from_beginning(subscription, Box::new(journal), recorded))
    }

    /// Waits until the debate waits for answers: then it is that debate, with its open questions. Nothing when it ends
    /// before.
    pub async fn questions(&mut self) -> Option<Arc<Debate>> {
        loop {
            self.waiting.changed().await.ok()?;
            let waiting = self.waiting.borrow_and_update().clone();
            if waiting.is_some() {
                return waiting;
            }
        }
    }

    /// What can be said to it, for somebody who does not hold the run.
    pub fn controls(&self) -> Controls {
        self.controls.clone()
    }

    /// Waits until the run is over. Where the debate waits for answers and nobody else holds [`Controls`] of it, it is
    /// saved as paused: nobody could answer any more.
    ///
    /// # Errors
    /// When the debate cannot be saved, or by a defect of the program. It can be resumed from what is saved.
    ///
    /// # Panics
    /// When the run panicked.
    pub async fn wait(self) -> Result<Finished, Failed> {
        let Self { ended, controls, .. } = self;
        drop(controls);
        ended.await.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic()))
    }
}

impl Controls {
    /// Answers a question of `agent`. The debate goes on when no question is open. Where that question is not open, a
    /// warning among the signals says so, and nothing changes: the first answer counts.
    pub fn answer(&self, agent: AgentId, question: String, answer: String) {
        // A debate that has ended needs no answer.
        drop(self.commands.send(RunCommand::Answer { agent_id: agent, item_id: question, answer, by: None }));
    }

    /// As [`answer`](Self::answer), where a program answers in the user's place that a model steers.
    pub fn answer_by(&self, by: Answerer, agent: AgentId, question: String, answer: String) {
        drop(self.commands.send(RunCommand::Answer { agent_id: agent, item_id: question, answer, by: Some(by) }));
    }

    /// Gives no further answers: open questions count as answered with none, and nobody asks any more.
    pub fn end_questions(&self) {
        drop(self.commands.send(RunCommand::EndQuestions { by: None }));
    }

    /// As [`end_questions`](Self::end_questions), where a program skips them in the user's place that a model steers.
    pub fn end_questions_by(&self, by: Answerer) {
        drop(self.commands.send(RunCommand::EndQuestions { by: Some(by) }));
    }

    /// Starts nothing new, waits for what is in flight and paid for, and saves the debate as paused.
    pub fn pause(&self) {
        drop(self.commands.send(RunCommand::Pause));
    }

    /// Pauses as [`pause`](Self::pause) does, and stays ready to [`go_on`](Self::go_on), also when the debate is saved.
    pub fn hold(&self) {
        drop(self.commands.send(RunCommand::Hold));
    }

    /// Takes back a [`hold`](Self::hold), or a [`pause`](Self::pause) that has not come into effect yet.
    pub fn go_on(&self) {
        drop(self.commands.send(RunCommand::GoOn));
    }

    /// Starts nothing new, and closes the debate with what there is.
    pub fn stop(&self) {
        drop(self.commands.send(RunCommand::Stop));
    }

    /// The user has taken notice of the warning of the cost. Without one, or when that is known, nothing happens.
    pub fn acknowledge(&self) {
        drop(self.commands.send(RunCommand::Acknowledge));
    }

    /// Abandons what is in flight and saves the debate as paused.
    pub fn interrupt(&self) {
        self.cancel.cancel();
    }

    /// Whether it was interrupted.
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

/// Runs the debate; while it waits for the user, takes in answers, and runs on.
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
        // An order that comes too late is no order to the next run.
        entry.forget_stop();
    }
    let is_kept = !(is_new && matches!(ended, Ok(RunEnding::Failed)) && engine.forget());
    let debate = engine.debate().clone();
    match ended {
        Ok(ending) => Ok(Finished { debate, ending, is_kept }),
        Err(source) => Err(Failed { debate: Box::new(debate), source }),
    }
}

/// Tells a run of the order to close that somebody leaves beside its record, until the run is `over`. On a thread of its
/// own: neither the clock of the runtime nor its tasks have to do with it.
fn watch_for_order(entry: Entry, commands: mpsc::WeakUnboundedSender<RunCommand>, over: Receiver<()>) {
    let is_there = move || entry.stop_path().symlink_metadata().is_ok();
    let tell = move || commands.upgrade().is_some_and(|commands| commands.send(RunCommand::ObeyStop).is_ok());
    // One that is there already is obeyed ahead of the first call.
    let mut was_there = is_there();
    if was_there && !tell() {
        return;
    }
    let watch = move || {
        while over.recv_timeout(LOOK_FOR_ORDER) == Err(RecvTimeoutError::Timeout) {
            let is_there = is_there();
            if is_there && !was_there && !tell() {
                return;
            }
            was_there = is_there;
        }
    };
    // Without it the debate runs all the same.
    drop(thread::Builder::new().name("order".to_owned()).spawn(watch));
}
