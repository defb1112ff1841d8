//! `dialectic show`: a part of a saved debate.

use serde_json::{Value, json};

use crate::support::{Sandbox, Terminal};

const ARGUED: &str = include_str!("../fixtures/shown/argued.json");

/// The files hold the ledger as the program folds it, so that they are what `show` has to print.
fn saved() -> Value {
    serde_json::from_str(ARGUED).unwrap()
}

#[test]
fn programs_are_told_what_the_state_file_holds() {
    let sandbox = Sandbox::new().file("argued.json", ARGUED);
    let finished = sandbox.run(["show", "argued.json", "points", "--json"]).expect_code(0);
    assert_eq!(finished.stderr, "");
    let shown: Value = serde_json::from_str(&finished.stdout).unwrap();
    let saved = saved();
    assert_eq!(shown, json!({"ledger": saved["ledger"], "moves": saved["moves"], "derived": false}));
    assert_eq!(shown["ledger"].as_array().unwrap().len(), 8);
}

#[test]
fn a_debate_is_named_as_everywhere_and_the_part_is_asked_for() {
    let id = "deb-20250101-010203-ab12";
    let sandbox = Sandbox::new().file(format!("debates/{id}.json"), ARGUED);
    let whole = sandbox.run(["show", id, "points"]).expect_code(0).stdout;
    for name in ["latest", "ab12", "deb-2025", &format!("debates/{id}.json")] {
        assert_eq!(sandbox.run(["show", name, "points"]).expect_code(0).stdout, whole, "{name}");
    }
    sandbox.write("debates/deb-20250202-010203-cd34.json", ARGUED);
    let ambiguous = sandbox.run(["show", "deb-2025", "points"]).expect_code(2);
    assert!(ambiguous.stderr.contains("matches more than one debate"), "{ambiguous}");
    let unknown = sandbox.run(["show", "latest", "prices"]).expect_code(2);
    assert!(
        unknown.stderr.contains("[possible values: solution, round, agent, stage, critiques, points, follow-ups]"),
        "{unknown}"
    );
    sandbox.run(["show", "nobody", "points"]).expect_code(2);
}

#[test]
fn nothing_is_written_and_nothing_made_up() {
    let state = json!({"id": "d", "problem": "p", "status": "completed", "rounds": []}).to_string();
    let sandbox = Sandbox::new().file("empty.json", state);
    let before = sandbox.files();
    let finished = sandbox.run(["show", "empty.json", "points"]).expect_code(0);
    assert_eq!(finished.stdout, "");
    assert_eq!(finished.stderr, "The record has no objections, and none could be derived from its texts.\n");
    let shown: Value =
        serde_json::from_str(&sandbox.run(["show", "empty.json", "points", "--json"]).expect_code(0).stdout).unwrap();
    assert_eq!(shown, json!({"ledger": [], "moves": [], "derived": false}));
    assert!(sandbox.files() == before, "something was written");
}

#[test]
fn older_debates_are_read_and_stay_as_they_were() {
    let mut older = saved();
    for key in ["ledger", "moves"] {
        older.as_object_mut().unwrap().remove(key);
    }
    for one in older["rounds"]
        .as_array_mut()
        .unwrap()
        .iter_mut()
        .flat_map(|round| round["contributions"].as_array_mut().unwrap())
    {
        one.as_object_mut().unwrap().remove("reading");
        match one["type"].as_str().unwrap() {
            "critique" => one["content"] = json!("1. **Failover**: a write is lost.\n2. The header has no name."),
            "refinement" => {
                one["content"] = json!(
                    "A queue.\n\n## Response to Critiques\n\n- 1.1 rejected: the client repeats it.\n- 2.1 rejected: the client repeats it."
                );
            }
            _ => {}
        }
    }
    let sandbox = Sandbox::new().file("older.json", older.to_string());
    let before = sandbox.files();
    let text = sandbox.run(["show", "older.json", "points"]).expect_code(0).stdout;
    assert!(text.contains("This debate's record has no points or answers."), "{text}");
    let json = sandbox.run(["show", "older.json", "points", "--json"]).expect_code(0).stdout;
    let shown: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(shown["derived"], true);
    let of = |one: &Value| [&one["id"], &one["severity"], &one["answer"]].map(|it| it.as_str().unwrap().to_owned());
    let first: Vec<_> = shown["ledger"].as_array().unwrap().iter().take(2).map(of).collect();
    let wanted = [
        ["r1/agent-architect/agent-kiss/1", "major", "rejected"],
        ["r1/agent-architect/agent-kiss/2", "major", "unanswered"],
    ];
    assert_eq!(first, wanted);
    let page = sandbox.run(["report", "-d", "older.json"]).expect_code(0).stdout;
    assert!(!page.contains("## Objections"), "{page}");
    assert!(sandbox.files() == before, "something was written");
}

#[test]
fn lines_fit_the_terminal_they_are_printed_to_and_are_whole_in_a_pipe() {
    let sandbox = Sandbox::new().file("argued.json", ARGUED);
    let piped = sandbox.run(["show", "argued.json", "points"]).expect_code(0).stdout;
    assert!(!piped.contains('\u{1b}') && piped.lines().any(|line| line.chars().count() > 120), "{piped}");
    let (output, _) = Terminal::start(&sandbox, ["show", "argued.json", "points"]).expect_code(0);
    assert!(output.contains("\u{1b}[1m"), "{output:?}");
    let plain = console::strip_ansi_codes(&output).replace('\r', "");
    assert!(plain.lines().all(|line| console::measure_text_width(line) <= 90), "{plain}");
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(words(&plain), words(&piped));
    let (uncoloured, _) =
        Terminal::start(&sandbox, ["--color", "never", "show", "argued.json", "points"]).expect_code(0);
    assert!(!uncoloured.contains('\u{1b}'), "{uncoloured:?}");
}

#[test]
fn the_overview_is_worth_reading_at_every_width() {
    let sandbox = Sandbox::new().file("debates/deb-20250101-010203-ab12.json", ARGUED);
    insta::assert_snapshot!("overview piped", sandbox.run(["show", "ab12"]).expect_code(0).stdout);
    for columns in [50, 80, 120] {
        let (_, screen) = Terminal::start_in(columns, 90, &sandbox, ["show", "latest"]).expect_code(0);
        insta::assert_snapshot!(format!("overview at {columns}"), screen.text());
        assert!(screen.text().lines().all(|line| console::measure_text_width(line) <= columns), "{}", screen.text());
    }
}

#[test]
fn parts_are_found_by_number_id_role_and_name() {
    let sandbox = Sandbox::new().file("a.json", ARGUED);
    let show = |arguments: &[&str]| {
        let arguments = ["show", "a.json"].iter().chain(arguments);
        sandbox.run(arguments.copied()).expect_code(0).stdout
    };
    let saved = saved();
    let solution = saved["finalSolution"]["description"].as_str().unwrap();
    assert_eq!(show(&["solution"]).trim_end(), solution.trim_end());
    let json: Value = serde_json::from_str(&show(&["solution", "--json"])).unwrap();
    assert_eq!(json["description"], saved["finalSolution"]["description"]);
    let texts = |arguments: &[&str]| -> Vec<Value> { serde_json::from_str(&show(arguments)).unwrap() };
    let first = texts(&["round", "1", "--json"]);
    assert!(!first.is_empty() && first.iter().all(|one| one["round"] == 1), "{first:?}");
    let critiques = texts(&["critiques", "--json"]);
    assert!(
        !critiques.is_empty()
            && critiques.iter().all(|one| one["stage"] == "critique" && one["targetAgentId"].is_string())
    );
    assert_eq!(texts(&["stage", "critique", "--json"]), critiques);
    assert_eq!(texts(&["stage", "Critiques", "--json"]), critiques);
    let by_id = texts(&["agent", "agent-kiss", "--json"]);
    assert!(by_id.iter().all(|one| one["agentId"] == "agent-kiss" || one["targetAgentId"] == "agent-kiss"));
    assert_eq!(texts(&["agent", "KISS", "--json"]), by_id);
    let numbered = |number: u32| texts(&["agent", &number.to_string(), "--json"]) == by_id;
    let number = (1..=3).find(|number| numbered(*number)).expect("agents have numbers");
    assert!(show(&["agent", "kiss"]).contains(&format!(" ({number})\n")));
    assert!(show(&["round", "1"]).starts_with("# Round 1\n\n## Proposal, by "));
    for arguments in [
        vec!["round"],
        vec!["round", "9"],
        vec!["agent", "agent-"],
        vec!["stage", "intermission"],
        vec!["solution", "1"],
    ] {
        let refused = sandbox.run(["show", "a.json"].into_iter().chain(arguments.iter().copied())).expect_code(2);
        assert_eq!(refused.stdout, "");
        assert!(!refused.stderr.contains("there are none"), "{refused}");
    }
    let whole: Value = serde_json::from_str(&show(&["--json"])).unwrap();
    assert_eq!(whole["finalSolution"], saved["finalSolution"]);
}

#[test]
fn a_text_cannot_pass_for_another_and_a_long_one_is_paged() {
    let mut hostile = saved();
    hostile["rounds"][0]["contributions"][0]["content"] =
        json!("Fine.\n\n# Round 9\n\n## Critique, by Judge\n\n\u{1b}[2J<b>x</b>");
    let sandbox = Sandbox::new().file("a.json", hostile.to_string()).env("PAGER", "sed s/^/paged:/").env("CI", "");
    let arguments = ["show", "a.json", "round", "1"];
    let text = sandbox.run(arguments).expect_code(0).stdout;
    assert!(!text.lines().any(|line| line == "# Round 9" || line == "## Critique, by Judge"), "{text}");
    let (output, screen) = Terminal::start_in(80, 12, &sandbox, arguments).expect_code(0);
    assert!(screen.text().contains("paged:") && !output.contains("\u{1b}[2J"), "{output:?}");
    let (output, _) = Terminal::start_in(80, 12, &sandbox.env("CI", "true"), arguments).expect_code(0);
    assert!(!output.contains("paged:"), "nobody is there to turn the page: {output}");
}

/// A debate of three whose vote and scores are these.
fn contested(voting: &Value, verdict: &Value) -> Sandbox {
    let state = json!({
        "id": "deb-20250101-010203-ab12", "problem": "Which queue?", "status": "completed", "currentRound": 1,
        "rounds": [], "voting": voting, "verdict": verdict, "outcome": {"kind": "full", "reasons": []},
        "finalSolution": {"description": "Use the second.", "base": "ag-b"},
    });
    Sandbox::new().file("debates/deb-20250101-010203-ab12.json", state.to_string())
}

#[test]
fn whom_a_vote_elected_has_won_though_the_scores_are_equal() {
    let count = json!({"rule": "majority", "voters": 3, "cast": 3, "quorum": 2, "selfVotes": 0});
    let voting = json!({"tally": {"ag-a": 0, "ag-b": 3}, "winner": "ag-b", "count": count});
    let verdict = |winner: Value, stable: bool| json!({"winner": winner, "scores": {"ag-a": 85, "ag-b": 85.5}, "criteria": {}, "reasoning": "r", "stable": stable});
    let told = |voting: &Value, verdict: &Value| {
        let sandbox = contested(voting, verdict);
        let page = sandbox.run(["show", "ab12"]).expect_code(0).stdout;
        let won =
            page.split("## Winner\n\n").nth(1).and_then(|rest| rest.lines().next()).unwrap_or_default().to_owned();
        let rows: Value = serde_json::from_str(&sandbox.run(["list", "--json"]).expect_code(0).stdout).unwrap();
        (won, rows[0]["winner"].clone(), rows[0]["winnerStable"].clone())
    };
    assert_eq!(
        told(&voting, &verdict(Value::Null, true)),
        (
            "ag-b, by vote (ag-a 0, ag-b 3). The judge’s scores: ag-a 85, ag-b 85.5.".to_owned(),
            json!("ag-b"),
            Value::Null
        )
    );
    let sandbox = contested(&voting, &verdict(Value::Null, true));
    sandbox.run(["report", "-d", "ab12", "-o", "report.html"]).expect_code(0);
    let report = sandbox.run(["report", "-d", "ab12"]).expect_code(0).stdout;
    assert!(report.contains("Winner: *ag-b*, by vote; by scores: none\n"), "{report}");
    assert!(sandbox.read("report.html").contains(", by vote; by scores: none"));
    let unstable = "ag-b (ag-a 85, ag-b 85.5). The verdict is unstable: the winner changed with the order in which the judge read the texts.";
    assert_eq!(told(&Value::Null, &verdict(json!("ag-b"), false)), (unstable.to_owned(), json!("ag-b"), json!(false)));
    let nobody = "Nobody (ag-a 85, ag-b 85.5). The judge based the solution on ag-b's text.";
    assert_eq!(told(&Value::Null, &verdict(Value::Null, true)), (nobody.to_owned(), Value::Null, Value::Null));
}

#[test]
fn stages_whose_results_are_no_texts_of_an_agent_are_shown_too() {
    let sandbox = Sandbox::new();
    let arena = json!({"debate": {"protocol": "arena", "arena": {"observer": true, "trickster": true}}});
    let sandbox = sandbox.config(&arena);
    sandbox.run(["debate", "--offline", crate::arena::PROBLEM]).expect_code(0);
    let shown = |stage: &str| sandbox.run(["show", "latest", "stage", stage]).expect_code(0).stdout;
    for name in ["convergence", "agreement"] {
        let shown = shown(name);
        assert!(shown.contains("| Round | Agreement | Threshold |") && shown.contains("\n- Round 1, "), "{shown}");
    }
    assert!(shown("team").contains("| Agent | Takes part | Score |"), "{}", shown("team"));
    assert!(
        shown("observation").contains("| Round | Agent | Contribution | About | Kinds |"),
        "{}",
        shown("observation")
    );
    assert!(shown("scoring").contains("## Scoring, by Technical Judge"), "{}", shown("scoring"));
    let round = sandbox.run(["show", "latest", "round", "1", "--json"]).expect_code(0).stdout;
    let texts: Vec<Value> = serde_json::from_str(&round).unwrap();
    assert!(texts.iter().any(|one| one["stage"] == "convergence"), "{round}");
}
