//! A call that a protocol wants made.

use crate::debate::{CallKey, Lens, TerminationKind};
use crate::prompt::Prompt;

/// One call: who is asked, after which calls, with which prompt, and what becomes of the answer.
#[derive(Debug, Clone)]
pub struct Step {
    /// Which call.
    pub key: CallKey,
    /// The calls that must have ended before. Of unfinished rounds its prompt shows only their texts, in this order, as
    /// far as they exist.
    pub inputs: Vec<CallKey>,
    /// What is said.
    pub prompt: &'static Prompt,
    /// Which texts are shown.
    pub shows: PromptContext,
    /// What has to come back.
    pub answer: OutputSpec,
    /// What becomes of a solution that comes back.
    pub delivery: Delivery,
    /// How it is paid.
    pub cost: BudgetClass,
    /// Said when it starts, where it is out of the ordinary.
    pub notice: Option<String>,
}

impl Step {
    /// A call that waits for nothing and is part of a complete round.
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

    /// As one that waits for `inputs`.
    pub fn after(mut self, inputs: impl IntoIterator<Item = CallKey>) -> Self {
        self.inputs.extend(inputs);
        self
    }

    /// As one that is shown more than its inputs.
    pub fn showing(mut self, shows: PromptContext) -> Self {
        self.shows = shows;
        self
    }

    /// As one whose solution is delivered in another way.
    pub fn delivered(mut self, delivery: Delivery) -> Self {
        self.delivery = delivery;
        self
    }

    /// As one that is paid in another way.
    pub fn paid(mut self, cost: BudgetClass) -> Self {
        self.cost = cost;
        self
    }

    /// As one of which something is said when it starts.
    pub fn saying(mut self, notice: Option<String>) -> Self {
        self.notice = notice;
        self
    }
}

/// Which texts of the debate a call is shown, beside the problem and the clarifications.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PromptContext {
    /// None but its inputs.
    Inputs,
    /// Its inputs, and the agent's own history: its summary, or what concerns it in the finished rounds.
    InputsAndHistory,
    /// Its inputs without their authors, in an order that depends on the debate's seed and this salt alone.
    Candidates {
        /// What tells this shuffle apart from the others of the debate.
        salt: u32,
    },
    /// The same in the opposite order.
    CandidatesReversed {
        /// The salt of the shuffle whose opposite it is.
        salt: u32,
    },
    /// Its inputs, and what keeps the texts of the round before from agreeing.
    InputsAndDispute,
    /// What its inputs decide, each wording once and numbered, without authors.
    Decisions,
    /// Its inputs without their authors, numbered in their order and shortened.
    Numbered,
    /// Its inputs without their authors, each under its number in the debate; the agent's own apart from the others.
    Texts,
    /// What the agent wrote itself in the finished rounds, and what was written about that.
    OwnTexts,
    /// All that was said so far, in order.
    Transcript,
    /// All that was said, without names. `reversed` says whether the debaters come in the opposite order.
    AnonymousTranscript {
        /// Whether the last comes first.
        reversed: bool,
    },
    /// The rounds before the last, without names.
    EarlierRounds,
    /// The last round in full and what came before it, or its summary, without names.
    WholeDebate,
    /// What its inputs find in a change, under numbers and without authors; for the judge with what the others said of it.
    Findings,
    /// The draft of the answer, with those of its inputs that check it, and the points that it claims to have met.
    Draft,
    /// The same as [`WholeDebate`](Self::WholeDebate), with who is who, the solution, and what the user asked about it
    /// before, with the answers.
    Record,
}

/// What has to come back, and how it is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OutputSpec {
    /// Text, as it comes.
    Text,
    /// Questions to the user, so many at most.
    Questions {
        /// Those beyond are dropped.
        most: u32,
    },
    /// A summary, cut at the length that the settings of who is asked allow.
    Summary,
    /// A score of the round.
    Score(TerminationKind),
    /// One of the candidates.
    Choice,
    /// One of these words.
    Word(&'static [&'static str]),
    /// How the decisions that are shown relate.
    Relations,
    /// What stands against the agreement of the candidates.
    Challenge,
    /// The kinds of argument in each of its inputs.
    Kinds,
    /// Scores of the debaters on the judge's criteria, and who won.
    Judgement,
    /// Scores of the candidates on each of the judge's criteria, and what each misses; these criteria where the
    /// settings name none.
    Scores(&'static [&'static str]),
    /// What is wrong with a draft through this lens, as points. Its reader has no role and no tools.
    Check(Lens),
    /// A text that takes the place of a draft, by its author, and whether its approach stays.
    Amendment,
    /// Rulings on findings, which with them are the answer of the debate.
    FindingRulings,
    /// The answer of the debate.
    Solution(Authorship),
    /// Text for the user, who asks something about the finished debate.
    FollowUp,
}

/// Whose text the solution is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Authorship {
    /// The judge's own.
    Judge,
    /// That of a candidate, amended by the judge, whose assessment names it.
    Amended,
    /// That of this call, amended by the judge.
    Based(CallKey),
    /// That of this call, as it stands. The judge is asked for its assessment alone.
    Kept(CallKey),
}

/// What becomes of a solution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    /// It is the answer of the debate.
    Answer,
    /// It is a draft of the answer.
    Draft,
    /// It is the answer, but another draft where its writer gave up the approach of the one before.
    DraftIfRethought,
}

/// How a call is paid under a cost limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BudgetClass {
    /// The debate can do without it: it is left out where it does not fit beside all that is to come.
    Extra,
    /// It is part of a complete round. Where it does not fit, the debate closes.
    Round,
    /// It decides how the debate goes on or ends. Where it does not fit beside the closing, the debate closes.
    Decision,
    /// The answer needs it: money is kept for it from the beginning.
    Closing,
    /// It checks the answer: all of its kind are bought together, ahead of every round but the first, or none.
    Check,
}
