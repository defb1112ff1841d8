//! What is shown and written of a debate. Both know the record and its signals, and no protocol.
//!
//! | module | what it does |
//! | --- | --- |
//! | [`display`] | shows a running debate: live block, plain lines, NDJSON, summary |
//! | [`report`] | what is written about a debate: Markdown and HTML, from one view of it |

pub mod display;
pub mod report;
