//! A worker, which runs debates of a plan concurrently and continues interrupted ones.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use futures_util::stream::{self, Stream, StreamExt};
use tokio_util::sync::CancellationToken;

use dialectic_engine::engine::RunEnding;
use dialectic_engine::runner::{Failed, Run, Runner, Services};
use dialectic_record::debate::Status;
use dialectic_record::ids::DebateId;
use dialectic_record::store::{Directory, Entry};

use super::plan::{Machine, PlannedDebate, SavedPlan};
use super::segment::{SegmentError, SegmentWriter, Stored, WriterEnd, claim_set, compact};
use super::store::SharedStore;
use crate::error::{Error, ErrorCategory, in_full};

pub use super::status::{Ended, WorkerTally};

const STOPPED: &str = "the worker was told to stop";

pub struct Worker {
    store: SharedStore,
    machine: Machine,
    services: Services,
    /// Unique among all workers.
    name: String,
    /// Contains the journals of running debates.
    directory: PathBuf,
    stop: Stop,
    /// Why the store is unreachable. Once set, no further debates are started.
    cut_off: OnceLock<String>,
}

#[derive(Debug, Clone, Default)]
pub struct Stop {
    /// Cancelled to pause the debates: no more calls are started.
    pub begun: CancellationToken,
    /// Cancelled to abandon the calls in flight, too.
    pub now: CancellationToken,
}

impl Worker {
    /// Claims the store for the plan. `directory` is for the worker's own files.
    ///
    /// # Errors
    ///
    /// Returns an error if the store cannot be used, or belongs to another set.
    pub async fn begin(
        plan: &SavedPlan,
        store: SharedStore,
        machine: Machine,
        directory: &Path,
        stop: Stop,
    ) -> Result<Self, SegmentError> {
        claim_set(plan, &*store).await?;
        let name = format!("{}-{:016x}", std::process::id(), rand::random::<u64>());
        let services = Services::new(machine.environment.clone()).sharing_models();
        let (directory, cut_off) = (directory.to_owned(), OnceLock::new());
        Ok(Self { store, machine, services, name, directory, stop, cut_off })
    }

    /// Checks one debate of each variant before spending anything.
    ///
    /// # Errors
    ///
    /// Returns an error if one of the unfinished debates cannot run on this machine.
    pub async fn check(&self, debates: &[PlannedDebate]) -> Result<(), Error> {
        let runner = Runner::new(Directory::at(&self.directory), self.services.clone());
        let mut checked: Vec<&str> = Vec::new();
        for debate in debates {
            let variant = debate.variant.name.as_str();
            if checked.contains(&variant) {
                continue;
            }
            let prepared = runner.prepare(debate.created(&self.machine));
            match prepared.and_then(|prepared| prepared.check_limit()) {
                Ok(()) => checked.push(variant),
                // The debate is finished, so this worker need not run it.
                Err(_) if Stored::read(&*self.store, &debate.id).await?.is_compact => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Runs `jobs` debates at a time; failed debates are resumed only if `retry_failed` is set. Results arrive in any
    /// order.
    pub fn run(
        &self,
        debates: Vec<PlannedDebate>,
        jobs: usize,
        retry_failed: bool,
    ) -> impl Stream<Item = (DebateId, Ended)> + use<'_> {
        let run = move |debate: PlannedDebate| async move {
            let ended = self.debate(&debate, retry_failed).await.unwrap_or_else(|ended| ended);
            (debate.id, ended)
        };
        stream::iter(debates).map(run).buffer_unordered(jobs)
    }

    async fn debate(&self, debate: &PlannedDebate, retry_failed: bool) -> Result<Ended, Ended> {
        if self.stop.begun.is_cancelled() {
            return Err(Ended::Later { reason: STOPPED.to_owned() });
        }
        if let Some(reason) = self.cut_off.get() {
            return Err(Ended::Later { reason: reason.clone() });
        }
        let (store, id) = (&*self.store, &debate.id);
        let stored = Stored::read(store, id).await.map_err(|error| self.unread(&error))?;
        if stored.is_compact {
            return Ok(Ended::Finished { cost: None, before: true });
        }
        if let Some((past, _)) = stored.debate(store, id)? {
            match past.status {
                Status::Completed => {
                    compact(store, id, &stored.journal).await;
                    return Ok(Ended::Finished { cost: None, before: true });
                }
                Status::Failed if !retry_failed => return Ok(Ended::failed(past.error)),
                Status::Pending | Status::Running | Status::Paused | Status::Failed => {}
            }
        }
        let own = self.directory.join(id.as_str());
        let directory = Directory::at(&own);
        let ended = self.start(debate, &stored, &directory).await;
        if let Ok(Ended::Finished { .. }) = &ended
            && let Ok(journal) = fs::read(directory.journal_path(id))
        {
            compact(store, id, &journal).await;
        }
        // Workers continue debates from the store, so this copy is no longer needed.
        drop(fs::remove_dir_all(&own));
        ended
    }

    /// The outcome for a debate that cannot be read from the store. If the store is unreachable, sets `cut_off`, so
    /// that no further debates are started.
    fn unread(&self, error: &SegmentError) -> Ended {
        let ended = Ended::of(error);
        if let Ended::Later { reason } = &ended {
            self.cut_off.get_or_init(|| reason.clone());
        }
        ended
    }

    async fn start(&self, debate: &PlannedDebate, stored: &Stored, directory: &Directory) -> Result<Ended, Ended> {
        let runner = Runner::new(directory.clone(), self.services.clone());
        let created = debate.created(&self.machine);
        let prepared = if stored.journal.is_empty() {
            let prepared = runner.prepare(created)?;
            prepared.check_limit()?;
            prepared
        } else {
            restore(&directory.journal_path(&debate.id), &stored.journal)?;
            let saved = runner.open(&Entry::of_state(&directory.state_path(&debate.id)))?;
            runner.take_over(saved, created)?
        };
        let writer = SegmentWriter::after(stored, &self.store, &debate.id, &self.name);
        let mut ready = prepared.copied_to(Arc::new(writer.clone())).begin()?;
        ready.is_kept = true;
        Ok(self.ended(ready.run(), &writer).await)
    }

    async fn ended(&self, run: Run, writer: &SegmentWriter) -> Ended {
        let controls = run.controls();
        let wait = run.wait();
        tokio::pin!(wait);
        let mut is_pausing = false;
        let ended = loop {
            tokio::select! {
                ended = &mut wait => break ended,
                () = writer.ended(), if !controls.is_interrupted() => controls.interrupt(),
                () = self.stop.now.cancelled(), if !controls.is_interrupted() => controls.interrupt(),
                () = self.stop.begun.cancelled(), if !is_pausing => {
                    is_pausing = true;
                    controls.pause();
                }
            }
        };
        let later = |reason: &str| Ended::Later { reason: reason.to_owned() };
        match (writer.end(), ended) {
            (Some(WriterEnd::TakenOver), _) => Ended::TakenOver,
            (Some(WriterEnd::Fault(fault)), _) => Ended::of(fault),
            (None, Err(Failed { source, .. })) => Ended::from(source),
            (None, Ok(finished)) => match finished.ending {
                RunEnding::Completed => Ended::Finished { cost: finished.debate.total_cost(), before: false },
                RunEnding::Failed => Ended::failed(finished.debate.error),
                RunEnding::ServerGone => later("the model's server is unreachable"),
                RunEnding::LimitReached => later("your subscription's usage limit was reached"),
                RunEnding::HostAsked => {
                    Ended::failed(Some("debates in a set cannot wait for answers from the host".to_owned()))
                }
                RunEnding::Paused | RunEnding::Suspended => later(STOPPED),
            },
        }
    }
}

fn restore(path: &Path, journal: &[u8]) -> Result<(), Ended> {
    use io::Write as _;
    let write = || {
        fs::create_dir_all(path.parent().unwrap_or(Path::new(".")))?;
        let mut options = fs::OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        options.open(path)?.write_all(journal)
    };
    write().map_err(|error: io::Error| Ended::Refused {
        reason: format!("cannot write {}: {}", path.display(), in_full(&error)),
        blame: ErrorCategory::General,
    })
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_restored_journal_is_for_its_user_only() {
        let keep = tempfile::tempdir().unwrap();
        let path = keep.path().join("own/deb.events.jsonl");
        restore(&path, b"{}\n").ok().unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(restore(&path, b"other").is_err());
    }
}
