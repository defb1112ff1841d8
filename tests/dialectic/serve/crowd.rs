//! Whoever watches takes nothing from a debate.

use std::io::{BufRead as _, BufReader, Read as _};
use std::net::TcpStream;
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::{Value, json};

use super::client::{Serving, held_by, journal, recorded, sandbox};
use crate::support::{Gate, MockServer, Purpose, Reply, Sandbox, prose, short_reply};
use crate::timing::without_times;

/// What somebody who does not read is sent before nothing more goes into the connection, in bytes: what the system
/// holds here and there, and what waits in the server.
const HELD: usize = 384 * 1024;

/// What there is to see of a debate.
struct Seen {
    /// The state, and which events there were, without times.
    record: Value,
    calls: usize,
    /// The lines that each client read.
    lines: Vec<Vec<String>>,
    journal: Vec<Value>,
    id: String,
    serving: Serving,
    sandbox: Sandbox,
}

/// Runs a debate of three rounds, with answers that are too long for the connection of somebody who does not read.
fn run(watch: impl FnOnce(&Serving, &str) -> Vec<JoinHandle<Vec<String>>>) -> Seen {
    let gate = Gate::shut();
    let held = gate.clone();
    let server = MockServer::with(move |request| {
        let reply = match request.purpose {
            Purpose::Propose | Purpose::Critique | Purpose::Refine => Reply::text(prose(request.digest, 3500)),
            _ => short_reply(request),
        };
        // Nobody answers before everybody watches.
        held_by(reply, &held)
    });
    let sandbox: Sandbox = sandbox(&server, &json!({"rounds": 3, "seed": 7}));
    let serving = Serving::start(&sandbox, &[]);
    let id = serving.begin(&json!({"problem": "Design a queue"}));
    server.wait_for_requests(2);
    let watching = watch(&serving, &id);
    gate.open();
    serving.wait_for(&id, "completed");
    let lines = watching.into_iter().map(|client| client.join().unwrap()).collect();
    let journal = journal(&sandbox, &id);
    let mut kinds: Vec<String> = journal.iter().filter_map(|event| event["type"].as_str().map(str::to_owned)).collect();
    kinds.sort();
    let mut state = without_times(&sandbox.state(&id));
    state["id"] = json!("");
    let record = json!({"state": state, "events": kinds});
    Seen { record, calls: server.requests().len(), lines, journal, id, serving, sandbox }
}

/// A client that reads all there is, and one that reads nothing at first.
fn client(serving: &Serving, id: &str) -> BufReader<TcpStream> {
    serving.follow(&format!("/debates/{id}/events"), &[("Accept", "application/x-ndjson")])
}

/// The debate does not wait for a client: it comes to its end while ten have read nothing and nothing more goes into their
/// connections, and what it says and calls is what it says and calls without any client. None of them has to be dropped
/// for that, which takes the server a while: each still gets everything once it reads.
#[test]
fn fifty_clients_of_whom_ten_do_not_read_change_nothing() {
    let alone = run(|_, _| Vec::new());
    let mut asleep: Vec<BufReader<TcpStream>> = Vec::new();
    let watched = run(|serving, id| {
        asleep.extend((0..10).map(|_| client(serving, id)));
        // Read and no more: forty parsers would take the processor from the server.
        let reading = (0..40).map(|_| {
            let reader = client(serving, id);
            std::thread::spawn(move || reader.lines().map(Result::unwrap).collect())
        });
        reading.collect()
    });
    assert_eq!(watched.calls, alone.calls);
    assert!(watched.record == alone.record, "{:#}\n\n{:#}", watched.record, alone.record);
    let parsed =
        |lines: &[String]| -> Vec<Value> { lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect() };
    assert_eq!(watched.lines.len(), 40);
    for lines in &watched.lines {
        assert_eq!(recorded(&parsed(lines)), watched.journal);
        let sent: usize = lines.iter().map(String::len).sum();
        assert!(sent > 2 * HELD, "{sent} bytes may fit into a connection that nobody reads");
    }
    for reader in asleep {
        // One that was dropped all the same, on a machine that is very busy, goes on behind what it has.
        let lines: Vec<String> = reader.lines().map_while(Result::ok).collect();
        let whole =
            lines.iter().filter(|line| serde_json::from_str::<Value>(line).is_ok()).cloned().collect::<Vec<_>>();
        let mut seen = recorded(&parsed(&whole));
        let known = seen.last().map_or(0, |event| event["seq"].as_u64().unwrap());
        seen.extend(recorded(&watched.serving.events(&watched.id, known)));
        assert_eq!(seen, watched.journal);
    }
    watched.sandbox.assert_state_is_the_fold(&watched.id);
}

#[test]
fn a_client_that_does_not_read_is_dropped_and_goes_on_where_it_was() {
    let sandbox = Sandbox::new().env("DIALECTIC_TOKEN", super::client::TOKEN).limit(Duration::from_mins(3));
    let serving = Serving::start(&sandbox, &["--client-timeout", "1"]);
    let id = serving.begin(&json!({"problem": "Design a queue", "offline": true, "rounds": 1}));
    serving.wait_for(&id, "completed");
    // More than fits into the buffers between here and there.
    let path = format!("debates/{id}.events.jsonl");
    let lines = sandbox.read(&path);
    let said = lines.lines().find(|line| line.contains("\"contributed\"")).unwrap();
    let mut event: Value = serde_json::from_str(said).unwrap();
    event["contribution"]["content"] = json!("word ".repeat(20_000));
    let first = lines.lines().count() as u64 + 1;
    let more = (first..first + 250).map(|seq| {
        event["seq"] = json!(seq);
        format!("{event}\n")
    });
    let all = lines.clone() + &more.collect::<String>();
    sandbox.write(&path, &all);
    // On a busy machine it may be a while until the connection is full.
    let rest = [3, 10, 30].into_iter().find_map(|seconds| {
        let mut asleep = serving.follow(&format!("/debates/{id}/events"), &[]);
        std::thread::sleep(Duration::from_secs(seconds));
        let mut rest = Vec::new();
        let ended = asleep.read_to_end(&mut rest);
        (ended.is_err() || rest.len() < all.len()).then_some(rest)
    });
    let rest = rest.unwrap_or_else(|| panic!("all {} bytes were kept for it", all.len()));
    let known =
        String::from_utf8_lossy(&rest).lines().filter_map(|line| line.strip_prefix("id: ")?.parse::<u64>().ok()).max();
    let known = known.unwrap();
    assert!(known < first + 249, "it was told everything");
    let events = serving.events(&id, known);
    assert_eq!(recorded(&events), journal(&sandbox, &id)[usize::try_from(known).unwrap()..]);
}

#[test]
fn a_thousand_finished_debates_cost_nothing() {
    let sandbox = Sandbox::new().env("DIALECTIC_TOKEN", super::client::TOKEN);
    let first = Serving::start(&sandbox, &[]);
    let id = first.begin(&json!({"problem": "Design a queue", "offline": true, "rounds": 1}));
    first.wait_for(&id, "completed");
    drop(first);
    let (state, lines) =
        (sandbox.read(format!("debates/{id}.json")), sandbox.read(format!("debates/{id}.events.jsonl")));
    for number in 0..1000 {
        let other = format!("deb-20250101-000000-{number:04}");
        sandbox.write(format!("debates/{other}.json"), state.replace(&id, &other));
        sandbox.write(format!("debates/{other}.events.jsonl"), &lines);
    }
    let serving = Serving::start(&sandbox, &[]);
    assert_eq!(serving.get("/debates?limit=5")["total"], 1001);
    // A state that was read once is not read again while length and time of its file stay the same.
    let first = || serving.get("/debates?limit=1000")["debates"].clone();
    let before = first();
    let path = sandbox.directory().join("debates/deb-20250101-000000-0500.json");
    let modified = std::fs::metadata(&path).unwrap().modified().unwrap();
    std::fs::write(&path, state.replace(&id, "deb-20250101-000000-0500").replace("Design a queue", "Destroy queues"))
        .unwrap();
    std::fs::File::options().write(true).open(&path).unwrap().set_modified(modified).unwrap();
    assert_eq!(first(), before);
    // The first load of the page, list included, is small.
    let entered = serving.raw("GET", serving.address.split_once(&serving.authority).unwrap().1, &[], b"").expect(303);
    let cookie = entered.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
    let with = [("Cookie", cookie.as_str())];
    let page = serving.raw("GET", "/", &with, b"").expect(200).text();
    let assets =
        page.split('"').find(|text| text.ends_with("/page.js")).unwrap().trim_end_matches("page.js").to_owned();
    let files =
        ["page.css", "page.js", "dom.js", "list.js", "worker.js", "icon.svg"].map(|name| format!("{assets}{name}"));
    let paths = files.iter().map(String::as_str).chain(["/", "/api/v1/setup", "/api/v1/debates?limit=50"]);
    let bytes: usize = paths
        .map(|path| serving.raw("GET", path, &with, b"").expect(200))
        .map(|one| one.head.len() + one.body.len())
        .sum();
    assert!(bytes < 100_000, "{bytes} bytes");
}
