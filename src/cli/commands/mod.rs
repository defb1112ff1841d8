//! One file per command: parse, resolve, run, render.

pub(super) mod answer;
pub(super) mod ask;
mod attachments;
pub(super) mod completions;
pub(super) mod config;
pub(super) mod debate;
pub(super) mod demo;
pub(super) mod diff;
mod dry_run;
pub(super) mod eval;
pub(super) mod fork;
pub(super) mod init;
pub(super) mod lift;
pub(super) mod list;
pub(super) mod man;
#[cfg(feature = "mcp")]
pub(super) mod mcp;
#[cfg(feature = "archive")]
pub(super) mod memory;
pub(super) mod models;
pub(super) mod problem;
pub(super) mod protocols;
pub(super) mod rate;
#[cfg(feature = "archive")]
pub(super) mod ratings;
pub(super) mod replay;
pub(super) mod report;
pub(super) mod resume;
pub(super) mod review;
pub(super) mod rm;
#[cfg_attr(not(feature = "serve"), path = "serve/absent.rs")]
pub(super) mod serve;
pub(super) mod show;
pub(super) mod sign;
pub(super) mod skill;
pub(super) mod status;
pub(super) mod stop;
pub(super) mod sweep;
pub(super) mod tag;
pub(super) mod verify;
pub(super) mod wait;
