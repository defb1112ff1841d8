//! Keeps a change from influencing its own review. The configuration comes from the base revision, and the paths come
//! from the user.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use serde_json::Value;

use crate::error::{Error, ErrorCategory, UserError};
use dialectic_config::{DEFAULT_PATH, cache_directory};
use dialectic_engine::git::Git;
use dialectic_record::store::{Readers, write_atomically};

/// The directory of a project's prompts and roles, next to its configuration.
const PROMPTS: &str = "prompts";

/// Copies the configuration of `directory` at `commit`, with its prompts and roles, to a separate directory. Returns
/// the path of the copied configuration, or `None` if `commit` has none.
pub(super) fn config(git: &Git, commit: &str, directory: &Path) -> Result<Option<PathBuf>, Error> {
    let prefix = directory.strip_prefix(git.root()).unwrap_or(Path::new(""));
    let below = |name: &str| plain(&prefix.join(name));
    let stored = |path: &str| -> Result<Option<Vec<u8>>, Error> {
        let files = git.files(commit, path)?;
        let hash = files.into_iter().find(|(found, _)| found == path).map(|(_, hash)| hash);
        Ok(hash.map(|hash| git.stored(&hash)).transpose()?.flatten())
    };
    let Some(config) = stored(&below(DEFAULT_PATH))? else { return Ok(None) };
    let mut files = vec![(plain(Path::new(DEFAULT_PATH)), config)];
    for name in named(&files[0].1) {
        files.extend(stored(&below(&name))?.map(|bytes| (name, bytes)));
    }
    for (path, hash) in git.files(commit, &below(PROMPTS))? {
        let inside = Path::new(&path).strip_prefix(prefix).map(plain);
        if let (Ok(inside), Some(bytes)) = (inside, git.stored(&hash)?) {
            files.push((inside, bytes));
        }
    }
    let place = place(commit)?.join(prefix);
    for (name, bytes) in &files {
        let path = place.join(name);
        let unwritten = |source| unreadable(&path, source);
        fs::create_dir_all(path.parent().unwrap_or(&place)).map_err(unwritten)?;
        // Write atomically, because another review of this commit may be reading the file.
        write_atomically(&path, Readers::Owner, |out| out.write_all(bytes))?;
    }
    Ok(Some(place.join(DEFAULT_PATH.trim_start_matches("./"))))
}

/// The strings in a configuration that could be paths below its directory. The caller copies those that have a file.
fn named(config: &[u8]) -> BTreeSet<String> {
    fn collect(value: &Value, found: &mut BTreeSet<String>) {
        match value {
            Value::String(text) => {
                let path = Path::new(text);
                let is_below = path.components().all(|one| matches!(one, Component::Normal(_) | Component::CurDir));
                let path = plain(path);
                if is_below && !path.is_empty() {
                    found.insert(path);
                }
            }
            Value::Array(values) => values.iter().for_each(|value| collect(value, found)),
            Value::Object(values) => values.values().for_each(|value| collect(value, found)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
    let mut found = BTreeSet::new();
    collect(&serde_json::from_slice(config).unwrap_or_default(), &mut found);
    found
}

/// The directory for the copies from `commit`. It is never deleted here, because a resumed debate reads its prompts
/// from it.
fn place(commit: &str) -> Result<PathBuf, Error> {
    if let Some(cache) = cache_directory() {
        return Ok(cache.join("review").join(commit));
    }
    let kept = tempfile::Builder::new().prefix("dialectic-review-").tempdir();
    let path = kept.map_err(|source| unreadable(Path::new(commit), source))?;
    Ok(path.keep())
}

/// The files and directories to review, relative to the repository's root; all if empty.
#[derive(Debug, Default)]
pub struct Wanted(Vec<String>);

impl Wanted {
    /// Makes all `paths` relative to `root`. Paths that are already relative start from `directory`.
    ///
    /// # Errors
    ///
    /// Returns an error if a path is outside `root`.
    pub fn of(paths: &[PathBuf], directory: &Path, root: Option<&Path>) -> Result<Self, UserError> {
        let inside = |path: &PathBuf| {
            let Some(root) = root else { return Ok(plain(path)) };
            let place = plain(&directory.join(path));
            let inside = Path::new(&place).strip_prefix(plain(root)).map(plain);
            inside.map_err(|_| {
                UserError::input(format!("{} is outside the repository {}", path.display(), root.display()))
            })
        };
        paths.iter().map(inside).collect::<Result<_, _>>().map(Self)
    }

    pub(super) fn has(&self, path: &str) -> bool {
        self.0.is_empty() || self.0.iter().any(|wanted| is_at(path, wanted))
    }

    pub(super) fn paths(&self) -> &[String] {
        &self.0
    }
}

/// Whether `path` is the file or directory `place` or below it.
pub(super) fn is_at(path: &str, place: &str) -> bool {
    place.is_empty() || path.strip_prefix(place).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// A path as git writes it: with forward slashes, without `.` and `..`.
pub(super) fn plain(path: &Path) -> String {
    let mut names: Vec<String> = Vec::new();
    for component in path.components() {
        match component {
            Component::Normal(name) => names.push(name.to_string_lossy().into_owned()),
            Component::ParentDir => drop(names.pop()),
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
    names.join("/")
}

pub fn unreadable(path: &Path, source: io::Error) -> UserError {
    UserError::of(ErrorCategory::General, format!("cannot read {}", path.display())).with_source(source)
}
