//! How long a debate has to take, given how long each of its calls took.
//!
//! The server marks each reply, so a later prompt tells which replies it was made from.

use std::time::Duration;

use crate::support::{Exchange, Purpose};

const MARKER: &str = "[REPLY-";

/// What the text of the reply to the request with that index begins with.
pub(crate) fn marker(index: usize) -> String {
    format!("{MARKER}{index}]")
}

/// Whether a round waits for all of the round before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Barrier {
    /// As the protocol says: a round begins when the one before it is complete, and after its summaries.
    Rounds,
    /// A call begins when the texts that its prompt holds are there.
    None,
}

/// The longest chain of calls that wait for each other.
///
/// # Errors
/// When it cannot be told what a call was for.
pub(crate) fn critical_path(exchanges: &[Exchange], barrier: Barrier) -> Result<Duration, String> {
    let mut calls: Vec<Call> = Vec::with_capacity(exchanges.len());
    for exchange in exchanges {
        let call = Call::of(exchange, &calls)?;
        calls.push(call);
    }
    // What a prompt holds was answered before, so this order has every call after those that it waits for.
    let mut order: Vec<usize> = (0..calls.len()).collect();
    order.sort_by_key(|index| (calls[*index].round, calls[*index].stage(), *index));
    let mut ends = vec![Duration::ZERO; calls.len()];
    // The end of everything before the stage, and of the stage so far.
    let (mut before, mut latest, mut stage) = (Duration::ZERO, Duration::ZERO, None);
    for index in order {
        let call = &calls[index];
        if stage != Some((call.round, call.stage())) {
            (before, stage) = (latest, Some((call.round, call.stage())));
        }
        let is_beside = call.purpose == Purpose::Summarize && is_for_the_judge(index, &calls);
        let needed = call.made_from.iter().map(|needed| ends[*needed]).max().unwrap_or_default();
        let start = if barrier == Barrier::Rounds { needed.max(before) } else { needed };
        ends[index] = start + call.latency;
        if !is_beside {
            latest = latest.max(ends[index]);
        }
    }
    Ok(latest)
}

/// Whether the reply is shown to the judge alone: its summary of what came before is made beside the last round, which
/// does not wait for it.
fn is_for_the_judge(index: usize, calls: &[Call]) -> bool {
    let mut readers = calls.iter().filter(|call| call.made_from.contains(&index)).peekable();
    readers.peek().is_some() && readers.all(|reader| matches!(reader.purpose, Purpose::Synthesize | Purpose::Assess))
}

struct Call {
    purpose: Purpose,
    round: usize,
    /// The calls whose replies are in the prompt.
    made_from: Vec<usize>,
    latency: Duration,
}

impl Call {
    fn of(exchange: &Exchange, earlier: &[Self]) -> Result<Self, String> {
        let request = &exchange.request;
        let made_from = mentioned(&request.text());
        if let Some(unknown) = made_from.iter().find(|index| **index >= earlier.len()) {
            return Err(format!("request {} holds reply {unknown}, which came later", request.index));
        }
        let newest = |purpose: Purpose| {
            let found = made_from.iter().map(|index| &earlier[*index]).filter(|call| call.purpose == purpose);
            found.map(|call| call.round).max().unwrap_or(0)
        };
        let round = match request.purpose {
            Purpose::Propose | Purpose::Critique | Purpose::Summarize => newest(Purpose::Refine) + 1,
            // Of the round that it looks back on.
            Purpose::Confidence => newest(Purpose::Refine),
            Purpose::Refine => newest(Purpose::Critique),
            Purpose::Clarify => 0,
            // After everything: these may be made from a summary alone.
            Purpose::Vote | Purpose::Synthesize | Purpose::Assess => usize::MAX,
            Purpose::Evaluate | Purpose::Text => {
                return Err(format!("cannot tell what request {} was for", request.index));
            }
        };
        // A critique that shows a summary of this round instead of its refinements belongs to it too.
        let round = if request.purpose == Purpose::Critique { round.max(newest(Purpose::Summarize)) } else { round };
        let latency = exchange.took().ok_or_else(|| format!("request {} was never answered", request.index))?;
        Ok(Self { purpose: request.purpose, round, made_from, latency })
    }

    /// Summaries come before what uses them, scores after what they are about, a vote before the judge.
    fn stage(&self) -> u8 {
        match self.purpose {
            Purpose::Summarize | Purpose::Vote => 0,
            Purpose::Confidence => 2,
            _ => 1,
        }
    }
}

fn mentioned(text: &str) -> Vec<usize> {
    let numbers = text.split(MARKER).skip(1).filter_map(|rest| rest.split_once(']')?.0.parse().ok());
    let mut indices: Vec<usize> = numbers.collect();
    indices.sort_unstable();
    indices.dedup();
    indices
}
