//! Assembles an answer from a stream of events, and detects when the stream is complete, ends early or is idle.

use std::time::Duration;

use hyper::body::Bytes;
use serde::de::IgnoredAny;
use serde_json::Value;
use tokio::time::Instant;

use crate::{Live, ModelError, Reply, Request};

use super::capabilities::Capabilities;
use super::failure::error_field;
use super::lenient::{readable, tolerable, well_formed_piece};
use super::reasoning::TextSink;
use super::sse::{DONE, EventParser, ServerSentEvent, looks_like_events};
use super::transport::{HttpAnswer, Streamed, broken, is_event_stream};

const USAGE_TIMEOUT: Duration = Duration::from_secs(10);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Completeness {
    /// More events must follow; if the stream ends here, it ended early.
    Open,
    /// The text is complete, but usage may follow.
    Complete,
    /// Nothing follows.
    Closed,
}

pub(super) enum StreamOutcome<P> {
    /// The answer's events. `false` means that the connection broke after the answer, so usage may be missing.
    Pieces(P, Result<bool, ModelError>),
    /// A complete answer, whatever its content type.
    Whole(HttpAnswer),
}

/// Reads an answer to its end, and recognizes events whatever their content type. The caller limits the time until the
/// first token. After that, any data shows that the server is alive, even comments, because some servers send nothing
/// else while a model thinks. If `begins_within` is set, the model starts inside reasoning.
pub(super) async fn follow<P: ApiAnswer>(
    streamed: &mut Streamed,
    live: Live<'_>,
    begins_within: bool,
) -> StreamOutcome<P> {
    let (mut parser, mut pieces) = (EventParser::default(), P::default());
    let (mut sink, mut cut_off) = (TextSink::new(live.listener, begins_within), None);
    let start = streamed.head();
    let is_stream = start.status.is_success() && is_event_stream(&start);
    let (mut is_first, mut idle, mut heard) = (true, None, Instant::now());
    let ended = 'stream: loop {
        let chunk = if is_first && !is_stream {
            streamed.rest(Vec::new(), idle).await.map(|answer| Some(answer.body.into()))
        } else {
            streamed.next(idle).await
        };
        let mut chunk: Bytes = match chunk {
            Ok(Some(chunk)) => chunk,
            Ok(None) => break Ok(()),
            Err(error) => break Err(error),
        };
        if is_first {
            let text = chunk.trim_ascii_start();
            let is_whole = !is_stream && (!start.status.is_success() || !looks_like_events(text));
            if text.starts_with(b"{") || is_whole {
                let answer = match streamed.rest(chunk.into(), idle).await {
                    Ok(answer) => answer,
                    Err(error) => return StreamOutcome::Pieces(pieces, Err(error)),
                };
                let body = readable(&answer.body);
                // Some gateways send events without the field name.
                match glued(&body).filter(|events| start.status.is_success() && events.len() > 1) {
                    Some(events) => {
                        let events = events.iter().flat_map(|event| ["data: ", event, "\n\n"]);
                        chunk = events.collect::<String>().into();
                    }
                    None => return StreamOutcome::Whole(answer),
                }
            }
            is_first = chunk.trim_ascii_start().is_empty();
        }
        parser.push(&chunk);
        while let Some(event) = parser.next() {
            heard = Instant::now();
            if let Err(error) = take(&mut pieces, event, &mut sink, &mut cut_off) {
                break 'stream Err(error);
            }
            if pieces.completeness() == Completeness::Closed {
                streamed.drain().await;
                break 'stream Ok(());
            }
        }
        idle = match pieces.completeness() {
            Completeness::Open => sink.has_begun.then_some(live.timeouts.idle),
            // Comments would keep a connection open forever, so only events count.
            Completeness::Complete | Completeness::Closed => {
                let left = live.timeouts.idle.min(USAGE_TIMEOUT).saturating_sub(heard.elapsed());
                if left.is_zero() {
                    break Err(broken("the server sent no token usage after the answer"));
                }
                Some(left)
            }
        };
    };
    while let Some(event) = parser.finish().filter(|_| ended.is_ok() && pieces.completeness() != Completeness::Closed) {
        // A partial event is ignored; missing parts are detected below.
        let _ = take(&mut pieces, event, &mut sink, &mut cut_off);
    }
    pieces.settle(&mut sink);
    sink.finish();
    let ended = match (pieces.completeness(), ended) {
        (Completeness::Open, ended) => {
            ended.and_then(|()| Err(broken("the stream ended before the answer was complete")))
        }
        // A failure after the end does not affect the answer.
        (Completeness::Complete | Completeness::Closed, ended) => Ok(ended.is_ok()),
    };
    StreamOutcome::Pieces(pieces, ended)
}

/// Adds an event to the answer. Ignores data that does not start like JSON, and fails on malformed JSON.
fn take(
    pieces: &mut impl ApiAnswer,
    event: ServerSentEvent<'_>,
    sink: &mut TextSink<'_>,
    cut_off: &mut Option<String>,
) -> Result<(), ModelError> {
    if pieces.take_words(&event, sink) {
        return Ok(());
    }
    let mut data = well_formed_piece(event.data, cut_off);
    if (data.starts_with('{') || data.starts_with("data:")) && serde_json::from_str::<IgnoredAny>(&data).is_err() {
        if let Some(tolerable) = tolerable(&data) {
            data = tolerable.into();
        }
        let events = glued(&data).ok_or_else(|| broken("a chunk of the stream is not valid JSON"))?;
        for data in events {
            pieces.take(&ServerSentEvent { data, ..event }, sink);
        }
    } else {
        pieces.take(&ServerSentEvent { data: &data, ..event }, sink);
    }
    Ok(())
}

/// Splits `data` into events, because some servers send more than one event as one, with or without the field name
/// between them.
fn glued(data: &str) -> Option<Vec<&str>> {
    let (mut events, mut rest) = (Vec::new(), data.trim());
    loop {
        rest = rest.strip_prefix("data:").unwrap_or(rest).trim_start();
        if rest.is_empty() || rest.starts_with(DONE) {
            break;
        }
        let mut values = serde_json::Deserializer::from_str(rest).into_iter::<IgnoredAny>();
        values.next()?.ok()?;
        let (event, after) = rest.split_at(values.byte_offset());
        events.push(event);
        rest = after.trim_start();
    }
    events.extend(Some(rest).filter(|rest| !rest.is_empty()));
    Some(events)
}

/// Joins the deltas of a text. Some servers repeat all earlier text in each delta; others repeat the whole text at the
/// end.
#[derive(Default)]
pub(super) struct Deltas {
    text: String,
    count: usize,
    /// The last held delta, which may repeat the whole text.
    whole: String,
    /// All held deltas, to be added if they repeat nothing.
    held: String,
    links: usize,
    is_cumulative: bool,
}

/// The minimum length in bytes at which a repeated text counts as the server repeating itself: three deltas in a row
/// each start with the previous text, or the last delta repeats the whole text.
const TELLING: usize = 8;
/// Like [`TELLING`], for an answer that consists of the same text twice, in two deltas.
const TELLING_TWICE: usize = 80;

impl Deltas {
    pub(super) fn push(&mut self, delta: &str, sink: &mut TextSink<'_>) {
        if delta.is_empty() {
            return;
        }
        if self.is_cumulative
            && let Some(more) = delta.strip_prefix(&*self.text)
        {
            return self.add(more, sink);
        }
        let continues = self.whole.len() > self.text.len() && delta.starts_with(&self.whole);
        if !self.whole.is_empty() && !continues {
            self.release(sink);
        }
        let may_repeat = self.count == 1 || self.text.len() >= TELLING;
        let repeats = may_repeat && self.text.len() <= delta.len() && delta.starts_with(&self.text);
        if !continues && !repeats {
            return self.add(delta, sink);
        }
        self.held.push_str(delta);
        delta.clone_into(&mut self.whole);
        self.links += 1;
        sink.work();
        if self.links > 1 && self.whole.len() >= TELLING {
            self.is_cumulative = true;
            self.settle(sink);
        }
    }

    pub(super) fn settle(&mut self, sink: &mut TextSink<'_>) {
        let length = self.text.len();
        if self.whole.is_empty() {
            return;
        }
        let is_repeated = if self.whole.len() > length {
            self.links > 1 || length >= TELLING / 2
        } else {
            length >= if self.count > 1 { TELLING } else { TELLING_TWICE }
        };
        if is_repeated {
            let whole = std::mem::take(&mut self.whole);
            (self.held, self.links) = (String::new(), 0);
            self.add(&whole[length..], sink);
        } else {
            self.release(sink);
        }
    }

    /// Returns the text of the deltas, or `stated` if the text starts with it, because the rest is then a repetition.
    pub(super) fn into_text(self, stated: Option<String>) -> String {
        stated.filter(|stated| !stated.is_empty() && self.text.starts_with(&**stated)).unwrap_or(self.text)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.text.is_empty() && self.whole.is_empty()
    }

    fn release(&mut self, sink: &mut TextSink<'_>) {
        let held = std::mem::take(&mut self.held);
        (self.whole, self.links) = (String::new(), 0);
        self.add(&held, sink);
    }

    fn add(&mut self, more: &str, sink: &mut TextSink<'_>) {
        sink.say(more);
        self.text.push_str(more);
        self.count += 1;
    }
}

/// An API's answer, collected from the events of a stream or read as JSON. All fields are optional, and a field of an
/// unexpected type is treated as absent.
pub(super) trait ApiAnswer: Default {
    const PATH: &'static str;

    fn body(request: &Request, capabilities: Capabilities) -> Value;

    /// Whether the JSON has no field of this API.
    fn is_foreign(answer: &Value) -> bool;

    /// Whether the JSON is a finished answer of this API.
    fn is_one(answer: &Value) -> bool;

    /// A failure that the server reports without an error object.
    fn bad_end(_: &Value) -> Option<String> {
        None
    }

    /// The error that some servers put into an answer with a success status.
    fn error(answer: &Value) -> Option<&Value> {
        error_field(answer)
    }

    fn into_reply(answer: Value) -> (Reply, ReplyNotes);

    /// Whether a reply's message contains more than text and calls.
    fn has_more(message: &Value) -> bool;

    /// Reads an event that contains only words, as nearly all do, and passes the words to `sink`. Returns false for any
    /// other event. Runs for every word of a debate.
    fn take_words(&mut self, event: &ServerSentEvent<'_>, sink: &mut TextSink<'_>) -> bool;

    fn take(&mut self, event: &ServerSentEvent<'_>, sink: &mut TextSink<'_>);

    fn completeness(&self) -> Completeness;

    /// Decides at the end of the stream whether held text repeats earlier text, and passes new words to `sink`.
    fn settle(&mut self, sink: &mut TextSink<'_>);

    /// The collected answer, in the form that the API has without streaming.
    fn into_whole(self) -> Value;
}

pub(super) struct ReplyNotes {
    /// The model's refusal; empty if there is none.
    pub(super) refusal: String,
    pub(super) has_reasoned: bool,
}
