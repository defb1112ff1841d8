//! A vote: every agent chooses among the anonymised texts, each in its own order. A tie is recorded as a tie. Without a
//! rule, most votes win, the winner's text is the solution, and the judge has the casting vote. With a rule and its
//! quorum there may be no winner, which the protocol handles.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;

use crate::debate::{
    AgentId, AgentSettings, CallKey, CallStatus, Contribution, Debate, Decider, Dissent, Event, Solution, StageId,
    Undecided, VoteCount, Voting, VotingRule,
};
use crate::prompt::Prompt;

use super::{BudgetClass, OutputSpec, PromptContext, Step, check, key};

/// The minimum number of ballots, regardless of the number of voters.
const LEAST_QUORUM: u32 = 2;

/// The subject and rules of a vote.
#[derive(Debug, Clone)]
pub struct Ballots {
    /// The stage of the ballots.
    pub stage: StageId,
    /// The voters' prompt.
    pub prompt: &'static Prompt,
    /// The calls whose texts are the candidates.
    pub candidates: Vec<CallKey>,
    /// The salt of the first voter's order; the following voters have the next numbers.
    pub voter_salt: u32,
    /// The salt of the casting vote.
    pub tie_salt: u32,
    /// The required share of the votes; without a rule most ballots win, and the judge has the casting vote.
    pub rule: Option<VotingRule>,
}

impl Ballots {
    fn key(&self, debate: &Debate, voter: &AgentSettings) -> CallKey {
        key(debate, self.stage, voter)
    }

    fn step(&self, key: CallKey, candidates: Vec<CallKey>, salt: u32, notice: Option<String>) -> Step {
        let ballot = Step::new(key, self.prompt, OutputSpec::Choice).after(candidates);
        ballot.showing(PromptContext::Candidates { salt }).paid(BudgetClass::Decision).saying(notice)
    }

    /// The ballots cast, without the judge's.
    fn cast<'a>(&self, debate: &'a Debate) -> Vec<&'a Arc<Contribution>> {
        debate.team().into_iter().filter_map(|voter| debate.contribution(&self.key(debate, voter))).collect()
    }

    /// The votes of each candidate, once all voters are done.
    fn tally(&self, debate: &Debate) -> Option<BTreeMap<AgentId, u32>> {
        if !debate.team().into_iter().all(|voter| debate.settled(&self.key(debate, voter)).is_some()) {
            return None;
        }
        let mut tally: BTreeMap<AgentId, u32> = self.candidates.iter().map(|one| (one.agent_id.clone(), 0)).collect();
        for ballot in self.cast(debate) {
            if let Some(votes) = ballot.target_agent_id.as_ref().and_then(|choice| tally.get_mut(choice)) {
                *votes += 1;
            }
        }
        Some(tally)
    }

    /// The candidates with the most votes, or that would have them with `more` votes, in order.
    fn leading(&self, tally: &BTreeMap<AgentId, u32>, more: u32) -> Vec<&CallKey> {
        let most = tally.values().copied().max().unwrap_or(0);
        let votes = |one: &CallKey| tally.get(&one.agent_id).copied();
        self.candidates.iter().filter(|one| votes(one).is_some_and(|votes| votes + more >= most)).collect()
    }

    /// The candidates for the judge's casting vote without a rule: the tied ones; or the leader, and those that failed
    /// ballots could have brought level. A single one means that the vote is decided.
    fn contenders(&self, debate: &Debate, tally: &BTreeMap<AgentId, u32>) -> Vec<&CallKey> {
        let tied = self.leading(tally, 0);
        let failed = debate.team().len() - self.cast(debate).len();
        if tied.len() > 1 { tied } else { self.leading(tally, u32::try_from(failed).unwrap_or(u32::MAX)) }
    }
}

/// The ballots of all agents and, in a tie, the judge's.
pub fn steps(debate: &Debate, ballots: &Ballots) -> Vec<Step> {
    let Some(settings) = &debate.settings else { return Vec::new() };
    let voters = (ballots.voter_salt..).zip(debate.team());
    let mut steps: Vec<Step> = voters
        .map(|(salt, voter)| ballots.step(ballots.key(debate, voter), ballots.candidates.clone(), salt, None))
        .collect();
    let Some(tally) = ballots.tally(debate) else { return steps };
    let contenders = ballots.contenders(debate, &tally);
    if contenders.len() > 1 && ballots.rule.is_none() {
        let names = listed(contenders.iter().map(|one| &one.agent_id));
        let notice = if contenders.len() == ballots.leading(&tally, 0).len() {
            let most = tally.values().copied().max().unwrap_or(0);
            format!("the vote is tied at {most} between {names}: the judge decides")
        } else {
            format!("failed ballots could have decided between {names}: the judge decides")
        };
        let tied = contenders.into_iter().cloned().collect();
        steps.push(ballots.step(ballots.key(debate, &settings.judge), tied, ballots.tie_salt, Some(notice)));
    }
    steps
}

/// The result once complete, and the winner's text as the solution.
pub fn facts(debate: &Debate, ballots: &Ballots) -> Vec<Event> {
    if let Some(voting) = &debate.voting {
        let is_open = debate.final_solution.is_none() && debate.draft.is_none();
        let winner = voting.winner.as_ref().filter(|_| is_open);
        let text = winner.and_then(|winner| ballots.candidates.iter().find(|one| one.agent_id == *winner));
        let event = |text: &Arc<Contribution>| check::delivered(debate, text, solution(debate, ballots, voting, text));
        return text.and_then(|text| debate.contribution(text)).map(event).into_iter().collect();
    }
    result(debate, ballots).into_iter().collect()
}

/// The events after the winner's answer to the check.
pub fn amended(debate: &Debate, ballots: &Ballots) -> Vec<Event> {
    let Some(voting) = &debate.voting else { return Vec::new() };
    check::rewritten(debate, |text| solution(debate, ballots, voting, text))
}

/// The winner's text as the answer.
fn solution(debate: &Debate, ballots: &Ballots, voting: &Voting, text: &Contribution) -> Solution {
    Solution {
        description: describe(text, voting, &ballots.cast(debate)),
        synthesized_by: Some(text.agent_id.clone()),
        base: Some(text.agent_id.clone()),
        ..Solution::default()
    }
}

/// The result, once complete and not yet recorded.
pub fn result(debate: &Debate, ballots: &Ballots) -> Option<Event> {
    let (Some(settings), None) = (&debate.settings, &debate.voting) else { return None };
    let tally = ballots.tally(debate)?;
    if let Some(rule) = ballots.rule {
        return Some(Event::Voted { voting: by_rule(debate, ballots, tally, rule), call: None });
    }
    let contenders = ballots.contenders(debate, &tally);
    let leading: Vec<AgentId> = contenders.into_iter().map(|one| one.agent_id.clone()).collect();
    let voting = if let [winner] = leading.as_slice() {
        let winner = Some(winner.clone());
        Voting { tally, tied: Vec::new(), winner, decided_by: Decider::Vote, reason: None, count: None }
    } else {
        let casting = ballots.key(debate, &settings.judge);
        let ballot = match debate.settled(&casting) {
            None => return None,
            Some(CallStatus::Failed) => None,
            Some(CallStatus::Done | CallStatus::Empty) => debate.contribution(&casting),
        };
        Voting {
            tally,
            tied: leading,
            winner: ballot.and_then(|ballot| ballot.target_agent_id.clone()),
            decided_by: if ballot.is_some() { Decider::Judge } else { Decider::Nobody },
            reason: ballot.map(|ballot| ballot.content.to_string()),
            count: None,
        }
    };
    Some(Event::Voted { voting, call: None })
}

/// The result under a rule: a winner needs enough of all possible votes, so that failed ballots cannot produce a
/// majority, and enough ballots must be cast.
fn by_rule(debate: &Debate, ballots: &Ballots, tally: BTreeMap<AgentId, u32>, rule: VotingRule) -> Voting {
    let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    let (voters, cast) = (count(debate.team().len()), ballots.cast(debate));
    let quorum = voters.div_ceil(2).max(LEAST_QUORUM);
    let leading: Vec<AgentId> = ballots.leading(&tally, 0).into_iter().map(|one| one.agent_id.clone()).collect();
    let most = tally.values().copied().max().unwrap_or(0);
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
    Voting {
        tied: if undecided == Some(Undecided::Tie) { leading } else { Vec::new() },
        decided_by: if winner.is_some() { Decider::Vote } else { Decider::Nobody },
        winner,
        reason: None,
        count: Some(VoteCount { rule, voters, cast: count(cast.len()), quorum, self_votes, undecided, dissent }),
        tally,
    }
}

fn listed<'a>(ids: impl IntoIterator<Item = &'a AgentId>) -> String {
    ids.into_iter().map(AgentId::as_str).collect::<Vec<_>>().join(", ")
}

/// The winner's text, followed by the result of the vote.
fn describe(winner: &Contribution, voting: &Voting, ballots: &[&Arc<Contribution>]) -> String {
    let mut text = format!("{}\n\n---\n\n## Vote\n\n", winner.without_answers().trim_end());
    // Writing to a string cannot fail.
    for (candidate, count) in &voting.tally {
        let _ = writeln!(text, "- {candidate}: {count}");
    }
    if !voting.tied.is_empty() {
        let tied = listed(&voting.tied);
        let reason = voting.reason.as_deref().unwrap_or_default().replace('\n', " ");
        let what = if voting.is_tied() { "Tied" } else { "Open, since ballots failed" };
        let _ = writeln!(text, "\n{what}: {tied}. The judge decided for {}: {reason}", winner.agent_id);
    }
    let _ = writeln!(text, "\n### Ballots\n");
    for ballot in ballots {
        let choice = ballot.target_agent_id.as_ref().map_or("nobody", AgentId::as_str);
        let confidence = ballot.metadata.confidence.map_or_else(|| "?".to_owned(), |confidence| confidence.to_string());
        let reason = ballot.content.replace('\n', " ");
        let _ = writeln!(text, "- {} for {choice} (confidence {confidence}/100): {reason}", ballot.agent_id);
    }
    text
}
