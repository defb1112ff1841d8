//! A server that serves models and keeps the bill: its own count, from the bytes that it read, the tokens that it made
//! of them and its own prices, whatever it tells its client of them.

use std::collections::{BTreeMap, HashMap};
use std::io::{self, BufReader, Read as _, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant};

use rand::RngExt as _;
use rand_chacha::ChaCha12Rng;
use serde_json::{Value, json};

use crate::answers::answer;
use crate::chance::{chance, digest};
use crate::dialect::{Dialect, Price, Statement, Took, statement, usual};
use crate::request::{Api, Asked, Head};

/// Nobody is kept waiting longer than this by what hangs.
const LONGEST: Duration = Duration::from_secs(20);
/// What an answer takes that nobody limited.
const UNLIMITED: u64 = 32_000;

/// What a provider is like.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "each is drawn by itself")]
pub(crate) struct Terms {
    pub(crate) seed: u64,
    pub(crate) prices: BTreeMap<String, Price>,
    /// Tokens that a byte of a request is.
    pub(crate) tokens_per_byte: f64,
    /// How many of the answers are as long as they may be.
    pub(crate) long: f64,
    pub(crate) dialect: Dialect,
    pub(crate) has_responses: bool,
    /// Whether it is reached through a proxy: who serves on this machine, and states a cost of 0, bills nothing.
    pub(crate) is_elsewhere: bool,
    /// Whether it sends requested streams.
    pub(crate) streams: bool,
    /// Whether the output limit is `max_tokens` alone.
    pub(crate) is_old: bool,
    /// How many of the calls meet a fault.
    pub(crate) faults: f64,
    /// The one fault that calls meet; any of them where there is none.
    pub(crate) fault: Option<Fault>,
    pub(crate) closing: Closing,
}

/// What a server does with a connection after an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Closing {
    Keeps,
    /// It closes it at once, without having said so.
    AtOnce,
    /// It closes it after a pause that often ends just when the next request comes.
    Soon,
}

/// What goes wrong with a call. The first three cost nothing, all others the whole call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    RateLimited,
    Unavailable,
    /// The connection closes when the head was read.
    Unread,
    /// A status that a proxy or the server gives up with after the work was done.
    Status(u16),
    /// The connection closes when all was read.
    Swallowed,
    /// It closes after the head of the answer.
    HeadAlone,
    /// A connection that breaks in the middle of the answer.
    Broken,
    /// An answer that ends properly in its middle.
    Half,
    /// An error event in a stream, or an error in place of an answer, with this code.
    Error(u16),
    /// A stream that goes silent.
    Silent,
    /// Nothing at all.
    Hangs,
    /// A page of a proxy with a good status.
    Page,
    /// No text.
    Empty,
    /// An answer that is cut.
    Cut,
    /// Something else than what was asked for.
    Nonsense,
}

impl Fault {
    const ALL: [(Self, u32); 19] = [
        (Self::RateLimited, 4),
        (Self::Unavailable, 4),
        (Self::Unread, 4),
        (Self::Status(500), 4),
        (Self::Status(502), 5),
        (Self::Status(504), 8),
        (Self::Status(524), 5),
        (Self::Swallowed, 10),
        (Self::HeadAlone, 4),
        (Self::Broken, 8),
        (Self::Half, 4),
        (Self::Error(500), 6),
        (Self::Error(429), 8),
        (Self::Silent, 1),
        (Self::Hangs, 1),
        (Self::Page, 2),
        (Self::Empty, 3),
        (Self::Cut, 3),
        (Self::Nonsense, 3),
    ];

    pub(crate) fn draw(random: &mut ChaCha12Rng) -> Self {
        let mut left = random.random_range(0..Self::ALL.iter().map(|(_, weight)| weight).sum::<u32>());
        for (fault, weight) in Self::ALL {
            if left < weight {
                return fault;
            }
            left -= weight;
        }
        Self::Status(504)
    }

    fn is_free(self) -> bool {
        matches!(self, Self::RateLimited | Self::Unavailable | Self::Unread)
    }
}

/// A line of the bill.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    /// Which debate it belongs to, by the mark in its problem.
    pub(crate) case: String,
    pub(crate) cost: f64,
    /// All of it in words.
    pub(crate) line: String,
}

/// The server. It takes no more connections when it is dropped.
pub(crate) struct Provider {
    address: SocketAddr,
    shared: Arc<Shared>,
}

struct Shared {
    terms: Terms,
    began: Instant,
    log: Mutex<Log>,
}

#[derive(Default)]
struct Log {
    bill: Vec<Entry>,
    /// How often the same was asked.
    asked: HashMap<u64, u32>,
    requests: usize,
    is_over: bool,
}

impl Provider {
    pub(crate) fn start(terms: Terms) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared { terms, began: Instant::now(), log: Mutex::default() });
        let of_thread = Arc::clone(&shared);
        thread::spawn(move || {
            for stream in listener.incoming() {
                if of_thread.log().is_over {
                    break;
                }
                let (Ok(stream), shared) = (stream, Arc::clone(&of_thread)) else { continue };
                // A client that leaves, and one that is killed, break it.
                thread::spawn(move || drop(shared.serve(&stream)));
            }
        });
        Ok(Self { address, shared })
    }

    /// Where it is found; through a proxy, which it is itself, it is no server of this machine.
    pub(crate) fn base_url(&self) -> String {
        let host = if self.shared.terms.is_elsewhere { "models.example".to_owned() } else { self.address.to_string() };
        format!("http://{host}/v1")
    }

    /// The proxy on the way to it.
    pub(crate) fn proxy(&self) -> Option<String> {
        self.shared.terms.is_elsewhere.then(|| format!("http://{}", self.address))
    }

    /// How many requests for an answer it has read.
    pub(crate) fn requests(&self) -> usize {
        self.shared.log().requests
    }

    pub(crate) fn bill(&self) -> Vec<Entry> {
        self.shared.log().bill.clone()
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        self.shared.log().is_over = true;
        // Wakes the thread that accepts; when that fails it has ended.
        let _ = TcpStream::connect(self.address);
    }
}

/// What becomes of a connection.
#[derive(PartialEq, Eq)]
enum After {
    Goes,
    Closes,
}

impl Shared {
    fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().expect("no holder of the bill panics")
    }

    fn serve(&self, stream: &TcpStream) -> io::Result<()> {
        stream.set_nodelay(true)?;
        let mut reader = BufReader::new(stream.try_clone()?);
        let mut answered = 0_u64;
        loop {
            stream.set_read_timeout(Some(self.patience(answered)))?;
            let Some(head) = Head::read(&mut reader)? else { return Ok(()) };
            stream.set_read_timeout(Some(LONGEST))?;
            if self.one(&head, &mut reader, stream)? == After::Closes {
                return stream.shutdown(Shutdown::Both);
            }
            answered += 1;
        }
    }

    /// How long it waits for the next request of a connection.
    fn patience(&self, answered: u64) -> Duration {
        match self.terms.closing {
            Closing::Soon if answered > 0 => Duration::from_millis(1 + answered * 7 % 20),
            Closing::Keeps | Closing::AtOnce | Closing::Soon => LONGEST,
        }
    }

    fn one(&self, head: &Head, reader: &mut BufReader<TcpStream>, out: &TcpStream) -> io::Result<After> {
        let api = match (head.method.as_str(), head.path.as_str()) {
            ("POST", "/v1/chat/completions") => Api::Chat,
            ("POST", "/v1/responses") if self.terms.has_responses => Api::Responses,
            _ => {
                head.read_body(reader)?;
                return refuse(out, 404, "there is nothing here", None);
            }
        };
        // A server that closes before it has read everything cannot have begun; which requests those are cannot follow
        // from what they say, as it was not read.
        let path = &head.path;
        let early = {
            let mut log = self.log();
            log.requests += 1;
            let number = log.requests;
            drop(log);
            let mut random = chance(self.terms.seed, &format!("{path} {number}"));
            let share = if self.terms.fault == Some(Fault::Unread) { 1.0 } else { 0.05 };
            let is_it = self.terms.fault.is_none_or(|fault| fault == Fault::Unread);
            is_it && random.random_bool(self.terms.faults * share)
        };
        if early {
            self.enter(None, Took::default(), 0.0, Some(Fault::Unread), "");
            return Ok(After::Closes);
        }
        let body = head.read_body(reader)?;
        let Some(asked) = Asked::read(api, &body) else { return refuse(out, 400, "that is no JSON", None) };
        if self.terms.is_old && !asked.body["max_completion_tokens"].is_null() {
            let message = "Unsupported parameter: 'max_completion_tokens'. Use 'max_tokens' instead.";
            return refuse(out, 400, message, Some("max_completion_tokens"));
        }
        let Some(price) = self.terms.prices.get(asked.model()).copied() else {
            return refuse(out, 404, "there is no such model", None);
        };
        let repeats = {
            let mut log = self.log();
            let count = log.asked.entry(asked.digest()).or_default();
            *count += 1;
            *count
        };
        let mut random = chance(self.terms.seed, &format!("{:x} {repeats}", asked.digest()));
        let meets = random.random_bool(self.terms.faults);
        let drawn = Fault::draw(&mut random);
        let fault = meets.then(|| self.terms.fault.unwrap_or(drawn)).filter(|fault| *fault != Fault::Unread);
        thread::sleep(Duration::from_millis(random.random_range(0..12)));
        if let Some(fault) = fault.filter(|fault| fault.is_free()) {
            self.enter(Some(&asked), Took::default(), 0.0, Some(fault), "");
            let status = if fault == Fault::RateLimited { 429 } else { 503 };
            return refuse(out, status, "try again later", None);
        }
        self.work(&asked, price, fault, &mut random, out)
    }

    /// Answers, or not, and bills it: from here on the work is done.
    fn work(
        &self,
        asked: &Asked,
        price: Price,
        fault: Option<Fault>,
        random: &mut ChaCha12Rng,
        out: &TcpStream,
    ) -> io::Result<After> {
        let (took, text, is_cut) = self.think(asked, fault, random);
        let statement = statement(self.terms.dialect, asked.api, took, price, self.terms.is_elsewhere, random);
        self.enter(Some(asked), took, statement.billed, fault, &format!("{statement:?}"));
        let streams = self.terms.streams && asked.is_for_a_stream();
        let answer = Answer { asked, text: &text, is_cut, took, statement: &statement };
        match fault {
            Some(Fault::Status(status)) => return refuse(out, status, "upstream gave up", None),
            Some(Fault::Swallowed) => return Ok(After::Closes),
            Some(Fault::Hangs) => return until_gone(out),
            Some(Fault::Page) => return send(out, 200, "text/html", &[], "<html><h1>Sign in</h1></html>"),
            Some(Fault::HeadAlone) => {
                let kind = if streams { "text/event-stream" } else { "application/json" };
                let head = format!("HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: 5000\r\n\r\n");
                (&mut &*out).write_all(head.as_bytes())?;
                return Ok(After::Closes);
            }
            _ => {}
        }
        let after = if streams { stream(&answer, fault, random, out)? } else { whole(&answer, fault, out)? };
        Ok(if self.terms.closing == Closing::AtOnce { After::Closes } else { after })
    }

    /// What a call takes, what comes of it, and whether it was cut.
    fn think(&self, asked: &Asked, fault: Option<Fault>, random: &mut ChaCha12Rng) -> (Took, String, bool) {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "requests are small"
        )]
        let input = (asked.bytes() as f64 * self.terms.tokens_per_byte) as u64 + 3 * asked.messages.len() as u64;
        let most = asked.max_tokens().unwrap_or(UNLIMITED);
        let is_long = random.random_bool(self.terms.long);
        let wanted = if is_long { most } else { random.random_range(20..=500).min(most) };
        let reasoning = if random.random_bool(0.4) { wanted / 2 } else { 0 };
        let mut text = match fault {
            Some(Fault::Empty) => String::new(),
            Some(Fault::Nonsense) => "I would rather not say.".to_owned(),
            // Beside its words an answer has headings, and JSON.
            _ => answer(asked, (wanted - reasoning).saturating_sub(250).min(5000), random),
        };
        // What a model has written it has taken.
        let written = (text.len() as u64).div_ceil(4);
        // An answer of just as many tokens as were allowed is one that was cut.
        let mut output = if is_long { most.saturating_sub(1).max(1) } else { (written + reasoning).min(most) };
        let mut is_cut = written + reasoning > most;
        if fault == Some(Fault::Cut) || is_cut {
            is_cut = true;
            let end = if fault == Some(Fault::Cut) {
                text.len() / 2
            } else {
                text.len().min(usize::try_from(most * 4).unwrap_or(usize::MAX))
            };
            text.truncate(text.floor_char_boundary(end));
            output = most;
        }
        let cached = if random.random_bool(0.3) { input / 2 } else { 0 };
        let written = if random.random_bool(0.5) { (input - cached) / 2 } else { 0 };
        let reasoning = reasoning.min(output);
        (Took { input, cached, written, output, reasoning }, text, is_cut)
    }

    fn enter(&self, asked: Option<&Asked>, took: Took, cost: f64, fault: Option<Fault>, said: &str) {
        let case = asked.map(case_of).unwrap_or_default();
        let who = asked.map_or_else(String::new, |asked| {
            let (model, task, api, limit) = (asked.model(), asked.task(), asked.api, asked.max_tokens());
            let (bytes, is_again) = (asked.bytes(), asked.is_again());
            let digest = asked.digest();
            format!("{model}, {task}, again: {is_again}, {api:?}, limit {limit:?}, {bytes} bytes, {digest:x}")
        });
        let after = self.began.elapsed().as_millis();
        let fault_said = fault.map_or_else(|| "answered".to_owned(), |fault| format!("{fault:?}"));
        let mut log = self.log();
        let number = log.bill.len() + 1;
        let line = format!("{number:>3} {after:>6} ms  ${cost:.6}  {fault_said:<12} {case} {who}; {took:?}; {said}");
        log.bill.push(Entry { case, cost, line });
    }
}

/// The mark that a problem carries: `[case 7]`.
fn case_of(asked: &Asked) -> String {
    let texts = asked.messages.iter().map(|(_, text)| text.as_str());
    let marks = texts.filter_map(|text| text.split_once("[case ")?.1.split_once(']'));
    marks.map(|(mark, _)| mark.to_owned()).next().unwrap_or_default()
}

/// What is to be sent.
struct Answer<'a> {
    asked: &'a Asked,
    text: &'a str,
    is_cut: bool,
    took: Took,
    statement: &'a Statement,
}

impl Answer<'_> {
    fn as_chat(&self) -> Value {
        let finish = if self.is_cut { "length" } else { "stop" };
        json!({
            "id": "chatcmpl-1", "object": "chat.completion", "created": 1_735_689_600, "model": self.asked.model(),
            "choices": [{
                "index": 0, "message": {"role": "assistant", "content": self.text}, "finish_reason": finish,
            }],
        })
    }

    fn as_response(&self) -> Value {
        let (status, details) = if self.is_cut {
            ("incomplete", json!({"reason": "max_output_tokens"}))
        } else {
            ("completed", Value::Null)
        };
        json!({
            "id": "resp_1", "object": "response", "created_at": 1_735_689_600, "status": status,
            "incomplete_details": details, "error": null, "model": self.asked.model(), "output": [{
                "type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
                "content": [{"type": "output_text", "text": self.text, "annotations": []}],
            }],
        })
    }

    fn as_whole(&self) -> Value {
        if self.asked.api == Api::Chat { self.as_chat() } else { self.as_response() }
    }

    fn events(&self) -> Vec<String> {
        let pieces: Vec<&str> = pieces(self.text).collect();
        match self.asked.api {
            Api::Chat => self.chat_events(&pieces),
            Api::Responses => self.response_events(&pieces),
        }
    }

    fn chat_events(&self, pieces: &[&str]) -> Vec<String> {
        let said = self.statement;
        let chunk = |choices: Value, usage: Option<&Value>| {
            let mut chunk = json!({
                "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1_735_689_600,
                "model": self.asked.model(), "choices": choices,
            });
            if let Some(usage) = usage {
                chunk["usage"] = usage.clone();
            }
            format!("data: {chunk}\n\n")
        };
        let delta = |delta: Value, finish: Option<&str>| json!([{"index": 0, "delta": delta, "finish_reason": finish}]);
        let mut events = vec![chunk(delta(json!({"role": "assistant", "content": ""}), None), said.first.as_ref())];
        for (place, piece) in (1..).zip(pieces) {
            let so_far = self.took.output * place / (pieces.len() as u64 + 1);
            let usage = said.is_growing.then(|| usual(Api::Chat, self.took, so_far));
            events.push(chunk(delta(json!({"content": piece}), None), usage.as_ref()));
        }
        events.push(chunk(delta(json!({}), Some(if self.is_cut { "length" } else { "stop" })), None));
        // Who does not ask for figures in a stream gets none, but from servers that always send them.
        let wants = self.asked.body["stream_options"]["include_usage"] == true || said.first.is_some();
        events.extend(said.last.iter().filter(|_| wants).map(|usage| chunk(json!([]), Some(usage))));
        events.push("data: [DONE]\n\n".to_owned());
        events
    }

    fn response_events(&self, pieces: &[&str]) -> Vec<String> {
        let mut whole = self.as_response();
        let mut begun = whole.clone();
        (begun["status"], begun["output"]) = (json!("in_progress"), json!([]));
        if let Some(first) = &self.statement.first {
            begun["usage"] = first.clone();
        }
        if let Some(last) = self.statement.last.first() {
            whole["usage"] = last.clone();
        }
        let item = whole["output"][0].clone();
        let mut empty = item.clone();
        (empty["status"], empty["content"]) = (json!("in_progress"), json!([]));
        let mut events = vec![
            json!({"type": "response.created", "response": begun}),
            json!({"type": "response.output_item.added", "output_index": 0, "item": empty}),
        ];
        let deltas = pieces.iter().map(|piece| {
            json!({"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "delta": piece})
        });
        events.extend(deltas);
        events.push(json!({"type": "response.output_item.done", "output_index": 0, "item": item}));
        let last = if self.is_cut { "response.incomplete" } else { "response.completed" };
        events.push(json!({"type": last, "response": whole}));
        let frame = |(number, mut event): (usize, Value)| {
            event["sequence_number"] = json!(number);
            format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap_or_default())
        };
        events.into_iter().enumerate().map(frame).collect()
    }
}

/// A text in a dozen pieces.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let size = (text.len() / 12).max(8);
    let mut rest = text;
    std::iter::from_fn(move || {
        let end = rest.ceil_char_boundary(size.min(rest.len()));
        let (piece, after) = rest.split_at(end);
        rest = after;
        (!piece.is_empty()).then_some(piece)
    })
}

fn error(status: u16, message: &str, param: Option<&str>) -> String {
    let (kind, code) = match status {
        400 => ("invalid_request_error", "unsupported_parameter"),
        404 => ("invalid_request_error", "not_found"),
        429 => ("rate_limit_error", "rate_limit_exceeded"),
        _ => ("server_error", "server_error"),
    };
    json!({"error": {"message": message, "type": kind, "param": param, "code": code}}).to_string()
}

fn refuse(out: &TcpStream, status: u16, message: &str, param: Option<&str>) -> io::Result<After> {
    send(out, status, "application/json", &[], &error(status, message, param))
}

/// All that asks for patience asks for little of it: what is tested are books, not waits.
const PATIENCE: (&str, &str) = ("retry-after-ms", "15");

fn head(status: u16, kind: &str, headers: &[(&str, &str)], length: &str) -> String {
    let headers = headers.iter().chain([&PATIENCE]).map(|(name, value)| format!("{name}: {value}\r\n"));
    format!("HTTP/1.1 {status} Status\r\ncontent-type: {kind}\r\n{}{length}\r\n\r\n", headers.collect::<String>())
}

fn send(mut out: &TcpStream, status: u16, kind: &str, headers: &[(&str, &str)], body: &str) -> io::Result<After> {
    let head = head(status, kind, headers, &format!("content-length: {}", body.len()));
    out.write_all((head + body).as_bytes())?;
    Ok(After::Goes)
}

fn whole(answer: &Answer<'_>, fault: Option<Fault>, mut out: &TcpStream) -> io::Result<After> {
    let mut body = answer.as_whole();
    if let Some(usage) = &answer.statement.whole {
        body["usage"] = usage.clone();
    }
    let mut body = body.to_string();
    let cost = answer.statement.header.as_deref().map(|cost| ("x-litellm-response-cost", cost));
    let headers: Vec<_> = cost.into_iter().collect();
    match fault {
        Some(Fault::Broken | Fault::Silent) => {
            let head = head(200, "application/json", &headers, &format!("content-length: {}", body.len()));
            body.truncate(body.floor_char_boundary(body.len() / 2));
            out.write_all((head + &body).as_bytes())?;
            if fault == Some(Fault::Silent) { until_gone(out) } else { Ok(After::Closes) }
        }
        Some(Fault::Half) => {
            body.truncate(body.floor_char_boundary(body.len() / 2));
            send(out, 200, "application/json", &headers, &body)
        }
        Some(Fault::Error(status)) => send(out, 200, "application/json", &headers, &error(status, "it broke", None)),
        _ => send(out, 200, "application/json", &headers, &body),
    }
}

fn stream(
    answer: &Answer<'_>,
    fault: Option<Fault>,
    random: &mut ChaCha12Rng,
    mut out: &TcpStream,
) -> io::Result<After> {
    let mut events = answer.events();
    // From before the first word to after the last.
    let place = random.random_range(0..events.len());
    let ends_early = matches!(fault, Some(Fault::Broken | Fault::Half | Fault::Silent | Fault::Error(_)));
    if ends_early {
        events.truncate(place);
    }
    if let Some(Fault::Error(status)) = fault {
        let error = error(status, "it broke", None);
        let named = random.random_bool(0.5) || answer.asked.api == Api::Responses;
        events.push(if named { format!("event: error\ndata: {error}\n\n") } else { format!("data: {error}\n\n") });
    }
    let mut sent = head(200, "text/event-stream", &[], "transfer-encoding: chunked");
    sent.extend(events.iter().map(|event| format!("{:x}\r\n{event}\r\n", event.len())));
    if !matches!(fault, Some(Fault::Broken | Fault::Silent)) {
        sent.push_str("0\r\n\r\n");
    }
    // In two goes, so that words are there before what comes after them.
    let middle = sent.floor_char_boundary(sent.len() / 2);
    out.write_all(&sent.as_bytes()[..middle])?;
    thread::sleep(Duration::from_millis(2));
    out.write_all(&sent.as_bytes()[middle..])?;
    match fault {
        Some(Fault::Silent) => until_gone(out),
        Some(Fault::Broken) => {
            thread::sleep(Duration::from_millis(5));
            Ok(After::Closes)
        }
        _ => Ok(After::Goes),
    }
}

/// Sends nothing more, until the client has left.
fn until_gone(mut out: &TcpStream) -> io::Result<After> {
    out.set_read_timeout(Some(LONGEST))?;
    let mut rest = [0; 64];
    while matches!(out.read(&mut rest), Ok(1..)) {}
    Ok(After::Closes)
}

/// The sum of some lines of a bill.
pub(crate) fn sum<'a>(lines: impl IntoIterator<Item = &'a Entry>) -> f64 {
    lines.into_iter().map(|entry| entry.cost).sum()
}

/// Part of a seed: what a name stands for.
pub(crate) fn seed_of(seed: u64, name: &str) -> u64 {
    digest([name]) ^ seed.rotate_left(17)
}
