//! What an evaluation is written as. Functions from results to text; where it goes is the caller's business.

mod csv;
mod json;
mod markdown;

pub use self::csv::{LineEnd, csv_rows, is_csv_header};
pub use json::json;
pub use markdown::{markdown, table};

/// What stands where nothing was scored.
const NOT_SCORED: &str = "N/A";
