//! What happens in a debate, as the journal holds it.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use dialectic_base::call::CallRecord;
use dialectic_base::money::Usd;
use dialectic_base::tool_call::ToolCall;

use super::{
    AgentClarifications, AgentId, Answerer, Attachment, CallKey, CallStatus, Challenge, ChangeSet, Contribution,
    Convergence, Debate, DebateId, Evaluation, Failure, ForkedFrom, Gathered, Judgement, Metadata, Observation,
    Outcome, PromptSources, Relations, Selection, Settings, Solution, StageId, StageInfo, StopReason, Summary,
    Timestamp, Verdict, Voting,
};

/// An event in its place: the content of one journal line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Recorded {
    /// Counted from 1 without a gap.
    pub seq: u64,
    /// When it happened.
    pub at: Timestamp,
    /// What happened.
    #[serde(flatten)]
    pub event: Event,
}

/// What happens in a debate. A call's result and its price are one event: neither can be lost without the other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum Event {
    /// The debate exists.
    Created(Box<Created>),
    /// The debate was there before it had a journal.
    Imported {
        /// What its state file said.
        state: Box<Debate>,
    },
    /// A stage of the protocol was entered.
    #[serde(rename = "node-entered")]
    StageEntered {
        /// Which.
        #[serde(rename = "node")]
        stage: StageId,
    },
    /// A round began.
    RoundBegun {
        /// Its number.
        round: u32,
        /// The stage that it begins with, which is entered next.
        #[serde(rename = "node")]
        stage: StageId,
    },
    /// What the debate starts from was collected. It is never collected again.
    #[serde(rename = "context-gathered")]
    Gathered {
        /// What there is.
        #[serde(flatten)]
        gathered: Gathered,
    },
    /// It was decided who takes part.
    TeamSelected {
        /// Who, and why.
        #[serde(flatten)]
        selection: Selection,
    },
    /// The judge said how the decisions of a round relate.
    Related {
        /// Which call.
        key: CallKey,
        /// How.
        relations: Relations,
        /// What the call took.
        call: CallRecord,
    },
    /// Texts were compared by their embeddings. Earlier versions did that; it decided nothing.
    Compared {
        /// Which call.
        key: CallKey,
        /// How alike they are.
        similarities: serde_json::Value,
        /// What the call took.
        call: CallRecord,
    },
    /// It was measured how far the texts of a round agree.
    Measured {
        /// Which round.
        round: u32,
        /// How far.
        convergence: Convergence,
    },
    /// The judge looked for what stands against an agreement.
    Challenged {
        /// Which call.
        key: CallKey,
        /// What does.
        challenge: Challenge,
        /// What the call took.
        call: CallRecord,
    },
    /// The kinds of argument in a round were marked.
    Observed {
        /// Which call.
        key: CallKey,
        /// The kinds, by contribution.
        observations: Vec<Observation>,
        /// What the call took.
        call: CallRecord,
    },
    /// The debate goes on, because what won lacks something that it must not lack.
    Extended {
        /// The last round before the extension.
        round: u32,
        /// Whose text had won.
        winner: AgentId,
        /// The major requirements that it misses.
        missing: Vec<String>,
    },
    /// A call came back whose reply is not yet a result: tool calls, or JSON that cannot be read. Kept so that it is
    /// never made again.
    Replied {
        /// Which call.
        key: CallKey,
        /// What it said.
        reply: StoredReply,
        /// What it took.
        call: CallRecord,
    },
    /// An agent was asked what is unclear.
    QuestionsAsked {
        /// Which call; its pass counts how often all were asked.
        key: CallKey,
        /// Its new questions, with empty answers; none when all is clear to it.
        questions: AgentClarifications,
        /// What its last call took.
        call: CallRecord,
    },
    /// The user answered a question.
    QuestionAnswered {
        /// Whose.
        agent_id: AgentId,
        /// Which.
        item_id: String,
        /// The answer.
        answer: String,
        /// Who gave it in the user's place, where somebody did.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<Answerer>,
    },
    /// The user gives no further answers: open questions count as answered with none, and nobody asks any more.
    QuestionsEnded,
    /// An agent condensed its history, or the judge the rounds before the last.
    Summarized {
        /// Which call.
        key: CallKey,
        /// The summary.
        summary: Summary,
        /// What the call took.
        call: CallRecord,
    },
    /// An agent contributed.
    Contributed {
        /// Which call, or the one that was not needed.
        key: CallKey,
        /// What.
        contribution: Arc<Contribution>,
        /// What its last call took; absent when none was needed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<CallRecord>,
    },
    /// A call failed for good.
    CallFailed {
        /// Which, and why.
        failure: Failure,
        /// What its attempts took, where answers that were none were paid for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<CallRecord>,
    },
    /// Calls that had failed because their server was gone are made again.
    #[serde(rename = "calls-reopened")]
    Reopened {
        /// Which.
        keys: Vec<CallKey>,
    },
    /// A round ran into its limit.
    RoundTimedOut {
        /// Which.
        round: u32,
    },
    /// The judge scored a round.
    Evaluated {
        /// Which call.
        key: CallKey,
        /// The score.
        evaluation: Evaluation,
        /// What the call took; absent when it failed, which is on record then.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<CallRecord>,
    },
    /// The votes were counted.
    Voted {
        /// The result.
        voting: Voting,
        /// What the judge's casting vote took. Written by older versions, in whose records it is no ballot.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<CallRecord>,
    },
    /// Somebody who listens voted outside of a round.
    Polled {
        /// Which call.
        key: CallKey,
        /// What for.
        vote: String,
        /// Why.
        reason: String,
        /// What the call took.
        call: CallRecord,
    },
    /// The judge scored the debaters.
    Judged {
        /// Which call; its pass is the order in which the debaters were shown.
        key: CallKey,
        /// The scores, and who won.
        judgement: Judgement,
        /// What the call took.
        call: CallRecord,
    },
    /// What the judgements come to.
    Decided {
        /// Who won.
        verdict: Verdict,
    },
    /// A draft of the answer is there, which is checked before it is the answer.
    Drafted {
        /// Which call; absent when none was needed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key: Option<CallKey>,
        /// Its text, without an assessment; absent when it is on record as a contribution of its own.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<Arc<Contribution>>,
        /// The solution that it is unless something better takes its place.
        solution: Box<Solution>,
        /// What its last call took; absent when none was needed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<CallRecord>,
    },
    /// The cost limit has no room for the check of the draft, which stands as it is.
    CheckForgone,
    /// The solution was made.
    Synthesized {
        /// Which call; absent when none was needed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key: Option<CallKey>,
        /// Its text, without an assessment, where it takes the place of a draft that was checked: its
        /// [`Reading`](super::Reading) holds the answers to the check.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<Arc<Contribution>>,
        /// The solution.
        solution: Box<Solution>,
        /// What its last call took; absent when none was needed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<CallRecord>,
    },
    /// An attempt of a call is about to be sent: under a limit of the cost or of requests this much is set aside for it.
    /// The event with a [`CallRecord`] that names this one by its number settles it; one that nothing settles counts as
    /// spent.
    CostReserved {
        /// Which call.
        key: CallKey,
        /// What it could cost at most.
        usd: Usd,
        /// How many times the list price that is: more than 1 where the provider may state more.
        factor: f64,
        /// Bytes that it was bounded by: of the request, and of what a program adds to it.
        bytes: u64,
        /// Its output limit, in tokens; absent where no cost limit sets one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        max_tokens: Option<u32>,
    },
    /// An attempt of a call failed, and was billed or may have been; under a cost limit every failed attempt is
    /// recorded. The call may be tried again.
    AttemptFailed {
        /// Which call.
        key: CallKey,
        /// Why.
        error: String,
        /// What the attempt took; its cost is absent where nobody said, and 0 where nothing is billed.
        call: CallRecord,
    },
    /// Answers were kept shorter than they could have been, so that the debate fits its cost limit.
    OutputLimited {
        /// The output limit, in tokens.
        max_tokens: u32,
    },
    /// The cost that is known has reached the one from which the user wants to be warned.
    CostWarned {
        /// What it has cost.
        usd: Usd,
        /// From what on there is a warning.
        limit: Usd,
    },
    /// The user has taken notice of that.
    CostAcknowledged,
    /// The debate was told to close early.
    Stopping {
        /// Why.
        reason: StopReason,
    },
    /// The debate waits for the user.
    Suspended {
        /// Where.
        #[serde(rename = "node")]
        stage: StageId,
    },
    /// The debate was interrupted.
    Paused,
    /// The debate was taken up again.
    Resumed,
    /// The debate ended without an answer.
    Failed {
        /// Why.
        error: String,
    },
    /// The debate ended with an answer.
    Completed {
        /// How it went, by the rules of the build that wrote it; absent where that stated none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        outcome: Option<Outcome>,
    },
    /// The user asks something about a finished debate.
    FollowUpAsked {
        /// What.
        question: Arc<str>,
        /// Which agent is asked; absent where it is the judge.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        to: Option<AgentId>,
    },
    /// The judge, or the agent that was asked, answered a question of the user's about the finished debate.
    FollowUpAnswered {
        /// Which call; its pass is the number of the question, counted from 1.
        key: CallKey,
        /// The answer.
        answer: Arc<str>,
        /// How it came about.
        metadata: Metadata,
        /// What its last request took.
        call: CallRecord,
    },
    /// The user rated the debate. A later rating takes the place of an earlier one.
    Rated {
        /// 1 for good, -1 for bad.
        rating: i8,
        /// Why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<String>,
    },
    /// The user tagged the debate.
    Tagged {
        /// All tags that it has from now on, sorted.
        tags: Vec<String>,
    },
}

/// The format of journal and state that this version writes, and the latest that it reads.
pub const FORMAT_VERSION: u32 = 2;

/// What a debate begins with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Created {
    /// The format of journal and state.
    pub format_version: u32,
    /// The debate's id.
    pub id: DebateId,
    /// The problem, word for word.
    pub problem: Arc<str>,
    /// What the user added to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    /// Files that the user put beside the problem.
    #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
    pub attachments: Arc<[Attachment]>,
    /// The change that is reviewed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<Arc<ChangeSet>>,
    /// The effective configuration.
    pub settings: Settings,
    /// The stages of its protocol, in the order in which they are shown.
    pub stages: Arc<[StageInfo]>,
    /// Where each prompt came from.
    pub prompt_sources: PromptSources,
    /// The seed of every shuffle.
    pub seed: u32,
    /// The debate that this one branched off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forked_from: Option<ForkedFrom>,
}

impl Event {
    /// The end of a debate that was stopped before there was anything that it could be closed with.
    pub fn stopped_without_proposal() -> Self {
        Self::Failed { error: "it was stopped before anybody had made a proposal".to_owned() }
    }

    /// What the call took that this event is the result of; absent where there was none.
    pub fn call(&self) -> Option<&CallRecord> {
        self.parts().1
    }

    /// The call that this event ends, and its result.
    pub fn result(&self) -> Option<(&CallKey, CallResult<'_>)> {
        self.parts().0
    }

    /// The call that this event ends with its result, and what a call took: the one place that says so.
    fn parts(&self) -> (Option<(&CallKey, CallResult<'_>)>, Option<&CallRecord>) {
        let ended = |key, result, call| (Some((key, result)), call);
        match self {
            Self::QuestionsAsked { key, questions, call } => ended(key, CallResult::Questions(questions), Some(call)),
            Self::Summarized { key, summary, call } => ended(key, CallResult::Summary(summary), Some(call)),
            Self::Contributed { key, contribution, call: Some(call) } => {
                ended(key, CallResult::Contribution(contribution), Some(call))
            }
            Self::Contributed { key, call: None, .. } => ended(key, CallResult::CarriedOver, None),
            Self::Polled { key, vote, reason, call } => ended(key, CallResult::Vote { vote, reason }, Some(call)),
            Self::Judged { key, judgement, call } => ended(key, CallResult::Judgement(judgement), Some(call)),
            Self::FollowUpAnswered { key, answer, call, .. } => ended(key, CallResult::FollowUp(answer), Some(call)),
            Self::Related { key, relations, call } => ended(key, CallResult::Relations(relations), Some(call)),
            Self::Compared { key, call, .. } => ended(key, CallResult::Similarities, Some(call)),
            Self::Observed { key, observations, call } => {
                ended(key, CallResult::Observations(observations), Some(call))
            }
            Self::Challenged { key, challenge, call } => ended(key, CallResult::Challenge(challenge), Some(call)),
            Self::Evaluated { key, evaluation, call: Some(call) } => {
                ended(key, CallResult::Evaluation(evaluation), Some(call))
            }
            Self::Drafted { key: Some(key), solution, call, .. }
            | Self::Synthesized { key: Some(key), solution, call, .. } => {
                ended(key, CallResult::Solution(solution), call.as_ref())
            }
            Self::CallFailed { failure, call } => ended(&failure.key, CallResult::Failure(failure), call.as_ref()),
            Self::Replied { call, .. } | Self::AttemptFailed { call, .. } => (None, Some(call)),
            Self::Voted { call, .. }
            | Self::Drafted { key: None, call, .. }
            | Self::Synthesized { key: None, call, .. } => (None, call.as_ref()),
            Self::Created(_)
            | Self::Imported { .. }
            | Self::StageEntered { .. }
            | Self::RoundBegun { .. }
            | Self::Gathered { .. }
            | Self::TeamSelected { .. }
            | Self::Measured { .. }
            | Self::Extended { .. }
            | Self::QuestionAnswered { .. }
            | Self::QuestionsEnded
            | Self::Reopened { .. }
            | Self::RoundTimedOut { .. }
            | Self::Evaluated { call: None, .. }
            | Self::Decided { .. }
            | Self::CostReserved { .. }
            | Self::OutputLimited { .. }
            | Self::CostWarned { .. }
            | Self::CostAcknowledged
            | Self::Stopping { .. }
            | Self::CheckForgone
            | Self::Suspended { .. }
            | Self::Paused
            | Self::Resumed
            | Self::Failed { .. }
            | Self::Completed { .. }
            | Self::FollowUpAsked { .. }
            | Self::Rated { .. }
            | Self::Tagged { .. } => (None, None),
        }
    }

    /// [`call`](Self::call), to be changed.
    pub(super) fn call_mut(&mut self) -> Option<&mut CallRecord> {
        match self {
            Self::Replied { call, .. }
            | Self::AttemptFailed { call, .. }
            | Self::QuestionsAsked { call, .. }
            | Self::Summarized { call, .. }
            | Self::Polled { call, .. }
            | Self::FollowUpAnswered { call, .. }
            | Self::Related { call, .. }
            | Self::Compared { call, .. }
            | Self::Challenged { call, .. }
            | Self::Observed { call, .. }
            | Self::Judged { call, .. } => Some(call),
            Self::Contributed { call, .. }
            | Self::CallFailed { call, .. }
            | Self::Evaluated { call, .. }
            | Self::Voted { call, .. }
            | Self::Drafted { call, .. }
            | Self::Synthesized { call, .. } => call.as_mut(),
            _ => None,
        }
    }

    /// Whether it belongs to what a user does with a debate that is there, and not to how that came about.
    pub fn is_about_the_record(&self) -> bool {
        matches!(
            self,
            Self::FollowUpAsked { .. } | Self::FollowUpAnswered { .. } | Self::Rated { .. } | Self::Tagged { .. }
        )
    }

    /// The call that this event ends, and how.
    pub fn settles(&self) -> Option<(&CallKey, CallStatus)> {
        self.result().map(|(key, result)| (key, result.status()))
    }
}

/// What a call came to.
#[derive(Debug, Clone, Copy)]
pub enum CallResult<'a> {
    /// An agent's new questions.
    Questions(&'a AgentClarifications),
    /// A summary.
    Summary(&'a Summary),
    /// A text or a ballot.
    Contribution(&'a Arc<Contribution>),
    /// An earlier text, which took no call.
    CarriedOver,
    /// A listener's vote.
    Vote {
        /// What for.
        vote: &'a str,
        /// Why.
        reason: &'a str,
    },
    /// The judge's scores of the debaters.
    Judgement(&'a Judgement),
    /// The answer to a question about the finished debate.
    FollowUp(&'a Arc<str>),
    /// How the decisions of a round relate.
    Relations(&'a Relations),
    /// How alike texts are.
    Similarities,
    /// The kinds of argument in a round.
    Observations(&'a [Observation]),
    /// What stands against an agreement.
    Challenge(&'a Challenge),
    /// The score of a round.
    Evaluation(&'a Evaluation),
    /// The answer, or a draft of it.
    Solution(&'a Solution),
    /// None: the call failed for good.
    Failure(&'a Failure),
}

impl CallResult<'_> {
    /// How the call ended.
    pub fn status(self) -> CallStatus {
        match self {
            Self::Questions(questions) if questions.items.is_empty() => CallStatus::Empty,
            Self::Challenge(challenge) if challenge.is_empty() => CallStatus::Empty,
            // A score that cannot be read is one that nobody has.
            Self::Evaluation(evaluation) if evaluation.score.is_none() => CallStatus::Failed,
            Self::Failure(_) => CallStatus::Failed,
            Self::Questions(_)
            | Self::Summary(_)
            | Self::Contribution(_)
            | Self::CarriedOver
            | Self::Vote { .. }
            | Self::Judgement(_)
            | Self::FollowUp(_)
            | Self::Relations(_)
            | Self::Similarities
            | Self::Observations(_)
            | Self::Challenge(_)
            | Self::Evaluation(_)
            | Self::Solution(_) => CallStatus::Done,
        }
    }
}

/// A reply that is not yet a result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StoredReply {
    /// Its text.
    pub text: String,
    /// Tools that the model wants called.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolCall>,
    /// What those tools answered, in the same order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_results: Vec<dialectic_base::tool_call::ToolResult>,
    /// Why it could not be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parse_error: Option<String>,
}
