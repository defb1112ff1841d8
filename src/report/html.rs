//! The report as one self-contained page.

use super::View;

/// The report of a debate as an HTML page.
#[must_use]
pub fn html(_view: &View<'_>) -> String {
    String::new()
}
