//! An agent: what it is asked in each phase.

use std::sync::Arc;

use crate::debate::{
    AgentId, AgentSettings, CallKey, CallRecord, Contribution, ContributionType, Cut, Debate, Metadata, Phase, Summary,
    SummaryMetadata, Timestamp,
};
use crate::llm::{Caller, Material, Request};
use crate::markdown::truncate;
use crate::prompt::{
    Clarify, Critique, FocusedRole, OwnHistory, Prompt, PromptError, Propose, Refine, Role, Summarize, Vote,
};

use super::ballot::BALLOT;
use super::history::{authored, finished_text, material_of};
use super::questions::QUESTIONS;
use super::{Ballot, Ground, Said, Slate, SummaryPlan};

/// Where a summary prompt of the user's wants what is to be condensed. Replaced in one pass: what agents wrote is never
/// looked through.
pub(super) const CONTENT: &str = "{content}";

/// An agent of the panel.
#[derive(Clone)]
pub struct Debater {
    /// Its settings.
    pub settings: AgentSettings,
    /// Its role's prompts, the user's files in place of some.
    pub role: Arc<Role>,
    /// Its model.
    pub caller: Caller,
}

impl Debater {
    /// Its id.
    #[must_use]
    pub fn id(&self) -> &AgentId {
        &self.settings.id
    }

    /// Its call for a phase.
    #[must_use]
    pub fn key(&self, round: u32, phase: Phase, target: Option<&AgentId>) -> CallKey {
        CallKey { round, phase, agent_id: self.id().clone(), target_agent_id: target.cloned() }
    }

    /// Asks what is unclear, at most `most` questions.
    ///
    /// # Errors
    /// A defect of the template.
    pub fn clarify(&self, ground: &Ground, most: u32) -> Result<Request, PromptError> {
        let body = Clarify { max_questions: most, role: self.role.clarifying() }.render()?;
        let request = self.request(ground, self.key(0, Phase::Clarification, None), None, &body, Vec::new());
        Ok(Request { answer: Some(Arc::clone(&QUESTIONS)), ..request })
    }

    /// Asks for a proposal.
    ///
    /// # Errors
    /// A defect of the template.
    pub fn propose(&self, ground: &Ground, debate: &Debate, round: u32) -> Result<Request, PromptError> {
        let (own_summary, history) = finished_text(debate, self.id(), round)?;
        let body = Propose { own_summary, role: self.role.proposing() }.render()?;
        let key = self.key(round, Phase::Proposal, None);
        Ok(self.request(ground, key, history.as_deref(), &body, Vec::new()))
    }

    /// Asks for a critique of `proposal`.
    ///
    /// # Errors
    /// A defect of the template.
    pub fn critique(
        &self,
        ground: &Ground,
        debate: &Debate,
        round: u32,
        proposal: &Contribution,
    ) -> Result<Request, PromptError> {
        let (own_summary, history) = finished_text(debate, self.id(), round)?;
        let body = Critique { proposal: authored(proposal), own_summary, role: self.role.critiquing() }.render()?;
        let key = self.key(round, Phase::Critique, Some(&proposal.agent_id));
        Ok(self.request(ground, key, history.as_deref(), &body, vec![material_of(proposal)]))
    }

    /// Asks for a refinement of its own `proposal` in the light of `critiques`.
    ///
    /// # Errors
    /// A defect of the template.
    pub fn refine(
        &self,
        ground: &Ground,
        debate: &Debate,
        round: u32,
        proposal: &Contribution,
        critiques: &[Arc<Contribution>],
    ) -> Result<Request, PromptError> {
        let (own_summary, history) = finished_text(debate, self.id(), round)?;
        let texts: Vec<_> = critiques.iter().map(|critique| authored(critique)).collect();
        let body = Refine { proposal: authored(proposal), critiques: &texts, own_summary, role: self.role.refining() }
            .render()?;
        let material = std::iter::once(material_of(proposal)).chain(critiques.iter().map(|one| material_of(one)));
        let key = self.key(round, Phase::Refinement, None);
        Ok(self.request(ground, key, history.as_deref(), &body, material.collect()))
    }

    /// Asks for a vote on a slate.
    ///
    /// # Errors
    /// A defect of the template.
    pub fn vote(&self, ground: &Ground, round: u32, slate: &Slate) -> Result<Request, PromptError> {
        let body = Vote { candidates: &slate.candidates(), role: self.role.persona() }.render()?;
        let key = self.key(round, Phase::Vote, None);
        let request = self.request(ground, key, None, &body, slate.material());
        Ok(Request { answer: Some(Arc::clone(&BALLOT)), ..request })
    }

    fn request(
        &self,
        ground: &Ground,
        key: CallKey,
        history: Option<&str>,
        body: &str,
        material: Vec<Material>,
    ) -> Request {
        ground.request(&self.settings, self.role.own_system.as_deref(), key, history, body, material)
    }

    /// The contribution that a ballot is: its target is whose text was chosen.
    #[must_use]
    pub fn vote_contribution(&self, ballot: &Ballot, call: &CallRecord) -> Contribution {
        Contribution {
            agent_id: self.id().clone(),
            agent_role: self.settings.role.as_str().into(),
            kind: ContributionType::Vote,
            content: ballot.reason.as_str().into(),
            metadata: Metadata { confidence: Some(ballot.confidence), ..Metadata::of_calls([call]) },
            target_agent_id: Some(ballot.choice.clone()),
        }
    }

    /// Asks for a summary of its own history at the start of `round`, or nothing while that is short.
    ///
    /// # Errors
    /// A defect of the template.
    pub fn summarize(
        &self,
        ground: &Ground,
        debate: &Debate,
        round: u32,
    ) -> Result<Option<(Request, usize)>, PromptError> {
        let settings = &self.settings.summarization;
        let plan = SummaryPlan::of(debate, self.id(), round);
        if !settings.enabled || plan.length < settings.threshold || plan.rounds.is_empty() {
            return Ok(None);
        }
        let own_summary = plan.previous.map(|summary| summary.summary.as_ref());
        let (max_length, role) = (settings.max_length, self.role.summarizing());
        let body = if role.focus.contains(CONTENT) {
            let history = OwnHistory { rounds: &plan.rounds, own_summary }.render()?;
            let focus = role.focus.replace(CONTENT, &history);
            Summarize { rounds: &[], own_summary: None, max_length, role: FocusedRole { focus: &focus, ..role } }
                .render()?
        } else {
            Summarize { rounds: &plan.rounds, own_summary, max_length, role }.render()?
        };
        let key = self.key(round, Phase::Summarization, None);
        Ok(Some((self.request(ground, key, None, &body, plan.material), plan.length)))
    }

    /// The summary that an answer to [`Self::summarize`] is, cut to its limit.
    #[must_use]
    pub fn summary(&self, said: &Said, before_chars: usize) -> Summary {
        summary_of(&self.settings, said, before_chars)
    }

    /// The contribution that an answer is.
    #[must_use]
    pub fn contribution(&self, kind: ContributionType, target: Option<&AgentId>, said: &Said) -> Contribution {
        Contribution {
            agent_id: self.id().clone(),
            agent_role: self.settings.role.as_str().into(),
            kind,
            content: Arc::clone(&said.text),
            metadata: said.metadata.clone(),
            target_agent_id: target.cloned(),
        }
    }

    /// The refinement of the round before as this round's proposal: nothing is called, nothing is paid.
    #[must_use]
    pub fn carry_over(&self, refinement: &Contribution) -> Contribution {
        Contribution {
            kind: ContributionType::Proposal,
            metadata: Metadata::carried_over(&self.settings.model),
            ..refinement.clone()
        }
    }
}

/// A summary as the record keeps it, cut to the limit of `settings`.
pub(super) fn summary_of(settings: &AgentSettings, said: &Said, before_chars: usize) -> Summary {
    let said_text = said.text.trim();
    let text = truncate(said_text, settings.summarization.max_length);
    Summary {
        agent_id: settings.id.clone(),
        agent_role: settings.role.as_str().into(),
        summary: text.into(),
        metadata: SummaryMetadata {
            before_chars,
            after_chars: text.chars().count(),
            method: settings.summarization.method.clone(),
            timestamp: Some(Timestamp::now()),
            latency_ms: said.metadata.latency_ms,
            tokens_used: said.metadata.tokens_used,
            model: Some(settings.model.clone()),
            temperature: Some(settings.temperature),
            provider: Some(settings.provider.clone()),
            cut: said.call.cut().or((text.len() < said_text.len()).then_some(Cut::MaxLength)),
        },
    }
}
