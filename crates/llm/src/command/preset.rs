//! How to call a built-in program and read its output.

use std::io;
use std::path::PathBuf;

use serde_json::Value;
use tempfile::TempDir;

use crate::{Listener, Request};

use super::transcript::Transcript;

/// Queries a program with these arguments. The named variable, if any, is set to an empty directory.
pub(super) type Ask<'a> = &'a dyn Fn(&[&str], Option<&str>) -> String;

#[derive(Debug)]
pub struct ProgramPreset {
    /// Also the provider's name in configurations.
    pub name: &'static str,
    /// The versions that passed `tests/vendors/run`; any other version causes a warning.
    pub tested: &'static [&'static str],
    /// Versions that must not be called, each with the reason.
    pub unsafe_versions: &'static [(&'static str, &'static str)],
    pub default_model: &'static str,
    /// The provider whose model list applies.
    pub vendor: &'static str,
    /// The maximum number of billed requests per call, including the program's own retries.
    pub requests: u32,
    /// The maximum number of bytes that the program adds to our prompt.
    pub overhead: usize,
    pub(super) arguments: fn(&Request, &Workplace) -> Vec<String>,
    pub(super) read: fn(&Value, &mut Transcript, &dyn Listener),
    pub(super) environment: &'static [(&'static str, &'static str)],
    /// The environment variable for a request's output limit; `None` if the program has none.
    pub(super) output_limit: Option<&'static str>,
    /// Whether the program reads the answer's schema from a file.
    pub(super) takes_schemas: bool,
    /// The flag tells whether the user configured extra arguments.
    pub(super) login: fn(Ask<'_>, bool) -> Login,
    pub(super) help: &'static [&'static str],
    /// The arguments that keep tools, MCP servers and the user's settings out of a call.
    pub(super) fence: &'static [&'static str],
    /// Returns the first tool-disabling switch that has no effect.
    pub(super) stuck: fn(Ask<'_>) -> Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Login {
    /// A subscription covers the calls, so they are not billed.
    Subscription,
    /// An account pays for each call.
    Account,
    Nobody,
    /// Unknown: the program does not report its login, or the report does not apply to our calls.
    Unsaid,
}

/// The workspace of a call: an empty working directory, and the files that the program's arguments name. Removed after
/// the call.
#[derive(Debug)]
pub(super) struct Workplace {
    all: TempDir,
}

impl Workplace {
    /// Creates the directories and, for a built-in program, the files that its arguments name.
    pub(super) fn new(preset: Option<&ProgramPreset>, request: &Request) -> io::Result<Self> {
        let all = tempfile::Builder::new().prefix("dialectic-").tempdir()?;
        let place = Self { all };
        std::fs::create_dir(place.work())?;
        // Programs search parent directories for a `.env`, and anyone can put one into the temporary directory.
        std::fs::write(place.path(".env"), "")?;
        if preset.is_some() {
            // With a blank file, the program would use its own system text.
            let system =
                if request.system.trim().is_empty() { "You answer what you are asked." } else { &request.system };
            std::fs::write(place.system(), system)?;
        }
        if let Some(answer) = request.answer.as_ref().filter(|_| preset.is_some_and(|preset| preset.takes_schemas)) {
            std::fs::write(place.schema(), answer.schema.to_string())?;
        }
        Ok(place)
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.all.path().join(name)
    }

    pub(super) fn work(&self) -> PathBuf {
        self.path("work")
    }

    pub(super) fn system(&self) -> PathBuf {
        self.path("system.md")
    }

    pub(super) fn schema(&self) -> PathBuf {
        self.path("schema.json")
    }
}
