//! The workspace of a program: an empty directory, and the files that its arguments name. Removed after the call.

use std::io;
use std::path::PathBuf;

use tempfile::TempDir;

use crate::Request;

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
        std::fs::create_dir(place.work())?;
        // Programs search upwards for one, and the temporary directory is shared.
        std::fs::write(place.path(".env"), "")?;
        if kind.is_some() {
            // A blank file would select the program's own text.
            let system =
                if request.system.trim().is_empty() { "You answer what you are asked." } else { &request.system };
            std::fs::write(place.system(), system)?;
        }
        if let (Some(ProgramKind::Codex), Some(answer)) = (kind, &request.answer) {
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
