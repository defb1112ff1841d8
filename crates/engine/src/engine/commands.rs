//! What a debate is told while it runs or waits.

use dialectic_record::debate::{AgentClarifications, AgentId, Answerer, Clarification, Event, StopReason};
use dialectic_record::protocol::OutputSpec;

use super::{Engine, EngineError};

/// What a running debate can be told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunCommand {
    /// Start nothing new, and pause once what is in flight has come back.
    Pause,
    /// As [`Pause`](Self::Pause), but stay ready to go on.
    Hold,
    /// Do not pause after all, or not any more.
    GoOn,
    /// Start nothing new, and close with what there is.
    Stop,
    /// The order to close lies beside the record: obey it as soon as there is something to close with.
    ObeyStop,
    /// The user has taken notice of what the debate costs.
    Acknowledge,
    /// The user answers a question. What is not open is left as it is.
    Answer {
        /// Who asked.
        agent_id: AgentId,
        /// Which of its questions.
        item_id: String,
        /// What the user says.
        answer: String,
        /// Who says it in the user's place, where somebody does.
        by: Option<Answerer>,
    },
    /// The user gives no further answers.
    EndQuestions {
        /// Who says it in the user's place, where somebody does.
        by: Option<Answerer>,
    },
}

/// How a debate that waits for the user continues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UserReply {
    /// It goes on, if only to close.
    GoOn,
    /// It is to end, and there is nothing that it could be closed with.
    GiveUp,
    /// It stays paused.
    Nothing,
}

impl Engine {
    /// Takes notice of what the debate was told meanwhile.
    pub(super) fn drain_commands(&mut self) -> Result<(), EngineError> {
        while let Ok(command) = self.commands.try_recv() {
            self.handle_command(command)?;
        }
        self.obey_stop()
    }

    pub(super) fn handle_command(&mut self, command: RunCommand) -> Result<(), EngineError> {
        match command {
            RunCommand::Pause => (self.is_pausing, self.is_held) = (true, false),
            RunCommand::Hold => (self.is_pausing, self.is_held) = (true, true),
            RunCommand::GoOn => (self.is_pausing, self.is_held) = (false, false),
            RunCommand::ObeyStop => {
                self.is_to_stop = true;
                if self.debate().final_round().is_none() {
                    self.warn("told to stop: the debate closes as soon as there is something to close it with");
                }
                self.obey_stop()?;
            }
            RunCommand::Acknowledge => self.acknowledge()?,
            RunCommand::Stop if self.debate().final_round().is_none() => {
                self.warn("there is nothing yet that the debate could be closed with: it goes on");
            }
            RunCommand::Stop => {
                if !self.is_stopping() && !self.is_at_its_end() {
                    self.append(Event::Stopping { reason: StopReason::User })?;
                }
            }
            RunCommand::Answer { agent_id, item_id, answer, by } => self.answer(agent_id, item_id, answer, by)?,
            RunCommand::EndQuestions { by } => self.end_questions(by)?,
        }
        Ok(())
    }

    /// Obeys the order that lies beside the record, where there is something to close with. The order is removed when
    /// that is on record: a run that is killed before leaves it to the next one.
    fn obey_stop(&mut self) -> Result<(), EngineError> {
        if self.is_to_stop && self.debate().final_round().is_some() {
            self.is_to_stop = false;
            self.handle_command(RunCommand::Stop)?;
            self.record.entry().forget_stop();
        }
        Ok(())
    }

    /// Puts on record that the user has taken notice of what the debate costs.
    fn acknowledge(&mut self) -> Result<(), EngineError> {
        if self.debate().cost_warning.is_some_and(|warning| !warning.acknowledged) {
            self.append(Event::CostAcknowledged)?;
        }
        Ok(())
    }

    /// Takes in answers until no question is open; each is on record as soon as it is there. Then the debate goes on, as it
    /// does when it is told to close; not when it is told to pause, nor when nobody is left who could answer.
    ///
    /// # Errors
    /// When what it is told cannot be put on record.
    pub async fn told_answers(&mut self) -> Result<UserReply, EngineError> {
        while self.debate().open_questions().next().is_some() {
            match self.commands.recv().await {
                Some(RunCommand::Pause) | None => return Ok(UserReply::Nothing),
                Some(RunCommand::Stop | RunCommand::ObeyStop) => return self.told_to_stop(),
                Some(RunCommand::Hold | RunCommand::GoOn) => {}
                Some(
                    told @ (RunCommand::Acknowledge | RunCommand::Answer { .. } | RunCommand::EndQuestions { .. }),
                ) => {
                    self.handle_command(told)?;
                }
            }
        }
        Ok(UserReply::GoOn)
    }

    /// Has a debate that waits close with what is there.
    fn told_to_stop(&mut self) -> Result<UserReply, EngineError> {
        if self.debate().final_round().is_none() {
            return Ok(UserReply::GiveUp);
        }
        self.is_to_stop = true;
        self.obey_stop()?;
        (self.is_pausing, self.is_held) = (false, false);
        Ok(UserReply::GoOn)
    }

    /// Records that the debate ends without an answer, since the user stopped it before there was anything to close it
    /// with.
    ///
    /// # Errors
    /// When it cannot be saved.
    pub async fn give_up(&mut self) -> Result<(), EngineError> {
        self.append(Event::stopped_without_proposal())?;
        Ok(self.record.flush().await?)
    }

    /// Waits until the debate, which has paused, is told to go on, if only to close: not where it was not to stay
    /// ready, nor when nobody is left who could say so. Then [`run`](Self::run) takes it up where it is.
    ///
    /// # Errors
    /// When what it is told meanwhile cannot be put on record.
    pub async fn told_to_go_on(&mut self) -> Result<UserReply, EngineError> {
        while self.is_held {
            match self.commands.recv().await {
                Some(RunCommand::GoOn) => {
                    (self.is_pausing, self.is_held) = (false, false);
                    // The pause was no silence of the models'.
                    self.silence = None;
                    return Ok(UserReply::GoOn);
                }
                Some(
                    told @ (RunCommand::Acknowledge | RunCommand::Answer { .. } | RunCommand::EndQuestions { .. }),
                ) => {
                    self.handle_command(told)?;
                }
                Some(RunCommand::Stop | RunCommand::ObeyStop) => return self.told_to_stop(),
                Some(RunCommand::Hold) => {}
                Some(RunCommand::Pause) | None => return Ok(UserReply::Nothing),
            }
        }
        Ok(UserReply::Nothing)
    }

    fn answer(
        &mut self,
        agent_id: AgentId,
        item_id: String,
        answer: String,
        by: Option<Answerer>,
    ) -> Result<(), EngineError> {
        let is_open =
            |(group, item): (&AgentClarifications, &Clarification)| group.agent_id == agent_id && item.id == item_id;
        if !self.debate().open_questions().any(is_open) {
            self.warn(format!("{agent_id} has no open question `{item_id}`: an answer to it is left out"));
            return Ok(());
        }
        // Nobody may be asked again: then the calls to come rest on what was made before this answer.
        self.shared = None;
        Ok(self.append(Event::QuestionAnswered { agent_id, item_id, answer, by })?)
    }

    /// Open questions are without an answer, and nobody asks any more. Behind the questions that changes nothing.
    fn end_questions(&mut self, by: Option<Answerer>) -> Result<(), EngineError> {
        if self.debate().questions_ended || self.debate().current_round > 0 {
            return Ok(());
        }
        self.shared = None;
        self.append(Event::QuestionsEnded { by })?;
        let calls = &self.calls;
        self.open.retain(|open| {
            let asks_user = matches!(open.step.answer, OutputSpec::Questions { .. });
            !asks_user || calls.is_in_flight(&open.step.key)
        });
        Ok(())
    }
}
