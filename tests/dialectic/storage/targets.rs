//! Where results go: links, modes, pipes and devices stay what they are, and what cannot be written is said at once.

#![cfg(target_os = "linux")]

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::process::Stdio;

use crate::support::Sandbox;

const DEBATE: [&str; 5] = ["debate", "Design a queue", "--offline", "--quiet", "--rounds=1"];

fn with(options: &[&'static str]) -> Vec<&'static str> {
    [&DEBATE[..], options].concat()
}

#[test]
fn a_result_keeps_the_mode_the_links_and_the_names_of_the_file_that_it_goes_to() {
    let sandbox = Sandbox::new().file("private.md", "old").file("one.md", "old");
    let path = |name: &str| sandbox.directory().join(name);
    fs::set_permissions(path("private.md"), fs::Permissions::from_mode(0o600)).unwrap();
    fs::hard_link(path("one.md"), path("other-name.md")).unwrap();
    symlink("private.md", path("link.md")).unwrap();
    symlink("made.md", path("dangling.md")).unwrap();
    for (output, written) in [("link.md", "private.md"), ("one.md", "other-name.md"), ("dangling.md", "made.md")] {
        sandbox.run(with(&["-o"]).into_iter().chain([output])).expect_code(0);
        assert!(sandbox.read(written).contains("## Judge Assessment"), "{output}");
    }
    assert!(path("link.md").is_symlink() && path("dangling.md").is_symlink());
    assert_eq!(path("private.md").metadata().unwrap().mode() & 0o777, 0o600);
    assert_eq!(path("one.md").metadata().unwrap().nlink(), 2);
    sandbox.run(with(&["--report", "link.md"])).expect_code(0);
    assert!(path("link.md").is_symlink() && sandbox.read("private.md").starts_with("# Debate"));
}

#[test]
fn standard_output_under_another_name_is_written_to_and_not_replaced() {
    let sandbox = Sandbox::new();
    let path = sandbox.directory().join("redirected.md");
    fs::write(&path, "a line that was there\n").unwrap();
    let inode = path.metadata().unwrap().ino();
    let out = fs::File::options().append(true).open(&path).unwrap();
    let status = sandbox.command(with(&["-o", "/dev/stdout"])).stdin(Stdio::null()).stdout(out).status().unwrap();
    assert!(status.success());
    let written = sandbox.read("redirected.md");
    assert!(written.starts_with("a line that was there\n"), "{written}");
    assert_eq!(written.matches("## Judge Assessment").count(), 1, "{written}");
    assert_eq!(path.metadata().unwrap().ino(), inode);

    let piped = sandbox.run(with(&["-o", "/dev/stdout"])).expect_code(0);
    assert_eq!(piped.stdout.matches("## Judge Assessment").count(), 1, "{piped}");
    // The stream of events under that name has standard output for itself.
    let events = sandbox.run(with(&["--events", "/dev/stdout"])).expect_code(0);
    assert!(events.stdout.lines().all(|line| serde_json::from_str::<serde_json::Value>(line).is_ok()), "{events}");
}

#[test]
fn a_named_pipe_gets_the_result_when_it_is_there() {
    let sandbox = Sandbox::new();
    let pipe = sandbox.directory().join("pipe");
    nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::from_bits_truncate(0o600)).unwrap();
    // Nobody reads yet: to open the pipe for a check would wait for ever.
    let running = sandbox.spawn(with(&["-o", "pipe"]));
    let read = fs::read_to_string(&pipe).unwrap();
    running.wait().expect_code(0);
    assert!(read.contains("## Judge Assessment"), "{read}");
    assert!(!pipe.metadata().unwrap().is_file());
}

#[test]
fn two_results_for_one_file_are_refused_before_anything_is_paid_for() {
    let sandbox = Sandbox::new().file("x.md", "").file("same.json", "");
    symlink("x.md", sandbox.directory().join("link.md")).unwrap();
    for (options, says) in [
        (&["-o", "x.md", "--events", "./link.md"][..], "--events names the same file as --output"),
        (&["-o", "new.ndjson", "--events", "./new.ndjson"], "--events names the same file as --output"),
        (&["-o", "x.md", "--report", "link.md"], "--report names the same file as --output"),
        (&["--report", "x.md", "--events", "link.md"], "--events names the same file as --report"),
        (&["-o", "/dev/stdout", "--events", "-"], "--output names the same file as --events"),
    ] {
        sandbox.run(with(options)).expect_code(2).says([says]);
    }
    assert!(sandbox.debates().is_empty());
}

#[test]
fn what_cannot_be_written_is_said_before_anything_is_paid_for() {
    let sandbox = Sandbox::new();
    symlink("loop", sandbox.directory().join("loop")).unwrap();
    fs::create_dir(sandbox.directory().join("directory.md")).unwrap();
    for output in ["loop", "directory.md", "/proc/new.md", "/dev/null/x.md"] {
        for option in ["-o", "--events"] {
            sandbox.run(with(&[option]).into_iter().chain([output])).expect_code(1).says(["error: cannot write"]);
        }
    }
    assert!(sandbox.debates().is_empty());
}
