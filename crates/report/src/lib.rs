//! Displays and reports of a debate. Must not depend on protocols, only on the record and its signals.

pub mod display;
pub mod report;
