//! The file that `config init` writes.

/// The text of a starter configuration: every default visible and explained in `$comment` keys, which are not read.
#[must_use]
pub fn starter() -> &'static str {
    include_str!("starter.json")
}
