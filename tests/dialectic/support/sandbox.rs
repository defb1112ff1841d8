//! A place where the program meets nothing but what a test put there.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

use dialectic_engine::access::{Environment, trust};
use dialectic_record::debate::{Debate, DebateFile};
use dialectic_record::event::{Event, Recorded, fold};
use dialectic_record::store::Entry;

use super::{Finished, Incoming, MockServer, Reply, Running, config};

/// The API key that every sandbox with a model server has. It must never show anywhere.
pub(crate) const TEST_KEY: &str = "sk-test-9c1f4a7e-never-to-be-seen";

/// A directory and an environment of its own: `Sandbox::new().file("x", "…").env("K", "V").run(["list"])`.
pub(crate) struct Sandbox {
    directory: TempDir,
    program: PathBuf,
    environment: BTreeMap<String, String>,
    limit: Duration,
}

/// A debate that was held to its end.
pub(crate) struct Debated {
    pub(crate) server: MockServer,
    pub(crate) sandbox: Sandbox,
    pub(crate) finished: Finished,
    pub(crate) id: String,
    /// What was saved, which is the fold of the journal.
    pub(crate) state: Value,
}

impl Debated {
    /// With that configuration, at a server that answers so.
    pub(crate) fn with(settings: &Value, script: impl Fn(&Incoming) -> Reply + Send + Sync + 'static) -> Self {
        let server = MockServer::with(script);
        let sandbox = Sandbox::new().model_server(&server).config(settings);
        let finished = sandbox.run(["debate", "Design a queue"]).expect_code(0);
        let (id, state) = sandbox.only_state();
        Self { server, sandbox, finished, id, state }
    }

    /// Of two agents and a judge.
    pub(crate) fn of_two(debate: &Value, script: impl Fn(&Incoming) -> Reply + Send + Sync + 'static) -> Self {
        Self::with(&config(&["architect", "kiss"], debate), script)
    }
}

/// A sandbox with two agents and a judge at that server.
pub(crate) fn sandbox(server: &MockServer) -> Sandbox {
    two_agents(server, &json!({}))
}

/// The same with other settings of the debate.
pub(crate) fn two_agents(server: &MockServer, debate: &Value) -> Sandbox {
    Sandbox::new().model_server(server).config(&config(&["architect", "kiss"], debate))
}

impl Sandbox {
    /// An empty directory, which is the working directory and `HOME`; beyond that only `PATH` and `TZ=UTC`.
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory can be made");
        let home = directory.path().to_string_lossy().into_owned();
        let path = std::env::var("PATH").unwrap_or_default();
        let environment = [("PATH", path), ("HOME", home), ("TZ", "UTC".to_owned())];
        Self {
            program: PathBuf::from(env!("CARGO_BIN_EXE_dialectic")),
            environment: environment.map(|(name, value)| (name.to_owned(), value)).into(),
            limit: Duration::from_mins(3),
            directory,
        }
    }

    /// Runs another program than dialectic, to test the sandbox itself.
    pub(crate) fn program(mut self, program: impl Into<PathBuf>) -> Self {
        self.program = program.into();
        self
    }

    /// Lets the program run for that long at most instead of three minutes.
    pub(crate) fn limit(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    /// With a file; directories are made as needed.
    pub(crate) fn file(self, path: impl AsRef<Path>, contents: impl AsRef<[u8]>) -> Self {
        self.write(path, contents);
        self
    }

    /// With a `debate-config.json` that the user trusts.
    pub(crate) fn config(self, config: &Value) -> Self {
        let json = serde_json::to_vec_pretty(config).expect("a value can be written");
        let sandbox = self.file("debate-config.json", json);
        sandbox.trust("debate-config.json");
        sandbox
    }

    /// Trusts a file with its present content, as `config trust` does.
    pub(crate) fn trust(&self, path: impl AsRef<Path>) {
        let own = Path::new(&self.environment["HOME"]).join(".config/dialectic");
        let environment = Environment::default().with_places(Some(own), None, None);
        trust(&self.directory().join(path), &environment).expect("a file in the sandbox can be trusted");
    }

    /// With an environment variable.
    pub(crate) fn env(mut self, name: &str, value: &str) -> Self {
        self.environment.insert(name.to_owned(), value.to_owned());
        self
    }

    /// With that server as OpenAI's, and a key for it.
    pub(crate) fn model_server(self, server: &MockServer) -> Self {
        self.env("OPENAI_BASE_URL", &server.base_url()).env("OPENAI_API_KEY", TEST_KEY)
    }

    /// Where it all happens.
    pub(crate) fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// Writes a file; directories are made as needed.
    pub(crate) fn write(&self, path: impl AsRef<Path>, contents: impl AsRef<[u8]>) {
        let path = self.directory().join(path);
        let parent = path.parent().expect("a file in the sandbox has a directory");
        std::fs::create_dir_all(parent).expect("a directory can be made in the sandbox");
        std::fs::write(path, contents).expect("a file can be written in the sandbox");
    }

    /// Removes a file.
    pub(crate) fn remove(&self, path: impl AsRef<Path>) {
        std::fs::remove_file(self.directory().join(path)).expect("a file can be removed in the sandbox");
    }

    /// Reads a text file; panics with its name when it cannot be read.
    pub(crate) fn read(&self, path: impl AsRef<Path>) -> String {
        let path = self.directory().join(path);
        std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// Runs the program to its end, with an empty standard input.
    pub(crate) fn run<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Finished {
        self.run_with_input(arguments, "")
    }

    /// Runs the program to its end.
    pub(crate) fn run_with_input<S: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = S>,
        input: impl AsRef<[u8]>,
    ) -> Finished {
        self.start(arguments, input.as_ref()).wait()
    }

    /// Runs the program to its end with a limit to every file that it writes, in blocks of 512 bytes: what goes beyond
    /// is refused in the middle of a write, as on a full disk.
    pub(crate) fn run_with_file_limit(&self, blocks: u64, arguments: &[&str]) -> Finished {
        // The signal that comes with the refusal is left as it is: the program has to survive it.
        let limited = "ulimit -f \"$0\"; exec \"$@\"";
        let mut command = Command::new("sh");
        command.args(["-c", limited, &blocks.to_string()]).arg(&self.program).args(arguments);
        command.current_dir(self.directory()).env_clear().envs(&self.environment);
        Running::start(command, b"", self.limit, self.directory().to_owned()).wait()
    }

    /// Holds the only debate to its end. What was said, and the saved state, which is the fold of the journal.
    pub(crate) fn debated<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> (Finished, Value) {
        (self.run(arguments).expect_code(0), self.only_state().1)
    }

    /// Who would take part in that debate, the judge last: ids and models with their providers.
    pub(crate) fn cast(&self, arguments: &[&str]) -> Vec<[String; 2]> {
        let dry = self.run([arguments, &["--dry-run", "--json"]].concat()).expect_code(0).stdout;
        let dry: Value = serde_json::from_str(&dry).expect("a dry run prints JSON");
        let mut calls = dry["calls"].as_array().expect("it has its calls").clone();
        calls.retain(|call| ["proposal", "synthesis"].iter().any(|phase| call["key"]["phase"] == *phase));
        let text = |value: &Value| value.as_str().expect("this is a text").to_owned();
        let of = |call: &Value| {
            [text(&call["key"]["agentId"]), format!("{}/{}", text(&call["provider"]), text(&call["model"]))]
        };
        calls.iter().map(of).collect()
    }

    /// Starts the program and comes back at once, for tests that kill it.
    pub(crate) fn spawn<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Running {
        self.start(arguments, b"")
    }

    /// The program with its environment, for tests that need a terminal.
    pub(crate) fn command<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Command {
        let mut command = Command::new(&self.program);
        command.args(arguments).current_dir(self.directory()).env_clear().envs(&self.environment);
        command
    }

    fn start<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>, input: &[u8]) -> Running {
        Running::start(self.command(arguments), input, self.limit, self.directory().to_owned())
    }

    /// Every file, with what is in it.
    pub(crate) fn files(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let mut directories = vec![self.directory().to_owned()];
        let mut files = Vec::new();
        while let Some(directory) = directories.pop() {
            for entry in std::fs::read_dir(directory).expect("a directory of the sandbox can be listed") {
                let path = entry.expect("a directory of the sandbox can be listed").path();
                if path.is_dir() {
                    directories.push(path);
                } else {
                    files.push((path.clone(), std::fs::read(path).expect("a file of the sandbox can be read")));
                }
            }
        }
        files.sort();
        files
    }

    /// Panics when the API key of [`Self::model_server`] is in a file.
    pub(crate) fn assert_no_file_has_the_key(&self) {
        for (path, contents) in self.files() {
            let shows = contents.windows(TEST_KEY.len()).any(|window| window == TEST_KEY.as_bytes());
            assert!(!shows, "the API key is in {}", path.display());
        }
    }

    /// The ids of the saved debates, sorted. None when there is no such directory.
    pub(crate) fn debates(&self) -> Vec<String> {
        let Ok(entries) = std::fs::read_dir(self.directory().join("debates")) else { return Vec::new() };
        let names = entries.map(|entry| entry.expect("the directory can be listed").file_name());
        let ids = names.filter_map(|name| Some(name.to_str()?.strip_suffix(".json")?.to_owned()));
        let mut ids: Vec<String> = ids.collect();
        ids.sort();
        ids
    }

    /// Rates the debate whose state file is at `path`, as the page does.
    pub(crate) fn rate(&self, path: impl AsRef<Path>, rating: i8) {
        let entry = Entry::of_state(&self.directory().join(path));
        entry.note(|_| Some(Event::Rated { rating, note: None })).expect("it can be rated");
    }

    /// The id of the one saved debate; panics when there is another number of them.
    pub(crate) fn only_debate(&self) -> String {
        let [id] = <[String; 1]>::try_from(self.debates()).expect("there is one saved debate");
        id
    }

    /// The id of the one saved debate, and its state, which is the fold of the journal.
    pub(crate) fn only_state(&self) -> (String, Value) {
        let id = self.only_debate();
        self.assert_state_is_the_fold(&id);
        let state = self.state(&id);
        (id, state)
    }

    /// The saved state, as it is written.
    pub(crate) fn state(&self, id: &str) -> Value {
        serde_json::from_str(&self.read(format!("debates/{id}.json"))).expect("the state is JSON")
    }

    /// The saved state.
    pub(crate) fn debate(&self, id: &str) -> Debate {
        serde_json::from_str(&self.read(format!("debates/{id}.json"))).expect("the state is a debate")
    }

    /// The events of the journal.
    pub(crate) fn events(&self, id: &str) -> Vec<Value> {
        let event = |line: &String| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        self.journal(id).iter().map(event).collect()
    }

    /// The journal's lines, as they are written.
    pub(crate) fn journal(&self, id: &str) -> Vec<String> {
        self.read(format!("debates/{id}.events.jsonl")).lines().map(str::to_owned).collect()
    }

    /// Leaves nothing of a debate but its journal up to the first line with that in it, as a kill does.
    pub(crate) fn cut_after(&self, id: &str, last: &str) {
        let journal = self.journal(id);
        let last = journal.iter().position(|line| line.contains(last)).expect("there is such a line");
        self.write(format!("debates/{id}.events.jsonl"), journal[..=last].join("\n") + "\n");
        self.remove(format!("debates/{id}.json"));
    }

    /// Panics unless the saved state is the fold of the journal.
    pub(crate) fn assert_state_is_the_fold(&self, id: &str) {
        let event = |event| serde_json::from_value(event).unwrap_or_else(|error| panic!("not an event: {error}"));
        // The journal is written before the state, and a server is still running.
        let is_behind = || self.state(id)["journal"]["events"] != self.events(id).len();
        (0..100).take_while(|_| is_behind()).for_each(|_| std::thread::sleep(std::time::Duration::from_millis(100)));
        let events: Vec<Recorded> = self.events(id).into_iter().map(event).collect();
        let folded = fold(&events).expect("the journal is the record of a debate");
        let folded = serde_json::to_value(DebateFile::of(&folded)).expect("a state can be written");
        let mut state = self.state(id);
        // How far the journal went is said of the journal, not folded from it.
        let mark = state.as_object_mut().and_then(|state| state.remove("journal")).expect("the state has a mark");
        assert_eq!(mark["events"], events.len(), "the mark of {id} is not at the end of its journal");
        assert_eq!(folded, state, "the state of {id} is not the fold of its journal");
    }
}
