//! Chance that follows from a seed: the same seed and the same words give the same draws, on every platform.

use rand::SeedableRng as _;
use rand_chacha::ChaCha12Rng;

/// FNV-1a.
pub(crate) fn digest<'a>(words: impl IntoIterator<Item = &'a str>) -> u64 {
    let bytes = words.into_iter().flat_map(|word| word.bytes().chain([0]));
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// The draws of something that has a name.
pub(crate) fn chance(seed: u64, name: &str) -> ChaCha12Rng {
    ChaCha12Rng::seed_from_u64(digest([name]) ^ seed.wrapping_mul(0x9e37_79b9_7f4a_7c15))
}
