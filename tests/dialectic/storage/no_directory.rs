//! A debates directory that is none, or that nothing can be written to: known before anything is paid for.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use crate::storage::{assert_refused, small};
use crate::support::{MockServer, Sandbox, short_reply};

fn assert_costs_nothing(sandbox: &Sandbox, server: &MockServer, says: &[&str]) {
    let before = sandbox.files();
    let finished = sandbox.run(["debate", "Design a queue", "--quiet"]);
    assert_refused(&finished, says);
    assert!(finished.stderr.contains("\nhint: debates are saved in `./debates`"), "{finished}");
    assert_eq!(server.requests().len(), 0);
    assert!(sandbox.files() == before, "something was written");
}

#[test]
fn a_file_in_its_place() {
    let server = MockServer::with(short_reply);
    let sandbox = small(&server).file("debates", "mine");
    assert_costs_nothing(&sandbox, &server, &["cannot create the debates directory ./debates\n"]);
    for command in [&["list"][..], &["list", "--json"], &["report", "-d", "latest"], &["resume", "deb-2025"]] {
        assert_refused(&sandbox.run(command), &["cannot read the debates directory ./debates\n", "Not a directory"]);
    }
}

/// Below `/proc` even root can make no file.
#[cfg(target_os = "linux")]
#[test]
fn a_link_that_leads_nowhere_or_to_a_directory_that_nobody_can_write_to() {
    for (target, says) in [
        ("nowhere/at/all", "cannot create the debates directory ./debates\n"),
        ("/proc", "cannot open the journal ./debates/deb-"),
    ] {
        let server = MockServer::with(short_reply);
        let sandbox = small(&server);
        symlink(target, sandbox.directory().join("debates")).unwrap();
        assert_refused(&sandbox.run(["debate", "Design a queue", "--quiet"]), &[says]);
        assert_eq!(server.requests().len(), 0);
    }
}

#[test]
fn a_directory_that_is_read_only() {
    let server = MockServer::with(short_reply);
    let sandbox = small(&server).file("debates/notes.txt", "mine");
    let directory = sandbox.directory().join("debates");
    fs::set_permissions(&directory, fs::Permissions::from_mode(0o555)).unwrap();
    // The bits mean nothing to root.
    if fs::write(directory.join("probe"), "").is_ok() {
        fs::remove_file(directory.join("probe")).unwrap();
        sandbox.run(["debate", "Design a queue", "--quiet"]).expect_code(0);
        assert_eq!(sandbox.debates().len(), 1);
    } else {
        assert_costs_nothing(&sandbox, &server, &["cannot open the journal ./debates/deb-", "Permission denied"]);
    }
    fs::set_permissions(&directory, fs::Permissions::from_mode(0o755)).unwrap();
}
