//! The order of a worker's debates: those that others hold are checked repeatedly while the rest continues.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

use super::super::plan::PlannedDebate;
use super::super::takeover::Watch;
use super::turn::Turn;
use super::{Ended, News, TO_ANSWER, Worker};

/// A debate that this worker has not ended yet.
pub(super) struct Candidate {
    pub(super) debate: PlannedDebate,
    pub(super) watch: Watch,
    /// Why it could not be run so far.
    obstacle: Option<Obstacle>,
    /// When it is looked at again.
    due: Instant,
}

/// Why a debate cannot be run yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Obstacle {
    /// Another worker holds it.
    Held,
    /// The budget has room for it only if a debate under way gives something back.
    Money,
}

impl Worker {
    /// Runs debates, `jobs` at once. What another worker holds is waited for while there is something else to do, then
    /// `wait` long; without `wait`, until it is known whether that worker still lives.
    pub async fn run(&self, debates: Vec<PlannedDebate>, jobs: usize, wait: Option<Duration>) {
        let now = Instant::now();
        let candidate =
            |debate: PlannedDebate| Candidate { watch: Watch::of(debate.id.clone()), debate, obstacle: None, due: now };
        let mut queue: VecDeque<Candidate> = debates.into_iter().map(candidate).collect();
        let mut running = JoinSet::new();
        let mut idle_since = None;
        loop {
            if self.0.stop.begun.is_cancelled() {
                break;
            }
            while running.len() < jobs
                && let Some(at) = next_due(&queue)
                && let Some(candidate) = queue.remove(at)
            {
                let worker = self.clone();
                running.spawn(async move { worker.turn(candidate).await });
            }
            if running.is_empty() && queue.is_empty() {
                return;
            }
            // Short looks at what others hold do not count as work.
            if queue.iter().any(|candidate| candidate.obstacle.is_none()) {
                idle_since = None;
            }
            let next = queue.iter().map(|candidate| candidate.due).min();
            let has_room = running.len() < jobs;
            let next_look = async {
                match next {
                    Some(due) if has_room => sleep_until(due).await,
                    _ => std::future::pending().await,
                }
            };
            tokio::select! {
                Some(turn) = running.join_next() => match turn {
                    Ok(Turn::Ended(id, ended)) => {
                        self.0.tell(News::Ended(id, ended));
                        idle_since = None;
                        // What it gave back may be enough for another.
                        let now = Instant::now();
                        for waiting in queue.iter_mut().filter(|waiting| waiting.obstacle == Some(Obstacle::Money)) {
                            waiting.due = now;
                        }
                    }
                    Ok(Turn::Later(candidate, obstacle)) => {
                        let due = Instant::now() + self.0.times.look();
                        queue.push_back(Candidate { obstacle: Some(obstacle), due, ..*candidate });
                    }
                    Err(died) => std::panic::resume_unwind(died.into_panic()),
                },
                () = next_look => {}
                () = self.0.stop.begun.cancelled() => {}
            }
            if running.is_empty() && queue.iter().all(|candidate| candidate.obstacle.is_some()) {
                let since = *idle_since.get_or_insert_with(Instant::now);
                self.give_up(&mut queue, since, wait);
            }
        }
        self.stop(running).await;
        for Candidate { debate, .. } in queue {
            self.0.tell(News::Ended(debate.id, Ended::Later { reason: "the worker was told to stop".to_owned() }));
        }
    }

    /// Gives up debates that are not worth waiting for any longer.
    fn give_up(&self, queue: &mut VecDeque<Candidate>, since: Instant, wait: Option<Duration>) {
        let is_over = |candidate: &Candidate, may_be_freed: bool| match (wait, candidate.obstacle) {
            (Some(wait), _) => since.elapsed() >= wait,
            (None, Some(Obstacle::Held)) => candidate.watch.is_alive,
            // A debate that is taken over may give something back.
            (None, Some(Obstacle::Money)) => !may_be_freed,
            (None, None) => false,
        };
        let may_be_freed = queue.iter().any(|one| one.obstacle == Some(Obstacle::Held) && !is_over(one, false));
        let (over, rest) = std::mem::take(queue).into_iter().partition(|one| is_over(one, may_be_freed));
        *queue = rest;
        let over: VecDeque<Candidate> = over;
        for candidate in over {
            let reason = match candidate.obstacle {
                Some(Obstacle::Money) => "the set's budget is held by debates that are not finished",
                Some(Obstacle::Held) | None => "another worker runs it",
            };
            self.0.tell(News::Ended(candidate.debate.id, Ended::Later { reason: reason.to_owned() }));
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
                    Some(Ok(Turn::Later(candidate, _))) => {
                        let reason = "the worker was told to stop".to_owned();
                        self.0.tell(News::Ended(candidate.debate.id, Ended::Later { reason }));
                    }
                    Some(Err(died)) => std::panic::resume_unwind(died.into_panic()),
                },
                () = sleep_until(in_time), if !over.is_cancelled() => over.cancel(),
            }
        }
    }
}

/// The place of the first debate that is due: those that were not looked at first.
fn next_due(queue: &VecDeque<Candidate>) -> Option<usize> {
    let now = Instant::now();
    let is_due = |candidate: &Candidate| candidate.due <= now;
    let new = queue.iter().position(|candidate| candidate.obstacle.is_none() && is_due(candidate));
    new.or_else(|| queue.iter().position(is_due))
}
