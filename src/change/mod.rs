//! A change to review, from a repository or from a given diff.
//!
//! A change may be hostile, so nothing in it is executed: git runs no programs for it, files are read through the
//! sandbox, and files that may hold secrets are withheld. All withheld files are listed with the reason.

mod base;
mod diff;
mod earlier;
mod parts;
mod uses;

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use crate::error::{Error, UserError};
use dialectic_base::encoding::decode;
use dialectic_base::secrets::{KnownKeys, holds_private_key, is_in_git, may_hold_secrets};
use dialectic_engine::access::{Environment, known_keys};
use dialectic_engine::git::{self, Entry, Git, GitError, Mode};
use dialectic_engine::tools::{AccessError, ContextDirectory};
use dialectic_record::change::ChangeSet;
use dialectic_record::settings::Settings;

pub use base::{Wanted, unreadable};
pub use earlier::unseen;
pub use parts::{Change, Found};

use base::{is_at, plain};
use diff::{FileDiff, FileKind};
use parts::{Files, ONLY_PERMISSIONS, assemble};

/// Branches to compare with, in order of preference.
const BASES: [&str; 5] = [
    "refs/remotes/origin/HEAD",
    "refs/remotes/origin/main",
    "refs/remotes/origin/master",
    "refs/heads/main",
    "refs/heads/master",
];
/// The minimum number of hexadecimal digits for an abbreviated hash to identify a file.
const TELLING: usize = 7;
#[derive(Debug)]
pub struct Repository {
    git: Git,
    base: String,
    /// The head commit; `None` for the working tree.
    head: Option<String>,
    of: String,
}

fn of_pipe() -> ChangeSet {
    ChangeSet { of: "a diff from standard input".to_owned(), ..ChangeSet::default() }
}

impl Repository {
    /// Prepares to compare `head`, or else the working tree, with the commit where it branched off `base`. Uses the
    /// repository that contains `directory`.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no repository, no such commit or no common ancestor, or git fails.
    pub fn open(
        directory: &Path,
        base: Option<&str>,
        head: Option<&str>,
        environment: &Environment,
    ) -> Result<Self, Error> {
        let no_repository = || {
            UserError::input("not in a git repository")
                .with_hint("run this in a repository, or pipe in a diff: git diff main | dialectic review")
        };
        let git = Git::at(&git::root_of(directory).ok_or_else(no_repository)?, environment);
        let commit = |name: &str| -> Result<String, Error> {
            let no_commit = || {
                UserError::input(format!("`{name}` is not a commit in this repository"))
                    .with_hint("you may have to fetch a remote branch first: git fetch")
            };
            Ok(git.commit(name)?.ok_or_else(no_commit)?)
        };
        let end = match head {
            Some(head) => commit(head)?,
            None => git.commit("HEAD")?.ok_or_else(|| {
                UserError::input("the repository has no commits yet").with_hint("create a commit first")
            })?,
        };
        let (name, start) = if let Some(base) = base {
            (base.to_owned(), commit(base)?)
        } else {
            let mut found = None;
            for name in BASES {
                found = found.or(git.commit(name)?.map(|commit| (short(name), commit)));
            }
            found.ok_or_else(|| {
                UserError::input(
                    "there is no branch to compare with: neither origin nor this repository has a main or master",
                )
                .with_hint("specify one: dialectic review --base <branch or commit>")
            })?
        };
        let unrelated = || {
            UserError::input(format!("{name} and {} have no common ancestor", head.unwrap_or("HEAD")))
                .with_hint("in a shallow clone, fetch the full history: git fetch --unshallow")
        };
        let base = git.merge_base(&start, &end)?.ok_or_else(unrelated)?;
        let of = format!("{name} and {}", head.unwrap_or("the working tree"));
        Ok(Self { git, base, head: head.map(|_| end), of })
    }

    pub fn root(&self) -> &Path {
        self.git.root()
    }

    /// Copies the configuration of `directory` at the base, with its prompts, to a separate directory. Returns `None`
    /// if the base has no configuration.
    ///
    /// # Errors
    ///
    /// Returns an error if Git cannot read the configuration, or the copy cannot be written.
    pub fn base_config(&self, directory: &Path) -> Result<Option<PathBuf>, Error> {
        base::config(&self.git, &self.base, directory)
    }

    /// Whether a file in the working tree does not belong to the change: it is outside the repository, untracked, or
    /// unchanged since the base.
    ///
    /// # Errors
    ///
    /// Returns an error if Git fails.
    pub fn is_unchanged(&self, path: &Path) -> Result<bool, Error> {
        let Ok(inside) = path.strip_prefix(self.git.root()) else { return Ok(true) };
        if path.is_symlink() {
            return Ok(false);
        }
        let inside = plain(inside);
        let of = |commit: &str| {
            Ok::<_, GitError>(self.git.files(commit, &inside)?.into_iter().find(|(path, _)| *path == inside))
        };
        let (base, head) = (of(&self.base)?, of(self.head.as_deref().unwrap_or("HEAD"))?);
        let Some((_, hash)) = base else { return Ok(head.is_none() && !self.git.tracks(&inside)?) };
        Ok(std::fs::read(path).is_ok_and(|bytes| self.git.hash(&bytes).is_ok_and(|now| now == hash)))
    }

    pub fn is_untracked(&self, path: &Path) -> bool {
        let Ok(inside) = path.strip_prefix(self.git.root()) else { return true };
        let inside = plain(inside);
        let stored = self.git.files("HEAD", &inside).is_ok_and(|files| files.is_empty());
        stored && !path.is_symlink() && self.git.tracks(&inside).is_ok_and(|tracks| !tracks)
    }

    /// Checks that each wanted path exists at the base or the head, in the working tree if that is under review, or in
    /// the `earlier` change.
    ///
    /// # Errors
    ///
    /// Returns an error if a path does not exist, or Git fails.
    pub fn check_paths(&self, wanted: &Wanted, earlier: Option<&ChangeSet>) -> Result<(), Error> {
        for place in wanted.paths() {
            let was_changed = earlier.is_some_and(|earlier| earlier.files.iter().any(|file| is_at(&file.path, place)));
            if !was_changed && !self.has(place)? {
                let missing = UserError::input(format!("there is no file or directory `{place}` to review"));
                return Err(missing.with_hint("paths are relative to the working directory").into());
            }
        }
        Ok(())
    }

    fn has(&self, path: &str) -> Result<bool, GitError> {
        let is_there = self.head.is_none() && self.git.root().join(path).symlink_metadata().is_ok();
        let is_in = |commit: &str| self.git.files(commit, path).map(|files| !files.is_empty());
        Ok(is_there || is_in(&self.base)? || is_in(self.head.as_deref().unwrap_or("HEAD"))?)
    }

    /// Reads the change in the `wanted` files. A change in the working tree includes files that git neither tracks nor
    /// ignores, unless `is_tracked_only`, but never those in the debates directory `own`.
    ///
    /// # Errors
    ///
    /// Returns an error if Git or the file system fails, or none of the change can be shown.
    pub fn change(
        &self,
        wanted: &Wanted,
        own: &Path,
        is_tracked_only: bool,
        settings: &Settings,
        environment: &Environment,
    ) -> Result<Found, Error> {
        let (mut entries, mut untracked) = match &self.head {
            Some(head) => (self.git.between(&self.base, head)?, Vec::new()),
            None => (self.since_base()?, self.git.untracked()?),
        };
        // Debate records are not part of a change.
        let own = own.strip_prefix(self.git.root()).map(plain).unwrap_or_default();
        untracked.retain(|path| own.is_empty() || !Path::new(path).starts_with(&own));
        if !is_tracked_only {
            self.add(std::mem::take(&mut untracked), &mut entries);
        }
        entries.retain(|entry| wanted.has(&entry.path) || wanted.has(&entry.old_path));
        let tree = Tree::of(&self.git, environment, settings)?;
        let mut files = Files::default();
        for entry in &entries {
            self.read(entry, &tree, &mut files)?;
        }
        untracked.retain(|path| wanted.has(path));
        for path in &untracked {
            files.leave(path, "not tracked by git");
        }
        let set = ChangeSet {
            of: self.of.clone(),
            base: Some(self.base.clone()),
            head: self.head.clone(),
            ..ChangeSet::default()
        };
        assemble(files, set, settings, environment)
    }

    fn add(&self, untracked: Vec<String>, entries: &mut Vec<Entry>) {
        for path in untracked {
            let new = if path.ends_with('/') {
                Mode::Submodule
            } else if self.git.root().join(&path).is_symlink() {
                Mode::Link
            } else {
                Mode::File
            };
            // A file that git no longer tracks is already listed, as deleted.
            if let Some(entry) = entries.iter_mut().find(|entry| entry.path == path) {
                entry.new = new;
            } else {
                entries.push(Entry::untracked(path, new));
            }
        }
        entries.sort_by(|one, other| one.path.cmp(&other.path));
    }

    /// The files changed since the base. If a commit renamed a file, joins its deletion and its addition into one
    /// entry.
    fn since_base(&self) -> Result<Vec<Entry>, Error> {
        let mut entries = self.git.since(&self.base)?;
        for renamed in self.git.between(&self.base, "HEAD")?.into_iter().filter(|entry| entry.path != entry.old_path) {
            let at = |path: &str, entries: &[Entry]| entries.iter().position(|entry| entry.path == path);
            let (Some(gone), Some(come)) = (at(&renamed.old_path, &entries), at(&renamed.path, &entries)) else {
                continue;
            };
            if entries[gone].new == Mode::None && entries[come].old == Mode::None {
                let new = entries[come].new;
                entries[come] = Entry { new, new_hash: entries[come].new_hash.clone(), ..renamed };
                entries.remove(gone);
            }
        }
        Ok(entries)
    }

    fn read(&self, entry: &Entry, tree: &Tree, files: &mut Files) -> Result<(), Error> {
        let Entry { old, new, is_mode_new, old_hash, new_hash, old_path, path } = entry;
        let is = |mode: Mode| *old == mode || *new == mode;
        let reason = withheld([old_path, path])
            .or_else(|| is(Mode::Submodule).then_some("a submodule"))
            .or_else(|| is(Mode::Link).then_some("a symbolic link"));
        if let Some(reason) = reason {
            files.leave(path, reason);
            return Ok(());
        }
        let stored = |hash: &str| match self.git.stored(hash)? {
            Some(bytes) => Ok(text_of(&bytes)),
            None => Ok::<_, GitError>(Err("too large to read".to_owned())),
        };
        let before = if *old == Mode::None { Ok(None) } else { stored(old_hash)?.map(Some) };
        let after = match (new, &self.head) {
            (Mode::None, _) => Ok(None),
            (_, Some(_)) => stored(new_hash)?.map(Some),
            (_, None) => tree.text(path).map(Some),
        };
        let (before, after) = match (before, after) {
            (Ok(before), Ok(after)) => (before, after),
            (Err(reason), _) | (_, Err(reason)) => {
                files.leave(path, reason);
                return Ok(());
            }
        };
        if let Some(reason) = [&before, &after].into_iter().flatten().find_map(|text| secret(text, &tree.keys)) {
            files.leave(path, reason);
            return Ok(());
        }
        let between = diff::between(
            before.as_ref().map(|text| (old_path.as_str(), text.as_str())),
            after.as_ref().map(|text| (path.as_str(), text.as_str())),
        );
        match between {
            Some(diff) => files.read.push((diff, after)),
            None if *is_mode_new => files.leave(path, ONLY_PERMISSIONS),
            // The file was touched but not changed.
            None => {}
        }
        Ok(())
    }
}

/// `refs/remotes/origin/main` becomes `origin/main`.
fn short(name: &str) -> String {
    name.trim_start_matches("refs/").trim_start_matches("remotes/").trim_start_matches("heads/").to_owned()
}

struct Tree {
    directory: ContextDirectory,
    keys: KnownKeys,
}

impl Tree {
    fn of(git: &Git, environment: &Environment, settings: &Settings) -> Result<Self, Error> {
        let directory = ContextDirectory::open(git.root()).map_err(|source| unreadable(git.root(), source))?;
        let keys = known_keys(&settings.providers, environment);
        Ok(Self { directory: directory.withholding(environment.file()), keys })
    }

    /// The error says why the file is withheld.
    fn text(&self, path: &str) -> Result<String, String> {
        let bytes = self.directory.read(path, git::MOST + 1).map_err(|error| match error {
            AccessError::Secret => "it may contain keys or passwords".to_owned(),
            AccessError::Outside => "it is outside the repository".to_owned(),
            AccessError::NotFound => "it is not in the working tree".to_owned(),
            AccessError::Special | AccessError::IsDirectory | AccessError::NotDirectory => {
                "it is not a regular file".to_owned()
            }
            AccessError::Unreadable { source } => format!("it cannot be read: {source}"),
        })?;
        if bytes.len() as u64 > git::MOST {
            return Err("too large to read".to_owned());
        }
        text_of(&bytes)
    }
}

/// Why the text must be withheld; `None` if it contains no secret.
fn secret(text: &str, keys: &KnownKeys) -> Option<String> {
    if holds_private_key(text) {
        return Some("it contains a private key".to_owned());
    }
    keys.find(text).map(|variable| format!("it contains the value of {variable}"))
}

fn without_marks(diff: &FileDiff) -> String {
    let bare = |line: &str| {
        let marks = line.bytes().take(diff.parents).take_while(|byte| b"+- ".contains(byte)).count();
        line[marks..].to_owned()
    };
    diff.text.lines().map(bare).collect::<Vec<_>>().join("\n")
}

fn text_of(bytes: &[u8]) -> Result<String, String> {
    match decode(bytes) {
        Ok(text) if !text.contains('\0') => Ok(text.to_owned()),
        Ok(_) | Err(_) => Err("binary, or not UTF-8".to_owned()),
    }
}

/// Why a file must be withheld, judging by its paths.
fn withheld<'p>(paths: impl IntoIterator<Item = &'p String>) -> Option<&'static str> {
    paths.into_iter().find_map(|path| {
        let path = Path::new(path);
        if !path.components().all(|one| matches!(one, Component::Normal(_))) {
            return Some("its path is outside the repository");
        }
        (may_hold_secrets(path) || is_in_git(path)).then_some("it may contain keys or passwords, judging by its name")
    })
}

/// Reads the change from a given diff. Adds full files from the repository that contains `directory` if their hashes
/// match those in the diff.
///
/// # Errors
///
/// Returns an error if the input is not a diff, or none of it can be shown.
pub fn piped(
    bytes: &[u8],
    directory: &Path,
    wanted: &Wanted,
    settings: &Settings,
    environment: &Environment,
) -> Result<Found, Error> {
    let text = String::from_utf8_lossy(bytes);
    let diffs = diff::read(&text);
    if diffs.is_empty() {
        let message = "no diff on standard input";
        return Err(UserError::input(message)
            .with_hint("pipe in the output of `git diff`, `git show`, `git format-patch --stdout` or `diff -u`")
            .into());
    }
    let git = git::root_of(directory).map(|root| Git::at(&root, environment));
    let tree = git.as_ref().map(|git| Tree::of(git, environment, settings)).transpose()?;
    let keys = known_keys(&settings.providers, environment);
    let mut files = Files::default();
    for diff in diffs {
        let path = diff.path().to_owned();
        let paths: Vec<String> = diff.paths().map(str::to_owned).collect();
        if !paths.is_empty() && !paths.iter().any(|path| wanted.has(path)) {
            continue;
        }
        let reason = match diff.kind {
            _ if paths.is_empty() => Some("its path cannot be parsed".to_owned()),
            _ if withheld(&paths).is_some() => withheld(&paths).map(str::to_owned),
            FileKind::Binary => Some("binary, or not UTF-8".to_owned()),
            FileKind::Link => Some("a symbolic link".to_owned()),
            FileKind::Submodule => Some("a submodule".to_owned()),
            FileKind::Text if diff.text.contains('\0') => Some("binary, or not UTF-8".to_owned()),
            FileKind::Text if diff.is_of_permissions() => Some(ONLY_PERMISSIONS.to_owned()),
            FileKind::Text => secret(&without_marks(&diff), &keys),
        };
        if let Some(reason) = reason {
            files.leave(&path, reason);
            continue;
        }
        let is_meant = |text: &String| {
            let hash = diff.new_hash.as_deref().filter(|hash| hash.len() >= TELLING);
            let now = git.as_ref().and_then(|git| git.hash(text.as_bytes()).ok());
            hash.zip(now).is_some_and(|(hash, now)| now.starts_with(hash))
        };
        let whole =
            tree.as_ref().and_then(|tree| tree.text(&path).ok().filter(|text| secret(text, &tree.keys).is_none()));
        files.read.push((diff.clone(), whole.filter(is_meant)));
    }
    assemble(files, of_pipe(), settings, environment)
}

pub fn paths_of(bytes: &[u8]) -> BTreeSet<String> {
    diff::read(&String::from_utf8_lossy(bytes))
        .iter()
        .flat_map(|diff| diff.paths().map(str::to_owned).collect::<Vec<_>>())
        .collect()
}
