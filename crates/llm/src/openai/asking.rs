//! Adapts requests to what the model supports: chooses the API and omits features. Remembers what it learns for the
//! rest of the run.

use std::borrow::Cow;

use serde_json::{Map, Value};

use crate::{FailedAttempt, FinishReason, Further, Live, ModelError, Reply, Request, StatedUsage};

use super::capabilities::{Api, Capabilities, Schemas, Streaming, is_ignored};
use super::failure::{FailureCause, Fault, RequestFailure, ServerRefusal, excerpt, one_line, refusal_body};
use super::lenient::{ReportedUsage, parsed, readable, stated_cost};
use super::reasoning::drop_reasoning;
use super::streaming::{ApiAnswer, ReplyNotes, StreamOutcome, follow};
use super::transport::{HttpAnswer, broken};
use super::{OpenAiClient, chat, marks, responses};

/// The maximum number of requests per question: the first, and one after each of eleven adjustments. There are three
/// adjustments for schemas, two for streaming, and one each for tools, temperature, system messages, messages sent back
/// to the model, and the name and value of the output limit.
const MOST_TURNS: usize = 12;

enum RefusalCause {
    /// The server or the model lacks the Responses API.
    Lacking,
    /// The server may lack the Responses API, so Chat Completions is worth trying.
    Doubtful,
    Elsewhere,
}

#[derive(Clone, Copy)]
enum Doubt {
    Schema,
    Streaming,
}

impl OpenAiClient {
    pub(super) async fn answer(&self, request: &Request, live: Live<'_>) -> Result<Reply, RequestFailure> {
        let (known, model) = (&self.known, &request.model);
        let _probe = known.await_turn(model).await;
        let mut request = Cow::Borrowed(request);
        let capabilities = known.capabilities(model);
        let mut by_chat = None;
        if capabilities.schemas_by_chat && request.answer.is_some() && capabilities.schemas != Schemas::None {
            match self.by(Api::Chat, &request, live, false).await {
                Err(failure) if failure.speaks_against_the_api() => {
                    known.keeps_schemas_where_they_are();
                    charge(&failure, live, &mut request).await?;
                    by_chat = Some(failure).filter(RequestFailure::names_cause);
                }
                outcome => return outcome,
            }
        }
        if let Some(api) = capabilities.api {
            let outcome = self.by(api, &request, live, false).await;
            return outcome.map_err(|failure| match by_chat {
                Some(cause) if !failure.names_cause() => cause.charged_as(&failure),
                Some(_) | None => failure,
            });
        }
        let first = match self.by(Api::Responses, &request, live, true).await {
            Ok(reply) => return Ok(reply),
            Err(failure) => failure,
        };
        let verdict = self.verdict(&first, &request, live);
        if matches!(verdict, RefusalCause::Elsewhere) {
            return Err(first);
        }
        charge(&first, live, &mut request).await?;
        let second = match self.by(Api::Chat, &request, live, false).await {
            Ok(reply) => return Ok(reply),
            Err(failure) => failure,
        };
        if matches!(verdict, RefusalCause::Lacking) {
            return Err(second);
        }
        if second.names_cause() {
            // A server that examined the request has the API.
            known.update(model, |capabilities| capabilities.api = capabilities.api.or(Some(Api::Chat)));
        } else if !second.failed.error.is_transient() || matches!(second.cause, FailureCause::Foreign) {
            // From now on, use only the Responses API for this model: trying both APIs again could be billed twice.
            known.update(model, |capabilities| capabilities.api = capabilities.api.or(Some(Api::Responses)));
        }
        // Report the failure that names its cause, or else the one that may be billed. In either case, report the
        // second failure's usage, because the first failure is already charged.
        let told_first = |first: bool, second: bool| (first != second).then_some(first);
        let is_first = told_first(first.names_cause(), second.names_cause())
            .or_else(|| told_first(first.failed.may_be_billed, second.failed.may_be_billed))
            .unwrap_or_else(|| {
                let [first, other] = [&first, &second].map(|failure| failure.failed.error.is_transient());
                second.lacks_route() || first && !other
            });
        Err(if is_first { first.charged_as(&second) } else { second })
    }

    /// Decides whether `failure` means that the model or its server lacks the Responses API, which has not answered for
    /// this model yet. Remembers a missing API.
    fn verdict(&self, failure: &RequestFailure, request: &Request, live: Live<'_>) -> RefusalCause {
        let serves = self.known.serves_responses;
        let refusal = match &failure.cause {
            FailureCause::Foreign if serves => return RefusalCause::Elsewhere,
            FailureCause::Foreign => return RefusalCause::Doubtful,
            FailureCause::BrokenStream | FailureCause::Other => return RefusalCause::Elsewhere,
            FailureCause::Refused(refusal) => refusal,
        };
        if let Some(lack) = refusal.lacks_responses().filter(|_| !serves || refusal.speaks_of_responses()) {
            self.known.lacks_responses(&request.model, lack);
            return RefusalCause::Lacking;
        }
        let doubtful = match refusal.status {
            _ if serves || refusal.meaning().is_some() || refusal.is_about_the_request() => false,
            400 | 404 | 405 | 410 | 422 | 501 => true,
            // Retry once before suspecting the API, unless only one retry is allowed.
            500 => live.attempt == 2 || live.further.is_some_and(Further::repeats_once),
            200..=299 => !refusal.in_answer,
            _ => false,
        };
        if doubtful { RefusalCause::Doubtful } else { RefusalCause::Elsewhere }
    }

    /// Asks through `api`, and again without features that the model rejects. If `is_open` is set, the server may lack
    /// this API, so an unexplained refusal is not blamed on the schema unless the server failed.
    async fn by(&self, api: Api, request: &Request, live: Live<'_>, is_open: bool) -> Result<Reply, RequestFailure> {
        let (known, model) = (&self.known, &request.model);
        let mut request = Cow::Borrowed(request);
        let mut turns = 0;
        loop {
            turns += 1;
            let capabilities = known.capabilities(model);
            if let Some(most) = capabilities.most_output.filter(|most| request.max_tokens > Some(*most)) {
                request.to_mut().max_tokens = Some(most);
            }
            if request.tools_are_optional && !capabilities.takes_tools && !request.tools.is_empty() {
                request.to_mut().tools = [].into();
            }
            let mut failure = match self.ask_once(&request, api, capabilities, live).await {
                Ok(reply) => {
                    known.reached(model, api);
                    self.note_schema(api, &request, capabilities, &reply);
                    return Ok(reply);
                }
                Err(failure) => failure,
            };
            let refusal = match &failure.cause {
                FailureCause::Refused(refusal) => Some(refusal),
                FailureCause::BrokenStream | FailureCause::Foreign | FailureCause::Other => None,
            };
            let adjustment = refusal.and_then(|refusal| refusal.adjustment(&request, api, capabilities));
            if let Some(adjustment) = adjustment.filter(|_| turns < MOST_TURNS) {
                known.update(model, adjustment);
                // A server that complains about parameters has the API, so other calls need not wait.
                known.settle(api);
                charge(&failure, live, &mut request).await?;
                continue;
            }
            // Retry once before blaming streaming, unless only one retry is allowed. A refusal is not blamed on
            // streaming while the server may lack this API.
            let repeats_once = live.further.is_some_and(Further::repeats_once);
            let may_be_streaming = capabilities.streaming != Streaming::Never
                && match refusal {
                    Some(refusal) => !is_open && (live.attempt > 1 || repeats_once) && refusal.may_be_about_streaming(),
                    None => {
                        matches!(failure.cause, FailureCause::BrokenStream)
                            && (known.broke(&failure.failed.error.to_string()) || repeats_once)
                    }
                };
            let may_be_the_schema = request.answer.is_some()
                && capabilities.schemas != Schemas::None
                && !known.serves_responses
                && refusal.is_some_and(|it| it.may_be_about_a_schema() && (!is_open || it.status >= 500));
            for doubt in [Doubt::Schema, Doubt::Streaming] {
                // Look again, because another call may have shown meanwhile that the server accepts schemas.
                let current = known.capabilities(model);
                let without = match doubt {
                    Doubt::Schema if may_be_the_schema && current.schema_doubts > 0 => {
                        known.update(model, |it| it.schema_doubts = it.schema_doubts.saturating_sub(1));
                        Capabilities { schemas: Schemas::None, ..capabilities }
                    }
                    Doubt::Streaming if may_be_streaming && known.may_fail_on_streams() => {
                        Capabilities { streaming: Streaming::Never, ..current }
                    }
                    Doubt::Schema | Doubt::Streaming => continue,
                };
                charge(&failure, live, &mut request).await?;
                match self.ask_once(&request, api, without, live).await {
                    Ok(reply) => {
                        match doubt {
                            Doubt::Schema => known.update(model, |it| it.schemas = Schemas::None),
                            Doubt::Streaming => known.answers_as_a_whole(),
                        }
                        known.reached(model, api);
                        self.note_schema(api, &request, without, &reply);
                        return Ok(reply);
                    }
                    Err(other) if other.names_cause() => return Err(other),
                    Err(other) => failure = failure.charged_as(&other),
                }
            }
            return Err(failure);
        }
    }

    fn note_schema(&self, api: Api, request: &Request, capabilities: Capabilities, reply: &Reply) {
        let Some(answer) = request.answer.as_deref().filter(|_| capabilities.schemas != Schemas::None) else { return };
        self.known.update(&request.model, |capabilities| capabilities.schema_doubts = 0);
        if is_ignored(answer, reply) {
            match api {
                Api::Responses => self.known.tries_schemas_by_chat(),
                Api::Chat => self.known.keeps_schemas_where_they_are(),
            }
        }
    }

    async fn ask_once(
        &self,
        request: &Request,
        api: Api,
        capabilities: Capabilities,
        live: Live<'_>,
    ) -> Result<Reply, RequestFailure> {
        match api {
            Api::Responses => self.ask_by::<responses::Events>(request, capabilities, live).await,
            Api::Chat => self.ask_by::<chat::Chunks>(request, capabilities, live).await,
        }
    }

    async fn ask_by<P: ApiAnswer>(
        &self,
        request: &Request,
        capabilities: Capabilities,
        live: Live<'_>,
    ) -> Result<Reply, RequestFailure> {
        let mut streamed = self.transport.post(P::PATH, &P::body(request, capabilities)).await?;
        match follow::<P>(&mut streamed, live, capabilities.begins_within).await {
            StreamOutcome::Whole(answer) => self.read::<P>(request, &answer),
            StreamOutcome::Pieces(pieces, ended) => {
                let (whole, head) = (pieces.into_whole(), streamed.head());
                // Return the error without usage, because usage reported before an interruption is incomplete.
                let broken =
                    |error| RequestFailure { cause: FailureCause::BrokenStream, ..RequestFailure::from(error) };
                let is_whole = ended.map_err(broken)?;
                let reply = self.accept::<P>(request, whole, &head)?;
                self.known.streams();
                if is_whole && reply.tokens.is_none() {
                    // Without usage, stop streaming: knowing the cost is more important.
                    self.known.update(&request.model, |capabilities| capabilities.streaming = Streaming::Never);
                }
                Ok(reply)
            }
        }
    }

    fn read<P: ApiAnswer>(&self, request: &Request, answer: &HttpAnswer) -> Result<Reply, RequestFailure> {
        let address = &self.transport.address;
        if !answer.status.is_success() {
            let body = refusal_body(answer);
            let refusal = ServerRefusal::of_answer(answer, body.as_ref(), address, P::PATH);
            return Err(RequestFailure::refused(refusal, usage_of(&body.unwrap_or_default(), answer)));
        }
        let whole: Map<String, Value> = parsed(&readable(&answer.body)).map_err(|error| {
            let is_cut = error.is_eof() && !answer.body.trim_ascii().is_empty();
            let error = one_line(&error.to_string(), address);
            let broken =
                broken(format!("it does not match the API's JSON ({error}): {}", excerpt(&answer.body, address)));
            if is_cut { RequestFailure::from(broken) } else { RequestFailure::foreign(broken.into()) }
        })?;
        self.accept::<P>(request, whole.into(), answer)
    }

    fn accept<A: ApiAnswer>(
        &self,
        request: &Request,
        read: Value,
        answer: &HttpAnswer,
    ) -> Result<Reply, RequestFailure> {
        let address = &self.transport.address;
        let usage = usage_of(&read, answer);
        if let Some(fault) = A::error(&read).and_then(Fault::of) {
            let in_answer = !A::is_foreign(&read);
            let refusal = ServerRefusal { in_answer, ..ServerRefusal::inside(fault, answer, address) };
            return Err(RequestFailure::refused(refusal, usage));
        }
        if !A::is_one(&read) {
            let body = excerpt(&answer.body, address);
            let why = A::bad_end(&read).map_or(body, |end| one_line(&end, address));
            let said = if why.is_empty() { why } else { format!(": {why}") };
            let failed = FailedAttempt::with_usage(broken(format!("it contains no answer{said}")), usage);
            return Err(if A::is_foreign(&read) { RequestFailure::foreign(failed) } else { failed.into() });
        }
        let completion = ReportedUsage::of(&read).and_then(|usage| usage.completion());
        let (mut reply, ReplyNotes { refusal, has_reasoned }) = A::into_reply(read);
        // Some servers do not report that an answer was cut off, and a natural stop at exactly the limit is rare.
        let is_at_limit = completion.is_some() && completion == request.max_tokens.map(u64::from);
        if reply.finish == FinishReason::Complete && is_at_limit && reply.tool_calls.is_empty() {
            reply.finish = FinishReason::Length;
        }
        let (length, is_blank) = (reply.text.len(), reply.text.trim().is_empty());
        let began_within = drop_reasoning(&mut reply.text);
        let is_reasoning = has_reasoned && is_blank || !is_blank && reply.text.trim().is_empty();
        let has_more = |message: &Value| reply.text.len() != length || A::has_more(message);
        reply.message = reply.message.take().filter(has_more);
        reply.text = marks::without(reply.text);
        let unusable = if reply.finish == FinishReason::Filtered || !reply.tool_calls.is_empty() {
            None
        } else if marks::is_tool_call(&reply.text) {
            Some("it contains only the markup of a tool call")
        } else if is_reasoning && reply.finish != FinishReason::Length {
            Some("it contains reasoning but no text")
        } else {
            None
        };
        if let Some(message) = unusable {
            let error = ModelError::Unusable { message: message.to_owned() };
            return Err(FailedAttempt::with_usage(error, usage).into());
        }
        if !reply.text.is_empty() {
            self.known.update(&request.model, |capabilities| capabilities.begins_within = began_within);
        }
        // Text and calls require output tokens; if none are reported, half of the usage is missing.
        let is_said = !reply.text.is_empty() || !reply.tool_calls.is_empty();
        reply.tokens = usage.tokens.filter(|tokens| !is_said || tokens.output_tokens > 0);
        if reply.finish == FinishReason::Filtered && reply.text.is_empty() && !refusal.is_empty() {
            let error = ModelError::Filtered { message: one_line(&refusal, address) };
            return Err(FailedAttempt::with_usage(error, usage).into());
        }
        Ok(Reply { stated_cost: usage.cost, ..reply })
    }
}

/// Charges a failed request that may be billed, so that the same attempt can send another one: the reservation covers
/// only one request. May change the output limit of the next request.
async fn charge(
    failure: &RequestFailure,
    live: Live<'_>,
    request: &mut Cow<'_, Request>,
) -> Result<(), RequestFailure> {
    let failed = FailedAttempt::clone(&failure.failed);
    let is_nothing = !failed.may_be_billed && failed.usage == StatedUsage::default();
    let Some(further) = live.further.filter(|_| !is_nothing) else { return Ok(()) };
    let max_tokens = further.after(failed).await?;
    if max_tokens.is_some() && max_tokens != request.max_tokens {
        request.to_mut().max_tokens = max_tokens;
    }
    Ok(())
}

fn usage_of(body: &Value, answer: &HttpAnswer) -> StatedUsage {
    let usage = ReportedUsage::of(body);
    let tokens = usage.as_ref().and_then(ReportedUsage::tokens);
    StatedUsage { tokens, cost: stated_cost(usage.as_ref(), &answer.headers) }
}
