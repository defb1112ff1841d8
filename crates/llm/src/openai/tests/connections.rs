//! Connections that are kept open, closed by the server, and reused.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::*;

/// How a connection responds to its requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answers {
    /// Answers the first request, and hangs up on the second.
    Once,
    /// Answers the first request, and then hangs up at once.
    OnceAndCloses,
    /// Hangs up on the first request, like a server that crashes.
    Never,
    /// Answers the first request, and hangs up long after the second, like a server that crashes.
    OnceThenSlowly,
    /// Answers the first request, and half of the second.
    OnceAndAHalf,
    /// Answers all requests with streams.
    Streams,
}

/// Reads a complete request; `None` if the client has disconnected.
async fn read_request(connection: &mut TcpStream) -> Option<()> {
    let mut seen = Vec::new();
    loop {
        let mut piece = [0; 4096];
        let read = connection.read(&mut piece).await.ok().filter(|read| *read > 0)?;
        seen.extend_from_slice(&piece[..read]);
        let text = String::from_utf8_lossy(&seen).to_lowercase();
        let Some(end) = text.find("\r\n\r\n") else { continue };
        let length = text.split("content-length:").nth(1).and_then(|rest| rest.split("\r\n").next()).unwrap();
        if seen.len() >= end + 4 + length.trim().parse::<usize>().unwrap() {
            return Some(());
        }
    }
}

async fn serve(mut connection: TcpStream, place: usize, answers: Answers, log: UnboundedSender<usize>) {
    let body = chat_answer().to_string();
    let whole =
        format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    for request in 0.. {
        if read_request(&mut connection).await.is_none() {
            return;
        }
        log.send(place).unwrap();
        if answers == Answers::Streams {
            let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
            connection.write_all(head.as_bytes()).await.unwrap();
            for event in regular_stream(CHAT) {
                connection.write_all(format!("{:x}\r\n{event}\r\n", event.len()).as_bytes()).await.unwrap();
            }
            // The end of the body arrives after the rest of the answer.
            tokio::time::sleep(Duration::from_millis(10)).await;
            connection.write_all(b"0\r\n\r\n").await.unwrap();
            continue;
        }
        match (request, answers) {
            (0, Answers::OnceAndCloses) => return drop(connection.write_all(whole.as_bytes()).await),
            (0, Answers::Once | Answers::OnceThenSlowly | Answers::OnceAndAHalf) => {
                connection.write_all(whole.as_bytes()).await.unwrap();
            }
            (_, Answers::OnceThenSlowly) => return tokio::time::sleep(Duration::from_millis(300)).await,
            (_, Answers::OnceAndAHalf) => {
                return drop(connection.write_all(&whole.as_bytes()[..whole.len() / 2]).await);
            }
            _ => return,
        }
    }
}

/// A server whose connections respond as `answers`, and the index of the connection that each request used.
async fn start(answers: Answers) -> (OpenAiClient, UnboundedReceiver<usize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://127.0.0.1:{}/v1", listener.local_addr().unwrap().port());
    let (log, seen) = unbounded_channel();
    tokio::spawn(async move {
        for place in 0.. {
            let (connection, _) = listener.accept().await.unwrap();
            tokio::spawn(serve(connection, place, answers, log.clone()));
        }
    });
    (OpenAiClient::new(endpoint(&url, ApiKind::Chat), &http_client(None).unwrap()).unwrap(), seen)
}

fn all(seen: &mut UnboundedReceiver<usize>) -> Vec<usize> {
    std::iter::from_fn(|| seen.try_recv().ok()).collect()
}

#[tokio::test]
async fn a_request_that_a_kept_connection_took_before_it_closed_is_an_attempt() {
    let (client, mut seen) = start(Answers::Once).await;
    assert_eq!(ask(&client).await, Ok(because()));
    let failed = ask(&client).await.unwrap_err();
    assert!(matches!(failed, ModelError::Broken { .. }) && failed.may_be_billed(), "{failed:?}");
    assert_eq!(ask(&client).await, Ok(because()));
    assert_eq!(all(&mut seen), [0, 0, 1], "each request that the server saw is one that the caller knows of");
}

#[tokio::test]
async fn a_kept_connection_that_closed_before_it_is_used_is_no_attempt() {
    let (client, mut seen) = start(Answers::OnceAndCloses).await;
    for _ in 0..3 {
        assert_eq!(ask(&client).await, Ok(because()));
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(all(&mut seen), [0, 1, 2]);
}

#[tokio::test]
async fn a_new_connection_that_is_closed_is_a_failure() {
    let (client, mut seen) = start(Answers::Never).await;
    let failed = ask(&client).await.unwrap_err();
    assert!(matches!(failed, ModelError::Broken { .. }), "{failed:?}");
    assert_eq!(all(&mut seen), [0]);
}

#[tokio::test]
async fn a_request_that_had_been_taken_is_not_sent_twice() {
    for answers in [Answers::OnceThenSlowly, Answers::OnceAndAHalf] {
        let (client, mut seen) = start(answers).await;
        assert_eq!(ask(&client).await, Ok(because()));
        let failed = ask(&client).await.unwrap_err();
        assert!(matches!(failed, ModelError::Broken { .. }), "{failed:?}");
        assert_eq!(all(&mut seen), [0, 0], "{answers:?}");
    }
}

#[tokio::test]
async fn a_connection_is_used_again_after_a_stream() {
    let (client, mut seen) = start(Answers::Streams).await;
    for _ in 0..4 {
        assert_eq!(follow(&client, &request(), IDLE).await.0, Ok(because()));
    }
    assert_eq!(all(&mut seen), [0, 0, 0, 0]);
}
