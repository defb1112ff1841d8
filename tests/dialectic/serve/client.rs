//! A server to be tested, and a client that knows HTTP and nothing of the program.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use nix::sys::signal::Signal;
use serde_json::{Value, json};

use crate::support::{Finished, Incoming, MockServer, Purpose, Reply, Running, Sandbox, short_reply, wait_until};

/// The token of programs in these tests.
pub(super) const TOKEN: &str = "a-token-for-tests-0123456789";
/// How long anything may take.
const LIMIT: Duration = Duration::from_mins(1);

/// A server that runs.
pub(super) struct Serving {
    running: Running,
    /// Host and port.
    pub(super) authority: String,
    /// The address that was printed, with its token.
    pub(super) address: String,
}

/// What was answered.
#[derive(Debug, Clone)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) head: String,
    pub(super) body: Vec<u8>,
}

/// A configuration whose requests stay held until a test has looked at them, however slow the machine is.
pub(super) fn config(roles: &[&str], debate: &Value) -> Value {
    let mut patient = json!({"idleTimeout": 600_000, "timeoutPerRound": 600_000});
    patient.as_object_mut().unwrap().extend(debate.as_object().unwrap().clone());
    crate::support::config(roles, &patient)
}

/// A sandbox with two agents, a judge and that server.
pub(super) fn sandbox(server: &MockServer, debate: &Value) -> Sandbox {
    let sandbox = Sandbox::new().model_server(server).config(&config(&["architect", "kiss"], debate));
    sandbox.env("DIALECTIC_TOKEN", TOKEN).limit(Duration::from_mins(3))
}

/// That sandbox, and a server of its debates.
pub(super) fn serving(server: &MockServer) -> (Sandbox, Serving) {
    let sandbox = sandbox(server, &json!({}));
    let serving = Serving::start(&sandbox, &[]);
    (sandbox, serving)
}

/// Each agent asks a question, once.
pub(super) fn curious(request: &Incoming) -> Reply {
    if request.purpose != Purpose::Clarify || request.text().contains("How many clients of ") {
        return if request.purpose == Purpose::Clarify {
            Reply::json(json!({"questions": []}))
        } else {
            short_reply(request)
        };
    }
    let text = format!("How many clients of {}?", request.model());
    Reply::json(json!({"questions": [{"id": "q1", "text": text}]}))
}

impl Serving {
    pub(super) fn start(sandbox: &Sandbox, options: &[&str]) -> Self {
        let running = sandbox.spawn(["serve"].iter().chain(options));
        wait_until("an address is printed", || running.stdout().ends_with('\n'));
        let address = running.stdout().lines().next().unwrap().to_owned();
        let authority = address.split_once("://").and_then(|(_, rest)| rest.split('/').next()).unwrap().to_owned();
        Self { running, authority, address }
    }

    /// One that was started in another way.
    pub(super) fn at(running: Running, authority: String) -> Self {
        Self { running, authority, address: String::new() }
    }

    /// The process id.
    pub(super) fn id(&self) -> u32 {
        self.running.id()
    }

    /// Its port.
    pub(super) fn port(&self) -> &str {
        self.authority.rsplit_once(':').unwrap().1
    }

    /// Ends it as `kill -9` does.
    pub(super) fn kill(self) {
        self.running.kill();
    }

    /// Ends it as Ctrl-C does.
    pub(super) fn interrupt(self) -> Finished {
        self.running.signal(Signal::SIGINT);
        self.running.wait()
    }

    /// A request with just these headers, and `Host` where none is among them.
    pub(super) fn raw(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
        let mut stream = TcpStream::connect(&self.authority).unwrap();
        stream.set_read_timeout(Some(LIMIT)).unwrap();
        stream.write_all(self.head(method, path, headers, Some(body.len())).as_bytes()).unwrap();
        // A server that refuses need not read.
        let _ = stream.write_all(body);
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes);
        Answer::read(&bytes)
    }

    fn head(&self, method: &str, path: &str, headers: &[(&str, &str)], length: Option<usize>) -> String {
        let line = |name: &str, value: &str| format!("{name}: {value}\r\n");
        // The version without chunks: what is sent is what is read.
        let mut head = format!("{method} {path} HTTP/1.0\r\n");
        if !headers.iter().any(|(name, _)| *name == "Host") {
            head.push_str(&line("Host", &self.authority));
        }
        for (name, value) in headers {
            head.push_str(&line(name, value));
        }
        if let Some(length) = length.filter(|length| *length > 0) {
            head.push_str(&line("Content-Length", &length.to_string()));
        }
        head + "\r\n"
    }

    /// A request of a program that has the token.
    pub(super) fn ask(&self, method: &str, path: &str, body: Option<&Value>) -> Answer {
        let authorization = format!("Bearer {TOKEN}");
        let headers = [("Authorization", authorization.as_str()), ("Content-Type", "application/json")];
        let body = body.map(|body| body.to_string().into_bytes()).unwrap_or_default();
        self.raw(method, &format!("/api/v1{path}"), &headers, &body)
    }

    pub(super) fn get(&self, path: &str) -> Value {
        self.ask("GET", path, None).expect(200).json()
    }

    pub(super) fn post(&self, path: &str, body: &Value) -> Answer {
        self.ask("POST", path, Some(body))
    }

    /// Starts a debate; its id.
    pub(super) fn begin(&self, body: &Value) -> String {
        self.post("/debates", body).expect(201).json()["id"].as_str().unwrap().to_owned()
    }

    /// Runs a debate to its end; its id.
    pub(super) fn complete(&self, body: &Value) -> String {
        let id = self.begin(body);
        self.wait_for(&id, "completed");
        id
    }

    /// Has something done with a debate.
    #[track_caller]
    pub(super) fn order(&self, id: &str, what: &str) {
        self.post(&format!("/debates/{id}/{what}"), &json!({})).expect(202);
    }

    /// Branches off a debate and runs the branch to its end; its id.
    pub(super) fn fork(&self, id: &str, body: &Value) -> String {
        let fork =
            self.post(&format!("/debates/{id}/fork"), body).expect(201).json()["id"].as_str().unwrap().to_owned();
        self.wait_for(&fork, "completed");
        fork
    }

    /// Another one at its port, after this one was killed.
    pub(super) fn again(self, sandbox: &Sandbox) -> Self {
        let port = self.port().to_owned();
        self.kill();
        Self::start(sandbox, &["--port", &port])
    }

    /// Where a debate stands.
    pub(super) fn status(&self, id: &str) -> String {
        self.get(&format!("/debates/{id}"))["summary"]["status"].as_str().unwrap().to_owned()
    }

    /// Waits until a debate stands there, and where it is over until the server is done with it.
    pub(super) fn wait_for(&self, id: &str, status: &str) {
        wait_until(&format!("{id} is {status}"), || {
            let summary = self.get(&format!("/debates/{id}"))["summary"].clone();
            summary["status"] == status && !(["completed", "failed"].contains(&status) && summary["here"] == true)
        });
    }

    /// A stream of events, line by line.
    pub(super) fn follow(&self, path: &str, headers: &[(&str, &str)]) -> BufReader<TcpStream> {
        let mut stream = TcpStream::connect(&self.authority).unwrap();
        stream.set_read_timeout(Some(LIMIT)).unwrap();
        let authorization = format!("Bearer {TOKEN}");
        let headers = [headers, &[("Authorization", authorization.as_str())]].concat();
        stream.write_all(self.head("GET", &format!("/api/v1{path}"), &headers, None).as_bytes()).unwrap();
        let mut reader = BufReader::new(stream);
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        assert!(line.contains(" 200 "), "{line}");
        while line != "\r\n" {
            line.clear();
            reader.read_line(&mut line).unwrap();
        }
        reader
    }

    /// The events of a debate behind one, until the stream ends, as lines of JSON.
    pub(super) fn events(&self, id: &str, after: u64) -> Vec<Value> {
        let reader = self.follow(&format!("/debates/{id}/events?after={after}"), &[("Accept", "application/x-ndjson")]);
        reader.lines().map(|line| serde_json::from_str(&line.unwrap()).unwrap()).collect()
    }
}

impl Answer {
    fn read(bytes: &[u8]) -> Self {
        let end = bytes.windows(4).position(|four| four == b"\r\n\r\n").unwrap_or(bytes.len());
        let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
        Self { status, head, body: bytes.get(end + 4..).unwrap_or_default().to_vec() }
    }

    #[track_caller]
    pub(super) fn expect(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{}\n{}", self.head, self.text());
        self
    }

    pub(super) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub(super) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    pub(super) fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }
}

/// The events of a debate's journal, without what seals its lines. A line that is still being written is left out.
pub(super) fn journal(sandbox: &Sandbox, id: &str) -> Vec<Value> {
    let lines = sandbox.read(format!("debates/{id}.events.jsonl"));
    let event = |line: &str| {
        let mut event: Value = serde_json::from_str(line).unwrap();
        let keys = event.as_object_mut().unwrap();
        keys.remove("prev");
        keys.remove("hash");
        event
    };
    lines.split_inclusive('\n').filter(|line| line.ends_with('\n')).map(event).collect()
}

/// What was recorded of what was streamed, in the form of the journal.
pub(super) fn recorded(events: &[Value]) -> Vec<Value> {
    let all = events.iter().filter(|event| event["signal"] == "recorded").cloned();
    all.map(|mut event| {
        let keys = event.as_object_mut().unwrap();
        keys.remove("signal");
        keys.remove("debate");
        event
    })
    .collect()
}
