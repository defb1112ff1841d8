//! The hook and the workflow of the examples: their commands are what the program takes, and name their limit.

use super::{AFTER, BEFORE, commit, parsed, repository};
use crate::support::{Finished, Sandbox};

fn example(name: &str) -> String {
    std::fs::read_to_string(format!("{}/examples/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

/// A shell in a repository with a change, in which `dialectic review` is a rehearsal and ends with `$CODE` if that is
/// set; `.git/calls` lists its calls.
fn shell() -> Sandbox {
    let sandbox = Sandbox::new().program("/bin/sh");
    let path = format!("{}/.git/shims:/usr/bin:/bin", sandbox.directory().display());
    let sandbox = repository(sandbox.env("PATH", &path), &[("a.py", BEFORE)]);
    commit(&sandbox, &[("a.py", AFTER)]);
    let shim = format!(
        "#!/bin/sh\necho \"$@\" >>.git/calls\n[ -n \"$CODE\" ] && exit \"$CODE\"\n\
         [ \"$1\" = review ] && set -- \"$@\" --offline\nexec {} \"$@\"\n",
        env!("CARGO_BIN_EXE_dialectic")
    );
    sandbox.write(".git/shims/dialectic", shim);
    sandbox.write(".git/hooks/pre-push", example("pre-push.sh"));
    run(&sandbox, "chmod +x .git/shims/* .git/hooks/pre-push && git init -q --bare .git/away && git tag v1")
        .expect_code(0);
    sandbox
}

fn run(sandbox: &Sandbox, script: &str) -> Finished {
    sandbox.run(["-c", script])
}

#[test]
fn the_hook_reviews_each_pushed_branch_within_its_limit_and_stops_blocking_findings() {
    let sandbox = shell();
    let refused = run(&sandbox, "CODE=6 git push .git/away work").expect_code(1);
    assert!(refused.stderr.contains("nothing was pushed"), "{refused}");
    let pushed = run(&sandbox, "CODE=5 git push .git/away main").expect_code(0);
    assert!(pushed.stderr.contains("pushed all the same"), "{pushed}");
    sandbox.remove(".git/calls");
    run(&sandbox, "git push .git/away work v1").expect_code(0);
    run(&sandbox, "echo 'x = 1' >>a.py && git -c user.name=n -c user.email=n@example.org commit -qam more")
        .expect_code(0);
    run(&sandbox, "git push .git/away work && git push .git/away :main").expect_code(0);
    let calls = sandbox.read(".git/calls");
    let calls: Vec<&str> = calls.lines().collect();
    assert_eq!(calls.len(), 2, "{calls:?}");
    assert!(calls.iter().all(|call| call.contains("--fail-on blocking --max-cost 0.50")), "{calls:?}");
    assert!(!calls[0].contains("--base") && calls[1].contains("--base"), "{calls:?}");
    assert_eq!(sandbox.debates().len(), 2);
}

#[test]
fn the_workflow_has_commands_that_the_program_takes() {
    let sandbox = shell();
    let workflow = example("review-workflow.yml");
    let commands: Vec<&str> = workflow.lines().map(str::trim).filter(|line| line.starts_with("dialectic ")).collect();
    assert_eq!(commands.len(), 2, "{commands:?}");
    assert!(commands[0].contains("--max-cost 1 "));
    run(&sandbox, &format!("BASE=main HEAD=work; {}", commands.join("; "))).expect_code(0);
    super::schema::assert_valid("sarif-2.1.0.json", &parsed(&sandbox.read("review.sarif")));
    super::schema::assert_valid("github-create-review.json", &parsed(&sandbox.read("review.json")));
}
