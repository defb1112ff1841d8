//! Whose servers are called, with which headers and keys, and where keys never go.

use serde_json::json;

use crate::support::{Api, Incoming, MockServer, Reply, Sandbox, TEST_KEY, config, short_reply, two_agents};

/// A key of a further provider.
const OTHER_KEY: &str = "other-7e5d-never-to-be-seen-either";

#[test]
fn a_server_that_redirects_takes_no_request_elsewhere() {
    let elsewhere = MockServer::with(short_reply);
    let to = format!("{}/chat/completions", elsewhere.base_url());
    let server = MockServer::with(move |_| Reply::error(307, "moved").header("location", to.clone()));
    drop(Sandbox::new().model_server(&server).run(["debate", "Design a queue", "-r", "1"]));
    assert!(!server.requests().is_empty() && elsewhere.requests().is_empty());
}

#[test]
fn each_provider_gets_its_key_and_headers_and_nothing_of_the_others() {
    let [openai, router, own] = [(); 3].map(|()| MockServer::with(short_reply));
    let mut settings = config(&["architect", "kiss"], &json!({}));
    settings["agents"][1]["provider"] = json!("openrouter");
    settings["judge"]["provider"] = json!("local");
    settings["providers"] = json!({"local": {
        "baseUrl": own.base_url() + "/", "apiKeyEnv": "OPENAI_API_KEY", "api": "chat", "headers": {"X-Team": "${TEAM}"},
    }});
    let mut sandbox = Sandbox::new()
        .model_server(&openai)
        .env("OPENROUTER_BASE_URL", &router.base_url())
        .env("OPENROUTER_API_KEY", OTHER_KEY)
        .env("OPENAI_ORG_ID", "org-4711")
        .env("TEAM", "storage")
        .config(&settings);
    let told = |server: &MockServer| {
        let names = ["authorization", "openai-organization", "openai-project", "http-referer", "x-title", "x-team"];
        let told = |request: &std::sync::Arc<Incoming>| {
            assert!(request.header("user-agent").is_some_and(|agent| agent.starts_with("dialectic/")));
            names.map(|name| request.header(name).unwrap_or("-").to_owned()).join(" ")
        };
        server.requests().iter().map(told).collect::<Vec<_>>()
    };
    for (project, expected) in [("proj-1", "proj-1"), (" \n", "-")] {
        [&openai, &router, &own].into_iter().for_each(MockServer::forget);
        sandbox = sandbox.env("OPENAI_PROJECT_ID", project);
        // Headers may carry `TEAM` because the file is named.
        sandbox.run(["debate", "Design a queue", "-c", "debate-config.json"]).expect_code(0);
        assert_eq!(told(&openai), vec![format!("Bearer {TEST_KEY} org-4711 {expected} - - -"); 3]);
    }
    let project_url = env!("CARGO_PKG_REPOSITORY");
    assert_eq!(told(&router), vec![format!("Bearer {OTHER_KEY} - - {project_url} dialectic -"); 3]);
    assert_eq!(told(&own), [format!("Bearer {TEST_KEY} - - - - storage")]);
    assert_eq!(own.requests()[0].api, Some(Api::Chat), "{:?}", own.paths());
    [openai, router, own].iter().for_each(MockServer::assert_clean);
}

#[test]
fn the_environment_file_is_read_and_the_environment_comes_first() {
    let server = MockServer::with(short_reply);
    let from_file = format!("OPENAI_API_KEY={OTHER_KEY}\nOPENAI_BASE_URL={}\n", server.base_url());
    let sandbox = Sandbox::new().config(&config(&["architect", "kiss"], &json!({})));
    let sandbox = sandbox.file(".env", &from_file).file("keys/other.env", &from_file);
    sandbox.trust(".env");
    sandbox.run(["debate", "Design a queue"]).expect_code(0);
    sandbox.run(["debate", "Design a queue", "-e", "keys/other.env"]).expect_code(0);
    sandbox.env("OPENAI_API_KEY", TEST_KEY).run(["debate", "Design a queue"]).expect_code(0);
    let keys: Vec<_> =
        server.requests().iter().map(|request| request.header("authorization").unwrap().to_owned()).collect();
    let expected = [OTHER_KEY, OTHER_KEY, TEST_KEY].map(|key| vec![format!("Bearer {key}"); 7]);
    assert_eq!(keys, expected.concat());
}

#[test]
fn the_key_is_in_no_file_and_no_output() {
    let server = MockServer::with(short_reply);
    let sandbox = Sandbox::new().model_server(&server);
    let everything = ["debate", "Design a queue", "-r", "1", "-v", "--events", "events.jsonl", "-o", "state.json"];
    // That it shows in no output the kit sees to.
    sandbox.run(everything).expect_code(0);
    sandbox.run(["config", "show"]).expect_code(0);
    sandbox.run(["config", "show", "--json"]).expect_code(0);
    assert!(sandbox.files().len() >= 4);
    sandbox.assert_no_file_has_the_key();
}

#[test]
fn a_server_that_repeats_the_key_does_not_get_it_into_the_record() {
    let server = MockServer::with(|_| Reply::error(401, &format!("Incorrect API key provided: {TEST_KEY}.")));
    let sandbox = two_agents(&server, &json!({"maxConcurrency": 1}));
    let finished = sandbox.run(["debate", "Design a queue", "-v", "--events", "events.jsonl"]).expect_code(3);
    sandbox.assert_no_file_has_the_key();
    // In a warning and a report line for each agent, and in the error.
    let said: Vec<&str> = finished.stderr.split_whitespace().collect();
    assert_eq!(said.join(" ").matches("Incorrect API key provided: [redacted].").count(), 5, "{finished}");
    server.set_script(|_| Reply::raw("text/html", format!("<p>No access with {TEST_KEY}</p>")).status(403));
    sandbox.run(["debate", "Design a queue", "-v"]).expect_code(3);
    server.set_script(|_| Reply::raw("application/json", format!("not JSON but {TEST_KEY}")));
    sandbox.run(["debate", "Design a queue", "-v"]).expect_code(3);
    sandbox.assert_no_file_has_the_key();
}

#[test]
fn a_key_with_a_line_end_is_usable_and_one_that_cannot_be_sent_is_refused_before_any_call() {
    let server = MockServer::with(short_reply);
    let sandbox = two_agents(&server, &json!({}));
    let sandbox = sandbox.env("OPENAI_API_KEY", &format!("{TEST_KEY}\n"));
    sandbox.run(["debate", "Design a queue"]).expect_code(0);
    assert_eq!(server.requests()[0].header("authorization"), Some(&*format!("Bearer {TEST_KEY}")));
    let finished = sandbox.env("OPENAI_API_KEY", "two\nlines").run(["debate", "Design a queue"]).expect_code(4);
    assert!(
        finished.stderr.contains("the API key for provider `openai`") && !finished.stderr.contains("lines"),
        "{finished}"
    );
    assert_eq!(server.requests().len(), 7);
}
