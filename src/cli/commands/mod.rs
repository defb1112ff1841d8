//! One file a command: parse, resolve, run, render.

pub(super) mod completions;
pub(super) mod config;
pub(super) mod debate;
pub(super) mod list;
pub(super) mod man;
pub(super) mod problem;
pub(super) mod protocols;
pub(super) mod report;
pub(super) mod resume;
