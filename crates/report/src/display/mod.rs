//! Displays a running debate from its signals (`dialectic_record::live`), on separate threads, so that a stalled reader
//! does not delay the debate.
//!
//! This module depends on the record (`dialectic_record::debate`) and on `crate::report`, but not on the engine. It
//! must not read the environment, end the process, or panic on closed streams.

mod blocks;
mod events;
mod footer;
mod forecast;
mod layout;
mod live;
mod markdown;
mod notice;
mod result;
mod screen;
mod summary;
mod told;
mod view;

#[cfg(test)]
mod tests;

pub use blocks::{objections, story};
pub use events::{EventSink, EventSinkError, EventStream, StreamEnd, event_line};
pub use footer::{essence, footer, gist};
pub use forecast::{forecast, price_tag, purchase};
pub use layout::{Layout, StyledText, Table, TableColumn};
pub use markdown::render_markdown;
pub use notice::{ColorMode, Notices};
pub use summary::{participants, summary};
pub use view::{DisplayOptions, KeysMeaning, LiveView, Messages, ProgressMode, play};
