//! Makes a call, and further requests if the answer cannot be read.

use std::borrow::Cow;
use std::sync::Arc;

use tokio::task::spawn_blocking;

use crate::tools::Toolbox;
use dialectic_base::call::{CallRecord, Cut, ToolCall, ToolResult};
use dialectic_base::figures::list;
use dialectic_llm::{Caller, FailedCall, ModelError, Reply, Request, Turn};
use dialectic_record::answer::{Challenge, Judgement, Observation, Relations, Solution};
use dialectic_record::debate::Metadata;
use dialectic_record::event::StoredReply;
use dialectic_record::ids::AgentId;
use dialectic_record::points::{AnswerFormat, ParsedAnswer};
use dialectic_record::prompt::{
    FINDINGS_AGAIN, Listing, OPINIONS_AGAIN, POINTS_AGAIN, PromptError, SECOND_CHANCE, SOLUTION_AGAIN,
};
use dialectic_record::protocol::{Authorship, Delivery, OutputSpec, PromptContext};

use super::compare::{RawChallenge, RawKinds, RawRelations, RawScores};
use super::json::read_object;
use super::labels::{author, word_for};
use super::reply::{Ballot, Cast, Questions, RawJudgement, RoundScore};
use super::rulings::{RawRulings, Ruled};
use super::written::without_approach;
use super::{AnswerError, Assessment, Call, Written};

const NO_POINTS: &str = "it has no points in the requested format";

/// Called with every paid reply that is followed by another request, so that the reply is recorded first.
pub type OnReply = Arc<dyn Fn(StoredReply, CallRecord) + Send + Sync>;

pub type PaidReply = (StoredReply, CallRecord);

pub struct Ask {
    caller: Caller,
    request: Request,
    /// Replies from an earlier run, oldest first, so that they are not paid for twice.
    pub past: Vec<PaidReply>,
    on_reply: OnReply,
    /// The tools that the model may call; only set for texts and rulings on findings.
    pub tools: Option<Tools>,
    /// Whether the last reply came from `past` and is thus already recorded.
    is_kept: bool,
    metadata: Metadata,
}

#[derive(Clone)]
pub struct Tools {
    pub toolbox: Arc<Toolbox>,
    /// The maximum number of replies that call tools, whether or not the tools succeed.
    pub limit: u32,
    /// The maximum total length of all results, in characters.
    pub room: usize,
    /// Whether the call belongs to a review. If so, a model that rejects tools may answer without them, and the last
    /// tool results tell the model that it can call no more tools.
    pub is_review: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct RequestResult {
    /// The text that the model wrote, including answers to the points of a check but without the assessment. Empty if
    /// `value` was parsed from JSON.
    pub text: Arc<str>,
    pub value: Value,
    /// The last call; earlier ones were passed to `on_reply`.
    pub call: CallRecord,
    pub metadata: Metadata,
    /// `None` if no objections, answers to points or other statements were parsed from the text.
    pub reading: Option<Box<ParsedAnswer>>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    Text,
    Questions(Vec<String>),
    /// A score from 0 to 100.
    Score(f64),
    /// A vote for an agent's text.
    Choice(Cast<AgentId>),
    Word(Cast<&'static str>),
    Relations(Relations),
    Challenge(Challenge),
    Kinds(Vec<Observation>),
    Judgement(Judgement),
    /// The error says why no rulings could be read, even after a second request.
    Ruled(Ruled, Option<AnswerError>),
    /// The solution's `parse_error` says which parts of the assessment are missing.
    Solution(Box<Solution>),
    /// The answer cannot be used: its JSON remained unreadable after a second request, or a rewritten draft is empty or
    /// was cut off.
    Unreadable(AnswerError),
}

/// Requests an answer, and asks again if it cannot be used.
///
/// # Errors
///
/// Returns an error if a call fails permanently before there is an answer to keep, or fails because the server is
/// unavailable.
pub async fn answer(mut ask: Ask, call: &Call, judge: &AgentId) -> Result<RequestResult, FailedCall> {
    let Listing { labels, points, findings, decisions, requirements, criteria, numbered } = &call.listing;
    let pass = call.step.key.pass;
    match &call.step.answer {
        OutputSpec::Amendment => {
            let Reply { text, record, .. } = ask.text().await?;
            let (whole, rethought) = without_approach(&text);
            let (value, reading) = match rewritten(call, whole, record.cut()) {
                Ok((_, reading)) => (Value::Text, reading),
                Err(error) => (Value::Unreadable(error), None),
            };
            let metadata = Metadata { rethought: rethought && may_rethink(call), ..ask.metadata };
            Ok(RequestResult { text: whole.into(), value, call: record, metadata, reading })
        }
        OutputSpec::Text | OutputSpec::Summary | OutputSpec::Check(_) | OutputSpec::FollowUp => match &call.reads {
            Some(reads) if reads.asks_for_points() => ask.points(reads).await,
            Some(_) | None => {
                let Reply { text, record, .. } = ask.text().await?;
                let reading = call.read(&text);
                let (text, metadata) = (text.into(), ask.metadata);
                Ok(RequestResult { text, value: Value::Text, call: record, metadata, reading })
            }
        },
        OutputSpec::Questions { .. } => ask.value(Questions::read, Value::Questions).await,
        OutputSpec::Score(_) => ask.value(RoundScore::read, Value::Score).await,
        OutputSpec::Choice => ask.value(|text| Ballot::read(text, labels), Value::Choice).await,
        OutputSpec::Word(words) => ask.value(|text| Ballot::read_word(text, words), Value::Word).await,
        OutputSpec::Judgement => {
            ask.value(|text| RawJudgement::read(text, labels, criteria, pass), Value::Judgement).await
        }
        OutputSpec::Relations => {
            let read = |text: &str| RawRelations::read(text, decisions, requirements);
            ask.value(read, Value::Relations).await
        }
        OutputSpec::Challenge => ask.value(|text| RawChallenge::read(text, &points.points), Value::Challenge).await,
        OutputSpec::Kinds => ask.value(|text| RawKinds::read(text, numbered), Value::Kinds).await,
        OutputSpec::Scores(_) => {
            ask.value(|text| RawScores::read(text, labels, criteria, pass), Value::Judgement).await
        }
        OutputSpec::Json(kind) => {
            let (read, call) = ask.json(|text| read_object(text, kind.read)).await?;
            Ok(match read {
                Ok((json, text)) => {
                    let reading = ParsedAnswer { json: Some(json), ..ParsedAnswer::default() };
                    let result = RequestResult::of(Value::Text, call);
                    RequestResult { text: text.into(), reading: Some(Box::new(reading)), ..result }
                }
                Err(error) => RequestResult::of(Value::Unreadable(error), call),
            })
        }
        OutputSpec::FindingRulings => ask.rulings(findings).await,
        OutputSpec::Solution(authorship) => {
            let is_amended = *authorship == Authorship::Amended;
            let assess = |solution: &str| call.assess.as_ref().map(|assess| assess(solution)).transpose();
            let check = |assessment: &Assessment| match (is_amended, &assessment.base) {
                (false, _) => Ok(()),
                (true, Some(base)) => author(labels, base).map(drop),
                (true, None) => Err(AnswerError::Unfit { message: "it has no `base`".to_owned() }),
            };
            let (mut written, cut, record) = ask.written(assess, check).await?;
            let text: Arc<str> = written.solution.as_str().into();
            let rethought = written.assessment.rethought && may_rethink(call);
            let mut answered = RequestResult { text: Arc::clone(&text), ..RequestResult::of(Value::Text, record) };
            answered.metadata.rethought = rethought;
            let mut listed = Cow::Borrowed(&points.points);
            if call.step.shows == PromptContext::Draft {
                let whole = if is_without_solution(written.missing.as_ref()) { "" } else { &*text };
                match rewritten(call, whole, cut) {
                    Ok((bare, read)) => (written.solution, answered.reading) = (bare, read),
                    Err(error) => return Ok(RequestResult { value: Value::Unreadable(error), ..answered }),
                }
                // The author of the final text answers the points of the check. Points that the author does not accept
                // get rulings.
                let answers = answered.reading.as_ref().map_or(&[][..], |reading| &reading.answers);
                listed.to_mut().extend(written.assessment.rule_by(answers, &call.checked));
            }
            // Rulings on a draft do not apply to a different approach.
            let standing = if rethought { &[][..] } else { &call.standing };
            let is_amended = if let Authorship::Based(base) = authorship {
                written.assessment.base = word_for(labels, &base.agent_id).map(str::to_owned);
                true
            } else {
                is_amended
            };
            let solution = if is_amended {
                written.into_amended_solution(judge, labels, &listed, standing)
            } else {
                written.into_solution(judge, &listed, standing)
            };
            let value = Value::Solution(Box::new(Solution { cut, ..solution }));
            Ok(RequestResult { value, ..answered })
        }
    }
}

fn may_rethink(call: &Call) -> bool {
    call.step.delivery == Delivery::DraftIfRethought
}

fn is_without_solution(missing: Option<&AnswerError>) -> bool {
    let none = AnswerError::NoSolution.to_string();
    match missing {
        Some(AnswerError::NoSolution) => true,
        Some(AnswerError::NoSecondChance { error, .. }) => *error == none,
        _ => false,
    }
}

/// Rejects a text that is empty or was cut off, because the text would replace a whole draft. The returned text lacks
/// the answers to points.
fn rewritten(call: &Call, text: &str, cut: Option<Cut>) -> Result<(String, Option<Box<ParsedAnswer>>), AnswerError> {
    let reading = call.read(text);
    let bare = reading.as_ref().map_or(Cow::Borrowed(text), |reading| reading.without_answers(text)).into_owned();
    let is_nothing = bare.trim().is_empty();
    match cut {
        _ if is_nothing => Err(AnswerError::NoSolution.of_answer(cut)),
        Some(cut) => Err(AnswerError::Cut { error: "it is incomplete".to_owned(), cut }),
        None => Ok((bare, reading)),
    }
}

impl RequestResult {
    fn of(value: Value, call: CallRecord) -> Self {
        Self { text: Arc::default(), value, metadata: Metadata::of_calls([&call]), call, reading: None }
    }
}

impl Ask {
    pub fn new(caller: Caller, request: Request, on_reply: OnReply) -> Self {
        let (past, tools, is_kept, metadata) = (Vec::new(), None, false, Metadata::default());
        Self { caller, request, past, on_reply, tools, is_kept, metadata }
    }

    /// Runs the tools that the model calls and asks again, up to `tools.limit` times. The last call offers no tools,
    /// which forces a text.
    async fn text(&mut self) -> Result<Reply, FailedCall> {
        let begun = self.request.turns.len();
        self.go_on_with_past();
        loop {
            let looked_up = self.metadata.tool_call_iterations.unwrap_or(0);
            let shown: usize = self.metadata.tool_results.iter().map(|result| result.content.chars().count()).sum();
            let offered = self.tools.as_ref().filter(|tools| looked_up < tools.limit && shown < tools.room);
            self.request.tools = offered.map(|tools| tools.toolbox.specs()).unwrap_or_default();
            self.request.tools_are_optional = offered.is_some_and(|tools| tools.is_review);
            let left = offered.map_or(0, |tools| tools.room - shown);
            let is_last = offered.is_some_and(|tools| tools.is_review && looked_up + 1 == tools.limit);
            let toolbox = offered.map(|tools| Arc::clone(&tools.toolbox));
            let reply = match self.caller.call(&self.request).await {
                // The budget does not cover a request with tools, so ask again without them.
                Err(failed) if offered.is_some() && matches!(failed.error, ModelError::OverBudget { .. }) => {
                    self.tools = None;
                    continue;
                }
                // The tool results make the request too long for the budget, so drop the newest results and ask again.
                Err(failed)
                    if matches!(failed.error, ModelError::OverBudget { .. }) && self.request.turns.len() > begun =>
                {
                    self.request.turns.truncate(self.request.turns.len() - 2);
                    continue;
                }
                answered => answered?,
            };
            let Some(toolbox) = toolbox.filter(|_| !reply.tool_calls.is_empty()) else {
                self.metadata.add(&reply.record);
                return Ok(reply);
            };
            let tool_results = run_all(toolbox, &reply.tool_calls, left, is_last).await;
            let Reply { text, tool_calls, message, record, .. } = reply;
            let stored = StoredReply { text, tool_calls, message, tool_results, parse_error: None };
            (self.on_reply)(stored.clone(), record.clone());
            self.go_on(stored, &record);
        }
    }

    fn go_on_with_past(&mut self) {
        for (reply, record) in std::mem::take(&mut self.past) {
            self.go_on(reply, &record);
        }
    }

    fn go_on(&mut self, reply: StoredReply, record: &CallRecord) {
        let StoredReply { text, tool_calls: calls, message, tool_results, .. } = reply;
        self.metadata.add(record);
        self.metadata.tool_calls.extend(calls.iter().cloned());
        self.metadata.tool_results.extend(tool_results.iter().cloned());
        *self.metadata.tool_call_iterations.get_or_insert(0) += 1;
        self.request.turns.push(Turn::Assistant { text, calls, message });
        self.request.turns.push(Turn::ToolResults(tool_results));
    }

    /// Returns an unreadable text from an earlier run if there is one, so that only the second request is made.
    async fn first(&mut self) -> Result<Reply, FailedCall> {
        let unread = self.past.iter().position(|(reply, _)| reply.parse_error.is_some());
        let Some(at) = unread else { return self.text().await };
        let unread = self.past.split_off(at);
        self.go_on_with_past();
        self.past = unread;
        let first = self.next().await?;
        self.metadata.add(&first.record);
        Ok(first)
    }

    /// Asks for a text with points, and asks once more if points are missing. Keeps the first answer if the second call
    /// fails, unless the server is unavailable.
    async fn points(mut self, reads: &AnswerFormat) -> Result<RequestResult, FailedCall> {
        let first = self.first().await?;
        let result = |text: String, reading: ParsedAnswer, call, metadata| {
            let reading = Some(reading).filter(ParsedAnswer::says_something).map(Box::new);
            RequestResult { text: text.into(), value: Value::Text, call, metadata, reading }
        };
        let reading = reads.read(&first.text);
        if !reads.lacks_points(&reading) {
            return Ok(result(first.text, reading, first.record, self.metadata));
        }
        let texts: Vec<String> = reads.unread_texts(&first.text).iter().map(|of| format!("Text {of}")).collect();
        let missing = (!texts.is_empty()).then(|| list(&texts));
        self.keep(
            &first,
            &missing.as_ref().map_or(NO_POINTS.to_owned(), |texts| format!("it has no section for {texts}")),
        );
        self.ask_again(&first, once_more(reads, missing.as_deref()));
        self.request.tools = Arc::new([]);
        let call = match self.caller.call(&self.request).await {
            Ok(second) => {
                if let Some((text, reading)) = reads.joined(&first.text, &second.text) {
                    self.metadata.add(&second.record);
                    return Ok(result(text, reading, second.record, self.metadata));
                }
                second.record
            }
            // The first answer is recorded; the second request is repeated when the server is back.
            Err(failed) if failed.error.is_server_gone() => return Err(failed),
            Err(failed) => self.failed(&failed),
        };
        // The result is the first text, so its flags apply.
        let Metadata { truncated, filtered, interrupted, .. } = self.metadata;
        self.metadata.add(&call);
        let metadata = Metadata { truncated, filtered, interrupted, ..self.metadata };
        Ok(result(first.text, reading, call, metadata))
    }

    async fn value<T>(
        self,
        read: impl Fn(&str) -> Result<T, AnswerError>,
        wrap: impl Fn(T) -> Value,
    ) -> Result<RequestResult, FailedCall> {
        let (value, call) = self.json(read).await?;
        Ok(RequestResult::of(value.map_or_else(Value::Unreadable, wrap), call))
    }

    /// Asks for JSON, and asks once more with the error if `read` rejects the answer.
    ///
    /// # Errors
    ///
    /// Returns an error if the first call fails permanently, or a later call fails because the server is unavailable.
    pub async fn json<T>(
        mut self,
        read: impl Fn(&str) -> Result<T, AnswerError>,
    ) -> Result<(Result<T, AnswerError>, CallRecord), FailedCall> {
        let first = self.next().await?;
        self.json_after(first, read).await
    }

    async fn json_after<T>(
        &mut self,
        first: Reply,
        read: impl Fn(&str) -> Result<T, AnswerError>,
    ) -> Result<(Result<T, AnswerError>, CallRecord), FailedCall> {
        let error = match read(&first.text) {
            Ok(value) => return Ok((Ok(value), first.record)),
            Err(error) => error.of_answer(first.record.cut()),
        };
        let reason = error.to_string();
        // This template always renders, as tests ensure; the reason alone is only a fallback.
        let again = SECOND_CHANCE.with("error", &reason).unwrap_or_else(|_| reason.clone());
        self.ask_again(&first, again);
        self.keep(&first, &error);
        Ok(match self.next().await {
            Ok(second) => match read(&second.text) {
                Ok(value) => (Ok(value), second.record),
                Err(error) => (Err(error.of_answer(second.record.cut())), second.record),
            },
            // The first answer is recorded; the second request is repeated when the server is back.
            Err(failed) if failed.error.is_server_gone() => return Err(failed),
            Err(failed) => {
                let error = AnswerError::NoSecondChance { error: reason, message: failed.error.to_string() };
                (Err(error), self.failed(&failed))
            }
        })
    }

    async fn next(&mut self) -> Result<Reply, FailedCall> {
        self.is_kept = !self.past.is_empty();
        if self.is_kept {
            let (StoredReply { text, message, .. }, record) = self.past.remove(0);
            return Ok(Reply { text, message, record, ..Reply::default() });
        }
        self.caller.call(&self.request).await
    }

    /// Records a reply that another request will follow, unless an earlier run recorded it. Call this before the next
    /// request, so that the paid reply is not lost.
    fn keep(&self, reply: &Reply, error: &impl ToString) {
        if !self.is_kept {
            let (text, message) = (reply.text.clone(), reply.message.clone());
            let stored = StoredReply { text, message, parse_error: Some(error.to_string()), ..StoredReply::default() };
            (self.on_reply)(stored, reply.record.clone());
        }
    }

    fn ask_again(&mut self, Reply { text, message, .. }: &Reply, said: String) {
        let (text, message) = (text.clone(), message.clone());
        self.request.turns.push(Turn::Assistant { text, calls: Vec::new(), message });
        self.request.turns.push(Turn::User(said));
    }

    fn failed(&self, failed: &FailedCall) -> CallRecord {
        let unsent = self.caller.unsent(&self.request.model);
        match failed.spent.as_deref() {
            Some(spent) => {
                CallRecord { tokens: spent.tokens, cost_usd: spent.cost_usd, attempts: failed.attempts, ..unsent }
            }
            // The call was never sent, or its attempts are already charged.
            None => unsent,
        }
    }

    /// Asks for a solution with an assessment, and asks once more if the solution is missing. If the assessment is
    /// missing or `check` rejects it, asks for the assessment alone with the request from `assess`, and keeps the
    /// solution even if that fails.
    async fn written(
        mut self,
        assess: impl Fn(&str) -> Result<Option<Request>, PromptError> + Send,
        check: impl Fn(&Assessment) -> Result<(), AnswerError> + Send,
    ) -> Result<(Written, Option<Cut>, CallRecord), FailedCall> {
        let mut answer = self.next().await?;
        let mut written = Written::read(&answer.text);
        if written.solution.is_empty() {
            let again = SOLUTION_AGAIN.render(&()).unwrap_or_else(|_| AnswerError::NoSolution.to_string());
            self.ask_again(&answer, again);
            self.keep(&answer, &AnswerError::NoSolution);
            let raw = answer.text;
            let without =
                |missing| Written { solution: raw, assessment: Assessment::default(), missing: Some(missing) };
            match self.next().await {
                Ok(second) => {
                    written = Written::read(&second.text);
                    if written.solution.is_empty() {
                        return Ok((without(AnswerError::NoSolution), None, second.record));
                    }
                    answer = second;
                }
                Err(failed) if failed.error.is_server_gone() => return Err(failed),
                Err(failed) => {
                    let (error, message) = (AnswerError::NoSolution.to_string(), failed.error.to_string());
                    let missing = AnswerError::NoSecondChance { error, message };
                    return Ok((without(missing), None, self.failed(&failed)));
                }
            }
        }
        let cut = answer.record.cut();
        let accepted = |assessment: &Assessment, missing: Option<AnswerError>| match missing {
            Some(missing) => Some(missing),
            None => check(assessment).err(),
        };
        written.missing = accepted(&written.assessment, written.missing);
        let Some(error) = written.missing.clone() else {
            return Ok((written, cut, answer.record));
        };
        let Ok(Some(assessing)) = assess(&written.solution) else {
            return Ok((written, cut, answer.record));
        };
        self.keep(&answer, &error);
        self.request = assessing;
        let call = match self.next().await {
            Ok(second) => {
                let (mut assessment, missing) = Assessment::read(&second.text);
                if assessment.rulings.is_empty() {
                    assessment.rulings.clone_from(&written.assessment.rulings);
                }
                let missing = accepted(&assessment, missing).map(|error| error.of_answer(second.record.cut()));
                // A partial assessment does not replace another partial one.
                if missing.is_none() || written.assessment == Assessment::default() {
                    written = Written { assessment, missing, ..written };
                }
                second.record
            }
            Err(failed) if failed.error.is_server_gone() => return Err(failed),
            Err(failed) => {
                let message = failed.error.to_string();
                written.missing = Some(AnswerError::NoSecondChance { error: error.to_string(), message });
                self.failed(&failed)
            }
        };
        Ok((written, cut, call))
    }

    /// `numbers` identify the findings to rule on.
    async fn rulings(mut self, numbers: &[String]) -> Result<RequestResult, FailedCall> {
        // Many servers reject a schema together with tools, and the prompt describes the format anyway.
        let schema = if self.tools.is_some() { self.request.answer.take() } else { self.request.answer.clone() };
        let first = self.first().await?;
        (self.request.answer, self.request.tools) = (schema, Arc::new([]));
        let (ruled, record) = self.json_after(first, |text| RawRulings::read(text, numbers)).await?;
        let value = match ruled {
            Ok(ruled) => Value::Ruled(ruled, None),
            Err(error) => Value::Ruled(Ruled::default(), Some(error)),
        };
        Ok(RequestResult { metadata: self.metadata, ..RequestResult::of(value, record) })
    }
}

fn once_more(reads: &AnswerFormat, missing: Option<&str>) -> String {
    let said = match reads {
        AnswerFormat::Findings(..) => FINDINGS_AGAIN.render(&()),
        AnswerFormat::Opinion(_) => OPINIONS_AGAIN.render(&()),
        AnswerFormat::Critique(_)
        | AnswerFormat::Review { .. }
        | AnswerFormat::Check(_)
        | AnswerFormat::Answers { .. }
        | AnswerFormat::Final(_) => POINTS_AGAIN.with("texts", &missing),
    };
    // These templates always render, as tests ensure; the format alone is only a fallback.
    said.unwrap_or_else(|_| "1. [major] Part: what goes wrong.".to_owned())
}

/// Runs the tools on a blocking thread, because they read files. The results have at most `room` characters in total.
async fn run_all(toolbox: Arc<Toolbox>, calls: &[ToolCall], room: usize, is_last: bool) -> Vec<ToolResult> {
    let wanted = calls.to_vec();
    let run = spawn_blocking(move || toolbox.run_all(&wanted, room, is_last));
    // A panicking tool must not abort the debate; the model receives an error.
    run.await.unwrap_or_else(|_| calls.iter().map(|call| ToolResult::error(call, "the tool failed")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_for_points_names_the_texts_without_a_section() {
        let reads = AnswerFormat::Critique(Vec::new());
        let named = once_more(&reads, Some("Text 2"));
        assert!(named.contains("no section for Text 2"), "{named}");
        let whole = once_more(&reads, None);
        assert!(whole.contains("No points can be read"), "{whole}");
    }
}
