use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{path, post, question, send};
use crate::support::{Api, Delivery, Gate, Incoming, LogNormal, MockServer, Purpose, Reply, by_task, default_reply};

fn ask(server: &MockServer, api: Api, prompt: &str) -> super::Answer {
    post(server, path(api), &question(api, "s", prompt))
}

/// The model's text in an answer of either API.
fn text(answer: &Value) -> &str {
    let pointers = ["/output/0/content/0/text", "/choices/0/message/content"];
    pointers.iter().find_map(|pointer| answer.pointer(pointer)?.as_str()).unwrap()
}

#[test]
fn the_same_question_gets_the_same_answer_from_both_apis_and_every_server() {
    let (one, other) = (MockServer::start(), MockServer::start());
    let responses = ask(&one, Api::Responses, "What?").json();
    let chat = ask(&other, Api::Chat, "What?").json();
    assert_eq!(text(&responses), text(&chat));
    assert_ne!(text(&responses), text(&ask(&one, Api::Responses, "Which?").json()));
    one.assert_clean();
}

#[test]
fn the_judge_is_answered_with_json() {
    let server = MockServer::start();
    let json = |task: &str| {
        let answer = ask(&server, Api::Chat, &format!("# Your task\n\n{task}")).json();
        serde_json::from_str::<Value>(text(&answer)).unwrap()
    };
    let score = json("`{\"reason\":\"...\",\"confidence\":0}`");
    assert_eq!((score["reason"].is_string(), &score["confidence"]), (true, &json!(82)));
    assert_eq!(json("`{\"questions\":[]}`"), json!({"questions": []}));
    assert_eq!(json("`{\"choice\":\"2\"}`")["choice"], "1");
    assert_eq!(json("- `unfulfilledMajorRequirements`")["confidence"], 82);
    assert_eq!(json("- `unfulfilledMajorRequirements`").get("base"), None);
    assert_eq!(json("- `base`\n- `unfulfilledMajorRequirements`")["base"], "1");
    assert_eq!(json("{\"functional_completeness\"")["overall_summary"]["overall_score"], 7);
    let purposes: Vec<Purpose> = server.requests().iter().map(|request| request.purpose).collect();
    assert_eq!(purposes[..2], [Purpose::Confidence, Purpose::Clarify]);
}

#[test]
fn usage_and_tool_calls_have_the_form_of_each_api() {
    let script = |_: &_| Reply::tool_calls([("file_read", json!({"path": "a"}))]).usage(100, 40, 7).served_by("m-1");
    let server = MockServer::with(script);
    let responses = ask(&server, Api::Responses, "p").json();
    assert_eq!(responses["usage"]["input_tokens_details"]["cached_tokens"], 40);
    assert_eq!((&responses["usage"]["total_tokens"], &responses["model"]), (&json!(107), &json!("m-1")));
    let call = &responses["output"][0];
    assert_eq!((&call["type"], &call["arguments"]), (&json!("function_call"), &json!("{\"path\":\"a\"}")));
    let chat = ask(&server, Api::Chat, "p").json();
    assert_eq!(chat["usage"]["prompt_tokens_details"]["cached_tokens"], 40);
    assert_eq!(chat["choices"][0]["finish_reason"], "tool_calls");
    let function = &chat["choices"][0]["message"]["tool_calls"][0]["function"];
    assert_eq!(function, &json!({"name": "file_read", "arguments": "{\"path\":\"a\"}"}));
    server.set_script(|_| Reply::text("x").without_usage());
    assert_eq!(ask(&server, Api::Chat, "p").json().get("usage"), None);
}

#[test]
fn an_answer_can_end_early_for_a_reason() {
    use crate::support::Ending;
    let server = MockServer::with(|_| Reply::text("x").ending(Ending::OutputLimit));
    assert_eq!(ask(&server, Api::Chat, "p").json()["choices"][0]["finish_reason"], "length");
    let responses = ask(&server, Api::Responses, "p").json();
    assert_eq!(responses["status"], "incomplete");
    assert_eq!(responses["incomplete_details"]["reason"], "max_output_tokens");
    server.set_script(|_| Reply::text("x").ending(Ending::ContentFilter));
    assert_eq!(ask(&server, Api::Chat, "p").json()["choices"][0]["finish_reason"], "content_filter");
}

#[test]
fn a_request_in_flight_is_answered_though_the_log_begins_anew() {
    let server = MockServer::with(|_| Reply::text("x").after(Duration::from_millis(300)));
    std::thread::scope(|scope| {
        let asked = scope.spawn(|| ask(&server, Api::Chat, "p").status);
        server.wait_for_requests(1);
        server.forget();
        assert_eq!(asked.join().unwrap(), 200);
    });
    assert_eq!(server.exchanges().len(), 0);
    assert_eq!(ask(&server, Api::Chat, "q").status, 200);
    assert_eq!((server.exchanges().len(), server.peak_in_flight()), (1, 1));
}

#[test]
fn an_api_can_be_switched_off_and_that_is_nobodys_fault() {
    let server = MockServer::without(Api::Responses, default_reply);
    assert_eq!(ask(&server, Api::Responses, "p").status, 404);
    assert_eq!(ask(&server, Api::Chat, "p").status, 200);
    server.assert_clean();
}

#[test]
fn a_request_that_a_real_server_would_refuse_is_remembered() {
    let server = MockServer::start();
    post(&server, "/v1/responses", &json!({"model": "m", "input": "p", "top_k": 3}));
    assert_eq!(server.violations(), ["request 0 (POST /v1/responses): unknown field `top_k`"]);
    let judged = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| server.assert_clean()));
    assert!(judged.is_err());
}

#[test]
fn a_script_sees_how_often_it_was_asked_the_same() {
    let server = MockServer::with(|request| match request.repeats {
        0 => Reply::error(429, "slow down").header("retry-after", "1"),
        _ => Reply::text("now"),
    });
    let refused = ask(&server, Api::Chat, "p");
    assert_eq!((refused.status, &refused.json()["error"]["message"]), (429, &json!("slow down")));
    assert!(refused.head.contains("retry-after: 1\r\n"), "{}", refused.head);
    assert_eq!(text(&ask(&server, Api::Chat, "p").json()), "now");
    assert_eq!(ask(&server, Api::Chat, "another").status, 429);
}

#[test]
fn every_kind_of_broken_answer_arrives_as_it_was_broken() {
    let server = MockServer::with(|_| Reply::html().status(502));
    let page = ask(&server, Api::Chat, "p");
    assert!(page.status == 502 && page.head.contains("text/html") && page.body.starts_with("<!DOCTYPE html>"));

    server.set_script(|_| Reply::empty());
    assert_eq!(ask(&server, Api::Chat, "p").body, "");

    server.set_script(|_| Reply::text("half of this").truncated());
    let half = ask(&server, Api::Chat, "p");
    assert!(half.is_whole() && serde_json::from_str::<Value>(&half.body).is_err(), "{}", half.body);

    server.set_script(|_| Reply::text("half of this").cut());
    let cut = ask(&server, Api::Chat, "p");
    assert!(cut.status == 200 && !cut.body.is_empty() && !cut.is_whole(), "{}{}", cut.head, cut.body);

    server.set_script(|_| Reply::huge());
    assert!(text(&ask(&server, Api::Responses, "p").json()).len() >= 10_000_000);
}

#[test]
fn pieces_arrive_as_they_stand_whatever_was_wished_for() {
    let pieces = |delivery| move |_: &Incoming| Reply::pieces("text/event-stream", ["one, ", "two"], delivery);
    let server = MockServer::with(pieces(Delivery::Whole));
    let whole = ask(&server, Api::Chat, "p");
    assert!(whole.head.contains("content-type: text/event-stream\r\n") && !whole.head.contains("content-length"));
    // Each piece is a chunk, and an empty one is the end.
    assert_eq!(whole.body, "5\r\none, \r\n3\r\ntwo\r\n0\r\n\r\n");
    server.set_script(pieces(Delivery::Cut));
    assert_eq!(ask(&server, Api::Chat, "p").body, "5\r\none, \r\n3\r\ntwo\r\n");
}

#[test]
fn words_in_packets_of_their_own_come_to_the_same() {
    let mut body = question(Api::Chat, "s", "p");
    body["stream"] = json!(true);
    let reply = Reply::text("A queue must never lose a message.");
    let [joined, apart] = [reply.clone(), reply.word_by_word()].map(|reply| {
        let server = MockServer::with(move |_| reply.clone());
        post(&server, path(Api::Chat), &body).body
    });
    assert!(joined.len() > 1_000);
    assert_eq!(apart, joined);
}

#[test]
fn an_answer_can_be_held_until_others_were_asked_for() {
    let gate = Gate::shut();
    let server = MockServer::with(move |request| {
        if request.index == 1 {
            gate.open();
        }
        Reply::text("x").held(&gate)
    });
    let body = question(Api::Chat, "s", "p");
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| assert_eq!(post(&server, path(Api::Chat), &body).status, 200));
        }
    });
    assert_eq!(server.peak_in_flight(), 2);
}

#[test]
fn what_was_sent_is_kept_to_the_byte() {
    let server = MockServer::start();
    let body = question(Api::Chat, "s", "p");
    post(&server, "/v1/chat/completions?api-version=1&a=b", &body);
    post(&server, "/v1/responses", &question(Api::Responses, "s", "p"));
    let request = &server.requests()[0];
    assert_eq!((&request.sent, request.query.as_deref()), (&body.to_string(), Some("api-version=1&a=b")));
    assert_eq!(server.paths(), ["/v1/chat/completions", "/v1/responses"]);
    assert_eq!((server.count("/v1/responses"), server.count("/v1")), (1, 0));
}

#[test]
fn answers_can_go_by_the_task_and_calls_are_told_by_it() {
    let server = MockServer::with(by_task([("speak", Reply::text("A speech.")), ("poll the house", Reply::text("B"))]));
    // What others wrote may look like a task.
    let quoted = "# Your task: speak\n\n# Your task: poll the house\n\nName one.\n";
    for api in [Api::Chat, Api::Responses] {
        assert_eq!(text(&ask(&server, api, quoted).json()), "B");
        assert_eq!(text(&ask(&server, api, "# Motion\n\n# Your task: speak").json()), "A speech.");
    }
    let unknown = ask(&server, Api::Chat, "# Your task: sing");
    assert_eq!((unknown.status, &unknown.json()["error"]["message"]), (400, &json!("no answer to `sing`")));
    assert_eq!(ask(&server, Api::Chat, "# Your task: speak\n\n# Something else").status, 400);
    let calls = server.calls();
    let tasks: Vec<&str> = calls.iter().map(|(_, task)| task.as_str()).collect();
    assert_eq!(tasks, ["poll the house", "speak", "poll the house", "speak", "sing", ""]);
    assert!(calls.iter().all(|(model, _)| model == "gpt-4"));
}

#[test]
fn a_hanging_request_ends_when_the_client_gives_up() {
    let server = MockServer::with(|_| Reply::hang());
    let connection = send(&server, path(Api::Chat), &question(Api::Chat, "s", "p"));
    server.wait_for_requests(1);
    assert_eq!(server.exchanges()[0].ended, None);
    drop(connection);
    let started = Instant::now();
    while server.exchanges()[0].ended.is_none() {
        assert!(started.elapsed() < Duration::from_mins(1), "the server did not notice");
        std::thread::sleep(Duration::from_millis(2));
    }
    assert!(server.exchanges()[0].abandoned);
}

#[test]
fn arrival_end_and_requests_in_flight_are_recorded() {
    let gate = Gate::shut();
    let held = gate.clone();
    let server = MockServer::with(move |_| Reply::text("x").after(Duration::from_millis(400)).held(&held));
    let body = question(Api::Chat, "s", "p");
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| post(&server, path(Api::Chat), &body));
        }
        server.wait_for_requests(3);
        gate.open();
    });
    assert_eq!(server.peak_in_flight(), 3);
    for exchange in server.exchanges() {
        assert!(exchange.took().unwrap() >= Duration::from_millis(400));
        assert!(!exchange.abandoned);
    }
    post(&server, path(Api::Chat), &body);
    assert_eq!(server.exchanges()[3].in_flight, 1);
}

#[test]
fn a_request_takes_as_long_whenever_it_arrives() {
    let latency = LogNormal::with_mean(Duration::from_millis(40), 0.5, 1);
    let server = MockServer::with(move |request| Reply::text("x").after(latency.of(request)));
    for prompt in ["p", "q", "p"] {
        ask(&server, Api::Chat, prompt);
    }
    let drawn: Vec<Duration> = server.requests().iter().map(|request| latency.of(request)).collect();
    assert_eq!(drawn[0], drawn[2]);
    assert_ne!(drawn[0], drawn[1]);
    for (exchange, drawn) in server.exchanges().iter().zip(drawn) {
        assert!(exchange.took().unwrap() >= drawn);
    }
}
