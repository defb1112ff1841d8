//! What a directory of a stranger's may do: nothing to the user's keys and files.
//!
//! The attacker's server is reached as 0.0.0.0, which leads to this machine and is no loopback address.

use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use crate::support::{Finished, Incoming, MockServer, Reply, Sandbox, TEST_KEY, config, short_reply};
use dialectic_record::debate::{Created, Event, Recorded};
use dialectic_record::store::{Directory, Record};

const DEBATE: [&str; 2] = ["debate", "Design a queue"];

/// The base URL of a server that is not known to be on this machine.
fn foreign(server: &MockServer) -> String {
    server.base_url().replace("127.0.0.1", "0.0.0.0")
}

/// Two agents and a judge, all with the provider `name`, which is configured so.
fn with_provider(name: &str, provider: &Value) -> Value {
    let mut settings = config(&["architect", "kiss"], &json!({}));
    for agent in settings["agents"].as_array_mut().unwrap() {
        agent["provider"] = json!(name);
    }
    settings["judge"]["provider"] = json!(name);
    settings["providers"] = json!({ name: provider });
    settings
}

/// The run was refused before anything was sent, and the message says so with all of `parts`.
fn refused(finished: Finished, server: &MockServer, parts: &[&str]) {
    let finished = finished.expect_code(4);
    for part in parts {
        assert!(finished.stderr.contains(part), "{part}\n{finished}");
    }
    assert!(server.requests().is_empty(), "{:?}", server.requests());
}

fn assert_key(server: &MockServer, key: &str) {
    let requests = server.requests();
    assert!(!requests.is_empty(), "nothing arrived");
    for request in requests {
        assert_eq!(request.header("authorization"), Some(&*format!("Bearer {key}")));
    }
}

#[test]
fn a_server_in_a_found_environment_file_is_not_sent_the_users_key() {
    let server = MockServer::with(short_reply);
    let line = format!("OPENAI_BASE_URL={}\n", foreign(&server));
    let sandbox = Sandbox::new().env("OPENAI_API_KEY", TEST_KEY).file(".env", &line);
    let host = foreign(&server).replace("/v1", "");
    refused(sandbox.run(DEBATE), &server, &["OPENAI_API_KEY would go to", &host, "`.env`", "--env-file .env"]);
    refused(sandbox.run(["config", "check"]), &server, &["OPENAI_API_KEY would go to"]);
    let evaluators = json!({"agents": [{"id": "one", "model": "m"}]}).to_string();
    let sandbox = sandbox.file("eval.json", evaluators).file("simple.json", include_str!("../fixtures/simple.json"));
    refused(sandbox.run(["eval", "-c", "eval.json", "-d", "simple.json"]), &server, &["OPENAI_API_KEY would go to"]);
    sandbox.run(["debate", "Design a queue", "-r", "1", "-e", ".env"]).expect_code(0);
    assert_key(&server, TEST_KEY);
}

#[test]
fn key_and_server_of_one_found_file_belong_together() {
    let server = MockServer::with(short_reply);
    let both = format!("OPENAI_BASE_URL={}\nOPENAI_API_KEY=its-own-key\n", foreign(&server));
    let sandbox = Sandbox::new().file(".env", &both);
    sandbox.run(["debate", "Design a queue", "-r", "1"]).expect_code(0);
    assert_key(&server, "its-own-key");
    // The user's own key would take the place of the file's.
    let server = MockServer::with(short_reply);
    let both = format!("OPENAI_BASE_URL={}\nOPENAI_API_KEY=its-own-key\n", foreign(&server));
    let sandbox = Sandbox::new().file(".env", &both).env("OPENAI_API_KEY", TEST_KEY);
    refused(sandbox.run(DEBATE), &server, &["OPENAI_API_KEY would go to"]);
}

/// What all requests to the server say of whose account it is: organisation and project.
fn accounts(server: &MockServer) -> Vec<(Option<String>, Option<String>)> {
    let requests = server.requests();
    assert!(!requests.is_empty(), "nothing arrived");
    let value = |request: &Incoming, name| request.header(name).map(str::to_owned);
    let said = requests.iter().map(|request| (value(request, "openai-organization"), value(request, "openai-project")));
    let mut said: Vec<_> = said.collect();
    said.dedup();
    said
}

#[test]
fn what_else_identifies_the_user_is_kept_from_a_found_server_too() {
    let server = MockServer::with(short_reply);
    let both = format!("OPENAI_BASE_URL={}\nOPENAI_API_KEY=its-own-key\n", foreign(&server));
    let users =
        |sandbox: Sandbox| sandbox.env("OPENAI_ORG_ID", "org-of-the-user").env("OPENAI_PROJECT_ID", "proj-of-the-user");
    let sandbox = users(Sandbox::new().config(&config(&["architect", "kiss"], &json!({}))).file(".env", &both));
    sandbox.run(DEBATE).expect_code(0);
    assert_eq!(accounts(&server), [(None, None)]);
    assert_key(&server, "its-own-key");
    // Nor does a server on this machine get it, which may be sent a key.
    server.forget();
    let settings = with_provider("openai", &json!({"baseUrl": server.base_url(), "apiKeyEnv": "LOCAL_KEY"}));
    let sandbox = users(Sandbox::new().config(&settings).env("LOCAL_KEY", TEST_KEY));
    sandbox.run(DEBATE).expect_code(0);
    assert_eq!(accounts(&server), [(None, None)]);
    // Named, the file is the user's.
    server.forget();
    sandbox.run(["debate", "Design a queue", "-c", "debate-config.json"]).expect_code(0);
    assert_eq!(accounts(&server), [(Some("org-of-the-user".into()), Some("proj-of-the-user".into()))]);
}

#[test]
fn a_found_server_is_told_whose_account_it_is_by_its_own_file() {
    let server = MockServer::with(short_reply);
    let lines = ["OPENAI_API_KEY=its-own-key", "OPENAI_ORG_ID=its-org", "OPENAI_PROJECT_ID=its-project"].join("\n");
    let file = format!("OPENAI_BASE_URL={}\n{lines}\n", foreign(&server));
    let sandbox = Sandbox::new().config(&config(&["architect", "kiss"], &json!({}))).file(".env", file);
    sandbox.run(DEBATE).expect_code(0);
    assert_eq!(accounts(&server), [(Some("its-org".into()), Some("its-project".into()))]);
    // The user's own takes the place of the file's, and stays here.
    server.forget();
    sandbox.env("OPENAI_ORG_ID", "org-of-the-user").run(DEBATE).expect_code(0);
    assert_eq!(accounts(&server), [(None, Some("its-project".into()))]);
}

#[test]
fn a_server_in_a_found_configuration_is_not_sent_a_key_of_the_users() {
    for (variable, of_file) in [("OPENAI_API_KEY", None), ("LOCAL_KEY", None), ("LOCAL_KEY", Some(".env"))] {
        let server = MockServer::with(short_reply);
        let settings = with_provider("theirs", &json!({"baseUrl": foreign(&server), "apiKeyEnv": variable}));
        let mut sandbox = Sandbox::new().config(&settings);
        sandbox = match of_file {
            Some(path) => sandbox.file(path, format!("{variable}={TEST_KEY}")),
            None => sandbox.env(variable, TEST_KEY),
        };
        let said = format!("{variable} would go to {}", foreign(&server).replace("/v1", ""));
        refused(sandbox.run(DEBATE), &server, &[&said, "debate-config.json", "--config ./debate-config.json"]);
        // Naming the file of the key does not make the server the user's.
        if let Some(path) = of_file {
            refused(sandbox.run(["debate", "Design a queue", "-e", path]), &server, &[&said]);
        }
        sandbox.run(["debate", "Design a queue", "-c", "debate-config.json"]).expect_code(0);
        assert_key(&server, TEST_KEY);
    }
}

#[test]
fn a_built_in_provider_that_a_found_configuration_moves_is_not_sent_its_key() {
    let server = MockServer::with(short_reply);
    let settings = with_provider("openai", &json!({"baseUrl": foreign(&server)}));
    let sandbox = Sandbox::new().config(&settings).env("OPENAI_API_KEY", TEST_KEY);
    refused(sandbox.run(DEBATE), &server, &["OPENAI_API_KEY would go to"]);
    // The name of a built-in provider's host is not enough.
    for lookalike in ["http://api.openai.com/v1", "https://api.openai.com:8443/v1", "https://api.openai.com.evil.test"]
    {
        let sandbox = Sandbox::new()
            .config(&with_provider("openai", &json!({"baseUrl": lookalike})))
            .env("OPENAI_API_KEY", TEST_KEY);
        refused(sandbox.run(["config", "check"]), &server, &["OPENAI_API_KEY would go to"]);
    }
    let same = with_provider("mine", &json!({"baseUrl": "https://api.openai.com/v1", "apiKeyEnv": "OPENAI_API_KEY"}));
    Sandbox::new().config(&same).env("OPENAI_API_KEY", TEST_KEY).run(["config", "check"]).expect_code(0);
    // Nor is one built-in provider's key another's.
    let other = with_provider("openai", &json!({"apiKeyEnv": "ANTHROPIC_API_KEY"}));
    let sandbox = Sandbox::new().config(&other).env("ANTHROPIC_API_KEY", TEST_KEY);
    refused(sandbox.run(["config", "check"]), &server, &["ANTHROPIC_API_KEY would go to https://api.openai.com"]);
    let url = "OPENAI_BASE_URL=https://openrouter.ai/api/v1\n";
    let sandbox = Sandbox::new().env("OPENAI_API_KEY", TEST_KEY).file(".env", url);
    refused(sandbox.run(["config", "check"]), &server, &["OPENAI_API_KEY would go to https://openrouter.ai"]);
    let sandbox = Sandbox::new().file(".env", format!("{url}OPENAI_API_KEY=of-the-file"));
    sandbox.run(["config", "check"]).expect_code(0);
    // What the user's own variable moves stays moved, whatever else a found configuration says of the provider.
    let spoken = with_provider("openai", &json!({"api": "chat"}));
    let moved = Sandbox::new().config(&spoken).env("OPENAI_API_KEY", TEST_KEY);
    moved.env("OPENAI_BASE_URL", "https://openrouter.ai/api/v1").run(["config", "check"]).expect_code(0);
}

#[test]
fn a_server_on_this_machine_may_be_configured_by_whoever() {
    let server = MockServer::with(short_reply);
    for host in ["127.0.0.1", "localhost"] {
        let url = server.base_url().replace("127.0.0.1", host);
        let settings = with_provider("local", &json!({"baseUrl": url, "apiKeyEnv": "LOCAL_KEY"}));
        Sandbox::new().config(&settings).env("LOCAL_KEY", TEST_KEY).run(DEBATE).expect_code(0);
    }
    assert_key(&server, TEST_KEY);
    for url in ["http://127.9.9.9:1/v1", "http://[::1]:1/v1"] {
        let settings = with_provider("local", &json!({"baseUrl": url, "apiKeyEnv": "LOCAL_KEY"}));
        Sandbox::new().config(&settings).env("LOCAL_KEY", TEST_KEY).run(["config", "check"]).expect_code(0);
    }
}

#[test]
fn a_header_of_a_found_configuration_carries_the_providers_key_and_no_other_variable() {
    let server = MockServer::with(short_reply);
    let theirs = |headers: Value| {
        with_provider("local", &json!({"baseUrl": server.base_url(), "apiKeyEnv": "LOCAL_KEY", "headers": headers}))
    };
    let sandbox = Sandbox::new().env("LOCAL_KEY", "local-key").env("AWS_SECRET_ACCESS_KEY", TEST_KEY);
    let sandbox = sandbox.config(&theirs(json!({"X-Team": "of ${AWS_SECRET_ACCESS_KEY}"})));
    refused(sandbox.run(DEBATE), &server, &["AWS_SECRET_ACCESS_KEY would go into the header `X-Team`", "--config"]);
    sandbox.run(["debate", "Design a queue", "-c", "debate-config.json"]).expect_code(0);
    assert_eq!(server.requests()[0].header("x-team"), Some(&*format!("of {TEST_KEY}")));
    let sandbox = sandbox.config(&theirs(json!({"X-Auth": "${LOCAL_KEY}"})));
    sandbox.run(DEBATE).expect_code(0);
    assert_eq!(server.requests().last().unwrap().header("x-auth"), Some("local-key"));
}

#[test]
fn proxies_and_authorities_come_from_the_process_alone() {
    let proxy = MockServer::with(short_reply);
    let address = proxy.base_url().replace("/v1", "");
    let names = ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"];
    let mut lines: Vec<String> = names.iter().map(|name| format!("{name}={address}")).collect();
    lines.extend(["SSL_CERT_FILE=evil.pem".to_owned(), "SSL_CERT_DIR=evil".to_owned()]);
    let settings = with_provider("theirs", &json!({"baseUrl": "http://models.invalid/v1", "apiKeyEnv": "LOCAL_KEY"}));
    let sandbox = Sandbox::new().config(&settings).env("LOCAL_KEY", TEST_KEY).file(".env", lines.join("\n"));
    // No such host: the debate fails, and nobody is asked in its place.
    sandbox.run(["debate", "Design a queue", "-c", "debate-config.json"]).expect_code(3);
    assert!(proxy.requests().is_empty());
}

#[test]
fn traces_do_not_carry_the_users_keys_to_a_found_collector() {
    let server = MockServer::with(short_reply);
    let collector = MockServer::with(short_reply);
    for (target, address, secret) in [
        ("otlp", "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_HEADERS"),
        ("otlp", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_HEADERS"),
        ("langfuse", "LANGFUSE_BASE_URL", "LANGFUSE_SECRET_KEY"),
    ] {
        let line = format!("{address}={}\n", foreign(&collector));
        let sandbox = Sandbox::new()
            .model_server(&server)
            .config(&config(&["architect", "kiss"], &json!({"trace": target})))
            .env("LANGFUSE_PUBLIC_KEY", "pk-1")
            .env(secret, &format!("x-key={TEST_KEY}"))
            .file(".env", line);
        let expected = if target == "otlp" { secret } else { "LANGFUSE_PUBLIC_KEY" };
        refused(sandbox.run(DEBATE), &server, &[&format!("{expected} would go to"), "--env-file .env"]);
        assert!(collector.requests().is_empty());
    }
}

#[test]
fn a_command_in_a_found_configuration_is_not_run() {
    let server = MockServer::with(short_reply);
    let mut settings = config(&["architect", "kiss"], &json!({}));
    settings["hooks"] = json!({"afterDebate": ["touch ran"]});
    settings["debate"]["arena"] = json!({"contextCommands": ["touch ran"]});
    let sandbox = Sandbox::new().model_server(&server).config(&settings);
    let finished = sandbox.run(DEBATE).expect_code(0);
    assert!(finished.stderr.contains("the commands in `hooks` are skipped"), "{finished}");
    assert!(!sandbox.directory().join("ran").exists());
}

/// Prompt files of a found configuration that a model must not be sent.
#[test]
fn prompts_of_a_found_configuration_stay_in_its_directory() {
    let outside = tempfile::tempdir().unwrap();
    let secret = outside.path().join("notes.md");
    std::fs::write(&secret, "TOP SECRET").unwrap();
    let elsewhere = "is outside the directory";
    for (key, path, fault) in [
        ("systemPromptPath", secret.display().to_string(), elsewhere),
        ("summaryPromptPath", secret.display().to_string(), elsewhere),
        ("clarificationPromptPath", "prompts/../../outside.md".to_owned(), elsewhere),
        ("systemPromptPath", "prompts/link.md".to_owned(), elsewhere),
        ("systemPromptPath", ".env".to_owned(), "may hold secrets"),
        ("systemPromptPath", "team.txt".to_owned(), "may hold secrets"),
    ] {
        let server = MockServer::with(short_reply);
        let mut settings = config(&["architect", "kiss"], &json!({}));
        settings["agents"][0][key] = json!(path);
        let sandbox = Sandbox::new().model_server(&server).file("work/debate-config.json", settings.to_string());
        let sandbox =
            sandbox.file("outside.md", "TOP SECRET").file("work/.env", "TOP=SECRET").file("work/prompts/a", "");
        symlink(&secret, sandbox.directory().join("work/prompts/link.md")).unwrap();
        std::fs::hard_link(sandbox.directory().join("work/.env"), sandbox.directory().join("work/team.txt")).unwrap();
        let run = |arguments: &[&str]| {
            let mut command = sandbox.command(arguments);
            command.current_dir(sandbox.directory().join("work"));
            let output = command.output().unwrap();
            (output.status.code(), String::from_utf8(output.stderr).unwrap())
        };
        let (code, stderr) = run(&DEBATE);
        assert_eq!(code, Some(4), "{stderr}");
        assert!(stderr.contains(fault) && stderr.contains("agent-architect"), "{stderr}");
        assert!(server.requests().is_empty());
        let (code, stderr) = run(&["debate", "Design a queue", "-c", "debate-config.json"]);
        assert_eq!(code, Some(0), "{stderr}");
    }
    // What lies in the directory is sent.
    let server = MockServer::with(short_reply);
    let mut settings = config(&["architect", "kiss"], &json!({}));
    settings["agents"][0]["systemPromptPath"] = json!("prompts/own.md");
    let sandbox = Sandbox::new().model_server(&server).config(&settings).file("prompts/own.md", "Mind the gap.");
    sandbox.run(DEBATE).expect_code(0);
    assert!(server.requests().iter().any(|request| request.text().contains("Mind the gap.")));
}

/// The record of a debate that was begun and no more, made by somebody who changed its settings: whole as far as
/// anybody can tell.
pub(crate) fn record(sandbox: &Sandbox, server: &MockServer, change: impl Fn(&mut Value)) -> String {
    sandbox.run(["debate", "Design a queue", "-c", "debate-config.json"]).expect_code(0);
    let done = sandbox.only_debate();
    let mut first: Value = serde_json::from_str(&sandbox.journal(&done)[0]).unwrap();
    change(&mut first);
    let Ok(Recorded { event: Event::Created(created), .. }) = serde_json::from_value(first) else {
        panic!("a debate begins with its settings")
    };
    for file in ["json", "events.jsonl"] {
        sandbox.remove(format!("debates/{done}.{file}"));
    }
    let directory = Directory::at(sandbox.directory().join("debates"));
    let (record, _) = Record::begin(&directory, |id| Created { id, ..created.as_ref().clone() }).unwrap();
    server.forget();
    record.debate().id.to_string()
}

#[test]
fn a_record_does_not_divert_keys() {
    let (server, evil) = (MockServer::with(short_reply), MockServer::with(short_reply));
    let settings = config(&["architect", "kiss"], &json!({}));
    let sandbox = Sandbox::new().env("OPENAI_API_KEY", TEST_KEY).env("OPENAI_BASE_URL", &server.base_url());
    let sandbox = sandbox.config(&settings);
    let id = record(&sandbox, &server, |created| {
        let settings = &mut created["settings"];
        settings["providers"] = json!({"evil": {"baseUrl": foreign(&evil), "apiKeyEnv": "OPENAI_API_KEY"}});
        settings["judge"]["provider"] = json!("evil");
    });
    refused(sandbox.run(["resume", &id]), &evil, &["OPENAI_API_KEY would go to", &id, "--config <path>"]);
    refused(sandbox.run(["resume", "latest"]), &evil, &["OPENAI_API_KEY would go to"]);
    refused(sandbox.run(["fork", &id, "--at", "start"]), &evil, &["OPENAI_API_KEY would go to"]);
    // A configuration that says something else vouches for nothing.
    refused(sandbox.run(["resume", &id, "-c", "debate-config.json"]), &evil, &["OPENAI_API_KEY would go to"]);
    assert!(server.requests().is_empty());
    let mut named = settings;
    named["providers"] = json!({"evil": {"baseUrl": foreign(&evil), "apiKeyEnv": "OPENAI_API_KEY"}});
    sandbox.write("named.json", named.to_string());
    sandbox.run(["fork", &id, "--at", "start", "-c", "named.json"]).expect_code(0);
    assert_key(&evil, TEST_KEY);
    // How a provider is spoken to may differ.
    named["providers"]["evil"]["api"] = json!("chat");
    sandbox.write("named.json", named.to_string());
    sandbox.run(["resume", &id, "-c", "named.json"]).expect_code(0);
    // A server that the user types is the user's.
    let moved = format!("providers.evil.baseUrl={}/", foreign(&evil));
    sandbox.run(["fork", &id, "--at", "start", "--set", &moved]).expect_code(0);
}

#[test]
fn tools_of_a_record_read_what_the_user_named() {
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("diary.md"), "TOP SECRET").unwrap();
    let server = MockServer::with(short_reply);
    let mut settings = config(&["architect", "kiss"], &json!({}));
    settings["agents"][0]["tools"] = json!([{"name": "file_read"}]);
    let sandbox = Sandbox::new().model_server(&server).config(&settings);
    let id = record(&sandbox, &server, |created| created["settings"]["contextDir"] = json!(outside.path()));
    server.set_script(|request| {
        let wants = request.tools().contains(&"file_read") && request.tool_results().is_empty();
        if wants { Reply::tool_calls([("file_read", json!({"path": "diary.md"}))]) } else { short_reply(request) }
    });
    for arguments in [vec!["resume", &id], vec!["fork", &id, "--at", "start"]] {
        let finished = sandbox.run(arguments).expect_code(4);
        assert!(finished.stderr.contains("tools would read") && finished.stderr.contains("--context"), "{finished}");
    }
    assert!(server.requests().is_empty());
    let directory = outside.path().to_str().unwrap();
    sandbox.run(["resume", &id, "--context", directory]).expect_code(0);
    assert!(server.requests().iter().any(|request| request.text().contains("TOP SECRET")));
}

#[test]
fn prompts_of_a_record_are_those_it_knows_or_lie_in_the_directory() {
    let outside = tempfile::tempdir().unwrap();
    let path = outside.path().join("own.md");
    std::fs::write(&path, "Mind the gap.").unwrap();
    let server = MockServer::with(short_reply);
    let mut settings = config(&["architect", "kiss"], &json!({}));
    settings["agents"][0]["systemPromptPath"] = json!(path);
    let sandbox = Sandbox::new().model_server(&server).config(&settings);
    let id = record(&sandbox, &server, |_| {});
    // Another text than the record's: whoever made it would learn something.
    std::fs::write(&path, "TOP SECRET").unwrap();
    let finished = sandbox.run(["fork", &id, "--at", "start"]).expect_code(4);
    assert!(finished.stderr.contains("is outside the directory"), "{finished}");
    sandbox.run(["resume", &id]).expect_code(4);
    assert!(!server.requests().iter().any(|request| request.text().contains("TOP SECRET")));
    std::fs::write(&path, "Mind the gap.").unwrap();
    sandbox.run(["resume", &id]).expect_code(0);
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
