//! Interprets the error messages of programs.

use chrono::{DateTime, Datelike as _, Local, NaiveDate, NaiveTime, TimeDelta, Utc};

use crate::ModelError;

/// Phrases of programs whose subscription limit is reached. Applied only to messages that a program calls failures,
/// never to answers.
const LIMITS: [&str; 6] =
    ["usage limit", "you've hit your", "session limit reached", "weekly limit", "quota exceeded", "exhausted your"];
/// Phrases of programs without a login.
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

/// The error that corresponds to a program's message and the HTTP status in it.
pub(super) fn error(message: String, status: Option<u16>) -> ModelError {
    let lower = message.to_lowercase();
    let has = |words: &[&str]| words.iter().any(|words| lower.contains(words));
    // A server uses the same words for its limit per minute.
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

/// When a program answers again, from its message: `…|1763900400`, `try again in 3 hours 2 minutes`,
/// `try again at Nov 24th, 2026 3:10 PM`, `resets 3pm`.
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
    // A time of day that has passed means tomorrow.
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
            let found = until(message, &now).map(|at| at.to_rfc3339());
            assert_eq!(found.as_deref(), expected, "{message}");
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
            assert_eq!(error(message.to_owned(), status).kind(), kind, "{message}");
        }
    }
}
