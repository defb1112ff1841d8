//! dialectic
pub mod agent;
pub mod cli;
pub mod config;
pub mod debate;
pub mod display;
pub mod engine;
pub mod error;
pub mod llm;
pub mod markdown;
pub mod prompt;
pub mod protocol;
pub mod store;
pub mod trace;
