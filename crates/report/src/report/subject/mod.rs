//! The subjects of a report, each a list of blocks for every form.

mod answer;
mod check;
mod contest;
mod objections;
mod participants;
mod polls;
mod run;
mod settings;
mod usage;
mod verdict;
mod vote;
mod weight;

pub(crate) use answer::{confidence, partly_fulfilled, remaining};
pub(crate) use check::{check, is_unchecked, status};
pub(crate) use contest::{agreement, arguments, challenged, material, team};
pub(crate) use objections::{by_status, changes, counts, given_up, head, point, table, title, why_open};
pub(crate) use participants::{agents, everybody, judge};
pub(crate) use polls::polls;
pub(crate) use run::{ending, extent};
pub(crate) use settings::{prompts, settings};
pub(crate) use usage::{scores, usage};
pub(crate) use verdict::{verdict, won};
pub(crate) use vote::{elected, vote};
pub(crate) use weight::{alike, change, grounds, heat, status_line, strongest_followed, strongest_open};
