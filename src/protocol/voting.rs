//! A vote: every agent chooses among the anonymised texts, each in an order of its own. The winner's text is the
//! solution; a tie is recorded as a tie, and the judge has the casting vote.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;

use crate::debate::{
    AgentId, AgentSettings, CallKey, Contribution, Debate, Decider, Event, Settled, Solution, StageId, Voting,
};
use crate::prompt::Prompt;

use super::{Answer, Cost, Shows, Step};

/// What is voted on, and how.
#[derive(Debug, Clone)]
pub struct Ballots {
    /// The stage of the ballots.
    pub stage: StageId,
    /// What voters are told.
    pub prompt: &'static Prompt,
    /// The calls whose texts are the candidates.
    pub candidates: Vec<CallKey>,
    /// What tells the order of the first voter apart from other shuffles; the next ones count on.
    pub voter_salt: u32,
    /// The same for the casting vote.
    pub tie_salt: u32,
}

impl Ballots {
    fn key(&self, debate: &Debate, voter: &AgentSettings) -> CallKey {
        CallKey::new(debate.current_round, self.stage, &voter.id)
    }

    fn step(&self, key: CallKey, candidates: Vec<CallKey>, salt: u32, notice: Option<String>) -> Step {
        Step {
            key,
            inputs: candidates,
            prompt: self.prompt,
            shows: Shows::Candidates { salt },
            answer: Answer::Choice,
            cost: Cost::Decision,
            notice,
        }
    }

    /// The ballots that were cast, the judge's not among them.
    fn cast<'a>(&self, debate: &'a Debate) -> Vec<&'a Arc<Contribution>> {
        let voters = debate.settings.iter().flat_map(|settings| &settings.agents);
        voters.filter_map(|voter| debate.contribution(&self.key(debate, voter))).collect()
    }

    /// The votes of each candidate, once nobody is waited for.
    fn tally(&self, debate: &Debate) -> Option<BTreeMap<AgentId, u32>> {
        let mut voters = debate.settings.iter().flat_map(|settings| &settings.agents);
        if !voters.all(|voter| debate.settled(&self.key(debate, voter)).is_some()) {
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

    /// The candidates with the most votes, in the order of the candidates.
    fn leading(&self, tally: &BTreeMap<AgentId, u32>) -> Vec<&CallKey> {
        let most = tally.values().copied().max().unwrap_or(0);
        self.candidates.iter().filter(|one| tally.get(&one.agent_id) == Some(&most)).collect()
    }
}

/// The ballots of all agents and, where they tie, the judge's.
#[must_use]
pub fn steps(debate: &Debate, ballots: &Ballots) -> Vec<Step> {
    let Some(settings) = &debate.settings else { return Vec::new() };
    let voters = (ballots.voter_salt..).zip(&settings.agents);
    let mut steps: Vec<Step> = voters
        .map(|(salt, voter)| ballots.step(ballots.key(debate, voter), ballots.candidates.clone(), salt, None))
        .collect();
    let Some(tally) = ballots.tally(debate) else { return steps };
    let leading = ballots.leading(&tally);
    if leading.len() > 1 {
        let most = tally.values().copied().max().unwrap_or(0);
        let names = listed(leading.iter().map(|one| &one.agent_id));
        let notice = format!("the vote is tied at {most} between {names}: the judge decides");
        let tied = leading.into_iter().cloned().collect();
        steps.push(ballots.step(ballots.key(debate, &settings.judge), tied, ballots.tie_salt, Some(notice)));
    }
    steps
}

/// The result once it is there, and the winner's text as the solution.
#[must_use]
pub fn facts(debate: &Debate, ballots: &Ballots) -> Vec<Event> {
    if let Some(voting) = &debate.voting {
        let winner = voting.winner.as_ref().filter(|_| debate.final_solution.is_none());
        let text = winner.and_then(|winner| ballots.candidates.iter().find(|one| one.agent_id == *winner));
        let solution = text.and_then(|text| debate.contribution(text)).map(|text| Solution {
            description: describe(text, voting, &ballots.cast(debate)),
            synthesized_by: Some(text.agent_id.clone()),
            base: Some(text.agent_id.clone()),
            ..Solution::default()
        });
        let event = |solution| Event::Synthesized { key: None, solution: Box::new(solution), call: None };
        return solution.into_iter().map(event).collect();
    }
    let (Some(settings), Some(tally)) = (&debate.settings, ballots.tally(debate)) else { return Vec::new() };
    let leading: Vec<AgentId> = ballots.leading(&tally).into_iter().map(|one| one.agent_id.clone()).collect();
    let voting = if let [winner] = leading.as_slice() {
        let winner = Some(winner.clone());
        Voting { tally, tied: Vec::new(), winner, decided_by: Decider::Vote, reason: None }
    } else {
        let casting = ballots.key(debate, &settings.judge);
        let ballot = match debate.settled(&casting) {
            None => return Vec::new(),
            Some(Settled::Failed) => None,
            Some(Settled::Done | Settled::Empty) => debate.contribution(&casting),
        };
        Voting {
            tally,
            tied: leading,
            winner: ballot.and_then(|ballot| ballot.target_agent_id.clone()),
            decided_by: if ballot.is_some() { Decider::Judge } else { Decider::Nobody },
            reason: ballot.map(|ballot| ballot.content.to_string()),
        }
    };
    vec![Event::Voted { voting, call: None }]
}

fn listed<'a>(ids: impl IntoIterator<Item = &'a AgentId>) -> String {
    ids.into_iter().map(AgentId::as_str).collect::<Vec<_>>().join(", ")
}

/// The winner's text, and behind it how the vote went.
fn describe(winner: &Contribution, voting: &Voting, ballots: &[&Arc<Contribution>]) -> String {
    let mut text = format!("{}\n\n---\n\n## Vote\n\n", winner.without_answers().trim_end());
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
    for ballot in ballots {
        let choice = ballot.target_agent_id.as_ref().map_or("nobody", AgentId::as_str);
        let confidence = ballot.metadata.confidence.map_or_else(|| "?".to_owned(), |confidence| confidence.to_string());
        let reason = ballot.content.replace('\n', " ");
        let _ = writeln!(text, "- {} for {choice} (confidence {confidence}/100): {reason}", ballot.agent_id);
    }
    text
}
