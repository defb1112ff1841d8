//! The settings of a debate, even if its record has none.

use std::sync::LazyLock;

use super::defaults::{default_settings, unnamed_agent};
use super::{AgentSettings, Debate, Settings};

/// The assumed settings of a debate that did not save any: the defaults, without named agents.
static ASSUMED: LazyLock<Settings> =
    LazyLock::new(|| Settings { agents: Vec::new(), judge: unnamed_agent(), ..default_settings() });

impl Debate {
    /// The recorded settings, or else the assumed ones, which are never saved or shown as recorded.
    pub fn known_settings(&self) -> &Settings {
        self.settings.as_ref().unwrap_or(&ASSUMED)
    }

    /// The kind of its limit, as named in reasons.
    pub fn limit_in_words(&self) -> &'static str {
        let settings = self.settings.as_ref();
        let (cost, calls) = (settings.and_then(Settings::max_cost), settings.and_then(Settings::max_calls));
        match (cost, calls) {
            (Some(_), Some(_)) => "the limit of cost and calls",
            (None, Some(_)) => "the limit of calls",
            // Limits from outside the record are not saved.
            (Some(_) | None, None) => "the cost limit",
        }
    }

    /// The agents in the record's settings, if it has any.
    pub fn agents(&self) -> &[AgentSettings] {
        self.settings.as_ref().map_or(&[], |settings| &settings.agents)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_recorded_is_assumed_and_names_nobody() {
        let older = r#"{"id": "deb-1", "problem": "p", "status": "completed", "rounds": []}"#;
        let mut debate: Debate = serde_json::from_str(older).unwrap();
        let assumed = debate.known_settings();
        assert_eq!((assumed.agents.len(), assumed.judge.id.as_str()), (0, ""));
        assert_eq!((debate.agents().len(), debate.known_settings().debate.rounds), (0, 3));
        assert!(!serde_json::to_string(&debate).unwrap().contains("settings"), "it is not saved");
        debate.settings = Some(default_settings());
        assert_eq!(debate.known_settings(), &default_settings());
        assert_eq!(debate.agents().len(), 3);
    }
}
