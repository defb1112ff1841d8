//! What an agent knows of the finished rounds: its newest summary, or what concerns it in those that none covers.

use std::sync::Arc;

use crate::debate::{AgentId, Contribution, ContributionType, Debate, DebateSettings, Round, Summary};
use crate::llm::{Material, MaterialKind};
use crate::prompt::{Authored, History, OwnRound, Prompt, PromptError};

use super::material::{Titled, bounded};

/// What an agent is to condense: its own part of the finished rounds that its newest summary does not cover.
pub struct SummaryPlan<'a> {
    /// The newest summary; the new one takes its place.
    pub previous: Option<&'a Summary>,
    /// The agent's part of each round since.
    pub rounds: Vec<OwnRound<'a>>,
    /// Characters of the agent's part of all finished rounds.
    pub length: usize,
    /// The same texts for the request's brief.
    pub material: Vec<Material>,
}

/// An agent's newest summary, and the number of the round at whose start it was made: it covers those before.
fn newest_summary<'a>(debate: &'a Debate, agent: &AgentId) -> Option<(u32, &'a Summary)> {
    let summary_of = |round: &'a Round| Some((round.round_number, round.summaries.as_ref()?.get(agent)?));
    debate.rounds.iter().rev().find_map(summary_of)
}

fn is_own(one: &Contribution, agent: &AgentId) -> bool {
    match one.kind {
        ContributionType::Critique => one.target_agent_id.as_ref() == Some(agent),
        _ => one.agent_id == *agent,
    }
}

/// Characters of an agent's own proposals and refinements and of the critiques it received, in the rounds before
/// `round`. A refinement that became the next round's proposal counts once.
#[must_use]
pub fn own_history_length(debate: &Debate, agent: &AgentId, round: u32) -> usize {
    let finished = debate.rounds.iter().filter(|finished| finished.round_number < round);
    let own = finished.flat_map(|finished| finished.contributions.iter().map(move |one| (finished.round_number, one)));
    own.filter(|(number, one)| is_own(one, agent) && !debate.is_carried_over(*number, one))
        .map(|(_, one)| one.content.chars().count())
        .sum()
}

impl<'a> SummaryPlan<'a> {
    /// What `agent` has to condense at the start of `round`.
    #[must_use]
    pub fn of(debate: &'a Debate, agent: &AgentId, round: u32) -> Self {
        let newest = newest_summary(debate, agent);
        let covered = newest.map_or(0, |(made_in, _)| made_in);
        let open: Vec<&Round> =
            debate.rounds.iter().filter(|one| (covered..round).contains(&one.round_number)).collect();
        let mut material: Vec<Material> = Vec::new();
        if let Some((_, summary)) = newest {
            material.push(Material {
                author: agent.clone(),
                role: Arc::clone(&summary.agent_role),
                kind: MaterialKind::Summary,
                text: Arc::clone(&summary.summary),
            });
        }
        let rounds = open.iter().enumerate().map(|(index, one)| {
            let own = one.contributions.iter().filter(|contribution| is_own(contribution, agent));
            let mut part = OwnRound { proposal: None, critiques: Vec::new(), refinement: None };
            for contribution in own {
                let text = authored(contribution);
                match contribution.kind {
                    ContributionType::Critique => part.critiques.push(text),
                    ContributionType::Refinement => part.refinement = Some(text),
                    // The first round shown keeps its proposal, carried over or not: so this prompt begins like the
                    // one of the refinement that was made from it, and providers have that beginning in their cache.
                    _ if index > 0 && debate.is_carried_over(one.round_number, contribution) => continue,
                    _ => part.proposal = Some(text),
                }
                material.push(material_of(contribution));
            }
            part
        });
        let rounds = rounds.collect();
        let length = own_history_length(debate, agent, round);
        Self { previous: newest.map(|(_, summary)| summary), rounds, length, material }
    }
}

/// What `agent` is shown of the rounds before `round`: its newest summary, and of the rounds that no summary of its
/// covers, when `include_full_history` is set, what concerns it: its own texts, the critiques of them, its own
/// critiques. Newest first up to `history_limit` characters, so that a round costs no more the more was said before it.
///
/// # Errors
/// A defect of the template.
pub fn finished_text<'a>(
    debate: &'a Debate,
    agent: &AgentId,
    round: u32,
) -> Result<(Option<&'a str>, Option<String>), PromptError> {
    let newest = newest_summary(debate, agent);
    let covered = newest.map_or(0, |(made_in, _)| made_in);
    let summary = newest.map(|(_, summary)| summary.summary.as_ref());
    let settings = debate.settings.as_ref().map(|settings| &settings.debate);
    let full = settings.is_none_or(|settings| settings.include_full_history);
    let limit = settings.map_or(DebateSettings::DEFAULT_HISTORY_LIMIT, |settings| settings.history_limit);
    let open = debate.rounds.iter().rev().filter(|one| full && (covered..round).contains(&one.round_number));
    let texts: Vec<Titled<'_>> = open.flat_map(|one| concerning(debate, one, agent)).collect();
    if texts.is_empty() {
        return Ok((summary, None));
    }
    let texts = bounded(texts, limit);
    let entries: Vec<_> = texts.iter().map(Titled::entry).collect();
    Ok((summary, Some(History { entries: &entries }.render()?)))
}

/// What of a finished round concerns an agent, newest first.
fn concerning<'a>(debate: &Debate, round: &'a Round, agent: &AgentId) -> Vec<Titled<'a>> {
    let rank = |one: &Contribution| match one.kind {
        ContributionType::Refinement if one.agent_id == *agent => Some(0),
        ContributionType::Critique if one.target_agent_id.as_ref() == Some(agent) => Some(1),
        ContributionType::Critique if one.agent_id == *agent => Some(2),
        ContributionType::Proposal if one.agent_id == *agent => Some(3),
        _ => None,
    };
    let new = round.contributions.iter().filter(|one| !debate.is_carried_over(round.round_number, one));
    let mut ranked: Vec<(u8, &Contribution)> = new.filter_map(|one| Some((rank(one)?, one.as_ref()))).collect();
    ranked.sort_by_key(|(rank, _)| *rank);
    let titled = |(_, one): (u8, &'a Contribution)| {
        let title = match (one.kind, &one.target_agent_id) {
            (ContributionType::Critique, Some(target)) => format!("Critique of {target} by {}", one.agent_id),
            (ContributionType::Refinement, _) => format!("Refinement of {}", one.agent_id),
            _ => format!("Proposal of {}", one.agent_id),
        };
        Titled::new(format!("Round {}: {title}", round.round_number), &*one.content)
    };
    ranked.into_iter().map(titled).collect()
}

/// A contribution with its author, as other agents see it.
pub(super) fn authored(one: &Contribution) -> Authored<'_> {
    Authored { author: one.agent_id.as_str(), text: &one.content }
}

/// A contribution for a request's brief.
pub(super) fn material_of(one: &Contribution) -> Material {
    let kind = match one.kind {
        ContributionType::Critique => MaterialKind::Critique,
        ContributionType::Refinement => MaterialKind::Refinement,
        _ => MaterialKind::Proposal,
    };
    Material { author: one.agent_id.clone(), role: Arc::clone(&one.agent_role), kind, text: Arc::clone(&one.content) }
}
