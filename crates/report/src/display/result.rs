//! Describes results on one line, and progress without a terminal: a line for the start and end of each stage that
//! makes calls.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use dialectic_base::figures::{counted, named_cost, score};
use dialectic_base::money::Usd;
use dialectic_base::sanitize::one_line;
use dialectic_record::answer::{Argument, Challenge, Convergence, Observation, Polls, Relation, Relations, Verdict};
use dialectic_record::debate::StopReason;
use dialectic_record::event::Event;
use dialectic_record::ids::{AgentId, ResultKind, StageId};
use dialectic_record::live::{PanelInfo, Progress, Signal};

/// Describes an event that does not end a call, such as a team selection or a verdict. The caller must sanitize the
/// line.
pub(super) fn result_line(panel: &PanelInfo, event: &Event) -> Option<String> {
    let name = |id| panel.name(id);
    match event {
        Event::Gathered { gathered } => {
            let there = gathered.material.iter().filter(|one| one.error.is_none()).count();
            (there > 0).then(|| format!("starting from {}", counted(there as u64, "text")))
        }
        Event::TeamSelected { selection } => {
            let chosen = selection.candidates.iter().filter(|one| one.chosen).map(|one| name(&one.agent_id));
            let chosen: Vec<&str> = chosen.collect();
            let all = selection.candidates.len();
            (chosen.len() < all).then(|| format!("team: {} (of {all} agents)", chosen.join(", ")))
        }
        Event::Measured { convergence, .. } => Some(measured(convergence)),
        Event::Extended { winner, missing, .. } => {
            Some(format!("the debate continues: {}'s text does not meet {}", name(winner), missing.join("; ")))
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

/// Names the winner and lists the scores: `agent-architect wins (agent-architect 72.5, agent-kiss 65)`.
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

/// Says whether both orders of the texts gave the same result; `None` if only one order was tried.
pub(super) fn stability(verdict: &Verdict) -> Option<&'static str> {
    verdict.stable.map(|stable| if stable { "the same in both orders" } else { "the result changed with the order" })
}

/// Counts the pairs by relation: `4 pairs alike, 1 opposite`.
pub(super) fn related(relations: &Relations) -> String {
    let count = |relation| relations.pairs.iter().filter(|pair| pair.relation == relation).count() as u64;
    format!("{} alike, {} opposite", counted(count(Relation::Same), "pair"), count(Relation::Opposite))
}

/// Describes the agreement: `agreement 67 (80 needed) on 3 matters; texts 84 % similar, 92 % unchanged`.
pub(super) fn measured(convergence: &Convergence) -> String {
    let reached = convergence.agreement.map_or_else(|| "unknown".to_owned(), whole);
    let mut text = format!("agreement {reached} ({} needed)", score(convergence.threshold));
    if let Some(unknown) = &convergence.unknown {
        let _ = write!(text, ": {unknown}");
    } else {
        let _ = write!(text, " on {}", counted(convergence.matters.len() as u64, "matter"));
    }
    if let Some(on) = &convergence.opposed_on {
        let _ = write!(text, ", with opposite decisions on “{on}”");
    }
    if let Some(similarity) = convergence.similarity {
        let _ = write!(text, "; texts {} % similar", whole(similarity));
    }
    if let Some(stability) = convergence.mean_stability() {
        let _ = write!(text, ", {} % unchanged", whole(stability));
    }
    text
}

pub(super) fn challenged(challenge: &Challenge) -> String {
    if challenge.is_empty() {
        return "no unsupported claims or unanswered points".to_owned();
    }
    let (claims, points) = (challenge.claims.len() as u64, challenge.points.len() as u64);
    format!("{} without support, {} without an answer", counted(claims, "claim"), counted(points, "point"))
}

/// The number of texts with each kind of argument: `evidence 4, rebuttal 2`.
pub(super) fn observed(observations: &[Observation]) -> String {
    let count = |kind: &Argument| observations.iter().filter(|one| one.kinds.contains(kind)).count();
    let kinds = Argument::ALL.iter().map(|kind| (kind, count(kind))).filter(|(_, count)| *count > 0);
    let kinds: Vec<String> = kinds.map(|(kind, count)| format!("{} {count}", kind.name())).collect();
    if kinds.is_empty() { "no kinds of argument found".to_owned() } else { kinds.join(", ") }
}

/// Compares the first and last poll: `polls: for gained most (for 1 to 3, against 2 to 1, undecided 1 to 0)`.
pub(super) fn swayed(polls: &Polls<'_>) -> String {
    let choices: Vec<String> = polls
        .choices
        .iter()
        .filter_map(|choice| Some(format!("{} {} to {}", choice.name, choice.votes.first()?, choice.votes.last()?)))
        .collect();
    let gained = polls.gained_most().map_or_else(|| "no clear winner".to_owned(), |name| format!("{name} gained most"));
    format!("polls: {gained} ({})", choices.join(", "))
}

/// The cost in words; `None` if nothing was spent, so that an offline debate shows no price.
pub(super) fn spending(cost: Option<Usd>, tokens: u64) -> Option<String> {
    (cost != Some(Usd::ZERO) || tokens > 0).then(|| named_cost(cost))
}

fn whole(percent: f64) -> String {
    format!("{percent:.0}")
}

pub(super) const GAP: &str = "… skipped some progress updates, because the reader was too slow …";

/// The lines for `signal`, which `progress` has already seen. Updates `begun`, the stages that have started calls but
/// not ended. Excludes warnings, which are printed even in quiet mode.
pub(super) fn plain_lines(begun: &mut Vec<(u32, StageId)>, progress: &Progress, signal: &Signal) -> Vec<String> {
    texts(begun, progress, signal).iter().map(|line| one_line(line)).collect()
}

fn texts(begun: &mut Vec<(u32, StageId)>, progress: &Progress, signal: &Signal) -> Vec<String> {
    let rounds = progress.panel().rounds;
    match signal {
        Signal::Recorded(recorded) => event(progress, &recorded.event).into_iter().collect(),
        // Report a stage when its first call starts: a stage with only carried-over texts makes no calls.
        Signal::CallStarted { key, .. } if !begun.contains(&(key.round, key.stage)) => {
            begun.push((key.round, key.stage));
            let expected = progress.stages().find(|(stage, _)| *stage == key.stage).map(|(_, so_far)| so_far.total);
            let expected = expected.map(|total| format!(" ({total} expected)")).unwrap_or_default();
            vec![format!("{} started{expected}", named(progress, key.round, key.stage))]
        }
        Signal::StageEnded { stage, round, done, failed } => {
            let polls = progress.polls_compared_in(*stage).map(|polls| swayed(&polls));
            let place = begun.iter().position(|one| *one == (*round, *stage));
            let ended = place.map(|place| {
                begun.swap_remove(place);
                let spent = progress.spent();
                let missing = if *failed == 0 { String::new() } else { format!(", {failed} failed") };
                let cost = spending(spent.cost_usd, spent.tokens()).map(|cost| format!(", {cost} so far"));
                let (name, cost) = (named(progress, *round, *stage), cost.unwrap_or_default());
                format!("{name} ended: {done} of {}{missing}{cost}", done + failed)
            });
            ended.into_iter().chain(polls).collect()
        }
        Signal::RoundEnded { round, points: Some(points), .. } => vec![format!("round {round}/{rounds}: {points}")],
        Signal::ServerBack => vec!["the server is back: the debate continues".to_owned()],
        Signal::StageStarted { .. }
        | Signal::RoundEnded { points: None, .. }
        | Signal::Words { .. }
        | Signal::CallStarted { .. }
        | Signal::CallRetrying { .. }
        // Failures are shown as warnings.
        | Signal::CallEnded { .. }
        | Signal::ServerGone { .. }
        | Signal::Warning { .. }
        | Signal::Gap(_) => Vec::new(),
    }
}

/// Names a stage and its round: `round 1/3: critiques`.
fn named(progress: &Progress, round: u32, stage: StageId) -> String {
    let (panel, words) = (progress.panel(), progress.panel().words(stage));
    if panel.stage(stage).is_some_and(|stage| stage.in_round) {
        format!("round {round}/{}: {}", panel.rounds, words.plural)
    } else {
        words.noun.into_owned()
    }
}

fn event(progress: &Progress, event: &Event) -> Option<String> {
    match event {
        Event::Stopping { reason: StopReason::Budget } => {
            Some("stopping early: reached the cost or call limit".to_owned())
        }
        Event::Stopping { reason: StopReason::User } => Some("stopping early: the user requested it".to_owned()),
        Event::Suspended { stage } => Some(progress.panel().words(*stage).progressive.into_owned()),
        // Ignore a resumption before the first round, because the debate has usually paused only for questions.
        Event::Resumed(_) => (progress.round() > 0).then(|| "debate resumed".to_owned()),
        _ => result_line(progress.panel(), event),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use dialectic_record::debate::fixture::{
        CRITIQUE, PROPOSAL, ROUND_MANAGER, SYNTHESIS, call_ended, call_failed, call_started, completed, contributed,
        failed, panel, pitching, recorded, retrying, round_begun, stage_ended, stage_entered, stage_started, warning,
        words,
    };

    use super::*;

    fn shown(signals: &[Signal]) -> String {
        let now = Instant::now();
        let (mut progress, mut begun) = (Progress::new(panel(), now), Vec::new());
        let mut lines = Vec::new();
        for signal in signals {
            progress.see(signal, now);
            lines.extend(plain_lines(&mut begun, &progress, signal));
        }
        lines.join("\n")
    }

    #[test]
    fn a_round_reads_from_start_to_end() {
        let signals = [
            round_begun(1),
            stage_started(PROPOSAL, 2),
            call_started(PROPOSAL, "agent-architect", None),
            call_started(PROPOSAL, "agent-kiss", None),
            words(PROPOSAL, "agent-kiss", None, "Nothing is said of these."),
            call_ended(PROPOSAL, "agent-architect", None),
            contributed(PROPOSAL, "agent-architect", None),
            stage_started(CRITIQUE, 2),
            call_started(CRITIQUE, "agent-kiss", Some("agent-architect")),
            retrying(PROPOSAL, "agent-kiss", None, "rate limited"),
            retrying(CRITIQUE, "agent-kiss", Some("agent-architect"), "the server\nanswered 503"),
            call_ended(PROPOSAL, "agent-kiss", None),
            contributed(PROPOSAL, "agent-kiss", None),
            stage_ended(PROPOSAL, 2, 0),
            call_failed(CRITIQUE, "agent-kiss", Some("agent-architect"), "the server \u{1b}[1manswered 503"),
            failed(CRITIQUE, "agent-kiss", Some("agent-architect"), "the server answered 503"),
            warning("agent-kiss failed"),
            stage_ended(CRITIQUE, 1, 1),
            stage_entered(ROUND_MANAGER),
            round_begun(2),
            recorded(Event::Stopping { reason: StopReason::Budget }),
            stage_entered(SYNTHESIS),
            call_started(SYNTHESIS, "judge", None),
            call_ended(SYNTHESIS, "judge", None),
            recorded(completed()),
        ];
        insta::assert_snapshot!(shown(&signals), @"
        round 1/3: proposals started (2 expected)
        round 1/3: critiques started (2 expected)
        round 1/3: proposals ended: 2 of 2, $0.0200 so far
        round 1/3: critiques ended: 1 of 2, 1 failed, $0.0200 so far
        stopping early: reached the cost or call limit
        synthesis started
        ");
    }

    #[test]
    fn a_stage_that_makes_no_call_is_not_announced() {
        let signals = [stage_entered(PROPOSAL), stage_started(PROPOSAL, 3), stage_ended(PROPOSAL, 3, 0)];
        assert_eq!(shown(&signals), "");
    }

    #[test]
    fn a_stage_that_is_unknown_is_called_by_its_id() {
        let encore = StageId::new("encore\u{1b}[2J");
        assert_eq!(shown(&[round_begun(1), call_started(encore, "agent-kiss", None)]), "encore[2J started");
    }

    #[test]
    fn what_is_unknown_is_not_called_nothing() {
        let signals = [
            round_begun(3),
            stage_started(PROPOSAL, 1),
            call_started(PROPOSAL, "agent-kiss", None),
            dialectic_record::debate::fixture::contributed_unpriced(PROPOSAL, "agent-kiss"),
            stage_ended(PROPOSAL, 1, 0),
        ];
        assert!(shown(&signals).ends_with("ended: 1 of 1, cost unknown so far"), "{}", shown(&signals));
        assert_eq!(spending(Some(Usd::ZERO), 0), None, "an offline debate has no price");
        assert_eq!(spending(None, 0).as_deref(), Some("cost unknown"));
    }

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
