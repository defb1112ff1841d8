//! A change that no prompt can hold is reviewed in parts, and nothing is left out of it silently.

use std::collections::BTreeSet;

use serde_json::json;

use super::{ROLES, commit, parsed, repository, served};
use crate::support::{Incoming, MockServer, Reply, Sandbox, config, listed};

/// Files of 100 kB together, one of them larger than a part, each with a line of its own.
fn files() -> Vec<(String, String)> {
    let text = |name: &str, bytes: usize| {
        let filler: Vec<String> = (0..bytes / 40).map(|line| format!("{name} = {line:>8}  # {:>16}\n", "x")).collect();
        format!("begin_{name}\n{}", filler.concat())
    };
    let small = (10..30).map(|number| (format!("src/{}/f{number}.py", number / 4), text(&format!("f{number}"), 2_000)));
    small.chain([("big/all.py".to_owned(), text("big", 60_000))]).collect()
}

/// A reader that finds something in the first file of each part, and a judge that lets it stand.
fn script(request: &Incoming) -> Reply {
    match request.task() {
        "find faults" if request.model() == "model-architect" => {
            let mut lines = request.prompt().lines().skip_while(|line| !line.starts_with("+++ b/"));
            let (path, first) = (&lines.next().unwrap()["+++ b/".len()..], lines.nth(1).unwrap());
            Reply::text(format!("1. [major] {path}:1: it begins with {first}. To see it: read it."))
        }
        "find faults" => Reply::text("No findings."),
        "confirm the findings" => {
            let said: Vec<String> =
                listed(request.prompt()).iter().map(|(number, _)| format!("- {number} confirmed: so it is")).collect();
            Reply::text(said.join("\n"))
        }
        "rule on the findings" => {
            let all = listed(request.prompt()).into_iter();
            let ruling = |(number, _)| json!({"finding": number, "reason": "r", "decision": "stands"});
            Reply::json(json!({"rulings": all.map(ruling).collect::<Vec<_>>(), "summary": "s", "title": "t"}))
        }
        other => Reply::error(400, &format!("no answer to `{other}`")),
    }
}

/// A repository with the change, whose readers' models have windows of so many tokens.
fn with_window(server: &MockServer, tokens: u64) -> Sandbox {
    let models: serde_json::Map<_, _> = ROLES
        .iter()
        .chain(&["judge"])
        .map(|role| (format!("model-{role}"), json!({"contextWindow": tokens})))
        .collect();
    let sandbox = repository(served(server), &[("kept.py", "x\n")]);
    let mut own = config(&ROLES, &json!({}));
    own["models"] = models.into();
    sandbox.write("own.json", own.to_string());
    let files = files();
    commit(&sandbox, &files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect::<Vec<_>>());
    sandbox
}

#[test]
fn every_file_of_100_kb_is_in_exactly_one_part_and_all_are_listed_in_each() {
    let server = MockServer::with(script);
    let sandbox = with_window(&server, 32_000);
    let arguments = ["review", "-c", "own.json", "--base", "main", "--head", "work"];
    let planned = sandbox.run(arguments.iter().chain(&["--dry-run", "--json"])).expect_code(0);
    let run = sandbox.run(arguments).expect_code(0);
    let parts = parsed(&planned.stdout)["calls"].as_array().unwrap().len() / 9;
    assert!((2..=4).contains(&parts), "{parts}");
    let said = format!(" in full, in {parts} parts");
    assert!(run.stderr.contains("21 files, ") && run.stderr.contains(&said), "{run}");
    let requests = server.requests();
    let prompts: Vec<_> =
        requests.iter().filter(|one| one.task() == "find faults" && one.model() == "model-architect").collect();
    assert_eq!(prompts.len(), parts);
    for (path, text) in files() {
        for line in [text.lines().next().unwrap(), text.lines().last().unwrap()] {
            let shown = prompts.iter().filter(|one| one.prompt().contains(&format!("\n+{line}\n"))).count();
            assert_eq!(shown, 1, "{path}: {line}");
        }
        assert!(prompts.iter().all(|one| one.prompt().contains(&format!("\n{path}: part"))), "{path}");
    }
    assert!(prompts.iter().all(|one| one.prompt().len() < 16_000 * 3 + 20_000));
    // One finding of each part, with its own number; the judge sees them all, and the files that they name.
    let ruling = requests.iter().find(|one| one.task() == "rule on the findings").unwrap();
    let numbers: BTreeSet<String> = listed(ruling.prompt()).into_iter().map(|(number, _)| number).collect();
    assert_eq!(numbers.len(), parts, "{numbers:?}");
    for one in &prompts {
        let path = one.prompt().lines().find(|line| line.starts_with("+++ b/")).unwrap();
        assert!(ruling.prompt().contains(path), "{path}");
    }
    assert!(ruling.prompt().len() < 16_000 * 3 + 20_000);
    assert!(run.stdout.contains(&format!("**{parts} findings: {parts} major.**")), "{run}");
    assert!(run.stdout.contains("- big/all.py: the diff, in parts 1 to "), "{run}");
    let (id, state) = sandbox.only_state();
    assert_eq!(state["rounds"].as_array().unwrap().len(), parts);
    // A fork neither omits a part nor pays for one twice.
    server.forget();
    for rounds in [parts - 1, parts + 1] {
        let fork = sandbox.run(["fork", &id, "--at", "start", "--set", &format!("debate.rounds={rounds}")]);
        assert!(fork.stderr.contains("a review has one round for each part of its change"), "{fork}");
        assert_eq!((fork.code, server.requests().len()), (Some(2), 0));
    }
}

#[test]
fn a_part_that_nobody_read_is_in_the_verdict() {
    let server = MockServer::with(|request| {
        let is_last = request.prompt().contains("+begin_f29");
        if request.task() == "find faults" && is_last { Reply::error(400, "no") } else { script(request) }
    });
    let run = with_window(&server, 32_000).run(["review", "-c", "own.json", "--head", "work"]);
    assert_eq!(run.code, Some(5), "{run}");
    assert!(run.stdout.contains("; reviewed ") && run.stdout.contains(" of 21 files.**"), "{run}");
    assert!(run.stdout.contains("The architect returned no readable findings on part"), "{run}");
}

#[test]
fn only_a_line_that_no_part_can_hold_is_left_out() {
    let server = MockServer::with(script);
    let sandbox = repository(served(&server), &[("kept.py", "x\n")]);
    commit(&sandbox, &[("a.js", &format!("x{}\n", "y".repeat(150_000))), ("b.js", "b\n")]);
    let run = sandbox.run(["review", "-c", "own.json", "--head", "work"]).expect_code(0);
    assert!(run.stdout.contains("; reviewed 1 of 2 files.**"), "{run}");
    assert!(run.stdout.contains("- a.js: too large: one of its lines has about 150,"), "{run}");
}

#[test]
fn what_other_files_name_takes_an_eighth_of_a_small_window() {
    let server = MockServer::with(script);
    let sandbox = with_window(&server, 8_000);
    let calls = format!("def later():\n{}", "    charge(1)  # and some more words to fill the line\n".repeat(90));
    sandbox.write("kept.py", &calls);
    super::git(&sandbox, &["commit", "-qam", "calls"]);
    commit(&sandbox, &[("bank.py", "def charge(due):\n    return due\n")]);
    sandbox.run(["review", "-c", "own.json", "--base", "work~1", "--head", "work"]).expect_code(0);
    let prompt = server.requests()[0].prompt().to_owned();
    let uses = prompt.split("uses.txt\n").nth(1).unwrap().split("```").nth(1).unwrap();
    assert!(uses.contains("charge(1)") && uses.len() < 8_000 / 2 * 3 / 8 + 20, "{}", uses.len());
}

#[test]
fn a_part_is_shown_the_uses_of_its_own_names_only() {
    let server = MockServer::with(script);
    let sandbox = with_window(&server, 8_000);
    sandbox.write("kept.py", "settle(1)\npay(1)\n");
    super::git(&sandbox, &["add", "-A"]);
    super::git(&sandbox, &["commit", "-qm", "calls"]);
    super::git(&sandbox, &["branch", "-qf", "main"]);
    let edited = |name: &str| format!("def {name}(x):\n    return 1 + {name}_{}\n", "x".repeat(7_000));
    let before = ["settle", "pay"].map(|name| edited(name).replace("1 +", "2 +"));
    commit(&sandbox, &[("a.py", &before[0]), ("z.py", &before[1])]);
    commit(&sandbox, &[("a.py", &edited("settle")), ("z.py", &edited("pay"))]);
    sandbox.run(["review", "-c", "own.json", "--base", "work~1", "--head", "work"]);
    let requests = server.requests();
    let prompts = requests.iter().filter(|one| one.task() == "find faults").map(|one| one.prompt());
    let (settles, pays): (Vec<_>, Vec<_>) = prompts.partition(|prompt| prompt.contains("+++ b/a.py"));
    assert!(!settles.is_empty() && settles.len() == pays.len(), "{} {}", settles.len(), pays.len());
    let has = |prompt: &str, name: &str| prompt.contains(&format!("\n{name}: 2 lines elsewhere"));
    assert!(settles.iter().all(|prompt| has(prompt, "settle") && !has(prompt, "pay")));
    assert!(pays.iter().all(|prompt| has(prompt, "pay") && !has(prompt, "settle")));
}
