//! Time limits that follow from the settings.

use std::time::Duration;

use crate::debate::DebateSettings;

/// A judge reads everything that was said, so its attempts are never cut shorter than this.
const SHORTEST_JUDGE_ATTEMPT: Duration = Duration::from_mins(3);

/// Whose call it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Speaker {
    /// A debater.
    Agent,
    /// The judge.
    Judge,
}

/// The limit of one attempt of a call: `callTimeout`, for the judge at least three minutes.
#[must_use]
pub fn attempt_timeout(debate: &DebateSettings, speaker: Speaker) -> Duration {
    let configured = Duration::from_millis(debate.call_timeout);
    match speaker {
        Speaker::Agent => configured,
        Speaker::Judge => configured.max(SHORTEST_JUDGE_ATTEMPT),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::default_settings;

    #[test]
    fn the_judge_gets_three_minutes_or_more() {
        let mut debate = default_settings().debate;
        assert_eq!(attempt_timeout(&debate, Speaker::Agent), Duration::from_mins(2));
        assert_eq!(attempt_timeout(&debate, Speaker::Judge), Duration::from_mins(3));
        debate.call_timeout = 200_000;
        assert_eq!(attempt_timeout(&debate, Speaker::Judge), Duration::from_secs(200));
    }
}
