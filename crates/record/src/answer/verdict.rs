//! The winner of a debate, and the audience's opinion.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::debate::Debate;
use crate::ids::{AgentId, CallKey, StageId};
use crate::settings::{Position, VotingRule};

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Judgement {
    /// The number of the judge's reading, from 1. Each even-numbered reading shows the texts in the opposite order of
    /// the reading before it.
    pub pass: u8,
    /// Absent if nobody won.
    pub winner: Option<AgentId>,
    /// Each debater's score, 0 to 100.
    pub scores: BTreeMap<AgentId, f64>,
    /// The judge's statement on each criterion.
    pub criteria: BTreeMap<String, String>,
    pub reasoning: String,
    /// Each debater's score on each criterion, if the judge scored the criteria separately.
    #[serde(default, rename = "byCriterion", skip_serializing_if = "BTreeMap::is_empty")]
    pub by_criterion: BTreeMap<AgentId, BTreeMap<String, f64>>,
    /// The major requirements that each text misses.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub missing: BTreeMap<AgentId, Vec<String>>,
    /// The criteria on which the judge said nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lacking: Vec<String>,
    /// Empty unless the debate is about a motion.
    #[serde(flatten)]
    pub advice: Advice,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Advice {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub adopt_if: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reject_if: Option<String>,
    /// The measurement that would decide the question.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub measure: Option<String>,
}

/// The combined result of all judgements.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// Absent if nobody won.
    pub winner: Option<AgentId>,
    /// The mean score of each debater, 0 to 100.
    pub scores: BTreeMap<AgentId, f64>,
    pub criteria: BTreeMap<String, String>,
    pub reasoning: String,
    #[serde(default, rename = "byCriterion", skip_serializing_if = "BTreeMap::is_empty")]
    pub by_criterion: BTreeMap<AgentId, BTreeMap<String, f64>>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub missing: BTreeMap<AgentId, Vec<String>>,
    /// Whether the judge's two readings, which had the debaters in opposite orders, had the same winner; absent if
    /// there was only one reading.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stable: Option<bool>,
}

impl Verdict {
    pub fn is_tie(&self) -> bool {
        let most = self.scores.values().copied().fold(f64::NEG_INFINITY, f64::max);
        let leading = self.scores.values().filter(|score| most - **score < 1e-9).count();
        self.winner.is_none() && leading > 1
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Winner<'a> {
    pub agent_id: &'a AgentId,
    /// The vote, if a vote decided rather than the judge's scores.
    pub vote: Option<&'a Voting>,
    /// Whether both readings had the same winner; absent if there was only one reading, or if a vote decided.
    pub is_stable: Option<bool>,
}

impl Debate {
    /// A vote takes precedence over the judge's scores. `None` if nobody won.
    pub fn winner(&self) -> Option<Winner<'_>> {
        let elected = self
            .last_voting()
            .and_then(|voting| Some(Winner { agent_id: voting.winner.as_ref()?, vote: Some(voting), is_stable: None }));
        elected.or_else(|| {
            let verdict = self.last_verdict()?;
            Some(Winner { agent_id: verdict.winner.as_ref()?, vote: None, is_stable: verdict.stable })
        })
    }

    /// The verdict on which the answer is based. After an extension without a further round, this is the verdict that
    /// led to the extension.
    pub fn last_verdict(&self) -> Option<&Verdict> {
        self.verdict.as_ref().or_else(|| self.final_extension()?.verdict.as_ref())
    }

    /// The vote on which the answer is based. After an extension without a further round, this is the vote that
    /// preceded the extension.
    pub fn last_voting(&self) -> Option<&Voting> {
        self.voting.as_ref().or_else(|| self.final_extension()?.voting.as_ref())
    }

    /// The last extension, if an answer followed it without a further round.
    fn final_extension(&self) -> Option<&super::Extension> {
        let last = self.extensions.last().filter(|_| self.final_solution.is_some())?;
        Some(last).filter(|last| last.round == self.current_round)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Poll {
    pub stage: StageId,
    pub votes: BTreeMap<AgentId, String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub reasons: BTreeMap<AgentId, String>,
}

impl Poll {
    pub fn of(stage: StageId) -> Self {
        Self { stage, votes: BTreeMap::new(), reasons: BTreeMap::new() }
    }

    pub(crate) fn cast(polls: &mut Vec<Self>, key: &CallKey, vote: &str, reason: &str) {
        let place = polls.iter().position(|poll| poll.stage == key.stage).unwrap_or(polls.len());
        if place == polls.len() {
            polls.push(Self::of(key.stage));
        }
        if let Some(poll) = polls.get_mut(place) {
            poll.votes.insert(key.agent_id.clone(), vote.to_owned());
            poll.reasons.insert(key.agent_id.clone(), reason.to_owned());
        }
    }

    pub fn count(&self, choice: &str) -> usize {
        self.votes.values().filter(|vote| *vote == choice).count()
    }
}

#[derive(Debug, Clone)]
pub struct Polls<'v> {
    /// In the order of their stages.
    pub held: Vec<&'v Poll>,
    /// Every agent that voted, or failed to vote, in any poll.
    pub voters: BTreeSet<&'v AgentId>,
    /// Voters that missed a poll, so it is unknown whether they changed their minds.
    pub uncounted: Vec<&'v AgentId>,
    /// The sides of the debate come first.
    pub choices: Vec<PollChoice<'v>>,
}

/// The votes for a choice in each poll, excluding voters that missed a poll.
#[derive(Debug, Clone)]
pub struct PollChoice<'v> {
    pub name: &'v str,
    pub votes: Vec<usize>,
    is_side: bool,
}

impl PollChoice<'_> {
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
    /// `None` if the debate held no polls.
    pub fn of(debate: &'v Debate) -> Option<Self> {
        let failed = debate.failures.iter().map(|failure| &failure.key);
        Self::among(&debate.polls, failed, |stage| debate.stage_rank(stage))
    }

    /// `None` if `polls` is empty. `rank` returns a stage's index. An agent whose call in a polling stage failed is a
    /// voter without a vote in that poll.
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

    pub fn is_compared(&self) -> bool {
        self.held.len() > 1
    }

    /// The side that gained the most votes, or if nobody voted for a side, the choice that gained the most. `None` if
    /// there was only one poll, if there is a tie, or if missing votes could change the result: one uncounted voter who
    /// switches sides shifts the difference by two.
    pub fn gained_most(&self) -> Option<&str> {
        let mut sides: Vec<_> = self.choices.iter().filter(|choice| choice.is_side).collect();
        sides.sort_by_key(|choice| std::cmp::Reverse(choice.gain()));
        let [leader, second, ..] = sides.as_slice() else { return None };
        let missing = i64::try_from(2 * self.uncounted.len()).unwrap_or(i64::MAX);
        (self.is_compared() && leader.gain() - second.gain() > missing).then_some(leader.name)
    }
}

/// The result of a vote. The ballots themselves are recorded as contributions to the last round.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Voting {
    pub tally: BTreeMap<AgentId, u32>,
    /// The authors whose texts tied for the most votes; empty if there was no tie.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tied: Vec<AgentId>,
    /// The author of the winning text; absent if the vote was inconclusive.
    pub winner: Option<AgentId>,
    pub count: VoteCount,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct VoteCount {
    pub rule: VotingRule,
    pub voters: u32,
    /// The number of ballots cast, not counting failed ones.
    pub cast: u32,
    /// The number of ballots needed for a valid vote.
    pub quorum: u32,
    pub self_votes: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undecided: Option<Undecided>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dissent: Vec<Dissent>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Undecided {
    NoQuorum,
    Tie,
    /// The leader has too few votes under the rule.
    ShortOfRule,
}

impl Undecided {
    pub fn name(self) -> &'static str {
        match self {
            Self::NoQuorum => "no quorum",
            Self::Tie => "a tie",
            Self::ShortOfRule => "too few votes for the leader",
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
        serialize_with = "crate::ids::serialize_optional_number"
    )]
    pub confidence: Option<f64>,
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::debate::fixture;
    use crate::debate::fixture::pitching::{APPLAUSE, SHOW_OF_HANDS, stages};

    fn debate(before: &[(&str, &str)], after: &[(&str, &str)]) -> Debate {
        let votes = |votes: &[(&str, &str)]| {
            votes.iter().map(|(voter, vote)| (AgentId::new(voter), (*vote).to_owned())).collect()
        };
        // The poll recorded first belongs to the later stage.
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

    /// The winner, whether a vote decided, and whether it is stable, for a state with these keys.
    fn won(state: &Value) -> Option<(String, bool, Option<bool>)> {
        let mut whole = json!({"id": "d", "problem": "p", "status": "completed", "rounds": [], "currentRound": 2});
        whole.as_object_mut().unwrap().extend(state.as_object().unwrap().clone());
        let debate: Debate = serde_json::from_value(whole).unwrap();
        let winner = debate.winner()?;
        Some((winner.agent_id.to_string(), winner.vote.is_some(), winner.is_stable))
    }

    fn verdict(winner: Option<&str>, stable: bool) -> Value {
        json!({"winner": winner, "scores": {"a": 85, "b": 85}, "criteria": {}, "reasoning": "r", "stable": stable})
    }

    fn voting(winner: Option<&str>) -> Value {
        let count = json!({"rule": "majority", "voters": 3, "cast": 3, "quorum": 2, "selfVotes": 0});
        json!({"tally": {"a": 0, "b": 3}, "winner": winner, "count": count})
    }

    #[test]
    fn whom_a_vote_elects_has_won_whatever_the_scores_are() {
        let b = |by_vote, stable| Some(("b".to_owned(), by_vote, stable));
        assert_eq!(won(&json!({"verdict": verdict(None, true), "voting": voting(Some("b"))})), b(true, None));
        assert_eq!(won(&json!({"verdict": verdict(Some("a"), false), "voting": voting(Some("b"))})), b(true, None));
        assert_eq!(won(&json!({"verdict": verdict(Some("b"), false), "voting": voting(None)})), b(false, Some(false)));
        assert_eq!(won(&json!({"verdict": verdict(Some("b"), true)})), b(false, Some(true)));
        assert_eq!(won(&json!({"verdict": verdict(None, true), "voting": voting(None)})), None);
        assert_eq!(won(&json!({})), None);
    }

    #[test]
    fn an_extension_that_found_no_room_leaves_its_winner() {
        let extended =
            |round: u32| json!([{"round": round, "winner": "b", "missing": ["m"], "voting": voting(Some("b"))}]);
        let solution = json!({"description": "s"});
        let closed = won(&json!({"extensions": extended(2), "finalSolution": solution}));
        assert_eq!(closed, Some(("b".to_owned(), true, None)));
        assert_eq!(won(&json!({"extensions": extended(1), "finalSolution": solution})), None);
        assert_eq!(won(&json!({"extensions": extended(2)})), None, "it goes on");
    }
}
