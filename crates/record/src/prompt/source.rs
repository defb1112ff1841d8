//! The user's prompt files.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use dialectic_base::encoding::{NotUtf8, decode};

/// Why a prompt file cannot be used.
#[derive(Debug, Error)]
pub enum PromptFileError {
    #[error("prompt file {} does not exist", .0.display())]
    Missing(PathBuf),
    /// It is a directory or a device.
    #[error("{} is not a file", .0.display())]
    NotAFile(PathBuf),
    /// It cannot be read.
    #[error("prompt file {} cannot be read", path.display())]
    Unreadable {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// It is not UTF-8 text.
    #[error("prompt file {} is not UTF-8, it looks like {}", path.display(), fault.seems)]
    NotUtf8 { path: PathBuf, fault: NotUtf8 },
    /// It contains only white space.
    #[error("prompt file {} is blank", .0.display())]
    Blank(PathBuf),
}

/// The text of a prompt file, without a byte order mark and outer white space.
///
/// # Errors
/// The file is missing, not a file, unreadable, not UTF-8 or blank; each names `path`.
pub fn read_prompt(path: &Path) -> Result<String, PromptFileError> {
    Ok(read_whole_prompt(path)?.trim().to_owned())
}

/// The text of a prompt file unchanged, without a byte order mark.
///
/// # Errors
/// As for [`read_prompt`].
pub fn read_whole_prompt(path: &Path) -> Result<String, PromptFileError> {
    let path = || path.to_owned();
    let failed = |source: io::Error| match source.kind() {
        io::ErrorKind::NotFound => PromptFileError::Missing(path()),
        _ => PromptFileError::Unreadable { path: path(), source },
    };
    // Opening a pipe would wait for a writer, so check first.
    if !fs::metadata(path()).map_err(failed)?.is_file() {
        return Err(PromptFileError::NotAFile(path()));
    }
    let bytes = fs::read(path()).map_err(failed)?;
    let text = decode(&bytes).map_err(|fault| PromptFileError::NotUtf8 { path: path(), fault })?;
    if text.trim().is_empty() { Err(PromptFileError::Blank(path())) } else { Ok(text.into()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(content: &[u8]) -> Result<String, PromptFileError> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("own.md");
        fs::write(&path, content).unwrap();
        let read = read_prompt(&path);
        if let Err(error) = &read {
            assert!(error.to_string().contains("own.md"), "{error}");
        }
        read
    }

    #[test]
    fn a_file_is_read_without_what_surrounds_its_text() {
        assert_eq!(read("\u{feff}\nBe brief.\n\nBe kind.\n".as_bytes()).unwrap(), "Be brief.\n\nBe kind.");
    }

    #[test]
    fn blank_and_binary_files_are_refused() {
        assert!(matches!(read(b" \n\t\n").unwrap_err(), PromptFileError::Blank(_)));
        assert!(matches!(read("\u{feff}".as_bytes()).unwrap_err(), PromptFileError::Blank(_)));
        assert!(matches!(read(b"a\xff").unwrap_err(), PromptFileError::NotUtf8 { .. }));
    }

    #[test]
    fn what_is_no_file_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let missing = directory.path().join("none.md");
        assert!(matches!(read_prompt(&missing).unwrap_err(), PromptFileError::Missing(path) if path == missing));
        let error = read_prompt(directory.path()).unwrap_err();
        assert!(matches!(error, PromptFileError::NotAFile(path) if path == directory.path()));
        let below = directory.path().join("file");
        fs::write(&below, "x").unwrap();
        let error = read_prompt(&below.join("own.md")).unwrap_err();
        assert!(matches!(error, PromptFileError::Unreadable { .. }), "{error}");
    }
}
