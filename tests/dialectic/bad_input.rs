//! What cannot be used is refused by name, before anything is paid for.

use serde_json::{Value, json};

use crate::support::{MockServer, Sandbox, config, short_reply};

/// Something that cannot be used.
struct Case {
    /// What is done before: files of the sandbox.
    files: Vec<(&'static str, Vec<u8>)>,
    arguments: Vec<&'static str>,
    code: i32,
    /// What standard error says, each a part of it.
    says: Vec<&'static str>,
}

fn case(arguments: &[&'static str], code: i32, says: &[&'static str]) -> Case {
    Case { files: Vec::new(), arguments: arguments.to_vec(), code, says: says.to_vec() }
}

impl Case {
    fn with(mut self, path: &'static str, contents: impl AsRef<[u8]>) -> Self {
        self.files.push((path, contents.as_ref().to_vec()));
        self
    }

    /// Runs it in a sandbox of its own, against a server that must not be asked.
    fn check(self) {
        let server = MockServer::with(short_reply);
        let sandbox = Sandbox::new().model_server(&server).file("directory/file.txt", "x");
        for (path, contents) in &self.files {
            sandbox.write(path, contents);
        }
        let finished = sandbox.run(&self.arguments);
        let context = format!("{:?}\n{finished}", self.arguments);
        assert_eq!(finished.code, Some(self.code), "{context}");
        assert_eq!(finished.stdout, "", "{context}");
        assert!(finished.stderr.lines().any(|line| line.starts_with("error: ")), "{context}");
        for part in self.says {
            assert!(finished.stderr.contains(part), "{part} is not said\n{context}");
        }
        assert_eq!(server.requests().len(), 0, "{context}");
        assert_eq!(sandbox.debates(), Vec::<String>::new(), "{context}");
    }
}

#[test]
fn problems() {
    for case in [
        case(&["debate"], 2, &["standard input is empty", "hint: "]),
        case(&["debate", "x", "-p", "directory/file.txt"], 2, &["two problems given"]),
        case(&["debate", "-", "-p", "directory/file.txt"], 2, &["two problems given"]),
        case(&["debate", "directory/file.txt"], 2, &["is a file\nhint: did you mean `-p directory/file.txt`?"]),
        case(&["debate", "-p", "none.md"], 2, &["none.md", "caused by: No such file"]),
        case(&["debate", "-p", "directory"], 2, &["directory is a directory"]),
        case(&["debate", "-p", "latin1.txt"], 2, &["latin1.txt is not UTF-8", "Latin-1", "iconv -f ISO-8859-1"])
            .with("latin1.txt", b"gr\xfc\xdfe"),
        case(
            &["debate", "-p", "windows.txt"],
            2,
            &["windows.txt is not UTF-8", "hint: the file looks like Windows-1252"],
        )
        .with("windows.txt", b"\x93gr\xfc\xdfe\x94"),
        case(&["debate", "-p", "wide.txt"], 2, &["wide.txt is not UTF-8", "hint: the file looks like UTF-16"])
            .with("wide.txt", b"\xff\xfeg\0r\0"),
        case(&["debate", "x", "-e", "wide.env"], 2, &["`wide.env` is not UTF-8", "hint: the file looks like UTF-16"])
            .with("wide.env", b"\xfe\xff\0A\0=\x001"),
        case(
            &["debate", "-p", "nul.txt"],
            2,
            &["the problem from nul.txt contains a NUL character at line 2, column 7", "hint: "],
        )
        .with("nul.txt", "Design it.\ngrün: \0\n"),
        case(&["debate", "-p", "empty.txt"], 2, &["empty.txt is empty"]).with("empty.txt", ""),
        case(&["debate", "-p", "mark.txt"], 2, &["mark.txt is empty"]).with("mark.txt", "\u{feff}"),
        case(&["debate", "-p", "blank.txt"], 2, &["blank.txt is empty"]).with("blank.txt", " \n\t\u{a0}\n"),
        case(&["debate", ""], 2, &["the command line is empty"]),
        case(&["debate", " \n "], 2, &["the command line is empty"]),
        case(&["debate", "-"], 2, &["standard input is empty"]),
    ] {
        case.check();
    }
}

#[test]
fn options() {
    for rounds in ["0", "1.5", "three", "", "-1", "4294967296"] {
        case(&["debate", "x", "--rounds", rounds], 2, &["--rounds"]).check();
    }
    for case in [
        case(&["debate", "x", "--context", "nowhere"], 2, &["context directory `nowhere`"]),
        case(&["debate", "x", "--context", "directory/file.txt"], 2, &["directory/file.txt", "Not a directory"]),
        case(&["debate", "x", "--protocol", "dialectics"], 2, &["unknown protocol `dialectics`", "`dialectic`"]),
        case(&["debate", "x", "--agents", ""], 2, &["--agents names no role"]),
        case(&["debate", "x", "--agents", " , ,"], 2, &["--agents names no role"]),
        case(
            &["debate", "x", "--agents", "kiss,wizard"],
            2,
            &["--agents names an unknown role `wizard`", "`architect`"],
        ),
        case(&["debate", "x", "--agents", "sekurity"], 2, &["(did you mean `security`?)"]),
        case(&["debate", "x", "-c", "none.json"], 4, &["there is no configuration `none.json`", "hint: "]),
        case(&["debate", "x", "-m", " "], 2, &["--model names no model"]),
        case(&["debate", "x", "--mixed"], 4, &["needs the keys of two providers", "only OPENAI_API_KEY is set"]),
        case(&["debate", "x", "--mixed", "-m", "gpt-4o"], 2, &["--mixed", "--model"]),
        case(&["Design a queue. It must be fast."], 2, &["dialectic debate"]),
        case(&["debate", "x", "--env-file", "none.env"], 2, &["environment file `none.env`"]),
        case(&["debate", "x", "--env-file", "directory"], 2, &["environment file `directory`"]),
        case(&["debate", "x", "--colour", "never"], 2, &["--colour"]),
        case(&["debate", "x", "y"], 2, &["'y'"]),
        case(&["debates"], 2, &["'debates'"]),
        case(&["debate", "x", "--output", "directory"], 1, &["cannot write directory"]),
        case(&["debate", "x", "--output", "directory/file.txt/x.json"], 1, &["cannot write directory/file.txt"]),
        case(&["debate", "x", "--events", "directory"], 1, &["cannot write directory"]),
    ] {
        case.check();
    }
}

#[test]
fn keys() {
    let server = MockServer::with(short_reply);
    let sandbox = Sandbox::new().env("OPENAI_BASE_URL", &server.base_url());
    let finished = sandbox.run(["debate", "Design a queue"]).expect_code(4);
    insta::assert_snapshot!("no key", finished);
    // An empty one is none, and every provider in use is looked at.
    let mut settings = config(&["architect", "kiss"], &json!({}));
    settings["agents"][0]["provider"] = json!("mistral");
    settings["agents"][1]["provider"] = json!("local");
    settings["providers"] = json!({"local": {"baseUrl": server.base_url(), "apiKeyEnv": "LOCAL_KEY"}});
    let sandbox = sandbox.env("OPENAI_API_KEY", "").config(&settings);
    let finished = sandbox.run(["debate", "Design a queue"]).expect_code(4);
    insta::assert_snapshot!(finished, @"
    exit: 4
    --- stdout

    --- stderr
    error: missing environment variables:
        MISTRAL_API_KEY (provider `mistral`, needed by agent-architect)
        LOCAL_KEY (provider `local`, needed by agent-kiss)
        OPENAI_API_KEY (provider `openai`, needed by judge)
    hint: set MISTRAL_API_KEY=... and LOCAL_KEY=... and OPENAI_API_KEY=... in the environment or a `.env` file, or rehearse with `--offline`, which needs no key
    ");
    assert_eq!((server.requests().len(), sandbox.debates().len()), (0, 0));
}

#[test]
fn configurations_that_cannot_be_read() {
    let named = |contents: &[u8], says: &[&'static str]| {
        case(&["debate", "x", "-c", "c.json"], 4, says).with("c.json", contents).check();
    };
    named(b"", &["`c.json`", "the file is empty", "dialectic config init"]);
    named(b"{\n  \"agents\": [],\n}", &["`c.json` is not JSON (line 3, column 1)"]);
    named(b"{\n  // all of them\n}", &["`c.json` is not JSON (line 2, column 3)", "it contains a comment"]);
    named(b"[]", &["`c.json`", "top level", "expected an object, found an array"]);
    named(b"{\n \"judge\": \"\xff\"}", &["`c.json` is not UTF-8 text (line 2, column 12)", "looks like Latin-1"]);
    named(b"\xff\xfe{\0}\0", &["`c.json` is not UTF-8 text (line 1, column 1)", "hint: the file looks like UTF-16"]);
    named(b"{\"agents\": {}}", &["at agents (line 1, column 12)", "expected an array, found an object"]);
    named(b"{\"debate\":\n{\"rounds\": \"3\"}}", &["at debate.rounds (line 2, column 12)", "without quotes"]);
    named(b"{\"debate\": {\"synthesisMethod\": \"dice\"}}", &["debate.synthesisMethod", "`dice`", "`judge`"]);
    let hot = json!({"agents": [{"id": "a"}, {"id": "b", "temperature": "hot"}]}).to_string();
    named(hot.as_bytes(), &["agents[1].temperature (line 1, column "]);
    case(&["debate", "x", "-c", "directory"], 4, &["the configuration `directory` is a directory"]).check();
    case(&["debate", "x"], 4, &["`./debate-config.json` is not JSON"]).with("debate-config.json", "{").check();
}

#[test]
fn values_that_cannot_be_used() {
    let invalid = |pointer: &str, value: Value, says: &[&'static str]| {
        let mut settings = config(&["architect", "kiss"], &json!({}));
        let (parent, key) = pointer.rsplit_once('/').unwrap();
        settings.pointer_mut(parent).unwrap()[key] = value;
        case(&["debate", "x", "-c", "debate-config.json"], 4, says)
            .with("debate-config.json", settings.to_string())
            .check();
    };
    invalid("/judge/id", json!("agent-kiss"), &["judge.id (line 1, column ", "`agent-kiss`"]);
    invalid("/judge/model", json!(""), &["judge.model (line 1, column ", "is empty"]);
    invalid("/judge/provider", json!("opnai"), &["judge.provider (line 1, column ", "`opnai`", "`openai`"]);
    invalid("/judge/temperature", json!(2.1), &["judge.temperature (line 1, column ", "from 0 to 2, not 2.1"]);
    invalid("/debate/rounds", json!(0), &["debate.rounds (line 1, column ", "at least 1, not 0"]);
    invalid("/debate/rounds", json!(101), &["debate.rounds (line 1, column ", "at most 100, not 101"]);
    invalid("/debate/rounds", json!(1.5), &["debate.rounds (line 1, column ", "not 1.5"]);
    invalid("/debate/maxConcurrency", json!(0), &["debate.maxConcurrency (line 1, column "]);
    invalid("/debate/callTimeout", json!(0), &["debate.callTimeout (line 1, column "]);
    invalid("/debate/idleTimeout", json!(0), &["debate.idleTimeout (line 1, column "]);
    invalid("/debate/protocol", json!("nope"), &["debate.protocol (line 1, column ", "unknown protocol `nope`"]);
    let threshold = json!({"type": "quality", "threshold": 100.5});
    invalid("/debate/terminationCondition", threshold, &["debate.terminationCondition.threshold", "100.5"]);
    invalid("/debate/budget", json!({"maxCostUsd": -1}), &["debate.budget.maxCostUsd", "must not be negative"]);
    let file = json!({"local": {"baseUrl": "file:///etc/passwd"}});
    invalid("/providers", file, &["providers.local.baseUrl (line 1, column "]);
    invalid("/prices", json!({"m": {"inputPerMTok": 1}}), &["prices.m.outputPerMTok", "is missing"]);
    let cached = json!({"m": {"inputPerMTok": 1, "cachedInputPerMTok": 1.5, "outputPerMTok": 2}});
    invalid("/prices", cached, &["prices.m.cachedInputPerMTok", "must not exceed `inputPerMTok`"]);
}

#[test]
fn all_problems_are_reported_in_one_go() {
    let server = MockServer::with(short_reply);
    let settings = json!({
        "agents": [
            {"id": "a", "name": "", "role": "kiss", "model": "m", "provider": "nope", "temperature": 3},
            {"id": "a", "name": "B", "role": "kiss", "model": "m", "provider": "openai"},
        ],
        "judge": {"id": "", "name": "J", "role": "generalist", "model": "m", "provider": "openai"},
        "debate": {"terminationCondition": {"type": "fixed", "threshold": 101}, "budget": {"warnCostUsd": -1}},
    });
    let sandbox = Sandbox::new().model_server(&server).config(&settings);
    let finished = sandbox.run(["debate", "Design a queue"]).expect_code(4);
    insta::assert_snapshot!("all problems", finished);
    assert_eq!(server.requests().len(), 0);
}

#[test]
fn saved_debates() {
    let saved = |contents: &str, says: &[&'static str]| {
        case(&["resume", "x.json"], 2, says).with("x.json", contents).check();
    };
    saved("", &["x.json is not a saved debate"]);
    saved("nope", &["x.json is not a saved debate"]);
    saved("[]", &["x.json is not a saved debate"]);
    for missing in ["id", "problem", "status", "rounds"] {
        let mut state = json!({"id": "deb-20250101-010203-ab12", "problem": "p", "status": "failed", "rounds": []});
        state.as_object_mut().unwrap().remove(missing);
        case(&["resume", "x.json"], 2, &["x.json is not a saved debate", "missing field", missing])
            .with("x.json", state.to_string())
            .check();
    }
    let state = json!({"id": "deb-20250101-010203-ab12", "problem": "p", "status": "failed", "rounds": []});
    saved(&state.to_string(), &["deb-20250101-010203-ab12 cannot be resumed", "journal"]);
    for case in [
        case(&["resume", "none.json"], 2, &["none.json", "caused by: No such file"]),
        case(&["resume", "directory"], 2, &["directory is a directory"]),
        case(&["resume", "deb-2025"], 2, &["no debate `deb-2025`", "dialectic list"]),
        case(&["resume", "latest"], 2, &["no debate `latest`"]),
    ] {
        case.check();
    }
}

#[test]
fn of_a_repeated_option_the_last_counts_and_an_empty_value_counts_as_absent() {
    let sandbox = Sandbox::new();
    let debate = ["debate", "Design a queue", "--offline", "--quiet"];
    let run = |options: &[&str]| {
        let finished = sandbox.run([&debate[..], options].concat()).expect_code(0);
        let saved = finished.stderr.lines().find_map(|line| line.strip_prefix("Saved debate to ./debates/"));
        let state = sandbox.state(saved.unwrap().trim_end_matches(".json"));
        (state["settings"]["debate"]["rounds"].clone(), finished)
    };
    assert_eq!(run(&["-r", "3", "--rounds", "1"]).0, 1);
    let (rounds, finished) = run(&["--rounds", "2", "-o", "", "--events=", "--config", "", "-e="]);
    assert_eq!(rounds, 2);
    assert!(finished.stdout.contains("## Judge Assessment"), "{finished}");
    // Options that may be given several times are all heard.
    let id = sandbox.debates().into_iter().find(|id| sandbox.state(id)["settings"]["debate"]["rounds"] == 2).unwrap();
    let set = ["--set", "debate.rounds=1", "--set", "judge.temperature=0.9"];
    sandbox.run([&["fork", &id, "--at", "1.critique", "--offline", "--quiet"], &set[..]].concat()).expect_code(0);
    let forks = sandbox.debates();
    let fork = forks.iter().map(|id| sandbox.state(id)).find(|state| !state["forkedFrom"].is_null()).unwrap();
    assert_eq!(
        (&fork["settings"]["debate"]["rounds"], &fork["settings"]["judge"]["temperature"]),
        (&1.into(), &0.9.into())
    );
}
