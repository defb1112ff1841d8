//! Names things by their contents, so that the same thing has the same name everywhere.

use sha2::{Digest, Sha256};

use dialectic_base::encoding::hexadecimal;

/// The first `bytes` of a hash of `parts`, in hexadecimal. The length of each part is hashed too, so that different
/// lists differ.
pub fn identity<'a>(parts: impl IntoIterator<Item = &'a str>, bytes: usize) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    let hash = hash.finalize();
    hexadecimal(hash.get(..bytes).unwrap_or(&hash))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_do_not_run_together() {
        assert_eq!(identity(["ab", "c"], 8), identity(["ab", "c"], 8));
        assert_ne!(identity(["ab", "c"], 8), identity(["a", "bc"], 8));
        assert_ne!(identity(["ab"], 8), identity(["ab", ""], 8));
        assert_eq!(identity(["ab"], 16).len(), 32);
    }
}
