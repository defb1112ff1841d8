//! The winner of a debate, and the audience's opinion.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{AgentId, CallKey, Debate, StageId, Voting};

/// One judgement of the debaters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Judgement {
    /// The number; the order of the debaters changes with it.
    pub pass: u8,
    /// The winner; absent for none.
    pub winner: Option<AgentId>,
    /// The score of each debater, 0 to 100.
    pub scores: BTreeMap<AgentId, f64>,
    /// The judge's statement on each criterion.
    pub criteria: BTreeMap<String, String>,
    pub reasoning: String,
    /// Each debater's score on each criterion, if scored separately.
    #[serde(default, rename = "byCriterion", skip_serializing_if = "BTreeMap::is_empty")]
    pub by_criterion: BTreeMap<AgentId, BTreeMap<String, f64>>,
    /// The major requirements that each text misses.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub missing: BTreeMap<AgentId, Vec<String>>,
    /// The criteria without a statement.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lacking: Vec<String>,
    /// The advice for the user, on motions.
    #[serde(flatten)]
    pub advice: Advice,
}

/// A judgement's advice to the user on a motion.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Advice {
    /// The conditions for adopting the motion.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub adopt_if: Option<String>,
    /// The conditions for rejecting it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reject_if: Option<String>,
    /// The measurement that would decide.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub measure: Option<String>,
}

/// The combined judgements.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// The winner; absent for none.
    pub winner: Option<AgentId>,
    /// The mean score of each debater, 0 to 100.
    pub scores: BTreeMap<AgentId, f64>,
    /// The judge's statement on each criterion.
    pub criteria: BTreeMap<String, String>,
    pub reasoning: String,
    /// Each debater's score on each criterion, if scored separately.
    #[serde(default, rename = "byCriterion", skip_serializing_if = "BTreeMap::is_empty")]
    pub by_criterion: BTreeMap<AgentId, BTreeMap<String, f64>>,
    /// The major requirements that each text misses.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub missing: BTreeMap<AgentId, Vec<String>>,
    /// Whether the winner was the same in reversed order; absent if only one order was judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stable: Option<bool>,
}

impl Verdict {
    /// Whether the highest means are equal.
    pub fn is_tie(&self) -> bool {
        let most = self.scores.values().copied().fold(f64::NEG_INFINITY, f64::max);
        let leading = self.scores.values().filter(|score| most - **score < 1e-9).count();
        self.winner.is_none() && leading > 1
    }
}

/// The winner of a debate and the deciding result.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Winner<'a> {
    pub agent_id: &'a AgentId,
    /// The deciding result.
    pub by: WonBy<'a>,
}

/// The deciding result.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum WonBy<'a> {
    Vote(&'a Voting),
    Scores(&'a Verdict),
}

impl Winner<'_> {
    /// Whether the winner was the same when the judge read in reversed order; absent if not tried, or if a vote
    /// decided.
    pub fn is_stable(&self) -> Option<bool> {
        match self.by {
            WonBy::Vote(_) => None,
            WonBy::Scores(verdict) => verdict.stable,
        }
    }
}

impl Debate {
    /// The winner, if any: by vote, otherwise by the judge's scores.
    pub fn winner(&self) -> Option<Winner<'_>> {
        let elected = self
            .last_voting()
            .and_then(|voting| Some(Winner { agent_id: voting.winner.as_ref()?, by: WonBy::Vote(voting) }));
        elected.or_else(|| {
            let verdict = self.last_verdict()?;
            Some(Winner { agent_id: verdict.winner.as_ref()?, by: WonBy::Scores(verdict) })
        })
    }

    /// The verdict on which the answer rests, even if an extension found no room.
    pub fn last_verdict(&self) -> Option<&Verdict> {
        self.verdict.as_ref().or_else(|| self.final_extension()?.verdict.as_ref())
    }

    /// The vote on which the answer rests, in the same way.
    pub fn last_voting(&self) -> Option<&Voting> {
        self.voting.as_ref().or_else(|| self.final_extension()?.voting.as_ref())
    }

    /// The final extension, if the debate has an answer but no further round.
    fn final_extension(&self) -> Option<&super::Extension> {
        let last = self.extensions.last().filter(|_| self.final_solution.is_some())?;
        Some(last).filter(|last| last.round == self.current_round)
    }
}

/// The votes of an audience.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Poll {
    pub stage: StageId,
    /// Each member's vote.
    pub votes: BTreeMap<AgentId, String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub reasons: BTreeMap<AgentId, String>,
}

impl Poll {
    /// A poll without votes.
    pub fn of(stage: StageId) -> Self {
        Self { stage, votes: BTreeMap::new(), reasons: BTreeMap::new() }
    }

    /// Adds a vote to the poll of its stage.
    pub(super) fn cast(polls: &mut Vec<Self>, key: &CallKey, vote: &str, reason: &str) {
        let place = polls.iter().position(|poll| poll.stage == key.stage).unwrap_or(polls.len());
        if place == polls.len() {
            polls.push(Self::of(key.stage));
        }
        if let Some(poll) = polls.get_mut(place) {
            poll.votes.insert(key.agent_id.clone(), vote.to_owned());
            poll.reasons.insert(key.agent_id.clone(), reason.to_owned());
        }
    }

    /// The number of votes for `choice`.
    pub fn count(&self, choice: &str) -> usize {
        self.votes.values().filter(|vote| *vote == choice).count()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// The winner, how it won, and whether that is stable, for a state with these keys.
    fn won(state: &Value) -> Option<(String, bool, Option<bool>)> {
        let mut whole = json!({"id": "d", "problem": "p", "status": "completed", "rounds": [], "currentRound": 2});
        whole.as_object_mut().unwrap().extend(state.as_object().unwrap().clone());
        let debate: Debate = serde_json::from_value(whole).unwrap();
        let winner = debate.winner()?;
        Some((winner.agent_id.to_string(), matches!(winner.by, WonBy::Vote(_)), winner.is_stable()))
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
