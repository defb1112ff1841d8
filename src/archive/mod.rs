//! Results of past debates: the ratings of models by role, and decisions by subject.
//!
//! Both are in one `SQLite` file next to the debates. It is a cache that is updated from the debates whenever it is
//! used ([`Archive::update`]). So a run killed after its last event loses nothing, and no debate counts twice, even
//! with concurrent programs.

mod known;
mod memory;
mod ratings;

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use chrono::{DateTime, Utc};
use known::PastDecision;
use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};

use dialectic_base::provider::OFFLINE;
use dialectic_record::debate::{Debate, Settings, Status, Timestamp};
use dialectic_record::store::{Directory, ListedDebate, StoreError, read_state};

pub use known::PastDebates;
pub use memory::Memory;
pub use ratings::{Player, Rating};

/// The file's name in the debates directory.
pub const FILE: &str = "archive.sqlite";
/// The version of the tables.
const VERSION: u32 = 3;
/// How long a directory must be unchanged to count as unchanged: a change within the resolution of file times leaves no
/// trace.
const SETTLED: Duration = Duration::from_secs(2);
/// The time limit for another program's write.
const PATIENCE: Duration = Duration::from_secs(30);
/// The debates read per transaction, which bounds memory and the waiting of others.
const BATCH: usize = 100;

/// The ratings and memories of a debates directory.
pub struct Archive {
    connection: Connection,
    directory: Directory,
}

/// Why the archive cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// The file cannot be opened.
    #[error("cannot use {path}")]
    Unusable { path: PathBuf, source: rusqlite::Error },
    /// A query failed.
    #[error("cannot look up past debates")]
    Failed(#[from] rusqlite::Error),
    /// A later version of the program wrote it.
    #[error("{0} was written by a newer version of the program")]
    Newer(PathBuf),
    /// The debates cannot be found.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A state file at the time of reading.
struct StateRead {
    file: ListedDebate,
    debate: Option<Box<Debate>>,
}

impl Archive {
    /// Opens the archive of a directory; creates its file if it is missing.
    ///
    /// # Errors
    /// The file cannot be used.
    pub fn open(directory: &Directory) -> Result<Self, ArchiveError> {
        directory.create()?;
        let path = directory.path().join(FILE);
        let connection = connect(&path).map_err(|source| ArchiveError::Unusable { path: path.clone(), source })?;
        let mut archive = Self { connection, directory: directory.clone() };
        archive.prepare(&path)?;
        Ok(archive)
    }

    fn prepare(&mut self, path: &Path) -> Result<(), ArchiveError> {
        let unusable = |source| ArchiveError::Unusable { path: path.to_owned(), source };
        let version = |connection: &Connection| connection.query_row("PRAGMA user_version", [], |row| row.get(0));
        let found: u32 = version(&self.connection).map_err(unusable)?;
        if found > VERSION {
            return Err(ArchiveError::Newer(path.to_owned()));
        }
        if found == VERSION {
            return Ok(());
        }
        // Another program may create the tables concurrently.
        let transaction = write(&mut self.connection).map_err(unusable)?;
        if version(&transaction).map_err(unusable)? < VERSION {
            transaction.execute_batch(include_str!("schema.sql")).map_err(unusable)?;
            transaction.pragma_update(None, "user_version", VERSION).map_err(unusable)?;
        }
        transaction.commit().map_err(unusable)
    }

    /// Applies changes since the last update: new finished debates are counted and remembered, removed ones forgotten.
    /// Returns the number of changed files.
    ///
    /// # Errors
    /// The directory cannot be read, or the file cannot be written.
    pub fn update(&mut self) -> Result<usize, ArchiveError> {
        // Saving a debate replaces its file, which changes the directory's time.
        let modified = self.directory.modified().map(nanoseconds);
        let now = nanoseconds(SystemTime::now());
        if modified.is_some() && modified == self.looked()? {
            return Ok(0);
        }
        let mut known = self.files()?;
        let mut changed = Vec::new();
        for file in self.directory.state_files()? {
            match known.remove(&file.name) {
                Some(then) if then == stamp(&file) => {}
                Some(_) | None => changed.push(file),
            }
        }
        let gone: Vec<String> = known.into_keys().collect();
        if !gone.is_empty() {
            let transaction = write(&mut self.connection)?;
            for name in &gone {
                forget(&transaction, name)?;
            }
            transaction.commit()?;
        }
        for batch in changed.chunks(BATCH) {
            let read: Vec<StateRead> = batch.iter().map(|file| self.read(file)).collect();
            let transaction = write(&mut self.connection)?;
            for one in &read {
                take(&transaction, one)?;
            }
            transaction.commit()?;
        }
        let settled = i64::try_from(SETTLED.as_nanos()).unwrap_or(i64::MAX);
        if let Some(modified) = modified.filter(|modified| now.saturating_sub(*modified) > settled) {
            self.connection.execute("UPDATE looked SET modified = ?", [modified])?;
        }
        Ok(changed.len() + gone.len())
    }

    /// The directory's time at the last complete update; `None` if unknown.
    fn looked(&self) -> Result<Option<i64>, ArchiveError> {
        Ok(self.connection.query_row("SELECT modified FROM looked", [], |row| row.get(0))?)
    }

    fn files(&self) -> Result<HashMap<String, (i64, i64)>, ArchiveError> {
        let mut select = self.connection.prepare("SELECT name, modified, size FROM files")?;
        let files = select.query_map([], |row| Ok((row.get(0)?, (row.get(1)?, row.get(2)?))))?;
        Ok(files.collect::<rusqlite::Result<_>>()?)
    }

    fn read(&self, file: &ListedDebate) -> StateRead {
        // An unreadable file is no debate; `list` says so.
        let debate = read_state(&self.directory.path().join(&file.name)).ok();
        let finished = debate.filter(|debate| debate.status == Status::Completed);
        StateRead { file: file.clone(), debate: finished.map(Box::new) }
    }
}

fn connect(path: &Path) -> rusqlite::Result<Connection> {
    let connection = Connection::open(path)?;
    connection.busy_timeout(PATIENCE)?;
    // Data lost in a power failure is read from the debates again.
    connection.pragma_update(None, "synchronous", "OFF")?;
    // Creating and deleting a journal would change the directory's time.
    connection.pragma_update(None, "journal_mode", "TRUNCATE")?;
    Ok(connection)
}

/// A transaction that takes the write lock at once, so that its reads stay valid.
fn write(connection: &mut Connection) -> rusqlite::Result<Transaction<'_>> {
    connection.transaction_with_behavior(TransactionBehavior::Immediate)
}

/// Detects changes of a file.
fn stamp(file: &ListedDebate) -> (i64, i64) {
    (nanoseconds(file.modified), i64::try_from(file.size).unwrap_or(i64::MAX))
}

fn nanoseconds(time: SystemTime) -> i64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

/// Whether no agent or judge is a real model.
fn is_rehearsal(settings: &Settings) -> bool {
    settings.everybody().all(|agent| agent.provider == OFFLINE)
}

fn forget(transaction: &Transaction<'_>, name: &str) -> rusqlite::Result<()> {
    let number = transaction
        .prepare_cached("SELECT number FROM files WHERE name = ?")?
        .query_row([name], |row| row.get::<_, i64>(0))
        .optional()?;
    if let Some(number) = number {
        transaction.prepare_cached("DELETE FROM memories WHERE rowid = ?")?.execute([number])?;
        transaction.prepare_cached("DELETE FROM files WHERE number = ?")?.execute([number])?;
    }
    Ok(())
}

fn take(transaction: &Transaction<'_>, StateRead { file, debate }: &StateRead) -> rusqlite::Result<()> {
    forget(transaction, &file.name)?;
    let (modified, size) = stamp(file);
    let finished_at = debate
        .as_ref()
        .map(|debate| debate.updated_at.unwrap_or_else(|| Timestamp::from(DateTime::<Utc>::from(file.modified))));
    let settings = debate.as_ref().and_then(|debate| debate.settings.as_ref());
    transaction
        .prepare_cached(
            "INSERT INTO files (name, modified, size, debate, finished_at, rehearsed) VALUES (?, ?, ?, ?, ?, ?)",
        )?
        .execute(params![
            file.name,
            modified,
            size,
            debate.as_ref().map(|debate| debate.id.as_str()),
            finished_at.map(|at| at.to_string()),
            settings.is_some_and(is_rehearsal),
        ])?;
    let (Some(debate), Some(at)) = (debate, finished_at) else { return Ok(()) };
    let number = transaction.last_insert_rowid();
    if let Some(PastDecision { problem, decision, evidence, dissent }) = PastDecision::of(debate) {
        transaction
            .prepare_cached(
                "INSERT INTO memories (rowid, problem, decision, evidence, dissent) VALUES (?, ?, ?, ?, ?)",
            )?
            .execute(params![number, problem, decision, evidence, dissent])?;
    }
    if settings.is_some_and(|settings| Archive::rates(&settings.debate.protocol)) {
        ratings::count(transaction, debate, at)
    } else {
        Ok(())
    }
}
