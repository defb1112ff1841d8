//! Commands to a debate that is running or waiting.

use dialectic_record::debate::{AgentClarifications, Answerer, Clarification, StopReason};
use dialectic_record::event::Event;
use dialectic_record::ids::AgentId;
use dialectic_record::protocol::OutputSpec;

use super::{Engine, EngineError};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunCommand {
    /// Start no new calls, and pause once those in flight have ended.
    Pause,
    /// Like [`Pause`](Self::Pause), but the run does not end.
    Hold,
    /// Cancel a pause, or continue after a [`Hold`](Self::Hold).
    GoOn,
    /// End the debate early with an answer from its current texts. Start only the calls that this answer needs. Ignored
    /// with a warning if a running debate has no text yet.
    Stop(StopReason),
    /// Obey the stop request that is stored next to the record, as soon as the debate has a text to base an answer on.
    ObeyStop,
    HostReplied,
    Acknowledge,
    /// The user answered a question. Ignored if the question is not open.
    Answer {
        agent_id: AgentId,
        item_id: String,
        answer: String,
        /// The program that answered for the user, if any.
        by: Option<Answerer>,
    },
    /// Leave open questions unanswered, and ask no further ones. The value is the program that decided this for the
    /// user, if any.
    EndQuestions(Option<Answerer>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UserReply {
    /// The debate continues, possibly only to close.
    GoOn,
    /// The debate fails, because it has no text to base an answer on.
    GiveUp,
    /// The debate stays paused.
    Nothing,
}

impl Engine {
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
                    self.warn("stopping: the debate will end once it has a text to base an answer on");
                }
                self.obey_stop()?;
            }
            // This command only wakes the loop, which reads the replies.
            RunCommand::HostReplied => {}
            RunCommand::Acknowledge => self.acknowledge()?,
            RunCommand::Stop(_) if self.debate().final_round().is_none() => {
                self.warn("ignoring the stop request: the debate has no text to base an answer on yet");
            }
            RunCommand::Stop(reason) => {
                if !self.is_stopping() && !self.is_at_its_end() {
                    self.append(Event::Stopping { reason })?;
                }
            }
            RunCommand::Answer { agent_id, item_id, answer, by } => self.answer(agent_id, item_id, answer, by)?,
            RunCommand::EndQuestions(by) => self.end_questions(by)?,
        }
        Ok(())
    }

    /// Obeys a stored stop request once the debate has a text. Removes the request's file only after recording the
    /// stop, so that a crash does not lose the request.
    fn obey_stop(&mut self) -> Result<(), EngineError> {
        if self.is_to_stop && self.debate().final_round().is_some() {
            self.is_to_stop = false;
            self.handle_command(RunCommand::Stop(StopReason::User))?;
            self.record.entry().forget_stop();
        }
        Ok(())
    }

    fn acknowledge(&mut self) -> Result<(), EngineError> {
        if self.debate().cost_warning.is_some_and(|warning| !warning.acknowledged) {
            self.append(Event::CostAcknowledged)?;
        }
        Ok(())
    }

    /// Receives and records answers until no question is open. The debate then continues, or closes after a stop
    /// command. The debate stays paused after a pause command, or if no more commands can arrive.
    ///
    /// # Errors
    ///
    /// Returns an error if a command cannot be recorded.
    pub async fn told_answers(&mut self) -> Result<UserReply, EngineError> {
        self.told_while(|engine| engine.debate().open_questions().next().is_some()).await
    }

    async fn told_while(&mut self, waits: impl Fn(&Self) -> bool) -> Result<UserReply, EngineError> {
        while waits(self) {
            match self.commands.recv().await {
                Some(RunCommand::Pause) | None => return Ok(UserReply::Nothing),
                Some(RunCommand::Stop(_) | RunCommand::ObeyStop) => return self.told_to_stop(),
                Some(told) => self.handle_command(told)?,
            }
        }
        Ok(UserReply::GoOn)
    }

    fn told_to_stop(&mut self) -> Result<UserReply, EngineError> {
        if self.debate().final_round().is_none() {
            return Ok(UserReply::GiveUp);
        }
        self.is_to_stop = true;
        self.obey_stop()?;
        (self.is_pausing, self.is_held) = (false, false);
        Ok(UserReply::GoOn)
    }

    /// Records that the user stopped the debate before it had a text.
    ///
    /// # Errors
    ///
    /// Returns an error if the debate cannot be saved.
    pub async fn give_up(&mut self) -> Result<(), EngineError> {
        self.append(Event::stopped_without_proposal())?;
        self.withdraw_host_requests()?;
        Ok(self.record.flush().await?)
    }

    /// Waits for a command that continues or closes a held debate. Call [`run`](Self::run) afterwards. Returns
    /// immediately if the debate is not held, or if no more commands can arrive.
    ///
    /// # Errors
    ///
    /// Returns an error if a command cannot be recorded.
    pub async fn told_to_go_on(&mut self) -> Result<UserReply, EngineError> {
        if !self.is_held {
            return Ok(UserReply::Nothing);
        }
        let told = self.told_while(|engine| engine.is_held).await?;
        // The idle limit must not include the pause.
        self.silence = None;
        Ok(told)
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
            self.warn(format!("ignored an answer: {agent_id} has no open question `{item_id}`"));
            return Ok(());
        }
        // Later prompts must include this answer.
        self.beginnings = None;
        Ok(self.append(Event::QuestionAnswered { agent_id, item_id, answer, by })?)
    }

    /// Ends the questions to the user. Has no effect once the first round has begun.
    fn end_questions(&mut self, by: Option<Answerer>) -> Result<(), EngineError> {
        if self.debate().questions_ended || self.debate().current_round > 0 {
            return Ok(());
        }
        self.beginnings = None;
        self.append(Event::QuestionsEnded { by })?;
        let calls = &self.calls;
        self.open.retain(|(_, step)| {
            let asks_user = matches!(step.answer, OutputSpec::Questions { .. });
            !asks_user || calls.is_in_flight(&step.key)
        });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::sync::mpsc::unbounded_channel;
    use tokio::time::advance;

    use super::*;
    use crate::engine::tests::hosted;

    #[tokio::test]
    async fn without_a_text_to_close_with_a_debate_is_not_stopped() {
        let (_keep, mut engine) = hosted(100);
        engine.handle_command(RunCommand::Stop(StopReason::User)).unwrap();
        assert!(!engine.is_stopping());
    }

    #[tokio::test]
    async fn questions_do_not_end_after_their_stage() {
        let (_keep, mut engine) = hosted(100);
        engine.append(Event::RoundBegun { round: 1, stage: engine.protocol.start() }).unwrap();
        engine.handle_command(RunCommand::EndQuestions(None)).unwrap();
        assert!(!engine.debate().questions_ended);
    }

    #[tokio::test(start_paused = true)]
    async fn a_pause_does_not_count_as_silence_of_the_models() {
        let (_keep, mut engine) = hosted(100);
        let (commands, told) = unbounded_channel();
        engine.commands = told;
        engine.start_the_clock();
        engine.handle_command(RunCommand::Hold).unwrap();
        advance(Duration::from_hours(100)).await;
        assert!(engine.is_round_over_time());
        commands.send(RunCommand::GoOn).unwrap();
        assert_eq!(engine.told_to_go_on().await.unwrap(), UserReply::GoOn);
        assert!(!engine.is_round_over_time());
    }
}
