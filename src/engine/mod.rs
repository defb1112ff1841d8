//! The engine: runs a debate by its protocol, from wherever its record stands.
//!
//! One owner for the state: the [`Engine`] asks the protocol for the next node, a node asks for calls, calls return
//! values over a channel, and the engine writes each into the record first and shows it after. Persistence is not a
//! consumer of events: when it fails, the run stops. How a debate is shown is no business of this module.

mod budget;
mod calls;
mod exchange;
mod failure;
mod forecast;
mod nodes;
mod observer;
mod windows;
mod workshop;

use std::collections::HashMap;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::agent::{Ground, Panel, Past};
use crate::debate::{
    AgentId, CallKey, CallRecord, Debate, Event, Failure, Node, Phase, Recorded, Signal, Status, StopReason, Usd,
};
use crate::llm::Silence;
use crate::prompt::PromptError;
use crate::protocol::{Next, NoTransition, Protocol, Trigger};
use crate::signals::Signals;
use crate::store::{Record, StoreError};

pub use budget::{BudgetError, check_prices, check_purchase, known_cost, purchase};
pub use forecast::{ForecastError, forecast};
pub use windows::{WindowError, check_windows, telling_rounds};

use budget::Budget;
use exchange::Exchange;

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// With an answer.
    Completed,
    /// The user is asked; the debate goes on when the answers are there.
    Suspended,
    /// It was interrupted.
    Paused,
    /// Without an answer; the reason is in the state.
    Failed,
}

/// Why a run could not go on. Everything recorded before is kept.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The record could not be written.
    #[error("the debate cannot be saved")]
    Store(#[from] StoreError),
    /// A prompt could not be rendered.
    #[error("a prompt cannot be rendered")]
    Prompt(#[from] PromptError),
    /// The directory that tools read cannot be opened.
    #[error("cannot open the context directory {path}")]
    ContextDir {
        /// The directory.
        path: std::path::PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The protocol's table has a hole.
    #[error(transparent)]
    Protocol(#[from] NoTransition),
}

/// A debate that is being run.
pub struct Engine {
    protocol: &'static Protocol,
    panel: Panel,
    record: Record,
    signals: Signals,
    cancel: CancellationToken,
    /// Replies that an earlier run paid for and that were not results yet.
    past: HashMap<CallKey, Vec<Past>>,
    /// The calls of the round in progress: they outlive the nodes of proposal, critique and refinement.
    exchange: Option<Exchange>,
    /// How long nothing has been heard of the round in progress, which runs into its limit by that.
    silence: Option<Arc<Silence>>,
    ground: Option<Ground>,
    /// Which agents have been asked for questions, by iteration, and how many they had.
    asked: HashMap<(u32, AgentId), usize>,
    /// The cost limit, if there is one.
    budget: Option<Budget>,
    /// What the debate's calls are known to have cost.
    known_cost: Usd,
    /// Whether that has reached the limit that is warned of.
    cost_warned: bool,
    /// Which model a server last said it used, by provider and model as configured, where that was in an earlier run
    /// and has not been compared yet.
    served: HashMap<(String, String), String>,
    course: Course,
}

/// Where a run leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Course {
    /// From node to node, as the protocol says.
    Regular,
    /// Straight to the closing node, with what there is, because the user wants it. A debate that has come there by
    /// itself is not cut short by this.
    Closing,
}

impl Engine {
    /// An engine for a debate whose record is open. `past` are the events of earlier runs, empty for a new debate.
    #[must_use]
    pub fn new(
        protocol: &'static Protocol,
        panel: Panel,
        record: Record,
        past: &[Recorded],
        signals: Signals,
        cancel: CancellationToken,
    ) -> Self {
        let mut replies: HashMap<CallKey, Vec<Past>> = HashMap::new();
        let mut asked = HashMap::new();
        let mut served = HashMap::new();
        for recorded in past {
            if let Some(call) = recorded.event.call()
                && let Some(model) = &call.served_model
            {
                served.insert((call.provider.clone(), call.model.clone()), model.clone());
            }
            match &recorded.event {
                Event::Replied { key, reply, call } => {
                    replies.entry(key.clone()).or_default().push((reply.clone(), call.clone()));
                }
                Event::QuestionsAsked { iteration, questions, .. } => {
                    // The replies on the way to these questions are used up; the next iteration has its own.
                    replies.retain(|key, _| key.phase != Phase::Clarification || key.agent_id != questions.agent_id);
                    asked.insert((*iteration, questions.agent_id.clone()), questions.items.len());
                }
                _ => {}
            }
        }
        let warn_at = record.debate().settings.as_ref().and_then(|settings| settings.debate.budget.warn_cost_usd);
        let budget = record.debate().settings.as_ref().and_then(|settings| Budget::of(settings, &panel.routed, past));
        let known_cost = known_cost(past);
        let cost_warned = warn_at.is_some_and(|at| known_cost >= at);
        Self {
            protocol,
            panel,
            record,
            signals,
            cancel,
            past: replies,
            exchange: None,
            silence: None,
            ground: None,
            asked,
            budget,
            known_cost,
            cost_warned,
            served,
            course: Course::Regular,
        }
    }

    /// The same engine, on that course; without this, on the regular one.
    #[must_use]
    pub fn heading(self, course: Course) -> Self {
        Self { course, ..self }
    }

    /// Runs until the debate ends, is interrupted, or waits for the user; its state is on disk then. After
    /// [`Ending::Suspended`] it can be run again, once the questions are answered.
    ///
    /// # Errors
    /// When it cannot be saved, or the program has a defect. As much as possible of what was recorded is on disk then.
    pub async fn run(&mut self) -> Result<Ending, EngineError> {
        let ended = self.go_through().await;
        // Calls in flight are abandoned before the last save, so that nothing is recorded behind it.
        self.exchange = None;
        let saved = match ended {
            Ok(ending) => self.record.flush().await.map(|()| ending).map_err(EngineError::from),
            failed => failed,
        };
        if saved.is_err() {
            self.record.salvage().await;
        }
        saved
    }

    /// Goes from node to node until the debate ends, is interrupted, or waits for the user.
    async fn go_through(&mut self) -> Result<Ending, EngineError> {
        if !matches!(self.record.debate().status, Status::Pending) {
            self.append(Event::Resumed)?;
        }
        self.plan_costs(self.debate().current_round.max(1))?;
        let reached = self.record.debate().current_node.unwrap_or(self.protocol.start);
        let closing = self.protocol.closing;
        if self.course == Course::Closing && reached != closing && !self.is_stopping() {
            self.append(Event::Stopping { reason: StopReason::User })?;
        }
        // What was in flight is tried again. A run that was killed behind the decision to stop had not left its node.
        let stops = self.is_stopping() && reached != closing;
        let again = if stops { Trigger::Stop } else { Trigger::Retry };
        let Next::Go(mut node) = self.protocol.next(reached, again)? else {
            return Err(NoTransition { protocol: self.protocol.name, node: reached, trigger: again }.into());
        };
        self.append(Event::NodeEntered { node })?;
        // The first save is waited for: where it fails, nothing has been paid for yet.
        self.record.flush().await?;
        loop {
            let trigger = self.visit(node).await?;
            match self.protocol.next(node, trigger)? {
                Next::Go(next) => node = next,
                Next::Suspend => {
                    self.append(Event::Suspended { node })?;
                    return Ok(Ending::Suspended);
                }
                Next::Done => {
                    self.append(Event::Completed)?;
                    return Ok(Ending::Completed);
                }
                Next::Fail => return Ok(Ending::Failed),
                Next::Pause => {
                    self.append(Event::Paused)?;
                    return Ok(Ending::Paused);
                }
            }
            self.append(Event::NodeEntered { node })?;
            self.record.checkpoint()?;
        }
    }

    /// Does the work of a node, unless the debate is interrupted or told to close meanwhile.
    async fn visit(&mut self, node: Node) -> Result<Trigger, EngineError> {
        let closing = node == self.protocol.closing;
        if self.is_stopping() && !closing {
            return Ok(Trigger::Stop);
        }
        let cancel = self.cancel.clone();
        if cancel.is_cancelled() {
            return Ok(Trigger::Pause);
        }
        let trigger = tokio::select! {
            biased;
            // First, so that an answer that is there when the interrupt comes is recorded: it is paid for.
            trigger = nodes::run(self, node) => trigger?,
            () = cancel.cancelled() => Trigger::Pause,
        };
        let goes_on = !matches!(trigger, Trigger::Pause | Trigger::Failed);
        Ok(if goes_on && self.is_stopping() && !closing { Trigger::Stop } else { trigger })
    }

    /// Records the user's answer to a question.
    ///
    /// # Errors
    /// When it cannot be saved.
    pub fn answer(&mut self, agent_id: AgentId, item_id: String, answer: String) -> Result<(), EngineError> {
        // Nobody may be asked again: then the calls to come rest on what was made before this answer.
        self.ground = None;
        Ok(self.append(Event::QuestionAnswered { agent_id, item_id, answer })?)
    }

    /// Records that the user answers no further questions: those that are open have no answer, and agents are asked for
    /// no more.
    ///
    /// # Errors
    /// When it cannot be saved.
    pub fn end_questions(&mut self) -> Result<(), EngineError> {
        self.ground = None;
        Ok(self.append(Event::QuestionsEnded)?)
    }

    /// Records that the user interrupted the debate while it waited, and saves it.
    ///
    /// # Errors
    /// When it cannot be saved.
    pub async fn pause(&mut self) -> Result<(), EngineError> {
        self.append(Event::Paused)?;
        Ok(self.record.flush().await?)
    }

    /// The state as it stands.
    #[must_use]
    pub fn debate(&self) -> &Debate {
        self.record.debate()
    }

    /// Records an event, then shows it.
    fn append(&mut self, event: Event) -> Result<(), StoreError> {
        self.record_event(event)?;
        Ok(())
    }

    /// The same. Returns the event in its place.
    fn record_event(&mut self, event: Event) -> Result<Arc<Recorded>, StoreError> {
        if let Some(cut) = self.debate().cut_in(&event) {
            self.warn(cut.to_string());
        }
        let recorded = self.record.append(event)?;
        if let Some(budget) = &mut self.budget {
            budget.apply(&recorded);
        }
        self.signal(Signal::Recorded(Arc::clone(&recorded)));
        self.known_cost += budget::cost_of(&recorded.event).unwrap_or_default();
        self.watch_cost();
        if let Some(call) = recorded.event.call() {
            self.compare_served_model(call);
        }
        Ok(recorded)
    }

    /// Warns when a model that was used before the debate was taken up again is served by another one now.
    fn compare_served_model(&mut self, call: &CallRecord) {
        let Some(now) = &call.served_model else { return };
        let before = self.served.remove(&(call.provider.clone(), call.model.clone()));
        if let Some(before) = before.filter(|before| is_another_model(&call.model, before, now)) {
            self.warn(format!("{} answered as {before} before this run, and now as {now}", call.model));
        }
    }

    /// Shows something, to nobody perhaps.
    fn signal(&self, signal: Signal) {
        self.signals.publish(signal);
    }

    fn warn(&self, message: impl Into<String>) {
        self.signal(Signal::Warning { message: message.into() });
    }

    /// What every call of this debate rests on; made once, as soon as the user's answers are in.
    fn ground(&mut self) -> Result<Ground, EngineError> {
        if let Some(ground) = &self.ground {
            return Ok(ground.clone());
        }
        let ground = Ground::of(self.debate())?;
        self.ground = Some(ground.clone());
        Ok(ground)
    }

    fn was_asked(&self, iteration: u32, agent: &AgentId) -> bool {
        let failed = |failure: &Failure| failure.phase == Phase::Clarification && failure.agent_id == *agent;
        self.asked.contains_key(&(iteration, agent.clone())) || self.debate().failures.iter().any(failed)
    }

    /// Whether what models are asked goes into traces.
    fn is_content_traced(&self) -> bool {
        let settings = self.debate().settings.as_ref();
        settings.is_some_and(|settings| settings.debate.trace.is_some() && settings.debate.trace_content)
    }

    fn is_round_over_time(&self) -> bool {
        self.silence.as_ref().is_some_and(|silence| silence.is_too_long())
    }
}

/// Whether two names that a server gave the model that is configured as `asked` are of two models. Streams and whole
/// answers are often named differently: one with the version, the other without it, or as it was asked for.
fn is_another_model(asked: &str, before: &str, now: &str) -> bool {
    let [asked, before, now] = [asked, before, now].map(|name| name.rsplit('/').next().unwrap_or(name).to_lowercase());
    let is_version_of = |long: &str, short: &str| {
        let version = long.strip_prefix(short).and_then(|rest| rest.strip_prefix(['-', '@', ':']));
        version.is_some_and(|version| version == "latest" || version.starts_with(|c: char| c.is_ascii_digit()))
    };
    let says_nothing = before == asked || now == asked;
    before != now && !says_nothing && !is_version_of(&before, &now) && !is_version_of(&now, &before)
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine").field("debate", &self.debate().id).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::is_another_model;

    #[test]
    fn a_version_that_one_way_of_answering_leaves_out_makes_no_other_model() {
        for (before, now) in [
            ("gpt-4o-2024-08-06", "gpt-4o"),
            ("mine", "gpt-4o-2024-08-06"),
            ("gpt-4o", "openai/gpt-4o"),
            ("Mistral-Large", "mistral-large-latest"),
            ("vendor/m", "vendor/m"),
        ] {
            for (before, now) in [(before, now), (now, before)] {
                assert!(!is_another_model("vendor/mine", before, now), "{before} {now}");
            }
        }
        for (before, now) in [("gpt-4o", "gpt-4o-mini"), ("gpt-4o-2024-05-13", "gpt-4o-2024-08-06"), ("a", "b")] {
            assert!(is_another_model("mine", before, now), "{before} {now}");
        }
    }
}
