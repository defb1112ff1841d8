//! What resolution finds: problems that forbid a run and warnings that do not, and the checks that several keys share.

use std::ops::RangeInclusive;

use dialectic_base::key_path::KeyPath;
use dialectic_record::debate::DebateSettings;

use super::error::{ConfigError, Problem};
use super::place::{Location, Place};
use super::shapes::{Whole, Written};
use super::suggest::{list, suggestion};

/// Collected instead of returned, so that everything is reported in one go.
#[derive(Debug, Default)]
pub(super) struct Diagnostics {
    pub(super) problems: Vec<Problem>,
    pub(super) warnings: Vec<String>,
    /// What is wrong and is no fault of a file.
    pub(super) refusal: Option<ConfigError>,
}

impl Diagnostics {
    pub(super) fn problem(&mut self, path: KeyPath, message: impl Into<String>) {
        self.problems.push(Problem { place: Place::Key { path, location: None }, message: message.into() });
    }

    pub(super) fn variable_problem(&mut self, name: &str, message: impl Into<String>) {
        self.problems.push(Problem { place: Place::Variable(name.to_owned()), message: message.into() });
    }

    /// An option of the command line cannot be what it is. The first one is kept.
    pub(super) fn argument(&mut self, option: &'static str, message: String) {
        self.refusal.get_or_insert(ConfigError::Argument { option, message });
    }

    /// Models cannot be chosen as they should be. The first fault is kept.
    pub(super) fn unmet(&mut self, message: String) {
        self.refusal.get_or_insert(ConfigError::Unmet { message });
    }

    pub(super) fn warn(&mut self, warning: impl Into<String>) {
        self.warnings.push(warning.into());
    }

    /// Gives every problem with a key its position, and sorts them as one reads the file.
    pub(super) fn locate(&mut self, find: impl Fn(&KeyPath) -> Option<Location>) {
        for problem in &mut self.problems {
            if let Place::Key { path, location } = &mut problem.place {
                *location = find(path);
            }
        }
        self.problems.sort_by_key(|problem| match problem.place {
            Place::Key { location, .. } => location,
            Place::Variable(_) => None,
        });
    }

    /// A whole number of at least `minimum`, or the default where there is none.
    pub(super) fn whole<T: TryFrom<u64>>(&mut self, path: KeyPath, raw: Option<Whole>, minimum: u64, default: T) -> T {
        let Some(raw) = raw else { return default };
        match raw.exact().filter(|number| *number >= minimum) {
            None => self.problem(path, format!("must be a whole number of at least {minimum}, not {raw}")),
            Some(number) => match T::try_from(number) {
                Ok(number) => return number,
                Err(_) => self.problem(path, format!("is too large: {raw}")),
            },
        }
        default
    }

    /// A number of rounds within [what is accepted](DebateSettings::MOST_ROUNDS), or the default where there is none.
    pub(super) fn rounds(&mut self, path: KeyPath, raw: Option<Whole>, default: u32) -> u32 {
        let rounds = self.whole(path.clone(), raw, 1, default);
        if rounds > DebateSettings::MOST_ROUNDS {
            self.problem(path, format!("must be at most {}, not {rounds}", DebateSettings::MOST_ROUNDS));
        }
        rounds
    }

    /// A number within bounds, or the default where there is none.
    pub(super) fn within(
        &mut self,
        path: KeyPath,
        raw: Option<f64>,
        bounds: &RangeInclusive<f64>,
        default: f64,
    ) -> f64 {
        let Some(number) = raw else { return default };
        if !bounds.contains(&number) {
            self.problem(path, format!("must be from {} to {}, not {}", bounds.start(), bounds.end(), Written(number)));
        }
        number
    }

    /// A number that is not negative.
    pub(super) fn not_negative(&mut self, path: KeyPath, number: f64) -> f64 {
        if number < 0.0 {
            self.problem(path, format!("must not be negative: {}", Written(number)));
        }
        number
    }

    /// A name that must be among `known`, or the default where there is none. `what` is what it is a name of.
    pub(super) fn known(
        &mut self,
        path: KeyPath,
        raw: Option<String>,
        what: &str,
        known: &[&str],
        default: &str,
    ) -> String {
        let Some(name) = raw else { return default.to_owned() };
        if !known.contains(&name.as_str()) {
            self.problem(path, unknown(what, &name, known));
        }
        name
    }
}

/// `unknown protocol …`, with the nearest and all known names.
pub(super) fn unknown(what: &str, name: &str, known: &[&str]) -> String {
    let nearest = suggestion(name, known.iter().copied());
    if nearest.starts_with("(known") {
        format!("unknown {what} `{name}` {nearest}")
    } else {
        format!("unknown {what} `{name}` {nearest}; known: {}", list(known.iter().copied()))
    }
}
