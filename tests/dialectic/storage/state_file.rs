//! State files and journals that are not what they were: the journal is what counts.

use crate::storage::{small, without_synthesis};
use crate::support::{MockServer, Sandbox, sample, short_reply, spread};

/// What other programs leave in place of a state: half of it, nothing, other JSON.
fn damages(state: &str) -> [String; 5] {
    [state[..state.len() / 2].to_owned(), String::new(), "{}".to_owned(), "[1, 2]".to_owned(), "notes\n".to_owned()]
}

#[test]
fn a_finished_debate_is_read_from_its_journal() {
    let server = MockServer::with(short_reply);
    let sandbox = small(&server);
    sandbox.run(["debate", "Design a queue", "--quiet"]).expect_code(0);
    let id = sandbox.only_debate();
    let calls = server.requests().len();
    let path = format!("debates/{id}.json");
    let state = sandbox.read(&path);
    let journal = sandbox.journal(&id);
    let run = |arguments: &[&str]| sandbox.run(arguments).expect_code(0);
    let [list, report, scores, solution] =
        [&["list"][..], &["report", "-d", &id], &["eval", "-d", &id, "--offline"], &["show", &id, "solution"]].map(run);
    for damaged in sample(damages(&state), 2) {
        sandbox.write(&path, &damaged);
        assert_eq!(run(&["list"]).stdout, list.stdout, "{damaged:?}");
        assert_eq!(run(&["show", &id, "solution"]).stdout, solution.stdout, "{damaged:?}");
        for (arguments, before) in [(&["report", "-d", &id][..], &report), (&["eval", "-d", &id, "--offline"], &scores)]
        {
            let now = run(arguments);
            assert_eq!(now.stdout, before.stdout, "{damaged:?}");
            let warning = format!("warning: ./{path} is not a saved debate");
            assert!(now.stderr.starts_with(&warning), "{damaged:?}: {now}");
            assert!(now.stderr.contains("using the debate's journal instead"), "{now}");
        }
        sandbox.run(["verify", &id]).expect_code(2).prints([&format!("  - ./{path} is not a saved debate")]);
        assert!(sandbox.read(&path) == damaged, "only resume writes");
        let resumed = run(&["resume", &id]);
        assert!(resumed.stderr.contains("; rewriting the state file from the journal\n"), "{resumed}");
        assert!(sandbox.read(&path) == state, "{damaged:?}");
    }
    sandbox.remove(&path);
    assert_eq!(run(&["report", "-d", &id]).stdout, report.stdout);
    assert_eq!(run(&["eval", "-d", &id, "--offline"]).stdout, scores.stdout);
    run(&["resume", &id]);
    assert!(sandbox.read(&path) == state && sandbox.journal(&id) == journal);
    assert_eq!(server.requests().len(), calls);
}

#[test]
fn an_unfinished_debate_goes_on_from_its_journal() {
    // Other damages than those above.
    for place in spread(damages("{}").len(), 1, 2) {
        let server = MockServer::with(short_reply);
        let (sandbox, id) = without_synthesis(&server);
        let calls = server.requests().len();
        let path = format!("debates/{id}.json");
        sandbox.write(&path, &damages(&sandbox.read(&path))[place]);
        assert!(sandbox.run(["report", "-d", &id]).expect_code(0).stdout.contains("- Status: failed\n"));
        let fork = sandbox.run(["fork", &id, "--at", "1.synthesis", "--quiet"]).expect_code(0);
        assert!(fork.stderr.contains(&format!("Forked {id} at 1.synthesis")), "{fork}");
        let resumed = sandbox.run(["resume", &id, "--quiet"]).expect_code(0);
        assert!(resumed.stderr.starts_with(&format!("warning: ./{path} is not a saved debate")), "{resumed}");
        sandbox.assert_state_is_the_fold(&id);
        sandbox.run(["verify", &id]).expect_code(0);
        // One synthesis each.
        assert_eq!(server.requests().len(), calls + 2);
    }
}

fn assert_journal_is_missed(sandbox: &Sandbox, id: &str, arguments: &[&str]) {
    let refused = sandbox.run(arguments).expect_code(2);
    let error =
        format!("error: the journal of the debate {id} is missing: ./debates/{id}.events.jsonl does not exist\n");
    assert!(refused.stderr.starts_with(&error) && refused.stderr.contains("hint: restore the journal"), "{refused}");
}

#[test]
fn without_its_journal_a_debate_is_reported_and_no_more() {
    let server = MockServer::with(short_reply);
    let (sandbox, id) = without_synthesis(&server);
    let journal = format!("debates/{id}.events.jsonl");
    let (whole, calls) = (sandbox.read(&journal), server.requests().len());
    let report = sandbox.run(["report", "-d", &id]).expect_code(0).stdout;
    sandbox.remove(&journal);
    for arguments in [&["resume", &id][..], &["fork", &id, "--at", "1.synthesis"], &["verify", &id]] {
        assert_journal_is_missed(&sandbox, &id, arguments);
    }
    assert_eq!(sandbox.run(["report", "-d", &id]).expect_code(0).stdout, report);
    assert!(sandbox.run(["list"]).expect_code(0).stdout.contains(&id));
    assert_eq!(server.requests().len(), calls);
    sandbox.write(&journal, whole);
    sandbox.run(["resume", &id, "--quiet"]).expect_code(0);
    assert_eq!(server.requests().len(), calls + 1);
}

/// A debate that was killed before its first save is as whole as it can be.
#[test]
fn a_state_that_was_never_saved_is_no_flaw() {
    let server = MockServer::with(short_reply);
    let (sandbox, id) = without_synthesis(&server);
    let lines = sandbox.journal(&id);
    sandbox.remove(format!("debates/{id}.json"));
    sandbox.run(["verify", &id]).expect_code(2).prints(["  - there is no state file"]);
    sandbox.write(format!("debates/{id}.events.jsonl"), lines[..4].join("\n") + "\n");
    sandbox.run(["verify", &id]).expect_code(0).prints(["missing; `resume` writes it"]);
}

/// Whoever else has an account on the machine reads no debate, unless its owner lets them.
#[test]
fn new_records_are_their_owners_alone_and_others_stay_as_they_are() {
    use std::os::unix::fs::PermissionsExt as _;
    let sandbox = Sandbox::new();
    sandbox.run(["debate", "--offline", "-r", "1", "Design a queue"]).expect_code(0);
    let id = sandbox.only_debate();
    let files = ["json", "events.jsonl"].map(|end| sandbox.directory().join(format!("debates/{id}.{end}")));
    let modes = || files.each_ref().map(|file| file.metadata().unwrap().permissions().mode() & 0o777);
    assert_eq!(modes(), [0o600; 2]);
    for file in &files {
        std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o664)).unwrap();
    }
    let before = files[0].metadata().unwrap().modified().unwrap();
    sandbox.rate(format!("debates/{id}.json"), 1);
    assert_ne!(files[0].metadata().unwrap().modified().unwrap(), before, "the state was replaced");
    assert_eq!(modes(), [0o664; 2]);
}
