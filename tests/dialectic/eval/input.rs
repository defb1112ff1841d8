//! What cannot be used is refused by name, before anything is paid for.

use serde_json::{Value, json};

use super::{HEADER, SIMPLE, evaluators, sandbox, two_evaluators};
use crate::support::Sandbox;

/// Runs `eval` with the arguments and the files, and expects that exit code, these words, and no request.
fn refused(files: &[(&str, &str)], arguments: &[&str], code: i32, says: &[&str]) {
    let server = two_evaluators();
    let mut sandbox = sandbox(&server, &evaluators(&["a"])).file("directory/file.txt", "x");
    for (path, contents) in files {
        sandbox = sandbox.file(path, contents);
    }
    let finished = sandbox.run([&["eval"], arguments].concat()).expect_code(code).says(says);
    assert_eq!(finished.stdout, "", "{finished}");
    assert_eq!(server.requests().len(), 0, "{finished}");
}

/// The fixture `simple` after a change.
fn changed(change: impl FnOnce(&mut Value)) -> String {
    let mut debate = serde_json::from_str(SIMPLE).unwrap();
    change(&mut debate);
    debate.to_string()
}

#[test]
fn arguments() {
    refused(&[], &["-c", "eval.json"], 2, &["--debate"]);
    refused(&[], &["-c", "eval.json", "-d", "simple", "--repeat", "101"], 2, &["--repeat", "from 1 to 100"]);
    refused(&[], &["-c", "eval.json", "-d", "simple", "-o", "directory/file.txt/s.md"], 1, &["cannot write directory"]);
}

#[test]
fn debates() {
    let eval = |files: &[(&str, &str)], debate: &str, says: &[&str]| {
        refused(files, &["-c", "eval.json", "-d", debate], 2, says);
    };
    eval(&[], "debates/x*.json", &["no debate matches the pattern `debates/x*.json`"]);
    let blank = changed(|debate| debate["problem"] = json!(" \n"));
    eval(&[("d.json", &blank)], "d.json", &["cannot evaluate the debate d.json: `problem` is empty"]);
    let unfinished = changed(|debate| debate["finalSolution"] = Value::Null);
    eval(&[("d.json", &unfinished)], "d.json", &["d.json", "`finalSolution.description` is missing", "hint: "]);
}

#[test]
fn configurations() {
    let eval = |contents: &str, code: i32, says: &[&str]| {
        refused(&[("c.json", contents)], &["-c", "c.json", "-d", "simple"], code, says);
    };
    refused(&[], &["-c", "none.json", "-d", "simple"], 2, &["evaluator configuration `none.json` not found", "hint: "]);
    eval("{}", 2, &["`c.json` has no `agents`", "hint: a minimal file is {\"agents\""]);
    let host = r#"{"agents": [{"id": "a", "model": "m", "provider": "host"}]}"#;
    eval(host, 2, &["the provider `host` cannot be used for evaluation", "hint: choose other evaluators"]);
    let twice = r#"{"agents": [{"id": "a", "model": "m"}, {"id": "a", "model": ""}]}"#;
    eval(twice, 2, &["2 problems", "agents[1].id", "already the id of `agents[0]`", "agents[1].model", "is empty"]);
}

#[test]
fn a_missing_key_is_named_with_those_who_need_it() {
    let mut configuration = evaluators(&["a", "b", "off"]);
    configuration["agents"][1]["provider"] = json!("mistral");
    configuration["agents"][2]["enabled"] = json!(false);
    configuration["agents"][2]["provider"] = json!("google");
    let sandbox = Sandbox::new().file("eval.json", configuration.to_string()).file("simple.json", SIMPLE);
    let finished = sandbox.run(["eval", "-c", "eval.json", "-d", "simple.json", "-o", "out/s.md"]).expect_code(4);
    let missing = "    OPENAI_API_KEY (provider `openai`, needed by a)\n    MISTRAL_API_KEY (provider `mistral`, needed by b)\nhint: ";
    assert!(finished.stderr.contains(missing), "{finished}");
    assert!(!sandbox.directory().join("out").exists());
    // The same evaluators need no key offline.
    sandbox.run(["eval", "-c", "eval.json", "-d", "simple.json", "--offline"]).expect_code(0);
}

#[test]
fn a_csv_of_something_else_is_not_appended_to() {
    let arguments = ["-c", "eval.json", "-d", "simple", "-o", "s.csv"];
    let found = HEADER.replace("Security", "Safety");
    refused(&[("s.csv", &found)], &arguments, 2, &["s.csv is not an evaluation file", "hint: "]);
}

#[test]
fn what_has_no_effect_is_said_and_not_an_error() {
    let server = two_evaluators();
    let mut configuration = evaluators(&["a"]);
    configuration["agents"][0]["temperature"] = json!(0.9);
    configuration["agents"][0]["timeOut"] = json!(5);
    configuration["agents"][0]["role"] = json!("judge");
    let sandbox = sandbox(&server, &configuration).file(".env", "nonsense\n");
    let finished = sandbox.run(["eval", "-c", "eval.json", "-d", "simple"]).expect_code(0);
    insta::assert_snapshot!(finished.stderr, @"
    warning: line 1 of the environment file `.env` is ignored: it is not `NAME=value`
    warning: unknown key `agents[0].timeOut` is ignored (did you mean `timeout`?)
    warning: `agents[0].temperature` has no effect: evaluators always use 0.1
    1 to 2 calls, of unknown cost (no price is known for model-a)
    ");
    assert_eq!(server.requests()[0].body["temperature"], json!(0.1));
}

#[test]
fn the_example_and_the_documented_configuration_are_understood() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |path: &str| std::fs::read_to_string(root.join(path)).unwrap();
    let documented = read("docs/evaluation.md");
    let (_, after) = documented.split_once("```json\n").unwrap();
    let documented = after.split_once("```").unwrap().0.to_owned();
    for configuration in [read("examples/eval-config.json"), documented] {
        let sandbox = Sandbox::new().file("eval.json", &configuration).file("simple.json", SIMPLE);
        let sandbox = sandbox.file("prompts/security-reviewer.md", "Judge {final_solution} as a security reviewer.");
        let finished = sandbox.run(["eval", "-c", "eval.json", "-d", "simple.json", "--offline"]).expect_code(0);
        assert!(!finished.stderr.contains("warning"), "{finished}");
    }
}
