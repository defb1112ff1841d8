//! `dialectic debate`: where the problem comes from, and what goes to which stream or file.

use serde_json::{Value, json};

use crate::support::{
    Debated, Finished, Incoming, MockServer, Purpose, Reply, config, redactions, sandbox, short_reply,
};

/// The answer of the debates here.
const SOLUTION: &str = "## Queue\n\nKeep the order.";

fn reply(request: &Incoming) -> Reply {
    match request.purpose {
        Purpose::Synthesize => Reply::json(json!({
            "solutionMarkdown": SOLUTION, "tradeoffs": ["Space for time"], "recommendations": [],
            "unfulfilledMajorRequirements": [], "openQuestions": ["How many?"], "confidence": 82,
        })),
        _ => short_reply(request),
    }
}

/// What is printed of it, whatever is said beside it.
fn assert_prints_the_solution(finished: &Finished) {
    insta::allow_duplicates! {
        insta::assert_snapshot!(finished.stdout, @"
        ## Queue

        Keep the order.

        ---

        ## Judge Assessment

        **Confidence Score**: 82/100

        ### What Remains of the Objections

        By the judge's ruling, of 2 points: 2 not ruled.

        - 1.1 (minor), not ruled: Replica latency journal partition failure journal.
        - 2.1 (minor), not ruled: Snapshot worker index request quorum batch.

        ### Open Questions

        - How many?

        ### Trade-offs

        - Space for time
            ");
    }
    assert_no_escape(finished);
}

fn assert_no_escape(finished: &Finished) {
    assert!(!finished.stdout.contains('\x1b') && !finished.stderr.contains('\x1b'), "{finished:?}");
}

#[test]
fn without_a_terminal_the_solution_is_printed_and_progress_is_plain_lines() {
    let settings = config(&["architect", "kiss"], &json!({"maxConcurrency": 1}));
    let Debated { finished, id, .. } = Debated::with(&settings, reply);
    assert_prints_the_solution(&finished);
    let _redacted = redactions().bind_to_scope();
    insta::assert_snapshot!(finished.stderr.replace(&id, "[id]"), @r#"
    7 calls, of unknown cost (no price is known for model-architect and 2 more)
    round 1/1: proposals started (2 expected)
    round 1/1: critiques started (2 expected)
    round 1/1: proposals ended: 2 of 2, cost unknown so far
    round 1/1: refinements started (2 expected)
    round 1/1: critiques ended: 2 of 2, cost unknown so far
    round 1/1: refinements ended: 2 of 2, cost unknown so far
    round 1/1: 2 points · 2 open
    synthesis started (1 expected)
    synthesis ended: 1 of 1, cost unknown so far
    Saved debate to ./debates/[id].json
    Run: complete
    Answer: every major requirement met, nothing major open
    Design a queue: Keep the order.
    Strongest open objection (2.1, minor), The architect on The kiss: “Snapshot worker index request quorum batch.”
    Next: dialectic show [id] points · dialectic ask [id] "Why not …?" · dialectic report [id] --open
    "#);
}

#[test]
fn quiet_leaves_the_notice_and_nothing_of_the_progress() {
    let server = MockServer::with(reply);
    let sandbox = sandbox(&server);
    let finished = sandbox.run(["debate", "Design a queue", "--quiet"]).expect_code(0);
    assert_prints_the_solution(&finished);
    insta::assert_snapshot!(finished.stderr.replace(&sandbox.only_debate(), "[id]"), @"
    7 calls, of unknown cost (no price is known for model-architect and 2 more)
    Saved debate to ./debates/[id].json
    ");
}

#[test]
fn verbose_shows_who_takes_part_and_what_each_call_took() {
    let server = MockServer::with(|request| reply(request).usage(1000, 0, 200));
    let sandbox = sandbox(&server);
    let finished = sandbox.run(["debate", "Design a queue", "--quiet", "-v"]).expect_code(0);
    assert_prints_the_solution(&finished);
    let _redacted = redactions().bind_to_scope();
    insta::assert_snapshot!(finished.stderr.replace(&sandbox.only_debate(), "[id]"), @r"
    7 calls, of unknown cost (no price is known for model-architect and 2 more)
    Name         Id               Role        Model            Provider  Temperature
    The          agent-architect  architect   model-architect  openai            0.5
    architect
    The kiss     agent-kiss       kiss        model-kiss       openai            0.5
    The          judge            generalist  model-judge      openai            0.5
    generalist                    (judge)

    Prompt of                 Source
    The architect             built-in
    The kiss                  built-in
    The generalist            built-in
    The generalist (summary)  built-in

    Round 1
    Who            What                             Tokens   Time
    The architect  proposal                   1,200 tokens  [time]
    The kiss       proposal                   1,200 tokens  [time]
    The architect  critique of The kiss       1,200 tokens  [time]
    The kiss       critique of The architect  1,200 tokens  [time]
    The architect  refinement                 1,200 tokens  [time]
    The kiss       refinement                 1,200 tokens  [time]

    Totals
    Model            Calls  Input tokens  Of these cached  Output tokens     Cost
    model-architect      3         3,000                0            600  unknown
    model-judge          1         1,000                0            200  unknown
    model-kiss           3         3,000                0            600  unknown
    all models           7         7,000                0          1,400  unknown
    - Protocol: dialectic
    - Rounds: 1 of 1
    - Duration: [time]
    - Run: complete
    - Check of the answer: not checked

    Saved debate to ./debates/[id].json
    ");
}

#[test]
fn an_output_file_gets_the_state_as_json_or_the_solution_as_text() {
    let server = MockServer::with(reply);
    let sandbox = sandbox(&server);
    let finished = sandbox.run(["debate", "Design a queue", "-o", "out/x.json", "--quiet"]).expect_code(0);
    insta::assert_snapshot!(finished, @"
    exit: 0
    --- stdout

    --- stderr
    7 calls, of unknown cost (no price is known for model-architect and 2 more)
    Saved debate to ./debates/[id].json
    Wrote the result to out/x.json
    ");
    let state = sandbox.state(&sandbox.only_debate());
    // How far the journal goes concerns the file beside it.
    let mut written = state.clone();
    written.as_object_mut().unwrap().remove("journal");
    assert_eq!(serde_json::from_str::<Value>(&sandbox.read("out/x.json")).unwrap(), written);
    let finished = sandbox.run(["debate", "Design a queue", "--output", "x.md", "--quiet"]).expect_code(0);
    assert_eq!(finished.stdout, "");
    assert_eq!(sandbox.read("x.md"), state["finalSolution"]["description"].as_str().unwrap());
}

#[test]
fn the_event_stream_is_json_line_by_line() {
    let server = MockServer::with(reply);
    let sandbox = sandbox(&server);
    let finished = sandbox.run(["debate", "Design a queue", "--events", "-"]).expect_code(0);
    assert_no_escape(&finished);
    let types: Vec<String> = finished.stdout.lines().map(kind_of).collect();
    for kind in ["call-started", "call-ended", "phase-started", "phase-ended", "created", "contributed", "completed"] {
        assert!(types.iter().any(|have| have == kind), "no {kind} among {types:?}");
    }
    // What is recorded goes out in the order of the journal.
    let recorded: Vec<Value> = finished.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let sequence: Vec<u64> = recorded.iter().filter_map(|signal| signal["seq"].as_u64()).collect();
    let journal = sandbox.journal(&sandbox.only_debate()).len() as u64;
    assert_eq!(sequence, (1..=journal).collect::<Vec<_>>());

    let finished = sandbox.run(["debate", "Design a queue", "--events", "new/events.jsonl", "--quiet"]).expect_code(0);
    assert!(finished.stdout.starts_with(SOLUTION), "{finished}");
    let written = sandbox.read("new/events.jsonl");
    assert_eq!(written.lines().map(kind_of).filter(|kind| kind == "call-ended").count(), 7);
}

fn kind_of(line: &str) -> String {
    let signal: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
    let kind = if signal["signal"] == "recorded" { &signal["type"] } else { &signal["signal"] };
    kind.as_str().unwrap_or_else(|| panic!("of no kind: {line}")).to_owned()
}

#[test]
fn the_problem_comes_from_the_command_line_a_file_or_standard_input_word_for_word() {
    let problem = "Entwirf eine Warteschlange:\n\n- \"schnell\" & <sicher>\n- {{ nichts }} $HOME 🙂\n";
    let server = MockServer::with(reply);
    let with_mark = [b"\xef\xbb\xbf", problem.as_bytes()].concat();
    let cases: [(&[&str], &[u8]); 4] = [
        (&["debate", problem], b""),
        (&["debate", "-"], &with_mark),
        (&["debate", "-p", "with-mark.md"], b""),
        (&["debate", "--problemDescription", "problem.md"], b""),
    ];
    for (arguments, input) in cases {
        let sandbox = sandbox(&server).file("problem.md", problem).file("with-mark.md", &with_mark);
        let finished = sandbox.run_with_input(arguments, input).expect_code(0);
        assert_eq!(sandbox.state(&sandbox.only_debate())["problem"], problem, "{arguments:?}: {finished}");
    }
    for request in server.requests() {
        assert!(request.text().contains(problem.trim_end()), "{}", request.text());
    }
    server.assert_clean();
}

#[test]
fn a_reader_that_goes_away_ends_the_program_quietly() {
    let server = MockServer::with(reply);
    let sandbox = sandbox(&server);
    for stream in [&["--quiet"][..], &["--quiet", "--events", "-"]] {
        let mut command = sandbox.command(["debate", "Design a queue"]);
        command.args(stream).stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
        let mut child = command.spawn().unwrap();
        drop(child.stdout.take());
        let finished = child.wait_with_output().unwrap();
        let stderr = String::from_utf8(finished.stderr).unwrap();
        assert!(!stderr.contains("error") && !stderr.contains("panicked"), "{stderr}");
    }
}

#[test]
fn colour_is_for_terminals_unless_it_is_asked_for() {
    let server = MockServer::with(reply);
    let sandbox = sandbox(&server);
    let failing = ["debate", "Design a queue", "--rounds", "1", "-c", "nowhere/x.json", "--context", "nowhere"];
    assert_no_escape(&sandbox.run(failing).expect_code(2));
    assert_no_escape(&sandbox.run(failing.into_iter().chain(["--color", "never"])).expect_code(2));
    let coloured = sandbox.run(failing.into_iter().chain(["--color", "always"])).expect_code(2);
    assert!(coloured.stderr.contains("\x1b["), "{coloured:?}");
}
