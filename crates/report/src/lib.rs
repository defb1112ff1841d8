//! Displays and reports of a debate. Both depend on the record and its signals, not on protocols.
//!
//! | module | contents |
//! | --- | --- |
//! | [`display`] | the display of a running debate: live block, plain lines, NDJSON, summary |
//! | [`report`] | reports in Markdown, HTML, and formats for other programs |

pub mod display;
pub mod report;
