//! What programs are prevented from doing.

use super::*;

#[tokio::test]
async fn any_use_of_a_tool_fails_the_call() {
    let block = r#"{"type":"stream_event","event":{"type":"content_block_start","content_block":{"type":"server_tool_use","name":"Web"}}}"#;
    let assistant = r#"{"type":"assistant","message":{"content":[{"type":"tool_use","name":"Read"}]}}"#;
    let init = r#"{"type":"system","subtype":"init","tools":["Bash"],"mcp_servers":[]}"#;
    let server = r#"{"type":"system","subtype":"init","tools":[],"mcp_servers":[{"name":"mail"}]}"#;
    let command = r#"{"type":"item.started","item":{"type":"command_execution","command":"ls"}}"#;
    for (name, line, tool) in [
        ("claude", assistant, "Read"),
        ("claude", block, "Web"),
        ("claude", init, "Bash"),
        ("claude", server, "mail"),
        ("codex", command, "command_execution"),
    ] {
        let stage = Stage::new(&format!(
            "case \"$1\" in auth|login) exit 0;; esac\ncat > /dev/null\n\
             echo $$ > \"$KEPT/pid\"\necho '{line}'\nsleep 60"
        ));
        let failed = stage.ask(name).await.0.unwrap_err();
        assert_eq!(failed.error, ModelError::ToolUsed { tool: tool.to_owned() }, "{name}");
        assert!(failed.may_be_billed && !failed.error.is_transient());
        // It is killed at once, because a program continues as long as tools are used.
        stage.is_ended().await;
    }
}

/// Each program starts in an empty directory, which is removed afterwards, and receives only our text on standard
/// input.
#[tokio::test]
async fn a_program_finds_nothing_where_it_starts_and_leaves_nothing_there() {
    for (name, recording) in [("claude", "claude-2.1.197-stream-ok.jsonl"), ("codex", "codex-0.169.0-ok.jsonl")] {
        let stage = Stage::new(&format!(
            "case \"$1\" in auth|login) exit 0;; esac\ncat > \"$KEPT/input\"\npwd > \"$KEPT/where\"\n\
             ls -A > \"$KEPT/found\"\ntouch left\nfor argument in \"$@\"; do echo \"$argument\" >> \"$KEPT/arguments\"; \
             done\nenv | sort > \"$KEPT/environment\"\ncat \"$RECORDINGS/{recording}\""
        ));
        for prompt in ["/cost", "!ls", "@/etc/passwd"] {
            ask(&CommandModel::new(stage.program(name)), &request(prompt)).await.0.unwrap();
            assert_eq!(stage.kept("input"), format!("Answer what follows.\n\n{prompt}"), "{name}");
        }
        assert_eq!(stage.kept("found"), "", "{name}");
        let place = stage.kept("where");
        assert!(place.contains("dialectic-") && !Path::new(place.trim()).parent().unwrap().exists(), "{name}: {place}");
        let (arguments, environment) = (stage.kept("arguments"), stage.kept("environment"));
        for expected in match name {
            "claude" => ["--tools=", "--setting-sources=", "CLAUDE_CODE_DISABLE_ATTACHMENTS=1"],
            _ => ["--config=features.shell_tool=false", "--ignore-user-config", "PATH="],
        } {
            assert!(arguments.contains(expected) || environment.contains(expected), "{name}: {expected}");
        }
    }
}

#[tokio::test]
async fn no_program_looks_further_up_for_variables_than_where_it_is_put() {
    let stage = Stage::new("cat > /dev/null\nls -A .. > \"$KEPT/above\"\necho 'Use a queue.'");
    stage.ask("mine").await.0.unwrap();
    assert!(stage.kept("above").lines().any(|name| name == ".env"), "{}", stage.kept("above"));
}

#[tokio::test]
async fn a_model_cannot_be_an_option() {
    let stage = Stage::new("exit 0");
    let model = CommandModel::new(stage.program("claude"));
    for name in ["--dangerously-skip-permissions", "-x", "", "a b", "a\nb", "@file", "{model}"] {
        let failed = ask(&model, &Request { model: name.into(), ..request("What now?") }).await.0.unwrap_err();
        assert_eq!(failed.error.kind(), "unsendable", "{name}");
    }
    for name in ["sonnet", "claude-sonnet-4-6[1m]", "anthropic/claude-opus-5.5", "gpt-4:free"] {
        assert_eq!(check_model(name), Ok(()), "{name}");
    }
}

/// Checks a program with this name and version whose answer to the query `asked` is replaced.
fn checked(name: &str, version: &str, asked: &str, answer: &str) -> (Result<Option<String>, String>, Stage) {
    let stage = Stage::new(&format!(
        "case \"$*\" in {asked}) cat \"$KEPT/answer\"; exit;; esac\nVERSION='{version}'{ITSELF}touch \"$KEPT/called\""
    ));
    std::fs::write(stage.directory.path().join("answer"), answer).unwrap();
    let checked = stage.program(name).check().map_err(|fault| fault.to_string());
    (checked, stage)
}

/// Versions change weekly, so the check looks for the switches, without calling a model.
#[test]
fn a_program_is_refused_if_it_cannot_be_kept_from_tools_whatever_its_version_is() {
    let help = std::fs::read_to_string(recordings().join("claude-2.1.332-help.txt")).unwrap();
    let features = std::fs::read_to_string(recordings().join("codex-0.171.0-features.txt")).unwrap();
    let without = |text: &str, part: &str| {
        assert!(text.contains(part), "{part}");
        text.split_inclusive('\n').filter(|line| !line.contains(part)).collect::<String>()
    };
    let removed = |state: &str| without(&features, "goals ") + &format!("goals removed {state}\n");
    for (name, version, asked, answer, expected) in [
        ("claude", "2.1.332 (Claude Code)", "nothing", String::new(), Ok(None)),
        ("codex", "codex-cli 0.171.0", "nothing", String::new(), Ok(None)),
        (
            "claude",
            "v9.9.9-beta.1",
            "nothing",
            String::new(),
            Ok(Some("claude 9.9.9-beta.1 is untested (tested: 2.1.197, 2.1.331, 2.1.332)")),
        ),
        ("codex", "codex-cli 1.0.0", "nothing", String::new(), Ok(Some("codex 1.0.0 is untested"))),
        ("claude", "whatever", "nothing", String::new(), Err("did not print a version: whatever")),
        ("claude", "2.1.332", "--help", without(&help, "--tools "), Err("claude 2.1.332 lacks `--tools`")),
        ("claude", "9.0.0", "--help", without(&help, "--no-chrome"), Err("claude 9.0.0 lacks `--no-chrome`")),
        ("claude", "9.0.0", "--help", String::new(), Err("claude 9.0.0 lacks `--tools`")),
        ("codex", "0.171.0", "\"exec --help\"", "--ignore-rules".to_owned(), Err("codex 0.171.0 lacks `--sandbox`")),
        // A feature that is gone, one that is always on, and one that cannot be switched off.
        (
            "codex",
            "1.0.0",
            "\"features list\"",
            without(&features, "shell_tool"),
            Err("codex 1.0.0 lacks `--config=features.shell_tool=false`, which is needed to disable tools"),
        ),
        ("codex", "1.0.0", "\"features list\"", removed("true"), Err("lacks `--config=features.goals=false`")),
        ("codex", "1.0.0", "\"features list\"", removed("false"), Ok(Some("codex 1.0.0 is untested"))),
        ("codex", "1.0.0", "*\"=false features list\"", features.clone(), Err("lacks `--config=features.apps")),
    ] {
        let (found, stage) = checked(name, version, asked, &answer);
        match (found, expected) {
            (Ok(None), Ok(None)) => {}
            (Ok(Some(said)), Ok(Some(part))) | (Err(said), Err(part)) => assert!(said.contains(part), "{said}"),
            (found, _) => panic!("{name} {version}, {asked}: {found:?}"),
        }
        assert!(!stage.directory.path().join("called").exists(), "{name} {version}");
    }
}

#[test]
fn a_version_that_is_known_to_be_unsafe_is_refused_with_the_reason() {
    static PRESET: ProgramPreset =
        ProgramPreset { unsafe_versions: &[("2.1.332", "it reads files that a text names")], ..PROGRAMS[0] };
    let stage = Stage::new(&format!("VERSION=2.1.332{ITSELF}"));
    let program = Program { preset: Some(&PRESET), ..stage.program("claude") };
    let refused = program.check().unwrap_err().to_string();
    assert_eq!(refused, "claude 2.1.332 is unsafe: it reads files that a text names");
}

#[tokio::test]
async fn a_program_that_is_brought_up_to_date_midway_is_checked_before_it_is_called() {
    let script = |help: &str| {
        format!(
            "VERSION=2.1.340 CLAUDE_HELP={help}{ITSELF}cat > /dev/null\necho x >> \"$KEPT/calls\"\n\
             cat \"$RECORDINGS/claude-2.1.197-stream-ok.jsonl\""
        )
    };
    let stage = Stage::new(&script(""));
    let model = CommandModel::new(stage.program("claude"));
    ask(&model, &request("What now?")).await.0.unwrap();
    stage.replace(&script("/dev/null"));
    for _ in 0..2 {
        let failed = ask(&model, &request("What now?")).await.0.unwrap_err();
        assert_eq!(failed.error.kind(), "unsendable");
        assert!(failed.error.to_string().contains("claude 2.1.340 lacks `--tools`"), "{failed}");
        assert!(!failed.may_be_billed);
    }
    stage.replace(&script("\n"));
    ask(&model, &request("What now?")).await.0.unwrap();
    assert_eq!(stage.kept("calls").lines().count(), 2);
}

/// A project must not provide the program that runs in it.
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
