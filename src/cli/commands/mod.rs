//! One file a command: parse, resolve, run, render.

pub(super) mod completions;
pub(super) mod config;
pub(super) mod debate;
mod dry_run;
pub(super) mod eval;
pub(super) mod fork;
pub(super) mod list;
pub(super) mod man;
pub(super) mod problem;
pub(super) mod protocols;
pub(super) mod replay;
pub(super) mod report;
pub(super) mod resume;
pub(super) mod show;
pub(super) mod verify;
