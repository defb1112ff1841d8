//! Which part of a change to review.

use std::path::{Component, Path, PathBuf};

/// The files to review: all, or those at or below some paths.
#[derive(Debug, Default)]
pub struct Wanted(Vec<String>);

impl Wanted {
    /// Parses paths typed in `directory`, relative to `root`.
    pub fn of(paths: &[PathBuf], directory: &Path, root: Option<&Path>) -> Self {
        let prefix = root.and_then(|root| directory.strip_prefix(root).ok()).unwrap_or(Path::new(""));
        Self(paths.iter().map(|path| plain(&prefix.join(relative(path, root)))).collect())
    }

    pub(super) fn has(&self, path: &str) -> bool {
        let below = |wanted: &String| {
            wanted.is_empty()
                || path.strip_prefix(wanted.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        self.0.is_empty() || self.0.iter().any(below)
    }
}

fn relative<'p>(path: &'p Path, root: Option<&Path>) -> &'p Path {
    root.and_then(|root| path.strip_prefix(root).ok()).unwrap_or(path)
}

/// A path without `.` and `..`, with slashes.
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
