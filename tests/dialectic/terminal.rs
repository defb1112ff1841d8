//! A debate in a real terminal: the live block, and what is left when it has gone.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::support::{
    Gate, Incoming, MockServer, Purpose, Reply, Sandbox, Terminal, sandbox, short_reply, solved, wait_until,
};

fn reply(request: &Incoming) -> Reply {
    match request.purpose {
        Purpose::Synthesize => Reply::json(solved("## Queue\n\nKeep **the order**, and `ack`.\n\n- one\n- two", 82)),
        _ => short_reply(request),
    }
}

fn slowly(request: &Incoming) -> Reply {
    reply(request).after(Duration::from_millis(150))
}

/// What a screen shows, without what every run shows otherwise.
fn without_times(screen: &str, sandbox: &Sandbox) -> String {
    let id = sandbox.only_debate();
    let (_, short) = id.rsplit_once('-').unwrap();
    let shown = screen.replace(&id, "[id]").replace(&format!(" {short}"), " [id]");
    let parts = shown.split('\n').map(|line| {
        let parts: Vec<&str> = line.split(" · ").collect();
        let is_time = |part: &&str| part.ends_with(" s") && part.starts_with(|c: char| c.is_ascii_digit());
        let is_clock =
            |part: &&str| part.contains(':') && part.chars().all(|c| c == ':' || c.is_ascii_digit()) && part.len() < 9;
        let shown = parts.iter().map(|part| match part {
            part if is_time(part) => "[time]",
            part if is_clock(part) => "0:00",
            part => part,
        });
        shown.collect::<Vec<_>>().join(" · ")
    });
    let is_call = |line: &String| line.starts_with("✓ r") || line.starts_with("✗ r");
    // A call with the rows below it.
    let mut lines: Vec<String> = Vec::new();
    for line in parts {
        match lines.last_mut().filter(|before| is_call(before) && line.starts_with("    ")) {
            Some(call) => call.extend(["\n", &line]),
            None => lines.push(line),
        }
    }
    // Answers that take the same time come in any order.
    let mut calls: Vec<String> = lines.iter().filter(|line| is_call(line)).cloned().collect();
    calls.sort_by(|a, b| a.trim_start_matches(['✓', '✗']).cmp(b.trim_start_matches(['✓', '✗'])));
    let mut calls = calls.into_iter();
    lines.iter_mut().filter(|line| is_call(line)).for_each(|line| *line = calls.next().unwrap());
    lines.join("\n")
}

#[test]
fn the_live_block_comes_and_goes_and_the_solution_stays() {
    let server = MockServer::with(slowly);
    let sandbox = sandbox(&server);
    let mut terminal = Terminal::start(&sandbox, ["debate", "Design a queue"]);
    terminal.wait_for("proposals");
    terminal.wait_for("The architect");
    terminal.wait_for("critiques");
    terminal.wait_for("Round 1/1");
    let (output, screen) = terminal.expect_code(0);
    let shown = without_times(&screen.text(), &sandbox);
    insta::assert_snapshot!(shown, @r#"
    7 calls, of unknown cost (no price is known for model-architect and 2 more)
    ✓ r1 critique The architect (1) → The kiss (2) · [time]
        “Snapshot worker index request quorum batch.”
    ✓ r1 critique The kiss (2) → The architect (1) · [time]
        “Replica latency journal partition failure journal.”
    ✓ r1 proposal The architect (1) · [time]
        “Policy partition cache journal limit recovery.”
    ✓ r1 proposal The kiss (2) · [time] · “Failure queue schema recovery quorum boundary.”
    ✓ r1 refinement The architect (1) · [time]
        “Commit operator cursor index cluster gateway.”
    ✓ r1 refinement The kiss (2) · [time] · “Journal token gateway lease cursor budget.”
    ── Round 1/1 · 2 points · 2 open · 720 tokens · cost unknown ────────────────────────────
    ✓ r1 synthesis The generalist · [time] · “Keep the order, and ack.”
    Saved debate to ./debates/[id].json

    Queue
    ─────

    Keep the order, and ack.

    • one
    • two

    ────────────────────────────────────────────────────────────────────────────────

    Judge Assessment
    ────────────────

    Confidence: 82 % chance that it meets every major requirement, the judge estimates

    ▸ What Remains of the Objections

    By the judge's ruling, of 2 points: 2 not ruled.

    • 1.1 (minor), not ruled: Replica latency journal partition failure journal.
    • 2.1 (minor), not ruled: Snapshot worker index request quorum batch.

    ✓ Run: complete · 1 round · 7 calls · [time] · cost unknown · not checked
    ✓ Answer: every major requirement met, nothing major open
      82 % chance that it meets every major requirement, the judge estimates; nobody checked
      the answer

    Design a queue: Keep the order, and ack.
    Strongest open objection (2.1, minor), The architect on The kiss: “Snapshot worker index
    request quorum batch.”
    Next: dialectic show [id] points · dialectic ask [id] "Why not …?"
          dialectic report [id] --open
    "#);
    // Bold and colours are for terminals.
    assert!(output.contains("\x1b[1m"), "{output:?}");
}

#[test]
fn without_colour_the_screen_is_the_same() {
    let server = MockServer::with(slowly);
    let shown = |sandbox: Sandbox| {
        let (output, screen) = Terminal::start(&sandbox, ["debate", "Design a queue"]).expect_code(0);
        (without_times(&screen.text(), &sandbox), output)
    };
    let (coloured, _) = shown(sandbox(&server));
    let (plain, output) = shown(sandbox(&server).env("NO_COLOR", "1"));
    // Backticks stand for the colour of code.
    assert_eq!(plain.replace('`', ""), coloured);
    for colour in ["\x1b[1m", "\x1b[2m", "\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[36m", "\x1b[38;"] {
        assert!(!output.contains(colour), "{output:?}");
    }
}

/// In the narrowest terminal, in which the end fits too.
#[test]
fn warnings_stand_above_the_block_and_stay() {
    let server = MockServer::with(|request| {
        let refused = request.purpose == Purpose::Critique && request.model() == "model-kiss";
        if refused { Reply::error(400, "no").after(Duration::from_millis(120)) } else { slowly(request) }
    });
    let sandbox = sandbox(&server);
    let (_, screen) = Terminal::start_in(50, 60, &sandbox, ["debate", "Design a queue"]).expect_code(0);
    let shown = without_times(&screen.text(), &sandbox);
    assert!(shown.lines().all(|line| line.chars().count() <= 50), "{shown}");
    assert!(shown.contains("✗ r1 critique The kiss (2) → The architect (1)"), "{shown}");
    let (_, end) = shown.split_once("By the judge's ruling").unwrap();
    insta::assert_snapshot!(end, @r#"
    , of 1 point: 1 not ruled.

    • 2.1 (minor), not ruled: Snapshot worker index
      request quorum batch.

    ! Run: incomplete: 1 critique missing · 1 round
      6 calls · [time] · cost unknown · not checked
      agent-kiss failed in the critique of
      agent-architect of round 1: the request was
      refused (400…
      Answer: every major requirement met, nothing
      major open
      82 % chance that it meets every major
      requirement, the judge estimates; the run is
      incomplete and nobody checked the answer

    Design a queue: Keep the order, and ack.
    Strongest open objection (2.1, minor), The
    architect on The kiss: “Snapshot worker index
    request quorum batch.”
    Next: dialectic show [id] points
          dialectic ask [id] "Why not …?"
          dialectic report [id] --open
    "#);
}

#[test]
fn an_interrupt_takes_the_block_away() {
    let server = MockServer::with(|_| Reply::hang());
    let sandbox = sandbox(&server);
    let mut terminal = Terminal::start(&sandbox, ["debate", "Design a queue"]);
    terminal.wait_for("The kiss");
    terminal.type_control('c');
    let (_, screen) = terminal.expect_code(130);
    insta::assert_snapshot!(screen.text().replace(&sandbox.only_debate(), "[id]"), @"
    7 calls, of unknown cost (no price is known for model-architect and 2 more)
    Saved debate to ./debates/[id].json
    error: interrupted; the debate [id] is saved as paused
    hint: continue with: dialectic resume [id]
    ");
}

#[test]
fn quiet_and_dumb_terminals_get_no_block() {
    let server = MockServer::with(slowly);
    let (output, _) = Terminal::start(&sandbox(&server), ["debate", "Design a queue", "--quiet"]).expect_code(0);
    assert!(!output.contains("Round 1/1"), "{output:?}");
    let dumb = sandbox(&server).env("TERM", "dumb");
    let (output, _) = Terminal::start(&dumb, ["debate", "Design a queue"]).expect_code(0);
    assert!(output.contains("round 1/1: proposals started"), "{output:?}");
    assert!(!output.contains('\x1b'), "a dumb terminal shows escape codes as they are: {output:?}");
}

#[test]
fn whole_texts_are_shown_where_they_are_wanted() {
    let (server, gate) = MockServer::held(slowly, |_| true);
    let sandbox = sandbox(&server);
    let mut terminal = Terminal::start(&sandbox, ["debate", "Design a queue"]);
    terminal.wait_for("? for keys");
    terminal.type_text("v");
    // It hears the key before the first answer.
    std::thread::sleep(Duration::from_millis(500));
    gate.open();
    let (_, screen) = terminal.expect_code(0);
    let shown = without_times(&screen.text(), &sandbox);
    for call in ["r1 proposal The architect (1)", "r1 synthesis The generalist"] {
        assert!(shown.contains(&format!("✓ {call} · [time]\n\n    ")), "{call}: {shown}");
    }
}

/// A server that answers critiques when the gate is open: however slow the machine is, the debate is in its midst until then.
fn held() -> (MockServer, Gate) {
    MockServer::held(reply, |request| request.purpose == Purpose::Critique)
}

/// A debate that a key has paused while its critiques were in flight.
fn paused() -> (MockServer, Sandbox, Terminal) {
    let (server, gate) = held();
    let sandbox = sandbox(&server);
    let mut terminal = Terminal::start(&sandbox, ["debate", "Design a queue"]);
    terminal.wait_for("? for keys");
    terminal.type_text("?");
    terminal.wait_for("p pause or continue");
    server.wait_for_requests(4);
    terminal.type_text("p");
    terminal.wait_for("Pausing");
    gate.open();
    terminal.wait_for("Paused");
    (server, sandbox, terminal)
}

#[test]
fn keys_pause_the_debate_and_let_it_go_on() {
    let (server, sandbox, mut terminal) = paused();
    let id = sandbox.only_debate();
    // The journal has it when the screen says it; the state file follows, written beside the debate.
    wait_until("it is saved as paused", || sandbox.state(&id)["status"] == "paused");
    // What was in flight was paid for, and is there.
    assert_eq!(server.requests().len(), 4);
    terminal.type_text("p");
    terminal.expect_code(0);
    let (_, state) = sandbox.only_state();
    assert_eq!((&state["status"], &state["outcome"]["kind"]), (&json!("completed"), &json!("full")));
}

#[test]
fn a_key_stops_the_debate_and_closes_it() {
    let (server, gate) = held();
    let sandbox = sandbox(&server);
    let mut terminal = Terminal::start(&sandbox, ["debate", "Design a queue"]);
    terminal.wait_for("critiquing");
    // Both texts are there, with which it can close.
    server.wait_for_requests(4);
    terminal.type_text("s");
    terminal.wait_for("stopping early: the judge uses the current texts");
    gate.open();
    let (_, screen) = terminal.expect_code(0);
    assert_eq!(sandbox.state(&sandbox.only_debate())["outcome"]["kind"], "stopped");
    assert!(screen.text().contains("! Run: stopped by the user · 1 round"), "{}", screen.text());
}

#[test]
fn an_interrupt_ends_a_pause() {
    let (_server, sandbox, mut terminal) = paused();
    terminal.type_control('c');
    let (_, screen) = terminal.expect_code(130);
    assert!(screen.text().contains("is saved as paused"), "{}", screen.text());
    sandbox.run(["resume", &sandbox.only_debate(), "--quiet"]).expect_code(0);
}

#[test]
fn a_long_solution_is_paged_where_somebody_can_turn_the_page() {
    let server = MockServer::with(slowly);
    let paged = |before: &[&str], ci: &str| {
        let sandbox = before.iter().fold(sandbox(&server), |sandbox, path| sandbox.file(path, "{}"));
        let sandbox = sandbox.env("CI", ci).env("PAGER", "sed s/^/paged:/");
        let mut terminal = Terminal::start_in(80, 12, &sandbox, ["debate", "Design a queue"]);
        if ci.is_empty() {
            terminal.wait_for("Begin? [y/N]");
            terminal.type_line("y");
        }
        let (output, screen) = terminal.expect_code(0);
        assert!(output.contains("Queue"), "{output}");
        screen.text().contains("paged:Queue")
    };
    let before = ["debates/deb-20250101-000000-aaaa.json"];
    assert!(paged(&before, ""));
    assert!(!paged(&[], ""), "the first result is on the screen itself");
    assert!(!paged(&before, "true"), "nobody is there to turn the page");
}

#[test]
fn a_first_debate_can_be_watched_and_says_what_is_next() {
    let sandbox = Sandbox::new();
    let begun = Instant::now();
    let arguments = ["debate", "--offline", "--quick", "Design a queue"];
    let (_, screen) = Terminal::start(&sandbox, arguments).expect_code(0);
    assert!(begun.elapsed() > Duration::from_secs(1), "nothing of it could be seen");
    let shown = screen.text();
    assert!(shown.contains("a rehearsal; no model was called") && shown.contains("Next: dialectic show "), "{shown}");
    assert!(!shown.contains("Config not found") && !shown.contains("$0.0000"), "{shown}");
    // In a pipe it is as fast as it is, and says the same.
    let piped = Sandbox::new().run(arguments).expect_code(0);
    let last: Vec<&str> = piped.stderr.lines().rev().take(3).collect();
    assert!(last[0].starts_with("Next: dialectic show ") && last[2].starts_with("Answer: a rehearsal"), "{piped}");
    let quiet = Sandbox::new().run([&arguments[..], &["--quiet"]].concat()).expect_code(0);
    assert!(!quiet.stderr.contains("Next: "), "{quiet}");
}

#[test]
fn a_signal_to_quit_leaves_the_terminal_as_it_was() {
    let server = MockServer::with(|_| Reply::hang());
    let sandbox = sandbox(&server);
    let mut terminal = Terminal::start(&sandbox, ["debate", "Design a queue"]);
    terminal.wait_for("? for keys");
    terminal.signal(nix::sys::signal::Signal::SIGQUIT);
    terminal.expect_code(131);
}
