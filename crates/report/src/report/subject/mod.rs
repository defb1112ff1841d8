//! The subjects of a report, as blocks that every format renders.

mod objections;
mod run;
mod verdict;
mod vote;

pub(crate) use objections::{
    alike, by_status, change, changes, check, counts, given_up, grounds, head, heat, point, status, status_line,
    strongest_followed, strongest_open, table, title, why_open,
};
pub(crate) use run::{agents, ending, everybody, extent, judge, prompts, scores, settings, usage};
pub(crate) use verdict::{confidence, partly_fulfilled, remaining, verdict, won};
pub(crate) use vote::{agreement, arguments, challenged, elected, material, polls, team, vote};
