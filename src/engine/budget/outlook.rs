//! The calls that a debate has before it: the requests themselves, with filler where texts are not written yet.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use crate::agent::{Debater, Ground, Judge, Panel, Slate, SynthesisMaterial};
use crate::debate::{
    AgentId, AgentSettings, CallKey, Contribution, ContributionType, Debate, Event, Metadata, Phase, Recorded, Summary,
    SummaryMetadata, SynthesisMethod, Timestamp,
};
use crate::engine::EngineError;
use crate::llm::{Request, Turn, request_bytes};

/// Bytes of an answer for each token of its output limit: more than prose has.
const BYTES_PER_TOKEN: usize = 5;
/// Rounds that are looked at; those behind them are taken to be like the last of these.
const MOST_ROUNDS: u32 = 3;

/// A call to come.
#[derive(Debug, Clone)]
pub(super) struct Foreseen {
    pub(super) key: CallKey,
    pub(super) bytes: usize,
}

/// What lies before a debate.
#[derive(Debug, Default)]
pub(super) struct Outlook {
    /// The calls of each round to come, the one in progress first.
    pub(super) rounds: Vec<Vec<Foreseen>>,
    /// Rounds behind those, each like the last of them.
    pub(super) further: u32,
    /// Questions before the first round, and votes behind the last.
    pub(super) around: Vec<Foreseen>,
    /// The judge's calls that close the debate, in their order.
    pub(super) closing: Vec<Foreseen>,
}

/// How many tokens an answer of an agent has.
pub(super) type AnswerTokens<'a> = &'a dyn Fn(&AgentSettings) -> u32;

/// Goes through a debate that has not happened.
struct Rehearsal<'a> {
    panel: &'a Panel,
    ground: &'a Ground,
    debate: Debate,
    tokens: AnswerTokens<'a>,
    fillers: BTreeMap<u32, Arc<str>>,
    failed: HashSet<CallKey>,
}

/// What lies before `debate` until its round `until` is over and the judge has closed it.
///
/// # Errors
/// A defect of a template.
pub(super) fn look_ahead(
    panel: &Panel,
    ground: &Ground,
    debate: &Debate,
    until: u32,
    tokens: AnswerTokens<'_>,
) -> Result<Outlook, EngineError> {
    let failed = debate.failures.iter().map(|failure| CallKey {
        round: failure.round,
        phase: failure.phase,
        agent_id: failure.agent_id.clone(),
        target_agent_id: failure.target_agent_id.clone(),
    });
    let failed = failed.collect();
    let mut rehearsal = Rehearsal { panel, ground, debate: debate.clone(), tokens, fillers: BTreeMap::new(), failed };
    rehearsal.run(until)
}

impl Rehearsal<'_> {
    fn run(&mut self, until: u32) -> Result<Outlook, EngineError> {
        let mut outlook = Outlook::default();
        let settings = self.debate.settings.clone();
        let settings = settings.as_ref().map(|settings| &settings.debate);
        if settings.is_some_and(|of| of.interactive_clarifications) && self.debate.current_round == 0 {
            let most = settings.map_or(0, |of| of.clarifications_max_per_agent);
            for debater in &self.panel.debaters {
                outlook.around.push(foreseen(&debater.clarify(self.ground, most)?));
            }
        }
        let first = self.debate.current_round.max(1);
        let last = until.min(first.saturating_add(MOST_ROUNDS - 1));
        for round in first..=last {
            let calls = self.round(round)?;
            outlook.rounds.push(calls);
        }
        outlook.further = until.saturating_sub(last);
        if settings.is_some_and(|of| of.synthesis_method == SynthesisMethod::Voting) {
            let last = self.debate.final_round();
            let texts: Vec<_> = last.map(|round| round.positions().into_iter().cloned().collect()).unwrap_or_default();
            let slate = Slate::new(texts, 0, 0);
            for debater in &self.panel.debaters {
                outlook.around.push(foreseen(&debater.vote(self.ground, until, &slate)?));
            }
        }
        outlook.closing = self.closing()?;
        Ok(outlook)
    }

    /// The calls of a round, or those that are left of it.
    fn round(&mut self, round: u32) -> Result<Vec<Foreseen>, EngineError> {
        let mut calls = Vec::new();
        let panel = self.panel;
        if self.debate.round(round).is_none() {
            self.apply(Event::RoundBegun { round });
        }
        if self.debate.round(round).is_some_and(|of| of.timed_out) {
            return Ok(calls);
        }
        for debater in &panel.debaters {
            self.summarize(debater, round, &mut calls)?;
        }
        for debater in &panel.debaters {
            self.propose(debater, round, &mut calls)?;
        }
        for target in &panel.debaters {
            let Some(proposal) = self.found(round, ContributionType::Proposal, target.id(), None) else { continue };
            for critic in panel.debaters.iter().filter(|critic| critic.id() != target.id()) {
                let key = critic.key(round, Phase::Critique, Some(target.id()));
                if self.is_open(round, ContributionType::Critique, &key) {
                    calls.push(foreseen(&critic.critique(self.ground, &self.debate, round, &proposal)?));
                    self.contribute(critic, round, ContributionType::Critique, Some(target.id()));
                }
            }
            let key = target.key(round, Phase::Refinement, None);
            if self.is_open(round, ContributionType::Refinement, &key) {
                let texts = self.debate.round(round).into_iter().flat_map(|of| &of.contributions);
                let critiques = texts.filter(|one| {
                    one.kind == ContributionType::Critique && one.target_agent_id.as_ref() == Some(target.id())
                });
                let critiques: Vec<_> = critiques.cloned().collect();
                calls.push(foreseen(&target.refine(self.ground, &self.debate, round, &proposal, &critiques)?));
                self.contribute(target, round, ContributionType::Refinement, None);
            }
        }
        self.evaluate(round, &mut calls)?;
        Ok(calls)
    }

    fn summarize(&mut self, debater: &Debater, round: u32, calls: &mut Vec<Foreseen>) -> Result<(), EngineError> {
        let have = self.debate.round(round).and_then(|of| of.summaries.as_ref());
        let begun = self.debate.round(round).is_some_and(|of| !of.contributions.is_empty());
        if begun || have.is_some_and(|have| have.contains_key(debater.id())) {
            return Ok(());
        }
        let Some((request, _)) = debater.summarize(self.ground, &self.debate, round)? else { return Ok(()) };
        calls.push(foreseen(&request));
        let summary = Self::summary(&debater.settings);
        self.apply(Event::Summarized { round, summary, call: debater.caller.unsent(&request) });
        Ok(())
    }

    fn propose(&mut self, debater: &Debater, round: u32, calls: &mut Vec<Foreseen>) -> Result<(), EngineError> {
        if !self.is_open(round, ContributionType::Proposal, &debater.key(round, Phase::Proposal, None)) {
            return Ok(());
        }
        if let Some(before) = self.found(round - 1, ContributionType::Refinement, debater.id(), None) {
            let contribution = Arc::new(debater.carry_over(&before));
            self.apply(Event::Contributed { round, contribution, call: None });
            return Ok(());
        }
        calls.push(foreseen(&debater.propose(self.ground, &self.debate, round)?));
        self.contribute(debater, round, ContributionType::Proposal, None);
        Ok(())
    }

    fn evaluate(&mut self, round: u32, calls: &mut Vec<Foreseen>) -> Result<(), EngineError> {
        let Some(of) = self.debate.round(round) else { return Ok(()) };
        let kind = self.debate.settings.as_ref().map(|settings| settings.debate.termination_condition.kind);
        if of.evaluation.is_some() {
            return Ok(());
        }
        if let Some(kind) = kind
            && let Some(request) = self.panel.judge.evaluate(self.ground, &self.debate, of, kind)?
        {
            calls.push(foreseen(&request));
        }
        Ok(())
    }

    /// The judge's calls that close the debate: its summary where there is much to read, the synthesis, and its second
    /// chance.
    fn closing(&mut self) -> Result<Vec<Foreseen>, EngineError> {
        let judge: &Judge = &self.panel.judge;
        let mut calls = Vec::new();
        let mut material = judge.synthesis_material(&self.debate);
        if material == SynthesisMaterial::NeedsSummary {
            let request = judge.summarize(self.ground, &self.debate)?.request;
            calls.push(foreseen(&request));
            let summary = Self::summary(&judge.settings);
            self.apply(Event::JudgeSummarized { summary, call: judge.caller.unsent(&request) });
            material = SynthesisMaterial::Summary;
        }
        let first = judge.synthesize(self.ground, &self.debate, material)?;
        calls.push(foreseen(&first));
        // Another chance for a solution that is missing; to ask for a missing assessment alone takes less.
        let text = self.filler(&judge.settings).to_string();
        let mut second = first;
        second.turns = vec![Turn::Assistant { text, calls: Vec::new() }, Turn::User("x".repeat(SECOND_CHANCE_BYTES))];
        calls.push(foreseen(&second));
        Ok(calls)
    }

    fn found(
        &self,
        round: u32,
        kind: ContributionType,
        agent: &AgentId,
        target: Option<&AgentId>,
    ) -> Option<Arc<Contribution>> {
        self.debate.round(round)?.find(kind, agent, target).cloned()
    }

    /// Whether a call is still to be made.
    fn is_open(&self, round: u32, kind: ContributionType, key: &CallKey) -> bool {
        !self.failed.contains(key) && self.found(round, kind, &key.agent_id, key.target_agent_id.as_ref()).is_none()
    }

    fn contribute(&mut self, debater: &Debater, round: u32, kind: ContributionType, target: Option<&AgentId>) {
        let contribution = Arc::new(Contribution {
            agent_id: debater.id().clone(),
            agent_role: debater.settings.role.as_str().into(),
            kind,
            content: self.filler(&debater.settings),
            metadata: Metadata::default(),
            target_agent_id: target.cloned(),
        });
        self.apply(Event::Contributed { round, contribution, call: None });
    }

    fn summary(settings: &AgentSettings) -> Summary {
        Summary {
            agent_id: settings.id.clone(),
            agent_role: settings.role.as_str().into(),
            summary: "x".repeat(settings.summarization.max_length).into(),
            metadata: SummaryMetadata {
                before_chars: 0,
                after_chars: settings.summarization.max_length,
                method: settings.summarization.method.clone(),
                timestamp: None,
                latency_ms: None,
                tokens_used: None,
                model: None,
                temperature: None,
                provider: None,
                cut: None,
            },
        }
    }

    /// A text as long as an answer of that agent can be.
    fn filler(&mut self, settings: &AgentSettings) -> Arc<str> {
        let tokens = (self.tokens)(settings);
        let filler = self.fillers.entry(tokens).or_insert_with(|| "x".repeat(tokens as usize * BYTES_PER_TOKEN).into());
        Arc::clone(filler)
    }

    fn apply(&mut self, event: Event) {
        // It follows: the round was begun above. Were it not so, the outlook would only be shorter.
        drop(self.debate.apply(&Recorded { seq: 0, at: Timestamp::now(), event }));
    }
}

/// What is said when an answer could not be read, with the reason, in bytes.
const SECOND_CHANCE_BYTES: usize = 1000;

fn foreseen(request: &Request) -> Foreseen {
    Foreseen { key: request.brief.key.clone(), bytes: request_bytes(request) }
}
