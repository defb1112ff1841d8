//! `dialectic mcp`, by clients of three kinds: rmcp's own, Python's, and lines of JSON as an older client sends them.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use rmcp::model::{CallToolRequestParams, ProtocolVersion};
use rmcp::service::RunningService;
use rmcp::{ClientLifecycleMode, ClientServiceExt as _, RoleClient};
use serde_json::{Value, json};

use crate::detach::curious;
use crate::host::{hosted, reply_to};
use crate::support::{MockServer, Sandbox, block_on, config, short_reply, with_each};

const LIMITS: [&str; 5] = ["mcp", "--max-cost", "1", "--max-cost-per-day", "5"];

/// A debate of offline agents, who may be asked to ask.
fn offline() -> Sandbox {
    Sandbox::new().config(&with_each(config(&["architect", "kiss"], &json!({})), "provider", "offline"))
}

/// Models that ask, whose prices are known.
fn asking(server: &MockServer) -> Sandbox {
    let debate = json!({"clarificationsMaxIterations": 1, "clarificationsMaxPerAgent": 1});
    let mut config = config(&["architect", "kiss"], &debate);
    let price = json!({"inputPerMTok": 0.01, "outputPerMTok": 0.01});
    config["prices"] = json!({"model-architect": price, "model-kiss": price, "model-judge": price});
    Sandbox::new().model_server(server).config(&config)
}

/// A client that sends lines.
struct Lines {
    child: Child,
    stdin: Option<ChildStdin>,
    received: Receiver<String>,
    sent: u64,
    /// What the server sent of its own accord.
    notices: Vec<Value>,
}

impl Lines {
    fn start(sandbox: &Sandbox, arguments: &[&str]) -> Self {
        let mut command = sandbox.command(arguments);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let (sender, received) = channel();
        std::thread::spawn(move || stdout.lines().map_while(Result::ok).try_for_each(|line| sender.send(line)));
        let stdin = child.stdin.take();
        Self { child, stdin, received, sent: 0, notices: Vec::new() }
    }

    /// As a client of that version begins.
    fn begun(sandbox: &Sandbox, arguments: &[&str], version: &str) -> (Self, Value) {
        let mut client = Self::start(sandbox, arguments);
        let hello = json!({
            "protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "lines", "version": "1"}
        });
        let hello = client.request("initialize", &hello);
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        (client, hello)
    }

    fn send(&mut self, message: &Value) {
        writeln!(self.stdin.as_mut().unwrap(), "{message}").unwrap();
    }

    /// The response. Whatever comes on standard output has to be of the protocol.
    fn request(&mut self, method: &str, params: &Value) -> Value {
        self.sent += 1;
        let id = self.sent;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        loop {
            let line = self.received.recv_timeout(Duration::from_mins(1)).expect("the server answers");
            let message: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
            assert_eq!(message["jsonrpc"], "2.0", "{line}");
            if message["id"] == json!(id) {
                return message;
            }
            self.notices.push(message);
        }
    }

    fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        let response = self.request("tools/call", &json!({"name": tool, "arguments": arguments}));
        assert!(response["error"].is_null(), "{response:#}");
        response["result"].clone()
    }

    /// Begins a debate; its id.
    fn begin(&mut self, arguments: &Value) -> String {
        let begun = self.call("debate", arguments);
        begun["structuredContent"]["id"].as_str().unwrap_or_else(|| panic!("{begun:#}")).to_owned()
    }

    /// Waits until the debate does not run any more.
    fn wait(&mut self, id: &str) -> Value {
        for _ in 0..30 {
            let over = self.call("wait", &json!({"id": id}));
            if over["structuredContent"]["status"] != "running" {
                return over;
            }
        }
        panic!("{id} does not end");
    }

    /// Closes its standard input, as clients do, and waits for its end.
    fn leave(mut self) -> Option<i32> {
        drop(self.stdin.take());
        self.child.wait().unwrap().code()
    }
}

impl Drop for Lines {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap()
}

#[test]
fn an_older_client_holds_a_debate_with_lines_of_json() {
    let sandbox = offline();
    let (mut client, hello) = Lines::begun(&sandbox, &LIMITS, "2024-11-05");
    assert_eq!(hello["result"]["protocolVersion"], "2024-11-05", "{hello:#}");
    assert_eq!(hello["result"]["serverInfo"]["name"], "dialectic");
    let tools = client.request("tools/list", &json!({}));
    let tools = tools["result"]["tools"].as_array().unwrap().clone();
    let names: Vec<&str> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    let all = ["plan", "debate", "wait", "status", "answer", "stop", "points", "ask", "report", "list"];
    assert_eq!(names, [&all[..], &["requests", "reply"]].concat());
    assert!(tools.iter().all(|tool| tool["inputSchema"]["additionalProperties"] == false));

    let plan = client.call("plan", &json!({"problem": "Design a queue"}));
    assert!(text(&plan).contains("7 calls"), "{plan:#}");
    assert_eq!(sandbox.debates(), Vec::<String>::new());
    let id = client.begin(&json!({"problem": "Design a queue"}));
    let over = client.wait(&id);
    assert_eq!(over["structuredContent"]["outcome"], "full", "{over:#}");
    let answer = &over["structuredContent"]["answer"];
    assert!(answer["unmet"].is_u64() && answer["openMajor"].is_array(), "texts of models are marked: {answer:#}");
    assert!(text(&over).contains("\nRun: complete\nAnswer: "), "{over:#}");
    assert!(text(&over).contains("Language models wrote"), "{over:#}");
    let mark = text(&over).lines().find(|line| line.starts_with("words-of-models-")).unwrap().to_owned();
    assert_eq!(text(&over).lines().last(), Some(mark.as_str()));
    assert!(text(&over).contains("## Judge Assessment"));
    let points = client.call("points", &json!({"id": id}));
    assert!(text(&points).contains("words-of-models-"), "{points:#}");
    let adr = client.call("report", &json!({"id": id, "format": "adr"}));
    assert!(text(&adr).contains("## Decision Outcome") || text(&adr).contains("## "), "{adr:#}");
    let asked = client.call("ask", &json!({"id": id, "question": "Which part first?"}));
    assert_eq!(asked["isError"], false, "{asked:#}");
    let list = client.call("list", &json!({"limit": 5}));
    assert!(text(&list).contains(&id), "{list:#}");
    let stopped = client.call("stop", &json!({"id": id}));
    assert!(text(&stopped).contains("cannot be stopped"), "{stopped:#}");
    let resources = client.request("resources/list", &json!({}));
    let uri = resources["result"]["resources"][0]["uri"].as_str().unwrap().to_owned();
    assert_eq!(uri, format!("dialectic://debate/{id}"));
    let report = client.request("resources/read", &json!({"uri": uri}));
    assert!(report["result"]["contents"][0]["text"].as_str().unwrap().contains("words-of-models-"), "{report:#}");
    let none = client.request("resources/read", &json!({"uri": "dialectic://debate/../../etc/passwd"}));
    assert!(none["error"]["message"].as_str().unwrap().contains("there is no"), "{none:#}");
    assert_eq!(client.leave(), Some(0));
}

#[test]
fn what_is_not_listed_is_refused_and_no_path_is_a_debate() {
    let sandbox = offline().file("x.json", r#"{"id": "x", "problem": "p", "status": "completed", "rounds": []}"#);
    let (mut client, _) = Lines::begun(&sandbox, &LIMITS, "2025-06-18");
    for (tool, arguments, said) in [
        ("debate", json!({"problem": "x", "config": "/tmp/x"}), "unknown field `config`"),
        ("debate", json!({"problem": " "}), "the problem is empty"),
        ("debate", json!({"problem": "x", "offline": true, "model": "host"}), "not both"),
        ("debate", json!({"problem": "a\nb\0"}), "the problem contains a NUL character at line 2, column 2"),
        ("debate", json!({"problem": "x", "protocol": "--serve"}), "--serve"),
        ("debate", json!({"problem": "x", "files": ["x.json"]}), "without --context"),
        ("debate", json!({"problem": "x", "maxCost": 2}), "at most $1.0000"),
        ("debate", json!({"problem": "x", "maxCost": -1}), "above 0"),
        ("status", json!({"id": "x.json"}), "there is no debate `x.json`"),
        ("report", json!({"id": "./x.json"}), "there is no debate"),
        ("stop", json!({"id": "--help"}), "there is no debate"),
        ("wait", json!({"id": "latest"}), "there is no debate"),
    ] {
        let refused = client.call(tool, &arguments);
        assert_eq!(refused["isError"], true, "{tool} {arguments}: {refused:#}");
        assert!(text(&refused).contains(said), "{tool} {arguments}: {refused:#}");
    }
    assert_eq!(client.request("tools/call", &json!({"name": "rm", "arguments": {}}))["error"]["code"], -32602);
    assert_eq!(sandbox.debates(), Vec::<String>::new());
    for missing in [["mcp", "--max-cost", "1"], ["mcp", "--max-cost-per-day", "1"]] {
        sandbox.run(missing).expect_code(2);
    }
}

#[test]
fn files_are_those_below_the_context_and_none_that_may_hold_secrets() {
    let sandbox =
        offline().file("project/a.txt", "the text of a").file("project/.env", "KEY=x").file("outside.txt", "outside");
    std::os::unix::fs::symlink("../outside.txt", sandbox.directory().join("project/link.txt")).unwrap();
    let arguments = [&LIMITS[..], &["--context", "project"]].concat();
    let (mut client, _) = Lines::begun(&sandbox, &arguments, "2025-06-18");
    for refused in ["../outside.txt", "link.txt", ".env", "/etc/passwd", "none.txt"] {
        let result = client.call("debate", &json!({"problem": "x", "files": [refused]}));
        assert_eq!(result["isError"], true, "{refused}: {result:#}");
    }
    assert_eq!(sandbox.debates(), Vec::<String>::new());
    let id = client.begin(&json!({"problem": "x", "files": ["a.txt"]}));
    client.wait(&id);
    assert_eq!(sandbox.state(&id)["attachments"][0]["text"], "the text of a");
}

#[test]
fn a_killed_server_takes_no_debate_with_it() {
    let (server, gate) = MockServer::held(short_reply, |_| true);
    let sandbox = asking(&server);
    let (mut client, _) = Lines::begun(&sandbox, &LIMITS, "2025-06-18");
    let id = client.begin(&json!({"problem": "Design a queue"}));
    server.wait_for_requests(2);
    drop(client);
    gate.open();
    sandbox.run(["wait", &id]).expect_code(0);
    assert_eq!(sandbox.state(&id)["outcome"]["kind"], "full");
    assert_eq!(server.requests().len(), 7);
    let (mut client, _) = Lines::begun(&sandbox, &LIMITS, "2025-06-18");
    assert_eq!(client.wait(&id)["structuredContent"]["status"], "completed");
}

#[test]
fn questions_come_in_the_result_and_an_agents_answers_are_recorded_as_such() {
    let server = MockServer::with(curious);
    let sandbox = asking(&server);
    let (mut client, _) = Lines::begun(&sandbox, &LIMITS, "2025-06-18");
    let id = client.begin(&json!({"problem": "Design a queue", "clarify": true}));
    let asks = client.wait(&id);
    assert_eq!(asks["structuredContent"]["status"], "asking", "{asks:#}");
    assert!(text(&asks).contains("q1, from The architect (architect): What does architect have to know?"), "{asks:#}");
    let refused = client.call("answer", &json!({"id": id, "answers": {"q1": "a"}}));
    assert!(text(&refused).contains("q2 would remain unanswered"), "{refused:#}");
    client.call("answer", &json!({"id": id, "answers": {"q1": "500 a second", "q2": null}}));
    assert_eq!(client.wait(&id)["structuredContent"]["outcome"], "full");
    let item = &sandbox.state(&id)["clarifications"][0]["items"][0];
    assert_eq!((&item["answer"], &item["answeredBy"]), (&json!("500 a second"), &json!("agent")));
}

/// Offline agents ask, too; what an agent answers or skips in the user's place is on record as that.
#[test]
fn offline_agents_ask_an_older_client_whose_skips_are_recorded_as_an_agents() {
    let sandbox = offline();
    let (mut client, _) = Lines::begun(&sandbox, &LIMITS, "2024-11-05");
    let id = client.begin(&json!({"problem": "Design a queue", "clarify": true}));
    let asks = client.wait(&id);
    assert_eq!(asks["structuredContent"]["status"], "asking", "{asks:#}");
    assert!(text(&asks).contains("q1, from ") && text(&asks).contains("words-of-models-"), "{asks:#}");
    let refused = client.call("answer", &json!({"id": id}));
    assert!(text(&refused).contains("for the user, on the command line: ") && !text(&refused).contains("hint"));
    client.call("answer", &json!({"id": id, "answers": {"q1": "500"}, "skipRest": true}));
    let over = client.wait(&id);
    assert_eq!(over["structuredContent"]["outcome"], "full", "{over:#}");
    let state = sandbox.state(&id);
    let groups = state["clarifications"].as_array().unwrap();
    let items: Vec<&Value> = groups.iter().flat_map(|group| group["items"].as_array().unwrap()).collect();
    assert!(items.len() > 1 && items.iter().all(|item| item["answeredBy"] == "agent"), "{items:?}");
    assert!(items[0]["answer"] == "500" && items[1..].iter().all(|item| item["answer"] == "NA"), "{items:?}");
    sandbox.assert_state_is_the_fold(&id);
    let report = sandbox.run(["report", &id]).expect_code(0);
    assert!(report.stdout.contains("an agent's"), "{report}");
}

/// A question to the judge sets aside what it may cost, and holds up nobody while it is answered.
#[test]
fn a_question_that_takes_long_holds_up_no_debate_and_counts() {
    let (server, gate) = MockServer::held(short_reply, |request| request.text().contains("Which part first?"));
    let sandbox = asking(&server);
    let arguments = ["mcp", "--max-cost", "0.4", "--max-cost-per-day", "1"];
    let (mut client, _) = Lines::begun(&sandbox, &arguments, "2025-06-18");
    let problem = json!({"problem": "Design a queue"});
    let id = client.begin(&problem);
    assert_eq!(client.wait(&id)["structuredContent"]["outcome"], "full");
    let asked = server.requests().len();
    std::thread::scope(|scope| {
        let asking = scope.spawn(|| {
            let (mut asking, _) = Lines::begun(&sandbox, &arguments, "2025-06-18");
            asking.call("ask", &json!({"id": id, "question": "Which part first?"}))
        });
        server.wait_for_requests(asked + 1);
        // Nothing of this waits for the answer, which is held.
        let limit = |client: &mut Lines| {
            let begun = client.call("debate", &problem);
            let id = begun["structuredContent"]["id"].as_str().unwrap_or_else(|| panic!("{begun:#}")).to_owned();
            client.wait(&id);
            begun["structuredContent"]["maxCostUsd"].as_f64().unwrap()
        };
        assert!(limit(&mut client) <= 0.4 + 1e-9);
        // What the answer may cost is set aside: of the dollar, 0.4 are.
        let ask = client.call("debate", &json!({"problem": "Design a queue", "maxCost": 0.4}));
        let left = ask["structuredContent"]["maxCostUsd"].as_f64().unwrap_or_else(|| panic!("{ask:#}"));
        assert!(left <= 0.4, "{left}");
        gate.open();
        let answered = asking.join().unwrap();
        assert_eq!(answered["isError"], false, "{answered:#}");
    });
}

#[test]
fn the_limit_of_the_day_holds_for_all_servers_of_a_directory() {
    let (server, gate) = MockServer::held(short_reply, |_| true);
    let sandbox = asking(&server);
    let arguments = ["mcp", "--max-cost", "0.4", "--max-cost-per-day", "1"];
    let begun = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let (mut client, _) = Lines::begun(&sandbox, &arguments, "2025-06-18");
                let result = client.call("debate", &json!({"problem": "Design a queue"}));
                begun.lock().unwrap().push(result);
            });
        }
    });
    let begun = begun.into_inner().unwrap();
    let limits: Vec<f64> =
        begun.iter().filter_map(|result| result["structuredContent"]["maxCostUsd"].as_f64()).collect();
    assert!(limits.iter().sum::<f64>() <= 1.0 + 1e-6, "{limits:?}");
    assert_eq!(limits.len(), 3, "{begun:#?}");
    let refused = begun.iter().find(|result| result["isError"] == true).expect("the fourth finds nothing left");
    assert!(text(refused).contains("used up"), "{refused:#}");
    let (mut client, _) = Lines::begun(&sandbox, &arguments, "2025-06-18");
    for free in [json!({"offline": true}), json!({"model": "host"})] {
        let mut debate = free;
        debate["problem"] = json!("Design a queue");
        let begun = client.call("debate", &debate);
        assert_eq!(begun["isError"], false, "it costs nothing: {begun:#}");
        if debate["model"] == "host" {
            let stopped = client.call("stop", &json!({"id": begun["structuredContent"]["id"]}));
            assert!(text(&stopped).contains("Call `requests`"), "{stopped:#}");
        }
    }
    gate.open();
    for id in sandbox.debates() {
        sandbox.run(["wait", &id]);
        let state = sandbox.state(&id);
        let is_hosted = state["settings"]["judge"]["provider"] == "host";
        assert_eq!(state["status"], if is_hosted { "paused" } else { "completed" });
    }
}

/// A user began it without limits, and a client's reply continues it.
#[test]
fn a_debate_with_replies_stays_within_the_servers_limits() {
    let server = MockServer::with(short_reply);
    let roles = ["architect", "kiss"];
    let mut config = hosted(&roles, &["kiss"], &json!({"rounds": 3}));
    config["prices"] = json!({"model-architect": {"inputPerMTok": 0.01, "outputPerMTok": 0.01}});
    let sandbox = Sandbox::new().model_server(&server).config(&config);
    let id = sandbox.run(["debate", "Design a queue"]).expect_code(0).stdout.trim().to_owned();
    let (mut client, _) = Lines::begun(&sandbox, &[&LIMITS[..], &["--max-calls", "9"]].concat(), "2025-06-18");
    let mut replies = 0;
    let over = loop {
        let result = client.call("requests", &json!({"id": id}));
        let Ok(Value::Array(open)) = serde_json::from_str(text(&result)) else { break result };
        for request in &open {
            let reply = json!({"id": id, "request": request["id"], "text": reply_to(request)});
            assert_eq!(client.call("reply", &reply)["isError"], false);
            replies += 1;
        }
    };
    assert_eq!(over["structuredContent"]["outcome"], "stopped", "{over:#}");
    let state = sandbox.state(&id);
    assert_eq!(state["stopReason"], "budget");
    let usage = state["usage"].as_object().unwrap().values();
    let made: u64 = usage.map(|usage| usage["requests"].as_u64().unwrap()).sum();
    assert_eq!(made, (server.requests().len() + replies) as u64, "each reply is in the record");
    assert!(server.requests().len() + replies <= 9, "{replies} replies");
    assert!(sandbox.read("debates/spending.ledger").contains(&format!("\"{id}\": ")), "the limit counts for the day");
}

/// rmcp's client.
struct Rmcp {
    _child: tokio::process::Child,
    running: RunningService<RoleClient, ()>,
}

impl Rmcp {
    async fn start(sandbox: &Sandbox, arguments: &[&str], lifecycle: ClientLifecycleMode) -> Self {
        let mut command = tokio::process::Command::from(sandbox.command(arguments));
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true).spawn().unwrap();
        let transport = (child.stdout.take().unwrap(), child.stdin.take().unwrap());
        Self { running: ().serve_with_lifecycle(transport, lifecycle).await.unwrap(), _child: child }
    }

    async fn call(&self, tool: &'static str, arguments: Value) -> Value {
        let arguments = arguments.as_object().unwrap().clone();
        let called = self.running.call_tool(CallToolRequestParams::new(tool).with_arguments(arguments)).await;
        serde_json::to_value(called.unwrap()).unwrap()
    }
}

#[test]
fn rmcps_client_holds_a_debate_by_the_old_handshake_and_the_new() {
    let discovering = ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] };
    for lifecycle in [ClientLifecycleMode::Initialize, discovering] {
        let sandbox = offline();
        let held = async {
            let client = Rmcp::start(&sandbox, &LIMITS, lifecycle.clone()).await;
            let begun = client.call("debate", json!({"problem": "Design a queue", "clarify": true})).await;
            let id = &begun["structuredContent"]["id"];
            for _ in 0..30 {
                let over = client.call("wait", json!({"id": id})).await["structuredContent"].clone();
                match over["status"].as_str().unwrap_or_else(|| panic!("{begun:#}")) {
                    "asking" => drop(client.call("answer", json!({"id": id, "skipRest": true})).await),
                    "running" => {}
                    _ => return over,
                }
            }
            panic!("it does not end");
        };
        let over = block_on(async { tokio::time::timeout(Duration::from_mins(1), held).await });
        assert_eq!(over.expect("it takes less than a minute")["outcome"], "full", "{lifecycle:?}");
    }
}

/// A server without limits; its first client begins and answers once, the other one answers the rest.
#[test]
fn two_clients_answer_in_place_of_the_models_without_a_limit() {
    let sandbox = Sandbox::new();
    let (mut client, _) = Lines::begun(&sandbox, &["mcp"], "2025-06-18");
    let refused = client.call("debate", &json!({"problem": "Design a queue"}));
    assert!(text(&refused).contains("this server has no cost limits"), "{refused:#}");
    assert_eq!(sandbox.debates(), Vec::<String>::new());
    let begun = client.call("debate", &json!({"problem": "Design a queue", "model": "host", "quick": true}));
    assert!(text(&begun).contains("Call `requests`"), "{begun:#}");
    let id = begun["structuredContent"]["id"].as_str().unwrap().to_owned();
    assert!(text(&client.call("wait", &json!({"id": id}))).contains("is waiting for you to reply"));
    let open: Value = serde_json::from_str(text(&client.call("requests", &json!({"id": id})))).unwrap();
    let named = |request: &Value, text: &str| json!({"id": id, "request": request["id"], "text": text, "by": "fable"});
    let refused = client.call("reply", &named(&open[0], " "));
    assert!(refused["isError"] == true && text(&refused).contains("the reply is empty"), "{refused:#}");
    let accepted = client.call("reply", &named(&open[0], &reply_to(&open[0])));
    assert!(text(&accepted).contains("Accepted the reply"), "{accepted:#}");
    let asked = client.call("requests", &json!({"id": id, "request": "--help"}));
    assert!(text(&asked).contains("there is no open request `--help`"), "{asked:#}");

    let over = block_on(async {
        let client = Rmcp::start(&sandbox, &["mcp"], ClientLifecycleMode::Initialize).await;
        for _ in 0..20 {
            let result = client.call("requests", json!({"id": id})).await;
            let Ok(Value::Array(open)) = serde_json::from_str(text(&result)) else { return result };
            for request in &open {
                client.call("reply", named(request, &reply_to(request))).await;
            }
        }
        panic!("it does not end");
    });
    assert_eq!(over["structuredContent"]["outcome"], "full", "{over:#}");
    let asked = client.call("ask", &json!({"id": id, "question": "Why?"}));
    assert!(text(&asked).contains("cannot answer follow-up questions"), "{asked:#}");
}

/// Python's client, by the Python in `MCP_CLIENT`.
#[test]
fn pythons_client_holds_a_debate_with_clarifications() {
    let Some(python) = std::env::var_os("MCP_CLIENT") else {
        assert!(std::env::var_os("CI").is_none(), "MCP_CLIENT is not set, and no client was tried");
        return;
    };
    let sandbox = offline().env("OFFLINE_LATENCY_MS", "500");
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/dialectic/mcp/client.py");
    let program = sandbox.command(LIMITS);
    let mut command = Command::new(python);
    command.arg(script).arg(program.get_program()).args(program.get_args()).current_dir(sandbox.directory());
    command.env_clear().envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
    let seen: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(seen["tools"].as_array().unwrap().len(), 12);
    assert_eq!(seen["over"]["outcome"], "full", "{seen:#}");
    assert!(seen["told"].as_array().unwrap().iter().any(|told| told.as_str().unwrap().contains("calls")), "{seen:#}");
    assert!(seen["report"].as_str().unwrap().contains("words-of-models-"));
    let item = &sandbox.state(seen["id"].as_str().unwrap())["clarifications"][0]["items"][0];
    assert_eq!((&item["answer"], &item["answeredBy"]), (&json!("500 a second"), &json!("agent")));
}
