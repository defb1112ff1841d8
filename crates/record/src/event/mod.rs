//! The events of a debate, as saved in the journal.

// Every match must name all variants, so that a new one cannot be overlooked.
#![cfg_attr(not(test), warn(clippy::wildcard_enum_match_arm))]

mod fold;
mod fork;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use dialectic_base::call::{CallRecord, ToolCall};
use dialectic_base::money::{BudgetLimit, Usd};

use crate::answer::{Challenge, Convergence, Judgement, Observation, Relations, Solution, Verdict, Voting};
use crate::change::ChangeSet;
use crate::debate::{
    AgentClarifications, Answerer, Attachment, Contribution, Debate, Evaluation, Failure, Gathered, Metadata, Outcome,
    Selection, StopReason, Summary,
};
use crate::ids::{AgentId, CallKey, CallStatus, DebateId, StageId, StageInfo, Timestamp};
use crate::settings::{PromptSources, Settings};

pub use fold::{FoldError, fold};
pub use fork::{ForkError, ForkPoint, ForkedFrom, check_taken_over, fork, proposals_for};

/// A numbered event: one line of the journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Recorded {
    /// Counts from 1 without gaps.
    pub seq: u64,
    pub at: Timestamp,
    #[serde(flatten)]
    pub event: Event,
}

/// What happened in a debate. A call's result and its cost are in the same event, so that neither can be lost alone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum Event {
    /// The first event of a new debate.
    Created(Box<Created>),
    /// The first event of a debate that was saved without a journal.
    Imported { state: Box<Debate> },
    #[serde(rename = "node-entered")]
    StageEntered {
        #[serde(rename = "node")]
        stage: StageId,
    },
    RoundBegun {
        round: u32,
        /// The round's first stage, which is entered next.
        #[serde(rename = "node")]
        stage: StageId,
    },
    /// The initial data was collected. Occurs at most once.
    #[serde(rename = "context-gathered")]
    Gathered {
        #[serde(flatten)]
        gathered: Gathered,
    },
    TeamSelected {
        #[serde(flatten)]
        selection: Selection,
    },
    /// The judge related the decisions of a round.
    Related { key: CallKey, relations: Relations, call: CallRecord },
    /// The agreement of a round's texts was computed, which needs no call.
    Measured { round: u32, convergence: Convergence },
    /// The judge looked for objections to the agreement. The challenge is empty if it found none.
    Challenged { key: CallKey, challenge: Challenge, call: CallRecord },
    /// The judge determined the kinds of argument in a round.
    Observed { key: CallKey, observations: Vec<Observation>, call: CallRecord },
    Extended {
        /// The last round before the extension.
        round: u32,
        winner: AgentId,
        /// The major requirements that the winning text misses.
        missing: Vec<String>,
    },
    /// A call returned tool calls or unreadable JSON instead of a result. Saved so that the reply need not be paid for
    /// again.
    Replied { key: CallKey, reply: StoredReply, call: CallRecord },
    QuestionsAsked {
        /// The pass is the number of times that the agent has been asked for questions, including this call.
        key: CallKey,
        /// The new questions, still unanswered; empty if the agent has none.
        questions: AgentClarifications,
        call: CallRecord,
    },
    QuestionAnswered {
        /// The agent that asked the question.
        agent_id: AgentId,
        /// The [`id`](crate::debate::Clarification::id) of the question.
        item_id: String,
        answer: String,
        /// The program that answered for the user, if any.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<Answerer>,
    },
    /// The agents ask no more questions. Each open question is recorded as one that the user declined to answer.
    QuestionsEnded {
        /// The program that acted for the user, if any.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<Answerer>,
    },
    /// An agent summarized its history, or the judge summarized the earlier rounds.
    Summarized { key: CallKey, summary: Summary, call: CallRecord },
    Contributed {
        /// Identifies the text even if no call was needed to write it.
        key: CallKey,
        contribution: Arc<Contribution>,
        /// The last request; absent if none was needed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<CallRecord>,
    },
    /// A call failed permanently.
    CallFailed {
        failure: Failure,
        /// Present if the call was or may have been billed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<CallRecord>,
    },
    /// Calls that failed because their server was unreachable will be repeated.
    #[serde(rename = "calls-reopened")]
    Reopened { keys: Vec<CallKey> },
    /// A round exceeded its time limit and makes no further calls.
    RoundTimedOut { round: u32 },
    Evaluated {
        key: CallKey,
        evaluation: Evaluation,
        /// Absent if the call failed, which another event records.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<CallRecord>,
    },
    /// The ballots were counted.
    Voted { voting: Voting },
    /// A member of the audience voted.
    Polled { key: CallKey, vote: String, reason: String, call: CallRecord },
    Judged {
        /// An even pass means that the judge read the debaters' texts in reverse order.
        key: CallKey,
        judgement: Judgement,
        call: CallRecord,
    },
    /// The judgements were combined into a verdict.
    Decided { verdict: Verdict },
    Drafted {
        /// Absent if no call was needed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key: Option<CallKey>,
        /// The text without the assessment; absent if the text is recorded as a contribution.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<Arc<Contribution>>,
        /// The debate's solution, unless a later text replaces it.
        solution: Box<Solution>,
        /// The last request; absent if none was needed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<CallRecord>,
    },
    /// The cost or call limit left no room to check the draft.
    CheckForgone,
    Synthesized {
        /// Absent if no call was needed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key: Option<CallKey>,
        /// The text without the assessment; present if it replaces a checked draft. The
        /// [`ParsedAnswer`](crate::points::ParsedAnswer) of the text contains the answers to the check.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<Arc<Contribution>>,
        solution: Box<Solution>,
        /// The last request; absent if none was needed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<CallRecord>,
    },
    /// An attempt is about to be sent. Its maximum cost and one request are reserved: they reduce the remaining budget
    /// until the event whose [`CallRecord`] contains this event's number replaces them with the actual cost.
    CostReserved {
        key: CallKey,
        usd: Usd,
        /// The factor applied to the list price: more than 1 if the provider may charge more.
        factor: f64,
        /// The number of bytes from which the maximum cost was computed: the request, and any text that a command
        /// provider's program adds.
        bytes: u64,
        /// The output limit in tokens; absent if no cost limit requires one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        max_tokens: Option<u32>,
    },
    /// An attempt failed and may have been billed; its call may be retried. Under a cost limit, every failed attempt is
    /// recorded.
    AttemptFailed {
        key: CallKey,
        error: String,
        /// The cost is absent if unknown, and 0 if the attempt is not billed.
        call: CallRecord,
    },
    /// The output limit was lowered to keep the debate within its cost limit.
    OutputLimited {
        /// The new output limit, in tokens.
        max_tokens: u32,
    },
    CostWarned {
        usd: Usd,
        /// The warning threshold, not the cost limit.
        limit: Usd,
    },
    /// The user acknowledged the cost warning.
    CostAcknowledged,
    /// The debate closes early, at the user's request or because of its cost or call limit.
    Stopping { reason: StopReason },
    /// The debate is waiting for the user.
    Suspended {
        #[serde(rename = "node")]
        stage: StageId,
    },
    /// The debate was interrupted.
    Paused,
    /// The debate continues after a pause or failure, with a new limit if the user set one.
    Resumed(BudgetLimit),
    /// The debate ended without an answer.
    Failed { error: String },
    /// The debate ended with an answer.
    Completed {
        /// The outcome, derived from the state by the version that wrote the event.
        outcome: Outcome,
    },
    /// The user asked a question about the finished debate.
    FollowUpAsked { question: Arc<str> },
    FollowUpAnswered {
        /// The pass is the question's number, from 1.
        key: CallKey,
        answer: Arc<str>,
        metadata: Metadata,
        call: CallRecord,
    },
    /// The user rated the answer. Replaces an earlier rating.
    Rated {
        /// 1 for good, -1 for bad.
        rating: i8,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<String>,
    },
}

/// The format of journals and state files that this version writes. Later formats cannot be read.
pub const FORMAT_VERSION: u32 = 2;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Created {
    pub format_version: u32,
    pub id: DebateId,
    pub problem: Arc<str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
    pub attachments: Arc<[Attachment]>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<Arc<ChangeSet>>,
    pub settings: Settings,
    /// The stages of the protocol in display order.
    pub stages: Arc<[StageInfo]>,
    /// Absent until the agents' prompts have been loaded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt_sources: Option<PromptSources>,
    /// The seed of every shuffle.
    pub seed: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forked_from: Option<ForkedFrom>,
}

/// Matches the events that have no call, as long as every match names all events.
#[macro_export]
macro_rules! event_without_call {
    () => {
        $crate::event::Event::Created(_)
            | $crate::event::Event::Imported { .. }
            | $crate::event::Event::StageEntered { .. }
            | $crate::event::Event::RoundBegun { .. }
            | $crate::event::Event::Gathered { .. }
            | $crate::event::Event::TeamSelected { .. }
            | $crate::event::Event::Measured { .. }
            | $crate::event::Event::Extended { .. }
            | $crate::event::Event::QuestionAnswered { .. }
            | $crate::event::Event::QuestionsEnded { .. }
            | $crate::event::Event::Reopened { .. }
            | $crate::event::Event::RoundTimedOut { .. }
            | $crate::event::Event::Voted { .. }
            | $crate::event::Event::Decided { .. }
            | $crate::event::Event::CostReserved { .. }
            | $crate::event::Event::OutputLimited { .. }
            | $crate::event::Event::CostWarned { .. }
            | $crate::event::Event::CostAcknowledged
            | $crate::event::Event::Stopping { .. }
            | $crate::event::Event::CheckForgone
            | $crate::event::Event::Suspended { .. }
            | $crate::event::Event::Paused
            | $crate::event::Event::Resumed(_)
            | $crate::event::Event::Failed { .. }
            | $crate::event::Event::Completed { .. }
            | $crate::event::Event::FollowUpAsked { .. }
            | $crate::event::Event::Rated { .. }
    };
}

/// A macro, because [`Event::call`] and [`Event::call_mut`] differ only in how they borrow the call.
macro_rules! call_of {
    ($event:expr) => {
        match $event {
            Event::Replied { call, .. }
            | Event::AttemptFailed { call, .. }
            | Event::QuestionsAsked { call, .. }
            | Event::Summarized { call, .. }
            | Event::Polled { call, .. }
            | Event::FollowUpAnswered { call, .. }
            | Event::Related { call, .. }
            | Event::Challenged { call, .. }
            | Event::Observed { call, .. }
            | Event::Judged { call, .. } => Some(call),
            Event::Contributed { call, .. }
            | Event::CallFailed { call, .. }
            | Event::Evaluated { call, .. }
            | Event::Drafted { call, .. }
            | Event::Synthesized { call, .. } => call.into(),
            event_without_call!() => None,
        }
    };
}

impl Event {
    pub fn stopped_without_proposal() -> Self {
        Self::Failed { error: "stopped before any agent had made a proposal".to_owned() }
    }

    pub fn call(&self) -> Option<&CallRecord> {
        call_of!(self)
    }

    pub(crate) fn call_mut(&mut self) -> Option<&mut CallRecord> {
        call_of!(self)
    }

    /// Whether the event is a rating, a follow-up question or its answer, rather than a step of the debate.
    pub fn is_about_the_record(&self) -> bool {
        matches!(self, Self::FollowUpAsked { .. } | Self::FollowUpAnswered { .. } | Self::Rated { .. })
    }

    /// The call that the event ends, and the call's status. `None` if the event does not end a call.
    #[expect(clippy::unnested_or_patterns, reason = "a pattern of a macro cannot be nested")]
    pub fn settles(&self) -> Option<(&CallKey, CallStatus)> {
        match self {
            Self::QuestionsAsked { key, questions, .. } if questions.items.is_empty() => Some((key, CallStatus::Empty)),
            Self::Challenged { key, challenge, .. } if challenge.is_empty() => Some((key, CallStatus::Empty)),
            // A call whose score could not be read has failed.
            Self::Evaluated { key, evaluation, call: Some(_) } if evaluation.score.is_none() => {
                Some((key, CallStatus::Failed))
            }
            Self::CallFailed { failure, .. } => Some((&failure.key, CallStatus::Failed)),
            Self::QuestionsAsked { key, .. }
            | Self::Summarized { key, .. }
            | Self::Contributed { key, .. }
            | Self::Polled { key, .. }
            | Self::Judged { key, .. }
            | Self::FollowUpAnswered { key, .. }
            | Self::Related { key, .. }
            | Self::Observed { key, .. }
            | Self::Challenged { key, .. }
            | Self::Evaluated { key, call: Some(_), .. }
            | Self::Drafted { key: Some(key), .. }
            | Self::Synthesized { key: Some(key), .. } => Some((key, CallStatus::Done)),
            Self::Replied { .. }
            | Self::AttemptFailed { .. }
            | Self::Drafted { key: None, .. }
            | Self::Synthesized { key: None, .. }
            | Self::Evaluated { call: None, .. }
            | event_without_call!() => None,
        }
    }
}

/// A reply that is not the final result of its call.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StoredReply {
    pub text: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolCall>,
    /// The server's message, if it contains more than text and tool calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<serde_json::Value>,
    /// The results of `tool_calls`, in the same order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_results: Vec<dialectic_base::call::ToolResult>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parse_error: Option<String>,
}
