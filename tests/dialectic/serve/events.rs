//! Events on their way: none is missing, none comes twice.

use std::io::{BufRead as _, BufReader};
use std::net::TcpStream;

use serde_json::{Value, json};

use super::client::{Serving, journal, recorded, sandbox, serving};
use crate::support::{MockServer, Purpose, Sandbox, short_reply};

/// The next server-sent event: its id, its name and its data. Nothing at the end.
fn next_event(reader: &mut BufReader<TcpStream>) -> Option<(Option<String>, String, Value)> {
    let (mut id, mut name, mut data) = (None, "message".to_owned(), None);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        match line.trim_end_matches('\n').split_once(": ") {
            Some(("id", value)) => id = Some(value.to_owned()),
            Some(("event", value)) => name = value.to_owned(),
            Some(("data", value)) => data = serde_json::from_str(value).ok(),
            _ if line == "\n" && data.is_some() => return Some((id, name, data?)),
            _ => {}
        }
    }
}

#[test]
fn only_events_of_the_journal_have_an_id_and_whoever_comes_again_goes_on_behind_it() {
    let server = MockServer::with(short_reply);
    let (sandbox, serving) = serving(&server);
    let id = serving.begin(&json!({"problem": "Design a queue"}));
    let mut reader = serving.follow(&format!("/debates/{id}/events"), &[]);
    let mut all = Vec::new();
    while let Some((event_id, name, data)) = next_event(&mut reader) {
        if name == "end" {
            assert_eq!(data, json!({"status": "completed"}));
            break;
        }
        assert_eq!(event_id, data["seq"].as_u64().map(|seq| seq.to_string()), "{data}");
        assert_eq!(data["signal"] == "recorded", event_id.is_some(), "{data}");
        all.push(data);
    }
    assert!(next_event(&mut reader).is_none(), "the stream ends with the debate");
    assert!(all.iter().any(|event| event["signal"] == "words"), "words are shown as they come");
    let expected = journal(&sandbox, &id);
    assert_eq!(recorded(&all), expected);
    for last in [0, 1, 7, expected.len() - 1, expected.len()] {
        let mut reader = serving.follow(&format!("/debates/{id}/events"), &[("Last-Event-ID", &last.to_string())]);
        let mut rest = Vec::new();
        while let Some((_, name, data)) = next_event(&mut reader).filter(|(_, name, _)| name != "end") {
            assert_eq!(name, "message");
            rest.push(data);
        }
        assert_eq!(recorded(&rest), expected[last..]);
    }
}

#[test]
fn a_debate_of_another_process_is_followed_to_its_end() {
    let (server, gate) = MockServer::held(short_reply, |request| request.purpose == Purpose::Critique);
    let (sandbox, serving) = serving(&server);
    let running = sandbox.spawn(["debate", "Design a queue", "--quiet"]);
    server.wait_for_requests(3);
    let id = sandbox.only_debate();
    let mut reader = serving.follow(&format!("/debates/{id}/events"), &[("Accept", "application/x-ndjson")]);
    let mut lines = Vec::new();
    let mut line = String::new();
    while !line.contains("\"contributed\"") {
        line.clear();
        reader.read_line(&mut line).unwrap();
        lines.push(line.clone());
    }
    assert_eq!(serving.status(&id), "running");
    // It is steered where it runs.
    serving.post(&format!("/debates/{id}/pause"), &json!({})).expect(409);
    serving.post(&format!("/debates/{id}/resume"), &json!({})).expect(409);
    gate.open();
    lines.extend(reader.lines().map(Result::unwrap));
    running.wait().expect_code(0);
    let events: Vec<Value> = lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(recorded(&events), journal(&sandbox, &id));
}

#[test]
fn a_stream_of_several_debates_goes_on_over_restarts_of_the_server() {
    let server = MockServer::with(short_reply);
    let (sandbox, mut serving) = serving(&server);
    let ids = [0, 1].map(|_| serving.begin(&json!({"problem": "Design a queue"})));
    let mut seen: Vec<Value> = Vec::new();
    let mut last = String::new();
    let all: usize = loop {
        let wanted = ids.join(",");
        let headers: &[(&str, &str)] = if last.is_empty() { &[] } else { &[("Last-Event-ID", &last)] };
        let mut reader = serving.follow(&format!("/events?debates={wanted}&list=true"), headers);
        for _ in 0..20 {
            let expected: usize = ids.iter().map(|id| journal(&sandbox, id).len()).sum();
            if recorded(&seen).len() == expected && ids.iter().all(|id| serving.status(id) == "completed") {
                break;
            }
            let Some((id, name, data)) = next_event(&mut reader) else { break };
            if name == "message" {
                last = id.unwrap_or(last);
                seen.push(data);
            }
        }
        for id in &ids {
            serving.wait_for(id, "completed");
        }
        let expected = ids.iter().map(|id| journal(&sandbox, id).len()).sum();
        if recorded(&seen).len() >= expected {
            break expected;
        }
        serving = serving.again(&sandbox);
    };
    assert_eq!(recorded(&seen).len(), all);
    for id in &ids {
        let of_one: Vec<Value> = seen.iter().filter(|event| event["debate"] == **id).cloned().collect();
        assert_eq!(recorded(&of_one), journal(&sandbox, id));
    }
}

#[test]
fn what_a_branch_took_over_is_told_too() {
    let server = MockServer::with(short_reply);
    let (sandbox, serving) = serving(&server);
    let id = serving.complete(&json!({"problem": "Design a queue"}));
    let before = server.requests().len();
    let body = json!({"at": "1.refinements", "agents": null, "judge": {"temperature": 0.1}});
    let fork = serving.post(&format!("/debates/{id}/fork"), &body).expect(201).json();
    let fork = fork["id"].as_str().unwrap();
    assert_eq!(recorded(&serving.events(fork, 0)), journal(&sandbox, fork));
    let state = sandbox.state(fork);
    assert_eq!((&state["forkedFrom"]["id"], &state["settings"]["judge"]["temperature"]), (&json!(id), &json!(0.1)));
    assert!(server.requests().len() - before < before, "what was there is not made again");
    for at in ["1.nothing", "9.refinement", "../x"] {
        let refused = serving.post(&format!("/debates/{id}/fork"), &json!({"at": at})).expect(422).json();
        assert_eq!(refused["key"], "at");
    }
    let outside = tempfile::tempdir().unwrap();
    sandbox.run(["debate", "Design a cache", "--context", outside.path().to_str().unwrap()]).expect_code(0);
    let newest = serving.get("/debates")["debates"][0]["id"].as_str().unwrap().to_owned();
    let refused = serving.post(&format!("/debates/{newest}/fork"), &json!({"at": "start"})).expect(409).json();
    assert!(refused["key"].is_null() && refused["hint"].as_str().unwrap().contains("command line"), "{refused:#}");
}

/// Reads until the last event of the journal was told, and adds what is recorded to `seen`.
fn read_all(reader: &mut BufReader<TcpStream>, sandbox: &Sandbox, id: &str, seen: &mut Vec<Value>) {
    while recorded(seen).last().map(|event| event["seq"].clone())
        != journal(sandbox, id).last().map(|event| event["seq"].clone())
    {
        let (_, name, data) = next_event(reader).expect("the stream goes on");
        if name == "message" {
            seen.push(data);
        }
    }
}

#[test]
fn a_debate_that_was_killed_in_the_middle_of_a_line_is_followed_when_the_command_line_resumes_it() {
    let (server, gate) = MockServer::held(short_reply, |request| request.purpose == Purpose::Critique);
    let sandbox = sandbox(&server, &json!({}));
    let running = sandbox.spawn(["debate", "Design a queue", "--quiet"]);
    server.wait_for_requests(4);
    let id = sandbox.only_debate();
    running.kill();
    let path = format!("debates/{id}.events.jsonl");
    let whole = sandbox.read(&path);
    sandbox.write(&path, whole.clone() + r#"{"seq":99,"at":"2026-01-01T00:00:00.000Z","type":"contri"#);
    let serving = Serving::start(&sandbox, &[]);
    let mut reader = serving.follow(&format!("/events?debates={id}"), &[]);
    let mut seen = Vec::new();
    while recorded(&seen).len() < whole.lines().count() {
        seen.push(next_event(&mut reader).expect("the stream goes on").2);
    }
    assert_eq!(serving.status(&id), "interrupted");
    gate.open();
    sandbox.run(["resume", &id]).expect_code(0);
    read_all(&mut reader, &sandbox, &id, &mut seen);
    assert_eq!(recorded(&seen), journal(&sandbox, &id));
    serving.wait_for(&id, "completed");
}

#[test]
fn a_debate_that_is_gone_takes_the_stream_of_others_with_it_no_more_than_their_words() {
    let server = MockServer::with(short_reply);
    let (sandbox, serving) = serving(&server);
    let ids = [0, 1].map(|_| serving.complete(&json!({"problem": "Design a queue"})));
    let mut reader = serving.follow(&format!("/events?debates=deb-none,{},{}", ids[0], ids[1]), &[]);
    let mut gone = Vec::new();
    let mut seen: Vec<Value> = Vec::new();
    let all: usize = ids.iter().map(|id| journal(&sandbox, id).len()).sum();
    let mut next = |gone: &mut Vec<Value>, seen: &mut Vec<Value>| {
        let (_, name, data) = next_event(&mut reader).expect("the stream goes on");
        if name == "gone" { gone.push(data["debate"].clone()) } else { seen.push(data) }
    };
    while seen.len() < all || gone.is_empty() {
        next(&mut gone, &mut seen);
    }
    assert_eq!(gone, [json!("deb-none")]);
    sandbox.run(["rm", &ids[0], "--yes"]).expect_code(0);
    while gone.len() < 2 {
        next(&mut gone, &mut seen);
    }
    assert_eq!(gone[1], json!(ids[0]));
    // What happens in the other one is told.
    serving.post(&format!("/debates/{}/feedback", ids[1]), &json!({"rating": 1})).expect(204);
    while seen.len() < all + 1 {
        next(&mut gone, &mut seen);
    }
    assert_eq!((&seen[all]["type"], &seen[all]["debate"]), (&json!("rated"), &json!(ids[1])));
}
