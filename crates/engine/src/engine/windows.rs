//! Whether the prompts of a debate fit into what its models read.
//!
//! Tokens can only be estimated from characters, so there are two measures: what surely does not fit is refused before
//! anything is paid, and what probably will not is warned of. A prompt that only might not fit is left to the debate,
//! which shortens what the judge reads if it is probably too long, or if a server says so.

use crate::agent::limits_of;
use dialectic_base::diagnostic::{Diagnostic, ErrorCategory};
use dialectic_base::figures::{thousands, tokens};
use dialectic_llm::{ANSWER_LIMIT, Request, request_bytes};
use dialectic_record::debate::{AgentSettings, PlannedCall, Settings};

use super::forecast::BYTES_PER_TOKEN;

/// Bytes of a token that no text for people reaches: prose has four to five, code three.
const MOST_BYTES_PER_TOKEN: f64 = 8.0;

/// A prompt that cannot fit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the {phase} of {agent} cannot be asked: its prompt has {} at least, and `{model}` reads {}",
    tokens(*least), thousands(*window)
)]
pub struct WindowError {
    /// Whose call.
    pub agent: String,
    /// Its phase.
    pub phase: &'static str,
    /// The model.
    pub model: String,
    /// What the model reads at most, in tokens.
    pub window: u64,
    /// What the prompt has at the very least, in tokens.
    pub least: u64,
}

impl Diagnostic for WindowError {
    fn blame(&self) -> ErrorCategory {
        ErrorCategory::Arguments
    }

    fn hint(&self) -> Option<String> {
        let hint = "use a model that reads more, or a shorter problem; if the figure is wrong, correct it with \
                    `models.<name>.contextWindow` in the configuration";
        Some(hint.to_owned())
    }
}

/// The number of rounds after which prompts have reached their full length: what is shown of finished rounds is
/// bounded.
const TELLING_ROUNDS: u32 = 3;
/// A generous figure for the tokens of a prompt besides the problem and the agents' texts.
const FRAME: u64 = 40_000;

/// The rounds after which prompts grow no longer, where `settings` and so many bytes of problem and attachments leave
/// it open whether all prompts fit; nothing where there is plenty of room, or no model whose window is known.
pub fn telling_rounds(settings: &Settings, given_bytes: usize) -> Option<u32> {
    let everybody = settings.agents.iter().chain([&settings.judge]);
    let narrowest = everybody.filter_map(|agent| limits_of(agent, settings).context_window).min()?;
    let rounds = settings.debate.rounds.min(TELLING_ROUNDS);
    let agents = settings.agents.len() as u64;
    // Proposals, critiques and refinements of every round, each as long as a forecast takes answers to be at most.
    let written = u64::from(rounds) * agents * (agents + 1) * u64::from(ANSWER_LIMIT);
    let most = given_bytes as u64 / 2 + FRAME + written;
    (most > narrowest).then_some(rounds)
}

/// Holds each planned call against its model's context window. Returns a warning for each model that probably cannot
/// read all that it is to be given.
///
/// # Errors
/// The first call that surely does not fit.
pub fn check_windows(calls: &[PlannedCall], settings: &Settings) -> Result<Vec<String>, WindowError> {
    let mut worst: Vec<(&PlannedCall, &AgentSettings, u64, u64)> = Vec::new();
    for call in calls {
        let everybody = settings.agents.iter().chain([&settings.judge]);
        let Some(agent) = everybody.into_iter().find(|agent| agent.id == call.key.agent_id) else { continue };
        let Some(window) = limits_of(agent, settings).context_window else { continue };
        let least = scaled(call.input.low, BYTES_PER_TOKEN.low / MOST_BYTES_PER_TOKEN);
        if least > window {
            return Err(WindowError {
                agent: agent.id.to_string(),
                phase: call.key.stage.as_str(),
                model: agent.model.clone(),
                window,
                least,
            });
        }
        // Answers lie between the short ones and the longest as rough figures do: in the middle by magnitude. Most
        // windows hold the answer too.
        let probable =
            call.input.low.saturating_mul(call.input.high).isqrt() + u64::from(agent.max_tokens.unwrap_or(0));
        if probable <= window {
            continue;
        }
        match worst.iter_mut().find(|(_, other, ..)| other.model == agent.model && other.provider == agent.provider) {
            Some(known) if known.3 < probable => *known = (call, agent, window, probable),
            Some(_) => {}
            None => worst.push((call, agent, window, probable)),
        }
    }
    let warning = |(call, agent, window, probable): (&PlannedCall, &AgentSettings, u64, u64)| {
        format!(
            "`{}` reads {} tokens at most, and the {} of {} will probably have about {}: take a model that reads more, \
             a shorter problem, fewer agents or rounds; or correct the figure (`models.<name>.contextWindow`)",
            agent.model,
            thousands(window),
            call.key.stage.as_str(),
            agent.id,
            thousands(probable),
        )
    };
    Ok(worst.into_iter().map(warning).collect())
}

/// The part of a window that is kept for an answer of unlimited length.
const ANSWERS_PART: u64 = 4;

/// By how many characters `request` and its answer probably exceed a window of so many tokens, for a model that writes
/// at most `max_output`.
pub(super) fn excess(request: &Request, window: u64, max_output: Option<u32>) -> usize {
    let usual = || u64::from(max_output.unwrap_or(ANSWER_LIMIT).min(ANSWER_LIMIT)).min(window / ANSWERS_PART);
    let answer = request.max_tokens.map_or_else(usual, u64::from);
    let bytes = request_bytes(request) as u64;
    let held = scaled(window.saturating_sub(answer), (BYTES_PER_TOKEN.low * BYTES_PER_TOKEN.high).sqrt());
    let over = usize::try_from(bytes.saturating_sub(held)).unwrap_or(usize::MAX);
    // What is left out is counted in characters, which have more bytes in some scripts than in others.
    let (prompt, characters) = (request.prompt.len().max(1), request.prompt.chars().count());
    over.saturating_mul(characters).div_ceil(prompt)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "token counts are far below 2^53, and the factor is not negative"
)]
fn scaled(count: u64, factor: f64) -> u64 {
    (count as f64 * factor) as u64
}
