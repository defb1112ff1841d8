//! Files that are replaced as a whole or not at all.

use std::io::Write;
use std::path::Path;

use super::StoreError;

/// Replaces the file at `path` by what `write` writes: a temporary file beside it, synced to disk, then renamed.
///
/// # Errors
/// When any step fails; the file is then as it was.
pub fn write_atomically(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> std::io::Result<()>,
) -> Result<(), StoreError> {
    let failed = |source| StoreError::Write { path: path.to_owned(), source };
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut builder = tempfile::Builder::new();
    builder.prefix(".dialectic-").suffix(".tmp");
    // Temporary files are private by default; the debate is to be as readable as any file of the user's.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o644));
    let temporary = builder.tempfile_in(directory).map_err(failed)?;
    let mut buffered = std::io::BufWriter::with_capacity(64 * 1024, temporary);
    write(&mut buffered).map_err(failed)?;
    let temporary = buffered.into_inner().map_err(|error| failed(error.into_error()))?;
    temporary.as_file().sync_all().map_err(failed)?;
    temporary.persist(path).map_err(|error| failed(error.error))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_write_leaves_the_old_file_and_nothing_beside_it() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("state.json");
        write_atomically(&path, |out| out.write_all(b"old")).unwrap();
        let failed = write_atomically(&path, |out| {
            out.write_all(b"half")?;
            Err(std::io::Error::other("disk full"))
        });
        assert!(failed.is_err());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "old");
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
    }
}
