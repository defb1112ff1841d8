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
