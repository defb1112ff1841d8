//! Sets of debates on an engine that places, retries and cancels work: Slurm, GNU parallel, Kubernetes, AWS Batch.
//!
//! A plan has a line for each debate, with its arms if it has any. A worker runs one or several of them and records them in
//! a [store]. If it dies, another worker continues from there. This module does not start or place workers.

pub mod budget;
pub mod collect;
mod copy;
pub mod description;
pub mod fetch;
mod finished;
pub mod group;
mod lease;
pub mod plan;
mod segment;
pub mod status;
pub mod store;
mod takeover;
pub mod worker;

pub use finished::{Finished, FinishedHeader, Lost, Stored};
pub use lease::Times;
pub use segment::{Chain, Header, SegmentError};
