//! The debates directory: ids, lookup by name or pattern, and listing.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use chrono::{DateTime, Local};
use rand::RngExt;
use serde::de::Error as _;
use serde_json::Value;
use serde_json::error::Category;

use crate::debate::Debate;
use crate::event::FORMAT_VERSION;
use crate::ids::DebateId;
use dialectic_base::key_path::{JsonText, KeyPath};

use super::lock::is_locked;
use super::older::{complete, mend};
use super::snapshot::{is_special, open_regular, read_mark};
use super::{Readers, StoreError, write_atomically};

/// The number of random characters at the end of an id.
const LAST: usize = 4;
const JOURNAL_SUFFIX: &str = ".events.jsonl";

#[derive(Debug, Clone)]
pub struct Directory {
    path: PathBuf,
}

/// The files of a saved debate. The state file may be missing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub state: PathBuf,
    /// `None` if the journal does not exist, as for debates from the TypeScript version.
    pub journal: Option<PathBuf>,
}

/// A state file in a directory listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedDebate {
    pub name: String,
    pub modified: SystemTime,
    pub size: u64,
}

#[derive(Debug, thiserror::Error)]
pub enum StateFileError {
    /// The file is missing or cannot be read.
    #[error("cannot read the debate {path}")]
    Unreadable { path: PathBuf, source: std::io::Error },
    #[error("the debate {path} is a directory, not a file")]
    IsDirectory { path: PathBuf },
    #[error("the debate {path} is a pipe, a socket or a device, not a file")]
    NotAFile { path: PathBuf },
    #[error("{path} was written by a newer version (format {found}; this version reads up to {FORMAT_VERSION})")]
    Newer { path: PathBuf, found: u32 },
    #[error("{path} is not a saved debate{}", place(key.as_ref()))]
    Invalid {
        path: PathBuf,
        /// Where the error is; `None` if the error concerns the whole document.
        key: Option<KeyPath>,
        source: serde_json::Error,
    },
}

fn is_json(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "json")
}

fn place(key: Option<&KeyPath>) -> String {
    key.map_or_else(String::new, |key| format!(" (at `{key}`)"))
}

/// A time as ids contain it.
fn id_time(time: DateTime<Local>) -> String {
    time.format("%Y%m%d-%H%M%S").to_string()
}

impl Directory {
    /// `path` need not exist.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Creates the directory if it is missing.
    ///
    /// # Errors
    ///
    /// Returns an error if the directory cannot be created.
    pub fn create(&self) -> Result<(), StoreError> {
        fs::create_dir_all(&self.path).map_err(|source| StoreError::Directory { path: self.path.clone(), source })
    }

    /// A new id, `deb-YYYYMMDD-HHMMSS-xxxx` in local time.
    pub fn new_id() -> DebateId {
        let mut rng = rand::rng();
        let random: String = (0..LAST).map(|_| char::from_digit(rng.random_range(0..36), 36).unwrap_or('0')).collect();
        DebateId::new(format!("deb-{}-{random}", id_time(Local::now())))
    }

    pub fn state_path(&self, id: &DebateId) -> PathBuf {
        self.path.join(format!("{id}.json"))
    }

    pub fn journal_path(&self, id: &DebateId) -> PathBuf {
        self.path.join(format!("{id}{JOURNAL_SUFFIX}"))
    }

    /// Finds a debate by path, full id, unique prefix, unique suffix, or `latest`.
    ///
    /// # Errors
    ///
    /// Returns an error if no debate matches, if more than one does, or if the directory cannot be read.
    pub fn find(&self, name: &str) -> Result<Entry, StoreError> {
        let path = Path::new(name);
        if path.exists() || name.contains(std::path::MAIN_SEPARATOR) || is_json(path) {
            return Ok(Entry::of_state(path));
        }
        let entries = self.entries()?;
        let unknown = || StoreError::Unknown { name: name.to_owned(), directory: self.path.clone() };
        if name == "latest" {
            return entries.into_iter().next().ok_or_else(unknown);
        }
        let mut fits = matching(entries, Entry::id, name);
        match fits.len() {
            0 => Err(unknown()),
            1 => Ok(fits.swap_remove(0)),
            _ => {
                let fits = fits.iter().take(5).map(Entry::id).collect();
                Err(StoreError::Ambiguous { name: name.to_owned(), fits })
            }
        }
    }

    /// The debate's short name, as described at [`ShortNames`]. Reads the whole directory.
    pub fn short_name<'a>(&self, id: &'a DebateId) -> &'a str {
        self.short_names().name(id)
    }

    /// The short names of all debates. Use this for more than one debate, because [`short_name`](Self::short_name)
    /// reads the directory each time.
    pub fn short_names(&self) -> ShortNames {
        ShortNames::of_ids(&self.ids().unwrap_or_default())
    }

    /// All entries of the directory except hidden ones and those whose names are not UTF-8. Empty if the directory is
    /// missing.
    fn files(&self) -> Result<Vec<(String, fs::DirEntry)>, StoreError> {
        let files = match fs::read_dir(&self.path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            files => files.and_then(Iterator::collect::<io::Result<Vec<_>>>),
        };
        let files = files.map_err(|source| StoreError::List { path: self.path.clone(), source })?;
        let named = files.into_iter().filter_map(|file| Some((file.file_name().into_string().ok()?, file)));
        Ok(named.filter(|(name, _)| !name.starts_with('.')).collect())
    }

    /// The ids of all debates. A debate killed before its first save has only a journal.
    fn ids(&self) -> Result<BTreeSet<String>, StoreError> {
        let id = |(name, _): &(String, fs::DirEntry)| {
            name.strip_suffix(JOURNAL_SUFFIX).or_else(|| name.strip_suffix(".json")).map(str::to_owned)
        };
        Ok(self.files()?.iter().filter_map(id).collect())
    }

    /// When the directory last changed; `None` if unknown.
    pub fn modified(&self) -> Option<SystemTime> {
        fs::metadata(&self.path).and_then(|metadata| metadata.modified()).ok()
    }

    /// The state files of all debates, unordered; empty if the directory is missing.
    ///
    /// # Errors
    ///
    /// Returns an error if the directory exists but cannot be read.
    pub fn state_files(&self) -> Result<Vec<ListedDebate>, StoreError> {
        let failed = |source| StoreError::List { path: self.path.clone(), source };
        let mut listed = Vec::new();
        for (name, file) in self.files()?.into_iter().filter(|(name, _)| is_json(Path::new(name))) {
            // The file may have been removed in the meantime.
            let Ok(metadata) = file.metadata() else { continue };
            let modified = metadata.modified().map_err(failed)?;
            listed.push(ListedDebate { name, modified, size: metadata.len() });
        }
        Ok(listed)
    }

    /// All debates, newest first; empty if the directory is missing.
    ///
    /// # Errors
    ///
    /// Returns an error if the directory exists but cannot be read.
    pub fn entries(&self) -> Result<Vec<Entry>, StoreError> {
        let state = |id: &str| self.path.join(format!("{id}.json"));
        let mut ids: Vec<String> = self.ids()?.into_iter().collect();
        // Ids of new debates contain the time in seconds. All others, and debates of the same second, are ordered by
        // modification time.
        ids.sort_by_cached_key(|id| {
            let changed = fs::metadata(state(id)).and_then(|metadata| metadata.modified()).ok();
            let second = match id.strip_prefix("deb-").and_then(|time| time.rsplit_once('-')) {
                Some((second, _)) => second.to_owned(),
                None => changed.map(|time| id_time(time.into())).unwrap_or_default(),
            };
            Reverse((second, changed, id.clone()))
        });
        Ok(ids.iter().map(|id| Entry::of_state(&state(id))).collect())
    }
}

/// The short names of debates: the last four characters of the id if [`Directory::find`] finds the debate by them, or
/// else the whole id.
#[derive(Debug)]
pub struct ShortNames {
    beginnings: HashSet<String>,
    endings: HashMap<String, usize>,
}

impl ShortNames {
    /// `entries` must be all debates in the directory.
    pub fn of(entries: &[Entry]) -> Self {
        Self::of_ids(&entries.iter().map(Entry::id).collect())
    }

    fn of_ids(ids: &BTreeSet<String>) -> Self {
        let mut endings = HashMap::new();
        for id in ids {
            *endings.entry(ending(id).to_owned()).or_insert(0) += 1;
        }
        // `find` prefers debates whose ids begin with the name, so an ending with which some id begins would find that
        // debate.
        let beginnings = ids.iter().map(|id| id.chars().take(LAST).collect()).collect();
        Self { beginnings, endings }
    }

    pub fn name<'a>(&self, id: &'a DebateId) -> &'a str {
        let short = ending(id.as_str());
        let is_enough = self.endings.get(short) == Some(&1)
            && (short == id.as_str() || !self.beginnings.contains(short))
            && !Path::new(short).exists();
        if is_enough { short } else { id.as_str() }
    }
}

fn ending(id: &str) -> &str {
    id.char_indices().nth_back(LAST - 1).map_or(id, |(place, _)| &id[place..])
}

impl Entry {
    /// The debate whose state file or journal is at `path`.
    pub fn of_state(path: &Path) -> Self {
        let (state, journal) = match path.to_str().and_then(|name| name.strip_suffix(JOURNAL_SUFFIX)) {
            Some(stem) => (PathBuf::from(format!("{stem}.json")), path.to_owned()),
            None => (path.to_owned(), path.with_extension("events.jsonl")),
        };
        Self { state, journal: journal.exists().then_some(journal) }
    }

    /// The path of the journal.
    ///
    /// # Errors
    ///
    /// Returns an error if the debate has no journal.
    pub fn journal_path(&self) -> Result<&Path, StoreError> {
        if let Some(journal) = &self.journal {
            return Ok(journal);
        }
        let id = read_state(&self.state)?.id;
        Err(match self.journal_gone() {
            Some(path) => StoreError::JournalGone { id, path },
            None => StoreError::NoJournal { id },
        })
    }

    /// Whether the TypeScript version saved the debate, which then has no journal.
    pub fn is_older(&self) -> bool {
        let is_alone = self.journal.is_none() && self.journal_gone().is_none();
        is_alone && read_state(&self.state).is_ok_and(|debate| debate.format_version.is_none())
    }

    /// Where the journal should be, if it is missing although the debate had one.
    pub fn journal_gone(&self) -> Option<PathBuf> {
        let is_gone = self.journal.is_none() && read_mark(&self.state).is_some();
        is_gone.then(|| self.state.with_extension("events.jsonl"))
    }

    /// Whether a process is running the debate, and so has locked the journal.
    pub fn is_held(&self) -> bool {
        self.journal.as_ref().is_some_and(|path| open_regular(path).is_ok_and(|file| is_locked(&file, path)))
    }

    /// Whether a process is running or finishing the debate. A detached run locks its log until it exits.
    pub fn is_at_work(&self) -> bool {
        self.is_held() || self.is_detached()
    }

    pub fn is_detached(&self) -> bool {
        let log = self.log_path();
        open_regular(&log).is_ok_and(|file| is_locked(&file, &log))
    }

    pub fn log_path(&self) -> PathBuf {
        self.state.with_extension("log")
    }

    pub fn stop_path(&self) -> PathBuf {
        self.state.with_extension("stop")
    }

    /// Requests that the debate close with the texts so far. The current or next process that runs the debate obeys the
    /// request and removes it.
    ///
    /// # Errors
    ///
    /// Returns an error if the request cannot be written.
    pub fn order_stop(&self) -> Result<(), StoreError> {
        write_atomically(&self.stop_path(), Readers::Owner, |out| out.write_all(b"stop\n"))
    }

    pub fn forget_stop(&self) {
        drop(fs::remove_file(self.stop_path()));
    }

    /// The file name without its extension, which is the id if this program saved the debate.
    pub fn id(&self) -> String {
        self.state.file_stem().unwrap_or_default().to_string_lossy().into_owned()
    }
}

/// The items with the id `name`; if there are none, those whose id starts with `name`, or else those whose id ends with
/// it.
fn matching<T>(items: Vec<T>, id: impl Fn(&T) -> String, name: &str) -> Vec<T> {
    let ids: Vec<String> = items.iter().map(id).collect();
    let ways: [fn(&str, &str) -> bool; 3] =
        [|id, name| id == name, |id, name| id.starts_with(name), |id, name| id.ends_with(name)];
    let Some(fits) = ways.into_iter().find(|fits| ids.iter().any(|id| fits(id, name))) else { return Vec::new() };
    items.into_iter().zip(&ids).filter(|(_, id)| fits(id, name)).map(|(item, _)| item).collect()
}

/// Reads a state file of this program or of the TypeScript version.
///
/// # Errors
///
/// Returns an error if the file cannot be read, is not JSON, lacks required parts, or was written by a newer version.
pub fn read_state(path: &Path) -> Result<Debate, StateFileError> {
    let bytes = read_bytes(path)?;
    let read = match parse_state(path, &bytes) {
        Ok(debate) => known_format(path, debate.format_version).map(|()| debate),
        Err(error) => parse_older(path, &bytes).unwrap_or(Err(error)),
    };
    read.map(|mut debate| {
        complete(&mut debate);
        debate
    })
}

pub(super) fn read_bytes(path: &Path) -> Result<Vec<u8>, StateFileError> {
    if path.is_dir() {
        return Err(StateFileError::IsDirectory { path: path.to_owned() });
    }
    if is_special(path) {
        return Err(StateFileError::NotAFile { path: path.to_owned() });
    }
    fs::read(path).map_err(|source| StateFileError::Unreadable { path: path.to_owned(), source })
}

/// Repairs and reads an older state; `None` if nothing can be repaired.
fn parse_older(path: &Path, bytes: &[u8]) -> Option<Result<Debate, StateFileError>> {
    let written: Value = serde_json::from_slice(bytes).ok()?;
    let version = written.get("formatVersion").and_then(Value::as_u64);
    if let Err(newer) = known_format(path, version.and_then(|version| u32::try_from(version).ok())) {
        return Some(Err(newer));
    }
    let mut mended = written.clone();
    mend(&mut mended);
    if mended == written {
        return None;
    }
    Some(parse_state(path, mended.to_string().as_bytes()).map_err(|error| match error {
        // A position in the repaired text would be meaningless.
        StateFileError::Invalid { path, key, source } => {
            let message = source.to_string();
            let message = message.rsplit_once(" at line ").map_or(message.as_str(), |(message, _)| message);
            StateFileError::Invalid { path, key, source: serde_json::Error::custom(message) }
        }
        other => other,
    }))
}

fn known_format(path: &Path, version: Option<u32>) -> Result<(), StateFileError> {
    match version {
        Some(found) if found > FORMAT_VERSION => Err(StateFileError::Newer { path: path.to_owned(), found }),
        _ => Ok(()),
    }
}

/// Like [`read_state`], but without file access or repairs. `path` is only for messages.
pub(super) fn parse_state(path: &Path, bytes: &[u8]) -> Result<Debate, StateFileError> {
    serde_json::from_slice(bytes).map_err(|source| {
        // For data errors, the reader stopped in the faulty value or right after it. Text that is not JSON has no keys.
        let key = match source.classify() {
            Category::Data => key_at(bytes, source.line(), source.column()),
            Category::Io | Category::Syntax | Category::Eof => None,
        };
        StateFileError::Invalid { path: path.to_owned(), key, source }
    })
}

/// The path of the JSON value at this position; `None` if the value is the whole document.
fn key_at(bytes: &[u8], line: usize, column: usize) -> Option<KeyPath> {
    let before: usize = bytes.split_inclusive(|byte| *byte == b'\n').take(line.checked_sub(1)?).map(<[u8]>::len).sum();
    JsonText::of(bytes).innermost(before + column).filter(|path| !path.0.is_empty()).cloned()
}

impl StateFileError {
    pub fn is_missing(&self) -> bool {
        matches!(self, Self::Unreadable { source, .. } if source.kind() == ErrorKind::NotFound)
    }
}

impl Directory {
    /// The debates that match `names`, each once, in the order of the names. A name is anything that
    /// [`Directory::find`] accepts, or a path pattern (`*`, `?`, `[...]`). The matches of a pattern are sorted.
    ///
    /// # Errors
    ///
    /// Returns an error if a name matches no debate or more than one, or if a pattern is invalid or matches nothing.
    pub fn select<'a>(&self, names: impl IntoIterator<Item = &'a str>) -> Result<Vec<Entry>, StoreError> {
        let mut selected: Vec<Entry> = Vec::new();
        for name in names {
            // The name of an existing file is not a pattern, whatever characters it contains.
            let is_pattern = name.contains(['*', '?', '[']) && !Path::new(name).exists();
            let found = if is_pattern { matching_pattern(name)? } else { vec![self.find(name)?] };
            for entry in found {
                if selected.iter().all(|known| !is_same(&known.state, &entry.state)) {
                    selected.push(entry);
                }
            }
        }
        Ok(selected)
    }
}

/// Whether two paths, such as `x.json` and `./x.json`, refer to the same file.
fn is_same(one: &Path, other: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    one == other || real(one) == real(other)
}

/// The debates that match a pattern. Skips directories, which patterns such as `debates/*` are not meant to match.
fn matching_pattern(pattern: &str) -> Result<Vec<Entry>, StoreError> {
    let named = || pattern.to_owned();
    let paths = glob::glob(pattern).map_err(|source| StoreError::Pattern { pattern: named(), source })?;
    let mut entries = Vec::new();
    for path in paths {
        let path = path.map_err(|source| StoreError::Search { pattern: named(), source })?;
        if !path.is_dir() {
            entries.push(Entry::of_state(&path));
        }
    }
    if entries.is_empty() { Err(StoreError::NoMatch { pattern: named() }) } else { Ok(entries) }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn directory_with(names: &[&str]) -> (tempfile::TempDir, Directory) {
        let temporary = tempfile::tempdir().unwrap();
        for name in names {
            fs::write(temporary.path().join(name), "{}").unwrap();
        }
        let directory = Directory::at(temporary.path());
        (temporary, directory)
    }

    #[test]
    fn a_debate_is_found_by_id_prefix_and_as_the_latest() {
        let (_keep, directory) =
            directory_with(&["deb-20250101-010101-aaaa.json", "deb-20250202-010101-bbbb.events.jsonl", ".tmp.json"]);
        assert_eq!(directory.find("latest").unwrap().id(), "deb-20250202-010101-bbbb");
        assert_eq!(directory.find("deb-20250101").unwrap().id(), "deb-20250101-010101-aaaa");
        assert_eq!(directory.find("deb-20250101-010101-aaaa").unwrap().journal, None);
        assert!(matches!(directory.find("deb-2025"), Err(StoreError::Ambiguous { .. })));
        assert!(matches!(directory.find("x"), Err(StoreError::Unknown { .. })));
    }

    #[test]
    fn a_debate_is_found_by_the_end_of_its_id() {
        let (_keep, directory) = directory_with(&[
            "deb-20250101-010101-aaaa.json",
            "deb-20250202-010101-aaaa.json",
            "deb-20250303-010101-b2c3.json",
            "deb-20250404-010101-deb-.json",
        ]);
        assert_eq!(directory.find("b2c3").unwrap().id(), "deb-20250303-010101-b2c3");
        assert!(matches!(directory.find("aaaa"), Err(StoreError::Ambiguous { .. })));
        // A prefix takes precedence over a suffix.
        assert!(matches!(directory.find("deb-"), Err(StoreError::Ambiguous { .. })));
        let short = |id: &str| directory.short_name(&DebateId::new(id)).to_owned();
        assert_eq!(short("deb-20250303-010101-b2c3"), "b2c3");
        assert_eq!(short("deb-20250101-010101-aaaa"), "deb-20250101-010101-aaaa");
    }

    #[test]
    fn ids_have_their_form() {
        let id = Directory::new_id();
        let parts: Vec<_> = id.as_str().split('-').map(str::len).collect();
        assert_eq!(parts, [3, 8, 6, 4]);
    }

    #[test]
    fn a_file_that_lacks_a_field_says_which() {
        let (keep, _) = directory_with(&["x.json"]);
        let error = read_state(&keep.path().join("x.json")).unwrap_err();
        assert!(std::error::Error::source(&error).unwrap().to_string().contains("missing field `id`"));
    }

    #[test]
    fn names_and_patterns_select_each_debate_once() {
        let temporary = tempfile::tempdir().unwrap();
        for name in ["b.json", "a.json", "a.events.jsonl", "[x].json", "sub/c.json"] {
            let path = temporary.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "{}").unwrap();
        }
        let directory = Directory::at(temporary.path());
        let select = |names: &[&str]| {
            let names: Vec<String> =
                names.iter().map(|name| temporary.path().join(name).to_str().unwrap().to_owned()).collect();
            let selected = directory.select(names.iter().map(String::as_str));
            selected.map(|entries| entries.iter().map(Entry::id).collect::<Vec<_>>())
        };
        assert_eq!(select(&["b.json", "*", "sub/../a.json"]).unwrap(), ["b", "[x]", "a"]);
        assert_eq!(select(&["[x].json"]).unwrap(), ["[x]"]);
        assert_eq!(select(&["*/?.json"]).unwrap(), ["c"]);
        assert!(matches!(select(&["*.md"]), Err(StoreError::NoMatch { .. })));
        assert!(matches!(select(&["[a"]), Err(StoreError::Pattern { .. })));
        assert_eq!(directory.select(["a"]).unwrap().len(), 1);
    }
}
