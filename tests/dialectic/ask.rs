//! `dialectic ask`: questions about a finished debate.

use std::time::Duration;

use nix::sys::signal::Signal;
use serde_json::{Value, json};

use crate::budget::priced;
use crate::handling::failed;
use crate::support::{Debated, Gate, Incoming, MockServer, Reply, Sandbox, Terminal, short_reply, two_agents};

const QUESTION: &str = "What if the budget is halved?";

fn is_question(request: &Incoming) -> bool {
    // What a user asks may look like a heading.
    request.prompt().contains("\n# Your task: follow up\n")
}

/// Answers questions with a text of their own, and everything else as usual, with figures.
fn reply(request: &Incoming) -> Reply {
    if is_question(request) {
        return Reply::text("**Half of it** is enough.\n\n- Drop the replica.").usage(1000, 0, 100);
    }
    short_reply(request).usage(900, 0, 90)
}

fn debated(debate: &Value) -> (Sandbox, MockServer, String) {
    let Debated { server, sandbox, id, .. } = Debated::with(&priced(&["architect", "kiss"], debate), reply);
    (sandbox, server, id)
}

fn cost(state: &Value) -> f64 {
    state["usage"].as_object().unwrap().values().map(|model| model["costUsd"].as_f64().unwrap()).sum()
}

#[test]
fn the_judge_answers_and_the_record_keeps_it() {
    let (sandbox, server, id) = debated(&json!({}));
    let before = sandbox.state(&id);
    let made = server.requests().len();
    let asked = sandbox.run(["ask", &id, QUESTION]).expect_code(0);
    assert_eq!(asked.stdout, "**Half of it** is enough.\n\n- Drop the replica.\n");
    assert!(asked.stderr.contains(&format!("Saved the answer to ./debates/{id}.json")), "{asked}");
    assert!(asked.stderr.contains(", $0.0020; the debate has cost $"), "{asked}");
    let requests = server.requests();
    assert_eq!(requests.len(), made + 1);
    let request = &requests[made];
    assert_eq!(request.model(), "model-judge");
    let solution = before["finalSolution"]["description"].as_str().unwrap();
    let contributions = before["rounds"][0]["contributions"].as_array().unwrap();
    let text = |kind: &str| contributions.iter().find(|one| one["type"] == kind).unwrap();
    let point = text("critique")["reading"]["points"][0]["text"].as_str().unwrap();
    for shown in ["Design a queue", solution, point, QUESTION, "The architect (architect)", "about the text of The "] {
        assert!(request.prompt().contains(shown), "{shown} is not in {}", request.prompt());
    }
    // The solution is what the user has read; the texts before it are not sent again.
    let refinement = text("refinement")["content"].as_str().unwrap();
    assert!(!request.prompt().contains(refinement), "{}", request.prompt());
    let state = sandbox.state(&id);
    let follow_up = &state["followUps"][0];
    assert_eq!((&follow_up["question"], &follow_up["answeredBy"]), (&json!(QUESTION), &json!("judge")));
    assert_eq!(follow_up["answer"], "**Half of it** is enough.\n\n- Drop the replica.");
    assert!((cost(&state) - cost(&before) - 0.002).abs() < 1e-9, "its cost counts");
    for key in ["status", "outcome", "updatedAt", "rounds", "finalSolution", "failures", "currentNode"] {
        assert_eq!(state[key], before[key], "{key}");
    }
    sandbox.assert_state_is_the_fold(&id);
    sandbox.run(["verify", &id]).expect_code(0);

    // The next one knows the first.
    sandbox.run_with_input(["ask", "latest", "-"], "And if it is doubled?\n").expect_code(0);
    let requests = server.requests();
    let second = requests.last().unwrap().prompt();
    assert!(
        second.contains(QUESTION) && second.contains("Drop the replica.") && second.contains("doubled?"),
        "{second}"
    );
    assert_eq!(sandbox.state(&id)["followUps"].as_array().unwrap().len(), 2);
    server.assert_clean();
}

#[test]
fn reports_show_what_was_asked_and_are_as_before_without() {
    let (sandbox, _server, id) = debated(&json!({}));
    let before = sandbox.run(["report", &id, "-v"]).expect_code(0).stdout;
    assert!(!before.contains("Follow-ups"));
    sandbox.run(["ask", &id, "# Why\n\n```\n## Not a heading"]).expect_code(0);
    let after = sandbox.run(["report", &id, "-v"]).expect_code(0).stdout;
    let (_, section) = after.split_once("\n## Follow-ups\n").expect("a section of its own");
    assert!(section.contains("### Question 1\n") && section.contains("Drop the replica."), "{section}");
    assert!(section.contains("````text\n# Why"), "{section}");
    sandbox.run(["report", &id, "-o", "page.html"]).expect_code(0);
    let page = sandbox.read("page.html");
    assert!(page.contains("id=\"follow-ups\"") && page.contains("<strong>Half of it</strong>"), "{page}");
    let overview = sandbox.run(["show", &id]).expect_code(0).stdout;
    assert!(overview.contains("## Follow-up questions"), "{overview}");
    // What was done later is no part of how it went.
    sandbox.run(["resume", &id]).expect_code(0);
    sandbox.run(["fork", &id, "--at", "1.critique", "--quiet"]).expect_code(0);
    let branch = sandbox.debates().into_iter().find(|other| *other != id).unwrap();
    assert_eq!(sandbox.state(&branch)["followUps"], Value::Null);
}

#[test]
fn a_limit_of_its_own_holds_and_is_in_the_journal_before_anything_is_sent() {
    let (sandbox, server, id) = debated(&json!({}));
    let made = server.requests().len();
    let files = sandbox.files();
    let refused = sandbox.run(["ask", &id, QUESTION, "--max-cost", "0.0001"]).expect_code(2);
    assert!(refused.stderr.contains("the cost limit leaves $0.0001, but an answer can cost $"), "{refused}");
    assert_eq!(server.requests().len(), made);
    assert!(sandbox.files() == files, "something was written");
    sandbox.run(["ask", &id, QUESTION, "--max-cost", "0.2"]).expect_code(0);
    let events = sandbox.events(&id);
    let last = &events[events.len() - 3..];
    assert!(last.iter().map(|event| event["type"].as_str().unwrap()).eq([
        "follow-up-asked",
        "cost-reserved",
        "follow-up-answered"
    ]));
    let reserved = &last[1];
    assert!(reserved["usd"].as_f64().unwrap() <= 0.2, "{reserved}");
    assert!(server.requests().last().unwrap().max_tokens().is_some());
    assert_eq!(sandbox.state(&id)["outputLimit"], Value::Null, "the answers of the debate were not held to anything");
    sandbox.assert_state_is_the_fold(&id);
}

#[test]
fn the_limit_of_the_debate_holds_for_questions_without_their_own() {
    let (sandbox, server, id) = debated(&json!({"budget": {"maxCostUsd": 0.9}}));
    let spent = cost(&sandbox.state(&id));
    assert!(spent < 0.9);
    sandbox.run(["ask", &id, QUESTION]).expect_code(0);
    // What was set aside and never came back counts as spent.
    server.set_script(|request| if is_question(request) { Reply::hang() } else { reply(request) });
    let mut killed = 0;
    let refused = loop {
        let made = server.requests().len();
        let mut running = sandbox.spawn(["ask", &id, "Why?", "--quiet"]);
        while server.requests().len() == made && !running.has_ended() {
            std::thread::sleep(Duration::from_millis(10));
        }
        if server.requests().len() == made {
            break running.wait();
        }
        running.kill();
        killed += 1;
        assert!(killed < 60, "the limit of 0.90 dollars never held");
    };
    assert_eq!(refused.code, Some(2), "{refused}");
    assert!(killed > 0 && refused.stderr.contains("the cost limit leaves"), "{refused}");
    server.set_script(reply);
    sandbox.run(["ask", &id, "Why?", "--max-cost", "0.2"]).expect_code(0);
    let state = sandbox.state(&id);
    assert_eq!(state["followUps"].as_array().unwrap().len(), 2, "the same question is asked once");
    assert!(state["followUps"][1]["answer"].is_string());
}

#[test]
fn a_question_that_was_killed_or_failed_is_asked_again() {
    let (sandbox, server, id) = debated(&json!({}));
    server.set_script(|request| if is_question(request) { Reply::hang() } else { reply(request) });
    let made = server.requests().len();
    let running = sandbox.spawn(["ask", &id, QUESTION]);
    server.wait_for_requests(made + 1);
    running.kill();
    sandbox.run(["verify", &id]).expect_code(0);
    let running = sandbox.spawn(["ask", &id, QUESTION]);
    server.wait_for_requests(made + 2);
    running.signal(Signal::SIGINT);
    let interrupted = running.wait().expect_code(130);
    assert!(interrupted.stderr.contains(&format!("dialectic ask {id}")), "{interrupted}");
    server.set_script(|request| if is_question(request) { Reply::error(400, "no such thing") } else { reply(request) });
    let failed = sandbox.run(["ask", &id, QUESTION]).expect_code(3);
    assert!(failed.stderr.contains("the judge did not answer") && failed.stderr.contains("no such thing"), "{failed}");
    let state = sandbox.state(&id);
    assert_eq!(state["followUps"].as_array().unwrap().len(), 1);
    assert_eq!((&state["followUps"][0]["answer"], &state["failures"]), (&Value::Null, &Value::Null));
    server.set_script(reply);
    sandbox.run(["ask", &id, QUESTION]).expect_code(0);
    let state = sandbox.state(&id);
    assert_eq!(state["followUps"].as_array().unwrap().len(), 1);
    assert!(state["followUps"][0]["answer"].is_string());
    let nothing = sandbox.run(["ask", &id]).expect_code(2);
    assert!(nothing.stderr.contains("the question is missing"), "{nothing}");
    let beginning = sandbox.run(["ask", &id[..id.len() - 3]]).expect_code(2);
    assert!(beginning.stderr.contains("the question is missing"), "{beginning}");
    sandbox.run(["ask"]).expect_code(2);
    sandbox.run(["ask", &id, "  "]).expect_code(2);
    sandbox.assert_state_is_the_fold(&id);
}

#[test]
fn only_the_judge_needs_a_key_and_only_a_finished_debate_can_be_asked() {
    let (sandbox, _server, _) = failed();
    let refused = sandbox.run(["ask", "latest", QUESTION]).expect_code(2);
    assert!(refused.stderr.contains("it has no solution") && refused.stderr.contains("dialectic resume"), "{refused}");
}

#[test]
fn offline_debates_are_asked_offline() {
    let sandbox = Sandbox::new();
    sandbox.run(["debate", "Design a queue that never loses a job", "--offline", "-r", "1"]).expect_code(0);
    let id = sandbox.only_debate();
    let asked = sandbox.run(["ask", &id, "What happens to a job when the machine restarts?"]).expect_code(0);
    assert!(asked.stdout.starts_with("This is a rehearsal: no model was called"), "{asked}");
    assert!(asked.stdout.contains("“What happens to a job when the machine restarts?”"), "{asked}");
    sandbox.assert_state_is_the_fold(&id);
}

#[test]
fn words_show_while_they_come_and_the_answer_stays() {
    let (sandbox, server, id) = debated(&json!({}));
    let gate = Gate::shut();
    let held = gate.clone();
    server.set_script(move |request| reply(request).held(&held));
    let mut terminal = Terminal::start_in(60, 30, &sandbox, ["ask", &id, QUESTION]);
    terminal.wait_for("answering");
    gate.open();
    let (_, screen) = terminal.expect_code(0);
    let shown = screen.text();
    assert!(shown.contains("Half of it is enough.") && shown.contains("• Drop"), "{shown}");
    assert!(shown.lines().all(|line| line.chars().count() <= 60), "{shown}");
}

#[test]
fn what_a_question_costs_is_said_and_asked_about_as_for_a_debate() {
    let Debated { server, sandbox, id, .. } = Debated::of_two(&json!({}), reply);
    let made = server.requests().len();
    // Nobody knows what it costs: a limit cannot hold.
    let refused = sandbox.run(["ask", &id, QUESTION, "--max-cost", "0.2"]).expect_code(4);
    assert!(
        refused.stderr.contains("no price is known for model-judge") && refused.stderr.contains("`prices`"),
        "{refused}"
    );
    assert_eq!(server.requests().len(), made);
    let sandbox = sandbox.env("CI", "");
    let mut terminal = Terminal::start(&sandbox, ["ask", &id, QUESTION]);
    terminal.wait_for("1 call, of unknown cost");
    terminal.wait_for("Ask it? [y/N]");
    terminal.type_line("n");
    let (output, _) = terminal.expect_code(0);
    assert!(output.contains("Nothing was started."), "{output}");
    assert_eq!(server.requests().len(), made);
    assert_eq!(sandbox.state(&id)["followUps"], Value::Null, "it is not on record either");
    // Without a terminal, it is reported and asked.
    let told = sandbox.run(["ask", &id, QUESTION]).expect_code(0);
    assert!(told.stderr.contains("1 call, of unknown cost (no price is known for model-judge)"), "{told}");
}

/// Older programs saved no settings: the judge is that of the configuration, and its price has to be known, too.
#[test]
fn a_limit_needs_a_price_also_where_the_configuration_lends_the_judge() {
    let server = MockServer::with(reply);
    let sandbox = two_agents(&server, &json!({}));
    sandbox.write("debates/simple.json", include_str!("../fixtures/simple.json"));
    let refused = sandbox.run(["ask", "simple", QUESTION, "--max-cost", "0.2"]).expect_code(4);
    assert!(refused.stderr.contains("no price is known for model-judge"), "{refused}");
    assert!(server.requests().is_empty());
}
