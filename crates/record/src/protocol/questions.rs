//! Questions: the first stages of every protocol (start, agents' questions, the user's answers), and the user's
//! follow-up questions to the judge of a finished debate.

use crate::debate::Debate;
use crate::ids::{AgentId, CallKey, CallStatus, ResultKind, StageId, StageInfo};
use crate::prompt::Prompt;
use crate::settings::AgentSettings;

use super::{BudgetClass, Next, OutputSpec, PromptContext, Row, Stage, Step, Trigger, no_steps, nothing};

const INITIALIZATION: StageId = StageId::new("initialization");
const CLARIFICATION: StageId = StageId::new("clarification");
const CLARIFICATION_INPUT: StageId = StageId::new("clarification-input");

const START: Trigger = Trigger("START");
const QUESTIONS_PENDING: Trigger = Trigger("QUESTIONS_PENDING");
const ALL_CLEAR: Trigger = Trigger("ALL_CLEAR");
const WAITING_FOR_INPUT: Trigger = Trigger("WAITING_FOR_INPUT");
const ANSWERS_SUBMITTED: Trigger = Trigger("ANSWERS_SUBMITTED");

pub static CLARIFY: Prompt = prompt!("phases/clarify.md", Clarify);

pub const fn initialization() -> Stage {
    Stage {
        info: StageInfo::new(INITIALIZATION, ["start", "starts", "starting", "starts", "started", "start"]),
        facts: nothing,
        steps: no_steps,
        outcome: |_| Ok(START),
        rows: &[Row(START, Next::Go(CLARIFICATION))],
    }
}

/// Agents ask the user questions, if the settings allow it. `rows` must come from [`all_clear`].
pub const fn clarification(rows: &'static [Row]) -> Stage {
    Stage {
        info: StageInfo::new(
            CLARIFICATION,
            [
                "question",
                "questions",
                "looking for questions",
                "looks for questions",
                "looked for questions",
                "look for questions",
            ],
        )
        .yielding(ResultKind::Questions),
        facts: nothing,
        steps: questions,
        outcome: |debate| Ok(if debate.open_questions().next().is_some() { QUESTIONS_PENDING } else { ALL_CLEAR }),
        rows,
    }
}

/// The rows of [`clarification`] for a protocol that continues with `next`.
pub const fn all_clear(next: Next) -> [Row; 2] {
    [Row(ALL_CLEAR, next), Row(QUESTIONS_PENDING, Next::Go(CLARIFICATION_INPUT))]
}

pub const fn answers() -> Stage {
    Stage {
        info: StageInfo::new(
            CLARIFICATION_INPUT,
            ["answer", "answers", "waiting for answers", "waits for answers", "answered", "answer"],
        ),
        facts: nothing,
        steps: no_steps,
        outcome: |debate| {
            let waiting = debate.open_questions().next().is_some();
            Ok(if waiting { WAITING_FOR_INPUT } else { ANSWERS_SUBMITTED })
        },
        rows: &[Row(WAITING_FOR_INPUT, Next::Suspend), Row(ANSWERS_SUBMITTED, Next::Go(CLARIFICATION))],
    }
}

/// Asks all agents at the same time, and again after each set of answers, until no agent has a question or the maximum
/// number of passes has been made. Does not ask an agent again after its call failed.
fn questions(debate: &Debate) -> Vec<Step> {
    let Some(settings) = &debate.settings else { return Vec::new() };
    let rules = &settings.debate;
    if !rules.interactive_clarifications || debate.questions_ended || rules.clarifications_max_iterations == 0 {
        return Vec::new();
    }
    let key = |agent: &AgentSettings, pass: u8| CallKey::new(0, CLARIFICATION, &agent.id).pass(pass);
    let answer = |agent: &AgentSettings, pass| debate.settled(&key(agent, pass));
    let is_asked =
        |agent: &&AgentSettings, pass: u8| !(1..pass).any(|before| answer(agent, before) == Some(CallStatus::Failed));
    let in_pass = |pass: u8| settings.agents.iter().filter(move |agent| is_asked(agent, pass));
    let last = u8::try_from(rules.clarifications_max_iterations).unwrap_or(u8::MAX);
    let mut pass = 1;
    // Waits for all agents before asking the user, so that prompts do not depend on when a run was killed.
    while pass < last
        && (debate.open_questions().next().is_none()
            || in_pass(pass + 1).any(|agent| answer(agent, pass + 1).is_some()))
        && in_pass(pass).all(|agent| answer(agent, pass).is_some())
        && in_pass(pass).any(|agent| answer(agent, pass) == Some(CallStatus::Done))
    {
        pass += 1;
    }
    let answer = OutputSpec::Questions { most: rules.clarifications_max_per_agent };
    in_pass(pass).map(|agent| Step::new(key(agent, pass), &CLARIFY, answer.clone()).paid(BudgetClass::Extra)).collect()
}

const FOLLOW_UP: StageId = StageId::new("follow-up");

pub static ANSWER: Prompt = prompt!("judge/follow-up.md", None);

/// Describes follow-up calls. Their stage belongs to no protocol, so records do not list it.
pub const fn follow_up_info() -> StageInfo {
    StageInfo::new(FOLLOW_UP, ["answer", "answers", "answering", "answers", "answered", "answer"])
}

/// `number` counts the user's follow-up questions, from 1.
pub fn follow_up(judge: &AgentId, number: u8) -> Step {
    let key = CallKey::new(0, FOLLOW_UP, judge).pass(number);
    Step::new(key, &ANSWER, OutputSpec::FollowUp).showing(PromptContext::Record).paid(BudgetClass::Closing)
}
