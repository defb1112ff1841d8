//! The arena, against a server whose agents decide what a script says and whose judge follows one.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use crate::resume::recorded_calls;
use crate::support::{Incoming, MockServer, Reply, Sandbox, answer, config};
use crate::timing::without_times;

const PROBLEM: &str = "Design the store of a shop.\n- It must not lose an order.";

/// What the judge of a script says of decisions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Related {
    Same,
    Not,
}

/// The numbers of the decisions that a prompt lists.
fn decisions(request: &Incoming) -> Vec<usize> {
    let prompt = request.prompt();
    let listed = prompt.split("# Decisions").nth(1).unwrap().split("# Your role").next().unwrap();
    let numbers = listed.lines().filter_map(|line| line.split_once(". ")?.0.parse().ok());
    numbers.collect()
}

fn labels(request: &Incoming) -> Vec<String> {
    let headings = request.prompt().lines().filter_map(|line| line.strip_prefix("## Candidate "));
    headings.map(str::to_owned).collect()
}

/// A text of whoever is asked, with these decisions.
fn text(decides: &str) -> Reply {
    Reply::text(format!(
        "## Approach\n\nThe same words each time.\n\n## Requirements Coverage\n\n- All.\n\n## Decisions\n- {decides}"
    ))
}

fn script(request: &Incoming, related: Related, misses: &[&str]) -> Reply {
    let own = request.model().to_owned();
    match request.task() {
        "propose" | "revise" | "rework" | "write your last word" => text(&format!("Keep it as {own} says")),
        "critique" => Reply::text("No objections."),
        "relate the decisions" => {
            let all = decisions(request);
            let row = |number: &usize| {
                let others: Vec<usize> = all.iter().copied().filter(|other| other != number).collect();
                let same = if related == Related::Same { others } else { Vec::new() };
                json!({"decision": number, "same": same, "opposite": [], "requirement": 1})
            };
            Reply::json(json!({"decisions": all.iter().map(row).collect::<Vec<_>>()}))
        }
        "vote" => Reply::json(json!({"choice": "A", "confidence": 70, "reason": "It is the plainest."})),
        "score the candidates" => {
            let labels = labels(request);
            let rows = labels.iter().map(|label| {
                let criteria = ["requirements", "soundness", "feasibility", "evidence"];
                let scores = criteria.map(|criterion| json!({"criterion": criterion, "score": 60}));
                json!({"candidate": label, "scores": scores, "missing": misses})
            });
            Reply::json(json!({"candidates": rows.collect::<Vec<_>>(), "reasoning": "All are alike."}))
        }
        "write the answer" => Reply::text(answer(
            "## Design\n\nOne store.\n\n## Requirements Coverage\n\n- All of it.",
            &json!({"base": "A", "tradeoffs": [], "recommendations": [], "unfulfilledMajorRequirements": [],
                "openQuestions": [], "confidence": 70}),
        )),
        other => Reply::error(400, &format!("no answer to `{other}`")),
    }
}

fn arena(server: &MockServer, arena: &Value) -> Sandbox {
    let mut settings =
        config(&["architect", "kiss", "testing"], &json!({"protocol": "arena", "rounds": 3, "arena": arena}));
    settings["debate"]["seed"] = json!(7);
    Sandbox::new().model_server(server).config(&settings)
}

fn by_task(server: &MockServer) -> BTreeMap<String, usize> {
    let mut counted = BTreeMap::new();
    for request in server.requests() {
        *counted.entry(request.task().to_owned()).or_default() += 1;
    }
    counted
}

fn asked(server: &MockServer, task: &str) -> Vec<Arc<Incoming>> {
    server.requests().into_iter().filter(|request| request.task() == task).collect()
}

#[test]
fn each_path_makes_as_many_calls_as_the_documentation_says() {
    for (related, misses, calls) in [
        (Related::Same, &[][..], 16),
        (Related::Not, &[][..], 30),
        (Related::Same, &["It must not lose an order."][..], 28),
        (Related::Not, &["It must not lose an order."][..], 48),
    ] {
        let server = MockServer::with(move |request| script(request, related, misses));
        // Votes are for whoever is shown first: the quorum is met, and the judge decides where they differ.
        let sandbox = arena(&server, &json!({}));
        let finished = sandbox.run(["debate", PROBLEM]).expect_code(0);
        assert_eq!(server.requests().len(), calls, "{related:?} {misses:?} {:?}\n{finished}", by_task(&server));
        server.assert_clean();
        let id = sandbox.only_debate();
        sandbox.assert_state_is_the_fold(&id);
        let state = sandbox.state(&id);
        let last = state["rounds"].as_array().unwrap().last().unwrap();
        let agreement = if related == Related::Same { 100.0 } else { 0.0 };
        assert_eq!(last["convergence"]["agreement"].as_f64(), Some(agreement), "{}", last["convergence"]);
        assert_eq!(last["convergence"]["method"], "lexical");
        assert_eq!(state["extensions"].as_array().map_or(0, Vec::len), usize::from(!misses.is_empty()));
        assert_eq!(state["voting"].is_object(), related == Related::Not);
        sandbox.run(["debate", PROBLEM, "--dry-run"]).expect_code(0);
    }
}

#[test]
fn nobody_who_compares_or_scores_is_told_a_name() {
    let server = MockServer::with(|request| script(request, Related::Not, &[]));
    let sandbox = arena(&server, &json!({}));
    sandbox.run(["debate", PROBLEM]).expect_code(0);
    for task in ["relate the decisions", "vote", "score the candidates", "write the answer"] {
        let requests = asked(&server, task);
        assert!(!requests.is_empty(), "{task}");
        for request in requests {
            assert!(!request.prompt().contains("agent-"), "{task}\n{}", request.prompt());
        }
    }
    let scored = asked(&server, "score the candidates");
    let texts = |request: &Incoming| {
        let parts = request
            .prompt()
            .split("## Candidate ")
            .skip(1)
            .map(|part| part.split_once('\n').unwrap().1.split("\n# ").next().unwrap().trim().to_owned());
        parts.collect::<Vec<_>>()
    };
    let (mut first, second) = (texts(&scored[0]), texts(&scored[1]));
    first.reverse();
    assert_eq!(first, second);
}

#[test]
fn a_run_that_was_killed_ends_as_if_nothing_had_been() {
    let reply = |request: &Incoming| script(request, Related::Not, &["It must not lose an order."]).usage(100, 0, 10);
    let server = MockServer::with(reply);
    let sandbox = arena(&server, &json!({"observer": false}));
    sandbox.run(["debate", PROBLEM]).expect_code(0);
    let (expected, calls) = (without_times(&sandbox.state(&sandbox.only_debate())), server.requests().len());
    for requests in [2, 8, 13, 20, 27, 31, 40, 47] {
        let server = MockServer::with(move |request| reply(request).after(Duration::from_millis(15)));
        let sandbox = arena(&server, &json!({"observer": false}));
        let running = sandbox.spawn(["debate", PROBLEM]);
        server.wait_for_requests(requests);
        std::thread::sleep(Duration::from_millis(9));
        running.kill();
        std::thread::sleep(Duration::from_millis(100));
        let lost = server.requests().len() - recorded_calls(&sandbox);
        sandbox.run(["resume", "latest"]).expect_code(0);
        let id = sandbox.only_debate();
        sandbox.assert_state_is_the_fold(&id);
        let state = without_times(&sandbox.state(&id));
        assert!(state == expected, "{requests}\n{state:#}\n\n{expected:#}");
        assert_eq!(server.requests().len(), calls + lost, "{requests}: a finished call was made again");
    }
}

#[test]
fn a_stage_keeps_to_its_limit_of_calls_in_flight() {
    let server = MockServer::with(|request| script(request, Related::Same, &[]).after(Duration::from_millis(20)));
    let limits = json!({"proposal": 1, "critique": 1, "revision": 1});
    arena(&server, &json!({"maxConcurrency": limits})).run(["debate", PROBLEM]).expect_code(0);
    let proposals: Vec<_> =
        server.exchanges().into_iter().filter(|exchange| exchange.request.task() == "propose").collect();
    assert_eq!(proposals.len(), 3);
    assert!(server.peak_in_flight() <= 3, "{}", server.peak_in_flight());
}

#[test]
fn commands_of_the_users_give_material_and_get_no_keys() {
    let server = MockServer::with(|request| script(request, Related::Same, &[]));
    let commands = json!(["echo ticket 4711", "exit 3", "echo key=${OPENAI_API_KEY-none}"]);
    let sandbox = arena(&server, &json!({"contextCommands": commands}));
    let sandbox = sandbox.file("shop/README.md", "The shop sells bells.").file("shop/src/main.rs", "fn main() {}");
    // Only found: nothing is run.
    let found = sandbox.run(["debate", PROBLEM]).expect_code(0);
    assert!(found.stderr.contains("was found and not named") && found.stderr.contains("--config"), "{found}");
    assert!(!server.requests()[0].prompt().contains("4711"));
    server.forget();
    let named = sandbox.run(["debate", PROBLEM, "-c", "debate-config.json", "--context", "shop"]).expect_code(0);
    assert!(named.stderr.contains("command exit 3: it failed"), "{named}");
    for request in server.requests() {
        let prompt = request.prompt();
        assert!(prompt.contains("ticket 4711") && prompt.contains("key=none"), "{prompt}");
        assert!(prompt.contains("The shop sells bells.") && prompt.contains("src/main.rs"), "{prompt}");
    }
    let gathered = |id: &String| sandbox.state(id)["gathered"]["material"].clone();
    let ran = |material: &Value| material.as_array().unwrap().iter().any(|one| one["text"] == "ticket 4711\n");
    let material = sandbox.debates().iter().map(gathered).find(ran).expect("what the commands printed");
    let sources: Vec<&str> = material.as_array().unwrap().iter().map(|one| one["source"].as_str().unwrap()).collect();
    assert_eq!(sources, ["outline", "readme", "command", "command", "command"]);
    assert!(material[3]["error"].as_str().unwrap().contains("failed"));
}

#[test]
fn it_runs_without_a_model_and_its_reports_say_how_it_went() {
    let settings = json!({"debate": {"protocol": "arena", "arena": {"observer": true, "trickster": true}}});
    let sandbox = Sandbox::new().config(&settings);
    let finished = sandbox.run(["debate", "--offline", PROBLEM]).expect_code(0);
    assert!(finished.stdout.contains("## Requirements Coverage"), "{finished}");
    sandbox.run(["report", "-d", "latest", "-o", "report.md"]).expect_code(0);
    sandbox.run(["report", "-d", "latest", "-o", "report.html"]).expect_code(0);
    let (markdown, page) = (sandbox.read("report.md"), sandbox.read("report.html"));
    for heading in ["### Team", "### Agreement", "### Kinds of argument"] {
        assert!(markdown.contains(heading), "{heading}\n{markdown}");
    }
    for caption in
        ["Agreement and stability over the rounds", "Kinds of argument by agent and round", "Who could be chosen"]
    {
        assert!(page.contains(caption), "{caption}");
    }
    let id = sandbox.only_debate();
    sandbox.run(["verify", &id]).expect_code(0);
    sandbox.run(["replay", &id, "--speed", "max"]).expect_code(0);
    for point in ["0.team-selection", "1.critique", "1.convergence"] {
        sandbox.run(["fork", &id, "--at", point]).expect_code(0);
    }
}
