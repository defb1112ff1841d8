//! The files that tools may read: those below a directory, or those of a repository whose change is under review.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use glob::{MatchOptions, Pattern};
use serde_json::{Value, json};

use dialectic_base::secrets::{KnownKeys, holds_private_key};
use dialectic_record::change::ChangeSet;

use super::ToolError;
use super::sandbox::{AccessError, ContextDirectory, EntryKind};
use crate::git::{Blob, Git, GitError};

/// The maximum size of a file to search, in bytes. Larger files are skipped.
const FILE: u64 = 1 << 20;
/// The maximum number of bytes to search across all files.
const TOTAL: u64 = 64 << 20;
/// The number of files to read with one Git process.
const BATCH: usize = 64;

/// The maximum number of entries in a result: enough for source trees, but few enough that generated files cannot fill
/// the context.
pub(super) const ENTRIES: usize = 1000;

/// The maximum number of files to list in a plain directory.
const MOST_FILES: usize = 50_000;

/// Directories of generated or downloaded files, which do not describe the project.
pub(super) const UNTOLD: [&str; 6] = ["node_modules", "target", "dist", "build", "vendor", "__pycache__"];

#[derive(Debug)]
pub struct Source {
    /// The context directory, or the root of the repository.
    directory: ContextDirectory,
    repository: Option<Repository>,
}

/// A repository after a change. Symbolic links and submodules of a commit are left out.
#[derive(Debug)]
struct Repository {
    git: Git,
    /// The files by path; `None` for a file of the working tree.
    files: BTreeMap<String, Option<Blob>>,
}

impl Source {
    pub fn directory(directory: ContextDirectory) -> Self {
        Self { directory, repository: None }
    }

    /// The repository after a change: the files of the head commit as Git stores them, or the tracked and changed files
    /// of the working tree at `root`.
    ///
    /// # Errors
    ///
    /// Returns an error if Git fails.
    pub fn after(change: &ChangeSet, root: ContextDirectory, git: Git) -> Result<Self, GitError> {
        let files = if let Some(head) = &change.head {
            git.tree(head)?.into_iter().map(|(path, blob)| (path, Some(blob))).collect()
        } else {
            let changed = change.files.iter().map(|file| file.path.clone());
            git.tracked()?.into_iter().chain(changed).map(|path| (path, None)).collect()
        };
        Ok(Self { directory: root, repository: Some(Repository { git, files }) })
    }

    pub(super) fn keys(&self) -> &KnownKeys {
        self.directory.keys()
    }

    /// Returns at most `most` bytes of the file, and the size of the whole file.
    pub(super) fn read(&self, path: &str, most: u64) -> Result<(Vec<u8>, u64), AccessError> {
        let Some(Repository { git, files }) = &self.repository else { return self.directory.read_sized(path, most) };
        let inside = self.directory.checked(path, true)?;
        match files.get(&inside) {
            Some(None) => self.directory.read_sized(&inside, most),
            Some(Some(blob)) => {
                let stored = git.stored(&blob.hash).map_err(io::Error::other);
                let stored = stored.and_then(|bytes| bytes.ok_or_else(|| io::Error::other("it is too large")));
                let mut bytes = stored.map_err(|source| AccessError::Unreadable { source })?;
                let size = bytes.len() as u64;
                bytes.truncate(usize::try_from(most).unwrap_or(usize::MAX));
                Ok((bytes, size))
            }
            None if is_directory(files, &inside) => Err(AccessError::IsDirectory),
            None => Err(AccessError::NotFound),
        }
    }

    /// The first [`ENTRIES`] entries of a directory, and the total number. Paths are absolute in a plain directory, and
    /// relative to the root in a repository.
    pub(super) fn entries(&self, path: &str) -> Result<(Vec<Value>, usize), AccessError> {
        let Some(Repository { files, .. }) = &self.repository else { return entries(&self.directory, path) };
        let inside = self.directory.checked(path, false)?;
        if files.contains_key(&inside) {
            return Err(AccessError::NotDirectory);
        } else if !is_directory(files, &inside) {
            return Err(AccessError::NotFound);
        }
        let prefix = if inside.is_empty() { inside } else { inside + "/" };
        let below = files.keys().filter_map(|path| path.strip_prefix(&prefix));
        let entry = |rest: &str| match rest.split_once('/') {
            Some((name, _)) => (format!("{prefix}{name}"), EntryKind::Directory),
            None => (format!("{prefix}{rest}"), EntryKind::File),
        };
        let all: BTreeMap<String, EntryKind> = below.map(entry).collect();
        let shown = all.iter().take(ENTRIES);
        let shown = shown.map(|(path, kind)| json!({ "path": self.keys().redact(path), "type": kind }));
        Ok((shown.collect(), all.len()))
    }

    /// The sorted paths of all files. In a plain directory, links and hidden or generated files are omitted.
    pub fn paths(&self) -> Vec<String> {
        match &self.repository {
            Some(repository) => repository.files.keys().cloned().collect(),
            None => files(&self.directory),
        }
    }

    /// Passes the texts of the files at these paths to `visit`, which returns whether to continue. Skips files that are
    /// binary, large, or may contain secrets. Returns the number of paths examined.
    ///
    /// # Errors
    ///
    /// Returns an error if Git fails.
    pub fn visit(&self, paths: &[String], mut visit: impl FnMut(&str, &str) -> bool) -> Result<usize, GitError> {
        let (mut looked_at, mut total) = (0, 0);
        for batch in paths.chunks(BATCH) {
            for (path, bytes) in batch.iter().zip(self.all(batch)?) {
                looked_at += 1;
                let Some(bytes) = bytes.filter(|bytes| bytes.len() as u64 <= FILE && !bytes.contains(&0)) else {
                    continue;
                };
                total += bytes.len() as u64;
                let Ok(text) = String::from_utf8(bytes) else { continue };
                if holds_private_key(&text) {
                    continue;
                }
                if !visit(path, &self.keys().redact(&text)) || total > TOTAL {
                    return Ok(looked_at);
                }
            }
        }
        Ok(looked_at)
    }

    /// The bytes of each file; `None` if the file is unreadable or may contain secrets. A file that is larger than
    /// [`FILE`] is also `None`, or is cut off after one byte more than [`FILE`].
    fn all(&self, paths: &[String]) -> Result<Vec<Option<Vec<u8>>>, GitError> {
        let in_tree = |path: &String| self.directory.read_sized(path, FILE + 1).ok().map(|(bytes, _)| bytes);
        let Some(Repository { git, files }) = &self.repository else { return Ok(paths.iter().map(in_tree).collect()) };
        let is_shown = |path: &str, blob: &Blob| {
            blob.size.is_some_and(|size| size <= FILE) && self.directory.checked(path, true).is_ok()
        };
        let wanted = paths.iter().filter_map(|path| Some((path, files.get(path)?.as_ref()?)));
        let wanted: Vec<_> = wanted.filter(|(path, blob)| is_shown(path, blob)).collect();
        let hashes: Vec<&str> = wanted.iter().map(|(_, blob)| blob.hash.as_str()).collect();
        let stored = wanted.iter().map(|(path, _)| *path).zip(git.all_stored(&hashes)?);
        let mut stored: BTreeMap<&String, Option<Vec<u8>>> = stored.collect();
        let read = |path: &String| match files.get(path) {
            Some(Some(_)) => stored.remove(path).flatten(),
            Some(None) | None => in_tree(path),
        };
        Ok(paths.iter().map(read).collect())
    }
}

fn is_directory(files: &BTreeMap<String, Option<Blob>>, path: &str) -> bool {
    let prefix = format!("{path}/");
    path.is_empty() || files.range(prefix.clone()..).next().is_some_and(|(first, _)| first.starts_with(&prefix))
}

/// The paths that match at least one of the comma-separated globs; all paths without globs. A glob without `/` is
/// matched against the file name, otherwise against the whole path.
///
/// # Errors
///
/// Returns an error if a glob is invalid.
pub(super) fn matching(paths: Vec<String>, globs: &str) -> Result<Vec<String>, ToolError> {
    let malformed = |reason: String| ToolError::Malformed { name: "glob", reason };
    if globs.contains(['{', '}']) {
        return Err(malformed("braces are not supported; separate globs with commas".to_owned()));
    }
    let globs = globs.split(',').map(str::trim).filter(|glob| !glob.is_empty());
    let parsed = globs.map(|glob| Ok((glob.contains('/'), Pattern::new(glob.trim_start_matches("./"))?)));
    let globs: Vec<(bool, Pattern)> =
        parsed.collect::<Result<_, glob::PatternError>>().map_err(|error| malformed(error.to_string()))?;
    let options = MatchOptions { require_literal_separator: true, ..MatchOptions::default() };
    let matches = |path: &String| {
        let name = Path::new(path).file_name().map_or("".into(), |name| name.to_string_lossy());
        globs.iter().any(|(whole, glob)| glob.matches_with(if *whole { path } else { &name }, options))
    };
    Ok(if globs.is_empty() { paths } else { paths.into_iter().filter(matches).collect() })
}

/// The first [`ENTRIES`] files and directories by name, and the total number of names.
///
/// Follows links. Omits pipes, devices, and links that lead outside or nowhere.
fn entries(context: &ContextDirectory, path: &str) -> Result<(Vec<Value>, usize), AccessError> {
    let (directory, inside) = context.open_directory(path)?;
    let unreadable = |source| AccessError::Unreadable { source };
    let names = directory.entries().map_err(unreadable)?.map(|entry| entry.map(|entry| entry.file_name()));
    let mut names: Vec<_> = names.collect::<Result<_, _>>().map_err(unreadable)?;
    names.sort();
    let found = names.len();
    names.truncate(ENTRIES);
    let entry = |name: &Path| {
        let kind = context.kind(&inside.join(name))?;
        let path = context.path().join(&inside).join(name);
        Some(json!({ "path": context.keys().redact(&path.to_string_lossy()), "type": kind }))
    };
    Ok((names.iter().filter_map(|name| entry(Path::new(name))).collect(), found))
}

/// The sorted paths of at most [`MOST_FILES`] files. Omits links, and hidden or generated files.
fn files(directory: &ContextDirectory) -> Vec<String> {
    let (mut files, mut pending) = (Vec::new(), vec![String::from(".")]);
    while let Some(path) = pending.pop() {
        let Ok((handle, inside)) = directory.open_directory(&path) else { continue };
        for entry in handle.entries().into_iter().flatten().filter_map(Result::ok) {
            let (Ok(name), Ok(kind)) = (entry.file_name().into_string(), entry.file_type()) else { continue };
            let path = inside.join(&name).to_string_lossy().into_owned();
            if name.starts_with('.') || files.len() >= MOST_FILES {
                continue;
            }
            if kind.is_dir() && !UNTOLD.contains(&name.as_str()) {
                pending.push(path);
            } else if kind.is_file() {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}
