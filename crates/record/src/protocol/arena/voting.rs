//! The vote: every agent chooses among the anonymised texts, each in its own order. Without a quorum, or without enough
//! votes for one text, there is no winner, and the judge's scores decide.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::debate::{
    AgentId, AgentSettings, CallKey, Contribution, Debate, Dissent, Event, Undecided, VoteCount, Voting,
};

use super::convergence::standing;
use super::{
    BudgetClass, FINAL_REFINEMENT, OutputSpec, PromptContext, REVISION, Step, VOTE, VOTING, has_timed_out, key, rules,
    salt,
};

/// The minimum number of ballots, regardless of the number of voters.
const LEAST_QUORUM: u32 = 2;

/// The calls of existing and pending texts.
fn candidates(debate: &Debate) -> Vec<CallKey> {
    let final_text = |agent: &AgentSettings| {
        let refined = key(debate, FINAL_REFINEMENT, agent);
        let may_come =
            debate.settled(&refined).is_none() && !has_timed_out(debate) && standing(debate, agent, REVISION).is_some();
        if may_come { Some(refined) } else { standing(debate, agent, FINAL_REFINEMENT) }
    };
    debate.team().into_iter().filter_map(final_text).collect()
}

/// The ballots of all agents.
pub(super) fn steps(debate: &Debate) -> Vec<Step> {
    let candidates = candidates(debate);
    let first = salt::VOTER + debate.current_round * salt::ROUND;
    let ballot = |(salt, voter)| {
        let ballot = Step::new(key(debate, VOTING, voter), &VOTE, OutputSpec::Choice).after(candidates.clone());
        ballot.showing(PromptContext::Candidates { salt }).paid(BudgetClass::Decision)
    };
    (first..).zip(debate.team()).map(ballot).collect()
}

/// The result, once all ballots are cast or have failed. A winner needs a share of all possible votes, so that failed
/// ballots cannot produce a majority, and a quorum of ballots.
pub(super) fn result(debate: &Debate) -> Vec<Event> {
    let team = debate.team();
    let keys: Vec<CallKey> = team.iter().map(|voter| key(debate, VOTING, voter)).collect();
    if debate.voting.is_some() || !keys.iter().all(|key| debate.settled(key).is_some()) {
        return Vec::new();
    }
    let cast: Vec<&Arc<Contribution>> = keys.iter().filter_map(|key| debate.contribution(key)).collect();
    let candidates = candidates(debate);
    let mut tally: BTreeMap<AgentId, u32> = candidates.iter().map(|one| (one.agent_id.clone(), 0)).collect();
    for ballot in &cast {
        if let Some(votes) = ballot.target_agent_id.as_ref().and_then(|choice| tally.get_mut(choice)) {
            *votes += 1;
        }
    }
    let most = tally.values().copied().max().unwrap_or(0);
    let is_leading = |one: &&CallKey| tally.get(&one.agent_id) == Some(&most);
    let leading: Vec<AgentId> = candidates.iter().filter(is_leading).map(|one| one.agent_id.clone()).collect();
    let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    let rule = rules(debate).map(|rules| rules.voting.rule).unwrap_or_default();
    let voters = count(team.len());
    let quorum = voters.div_ceil(2).max(LEAST_QUORUM);
    let undecided = if count(cast.len()) < quorum {
        Some(Undecided::NoQuorum)
    } else if leading.len() != 1 {
        Some(Undecided::Tie)
    } else if rule.is_met(most, voters) {
        None
    } else {
        Some(Undecided::ShortOfRule)
    };
    let winner = leading.first().filter(|_| undecided.is_none()).cloned();
    let own = cast.iter().filter(|ballot| ballot.target_agent_id.as_ref() == Some(&ballot.agent_id));
    let self_votes = count(own.count());
    let against = cast.iter().filter_map(|ballot| {
        let preferred =
            ballot.target_agent_id.clone().filter(|choice| winner.is_some() && winner.as_ref() != Some(choice))?;
        let (agent_id, confidence) = (ballot.agent_id.clone(), ballot.metadata.confidence);
        Some(Dissent { agent_id, preferred, reason: ballot.content.to_string(), confidence })
    });
    let dissent = against.collect();
    let count = VoteCount { rule, voters, cast: count(cast.len()), quorum, self_votes, undecided, dissent };
    let tied = if undecided == Some(Undecided::Tie) { leading } else { Vec::new() };
    vec![Event::Voted { voting: Voting { tally, tied, winner, count } }]
}
