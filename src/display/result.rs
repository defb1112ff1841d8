//! What ballots, polls and judgements say, each in a line.

use std::collections::BTreeMap;

use crate::debate::{AgentId, CallKey, Event, PanelInfo, Verdict, Yield};
use crate::figures::score;

/// What an event says of who is for what, or who won; nothing where it says no such thing. `name` is how people are
/// called. Not cleaned.
pub(super) fn result_line<'a>(
    panel: &'a PanelInfo,
    event: &'a Event,
    name: impl Fn(&'a AgentId) -> &'a str,
) -> Option<String> {
    let by = |key: &'a CallKey| format!("{} {}", name(&key.agent_id), panel.words(key.stage).past);
    match event {
        Event::Contributed { key, contribution, .. } => {
            contribution.metadata.choice.as_ref().map(|choice| format!("{}: {choice}", by(key)))
        }
        Event::Polled { key, vote, .. } => Some(format!("{}: {vote}", by(key))),
        Event::Judged { key, judgement, .. } => {
            Some(format!("{}: {}", by(key), result(judgement.winner.as_ref(), &judgement.scores, name)))
        }
        Event::Decided { verdict } => {
            let stage = panel.stages.iter().find(|stage| stage.yields == Some(Yield::Verdict));
            let noun = stage.map_or("verdict", |stage| &stage.words.noun);
            let how = stability(verdict).map(|how| format!(", {how}")).unwrap_or_default();
            Some(format!("{noun}: {}{how}", result(verdict.winner.as_ref(), &verdict.scores, name)))
        }
        _ => None,
    }
}

/// `agent-architect wins (agent-architect 72.5, agent-kiss 65)`
pub(super) fn result<'a>(
    winner: Option<&'a AgentId>,
    scores: &'a BTreeMap<AgentId, f64>,
    name: impl Fn(&'a AgentId) -> &'a str,
) -> String {
    let winner = winner.map_or("nobody", &name);
    let scores: Vec<String> =
        scores.iter().map(|(agent, points)| format!("{} {}", name(agent), score(*points))).collect();
    if scores.is_empty() { format!("{winner} wins") } else { format!("{winner} wins ({})", scores.join(", ")) }
}

/// Whether the order in which the debaters were shown made a difference; nothing where only one was tried.
pub(super) fn stability(verdict: &Verdict) -> Option<&'static str> {
    verdict.stable.map(|stable| if stable { "the same in both orders" } else { "the result changed with the order" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::debate::fixture::{panel, pitching};

    #[test]
    fn each_result_is_one_line_in_the_words_of_its_stage() {
        let events = [
            pitching::applauded("agent-kiss", "yes"),
            pitching::polled("agent-kiss", "against"),
            pitching::judged(2, Some("agent-kiss")),
            pitching::judged(2, None),
            pitching::decided(Some("agent-architect"), Some(true)),
            pitching::decided(None, Some(false)),
            pitching::decided(None, None),
        ];
        let panel = pitching::panel();
        let lines: Vec<String> =
            events.iter().map(|event| result_line(&panel, event, AgentId::as_str).unwrap()).collect();
        insta::assert_snapshot!(lines.join("\n"), @r"
        agent-kiss applauded: yes
        agent-kiss raised a hand: against
        judge deliberated: agent-kiss wins (agent-architect 72.5, agent-kiss 65)
        judge deliberated: nobody wins (agent-architect 72.5, agent-kiss 65)
        ruling: agent-architect wins (agent-architect 72.5, agent-kiss 65), the same in both orders
        ruling: nobody wins (agent-architect 72.5, agent-kiss 65), the result changed with the order
        ruling: nobody wins (agent-architect 72.5, agent-kiss 65)
        ");
    }

    #[test]
    fn a_stage_that_is_unknown_is_called_by_its_id() {
        let line =
            |event| result_line(&panel(), &event, |id| if id.as_str() == "judge" { "Judge" } else { id.as_str() });
        let polled = line(pitching::polled("agent-kiss", "against"));
        assert_eq!(polled.as_deref(), Some("agent-kiss show-of-hands: against"));
        assert!(line(pitching::decided(None, None)).unwrap().starts_with("verdict: nobody wins"));
    }
}
