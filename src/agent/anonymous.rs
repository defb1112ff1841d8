//! Names hidden and order shuffled, so that neither decides; repeatable, because the seed is saved.

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha12Rng;

/// `items` in an order that depends on `seed` and `salt` alone: the salt tells shuffles of one debate apart.
#[must_use]
pub fn shuffled<T>(items: impl IntoIterator<Item = T>, seed: u32, salt: u32) -> Vec<T> {
    let mut items: Vec<T> = items.into_iter().collect();
    // ChaCha12 gives the same numbers in every version; the standard generator does not promise that.
    let mut rng = ChaCha12Rng::seed_from_u64(u64::from(seed) << 32 | u64::from(salt));
    items.shuffle(&mut rng);
    items
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_depends_on_seed_and_salt_alone() {
        let order = |seed, salt| shuffled(0..8, seed, salt);
        assert_eq!(order(7, 1), order(7, 1));
        assert_ne!(order(7, 1), order(7, 2));
        assert_ne!(order(7, 1), order(8, 1));
        let mut sorted = order(7, 1);
        sorted.sort_unstable();
        assert_eq!(sorted, (0..8).collect::<Vec<_>>());
    }
}
