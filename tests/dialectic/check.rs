//! The check of what is delivered, with models that follow a script: a fault that stands in the draft alone, a change that
//! was announced and never made, a wrong remedy, lenses that fail.

use serde_json::{Value, json};

use crate::support::{Ending, Incoming, MockServer, Reply, Sandbox, config, short_reply};

/// What only the draft says.
const FAULT: &str = "Every node trusts its own clock.";
const MENDED: &str = "Every node asks the store for the time.";
const REST: &str = "## Storage\n\nOne table holds the leases.";

fn judged(text: &str, more: &str) -> Reply {
    Reply::text(format!(
        "{text}\n\n```json\n{{{more}\"tradeoffs\":[],\"recommendations\":[],\"unfulfilledMajorRequirements\":[],\
         \"partlyFulfilled\":[],\"openQuestions\":[],\"title\":\"Leases\",\"confidence\":80}}\n```"
    ))
}

fn lens(request: &Incoming) -> Option<&'static str> {
    ["requirements", "execute", "facts"]
        .into_iter()
        .find(|lens| request.task() == "check" && request.prompt().contains(&format!("\nLens: {lens}\n")))
}

fn script_of_a_draft() -> Reply {
    judged(&format!("# Leases\n\n## Clocks\n\n{FAULT}\n\n{REST}"), "")
}

/// A judge whose draft has a fault that one lens finds, and who fixes it.
#[expect(clippy::match_same_arms, reason = "a row for each task")]
fn script(request: &Incoming) -> Reply {
    match (request.task(), lens(request)) {
        ("synthesise", _) => script_of_a_draft(),
        (_, Some("execute")) => {
            assert!(!request.prompt().contains("# Your role"), "a checker has no role");
            Reply::text("1. [blocking] Clocks: they drift. Resolved by: the store's time.")
        }
        (_, Some("facts")) => Reply::text("1. [major] Storage: a table is slow. Resolved by: a second table."),
        (_, Some(_)) => Reply::text("No objections."),
        ("finalise", _) => judged(
            &format!(
                "# Leases\n\n## Clocks\n\n{MENDED}\n\n{REST}\n\n## Response to the check\n\n\
                 - D1 accepted (Clocks): the store says what time it is.\n- D2 rejected: a table with an index takes 1 ms."
            ),
            "\"approach\":\"kept\",",
        ),
        ("critique", _) => Reply::text("No objections."),
        ("review the texts", _) => {
            Reply::text(["1", "2", "3"].map(|number| format!("## Text {number}\n\nNo objections.\n")).concat())
        }
        _ => short_reply(request),
    }
}

fn sandbox(server: &MockServer, debate: &Value) -> Sandbox {
    Sandbox::new().model_server(server).config(&config(&["architect", "kiss", "testing"], debate))
}

fn run(server: &MockServer, debate: &Value) -> (Sandbox, Value) {
    let sandbox = sandbox(server, debate);
    let (_, state) = sandbox.debated(["debate", "Design a lock service", "--quiet"]);
    (sandbox, state)
}

fn count(server: &MockServer, task: &str) -> usize {
    server.requests().iter().filter(|request| request.task() == task).count()
}

#[test]
fn a_fault_in_the_draft_alone_is_found_answered_and_gone_and_a_wrong_remedy_changes_nothing() {
    for protocol in ["dialectic", "council"] {
        let server = MockServer::with(script);
        let (_, state) = run(&server, &json!({"protocol": protocol, "check": 3, "seed": 1}));
        let description = state["finalSolution"]["description"].as_str().unwrap();
        assert!(!description.contains(FAULT) && description.contains(MENDED), "{description}");
        assert!(description.contains(REST) && !description.contains("Response to the check"), "{description}");
        assert!(state["draft"]["description"].as_str().unwrap().contains(FAULT));
        let checks = state["checks"].as_array().unwrap();
        let kinds: Vec<&str> = checks.iter().map(|one| one["type"].as_str().unwrap()).collect();
        assert_eq!(kinds, ["synthesis", "check", "check", "check", "final"]);
        let lenses: Vec<&str> = checks.iter().filter_map(|one| one["metadata"]["lens"].as_str()).collect();
        assert_eq!(lenses, ["requirements", "execute", "facts"]);
        assert_eq!(checks[1]["targetAgentId"], "judge");
        let rounds = state["rounds"].to_string();
        assert!(!rounds.contains("\"check\"") && !rounds.contains(MENDED), "{rounds}");
        let points = state["ledger"].as_array().unwrap().iter();
        let of_check: Vec<&Value> = points.filter(|one| one["number"].as_str().unwrap().starts_with('D')).collect();
        let [accepted, rejected] = of_check[..] else { panic!("{}", state["ledger"]) };
        let answer = |one: &Value| json!([one["number"], one["answer"], one["reason"]]);
        assert_eq!(answer(accepted), json!(["D1", "accepted", "the store says what time it is."]));
        assert_eq!(answer(rejected), json!(["D2", "rejected", "a table with an index takes 1 ms."]));
        assert!(
            description.contains("Nobody has checked the changes made in response to D1 (Clocks)."),
            "{description}"
        );
        // The judge rules on what it rejects; what it accepts stays its claim.
        assert_eq!((&rejected["open"], &rejected["ruling"]["decision"]), (&json!(false), &json!("dismissed")));
        assert!(accepted.get("ruling").is_none(), "{state}");
        let ruled = "- D2 (major), dismissed: Storage: a table is slow.\n  Reason: a table with an index takes 1 ms.\n";
        assert!(description.contains(ruled), "{description}");
        assert_eq!(state["outcome"]["kind"], "full", "{}", state["outcome"]);
        assert_eq!(server.requests().len(), if protocol == "council" { 11 } else { 17 });
    }
}

#[test]
fn an_accepted_point_without_a_change_is_not_found_and_brings_the_answer_back() {
    for answers in [true, false] {
        not_found(answers);
    }
}

/// A debate with a point that is accepted and not found, which the final text answers or passes over.
fn not_found(answers: bool) {
    let server = MockServer::with(move |request| match (request.task(), request.model()) {
        ("critique", "model-kiss") => Reply::text("1. [major] Clocks: they drift. Resolved by: the store's time."),
        ("critique", _) => Reply::text("No objections."),
        ("refine", _) if request.prompt().contains("they drift") => {
            let prompt = request.prompt();
            let at = prompt.find("Clocks: they drift").unwrap();
            let number = prompt[..at]
                .rsplit(|c: char| !c.is_ascii_digit() && c != '.')
                .find(|word| word.split_once('.').is_some_and(|(text, point)| !text.is_empty() && !point.is_empty()));
            let number = number.map_or("1.1", |number| number.trim_end_matches('.'));
            Reply::text(format!(
                "# Locks\n\n{FAULT}\n\n## Requirements Coverage\n\nAll.\n\n## Response to critiques\n\n- {number} accepted (Clocks): changed."
            ))
        }
        ("check", _) if lens(request) == Some("requirements") => {
            let prompt = request.prompt();
            let list = &prompt[prompt.find("# Accepted points").expect("the first lens sees what was accepted")..];
            let at = list.find("[major] Clocks").unwrap();
            let number = list[..at].trim_end().rsplit(' ').next().unwrap();
            Reply::text(format!(
                "## Accepted points\n\n- {number} not found: the clock is still trusted.\n\n## New points\n\nNo objections."
            ))
        }
        ("check", _) => {
            assert!(!request.prompt().contains("# Accepted points"), "only the first lens needs them");
            Reply::text("No objections.")
        }
        ("finalise", _) => {
            let prompt = request.prompt();
            assert!(prompt.contains("the clock is still trusted"), "{prompt}");
            let at = prompt.find("[major] Clocks").unwrap();
            let number = prompt[..at].trim_end().rsplit(' ').next().unwrap();
            let answer = format!("\n\n## Response to the check\n\n- {number} accepted (Clocks): the store's time.");
            let answer = if answers { &answer } else { "" };
            judged(&format!("# Locks\n\n{MENDED}{answer}"), "\"approach\":\"kept\",")
        }
        ("synthesise", _) => judged(&format!("# Locks\n\n{FAULT}"), ""),
        _ => short_reply(request),
    });
    let (_, state) = run(&server, &json!({"check": 3, "seed": 1}));
    assert_eq!(count(&server, "finalise"), 1);
    let missing = state["ledger"].as_array().unwrap().iter().find(|one| one["check"]["found"] == "notFound");
    let number = missing.unwrap_or_else(|| panic!("{}", state["ledger"]))["number"].as_str().unwrap();
    // It is answered with the text that nobody reads again.
    let description = state["finalSolution"]["description"].as_str().unwrap();
    let unverified = format!("Nobody has checked the changes made in response to {number}");
    assert_eq!(description.contains(&unverified), answers, "{description}");
    assert_eq!(description.contains(&format!("There was no response to {number}")), !answers, "{description}");
    assert!(state["finalSolution"]["description"].as_str().unwrap().contains(MENDED));
}

#[test]
fn a_lens_that_fails_degrades_and_so_does_a_final_text_that_is_cut() {
    let server = MockServer::with(|request| match lens(request) {
        Some("facts") => Reply::error(400, "no facts today"),
        Some(_) => Reply::text("No objections."),
        None => script(request),
    });
    let (_, state) = run(&server, &json!({"check": 3}));
    let reasons = state["outcome"]["reasons"].to_string();
    assert_eq!(state["outcome"]["kind"], "degraded");
    assert!(reasons.contains("the answer was not checked for facts"), "{reasons}");
    let description = state["finalSolution"]["description"].as_str().unwrap();
    assert!(
        description.contains("The answer was not checked for facts.") && description.contains(FAULT),
        "{description}"
    );

    let server = MockServer::with(|request| match request.task() {
        "finalise" => script(request).ending(Ending::OutputLimit),
        _ => script(request),
    });
    let (_, state) = run(&server, &json!({"check": 3}));
    assert_eq!(state["outcome"]["kind"], "degraded");
    let description = state["finalSolution"]["description"].as_str().unwrap();
    assert!(
        description.contains(FAULT)
            && description.contains("Nothing was changed in response to D1 (Clocks) and D2 (Storage)."),
        "{description}"
    );
}

#[test]
fn a_quick_council_has_two_agents_and_one_checker() {
    let server = MockServer::with(|request| match request.task() {
        "synthesise" => judged(&format!("# Leases\n\n{FAULT}"), ""),
        "check" => Reply::text("1. [major] Clocks: they drift. Resolved by: the store's time."),
        _ => script(request),
    });
    let sandbox = sandbox(&server, &json!({"rounds": 3}));
    sandbox.run(["debate", "Design a lock service", "--quick", "--quiet"]).expect_code(0);
    assert_eq!(server.requests().len(), 7);
    assert_eq!(sandbox.state(&sandbox.only_debate())["outcome"]["kind"], "full");
    sandbox.run(["debate", "x", "--quick", "--protocol", "dialectic"]).expect_code(2).says(["--quick"]);
    sandbox.run(["debate", "x", "--protocol", "council", "--until", "quality"]).expect_code(2).says(["--until"]);
}

#[test]
fn a_fork_of_a_council_takes_its_proposals_into_a_dialectic() {
    let server = MockServer::with(script);
    let (sandbox, council) = run(&server, &json!({"protocol": "council", "check": 0}));
    let before = server.requests().len();
    let id = sandbox.only_debate();
    sandbox
        .run(["fork", &id, "--protocol", "dialectic", "--set", "debate.seed=4", "--set", "debate.rounds=2", "--quiet"])
        .expect_code(0);
    let tasks: Vec<String> = server.requests()[before..].iter().map(|request| request.task().to_owned()).collect();
    assert!(!tasks.contains(&"propose".to_owned()), "{tasks:?}");
    assert_eq!(tasks.iter().filter(|task| *task == "critique").count(), 12, "{tasks:?}");
    let forked = sandbox.debates().into_iter().find(|other| *other != id).unwrap();
    let state = sandbox.state(&forked);
    let proposals = |state: &Value| {
        let all = state["rounds"][0]["contributions"].as_array().unwrap().clone();
        all.into_iter().filter(|one| one["type"] == "proposal").map(|one| one["content"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(proposals(&state), proposals(&council));
}

#[test]
fn what_the_judge_meets_in_part_or_leaves_unanswered_stays_open() {
    let server = MockServer::with(|request| match (request.task(), lens(request)) {
        (_, Some("facts")) => Reply::text("1. [major] Storage: a table is slow.\n2. [minor] Names: `lease` is a verb."),
        (_, Some(_)) => Reply::text("No objections."),
        ("finalise", _) => judged(
            &format!(
                "# Leases\n\n{MENDED}\n\n## Response to the check\n\n- D1 partly (Storage): writes stay slow.\n- D2 rejected"
            ),
            "\"approach\":\"kept\",",
        ),
        _ => script(request),
    });
    let (_, state) = run(&server, &json!({"check": 3}));
    let ruled: Vec<Value> =
        state["ledger"].as_array().unwrap().iter().map(|one| json!([one["open"], one["ruling"]["decision"]])).collect();
    // A rejection without a reason is no ruling.
    assert_eq!(ruled, [json!([true, "partly"]), json!([true, "notMet"])], "{}", state["ledger"]);
    let description = state["finalSolution"]["description"].as_str().unwrap();
    let remains = "- D1 (major), partly met in Storage: Storage: a table is slow.\n  Remains: writes stay slow.\n";
    assert!(description.contains(remains) && description.contains("- D2 (minor), not ruled: "), "{description}");
}

fn is_asked_again(request: &Incoming) -> bool {
    request.messages.iter().any(|one| one.text.contains("No points can be read"))
}

#[test]
fn a_check_without_a_point_is_asked_for_once_more_and_then_unread() {
    let answering = |second: &'static str| {
        MockServer::with(move |request| match lens(request) {
            // What is cut of an answer that is not kept cuts nothing.
            Some("facts") if is_asked_again(request) && !second.starts_with('1') => {
                Reply::text(second).ending(Ending::OutputLimit)
            }
            Some("facts") if is_asked_again(request) => Reply::text(second),
            Some("facts") => Reply::text("The table worries me."),
            Some(_) => Reply::text("No objections."),
            None => script(request),
        })
    };
    let server = answering("1. [major] Storage: a table is slow.");
    let (_, state) = run(&server, &json!({"check": 3}));
    assert_eq!((count(&server, "check"), count(&server, "finalise")), (4, 1));
    assert_eq!((&state["ledger"][0]["number"], &state["outcome"]["kind"]), (&json!("D1"), &json!("full")));

    let server = answering("I told you so.");
    let (_, state) = run(&server, &json!({"check": 3}));
    assert_eq!((count(&server, "check"), count(&server, "finalise")), (4, 0));
    assert_eq!(state["outcome"]["reasons"], json!(["the answer was not checked for facts"]));
}

#[test]
fn points_beyond_the_thirtieth_are_said_to_be_unread_whoever_raised_them() {
    let points = |count: usize| {
        (1..=count).map(|at| format!("{at}. [minor] Part {at}: it is late.")).collect::<Vec<_>>().join("\n")
    };
    let (of_check, of_critic) = (points(32), points(31));
    let server = MockServer::with(move |request| match (request.task(), lens(request), request.model()) {
        (_, Some("facts"), _) => Reply::text(&of_check),
        (_, Some(_), _) => Reply::text("No objections."),
        ("critique", _, "model-kiss") => Reply::text(&of_critic),
        _ => script(request),
    });
    let (sandbox, state) = run(&server, &json!({"rounds": 1, "check": 3}));
    let reasons = &state["outcome"]["reasons"];
    for (reason, target) in [(&reasons[0], "architect"), (&reasons[1], "testing")] {
        let said = format!("1 point of agent-kiss's critique of agent-{target} in round 1 was not read, because there");
        assert_eq!(*reason, format!("{said} were too many"));
    }
    let check = reasons[2].as_str().unwrap();
    assert!(
        check.starts_with("2 points of agent-")
            && check.ends_with("'s check for facts were not read, because there were too many"),
        "{check}"
    );
    let report = sandbox.run(["report", "-d", "latest"]).expect_code(0).stdout;
    assert!(report.contains("- 1 more point by *agent-kiss* on *agent-architect*, round 1\n"), "{report}");
    assert!(report.contains(", facts\n"), "{report}");
}

#[test]
fn open_points_of_a_first_draft_are_ruled_on_where_the_judge_took_another_approach() {
    let server = MockServer::with(|request| match (request.task(), lens(request)) {
        (_, Some("facts")) if request.prompt().contains(FAULT) => {
            Reply::text("1. [major] Clocks: they drift.\n2. [major] Storage: a table is slow.")
        }
        (_, Some("facts")) => Reply::text("1. [major] Names: two leases share one."),
        (_, Some(_)) => Reply::text("No objections."),
        ("finalise", _) if request.prompt().contains(FAULT) => judged(
            "# Locks\n\nNo clocks at all.\n\n## Response to the check\n\n\
             - D1 partly (Clocks): one is left.\n- D2 rejected: a table with an index takes 1 ms.",
            "\"approach\":\"changed\",",
        ),
        ("finalise", _) => {
            let prompt = request.prompt();
            for shown in
                ["D1 [major] Clocks: they drift.", "D2 [major] Storage: a table is slow.", "dismissed; reason: a table"]
            {
                assert!(prompt.contains(shown), "{shown}\n{prompt}");
            }
            judged(
                "# Locks\n\nNo clocks at all.\n\n## Response to the check\n\n- D3 accepted (Names): each has its own.",
                "\"rulings\":[{\"point\":\"D1\",\"decision\":\"met\",\"where\":\"Locks\",\"reason\":\"None is left.\"},\
                 {\"point\":\"D2\",\"decision\":\"dismissed\",\"reason\":\"It takes 1 ms.\"}],",
            )
        }
        _ => script(request),
    });
    let (_, state) = run(&server, &json!({"check": 3}));
    assert_eq!(count(&server, "finalise"), 2);
    let ledger = state["ledger"].as_array().unwrap().iter();
    let fates = ledger.map(|one| json!([one["number"], one["answer"], one["ruling"]["decision"], one["open"]]));
    let expected = json!([
        ["D1", "partly", "met", false],
        ["D2", "rejected", "dismissed", false],
        ["D3", "accepted", null, false],
    ]);
    assert_eq!(json!(fates.collect::<Vec<_>>()), expected, "{}", state["ledger"]);
}

/// A judge's answer with an assessment of its own.
fn assessed(text: &str, assessment: &Value) -> Reply {
    Reply::text(format!("{text}\n\n```json\n{assessment}\n```"))
}

#[test]
fn rulings_of_a_council_stand_in_its_final_text_unless_that_alters_them() {
    let server = MockServer::with(|request| match (request.task(), lens(request)) {
        ("review the texts", _) => {
            let prompt = request.prompt();
            let own = prompt.split("## Your own text (Text ").nth(1).expect("reviewers see their own text");
            let own = own.split(')').next().unwrap();
            let others = ["1", "2", "3"].into_iter().filter(|number| *number != own);
            let sections = others.map(|number| {
                format!("## Text {number}\n\n1. [blocking] Clocks: they drift.\n2. [minor] Names: long.\n\n")
            });
            Reply::text(format!(
                "{}## Approach to give up\n\n- Text {own}: no lock lasts. Instead: leases.",
                sections.collect::<String>()
            ))
        }
        ("synthesise", _) => {
            let prompt = request.prompt();
            assert_eq!(prompt.matches("gives up its own approach: no lock lasts").count(), 3, "{prompt}");
            assert!(prompt.contains("In this debate their authors do not answer."), "{prompt}");
            assert_eq!(prompt.matches(" [minor] Names: long.").count(), 6, "minor points are ruled on too");
            assert!(!prompt.contains("not answered") && !prompt.contains("not rechecked"), "{prompt}");
            let rulings = json!([
                {"point": "1.1, 2.1, 3.1", "where": "Clocks", "remains": "", "reason": "So.", "decision": "met"},
                {"point": "1.2", "where": "", "remains": "", "reason": "It is no fault.", "decision": "dismissed"},
                {"point": "1.3", "where": "Clocks", "remains": "leap seconds", "reason": "", "decision": "met"},
                {"point": "2.2; 3.2, 3.3", "where": "Names", "remains": "nothing", "reason": "So.", "decision": "met"},
            ]);
            let assessment = json!({"tradeoffs": [], "recommendations": ["Measure it."],
                "unfulfilledMajorRequirements": ["No outage: it stops."], "partlyFulfilled": [], "openQuestions": [],
                "rulings": rulings, "title": "Leases", "confidence": 72});
            assessed(&format!("# Leases\n\n## Clocks\n\n{FAULT}\n\n{REST}"), &assessment)
        }
        ("check", _) => {
            assert!(request.prompt().contains("Major requirements not fulfilled:\n- No outage: it stops."));
            if lens(request) == Some("execute") {
                return Reply::text("1. [blocking] Clocks: they drift. Resolved by: the store's time.");
            }
            Reply::text("No objections.")
        }
        ("finalise", _) => {
            let prompt = request.prompt();
            assert!(prompt.contains("# Your rulings") && prompt.contains("- Measure it."), "{prompt}");
            assert!(prompt.contains("partly met (Clocks); remains: leap seconds"), "{prompt}");
            assert!(!prompt.contains("# Open points"), "{prompt}");
            let rulings = json!([{"point": "2.1", "where": "", "remains": "all", "reason": "", "decision": "notMet"}]);
            let assessment = json!({"approach": "kept", "tradeoffs": [], "recommendations": [],
                "unfulfilledMajorRequirements": ["No outage: it stops."], "partlyFulfilled": [], "openQuestions": [],
                "rulings": rulings, "title": "Leases", "confidence": 72});
            let answers = "## Response to the check\n\n- D1 accepted (Clocks): the store says it.";
            assessed(&format!("# Leases\n\n## Clocks\n\n{MENDED}\n\n{REST}\n\n{answers}"), &assessment)
        }
        _ => script(request),
    });
    let (sandbox, state) = run(&server, &json!({"protocol": "council", "check": 3, "seed": 1}));
    let ledger = state["ledger"].as_array().unwrap();
    let ruled = |number: &str| {
        let one = ledger.iter().find(|one| one["number"] == number).unwrap();
        (one["ruling"]["decision"].as_str().unwrap_or("none").to_owned(), one["open"].as_bool().unwrap())
    };
    assert_eq!(ruled("1.1"), ("met".to_owned(), false));
    assert_eq!(ruled("2.1"), ("notMet".to_owned(), true));
    assert_eq!(ruled("3.1"), ("met".to_owned(), false));
    assert_eq!(ruled("1.2"), ("dismissed".to_owned(), false));
    assert_eq!(ruled("1.3"), ("partly".to_owned(), true));
    assert_eq!(ruled("3.3"), ("met".to_owned(), false));
    assert_eq!(ruled("D1"), ("none".to_owned(), false));
    let solution = &state["finalSolution"];
    assert_eq!((&solution["confidence"], &solution["statedConfidence"]), (&json!(40), &json!(72)));
    let description = solution["description"].as_str().unwrap();
    let score = "**Confidence Score**: 40/100 (the judge said 72; limited because a major requirement is not met)";
    assert!(description.contains(score), "{description}");
    assert!(description.contains("### What Remains of the Objections\n\nBy the judge's ruling, of 12 points: "));
    assert!(!description.contains("- 1.1 (") && description.contains("- 2.1 (blocking), not met: "), "{description}");
    let shown = sandbox.run(["show", "latest", "points"]).expect_code(0).stdout;
    assert!(!shown.contains("did not answer") && !shown.contains("ever rechecked"), "{shown}");
    assert!(shown.contains("gives up its own approach"), "{shown}");
    sandbox.run(["show", "latest"]).expect_code(0).prints(["1 claimed"]);
    sandbox.run(["report", "latest", "-o", "report.md"]).expect_code(0);
    let report = sandbox.read("report.md");
    assert!(report.contains("### Approaches to give up") && !report.contains("&rarr; N/A"), "{report}");
}

#[test]
fn a_review_that_lacks_a_text_is_asked_for_that_text_and_both_answers_are_one() {
    let server = MockServer::with(|request| {
        let again =
            request.messages.last().filter(|last| last.text.starts_with("Your answer has no section for Text "));
        match (request.task(), again) {
            (_, Some(last)) => {
                let number = last.text["Your answer has no section for Text ".len()..].chars().next().unwrap();
                Reply::text(format!("## Text {number}\n\n1. [major] Queue: it fills. Resolved by: a limit."))
            }
            ("review the texts", None) => {
                // The first of the others alone.
                let prompt = request.prompt();
                let other = ["1", "2", "3"].into_iter().find(|number| prompt.contains(&format!("## Text {number}\n")));
                Reply::text(format!("## Text {}\n\n1. [major] Store: it is slow.", other.unwrap()))
            }
            _ => script(request),
        }
    });
    let (sandbox, state) = run(&server, &json!({"protocol": "council", "rounds": 1, "check": 0}));
    assert_eq!(count(&server, "review the texts"), 6);
    let contributions = state["rounds"][0]["contributions"].as_array().unwrap();
    let reviews = contributions.iter().filter(|one| one["type"] == "review");
    let reviews: Vec<&str> = reviews.map(|one| one["content"].as_str().unwrap()).collect();
    assert_eq!(reviews.len(), 3);
    for review in reviews {
        assert_eq!((review.matches("## Text ").count(), review.matches("Queue: it fills").count()), (2, 1), "{review}");
    }
    assert_eq!((state["ledger"].as_array().unwrap().len(), &state["outcome"]["kind"]), (6, &json!("full")));
    let journal = sandbox.journal(&sandbox.only_debate()).join("\n");
    assert!(journal.contains("it has no section for Text "), "{journal}");
}
