//! A model server on loopback that answers as a test tells it and remembers everything it was asked.
//!
//! It knows nothing of the program: the unit tests of the client compile it into the library too.

mod check;
mod incoming;
mod prose;
mod script;
mod stream;
mod wire;

use std::collections::HashMap;
use std::io::{Read as _, Write as _};
use std::net::SocketAddr;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::{Request, State};
use axum::response::Response;
use axum::serve::ListenerExt as _;
use tokio::sync::oneshot;

pub(crate) use check::violations;
pub(crate) use incoming::{Api, Incoming, Purpose};
pub(crate) use prose::prose;
pub(crate) use script::{Content, Delivery, Ending, Reply, answer, by_task, default_reply, short_reply, solved};
pub(crate) use stream::Gate;

/// The path of a question that is not in the log.
const SETTLED: &str = "/settled";

type Script = Arc<dyn Fn(&Incoming) -> Reply + Send + Sync>;

/// A mock model server in a thread of its own. It ends when it is dropped.
pub(crate) struct MockServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// A request and what became of it. Times count from the start of the server.
#[derive(Debug, Clone)]
pub(crate) struct Exchange {
    pub(crate) request: Arc<Incoming>,
    /// Requests being answered when it arrived, itself included.
    pub(crate) in_flight: usize,
    pub(crate) arrived: Duration,
    pub(crate) ended: Option<Duration>,
    /// The client closed the connection before there was an answer.
    pub(crate) abandoned: bool,
}

impl Exchange {
    /// From its arrival to its end; absent while it is in flight.
    pub(crate) fn took(&self) -> Option<Duration> {
        self.ended.map(|ended| ended.saturating_sub(self.arrived))
    }
}

struct Shared {
    started: Instant,
    /// The one that is switched off, if any.
    missing: Option<Api>,
    script: Mutex<Script>,
    log: Mutex<Log>,
    arrival: Condvar,
}

#[derive(Default)]
struct Log {
    exchanges: Vec<Exchange>,
    violations: Vec<String>,
    in_flight: usize,
    seen: HashMap<(String, u64), usize>,
    /// How often it was begun anew.
    forgotten: usize,
}

impl MockServer {
    /// With both APIs and [`default_reply`].
    pub(crate) fn start() -> Self {
        Self::launch("127.0.0.1:0", None, Arc::new(default_reply))
    }

    /// With both APIs, answering as the script says.
    pub(crate) fn with(script: impl Fn(&Incoming) -> Reply + Send + Sync + 'static) -> Self {
        Self::launch("127.0.0.1:0", None, Arc::new(script))
    }

    /// Such a server, and the gate that holds up its answers to some requests until it is opened.
    pub(crate) fn held(
        script: impl Fn(&Incoming) -> Reply + Send + Sync + 'static,
        is_held: impl Fn(&Incoming) -> bool + Send + Sync + 'static,
    ) -> (Self, Gate) {
        Self::with(script).holding(is_held)
    }

    /// The same, with a gate that holds up its answers to some requests until it is opened.
    pub(crate) fn holding(self, is_held: impl Fn(&Incoming) -> bool + Send + Sync + 'static) -> (Self, Gate) {
        let gate = Gate::shut();
        let (script, shut) = (Arc::clone(&self.shared.script.lock().expect("no script panics")), gate.clone());
        self.set_script(move |request| if is_held(request) { script(request).held(&shut) } else { script(request) });
        (self, gate)
    }

    /// The same at the address of one that has ended.
    pub(crate) fn again(address: SocketAddr, script: impl Fn(&Incoming) -> Reply + Send + Sync + 'static) -> Self {
        Self::launch(address, None, Arc::new(script))
    }

    /// With one API switched off, if any: its path is answered with 404.
    pub(crate) fn without(
        missing: impl Into<Option<Api>>,
        script: impl Fn(&Incoming) -> Reply + Send + Sync + 'static,
    ) -> Self {
        Self::launch("127.0.0.1:0", missing.into(), Arc::new(script))
    }

    fn launch(at: impl std::net::ToSocketAddrs, missing: Option<Api>, script: Script) -> Self {
        let listener = std::net::TcpListener::bind(at).expect("the port is free");
        listener.set_nonblocking(true).expect("a listener can be made non-blocking");
        let address = listener.local_addr().expect("a bound listener has an address");
        let shared = Arc::new(Shared {
            started: Instant::now(),
            missing,
            script: Mutex::new(script),
            log: Mutex::default(),
            arrival: Condvar::new(),
        });
        let app = Router::new().fallback(serve).with_state(Arc::clone(&shared));
        let (stop, stopped) = oneshot::channel();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.expect("a runtime can be built").block_on(async {
                let listener = tokio::net::TcpListener::from_std(listener).expect("the listener is non-blocking");
                // As servers of streams do: a word does not wait until the one before it is acknowledged. One that
                // cannot be set is one that is gone.
                let listener = listener.tap_io(|stream| drop(stream.set_nodelay(true)));
                tokio::select! {
                    served = axum::serve(listener, app) => served.expect("the mock server serves until it is stopped"),
                    _ = stopped => {}
                }
            });
        });
        Self { address, shared, stop: Some(stop), thread: Some(thread) }
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// What belongs into `OPENAI_BASE_URL`.
    pub(crate) fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Answers differently from now on.
    pub(crate) fn set_script(&self, script: impl Fn(&Incoming) -> Reply + Send + Sync + 'static) {
        *self.shared.script.lock().expect("no script panics while it is exchanged") = Arc::new(script);
    }

    /// All requests so far with what became of them, in the order of arrival.
    pub(crate) fn exchanges(&self) -> Vec<Exchange> {
        self.shared.log().exchanges.clone()
    }

    /// All requests so far, in the order of arrival.
    pub(crate) fn requests(&self) -> Vec<Arc<Incoming>> {
        self.shared.log().exchanges.iter().map(|exchange| Arc::clone(&exchange.request)).collect()
    }

    /// Those for a purpose.
    pub(crate) fn asked(&self, purpose: Purpose) -> Vec<Arc<Incoming>> {
        self.requests().into_iter().filter(|request| request.purpose == purpose).collect()
    }

    /// Where they went, in the order of arrival.
    pub(crate) fn paths(&self) -> Vec<String> {
        self.requests().iter().map(|request| request.path.clone()).collect()
    }

    /// How many requests went to `path`.
    pub(crate) fn count(&self, path: &str) -> usize {
        self.requests().iter().filter(|request| request.path == path).count()
    }

    /// Who was asked for what, in the order of arrival: model and task.
    pub(crate) fn calls(&self) -> Vec<(String, String)> {
        self.requests().iter().map(|request| (request.model().to_owned(), request.task().to_owned())).collect()
    }

    /// Begins anew with an empty log. Requests in flight are answered, and are not in it.
    pub(crate) fn forget(&self) {
        let mut log = self.shared.log();
        *log = Log { in_flight: log.in_flight, forgotten: log.forgotten + 1, ..Log::default() };
    }

    /// The most requests that were being answered at the same time.
    pub(crate) fn peak_in_flight(&self) -> usize {
        self.shared.log().exchanges.iter().map(|exchange| exchange.in_flight).max().unwrap_or(0)
    }

    /// Waits until that many requests have arrived; panics after two minutes, which no machine is too busy for.
    pub(crate) fn wait_for_requests(&self, count: usize) {
        let log = self.shared.log();
        let limit = Duration::from_mins(2);
        let waited = self.shared.arrival.wait_timeout_while(log, limit, |log| log.exchanges.len() < count);
        let (log, result) = waited.expect("no holder of the log panics");
        assert!(!result.timed_out(), "{} of {count} requests after {limit:?}", log.exchanges.len());
    }

    /// Waits until everything is in the log that clients which are gone have sent: a request that was sent in their last
    /// moment may still lie in its connection. What is asked here for that is not in the log.
    pub(crate) fn settle(&self) {
        // Each answer means that all that was there before the question was looked at, and what it led to once more.
        for _ in 0..5 {
            let mut stream = std::net::TcpStream::connect(self.address).expect("the server listens");
            let question = format!("GET {SETTLED} HTTP/1.0\r\n\r\n");
            stream.write_all(question.as_bytes()).expect("the server reads");
            stream.read_to_end(&mut Vec::new()).expect("the server answers");
        }
    }

    /// What was wrong with the requests so far.
    pub(crate) fn violations(&self) -> Vec<String> {
        self.shared.log().violations.clone()
    }

    /// Panics when any request was not what the API documents.
    pub(crate) fn assert_clean(&self) {
        let violations = self.violations();
        assert!(violations.is_empty(), "requests that a real server would refuse:\n{}", violations.join("\n"));
    }
}

impl Drop for MockServer {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            // Fails when the server has already ended, which is what is wanted.
            let _ = stop.send(());
        }
        if let Some(Err(panic)) = self.thread.take().map(JoinHandle::join)
            && !std::thread::panicking()
        {
            std::panic::resume_unwind(panic);
        }
    }
}

impl Shared {
    fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().expect("no holder of the log panics")
    }

    /// Writes the request down. Dropping the ticket ends it.
    fn admit(self: &Arc<Self>, mut request: Incoming) -> Ticket {
        let found = violations(&request);
        let mut log = self.log();
        let seen = log.seen.entry((request.path.clone(), request.digest)).or_default();
        request.repeats = *seen;
        *seen += 1;
        request.index = log.exchanges.len();
        log.in_flight += 1;
        for violation in found {
            let violation = format!("request {} ({} {}): {violation}", request.index, request.method, request.path);
            log.violations.push(violation);
        }
        let request = Arc::new(request);
        let exchange = Exchange {
            request: Arc::clone(&request),
            in_flight: log.in_flight,
            arrived: self.started.elapsed(),
            ended: None,
            abandoned: false,
        };
        log.exchanges.push(exchange);
        let forgotten = log.forgotten;
        drop(log);
        self.arrival.notify_all();
        Ticket { shared: Arc::clone(self), request, forgotten, answered: false }
    }
}

/// A request in flight. The client's disconnect drops it early.
struct Ticket {
    shared: Arc<Shared>,
    request: Arc<Incoming>,
    /// The state of the log that it is in.
    forgotten: usize,
    answered: bool,
}

impl Ticket {
    /// All that there is to answer has been.
    fn close(mut self) {
        self.answered = true;
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let ended = self.shared.started.elapsed();
        let mut log = self.shared.log();
        log.in_flight -= 1;
        if log.forgotten != self.forgotten {
            return;
        }
        let exchange = &mut log.exchanges[self.request.index];
        exchange.ended = Some(ended);
        exchange.abandoned = !self.answered;
    }
}

async fn serve(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    let (head, body) = request.into_parts();
    if head.uri.path() == SETTLED {
        return Response::default();
    }
    let body = axum::body::to_bytes(body, usize::MAX).await.unwrap_or_default();
    let headers = head.headers.iter();
    let headers = headers.map(|(name, value)| (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into()));
    let incoming = Incoming::read(head.method.as_str(), &head.uri.to_string(), headers.collect(), &body);
    let ticket = shared.admit(incoming);
    let request = Arc::clone(&ticket.request);
    let reply = if request.api.is_none() || request.api == shared.missing {
        Reply::error(404, &format!("Invalid URL ({} {})", request.method, request.path))
    } else {
        let script = Arc::clone(&shared.script.lock().expect("no script panics while it is exchanged"));
        script(&request)
    };
    if !reply.latency.is_zero() {
        tokio::time::sleep(reply.latency).await;
    }
    if reply.delivery == Delivery::Never {
        std::future::pending::<()>().await;
    }
    if stream::is_streamed(&reply, &request) {
        // The ticket goes with the body: the client may leave in the middle of it.
        return stream::response(&reply, &request, move || ticket.close());
    }
    if let Some(gate) = &reply.gate {
        gate.pass().await;
    }
    ticket.close();
    wire::response(&reply, &request)
}
