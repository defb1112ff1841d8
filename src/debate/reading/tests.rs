//! Focused tests of the reader.
