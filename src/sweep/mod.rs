//! Sets of debates, run by a scheduler that places, retries and cancels jobs: Slurm, GNU parallel or Kubernetes.
//!
//! A plan has a line for each debate. A worker runs one or several of them and records them in a [store] as they run.
//! The scheduler gives a debate to one worker at a time, and the next worker can continue it immediately. This module
//! does not start or place workers.

pub mod collect;
pub mod description;
pub mod plan;
mod segment;
pub mod status;
pub mod store;
pub mod worker;

pub use description::ExpectedAnswer;
pub use segment::{SegmentError, Stored};
