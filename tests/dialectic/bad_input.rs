//! What cannot be used is refused by name, before anything is paid for.

use serde_json::json;

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
        case(&["debate", "x", "--protocol", "review"], 2, &["needs a change\nhint: use `dialectic review`"]),
        case(&["debate", "-p", "-"], 2, &["the problem from standard input is empty"]),
        case(&["debate", "x", "-p", "directory/file.txt"], 2, &["the problem was given twice"]),
        case(&["debate", "directory/file.txt"], 2, &["is a file\nhint: did you mean `-p directory/file.txt`?"]),
        case(&["debate", "-p", "none.md"], 2, &["none.md", "caused by: No such file"]),
        case(&["debate", "-p", "directory"], 2, &["directory is a directory"]),
        case(&["debate", "-p", "latin1.txt"], 2, &["latin1.txt is not UTF-8", "Latin-1", "iconv -f ISO-8859-1"])
            .with("latin1.txt", b"gr\xfc\xdfe"),
        case(&["debate", "-p", "wide.txt"], 2, &["wide.txt is not UTF-8", "hint: the file looks like UTF-16"])
            .with("wide.txt", b"\xff\xfeg\0r\0"),
        case(
            &["debate", "-p", "nul.txt"],
            2,
            &["the problem from nul.txt contains a NUL character at line 2, column 7", "hint: "],
        )
        .with("nul.txt", "Design it.\ngrün: \0\n"),
        case(&["debate", "-p", "blank.txt"], 2, &["blank.txt is empty"]).with("blank.txt", "\u{feff} \n\t\u{a0}\n"),
        case(&["debate", " \n "], 2, &["the command line is empty"]),
    ] {
        case.check();
    }
}

#[test]
fn options() {
    for case in [
        case(&["debate", "x", "--rounds", "0"], 2, &["--rounds"]),
        case(&["debate", "x", "--rounds", "101"], 2, &["expected a whole number from 1 to 100"]),
        case(&["debate", "x", "--context", "nowhere"], 2, &["context directory `nowhere`"]),
        case(&["debate", "x", "--protocol", "dialectics"], 2, &["unknown protocol `dialectics`", "`dialectic`"]),
        case(&["debate", "x", "--agents", ""], 2, &["--agents names no role"]),
        case(
            &["debate", "x", "--agents", "kiss,wizard"],
            2,
            &["--agents names an unknown role `wizard`", "`architect`"],
        ),
        case(&["debate", "x", "-c", "none.json"], 4, &["configuration file `none.json` not found", "hint: "]),
        case(&["debate", "x", "-m", " "], 2, &["--model must not be empty"]),
        case(&["debate", "x", "--mixed"], 4, &["needs the keys of two providers", "only OPENAI_API_KEY is set"]),
        case(&["debate", "x", "--mixed", "-m", "gpt-4o"], 2, &["--mixed", "--model"]),
        case(&["Design a queue. It must be fast."], 2, &["dialectic debate"]),
        case(&["debate", "x", "--env-file", "none.env"], 2, &["environment file `none.env`"]),
        case(&["debate", "x", "y"], 2, &["'y'"]),
        case(&["debate", "x", "--output", "directory/file.txt/x.json"], 1, &["cannot write directory/file.txt"]),
        case(&["debate", "x", "--events", "directory"], 1, &["cannot write directory"]),
    ] {
        case.check();
    }
}

/// Where each mistake is found is tested where configurations are read.
#[test]
fn configurations() {
    let prices = json!({"m": {"inputPerMTok": 1, "cachedInputPerMTok": 1.5, "outputPerMTok": 2}});
    let cached = json!({ "prices": prices }).to_string();
    for (contents, says) in [
        (&b""[..], &["`c.json`", "the file is empty", "dialectic config init"][..]),
        (b"\xff\xfe{\0}\0", &["`c.json` is not UTF-8 text (line 1, column 1)", "hint: the file looks like UTF-16"]),
        (b"{\"debate\":\n{\"rounds\": \"3\"}}", &["at debate.rounds (line 2, column 12)", "without quotes"]),
        (cached.as_bytes(), &["prices.m.cachedInputPerMTok", "must not exceed `inputPerMTok`"]),
    ] {
        case(&["debate", "x", "-c", "c.json"], 4, says).with("c.json", contents).check();
    }
    case(&["debate", "x", "-c", "directory"], 4, &["the configuration `directory` is a directory"]).check();
    case(&["debate", "x"], 4, &["`./debate-config.json` is not valid JSON"]).with("debate-config.json", "{").check();
}

#[test]
fn a_debate_without_a_journal_is_not_resumed() {
    let state = json!({"id": "deb-20250101-010203-ab12", "problem": "p", "status": "failed", "rounds": []});
    case(&["resume", "x.json"], 2, &["deb-20250101-010203-ab12 cannot be resumed", "journal"])
        .with("x.json", state.to_string())
        .check();
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
    hint: set MISTRAL_API_KEY=... and LOCAL_KEY=... and OPENAI_API_KEY=... in the environment or a `.env` file, or rehearse a new debate with `--offline`, which needs no key
    ");
    assert_eq!((server.requests().len(), sandbox.debates().len()), (0, 0));
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
