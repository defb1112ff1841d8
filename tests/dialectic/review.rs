//! `dialectic review`: a change from git or a pipe, its findings in every form, and changes that attack their readers.

mod attacks;
mod examples;
mod looking;
mod parts;
mod planted;
mod schema;
mod since;

use std::process::Command;

use serde_json::{Value, json};

use crate::support::{Incoming, MockServer, Reply, Sandbox, config, listed};

/// Git in a sandbox, with nobody's configuration.
fn git(sandbox: &Sandbox, arguments: &[&str]) -> String {
    let mut command = Command::new("git");
    command.current_dir(sandbox.directory()).args(["-c", "user.name=n", "-c", "user.email=n@example.org"]);
    command.args(arguments).env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null");
    let output = command.output().unwrap();
    assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// A repository whose branch `main` has these files, and the branch `work` checked out, which is the same so far.
fn repository(sandbox: Sandbox, files: &[(&str, &str)]) -> Sandbox {
    for (path, text) in files {
        sandbox.write(path, text);
    }
    git(&sandbox, &["init", "-qb", "main"]);
    sandbox.write(".git/info/exclude", "debates/\n.config/\n.cache/\n");
    git(&sandbox, &["add", "-A"]);
    git(&sandbox, &["commit", "-qm", "base", "--allow-empty"]);
    git(&sandbox, &["checkout", "-qb", "work"]);
    sandbox
}

fn commit(sandbox: &Sandbox, files: &[(&str, &str)]) {
    for (path, text) in files {
        sandbox.write(path, text);
    }
    git(sandbox, &["add", "-Af", "."]);
    git(sandbox, &["reset", "-q", "--", "debates", ".config", ".cache", "own.json"]);
    git(sandbox, &["commit", "-qm", "work"]);
}

const ROLES: [&str; 3] = ["architect", "security", "testing"];

/// A sandbox with a server, and a configuration of the user's own beside the repository's.
fn served(server: &MockServer) -> Sandbox {
    Sandbox::new().model_server(server).file("own.json", config(&ROLES, &json!({})).to_string())
}

/// Its repository, with one change on the branch `work`.
fn changed(server: &MockServer) -> Sandbox {
    let sandbox = repository(served(server), &[("a.py", BEFORE)]);
    commit(&sandbox, &[("a.py", AFTER)]);
    sandbox
}

/// A script in which the first reader says `findings`, the others none, the others say `opinion` of the first finding,
/// and the judge lets all of it stand with this severity.
fn script(findings: &str, opinion: &'static str, severity: &'static str) -> impl Fn(&Incoming) -> Reply + use<> {
    let findings = findings.to_owned();
    move |request| match request.task() {
        "find faults" if request.model() == "model-architect" => Reply::text(findings.clone()),
        "find faults" => Reply::text("No findings."),
        "confirm the findings" => {
            let number = (1..=3).find(|number| request.prompt().contains(&format!("- {number}.1 "))).unwrap();
            Reply::text(format!("- {number}.1 {opinion}"))
        }
        "rule on the findings" => {
            let ruling = |(number, _): (String, String)| json!({"finding": number, "reason": "so it is", "decision": "stands", "severity": severity});
            let rulings: Vec<_> = listed(request.prompt()).into_iter().map(ruling).collect();
            Reply::json(json!({"rulings": rulings, "summary": "Look.", "title": "A title"}))
        }
        other => Reply::error(400, &format!("no answer to `{other}`")),
    }
}

/// All that models were sent.
fn sent(server: &MockServer) -> String {
    server.requests().iter().map(|request| request.text()).collect::<Vec<_>>().join("\n")
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

const FINDING: &str = "1. [major] a.py:2: it divides by zero. To see it: f(0).";
const BEFORE: &str = "def f(x):\n    return x\n";
const AFTER: &str = "def f(x):\n    return 1 / x\n";

#[test]
fn a_review_says_who_found_and_who_confirmed_and_what_was_read() {
    let server = MockServer::with(script(FINDING, "confirmed: line 2 divides", "major"));
    let sandbox = repository(served(&server), &[("a.py", BEFORE), ("old.txt", "kept\n")]);
    git(&sandbox, &["mv", "old.txt", "new.txt"]);
    commit(&sandbox, &[("a.py", AFTER)]);
    let run = sandbox.run(["review", "-c", "own.json"]).expect_code(0);
    for said in [
        "**1 finding: 1 major.**",
        "## 1.1 [major] `a.py:2`",
        "**To see it:** f(0).",
        "- Found by model-architect; confirmed by model-security and model-testing",
        "- Ruling: stands. so it is",
        "main and the working tree, 2 files:",
        "- a.py: the diff and the whole file (2 lines)",
        "- new.txt: the diff and the whole file (1 line)",
    ] {
        assert!(run.stdout.contains(said), "{said}\n{}", run.stdout);
    }
    // n findings, one confirmation by each of the others, since the others have no findings, and the ruling.
    assert_eq!(server.requests().len(), 3 + 2 + 1);
    assert!(sent(&server).contains("rename from old.txt\nrename to new.txt"));
    let (_, state) = sandbox.only_state();
    assert_eq!(state["change"]["files"][0], json!({"path": "a.py", "hunks": [{"first": 1, "last": 2}], "lines": 2}));
    for command in [["verify", "latest"], ["show", "latest"], ["report", "latest"]] {
        let run = sandbox.run(command).expect_code(0);
        assert!(command[0] == "verify" || run.stdout.contains("a.py:2"), "{command:?}\n{}", run.stdout);
    }
}

#[test]
fn untracked_files_are_part_of_the_change_unless_they_may_hold_secrets() {
    let server = MockServer::with(script(FINDING, "left: not shown", "minor"));
    let sandbox = repository(served(&server), &[("a.py", BEFORE), ("kept.py", "KEPT\n")]);
    sandbox.write(".git/info/exclude", "debates/\n.config/\n.cache/\n*.log\n");
    for (path, text) in [("loose.py", "LOOSE\n"), ("id_rsa", "SECRET\n"), ("ignored.log", "IGNORED\n"), ("a.py", AFTER)]
    {
        sandbox.write(path, text);
    }
    std::os::unix::fs::symlink("/etc/passwd", sandbox.directory().join("passwd.txt")).unwrap();
    git(&sandbox, &["init", "-q", "nested"]);
    sandbox.write("nested/inner.py", "INNER\n");
    git(&sandbox, &["rm", "-q", "--cached", "kept.py"]);
    let run = sandbox.run(["review", "-c", "own.json"]).expect_code(0);
    for said in [
        "- a.py: the diff and the whole file (2 lines)",
        "- loose.py: the diff and the whole file (1 line)",
        "- id_rsa: it may contain keys or passwords",
        "- passwd.txt: a symbolic link",
        "- nested/: a submodule",
    ] {
        assert!(run.stdout.contains(said), "{said}\n{}", run.stdout);
    }
    let shown = sent(&server);
    assert!(shown.contains("+LOOSE"));
    for hidden in ["SECRET", "IGNORED", "INNER", "root:", "KEPT"] {
        assert!(!shown.contains(hidden), "{hidden}");
    }
    server.forget();
    let run = sandbox.run(["review", "-c", "own.json", "--tracked"]).expect_code(0);
    assert!(run.stdout.contains("- loose.py: not tracked by git"), "{}", run.stdout);
    assert!(!sent(&server).contains("LOOSE"));
}

#[test]
fn the_exit_code_says_what_was_found_and_whether_all_was_read() {
    let server = MockServer::start();
    let sandbox = changed(&server);
    for (severity, fails_on, code) in
        [("minor", "major", 0), ("major", "blocking", 0), ("major", "major", 6), ("blocking", "blocking", 6)]
    {
        server.set_script(script(FINDING, "left: not shown", severity));
        sandbox.run(["review", "--quiet", "-c", "own.json", "--fail-on", fails_on]).expect_code(code);
    }
    sandbox.run(["review", "--quiet", "-c", "own.json", "--strict"]).expect_code(5);
    let told = |answer: &'static str| {
        let server = MockServer::with(move |request| match request.task() {
            "find faults" if request.model() == "model-security" => {
                if answer.is_empty() {
                    Reply::error(500, "gone")
                } else {
                    Reply::text(answer)
                }
            }
            _ => Reply::text("No findings."),
        });
        let sandbox = changed(&server);
        (sandbox.run(["review", "-c", "own.json", "--fail-on", "blocking"]), server.requests().len())
    };
    let (failed, _) = told("");
    assert_eq!(failed.code, Some(5), "an agent that failed is no clean bill: {}", failed.stderr);
    let (unread, asked) = told("Looks good to me!");
    assert_eq!((unread.code, asked), (Some(5), 4), "what cannot be read is asked for once more: {}", unread.stderr);
    assert!(unread.stdout.contains("No findings, with results from only 2 of 3 agents"), "{}", unread.stdout);
    let (clean, asked) = told("No findings.");
    assert_eq!((clean.code, asked), (Some(0), 3), "{}", clean.stderr);
}

#[test]
fn a_judge_that_cannot_be_read_leaves_the_findings() {
    let good = script(FINDING, "confirmed: yes", "major");
    let server = MockServer::with(move |request| {
        if request.task() == "rule on the findings" { Reply::text("They are all fine.") } else { good(request) }
    });
    let sandbox = changed(&server);
    let run = sandbox.run(["review", "-c", "own.json"]);
    assert_eq!(run.code, Some(5), "{}", run.stderr);
    let waited = sandbox.run(["wait", "--json"]).expect_code(5);
    assert!(waited.stdout.contains("\"exitCode\": 5"), "{waited}");
    sandbox.run(["fork", "latest", "--at", "start"]).expect_code(5);
    assert!(run.stdout.contains("`a.py:2`") && run.stdout.contains("- Ruling: none"), "{}", run.stdout);
}

#[test]
fn there_may_be_nothing_to_review_and_nothing_to_compare() {
    let server = MockServer::start();
    let sandbox = repository(served(&server), &[("a.py", BEFORE)]);
    let run = sandbox.run(["review", "-c", "own.json", "--format", "sarif"]).expect_code(0);
    schema::assert_valid("sarif-2.1.0.json", &parsed(&run.stdout));
    assert!(run.stderr.contains("Nothing to review: no changes"), "{}", run.stderr);
    sandbox.run(["review", "-c", "own.json", "a.py"]).expect_code(0);
    let nothing = |arguments: &[&str]| sandbox.run(["review", "-c", "own.json"].iter().chain(arguments)).expect_code(0);
    let github = parsed(&nothing(&["--format", "github"]).stdout);
    assert_eq!(github["body"], "**No changes, no findings.**\n");
    assert_eq!(parsed(&nothing(&["--dry-run", "--json"]).stdout)["calls"], json!([]));
    let reported = nothing(&["-o", "x.json", "--report", "r.md"]);
    assert!(reported.stderr.contains("--report and --events write nothing"), "{reported}");
    assert_eq!(parsed(&sandbox.read("x.json"))["id"], Value::Null);
    for (arguments, said) in [
        (vec!["aa.py", "--fail-on", "major"], "there is no file or directory `aa.py` to review"),
        (vec!["a.py/b.py"], "there is no file or directory `a.py/b.py`"),
        (vec!["../a.py"], "../a.py is outside the repository "),
        (vec!["--base", "nowhere"], "`nowhere` is not a commit"),
        (vec!["--base=--output=x"], "`--output=x` is not a commit"),
    ] {
        let run = sandbox.run(["review"].into_iter().chain(arguments)).expect_code(2);
        assert!(run.stderr.contains(said), "{}", run.stderr);
    }
    let bare = served(&server);
    assert!(bare.run(["review"]).expect_code(2).stderr.contains("not in a git repository"));
    assert!(bare.run_with_input(["review", "-c", "own.json"], "hello\n").expect_code(2).stderr.contains("no diff"));
    assert!(server.requests().is_empty());
}

#[test]
fn paths_and_revisions_choose_the_change() {
    let server = MockServer::with(|_| Reply::text("No findings."));
    let sandbox = repository(served(&server), &[("src/a.py", BEFORE), ("src/b.py", BEFORE), ("c.py", BEFORE)]);
    commit(&sandbox, &[("src/a.py", AFTER), ("src/b.py", AFTER), ("c.py", AFTER)]);
    sandbox.write("c.py", "changed and not committed\n");
    let read = |arguments: &[&str]| {
        let run = sandbox.run(["review", "-c", "own.json", "--format", "json"].iter().chain(arguments)).expect_code(0);
        let files = parsed(&run.stdout)["change"]["files"].clone();
        files.as_array().unwrap().iter().map(|file| file["path"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(read(&[]), ["c.py", "src/a.py", "src/b.py"]);
    assert_eq!(read(&["src"]), ["src/a.py", "src/b.py"]);
    assert_eq!(read(&["./src/b.py"]), ["src/b.py"]);
    server.forget();
    assert_eq!(read(&["--base", "main", "--head", "work", "c.py"]), ["c.py"]);
    assert!(!sent(&server).contains("not committed") && sent(&server).contains("1 / x"));
    assert_eq!(read(&["--base", "work"]), ["c.py"], "what is not committed yet");
}

/// Permissions are nothing that a model could read, and no mistake of the user's.
#[test]
fn a_change_of_permissions_alone_ends_well_and_costs_nothing() {
    use std::os::unix::fs::PermissionsExt as _;
    let server = MockServer::start();
    let sandbox = repository(served(&server), &[("a.py", BEFORE), ("b.py", BEFORE)]);
    sandbox.write(".git/info/exclude", "debates/\n.config/\n.cache/\nown.json\n");
    git(&sandbox, &["config", "core.fileMode", "true"]);
    let executable = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(sandbox.directory().join("a.py"), executable).unwrap();
    let diff = git(&sandbox, &["diff"]);
    assert!(diff.contains("new mode 100755"), "{diff}");
    for run in [
        sandbox.run(["review", "-c", "own.json", "--fail-on", "major"]),
        sandbox.run_with_input(["review", "-c", "own.json", "--fail-on", "major"], &diff),
    ] {
        let run = run.expect_code(0);
        assert!(run.stderr.contains("Nothing to review: only file modes changed."), "{run}");
        assert!(run.stdout.contains("Only file modes changed; nothing to review."), "{run}");
    }
    assert!(server.requests().is_empty());
    // Together with something to read it is in the list of what is left out.
    sandbox.write("b.py", AFTER);
    server.set_script(|_| Reply::text("No findings."));
    let run = sandbox.run(["review", "-c", "own.json"]).expect_code(0);
    assert!(run.stderr.contains("Left out: a.py (only its permissions changed)"), "{run}");
}

/// What git writes with `diff.mnemonicPrefix`, and of a merge, is what it writes without.
#[test]
fn diffs_of_merges_and_with_other_prefixes_are_read_through_a_pipe() {
    let server = MockServer::with(|_| Reply::text("No findings."));
    let sandbox = repository(served(&server), &[("c/a.py", BEFORE)]);
    let read = |diff: &str| {
        server.forget();
        let run = sandbox.run_with_input(["review", "-c", "own.json", "--format", "json"], diff).expect_code(0);
        let files = parsed(&run.stdout)["change"]["files"].clone();
        (files[0]["path"].as_str().unwrap().to_owned(), files[0]["lines"].is_u64())
    };
    sandbox.write("c/a.py", AFTER);
    assert_eq!(read(&git(&sandbox, &["-c", "diff.noprefix=true", "diff", "-R"])).0, "c/a.py");
    assert_eq!(read(&git(&sandbox, &["-c", "diff.mnemonicPrefix=true", "diff"])), ("c/a.py".to_owned(), true));
    // Both sides change the line, and the merge has a third answer.
    commit(&sandbox, &[("c/a.py", AFTER)]);
    git(&sandbox, &["checkout", "-q", "main"]);
    commit(&sandbox, &[("c/a.py", "def f(x):\n    return 2\n")]);
    let mut merge = Command::new("git");
    merge.current_dir(sandbox.directory()).args(["-c", "user.name=n", "-c", "user.email=n@example.org"]);
    merge.args(["merge", "-q", "work"]);
    assert!(!merge.output().unwrap().status.success());
    sandbox.write("c/a.py", "def f(x):\n    return 3\n");
    let diff = git(&sandbox, &["diff"]);
    assert!(diff.starts_with("diff --cc c/a.py\n"), "{diff}");
    assert_eq!(read(&diff).0, "c/a.py");
    assert!(sent(&server).contains("++    return 3"), "{}", sent(&server));
    // The commit of the merge, and mails with the patches of a branch.
    commit(&sandbox, &[]);
    assert_eq!(read(&git(&sandbox, &["show"])).0, "c/a.py");
    git(&sandbox, &["checkout", "-qf", "work"]);
    commit(&sandbox, &[("c/a.py", "def f(x):\n    return 4\n")]);
    let mails = git(&sandbox, &["format-patch", "--stdout", "HEAD~2"]);
    assert!(mails.matches("\nSubject: [PATCH ").count() == 2, "{mails}");
    assert_eq!(read(&mails), ("c/a.py".to_owned(), true), "the last patch is in the working tree");
    let shown = sent(&server);
    assert!(shown.contains("+    return 1 / x") && shown.contains("+    return 4") && !shown.contains("Subject:"));
    // What is in such a diff is as secret as in any other.
    let key = "-----BEGIN RSA PRIVATE KEY-----\nMII\n";
    sandbox.write("c/a.py", key);
    server.forget();
    let diff = git(&sandbox, &["diff", "HEAD"]);
    let refused = sandbox.run_with_input(["review", "-c", "own.json"], &diff).expect_code(2);
    assert!(refused.stderr.contains("it contains a private key") && server.requests().is_empty(), "{refused}");
}

#[test]
fn a_diff_through_a_pipe_is_read_without_a_repository() {
    let server = MockServer::with(script(FINDING, "confirmed: yes", "major"));
    let sandbox = served(&server);
    let diff = "--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,2 @@\n def f(x):\n-    return x\n+    return 1 / x\n";
    let run = sandbox.run_with_input(["review", "-c", "own.json", "--format", "json"], diff).expect_code(0);
    let review = parsed(&run.stdout);
    assert_eq!(review["findings"][0]["placed"], "diff");
    assert_eq!(review["change"]["of"], "a diff from standard input");
    assert_eq!(review["change"]["files"][0].get("lines"), None, "only the diff was read");
}

#[test]
fn a_rehearsal_and_a_dry_run_cost_nothing() {
    let sandbox = repository(Sandbox::new(), &[("a.py", BEFORE)]);
    commit(&sandbox, &[("a.py", AFTER)]);
    let run = sandbox.run(["review", "--offline", "--fail-on", "major"]).expect_code(0);
    assert!(run.stdout.contains("[minor] `a.py:2`") && run.stdout.contains("Rehearsal"), "{}", run.stdout);
    let run = sandbox.run(["review", "--offline", "--dry-run"]).expect_code(0);
    assert!(run.stdout.starts_with("10 calls, at no cost"), "{}", run.stdout);
}

#[test]
fn a_review_that_broke_off_is_resumed_without_asking_twice() {
    let good = script(FINDING, "confirmed: yes", "major");
    let server = MockServer::with(move |request| {
        if request.task() == "rule on the findings" { Reply::error(500, "gone") } else { good(request) }
    });
    let sandbox = changed(&server);
    sandbox.run(["review", "-c", "own.json"]).expect_code(3);
    server.forget();
    server.set_script(script(FINDING, "confirmed: yes", "blocking"));
    let run = sandbox.run(["resume", "latest", "-c", "own.json"]).expect_code(0);
    assert_eq!(server.requests().len(), 1, "only the ruling");
    assert!(run.stdout.contains("[blocking] `a.py:2`"), "{}", run.stdout);
    assert!(run.stdout.contains("**1 finding: 1 blocking. Blocking findings: do not merge.**"), "{}", run.stdout);
    assert!(run.stderr.contains("Answer: 1 blocking finding: do not merge ("), "{}", run.stderr);
}
