//! Ratings of models by role, and decisions by subject, from past debates.
//!
//! The `SQLite` file next to the debates is only a cache. [`Archive::update`] brings it up to date before each use, so
//! a run that is killed after its last event loses nothing, and no debate counts twice, even with concurrent processes.

mod memory;
mod ratings;

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use chrono::{DateTime, Utc};
use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};

use dialectic_record::debate::{Debate, Status};
use dialectic_record::ids::Timestamp;
use dialectic_record::settings::Settings;
use dialectic_record::store::{Directory, ListedDebate, StoreError, read_state};

pub use memory::{Memory, PastDebates};
pub use ratings::{Player, Rating};

pub const FILE: &str = "archive.sqlite";
/// Increase this with every change to the schema.
const VERSION: u32 = 3;
/// The directory's modification time is saved only if it is longer ago than this, because file times are too coarse to
/// tell two quick changes apart.
const SETTLED: Duration = Duration::from_secs(2);
/// How long to wait for another process to finish writing.
const PATIENCE: Duration = Duration::from_secs(30);
/// The number of debates to read per transaction. Bounds memory, and how long other processes wait.
const BATCH: usize = 100;

pub struct Archive {
    connection: Connection,
    directory: Directory,
}

#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    #[error("cannot use {path}")]
    Unusable { path: PathBuf, source: rusqlite::Error },
    #[error("cannot look up past debates")]
    Failed(#[from] rusqlite::Error),
    #[error("{0} was written by a newer version of the program")]
    Newer(PathBuf),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Archive {
    /// Opens a directory's archive, creating its file if missing.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be used.
    pub fn open(directory: &Directory) -> Result<Self, ArchiveError> {
        directory.create()?;
        let path = directory.path().join(FILE);
        let unusable = |source| ArchiveError::Unusable { path: path.clone(), source };
        let mut connection = connect(&path).map_err(unusable)?;
        let version = |connection: &Connection| connection.query_row("PRAGMA user_version", [], |row| row.get(0));
        let found: u32 = version(&connection).map_err(unusable)?;
        if found > VERSION {
            return Err(ArchiveError::Newer(path));
        }
        if found < VERSION {
            let transaction = write(&mut connection).map_err(unusable)?;
            // Check the version again, because another process may have created the tables.
            if version(&transaction).map_err(unusable)? < VERSION {
                transaction.execute_batch(include_str!("schema.sql")).map_err(unusable)?;
                transaction.pragma_update(None, "user_version", VERSION).map_err(unusable)?;
            }
            transaction.commit().map_err(unusable)?;
        }
        Ok(Self { connection, directory: directory.clone() })
    }

    /// Adds debates that finished since the last update and forgets removed ones. Returns the number of changed files.
    ///
    /// # Errors
    ///
    /// Returns an error if the directory cannot be read, or the file cannot be written.
    pub fn update(&mut self) -> Result<usize, ArchiveError> {
        // Saving a debate replaces its file and thus changes the directory's time.
        let modified = self.directory.modified().map(nanoseconds);
        // The directory's time at the last update; `None` if it was not saved.
        let looked: Option<i64> = self.connection.query_row("SELECT modified FROM looked", [], |row| row.get(0))?;
        let now = nanoseconds(SystemTime::now());
        if modified.is_some() && modified == looked {
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
            let debates: Vec<Option<Debate>> = batch.iter().map(|file| self.read(file)).collect();
            let transaction = write(&mut self.connection)?;
            for (file, debate) in batch.iter().zip(&debates) {
                take(&transaction, file, debate.as_ref())?;
            }
            transaction.commit()?;
        }
        let settled = i64::try_from(SETTLED.as_nanos()).unwrap_or(i64::MAX);
        if let Some(modified) = modified.filter(|modified| now.saturating_sub(*modified) > settled) {
            self.connection.execute("UPDATE looked SET modified = ?", [modified])?;
        }
        Ok(changed.len() + gone.len())
    }

    fn files(&self) -> Result<HashMap<String, (i64, i64)>, ArchiveError> {
        let mut select = self.connection.prepare("SELECT name, modified, size FROM files")?;
        let files = select.query_map([], |row| Ok((row.get(0)?, (row.get(1)?, row.get(2)?))))?;
        Ok(files.collect::<rusqlite::Result<_>>()?)
    }

    /// `None` if the debate is not finished or its file cannot be read. `dialectic list` reports unreadable files.
    fn read(&self, file: &ListedDebate) -> Option<Debate> {
        let debate = read_state(&self.directory.path().join(&file.name)).ok();
        debate.filter(|debate| debate.status == Status::Completed)
    }
}

fn connect(path: &Path) -> rusqlite::Result<Connection> {
    let connection = Connection::open(path)?;
    connection.busy_timeout(PATIENCE)?;
    // No need to wait for the disk: data lost in a power failure can be rebuilt from the debates.
    connection.pragma_update(None, "synchronous", "OFF")?;
    // The default journal mode creates and deletes a file, which would change the directory's time.
    connection.pragma_update(None, "journal_mode", "TRUNCATE")?;
    Ok(connection)
}

/// Takes the write lock immediately, so that the data that the transaction reads stays valid.
fn write(connection: &mut Connection) -> rusqlite::Result<Transaction<'_>> {
    connection.transaction_with_behavior(TransactionBehavior::Immediate)
}

fn stamp(file: &ListedDebate) -> (i64, i64) {
    (nanoseconds(file.modified), i64::try_from(file.size).unwrap_or(i64::MAX))
}

fn nanoseconds(time: SystemTime) -> i64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
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

fn take(transaction: &Transaction<'_>, file: &ListedDebate, debate: Option<&Debate>) -> rusqlite::Result<()> {
    forget(transaction, &file.name)?;
    let (modified, size) = stamp(file);
    let finished_at =
        debate.map(|debate| debate.updated_at.unwrap_or_else(|| Timestamp::from(DateTime::<Utc>::from(file.modified))));
    let settings = debate.and_then(|debate| debate.settings.as_ref());
    transaction
        .prepare_cached(
            "INSERT INTO files (name, modified, size, debate, finished_at, rehearsed) VALUES (?, ?, ?, ?, ?, ?)",
        )?
        .execute(params![
            file.name,
            modified,
            size,
            debate.map(|debate| debate.id.as_str()),
            finished_at.map(|at| at.to_string()),
            settings.is_some_and(Settings::is_offline),
        ])?;
    let (Some(debate), Some(at)) = (debate, finished_at) else { return Ok(()) };
    let number = transaction.last_insert_rowid();
    if let Some(Memory { problem, decision, evidence, dissent, .. }) = Memory::of(debate, at) {
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
