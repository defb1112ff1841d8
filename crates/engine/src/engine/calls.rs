//! Runs calls concurrently, and receives their messages and results one at a time.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use foldhash::{HashMap, HashMapExt};
use futures_util::future::BoxFuture;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;
use tokio::task::{Id, JoinSet};

use crate::agent::{Ask, Call, OnReply, RequestResult, Tools, answer, beginnings, limits_of, prepare, tool_room};
use crate::git::{self, Git};
use crate::tools::{ContextDirectory, Source, ToolContext, Toolbox};
use dialectic_base::call::CallRecord;
use dialectic_base::figures::thousands;
use dialectic_base::money::BudgetLimit;
use dialectic_llm::{Account, CallObserver, Caller, FailedCall, ModelError, Request, Reserved};
use dialectic_record::debate::Round;
use dialectic_record::event::{Event, StoredReply};
use dialectic_record::ids::CallKey;
use dialectic_record::live::{CallDescription, Signal, Signals};
use dialectic_record::protocol::{BudgetClass, OutputSpec, PromptContext, Step};
use dialectic_record::settings::AgentSettings;
use dialectic_record::store::{Replica, StoreError};

use super::budget::{AttemptRequest, Permission};
use super::forecast::excess;
use super::results::LEAST_TEXT;
use super::{Engine, EngineError};

/// Dropping this aborts the calls in flight.
pub(super) struct Calls {
    tasks: JoinSet<CallResult>,
    /// A map rather than a list, because every wanted call is looked up after each result.
    in_flight: HashMap<CallKey, RunningCall>,
    /// Attempts that wait until they fit under the limit, oldest first.
    waiting: Vec<(AttemptRequest, oneshot::Sender<Reserved>)>,
    sender: UnboundedSender<Message>,
    receiver: UnboundedReceiver<Message>,
}

type CallResult = Result<RequestResult, FailedCall>;

struct RunningCall {
    task: Id,
    step: Step,
    /// The total length, in characters, of the debate's texts in the request before shortening.
    length: usize,
    /// Whether a request of the call may be in flight. Only tracked if requests need permission.
    is_sending: bool,
}

enum Message {
    Reserve(AttemptRequest, oneshot::Sender<Reserved>),
    /// The cost of the attempt must be recorded before the next attempt.
    AttemptFailed(CallKey, String, CallRecord),
    Retries(CallKey),
    Replied(CallKey, StoredReply, CallRecord),
    /// The copy of the journal no longer accepts events, so no request may be sent.
    NotCopied(StoreError),
}

struct Connection {
    step: Step,
    sender: UnboundedSender<Message>,
    signals: Signals,
    limit: Option<BudgetLimit>,
    replica: Option<Arc<dyn Replica>>,
    may_be_billed: Arc<AtomicBool>,
}

impl Connection {
    /// Returns once the copy of the journal, if there is one, contains the reservation and all earlier events.
    async fn copied(&self) {
        let Some(replica) = &self.replica else { return };
        if let Err(refusal) = replica.holds().await {
            drop(self.sender.send(Message::NotCopied(refusal)));
            // The engine ends the run, including this call.
            std::future::pending::<()>().await;
        }
    }
}

impl Account for Connection {
    fn reserve<'a>(&'a self, request: &'a Request) -> BoxFuture<'a, Result<Option<Reserved>, ModelError>> {
        Box::pin(async move {
            if self.limit.is_none() && self.replica.is_none() {
                return Ok(None);
            }
            let (answer, granted) = oneshot::channel();
            let wanted = AttemptRequest::of(&self.step, request);
            drop(self.sender.send(Message::Reserve(wanted, answer)));
            // The engine drops the sender if the attempt does not fit under the limit, or if the call was aborted.
            let limit = self.limit.unwrap_or_default();
            let reserved = granted.await.map_err(|_| ModelError::OverBudget { limit })?;
            self.copied().await;
            Ok(Some(reserved))
        })
    }

    fn enter_failure(&self, error: &ModelError, call: CallRecord) {
        drop(self.sender.send(Message::AttemptFailed(self.step.key.clone(), error.to_string(), call)));
    }
}

impl CallObserver for Connection {
    fn retrying(&self, attempt: u32, error: &ModelError, wait: std::time::Duration) {
        if !error.is_turned_away() {
            self.may_be_billed.store(true, Ordering::Relaxed);
        }
        let (key, error) = (self.step.key.clone(), error.to_string());
        drop(self.sender.send(Message::Retries(key.clone())));
        self.signals.publish(Signal::CallRetrying { key, attempt, error, wait });
    }

    fn words(&self, text: &str) {
        self.signals.publish(Signal::Words { key: self.step.key.clone(), text: text.to_owned() });
    }
}

impl Calls {
    pub(super) fn new() -> Self {
        let (sender, receiver) = unbounded_channel();
        Self { tasks: JoinSet::new(), in_flight: HashMap::new(), waiting: Vec::new(), sender, receiver }
    }

    pub(super) fn is_idle(&self) -> bool {
        self.in_flight.is_empty()
    }

    /// Whether any call may have a request in flight. The other calls are waiting for permission, a slot, or their next
    /// attempt.
    pub(super) fn is_sending(&self) -> bool {
        self.in_flight.values().any(|call| call.is_sending)
    }

    fn note_sending(&mut self, key: &CallKey, is_sending: bool) {
        if let Some(call) = self.in_flight.get_mut(key) {
            call.is_sending = is_sending;
        }
    }

    pub(super) fn is_in_flight(&self, key: &CallKey) -> bool {
        self.in_flight.contains_key(key)
    }

    pub(super) fn spawn(&mut self, step: Step, length: usize, call: impl Future<Output = CallResult> + Send + 'static) {
        let task = self.tasks.spawn(call).id();
        self.in_flight.insert(step.key.clone(), RunningCall { task, step, length, is_sending: false });
    }

    pub(super) fn keys(&self) -> impl Iterator<Item = &CallKey> {
        self.in_flight.keys()
    }
}

impl Engine {
    pub(super) fn start(&mut self, step: &Step) -> Result<(), EngineError> {
        let agent = self.agent(&step.key.agent_id)?.clone();
        let beginnings = self.beginnings()?;
        let whole = prepare(&self.panel, &agent, &beginnings, self.debate(), step, usize::MAX)?;
        let call = match self.room_of(&whole) {
            usize::MAX => whole,
            room => prepare(&self.panel, &agent, &beginnings, self.debate(), step, room)?,
        };
        let call = call.to_be_read(self.debate());
        if let Some(notice) = &step.notice {
            self.warn(notice.clone());
        }
        if agent.caller.is_host() {
            self.request_from_host(call);
            return Ok(());
        }
        let tools = if step.may_use_tools() { self.tools_of(&agent.settings, step)? } else { None };
        self.launch(agent.caller, call, tools);
        Ok(())
    }

    pub(super) fn beginnings(&mut self) -> Result<Arc<[Arc<str>]>, EngineError> {
        if let Some(beginnings) = &self.beginnings {
            return Ok(beginnings.clone());
        }
        let beginnings = beginnings(self.debate())?;
        self.beginnings = Some(beginnings.clone());
        Ok(beginnings)
    }

    /// Estimates how many characters of the debate's texts fit into the context window; `usize::MAX` if nothing must be
    /// shortened.
    fn room_of(&mut self, whole: &Call) -> usize {
        if let Some(known) = self.rooms.get(&whole.step.key) {
            return *known;
        }
        let can_be_shortened = match whole.step.shows {
            PromptContext::Candidates { .. } => matches!(whole.step.answer, OutputSpec::Solution(_)),
            PromptContext::WholeDebate | PromptContext::Record | PromptContext::AnonymousTranscript { .. } => true,
            PromptContext::CandidatesReversed { .. }
            | PromptContext::Inputs
            | PromptContext::InputsAndHistory
            | PromptContext::InputsAndDispute
            | PromptContext::Decisions
            | PromptContext::Numbered
            | PromptContext::Texts
            | PromptContext::OwnTexts
            | PromptContext::Transcript
            | PromptContext::Draft
            | PromptContext::Findings
            | PromptContext::EarlierRounds => false,
        };
        let agent = self.panel.agent(&whole.step.key.agent_id).map(|agent| &agent.settings);
        let limits = agent.zip(self.debate().settings.as_ref()).map(|(agent, settings)| limits_of(agent, settings));
        let limits = limits.filter(|_| can_be_shortened).unwrap_or_default();
        let over = limits.context_window.map_or(0, |window| excess(&whole.request, window, limits.max_output));
        // If the estimate leaves almost nothing, let the server decide whether the request fits.
        let room = whole.length.saturating_sub(over).max(LEAST_TEXT);
        if over == 0 || room >= whole.length {
            return usize::MAX;
        }
        self.warn(format!(
            "the debate's {} characters exceed the context window of the judge's model; sending {} of them, \
                 with the longest texts cut",
            thousands(whole.length as u64),
            thousands(room as u64),
        ));
        self.rooms.insert(whole.step.key.clone(), room);
        room
    }

    fn tools_of(&mut self, agent: &AgentSettings, step: &Step) -> Result<Option<Tools>, EngineError> {
        let round = self.debate().current_round;
        if self.tools.as_ref().is_none_or(|(of, _)| *of != round) {
            self.tools = Some((round, self.tool_context(round)?));
        }
        let Some((_, Some(context))) = &self.tools else { return Ok(None) };
        let mut context = context.clone();
        let debate = self.debate();
        let given: Vec<_> = step.inputs.iter().filter_map(|key| debate.contribution(key)).cloned().collect();
        if !given.is_empty() {
            let this = Round { contributions: given, ..Round::begun(round) };
            context.rounds = context.rounds.iter().cloned().chain([this]).collect();
        }
        let toolbox = Toolbox::new(agent.tools.iter().map(|tool| tool.name.as_str()), context);
        if toolbox.is_empty() {
            return Ok(None);
        }
        let is_review = self.debate().change.is_some();
        let room = tool_room(agent, self.debate().known_settings(), is_review);
        let limit = agent.tool_call_limit;
        Ok(Some(Tools { toolbox: Arc::new(toolbox), limit, room, is_review }))
    }

    fn tool_context(&self, round: u32) -> Result<Option<ToolContext>, EngineError> {
        let debate = self.debate();
        let Some(settings) = &debate.settings else { return Ok(None) };
        if settings.everybody().all(|agent| agent.tools.is_empty()) {
            return Ok(None);
        }
        let path = settings.context_dir.clone().unwrap_or_else(|| PathBuf::from("."));
        let under_review = debate.change.as_deref().filter(|change| change.base.is_some());
        let path = match (under_review, git::root_of(&path)) {
            (Some(_), Some(root)) => root,
            // The reviewed repository no longer exists.
            (Some(_), None) => return Ok(None),
            (None, _) => path,
        };
        let unreadable = |source| EngineError::ContextDir { path: path.clone(), source };
        let directory = ContextDirectory::open(&path).map_err(unreadable)?;
        let directory = directory.withholding(self.panel.withheld.as_deref()).redacting(self.panel.keys.clone());
        let source = match under_review {
            Some(change) => Source::after(change, directory, Git::at(&path, &self.panel.environment))
                .map_err(|error| unreadable(io::Error::other(error)))?,
            None => Source::directory(directory),
        };
        let finished = debate.rounds.iter().filter(|finished| finished.round_number < round);
        let rounds: Vec<Round> = finished.cloned().collect();
        Ok(Some(ToolContext { source: Arc::new(source), rounds: rounds.into() }))
    }

    pub(super) fn launch(&mut self, caller: Caller, call: Call, tools: Option<Tools>) {
        let step = call.step.clone();
        let key = step.key.clone();
        let rules = &self.debate().known_settings().debate;
        let asked = (rules.trace.is_some() && rules.trace_content).then(|| CallDescription {
            system: Arc::clone(&call.request.system),
            prompt: Arc::clone(&call.request.prompt),
        });
        self.signal(Signal::CallStarted { key: key.clone(), model: call.request.model.to_string(), asked });
        let past = self.past.get(&key).cloned().unwrap_or_default();
        let sender = self.calls.sender.clone();
        let on_reply: OnReply = {
            let sender = sender.clone();
            // The receiver is only dropped when all calls are aborted.
            Arc::new(move |reply, call| drop(sender.send(Message::Replied(key.clone(), reply, call))))
        };
        let connection = Arc::new(Connection {
            step: step.clone(),
            sender,
            signals: self.signals.clone(),
            limit: self.limit(),
            replica: self.record.replica.clone(),
            may_be_billed: Arc::clone(&self.may_be_billed),
        });
        let silence = self.silence.clone().filter(|_| step.cost == BudgetClass::Round && !caller.is_host());
        let caller = Caller {
            account: Some(Arc::clone(&connection) as Arc<dyn Account>),
            observer: Some(connection as Arc<dyn CallObserver>),
            silence,
            ..caller
        };
        let (length, judge) = (call.length, self.panel.judge.settings.id.clone());
        self.calls.spawn(step, length, async move {
            let mut ask = Ask::new(caller, call.request.clone(), on_reply);
            (ask.past, ask.tools) = (past, tools);
            answer(ask, &call, &judge).await
        });
    }

    /// Returns whether the wanted calls must be recomputed, or `None` if no call in flight may still send or receive
    /// anything.
    pub(super) async fn record_next(&mut self) -> Result<Option<bool>, EngineError> {
        let ended = loop {
            self.read_host_replies()?;
            self.admit()?;
            if self.calls.is_idle() || (self.sends_no_more() && !self.calls.is_sending()) {
                return Ok(None);
            }
            tokio::select! {
                biased;
                Some(message) = self.calls.receiver.recv() => self.handle_message(message)?,
                Some(ended) = self.calls.tasks.join_next_with_id() => break ended,
                Some(command) = self.commands.recv() => self.handle_command(command)?,
            }
        };
        // Record replies before the result that is derived from them.
        while let Ok(message) = self.calls.receiver.try_recv() {
            self.handle_message(message)?;
        }
        let (task, result) = ended.map_or_else(|died| (died.id(), None), |(task, result)| (task, Some(result)));
        let of_task = self.calls.in_flight.extract_if(|_, call| call.task == task).next();
        let Some((key, RunningCall { step, length, .. })) = of_task else { return Ok(Some(false)) };
        // If a call panics, record it as failed, so that the debate does not wait for it.
        let result = result.unwrap_or_else(|| {
            let error = ModelError::Broken { message: "an internal error ended the call".to_owned() };
            self.abandon_cost(std::slice::from_ref(&key));
            Err(FailedCall { error, attempts: 1, spent: None })
        });
        self.record_result(&step, length, &result).map(Some)
    }

    fn handle_message(&mut self, message: Message) -> Result<(), EngineError> {
        match message {
            Message::Reserve(wanted, answer) => {
                self.calls.note_sending(wanted.key(), false);
                self.calls.waiting.push((wanted, answer));
            }
            Message::Retries(key) => self.calls.note_sending(&key, false),
            Message::AttemptFailed(key, error, call) => self.append(Event::AttemptFailed { key, error, call })?,
            Message::Replied(key, reply, call) => {
                self.outage.heard(&call.provider);
                self.calls.note_sending(&key, false);
                // Keep the reply: the call may be aborted or fail, and then be repeated.
                self.past.entry(key.clone()).or_default().push((reply.clone(), call.clone()));
                self.append(Event::Replied { key, reply, call })?;
            }
            Message::NotCopied(refusal) => return Err(refusal.into()),
        }
        Ok(())
    }

    /// Whether even calls in flight must stop sending requests: while the debate pauses, another machine may be about
    /// to continue it.
    pub(super) fn sends_no_more(&self) -> bool {
        self.is_pausing && self.record.replica.is_some()
    }

    fn admit(&mut self) -> Result<(), EngineError> {
        if self.sends_no_more() {
            self.calls.waiting.retain(|(_, answer)| !answer.is_closed());
            return Ok(());
        }
        for (wanted, answer) in std::mem::take(&mut self.calls.waiting) {
            // The channel is closed if the call was aborted.
            if answer.is_closed() {
                continue;
            }
            match self.reserve(&wanted)? {
                Permission::Granted(reserved) => {
                    self.calls.note_sending(wanted.key(), true);
                    // An aborted call needs no answer.
                    let _ = answer.send(reserved);
                }
                Permission::Later => self.calls.waiting.push((wanted, answer)),
                Permission::Refused => {}
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::pin::Pin;

    use dialectic_record::store::SavedReply;

    use super::*;
    use crate::engine::RunCommand;
    use crate::engine::tests::hosted;

    /// A copy that has everything.
    #[derive(Debug)]
    struct Copied;

    impl Replica for Copied {
        fn take(&self, _: &[u8], _: bool) {}

        fn holds(&self) -> Pin<Box<dyn Future<Output = Result<(), StoreError>> + Send + '_>> {
            Box::pin(async { Ok(()) })
        }
    }

    #[tokio::test]
    async fn a_copied_debate_that_pauses_permits_no_further_request() {
        let (_keep, mut engine) = hosted(100);
        engine.record.replica = Some(Arc::new(Copied));
        engine.run().await.unwrap();
        let entry = engine.record.entry();
        let reply = SavedReply { text: "A ring.".to_owned(), by: None };
        entry.save_host_reply(&entry.shown_to_host().unwrap().requests[0].key, &reply).unwrap();
        engine.read_host_replies().unwrap();
        let asks = engine.calls.receiver.recv().await.unwrap();
        engine.handle_message(asks).unwrap();
        for (command, permits) in [(RunCommand::Pause, false), (RunCommand::GoOn, true)] {
            engine.handle_command(command).unwrap();
            engine.admit().unwrap();
            assert_eq!(engine.calls.is_sending(), permits);
        }
    }
}
