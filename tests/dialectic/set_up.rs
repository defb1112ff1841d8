//! `dialectic init`, `dialectic models` and texts that are written in an editor.

use std::os::unix::fs::PermissionsExt;

use axum::http::StatusCode;
use axum::routing::{get, post};
use axum::{Json, Router};
use serde_json::{Value, json};

use crate::support::{Sandbox, TEST_KEY, Terminal, config, with_each};
use crate::trace::serve;

const OWN: &str = ".config/dialectic/config.json";
const KEYS: &str = ".config/dialectic/keys.env";

/// A server that lists models and says a word, or refuses.
fn server(models: &'static str) -> String {
    let list: Value = serde_json::from_str(models).unwrap();
    let say = async |Json(request): Json<Value>| {
        if request["model"] == "gone" {
            return (StatusCode::NOT_FOUND, Json(json!({"error": {"message": "there is no such model"}})));
        }
        let word = json!({"message": {"role": "assistant", "content": "Hello"}, "finish_reason": "stop"});
        (StatusCode::OK, Json(json!({"choices": [word], "usage": {"prompt_tokens": 9, "completion_tokens": 1}})))
    };
    let routes = Router::new().route("/v1/models", get(|| std::future::ready(Json(list))));
    format!("http://{}/v1", serve(routes.route("/v1/chat/completions", post(say))))
}

const TWO: &str = r#"{"data": [{"id": "small", "max_model_len": 8192}, {"id": "gpt-5.6-luna"}, {"id": "small"}, 7]}"#;

/// A sandbox whose debates ask that server.
fn asking(url: &str, model: &str) -> Sandbox {
    let settings = with_each(config(&["architect", "kiss"], &json!({})), "provider", "mine");
    let mut settings = with_each(settings, "model", model);
    settings["judge"]["model"] = json!("judging");
    settings["providers"] = json!({"mine": {"baseUrl": url, "api": "chat"}});
    settings["prices"] = json!({"small": {"inputPerMTok": 1, "outputPerMTok": 2}});
    Sandbox::new().config(&settings)
}

#[test]
fn models_are_those_of_the_servers_with_what_is_known_of_them() {
    let here = asking(&server(TWO), "small");
    let shown = here.run(["models"]).expect_code(0);
    insta::assert_snapshot!(shown.stdout, @"
    mine
    MODEL                  CONTEXT  IN $/M  OUT $/M  USED BY
    judging (not offered)        ?       ?        ?  judge
    small                    8,192    1.00     2.00  agent-architect, agent-kiss
    gpt-5.6-luna                 ?       ?        ?
    ");
    let rows = here.run(["models", "--json"]).expect_code(0).json();
    let row = |name: &str| rows.as_array().unwrap().iter().find(|row| row["model"] == name).unwrap().clone();
    assert_eq!(row("small")["usedBy"], json!(["agent-architect", "agent-kiss"]));
    assert_eq!((&row("small")["contextWindow"], &row("small")["inputPerMTok"]), (&json!(8192), &json!(1.0)));
    assert_eq!((&row("judging")["offered"], &row("gpt-5.6-luna")["offered"]), (&json!(false), &json!(true)));
    let one = here.run(["models", "mine:sm*"]).expect_code(0).stdout;
    assert!(one.contains("small") && !one.contains("judging"), "{one}");
    assert_eq!(here.run(["models", "mine/sm*"]).expect_code(0).stdout, one);
    here.run(["models", "nobody"]).expect_code(2);
    let host = Sandbox::new().config(&json!({"provider": "host"})).run(["models", "host"]).expect_code(0).stdout;
    assert!(host.starts_with("host\n") && host.contains("agent-kiss"), "{host}");
}

#[test]
fn a_list_in_both_forms_at_once_is_read() {
    // So does llama.cpp answer: Ollama's form beside OpenAI's.
    let list = r#"{"models": [{"name": "tiny", "model": "tiny", "details": {"format": "gguf"}}], "object": "list",
        "data": [{"id": "tiny", "object": "model", "meta": {"n_ctx": 4096, "n_ctx_train": 8192}}]}"#;
    let here = asking(&server(list), "tiny");
    let shown = here.run(["models", "tiny"]).expect_code(0);
    assert!(shown.stderr.is_empty() && shown.stdout.contains("4,096"), "{shown}");
    assert!(!shown.stdout.contains("not offered"), "{shown}");
}

#[test]
fn a_server_that_does_not_say_is_no_matter_of_the_others() {
    let here =
        asking("http://127.0.0.1:9/v1", "small").env("OPENAI_API_KEY", TEST_KEY).env("OPENAI_BASE_URL", &server(TWO));
    let finished = here.run(["models"]).expect_code(0).says(["warning: mine does not list its models: cannot reach"]);
    assert!(finished.stdout.contains("gpt-5.6-luna") && finished.stdout.contains("judging"), "{finished}");
}

#[test]
fn a_probe_asks_before_it_costs_anything() {
    let here = asking(&server(TWO), "small");
    let refused = here.run(["models", "--probe"]).expect_code(2);
    assert!(refused.stderr.contains("Probing 2 models uses at most 16 output tokens per model"), "{refused}");
    assert!(refused.stderr.contains("hint: use --yes to accept the defaults"), "{refused}");
    let rows = here.run(["models", "--probe", "--yes", "--json"]).expect_code(0).json();
    let probed: Vec<(&str, bool)> = rows
        .as_array()
        .unwrap()
        .iter()
        .filter(|row| !row["probe"].is_null())
        .map(|row| (row["model"].as_str().unwrap(), row["probe"]["answered"].as_bool().unwrap()))
        .collect();
    assert_eq!(probed, [("judging", true), ("small", true)]);
    let gone = asking(&server(TWO), "gone").run(["models", "gone", "--probe", "--yes"]).expect_code(0);
    assert!(gone.stdout.contains("the request was refused (404)"), "{gone}");
}

#[test]
fn the_table_of_models_fits_the_screen() {
    let here = asking(&server(TWO), "a-model-with-a-very-long-name-indeed");
    let (_, screen) = Terminal::start_in(50, 30, &here, ["models", "--probe", "--yes"]).expect_code(0);
    // Nothing of the table is wrapped: every row is one line, and its figures are whole.
    let screen = screen.text();
    let row = |start: &str| screen.lines().filter(|line| line.starts_with(start)).count();
    assert_eq!((row("MODEL"), row("small"), row("a-model-wi")), (1, 1, 1), "{screen}");
    assert!(screen.contains("8,192") && screen.contains("answered"), "{screen}");
    for columns in [50, 80, 120] {
        let (_, screen) = Terminal::start_in(columns, 30, &here, ["models"]).expect_code(0);
        insta::assert_snapshot!(format!("models at {columns}"), screen.text());
    }
}

#[test]
fn init_without_questions_makes_a_configuration_that_works() {
    let here = Sandbox::new();
    here.run(["init"]).expect_code(2).says(["`dialectic init` needs a terminal for its questions"]);
    here.run(["init", "--yes"]).expect_code(4);
    let refused = here.run(["init", "--yes", "--server", &server(TWO)]).expect_code(2);
    assert!(refused.stderr.contains("--model is required: local offers gpt-5.6-luna, small"), "{refused}");
    let refused = here.run(["init", "--yes", "--server", "http://127.0.0.1:9/v1"]).expect_code(2);
    assert!(refused.stderr.contains("--model is required: local does not list its models"), "{refused}");
    here.run(["init", "--yes", "--server", &server(TWO), "-m", "gpt-5.6-luna"]).expect_code(0).says(["Wrote "]);
    let written: Value = serde_json::from_str(&here.read(OWN)).unwrap();
    assert_eq!((&written["provider"], &written["model"]), (&json!("local"), &json!("gpt-5.6-luna")));
    here.run(["config", "check"]).expect_code(0);
    here.run(["init", "--yes", "-m", "openai/gpt-4o"]).expect_code(1);
    let unlisted = Sandbox::new().run(["init", "--yes", "--server", &server(TWO), "-m", "smal"]).expect_code(0).stderr;
    assert!(unlisted.contains("local does not list `smal`; it offers gpt-5.6-luna, small"), "{unlisted}");
    // A project begins with whom its user asks.
    here.run(["config", "init"]).expect_code(0);
    let project: Value = serde_json::from_str(&here.read("debate-config.json")).unwrap();
    for one in project["agents"].as_array().unwrap().iter().chain([&project["judge"]]) {
        assert_eq!((&one["provider"], &one["model"]), (&json!("local"), &json!("gpt-5.6-luna")));
    }
    here.run(["config", "check"]).expect_code(0);
    let other = Sandbox::new().env("MISTRAL_API_KEY", TEST_KEY);
    other.run(["init", "--yes"]).expect_code(0);
    assert_eq!(serde_json::from_str::<Value>(&other.read(OWN)).unwrap()["provider"], "mistral");
    other.assert_no_file_has_the_key();
    let named = Sandbox::new();
    named.run(["init", "--yes", "-m", "ollama/qwen-3"]).expect_code(0);
    let written: Value = serde_json::from_str(&named.read(OWN)).unwrap();
    assert_eq!((&written["provider"], &written["model"]), (&json!("ollama"), &json!("qwen-3")));
    Sandbox::new().run(["init", "--yes", "--server", "localhost"]).expect_code(2);
}

#[test]
fn init_asks_a_model_where_debates_ask_it() {
    for (name, provider) in [("gpt-5.6-luna", "openai"), ("claude-sonnet-5-5", "anthropic"), ("claude", "claude")] {
        let here = Sandbox::new().env("MISTRAL_API_KEY", TEST_KEY);
        let finished = here.run(["init", "--yes", "-m", name]).expect_code(0);
        let written: Value = serde_json::from_str(&here.read(OWN)).unwrap();
        assert_eq!(written["provider"], provider, "{name}");
        let warning = if name == "claude" { "a debate cannot start yet: " } else { "_API_KEY is not set yet" };
        assert!(finished.stderr.contains(warning), "{finished}");
    }
    for (name, fault) in [("nosuch", "but no known provider serves it"), ("offline/x", "the offline provider")] {
        Sandbox::new().run(["init", "--yes", "-m", name]).expect_code(2).says([fault]);
    }
}

#[test]
fn init_finds_the_only_model_of_a_server_and_what_it_reads() {
    const ONE: &str = r#"{"data": [{"id": "small", "max_model_len": 8192}]}"#;
    let below = server(ONE);
    let above = below.strip_suffix("/v1").unwrap();
    let here = Sandbox::new();
    here.run(["init", "--yes", "--server", above]).expect_code(0);
    let written: Value = serde_json::from_str(&here.read(OWN)).unwrap();
    assert_eq!((&written["providers"]["local"]["baseUrl"], &written["model"]), (&json!(below), &json!("small")));
    assert_eq!((&written["models"]["small"]["contextWindow"], &written["prices"]), (&json!(8192), &Value::Null));
    let dry = here.run(["debate", "Design a queue.", "--dry-run"]).expect_code(0);
    assert!(dry.stderr.contains("warning: the context window of `small` is 8,192 tokens"), "{dry}");

    // On a terminal it is asked what the calls cost, so that a limit works.
    let here = Sandbox::new();
    let mut terminal = Terminal::start_in(100, 40, &here, ["init", "--server", &below]);
    terminal.wait_for("Model [small]");
    terminal.type_line("");
    terminal.wait_for("Price [unknown]");
    terminal.type_line("cheap");
    terminal.wait_for("Type two numbers");
    terminal.type_line("0.1 0.4");
    terminal.wait_for("Directory for debates");
    terminal.type_line("");
    terminal.wait_for("A first debate takes 6 to 9 calls, likely $");
    terminal.wait_for("dialectic debate --quick");
    terminal.expect_code(0);
    let written: Value = serde_json::from_str(&here.read(OWN)).unwrap();
    assert_eq!(written["prices"]["small"], json!({"inputPerMTok": 0.1, "outputPerMTok": 0.4}));
    here.run(["config", "check"]).expect_code(0);
    let limited = here.run(["debate", "--quick", "--max-cost", "1", "--dry-run", "Design a queue."]).expect_code(0);
    assert!(limited.stdout.contains("$1.00 (the limit)") || limited.stdout.contains("at most $"), "{limited}");
    let here = Sandbox::new().env("MY_KEY", TEST_KEY);
    let mut terminal = Terminal::start_in(100, 40, &here, ["init", "--server", &below, "--key-variable", "MY_KEY"]);
    terminal.wait_for("Model [small]");
    terminal.type_line("");
    terminal.wait_for("Price [unknown]");
    terminal.type_line("");
    terminal.wait_for("Directory for debates");
    terminal.type_line("");
    let (output, _) = terminal.expect_code(0);
    assert!(!output.contains("at no cost"), "{output}");
    assert!(!here.read(OWN).contains("prices"));
}

#[test]
fn a_project_says_whom_to_ask_as_its_user_does() {
    let here = Sandbox::new().env("OPENAI_API_KEY", TEST_KEY).env("MISTRAL_API_KEY", TEST_KEY);
    here.write(OWN, r#"{"provider": "mistral", "model": "mistral-large-4"}"#);
    here.write("debate-config.json", r#"{"provider": "openai", "model": "gpt-5.6-luna"}"#);
    let dry = ["debate", "Design a queue.", "--dry-run"];
    let finished = here.run(dry).expect_code(0);
    assert!(finished.stdout.contains("gpt-5.6-luna") && finished.stderr.contains("debate-config.json"), "{finished}");
    assert!(!finished.stderr.contains("warning: no agents"), "{finished}");
    here.run([&dry[..], &["-m", "gpt-4o"]].concat()).expect_code(0).prints(["gpt-4o"]);
    let shown = here.run(["config", "show"]).expect_code(0).stdout;
    assert!(shown.lines().any(|line| line.starts_with("provider ") && line.contains("openai")), "{shown}");
    // The model alone is of the user's provider.
    here.write("debate-config.json", r#"{"model": "mistral-tiny"}"#);
    here.run(dry).expect_code(0).says(["Using mistral/mistral-tiny"]);
    here.write("debate-config.json", r#"{"provider": "nobody"}"#);
    here.run(dry).expect_code(4).says(["unknown provider `nobody`"]);
}

#[test]
fn init_asks_and_keeps_a_key_for_the_user_alone() {
    let here = Sandbox::new();
    let mut terminal = Terminal::start_in(100, 40, &here, ["init"]);
    terminal.wait_for("Provider [1]");
    terminal.type_line("anthropic");
    terminal.wait_for("ANTHROPIC_API_KEY is not set");
    terminal.type_line("sk-ant-typed-0123456789");
    terminal.wait_for("claude-haiku-5-5: $0.1 in, $0.5 out");
    terminal.wait_for("Model [claude-haiku-5-5]");
    terminal.type_line("");
    terminal.wait_for("Directory for debates");
    terminal.type_line("~/kept");
    let (output, _) = terminal.expect_code(0);
    assert!(!output.contains("typed-0123456789"), "{output}");
    let written: Value = serde_json::from_str(&here.read(OWN)).unwrap();
    let said = ["provider", "model", "directory"].map(|key| written[key].as_str().unwrap_or_default().to_owned());
    assert_eq!(said, ["anthropic", "claude-haiku-5-5", "~/kept"]);
    assert!(!here.read(OWN).contains("typed"));
    assert_eq!(here.read(KEYS), "ANTHROPIC_API_KEY='sk-ant-typed-0123456789'\n");
    let mode = std::fs::metadata(here.directory().join(KEYS)).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    here.run(["debate", "x", "--dry-run"]).expect_code(0).says(["Using anthropic/claude-haiku-5-5"]);
}
