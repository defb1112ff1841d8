//! Tools on their way: offered, run, answered, counted, in both APIs.

use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use crate::support::{
    Api, Incoming, MockServer, Purpose, Reply, Sandbox, TEST_KEY, config, short_reply, two_agents, wait_until,
};

/// A debate of two agents of which the first has tools; `limit` is its limit.
fn sandbox(server: &MockServer, limit: u32) -> Sandbox {
    let mut configured = config(&["architect", "kiss"], &json!({}));
    let tools = ["context_search", "file_read", "list_files"].map(|name| json!({"name": name}));
    configured["agents"][0]["tools"] = json!(tools);
    configured["agents"][0]["toolCallLimit"] = json!(limit);
    Sandbox::new().model_server(server).config(&configured).file("context/plan.md", "The plan is to queue.")
}

fn run(sandbox: &Sandbox) -> Value {
    sandbox.debated(["debate", "Design a queue", "--context", "context"]).1
}

/// The architect's proposal in a saved state.
fn proposal(state: &Value) -> &Value {
    state["rounds"][0]["contributions"].as_array().unwrap().iter().find(|one| one["agentRole"] == "architect").unwrap()
}

fn proposing(request: &Incoming) -> bool {
    request.purpose == Purpose::Propose && request.model() == "model-architect"
}

fn reads_the_plan(request: &Incoming) -> Reply {
    if proposing(request) && request.tool_results().is_empty() {
        return Reply::tool_calls([("file_read", json!({"path": "plan.md"}))]).usage(100, 0, 10);
    }
    short_reply(request).usage(200, 0, 20)
}

#[test]
fn a_tool_is_run_and_its_result_goes_back_in_either_api() {
    for server in [MockServer::with(reads_the_plan), MockServer::without(Api::Responses, reads_the_plan)] {
        let state = run(&sandbox(&server, 10));
        server.assert_clean();
        let metadata = &proposal(&state)["metadata"];
        assert_eq!(metadata["toolCalls"][0]["name"], "file_read");
        let result: Value = serde_json::from_str(metadata["toolResults"][0]["content"].as_str().unwrap()).unwrap();
        assert_eq!(result, json!({"status": "success", "result": {"content": "The plan is to queue."}}));
        assert_eq!(metadata["toolCallIterations"], 1);
        // Both calls count: 110 and 220 tokens.
        assert_eq!(metadata["tokensUsed"], 330);
        let answered = server.requests().into_iter().find(|request| !request.tool_results().is_empty()).unwrap();
        assert!(answered.tool_results()[0].contains("The plan is to queue."));
        // Only agents that list tools are offered any.
        for request in server.requests().iter().filter(|request| request.schema().is_none()) {
            let listed: &[&str] =
                if request.model() == "model-architect" { &["context_search", "file_read", "list_files"] } else { &[] };
            assert_eq!(request.tools(), listed, "{}", request.model());
        }
    }
}

#[test]
fn a_model_that_refuses_configured_tools_is_not_asked_without_them() {
    let server = MockServer::with(|request| {
        if request.tools().is_empty() { short_reply(request) } else { Reply::error(400, "no support for tools") }
    });
    let ended = sandbox(&server, 10).run(["debate", "Design a queue", "--context", "context"]);
    assert!(ended.stderr.contains("no support for tools"), "{ended}");
    let asked = server.requests().into_iter().filter(|request| request.model() == "model-architect");
    assert!(asked.into_iter().all(|request| !request.tools().is_empty()), "{ended}");
}

#[test]
fn a_model_that_never_stops_calling_is_asked_without_tools_at_the_limit() {
    let server = MockServer::with(|request| {
        if request.tools().is_empty() {
            short_reply(request)
        } else {
            Reply::tool_calls([("list_files", json!({"path": "."}))])
        }
    });
    let state = run(&sandbox(&server, 3));
    let metadata = &proposal(&state)["metadata"];
    assert_eq!(metadata["toolCallIterations"], 3);
    assert_eq!(metadata["toolCalls"].as_array().unwrap().len(), 3);
    let proposals = server.requests().into_iter().filter(|request| proposing(request)).count();
    assert_eq!(proposals, 4, "three with tools, the last without");
    assert_eq!(state["outcome"]["kind"], "full");
}

#[test]
fn a_debate_that_is_killed_between_tool_calls_does_not_pay_them_again() {
    let server = MockServer::with(|request| match (proposing(request), request.tool_results().len()) {
        (true, 0) => Reply::tool_calls([("list_files", json!({"path": "."}))]),
        (true, 1) => Reply::hang(),
        _ => short_reply(request),
    });
    let sandbox = sandbox(&server, 10);
    let running = sandbox.spawn(["debate", "Design a queue", "--context", "context"]);
    // Two proposals, the critique of the one that is there, and the call that hangs.
    server.wait_for_requests(4);
    let id = sandbox.only_debate();
    let is_on_record = || sandbox.journal(&id).iter().any(|line| line.contains("\"type\":\"replied\""));
    wait_until("the first call is on record", is_on_record);
    running.kill();
    let before = server.requests().len();
    server.set_script(|request| {
        assert!(!(proposing(request) && request.tool_results().is_empty()), "the first call is made again");
        short_reply(request)
    });
    let (_, state) = sandbox.debated(["resume", "latest"]);
    assert_eq!(proposal(&state)["metadata"]["toolCallIterations"], 1);
    assert_eq!(state["outcome"]["kind"], "full");
    assert!(server.requests().len() > before);
}

#[test]
fn a_search_finds_what_the_call_was_given_and_nothing_else_of_this_round() {
    let server = MockServer::with(|request| match request.purpose {
        Purpose::Propose => Reply::text(format!("needle of {}", request.model())),
        Purpose::Critique if request.model() == "model-architect" && request.tool_results().is_empty() => {
            Reply::tool_calls([("context_search", json!({"term": "NEEDLE"}))])
        }
        Purpose::Refine if request.model() == "model-architect" && request.tool_results().is_empty() => {
            Reply::tool_calls([("context_search", json!({"term": "needle"}))])
        }
        Purpose::Critique => Reply::text(format!("needle by {}", request.model())),
        _ => short_reply(request),
    });
    let state = run(&sandbox(&server, 10));
    let found = |kind: &str| -> Vec<Value> {
        let contributions = state["rounds"][0]["contributions"].as_array().unwrap();
        let own = contributions.iter().find(|one| one["type"] == kind && one["agentRole"] == "architect").unwrap();
        let result = own["metadata"]["toolResults"][0]["content"].as_str().unwrap();
        serde_json::from_str::<Value>(result).unwrap()["result"]["matches"].as_array().unwrap().clone()
    };
    let snippets = |matches: Vec<Value>| -> Vec<String> {
        matches
            .iter()
            .map(|one| format!("{} {}", one["roundNumber"], one["contentSnippet"].as_str().unwrap()))
            .collect()
    };
    assert_eq!(snippets(found("critique")), ["1 needle of model-kiss"]);
    assert_eq!(snippets(found("refinement")), ["1 needle of model-architect", "1 needle by model-kiss"]);
}

#[test]
fn without_a_context_directory_the_prompt_names_the_one_that_the_tools_see() {
    let server = MockServer::with(short_reply);
    let sandbox = sandbox(&server, 10);
    sandbox.run(["debate", "Design a queue"]).expect_code(0);
    let directory = sandbox.directory().canonicalize().unwrap();
    for request in server.requests() {
        assert!(request.prompt().contains(&format!("```path\n{}\n```", directory.display())), "{}", request.prompt());
    }
    // Nobody can read files: nothing is said of any.
    let server = MockServer::with(short_reply);
    two_agents(&server, &json!({})).run(["debate", "Design a queue"]).expect_code(0);
    assert!(server.requests().iter().all(|request| !request.prompt().contains("# Files")));
}

/// A key of the user's may lie in any file.
#[test]
fn the_users_keys_are_in_no_result() {
    let server = MockServer::with(|request| {
        let calls = [
            ("file_read", json!({"path": "notes.md"})),
            ("list_files", json!({"path": "."})),
            ("file_read", json!({"path": ".secrets/notes.md"})),
            ("context_search", json!({"term": "sk-test"})),
        ];
        match calls.get(request.tool_results().len()).filter(|_| proposing(request)) {
            Some(call) => Reply::tool_calls([call.clone()]),
            None => short_reply(request),
        }
    });
    let sandbox = sandbox(&server, 20)
        .env("ANTHROPIC_API_KEY", "your-api-key-goes-here")
        .file("context/notes.md", format!("Key: {TEST_KEY}. Placeholder: your-api-key-goes-here."))
        .file(format!("context/{TEST_KEY}.md"), "x")
        .file("context/.secrets/notes.md", "TOP SECRET");
    run(&sandbox);
    let longest = server.requests().into_iter().max_by_key(|request| request.tool_results().len()).unwrap();
    let results = longest.tool_results();
    assert_eq!(results.len(), 4, "{results:?}");
    assert!(results[0].contains("Key: [OPENAI_API_KEY redacted]. Placeholder: your-api-key-goes-here."), "{results:?}");
    assert!(results[1].contains("[OPENAI_API_KEY redacted].md"), "{results:?}");
    assert!(results[2].contains("\"error\""), "{results:?}");
    for request in server.requests() {
        assert!(!request.text().contains(TEST_KEY) && !request.text().contains("TOP SECRET"), "{}", request.text());
    }
    for id in sandbox.debates() {
        let record = sandbox.journal(&id).concat() + &sandbox.read(format!("debates/{id}.json"));
        assert!(!record.contains(TEST_KEY), "the key is in the record");
    }
}

/// What an arena gathers before anybody asks for it, too.
#[test]
fn the_users_keys_are_in_no_material() {
    let server = MockServer::with(|request| crate::arena::script(request, crate::arena::Related::Same, &[]));
    let mut configured = config(&["architect", "kiss"], &json!({"protocol": "arena"}));
    configured["debate"]["arena"] = json!({"contextCommands": [format!("echo of a command: {TEST_KEY}")]});
    let sandbox = Sandbox::new()
        .model_server(&server)
        .config(&configured)
        .file("context/README.md", format!("# Of a readme: {TEST_KEY}"))
        .file(format!("context/outline-{TEST_KEY}"), "x");
    let arguments = ["debate", crate::arena::PROBLEM, "--context", "context", "-c", "debate-config.json"];
    let (_, state) = sandbox.debated(arguments);
    let texts: Vec<&str> =
        state["gathered"]["material"].as_array().unwrap().iter().filter_map(|one| one["text"].as_str()).collect();
    for part in ["outline-[", "Of a readme: [", "of a command: ["] {
        let redacted = format!("{part}OPENAI_API_KEY redacted]");
        assert!(texts.iter().any(|text| text.contains(&redacted)), "{part}\n{texts:?}");
    }
    for request in server.requests() {
        assert!(!request.text().contains(TEST_KEY), "{}", request.text());
    }
}

/// The file that `--env-file` names has any name, and tools do not show it by any.
#[test]
fn tools_do_not_show_the_environment_file() {
    let server = MockServer::with(|request| {
        let paths = ["team.txt", "hard.md", "soft.md", "team.txt.bak"];
        let wants = request.tools().contains(&"file_read");
        match paths.get(request.tool_results().len()).filter(|_| wants) {
            Some(path) => Reply::tool_calls([("file_read", json!({"path": path}))]),
            None => short_reply(request),
        }
    });
    let mut settings = config(&["architect", "kiss"], &json!({}));
    settings["agents"][0]["tools"] = json!([{"name": "file_read"}]);
    let keys = format!("OPENAI_API_KEY={TEST_KEY}\nOPENAI_BASE_URL={}\n", server.base_url());
    let sandbox = Sandbox::new().config(&settings).file("team.txt", keys).file("team.txt.bak", "no secret");
    std::fs::hard_link(sandbox.directory().join("team.txt"), sandbox.directory().join("hard.md")).unwrap();
    symlink("team.txt", sandbox.directory().join("soft.md")).unwrap();
    sandbox.run(["debate", "Design a queue", "-e", "team.txt"]).expect_code(0);
    let longest = server.requests().into_iter().max_by_key(|request| request.tool_results().len()).unwrap();
    let results = longest.tool_results();
    assert_eq!(results.len(), 4);
    assert!(results[..3].iter().all(|result| result.contains("Access denied")), "{results:?}");
    assert!(results[3].contains("no secret"), "{results:?}");
    for request in server.requests() {
        assert!(!request.text().contains(TEST_KEY));
    }
}
