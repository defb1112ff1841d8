//! The arena, against a server whose agents decide what a script says and whose judge follows one.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use crate::support::{Incoming, MockServer, Reply, Sandbox, answer, config, sample};

/// With one major requirement.
pub(crate) const PROBLEM: &str = "Design the store of a shop.\n- It must not lose an order.";

/// What the judge of a script says of decisions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Related {
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
    let headings = request.prompt().lines().filter_map(|line| line.strip_prefix("## Text "));
    headings.map(str::to_owned).collect()
}

/// A text of whoever is asked, with these decisions.
fn text(decides: &str) -> Reply {
    Reply::text(format!(
        "## Approach\n\nThe same words each time.\n\n## Requirements Coverage\n\n- All.\n\n## Decisions\n- {decides}"
    ))
}

/// The answer to a request of an arena.
pub(crate) fn script(request: &Incoming, related: Related, misses: &[&str]) -> Reply {
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
        "vote" => Reply::json(json!({"choice": "1", "confidence": 70, "reason": "It is the plainest."})),
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
            &json!({"base": "1", "tradeoffs": [], "recommendations": [], "unfulfilledMajorRequirements": [],
                "openQuestions": [], "confidence": 70}),
        )),
        "mark the kinds of argument" => {
            let shown = request.prompt().lines().filter(|line| line.starts_with("## Contribution ")).count();
            let texts: Vec<Value> = (1..=shown).map(|text| json!({"text": text, "kinds": []})).collect();
            Reply::json(json!({"texts": texts}))
        }
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
fn each_path_makes_as_many_calls_as_its_course_needs() {
    const GRAVE: &str = "It must not lose an order.";
    for (path, calls, agree_from, misses) in [
        ("converged at once", 16, 1, &[][..]),
        ("converged after three revisions", 24, 3, &[]),
        ("voted after three rounds", 30, 4, &[]),
        ("extended after an agreement, and converged at once", 28, 1, &[GRAVE]),
        ("extended after a vote", 48, 4, &[GRAVE]),
    ] {
        let rounds = AtomicUsize::new(0);
        let server = MockServer::with(move |request| {
            let is_comparison = request.task() == "relate the decisions";
            let round = rounds.fetch_add(usize::from(is_comparison), Ordering::SeqCst) + usize::from(is_comparison);
            // Behind an extension there is a fourth.
            let agree = round >= agree_from && (agree_from < 4);
            script(request, if agree { Related::Same } else { Related::Not }, misses)
        });
        // Votes are for whoever is shown first: the quorum is met, and the judge decides where they differ.
        let sandbox = arena(&server, &json!({}));
        let (finished, state) = sandbox.debated(["debate", PROBLEM]);
        assert_eq!(server.requests().len(), calls, "{path}: {:?}\n{finished}", by_task(&server));
        server.assert_clean();
        let last = state["rounds"].as_array().unwrap().last().unwrap();
        let (agrees, extends) = (agree_from < 4, !misses.is_empty());
        let agreement = if agrees { 100.0 } else { 0.0 };
        assert_eq!(last["convergence"]["agreement"].as_f64(), Some(agreement), "{}", last["convergence"]);
        assert_eq!(state["extensions"].as_array().map_or(0, Vec::len), usize::from(extends));
        assert_eq!(state["voting"].is_object(), !agrees);
        assert_eq!(state["rounds"].as_array().unwrap().len(), agree_from.min(3) + usize::from(extends), "{path}");
        // A round after the last planned one is counted with them.
        let begun = state["rounds"].as_array().unwrap().len();
        let most = begun.max(3);
        assert!(finished.stderr.contains(&format!("round {begun}/{most}: ")), "{finished}");
        let report = sandbox.run(["report", "latest"]).expect_code(0).stdout;
        let rounds = if begun > 3 {
            format!("- Rounds: {begun}, 1 more than the 3")
        } else {
            format!("- Rounds: {begun} of 3\n")
        };
        assert!(report.contains(&rounds), "{report}");
    }
}

/// The calls of a dry run.
fn planned(sandbox: &Sandbox, arguments: &[&str]) -> Vec<Value> {
    let json = sandbox.run(arguments.iter().copied().chain(["--dry-run", "--json"])).expect_code(0).stdout;
    serde_json::from_str::<Value>(&json).unwrap()["calls"].as_array().unwrap().clone()
}

/// The least and the greatest number of calls by a dry run. No figure runs from more to less.
fn foreseen(sandbox: &Sandbox) -> (usize, usize) {
    let planned = planned(sandbox, &["debate", PROBLEM]);
    for call in &planned {
        for span in [&call["inputTokens"], &call["outputTokens"]] {
            assert!(span["low"].as_u64() <= span["high"].as_u64(), "{call}");
        }
    }
    (planned.iter().filter(|call| call["certain"] == true).count(), planned.len())
}

#[test]
fn a_dry_run_bounds_whatever_the_judge_makes_of_it() {
    const GRAVE: &str = "It must not lose an order.";
    // What is agreed on in each round, and whether the judge finds something against that.
    let cases: [(Value, &[Related], bool, &[&str]); 7] = [
        (json!({}), &[], false, &[GRAVE]),
        (json!({"extendedRounds": 3}), &[], false, &[GRAVE]),
        (json!({"extendedRounds": 0}), &[], false, &[GRAVE]),
        (json!({"trickster": true, "extendedRounds": 0}), &[Related::Same, Related::Same], true, &[]),
        (json!({"trickster": true}), &[Related::Same, Related::Same], true, &[GRAVE]),
        (json!({"trickster": true, "observer": true}), &[Related::Same, Related::Not, Related::Same], true, &[GRAVE]),
        (json!({"trickster": true, "extendedRounds": 0}), &[Related::Same], false, &[]),
    ];
    for (settings, agreements, challenges, misses) in sample(cases, 3) {
        let rounds = AtomicUsize::new(0);
        let server = MockServer::with(move |request| match request.task() {
            "relate the decisions" => {
                let round = rounds.fetch_add(1, Ordering::SeqCst);
                script(request, agreements.get(round).copied().unwrap_or(Related::Not), misses)
            }
            "challenge the agreement" => {
                let claims = if challenges { json!(["Every shop has one warehouse."]) } else { json!([]) };
                Reply::json(json!({"claims": claims, "points": []}))
            }
            _ => script(request, Related::Not, misses),
        });
        let sandbox = arena(&server, &settings);
        let (least, most) = foreseen(&sandbox);
        sandbox.run(["debate", PROBLEM]).expect_code(0);
        let made = server.requests().len();
        let all = by_task(&server);
        assert!((least..=most).contains(&made), "{settings}: {made} of {least} to {most}: {all:?}");
        // Here the judge does all that it can to go on.
        assert!(agreements.len() == 1 || made == most, "{settings}: {made} of {most}: {all:?}");
    }
    // Where all decide in the same words nobody is asked whether they do.
    for (settings, calls) in [(json!({}), 15), (json!({"trickster": true}), 16)] {
        let server = MockServer::with(|request| match request.task() {
            "propose" | "revise" => text("Keep it"),
            "challenge the agreement" => Reply::json(json!({"claims": [], "points": []})),
            _ => script(request, Related::Not, &[]),
        });
        let sandbox = arena(&server, &settings);
        // Whether there is a challenge depends on an agreement, so that none counts at the lower end.
        assert_eq!(foreseen(&sandbox).0, 15, "{settings}");
        sandbox.run(["debate", PROBLEM]).expect_code(0);
        assert_eq!(server.requests().len(), calls, "{settings}: {:?}", by_task(&server));
    }
}

#[test]
fn an_agreement_over_a_grave_point_that_nobody_answered_is_sent_back_twice_at_most() {
    const POINT: &str = "Two workers take one order at once";
    let server = MockServer::with(|request| match request.task() {
        "critique" => {
            Reply::text(format!("## New points\n\n1. [blocking] Orders: {POINT}. Resolved by: a lock on the order."))
        }
        // What nobody supports, and the first point of the list where there is one.
        "challenge the agreement" => {
            let has_points = request.prompt().contains("# Points that have no answer");
            let listed = request.prompt().split("```points\n").nth(1).unwrap_or_default();
            let number = listed.split(' ').next().unwrap_or_default();
            let points = if has_points { json!([number]) } else { json!([]) };
            Reply::json(json!({"claims": ["Every shop has one warehouse."], "points": points}))
        }
        _ => script(request, Related::Same, &[]),
    });
    let mut settings = json!({"trickster": true, "extendedRounds": 0});
    let sandbox = arena(&server, &settings);
    let (_, state) = sandbox.debated(["debate", PROBLEM, "-r", "5"]);
    let challenges = asked(&server, "challenge the agreement");
    assert_eq!(challenges.len(), 2, "{:?}", by_task(&server));
    assert!(challenges[0].prompt().contains(POINT), "{}", challenges[0].prompt());
    assert!(!challenges[0].prompt().contains("agent-"), "{}", challenges[0].prompt());
    let rounds = state["rounds"].as_array().unwrap();
    assert_eq!(rounds.len(), 3, "the third agreement stands");
    assert!(state["voting"].is_null());
    for round in &rounds[..2] {
        assert_eq!(round["convergence"]["agreement"].as_f64(), Some(100.0));
        assert_eq!(round["challenge"]["claims"][0], "Every shop has one warehouse.");
        assert!(round["challenge"]["points"][0]["text"].as_str().unwrap().contains(POINT), "{round}");
    }
    // It goes back to the agents.
    let reworked = asked(&server, "rework");
    assert_eq!(reworked.len(), 6);
    for request in &reworked {
        let prompt = request.prompt();
        assert!(prompt.contains("Nobody has answered this point") && prompt.contains(POINT), "{prompt}");
        assert!(prompt.contains("nobody supports it: Every shop has one warehouse."), "{prompt}");
    }
    // Without a trickster the first one stands.
    settings["trickster"] = json!(false);
    server.forget();
    arena(&server, &settings).run(["debate", PROBLEM, "-r", "5"]).expect_code(0);
    assert_eq!((asked(&server, "challenge the agreement").len(), asked(&server, "rework").len()), (0, 0));
}

#[test]
fn keys_that_the_protocol_takes_no_notice_of_are_warned_of() {
    let settings = json!({"debate": {"rounds": 1, "memory": true, "arena": {"observer": true}}});
    let sandbox = Sandbox::new().config(&settings);
    let warned = sandbox.run(["debate", "--offline", "--dry-run", PROBLEM]).expect_code(0).stderr;
    assert!(
        warned.contains("`debate.memory` has no effect: the protocol `dialectic` does not use past debates"),
        "{warned}"
    );
    assert!(warned.contains("`debate.arena` has no effect under the protocol `dialectic`"), "{warned}");
    let checked = sandbox.run(["config", "check"]);
    assert!(checked.stderr.contains("`debate.memory` has no effect"), "{checked}");
    let heeded = sandbox.run(["debate", "--offline", "--dry-run", "--protocol", "arena", PROBLEM]).expect_code(0);
    assert!(!heeded.stderr.contains("has no effect"), "{heeded}");
}

#[test]
fn the_second_debate_is_shown_the_first_and_ratings_grow_with_each() {
    let server = MockServer::with(|request| script(request, Related::Same, &[]));
    let mut settings = config(
        &["architect", "kiss", "testing"],
        &json!({"protocol": "arena", "memory": true, "arena": {"team": {"size": 2}}}),
    );
    settings["debate"]["seed"] = json!(7);
    let sandbox = Sandbox::new().model_server(&server).config(&settings);
    let subject = "Where does the shop store its orders, and how are lost orders found?";
    sandbox.run(["debate", subject]).expect_code(0);
    let first = sandbox.only_debate();
    assert!(server.requests().iter().all(|request| !request.prompt().contains("From an earlier debate")));
    server.forget();
    sandbox.run(["debate", "How does the shop find lost orders in its store?"]).expect_code(0);
    let second = sandbox.debates().into_iter().find(|id| *id != first).unwrap();
    let state = sandbox.state(&second);
    let material = &state["gathered"]["material"][0];
    assert_eq!(material["source"], "memory", "{}", state["gathered"]);
    assert!(material["name"].as_str().unwrap().contains(&first), "{material}");
    for request in server.requests().iter().filter(|request| request.task() == "propose") {
        assert!(request.prompt().contains("From an earlier debate: the debate"), "{}", request.prompt());
        assert!(request.prompt().contains("One store."), "what was decided");
    }
    // What is unknown adds nothing, and equals are chosen in the order of the configuration.
    let chosen = |state: &Value| -> Vec<String> {
        let all = state["selection"]["candidates"].as_array().unwrap().iter();
        let chosen = all.filter(|one| one["chosen"] == true);
        chosen.map(|one| one["agentId"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(chosen(&sandbox.state(&first)), ["agent-architect", "agent-kiss"]);
    assert_eq!(chosen(&state), ["agent-architect", "agent-kiss"], "{}", state["selection"]);
    assert_eq!(state["selection"]["candidates"][2]["score"], 0.0, "{}", state["selection"]);
    sandbox.run(["list", "--text", "storing lost orders", "--json"]).expect_code(0).prints([&first, &second]);
}

#[test]
fn commands_run_after_the_questions_and_when_the_debate_is_resumed() {
    let answer = |request: &Incoming| match request.task() {
        "clarify" => Reply::json(json!({"questions": []})),
        _ => script(request, Related::Same, &[]),
    };
    let (server, gate) = MockServer::held(answer, |request| request.task() == "clarify");
    let sandbox = arena(&server, &json!({"contextCommands": ["touch ran; echo ticket 4711"]}));
    let ran = || sandbox.files().iter().any(|(path, _)| path.ends_with("ran"));
    let running = sandbox.spawn(["debate", PROBLEM, "--clarify"]);
    server.wait_for_requests(3);
    assert!(!ran(), "material is collected after the questions");
    running.kill();
    gate.open();
    sandbox.run(["resume", "latest"]).expect_code(0);
    assert!(ran());
}

#[test]
fn a_dry_run_runs_no_command_and_foresees_what_they_print_at_most() {
    let server = MockServer::with(|request| script(request, Related::Same, &[]));
    let print = "touch ran; head -c 50000 /dev/zero | tr '\\0' x";
    let sandbox = arena(&server, &json!({"contextCommands": [print]})).file("docs/README.md", "A shop. ".repeat(400));
    let arguments = ["debate", PROBLEM, "-c", "debate-config.json", "--context", "docs"];
    let with = most_input(&planned(&sandbox, &arguments), "proposal");
    assert!(!sandbox.files().iter().any(|(path, _)| path.ends_with("ran") || path.ends_with("archive.sqlite")));
    // Without them, nothing is added to what is known.
    let without = arena(&server, &json!({})).file("docs/README.md", "A shop. ".repeat(400));
    let without = most_input(&planned(&without, &["debate", PROBLEM, "--context", "docs"]), "proposal");
    let (_, state) = sandbox.debated(arguments);
    let printed = state["gathered"]["material"].as_array().unwrap().iter().find(|one| one["source"] == "command");
    assert_eq!(printed.unwrap()["text"].as_str().unwrap().len(), 16_000);
    // Each call is within its figures: most bytes a token has are five.
    let sent = asked(&server, "propose").iter().map(|request| request.text().len()).max().unwrap();
    assert!(sent / 5 < with && without < with, "{sent} bytes, {with} tokens, {without} without commands");
}

/// The most tokens that a call of a stage reads by a dry run.
fn most_input(planned: &[Value], stage: &str) -> usize {
    let of_stage = planned.iter().filter(|call| call["key"]["phase"] == stage);
    let most = of_stage.filter_map(|call| call["inputTokens"]["high"].as_u64()).max();
    usize::try_from(most.expect("the stage makes calls")).unwrap()
}

#[test]
fn nobody_who_compares_or_scores_is_told_a_name() {
    let server = MockServer::with(|request| script(request, Related::Not, &[]));
    arena(&server, &json!({})).run(["debate", PROBLEM]).expect_code(0);
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
            .split("## Text ")
            .skip(1)
            .map(|part| part.split_once('\n').unwrap().1.split("\n# ").next().unwrap().trim().to_owned());
        parts.collect::<Vec<_>>()
    };
    let (mut first, second) = (texts(&scored[0]), texts(&scored[1]));
    first.reverse();
    assert_eq!(first, second);
}

#[test]
fn commands_of_the_users_give_material_and_get_no_keys() {
    let server = MockServer::with(|request| script(request, Related::Same, &[]));
    let commands = json!(["echo ticket 4711", "exit 3", "echo key=${OPENAI_API_KEY-none}"]);
    let sandbox = arena(&server, &json!({"contextCommands": commands}));
    let sandbox = sandbox.file("shop/README.md", "The shop sells bells.").file("shop/src/main.rs", "fn main() {}");
    let named = sandbox.run(["debate", PROBLEM, "-c", "debate-config.json", "--context", "shop"]).expect_code(0);
    assert!(named.stderr.contains("command exit 3: it exited unsuccessfully"), "{named}");
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
    assert!(material[3]["error"].as_str().unwrap().contains("exited unsuccessfully"));
}

#[test]
fn it_runs_without_a_model_and_its_reports_say_how_it_went() {
    let settings = json!({"debate": {"protocol": "arena", "arena": {"observer": true, "trickster": true}}});
    let sandbox = Sandbox::new().config(&settings);
    let finished = sandbox.run(["debate", "--offline", PROBLEM]).expect_code(0).prints(["## Requirements Coverage"]);
    sandbox.run(["report", "-d", "latest", "-o", "report.md"]).expect_code(0);
    sandbox.run(["report", "-d", "latest", "-o", "report.html"]).expect_code(0);
    let (markdown, page) = (sandbox.read("report.md"), sandbox.read("report.html"));
    for heading in ["### Team", "### Agreement", "### Kinds of argument"] {
        assert!(markdown.contains(heading), "{heading}\n{markdown}");
    }
    for caption in ["Agreement and stability by round", "Kinds of argument found by an observer", "Candidates"] {
        assert!(page.contains(caption), "{caption}");
    }
    // Nobody debated a motion: solutions were scored.
    assert!(markdown.contains("| Agent | Mean score |") && !markdown.contains("ebater"), "{markdown}");
    assert!(page.contains("Scores of the texts, 0 to 100") && !page.contains("ebater"), "{page}");
    let id = sandbox.only_debate();
    // What was the winner's own is not marked as taken from it, and whose letters there are is said on the page too.
    let base = markdown.lines().find_map(|line| line.strip_suffix(" (the base)")).expect("there is a base");
    let letter = base.strip_prefix("- Text ").and_then(|rest| rest.split(':').next()).unwrap();
    assert!(!finished.stdout.contains(&format!("from Text {letter}")), "{base}\n{finished}");
    assert!(page.contains("(the base)"), "{page}");
    sandbox.run(["verify", &id]).expect_code(0);
    sandbox.run(["fork", &id, "--at", "1.convergence"]).expect_code(0);
    let refused = sandbox.run(["fork", &id, "--at", "1.scoring"]).expect_code(2).stderr;
    assert!(refused.contains("scoring is a kind of call within the stage judgement"), "{refused}");
    assert!(refused.contains("`1.judgement`"), "{refused}");
}
