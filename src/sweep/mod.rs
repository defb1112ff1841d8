//! Runs sets of debates as jobs of a scheduler such as Slurm, GNU parallel or Kubernetes. The scheduler must give each
//! debate of a plan to one worker at a time; workers record debates in a [store] as they run, so that another worker
//! can immediately continue an interrupted debate.

pub mod collect;
pub mod description;
pub mod plan;
mod segment;
pub mod status;
pub mod store;
pub mod worker;

pub use description::ExpectedAnswer;
pub use segment::{SegmentError, Stored};
