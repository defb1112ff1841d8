//! Calls Git in a way that runs no other programs, since a repository and its configuration may be hostile.
//!
//! Git is only asked for names, hashes and stored bytes, with all filters disabled. Commands that could start external
//! diffs or conversions are not used: this program reads the working tree and computes the changes itself.

#![expect(clippy::missing_errors_doc, reason = "every command fails in the ways of `GitError`")]

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread;

use crate::access::Environment;

/// Arguments for every call. Most of them keep the configuration from starting hooks, monitors, pagers and remote
/// helpers; filters are disabled separately.
const HARDENED: [&str; 15] = [
    "--no-pager",
    "--no-replace-objects",
    "--literal-pathspecs",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "core.sshCommand=false",
    "-c",
    "core.alternateRefsCommand=false",
    "-c",
    "protocol.allow=never",
    "-c",
    "core.quotePath=false",
];
/// The only variables of the user's environment that Git sees.
const KEPT: [&str; 6] = ["PATH", "HOME", "XDG_CONFIG_HOME", "LANG", "SYSTEMROOT", "USERPROFILE"];
/// The maximum size, in bytes, of a file that [`Git::stored`] returns.
pub const MOST: u64 = 4 << 20;

#[derive(Debug, Clone)]
pub struct Git {
    root: PathBuf,
    variables: Vec<(&'static str, String)>,
}

#[derive(Debug, thiserror::Error)]
pub enum GitError {
    #[error("cannot run git")]
    NotStarted(#[source] io::Error),
    #[error("git failed: {}", .0.trim())]
    Refused(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub old: Mode,
    pub new: Mode,
    /// All zeros if the file does not exist on this side or Git has not hashed it, and empty for an untracked file. The
    /// same applies to `new_hash`.
    pub old_hash: String,
    pub new_hash: String,
    /// Whether the type or the permissions changed, for example by `chmod +x`. Also set if a tracked file was added or
    /// deleted.
    pub is_mode_new: bool,
    /// Differs from `path` only for a rename. Paths that are not UTF-8 contain replacement characters.
    pub old_path: String,
    pub path: String,
}

impl Entry {
    pub fn untracked(path: String, new: Mode) -> Self {
        Self {
            old: Mode::None,
            new,
            old_hash: String::new(),
            new_hash: String::new(),
            is_mode_new: false,
            old_path: path.clone(),
            path,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blob {
    pub hash: String,
    /// The length in bytes; `None` if the content is missing, as in a partial clone.
    pub size: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    None,
    File,
    Link,
    Submodule,
}

impl Mode {
    fn read(mode: &str) -> Self {
        match mode {
            "000000" => Self::None,
            "120000" => Self::Link,
            "160000" => Self::Submodule,
            _ => Self::File,
        }
    }
}

/// Returns the directory itself or its closest ancestor that contains `.git`. Ignores the configuration of the
/// repository.
pub fn root_of(directory: &Path) -> Option<PathBuf> {
    directory.ancestors().find(|above| above.join(".git").exists()).map(Path::to_owned)
}

impl Git {
    pub fn at(root: &Path, environment: &Environment) -> Self {
        let kept = |name: &&'static str| Some((*name, environment.get(name)?.to_owned()));
        Self { root: root.to_owned(), variables: KEPT.iter().filter_map(kept).collect() }
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    fn command(&self) -> Command {
        let mut command = Command::new("git");
        command.current_dir(&self.root).env_clear().envs(self.variables.iter().map(|(name, value)| (name, value)));
        // Git must find the repository itself to check its owner, but `core.worktree` must not move the working tree.
        command.env("GIT_WORK_TREE", &self.root);
        for (name, value) in [
            ("GIT_OPTIONAL_LOCKS", "0"),
            ("GIT_NO_LAZY_FETCH", "1"),
            ("GIT_ALLOW_PROTOCOL", "none"),
            ("GIT_TERMINAL_PROMPT", "0"),
            ("GIT_PAGER", "cat"),
            ("GIT_ATTR_NOSYSTEM", "1"),
            ("LC_ALL", "C"),
        ] {
            command.env(name, value);
        }
        command.args(HARDENED);
        command
    }

    /// Settings that disable the configured filters, which Git would run to see whether a file changed.
    fn without_filters(&self) -> Result<Vec<(String, &'static str)>, GitError> {
        let names = self.run(&["config", "--list", "-z", "--name-only"], &[])?;
        let names = names.split(|byte| *byte == 0);
        names.filter(|name| name.to_ascii_lowercase().starts_with(b"filter.")).filter_map(unset).collect()
    }

    fn output(&self, arguments: &[&str], input: &[u8], settings: &[(String, &str)]) -> Result<Output, GitError> {
        let mut command = self.command();
        command.env("GIT_CONFIG_COUNT", settings.len().to_string());
        for (place, (key, value)) in settings.iter().enumerate() {
            command.env(format!("GIT_CONFIG_KEY_{place}"), key).env(format!("GIT_CONFIG_VALUE_{place}"), value);
        }
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(GitError::NotStarted)?;
        let stdin = child.stdin.take();
        // Write in a separate thread, because Git may answer before it has read everything. Ignore a failed write: if
        // Git stops reading, it fails and reports why.
        thread::scope(|scope| {
            scope.spawn(move || stdin.is_some_and(|mut stdin| stdin.write_all(input).is_ok()));
            child.wait_with_output().map_err(GitError::NotStarted)
        })
    }

    fn run(&self, arguments: &[&str], input: &[u8]) -> Result<Vec<u8>, GitError> {
        self.run_with(arguments, input, &[])
    }

    fn run_with(&self, arguments: &[&str], input: &[u8], settings: &[(String, &str)]) -> Result<Vec<u8>, GitError> {
        let output = self.output(arguments, input, settings)?;
        if output.status.success() {
            return Ok(output.stdout);
        }
        Err(GitError::Refused(String::from_utf8_lossy(&output.stderr).into_owned()))
    }

    fn line(&self, arguments: &[&str]) -> Result<String, GitError> {
        Ok(String::from_utf8_lossy(&self.run(arguments, &[])?).trim().to_owned())
    }

    pub fn commit(&self, name: &str) -> Result<Option<String>, GitError> {
        let asked = format!("{name}^{{commit}}");
        match self.line(&["rev-parse", "--verify", "--quiet", "--end-of-options", &asked]) {
            Ok(commit) => Ok(Some(commit).filter(|commit| !commit.is_empty())),
            Err(GitError::Refused(said)) if said.trim().is_empty() || said.contains("Needed a single revision") => {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    pub fn merge_base(&self, one: &str, other: &str) -> Result<Option<String>, GitError> {
        match self.line(&["merge-base", one, other]) {
            Ok(commit) => Ok(Some(commit).filter(|commit| !commit.is_empty())),
            Err(GitError::Refused(said)) if said.trim().is_empty() => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub fn between(&self, base: &str, head: &str) -> Result<Vec<Entry>, GitError> {
        let options = ["diff-tree", "-r", "-z", "--raw", "--no-ext-diff", "--no-textconv", "--no-abbrev", "-M"];
        let arguments = [&options[..], &[base, head]].concat();
        Ok(entries(&self.run(&arguments, &[])?))
    }

    /// The tracked files that may differ from the commit `base`. The content of some may turn out to be unchanged.
    pub fn since(&self, base: &str) -> Result<Vec<Entry>, GitError> {
        let options = ["diff-index", "-z", "--raw", "--no-ext-diff", "--no-textconv", "--no-abbrev", "--no-renames"];
        let arguments = [&options[..], &["--ignore-submodules=dirty", base]].concat();
        Ok(entries(&self.run_with(&arguments, &[], &self.without_filters()?)?))
    }

    /// Lists the untracked files, except those that Git ignores.
    pub fn untracked(&self) -> Result<Vec<String>, GitError> {
        let listed = self.run(&["ls-files", "-z", "--others", "--exclude-standard"], &[])?;
        Ok(listed.split(|byte| *byte == 0).filter(|path| !path.is_empty()).map(text).collect())
    }

    pub fn tracks(&self, path: &str) -> Result<bool, GitError> {
        Ok(!self.run(&["ls-files", "-z", "--", path], &[])?.is_empty())
    }

    pub fn tracked(&self) -> Result<Vec<String>, GitError> {
        let listed = self.run(&["ls-files", "-z"], &[])?;
        Ok(listed.split(|byte| *byte == 0).filter(|path| !path.is_empty()).map(text).collect())
    }

    /// Lists the files of a commit as pairs of path and hash. `below` may be a file or a directory.
    pub fn files(&self, commit: &str, below: &str) -> Result<Vec<(String, String)>, GitError> {
        Ok(self.listed(&[commit, below])?.into_iter().map(|(path, blob)| (path, blob.hash)).collect())
    }

    /// The files of a commit by path. Omits symbolic links and submodules.
    pub fn tree(&self, commit: &str) -> Result<BTreeMap<String, Blob>, GitError> {
        Ok(self.listed(&[commit])?.into_iter().collect())
    }

    fn listed(&self, of: &[&str]) -> Result<Vec<(String, Blob)>, GitError> {
        let listed = self.run(&[&["ls-tree", "-r", "-z", "-l", "--end-of-options"], of].concat(), &[])?;
        let entry = |line: &[u8]| {
            let line = text(line);
            let (facts, path) = line.split_once('\t')?;
            let mut facts = facts.split_ascii_whitespace();
            let (mode, _, hash, size) = (facts.next()?, facts.next()?, facts.next()?, facts.next()?);
            // If the size is not a number, the object is missing from a partial clone.
            let blob = Blob { hash: hash.to_owned(), size: size.parse().ok() };
            (Mode::read(mode) == Mode::File).then(|| (path.to_owned(), blob))
        };
        Ok(listed.split(|byte| *byte == 0).filter_map(entry).collect())
    }

    /// Returns the contents in the order of `hashes`; `None` for a missing object.
    pub fn all_stored(&self, hashes: &[&str]) -> Result<Vec<Option<Vec<u8>>>, GitError> {
        if hashes.is_empty() {
            return Ok(Vec::new());
        }
        let asked = hashes.join("\n") + "\n";
        let printed = self.run(&["cat-file", "--batch"], asked.as_bytes())?;
        let mut rest = &printed[..];
        let mut next = || {
            let end = rest.iter().position(|byte| *byte == b'\n')?;
            let size = text(&rest[..end]).split_once(" blob ").and_then(|(_, size)| size.parse::<usize>().ok());
            rest = &rest[end + 1..];
            let bytes = rest.get(..size?)?.to_vec();
            rest = rest.get(size? + 1..).unwrap_or_default();
            Some(bytes)
        };
        Ok(hashes.iter().map(|_| next()).collect())
    }

    /// The content stored under a hash; `None` if it is larger than [`MOST`].
    pub fn stored(&self, hash: &str) -> Result<Option<Vec<u8>>, GitError> {
        let size = self.line(&["cat-file", "-s", hash])?;
        if !size.parse().is_ok_and(|size: u64| size <= MOST) {
            return Ok(None);
        }
        self.run(&["cat-file", "blob", hash], &[]).map(Some)
    }

    pub fn hash(&self, bytes: &[u8]) -> Result<String, GitError> {
        let hash = self.run(&["hash-object", "--no-filters", "--stdin"], bytes)?;
        Ok(String::from_utf8_lossy(&hash).trim().to_owned())
    }
}

/// Returns the override that disables a filter setting, and `None` for other settings. Fails if the name is not UTF-8,
/// since the filter would stay active.
fn unset(name: &[u8]) -> Option<Result<(String, &'static str), GitError>> {
    let Ok(name) = std::str::from_utf8(name) else {
        return Some(Err(GitError::Refused("a filter name in the repository's configuration is not UTF-8".to_owned())));
    };
    let lower = name.to_ascii_lowercase();
    let value = match lower.rsplit('.').next()? {
        "clean" | "smudge" | "process" => "",
        "required" => "false",
        _ => return None,
    };
    Some(Ok((name.to_owned(), value)))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Parses entries of the form `:100644 100644 <hash> <hash> M`, a NUL and the path, and for a rename the new path.
fn entries(listed: &[u8]) -> Vec<Entry> {
    let mut fields = listed.split(|byte| *byte == 0).map(text);
    let mut found = Vec::new();
    while let Some(facts) = fields.next().filter(|facts| facts.starts_with(':')) {
        let facts: Vec<&str> = facts[1..].split(' ').collect();
        let (&[old, new, old_hash, new_hash, status], Some(old_path)) = (facts.as_slice(), fields.next()) else {
            break;
        };
        let is_renamed = status.starts_with(['R', 'C']);
        let path = if is_renamed { fields.next() } else { None };
        found.push(Entry {
            old: Mode::read(old),
            new: Mode::read(new),
            is_mode_new: old != new,
            old_hash: old_hash.to_owned(),
            new_hash: new_hash.to_owned(),
            path: path.unwrap_or_else(|| old_path.clone()),
            old_path,
        });
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_git_lists_is_read_with_renames_and_strange_names() {
        let listed = b":100644 100644 aa bb M\0a.rs\0:100644 100644 aa aa R100\0old name\0new\nname\0:000000 160000 0 cc A\0sub\0";
        let read = entries(listed);
        let paths: Vec<_> = read.iter().map(|one| (one.old_path.as_str(), one.path.as_str(), one.new)).collect();
        assert_eq!(
            paths,
            [("a.rs", "a.rs", Mode::File), ("old name", "new\nname", Mode::File), ("sub", "sub", Mode::Submodule)]
        );
        assert!(entries(b"").is_empty());
    }
}
