//! What records and their displays need to know about a protocol's stages.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

/// The id of a stage in records and messages, such as `critique`. Only a protocol's file defines ids; other code takes
/// them from the protocol or a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct StageId(&'static str);

impl StageId {
    pub const fn new(id: &'static str) -> Self {
        Self(id)
    }

    pub const fn as_str(self) -> &'static str {
        self.0
    }
}

impl<'de> Deserialize<'de> for StageId {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Self::from)
    }
}

impl From<String> for StageId {
    /// Leaks the memory of each distinct id, which is acceptable because protocols and records contain few of them.
    fn from(id: String) -> Self {
        static FOREIGN: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
        let mut foreign = FOREIGN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = foreign.get(id.as_str()) {
            return Self(known);
        }
        let kept: &'static str = id.leak();
        foreign.insert(kept);
        Self(kept)
    }
}

impl fmt::Display for StageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// A record's description of a stage, sufficient to display a debate without its protocol.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts about a stage, each under its own key")]
#[serde(rename_all = "camelCase")]
pub struct StageInfo {
    pub id: StageId,
    pub words: StageWords,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub in_round: bool,
    /// Whether the stage's calls run one after another. If so, its texts keep that order.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub in_turn: bool,
    /// Whether a transition can lead to the stage; false for a kind of call within another stage.
    #[serde(rename = "isPlace", default, skip_serializing_if = "std::ops::Not::not")]
    pub is_transition_target: bool,
    /// Absent for a stage without results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub yields: Option<ResultKind>,
    /// Whether a failure in this stage can fail the debate. If so, resuming the debate retries the stage.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_essential: bool,
}

impl StageInfo {
    /// A stage outside the rounds and without results. `words` are in the order of [`StageWords::new`].
    pub const fn new(id: StageId, words: [&'static str; 6]) -> Self {
        Self {
            id,
            words: StageWords::new(words),
            in_round: false,
            in_turn: false,
            is_transition_target: true,
            yields: None,
            is_essential: false,
        }
    }

    pub const fn yielding(mut self, yields: ResultKind) -> Self {
        self.yields = Some(yields);
        self
    }

    pub const fn in_round(mut self) -> Self {
        self.in_round = true;
        self
    }

    pub const fn in_turn(mut self) -> Self {
        self.in_turn = true;
        self
    }

    pub const fn essential(mut self) -> Self {
        self.is_essential = true;
        self
    }

    pub fn makes_calls(&self) -> bool {
        self.yields.is_some_and(|yields| !matches!(yields, ResultKind::Material | ResultKind::Team))
    }

    /// Turns the stage into a kind of call within the next stage.
    pub const fn kind_of_call(mut self) -> Self {
        self.is_transition_target = false;
        self
    }
}

/// What the calls of a stage yield. Protocols cannot add kinds, because records, reports and views must know every
/// kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ResultKind {
    /// The material collected at the start; needs no call.
    Material,
    /// A choice of participants; needs no call.
    Team,
    Questions,
    Summary,
    /// An agent's own solution, which replaces its earlier one.
    Proposal,
    Critique,
    /// A text that neither proposes nor criticises a solution.
    Speech,
    /// A vote for a text, or for a choice in a poll.
    Ballot,
    /// A score for a round, 0 to 100.
    Score,
    /// The agreement of a round's texts, computed from the relations of their decisions.
    Agreement,
    Challenge,
    /// Which kinds of argument the round's texts use.
    Kinds,
    Verdict,
    Findings,
    /// Opinions on another reviewer's findings.
    Opinion,
    /// Faults found in a draft of the answer.
    Check,
    Solution,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StageWords {
    /// The singular of a result: `critique`.
    pub noun: Cow<'static, str>,
    /// The plural of a result: `critiques`.
    pub plural: Cow<'static, str>,
    /// Describes a running stage: `critiquing`.
    pub progressive: Cow<'static, str>,
    /// The third person: `critiques`.
    pub present: Cow<'static, str>,
    /// The past tense: `critiqued`.
    pub past: Cow<'static, str>,
    /// The infinitive: `critique`.
    pub infinitive: Cow<'static, str>,
}

/// Returns the stage itself, or for a kind of call, the stage that makes such calls.
pub(crate) fn place_of(stages: &[StageInfo], id: StageId) -> Option<&StageInfo> {
    stages.iter().skip_while(|stage| stage.id != id).find(|stage| stage.is_transition_target)
}

/// Returns the index of the stage that [`place_of`] finds, or the number of stages if the id is unknown.
pub(crate) fn place_rank(stages: &[StageInfo], id: StageId) -> usize {
    let place = place_of(stages, id).map_or(id, |place| place.id);
    stages.iter().position(|stage| stage.id == place).unwrap_or(stages.len())
}

/// Returns the words for a stage, or its id in place of each word if the stage is unknown.
pub(crate) fn words(stages: &[StageInfo], id: StageId) -> StageWords {
    let known = stages.iter().find(|stage| stage.id == id);
    known.map_or_else(|| StageWords::new([id.as_str(); 6]), |stage| stage.words.clone())
}

impl StageWords {
    pub(crate) fn all(&self) -> [&str; 6] {
        let Self { noun, plural, progressive, present, past, infinitive } = self;
        [noun, plural, progressive, present, past, infinitive].map(|word| &**word)
    }

    /// Takes the forms in this order: noun, plural, progressive, present, past, infinitive.
    pub const fn new(forms: [&'static str; 6]) -> Self {
        let [noun, plural, progressive, present, past, infinitive] = forms;
        Self {
            noun: Cow::Borrowed(noun),
            plural: Cow::Borrowed(plural),
            progressive: Cow::Borrowed(progressive),
            present: Cow::Borrowed(present),
            past: Cow::Borrowed(past),
            infinitive: Cow::Borrowed(infinitive),
        }
    }
}
