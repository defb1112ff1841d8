//! Follow-up questions about a finished debate. They belong to no protocol: its judge answers.

use crate::debate::{AgentId, CallKey, StageId, StageInfo};
use crate::prompt::Prompt;

use super::{BudgetClass, OutputSpec, PromptContext, Step};

/// The stage of follow-up answers.
const FOLLOW_UP: StageId = StageId::new("follow-up");

pub static ANSWER: Prompt = prompt!("judge/follow-up.md", None);

/// The words for such a call. No record lists it among its stages.
pub const fn follow_up_info() -> StageInfo {
    StageInfo::new(FOLLOW_UP, ["answer", "answers", "answering", "answers", "answered", "answer"])
}

/// The judge's call that answers question `number`, from 1.
pub fn follow_up(judge: &AgentId, number: u8) -> Step {
    let key = CallKey::new(0, FOLLOW_UP, judge).pass(number);
    Step::new(key, &ANSWER, OutputSpec::FollowUp).showing(PromptContext::Record).paid(BudgetClass::Closing)
}
