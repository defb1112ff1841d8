//! dialectic
pub mod config;
pub mod debate;
pub mod display;
pub mod llm;
pub mod markdown;
