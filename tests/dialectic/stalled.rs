//! Whoever watches a debate may stop reading: calls, state and outcome stay what they are, and Ctrl-C is heard.

use std::io::Read;
#[cfg(target_os = "linux")]
use std::os::fd::AsFd;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

use crate::support::{
    Incoming, MockServer, Purpose, Reply, Sandbox, Terminal, default_reply, sandbox, solved, two_agents, wait_until,
};
use crate::timing::without_times;

/// How often a sentence is said, so that a pipe does not hold a text. Linux lets a pipe be made small.
const LENGTH: usize = if cfg!(target_os = "linux") { 300 } else { 3_000 };

/// Texts that no pipe holds, so that whoever does not read stops the writer.
fn reply(request: &Incoming) -> Reply {
    match (request.purpose, request.model()) {
        (Purpose::Clarify, "model-kiss") if !request.text().contains("How many?") => {
            Reply::json(json!({"questions": [{"id": "q1", "text": "How many?"}]}))
        }
        (Purpose::Synthesize, _) => Reply::json(solved(&"Use a ring. ".repeat(LENGTH * 3), 70)),
        (_, "model-judge") => Reply::text("All is well."),
        (Purpose::Propose | Purpose::Critique | Purpose::Refine, model) => {
            Reply::text(format!("{model} says so. ").repeat(LENGTH))
        }
        _ => default_reply(request),
    }
}

/// A program that nobody reads. Dropped, it is killed.
struct Unread(Child);

impl Unread {
    /// With a debate, of which neither what it says nor its result is read.
    fn debate(sandbox: &Sandbox, arguments: &[&str]) -> Self {
        let mut command = sandbox.command(arguments);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        Self::start(command)
    }

    fn start(mut command: Command) -> Self {
        let child = command.spawn().expect("the program can be started");
        #[cfg(target_os = "linux")]
        for pipe in
            [child.stdout.as_ref().map(AsFd::as_fd), child.stderr.as_ref().map(AsFd::as_fd)].into_iter().flatten()
        {
            nix::fcntl::fcntl(pipe, nix::fcntl::FcntlArg::F_SETPIPE_SZ(4096)).expect("a pipe can be made small");
        }
        Self(child)
    }

    fn interrupt(&self) {
        kill(Pid::from_raw(self.0.id().cast_signed()), Signal::SIGINT).expect("it still runs");
    }

    fn has_ended(&mut self) -> bool {
        self.0.try_wait().expect("a child can be waited for").is_some()
    }

    fn code(&mut self) -> Option<i32> {
        wait_until("the program ends", || self.has_ended());
        self.0.wait().expect("a child can be waited for").code()
    }
}

impl Drop for Unread {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn status(sandbox: &Sandbox) -> Option<String> {
    Some(sandbox.state(&sandbox.debates().pop()?)["status"].as_str()?.to_owned())
}

/// What is sent, whenever it is sent. The judge's prompts are shuffled by a seed.
fn sent(server: &MockServer) -> Vec<String> {
    let of_agents = |request: &&std::sync::Arc<Incoming>| request.model() != "model-judge";
    let requests = server.requests();
    let mut sent: Vec<String> = requests.iter().filter(of_agents).map(|request| request.body.to_string()).collect();
    sent.push(format!("and {} to the judge", requests.iter().filter(|request| !of_agents(request)).count()));
    sent.sort();
    sent
}

/// The state and the requests of a debate that is read as it should be.
fn undisturbed(arguments: &[&str]) -> (Value, Vec<String>) {
    let server = MockServer::with(reply);
    let sandbox = sandbox(&server);
    sandbox.run(arguments).expect_code(0);
    (without_times(&sandbox.state(&sandbox.only_debate())), sent(&server))
}

const STREAMED: [&str; 5] = ["debate", "Design a queue", "--events", "-", "--quiet"];

#[test]
fn an_event_stream_that_nobody_reads_changes_nothing_and_is_whole_when_it_is_read() {
    let expected = undisturbed(&STREAMED);
    let server = MockServer::with(reply);
    let sandbox = sandbox(&server);
    let mut unread = Unread::debate(&sandbox, &STREAMED);
    wait_until("the debate ends", || status(&sandbox).as_deref() == Some("completed"));
    let id = sandbox.only_debate();
    assert_eq!((without_times(&sandbox.state(&id)), sent(&server)), expected);
    sandbox.assert_state_is_the_fold(&id);

    // What is unread is written now.
    assert!(!unread.has_ended());
    let mut stream = String::new();
    unread.0.stdout.take().unwrap().read_to_string(&mut stream).unwrap();
    assert_eq!(unread.code(), Some(0));
    let lines: Vec<Value> = stream.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let events = lines.iter().filter(|line| line["signal"] == "recorded");
    let journal = sandbox.events(&id);
    let seqs = |event: &Value| event["seq"].as_u64().unwrap();
    assert!(events.clone().map(seqs).eq(journal.iter().map(seqs)));
    for (told, recorded) in events.zip(&journal) {
        assert_eq!((&told["type"], &told["contribution"]), (&recorded["type"], &recorded["contribution"]));
    }
}

#[test]
fn an_interrupt_is_heard_while_nobody_reads_the_event_stream() {
    let (server, gate) = MockServer::held(reply, |request| request.purpose == Purpose::Refine);
    let sandbox = sandbox(&server);
    let mut unread = Unread::debate(&sandbox, &STREAMED);
    // Two proposals and two critiques are answered, which is more than a pipe holds.
    server.wait_for_requests(5);
    unread.interrupt();
    assert_eq!(unread.code(), Some(130));
    assert_eq!(status(&sandbox).as_deref(), Some("paused"));
    let id = sandbox.only_debate();
    sandbox.assert_state_is_the_fold(&id);
    gate.open();
    sandbox.run(["resume", &id, "--quiet"]).expect_code(0);
}

#[test]
fn an_interrupt_ends_the_wait_for_somebody_who_does_not_read_the_end() {
    for arguments in [&STREAMED[..], &["debate", "Design a queue", "--quiet"]] {
        let server = MockServer::with(reply);
        let sandbox = sandbox(&server);
        let mut unread = Unread::debate(&sandbox, arguments);
        wait_until("the debate ends", || status(&sandbox).as_deref() == Some("completed"));
        std::thread::sleep(Duration::from_millis(300));
        assert!(!unread.has_ended(), "{arguments:?} fits the pipe");
        unread.interrupt();
        assert_eq!(unread.code(), Some(130), "{arguments:?}");
        assert_eq!(status(&sandbox).as_deref(), Some("completed"));
        sandbox.assert_state_is_the_fold(&sandbox.only_debate());
    }
}

#[test]
fn a_standard_error_that_nobody_reads_stops_neither_the_debate_nor_its_questions() {
    // Warnings that no pipe holds come from here: every critique of one agent fails with a long reason.
    let script = |request: &Incoming| {
        if request.purpose == Purpose::Critique && request.model() == "model-kiss" {
            return Reply::error(400, &"no ".repeat(40_000));
        }
        reply(request)
    };
    let two_rounds = json!({"rounds": 2});
    let server = MockServer::with(script);
    let sandbox = two_agents(&server, &two_rounds);
    let arguments = ["debate", "Design a queue", "--clarify", "--verbose", "-o", "solution.md"];
    sandbox.run_with_input(arguments, "seven\n").expect_code(0);
    let expected = (without_times(&sandbox.state(&sandbox.only_debate())), sent(&server));

    let server = MockServer::with(script);
    let sandbox = two_agents(&server, &two_rounds).file("answers", "seven\n");
    let mut command = sandbox.command(arguments);
    let answers = std::fs::File::open(sandbox.directory().join("answers")).unwrap();
    command.stdin(answers).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut unread = Unread::start(command);
    wait_until("the debate ends", || status(&sandbox).as_deref() == Some("completed"));
    assert_eq!((without_times(&sandbox.state(&sandbox.only_debate())), sent(&server)), expected);
    let mut said = String::new();
    let finished = unread.0.stderr.take().unwrap().read_to_string(&mut said);
    assert!(finished.is_ok() && said.contains("How many?") && said.contains("Saved debate to"), "{said:.2000}");
    assert!(said.len() > 5000, "it fits the pipe: {} bytes", said.len());
    assert_eq!(unread.code(), Some(0));
}

#[test]
fn a_terminal_that_is_stopped_changes_nothing_and_catches_up() {
    let expected = undisturbed(&["debate", "Design a queue"]);
    let (server, gate) = MockServer::held(reply, |request| request.purpose == Purpose::Propose);
    let sandbox = sandbox(&server);
    let mut terminal = Terminal::start(&sandbox, ["debate", "Design a queue", "-o", "solution.md"]);
    terminal.wait_for("The kiss");
    // Ctrl-S: what is written now waits.
    terminal.type_control('s');
    std::thread::sleep(Duration::from_millis(300));
    gate.open();
    wait_until("the debate ends", || status(&sandbox).as_deref() == Some("completed"));
    assert_eq!((without_times(&sandbox.state(&sandbox.only_debate())), sent(&server)), expected);
    terminal.type_control('q');
    let (_, screen) = terminal.expect_code(0);
    assert!(screen.text().contains("\nSaved debate to"), "{}", screen.text());
    assert!(screen.text().contains("\nWrote the result to solution.md\n\n"), "{}", screen.text());
}

#[test]
fn an_interrupt_is_heard_while_the_terminal_is_stopped() {
    for key in [true, false] {
        let server = MockServer::with(|_| Reply::hang());
        let sandbox = sandbox(&server);
        let mut terminal = Terminal::start(&sandbox, ["debate", "Design a queue"]);
        terminal.wait_for("The kiss");
        terminal.type_control('s');
        std::thread::sleep(Duration::from_millis(300));
        if key {
            terminal.type_control('c');
        } else {
            terminal.signal(Signal::SIGINT);
        }
        wait_until("the debate is saved", || status(&sandbox).as_deref() == Some("paused"));
        let (code, output, _) = terminal.finish();
        assert_eq!(code, 130, "{output}");
        sandbox.assert_state_is_the_fold(&sandbox.only_debate());
    }
}

#[test]
fn an_evaluation_goes_on_while_nobody_reads_of_its_failed_attempts() {
    // What is said of so many is more than the pipe holds: whoever writes it waits.
    const FAILING: usize = 12;
    let script = |request: &Incoming| match request.model() {
        "model-last" => Reply::text("not an evaluation"),
        _ => Reply::error(503, &"no ".repeat(1_000)).header("retry-after", "0"),
    };
    let (server, gate) = MockServer::held(script, |request| request.model() == "model-last");
    let ids = (0..FAILING).map(|number| format!("e{number}")).chain(["last".to_owned()]);
    let agents: Vec<Value> =
        ids.map(|id| json!({"id": id, "name": id, "model": format!("model-{id}"), "provider": "openai"})).collect();
    let sandbox = Sandbox::new()
        .model_server(&server)
        .file("eval.json", json!({"agents": agents}).to_string())
        .file("debates/simple.json", include_str!("../fixtures/simple.json"));
    let mut command = sandbox.command(["eval", "-c", "eval.json", "-d", "debates/simple.json", "-v"]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut unread = Unread::start(command);
    let asked = || {
        let requests = server.requests();
        let of_last = requests.iter().filter(|request| request.model() == "model-last").count();
        (requests.len() - of_last, of_last)
    };
    wait_until("every attempt of the others is made", || asked() == (4 * FAILING, 1));
    gate.open();
    wait_until("the last is asked again", || asked().1 == 2);
    assert!(!unread.has_ended());
    let mut said = String::new();
    unread.0.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!(said.matches(" failed: ").count(), 3 * FAILING, "{said:.2000}");
    assert!(said.len() > 2 * 4096, "it fits the pipe: {} bytes", said.len());
    assert_eq!(unread.code(), Some(3));
}
