//! One-line results of ballots, polls, comparisons and judgements.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use dialectic_base::figures::{counted, score};
use dialectic_record::debate::{
    AgentId, Argument, Challenge, Convergence, Event, Observation, PanelInfo, Polls, Relation, Relations, ResultKind,
    Verdict,
};

/// The result of an event that ends no call: of a vote, a comparison or a verdict. Not sanitized.
pub(super) fn result_line(panel: &PanelInfo, event: &Event) -> Option<String> {
    let name = |id| panel.name(id);
    match event {
        Event::Gathered { gathered } => {
            let there = gathered.material.iter().filter(|one| one.error.is_none()).count();
            (there > 0).then(|| format!("{} to start from", counted(there as u64, "text")))
        }
        Event::TeamSelected { selection } => {
            let chosen = selection.candidates.iter().filter(|one| one.chosen).map(|one| name(&one.agent_id));
            let chosen: Vec<&str> = chosen.collect();
            let all = selection.candidates.len();
            (chosen.len() < all).then(|| format!("team: {} (of {all} agents)", chosen.join(", ")))
        }
        Event::Measured { convergence, .. } => Some(measured(convergence)),
        Event::Extended { winner, missing, .. } => {
            Some(format!("the debate continues: {} misses {}", name(winner), missing.join("; ")))
        }
        Event::Decided { verdict } => {
            let stage = panel.stages.iter().find(|stage| stage.yields == Some(ResultKind::Verdict));
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

/// Whether the order of the debaters mattered; `None` if only one was tried.
pub(super) fn stability(verdict: &Verdict) -> Option<&'static str> {
    verdict.stable.map(|stable| if stable { "the same in both orders" } else { "the result changed with the order" })
}

/// `4 pairs alike, 1 opposite`
pub(super) fn related(relations: &Relations) -> String {
    let count = |relation| relations.pairs.iter().filter(|pair| pair.relation == relation).count() as u64;
    format!("{} alike, {} opposite", counted(count(Relation::Same), "pair"), count(Relation::Opposite))
}

/// `agreement 67 (80 needed) on 3 matters; texts 84 alike, 92 like before`
pub(super) fn measured(convergence: &Convergence) -> String {
    let reached = convergence.agreement.map_or_else(|| "unknown".to_owned(), whole);
    let mut text = format!("agreement {reached} ({} needed)", score(convergence.threshold));
    if let Some(unknown) = &convergence.unknown {
        let _ = write!(text, ", {unknown}");
    } else {
        let _ = write!(text, " on {}", counted(convergence.matters.len() as u64, "matter"));
    }
    if let Some(on) = &convergence.opposed_on {
        let _ = write!(text, ", opposed on “{on}”");
    }
    if let Some(similarity) = convergence.similarity {
        let _ = write!(text, "; texts {} alike", whole(similarity));
    }
    if let Some(stability) = convergence.mean_stability() {
        let _ = write!(text, ", {} like before", whole(stability));
    }
    text
}

/// `nothing contradicts the agreement`, or the objections.
pub(super) fn challenged(challenge: &Challenge) -> String {
    if challenge.is_empty() {
        return "nothing contradicts the agreement".to_owned();
    }
    let (claims, points) = (challenge.claims.len() as u64, challenge.points.len() as u64);
    format!("{} without support, {} without an answer", counted(claims, "claim"), counted(points, "point"))
}

/// `evidence 4, rebuttal 2`: the number of texts with each kind.
pub(super) fn observed(observations: &[Observation]) -> String {
    let count = |kind: &Argument| observations.iter().filter(|one| one.kinds.contains(kind)).count();
    let kinds = Argument::ALL.iter().map(|kind| (kind, count(kind))).filter(|(_, count)| *count > 0);
    let kinds: Vec<String> = kinds.map(|(kind, count)| format!("{} {count}", kind.name())).collect();
    if kinds.is_empty() { "no kind of argument".to_owned() } else { kinds.join(", ") }
}

/// `polls: for gained most (for 1 to 3, against 2 to 1, undecided 1 to 0)`
pub(super) fn swayed(polls: &Polls<'_>) -> String {
    let choices: Vec<String> = polls
        .choices
        .iter()
        .filter_map(|choice| Some(format!("{} {} to {}", choice.name, choice.votes.first()?, choice.votes.last()?)))
        .collect();
    let gained =
        polls.gained_most().map_or_else(|| "no side gained more".to_owned(), |name| format!("{name} gained most"));
    format!("polls: {gained} ({})", choices.join(", "))
}

/// A percentage without its fraction.
fn whole(percent: f64) -> String {
    format!("{percent:.0}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use dialectic_record::debate::fixture::{panel, pitching};

    #[test]
    fn a_verdict_is_one_line_in_the_words_of_its_stage() {
        let events = [
            pitching::decided(Some("agent-architect"), Some(true)),
            pitching::decided(None, Some(false)),
            pitching::decided(None, None),
        ];
        let line = |event| result_line(&pitching::panel(), event).unwrap();
        insta::assert_snapshot!(events.iter().map(line).collect::<Vec<_>>().join("\n"), @r"
        ruling: System Architect wins (System Architect 72.5, Simplicity Advocate 65), the same in both orders
        ruling: nobody wins (System Architect 72.5, Simplicity Advocate 65), the result changed with the order
        ruling: nobody wins (System Architect 72.5, Simplicity Advocate 65)
        ");
    }

    #[test]
    fn a_stage_that_is_unknown_is_called_by_its_result() {
        assert!(result_line(&panel(), &pitching::decided(None, None)).unwrap().starts_with("verdict: nobody wins"));
    }
}
