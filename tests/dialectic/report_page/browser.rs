//! Pages as a real browser sees them: headless Chromium.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use serde_json::Value;

use crate::chromium::Profile;
use crate::support::Sandbox;

/// The DOM of a page after its scripts had three seconds to run, written as HTML.
pub(super) fn document(page: &str) -> String {
    let sandbox = Sandbox::new().file("page.html", page);
    let mut profile = Profile::new();
    let mut tab = profile.tab();
    tab.go(&address(&sandbox, "page.html"));
    tab.document_after_three_seconds()
}

fn address(sandbox: &Sandbox, file: &str) -> String {
    format!("file://{}", sandbox.directory().join(file).display())
}

/// A page of a careless program, which puts a text in as it is.
pub(super) fn unescaped(text: &str) -> String {
    format!("<!DOCTYPE html>\n<html><head><title>careless</title></head><body>\n{text}\n</body></html>\n")
}

/// What a window shows of a page.
pub(super) struct Measure {
    /// How wide its content is, in CSS pixels. More than the window: it scrolls sideways.
    pub(super) scroll_width: u64,
    /// Whether its stylesheet applies.
    pub(super) is_styled: bool,
}

/// How many of the elements that a selector fits each page shows, after a link to `fragment` was followed.
pub(super) fn count_visible(pages: &[&str], selector: &str, fragment: &str) -> Vec<u64> {
    let follow = format!("location.hash = '{fragment}'");
    let count =
        format!("[...document.querySelectorAll({selector:?})].filter(one => one.getClientRects().length).length");
    let shown = in_windows(pages, 1280, &format!("{follow}; {count}"));
    shown.iter().map(|shown| shown.as_u64().expect("a page was not measured")).collect()
}

/// Lays pages out in windows of that many CSS pixels.
pub(super) fn measure(pages: &[&str], width: u32) -> Vec<Measure> {
    let script = "[document.documentElement.scrollWidth, getComputedStyle(document.querySelector('.skip')).position]";
    let measured = in_windows(pages, width, script).into_iter().map(|measured| Measure {
        scroll_width: measured[0].as_u64().expect("a page was not measured"),
        is_styled: measured[1] == "absolute",
    });
    measured.collect()
}

/// What an expression is worth in each page, in a window of that many CSS pixels.
fn in_windows(pages: &[&str], width: u32, expression: &str) -> Vec<Value> {
    let mut profile = Profile::new();
    let mut tab = profile.tab();
    tab.size(width, false);
    let seen = pages.iter().map(|page| {
        let sandbox = Sandbox::new().file("page.html", *page);
        tab.go(&address(&sandbox, "page.html"));
        tab.run(expression)
    });
    seen.collect()
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
