//! Where a program works: an empty directory, and beside it the files that its arguments name. All of it goes with the
//! call.

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
    /// Makes them, with the files that a program of this kind reads; one of the user's own reads none.
    pub(super) fn new(kind: Option<ProgramKind>, request: &Request) -> io::Result<Self> {
        let all = tempfile::Builder::new().prefix("dialectic-").tempdir()?;
        let place = Self { all };
        for directory in [place.work(), place.home()] {
            std::fs::create_dir(directory)?;
        }
        // Programs look upwards for one and take the first, and the temporary directory is everybody's.
        std::fs::write(place.path(".env"), "")?;
        if kind.is_some() {
            // A blank file would mean the program's own text.
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

    /// The empty directory that the program starts in.
    pub(super) fn work(&self) -> PathBuf {
        self.path("work")
    }

    /// A home in place of the user's, for what a program keeps.
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
