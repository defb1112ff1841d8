//! Connections: how many there are at once, and how long each may be silent.
//!
//! A connection on which nobody has shown the token yet, or the cookie that it becomes, has its place in a room of its
//! own. When that room is full, one of its connections is closed: the oldest silent one, else the oldest. Each has a
//! moment to show the token before it can be closed; until one has had that, others wait to be accepted. So clients
//! with the token get in however many others connect, and however fast. The first request with the token moves its
//! connection to the places of known clients, where no stranger can displace it.

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

/// Connections of known clients at most. A browser opens six, and each takes some tens of kilobytes.
const MOST: usize = 384;
/// Connections at most on which nobody has shown the token yet.
const MOST_STRANGERS: usize = 128;
/// How long a connection keeps its place among those at least: a client sends what it asks as soon as it is connected.
const TO_BEGIN: Duration = Duration::from_millis(100);
/// How long a connection may take to send the head of a request, or stay open without one.
const TO_ASK: Duration = Duration::from_secs(30);
/// Bytes that wait in a connection to be sent, about.
const BUFFER: usize = 32 * 1024;
/// How long no connection is taken where the system has no room for one.
const PAUSE: Duration = Duration::from_millis(100);

/// The connections that there are.
#[derive(Default)]
struct Room {
    /// Those of strangers, the oldest first.
    strangers: VecDeque<Stranger>,
    /// How many known clients there are.
    known: usize,
    /// How many connections there have been.
    count: u64,
}

/// A connection on which nobody has shown the token yet.
struct Stranger {
    number: u64,
    since: Instant,
    /// Whether anything has come in on it.
    has_begun: bool,
    sends_away: CancellationToken,
}

impl Room {
    /// Makes a place for another stranger. The oldest silent one gives way, or the oldest of all if none is silent. If
    /// even that one has not had its moment, returns since when it waits.
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

/// The place of a connection. Clones are the same.
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
    /// A place among the strangers, as soon as there is one, and what says that it is needed for somebody else.
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

    /// Something has come in on the connection.
    fn begins(&self) {
        let mut room = locked(&self.0.room);
        if let Some(stranger) = room.strangers.iter_mut().find(|one| one.number == self.0.number) {
            stranger.has_begun = true;
        }
    }

    /// Takes a place among those of known clients. Says whether there is one.
    pub(super) fn take_place(&self) -> bool {
        let mut is_known = locked(&self.0.is_known);
        if !*is_known {
            let mut room = locked(&self.0.room);
            let place = room.strangers.iter().position(|one| one.number == self.0.number);
            // One that was sent away meanwhile is closed whatever it asked.
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

/// Answers requests until the runtime ends. Disconnects a client that reads nothing for `client_timeout`.
pub(super) async fn listen(listener: TcpListener, router: Router, client_timeout: Duration) {
    let room = Arc::new(Mutex::new(Room::default()));
    loop {
        // A connection may be gone already, and none can be accepted without a free file descriptor.
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
        // Those that were sent away close before others come.
        tokio::task::yield_now().await;
    }
}

async fn converse(stream: TcpStream, router: Router, seat: Seat, client_timeout: Duration) {
    // What is sent is sent at once; if it cannot be set, the connection is gone.
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
    // A client that breaks off is nobody's fault.
    drop(server.serve_connection(TokioIo::new(Box::pin(stream)), with_seat).await);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many places known clients have, and strangers. Both from under one lock: a second one would wait for the
    /// first.
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
        // The oldest is gone, also if it brings the token too late.
        assert!(of_first.is_cancelled() && !first.take_place());
        assert!(!sent_away.is_cancelled() && others.iter().all(|(_, token)| !token.is_cancelled()));
        // A stranger gets in among the known, and gives the place back.
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
        // A connection that is sending a request is not closed in favour of silent ones.
        let (client, of_client) = Seat::of_stranger(&room).await;
        client.begins();
        for _ in 0..10 * MOST_STRANGERS {
            flood.push(Seat::of_stranger(&room).await);
        }
        assert!(!of_client.is_cancelled() && client.take_place());
        // Where all have begun, the oldest goes.
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
