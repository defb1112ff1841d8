//! Streams of the offline provider. The clock stands still while a task runs.

use crate::fixture::{self, Heard};

use super::super::*;

const PROMPT: &str = "# Problem\n\n```problem\nDesign a queue\n```\n\n# Your task: propose";

/// The answer, what was heard when, and how long it took, in milliseconds.
async fn followed(model: &OfflineProvider) -> (Result<Reply, FailedAttempt>, Vec<(u128, String)>, u128) {
    let (heard, start) = (Heard::default(), Instant::now());
    let reply = model.answer(&fixture::request(OFFLINE_MODEL, "", PROMPT), &heard).await;
    let took = start.elapsed().as_millis();
    (reply, heard.in_time().into_iter().map(|(at, text)| (at.as_millis(), text)).collect(), took)
}

#[tokio::test(start_paused = true)]
async fn words_are_spread_over_the_time_that_an_answer_takes() {
    let model = OfflineProvider::new(0, Duration::from_secs(4), None);
    let latency = model.latency_of(PROMPT).as_millis();
    let (reply, heard, took) = followed(&model).await;
    assert!(took.abs_diff(latency) <= 1, "{took} {latency}");
    assert_eq!(heard.iter().map(|(_, text)| text.as_str()).collect::<String>(), reply.unwrap().text);
    // Half of the words have arrived after half of the time.
    let early = heard.iter().filter(|(at, _)| *at <= latency / 2).count();
    assert!(early.abs_diff(heard.len() / 2) <= 2, "{early} of {}", heard.len());
}

#[tokio::test(start_paused = true)]
async fn at_once_is_at_once_and_a_failure_says_nothing() {
    let (reply, heard, took) = followed(&OfflineProvider::default()).await;
    assert!(reply.is_ok_and(|reply| !reply.text.is_empty()));
    assert_eq!((heard.len(), took), (0, 0));
    let failing = OfflineProvider::new(0, Duration::from_secs(1), NonZeroU32::new(1));
    let (reply, heard, _) = followed(&failing).await;
    assert!(matches!(reply.unwrap_err().error, ModelError::ServerFailed { status: 500, .. }));
    assert!(heard.is_empty());
}

#[tokio::test(start_paused = true)]
async fn latency_and_failures_are_as_asked() {
    let latency = Duration::from_millis(200);
    let model = OfflineProvider::new(7, latency, NonZeroU32::new(2));
    let mut took = Vec::new();
    for number in 1..=4 {
        let (reply, _, time) = followed(&model).await;
        took.push(time);
        match reply {
            Ok(reply) => {
                assert_eq!(number % 2, 1);
                assert_eq!((reply.served_model.as_deref(), reply.stated_cost), (Some(OFFLINE_MODEL), Some(Usd::ZERO)));
                assert_eq!(reply.tokens, Some(Tokens::default()));
            }
            Err(FailedAttempt { error, .. }) => assert!(number % 2 == 0 && error.is_transient(), "{error}"),
        }
    }
    assert!(took.iter().all(|one| one.abs_diff(took[0]) <= 1 && (100..=301).contains(one)), "{took:?}");
}
