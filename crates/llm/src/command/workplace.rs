//! The workspace of a program: an empty directory, and the files that its arguments name. Removed after the call.

use std::io;
use std::path::PathBuf;

use tempfile::TempDir;

use crate::Request;

use super::gemini;
use super::presets::ProgramKind;

/// The directories of one call.
#[derive(Debug)]
pub(super) struct Workplace {
    all: TempDir,
}

impl Workplace {
    /// Creates them with the files that a program of this kind reads; the user's own programs read none.
    pub(super) fn new(kind: Option<ProgramKind>, request: &Request) -> io::Result<Self> {
        let all = tempfile::Builder::new().prefix("dialectic-").tempdir()?;
        let place = Self { all };
        for directory in [place.work(), place.home()] {
            std::fs::create_dir(directory)?;
        }
        // Programs search upwards for one, and the temporary directory is shared.
        std::fs::write(place.path(".env"), "")?;
        if kind.is_some() {
            // A blank file would select the program's own text.
            let system =
                if request.system.trim().is_empty() { "You answer what you are asked." } else { &request.system };
            std::fs::write(place.system(), system)?;
        }
        match (kind, &request.answer) {
            (Some(ProgramKind::Codex), Some(answer)) => std::fs::write(place.schema(), answer.schema.to_string())?,
            (Some(ProgramKind::Gemini), _) => {
                std::fs::create_dir(place.home().join(".gemini"))?;
                std::fs::write(place.home().join(".gemini").join("settings.json"), gemini::settings())?;
            }
            (Some(ProgramKind::Claude | ProgramKind::Codex | ProgramKind::Opencode) | None, _) => {}
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

    /// A substitute home directory for the program's files.
    pub(super) fn home(&self) -> PathBuf {
        self.path("home")
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
