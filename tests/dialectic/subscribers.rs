//! However many watch a debate, and however few of them read: the same calls, the same state.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde_json::Value;

use crate::support::in_process;
use crate::timing::without_times;
use dialectic_engine::engine::RunEnding;
use dialectic_llm::{CallerLimits, ChatModel, ConcurrencyLimit, FailedAttempt, Live, Reply, Request};
use dialectic_record::event::Event;
use dialectic_record::live::{PanelInfo, Signal, Signals, Subscription, Words};
use dialectic_record::protocol::DIALECTIC;
use dialectic_record::settings::{Settings, TerminationKind, default_settings};

/// A model that writes for half a minute, and keeps what it was asked.
#[derive(Default)]
struct Writing {
    asked: Mutex<Vec<String>>,
}

impl ChatModel for Writing {
    fn ask<'a>(&'a self, request: &'a Request, live: Live<'a>) -> BoxFuture<'a, Result<Reply, FailedAttempt>> {
        Box::pin(async move {
            // The judge's prompts are shuffled by the seed, which is the same here.
            self.asked.lock().unwrap().push(request.prompt.to_string());
            for _ in 0..300 {
                live.listener.on_token("and ");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            let text = match in_process::task(request) {
                task @ ("score the consensus" | "synthesise") => in_process::text(task),
                task => format!("{task} by {}", request.prompt.len()),
            };
            Ok(in_process::reply(text))
        })
    }
}

fn settings() -> Settings {
    let mut settings = default_settings();
    settings.debate.rounds = 2;
    settings.debate.termination_condition.kind = TerminationKind::Fixed;
    settings
}

/// What a subscriber was told: events by their numbers, and how many signals it missed.
#[derive(Debug, Default, PartialEq, Eq)]
struct Heard {
    events: Vec<u64>,
    words: usize,
    missed: u64,
    ended: bool,
}

async fn hear(mut subscription: Subscription) -> Heard {
    let mut heard = Heard::default();
    while let Some(signal) = subscription.next().await {
        match &*signal {
            Signal::Gap(gap) => heard.missed += gap.missed,
            Signal::Recorded(recorded) => {
                heard.events.push(recorded.seq);
                heard.ended |= matches!(recorded.event, Event::Completed { .. });
            }
            Signal::Words { .. } => heard.words += 1,
            _ => {}
        }
    }
    heard
}

/// A debate as it went: its state, what was asked, what each reader heard, and what each sleeper found.
type Shown = (Value, Vec<String>, Vec<Heard>, Vec<Heard>);

/// Runs a debate in front of `reading` subscribers that read and `sleeping` that never do.
fn debate(reading: usize, sleeping: usize) -> Shown {
    let settings = settings();
    let model = Arc::new(Writing::default());
    let signals = Signals::new(PanelInfo::new(&settings, DIALECTIC.infos()));
    let limits = CallerLimits { in_flight: Arc::new(ConcurrencyLimit::at_most(8)), max_retries: 0 };
    let panel = in_process::panel(&settings, &model, None, &limits);
    in_process::block_on(async {
        let subscribe = || signals.subscribe(Words::Wanted).1;
        let asleep: Vec<Subscription> = (0..sleeping).map(|_| subscribe()).collect();
        let readers: Vec<_> = (0..reading).map(|_| tokio::spawn(hear(subscribe()))).collect();
        let (ending, debate) = in_process::run_watched(&settings, panel, 1, signals).await;
        assert_eq!(ending, RunEnding::Completed);
        let (mut heard, mut found) = (Vec::new(), Vec::new());
        for reader in readers {
            heard.push(reader.await.unwrap());
        }
        for sleeper in asleep {
            found.push(hear(sleeper).await);
        }
        let mut asked = model.asked.lock().unwrap().clone();
        asked.sort();
        (without_times(&serde_json::to_value(&debate).unwrap()), asked, heard, found)
    })
}

#[test]
fn nobody_one_and_many_subscribers_see_the_same_debate_and_change_nothing() {
    let (state, asked, _, _) = debate(0, 0);
    assert!(asked.len() > 20, "{}", asked.len());
    for (reading, sleeping) in [(1, 0), (8, 4)] {
        let (same_state, same_asked, heard, found) = debate(reading, sleeping);
        assert_eq!(same_state, state);
        assert_eq!(same_asked, asked);
        assert_eq!((heard.len(), found.len()), (reading, sleeping));
        for one in &heard {
            // The first event, of the creation, is before the engine begins.
            assert!(one.ended && one.events.iter().copied().eq(2..=one.events.len() as u64 + 1), "{one:?}");
            assert!(one.missed == 0 && one.words > 4_096, "{one:?}");
        }
        for one in &found {
            assert!(one.ended && one.missed > 0 && one.words <= 4_096, "{one:?}");
        }
    }
}
