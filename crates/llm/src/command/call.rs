//! How to call a built-in program and read its output; its prompt, and the workspace of a call.

use std::fmt::Write as _;
use std::io;
use std::path::PathBuf;

use serde_json::Value;
use tempfile::TempDir;

use crate::{Listener, ModelError, Request, Turn};

use super::transcript::Transcript;

/// Queries a program with these arguments; the variable, if any, names an empty directory.
pub(super) type Ask<'a> = &'a dyn Fn(&[&str], Option<&str>) -> String;

/// How to call a built-in program and read its output.
#[derive(Debug)]
pub(super) struct Calls {
    pub(super) arguments: fn(&Request, &Workplace) -> Vec<String>,
    /// Reads one line of its output.
    pub(super) read: fn(&Value, &mut Transcript, &dyn Listener),
    /// Environment variables that switch features off.
    pub(super) environment: &'static [(&'static str, &'static str)],
    /// The environment variable for a request's output limit.
    pub(super) output_limit: Option<&'static str>,
    /// Whether it reads the answer's schema from a file.
    pub(super) takes_schemas: bool,
    /// Determines the login that it reports; the flag tells whether it has arguments before ours.
    pub(super) login: fn(Ask<'_>, bool) -> Login,
    /// The arguments that print its help.
    pub(super) help: &'static [&'static str],
    /// The arguments that keep tools, servers and the user's settings out of a call.
    pub(super) fence: &'static [&'static str],
    /// Returns the first switch against tools that has no effect.
    pub(super) stuck: fn(Ask<'_>) -> Option<String>,
}

/// How a program is logged in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Login {
    /// With a subscription, so calls are not billed.
    Subscription,
    /// With an account that pays for each call.
    Account,
    /// Not at all.
    Nobody,
    /// Unknown: it does not report its login, or the report does not apply to our calls.
    Unsaid,
}

/// The workspace of a call: an empty directory, and the files that its arguments name. Removed after the call.
#[derive(Debug)]
pub(super) struct Workplace {
    all: TempDir,
}

impl Workplace {
    /// Creates the workspace with the files that a built-in program reads; the user's own programs read none.
    pub(super) fn new(calls: Option<&Calls>, request: &Request) -> io::Result<Self> {
        let all = tempfile::Builder::new().prefix("dialectic-").tempdir()?;
        let place = Self { all };
        std::fs::create_dir(place.work())?;
        // Programs search parent directories for one, and the temporary directory is shared.
        std::fs::write(place.path(".env"), "")?;
        if calls.is_some() {
            // With a blank file the program would use its own text.
            let system =
                if request.system.trim().is_empty() { "You answer what you are asked." } else { &request.system };
            std::fs::write(place.system(), system)?;
        }
        if let Some(answer) = request.answer.as_ref().filter(|_| calls.is_some_and(|calls| calls.takes_schemas)) {
            std::fs::write(place.schema(), answer.schema.to_string())?;
        }
        Ok(place)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.all.path().join(name)
    }

    /// The empty working directory.
    pub(super) fn work(&self) -> PathBuf {
        self.path("work")
    }

    /// The file with the system text.
    pub(super) fn system(&self) -> PathBuf {
        self.path("system.md")
    }

    /// The file with the schema of the answer.
    pub(super) fn schema(&self) -> PathBuf {
        self.path("schema.json")
    }
}

/// The beginning of every prompt. Programs treat a leading `/` as their own command and a leading `!` as a shell
/// command.
const OPENING: &str = "Answer what follows.";

/// The text of a request, including the system text if `with_system` is set.
pub(super) fn text(request: &Request, with_system: bool) -> String {
    let mut text = format!("{OPENING}\n\n");
    if with_system && !request.system.trim().is_empty() {
        let _ = write!(text, "{}\n\n", request.system);
    }
    text.push_str(&request.prompt);
    for turn in &request.turns {
        let _ = match turn {
            Turn::Assistant { text: said, .. } => write!(text, "\n\n# Your answer so far\n\n{said}"),
            Turn::ToolResults(results) => results.iter().try_for_each(|result| {
                write!(text, "\n\n# The result of `{}`\n\n{}", result.tool_call_id, result.content)
            }),
            Turn::User(said) => write!(text, "\n\n# On that answer\n\n{said}"),
        };
    }
    text
}

/// Checks that a model's name cannot be mistaken for an option.
///
/// # Errors
///
/// It can, or it contains invalid characters.
pub(super) fn check_model(model: &str) -> Result<(), ModelError> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._:/@+[]-".contains(c);
    if model.starts_with(|c: char| c.is_ascii_alphanumeric()) && model.chars().all(is_plain) {
        return Ok(());
    }
    Err(ModelError::Unsendable { message: format!("`{model}` is not a valid model name for a program") })
}
