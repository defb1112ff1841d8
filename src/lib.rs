//! dialectic
pub mod config;
pub mod debate;
pub mod llm;
pub mod markdown;
pub mod prompt;
