//! Streams events to watchers: server-sent events, or lines of JSON.
//!
//! The journal is the buffer: a client names the last event that it knows, and receives every later event exactly once
//! and in order. A slow client delays only its own task.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderValue, header};
use axum::response::Response;
use futures_util::stream::unfold;
use serde_json::json;
use tokio::sync::OwnedSemaphorePermit;
use tokio::sync::mpsc::{self, error::SendError};
use tokio::time::{MissedTickBehavior, interval, sleep};

use dialectic_record::ids::{AgentId, CallKey, DebateId};
use dialectic_record::live::{CallInFlight, Follower, Progress, Signal, Words};
use dialectic_record::store::{AccessMode, Entry, JournalReader};
use dialectic_report::display::event_line;

use super::app::App;
use super::catalogue::{DebateRow, DebateStanding, row_of};

/// The number of frames to queue per client. A frame may contain a whole answer, so long queues for many clients would
/// need a lot of memory.
const FRAMES: usize = 2;
/// The polling interval for a debate in another process.
const LOOK_AGAIN: Duration = Duration::from_millis(300);
/// The polling interval for the list.
const LIST_AGAIN: Duration = Duration::from_secs(2);
/// The interval of keep-alives, which detect dead connections.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

pub(super) enum StreamFormat {
    Lines,
    /// Server-sent events of one debate.
    Sse,
    /// Server-sent events of any number of debates, with the number of the last event sent for each debate.
    SseOfSeveral(BTreeMap<Arc<str>, u64>),
}

enum Frame {
    /// `seq` is the event's number in the journal; an unrecorded event has none.
    Of {
        debate: Arc<str>,
        seq: Option<u64>,
        line: String,
    },
    List(String),
    /// A debate does not exist, or was removed.
    Gone(String),
    /// The debate stopped running, which ends its stream.
    End(String),
    KeepAlive,
}

/// `told` is the number of the last event that the client knows. The stream ends when the debate stops running.
pub(super) fn of_debate(
    app: Arc<App>,
    entry: Entry,
    told: u64,
    form: StreamFormat,
    place: OwnedSemaphorePermit,
) -> Response {
    let (frames, waiting) = mpsc::channel(FRAMES);
    tokio::spawn(async move {
        let _place = place;
        let ended = async {
            if follow(&app, &entry, told, false, &frames).await.is_ok() {
                let status = standing(&app, &entry).await;
                let _ = frames.send(Frame::End(json!({ "status": status }).to_string())).await;
            }
        };
        tokio::select! {
            () = ended => {}
            () = keep_alive(&frames) => {}
            () = app.closing.cancelled() => {}
        }
    });
    respond(waiting, form)
}

/// Streams the events of `debates` until the client disconnects. The number of each debate is that of the last event
/// that the client knows. With `wants_list`, also streams changes to the list of debates. `missing` are requested
/// debates that do not exist.
pub(super) fn of_several(
    app: Arc<App>,
    debates: Vec<(Entry, u64)>,
    missing: Vec<String>,
    wants_list: bool,
    place: OwnedSemaphorePermit,
) -> Response {
    let (frames, waiting) = mpsc::channel(FRAMES);
    let positions = debates.iter().map(|(entry, told)| (Arc::from(entry.id()), *told)).collect();
    let form = StreamFormat::SseOfSeveral(positions);
    tokio::spawn(async move {
        let _place = place;
        for id in missing {
            let _ = frames.send(Frame::Gone(id)).await;
        }
        let followed = debates.iter().map(|(entry, told)| follow(&app, entry, *told, true, &frames));
        // Keep the stream open when all debates are gone: if it ended, the client would only reconnect.
        let all = async {
            let _ = futures_util::future::join_all(followed).await;
            std::future::pending::<()>().await;
        };
        let listed = async {
            if wants_list {
                let _ = list(&app, &frames).await;
            }
        };
        tokio::select! {
            ((), ()) = async { tokio::join!(all, listed) } => {}
            () = keep_alive(&frames) => {}
            () = app.closing.cancelled() => {}
        }
    });
    respond(waiting, form)
}

/// Follows a debate until it stops running or, if `is_endless`, until its journal is removed.
async fn follow(
    app: &Arc<App>,
    entry: &Entry,
    mut told: u64,
    is_endless: bool,
    frames: &mpsc::Sender<Frame>,
) -> Result<(), SendError<Frame>> {
    let id = DebateId::new(entry.id());
    let name: Arc<str> = Arc::from(id.as_str());
    let Some(path) = entry.journal.as_deref() else { return Ok(()) };
    let gone = || frames.send(Frame::Gone(entry.id()));
    let mut changes = app.runs.changes();
    let mut past = None;
    loop {
        changes.mark_unchanged();
        if let Some(signals) = app.runs.signals(&id) {
            past = None;
            let (recorded, progress, subscription) = signals.subscribe_behind(Words::Wanted);
            drop(signals);
            let Ok(mut journal) = JournalReader::open(path) else { return gone().await };
            told = tell_past(&mut journal, told, &name, frames).await?;
            for line in in_flight(&progress).iter().filter_map(|signal| event_line(signal).ok()) {
                frames.send(Frame::Of { debate: Arc::clone(&name), seq: None, line }).await?;
            }
            drop(progress);
            let mut follower = Follower::new(subscription, Box::new(journal), told, recorded);
            while let Ok(Some(signal)) = follower.next().await {
                let seq = if let Signal::Recorded(event) = &*signal { Some(event.seq) } else { None };
                let Ok(line) = event_line(&signal) else { continue };
                if let Some(seq) = seq {
                    // The signals lack the events that a fork copied from its parent, so read those from the journal.
                    if seq > told + 1
                        && let Ok(mut journal) = JournalReader::open(path)
                    {
                        told = tell_past(&mut journal, told, &name, frames).await?;
                    }
                    if seq <= told {
                        continue;
                    }
                    told = seq;
                }
                frames.send(Frame::Of { debate: Arc::clone(&name), seq, line }).await?;
            }
        } else {
            let Ok(mut reader) = past.take().map_or_else(|| JournalReader::open(path), Ok) else { return gone().await };
            // Check whether the debate is running before reading, so that everything written before the end is read.
            let is_held = entry.is_held();
            told = tell_past(&mut reader, told, &name, frames).await?;
            if !is_endless && !is_held && app.runs.signals(&id).is_none() {
                return Ok(());
            }
            past = Some(reader).filter(JournalReader::is_between_lines).filter(|_| path.exists());
        }
        tokio::select! {
            is_open = changes.changed() => if is_open.is_err() { return Ok(()) },
            () = sleep(LOOK_AGAIN) => {}
        }
    }
}

/// Signals with the start and the words so far of each call in flight, for a client that connects during the call.
fn in_flight(progress: &Progress) -> Vec<Signal> {
    let panel = progress.panel();
    let model = |id: &AgentId| panel.participants().find(|one| one.id == *id).map_or("", |one| one.model.as_str());
    let of = |(key, call): &(&CallKey, &CallInFlight)| {
        let (key, text) = ((*key).clone(), call.words.end.clone());
        let started = Signal::CallStarted { key: key.clone(), model: model(&key.agent_id).to_owned(), asked: None };
        [started, Signal::Words { key, text }]
    };
    progress.busy().iter().flat_map(|(_, calls)| calls.iter().flat_map(of)).collect()
}

/// Sends the journal's events after the number `told`. Returns the number of the last event that the client then knows.
async fn tell_past(
    reader: &mut JournalReader,
    mut told: u64,
    name: &Arc<str>,
    frames: &mpsc::Sender<Frame>,
) -> Result<u64, SendError<Frame>> {
    // Stop at an unreadable event: skipping it would leave a gap.
    while let Ok(Some(event)) = reader.next_event() {
        if event.seq <= told {
            continue;
        }
        told = event.seq;
        let signal = Signal::Recorded(Arc::new(event));
        if let Ok(line) = event_line(&signal) {
            frames.send(Frame::Of { debate: Arc::clone(name), seq: Some(told), line }).await?;
        }
    }
    Ok(told)
}

async fn list(app: &Arc<App>, frames: &mpsc::Sender<Frame>) -> Result<(), SendError<Frame>> {
    let mut known: Option<BTreeMap<String, DebateRow>> = None;
    let mut changes = app.runs.changes();
    loop {
        changes.mark_unchanged();
        let rows = app.blocking(|app| app.catalogue.rows(&app.runs)).await;
        if let Ok(Ok(rows)) = rows {
            let now: BTreeMap<String, DebateRow> = rows.into_iter().map(|row| (row.id.clone(), row)).collect();
            let difference = |before: &BTreeMap<String, DebateRow>| {
                let rows: Vec<&DebateRow> = now.values().filter(|row| before.get(&row.id) != Some(*row)).collect();
                let gone: Vec<&String> = before.keys().filter(|id| !now.contains_key(*id)).collect();
                (!rows.is_empty() || !gone.is_empty()).then(|| json!({ "rows": rows, "gone": gone }).to_string())
            };
            let line = known.as_ref().map_or_else(|| Some(json!({ "rows": [], "gone": [] }).to_string()), difference);
            known = Some(now);
            if let Some(line) = line {
                frames.send(Frame::List(line)).await?;
            }
        }
        tokio::select! {
            is_open = changes.changed() => if is_open.is_err() { return Ok(()) },
            () = sleep(LIST_AGAIN) => {}
        }
    }
}

/// Sends keep-alives, and returns when the client disconnects.
async fn keep_alive(frames: &mpsc::Sender<Frame>) {
    let mut times = interval(KEEP_ALIVE);
    times.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            () = frames.closed() => return,
            _ = times.tick() => {
                // If the queue is full, the client receives other frames anyway.
                if matches!(frames.try_send(Frame::KeepAlive), Err(mpsc::error::TrySendError::Closed(_))) {
                    return;
                }
            }
        }
    }
}

async fn standing(app: &Arc<App>, entry: &Entry) -> DebateStanding {
    let entry = entry.clone();
    let status = app.blocking(move |app| {
        let saved = entry.load(AccessMode::State).ok()?;
        Some(row_of(&saved.debate, &entry, &app.runs).status)
    });
    status.await.ok().flatten().unwrap_or(DebateStanding::Unreadable)
}

impl StreamFormat {
    fn write(&mut self, frame: Frame) -> Option<String> {
        Some(match (self, frame) {
            (Self::Lines, Frame::Of { line, .. }) => line + "\n",
            (Self::Lines, Frame::List(_) | Frame::Gone(_) | Frame::End(_) | Frame::KeepAlive) => return None,
            (_, Frame::KeepAlive) => ":\n\n".to_owned(),
            (_, Frame::List(line)) => format!("event: list\ndata: {line}\n\n"),
            (_, Frame::Gone(debate)) => format!("event: gone\ndata: {}\n\n", json!({ "debate": debate })),
            (_, Frame::End(line)) => format!("event: end\ndata: {line}\n\n"),
            (Self::Sse, Frame::Of { seq, line, .. }) => {
                let id = seq.map_or_else(String::new, |seq| format!("id: {seq}\n"));
                format!("{id}data: {line}\n\n")
            }
            (Self::SseOfSeveral(positions), Frame::Of { debate, seq, line }) => {
                let id = seq.map_or_else(String::new, |seq| {
                    positions.insert(Arc::clone(&debate), seq);
                    let all: Vec<String> = positions.iter().map(|(id, seq)| format!("{id}:{seq}")).collect();
                    format!("id: {}\n", all.join(","))
                });
                // Ids need no escaping: `entry_of` allows only letters, digits and `-_.`.
                let rest = line.strip_prefix('{').unwrap_or_default();
                format!("{id}data: {{\"debate\":\"{debate}\",{rest}\n\n")
            }
        })
    }
}

fn respond(frames: mpsc::Receiver<Frame>, form: StreamFormat) -> Response {
    let kind = if matches!(form, StreamFormat::Lines) { "application/x-ndjson" } else { "text/event-stream" };
    let bytes = unfold((frames, form), async |(mut frames, mut form)| {
        loop {
            if let Some(text) = form.write(frames.recv().await?) {
                return Some((Ok::<_, std::convert::Infallible>(Bytes::from(text)), (frames, form)));
            }
        }
    });
    let mut response = Response::new(Body::from_stream(bytes));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}
