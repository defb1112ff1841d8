//! Sets of debates on an engine that places, retries and cancels work: Slurm, GNU parallel, Kubernetes.
//!
//! A plan has a line for each debate. A worker runs one or several of them and records them in a [store] as they run.
//! The engine gives a debate to one worker at a time; the next one continues it at once. This module does not start or
//! place workers.

pub mod collect;
pub mod description;
pub mod plan;
mod segment;
pub mod status;
pub mod store;
pub mod worker;

pub use description::Answer;
pub use segment::{SegmentError, Stored};
