//! What each subscriber receives, and that publishing never waits.

use dialectic_base::money::Usd;

use super::*;
use crate::debate::fixture::{PROPOSAL, call_started, panel, round_begun, stage_started, warning, words};
use crate::event::Event;
use crate::ids::Timestamp;

const AGENT: &str = "agent-kiss";

async fn next(subscription: &mut Subscription) -> Signal {
    match subscription.next().await {
        Some(signal) => (*signal).clone(),
        None => panic!("no signal"),
    }
}

#[tokio::test]
async fn everybody_is_told_everything_in_its_order() {
    let signals = Signals::new(panel());
    let (_, mut first) = signals.subscribe(Words::Wanted);
    let (_, mut without_words) = signals.subscribe(Words::Unwanted);
    signals.publish(warning("one"));
    signals.publish(words(PROPOSAL, AGENT, None, "two"));
    let (_, mut late) = signals.clone().subscribe(Words::Wanted);
    signals.publish(warning("three"));
    drop(signals);
    for (subscription, expected) in
        [(&mut first, &["one", "two", "three"][..]), (&mut without_words, &["one", "three"]), (&mut late, &["three"])]
    {
        for text in expected {
            let signal = next(subscription).await;
            let (Signal::Warning { message: said, .. } | Signal::Words { text: said, .. }) = &signal else {
                panic!("{signal:?}");
            };
            assert_eq!(said, text);
        }
        assert!(subscription.next().await.is_none());
        assert!(subscription.next().await.is_none());
    }
}

#[tokio::test]
async fn whoever_comes_late_begins_with_where_the_debate_stands() {
    let signals = Signals::new(panel());
    signals.publish(round_begun(2));
    signals.publish(call_started(PROPOSAL, AGENT, None));
    signals.publish(words(PROPOSAL, AGENT, None, "so far"));
    let (progress, _) = signals.subscribe(Words::Wanted);
    assert_eq!(progress.round(), 2);
    let busy = progress.busy();
    assert_eq!((busy[0].0.as_str(), busy[0].1[0].1.words.end.as_str()), (AGENT, "so far"));
}

#[tokio::test(start_paused = true)]
async fn whoever_falls_behind_finds_a_gap_and_where_the_debate_stands_behind_it() {
    let signals = Signals::with(panel(), 0, 3);
    let (_, mut slow) = signals.subscribe(Words::Wanted);
    let (mut before, mut quick) = signals.subscribe(Words::Wanted);
    let told = [
        round_begun(1),
        warning("look out"),
        stage_started(PROPOSAL, 3),
        call_started(PROPOSAL, AGENT, None),
        words(PROPOSAL, AGENT, None, "one"),
        round_begun(2),
        warning("after the gap"),
    ];
    for (index, signal) in told.into_iter().enumerate() {
        signals.publish(signal.clone());
        assert_eq!(serde_json::to_value(next(&mut quick).await).unwrap(), serde_json::to_value(&signal).unwrap());
        if index < 6 {
            before.see(&signal, now());
        }
    }
    let Signal::Gap(gap) = next(&mut slow).await else { panic!("there is no gap") };
    // It missed the stage, the call and its word. Events are read again, and the warning is kept.
    assert_eq!((gap.missed, gap.warnings.len(), gap.recorded), (3, 1, 1));
    assert_eq!((gap.progress.round(), gap.progress.busy()), (before.round(), before.busy()));
    assert!(matches!(next(&mut slow).await, Signal::Warning { message, .. } if message == "after the gap"));
    signals.publish(warning("on time"));
    assert!(matches!(next(&mut slow).await, Signal::Warning { message, .. } if message == "on time"));
}

#[tokio::test]
async fn what_waits_is_bounded_whatever_is_published() {
    let signals = Signals::with(panel(), 0, 10);
    let (_, slow) = signals.subscribe(Words::Wanted);
    let watched = Arc::new(Signal::Warning { message: "x".to_owned(), failed: None });
    for _ in 0..100_000 {
        signals.publish((*watched).clone());
    }
    let mut slow = slow;
    let Signal::Gap(gap) = next(&mut slow).await else { panic!("there is no gap") };
    assert_eq!(gap.warnings.len(), 100);
    drop(signals);
    let mut waiting = 0;
    while slow.next().await.is_some() {
        waiting += 1;
    }
    assert!(waiting <= 10, "{waiting}");
    assert_eq!(gap.missed + 100 + waiting, 100_000);
}

#[tokio::test]
async fn a_subscriber_that_has_gone_is_forgotten() {
    let signals = Signals::new(panel());
    let (_, gone) = signals.subscribe(Words::Wanted);
    drop(gone);
    signals.publish(warning("x"));
    assert!(signals.state().subscribers.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_wait_that_is_given_up_loses_nothing() {
    let signals = Signals::new(panel());
    let (_, mut subscription) = signals.subscribe(Words::Wanted);
    for text in ["one", "two"] {
        let waiting = tokio::time::timeout(Duration::from_millis(100), subscription.next());
        assert!(waiting.await.is_err());
        signals.publish(warning(text));
        assert!(matches!(next(&mut subscription).await, Signal::Warning { message, .. } if message == text));
    }
}

impl EventLog for Vec<Recorded> {
    fn next_event(&mut self) -> io::Result<Option<Recorded>> {
        Ok(self.pop())
    }
}

#[tokio::test]
async fn a_recorded_warning_in_a_gap_is_delivered_once() {
    let signals = Signals::with(panel(), 0, 1);
    let (_, subscription) = signals.subscribe(Words::Wanted);
    let event = Event::CostWarned { usd: Usd::ZERO, limit: Usd::ZERO };
    let warned = Recorded { seq: 1, at: Timestamp::now(), event };
    signals.publish(Signal::Recorded(Arc::new(warned.clone())));
    signals.publish(warning("after the gap"));
    drop(signals);
    let mut follower = Follower::new(subscription, Box::new(vec![warned]), 0, 0);
    let mut delivered = Vec::new();
    while let Some(signal) = follower.next().await.unwrap() {
        delivered.push(matches!(*signal, Signal::Recorded(_)));
    }
    assert_eq!(delivered, [true, false]);
}
