//! The subjects of a report, each a list of blocks for every form.

mod check;
mod objections;
mod participants;
mod usage;
mod verdict;
mod vote;

pub(crate) use check::{check, is_unchecked, status};
pub(crate) use objections::{by_status, changes, counts, given_up, head, point, table, title, why_open};
pub(crate) use participants::{agents, everybody, judge, prompts, settings};
pub(crate) use usage::{ending, extent, scores, usage};
pub(crate) use verdict::{
    alike, change, confidence, grounds, heat, partly_fulfilled, remaining, status_line, strongest_followed,
    strongest_open, verdict, won,
};
pub(crate) use vote::{agreement, arguments, challenged, elected, material, polls, team, vote};
