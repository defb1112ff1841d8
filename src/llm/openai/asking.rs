//! One question, asked in the way that its model understands: by which API, and with what left out. What is learned on
//! the way is remembered for the run, and each thing is learned once.

use crate::llm::{FailedAttempt, Figures, Live, ModelError, Reply, Request};

use super::failure::Refusal;
use super::quirks::{Api, Lesson, LimitField, Quirks, Streaming};
use super::schema::{Schemas, is_ignored};
use super::{OpenAiClient, Setback};

/// How often one question is put: each time but the first something was learned, and there is less than that to learn.
const MOST_TURNS: usize = 10;

/// Whether a refusal is about the API, as far as can be told.
enum Verdict {
    /// There is no Responses API.
    Lacking,
    /// There may be none; the other one is worth a try.
    Doubtful,
    /// It is about something else.
    Elsewhere,
}

impl OpenAiClient {
    /// Asks by the API that the model is known to be reached by, or finds out.
    pub(super) async fn answer(&self, request: &Request, live: Live<'_>) -> Result<Reply, FailedAttempt> {
        let _probe = self.learned.await_turn(&request.model).await;
        let mut spent = Figures::default();
        match self.by_either(request, live, &mut spent).await {
            Ok(reply) => {
                let figures = spent.and(reply.figures());
                Ok(Reply { tokens: figures.tokens, stated_cost: figures.cost, ..reply })
            }
            Err(setback) => {
                let failed = setback.into_failed();
                Err(FailedAttempt { figures: spent.and(failed.figures), ..failed })
            }
        }
    }

    async fn by_either(&self, request: &Request, live: Live<'_>, spent: &mut Figures) -> Result<Reply, Setback> {
        let (learned, model) = (&self.learned, &request.model);
        let quirks = learned.quirks(model);
        if quirks.schemas_by_chat && request.answer.is_some() && quirks.schemas != Schemas::None {
            match self.by(Api::Chat, request, live, false, spent).await {
                Err(setback) if setback.speaks_against_the_api() => {
                    learned.keeps_schemas_where_they_are();
                    setback.count(spent);
                }
                outcome => return outcome,
            }
        }
        if let Some(api) = quirks.api {
            return self.by(api, request, live, false, spent).await;
        }
        let first = match self.by(Api::Responses, request, live, true, spent).await {
            Ok(reply) => return Ok(reply),
            Err(setback) => setback,
        };
        match self.verdict(&first, request, live.attempt) {
            Verdict::Lacking => {
                first.count(spent);
                return self.by(Api::Chat, request, live, false, spent).await;
            }
            Verdict::Elsewhere => return Err(first),
            Verdict::Doubtful => {}
        }
        let second = match self.by(Api::Chat, request, live, false, spent).await {
            Ok(reply) => {
                first.count(spent);
                return Ok(reply);
            }
            Err(setback) => setback,
        };
        if !second.is_transient() || matches!(second, Setback::Foreign(_)) {
            // It was tried, once: what answers with something else by either API may be paid for twice.
            learned.learn(model, |quirks| quirks.api = quirks.api.or(Some(Api::Responses)));
        }
        // What is told of carries its own figures; those of the other are added to them. What may be on the bill is told
        // of rather than what is not: nothing is set free then that was paid.
        let is_first = match (first.may_be_billed(), second.may_be_billed()) {
            (true, false) => true,
            (false, true) => false,
            _ => second.lacks_route() || first.is_transient() && !second.is_transient(),
        };
        let (told, untold) = if is_first { (first, second) } else { (second, first) };
        untold.count(spent);
        Err(told)
    }

    /// What `setback` says of the Responses API, which has not answered for the model yet. That there is none for the
    /// server or for the model is remembered at once.
    fn verdict(&self, setback: &Setback, request: &Request, attempt: u32) -> Verdict {
        let serves = self.learned.serves_responses();
        let refusal = match setback {
            Setback::Foreign(_) if serves => return Verdict::Elsewhere,
            Setback::Foreign(_) => return Verdict::Doubtful,
            Setback::Failed(_) => return Verdict::Elsewhere,
            Setback::Refused(refusal, _) => refusal,
        };
        if let Some(lack) = refusal.lacks_responses().filter(|_| !serves || refusal.speaks_of_responses()) {
            self.learned.lacks_responses(&request.model, lack);
            return Verdict::Lacking;
        }
        let doubtful = match refusal.status {
            _ if serves || refusal.is_about_the_request() => false,
            400 | 404 | 405 | 422 | 501 => true,
            // A server that fails is asked once more before its API is doubted.
            500 => attempt == 2,
            200..=299 => !refusal.in_answer,
            _ => false,
        };
        if doubtful { Verdict::Doubtful } else { Verdict::Elsewhere }
    }

    /// Asks by `api`, and again without what the model turns out not to take. While it `is_open` whether the server has
    /// that API at all, a refusal without a reason is no reason to do without a schema, unless the server failed.
    async fn by(
        &self,
        api: Api,
        request: &Request,
        live: Live<'_>,
        is_open: bool,
        spent: &mut Figures,
    ) -> Result<Reply, Setback> {
        let (learned, model) = (&self.learned, &request.model);
        let mut turns = 0;
        loop {
            turns += 1;
            let quirks = learned.quirks(model);
            let setback = match self.ask_once(request, api, quirks, live).await {
                Ok(reply) => {
                    learned.reached(model, api);
                    self.note_schema(api, request, quirks, &reply);
                    return Ok(reply);
                }
                Err(setback) => setback,
            };
            let Setback::Refused(refusal, _) = &setback else { return Err(setback) };
            if let Some(lesson) = lesson(refusal, request, api, quirks).filter(|_| turns < MOST_TURNS) {
                learned.learn(model, |quirks| quirks.apply(lesson));
                // A server that argues about parameters has the API; nobody need wait for the next try to know.
                learned.settle(api);
                setback.count(spent);
                continue;
            }
            let may_be_the_schema = request.answer.is_some()
                && quirks.schemas != Schemas::None
                && quirks.schema_doubts > 0
                && !learned.serves_responses()
                && refusal.may_be_about_a_schema()
                && (!is_open || refusal.status >= 500);
            if may_be_the_schema {
                learned.learn(model, |quirks| quirks.schema_doubts -= 1);
                let without = Quirks { schemas: Schemas::None, ..quirks };
                match self.ask_once(request, api, without, live).await {
                    Ok(reply) => {
                        learned.learn(model, |quirks| quirks.schemas = Schemas::None);
                        learned.reached(model, api);
                        setback.count(spent);
                        return Ok(reply);
                    }
                    Err(other) => other.count(spent),
                }
            }
            return Err(setback);
        }
    }

    /// Remembers that a schema was taken, or that it was not heeded.
    fn note_schema(&self, api: Api, request: &Request, quirks: Quirks, reply: &Reply) {
        let Some(answer) = request.answer.as_deref().filter(|_| quirks.schemas != Schemas::None) else { return };
        self.learned.learn(&request.model, |quirks| quirks.schema_doubts = 0);
        if is_ignored(answer, reply) {
            match api {
                Api::Responses => self.learned.tries_schemas_by_chat(),
                Api::Chat => self.learned.keeps_schemas_where_they_are(),
            }
        }
    }
}

/// What a refusal teaches of the model, where it is about something that can be left out or named otherwise.
fn lesson(refusal: &Refusal, request: &Request, api: Api, quirks: Quirks) -> Option<Lesson> {
    if let Some(answer) = request.answer.as_deref().filter(|_| quirks.schemas != Schemas::None) {
        let less = quirks.schemas.without_refused(answer, |keyword| refusal.refuses_keyword(keyword));
        if less != Schemas::None || refusal.refuses_format() {
            let is_too_much = less == Schemas::None && refusal.finds_schema_too_much() && quirks.schemas.bounds(answer);
            return Some(Lesson::Schemas(if is_too_much { Schemas::Unbounded } else { less }));
        }
    }
    if quirks.takes_temperature && refusal.refuses_parameter("temperature") {
        Some(Lesson::NoTemperature)
    } else if api == Api::Chat && request.max_tokens.is_some() && !quirks.limit_is_learned {
        match quirks.limit {
            LimitField::MaxTokens if refusal.wants_renamed_limit() => Some(LimitField::MaxCompletionTokens),
            LimitField::MaxCompletionTokens if refusal.wants_old_limit() => Some(LimitField::MaxTokens),
            LimitField::MaxTokens | LimitField::MaxCompletionTokens => None,
        }
        .map(Lesson::Limit)
        .or_else(|| streaming_lesson(refusal, api, quirks))
    } else {
        streaming_lesson(refusal, api, quirks)
    }
}

fn streaming_lesson(refusal: &Refusal, api: Api, quirks: Quirks) -> Option<Lesson> {
    if api == Api::Chat && quirks.streaming == Streaming::WithUsage && refusal.refuses_stream_options() {
        Some(Lesson::Streaming(Streaming::Bare))
    } else if quirks.streaming != Streaming::Never && refusal.refuses_streaming() {
        Some(Lesson::Streaming(Streaming::Never))
    } else {
        None
    }
}

impl Setback {
    fn into_failed(self) -> FailedAttempt {
        match self {
            Self::Refused(refusal, figures) => FailedAttempt { error: refusal.into_error(), figures },
            Self::Foreign(failed) | Self::Failed(failed) => failed,
        }
    }

    fn error(&self) -> ModelError {
        match self {
            Self::Refused(refusal, _) => refusal.as_ref().clone().into_error(),
            Self::Foreign(failed) | Self::Failed(failed) => failed.error.clone(),
        }
    }

    fn is_transient(&self) -> bool {
        self.error().is_transient()
    }

    fn may_be_billed(&self) -> bool {
        self.error().may_be_billed()
    }

    /// Whether it may be for the API that there is no answer, where another one is known to give them: everything but
    /// that there was no time for one.
    fn speaks_against_the_api(&self) -> bool {
        match self {
            Self::Foreign(_) => true,
            Self::Refused(refusal, _) => !matches!(refusal.status, 408 | 429),
            Self::Failed(failed) => !failed.error.is_transient(),
        }
    }

    /// Whether the path is not there.
    fn lacks_route(&self) -> bool {
        matches!(self, Self::Refused(refusal, _) if matches!(refusal.status, 404 | 405 | 501))
    }

    /// Adds what it took.
    fn count(&self, spent: &mut Figures) {
        let (Self::Refused(_, figures)
        | Self::Foreign(FailedAttempt { figures, .. })
        | Self::Failed(FailedAttempt { figures, .. })) = self;
        *spent = spent.and(*figures);
    }
}
