//! What a running debate shows of itself.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;

use dialectic_base::call::Tokens;
use dialectic_base::figures::counted;
use dialectic_base::money::Usd;

use super::{CallKey, Event, Ledger, Move, Recorded, StageId, StageInfo, Tally};

/// What a running debate shows: its recorded events, each already in the journal when it is shown, and what passes
/// and is not kept. The live block, the plain lines and the NDJSON stream are consumers of this one stream.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "signal", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum Signal {
    /// An event that is in the journal.
    Recorded(Arc<Recorded>),
    /// The calls of a stage have begun.
    #[serde(rename = "phase-started")]
    StageStarted {
        /// Which.
        #[serde(rename = "phase")]
        stage: StageId,
        /// In which round.
        round: u32,
        /// How many calls or carried-over results it takes.
        total: usize,
    },
    /// All that a stage calls for is there, or has failed.
    #[serde(rename = "phase-ended")]
    StageEnded {
        /// Which.
        #[serde(rename = "phase")]
        stage: StageId,
        /// In which round.
        round: u32,
        /// How many results there are.
        done: usize,
        /// How many are missing.
        failed: usize,
    },
    /// The last stage of a round was left.
    RoundEnded {
        /// Which round.
        round: u32,
        /// What became of its points; absent where it had none.
        #[serde(skip_serializing_if = "Option::is_none")]
        points: Option<Tally>,
        /// What each author made of the points against its text.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        moves: Vec<Move>,
    },
    /// A model is being called.
    CallStarted {
        /// For what.
        key: CallKey,
        /// Which model.
        model: String,
        /// The prompt, if traces are to carry it. It goes nowhere else.
        #[serde(skip)]
        asked: Option<CallDescription>,
    },
    /// More of an answer has come in. Sent only where a person watches, at most once in 100 ms for each call.
    Words {
        /// Of which call.
        key: CallKey,
        /// What follows on the words before. After a [`CallRetrying`](Self::CallRetrying) the answer begins anew.
        text: String,
    },
    /// An attempt failed and will be repeated.
    CallRetrying {
        /// Which call.
        key: CallKey,
        /// Attempts made so far.
        attempt: u32,
        /// What went wrong.
        error: String,
        /// How long until the next.
        #[serde(rename = "waitMs", serialize_with = "millis")]
        wait: Duration,
    },
    /// A call has come back.
    CallEnded {
        /// Which.
        key: CallKey,
        /// How long it took, in milliseconds.
        latency_ms: u64,
        /// Its tokens; absent when it failed or the server reports none.
        tokens: Option<Tokens>,
        /// Its cost; absent when unknown.
        cost_usd: Option<Usd>,
        /// What went wrong; absent when nothing did.
        error: Option<String>,
        /// Whether it is made again when its server, which is gone, is back.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        waits_for_server: bool,
    },
    /// The debate cannot go on without a server that is gone: it looks for that, or pauses.
    ServerGone {
        /// How many calls wait.
        calls: usize,
        /// What the last of them ended with.
        error: String,
        /// Whether the server is there, and what a subscription allows is used up.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        is_limit: bool,
    },
    /// The server is back, and the debate goes on.
    ServerBack,
    /// Something that the user should know.
    Warning {
        /// What.
        message: String,
        /// The call whose failure it tells of, which is recorded next: a view that shows that has shown this.
        #[serde(skip)]
        failed: Option<CallKey>,
    },
}

impl Signal {
    /// What the user should know, if this says such a thing.
    pub fn warning(&self) -> Option<Cow<'_, str>> {
        match self {
            Self::Warning { message, .. } => Some(message.into()),
            Self::Recorded(recorded) => {
                let Event::CostWarned { usd, limit } = recorded.event else { return None };
                Some(format!("this debate has cost {usd}, which reaches the warning limit of {limit}").into())
            }
            Self::ServerGone { calls, error, is_limit } => {
                let what = if *is_limit { "out of usage" } else { "server unreachable" };
                Some(format!("{what}, {} waiting: {error}", counted(*calls as u64, "call")).into())
            }
            Self::ServerBack
            | Self::StageStarted { .. }
            | Self::StageEnded { .. }
            | Self::RoundEnded { .. }
            | Self::CallStarted { .. }
            | Self::Words { .. }
            | Self::CallRetrying { .. }
            | Self::CallEnded { .. } => None,
        }
    }

    /// The end of a round, with the ledger as it is then.
    pub fn round_ended(round: u32, ledger: &Ledger) -> Self {
        Self::RoundEnded { round, points: ledger.tally(round), moves: ledger.moves_in(round).cloned().collect() }
    }
}

/// Tells from the events of a debate when a round ends.
#[derive(Debug, Clone, Copy, Default)]
pub struct RoundInProgress(Option<u32>);

impl RoundInProgress {
    /// Of a debate that has come so far.
    pub fn of(events: &[Recorded], stages: &[StageInfo]) -> Self {
        let mut round = Self::default();
        for recorded in events {
            round.ended_by(&recorded.event, stages);
        }
        round
    }

    /// The round that ends with `event`, if one does.
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

/// What a model is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallDescription {
    /// The system text.
    pub system: Arc<str>,
    /// The user's text.
    pub prompt: Arc<str>,
}

fn millis<S: serde::Serializer>(wait: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(u64::try_from(wait.as_millis()).unwrap_or(u64::MAX))
}
