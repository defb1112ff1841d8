//! Progress without a terminal: a line for the start and for the end of each stage that makes calls, without escape codes.

use dialectic_base::sanitize::one_line;
use dialectic_record::debate::{Event, Progress, Signal, StageId, StopReason};

use super::result::{result_line, swayed};
use super::told::spending;

/// Printed in place of dropped lines.
pub(super) const GAP: &str = "… progress was skipped here: the reader was too slow …";

#[derive(Debug, Default)]
pub(super) struct PlainLines {
    /// The stages that have started to make calls.
    begun: Vec<(u32, StageId)>,
}

impl PlainLines {
    /// The lines for `signal`, which `progress` has already seen. Warnings are printed separately, with or without
    /// progress.
    pub(super) fn lines(&mut self, progress: &Progress, signal: &Signal) -> Vec<String> {
        self.texts(progress, signal).iter().map(|line| one_line(line)).collect()
    }

    fn texts(&mut self, progress: &Progress, signal: &Signal) -> Vec<String> {
        let rounds = progress.panel().rounds;
        match signal {
            Signal::Recorded(recorded) => event(progress, &recorded.event).into_iter().collect(),
            // Carried-over texts need no call, so a stage starts with its first one.
            Signal::CallStarted { key, .. } if !self.begun.contains(&(key.round, key.stage)) => {
                self.begun.push((key.round, key.stage));
                let expected = progress.stages().find(|(stage, _)| *stage == key.stage).map(|(_, so_far)| so_far.total);
                let expected = expected.map(|total| format!(" ({total} expected)")).unwrap_or_default();
                vec![format!("{} started{expected}", named(progress, key.round, key.stage))]
            }
            Signal::StageEnded { stage, round, done, failed } => {
                let polls = progress.polls_compared_in(*stage).map(|polls| swayed(&polls));
                let place = self.begun.iter().position(|begun| *begun == (*round, *stage));
                let ended = place.map(|place| {
                    self.begun.swap_remove(place);
                    let spent = progress.spent();
                    let missing = if *failed == 0 { String::new() } else { format!(", {failed} failed") };
                    let cost = spending(spent.cost, spent.tokens).map(|cost| format!(", {cost} so far"));
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
            // Failures are warnings.
            | Signal::CallEnded { .. }
            | Signal::ServerGone { .. }
            | Signal::Warning { .. } => Vec::new(),
        }
    }
}

/// `round 1/3: critiques`
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
        Event::Stopping { reason: StopReason::Budget } => Some("stopping: the limit is reached".to_owned()),
        Event::Stopping { reason: StopReason::User } => Some("stopping: the user requested it".to_owned()),
        Event::Suspended { stage } => Some(progress.panel().words(*stage).progressive.into_owned()),
        // Nothing that began after the questions could be resumed.
        Event::Resumed => (progress.round() > 0).then(|| "debate resumed".to_owned()),
        _ => result_line(progress.panel(), event),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;
    use dialectic_record::debate::StageId;
    use dialectic_record::debate::fixture::{
        CRITIQUE, PROPOSAL, ROUND_MANAGER, SYNTHESIS, call_ended, call_failed, call_started, completed, contributed,
        failed, panel, recorded, retrying, round_begun, stage_ended, stage_entered, stage_started, warning, words,
    };

    fn shown(signals: &[Signal]) -> String {
        let now = Instant::now();
        let (mut progress, mut plain) = (Progress::new(panel(), now), PlainLines::default());
        let mut lines = Vec::new();
        for signal in signals {
            progress.see(signal, now);
            lines.extend(plain.lines(&progress, signal));
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
        stopping: the limit is reached
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
    }
}
