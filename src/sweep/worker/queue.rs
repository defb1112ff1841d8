//! The order of a worker's debates: while it runs some, it repeatedly checks those that other workers hold.

use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

use super::super::plan::PlannedDebate;
use super::group::Candidate;
use super::turn::Turn;
use super::{Ended, News, STOPPED, TO_ANSWER, Worker};

/// How a worker runs its debates.
#[derive(Debug, Clone, Copy)]
pub struct RunOptions {
    /// The number of debates at once.
    pub jobs: usize,
    /// The time to wait for a debate that another worker holds, once there is nothing else to do. Absent: until it is
    /// known whether that worker still lives.
    pub wait: Option<Duration>,
    /// Whether to resume debates that have failed.
    pub retry_failed: bool,
}

/// Why a debate cannot be run yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Obstacle {
    /// Another worker holds it.
    Held,
    /// The budget has room for it only if an unfinished debate returns money.
    Money,
}

/// A debate that could not run at its last check.
struct Waiting {
    candidate: Box<Candidate>,
    obstacle: Obstacle,
    /// The time of its next check.
    due: Instant,
}

impl Worker {
    /// Runs debates until each is finished, has failed or has to be tried again later.
    pub async fn run(&self, debates: Vec<PlannedDebate>, options: RunOptions) {
        let RunOptions { jobs, wait, retry_failed } = options;
        let mut fresh = debates.into_iter();
        let mut waiting: Vec<Waiting> = Vec::new();
        let mut running = JoinSet::new();
        let mut idle_since = None;
        while !self.0.stop.begun.is_cancelled() {
            while running.len() < jobs
                && let Some(candidate) =
                    fresh.next().map(|debate| Candidate::of(debate, retry_failed)).or_else(|| next_due(&mut waiting))
            {
                let worker = self.clone();
                running.spawn(async move { worker.turn(candidate).await });
            }
            if running.is_empty() && waiting.is_empty() {
                return;
            }
            let has_room = running.len() < jobs;
            let next = waiting.iter().map(|waiting| waiting.due).min().filter(|_| has_room);
            let next_look = async {
                match next {
                    Some(due) => sleep_until(due).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                Some(turn) = running.join_next() => match turn {
                    Ok(Turn::Ended(id, ended)) => {
                        self.0.tell(News::Ended(id, ended));
                        idle_since = None;
                        // The returned money may suffice for another debate.
                        let now = Instant::now();
                        for waiting in waiting.iter_mut().filter(|waiting| waiting.obstacle == Obstacle::Money) {
                            waiting.due = now;
                        }
                    }
                    Ok(Turn::Later(candidate, obstacle)) => {
                        waiting.push(Waiting { candidate, obstacle, due: Instant::now() + self.0.times.look() });
                    }
                    // The other debates would fail for the same reason.
                    Ok(Turn::CutOff(id, reason)) => {
                        let rest = fresh.by_ref().map(|debate| debate.id);
                        let rest = rest.chain(waiting.drain(..).map(|waiting| waiting.candidate.group.id));
                        for id in std::iter::once(id).chain(rest) {
                            self.0.tell(News::Ended(id, Ended::Later { reason: reason.clone() }));
                        }
                    }
                    Err(died) => std::panic::resume_unwind(died.into_panic()),
                },
                () = next_look => {}
                () = self.0.stop.begun.cancelled() => {}
            }
            // Brief checks of debates held by others do not count as work.
            if running.is_empty() && fresh.len() == 0 {
                let since = *idle_since.get_or_insert_with(Instant::now);
                self.give_up(&mut waiting, since, wait);
            }
        }
        self.stop(running).await;
        for debate in fresh.chain(waiting.into_iter().map(|waiting| waiting.candidate.group)) {
            self.0.tell(News::Ended(debate.id, Ended::Later { reason: STOPPED.to_owned() }));
        }
    }

    /// Gives up debates that are not worth waiting for any longer.
    fn give_up(&self, waiting: &mut Vec<Waiting>, since: Instant, wait: Option<Duration>) {
        let is_over = |one: &Waiting, may_be_freed: bool| match (wait, one.obstacle) {
            (Some(wait), _) => since.elapsed() >= wait,
            (None, Obstacle::Held) => one.candidate.watch.is_alive,
            // A debate that is taken over may return money.
            (None, Obstacle::Money) => !may_be_freed,
        };
        let may_be_freed = waiting.iter().any(|one| one.obstacle == Obstacle::Held && !is_over(one, false));
        for over in waiting.extract_if(.., |one| is_over(one, may_be_freed)) {
            let reason = match over.obstacle {
                Obstacle::Money => "unfinished debates hold the rest of the set's budget",
                Obstacle::Held => "another worker runs it",
            };
            self.0.tell(News::Ended(over.candidate.group.id, Ended::Later { reason: reason.to_owned() }));
        }
    }

    /// Waits for the answers of calls in flight, then abandons the rest.
    async fn stop(&self, mut running: JoinSet<Turn>) {
        let in_time = Instant::now() + TO_ANSWER;
        loop {
            let over = self.0.stop.now.clone();
            tokio::select! {
                turn = running.join_next() => match turn {
                    None => return,
                    Some(Ok(Turn::Ended(id, ended))) => self.0.tell(News::Ended(id, ended)),
                    Some(Ok(Turn::CutOff(id, reason))) => self.0.tell(News::Ended(id, Ended::Later { reason })),
                    Some(Ok(Turn::Later(candidate, _))) => {
                        let ended = Ended::Later { reason: STOPPED.to_owned() };
                        self.0.tell(News::Ended(candidate.group.id, ended));
                    }
                    Some(Err(died)) => std::panic::resume_unwind(died.into_panic()),
                },
                () = sleep_until(in_time), if !over.is_cancelled() => over.cancel(),
            }
        }
    }
}

/// A debate whose next check is due.
fn next_due(waiting: &mut Vec<Waiting>) -> Option<Candidate> {
    let now = Instant::now();
    let at = waiting.iter().position(|waiting| waiting.due <= now)?;
    Some(*waiting.remove(at).candidate)
}
