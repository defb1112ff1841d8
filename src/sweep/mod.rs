//! Sets of debates on an engine that places, retries and cancels work: Slurm, GNU parallel, Kubernetes, AWS Batch.
//!
//! A plan has a line for each debate, with its arms if it has any. A worker runs one or several of them; what it records is in a [store],
//! where another worker goes on if this one dies. Nothing here starts or places a worker.

pub mod budget;
pub mod collect;
mod copy;
pub mod description;
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
