//! Which model is asked where nothing is configured, and what is said of models before they are asked.

use serde_json::{Value, json};

use crate::support::{MockServer, Reply, Sandbox, TEST_KEY, config, sample, two_agents, with_each};

/// The default models by provider, with the variable of their key, as `docs/models.md` lists them.
const DEFAULTS: [(&str, &str, &str); 5] = [
    ("openai", "OPENAI_API_KEY", "gpt-5.6-luna"),
    ("anthropic", "ANTHROPIC_API_KEY", "claude-haiku-5-5"),
    ("google", "GEMINI_API_KEY", "gemini-3.8-flash"),
    ("mistral", "MISTRAL_API_KEY", "mistral-large-2512"),
    ("openrouter", "OPENROUTER_API_KEY", "openai/gpt-5.6-luna"),
];

/// Two agents and a judge of that model.
fn all_of(model: &str) -> Value {
    with_each(config(&["architect", "kiss"], &json!({})), "model", model)
}

/// A configuration without agents and judge, in which that provider's calls go to the server.
fn only_moved(provider: &str, server: &MockServer) -> Value {
    json!({"debate": {"rounds": 1}, "providers": {provider: {"baseUrl": server.base_url()}}})
}

#[test]
fn each_single_key_is_enough_for_a_debate_with_a_current_model() {
    for (provider, variable, model) in sample(DEFAULTS, 2) {
        let server = MockServer::start();
        let sandbox = Sandbox::new().env(variable, TEST_KEY).config(&only_moved(provider, &server));
        let (ran, state) = sandbox.debated(["debate", "Design a queue"]);
        assert!(!server.requests().is_empty(), "{provider}");
        for request in server.requests() {
            assert_eq!(request.model(), model, "{provider}");
            assert_eq!(request.header("authorization"), Some(&*format!("Bearer {TEST_KEY}")), "{provider}");
        }
        let first = ran.stderr.lines().next().unwrap_or_default();
        assert_eq!(first, format!("No model is configured; using {provider}/{model} ({variable} is set)."));
        assert_eq!(state["outcome"]["kind"], "full", "{provider}");
        server.assert_clean();
    }
}

#[test]
fn of_several_keys_the_first_provider_in_order_gets_everything() {
    let (first, other) = (MockServer::start(), MockServer::start());
    let mut settings = only_moved("anthropic", &first);
    settings["providers"]["mistral"] = json!({"baseUrl": other.base_url()});
    let keys = ["OPENROUTER_API_KEY", "MISTRAL_API_KEY", "ANTHROPIC_API_KEY"];
    let sandbox = keys.iter().fold(Sandbox::new(), |sandbox, key| sandbox.env(key, TEST_KEY)).config(&settings);
    sandbox.run(["debate", "Design a queue"]).expect_code(0);
    assert!(first.requests().iter().all(|request| request.model() == "claude-haiku-5-5"));
    assert_eq!((first.requests().is_empty(), other.requests().is_empty()), (false, true));
}

#[test]
fn show_and_dry_run_say_which_model_and_why() {
    let with_key = Sandbox::new().env("MISTRAL_API_KEY", TEST_KEY);
    let shown = with_key.run(["config", "show"]).expect_code(0);
    let row = |path: &str| {
        let line = shown.stdout.lines().find(|line| line.starts_with(path)).unwrap_or_else(|| panic!("{path}"));
        line.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(row("agents[0].model"), "agents[0].model mistral-large-2512 chosen: MISTRAL_API_KEY is set");
    assert_eq!(row("judge.provider"), "judge.provider mistral chosen: MISTRAL_API_KEY is set");
    let dry = with_key.run(["debate", "--dry-run", "Design a queue"]).expect_code(0);
    let chosen = "No model is configured; using mistral/mistral-large-2512 (MISTRAL_API_KEY is set).";
    assert_eq!(dry.stderr.lines().next(), Some(chosen));

    let without = Sandbox::new().run(["debate", "--dry-run", "Design a queue"]).expect_code(0);
    let assumed = "No model is configured; using openai/gpt-5.6-luna (assumed, because no API key is set).";
    assert_eq!(without.stderr.lines().next(), Some(assumed));
    assert!(without.stdout.contains("gpt-5.6-luna"), "{without}");
}

#[test]
fn without_any_key_the_error_names_the_variables_and_the_offline_provider() {
    for arguments in [&["debate", "Design a queue"][..], &["config", "check"]] {
        let refused = Sandbox::new().run(arguments).expect_code(4).says(["no API key is set"]);
        for (_, variable, _) in DEFAULTS {
            assert!(refused.stderr.contains(variable), "{variable}: {refused}");
        }
        assert!(refused.stderr.contains("--offline"), "{refused}");
    }
    Sandbox::new().run(["debate", "--offline", "Design a queue"]).expect_code(0);
}

#[test]
fn agents_and_a_judge_of_which_one_is_left_out_are_asked_at_the_same_provider() {
    let (openai, own) = (MockServer::start(), MockServer::start());
    let mut settings = with_each(config(&["architect", "kiss"], &json!({})), "provider", "local");
    settings.as_object_mut().unwrap().remove("judge");
    settings["providers"] = json!({"local": {"baseUrl": own.base_url()}});
    let sandbox = Sandbox::new().model_server(&openai).config(&settings);
    sandbox.run(["debate", "Design a queue"]).expect_code(0);
    assert_eq!(own.requests().last().unwrap().model(), "model-architect");
    let shown = sandbox.run(["config", "show"]).expect_code(0).stdout;
    let line = shown.lines().find(|line| line.starts_with("judge.model")).unwrap();
    assert!(line.contains("model-architect") && line.ends_with("like the first agent"), "{line}");
    own.forget();
    let judge = json!({"provider": "local", "model": "big"});
    let settings = json!({"judge": judge, "debate": {"rounds": 1}, "providers": settings["providers"]});
    sandbox.config(&settings).run(["debate", "Design a queue"]).expect_code(0);
    assert!(!own.requests().is_empty() && own.requests().iter().all(|request| request.model() == "big"));
    assert!(openai.requests().is_empty(), "a key that is there draws no call");
}

#[test]
fn a_retired_model_is_warned_of_before_the_first_call() {
    let mut settings = config(&["architect", "kiss"], &json!({}));
    settings["agents"][0]["model"] = json!("gpt-4");
    settings["judge"]["model"] = json!("gpt-4");
    let sandbox = Sandbox::new().env("OPENAI_API_KEY", TEST_KEY).config(&settings);
    let said = "openai retired `gpt-4` on 2026-10-23, so calls to it will fail (used by agent-architect, judge); similar current models: `gpt-4o`, `gpt-4.1`, `gpt-5.4`";
    for arguments in [&["config", "check"][..], &["debate", "--dry-run", "Design a queue"]] {
        sandbox.run(arguments).expect_code(0).says([said]);
    }
    // Elsewhere the name may mean another model.
    let server = MockServer::start();
    let ran = sandbox.model_server(&server).run(["debate", "Design a queue"]).expect_code(0);
    assert!(!ran.stderr.contains("retired"), "{ran}");
}

#[test]
fn a_model_that_nobody_knows_is_named_with_those_like_it() {
    let server = MockServer::with(|_| Reply::error(404, "The model does not exist"));
    let sandbox = Sandbox::new().model_server(&server).config(&all_of("gtp-4o"));
    let failed = sandbox.run(["debate", "Design a queue"]).expect_code(3);
    let said = "`gtp-4o` is not a known openai model; current models with similar names: `gpt-4o`";
    assert!(failed.stderr.contains(said), "{failed}");
}

#[test]
fn list_prices_hold_at_the_provider_alone() {
    let mut settings = all_of("gpt-4o");
    let dry = ["debate", "--dry-run", "--max-cost", "50", "Design a queue"];
    let sandbox = Sandbox::new().config(&settings);
    sandbox.run(dry).expect_code(0);
    let official = Sandbox::new().env("OPENAI_BASE_URL", "https://api.openai.com/v1/").config(&settings);
    official.run(dry).expect_code(0);
    let moved = Sandbox::new().env("OPENAI_BASE_URL", "http://127.0.0.1:9/v1").config(&settings);
    moved.run(dry).expect_code(4).says(["no price is known for gpt-4o"]);
    settings["prices"] = json!({"gpt-4o": {"inputPerMTok": 1, "outputPerMTok": 2}});
    moved.config(&settings).run(dry).expect_code(0);

    settings["prices"] = json!({});
    settings["providers"] = json!({"openai": {"baseUrl": "http://127.0.0.1:9/v1"}});
    Sandbox::new().config(&settings).run(dry).expect_code(4);
}

#[test]
fn a_panel_of_one_family_is_told_how_to_mix() {
    let sandbox = Sandbox::new().env("OPENAI_API_KEY", TEST_KEY).env("ANTHROPIC_API_KEY", TEST_KEY);
    let mut settings = all_of("gpt-4o");
    settings["judge"]["model"] = json!("gpt-5.2");
    let sandbox = sandbox.config(&settings);
    sandbox.run(["config", "check"]).expect_code(0).says(["models from one family (GPT)"]);
    settings["agents"][1]["model"] = json!("claude-haiku-5-5");
    settings["agents"][1]["provider"] = json!("anthropic");
    let mixed = sandbox.config(&settings).run(["config", "check"]).expect_code(0);
    assert!(!mixed.stderr.contains("family"), "{mixed}");
}

/// Two agents and a judge of a model that is known to read so many tokens.
fn reading(window: u64) -> Value {
    let mut settings = all_of("small");
    settings["models"] = json!({"small": {"contextWindow": window, "maxOutput": 4096}});
    settings
}

#[test]
fn a_prompt_that_cannot_fit_is_refused_before_anything_is_sent() {
    let server = MockServer::start();
    let sandbox = Sandbox::new().model_server(&server).config(&reading(4_000));
    let sentence = "Design a queue that never loses a message. ";
    sandbox.write("problem.md", sentence.repeat(300));
    sandbox.write("notes.md", sentence.repeat(2_000));
    let arguments = ["debate", "-p", "problem.md", "--attach", "notes.md"];
    for arguments in [&arguments[..], &[&arguments[..], &["--dry-run"]].concat()] {
        let refused = sandbox.run(arguments).expect_code(2);
        assert!(refused.stderr.contains("agent-architect's prompt for the proposal is too long"), "{refused}");
        assert!(refused.stderr.contains("the context window of `small` is 4,000"), "{refused}");
        assert!(refused.stderr.contains("models.<name>.contextWindow"), "{refused}");
    }
    assert_eq!((server.requests().len(), sandbox.debates().len()), (0, 0));
    // With room enough the same problem is debated.
    let ran = sandbox.config(&reading(2_000_000)).run(arguments).expect_code(0);
    assert!(!ran.stderr.contains("reads"), "{ran}");
}

#[test]
fn a_problem_longer_than_the_smallest_window_is_refused_before_anything_is_sent() {
    let server = MockServer::start();
    let mut settings = reading(1_000_000);
    // The judge reads less than the agents; nothing is known of one of them.
    settings["agents"][0]["model"] = json!("unknown-model");
    settings["judge"]["model"] = json!("smallest");
    settings["models"]["smallest"] = json!({"contextWindow": 4_000});
    let sandbox = Sandbox::new().model_server(&server).config(&settings);
    let long = "Design a queue that never loses a message.\n".repeat(500).trim_end().to_owned();
    let plan = json!({"problems": ["problem.md"], "variants": [{"name": "a", "config": "debate-config.json"}]});
    sandbox.write("problem.md", &long);
    sandbox.write("sweep.json", plan.to_string());
    let said = "the problem is too long: it has about 4,777 tokens (21,499 characters), but the context window of \
                `smallest` is 4,000";
    for arguments in [
        &["debate", "-p", "problem.md"][..],
        &["debate", "-p", "problem.md", "--dry-run"],
        &["sweep", "plan", "sweep.json"],
    ] {
        let refused = sandbox.run(arguments).expect_code(2);
        assert!(refused.stderr.contains(said) && refused.stderr.contains("hint: shorten the problem"), "{refused}");
    }
    assert_eq!((server.requests().len(), sandbox.debates().len()), (0, 0));
    // One that is a little shorter begins, as does any where no window is known.
    sandbox.write("problem.md", &long[..long.len() * 4 / 5]);
    let begun = sandbox.run(["debate", "-p", "problem.md"]).expect_code(0);
    assert!(begun.stderr.contains("warning: the context window of `smallest` is 4,000 tokens"), "{begun}");
    let unknown = two_agents(&server, &json!({}));
    unknown.write("problem.md", &long);
    unknown.run(["debate", "-p", "problem.md"]).expect_code(0);
}

#[test]
fn a_prompt_that_probably_will_not_fit_is_warned_of_and_sent() {
    let server = MockServer::start();
    let sandbox = Sandbox::new().model_server(&server).config(&reading(4_000));
    for arguments in [&["debate", "Design a queue"][..], &["debate", "Design a queue", "--dry-run"]] {
        let ran = sandbox.run(arguments).expect_code(0);
        assert!(ran.stderr.contains("warning: the context window of `small` is 4,000 tokens, but the "), "{ran}");
        assert_eq!(ran.stderr.matches("will probably be about").count(), 1, "once for a model: {ran}");
    }
    assert!(!server.requests().is_empty());
}

#[test]
fn an_output_limit_above_what_the_model_writes_is_warned_of() {
    let mut settings = reading(100_000);
    settings["judge"]["maxTokens"] = json!(5000);
    let sandbox = Sandbox::new().env("OPENAI_API_KEY", TEST_KEY).config(&settings);
    let checked = sandbox.run(["config", "check"]).expect_code(0);
    let said = "warning: `judge` sets `maxTokens` to 5000, but `small` supports at most 4096";
    assert!(checked.stderr.contains(said), "{checked}");
}
