//! Which prompts this program was built with.

use std::fmt::Write;
use std::sync::LazyLock;

use sha2::{Digest, Sha256};

use super::catalog::{PARTS, Template};
use super::charter;
use super::evaluator::{SYSTEM, USER};
use super::role::{BUILT_IN, JUDGE};

/// Bytes of the hash that are kept: enough to tell versions apart, short enough to read out.
const KEPT_BYTES: usize = 6;

/// The version of all prompts compiled in: the first 12 hexadecimal digits of a SHA-256 over their names and texts.
/// It changes with every change to any of them, and with nothing else.
#[must_use]
pub fn version() -> &'static str {
    static VERSION: LazyLock<String> = LazyLock::new(|| {
        let charter = charter();
        let templates = Template::ALL.iter().map(|template| (template.file(), template.text()));
        digest(templates.chain(BUILT_IN).chain([PARTS, SYSTEM, USER, ("judge", JUDGE), ("charter", &charter)]))
    });
    &VERSION
}

fn digest<'a>(prompts: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let mut hash = Sha256::new();
    for (name, text) in prompts {
        // Lengths keep a text that moves across a border from giving the same hash.
        for part in [name, text] {
            hash.update(part.len().to_le_bytes());
            hash.update(part);
        }
    }
    hash.finalize().iter().take(KEPT_BYTES).fold(String::new(), |mut hex, byte| {
        // Writing to a string cannot fail.
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_short_and_hexadecimal() {
        assert_eq!(version().len(), 2 * KEPT_BYTES);
        assert!(version().chars().all(|digit| digit.is_ascii_hexdigit()), "{}", version());
    }

    #[test]
    fn every_change_changes_it() {
        let first = digest([("a", "bc"), ("d", "e")]);
        for other in [[("a", "b"), ("d", "e")], [("ab", "c"), ("d", "e")], [("d", "e"), ("a", "bc")]] {
            assert_ne!(digest(other), first);
        }
        assert_eq!(digest([("a", "bc"), ("d", "e")]), first);
    }
}
