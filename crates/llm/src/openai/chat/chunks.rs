//! An answer of Chat Completions in chunks.
//! Source of the format: platform.openai.com, "API reference", "Chat Completions", "Streaming".

use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::openai::failure::{ErrorField, error_in};
use crate::openai::lenient::{Arguments, Borrowed, MessageContent, ReportedUsage, tolerant, tolerant_list};
use crate::openai::sse::ServerSentEvent;
use crate::openai::streaming::{Completeness, DONE, Pieces, TextSink};

use super::{AnswerCall, AnswerFunction, AnswerMessage, ChatAnswer, ChatChoice};

/// The received part of an answer.
#[derive(Default)]
pub(in crate::openai) struct Chunks {
    text: String,
    refusal: String,
    calls: Vec<CallInPieces>,
    finish_reason: Option<String>,
    model: Option<String>,
    usage: Option<ReportedUsage>,
    /// Whether words followed the last figures, which are then incomplete.
    has_grown: bool,
    error: Option<ErrorField>,
    /// The whole message, which some gateways send in one chunk.
    whole: Option<AnswerMessage>,
    has_choice: bool,
    is_done: bool,
}

/// A partially received tool call.
#[derive(Default)]
struct CallInPieces {
    index: Option<u64>,
    id: Option<String>,
    name: Option<String>,
    arguments: String,
}

/// A chunk; all fields are optional.
#[derive(Deserialize)]
struct Chunk {
    #[serde(default, deserialize_with = "tolerant_list")]
    choices: Option<Vec<ChunkChoice>>,
    #[serde(default, deserialize_with = "tolerant")]
    model: Option<String>,
    #[serde(default, deserialize_with = "tolerant")]
    usage: Option<ReportedUsage>,
}

#[derive(Deserialize)]
struct ChunkChoice {
    #[serde(default, deserialize_with = "tolerant")]
    delta: Option<Delta>,
    #[serde(default, deserialize_with = "tolerant")]
    message: Option<AnswerMessage>,
    #[serde(default, deserialize_with = "tolerant")]
    text: Option<String>,
    #[serde(default, deserialize_with = "tolerant")]
    finish_reason: Option<String>,
    #[serde(default, deserialize_with = "tolerant")]
    error: Option<ErrorField>,
}

#[derive(Deserialize)]
struct Delta {
    #[serde(default, deserialize_with = "tolerant")]
    content: Option<MessageContent>,
    #[serde(default, deserialize_with = "tolerant")]
    refusal: Option<String>,
    #[serde(default, deserialize_with = "tolerant_list")]
    tool_calls: Option<Vec<DeltaCall>>,
    /// Reasoning text, under the two names that servers use.
    #[serde(default, deserialize_with = "tolerant")]
    reasoning_content: Option<String>,
    #[serde(default, deserialize_with = "tolerant")]
    reasoning: Option<String>,
}

#[derive(Deserialize)]
struct DeltaCall {
    #[serde(default, deserialize_with = "tolerant")]
    index: Option<u64>,
    #[serde(default, deserialize_with = "tolerant")]
    id: Option<String>,
    #[serde(default, deserialize_with = "tolerant")]
    function: Option<DeltaFunction>,
}

#[derive(Deserialize)]
struct DeltaFunction {
    #[serde(default, deserialize_with = "tolerant")]
    name: Option<String>,
    #[serde(default, deserialize_with = "tolerant")]
    arguments: Option<Arguments>,
}

/// The common form of a chunk, borrowed. Any other content is read as a [`Chunk`].
#[derive(Deserialize)]
struct ChunkWords<'a> {
    #[serde(borrow)]
    choices: [WordsChoice<'a>; 1],
    #[serde(borrow, default)]
    model: Option<Borrowed<'a>>,
    #[serde(borrow, default)]
    object: Option<Borrowed<'a>>,
    #[serde(default)]
    usage: Option<IgnoredAny>,
    #[serde(default)]
    error: Option<IgnoredAny>,
    #[serde(default, rename = "type")]
    kind: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct WordsChoice<'a> {
    #[serde(borrow)]
    delta: WordsDelta<'a>,
    #[serde(default)]
    finish_reason: Option<IgnoredAny>,
    #[serde(default)]
    error: Option<IgnoredAny>,
    #[serde(default)]
    message: Option<IgnoredAny>,
    #[serde(default)]
    text: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct WordsDelta<'a> {
    #[serde(borrow, default)]
    content: Option<Borrowed<'a>>,
    #[serde(borrow, default)]
    reasoning_content: Option<Borrowed<'a>>,
    #[serde(borrow, default)]
    reasoning: Option<Borrowed<'a>>,
    #[serde(default)]
    refusal: Option<IgnoredAny>,
    #[serde(default)]
    tool_calls: Option<IgnoredAny>,
}

impl ChunkWords<'_> {
    fn is_all(&self) -> bool {
        let [choice] = &self.choices;
        let others = [&self.usage, &self.error, &self.kind, &choice.finish_reason, &choice.error, &choice.message];
        let more = [&choice.text, &choice.delta.refusal, &choice.delta.tool_calls];
        let is_error = self.object.as_ref().is_some_and(|object| object.0 == "error");
        !is_error && others.into_iter().chain(more).all(Option::is_none)
    }
}

impl Pieces for Chunks {
    type Whole = ChatAnswer;

    fn take_words(&mut self, event: &ServerSentEvent<'_>, sink: &mut TextSink<'_>) -> bool {
        let words =
            serde_json::from_str::<ChunkWords>(event.data).ok().filter(|words| event.name.is_empty() && words.is_all());
        let Some(ChunkWords { choices: [WordsChoice { delta, .. }], model, .. }) = words else { return false };
        if let Some(Borrowed(model)) = model
            && self.model.as_deref() != Some(&*model)
        {
            self.name_model(model.into_owned());
        }
        self.has_choice = true;
        if [delta.reasoning_content, delta.reasoning].into_iter().flatten().any(|thought| !thought.0.is_empty()) {
            self.has_grown = true;
            sink.reason();
        }
        if let Some(Borrowed(said)) = delta.content {
            self.has_grown |= !said.is_empty();
            sink.say(&said);
            self.text.push_str(&said);
        }
        true
    }

    fn take(&mut self, event: &ServerSentEvent<'_>, sink: &mut TextSink<'_>) {
        if event.data.trim() == DONE {
            self.is_done = true;
            return;
        }
        // An error after the end does not affect the answer.
        if self.completeness() == Completeness::Open {
            self.error = error_in(event);
            // Earlier figures are incomplete.
            self.has_grown |= self.error.is_some();
        }
        let Ok(chunk) = serde_json::from_str::<Chunk>(event.data) else { return };
        if let Some(model) = chunk.model {
            self.name_model(model);
        }
        // One answer is requested; the last chunk, with the figures, has none.
        if let Some(choice) = chunk.choices.and_then(|choices| choices.into_iter().next()) {
            self.take_choice(choice, sink);
        }
        self.has_grown &= !chunk.usage.as_ref().is_some_and(ReportedUsage::is_of_an_end);
        self.usage = ReportedUsage::later(self.usage.take(), chunk.usage);
    }

    fn completeness(&self) -> Completeness {
        if self.is_done || self.error.is_some() {
            Completeness::Closed
        } else if self.finish_reason.is_some() {
            Completeness::Complete
        } else {
            Completeness::Open
        }
    }

    fn into_whole(self) -> ChatAnswer {
        let has_pieces = !self.text.is_empty() || !self.refusal.is_empty() || !self.calls.is_empty();
        let calls = self.calls.into_iter().filter_map(|call| {
            let function = AnswerFunction { name: call.name?, arguments: Some(Arguments::Text(call.arguments)) };
            Some(AnswerCall { id: call.id, function })
        });
        let pieces = AnswerMessage {
            content: Some(MessageContent::Text(self.text)),
            refusal: Some(self.refusal),
            tool_calls: Some(calls.collect()),
        };
        let message = if has_pieces { Some(pieces) } else { self.whole.or(Some(pieces)) };
        let choice = ChatChoice { message, text: None, finish_reason: self.finish_reason, error: None };
        ChatAnswer {
            choices: self.has_choice.then(|| vec![choice]),
            model: self.model,
            usage: self.usage.filter(|_| !self.has_grown),
            error: self.error,
        }
    }
}

impl Chunks {
    /// Some servers send empty names before the answer.
    fn name_model(&mut self, model: String) {
        if !model.is_empty() {
            self.model = Some(model);
        }
    }

    fn take_choice(&mut self, choice: ChunkChoice, sink: &mut TextSink<'_>) {
        self.has_choice = true;
        if self.completeness() == Completeness::Open {
            self.error = self.error.take().or(choice.error);
            self.has_grown |= self.error.is_some();
            self.finish_reason = choice.finish_reason.filter(|it| !it.is_empty());
        }
        self.whole = choice.message.or(self.whole.take());
        let mut said = choice.text.unwrap_or_default();
        if let Some(delta) = choice.delta {
            if let Some(content) = delta.content {
                content.read(&mut said, &mut self.refusal);
            }
            self.refusal.push_str(&delta.refusal.unwrap_or_default());
            let calls = delta.tool_calls.unwrap_or_default();
            // Neither is passed on, but both show that the model is working.
            if delta.reasoning_content.iter().chain(&delta.reasoning).any(|text| !text.is_empty()) {
                self.has_grown = true;
                sink.reason();
            }
            if !calls.is_empty() {
                self.has_grown = true;
                sink.work();
            }
            for call in calls {
                self.take_call(call);
            }
        }
        self.has_grown |= !said.is_empty();
        sink.say(&said);
        self.text.push_str(&said);
    }

    /// Adds a piece to its call. The id is in the first piece or in each, the index in each or in none; some servers
    /// reuse an index, but none an id.
    fn take_call(&mut self, piece: DeltaCall) {
        let id = piece.id.filter(|id| !id.is_empty());
        let place = match (&id, piece.index) {
            (Some(id), index) => self.calls.iter().position(|call| match &call.id {
                Some(known) => known == id,
                None => call.index == index,
            }),
            (None, Some(index)) => self.calls.iter().rposition(|call| call.index == Some(index)),
            (None, None) => self.calls.len().checked_sub(1),
        };
        let mut call = place.map(|place| self.calls.remove(place)).unwrap_or_default();
        call.index = call.index.or(piece.index);
        call.id = call.id.or(id);
        if let Some(function) = piece.function {
            call.name = call.name.or(function.name.filter(|name| !name.is_empty()));
            match function.arguments {
                Some(Arguments::Text(text)) => call.arguments.push_str(&text),
                Some(json @ Arguments::Json(_)) => call.arguments = Arguments::into_text(Some(json)),
                None => {}
            }
        }
        self.calls.insert(place.unwrap_or(self.calls.len()), call);
    }
}
