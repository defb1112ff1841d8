//! From a stream of events to an answer: when it is complete, when it has ended early, when it has gone silent.

use serde::de::IgnoredAny;

use crate::llm::{Live, ModelError};

use super::ApiAnswer;
use super::sse::{Event, EventParser, looks_like_events};
use super::transport::{Answer, Streamed, broken};

/// What servers send behind the last event of either API.
pub(super) const DONE: &str = "[DONE]";

/// An answer that comes in pieces.
pub(super) trait Pieces: Default {
    /// What they come to.
    type Whole: ApiAnswer;
    /// Takes in an event, and tells `say` what it adds to the text; nothing, where it adds tokens elsewhere.
    fn take(&mut self, event: &Event, say: &mut dyn FnMut(&str));
    /// How far the answer is.
    fn course(&self) -> Course;
    /// What has come in.
    fn into_whole(self) -> Self::Whole;
}

/// How far an answer is that comes in pieces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Course {
    /// More of it must come: where it ends now, it ends early.
    Open,
    /// All of it is there, but its figures may follow.
    Complete,
    /// Nothing follows.
    Closed,
}

/// What a server made of the wish for a stream.
pub(super) enum Followed<P> {
    /// Events, and how they ended.
    Pieces(P, Result<(), ModelError>),
    /// An answer as a whole, under a false name.
    Whole(Answer),
}

/// Reads a stream to its end. Until its first token a stream may be silent for as long as the caller waits; from then on
/// whatever a server sends is a sign of life, comments too: while a model thinks, some send nothing else.
pub(super) async fn follow<P: Pieces>(streamed: &mut Streamed, live: Live<'_>) -> Followed<P> {
    let (mut parser, mut pieces) = (EventParser::default(), P::default());
    let (mut is_first, mut has_begun) = (true, false);
    let ended = loop {
        let patience = has_begun.then_some(live.timeouts.idle);
        let chunk = match streamed.next(patience).await {
            Ok(Some(chunk)) => chunk,
            Ok(None) => break Ok(()),
            Err(error) => break Err(error),
        };
        let text = chunk.trim_ascii_start();
        if is_first && text.starts_with(b"{") {
            return match streamed.rest(chunk, patience).await {
                Ok(answer) => Followed::Whole(answer),
                Err(error) => Followed::Pieces(pieces, Err(error)),
            };
        }
        is_first &= text.is_empty();
        for event in parser.push(&chunk) {
            if is_damaged(&event) {
                return Followed::Pieces(pieces, Err(damaged()));
            }
            pieces.take(&event, &mut |text| {
                has_begun = true;
                live.listener.hear(text);
            });
            if pieces.course() == Course::Closed {
                return Followed::Pieces(pieces, Ok(()));
            }
        }
    };
    if let Some(event) = parser.finish().filter(|event| ended.is_ok() && !is_damaged(event)) {
        pieces.take(&event, &mut |text| live.listener.hear(text));
    }
    // What breaks behind the end of the answer breaks nothing of it.
    let ended = if pieces.course() == Course::Open { ended.and_then(|()| Err(ended_early())) } else { Ok(()) };
    Followed::Pieces(pieces, ended)
}

/// The pieces in a body that came as a whole, where there are any: some servers call a stream something else.
pub(super) fn pieces_in<P: Pieces>(body: &[u8]) -> Option<Result<P, ModelError>> {
    looks_like_events(body).then(|| {
        let (mut parser, mut pieces) = (EventParser::default(), P::default());
        let events = parser.push(body);
        for event in events.into_iter().chain(parser.finish()) {
            if is_damaged(&event) {
                return Err(damaged());
            }
            if pieces.course() != Course::Closed {
                pieces.take(&event, &mut |_| {});
            }
        }
        if pieces.course() == Course::Open { Err(ended_early()) } else { Ok(pieces) }
    })
}

/// What is no JSON at all is something that nobody expects, and passed over; what began as JSON was a piece.
fn is_damaged(event: &Event) -> bool {
    event.data.starts_with('{') && serde_json::from_str::<IgnoredAny>(&event.data).is_err()
}

fn damaged() -> ModelError {
    broken("a piece of the stream is not JSON")
}

fn ended_early() -> ModelError {
    broken("the stream ended before the answer did")
}
