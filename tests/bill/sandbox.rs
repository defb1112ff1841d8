//! A directory in which the program is run, and the program as a process.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

/// A run that takes longer hangs.
const LONGEST: Duration = Duration::from_mins(4);

pub(crate) struct Sandbox {
    directory: TempDir,
    environment: Vec<(&'static str, String)>,
}

/// How a run ended.
pub(crate) struct Ended {
    /// `None` if it was killed by a signal.
    pub(crate) code: Option<i32>,
    pub(crate) stderr: String,
}

/// A run that goes on.
pub(crate) struct Running {
    child: Child,
    stdout: PathBuf,
    stderr: PathBuf,
    until: Instant,
}

impl Sandbox {
    pub(crate) fn new(environment: Vec<(&'static str, String)>) -> io::Result<Self> {
        let directory = tempfile::Builder::new().prefix("bill-").tempdir()?;
        fs::create_dir_all(directory.path().join("home/.config/dialectic"))?;
        fs::create_dir_all(directory.path().join("work"))?;
        Ok(Self { directory, environment })
    }

    pub(crate) fn work(&self) -> PathBuf {
        self.directory.path().join("work")
    }

    pub(crate) fn write(&self, path: &str, value: &Value) -> io::Result<()> {
        fs::write(self.directory.path().join(path), format!("{value:#}"))
    }

    pub(crate) fn start(&self, arguments: &[String]) -> io::Result<Running> {
        let program = std::env::var_os("BILL_PROGRAM").unwrap_or_else(|| env!("CARGO_BIN_EXE_dialectic").into());
        let home = self.directory.path().join("home");
        // Each run has files of its own: what a killed one said is still there.
        let place = fs::read_dir(self.directory.path())?.count();
        let [stdout, stderr] = ["stdout", "stderr"].map(|name| self.directory.path().join(format!("{place}.{name}")));
        let mut command = Command::new(program);
        command.args(arguments).current_dir(self.work()).env_clear().env("HOME", home).env("TZ", "UTC");
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::null()).stdout(File::create(&stdout)?).stderr(File::create(&stderr)?);
        Ok(Running { child: command.spawn()?, stdout, stderr, until: Instant::now() + LONGEST })
    }

    pub(crate) fn run(&self, arguments: &[String]) -> io::Result<Ended> {
        self.start(arguments)?.wait()
    }

    /// The ids of the saved debates, the oldest first.
    pub(crate) fn debates(&self) -> Vec<String> {
        let entries = fs::read_dir(self.work().join("debates")).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        let mut ids: Vec<String> =
            names.filter_map(|name| Some(name.strip_suffix(".events.jsonl")?.to_owned())).collect();
        ids.sort();
        ids
    }

    /// The state of a debate; null where there is none yet.
    pub(crate) fn state(&self, id: &str) -> Value {
        let text = fs::read(self.work().join(format!("debates/{id}.json"))).unwrap_or_default();
        serde_json::from_slice(&text).unwrap_or(Value::Null)
    }

    /// What the program's own books say that a debate has taken at most: what calls cost, and what was set aside for
    /// those of which that is not known.
    pub(crate) fn booked(&self, id: &str) -> f64 {
        let journal = fs::read_to_string(self.work().join(format!("debates/{id}.events.jsonl"))).unwrap_or_default();
        let mut aside: BTreeMap<u64, (f64, f64)> = BTreeMap::new();
        let mut booked = 0.0;
        for event in journal.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
            let (kind, usd) = (event["type"].as_str().unwrap_or_default(), event["usd"].as_f64());
            if let ("cost-reserved", Some(usd)) = (kind, usd) {
                let factor = event["factor"].as_f64().unwrap_or(1.0).max(1.0);
                aside.insert(event["seq"].as_u64().unwrap_or_default(), (usd, factor));
            }
            let call = &event["call"];
            if call["copied"] == true {
                continue;
            }
            let reserved = call["reservation"].as_u64().and_then(|number| aside.remove(&number));
            let unsaid = reserved.map(|(usd, factor)| if kind == "attempt-failed" { usd } else { usd / factor });
            booked += call["costUsd"].as_f64().or(unsaid).unwrap_or(0.0);
        }
        booked + aside.into_values().map(|(usd, _)| usd).sum::<f64>()
    }

    /// What the journal of a debate says of money, for people.
    pub(crate) fn books(&self, id: &str) -> String {
        let journal = fs::read_to_string(self.work().join(format!("debates/{id}.events.jsonl"))).unwrap_or_default();
        let events = journal.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        lines(events.filter_map(|event| {
            let (seq, kind, key) = (&event["seq"], &event["type"], &event["key"]);
            let (usd, error, call) = (&event["usd"], &event["error"], &event["call"]);
            let is_of_money = call.is_object() || usd.is_number() || kind == "resumed";
            is_of_money.then(|| format!("{seq} {kind} {key} usd {usd} error {error} call {call}"))
        }))
    }

    /// Leaves the directory where it is.
    pub(crate) fn keep(self) -> PathBuf {
        self.directory.keep()
    }
}

impl Running {
    pub(crate) fn id(&self) -> i32 {
        self.child.id().cast_signed()
    }

    pub(crate) fn stdout(&self) -> String {
        fs::read_to_string(&self.stdout).unwrap_or_default()
    }

    pub(crate) fn stderr(&self) -> String {
        fs::read_to_string(&self.stderr).unwrap_or_default()
    }

    /// How it ended, if it has.
    pub(crate) fn ended(&mut self) -> io::Result<Option<Ended>> {
        if let Some(status) = self.child.try_wait()? {
            return Ok(Some(Ended { code: status.code(), stderr: self.stderr() }));
        }
        if Instant::now() > self.until {
            self.child.kill()?;
            self.child.wait()?;
            return Err(io::Error::other(format!("it hangs: {}", self.stderr())));
        }
        Ok(None)
    }

    pub(crate) fn wait(mut self) -> io::Result<Ended> {
        loop {
            if let Some(ended) = self.ended()? {
                return Ok(ended);
            }
            std::thread::sleep(Duration::from_millis(3));
        }
    }

    pub(crate) fn kill(mut self) -> io::Result<()> {
        self.child.kill()?;
        self.child.wait().map(drop)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Both fail when it has ended already, which is what is wanted.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The amounts of dollars in a text, in their order.
pub(crate) fn amounts(text: &str) -> Vec<f64> {
    let after = text.split('$').skip(1);
    let digits = after.map(|rest| {
        let end = rest.find(|c: char| !(c.is_ascii_digit() || ".,".contains(c))).unwrap_or(rest.len());
        rest[..end].trim_end_matches(['.', ',']).replace(',', "")
    });
    digits.filter_map(|text| text.parse().ok()).collect()
}

/// Texts, each on a line of its own.
pub(crate) fn lines(texts: impl Iterator<Item = String>) -> String {
    texts.map(|text| text + "\n").collect()
}
