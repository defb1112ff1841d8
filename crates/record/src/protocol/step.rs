//! A call that a protocol wants.

use crate::debate::{CallKey, Lens, TerminationKind};
use crate::prompt::Prompt;

use super::JsonAnswerKind;

/// A call: the agent, its inputs, its prompt, and the use of its answer.
#[derive(Debug, Clone)]
pub struct Step {
    pub key: CallKey,
    /// The calls that must have ended before this one. From unfinished rounds, its prompt shows only the existing
    /// texts, in this order.
    pub inputs: Vec<CallKey>,
    pub prompt: &'static Prompt,
    /// The texts that it shows.
    pub shows: PromptContext,
    /// The expected answer.
    pub answer: OutputSpec,
    /// The use of its solution.
    pub delivery: Delivery,
    /// The class under a cost limit.
    pub cost: BudgetClass,
    /// A notice for an unusual call, shown when it starts.
    pub notice: Option<String>,
}

impl Step {
    /// Whether its author may use tools: to write a text, or to rule on findings.
    pub fn may_use_tools(&self) -> bool {
        matches!(self.answer, OutputSpec::Text | OutputSpec::FindingRulings)
    }

    /// A call without inputs, part of a complete round.
    pub fn new(key: CallKey, prompt: &'static Prompt, answer: OutputSpec) -> Self {
        Self {
            key,
            inputs: Vec::new(),
            prompt,
            shows: PromptContext::Inputs,
            answer,
            delivery: Delivery::Answer,
            cost: BudgetClass::Round,
            notice: None,
        }
    }

    /// Adds `inputs` to wait for.
    pub fn after(mut self, inputs: impl IntoIterator<Item = CallKey>) -> Self {
        self.inputs.extend(inputs);
        self
    }

    /// Sets the shown texts.
    pub fn showing(mut self, shows: PromptContext) -> Self {
        self.shows = shows;
        self
    }

    /// Sets the use of its solution.
    pub fn delivered(mut self, delivery: Delivery) -> Self {
        self.delivery = delivery;
        self
    }

    /// Sets its class under a cost limit.
    pub fn paid(mut self, cost: BudgetClass) -> Self {
        self.cost = cost;
        self
    }

    /// Sets its notice.
    pub fn saying(mut self, notice: Option<String>) -> Self {
        self.notice = notice;
        self
    }
}

/// The texts in a call's prompt, besides the problem and the clarifications.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PromptContext {
    /// Only its inputs.
    Inputs,
    /// The inputs and the agent's own history: its summary, or its part in the finished rounds.
    InputsAndHistory,
    /// The inputs without authors, in an order that depends only on the debate's seed and this salt.
    Candidates {
        /// The salt of this shuffle.
        salt: u32,
    },
    /// Candidates in the opposite order.
    CandidatesReversed {
        /// The salt of the reversed shuffle.
        salt: u32,
    },
    /// The inputs, and the disputed matters of the previous round.
    InputsAndDispute,
    /// The decisions of its inputs, numbered, each wording once, without authors.
    Decisions,
    /// The inputs without authors, numbered in order and shortened.
    Numbered,
    /// The inputs without authors, under their numbers in the debate; the agent's own is separate.
    Texts,
    /// The agent's own texts in the finished rounds, and remarks about them.
    OwnTexts,
    /// Everything said so far, in order.
    Transcript,
    /// Everything said, without names. `reversed` puts the debaters in the opposite order.
    AnonymousTranscript {
        /// Whether the order is reversed.
        reversed: bool,
    },
    /// The earlier rounds without names.
    EarlierRounds,
    /// The last round in full and the earlier ones, or their summary, without names.
    WholeDebate,
    /// The findings of its inputs in a change, numbered and without authors; the judge also gets the opinions on them.
    Findings,
    /// The draft of the answer, with its checks among the inputs, and the points that it claims to have met.
    Draft,
    /// [`WholeDebate`](Self::WholeDebate) with the authors, the solution, and the earlier follow-up questions and
    /// answers.
    Record,
}

/// The expected answer and how to read it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OutputSpec {
    /// Plain text.
    Text,
    /// Questions to the user.
    Questions {
        /// The maximum; further ones are dropped.
        most: u32,
    },
    /// A summary, cut at the agent's maximum length.
    Summary,
    /// A score of the round.
    Score(TerminationKind),
    /// One of the candidates.
    Choice,
    /// One of these words.
    Word(&'static [&'static str]),
    /// The relations of the shown decisions.
    Relations,
    /// Objections to the candidates' agreement.
    Challenge,
    /// The kinds of argument in each of its inputs.
    Kinds,
    /// Scores of the debaters on the judge's criteria, and the winner.
    Judgement,
    /// Scores of the candidates on each of the judge's criteria (by default these), and each candidate's missed
    /// requirements.
    Scores(&'static [&'static str]),
    /// Faults of a draft through this lens, as points. The reader has no role and no tools.
    Check(Lens),
    /// A text by the draft's author that replaces it, and whether the approach stays.
    Amendment,
    /// Rulings on findings. Findings and rulings together are the debate's answer.
    FindingRulings,
    /// JSON of the protocol's own.
    Json(&'static JsonAnswerKind),
    /// The answer of the debate.
    Solution(Authorship),
    /// The answer to a follow-up question.
    FollowUp,
}

/// The author of a solution's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Authorship {
    Judge,
    /// A candidate, amended by the judge, whose assessment names it.
    Amended,
    /// The author of this call, amended by the judge.
    Based(CallKey),
}

/// The use of a solution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    /// The text is the answer of the debate.
    Answer,
    /// The text is a draft of the answer.
    Draft,
    /// The text is the answer, or another draft if its author abandoned the approach.
    DraftIfRethought,
}

/// A call's class under a cost limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BudgetClass {
    /// Dispensable: omitted unless it fits in addition to everything else.
    Extra,
    /// Part of a complete round. If it does not fit, the debate closes.
    Round,
    /// Decides how the debate continues or ends. If it does not fit in addition to the closing, the debate closes.
    Decision,
    /// Required for the answer: its cost is reserved from the beginning.
    Closing,
    /// Checks the answer. Either all of these calls are made or none; they have priority over every round but the
    /// first.
    Check,
}
