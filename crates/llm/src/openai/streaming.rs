//! Turns a stream of events into an answer, and detects its completion, early end or silence.

use std::time::Duration;

use serde::de::IgnoredAny;
use serde_json::Value;
use tokio::time::Instant;

use crate::{Listener, Live, ModelError};

use super::ApiAnswer;
use super::reasoning::Spoken;
use super::sse::{EventParser, ServerSentEvent, looks_like_events};
use super::text::Mender;
use super::transport::{HttpAnswer, Streamed, broken};

/// The last line of a stream in either API.
pub(super) const DONE: &str = "[DONE]";

/// How long to wait for the figures after the answer.
const USAGE_TIMEOUT: Duration = Duration::from_secs(10);

/// A streamed answer.
pub(super) trait Pieces: ApiAnswer + Default {
    /// Reads an event that only contains words, as nearly all do, and passes them to `sink`; returns whether it was
    /// one. Runs for every word of a debate.
    fn take_words(&mut self, event: &ServerSentEvent<'_>, sink: &mut TextSink<'_>) -> bool;
    /// Reads any event, and passes its words to `sink`.
    fn take(&mut self, event: &ServerSentEvent<'_>, sink: &mut TextSink<'_>);
    /// The progress of the answer.
    fn completeness(&self) -> Completeness;
    /// The received answer, as the API returns it without streaming.
    fn into_whole(self) -> Value;
}

/// Receives an answer as it arrives.
pub(super) struct TextSink<'a> {
    listener: Option<&'a dyn Listener>,
    spoken: Spoken,
    has_begun: bool,
}

impl<'a> TextSink<'a> {
    /// Passes on words, and empty text for other tokens.
    pub(super) fn new(listener: Option<&'a dyn Listener>, spoken: Spoken) -> Self {
        Self { listener, spoken, has_begun: false }
    }

    /// Receives `text`, which may be leading reasoning.
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

    /// Receives tokens without text, which show that the model is working.
    pub(super) fn work(&mut self) {
        self.has_begun = true;
        pass_on(self.listener, "");
    }

    /// Receives reasoning that the server has separated.
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

/// The progress of a streamed answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Completeness {
    /// More must follow: an end here would be early.
    Open,
    /// The text is complete, but figures may follow.
    Complete,
    /// Nothing follows.
    Closed,
}

/// The server's response to a request for a stream.
pub(super) enum StreamOutcome<P> {
    /// Events, and how they ended.
    Pieces(P, Result<StreamEnding, ModelError>),
    /// A complete answer, despite its content type.
    Whole(HttpAnswer),
}

/// How a complete stream ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StreamEnding {
    /// Regularly.
    Regular,
    /// The connection broke after the answer, possibly before its figures.
    Broken,
}

/// Reads a stream to its end. The caller limits the time until the first token; after that any data counts as a sign of
/// life, even comments, since some servers send nothing else while a model thinks.
pub(super) async fn follow<P: Pieces>(streamed: &mut Streamed, live: Live<'_>, spoken: Spoken) -> StreamOutcome<P> {
    let (mut parser, mut pieces) = (EventParser::default(), P::default());
    let (mut sink, mut mender) = (TextSink::new(Some(live.listener), spoken), Mender::default());
    let (mut is_first, mut idle, mut heard) = (true, None, Instant::now());
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
            heard = Instant::now();
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
            // Comments would keep a connection open forever: only events count.
            Completeness::Complete | Completeness::Closed => {
                let left = live.timeouts.idle.min(USAGE_TIMEOUT).saturating_sub(heard.elapsed());
                if left.is_zero() {
                    break Err(broken("no figures followed the answer"));
                }
                Some(left)
            }
        };
    };
    if let Some(event) = parser.finish().filter(|_| ended.is_ok() && pieces.completeness() != Completeness::Closed) {
        // A partial event adds nothing; missing parts are detected below.
        let _ = take(&mut pieces, event, &mut sink, &mut mender);
    }
    sink.finish();
    let ended = match (pieces.completeness(), ended) {
        (Completeness::Open, ended) => ended.and_then(|_| Err(ended_early())),
        (Completeness::Complete | Completeness::Closed, Ok(ending)) => Ok(ending),
        // A failure after the end does not affect the answer.
        (Completeness::Complete | Completeness::Closed, Err(_)) => Ok(StreamEnding::Broken),
    };
    StreamOutcome::Pieces(pieces, ended)
}

/// The events in a complete body, if any: some servers send them with another content type.
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

/// Passes an event to the answer, which skips data that is not JSON. Broken JSON is a broken piece.
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
        return Err(broken("a chunk of the stream is not JSON"));
    }
    pieces.take(&ServerSentEvent { data: &data, ..event }, sink);
    Ok(())
}

fn ended_early() -> ModelError {
    broken("the stream ended before the answer did")
}
