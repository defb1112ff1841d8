//! The agents vote blind on the anonymised texts, each in an order of its own. The winner's text is the solution; a
//! tie is recorded as a tie, and the judge has the casting vote.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;

use crate::agent::{Ballot, Slate, Unreadable};
use crate::debate::{
    AgentId, CallKey, CallRecord, Contribution, ContributionType, Decider, Event, Phase, Signal, Solution, Voting,
};
use crate::engine::calls::{Arrival, Calls};
use crate::engine::{Engine, EngineError};
use crate::protocol::Trigger;

use super::{positions, salt};

/// A ballot as a call returns it: read or not, and what it took.
type Cast = (Result<Ballot, Unreadable>, CallRecord);

pub(super) async fn run(engine: &mut Engine) -> Result<Trigger, EngineError> {
    let candidates = positions(engine);
    collect(engine, &candidates).await?;
    // A debate that the user has closed early is voted on like any other.
    if engine.debate().voting.is_none() && !engine.is_out_of_money() {
        count(engine, &candidates).await?;
    }
    if engine.is_out_of_money() {
        return super::judge::run(engine).await;
    }
    let Some(voting) = engine.debate().voting.clone() else { return Ok(Trigger::Retry) };
    let winner = candidates.iter().find(|text| voting.winner.as_ref() == Some(&text.agent_id));
    let Some(winner) = winner else {
        engine.warn("the vote has no winner: the judge writes the solution");
        return super::judge::run(engine).await;
    };
    let solution = Solution {
        description: describe(winner, &voting, &votes(engine)),
        synthesized_by: Some(winner.agent_id.clone()),
        base: Some(winner.agent_id.clone()),
        ..Solution::default()
    };
    engine.append(Event::Synthesized { solution: Box::new(solution), call: None })?;
    Ok(Trigger::Complete)
}

/// The ballots cast so far.
fn votes(engine: &Engine) -> Vec<Arc<Contribution>> {
    let last = engine.debate().rounds.last();
    let contributions = last.iter().flat_map(|round| &round.contributions);
    contributions.filter(|one| one.kind == ContributionType::Vote).cloned().collect()
}

/// Has every agent vote that has not done so.
async fn collect(engine: &mut Engine, candidates: &[Arc<Contribution>]) -> Result<(), EngineError> {
    let round = engine.debate().current_round;
    let seed = engine.debate().seed.unwrap_or_default();
    let ground = engine.ground()?;
    let cast = votes(engine);
    let failed: Vec<AgentId> = engine
        .debate()
        .failures
        .iter()
        .filter(|failure| failure.phase == Phase::Vote)
        .map(|failure| failure.agent_id.clone())
        .collect();
    let voters: Vec<_> = (salt::VOTER..)
        .zip(engine.panel.debaters.clone())
        .filter(|(_, one)| !failed.contains(one.id()) && !cast.iter().any(|vote| vote.agent_id == *one.id()))
        .collect();
    let (phase, total) = (Phase::Vote, voters.len());
    engine.signal(Signal::PhaseStarted { phase, round, total });
    let mut calls: Calls<Cast> = Calls::new();
    for (salt, debater) in voters {
        let slate = Slate::new(candidates.iter().cloned(), seed, salt);
        let request = debater.vote(&ground, round, &slate)?;
        let read = move |text: &str| slate.ballot(text);
        calls.start(engine, &debater.caller, request, |ask| ask.json(read), |cast| &cast.1);
    }
    let mut done = 0;
    while let Arrival::Finished(finished) = calls.next(engine).await? {
        match &finished.result {
            Ok((Ok(ballot), call)) => {
                let debaters = &engine.panel.debaters;
                if let Some(voter) = debaters.iter().find(|one| *one.id() == finished.key.agent_id) {
                    let contribution = Arc::new(voter.vote_contribution(ballot, call));
                    engine.append(Event::Contributed { round, contribution, call: Some(call.clone()) })?;
                    done += 1;
                }
            }
            Ok((Err(unreadable), call)) => spoil(engine, &finished.key, unreadable, call)?,
            Err(failed) => engine.record_failed_call(&finished.key, failed)?,
        }
        finished.show(engine);
    }
    engine.signal(Signal::PhaseEnded { phase, round, done, failed: total - done });
    Ok(())
}

/// A ballot that cannot be read was paid for all the same, and counts for nobody.
fn spoil(engine: &mut Engine, key: &CallKey, unreadable: &Unreadable, call: &CallRecord) -> Result<(), EngineError> {
    let error = format!("the ballot could not be read: {}", unreadable.error);
    engine.record_unreadable(key, error, call)
}

/// Counts the votes; on a tie the judge has the casting vote.
async fn count(engine: &mut Engine, candidates: &[Arc<Contribution>]) -> Result<(), EngineError> {
    let mut tally: BTreeMap<AgentId, u32> = candidates.iter().map(|text| (text.agent_id.clone(), 0)).collect();
    for vote in votes(engine) {
        if let Some(votes) = vote.target_agent_id.as_ref().and_then(|choice| tally.get_mut(choice)) {
            *votes += 1;
        }
    }
    let most = tally.values().copied().max().unwrap_or(0);
    let leading: Vec<AgentId> =
        candidates.iter().map(|text| text.agent_id.clone()).filter(|id| tally.get(id) == Some(&most)).collect();
    let mut voting = Voting { tally, tied: Vec::new(), winner: None, decided_by: Decider::Vote, reason: None };
    let mut call = None;
    if let [winner] = leading.as_slice() {
        voting.winner = Some(winner.clone());
    } else {
        engine.warn(format!("the vote is tied at {most} between {}: the judge decides", listed(&leading)));
        voting.tied.clone_from(&leading);
        let tied = candidates.iter().filter(|text| leading.contains(&text.agent_id)).cloned().collect();
        let (cast, took) = break_tie(engine, tied).await?;
        call = took;
        voting.decided_by = if cast.is_some() { Decider::Judge } else { Decider::Nobody };
        voting.winner = cast.as_ref().map(|ballot| ballot.choice.clone());
        voting.reason = cast.map(|ballot| ballot.reason);
    }
    engine.append(Event::Voted { voting, call })?;
    Ok(())
}

/// Asks the judge to choose among the tied texts. No choice is made up when its answer cannot be read.
async fn break_tie(
    engine: &mut Engine,
    tied: Vec<Arc<Contribution>>,
) -> Result<(Option<Ballot>, Option<CallRecord>), EngineError> {
    let (round, seed) = (engine.debate().current_round, engine.debate().seed.unwrap_or_default());
    let ground = engine.ground()?;
    let judge = engine.panel.judge.clone();
    let slate = Slate::new(tied, seed, salt::TIE);
    let request = judge.break_tie(&ground, round, &slate)?;
    // A run that was killed behind the failure has asked already.
    if engine.has_failed(&request.brief.key) {
        return Ok((None, None));
    }
    let mut calls: Calls<Cast> = Calls::new();
    let read = move |text: &str| slate.ballot(text);
    calls.start(engine, &judge.caller, request, |ask| ask.json(read), |cast| &cast.1);
    let Some(finished) = calls.only(engine).await? else { return Ok((None, None)) };
    let decision = match &finished.result {
        Ok((cast, call)) => {
            if let Err(unreadable) = cast {
                engine.warn(format!("the judge's casting vote could not be read: {}", unreadable.error));
            }
            (cast.as_ref().ok().cloned(), Some(call.clone()))
        }
        Err(failed) => {
            engine.record_failed_call(&finished.key, failed)?;
            (None, None)
        }
    };
    finished.show(engine);
    Ok(decision)
}

fn listed(ids: &[AgentId]) -> String {
    ids.iter().map(AgentId::as_str).collect::<Vec<_>>().join(", ")
}

/// The winner's text, and behind it how the vote went.
fn describe(winner: &Contribution, voting: &Voting, votes: &[Arc<Contribution>]) -> String {
    let mut text = format!("{}\n\n---\n\n## Vote\n\n", winner.content.trim_end());
    // Writing to a String cannot fail.
    for (candidate, count) in &voting.tally {
        let _ = writeln!(text, "- {candidate}: {count}");
    }
    if !voting.tied.is_empty() {
        let tied = listed(&voting.tied);
        let reason = voting.reason.as_deref().unwrap_or_default().replace('\n', " ");
        let _ = writeln!(text, "\nTied: {tied}. The judge decided for {}: {reason}", winner.agent_id);
    }
    let _ = writeln!(text, "\n### Ballots\n");
    for vote in votes {
        let choice = vote.target_agent_id.as_ref().map_or("nobody", |choice| choice.as_str());
        let confidence = vote.metadata.confidence.map_or_else(|| "?".to_owned(), |confidence| confidence.to_string());
        let reason = vote.content.replace('\n', " ");
        let _ = writeln!(text, "- {} for {choice} (confidence {confidence}/100): {reason}", vote.agent_id);
    }
    text
}
