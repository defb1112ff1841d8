//! `hooks.afterDebate`: the user's commands after a debate.

#![cfg(unix)]

use serde_json::{Value, json};

use crate::support::{MockServer, Reply, Sandbox};

fn hooks(commands: &[&str]) -> Value {
    json!({ "hooks": { "afterDebate": commands }, "debate": { "rounds": 1 } })
}

#[test]
fn a_command_gets_the_state_and_no_key() {
    let commands = ["cat > state.json", "printenv > variables.txt", "echo printed; echo said >&2"];
    let sandbox = Sandbox::new().config(&hooks(&commands)).env("ANTHROPIC_API_KEY", "sk-ant-secret");
    let finished = sandbox.run(["debate", "--offline", "-c", "debate-config.json", "Design a queue"]).expect_code(0);
    assert!(!finished.stdout.contains("printed") && !finished.stderr.contains("said"), "{finished}");
    let given: Value = serde_json::from_str(&sandbox.read("state.json")).unwrap();
    assert_eq!(given, sandbox.state(&sandbox.only_debate()));
    assert_eq!(given["status"], "completed");
    let variables = sandbox.read("variables.txt");
    assert!(variables.contains("PATH=") && !variables.contains("sk-ant-secret"), "{variables}");
}

#[test]
fn what_goes_wrong_is_a_warning_and_the_next_one_runs() {
    let sandbox =
        Sandbox::new().config(&hooks(&["echo no such channel >&2; exit 7", "no-such-program-at-all", "touch done"]));
    let finished = sandbox.run(["debate", "--offline", "-c", "debate-config.json", "Design a queue"]).expect_code(0);
    assert!(finished.stderr.contains("warning: the hook `echo no such channel"), "{finished}");
    assert!(finished.stderr.contains("no such channel") && finished.stderr.contains('7'), "{finished}");
    assert!(finished.stderr.contains("warning: the hook `no-such-program-at-all`"), "{finished}");
    sandbox.read("done");
}

#[test]
fn they_run_behind_a_debate_that_failed_and_not_behind_one_without_a_record() {
    let run = |server: &MockServer| {
        let sandbox = Sandbox::new().model_server(server).config(&hooks(&["cat > state.json"]));
        let finished = sandbox.run(["debate", "-c", "debate-config.json", "Design a queue"]).expect_code(3);
        let written = sandbox.files().into_iter().find(|(path, _)| path.ends_with("state.json"));
        (finished, written.map(|(_, state)| serde_json::from_slice::<Value>(&state).unwrap()))
    };
    let (finished, state) = run(&MockServer::with(|_| Reply::error(401, "no such key")));
    assert_eq!(state, None, "{finished}");
    let (finished, state) = run(&MockServer::with(|_| Reply::text(" ")));
    assert_eq!(state.unwrap_or_default()["status"], "failed", "{finished}");
}

#[test]
fn a_record_runs_nothing_by_itself_and_what_the_user_names_is_run() {
    let sandbox = Sandbox::new().file("debate-config.json", hooks(&["touch done"]).to_string());
    sandbox.run(["debate", "--offline", "-c", "debate-config.json", "Design a queue"]).expect_code(0);
    sandbox.remove("done");
    let is_done = || sandbox.files().iter().any(|(path, _)| path.ends_with("done"));
    sandbox.run(["fork", "latest", "--at", "1.synthesis"]).expect_code(0);
    assert!(!is_done());
    sandbox.run(["fork", "latest", "--at", "1.synthesis", "-c", "debate-config.json"]).expect_code(0);
    assert!(is_done());
    assert!(!sandbox.state(&sandbox.debates()[0]).to_string().contains("touch"), "no record holds a command");
}

#[test]
fn an_empty_command_is_a_problem_that_is_named() {
    let sandbox = Sandbox::new().config(&hooks(&["true", " "]));
    sandbox.run(["debate", "--offline", "Design a queue"]).expect_code(4).says(["hooks.afterDebate[1]"]);
}
