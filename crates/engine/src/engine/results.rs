//! Turns a finished call into an event, or into another request.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::agent::{CANDIDATES, RequestResult, Value, cut_summary};
use dialectic_base::call::{CallRecord, Cut};
use dialectic_base::figures::{counted, thousands};

use dialectic_llm::{FailedCall, ModelError};
use dialectic_record::answer::{Shortened, Solution};
use dialectic_record::debate::{
    AgentClarifications, Clarification, Contribution, Evaluation, Failure, Metadata, Summary, SummaryMetadata,
};
use dialectic_record::event::Event;
use dialectic_record::ids::{CallKey, ResultKind, Timestamp};
use dialectic_record::live::Signal;
use dialectic_record::points::{describe_opened, opened};
use dialectic_record::protocol::{Authorship, BudgetClass, Delivery, OutputSpec, Step, Trigger};
use dialectic_record::settings::{AgentFailurePolicy, AgentSettings, TerminationSettings};

use super::{Engine, EngineError};

/// The minimum number of characters of the debate's texts that a shortened prompt must show.
pub(super) const LEAST_TEXT: usize = 500;

fn failure(step: &Step, failed: &FailedCall) -> Failure {
    Failure {
        key: step.key.clone(),
        error: failed.error.to_string(),
        kind: Some(failed.error.kind().to_owned()),
        server_gone: failed.error.is_server_gone(),
        attempts: failed.attempts,
        at: Timestamp::now(),
    }
}

impl Engine {
    /// `length` is the total length, in characters, of the debate's texts in the request before shortening. Returns
    /// whether the wanted calls must be recomputed.
    pub(super) fn record_result(
        &mut self,
        step: &Step,
        length: usize,
        result: &Result<RequestResult, FailedCall>,
    ) -> Result<bool, EngineError> {
        if result.as_ref().map_or_else(|failed| !failed.error.is_turned_away(), |_| true) {
            self.may_be_billed.store(true, Ordering::Relaxed);
        }
        if result.is_ok() {
            self.note_answered(&step.key);
        }
        let is_stale = match result {
            Ok(answered) => self.record_answer(step, length, answered)?,
            Err(failed) if self.asks_for_less(step, length, failed) => false,
            Err(failed) if step.answer == OutputSpec::FollowUp => {
                let tries = match failed.attempts {
                    0 | 1 => String::new(),
                    attempts => format!(" (after {attempts} attempts)"),
                };
                self.refusal = Some(format!("{failed}{tries}"));
                false
            }
            Err(failed) if self.waits_for_server(step, failed) => false,
            Err(failed) => {
                self.record_failed_call(step, failed)?;
                true
            }
        };
        let call = result.as_ref().ok().map(|answered| &answered.call);
        let error = match result {
            Err(failed) => Some(failed.to_string()),
            Ok(RequestResult { value: Value::Unreadable(error), .. }) => Some(error.to_string()),
            Ok(_) => None,
        };
        self.signal(Signal::CallEnded {
            key: step.key.clone(),
            latency_ms: call.map_or(0, |call| call.latency_ms),
            tokens: call.and_then(|call| call.tokens),
            cost_usd: call.and_then(|call| call.cost_usd),
            error,
            waits_for_server: self.outage.waits(&step.key),
        });
        Ok(is_stale)
    }

    fn record_answer(&mut self, step: &Step, length: usize, answered: &RequestResult) -> Result<bool, EngineError> {
        let settings = self.agent(&step.key.agent_id)?.settings.clone();
        let (key, call) = (step.key.clone(), answered.call.clone());
        let contribution = |content, target, metadata| {
            Contribution::by(&settings, step.key.stage, content, target, metadata, answered.reading.clone())
        };
        let event = match &answered.value {
            Value::Text if step.answer == OutputSpec::Summary => {
                let summary = summary(&settings, answered, length);
                Event::Summarized { key, summary, call }
            }
            Value::Text if step.answer == OutputSpec::FollowUp => {
                if let Some(cut) = call.cut() {
                    self.warn(format!("the answer was cut off {}", cut.how()));
                }
                let (answer, metadata) = (Arc::clone(&answered.text), answered.metadata.clone());
                Event::FollowUpAnswered { key, answer, metadata, call }
            }
            Value::Text => {
                let lens = if let OutputSpec::Check(lens) = step.answer { Some(lens) } else { None };
                if let Some(cut) = answered.metadata.cut() {
                    self.warn(format!("{}'s {} was cut off {}", key.agent_id, key.stage, cut.how()));
                }
                let target = key.target_agent_id.clone();
                let metadata = Metadata { lens, ..answered.metadata.clone() };
                let contribution = contribution(Arc::clone(&answered.text), target, metadata);
                Event::Contributed { key, contribution, call: Some(call) }
            }
            Value::Questions(questions) => {
                let most = if let OutputSpec::Questions { most } = step.answer { most } else { 0 };
                let questions = self.number(&settings, key.pass, most, questions.clone());
                Event::QuestionsAsked { key, questions, call }
            }
            Value::Score(score) => self.evaluated(key, Some(*score), call),
            Value::Choice(cast) => {
                let metadata = Metadata { confidence: cast.confidence, ..answered.metadata.clone() };
                let contribution = contribution(cast.reason.as_str().into(), Some(cast.choice.clone()), metadata);
                Event::Contributed { key, contribution, call: Some(call) }
            }
            Value::Word(cast) => Event::Polled { key, vote: cast.choice.to_owned(), reason: cast.reason.clone(), call },
            Value::Relations(relations) => Event::Related { key, relations: relations.clone(), call },
            Value::Challenge(challenge) => Event::Challenged { key, challenge: challenge.clone(), call },
            Value::Kinds(observations) => Event::Observed { key, observations: observations.clone(), call },
            Value::Judgement(judgement) => Event::Judged { key, judgement: judgement.clone(), call },
            Value::Ruled(ruled, missing) => {
                if let Some(missing) = missing {
                    self.warn(format!("cannot read the rulings in the judge's answer: {missing}"));
                }
                let mut solution = ruled.clone().into_solution(self.debate(), &key.agent_id, missing.as_ref());
                solution.description += &describe_opened("The judge", &opened([&answered.metadata].into_iter()));
                Event::Synthesized { key: Some(key), text: None, solution: Box::new(solution), call: Some(call) }
            }
            Value::Solution(solution) => {
                if let Some(missing) = &solution.parse_error {
                    self.warn(format!("using the judge's answer without its full assessment: {missing}"));
                }
                if let Some(cut) = solution.cut {
                    self.warn(format!("the judge's answer was cut off {}", cut.how()));
                }
                let room = self.rooms.get(&key).copied().unwrap_or(usize::MAX);
                let shortened = (room < length).then_some(Shortened { from: length, to: room });
                let solution = Solution { shortened, ..solution.as_ref().clone() };
                let text = contribution(Arc::clone(&answered.text), None, answered.metadata.clone());
                self.delivered(step, solution, text, call)
            }
            Value::Unreadable(error) if matches!(step.answer, OutputSpec::Score(_)) => {
                self.warn(format!("cannot read a score in the judge's answer for round {}: {error}", key.round));
                self.evaluated(key, None, call)
            }
            Value::Unreadable(error) => {
                let (error, attempts) = (format!("the answer could not be read: {error}"), call.attempts);
                let (kind, server_gone, at) = (Some(Failure::UNREADABLE.to_owned()), false, Timestamp::now());
                let failure = Failure { key, error, kind, server_gone, attempts, at };
                self.record_failure(failure, Some(call))?;
                return Ok(true);
            }
        };
        self.append(event)?;
        // New findings can change which agents are asked to read them.
        let yields = self.debate().stage(step.key.stage).and_then(|stage| stage.yields);
        Ok(yields == Some(ResultKind::Findings))
    }

    fn delivered(&self, step: &Step, solution: Solution, text: Arc<Contribution>, call: CallRecord) -> Event {
        let (key, call) = (Some(step.key.clone()), Some(call));
        let draft = self.debate().draft.as_ref();
        let solution = match draft {
            // Keep the parts of the draft that the judge was not asked to write again.
            Some(draft) => Solution {
                base: solution.base.or_else(|| draft.base.clone()),
                description: with_candidates_of(draft, step, solution.description),
                ..solution
            },
            None => solution,
        };
        if step.delivery == Delivery::Draft || (step.delivery == Delivery::DraftIfRethought && text.metadata.rethought)
        {
            return Event::Drafted { key, text: Some(text), solution: Box::new(solution), call };
        }
        let text = draft.map(|_| text);
        let mut checked = self.debate().clone();
        checked.checks.extend(text.clone());
        let solution = Box::new(solution.with_unverified(checked.unverified()));
        Event::Synthesized { key, text, solution, call }
    }

    fn evaluated(&self, key: CallKey, score: Option<f64>, call: CallRecord) -> Event {
        let TerminationSettings { kind, threshold, .. } = self.debate().known_settings().debate.termination_condition;
        Event::Evaluated { key, evaluation: Evaluation { kind, score, threshold }, call: Some(call) }
    }

    /// Numbers the questions with ids that are unique within the debate and do not depend on the order in which agents
    /// answer. Drops questions beyond `most`.
    fn number(&self, agent: &AgentSettings, pass: u8, most: u32, mut questions: Vec<String>) -> AgentClarifications {
        let most = most as usize;
        if questions.len() > most {
            let dropped = questions.len() - most;
            self.warn(format!("{} asked more than {}; dropped {dropped}", agent.id, counted(most as u64, "question")));
            questions.truncate(most);
        }
        let agents = &self.panel.agents;
        let place = agents.iter().position(|one| one.settings.id == agent.id).unwrap_or(agents.len());
        let before = (usize::from(pass) - 1) * agents.len() + place;
        let items = questions.into_iter().enumerate().map(|(index, question)| Clarification {
            id: format!("q{}", before * most + index + 1),
            question,
            answer: String::new(),
            answered_by: None,
            pass: Some(pass),
        });
        AgentClarifications {
            agent_id: agent.id.clone(),
            agent_name: agent.name.clone(),
            role: agent.role.clone(),
            items: items.collect(),
        }
    }

    pub(super) fn fail(&mut self, error: impl Into<String>) -> Result<Trigger, EngineError> {
        self.append(Event::Failed { error: error.into() })?;
        self.withdraw_host_requests()?;
        Ok(Trigger::FAILED)
    }

    /// The reason to fail the debate: an agent failed, and the settings require all agents. Otherwise `None`.
    pub(super) fn broken(&self) -> Option<String> {
        let debate = self.debate();
        if debate.known_settings().debate.on_agent_failure != AgentFailurePolicy::Fail || self.is_stopping() {
            return None;
        }
        let in_round = |failure: &&Failure| {
            let stage = debate.stage(failure.key.stage);
            failure.key.round == debate.current_round && stage.is_some_and(|stage| stage.in_round && stage.is_essential)
        };
        let Failure { key, error, .. } = debate.failures.iter().find(in_round)?;
        Some(format!("{} failed in the {}: {error}", key.agent_id, key.stage))
    }

    fn record_failure(&mut self, failure: Failure, call: Option<CallRecord>) -> Result<(), EngineError> {
        let Failure { key, error, attempts, .. } = &failure;
        let target = key.target_agent_id.as_ref().map(|target| format!(" of {target}")).unwrap_or_default();
        let tries = if *attempts <= 1 { String::new() } else { format!(" after {attempts} attempts") };
        let message = format!("{} failed in the {}{target}{tries}: {error}", key.agent_id, key.stage);
        self.signal(Signal::Warning { message, failed: Some(key.clone()) });
        let key = key.clone();
        self.append(Event::CallFailed { failure, call })?;
        // A later run may repeat the call, and then needs a new reply.
        self.record.entry().forget_host_reply(&key);
        Ok(())
    }

    pub(super) fn record_failed_call(&mut self, step: &Step, failed: &FailedCall) -> Result<(), EngineError> {
        if let ModelError::OverBudget { limit } = failed.error {
            // Record a missing vote, because it affects the result.
            let is_missed = matches!(step.answer, OutputSpec::Choice | OutputSpec::Word(_));
            if step.cost == BudgetClass::Extra && is_missed {
                return self.record_failure(failure(step, failed), None);
            }
            if step.cost == BudgetClass::Extra {
                let words = self.debate().stage(step.key.stage).map(|stage| stage.words.plural.clone());
                let what = words.unwrap_or_else(|| step.key.stage.as_str().into());
                self.warn(format!("skipped a call to {}: the {limit} leaves no room for {what}", step.key.agent_id));
                self.refused.insert(step.key.clone());
                return Ok(());
            }
            if step.cost == BudgetClass::Check {
                return self.record_failure(failure(step, failed), None);
            }
            if self.is_out_of_money() {
                // The debate is already closing, so continue without this call.
                self.refused.insert(step.key.clone());
                self.refusal = Some(failed.to_string());
            }
            self.stop_for_budget()?;
            // A call that was never sent did not fail.
            if failed.attempts == 0 {
                return Ok(());
            }
        }
        // The cost of each attempt was recorded when it failed.
        self.record_failure(failure(step, failed), None)
    }

    /// Returns whether the call starts again with half of the debate's texts. A debate that has been paid for must not
    /// be lost.
    fn asks_for_less(&mut self, step: &Step, length: usize, failed: &FailedCall) -> bool {
        let can_be_shortened = matches!(step.answer, OutputSpec::Solution(_) | OutputSpec::FollowUp);
        if !matches!(failed.error, ModelError::ContextExceeded { .. }) || !can_be_shortened {
            return false;
        }
        let half = self.rooms.get(&step.key).copied().unwrap_or(length).min(length) / 2;
        if half < LEAST_TEXT {
            return false;
        }
        self.warn(format!(
            "the debate's {} characters exceed the context window of the judge's model; asking again with \
                 {} of them, with the longest texts cut",
            thousands(length as u64),
            thousands(half as u64),
        ));
        // The call has no result yet, so it is still wanted and starts again.
        self.rooms.insert(step.key.clone(), half);
        true
    }
}

/// Appends the draft's list of candidates to an amended text, because the judge refers to candidates by number but was
/// not asked to write the list.
fn with_candidates_of(draft: &Solution, step: &Step, description: String) -> String {
    let is_amended = draft.base.is_some() && step.answer == OutputSpec::Solution(Authorship::Judge);
    let named = draft.description.rfind(CANDIDATES).map(|at| &draft.description[at..]);
    match named.filter(|_| is_amended) {
        Some(named) => format!("{}\n\n{named}", description.trim_end()),
        None => description,
    }
}

/// `before_chars` is the length of the summarized texts.
fn summary(settings: &AgentSettings, answered: &RequestResult, before_chars: usize) -> Summary {
    let whole = answered.text.trim();
    let text = cut_summary(whole, settings.summarization.max_length);
    Summary {
        agent_id: settings.id.clone(),
        agent_role: settings.role.as_str().into(),
        summary: text.into(),
        metadata: SummaryMetadata {
            before_chars,
            after_chars: text.chars().count(),
            method: settings.summarization.method.clone(),
            timestamp: Some(Timestamp::now()),
            latency_ms: answered.metadata.latency_ms,
            tokens_used: answered.metadata.tokens_used,
            model: Some(settings.model.clone()),
            temperature: Some(settings.temperature),
            provider: Some(settings.provider.clone()),
            cut: answered.call.cut().or((text.len() < whole.len()).then_some(Cut::MaxLength)),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::tests::hosted;

    #[tokio::test]
    async fn a_call_that_the_limit_refuses_has_failed_only_if_it_was_sent() {
        for attempts in [0, 1] {
            let (_keep, mut engine) = hosted(100);
            let step = engine.protocol.steps(engine.debate()).next().unwrap();
            let error = ModelError::OverBudget { limit: engine.limit().unwrap() };
            engine.record_failed_call(&step, &FailedCall { error, attempts, spent: None }).unwrap();
            assert_eq!((engine.debate().failures.len(), engine.is_out_of_money()), (attempts as usize, true));
        }
    }
}
