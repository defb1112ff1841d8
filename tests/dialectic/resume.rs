//! Debates that were interrupted: nothing that was paid for is paid for twice.

use std::time::Duration;

use nix::sys::signal::Signal;
use serde_json::{Value, json};

use crate::support::{
    Debated, Finished, Incoming, MockServer, Purpose, Reply, Sandbox, config, default_reply, short_reply, solved,
};
use crate::timing::without_times;

const ROLES: [&str; 3] = ["architect", "kiss", "testing"];

/// Three agents, two rounds, summaries on the way and a score: the calls of every kind that agents and judge make.
pub(crate) fn everything(server: &MockServer) -> Sandbox {
    let debate = json!({
        "rounds": 2, "summarization": {"threshold": 1500, "maxLength": 500},
        "terminationCondition": {"type": "convergence", "threshold": 90},
    });
    Sandbox::new().model_server(server).config(&config(&ROLES, &debate))
}

/// Agents' replies depend on what they are asked, the judge's on nothing: its prompts are shuffled by a random seed.
pub(crate) fn reply(request: &Incoming) -> Reply {
    match (request.purpose, request.model()) {
        (Purpose::Confidence, _) => Reply::json(json!({"confidence": 50})),
        (Purpose::Synthesize, _) => Reply::json(solved("Use a ring.", 70)),
        (_, "model-judge") => Reply::text("All is well."),
        _ => default_reply(request),
    }
    .usage(100, 0, 10)
}

/// The state that an undisturbed run ends in, and the number of its calls.
pub(crate) fn undisturbed() -> (Value, usize) {
    let server = MockServer::with(reply);
    let sandbox = everything(&server);
    sandbox.run(["debate", "Design a queue"]).expect_code(0);
    // 12 calls in the first round and 9 in the second, 3 summaries, 2 scores, the judge's summary, the synthesis.
    assert_eq!(server.requests().len(), 28);
    (without_times(&sandbox.state(&sandbox.only_debate())), 28)
}

/// The calls whose results are in the journal.
pub(crate) fn recorded_calls(sandbox: &Sandbox) -> usize {
    let Ok(entries) = std::fs::read_dir(sandbox.directory().join("debates")) else { return 0 };
    let journals = entries.map(|entry| entry.unwrap().path()).filter(|path| path.extension().unwrap() == "jsonl");
    let lines: String = journals.map(|path| std::fs::read_to_string(path).unwrap()).collect();
    // A line that a kill cut short is no event.
    let events = lines.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    events.filter(|event| event["call"].is_object()).count()
}

/// A debate with calls of every kind, which was interrupted during the request of that number: nothing from there on
/// was answered.
fn interrupted_at(signal: Signal, requests: usize, reply: fn(&Incoming) -> Reply) -> (MockServer, Sandbox, Finished) {
    let server =
        MockServer::with(move |request| if request.index + 1 >= requests { Reply::hang() } else { reply(request) });
    let sandbox = everything(&server);
    let finished = interrupted(&sandbox, &server, signal, requests);
    (server, sandbox, finished)
}

/// Starts a debate, interrupts it when that many requests have arrived, and waits for its end.
fn interrupted(sandbox: &Sandbox, server: &MockServer, signal: Signal, requests: usize) -> Finished {
    let running = sandbox.spawn(["debate", "Design a queue"]);
    server.wait_for_requests(requests);
    running.signal(signal);
    let finished = running.wait().expect_code(130);
    // What was sent just before may still be on its way to the server.
    server.settle();
    finished
}

#[test]
fn an_interrupted_debate_is_paused_at_once_and_says_how_to_go_on() {
    let (expected, calls) = undisturbed();
    // In the round, and when only the judge is left.
    for (signal, requests) in [(Signal::SIGINT, 5), (Signal::SIGTERM, 26)] {
        let (server, sandbox, finished) = interrupted_at(signal, requests, reply);
        let (id, paused) = sandbox.only_state();
        let message = format!(
            "error: interrupted; the debate {id} is saved as paused\nhint: continue with: dialectic resume {id}\n"
        );
        assert!(finished.stderr.ends_with(&message), "{finished}");
        assert_eq!(finished.stdout, "");
        assert_eq!(paused["status"], "paused");
        let lost = server.requests().len() - recorded_calls(&sandbox);
        server.set_script(reply);
        let state = without_times(&sandbox.debated(["resume", &id]).1);
        assert!(state == expected, "{state:#}\n\n{expected:#}");
        assert_eq!(server.requests().len(), calls + lost);
    }
}

#[test]
fn a_finished_debate_has_nothing_left_to_do() {
    let Debated { server, sandbox, id, .. } = Debated::of_two(&json!({}), short_reply);
    let before = sandbox.files();
    let finished = sandbox.run(["resume", "latest"]).expect_code(0);
    insta::assert_snapshot!(finished, @"
    exit: 0
    --- stdout

    --- stderr
    The debate [id] is finished.
    ");
    for name in [&id, &id[..20], &format!("debates/{id}.json"), &format!("./debates/{id}.events.jsonl")] {
        sandbox.run(["resume", name]).expect_code(0);
    }
    assert_eq!(server.requests().len(), 7);
    assert!(sandbox.files() == before, "something was written");
}

#[test]
fn a_line_that_a_crash_cut_short_is_dropped_with_a_warning() {
    let server = MockServer::with(|request| reply(request).after(Duration::from_millis(20)));
    let sandbox = everything(&server);
    let running = sandbox.spawn(["debate", "Design a queue"]);
    server.wait_for_requests(6);
    running.kill();
    let mut names = sandbox.files().into_iter().map(|(path, _)| path.file_name().unwrap().to_str().unwrap().to_owned());
    // Other files may have been on their way.
    let id = names.find_map(|name| name.strip_suffix(".events.jsonl").map(str::to_owned)).unwrap();
    let path = format!("debates/{id}.events.jsonl");
    let whole = sandbox.read(&path);
    let last = whole.trim_end().rfind('\n').unwrap() + 1;
    sandbox.write(&path, &whole.as_bytes()[..last + 20]);
    // As a power cut leaves it: the state is older than what the journal lost.
    sandbox.remove(format!("debates/{id}.json"));
    let (finished, state) = sandbox.debated(["resume", &id]);
    let warning = "warning: removing the incomplete last line of the journal, left by a crash\n";
    assert!(finished.stderr.starts_with(warning), "{finished}");
    assert_eq!(state["outcome"]["kind"], "full");

    // A line that was changed is not a crash.
    let whole = sandbox.read(&path);
    sandbox.write(&path, whole.replacen("Design a queue", "Design a stack", 1));
    let finished = sandbox.run(["resume", &id]);
    insta::assert_snapshot!(finished, @"
    exit: 2
    --- stdout

    --- stderr
    error: line 1 of the journal ./debates/[id].events.jsonl was changed: its hash does not match
    hint: a damaged journal cannot be continued; `dialectic verify ./debates/[id].events.jsonl` shows which parts are intact
    ");
}

#[test]
fn an_interrupted_debate_can_be_finished_with_what_there_is() {
    // Of 28 calls: in the middle of the second round's critiques.
    let (server, sandbox, _) = interrupted_at(Signal::SIGINT, 19, reply);
    let id = sandbox.only_debate();
    let before = server.requests().len();
    server.set_script(reply);
    let (finished, state) = sandbox.debated(["resume", &id, "--finish"]);
    assert!(finished.stdout.starts_with("Use a ring."), "{finished}");
    assert!(finished.stderr.contains("warning: this run is stopped:\n  - stopped by the user\n"), "{finished}");
    // The judge alone is asked: for a summary, then for the solution.
    let made: Vec<Purpose> = server.requests()[before..].iter().map(|request| request.purpose).collect();
    assert!([&[Purpose::Summarize, Purpose::Synthesize][..], &[Purpose::Synthesize]].contains(&&*made), "{made:?}");
    assert_eq!((&state["stopReason"], &state["outcome"]["kind"]), (&json!("user"), &json!("stopped")));
    assert_eq!(state["rounds"].as_array().unwrap().len(), 2);
    sandbox.run(["verify", &id]).expect_code(0);
}

#[test]
fn a_round_that_has_only_begun_does_not_hide_the_one_before() {
    let server = MockServer::with(reply);
    let sandbox = everything(&server);
    sandbox.run(["debate", "Design a queue"]).expect_code(0);
    let id = sandbox.only_debate();
    sandbox.cut_after(&id, "\"type\":\"round-begun\",\"round\":2");
    server.forget();
    let finished = sandbox.run(["resume", &id, "--finish", "--quiet"]).expect_code(0);
    assert!(finished.stdout.starts_with("Use a ring."), "{finished}");
    let of_judge = server.requests();
    assert!(of_judge.iter().all(|request| request.model() == "model-judge"));
    let last = of_judge.last().unwrap().text();
    assert!(last.contains("## Text 1 (refinement)") || last.contains("All is well."), "{last}");
}

#[test]
fn a_reply_of_the_judge_is_not_paid_for_again_whatever_form_it_has() {
    // The first is the form that the older program asked for, cut.
    for (text, solution) in [
        (r##"{"solutionMarkdown": "# Ring\n\nUse it.", "tradeoffs": ["space"], "confidence": 7"##, "# Ring\n\nUse it."),
        ("I would rather talk.", "I would rather talk."),
    ] {
        let Debated { server, sandbox, id, state, .. } =
            Debated::of_two(&json!({}), move |request| match request.purpose {
                Purpose::Synthesize => Reply::text(text),
                _ => short_reply(request),
            });
        sandbox.cut_after(&id, "\"type\":\"replied\"");
        server.forget();
        sandbox.run(["resume", &id, "--quiet"]).expect_code(0);
        let made: Vec<Purpose> = server.requests().iter().map(|request| request.purpose).collect();
        assert_eq!(made, [Purpose::Assess], "{text}");
        assert_eq!(without_times(&sandbox.state(&id)), without_times(&state));
        let description = state["finalSolution"]["description"].as_str().unwrap();
        assert!(description.starts_with(&format!("{solution}\n\n---\n\n## Judge Assessment\n")), "{description}");
    }
}

#[test]
fn a_debate_without_a_proposal_cannot_be_finished() {
    let (server, sandbox, _) = interrupted_at(Signal::SIGINT, 3, |_| Reply::hang());
    let finished = sandbox.run(["resume", "latest", "--finish"]);
    insta::assert_snapshot!(finished, @"
    exit: 2
    --- stdout

    --- stderr
    error: the debate [id] cannot be finished yet: it has no texts
    hint: continue the debate: dialectic resume [id]
    ");
    assert_eq!(server.requests().len(), 3);
}

#[test]
fn a_journal_that_lost_its_end_is_not_gone_on_with() {
    let (_server, sandbox, _) = interrupted_at(Signal::SIGINT, 21, reply);
    let id = sandbox.only_debate();
    let journal = sandbox.journal(&id);
    // Cut in the middle of a line, as no crash can cut what was synced to disk before the state was saved.
    let cut = journal[..journal.len() - 3].join("\n") + "\n{\"seq\":";
    sandbox.write(format!("debates/{id}.events.jsonl"), &cut);
    let finished = sandbox.run(["resume", &id]).expect_code(2);
    assert!(finished.stderr.contains("error: the journal ./debates/"), "{finished}");
    assert_eq!(sandbox.read(format!("debates/{id}.events.jsonl")), cut, "something was written");
}

#[test]
fn what_has_changed_since_is_named_before_anything_is_paid() {
    let server = MockServer::with(|_| Reply::hang());
    let mut settings = config(&["architect", "kiss"], &json!({}));
    settings["agents"][1]["systemPromptPath"] = json!("own.md");
    let sandbox = Sandbox::new().model_server(&server).config(&settings).file("own.md", "Be brief.");
    interrupted(&sandbox, &server, Signal::SIGINT, 2);
    let told = |sandbox: &Sandbox| -> String {
        server.set_script(|_| Reply::hang());
        let before = server.requests().len();
        let running = sandbox.spawn(["resume", "latest", "--quiet"]);
        server.wait_for_requests(before + 2);
        let told = running.stderr();
        running.signal(Signal::SIGINT);
        running.wait().expect_code(130);
        told.replace(&*sandbox.directory().canonicalize().unwrap().to_string_lossy(), "[directory]")
    };
    let takes = "7 calls, of unknown cost (no price is known for model-architect and 2 more)\n";
    assert_eq!(told(&sandbox), takes);
    sandbox.write("own.md", "Be long.");
    settings["judge"]["model"] = json!("model-new");
    settings["agents"][0]["model"] = json!("model-other");
    sandbox.write("debate-config.json", settings.to_string());
    let mut said = vec![told(&sandbox)];
    sandbox.remove("own.md");
    sandbox.write("debate-config.json", "{");
    said.push(told(&sandbox));
    insta::assert_snapshot!(said.join("--\n"), @"
    warning: agent-kiss's prompts have changed since this debate began ([directory]/own.md)
    agent-architect continues with openai/model-architect, as saved; the configuration says openai/model-other
    judge continues with openai/model-judge, as saved; the configuration says openai/model-new
    7 calls, of unknown cost (no price is known for model-architect and 2 more)
    --
    warning: agent-kiss: prompt file [directory]/own.md does not exist; using the built-in prompt
    warning: agent-kiss now uses the built-in prompt; this debate began with [directory]/own.md
    7 calls, of unknown cost (no price is known for model-architect and 2 more)
    ");
    let models: Vec<String> = server.requests().iter().map(|request| request.model().to_owned()).collect();
    assert!(models.iter().all(|model| model == "model-architect" || model == "model-kiss"), "{models:?}");
}

#[test]
fn a_model_that_is_served_differently_than_before_is_named() {
    let (server, sandbox, _) = interrupted_at(Signal::SIGINT, 9, |request| reply(request).served_by("one-2024"));
    server.set_script(|request| reply(request).served_by("one-2025"));
    let finished = sandbox.run(["resume", "latest", "--quiet"]).expect_code(0);
    let said: Vec<&str> = finished.stderr.lines().filter(|line| line.contains("one-2025")).collect();
    // Once for each model that answered before.
    assert_eq!(said.len(), 3, "{finished}");
    let expected = "warning: model-kiss is now served by one-2025, but was served by one-2024 before this run";
    assert!(said.contains(&expected), "{finished}");
}
