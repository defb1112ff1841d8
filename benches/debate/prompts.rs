//! What the prompts of a debate cost.

use crate::Row;
use crate::measured::{debate, marked_reply};
use crate::support::{PromptCost, prose};

const PROBLEM_CHARS: usize = 3000;
const ANSWER_WORDS: usize = 700;

pub(crate) fn rows() -> Result<Vec<Row>, String> {
    let run = debate(None, &problem(), marked_reply(ANSWER_WORDS))?;
    let prompts: Vec<String> = run.exchanges.iter().map(|exchange| exchange.request.text()).collect();
    let cost = PromptCost::of(&prompts);
    Ok(vec![
        Row::new(
            format!("prompts: characters, repeated beginnings at a quarter ({} calls)", prompts.len()),
            format!("{:.0} of {} sent", cost.charged(), cost.sent),
            "<= 480000",
        ),
        Row::new("prompts: share in a repeated beginning", format!("{:.1} %", cost.share() * 100.0), ">= 50 %"),
    ])
}

fn problem() -> String {
    let requirements = (1..=12).map(|number| format!("- It must meet requirement {number}: {}\n", prose(number, 12)));
    let text = format!("# A job queue\n\n{}\n{}", requirements.collect::<String>(), prose(99, 400));
    text.chars().take(PROBLEM_CHARS).collect()
}
