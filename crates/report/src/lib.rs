//! Displays and reports of a debate. Both depend on the record and its signals, not on protocols.
//!
//! | module | what it does |
//! | --- | --- |
//! | [`display`] | shows a running debate: live block, plain lines, NDJSON, summary |
//! | [`report`] | writes about a debate in Markdown and HTML, from one view of it |

pub mod display;
pub mod report;
