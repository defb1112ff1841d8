//! Pages as a real browser sees them: headless Chromium.

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::support::{Sandbox, Tag, tags};

/// The names that Chromium goes by.
const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/// Whether there is a browser to test with. On a machine without one the tests that need it say so and end, so that
/// all tests run on a fresh machine; where `CI` is set that is a failure, since nothing was shown.
pub(crate) fn is_installed() -> bool {
    let installed = browser().is_some();
    if !installed {
        let missing = format!(
            "none of {} is in PATH, and this test needs a real browser: `apt-get install chromium`, or install \
             Chromium or Chrome by other means",
            NAMES.join(", ")
        );
        assert!(std::env::var_os("CI").is_none(), "{missing}");
        // Not captured as `eprintln!` is: whoever runs the tests is to see it.
        #[expect(
            clippy::disallowed_methods,
            reason = "a test that is not made has to show, and it is no output of the program"
        )]
        let _ = writeln!(std::io::stderr(), "not tested: {missing}");
    }
    installed
}

/// Where it is.
pub(crate) fn browser() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let mut candidates = std::env::split_paths(&path).flat_map(|directory| NAMES.map(|name| directory.join(name)));
    candidates.find(|candidate| candidate.is_file())
}

/// The DOM of a page after its scripts had three seconds to run, written as HTML.
pub(super) fn document(page: &str) -> String {
    open(Sandbox::new().file("page.html", page), "page.html")
}

fn open(sandbox: Sandbox, file: &str) -> String {
    let browser = browser().expect("a test asks whether there is a browser before it uses it");
    let sandbox = sandbox.program("/usr/bin/timeout").limit(Duration::from_mins(4));
    let profile = format!("--user-data-dir={}", sandbox.directory().join("profile").display());
    let address = format!("file://{}", sandbox.directory().join(file).display());
    let options = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--disable-extensions",
        "--allow-file-access-from-files",
        "--virtual-time-budget=3000",
        "--dump-dom",
    ];
    let browser = browser.display().to_string();
    let run = || {
        let arguments = ["60", browser.as_str()].into_iter().chain(options).chain([profile.as_str(), address.as_str()]);
        sandbox.run(arguments)
    };
    // On a busy machine, headless Chromium sometimes hangs.
    let first = run();
    let finished = if first.code == Some(124) { run() } else { first };
    let seen = finished.expect_code(0).stdout;
    assert!(seen.contains("</html>"), "the browser showed nothing:\n{seen}");
    seen
}

/// A page of a careless program, which puts a text in as it is.
pub(super) fn unescaped(text: &str) -> String {
    format!("<!DOCTYPE html>\n<html><head><title>careless</title></head><body>\n{text}\n</body></html>\n")
}

/// What a window shows of a page.
pub(super) struct Measure {
    /// How wide its content is, in CSS pixels. More than the window: it scrolls sideways.
    pub(super) scroll_width: u32,
    /// Whether its stylesheet applies.
    pub(super) is_styled: bool,
}

/// How many of the elements that a selector fits each page shows, after a link to `fragment` was followed.
pub(super) fn count_visible(pages: &[&str], selector: &str, fragment: &str) -> Vec<usize> {
    let follow = format!("frame.contentWindow.location.hash = '{fragment}';");
    let count = format!("[...seen.querySelectorAll({selector:?})].filter(one => one.getClientRects().length).length");
    let frames = framed(pages, 1280, &format!("{follow}\nframe.dataset.shown = {count};"));
    let shown = frames.iter().map(|frame| frame.attribute("data-shown").and_then(|shown| shown.parse().ok()));
    shown.map(|shown| shown.expect("a page was not measured")).collect()
}

/// Lays pages out in windows of that many CSS pixels.
pub(super) fn measure(pages: &[&str], width: u32) -> Vec<Measure> {
    let script = "frame.dataset.width = seen.documentElement.scrollWidth;\n\
                  frame.dataset.position = getComputedStyle(seen.querySelector('.skip')).position;";
    let measured = framed(pages, width, script).into_iter().map(|frame| {
        let scroll_width = frame.attribute("data-width").and_then(|width| width.parse().ok());
        Measure {
            scroll_width: scroll_width.unwrap_or_else(|| panic!("a page was not measured:\n{frame:?}")),
            is_styled: frame.attribute("data-position") == Some("absolute"),
        }
    });
    measured.collect()
}

/// The frames in which pages are shown, each of that many CSS pixels, after `script` has noted something of `seen` in the
/// data of its `frame`. Windows would not do, since the browser has a least width.
fn framed(pages: &[&str], width: u32, script: &str) -> Vec<Tag> {
    let mut sandbox = Sandbox::new();
    let mut host = "<!DOCTYPE html>\n<html><body>\n".to_owned();
    for (number, page) in pages.iter().enumerate() {
        sandbox = sandbox.file(format!("{number}.html"), page);
        writeln!(host, "<iframe src=\"{number}.html\" width=\"{width}\" height=\"800\" style=\"border: 0\"></iframe>")
            .expect("writing to a string does not fail");
    }
    write!(
        host,
        "<script>\nonload = () => {{\nfor (const frame of document.querySelectorAll('iframe')) {{\n\
         const seen = frame.contentDocument;\n{script}\n}}\n}};\n</script></body></html>\n"
    )
    .expect("writing to a string does not fail");
    let seen = open(sandbox.file("host.html", host), "host.html");
    let frames: Vec<Tag> = tags(&seen).into_iter().filter(|tag| tag.name == "iframe" && !tag.is_end).collect();
    assert_eq!(frames.len(), pages.len(), "{seen}");
    frames
}

/// A server that a page should not know. It remembers who asks it for anything.
pub(super) struct Listener {
    address: String,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Listener {
    /// Listens on a free port of the loopback device.
    pub(super) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let address = listener.local_addr().expect("a listener has an address").to_string();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&requests);
        std::thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                let seen = Arc::clone(&seen);
                // Browsers open connections that they do not use; those must not hold up the others.
                std::thread::spawn(move || answer(&connection, &seen));
            }
        });
        Self { address, requests }
    }

    /// Host and port.
    pub(super) fn address(&self) -> String {
        self.address.clone()
    }

    /// The paths that were asked for.
    pub(super) fn requests(&self) -> Vec<String> {
        self.requests.lock().expect("no test panics while it holds this").clone()
    }
}

/// Remembers what was asked for, and answers that there is nothing.
fn answer(mut connection: &TcpStream, seen: &Mutex<Vec<String>>) {
    let mut line = String::new();
    let _ = BufReader::new(connection).read_line(&mut line);
    // A connection without a request counts, too.
    let path = line.split(' ').nth(1).unwrap_or("a connection").to_owned();
    seen.lock().expect("no test panics while it holds this").push(path);
    let _ = connection.write_all(b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n");
}
