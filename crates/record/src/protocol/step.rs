//! A call that a protocol requests.

use crate::debate::Lens;
use crate::ids::CallKey;
use crate::prompt::Prompt;
use crate::settings::TerminationKind;

use super::JsonAnswerKind;

#[derive(Debug, Clone)]
pub struct Step {
    pub key: CallKey,
    /// The calls that must end before this one starts. From unfinished rounds, the prompt shows only the texts of these
    /// calls, in this order.
    pub inputs: Vec<CallKey>,
    pub prompt: &'static Prompt,
    pub shows: PromptContext,
    pub answer: OutputSpec,
    pub delivery: Delivery,
    pub cost: BudgetClass,
    /// A notice for an unusual call, shown when it starts.
    pub notice: Option<String>,
}

impl Step {
    pub fn may_use_tools(&self) -> bool {
        matches!(self.answer, OutputSpec::Text | OutputSpec::FindingRulings)
    }

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

    pub fn after(mut self, inputs: impl IntoIterator<Item = CallKey>) -> Self {
        self.inputs.extend(inputs);
        self
    }

    pub fn showing(mut self, shows: PromptContext) -> Self {
        self.shows = shows;
        self
    }

    pub fn delivered(self, delivery: Delivery) -> Self {
        Self { delivery, ..self }
    }

    pub fn paid(self, cost: BudgetClass) -> Self {
        Self { cost, ..self }
    }
}

/// The texts in a call's prompt, besides the problem and the clarifications.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PromptContext {
    Inputs,
    /// The inputs and the agent's own history: its summary, or its texts in the finished rounds and the critiques of
    /// them.
    InputsAndHistory,
    /// The inputs without authors, in an order that depends only on the debate's seed and this salt.
    Candidates {
        salt: u32,
    },
    /// Like [`Candidates`](Self::Candidates) with the same salt, but in reverse order.
    CandidatesReversed {
        salt: u32,
    },
    /// The inputs, and what was in dispute after the previous round.
    InputsAndDispute,
    /// The decisions in the inputs, numbered and without authors. Each wording appears once.
    Decisions,
    /// The inputs without authors, numbered in order and shortened.
    Numbered,
    /// The inputs without authors, under their numbers in the debate. The agent's own text is shown separately.
    Texts,
    /// The agent's own texts in the finished rounds, and the critiques of them.
    OwnTexts,
    /// Everything said so far, in order.
    Transcript,
    /// Everything said, without names. `reversed` puts the debaters in the opposite order.
    AnonymousTranscript {
        reversed: bool,
    },
    /// The earlier rounds without names.
    EarlierRounds,
    /// The last round in full and the earlier ones, or their summary, without names.
    WholeDebate,
    /// The findings in the inputs, numbered and without authors, and for the judge also the opinions on them.
    Findings,
    /// The draft of the answer, the checks among the inputs, and the points that the draft claims to meet.
    Draft,
    /// [`WholeDebate`](Self::WholeDebate) with the authors, the solution, and the earlier follow-up questions and
    /// answers.
    Record,
}

/// The kind of answer that a call expects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OutputSpec {
    Text,
    Questions {
        /// The maximum number of questions; further ones are dropped.
        most: u32,
    },
    /// A summary, cut at the agent's maximum length.
    Summary,
    Score(TerminationKind),
    Choice,
    Word(&'static [&'static str]),
    /// How the shown decisions relate to each other.
    Relations,
    /// Objections to the candidates' agreement.
    Challenge,
    /// The kinds of argument in each input.
    Kinds,
    /// Scores of the debaters on the judge's criteria, and the winner.
    Judgement,
    /// Scores of the candidates on the judge's criteria, and the requirements that each candidate misses. The field has
    /// the default criteria.
    Scores(&'static [&'static str]),
    /// The faults that a checker finds in a draft with this lens, as points. The checker has no role and no tools.
    Check(Lens),
    /// A text by the draft's author that replaces the draft, and whether it keeps the draft's approach.
    Amendment,
    /// Rulings on findings. Findings and rulings together are the debate's answer.
    FindingRulings,
    Json(&'static JsonAnswerKind),
    /// The answer of the debate, or a draft of it.
    Solution(Authorship),
    FollowUp,
}

/// Who writes the text of a solution.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Authorship {
    Judge,
    /// A candidate that the judge names in the assessment. The judge amends this candidate's text.
    Amended,
    /// The author of this call. The judge amends the text.
    Based(CallKey),
}

/// What a solution becomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    Answer,
    Draft,
    /// The answer, or another draft if its author abandoned the approach.
    DraftIfRethought,
}

/// How a cost limit affects a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BudgetClass {
    /// Optional: omitted unless the limit covers this call in addition to everything else.
    Extra,
    /// Part of a complete round. If the limit does not cover this call, the debate goes to its closing stage.
    Round,
    /// Decides how the debate continues or ends. If the limit does not cover this call in addition to the closing, the
    /// debate goes to its closing stage.
    Decision,
    /// Required for the answer: its cost is reserved from the beginning.
    Closing,
    /// Checks the answer. If the limit does not cover all of these calls, the check is skipped. They have priority over
    /// every round but the first.
    Check,
}
