//! What programs are kept from.

use super::*;

#[tokio::test]
async fn any_use_of_a_tool_fails_the_call() {
    let block = r#"{"type":"stream_event","event":{"type":"content_block_start","content_block":{"type":"server_tool_use","name":"Web"}}}"#;
    let assistant = r#"{"type":"assistant","message":{"content":[{"type":"tool_use","name":"Read"}]}}"#;
    let init = r#"{"type":"system","subtype":"init","tools":["Bash"],"mcp_servers":[]}"#;
    let server = r#"{"type":"system","subtype":"init","tools":[],"mcp_servers":[{"name":"mail"}]}"#;
    for (name, line, tool, recording) in [
        ("claude", assistant, "Read", "claude-2.1.197-stream-ok.jsonl"),
        ("claude", block, "Web", "claude-2.1.197-stream-ok.jsonl"),
        ("claude", init, "Bash", "claude-2.1.197-ok.json"),
        ("claude", server, "mail", "claude-2.1.197-ok.json"),
        (
            "codex",
            r#"{"type":"item.started","item":{"type":"command_execution","command":"ls"}}"#,
            "command_execution",
            "codex-0.169.0-ok.jsonl",
        ),
        ("opencode", r#"{"type":"tool_use","part":{"tool":"bash"}}"#, "bash", "opencode-1.18.33-ok.jsonl"),
        ("gemini", r#"{"type":"tool_use","tool_name":"read_file"}"#, "read_file", "gemini-0.61.0-stream-ok.jsonl"),
    ] {
        let stage = Stage::new(&format!(
            "case \"$1\" in auth|login) exit 0;; esac\ncat > /dev/null\necho '{line}'\nsleep 1\n\
             cat \"$RECORDINGS/{recording}\"\ntouch \"$KEPT/late\""
        ));
        let failed = stage.ask(name).await.0.unwrap_err();
        assert_eq!(failed.error, ModelError::ToolUsed { tool: tool.to_owned() }, "{name}");
        assert!(failed.may_be_billed && !failed.error.is_transient());
        // It is ended at once: a program goes on asking as long as tools are used.
        tokio::time::sleep(Duration::from_millis(1300)).await;
        assert!(!stage.directory.path().join("late").exists(), "{name}");
    }
}

/// Each program starts in an empty directory that is gone afterwards, with our text alone on its standard input.
#[tokio::test]
async fn a_program_finds_nothing_where_it_starts_and_leaves_nothing_there() {
    for (name, recording) in [
        ("claude", "claude-2.1.197-stream-ok.jsonl"),
        ("codex", "codex-0.169.0-ok.jsonl"),
        ("opencode", "opencode-1.18.33-ok.jsonl"),
        ("gemini", "gemini-0.61.0-stream-ok.jsonl"),
    ] {
        let stage = Stage::new(&format!(
            "case \"$1\" in auth|login) exit 0;; esac\ncat > \"$KEPT/input\"\npwd > \"$KEPT/where\"\n\
             ls -A > \"$KEPT/found\"\ntouch left\nfor argument in \"$@\"; do echo \"$argument\" >> \"$KEPT/arguments\"; \
             done\nenv | sort > \"$KEPT/environment\"\ncat \"$RECORDINGS/{recording}\""
        ));
        for prompt in ["/cost", "!ls", "@/etc/passwd"] {
            let model = CommandModel::new(stage.program(name, ProgramSettings::default()));
            ask(&model, &request(prompt)).await.0.unwrap();
            assert_eq!(stage.kept("input"), format!("Answer what follows.\n\n{prompt}"), "{name}");
        }
        assert_eq!(stage.kept("found"), "", "{name}");
        let place = stage.kept("where");
        assert!(place.contains("dialectic-") && !Path::new(place.trim()).parent().unwrap().exists(), "{name}: {place}");
        let (arguments, environment) = (stage.kept("arguments"), stage.kept("environment"));
        for expected in match name {
            "claude" => ["--tools=", "--setting-sources=", "CLAUDE_CODE_DISABLE_ATTACHMENTS=1"],
            "codex" => ["--disable=shell_tool", "--ephemeral", "PATH="],
            "opencode" => ["--agent=dialectic", "OPENCODE_DB=:memory:", "\"*\":\"deny\""],
            _ => ["--approval-mode=plan", "GEMINI_CLI_HOME=", "GEMINI_SYSTEM_MD="],
        } {
            assert!(arguments.contains(expected) || environment.contains(expected), "{name}: {expected}");
        }
    }
}

/// opencode puts files and variables in place of these in its configuration, where our system text stands.
#[test]
fn a_system_text_names_no_file_and_no_variable() {
    let system = "Be terse. {file:~/secret} {env:HOME} \\{file:/etc/passwd} {\"a\": 1}";
    let configuration = opencode::configuration(&Request { system: system.into(), ..request("What now?") });
    assert!(!configuration.contains("{file:") && !configuration.contains("{env:"), "{configuration}");
    let read: Value = serde_json::from_str(&configuration).unwrap();
    assert_eq!(read["agent"]["dialectic"]["prompt"], system);
}

#[tokio::test]
async fn no_program_looks_further_up_for_variables_than_where_it_is_put() {
    let stage =
        Stage::new("cat > /dev/null\nls -A .. > \"$KEPT/above\"\ncat \"$RECORDINGS/gemini-0.61.0-stream-ok.jsonl\"");
    stage.ask("gemini").await.0.unwrap();
    assert!(stage.kept("above").lines().any(|name| name == ".env"), "{}", stage.kept("above"));
}

#[tokio::test]
async fn a_model_cannot_be_an_option() {
    let stage = Stage::new("exit 0");
    let model = CommandModel::new(stage.program("claude", ProgramSettings::default()));
    for name in ["--dangerously-skip-permissions", "-x", "", "a b", "a\nb", "@file", "{model}"] {
        let failed = ask(&model, &Request { model: name.into(), ..request("What now?") }).await.0.unwrap_err();
        assert_eq!(failed.error.kind(), "unsendable", "{name}");
    }
    for name in ["sonnet", "opencode/big-pickle", "claude-sonnet-4-6[1m]", "anthropic/claude-opus-5.5", "gpt-4:free"] {
        assert_eq!(prompt::check_model(name), Ok(()), "{name}");
    }
}

#[test]
fn a_version_that_was_not_tried_is_refused_unless_it_is_named() {
    for (said, allowed, outcome) in [
        ("2.1.197 (Claude Code)", None, Ok(())),
        ("2.1.330 (Claude Code)", None, Err("claude 2.1.330 was not tested; tested: 2.1.197")),
        ("2.1.330 (Claude Code)", Some("2.1.330"), Ok(())),
        ("2.1.330 (Claude Code)", Some("2.1.*"), Ok(())),
        ("2.2.0 (Claude Code)", Some("2.1.*"), Err("claude 2.2.0 was not tested")),
        ("v9.9.9-beta.1", Some("*"), Ok(())),
        ("command not understood", Some("*"), Err("reports no version: command not understood")),
    ] {
        let stage = Stage::new(&format!("echo '{said}'"));
        let settings =
            ProgramSettings { allow_versions: allowed.into_iter().map(str::to_owned).collect(), ..Default::default() };
        let found = stage.program("claude", settings).check_version().map_err(|fault| fault.to_string());
        match (found, outcome) {
            (Ok(()), Ok(())) => {}
            (Err(fault), Err(part)) => assert!(fault.contains(part), "{fault}"),
            (found, _) => panic!("{said}: {found:?}"),
        }
    }
}

#[tokio::test]
async fn a_program_that_is_brought_up_to_date_midway_is_not_called_before_it_was_tried() {
    let script = |version: &str| {
        format!(
            "case \"$1\" in --version) echo {version}; exit;; auth) exit 1;; esac\ncat > /dev/null\necho x >> \"$KEPT/calls\"\n\
             cat \"$RECORDINGS/claude-2.1.197-stream-ok.jsonl\""
        )
    };
    let stage = Stage::new(&script("2.1.197"));
    let model = CommandModel::new(stage.program("claude", ProgramSettings::default()));
    ask(&model, &request("What now?")).await.0.unwrap();
    stage.replace(&script("2.1.330"));
    for _ in 0..2 {
        let failed = ask(&model, &request("What now?")).await.0.unwrap_err();
        assert_eq!(failed.error.kind(), "unsendable");
        assert!(failed.error.to_string().contains("claude 2.1.330 was not tested"), "{failed}");
        assert!(!failed.may_be_billed);
    }
    stage.replace(&script("2.1.331"));
    ask(&model, &request("What now?")).await.0.unwrap();
    assert_eq!(stage.kept("calls").lines().count(), 2);
}

/// What stands before a program may hide that it is another one; claude says which it is.
#[tokio::test]
async fn the_version_that_a_stream_states_counts() {
    let stage = Stage::new(
        "cat > /dev/null\nsed s/2.1.197/2.1.330/ \"$RECORDINGS/claude-2.1.197-stream-ok.jsonl\"\nsleep 5\n\
         touch \"$KEPT/late\"",
    );
    let failed = stage.ask("claude").await.0.unwrap_err();
    assert!(failed.error.to_string().contains("claude 2.1.330 was not tested"), "{failed}");
    let settings = ProgramSettings { allow_versions: vec!["2.1.*".to_owned()], ..ProgramSettings::default() };
    let stage = Stage::new("cat > /dev/null\nsed s/2.1.197/2.1.330/ \"$RECORDINGS/claude-2.1.197-stream-ok.jsonl\"");
    ask(&CommandModel::new(stage.program("claude", settings)), &request("What now?")).await.0.unwrap();
}

/// A project must not bring the program that is run in it.
#[test]
fn path_is_searched_outside_of_the_project_and_without_relative_entries() {
    let (project, other) = (Stage::new("exit 0"), Stage::new("exit 0"));
    let (inside, outside) = (project.directory.path(), other.directory.path());
    let bin = inside.join("bin");
    std::fs::create_dir(&bin).unwrap();
    let link = outside.join("link");
    std::os::unix::fs::symlink(inside, &link).unwrap();
    let path = format!(".::bin:{}:{}:{}:{}", inside.display(), bin.display(), link.display(), outside.display());
    let searched = searched(&path, &[inside.to_owned()]);
    assert_eq!(searched, [outside]);
    assert_eq!(find("program", &searched).unwrap(), outside.join("program"));
    assert_eq!(find("no-program", &searched), Err(missing_program("no-program")));
    for relative in ["./program", "bin/program", "../program"] {
        assert_eq!(find(relative, &searched), Err(ProgramFault::Relative(relative.to_owned())));
    }
    let whole = inside.join("program").display().to_string();
    assert_eq!(find(&whole, &[]).unwrap(), inside.join("program"), "what the user names is the user's word");
}

fn missing_program(program: &str) -> ProgramFault {
    ProgramFault::Missing(program.to_owned())
}
