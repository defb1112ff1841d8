//! What ballots, polls and judgements say, each in a line.

use std::collections::BTreeMap;

use crate::debate::{AgentId, Event, PanelInfo, Verdict, Yield};
use crate::figures::score;

/// What an event says of who is for what, or who won; nothing where it says no such thing. `name` is how people are
/// called. Not cleaned.
pub(super) fn result_line<'a>(
    panel: &'a PanelInfo,
    event: &'a Event,
    name: impl Fn(&'a AgentId) -> &'a str,
) -> Option<String> {
    match event {
        Event::Contributed { key, contribution, .. } => {
            let choice = contribution.metadata.choice.as_ref()?;
            Some(format!("{} {}: {}", name(&key.agent_id), panel.words(key.stage).past, choice))
        }
        Event::Polled { key, vote, .. } => {
            Some(format!("{} {}: {}", name(&key.agent_id), panel.words(key.stage).past, vote))
        }
        Event::Judged { key, judgement, .. } => {
            let source = format!("{} {}", name(&key.agent_id), panel.words(key.stage).past);
            Some(result(judgement.winner.as_ref(), &judgement.scores, &source, name))
        }
        Event::Decided { verdict } => {
            let ruling = panel.stages.iter().find(|stage| stage.yields == Some(Yield::Verdict));
            let noun = ruling.map_or("verdict", |stage| &stage.words.noun);
            let result = result(verdict.winner.as_ref(), &verdict.scores, noun, name);
            Some(format!("{result}{}", stability(verdict).map(|how| format!(" ({how})")).unwrap_or_default()))
        }
        _ => None,
    }
}

/// `judge deliberated: agent-architect wins, agent-architect 72.5, agent-kiss 65`
fn result<'a>(
    winner: Option<&'a AgentId>,
    scores: &'a BTreeMap<AgentId, f64>,
    source: &str,
    name: impl Fn(&'a AgentId) -> &'a str,
) -> String {
    let winner = winner.map_or_else(|| "nobody wins".to_owned(), |winner| format!("{} wins", name(winner)));
    let scores: String = scores.iter().map(|(agent, points)| format!(", {} {}", name(agent), score(*points))).collect();
    format!("{source}: {winner}{scores}")
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
        judge deliberated: agent-kiss wins, agent-architect 72.5, agent-kiss 65
        judge deliberated: nobody wins, agent-architect 72.5, agent-kiss 65
        ruling: agent-architect wins, agent-architect 72.5, agent-kiss 65 (the same in both orders)
        ruling: nobody wins, agent-architect 72.5, agent-kiss 65 (the result changed with the order)
        ruling: nobody wins, agent-architect 72.5, agent-kiss 65
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
