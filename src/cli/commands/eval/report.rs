//! Messages of an evaluation: evaluators, ignored values, cost.

use std::fmt::Write as _;

use crate::evaluation::{Attempt, Evaluated, Evaluator, Usage};
use dialectic_base::figures::{cost, counted, duration, sum_of_tokens, thousands};
use dialectic_base::sanitize::one_line;

/// Each evaluator with its provider, model, limit and prompts.
pub(super) fn roster(evaluators: &[Evaluator]) -> String {
    let mut text = "Evaluators".to_owned();
    for evaluator in evaluators {
        let settings = &evaluator.settings;
        let name = if settings.name == settings.id.as_str() { String::new() } else { format!(" ({})", settings.name) };
        let head = format!("{}{name}: model {} of {}", settings.id, settings.model, settings.provider);
        let prompts = format!("system prompt {}, message {}", evaluator.system.source(), evaluator.user.source());
        // Writing to a string cannot fail.
        let timeout = duration(u64::try_from(settings.timeout.as_millis()).unwrap_or(u64::MAX));
        let most = settings.max_tokens.map(|most| format!(", at most {} tokens an answer", thousands(most.into())));
        let most = most.unwrap_or_default();
        let _ = write!(text, "\n  {}, first token within {timeout}{most}", one_line(&head));
        let _ = write!(text, "\n    {}", one_line(&prompts));
    }
    text
}

/// Skipped evaluators and changed scores, in the order of debates and runs.
pub(super) fn warnings(evaluated: &[Evaluated]) -> Vec<String> {
    let mut warnings = Vec::new();
    each(evaluated, |place, attempt| match &attempt.outcome {
        Err(skipped) => warnings.push(format!("{place} is skipped: {skipped}")),
        Ok(answer) => warnings.extend(answer.ignored.iter().map(|ignored| format!("{place}: {ignored}"))),
    });
    warnings
}

/// The duration and usable part of each evaluation, then the total usage.
pub(super) fn details(evaluated: &[Evaluated]) -> String {
    let mut text = "Evaluations".to_owned();
    let mut total = Usage::NONE;
    each(evaluated, |place, attempt| {
        total = total.and(attempt.usage);
        let took = duration(u64::try_from(attempt.latency.as_millis()).unwrap_or(u64::MAX));
        let outcome = match &attempt.outcome {
            Err(_) => "skipped".to_owned(),
            Ok(answer) => {
                let scores = counted(answer.scores.len() as u64, "score");
                format!("{scores} counted, {} ignored or clamped", answer.ignored.len())
            }
        };
        let _ = write!(
            text,
            "\n  {place}: {took}, {}, {outcome}",
            sum_of_tokens(attempt.usage.tokens, attempt.usage.silent_calls)
        );
    });
    let answers = counted(total.answers, "answer");
    let _ = write!(
        text,
        "\n  total: {answers}, {}, cost {}",
        sum_of_tokens(total.tokens, total.silent_calls),
        cost(total.cost)
    );
    text
}

/// Calls `tell` with each attempt and its name, which includes the debate and run if there are several.
fn each(evaluated: &[Evaluated], mut tell: impl FnMut(&str, &Attempt)) {
    for one in evaluated {
        let debate = if evaluated.len() > 1 { format!("{}: ", one.subject.name) } else { String::new() };
        for (index, run) in one.runs.iter().enumerate() {
            let run_name = if one.runs.len() > 1 { format!(" (run {})", index + 1) } else { String::new() };
            for attempt in &run.attempts {
                tell(&format!("{debate}evaluator {}{run_name}", attempt.evaluator.settings.id), attempt);
            }
        }
    }
}
