//! The record of a debate, the protocols that govern it, and its storage.
//!
//! | module | contents |
//! | --- | --- |
//! | [`settings`] | the types of the configuration, with defaults |
//! | [`event`] | the journal's events, their fold into the state, and forks |
//! | [`debate`] | the state |
//! | [`answer`] | solutions, verdicts, votes and agreement |
//! | [`points`] | objections and findings, their parser, and what became of each |
//! | [`change`] | a change under review |
//! | [`ids`] | ids of debates, agents, calls and stages |
//! | [`live`] | what watchers of a running debate receive |
//! | [`protocol`] | protocols as declarations: stages, their calls and their transitions; one file per protocol |
//! | [`prompt`] | the files of `prompts/`, and their rendering |
//! | [`store`] | debates on disk: journal, state file, lock, look-up by id |
//!
//! Nothing here accesses the network, prints, or depends on the command line. `prompt` reads the user's files;
//! otherwise, only `store` does input or output.

pub mod answer;
pub mod change;
pub mod debate;
pub mod event;
pub mod ids;
pub mod live;
pub mod points;
#[macro_use]
pub mod prompt;
pub mod protocol;
pub mod settings;
pub mod store;
