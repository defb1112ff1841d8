//! Sets of debates on an engine that places, retries and cancels work: Slurm, GNU parallel, Kubernetes, AWS Batch.
//!
//! A plan has a line for each debate. A worker runs one or several of them; what it records is in a [store](store),
//! where another worker goes on if this one dies. Nothing here starts or places a worker.

pub mod description;
pub mod plan;
pub mod store;
