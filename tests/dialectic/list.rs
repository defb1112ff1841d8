//! `dialectic list`: the saved debates.

use serde_json::{Value, json};

use crate::support::{MockServer, Purpose, Reply, Sandbox, config, short_reply};

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
    assert_eq!(sandbox.run(["list", "--json"]).expect_code(0).stdout, "[]\n");
    assert!(sandbox.files().is_empty(), "listing writes nothing");
}

#[test]
fn debates_are_listed_newest_first_whatever_their_files_are_called() {
    let mut paused = state("deb-20250101-020000-bbbb", 2, "paused");
    paused["problem"] = json!(format!("A \x1b[31mlong\x1b[0m problem\u{202e} {}", "and so on ".repeat(20)));
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
    // The ids stay: what is pinned here is the table.
    insta::assert_snapshot!(finished.stdout, @"
    ID                        WHEN              STATUS      OUTCOME   ROUNDS  CONFIDENCE  COST     PROBLEM
    deb-20250101-040000-dddd  2025-01-01 04:00  failed      -         0       -           -        Problem of deb-20250101-040000-dddd
    deb-20250101-030000-cccc  2025-01-01 03:00  completed   degraded  1       82.5        $0.6250  Problem of deb-20250101-030000-cccc
    deb-20250101-020000-bbbb  2025-01-01 02:00  paused      -         0       -           -        A [31mlong[0m problem� and so on and so on and so on and so
    broken                    -                 unreadable  -         0       -           -
    ");
    assert_eq!(finished.stderr, "");
    let rows: Value = serde_json::from_str(&sandbox.run(["list", "--json"]).expect_code(0).stdout).unwrap();
    insta::assert_json_snapshot!(rows[1], @r#"
    {
      "id": "deb-20250101-030000-cccc",
      "createdAt": "2025-01-01T03:00:00.000Z",
      "status": "completed",
      "outcome": "degraded",
      "rounds": 1,
      "confidence": 82.5,
      "costUsd": 0.625,
      "problem": "Problem of deb-20250101-030000-cccc",
      "protocol": null,
      "winner": null
    }
    "#);
    assert_eq!(rows.as_array().unwrap().len(), 4);
}

#[test]
fn a_debate_is_listed_at_every_stage_of_its_life() {
    let server = MockServer::with(|request| match request.purpose {
        Purpose::Synthesize => Reply::error(400, "no"),
        _ => short_reply(request),
    });
    let mut settings = config(&["architect", "kiss"], &json!({}));
    settings["prices"] = json!({});
    for model in ["model-architect", "model-kiss", "model-judge"] {
        settings["prices"][model] = json!({"inputPerMTok": 1000.0, "outputPerMTok": 2000.0});
    }
    let sandbox = Sandbox::new().model_server(&server).config(&settings);
    let row = || -> Value {
        let rows: Value = serde_json::from_str(&sandbox.run(["list", "--json"]).expect_code(0).stdout).unwrap();
        assert_eq!(rows.as_array().unwrap().len(), 1);
        rows[0].clone()
    };
    sandbox.run(["debate", "Design a queue"]).expect_code(3);
    let failed = row();
    assert_eq!((&failed["status"], &failed["outcome"], &failed["rounds"]), (&json!("failed"), &Value::Null, &json!(1)));
    // Six calls of 100 tokens in and 20 out.
    assert_eq!(failed["costUsd"].as_f64(), Some(0.84));
    server.set_script(short_reply);
    sandbox.run(["resume", "latest"]).expect_code(0);
    let completed = row();
    assert_eq!((&completed["status"], &completed["outcome"]), (&json!("completed"), &json!("full")));
    assert_eq!((completed["confidence"].as_f64(), &completed["id"]), (Some(82.0), &failed["id"]));
}

#[test]
fn a_debate_that_has_a_journal_only_is_listed_too() {
    let sandbox = Sandbox::new();
    sandbox.run(["debate", "Design a queue", "--offline", "-r", "1"]).expect_code(0);
    let before = sandbox.run(["list"]).expect_code(0).stdout;
    std::fs::remove_file(sandbox.directory().join(format!("debates/{}.json", sandbox.only_debate()))).unwrap();
    assert_eq!(sandbox.run(["list"]).expect_code(0).stdout, before);
    sandbox.run(["resume", "latest"]).expect_code(0);
}

#[test]
fn protocols_and_winners_are_listed_where_they_are_not_the_usual_ones() {
    let sandbox = Sandbox::new();
    sandbox.run(["debate", "Design a queue", "--offline", "-r", "1"]).expect_code(0);
    let head = |sandbox: &Sandbox| sandbox.run(["list"]).expect_code(0).stdout.lines().next().unwrap().to_owned();
    assert!(!head(&sandbox).contains("PROTOCOL"));
    sandbox.run(["debate", "Offices should be closed", "--offline", "--protocol", "lincoln-douglas"]).expect_code(0);
    let columns = head(&sandbox).split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(
        columns,
        ["ID", "WHEN", "STATUS", "OUTCOME", "ROUNDS", "CONFIDENCE", "COST", "PROTOCOL", "WINNER", "PROBLEM"]
    );
    let rows: Value = serde_json::from_str(&sandbox.run(["list", "--json"]).expect_code(0).stdout).unwrap();
    let rows = rows.as_array().unwrap();
    let motion = rows.iter().find(|row| row["protocol"] == "lincoln-douglas").unwrap();
    let state = sandbox.state(motion["id"].as_str().unwrap());
    assert_eq!(motion["winner"], state["verdict"]["winner"]);
    assert!(rows.iter().any(|row| row["protocol"] == "dialectic" && row["winner"].is_null()));
}
