//! Follow-up questions about a finished debate. They belong to no protocol: its judge or one of its agents answers.

use crate::debate::{CallKey, Debate, StageId, StageInfo};
use crate::prompt::Prompt;

use super::{BudgetClass, OutputSpec, PromptContext, Step};

/// The stage of follow-up answers.
const FOLLOW_UP: StageId = StageId::new("follow-up");

/// The judge's prompt.
pub static ANSWER: Prompt = prompt!("judge/follow-up.md", None);

/// The prompt of an agent, which answers for its own text.
pub static ANSWER_FOR_TEXT: Prompt = prompt!("phases/follow-up.md", None);

/// The words for such a call. No record lists it among its stages.
pub const fn follow_up_info() -> StageInfo {
    StageInfo::new(FOLLOW_UP, ["answer", "answers", "answering", "answers", "answered", "answer"])
}

/// The call that answers a debate's question `number`, from 1; `None` if the record names no judge.
pub fn follow_up(debate: &Debate, number: u8) -> Option<Step> {
    let asked = usize::from(number).checked_sub(1).and_then(|index| debate.follow_ups.get(index));
    let (who, prompt) = match asked.and_then(|asked| asked.to.as_ref()) {
        Some(agent) => (agent, &ANSWER_FOR_TEXT),
        None => (&debate.settings.as_ref()?.judge.id, &ANSWER),
    };
    let key = CallKey::new(0, FOLLOW_UP, who).pass(number);
    Some(Step::new(key, prompt, OutputSpec::FollowUp).showing(PromptContext::Record).paid(BudgetClass::Closing))
}
