//! What the prompts of a debate cost, its check included.

use serde_json::json;

use crate::Row;
use crate::call_graph::marker;
use crate::measured::debate;
use crate::prefix::PromptCost;
use crate::support::{Incoming, Purpose, Reply, answer, default_reply, prose};

const PROBLEM_CHARS: usize = 3000;
const ANSWER_WORDS: usize = 700;
/// Points of a critique.
const POINTS: usize = 5;

pub(crate) fn rows() -> Result<Vec<Row>, String> {
    let run = debate(None, &problem(), reply())?;
    let prompts: Vec<String> = run.exchanges.iter().map(|exchange| exchange.request.text()).collect();
    let cost = PromptCost::of(&prompts);
    Ok(vec![
        Row::new("prompts: calls of a default debate", prompts.len().to_string(), "<= 41"),
        Row::new(
            "prompts: characters, repeated beginnings at a quarter",
            format!("{:.0} of {} sent", cost.charged(), cost.sent),
            "<= 430000",
        ),
        Row::new("prompts: share in a repeated beginning", format!("{:.1} %", cost.share() * 100.0), ">= 50 %"),
    ])
}

/// Answers as long as those of models, in the forms that the prompts ask for: each point is accepted, some are
/// maintained, and the check finds something in the draft.
fn reply() -> impl Fn(&Incoming) -> Reply + Send + Sync + 'static {
    // Made once: the server shares the machine with what is measured.
    let (text, point) = (prose(1, ANSWER_WORDS), prose(2, ANSWER_WORDS / POINTS - 10));
    move |request| {
        let points = || {
            let point = |number| format!("{number}. [major] The queue: {point} Resolved by: a limit of {number}.\n");
            (1..=POINTS).map(point).collect::<String>()
        };
        let lines = |what: &str| {
            let line = |number: String| format!("- {number} {what}\n");
            listed(request.prompt()).into_iter().map(line).collect::<String>()
        };
        match (request.purpose, request.task()) {
            (_, "check") => Reply::text(format!(
                "## Accepted points\n\n{}\n## New points\n\n{}",
                lines("verified (Parts)"),
                points()
            )),
            (_, "finalise") => {
                let text =
                    format!("# Answer\n\n{text}\n\n## Response to the check\n\n{}", lines("accepted (Answer): done"));
                Reply::text(answer(&text, &assessment()))
            }
            (Purpose::Propose, _) => Reply::text(format!("{} {text}", marker(request.index))),
            (Purpose::Critique, _) => Reply::text(format!(
                "## Earlier points\n\n{}\n## New points\n\n{}",
                lines("verified (Parts): it is there"),
                points()
            )),
            (Purpose::Refine, _) => Reply::text(format!(
                "{} {text}\n\n## Response to critiques\n\n{}",
                marker(request.index),
                lines("accepted (Parts): a limit")
            )),
            (Purpose::Synthesize, _) => Reply::text(answer(&format!("# Draft\n\n{text}"), &assessment())),
            _ => default_reply(request),
        }
    }
}

fn assessment() -> serde_json::Value {
    json!({
        "approach": "kept", "tradeoffs": [], "recommendations": [], "unfulfilledMajorRequirements": [],
        "partlyFulfilled": [], "openQuestions": [], "rulings": [], "title": "A job queue", "confidence": 80,
    })
}

/// The numbers of the points that a prompt lists.
fn listed(prompt: &str) -> Vec<String> {
    let number = |line: &str| {
        let word = line.trim_start_matches("- ").split(' ').next()?;
        let (text, point) = word.strip_prefix('D').map_or_else(|| word.split_once('.'), |point| Some(("0", point)))?;
        let is_number = |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_digit());
        (is_number(text) && is_number(point)).then(|| word.to_owned())
    };
    prompt.lines().filter_map(number).collect()
}

fn problem() -> String {
    let requirements = (1..=12).map(|number| format!("- It must meet requirement {number}: {}\n", prose(number, 12)));
    let text = format!("# A job queue\n\n{}\n{}", requirements.collect::<String>(), prose(99, 400));
    text.chars().take(PROBLEM_CHARS).collect()
}
