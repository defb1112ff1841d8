//! Names, ids and texts that others wrote say what they like, on a terminal and on a page, and steer neither.

use serde_json::{Value, json};

use crate::support::{Incoming, MockServer, Purpose, Reply, Sandbox, Terminal, config, short_reply};

/// Clears the screen, sets the title, moves the cursor in the other way of spelling, and turns what follows around.
const ATTACK: &str = "x\u{1b}[2J\u{1b}]0;owned\u{7}\u{9b}1A\u{202e}\u{2066}y\rz\u{8}";

fn steers(c: char) -> bool {
    (c.is_control() && c != '\n' && c != '\t') || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn hostile(request: &Incoming) -> Reply {
    match (request.purpose, request.model()) {
        (Purpose::Clarify, _) if !request.text().contains("[2J") => {
            Reply::json(json!({"questions": [{"id": "q1", "text": ATTACK}]}))
        }
        (Purpose::Critique, model) if model.starts_with("model-kiss") => Reply::error(400, ATTACK),
        (Purpose::Propose | Purpose::Refine, _) => {
            Reply::text(format!("{ATTACK} and &#x202e; and &#27;[2J")).served_by(ATTACK)
        }
        _ => short_reply(request),
    }
}

/// A configuration in which everything that may be any text attacks.
fn attacking() -> Value {
    let mut attacking = config(&["architect", "kiss"], &json!({}));
    for agent in attacking["agents"].as_array_mut().unwrap() {
        agent["name"] = json!(format!("{} {ATTACK}", agent["name"].as_str().unwrap()));
        agent["model"] = json!(format!("{}{ATTACK}", agent["model"].as_str().unwrap()));
        agent["id"] = json!(format!("{}{ATTACK}", agent["id"].as_str().unwrap()));
    }
    attacking["judge"]["name"] = json!(ATTACK);
    attacking[ATTACK] = json!(1);
    attacking
}

#[test]
fn nothing_that_others_wrote_steers_a_terminal_or_a_page() {
    let server = MockServer::with(hostile);
    let sandbox = Sandbox::new().model_server(&server).config(&attacking());
    let problem = format!("Design {ATTACK}");
    let arguments = ["debate", problem.as_str(), "--clarify", "-v", "-o", "solution.md", "--report", "report.html"];
    let mut runs = vec![sandbox.run_with_input(arguments, "seven\n")];
    assert!(runs[0].code == Some(0), "{}", runs[0]);
    let id = sandbox.only_debate();
    // A name of a file is an id, too.
    let mut state = sandbox.state(&id);
    state["id"] = json!(format!("deb-{ATTACK}\nsecond"));
    sandbox.write("debates/deb-\u{1b}[2J\u{202e}\nx.json", "{");
    sandbox.write("debates/other.json", state.to_string());
    let missing = format!("--{ATTACK}");
    let commands: [&[&str]; 14] = [
        &["list"],
        &["list", "--json"],
        &["config", "show"],
        &["config", "show", "--json"],
        &["config", "check"],
        &["verify", &id],
        &["verify", &id, "--json"],
        &["debate", &problem, "--dry-run"],
        &["show", &id, "points"],
        &["fork", &id, "--at", "1.critique", "-v", "-o", "forked.md"],
        &["report", ATTACK],
        &["report", &missing],
        &["eval", &id, "--offline", "-v"],
        &["list", "--text", ATTACK],
    ];
    runs.extend(commands.iter().map(|command| sandbox.run(*command)));
    for run in &runs {
        let out = [("stdout", &run.stdout), ("stderr", &run.stderr)];
        for (name, text) in out {
            assert!(!text.contains(steers), "{name} steers: {:?}", text.lines().find(|line| line.contains(steers)));
        }
    }
    // It is all there: said, and as data.
    assert!(runs[1].stdout.contains("[2J]0;owned"), "{}", runs[1]);
    assert_eq!(runs[1].stdout.lines().count(), 4, "an id is more than a line: {}", runs[1]);
    let rows: Value = serde_json::from_str(&runs[2].stdout).unwrap();
    assert!(rows.as_array().unwrap().iter().any(|row| row["id"] == "other"), "{rows}");
    let page = sandbox.read("report.html");
    assert!(!page.contains(steers), "{:?}", page.lines().find(|line| line.contains(steers)));
    assert!(page.contains("[2J]0;owned"));

    // On a terminal colours are all that is left.
    for arguments in [&["report", &id, "-v"][..], &["show", &id], &["config", "show"], &["list"], &["debate", &problem]]
    {
        let (output, _) = Terminal::start(&sandbox, arguments).expect_code(0);
        assert!(output.contains("[2J"), "{arguments:?}: {output:?}");
        for attack in ["\u{1b}[2J", "\u{1b}]0;", "\u{7}", "\u{9b}", "\u{202e}", "\u{2066}"] {
            assert!(!output.contains(attack), "{arguments:?}: {output:?}");
        }
    }
}
