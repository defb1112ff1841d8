//! Findings of the resolution: problems that prevent a run, and warnings.

use dialectic_base::key_path::KeyPath;

use super::error::{ConfigError, ConfigProblem};
use super::locate::{Location, ProblemSubject};
use super::suggest::{list, suggestion};

/// Why a value cannot be used, and how to fix it.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) message: String,
    /// Naming the provider as well would help.
    pub(super) needs_provider: bool,
}

impl From<String> for Fault {
    fn from(message: String) -> Self {
        Self { message, needs_provider: false }
    }
}

/// Collects findings so that all are reported together.
#[derive(Debug, Default)]
pub(super) struct Diagnostics {
    pub(super) problems: Vec<ConfigProblem>,
    pub(super) warnings: Vec<String>,
    /// An error that does not concern a file.
    pub(super) refusal: Option<ConfigError>,
}

impl Diagnostics {
    pub(super) fn problem(&mut self, path: KeyPath, message: impl Into<String>) {
        self.problems
            .push(ConfigProblem { subject: ProblemSubject::Key { path, location: None }, message: message.into() });
    }

    pub(super) fn variable_problem(&mut self, name: &str, message: impl Into<String>) {
        self.problems
            .push(ConfigProblem { subject: ProblemSubject::Variable(name.to_owned()), message: message.into() });
    }

    /// Reports an unusable command-line option. Keeps only the first.
    pub(super) fn argument(&mut self, option: &'static str, fault: impl Into<Fault>) {
        let Fault { message, needs_provider } = fault.into();
        self.refusal.get_or_insert(if needs_provider {
            ConfigError::NeedsProvider { option, message }
        } else {
            ConfigError::Argument { option, message }
        });
    }

    /// Reports a model that cannot be chosen as requested. Keeps the first one.
    pub(super) fn unmet(&mut self, message: String) {
        self.refusal.get_or_insert(ConfigError::Unmet(message));
    }

    pub(super) fn warn(&mut self, warning: impl Into<String>) {
        self.warnings.push(warning.into());
    }

    /// Gives every problem with a key its position, and sorts them in the order of the file.
    pub(super) fn located(mut self, find: impl Fn(&KeyPath) -> Option<Location>) -> Vec<ConfigProblem> {
        for problem in &mut self.problems {
            if let ProblemSubject::Key { path, location } = &mut problem.subject {
                *location = find(path);
            }
        }
        self.problems.sort_by_key(|problem| match problem.subject {
            ProblemSubject::Key { location, .. } => location,
            ProblemSubject::Variable(_) => None,
        });
        self.problems
    }

    /// Reports a name that is not in `known`. `what` names the kind of thing.
    pub(super) fn check_name(&mut self, path: KeyPath, name: Option<&str>, what: &str, known: &[&str]) {
        if let Some(name) = name.filter(|name| !known.contains(name)) {
            self.problem(path, unknown(what, name, known));
        }
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
