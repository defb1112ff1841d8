//! How large the program is.

use crate::Row;

pub(crate) fn rows() -> Result<Vec<Row>, String> {
    let program = std::fs::metadata(env!("CARGO_BIN_EXE_dialectic"));
    let bytes = program.map_err(|error| format!("the program cannot be found: {error}"))?.len();
    let tenths = bytes / 100_000;
    Ok(vec![Row::new(
        "size of the release binary, stripped",
        format!("{}.{} MB", tenths / 10, tenths % 10),
        "<= 16 MB",
    )])
}
