//! The stages of a protocol, as needed by records and their displays.

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
    /// Ids from records that no protocol knows are leaked; there are few.
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
    /// The words for people.
    pub words: StageWords,
    /// Whether it belongs to a round.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub in_round: bool,
    /// Whether its calls run one after another, so its texts keep their order.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub in_turn: bool,
    /// Whether the protocol's table has it; false for a kind of call within another stage.
    #[serde(rename = "isPlace", default, skip_serializing_if = "std::ops::Not::not")]
    pub is_transition_target: bool,
    /// The kind of its results; absent if it makes no calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub yields: Option<ResultKind>,
    /// Whether the debate may fail because of this stage; resuming then retries it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_essential: bool,
}

impl StageInfo {
    /// A stage outside the rounds without calls, with its [`StageWords`].
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

    /// Sets the kind of its results.
    pub const fn yielding(mut self, yields: ResultKind) -> Self {
        self.yields = Some(yields);
        self
    }

    /// Makes the stage part of a round.
    pub const fn in_round(mut self) -> Self {
        self.in_round = true;
        self
    }

    /// Makes its calls run one after another.
    pub const fn in_turn(mut self) -> Self {
        self.in_turn = true;
        self
    }

    /// Makes it essential: resuming a failed debate retries it.
    pub const fn essential(mut self) -> Self {
        self.is_essential = true;
        self
    }

    /// Whether it calls models.
    pub fn makes_calls(&self) -> bool {
        self.yields.is_some_and(|yields| !matches!(yields, ResultKind::Material | ResultKind::Team))
    }

    /// Makes it a kind of call within the next stage.
    pub const fn kind_of_call(mut self) -> Self {
        self.is_transition_target = false;
        self
    }
}

/// The kind of result that a stage's calls have: a closed list that records, reports and views know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ResultKind {
    /// The initial texts; needs no call.
    Material,
    /// A choice of participants; needs no call.
    Team,
    /// Questions to the user.
    Questions,
    /// A summary of earlier texts.
    Summary,
    /// An agent's own solution, which replaces its earlier one.
    Proposal,
    /// A text about another agent's proposal.
    Critique,
    /// An independent text.
    Speech,
    /// A vote for a text or a word.
    Ballot,
    /// A score for a round, 0 to 100.
    Score,
    /// The agreement of a round's texts, computed from how their decisions are related.
    Agreement,
    Challenge,
    /// The kinds of argument in texts.
    Kinds,
    /// Scores of the debaters, and the winner.
    Verdict,
    /// Problems found in a change.
    Findings,
    /// Opinions on other readers' findings.
    Opinion,
    /// Faults of a draft.
    Check,
    /// The answer of the debate.
    Solution,
}

/// The words for a stage and what happens in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StageWords {
    /// The singular of a result: `critique`.
    pub noun: Cow<'static, str>,
    /// The plural of a result: `critiques`.
    pub plural: Cow<'static, str>,
    /// What is going on: `critiquing`.
    pub progressive: Cow<'static, str>,
    /// The third person: `critiques`.
    pub present: Cow<'static, str>,
    /// The past tense: `critiqued`.
    pub past: Cow<'static, str>,
    /// The infinitive: `critique`.
    pub infinitive: Cow<'static, str>,
}

/// The stage that makes these calls: itself, or the next real stage.
pub(super) fn place_of(stages: &[StageInfo], id: StageId) -> Option<&StageInfo> {
    stages.iter().skip_while(|stage| stage.id != id).find(|stage| stage.is_transition_target)
}

/// The index of that stage; past the end if there is none.
pub(super) fn place_rank(stages: &[StageInfo], id: StageId) -> usize {
    let place = place_of(stages, id).map_or(id, |place| place.id);
    stages.iter().position(|stage| stage.id == place).unwrap_or(stages.len())
}

/// The words for a stage; its id if unknown.
pub(super) fn words(stages: &[StageInfo], id: StageId) -> StageWords {
    let known = stages.iter().find(|stage| stage.id == id);
    known.map_or_else(|| StageWords::new([id.as_str(); 6]), |stage| stage.words.clone())
}

impl StageWords {
    pub(super) fn all(&self) -> [&str; 6] {
        let Self { noun, plural, progressive, present, past, infinitive } = self;
        [noun, plural, progressive, present, past, infinitive].map(|word| &**word)
    }

    /// The forms in this order: noun, plural, progressive, present, past, infinitive.
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
