//! What the nodes of the protocols do. Each returns the event that the protocol's table goes on from, and does
//! nothing twice: what the record already holds of its work is kept.

mod clarification;
mod evaluation;
mod phase;
mod round_manager;
mod summarization;
mod synthesis;

use crate::debate::{Node, Phase};
use crate::protocol::Trigger;

use super::{Engine, EngineError};

/// Does the work of `node`.
pub(super) async fn run(engine: &mut Engine, node: Node) -> Result<Trigger, EngineError> {
    match node {
        // The record was created, and every model's key and endpoint checked, before the engine was made.
        Node::Initialization => Ok(Trigger::Start),
        Node::Clarification => clarification::run(engine).await,
        Node::ClarificationInput => Ok(clarification::input(engine)),
        Node::RoundManager => round_manager::run(engine),
        Node::Summarization => summarization::run(engine).await,
        Node::Proposal => phase::run(engine, Phase::Proposal).await,
        Node::Critique => phase::run(engine, Phase::Critique).await,
        Node::Refinement => phase::run(engine, Phase::Refinement).await,
        Node::Evaluation => evaluation::run(engine).await,
        Node::Synthesis => synthesis::run(engine).await,
    }
}
