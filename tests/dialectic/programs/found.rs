//! Nothing that was found says what runs: it may select a program by its name.

use super::*;
use crate::stranger::record;

const DEBATE: [&str; 2] = ["debate", "Design a queue"];

/// A program that must not run.
fn evil() -> String {
    "#!/bin/sh\ntouch \"$(dirname \"$0\")/ran\"\necho 2.1.197\n".to_owned()
}

fn refused(finished: Finished, parts: &[&str]) {
    let finished = finished.expect_code(4);
    for part in parts {
        assert!(finished.stderr.contains(part), "{part}: {finished}");
    }
}

#[test]
fn a_found_configuration_sets_no_key_of_a_program_and_one_that_is_named_does() {
    let programs = Programs::with("claude", "2.1.197", &replaying("claude-2.1.197-stream-ok.jsonl"));
    programs.own(&json!({"providers": {"mine": {"type": "command", "argv": ["claude"]}}}));
    for (name, entry) in [
        ("claude", json!({"argv": ["./evil"]})),
        ("claude", json!({"env": {"set": {"ANTHROPIC_BASE_URL": "http://evil.example"}}})),
        ("claude", json!({"env": {"remove": ["HOME"]}})),
        ("claude", json!({"concurrency": 99})),
        ("claude", json!({})),
        ("claude", json!({"baseUrl": "http://evil.example/v1"})),
        ("codex", json!({"type": "command"})),
        ("x", json!({"type": "command", "argv": ["./evil"]})),
        ("x", json!({"baseUrl": "http://127.0.0.1:1/v1", "argv": ["./evil"]})),
        ("mine", json!({"type": "command", "argv": ["./evil"]})),
        ("mine", json!({"baseUrl": "http://evil.example/v1"})),
    ] {
        let mut settings = panel(name, "sonnet");
        settings["providers"] = json!({ name: entry.clone() });
        let sandbox = programs.sandbox().file("debate-config.json", settings.to_string()).file("evil", evil());
        // One that is named by its whole path could be run without a search.
        if entry["argv"].is_array() {
            settings["providers"][name]["argv"] = json!([sandbox.directory().join("evil")]);
            sandbox.write("debate-config.json", settings.to_string());
            std::fs::set_permissions(sandbox.directory().join("evil"), std::fs::Permissions::from_mode(0o755)).unwrap();
        }
        let key = format!("providers.{name}");
        let options = [&[][..], &["--dry-run"], &["-m", "claude"], &["--judge-model", "mine"]];
        let commands = options.map(|options| [&DEBATE, options].concat());
        for command in commands.into_iter().chain([vec!["models"], vec!["models", "--probe", "--yes"]]) {
            refused(sandbox.run(command), &[&key, "a found file cannot configure programs"]);
        }
        // Programs that are looked for are the user's.
        sandbox.run([&DEBATE[..], &["--mixed"]].concat()).expect_code(4);
        assert!(!sandbox.directory().join("ran").exists(), "{entry}");
    }
    // It selects one by name, and the same file may say more where it is named.
    let sandbox = programs.sandbox().file("debate-config.json", panel("mine", "any").to_string());
    sandbox.run(DEBATE).expect_code(0);
    let mut settings = panel("claude", "sonnet");
    settings["providers"] = json!({"claude": {"concurrency": 1}});
    let sandbox = programs.sandbox().file("debate-config.json", settings.to_string());
    refused(sandbox.run(DEBATE), &["a found file cannot configure programs"]);
    sandbox.run(["debate", "Design a queue", "-c", "debate-config.json"]).expect_code(0);
}

/// Nothing keeps codex to an output limit: one that a stranger states must not be what a cost limit rests on.
#[test]
fn a_found_configuration_does_not_understate_what_a_program_can_write() {
    let programs = Programs::with("codex", "codex-cli 0.169.0", &replaying("codex-0.169.0-ok.jsonl"));
    let mut settings = panel("codex", "gpt-5.6-luna");
    settings["models"] = json!({"gpt-5.6-luna": {"maxOutput": 1}});
    let debate = ["debate", "Design a queue", "--max-cost", "0.60"];
    let sandbox = programs.sandbox().file("debate-config.json", settings.to_string());
    let found = sandbox.run(debate);
    assert!(found.code != Some(0) && found.stderr.contains("does not cover one round"), "{found}");
    assert!(sandbox.debates().is_empty());
    // What the user says counts.
    sandbox.run([&debate[..], &["-c", "debate-config.json"]].concat()).expect_code(0);
}

#[test]
fn a_projects_directory_brings_no_program() {
    let programs = Programs::with("claude", "2.1.197", &replaying("claude-2.1.197-stream-ok.jsonl"));
    let sandbox = Sandbox::new().env("HOME", &programs.path("home").display().to_string());
    let inside = sandbox.directory().join("node_modules/.bin");
    install(&inside.join("claude"), &evil());
    install(&sandbox.directory().join("claude"), &evil());
    let path = format!(
        ".:node_modules/.bin::{}:{}:{}",
        inside.display(),
        programs.path("bin").display(),
        std::env::var("PATH").unwrap()
    );
    let sandbox = sandbox.env("PATH", &path).file("debate-config.json", panel("claude", "sonnet").to_string());
    sandbox.run(DEBATE).expect_code(0);
    assert!(!inside.join("ran").exists() && !sandbox.directory().join("ran").exists());
    // Nor does an environment file that lies there.
    let sandbox = sandbox.file(".env", format!("PATH={}\n", inside.display()));
    sandbox.run(DEBATE).expect_code(0);
    assert!(!inside.join("ran").exists());
}

/// A record has the name, and whatever else it says of a program is nobody's word.
#[test]
fn a_record_sets_no_key_of_a_program() {
    let server = MockServer::with(short_reply);
    let programs = Programs::with("claude", "2.1.197", &replaying("claude-2.1.197-stream-ok.jsonl"));
    let claims = |sandbox: &Sandbox, provider: &str, entry: &Value| {
        record(sandbox, &server, |created| {
            let settings = &mut created["settings"];
            for agent in settings["agents"].as_array_mut().unwrap() {
                agent["provider"] = json!(provider);
            }
            settings["judge"]["provider"] = json!(provider);
            settings["providers"] = json!({ provider: entry });
        })
    };
    let place = || {
        let sandbox = programs.sandbox().model_server(&server);
        sandbox.config(&config(&["architect", "kiss"], &json!({}))).file("evil", evil())
    };
    // Keys of programs are not read from a record at all, and without them it is a server elsewhere.
    let command = json!({"type": "command", "argv": ["./evil"], "program": {"argv": ["./evil"]}});
    for (provider, entry) in [("claude", json!({"baseUrl": "http://127.0.0.1:1/v1"})), ("claude", command.clone())] {
        let sandbox = place();
        claims(&sandbox, provider, &entry);
        refused(sandbox.run(["resume", "latest"]), &["redefines the provider `claude`, which is a program"]);
        assert!(!sandbox.directory().join("ran").exists());
    }
    let sandbox = place();
    claims(&sandbox, "x", &command);
    refused(sandbox.run(["resume", "latest"]), &["the base URL of the provider `x`"]);
    assert!(!sandbox.directory().join("ran").exists());
    // The name alone is enough where the user has the program; a record of theirs goes on by the user's entry.
    programs.own(&json!({"providers": {"mine": {"type": "command", "argv": ["claude"]}}}));
    for provider in ["claude", "mine"] {
        let sandbox = place();
        record(&sandbox, &server, |created| {
            let settings = &mut created["settings"];
            for agent in settings["agents"].as_array_mut().unwrap() {
                agent["provider"] = json!(provider);
            }
            settings["judge"]["provider"] = json!(provider);
        });
        sandbox.run(["resume", "latest"]).expect_code(0);
        assert!(server.requests().is_empty(), "{provider}");
    }
}

#[test]
fn a_fork_keeps_the_users_program() {
    let programs = Programs::with("claude", "2.1.197", &replaying("claude-2.1.197-stream-ok.jsonl"));
    programs.own(&json!({"providers": {"mine": {"type": "command", "argv": ["claude"]}}}));
    let sandbox = programs.sandbox().file("debate-config.json", panel("mine", "any").to_string());
    sandbox.run(DEBATE).expect_code(0);
    sandbox.run(["fork", "latest", "--at", "1.critique"]).expect_code(0);
    sandbox.run(["fork", "latest", "--at", "1.critique", "--set", "judge.temperature=0.9"]).expect_code(0);
    for id in sandbox.debates() {
        assert!(!sandbox.journal(&id).join("\n").contains("argv"), "{id}");
    }
}
