//! `dialectic replay`: a past debate is shown again, through the same display.

use nix::sys::signal::Signal;
use serde_json::{Value, json};

use crate::support::{
    Finished, Incoming, MockServer, Purpose, Reply, Sandbox, Terminal, config, default_reply, redactions,
};

/// Everything that a display can be told of: questions, summaries, scores, ballots, failures.
fn reply(request: &Incoming) -> Reply {
    match (request.purpose, request.model()) {
        // Whole, as the schema has it: else the program learns that this API heeds none, and takes the other one.
        (Purpose::Confidence, _) => Reply::json(json!({"reason": "Half of it.", "confidence": 50})),
        (Purpose::Critique, "model-kiss") => Reply::error(400, "no"),
        (Purpose::Synthesize, _) => Reply::json(json!({
            "solutionMarkdown": "Use a ring.", "tradeoffs": [], "recommendations": [],
            "unfulfilledMajorRequirements": [], "openQuestions": [], "confidence": 70,
        })),
        _ => default_reply(request),
    }
    .usage(100, 0, 10)
}

fn debate(server: &MockServer) -> (Sandbox, Finished) {
    let debate = json!({
        "rounds": 2, "summarization": {"threshold": 1500, "maxLength": 500},
        "terminationCondition": {"type": "convergence", "threshold": 90},
    });
    let sandbox = Sandbox::new().model_server(server).config(&config(&["architect", "kiss", "testing"], &debate));
    let finished = sandbox.run(["debate", "Design a queue"]).expect_code(0);
    (sandbox, finished)
}

/// The lines of progress without their times, sorted: calls that begin in the same millisecond have no order.
fn progress(finished: &Finished) -> Vec<String> {
    let is_time = |word: &&str| word.parse::<f64>().is_ok_and(|_| word.contains('.'));
    // What a debate takes is said before it, where it is kept and what to type next after it: no matter of a replay.
    let around =
        ["Saved debate", "warning: agent", "28 calls, of unknown cost", "Design a queue: ", "Strongest ", "Next: "];
    let said = finished.stderr.lines().filter(|line| !around.iter().any(|start| line.starts_with(start)));
    let mut lines: Vec<String> =
        said.map(|line| line.split(' ').filter(|word| !is_time(word)).collect::<Vec<_>>().join(" ")).collect();
    lines.sort();
    lines
}

#[test]
fn a_replay_shows_what_the_debate_showed() {
    let server = MockServer::with(reply);
    let (sandbox, live) = debate(&server);
    let (files, made) = (sandbox.files(), server.requests().len());
    let replayed = sandbox.run(["replay", "latest", "--speed", "max"]).expect_code(0);
    assert_eq!(replayed.stdout, live.stdout);
    let (live, replayed) = (progress(&live), progress(&replayed));
    assert!(live == replayed, "{live:#?}\n{replayed:#?}");
    assert!(live.iter().any(|line| line.starts_with("critique ended: 4 of 6, 2 failed")), "{live:#?}");
    assert!(sandbox.files() == files && server.requests().len() == made, "a replay is for watching");
    let quiet = sandbox.run(["replay", "latest", "--speed", "0", "--quiet"]).expect_code(0);
    assert!(!quiet.stderr.contains("round 1/2"), "{quiet}");
}

#[test]
fn the_event_stream_of_a_replay_is_that_of_the_debate() {
    let server = MockServer::with(reply);
    let (sandbox, _) = debate(&server);
    let id = sandbox.only_debate();
    let stream = sandbox.run(["replay", &id, "--speed", "max", "--events", "-", "--quiet"]).expect_code(0).stdout;
    let signals: Vec<Value> = stream.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let recorded = signals.iter().filter(|signal| signal["signal"] == "recorded").map(|signal| &signal["seq"]);
    let journal = sandbox.journal(&id);
    assert_eq!(
        recorded.collect::<Vec<_>>(),
        (1..=journal.len()).map(|seq| json!(seq)).collect::<Vec<_>>().iter().collect::<Vec<_>>()
    );
    let of = |name: &str| signals.iter().filter(|signal| signal["signal"] == name).count();
    // The trial of the other API after a refusal belongs to its call.
    let calls = server.requests().iter().filter(|request| request.path.ends_with("/responses")).count();
    assert_eq!((of("call-started"), of("call-ended")), (calls, calls));
    assert_eq!(of("phase-started"), of("phase-ended"));
    for (index, signal) in signals.iter().enumerate().filter(|(_, signal)| signal["signal"] == "call-ended") {
        let began = |other: &Value| other["signal"] == "call-started" && other["key"] == signal["key"];
        assert!(signals[..index].iter().any(began), "{signal} never began");
    }
}

#[test]
fn a_debate_that_was_not_finished_is_shown_as_far_as_it_went() {
    // One call after the other, and no critique answered: else chance would decide what is recorded, and when.
    let server = MockServer::with(|request| match request.purpose {
        Purpose::Critique => Reply::hang(),
        _ => reply(request),
    });
    let sandbox = Sandbox::new()
        .model_server(&server)
        .config(&config(&["architect", "testing", "security"], &json!({"maxConcurrency": 1})));
    let running = sandbox.spawn(["debate", "Design a queue"]);
    server.wait_for_requests(4);
    running.signal(Signal::SIGINT);
    running.wait().expect_code(130);
    let replayed = sandbox.run(["replay", "latest", "--speed", "max"]).expect_code(0);
    let last: Vec<String> = replayed.stderr.lines().rev().take(1).map(str::to_owned).collect();
    let id = sandbox.only_debate();
    assert_eq!(last, [format!("The record ends here; the debate is paused. Continue with: dialectic resume {id}")]);
    assert_eq!(replayed.stdout, "");
    // Carried on, it is shown with its pause.
    server.set_script(reply);
    sandbox.run(["resume", &id, "--quiet"]).expect_code(0);
    let replayed = sandbox.run(["replay", &id, "--speed", "max"]).expect_code(0);
    redactions().bind(|| {
        // An agent refines as soon as its critiques are in: when the first does is chance, too.
        let of_chance = ["agent-", "judge ", "refinement started"];
        // What came of it is not what is looked at here.
        let of_chance = [&of_chance[..], &["Design a queue: ", "Strongest objection", "Next: "]].concat();
        let is_certain = |line: &&str| !of_chance.iter().any(|start| line.starts_with(start));
        let told: Vec<&str> = replayed.stderr.lines().filter(is_certain).collect();
        insta::assert_snapshot!(told.join("\n"), @r"
        round 1/1 started
        proposal started (3 expected)
        proposal ended: 3 of 3
        debate resumed
        critique started (6 expected)
        critique ended: 6 of 6
        refinement ended: 3 of 3
        round 1/1: 12 points · 12 unanswered
        round 1/1 ended: 1,320 tokens, cost unknown so far
        synthesis started (1 expected)
        synthesis ended: 1 of 1
        ");
    });
}

#[test]
fn a_replay_on_a_terminal_is_the_live_block_and_can_be_interrupted() {
    let server = MockServer::with(reply);
    let (sandbox, _) = debate(&server);
    let files = sandbox.files();
    // So slowly that it never ends.
    let mut terminal = Terminal::start(&sandbox, ["replay", "latest", "--speed", "0.04"]);
    terminal.wait_for("proposals");
    terminal.type_control('c');
    let (code, output, screen) = terminal.finish();
    assert_eq!(code, 130, "{output}");
    assert!(screen.is_left_as_found(), "{output:?}");
    insta::assert_snapshot!(screen.text(), @"error: interrupted; nothing was changed");
    assert!(sandbox.files() == files, "something was written");
}

#[test]
fn what_cannot_be_replayed_is_said() {
    let old = Sandbox::new().file("old.json", &crate::fixtures::states()[0].1);
    let finished = old.run(["replay", "old.json"]).expect_code(2);
    assert!(finished.stderr.contains("has no journal: the older program kept none"), "{finished}");
    for speed in ["-1", "fast", "NaN"] {
        old.run(["replay", "old.json", &format!("--speed={speed}")]).expect_code(2);
    }
}

#[test]
fn questions_that_are_asked_again_are_counted_by_themselves() {
    let server = MockServer::with(|request| {
        // The answers to the first questions are in the prompt the second time.
        let is_clear = request.text().contains("How many of ");
        match request.purpose {
            Purpose::Clarify if is_clear => Reply::json(json!({"questions": []})),
            Purpose::Clarify => {
                Reply::json(json!({"questions": [{"id": "q1", "text": format!("How many of {}?", request.model())}]}))
            }
            _ => reply(request),
        }
    });
    let sandbox = Sandbox::new()
        .model_server(&server)
        .config(&config(&["architect", "kiss", "testing"], &json!({"clarificationsMaxIterations": 2})));
    let live = sandbox.run_with_input(["debate", "Design a queue", "--clarify"], "one\ntwo\nthree\n").expect_code(0);
    let replayed = sandbox.run(["replay", "latest", "--speed", "max"]).expect_code(0);
    let counted = |finished: &Finished| {
        let lines = finished.stderr.lines().filter(|line| line.starts_with("clarification "));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    let first = ["clarification started (3 expected)", "clarification ended: 3 of 3"];
    let second = ["clarification started (1 expected)", "clarification ended: 1 of 1"];
    assert_eq!(counted(&live), [first, second].concat());
    assert_eq!(counted(&replayed), counted(&live));
}

#[test]
fn stages_are_shown_in_the_order_in_which_they_happened() {
    let sandbox = Sandbox::new();
    let motion = ["debate", "Offices should be closed", "--offline", "--protocol", "lincoln-douglas", "-r", "2"];
    let live = sandbox.run(motion).expect_code(0);
    let replayed = sandbox.run(["replay", "latest", "--speed", "max"]).expect_code(0);
    for shown in [&live, &replayed] {
        let begun = shown.stderr.lines().filter_map(|line| line.split_once(" started (")).map(|(stage, _)| stage);
        let first: Vec<&str> = begun.take(3).collect();
        assert_eq!(first, ["opening", "cross-examination", "cross-examination-answer"], "{shown}");
    }
    let page = sandbox.run(["show", "latest"]).expect_code(0).stdout;
    assert!(page.contains("- Round 1: 2 openings, 2 cross-examinations, 2 answers"), "{page}");
    sandbox.run(["report", "-d", "latest", "-o", "report.html"]).expect_code(0);
    let report = sandbox.read("report.html");
    let legend = report.split("class=\"legend").nth(1).expect("there is a legend");
    let place = |name: &str| legend.find(name).unwrap_or_else(|| panic!("{name} is in the legend"));
    assert!(
        place("opening") < place("cross-examination")
            && place("cross-examination") < place("rebuttal").min(place("closing"))
    );
}

#[test]
fn an_audience_that_was_swayed_is_a_line() {
    let sandbox = Sandbox::new();
    let motion = ["debate", "Offices should be closed", "--offline", "--protocol", "oxford", "-r", "2"];
    let live = sandbox.run(motion).expect_code(0);
    let replayed = sandbox.run(["replay", "latest", "--speed", "max"]).expect_code(0);
    for shown in [&live, &replayed] {
        let lines: Vec<&str> = shown.stderr.lines().filter(|line| line.starts_with("polls: ")).collect();
        let [told] = lines[..] else { panic!("one line: {shown}") };
        assert!(told.contains("for ") && told.contains("against "), "{told}");
    }
}
