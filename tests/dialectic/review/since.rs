//! A second review of the same work says which findings are new, fixed and still there, by their ids.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{commit, git, parsed, repository, schema, served};
use crate::support::{Incoming, MockServer, Reply, Sandbox, listed};

const ARGUMENTS: [&str; 7] = ["review", "-c", "own.json", "--quiet", "--base", "main", "--head"];

fn file(name: &str, fault: &str) -> (String, String) {
    (format!("{name}.py"), format!("def {name}(x):\n    return {fault}\n"))
}

fn write(sandbox: &Sandbox, files: &[(String, String)]) {
    commit(sandbox, &files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect::<Vec<_>>());
}

/// What a review of a sandbox against `main` prints.
fn compared(sandbox: &Sandbox, more: &[&str]) -> String {
    sandbox.run(ARGUMENTS[..6].iter().chain(more)).expect_code(0).stdout
}

/// One reader reports every division; the judge rules as `ruled` says.
fn script(ruled: impl Fn(&str, &str) -> Value) -> impl Fn(&Incoming) -> Reply {
    move |request| match request.task() {
        "find faults" if request.model() == "model-architect" => {
            let (mut path, mut at, mut found) = ("", 0, Vec::new());
            for line in request.prompt().lines() {
                if let Some(name) = line.strip_prefix("+++ b/") {
                    path = name;
                } else if let Some(hunk) = line.strip_prefix("@@ ") {
                    at = hunk.split('+').nth(1).unwrap().split([',', ' ']).next().unwrap().parse().unwrap();
                } else if line.starts_with(['+', ' ']) {
                    if line.starts_with('+') && line.contains(" / x") {
                        found.push(format!("{}. [major] {path}:{at}: {path} divides by zero.", found.len() + 1));
                    }
                    at += 1;
                }
            }
            Reply::text(if found.is_empty() { "No findings.".to_owned() } else { found.join("\n") })
        }
        "find faults" => Reply::text("No findings."),
        "confirm the findings" => {
            let all = listed(request.prompt());
            let said: Vec<String> = all.iter().map(|(number, _)| format!("- {number} confirmed: yes")).collect();
            Reply::text(said.join("\n"))
        }
        _ => {
            let all = listed(request.prompt());
            let rulings: Vec<Value> =
                all.iter().map(|(number, text)| ruled(number, text)).filter(|one| !one.is_null()).collect();
            Reply::json(json!({"rulings": rulings, "summary": "", "title": ""}))
        }
    }
}

fn stands(number: &str, _: &str) -> Value {
    json!({"finding": number, "reason": "r", "decision": "stands"})
}

/// A repository with these files, each with a fault on the branch `work`, and readers who find it.
fn faulty(names: &[&str]) -> (MockServer, Sandbox) {
    let server = MockServer::with(script(stands));
    let sandbox = repository(served(&server), &[("kept.py", "x\n")]);
    write(&sandbox, &names.iter().map(|name| file(name, "1 / x")).collect::<Vec<_>>());
    (server, sandbox)
}

/// The ids of the findings by their paths, and what became of them.
fn ids(review: &str) -> BTreeMap<String, (String, Value)> {
    let review = parsed(review);
    let all = review["findings"].as_array().unwrap().iter();
    let text = |one: &Value, pointer: &str| one.pointer(pointer).unwrap().as_str().unwrap().to_owned();
    all.map(|one| (text(one, "/place/path"), (text(one, "/id"), one["since"].clone()))).collect()
}

#[test]
fn after_half_of_the_findings_are_fixed_each_is_new_fixed_or_still_there() {
    let (server, sandbox) = faulty(&["a", "b", "c", "d"]);
    let run = |more: &[&str]| sandbox.run(ARGUMENTS.iter().chain(&["work"]).chain(more)).expect_code(0).stdout;
    let first = ids(&run(&["--format", "json"]));
    assert!(first.values().all(|(_, since)| since.is_null()), "{first:?}");
    let (path, text) = file("c", "1 / x");
    let shifted = (path, format!("import sys\n\n\n{text}"));
    write(&sandbox, &[file("a", "x"), file("b", "x"), shifted, file("e", "2 / x")]);
    let again = ids(&run(&["--format", "json"]));
    assert_eq!((&again["c.py"], &again["d.py"]), (&first["c.py"], &first["d.py"]), "lines shift, ids do not");

    // The judge says nothing of d, whose code is the same.
    server.set_script(script(|number, text| {
        let is_earlier = number.starts_with('E');
        let ruling = |decision: &str| json!({"finding": number, "reason": "r", "decision": decision});
        match text.split(' ').nth(1).unwrap().split('.').next().unwrap() {
            "a" | "b" => ruling("fixed"),
            "c" if !is_earlier => json!({"finding": number, "decision": "stands", "sameAs": "E3"}),
            "d" => Value::Null,
            _ => ruling("stands"),
        }
    }));
    server.forget();
    let since = sandbox.run(["list", "--json"]).expect_code(0).stdout;
    let first_id = parsed(&since).as_array().unwrap().last().unwrap()["id"].as_str().unwrap().to_owned();
    let second = run(&["--since", &first_id, "--format", "json"]);
    let now = ids(&second);
    for (path, state) in [("a", "fixed"), ("b", "fixed"), ("c", "still there"), ("d", "still there")] {
        let path = format!("{path}.py");
        assert_eq!(now[&path], (first[&path].0.clone(), json!(state)), "{second}");
    }
    assert_eq!(now["e.py"].1, "new");
    assert!(server.requests().iter().all(|one| one.prompt().contains("E4 [major] d.py:2: d.py divides by zero.")));

    let shown =
        |arguments: &[&str]| parsed(&sandbox.run(["show", "latest"].iter().chain(arguments)).expect_code(0).stdout);
    assert_eq!(shown(&["points", "--json"])["findings"], parsed(&second)["findings"]);
    let open = shown(&["points", "--open", "--json"])["findings"].clone();
    let open: Vec<_> = open.as_array().unwrap().iter().map(|one| one["since"].as_str().unwrap()).collect();
    assert_eq!(open.iter().filter(|since| **since == "still there").count(), 2, "{open:?}");
    assert!(open.contains(&"new") && !open.contains(&"fixed"), "{open:?}");
    let one = &parsed(&second)["findings"][0];
    for name in [&one["number"], &one["id"]] {
        assert_eq!(shown(&[name.as_str().unwrap(), "--json"]), *one);
    }

    let latest = |format: &str| sandbox.run(["report", "latest", "--format", format]).expect_code(0).stdout;
    let sarif = parsed(&latest("sarif"));
    schema::assert_valid("sarif-2.1.0.json", &sarif);
    let results = sarif["runs"][0]["results"].as_array().unwrap();
    let states: Vec<_> = results
        .iter()
        .map(|one| (one["baselineState"].as_str(), one.pointer("/partialFingerprints/dialecticFinding~1v1").unwrap()))
        .collect();
    assert!(states.contains(&(Some("new"), &json!(now["e.py"].0))) && states.len() == 3, "{states:?} {now:?}");
    let notes = sarif["runs"][0]["invocations"][0]["toolExecutionNotifications"].to_string();
    assert!(["a.py", "b.py"].iter().all(|path| notes.contains(&format!("({})", first[*path].0))), "{notes}");
    let github = parsed(&latest("github"));
    let text = sandbox.run(["show", "latest", "solution"]).expect_code(0).stdout;
    let said = format!("since {first_id}: 1 new, 2 still there, 2 fixed");
    for shown in [github["body"].as_str().unwrap(), &text] {
        assert!(shown.contains(&said) && shown.contains("## Fixed") && shown.contains(&first["a.py"].0), "{shown}");
    }
    assert!(text.contains("[major] `c.py:5`"), "{text}");
    assert!(text.contains(&format!("- ID: {}, still there\n- Ruling: stands", first["c.py"].0)), "{text}");
    assert!(text.contains("- Ruling: none; the code is unchanged"), "{text}");
}

#[test]
fn only_a_finished_review_can_be_the_earlier_one() {
    let (server, sandbox) = faulty(&["a"]);
    let refused = |since: &str| {
        let run = sandbox.run(ARGUMENTS.iter().chain(&["work", "--since", since])).expect_code(2);
        assert!(server.requests().is_empty());
        run.stderr
    };
    assert!(refused("latest").contains("no finished review found"));
    // A rehearsal is none.
    sandbox.run(ARGUMENTS.iter().chain(&["work", "--offline"])).expect_code(0);
    assert!(refused("latest").contains("no finished review found"));
    assert!(refused(&sandbox.only_debate()).contains(" is a rehearsal"));
    assert!(refused("nothing").contains("nothing"));
}

#[test]
fn a_finding_stays_where_it_is_beside_the_same_code_above_it() {
    let found = "1. [major] a.py:5: it returns nothing.";
    let server = MockServer::with(super::script(found, "confirmed: yes", "major"));
    let sandbox = repository(served(&server), &[("kept.py", "x\n")]);
    let function = |name: &str| format!("def {name}(x):\n    return None\n\n");
    commit(&sandbox, &[("a.py", &(function("f") + &function("g")))]);
    let run = |more: &[&str]| {
        let arguments = ARGUMENTS.iter().chain(&["work", "--format", "json"]).chain(more);
        parsed(&sandbox.run(arguments).expect_code(0).stdout)["findings"].clone()
    };
    let first = run(&[]);
    let again = run(&["--since", "latest"]);
    assert_eq!(again.as_array().unwrap().len(), 1, "{again}");
    assert_eq!((&again[0]["id"], &again[0]["place"]), (&first[0]["id"], &first[0]["place"]));
    assert_eq!(again[0]["since"], "still there");
}

#[test]
fn without_a_change_the_findings_of_the_earlier_review_are_fixed_unless_the_base_has_their_code() {
    let (server, sandbox) = faulty(&["a", "b"]);
    let run = |more: &[&str]| sandbox.run(ARGUMENTS.iter().chain(&["work"]).chain(more)).expect_code(0).stdout;
    let first = ids(&run(&["--format", "json"]));
    git(&sandbox, &["rm", "-q", "a.py", "b.py"]);
    git(&sandbox, &["commit", "-qm", "undone"]);
    server.forget();
    let fixed = json!("fixed");
    let now = ids(&run(&["--since", "latest", "--format", "json"]));
    assert_eq!(now.values().map(|(_, since)| since).collect::<Vec<_>>(), [&fixed; 2], "{now:?}");
    assert_eq!((&now["a.py"].0, &now["b.py"].0), (&first["a.py"].0, &first["b.py"].0));
    let text = run(&["--since", "latest"]);
    assert!(text.starts_with("**No findings; since ") && text.contains(": 2 fixed.**"), "{text}");
    assert!(first.values().all(|(id, _)| text.contains(&format!("({id})"))), "{text}");
    assert_eq!(ids(&run(&["--since", "latest", "--format", "json", "b.py"])).len(), 1);
    // The branch is merged, with one of the faults.
    git(&sandbox, &["checkout", "-q", "main"]);
    write(&sandbox, &[file("a", "x"), file("b", "1 / x")]);
    git(&sandbox, &["branch", "-qf", "work"]);
    let merged = ids(&run(&["--since", "latest", "--format", "json"]));
    assert_eq!((&merged["a.py"].1, &merged["b.py"].1), (&fixed, &json!("still there")));
    assert!(server.requests().is_empty());
}

#[test]
fn a_finding_that_was_merged_fails_a_review_without_a_change() {
    let (server, sandbox) = faulty(&["a"]);
    sandbox.run(ARGUMENTS.iter().chain(&["work"])).expect_code(0);
    git(&sandbox, &["branch", "-qf", "main", "work"]);
    server.forget();
    let run = |more: &[&str]| sandbox.run(ARGUMENTS.iter().chain(&["work", "--since", "latest"]).chain(more));
    for format in ["terminal", "json"] {
        let failed = run(&["--fail-on", "major", "--format", format]).expect_code(6);
        assert!(failed.stdout.contains("still there"), "{failed}");
        assert!(failed.stderr.contains("1 finding is major or more severe"), "{failed}");
        assert!(!failed.stderr.contains("dialectic show"), "nothing is saved that could be shown: {failed}");
    }
    for more in [&[][..], &["--fail-on", "blocking"], &["--fail-on", "major", "--dry-run"]] {
        run(more).expect_code(0);
    }
    write(&sandbox, &[file("a", "x")]);
    git(&sandbox, &["branch", "-qf", "main", "work"]);
    assert!(run(&["--fail-on", "major"]).expect_code(0).stdout.contains(": 1 fixed."));
    assert!(server.requests().is_empty());
}

#[test]
fn a_change_that_is_not_looked_at_was_not_undone() {
    let server = MockServer::with(super::script(super::FINDING, "confirmed: yes", "major"));
    let sandbox = repository(served(&server), &[("a.py", super::AFTER)]);
    sandbox.write("a.py", format!("{}\n\ndef g(x):\n    return x\n", super::AFTER));
    let run = |more: &[&str]| compared(&sandbox, more);
    run(&[]);
    server.forget();
    let not_committed = run(&["--since", "latest", "--head", "HEAD"]);
    assert!(not_committed.contains(": 1 still there.") && !not_committed.contains("undone"), "{not_committed}");
    sandbox.write("a.py", super::AFTER);
    let undone = run(&["--since", "latest"]);
    assert!(undone.contains(": 1 fixed.") && undone.contains("the change no longer exists"), "{undone}");
    assert!(server.requests().is_empty());
}

#[test]
fn a_change_that_lives_on_another_branch_was_not_undone() {
    let server = MockServer::with(super::script(super::FINDING, "confirmed: yes", "major"));
    let sandbox = super::changed(&server);
    let run = |more: &[&str]| compared(&sandbox, more);
    let on_main =
        [(&["--head", "HEAD"][..], "its lines were changed or removed"), (&[], "the change no longer exists")];
    for (head, reason) in on_main {
        run(head);
        git(&sandbox, &["checkout", "-q", "main"]);
        let switched = run(&[head, &["--since", "latest"]].concat());
        assert!(switched.contains(reason) && !switched.contains("undone"), "{switched}");
        git(&sandbox, &["checkout", "-q", "work"]);
    }
    run(&["--head", "HEAD"]);
    server.forget();
    let other_head = run(&["--head", "main", "--since", "latest"]);
    assert!(!other_head.contains("undone"), "{other_head}");
    commit(&sandbox, &[("a.py", super::BEFORE)]);
    let undone = run(&["--head", "HEAD", "--since", "latest"]);
    assert!(undone.contains(": 1 fixed.") && undone.contains("the change was undone"), "{undone}");
    assert!(server.requests().is_empty());
}

#[test]
fn a_finding_outside_the_change_is_fixed_only_with_all_of_the_change() {
    let found = "1. [major] kept.py:1: its call now divides by zero.";
    let server = MockServer::with(super::script(found, "confirmed: yes", "major"));
    let sandbox = repository(served(&server), &[("a.py", super::BEFORE), ("kept.py", "f(0)\n")]);
    commit(&sandbox, &[("a.py", super::AFTER)]);
    let run = |more: &[&str]| sandbox.run(ARGUMENTS.iter().chain(&["work"]).chain(more)).expect_code(0).stdout;
    run(&[]);
    server.forget();
    let elsewhere = run(&["--since", "latest", "kept.py"]);
    assert!(elsewhere.contains(": 1 not to be seen.") && !elsewhere.contains("undone"), "{elsewhere}");
    commit(&sandbox, &[("a.py", super::BEFORE)]);
    let undone = run(&["--since", "latest"]);
    assert!(undone.contains(": 1 fixed.") && undone.contains("the change was undone"), "{undone}");
    assert!(server.requests().is_empty());
}

#[test]
fn a_file_that_cannot_be_read_leaves_its_findings_unseen_until_it_is_gone() {
    let (server, sandbox) = faulty(&["a"]);
    let run = |more: &[&str]| compared(&sandbox, more);
    run(&["--head", "work"]);
    server.forget();
    let heads: [&[&str]; 2] = [&["--head", "work"], &[]];
    let merged = |said: &str| {
        git(&sandbox, &["branch", "-qf", "main", "work"]);
        for head in heads {
            let now = run(&[head, &["--since", "latest"]].concat());
            assert!(now.contains(said), "{head:?} {now}");
        }
    };
    let (path, text) = file("a", "1 / x");
    write(&sandbox, &[(path.clone(), text + &"# more\n".repeat(200_000))]);
    merged(": 1 not to be seen.");
    write(&sandbox, &[(path, "print(1)\n".to_owned())]);
    merged("its lines were changed or removed");
    git(&sandbox, &["rm", "-q", "a.py"]);
    git(&sandbox, &["commit", "-qm", "gone"]);
    merged("its lines were changed or removed");
    // What the working tree has is not in the commit.
    sandbox.write("a.py", &file("a", "1 / x").1);
    let committed = run(&["--head", "work", "--since", "latest"]);
    assert!(committed.contains("its lines were changed or removed"), "{committed}");
    assert!(server.requests().is_empty());
}

#[test]
fn a_piped_diff_without_text_judges_no_earlier_finding() {
    let (server, sandbox) = faulty(&["a", "b"]);
    let first = ids(&sandbox.run(ARGUMENTS.iter().chain(&["work", "--format", "json"])).expect_code(0).stdout);
    server.forget();
    let run = |more: &[&str]| {
        let arguments = ["review", "-c", "own.json", "--quiet", "--since", "latest"];
        let diff = "diff --git a/a.py b/a.py\nold mode 100644\nnew mode 100755\n";
        sandbox.run_with_input(arguments.iter().chain(more), diff)
    };
    let now = ids(&run(&["--format", "json"]).expect_code(0).stdout);
    let unseen = json!("not to be seen");
    assert_eq!(now, first.into_iter().map(|(path, (id, _))| (path, (id, unseen.clone()))).collect());
    assert_eq!(ids(&run(&["--format", "json", "b.py"]).expect_code(0).stdout).len(), 1);
    let failed = run(&["--fail-on", "major"]).expect_code(6);
    assert!(failed.stdout.contains(": 2 not to be seen.") && failed.stdout.contains("- Ruling: none"), "{failed}");
    assert!(failed.stderr.contains("2 findings are major or more severe"), "{failed}");
    schema::assert_valid("sarif-2.1.0.json", &parsed(&run(&["--format", "sarif"]).expect_code(0).stdout));
    assert!(server.requests().is_empty());
}
