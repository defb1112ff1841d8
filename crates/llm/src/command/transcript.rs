//! Collects and interprets the output of a program.

use chrono::{DateTime, Datelike as _, Local, NaiveDate, NaiveTime, TimeDelta, Utc};
use serde_json::Value;

use crate::request::finish;
use crate::{FailedAttempt, FinishReason, Listener, ModelError, Reply, StatedUsage};
use dialectic_base::call::Tokens;
use dialectic_base::markdown::truncate;
use dialectic_base::money::Usd;

pub(super) fn json_in(text: &str) -> Option<Value> {
    let (start, end) = (text.find('{')?, text.rfind('}')?);
    serde_json::from_str(text.get(start..=end)?).ok()
}

pub(super) fn text_at(value: &Value, pointer: &str) -> Option<String> {
    value.pointer(pointer)?.as_str().map(str::to_owned)
}

pub(super) fn count(value: &Value, key: &str) -> Option<u64> {
    value[key].as_u64()
}

const LONGEST_MESSAGE: usize = 500;
/// Recorded as the finish reason if a program that usually states one does not.
pub(super) const UNSAID: &str = "not said";

#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts about a run")]
pub(super) struct Transcript {
    text: String,
    /// The answer as repeated at the end of the output. Takes precedence over `text`.
    pub(super) whole: Option<String>,
    /// The finish reason; `None` for programs without one.
    pub(super) finish: Option<String>,
    /// Whether the program reported the end of the answer.
    pub(super) is_complete: bool,
    pub(super) tokens: Option<Tokens>,
    /// The input tokens reported at the beginning of the answer.
    pub(super) read: Option<Tokens>,
    pub(super) cost: Option<Usd>,
    pub(super) served_model: Option<String>,
    pub(super) error: Option<String>,
    pub(super) status: Option<u16>,
    /// Whether to stop reading, because the rest of the output is not needed.
    pub(super) is_over: bool,
    /// Whether the call is billed despite the subscription: as extra usage, or to a key.
    pub(super) is_overage: bool,
    pub(super) tool: Option<String>,
    pub(super) is_limited: bool,
    /// `None` if not reported.
    pub(super) limited_until: Option<DateTime<Utc>>,
}

#[derive(Debug)]
pub(super) struct Exit {
    /// `None` if the program was killed by a signal.
    pub(super) code: Option<i32>,
    /// Whether the program ended on its own and all of its output was read.
    pub(super) is_whole: bool,
    pub(super) complaint: String,
}

impl Transcript {
    pub(super) fn say(&mut self, text: &str, listener: &dyn Listener) {
        if !text.is_empty() {
            self.text.push_str(text);
            listener.on_token(text);
        }
    }

    pub(super) fn has_spoken(&self) -> bool {
        !self.text.is_empty()
    }

    /// Returns the reply, or a failure if the program reported an error (even with exit code 0), failed, or ended
    /// before its answer was complete.
    pub(super) fn conclude(self, exit: &Exit) -> Result<Reply, FailedAttempt> {
        // Zero tokens mean that the usage is unknown.
        let tokens = self.tokens.filter(|tokens| tokens.total() > 0);
        let usage = StatedUsage { tokens, cost: self.cost };
        if let Some(error) = self.failure(exit) {
            let may_be_billed = error.may_be_billed() || self.has_spoken();
            return Err(FailedAttempt { error, usage, may_be_billed });
        }
        if !self.is_complete && !self.is_over {
            let message = "the program ended before its answer was complete".to_owned();
            return Err(FailedAttempt::with_usage(ModelError::Broken { message }, usage));
        }
        let (finish, word) = match self.finish {
            Some(said) if said == UNSAID => (FinishReason::Complete, Some(said)),
            said => finish(said.as_deref()),
        };
        Ok(Reply {
            text: self.whole.unwrap_or(self.text),
            finish,
            finish_word: word,
            served_model: self.served_model,
            tokens,
            stated_cost: self.cost,
            ..Reply::default()
        })
    }

    fn failure(&self, exit: &Exit) -> Option<ModelError> {
        if let Some(tool) = &self.tool {
            return Some(ModelError::ToolUsed { tool: tool.clone() });
        }
        let failed = exit.code != Some(0);
        let said = self.error.clone().or_else(|| failed.then(|| exit.complaint.trim().to_owned()));
        let message = said.filter(|said| !said.is_empty()).unwrap_or_else(|| match exit.code {
            Some(code) => format!("it exited with code {code}"),
            None => "it was killed by a signal".to_owned(),
        });
        let message = if self.error.is_some() {
            truncate(&message, LONGEST_MESSAGE).to_owned()
        } else {
            // The reason is usually at the end.
            message[message.ceil_char_boundary(message.len().saturating_sub(LONGEST_MESSAGE))..].to_owned()
        };
        if self.is_limited && (self.error.is_some() || failed) {
            return Some(ModelError::UsageLimit { until: self.limited_until, message });
        }
        if self.error.is_none() && !failed {
            return None;
        }
        Some(error_of(message, self.status))
    }
}

/// Phrases that say that a subscription's limit was reached. They are only searched for in failure messages, never in
/// answers.
const LIMITS: [&str; 6] =
    ["usage limit", "you've hit your", "session limit reached", "weekly limit", "quota exceeded", "exhausted your"];
const LOGINS: [&str; 8] = [
    "not logged in",
    "please run /login",
    "run `codex login`",
    "codex login",
    "invalid api key",
    "missing environment variable",
    "oauth token",
    "401 unauthorized",
];

fn error_of(message: String, status: Option<u16>) -> ModelError {
    let lower = message.to_lowercase();
    let has = |words: &[&str]| words.iter().any(|words| lower.contains(words));
    // Servers use the same words for per-minute limits, with status 429.
    if has(&LIMITS) && status != Some(429) {
        return ModelError::UsageLimit { until: until(&message, &Local::now()), message };
    }
    if has(&LOGINS) {
        return ModelError::LoggedOut { message };
    }
    match status {
        Some(401 | 403) => ModelError::LoggedOut { message },
        Some(status @ 429) => ModelError::RateLimited { status, retry_after: None, message },
        Some(status @ (408 | 409 | 425 | 500..)) => ModelError::ServerFailed { status, retry_after: None, message },
        Some(status @ 400..) => ModelError::Refused { status, message },
        Some(_) | None => ModelError::ProgramFailed { message },
    }
}

/// When a program will answer again, according to its message: `…|1763900400`, `try again in 3 hours 2 minutes`, `try
/// again at Nov 24th, 2026 3:10 PM`, `resets 3pm`.
fn until<Tz: chrono::TimeZone>(message: &str, now: &DateTime<Tz>) -> Option<DateTime<Utc>> {
    let utc = now.with_timezone(&Utc);
    let message = message.to_lowercase();
    let stamp = message.rsplit('|').next().and_then(|digits| digits.trim().parse::<i64>().ok());
    if let Some(at) = stamp.and_then(|seconds| DateTime::from_timestamp(seconds, 0)) {
        return Some(at);
    }
    if let Some((_, after)) = message.split_once("try again in ") {
        let words: Vec<&str> = after.split_whitespace().collect();
        let parts = words.chunks(2).map_while(|pair| {
            let number: i64 = pair.first()?.parse().ok()?;
            let unit = pair.get(1)?.trim_end_matches(|c: char| !c.is_alphabetic()).trim_end_matches('s');
            match unit {
                "day" => TimeDelta::try_days(number),
                "hour" => TimeDelta::try_hours(number),
                "minute" => TimeDelta::try_minutes(number),
                "second" => TimeDelta::try_seconds(number),
                _ => None,
            }
        });
        let wait = parts.map(Some).reduce(|sum, part| sum?.checked_add(&part?)).flatten();
        return wait.and_then(|wait| utc.checked_add_signed(wait));
    }
    let (_, after) = message.split_once("try again at ").or_else(|| message.split_once("resets "))?;
    let after = after.trim_end_matches('.').trim();
    let (day, clock) = match after.rsplit_once(", ").filter(|(day, _)| day.starts_with(|c: char| c.is_alphabetic())) {
        // `Nov 24th, 2026 3:10 PM`
        Some((day, rest)) => {
            let (year, clock) = rest.split_once(' ')?;
            let (month, number) = day.split_once(' ')?;
            let number = number.trim_end_matches(|c: char| c.is_alphabetic());
            (NaiveDate::parse_from_str(&format!("{month} {number} {year}"), "%b %d %Y").ok()?, clock)
        }
        None => (now.date_naive(), after),
    };
    let clock = clock.split(" (").next()?.trim().to_uppercase().replace(' ', "");
    let clock = if clock.contains(':') { clock } else { clock.replace("AM", ":00AM").replace("PM", ":00PM") };
    let time = NaiveTime::parse_from_str(&clock, "%I:%M%p").ok()?;
    let at = |day: NaiveDate| now.timezone().from_local_datetime(&day.and_time(time)).earliest();
    let named = at(day)?.with_timezone(&Utc);
    // A time of day in the past means tomorrow.
    let is_past = named < utc && day.num_days_from_ce() == now.date_naive().num_days_from_ce();
    if is_past { Some(at(day.succ_opt()?)?.with_timezone(&Utc)) } else { Some(named) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_says_when_it_ends_in_every_form() {
        let now = DateTime::parse_from_rfc3339("2026-11-24T10:00:00+01:00").unwrap();
        for (message, expected) in [
            ("Claude AI usage limit reached|1795600800", Some("2026-11-25T10:00:00+00:00")),
            ("You've hit your session limit · resets 3pm (Europe/Berlin)", Some("2026-11-24T14:00:00+00:00")),
            ("You've hit your session limit · resets 9:30am", Some("2026-11-25T08:30:00+00:00")),
            (
                "You've hit your usage limit. Upgrade to Pro or try again at Nov 27th, 2026 3:10 PM.",
                Some("2026-11-27T14:10:00+00:00"),
            ),
            (
                "You've hit your usage limit. Try again later, or try again in 3 hours 2 minutes.",
                Some("2026-11-24T12:02:00+00:00"),
            ),
            ("You've hit your usage limit.", None),
            ("You've hit your limit · resets soon", None),
        ] {
            assert_eq!(until(message, &now).map(|at| at.to_rfc3339()).as_deref(), expected, "{message}");
        }
    }

    #[test]
    fn what_programs_say_has_a_kind() {
        for (message, status, kind) in [
            ("You've hit your usage limit.", None, "usage-limit"),
            ("Not logged in · Please run /login", None, "logged-out"),
            ("Missing environment variable: `MOCK_KEY`.", None, "logged-out"),
            ("there is no such model", Some(404), "refused"),
            ("overloaded", Some(529), "server-failed"),
            ("slow down", Some(429), "rate-limited"),
            ("who are you?", Some(403), "logged-out"),
            ("Unexpected server error. Check server logs for details.", None, "program-failed"),
        ] {
            assert_eq!(error_of(message.to_owned(), status).kind(), kind, "{message}");
        }
    }
}
