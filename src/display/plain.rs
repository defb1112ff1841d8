//! Progress where there is no terminal: one line for each thing that begins or ends, without escape codes.

use crate::debate::{CallKey, Event, Node, Progress, Signal, StopReason};
use crate::figures::{duration, named_cost, tokens};

use super::activity::activity;
use crate::sanitize::one_line;

/// Turns signals into lines.
#[derive(Debug, Default)]
pub(super) struct PlainLines {
    open_round: Option<u32>,
}

impl PlainLines {
    /// What is to be printed for `signal`, which `progress` has already seen. Warnings are not among it: they are
    /// printed whether progress is shown or not.
    pub(super) fn lines(&mut self, progress: &Progress, signal: &Signal) -> Vec<String> {
        match signal {
            Signal::Recorded(recorded) => self.event(progress, &recorded.event),
            Signal::PhaseStarted { phase, total, .. } => vec![format!("{} started ({total} expected)", phase.name())],
            Signal::PhaseEnded { phase, done, failed, .. } => {
                let missing = if *failed == 0 { String::new() } else { format!(", {failed} failed") };
                vec![format!("{} ended: {done} of {}{missing}", phase.name(), done + failed)]
            }
            Signal::CallStarted { key, .. } => {
                vec![format!("{} {}{} …", caller(key), activity(key.phase).present, target(key))]
            }
            Signal::CallRetrying { key, attempt, error, wait } => {
                let wait = duration(u64::try_from(wait.as_millis()).unwrap_or(u64::MAX));
                let (agent, phase) = (caller(key), key.phase.name());
                vec![format!("{agent} retries its {phase}{}: retry {attempt} in {wait}: {}", of(key), one_line(error))]
            }
            Signal::CallEnded { key, error: Some(error), .. } => {
                let infinitive = activity(key.phase).infinitive;
                vec![format!("{} failed to {infinitive}{}: {}", caller(key), target(key), one_line(error))]
            }
            Signal::CallEnded { key, latency_ms, tokens: used, error: None, .. } => {
                let used = used.map_or_else(|| "tokens unknown".to_owned(), |used| tokens(used.total()));
                let (past, took) = (activity(key.phase).past, duration(*latency_ms));
                vec![format!("{} {past}{} in {took}, {used}", caller(key), target(key))]
            }
            Signal::Words { .. } | Signal::Warning { .. } => Vec::new(),
        }
    }

    /// What is to be printed in place of lines that are left out, because nobody took them in time. `progress` is where
    /// the debate stands behind them.
    pub(super) fn gap(&mut self, progress: &Progress) -> String {
        self.open_round = Some(progress.round()).filter(|round| *round > 0);
        "… the progress of the meantime is left out: nobody read it …".to_owned()
    }

    fn event(&mut self, progress: &Progress, event: &Event) -> Vec<String> {
        match event {
            Event::RoundBegun { round } => {
                let mut lines = self.end_round(progress);
                self.open_round = Some(*round);
                lines.push(format!("round {round}/{} started", progress.panel().rounds));
                lines
            }
            Event::NodeEntered { node: Node::RoundManager | Node::Synthesis } | Event::Completed => {
                self.end_round(progress)
            }
            Event::Stopping { reason: StopReason::Budget } => vec!["stopping: the cost limit is reached".to_owned()],
            Event::Stopping { reason: StopReason::User } => vec!["stopping: the user asked for it".to_owned()],
            Event::Suspended { .. } => vec!["waiting for answers".to_owned()],
            Event::Resumed => vec!["debate resumed".to_owned()],
            _ => Vec::new(),
        }
    }

    fn end_round(&mut self, progress: &Progress) -> Vec<String> {
        let Some(round) = self.open_round.take() else {
            return Vec::new();
        };
        let spent = progress.spent();
        let cost = named_cost(spent.cost);
        vec![format!("round {round}/{} ended: {}, {cost} so far", progress.panel().rounds, tokens(spent.tokens))]
    }
}

fn caller(key: &CallKey) -> String {
    one_line(key.agent_id.as_str())
}

fn target(key: &CallKey) -> String {
    key.target_agent_id.as_ref().map(|id| format!(" {}", one_line(id.as_str()))).unwrap_or_default()
}

fn of(key: &CallKey) -> String {
    key.target_agent_id.as_ref().map(|id| format!(" of {}", one_line(id.as_str()))).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;
    use crate::debate::Phase;
    use crate::debate::fixture::{
        call_ended, call_failed, call_started, contributed, failed, panel, phase_started, recorded, retrying, warning,
        words,
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
            recorded(Event::RoundBegun { round: 1 }),
            phase_started(Phase::Proposal, 2),
            call_started(Phase::Proposal, "agent-architect", None),
            call_started(Phase::Proposal, "agent-kiss", None),
            words(Phase::Proposal, "agent-kiss", None, "Nothing is said of these."),
            call_ended(Phase::Proposal, "agent-architect", None),
            contributed(Phase::Proposal, "agent-architect", None),
            phase_started(Phase::Critique, 2),
            call_started(Phase::Critique, "agent-kiss", Some("agent-architect")),
            retrying(Phase::Proposal, "agent-kiss", None, "rate limited"),
            retrying(Phase::Critique, "agent-kiss", Some("agent-architect"), "the server\nanswered 503"),
            call_ended(Phase::Proposal, "agent-kiss", None),
            contributed(Phase::Proposal, "agent-kiss", None),
            Signal::PhaseEnded { phase: Phase::Proposal, round: 1, done: 2, failed: 0 },
            call_failed(Phase::Critique, "agent-kiss", Some("agent-architect"), "the server \u{1b}[1manswered 503"),
            failed(Phase::Critique, "agent-kiss", "the server answered 503"),
            warning("agent-kiss failed"),
            Signal::PhaseEnded { phase: Phase::Critique, round: 1, done: 1, failed: 1 },
            recorded(Event::NodeEntered { node: Node::RoundManager }),
            recorded(Event::RoundBegun { round: 2 }),
            recorded(Event::Stopping { reason: StopReason::Budget }),
            recorded(Event::NodeEntered { node: Node::Synthesis }),
            call_started(Phase::Synthesis, "judge", None),
            call_ended(Phase::Synthesis, "judge", None),
            recorded(Event::Completed),
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
        stopping: the cost limit is reached
        round 2/3 ended: 2,868 tokens, $0.0200 so far
        judge synthesizes …
        judge synthesized in 1.2 s, 1,434 tokens
        ");
    }

    #[test]
    fn what_is_unknown_is_not_called_nothing() {
        let Signal::CallEnded { key, latency_ms, .. } = call_ended(Phase::Vote, "agent-kiss", None) else {
            panic!("a call that ended");
        };
        let ended = Signal::CallEnded { key, latency_ms, tokens: None, cost_usd: None, error: None };
        assert_eq!(shown(&[ended]), "agent-kiss voted in 1.2 s, tokens unknown");
        let signals = [
            recorded(Event::RoundBegun { round: 3 }),
            crate::debate::fixture::contributed_unpriced(Phase::Proposal, "agent-kiss"),
            recorded(Event::Completed),
        ];
        assert_eq!(shown(&signals), "round 3/3 started\nround 3/3 ended: 1,434 tokens, cost unknown so far");
    }
}
