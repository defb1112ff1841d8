//! Links, devices, pipes, and files that are swapped while they are read.

use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use super::*;

#[test]
fn links_to_files_outside_are_refused() {
    let place = ToolDirectory::new();
    symlink(place.path("outside/plan.md"), place.path("ctx/absolute")).expect("linked");
    symlink("../outside/plan.md", place.path("ctx/relative")).expect("linked");
    symlink("relative", place.path("ctx/twice")).expect("linked");
    symlink(place.path("outside/nothing"), place.path("ctx/dangling")).expect("linked");
    for path in ["absolute", "relative", "twice", "dangling"] {
        assert_eq!(place.read(path), refused(OUTSIDE), "{path}");
        assert_eq!(place.list(path), refused(OUTSIDE), "{path}");
    }
}

#[test]
fn links_to_directories_outside_are_refused() {
    let place = ToolDirectory::new();
    symlink(place.path("outside"), place.path("ctx/absolute")).expect("linked");
    symlink("../outside", place.path("ctx/relative")).expect("linked");
    symlink("/", place.path("ctx/root")).expect("linked");
    for path in ["absolute", "relative", "root"] {
        assert_eq!(place.list(path), refused(OUTSIDE), "{path}");
    }
    for path in ["absolute/plan.md", "relative/plan.md", "root/etc/passwd", "absolute/nothing"] {
        assert_eq!(place.read(path), refused(OUTSIDE), "{path}");
    }
    let names: Vec<_> = place.list(".").expect("listed").into_iter().map(|(path, _)| path).collect();
    assert_eq!(names, ["docs", "notes.md"]);
}

#[test]
fn links_inside_are_followed() {
    let place = ToolDirectory::new();
    symlink("../notes.md", place.path("ctx/docs/n")).expect("linked");
    symlink("docs", place.path("ctx/d")).expect("linked");
    assert_eq!(place.read("d/n").as_deref(), Ok("the notes"));
    let entry = |path: &str, kind: &str| (path.to_owned(), kind.to_owned());
    assert_eq!(place.list("d"), Ok(vec![entry("docs/n", "file"), entry("docs/plan.md", "file")]));
    assert_eq!(place.list(".").expect("listed")[0], entry("d", "directory"));
}

#[test]
fn absolute_links_are_followed_where_they_lead_back_inside() {
    let place = ToolDirectory::new();
    symlink(place.path("ctx/notes.md"), place.path("ctx/docs/n")).expect("linked");
    symlink(place.path("ctx/docs"), place.path("ctx/d")).expect("linked");
    assert_eq!(place.read("docs/n").as_deref(), Ok("the notes"));
    assert_eq!(place.read("d/n").as_deref(), Ok("the notes"));
    assert_eq!(place.list("d").expect("listed").len(), 2);
    assert_eq!(place.list(".").expect("listed")[0], ("d".to_owned(), "directory".to_owned()));
    // Uses another name of the directory, which leads out and back in; this is only allowed for absolute links.
    symlink(place.path("ctx"), place.path("alias")).expect("linked");
    symlink(place.path("alias/docs/plan.md"), place.path("ctx/by-alias")).expect("linked");
    assert_eq!(place.read("by-alias").as_deref(), Ok("the plan"));
    symlink(place.text("ctx/../outside/plan.md"), place.path("ctx/out")).expect("linked");
    symlink(place.text("ctx/docs/../../outside"), place.path("ctx/dir-out")).expect("linked");
    symlink("docs/../../outside/plan.md", place.path("ctx/relative-out")).expect("linked");
    for path in ["out", "dir-out/plan.md", "relative-out"] {
        assert_eq!(place.read(path), refused(OUTSIDE), "{path}");
    }
    fs::write(place.path("ctx/.env"), "TOP SECRET").expect("written");
    symlink(place.path("ctx/.env"), place.path("ctx/settings")).expect("linked");
    assert_eq!(place.read("settings"), refused(SECRET));
    symlink("notes.md", place.path("ctx/.netrc")).expect("linked");
    assert_eq!(place.read(".netrc"), refused(SECRET), "the name may be the target's one day");
}

#[test]
fn the_withheld_file_is_refused_by_every_name() {
    let place = ToolDirectory::new();
    fs::write(place.path("ctx/team.txt"), "TOP SECRET").expect("written");
    fs::hard_link(place.path("ctx/team.txt"), place.path("ctx/docs/hard")).expect("linked");
    symlink("team.txt", place.path("ctx/soft")).expect("linked");
    symlink(place.path("ctx/team.txt"), place.path("link")).expect("linked");
    for named in ["ctx/team.txt", "link"] {
        let directory = ContextDirectory::open(&place.path("ctx")).expect("opened");
        let tools = tools_of(directory.withholding(Some(&place.path(named))), Vec::new());
        for path in ["team.txt", "docs/hard", "soft"] {
            assert_eq!(read(&tools, path), refused(SECRET), "{path}");
        }
        // Saved again, like an editor does: neither the new file with this name nor the old one may be shown.
        fs::write(place.path("ctx/new"), "TOP SECRET").expect("written");
        fs::rename(place.path("ctx/new"), place.path("ctx/team.txt")).expect("replaced");
        for path in ["team.txt", "docs/hard"] {
            assert_eq!(read(&tools, path), refused(SECRET), "{path}");
        }
        fs::remove_file(place.path("ctx/team.txt")).expect("removed");
        fs::hard_link(place.path("ctx/docs/hard"), place.path("ctx/team.txt")).expect("linked");
    }
    assert_eq!(place.read("notes.md").as_deref(), Ok("the notes"));
}

#[test]
fn links_in_a_circle_are_refused() {
    let place = ToolDirectory::new();
    symlink("b", place.path("ctx/a")).expect("linked");
    symlink("a", place.path("ctx/b")).expect("linked");
    let error = place.read("a").expect_err("refused");
    assert!(error.starts_with("the file or directory cannot be read: "), "{error}");
    assert_eq!(place.list(".").expect("listed").len(), 2);
}

#[test]
fn links_to_secrets_inside_are_refused() {
    let place = ToolDirectory::new();
    fs::create_dir(place.path("ctx/.ssh")).expect("created");
    fs::write(place.path("ctx/.env"), "TOP SECRET").expect("written");
    fs::write(place.path("ctx/.ssh/config"), "TOP SECRET").expect("written");
    symlink(".env", place.path("ctx/settings")).expect("linked");
    symlink("../settings", place.path("ctx/docs/settings")).expect("linked");
    symlink(".ssh", place.path("ctx/shell")).expect("linked");
    for path in ["settings", "docs/settings", "shell/config"] {
        assert_eq!(place.read(path), refused(SECRET), "{path}");
    }
    assert_eq!(place.list("shell"), refused(SECRET));
}

#[test]
fn a_directory_given_through_a_link_takes_both_its_names() {
    let place = ToolDirectory::new();
    symlink("ctx", place.path("link")).expect("linked");
    let tools = toolbox(&place.path("link"), Vec::new());
    for path in ["link/notes.md", "ctx/notes.md"] {
        assert_eq!(read(&tools, &place.text(path)).as_deref(), Ok("the notes"), "{path}");
    }
}

#[test]
fn devices_are_refused() {
    let tools = toolbox(Path::new("/dev"), Vec::new());
    for path in ["null", "zero", "/dev/zero"] {
        assert_eq!(read(&tools, path), refused(SPECIAL), "{path}");
    }
    let place = ToolDirectory::new();
    symlink("/dev/zero", place.path("ctx/zero")).expect("linked");
    assert_eq!(place.read("zero"), refused(OUTSIDE));
}

#[test]
fn pipes_and_sockets_are_refused_at_once() {
    let place = ToolDirectory::new();
    let status = Command::new("mkfifo").arg(place.path("ctx/pipe")).status().expect("mkfifo runs");
    assert!(status.success());
    let _listener = UnixListener::bind(place.path("ctx/socket")).expect("bound");
    symlink("pipe", place.path("ctx/link")).expect("linked");
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let reads = ["pipe", "socket", "link"].map(|path| place.read(path));
        let names: Vec<_> = place.list(".").expect("listed").into_iter().map(|(path, _)| path).collect();
        sender.send((reads, names))
    });
    let (reads, names) = receiver.recv_timeout(Duration::from_secs(20)).expect("nothing blocks");
    assert_eq!(reads, [refused(SPECIAL), refused(SPECIAL), refused(SPECIAL)]);
    assert_eq!(names, ["docs", "notes.md"]);
}

#[cfg(target_os = "linux")]
#[test]
fn the_kernels_files_are_refused() {
    let place = ToolDirectory::new();
    symlink("/proc/self/environ", place.path("ctx/environ")).expect("linked");
    symlink("/proc/self/fd/0", place.path("ctx/fd")).expect("linked");
    symlink("/proc/self/cwd", place.path("ctx/cwd")).expect("linked");
    for path in ["environ", "fd", "cwd", "cwd/Cargo.toml", "/proc/self/environ", "/proc/self/root/etc/passwd"] {
        assert_eq!(place.read(path), refused(OUTSIDE), "{path}");
    }
    // The environment contains keys, and even a user who allows the whole machine does not mean to reveal it.
    let tools = toolbox(Path::new("/"), Vec::new());
    for path in ["proc/self/environ", "/proc/self/environ", "proc/version"] {
        assert_eq!(read(&tools, path), refused(SPECIAL), "{path}");
    }
    assert_eq!(read(&toolbox(Path::new("/proc/self"), Vec::new()), "environ"), refused(SPECIAL));
}

/// Exchanges `target` in the context directory for a link to `secret` and back while `path` is read. Reads return the
/// harmless content or are rejected, and both must happen.
fn race(place: &ToolDirectory, target: &str, secret: &str, path: &str, harmless: &str) {
    let target = place.path("ctx").join(target);
    let aside = place.path("aside");
    let link = place.path("link");
    let stop = AtomicBool::new(false);
    let (mut read, mut denied) = (0_u32, 0_u32);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                symlink(secret, &link).expect("linked");
                fs::rename(&target, &aside).expect("set aside");
                fs::rename(&link, &target).expect("swapped in");
                thread::yield_now();
                fs::remove_file(&target).expect("removed");
                fs::rename(&aside, &target).expect("put back");
                thread::yield_now();
            }
        });
        let begin = Instant::now();
        while (read < 100 || denied < 100) && begin.elapsed() < Duration::from_secs(20) {
            match place.read(path) {
                Ok(content) => {
                    stop.fetch_or(content != harmless, Ordering::Relaxed);
                    assert_eq!(content, harmless);
                    read += 1;
                }
                Err(error) if error.starts_with("Access denied") => denied += 1,
                // Between two renames the file does not exist.
                Err(error) => {
                    stop.fetch_or(!error.starts_with("there is no"), Ordering::Relaxed);
                    assert!(error.starts_with("there is no"), "{error}");
                }
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert!(read > 0 && denied > 0, "read {read} times, denied {denied} times");
}

#[test]
fn a_link_that_is_swapped_in_while_reading_is_never_followed() {
    let place = ToolDirectory::new();
    fs::write(place.path("ctx/.env"), "TOP SECRET").expect("written");
    fs::create_dir(place.path("ctx/.ssh")).expect("created");
    fs::write(place.path("ctx/.ssh/plan.md"), "TOP SECRET").expect("written");
    for secret in [&*place.text("outside/plan.md"), ".env"] {
        race(&place, "notes.md", secret, "notes.md", "the notes");
    }
    for secret in [&*place.text("outside"), ".ssh"] {
        race(&place, "docs", secret, "docs/plan.md", "the plan");
    }
}
