//! Questions of the user's about a finished debate. They belong to no protocol: whichever it was, its judge answers.

use crate::debate::{CallKey, Debate, StageId, StageInfo};
use crate::prompt::Prompt;

use super::{BudgetClass, OutputSpec, PromptContext, Step};

/// What answers to such questions are called for.
const FOLLOW_UP: StageId = StageId::new("follow-up");

/// How the judge is asked.
pub static ANSWER: Prompt = prompt!("judge/follow-up.md", None);

/// The words for such a call. No record has this among its stages.
pub const fn follow_up_info() -> StageInfo {
    StageInfo::new(FOLLOW_UP, ["answer", "answers", "answering", "answers", "answered", "answer"])
}

/// The call that answers question `number` of a debate, counted from 1; none where the record names no judge.
pub fn follow_up(debate: &Debate, number: u8) -> Option<Step> {
    let judge = &debate.settings.as_ref()?.judge.id;
    let key = CallKey::new(0, FOLLOW_UP, judge).pass(number);
    Some(Step::new(key, &ANSWER, OutputSpec::FollowUp).showing(PromptContext::Record).paid(BudgetClass::Closing))
}
