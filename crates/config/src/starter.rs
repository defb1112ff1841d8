//! The file that `config init` writes.

/// The text of a configuration to start from: who takes part, what most people change, and where the rest is described.
#[must_use]
pub fn starter() -> &'static str {
    include_str!("starter.json")
}
