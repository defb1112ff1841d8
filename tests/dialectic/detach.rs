//! Debates that run by themselves: `--detach`, `wait`, `status`, `answer` and `stop`.

use std::path::Path;

use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, getsid};
use serde_json::{Value, json};

use crate::support::{
    Incoming, MockServer, Purpose, Reply, Running, Sandbox, Terminal, sandbox, short_reply, two_agents, wait_until,
};

/// Each agent asks a question of its own.
pub(crate) fn curious(request: &Incoming) -> Reply {
    if request.purpose != Purpose::Clarify {
        return short_reply(request);
    }
    let agent = request.model().trim_start_matches("model-");
    Reply::json(json!({"questions": [{"id": "q1", "text": format!("What does {agent} have to know?")}]}))
}

/// Detaches, and returns the id that is printed.
fn detached(sandbox: &Sandbox, arguments: &[&str]) -> String {
    let finished = sandbox.run(arguments).expect_code(0);
    let id = finished.stdout.strip_suffix('\n').expect("a line is printed").to_owned();
    assert!(id.starts_with("deb-") && !id.contains('\n'), "{finished}");
    id
}

fn status(sandbox: &Sandbox, id: &str) -> Value {
    let finished = sandbox.run(["wait", id, "--timeout", "0", "--json"]);
    serde_json::from_str(&finished.stdout).expect("it is one object")
}

/// The process that runs the debates of a sandbox: the one whose working directory that is.
pub(crate) fn process_of(sandbox: &Sandbox) -> Option<Pid> {
    let home = sandbox.directory().canonicalize().unwrap();
    let ids = std::fs::read_dir("/proc").unwrap().flatten();
    let ids = ids.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let works_there = |id: &i32| {
        std::fs::read_link(format!("/proc/{id}/cwd")).is_ok_and(|path| path == home)
            && std::fs::read(format!("/proc/{id}/cmdline")).is_ok_and(|line| !line.is_empty())
    };
    ids.filter(works_there).map(Pid::from_raw).next()
}

/// Kills the process that runs the debates of a sandbox, if there is one, and waits until it is gone.
pub(crate) fn kill_if_running(sandbox: &Sandbox) {
    if let Some(process) = process_of(sandbox) {
        // It may have ended by itself.
        let _ = kill(process, Signal::SIGKILL);
    }
    wait_until("it goes", || process_of(sandbox).is_none());
}

#[test]
fn a_detached_debate_is_a_session_of_its_own_and_leaves_what_the_foreground_would() {
    let (server, gate) = MockServer::held(short_reply, |_| true);
    let sandbox = sandbox(&server);
    let id = detached(&sandbox, &["debate", "Design a queue", "--detach", "-o", "solution.md", "--report", "r.html"]);
    server.wait_for_requests(1);
    let process = process_of(&sandbox).expect("it runs");
    assert_eq!(getsid(Some(process)).unwrap(), process, "it is no session of its own");
    let stream = |number: u8| std::fs::read_link(format!("/proc/{process}/fd/{number}")).unwrap();
    let log = sandbox.directory().canonicalize().unwrap().join(format!("debates/{id}.log"));
    assert_eq!([stream(0), stream(1), stream(2)], [Path::new("/dev/null").to_owned(), log.clone(), log]);

    let running = status(&sandbox, &id);
    assert_eq!((&running["status"], &running["exitCode"]), (&json!("running"), &json!(124)), "{running:#}");
    assert_eq!((&running["calls"]["done"], &running["calls"]["planned"]), (&json!(0), &json!(7)), "{running:#}");
    let waited = sandbox.run(["wait", &id, "--timeout", "0"]).expect_code(124);
    assert!(waited.stderr.contains("is still running"), "{waited}");

    gate.open();
    let waited = sandbox.run(["wait", &id]).expect_code(0);
    assert!(waited.stdout.contains(&format!("dialectic show {id} solution")), "{waited}");
    // What the run writes is there when the wait is over.
    assert!(!sandbox.read("solution.md").is_empty());
    assert!(sandbox.read("r.html").contains("<html"));
    assert!(sandbox.read(format!("debates/{id}.log")).contains("Saved debate to"));
    let over = status(&sandbox, &id);
    assert_eq!((&over["status"], &over["outcome"]["kind"]), (&json!("completed"), &json!("full")), "{over:#}");
    assert_eq!((&over["calls"]["done"], &over["calls"]["planned"]), (&json!(7), &json!(7)), "{over:#}");
    sandbox.assert_state_is_the_fold(&id);
    sandbox.assert_no_file_has_the_key();
    sandbox.run(["rm", &id, "--yes"]).expect_code(0);
    assert!(!sandbox.directory().join(format!("debates/{id}.log")).exists());
}

#[test]
fn what_cannot_begin_ends_as_it_does_in_the_foreground() {
    let server = MockServer::with(short_reply);
    let with_limit = sandbox(&server).config(&json!({
        "agents": [{"id": "a", "name": "A", "role": "architect", "model": "m", "provider": "openai"}],
        "judge": {"id": "judge", "name": "J", "role": "generalist", "model": "m", "provider": "openai"},
        "prices": {"m": {"inputPerMTok": 1000, "outputPerMTok": 1000}}
    }));
    let broken = sandbox(&server).file("debate-config.json", "{\"agents\": 1}");
    for (sandbox, arguments, code) in [
        (&with_limit, vec!["debate", "Design a queue", "--max-cost", "0.01"], 2),
        (&broken, vec!["debate", "Design a queue"], 4),
        (&with_limit, vec!["resume", "deb-none"], 2),
    ] {
        let foreground = sandbox.run(&arguments);
        let detached = sandbox.run([arguments.clone(), vec!["--detach"]].concat());
        assert_eq!(foreground.code, Some(code), "{foreground}");
        assert_eq!(detached.to_string(), foreground.to_string());
        assert_eq!(sandbox.debates(), Vec::<String>::new());
    }
    for refused in ["--dry-run", "--serve"] {
        with_limit.run(["debate", "x", "--detach", refused]).expect_code(2);
    }
    let events = sandbox(&server).run(["debate", "x", "--detach", "--events", "-"]).expect_code(2);
    assert!(events.stderr.contains("needs a file"), "{events}");
    assert_eq!(server.requests().len(), 0);
}

#[test]
fn one_that_fails_before_any_model_is_reached_can_be_waited_for() {
    let server = MockServer::with(|_| Reply::error(401, "no such key"));
    let sandbox = sandbox(&server);
    let id = detached(&sandbox, &["debate", "Design a queue", "--detach"]);
    let waited = sandbox.run(["wait", &id]).expect_code(3);
    assert!(waited.stderr.contains("all calls failed") && waited.stderr.contains("OPENAI_API_KEY"), "{waited}");
    assert_eq!(status(&sandbox, &id)["status"], "failed");
}

#[test]
fn one_that_was_killed_is_not_waited_for_and_goes_on_detached() {
    // Two proposals are answered, and two critiques are not.
    let server = MockServer::with(|request| if request.index < 2 { short_reply(request) } else { Reply::hang() });
    let sandbox = sandbox(&server);
    let id = detached(&sandbox, &["debate", "Design a queue", "--detach"]);
    server.wait_for_requests(4);
    kill_if_running(&sandbox);
    server.set_script(short_reply);
    let waited = sandbox.run(["wait", &id]).expect_code(75);
    assert!(waited.stderr.contains("interrupted") && waited.stderr.contains("dialectic resume"), "{waited}");
    assert_eq!(status(&sandbox, &id)["status"], "interrupted");
    let before = server.requests().len();
    assert_eq!(detached(&sandbox, &["resume", &id, "--detach"]), id);
    sandbox.run(["wait", &id]).expect_code(0);
    assert_eq!(server.requests().len(), 7 + (before - 2), "what was answered was asked again");
    sandbox.assert_state_is_the_fold(&id);
}

#[test]
fn one_that_is_told_to_end_is_paused() {
    let server = MockServer::with(|_| Reply::hang());
    let sandbox = sandbox(&server);
    let id = detached(&sandbox, &["debate", "Design a queue", "--detach"]);
    server.wait_for_requests(2);
    kill(process_of(&sandbox).expect("it runs"), Signal::SIGTERM).unwrap();
    let waited = sandbox.run(["wait", &id]).expect_code(75);
    assert!(waited.stderr.contains("is paused"), "{waited}");
}

#[test]
fn one_that_asks_ends_and_goes_on_when_it_is_answered() {
    let server = MockServer::with(curious);
    let sandbox = two_agents(&server, &json!({"clarificationsMaxIterations": 1, "clarificationsMaxPerAgent": 1}));
    let id = detached(&sandbox, &["debate", "Design a queue", "--clarify", "--detach"]);
    let waited = sandbox.run(["wait", &id]).expect_code(7);
    for text in ["q1, from The architect (architect):\nWhat does architect have to know?", "q2, from The kiss"] {
        assert!(waited.stdout.contains(text), "{waited}");
    }
    let command = format!("dialectic answer {id} q1=\"...\" q2=\"...\"\n");
    assert!(waited.stdout.ends_with(&command) && waited.stderr.ends_with(&command), "{waited}");
    assert!(sandbox.run(["list", "--status", "asking"]).expect_code(0).stdout.contains(&id));
    let asking = status(&sandbox, &id);
    assert_eq!(asking["status"], "asking");
    assert_eq!(asking["questions"][1]["question"], "What does kiss have to know?");
    for (arguments, said) in [
        (vec![], "no answers given"),
        (vec!["q1=a"], "q2 would remain unanswered"),
        (vec!["q1=a", "q3=b"], "there is no open question `q3`; open: q1 and q2"),
        (vec!["q1"], "`q1` is not an answer"),
    ] {
        let refused = sandbox.run([vec!["answer", &id, "--detach"], arguments].concat()).expect_code(2);
        assert!(refused.stderr.contains(said), "{refused}");
    }
    sandbox.write("answers.json", r#"{"q2": null}"#);
    let arguments = ["answer", &id, "q1=500 a second", "--file", "answers.json", "--by", "agent", "--detach"];
    assert_eq!(detached(&sandbox, &arguments), id);
    sandbox.run(["wait", &id]).expect_code(0);
    let (_, state) = sandbox.only_state();
    let item = |group: usize| &state["clarifications"][group]["items"][0];
    assert_eq!((&item(0)["answer"], &item(0)["answeredBy"]), (&json!("500 a second"), &json!("agent")));
    assert_eq!((&item(1)["answer"], &item(1)["answeredBy"]), (&json!("NA"), &json!("agent")));
    assert!(server.requests().last().unwrap().text().contains("500 a second"));
    let report = sandbox.run(["report", &id]).expect_code(0);
    assert!(report.stdout.contains("Answer (an agent's):"), "{report}");
    let refused = sandbox.run(["answer", &id, "q1=a"]).expect_code(2);
    assert!(refused.stderr.contains("has no open questions"), "{refused}");
}

#[test]
fn an_answer_in_the_foreground_that_is_asked_again_ends_with_the_questions() {
    let server = MockServer::with(|request: &Incoming| {
        if request.purpose != Purpose::Clarify {
            return short_reply(request);
        }
        let time = if request.text().contains("First question") { "Second" } else { "First" };
        Reply::json(json!({"questions": [{"id": "q1", "text": format!("{time} question of {}?", request.model())}]}))
    });
    let debate = json!({"clarificationsMaxIterations": 2, "clarificationsMaxPerAgent": 1});
    let sandbox = two_agents(&server, &debate);
    let id = detached(&sandbox, &["debate", "Design a queue", "--clarify", "--detach"]);
    sandbox.run(["wait", &id]).expect_code(7);
    let answered = sandbox.run(["answer", &id, "--file", "-", "--skip-rest"]);
    assert_eq!(answered.code, Some(2), "an empty standard input holds no answers: {answered}");
    let asked = sandbox.run_with_input(["answer", &id, "--file", "-"], r#"{"q1": "a", "q2": "b"}"#).expect_code(7);
    assert!(asked.stdout.contains("q3, pass 2, from The architect (architect):\nSecond question"), "{asked}");
    let answered = sandbox.run(["answer", &id, "--skip-rest"]).expect_code(0);
    assert!(answered.stdout.contains("## "), "{answered}");
}

/// A debate that was killed after one agent had asked its question and before the agent with `model` had.
fn killed_before_the_question_of(model: &'static str) -> (MockServer, Sandbox, String) {
    let (server, gate) =
        MockServer::held(curious, move |request| request.purpose == Purpose::Clarify && request.model() == model);
    let sandbox = two_agents(&server, &json!({"clarificationsMaxIterations": 1}));
    let running = sandbox.spawn(["debate", "Design a queue", "--clarify", "--quiet"]);
    let has_asked = || {
        let debates = sandbox.debates();
        let mut lines = debates.iter().flat_map(|id| sandbox.journal(id));
        lines.any(|line| line.contains("\"type\":\"questions-asked\""))
    };
    wait_until("the other agent asks", has_asked);
    server.wait_for_requests(2);
    running.kill();
    gate.open();
    server.settle();
    let id = sandbox.only_debate();
    (server, sandbox, id)
}

/// The answers of the architect and of kiss.
fn answers(sandbox: &Sandbox, id: &str) -> [Value; 2] {
    let state = sandbox.state(id);
    [0, 1].map(|group| state["clarifications"][group]["items"][0]["answer"].clone())
}

#[test]
fn an_answer_is_to_the_question_that_had_its_number_when_it_was_given() {
    let (server, sandbox, id) = killed_before_the_question_of("model-architect");
    let asking = sandbox.run(["wait", &id]);
    assert!(asking.stdout.contains("q1, from The kiss (kiss):"), "{asking}");
    sandbox.run(["answer", &id, "q1=mine", "--skip-rest", "--quiet"]).expect_code(0);
    assert_eq!(answers(&sandbox, &id), ["NA", "mine"]);
    sandbox.assert_state_is_the_fold(&id);
    server.assert_clean();
}

#[test]
fn what_an_agent_asks_after_the_answers_were_given_ends_the_run_or_is_asked() {
    for is_detached in [false, true] {
        let (_server, sandbox, id) = killed_before_the_question_of("model-architect");
        let asked = if is_detached {
            detached(&sandbox, &["answer", &id, "q1=mine", "--detach"]);
            sandbox.run(["wait", &id])
        } else {
            sandbox.run(["answer", &id, "q1=mine", "--quiet"])
        };
        assert_eq!(asked.code, Some(7), "{asked}");
        assert!(asked.stdout.contains("What does architect have to know?"), "{asked}");
        assert!(!asked.stdout.contains("What does kiss have to know?"), "{asked}");
        assert_eq!(answers(&sandbox, &id), ["", "mine"]);
        sandbox.assert_state_is_the_fold(&id);
    }

    let (_server, sandbox, id) = killed_before_the_question_of("model-kiss");
    let mut terminal = Terminal::start(&sandbox, ["answer", &id, "q1=mine"]);
    terminal.wait_for("Begin?");
    terminal.type_line("y");
    terminal.wait_for("Question 2 of 2, from The kiss (kiss)");
    terminal.wait_for("Answer");
    terminal.type_line("later");
    let (output, _) = terminal.expect_code(0);
    assert!(!output.contains("Question 1 of 2"), "{output}");
    assert_eq!(answers(&sandbox, &id), ["mine", "later"]);
}

#[test]
fn a_stop_reaches_a_run_wherever_it_runs_and_is_removed_when_it_is_obeyed() {
    const HEARD: &str = "stopping: the debate will end once it has a text to base an answer on";
    for detach in [true, false] {
        let (server, gate) = MockServer::held(short_reply, |_| true);
        let sandbox = two_agents(&server, &json!({"rounds": 9}));
        let running = if detach {
            sandbox.run(["debate", "Design a queue", "--detach"]).expect_code(0);
            None
        } else {
            Some(sandbox.spawn(["debate", "Design a queue"]))
        };
        server.wait_for_requests(1);
        let id = sandbox.run(["wait", "--timeout", "0", "--json"]).expect_code(124);
        let id = serde_json::from_str::<Value>(&id.stdout).unwrap()["id"].as_str().unwrap().to_owned();
        // There is nothing yet to close it with: it counts all the same.
        let stopped = sandbox.run(["stop", &id]).expect_code(0);
        assert!(stopped.stderr.contains("will end once it has a text to base an answer on"), "{stopped}");
        let log = || sandbox.read(format!("debates/{id}.log"));
        wait_until("it is told to stop", || running.as_ref().map_or_else(log, Running::stderr).contains(HEARD));
        gate.open();
        if let Some(running) = running {
            let finished = running.wait().expect_code(0);
            assert!(finished.stderr.contains("stopping early: the user requested it"), "{finished}");
        }
        sandbox.run(["wait", &id]).expect_code(0);
        let state = sandbox.state(&id);
        assert_eq!(state["outcome"]["kind"], "stopped", "{state:#}");
        assert_eq!(state["rounds"].as_array().unwrap().len(), 1);
        assert!(!sandbox.directory().join(format!("debates/{id}.stop")).exists());
        let late = sandbox.run(["stop", &id]).expect_code(0);
        assert!(late.stderr.contains("cannot be stopped"), "{late}");
        assert!(!sandbox.directory().join(format!("debates/{id}.stop")).exists());
    }
}

#[test]
fn a_stop_that_lies_there_before_the_run_begins_counts() {
    let server = MockServer::with(|request| if request.index < 8 { short_reply(request) } else { Reply::hang() });
    let sandbox = two_agents(&server, &json!({"rounds": 9}));
    let id = detached(&sandbox, &["debate", "Design a queue", "--detach"]);
    server.wait_for_requests(9);
    kill_if_running(&sandbox);
    server.set_script(short_reply);
    let stopped = sandbox.run(["stop", &id]).expect_code(0);
    assert!(stopped.stderr.contains("it will end early when it is resumed"), "{stopped}");
    assert_eq!(status(&sandbox, &id)["stopping"], true);
    let before = server.requests().len();
    sandbox.run(["resume", &id]).expect_code(0);
    // The judge's answer and its checks are all that is made, beside what was in flight.
    assert!(server.requests().len() <= before + 6, "{} after {before}", server.requests().len());
    assert_eq!(sandbox.state(&id)["outcome"]["kind"], "stopped");
    assert!(!sandbox.directory().join(format!("debates/{id}.stop")).exists());
}

#[test]
fn the_log_follows_no_link() {
    let server = MockServer::with(|_| Reply::hang());
    let sandbox = sandbox(&server);
    let id = detached(&sandbox, &["debate", "Design a queue", "--detach"]);
    server.wait_for_requests(2);
    kill_if_running(&sandbox);
    let log = sandbox.directory().join(format!("debates/{id}.log"));
    std::fs::remove_file(&log).unwrap();
    sandbox.write("mine", "mine\n");
    std::os::unix::fs::symlink(sandbox.directory().join("mine"), &log).unwrap();
    let refused = sandbox.run(["resume", &id, "--detach"]).expect_code(1);
    assert!(refused.stderr.contains("cannot write"), "{refused}");
    assert_eq!(sandbox.read("mine"), "mine\n");
}
