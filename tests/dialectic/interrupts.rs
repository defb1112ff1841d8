//! An interrupt at any moment leaves the terminal as it was.

use std::net::TcpListener;
use std::time::Duration;

use nix::sys::signal::Signal;
use serde_json::json;

use crate::support::{
    Incoming, MockServer, Purpose, Reply, Sandbox, Terminal, config, short_reply, spread, two_agents, wait_until,
};

/// How a debate is interrupted.
#[derive(Debug, Clone, Copy)]
enum By {
    /// As a person does.
    Key,
    Signal(Signal),
}

const ALL: [By; 4] = [By::Key, By::Signal(Signal::SIGINT), By::Signal(Signal::SIGTERM), By::Signal(Signal::SIGHUP)];

/// Whether programs that these tests start hear that the terminal is gone. What `nohup` starts hands on that it does not.
fn hears_hangups() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap();
    u64::from_str_radix(ignored.trim(), 16).unwrap() & 1 == 0
}

fn interrupt(terminal: &mut Terminal, by: By) {
    match by {
        By::Key => terminal.type_control('c'),
        By::Signal(signal) => terminal.signal(signal),
    }
}

fn sandbox(server: &MockServer) -> Sandbox {
    two_agents(server, &json!({"maxRetries": 2}))
}

/// Interrupts a debate when `moment` shows, and holds it to what has to be left.
fn assert_leaves_nothing(place: usize, script: fn(&Incoming) -> Reply, arguments: &[&str], moment: &[&str]) {
    for by in spread(ALL.len(), 2, place).map(|place| ALL[place]) {
        if matches!(by, By::Signal(Signal::SIGHUP)) && !hears_hangups() {
            continue;
        }
        let server = MockServer::with(script);
        let sandbox = sandbox(&server);
        let mut terminal = Terminal::start(&sandbox, ["debate", "Design a queue"].iter().chain(arguments));
        for text in moment {
            terminal.wait_for(text);
        }
        interrupt(&mut terminal, by);
        let (_, screen) = terminal.expect_code(130);
        let id = sandbox.only_debate();
        let shown = screen.text();
        let end = format!(
            "Saved debate to ./debates/{id}.json\nerror: interrupted; the debate {id} is saved as paused\n\
             hint: continue with: dialectic resume {id}"
        );
        assert!(shown.ends_with(&end), "{by:?}: {shown}");
        for part in ["? for keys", "The architect proposing", "words", "retry"] {
            assert!(!shown.contains(part), "{by:?}: {shown}");
        }
        sandbox.assert_state_is_the_fold(&id);
        assert_eq!(sandbox.state(&id)["status"], "paused");
        // Whoever was answering was left.
        let is_left = || server.exchanges().iter().all(|exchange| exchange.ended.is_some());
        wait_until("whoever was answering is left", is_left);
    }
}

/// The shell and the system may both say that the terminal has gone; what `nohup` starts does not care.
#[test]
fn the_end_of_the_terminal_pauses_a_debate_unless_it_was_to_outlive_it() {
    if !hears_hangups() {
        eprintln!("skipped: SIGHUP is ignored here");
        return;
    }
    let (server, gate) = MockServer::held(short_reply, |request| request.purpose == Purpose::Critique);
    let here = sandbox(&server);
    let running = here.spawn(["debate", "Design a queue"]);
    server.wait_for_requests(4);
    running.signal(Signal::SIGHUP);
    running.signal(Signal::SIGHUP);
    running.wait().expect_code(130).says(["is saved as paused"]);
    let id = here.only_debate();
    assert_eq!(here.state(&id)["status"], "paused");
    here.assert_state_is_the_fold(&id);
    let before = server.requests().len();
    let there = sandbox(&server);
    let program = there.command(["debate", "Design a queue"]);
    let mut command = std::process::Command::new("sh");
    command.args(["-c", "trap '' HUP; exec \"$0\" \"$@\""]).arg(program.get_program()).args(program.get_args());
    command.current_dir(there.directory()).env_clear();
    command.envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let (stdin, quiet) = (std::process::Stdio::null(), std::process::Stdio::null);
    let mut child = command.stdin(stdin).stdout(quiet()).stderr(quiet()).spawn().unwrap();
    server.wait_for_requests(before + 4);
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(child.id().cast_signed()), Signal::SIGHUP).unwrap();
    gate.open();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_eq!(there.state(&there.only_debate())["status"], "completed");
}

/// Two questions of the architect.
fn curious(request: &Incoming) -> Reply {
    match (request.purpose, request.model()) {
        (Purpose::Clarify, "model-architect") => {
            Reply::json(json!({"questions": [{"id": "a", "text": "How many?"}, {"id": "b", "text": "How fast?"}]}))
        }
        _ => short_reply(request),
    }
}

#[test]
fn at_any_moment_of_a_debate() {
    type Script = fn(&Incoming) -> Reply;
    let moments: [(Script, &[&str], &[&str]); 6] = [
        // Before anything is answered, while words come in, and while a stream is silent.
        (|_| Reply::hang(), &[], &["The kiss"]),
        (|_| Reply::text("and so on ".repeat(2_000)).paced(Duration::from_millis(10)), &[], &["words · ", "so on"]),
        (|request| short_reply(request).silent(), &[], &["The kiss", "word"]),
        // While a call waits for its retry.
        (|_| Reply::error(429, "slow down").header("retry-after", "60"), &[], &["retry 1 in "]),
        // While questions are looked for, and while one waits.
        (|_| Reply::hang(), &["--clarify"], &["looking for questions"]),
        (curious, &["--clarify"], &["Question 1 of 2", "How many?", "Answer"]),
    ];
    std::thread::scope(|scope| {
        for (place, (script, arguments, moment)) in moments.into_iter().enumerate() {
            scope.spawn(move || assert_leaves_nothing(place, script, arguments, moment));
        }
    });
}

#[test]
fn a_second_one_ends_the_program_at_once() {
    // Takes connections and never answers.
    let collector = TcpListener::bind("127.0.0.1:0").unwrap();
    let server = MockServer::with(|_| Reply::hang());
    let config = config(&["architect", "kiss"], &json!({"trace": "otlp"}));
    let address = format!("http://{}", collector.local_addr().unwrap());
    let sandbox = Sandbox::new().model_server(&server).config(&config).env("OTEL_EXPORTER_OTLP_ENDPOINT", &address);
    let mut terminal = Terminal::start(&sandbox, ["debate", "Design a queue"]);
    terminal.wait_for("The kiss");
    terminal.type_control('c');
    // All is said and saved; what the program waits for now is the collector, which never answers.
    terminal.wait_for("Saved debate to");
    terminal.type_control('c');
    let (output, _) = terminal.expect_code(130);
    assert!(!output.contains("error:"), "it waited for the collector: {output}");
}
