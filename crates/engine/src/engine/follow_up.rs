//! A question of the user's about a debate that is finished: one call, on the way that all calls take.

use std::sync::Arc;

use crate::agent::{RequestResult, Value, prepare};
use dialectic_base::diagnostic::{Diagnostic, ErrorCategory, Remedy};
use dialectic_base::money::{BudgetLimit, Usd};
use dialectic_llm::FailedCall;
use dialectic_record::debate::{Debate, Event, FollowUp, Recorded};
use dialectic_record::protocol::{Step, follow_up};

use super::budget::{AttemptRequest, Budget, Shortfall};
use super::{Engine, EngineError};

/// Why a question has no answer.
#[derive(Debug, thiserror::Error)]
pub enum FollowUpError {
    /// No question is given, and none is open.
    #[error("no question is given, and none is unanswered")]
    NoQuestion,
    /// As many questions as a record can hold have been asked.
    #[error("no further question can be asked about this debate: it has {0} already")]
    TooMany(usize),
    /// The answer does not fit the limit.
    #[error("the cost limit has room for {room}, and an answer can cost {needed}")]
    TooDear {
        /// What is left of the limit.
        room: Usd,
        /// What the shortest answer can cost at most.
        needed: Usd,
    },
    /// The limit of calls has no room for the answer.
    #[error("the limit of calls has room for none")]
    NoCallLeft,
    /// The judge could not be asked.
    #[error("the judge gave no answer: {0}")]
    Failed(String),
    /// The user interrupted.
    #[error("interrupted; the question is on record, without an answer")]
    Interrupted,
    /// The record cannot be written, or the program has a defect.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

impl Diagnostic for FollowUpError {
    fn blame(&self) -> ErrorCategory {
        match self {
            Self::NoQuestion | Self::TooMany(_) | Self::TooDear { .. } | Self::NoCallLeft => ErrorCategory::Arguments,
            Self::Failed(_) => ErrorCategory::Provider,
            Self::Interrupted => ErrorCategory::General,
            Self::Engine(error) => error.blame(),
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::TooDear { .. } | Self::NoCallLeft => Some("give this question a limit of its own".to_owned()),
            Self::Failed(_) | Self::Interrupted => Some("the question is kept".to_owned()),
            Self::NoQuestion | Self::TooMany(_) => None,
            Self::Engine(error) => error.hint(),
        }
    }

    fn remedy(&self) -> Option<Remedy> {
        match self {
            Self::TooDear { .. } => Some(Remedy::LimitQuestion),
            Self::NoCallLeft => Some(Remedy::LimitCallsOfQuestion),
            Self::Failed(_) | Self::Interrupted => Some(Remedy::AskAgain),
            Self::NoQuestion | Self::TooMany(_) => None,
            Self::Engine(error) => error.remedy(),
        }
    }
}

impl Engine {
    /// Has the judge answer a question about the finished debate; without one, the last that has no answer. The result
    /// is recorded and saved in any case; the answer is returned. `own` is what it may take; what is not limited in it
    /// is limited as the debate is. `past` are the events of the record.
    ///
    /// # Errors
    /// When there is no question, no room for an answer, or none comes.
    pub async fn follow_up(
        &mut self,
        question: Option<Arc<str>>,
        own: BudgetLimit,
        past: &[Recorded],
    ) -> Result<Arc<str>, FollowUpError> {
        self.limit_follow_up(own, past);
        let (number, is_new) = place(self.debate(), question.as_deref())?;
        let mut asked = self.debate().clone();
        if let Some(question) = question.clone().filter(|_| is_new) {
            asked.follow_ups.push(FollowUp { question, answer: None, at: None, answered_by: None, metadata: None });
        }
        let step = follow_up(&asked, number).ok_or(FollowUpError::NoQuestion)?;
        self.check_room(&asked, &step)?;
        if let Some(question) = question.filter(|_| is_new) {
            self.append(Event::FollowUpAsked { question }).map_err(EngineError::from)?;
        }
        let answered = self.answer_or_stop(&step).await;
        // Calls in flight are abandoned before the last save, so that nothing is recorded after it.
        self.calls = super::calls::Calls::new();
        let saved = self.record.flush().await.map_err(EngineError::from);
        if saved.is_err() {
            self.record.salvage().await;
        }
        saved.map_err(FollowUpError::from).and(answered)
    }

    async fn answer_or_stop(&mut self, step: &Step) -> Result<Arc<str>, FollowUpError> {
        // Where the question cannot be saved, nothing has been paid for yet.
        self.record.flush().await.map_err(EngineError::from)?;
        let cancel = self.cancel.clone();
        tokio::select! {
            biased;
            answered = self.ask_judge(step) => answered,
            () = cancel.cancelled() => Err(FollowUpError::Interrupted),
        }
    }

    async fn ask_judge(&mut self, step: &Step) -> Result<Arc<str>, FollowUpError> {
        loop {
            self.start(step)?;
            let Some(arrival) = self.next_arrival().await? else {
                return Err(FollowUpError::Failed("nothing came of the call".to_owned()));
            };
            let ended = match &arrival.result {
                Ok(answered) => Some(self.record_follow_up(step, answered)),
                Err(failed) if self.asks_for_less(&arrival, failed) => None,
                Err(failed) => Some(Err(failed_for_good(failed))),
            };
            arrival.show(self);
            if let Some(ended) = ended {
                return ended;
            }
        }
    }

    fn record_follow_up(&mut self, step: &Step, answered: &RequestResult) -> Result<Arc<str>, FollowUpError> {
        let Value::Text(text) = &answered.value else {
            return Err(FollowUpError::Failed("its answer is not text".to_owned()));
        };
        if let Some(cut) = answered.call.cut() {
            self.warn(format!("the answer was cut {}", cut.how()));
        }
        let (key, answer) = (step.key.clone(), Arc::clone(text));
        let (metadata, call) = (answered.metadata.clone(), answered.call.clone());
        self.append(Event::FollowUpAnswered { key, answer, metadata, call }).map_err(EngineError::from)?;
        Ok(Arc::clone(text))
    }

    /// Sets the limit of the question: its own on top of all that is spent, else what the debate's has left.
    fn limit_follow_up(&mut self, own: BudgetLimit, past: &[Recorded]) {
        let Some(mut settings) = self.debate().settings.clone() else { return };
        settings.terms.max_cost = own.usd.or(settings.terms.max_cost);
        settings.terms.max_calls = own.calls.or(settings.terms.max_calls);
        self.budget = Budget::of(&settings, &self.panel.routed, past).map(|budget| budget.of_follow_up(own));
    }

    /// Sees to it that the limit has room for an answer, before the question is on record.
    fn check_room(&mut self, asked: &Debate, step: &Step) -> Result<(), FollowUpError> {
        let Some(agent) = self.panel.agent(&step.key.agent_id).cloned() else {
            return Err(EngineError::unknown(&step.key.agent_id).into());
        };
        let shared = self.shared()?;
        let call = prepare(&self.panel, &agent, &shared, asked, step, usize::MAX).map_err(EngineError::from)?;
        let Some(budget) = &self.budget else { return Ok(()) };
        match budget.shortfall(&AttemptRequest::of(step, &call.request)) {
            Some(Shortfall::Calls) => Err(FollowUpError::NoCallLeft),
            Some(Shortfall::Cost { room, needed }) => Err(FollowUpError::TooDear { room, needed }),
            None => Ok(()),
        }
    }
}

/// Which question is asked, counted from 1, and whether it is new. One that was asked before in the same words and has
/// no answer is asked again.
fn place(debate: &Debate, question: Option<&str>) -> Result<(u8, bool), FollowUpError> {
    let asked = &debate.follow_ups;
    let is_open = |one: &FollowUp| one.answer.is_none() && question.is_none_or(|question| *one.question == *question);
    let (number, is_new) = match (asked.iter().rposition(is_open), question) {
        (Some(index), _) => (index + 1, false),
        (None, Some(_)) => (asked.len() + 1, true),
        (None, None) => return Err(FollowUpError::NoQuestion),
    };
    let number = u8::try_from(number).map_err(|_| FollowUpError::TooMany(asked.len()))?;
    Ok((number, is_new))
}

fn failed_for_good(failed: &FailedCall) -> FollowUpError {
    let tries = if failed.attempts > 1 { format!(" (after {} attempts)", failed.attempts) } else { String::new() };
    FollowUpError::Failed(format!("{failed}{tries}"))
}
