//! Plays the signals of a past debate in time.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use dialectic_record::debate::Moment;
use dialectic_record::signals::Signals;

/// A substitute for times that a clock cannot represent.
const FOREVER: Duration = Duration::from_hours(24 * 365);

/// Publishes the signals at `times` their original speed (infinite: without waiting), and pauses while `held`, which
/// delays later signals. Waits for watchers.
pub async fn play(moments: Vec<Moment>, times: f64, signals: &Signals, mut held: watch::Receiver<bool>) {
    let mut begun = Instant::now();
    for Moment { at, signal } in moments {
        loop {
            if *held.borrow_and_update() {
                let since = Instant::now();
                // If no one can continue it, it is not held.
                let _ = held.wait_for(|is_held| !is_held).await;
                begun += since.elapsed();
            }
            let after = Duration::try_from_secs_f64(at.as_secs_f64() / times).unwrap_or(FOREVER).min(FOREVER);
            tokio::select! {
                () = sleep_until(begun + after) => break,
                Ok(()) = held.changed() => {}
            }
        }
        signals.room().await;
        signals.publish(signal);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dialectic_record::debate::fixture::{panel, warning};
    use dialectic_record::signals::Words;

    /// The arrival times of two signals, of which the second comes after 10 seconds.
    async fn arrivals(times: f64) -> [Duration; 2] {
        let moment = |seconds| Moment { at: Duration::from_secs(seconds), signal: warning("x") };
        let signals = Signals::new(panel());
        let (_, mut subscription) = signals.subscribe(Words::Wanted);
        let begun = Instant::now();
        let player =
            tokio::spawn(
                async move { play(vec![moment(0), moment(10)], times, &signals, watch::channel(false).1).await },
            );
        let mut took = [Duration::ZERO; 2];
        for took in &mut took {
            subscription.next().await.unwrap();
            *took = begun.elapsed();
        }
        player.await.unwrap();
        took.map(|took| Duration::from_millis(u64::try_from(took.as_millis()).unwrap()))
    }

    #[tokio::test(start_paused = true)]
    async fn every_signal_comes_in_its_time() {
        let seconds = Duration::from_secs;
        assert_eq!(arrivals(1.0).await, [seconds(0), seconds(10)]);
        assert_eq!(arrivals(10.0).await, [seconds(0), seconds(1)]);
        assert_eq!(arrivals(f64::INFINITY).await, [seconds(0), seconds(0)]);
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_held_goes_on_where_it_was() {
        let moment = |seconds| Moment { at: Duration::from_secs(seconds), signal: warning("x") };
        let signals = Signals::new(panel());
        let (_, mut subscription) = signals.subscribe(Words::Wanted);
        let (pause, is_paused) = watch::channel(false);
        let begun = Instant::now();
        let player = tokio::spawn(async move { play(vec![moment(0), moment(10)], 1.0, &signals, is_paused).await });
        subscription.next().await.unwrap();
        tokio::time::sleep(Duration::from_secs(4)).await;
        pause.send_replace(true);
        tokio::time::sleep(Duration::from_secs(100)).await;
        pause.send_replace(false);
        subscription.next().await.unwrap();
        assert_eq!(begun.elapsed().as_secs(), 110);
        player.await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn the_player_waits_for_whoever_is_slow() {
        let signals = Signals::new(panel());
        let (_, mut subscription) = signals.subscribe(Words::Wanted);
        let moments = (0..10_000).map(|_| Moment { at: Duration::ZERO, signal: warning("x") }).collect();
        let player = tokio::spawn(async move { play(moments, f64::INFINITY, &signals, watch::channel(false).1).await });
        let mut taken = 0;
        while let Some(news) = subscription.next().await {
            assert!(matches!(news, dialectic_record::signals::Update::Signal(_)), "{news:?}");
            taken += 1;
        }
        assert_eq!(taken, 10_000);
        player.await.unwrap();
    }
}
