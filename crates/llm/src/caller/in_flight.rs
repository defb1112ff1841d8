//! Limits the number of attempts in flight, in total and per provider.

use std::collections::HashMap;
use std::pin::pin;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Notify, Semaphore, SemaphorePermit};
use tokio::time::Instant;

/// A limit on the attempts in flight to all providers together. A provider that reports a rate limit without
/// `Retry-After` gets a limit of its own: half of its attempts in flight. Each answer to a later attempt raises that
/// limit by one. Once the limit reaches the number of attempts that were in flight before, it is lifted.
#[derive(Debug)]
pub struct ConcurrencyLimit {
    all: Semaphore,
    providers: Mutex<HashMap<Arc<str>, Share>>,
    room: Notify,
}

#[derive(Debug, Default)]
struct Share {
    in_flight: usize,
    bound: Option<Bound>,
}

#[derive(Debug, Clone, Copy)]
struct Bound {
    most: usize,
    /// The number of attempts in flight when the first rate limit arrived.
    before: usize,
    since: Instant,
}

/// Limits shared by all debates of this process, by name.
static SHARED: LazyLock<ConcurrencyLimit> = LazyLock::new(ConcurrencyLimit::unbounded);

/// Waits for a slot in the debate and, if there is a `bound`, for one of the slots that all debates share. Never keeps
/// one slot while waiting for the other, because other calls could use it.
pub(super) async fn enter<'a>(
    debate: &'a ConcurrencyLimit,
    provider: &Arc<str>,
    bound: Option<(&Arc<str>, usize)>,
) -> (Slot<'a>, Option<Slot<'static>>) {
    loop {
        let place = debate.enter(provider).await;
        let Some((name, most)) = bound else { return (place, None) };
        if let Some(shared) = SHARED.try_enter(name, most) {
            return (place, Some(shared));
        }
        drop(place);
        SHARED.has_room(name, most).await;
    }
}

/// Permission for one attempt in flight; dropping it frees the slot.
pub(super) struct Slot<'a> {
    in_flight: &'a ConcurrencyLimit,
    provider: Arc<str>,
    began: Instant,
    /// Always `Some`, because the semaphore is never closed.
    _permit: Option<SemaphorePermit<'a>>,
}

impl Share {
    fn has_room(&self) -> bool {
        self.bound.is_none_or(|bound| self.in_flight < bound.most)
    }
}

impl ConcurrencyLimit {
    pub fn at_most(count: usize) -> Self {
        let all = Semaphore::new(count.min(Semaphore::MAX_PERMITS));
        Self { all, providers: Mutex::default(), room: Notify::new() }
    }

    pub fn unbounded() -> Self {
        Self::at_most(Semaphore::MAX_PERMITS)
    }

    pub(super) async fn enter(&self, provider: &Arc<str>) -> Slot<'_> {
        loop {
            let mut room = pin!(self.room.notified());
            room.as_mut().enable();
            // An attempt that waits for its provider must not occupy a slot.
            if self.share(provider, |share| share.has_room()) {
                let permit = self.all.acquire().await.ok();
                if let Some(slot) = self.entered(provider, permit, usize::MAX) {
                    return slot;
                }
            }
            room.await;
        }
    }

    fn try_enter(&self, provider: &Arc<str>, most: usize) -> Option<Slot<'_>> {
        let permit = self.all.try_acquire().ok()?;
        self.entered(provider, Some(permit), most)
    }

    async fn has_room(&self, provider: &Arc<str>, most: usize) {
        loop {
            let mut room = pin!(self.room.notified());
            room.as_mut().enable();
            if self.share(provider, |share| share.in_flight < most) {
                return;
            }
            room.await;
        }
    }

    fn entered<'a>(
        &'a self,
        provider: &Arc<str>,
        permit: Option<SemaphorePermit<'a>>,
        most: usize,
    ) -> Option<Slot<'a>> {
        let entered = self.share(provider, |share| {
            let has_room = share.has_room() && share.in_flight < most;
            share.in_flight += usize::from(has_room);
            has_room
        });
        let provider = Arc::clone(provider);
        entered.then(|| Slot { in_flight: self, provider, began: Instant::now(), _permit: permit })
    }

    fn share<T>(&self, provider: &Arc<str>, of: impl FnOnce(&mut Share) -> T) -> T {
        let mut providers: MutexGuard<'_, HashMap<Arc<str>, Share>> =
            self.providers.lock().unwrap_or_else(PoisonError::into_inner);
        of(providers.entry(Arc::clone(provider)).or_default())
    }
}

impl Slot<'_> {
    /// Limits the provider to half of its attempts in flight after a rate limit without `Retry-After`. If several
    /// attempts that were in flight together are refused, only the first refusal lowers the limit.
    pub(super) fn refused(&self) {
        self.in_flight.share(&self.provider, |share| {
            if share.bound.is_none_or(|bound| bound.since <= self.began) {
                let before = share.bound.map_or(share.in_flight, |bound| bound.before);
                let most = (share.in_flight / 2).max(1);
                share.bound = Some(Bound { most, before, since: Instant::now() });
            }
        });
    }

    pub(super) fn answered(&self) {
        self.in_flight.share(&self.provider, |share| {
            if let Some(bound) = share.bound.as_mut().filter(|bound| bound.since <= self.began) {
                bound.most += 1;
                if bound.most >= bound.before {
                    share.bound = None;
                }
            }
        });
        self.in_flight.room.notify_waiters();
    }
}

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        self.in_flight.share(&self.provider, |share| share.in_flight -= 1);
        self.in_flight.room.notify_waiters();
    }
}
