//! How a built-in program is called and read, its prompt, and the workspace of a call.

use std::fmt::Write as _;
use std::io;
use std::path::PathBuf;

use serde_json::Value;
use tempfile::TempDir;

use crate::{Listener, ModelError, Request, Turn};

use super::transcript::Transcript;

/// Answers a query about a program: its arguments, and a variable for an empty directory, if any.
pub(super) type Ask<'a> = &'a dyn Fn(&[&str], Option<&str>) -> String;

/// How a built-in program is called and read.
#[derive(Debug)]
pub(super) struct Calls {
    pub(super) arguments: fn(&Request, &Workplace) -> Vec<String>,
    /// Reads a line of its output.
    pub(super) read: fn(&Value, &mut Transcript, &dyn Listener),
    /// The variables that switch features off for every call.
    pub(super) environment: &'static [(&'static str, &'static str)],
    /// The variable with the output limit of a request.
    pub(super) output_limit: Option<&'static str>,
    /// Whether it reads the schema of the answer from a file.
    pub(super) takes_schemas: bool,
    /// The login that it reports, given whether it has arguments before ours.
    pub(super) login: fn(Ask<'_>, bool) -> Login,
    /// The arguments that print its help.
    pub(super) help: &'static [&'static str],
    /// The arguments that keep tools, servers and the user's settings from a call.
    pub(super) fence: &'static [&'static str],
    /// The first switch against tools that has no effect.
    pub(super) stuck: fn(Ask<'_>) -> Option<String>,
}

/// The login of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Login {
    /// A subscription: its calls are not billed.
    Subscription,
    /// An account that pays for each call.
    Account,
    /// No user is logged in.
    Nobody,
    /// The program does not report its login, or its report does not apply to our calls.
    Unsaid,
}

/// The workspace of a call: an empty directory, and the files that its arguments name. Removed after the call.
#[derive(Debug)]
pub(super) struct Workplace {
    all: TempDir,
}

impl Workplace {
    /// Creates it with the files that a built-in program reads; the user's own programs read none.
    pub(super) fn new(calls: Option<&Calls>, request: &Request) -> io::Result<Self> {
        let all = tempfile::Builder::new().prefix("dialectic-").tempdir()?;
        let place = Self { all };
        std::fs::create_dir(place.work())?;
        // Programs search upwards for one, and the temporary directory is shared.
        std::fs::write(place.path(".env"), "")?;
        if calls.is_some() {
            // A blank file would select the program's own text.
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

/// The beginning of every text. Programs treat a leading `/` as their own command and `!` as a shell command.
const OPENING: &str = "Answer what follows.";

/// The text of a request; `with_system` is whether it includes the system text.
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

/// Checks that a model's name cannot be read as an option.
///
/// # Errors
/// It can, or it contains invalid characters.
pub(super) fn check_model(model: &str) -> Result<(), ModelError> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._:/@+[]-".contains(c);
    if model.starts_with(|c: char| c.is_ascii_alphanumeric()) && model.chars().all(is_plain) {
        return Ok(());
    }
    Err(ModelError::Unsendable { message: format!("`{model}` is not a valid model name for a program") })
}
