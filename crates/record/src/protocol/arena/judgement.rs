//! The vote and the judgement: the judge scores all texts twice, in opposite orders, and builds the answer on the
//! winner. If the winner misses a major requirement, the debate may be extended.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::answer::{Dissent, Extension, Judgement, Undecided, Verdict, VoteCount, Voting};
use crate::debate::{Contribution, Debate, StopReason};
use crate::event::Event;
use crate::ids::{AgentId, CallKey};
use crate::settings::AgentSettings;

use super::convergence::standing;
use super::{
    BudgetClass, EXTEND, FINAL_REFINEMENT, JUDGEMENT, OutputSpec, PromptContext, REVISION, SCORE, SCORING, SOLVE, Step,
    Trigger, VOTE, VOTING, has_timed_out, key, rules, salt,
};
use crate::protocol::{Authorship, check, verdict, with_failure};

/// The criteria if `judge.criteria` is not set.
const CRITERIA: [&str; 4] = ["requirements", "soundness", "feasibility", "evidence"];

fn candidates(debate: &Debate) -> Vec<CallKey> {
    debate.team().into_iter().filter_map(|agent| standing(debate, agent, FINAL_REFINEMENT)).collect()
}

fn extension(debate: &Debate) -> Option<&Extension> {
    debate.extensions.last().filter(|extension| extension.round == debate.current_round)
}

/// The verdict on which the answer is based. If an extension was granted but did not run, this is the verdict before
/// the extension.
fn verdict_of(debate: &Debate) -> Option<&Verdict> {
    debate.verdict.as_ref().or_else(|| extension(debate)?.verdict.as_ref())
}

/// The pass number of this judgement's first reading. The second one has the next number.
fn first_pass(debate: &Debate) -> u8 {
    let before = debate.extensions.iter().filter(|extension| extension.round < debate.current_round).count();
    u8::try_from(2 * before + 1).unwrap_or(u8::MAX - 1)
}

fn judgements(debate: &Debate) -> Vec<Judgement> {
    let first = first_pass(debate);
    debate.judgements.iter().filter(|one| one.pass == first || one.pass == first + 1).cloned().collect()
}

fn scorings(debate: &Debate, judge: &AgentSettings, candidates: &[CallKey]) -> Vec<Step> {
    let first = first_pass(debate);
    let salt = salt::SCORES + debate.current_round;
    let step = |pass, shows, cost| {
        let scores = Step::new(key(debate, SCORING, judge).pass(pass), &SCORE, OutputSpec::Scores(&CRITERIA));
        scores.after(candidates.to_vec()).showing(shows).paid(cost)
    };
    let second = step(first + 1, PromptContext::CandidatesReversed { salt }, BudgetClass::Decision);
    let first = step(first, PromptContext::Candidates { salt }, BudgetClass::Closing);
    // If the budget has run out, the second reading is omitted, because only the cost of the first was reserved.
    let is_affordable = debate.stop_reason != Some(StopReason::Budget) || debate.settled(&second.key).is_some();
    if candidates.len() > 1 && is_affordable { vec![first, second] } else { vec![first] }
}

/// Whether all readings have ended without readable scores. The judge then writes the answer without a verdict.
fn is_unscored(debate: &Debate, judge: &AgentSettings, candidates: &[CallKey]) -> bool {
    let is_settled = |step: &Step| debate.settled(&step.key).is_some();
    judgements(debate).is_empty() && scorings(debate, judge, candidates).iter().all(is_settled)
}

/// The text that the answer builds on: the winner of the vote, or else of the verdict. `None` in a tie: the judge then
/// chooses.
fn winner(debate: &Debate, candidates: &[CallKey]) -> Option<CallKey> {
    let voting = debate.voting.as_ref().or_else(|| extension(debate)?.voting.as_ref());
    let by_vote = voting.and_then(|voting| voting.winner.as_ref());
    let winner = by_vote.or_else(|| verdict_of(debate)?.winner.as_ref());
    let winner = winner.and_then(|winner| candidates.iter().find(|text| text.agent_id == *winner));
    winner.or_else(|| candidates.first().filter(|_| candidates.len() == 1)).cloned()
}

fn leading(verdict: &Verdict, candidates: &[CallKey]) -> Vec<CallKey> {
    let most = verdict.scores.values().copied().fold(f64::NEG_INFINITY, f64::max);
    let is_best =
        |text: &&CallKey| verdict.scores.get(&text.agent_id).is_some_and(|score| most - score < verdict::EQUAL);
    candidates.iter().filter(is_best).cloned().collect()
}

pub(super) fn steps(debate: &Debate) -> Vec<Step> {
    let Some(settings) = &debate.settings else { return Vec::new() };
    let (judge, candidates) = (&settings.judge, candidates(debate));
    if candidates.is_empty() {
        return Vec::new();
    }
    if extension(debate).is_some() && debate.stop_reason.is_none() {
        return Vec::new();
    }
    // If an extension was granted but did not run, the answer uses the earlier scores.
    let mut steps = if extension(debate).is_some() { Vec::new() } else { scorings(debate, judge, &candidates) };
    if verdict_of(debate).is_some() || is_unscored(debate, judge, &candidates) {
        let authorship = match winner(debate, &candidates) {
            Some(winner) => Authorship::Based(winner),
            None => Authorship::Amended,
        };
        let shows = PromptContext::Candidates { salt: salt::SOLUTION + debate.current_round };
        let solution = Step::new(key(debate, JUDGEMENT, judge), &SOLVE, OutputSpec::Solution(authorship));
        let solution = solution.after(candidates).showing(shows).paid(BudgetClass::Closing);
        steps.push(solution.delivered(check::delivery(debate)));
    }
    steps
}

/// Records the verdict once all readings have ended, and then an extension if one is needed.
pub(super) fn facts(debate: &Debate) -> Vec<Event> {
    let Some(settings) = &debate.settings else { return Vec::new() };
    if debate.draft.is_some() {
        return check::stands(debate, false);
    }
    let candidates = candidates(debate);
    if candidates.is_empty() || debate.final_solution.is_some() || extension(debate).is_some() {
        return Vec::new();
    }
    let given = judgements(debate);
    let Some(verdict) = &debate.verdict else {
        let scorings = scorings(debate, &settings.judge, &candidates);
        let is_open = scorings.iter().any(|step| debate.settled(&step.key).is_none());
        let first = given.first().filter(|_| !is_open);
        return first.map(|first| Event::Decided { verdict: verdict::decide(first, &given) }).into_iter().collect();
    };
    let allowed = rules(debate).map_or(0, |rules| rules.extended_rounds as usize);
    if debate.stop_reason.is_some() || debate.extensions.len() >= allowed {
        return Vec::new();
    }
    let best = match winner(debate, &candidates) {
        Some(winner) => vec![winner],
        // In a tie, the judge may still choose any of the leading texts, so all of them must miss a requirement.
        None => leading(verdict, &candidates),
    };
    // A text is treated as lacking only if every reading names a requirement that it misses, because a single reading
    // may be wrong.
    let is_missed = |text: &CallKey| given.iter().all(|one| one.missing.contains_key(&text.agent_id));
    let first = best.first().filter(|_| !given.is_empty() && best.iter().all(is_missed));
    let extended = first.map(|winner| Event::Extended {
        round: debate.current_round,
        winner: winner.agent_id.clone(),
        missing: verdict.missing.get(&winner.agent_id).cloned().unwrap_or_default(),
    });
    extended.into_iter().collect()
}

pub(super) fn outcome(debate: &Debate) -> Result<Trigger, String> {
    if let Some(trigger) = check::drafted(debate) {
        return Ok(trigger);
    }
    if extension(debate).is_some() && debate.stop_reason.is_none() {
        return Ok(EXTEND);
    }
    if candidates(debate).is_empty() {
        return Err("there is no text to judge".to_owned());
    }
    Err(with_failure(debate, JUDGEMENT, "the judge could not write the answer"))
}

/// The minimum number of ballots, whatever the number of voters.
const LEAST_QUORUM: u32 = 2;

/// The texts to vote on, some of which may be pending.
fn voted_on(debate: &Debate) -> Vec<CallKey> {
    let final_text = |agent: &AgentSettings| {
        let refined = key(debate, FINAL_REFINEMENT, agent);
        let may_come =
            debate.settled(&refined).is_none() && !has_timed_out(debate) && standing(debate, agent, REVISION).is_some();
        if may_come { Some(refined) } else { standing(debate, agent, FINAL_REFINEMENT) }
    };
    debate.team().into_iter().filter_map(final_text).collect()
}

/// The ballots of all voters. The order of the texts is shuffled separately for each voter.
pub(super) fn ballots(debate: &Debate) -> Vec<Step> {
    let candidates = voted_on(debate);
    let first = salt::VOTER + debate.current_round * salt::ROUND;
    let ballot = |(salt, voter)| {
        let ballot = Step::new(key(debate, VOTING, voter), &VOTE, OutputSpec::Choice).after(candidates.clone());
        ballot.showing(PromptContext::Candidates { salt }).paid(BudgetClass::Decision)
    };
    (first..).zip(debate.team()).map(ballot).collect()
}

/// The result, once every ballot is cast or has failed. A winner needs the required share of all possible votes, so
/// that failed ballots cannot create a majority, and enough ballots must be cast. Without a winner, the judge's scores
/// decide.
pub(super) fn vote_result(debate: &Debate) -> Vec<Event> {
    let team = debate.team();
    let keys: Vec<CallKey> = team.iter().map(|voter| key(debate, VOTING, voter)).collect();
    if debate.voting.is_some() || !keys.iter().all(|key| debate.settled(key).is_some()) {
        return Vec::new();
    }
    let cast: Vec<&Arc<Contribution>> = keys.iter().filter_map(|key| debate.contribution(key)).collect();
    let candidates = voted_on(debate);
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
