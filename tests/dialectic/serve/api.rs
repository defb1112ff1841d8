//! What the API gives and takes.

use serde_json::{Value, json};

use crate::support::{MockServer, Sandbox, short_reply};

use super::client::{Serving, TOKEN, journal, recorded, sandbox, serving};

#[test]
fn a_debate_is_run_by_the_api_alone() {
    let server = MockServer::with(short_reply);
    let sandbox = sandbox(&server, &json!({"check": 3}));
    let serving = Serving::start(&sandbox, &[]);
    let body =
        json!({"problem": "Design a queue", "rounds": 2, "files": [{"name": "../notes.md", "text": "It must last."}]});
    let forecast = serving.post("/forecast", &body).expect(200).json();
    assert_eq!(server.requests().len(), 0, "a forecast calls nothing");
    let started = serving.post("/debates", &body).expect(201);
    let id = started.json()["id"].as_str().unwrap().to_owned();
    assert_eq!(started.header("location"), Some(format!("/api/v1/debates/{id}").as_str()));
    let events = serving.events(&id, 0);
    assert_eq!(recorded(&events), journal(&sandbox, &id));
    assert_eq!(events.last().unwrap()["type"], "completed");
    let count = |kind: &str| server.requests().iter().filter(|request| request.task() == kind).count() as u64;
    let made = server.requests().len() as u64;
    assert_eq!(count("check"), 3);
    assert_eq!(forecast["calls"], made, "{forecast:#}");
    // At the most what is found makes the judge give up the approach: another draft, its check, and the final text.
    assert_eq!((forecast["callsMost"].as_u64(), count("finalise")), (Some(made + 1 + 3 + 1), 0), "{forecast:#}");
    let shown = serving.get(&format!("/debates/{id}"));
    assert_eq!((&shown["summary"]["status"], &shown["summary"]["rounds"]), (&json!("completed"), &json!(2)));
    assert_eq!(shown["state"]["problem"], "Design a queue");
    assert_eq!(shown["state"]["attachments"][0]["name"], "../notes.md");
    assert!(server.requests()[0].text().contains("It must last."), "the agents read the file");
    // The state is the one that the command line would have left.
    sandbox.assert_state_is_the_fold(&id);
    for (format, beginning) in [("markdown", "# "), ("html", "<!DOCTYPE html>"), ("adr", "---"), ("json", "{")] {
        let report =
            serving.ask("GET", &format!("/debates/{id}/report?format={format}&download=true"), None).expect(200);
        assert!(report.text().starts_with(beginning), "{format}: {}", &report.text()[..40]);
        assert!(report.header("content-disposition").unwrap().contains(&id));
        assert!(report.header("content-security-policy").unwrap().contains("default-src 'none'"));
    }
    server.assert_clean();
}

#[test]
fn the_list_is_searched_and_comes_in_parts() {
    let sandbox = Sandbox::new().env("DIALECTIC_TOKEN", TOKEN);
    let serving = Serving::start(&sandbox, &[]);
    let ids: Vec<String> = ["Design a queue", "Design a cache", "Split the monolith?"]
        .iter()
        .map(|problem| {
            let protocol = if problem.ends_with('?') { "oxford" } else { "dialectic" };
            let rounds = if problem.ends_with('?') { 2 } else { 1 };
            serving.complete(&json!({"problem": problem, "offline": true, "rounds": rounds, "protocol": protocol}))
        })
        .collect();
    let found = |query: &str| {
        let list = serving.get(&format!("/debates{query}"));
        let mut found: Vec<String> =
            list["debates"].as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap().to_owned()).collect();
        found.sort();
        (found, list["total"].as_u64().unwrap())
    };
    let sorted = |mut ids: Vec<String>| {
        ids.sort();
        ids
    };
    assert_eq!(found(""), (sorted(ids.clone()), 3));
    assert_eq!(found("?search=design%20QUEUE"), (vec![ids[0].clone()], 1));
    assert_eq!(found("?protocol=oxford&status=completed"), (vec![ids[2].clone()], 1));
    assert_eq!(found("?status=failed"), (vec![], 0));
    let (first, total) = found("?limit=2");
    let (rest, _) = found("?limit=2&skip=2");
    assert_eq!((sorted([first, rest].concat()), total), (sorted(ids), 3));
    for wrong in ["status=unheard", "limit=0", "limit=1001", "skip=-1", "skip=99999999999"] {
        serving.ask("GET", &format!("/debates?{wrong}"), None).expect(422);
    }
}

#[test]
fn the_list_reads_a_state_again_only_after_its_file_has_changed() {
    let sandbox = Sandbox::new().env("DIALECTIC_TOKEN", TOKEN);
    sandbox.run(["debate", "Design a queue", "--offline", "-r", "1"]).expect_code(0);
    let path = sandbox.directory().join(format!("debates/{}.json", sandbox.only_debate()));
    let serving = Serving::start(&sandbox, &[]);
    let listed = || serving.get("/debates")["debates"][0].clone();
    let before = listed();
    let write = |text: &str, modified| {
        std::fs::write(&path, text).unwrap();
        std::fs::File::options().write(true).open(&path).unwrap().set_modified(modified).unwrap();
    };
    let modified = std::fs::metadata(&path).unwrap().modified().unwrap();
    let other = std::fs::read_to_string(&path).unwrap().replace("Design a queue", "Destroy queues");
    write(&other, modified);
    assert_eq!(listed(), before);
    write(&other, modified + std::time::Duration::from_secs(1));
    assert_ne!(listed(), before);
}

#[test]
fn what_a_request_may_not_say_is_refused_and_named() {
    let server = MockServer::with(short_reply);
    let sandbox = sandbox(&server, &json!({}));
    let serving = Serving::start(&sandbox, &["--max-cost", "1"]);
    let cases = [
        (json!({"agents": [{"role": "kiss", "systemPromptPath": "/etc/passwd"}]}), "agents[0].systemPromptPath"),
        (json!({"agents": [{"role": "kiss", "tools": [{"name": "file_read"}]}]}), "agents[0].tools"),
        (json!({"judge": {"summaryPromptPath": "x"}}), "judge.summaryPromptPath"),
        (json!({"debate": {"trace": "otlp"}}), "debate.trace"),
        (json!({"debate": {"summarization": {"promptPath": "x"}}}), "debate.summarization.promptPath"),
        (json!({"debate": {"summarization": {"method": "length-based"}}}), "debate.summarization.method"),
        (json!({"debate": {"contextCommands": ["id"]}}), "debate.contextCommands"),
        (json!({"debate": {"arena": {"contextCommands": ["id"]}}}), "debate.arena"),
        (json!({"debate": {"critics": "some"}}), "debate.critics"),
        (json!({"judge": {"maxTokens": 1.5}}), "judge.maxTokens"),
        (json!({"providers": {"openai": {"baseUrl": "http://evil.example"}}}), "providers"),
        (json!({"providers": {"claude": {"argv": ["./evil"]}}}), "providers"),
        (json!({"judge": {"argv": ["./evil"]}}), "judge.argv"),
        (json!({"hooks": {"afterDebate": ["id"]}}), "hooks"),
        (json!({"contextDir": "/"}), "contextDir"),
        (json!({"agents": [{"role": "wizard"}]}), "agents[0].role"),
        (json!({"agents": [{"role": "../../kiss"}]}), "agents[0].role"),
        (json!({"agents": [{"role": "kiss", "model": "gpt-99", "provider": "openai"}]}), "agents[0].model"),
        (json!({"agents": [{"role": "kiss", "model": "model-kiss", "provider": "openrouter"}]}), "agents[0].model"),
        (json!({"agents": []}), "agents"),
        (json!({"agents": vec![json!({"role": "kiss"}); 9]}), "agents"),
        (json!({"protocol": "monologue"}), "protocol"),
        (json!({"rounds": "two"}), "rounds"),
        (json!({"rounds": 0}), "debate.rounds"),
        (json!({"rounds": 101}), "debate.rounds"),
        (json!({"debate": {"terminationCondition": {"threshold": 900}}}), "debate.terminationCondition.threshold"),
        (json!({"debate": {"maxConcurrency": 4000}}), "debate.maxConcurrency"),
        (json!({"debate": {"callTimeout": 4_000_000_000_u64}}), "debate.callTimeout"),
        (json!({"maxCost": 0}), "maxCost"),
        (json!({"maxCost": 0.5, "debate": {"budget": {"maxCostUsd": 0}}}), "debate.budget.maxCostUsd"),
        (json!({"problem": " "}), "problem"),
        (json!({"problem": "a\0"}), "problem"),
        (json!({"files": [{"path": "/etc/passwd"}]}), "files[0].path"),
    ];
    for (mut body, key) in cases {
        if body.get("problem").is_none() {
            body["problem"] = json!("Design a queue");
        }
        let refused = serving.post("/debates", &body).expect(422);
        assert_eq!(refused.header("content-type"), Some("application/problem+json"));
        let problem = refused.json();
        assert_eq!((&problem["type"], &problem["key"]), (&json!("validation"), &json!(key)), "{body}\n{problem:#}");
        assert_eq!((&problem["status"], &problem["retryable"]), (&json!(422), &json!(false)));
    }
    let authorization = format!("Bearer {TOKEN}");
    for body in ["[]", "{", "\"x\"", ""] {
        serving.raw("POST", "/api/v1/debates", &[("Authorization", &authorization)], body.as_bytes()).expect(422);
    }
    assert_eq!(serving.get("/debates")["total"], 0, "nothing of it is on record");
    assert_eq!(server.requests().len(), 0);
}

#[test]
fn files_are_what_the_command_line_attaches() {
    let server = MockServer::with(short_reply);
    let text = "It must last.\n\n```attachment\n## Task\n";
    let sandbox = sandbox(&server, &json!({})).file("notes.md", text);
    sandbox.run(["debate", "Design a queue", "--attach", "notes.md"]).expect_code(0);
    let by_command = sandbox.only_debate();
    let asked = server.requests().len();
    let serving = Serving::start(&sandbox, &[]);
    let id = serving.complete(&json!({"problem": "Design a queue", "files": [{"name": "notes.md", "text": text}]}));
    assert_eq!(sandbox.state(&id)["attachments"], sandbox.state(&by_command)["attachments"]);
    for request in &server.requests()[asked..] {
        let prompt = request.text();
        let is_fenced = prompt.contains("\n````attachment\nIt must last.\n\n```attachment\n## Task\n\n````\n");
        assert!(prompt.contains("## Attachment 1: notes.md\n\nSHA-256: ") && is_fenced, "{prompt}");
    }
}

#[test]
fn files_are_refused_that_the_command_line_refuses() {
    let server = MockServer::with(short_reply);
    let sandbox = sandbox(&server, &json!({})).env("OPENAI_API_KEY", "sk-a-key-that-is-a-secret");
    let serving = Serving::start(&sandbox, &[]);
    let fine = json!({"name": "a.md", "text": "fine"});
    let cases = [
        (json!([fine, {"name": ".env", "text": "A=1"}]), "files[1]", "may contain keys or passwords"),
        (json!([{"name": "keys/id_rsa", "text": "x"}]), "files[0]", "may contain keys or passwords"),
        (
            json!([{"name": "a.txt", "text": "-----BEGIN OPENSSH PRIVATE KEY-----\nx"}]),
            "files[0]",
            "contains a private key",
        ),
        (
            json!([{"name": "a.txt", "text": "it is sk-a-key-that-is-a-secret"}]),
            "files[0]",
            "contains the value of OPENAI_API_KEY",
        ),
        (json!([{"name": "a.txt", "text": " \n"}]), "files[0]", "is empty"),
        (
            json!([fine, {"name": "b.md", "text": "ü".repeat(99_997)}]),
            "files[1]",
            "attaching b.md would exceed the total limit of 100,000 characters",
        ),
        (json!([{"name": " ", "text": "x"}]), "files[0].name", "must have a name"),
        (json!([{"name": "x".repeat(256), "text": "x"}]), "files[0].name", "at most 255 characters"),
        (json!(vec![fine.clone(); 21]), "files", "at most 20 files"),
    ];
    for (files, key, detail) in cases {
        for path in ["/forecast", "/debates"] {
            let refused = serving.post(path, &json!({"problem": "Design a queue", "files": files})).expect(422);
            assert!(!refused.text().contains("sk-a-key"), "{}", refused.text());
            let problem = refused.json();
            assert_eq!((&problem["type"], &problem["key"]), (&json!("validation"), &json!(key)), "{problem:#}");
            assert!(problem["detail"].as_str().unwrap().contains(detail), "{problem:#}");
        }
    }
    let exact = json!([fine, {"name": "b.md", "text": "ü".repeat(99_996)}]);
    serving.post("/forecast", &json!({"problem": "Design a queue", "files": exact})).expect(200);
    assert_eq!(server.requests().len(), 0);
    assert_eq!(serving.get("/debates")["total"], 0);
}

/// What a form sends back of agents that it did not change must not make others of them.
#[test]
fn an_agent_that_is_named_by_its_id_stays_what_it_is_configured_to_be() {
    let server = MockServer::with(short_reply);
    let mut config = super::client::config(&["architect", "kiss"], &json!({}));
    config["agents"][0]["temperature"] = json!(0.9);
    config["agents"][0]["maxTokens"] = json!(1234);
    config["agents"][1]["systemPromptPath"] = json!("own.md");
    let sandbox = sandbox(&server, &json!({})).config(&config).file("own.md", "You are one of a kind.");
    let serving = Serving::start(&sandbox, &["--config", "debate-config.json"]);
    let agents = json!([
        {"id": "agent-kiss", "role": "kiss", "name": "Another name", "provider": "openai", "model": "model-architect"},
        {"id": "agent-architect", "role": "architect"},
        {"role": "testing"},
    ]);
    let id = serving.complete(&json!({"problem": "Design a queue", "agents": agents}));
    let agents = sandbox.state(&id)["settings"]["agents"].clone();
    assert_eq!((&agents[0]["name"], &agents[0]["model"]), (&json!("Another name"), &json!("model-architect")));
    assert!(agents[0]["systemPromptPath"].as_str().unwrap().ends_with("own.md"), "{agents:#}");
    assert_eq!((&agents[1]["temperature"], &agents[1]["maxTokens"]), (&json!(0.9), &json!(1234)));
    assert_eq!((&agents[2]["id"], &agents[2]["model"]), (&json!("agent-testing"), &json!("model-architect")));
    assert!(server.requests().iter().any(|request| request.text().contains("You are one of a kind.")));
    // The same of a branch, and of the judge.
    let other = json!([{"id": "agent-kiss", "temperature": 0.1}, {"id": "agent-architect", "role": "architect"}, {"id": "agent-testing"}]);
    let body = json!({"at": "1.synthesis", "agents": other, "judge": {"model": "model-kiss"}});
    let fork = serving.fork(&id, &body);
    let settings = sandbox.state(&fork)["settings"].clone();
    assert_eq!(
        (&settings["agents"][0]["name"], &settings["agents"][0]["temperature"]),
        (&json!("Another name"), &json!(0.1))
    );
    assert_eq!((&settings["judge"]["model"], &settings["judge"]["id"]), (&json!("model-kiss"), &json!("judge")));
    // Whose texts are taken over has to stay.
    let fewer = json!({"at": "1.synthesis", "agents": [{"id": "agent-kiss"}]});
    serving.post(&format!("/debates/{id}/fork"), &fewer).expect(422);
}

#[test]
fn the_server_tells_what_can_be_started() {
    let server = MockServer::with(short_reply);
    let sandbox = sandbox(&server, &json!({"rounds": 2}));
    let serving = Serving::start(&sandbox, &["--max-cost", "0.5"]);
    let setup = serving.get("/setup");
    let names = |key: &str, name: &str| -> Vec<String> {
        setup[key].as_array().unwrap().iter().map(|one| one[name].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names("agents", "id"), ["agent-architect", "agent-kiss"]);
    assert_eq!(names("models", "model"), ["rehearsal", "model-architect", "model-judge", "model-kiss"]);
    assert!(names("protocols", "name").contains(&"oxford".to_owned()));
    assert_eq!((&setup["rounds"], &setup["maxCost"]), (&json!(2), &json!(0.5)));
}

#[test]
fn a_failure_says_of_which_kind_it_is() {
    let server = MockServer::with(|_| crate::support::Reply::error(401, "the key is not known"));
    let (_sandbox, serving) = serving(&server);
    let id = serving.begin(&json!({"problem": "Design a queue"}));
    drop(serving.events(&id, 0));
    // No model was reached, so that there is no record; what happened is still told.
    let lost = serving.ask("GET", &format!("/debates/{id}"), None).expect(410).json();
    assert_eq!((&lost["type"], &lost["retryable"]), (&json!("model_error"), &json!(false)), "{lost:#}");
    server.set_script(|_| crate::support::Reply::error(500, "overloaded"));
    let id = serving.begin(&json!({"problem": "Design a queue"}));
    serving.wait_for(&id, "failed");
    let problem = serving.get(&format!("/debates/{id}"))["problem"].clone();
    assert_eq!((&problem["type"], &problem["retryable"]), (&json!("model_error"), &json!(true)), "{problem:#}");
}

#[test]
fn the_description_of_the_api_is_what_the_server_does() {
    let serving = Serving::start(&Sandbox::new().env("DIALECTIC_TOKEN", TOKEN), &[]);
    let document = serving.raw("GET", "/api/v1/openapi.json", &[], b"").expect(200).json();
    assert_eq!(document["openapi"], "3.1.0");
    assert_eq!(document, dialectic_cli::serve::openapi());
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let path = path.strip_prefix("/api/v1").unwrap().replace("{id}", "deb-none");
            // Whoever is told of an operation meets it: what is missing is the debate, or the body.
            let answer =
                serving.ask(&method.to_uppercase(), &path, Some(&json!({"nothing": 1})).filter(|_| method == "post"));
            let is_known = operation["responses"].get(answer.status.to_string()).is_some();
            assert!(is_known && answer.status != 405, "{method} {path}: {} {}", answer.status, answer.text());
        }
    }
    serving.ask("DELETE", "/debates", None).expect(405);
    assert_eq!(serving.ask("GET", "/nothing", None).expect(404).json()["type"], "not_found");
}

/// A validator from outside: the command in `OPENAPI_VALIDATOR`, which gets the file as its last argument.
#[test]
fn the_description_of_the_api_is_valid() {
    let Some(validator) = std::env::var_os("OPENAPI_VALIDATOR") else {
        assert!(std::env::var_os("CI").is_none(), "OPENAPI_VALIDATOR is not set, and nothing was checked");
        return;
    };
    let sandbox = Sandbox::new().file("openapi.json", dialectic_cli::serve::openapi().to_string());
    let validator = validator.into_string().unwrap();
    let mut words = validator.split_whitespace();
    let (program, file) = (words.next().unwrap(), sandbox.directory().join("openapi.json"));
    let validated = || std::process::Command::new(program).args(words.clone()).arg(&file).output().unwrap();
    let output = validated();
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(output.status.success(), "{said}");
    // It can tell.
    let mut wrong: Value = dialectic_cli::serve::openapi();
    wrong["paths"]["/api/v1/debates"]["get"]["responses"] = json!({"200": {}});
    sandbox.write("openapi.json", wrong.to_string());
    assert!(!validated().status.success(), "the validator finds no fault in anything");
}

/// A client that a tool from outside makes of the document, with the Python in `OPENAPI_CLIENT`, runs a debate.
#[test]
fn a_client_made_of_the_description_runs_a_debate() {
    let Some(python) = std::env::var_os("OPENAPI_CLIENT") else {
        assert!(std::env::var_os("CI").is_none(), "OPENAPI_CLIENT is not set, and no client was made");
        return;
    };
    let sandbox = Sandbox::new().env("DIALECTIC_TOKEN", TOKEN);
    sandbox.write("openapi.json", dialectic_cli::serve::openapi().to_string());
    let run = |arguments: &[&str]| {
        let command = std::process::Command::new(&python)
            .args(arguments)
            .current_dir(sandbox.directory())
            .env("DIALECTIC_TOKEN", TOKEN)
            .output();
        let output = command.unwrap();
        let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        assert!(output.status.success(), "{said}");
        said
    };
    let options = ["--path", "openapi.json", "--output-path", "client", "--meta", "none"];
    let said = run(&[&["-m", "openapi_python_client", "generate"], &options[..]].concat());
    // It leaves out what it does not understand, and says so.
    assert!(!said.contains("WARNING parsing") && !said.contains("Unable to"), "{said}");
    let serving = Serving::start(&sandbox, &[]);
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/.ci/client.py");
    run(&[script, &format!("http://{}", serving.authority), "."]);
}

/// A debate that an older program left behind has no journal: nothing resumes it, and it does not run for ever.
#[test]
fn an_older_debate_that_never_ended_is_unfinished() {
    let server = MockServer::with(short_reply);
    let mut running: Value = serde_json::from_str(include_str!("../../fixtures/simple.json")).unwrap();
    running["status"] = json!("running");
    running["finalSolution"] = Value::Null;
    let sandbox = sandbox(&server, &json!({})).file("debates/old.json", running.to_string());
    let serving = Serving::start(&sandbox, &[]);
    let listed = serving.get("/debates");
    assert_eq!(
        (&listed["debates"][0]["status"], serving.status("old")),
        (&json!("unfinished"), "unfinished".to_owned())
    );
    assert_eq!(serving.get("/debates?status=unfinished")["total"], 1);
    let page = serving.ask("GET", "/debates/old/report?format=html", None).expect(200).text();
    assert!(page.contains(">unfinished<") && !page.contains(">running<"), "{page}");
}
