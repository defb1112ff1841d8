//! The usage of attempts: tokens, cost, and the flag for answers that were cut off.

use proptest::prelude::*;

use super::*;

#[tokio::test(start_paused = true)]
async fn cached_tokens_cost_less_and_a_stated_cost_is_believed() {
    let price = |cached| Price::flat(10.0, cached, 100.0);
    let million = Some(tokens(1_000_000, 400_000, 100_000));
    let stated = Some(Usd::from_dollars(0.25));
    for (price, tokens, stated, cost) in [
        (Some(price(Some(1.0))), million, None, Some(6.0 + 0.4 + 10.0)),
        (Some(price(None)), million, None, Some(20.0)),
        // More cached tokens than input tokens: the server is wrong, but gets no credit for it.
        (Some(price(Some(1.0))), Some(tokens(100, 1_000_000, 0)), None, Some(1.0)),
        (Some(price(None)), million, stated, Some(0.25)),
        (None, million, stated, Some(0.25)),
        (None, None, stated, Some(0.25)),
        (None, million, None, None),
        (Some(price(None)), None, None, None),
    ] {
        let mut stage = ScriptedCall::new([Act::Reply(Reply { tokens, stated_cost: stated, ..text("yes") })]);
        stage.caller.price = price;
        let record = stage.call().await.unwrap().record;
        assert_eq!((record.tokens, record.cost_usd), (tokens, cost.map(Usd::from_dollars)));
    }
}

/// A model on this machine.
struct Local(Reply);

impl ChatModel for Local {
    fn ask<'a>(&'a self, _: &'a Request, _: Live<'a>) -> BoxFuture<'a, Result<Reply, FailedAttempt>> {
        Box::pin(async { Ok(self.0.clone()) })
    }

    fn is_local(&self) -> bool {
        true
    }
}

#[tokio::test(start_paused = true)]
async fn a_stated_cost_of_nothing_does_not_beat_a_price() {
    let free = Reply { tokens: Some(tokens(1_000_000, 0, 0)), stated_cost: Some(Usd::ZERO), ..text("yes") };
    let priced = Price::flat(10.0, None, 100.0);
    for (model, price, is_local, cost, is_stated) in [
        ("m", Some(priced), false, Usd::from_dollars(10.0), false),
        ("vendor/m:free", Some(priced), false, Usd::ZERO, true),
        ("m", Some(Price::flat(0.0, None, 0.0)), false, Usd::ZERO, true),
        ("m", Some(priced), true, Usd::ZERO, true),
        ("m", None, false, Usd::ZERO, true),
    ] {
        let mut stage = ScriptedCall::new([Act::Reply(free.clone())]);
        stage.caller.price = price;
        if is_local {
            stage.caller.chat = Arc::new(Local(free.clone()));
        }
        let record = stage.caller.call(&Request { model: model.into(), ..request() }).await.unwrap().record;
        assert_eq!((record.cost_usd, record.cost_stated), (Some(cost), is_stated), "{model} {price:?} {is_local}");
    }
    // A free call is free whatever its usage.
    let mut stage = ScriptedCall::new([Act::Reply(text("yes"))]);
    stage.caller.price = Some(Price::flat(0.0, None, 0.0));
    assert_eq!(stage.call().await.unwrap().record.cost_usd, Some(Usd::ZERO));
}

#[tokio::test(start_paused = true)]
async fn an_answer_without_text_is_none() {
    for (finish, error, attempts) in [
        (FinishReason::Complete, ModelError::Empty, 4),
        (FinishReason::Length, ModelError::OutputLimit, 1),
        (FinishReason::Filtered, ModelError::Filtered { message: "no text was returned".to_owned() }, 1),
    ] {
        let stage = ScriptedCall::new([Act::Reply(Reply { finish, ..text(" \n") })]);
        let unknown = Some(Box::new(AttemptUsage { tokens: None, cost_usd: None, notional_usd: None }));
        assert_eq!(stage.call().await.unwrap_err(), FailedCall { error, attempts, spent: unknown });
    }
    let call = ToolCall { id: "1".to_owned(), name: "file_read".to_owned(), arguments: "{}".to_owned() };
    let reply = Reply { tool_calls: vec![call], ..text("") };
    let spec = crate::ToolSpec {
        name: "file_read".to_owned(),
        description: String::new(),
        parameters: serde_json::Value::Null,
    };
    let offering = Request { tools: Arc::new([spec]), ..request() };
    let stage = ScriptedCall::new([Act::Reply(reply.clone())]);
    assert_eq!(stage.caller.call(&offering).await.unwrap().tool_calls.len(), 1);
    // Without tools on offer, a tool call is not an answer, so the request is repeated once.
    let failed = ScriptedCall::new([Act::Reply(reply)]).call().await.unwrap_err();
    let message = "it calls the tool `file_read`, which was not offered".to_owned();
    assert_eq!((failed.error, failed.attempts), (ModelError::Unusable { message }, 2));
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_was_cut_is_marked_with_what_cut_it() {
    for (finish, marks) in [
        (FinishReason::Complete, (false, false)),
        (FinishReason::Length, (true, false)),
        (FinishReason::Filtered, (true, true)),
    ] {
        let stage = ScriptedCall::new([Act::Reply(Reply { finish, ..text("so far") })]);
        let record = stage.call().await.unwrap().record;
        assert_eq!((record.truncated, record.filtered), marks, "{finish:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_empty_answers_cost_is_counted_with_the_answer() {
    let empty = |tokens| Act::Reply(Reply { tokens, ..text("") });
    let answer = Act::Reply(Reply { tokens: Some(tokens(100, 50, 20)), ..text("yes") });
    let thrice = [empty(Some(tokens(100, 0, 7))), Act::Fail(overloaded()), answer.clone()];
    let stage = ScriptedCall::new(thrice);
    let record = stage.call().await.unwrap().record;
    assert_eq!(record.tokens, Some(tokens(200, 50, 27)));
    let once = ScriptedCall::new([answer.clone()]).call().await.unwrap().record.cost_usd.unwrap();
    let paid = Usd::for_tokens(100, 10.0) + Usd::for_tokens(7, 100.0);
    assert_eq!(record.cost_usd, Some(once + paid));

    // One attempt of unknown usage makes the total unknown.
    let record = ScriptedCall::new([empty(None), answer]).call().await.unwrap().record;
    assert_eq!((record.tokens, record.cost_usd), (Some(tokens(100, 50, 20)), None));

    // A stated cost counts, and adding to an unknown cost does not make it known.
    let stated = |dollars| Some(Usd::from_dollars(dollars));
    for (first, second, cost) in [(stated(0.5), stated(0.25), stated(0.75)), (None, stated(0.25), None)] {
        let reply = |said, stated_cost| Act::Reply(Reply { tokens: Some(tokens(1, 0, 1)), stated_cost, ..text(said) });
        let mut stage = ScriptedCall::new([reply("", first), reply("yes", second)]);
        stage.caller.price = None;
        let record = stage.call().await.unwrap().record;
        assert_eq!((record.tokens, record.cost_usd), (Some(tokens(2, 0, 2)), cost));
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_fails_says_what_it_took_all_the_same() {
    let reply = |finish| Act::Reply(Reply { finish, tokens: Some(tokens(10, 0, 5)), ..text("") });
    let stage =
        ScriptedCall::new([reply(FinishReason::Complete), Act::Fail(overloaded()), reply(FinishReason::Length)]);
    let failed = stage.call().await.unwrap_err();
    assert_eq!((failed.error, failed.attempts), (ModelError::OutputLimit, 3));
    let cost_usd = Some(Usd::for_tokens(20, 10.0) + Usd::for_tokens(10, 100.0));
    assert_eq!(
        failed.spent.as_deref(),
        Some(&AttemptUsage { tokens: Some(tokens(20, 0, 10)), cost_usd, notional_usd: None })
    );
}

proptest! {
    #[test]
    fn the_order_of_attempts_does_not_change_what_they_took(usage in prop::collection::vec((0_u64..1 << 40, 0_u64..1 << 40, any::<bool>()), 1..6)) {
        let spent = |&(input, output, priced): &(u64, u64, bool)| AttemptUsage {
            tokens: Some(tokens(input, 0, output)),
            cost_usd: priced.then(|| Usd::for_tokens(input, 2.5)),
            notional_usd: (!priced).then(|| Usd::for_tokens(output, 1.5)),
        };
        let sum = |sum: Option<AttemptUsage>, next: AttemptUsage| Some(next.and(sum));
        let forward = usage.iter().map(spent).fold(None, sum);
        prop_assert_eq!(forward, usage.iter().rev().map(spent).fold(None, sum));
    }
}
