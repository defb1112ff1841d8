//! The subjects of a report, as blocks that every format renders.

mod objections;
mod run;
mod verdict;
mod vote;

pub(crate) use objections::{
    by_status, changes, check, counts, given_up, head, is_unchecked, point, status, table, title, why_open,
};
pub(crate) use run::{agents, ending, everybody, extent, judge, prompts, scores, settings, usage};
pub(crate) use verdict::{
    alike, change, confidence, grounds, heat, partly_fulfilled, remaining, status_line, strongest_followed,
    strongest_open, verdict, won,
};
pub(crate) use vote::{agreement, arguments, challenged, elected, material, polls, team, vote};
