//! Progress without a terminal: one line per beginning or end, without escape codes.

use dialectic_base::figures::{duration, named_cost, sum_of_tokens, tokens};
use dialectic_base::sanitize::one_line;
use dialectic_record::debate::{AgentId, CallKey, Event, Progress, Signal, StopReason};

use super::result::{result_line, swayed};

/// Printed in place of dropped lines.
pub(super) const GAP: &str = "… progress was skipped here: the reader was too slow …";

#[derive(Debug, Default)]
pub(super) struct PlainLines {
    open_round: Option<u32>,
}

impl PlainLines {
    /// The lines for `signal`, which `progress` has already seen. Warnings are printed separately, with or without
    /// progress.
    pub(super) fn lines(&mut self, progress: &Progress, signal: &Signal) -> Vec<String> {
        self.texts(progress, signal).iter().map(|line| one_line(line)).collect()
    }

    fn texts(&mut self, progress: &Progress, signal: &Signal) -> Vec<String> {
        let words = |key: &CallKey| progress.panel().words(key.stage);
        match signal {
            Signal::Recorded(recorded) => self.event(progress, &recorded.event),
            Signal::StageStarted { stage, total: total @ 1.., .. } => {
                vec![format!("{stage} started ({total} expected)")]
            }
            Signal::StageEnded { stage, done, failed, .. } => {
                let missing = if *failed == 0 { String::new() } else { format!(", {failed} failed") };
                let ended = format!("{stage} ended: {done} of {}{missing}", done + failed);
                let polls = progress.polls_compared_in(*stage).map(|polls| swayed(&polls));
                std::iter::once(ended).chain(polls).collect()
            }
            Signal::RoundEnded { round, points: Some(points), .. } => {
                vec![format!("round {round}/{}: {points}", progress.panel().rounds)]
            }
            Signal::CallStarted { key, .. } => {
                vec![format!("{} {}{} …", key.agent_id, words(key).present, target(key))]
            }
            Signal::CallRetrying { key, attempt, error, wait } => {
                let wait = duration(u64::try_from(wait.as_millis()).unwrap_or(u64::MAX));
                let (agent, stage) = (&key.agent_id, key.stage);
                vec![format!("{agent} retries its {stage}{}: retry {attempt} in {wait}: {error}", of(key))]
            }
            Signal::ServerBack => vec!["the server is back: the debate continues".to_owned()],
            Signal::CallEnded { key, error: Some(error), waits_for_server: false, .. } => {
                vec![format!("{} failed to {}{}: {error}", key.agent_id, words(key).infinitive, target(key))]
            }
            Signal::CallEnded { key, latency_ms, tokens: used, error: None, .. } => {
                let used = used.map_or_else(|| "tokens unknown".to_owned(), |used| tokens(used.total()));
                let (past, took) = (words(key).past, duration(*latency_ms));
                vec![format!("{} {past}{} in {took}, {used}", key.agent_id, target(key))]
            }
            // After resuming, a stage may have nothing left to do.
            Signal::StageStarted { total: 0, .. }
            | Signal::RoundEnded { points: None, .. }
            | Signal::Words { .. }
            // A single warning covers all waiting calls.
            | Signal::CallEnded { error: Some(_), waits_for_server: true, .. }
            | Signal::ServerGone { .. }
            | Signal::Warning { .. } => Vec::new(),
        }
    }

    /// The line that replaces dropped lines. `progress` is the state after them.
    pub(super) fn gap(&mut self, progress: &Progress) -> String {
        self.open_round = Some(progress.round()).filter(|round| *round > 0);
        GAP.to_owned()
    }

    fn event(&mut self, progress: &Progress, event: &Event) -> Vec<String> {
        match event {
            Event::RoundBegun { round, .. } => {
                let mut lines = self.end_round(progress);
                self.open_round = Some(*round);
                lines.push(format!("round {round}/{} started", progress.panel().rounds));
                lines
            }
            Event::StageEntered { stage } if progress.panel().stage(*stage).is_some_and(|stage| !stage.in_round) => {
                self.end_round(progress)
            }
            Event::Completed { .. } => self.end_round(progress),
            Event::Stopping { reason: StopReason::Budget } => vec!["stopping: the limit is reached".to_owned()],
            Event::Stopping { reason: StopReason::User } => vec!["stopping: the user requested it".to_owned()],
            Event::Suspended { stage } => vec![progress.panel().words(*stage).progressive.into_owned()],
            // Nothing that began after the questions could be resumed.
            Event::Resumed if progress.round() == 0 => Vec::new(),
            Event::Resumed => vec!["debate resumed".to_owned()],
            _ => result_line(progress.panel(), event, AgentId::as_str).into_iter().collect(),
        }
    }

    fn end_round(&mut self, progress: &Progress) -> Vec<String> {
        let Some(round) = self.open_round.take() else {
            return Vec::new();
        };
        let spent = progress.spent();
        let cost = named_cost(spent.cost);
        vec![format!(
            "round {round}/{} ended: {}, {cost} so far",
            progress.panel().rounds,
            sum_of_tokens(spent.tokens, spent.silent_calls)
        )]
    }
}

fn target(key: &CallKey) -> String {
    key.target_agent_id.as_ref().map(|id| format!(" {id}")).unwrap_or_default()
}

fn of(key: &CallKey) -> String {
    key.target_agent_id.as_ref().map(|id| format!(" of {id}")).unwrap_or_default()
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
        insta::assert_snapshot!(shown(&signals), @r"
        round 1/3 started
        proposal started (2 expected)
        agent-architect proposes …
        agent-kiss proposes …
        agent-architect proposed in 1.2 s, 1,434 tokens
        critique started (2 expected)
        agent-kiss critiques agent-architect …
        agent-kiss retries its proposal: retry 2 in 4.0 s: rate limited
        agent-kiss retries its critique of agent-architect: retry 2 in 4.0 s: the server answered 503
        agent-kiss proposed in 1.2 s, 1,434 tokens
        proposal ended: 2 of 2
        agent-kiss failed to critique agent-architect: the server [1manswered 503
        critique ended: 1 of 2, 1 failed
        round 1/3 ended: 2,868 tokens, $0.0200 so far
        round 2/3 started
        stopping: the limit is reached
        round 2/3 ended: 2,868 tokens, $0.0200 so far
        judge synthesizes …
        judge synthesized in 1.2 s, 1,434 tokens
        ");
    }

    #[test]
    fn a_stage_in_which_nothing_is_left_to_do_is_not_announced() {
        let signals = [stage_entered(PROPOSAL), stage_started(PROPOSAL, 0), stage_started(CRITIQUE, 1)];
        assert_eq!(shown(&signals), "critique started (1 expected)");
    }

    #[test]
    fn a_stage_that_is_unknown_is_called_by_its_id() {
        let encore = StageId::new("encore\u{1b}[2J");
        let signals = [
            round_begun(1),
            stage_entered(encore),
            call_started(encore, "agent-kiss", None),
            call_ended(encore, "agent-kiss", None),
            retrying(encore, "agent-kiss", None, "again"),
        ];
        insta::assert_snapshot!(shown(&signals), @r"
        round 1/3 started
        agent-kiss encore[2J …
        agent-kiss encore[2J in 1.2 s, 1,434 tokens
        agent-kiss retries its encore[2J: retry 2 in 4.0 s: again
        ");
    }

    #[test]
    fn what_is_unknown_is_not_called_nothing() {
        let Signal::CallEnded { key, latency_ms, .. } = call_ended(PROPOSAL, "agent-kiss", None) else {
            panic!("a call that ended");
        };
        let ended =
            Signal::CallEnded { key, latency_ms, tokens: None, cost_usd: None, error: None, waits_for_server: false };
        assert_eq!(shown(&[ended]), "agent-kiss proposed in 1.2 s, tokens unknown");
        let signals = [
            round_begun(3),
            dialectic_record::debate::fixture::contributed_unpriced(PROPOSAL, "agent-kiss"),
            recorded(completed()),
        ];
        assert_eq!(shown(&signals), "round 3/3 started\nround 3/3 ended: 1,434 tokens, cost unknown so far");
    }
}
