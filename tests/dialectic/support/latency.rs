//! Latencies as model servers have them: most near the middle, a few far above.

use std::time::Duration;

use rand::RngExt as _;
use rand::SeedableRng as _;
use rand_chacha::ChaCha12Rng;

use super::Incoming;

/// Log-normally distributed latencies.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LogNormal {
    /// Mean of the logarithm, in seconds.
    mu: f64,
    /// Standard deviation of the logarithm.
    sigma: f64,
    seed: u64,
}

impl LogNormal {
    /// With that mean; `sigma` is the standard deviation of the logarithm (0.5: one in twenty takes twice the mean).
    pub(crate) fn with_mean(mean: Duration, sigma: f64, seed: u64) -> Self {
        // The mean of a log-normal variable is exp(mu + sigma² / 2).
        Self { mu: mean.as_secs_f64().ln() - sigma * sigma / 2.0, sigma, seed }
    }

    /// The latency of the call with that key: the same for the same key, whatever was drawn before.
    pub(crate) fn draw(&self, key: u64) -> Duration {
        let mut random = ChaCha12Rng::seed_from_u64(self.seed.rotate_left(32) ^ key);
        // Box and Muller; 1 - u keeps the logarithm's argument off zero.
        let (radius, angle): (f64, f64) = (random.random(), random.random());
        let normal = (-2.0 * (1.0 - radius).ln()).sqrt() * (std::f64::consts::TAU * angle).cos();
        Duration::from_secs_f64((self.mu + self.sigma * normal).exp())
    }

    /// The latency of a request: the same for the same request, whenever it arrives.
    pub(crate) fn of(&self, request: &Incoming) -> Duration {
        self.draw(request.digest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latencies_have_the_mean_that_was_asked_for() {
        let mean = Duration::from_millis(200);
        let latency = LogNormal::with_mean(mean, 0.5, 1);
        let drawn: Vec<Duration> = (0..4000).map(|key| latency.draw(key)).collect();
        let average = drawn.iter().sum::<Duration>() / 4000;
        assert!(average.abs_diff(mean) < Duration::from_millis(8), "{average:?}");
        // Log-normal: the median is below the mean, by exp(-sigma² / 2).
        let below = drawn.iter().filter(|drawn| **drawn < mean.mul_f64((-0.125_f64).exp())).count();
        assert!((1880..2120).contains(&below), "{below} of 4000 are below the median");
        assert_eq!(latency.draw(3), drawn[3]);
        assert_ne!(LogNormal::with_mean(mean, 0.5, 2).draw(3), drawn[3]);
    }
}
