//! Calls in flight: started together, received one by one.

use std::future::Future;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use crate::agent::{Ask, OnReply};
use crate::debate::{Asked, CallKey, CallRecord, Event, Signal, StoredReply, Usd};
use crate::llm::{Account, Caller, FailedCall, ModelError, Request, Reserved, Silence};

use super::budget::{Verdict, Wanted};
use super::observer::SignalObserver;
use super::{Engine, EngineError};

/// Calls in flight. Dropping them abandons them.
pub(super) struct Calls<T> {
    /// What keeps attempts of a round from beginning that is over time; absent outside of rounds.
    silence: Option<Arc<Silence>>,
    tasks: JoinSet<()>,
    in_flight: Vec<(tokio::task::Id, CallKey)>,
    /// Attempts that wait for room under the cost limit, oldest first.
    waiting: Vec<Pending>,
    sender: UnboundedSender<Message<T>>,
    receiver: UnboundedReceiver<Message<T>>,
}

/// What a call tells. Both kinds take the same channel, so that a reply is never seen after the result it led to.
enum Message<T> {
    /// An attempt is to be sent.
    Reserve(Pending),
    /// An attempt failed; what it took must be on record before the next.
    AttemptFailed(CallKey, String, CallRecord),
    Replied(CallKey, StoredReply, CallRecord),
    Finished(CallKey, Result<T, FailedCall>, Option<CallRecord>),
}

/// An attempt that is to be sent, and who waits to hear whether it may be.
struct Pending {
    wanted: Wanted,
    answer: oneshot::Sender<Reserved>,
}

/// The books of a call: its task asks, the engine enters.
struct Books<T> {
    key: CallKey,
    sender: UnboundedSender<Message<T>>,
    /// The cost limit, if there is one.
    limit: Option<Usd>,
}

impl<T: Send + 'static> Account for Books<T> {
    fn reserve<'a>(&'a self, request: &'a Request) -> BoxFuture<'a, Result<Option<Reserved>, ModelError>> {
        Box::pin(async move {
            let Some(limit) = self.limit else { return Ok(None) };
            let (answer, granted) = oneshot::channel();
            drop(self.sender.send(Message::Reserve(Pending { wanted: Wanted::of(request), answer })));
            // Without an answer there is no room, or nobody waits for this call any more.
            granted.await.map(Some).map_err(|_| ModelError::OverBudget { limit })
        })
    }

    fn enter_failure(&self, error: &ModelError, call: CallRecord) {
        drop(self.sender.send(Message::AttemptFailed(self.key.clone(), error.to_string(), call)));
    }
}

/// What happens to calls in flight.
#[expect(clippy::large_enum_variant, reason = "it is taken apart as soon as it is there")]
enum News<T> {
    Message(Message<T>),
    /// A task ended as it should.
    Ended,
    /// A task ended without a word: a defect of the program, which must not leave the debate waiting.
    Died(tokio::task::Id),
}

/// A call that came to its end.
pub(super) struct Finished<T> {
    pub(super) key: CallKey,
    pub(super) result: Result<T, FailedCall>,
    call: Option<CallRecord>,
}

/// What waiting for calls ended with.
pub(super) enum Arrival<T> {
    /// A call came to its end.
    Finished(Box<Finished<T>>),
    /// None is in flight.
    Idle,
}

impl<T: Send + 'static> Calls<T> {
    pub(super) fn new() -> Self {
        Self::of_round(None)
    }

    /// Calls of a round, all of which may be silent together for so long.
    pub(super) fn of_round(silence: Option<Arc<Silence>>) -> Self {
        let (sender, receiver) = unbounded_channel();
        Self { silence, tasks: JoinSet::new(), in_flight: Vec::new(), waiting: Vec::new(), sender, receiver }
    }

    /// Starts a call. `answer` makes it; `price` says what the last call of a result took.
    pub(super) fn start<F: Future<Output = Result<T, FailedCall>> + Send + 'static>(
        &mut self,
        engine: &mut Engine,
        caller: &Caller,
        request: Request,
        answer: impl FnOnce(Ask) -> F,
        price: fn(&T) -> &CallRecord,
    ) {
        let key = request.brief.key.clone();
        let asked = engine
            .is_content_traced()
            .then(|| Asked { system: Arc::clone(&request.system), prompt: Arc::clone(&request.prompt) });
        engine.signal(Signal::CallStarted { key: key.clone(), model: request.model.to_string(), asked });
        let past = engine.past.remove(&key).unwrap_or_default();
        let (sender, reply_key) = (self.sender.clone(), key.clone());
        let on_reply: OnReply = Arc::new(move |reply, call| {
            // The receiver is gone only when these calls are abandoned.
            drop(sender.send(Message::Replied(reply_key.clone(), reply, call)));
        });
        let limit = engine.cost_limit();
        let account: Arc<dyn Account> = Arc::new(Books { key: key.clone(), sender: self.sender.clone(), limit });
        let observer = Arc::new(SignalObserver { key: key.clone(), signals: engine.signals.clone() });
        let silence = self.silence.clone();
        let caller = Caller { account: Some(account), observer: Some(observer), silence, ..caller.clone() };
        let answer = answer(Ask { caller, request, past, on_reply, tools: None });
        let (sender, answered) = (self.sender.clone(), key.clone());
        let task = self.tasks.spawn(async move {
            let result = answer.await;
            let call = result.as_ref().ok().map(price).cloned();
            drop(sender.send(Message::Finished(answered, result, call)));
        });
        self.in_flight.push((task.id(), key));
    }

    /// Whether none is in flight.
    pub(super) fn is_idle(&self) -> bool {
        self.in_flight.is_empty()
    }

    /// The next call that comes to its end; replies that are not results yet are recorded on the way.
    pub(super) async fn next(&mut self, engine: &mut Engine) -> Result<Arrival<T>, EngineError> {
        while !self.in_flight.is_empty() {
            self.admit(engine)?;
            match self.news().await {
                News::Message(Message::Reserve(pending)) => self.waiting.push(pending),
                News::Message(Message::AttemptFailed(key, error, call)) => {
                    engine.append(Event::AttemptFailed { key, error, call })?;
                }
                News::Message(Message::Replied(key, reply, call)) => {
                    engine.append(Event::Replied { key, reply, call })?;
                }
                News::Message(Message::Finished(key, result, call)) => {
                    self.in_flight.retain(|(_, flying)| *flying != key);
                    return Ok(Arrival::Finished(Box::new(Finished { key, result, call })));
                }
                News::Died(task) => {
                    let place = self.in_flight.iter().position(|(flying, _)| *flying == task);
                    if let Some((_, key)) = place.map(|place| self.in_flight.swap_remove(place)) {
                        engine.abandon_cost(std::slice::from_ref(&key));
                        let error = ModelError::Broken { message: "the program failed while it was made".to_owned() };
                        let result = Err(FailedCall { error, attempts: 1, spent: None });
                        return Ok(Arrival::Finished(Box::new(Finished { key, result, call: None })));
                    }
                }
                News::Ended => {}
            }
        }
        Ok(Arrival::Idle)
    }

    /// Lets those attempts go that have room under the cost limit, and tells those for which there will be none.
    fn admit(&mut self, engine: &mut Engine) -> Result<(), EngineError> {
        for pending in std::mem::take(&mut self.waiting) {
            // Nobody waits for it when its call was abandoned.
            if pending.answer.is_closed() {
                continue;
            }
            match engine.reserve(&pending.wanted)? {
                Verdict::Granted(reserved) => drop(pending.answer.send(reserved)),
                Verdict::Later => self.waiting.push(pending),
                Verdict::Refused => {}
            }
        }
        Ok(())
    }

    /// What happens next. Messages come first, so that a task that has told its result is not taken for dead.
    async fn news(&mut self) -> News<T> {
        tokio::select! {
            biased;
            Some(message) = self.receiver.recv() => News::Message(message),
            Some(joined) = self.tasks.join_next() => match joined {
                Ok(()) => News::Ended,
                Err(error) => News::Died(error.id()),
            },
            // Not reached: this value holds a sender, so the channel stays open.
            else => News::Ended,
        }
    }

    /// Waits for the one call in flight.
    pub(super) async fn only(&mut self, engine: &mut Engine) -> Result<Option<Finished<T>>, EngineError> {
        Ok(match self.next(engine).await? {
            Arrival::Finished(finished) => Some(*finished),
            Arrival::Idle => None,
        })
    }
}

impl<T> Finished<T> {
    /// Shows that the call has come back. To be called once its result is recorded.
    pub(super) fn show(&self, engine: &Engine) {
        let call = self.call.as_ref();
        engine.signal(Signal::CallEnded {
            key: self.key.clone(),
            latency_ms: call.map_or(0, |call| call.latency_ms),
            tokens: call.and_then(|call| call.tokens),
            cost_usd: call.and_then(|call| call.cost_usd),
            error: self.result.as_ref().err().map(ToString::to_string),
        });
    }
}
