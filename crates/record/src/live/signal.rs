//! The signals of a running debate. Only recorded events are also in the journal.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;

use dialectic_base::call::Tokens;
use dialectic_base::figures::counted;
use dialectic_base::money::Usd;

use super::Progress;
use crate::event::{Event, Recorded};
use crate::ids::{CallKey, StageId, StageInfo};
use crate::points::{Ledger, Move, Tally};

/// What is published while a debate runs: a recorded event or a transient message. The live view, plain output and the
/// NDJSON stream are made from signals.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "signal", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum Signal {
    /// An event that is already in the journal.
    Recorded(Arc<Recorded>),
    #[serde(rename = "phase-started")]
    StageStarted {
        #[serde(rename = "phase")]
        stage: StageId,
        round: u32,
        /// The number of results still to come, including those that need no call.
        total: usize,
    },
    #[serde(rename = "phase-ended")]
    StageEnded {
        #[serde(rename = "phase")]
        stage: StageId,
        round: u32,
        done: usize,
        failed: usize,
    },
    RoundEnded {
        round: u32,
        /// Absent if there are no points.
        #[serde(skip_serializing_if = "Option::is_none")]
        points: Option<Tally>,
        /// How each author reacted to the points against its text.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        moves: Vec<Move>,
    },
    CallStarted {
        key: CallKey,
        model: String,
        /// The prompt; present only for traces with content.
        #[serde(skip)]
        asked: Option<CallDescription>,
    },
    /// More text of an answer arrived. Sent only to subscribers that want words, at most every 100 ms per call.
    Words {
        key: CallKey,
        /// The next piece of text. After a [`CallRetrying`](Self::CallRetrying), the answer starts over.
        text: String,
    },
    CallRetrying {
        key: CallKey,
        /// The number of attempts so far.
        attempt: u32,
        error: String,
        #[serde(rename = "waitMs", serialize_with = "millis")]
        wait: Duration,
    },
    CallEnded {
        key: CallKey,
        latency_ms: u64,
        /// Absent if the call failed or the server reported no token counts.
        tokens: Option<Tokens>,
        /// Absent if unknown.
        cost_usd: Option<Usd>,
        error: Option<String>,
        /// Whether the call will be repeated once its server is reachable again.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        waits_for_server: bool,
    },
    /// A required server is unreachable, or a usage limit was reached. The debate waits or pauses.
    ServerGone {
        calls: usize,
        error: String,
        /// Whether a usage limit of the provider was reached, rather than the server being unreachable.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        is_limit: bool,
    },
    ServerBack,
    Warning {
        message: String,
        /// The failed call that this warning announces. The failure is recorded next, so a view need not show both.
        #[serde(skip)]
        failed: Option<CallKey>,
    },
    /// Replaces signals that were dropped because too many were queued. Received by subscribers, but never published.
    Gap(Box<Gap>),
}

#[derive(Debug, Clone, Serialize)]
pub struct Gap {
    /// The number of dropped signals that are lost: neither recorded nor kept in `warnings`.
    pub missed: u64,
    /// The last hundred dropped warnings. Print them only if the gap comes from a subscription: a follower also
    /// delivers them as signals.
    #[serde(skip)]
    pub warnings: VecDeque<Arc<Signal>>,
    /// The progress after the gap.
    #[serde(skip)]
    pub progress: Progress,
    /// The number of the last recorded event before the end of the gap.
    #[serde(skip)]
    pub recorded: u64,
}

impl Signal {
    pub fn warning(&self) -> Option<Cow<'_, str>> {
        match self {
            Self::Warning { message, .. } => Some(message.into()),
            Self::Recorded(recorded) => {
                let Event::CostWarned { usd, limit } = recorded.event else { return None };
                Some(format!("this debate has cost {usd} so far and reached the warning threshold of {limit}").into())
            }
            Self::ServerGone { calls, error, is_limit } => {
                let what = if *is_limit { "usage limit reached" } else { "server unreachable" };
                Some(format!("{what}, {} waiting: {error}", counted(*calls as u64, "call")).into())
            }
            Self::ServerBack
            | Self::StageStarted { .. }
            | Self::StageEnded { .. }
            | Self::RoundEnded { .. }
            | Self::CallStarted { .. }
            | Self::Words { .. }
            | Self::CallRetrying { .. }
            | Self::CallEnded { .. }
            | Self::Gap(_) => None,
        }
    }

    /// `ledger` contains the points at the end of the round.
    pub fn round_ended(round: u32, ledger: &Ledger) -> Self {
        Self::RoundEnded { round, points: ledger.tally(round), moves: ledger.moves_in(round).cloned().collect() }
    }
}

/// Tracks the number of the current round, `None` outside the rounds, because no event records the end of a round.
#[derive(Debug, Clone, Copy, Default)]
pub struct RoundInProgress(Option<u32>);

impl RoundInProgress {
    pub fn of(events: &[Recorded], stages: &[StageInfo]) -> Self {
        let mut round = Self::default();
        for recorded in events {
            round.ended_by(&recorded.event, stages);
        }
        round
    }

    /// The round that `event` ends, if any. Pass every event, in order.
    pub fn ended_by(&mut self, event: &Event, stages: &[StageInfo]) -> Option<u32> {
        match event {
            Event::RoundBegun { round, .. } => self.0.replace(*round),
            Event::StageEntered { stage } => {
                let is_outside = stages.iter().any(|known| known.id == *stage && !known.in_round);
                if is_outside { self.0.take() } else { None }
            }
            Event::Completed { .. } => self.0.take(),
            _ => None,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallDescription {
    pub system: Arc<str>,
    pub prompt: Arc<str>,
}

fn millis<S: serde::Serializer>(wait: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(u64::try_from(wait.as_millis()).unwrap_or(u64::MAX))
}
