//! A headless Chromium, driven by its own protocol.

use std::io::{ErrorKind, Write as _};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{ChildStdin, Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;
use tungstenite::{Message, WebSocket, client};

/// The names that Chromium goes by.
const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/// How long anything may take.
const LIMIT: Duration = Duration::from_mins(2);

/// The browser that all tests share; starting one takes a second. Statics are never dropped, so the shell that runs it
/// kills it when this process ends and closes the shell's standard input.
static BROWSER: OnceLock<Browser> = OnceLock::new();

/// Whether there is a browser to test with. Without one, the tests that need it say so and pass, so that `cargo test`
/// works on a fresh machine; if `CI` is set, they fail.
pub(crate) fn is_installed() -> bool {
    let installed = program().is_some();
    if !installed {
        let missing = format!(
            "none of {} is in PATH, and this test needs a real browser: `apt-get install chromium`, or install \
             Chromium or Chrome by other means",
            NAMES.join(", ")
        );
        assert!(std::env::var_os("CI").is_none(), "{missing}");
        // Unlike `eprintln!`, this is not captured, so the user sees it even if the tests pass.
        #[expect(
            clippy::disallowed_methods,
            reason = "a test that is not made has to show, and it is no output of the program"
        )]
        let _ = writeln!(std::io::stderr(), "not tested: {missing}");
    }
    installed
}

fn program() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let mut candidates = std::env::split_paths(&path).flat_map(|directory| NAMES.map(|name| directory.join(name)));
    candidates.find(|candidate| candidate.is_file())
}

/// The source of axe-core, from the file named by `AXE`. Required if `CI` is set.
pub(crate) fn axe() -> Option<String> {
    let axe = std::env::var("AXE").ok().map(|path| std::fs::read_to_string(path).unwrap());
    assert!(axe.is_some() || std::env::var_os("CI").is_none(), "AXE is not set, and nothing was checked by it");
    axe
}

struct Browser {
    _stdin: ChildStdin,
    _profile: TempDir,
    /// Host and port.
    host: String,
    /// The path of the socket that speaks for the whole browser.
    path: String,
}

impl Browser {
    #[expect(clippy::zombie_processes, reason = "it ends with the tests")]
    fn start() -> Self {
        // Reads until the tests are gone, then kills the browser and removes what it wrote.
        const SCRIPT: &str =
            "profile=$1; shift; \"$@\" & browser=$!; read -r gone; kill -9 $browser; wait; rm -rf \"$profile\"";
        let profile = tempfile::tempdir().unwrap();
        let mut shell = Command::new("/bin/sh")
            .args(["-c", SCRIPT, "sh"])
            .arg(profile.path())
            .arg(program().expect("a test asks whether there is a browser before it uses it"))
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-quic"])
            .args(["--no-first-run", "--disable-background-networking", "--disable-component-update"])
            .args(["--disable-sync", "--disable-extensions", "--allow-file-access-from-files"])
            // Tabs of several tests are all in front.
            .args(["--disable-background-timer-throttling", "--disable-renderer-backgrounding"])
            .args(["--disable-backgrounding-occluded-windows", "--remote-debugging-port=0", "about:blank"])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let stdin = shell.stdin.take().expect("it is piped");
        let until = Instant::now() + LIMIT;
        loop {
            let file = std::fs::read_to_string(profile.path().join("DevToolsActivePort")).unwrap_or_default();
            if let Some((port, path)) = file.split_once('\n') {
                let (host, path) = (format!("127.0.0.1:{port}"), path.trim_end().to_owned());
                return Self { _stdin: stdin, _profile: profile, host, path };
            }
            assert!(Instant::now() < until, "the browser does not start");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// A socket of the browser's protocol.
struct Connection {
    socket: WebSocket<TcpStream>,
    number: u64,
    /// The events that came while an answer was waited for.
    events: Vec<Value>,
}

impl Connection {
    fn open(host: &str, path: &str) -> Self {
        let stream = TcpStream::connect(host).unwrap();
        stream.set_read_timeout(Some(LIMIT)).unwrap();
        let (socket, _) = client(format!("ws://{host}{path}"), stream).unwrap();
        Self { socket, number: 0, events: Vec::new() }
    }

    fn read(&mut self) -> Value {
        loop {
            let message = match self.socket.read() {
                // Another test in this process raised a signal.
                Err(tungstenite::Error::Io(error)) if error.kind() == ErrorKind::Interrupted => continue,
                message => message.unwrap(),
            };
            if let Some(message) = message.to_text().ok().and_then(|text| serde_json::from_str(text).ok()) {
                return message;
            }
        }
    }

    fn call(&mut self, method: &str, parameters: &Value) -> Value {
        self.number += 1;
        let message = json!({"id": self.number, "method": method, "params": parameters});
        self.socket.send(Message::text(message.to_string())).unwrap();
        loop {
            let mut answer = self.read();
            if answer["id"] == self.number {
                assert!(answer.get("error").is_none(), "{method}: {answer}");
                return answer["result"].take();
            }
            self.events.push(answer);
        }
    }
}

/// Cookies and storage of a test's own, in the browser of all tests.
pub(crate) struct Profile {
    host: &'static str,
    connection: Connection,
    id: Value,
}

impl Profile {
    pub(crate) fn new() -> Self {
        let browser = BROWSER.get_or_init(Browser::start);
        let mut connection = Connection::open(&browser.host, &browser.path);
        let id = connection.call("Target.createBrowserContext", &json!({"disposeOnDetach": true}))["browserContextId"]
            .take();
        Self { host: &browser.host, connection, id }
    }

    /// A new page.
    pub(crate) fn tab(&mut self) -> Tab {
        let wanted = json!({"url": "about:blank", "browserContextId": self.id});
        let target = self.connection.call("Target.createTarget", &wanted);
        let path = format!("/devtools/page/{}", target["targetId"].as_str().unwrap());
        let mut tab = Tab { connection: Connection::open(self.host, &path) };
        for domain in ["Page", "Runtime", "Log"] {
            tab.call(&format!("{domain}.enable"), &json!({}));
        }
        // Else keys reach one tab at a time.
        tab.call("Emulation.setFocusEmulationEnabled", &json!({"enabled": true}));
        tab
    }
}

/// A page of a profile.
pub(crate) struct Tab {
    connection: Connection,
}

impl Tab {
    fn call(&mut self, method: &str, parameters: &Value) -> Value {
        self.connection.call(method, parameters)
    }

    /// What its console and its log said, and the exceptions of its scripts.
    fn said(&self) -> Vec<String> {
        let said = |event: &Value| match event["method"].as_str()? {
            "Runtime.exceptionThrown" => Some(event["params"]["exceptionDetails"].to_string()),
            "Log.entryAdded" => Some(event["params"]["entry"].to_string()),
            "Runtime.consoleAPICalled" => Some(event["params"].to_string()),
            _ => None,
        };
        self.connection.events.iter().filter_map(said).collect()
    }

    /// Opens an address.
    pub(crate) fn go(&mut self, address: &str) {
        self.call("Page.navigate", &json!({"url": address}));
        self.until("document.readyState === 'complete'");
    }

    /// Lets three seconds pass for the page, and returns what it is then, as HTML.
    pub(crate) fn document_after_three_seconds(&mut self) -> String {
        let policy = json!({"policy": "pauseIfNetworkFetchesPending", "budget": 3000});
        self.call("Emulation.setVirtualTimePolicy", &policy);
        let is_over = |event: &Value| event["method"] == "Emulation.virtualTimeBudgetExpired";
        while !self.connection.events.iter().any(is_over) {
            let event = self.connection.read();
            self.connection.events.push(event);
        }
        self.run("document.documentElement.outerHTML").as_str().unwrap_or_default().to_owned()
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
                panic!("not so: {expression}\n{}\n{:?}", page.as_str().unwrap_or_default(), self.said());
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
        let said = self.said();
        let wrong: Vec<&String> = said.iter().filter(is_wrong).collect();
        assert!(wrong.is_empty(), "{wrong:?}");
    }
}
