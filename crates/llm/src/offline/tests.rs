//! Whole debates by hand, with prompts as the templates make them.

mod streaming;
