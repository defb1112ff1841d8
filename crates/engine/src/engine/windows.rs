//! Checks whether prompts fit into the models' context windows.
//!
//! Tokens can only be estimated from characters, so there are two bounds: prompts that certainly do not fit are refused
//! before anything is paid, and those that probably do not cause a warning. The debate handles the rest: it shortens
//! the judge's texts if they are probably too long, or if a server says so.

use crate::agent::limits_of;
use dialectic_base::figures::{thousands, tokens};
use dialectic_llm::{ANSWER_LIMIT, Request, request_bytes};
use dialectic_record::debate::{AgentSettings, DebateSettings, PlannedCall, Settings};

use super::forecast::BYTES_PER_TOKEN;

/// An upper bound for bytes per token: prose has four to five, code three.
const MOST_BYTES_PER_TOKEN: f64 = 8.0;

/// A problem or prompt that does not fit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WindowError {
    #[error(
        "the {phase} of {agent} is too long: its prompt has at least {}, and the context window of `{model}` is {}",
        tokens(*least), thousands(*window)
    )]
    Prompt {
        /// The agent of the call.
        agent: String,
        phase: &'static str,
        model: String,
        /// The model's context window in tokens.
        window: u64,
        /// The minimum length of the prompt in tokens.
        least: u64,
    },
    #[error(
        "the problem is too long: it has about {} ({} characters), and the context window of `{model}` is {}",
        tokens(*length), thousands(*characters), thousands(*window)
    )]
    Problem {
        /// The model with the smallest window.
        model: String,
        /// Its context window in tokens.
        window: u64,
        /// The likely length of the problem in tokens.
        length: u64,
        characters: u64,
    },
}

/// The number of rounds after which prompts stop growing: shown histories are bounded.
const TELLING_ROUNDS: u32 = 3;
/// An upper estimate for the tokens of a prompt without the problem and the agents' texts.
const FRAME: u64 = 40_000;

/// The number of rounds to simulate if it is unclear whether prompts fit; `None` if there is plenty of room, or no
/// known window.
pub fn telling_rounds(settings: &Settings, given_bytes: usize) -> Option<u32> {
    let everybody = settings.everybody();
    let narrowest = everybody.filter_map(|agent| limits_of(agent, settings).context_window).min()?;
    let rounds = settings.debate.rounds.min(TELLING_ROUNDS);
    let agents = settings.agents.len() as u64;
    // Proposals, critiques and refinements of every round, at the maximum length of a forecast.
    let written = u64::from(rounds) * agents * (agents + 1) * u64::from(ANSWER_LIMIT);
    let most = given_bytes as u64 / 2 + FRAME + written;
    (most > narrowest).then_some(rounds)
}

/// Checks that the problem fits into the smallest known context window of the panel. It is far too long if a usual
/// estimate says so, since every prompt contains more than the problem.
///
/// # Errors
/// It does not.
pub fn check_problem(problem: &str, settings: &Settings) -> Result<(), WindowError> {
    let known = settings.everybody().filter_map(|agent| Some((limits_of(agent, settings).context_window?, agent)));
    let Some((window, agent)) = known.min_by_key(|(window, _)| *window) else { return Ok(()) };
    // Characters, since bytes would overestimate scripts with long encodings.
    let characters = problem.chars().count() as u64;
    let length = scaled(characters, 1.0 / BYTES_PER_TOKEN.low);
    if length <= window {
        return Ok(());
    }
    Err(WindowError::Problem { model: agent.model.clone(), window, length, characters })
}

/// Compares each planned call with its model's context window. Returns a warning for each model that probably cannot
/// read its whole prompt.
///
/// # Errors
/// The first call that certainly does not fit.
pub fn check_windows(calls: &[PlannedCall], settings: &Settings) -> Result<Vec<String>, WindowError> {
    let mut worst: Vec<(&PlannedCall, &AgentSettings, u64, u64)> = Vec::new();
    for call in calls {
        let everybody = settings.everybody();
        let Some(agent) = everybody.into_iter().find(|agent| agent.id == call.key.agent_id) else { continue };
        let Some(window) = limits_of(agent, settings).context_window else { continue };
        let least = scaled(call.input.low, BYTES_PER_TOKEN.low / MOST_BYTES_PER_TOKEN);
        if least > window {
            return Err(WindowError::Prompt {
                agent: agent.id.to_string(),
                phase: call.key.stage.as_str(),
                model: agent.model.clone(),
                window,
                least,
            });
        }
        // The geometric mean of short and long answers. Most windows also hold the answer.
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
            "the context window of `{}` has {} tokens, and the {} of {} will probably have about {}: use \
                 a model with a larger one, a shorter problem, fewer agents or rounds; or correct the figure \
                 (`models.<name>.contextWindow`)",
            agent.model,
            thousands(window),
            call.key.stage.as_str(),
            agent.id,
            thousands(probable),
        )
    };
    Ok(worst.into_iter().map(warning).collect())
}

/// The bytes of a change that a prompt can show: half of the smallest context window. Instructions, findings, files that
/// readers open, and answers need the rest. An unknown window is assumed to hold as much as attachments may have.
pub fn room_for_change(settings: &Settings) -> usize {
    let room = |agent: &AgentSettings| {
        let window = limits_of(agent, settings).context_window?;
        usize::try_from(scaled(window / 2, BYTES_PER_TOKEN.high)).ok()
    };
    let rooms = settings.everybody().map(|agent| room(agent).unwrap_or(DebateSettings::ATTACHMENT_LIMIT));
    rooms.min().unwrap_or(DebateSettings::ATTACHMENT_LIMIT)
}

/// The fraction of a window reserved for an answer without a limit.
const ANSWERS_PART: u64 = 4;

/// The estimated characters by which `request` and its answer exceed a `window` in tokens; the model writes at most
/// `max_output`.
pub(super) fn excess(request: &Request, window: u64, max_output: Option<u32>) -> usize {
    let usual = || u64::from(max_output.unwrap_or(ANSWER_LIMIT).min(ANSWER_LIMIT)).min(window / ANSWERS_PART);
    let answer = request.max_tokens.map_or_else(usual, u64::from);
    let bytes = request_bytes(request) as u64;
    let held = scaled(window.saturating_sub(answer), (BYTES_PER_TOKEN.low * BYTES_PER_TOKEN.high).sqrt());
    let over = usize::try_from(bytes.saturating_sub(held)).unwrap_or(usize::MAX);
    // Omissions are counted in characters, whose size in bytes depends on the script.
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
