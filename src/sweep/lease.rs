//! How long a worker may send requests for a debate, and when another may take over.

use std::fmt;
use std::str::FromStr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use serde::{Deserialize, Serialize};

/// The times of a set's workers, the same for all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Times {
    /// Milliseconds between beats.
    #[serde(rename = "beatMs")]
    beat: u64,
    /// The age of the last beat at which its worker stops sending requests.
    #[serde(rename = "stopMs")]
    stop: u64,
    /// The time without a beat or segment after which another worker takes over.
    #[serde(rename = "takeoverMs")]
    takeover: u64,
}

impl Default for Times {
    fn default() -> Self {
        Self { beat: 20_000, stop: 60_000, takeover: 90_000 }
    }
}

impl fmt::Display for Times {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{},{},{}", self.beat, self.stop, self.takeover)
    }
}

impl FromStr for Times {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let times: Result<Vec<u64>, _> = text.split(',').map(str::parse).collect();
        match times.as_deref() {
            Ok([beat, stop, takeover]) => Self::of(*beat, *stop, *takeover),
            Ok(_) | Err(_) => None,
        }
        .ok_or("expected three numbers of milliseconds, each greater than the one before")
    }
}

impl Times {
    /// Times in milliseconds; `None` unless each is longer than the previous one: calls would be paid twice if a worker
    /// stopped after another took over.
    pub fn of(beat: u64, stop: u64, takeover: u64) -> Option<Self> {
        let is_ordered = 0 < beat && beat < stop && stop < takeover;
        is_ordered.then_some(Self { beat, stop, takeover })
    }

    /// The time between beats.
    pub fn beat(self) -> Duration {
        Duration::from_millis(self.beat)
    }

    /// The time after which a worker without a beat stops sending requests.
    pub fn stop(self) -> Duration {
        Duration::from_millis(self.stop)
    }

    /// The time after which another worker takes over.
    pub fn takeover(self) -> Duration {
        Duration::from_millis(self.takeover)
    }

    /// The time between checks of a debate that another worker runs.
    pub fn look(self) -> Duration {
        self.takeover() / 9
    }
}

/// A point in time on two clocks: one stops while the machine sleeps, the other can be set.
#[derive(Debug, Clone, Copy)]
pub(super) struct Moment {
    monotonic: Instant,
    wall: SystemTime,
}

impl Moment {
    pub(super) fn now() -> Self {
        Self { monotonic: Instant::now(), wall: SystemTime::now() }
    }

    /// The time since `earlier`, by the clock that advanced more.
    pub(super) fn since(self, earlier: Self) -> Duration {
        let wall = self.wall.duration_since(earlier.wall).unwrap_or_default();
        self.monotonic.saturating_duration_since(earlier.monotonic).max(wall)
    }

    #[cfg(test)]
    fn later(self, monotonic: Duration, wall: Duration) -> Self {
        Self { monotonic: self.monotonic + monotonic, wall: self.wall + wall }
    }
}

/// The right of a worker to send requests for a debate. It expires with the last beat, and an expired lease is never
/// renewed.
#[derive(Debug)]
pub(super) struct Lease {
    times: Times,
    last: Mutex<Last>,
}

#[derive(Debug)]
struct Last {
    /// The time when the last acknowledged beat was *sent*: other workers may have seen it since then.
    beat: Moment,
    is_over: bool,
}

impl Lease {
    /// A lease whose first beat was sent at `begun`.
    pub(super) fn begin(times: Times, begun: Moment) -> Self {
        Self { times, last: Mutex::new(Last { beat: begun, is_over: false }) }
    }

    pub(super) fn times(&self) -> Times {
        self.times
    }

    /// Whether a request may be sent.
    pub(super) fn is_held(&self) -> bool {
        self.is_held_at(Moment::now())
    }

    fn is_held_at(&self, now: Moment) -> bool {
        let mut last = self.last();
        last.is_over |= now.since(last.beat) >= self.times.stop();
        !last.is_over
    }

    /// Renews the lease by a beat that was sent at `begun` and acknowledged now. Has no effect if the lease has
    /// expired.
    pub(super) fn renew(&self, begun: Moment) -> bool {
        self.renew_at(begun, Moment::now())
    }

    fn renew_at(&self, begun: Moment, now: Moment) -> bool {
        let is_held = self.is_held_at(now);
        if is_held {
            self.last().beat = begun;
        }
        is_held
    }

    /// Ends the lease.
    pub(super) fn end(&self) {
        self.last().is_over = true;
    }

    /// The remaining time if no beat follows.
    pub(super) fn left(&self) -> Duration {
        if self.is_held() {
            self.times.stop().saturating_sub(Moment::now().since(self.last().beat))
        } else {
            Duration::ZERO
        }
    }

    fn last(&self) -> MutexGuard<'_, Last> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMES: Times = Times { beat: 20_000, stop: 60_000, takeover: 90_000 };

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn times_are_refused_that_let_two_workers_send() {
        assert_eq!(Times::of(20_000, 60_000, 90_000), Some(Times::default()));
        for (beat, stop, takeover) in [(0, 60, 90), (60, 60, 90), (20, 90, 90), (20, 100, 90), (70, 60, 90)] {
            assert_eq!(Times::of(beat, stop, takeover), None);
        }
    }

    #[test]
    fn a_lease_ends_when_either_clock_says_so_and_does_not_come_back() {
        let start = Moment::now();
        for (monotonic, wall, is_held) in [
            (59, 59, true),
            (60, 59, false),
            // The machine slept.
            (1, 60, false),
            (59, 0, true),
        ] {
            let lease = Lease::begin(TIMES, start);
            let now = start.later(seconds(monotonic), seconds(wall));
            assert_eq!(lease.is_held_at(now), is_held, "{monotonic}, {wall}");
            assert_eq!(lease.renew_at(now, now), is_held);
            assert_eq!(lease.is_held_at(now), is_held);
        }
    }

    #[test]
    fn a_beat_counts_from_when_it_was_begun() {
        let start = Moment::now();
        let at = |time| start.later(seconds(time), seconds(time));
        let lease = Lease::begin(TIMES, start);
        // It took 39 seconds.
        assert!(lease.renew_at(at(20), at(59)));
        assert!(lease.is_held_at(at(79)));
        assert!(!lease.is_held_at(at(80)));
        // A beat that is acknowledged too late does not count.
        let lease = Lease::begin(TIMES, start);
        assert!(!lease.renew_at(at(20), at(60)));
        assert!(!lease.is_held_at(at(61)));
    }

    #[test]
    fn a_clock_set_back_does_not_make_a_beat_younger() {
        let start = Moment::now();
        let lease = Lease::begin(TIMES, start.later(Duration::ZERO, seconds(1000)));
        assert!(lease.is_held_at(start.later(seconds(59), Duration::ZERO)));
        assert!(!lease.is_held_at(start.later(seconds(60), Duration::ZERO)));
    }
}
