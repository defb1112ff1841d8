//! Whoever watches takes nothing from a debate.

use std::io::{BufRead as _, BufReader, Read as _};
use std::net::TcpStream;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::client::{Serving, journal, recorded, sandbox};
use crate::support::{MockServer, Sandbox, short_reply};
use crate::timing::without_times;

/// Three rounds of answers that are long enough to fill the connection of somebody who does not read.
fn server() -> MockServer {
    MockServer::with(|request| {
        let reply = short_reply(request);
        reply.after(Duration::from_millis(30))
    })
}

/// Runs a debate; its state without times, its calls, how long it took, and the server's memory at most.
fn run(watch: impl FnOnce(&Serving, &str) -> Vec<JoinHandle<Vec<String>>>) -> (Value, usize, Duration, usize) {
    let server = server();
    let sandbox: Sandbox = sandbox(&server, &json!({"rounds": 3, "seed": 7}));
    let serving = Serving::start(&sandbox, &[]);
    let id = serving.begin(&json!({"problem": "Design a queue"}));
    let watching = watch(&serving, &id);
    serving.wait_for(&id, "completed");
    let expected = journal(&sandbox, &id);
    for client in watching {
        let lines = client.join().unwrap();
        let events: Vec<Value> = lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(recorded(&events), expected);
    }
    let at = |event: &Value| event["at"].as_str().unwrap().parse::<chrono::DateTime<chrono::Utc>>().unwrap();
    let took = (at(expected.last().unwrap()) - at(&expected[0])).to_std().unwrap();
    let events: Vec<String> = expected.iter().filter_map(|event| event["type"].as_str().map(str::to_owned)).collect();
    let mut kinds = events;
    kinds.sort();
    let mut state = without_times(&sandbox.state(&id));
    state["id"] = json!("");
    (json!({"state": state, "events": kinds}), server.requests().len(), took, serving.peak_memory())
}

#[test]
fn fifty_clients_of_whom_ten_do_not_read_change_nothing() {
    let (expected, calls, alone, _) = run(|_, _| Vec::new());
    let mut asleep: Vec<BufReader<TcpStream>> = Vec::new();
    let (seen, calls_seen, took, memory) = run(|serving, id| {
        for _ in 0..10 {
            asleep.push(serving.follow(&format!("/debates/{id}/events"), &[]));
        }
        let reading = (0..40).map(|_| {
            let headers = [("Accept", "application/x-ndjson")];
            let reader = serving.follow(&format!("/debates/{id}/events"), &headers);
            std::thread::spawn(move || {
                // Read and no more: forty parsers would take the processor from the server.
                reader.lines().map(Result::unwrap).collect()
            })
        });
        reading.collect()
    });
    assert_eq!(calls_seen, calls);
    assert!(seen == expected, "{seen:#}\n\n{expected:#}");
    // A debate that waited for somebody who does not read would take twenty seconds.
    assert!(took < alone * 3 + Duration::from_secs(2), "{took:?} with clients, {alone:?} without");
    assert!(memory < 64 * 1024 * 1024, "{memory} bytes");
    drop(asleep);
}

#[test]
fn a_client_that_does_not_read_is_dropped_and_goes_on_where_it_was() {
    let sandbox = Sandbox::new().env("DIALECTIC_TOKEN", super::client::TOKEN).limit(Duration::from_mins(3));
    let serving = Serving::start(&sandbox, &[]);
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
    let mut asleep = serving.follow(&format!("/debates/{id}/events"), &[]);
    let before = serving.peak_memory();
    // It has twenty seconds.
    std::thread::sleep(Duration::from_secs(23));
    let grown = serving.peak_memory() - before;
    assert!(grown < 16 * 1024 * 1024, "{grown} bytes for somebody who does not read");
    let mut rest = Vec::new();
    let ended = asleep.read_to_end(&mut rest);
    assert!(ended.is_err() || rest.len() < all.len(), "all {} bytes were kept for it", all.len());
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
    let begun = Instant::now();
    for _ in 0..5 {
        assert_eq!(serving.get("/debates?limit=5")["total"], 1001);
    }
    // What was read once is not read again: in a fifth of a second nobody reads a thousand states in a debug build.
    assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
    assert!(serving.peak_memory() < 64 * 1024 * 1024, "{}", serving.peak_memory());
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
