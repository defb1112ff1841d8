//! Which values are allowed, and their effect.

use super::*;
use dialectic_engine::tools::TOOL_NAMES;

#[test]
fn a_configuration_that_says_everything_loads_unchanged() {
    let text = include_str!("full.json");
    let loaded = load_text(text).unwrap();
    assert_eq!(loaded.warnings, Vec::<String>::new());
    let settings = loaded.settings;
    let agent = &settings.agents[0];
    assert_eq!(agent.summarization.threshold, 8000);
    assert_eq!((agent.summarization.max_length, agent.summarization.enabled), (2500, true), "inherited");
    assert_eq!(agent.system_prompt_path.as_deref(), Some(Path::new("prompts/a.md")));
    assert_eq!(agent.tools.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>(), TOOL_NAMES);
    assert_eq!((agent.max_tokens, agent.position), (Some(4096), Some(Position::For)));
    assert_eq!(settings.debate.orchestrator_type, "classic");
    assert_eq!(settings.prices["gpt-4"].cached_input_per_m_tok, Some(30.0));
    assert_eq!(settings.providers["local"].api_key_env.as_deref(), Some("LOCAL_KEY"));

    let written: Value = serde_json::from_str(text).unwrap();
    let effective = serde_json::to_value(&settings).unwrap();
    for key in ["judge", "debate", "prices"] {
        assert_covers(&written[key], &effective[key], key);
    }
    // Effective settings are a configuration themselves.
    let again = load_text(&effective.to_string()).unwrap();
    assert_eq!((again.settings, again.warnings), (settings, Vec::new()));
}

/// Checks that everything written takes effect.
fn assert_covers(written: &Value, effective: &Value, at: &str) {
    match written {
        Value::Object(entries) => {
            for (key, value) in entries {
                assert_covers(value, &effective[key], &format!("{at}.{key}"));
            }
        }
        Value::Number(number) => assert_eq!(number.as_f64(), effective.as_f64(), "{at}"),
        other => assert_eq!(other, effective, "{at}"),
    }
}

#[test]
fn settings_saved_in_a_state_load_again() {
    for text in [include_str!("full.json"), STARTER] {
        let mut settings = load_text(text).unwrap().settings;
        settings.base_dir = Some("/somewhere".into());
        settings.context_dir = Some("/elsewhere".into());
        let saved = serde_json::to_string(&settings).unwrap();
        assert_eq!(serde_json::from_str::<Settings>(&saved).unwrap(), settings);
    }
}

#[test]
fn a_whole_number_may_be_written_as_javascript_writes_it() {
    let text = with_debate(&json!({"rounds": 2}))
        .to_string()
        .replace("\"rounds\":2", "\"rounds\":2.0,\"timeoutPerRound\":3e5");
    let debate = load_text(&text).unwrap().settings.debate;
    assert_eq!((debate.rounds, debate.timeout_per_round), (2, 300_000));
}

#[test]
fn null_is_absent_everywhere() {
    let config = with(&json!({"providers": {"x": null}, "prices": null}));
    assert!(load_value(&config).unwrap().settings.providers.is_empty());

    let schema = schema();
    let debate_keys = schema["$defs"]["Debate"]["properties"].as_object().unwrap().keys();
    let debate: Value = debate_keys.map(|key| (key.clone(), Value::Null)).collect::<serde_json::Map<_, _>>().into();
    assert_eq!(load_value(&with_debate(&debate)).unwrap().settings.debate, default_settings().debate);

    let agent =
        json!({"temperature": null, "tools": [null], "summarization": null, "enabled": null, "maxTokens": null});
    let agent = &load_value(&with_agent(&agent)).unwrap().settings.agents[0];
    assert!(agent.enabled && agent.tools.is_empty());
    let nobody = json!({"agents": null, "judge": null, "debate": null});
    assert_eq!(load_value(&nobody).unwrap().settings, default_settings());
}

#[test]
fn missing_sections_are_built_in_with_a_warning() {
    let loaded = load_text("{}").unwrap();
    assert_eq!(loaded.settings, default_settings());
    assert_eq!(
        loaded.warnings,
        ["no judge is configured; using the default judge", "no agents are configured; using the built-in agents"]
    );
    assert_eq!(load_text(r#"{"agents": []}"#).unwrap().warnings, loaded.warnings);
    let mut config = with(&json!({}));
    config.as_object_mut().unwrap().remove("debate");
    assert_eq!(warnings(&config), Vec::<String>::new(), "a missing debate is no news");
}

#[test]
fn what_a_judge_leaves_out_is_the_default_judges() {
    let settings = load_value(&with(&json!({"judge": {"model": "big"}}))).unwrap().settings;
    assert_eq!(settings.judge.id.as_str(), "judge-main");
    assert_eq!((settings.judge.model.as_str(), settings.judge.role.as_str()), ("big", "generalist"));
    assert!(settings.judge.temperature < 0.4);
}

#[test]
fn unknown_keys_are_named_with_the_nearest_known_one() {
    let config = with(&json!({
        "debates": {},
        "rounds": 2,
        "judge": {"id": "j", "name": "J", "model": "m", "temprature": 1},
        "providers": {"local": {"baseUrl": "http://x/v1", "apiKey": "sk-secret"}},
        "prices": {"gpt-4.1": {"inputPerMTok": 1, "outputPerMTok": 1, "output": 1}},
        "debate": {"summarization": {"max_length": 3}, "budget": {"banana": 1}, "terminationCondition": {"treshold": 1}}
    }));
    let mut warnings = warnings(&config);
    warnings.sort();
    insta::assert_snapshot!(warnings.join("\n"), @r#"
    unknown key `debate.budget.banana` is ignored (known: `maxCalls`, `maxCostUsd`, `warnCostUsd`)
    unknown key `debate.summarization.max_length` is ignored (did you mean `maxLength`?)
    unknown key `debate.terminationCondition.treshold` is ignored (did you mean `threshold`?)
    unknown key `debates` is ignored (did you mean `debate`?)
    unknown key `judge.temprature` is ignored (did you mean `temperature`?)
    unknown key `prices["gpt-4.1"].output` is ignored (known: `cachedInputPerMTok`, `inputPerMTok`, `outputPerMTok`)
    unknown key `providers.local.apiKey` is ignored (did you mean `apiKeyEnv`?)
    unknown key `rounds` is ignored (did you mean `debate.rounds`?)
    "#);
    let warning = &load_value(&with_agent(&json!({"temprature": 1}))).unwrap().warnings[0];
    assert_eq!(warning, "unknown key `agents[0].temprature` is ignored (did you mean `temperature`?)");
}

#[test]
fn remarks_are_allowed_everywhere() {
    let remark = json!({"$comment": {"any": "thing"}, "//": "x", "$comment more": 1});
    let mut config = minimal(&remark, &remark, &remark);
    merge(&mut config, &json!({"$schema": "./s.json", "providers": remark, "prices": remark}));
    config["debate"]["budget"] = remark;
    assert_eq!(warnings(&config), Vec::<String>::new());
}

#[test]
fn all_problems_are_reported_in_one_go() {
    let text = r#"{
  "agents": [
    { "id": "", "name": " ", "role": "kiss", "provider": "opnai", "temperature": 2.5 },
    { "id": "x", "name": "X", "role": "kiss", "model": "m", "toolCallLimit": 1.5 },
    { "id": "x", "name": "X", "role": "kiss", "model": "m", "maxTokens": 0 }
  ],
  "judge": { "id": "x" },
  "debate": {
    "rounds": 0, "protocol": "dialektic", "terminationCondition": { "threshold": 101 },
    "budget": { "maxCostUsd": -1 }, "callTimeout": 0, "idleTimeout": 0, "summarization": { "method": "magic" }
  },
  "providers": { "local": { "baseUrl": "localhost" } },
  "prices": { "m": { "inputPerMTok": -1 } }
}"#;
    insta::assert_snapshot!("all problems", load_text(text).unwrap_err());
}

#[test]
fn ids_names_and_models_must_be_there() {
    for key in ["id", "name", "model"] {
        assert_eq!(problems(&with_agent(&json!({ key: null }))), [format!("agents[0].{key}: is missing")]);
        assert_eq!(problems(&with_agent(&json!({ key: " " }))), [format!("agents[0].{key}: is empty")]);
        assert_eq!(problems(&with(&json!({"judge": { key: "" }}))), [format!("judge.{key}: is empty")]);
    }
}

#[test]
fn ids_must_not_collide_with_what_is_built_in() {
    let collides = json!({"judge": {"id": "agent-kiss"}, "agents": []});
    assert_eq!(problems(&collides), ["judge.id: `agent-kiss` is already the id of a built-in agent"]);
    let mut config = with_agent(&json!({"id": "judge-main"}));
    config["judge"] = Value::Null;
    assert_eq!(problems(&config), ["agents: `judge-main` is already the id of the default judge"]);
}

#[test]
fn every_bound_of_the_schema_is_enforced() {
    let schema = schema();
    let place = |definition: &str, key: &str, value: &Value| match definition {
        "Agent" => Some(with_agent(&json!({ key: value }))),
        "Debate" => Some(with_debate(&json!({ key: value }))),
        "Termination" => Some(with_debate(&json!({"terminationCondition": { key: value }}))),
        "Summarization" => Some(with_debate(&json!({"summarization": { key: value }}))),
        "Arena" => Some(with_debate(&json!({"arena": { key: value }}))),
        "Team" => Some(with_debate(&json!({"arena": {"team": { key: value }}}))),
        "Convergence" => Some(with_debate(&json!({"arena": {"convergence": { key: value }}}))),
        "Budget" => Some(with_debate(&json!({"budget": { key: value }}))),
        "Provider" => {
            let program = json!({"type": "command", "argv": ["x"], key: value});
            Some(with(&json!({"providers": {"p": program}})))
        }
        "Model" => Some(with(&json!({"models": {"m": { key: value }}}))),
        "Price" => {
            let mut price = json!({"inputPerMTok": 1, "outputPerMTok": 1});
            price[key] = value.clone();
            Some(with(&json!({"prices": {"m": price}})))
        }
        _ => None,
    };
    let mut bounds = 0;
    for (definition, node) in schema["$defs"].as_object().unwrap() {
        for (key, property) in node["properties"].as_object().into_iter().flatten() {
            for (keyword, step) in [("minimum", -1.0), ("maximum", 1.0)] {
                let Some(bound) = property.get(keyword).and_then(Value::as_f64) else { continue };
                let inside = place(definition, key, &json!(bound)).expect(definition);
                assert_eq!(problems(&inside), Vec::<String>::new(), "{definition}.{key} {keyword}");
                let outside = place(definition, key, &json!(bound + step)).expect(definition);
                assert_eq!(problems(&outside).len(), 1, "{definition}.{key} {keyword}");
                bounds += 1;
            }
        }
    }
    assert!(bounds >= 20, "{bounds} bounds");
}

#[test]
fn warm_agents_are_allowed_with_a_warning() {
    assert_eq!(warnings(&with_agent(&json!({"temperature": 1.0}))), Vec::<String>::new());
    let loaded = load_value(&with_agent(&json!({"temperature": 1.5}))).unwrap();
    assert!(loaded.settings.agents[0].temperature > 1.4);
    assert_eq!(loaded.warnings, ["`agents[0].temperature` is 1.5; above 1 answers tend to become erratic"]);
}

#[test]
fn numbers_past_their_type_are_refused() {
    assert_eq!(
        problems(&with_debate(&json!({"rounds": 4_294_967_296_u64}))),
        ["debate.rounds: is too large: 4294967296"]
    );
    assert_eq!(
        problems(&with_debate(&json!({"timeoutPerRound": 1e300}))),
        ["debate.timeoutPerRound: must be a whole number of at least 1, not 1e300"]
    );
}

#[test]
fn an_unknown_role_becomes_architect_unless_the_user_has_a_file_for_it() {
    let own = load_value(&with_agent(&json!({"role": "skeptic"}))).unwrap();
    assert_eq!((own.settings.agents[0].role.as_str(), own.warnings.len()), ("skeptic", 0));
    let upper = load_value(&with_agent(&json!({"role": "Security"}))).unwrap();
    assert_eq!((upper.settings.agents[0].role.as_str(), upper.warnings.len()), ("security", 0));
    let slip = load_value(&with_agent(&json!({"role": "sekurity"}))).unwrap();
    assert_eq!(slip.settings.agents[0].role, "architect");
    assert!(slip.warnings[0].starts_with("unknown role `sekurity` (did you mean `security`?)"), "{:?}", slip.warnings);
    assert!(slip.warnings[0].ends_with("at `agents[0].role`; using architect"), "{:?}", slip.warnings);
    let absent = load_value(&with_agent(&json!({"role": null}))).unwrap();
    assert_eq!(absent.warnings, ["`agents[0]` has no role; using architect"]);
}

#[test]
fn an_unknown_tool_is_skipped() {
    let tools = json!({"tools": [{"name": "file_reed"}, {"name": "file_read"}, {"name": "file_read"}, {}]});
    let loaded = load_value(&with_agent(&tools)).unwrap();
    assert_eq!(loaded.settings.agents[0].tools.len(), 1);
    assert_eq!(loaded.warnings.len(), 2);
    assert!(loaded.warnings[0].contains("`file_reed` (did you mean `file_read`?)"), "{:?}", loaded.warnings);
    assert!(loaded.warnings[0].ends_with("at `agents[0].tools[0]` is skipped"), "{:?}", loaded.warnings);
}

#[test]
fn agents_that_are_switched_off_are_dropped_and_not_checked() {
    let loaded = load_value(&with_agent(&json!({"enabled": false, "id": "", "provider": "?"}))).unwrap();
    assert_eq!(ids(&loaded.settings), ["a2"]);
    let mut config = with_agent(&json!({"enabled": false}));
    config["agents"][1]["enabled"] = json!(false);
    let loaded = load_value(&config).unwrap();
    assert_eq!(ids(&loaded.settings), ["agent-architect", "agent-performance", "agent-kiss"]);
    assert_eq!(loaded.warnings, ["every configured agent is disabled; using the built-in agents"]);
    let judge = warnings(&with(&json!({"judge": {"enabled": false}})));
    assert_eq!(judge, ["`judge.enabled` has no effect: a debate needs a judge"]);
}

fn load_roles(roles: &[&str]) -> Result<Loaded, ConfigError> {
    let overrides = Overrides { agents: Some(roles.iter().map(ToString::to_string).collect()), ..Default::default() };
    load_with(with(&json!({})).to_string().as_bytes(), &overrides, &Environment::default())
}

#[test]
fn roles_of_the_command_line_filter_the_agents() {
    let loaded = load_roles(&[" KISS ", ""]).unwrap();
    assert_eq!((ids(&loaded.settings), loaded.warnings.len()), (vec!["a2"], 0));
    // A role that is not configured gets a built-in agent with the first agent's model.
    let loaded = load_roles(&["security", "kiss", "security"]).unwrap();
    assert_eq!((ids(&loaded.settings), loaded.warnings.len()), (vec!["a2", "agent-security"], 0));
    let built_in = &loaded.settings.agents[1];
    assert_eq!((built_in.provider.as_str(), built_in.model.as_str()), ("openai", "m"));
    assert_eq!(loaded.choice, None);
    let own = load_roles(&["Skeptic"]).unwrap();
    assert_eq!((ids(&own.settings), own.settings.agents[0].role.as_str()), (vec!["agent-skeptic"], "skeptic"));
    let error = load_roles(&["kiss", "wizard"]).unwrap_err();
    assert!(matches!(error, ConfigError::Argument { .. }));
    assert!(error.to_string().starts_with("--agents names an unknown role `wizard` (known: `architect`,"), "{error}");
}

#[test]
fn the_command_line_wins() {
    let overrides = Overrides {
        rounds: Some(7),
        protocol: Some("arena".to_owned()),
        clarify: true,
        max_cost: Some(Usd::from_dollars(2.0)),
        ..Default::default()
    };
    let file = with_debate(&json!({"rounds": 2, "budget": {"maxCostUsd": 1, "warnCostUsd": 0.5}}));
    let debate = load_with(file.to_string().as_bytes(), &overrides, &Environment::default()).unwrap().settings.debate;
    assert_eq!((debate.rounds, debate.protocol.as_str()), (7, "arena"));
    assert!(debate.interactive_clarifications);
    assert_eq!(debate.budget.max_cost_usd, Some(Usd::from_dollars(2.0)));
    assert_eq!(debate.budget.warn_cost_usd, Some(Usd::from_dollars(0.5)));
}

#[test]
fn offline_replaces_every_model_and_needs_no_key() {
    let overrides = Overrides { offline: true, ..Default::default() };
    let nothing = Environment::default();
    let settings = load_with(with(&json!({})).to_string().as_bytes(), &overrides, &nothing).unwrap().settings;
    for agent in settings.agents.iter().chain([&settings.judge]) {
        assert_eq!((agent.provider.as_str(), agent.model.as_str()), ("offline", OFFLINE_MODEL));
    }
    assert_eq!(missing_keys(&settings, &nothing), Ok(()));
    let in_file = with_agent(&json!({"provider": "offline", "model": null}));
    assert_eq!(load_value(&in_file).unwrap().settings.agents[0].model, OFFLINE_MODEL);
}

#[test]
fn names_of_choices_are_read() {
    let debate = json!({
        "synthesisMethod": "merge", "trace": "otlp", "onAgentFailure": "fail",
        "terminationCondition": {"type": "quality"}
    });
    let loaded = load_value(&with_debate(&debate)).unwrap();
    let warning = "`merge` in `debate.synthesisMethod` works like `judge`: the judge writes the solution";
    assert_eq!(loaded.warnings, [warning]);
    let debate = loaded.settings.debate;
    assert_eq!(debate.synthesis_method, SynthesisMethod::Merge);
    assert_eq!(debate.trace, Some(TraceTarget::Otlp));
    assert_eq!(
        (debate.termination_condition.kind, debate.termination_condition.threshold),
        (TerminationKind::Quality, 80.0)
    );
}

#[test]
fn providers_are_checked() {
    let provider = |entry: Value| problems(&with(&json!({"providers": {"local": entry}})));
    assert_eq!(provider(json!({})), ["providers.local.baseUrl: is missing: only built-in providers have a default"]);
    for url in ["ftp://x/v1", "nonsense", "http://", "http://u:hunter2@x/v1", "http://x/v1?key=hunter2"] {
        let problems = provider(json!({"baseUrl": url}));
        assert!(problems.len() == 1 && !problems[0].contains("hunter2"), "{url}: {problems:?}");
    }
    let key = provider(json!({"baseUrl": "http://x/v1", "apiKeyEnv": "sk-hunter2"}));
    assert_eq!(key, ["providers.local.apiKeyEnv: must be the name of an environment variable, not the key itself"]);
    let header = provider(json!({"baseUrl": "http://x/v1", "headers": {"Authorization": "Bearer hunter2"}}));
    assert_eq!(
        header,
        [
            "providers.local.headers.Authorization: appears to contain a secret; put it in an environment variable and write `${NAME}` here"
        ]
    );
    assert_eq!(
        provider(json!({"baseUrl": "http://x/v1", "headers": {"Authorization": "${KEY}"}})),
        Vec::<String>::new()
    );
    let offline = warnings(&with(&json!({"providers": {"offline": {}}})));
    assert_eq!(offline, ["`providers.offline` has no effect: the provider `offline` does not call a server"]);
}

#[test]
fn an_entry_of_a_built_in_provider_keeps_that_providers_api() {
    let settings = load_value(&with(&json!({"providers": {"anthropic": {"headers": {"x-a": "b"}}}}))).unwrap().settings;
    assert_eq!(settings.providers["anthropic"].api, ApiKind::Chat);
    let endpoint = endpoint("anthropic", &settings.providers, &Environment::default()).unwrap();
    assert_eq!((endpoint.base_url.as_str(), endpoint.api), ("https://api.anthropic.com/v1", ApiKind::Chat));
}

#[test]
fn a_moved_endpoint_is_checked_when_it_is_used() {
    let environment = Environment::from_pairs([("OPENAI_BASE_URL", "nonsense"), ("OPENROUTER_BASE_URL", "nonsense")]);
    let error = load_with(with(&json!({})).to_string().as_bytes(), &Overrides::default(), &environment).unwrap_err();
    insta::assert_snapshot!(error, @"the configuration `c.json` cannot be used: environment variable OPENAI_BASE_URL: is not a URL such as `http://127.0.0.1:8000/v1`");
}

#[test]
fn a_section_on_summaries_switches_them_on_unless_it_says_otherwise() {
    let of = |debate: Value, agent: Value| {
        let mut config = with_agent(&agent);
        config["debate"] = debate;
        let settings = load_value(&config).unwrap().settings;
        (settings.debate.summarization.enabled, settings.agents[0].summarization.enabled)
    };
    let threshold = json!({"summarization": {"threshold": 9}});
    let off = json!({"summarization": {"threshold": 9, "enabled": false}});
    assert_eq!(of(json!({}), json!({})), (false, false));
    assert_eq!(of(json!({"summarization": {}}), json!({"summarization": null})), (false, false));
    assert_eq!(of(threshold.clone(), json!({})), (true, true));
    assert_eq!(of(json!({}), threshold.clone()), (false, true));
    assert_eq!(of(off.clone(), threshold.clone()), (false, false));
    assert_eq!(of(threshold, off), (true, false));
}

#[test]
fn what_is_said_of_a_program_is_checked() {
    let said = |name: &str, entry: &Value| problems(&with(&json!({"providers": { name: entry }})));
    for (name, entry, part) in [
        ("x", json!({"type": "command"}), "is missing; it must list the program and its arguments"),
        ("x", json!({"type": "server"}), "providers.x.type"),
        (
            "x",
            json!({"type": "command", "argv": ["x"], "baseUrl": "http://127.0.0.1:1/v1"}),
            "does not apply to command providers",
        ),
        ("x", json!({"baseUrl": "http://127.0.0.1:1/v1", "argv": ["x"]}), "only applies to command providers"),
        ("openai", json!({"type": "command", "argv": ["x"]}), "is a built-in server"),
    ] {
        let found = match load_value(&with(&json!({"providers": { name: &entry }}))) {
            Ok(_) => panic!("{entry} is taken"),
            Err(error) => error.to_string(),
        };
        assert!(found.contains(part), "{part}: {found}");
    }
    for (name, entry) in [
        ("claude", json!({"argv": ["/opt/claude"]})),
        // This was possible before there were programs.
        ("claude", json!({"baseUrl": "http://127.0.0.1:1/v1"})),
        ("x", json!({"type": "command", "argv": ["x", "{model}"]})),
    ] {
        assert_eq!(said(name, &entry), Vec::<String>::new());
    }
}
