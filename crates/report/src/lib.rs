//! Displays and reports of a debate. This crate must not depend on protocols, only on the record and its signals.

pub mod display;
pub mod report;
