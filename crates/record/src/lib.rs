//! The record of a debate, the protocols that govern it, and its storage.
//!
//! | module | contents |
//! | --- | --- |
//! | [`debate`] | state, events, settings with their defaults, and the one function that turns events into state |
//! | [`protocol`] | the declarations: stages, the calls of each, and their transitions; one file per protocol |
//! | [`prompt`] | the files of `prompts/`, and their rendering |
//! | [`store`] | debates on disk: journal, state file, lock, look-up by id |
//! | [`signals`] | delivers the signals of a running debate to its watchers without waiting for them |
//!
//! Nothing here reaches a network, prints, or knows a command line. `debate` and `protocol` do no input or output.

pub mod debate;
mod points;
#[macro_use]
pub mod prompt;
pub mod protocol;
pub mod signals;
pub mod store;
