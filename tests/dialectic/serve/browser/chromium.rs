//! A headless Chromium, driven by its own protocol.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;
use tungstenite::{Message, WebSocket, client};

use crate::report_page::browser::browser;

/// axe-core, where `AXE` says which file it is. Where `CI` is set it has to be there.
pub(crate) fn axe() -> Option<String> {
    let axe = std::env::var("AXE").ok().map(|path| std::fs::read_to_string(path).unwrap());
    assert!(axe.is_some() || std::env::var_os("CI").is_none(), "AXE is not set, and nothing was checked by it");
    axe
}

/// How long anything may take.
const LIMIT: Duration = Duration::from_mins(1);

/// A browser with a profile of its own.
pub(crate) struct Chromium {
    child: Child,
    profile: TempDir,
    port: u16,
}

/// A page of it.
pub(crate) struct Tab {
    socket: WebSocket<TcpStream>,
    number: u64,
    /// What its console and its log said.
    said: Vec<String>,
}

impl Chromium {
    pub(crate) fn start() -> Self {
        let profile = tempfile::tempdir().unwrap();
        let program = browser().expect("a test asks whether there is a browser before it uses it");
        let child = Command::new(program)
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-quic"])
            .args(["--no-first-run", "--disable-background-networking", "--disable-component-update"])
            .args(["--disable-sync", "--disable-extensions", "--remote-debugging-port=0", "about:blank"])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let until = Instant::now() + LIMIT;
        let port = loop {
            let file = std::fs::read_to_string(profile.path().join("DevToolsActivePort")).unwrap_or_default();
            if let Some(port) = file.lines().next().and_then(|line| line.parse().ok()) {
                break port;
            }
            assert!(Instant::now() < until, "the browser does not start");
            std::thread::sleep(Duration::from_millis(20));
        };
        Self { child, profile, port }
    }

    /// A new page.
    pub(crate) fn tab(&mut self) -> Tab {
        let host = format!("127.0.0.1:{}", self.port);
        let mut stream = TcpStream::connect(&host).unwrap();
        write!(stream, "PUT /json/new?about:blank HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").unwrap();
        let mut reader = BufReader::new(stream);
        let (mut line, mut length) = (String::new(), 0);
        while line != "\r\n" {
            line.clear();
            reader.read_line(&mut line).unwrap();
            if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        let target: Value = serde_json::from_slice(&body).unwrap();
        let stream = TcpStream::connect(&host).unwrap();
        stream.set_read_timeout(Some(LIMIT)).unwrap();
        let (socket, _) = client(target["webSocketDebuggerUrl"].as_str().unwrap(), stream).unwrap();
        let mut tab = Tab { socket, number: 0, said: Vec::new() };
        for domain in ["Page", "Runtime", "Log"] {
            tab.call(&format!("{domain}.enable"), &json!({}));
        }
        tab
    }
}

impl Drop for Chromium {
    fn drop(&mut self) {
        // Both fail when it has ended already, which is what is wanted.
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = self.profile.path();
    }
}

impl Tab {
    fn call(&mut self, method: &str, parameters: &Value) -> Value {
        self.number += 1;
        let message = json!({"id": self.number, "method": method, "params": parameters});
        self.socket.send(Message::text(message.to_string())).unwrap();
        loop {
            let message = self.socket.read().unwrap();
            let Ok(text) = message.to_text() else { continue };
            let Ok(answer) = serde_json::from_str::<Value>(text) else { continue };
            match answer["method"].as_str() {
                Some("Runtime.exceptionThrown") => self.said.push(answer["params"]["exceptionDetails"].to_string()),
                Some("Log.entryAdded") => self.said.push(answer["params"]["entry"].to_string()),
                Some("Runtime.consoleAPICalled") => self.said.push(answer["params"].to_string()),
                _ => {}
            }
            if answer["id"] == self.number {
                assert!(answer.get("error").is_none(), "{method}: {answer}");
                return answer["result"].clone();
            }
        }
    }

    /// Opens an address.
    pub(crate) fn go(&mut self, address: &str) {
        self.call("Page.navigate", &json!({"url": address}));
        self.until("document.readyState === 'complete'");
    }

    /// What an expression is worth, once it has settled.
    pub(crate) fn run(&mut self, expression: &str) -> Value {
        let parameters =
            json!({"expression": expression, "awaitPromise": true, "returnByValue": true, "userGesture": true});
        let answer = self.call("Runtime.evaluate", &parameters);
        let shown = &expression[..expression.len().min(300)];
        assert!(answer.get("exceptionDetails").is_none(), "{shown}: {}", answer["exceptionDetails"]);
        answer["result"]["value"].clone()
    }

    /// Waits until an expression holds.
    pub(crate) fn until(&mut self, expression: &str) {
        let until = Instant::now() + LIMIT;
        while self.run(&format!("!!({expression})")) != json!(true) {
            if Instant::now() > until {
                let page = self.run("document.body.innerText");
                panic!("not so: {expression}\n{}\n{:?}", page.as_str().unwrap_or_default(), self.said);
            }
            std::thread::sleep(Duration::from_millis(30));
        }
    }

    /// What axe finds wrong with the page.
    pub(crate) fn violations(&mut self, axe: &str) -> Value {
        self.run(&format!("{axe}; null"));
        self.run(
            "axe.run(document, { iframes: false }).then(all => all.violations.map(one => \
             `${one.id}: ${one.nodes.map(node => node.target.join(' ')).join(', ')}`))",
        )
    }

    /// Whether pages that are opened from now on may run scripts.
    pub(crate) fn allow_scripts(&mut self, allowed: bool) {
        self.call("Emulation.setScriptExecutionDisabled", &json!({"value": !allowed}));
    }

    /// The text of an element.
    pub(crate) fn text(&mut self, selector: &str) -> String {
        self.run(&format!("document.querySelector({selector:?}).innerText")).as_str().unwrap_or_default().to_owned()
    }

    /// Presses a key: `Tab` or `Enter`.
    pub(crate) fn key(&mut self, key: &str) {
        let (code, text) = if key == "Tab" { (9, "") } else { (13, "\r") };
        for kind in ["keyDown", "keyUp"] {
            let mut parameters = json!({"type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code});
            if kind == "keyDown" && !text.is_empty() {
                parameters["text"] = json!(text);
            }
            self.call("Input.dispatchKeyEvent", &parameters);
        }
    }

    /// Writes where the focus is.
    pub(crate) fn write(&mut self, text: &str) {
        self.call("Input.insertText", &json!({"text": text}));
    }

    /// How wide the window is, and whether its user likes it dark.
    pub(crate) fn size(&mut self, width: u32, is_dark: bool) {
        let window = json!({"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500});
        self.call("Emulation.setDeviceMetricsOverride", &window);
        let scheme = if is_dark { "dark" } else { "light" };
        let media = json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]});
        self.call("Emulation.setEmulatedMedia", &media);
    }

    /// Panics when the page said that something is wrong, but for a server that is not there.
    pub(crate) fn assert_quiet(&self) {
        let is_wrong = |said: &&String| !said.contains("ERR_CONNECTION_REFUSED") && !said.contains("net::ERR");
        let wrong: Vec<&String> = self.said.iter().filter(is_wrong).collect();
        assert!(wrong.is_empty(), "{wrong:?}");
    }
}
