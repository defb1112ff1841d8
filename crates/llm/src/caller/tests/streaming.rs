//! Observed answers: batches of words, retries, usage of failed attempts. The clock stands still while a task runs.

use super::*;

type ScriptedAttempt = (Vec<(u64, &'static str)>, Result<Reply, FailedAttempt>);

async fn call(attempts: Vec<ScriptedAttempt>) -> (Result<Reply, FailedCall>, Vec<(u128, String)>) {
    let mut stage = ScriptedCall::new(attempts.into_iter().map(|(words, end)| Act::Stream(words, end)));
    stage.caller.price = Some(Price::flat(1.0, None, 2.0));
    stage.caller.limits.max_retries = 1;
    let result = stage.call().await;
    (result, stage.notes.told.lock().unwrap().clone())
}

fn reply(text: &str) -> Reply {
    Reply { tokens: Some(tokens(10, 0, 1)), ..self::text(text) }
}

fn told(told: &[(u128, String)]) -> Vec<(u128, &str)> {
    told.iter().map(|(at, text)| (*at, text.as_str())).collect()
}

#[tokio::test(start_paused = true)]
async fn words_are_told_once_in_100_ms_and_the_rest_at_the_end() {
    let words = vec![(10, "a"), (80, " b"), (30, " c"), (30, " d"), (250, " e"), (5, " f")];
    let (result, notes) = call(vec![(words, Ok(reply("a b c d e f")))]).await;
    assert_eq!(result.unwrap().text, "a b c d e f");
    assert_eq!(told(&notes), [(110, "a b"), (210, " c d"), (405, " e f")]);
    // Many words at once cause no additional updates.
    let flood = vec![(1, "x "); 1_000];
    let (_, notes) = call(vec![(flood, Ok(reply("x")))]).await;
    assert_eq!(notes.len(), 10);
    assert_eq!(notes.iter().map(|(_, text)| text.len()).sum::<usize>(), 2_000);
}

#[tokio::test(start_paused = true)]
async fn an_answer_without_words_is_told_of_by_nothing() {
    let (result, notes) = call(vec![(vec![(950, "")], Ok(reply("whole")))]).await;
    assert_eq!((result.unwrap().text.as_str(), notes.len()), ("whole", 0));
}

#[tokio::test(start_paused = true)]
async fn a_broken_stream_is_repeated_from_its_beginning_and_what_it_took_is_kept() {
    let error = ModelError::Broken { message: "the stream was idle for 7s".to_owned() };
    let tokens = Some(tokens(10, 0, 4));
    let broken = FailedAttempt::with_usage(error.clone(), StatedUsage { tokens, ..StatedUsage::default() });
    let attempts = vec![(vec![(10, "one"), (300, " two")], Err(broken.clone())), (vec![(10, "one")], Ok(reply("one")))];
    let (result, notes) = call(attempts).await;
    let record = result.unwrap().record;
    assert_eq!((record.attempts, record.tokens), (2, Some(self::tokens(20, 0, 5))));
    assert_eq!(record.cost_usd, Some(Usd::for_tokens(20, 1.0) + Usd::for_tokens(5, 2.0)));
    let texts: Vec<&str> = notes.iter().map(|(_, text)| text.as_str()).collect();
    assert_eq!(texts, ["one", " two", &format!("again: {error}"), "one"]);

    let unpriced = FailedAttempt::from(error.clone());
    let (result, _) = call(vec![(vec![], Err(broken)), (vec![], Err(unpriced))]).await;
    let failed = result.unwrap_err();
    assert_eq!((failed.attempts, failed.spent.unwrap().tokens), (2, tokens));
}

#[tokio::test(start_paused = true)]
async fn only_the_first_token_has_to_come_in_time() {
    // One word per second for a quarter of an hour: slow is not broken.
    let slow = vec![(1_000, "drop "); 900];
    let (result, _) = call(vec![(slow, Ok(reply("x")))]).await;
    assert_eq!(result.unwrap().record.attempts, 1);
    // Tokens without text also count.
    let thoughtful = vec![(100_000, ""), (100_000, ""), (100_000, "so")];
    let (result, notes) = call(vec![(thoughtful, Ok(reply("so")))]).await;
    assert_eq!((result.unwrap().record.attempts, told(&notes)), (1, vec![(300_000, "so")]));
    let silent = vec![(120_001, "late")];
    let (result, notes) = call(vec![(silent, Ok(reply("late"))), (vec![], Ok(reply("soon")))]).await;
    assert_eq!(result.unwrap().record.attempts, 2);
    assert_eq!(told(&notes), [(120_000, "again: no answer within 120s")]);
}
