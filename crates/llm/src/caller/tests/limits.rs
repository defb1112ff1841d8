//! Rate limits without a stated delay, and rounds that exceed their time limit.

use crate::caller::bill::RATE_WINDOW;

use super::*;

fn limited_for_a_while() -> ModelError {
    ModelError::RateLimited { status: 429, retry_after: None, message: "slow down".to_owned() }
}

#[tokio::test(start_paused = true)]
async fn a_rate_limit_that_does_not_say_for_how_long_is_waited_out_for_a_minute() {
    for (max_retries, longest) in [(1, 75), (3, 75), (8, 160)] {
        let mut stage = ScriptedCall::new([Act::Fail(limited_for_a_while())]);
        stage.caller.limits.max_retries = max_retries;
        let start = Instant::now();
        let failed = stage.call().await.unwrap_err();
        assert_eq!((failed.error, failed.attempts), (limited_for_a_while(), max_retries + 1));
        // With many retries the ordinary delays apply, since they are longer.
        assert!((RATE_WINDOW..=longest * SECOND).contains(&start.elapsed()), "{max_retries}: {:?}", start.elapsed());
    }
}

/// A provider that allows two concurrent requests until a minute has passed.
struct Tight {
    in_flight: Mutex<usize>,
    refused: Mutex<Vec<Instant>>,
    begun: Instant,
}

impl ChatModel for Tight {
    fn ask<'a>(&'a self, _: &'a Request, _: Live<'a>) -> BoxFuture<'a, Result<Reply, FailedAttempt>> {
        Box::pin(async move {
            *self.in_flight.lock().unwrap() += 1;
            let is_too_much = *self.in_flight.lock().unwrap() > 2 && self.begun.elapsed() < RATE_WINDOW;
            tokio::time::sleep(if is_too_much { SECOND / 10 } else { 3 * SECOND }).await;
            *self.in_flight.lock().unwrap() -= 1;
            if is_too_much {
                self.refused.lock().unwrap().push(Instant::now());
                return Err(limited_for_a_while().into());
            }
            Ok(text("yes"))
        })
    }
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_refuses_gets_fewer_calls_until_it_answers_again() {
    let tight = Arc::new(Tight { in_flight: Mutex::default(), refused: Mutex::default(), begun: Instant::now() });
    let mut stage = ScriptedCall::new([Act::After(SECOND, text("other"))]);
    let other = stage.caller.clone();
    stage.caller.chat = tight.clone();
    stage.caller.provider = "tight".into();
    let answered = join_all((0..40).map(|_| stage.call())).await;
    assert!(answered.iter().all(Result::is_ok), "{answered:?}");
    // Of sixteen requests, two are accepted; a few later ones find the limit again.
    let refused = tight.refused.lock().unwrap().len();
    assert!((14..40).contains(&refused), "{refused}");
    // Other providers need not wait.
    let start = Instant::now();
    other.call(&request()).await.unwrap();
    assert_eq!(start.elapsed(), SECOND);
}

/// A program that may only run once at a time in this process.
struct Single {
    name: Arc<str>,
}

impl ChatModel for Single {
    fn ask<'a>(&'a self, _: &'a Request, _: Live<'a>) -> BoxFuture<'a, Result<Reply, FailedAttempt>> {
        Box::pin(async {
            tokio::time::sleep(SECOND).await;
            Ok(text("yes"))
        })
    }

    fn shared_bound(&self) -> Option<(&Arc<str>, usize)> {
        Some((&self.name, 1))
    }
}

/// Two debates with room for one call each, which share a program.
#[tokio::test(start_paused = true)]
async fn neither_a_program_nor_a_debate_is_held_up_by_a_call_that_waits_for_the_other() {
    let program = |name: &str| -> Arc<dyn ChatModel> { Arc::new(Single { name: name.into() }) };
    let debate = |chat: &Arc<dyn ChatModel>, in_flight: &Arc<ConcurrencyLimit>| {
        let mut caller = ScriptedCall::new([Act::After(10 * SECOND, text("other"))]).caller.clone();
        caller.limits.in_flight = Arc::clone(in_flight);
        let mut of_program = caller.clone();
        of_program.chat = Arc::clone(chat);
        (caller, of_program)
    };
    let one = || Arc::new(ConcurrencyLimit::at_most(1));
    let took = async |caller: &Caller, started: Instant| {
        caller.call(&request()).await.unwrap();
        started.elapsed()
    };

    // While the first debate waits for the program, its slot is busy elsewhere; the second debate gets the program at
    // once.
    let single = program("single, debate busy");
    let ((busy, waiting), (_, free)) = (debate(&single, &one()), debate(&single, &one()));
    let start = Instant::now();
    let times = tokio::join!(took(&busy, start), took(&waiting, start), took(&free, start));
    assert_eq!(times, (10 * SECOND, 11 * SECOND, SECOND));

    // While a debate waits for the busy program, it can make another call.
    let single = program("single, program busy");
    let ((_, holding), (other, waiting)) = (debate(&single, &one()), debate(&single, &one()));
    let start = Instant::now();
    let times = tokio::join!(took(&holding, start), took(&waiting, start), took(&other, start));
    assert_eq!(times, (SECOND, 11 * SECOND, 10 * SECOND));
}

#[tokio::test(start_paused = true)]
async fn after_a_refusal_attempts_are_halved_and_each_answer_adds_one() {
    let in_flight = ConcurrencyLimit::at_most(16);
    let provider: Arc<str> = "p".into();
    let mut places = Vec::new();
    for _ in 0..8 {
        places.push(in_flight.enter(&provider).await);
    }
    let has_room = || async { timeout(SECOND, in_flight.enter(&provider)).await.is_ok() };
    assert!(has_room().await);
    // All were rejected together, which counts once.
    places[0].refused();
    tokio::time::advance(SECOND).await;
    places[1].refused();
    places[2].answered();
    places.truncate(4);
    assert!(!has_room().await, "four are enough now");
    assert!(timeout(SECOND, in_flight.enter(&"another".into())).await.is_ok());
    places.truncate(3);
    let later = in_flight.enter(&provider).await;
    later.answered();
    assert!(has_room().await, "it answers again");
}

#[tokio::test(start_paused = true)]
async fn a_round_that_is_over_time_begins_no_attempt_and_cuts_none_short() {
    let silence = || Some(Arc::new(IdleTimeout::of_at_most(60 * SECOND)));
    // Attempts in flight run to completion, and an answer ends the idle time.
    let mut stage = ScriptedCall::new([Act::After(100 * SECOND, text("late"))]);
    stage.caller.silence = silence();
    assert_eq!(stage.call().await.unwrap().text, "late");
    assert!(!stage.caller.silence.as_ref().unwrap().is_too_long());
    // A failed attempt is not retried,
    let mut stage = ScriptedCall::new([Act::Hang, Act::Reply(text("never asked"))]);
    stage.caller.silence = silence();
    let failed = stage.call().await.unwrap_err();
    assert_eq!((failed.error.is_timeout(), failed.attempts), (true, 1));
    // and waiting attempts are not sent.
    let failed = stage.call().await.unwrap_err();
    assert_eq!((failed.error, failed.attempts, stage.model.attempts()), (ModelError::OutOfTime, 0, 1));
    // Delays between attempts do not count as idle time.
    let mut stage = ScriptedCall::new([Act::Fail(limited(200 * SECOND)), Act::Reply(text("yes"))]);
    stage.caller.silence = silence();
    assert_eq!(stage.call().await.unwrap().record.attempts, 2);
}

#[tokio::test(start_paused = true)]
async fn an_attempt_that_took_all_of_its_time_is_repeated_once() {
    let stage = ScriptedCall::new([Act::Fail(overloaded()), Act::Hang, Act::Fail(overloaded()), Act::Hang, Act::Hang]);
    let failed = stage.call().await.unwrap_err();
    assert_eq!((failed.error.is_timeout(), failed.attempts), (true, 4));
}

/// Permits every attempt, and records how failed ones are charged.
#[derive(Default)]
struct Books {
    granted: Mutex<u64>,
    entered: Mutex<Vec<CallRecord>>,
}

impl Account for Books {
    fn reserve<'a>(&'a self, _: &'a Request) -> BoxFuture<'a, Result<Option<Reserved>, ModelError>> {
        Box::pin(async move {
            let mut granted = self.granted.lock().unwrap();
            *granted += 1;
            Ok(Some(Reserved { number: *granted, max_tokens: Some(100) }))
        })
    }

    fn enter_failure(&self, _: &ModelError, call: CallRecord) {
        self.entered.lock().unwrap().push(call);
    }
}

impl Books {
    fn entered<T>(&self, of: impl Fn(&CallRecord) -> T) -> Vec<T> {
        self.entered.lock().unwrap().iter().map(of).collect()
    }
}

fn gateway_timeout() -> ModelError {
    ModelError::ServerFailed { status: 504, retry_after: None, message: "late".to_owned() }
}

#[tokio::test(start_paused = true)]
async fn under_a_limit_a_failure_that_counts_in_full_is_repeated_once() {
    let broken = || ModelError::Broken { message: "cut".to_owned() };
    for (acts, expected) in [
        (vec![gateway_timeout(), broken()], Err(2)),
        // Free calls are retried as usual.
        (vec![overloaded(), gateway_timeout(), overloaded()], Ok(4)),
        (vec![overloaded(), overloaded(), overloaded()], Ok(4)),
    ] {
        let books = Arc::new(Books::default());
        let last = acts.last().cloned().unwrap();
        let acts = acts.into_iter().map(Act::Fail).chain([Act::Reply(text("yes"))]);
        let mut stage = ScriptedCall::new(acts);
        stage.caller.account = Some(books.clone());
        let called = stage.call().await;
        match expected {
            Ok(attempts) => assert_eq!(called.unwrap().record.attempts, attempts),
            Err(attempts) => {
                let failed = called.unwrap_err();
                let twice = ModelError::FailedTwice { last: last.into() };
                assert_eq!((failed.error, failed.attempts), (twice, attempts));
                let costs = books.entered(|call| (call.reservation, call.cost_usd));
                assert_eq!(costs, [(Some(1), None), (Some(2), None)], "each counts as what was set aside for it");
            }
        }
    }
    // Without a limit, or if nothing costs anything, nothing needs to be saved.
    for has_limit in [false, true] {
        let mut stage =
            ScriptedCall::new(vec![Act::Fail(gateway_timeout()); 3].into_iter().chain([Act::Reply(text("yes"))]));
        stage.caller.account = has_limit.then(|| Arc::new(Books::default()) as Arc<dyn Account>);
        stage.caller.price = has_limit.then(|| Price::flat(0.0, None, 0.0));
        assert_eq!(stage.call().await.unwrap().record.attempts, 4);
    }
}

#[tokio::test(start_paused = true)]
async fn under_a_limit_no_connection_is_free_and_silence_counts_in_full() {
    let unreachable = ModelError::Unreachable { message: "refused".to_owned() };
    for (act, cost) in [
        (Act::Fail(unreachable), Some(Usd::ZERO)),
        (Act::Fail(overloaded()), Some(Usd::ZERO)),
        (Act::Hang, None),
        (Act::Fail(gateway_timeout()), None),
    ] {
        let books = Arc::new(Books::default());
        let mut stage = ScriptedCall::new([act, Act::Reply(text("yes"))]);
        stage.caller.account = Some(books.clone());
        stage.call().await.unwrap();
        assert_eq!(books.entered(|call| (call.reservation, call.cost_usd)), [(Some(1), cost)]);
    }
    let mut stage = ScriptedCall::new([Act::Fail(gateway_timeout())]);
    stage.caller.account = Some(Arc::new(Books::default()));
    assert!(stage.call().await.unwrap_err().error.is_server_gone(), "the second time it is as if nobody were there");
}

/// A server that receives up to three requests per attempt, and fails each time after doing the work.
struct Doubtful {
    limits: Mutex<Vec<Option<u32>>>,
}

impl ChatModel for Doubtful {
    fn ask<'a>(&'a self, request: &'a Request, live: Live<'a>) -> BoxFuture<'a, Result<Reply, FailedAttempt>> {
        Box::pin(async move {
            let mut max_tokens = request.max_tokens;
            for _ in 0..3 {
                self.limits.lock().unwrap().push(max_tokens);
                max_tokens = live.further.unwrap().after(gateway_timeout().into()).await?;
            }
            Ok(text("yes"))
        })
    }
}

#[tokio::test(start_paused = true)]
async fn each_request_of_an_attempt_is_charged_with_what_was_set_aside_for_it() {
    let books = Arc::new(Books::default());
    let doubtful = Arc::new(Doubtful { limits: Mutex::default() });
    let mut stage = ScriptedCall::new([Act::Hang]);
    stage.caller.chat = doubtful.clone();
    stage.caller.account = Some(books.clone());
    let failed = stage.call().await.unwrap_err();
    assert!(matches!(failed.error, ModelError::FailedTwice { .. }), "{failed}");
    assert_eq!(*doubtful.limits.lock().unwrap(), [Some(100), Some(100)], "there is no third");
    assert_eq!(books.entered(|call| call.reservation), [Some(1), Some(2)]);
}

#[tokio::test(start_paused = true)]
async fn a_lost_attempt_that_costs_nothing_is_not_known_to_have_taken_nothing() {
    let books = Arc::new(Books::default());
    let acts = [Act::Fail(gateway_timeout()), Act::Fail(overloaded()), Act::Reply(text("yes"))];
    let mut stage = ScriptedCall::new(acts);
    stage.caller.account = Some(books.clone());
    stage.caller.price = Some(Price::flat(0.0, None, 0.0));
    stage.call().await.unwrap();
    assert_eq!(books.entered(CallRecord::is_silent), [true, false], "what was turned away is not billed");
}

/// Notes the output limits that it is sent.
#[derive(Default)]
struct Noting(Mutex<Vec<Option<u32>>>);

impl ChatModel for Noting {
    fn ask<'a>(&'a self, request: &'a Request, _: Live<'a>) -> BoxFuture<'a, Result<Reply, FailedAttempt>> {
        self.0.lock().unwrap().push(request.max_tokens);
        Box::pin(async { Ok(text("yes")) })
    }
}

#[tokio::test(start_paused = true)]
async fn the_lower_of_the_agents_own_output_limit_and_the_granted_one_is_sent() {
    let model = Arc::new(Noting::default());
    let mut stage = ScriptedCall::new([]);
    stage.caller.chat = model.clone();
    stage.caller.account = Some(Arc::new(Books::default()));
    for max_tokens in [None, Some(50), Some(200)] {
        stage.caller.call(&Request { max_tokens, ..request() }).await.unwrap();
    }
    assert_eq!(*model.0.lock().unwrap(), [100, 50, 100].map(Some));
}

#[tokio::test(start_paused = true)]
async fn what_is_not_sent_for_lack_of_time_gives_back_what_was_set_aside() {
    let books = Arc::new(Books::default());
    let mut stage = ScriptedCall::new([Act::Reply(text("never asked"))]);
    stage.caller.account = Some(books.clone());
    stage.caller.silence = Some(Arc::new(IdleTimeout::of_at_most(Duration::ZERO)));
    assert_eq!(stage.call().await.unwrap_err().error, ModelError::OutOfTime);
    assert_eq!(books.entered(|call| (call.reservation, call.attempts)), [(Some(1), 0)]);
}
