//! The record of a debate: its problem, texts, decisions and cost.
//!
//! Pure data: nothing here reads files, the environment or the clock. The saved state is the fold of the journal's
//! [`Event`]s ([`Debate::apply`]), in a live run as well as on loading. `docs/record.md` documents the wire format,
//! which is compatible with existing dialectic files.

mod agreement;
mod change_set;
mod check;
mod clarification;
mod contribution;
pub mod defaults;
mod event;
mod fold;
mod forecast;
mod fork;
mod gathered;
mod named_texts;
mod outcome;
mod progress;
mod prompt_source;
mod settings;
mod signal;
mod solution;
mod stage;
mod state;
mod timeline;
mod verdict;
mod wire;

/// A fictitious debate for tests.
#[cfg(any(test, feature = "fixtures"))]
#[doc(hidden)]
#[allow(clippy::unwrap_used, clippy::missing_panics_doc, clippy::wildcard_imports, reason = "for tests only")]
pub mod fixture;

pub use agreement::{
    Argument, Challenge, Convergence, Decisions, Extension, Matter, NeglectedPoint, Observation, RelatedPair, Relation,
    Relations, Wording,
};
pub(crate) use agreement::{mean, similarity, weights};
pub use change_set::{
    ChangeSet, ChangedFile, DIFF_ENDING, EarlierFinding, EarlierReview, LeftOut, Lines, Placed, code_at, fingerprint,
    lines_of_code,
};
pub use check::{Draft, Lens};
pub use clarification::{AgentClarifications, Answerer, Clarification, Question};
pub use contribution::{Contribution, Metadata};
pub use defaults::{default_settings, go_offline};
pub use event::{Created, Event, FORMAT_VERSION, Recorded, StoredReply};
pub use fold::{FoldError, fold};
pub use forecast::{Forecast, PlannedCall, Purchase, Span, ToolUse};
pub use fork::{ForkError, ForkPoint, ForkedFrom, check_taken_over, fork, proposals_for};
pub use gathered::{
    AgentStanding, Attachment, Gathered, Material, MaterialSource, Selection, Standings, TeamCandidate,
};
pub use named_texts::shuffled;
pub use outcome::{AnswerState, Outcome, OutcomeKind};
pub use progress::{CallInFlight, PanelInfo, Progress, Retry, StageProgress, WordsSoFar};
pub use prompt_source::{AgentPromptSource, JudgePromptSource, PromptOrigin, PromptSources};
pub use settings::{
    AgentFailurePolicy, AgentSettings, ArenaSettings, BudgetSettings, ConvergenceSettings, Critics, DebateSettings,
    ModelLimits, Position, ProviderSettings, Settings, SummarizationSettings, SynthesisMethod, TeamSettings,
    TerminationKind, TerminationSettings, ToolSettings, TraceTarget, VotingRule, VotingSettings,
};
pub use signal::{CallDescription, Gap, RoundInProgress, Signal};
pub use solution::{ASSESSMENT, PartlyFulfilled, Shortened, Solution, clean_title, limited_confidence};
pub use stage::{ResultKind, StageId, StageInfo, StageWords};
pub use state::{
    CostWarning, CutAnswer, Debate, DebateFile, Evaluation, Failure, FollowUp, ModelUsage, Round, Status, StopReason,
    Summary, SummaryMetadata, UnknownEnd,
};
pub use timeline::timeline;
pub use verdict::{Advice, Dissent, Judgement, Poll, PollChoice, Polls, Undecided, Verdict, VoteCount, Voting, Winner};
pub use wire::{AgentId, CallKey, CallStatus, DebateId, Timestamp};

pub use crate::points::{
    ANSWERS_HEADING, AnswerFormat, CHECK_ANSWERS_HEADING, Change, Decision, FindingDecision, FindingRuling, Found,
    Ledger, Move, ParsedAnswer, Past, Place, Point, PointHistory, PointId, PointStatus, RaisedPoint, ReadAnswers,
    ReadCritique, RecheckStanding, RejectedApproach, Remark, RemarkKind, RemarkTime, Report, Response, ReviewText,
    ReviewedFinding, Ruling, Severity, Since, Stance, Statement, Tally, Voices, describe_opened, describe_review,
    opened, read_answers, read_check, read_critique, read_decisions, read_findings, read_given_up, read_opinions,
    read_review,
};
