//! Adapts requests to what the model supports: chooses the API and omits features. Remembers what it learns for the
//! rest of the run.

use std::borrow::Cow;

use crate::{FailedAttempt, Further, Live, ModelError, Reply, Request, StatedUsage};

use super::capabilities::{Api, Capabilities, Schemas, Streaming, is_ignored};
use super::{FailureCause, OpenAiClient, RequestFailure};

/// The maximum number of requests per question: the first, and one after each of eleven adjustments. These are three
/// steps of schemas, two of streaming, and one each for tools, temperature, system messages, replays, and the name and
/// value of the output limit.
const MOST_TURNS: usize = 12;

/// Whether the API is the reason for a refusal.
enum RefusalCause {
    /// The server or the model lacks the Responses API.
    Lacking,
    /// The API may not exist, so the other one is worth trying.
    Doubtful,
    /// The failure has a different cause.
    Elsewhere,
}

#[derive(Clone, Copy)]
enum Doubt {
    Schema,
    Streaming,
}

impl OpenAiClient {
    /// Asks through the API that the model is known to have, or finds out which one it has.
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
            // Do not try both again, because unsuitable answers of both APIs may be billed.
            known.update(model, |capabilities| capabilities.api = capabilities.api.or(Some(Api::Responses)));
        }
        // Report the failure that names its cause, or else the one that may be billed. Only the second failure remains
        // to be charged.
        let told_first = |first: bool, second: bool| (first != second).then_some(first);
        let is_first = told_first(first.names_cause(), second.names_cause())
            .or_else(|| told_first(first.failed.may_be_billed, second.failed.may_be_billed))
            .unwrap_or_else(|| {
                let [first, other] = [&first, &second].map(|failure| failure.failed.error.is_transient());
                second.lacks_route() || first && !other
            });
        Err(if is_first { first.charged_as(&second) } else { second })
    }

    /// What `failure` says about the Responses API, which has not answered for this model yet. If the API is missing,
    /// remembers that.
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
            // Retry once before suspecting streaming, unless only one retry is allowed. The API is suspected first.
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
                // Another call may have had its schema accepted meanwhile.
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
}

/// Charges a failed request that may be billed before the same attempt makes another one, since the reservation covers
/// one request. May change the output limit of the next request.
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

impl RequestFailure {
    /// The same failure, charged like `other`.
    fn charged_as(self, other: &Self) -> Self {
        let FailedAttempt { usage, may_be_billed, .. } = *other.failed;
        Self { failed: FailedAttempt { usage, may_be_billed, ..*self.failed }.into(), ..self }
    }

    /// Whether the request or its sender was rejected, so that asking differently would not help.
    fn names_cause(&self) -> bool {
        match &self.cause {
            FailureCause::Refused(refusal) => matches!(refusal.status, 401 | 403) || refusal.is_about_the_request(),
            FailureCause::Other => matches!(self.failed.error, ModelError::Filtered { .. }),
            FailureCause::BrokenStream | FailureCause::Foreign => false,
        }
    }

    /// Whether the API may have caused the failure, given that another API is known to answer.
    fn speaks_against_the_api(&self) -> bool {
        match &self.cause {
            FailureCause::Foreign => true,
            FailureCause::Refused(refusal) => !matches!(refusal.status, 408 | 429),
            FailureCause::BrokenStream => false,
            FailureCause::Other => !self.failed.error.is_transient(),
        }
    }

    fn lacks_route(&self) -> bool {
        matches!(&self.cause, FailureCause::Refused(refusal) if matches!(refusal.status, 404 | 405 | 410 | 501))
    }
}
