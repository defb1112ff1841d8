//! The daily limit of requests for the debates of a directory, shared by all processes.

use std::fs::{File, OpenOptions, create_dir_all};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use chrono::{DateTime, Days, NaiveDate, NaiveTime, Utc};
use futures_util::future::BoxFuture;
use tokio::task::spawn_blocking;

use dialectic_llm::{ChatModel, FailedAttempt, Further, Live, ModelError, Reply, Request};

/// The counter's file. Only files that end in `.json` are debates.
const COUNT: &str = "calls.ledger";

/// The daily limit and its counter: one line with the day and the count, of fixed length, so that one write replaces
/// it.
#[derive(Debug, Clone)]
pub(super) struct DailyCalls {
    path: PathBuf,
    limit: u32,
}

impl DailyCalls {
    /// The limit for the debates in `directory`.
    pub(super) fn of(directory: &Path, limit: u32) -> Self {
        Self { path: directory.join(COUNT), limit }
    }

    /// Counts a request before it is sent. Blocks the thread while another process counts.
    ///
    /// # Errors
    /// The day's limit is reached, or the counter cannot be read or written.
    pub(super) fn take(&self, now: DateTime<Utc>) -> Result<(), ModelError> {
        let today = now.date_naive();
        match self.counted(today) {
            Ok(None) => Ok(()),
            Ok(Some(day)) => Err(ModelError::NoCallsToday { limit: self.limit, until: midnight_after(day) }),
            Err(error) => Err(ModelError::Unsendable {
                message: format!("cannot count the day's requests in {}: {error}", self.path.display()),
            }),
        }
    }

    /// Like [`take`](Self::take), without blocking the thread.
    ///
    /// # Errors
    /// As [`take`](Self::take).
    pub(super) async fn take_now(&self) -> Result<(), ModelError> {
        let daily = self.clone();
        let taken = spawn_blocking(move || daily.take(Utc::now())).await;
        let died = |_| ModelError::Unsendable { message: "the program failed while counting it".to_owned() };
        taken.map_err(died)?
    }

    /// Counts one request, or returns the day whose limit is reached. A clock set back does not start a day again.
    fn counted(&self, today: NaiveDate) -> io::Result<Option<NaiveDate>> {
        let mut file = self.open()?;
        file.lock()?;
        let mut line = String::new();
        file.read_to_string(&mut line)?;
        let (day, before) = match parsed(&line) {
            Some((day, count)) if day >= today => (day, count),
            Some(_) => (today, 0),
            None if line.is_empty() => (today, 0),
            None => return Err(io::Error::new(io::ErrorKind::InvalidData, "it is damaged")),
        };
        if before >= self.limit {
            return Ok(Some(day));
        }
        file.seek(SeekFrom::Start(0))?;
        file.write_all(format!("{day} {:010}\n", before + 1).as_bytes())?;
        Ok(None)
    }

    fn open(&self) -> io::Result<File> {
        let mut open = OpenOptions::new();
        open.read(true).write(true).create(true).truncate(false);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut open, 0o600);
        match open.open(&self.path) {
            // The directory is made for the first request, not for those that are only planned.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                create_dir_all(self.path.parent().unwrap_or(Path::new(".")))?;
                open.open(&self.path)
            }
            opened => opened,
        }
    }
}

/// Counts a model's requests towards the daily limit when no engine does.
pub(crate) struct CountedModel {
    model: Arc<dyn ChatModel>,
    daily: DailyCalls,
}

impl CountedModel {
    /// Counts the requests of `model` together with those of the debates in `directory`.
    pub(crate) fn of(model: Arc<dyn ChatModel>, directory: &Path, limit: u32) -> Self {
        Self { model, daily: DailyCalls::of(directory, limit) }
    }
}

impl ChatModel for CountedModel {
    fn ask<'a>(&'a self, request: &'a Request, live: Live<'a>) -> BoxFuture<'a, Result<Reply, FailedAttempt>> {
        Box::pin(async move {
            self.daily.take_now().await?;
            let further = live.further.map(|further| CountedFurther { further, daily: &self.daily });
            let further = further.as_ref().map(|further| further as &dyn Further);
            self.model.ask(request, Live { further, ..live }).await
        })
    }

    fn is_local(&self) -> bool {
        self.model.is_local()
    }

    fn is_notional(&self) -> bool {
        self.model.is_notional()
    }

    fn shared_bound(&self) -> Option<(&Arc<str>, usize)> {
        self.model.shared_bound()
    }

    fn reach(&self) -> BoxFuture<'_, Result<(), ModelError>> {
        self.model.reach()
    }
}

/// Counts the further requests of an attempt.
struct CountedFurther<'a> {
    further: &'a dyn Further,
    daily: &'a DailyCalls,
}

impl Further for CountedFurther<'_> {
    fn after(&self, failed: FailedAttempt) -> BoxFuture<'_, Result<Option<u32>, FailedAttempt>> {
        Box::pin(async move {
            // Charges the failed request first: it is paid for even if the day's limit is reached.
            let max_tokens = self.further.after(failed).await?;
            self.daily.take_now().await?;
            Ok(max_tokens)
        })
    }

    fn repeats_once(&self) -> bool {
        self.further.repeats_once()
    }
}

fn parsed(line: &str) -> Option<(NaiveDate, u32)> {
    let (day, count) = line.strip_suffix('\n')?.split_once(' ')?;
    Some((day.parse().ok()?, count.parse().ok()?))
}

fn midnight_after(day: NaiveDate) -> DateTime<Utc> {
    day.checked_add_days(Days::new(1)).unwrap_or(day).and_time(NaiveTime::MIN).and_utc()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(time: &str) -> DateTime<Utc> {
        time.parse().unwrap()
    }

    #[test]
    fn a_day_has_as_many_as_its_limit_whoever_takes_them_and_the_next_as_many_again() {
        let directory = tempfile::tempdir().unwrap();
        let daily = DailyCalls::of(directory.path(), 100);
        let taken: usize = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8)
                .map(|_| {
                    let daily = daily.clone();
                    scope.spawn(move || (0..40).filter(|_| daily.take(at("2026-03-01T12:00:00Z")).is_ok()).count())
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).sum()
        });
        assert_eq!(taken, 100);
        let over = daily.take(at("2026-03-01T23:59:59Z")).unwrap_err();
        let until = at("2026-03-02T00:00:00Z");
        assert_eq!(over, ModelError::NoCallsToday { limit: 100, until });
        assert_eq!(daily.take(until), Ok(()));
        // A clock set back does not start the day again.
        assert_eq!(std::fs::read_to_string(directory.path().join(COUNT)).unwrap(), "2026-03-02 0000000001\n");
        assert_eq!(daily.take(at("2026-03-01T12:00:00Z")), Ok(()));
        assert_eq!(std::fs::read_to_string(directory.path().join(COUNT)).unwrap(), "2026-03-02 0000000002\n");
        let low = DailyCalls::of(directory.path(), 1);
        assert!(low.take(at("2026-03-01T12:00:00Z")).is_err());
    }

    /// Sends a second request after one that may be billed, like a client that probes its server.
    struct TwoRequests;

    impl ChatModel for TwoRequests {
        fn ask<'a>(&'a self, _: &'a Request, live: Live<'a>) -> BoxFuture<'a, Result<Reply, FailedAttempt>> {
            Box::pin(async move {
                let further = live.further.expect("it is asked before a second request");
                further.after(ModelError::Empty.into()).await?;
                Err(ModelError::OutputLimit.into())
            })
        }
    }

    /// Permits everything, and counts what was charged.
    #[derive(Default)]
    struct Charged(std::sync::atomic::AtomicUsize);

    impl Further for Charged {
        fn after(&self, _: FailedAttempt) -> BoxFuture<'_, Result<Option<u32>, FailedAttempt>> {
            self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            Box::pin(async { Ok(None) })
        }

        fn repeats_once(&self) -> bool {
            false
        }
    }

    impl dialectic_llm::Listener for Charged {
        fn on_token(&self, _: &str) {}
    }

    #[tokio::test]
    async fn every_request_of_an_attempt_counts() {
        let directory = tempfile::tempdir().unwrap();
        let model = CountedModel::of(Arc::new(TwoRequests), directory.path(), 3);
        let request = Request {
            model: "m".into(),
            temperature: 0.0,
            max_tokens: None,
            system: "".into(),
            prompt: "p".into(),
            turns: Vec::new(),
            answer: None,
            tools: Arc::new([]),
        };
        let charged = Charged::default();
        let wait = std::time::Duration::from_secs(1);
        let timeouts = dialectic_llm::Timeouts { first_token: wait, idle: wait };
        let live = Live { listener: &charged, timeouts, attempt: 1, further: Some(&charged) };
        let count = || std::fs::read_to_string(directory.path().join(COUNT)).unwrap();
        assert_eq!(model.ask(&request, live).await.unwrap_err().error, ModelError::OutputLimit);
        assert!(count().ends_with(" 0000000002\n"), "{}", count());
        // The fourth request is not sent; the third is charged.
        let refused = model.ask(&request, live).await.unwrap_err().error;
        assert!(matches!(refused, ModelError::NoCallsToday { limit: 3, .. }), "{refused}");
        assert!(count().ends_with(" 0000000003\n"), "{}", count());
        assert_eq!(charged.0.into_inner(), 2);
    }

    #[test]
    fn a_count_that_cannot_be_read_is_not_taken_for_none() {
        let directory = tempfile::tempdir().unwrap();
        for damaged in ["2026-03-01 00000000", "2026-03-01\n", "many\n", "2026-03-01 -000000001\n"] {
            std::fs::write(directory.path().join(COUNT), damaged).unwrap();
            let error = DailyCalls::of(directory.path(), 9).take(at("2026-03-01T12:00:00Z")).unwrap_err();
            assert!(error.to_string().contains("it is damaged"), "{damaged:?}: {error}");
        }
    }
}
