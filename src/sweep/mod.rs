//! Runs sets of debates as jobs of a scheduler such as Slurm, GNU parallel or Kubernetes.
//!
//! A plan has a line for each debate. A worker runs one or more debates and records them in a [store] as they run, so
//! that another worker can immediately continue an interrupted debate. The scheduler starts the workers, and must give
//! each debate to one worker at a time.

pub mod collect;
pub mod description;
pub mod plan;
mod segment;
pub mod status;
pub mod store;
pub mod worker;

pub use description::ExpectedAnswer;
pub use segment::{SegmentError, Stored};
