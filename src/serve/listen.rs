//! Connections: how many there are at once, and how long each may be silent.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_io_timeout::TimeoutStream;

/// Connections at most. A browser opens six, and each takes some tens of kilobytes.
const MOST: usize = 384;
/// Connections beyond that to which this is said, at most: the others are closed without a word.
const MOST_REFUSED: usize = 64;
/// How long a connection may take to send the head of a request, or stay open without one.
const TO_ASK: Duration = Duration::from_secs(30);
/// How long a client may take nothing of what it is sent. It is disconnected then.
const TO_READ: Duration = Duration::from_secs(20);
/// How long somebody who is refused may take to hear it.
const TO_HEAR: Duration = Duration::from_secs(1);
/// Bytes that wait in a connection to be sent, about.
const BUFFER: usize = 32 * 1024;
/// How long no connection is taken where the system has no room for one.
const PAUSE: Duration = Duration::from_millis(100);

const TOO_MANY: &str = "{\"type\":\"busy\",\"title\":\"Too much is going on at once\",\"status\":503,\
                        \"detail\":\"there are too many connections\",\"retryable\":true}";

/// Answers requests until the runtime ends.
pub(super) async fn listen(listener: TcpListener, router: Router) {
    let (places, refusals) = (Arc::new(Semaphore::new(MOST)), Arc::new(Semaphore::new(MOST_REFUSED)));
    loop {
        // One that is gone already is no connection, and none can be taken where no file is left to be opened.
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        if let Ok(place) = Arc::clone(&places).try_acquire_owned() {
            let router = router.clone();
            tokio::spawn(async move {
                converse(stream, router).await;
                drop(place);
            });
        } else if let Ok(place) = Arc::clone(&refusals).try_acquire_owned() {
            tokio::spawn(async move {
                drop(tokio::time::timeout(TO_HEAR, refuse(stream)).await);
                drop(place);
            });
        }
    }
}

async fn converse(stream: TcpStream, router: Router) {
    // What is sent is sent at once; a connection on which that cannot be set is one that is gone.
    drop(stream.set_nodelay(true));
    let mut stream = TimeoutStream::new(stream);
    stream.set_write_timeout(Some(TO_READ));
    let mut server = http1::Builder::new();
    server.timer(TokioTimer::new()).header_read_timeout(TO_ASK).max_buf_size(BUFFER);
    let answered = server.serve_connection(TokioIo::new(Box::pin(stream)), TowerToHyperService::new(router));
    // A client that breaks off is nobody's fault.
    drop(answered.await);
}

/// Says that there is no place. What was asked is read, since it would be a fault of the connection to leave it unread,
/// and the client would see that and not the answer.
async fn refuse(mut stream: TcpStream) -> std::io::Result<()> {
    let length = TOO_MANY.len();
    let head = format!(
        "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/problem+json\r\nContent-Length: {length}\r\n\
         Retry-After: 5\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(TOO_MANY.as_bytes()).await?;
    stream.shutdown().await?;
    let mut unread = [0; 1024];
    while stream.read(&mut unread).await? > 0 {}
    Ok(())
}
