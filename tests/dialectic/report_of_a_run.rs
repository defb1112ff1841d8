//! `--report`: what a run leaves behind besides the debate.

use serde_json::json;

use crate::support::{MockServer, Purpose, Reply, Sandbox, default_reply, short_reply, two_agents};

#[test]
fn a_debate_can_leave_a_report_behind() {
    let server = MockServer::with(default_reply);
    let sandbox = two_agents(&server, &json!({}));
    let finished = sandbox.run(["debate", "Design a queue", "--quiet", "--report", "out/report.md"]).expect_code(0);
    let id = sandbox.only_debate();
    let (_, rest) = finished.stderr.split_once('\n').unwrap();
    assert!(finished.stderr.starts_with("7 calls, of unknown cost"), "{finished}");
    assert_eq!(rest, format!("Saved debate to ./debates/{id}.json\nGenerated report: out/report.md\n"));
    assert_eq!(sandbox.read("out/report.md"), sandbox.run(["report", "-d", &id]).expect_code(0).stdout);
    assert!(!finished.stdout.contains("## Rounds"), "the solution is what is printed: {finished}");

    let warned =
        sandbox.run(["debate", "Design a queue", "--quiet", "-v", "--report", "out/second.txt"]).expect_code(0);
    let warning = "warning: the report path `out/second.txt` does not end in .md, .html or .json; writing the report \
                   to out/second.txt.md\n";
    assert!(warned.stderr.starts_with(warning), "{warned}");
    assert!(warned.stderr.ends_with("Generated report: out/second.txt.md\n"), "{warned}");
    assert!(sandbox.read("out/second.txt.md").contains(" (latency="), "-v is for the report, too");
    assert!(!sandbox.directory().join("out/second.txt").exists());

    // A debate that is finished can still be reported on.
    let resumed = sandbox.run(["resume", &id, "--report", "again.md"]).expect_code(0);
    assert!(resumed.stderr.ends_with("is finished.\nGenerated report: again.md\n"), "{resumed}");
    assert_eq!(sandbox.read("again.md"), sandbox.read("out/report.md"));
}

#[test]
fn a_failed_debate_leaves_a_report_and_one_that_is_resumed_another() {
    let server = MockServer::with(|request| match request.purpose {
        Purpose::Synthesize => Reply::error(400, "not today"),
        _ => short_reply(request),
    });
    let sandbox = two_agents(&server, &json!({}));
    let failed = sandbox.run(["debate", "Design a queue", "--quiet", "--report", "r.md"]).expect_code(3);
    assert!(failed.stderr.contains("Generated report: r.md\nerror: the debate deb-"), "{failed}");
    let report = sandbox.read("r.md");
    assert!(report.contains("- Status: failed\n") && report.contains("not today"), "{report}");
    server.set_script(short_reply);
    sandbox.run(["resume", "latest", "--quiet", "--report", "r.md"]).expect_code(0);
    assert!(sandbox.read("r.md").contains("- Run: complete\n"));
}

#[test]
fn a_report_that_cannot_be_written_costs_nothing() {
    let server = MockServer::with(short_reply);
    let sandbox = Sandbox::new().model_server(&server).file("directory.md/x", "");
    for (report, code, says) in [
        ("directory.md", 1, "cannot write directory.md"),
        ("directory.md/x/r.md", 1, "cannot write directory.md/x"),
        ("./out.md", 2, "--report names the same file as --output"),
    ] {
        sandbox.run(["debate", "Design a queue", "-o", "out.md", "--report", report]).expect_code(code).says([says]);
    }
    assert_eq!((server.requests().len(), sandbox.debates().len()), (0, 0));
}
