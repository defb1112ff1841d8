//! The stages of a protocol, as far as a record and those who show one need to know them.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

/// The id of a stage, as it stands in records and messages: `critique`. Only the file of a protocol writes one down;
/// everything else takes it from there or from a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct StageId(&'static str);

impl StageId {
    /// The stage of that id.
    pub const fn new(id: &'static str) -> Self {
        Self(id)
    }

    /// The id as it is written.
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
    /// Each id that a record has and no protocol is kept for as long as the program runs; there are few.
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

/// What a record says of a stage of its protocol: enough to show the debate without knowing the protocol.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "facts about a stage, each a key of its own in the record")]
#[serde(rename_all = "camelCase")]
pub struct StageInfo {
    /// Its id.
    pub id: StageId,
    /// How people call it and what is done in it.
    pub words: StageWords,
    /// Whether it belongs to a round.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub in_round: bool,
    /// Whether its calls are made one after the other: their texts stay in the order in which they came.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub in_turn: bool,
    /// Whether the protocol's table names it. What is only a kind of call within another stage is no place.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_place: bool,
    /// What becomes of its calls; absent where it makes none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub yields: Option<ResultKind>,
    /// Whether the debate may fail where it fails: then a debate that is resumed tries it again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_essential: bool,
}

impl StageInfo {
    /// A stage outside of rounds that makes no calls, with its [`StageWords`].
    pub const fn new(id: StageId, words: [&'static str; 6]) -> Self {
        Self {
            id,
            words: StageWords::new(words),
            in_round: false,
            in_turn: false,
            is_place: true,
            yields: None,
            is_essential: false,
        }
    }

    /// With calls that become `yields`.
    pub const fn yielding(mut self, yields: ResultKind) -> Self {
        self.yields = Some(yields);
        self
    }

    /// As a part of a round.
    pub const fn in_round(mut self) -> Self {
        self.in_round = true;
        self
    }

    /// As one whose calls are made one after the other.
    pub const fn in_turn(mut self) -> Self {
        self.in_turn = true;
        self
    }

    /// As one that is tried again when a debate that failed is resumed.
    pub const fn essential(mut self) -> Self {
        self.is_essential = true;
        self
    }

    /// Whether models are called in it.
    pub fn makes_calls(&self) -> bool {
        self.yields.is_some_and(|yields| !matches!(yields, ResultKind::Material | ResultKind::Team))
    }

    /// As a kind of call that is made within the next stage and is no place itself.
    pub const fn kind_of_call(mut self) -> Self {
        self.is_place = false;
        self
    }
}

/// What a call of a stage can become: the closed list of results that records, reports and views know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ResultKind {
    /// Texts that the debate starts from. Nobody is called for them.
    Material,
    /// A choice of those who take part. Nobody is called for it.
    Team,
    /// Questions to the user.
    Questions,
    /// A summary of what was said before.
    Summary,
    /// An agent's own solution. A later one of the same agent replaces it.
    Proposal,
    /// A text about somebody's proposal.
    Critique,
    /// A text that stands by itself.
    Speech,
    /// A choice among texts or words.
    Ballot,
    /// A score of a round, 0 to 100.
    Score,
    /// How alike texts are.
    Similarity,
    /// How far the texts of a round agree, from how their decisions relate.
    Agreement,
    /// What stands against an agreement.
    Challenge,
    /// The kinds of argument in what was said.
    Kinds,
    /// Scores of the debaters, and who won.
    Verdict,
    /// What is wrong with a change.
    Findings,
    /// What somebody says of another one's findings.
    Opinion,
    /// What is wrong with a draft of the answer.
    Check,
    /// The answer of the debate.
    Solution,
}

/// How people call a stage, and what is done in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StageWords {
    /// One result: `critique`.
    pub noun: Cow<'static, str>,
    /// Several: `critiques`.
    pub plural: Cow<'static, str>,
    /// What somebody is doing: `critiquing`.
    pub progressive: Cow<'static, str>,
    /// What somebody does: `critiques`.
    pub present: Cow<'static, str>,
    /// What somebody did: `critiqued`.
    pub past: Cow<'static, str>,
    /// What somebody is to do: `critique`.
    pub infinitive: Cow<'static, str>,
}

/// The place at which the calls of that stage are made: where it is itself none, the next one.
pub(super) fn place_of(stages: &[StageInfo], id: StageId) -> Option<&StageInfo> {
    stages.iter().skip_while(|stage| stage.id != id).find(|stage| stage.is_place)
}

/// Where in the list the place of that stage is; after all where it has none.
pub(super) fn place_rank(stages: &[StageInfo], id: StageId) -> usize {
    let place = place_of(stages, id).map_or(id, |place| place.id);
    stages.iter().position(|stage| stage.id == place).unwrap_or(stages.len())
}

/// The words for the stage of that id. An unknown stage is called by its id.
pub(super) fn words(stages: &[StageInfo], id: StageId) -> StageWords {
    let known = stages.iter().find(|stage| stage.id == id);
    known.map_or_else(|| StageWords::new([id.as_str(); 6]), |stage| stage.words.clone())
}

impl StageWords {
    /// In this order: noun, plural, progressive, present, past, infinitive.
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
