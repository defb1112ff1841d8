//! What a user sees of a debate while it runs, and how text of any origin gets onto a terminal.
//!
//! [`run`] consumes the signals of a running debate and shows them: as a live block on a terminal, as plain lines
//! elsewhere, and as NDJSON for programs. It knows the record (`crate::debate`) and nothing else of the program: it
//! never reads the environment, never ends the process, and takes a closed stream for what it is rather than panic.

mod activity;
mod forecast;
mod live;
mod markdown;
mod ndjson;
mod notice;
mod panel;
mod plain;
mod progress;
mod replay;
mod run;
mod sanitize;
mod screen;
mod summary;
mod table;
mod words;

#[cfg(test)]
mod fixture;

pub use forecast::forecast;
pub use markdown::render_markdown;
pub use ndjson::{EventSink, EventSinkError};
pub use notice::{ColorMode, Notices};
pub use panel::{PanelInfo, Participant, Spent};
pub use progress::{Busy, CallInFlight, PhaseProgress, Progress, Retry};
pub use replay::{Speed, play};
pub use run::{DisplayEnd, DisplayOptions, ProgressMode, run};
pub use sanitize::{one_line, sanitize};
pub use summary::{roster, summary};
pub use words::WordsSoFar;
