//! `dialectic list`: the saved debates.

use serde_json::{Value, json};

use crate::handling::debated;
use crate::support::{Sandbox, Terminal};

/// A state as it is saved, made at that hour.
fn state(id: &str, hour: u32, status: &str) -> Value {
    json!({
        "id": id, "problem": format!("\n\nProblem of {id}\nand more"), "status": status, "currentRound": 0, "rounds": [],
        "createdAt": format!("2025-01-01T{hour:02}:00:00.000Z"), "updatedAt": "2025-02-01T00:00:00.000Z",
    })
}

#[test]
fn without_debates_there_is_a_notice() {
    insta::assert_snapshot!(Sandbox::new().run(["list"]).expect_code(0), @"
    exit: 0
    --- stdout

    --- stderr
    No debates in ./debates yet.
    ");
    let sandbox = Sandbox::new();
    assert_eq!(sandbox.run(["list", "--json", "--text", "x"]).expect_code(0).stdout, "[]\n");
    assert!(sandbox.files().is_empty(), "listing writes nothing");
}

#[test]
fn debates_are_listed_newest_first_whatever_their_files_are_called() {
    let mut paused = state("deb-20250101-020000-bbbb", 2, "paused");
    paused["problem"] = json!(format!("A \x1b[31mlong\x1b[0m problem\u{202e} {}", "and so on ".repeat(6)));
    let mut done = state("deb-20250101-030000-cccc", 3, "completed");
    done["finalSolution"] = json!({"description": "d", "confidence": 82.5});
    done["outcome"] = json!({"kind": "degraded", "reasons": ["r"]});
    let usage = |cost: Value| json!({"requests": 1, "inputTokens": 1, "cachedInputTokens": 0, "outputTokens": 1, "costUsd": cost});
    done["usage"] = json!({"m": usage(json!(0.125)), "n": usage(json!(0.5))});
    done["rounds"] = json!([{"roundNumber": 1, "contributions": [], "timestamp": "2025-01-01T03:00:00.000Z"}]);
    let mut unpriced = state("deb-20250101-040000-dddd", 4, "failed");
    unpriced["usage"] = json!({"m": usage(json!(0.125)), "n": usage(Value::Null)});
    let sandbox = Sandbox::new()
        .file("debates/a.json", paused.to_string())
        .file("debates/c.json", done.to_string())
        .file("debates/b.json", unpriced.to_string())
        .file("debates/broken.json", "{")
        .file("debates/.hidden.json", "{}")
        .file("debates/notes.txt", "nothing of ours");
    let finished = sandbox.run(["list"]).expect_code(0);
    // An id is what commands find the debate by.
    insta::assert_snapshot!(finished.stdout, @r"
    ID      WHEN              STATUS      OUTCOME   ANSWER  ROUNDS  CONFIDENCE  COST     PROBLEM
    b       2025-01-01 04:00  failed      -         -       0       -           -        Problem of deb-20250101-040000-dddd
    c       2025-01-01 03:00  completed   degraded  clean   1       82.5        $0.6250  Problem of deb-20250101-030000-cccc
    a       2025-01-01 02:00  unfinished  -         -       0       -           -        A [31mlong[0m problem� and so on and so on and so on and so on and so on and so on
    broken  -                 unreadable  -         -       0       -           -
    ");
    assert_eq!(finished.stderr, "");
    let rows: Value = serde_json::from_str(&sandbox.run(["list", "--json"]).expect_code(0).stdout).unwrap();
    insta::assert_json_snapshot!(rows[1], @r#"
    {
      "id": "c",
      "createdAt": "2025-01-01T03:00:00.000Z",
      "status": "completed",
      "standing": "completed",
      "outcome": "degraded",
      "answer": {
        "unmet": [],
        "partly": [],
        "openMajor": [],
        "basis": "requirements"
      },
      "rounds": 1,
      "confidence": 82.5,
      "costUsd": 0.625,
      "offline": false,
      "problem": "Problem of deb-20250101-030000-cccc",
      "title": "Problem of deb-20250101-030000-cccc",
      "protocol": null,
      "winner": null,
      "winnerStable": null
    }
    "#);
    assert_eq!(rows.as_array().unwrap().len(), 4);
}

#[test]
fn a_debate_that_has_a_journal_only_is_listed_too() {
    let (sandbox, id) = debated();
    let before = sandbox.run(["list"]).expect_code(0).stdout;
    sandbox.remove(format!("debates/{id}.json"));
    assert_eq!(sandbox.run(["list"]).expect_code(0).stdout, before);
    sandbox.run(["resume", "latest"]).expect_code(0);
}

#[test]
fn protocols_and_winners_are_listed_where_they_are_not_the_usual_ones() {
    let (sandbox, _) = debated();
    let head = |sandbox: &Sandbox| sandbox.run(["list"]).expect_code(0).stdout.lines().next().unwrap().to_owned();
    assert!(!head(&sandbox).contains("PROTOCOL"));
    sandbox.run(["debate", "Offices should be closed", "--offline", "--protocol", "lincoln-douglas"]).expect_code(0);
    let columns = head(&sandbox).split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(
        columns,
        ["ID", "WHEN", "STATUS", "OUTCOME", "ANSWER", "ROUNDS", "CONFIDENCE", "COST", "PROTOCOL", "WINNER", "PROBLEM"]
    );
    let rows: Value = serde_json::from_str(&sandbox.run(["list", "--json"]).expect_code(0).stdout).unwrap();
    let rows = rows.as_array().unwrap();
    let motion = rows.iter().find(|row| row["protocol"] == "lincoln-douglas").unwrap();
    let state = sandbox.state(motion["id"].as_str().unwrap());
    assert_eq!(motion["winner"], state["verdict"]["winner"]);
    assert!(rows.iter().any(|row| row["protocol"] == "dialectic" && row["winner"].is_null()));
}

/// Debates of every kind, some years old, so that the days at which they were made stay what they are.
fn many() -> Sandbox {
    let usage = |cost: Value| json!({"m": {"requests": 38, "inputTokens": 41_000, "cachedInputTokens": 0, "outputTokens": 9_000, "costUsd": cost}});
    let mut full = state("deb-20250301-030000-vhkp", 3, "completed");
    full["createdAt"] = json!("2025-03-01T03:00:00.000Z");
    full["problem"] = json!("Design a durable job queue that survives restarts and never loses a job, however it ends");
    full["finalSolution"] = json!({"description": "Use one table and a Lease.", "confidence": 82});
    full["outcome"] = json!({"kind": "full", "reasons": []});
    full["usage"] = usage(json!(0.2134));
    let mut degraded = state("deb-20250201-020000-q7x1", 2, "completed");
    degraded["createdAt"] = json!("2025-02-01T02:00:00.000Z");
    degraded["problem"] = json!("Should we shard the database, \u{6771}\u{4eac} \u{1b}[2J");
    degraded["finalSolution"] = json!({"description": "No.", "confidence": 40.5});
    degraded["outcome"] = json!({"kind": "degraded", "reasons": ["r"]});
    degraded["usage"] = usage(Value::Null);
    let mut failed = state("deb-20250131-010000-ab12", 1, "failed");
    failed["usage"] = usage(json!(1.5));
    Sandbox::new()
        .file("debates/deb-20250301-030000-vhkp.json", full.to_string())
        .file("debates/deb-20250201-020000-q7x1.json", degraded.to_string())
        .file("debates/deb-20250131-010000-ab12.json", failed.to_string())
        .file("debates/deb-20240101-000000-zzzz.json", "{")
}

#[test]
fn the_list_fits_every_width_and_what_matters_stays() {
    let sandbox = many();
    for columns in [50, 80, 120] {
        let (_, screen) = Terminal::start_in(columns, 30, &sandbox, ["list"]).expect_code(0);
        insta::assert_snapshot!(format!("list at {columns}"), screen.text());
        assert!(screen.text().lines().all(|line| console::measure_text_width(line) <= columns), "{}", screen.text());
        for word in ["vhkp", "q7x1", "ab12", "zzzz", "complete", "incomplete", "failed", "unreadable", "Design a"] {
            assert!(screen.text().contains(word), "{word} at {columns}");
        }
    }
    let (plain, _) = Terminal::start(&sandbox, ["--color", "never", "list"]).expect_code(0);
    assert!(!plain.contains('\u{1b}'), "{plain:?}");
}

#[test]
fn the_list_is_filtered() {
    let sandbox = many();
    let ids = |arguments: &[&str]| -> Vec<String> {
        let arguments = ["list", "--json"].iter().chain(arguments);
        let rows: Value = serde_json::from_str(&sandbox.run(arguments.copied()).expect_code(0).stdout).unwrap();
        rows.as_array()
            .unwrap()
            .iter()
            .map(|row| row["id"].as_str().unwrap().rsplit('-').next().unwrap().to_owned())
            .collect()
    };
    assert_eq!(ids(&["--status", "full,failed"]), ["vhkp", "ab12"]);
    assert_eq!(ids(&["--status", "unreadable"]), ["zzzz"]);
    assert_eq!(ids(&["--text", "SHARD"]), ["q7x1"]);
    assert_eq!(ids(&["--text", "a lease"]), ["vhkp"], "the solution is looked through, too");
    assert_eq!(ids(&["--text", "leasing tables"]), ["vhkp"], "by the stems of its words");
    assert_eq!(ids(&["--since", "2025-02-01", "--until", "2025-02-01"]), ["q7x1"]);
    assert_eq!(ids(&["--since", "30d"]), [""; 0]);
    assert_eq!(ids(&["-n", "1"]), ["vhkp"]);
    assert_eq!(ids(&["--protocol", "oxford"]), [""; 0]);
    for cost in [&["--cost"][..], &[]] {
        let none = sandbox.run(["list", "--text", "nowhere"].iter().chain(cost)).expect_code(0);
        assert_eq!((&*none.stdout, &*none.stderr), ("", "No matching debates in ./debates.\n"));
    }
    for arguments in [["--status", "great"], ["--until", "2025-13-01"]] {
        sandbox.run(["list"].into_iter().chain(arguments)).expect_code(2);
    }
}

#[test]
fn nothing_runs_for_ever() {
    let sandbox = Sandbox::new();
    sandbox.run(["debate", "--offline", "Design a queue", "--quiet"]).expect_code(0);
    let id = sandbox.only_debate();
    let state = sandbox.read(format!("debates/{id}.json"));
    let mut running: serde_json::Value = serde_json::from_str(&state).unwrap();
    running["status"] = "running".into();
    running.as_object_mut().unwrap().remove("outcome");
    sandbox.write(format!("debates/{id}.json"), running.to_string());
    let journal = sandbox.journal(&id);
    sandbox.write(format!("debates/{id}.events.jsonl"), journal[..journal.len() / 2].join("\n") + "\n");
    let listed = |word: &str| {
        let shown = sandbox.run(["list"]).expect_code(0).stdout;
        assert!(shown.contains(word) && !shown.contains("running"), "{shown}");
        // What programs ask for stays; the table's word is there too.
        assert!(sandbox.run(["list", "--status", "running"]).expect_code(0).stdout.contains(&id));
        assert!(sandbox.run(["list", "--json"]).expect_code(0).stdout.contains("\"running\""));
        let rows: Value = serde_json::from_str(&sandbox.run(["list", "--json"]).stdout).unwrap();
        assert_eq!((&rows[0]["standing"], &rows[0]["offline"]), (&json!(word), &json!(true)));
        assert!(sandbox.run(["list", "--status", word]).expect_code(0).stdout.contains(&id));
    };
    listed("interrupted");
    std::fs::remove_file(sandbox.directory().join(format!("debates/{id}.events.jsonl"))).unwrap();
    listed("unfinished");
}

#[test]
fn costs_are_summed_by_month_and_model_and_what_is_unknown_stays_unknown() {
    let sandbox = many();
    insta::assert_snapshot!(sandbox.run(["list", "--cost"]).expect_code(0).stdout, @"
    MONTH    MODEL  DEBATES  CALLS    INPUT  OUTPUT               COST
    2025-03  m            1     38   41,000   9,000            $0.2134
    2025-02  m            1     38   41,000   9,000                N/A
    2025-01  m            1     38   41,000   9,000            $1.5000
    all                   3    114  123,000  27,000  $1.7134 + unknown
    ");
    let sums: Value = serde_json::from_str(&sandbox.run(["list", "--cost", "--json"]).expect_code(0).stdout).unwrap();
    assert_eq!(
        sums[1],
        json!({
            "month": "2025-02", "model": "m", "debates": 1, "requests": 38, "inputTokens": 41_000, "outputTokens": 9_000,
            "costUsd": 0.0, "unpricedDebates": 1,
        })
    );
    let narrow = Terminal::start_in(50, 30, &sandbox, ["list", "--cost"]).expect_code(0).1.text();
    assert!(
        narrow.contains("2025-03") && narrow.contains("$0.2134") && narrow.lines().all(|line| line.len() <= 50),
        "{narrow}"
    );
    let mut unpriced = state("a", 1, "completed");
    let usage = json!({"requests": 1, "inputTokens": 1, "cachedInputTokens": 0, "outputTokens": 1, "costUsd": null});
    unpriced["usage"] = json!({"m": usage, "n": usage});
    let of_two = Sandbox::new().file("debates/a.json", unpriced.to_string()).run(["list", "--cost"]).stdout;
    assert!(of_two.trim_end().ends_with("N/A"), "{of_two}");
    assert_eq!(Sandbox::new().run(["list", "--cost"]).expect_code(0).stdout, "");
}

#[test]
fn a_winner_that_is_not_to_be_relied_on_is_marked() {
    let mut unstable = state("deb-20250101-010000-aaaa", 1, "completed");
    unstable["verdict"] = json!({"winner": "ag-a", "scores": {"ag-a": 80, "ag-b": 79}, "criteria": {}, "reasoning": "r", "stable": false});
    let mut settings: Value = serde_json::from_str(include_str!("../fixtures/shown/argued.json")).unwrap();
    settings["settings"]["debate"]["protocol"] = json!("oxford");
    unstable["settings"] = settings["settings"].clone();
    let sandbox = Sandbox::new().file("debates/deb-20250101-010000-aaaa.json", unstable.to_string());
    let listed = sandbox.run(["list"]).expect_code(0).stdout;
    assert!(listed.contains("ag-a (unstable)"), "{listed}");
}
