//! A debate in a real terminal: the live block, and what is left when it has gone.

use std::time::Duration;

use serde_json::json;

use crate::support::{Incoming, MockServer, Purpose, Reply, Sandbox, Terminal, config, short_reply};

fn reply(request: &Incoming) -> Reply {
    match request.purpose {
        Purpose::Synthesize => Reply::json(json!({
            "solutionMarkdown": "## Queue\n\nKeep **the order**, and `ack`.\n\n- one\n- two", "tradeoffs": [],
            "recommendations": [], "unfulfilledMajorRequirements": [], "openQuestions": [], "confidence": 82,
        })),
        _ => short_reply(request),
    }
}

fn slowly(request: &Incoming) -> Reply {
    reply(request).after(Duration::from_millis(150))
}

fn sandbox(server: &MockServer) -> Sandbox {
    Sandbox::new().model_server(server).config(&config(&["architect", "kiss"], &json!({})))
}

#[test]
fn the_live_block_comes_and_goes_and_the_solution_stays() {
    let server = MockServer::with(slowly);
    let sandbox = sandbox(&server);
    let mut terminal = Terminal::start(&sandbox, ["debate", "Design a queue"]);
    terminal.wait_for("Round 1/1 · proposal");
    terminal.wait_for("The architect");
    terminal.wait_for("critique");
    let (code, output, screen) = terminal.finish();
    assert_eq!(code, 0, "{output}");
    assert!(screen.is_left_as_found(), "{output:?}");
    let shown = screen.text().replace(&sandbox.only_debate(), "[id]");
    insta::assert_snapshot!(shown, @"
    Saved debate to ./debates/[id].json
    Queue

    Keep the order, and ack.

    • one
    • two

    ――――――――――――――――――――――――――――――――――――――――――――――――――――――――――――――――――――――――――――――――――――――――――

    Judge Assessment

    Confidence Score: 82/100
    ");
    // Bold and colours are for terminals.
    assert!(output.contains("\x1b[1m"), "{output:?}");
}

#[test]
fn without_colour_the_screen_is_the_same() {
    let server = MockServer::with(slowly);
    let shown = |sandbox: Sandbox, arguments: &[&str]| {
        let (code, output, screen) =
            Terminal::start(&sandbox, ["debate", "Design a queue"].iter().chain(arguments)).finish();
        assert_eq!(code, 0, "{output}");
        assert!(screen.is_left_as_found(), "{output:?}");
        (screen.text().replace(&sandbox.only_debate(), "[id]"), output)
    };
    let (coloured, _) = shown(sandbox(&server), &[]);
    for (sandbox, arguments) in
        [(sandbox(&server), &["--color", "never"][..]), (sandbox(&server).env("NO_COLOR", "1"), &[])]
    {
        let (plain, output) = shown(sandbox, arguments);
        assert_eq!(plain, coloured);
        for colour in ["\x1b[3", "\x1b[9"] {
            assert!(!output.contains(colour), "{output:?}");
        }
    }
}

#[test]
fn warnings_stand_above_the_block_and_stay() {
    let server = MockServer::with(|request| {
        let refused = request.purpose == Purpose::Critique && request.model() == "model-kiss";
        if refused { Reply::error(400, "no").after(Duration::from_millis(120)) } else { slowly(request) }
    });
    let sandbox = sandbox(&server);
    let (code, output, screen) = Terminal::start(&sandbox, ["debate", "Design a queue"]).finish();
    assert_eq!(code, 0, "{output}");
    let shown = screen.text().replace(&sandbox.only_debate(), "[id]");
    let beginning: Vec<&str> = shown.lines().take(6).collect();
    insta::assert_snapshot!(beginning.join("\n"), @"
    warning: agent-kiss failed in the critique of agent-architect: the request was refused (40
    0): no
    Saved debate to ./debates/[id].json
    Queue

    Keep the order, and ack.
    ");
}

#[test]
fn an_interrupt_takes_the_block_away() {
    let server = MockServer::with(|_| Reply::hang());
    let sandbox = sandbox(&server);
    let mut terminal = Terminal::start(&sandbox, ["debate", "Design a queue"]);
    terminal.wait_for("The kiss");
    terminal.type_control('c');
    let (code, output, screen) = terminal.finish();
    assert_eq!(code, 130, "{output}");
    assert!(screen.is_left_as_found(), "{output:?}");
    insta::assert_snapshot!(screen.text().replace(&sandbox.only_debate(), "[id]"), @"
    Saved debate to ./debates/[id].json
    error: interrupted; the debate [id] is saved as paused
    hint: go on with: dialectic resume [id]
    ");
}

#[test]
fn quiet_and_dumb_terminals_get_no_block() {
    let server = MockServer::with(slowly);
    let (code, output, screen) = Terminal::start(&sandbox(&server), ["debate", "Design a queue", "--quiet"]).finish();
    assert!(code == 0 && !output.contains("Round 1/1"), "{output:?}");
    assert!(screen.is_left_as_found(), "{output:?}");
    let dumb = sandbox(&server).env("TERM", "dumb");
    let (code, output, _) = Terminal::start(&dumb, ["debate", "Design a queue"]).finish();
    assert!(code == 0 && output.contains("round 1/1 started"), "{output:?}");
    assert!(!output.contains('\x1b'), "a dumb terminal shows escape codes as they are: {output:?}");
}
