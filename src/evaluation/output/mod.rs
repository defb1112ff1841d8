//! The formats of evaluations. They return text; the caller writes it.

mod csv;
mod json;
mod markdown;

pub use self::csv::{LineEnd, csv_rows, is_csv_header};
pub use json::json;
pub use markdown::{markdown, table};

/// Shown for a missing score.
const NOT_SCORED: &str = "N/A";
