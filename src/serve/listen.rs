//! Limits connections and their idle times.
//!
//! A connection without the token or its cookie has a slot among strangers. When those are full, one of them is closed:
//! the oldest silent one, else the oldest. Each has a moment to show the token first; others wait to be accepted. So
//! clients with the token always get in. The first request with the token moves its connection to the known clients,
//! which strangers cannot displace.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::Router;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Instant, sleep_until, timeout};
use tokio_io_timeout::TimeoutStream;
use tokio_util::sync::CancellationToken;

/// The maximum connections of known clients. A browser opens six, each with some tens of kilobytes.
const MOST: usize = 384;
/// The maximum connections of strangers.
const MOST_STRANGERS: usize = 128;
/// The minimum time of a stranger: a client sends its request right after connecting.
const TO_BEGIN: Duration = Duration::from_millis(100);
/// The time limit for a request's head, and for an idle connection.
const TO_ASK: Duration = Duration::from_secs(30);
/// The approximate size of a connection's send buffer.
const BUFFER: usize = 32 * 1024;
/// The pause after the system refused a connection.
const PAUSE: Duration = Duration::from_millis(100);

/// The current connections.
#[derive(Default)]
struct Room {
    /// The strangers, oldest first.
    strangers: VecDeque<Stranger>,
    /// The number of known clients.
    known: usize,
    /// The number of connections so far.
    count: u64,
}

/// A connection without the token.
struct Stranger {
    number: u64,
    since: Instant,
    /// Whether anything was received on it.
    has_begun: bool,
    sends_away: CancellationToken,
}

impl Room {
    /// Makes room for another stranger by closing the oldest silent one, or the oldest. If the oldest is still within
    /// its minimum time, returns when that began.
    fn make_place(&mut self) -> Result<(), Instant> {
        if self.strangers.len() < MOST_STRANGERS {
            return Ok(());
        }
        let place = self.strangers.iter().position(|one| !one.has_begun).unwrap_or_default();
        let Some(one) = self.strangers.get(place) else { return Ok(()) };
        if one.since.elapsed() < TO_BEGIN {
            return Err(one.since);
        }
        one.sends_away.cancel();
        self.strangers.remove(place);
        Ok(())
    }
}

/// The slot of a connection. Clones share it.
#[derive(Clone)]
pub(super) struct Seat(Arc<ConnectionSlot>);

struct ConnectionSlot {
    room: Arc<Mutex<Room>>,
    number: u64,
    is_known: Mutex<bool>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Seat {
    /// A slot among strangers once available, and a token that signals its loss.
    async fn of_stranger(room: &Arc<Mutex<Room>>) -> (Self, CancellationToken) {
        let sends_away = CancellationToken::new();
        loop {
            let since = {
                let mut entered = locked(room);
                match entered.make_place() {
                    Ok(()) => {
                        entered.count += 1;
                        let (number, since) = (entered.count, Instant::now());
                        let stranger = Stranger { number, since, has_begun: false, sends_away: sends_away.clone() };
                        entered.strangers.push_back(stranger);
                        let place = ConnectionSlot { room: Arc::clone(room), number, is_known: Mutex::new(false) };
                        return (Self(Arc::new(place)), sends_away);
                    }
                    Err(since) => since,
                }
            };
            sleep_until(since + TO_BEGIN).await;
        }
    }

    /// Something was received on the connection.
    fn begins(&self) {
        let mut room = locked(&self.0.room);
        if let Some(stranger) = room.strangers.iter_mut().find(|one| one.number == self.0.number) {
            stranger.has_begun = true;
        }
    }

    /// Moves it to the known clients if there is room. Returns whether there was.
    pub(super) fn take_place(&self) -> bool {
        let mut is_known = locked(&self.0.is_known);
        if !*is_known {
            let mut room = locked(&self.0.room);
            let place = room.strangers.iter().position(|one| one.number == self.0.number);
            // A connection that lost its slot is closed, whatever its request.
            if let Some(place) = place.filter(|_| room.known < MOST) {
                room.strangers.remove(place);
                room.known += 1;
                *is_known = true;
            }
        }
        *is_known
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        let is_known = *locked(&self.is_known);
        let mut room = locked(&self.room);
        if is_known {
            room.known -= 1;
        } else {
            room.strangers.retain(|one| one.number != self.number);
        }
    }
}

/// Serves requests until the runtime ends. Disconnects a client that reads nothing for `client_timeout`.
pub(super) async fn listen(listener: TcpListener, router: Router, client_timeout: Duration) {
    let room = Arc::new(Mutex::new(Room::default()));
    loop {
        // The connection may be gone, or file descriptors may have run out.
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        let (seat, sent_away) = Seat::of_stranger(&room).await;
        let router = router.clone();
        tokio::spawn(async move {
            tokio::select! {
                () = converse(stream, router, seat, client_timeout) => {}
                () = sent_away.cancelled() => {}
            }
        });
        // Closed connections end before new ones begin.
        tokio::task::yield_now().await;
    }
}

async fn converse(stream: TcpStream, router: Router, seat: Seat, client_timeout: Duration) {
    // Sends without delay; a failure means that the connection is gone.
    drop(stream.set_nodelay(true));
    if !matches!(timeout(TO_ASK, stream.peek(&mut [0])).await, Ok(Ok(1))) {
        return;
    }
    seat.begins();
    let mut stream = TimeoutStream::new(stream);
    stream.set_write_timeout(Some(client_timeout));
    let mut server = http1::Builder::new();
    server.timer(TokioTimer::new()).header_read_timeout(TO_ASK).max_buf_size(BUFFER);
    let router = TowerToHyperService::new(router);
    let with_seat = service_fn(move |mut request: hyper::Request<Incoming>| {
        request.extensions_mut().insert(seat.clone());
        router.call(request)
    });
    // A disconnecting client is normal.
    drop(server.serve_connection(TokioIo::new(Box::pin(stream)), with_seat).await);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers of known clients and strangers, under a single lock to avoid a deadlock.
    fn taken(room: &Mutex<Room>) -> (usize, usize) {
        let room = locked(room);
        (room.known, room.strangers.len())
    }

    #[tokio::test(start_paused = true)]
    async fn strangers_take_the_places_of_strangers_alone() {
        let room = Arc::new(Mutex::new(Room::default()));
        let (known, sent_away) = Seat::of_stranger(&room).await;
        assert!(known.take_place() && known.take_place());
        let (first, of_first) = Seat::of_stranger(&room).await;
        let mut others = Vec::new();
        for _ in 1..MOST_STRANGERS {
            others.push(Seat::of_stranger(&room).await);
        }
        assert!(!of_first.is_cancelled());
        let (_last, _) = Seat::of_stranger(&room).await;
        // The oldest is gone, even if its token arrives later.
        assert!(of_first.is_cancelled() && !first.take_place());
        assert!(!sent_away.is_cancelled() && others.iter().all(|(_, token)| !token.is_cancelled()));
        // A stranger becomes known, and frees its slot.
        let (second, _) = &others[0];
        assert!(second.take_place());
        assert_eq!(taken(&room), (2, MOST_STRANGERS - 1));
        drop((others, known));
        assert_eq!(taken(&room), (0, 1));
    }

    #[tokio::test(start_paused = true)]
    async fn a_flood_leaves_a_client_its_moment_and_sends_the_silent_away_first() {
        let room = Arc::new(Mutex::new(Room::default()));
        let (client, of_client) = Seat::of_stranger(&room).await;
        let begun = Instant::now();
        let mut flood = Vec::new();
        for _ in 0..2 * MOST_STRANGERS - 1 {
            flood.push(Seat::of_stranger(&room).await);
            if begun.elapsed() < TO_BEGIN {
                assert!(!of_client.is_cancelled(), "it has its moment");
            }
        }
        assert!(begun.elapsed() >= TO_BEGIN && of_client.is_cancelled() && !client.take_place());
        // A connection that has sent something outlasts silent ones.
        let (client, of_client) = Seat::of_stranger(&room).await;
        client.begins();
        for _ in 0..10 * MOST_STRANGERS {
            flood.push(Seat::of_stranger(&room).await);
        }
        assert!(!of_client.is_cancelled() && client.take_place());
        // If all have sent something, the oldest goes.
        flood.clear();
        let (oldest, of_oldest) = Seat::of_stranger(&room).await;
        oldest.begins();
        for _ in 0..MOST_STRANGERS {
            let (one, sends_away) = Seat::of_stranger(&room).await;
            one.begins();
            flood.push((one, sends_away));
        }
        assert!(of_oldest.is_cancelled() && flood.iter().all(|(_, token)| !token.is_cancelled()));
    }

    #[tokio::test(start_paused = true)]
    async fn known_clients_have_a_bound_of_their_own() {
        let room = Arc::new(Mutex::new(Room::default()));
        let mut all = Vec::new();
        for _ in 0..MOST {
            let (seat, _) = Seat::of_stranger(&room).await;
            assert!(seat.take_place());
            all.push(seat);
        }
        let (more, _) = Seat::of_stranger(&room).await;
        assert!(!more.take_place());
        all.pop();
        assert!(more.take_place());
    }
}
