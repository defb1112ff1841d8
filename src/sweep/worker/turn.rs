//! A worker's turn at a debate: it checks, takes, runs and compacts the debate.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use dialectic_base::diagnostic::{Diagnostic, ErrorCategory};
use dialectic_base::money::Usd;
use dialectic_engine::engine::{Books, RunEnding};
use dialectic_engine::runner::{Failed, Prepared, Run, Runner};
use dialectic_record::debate::{DebateId, Event, Recorded, Status, fold};
use dialectic_record::store::{Directory, Entry, Replica, read_journal};

use super::super::budget::{Claim, Grant};
use super::super::copy::{Copy, Notes};
use super::super::finished::Finished;
use super::super::group::Unit;
use super::super::plan::PlannedDebate;
use super::super::segment::SegmentError;
use super::super::takeover::{Holding, Sight, Taking};
use super::group::Candidate;
use super::queue::Obstacle;
use super::{Ended, News, STOPPED, Worker, in_full};
use crate::lift::Metering;

/// The result of a turn.
pub(super) enum Turn {
    /// This worker is done with the debate.
    Ended(DebateId, Ended),
    /// It should be checked again.
    Later(Box<Candidate>, Obstacle),
    /// The store cannot be used now, for this reason.
    CutOff(DebateId, String),
}

/// The result of a run.
enum Outcome {
    Ended(Ended),
    /// Another worker took over.
    Lost,
    /// The budget has no room now.
    NoMoney,
}

impl From<Ended> for Outcome {
    fn from(ended: Ended) -> Self {
        Self::Ended(ended)
    }
}

impl Ended {
    /// It ended without an answer, with the error on record.
    fn failed(error: Option<String>) -> Self {
        Self::Failed { reason: error.unwrap_or_else(|| "it has no answer".to_owned()) }
    }
}

impl<E: Diagnostic> From<E> for Ended {
    fn from(error: E) -> Self {
        let reason = in_full(&error);
        match error.blame() {
            ErrorCategory::Busy => Self::Later { reason },
            blame @ (ErrorCategory::General
            | ErrorCategory::Arguments
            | ErrorCategory::Provider
            | ErrorCategory::Configuration) => Self::Refused { reason, blame },
        }
    }
}

impl Worker {
    pub(super) async fn turn(&self, mut candidate: Candidate) -> Turn {
        let id = candidate.group.id.clone();
        match self.through(&mut candidate).await {
            Ok(Outcome::Ended(ended)) => Turn::Ended(id, ended),
            Ok(Outcome::Lost) => Turn::Later(Box::new(candidate), Obstacle::Held),
            Ok(Outcome::NoMoney) => Turn::Later(Box::new(candidate), Obstacle::Money),
            Err(ended) => match ended {
                Ended::Later { reason } => Turn::CutOff(id, reason),
                ended => Turn::Ended(id, ended),
            },
        }
    }

    /// Goes through the records of a group.
    async fn through(&self, candidate: &mut Candidate) -> Result<Outcome, Ended> {
        loop {
            let ended = match self.look_and_run(candidate).await? {
                Outcome::Ended(ended) => ended,
                outcome @ (Outcome::Lost | Outcome::NoMoney) => return Ok(outcome),
            };
            if let Some(ended) = candidate.advance(&*self.0.store, ended).await? {
                return Ok(ended.into());
            }
            if self.0.stop.begun.is_cancelled() {
                return Ok(Ended::Later { reason: STOPPED.to_owned() }.into());
            }
        }
    }

    async fn look_and_run(&self, candidate: &mut Candidate) -> Result<Outcome, Ended> {
        let worker = &self.0;
        let debate = &candidate.unit.debate;
        let before = Outcome::Ended(Ended::Finished { cost: None, before: true });
        let vacancy = match candidate.watch.look(&worker.store, worker.times).await? {
            Sight::Finished => return Ok(before),
            Sight::Held => return Ok(Outcome::Lost),
            Sight::Free(vacancy) => vacancy,
        };
        if let Some(reason) = vacancy.failed.clone().filter(|_| !candidate.retry_failed) {
            return Ok(Ended::Failed { reason }.into());
        }
        // A debate that was not begun and cannot be paid for is left alone.
        if let Some(limit) = candidate.unit.limit.filter(|_| vacancy.is_first())
            && let Some(budget) = &worker.budget
        {
            let sums = budget.sums().await?;
            if limit > sums.balance + sums.held {
                return Ok(Ended::Spent { limit, left: sums.balance }.into());
            }
            if limit > sums.balance {
                return Ok(Outcome::NoMoney);
            }
        }
        let holding = match vacancy.take(&worker.store, &debate.id, &worker.name, worker.times).await? {
            Taking::Finished => return Ok(before),
            Taking::Missed => return Ok(Outcome::Lost),
            Taking::Mine(holding) => holding,
        };
        worker.tell(News::Running(debate.id.clone()));
        let own = worker.directory.path().join(format!("{}-{}", debate.id, holding.epoch));
        let directory = Directory::at(own.join("debates"));
        let outcome = self.run_held(candidate, *holding, &directory).await;
        worker.tell(News::Left(debate.id.clone()));
        // It is in the store.
        drop(fs::remove_dir_all(&own));
        Ok(outcome)
    }

    /// Runs a debate that this worker holds, and leaves it.
    async fn run_held(&self, candidate: &Candidate, holding: Holding, directory: &Directory) -> Outcome {
        let (worker, debate) = (&self.0, &candidate.unit.debate);
        let Holding { epoch, chain, copy } = holding;
        let (copy, claim) = (Arc::new(copy), chain.claim());
        let held = Held { worker: self, candidate, copy: Arc::clone(&copy), directory, claim };
        let outcome = match restored(debate, &chain.journal, directory, &worker.store.place()) {
            Ok(past) => held.run_and_finish(epoch, past).await,
            Err(ended) => ended.into(),
        };
        drop(held);
        let outcome = match copy.refusal() {
            // Another attempt would pay for the same and end in the same way.
            Some(refusal) => Ended::Refused { reason: refusal.reason, blame: ErrorCategory::General }.into(),
            None if copy.is_lost() => return Outcome::Lost,
            None => outcome,
        };
        match &outcome {
            Outcome::Ended(Ended::Finished { .. }) => {
                let next = copy.next_segment();
                drop(copy);
                // What stays is in nobody's way.
                drop(Finished::remove_parts(&*worker.store, &debate.id, &chain, next).await);
            }
            Outcome::Ended(Ended::Failed { reason }) => copy.release(Some(reason.clone())).await,
            Outcome::Ended(Ended::Spent { .. } | Ended::Refused { .. } | Ended::Later { .. })
            | Outcome::Lost
            | Outcome::NoMoney => copy.release(None).await,
        }
        outcome
    }
}

/// A debate that this worker holds, with its inputs.
struct Held<'a> {
    worker: &'a Worker,
    candidate: &'a Candidate,
    copy: Arc<Copy>,
    directory: &'a Directory,
    /// The last claim on the budget before this run.
    claim: Option<Claim>,
}

impl Held<'_> {
    /// Runs it to its end, and compacts it if it is finished.
    async fn run_and_finish(&self, epoch: u32, past: Vec<Recorded>) -> Outcome {
        self.copy.has_before(past.len() as u64);
        let (outcome, events) = self.granted_and_run(past).await;
        if !matches!(outcome, Outcome::Ended(Ended::Finished { .. })) {
            return outcome;
        }
        match self.finish(epoch, &events).await {
            Ok(()) => outcome,
            Err(ended) => Outcome::Ended(ended),
        }
    }

    /// Runs it once the budget has granted its limit; gives back what is left at its end. Returns all its events.
    async fn granted_and_run(&self, past: Vec<Recorded>) -> (Outcome, Vec<Recorded>) {
        let before = ended_before(&past, self.candidate.retry_failed);
        let grant = match self.grant(before.as_ref()).await {
            Ok(Ok(grant)) => grant,
            // Without a grant it holds nothing.
            Ok(Err(outcome)) => return (before.map_or(outcome, Outcome::Ended), past),
            Err(ended) => return (Outcome::Ended(ended), past),
        };
        let is_before = before.is_some();
        let (outcome, events) = match before {
            Some(ended) => (ended.into(), past),
            None => match self.prepared(&past) {
                Ok(run) => self.watched(run).await,
                Err(ended) => (ended.into(), past),
            },
        };
        let is_over = match &outcome {
            Outcome::Ended(Ended::Finished { .. } | Ended::Failed { .. }) => true,
            // It was never begun.
            Outcome::Ended(Ended::Refused { .. }) => events.is_empty(),
            // The grant belongs to the debate.
            Outcome::Ended(Ended::Spent { .. } | Ended::Later { .. }) | Outcome::Lost | Outcome::NoMoney => false,
        };
        // What this run was granted follows every claim before it.
        let last = self.claim.filter(|_| is_before);
        if is_over && let Err(ended) = self.give_back(grant, last, &events).await {
            return (Outcome::Ended(ended), events);
        }
        (outcome, events)
    }

    /// The amount that the budget grants it, if there is one.
    async fn grant(&self, before: Option<&Ended>) -> Result<Result<Option<Usd>, Outcome>, Ended> {
        let Unit { debate, limit, .. } = &self.candidate.unit;
        let Some((budget, limit)) = self.worker.0.budget.as_ref().zip(*limit) else {
            return Ok(Ok(None));
        };
        let amount = match self.claim {
            Some(Claim::Asks { amount, .. }) => amount,
            // It ended without an answer and returned its rest, and continues with this amount.
            Some(Claim::Returns { left, .. }) => left,
            None => limit,
        };
        let is_granted = match before {
            Some(Ended::Finished { .. }) => true,
            // Its last worker may have been about to ask for a grant to resume it.
            Some(Ended::Failed { .. }) => matches!(self.claim, Some(Claim::Returns { .. })),
            Some(Ended::Spent { .. } | Ended::Refused { .. } | Ended::Later { .. }) | None => false,
        };
        if is_granted {
            return Ok(Ok(Some(amount)));
        }
        let granted = budget.grant(&debate.id, amount, self.claim, &mut Notes(Arc::clone(&self.copy))).await?;
        Ok(match granted {
            Grant::Granted => Ok(Some(amount)),
            Grant::Later(_) => Err(Outcome::NoMoney),
            Grant::Spent(sums) => Err(Ended::Spent { limit: amount, left: sums.balance }.into()),
        })
    }

    /// Returns the rest of the grant after these events.
    async fn give_back(&self, grant: Option<Usd>, last: Option<Claim>, events: &[Recorded]) -> Result<(), Ended> {
        let Some((budget, granted)) = self.worker.0.budget.as_ref().zip(grant) else { return Ok(()) };
        let limit = self.candidate.unit.limit.unwrap_or(granted);
        let mut books = Books::default();
        for recorded in events {
            books.apply(recorded, |_| None);
        }
        let left = limit.saturating_sub(books.taken());
        budget
            .give_back(&self.candidate.unit.debate.id, granted, left, last, &mut Notes(Arc::clone(&self.copy)))
            .await?;
        Ok(())
    }

    /// Prepares the debate to start or to continue.
    fn prepared(&self, past: &[Recorded]) -> Result<Run, Ended> {
        let Self { worker, candidate: Candidate { unit, .. }, copy, directory, .. } = self;
        let debate = &unit.debate;
        let runner = Runner::new((*directory).clone(), worker.0.services.clone());
        let spec = debate.spec(&worker.0.machine);
        let prepared: Prepared = if past.is_empty() {
            let prepared = runner.prepare(spec)?;
            prepared.check_limit()?;
            prepared
        } else {
            let entry = Entry::of_state(&directory.state_path(&debate.id));
            let saved = runner.open(&entry, &[])?;
            runner.take_over(saved, spec)?
        };
        let replica = Arc::clone(copy) as Arc<dyn Replica>;
        let ready = prepared.copied_to(debate.id.clone(), replica).begin()?.kept();
        // A debate has its limit in its settings. The meter of an arm is none: it foresees likely costs.
        let ceiling = unit.limit.filter(|_| unit.arm.is_some() && worker.0.budget.is_some());
        Ok(match ceiling {
            Some(most) => ready.capped(most).run(),
            None => ready.run(),
        })
    }

    /// Waits for the end of a run, and stops it when the worker is told to or another worker took over.
    async fn watched(&self, run: Run) -> (Outcome, Vec<Recorded>) {
        let stop = &self.worker.0.stop;
        let controls = run.controls();
        let meter = self.candidate.unit.arm.as_ref().and_then(|(_, meter)| meter.clone());
        let mut metering = Metering::of(&run, meter);
        let wait = run.wait();
        tokio::pin!(wait);
        let mut is_pausing = false;
        let ended = loop {
            tokio::select! {
                ended = &mut wait => break ended,
                () = metering.keep(&controls) => {}
                () = self.copy.over(), if !controls.is_interrupted() => controls.interrupt(),
                () = stop.now.cancelled(), if !controls.is_interrupted() => controls.interrupt(),
                () = stop.begun.cancelled(), if !is_pausing => {
                    is_pausing = true;
                    controls.pause();
                }
            }
        };
        drop((controls, metering));
        let outcome = match ended {
            _ if self.copy.is_lost() => Outcome::Lost,
            Ok(finished) => match finished.ending {
                RunEnding::Completed => Ended::Finished { cost: finished.debate.total_cost(), before: false }.into(),
                RunEnding::Failed => Ended::failed(finished.debate.error).into(),
                RunEnding::ServerGone => Ended::Later { reason: "its server is unreachable".to_owned() }.into(),
                RunEnding::LimitReached => Ended::Later { reason: "its subscription is used up".to_owned() }.into(),
                RunEnding::Paused | RunEnding::Suspended => Ended::Later { reason: STOPPED.to_owned() }.into(),
            },
            Err(Failed { source, .. }) if self.copy.may_send().is_err() => {
                Ended::Later { reason: in_full(&source) }.into()
            }
            Err(Failed { source, .. }) => Outcome::Ended(Ended::from(source)),
        };
        match read_journal(&self.directory.journal_path(&self.candidate.unit.debate.id)) {
            Ok(contents) => (outcome, contents.events),
            // Its cost is unknown, so it keeps its grant.
            Err(error) => (Outcome::Ended(Ended::Later { reason: in_full(&error) }), Vec::new()),
        }
    }

    /// Compacts a debate whose journal, with these events, is complete in the store.
    async fn finish(&self, epoch: u32, events: &[Recorded]) -> Result<(), Ended> {
        let Self { worker, candidate: Candidate { unit, .. }, directory, .. } = self;
        let debate = &unit.debate;
        let unreadable =
            |error| SegmentError::damaged(&*worker.0.store, &debate.id, format!("its copy cannot be read: {error}"));
        let journal = fs::read(directory.journal_path(&debate.id)).map_err(unreadable)?;
        Finished::of(&debate.id, epoch, journal, events).write(&*worker.0.store).await?;
        Ok(())
    }
}

/// How a debate ended before, unless it is to be resumed.
fn ended_before(past: &[Recorded], retry_failed: bool) -> Option<Ended> {
    // One that cannot be folded cannot be resumed either, and says why then.
    let debate = fold(past).ok()?;
    match debate.status {
        Status::Completed => Some(Ended::Finished { cost: None, before: false }),
        Status::Failed if !retry_failed => Some(Ended::failed(debate.error)),
        Status::Pending | Status::Running | Status::Paused | Status::Failed => None,
    }
}

/// Writes the journal of a debate that was begun elsewhere, and reads it.
fn restored(
    debate: &PlannedDebate,
    journal: &[u8],
    directory: &Directory,
    place: &str,
) -> Result<Vec<Recorded>, Ended> {
    if journal.is_empty() {
        return Ok(Vec::new());
    }
    let path = directory.journal_path(&debate.id);
    let written = fs::create_dir_all(directory.path()).and_then(|()| write_own(&path, journal));
    if let Err(error) = written {
        let reason = format!("cannot write {}: {error}", path.display());
        return Err(Ended::Refused { reason, blame: ErrorCategory::General });
    }
    let contents = read_journal(&path).map_err(|error| Ended::Refused {
        reason: format!("its journal in the store {place} is damaged: {}", in_full(&error)),
        blame: ErrorCategory::Arguments,
    })?;
    let first = contents.events.first().map(|first| &first.event);
    if matches!(first, Some(Event::Created(created)) if created.id == debate.id) {
        return Ok(contents.events);
    }
    Err(Ended::Refused {
        reason: format!("its journal in the store {place} belongs to another debate"),
        blame: ErrorCategory::Arguments,
    })
}

/// Writes a file that only this user can read.
fn write_own(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    use std::io::Write as _;
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)?.write_all(bytes)
}
