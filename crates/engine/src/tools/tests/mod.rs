//! Tools as a model calls them, and how they treat hostile paths.

#[cfg(unix)]
mod unix;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};
use tempfile::TempDir;

use dialectic_base::call::ToolCall;
use dialectic_base::secrets::KnownKeys;
use dialectic_record::debate::Contribution;
use dialectic_record::debate::fixture::text;
use dialectic_record::ids::StageId;

use super::*;

const OUTSIDE: &str = "Access denied: path is outside the context directory";
const SECRET: &str = "Access denied: files that may contain secrets, such as `.env` and private keys, cannot be read";
const SPECIAL: &str = "Access denied: only regular files and directories can be read";
const BINARY: &str = "this is not a text file: it is binary, or not encoded as UTF-8";

/// `ctx` is the context directory; files next to it must stay hidden.
struct ToolDirectory {
    _keep: TempDir,
    base: PathBuf,
    tools: Toolbox,
}

impl ToolDirectory {
    fn new() -> Self {
        let keep = tempfile::tempdir().expect("a directory");
        let base = keep.path().canonicalize().expect("its path");
        fs::create_dir_all(base.join("ctx/docs")).expect("created");
        fs::create_dir(base.join("outside")).expect("created");
        fs::write(base.join("outside/plan.md"), "TOP SECRET").expect("written");
        fs::write(base.join("ctx/docs/plan.md"), "the plan").expect("written");
        fs::write(base.join("ctx/notes.md"), "the notes").expect("written");
        let tools = toolbox(&base.join("ctx"), Vec::new());
        Self { _keep: keep, base, tools }
    }

    fn path(&self, inside: &str) -> PathBuf {
        self.base.join(inside)
    }

    fn text(&self, inside: &str) -> String {
        self.path(inside).to_str().expect("UTF-8").to_owned()
    }

    fn read(&self, path: &str) -> Result<String, String> {
        read(&self.tools, path)
    }

    /// The paths, relative to the context directory, and types of a listing.
    fn list(&self, path: &str) -> Result<Vec<(String, String)>, String> {
        let entries = call(&self.tools, "list_files", &json!({ "path": path }))?;
        let prefix = format!("{}/", self.text("ctx"));
        let text = |value: &Value| value.as_str().expect("text").to_owned();
        let entry = |entry: &Value| {
            let path = text(&entry["path"]).strip_prefix(&prefix).expect("an absolute path inside").to_owned();
            (path, text(&entry["type"]))
        };
        Ok(entries["entries"].as_array().expect("entries").iter().map(entry).collect())
    }
}

fn toolbox(directory: &Path, rounds: Vec<Round>) -> Toolbox {
    tools_of(ContextDirectory::open(directory).expect("opened"), rounds)
}

fn tools_of(directory: ContextDirectory, rounds: Vec<Round>) -> Toolbox {
    let source = Arc::new(Source::directory(directory));
    Toolbox::new(TOOL_NAMES.iter().copied(), ToolContext { source, rounds: rounds.into() })
}

fn answer(tools: &Toolbox, name: &str, arguments: &str) -> Result<Value, String> {
    let call = ToolCall { id: "call-1".to_owned(), name: name.to_owned(), arguments: arguments.to_owned() };
    let result = tools.run(&call);
    assert_eq!((result.tool_call_id.as_str(), result.role.as_str()), ("call-1", "tool"));
    let answer: Value = serde_json::from_str(&result.content).expect("JSON");
    match answer["status"].as_str() {
        Some("success") => {
            assert_eq!(answer, json!({"status": "success", "result": answer["result"]}));
            Ok(answer["result"].clone())
        }
        Some("error") => {
            assert_eq!(answer, json!({"status": "error", "error": answer["error"]}));
            Err(answer["error"].as_str().expect("a message").to_owned())
        }
        other => panic!("status {other:?}"),
    }
}

fn call(tools: &Toolbox, name: &str, arguments: &Value) -> Result<Value, String> {
    answer(tools, name, &arguments.to_string())
}

fn read(tools: &Toolbox, path: &str) -> Result<String, String> {
    call(tools, "file_read", &json!({ "path": path }))
        .map(|result| result["content"].as_str().expect("content").to_owned())
}

fn refused<T>(why: &str) -> Result<T, String> {
    Err(why.to_owned())
}

#[test]
fn the_registry_and_the_names_agree() {
    let names: Vec<_> = TOOLS.iter().map(|tool| tool.spec().name).collect();
    assert_eq!(names, TOOL_NAMES);
    assert_eq!(names, ["context_search", "file_read", "file_search", "list_files"]);
}

#[test]
fn every_parameter_is_described_and_bounded_and_the_first_is_required() {
    for tool in &TOOLS {
        let parameters = tool.spec().parameters;
        let properties = parameters["properties"].as_object().expect("properties");
        assert_eq!(parameters["required"], json!(properties.keys().take(1).collect::<Vec<_>>()));
        assert_eq!(parameters["additionalProperties"], json!(false));
        assert!(properties.values().all(|property| property["description"].is_string()));
        // Without a limit, a confused small model continues to its output limit.
        assert!(properties.values().all(|property| property["maxLength"].is_u64()));
    }
}

#[test]
fn only_the_named_tools_are_offered_in_one_order() {
    let place = ToolDirectory::new();
    let source = Arc::new(Source::directory(ContextDirectory::open(&place.path("ctx")).expect("opened")));
    let context = ToolContext { source, rounds: Arc::new([]) };
    let tools = Toolbox::new(["list_files", "teleport", "file_read", "list_files"].into_iter(), context.clone());
    let names: Vec<_> = tools.specs().iter().map(|spec| spec.name.clone()).collect();
    assert_eq!(names, ["file_read", "list_files"]);
    assert!(!tools.is_empty());
    for (name, said) in [("context_search", "context_search"), (&"x".repeat(10_000), &*"x".repeat(64))] {
        let refusal = answer(&tools, name, r#"{"term":"x"}"#);
        assert_eq!(refusal, refused(&format!("there is no tool `{said}`; available tools: file_read, list_files")));
    }
    let tools = Toolbox::new(std::iter::empty(), context);
    assert!(tools.is_empty());
    assert_eq!(answer(&tools, "file_read", "{}"), refused("there is no tool `file_read`; no tools are available"));
}

#[test]
fn arguments_that_are_not_what_is_expected_are_errors_the_model_can_use() {
    let place = ToolDirectory::new();
    let error = answer(&place.tools, "file_read", "{\"path\": notes.md}").expect_err("refused");
    assert!(error.starts_with("the arguments are not valid JSON; expected an object such as {"), "{error}");
    assert!(error.ends_with("at line 1 column 11"), "{error}");
    assert!(answer(&place.tools, "file_read", &"[".repeat(100_000)).is_err());
    let missing = "the argument `path` is missing; expected a path as a string, \
        relative to the context directory, with `.` for the directory itself";
    assert_eq!(answer(&place.tools, "file_read", ""), refused(missing));
    assert_eq!(answer(&place.tools, "list_files", "{}"), refused(missing));
    let long = json!({ "path": "x".repeat(5000) });
    assert_eq!(call(&place.tools, "file_read", &long), refused("the argument `path` is longer than 4096 characters"));
    let error = call(&place.tools, "file_read", &json!({ "path": "x".repeat(4000) })).expect_err("refused");
    assert!(error.starts_with("the file or directory cannot be read: "), "{error}");
}

#[test]
fn the_text_says_its_status_first() {
    let place = ToolDirectory::new();
    let call = ToolCall { id: "c".into(), name: "file_read".into(), arguments: r#"{"path":"notes.md"}"#.into() };
    assert_eq!(place.tools.run(&call).content, r#"{"status":"success","result":{"content":"the notes"}}"#);
}

#[test]
fn files_are_read_and_directories_listed() {
    let place = ToolDirectory::new();
    for path in ["docs/plan.md", "./docs/plan.md", "docs//./plan.md"] {
        assert_eq!(place.read(path).as_deref(), Ok("the plan"), "{path}");
    }
    fs::write(place.path("ctx/empty"), "").expect("written");
    assert_eq!(place.read("empty").as_deref(), Ok(""));
    let file = |path: &str| (path.to_owned(), "file".to_owned());
    let directory = |path: &str| (path.to_owned(), "directory".to_owned());
    assert_eq!(place.list("."), Ok(vec![directory("docs"), file("empty"), file("notes.md")]));
    assert_eq!(place.list("docs/"), Ok(vec![file("docs/plan.md")]));
    let missing = "there is no such file or directory in the context directory; use list_files to see what exists";
    for path in ["nothing", "nothing/at/all", "notes.md/x"] {
        assert_eq!(place.read(path), refused(missing), "{path}");
        assert_eq!(place.list(path), refused(missing), "{path}");
    }
    assert_eq!(place.read("docs"), refused("this is a directory, not a file; use list_files to see its contents"));
    assert_eq!(place.list("notes.md"), refused("this is a file, not a directory; use file_read to read it"));
}

#[test]
fn a_listing_is_bounded() {
    let place = ToolDirectory::new();
    for number in 0..1005 {
        fs::write(place.path(&format!("ctx/docs/{number:04}")), "").expect("written");
    }
    let listed = call(&place.tools, "list_files", &json!({"path": "docs"})).expect("listed");
    let entries = listed["entries"].as_array().expect("entries");
    assert_eq!(entries.len(), 1000);
    assert_eq!(entries[999]["path"], json!(place.text("ctx/docs/0999")));
    assert_eq!(listed["notice"], json!("the first 1000 of 1006 entries"));
}

#[test]
fn a_long_file_is_cut_with_a_notice() {
    let place = ToolDirectory::new();
    fs::write(place.path("ctx/long"), "é".repeat(200_000)).expect("written");
    let content = place.read("long").expect("read");
    let (shown, notice) = content.split_once("\n\n").expect("a notice");
    assert_eq!(shown, "é".repeat(131_072));
    assert_eq!(notice, "[Cut: these are the first 262144 of 400000 bytes of the file.]");
}

#[test]
fn binary_files_are_refused() {
    let place = ToolDirectory::new();
    for bytes in [&b"\x89PNG\r\n\0\0"[..], b"a\0b", b"\xff\xfe", b"caf\xe9 au lait", b"cut off \xe2\x82"] {
        fs::write(place.path("ctx/file"), bytes).expect("written");
        assert_eq!(place.read("file"), refused(BINARY), "{bytes:?}");
    }
}

#[test]
fn parent_components_are_refused() {
    let place = ToolDirectory::new();
    let inside = place.text("ctx");
    for path in [
        "..",
        "../outside/plan.md",
        "docs/../../outside/plan.md",
        "docs/../notes.md",
        "docs/..",
        "./..",
        &format!("{inside}/../outside/plan.md"),
        &format!("{inside}/docs/../../outside"),
    ] {
        assert_eq!(place.read(path), refused(OUTSIDE), "{path}");
        assert_eq!(place.list(path), refused(OUTSIDE), "{path}");
    }
}

#[test]
fn absolute_paths_outside_are_refused() {
    let place = ToolDirectory::new();
    fs::create_dir(place.path("ctx-2")).expect("created");
    fs::write(place.path("ctx-2/plan.md"), "TOP SECRET").expect("written");
    for path in [
        "/",
        "/etc/passwd",
        "//etc/passwd",
        "/proc/self/environ",
        &place.text("outside/plan.md"),
        // Starts with the directory's text, but not with its components.
        &place.text("ctx-2/plan.md"),
        &place.text("outside/nothing"),
    ] {
        assert_eq!(place.read(path), refused(OUTSIDE), "{path}");
        assert_eq!(place.list(path), refused(OUTSIDE), "{path}");
    }
}

#[test]
fn secrets_are_refused_even_inside() {
    let place = ToolDirectory::new();
    fs::create_dir(place.path("ctx/.ssh")).expect("created");
    for name in [".env", ".env.local", "server.pem", "tls.key", "id_rsa", "id_ed25519.old", ".netrc", ".npmrc", "a.p12"]
    {
        fs::write(place.path("ctx").join(name), "TOP SECRET").expect("written");
        fs::write(place.path("ctx/docs").join(name), "TOP SECRET").expect("written");
        assert_eq!(place.read(name), refused(SECRET), "{name}");
        assert_eq!(place.read(&format!("docs/{name}")), refused(SECRET), "{name}");
        assert_eq!(place.read(&place.text(&format!("ctx/{name}"))), refused(SECRET), "{name}");
    }
    fs::write(place.path("ctx/.ssh/config"), "TOP SECRET").expect("written");
    assert_eq!(place.read(".ssh/config"), refused(SECRET));
    assert_eq!(place.list(".ssh"), refused(SECRET));
    assert_eq!(place.read(".ENV"), refused(SECRET));
}

#[test]
fn secrets_are_refused_by_the_place_they_are_in_and_by_what_is_in_them() {
    let place = ToolDirectory::new();
    let paths =
        [".env~", "prod.env.bak", ".git/config", ".docker/config.json", ".cargo/credentials.toml", "credentials.json"];
    for path in paths {
        fs::create_dir_all(place.path("ctx").join(path).parent().expect("a parent")).expect("created");
        fs::write(place.path("ctx").join(path), "TOP SECRET").expect("written");
        assert_eq!(place.read(path), refused(SECRET), "{path}");
    }
    // The context directory itself has a secret name.
    assert_eq!(read(&toolbox(&place.path("ctx/.git"), Vec::new()), "config"), refused(SECRET));
    fs::write(place.path("ctx/notes.txt"), "-----BEGIN OPENSSH PRIVATE KEY-----\nTOP SECRET\n").expect("written");
    assert_eq!(place.read("notes.txt"), refused(SECRET));
    // For source code and directories such names are ordinary, and names are not secret.
    fs::create_dir(place.path("ctx/credentials")).expect("created");
    fs::write(place.path("ctx/credentials/token.rs"), "fn token() {}").expect("written");
    assert_eq!(place.read("credentials/token.rs").as_deref(), Ok("fn token() {}"));
    assert_eq!(place.list("credentials").expect("listed").len(), 1);
    let listed = place.list(".").expect("listed");
    assert!(listed.iter().any(|(path, _)| path == "credentials.json"), "{listed:?}");
}

#[test]
fn a_context_that_is_no_directory_cannot_be_opened() {
    let place = ToolDirectory::new();
    assert!(ContextDirectory::open(&place.path("ctx/notes.md")).is_err());
    assert!(ContextDirectory::open(&place.path("nothing")).is_err());
    assert_eq!(ContextDirectory::open(&place.path("ctx/../ctx")).expect("opened").path(), place.path("ctx"));
}

fn round(round_number: u32, contributions: impl IntoIterator<Item = (&'static str, &'static str, String)>) -> Round {
    let contribution = |(agent, stage, content): (&str, &'static str, String)| {
        Arc::new(Contribution { agent_role: "security".into(), ..text(StageId::new(stage), agent, &content) })
    };
    Round { contributions: contributions.into_iter().map(contribution).collect(), ..Round::begun(round_number) }
}

#[test]
fn a_search_covers_all_finished_rounds() {
    let place = ToolDirectory::new();
    let rounds = vec![
        round(
            1,
            [("a", "proposal", "Use a Write-Ahead Log.".to_owned()), ("b", "critique", "No durability.".to_owned())],
        ),
        round(2, [("b", "refinement", format!("{}the write-ahead log, twice: write-ahead log", "x".repeat(300)))]),
    ];
    let tools = toolbox(&place.path("ctx"), rounds);
    let found = call(&tools, "context_search", &json!({"term": "WRITE-ahead"})).expect("searched");
    let first = json!({"roundNumber": 1, "agentId": "a", "agentRole": "security", "type": "proposal",
        "contentSnippet": "Use a Write-Ahead Log."});
    let second = json!({"roundNumber": 2, "agentId": "b", "agentRole": "security", "type": "refinement",
        "contentSnippet": format!("{}the write-ahead log, twice: write-ahead log", "x".repeat(157))});
    assert_eq!(found, json!({ "matches": [first, second] }));
    let nothing = call(&tools, "context_search", &json!({"term": "blockchain"}));
    assert_eq!(nothing, Ok(json!({"matches": []})));
    let error = call(&tools, "context_search", &json!({"term": 5})).expect_err("refused");
    assert!(error.starts_with("the argument `term` is a number; expected the text to search for"), "{error}");
    let error = call(&tools, "context_search", &json!({"term": "x".repeat(201)}));
    assert_eq!(error, refused("the argument `term` is longer than 200 characters"));
}

/// A model that learned a key in another way may have repeated it.
#[test]
fn a_search_shows_no_key_of_the_users() {
    let place = ToolDirectory::new();
    let (key, cut) = ("sk-a-key-that-is-a-secret", "x".repeat(150));
    let keys = KnownKeys::new([("A_KEY".to_owned(), key.to_owned().into())]);
    let directory = ContextDirectory::open(&place.path("ctx")).expect("opened").redacting(keys);
    let rounds = vec![round(1, [("a", "proposal", format!("Call it {cut} with {key}."))])];
    let tools = tools_of(directory, rounds);
    let found = call(&tools, "context_search", &json!({"term": "call it"})).expect("searched").to_string();
    assert!(found.contains("Call it xxx") && !found.contains("sk-a"), "{found}");
    let found = call(&tools, "context_search", &json!({"term": "redacted"})).expect("searched").to_string();
    assert!(found.contains("with [A_KEY redacted]."), "{found}");
    assert_eq!(call(&tools, "context_search", &json!({"term": key})), Ok(json!({"matches": []})));
}

#[test]
fn a_search_is_bounded_and_keeps_the_newest() {
    let place = ToolDirectory::new();
    let rounds = (1..=105).map(|number| round(number, [("a", "proposal", "a cache".to_owned())]));
    let tools = toolbox(&place.path("ctx"), rounds.collect());
    let found = call(&tools, "context_search", &json!({"term": "cache"})).expect("searched");
    let matches = found["matches"].as_array().expect("matches");
    assert_eq!((matches.len(), &matches[0]["roundNumber"]), (100, &json!(6)));
    assert_eq!(found["notice"], "the last 100 of 105 matches; search for a longer term to see earlier ones");
}

#[test]
fn a_search_of_files_shows_lines_with_their_numbers() {
    let place = ToolDirectory::new();
    fs::create_dir_all(place.path("ctx/src")).expect("created");
    fs::write(place.path("ctx/src/a.rs"), "one\nfn charge() {}\nthree\nfour\nfive\ncharge();\n").expect("written");
    fs::write(place.path("ctx/src/b.py"), "CHARGE = 1\n").expect("written");
    let search = |arguments: Value| call(&place.tools, "file_search", &arguments);
    let found = search(json!({"pattern": r"\bcharge\("})).expect("searched");
    assert_eq!(found, json!({"files": [{"path": "src/a.rs", "lines": "2: fn charge() {}\n6: charge();\n"}]}));
    let found = search(json!({"pattern": "(?i)charge", "context": 1, "glob": "*.rs, docs/*"})).expect("searched");
    let lines = "1- one\n2: fn charge() {}\n3- three\n--\n5- five\n6: charge();\n";
    assert_eq!(found, json!({"files": [{"path": "src/a.rs", "lines": lines}]}));
    let found = search(json!({"pattern": "(?i)charge", "glob": "src/*.py"})).expect("searched");
    assert_eq!(found["files"][0]["path"], "src/b.py");
    for (arguments, said) in [
        (json!({"pattern": "("}), "the argument `pattern` is invalid: "),
        (json!({"pattern": "x{1000}{1000}{1000}"}), "the argument `pattern` is invalid: "),
        (json!({"pattern": "x", "glob": "*.{rs,py}"}), "the argument `glob` is invalid: braces are not supported"),
        (json!({"pattern": "x", "context": "many"}), "the argument `context` is invalid: expected a number"),
    ] {
        let refusal = search(arguments).expect_err("refused");
        assert!(refusal.starts_with(said), "{refusal}");
    }
}

#[test]
fn a_search_of_files_is_bounded_and_says_so() {
    let place = ToolDirectory::new();
    fs::write(place.path("ctx/long.txt"), "needle\n".repeat(300)).expect("written");
    let found = call(&place.tools, "file_search", &json!({"pattern": "needle"})).expect("searched");
    assert_eq!(found["files"][0]["lines"].as_str().expect("text").lines().count(), 100);
    assert!(found["notice"].as_str().expect("a notice").contains("narrow the pattern"), "{found}");
}

#[test]
fn a_search_of_files_sees_no_secrets() {
    let place = ToolDirectory::new();
    let key = "sk-a-key-that-is-a-secret";
    for (path, text) in [
        (".env", "needle TOP SECRET"),
        ("id_rsa", "needle TOP SECRET"),
        ("own.txt", &format!("needle {key}")),
        ("pem.txt", "needle TOP SECRET\n-----BEGIN PRIVATE KEY-----\n"),
        ("data.bin", "needle TOP SECRET\0"),
    ] {
        fs::write(place.path("ctx").join(path), text).expect("written");
    }
    let keys = KnownKeys::new([("A_KEY".to_owned(), key.to_owned().into())]);
    let directory = ContextDirectory::open(&place.path("ctx")).expect("opened").redacting(keys);
    let tools = tools_of(directory, Vec::new());
    let found = call(&tools, "file_search", &json!({"pattern": "needle"})).expect("searched");
    assert_eq!(found, json!({"files": [{"path": "own.txt", "lines": "1: needle [A_KEY redacted]\n"}]}));
}

#[test]
fn parts_of_a_file_and_files_of_the_whole_tree_can_be_asked_for() {
    let place = ToolDirectory::new();
    fs::write(place.path("ctx/docs/long.md"), "a\nb\nc\nd\n").expect("written");
    let read = |lines: &str| call(&place.tools, "file_read", &json!({"path": "docs/long.md", "lines": lines}));
    assert_eq!(read("2-3"), Ok(json!({"content": "   2 | b\n   3 | c\n", "totalLines": 4})));
    assert_eq!(read("4-90"), Ok(json!({"content": "   4 | d\n", "totalLines": 4})));
    for lines in ["0-3", "3-2", "a-b"] {
        assert!(read(lines).expect_err("refused").starts_with("the argument `lines` is invalid"), "{lines}");
    }
    let listed = call(&place.tools, "list_files", &json!({"path": ".", "glob": "**/*.md"})).expect("listed");
    let entry = |path: &str| json!({"path": path, "type": "file"});
    assert_eq!(listed["entries"], json!([entry("docs/long.md"), entry("docs/plan.md"), entry("notes.md")]));
}

#[test]
fn results_stay_within_the_room_and_the_last_ones_say_so() {
    let place = ToolDirectory::new();
    fs::write(place.path("ctx/long.md"), "x".repeat(500)).expect("written");
    let reading = |path: &str| ToolCall {
        id: "call-1".to_owned(),
        name: "file_read".to_owned(),
        arguments: json!({ "path": path }).to_string(),
    };
    let calls = [reading("notes.md"), reading("long.md")];
    let results = place.tools.run_all(&calls, 300, false);
    assert!(results[0].content.contains("the notes"), "{results:?}");
    assert!(
        results[1].content.contains("characters, but only 247 remain for tool results; ask for less"),
        "{results:?}"
    );
    assert!(!results[1].content.contains("notice"), "{results:?}");
    let results = place.tools.run_all(&calls, 3000, true);
    let last: Value = serde_json::from_str(&results[1].content).expect("JSON");
    assert_eq!(last["notice"], "no more tool calls are allowed; answer now");
    assert_eq!(last["result"]["content"], "x".repeat(500));
}
