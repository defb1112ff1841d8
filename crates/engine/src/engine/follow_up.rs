//! Asks the judge a follow-up question about a finished debate, in a single call.

use std::sync::Arc;

use crate::agent::{Panel, beginnings, prepare, price_of};
use dialectic_base::money::{BudgetLimit, Usd};
use dialectic_llm::request_bytes;
use dialectic_record::debate::{Debate, FollowUp};
use dialectic_record::event::{Event, Recorded};
use dialectic_record::live::Forecast;
use dialectic_record::protocol::Step;
use dialectic_record::protocol::questions::follow_up;
use dialectic_record::settings::Settings;

use super::budget::{AttemptRequest, Budget};
use super::forecast::planned_call;
use super::{Engine, EngineError};

#[derive(Debug, thiserror::Error)]
pub enum FollowUpError {
    #[error("this debate already has the maximum of {0} questions")]
    TooMany(usize),
    #[error("the cost limit leaves {room}, but an answer can cost {needed}")]
    TooDear {
        room: Usd,
        /// The maximum cost of an answer of minimum length.
        needed: Usd,
    },
    #[error("the host is the judge and cannot answer follow-up questions")]
    HostJudge,
    #[error("the call limit leaves no room for an answer")]
    NoCallLeft,
    #[error("the judge did not answer: {reason}")]
    Failed { reason: String },
    #[error("interrupted; the question was saved without an answer")]
    Interrupted,
    /// The record cannot be written, or the call cannot be prepared.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

impl Engine {
    /// Asks the judge a question about the finished debate, and records the question and the answer. `own` limits this
    /// question alone; without it, the debate's limits apply. `past` are all recorded events.
    ///
    /// # Errors
    ///
    /// Returns an error if the limit leaves no room for an answer, the judge does not answer, or the answer cannot be
    /// saved.
    pub async fn follow_up(
        &mut self,
        question: Arc<str>,
        own: BudgetLimit,
        past: &[Recorded],
    ) -> Result<Arc<str>, FollowUpError> {
        if self.panel.judge.caller.is_host() {
            return Err(FollowUpError::HostJudge);
        }
        self.limit_follow_up(own, past);
        let (asked, number) = asked(self.debate(), &question)?;
        let step = follow_up(&self.panel.judge.settings.id, number);
        self.check_room(&asked, &step)?;
        if asked.follow_ups.len() > self.debate().follow_ups.len() {
            self.append(Event::FollowUpAsked { question }).map_err(EngineError::from)?;
        }
        let answered = self.answer_or_stop(&step).await;
        // Abort calls before the last save, so that no event follows it.
        self.calls = super::calls::Calls::new();
        let saved = self.record.flush().await.map_err(EngineError::from);
        if saved.is_err() {
            self.record.salvage().await;
        }
        saved.map_err(FollowUpError::from).and(answered)
    }

    async fn answer_or_stop(&mut self, step: &Step) -> Result<Arc<str>, FollowUpError> {
        // Save the question before paying for an answer.
        self.record.flush().await.map_err(EngineError::from)?;
        let cancel = self.cancel.clone();
        tokio::select! {
            biased;
            answered = self.ask_who_answers(step) => answered,
            () = cancel.cancelled() => Err(FollowUpError::Interrupted),
        }
    }

    async fn ask_who_answers(&mut self, step: &Step) -> Result<Arc<str>, FollowUpError> {
        loop {
            self.start(step)?;
            if self.record_next().await?.is_none() {
                return Err(FollowUpError::Failed { reason: "the call returned no result".to_owned() });
            }
            let asked = self.debate().follow_ups.get(usize::from(step.key.pass) - 1);
            if let Some(answer) = asked.and_then(|asked| asked.answer.clone()) {
                return Ok(answer);
            }
            // Unless the call failed for good, repeat the request with less of the debate.
            if let Some(reason) = self.refusal.take() {
                return Err(FollowUpError::Failed { reason });
            }
        }
    }

    /// Sets the limits of a follow-up question: `own`, or else what is left of the debate's limits.
    fn limit_follow_up(&mut self, own: BudgetLimit, past: &[Recorded]) {
        let Some(mut settings) = self.debate().settings.clone() else { return };
        let budget = &mut settings.debate.budget;
        budget.max_cost_usd = own.usd.or(budget.max_cost_usd);
        budget.max_calls = own.calls.or(budget.max_calls);
        self.budget = Budget::of(&settings, &self.panel.routed, past).map(|budget| budget.of_follow_up(own));
    }

    /// Call this before recording the question, so that a refused question is not recorded.
    fn check_room(&mut self, asked: &Debate, step: &Step) -> Result<(), FollowUpError> {
        let beginnings = self.beginnings()?;
        let call =
            prepare(&self.panel, &self.panel.judge, &beginnings, asked, step, usize::MAX).map_err(EngineError::from)?;
        let Some(budget) = &self.budget else { return Ok(()) };
        budget.check_room(&AttemptRequest::of(step, &call.request))
    }
}

/// Returns the debate with the question, and the number of the question, beginning at 1. An unanswered question with
/// the same text is reused.
fn asked(debate: &Debate, question: &Arc<str>) -> Result<(Debate, u8), FollowUpError> {
    let mut asked = debate.clone();
    let is_open = |one: &FollowUp| one.answer.is_none() && one.question == *question;
    let number = if let Some(index) = asked.follow_ups.iter().rposition(is_open) {
        index + 1
    } else {
        let question = Arc::clone(question);
        asked.follow_ups.push(FollowUp { question, answer: None, at: None, answered_by: None, metadata: None });
        asked.follow_ups.len()
    };
    let number = u8::try_from(number).map_err(|_| FollowUpError::TooMany(debate.follow_ups.len()))?;
    Ok((asked, number))
}

pub(crate) fn forecast_follow_up(
    panel: &Panel,
    settings: &Settings,
    debate: &Debate,
    question: &Arc<str>,
) -> Result<Forecast, FollowUpError> {
    let (asked, number) = asked(debate, question)?;
    let judge = &panel.judge;
    let step = follow_up(&judge.settings.id, number);
    let beginnings = beginnings(&asked).map_err(EngineError::from)?;
    let call = prepare(panel, judge, &beginnings, &asked, &step, usize::MAX).map_err(EngineError::from)?;
    let its = &judge.settings;
    let (price, bytes) = (price_of(its, settings), request_bytes(&call.request));
    let call = planned_call(step.key, (&its.provider, &its.model), its.max_tokens, price, bytes);
    Ok(Forecast { calls: vec![call], purchase: None })
}
