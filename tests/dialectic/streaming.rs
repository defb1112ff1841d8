//! Answers come in word by word, and are the same answers whoever watches.

use serde_json::{Value, json};

use crate::support::{
    Api, Incoming, MockServer, Purpose, Reply, Sandbox, Terminal, config, short_reply, solved, spread,
};
use crate::timing::without_times;

const PLAN: &str = "First the queue takes orders one by one, then the workers share the shards between them.";

fn configured(server: &MockServer, debate: &Value) -> Sandbox {
    Sandbox::new().model_server(server).config(&config(&["architect", "kiss"], debate))
}

fn of_architect(request: &Incoming) -> bool {
    request.purpose == Purpose::Propose && request.model() == "model-architect"
}

/// What the judge is shown is shuffled by a seed, so that its reply depends on nothing.
fn reply(request: &Incoming) -> Reply {
    match request.purpose {
        _ if of_architect(request) => Reply::text(PLAN),
        Purpose::Synthesize => Reply::json(solved("Use a ring.", 70)),
        _ => short_reply(request),
    }
    .usage(100, 40, 10)
}

/// Runs a debate in a terminal to its end; its saved state.
fn watched(sandbox: &Sandbox) -> Value {
    Terminal::start(sandbox, ["debate", "Design a queue"]).expect_code(0);
    sandbox.only_state().1
}

/// Some of the two APIs that a server may lack, others for another `offset`.
fn missing(offset: usize) -> impl Iterator<Item = Option<Api>> {
    spread(2, 1, offset).map(|place| [None, Some(Api::Responses)][place])
}

fn is_streamed(request: &Incoming) -> bool {
    request.body["stream"] == true
}

#[test]
fn words_are_on_the_screen_while_the_answer_is_still_coming() {
    for missing in missing(0) {
        let (server, gate) = MockServer::without(missing, reply).holding(of_architect);
        let sandbox = configured(&server, &json!({}));
        let mut terminal = Terminal::start(&sandbox, ["debate", "Design a queue", "--events", "events.ndjson"]);
        // The stream stands still in its middle until this has been seen.
        terminal.wait_for("The architect");
        terminal.wait_for("takes orders");
        gate.open();
        let (output, screen) = terminal.expect_code(0);
        // What is finished stays as its first sentence; of what was on its way nothing does.
        assert!(!screen.text().contains("proposing"), "{output:?}");
        server.assert_clean();
        let streams = server.requests().into_iter().filter(|request| is_streamed(request)).count();
        assert_eq!(streams, server.requests().len());

        let events = sandbox.read("events.ndjson");
        let events = events.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let words: Vec<Value> = events.filter(|event| event["signal"] == "words").collect();
        let of = |event: &&Value| event["key"]["agentId"] == "agent-architect" && event["key"]["phase"] == "proposal";
        let told: String = words.iter().filter(of).map(|event| event["text"].as_str().unwrap()).collect();
        assert_eq!(told, PLAN);
        let journal = sandbox.journal(&sandbox.only_debate());
        assert!(
            !journal.iter().any(|line| line.contains("\"type\":\"words\"") || line.contains("\"signal\":")),
            "{journal:#?}"
        );
    }
}

#[test]
fn the_state_is_the_same_as_without_anybody_watching() {
    let debate = json!({"rounds": 2, "terminationCondition": {"type": "convergence"}});
    for missing in missing(1) {
        let start = || MockServer::without(missing, reply);
        let (plain, live) = (start(), start());
        let unwatched = configured(&plain, &debate);
        unwatched.run(["debate", "Design a queue"]).expect_code(0);
        let expected = without_times(&unwatched.state(&unwatched.only_debate()));
        let state = without_times(&watched(&configured(&live, &debate)));
        assert!(state == expected, "{state:#}\n\n{expected:#}");
        // The figures are the provider's, cached input included.
        let usage = &state["usage"]["model-architect"];
        let requests = usage["requests"].as_u64().unwrap();
        let tokens = ["inputTokens", "cachedInputTokens", "outputTokens"].map(|name| usage[name].as_u64().unwrap());
        assert_eq!(tokens, [100 * requests, 40 * requests, 10 * requests]);

        // Nobody watched the one, somebody the other; they were sent the same.
        let bodies = |server: &MockServer| {
            let mut bodies: Vec<Value> = server.requests().iter().map(|request| request.body.clone()).collect();
            bodies.sort_by_key(Value::to_string);
            bodies
        };
        let (mut plain, mut live) = (bodies(&plain), bodies(&live));
        for body in plain.iter().chain(&live) {
            assert_eq!(body["stream"], true);
            let options = body.get("messages").map(|_| json!({"include_usage": true}));
            assert_eq!(body.get("stream_options"), options.as_ref());
        }
        // How many first requests find the API missing depends on how many are in flight together.
        let is_answered = |body: &Value| missing.is_none() || body.get("messages").is_some();
        plain.retain(is_answered);
        live.retain(is_answered);
        // The judge's prompts are shuffled.
        let of_agents = |body: &&Value| body["model"] != "model-judge";
        assert_eq!(live.len(), plain.len());
        assert!(live.iter().filter(of_agents).eq(plain.iter().filter(of_agents)));
    }
}

#[test]
fn answers_are_streamed_unless_the_configuration_wants_them_whole() {
    let watching = |sandbox: &Sandbox| drop(watched(sandbox));
    let quiet = |sandbox: &Sandbox| drop(sandbox.run(["debate", "Design a queue", "--quiet"]).expect_code(0));
    for (run, stream) in [(watching as fn(&Sandbox), false), (quiet, true), (quiet, false)] {
        let server = MockServer::with(reply);
        let mut config = config(&["architect", "kiss"], &json!({}));
        config["providers"]["openai"] = json!({ "stream": stream });
        run(&Sandbox::new().model_server(&server).config(&config));
        let requests = server.requests();
        assert_eq!(requests.len(), 7);
        assert!(requests.iter().all(|request| is_streamed(request) == stream), "{stream}");
    }
}

#[test]
fn a_stream_that_breaks_is_repeated_once_and_from_its_beginning() {
    for (place, flaw) in [Reply::cut, Reply::faulty].into_iter().enumerate() {
        for missing in missing(place) {
            let script = move |request: &Incoming| {
                let breaks = of_architect(request) && request.repeats == 0;
                if breaks { flaw(reply(request)) } else { reply(request) }
            };
            let server = MockServer::without(missing, script);
            let state = watched(&configured(&server, &json!({"maxRetries": 2})));
            let asked: Vec<_> = server.exchanges().into_iter().filter(|it| of_architect(&it.request)).collect();
            let answered: Vec<_> = asked.iter().filter(|it| it.request.api != missing).collect();
            assert_eq!(answered.len(), 2, "{missing:?}");
            // A stream is given up before it is asked for again.
            assert!(answered[0].ended.unwrap() <= answered[1].arrived);
            let contributions = state["rounds"][0]["contributions"].as_array().unwrap();
            let proposal = contributions.iter().find(|it| it["agentId"] == "agent-architect").unwrap();
            assert_eq!(proposal["content"], PLAN, "{missing:?}");
            assert_eq!(state["outcome"]["kind"], "full");
            // What a broken stream took is unknown; what is known is the second one's.
            assert_eq!(proposal["metadata"]["tokensUsed"], 110);
        }
    }
}

#[test]
fn a_server_that_does_not_stream_is_not_watched_and_answers_all_the_same() {
    let server = MockServer::with(|request| reply(request).unstreamed());
    assert_eq!(watched(&configured(&server, &json!({})))["outcome"]["kind"], "full");
    assert_eq!(server.requests().len(), 7);

    // One that says no is asked without from then on, model by model.
    let server = MockServer::with(|request| {
        if is_streamed(request) { Reply::error(400, "streaming is not supported") } else { reply(request) }
    });
    // One call at a time: what is in flight already cannot know.
    assert_eq!(watched(&configured(&server, &json!({"maxConcurrency": 1})))["outcome"]["kind"], "full");
    let refused = server.requests().iter().filter(|request| is_streamed(request)).count();
    assert_eq!((refused, server.requests().len()), (3, 3 + 7));
    server.assert_clean();
}

#[test]
fn the_offline_provider_speaks_word_by_word_when_it_takes_its_time() {
    // The first debate of a directory takes its time by itself.
    let sandbox = Sandbox::new().env("OFFLINE_LATENCY_MS", "0");
    let arguments = ["debate", "--offline", "--rounds", "1", "Design a rate limiting system"];
    let (plain, _) = Terminal::start(&sandbox, arguments).expect_code(0);
    assert!(!plain.contains(" words ·"), "{plain}");
    let sandbox = sandbox.env("OFFLINE_LATENCY_MS", "600");
    let mut terminal = Terminal::start(&sandbox, arguments);
    terminal.wait_for(" words ·");
    terminal.expect_code(0);
    let states: Vec<Value> = sandbox.debates().iter().map(|id| without_times(&sandbox.state(id))).collect();
    assert_eq!(states.len(), 2);
    // Each debate numbers its texts by a seed of its own.
    let said = |state: &Value| state["rounds"].to_string().replace(|c: char| c.is_ascii_digit(), "");
    assert_eq!(said(&states[0]), said(&states[1]));
}
