//! One paid call of a model: what it was for, and what it took.

use serde::{Deserialize, Serialize};

use super::{AgentId, Usd};

/// What a call is for. One call of a debate is identified by its [`CallKey`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// An agent asks what is unclear before the first round.
    Clarification,
    /// An agent condenses its own history at the start of a round.
    Summarization,
    /// An agent writes a solution of its own.
    Proposal,
    /// An agent criticises another agent's proposal.
    Critique,
    /// An agent reworks its own proposal in the light of its critiques.
    Refinement,
    /// The judge scores consensus or quality at the end of a round.
    Evaluation,
    /// An agent votes among the anonymised refinements.
    Vote,
    /// The judge condenses the final round before the synthesis.
    JudgeSummary,
    /// The judge writes the solution.
    Synthesis,
}

impl Phase {
    /// The name on the wire and in messages: `critique`, `judge-summary`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Clarification => "clarification",
            Self::Summarization => "summarization",
            Self::Proposal => "proposal",
            Self::Critique => "critique",
            Self::Refinement => "refinement",
            Self::Evaluation => "evaluation",
            Self::Vote => "vote",
            Self::JudgeSummary => "judge-summary",
            Self::Synthesis => "synthesis",
        }
    }
}

/// Which call of the debate: unique within it but for tool iterations and second chances, which share the key.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CallKey {
    /// The round, 0 before the first.
    pub round: u32,
    /// What for.
    pub phase: Phase,
    /// Who is called.
    pub agent_id: AgentId,
    /// Whose text it is about (critiques).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_agent_id: Option<AgentId>,
}

/// Token counts as the provider reported them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Tokens {
    /// All input tokens, cached ones included.
    pub input_tokens: u64,
    /// Those of the input that were read from the provider's prompt cache.
    #[serde(default)]
    pub cached_input_tokens: u64,
    /// Output tokens, reasoning included.
    pub output_tokens: u64,
}

impl Tokens {
    /// Input and output together.
    #[must_use]
    pub fn total(self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }
}

/// What one finished call took. Folded into the state's `usage`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "facts about one call, each a key of its own in the journal")]
#[serde(rename_all = "camelCase")]
pub struct CallRecord {
    /// The model as configured.
    pub model: String,
    /// The configured provider.
    pub provider: String,
    /// The model that the server says it used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub served_model: Option<String>,
    /// Token counts; absent when the server reports none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<Tokens>,
    /// What it cost; absent when neither the provider nor the price table says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<Usd>,
    /// From the first attempt to the answer, waiting between attempts included, in milliseconds.
    pub latency_ms: u64,
    /// Attempts made, the successful one included; 0 when the cost limit had no room for any.
    pub attempts: u32,
    /// Whether the provider stated the cost itself; else it is the list price of the tokens.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cost_stated: bool,
    /// The number of the event that set money aside for it; absent without a cost limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reservation: Option<u64>,
    /// Set when the answer was cut: at the output limit, unless it was [`filtered`](Self::filtered).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
    /// Set when it was a content filter that cut the answer.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub filtered: bool,
    /// Set in a debate that branched off another one, where that one made the call and paid for it: it counts for
    /// nothing here.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub copied: bool,
}

/// How an answer was cut that stands all the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cut {
    /// At the output limit of the call.
    OutputLimit,
    /// By a filter of the provider's.
    ContentFilter,
    /// At the length that summaries may have.
    MaxLength,
}

impl Cut {
    /// Of an answer with these marks.
    pub(super) fn marked(truncated: bool, filtered: bool) -> Option<Self> {
        match (truncated, filtered) {
            (_, true) => Some(Self::ContentFilter),
            (true, false) => Some(Self::OutputLimit),
            (false, false) => None,
        }
    }

    /// What cut it, behind "was cut".
    #[must_use]
    pub fn how(self) -> &'static str {
        match self {
            Self::OutputLimit => "at the output limit",
            Self::ContentFilter => "by a content filter",
            Self::MaxLength => "at `maxLength`",
        }
    }
}

impl CallRecord {
    /// How its answer was cut, if it was.
    #[must_use]
    pub fn cut(&self) -> Option<Cut> {
        Cut::marked(self.truncated, self.filtered)
    }
}
