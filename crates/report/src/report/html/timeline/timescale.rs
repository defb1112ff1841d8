//! The time scale of a chart without idle times.

/// Idle time longer than 1/12 of the busy time is cut out.
const LONG_IDLE: i64 = 12;
/// The width of a cut as a fraction of the busy time: 1/40.
const CUT: i64 = 40;
/// The maximum number of ticks.
const TICKS: i64 = 8;

/// The horizontal axis of a chart.
pub(super) enum Scale {
    /// Time.
    Time(Timescale),
    /// This many positions.
    Order(i64),
}

impl Scale {
    /// The position of a time or an index, from 0 to 1.
    pub(super) fn place(&self, at: i64) -> f64 {
        match self {
            Self::Time(time) => time.place(at),
            #[expect(clippy::cast_precision_loss, reason = "places on a chart are good to a pixel")]
            Self::Order(places) => at as f64 / *places as f64,
        }
    }

    /// The time scale, if the chart has one.
    pub(super) fn time(&self) -> Option<&Timescale> {
        match self {
            Self::Time(time) => Some(time),
            Self::Order(_) => None,
        }
    }
}

/// Maps clock milliseconds to a scale from 0 to 1.
pub(super) struct Timescale {
    stretches: Vec<Stretch>,
    length: i64,
}

/// A continuous period.
struct Stretch {
    from: i64,
    to: i64,
    /// The start on the chart in milliseconds.
    place: i64,
    /// The shown time before it.
    before: i64,
}

/// Omitted time.
pub(super) struct OmittedTime {
    /// The middle of the gap on the scale.
    pub(super) at: f64,
    /// The length in milliseconds.
    pub(super) millis: u64,
}

impl Timescale {
    /// The scale for these periods in milliseconds of any clock.
    pub(super) fn of(spans: impl IntoIterator<Item = (i64, i64)>) -> Self {
        let mut spans: Vec<(i64, i64)> = spans.into_iter().map(|(from, to)| (from.min(to), to)).collect();
        spans.sort_unstable();
        let mut busy: Vec<(i64, i64)> = Vec::new();
        for (from, to) in spans {
            match busy.last_mut() {
                Some(last) if from <= last.1 => last.1 = last.1.max(to),
                _ => busy.push((from, to)),
            }
        }
        let total = busy.iter().fold(0_i64, |sum, (from, to)| sum.saturating_add(to.saturating_sub(*from)));
        let mut stretches: Vec<Stretch> = Vec::new();
        for (from, to) in busy {
            match stretches.last_mut() {
                Some(last) if from.saturating_sub(last.to) <= total / LONG_IDLE => last.to = to,
                Some(last) => {
                    let shown = last.to.saturating_sub(last.from);
                    let place = last.place.saturating_add(shown).saturating_add((total / CUT).max(1));
                    let before = last.before.saturating_add(shown);
                    stretches.push(Stretch { from, to, place, before });
                }
                None => stretches.push(Stretch { from, to, place: 0, before: 0 }),
            }
        }
        let length = stretches.last().map_or(0, |last| last.place.saturating_add(last.to.saturating_sub(last.from)));
        Self { stretches, length: length.max(1) }
    }

    /// The total busy time in milliseconds.
    pub(super) fn busy(&self) -> i64 {
        self.stretches.last().map_or(0, |last| last.before.saturating_add(last.to.saturating_sub(last.from)))
    }

    /// The position of a time; omitted or outside times move to the nearest end.
    pub(super) fn place(&self, at: i64) -> f64 {
        let after = self.stretches.partition_point(|stretch| stretch.from <= at);
        let stretch = after.checked_sub(1).and_then(|index| self.stretches.get(index));
        stretch.map_or(0.0, |stretch| {
            self.share(stretch.place.saturating_add(at.clamp(stretch.from, stretch.to).saturating_sub(stretch.from)))
        })
    }

    /// The omitted times.
    pub(super) fn cuts(&self) -> impl Iterator<Item = OmittedTime> {
        self.stretches.windows(2).filter_map(|pair| {
            let [before, after] = pair else { return None };
            let end = before.place.saturating_add(before.to.saturating_sub(before.from));
            let at = f64::midpoint(self.share(end), self.share(after.place));
            Some(OmittedTime { at, millis: after.from.saturating_sub(before.to).unsigned_abs() })
        })
    }

    /// Tick marks: evenly spaced times since the start, without omitted time, and their positions.
    pub(super) fn ticks(&self) -> Vec<(f64, u64)> {
        let shown = self.busy();
        let step = step(shown);
        let mut ticks = Vec::new();
        let mut millis = 0;
        while millis <= shown && ticks.len() <= 2 * usize::try_from(TICKS).unwrap_or(0) {
            let after = self.stretches.partition_point(|stretch| stretch.before <= millis);
            if let Some(stretch) = after.checked_sub(1).and_then(|index| self.stretches.get(index)) {
                let place = stretch.place.saturating_add(millis.saturating_sub(stretch.before));
                ticks.push((self.share(place), millis.unsigned_abs()));
            }
            millis = millis.saturating_add(step);
        }
        ticks
    }

    #[expect(clippy::cast_precision_loss, reason = "places on a chart are good to a pixel, not to a millisecond")]
    fn share(&self, place: i64) -> f64 {
        place as f64 / self.length as f64
    }
}

/// The distance between ticks: the shortest round one that keeps their number within the limit.
fn step(shown: i64) -> i64 {
    /// In tenths of a second, from one tenth to a day.
    const STEPS: [i64; 19] = [
        1, 2, 5, 10, 20, 50, 100, 200, 300, 600, 1_200, 3_000, 6_000, 12_000, 18_000, 36_000, 72_000, 216_000, 864_000,
    ];
    STEPS.into_iter().map(|tenths| 100 * tenths).find(|step| shown / step < TICKS).unwrap_or((shown / TICKS).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_take_little_room() {
        let day = 86_400_000;
        let scale = Timescale::of([(0, 4_000), (3_000, 10_000), (day, day + 10_000)]);
        assert!(scale.place(10_000) > 0.48 && scale.place(day) < 0.52);
        assert!((scale.place(0)).abs() < 1e-9 && (scale.place(day + 10_000) - 1.0).abs() < 1e-9);
        let cuts: Vec<u64> = scale.cuts().map(|cut| cut.millis).collect();
        assert_eq!(cuts, [86_390_000]);
        // Within the pause, and outside of everything.
        assert!((scale.place(50_000) - scale.place(10_000)).abs() < 1e-9);
        assert!((scale.place(-5) - 0.0).abs() < 1e-9 && (scale.place(9 * day) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn short_waits_are_shown_as_they_were() {
        let scale = Timescale::of([(0, 1_000), (1_100, 2_000)]);
        assert_eq!(scale.cuts().count(), 0);
        assert!((scale.place(1_000) - 0.5).abs() < 1e-9);
        let ticks: Vec<u64> = scale.ticks().into_iter().map(|(_, millis)| millis).collect();
        assert_eq!(ticks, [0, 500, 1_000, 1_500, 2_000]);
    }

    #[test]
    fn any_times_give_places_on_the_scale() {
        let wild = [(i64::MIN, i64::MAX), (5, 5), (i64::MAX, i64::MIN), (0, 0)];
        for scale in
            [Timescale::of(wild), Timescale::of([]), Timescale::of([(7, 7)]), Timescale::of([(7, 7), (90, 90)])]
        {
            for at in [i64::MIN, -1, 0, 7, 90, i64::MAX] {
                assert!((0.0..=1.0).contains(&scale.place(at)), "{at}");
            }
            assert!(scale.ticks().len() <= 17);
        }
    }
}
