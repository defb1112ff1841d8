//! Calls to models that follow a script. Time is tokio's and stands still while a task runs.

use std::collections::VecDeque;
use std::sync::Mutex;

use futures_util::future::{BoxFuture, join_all};
use tokio::time::timeout;

use dialectic_base::call::ToolCall;
use dialectic_base::price::Price;

use crate::fixture;

use super::bill::{FIRST_WAIT, LONGEST_RETRY_AFTER, LONGEST_WAIT};
use super::*;

mod limits;
mod streaming;
mod usage;

/// What the model does in an attempt.
#[derive(Clone)]
enum Act {
    Reply(Reply),
    Fail(ModelError),
    Hang,
    After(Duration, Reply),
    /// Words, each after as many milliseconds, and the end.
    Stream(Vec<(u64, &'static str)>, Result<Reply, FailedAttempt>),
}

/// A model that follows a script: one act per attempt, repeating the last one. Records when each attempt started.
struct Scripted {
    acts: Mutex<VecDeque<Act>>,
    begun: Mutex<Vec<Instant>>,
    in_flight: Mutex<(usize, usize)>,
}

impl ChatModel for Scripted {
    fn ask<'a>(&'a self, _: &'a Request, live: Live<'a>) -> BoxFuture<'a, Result<Reply, FailedAttempt>> {
        assert_eq!(live.timeouts.idle, Duration::from_secs(7));
        let mut acts = self.acts.lock().unwrap();
        let act = if acts.len() > 1 { acts.pop_front() } else { acts.front().cloned() }.unwrap();
        self.begun.lock().unwrap().push(Instant::now());
        Box::pin(async move {
            let _guard = self.enter();
            match act {
                Act::Reply(reply) => Ok(reply),
                Act::Fail(error) => Err(error.into()),
                Act::Hang => std::future::pending().await,
                Act::After(wait, reply) => {
                    tokio::time::sleep(wait).await;
                    Ok(reply)
                }
                Act::Stream(words, end) => {
                    for (wait, text) in words {
                        tokio::time::sleep(Duration::from_millis(wait)).await;
                        live.listener.on_token(text);
                    }
                    end
                }
            }
        })
    }
}

struct SpendingLeave<'a>(&'a Scripted);

impl Drop for SpendingLeave<'_> {
    fn drop(&mut self) {
        self.0.in_flight.lock().unwrap().0 -= 1;
    }
}

impl Scripted {
    fn enter(&self) -> SpendingLeave<'_> {
        let mut in_flight = self.in_flight.lock().unwrap();
        in_flight.0 += 1;
        in_flight.1 = in_flight.1.max(in_flight.0);
        SpendingLeave(self)
    }

    fn attempts(&self) -> usize {
        self.begun.lock().unwrap().len()
    }

    /// The delays between attempts.
    fn gaps(&self) -> Vec<Duration> {
        self.begun.lock().unwrap().windows(2).map(|pair| pair[1] - pair[0]).collect()
    }
}

/// Records what the observer receives.
struct Notes {
    start: Instant,
    retries: Mutex<Vec<(u32, ModelError, Duration)>>,
    /// The words and retries, with their times in milliseconds.
    told: Mutex<Vec<(u128, String)>>,
}

impl CallObserver for Notes {
    fn retrying(&self, attempt: u32, error: &ModelError, wait: Duration) {
        self.retries.lock().unwrap().push((attempt, error.clone(), wait));
        self.words(&format!("again: {error}"));
    }

    fn words(&self, text: &str) {
        self.told.lock().unwrap().push((self.start.elapsed().as_millis(), text.to_owned()));
    }
}

struct ScriptedCall {
    model: Arc<Scripted>,
    notes: Arc<Notes>,
    caller: Caller,
}

impl ScriptedCall {
    fn new(acts: impl IntoIterator<Item = Act>) -> Self {
        let model = Arc::new(Scripted {
            acts: Mutex::new(acts.into_iter().collect()),
            begun: Mutex::default(),
            in_flight: Mutex::default(),
        });
        let notes = Arc::new(Notes { start: Instant::now(), retries: Mutex::default(), told: Mutex::default() });
        let timeouts = Timeouts { first_token: Duration::from_mins(2), idle: Duration::from_secs(7) };
        let caller = Caller {
            price: Some(Price::flat(10.0, Some(1.0), 100.0)),
            observer: Some(notes.clone()),
            ..fixture::caller(model.clone(), timeouts, 3)
        };
        Self { model, notes, caller }
    }

    async fn call(&self) -> Result<Reply, FailedCall> {
        self.caller.call(&request()).await
    }

    fn told(&self) -> Vec<(u32, ModelError, Duration)> {
        self.notes.retries.lock().unwrap().clone()
    }
}

fn request() -> Request {
    fixture::request("configured", "s", "p")
}

fn text(text: &str) -> Reply {
    Reply { text: text.to_owned(), ..Reply::default() }
}

fn tokens(input_tokens: u64, cached_input_tokens: u64, output_tokens: u64) -> Tokens {
    Tokens { input_tokens, cached_input_tokens, output_tokens, ..Tokens::default() }
}

fn overloaded() -> ModelError {
    ModelError::ServerFailed { status: 503, retry_after: None, message: "overloaded".to_owned() }
}

fn limited(retry_after: Duration) -> ModelError {
    ModelError::RateLimited { status: 429, retry_after: Some(retry_after), message: "slow down".to_owned() }
}

const SECOND: Duration = Duration::from_secs(1);
/// Tokio's timers have a resolution of a millisecond.
const GRAIN: Duration = Duration::from_millis(2);

#[tokio::test(start_paused = true)]
async fn an_answer_takes_one_attempt_and_no_wait() {
    let served = Reply { served_model: Some("served".to_owned()), ..text("hello") };
    let stage = ScriptedCall::new([Act::After(2 * SECOND, served.clone())]);
    let reply = stage.call().await.unwrap();
    let record = reply.record.clone();
    assert_eq!(reply, Reply { record: record.clone(), ..served });
    assert_eq!((record.model.as_str(), record.provider.as_str()), ("configured", "local"));
    assert_eq!(record.served_model.as_deref(), Some("served"));
    assert_eq!((record.attempts, record.latency_ms, record.truncated), (1, 2000, false));
    assert!(stage.told().is_empty());
}

#[tokio::test(start_paused = true)]
async fn each_transient_failure_is_tried_again_and_told_of() {
    let broken = || ModelError::Broken { message: "cut".to_owned() };
    let unreachable = ModelError::Unreachable { message: "refused".to_owned() };
    for error in [overloaded(), broken(), unreachable, ModelError::Empty, limited(SECOND)] {
        let stage =
            ScriptedCall::new([Act::Fail(error.clone()), Act::Fail(error.clone()), Act::Reply(text("at last"))]);
        let answered = stage.call().await.unwrap();
        assert_eq!((answered.text.as_str(), answered.record.attempts), ("at last", 3));
        let told = stage.told();
        assert_eq!(
            told.iter().map(|(attempt, error, _)| (*attempt, error.clone())).collect::<Vec<_>>(),
            [(1, error.clone()), (2, error.clone())]
        );
        for ((_, _, wait), gap) in told.iter().zip(stage.model.gaps()) {
            assert!((*wait..=*wait + GRAIN).contains(&gap), "{wait:?} was told, {gap:?} waited");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn retries_end_with_the_last_failure() {
    for max_retries in [0, 1, 5] {
        let mut stage = ScriptedCall::new([Act::Fail(overloaded())]);
        stage.caller.limits.max_retries = max_retries;
        let failed = stage.call().await.unwrap_err();
        assert_eq!(failed, FailedCall { error: overloaded(), attempts: max_retries + 1, spent: None });
        assert_eq!(stage.model.attempts(), max_retries as usize + 1);
        assert_eq!(stage.told().len(), max_retries as usize, "the last failure is not followed by a retry");
    }
}

#[tokio::test(start_paused = true)]
async fn permanent_failures_are_not_tried_again() {
    let message = || "no".to_owned();
    for error in [
        ModelError::Unauthorized { status: 401, message: message() },
        ModelError::Refused { status: 400, message: message() },
        ModelError::Filtered { message: message() },
        ModelError::Unsendable { message: message() },
        ModelError::OutputLimit,
    ] {
        let stage = ScriptedCall::new([Act::Fail(error.clone())]);
        let start = Instant::now();
        let spent =
            error.may_be_billed().then(|| Box::new(AttemptUsage { tokens: None, cost_usd: None, notional_usd: None }));
        assert_eq!(stage.call().await.unwrap_err(), FailedCall { error, attempts: 1, spent });
        assert_eq!((start.elapsed(), stage.model.attempts()), (Duration::ZERO, 1));
    }
}

#[tokio::test(start_paused = true)]
async fn waits_double_and_differ_from_call_to_call() {
    let mut firsts = Vec::new();
    for _ in 0..20 {
        let mut stage = ScriptedCall::new([Act::Fail(overloaded())]);
        stage.caller.limits.max_retries = 9;
        stage.call().await.unwrap_err();
        let gaps = stage.model.gaps();
        assert_eq!(gaps.len(), 9);
        for (index, gap) in gaps.iter().enumerate() {
            let least = LONGEST_WAIT.min(FIRST_WAIT * 2_u32.pow(u32::try_from(index).unwrap()));
            assert!((least..=2 * least + GRAIN).contains(gap), "{index}: {gap:?}");
        }
        firsts.push(gaps[0]);
    }
    firsts.sort();
    firsts.dedup();
    assert!(firsts.len() > 10, "jitter spreads them: {firsts:?}");
}

#[tokio::test(start_paused = true)]
async fn a_wish_of_the_server_is_obeyed_to_the_letter() {
    for asked in [Duration::from_millis(20), 7 * SECOND, LONGEST_RETRY_AFTER] {
        let failed = ModelError::ServerFailed { status: 503, retry_after: Some(asked), message: String::new() };
        let stage = ScriptedCall::new([Act::Fail(limited(asked)), Act::Fail(failed), Act::Reply(text("yes"))]);
        assert_eq!(stage.call().await.unwrap().record.attempts, 3);
        assert_eq!(stage.model.gaps(), [asked, asked]);
    }
    // A wish of nothing does not make a burst.
    let stage = ScriptedCall::new([Act::Fail(limited(Duration::ZERO)), Act::Reply(text("yes"))]);
    stage.call().await.unwrap();
    assert!(stage.model.gaps()[0] >= FIRST_WAIT);
    // One beyond the cap ends the call at once.
    let stage = ScriptedCall::new([Act::Fail(limited(LONGEST_RETRY_AFTER + SECOND)), Act::Reply(text("never asked"))]);
    let start = Instant::now();
    let failed = stage.call().await.unwrap_err();
    assert_eq!((failed.error, failed.attempts), (limited(LONGEST_RETRY_AFTER + SECOND), 1));
    assert_eq!(start.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn the_time_out_is_that_of_one_attempt() {
    let mut stage = ScriptedCall::new([Act::Hang, Act::After(9 * SECOND, text("slow"))]);
    stage.caller.timeouts.first_token = 10 * SECOND;
    let start = Instant::now();
    let record = stage.call().await.unwrap().record;
    let (_, error, wait) = stage.told().remove(0);
    assert_eq!(error, ModelError::TimedOut { after: 10 * SECOND });
    let expected = 10 * SECOND + wait + 9 * SECOND;
    assert!((expected..=expected + GRAIN).contains(&start.elapsed()), "{:?}", start.elapsed());
    assert_eq!((u128::from(record.latency_ms), record.attempts), (start.elapsed().as_millis(), 2));
    assert_eq!(stage.model.in_flight.lock().unwrap().0, 0, "the attempt that timed out was abandoned");
}

#[tokio::test(start_paused = true)]
async fn permits_bound_attempts_and_the_queue_is_not_latency() {
    let mut stage = ScriptedCall::new([Act::After(SECOND, text("yes"))]);
    stage.caller.limits.in_flight = Arc::new(ConcurrencyLimit::at_most(2));
    // Waits longer in the queue than an attempt may take, because the timeout must not count there.
    stage.caller.timeouts.first_token = SECOND + SECOND / 2;
    let start = Instant::now();
    let answered = join_all((0..8).map(|_| stage.call())).await;
    assert_eq!(start.elapsed(), 4 * SECOND);
    assert_eq!(stage.model.in_flight.lock().unwrap().1, 2);
    assert!(answered.into_iter().all(|answered| answered.unwrap().record.latency_ms == 1000));
}

#[tokio::test(start_paused = true)]
async fn who_waits_for_another_attempt_holds_no_permit() {
    let in_flight = Arc::new(ConcurrencyLimit::at_most(1));
    let stages = [
        ScriptedCall::new([Act::Fail(limited(60 * SECOND)), Act::Reply(text("second"))]),
        ScriptedCall::new([Act::After(SECOND, text("first"))]),
    ]
    .map(|mut stage| {
        stage.caller.limits.in_flight = in_flight.clone();
        stage
    });
    let start = Instant::now();
    let times = join_all(stages.iter().map(|stage| async {
        stage.call().await.unwrap();
        start.elapsed()
    }))
    .await;
    assert_eq!(times, [60 * SECOND, SECOND]);
}

#[tokio::test(start_paused = true)]
async fn a_dropped_call_gives_its_permit_back() {
    let mut stage = ScriptedCall::new([Act::Hang]);
    stage.caller.limits.in_flight = Arc::new(ConcurrencyLimit::at_most(1));
    timeout(SECOND, stage.call()).await.unwrap_err();
    timeout(SECOND, stage.caller.limits.in_flight.enter(&stage.caller.provider)).await.unwrap();
}
