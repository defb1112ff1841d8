//! Votes: their count, the audience's polls, and how the debate changed them.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::{AgentId, CallKey, Debate, Poll, Position, StageId, VotingRule};

/// The polls of a debate for comparison.
#[derive(Debug, Clone)]
pub struct Polls<'v> {
    /// The polls in the order of their stages.
    pub held: Vec<&'v Poll>,
    /// Every agent that voted or failed to vote in any poll.
    pub voters: BTreeSet<&'v AgentId>,
    /// Voters without a vote in every poll, whose changes are unknown.
    pub uncounted: Vec<&'v AgentId>,
    /// The choices: the sides of the debate, then all others.
    pub choices: Vec<PollChoice<'v>>,
}

/// The counted votes for a choice.
#[derive(Debug, Clone)]
pub struct PollChoice<'v> {
    pub name: &'v str,
    pub votes: Vec<usize>,
    is_side: bool,
}

impl PollChoice<'_> {
    /// The increase from the first to the last poll.
    pub fn gain(&self) -> i64 {
        let count = |votes: Option<&usize>| votes.and_then(|votes| i64::try_from(*votes).ok()).unwrap_or(0);
        count(self.votes.last()) - count(self.votes.first())
    }

    /// [`gain`](Self::gain) with its sign: `+2`, `0`, `-1`.
    pub fn swing(&self) -> String {
        match self.gain() {
            0 => "0".to_owned(),
            gain => format!("{gain:+}"),
        }
    }
}

impl<'v> Polls<'v> {
    /// The polls of a debate; `None` if there was no audience.
    pub fn of(debate: &'v Debate) -> Option<Self> {
        let failed = debate.failures.iter().map(|failure| &failure.key);
        Self::among(&debate.polls, failed, |stage| debate.stage_rank(stage))
    }

    /// Compares polls; `rank` is a stage's index. `failed` calls in these stages count as missing votes. Returns `None`
    /// if there are no polls.
    pub fn among(
        polls: &'v [Poll],
        failed: impl IntoIterator<Item = &'v CallKey>,
        rank: impl Fn(StageId) -> usize,
    ) -> Option<Self> {
        let mut polls: Vec<&Poll> = polls.iter().collect();
        polls.sort_by_key(|poll| rank(poll.stage));
        let failed = failed.into_iter().filter(|key| polls.iter().any(|poll| poll.stage == key.stage));
        let failed = failed.map(|key| &key.agent_id);
        let voters: BTreeSet<&AgentId> = polls.iter().flat_map(|poll| poll.votes.keys()).chain(failed).collect();
        let is_counted = |voter: &AgentId| polls.iter().all(|poll| poll.votes.contains_key(voter));
        let uncounted = voters.iter().copied().filter(|voter| !is_counted(voter)).collect();
        let voted: BTreeSet<&str> = polls.iter().flat_map(|poll| poll.votes.values()).map(String::as_str).collect();
        let sides = [Position::For, Position::Against].map(Position::name);
        let has_sides = sides.iter().any(|side| voted.contains(side));
        let others = voted.into_iter().filter(|name| !sides.contains(name));
        let names = sides.into_iter().filter(|_| has_sides).chain(others);
        let count = |poll: &&Poll, name: &str| {
            poll.votes.iter().filter(|(voter, vote)| is_counted(voter) && *vote == name).count()
        };
        let choices = names.map(|name| PollChoice {
            name,
            votes: polls.iter().map(|poll| count(poll, name)).collect(),
            is_side: !has_sides || sides.contains(&name),
        });
        let choices = choices.collect();
        (!polls.is_empty()).then_some(Self { held: polls, voters, uncounted, choices })
    }

    /// Whether there is more than one poll.
    pub fn is_compared(&self) -> bool {
        self.held.len() > 1
    }

    /// The side that gained most; without votes for sides, the choice that gained most. `None` for a tie, or if missing
    /// votes could change it: one uncounted voter who switched sides shifts the difference by two.
    pub fn gained_most(&self) -> Option<&str> {
        let mut sides: Vec<_> = self.choices.iter().filter(|choice| choice.is_side).collect();
        sides.sort_by_key(|choice| std::cmp::Reverse(choice.gain()));
        let [leader, second, ..] = sides.as_slice() else { return None };
        let missing = i64::try_from(2 * self.uncounted.len()).unwrap_or(i64::MAX);
        (self.is_compared() && leader.gain() - second.gain() > missing).then_some(leader.name)
    }
}

/// The result of a vote. The ballots are contributions of the last round.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Voting {
    /// Votes by the author of the text; lists every candidate.
    pub tally: BTreeMap<AgentId, u32>,
    /// The candidates with the most votes, if there are several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tied: Vec<AgentId>,
    /// The author of the winning text; absent if the vote decided nothing.
    pub winner: Option<AgentId>,
    /// The rule and how it was applied.
    pub count: VoteCount,
}

/// A vote by a rule with a quorum.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct VoteCount {
    /// The required share of the votes.
    pub rule: VotingRule,
    pub voters: u32,
    /// The ballots cast; failed ones are not counted.
    pub cast: u32,
    /// The required number of ballots.
    pub quorum: u32,
    /// Ballots for the voter's own text.
    pub self_votes: u32,
    /// Why there is no winner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undecided: Option<Undecided>,
    /// The reasons of voters for other texts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dissent: Vec<Dissent>,
}

/// Why a vote has no winner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Undecided {
    /// Too few votes.
    NoQuorum,
    /// Several share the most votes.
    Tie,
    /// The leader's votes do not satisfy the rule.
    ShortOfRule,
}

impl Undecided {
    /// The words.
    pub fn name(self) -> &'static str {
        match self {
            Self::NoQuorum => "no quorum",
            Self::Tie => "a tie",
            Self::ShortOfRule => "too few votes for the rule",
        }
    }
}

/// A ballot for a losing text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Dissent {
    pub agent_id: AgentId,
    #[serde(rename = "for")]
    pub preferred: AgentId,
    pub reason: String,
    /// The voter's confidence, 0 to 100.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        serialize_with = "super::wire::serialize_optional_number"
    )]
    pub confidence: Option<f64>,
}

#[cfg(test)]
mod tests {
    use super::super::fixture;
    use super::super::fixture::pitching::{APPLAUSE, SHOW_OF_HANDS, stages};
    use super::*;

    fn debate(before: &[(&str, &str)], after: &[(&str, &str)]) -> Debate {
        let votes = |votes: &[(&str, &str)]| {
            votes.iter().map(|(voter, vote)| (AgentId::new(voter), (*vote).to_owned())).collect()
        };
        // The first recorded poll belongs to the later stage.
        let polls = [(SHOW_OF_HANDS, after), (APPLAUSE, before)]
            .map(|(stage, cast)| Poll { votes: votes(cast), ..Poll::of(stage) });
        let polls = polls.into_iter().filter(|poll| !poll.votes.is_empty()).collect();
        Debate { stages: stages(), polls, ..fixture::debate() }
    }

    fn shown(before: &[(&str, &str)], after: &[(&str, &str)]) -> (Vec<String>, Option<String>, usize) {
        let debate = debate(before, after);
        let polls = Polls::of(&debate).unwrap();
        let choices = polls.choices.iter();
        let choices = choices.map(|choice| format!("{} {:?} {}", choice.name, choice.votes, choice.swing()));
        (choices.collect(), polls.gained_most().map(str::to_owned), polls.uncounted.len())
    }

    #[test]
    fn what_counts_is_who_changed_sides() {
        let before = [("a", "undecided"), ("b", "against"), ("c", "against"), ("d", "for")];
        let after = [("a", "against"), ("b", "for"), ("c", "undecided"), ("e", "against")];
        let (choices, gained, uncounted) = shown(&before, &after);
        assert_eq!(choices, ["for [0, 1] +1", "against [2, 1] -1", "undecided [1, 1] 0"]);
        assert_eq!((gained.as_deref(), uncounted), (None, 2), "the missing votes could have gone the other way");
        let (choices, gained, uncounted) = shown(&before[..3], &after[..3]);
        assert_eq!(choices, ["for [0, 1] +1", "against [2, 1] -1", "undecided [1, 1] 0"]);
        assert_eq!((gained.as_deref(), uncounted), (Some("for"), 0));
    }

    #[test]
    fn a_side_that_nobody_is_for_is_a_side_and_the_undecided_are_none() {
        let (choices, gained, _) = shown(&[("a", "for"), ("b", "for")], &[("a", "undecided"), ("b", "undecided")]);
        assert_eq!(choices, ["for [2, 0] -2", "against [0, 0] 0", "undecided [0, 2] +2"]);
        assert_eq!(gained.as_deref(), Some("against"));
        assert_eq!(shown(&[("a", "for")], &[("a", "for")]).1, None);
    }

    #[test]
    fn other_words_are_choices_among_themselves_and_one_poll_has_no_swing() {
        let (choices, gained, _) = shown(&[("a", "yes"), ("b", "no")], &[("a", "yes"), ("b", "yes")]);
        assert_eq!(choices, ["no [1, 0] -1", "yes [1, 2] +1"]);
        assert_eq!(gained.as_deref(), Some("yes"));
        let (choices, gained, uncounted) = shown(&[], &[("a", "yes"), ("b", "no")]);
        assert_eq!((choices.len(), gained, uncounted), (2, None, 0));
        assert!(Polls::of(&fixture::debate()).is_none());
    }
}
