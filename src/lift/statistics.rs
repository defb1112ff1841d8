//! Exact statistics of wins and losses. Ties do not count: they do not show which is better.

/// The level of every test and, with [`POWER`], of [`smallest_difference`].
pub const SIGNIFICANCE: f64 = 0.05;
/// The required probability of detecting a difference for it to count as detectable.
pub const POWER: f64 = 0.8;
/// The minimum number of decided problems for a significant result: five wins of five still have p = 0.0625.
pub const FEWEST: u32 = 6;

/// The 95 % confidence interval of the share of wins.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// The lower bound.
    pub low: f64,
    /// The upper bound.
    pub high: f64,
}

/// The exact two-sided sign test: the probability of a result at least as uneven if wins and losses are equally likely.
/// Returns 1 for no results.
pub fn sign_test(wins: u32, losses: u32) -> f64 {
    let n = wins + losses;
    (2.0 * at_most(wins.min(losses), n, 0.5)).min(1.0)
}

/// The 95 % Clopper–Pearson interval of the share of wins. For no results, it is 0 to 1.
pub fn clopper_pearson(wins: u32, losses: u32) -> Interval {
    let n = wins + losses;
    let tail = SIGNIFICANCE / 2.0;
    // P(X >= wins) rises with the share, P(X <= wins) falls.
    let low = if wins == 0 { 0.0 } else { crossing(|share| at_least(wins, n, share) - tail) };
    let high = if losses == 0 { 1.0 } else { crossing(|share| tail - at_most(wins, n, share)) };
    Interval { low, high }
}

/// Holm's step-down correction: each p adjusted for the number of tests, in the order given.
pub fn holm(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|one, other| values[*one].total_cmp(&values[*other]));
    let mut adjusted = vec![0.0; values.len()];
    let mut least = 0.0_f64;
    for (remaining, index) in (1..=values.len()).rev().zip(order) {
        least = least.max((values[index] * as_float(remaining)).min(1.0));
        adjusted[index] = least;
    }
    adjusted
}

/// The smallest share of wins that `n` decided problems detect with 80 % power; `None` if they are too few.
pub fn smallest_difference(n: u32) -> Option<f64> {
    let critical = (n / 2..=n).find(|wins| sign_test(*wins, n - wins) <= SIGNIFICANCE)?;
    let power = |share: f64| at_least(critical, n, share) + at_most(n - critical, n, share);
    Some(crossing(|share| if share <= 0.5 { -1.0 } else { power(share) - POWER }))
}

/// P(X <= k) of `n` independent trials that succeed with this probability.
fn at_most(k: u32, n: u32, share: f64) -> f64 {
    probabilities(n, share).take(k as usize + 1).sum::<f64>().min(1.0)
}

/// P(X >= k).
fn at_least(k: u32, n: u32, share: f64) -> f64 {
    probabilities(n, share).skip(k as usize).sum::<f64>().min(1.0)
}

/// P(X = 0) to P(X = n), for a share between 0 and 1. They are computed from their logarithms: the first may be too
/// small for a float.
fn probabilities(n: u32, share: f64) -> impl Iterator<Item = f64> {
    let odds = (share / (1.0 - share)).ln();
    let mut logarithm = f64::from(n) * (1.0 - share).ln();
    (0..=n).map(move |k| {
        let this = logarithm.exp();
        logarithm += (f64::from(n - k) / f64::from(k + 1)).ln() + odds;
        this
    })
}

/// The point between 0 and 1 where a rising function crosses zero.
fn crossing(rising: impl Fn(f64) -> f64) -> f64 {
    let (mut low, mut high) = (0.0_f64, 1.0_f64);
    // Each step halves the distance; after 60 a float has no more digits.
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if rising(middle) < 0.0 {
            low = middle;
        } else {
            high = middle;
        }
    }
    f64::midpoint(low, high)
}

fn as_float(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_near(value: f64, expected: f64) -> bool {
        (value - expected).abs() < 5e-5
    }

    #[test]
    fn the_sign_test_is_that_of_tables() {
        assert!(is_near(sign_test(5, 0), 0.0625));
        assert!(is_near(sign_test(6, 0), 0.03125));
        assert!(is_near(sign_test(9, 1), 22.0 / 1024.0));
        assert!(is_near(sign_test(1, 9), 22.0 / 1024.0));
        assert!(is_near(sign_test(5, 5), 1.0));
        assert!(is_near(sign_test(0, 0), 1.0));
        // The combinations of so many trials do not fit into a float.
        let many = sign_test(1100, 900);
        assert!((1e-6..1e-4).contains(&many), "{many}");
    }

    #[test]
    fn fewer_than_six_can_show_nothing() {
        for n in 0..FEWEST {
            assert_eq!(smallest_difference(n), None, "{n}");
        }
        assert!(smallest_difference(FEWEST).is_some());
    }

    #[test]
    fn intervals_are_those_of_tables() {
        let Interval { low, high } = clopper_pearson(8, 2);
        assert!(is_near(low, 0.44390) && is_near(high, 0.97479), "{low} {high}");
        let Interval { low, high } = clopper_pearson(0, 10);
        assert!(is_near(low, 0.0) && is_near(high, 0.30850), "{low} {high}");
        let Interval { low, high } = clopper_pearson(10, 0);
        assert!(is_near(low, 0.69150) && is_near(high, 1.0), "{low} {high}");
        assert_eq!(clopper_pearson(0, 0), Interval { low: 0.0, high: 1.0 });
    }

    #[test]
    fn the_interval_covers_the_truth_in_at_least_95_percent_of_all_outcomes() {
        for n in 1..=60 {
            for truth in [0.5, 0.6, 0.75, 0.9] {
                let covers = |wins: &u32| {
                    let Interval { low, high } = clopper_pearson(*wins, n - wins);
                    (low..=high).contains(&truth)
                };
                let covered: f64 =
                    (0..=n).zip(probabilities(n, truth)).filter(|(wins, _)| covers(wins)).map(|(_, p)| p).sum();
                assert!(covered >= 0.95, "{n} {truth}: {covered}");
            }
        }
    }

    #[test]
    fn the_test_errs_in_at_most_five_percent_of_all_outcomes() {
        for n in 1..=200 {
            let significant = |wins: &u32| sign_test(*wins, n - wins) <= SIGNIFICANCE;
            let wrong: f64 =
                (0..=n).zip(probabilities(n, 0.5)).filter(|(wins, _)| significant(wins)).map(|(_, p)| p).sum();
            assert!(wrong <= SIGNIFICANCE, "{n}: {wrong}");
        }
    }

    #[test]
    fn a_difference_that_could_have_been_shown_is_shown_in_80_percent() {
        for n in [6, 12, 20, 50, 200] {
            let share = smallest_difference(n).unwrap();
            let significant = |wins: &u32| sign_test(*wins, n - wins) <= SIGNIFICANCE;
            let power = |share| {
                let outcomes = (0..=n).zip(probabilities(n, share));
                outcomes.filter(|(wins, _)| significant(wins)).map(|(_, p)| p).sum::<f64>()
            };
            assert!(is_near(power(share), 0.8), "{n} {share}: {}", power(share));
        }
        // Twelve problems, the number of the examples, only show a side that is nearly always better.
        let twelve = smallest_difference(12).unwrap();
        assert!((0.85..0.95).contains(&twelve), "{twelve}");
    }

    #[test]
    fn holm_steps_down() {
        let adjusted = holm(&[0.01, 0.04, 0.03]);
        assert!(is_near(adjusted[0], 0.03) && is_near(adjusted[1], 0.06) && is_near(adjusted[2], 0.06), "{adjusted:?}");
        let adjusted = holm(&[0.5, 0.9]);
        assert!(is_near(adjusted[0], 1.0) && is_near(adjusted[1], 1.0), "{adjusted:?}");
        assert!(holm(&[]).is_empty());
    }
}
