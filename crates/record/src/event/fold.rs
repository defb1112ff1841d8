//! Folds events into the state of a debate. The state must depend on nothing else, so that it can be restored from the
//! journal.

// Every match must name all variants, so that a new one cannot be overlooked.
#![cfg_attr(not(test), warn(clippy::wildcard_enum_match_arm))]

use std::sync::Arc;

use dialectic_base::call::CallRecord;
use dialectic_base::problem::NO_ANSWER;

use super::{Created, Event, Recorded};
use crate::answer::{Extension, Poll};
use crate::debate::{
    AgentClarifications, Answerer, Contribution, CostWarning, CutAnswer, Debate, Failure, FollowUp, ModelUsage, Round,
    Status, UnknownEnd,
};
use crate::ids::{AgentId, CallKey, CallStatus, ResultKind};

/// Why a sequence of events is not a valid record.
#[derive(Debug, Clone, thiserror::Error, PartialEq, Eq)]
pub enum FoldError {
    #[error("the journal is empty")]
    Empty,
    #[error("event {seq}: `created` must be the first event and occur only once")]
    Creation { seq: u64 },
    #[error("found event {found} where event {expected} was expected")]
    Gap { expected: u64, found: u64 },
    #[error("event {seq} answers question {number}, which was never asked")]
    UnknownQuestion {
        seq: u64,
        /// The question's number, from 1.
        number: usize,
    },
    #[error("event {seq} belongs to round {round}, which never began")]
    UnknownRound { seq: u64, round: u32 },
}

/// The state of a debate after all `events`.
///
/// # Errors
///
/// Returns an error if the first event does not create a debate, or if an event is missing or cannot follow the earlier
/// ones.
pub fn fold<'a>(events: impl IntoIterator<Item = &'a Recorded>) -> Result<Debate, FoldError> {
    let mut debate: Option<Debate> = None;
    for (recorded, expected) in events.into_iter().zip(1..) {
        if recorded.seq != expected {
            return Err(FoldError::Gap { expected, found: recorded.seq });
        }
        match &mut debate {
            Some(debate) => debate.apply(recorded)?,
            None => debate = Some(Debate::create(recorded)?),
        }
    }
    debate.ok_or(FoldError::Empty)
}

impl Debate {
    /// # Errors
    ///
    /// Returns an error unless the event is [`Event::Created`] or [`Event::Imported`].
    pub fn create(first: &Recorded) -> Result<Self, FoldError> {
        if let Event::Imported { state } = &first.event {
            return Ok(state.as_ref().clone());
        }
        let Event::Created(created) = &first.event else {
            return Err(FoldError::Creation { seq: first.seq });
        };
        let Created {
            format_version,
            id,
            problem,
            context,
            attachments,
            change,
            settings,
            stages,
            prompt_sources,
            seed,
            forked_from,
        } = created.as_ref().clone();
        Ok(Self {
            format_version: Some(format_version),
            id,
            problem,
            context,
            attachments,
            change,
            prompt_sources,
            settings: Some(settings),
            stages,
            seed: Some(seed),
            forked_from,
            created_at: Some(first.at),
            updated_at: Some(first.at),
            ..Self::default()
        })
    }

    /// Applies an event to the state. The result does not depend on the order in which the calls of a stage finished.
    ///
    /// # Errors
    ///
    /// Returns an error, and leaves the state unchanged, if the event cannot follow the earlier ones.
    #[expect(clippy::too_many_lines, reason = "an arm for each event")]
    pub fn apply(&mut self, recorded: &Recorded) -> Result<(), FoldError> {
        let seq = recorded.seq;
        let cut = self.cut_in(&recorded.event);
        let is_over = self.status == Status::Completed || recorded.event.is_about_the_record();
        match &recorded.event {
            Event::Created(_) | Event::Imported { .. } => return Err(FoldError::Creation { seq }),
            Event::StageEntered { stage } => {
                self.current_stage = Some(*stage);
                self.status = Status::Running;
                // Cache the points so far, because prompts outside the rounds read all of them repeatedly.
                if self.stage(*stage).is_some_and(|stage| !stage.in_round) {
                    self.past = std::mem::take(&mut self.past).until(self, u32::MAX);
                }
            }
            Event::RoundBegun { round, stage } => {
                self.current_round = *round;
                self.current_stage = Some(*stage);
                self.rounds.push(Round { timestamp: Some(recorded.at), ..Round::begun(*round) });
                self.past = std::mem::take(&mut self.past).until(self, *round);
            }
            Event::Gathered { gathered } => self.gathered = Some(gathered.clone()),
            Event::TeamSelected { selection } => self.selection = Some(selection.clone()),
            Event::Related { key, relations, call } => {
                self.note(key.round, seq, Some(call), |round| round.relations = Some(relations.clone()))?;
            }
            Event::Measured { round, convergence } => {
                self.note(*round, seq, None, |round| round.convergence = Some(convergence.clone()))?;
            }
            Event::Challenged { key, challenge, call } => {
                self.note(key.round, seq, Some(call), |round| round.challenge = Some(challenge.clone()))?;
            }
            Event::Observed { key, observations, call } => {
                self.note(key.round, seq, Some(call), |round| round.observations.clone_from(observations))?;
            }
            Event::Extended { round, winner, missing } => self.extend(*round, winner, missing),
            Event::Replied { call, .. } | Event::AttemptFailed { call, .. } => self.count(call),
            Event::QuestionsAsked { key, questions, call } => {
                self.insert_questions(key.pass, questions);
                if self.questions_ended {
                    // The user ended the questions while the call was in flight.
                    self.end_questions(None);
                }
                self.count(call);
            }
            Event::QuestionAnswered { agent_id, item_id, answer, by } => {
                self.answer(agent_id, item_id, answer, *by);
            }
            Event::QuestionsEnded { by } => self.end_questions(*by),
            Event::Summarized { key, summary, call } => {
                if self.is_judge(&key.agent_id) {
                    self.judge_summary = Some(summary.clone());
                } else {
                    let summaries = self.round_mut(key.round, seq)?.summaries.get_or_insert_default();
                    summaries.insert(summary.agent_id.clone(), summary.clone());
                }
                self.count(call);
            }
            Event::Contributed { key, contribution, call } => {
                let stage = self.stage(contribution.stage);
                let yields = stage.and_then(|stage| stage.yields);
                // A proposal outside the rounds replaces a draft of the answer.
                let replaces = yields == Some(ResultKind::Proposal) && stage.is_some_and(|stage| !stage.in_round);
                if yields == Some(ResultKind::Check) {
                    self.insert_check(contribution);
                } else if yields == Some(ResultKind::Solution) || replaces {
                    self.checks.push(Arc::clone(contribution));
                } else {
                    self.insert(key.round, contribution, seq)?;
                }
                self.count(call.as_ref());
            }
            Event::CallFailed { failure, call } => {
                self.insert_failure(failure);
                self.count(call.as_ref());
            }
            Event::Reopened { keys } => self.reopen(keys),
            Event::RoundTimedOut { round } => self.round_mut(*round, seq)?.timed_out = true,
            Event::Evaluated { key, evaluation, call } => {
                self.note(key.round, seq, call.as_ref(), |round| round.evaluation = Some(evaluation.clone()))?;
            }
            Event::Voted { voting } => self.voting = Some(voting.clone()),
            Event::Polled { key, vote, reason, call } => {
                Poll::cast(&mut self.polls, key, vote, reason);
                self.count(call);
            }
            Event::Judged { judgement, call, .. } => {
                let place = self.judgements.partition_point(|have| have.pass <= judgement.pass);
                self.judgements.insert(place, judgement.clone());
                self.count(call);
            }
            Event::Decided { verdict } => self.verdict = Some(verdict.clone()),
            Event::Drafted { text, solution, call, .. } => {
                self.checks.extend(text.clone());
                self.draft = Some(solution.as_ref().clone());
                self.count(call.as_ref());
            }
            Event::CheckForgone => self.check_forgone = true,
            Event::Synthesized { text, solution, call, .. } => {
                self.checks.extend(text.clone());
                self.final_solution = Some(solution.as_ref().clone());
                self.count(call.as_ref());
            }
            // The state contains only actual spending, not reservations.
            Event::CostReserved { .. } => {}
            Event::OutputLimited { max_tokens } => {
                self.output_limit = Some(self.output_limit.map_or(*max_tokens, |before| before.min(*max_tokens)));
            }
            Event::CostWarned { usd, limit } => {
                self.cost_warning = Some(CostWarning { usd: *usd, limit: *limit, acknowledged: false });
            }
            Event::CostAcknowledged => {
                if let Some(warning) = &mut self.cost_warning {
                    warning.acknowledged = true;
                }
            }
            Event::Stopping { reason } => self.stop_reason = Some(*reason),
            Event::Suspended { stage } => {
                self.status = Status::Paused;
                self.suspended_at_stage = Some(*stage);
                self.suspended_at = Some(recorded.at);
            }
            Event::Paused => self.status = Status::Paused,
            Event::Resumed(limit) => {
                if let Some(settings) = &mut self.settings {
                    settings.renew(*limit);
                }
                self.go_on();
            }
            Event::Failed { error } => (self.status, self.error) = (Status::Failed, Some(error.clone())),
            Event::Completed { outcome } => {
                self.status = Status::Completed;
                self.outcome = Some(outcome.clone());
            }
            Event::FollowUpAsked { question } => self.follow_ups.push(FollowUp {
                question: Arc::clone(question),
                answer: None,
                at: Some(recorded.at),
                answered_by: None,
                metadata: None,
            }),
            Event::FollowUpAnswered { key, answer, metadata, call } => {
                let number = usize::from(key.pass);
                let asked = number.checked_sub(1).and_then(|index| self.follow_ups.get_mut(index));
                let asked = asked.ok_or(FoldError::UnknownQuestion { seq, number })?;
                asked.answer = Some(Arc::clone(answer));
                asked.answered_by = Some(key.agent_id.clone());
                asked.metadata = Some(metadata.clone());
                self.count(call);
            }
            Event::Rated { rating, note } => {
                self.user_feedback = Some(f64::from(*rating));
                self.user_feedback_note.clone_from(note);
            }
        }
        self.settle(&recorded.event);
        self.note_unknown_end(&recorded.event);
        if let Some(cut) = cut.filter(|cut| !self.cuts.contains(cut)) {
            let new = self.key_rank(&cut.key);
            let place = self.cuts.partition_point(|have| self.key_rank(&have.key) <= new);
            self.cuts.insert(place, cut);
        }
        // The end time of a finished debate stays the same, whatever follows.
        if !is_over {
            self.updated_at = Some(recorded.at);
        }
        Ok(())
    }

    fn note(
        &mut self,
        round: u32,
        seq: u64,
        call: Option<&CallRecord>,
        enter: impl FnOnce(&mut Round),
    ) -> Result<(), FoldError> {
        enter(self.round_mut(round, seq)?);
        self.count(call);
        Ok(())
    }

    /// Moves the verdict and the vote into an extension, so that the debate can reach new ones.
    fn extend(&mut self, round: u32, winner: &AgentId, missing: &[String]) {
        let (verdict, voting) = (self.verdict.take(), self.voting.take());
        let (winner, missing) = (winner.clone(), missing.to_vec());
        self.extensions.push(Extension { round, winner, missing, verdict, voting });
    }

    fn go_on(&mut self) {
        self.forget_what_is_tried_again();
        self.status = Status::Running;
        self.suspended_at_stage = None;
        self.suspended_at = None;
        self.error = None;
    }

    fn reopen(&mut self, keys: &[CallKey]) {
        for key in keys {
            self.settled.remove(key);
            self.failures.retain(|failure| failure.key != *key);
            let is_score = self.stage(key.stage).is_some_and(|stage| stage.yields == Some(ResultKind::Score));
            // The failed call may have left an evaluation without a score.
            if let Some(round) = self.rounds.iter_mut().find(|round| is_score && round.round_number == key.round) {
                round.evaluation = None;
            }
        }
    }

    /// A copy of the state without the failures of the calls `keys`, as if these calls had not been made yet.
    pub fn reopening(&self, keys: &[CallKey]) -> Self {
        let mut debate = self.clone();
        debate.reopen(keys);
        debate
    }

    fn settle(&mut self, event: &Event) {
        if let Some((key, settled)) = event.settles() {
            self.settled.insert(key.clone(), settled);
            if settled != CallStatus::Failed {
                // Earlier attempts of this call may have failed before this one succeeded.
                self.failures.retain(|failure| failure.key != *key);
            }
        }
    }

    pub fn answer(&mut self, agent: &AgentId, item: &str, answer: &str, by: Option<Answerer>) {
        let groups = self.clarifications.iter_mut().flatten().filter(|group| group.agent_id == *agent);
        for item in groups.flat_map(|group| &mut group.items).filter(|one| one.id == item) {
            answer.clone_into(&mut item.answer);
            item.answered_by = by;
        }
    }

    /// Ends the questions to the user. Each open question gets the answer [`NO_ANSWER`], as if the user had declined to
    /// answer.
    pub fn end_questions(&mut self, by: Option<Answerer>) {
        self.questions_ended = true;
        let items = self.clarifications.iter_mut().flatten().flat_map(|group| &mut group.items);
        for item in items.filter(|item| item.answer.is_empty()) {
            NO_ANSWER.clone_into(&mut item.answer);
            item.answered_by = by;
        }
    }

    /// The answer in `event` that was cut off, if any. `None` for contributions and solutions, which record their own
    /// cuts, and for follow-up answers and failed calls.
    pub fn cut_in(&self, event: &Event) -> Option<CutAnswer> {
        use Event::{CallFailed, Contributed, Drafted, FollowUpAnswered, Summarized, Synthesized};
        let (key, _) = event.settles()?;
        if matches!(
            event,
            Contributed { .. } | Drafted { .. } | Synthesized { .. } | FollowUpAnswered { .. } | CallFailed { .. }
        ) {
            return None;
        }
        let summary_cut = if let Summarized { summary, .. } = event { summary.metadata.cut } else { None };
        let cut = event.call().and_then(CallRecord::cut).or(summary_cut)?;
        Some(CutAnswer { key: key.clone(), cut })
    }

    fn note_unknown_end(&mut self, event: &Event) {
        let Some(((key, _), call)) = event.settles().zip(event.call()).filter(|(_, call)| call.unknown_end) else {
            return;
        };
        let finish_reason = call.finish_reason.clone().unwrap_or_default();
        let new = self.key_rank(key);
        let place = self.unknown_ends.partition_point(|have| self.key_rank(&have.key) <= new);
        self.unknown_ends.insert(place, UnknownEnd { key: key.clone(), finish_reason });
    }

    fn round_mut(&mut self, number: u32, seq: u64) -> Result<&mut Round, FoldError> {
        let round = self.rounds.iter_mut().rev().find(|round| round.round_number == number);
        round.ok_or(FoldError::UnknownRound { seq, round: number })
    }

    /// The index of an agent in the settings. The judge, and unknown agents of damaged records, come last.
    fn agent_rank(&self, id: &AgentId) -> usize {
        self.agents().iter().position(|agent| agent.id == *id).unwrap_or(usize::MAX)
    }

    fn insert(&mut self, round: u32, contribution: &Arc<Contribution>, seq: u64) -> Result<(), FoldError> {
        let rank = |debate: &Self, of: &Contribution| {
            let target = of.target_agent_id.as_ref().map(|target| debate.agent_rank(target));
            (debate.stage_rank(of.stage), debate.agent_rank(&of.agent_id), target)
        };
        let new = rank(self, contribution);
        let contributions = &self.round(round).ok_or(FoldError::UnknownRound { seq, round })?.contributions;
        let in_turn = self.stage(contribution.stage).is_some_and(|stage| stage.in_turn);
        let sorted = contributions.partition_point(|have| rank(self, have) <= new);
        let place = if in_turn { contributions.len() } else { sorted };
        self.round_mut(round, seq)?.contributions.insert(place, Arc::clone(contribution));
        Ok(())
    }

    /// Inserts a check result so that the results for a draft are in the order of their lenses, whichever call ended
    /// first.
    fn insert_check(&mut self, contribution: &Arc<Contribution>) {
        let is_check = |one: &Contribution| self.yield_of(one) == Some(ResultKind::Check);
        let place = (0..=self.checks.len()).rev().find(|place| {
            let before = place.checked_sub(1).and_then(|before| self.checks.get(before));
            before.is_none_or(|before| !is_check(before) || before.metadata.lens <= contribution.metadata.lens)
        });
        self.checks.insert(place.unwrap_or(self.checks.len()), Arc::clone(contribution));
    }

    /// If the debate failed, forgets the failed calls that resuming must repeat: those of the current round, in
    /// essential stages from the current stage on.
    fn forget_what_is_tried_again(&mut self) {
        let Some(reached) = self.current_stage.filter(|_| self.status == Status::Failed) else { return };
        let (round, reached) = (self.current_round, self.stage_rank(reached));
        let stages = Arc::clone(&self.stages);
        let in_round = stages.get(reached).is_some_and(|stage| stage.in_round);
        let reached = self.first_repeated(reached);
        let again = |key: &CallKey| {
            let stage = stages.iter().enumerate().find(|(_, stage)| stage.id == key.stage);
            key.round == round && stage.is_some_and(|(rank, stage)| stage.is_essential && rank >= reached)
        };
        self.failures.retain(|failure| !again(&failure.key));
        self.settled.retain(|key, settled| *settled != CallStatus::Failed || !again(key));
        if let Some(last) = self.rounds.last_mut().filter(|_| in_round) {
            last.timed_out = false;
        }
    }

    fn is_judge(&self, id: &AgentId) -> bool {
        self.settings.as_ref().is_some_and(|settings| settings.judge.id == *id)
    }

    /// Returns a key that sorts calls in the order of the protocol.
    pub fn key_rank(&self, key: &CallKey) -> impl Ord + use<> {
        let target = key.target_agent_id.as_ref().map(|target| self.agent_rank(target));
        (key.round, self.stage_rank(key.stage), key.pass, self.agent_rank(&key.agent_id), target)
    }

    fn insert_questions(&mut self, pass: u8, questions: &AgentClarifications) {
        let before = self.clarification_iterations.unwrap_or(0);
        self.clarification_iterations = Some(before.max(u32::from(pass)));
        let new = self.agent_rank(&questions.agent_id);
        let mut groups = self.clarifications.take().unwrap_or_default();
        match groups.iter_mut().find(|group| group.agent_id == questions.agent_id) {
            Some(group) => group.items.extend(questions.items.iter().cloned()),
            None if questions.items.is_empty() => {}
            None => {
                let place = groups.partition_point(|group| self.agent_rank(&group.agent_id) <= new);
                groups.insert(place, questions.clone());
            }
        }
        self.clarifications = Some(groups);
    }

    fn insert_failure(&mut self, failure: &Failure) {
        let new = self.key_rank(&failure.key);
        let place = self.failures.partition_point(|have| self.key_rank(&have.key) <= new);
        self.failures.insert(place, failure.clone());
    }

    fn count<'a>(&mut self, call: impl Into<Option<&'a CallRecord>>) {
        if let Some(call) = call.into().filter(|call| !call.copied) {
            self.usage.entry(call.model.clone()).or_insert(ModelUsage::NONE).count(call);
        }
    }
}

#[cfg(test)]
mod tests {
    use dialectic_base::money::BudgetLimit;

    use super::*;
    use crate::debate::fixture::{call, created, pitching};
    use crate::debate::{Clarification, Evaluation};
    use crate::ids::{StageInfo, Timestamp};
    use crate::settings::TerminationKind;

    fn numbered(events: impl IntoIterator<Item = (u64, Event)>) -> Vec<Recorded> {
        events.into_iter().map(|(seq, event)| Recorded { seq, at: Timestamp::now(), event }).collect()
    }

    /// The state after these events of the first round.
    fn folded(events: impl IntoIterator<Item = Event>) -> Debate {
        let begun = Event::RoundBegun { round: 1, stage: pitching::PITCH };
        fold(&numbered((1..).zip([created(pitching::stages()), begun].into_iter().chain(events)))).unwrap()
    }

    #[test]
    fn a_missing_event_is_noticed() {
        let events = numbered([(1, created(pitching::stages())), (3, Event::Paused)]);
        assert_eq!(fold(&events).err(), Some(FoldError::Gap { expected: 2, found: 3 }));
    }

    #[test]
    fn a_debate_that_goes_on_waits_for_nobody_and_has_its_round_again() {
        let asked = folded([Event::Suspended { stage: pitching::PITCH }, Event::Resumed(BudgetLimit::default())]);
        assert_eq!((asked.suspended_at_stage, asked.suspended_at), (None, None));
        let failed = Event::Failed { error: "nobody answered".to_owned() };
        let again = folded([Event::RoundTimedOut { round: 1 }, failed, Event::Resumed(BudgetLimit::default())]);
        assert!(!again.rounds[0].timed_out && again.error.is_none());
    }

    #[test]
    fn a_failure_that_was_made_good_is_none() {
        let made_good = pitching::applauded("agent-kiss", "agent-architect");
        let key = made_good.settles().unwrap().0.clone();
        let (error, at) = ("gone".to_owned(), Timestamp::now());
        let failure = Failure { key, error, kind: None, server_gone: true, attempts: 1, at };
        let failed = Event::CallFailed { failure, call: None };
        assert_eq!(folded([failed.clone()]).failures.len(), 1);
        assert!(folded([failed, made_good]).failures.is_empty());
    }

    #[test]
    fn a_question_that_comes_after_their_end_is_not_waited_for() {
        let (id, question) = ("q1".to_owned(), "Which?".to_owned());
        let item = Clarification { id, question, answer: String::new(), answered_by: None, pass: Some(1) };
        let (agent_id, name) = (AgentId::new("agent-kiss"), "Kiss".to_owned());
        let key = CallKey::new(0, pitching::PITCH, &agent_id);
        let questions = AgentClarifications { agent_id, agent_name: name.clone(), role: name, items: vec![item] };
        let asked = Event::QuestionsAsked { key, questions, call: call(None) };
        assert_eq!(folded([asked.clone()]).open_questions().count(), 1);
        assert_eq!(folded([Event::QuestionsEnded { by: None }, asked]).open_questions().count(), 0);
    }

    #[test]
    fn the_lowest_output_limit_is_the_debates() {
        let limited = [200, 100, 300].map(|max_tokens| Event::OutputLimited { max_tokens });
        assert_eq!(folded(limited).output_limit, Some(100));
    }

    #[test]
    fn a_score_whose_call_failed_is_asked_for_again_with_the_call() {
        let mut debate = folded([]);
        let scoring = StageInfo { yields: Some(ResultKind::Score), ..debate.stages[0].clone() };
        debate.stages = [scoring].into();
        let (kind, threshold) = (TerminationKind::Quality, 80.0);
        debate.rounds[0].evaluation = Some(Evaluation { kind, score: None, threshold });
        let key = CallKey::new(1, pitching::PITCH, &AgentId::new("judge"));
        assert_eq!(debate.reopening(&[key]).rounds[0].evaluation, None);
    }
}
