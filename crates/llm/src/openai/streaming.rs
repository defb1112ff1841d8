//! From a stream of events to an answer: when it is complete, when it has ended early, when it has gone silent.

use std::time::Duration;

use serde::de::IgnoredAny;

use crate::{Listener, Live, ModelError};

use super::ApiAnswer;
use super::reasoning::Spoken;
use super::sse::{EventParser, ServerSentEvent, looks_like_events};
use super::text::Mender;
use super::transport::{HttpAnswer, Streamed, broken};

/// What servers send after the last event of either API.
pub(super) const DONE: &str = "[DONE]";

/// How long the figures are waited for, once the answer is there.
const USAGE_TIMEOUT: Duration = Duration::from_secs(10);

/// An answer that comes in pieces.
pub(super) trait Pieces: Default {
    /// What they come to.
    type Whole: ApiAnswer;
    /// Takes in an event that brings words and nothing else, which nearly all of them are, and tells `sink`; whether it
    /// was one. This is done for every word of a debate.
    fn take_words(&mut self, event: &ServerSentEvent<'_>, sink: &mut TextSink<'_>) -> bool;
    /// Takes in any event, and tells `sink` what it adds.
    fn take(&mut self, event: &ServerSentEvent<'_>, sink: &mut TextSink<'_>);
    /// How far the answer is.
    fn completeness(&self) -> Completeness;
    /// What has come in.
    fn into_whole(self) -> Self::Whole;
}

/// Hears an answer while it comes in.
pub(super) struct TextSink<'a> {
    listener: Option<&'a dyn Listener>,
    spoken: Spoken,
    has_begun: bool,
}

impl<'a> TextSink<'a> {
    /// Passes on words, and the empty text for tokens that are no words of the answer.
    pub(super) fn new(listener: Option<&'a dyn Listener>, spoken: Spoken) -> Self {
        Self { listener, spoken, has_begun: false }
    }

    /// `text` has come in; it may be the reasoning that some models begin with.
    pub(super) fn say(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        self.has_begun = true;
        let (listener, mut is_heard) = (self.listener, false);
        self.spoken.take(text, &mut |words| {
            is_heard = true;
            pass_on(listener, words);
        });
        if !is_heard {
            pass_on(listener, "");
        }
    }

    /// Tokens have come in that are no text: they show that the model is at work.
    pub(super) fn work(&mut self) {
        self.has_begun = true;
        pass_on(self.listener, "");
    }

    /// Reasoning has come in, which the server tells apart from the text by itself.
    pub(super) fn reason(&mut self) {
        let listener = self.listener;
        self.spoken.is_told_apart(&mut |words| pass_on(listener, words));
        self.work();
    }

    fn finish(&mut self) {
        let listener = self.listener;
        self.spoken.finish(&mut |words| pass_on(listener, words));
    }
}

fn pass_on(listener: Option<&dyn Listener>, text: &str) {
    if let Some(listener) = listener {
        listener.on_token(text);
    }
}

/// How far an answer is that comes in pieces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Completeness {
    /// More of it must come: where it ends now, it ends early.
    Open,
    /// All of it is there, but its figures may follow.
    Complete,
    /// Nothing follows.
    Closed,
}

/// What a server made of the wish for a stream.
pub(super) enum StreamOutcome<P> {
    /// Events, and how they ended.
    Pieces(P, Result<StreamEnding, ModelError>),
    /// An answer as a whole, under a false name.
    Whole(HttpAnswer),
}

/// How a stream ended that brought all of its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StreamEnding {
    /// As it should.
    Regular,
    /// It broke after the answer, where its figures may have come.
    Broken,
}

/// Reads a stream to its end. Until its first token a stream may be silent for as long as the caller waits; from then
/// on whatever a server sends is a sign of life, comments too: while a model thinks, some send nothing else.
pub(super) async fn follow<P: Pieces>(streamed: &mut Streamed, live: Live<'_>, spoken: Spoken) -> StreamOutcome<P> {
    let (mut parser, mut pieces) = (EventParser::default(), P::default());
    let (mut sink, mut mender) = (TextSink::new(Some(live.listener), spoken), Mender::default());
    let (mut is_first, mut idle) = (true, None);
    let ended = 'stream: loop {
        let chunk = match streamed.next(idle).await {
            Ok(Some(chunk)) => chunk,
            Ok(None) => break Ok(StreamEnding::Regular),
            Err(error) => break Err(error),
        };
        if is_first {
            let text = chunk.trim_ascii_start();
            if text.starts_with(b"{") {
                return match streamed.rest(chunk.into(), idle).await {
                    Ok(answer) => StreamOutcome::Whole(answer),
                    Err(error) => StreamOutcome::Pieces(pieces, Err(error)),
                };
            }
            is_first = text.is_empty();
        }
        parser.push(&chunk);
        while let Some(event) = parser.next() {
            if let Err(error) = take(&mut pieces, event, &mut sink, &mut mender) {
                break 'stream Err(error);
            }
            if pieces.completeness() == Completeness::Closed {
                streamed.drain().await;
                break 'stream Ok(StreamEnding::Regular);
            }
        }
        idle = match pieces.completeness() {
            Completeness::Open => sink.has_begun.then_some(live.timeouts.idle),
            Completeness::Complete | Completeness::Closed => Some(live.timeouts.idle.min(USAGE_TIMEOUT)),
        };
    };
    if let Some(event) = parser.finish().filter(|_| ended.is_ok() && pieces.completeness() != Completeness::Closed) {
        // An event that was cut in two adds nothing; whether anything is missing is said below.
        let _ = take(&mut pieces, event, &mut sink, &mut mender);
    }
    sink.finish();
    let ended = match (pieces.completeness(), ended) {
        (Completeness::Open, ended) => ended.and_then(|_| Err(ended_early())),
        (Completeness::Complete | Completeness::Closed, Ok(ending)) => Ok(ending),
        // What breaks after the end of the answer breaks nothing of it.
        (Completeness::Complete | Completeness::Closed, Err(_)) => Ok(StreamEnding::Broken),
    };
    StreamOutcome::Pieces(pieces, ended)
}

/// The pieces in a body that came as a whole, where there are any: some servers call a stream something else.
pub(super) fn pieces_in<P: Pieces>(body: &[u8]) -> Option<Result<P, ModelError>> {
    looks_like_events(body).then(|| {
        let (mut parser, mut pieces) = (EventParser::default(), P::default());
        let (mut sink, mut mender) = (TextSink::new(None, Spoken::new(false)), Mender::default());
        parser.push(body);
        while let Some(event) = parser.next() {
            if pieces.completeness() != Completeness::Closed {
                take(&mut pieces, event, &mut sink, &mut mender)?;
            }
        }
        if let Some(event) = parser.finish()
            && pieces.completeness() != Completeness::Closed
        {
            take(&mut pieces, event, &mut sink, &mut mender)?;
        }
        if pieces.completeness() == Completeness::Open { Err(ended_early()) } else { Ok(pieces) }
    })
}

/// Hands an event to the pieces. What is no JSON at all is something that nobody expects, and theirs to pass over; what
/// began as JSON was a piece.
fn take(
    pieces: &mut impl Pieces,
    event: ServerSentEvent<'_>,
    sink: &mut TextSink<'_>,
    mender: &mut Mender,
) -> Result<(), ModelError> {
    if pieces.take_words(&event, sink) {
        return Ok(());
    }
    let data = mender.mend(event.data);
    if data.starts_with('{') && serde_json::from_str::<IgnoredAny>(&data).is_err() {
        return Err(broken("a piece of the stream is not JSON"));
    }
    pieces.take(&ServerSentEvent { data: &data, ..event }, sink);
    Ok(())
}

fn ended_early() -> ModelError {
    broken("the stream ended before the answer did")
}
