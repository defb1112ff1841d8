//! `dialectic config`: the configuration written, checked, shown and described.

use serde_json::{Value, json};

use crate::support::{MockServer, Sandbox, TEST_KEY, config, short_reply};

#[test]
fn the_starter_is_the_default_and_is_never_written_over_another_file() {
    let sandbox = Sandbox::new().env("OPENAI_API_KEY", TEST_KEY);
    let before = sandbox.run(["config", "show", "--json"]).expect_code(0);
    insta::assert_snapshot!(sandbox.run(["config", "init"]).expect_code(0), @"
    exit: 0
    --- stdout

    --- stderr
    Wrote a configuration to ./debate-config.json
    ");
    insta::assert_snapshot!(sandbox.run(["config", "check"]).expect_code(0), @"
    exit: 0
    --- stdout

    --- stderr
    The configuration is valid: 3 agents and a judge, at most 3 rounds.
    All agents and the judge use models from one family (GPT). Mixing families improves debates: give one agent, or the judge, a `provider` and `model` from another family.
    ");
    let after = sandbox.run(["config", "show", "--json"]).expect_code(0);
    assert_eq!((&*after.stdout, &*after.stderr), (&*before.stdout, ""));
    assert!(before.stderr.contains("openai/gpt-5.6-luna (OPENAI_API_KEY is set)"), "{before}");
    sandbox.write("debate-config.json", "mine");
    insta::assert_snapshot!(sandbox.run(["config", "init"]).expect_code(1), @"
    exit: 1
    --- stdout

    --- stderr
    error: ./debate-config.json already exists
    hint: use another file, or remove this one first
    ");
    assert_eq!(sandbox.read("debate-config.json"), "mine");
    sandbox.run(["config", "init", "other.json"]).expect_code(0);
    sandbox.run(["config", "check", "-c", "other.json"]).expect_code(0);
    sandbox.run(["config", "init", "nowhere/other.json"]).expect_code(1);
}

#[test]
fn check_needs_the_keys_and_calls_nobody() {
    let server = MockServer::with(short_reply);
    let settings = config(&["architect", "kiss"], &json!({"rounds": 4}));
    let sandbox = Sandbox::new().model_server(&server).config(&settings);
    insta::assert_snapshot!(sandbox.run(["config", "check"]).expect_code(0), @"
    exit: 0
    --- stdout

    --- stderr
    The configuration is valid: 2 agents and a judge, at most 4 rounds.
    ");
    assert_eq!(server.requests().len(), 0);
    let without_key = Sandbox::new().config(&settings);
    let refused = without_key.run(["config", "check"]).expect_code(4);
    assert!(
        refused.stderr.starts_with("error: missing environment variable OPENAI_API_KEY (provider `openai`"),
        "{refused}"
    );
    let oxford = config(&["architect", "kiss"], &json!({"protocol": "oxford", "rounds": 1}));
    let unfit = Sandbox::new().env("OPENAI_API_KEY", TEST_KEY).config(&oxford).run(["config", "check"]).expect_code(4);
    assert!(unfit.stderr.contains("rounds") && unfit.stderr.contains("\nhint: "), "{unfit}");
    let file = format!("OPENAI_API_KEY={TEST_KEY}");
    without_key.file("keys.env", file).run(["config", "check", "-e", "keys.env"]).expect_code(0);
}

#[test]
fn what_is_odd_but_usable_is_warned_of() {
    let mut settings = config(&["architect", "kiss", "testing", "wizard"], &json!({"round": 2, "maxConcurency": 3}));
    settings["agents"][0]["temperature"] = json!(1.2);
    settings["agents"][0]["tools"] = json!([{"name": "file_read"}, {"name": "browse"}]);
    settings["agents"][1]["enabled"] = json!(false);
    settings["agents"][2]["systemPromptPath"] = json!("prompts/none.md");
    settings["debates"] = json!({});
    settings["$comment"] = json!("not read");
    let server = MockServer::with(short_reply);
    let sandbox = Sandbox::new().model_server(&server).config(&settings);
    let checked = sandbox.run(["config", "check"]).expect_code(0);
    insta::assert_snapshot!(checked, @"
    exit: 0
    --- stdout

    --- stderr
    warning: unknown key `debate.round` is ignored (did you mean `rounds`?)
    warning: unknown key `debate.maxConcurency` is ignored (did you mean `maxConcurrency`?)
    warning: unknown key `debates` is ignored (did you mean `debate`?)
    warning: `agents[0].temperature` is 1.2; above 1 answers tend to become erratic
    warning: unknown tool `browse` (known: `context_search`, `file_read`, `file_search`, `list_files`) at `agents[0].tools[1]` is skipped
    warning: unknown role `wizard` (known: `architect`, `performance`, `security`, `operations`, `testing`, `kiss`, `datamodeling`, `generalist`) at `agents[3].role`; using architect
    warning: agent-testing: prompt file [directory]/prompts/none.md does not exist; using the built-in prompt
    The configuration is valid: 3 agents and a judge, at most 1 round.
    ");
    // A debate says the same.
    let finished = sandbox.run(["debate", "Design a queue", "--quiet"]).expect_code(0);
    let warnings =
        |said: &str| said.split_inclusive('\n').filter(|line| line.starts_with("warning: ")).collect::<String>();
    assert_eq!(warnings(&finished.stderr), warnings(&checked.stderr));
    // Three agents are left.
    assert_eq!(server.requests().len(), 13);
}

#[test]
fn show_tells_where_each_value_is_from() {
    let mut settings = config(&["kiss"], &json!({"rounds": 7}));
    settings["providers"] = json!({"openai": {"headers": {"X-Secret": "${SECRET}"}}});
    settings["hooks"] = json!({"afterDebate": ["notify-send done"]});
    let sandbox = Sandbox::new()
        .config(&settings)
        .env("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
        .env("OPENAI_API_KEY", TEST_KEY)
        .env("SECRET", "hush-hush");
    let finished = sandbox.run(["config", "show"]).expect_code(0);
    let wanted = ["agents[0].model ", "agents[0].toolCallLimit ", "debate.rounds ", "debate.callTimeout ", "judge.id "];
    let is_wanted = |line: &&str| {
        wanted.iter().any(|start| line.starts_with(start)) || line.contains("openai.") || line.starts_with("hooks")
    };
    let lines: Vec<_> = finished.stdout.lines().filter(is_wanted).collect();
    insta::assert_snapshot!(lines.join("\n"), @"
    agents[0].model                        model-kiss             file ./debate-config.json
    agents[0].toolCallLimit                10                     built-in default
    judge.id                               judge                  file ./debate-config.json
    debate.callTimeout                     600000                 built-in default
    debate.rounds                          7                      file ./debate-config.json
    providers.openai.api                   auto                   built-in default
    providers.openai.headers.X-Secret      ${SECRET}              file ./debate-config.json
    hooks.afterDebate[0]                   notify-send done       file ./debate-config.json
    endpoints.openai.baseUrl               http://127.0.0.1:9/v1  environment variable OPENAI_BASE_URL
    endpoints.openai.apiKey                set                    environment variable OPENAI_API_KEY
    endpoints.openai.headers.X-Secret      ${SECRET}              file ./debate-config.json
    ");
    let json = sandbox.run(["config", "show", "--json"]).expect_code(0).stdout;
    for shown in [&finished.stdout, &json] {
        assert!(!shown.contains("hush-hush"), "{shown}");
    }
    let shown: Value = serde_json::from_str(&json).unwrap();
    assert_eq!((&shown["debate"]["rounds"], &shown["debate"]["maxRetries"]), (&json!(7), &json!(0)));
    assert_eq!(shown["judge"]["model"], "model-judge");
}
