//! `dialectic report`: what was said in a saved debate, and how it went.

use std::process::Stdio;

use serde_json::{Value, json};

use crate::fixtures::states;
use crate::handling::debated;
use crate::support::{
    Incoming, MockServer, Purpose, Reply, Sandbox, Terminal, config, redactions, short_reply, wait_until,
};

/// A fixture beside the saved states.
fn fixture(name: &str) -> String {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A sandbox with every fixture's state, under its own name.
fn with_fixtures() -> Sandbox {
    states().into_iter().fold(Sandbox::new(), |sandbox, (path, text)| sandbox.file(path.file_name().unwrap(), text))
}

/// A state of little text.
fn state() -> Value {
    json!({"id": "deb-20250101-010203-ab12", "problem": "Design a queue", "status": "completed", "rounds": []})
}

#[test]
fn reports_of_older_debates_are_the_ones_they_always_had() {
    let sandbox = with_fixtures();
    let mut compared = 0;
    for (path, _) in states() {
        let state = path.file_name().unwrap().to_str().unwrap().to_owned();
        let stem = state.strip_suffix(".json").unwrap();
        for (report, option) in [(format!("{stem}.md"), None), (format!("{stem}.verbose.md"), Some("-v"))] {
            if !path.with_file_name(&report).exists() {
                continue;
            }
            compared += 1;
            let finished = sandbox.run(["report", "-d", &state].into_iter().chain(option)).expect_code(0);
            assert_eq!(finished.stderr, "");
            assert!(finished.stdout == fixture(&report), "{report} differs:\n{}", finished.stdout);
        }
    }
    assert_eq!(compared, 3);
}

#[test]
fn an_ending_that_means_nothing_is_an_error() {
    let sandbox = with_fixtures();
    for name in ["report.pdf", "r.md.bak"] {
        let refused = sandbox.run(["report", "-d", "simple.json", "-o", name]).expect_code(2);
        let says = format!("cannot be `{name}`: use one of the extensions .md, .markdown, .txt");
        assert!(refused.stderr.contains(&says) && refused.stderr.contains("--output"), "{refused}");
        assert!(!sandbox.directory().join(name).exists());
    }
    let refused = sandbox.run(["report", "-d", "simple.json", "--format", "sarif"]).expect_code(2);
    assert!(refused.stderr.starts_with("error: `sarif` is a review format, but"), "{refused}");
    // A form that is named needs no ending that means it.
    sandbox.run(["report", "-d", "simple.json", "-o", "0001.decision", "--format", "adr"]).expect_code(0);
    let record = sandbox.read("0001.decision");
    assert!(record.starts_with("---\nstatus: proposed\n"));
    let again = ["report", "-d", "simple.json", "-o", "0001.decision", "--format", "adr"];
    let write = |text: &str| std::fs::write(sandbox.directory().join("0001.decision"), text).unwrap();
    write(&record.replace('\n', "\r\n"));
    sandbox.run(again).expect_code(0);
    for edited in [record.replace("status: proposed", "status: accepted"), record + "\nMore.\n", "Ours.".to_owned()] {
        write(&edited);
        sandbox.run(again).expect_code(2).says(["0001.decision was edited, or is not a decision record"]);
        assert_eq!(sandbox.read("0001.decision"), edited);
    }
    sandbox.run([&again[..], &["--force"]].concat()).expect_code(0);
    let named = sandbox.run(["report", "-d", "simple.json", "-o", "plain"]).expect_code(0);
    assert_eq!((named.stderr.as_str(), sandbox.read("plain")), ("Generated report: plain\n", fixture("simple.md")));
}

#[test]
fn a_page_is_opened_where_there_is_a_display() {
    let sandbox = with_fixtures();
    let hidden = sandbox.run(["report", "-d", "simple.json", "--open"]).expect_code(0);
    assert!(hidden.stderr.starts_with("Generated report: simple.html\nwarning: cannot open the page: "), "{hidden}");
    let path = std::fs::canonicalize(sandbox.directory().join("simple.html")).unwrap();
    assert!(hidden.stderr.contains("neither DISPLAY nor WAYLAND_DISPLAY is set"), "{hidden}");
    assert!(hidden.stderr.ends_with(&format!("the page is saved as {}\n", path.display())), "{hidden}");
    for arguments in [&["--format", "adr"][..], &["-o", "x.md"]] {
        let refused = sandbox.run([&["report", "-d", "simple.json", "--open"], arguments].concat()).expect_code(2);
        assert!(refused.stderr.contains("--open needs an HTML report"), "{refused}");
    }
    // A browser that says what it was given.
    let script = format!("#!/bin/sh\nprintf '%s' \"$1\" > '{}'\n", sandbox.directory().join("opened").display());
    let sandbox = sandbox.file("browser", script);
    let browser = sandbox.directory().join("browser");
    std::fs::set_permissions(&browser, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let sandbox = sandbox.env("BROWSER", &browser.display().to_string());
    let shown = sandbox.run(["report", "-d", "simple.json", "--open", "-o", "page.html"]).expect_code(0);
    assert_eq!(shown.stderr, "Generated report: page.html\n");
    let (opened, page) = (sandbox.directory().join("opened"), sandbox.directory().join("page.html"));
    let page = std::fs::canonicalize(page).unwrap().display().to_string();
    wait_until("the page is opened", || std::fs::read_to_string(&opened).is_ok_and(|path| path == page));
}

#[test]
fn the_time_is_local() {
    let finished = with_fixtures().env("TZ", "JST-9").run(["report", "--debate", "simple.json"]).expect_code(0);
    assert_eq!(finished.stdout.lines().nth(1), Some("Time: 2026-11-21 04:16:38"));
}

#[test]
fn a_configuration_that_is_not_there_says_nothing() {
    let finished = with_fixtures().run(["report", "-d", "simple.json", "-c", "none.json"]).expect_code(0);
    assert_eq!(finished.stdout, fixture("simple.md"));
    let warning = "warning: Config not found at none.json. Using the debate's own settings.\n";
    assert_eq!(finished.stderr, warning);
    let broken =
        with_fixtures().file("c.json", "{").run(["report", "-d", "simple.json", "-c", "c.json"]).expect_code(4);
    assert_eq!(broken.stdout, "");
}

#[test]
fn a_report_goes_to_a_file_in_a_directory_that_is_made() {
    let sandbox = with_fixtures();
    let finished = sandbox.run(["report", "-d", "simple.json", "-v", "-o", "new/place/report.txt"]).expect_code(0);
    assert_eq!((&*finished.stdout, &*finished.stderr), ("", "Generated report: new/place/report.txt\n"));
    assert_eq!(sandbox.read("new/place/report.txt"), fixture("simple.verbose.md"));
    let page = sandbox.run(["report", "-d", "simple.json", "-o", "page.HTML"]).expect_code(0);
    assert_eq!((&*page.stdout, &*page.stderr), ("", "Generated report: page.HTML\n"));
    assert!(!sandbox.read("page.HTML").starts_with("# Debate"), "a page is no Markdown");
    let state = sandbox.run(["report", "-d", "simple.json", "-o", "again.json"]).expect_code(0);
    assert_eq!(state.stderr, "Generated report: again.json\n");
    assert!(serde_json::from_str::<Value>(&sandbox.read("again.json")).unwrap()["rounds"].is_array());
    let refused = sandbox.run(["report", "-d", "simple.json", "-o", "new"]).expect_code(1);
    assert!(refused.stderr.starts_with("error: cannot write new\n"), "{refused}");
}

#[test]
fn what_is_no_debate_is_refused_by_name() {
    let sandbox = Sandbox::new().file("directory/x", "").file("text.json", "Design a queue");
    let mut rounds = state();
    rounds["rounds"] = json!({});
    sandbox.write("rounds.json", rounds.to_string());
    sandbox.write("latin1.json", b"{\"id\": \"gr\xfc\xdfe\"}");
    sandbox.write("cut.json", &state().to_string()[..60]);
    let before = sandbox.files();
    for (name, says) in [
        ("none.json", &["cannot read the debate none.json", "No such file"][..]),
        ("directory", &["the debate directory is a directory"]),
        ("text.json", &["text.json is not a saved debate", "line 1 column 1"]),
        ("rounds.json", &["at `rounds`"]),
        ("latin1.json", &["latin1.json is not a saved debate", "line 1 column 11"]),
        ("cut.json", &["cut.json is not a saved debate", "EOF"]),
        ("deb-20250101", &["there is no debate `deb-20250101`", "dialectic list"]),
        ("latest", &["there is no debate `latest`"]),
    ] {
        let finished = sandbox.run(["report", "-d", name, "-o", "report.md"]).expect_code(2);
        assert_eq!(finished.stdout, "", "{finished}");
        finished.says(says);
    }
    sandbox.run(["report"]).expect_code(2).says(["there is no debate `latest`"]);
    assert!(sandbox.files() == before, "nothing is written");
}

#[test]
fn a_report_does_not_replace_the_debate() {
    let sandbox = with_fixtures().file("simple.events.jsonl", "");
    let before = sandbox.files();
    for output in ["./simple.json", "simple.events.jsonl"] {
        let refused = sandbox.run(["report", "-d", "simple.json", "-o", output]).expect_code(2);
        assert!(refused.stderr.contains("--output must not be one of the debate's own files"), "{refused}");
    }
    assert!(sandbox.files() == before);
}

/// A debate in which much happened: an agent fails, a score is unreadable.
fn eventful(server: &MockServer) -> Sandbox {
    server.set_script(move |request| match (request.purpose, request.model()) {
        (Purpose::Confidence, _) => Reply::text("certainly"),
        (Purpose::Critique, "model-kiss") => Reply::error(400, "no <b>critiques</b> | here"),
        (Purpose::Refine, model) => Reply::text(format!("Refined by {model}.")),
        _ => short_reply(request),
    });
    let debate = json!({"rounds": 1, "terminationCondition": {"type": "quality", "threshold": 90}});
    let mut settings = config(&["architect", "kiss"], &debate);
    settings["prices"] = json!({"model-kiss": {"inputPerMTok": 1000.0, "outputPerMTok": 2000.0}});
    Sandbox::new().model_server(server).config(&settings)
}

#[test]
fn how_a_debate_went_stands_behind_the_judge() {
    let server = MockServer::with(short_reply);
    let sandbox = eventful(&server);
    sandbox.run(["debate", "Design a queue", "--quiet"]).expect_code(0);
    let report = sandbox.run(["report", "-d", "latest"]).expect_code(0).stdout;
    let (_, after_judge) = report.split_once("\n## Judge\n").unwrap();
    let (before, _) = after_judge.split_once("\n## Rounds\n").unwrap();
    let (_, run) = before.split_once("\n## Run\n").unwrap();
    let _redacted = redactions().bind_to_scope();
    insta::assert_snapshot!(run, @r"
    - Run: incomplete
      - agent-kiss failed in the critique of agent-architect of round 1: the request was refused (400): no \<b>critiques\</b> | here
      - the quality score of round 1 could not be read
    - Check of the answer: not checked
    - Protocol: dialectic
    - Rounds: 1 of 1
    - Duration: [time]

    ### Usage

    | Model | Calls | Input tokens | Of these cached | Output tokens | Cost |
    | --- | ---: | ---: | ---: | ---: | ---: |
    | model-architect | 3 | 300 | 0 | 60 | unknown |
    | model-judge | 3 | 300 | 0 | 60 | unknown |
    | model-kiss | 2 | 200 | 0 | 40 | $0.2800 |
    | all models | 8 | 800 | 0 | 160 | unknown |

    ### Scores

    | Round | Type | Score | Threshold |
    | ---: | --- | ---: | ---: |
    | 1 | quality | could not be read | 90 |

    ### Failures

    | Agent | Call | Round | Attempts | Error |
    | --- | --- | ---: | ---: | --- |
    | agent-kiss | critique of agent-architect | 1 | 1 | the request was refused (400): no \<b>critiques\</b> \| here |
    ");
}

#[test]
fn a_debate_that_was_killed_is_reported_by_its_journal() {
    let (sandbox, id) = debated();
    let (state, journal) = (format!("debates/{id}.json"), format!("debates/{id}.events.jsonl"));
    let report = || sandbox.run(["report", "-d", &id]).expect_code(0);
    let whole = report();
    assert_eq!(whole.stderr, "");
    let lines = sandbox.journal(&id);
    let behind_proposals = lines.iter().rposition(|line| line.contains(r#""type":"proposal""#)).unwrap() + 1;
    let mut behind = sandbox.state(&id);
    for key in ["finalSolution", "outcome", "usage"] {
        behind.as_object_mut().unwrap().remove(key);
    }
    (behind["status"], behind["rounds"]) = (json!("running"), json!([]));
    sandbox.write(&state, behind.to_string());

    // The journal is ahead of the state file, up to its end.
    assert_eq!(report().stdout, whole.stdout);
    sandbox.write(&journal, lines[..behind_proposals].join("\n") + "\n{\"seq\":");
    let cut = report();
    assert_eq!(cut.stderr, "warning: ignoring the incomplete last line of the journal, left by a crash\n");
    assert_eq!(cut.stdout.matches("\nAgent *agent-").count(), 3, "{cut}");
    assert!(cut.stdout.contains("- Status: running\n") && cut.stdout.contains("There is no answer."), "{cut}");

    // It is damaged: the state file is what is left.
    sandbox.write(&journal, lines.join("\n").replacen("Design a queue", "Design a stack", 1) + "\n");
    let damaged = report();
    assert!(damaged.stderr.starts_with("warning: line 1 of the journal"), "{damaged}");
    assert!(damaged.stdout.starts_with("# Debate: Design a queue\n") && damaged.stdout.contains("No rounds yet."));

    // It is another debate's.
    sandbox.write(&journal, lines.join("\n") + "\n");
    behind["id"] = json!("deb-20250101-010203-ab12");
    sandbox.write(&state, behind.to_string());
    assert!(report().stderr.contains("belongs to another debate"));

    // There is no state file yet.
    std::fs::remove_file(sandbox.directory().join(&state)).unwrap();
    assert_eq!(report().stdout, whole.stdout);
    sandbox.write(&journal, "");
    sandbox.run(["report", "-d", &id]).expect_code(1).says(["does not contain a valid debate"]);
}

#[test]
fn the_journal_of_a_finished_debate_is_left_alone() {
    let sandbox =
        Sandbox::new().file("debates/a.json", state().to_string()).file("debates/a.events.jsonl", "damaged\n");
    assert_eq!(sandbox.run(["report", "-d", "a"]).expect_code(0).stderr, "");
    let page = sandbox.run(["report", "-d", "a", "-o", "a.html"]).expect_code(0);
    assert_eq!(page.stderr, "Generated report: a.html\n");
}

/// A debate whose report is more than a pipe holds.
fn long_state() -> String {
    let said =
        json!({"agentId": "a", "agentRole": "kiss", "type": "proposal", "content": "Use a queue.\n".repeat(50_000)});
    let mut state = state();
    state["rounds"] = json!([{"roundNumber": 1, "contributions": [said]}]);
    state.to_string()
}

#[test]
fn whoever_stops_reading_ends_the_program_quietly() {
    let sandbox = Sandbox::new().file("long.json", long_state());
    let mut command = sandbox.command(["report", "-d", "long.json"]);
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn on_a_terminal_a_report_is_rendered() {
    let mut state = state();
    state["rounds"] = json!([{"roundNumber": 1, "contributions": [
        {"agentId": "a_b", "agentRole": "kiss", "type": "proposal", "content": "```rust\nlet x;\n```\n\n## Mine"},
        {"agentId": "a_b", "agentRole": "kiss", "type": "critique", "content": "No.", "targetAgentId": "*c"},
    ]}]);
    let sandbox = Sandbox::new().file("s.json", state.to_string());
    let (_, screen) = Terminal::start(&sandbox, ["report", "-d", "s.json"]).expect_code(0);
    let shown = screen.text();
    for line in ["▸ Round 1", "▹ Proposals", "Agent a_b:", "  let x;", "  ## Mine", "a_b → *c:", "  No."] {
        assert!(shown.lines().any(|shown| shown == line), "{line}: {shown}");
    }
}

#[test]
fn no_report_shows_attachments_tools_or_paths_of_the_machine() {
    let server = MockServer::with(|request: &Incoming| {
        let is_architect = request.purpose == Purpose::Propose && request.model() == "model-architect";
        if is_architect && request.tool_results().is_empty() {
            return Reply::tool_calls([("file_read", json!({"path": "MARK-ARGUMENT.md"}))]);
        }
        short_reply(request)
    });
    let mut configured = config(&["architect", "kiss"], &json!({}));
    configured["agents"][0]["tools"] = json!([{"name": "file_read"}]);
    configured["agents"][1]["systemPromptPath"] = json!("MARK-PROMPT.md");
    let sandbox = Sandbox::new()
        .model_server(&server)
        .config(&configured)
        .file("MARK-PROMPT.md", "You write a word.")
        .file("MARK-CONTEXT/MARK-ARGUMENT.md", "MARK-RESULT")
        .file("MARK-ATTACHED.md", "MARK-TEXT");
    let debate = ["debate", "Design a queue", "--quiet", "--context", "MARK-CONTEXT", "--attach", "MARK-ATTACHED.md"];
    sandbox.run(debate).expect_code(0);
    let written = |arguments: &[&str], name: &str| {
        sandbox.run([&["report", "latest", "-o", name], arguments].concat()).expect_code(0);
        sandbox.read(name)
    };
    let root = sandbox.directory().file_name().unwrap().to_str().unwrap().to_owned();
    let state = sandbox.read(format!("debates/{}.json", sandbox.only_debate()));
    let marks = ["MARK-ARGUMENT", "MARK-RESULT", "MARK-PROMPT", "MARK-CONTEXT", "MARK-ATTACHED", "MARK-TEXT", &root];
    assert_eq!(marks.map(|mark| state.contains(mark)), [true; 7], "what the record lacks cannot be shown");
    for (arguments, name) in [
        (&["-c", "debate-config.json"][..], "page.html"),
        (&["-v", "-c", "debate-config.json"], "report.md"),
        (&["--format", "adr"], "record.md"),
        (&[], "state.json"),
    ] {
        let report = written(arguments, name);
        assert!(!report.contains("MARK-") && !report.contains(&root), "{name}:\n{report}");
    }
}
