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
    for name in ["latest", "deb-2025", &format!("debates/{id}.json")] {
        assert_eq!(sandbox.run(["show", name, "points"]).expect_code(0).stdout, whole, "{name}");
    }
    let missing = sandbox.run(["show", "latest"]).expect_code(2);
    assert!(missing.stderr.contains("<PART>"), "{missing}");
    let unknown = sandbox.run(["show", "latest", "prices"]).expect_code(2);
    assert!(unknown.stderr.contains("[possible values: points]"), "{unknown}");
    sandbox.run(["show", "nobody", "points"]).expect_code(2);
}

#[test]
fn nothing_is_written_and_nothing_made_up() {
    let state = json!({"id": "d", "problem": "p", "status": "completed", "rounds": []}).to_string();
    let sandbox = Sandbox::new().file("empty.json", state);
    let before = sandbox.files();
    let finished = sandbox.run(["show", "empty.json", "points"]).expect_code(0);
    assert_eq!(finished.stdout, "");
    assert_eq!(finished.stderr, "No objections are on record, and none can be read out of the texts.\n");
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
                one["content"] =
                    json!("A queue.\n\n## Response to Critiques\n\n- 1.1 rejected: the client repeats it.");
            }
            _ => {}
        }
    }
    let sandbox = Sandbox::new().file("older.json", older.to_string());
    let before = sandbox.files();
    let text = sandbox.run(["show", "older.json", "points"]).expect_code(0).stdout;
    assert!(text.contains("This debate was recorded before points and answers were."), "{text}");
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
    assert!(!piped.contains('\u{1b}') && piped.lines().any(|line| line.chars().count() > 200), "{piped}");
    let (code, output, _) = Terminal::start(&sandbox, ["show", "argued.json", "points"]).finish();
    assert_eq!(code, 0);
    assert!(output.contains("\u{1b}[1m"), "{output:?}");
    let plain = console::strip_ansi_codes(&output).replace('\r', "");
    assert!(plain.lines().all(|line| console::measure_text_width(line) <= 90), "{plain}");
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(words(&plain), words(&piped));
    let (_, uncoloured, _) = Terminal::start(&sandbox, ["--color", "never", "show", "argued.json", "points"]).finish();
    assert!(!uncoloured.contains('\u{1b}'), "{uncoloured:?}");
}
