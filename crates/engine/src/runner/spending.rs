//! What the debates of a directory have spent, according to their journals. A ledger adds what journals lack: the
//! spending of removed debates and of evaluations, and the limits of resumed debates.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime};

use chrono::{DateTime, NaiveDate, NaiveTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::engine::Books;
use dialectic_base::money::Usd;
use dialectic_record::event::{Event, Recorded};
use dialectic_record::ids::DebateId;
use dialectic_record::store::{Directory, Entry, JournalReader, Readers, StoreError, write_atomically};

/// Does not end in `.json`, because every file with that extension is taken for a debate.
const LEDGER: &str = "spending.ledger";
/// The file that is locked. Locking the ledger itself would not work, because every change replaces it.
const LOCK: &str = "spending.lock";
const LEDGER_FORMAT: u32 = 1;
/// The id under which the ledger lists evaluations among removed debates. No debate has this id.
const EVALUATIONS: &str = "evaluations";
/// The maximum time to wait for the lock.
const TO_WAIT: Duration = Duration::from_secs(20);
const TRY_AGAIN: Duration = Duration::from_millis(10);

/// Why the spending could not be determined.
#[derive(Debug, thiserror::Error)]
pub enum SpendingError {
    /// The directory or a debate's file cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The ledger cannot be read.
    #[error("cannot read the spending ledger {path}")]
    Unreadable {
        /// The path of the ledger.
        path: PathBuf,
        /// The I/O error.
        source: io::Error,
    },
    /// The ledger is damaged.
    #[error("the spending ledger {path} is damaged")]
    Damaged {
        /// The path of the ledger.
        path: PathBuf,
        /// The JSON error.
        source: serde_json::Error,
    },
    /// A later version wrote the ledger.
    #[error("the spending ledger {path} was written by a newer version (format {found})")]
    Newer {
        /// The path of the ledger.
        path: PathBuf,
        /// The ledger's format, which this version cannot read.
        found: u32,
    },
    /// The lock file cannot be opened or locked.
    #[error("cannot lock {path}")]
    Lock {
        /// The path of the lock file.
        path: PathBuf,
        /// The I/O error.
        source: io::Error,
    },
    /// Another process has held the lock for too long.
    #[error("{0} is locked by another process")]
    Held(PathBuf),
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct SpendingFile {
    format_version: u32,
    /// What removed debates and evaluations have spent, by day (UTC).
    removed: Vec<Removed>,
    /// The total limits of debates that continued under a limit other than their own.
    limits: BTreeMap<String, Usd>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Removed {
    id: String,
    day: NaiveDate,
    usd: Usd,
}

impl SpendingFile {
    /// A damaged ledger is an error, because the spending is then unknown.
    fn read(directory: &Directory) -> Result<Self, SpendingError> {
        let path = directory.path().join(LEDGER);
        let bytes = match fs::read(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return Ok(Self { format_version: LEDGER_FORMAT, removed: Vec::new(), limits: BTreeMap::new() });
            }
            Err(source) => return Err(SpendingError::Unreadable { path, source }),
            Ok(bytes) => bytes,
        };
        let damaged = |source| SpendingError::Damaged { path: path.clone(), source };
        let ledger: Value = serde_json::from_slice(&bytes).map_err(damaged)?;
        let found = ledger["formatVersion"].as_u64().and_then(|found| u32::try_from(found).ok());
        if let Some(found) = found.filter(|found| *found > LEDGER_FORMAT) {
            return Err(SpendingError::Newer { path, found });
        }
        serde_json::from_slice(&bytes).map_err(damaged)
    }

    fn write(&self, directory: &Directory) -> Result<(), SpendingError> {
        let path = directory.path().join(LEDGER);
        let write = |out: &mut dyn io::Write| {
            serde_json::to_writer_pretty(&mut *out, self)?;
            out.write_all(b"\n")
        };
        Ok(write_atomically(&path, Readers::Owner, write)?)
    }
}

/// An exclusive lock for decisions about spending, held by one process per directory. The system releases it if the
/// process is killed.
#[derive(Debug)]
pub struct SpendingLock {
    directory: Directory,
    _held: File,
}

impl SpendingLock {
    /// Takes the lock. Blocks the thread while another process holds the lock.
    ///
    /// # Errors
    ///
    /// Returns an error if the lock file cannot be opened or locked, or if another process holds the lock for too long.
    pub fn take(directory: &Directory) -> Result<Self, SpendingError> {
        directory.create()?;
        let path = directory.path().join(LOCK);
        let mut open = OpenOptions::new();
        open.read(true).append(true).create(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut open, 0o600);
        let failed = |source| SpendingError::Lock { path: path.clone(), source };
        let file = open.open(&path).map_err(failed)?;
        let until = Instant::now() + TO_WAIT;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Self { directory: directory.clone(), _held: file }),
                Err(TryLockError::WouldBlock) if Instant::now() < until => sleep(TRY_AGAIN),
                Err(TryLockError::WouldBlock) => return Err(SpendingError::Held(path)),
                Err(TryLockError::Error(source)) => return Err(failed(source)),
            }
        }
    }

    /// Sets the total limit of a debate, overriding the limit in its record. `None` restores the limit in the record.
    ///
    /// # Errors
    ///
    /// Returns an error if the ledger cannot be read or written.
    pub fn note_limit(&self, id: &DebateId, limit: Option<Usd>) -> Result<(), SpendingError> {
        let mut beside = SpendingFile::read(&self.directory)?;
        let before = beside.limits.clone();
        let is_run = |id: &str| Entry::of_state(&self.directory.state_path(&DebateId::new(id))).is_held();
        beside.limits.retain(|other, _| other != id.as_str() && is_run(other));
        if let Some(limit) = limit {
            beside.limits.insert(id.to_string(), limit);
        }
        if beside.limits == before { Ok(()) } else { beside.write(&self.directory) }
    }
}

/// Notes the limit of a debate's current run in the ledger, unless the ledger already has this limit. Does nothing if
/// the directory has no ledger. Blocks the thread.
///
/// # Errors
///
/// Returns an error if the ledger cannot be locked, read or written.
pub fn renew_limit(directory: &Directory, id: &DebateId, limit: Option<Usd>) -> Result<(), SpendingError> {
    let path = directory.path().join(LEDGER);
    let is_kept = path.try_exists().map_err(|source| SpendingError::Unreadable { path, source })?;
    if !is_kept || SpendingFile::read(directory)?.limits.get(id.as_str()) == limit.as_ref() {
        return Ok(());
    }
    SpendingLock::take(directory)?.note_limit(id, limit)
}

/// Records the spending of an evaluation, which leaves no journal, under the current day (UTC). Blocks the thread.
///
/// # Errors
///
/// Returns an error if the ledger cannot be locked, read or written.
pub fn note_spent(directory: &Directory, usd: Usd) -> Result<(), SpendingError> {
    let _lock = SpendingLock::take(directory)?;
    let (mut beside, day) = (SpendingFile::read(directory)?, Utc::now().date_naive());
    match beside.removed.iter_mut().find(|one| one.id == EVALUATIONS && one.day == day) {
        Some(one) => one.usd += usd,
        None => beside.removed.push(Removed { id: EVALUATIONS.to_owned(), day, usd }),
    }
    beside.write(directory)
}

/// Removes a debate but keeps its spending in the ledger.
///
/// # Errors
///
/// Returns an error if the debate is not in `directory`, is running, or cannot be removed; or the ledger cannot be
/// written.
pub fn remove(directory: &Directory, entry: &Entry) -> Result<(), SpendingError> {
    directory.check_is_here(entry)?;
    let lock = SpendingLock::take(directory)?;
    let by_day = match &entry.journal {
        // `Directory::remove` rejects a running debate, so its spending is not read.
        Some(journal) if !entry.is_held() => JournalSpending::read(journal, NaiveDate::MIN).by_day,
        _ => BTreeMap::new(),
    };
    if !by_day.is_empty() {
        // Write the ledger before removing the debate: as long as the debate's journal exists, the ledger's entry is
        // ignored.
        let mut beside = SpendingFile::read(directory)?;
        let id = entry.id();
        beside.removed.retain(|before| before.id != id);
        beside.removed.extend(by_day.into_iter().map(|(day, usd)| Removed { id: id.clone(), day, usd }));
        beside.write(directory)?;
    }
    directory.remove(entry)?;
    drop(lock);
    Ok(())
}

/// What all debates of a directory have spent since midnight (UTC), including removed debates and evaluations, plus
/// what is left of the limits of running debates. A call of unknown cost counts as zero unless money was reserved for
/// it.
///
/// # Errors
///
/// Returns an error if the directory or the ledger cannot be read.
pub fn spent_today(directory: &Directory) -> Result<Usd, SpendingError> {
    let today = Utc::now().date_naive();
    let beside = SpendingFile::read(directory)?;
    let mut spent = Usd::ZERO;
    for entry in directory.entries()? {
        let Some(journal) = &entry.journal else { continue };
        // Check before reading the journal: if the debate ends in between, the result is too high rather than too low.
        let is_held = entry.is_held();
        if !is_held && !is_younger(journal, today.and_time(NaiveTime::MIN).and_utc()) {
            continue;
        }
        let of_debate = JournalSpending::read(journal, today);
        spent += of_debate.by_day.values().copied().sum();
        // Assume that a debate spends its full limit if it is running or its journal is damaged.
        if is_held || !of_debate.is_whole {
            // The limit in the ledger takes precedence, since a follow-up question may cost more than is left of the
            // debate's limit.
            let limit = beside.limits.get(&entry.id()).copied().or(of_debate.limit);
            spent += limit.map_or(Usd::ZERO, |limit| limit.saturating_sub(of_debate.total));
        }
    }
    // If a removal was interrupted, the debate's journal still exists and was counted above.
    let is_gone = |removed: &&Removed| !directory.journal_path(&DebateId::new(removed.id.as_str())).exists();
    let removed = beside.removed.iter().filter(|removed| removed.day >= today).filter(is_gone);
    Ok(spent + removed.map(|removed| removed.usd).sum())
}

/// What a debate has spent and reserved in total.
pub fn spent_by(entry: &Entry) -> Usd {
    entry.journal.as_deref().map_or(Usd::ZERO, |journal| JournalSpending::read(journal, NaiveDate::MIN).total)
}

fn is_younger(path: &Path, than: DateTime<Utc>) -> bool {
    // A journal with unreadable metadata may have spent something today, so it is read.
    !path.metadata().and_then(|file| file.modified()).is_ok_and(|changed| changed < SystemTime::from(than))
}

#[derive(Default)]
struct JournalSpending {
    /// What was spent and reserved by day. An amount reserved before midnight and settled afterwards is included in
    /// both days.
    by_day: BTreeMap<NaiveDate, Usd>,
    total: Usd,
    limit: Option<Usd>,
    is_whole: bool,
}

impl JournalSpending {
    /// Reads the whole journal, but `by_day` begins at `since`. Returns zeros if the file is not a debate's journal.
    fn read(journal: &Path, since: NaiveDate) -> Self {
        let Ok(mut reader) = JournalReader::open(journal) else { return Self::default() };
        let (mut all, mut by_day) = (Books::default(), BTreeMap::<NaiveDate, Books>::new());
        let mut spent = Self::default();
        let mut next = reader.next_event();
        while let Ok(Some(recorded)) = &next {
            spent.limit = limit_of(recorded).or(spent.limit);
            let day = recorded.at.utc().date_naive();
            if day >= since {
                by_day.entry(day).or_default().apply(recorded, |_| None);
            }
            all.apply(recorded, |_| None);
            next = reader.next_event();
        }
        spent.is_whole = next.is_ok();
        spent.total = all.taken();
        let by_day = by_day.into_iter().map(|(day, ledger)| (day, ledger.taken()));
        spent.by_day = by_day.filter(|(_, usd)| *usd > Usd::ZERO).collect();
        spent
    }
}

/// The cost limit in the debate's first event. `None` if the debate calls no models, because it then costs nothing.
fn limit_of(recorded: &Recorded) -> Option<Usd> {
    let Event::Created(created) = &recorded.event else { return None };
    created.settings.max_cost().filter(|_| created.settings.calls_models())
}

#[cfg(test)]
mod tests {
    use dialectic_record::debate::fixture;
    use dialectic_record::store::Record;

    use super::*;

    const ID: &str = "deb-20260101-000000-aaaa";

    fn directory() -> (tempfile::TempDir, Directory) {
        let temporary = tempfile::tempdir().unwrap();
        let directory = Directory::at(temporary.path());
        (temporary, directory)
    }

    fn write(directory: &Directory, removed: &[(&str, NaiveDate, f64)]) {
        let removed = removed.iter().map(|(id, day, usd)| {
            let (id, day, usd) = ((*id).to_owned(), *day, Usd::from_dollars(*usd));
            Removed { id, day, usd }
        });
        let beside = SpendingFile { format_version: 1, removed: removed.collect(), limits: BTreeMap::new() };
        beside.write(directory).unwrap();
    }

    #[test]
    fn what_removed_debates_spent_counts_on_its_day() {
        let (_keep, directory) = directory();
        assert_eq!(spent_today(&directory).unwrap(), Usd::ZERO);
        let today = Utc::now().date_naive();
        let (before, after) = (today.pred_opt().unwrap(), today.succ_opt().unwrap());
        // The clock may have been ahead, so spending dated tomorrow has already happened.
        write(&directory, &[(ID, before, 1.0), (ID, today, 0.25), (ID, after, 0.5)]);
        assert_eq!(spent_today(&directory).unwrap(), Usd::from_dollars(0.75));
        // After an interrupted removal the debate still exists, so its journal counts.
        fs::write(directory.journal_path(&DebateId::new(ID)), "").unwrap();
        assert_eq!(spent_today(&directory).unwrap(), Usd::ZERO);
    }

    #[test]
    fn a_journal_without_readable_metadata_is_read() {
        let (keep, _) = directory();
        let before = Utc::now() - chrono::TimeDelta::days(1);
        assert!(is_younger(keep.path(), before) && !is_younger(keep.path(), before + chrono::TimeDelta::days(2)));
        assert!(is_younger(&keep.path().join("gone"), before));
    }

    #[test]
    fn what_evaluations_spend_counts_and_adds_up() {
        let (_keep, directory) = directory();
        for _ in 0..2 {
            note_spent(&directory, Usd::from_dollars(0.25)).unwrap();
        }
        assert_eq!(spent_today(&directory).unwrap(), Usd::from_dollars(0.5));
        assert_eq!(SpendingFile::read(&directory).unwrap().removed.len(), 1);
    }

    #[test]
    fn a_damaged_ledger_is_no_day_without_spending() {
        let (_keep, directory) = directory();
        let path = directory.path().join(LEDGER);
        write(&directory, &[(ID, Utc::now().date_naive(), 0.25)]);
        let whole = fs::read_to_string(&path).unwrap();
        for damaged in ["", "{}", "[]", &whole[..whole.len() / 2], &whole.replace("usd", "eur")] {
            fs::write(&path, damaged).unwrap();
            let error = spent_today(&directory).unwrap_err();
            assert!(matches!(error, SpendingError::Damaged { .. }), "{damaged}: {error}");
            assert!(error.to_string().contains(LEDGER), "{error}");
        }
        fs::write(&path, whole.replace("\"formatVersion\": 1", "\"formatVersion\": 2")).unwrap();
        assert!(matches!(spent_today(&directory), Err(SpendingError::Newer { found: 2, .. })));
    }

    #[test]
    fn one_at_a_time_decides() {
        let (_keep, directory) = directory();
        let held = SpendingLock::take(&directory).unwrap();
        let path = directory.path().join(LOCK);
        assert!(matches!(File::open(&path).unwrap().try_lock(), Err(TryLockError::WouldBlock)));
        drop(held);
        SpendingLock::take(&directory).unwrap();
    }

    #[test]
    fn a_noted_limit_is_forgotten_with_the_run() {
        let (_keep, directory) = directory();
        let lock = SpendingLock::take(&directory).unwrap();
        let (one, two) = (DebateId::new(ID), DebateId::new("deb-20260101-000000-bbbb"));
        lock.note_limit(&one, Some(Usd::from_dollars(0.5))).unwrap();
        // The first one is not running.
        lock.note_limit(&two, Some(Usd::from_dollars(0.25))).unwrap();
        let limits = SpendingFile::read(&directory).unwrap().limits;
        assert_eq!(limits.into_keys().collect::<Vec<_>>(), [two.to_string()]);
    }

    #[test]
    fn a_run_replaces_what_was_noted_for_the_one_before() {
        let (_keep, directory) = directory();
        let id = DebateId::new(ID);
        let noted = || SpendingFile::read(&directory).unwrap().limits.get(ID).copied();
        let (half, one) = (Usd::from_dollars(0.5), Usd::from_dollars(1.0));
        // There has never been a server here, so nothing is written.
        renew_limit(&directory, &id, Some(one)).unwrap();
        assert!(!directory.path().join(LEDGER).exists() && !directory.path().join(LOCK).exists());
        SpendingLock::take(&directory).unwrap().note_limit(&id, Some(half)).unwrap();
        for limit in [Some(one), Some(half), None] {
            renew_limit(&directory, &id, limit).unwrap();
            assert_eq!(noted(), limit);
        }
    }

    #[test]
    fn a_run_counts_with_the_limit_noted_for_it_and_a_rehearsal_with_none() {
        for (provider, limit, noted, spent) in [
            ("openai", None, Some(0.5), 0.5),
            ("openai", Some(1.0), None, 1.0),
            ("openai", Some(1.0), Some(0.5), 0.5),
            ("offline", Some(1.0), None, 0.0),
        ] {
            let (_keep, directory) = directory();
            let Event::Created(mut created) = fixture::created([].into()) else { panic!("a debate begins with it") };
            created.settings.debate.budget.max_cost_usd = limit.map(Usd::from_dollars);
            for agent in created.settings.agents.iter_mut().chain([&mut created.settings.judge]) {
                agent.provider = provider.to_owned();
            }
            let (record, _) = Record::begin(&directory, created, None).unwrap();
            let noted = noted.map(Usd::from_dollars);
            SpendingLock::take(&directory).unwrap().note_limit(&record.debate().id, noted).unwrap();
            assert_eq!(spent_today(&directory).unwrap(), Usd::from_dollars(spent), "{provider} {limit:?} {noted:?}");
        }
    }
}
