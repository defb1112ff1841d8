//! Agents ask the user what is unclear, all at once, again after the answers, until nobody has a question.

use crate::agent::{Questions, read_json};
use crate::debate::{AgentClarifications, Clarification, Event, Phase, Signal};
use crate::engine::calls::{Arrival, Calls};
use crate::engine::{Engine, EngineError};
use crate::protocol::Trigger;

pub(super) async fn run(engine: &mut Engine) -> Result<Trigger, EngineError> {
    let debate = engine.debate();
    let Some(settings) = &debate.settings else { return Ok(Trigger::AllClear) };
    if !settings.debate.interactive_clarifications {
        return Ok(Trigger::AllClear);
    }
    let pending = debate.open_questions().next().is_some();
    if debate.questions_ended {
        return Ok(Trigger::AllClear);
    }
    let (limit, most) = (settings.debate.clarifications_max_iterations, settings.debate.clarifications_max_per_agent);
    let begun = debate.clarification_iterations.unwrap_or(0);
    // A run that was killed while agents were asked goes on with those that are left.
    // The user is asked only when all have spoken, so that nobody's prompt depends on when the run was killed.
    let everybody_asked = engine.panel.debaters.iter().all(|debater| engine.was_asked(begun, debater.id()));
    if begun > 0 && everybody_asked {
        if pending {
            return Ok(Trigger::QuestionsPending);
        }
        if engine.asked.iter().all(|((iteration, _), questions)| *iteration != begun || *questions == 0) {
            return Ok(Trigger::AllClear);
        }
    }
    let iteration = if begun > 0 && !everybody_asked { begun } else { begun + 1 };
    if iteration > limit {
        return Ok(Trigger::AllClear);
    }
    ask(engine, iteration, most).await?;
    let pending = engine.debate().open_questions().next().is_some();
    Ok(if pending { Trigger::QuestionsPending } else { Trigger::AllClear })
}

pub(super) fn input(engine: &Engine) -> Trigger {
    match engine.debate().open_questions().next() {
        Some(_) => Trigger::WaitingForInput,
        None => Trigger::AnswersSubmitted,
    }
}

async fn ask(engine: &mut Engine, iteration: u32, most: u32) -> Result<(), EngineError> {
    // Answers may have come in since the last call.
    engine.ground = None;
    let ground = engine.ground()?;
    let debaters = engine.panel.debaters.clone();
    let asked: Vec<_> = debaters.iter().filter(|debater| !engine.was_asked(iteration, debater.id())).collect();
    let (phase, round, total) = (Phase::Clarification, 0, asked.len());
    engine.signal(Signal::PhaseStarted { phase, round, total });
    let mut calls = Calls::new();
    for debater in asked {
        let request = debater.clarify(&ground, most)?;
        calls.start(engine, &debater.caller, request, |ask| ask.json(read_json::<Questions>), |answer| &answer.1);
    }
    let mut done = 0;
    while let Arrival::Finished(finished) = calls.next(engine).await? {
        match &finished.result {
            Ok((Ok(questions), call)) => {
                let agent = finished.key.agent_id.clone();
                let questions = number(engine, &agent, iteration, most, questions.texts());
                let count = questions.items.len();
                engine.append(Event::QuestionsAsked { iteration, questions, call: call.clone() })?;
                engine.asked.insert((iteration, agent), count);
                done += 1;
            }
            Ok((Err(unreadable), call)) => {
                let error = format!("the questions could not be read: {}", unreadable.error);
                engine.record_unreadable(&finished.key, error, call)?;
            }
            Err(failed) => {
                engine.record_failed_call(&finished.key, failed)?;
            }
        }
        finished.show(engine);
    }
    engine.signal(Signal::PhaseEnded { phase, round, done, failed: total - done });
    Ok(())
}

/// Gives the questions of an agent ids that no other question of the debate has, whoever answers first; drops those
/// beyond the limit.
fn number(
    engine: &Engine,
    agent: &crate::debate::AgentId,
    iteration: u32,
    most: u32,
    mut questions: Vec<String>,
) -> AgentClarifications {
    let most = most as usize;
    if questions.len() > most {
        let dropped = questions.len() - most;
        engine.warn(format!("{agent} asked more than {most} questions: {dropped} dropped"));
        questions.truncate(most);
    }
    let debaters = &engine.panel.debaters;
    let place = debaters.iter().position(|debater| debater.id() == agent).unwrap_or(debaters.len());
    let before = (iteration as usize - 1) * debaters.len() + place;
    let items = questions.into_iter().enumerate().map(|(index, question)| Clarification {
        id: format!("q{}", before * most + index + 1),
        question,
        answer: String::new(),
    });
    let settings = debaters.get(place).map(|debater| &debater.settings);
    AgentClarifications {
        agent_id: agent.clone(),
        agent_name: settings.map(|settings| settings.name.clone()).unwrap_or_default(),
        role: settings.map(|settings| settings.role.clone()).unwrap_or_default(),
        items: items.collect(),
    }
}
