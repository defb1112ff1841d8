//! Texts of finished rounds, by author and target.

use std::sync::Arc;

use super::{AgentId, Contribution, Debate, Metadata, ParsedAnswer, ResultKind, Round, StageId};

impl Contribution {
    /// A copy of this text as a contribution of `stage` in the next round, without a call. `model` is its author's.
    pub fn carried_over(&self, stage: StageId, model: &str) -> Self {
        // Its answers belong to the earlier round; their position belongs to the text.
        let answers_at = self.reading.as_ref().and_then(|reading| reading.answers_at.clone());
        let reading = answers_at.map(|at| Box::new(ParsedAnswer { answers_at: Some(at), ..ParsedAnswer::default() }));
        Self { stage, metadata: Metadata::carried_over(model), reading, ..self.clone() }
    }
}

impl Debate {
    /// Whether a contribution is the agent's own solution or about it.
    pub fn is_own_text(&self, one: &Contribution, agent: &AgentId) -> bool {
        let (yields, is_target) = (self.yield_of(one), one.target_agent_id.as_ref() == Some(agent));
        (yields == Some(ResultKind::Proposal) && one.agent_id == *agent)
            || (yields == Some(ResultKind::Critique) && is_target)
    }

    /// The length in characters of an agent's own solutions and their critiques before `round`.
    pub fn own_text_length(&self, agent: &AgentId, round: u32) -> usize {
        self.own_text_lengths(agent, round).sum()
    }

    /// Whether that length is at least `least`; stops counting there.
    pub fn own_texts_reach(&self, least: usize, agent: &AgentId, round: u32) -> bool {
        let mut total = 0;
        least == 0
            || self.own_text_lengths(agent, round).any(|length| {
                total += length;
                total >= least
            })
    }

    fn own_text_lengths(&self, agent: &AgentId, round: u32) -> impl Iterator<Item = usize> {
        let finished = self.rounds.iter().filter(move |finished| finished.round_number < round);
        let own = finished.flat_map(|finished| &finished.contributions);
        own.filter(|one| self.is_own_text(one, agent) && !one.metadata.carried_over)
            .map(|one| one.content.chars().count())
    }

    /// The rounds before the one on which the answer rests, newest first.
    pub fn earlier_rounds(&self) -> impl DoubleEndedIterator<Item = &Round> {
        let last = self.final_round().map_or(0, |round| round.round_number);
        self.rounds.iter().rev().filter(move |round| round.round_number < last)
    }

    /// The length of the texts in them, in characters.
    pub fn earlier_text_length(&self) -> usize {
        let texts = self.earlier_rounds().flat_map(|round| &round.contributions);
        let written = texts.filter(|one| self.is_text(one) && !one.metadata.carried_over);
        written.map(|one| one.content.chars().count()).sum()
    }

    /// Marks proposals that repeat their author's last text; records older than format 2 lack the mark.
    pub fn mark_carried_over(&mut self) {
        let mut carried = Vec::new();
        for (index, round) in self.rounds.iter().enumerate().skip(1) {
            let positions = self.positions(&self.rounds[index - 1]);
            for (place, one) in round.contributions.iter().enumerate() {
                let is_same =
                    |before: &&Arc<Contribution>| before.agent_id == one.agent_id && before.content == one.content;
                let is_free = one.metadata.tokens_used == Some(0) && self.yield_of(one) == Some(ResultKind::Proposal);
                if is_free && positions.iter().any(is_same) {
                    carried.push((index, place));
                }
            }
        }
        for (index, place) in carried {
            Arc::make_mut(&mut self.rounds[index].contributions[place]).metadata.carried_over = true;
        }
    }

    /// Whether a contribution is a text rather than a ballot.
    pub fn is_text(&self, one: &Contribution) -> bool {
        matches!(
            self.yield_of(one),
            Some(
                ResultKind::Proposal
                    | ResultKind::Critique
                    | ResultKind::Speech
                    | ResultKind::Findings
                    | ResultKind::Opinion
            )
        )
    }
}
